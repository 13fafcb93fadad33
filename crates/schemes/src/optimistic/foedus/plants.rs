//! The planted bugs of the scheme: see [`sync::plant`]. `contend check foedus --plant NAME` shows one.

sync::plants! {
    FOEDUS_SKIPS_READS: "foedus_skips_reads",
        "commits without a look at the records that were only read";
    FOEDUS_SKIPS_PAGES: "foedus_skips_pages",
        "commits without a look at the versions of the pages that were read";
    FOEDUS_IGNORES_WRITING: "foedus_ignores_writing",
        "accepts records that were read although others are writing them";
    FOEDUS_ENDS_EARLY: "foedus_ends_early",
        "stores the new TID, which ends the writing, before the value";
}
