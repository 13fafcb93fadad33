//! SSN: the serial safety net (Wang, Johnson, Fekete, Pandis, `DaMoN` 2015; VLDB Journal 26, 2017).
//!
//! IDEA        A commit that has read what an earlier one overwrote must come before that one in any serial order. No
//!             circle of dependencies closes without such steps back. So each attempt computes two numbers: `pi`, the
//!             least number to which it leads by steps back, one after the other; and `eta`, the greatest number of a
//!             commit that must come directly before it. If `pi` is not above `eta`, a circle may close through it, and
//!             it aborts. Who reads only old versions is never refused by these numbers.
//! RECORD      `ChainHead`: the greatest number of a commit that has read the newest version (pstamp). `NotedStamp`:
//!             the number of the commit (cstamp), and its `pi`, which is the sstamp of the version before. `Gap`: for
//!             the gaps of a leaf, the mark of their readers, the stamps that leaving entries left there, and the `pi`
//!             of commits that entered keys.
//! COMMIT      1. Mark every version as committing, show the slot's decision, and draw the number.
//!             2. `pi`: over everything that was read and is overwritten by a smaller number. Wait for attempts with
//!                such numbers that are still deciding.
//!             3. `eta`, if `pi` is below the number: over everything that is overwritten, and has been read by a
//!                number not below `pi`. Wait for attempts with such numbers that are still deciding, whatever they
//!                have read.
//!             4. Abort if `pi` is not above `eta`.
//!             5. Leave the number with all that was read.
//!             6. Number the versions, with `pi` beside; tell leaves of `pi`; end the slot's decision.
//!             An attempt that wrote nothing draws no number: it leaves `eta` with what it read, which is the least
//!             number at which it can stand, and does 2 and 4 then.
//! INVARIANTS  (1) Of two dependent commits, the one with the greater number knows of the other: of an overwriter by
//!                 2, of a reader by 3. The other, and one that is not overwritten by a smaller number, need not
//!                 (`AntiDependencies::certify`, whose invariants order the marks).
//!             (2) `pi` of a commit is final when its number can be seen, and above its `eta` (asserted in
//!                 `AntiDependencies::note`).
//!             (3) Of an attempt that only reads, everything that it reads has numbers up to `eta`, so an attempt that
//!                 overwrites it comes after, except for those that 2 finds.
//!             (4) A gap is read and written as a record is: invariant (4) of `anti_dependencies`. To compare leaves at
//!                 the commit would not do: an attempt that scanned a leaf may have ended before a key of an older
//!                 snapshot enters it.
//! DEPARTURES  In the paper's parallel form readers register in a bitmap of each version, one bit a thread. Here there
//!             is no bitmap and any number of slots: step 3 waits for all commits being decided that have numbers from
//!             `pi` on, which few attempts need. There is one pstamp for each record: a reader of a version that a
//!             smaller number has overwritten leaves none, so the pstamp is as exact. Versions keep the sstamp of the
//!             version before them, which spares a write to each version that is overwritten. All of this costs no
//!             abort. Marks that an attempt has left before it aborts stay, and gaps are told in leaves: a scan whose
//!             leaf has got keys meanwhile takes `pi` for the number after its snapshot, or as the leaf tells it of all
//!             keys that came since; and aborts if the leaf has split or gone. If its `pi` is below its number, an
//!             attempt also aborts if it entered a key into a leaf that others then split; and if it read that a key
//!             was missing whose entry has left the index since. An attempt that uses an index entry which another one
//!             left there does not know who read the gap before: it aborts if its `pi` is below its number. These may
//!             be false aborts. The paper's shortcut for old versions is left to `ermia` (`ermia.read_mostly`). An
//!             attempt waits before it tries again as under `si` (`ssn.wait_us`), where the public program waits for
//!             nobody.

#[cfg(all(test, feature = "tests", not(loom)))]
mod claims;
pub mod entry;
pub mod plants;

use engine::{Admits, Family, Info, Isolation, settings, words};
use parts::anti_dependencies::{AntiDependencyRule, Options, Watching};
use parts::certifier::wait_us;
use sync::plant::is_planted;

use super::si::Snapshots;

settings! {
    /// The settings of the scheme.
    pub struct Settings of "ssn" {
        /// How long a retry waits for the writer that it lost to.
        wait_us: u64 = wait_us,
        /// The reads below the net: `si`, snapshot isolation, by which an update of what has changed since the
        /// snapshot aborts at once, or `rc`, read committed, by which attempts see what is committed while they run and
        /// are refused at the commit; that pays where records are updated often by attempts that read little else.
        base: Base {
            default: "si",
            stresses: "how early conflicts are seen, and how many there are",
        },
    }
}

words! {
    /// The reads below the net.
    pub enum Base {
        /// Snapshot isolation.
        Si = "si",
        /// Read committed.
        Rc = "rc",
    }
}

/// Snapshot isolation, or read committed, with the serial safety net.
pub type Ssn = Snapshots<Watching<Exclusion>>;

/// The exclusion window of an attempt.
#[derive(Debug)]
pub struct Exclusion {
    snapshot: u64,
    /// The greatest number of a commit that comes before this one.
    eta: u64,
    /// The least number that this commit reaches, among commits with smaller numbers.
    pi: u64,
}

/// A number above all others.
const NONE: u64 = u64::MAX;

impl AntiDependencyRule for Exclusion {
    const INFO: Info = Info {
        name: "ssn",
        title: "Serial safety net",
        paper: "Wang, Johnson, Fekete, Pandis: Efficiently making (almost) any concurrency control mechanism \
                serializable, VLDB Journal 26, 2017",
        family: Family::MultiVersion,
        isolation: Isolation::Serializable,
        workers: Admits::Any,
        views: engine::Views::Consistent,
        idea: "reads snapshots, and aborts who must come before a commit that something before it must come after",
    };
    type Settings = Settings;

    type Line = ();

    fn line(_: &Settings) {}

    fn wait_us(settings: &Settings) -> u64 {
        settings.wait_us
    }

    fn options(settings: &Settings) -> Options {
        Options { sees_all: settings.base == Base::Rc, ..Options::default() }
    }

    #[inline]
    fn begin((): (), snapshot: u64) -> Self {
        Self { snapshot, eta: 0, pi: NONE }
    }

    // ANCHOR: window
    #[inline]
    fn follows(&mut self, number: u64) {
        if !is_planted(&plants::SSN_FOLLOWS_NOBODY) {
            self.eta = self.eta.max(number);
        }
    }

    fn is_overwritten(&mut self, _: u64, pi: u64) {
        if !is_planted(&plants::SSN_IGNORES_OVERWRITERS) {
            self.pi = self.pi.min(pi);
        }
    }

    fn is_entered(&mut self, pi: Option<u64>) {
        if !is_planted(&plants::SSN_IGNORES_ENTRIES) {
            self.pi = self.pi.min(self.snapshot + 1).min(pi.unwrap_or(NONE));
        }
    }

    #[inline]
    fn fears_readers_from(&self) -> Option<u64> {
        (self.pi != NONE).then_some(self.pi)
    }

    fn is_read(&mut self, number: u64) {
        if !is_planted(&plants::SSN_IGNORES_READERS) {
            self.eta = self.eta.max(number);
        }
    }
    // ANCHOR_END: window

    // ANCHOR: refuse
    #[inline]
    fn is_refused(&self, _: bool) -> bool {
        self.pi <= self.eta // 4
    }

    #[inline]
    fn reader_mark(&self) -> u64 {
        self.eta
    }

    #[inline]
    fn note(&self, number: u64) -> u64 {
        if is_planted(&plants::SSN_FORGETS_PI) { number } else { self.pi.min(number) }
    }
    // ANCHOR_END: refuse
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_closes_when_what_is_reached_is_not_above_what_came_before() {
        for (pi, eta, is_refused) in [(NONE, 9, false), (6, 5, false), (5, 5, true), (4, 5, true)] {
            let mut rule = Exclusion::begin((), 9);
            rule.follows(eta);
            rule.is_overwritten(7, pi);
            assert_eq!((rule.is_refused(true), rule.is_refused(false)), (is_refused, is_refused));
        }
    }

    #[test]
    fn what_a_commit_reaches_is_passed_on_and_is_itself_if_nothing_less() {
        let mut rule = Exclusion::begin((), 9);
        assert_eq!((rule.note(12), rule.fears_readers_from()), (12, None));
        rule.is_overwritten(10, 8);
        rule.is_overwritten(11, 11);
        assert_eq!((rule.note(12), rule.fears_readers_from()), (8, Some(8)));
        rule.is_entered(None);
        assert_eq!(rule.note(12), 8);
        rule.is_entered(Some(3));
        assert_eq!(rule.note(12), 3);
    }

    #[test]
    fn keys_that_came_after_the_snapshot_are_reached_after_it() {
        let mut rule = Exclusion::begin((), 9);
        rule.follows(9);
        rule.is_entered(None);
        assert!(!rule.is_refused(false), "who only reads stands at its snapshot");
        rule.is_read(10);
        assert!(rule.is_refused(true));
    }
}
