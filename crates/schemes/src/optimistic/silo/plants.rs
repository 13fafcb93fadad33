//! The planted bugs of the scheme: see [`sync::plant`]. `contend check silo --plant NAME` shows one.

sync::plants! {
    SILO_SKIPS_READS: "silo_skips_reads",
        "commits without a look at the records that were only read";
    SILO_SKIPS_LEAVES: "silo_skips_leaves",
        "commits without a look at the leaves that were read";
    SILO_IGNORES_LOCKS: "silo_ignores_locks",
        "accepts records that were read although others have locked them";
    SILO_UNLOCKS_EARLY: "silo_unlocks_early",
        "stores the new word, which unlocks, before the value";
}
