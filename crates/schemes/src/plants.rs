//! The planted bugs of the schemes: see [`sync::plant`]. `contend check SCHEME --plant NAME` shows one.

use sync::plant::Plant;

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

    NO_WAIT_UPGRADES_ALWAYS: "no_wait_upgrades_always",
        "makes a shared lock exclusive although others have it, too";

    WAIT_DIE_LETS_YOUNG_WAIT: "wait_die_lets_young_wait",
        "waits for a lock although an older transaction has it";
    WAIT_DIE_SERVES_OLDEST_FIRST: "wait_die_serves_oldest_first",
        "puts who is older before those who wait already";

    WOUND_WAIT_WOUNDS_NOBODY: "wound_wait_wounds_nobody",
        "waits for younger transactions without wounding them";
    WOUND_WAIT_FEELS_NOTHING: "wound_wait_feels_nothing",
        "waits on for locks though it was wounded";
    WOUND_WAIT_SERVES_YOUNGEST_FIRST: "wound_wait_serves_youngest_first",
        "puts who is younger before those who wait already";

    BAMBOO_COMMITS_UNAWAITED: "bamboo_commits_unawaited",
        "commits before those whose values it has seen";
    BAMBOO_COMMITS_WOUNDED: "bamboo_commits_wounded",
        "does not look whether it was wounded while it waited for those before it";
    BAMBOO_SKIPS_LEAVES: "bamboo_skips_leaves",
        "commits without a look at the leaves that were read";

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

    MOCC_SKIPS_READS: "mocc_skips_reads",
        "commits without a look at the records that were only read";
    MOCC_SKIPS_LEAVES: "mocc_skips_leaves",
        "commits without a look at the leaves that were read";
    MOCC_TRUSTS_LOCKS: "mocc_trusts_locks",
        "does not validate what was read under a lock, which may have been given up";
    MOCC_IGNORES_INSTALLING: "mocc_ignores_installing",
        "accepts records that were read although others are installing them";
    MOCC_ENDS_EARLY: "mocc_ends_early",
        "stores the new TID, which ends the installing, before the value";

    FOEDUS_SKIPS_READS: "foedus_skips_reads",
        "commits without a look at the records that were only read";
    FOEDUS_SKIPS_PAGES: "foedus_skips_pages",
        "commits without a look at the versions of the pages that were read";
    FOEDUS_IGNORES_LOCKS: "foedus_ignores_locks",
        "accepts records that were read although others have locked them to write them";
    FOEDUS_WRITES_UNMARKED: "foedus_writes_unmarked",
        "does not say of a record that it is being written";
    FOEDUS_ENDS_EARLY: "foedus_ends_early",
        "stores the new TID, which ends the writing, before the value";

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

    SI_LAST_WRITER_WINS: "si_last_writer_wins",
        "writes over a version that the snapshot does not show";
    SI_READS_LATEST: "si_reads_latest",
        "reads the newest committed version, whatever the snapshot";
    SI_SKIPS_COMMITTING: "si_skips_committing",
        "reads past a version whose writer is drawing its number";

    SSN_FOLLOWS_NOBODY: "ssn_follows_nobody",
        "does not count who wrote what it has read among those that come before";
    SSN_IGNORES_OVERWRITERS: "ssn_ignores_overwriters",
        "does not count who has overwritten what it read among those that come after";
    SSN_IGNORES_ENTRIES: "ssn_ignores_entries",
        "does not ask a leaf that it read who has entered keys since";
    SSN_IGNORES_READERS: "ssn_ignores_readers",
        "does not count who has read what it overwrites among those that come before";
    SSN_FORGETS_PI: "ssn_forgets_pi",
        "passes itself on as the first that can be reached, whatever can be reached from it";

    SSI_IGNORES_OVERWRITERS: "ssi_ignores_overwriters",
        "does not see that it has read what another has overwritten";
    SSI_IGNORES_PIVOTS: "ssi_ignores_pivots",
        "does not ask whether what has overwritten its reads had its own overwritten before";
    SSI_IGNORES_ENTRIES: "ssi_ignores_entries",
        "does not ask a leaf that it read who has entered keys since";
    SSI_IGNORES_READERS: "ssi_ignores_readers",
        "does not see that others have read what it overwrites";
    SSI_FORGETS_OUT: "ssi_forgets_out",
        "does not note with its versions that its own reads were overwritten";

    ERMIA_TAKES_NO_SPACE: "ermia_takes_no_space",
        "numbers a commit with the end of the log, and does not move that on";

    HEKATON_SKIPS_READS: "hekaton_skips_reads",
        "does not look whether what was read is visible at the end, too";
    HEKATON_SKIPS_LEAVES: "hekaton_skips_leaves",
        "commits without a look at the leaves that were read";
    HEKATON_TRUSTS_MISSES: "hekaton_trusts_misses",
        "believes that a key is missing although the record that said so has left the index";

    HEKATON_LOCKING_IGNORES_READERS: "hekaton_locking_ignores_readers",
        "does not wait for those who have locked what it writes over";
    HEKATON_LOCKING_IGNORES_SCANS: "hekaton_locking_ignores_scans",
        "does not wait for those who have locked a leaf to which it adds a key";
    HEKATON_LOCKING_UNLOCKS_EARLY: "hekaton_locking_unlocks_early",
        "gives its locks up before it waits for those of others";
    HEKATON_LOCKING_TELLS_NOBODY: "hekaton_locking_tells_nobody",
        "does not say who waits for what it has read when it waits itself";

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

    CALVIN_RUNS_EARLY: "calvin_runs_early",
        "executes before it has its locks";

    BOHM_SKIPS_PENDING: "bohm_skips_pending",
        "takes a record whose version has no value yet for one without a value";
    BOHM_READS_NEWEST: "bohm_reads_newest",
        "reads the newest version that has a value, whichever its number";
    BOHM_PASSES_NOTHING: "bohm_passes_nothing",
        "leaves no value in a version that its transaction has not written";

    CARACAL_RUNS_EARLY: "caracal_runs_early",
        "executes before it has the locks of what has no version";
    CARACAL_IGNORES_NOTHING: "caracal_ignores_nothing",
        "takes a version that its transaction has not written for one that took the value away";
    PWV_IGNORES_CASCADES: "pwv_ignores_cascades",
        "ends although a run whose exposed write it has read was withdrawn";
    PWV_ENDS_FIRST: "pwv_ends_first",
        "ends before those whose exposed writes it has read";
    PWV_EXPOSES_FIRST_WRITE: "pwv_exposes_first_write",
        "exposes the first write of a record, though others follow";
    PWV_WITHDRAWS_NOTHING: "pwv_withdraws_nothing",
        "leaves exposed what a transaction has written that does not commit, as if it had";
}

/// The bugs that can be planted in each scheme: its own, and those of the parts that it shares with
/// other schemes.
pub static OF_SCHEMES: &[(&str, &[&Plant])] = &[
    (
        "no_wait",
        &[
            &TWO_PHASE_UNLOCKS_READS,
            &TWO_PHASE_UNLOCKS_MISSES,
            &TWO_PHASE_SKIPS_LEAVES,
            &TWO_PHASE_UNLOCKS_EARLY,
            &TWO_PHASE_KEEPS_LOCKS,
            &NO_WAIT_UPGRADES_ALWAYS,
            &engine::plants::INSERT_SHRUGS,
            &engine::plants::LEAF_SET_ADOPTS,
            &engine::plants::MOVES_UNASKED,
        ],
    ),
    (
        "wait_die",
        &[
            &TWO_PHASE_UNLOCKS_READS,
            &TWO_PHASE_UNLOCKS_MISSES,
            &TWO_PHASE_SKIPS_LEAVES,
            &TWO_PHASE_UNLOCKS_EARLY,
            &WAIT_DIE_LETS_YOUNG_WAIT,
            &WAIT_DIE_SERVES_OLDEST_FIRST,
            &engine::plants::LOCK_QUEUE_UPGRADES_EARLY,
            &engine::plants::LOCK_QUEUE_GRANTS_BESIDE,
            &engine::plants::LOCK_QUEUE_LEAVES_LATE,
            &engine::plants::INSERT_SHRUGS,
            &engine::plants::LEAF_SET_ADOPTS,
            &engine::plants::MOVES_UNASKED,
            &storage::plants::REUSES_AT_ONCE,
        ],
    ),
    (
        "dl_detect",
        &[
            &TWO_PHASE_UNLOCKS_READS,
            &TWO_PHASE_UNLOCKS_MISSES,
            &TWO_PHASE_SKIPS_LEAVES,
            &TWO_PHASE_UNLOCKS_EARLY,
            &engine::plants::WAIT_GRAPH_SEES_NOTHING,
            &engine::plants::WAIT_GRAPH_SPARES_OTHERS,
            &engine::plants::LOCK_QUEUE_UPGRADES_EARLY,
            &engine::plants::LOCK_QUEUE_GRANTS_BESIDE,
            &engine::plants::LOCK_QUEUE_LEAVES_LATE,
            &engine::plants::INSERT_SHRUGS,
            &engine::plants::LEAF_SET_ADOPTS,
            &engine::plants::MOVES_UNASKED,
        ],
    ),
    (
        "wound_wait",
        &[
            &TWO_PHASE_UNLOCKS_READS,
            &TWO_PHASE_UNLOCKS_MISSES,
            &TWO_PHASE_SKIPS_LEAVES,
            &TWO_PHASE_UNLOCKS_EARLY,
            &WOUND_WAIT_WOUNDS_NOBODY,
            &WOUND_WAIT_FEELS_NOTHING,
            &WOUND_WAIT_SERVES_YOUNGEST_FIRST,
            &engine::plants::LOCK_QUEUE_UPGRADES_EARLY,
            &engine::plants::LOCK_QUEUE_GRANTS_BESIDE,
            &engine::plants::LOCK_QUEUE_LEAVES_LATE,
            &engine::plants::INSERT_SHRUGS,
            &engine::plants::LEAF_SET_ADOPTS,
            &engine::plants::MOVES_UNASKED,
        ],
    ),
    (
        "bamboo",
        &[
            &BAMBOO_COMMITS_UNAWAITED,
            &BAMBOO_COMMITS_WOUNDED,
            &BAMBOO_SKIPS_LEAVES,
            &engine::plants::EARLY_LOCKS_SPARE_DEPENDENTS,
            &engine::plants::EARLY_LOCKS_REWRITE_UNSEEN,
            &engine::plants::EARLY_LOCKS_COUNT_DOWN_TWICE,
            &engine::plants::EARLY_LOCKS_PASS_UNCOUNTED,
            &engine::plants::EARLY_LOCKS_READERS_UNCOUNTED,
            &engine::plants::INSERT_SHRUGS,
            &engine::plants::LEAF_SET_ADOPTS,
            &engine::plants::MOVES_UNASKED,
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
        "mocc",
        &[
            &MOCC_SKIPS_READS,
            &MOCC_SKIPS_LEAVES,
            &engine::plants::WRITES_TRUSTED,
            &MOCC_TRUSTS_LOCKS,
            &MOCC_IGNORES_INSTALLING,
            &MOCC_ENDS_EARLY,
            &engine::plants::LOCKS_WAIT_ANYHOW,
            &engine::plants::COPIES_ONCE,
            &engine::plants::INSERT_SHRUGS,
            &engine::plants::LEAF_SET_ADOPTS,
            &engine::plants::MOVES_UNASKED,
            &storage::plants::REUSES_AT_ONCE,
        ],
    ),
    (
        "foedus",
        &[
            &FOEDUS_SKIPS_READS,
            &FOEDUS_SKIPS_PAGES,
            &engine::plants::WRITES_TRUSTED,
            &FOEDUS_IGNORES_LOCKS,
            &FOEDUS_WRITES_UNMARKED,
            &FOEDUS_ENDS_EARLY,
            &engine::plants::COPIES_ONCE,
            &engine::plants::INSERT_SHRUGS,
            &engine::plants::LEAF_SET_ADOPTS,
            &engine::plants::LOCKS_WAIT_ANYHOW,
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
        "basic_to",
        &[
            &BASIC_TO_MARKS_NO_READS,
            &BASIC_TO_IGNORES_READS,
            &BASIC_TO_READS_LATER,
            &BASIC_TO_SKIPS_PREWRITES,
            &BASIC_TO_MARKS_NO_GAPS,
            &BASIC_TO_IGNORES_GAPS,
            &BASIC_TO_RETIRES_EARLY,
            &engine::plants::MOVES_UNASKED,
            &storage::plants::SPLIT_DROPS_MARK,
            &storage::plants::UNLINK_DROPS_MARK,
        ],
    ),
    (
        "mv2pl",
        &[
            &MV2PL_UNLOCKS_READS,
            &MV2PL_SKIPS_LEAVES,
            &MV2PL_DRAWS_LATE,
            &MV2PL_SHOWS_UNFINISHED,
            &MV2PL_SHOWS_STALE,
            &MV2PL_ENDS_EARLY,
            &MV2PL_FORGETS_SNAPSHOTS,
            &engine::plants::CHAIN_CUT_EARLY,
            &engine::plants::LEAF_SET_ADOPTS,
            &engine::plants::MOVES_UNASKED,
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
        "ssn",
        &[
            &SSN_FOLLOWS_NOBODY,
            &SSN_IGNORES_OVERWRITERS,
            &SSN_IGNORES_ENTRIES,
            &SSN_IGNORES_READERS,
            &SSN_FORGETS_PI,
            &SI_SKIPS_COMMITTING,
            &engine::plants::READS_UNMARKED,
            &engine::plants::GAPS_COMPARED,
            &engine::plants::GAPS_LEFT_BLANK,
            &engine::plants::COMMITS_UNAWAITED,
            &engine::plants::OVERWRITERS_UNAWAITED,
            &engine::plants::CHAIN_CUT_EARLY,
            &engine::plants::MOVES_UNASKED,
            &storage::plants::SPLIT_DROPS_MARK,
            &storage::plants::UNLINK_DROPS_MARK,
            &storage::plants::REUSES_AT_ONCE,
        ],
    ),
    (
        "ssi",
        &[
            &SSI_IGNORES_OVERWRITERS,
            &SSI_IGNORES_PIVOTS,
            &SSI_IGNORES_ENTRIES,
            &SSI_IGNORES_READERS,
            &SSI_FORGETS_OUT,
            &SI_LAST_WRITER_WINS,
            &SI_READS_LATEST,
            &SI_SKIPS_COMMITTING,
            &engine::plants::READS_UNMARKED,
            &engine::plants::GAPS_COMPARED,
            &engine::plants::GAPS_LEFT_BLANK,
            &engine::plants::COMMITS_UNAWAITED,
            &engine::plants::OVERWRITERS_UNAWAITED,
            &engine::plants::CHAIN_CUT_EARLY,
            &engine::plants::MOVES_UNASKED,
            &storage::plants::SPLIT_DROPS_MARK,
            &storage::plants::UNLINK_DROPS_MARK,
            &storage::plants::REUSES_AT_ONCE,
        ],
    ),
    (
        "ermia",
        &[
            &ERMIA_TAKES_NO_SPACE,
            &SSN_FOLLOWS_NOBODY,
            &SSN_IGNORES_OVERWRITERS,
            &SSN_IGNORES_ENTRIES,
            &SSN_IGNORES_READERS,
            &SSN_FORGETS_PI,
            &SI_SKIPS_COMMITTING,
            // These three are in what settings ask for, and show under those alone.
            &engine::plants::SNAPSHOTS_UNREAD,
            &engine::plants::STALE_READERS_UNTOLD,
            &engine::plants::STALE_READERS_UNSEEN,
            &engine::plants::READS_UNMARKED,
            &engine::plants::GAPS_COMPARED,
            &engine::plants::GAPS_LEFT_BLANK,
            &engine::plants::COMMITS_UNAWAITED,
            &engine::plants::OVERWRITERS_UNAWAITED,
            &engine::plants::CHAIN_CUT_EARLY,
            &engine::plants::MOVES_UNASKED,
            &storage::plants::SPLIT_DROPS_MARK,
            &storage::plants::UNLINK_DROPS_MARK,
            &storage::plants::REUSES_AT_ONCE,
        ],
    ),
    (
        "hekaton",
        &[
            &HEKATON_SKIPS_READS,
            &HEKATON_SKIPS_LEAVES,
            &engine::plants::UNCERTAIN_SKIPPED,
            &engine::plants::UNCERTAIN_TRUSTED,
            &HEKATON_TRUSTS_MISSES,
            &engine::plants::CHAIN_CUT_EARLY,
            &engine::plants::LEAF_SET_ADOPTS,
            &engine::plants::MOVES_UNASKED,
            &storage::plants::REUSES_AT_ONCE,
        ],
    ),
    (
        "hekaton_locking",
        &[
            &HEKATON_LOCKING_IGNORES_READERS,
            &HEKATON_LOCKING_IGNORES_SCANS,
            &HEKATON_LOCKING_UNLOCKS_EARLY,
            &HEKATON_LOCKING_TELLS_NOBODY,
            &engine::plants::READ_LOCKS_AFTER_THE_LAST,
            &engine::plants::LEAF_LOCKS_LEFT_BEHIND,
            &engine::plants::UNCERTAIN_SKIPPED,
            &engine::plants::WAIT_GRAPH_SEES_NOTHING,
            &engine::plants::WAIT_GRAPH_SPARES_OTHERS,
            &engine::plants::CHAIN_CUT_EARLY,
            &engine::plants::MOVES_UNASKED,
            &storage::plants::REUSES_AT_ONCE,
        ],
    ),
    (
        "cicada",
        &[
            &CICADA_SKIPS_READS,
            &CICADA_RAISES_NO_RTS,
            &CICADA_IGNORES_RTS,
            &CICADA_SKIPS_PENDING,
            &CICADA_MARKS_NO_GAPS,
            &CICADA_ENTERS_FRESH,
            &engine::plants::WRITES_TRUSTED,
            &engine::plants::SNAPSHOTS_UNDECIDED,
            &engine::plants::SLOTS_COUNTED_ONCE,
            &engine::plants::CHAIN_CUT_EARLY,
            &engine::plants::MOVES_UNASKED,
            &storage::plants::SPLIT_DROPS_MARK,
            &storage::plants::UNLINK_DROPS_MARK,
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
        "calvin",
        &[
            &CALVIN_RUNS_EARLY,
            &engine::plants::REHEARSALS_TRUSTED,
            &engine::plants::MISSES_UNTOUCHED,
            &engine::plants::KEYS_STAND_FOR_ALL,
            &engine::plants::STRETCHES_UNTOUCHED,
        ],
    ),
    (
        "bohm",
        &[
            &BOHM_SKIPS_PENDING,
            &BOHM_READS_NEWEST,
            &BOHM_PASSES_NOTHING,
            &engine::plants::REHEARSALS_TRUSTED,
            &engine::plants::MISSES_UNTOUCHED,
            &engine::plants::KEYS_STAND_FOR_ALL,
            &engine::plants::STRETCHES_UNTOUCHED,
            &engine::plants::CHAIN_CUT_EARLY,
        ],
    ),
    (
        "caracal",
        &[
            &CARACAL_IGNORES_NOTHING,
            &CARACAL_RUNS_EARLY,
            &engine::plants::APPENDS_UNSORTED,
            &engine::plants::ARRAYS_SKIP_PENDING,
            &engine::plants::ARRAYS_READ_LAST,
            &engine::plants::ARRAYS_SETTLED_FIRST,
            &engine::plants::REHEARSALS_TRUSTED,
            &engine::plants::MISSES_UNTOUCHED,
            &engine::plants::KEYS_STAND_FOR_ALL,
            &engine::plants::STRETCHES_UNTOUCHED,
        ],
    ),
    (
        "pwv",
        &[
            &PWV_IGNORES_CASCADES,
            &PWV_ENDS_FIRST,
            &PWV_EXPOSES_FIRST_WRITE,
            &PWV_WITHDRAWS_NOTHING,
            &engine::plants::REHEARSALS_TRUSTED,
            &engine::plants::MISSES_UNTOUCHED,
            &engine::plants::KEYS_STAND_FOR_ALL,
            &engine::plants::STRETCHES_UNTOUCHED,
            &engine::plants::CHAIN_CUT_EARLY,
        ],
    ),
    (
        "serial",
        &[
            &engine::plants::UNDO_FORGETS_VALUES,
            &engine::plants::UNDO_FORGETS_INSERTS,
            &engine::plants::UNDO_RUNS_FORWARDS,
        ],
    ),
];
