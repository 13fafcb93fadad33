//! The planted bugs of the scheme: see [`sync::plant`]. `contend check ssn --plant NAME` shows one.

sync::plants! {
    SSN_FOLLOWS_NOBODY: "ssn_follows_nobody",
        "does not count who wrote what it has read among those that come before";
    SSN_IGNORES_OVERWRITERS: "ssn_ignores_overwriters",
        "does not count who has overwritten what it read among those that come after";
    SSN_IGNORES_ENTRIES: "ssn_ignores_entries",
        "does not ask a leaf that it read who has entered keys since";
    SSN_IGNORES_READERS: "ssn_ignores_readers",
        "does not count who has read what it overwrites among those that come before";
    SSN_FORGETS_PI: "ssn_forgets_pi",
        "passes itself on as the first that can be reached, whatever can be reached from it";
}
