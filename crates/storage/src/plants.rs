//! The planted bugs of tables and indexes: see [`sync::plant`].

sync::plants! {
    SPLIT_DROPS_MARK: "split_drops_mark",
        "splits a leaf without a copy of what its scheme has left with it";
    UNLINK_DROPS_MARK: "unlink_drops_mark",
        "unlinks an empty leaf without a copy of what its scheme has left with it";
    REUSES_AT_ONCE: "reuses_at_once",
        "uses the memory of rows and versions again while others may still look at it";
    REUSES_EARLY: "reuses_early",
        "uses the memory of rows and versions again one epoch too early";
    SPLIT_UNNOTICED: "split_unnoticed",
        "splits a leaf whose gap version stays, although half of its gaps are in another leaf now";
    GROWTH_UNNOTICED: "growth_unnoticed",
        "splits a bucket whose gap version stays, although a part of its keys belongs to another bucket now";
    GROWTH_DROPS_MARK: "growth_drops_mark",
        "splits a bucket without a copy of what its scheme has left with it";
    GROWTH_OVERLOOKED: "growth_overlooked",
        "does not look whether the index has grown when it has chosen the bucket of a key";
}
