//! The entry of the scheme in the catalogue.

use engine::entry::{Entry, Given, Planted, Published, Toggle, Variant};

use super::{Reorder, plants};

/// No stage waits, for others to come or for writes to be in place.
const AT_ONCE: Given = &[("reorder.storage", "direct"), ("reorder.validator", "direct")];

/// The entry.
pub const ENTRY: Entry = Entry {
    variants: &[
        Variant { name: "base", says: "no stage gathers batches", given: AT_ONCE },
        Variant {
            name: "batching_only",
            says: "the stages gather batches, for each read anew, and do not change their order",
            given: &[("reorder.storage", "batch"), ("reorder.waits", "each"), ("reorder.validator", "batch")],
        },
        Variant {
            name: "in_small_batches",
            says: "the validator orders batches of five, whose victims are as few as possible",
            given: &[
                ("reorder.storage", "direct"),
                ("reorder.validator_batch", "5"),
                ("reorder.method", "exact"),
            ],
        },
        Variant {
            name: "with_a_short_history",
            says: "the history is so short that attempts become too old to be compared",
            given: &[("reorder.history", "64")],
        },
    ],
    published: &[Published {
        setting: "reorder.method",
        value: "sorted",
        place: "Ding, Kot, Gehrke, PVLDB 12(2), 2018, standard configuration",
    }],
    toggles: &[
        Toggle { says: "storage: reads are not batched", setting: "reorder.storage", value: "direct" },
        Toggle { says: "storage: reads do not wait for writes", setting: "reorder.storage", value: "batch" },
        Toggle { says: "storage: each read waits for a batch", setting: "reorder.waits", value: "each" },
        Toggle { says: "validator: requests are not batched", setting: "reorder.validator", value: "direct" },
        Toggle { says: "validator: batches keep their order", setting: "reorder.validator", value: "batch" },
    ],
    plants: &[
        Planted::new(&plants::REORDER_MISSES_AN_EDGE),
        Planted::new(&plants::REORDER_TRUSTS_THE_FIRST_LOOK),
        Planted::new(&plants::REORDER_FORGETS_EARLY).under(&[("reorder.history", "1")]),
        Planted::new(&plants::REORDER_BEGINS_AT_THE_LAST).under(AT_ONCE),
        Planted::new(&plants::REORDER_INSTALLS_AS_THEY_COME).under(AT_ONCE),
        Planted::new(&plants::REORDER_KEEPS_OLD_READS),
        Planted::new(&plants::REORDER_WRITES_BLINDLY).under(AT_ONCE),
        Planted::new(&plants::REORDER_SKIPS_GAPS),
        Planted::new(&plants::REORDER_STAMPS_LATE),
        Planted::new(&plants::REORDER_TRUSTS_MISSES),
        Planted::new(&plants::REORDER_RETIRES_CLAIMED),
        Planted::new(&parts::plants::COPIES_ONCE),
        Planted::new(&engine::plants::MOVES_UNASKED),
    ],
    outcomes: &[],
    ..Entry::of::<Reorder>()
};
