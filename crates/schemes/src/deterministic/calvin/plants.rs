//! The planted bugs of the scheme: see [`sync::plant`]. `contend check calvin --plant NAME` shows one.

sync::plants! {
    CALVIN_RUNS_EARLY: "calvin_runs_early",
        "executes before it has its locks";
}
