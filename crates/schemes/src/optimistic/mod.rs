//! Schemes that validate at commit.

pub mod silo;
