//! The planted bugs of the schemes: see [`sync::plant`]. `contend check SCHEME --plant NAME` shows one.

sync::plants! {
    NO_WAIT_UNLOCKS_READS: "no_wait_unlocks_reads" in ["no_wait"],
        "gives up a shared lock as soon as the record is read";
    NO_WAIT_UNLOCKS_MISSES: "no_wait_unlocks_misses" in ["no_wait"],
        "gives up a shared lock as soon as the record is found to have no value";
    NO_WAIT_UPGRADES_ALWAYS: "no_wait_upgrades_always" in ["no_wait"],
        "makes a shared lock exclusive although others have it, too";
    NO_WAIT_SKIPS_LEAVES: "no_wait_skips_leaves" in ["no_wait"],
        "commits without a look at the leaves that were read";
    NO_WAIT_UNLOCKS_EARLY: "no_wait_unlocks_early" in ["no_wait"],
        "unlocks a record before its value is stored";

    SILO_SKIPS_READS: "silo_skips_reads" in ["silo"],
        "commits without a look at the records that were only read";
    SILO_SKIPS_LEAVES: "silo_skips_leaves" in ["silo"],
        "commits without a look at the leaves that were read";
    SILO_TRUSTS_WRITES: "silo_trusts_writes" in ["silo"],
        "does not compare a record with what was read of it when it is locked to be written";
    SILO_IGNORES_LOCKS: "silo_ignores_locks" in ["silo"],
        "accepts records that were read although others have locked them";
    SILO_UNLOCKS_EARLY: "silo_unlocks_early" in ["silo"],
        "stores the new word, which unlocks, before the value";
    SILO_COPIES_ONCE: "silo_copies_once" in ["silo"],
        "does not look at the word again after it copied a value";

    TICTOC_SKIPS_READS: "tictoc_skips_reads" in ["tictoc"],
        "does not extend what was read to the commit";
    TICTOC_SKIPS_LEAVES: "tictoc_skips_leaves" in ["tictoc"],
        "does not extend the leaves that were read to the commit";
    TICTOC_TRUSTS_WRITES: "tictoc_trusts_writes" in ["tictoc"],
        "does not compare a record with what was read of it when it is locked to be written";
    TICTOC_EXTENDS_LOCKED: "tictoc_extends_locked" in ["tictoc"],
        "takes a version that another has locked for one that stays valid";
    TICTOC_IGNORES_RTS: "tictoc_ignores_rts" in ["tictoc"],
        "commits a write at a timestamp until which the version before was read";
    TICTOC_FORGETS_RTS: "tictoc_forgets_rts" in ["tictoc"],
        "does not hand the stamps of a row that leaves the index to its leaf";
    TICTOC_ENTERS_FRESH: "tictoc_enters_fresh" in ["tictoc"],
        "does not hand the stamps of a leaf to a row that enters it";

    MVTO_MARKS_NO_READS: "mvto_marks_no_reads" in ["mvto"],
        "does not leave the timestamp of a read with the record";
    MVTO_IGNORES_READS: "mvto_ignores_reads" in ["mvto"],
        "writes a version although a later timestamp has read the one before";
    MVTO_MARKS_NO_GAPS: "mvto_marks_no_gaps" in ["mvto"],
        "does not leave the timestamp of a read with the leaves";
    MVTO_IGNORES_GAPS: "mvto_ignores_gaps" in ["mvto"],
        "adds a key to a gap that a later timestamp has read";
    MVTO_SKIPS_PENDING: "mvto_skips_pending" in ["mvto"],
        "reads past an earlier version that is undecided yet";

    SI_LAST_WRITER_WINS: "si_last_writer_wins" in ["si"],
        "writes over a version that the snapshot does not show";
    SI_READS_LATEST: "si_reads_latest" in ["si"],
        "reads the newest committed version, whatever the snapshot";
    SI_SKIPS_COMMITTING: "si_skips_committing" in ["si"],
        "reads past a version whose writer is drawing its number";

    HSTORE_REACHES_ANYWHERE: "hstore_reaches_anywhere" in ["hstore"],
        "looks for keys, and misses them, in partitions that it does not hold";

    ARIA_SKIPS_WAW: "aria_skips_waw" in ["aria"],
        "commits a write although an earlier transaction of the batch writes the same record";
    ARIA_SKIPS_RAW: "aria_skips_raw" in ["aria"],
        "commits although it has read what an earlier transaction of the batch writes, and the reverse";
    ARIA_RESERVES_NO_READS: "aria_reserves_no_reads" in ["aria"],
        "leaves no reservations on what was read";
    ARIA_FORGETS_GAPS_READ: "aria_forgets_gaps_read" in ["aria"],
        "does not count gaps among what was read";
    ARIA_FORGETS_GAPS_ENTERED: "aria_forgets_gaps_entered" in ["aria"],
        "does not count gaps that new keys enter among what was written";
    ARIA_FORGETS_KEYS: "aria_forgets_keys" in ["aria"],
        "lets two transactions of a batch insert one key";
}
