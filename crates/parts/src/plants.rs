//! The planted bugs of the parts: see [`sync::plant`].

sync::plants! {
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
    UNCERTAIN_SKIPPED: "uncertain_skipped",
        "reads past a version whose writer ended before the begin and is being validated";
    UNCERTAIN_TRUSTED: "uncertain_trusted",
        "commits although a writer whose version it read in advance has failed";
    LOCKS_WAIT_ANYHOW: "locks_wait_anyhow",
        "waits for a lock without giving up those that are in the way of waiting";
    REHEARSALS_TRUSTED: "rehearsals_trusted",
        "goes on although it touches what its rehearsal did not";
    MISSES_UNTOUCHED: "misses_untouched",
        "does not count a key that is missing among what is touched";
    KEYS_STAND_FOR_ALL: "keys_stand_for_all",
        "takes the lock of a key for one of the row that its rehearsal has found there";
    DELETES_SHARED: "deletes_shared",
        "asks for the lock of a record that it deletes in the mode of a reader";
    STRETCHES_UNTOUCHED: "stretches_untouched",
        "does not count the stretch of a key that is added or removed among what is touched";
    PARTS_READ_LIKE_WHOLES: "parts_read_like_wholes",
        "drops the requests to read a stretch of keys and to add one to it as if they did not conflict";
    CHAIN_CUT_EARLY: "chain_cut_early",
        "gives up old versions as if nobody read the past";
    READS_UNMARKED: "reads_unmarked",
        "does not leave with a record that it was read, for those who overwrite it later";
    GAPS_COMPARED: "gaps_compared",
        "compares leaves that were read at the commit, and leaves nothing with them that tells of it";
    GAPS_LEFT_BLANK: "gaps_left_blank",
        "does not hand the marks of a row that leaves the index to its leaf";
    REUSE_UNNOTICED: "reuse_unnoticed",
        "ignores readers of a gap when it uses an entry that an aborted attempt left in an index";
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
    UNDO_FORGETS_VALUES: "undo_forgets_values",
        "leaves the values of an attempt that aborts in place";
    UNDO_FORGETS_INSERTS: "undo_forgets_inserts",
        "leaves the rows in place that an attempt which aborts has inserted";
    CLAIM_ENDS_EARLY: "claim_ends_early",
        "gives its partitions up before it has written the last of what it changes";
    CLAIM_ENDS_BEFORE_UNDO: "claim_ends_before_undo",
        "gives its partitions up before it has undone what it inserted";
    COMMIT_LEAVES_MARKS: "commit_leaves_marks",
        "leaves the marks in what it has written that tell that the value before was saved";
    UNDO_RUNS_FORWARDS: "undo_runs_forwards",
        "undoes the inserts and deletions of an attempt from the first to the last";
}
