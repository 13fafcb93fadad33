//! The entry of the scheme in the catalogue.

use engine::entry::{Entry, Planted, Toggle};

use super::{HStore, plants};

/// The entry.
pub const ENTRY: Entry = Entry {
    toggles: &[Toggle { says: "partitions: there is one", setting: "hstore.partitions", value: "1" }],
    plants: &[
        Planted::new(&plants::HSTORE_HOLDS_BRIEFLY),
        Planted::new(&plants::HSTORE_REACHES_ANYWHERE),
        Planted::new(&parts::plants::UNDO_FORGETS_VALUES),
        Planted::new(&parts::plants::UNDO_FORGETS_INSERTS),
        Planted::new(&parts::plants::UNDO_RUNS_FORWARDS),
        Planted::new(&parts::plants::COMMIT_LEAVES_MARKS),
        Planted::new(&parts::plants::CLAIM_ENDS_EARLY),
        Planted::new(&parts::plants::CLAIM_ENDS_BEFORE_UNDO),
    ],
    outcomes: &[
        ("crossing_writes", "t2 waits, t1 commits, t2 commits"),
        ("dirty_write", "t2 waits, t1 commits, t2 commits"),
        ("read_skew", "t2 waits, t1 commits, t2 commits"),
    ],
    ..Entry::of::<HStore>()
};
