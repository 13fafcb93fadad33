//! Claims about `occ_central`.

crate::tests::conformance!(crate::optimistic::occ_central::entry::ENTRY: with_a_short_history);
