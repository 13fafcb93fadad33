//! The planted bugs of the scheme: see [`sync::plant`]. `contend check cicada --plant NAME` shows one.

sync::plants! {
    CICADA_SKIPS_READS: "cicada_skips_reads",
        "commits whatever has become of what it has read";
    CICADA_RAISES_NO_RTS: "cicada_raises_no_rts",
        "does not leave its timestamp with what it has read when it commits";
    CICADA_IGNORES_RTS: "cicada_ignores_rts",
        "installs a version although a later timestamp has read the one before";
    CICADA_SKIPS_PENDING: "cicada_skips_pending",
        "reads past an earlier version that is undecided yet";
    CICADA_MARKS_NO_GAPS: "cicada_marks_no_gaps",
        "does not leave the timestamp of a read with the leaves";
    CICADA_ENTERS_FRESH: "cicada_enters_fresh",
        "does not hand the mark of a leaf to a row that enters it";
    SNAPSHOTS_UNDECIDED: "snapshots_undecided",
        "lets snapshots show timestamps with which attempts in progress may yet write";
    SLOTS_COUNTED_ONCE: "slots_counted_once",
        "does not look for snapshots of sessions that have begun since it looked for attempts that write";
}
