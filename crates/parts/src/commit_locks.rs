//! The locks of a commit that finds a record of its write set locked: whether it waits for the other attempt, or gives
//! up what it has locked and tries again a moment later.

use engine::setting::{Setting, Value};
use engine::{Abort, words};
use sync::waiter;

words! {
    /// The choice of a commit that finds a record of its write set locked by another attempt.
    #[derive(Default)]
    pub enum CommitLocks {
        /// It gives up its locks and begins again in the order of addresses, waiting for each.
        #[default]
        Waiting = "waiting",
        /// It gives up its locks, and tries again after a pause, unless it must fail anyway by then: the locking of
        /// `TicToc`'s paper (Yu, Pavlo, Sanchez, Devadas, SIGMOD 2016), and of `DBx1000` for Silo, too.
        NoWait = "no_wait",
    }
}

impl CommitLocks {
    /// The pause before the write set is locked again, as in the paper.
    const PAUSE_NS: u64 = 1_000;
    /// The number of times that a commit tries again. The paper has no limit; here the attempt aborts, so that its
    /// retry comes after the pause that the run's policy has for that.
    const AGAIN: usize = 32;

    /// The setting of a scheme that has the choice.
    pub const fn setting(name: &'static str) -> Setting {
        Setting {
            name,
            default: "waiting",
            range: Self::RANGE,
            unit: "",
            doc: "How a commit goes on that finds a record of its write set locked: `waiting` gives up its locks and \
                  takes all of them again in the order of addresses, waiting for each; `no_wait` gives them up, \
                  pauses for a microsecond, and tries again, up to 32 times, unless what it has read has changed \
                  so that it must fail.",
            stresses: "the time for which records are locked that all write, against locks that are taken twice",
        }
    }

    /// Locks the write set of `sets` by `lock`, which fails with [`Abort::LockBusy`] and holds no lock if another
    /// attempt was in its way and it does not wait. Then tries again, if `may_commit` does not fail.
    ///
    /// # Errors
    /// Those of `lock` and of `may_commit`.
    #[inline]
    pub fn lock<T>(
        sets: &mut T,
        mut lock: impl FnMut(&mut T) -> Result<(), Abort>,
        may_commit: impl Fn(&T) -> Result<(), Abort>,
    ) -> Result<(), Abort> {
        let mut again = 0;
        loop {
            match lock(sets) {
                Err(Abort::LockBusy) if again < Self::AGAIN => {
                    waiter::pause_ns(Self::PAUSE_NS);
                    may_commit(sets)?;
                    again += 1;
                }
                ended => return ended,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The end of a commit that finds a lock busy so many times, and whether something has changed by then; and how
    /// often it tried to lock.
    fn lock(busy: usize, is_changed: bool) -> (Result<(), Abort>, usize) {
        let mut tries = 0;
        let ended = CommitLocks::lock(
            &mut tries,
            |tries| {
                *tries += 1;
                if *tries > busy { Ok(()) } else { Err(Abort::LockBusy) }
            },
            |_| if is_changed { Err(Abort::ReadChanged) } else { Ok(()) },
        );
        (ended, tries)
    }

    #[test]
    fn a_commit_tries_again_until_it_must_fail_or_has_tried_too_often() {
        assert_eq!(lock(0, true), (Ok(()), 1), "who has the locks validates as always");
        assert_eq!(lock(5, false), (Ok(()), 6));
        assert_eq!(lock(5, true), (Err(Abort::ReadChanged), 1));
        assert_eq!(lock(usize::MAX, false), (Err(Abort::LockBusy), 1 + CommitLocks::AGAIN));
    }
}
