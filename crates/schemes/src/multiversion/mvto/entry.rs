//! The entry of the scheme in the catalogue.

use engine::entry::{Entry, Planted, Toggle};

use super::{Mvto, plants};

/// The entry.
pub const ENTRY: Entry = Entry {
    toggles: &[Toggle { says: "waiting: a version is not waited for", setting: "mvto.wait_us", value: "0" }],
    plants: &[
        Planted::new(&plants::MVTO_MARKS_NO_READS),
        Planted::new(&plants::MVTO_IGNORES_READS),
        Planted::new(&plants::MVTO_MARKS_NO_GAPS),
        Planted::new(&plants::MVTO_IGNORES_GAPS),
        Planted::new(&plants::MVTO_SKIPS_PENDING),
        Planted::new(&plants::MVTO_TRUSTS_UNDECIDED).may_be_missed(
            "it takes a writer that aborts after the read, and an earlier one that comes only then: a test of the \
             scheme has these one after the other, and a million schedules have not shown it",
        ),
        Planted::new(&parts::plants::CHAIN_CUT_EARLY),
        Planted::new(&engine::plants::MOVES_UNASKED),
        Planted::new(&storage::plants::SPLIT_DROPS_MARK),
        Planted::new(&storage::plants::GROWTH_DROPS_MARK),
        Planted::new(&storage::plants::UNLINK_DROPS_MARK),
        Planted::new(&storage::plants::REUSES_AT_ONCE),
        Planted::new(&storage::plants::REUSES_EARLY)
            .may_be_missed("the watermark of snapshots keeps most of what the epoch of memory keeps"),
    ],
    outcomes: &[
        ("late_insert_after_split", "t1 aborts (too_late), t3 commits"),
        ("late_insert_below_snapshot", "t1 aborts (too_late), t3 commits"),
        ("long_reader", "shown"),
        ("old_snapshot", "shown"),
        ("old_writer", "t1 aborts (too_late)"),
        ("phantom_write_skew", "t1 aborts (too_late), t2 commits"),
        ("read_skew", "t1 commits, t2 commits"),
        ("reader_before_pivot", "shown"),
        ("upgrade", "t1 aborts (too_late), t2 commits"),
        ("write_skew", "t1 aborts (too_late), t2 commits"),
    ],
    ..Entry::of::<Mvto>()
};
