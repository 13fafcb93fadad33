//! The planted bugs of the scheme: see [`sync::plant`]. `contend check si --plant NAME` shows one.

sync::plants! {
    SI_LAST_WRITER_WINS: "si_last_writer_wins",
        "writes over a version that the snapshot does not show";
    SI_READS_LATEST: "si_reads_latest",
        "reads the newest committed version, whatever the snapshot";
    SI_SKIPS_COMMITTING: "si_skips_committing",
        "reads past a version whose writer is drawing its number";
}
