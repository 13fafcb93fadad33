//! The planted bugs of the scheme: see [`sync::plant`]. `contend check caracal --plant NAME` shows one.

sync::plants! {
    CARACAL_RUNS_EARLY: "caracal_runs_early",
        "executes before it has the locks of what has no version";
    CARACAL_IGNORES_NOTHING: "caracal_ignores_nothing",
        "takes a version that its transaction has not written for one that took the value away";
    APPENDS_UNSORTED: "appends_unsorted",
        "leaves versions in the order in which they were appended";
    ARRAYS_SKIP_PENDING: "arrays_skip_pending",
        "ignores a version that has no value yet";
    ARRAYS_READ_LAST: "arrays_read_last",
        "reads the last version that has a value, whichever its place";
    ARRAYS_SETTLED_FIRST: "arrays_settled_first",
        "gives a record the first version of its array when that is collected, and not the last";
}
