//! The scripts, in the order in which they are read best: what every level excludes first.

macro_rules! scripts {
    ($($name:literal),+ $(,)?) => {
        /// The name and text of each script.
        pub const SCRIPTS: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../scripts/", $name, ".txt")))),+];
    };
}

scripts! {
    "dirty_write",
    "aborted_read",
    "intermediate_read",
    "rolled_back_read_skew",
    "circular_information_flow",
    "observed_transaction_vanishes",
    "predicate_many_preceders",
    "predicate_many_preceders_write",
    "lost_update",
    "lost_update_after_commit",
    "crossing_writes",
    "blind_write_over_newer",
    "update_of_deleted_row",
    "read_skew",
    "read_skew_by_predicate",
    "read_skew_before_write",
    "read_skew_and_write",
    "write_skew",
    "anti_dependency_cycle",
    "two_anti_dependencies",
    "read_only_anomaly",
    "counter_by_update",
    "counter_by_add",
    "phantom_write_skew",
    "phantom_in_empty_table",
    "phantom_after_split",
    "phantom_among_leaves",
    "phantom_in_secondary_index",
    "phantom_of_moving_rows",
    "skew_over_missing_keys",
    "late_insert_below_snapshot",
    "early_insert_below_scan",
    "early_insert_after_split",
    "order_against_time",
    "half_commit",
    "insert_insert",
    "insert_after_missing",
    "delete_and_reinsert",
    "aborted_insert",
    "aborted_insert_scanned",
    "aborted_delete",
    "aborted_insert_leaves_nothing",
    "own_changes",
    "own_split",
    "same_record_twice",
    "missing_keys",
    "upgrade",
    "long_reader",
    "old_writer",
    "phantom_beyond_limit",
    "old_snapshot",
}
