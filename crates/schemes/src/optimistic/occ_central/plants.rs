//! The planted bugs of the scheme: see [`sync::plant`]. `contend check occ_central --plant NAME` shows one.

sync::plants! {
    OCC_CENTRAL_SKIPS_HISTORY: "occ_central_skips_history",
        "commits without a look at what was committed since its begin";
    OCC_CENTRAL_SKIPS_ACTIVE: "occ_central_skips_active",
        "commits without a look at those who validate or write at the same time";
    OCC_CENTRAL_SKIPS_LEAVES: "occ_central_skips_leaves",
        "commits without a look at the leaves that were read";
    OCC_CENTRAL_TRUSTS_MISSES: "occ_central_trusts_misses",
        "believes that a key is missing although the record that said so has left the index";
    OCC_CENTRAL_UNLOCKS_EARLY: "occ_central_unlocks_early",
        "stores the new word, which unlocks, before the value";
    HISTORY_TRIMMED_EARLY: "history_trimmed_early",
        "gives up the oldest write that an attempt has yet to be compared with";
}
