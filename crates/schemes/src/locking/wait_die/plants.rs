//! The planted bugs of the scheme: see [`sync::plant`]. `contend check wait_die --plant NAME` shows one.

sync::plants! {
    WAIT_DIE_LETS_YOUNG_WAIT: "wait_die_lets_young_wait",
        "waits for a lock although an older transaction has it";
    WAIT_DIE_SERVES_OLDEST_FIRST: "wait_die_serves_oldest_first",
        "puts who is older before those who wait already";
}
