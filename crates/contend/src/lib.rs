//! A fast in-memory transactional store, embedded in a program, and durable if it is given a path. It has typed tables,
//! and transactions are closures that are executed until they commit, strictly serializable unless a program asks for
//! less.
//!
//! **Only attempts that commit are consistent.** A closure may be executed several times. In an attempt that does not
//! commit, it may see rows that never existed together: under the standard scheme and most others, two reads of one
//! attempt may belong to different committed states. While another thread moves 100 cents from Ann to Bob, a closure
//! may read Ann's row from before the transfer and Bob's row from after it, and find 100 cents too many. Such an
//! attempt never commits; its error, its panic and its decision not to write are not believed, and the closure is
//! executed again. So a closure must end on any rows. With [`Options::consistent_reads`] closures see one state only;
//! so they do in a program that is built with `panic = "abort"`, where a panic would end the process.
//!
//! ```
//! use contend::{Database, Error, Options, Table, Text};
//!
//! #[derive(Debug, Table)]
//! struct Account {
//!     #[key]
//!     id: u64,
//!     #[index]
//!     owner: Text<16>,
//!     cents: i64,
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let db = Database::in_memory(Options::new().table::<Account>())?;
//! let accounts = db.table::<Account>()?;
//!
//! db.transact(|txn| {
//!     for (id, owner) in [(1, "Ann"), (2, "Bob"), (3, "Ann")] {
//!         txn.insert(accounts, &Account { id, owner: owner.parse()?, cents: 1_000 })?;
//!     }
//!     Ok(())
//! })?;
//!
//! // Executed again, as a whole, if another transaction was in the way.
//! db.transact(|txn| {
//!     let left = txn.update(accounts, 1, |account| {
//!         account.cents -= 300;
//!         account.cents
//!     })?;
//!     if left.is_none_or(|left| left < 0) {
//!         return Err(Error::rollback("insufficient funds"));
//!     }
//!     txn.update(accounts, 2, |account| account.cents += 300)?;
//!     Ok(())
//! })?;
//!
//! let ann: Text<16> = "Ann".parse()?;
//! let hers = db.snapshot(|txn| {
//!     txn.scan_by(accounts, Account::BY_OWNER, ann..=ann).map(|account| Ok(account?.cents)).sum::<Result<i64, _>>()
//! })?;
//! assert_eq!(hers, 1_700);
//! # Ok(())
//! # }
//! ```
//!
//! # Which scheme, and why
//!
//! The standard scheme is Silo's optimistic concurrency control ([`Options::scheme`] takes others). It was chosen by
//! measurement among the strictly serializable schemes. Of those in `docs/performance.md` it has the highest throughput
//! for TPC-C's full mix with one worker and with two, and for YCSB with mostly reads. Its readers take no lock, so that
//! a thread which loses its core within a read-only transaction delays nobody. Where most transactions update the same
//! few records, `no_wait` was a quarter faster. For such a program another scheme may be better: measure a similar
//! workload with `contend run`.
//!
//! # Which schemes are in a build
//!
//! Only the standard scheme is in a build, unless the feature `all-schemes` is on. Each other scheme is compiled anew
//! over tables, indexes and sessions, which takes longer than the rest of the crate, and a program uses only one
//! scheme. With the feature, the crate offers every scheme that decides transactions one by one and needs no
//! declaration of accesses in advance ([`schemes()`] lists them).
//!
//! # Panics in closures
//!
//! A panic within a closure is caught, and resumed when its attempt is found to be consistent. The program's panic hook
//! is called then, once, with the panic's message and place; a panic that is not believed is not reported. For that
//! purpose the library puts a hook of its own before the hook that is there when the first database is made. A hook
//! that is set later should ask [`in_transaction`]. A panic in another thread, which a closure has started, is reported
//! at once.
//!
//! # Repeated conflicts
//!
//! After [a number](Options::turn_after) of consecutive failed attempts, a transaction gets a turn: others wait before
//! they begin an attempt. So even a transaction that reads all rows beside writers that never pause ends after a
//! bounded number of attempts. [`Options::deadline_ms`] bounds the time ([`Error::Expired`]).
//!
//! # Durability
//!
//! A database of [`Database::in_memory`] ends with the process. [`Database::open`] takes a directory, recovers its
//! rows, and writes a log: a transaction returns when it, and all that it has seen, survives a crash, unless
//! [`Options::durability`] asks for less. Where there is no database, one is made in an empty or absent directory,
//! unless [`Options::create`] says otherwise. Checkpoints are made automatically, and [`Database::backup`] copies a
//! database while it runs. A directory that cannot be trusted is refused with an [`OpenError`] that says what to do.
//! When a device fails, writers get an error ([`Error::NotDurable`], [`Error::Log`]), and [`Database::snapshot`] reads
//! on.
//!
//! # Limitations
//!
//! All rows are in memory, and have a fixed width; texts and bytes have the width that their type says. Tables are
//! declared when the database is opened. Only one process at a time can have the directory open.
#![forbid(unsafe_code)]

mod column;
mod confirming;
mod counters;
mod database;
mod definition;
mod durable;
mod error;
mod future;
mod group;
mod key;
mod limits;
mod open_error;
mod options;
mod pool;
mod scan;
mod shape;
mod store;
mod table;
mod turn;
mod txn;
mod value;

// The code that the derive generates names this crate, also within the crate's own tests.
extern crate self as contend;

pub use column::{Column, KeyColumn, Kind, Sum, Text, TextError, Type};
/// Implements [`ColumnGroup`](trait@ColumnGroup) for a struct with named fields, each of a type that is a [`Column`].
pub use contend_derive::ColumnGroup;
/// Implements [`Table`](trait@Table) for a struct with named fields, each of a type that is a [`Column`].
///
/// - `#[key]` marks the fields of the primary key, one or several, in their order.
/// - `#[index]` on a field makes a secondary index over it, named `by_` and the field; its handle is a constant of
///   the type, here `Job::BY_OWNER`.
/// - `#[group]` marks a field whose type is a [`ColumnGroup`](trait@ColumnGroup): its columns are kept apart from the
///   others, and its handle is a constant of the type, here `Job::PROGRESS`.
/// - `#[table(...)]` on the struct: `name = "jobs"`, the table's name, which otherwise is the type's name in lower
///   case; `point`, if rows are found by equality of their key only, which is faster; `rows = 1_000_000`, a hint of the
///   number of rows; `prefix = 1`, a hint that rows come and go in order under each value of the first fields of the
///   key ([`Definition::prefix`]); and `index(by_state = (state, due))` for an index over several fields.
///
/// ```
/// use contend::{ColumnGroup, Table};
///
/// #[derive(Table)]
/// #[table(name = "jobs", rows = 10_000, prefix = 1, index(by_state = (state, due)))]
/// struct Job {
///     #[key]
///     queue: u32,
///     #[key]
///     id: u64,
///     #[index]
///     owner: u64,
///     state: u8,
///     due: i64,
///     #[group]
///     progress: Progress,
/// }
///
/// #[derive(ColumnGroup)]
/// struct Progress {
///     steps: u32,
///     last: i64,
/// }
///
/// let job = Job { queue: 3, id: 9, owner: 1, state: 0, due: 0, progress: Progress { steps: 0, last: 0 } };
/// assert_eq!(job.key(), (3, 9));
/// let _ = (Job::BY_OWNER, Job::BY_STATE, Job::PROGRESS);
/// ```
///
/// The compiler refuses a field whose type is no column, at the field, and says what to write instead. It also refuses
/// a key or an index that is wider than 48 bytes.
///
/// ```compile_fail
/// #[derive(contend::Table)]
/// struct Note {
///     #[key]
///     id: u64,
///     text: String,
/// }
/// ```
pub use contend_derive::Table;
pub use counters::Counters;
pub use database::Database;
pub use definition::{ColumnDefinition, Definition, DefinitionError, GroupDefinition, IndexDefinition};
pub use durability::disk::Instead;
pub use durability::{BackupError, CheckpointError, Corruption, LogError, Operation, SystemError, Torn};
pub use durable::Recovery;
pub use engine::{Direction, Views};
pub use error::{Advice, Conflict, Error, Misuse};
pub use future::Begun;
#[doc(hidden)]
pub use group::placed;
pub use group::{ColumnGroup, Group};
pub use key::Key;
#[doc(hidden)]
pub use key::key_fits;
pub use open_error::{MemoryLimit, OpenError};
pub use options::{Create, Durability, Options};
pub use scan::Scan;
pub use shape::SchemaMismatch;
pub use store::{SchemeInfo, schemes};
/// Whether the calling thread is within the body of a transaction, for panic hooks.
///
/// When the first database is made, the library puts a hook before the one that it finds. It reports no panic within a
/// body until it is known whether the panic is believed. Then it calls the earlier hook once, with the message and the
/// place of that panic in its text. A hook that is set later is called for all panics at once, also for those that will
/// not be believed: where this function returns `true`, it should only call the hook before it.
pub use sync::panics::is_held as in_transaction;
pub use table::{Handle, Index, Table};
pub use txn::{Reader, Txn};
pub use value::{NamedTable, Value};
