//! The entry of the scheme in the catalogue.

use engine::entry::{Entry, Planted, Published, Toggle, Variant};

use super::{Calvin, plants};

/// The entry.
pub const ENTRY: Entry = Entry {
    published: &[Published {
        setting: "calvin.managers",
        value: "1",
        place: "Thomson, Diamond, Weng, Ren, Shao, Abadi, SIGMOD 2012, lock manager",
    }],
    variants: &[Variant {
        name: "with_one_manager",
        says: "one manager grants all locks",
        given: &[("calvin.managers", "1")],
    }],
    toggles: &[
        Toggle { says: "batch size: batches are small", setting: "calvin.batch", value: "16" },
        Toggle { says: "lock managers: one grants all locks", setting: "calvin.managers", value: "1" },
    ],
    plants: &[
        Planted::new(&plants::CALVIN_RUNS_EARLY),
        Planted::new(&engine::plants::FOUND_TRUSTED),
        Planted::new(&parts::plants::REHEARSALS_TRUSTED),
        Planted::new(&parts::plants::MISSES_UNTOUCHED),
        Planted::new(&parts::plants::KEYS_STAND_FOR_ALL),
        Planted::new(&parts::plants::DELETES_SHARED),
        Planted::new(&parts::plants::STRETCHES_UNTOUCHED),
        Planted::new(&parts::plants::PARTS_READ_LIKE_WHOLES),
    ],
    ..Entry::of::<Calvin>()
};
