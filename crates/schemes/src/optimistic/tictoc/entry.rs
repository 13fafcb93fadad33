//! The entry of the scheme in the catalogue.

use engine::entry::{Entry, Planted, Published, Toggle, Variant};

use super::{TicToc, plants};

/// The entry.
pub const ENTRY: Entry = Entry {
    variants: &[
        Variant {
            name: "reordered",
            says: "requests that conflict are executed by one worker, one after the other",
            given: &[("run.reorder", "cut"), ("run.reorder_batch", "4")],
        },
        Variant {
            name: "locking_in_reverse",
            says: "the records of a write set are locked from the last write to the first",
            given: &[("tictoc.write_order", "reversed")],
        },
        Variant {
            name: "locking_without_waiting",
            says: "a commit that finds a record locked gives up its locks and tries again",
            given: &[("tictoc.commit_locks", "no_wait")],
        },
    ],
    published: &[
        Published {
            setting: "tictoc.write_order",
            value: "address",
            place: "Yu, Pavlo, Sanchez, Devadas, SIGMOD 2016, validation phase, by keys: any fixed order",
        },
        Published {
            setting: "tictoc.commit_locks",
            value: "no_wait",
            place: "Yu, Pavlo, Sanchez, Devadas, SIGMOD 2016, no-wait locking in the validation phase",
        },
    ],
    toggles: &[
        Toggle {
            says: "write-set order: the last write is locked first",
            setting: "tictoc.write_order",
            value: "reversed",
        },
        Toggle {
            says: "write-set order: locks are taken by address",
            setting: "tictoc.write_order",
            value: "address",
        },
        Toggle {
            says: "commit locks: they are given up when one is busy",
            setting: "tictoc.commit_locks",
            value: "no_wait",
        },
    ],
    plants: &[
        Planted::new(&plants::TICTOC_SKIPS_READS),
        Planted::new(&plants::TICTOC_SKIPS_LEAVES),
        Planted::new(&parts::plants::WRITES_TRUSTED),
        Planted::new(&plants::TICTOC_EXTENDS_LOCKED),
        Planted::new(&plants::TICTOC_IGNORES_RTS),
        Planted::new(&plants::TICTOC_FORGETS_RTS),
        Planted::new(&plants::TICTOC_ENTERS_FRESH),
        Planted::new(&engine::plants::INSERT_SHRUGS),
        Planted::new(&engine::plants::LEAF_SET_ADOPTS),
        Planted::new(&engine::plants::LEAF_SET_FORGETS_SPLITS),
        Planted::new(&storage::plants::SPLIT_UNNOTICED),
        Planted::new(&storage::plants::GROWTH_UNNOTICED),
        Planted::new(&storage::plants::GROWTH_OVERLOOKED),
        Planted::new(&parts::plants::LOCKS_UNSORTED),
        Planted::new(&engine::plants::MOVES_UNASKED),
        Planted::new(&storage::plants::SPLIT_DROPS_MARK),
        Planted::new(&storage::plants::GROWTH_DROPS_MARK),
        Planted::new(&storage::plants::UNLINK_DROPS_MARK),
        Planted::new(&storage::plants::REUSES_AT_ONCE),
        Planted::new(&storage::plants::REUSES_EARLY),
    ],
    outcomes: &[
        ("counter_by_add", "shown"),
        ("early_insert_below_scan", "t8 commits, t7 aborts (read_changed)"),
        ("old_writer", "shown"),
        ("order_against_time", "shown"),
        ("phantom_beyond_limit", "shown"),
    ],
    ..Entry::of::<TicToc>()
};
