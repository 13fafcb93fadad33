//! Records, versions, tables, indexes, memory. Storage knows no scheme: it carries a scheme's metadata
//! and lends memory in ways that cannot be misused, so that schemes need no `unsafe`.

mod additive;
mod arena;
mod core_key;
mod declared;
mod epoch;
mod implicit;
pub mod index;
mod key;
mod made;
mod owned;
mod part;
pub mod plants;
mod record;
mod row;
mod schema;
mod shape;
mod stock;
mod table;
mod tables;
mod unsettled;
mod version;
mod waiting;

pub use additive::{Additive, Column, accumulate, column};
pub use core_key::CoreKey;
pub use declared::{KeyPart, PlainGroup, PlainTable};
pub use implicit::{ImplicitRows, RowMaker};
pub use index::{LeafHold, LeafRef, NextNode, Watcher};
pub use key::{Home, Key, OrderedKey};
pub use owned::PartitionClaim;
pub use record::RecordRef;
pub use row::{
    Direction, GroupVisit, Groups, Index, IndexOn, Indexes, Row, SecondaryKeys, Table, TableId, Text, row_of,
    row_of_mut, words_of,
};
pub use schema::{FirstMemory, Layout, Lookup, NoMemory, Schema, Splitting, TableBuilder};
pub use shape::{Data, DataKind, InPlace, LeafMeta, Meta, Owned, Shape, Versioned, places_beside};
pub use table::{
    AnyKey, IndexRef, IndexedKey, Insertion, NewRow, RowRef, TableMemory, TableStore, Walker, Which,
};
pub use tables::{Slot, Tables};
pub use version::{Loan, Pending, VersionRef};
