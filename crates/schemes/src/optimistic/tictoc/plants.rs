//! The planted bugs of the scheme: see [`sync::plant`]. `contend check tictoc --plant NAME` shows one.

sync::plants! {
    TICTOC_SKIPS_READS: "tictoc_skips_reads",
        "does not extend what was read to the commit";
    TICTOC_SKIPS_LEAVES: "tictoc_skips_leaves",
        "does not extend the leaves that were read to the commit";
    TICTOC_EXTENDS_LOCKED: "tictoc_extends_locked",
        "takes a version that another has locked for one that stays valid";
    TICTOC_IGNORES_RTS: "tictoc_ignores_rts",
        "commits a write at a timestamp until which the version before was read";
    TICTOC_FORGETS_RTS: "tictoc_forgets_rts",
        "does not hand the stamps of a row that leaves the index to its leaf";
    TICTOC_ENTERS_FRESH: "tictoc_enters_fresh",
        "does not hand the stamps of a leaf to a row that enters it";
}
