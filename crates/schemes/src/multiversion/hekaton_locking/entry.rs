//! The entry of the scheme in the catalogue.

use engine::entry::{Entry, Planted, Toggle, Variant};

use super::{HekatonLocking, plants};

/// The entry.
pub const ENTRY: Entry = Entry {
    variants: &[
        Variant {
            name: "without_hints",
            says: "updates read before they write: the scheme is not told that a read is for an update",
            given: &[("run.read_for_update", "off")],
        },
        Variant {
            name: "without_speculation",
            says: "an attempt that meets a writer with an end number waits for it",
            given: &[("hekaton_locking.speculation", "off")],
        },
    ],
    toggles: &[Toggle {
        says: "speculation: there is none",
        setting: "hekaton_locking.speculation",
        value: "off",
    }],
    plants: &[
        Planted::new(&plants::HEKATON_LOCKING_IGNORES_READERS),
        Planted::new(&plants::HEKATON_LOCKING_IGNORES_SCANS),
        Planted::new(&plants::HEKATON_LOCKING_UNLOCKS_EARLY),
        Planted::new(&plants::HEKATON_LOCKING_TELLS_NOBODY),
        Planted::new(&parts::plants::READ_LOCKS_AFTER_THE_LAST),
        Planted::new(&plants::LEAF_LOCKS_LEFT_BEHIND).may_be_missed(
            "it takes a scan, an insert that aborts and another over the record that it left: a test of its \
             scheme has these one after the other",
        ),
        Planted::new(&parts::plants::UNCERTAIN_SKIPPED),
        Planted::new(&parts::plants::WAIT_GRAPH_SEES_NOTHING),
        Planted::new(&parts::plants::WAIT_GRAPH_SPARES_OTHERS),
        Planted::new(&parts::plants::CHAIN_CUT_EARLY),
        Planted::new(&engine::plants::MOVES_UNASKED),
        Planted::new(&storage::plants::REUSES_AT_ONCE),
        Planted::new(&storage::plants::REUSES_EARLY),
    ],
    ..Entry::of::<HekatonLocking>()
};
