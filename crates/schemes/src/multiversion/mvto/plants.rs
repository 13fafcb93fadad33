//! The planted bugs of the scheme: see [`sync::plant`]. `contend check mvto --plant NAME` shows one.

sync::plants! {
    MVTO_MARKS_NO_READS: "mvto_marks_no_reads",
        "does not leave the timestamp of a read with the record";
    MVTO_IGNORES_READS: "mvto_ignores_reads",
        "writes a version although a later timestamp has read the one before";
    MVTO_MARKS_NO_GAPS: "mvto_marks_no_gaps",
        "does not leave the timestamp of a read with the leaves";
    MVTO_IGNORES_GAPS: "mvto_ignores_gaps",
        "adds a key to a gap that a later timestamp has read";
    MVTO_SKIPS_PENDING: "mvto_skips_pending",
        "reads past an earlier version that is undecided yet";
    MVTO_TRUSTS_UNDECIDED: "mvto_trusts_undecided",
        "leaves no timestamp with a record that has a later version, though that may be taken back";
}
