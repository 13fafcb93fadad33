//! Schemes that validate at commit.

pub mod mocc;
pub mod silo;
pub mod tictoc;
