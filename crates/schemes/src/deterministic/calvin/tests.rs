//! Claims about `calvin`.

crate::tests::conformance!(crate::deterministic::calvin::entry::ENTRY: with_one_manager);
