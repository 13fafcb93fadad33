//! The planted bugs of the scheme: see [`sync::plant`]. `contend check mv2pl --plant NAME` shows one.

sync::plants! {
    MV2PL_UNLOCKS_READS: "mv2pl_unlocks_reads",
        "gives up a shared lock as soon as the record is read";
    MV2PL_SKIPS_LEAVES: "mv2pl_skips_leaves",
        "commits without a look at the leaves that were read";
    MV2PL_DRAWS_LATE: "mv2pl_draws_late",
        "draws its number after it has looked at the leaves that were read";
    MV2PL_SHOWS_UNFINISHED: "mv2pl_shows_unfinished",
        "takes the last number drawn for a snapshot, though commits below it are not over";
    MV2PL_SHOWS_STALE: "mv2pl_shows_stale",
        "begins to read at the last snapshot that is known, though more has been committed";
    MV2PL_ENDS_EARLY: "mv2pl_ends_early",
        "says that a commit is over before its versions are in place";
    MV2PL_FORGETS_SNAPSHOTS: "mv2pl_forgets_snapshots",
        "lets rows and keys leave the indexes that a snapshot shows";
}
