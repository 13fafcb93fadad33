//! Claims about `uncontrolled`.

crate::tests::conformance!(crate::baseline::uncontrolled::entry::ENTRY);
