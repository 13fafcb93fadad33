//! The planted bugs of what schemes share: see [`sync::plant`].

sync::plants! {
    LEAF_SET_ADOPTS: "leaf_set_adopts" in ["no_wait", "silo", "tictoc"],
        "takes a leaf for seen as it is after an own insert, whatever came between";
    LOCKS_UNSORTED: "locks_unsorted" in ["silo", "tictoc"],
        "waits for locks in the order of the writes";
    CHAIN_CUT_EARLY: "chain_cut_early" in ["mvto", "si"],
        "gives up old versions as if nobody read the past";
    MOVES_UNASKED: "moves_unasked" in ["no_wait", "silo", "tictoc", "mvto", "si"],
        "does not ask rows found by a secondary key whether they still have it";
    UNDO_FORGETS_VALUES: "undo_forgets_values" in ["hstore", "serial"],
        "does not note overwritten values for the undo";
    UNDO_FORGETS_INSERTS: "undo_forgets_inserts" in ["hstore", "serial"],
        "does not note for the undo that a record had no value";
    UNDO_RUNS_FORWARDS: "undo_runs_forwards" in ["hstore", "serial"],
        "undoes an attempt from its first change to its last";
}
