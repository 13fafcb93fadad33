//! The entry of the scheme in the catalogue.

use engine::entry::{Entry, Planted};

use super::Serial;

/// The entry.
pub const ENTRY: Entry = Entry {
    plants: &[
        Planted::new(&parts::plants::UNDO_FORGETS_VALUES),
        Planted::new(&parts::plants::UNDO_FORGETS_INSERTS),
        Planted::new(&parts::plants::UNDO_RUNS_FORWARDS),
        Planted::new(&parts::plants::COMMIT_LEAVES_MARKS),
    ],
    outcomes: &[
        ("counter_by_add", "t2 waits, t1 commits, t2 commits"),
        ("counter_by_update", "t2 waits, t1 commits, t2 commits"),
        ("crossing_writes", "t2 waits, t1 commits, t2 commits"),
        ("dirty_write", "t2 waits, t1 commits, t2 commits"),
        ("insert_insert", "t2 waits, t1 commits, t2 commits"),
        ("long_reader", "t2 waits, t5 waits, t1 commits, t5 commits"),
        ("lost_update", "t2 waits, t1 commits, t2 commits"),
        ("lost_update_after_commit", "t2 waits, t1 commits, t2 commits"),
        ("old_writer", "t2 waits, t1 commits"),
        ("upgrade", "t2 waits, t1 commits, t2 commits"),
        ("write_skew", "t2 waits, t1 commits, t2 commits"),
    ],
    ..Entry::of::<Serial>()
};
