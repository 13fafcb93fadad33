//! Schemes that validate at commit.

pub mod silo;
pub mod tictoc;
