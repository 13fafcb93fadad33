//! A queue of things that were unlinked and wait until nobody can still look at them: first in, first
//! out, in runs that were stamped with the same epoch.

use std::collections::VecDeque;

/// Things that wait for their epoch to be past.
#[derive(Debug)]
pub(crate) struct Waiting<T> {
    things: VecDeque<T>,
    /// Epochs, each with the number of things in a row for which it stands; the oldest first.
    stamps: VecDeque<(u64, usize)>,
    /// Things at the end that have no stamp yet.
    unstamped: usize,
}

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        Self { things: VecDeque::new(), stamps: VecDeque::new(), unstamped: 0 }
    }
}

impl<T> Waiting<T> {
    /// Adds a thing that was just unlinked.
    #[inline]
    pub(crate) fn push(&mut self, thing: T) {
        self.things.push_back(thing);
        self.unstamped += 1;
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.things.is_empty()
    }

    /// Stamps the things without a stamp, if any, with the epoch that `epoch` returns now.
    #[inline]
    pub(crate) fn stamp(&mut self, epoch: impl FnOnce() -> u64) {
        if self.unstamped == 0 {
            return;
        }
        let (epoch, count) = (epoch(), core::mem::take(&mut self.unstamped));
        match self.stamps.back_mut() {
            Some((last, run)) if *last == epoch => *run += count,
            _ => self.stamps.push_back((epoch, count)),
        }
    }

    /// Ends the wait of the first run, if its epoch is past, and returns the number of its things. The caller must
    /// [take](Self::take) them all before the next call.
    #[inline]
    pub(crate) fn end_run(&mut self, is_past: impl FnOnce(u64) -> bool) -> usize {
        self.stamps.pop_front_if(|(epoch, _)| is_past(*epoch)).map_or(0, |(_, count)| count)
    }

    /// Takes the first thing.
    ///
    /// # Panics
    /// When more are taken than were in runs that have [ended](Self::end_run).
    #[inline]
    pub(crate) fn take(&mut self) -> T {
        self.things.pop_front().expect("a thing has been counted")
    }

    /// Appends the stamped things of another queue.
    pub(crate) fn append(&mut self, other: &mut Self) {
        assert!(self.unstamped == 0 && other.unstamped == 0, "what changes its place is stamped before");
        self.things.append(&mut other.things);
        self.stamps.append(&mut other.stamps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_come_out_in_order_once_their_epoch_is_past() {
        let (mut waiting, mut other) = (Waiting::default(), Waiting::default());
        for (thing, epoch) in [(1, 5), (2, 5), (3, 6)] {
            waiting.push(thing);
            assert_eq!(waiting.end_run(|_| thing == 1), 0, "not stamped, or not past");
            waiting.stamp(|| epoch);
        }
        waiting.stamp(|| panic!("nothing to stamp"));
        other.push(4);
        other.stamp(|| 4);
        waiting.append(&mut other);
        assert_eq!(waiting.end_run(|epoch| epoch < 5), 0);
        assert_eq!(waiting.end_run(|epoch| epoch < 6), 2);
        assert_eq!([waiting.take(), waiting.take()], [1, 2]);
        assert_eq!(waiting.end_run(|epoch| epoch < 6), 0, "3 is not past, and 4 stands behind it");
        assert_eq!([waiting.end_run(|epoch| epoch < 7), waiting.end_run(|epoch| epoch < 7)], [1, 1]);
        assert_eq!([waiting.take(), waiting.take()], [3, 4]);
        assert_eq!(waiting.end_run(|_| true), 0);
    }
}
