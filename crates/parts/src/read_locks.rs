//! Read locks on the latest version of a record, for schemes whose writers put versions on top of what others have
//! locked, and wait for them before they commit (MV/L: Larson et al., PVLDB 2011, 4.1 and 4.2.1). They stand in the
//! record's header, beside the mark of those that are retired.
//!
//! WORD        bits 0..31 how many attempts have locked the latest version, bit 59 that others have locked a leaf which
//!             the record entered then (`leaf_locks`), bit 60 that a writer waits for the readers, bit 61 that nobody
//!             has a lock or gets one, bit 63 retired.
//! INVARIANTS  (1) No more read locks are given from when the writer of the next version has come to its end until it
//!                 has its end number, which it draws when nobody has one (asserted in `reopen`), or gives up: only the
//!                 one who has the version on top of the chain closes and reopens a record.
//!             (2) The last of the readers that a writer waits for closes the record for it, so that the writer does
//!                 not have to be there when nobody reads.
//!             (3) A retired record is locked no more, and none is retired that is locked.

use engine::{Abort, Retire};
use storage::RecordRef;
use sync::atomic::Ordering;
use sync::plant::is_planted;

use crate::plants;
use crate::version_chain::{ChainHead, Chained, Headed, RETIRED};

const READER: u64 = 1;
const READERS: u64 = (1 << 32) - 1;
const INHERITS: u64 = 1 << 59;
const AWAITED: u64 = 1 << 60;
const CLOSED: u64 = 1 << 61;

/// Why a record was not locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotLocked {
    /// It has left the indexes.
    Retired,
    /// The writer of its next version has come to its end.
    Closed,
}

impl From<NotLocked> for Abort {
    fn from(not_locked: NotLocked) -> Self {
        match not_locked {
            NotLocked::Retired => Self::ReadChanged,
            NotLocked::Closed => Self::LockBusy,
        }
    }
}

impl ChainHead {
    /// Locks the latest version, which stays that until [`unlock`](Self::unlock): whichever the one who locked it finds
    /// then. Nobody joins those for whom a writer waits: of readers who wait for each other's versions, and come again
    /// when they are aborted, there would always be one.
    ///
    /// # Errors
    /// Why it was not locked.
    #[inline]
    pub fn lock(&self) -> Result<(), NotLocked> {
        let mut word = self.0.load(Ordering::Relaxed); // Relaxed: checked by the exchange.
        loop {
            if word & RETIRED != 0 {
                return Err(NotLocked::Retired);
            }
            if word & (CLOSED | AWAITED) != 0 && !is_planted(&plants::READ_LOCKS_AFTER_THE_LAST) {
                return Err(NotLocked::Closed);
            }
            // Acquire: pairs with the Release in `reopen`, so that the version of a writer which has gone on is found.
            // Relaxed on failure: nothing is read.
            match self.0.compare_exchange_weak(word, word + READER, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(now) => word = now,
            }
        }
    }

    /// Gives a lock up.
    #[inline]
    pub fn unlock(&self) {
        let mut word = self.0.load(Ordering::Relaxed); // Relaxed: checked by the exchange.
        loop {
            assert!(word & READERS != 0, "who unlocks has locked");
            let is_last = word & READERS == READER && word & AWAITED != 0;
            let left = if is_last { (word & !AWAITED | CLOSED) - READER } else { word - READER };
            // AcqRel: pairs with the Acquire in `close` and `is_closed`, and passes on what the readers did that have
            // gone before. Relaxed on failure: nothing is read.
            match self.0.compare_exchange_weak(word, left, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
    }

    /// For the writer of the version on top, which has no lock: no more locks are given if nobody has one, which it
    /// says; and none are while it waits for those who have.
    #[inline]
    pub fn close(&self) -> bool {
        let mut word = self.0.load(Ordering::Relaxed); // Relaxed: checked by the exchange.
        loop {
            let is_free = word & READERS == 0;
            let closed = word | if is_free { CLOSED } else { AWAITED };
            // Acquire: pairs with the Release in `unlock`. Relaxed on failure: nothing is read.
            match self.0.compare_exchange_weak(word, closed, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return is_free,
                Err(now) => word = now,
            }
        }
    }

    /// Whether no more locks are given: then the writer comes after all who had one.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.0.load(Ordering::Acquire) & CLOSED != 0 // Acquire: pairs with the Release in `unlock`.
    }

    /// For the writer of the version on top, before anyone can write over it: locks are given again, of whatever is the
    /// latest version now.
    #[inline]
    pub fn reopen(&self) {
        // Release: pairs with the Acquire in `lock`.
        let word = self.0.fetch_and(!(CLOSED | AWAITED), Ordering::Release);
        let is_excluded = word & CLOSED == 0 || word & READERS == 0;
        assert!(
            is_excluded || is_planted(&plants::READ_LOCKS_AFTER_THE_LAST),
            "a closed record has no readers"
        );
    }

    /// Whether attempts that have locked a leaf may be waited for by whoever writes the record.
    #[inline]
    pub fn inherits(&self) -> bool {
        // Relaxed: who enters a record in a leaf says so before anyone finds it there, or while it is the record's
        // writer.
        self.0.load(Ordering::Relaxed) & INHERITS != 0
    }

    /// Says whether they may be; under the latch of what says who they are.
    pub fn set_inherits(&self, inherits: bool) {
        if inherits {
            self.0.fetch_or(INHERITS, Ordering::Relaxed); // Relaxed: as above.
        } else {
            self.0.fetch_and(!INHERITS, Ordering::Relaxed); // Relaxed: as above.
        }
    }

    /// Takes the mark of a retired record back if somebody has locked it before it was there.
    fn is_retired_unlocked(&self, word: u64) -> bool {
        let is_unlocked = word & READERS == 0;
        if !is_unlocked {
            self.0.fetch_and(!RETIRED, Ordering::Relaxed); // Relaxed: nothing hangs on who sees it when.
        }
        is_unlocked
    }
}

/// As [`version_chain::retire`](super::version_chain::retire), for records that may be locked: `verdict` and `word` are
/// what came of that.
pub(super) fn retire_unlocked<S: Chained>(record: RecordRef<'_, S>, verdict: Retire, word: u64) -> Retire {
    if verdict == Retire::Done && !record.header().chain().is_retired_unlocked(word) {
        return Retire::Later;
    }
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_that_waits_comes_when_the_last_reader_has_gone_and_nobody_comes_between() {
        let head = ChainHead::default();
        assert_eq!([head.lock(), head.lock()], [Ok(()); 2]);
        assert!(!head.close() && !head.is_closed());
        assert_eq!(head.lock(), Err(NotLocked::Closed));
        head.unlock();
        assert!(!head.is_closed());
        head.unlock();
        assert!(head.is_closed());
        assert_eq!(head.lock(), Err(NotLocked::Closed));
        head.reopen();
        assert_eq!(head.lock(), Ok(()));
        head.unlock();
        assert!(head.close() && head.is_closed());
    }

    #[test]
    fn readers_that_nobody_waits_for_leave_a_record_open() {
        let head = ChainHead::default();
        assert_eq!(head.lock(), Ok(()));
        assert!(!head.close());
        head.reopen();
        head.unlock();
        assert!(!head.is_closed() && head.lock().is_ok());
    }
}
