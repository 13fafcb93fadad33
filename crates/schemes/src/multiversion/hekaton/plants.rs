//! The planted bugs of the scheme: see [`sync::plant`]. `contend check hekaton --plant NAME` shows one.

sync::plants! {
    HEKATON_SKIPS_READS: "hekaton_skips_reads",
        "does not look whether what was read is visible at the end, too";
    HEKATON_SKIPS_LEAVES: "hekaton_skips_leaves",
        "commits without a look at the leaves that were read";
    HEKATON_TRUSTS_MISSES: "hekaton_trusts_misses",
        "believes that a key is missing although the record that said so has left the index";
}
