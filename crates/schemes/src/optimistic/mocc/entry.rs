//! The entry of the scheme in the catalogue.

use engine::entry::{Entry, Planted, Published, Toggle, Variant};

use super::{Mocc, plants};

/// The entry.
pub const ENTRY: Entry = Entry {
    variants: &[
        Variant { name: "locking", says: "each read takes a lock", given: &[("mocc.hot", "0")] },
        Variant {
            name: "locking_without_hints",
            says: "each access takes a lock, which updates share before they write",
            given: &[("mocc.hot", "0"), ("run.read_for_update", "off")],
        },
    ],
    published: &[Published {
        setting: "mocc.epoch_ms",
        value: "20",
        place: "the public program of FOEDUS; an era has as many epochs, so that it is shorter",
    }],
    toggles: &[
        Toggle { says: "locks for reads: on whatever is read", setting: "mocc.hot", value: "0" },
        Toggle { says: "locks for reads: after an abort alone", setting: "mocc.hot", value: "21" },
    ],
    plants: &[
        Planted::new(&plants::MOCC_SKIPS_READS),
        Planted::new(&plants::MOCC_SKIPS_LEAVES),
        Planted::new(&parts::plants::WRITES_TRUSTED),
        Planted::new(&plants::MOCC_TRUSTS_LOCKS),
        Planted::new(&plants::MOCC_IGNORES_INSTALLING),
        Planted::new(&plants::MOCC_ENDS_EARLY),
        Planted::new(&parts::plants::LOCKS_WAIT_ANYHOW),
        Planted::new(&parts::plants::COPIES_ONCE),
        Planted::new(&engine::plants::INSERT_SHRUGS),
        Planted::new(&engine::plants::LEAF_SET_ADOPTS),
        Planted::new(&engine::plants::LEAF_SET_FORGETS_SPLITS),
        Planted::new(&storage::plants::SPLIT_UNNOTICED),
        Planted::new(&storage::plants::GROWTH_UNNOTICED),
        Planted::new(&storage::plants::GROWTH_OVERLOOKED),
        Planted::new(&engine::plants::MOVES_UNASKED),
        Planted::new(&storage::plants::REUSES_AT_ONCE),
        Planted::new(&storage::plants::REUSES_EARLY),
    ],
    ..Entry::of::<Mocc>()
};
