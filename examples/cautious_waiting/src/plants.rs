//! The planted bugs of the scheme: see [`sync::plant`]. `check cautious_waiting --plant NAME` shows one.

// ANCHOR: plants
sync::plants! {
    CAUTIOUS_WAITING_LOOKS_FIRST: "cautious_waiting_looks_first",
        "looks whether others are blocked before it says that it is blocked itself";
    CAUTIOUS_WAITING_LOOKS_AT_ONE: "cautious_waiting_looks_at_one",
        "looks at the first of those for whom it has to wait, and not at the others";
    CAUTIOUS_WAITING_HIDES_UPGRADES: "cautious_waiting_hides_upgrades",
        "does not say that it is blocked while it waits to make a shared lock exclusive";
}
// ANCHOR_END: plants
