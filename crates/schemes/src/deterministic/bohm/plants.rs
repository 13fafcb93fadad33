//! The planted bugs of the scheme: see [`sync::plant`]. `contend check bohm --plant NAME` shows one.

sync::plants! {
    BOHM_SKIPS_PENDING: "bohm_skips_pending",
        "takes a record whose version has no value yet for one without a value";
    BOHM_READS_NEWEST: "bohm_reads_newest",
        "reads the newest version that has a value, whichever its number";
    BOHM_PASSES_NOTHING: "bohm_passes_nothing",
        "leaves no value in a version that its transaction has not written";
}
