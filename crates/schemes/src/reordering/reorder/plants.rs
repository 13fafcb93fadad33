//! The planted bugs of the scheme: see [`sync::plant`]. `contend check reorder --plant NAME` shows one.

sync::plants! {
    REORDER_MISSES_AN_EDGE: "reorder_misses_an_edge",
        "leaves the first key that a transaction has read out of the graph of its batch";
    REORDER_TRUSTS_THE_FIRST_LOOK: "reorder_trusts_the_first_look",
        "does not compare a batch again with what was decided while it was put in order";
    REORDER_FORGETS_EARLY: "reorder_forgets_early",
        "forgets committed writes that attempts have yet to be compared with";
    REORDER_BEGINS_AT_THE_LAST: "reorder_begins_at_the_last",
        "takes a commit that was decided for one whose writes are in place when an attempt begins";
    REORDER_INSTALLS_AS_THEY_COME: "reorder_installs_as_they_come",
        "installs the writes of a record in the order of their arrival and not in the order of the validator";
    REORDER_KEEPS_OLD_READS: "reorder_keeps_old_reads",
        "takes the versions for seen that the attempt before has seen, if the request is made again";
    REORDER_WRITES_BLINDLY: "reorder_writes_blindly",
        "does not tell the validator that a blind write has found a value";
    REORDER_SKIPS_GAPS: "reorder_skips_gaps",
        "commits without a look at the gaps that were read";
    REORDER_STAMPS_LATE: "reorder_stamps_late",
        "reads the stamp of a gap after the leaf, and does not look at the leaf again";
    REORDER_TRUSTS_MISSES: "reorder_trusts_misses",
        "believes that a key is missing although the record that said so has left the index";
    REORDER_RETIRES_CLAIMED: "reorder_retires_claimed",
        "lets a record leave the indexes although a commit is about to give it a value";
}
