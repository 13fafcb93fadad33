//! The entry of the scheme in the catalogue.

use engine::entry::{Entry, Planted, Toggle, Variant};

use super::{BasicTo, plants};

/// The entry.
pub const ENTRY: Entry = Entry {
    variants: &[Variant {
        name: "by_thomas",
        says: "blind writes that come too late are dropped",
        given: &[("basic_to.thomas", "on")],
    }],
    toggles: &[
        Toggle {
            says: "waiting: an announced write is not waited for",
            setting: "basic_to.wait_us",
            value: "0",
        },
        Toggle { says: "blind writes: late ones are dropped", setting: "basic_to.thomas", value: "on" },
    ],
    plants: &[
        Planted::new(&plants::BASIC_TO_MARKS_NO_READS),
        Planted::new(&plants::BASIC_TO_IGNORES_READS),
        Planted::new(&plants::BASIC_TO_READS_LATER),
        Planted::new(&plants::BASIC_TO_SKIPS_PREWRITES),
        Planted::new(&plants::BASIC_TO_MARKS_NO_GAPS),
        Planted::new(&plants::BASIC_TO_IGNORES_GAPS),
        Planted::new(&plants::BASIC_TO_RETIRES_EARLY),
        Planted::new(&engine::plants::MOVES_UNASKED),
        Planted::new(&storage::plants::SPLIT_DROPS_MARK),
        Planted::new(&storage::plants::GROWTH_DROPS_MARK),
        Planted::new(&storage::plants::UNLINK_DROPS_MARK),
    ],
    ..Entry::of::<BasicTo>()
};
