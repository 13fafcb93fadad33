//! The entry of the scheme in the catalogue.

use engine::entry::{Entry, Planted, Published, Variant};

use super::DlDetect;
use crate::frames::two_phase;

/// The entry.
pub const ENTRY: Entry = Entry {
    variants: &[Variant {
        name: "without_hints",
        says: "updates read before they write: the scheme is not told that a read is for an update",
        given: &[("run.read_for_update", "off")],
    }],
    published: &[
        Published { setting: "dl_detect.timeout_us", value: "1000", place: "DBx1000" },
        Published { setting: "dl_detect.victim", value: "fewest_locks", place: "DBx1000" },
    ],
    plants: &[
        Planted::new(&two_phase::plants::TWO_PHASE_UNLOCKS_READS),
        Planted::new(&two_phase::plants::TWO_PHASE_UNLOCKS_MISSES),
        Planted::new(&two_phase::plants::TWO_PHASE_SKIPS_LEAVES),
        Planted::new(&two_phase::plants::TWO_PHASE_UNLOCKS_EARLY),
        Planted::new(&parts::plants::WAIT_GRAPH_SEES_NOTHING),
        Planted::new(&parts::plants::WAIT_GRAPH_SPARES_OTHERS),
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
        ("crossing_writes", "t1 waits, t1 commits, t2 aborts (deadlock)"),
        ("lost_update", "t1 waits, t1 commits, t2 aborts (deadlock)"),
        ("older_comes_later", "t1 waits, t1 commits, t2 rolls back"),
        ("reader_behind_writer", "t1 waits, t3 waits, t1 commits, t2 commits, t3 commits"),
        ("upgrade", "t1 waits, t1 commits, t2 aborts (deadlock)"),
        ("younger_comes_later", "t2 waits, t1 rolls back, t2 commits"),
    ],
    ..Entry::of::<DlDetect>()
};
