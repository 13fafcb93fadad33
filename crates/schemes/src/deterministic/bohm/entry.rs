//! The entry of the scheme in the catalogue.

use engine::entry::{Entry, Planted, Toggle, Variant};

use super::{Bohm, plants};

/// The entry.
pub const ENTRY: Entry = Entry {
    variants: &[Variant {
        name: "with_several_open",
        says: "a worker whose transaction waits goes on with its next ones",
        // Batches that are large enough for several open attempts of each worker, also in short trials.
        given: &[("bohm.open", "8"), ("bohm.batch", "24")],
    }],
    toggles: &[
        Toggle { says: "batch size: batches are small", setting: "bohm.batch", value: "16" },
        Toggle { says: "open attempts: a worker has several", setting: "bohm.open", value: "8" },
    ],
    plants: &[
        Planted::new(&plants::BOHM_SKIPS_PENDING),
        Planted::new(&plants::BOHM_READS_NEWEST),
        Planted::new(&plants::BOHM_PASSES_NOTHING),
        Planted::new(&engine::plants::FOUND_TRUSTED),
        Planted::new(&parts::plants::REHEARSALS_TRUSTED),
        Planted::new(&parts::plants::MISSES_UNTOUCHED),
        Planted::new(&parts::plants::KEYS_STAND_FOR_ALL),
        Planted::new(&parts::plants::DELETES_SHARED),
        Planted::new(&parts::plants::STRETCHES_UNTOUCHED),
        Planted::new(&parts::plants::CHAIN_CUT_EARLY),
    ],
    ..Entry::of::<Bohm>()
};
