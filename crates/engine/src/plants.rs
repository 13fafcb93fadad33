//! The planted bugs of the engine: see [`sync::plant`].

sync::plants! {
    INSERT_SHRUGS: "insert_shrugs",
        "says that a key is there if others have filled the entry that the insert itself has made";
    MOVES_UNASKED: "moves_unasked",
        "does not ask rows found by a secondary key whether they still have it";
}
