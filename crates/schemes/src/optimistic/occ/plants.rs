//! The planted bugs of the scheme: see [`sync::plant`]. `contend check occ --plant NAME` shows one.

sync::plants! {
    OCC_SKIPS_READS: "occ_skips_reads",
        "does not look whether a record that was read is newer than the begin";
    OCC_SKIPS_LEAVES: "occ_skips_leaves",
        "commits without a look at the leaves that were read";
    OCC_DRAWS_EARLY: "occ_draws_early",
        "draws its end number before it latches what it has touched";
    OCC_STARTS_LATE: "occ_starts_late",
        "takes its begin for as late as its last read";
    OCC_UNLATCHES_EARLY: "occ_unlatches_early",
        "stores the new word, which unlatches, before the value";
}
