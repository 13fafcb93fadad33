//! The planted bugs of the frame: see [`sync::plant`].

sync::plants! {
    TWO_PHASE_UNLOCKS_READS: "two_phase_unlocks_reads",
        "gives up a shared lock as soon as the record is read";
    TWO_PHASE_UNLOCKS_MISSES: "two_phase_unlocks_misses",
        "gives up a shared lock as soon as the record is found to have no value";
    TWO_PHASE_SKIPS_LEAVES: "two_phase_skips_leaves",
        "commits without a look at the leaves that were read";
    TWO_PHASE_UNLOCKS_EARLY: "two_phase_unlocks_early",
        "unlocks a record before its value is stored";
    TWO_PHASE_KEEPS_LOCKS: "two_phase_keeps_locks",
        "gives up no lock when it aborts";
}
