//! ERMIA: a system built around snapshots (Kim, Wang, Johnson, Pandis, SIGMOD 2016).
//!
//! IDEA        Long read-mostly transactions among short writers must neither starve nor be in the way. So readers read
//!             versions, and of two writers the first wins at once. A layer above makes that serializable; there are
//!             three choices: none (`si`), SSI and SSN. Below, two things are made for all of them. Every version is
//!             reached through an indirection, whose one word is all that an update changes. And the log is a single
//!             sequence of bytes, of which a commit takes its space by one addition. The end of the space is the number
//!             of the commit, and the end of the log is a snapshot.
//! RECORD      `ChainHead` and `NotedStamp` as in `ssn` or `ssi`, whatever the line. Before it is decided a version
//!             names the slot of its writer. The slot shows the writer's number, or that there is none yet: the context
//!             of a transaction. `Gap` for leaves.
//! COMMIT      1. Mark every version as committing, and show the slot's decision.
//!             2. Take space for the head of a block, for that of each record, and for the values: the number.
//!             3. Under `ssi` and `ssn`: certify as these do. Everything that a safe snapshot shows counts as read with
//!                the snapshot's number. If a stale version is overwritten, all stale versions count as read, with the
//!                number of the last attempt that has read a stale version and does not remember which.
//!             4. Number the versions; tell attempts that do not remember their reads that something stale is
//!                overwritten; tell leaves; end the slot's decision.
//! INVARIANTS  (1) Numbers are in the order of the log, and no snapshot lies within the space of a commit: both are
//!                 ends of the log (`Timestamps::draw_space`).
//!             (2) An attempt that takes a safe snapshot counts as having read everything, and all that come later know
//!                 this (`anti_dependencies::safe_snapshots`): no circle closes through such a reader, so it is
//!                 certified in advance.
//!             (3) A read that nobody remembers is of a version that is stale for its reader's snapshot, and so for an
//!                 attempt that overwrites it (`anti_dependencies::stale_reads`).
//!             (4) The other invariants are those of `si`, and of `ssi` or `ssn`.
//! DEPARTURES  The log is not written here: the session hands values and numbers to a sink. The space of an attempt
//!             that is refused after it took some stays unused; a log that is written has a record there that says so.
//!             Storage has no array of object numbers: an index leads to the row's block of memory, which stays where
//!             it is and holds, for each record, the scheme's header and one word that leads to its versions. That word
//!             is the array's entry: with `ermia.indirection=on` the block holds nothing else, so that entries stand
//!             close to each other as in the array; `off` lets one version stand within, as in `si`. The original
//!             compares the leaves that were read at the commit, if it is asked to. Under SSI and SSN that misses
//!             phantoms, so gaps are stamped, entries that others left are used as in `ssn`, and there is no setting
//!             that leaves this out. In the original readers set bits in versions: see `ssn`; and an attempt waits for
//!             nobody before it tries again, which it does here as under `si` (`ermia.wait_us`). In the original every
//!             update comes after the last safe snapshot; here only the updates in danger do. Its read-mostly
//!             transactions declare that they are; here an attempt is one when it has read so much. They mark each
//!             stale version with a bit that stays, by which overwriters find the thread; here overwriters of stale
//!             versions tell all such attempts, and nothing is written where it is read. The original has managers of
//!             epochs for memory, for transaction numbers and for the log's buffer. Here memory has storage's epochs,
//!             of attempts; versions have the watermark, of numbers; safe snapshots have a period of time; and slots
//!             need no recycling, since no version names one when the next attempt begins.

pub mod entry;
pub mod plants;
#[cfg(all(test, feature = "tests", not(loom)))]
mod tests;

use engine::setting::Range;
use engine::{Admits, Facts, Family, Info, Isolation, settings, words};
use parts::PendingWrites;
use parts::anti_dependencies::{AntiDependencyRule, Options, Watched, Watching};
use parts::certifier::wait_us;
use parts::version_chain::Stamped;
use sync::plant::is_planted;

use super::si::Snapshots;
use super::ssi::Structures;
use super::ssn::Exclusion;

settings! {
    /// The settings of the scheme.
    pub struct Settings of "ermia" {
        /// The certifier above the snapshots: `ssn`, the serial safety net; `ssi`, which refuses dangerous structures;
        /// `si`, none, which makes the promise snapshot isolation; `ssn_rc`, the net over read committed, by which
        /// attempts see what is committed while they run.
        line: Above {
            default: "ssn",
            stresses: "tracking of reads, and aborts of who reads what others overwrite",
        },
        /// `on` has every version reached through a word that leads to it; `off` lets one stand within its record, as
        /// `run.versions` has it, which spares a cache miss where the footprint fits the caches.
        indirection: bool {
            default: "on",
            stresses: "cache misses between a record and its version",
        },
        /// `on` lets read-only transactions read a state of a while ago that is known to be safe: they are not
        /// certified, leave nothing behind and never abort, and who overwrites what was overtaken before that state is
        /// refused; under the line `si` every state is safe and nothing changes.
        safe_snapshots: bool {
            default: "off",
            stresses: "old versions and deleted rows that stay, and aborts of writers in danger",
        },
        /// How old a safe snapshot may be when a read-only transaction comes; a younger one shows more, an older one
        /// keeps more versions, with 0 one is taken whenever somebody comes.
        snapshot_us: u64 {
            default: "10000",
            range: Range::Int(0, 10_000_000),
            unit: "us",
            stresses: "the counter of numbers, and the age of snapshots",
        },
        /// `on` has attempts that have read much remember no further reads of stale versions: who overwrites any of
        /// these tells them all; pays where they read very much that is seldom written. Under the line `si` nothing is
        /// remembered anyway.
        read_mostly: bool {
            default: "off",
            stresses: "the size of read sets, against aborts without need",
        },
        /// How many reads an attempt remembers before it counts as one that has read much; few make false aborts of
        /// short transactions.
        read_mostly_after: usize {
            default: "1000",
            range: Range::Int(0, 1_000_000_000),
            unit: "reads",
            stresses: "the size of read sets, against aborts without need",
        },
        /// How much log is between a version and a snapshot for which it is stale; less makes more versions stale that
        /// are soon overwritten.
        stale_kb: u64 {
            default: "4096",
            range: Range::Int(0, 1 << 40),
            unit: "kilobytes",
            stresses: "the size of read sets, against aborts without need",
        },
        /// How long a retry waits for the writer that it lost to.
        wait_us: u64 = wait_us,
    }
}

words! {
    /// The certifier above the snapshots.
    pub enum Above {
        /// Nothing.
        Si = "si",
        /// SSI: dangerous structures are refused.
        Ssi = "ssi",
        /// SSN: attempts that may close a circle are refused.
        Ssn = "ssn",
        /// SSN over read committed.
        SsnRc = "ssn_rc",
    }
}

/// Snapshots over indirections, numbered by a log, with a choice of certifiers.
pub type Ermia = Snapshots<Watching<Certificate>>;

/// Bytes of log before the records of a commit: the place of the block, its length, a checksum, and the number of
/// records.
const BLOCK_HEAD_BYTES: u64 = 32;
/// Bytes of log before the value of a record: which record it is, its fate, and the length of the value.
const RECORD_HEAD_BYTES: u64 = 16;

/// The certifier above the snapshots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Line {
    /// No certifier.
    Si,
    /// SSI: dangerous structures are refused.
    Ssi,
    /// SSN: attempts that may close a circle are refused.
    #[default]
    Ssn,
}

/// The certifier's state of one attempt.
#[derive(Debug)]
pub enum Certificate {
    /// None: under `si`, and for an attempt that reads a safe snapshot.
    Si,
    /// The attempt's part in a dangerous structure.
    Ssi(Structures),
    /// The attempt's exclusion window.
    Ssn(Exclusion),
}

/// Calls a method of the rule that a certificate follows.
macro_rules! follow {
    ($certificate:expr, $rule:ident => $call:expr) => {
        match $certificate {
            Certificate::Ssi($rule) => $call,
            Certificate::Ssn($rule) => $call,
            Certificate::Si => panic!("nothing is asked of who certifies nothing"),
        }
    };
}

impl AntiDependencyRule for Certificate {
    const INFO: Info = Info {
        name: "ermia",
        title: "ERMIA",
        paper: "Kim, Wang, Johnson, Pandis: ERMIA: fast memory-optimized database system for heterogeneous workloads, \
                SIGMOD 2016",
        family: Family::MultiVersion,
        isolation: Isolation::Serializable,
        workers: Admits::Any,
        views: engine::Views::Consistent,
        idea: "reads snapshots through an indirection, numbers commits by their space in one log, certifies by the \
               serial safety net, by dangerous structures or not at all",
    };
    type Settings = Settings;
    type Line = Line;
    const LENIENT: Option<Line> = Some(Line::Si);

    fn line(settings: &Settings) -> Line {
        match settings.line {
            Above::Si => Line::Si,
            Above::Ssi => Line::Ssi,
            Above::Ssn | Above::SsnRc => Line::Ssn,
        }
    }

    fn wait_us(settings: &Settings) -> u64 {
        settings.wait_us
    }

    fn facts(settings: &Settings) -> Facts {
        let is_si = Self::line(settings) == Line::Si;
        Facts {
            isolation: if is_si { Isolation::Snapshot } else { Self::INFO.isolation },
            has_versions_apart: settings.indirection,
            ..Facts::of(&Self::INFO)
        }
    }

    // ANCHOR: options
    fn options(settings: &Settings) -> Options {
        if Self::line(settings) == Line::Si {
            return Options::default();
        }
        let safe_ns = || settings.snapshot_us * 1_000;
        let stale = || (settings.read_mostly_after, settings.stale_kb << 10);
        Options {
            sees_all: settings.line == Above::SsnRc,
            safe_ns: settings.safe_snapshots.then(safe_ns),
            stale: settings.read_mostly.then(stale),
        }
    }
    // ANCHOR_END: options

    // ANCHOR: space
    /// The space in the log: 2.
    #[inline]
    fn space<S: Watched>(writes: &PendingWrites<'_, S>) -> u64 {
        if is_planted(&plants::ERMIA_TAKES_NO_SPACE) {
            return 0;
        }
        let records = writes.versions().map(|(record, version)| {
            let has_value = !version.meta().stamp().is_tombstone();
            RECORD_HEAD_BYTES + if has_value { 8 * record.width() as u64 } else { 0 }
        });
        BLOCK_HEAD_BYTES + records.sum::<u64>()
    }
    // ANCHOR_END: space

    #[inline]
    fn begin(line: Line, snapshot: u64) -> Self {
        match line {
            Line::Si => Self::Si,
            Line::Ssi => Self::Ssi(Structures::begin((), snapshot)),
            Line::Ssn => Self::Ssn(Exclusion::begin((), snapshot)),
        }
    }

    #[inline]
    fn watches(&self) -> bool {
        !matches!(self, Self::Si)
    }

    #[inline]
    fn follows(&mut self, number: u64) {
        follow!(self, rule => rule.follows(number));
    }

    fn is_overwritten(&mut self, number: u64, note: u64) {
        follow!(self, rule => rule.is_overwritten(number, note));
    }

    fn is_entered(&mut self, note: Option<u64>) {
        follow!(self, rule => rule.is_entered(note));
    }

    #[inline]
    fn fears_readers_from(&self) -> Option<u64> {
        match self {
            Self::Si => None,
            Self::Ssi(rule) => rule.fears_readers_from(),
            Self::Ssn(rule) => rule.fears_readers_from(),
        }
    }

    fn is_read(&mut self, number: u64) {
        follow!(self, rule => rule.is_read(number));
    }

    #[inline]
    fn is_refused(&self, writes: bool) -> bool {
        match self {
            Self::Si => false,
            Self::Ssi(rule) => rule.is_refused(writes),
            Self::Ssn(rule) => rule.is_refused(writes),
        }
    }

    #[inline]
    fn reader_mark(&self) -> u64 {
        follow!(self, rule => rule.reader_mark())
    }

    /// Under `si` nobody reads the note.
    #[inline]
    fn note(&self, number: u64) -> u64 {
        match self {
            Self::Si => number,
            Self::Ssi(rule) => rule.note(number),
            Self::Ssn(rule) => rule.note(number),
        }
    }
}
