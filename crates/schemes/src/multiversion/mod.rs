//! Schemes that keep several versions of a record.

pub mod cicada;
pub mod ermia;
pub mod hekaton;
pub mod hekaton_locking;
pub mod mv2pl;
pub mod mvto;
pub mod si;
pub mod ssi;
pub mod ssn;
