//! The entry of the scheme in the catalogue.

use engine::entry::{Entry, Planted, Toggle};

use super::{Pwv, plants};

/// The entry.
pub const ENTRY: Entry = Entry {
    toggles: &[
        Toggle { says: "batch size: batches are small", setting: "pwv.batch", value: "16" },
        Toggle {
            says: "visibility: writes are seen when transactions end",
            setting: "pwv.early",
            value: "off",
        },
        Toggle { says: "open attempts: a worker has one", setting: "pwv.open", value: "1" },
    ],
    plants: &[
        Planted::new(&plants::PWV_IGNORES_CASCADES),
        Planted::new(&plants::PWV_ENDS_FIRST),
        Planted::new(&plants::PWV_EXPOSES_FIRST_WRITE),
        Planted::new(&plants::PWV_WITHDRAWS_NOTHING),
        Planted::new(&engine::plants::FOUND_TRUSTED),
        Planted::new(&parts::plants::REHEARSALS_TRUSTED),
        Planted::new(&parts::plants::MISSES_UNTOUCHED),
        Planted::new(&parts::plants::KEYS_STAND_FOR_ALL),
        Planted::new(&parts::plants::DELETES_SHARED),
        Planted::new(&parts::plants::STRETCHES_UNTOUCHED),
        Planted::new(&parts::plants::CHAIN_CUT_EARLY),
    ],
    ..Entry::of::<Pwv>()
};
