//! Claims about `calvin`.

crate::tests::conformance!(crate::deterministic::calvin::entry::ENTRY);
