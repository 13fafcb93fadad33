//! The entry of the scheme in the catalogue.

use engine::entry::{Entry, Planted, Toggle, Variant};

use super::{Occ, plants};

/// The entry.
pub const ENTRY: Entry = Entry {
    variants: &[Variant {
        name: "without_early_abort",
        says: "attempts that cannot commit any more go on to their commit",
        given: &[("occ.early_abort", "off")],
    }],
    toggles: &[Toggle { says: "early aborts: there are none", setting: "occ.early_abort", value: "off" }],
    plants: &[
        Planted::new(&plants::OCC_SKIPS_READS),
        Planted::new(&plants::OCC_SKIPS_LEAVES),
        Planted::new(&plants::OCC_DRAWS_EARLY),
        Planted::new(&plants::OCC_STARTS_LATE),
        Planted::new(&plants::OCC_UNLATCHES_EARLY),
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
    ..Entry::of::<Occ>()
};
