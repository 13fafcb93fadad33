//! The entry of the scheme in the catalogue.

use engine::entry::{Entry, Planted, Toggle, Variant};

use super::{Caracal, plants};

/// The entry.
pub const ENTRY: Entry = Entry {
    variants: &[
        Variant {
            name: "without_contention",
            says: "no record is contended",
            given: &[
                ("caracal.batch_append", "off"),
                ("caracal.split", "off"),
                ("caracal.collect_every", "1"),
            ],
        },
        Variant {
            name: "with_contention_only",
            says: "every record is contended, and settled after each batch",
            given: &[("caracal.contended", "1"), ("caracal.collect_every", "1"), ("caracal.batch", "24")],
        },
    ],
    toggles: &[
        Toggle { says: "batch size: batches are large", setting: "caracal.batch", value: "1000" },
        Toggle { says: "batch append: there is none", setting: "caracal.batch_append", value: "off" },
        Toggle { says: "split on demand: there is none", setting: "caracal.split", value: "off" },
    ],
    plants: &[
        Planted::new(&plants::CARACAL_IGNORES_NOTHING),
        Planted::new(&plants::CARACAL_RUNS_EARLY),
        Planted::new(&plants::APPENDS_UNSORTED),
        Planted::new(&plants::ARRAYS_SKIP_PENDING),
        Planted::new(&plants::ARRAYS_READ_LAST),
        Planted::new(&plants::ARRAYS_SETTLED_FIRST),
        Planted::new(&engine::plants::FOUND_TRUSTED),
        Planted::new(&parts::plants::REHEARSALS_TRUSTED),
        Planted::new(&parts::plants::MISSES_UNTOUCHED),
        Planted::new(&parts::plants::KEYS_STAND_FOR_ALL),
        Planted::new(&parts::plants::DELETES_SHARED),
        Planted::new(&parts::plants::STRETCHES_UNTOUCHED),
    ],
    ..Entry::of::<Caracal>()
};
