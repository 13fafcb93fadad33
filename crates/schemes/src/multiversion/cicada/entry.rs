//! The entry of the scheme in the catalogue.

use engine::entry::{Entry, Planted, Toggle, Variant};

use super::{Cicada, plants};

/// The entry.
pub const ENTRY: Entry = Entry {
    variants: &[
        Variant {
            name: "reordered",
            says: "requests that conflict are executed by one worker, one after the other",
            given: &[("run.reorder", "keep"), ("run.reorder_batch", "3")],
        },
        Variant {
            name: "plain",
            says: "read-only attempts validate their reads, nobody waits for a version, and nothing is done in \
             advance",
            given: &[
                ("cicada.snapshots", "off"),
                ("cicada.pending", "abort"),
                ("cicada.sort", "off"),
                ("cicada.early_check", "off"),
                ("cicada.boost_us", "0"),
            ],
        },
        Variant {
            name: "without_snapshots",
            says: "read-only attempts run like the others",
            given: &[("cicada.snapshots", "off")],
        },
    ],
    toggles: &[
        Toggle { says: "waiting: a version is not waited for", setting: "cicada.pending", value: "abort" },
        Toggle { says: "write-set order: that of the procedure", setting: "cicada.sort", value: "off" },
        Toggle { says: "early aborts: there are none", setting: "cicada.early_check", value: "off" },
        Toggle { says: "read-only snapshots: there are none", setting: "cicada.snapshots", value: "off" },
    ],
    plants: &[
        Planted::new(&plants::CICADA_SKIPS_READS),
        Planted::new(&plants::CICADA_RAISES_NO_RTS),
        Planted::new(&plants::CICADA_IGNORES_RTS),
        Planted::new(&plants::CICADA_SKIPS_PENDING),
        Planted::new(&plants::CICADA_MARKS_NO_GAPS),
        Planted::new(&plants::CICADA_ENTERS_FRESH),
        Planted::new(&parts::plants::WRITES_TRUSTED),
        Planted::new(&plants::SNAPSHOTS_UNDECIDED),
        Planted::new(&plants::SLOTS_COUNTED_ONCE),
        Planted::new(&parts::plants::CHAIN_CUT_EARLY),
        Planted::new(&engine::plants::MOVES_UNASKED),
        Planted::new(&storage::plants::SPLIT_DROPS_MARK),
        Planted::new(&storage::plants::GROWTH_DROPS_MARK),
        Planted::new(&storage::plants::UNLINK_DROPS_MARK),
        Planted::new(&storage::plants::REUSES_AT_ONCE),
        Planted::new(&storage::plants::REUSES_EARLY)
            .may_be_missed("the watermark of snapshots keeps most of what the epoch of memory keeps"),
    ],
    outcomes: &[
        ("long_reader", "shown"),
        ("old_snapshot", "shown"),
        ("old_writer", "t1 aborts (too_late)"),
        ("phantom_write_skew", "t1 aborts (too_late), t2 commits"),
        ("read_skew", "t1 commits, t2 commits"),
        ("write_skew", "t1 commits, t2 aborts (read_changed)"),
    ],
    ..Entry::of::<Cicada>()
};
