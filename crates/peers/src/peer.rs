//! What a store must offer to be measured: a place, a durability, sessions, and transactions that read and write rows
//! by ordered byte keys. Workloads are written once over [`Txn`], so that every store executes the same logic.

use std::path::PathBuf;

use crate::tables::{Part, TableId};

/// Why an attempt did not commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Another transaction was in the way. Execute it again.
    Conflict,
    /// A row that must be there was not. Where reads are not of one moment, this is a conflict that shows early; after
    /// many attempts it is a defect.
    Missing(&'static str),
    /// The transaction's own wish: nothing of it stays, and it is not executed again.
    Rollback,
    /// The store is broken, or is used wrongly. End the run and say so.
    Failed(String),
}

impl Stop {
    /// The store's error, in words.
    pub fn failed(error: impl std::fmt::Display) -> Self {
        Self::Failed(error.to_string())
    }
}

/// When a commit survives what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// Nothing is promised: data in memory, or in files that are never synced and need no recovery.
    None,
    /// A commit is with the operating system, or is soon, when it returns: it may be lost with the machine.
    Async,
    /// A commit is on the device when it returns; several may share one sync.
    Group,
}

impl Durability {
    /// All, the weakest first.
    pub const ALL: [Self; 3] = [Self::None, Self::Async, Self::Group];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Async => "async",
            Self::Group => "group",
        }
    }
}

/// What a store actually gives where a durability is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given {
    /// The isolation of read-write transactions as the workloads here use the store.
    pub isolation: &'static str,
    /// Whether that isolation covers ranges, so that it is serializable.
    pub has_phantoms: bool,
    /// What is promised of a commit that has returned.
    pub durability: &'static str,
}

/// Where a store may put its data.
#[derive(Clone, Debug)]
pub struct Place {
    /// An empty folder of its own.
    pub dir: PathBuf,
    /// How a server of `PostgreSQL` is reached, as its client library has it, for example
    /// `host=/run/x user=contend dbname=contend`.
    pub postgres: Option<String>,
}

/// A table that a workload uses.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// The table.
    pub table: TableId,
    /// Rows that are loaded.
    pub rows: usize,
}

/// A transactional store.
pub trait Peer: Sized + Sync {
    /// Its name on the command line and in tables.
    const NAME: &'static str;

    /// A connection that one thread uses.
    type Session<'p>: Session
    where
        Self: 'p;

    /// What it gives for a durability, or why it has none that is near enough.
    fn gives(durability: Durability) -> Result<Given, &'static str>;

    /// An empty store with these tables.
    ///
    /// # Errors
    /// What is wrong, and what to do about it.
    fn open(place: &Place, durability: Durability, tables: &[Expected]) -> Result<Self, String>;

    /// A session for the calling thread.
    ///
    /// # Errors
    /// What is wrong, in words.
    fn session(&self) -> Result<Self::Session<'_>, String>;

    /// Does after loading what a store wants done then, for example statistics of its tables.
    ///
    /// # Errors
    /// What is wrong, in words.
    fn loaded(&self) -> Result<(), String> {
        Ok(())
    }
}

/// A connection to a store.
pub trait Session {
    /// Executes a transaction, once where the store leaves it to the caller to try again, or until it commits.
    ///
    /// # Errors
    /// See [`Stop`]. Nothing of the transaction stays.
    fn attempt(&mut self, body: &mut impl Body) -> Result<(), Stop>;

    /// Inserts rows that are not there, in one transaction.
    ///
    /// # Errors
    /// See [`Stop`].
    fn load(&mut self, table: TableId, rows: &[(Key, Vec<u8>)]) -> Result<(), Stop> {
        self.attempt(&mut Load { table, rows })
    }
}

/// A transaction's logic, which may be executed several times before it commits.
pub trait Body {
    /// Whether it writes nothing, so that a store may give it a snapshot.
    fn is_read_only(&self) -> bool;

    /// Executes it.
    ///
    /// # Errors
    /// What the store says, or [`Stop::Rollback`].
    fn run(&mut self, txn: &mut impl Txn) -> Result<(), Stop>;
}

/// A transaction under way.
pub trait Txn {
    // ANCHOR: txn
    /// Shows a row; `false` when the key is not there.
    ///
    /// # Errors
    /// See [`Stop`].
    fn get(&mut self, table: TableId, key: &[u8], see: impl FnMut(&[u8])) -> Result<bool, Stop>;

    /// Reads a row and writes it as `change` leaves it; `false` when the key is not there.
    ///
    /// # Errors
    /// See [`Stop`].
    fn update(&mut self, table: TableId, key: &[u8], change: impl FnMut(&mut [u8])) -> Result<bool, Stop>;

    /// Inserts a row whose key the caller knows to be new. Stores that find out at no cost refuse one that is there.
    ///
    /// # Errors
    /// See [`Stop`].
    fn insert(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<(), Stop>;

    /// Deletes a row; `false` when the key is not there.
    ///
    /// # Errors
    /// See [`Stop`].
    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool, Stop>;

    /// Shows keys and rows from `from` on and before `to`, in order, `limit` of them at most.
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

    /// Shows a part of a row; `false` when the key is not there.
    ///
    /// # Errors
    /// See [`Stop`].
    fn get_part(&mut self, part: Part, key: &[u8], mut see: impl FnMut(&[u8])) -> Result<bool, Stop> {
        self.get(part.table, key, |row| see(&row[part.bytes()]))
    }

    /// Reads a part of a row, and one beside it if that is asked for, and writes the first as `change` leaves it;
    /// `false` when the key is not there.
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

    /// Adds to a row that is one number, whose value the caller does not ask for; `false` when the key is not there.
    ///
    /// # Errors
    /// See [`Stop`].
    fn add(&mut self, table: TableId, key: &[u8], amount: i64) -> Result<bool, Stop> {
        self.update(table, key, |row| {
            let number: &mut [u8; 8] = row.try_into().expect("the row is a number");
            *number = i64::from_le_bytes(*number).wrapping_add(amount).to_le_bytes();
        })
    }

    /// Says that rows will be asked for soon. Stores that make nothing of it ignore it.
    fn expect(&mut self, table: TableId, keys: impl Iterator<Item = Key>) {
        _ = (table, keys);
    }
}

/// What a snapshot of a store can do.
pub trait Reads {
    /// As [`Txn::get`].
    ///
    /// # Errors
    /// See [`Stop`].
    fn get(&mut self, table: TableId, key: &[u8], see: impl FnMut(&[u8])) -> Result<bool, Stop>;

    /// As [`Txn::scan`].
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

/// A snapshot as a transaction whose writes fail.
pub struct ReadOnly<R>(pub R);

/// What a transaction says that promised to read only, and writes.
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

/// A key: columns as big-endian bytes, one after the other, so that bytes compare as the columns do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    bytes: [u8; Self::BYTES_MAX],
    len: usize,
}

impl Key {
    /// The longest key of any table.
    pub const BYTES_MAX: usize = 40;

    /// No column yet.
    pub const fn new() -> Self {
        Self { bytes: [0; Self::BYTES_MAX], len: 0 }
    }

    /// With a column of bytes.
    #[must_use]
    pub fn bytes(mut self, column: &[u8]) -> Self {
        self.bytes[self.len..self.len + column.len()].copy_from_slice(column);
        self.len += column.len();
        self
    }

    /// With a column.
    #[must_use]
    pub fn u8(self, column: u8) -> Self {
        self.bytes(&[column])
    }

    /// With a column.
    #[must_use]
    pub fn u16(self, column: u16) -> Self {
        self.bytes(&column.to_be_bytes())
    }

    /// With a column.
    #[must_use]
    pub fn u32(self, column: u32) -> Self {
        self.bytes(&column.to_be_bytes())
    }

    /// With a column.
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

/// A key of at most eight bytes as a number that compares as the key does, for stores whose integers are signed.
pub fn signed(key: &[u8]) -> i64 {
    let mut bytes = [0; 8];
    bytes[8 - key.len()..].copy_from_slice(key);
    (u64::from_be_bytes(bytes) ^ (1 << 63)).cast_signed()
}

/// The key of so many bytes that was made a number.
pub fn unsigned(number: i64, bytes: usize) -> Key {
    let all = (number.cast_unsigned() ^ (1 << 63)).to_be_bytes();
    Key::new().bytes(&all[8 - bytes..])
}

/// A batch of rows as a transaction.
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

/// A page of rows, for checks after a run.
struct Page {
    table: TableId,
    from: Key,
    to: Key,
    rows: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Rows of a page.
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

/// Shows all rows of a range while nothing else runs, a page to a transaction.
///
/// # Errors
/// What the store says.
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
        // The next number with as many digits: keys of a table are equally long.
        for byte in next.bytes[..next.len].iter_mut().rev() {
            *byte = byte.wrapping_add(1);
            if *byte != 0 {
                break;
            }
        }
        page.from = next;
    }
}

/// Is shown a key, and its row if there is one.
pub type Seen<'s> = &'s mut dyn FnMut(&[u8], Option<&[u8]>);

/// Rows by their keys, for checks after a run.
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

/// Shows the rows of these keys while nothing else runs, some to a transaction.
///
/// # Errors
/// What the store says.
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

/// Executes what nothing is in the way of; conflicts with what a store does behind the scenes are tried again.
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
