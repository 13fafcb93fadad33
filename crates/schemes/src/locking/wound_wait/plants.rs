//! The planted bugs of the scheme: see [`sync::plant`]. `contend check wound_wait --plant NAME` shows one.

sync::plants! {
    WOUND_WAIT_WOUNDS_NOBODY: "wound_wait_wounds_nobody",
        "waits for younger transactions without wounding them";
    WOUND_WAIT_FEELS_NOTHING: "wound_wait_feels_nothing",
        "waits on for locks though it was wounded";
    WOUND_WAIT_SERVES_YOUNGEST_FIRST: "wound_wait_serves_youngest_first",
        "puts who is younger before those who wait already";
}
