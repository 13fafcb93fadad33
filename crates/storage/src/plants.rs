//! The planted bugs of tables and indexes: see [`sync::plant`].

sync::plants! {
    SPLIT_DROPS_MARK: "split_drops_mark",
        "splits a leaf without a copy of what its scheme has left with it";
    UNLINK_DROPS_MARK: "unlink_drops_mark",
        "unlinks an empty leaf without a copy of what its scheme has left with it";
    REUSES_AT_ONCE: "reuses_at_once",
        "uses the memory of rows and versions again while others may still look at it";
}
