//! Claims about `bohm`.

crate::tests::conformance!(crate::deterministic::bohm::entry::ENTRY: with_several_open);
