//! The planted bugs of the scheme: see [`sync::plant`]. `contend check mocc --plant NAME` shows one.

sync::plants! {
    MOCC_SKIPS_READS: "mocc_skips_reads",
        "commits without a look at the records that were only read";
    MOCC_SKIPS_LEAVES: "mocc_skips_leaves",
        "commits without a look at the leaves that were read";
    MOCC_TRUSTS_LOCKS: "mocc_trusts_locks",
        "does not validate what was read under a lock, which may have been given up";
    MOCC_IGNORES_INSTALLING: "mocc_ignores_installing",
        "accepts records that were read although others are installing them";
    MOCC_ENDS_EARLY: "mocc_ends_early",
        "stores the new TID, which ends the installing, before the value";
}
