//! The planted bugs of the scheme: see [`sync::plant`]. `contend check no_wait --plant NAME` shows one.

sync::plants! {
    NO_WAIT_UPGRADES_ALWAYS: "no_wait_upgrades_always",
        "makes a shared lock exclusive although others have it, too";
}
