//! The entry of the scheme in the catalogue.

use engine::entry::{Entry, Planted, Published, Variant};

use super::{WoundWait, plants};
use crate::frames::two_phase;

/// The entry.
pub const ENTRY: Entry = Entry {
    variants: &[Variant {
        name: "without_hints",
        says: "updates read before they write: the scheme is not told that a read is for an update",
        given: &[("run.read_for_update", "off")],
    }],
    published: &[Published {
        setting: "wound_wait.respect_us",
        value: "0",
        place: "Rosenkrantz, Stearns, Lewis, TODS 3(2), 1978",
    }],
    plants: &[
        Planted::new(&two_phase::plants::TWO_PHASE_UNLOCKS_READS),
        Planted::new(&two_phase::plants::TWO_PHASE_UNLOCKS_MISSES),
        Planted::new(&two_phase::plants::TWO_PHASE_SKIPS_LEAVES),
        Planted::new(&two_phase::plants::TWO_PHASE_UNLOCKS_EARLY),
        Planted::new(&plants::WOUND_WAIT_WOUNDS_NOBODY),
        Planted::new(&plants::WOUND_WAIT_FEELS_NOTHING),
        Planted::new(&plants::WOUND_WAIT_SERVES_YOUNGEST_FIRST),
        Planted::new(&parts::plants::LOCK_QUEUE_UPGRADES_EARLY),
        Planted::new(&parts::plants::LOCK_QUEUE_GRANTS_BESIDE),
        Planted::new(&parts::plants::LOCK_QUEUE_LEAVES_LATE),
        Planted::new(&engine::plants::INSERT_SHRUGS),
        Planted::new(&engine::plants::LEAF_SET_ADOPTS),
        Planted::new(&engine::plants::LEAF_SET_FORGETS_SPLITS),
        Planted::new(&storage::plants::SPLIT_UNNOTICED),
        Planted::new(&storage::plants::GROWTH_UNNOTICED),
        Planted::new(&storage::plants::GROWTH_OVERLOOKED),
        Planted::new(&engine::plants::MOVES_UNASKED),
    ],
    outcomes: &[
        ("crossing_writes", "t1 waits, t1 commits, t2 aborts (wounded)"),
        ("lost_update", "t1 waits, t1 commits, t2 aborts (wounded)"),
        ("older_comes_later", "t1 waits, t1 commits, t2 aborts (wounded)"),
        ("reader_behind_writer", "t1 waits, t3 waits, t1 commits, t2 aborts (wounded), t3 commits"),
        ("upgrade", "t1 waits, t1 commits, t2 aborts (wounded)"),
        ("younger_comes_later", "t2 waits, t1 rolls back, t2 commits"),
    ],
    ..Entry::of::<WoundWait>()
};
