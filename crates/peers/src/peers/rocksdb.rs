//! `RocksDB`'s two kinds of transactions. Every read of a read-write transaction is a `get_for_update`, without which
//! reads are not isolated; ranges are isolated by neither kind.

use std::fs;

use rocksdb::{
    ColumnFamily, DBAccess, Direction, ErrorKind, IteratorMode, OptimisticTransactionDB,
    OptimisticTransactionOptions, Options, ReadOptions, SnapshotWithThreadMode, Transaction, TransactionDB,
    TransactionDBOptions, TransactionOptions, WriteOptions,
};

use crate::peer::{Body, Durability, Expected, Given, Peer, Place, ReadOnly, Reads, Session, Stop, Txn};
use crate::tables::{COUNT, TABLES, TableId};

/// The size of a memtable in bytes, after which it is written to a file: more than the data of short runs.
const MEMTABLE_BYTES: usize = 256 << 20;

/// A database whose transactions are validated at their commit.
pub struct Optimistic(Common<OptimisticTransactionDB>);

/// A database whose transactions lock the rows that they touch.
pub struct Pessimistic(Common<TransactionDB>);

struct Common<D> {
    db: D,
    durability: Durability,
    tables: Vec<TableId>,
}

/// The operations that both kinds of database share.
trait Store: DBAccess + Sized {
    fn begin(&self, writes: &WriteOptions) -> Transaction<'_, Self>;
    fn family(&self, name: &str) -> Option<&ColumnFamily>;
    fn snap(&self) -> SnapshotWithThreadMode<'_, Self>;
}

impl Store for OptimisticTransactionDB {
    fn begin(&self, writes: &WriteOptions) -> Transaction<'_, Self> {
        self.transaction_opt(writes, &OptimisticTransactionOptions::default())
    }

    fn family(&self, name: &str) -> Option<&ColumnFamily> {
        self.cf_handle(name)
    }

    fn snap(&self) -> SnapshotWithThreadMode<'_, Self> {
        self.snapshot()
    }
}

impl Store for TransactionDB {
    fn begin(&self, writes: &WriteOptions) -> Transaction<'_, Self> {
        let mut options = TransactionOptions::default();
        options.set_deadlock_detect(true);
        self.transaction_opt(writes, &options)
    }

    fn family(&self, name: &str) -> Option<&ColumnFamily> {
        self.cf_handle(name)
    }

    fn snap(&self) -> SnapshotWithThreadMode<'_, Self> {
        self.snapshot()
    }
}

fn options() -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_write_buffer_size(MEMTABLE_BYTES);
    options.set_compression_type(rocksdb::DBCompressionType::None);
    options.increase_parallelism(2);
    options
}

fn gives(durability: Durability, isolation: &'static str) -> Given {
    let durability = match durability {
        Durability::None => "no log (disableWAL)",
        Durability::Async => "log written at each commit, not synced",
        Durability::Group => "log synced at each commit, shared by commits at a time",
    };
    Given { isolation, has_phantoms: true, durability }
}

macro_rules! peer {
    ($peer:ident, $db:ty, $name:literal, $isolation:literal, |$path:ident, $names:ident| $open:expr) => {
        impl Peer for $peer {
            const NAME: &'static str = $name;

            type Session<'p> = Seat<'p, $db>;

            fn gives(durability: Durability) -> Result<Given, &'static str> {
                Ok(gives(durability, $isolation))
            }

            fn open(place: &Place, durability: Durability, tables: &[Expected]) -> Result<Self, String> {
                let says =
                    |error: &dyn std::fmt::Display| format!("RocksDB in {}: {error}", place.dir.display());
                fs::create_dir_all(&place.dir).map_err(|error| says(&error))?;
                let tables: Vec<TableId> = tables.iter().map(|expected| expected.table).collect();
                let $names = tables
                    .iter()
                    .map(|table| rocksdb::ColumnFamilyDescriptor::new(TABLES[table.0].name, options()));
                let $path = &place.dir;
                let db = $open.map_err(|error| says(&error))?;
                Ok(Self(Common { db, durability, tables }))
            }

            fn session(&self) -> Result<Seat<'_, $db>, String> {
                let mut families = [None; COUNT];
                for table in &self.0.tables {
                    families[table.0] = self.0.db.family(TABLES[table.0].name);
                }
                let mut writes = WriteOptions::default();
                writes.disable_wal(self.0.durability == Durability::None);
                writes.set_sync(self.0.durability == Durability::Group);
                Ok(Seat { db: &self.0.db, families, writes })
            }
        }
    };
}

peer!(
    Optimistic,
    OptimisticTransactionDB,
    "rocksdb-optimistic",
    "serializable but for phantoms, optimistic",
    |path, names| OptimisticTransactionDB::open_cf_descriptors(&options(), path, names)
);
peer!(
    Pessimistic,
    TransactionDB,
    "rocksdb-pessimistic",
    "serializable but for phantoms, locks",
    |path, names| TransactionDB::open_cf_descriptors(
        &options(),
        &TransactionDBOptions::default(),
        path,
        names
    )
);

/// A thread's view of a database.
pub struct Seat<'p, D> {
    db: &'p D,
    families: [Option<&'p ColumnFamily>; COUNT],
    writes: WriteOptions,
}

/// Converts an error to the reason why the attempt ended.
#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` passes")]
fn stop(error: rocksdb::Error) -> Stop {
    match error.kind() {
        // A lock that is held, a deadlock, or a version that no longer exists.
        ErrorKind::Busy | ErrorKind::TimedOut | ErrorKind::TryAgain | ErrorKind::Aborted => Stop::Conflict,
        _ => Stop::Failed(format!("RocksDB: {error}")),
    }
}

fn family<'p>(
    families: &[Option<&'p ColumnFamily>; COUNT],
    table: TableId,
) -> Result<&'p ColumnFamily, Stop> {
    families[table.0].ok_or_else(|| Stop::Failed(format!("table `{}` was not opened", TABLES[table.0].name)))
}

impl<D: Store> Session for Seat<'_, D> {
    fn attempt(&mut self, body: &mut impl Body) -> Result<(), Stop> {
        if body.is_read_only() {
            return body.run(&mut ReadOnly(Reading { snapshot: self.db.snap(), families: &self.families }));
        }
        let txn = self.db.begin(&self.writes);
        let mut writing = Writing { txn, families: &self.families, row: Vec::new() };
        // Without a commit, dropping the transaction discards its writes.
        body.run(&mut writing)?;
        writing.txn.commit().map_err(stop)
    }
}

struct Reading<'a, 'p, D: DBAccess> {
    snapshot: SnapshotWithThreadMode<'a, D>,
    families: &'a [Option<&'p ColumnFamily>; COUNT],
}

struct Writing<'a, 'p, D> {
    txn: Transaction<'a, D>,
    families: &'a [Option<&'p ColumnFamily>; COUNT],
    row: Vec<u8>,
}

/// Returns read options with the end of a scan.
fn until(to: &[u8]) -> ReadOptions {
    let mut options = ReadOptions::default();
    options.set_iterate_upper_bound(to);
    options
}

type Entry = Result<(Box<[u8]>, Box<[u8]>), rocksdb::Error>;

fn show(
    entries: impl Iterator<Item = Entry>,
    limit: usize,
    mut see: impl FnMut(&[u8], &[u8]),
) -> Result<(), Stop> {
    for entry in entries.take(limit) {
        let (key, row) = entry.map_err(stop)?;
        see(&key, &row);
    }
    Ok(())
}

impl<D: Store> Reads for Reading<'_, '_, D> {
    fn get(&mut self, table: TableId, key: &[u8], mut see: impl FnMut(&[u8])) -> Result<bool, Stop> {
        let row = self.snapshot.get_pinned_cf(family(self.families, table)?, key).map_err(stop)?;
        Ok(row.inspect(|row| see(row)).is_some())
    }

    fn scan(
        &mut self,
        table: TableId,
        from: &[u8],
        to: &[u8],
        limit: usize,
        see: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Stop> {
        let mode = IteratorMode::From(from, Direction::Forward);
        let family = family(self.families, table)?;
        show(self.snapshot.iterator_cf_opt(family, until(to), mode), limit, see)
    }
}

impl<D: Store> Writing<'_, '_, D> {
    /// Reads a row and prevents others from writing it until the commit and, if `is_exclusive`, from reading it for
    /// update.
    fn read(
        &mut self,
        table: TableId,
        key: &[u8],
        is_exclusive: bool,
        mut see: impl FnMut(&[u8]),
    ) -> Result<bool, Stop> {
        let family = family(self.families, table)?;
        let row = self.txn.get_pinned_for_update_cf(family, key, is_exclusive).map_err(stop)?;
        Ok(row.inspect(|row| see(row)).is_some())
    }
}

impl<D: Store> Txn for Writing<'_, '_, D> {
    fn get(&mut self, table: TableId, key: &[u8], see: impl FnMut(&[u8])) -> Result<bool, Stop> {
        self.read(table, key, false, see)
    }

    fn update(
        &mut self,
        table: TableId,
        key: &[u8],
        mut change: impl FnMut(&mut [u8]),
    ) -> Result<bool, Stop> {
        let mut row = std::mem::take(&mut self.row);
        row.clear();
        if !self.read(table, key, true, |seen| row.extend_from_slice(seen))? {
            return Ok(false);
        }
        change(&mut row);
        self.txn.put_cf(family(self.families, table)?, key, &row).map_err(stop)?;
        self.row = row;
        Ok(true)
    }

    fn insert(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<(), Stop> {
        self.txn.put_cf(family(self.families, table)?, key, value).map_err(stop)
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool, Stop> {
        let is_there = self.read(table, key, true, |_| ())?;
        if is_there {
            self.txn.delete_cf(family(self.families, table)?, key).map_err(stop)?;
        }
        Ok(is_there)
    }

    fn scan(
        &mut self,
        table: TableId,
        from: &[u8],
        to: &[u8],
        limit: usize,
        see: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Stop> {
        let mode = IteratorMode::From(from, Direction::Forward);
        let family = family(self.families, table)?;
        show(self.txn.iterator_cf_opt(family, until(to), mode), limit, see)
    }
}
