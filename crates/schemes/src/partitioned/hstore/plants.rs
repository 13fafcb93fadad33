//! The planted bugs of the scheme: see [`sync::plant`]. `contend check hstore --plant NAME` shows one.

sync::plants! {
    HSTORE_HOLDS_BRIEFLY: "hstore_holds_briefly",
        "gives its partitions up between two operations, and takes them again";
    HSTORE_REACHES_ANYWHERE: "hstore_reaches_anywhere",
        "looks for keys, and misses them, in partitions that it does not hold";
}
