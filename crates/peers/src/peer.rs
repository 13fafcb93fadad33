//! The interface of a store that can be measured: a place, a durability, sessions, and transactions that read and
//! write rows by ordered byte keys. Workloads are written once over [`Txn`], so that every store executes the same
//! logic.

use std::path::PathBuf;

use crate::tables::{Part, TableId};

/// The reason why an attempt did not commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Another transaction conflicted. Retry.
    Conflict,
    /// A row that must exist was not found. In a store whose reads are not of one moment, this is a conflict that is
    /// detected early. After many attempts it is a defect.
    Missing(&'static str),
    /// A user abort: the transaction leaves no changes, and is not retried.
    Rollback,
    /// The store is broken, or is used wrongly. End the run and report the error.
    Failed(String),
}

impl Stop {
    /// Creates a `Failed` with the store's error as text.
    pub fn failed(error: impl std::fmt::Display) -> Self {
        Self::Failed(error.to_string())
    }
}

/// The event that a commit survives, and from when on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// Nothing is promised: data in memory, or in files that are never synced and need no recovery.
    None,
    /// The operating system has the commit when it returns, or soon after: a crash of the machine may lose it.
    Async,
    /// The commit is on the device when it returns. Several commits may share one sync.
    Group,
}

impl Durability {
    /// All durabilities, the weakest first.
    pub const ALL: [Self; 3] = [Self::None, Self::Async, Self::Group];

    /// Returns the name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Async => "async",
            Self::Group => "group",
        }
    }
}

/// The guarantees that a store gives for a requested durability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given {
    /// The isolation of read-write transactions, with the workloads' use of the store.
    pub isolation: &'static str,
    /// `true` if that isolation does not cover ranges, so that transactions with scans are not serializable.
    pub has_phantoms: bool,
    /// The guarantee for a commit that has returned.
    pub durability: &'static str,
}

/// The places for a store's data.
#[derive(Clone, Debug)]
pub struct Place {
    /// An empty folder for this store alone.
    pub dir: PathBuf,
    /// The address of a `PostgreSQL` server in the syntax of its client library, for example
    /// `host=/run/x user=contend dbname=contend`.
    pub postgres: Option<String>,
}

/// A table that a workload uses, with its expected size.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// The table.
    pub table: TableId,
    /// The number of loaded rows.
    pub rows: usize,
}

/// A transactional store.
pub trait Peer: Sized + Sync {
    /// The store's name on the command line and in tables.
    const NAME: &'static str;

    /// A connection that one thread uses.
    type Session<'p>: Session
    where
        Self: 'p;

    /// Returns the guarantees for a durability, or the reason why the store gives nothing near enough.
    fn gives(durability: Durability) -> Result<Given, &'static str>;

    /// Creates an empty store with these tables.
    ///
    /// # Errors
    /// The problem and its remedy, as text.
    fn open(place: &Place, durability: Durability, tables: &[Expected]) -> Result<Self, String>;

    /// Creates a session for the calling thread.
    ///
    /// # Errors
    /// The problem, as text.
    fn session(&self) -> Result<Self::Session<'_>, String>;

    /// Hook after loading, for example for statistics of the tables.
    ///
    /// # Errors
    /// The problem, as text.
    fn loaded(&self) -> Result<(), String> {
        Ok(())
    }
}

/// A connection to a store.
pub trait Session {
    /// Executes a transaction: once if the store leaves retries to the caller, else until it commits.
    ///
    /// # Errors
    /// See [`Stop`]. The transaction leaves no changes.
    fn attempt(&mut self, body: &mut impl Body) -> Result<(), Stop>;

    /// Inserts rows with new keys, in one transaction.
    ///
    /// # Errors
    /// See [`Stop`].
    fn load(&mut self, table: TableId, rows: &[(Key, Vec<u8>)]) -> Result<(), Stop> {
        self.attempt(&mut Load { table, rows })
    }
}

/// A transaction's logic, which may be executed several times before it commits.
pub trait Body {
    /// `true` if the transaction writes nothing, so that a store may execute it on a snapshot.
    fn is_read_only(&self) -> bool;

    /// Executes the transaction's operations.
    ///
    /// # Errors
    /// The store's error, or [`Stop::Rollback`].
    fn run(&mut self, txn: &mut impl Txn) -> Result<(), Stop>;
}

/// A running transaction.
pub trait Txn {
    // ANCHOR: txn
    /// Passes a row to `see`. Returns `false` if the key does not exist.
    ///
    /// # Errors
    /// See [`Stop`].
    fn get(&mut self, table: TableId, key: &[u8], see: impl FnMut(&[u8])) -> Result<bool, Stop>;

    /// Reads a row and writes it back as changed by `change`. Returns `false` if the key does not exist.
    ///
    /// # Errors
    /// See [`Stop`].
    fn update(&mut self, table: TableId, key: &[u8], change: impl FnMut(&mut [u8])) -> Result<bool, Stop>;

    /// Inserts a row whose key the caller knows to be new. Stores that detect an existing key without cost refuse it.
    ///
    /// # Errors
    /// See [`Stop`].
    fn insert(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<(), Stop>;

    /// Deletes a row. Returns `false` if the key does not exist.
    ///
    /// # Errors
    /// See [`Stop`].
    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool, Stop>;

    /// Passes keys and rows from `from` (inclusive) to `to` (exclusive) in order, at most `limit` of them.
    ///
    /// # Errors
    /// See [`Stop`].
    fn scan(
        &mut self,
        table: TableId,
        from: &[u8],
        to: &[u8],
        limit: usize,
        see: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Stop>;
    // ANCHOR_END: txn

    /// Passes a part of a row to `see`. Returns `false` if the key does not exist.
    ///
    /// # Errors
    /// See [`Stop`].
    fn get_part(&mut self, part: Part, key: &[u8], mut see: impl FnMut(&[u8])) -> Result<bool, Stop> {
        self.get(part.table, key, |row| see(&row[part.bytes()]))
    }

    /// Reads a part of a row and, if requested, a second part, and writes the first part back as changed by `change`.
    /// Returns `false` if the key does not exist.
    ///
    /// # Errors
    /// See [`Stop`].
    fn update_part(
        &mut self,
        part: Part,
        beside: Option<Part>,
        key: &[u8],
        mut change: impl FnMut(&mut [u8], &[u8]),
    ) -> Result<bool, Stop> {
        let beside = beside.map_or(0..0, Part::bytes);
        self.update(part.table, key, |row| {
            let [own, beside] = row
                .get_disjoint_mut([part.bytes(), beside.clone()])
                .expect("parts are apart, and within rows");
            change(own, beside);
        })
    }

    /// Adds to a row that is one number, without returning its value. Returns `false` if the key does not exist.
    ///
    /// # Errors
    /// See [`Stop`].
    fn add(&mut self, table: TableId, key: &[u8], amount: i64) -> Result<bool, Stop> {
        self.update(table, key, |row| {
            let number: &mut [u8; 8] = row.try_into().expect("the row is a number");
            *number = i64::from_le_bytes(*number).wrapping_add(amount).to_le_bytes();
        })
    }

    /// Announces rows that will be read soon. Stores that cannot use the hint ignore it.
    fn expect(&mut self, table: TableId, keys: impl Iterator<Item = Key>) {
        _ = (table, keys);
    }
}

/// The operations of a store's snapshot.
pub trait Reads {
    /// Like [`Txn::get`].
    ///
    /// # Errors
    /// See [`Stop`].
    fn get(&mut self, table: TableId, key: &[u8], see: impl FnMut(&[u8])) -> Result<bool, Stop>;

    /// Like [`Txn::scan`].
    ///
    /// # Errors
    /// See [`Stop`].
    fn scan(
        &mut self,
        table: TableId,
        from: &[u8],
        to: &[u8],
        limit: usize,
        see: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Stop>;
}

/// A snapshot in the role of a transaction. Writes fail.
pub struct ReadOnly<R>(pub R);

/// The error of a transaction that is declared read-only and writes.
fn refuse<O>() -> Result<O, Stop> {
    Err(Stop::Failed("a transaction that is read-only writes: this is a defect of the workload".into()))
}

impl<R: Reads> Txn for ReadOnly<R> {
    fn get(&mut self, table: TableId, key: &[u8], see: impl FnMut(&[u8])) -> Result<bool, Stop> {
        self.0.get(table, key, see)
    }

    fn update(&mut self, _: TableId, _: &[u8], _: impl FnMut(&mut [u8])) -> Result<bool, Stop> {
        refuse()
    }

    fn insert(&mut self, _: TableId, _: &[u8], _: &[u8]) -> Result<(), Stop> {
        refuse()
    }

    fn delete(&mut self, _: TableId, _: &[u8]) -> Result<bool, Stop> {
        refuse()
    }

    fn scan(
        &mut self,
        table: TableId,
        from: &[u8],
        to: &[u8],
        limit: usize,
        see: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Stop> {
        self.0.scan(table, from, to, limit, see)
    }
}

/// A key: its columns as big-endian bytes, one after the other, so that the bytes compare as the columns do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    bytes: [u8; Self::BYTES_MAX],
    len: usize,
}

impl Key {
    /// The length of the longest key of any table, in bytes.
    pub const BYTES_MAX: usize = 40;

    /// Creates a key without columns.
    pub const fn new() -> Self {
        Self { bytes: [0; Self::BYTES_MAX], len: 0 }
    }

    /// Appends a column of bytes.
    #[must_use]
    pub fn bytes(mut self, column: &[u8]) -> Self {
        self.bytes[self.len..self.len + column.len()].copy_from_slice(column);
        self.len += column.len();
        self
    }

    /// Appends a column.
    #[must_use]
    pub fn u8(self, column: u8) -> Self {
        self.bytes(&[column])
    }

    /// Appends a column.
    #[must_use]
    pub fn u16(self, column: u16) -> Self {
        self.bytes(&column.to_be_bytes())
    }

    /// Appends a column.
    #[must_use]
    pub fn u32(self, column: u32) -> Self {
        self.bytes(&column.to_be_bytes())
    }

    /// Appends a column.
    #[must_use]
    pub fn u64(self, column: u64) -> Self {
        self.bytes(&column.to_be_bytes())
    }
}

impl Default for Key {
    fn default() -> Self {
        Self::new()
    }
}

impl std::ops::Deref for Key {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Converts a key of at most eight bytes to a number that compares as the key does, for stores with signed integers.
pub fn signed(key: &[u8]) -> i64 {
    let mut bytes = [0; 8];
    bytes[8 - key.len()..].copy_from_slice(key);
    (u64::from_be_bytes(bytes) ^ (1 << 63)).cast_signed()
}

/// Converts the number made by [`signed`] back to the key of `bytes` bytes.
pub fn unsigned(number: i64, bytes: usize) -> Key {
    let all = (number.cast_unsigned() ^ (1 << 63)).to_be_bytes();
    Key::new().bytes(&all[8 - bytes..])
}

/// A transaction that loads a batch of rows.
struct Load<'r> {
    table: TableId,
    rows: &'r [(Key, Vec<u8>)],
}

impl Body for Load<'_> {
    fn is_read_only(&self) -> bool {
        false
    }

    fn run(&mut self, txn: &mut impl Txn) -> Result<(), Stop> {
        self.rows.iter().try_for_each(|(key, value)| txn.insert(self.table, key, value))
    }
}

/// A transaction that reads a page of rows, for checks after a run.
struct Page {
    table: TableId,
    from: Key,
    to: Key,
    rows: Vec<(Vec<u8>, Vec<u8>)>,
}

/// The number of rows of a page.
const PAGE_ROWS: usize = 1_000;

impl Body for Page {
    fn is_read_only(&self) -> bool {
        true
    }

    fn run(&mut self, txn: &mut impl Txn) -> Result<(), Stop> {
        self.rows.clear();
        txn.scan(self.table, &self.from, &self.to, PAGE_ROWS, |key, row| {
            self.rows.push((key.to_vec(), row.to_vec()));
        })
    }
}

/// Passes all rows of a range to `see`, one transaction for each page. Nothing else may run.
///
/// # Errors
/// The store's error.
pub fn read_range(
    session: &mut impl Session,
    table: TableId,
    (from, to): (Key, Key),
    see: &mut dyn FnMut(&[u8], &[u8]),
) -> Result<(), String> {
    let mut page = Page { table, from, to, rows: Vec::new() };
    loop {
        settle(session, &mut page)?;
        page.rows.iter().for_each(|(key, row)| see(key, row));
        let Some((last, _)) = page.rows.last().filter(|_| page.rows.len() == PAGE_ROWS) else {
            return Ok(());
        };
        let mut next = Key::new().bytes(last);
        // The next key of the same length: all keys of a table have the same length.
        for byte in next.bytes[..next.len].iter_mut().rev() {
            *byte = byte.wrapping_add(1);
            if *byte != 0 {
                break;
            }
        }
        page.from = next;
    }
}

/// A callback for a key and its row, `None` if the key has no row.
pub type Seen<'s> = &'s mut dyn FnMut(&[u8], Option<&[u8]>);

/// A transaction that reads rows by their keys, for checks after a run.
struct Look<'k> {
    table: TableId,
    keys: &'k [Key],
    rows: Vec<Option<Vec<u8>>>,
}

impl Body for Look<'_> {
    fn is_read_only(&self) -> bool {
        true
    }

    fn run(&mut self, txn: &mut impl Txn) -> Result<(), Stop> {
        self.rows.clear();
        for key in self.keys {
            let mut found = None;
            txn.get(self.table, key, |row| found = Some(row.to_vec()))?;
            self.rows.push(found);
        }
        Ok(())
    }
}

/// Passes the rows of these keys to `see`, several in each transaction. Nothing else may run.
///
/// # Errors
/// The store's error.
pub fn read_keys(
    session: &mut impl Session,
    table: TableId,
    keys: impl IntoIterator<Item = Key>,
    see: Seen<'_>,
) -> Result<(), String> {
    let mut keys = keys.into_iter();
    loop {
        let some: Vec<Key> = keys.by_ref().take(PAGE_ROWS).collect();
        if some.is_empty() {
            return Ok(());
        }
        let mut look = Look { table, keys: &some, rows: Vec::new() };
        settle(session, &mut look)?;
        some.iter().zip(&look.rows).for_each(|(key, row)| see(key, row.as_deref()));
    }
}

/// Executes a transaction while no other runs. Conflicts with the store's own background work are retried.
fn settle(session: &mut impl Session, body: &mut impl Body) -> Result<(), String> {
    const ATTEMPTS: u32 = 100;
    let mut last = Stop::Conflict;
    for _ in 0..ATTEMPTS {
        match session.attempt(body) {
            Ok(()) => return Ok(()),
            Err(Stop::Failed(says)) => return Err(says),
            Err(stop) => last = stop,
        }
    }
    Err(format!("a transaction that runs alone met {last:?} {ATTEMPTS} times"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_compare_as_keys_do_and_turn_back() {
        let keys = [0_u64, 1, 255, 256, u64::MAX / 2, u64::MAX / 2 + 1, u64::MAX];
        for pair in keys.windows(2) {
            assert!(signed(&pair[0].to_be_bytes()) < signed(&pair[1].to_be_bytes()));
        }
        for key in keys {
            assert_eq!(&*unsigned(signed(&key.to_be_bytes()), 8), key.to_be_bytes());
        }
        assert_eq!(&*unsigned(signed(&[1, 2, 3]), 3), [1, 2, 3]);
    }

    #[test]
    fn columns_follow_each_other() {
        assert_eq!(&*Key::new().u16(1).u8(2).u32(3).bytes(b"x"), [0, 1, 2, 0, 0, 0, 3, b'x']);
    }
}
