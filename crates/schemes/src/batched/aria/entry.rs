//! The entry of the scheme in the catalogue.

use engine::entry::{Entry, Planted, Toggle, Variant};

use super::{Aria, plants};

/// The entry.
pub const ENTRY: Entry = Entry {
    variants: &[Variant {
        name: "without_fallback",
        says: "a transaction that aborts in a batch comes first in the next one",
        given: &[("aria.fallback", "off")],
    }],
    toggles: &[
        Toggle { says: "batch size: batches are large", setting: "aria.batch", value: "256" },
        Toggle { says: "reordering: there is none", setting: "aria.reordering", value: "false" },
        Toggle { says: "fallback: there is none", setting: "aria.fallback", value: "off" },
    ],
    plants: &[
        Planted::new(&plants::ARIA_SKIPS_WAW),
        Planted::new(&plants::ARIA_SKIPS_RAW),
        Planted::new(&plants::ARIA_RESERVES_NO_READS),
        Planted::new(&plants::ARIA_FORGETS_GAPS_READ),
    ],
    outcomes: &[
        ("dirty_write", "t1 commits, t2 commits"),
        ("phantom_beyond_limit", "shown"),
        ("write_skew", "t1 commits, t2 commits"),
    ],
    ..Entry::of::<Aria>()
};
