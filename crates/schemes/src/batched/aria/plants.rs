//! The planted bugs of the scheme: see [`sync::plant`]. `contend check aria --plant NAME` shows one.

sync::plants! {
    ARIA_SKIPS_WAW: "aria_skips_waw",
        "commits a write although an earlier transaction of the batch writes the same record";
    ARIA_SKIPS_RAW: "aria_skips_raw",
        "commits although it has read what an earlier transaction of the batch writes, and the reverse";
    ARIA_RESERVES_NO_READS: "aria_reserves_no_reads",
        "leaves no reservations on what was read";
    ARIA_FORGETS_GAPS_READ: "aria_forgets_gaps_read",
        "does not count gaps among what was read";
}
