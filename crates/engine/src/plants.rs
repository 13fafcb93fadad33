//! The planted bugs of the engine: see [`sync::plant`].

sync::plants! {
    INSERT_SHRUGS: "insert_shrugs",
        "says that a key is there if others have filled the entry that the insert itself has made";
    LEAF_SET_ADOPTS: "leaf_set_adopts",
        "takes a leaf for seen as it is after an own insert, whatever came between";
    LEAF_SET_FORGETS_SPLITS: "leaf_set_forgets_splits",
        "does not count a leaf that an own insert has split off among the leaves that it has read";
    MOVES_UNASKED: "moves_unasked",
        "does not ask rows found by a secondary key whether they still have it";
    FOUND_TRUSTED: "found_trusted",
        "takes a row that was found for the footprint, although rows have left its index since";
}
