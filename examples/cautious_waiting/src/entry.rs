//! The entry of the scheme: all that lists of schemes ask about it.

use engine::entry::{Entry, Planted, Variant};
use schemes::frames::two_phase;

use super::{CautiousWaiting, plants};

// ANCHOR: entry
/// The entry.
pub const ENTRY: Entry = Entry {
    variants: &[Variant {
        name: "without_hints",
        says: "updates read before they write: the scheme is not told that a read is for an update",
        given: &[("run.read_for_update", "off")],
    }],
    plants: &[
        Planted::new(&plants::CAUTIOUS_WAITING_LOOKS_FIRST),
        Planted::new(&plants::CAUTIOUS_WAITING_LOOKS_AT_ONE),
        Planted::new(&plants::CAUTIOUS_WAITING_HIDES_UPGRADES),
        Planted::new(&two_phase::plants::TWO_PHASE_UNLOCKS_READS),
    ],
    outcomes: &[
        ("crossing_writes", "t1 waits, t1 commits, t2 aborts (lock_busy)"),
        ("lost_update", "t1 waits, t1 commits, t2 aborts (lock_busy)"),
        ("older_comes_later", "t1 waits, t1 commits, t2 rolls back"),
        ("reader_behind_writer", "t1 waits, t1 commits, t2 commits, t3 aborts (lock_busy)"),
        ("upgrade", "t1 waits, t1 commits, t2 aborts (lock_busy)"),
        ("younger_comes_later", "t2 waits, t1 rolls back, t2 commits"),
    ],
    ..Entry::of::<CautiousWaiting>()
};
// ANCHOR_END: entry
