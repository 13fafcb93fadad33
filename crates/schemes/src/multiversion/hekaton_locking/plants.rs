//! The planted bugs of the scheme: see [`sync::plant`]. `contend check hekaton_locking --plant NAME` shows one.

sync::plants! {
    HEKATON_LOCKING_IGNORES_READERS: "hekaton_locking_ignores_readers",
        "does not wait for those who have locked what it writes over";
    HEKATON_LOCKING_IGNORES_SCANS: "hekaton_locking_ignores_scans",
        "does not wait for those who have locked a leaf to which it adds a key";
    HEKATON_LOCKING_UNLOCKS_EARLY: "hekaton_locking_unlocks_early",
        "gives its locks up before it waits for those of others";
    HEKATON_LOCKING_TELLS_NOBODY: "hekaton_locking_tells_nobody",
        "does not say who waits for what it has read when it waits itself";
    LEAF_LOCKS_LEFT_BEHIND: "leaf_locks_left_behind",
        "does not hand those who have locked a leaf on to a record that enters it";
}
