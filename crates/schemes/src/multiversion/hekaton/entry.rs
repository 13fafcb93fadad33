//! The entry of the scheme in the catalogue.

use engine::entry::{Entry, Planted, Toggle, Variant};

use super::{Hekaton, plants};

/// The entry.
pub const ENTRY: Entry = Entry {
    variants: &[
        Variant {
            name: "reordered",
            says: "requests that conflict are executed by one worker, one after the other",
            given: &[("run.reorder", "cut"), ("run.reorder_batch", "3")],
        },
        Variant {
            name: "without_speculation",
            says: "an attempt that meets a writer in validation waits for it",
            given: &[("hekaton.speculation", "off")],
        },
    ],
    toggles: &[Toggle { says: "speculation: there is none", setting: "hekaton.speculation", value: "off" }],
    plants: &[
        Planted::new(&plants::HEKATON_SKIPS_READS),
        Planted::new(&plants::HEKATON_SKIPS_LEAVES),
        Planted::new(&parts::plants::UNCERTAIN_SKIPPED),
        Planted::new(&parts::plants::UNCERTAIN_TRUSTED),
        Planted::new(&plants::HEKATON_TRUSTS_MISSES),
        Planted::new(&parts::plants::CHAIN_CUT_EARLY),
        Planted::new(&engine::plants::LEAF_SET_ADOPTS),
        Planted::new(&engine::plants::LEAF_SET_FORGETS_SPLITS),
        Planted::new(&storage::plants::SPLIT_UNNOTICED),
        Planted::new(&storage::plants::GROWTH_UNNOTICED),
        Planted::new(&storage::plants::GROWTH_OVERLOOKED),
        Planted::new(&engine::plants::MOVES_UNASKED),
        Planted::new(&storage::plants::REUSES_AT_ONCE),
        Planted::new(&storage::plants::REUSES_EARLY)
            .may_be_missed("the watermark of snapshots keeps most of what the epoch of memory keeps"),
    ],
    outcomes: &[
        ("long_reader", "shown"),
        ("old_snapshot", "shown"),
        ("old_writer", "t1 aborts (write_conflict)"),
        ("read_skew", "t1 commits, t2 commits"),
    ],
    ..Entry::of::<Hekaton>()
};
