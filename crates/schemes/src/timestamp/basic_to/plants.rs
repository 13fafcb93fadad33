//! The planted bugs of the scheme: see [`sync::plant`]. `contend check basic_to --plant NAME` shows one.

sync::plants! {
    BASIC_TO_MARKS_NO_READS: "basic_to_marks_no_reads",
        "does not leave the timestamp of a read with the record";
    BASIC_TO_IGNORES_READS: "basic_to_ignores_reads",
        "announces a write of a record that a later timestamp has read";
    BASIC_TO_READS_LATER: "basic_to_reads_later",
        "reads a value that a later timestamp has written";
    BASIC_TO_SKIPS_PREWRITES: "basic_to_skips_prewrites",
        "reads a record although an earlier timestamp is about to write it";
    BASIC_TO_MARKS_NO_GAPS: "basic_to_marks_no_gaps",
        "does not leave the timestamp of a read with the leaves";
    BASIC_TO_IGNORES_GAPS: "basic_to_ignores_gaps",
        "adds a key to a gap that a later timestamp has read";
    BASIC_TO_RETIRES_EARLY: "basic_to_retires_early",
        "lets rows and keys leave the indexes that earlier timestamps have yet to look for";
}
