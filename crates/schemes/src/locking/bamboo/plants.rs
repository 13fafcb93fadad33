//! The planted bugs of the scheme: see [`sync::plant`]. `contend check bamboo --plant NAME` shows one.

sync::plants! {
    BAMBOO_COMMITS_UNAWAITED: "bamboo_commits_unawaited",
        "commits before those whose values it has seen";
    BAMBOO_COMMITS_WOUNDED: "bamboo_commits_wounded",
        "does not look whether it was wounded while it waited for those before it";
    BAMBOO_SKIPS_LEAVES: "bamboo_skips_leaves",
        "commits without a look at the leaves that were read";
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
}
