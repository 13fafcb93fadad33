//! Schemes whose validator chooses the order of transactions.

pub mod reorder;
