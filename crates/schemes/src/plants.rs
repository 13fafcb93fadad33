//! The planted bugs of the schemes: see [`sync::plant`]. `contend check SCHEME --plant NAME` shows one.

use sync::plant::Plant;

sync::plants! {
    NO_WAIT_UNLOCKS_READS: "no_wait_unlocks_reads",
        "gives up a shared lock as soon as the record is read";
    NO_WAIT_UNLOCKS_MISSES: "no_wait_unlocks_misses",
        "gives up a shared lock as soon as the record is found to have no value";
    NO_WAIT_UPGRADES_ALWAYS: "no_wait_upgrades_always",
        "makes a shared lock exclusive although others have it, too";
    NO_WAIT_SKIPS_LEAVES: "no_wait_skips_leaves",
        "commits without a look at the leaves that were read";
    NO_WAIT_UNLOCKS_EARLY: "no_wait_unlocks_early",
        "unlocks a record before its value is stored";

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

    OCC_CENTRAL_SKIPS_HISTORY: "occ_central_skips_history",
        "commits without a look at what was committed since its begin";
    OCC_CENTRAL_SKIPS_ACTIVE: "occ_central_skips_active",
        "commits without a look at those who validate or write at the same time";
    OCC_CENTRAL_SKIPS_LEAVES: "occ_central_skips_leaves",
        "commits without a look at the leaves that were read";
    OCC_CENTRAL_TRUSTS_MISSES: "occ_central_trusts_misses",
        "believes that a key is missing although the record that said so has left the index";
    OCC_CENTRAL_UNLOCKS_EARLY: "occ_central_unlocks_early",
        "stores the new word, which unlocks, before the value";

    SILO_SKIPS_READS: "silo_skips_reads",
        "commits without a look at the records that were only read";
    SILO_SKIPS_LEAVES: "silo_skips_leaves",
        "commits without a look at the leaves that were read";
    SILO_IGNORES_LOCKS: "silo_ignores_locks",
        "accepts records that were read although others have locked them";
    SILO_UNLOCKS_EARLY: "silo_unlocks_early",
        "stores the new word, which unlocks, before the value";

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

    SI_LAST_WRITER_WINS: "si_last_writer_wins",
        "writes over a version that the snapshot does not show";
    SI_READS_LATEST: "si_reads_latest",
        "reads the newest committed version, whatever the snapshot";
    SI_SKIPS_COMMITTING: "si_skips_committing",
        "reads past a version whose writer is drawing its number";

    HEKATON_SKIPS_READS: "hekaton_skips_reads",
        "does not look whether what was read is visible at the end, too";
    HEKATON_SKIPS_LEAVES: "hekaton_skips_leaves",
        "commits without a look at the leaves that were read";
    HEKATON_SKIPS_UNCERTAIN: "hekaton_skips_uncertain",
        "reads past a version whose writer ended before the begin and is being validated";
    HEKATON_TRUSTS_WRITERS: "hekaton_trusts_writers",
        "commits although a writer whose version it read in advance has failed";
    HEKATON_TRUSTS_MISSES: "hekaton_trusts_misses",
        "believes that a key is missing although the record that said so has left the index";

    HSTORE_HOLDS_BRIEFLY: "hstore_holds_briefly",
        "gives its partitions up between two operations, and takes them again";
    HSTORE_REACHES_ANYWHERE: "hstore_reaches_anywhere",
        "looks for keys, and misses them, in partitions that it does not hold";

    ARIA_SKIPS_WAW: "aria_skips_waw",
        "commits a write although an earlier transaction of the batch writes the same record";
    ARIA_SKIPS_RAW: "aria_skips_raw",
        "commits although it has read what an earlier transaction of the batch writes, and the reverse";
    ARIA_RESERVES_NO_READS: "aria_reserves_no_reads",
        "leaves no reservations on what was read";
    ARIA_FORGETS_GAPS_READ: "aria_forgets_gaps_read",
        "does not count gaps among what was read";
}

/// The bugs that can be planted in each scheme, its own and those of what it shares with others.
pub static OF_SCHEMES: &[(&str, &[&Plant])] = &[
    (
        "no_wait",
        &[
            &NO_WAIT_UNLOCKS_READS,
            &NO_WAIT_UNLOCKS_MISSES,
            &NO_WAIT_UPGRADES_ALWAYS,
            &NO_WAIT_SKIPS_LEAVES,
            &NO_WAIT_UNLOCKS_EARLY,
            &engine::plants::INSERT_SHRUGS,
            &engine::plants::LEAF_SET_ADOPTS,
            &engine::plants::MOVES_UNASKED,
            &storage::plants::REUSES_AT_ONCE,
        ],
    ),
    (
        "occ",
        &[
            &OCC_SKIPS_READS,
            &OCC_SKIPS_LEAVES,
            &OCC_DRAWS_EARLY,
            &OCC_STARTS_LATE,
            &OCC_UNLATCHES_EARLY,
            &engine::plants::COPIES_ONCE,
            &engine::plants::LEAF_SET_ADOPTS,
            &engine::plants::MOVES_UNASKED,
            &storage::plants::REUSES_AT_ONCE,
        ],
    ),
    (
        "occ_central",
        &[
            &OCC_CENTRAL_SKIPS_HISTORY,
            &OCC_CENTRAL_SKIPS_ACTIVE,
            &OCC_CENTRAL_SKIPS_LEAVES,
            &OCC_CENTRAL_TRUSTS_MISSES,
            &OCC_CENTRAL_UNLOCKS_EARLY,
            &engine::plants::HISTORY_TRIMMED_EARLY,
            &engine::plants::COPIES_ONCE,
            &engine::plants::LEAF_SET_ADOPTS,
            &engine::plants::MOVES_UNASKED,
        ],
    ),
    (
        "silo",
        &[
            &SILO_SKIPS_READS,
            &SILO_SKIPS_LEAVES,
            &engine::plants::WRITES_TRUSTED,
            &SILO_IGNORES_LOCKS,
            &SILO_UNLOCKS_EARLY,
            &engine::plants::COPIES_ONCE,
            &engine::plants::INSERT_SHRUGS,
            &engine::plants::LEAF_SET_ADOPTS,
            &engine::plants::LOCKS_UNSORTED,
            &engine::plants::MOVES_UNASKED,
            &storage::plants::REUSES_AT_ONCE,
        ],
    ),
    (
        "tictoc",
        &[
            &TICTOC_SKIPS_READS,
            &TICTOC_SKIPS_LEAVES,
            &engine::plants::WRITES_TRUSTED,
            &TICTOC_EXTENDS_LOCKED,
            &TICTOC_IGNORES_RTS,
            &TICTOC_FORGETS_RTS,
            &TICTOC_ENTERS_FRESH,
            &engine::plants::INSERT_SHRUGS,
            &engine::plants::LEAF_SET_ADOPTS,
            &engine::plants::LOCKS_UNSORTED,
            &engine::plants::MOVES_UNASKED,
            &storage::plants::SPLIT_DROPS_MARK,
            &storage::plants::UNLINK_DROPS_MARK,
            &storage::plants::REUSES_AT_ONCE,
        ],
    ),
    (
        "mvto",
        &[
            &MVTO_MARKS_NO_READS,
            &MVTO_IGNORES_READS,
            &MVTO_MARKS_NO_GAPS,
            &MVTO_IGNORES_GAPS,
            &MVTO_SKIPS_PENDING,
            &engine::plants::CHAIN_CUT_EARLY,
            &engine::plants::MOVES_UNASKED,
            &storage::plants::SPLIT_DROPS_MARK,
            &storage::plants::UNLINK_DROPS_MARK,
            &storage::plants::REUSES_AT_ONCE,
        ],
    ),
    (
        "si",
        &[
            &SI_LAST_WRITER_WINS,
            &SI_READS_LATEST,
            &SI_SKIPS_COMMITTING,
            &engine::plants::CHAIN_CUT_EARLY,
            &engine::plants::MOVES_UNASKED,
            &storage::plants::REUSES_AT_ONCE,
        ],
    ),
    (
        "hekaton",
        &[
            &HEKATON_SKIPS_READS,
            &HEKATON_SKIPS_LEAVES,
            &HEKATON_SKIPS_UNCERTAIN,
            &HEKATON_TRUSTS_WRITERS,
            &HEKATON_TRUSTS_MISSES,
            &engine::plants::CHAIN_CUT_EARLY,
            &engine::plants::LEAF_SET_ADOPTS,
            &engine::plants::MOVES_UNASKED,
            &storage::plants::REUSES_AT_ONCE,
        ],
    ),
    (
        "hstore",
        &[
            &HSTORE_HOLDS_BRIEFLY,
            &HSTORE_REACHES_ANYWHERE,
            &engine::plants::UNDO_FORGETS_VALUES,
            &engine::plants::UNDO_FORGETS_INSERTS,
            &engine::plants::UNDO_RUNS_FORWARDS,
        ],
    ),
    ("aria", &[&ARIA_SKIPS_WAW, &ARIA_SKIPS_RAW, &ARIA_RESERVES_NO_READS, &ARIA_FORGETS_GAPS_READ]),
    (
        "serial",
        &[
            &engine::plants::UNDO_FORGETS_VALUES,
            &engine::plants::UNDO_FORGETS_INSERTS,
            &engine::plants::UNDO_RUNS_FORWARDS,
        ],
    ),
];
