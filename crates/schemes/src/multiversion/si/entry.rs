//! The entry of the scheme in the catalogue.

use engine::entry::{Entry, Planted, Toggle};

use super::{Si, plants};

/// The entry.
pub const ENTRY: Entry = Entry {
    toggles: &[Toggle { says: "waiting: a writer is not waited for", setting: "si.wait_us", value: "0" }],
    plants: &[
        Planted::new(&plants::SI_LAST_WRITER_WINS),
        Planted::new(&plants::SI_READS_LATEST),
        Planted::new(&plants::SI_SKIPS_COMMITTING),
        Planted::new(&parts::plants::CHAIN_CUT_EARLY),
        Planted::new(&engine::plants::MOVES_UNASKED),
        Planted::new(&storage::plants::REUSES_AT_ONCE),
        Planted::new(&storage::plants::REUSES_EARLY)
            .may_be_missed("the watermark of snapshots keeps most of what the epoch of memory keeps"),
    ],
    outcomes: &[
        ("dirty_write", "t1 commits, t2 aborts (write_conflict)"),
        ("lost_update_after_commit", "t1 commits, t2 aborts (write_conflict)"),
        ("old_writer", "t1 aborts (write_conflict)"),
        ("read_skew", "t1 commits, t2 commits"),
    ],
    ..Entry::of::<Si>()
};
