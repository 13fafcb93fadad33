//! The planted bugs of the schemes: see [`sync::plant`]. `contend check SCHEME --plant NAME` shows one.

sync::plants! {
    SILO_SKIPS_READS: "silo_skips_reads" in ["silo"],
        "commits without a look at the records that were only read";
    SILO_SKIPS_LEAVES: "silo_skips_leaves" in ["silo"],
        "commits without a look at the leaves that were read";
    SILO_TRUSTS_WRITES: "silo_trusts_writes" in ["silo"],
        "does not compare a record with what was read of it when it is locked to be written";
    SILO_IGNORES_LOCKS: "silo_ignores_locks" in ["silo"],
        "accepts records that were read although others have locked them";
    SILO_UNLOCKS_EARLY: "silo_unlocks_early" in ["silo"],
        "stores the new word, which unlocks, before the value";
    SILO_COPIES_ONCE: "silo_copies_once" in ["silo"],
        "does not look at the word again after it copied a value";
}
