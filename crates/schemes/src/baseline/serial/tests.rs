//! Claims about `serial`.

crate::tests::conformance!(crate::baseline::serial::entry::ENTRY);
