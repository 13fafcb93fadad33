//! The planted bugs of the scheme: see [`sync::plant`]. `contend check pwv --plant NAME` shows one.

sync::plants! {
    PWV_IGNORES_CASCADES: "pwv_ignores_cascades",
        "ends although a run whose exposed write it has read was withdrawn";
    PWV_ENDS_FIRST: "pwv_ends_first",
        "ends before those whose exposed writes it has read";
    PWV_EXPOSES_FIRST_WRITE: "pwv_exposes_first_write",
        "exposes the first write of a record, though others follow";
    PWV_WITHDRAWS_NOTHING: "pwv_withdraws_nothing",
        "lets transactions commit that have read what a transaction exposed which did not";
}
