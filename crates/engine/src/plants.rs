//! The planted bugs of what schemes share: see [`sync::plant`].

sync::plants! {
    INSERT_SHRUGS: "insert_shrugs",
        "says that a key is there if others have filled the entry that the insert itself has made";
    LEAF_SET_ADOPTS: "leaf_set_adopts",
        "takes a leaf for seen as it is after an own insert, whatever came between";
    WRITES_TRUSTED: "writes_trusted",
        "does not compare a record with what was read of it when it is locked to be written";
    COPIES_ONCE: "copies_once",
        "does not look at the word of a record again after it copied a value";
    LOCKS_UNSORTED: "locks_unsorted",
        "waits for locks in the order of the writes";
    LOCK_QUEUE_UPGRADES_EARLY: "lock_queue_upgrades_early",
        "makes a shared lock exclusive although others have it, too";
    LOCK_QUEUE_GRANTS_BESIDE: "lock_queue_grants_beside",
        "grants an exclusive lock to one who waits while others still share the record";
    LOCK_QUEUE_LEAVES_LATE: "lock_queue_leaves_late",
        "says whether a record has a value after it has granted the lock to the next";
    WAIT_GRAPH_SEES_NOTHING: "wait_graph_sees_nothing",
        "waits without ever looking for a cycle";
    WAIT_GRAPH_SPARES_OTHERS: "wait_graph_spares_others",
        "finds a circle, and does not let the victim know";
    READ_LOCKS_AFTER_THE_LAST: "read_locks_after_the_last",
        "locks a record to be read after no more of that is to be";
    LEAF_LOCKS_LEFT_BEHIND: "leaf_locks_left_behind",
        "does not hand those who have locked a leaf on to a record that enters it";
    UNCERTAIN_SKIPPED: "uncertain_skipped",
        "reads past a version whose writer ended before the begin and is being validated";
    UNCERTAIN_TRUSTED: "uncertain_trusted",
        "commits although a writer whose version it read in advance has failed";
    EARLY_LOCKS_SPARE_DEPENDENTS: "early_locks_spare_dependents",
        "lets those live who have seen what an attempt wrote that aborts";
    EARLY_LOCKS_REWRITE_UNSEEN: "early_locks_rewrite_unseen",
        "lets those live who have seen a value that its writer overwrites";
    EARLY_LOCKS_COUNT_DOWN_TWICE: "early_locks_count_down_twice",
        "does not note that a request was taken off the semaphore of its attempt";
    EARLY_LOCKS_PASS_UNCOUNTED: "early_locks_pass_uncounted",
        "puts a reader before a younger writer who does not wait for it";
    EARLY_LOCKS_READERS_UNCOUNTED: "early_locks_readers_uncounted",
        "lets a writer commit before those who have read what was there before it";
    HISTORY_TRIMMED_EARLY: "history_trimmed_early",
        "gives up the oldest write that an attempt has yet to be compared with";
    LOCKS_WAIT_ANYHOW: "locks_wait_anyhow",
        "waits for a lock without giving up those that are in the way of waiting";
    REHEARSALS_TRUSTED: "rehearsals_trusted",
        "goes on although it touches what its rehearsal did not";
    MISSES_UNTOUCHED: "misses_untouched",
        "does not count a key that is missing among what is touched";
    KEYS_STAND_FOR_ALL: "keys_stand_for_all",
        "takes the lock of a key for one of the row that its rehearsal has found there";
    STRETCHES_UNTOUCHED: "stretches_untouched",
        "does not count the stretch of a key that is added or removed among what is touched";
    APPENDS_UNSORTED: "appends_unsorted",
        "leaves versions in the order in which they were appended";
    ARRAYS_SKIP_PENDING: "arrays_skip_pending",
        "ignores a version that has no value yet";
    ARRAYS_READ_LAST: "arrays_read_last",
        "reads the last version that has a value, whichever its place";
    ARRAYS_SETTLED_FIRST: "arrays_settled_first",
        "gives a record the first version of its array when that is collected, and not the last";
    CHAIN_CUT_EARLY: "chain_cut_early",
        "gives up old versions as if nobody read the past";
    SNAPSHOTS_UNDECIDED: "snapshots_undecided",
        "lets snapshots show timestamps with which attempts in progress may yet write";
    SLOTS_COUNTED_ONCE: "slots_counted_once",
        "does not look for snapshots of sessions that have begun since it looked for attempts that write";
    READS_UNMARKED: "reads_unmarked",
        "does not leave with a record that it was read, for those who overwrite it later";
    GAPS_COMPARED: "gaps_compared",
        "compares leaves that were read at the commit, and leaves nothing with them that tells of it";
    GAPS_LEFT_BLANK: "gaps_left_blank",
        "does not hand the marks of a row that leaves the index to its leaf";
    COMMITS_UNAWAITED: "commits_unawaited",
        "looks for readers while commits with smaller numbers are being decided";
    OVERWRITERS_UNAWAITED: "overwriters_unawaited",
        "takes an overwriter that is being decided for a later one";
    SNAPSHOTS_UNREAD: "snapshots_unread",
        "does not count a safe snapshot among those who have read what it overwrites";
    STALE_READERS_UNTOLD: "stale_readers_untold",
        "overwrites what is stale without telling those who do not remember that they have read it";
    STALE_READERS_UNSEEN: "stale_readers_unseen",
        "does not count those who do not remember what they have read among its readers";
    MOVES_UNASKED: "moves_unasked",
        "does not ask rows found by a secondary key whether they still have it";
    UNDO_FORGETS_VALUES: "undo_forgets_values",
        "leaves the values of an attempt that aborts in place";
    UNDO_FORGETS_INSERTS: "undo_forgets_inserts",
        "leaves the rows in place that an attempt which aborts has inserted";
    UNDO_RUNS_FORWARDS: "undo_runs_forwards",
        "undoes an attempt from its first change to its last";
}
