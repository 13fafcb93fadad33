//! The entry of the scheme in the catalogue.

use engine::entry::{Entry, Planted, Published, Toggle, Variant};

use super::{Silo, plants};

/// The entry.
pub const ENTRY: Entry = Entry {
    variants: &[
        Variant {
            name: "reordered",
            says: "requests that conflict are executed by one worker, one after the other",
            given: &[("run.reorder", "keep"), ("run.reorder_batch", "4")],
        },
        Variant {
            name: "with_snapshots",
            says: "short epochs, each of which makes a snapshot that read-only transactions read",
            given: &[("silo.snapshots", "on"), ("silo.epoch_ms", "1"), ("silo.snapshot_epochs", "1")],
        },
        Variant {
            name: "locking_by_address",
            says: "the records of a write set are locked by address",
            given: &[("silo.write_order", "address")],
        },
        Variant {
            name: "locking_without_waiting",
            says: "a commit that finds a record locked gives up its locks and tries again",
            given: &[("silo.commit_locks", "no_wait")],
        },
    ],
    published: &[
        Published {
            setting: "silo.snapshots",
            value: "on",
            place: "Tu, Zheng, Kohler, Liskov, Madden, SOSP 2013, snapshot transactions",
        },
        Published {
            setting: "silo.write_order",
            value: "address",
            place: "Tu, Zheng, Kohler, Liskov, Madden, SOSP 2013, commit protocol",
        },
    ],
    toggles: &[
        Toggle { says: "read-only snapshots", setting: "silo.snapshots", value: "on" },
        Toggle {
            says: "write-set order: the last write is locked first",
            setting: "silo.write_order",
            value: "reversed",
        },
        Toggle {
            says: "write-set order: locks are taken by address",
            setting: "silo.write_order",
            value: "address",
        },
        Toggle {
            says: "commit locks: they are given up when one is busy",
            setting: "silo.commit_locks",
            value: "no_wait",
        },
        Toggle { says: "epochs: they are short", setting: "silo.epoch_ms", value: "1" },
    ],
    plants: &[
        Planted::new(&plants::SILO_SKIPS_READS),
        Planted::new(&plants::SILO_SKIPS_LEAVES),
        Planted::new(&parts::plants::WRITES_TRUSTED),
        Planted::new(&plants::SILO_IGNORES_LOCKS),
        Planted::new(&plants::SILO_UNLOCKS_EARLY),
        Planted::new(&parts::plants::COPIES_ONCE),
        Planted::new(&engine::plants::INSERT_SHRUGS),
        Planted::new(&engine::plants::LEAF_SET_ADOPTS),
        Planted::new(&engine::plants::LEAF_SET_FORGETS_SPLITS),
        Planted::new(&storage::plants::SPLIT_UNNOTICED),
        Planted::new(&storage::plants::GROWTH_UNNOTICED),
        Planted::new(&storage::plants::GROWTH_OVERLOOKED),
        Planted::new(&parts::plants::LOCKS_UNSORTED),
        Planted::new(&engine::plants::MOVES_UNASKED),
        Planted::new(&storage::plants::REUSES_AT_ONCE),
        Planted::new(&storage::plants::REUSES_EARLY),
    ],
    outcomes: &[
        ("counter_by_add", "shown"),
        ("dirty_write", "t1 commits, t2 aborts (write_conflict)"),
        ("long_reader", "t1 aborts (read_changed), t5 commits"),
        ("lost_update_after_commit", "t1 commits, t2 aborts"),
        ("old_writer", "shown"),
        ("phantom_beyond_limit", "shown"),
        ("read_skew", "t1 aborts (read_changed), t2 commits"),
        ("write_skew", "t1 commits, t2 aborts (read_changed)"),
    ],
    ..Entry::of::<Silo>()
};
