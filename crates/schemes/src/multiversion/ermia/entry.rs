//! The entry of the scheme in the catalogue.

use engine::entry::{Entry, Planted, Published, Toggle, Variant};

use super::{Ermia, plants};
use crate::multiversion::{si, ssn};

/// The entry.
pub const ENTRY: Entry = Entry {
    variants: &[
        Variant {
            name: "without_a_certifier",
            says: "snapshot isolation: nothing is certified",
            given: &[("ermia.line", "si")],
        },
        Variant {
            name: "by_dangerous_structures",
            says: "dangerous structures are refused, and versions may stand within records",
            given: &[("ermia.line", "ssi"), ("ermia.indirection", "off")],
        },
        Variant {
            name: "over_read_committed",
            says: "attempts see committed versions while they run",
            given: &[("ermia.line", "ssn_rc")],
        },
        Variant {
            name: "with_safe_snapshots",
            says: "read-only transactions read safe snapshots, each its own",
            given: &[("ermia.safe_snapshots", "on"), ("ermia.snapshot_us", "0")],
        },
        Variant {
            name: "that_remembers_nothing",
            says: "every version is stale, and reads of stale versions are not remembered",
            given: &[("ermia.read_mostly", "on"), ("ermia.read_mostly_after", "0"), ("ermia.stale_kb", "0")],
        },
        Variant {
            name: "by_dangerous_structures_with_everything",
            says: "dangerous structures are refused; safe snapshots are shared, and stale reads are not remembered",
            given: &[
                ("ermia.line", "ssi"),
                ("ermia.safe_snapshots", "on"),
                ("ermia.snapshot_us", "100"),
                ("ermia.read_mostly", "on"),
                ("ermia.read_mostly_after", "2"),
                ("ermia.stale_kb", "1"),
            ],
        },
        Variant {
            name: "with_shared_snapshots",
            says: "read-only transactions share safe snapshots, and the other transactions refuse dangerous \
             structures",
            given: &[("ermia.line", "ssi"), ("ermia.safe_snapshots", "on"), ("ermia.snapshot_us", "1000")],
        },
    ],
    published: &[Published {
        setting: "ermia.wait_us",
        value: "0",
        place: "the public program of ERMIA, which waits for nobody before a retry",
    }],
    toggles: &[
        Toggle { says: "waiting: a writer is not waited for", setting: "ermia.wait_us", value: "0" },
        Toggle { says: "certifying: nothing is certified", setting: "ermia.line", value: "si" },
        Toggle { says: "snapshots: attempts see what is committed", setting: "ermia.line", value: "ssn_rc" },
        Toggle {
            says: "indirection: a version stands within the record",
            setting: "ermia.indirection",
            value: "off",
        },
        Toggle { says: "read-only snapshots", setting: "ermia.safe_snapshots", value: "on" },
        Toggle {
            says: "read sets: stale reads are not remembered",
            setting: "ermia.read_mostly",
            value: "on",
        },
    ],
    plants: &[
        Planted::new(&plants::ERMIA_TAKES_NO_SPACE),
        Planted::new(&ssn::plants::SSN_FOLLOWS_NOBODY),
        Planted::new(&ssn::plants::SSN_IGNORES_OVERWRITERS),
        Planted::new(&ssn::plants::SSN_IGNORES_ENTRIES),
        Planted::new(&ssn::plants::SSN_IGNORES_READERS),
        Planted::new(&ssn::plants::SSN_FORGETS_PI),
        Planted::new(&si::plants::SI_SKIPS_COMMITTING),
        Planted::new(&parts::plants::SNAPSHOTS_UNREAD)
            .under(&[("ermia.safe_snapshots", "on"), ("ermia.snapshot_us", "0")]),
        Planted::new(&parts::plants::STALE_READERS_UNTOLD).under(&[
            ("ermia.read_mostly", "on"),
            ("ermia.read_mostly_after", "0"),
            ("ermia.stale_kb", "0"),
        ]),
        Planted::new(&parts::plants::STALE_READERS_UNSEEN).under(&[
            ("ermia.read_mostly", "on"),
            ("ermia.read_mostly_after", "0"),
            ("ermia.stale_kb", "0"),
        ]),
        Planted::new(&parts::plants::READS_UNMARKED),
        Planted::new(&parts::plants::GAPS_COMPARED),
        Planted::new(&parts::plants::GAPS_LEFT_BLANK),
        Planted::new(&parts::plants::REUSE_UNNOTICED),
        Planted::new(&parts::plants::COMMITS_UNAWAITED),
        Planted::new(&parts::plants::OVERWRITERS_UNAWAITED),
        Planted::new(&parts::plants::CHAIN_CUT_EARLY),
        Planted::new(&engine::plants::MOVES_UNASKED),
        Planted::new(&storage::plants::SPLIT_DROPS_MARK),
        Planted::new(&storage::plants::GROWTH_DROPS_MARK),
        Planted::new(&storage::plants::UNLINK_DROPS_MARK),
        // Behind an indirection, few schedules look at memory that is used again.
        Planted::new(&storage::plants::REUSES_AT_ONCE).under(&[("ermia.indirection", "off")]),
        Planted::new(&storage::plants::REUSES_EARLY)
            .may_be_missed("the watermark of snapshots keeps most of what the epoch of memory keeps"),
    ],
    outcomes: &[
        ("insert_below_open_scan", "t1 commits, t3 aborts (read_changed)"),
        ("late_insert_below_snapshot", "t1 aborts (read_changed), t3 commits"),
        ("read_only_anomaly", "t1 aborts (read_changed), t3 commits"),
        ("reader_before_pivot", "shown"),
        ("write_skew", "t1 commits, t2 aborts (read_changed)"),
    ],
    ..Entry::of::<Ermia>()
};
