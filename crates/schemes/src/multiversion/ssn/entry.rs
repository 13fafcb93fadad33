//! The entry of the scheme in the catalogue.

use engine::entry::{Entry, Planted, Published, Toggle, Variant};

use super::{Ssn, plants};
use crate::multiversion::si;

/// The entry.
pub const ENTRY: Entry = Entry {
    variants: &[Variant {
        name: "over_read_committed",
        says: "attempts see committed versions while they run",
        given: &[("ssn.base", "rc")],
    }],
    published: &[Published {
        setting: "ssn.wait_us",
        value: "0",
        place: "the public program of ERMIA, which waits for nobody before a retry",
    }],
    toggles: &[
        Toggle { says: "waiting: a writer is not waited for", setting: "ssn.wait_us", value: "0" },
        Toggle { says: "snapshots: attempts see what is committed", setting: "ssn.base", value: "rc" },
    ],
    plants: &[
        Planted::new(&plants::SSN_FOLLOWS_NOBODY),
        Planted::new(&plants::SSN_IGNORES_OVERWRITERS),
        Planted::new(&plants::SSN_IGNORES_ENTRIES),
        Planted::new(&plants::SSN_IGNORES_READERS),
        Planted::new(&plants::SSN_FORGETS_PI),
        Planted::new(&si::plants::SI_SKIPS_COMMITTING),
        Planted::new(&parts::plants::READS_UNMARKED),
        Planted::new(&parts::plants::GAPS_COMPARED),
        Planted::new(&parts::plants::GAPS_LEFT_BLANK),
        Planted::new(&parts::plants::REUSE_UNNOTICED).may_be_missed(
            "searches find it under `ermia`, whose versions stand apart from records; here the test of quotas on \
             threads shows it, in one of a hundred runs",
        ),
        Planted::new(&parts::plants::COMMITS_UNAWAITED),
        Planted::new(&parts::plants::OVERWRITERS_UNAWAITED),
        Planted::new(&parts::plants::CHAIN_CUT_EARLY),
        Planted::new(&engine::plants::MOVES_UNASKED),
        Planted::new(&storage::plants::SPLIT_DROPS_MARK),
        Planted::new(&storage::plants::GROWTH_DROPS_MARK),
        Planted::new(&storage::plants::UNLINK_DROPS_MARK),
        Planted::new(&storage::plants::REUSES_AT_ONCE),
        Planted::new(&storage::plants::REUSES_EARLY),
    ],
    outcomes: &[
        ("insert_below_open_scan", "t1 commits, t3 aborts (read_changed)"),
        ("late_insert_after_miss", "t1 aborts (read_changed), t3 commits"),
        ("late_insert_after_split", "t1 aborts (read_changed), t3 commits"),
        ("late_insert_below_snapshot", "t1 aborts (read_changed), t3 commits"),
        ("late_move_below_snapshot", "t1 aborts (read_changed), t3 commits"),
        ("long_reader", "shown"),
        ("read_only_anomaly", "t1 aborts (read_changed), t3 commits"),
        ("reader_before_pivot", "shown"),
        ("write_skew", "t1 commits, t2 aborts (read_changed)"),
    ],
    ..Entry::of::<Ssn>()
};
