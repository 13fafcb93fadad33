//! The entry of the scheme in the catalogue.

use engine::entry::{Entry, Planted, Published, Toggle, Variant};

use super::{NoWait, plants};
use crate::frames::two_phase;

/// The entry.
pub const ENTRY: Entry = Entry {
    variants: &[Variant {
        name: "without_hints",
        says: "updates read before they write: the scheme is not told that a read is for an update",
        given: &[("run.read_for_update", "off")],
    }],
    published: &[Published {
        setting: "no_wait.spin",
        value: "0",
        place: "DBx1000; Yu, Bezerra, Pavlo, Devadas, Stonebraker, PVLDB 8(3), 2014",
    }],
    toggles: &[Toggle { says: "waiting: a lock is not waited for", setting: "no_wait.spin", value: "0" }],
    plants: &[
        Planted::new(&two_phase::plants::TWO_PHASE_UNLOCKS_READS),
        Planted::new(&two_phase::plants::TWO_PHASE_UNLOCKS_MISSES),
        Planted::new(&two_phase::plants::TWO_PHASE_SKIPS_LEAVES),
        Planted::new(&two_phase::plants::TWO_PHASE_UNLOCKS_EARLY),
        Planted::new(&two_phase::plants::TWO_PHASE_KEEPS_LOCKS),
        Planted::new(&plants::NO_WAIT_UPGRADES_ALWAYS),
        Planted::new(&engine::plants::INSERT_SHRUGS),
        Planted::new(&engine::plants::LEAF_SET_ADOPTS),
        Planted::new(&engine::plants::LEAF_SET_FORGETS_SPLITS),
        Planted::new(&storage::plants::SPLIT_UNNOTICED),
        Planted::new(&storage::plants::GROWTH_UNNOTICED),
        Planted::new(&storage::plants::GROWTH_OVERLOOKED),
        Planted::new(&engine::plants::MOVES_UNASKED),
    ],
    outcomes: &[
        ("counter_by_add", "t1 commits, t2 aborts (lock_busy)"),
        ("dirty_write", "t1 commits, t2 aborts (lock_busy)"),
        ("long_reader", "t1 commits, t2 aborts (lock_busy)"),
        ("lost_update_after_commit", "t1 aborts (lock_busy), t2 commits"),
        ("old_writer", "shown"),
        ("older_comes_later", "t1 aborts (lock_busy), t2 rolls back"),
        ("phantom_beyond_limit", "shown"),
        ("read_skew", "t1 commits, t2 aborts (lock_busy)"),
        ("reader_behind_writer", "t2 commits, t1 aborts (lock_busy), t3 commits"),
        ("upgrade", "t1 aborts (lock_busy), t2 commits"),
        ("write_skew", "t1 aborts (lock_busy), t2 commits"),
        ("younger_comes_later", "t1 rolls back, t2 aborts (lock_busy)"),
    ],
    ..Entry::of::<NoWait>()
};
