//! The validator's cache of committed writes, and the comparison of requests with it.
//!
//! INVARIANTS
//! (1) The cache has the last write of each record that was decided after the number `forgotten`.
//! (2) No write is forgotten before it is in place: an attempt that begins later sees it.
//! (3) An attempt sees all writes up to the number at which it began, so only later ones are compared with. An id that
//!     a record had before, which left the indexes, is told apart in the same way: the attempt has begun since.

use std::collections::VecDeque;

use engine::Abort;
use sync::clock;
use sync::plant::is_planted;

use super::gap_stamps::{Gap, GapStamps};
use super::installs::Installs;
use super::latest::{LatestWrite, LatestWrites};
use super::plants;
use super::request::{Request, id_of, is_presence};

/// Instructions that compare a key.
const CHECK_INSTRUCTIONS: u64 = 30;

/// The writes that were decided of late, and the number of the last commit.
#[derive(Debug)]
pub struct Committed {
    /// The number of the last commit that has written.
    last: u64,
    latest: LatestWrites,
    /// The writes in the order of their decision: number and id.
    history: VecDeque<(u64, u64)>,
    history_max: usize,
    /// Writes up to this number may be missing.
    forgotten: u64,
    /// By place: the stamp after the last one with which a key entered whose attempt has committed.
    entered: Box<[u64]>,
}

impl Committed {
    /// Makes a cache of at least `history_max` writes.
    pub fn new(history_max: usize) -> Self {
        let (latest, history) = (LatestWrites::default(), VecDeque::new());
        let entered = vec![0; GapStamps::PLACES].into_boxed_slice();
        Self { last: 0, latest, history, history_max, forgotten: 0, entered }
    }

    /// The number of the last commit that has written.
    #[inline]
    pub fn last(&self) -> u64 {
        self.last
    }

    // ANCHOR: check
    /// Confirms that all that a request has seen is the state after the last commit.
    ///
    /// # Errors
    /// Why it is not, and [`Abort::Full`] if the attempt began before what the cache remembers.
    pub fn check(&self, request: &Request, gaps: &GapStamps) -> Result<(), Abort> {
        if request.start < self.forgotten {
            return Err(Abort::Full);
        }
        for (key, seen) in request.reads() {
            clock::compute(CHECK_INSTRUCTIONS);
            let Some(latest) = self.latest.get(id_of(key)) else { continue };
            let is_as_seen = if is_presence(key) { latest.has_value } else { latest.number == seen };
            if latest.number > request.start && !is_as_seen {
                return Err(Abort::ReadChanged);
            }
        }
        let is_full = |gap: &Gap| self.entered[gap.place] > gap.stamp || gaps.is_forced(*gap);
        let is_any_full = request.gaps().iter().any(is_full);
        let is_any_reused = !request.gaps().is_empty() && request.reused != gaps.reused();
        if (is_any_full || is_any_reused) && !is_planted(&plants::REORDER_SKIPS_GAPS) {
            return Err(Abort::Phantom);
        }
        Ok(())
    }
    // ANCHOR_END: check

    /// Commits a request that was confirmed: enters its writes, and tells it which writes come before them. Returns its
    /// number, or that of the last commit for a request without writes.
    ///
    /// # Errors
    /// [`Abort::Full`] if too many commits are not in place yet.
    pub fn admit(&mut self, request: &mut Request, installs: &Installs) -> Result<u64, Abort> {
        for gap in request.entered() {
            let entered = &mut self.entered[gap.place];
            *entered = (*entered).max(gap.stamp + 1);
        }
        if request.writes.is_empty() {
            return Ok(self.last);
        }
        let number = self.last + 1;
        if !installs.has_room(number) {
            return Err(Abort::Full);
        }
        self.last = number;
        let complete = installs.complete();
        for write in &mut request.writes {
            let latest = LatestWrite { number, has_value: write.has_value };
            let before = self.latest.insert(write.id, latest).map_or(0, |before| before.number);
            // What is in place may be the write of another record that had the id.
            write.after = if before > complete { before } else { 0 };
            self.history.push_back((number, write.id));
        }
        self.forget(complete);
        Ok(number)
    }

    /// Forgets the oldest writes, if there are too many, and they are in place.
    fn forget(&mut self, complete: u64) {
        let lag = if is_planted(&plants::REORDER_FORGETS_EARLY) { u64::MAX } else { complete };
        while self.history.len() > self.history_max
            && let Some((number, id)) = self.history.pop_front_if(|(number, _)| *number <= lag)
        {
            self.latest.remove(id, number);
            if !is_planted(&plants::REORDER_FORGETS_EARLY) {
                self.forgotten = number;
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::reordering::reorder::request::{presence_key, value_key};

    fn reading(start: u64, id: usize, seen: u64) -> Request {
        let mut request = Request::default();
        request.start = start;
        request.read(value_key(id), seen);
        request
    }

    fn writing(start: u64, id: usize, has_value: bool) -> Request {
        let mut request = Request::default();
        request.start = start;
        request.write(id, has_value, true);
        request
    }

    #[test]
    fn a_read_is_stale_if_a_later_write_than_the_one_seen_was_decided_since_the_begin() {
        let (mut committed, installs, gaps) = (Committed::new(100), Installs::new(8), GapStamps::default());
        assert_eq!(committed.admit(&mut writing(0, 8, true), &installs), Ok(1));
        assert_eq!(committed.check(&reading(0, 8, 0), &gaps), Err(Abort::ReadChanged));
        assert_eq!(committed.check(&reading(0, 8, 1), &gaps), Ok(()));
        assert_eq!(committed.check(&reading(0, 16, 0), &gaps), Ok(()));
        assert_eq!(committed.check(&reading(1, 8, 0), &gaps), Ok(()), "the id is another record's by now");
        let mut second = writing(1, 8, false);
        assert_eq!(committed.admit(&mut second, &installs), Ok(2));
        assert_eq!(second.writes[0].after, 1);
        let mut blind = Request::default();
        blind.start = 1;
        blind.read(presence_key(8), 0);
        assert_eq!(committed.check(&blind, &gaps), Err(Abort::ReadChanged), "it was deleted");
        assert_eq!(committed.admit(&mut writing(2, 8, true), &installs), Ok(3));
        assert_eq!(committed.check(&blind, &gaps), Ok(()), "it has another value");
        assert_eq!(
            committed.admit(&mut reading(3, 8, 3), &installs),
            Ok(3),
            "who writes nothing has no number"
        );
    }

    #[test]
    fn a_gap_is_stale_if_a_key_has_entered_whose_attempt_has_committed() {
        let (mut committed, installs, gaps) = (Committed::new(100), Installs::new(8), GapStamps::default());
        let reading = |gaps: &GapStamps| {
            let mut request = Request::default();
            request.reused = gaps.reused();
            request.read_gaps(gaps.of(64));
            request
        };
        let (before, mut inserting) = (reading(&gaps), writing(0, 8, true));
        inserting.enter_gaps(gaps.enter(64));
        let between = reading(&gaps);
        gaps.enter(64);
        assert_eq!(committed.check(&before, &gaps), Ok(()), "nobody has committed");
        assert_eq!(committed.admit(&mut inserting, &installs), Ok(1));
        assert_eq!(committed.check(&before, &gaps), Err(Abort::Phantom));
        assert_eq!(committed.check(&between, &gaps), Ok(()), "it has seen the key");
        gaps.force(64);
        assert_eq!(committed.check(&between, &gaps), Err(Abort::Phantom));
        let after = reading(&gaps);
        assert_eq!(committed.check(&after, &gaps), Ok(()));
        gaps.reuse();
        assert_eq!(committed.check(&after, &gaps), Err(Abort::Phantom));
    }

    #[test]
    fn old_writes_are_forgotten_when_they_are_in_place_and_who_began_before_them_is_refused() {
        let (mut committed, installs, gaps) = (Committed::new(2), Installs::new(8), GapStamps::default());
        for number in 1..=5 {
            assert_eq!(committed.admit(&mut writing(0, 8 * number as usize, true), &installs), Ok(number));
        }
        assert_eq!(committed.check(&reading(0, 8, 0), &gaps), Err(Abort::ReadChanged), "none is in place");
        (1..=4).for_each(|number| installs.finish(number));
        assert_eq!(committed.admit(&mut writing(4, 8, true), &installs), Ok(6));
        assert_eq!((committed.forgotten, committed.history.len()), (4, 2));
        assert_eq!(committed.check(&reading(3, 800, 0), &gaps), Err(Abort::Full));
        assert_eq!(committed.check(&reading(4, 8, 1), &gaps), Err(Abort::ReadChanged));
    }

    #[test]
    fn a_commit_for_which_the_ring_has_no_place_is_refused() {
        let (mut committed, installs) = (Committed::new(100), Installs::new(2));
        for expected in [Ok(1), Ok(2), Err(Abort::Full)] {
            assert_eq!(committed.admit(&mut writing(0, 8, true), &installs), expected);
        }
        installs.finish(1);
        let mut third = writing(0, 8, true);
        assert_eq!(committed.admit(&mut third, &installs), Ok(3));
        assert_eq!(third.writes[0].after, 2);
        (2..=3).for_each(|number| installs.finish(number));
        assert_eq!(committed.admit(&mut third, &installs), Ok(4));
        assert_eq!(third.writes[0].after, 0, "the write before is in place");
    }
}
