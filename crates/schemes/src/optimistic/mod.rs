//! Schemes that validate at commit.

pub mod foedus;
pub mod mocc;
pub mod occ;
pub mod occ_central;
pub mod silo;
pub mod tictoc;
