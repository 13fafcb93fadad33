//! The entry of the scheme in the catalogue.

use engine::entry::{Entry, Planted, Toggle};

use super::{Bohm, plants};

/// The entry.
pub const ENTRY: Entry = Entry {
    toggles: &[Toggle { says: "batch size: batches are small", setting: "bohm.batch", value: "16" }],
    plants: &[
        Planted::new(&plants::BOHM_SKIPS_PENDING),
        Planted::new(&plants::BOHM_READS_NEWEST),
        Planted::new(&plants::BOHM_PASSES_NOTHING),
        Planted::new(&parts::plants::REHEARSALS_TRUSTED),
        Planted::new(&parts::plants::MISSES_UNTOUCHED),
        Planted::new(&parts::plants::KEYS_STAND_FOR_ALL),
        Planted::new(&parts::plants::STRETCHES_UNTOUCHED),
        Planted::new(&parts::plants::CHAIN_CUT_EARLY),
    ],
    ..Entry::of::<Bohm>()
};
