//! The stores, one in each file, and the only place that knows all of their names.

pub mod contend;
pub mod fjall;
pub mod lmdb;
pub mod postgres;
pub mod redb;
#[cfg(feature = "rocksdb")]
pub mod rocksdb;
pub mod sqlite;

use crate::peer::Peer;

/// The names of all stores, including stores that are not in this build.
pub const NAMES: &[&str] = &[
    "contend",
    "lmdb",
    "redb",
    "fjall",
    "sqlite-memory",
    "sqlite-wal",
    "rocksdb-optimistic",
    "rocksdb-pessimistic",
    "postgres",
];

/// An operation on a store whose type is known.
pub trait Visit {
    /// The result of the operation.
    type Out;

    /// Executes the operation.
    fn visit<P: Peer>(self) -> Self::Out;
}

/// Calls the visitor with the store of this name.
///
/// # Errors
/// If there is no such store, or none in this build, with the remedy.
pub fn with<V: Visit>(name: &str, visitor: V) -> Result<V::Out, String> {
    Ok(match name {
        contend::Contend::NAME => visitor.visit::<contend::Contend>(),
        lmdb::Lmdb::NAME => visitor.visit::<lmdb::Lmdb>(),
        redb::Redb::NAME => visitor.visit::<redb::Redb>(),
        fjall::Fjall::NAME => visitor.visit::<fjall::Fjall>(),
        sqlite::InMemory::NAME => visitor.visit::<sqlite::InMemory>(),
        sqlite::Wal::NAME => visitor.visit::<sqlite::Wal>(),
        postgres::Postgres::NAME => visitor.visit::<postgres::Postgres>(),
        #[cfg(feature = "rocksdb")]
        rocksdb::Optimistic::NAME => visitor.visit::<rocksdb::Optimistic>(),
        #[cfg(feature = "rocksdb")]
        rocksdb::Pessimistic::NAME => visitor.visit::<rocksdb::Pessimistic>(),
        name if NAMES.contains(&name) => {
            return Err(format!(
                "`{name}` is not in this build: add `--features rocksdb`, which needs librocksdb and libclang \
                 (crates/peers/compare.sh installs them)"
            ));
        }
        name => return Err(format!("there is no peer `{name}`; take some of {}", NAMES.join(", "))),
    })
}
