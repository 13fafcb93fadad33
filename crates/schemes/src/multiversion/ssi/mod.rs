//! SSI: serializable snapshot isolation (Cahill, Rohm, Fekete, SIGMOD 2008; TODS 34(4), 2009), decided at the commit
//! as in ERMIA (Kim, Wang, Johnson, Pandis, SIGMOD 2016).
//!
//! IDEA        Under snapshot isolation every circle of dependencies has two in a row by which a commit overwrites what
//!             an overlapping one has read: from the first to a pivot, from the pivot to the last; and the last of them
//!             commits first (Fekete and others, TODS 2005). If the first only reads, the last has committed even
//!             before its snapshot. So an attempt that finds itself first, or pivot, in such a structure aborts.
//!             Nothing beyond the structure is looked at, so not every structure that is refused would have closed a
//!             circle.
//! RECORD      `ChainHead`: the greatest number of a commit that has read the newest version; a commit that only reads
//!             counts with its snapshot (xstamp). `NotedStamp`: the number of the commit (cstamp), which is the sstamp
//!             of the version before; and the least number that has overwritten what the commit read, if it is smaller
//!             (s2). `Gap`: the same for the gaps of a leaf, and the s2 of commits that entered keys.
//! COMMIT      1. Mark every version as committing, show the slot's decision, and draw the number.
//!             2. Find the least smaller number that has overwritten what was read: it is the last if this is a pivot.
//!                Wait for attempts with such numbers that are still deciding. If one of the overwriters has an s2,
//!                this is the first of a structure: abort.
//!             3. If there is such a number: find readers of what is overwritten, with a number that is not below. Wait
//!                for attempts with such numbers that are still deciding, whatever they have read. If there is such a
//!                reader, this is a pivot: abort.
//!             4. Leave the number with all that was read.
//!             5. Number the versions, with s2 beside; tell leaves of s2; end the slot's decision.
//!             An attempt that wrote nothing draws no number. It leaves its snapshot with what it read, and aborts
//!             then if an s2 of what has overwritten that is not above the snapshot.
//! INVARIANTS  (1) Of two dependent commits, the one with the greater number knows of the other, as in `ssn`. So, of
//!                 three in a structure, whichever commits second knows that the last has committed first. If it
//!                 commits as the pivot all the same, it announces that by s2, and the first finds the s2.
//!             (2) An aborted attempt may try again at once: the last has committed, so the next attempt begins after
//!                 it and does not overlap it.
//!             (3) A gap is read and written as a record is: as in `ssn`.
//! DEPARTURES  In ERMIA readers register in a bitmap of each version, one bit a thread, and a pivot aborts if one of
//!             them still runs. Here nobody registers, so there may be any number of slots; a reader that still runs
//!             will find s2 at its end, and a pivot commits if it is done first. There are no flags and no lists of
//!             conflicts, and nothing stays of an attempt that is over except its marks. For an attempt that only
//!             reads, a mark takes the snapshot as its number. This is the optimization for read-only transactions of
//!             Ports and Grittner (PVLDB 5(12), 2012), for any attempt that turns out to be one. Leaves are told what
//!             `ssn` tells them, and entries that others left are used as there, at the same price in false aborts. An
//!             attempt waits before it tries again as under `si` (`ssi.wait_us`).

#[cfg(all(test, feature = "tests", not(loom)))]
mod claims;
pub mod entry;
pub mod plants;

use engine::{Admits, Family, Info, Isolation, settings};
use parts::anti_dependencies::{AntiDependencyRule, Watching};
use parts::certifier::wait_us;
use sync::plant::is_planted;

use super::si::Snapshots;

settings! {
    /// The settings of the scheme.
    pub struct Settings of "ssi" {
        /// How long a retry waits for the writer that it lost to.
        wait_us: u64 = wait_us,
    }
}

/// Serializable snapshot isolation.
pub type Ssi = Snapshots<Watching<Structures>>;

/// The part of an attempt in a dangerous structure.
#[derive(Debug)]
pub struct Structures {
    snapshot: u64,
    /// The least number that has overwritten what this attempt read: that of the last, if this attempt is the pivot.
    out: u64,
    /// The least s2 of the commits that have overwritten what this attempt read: the number of the last, if this
    /// attempt is the first.
    beyond: u64,
    /// The greatest mark of the readers of what this attempt overwrites: the first's, if this attempt is the pivot.
    read_by: u64,
}

/// A number above all others.
const NONE: u64 = u64::MAX;

impl AntiDependencyRule for Structures {
    const INFO: Info = Info {
        name: "ssi",
        title: "Serializable snapshot isolation",
        paper: "Cahill, Roehm, Fekete: Serializable isolation for snapshot databases, SIGMOD 2008",
        family: Family::MultiVersion,
        isolation: Isolation::Serializable,
        workers: Admits::Any,
        views: engine::Views::Consistent,
        idea: "reads snapshots, and aborts who overwrites what was read after its own reads were overwritten",
    };
    type Settings = Settings;

    type Line = ();

    fn line(_: &Settings) {}

    fn wait_us(settings: &Settings) -> u64 {
        settings.wait_us
    }

    #[inline]
    fn begin((): (), snapshot: u64) -> Self {
        Self { snapshot, out: NONE, beyond: NONE, read_by: 0 }
    }

    /// The writer of a version that was read had committed before the snapshot, and is nobody's pivot.
    #[inline]
    fn follows(&mut self, _: u64) {}

    // ANCHOR: structure
    fn is_overwritten(&mut self, number: u64, s2: u64) {
        if !is_planted(&plants::SSI_IGNORES_OVERWRITERS) {
            self.out = self.out.min(number);
        }
        if !is_planted(&plants::SSI_IGNORES_PIVOTS) {
            self.beyond = self.beyond.min(s2);
        }
    }

    fn is_entered(&mut self, s2: Option<u64>) {
        if !is_planted(&plants::SSI_IGNORES_ENTRIES) {
            self.out = self.out.min(self.snapshot + 1);
            self.beyond = self.beyond.min(s2.unwrap_or(NONE));
        }
    }

    #[inline]
    fn fears_readers_from(&self) -> Option<u64> {
        (self.out != NONE).then_some(self.out)
    }

    fn is_read(&mut self, number: u64) {
        if !is_planted(&plants::SSI_IGNORES_READERS) {
            self.read_by = self.read_by.max(number);
        }
    }
    // ANCHOR_END: structure

    // ANCHOR: refuse
    #[inline]
    fn is_refused(&self, writes: bool) -> bool {
        let last_of_first = if writes { NONE - 1 } else { self.snapshot };
        self.beyond <= last_of_first || self.out <= self.read_by
    }

    #[inline]
    fn reader_mark(&self) -> u64 {
        self.snapshot
    }

    #[inline]
    fn note(&self, _: u64) -> u64 {
        if is_planted(&plants::SSI_FORGETS_OUT) { NONE } else { self.out }
    }
    // ANCHOR_END: refuse
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pivot_is_refused_when_the_first_has_committed_after_the_last() {
        for (read_by, is_refused) in [(9, false), (10, true), (11, true)] {
            let mut rule = Structures::begin((), 9);
            rule.is_overwritten(10, NONE);
            assert_eq!(rule.fears_readers_from(), Some(10));
            rule.is_read(read_by);
            assert_eq!(rule.is_refused(true), is_refused);
        }
    }

    #[test]
    fn the_first_is_refused_if_it_writes_or_began_after_the_last() {
        for (s2, writes, is_refused) in
            [(9, false, true), (10, false, false), (10, true, true), (NONE, true, false)]
        {
            let mut rule = Structures::begin((), 9);
            rule.is_overwritten(11, s2);
            assert_eq!(rule.is_refused(writes), is_refused);
        }
    }

    #[test]
    fn what_was_not_overwritten_fears_nobody() {
        let mut rule = Structures::begin((), 9);
        rule.is_read(100);
        assert_eq!((rule.is_refused(true), rule.fears_readers_from(), rule.note(12)), (false, None, NONE));
    }
}
