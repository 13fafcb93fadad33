//! Schemes that fix the order of transactions before they execute them.
pub mod bohm;
pub mod calvin;
pub mod caracal;
pub mod pwv;
