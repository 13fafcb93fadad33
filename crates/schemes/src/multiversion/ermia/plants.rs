//! The planted bugs of the scheme: see [`sync::plant`]. `contend check ermia --plant NAME` shows one.

sync::plants! {
    ERMIA_TAKES_NO_SPACE: "ermia_takes_no_space",
        "numbers a commit with the end of the log, and does not move that on";
}
