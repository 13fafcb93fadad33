//! The entry of the scheme in the catalogue.

use engine::entry::{Entry, Planted, Published, Toggle, Variant};

use super::{Foedus, plants};

/// The entry.
pub const ENTRY: Entry = Entry {
    variants: &[
        Variant {
            name: "locking",
            says: "each read takes a lock, and commits do not wait for a lock out of order",
            given: &[("foedus.hot_threshold", "0"), ("foedus.force_canonical", "off")],
        },
        Variant {
            name: "locking_without_hints",
            says: "each access takes a lock, which updates share before they write",
            given: &[("foedus.hot_threshold", "0"), ("run.read_for_update", "off")],
        },
        Variant {
            name: "without_a_list",
            says: "retries do not know which records to lock",
            given: &[("foedus.rll", "off")],
        },
    ],
    published: &[Published {
        setting: "foedus.rll",
        value: "off",
        place: "Kimura, SIGMOD 2015, which has no lists; they are of Wang, Kimura, PVLDB 10(2), 2016",
    }],
    toggles: &[
        Toggle { says: "locks for reads: on whatever is read", setting: "foedus.hot_threshold", value: "0" },
        Toggle { says: "locks on retries: there are none", setting: "foedus.rll", value: "off" },
    ],
    plants: &[
        Planted::new(&plants::FOEDUS_SKIPS_READS),
        Planted::new(&plants::FOEDUS_SKIPS_PAGES),
        Planted::new(&parts::plants::WRITES_TRUSTED),
        Planted::new(&plants::FOEDUS_IGNORES_WRITING),
        Planted::new(&plants::FOEDUS_ENDS_EARLY),
        Planted::new(&parts::plants::COPIES_ONCE),
        Planted::new(&engine::plants::INSERT_SHRUGS),
        Planted::new(&engine::plants::LEAF_SET_ADOPTS),
        Planted::new(&engine::plants::LEAF_SET_FORGETS_SPLITS),
        Planted::new(&storage::plants::SPLIT_UNNOTICED),
        Planted::new(&storage::plants::GROWTH_UNNOTICED),
        Planted::new(&storage::plants::GROWTH_OVERLOOKED),
        Planted::new(&parts::plants::LOCKS_WAIT_ANYHOW),
        Planted::new(&engine::plants::MOVES_UNASKED),
        Planted::new(&storage::plants::REUSES_AT_ONCE),
        Planted::new(&storage::plants::REUSES_EARLY),
    ],
    ..Entry::of::<Foedus>()
};
