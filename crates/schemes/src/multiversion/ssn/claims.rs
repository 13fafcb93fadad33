//! The serial safety net, history by history.

use crate::multiversion::ssn::Ssn;
use crate::tests::common::certified;

crate::tests::conformance!(crate::multiversion::ssn::entry::ENTRY: over_read_committed);

#[test]
fn write_skew_is_refused() {
    certified::refuses_write_skew::<Ssn>();
}

#[test]
fn the_read_only_anomaly_is_refused_and_what_would_be_left_of_it_is_not() {
    certified::refuses_the_read_only_anomaly::<Ssn>();
}

#[test]
fn who_rolls_back_is_believed_and_has_read() {
    certified::believes_who_rolls_back::<Ssn>();
}

#[test]
fn a_pivot_commits_under_an_open_reader_who_finds_it_later() {
    certified::admits_a_pivot_under_an_open_reader::<Ssn>();
}

#[test]
fn a_read_of_an_older_version_is_none_of_what_overwrote_it() {
    certified::admits_a_pivot_over_what_nobody_has_read::<Ssn>();
}

#[test]
fn an_entry_below_a_gap_that_a_later_commit_has_read_is_refused() {
    certified::refuses_late_entries::<Ssn>();
}

#[test]
fn a_scan_is_refused_if_an_entry_below_it_was_overtaken_and_not_otherwise() {
    certified::refuses_a_scan_below_which_was_inserted::<Ssn>();
}

#[test]
fn a_leaf_that_has_grown_is_no_reason_to_refuse_a_scan() {
    certified::admits_scans_of_growing_leaves::<Ssn>();
}

#[test]
fn what_was_read_stays_read_when_a_key_leaves_and_enters_the_index() {
    certified::keeps_marks_when_a_key_leaves_and_enters::<Ssn>();
}

#[test]
fn a_retry_is_not_refused_for_the_same_reason() {
    certified::admits_a_retry::<Ssn>();
}

#[test]
fn reads_of_what_is_overwritten_meanwhile_are_refused_nothing() {
    for writes in [false, true] {
        certified::admits_old_readers::<Ssn>(writes);
    }
}

#[test]
fn who_comes_before_a_pivot_is_refused_nothing_if_it_has_read_nothing_new() {
    assert_eq!(certified::before_a_pivot::<Ssn>(), Ok(()));
}
