//! The planted bugs of the scheme: see [`sync::plant`]. `contend check ssi --plant NAME` shows one.

sync::plants! {
    SSI_IGNORES_OVERWRITERS: "ssi_ignores_overwriters",
        "does not see that it has read what another has overwritten";
    SSI_IGNORES_PIVOTS: "ssi_ignores_pivots",
        "does not ask whether what has overwritten its reads had its own overwritten before";
    SSI_IGNORES_ENTRIES: "ssi_ignores_entries",
        "does not ask a leaf that it read who has entered keys since";
    SSI_IGNORES_READERS: "ssi_ignores_readers",
        "does not see that others have read what it overwrites";
    SSI_FORGETS_OUT: "ssi_forgets_out",
        "does not note with its versions that its own reads were overwritten";
}
