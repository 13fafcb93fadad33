//! The entry of the scheme in the catalogue.

use engine::entry::{Entry, Planted, Published, Toggle, Variant};

use super::{Mv2pl, plants};

/// The entry.
pub const ENTRY: Entry = Entry {
    variants: &[
        Variant {
            name: "without_hints",
            says: "updates read before they write: the scheme is not told that a read is for an update",
            given: &[("run.read_for_update", "off")],
        },
        Variant {
            name: "that_waits_and_shows_the_past",
            says: "read-only attempts see an earlier state, and the others wait for locks",
            given: &[("mv2pl.snapshots", "stale"), ("mv2pl.wait_us", "1000")],
        },
    ],
    published: &[Published {
        setting: "mv2pl.spin",
        value: "0",
        place: "Wu, Arulraj, Lin, Xian, Pavlo, PVLDB 10(7), 2017",
    }],
    toggles: &[
        Toggle { says: "waiting: a lock is waited for", setting: "mv2pl.wait_us", value: "1000" },
        Toggle { says: "read-only snapshots: they are old", setting: "mv2pl.snapshots", value: "stale" },
    ],
    plants: &[
        Planted::new(&plants::MV2PL_UNLOCKS_READS),
        Planted::new(&plants::MV2PL_SKIPS_LEAVES),
        Planted::new(&plants::MV2PL_DRAWS_LATE),
        Planted::new(&plants::MV2PL_SHOWS_UNFINISHED),
        Planted::new(&plants::MV2PL_SHOWS_STALE),
        Planted::new(&plants::MV2PL_ENDS_EARLY),
        Planted::new(&plants::MV2PL_FORGETS_SNAPSHOTS),
        Planted::new(&parts::plants::CHAIN_CUT_EARLY),
        Planted::new(&engine::plants::LEAF_SET_ADOPTS),
        Planted::new(&engine::plants::LEAF_SET_FORGETS_SPLITS),
        Planted::new(&storage::plants::SPLIT_UNNOTICED),
        Planted::new(&storage::plants::GROWTH_UNNOTICED),
        Planted::new(&storage::plants::GROWTH_OVERLOOKED),
        Planted::new(&engine::plants::MOVES_UNASKED),
    ],
    ..Entry::of::<Mv2pl>()
};
