//! The entry of the scheme in the catalogue.

use engine::entry::{Entry, Planted, Toggle, Variant};

use super::{OccCentral, plants};

/// The entry.
pub const ENTRY: Entry = Entry {
    variants: &[Variant {
        name: "with_a_short_history",
        says: "the history is so short that attempts become too old to be compared",
        given: &[("occ_central.history", "64")],
    }],
    toggles: &[
        Toggle { says: "history: it is short", setting: "occ_central.history", value: "256" },
        Toggle {
            says: "write-set order: the last write is locked first",
            setting: "occ_central.write_order",
            value: "reversed",
        },
        Toggle {
            says: "write-set order: locks are taken by address",
            setting: "occ_central.write_order",
            value: "address",
        },
    ],
    plants: &[
        Planted::new(&plants::OCC_CENTRAL_SKIPS_HISTORY),
        Planted::new(&plants::OCC_CENTRAL_SKIPS_ACTIVE),
        Planted::new(&plants::OCC_CENTRAL_SKIPS_LEAVES),
        Planted::new(&plants::OCC_CENTRAL_TRUSTS_MISSES),
        Planted::new(&plants::OCC_CENTRAL_UNLOCKS_EARLY),
        Planted::new(&plants::HISTORY_TRIMMED_EARLY),
        Planted::new(&parts::plants::COPIES_ONCE),
        Planted::new(&engine::plants::LEAF_SET_ADOPTS),
        Planted::new(&engine::plants::LEAF_SET_FORGETS_SPLITS),
        Planted::new(&storage::plants::SPLIT_UNNOTICED),
        Planted::new(&storage::plants::GROWTH_UNNOTICED),
        Planted::new(&storage::plants::GROWTH_OVERLOOKED),
        Planted::new(&engine::plants::MOVES_UNASKED),
    ],
    outcomes: &[
        ("long_reader", "t1 aborts (read_changed), t5 commits"),
        ("old_writer", "t1 aborts (read_changed)"),
    ],
    ..Entry::of::<OccCentral>()
};
