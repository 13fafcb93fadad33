//! The entry of the scheme in the catalogue.

use engine::entry::{Entry, Planted, Published, Toggle, Variant};

use super::{Bamboo, plants};

/// The entry.
pub const ENTRY: Entry = Entry {
    variants: &[
        Variant {
            name: "showing_all",
            says: "every write is shown before the commit, no reader is put before younger writers, and wounded \
             attempts do not pause",
            given: &[("bamboo.delta_pct", "0"), ("bamboo.read_preimage", "off"), ("bamboo.respect_us", "0")],
        },
        Variant {
            name: "showing_nothing",
            says: "no write is shown before the commit",
            given: &[("bamboo.retire", "off")],
        },
        Variant {
            name: "without_hints",
            says: "updates read before they write: the scheme is not told that a read is for an update",
            given: &[("run.read_for_update", "off")],
        },
    ],
    published: &[
        Published { setting: "bamboo.respect_us", value: "0", place: "Guo, Wu, Yan, Yu, SIGMOD 2021" },
        Published {
            setting: "bamboo.dynamic_attempts",
            value: "1000000",
            place: "Guo, Wu, Yan, Yu, SIGMOD 2021, timestamps at the first conflict, always",
        },
    ],
    toggles: &[
        Toggle { says: "early release of locks: there is none", setting: "bamboo.retire", value: "off" },
        Toggle { says: "early release of locks: to the end", setting: "bamboo.delta_pct", value: "0" },
        Toggle { says: "readers before writers: they wound", setting: "bamboo.read_preimage", value: "off" },
    ],
    plants: &[
        Planted::new(&plants::BAMBOO_COMMITS_UNAWAITED),
        Planted::new(&plants::BAMBOO_COMMITS_WOUNDED),
        Planted::new(&plants::BAMBOO_SKIPS_LEAVES),
        Planted::new(&plants::EARLY_LOCKS_SPARE_DEPENDENTS),
        Planted::new(&plants::EARLY_LOCKS_REWRITE_UNSEEN),
        Planted::new(&plants::EARLY_LOCKS_COUNT_DOWN_TWICE),
        Planted::new(&plants::EARLY_LOCKS_PASS_UNCOUNTED),
        Planted::new(&plants::EARLY_LOCKS_READERS_UNCOUNTED),
        Planted::new(&engine::plants::INSERT_SHRUGS),
        Planted::new(&engine::plants::LEAF_SET_ADOPTS),
        Planted::new(&engine::plants::LEAF_SET_FORGETS_SPLITS),
        Planted::new(&storage::plants::SPLIT_UNNOTICED),
        Planted::new(&storage::plants::GROWTH_UNNOTICED),
        Planted::new(&storage::plants::GROWTH_OVERLOOKED),
        Planted::new(&engine::plants::MOVES_UNASKED),
    ],
    ..Entry::of::<Bamboo>()
};
