//! fjall: log-structured merge trees in Rust, optimistic transactions that validate points and ranges.

use std::fs;

use fjall::{
    KeyspaceCreateOptions, OptimisticTxDatabase, OptimisticTxKeyspace, OptimisticWriteTx, PersistMode,
    Readable,
};

use crate::peer::{Body, Durability, Expected, Given, Peer, Place, ReadOnly, Reads, Session, Stop, Txn};
use crate::tables::{COUNT, TABLES, TableId};

/// The size of the block cache in bytes: more than the data of short runs.
const CACHE_BYTES: u64 = 2 << 30;

/// A database with a keyspace for each table in use.
pub struct Fjall {
    db: OptimisticTxDatabase,
    keyspaces: [Option<OptimisticTxKeyspace>; COUNT],
    persist: Option<PersistMode>,
}

impl Fjall {
    fn keyspace(&self, table: TableId) -> Result<&OptimisticTxKeyspace, Stop> {
        self.keyspaces[table.0]
            .as_ref()
            .ok_or_else(|| Stop::Failed(format!("table `{}` was not opened", TABLES[table.0].name)))
    }
}

impl Peer for Fjall {
    const NAME: &'static str = "fjall";

    type Session<'p> = &'p Fjall;

    fn gives(durability: Durability) -> Result<Given, &'static str> {
        let durability = match durability {
            Durability::None => "journal in a buffer of the process, flushed when full",
            Durability::Async => "journal written at each commit, not synced",
            Durability::Group => "journal synced at each commit (fdatasync)",
        };
        Ok(Given { isolation: "serializable, optimistic", has_phantoms: false, durability })
    }

    fn open(place: &Place, durability: Durability, tables: &[Expected]) -> Result<Self, String> {
        let says = |error: &dyn std::fmt::Display| format!("fjall in {}: {error}", place.dir.display());
        fs::create_dir_all(&place.dir).map_err(|error| says(&error))?;
        let db = OptimisticTxDatabase::builder(&place.dir)
            .cache_size(CACHE_BYTES)
            .manual_journal_persist(true)
            .open()
            .map_err(|error| says(&error))?;
        let mut keyspaces = [const { None }; COUNT];
        for expected in tables {
            let name = TABLES[expected.table.0].name;
            let keyspace = db.keyspace(name, KeyspaceCreateOptions::default).map_err(|error| says(&error))?;
            keyspaces[expected.table.0] = Some(keyspace);
        }
        let persist = match durability {
            Durability::None => None,
            Durability::Async => Some(PersistMode::Buffer),
            Durability::Group => Some(PersistMode::SyncData),
        };
        Ok(Self { db, keyspaces, persist })
    }

    fn session(&self) -> Result<&Self, String> {
        Ok(self)
    }
}

impl Session for &Fjall {
    fn attempt(&mut self, body: &mut impl Body) -> Result<(), Stop> {
        if body.is_read_only() {
            return body.run(&mut ReadOnly(Reading { snapshot: self.db.read_tx(), of: self }));
        }
        let txn = self.db.write_tx().map_err(Stop::failed)?.durability(self.persist);
        let mut writing = Writing { txn, of: self, row: Vec::new() };
        if let Err(stop) = body.run(&mut writing) {
            writing.txn.rollback();
            return Err(stop);
        }
        writing.txn.commit().map_err(Stop::failed)?.map_err(|_| Stop::Conflict)
    }
}

struct Reading<'p> {
    snapshot: fjall::Snapshot,
    of: &'p Fjall,
}

struct Writing<'p> {
    txn: OptimisticWriteTx,
    of: &'p Fjall,
    row: Vec<u8>,
}

fn get(
    from: &impl Readable,
    keyspace: &OptimisticTxKeyspace,
    key: &[u8],
    mut see: impl FnMut(&[u8]),
) -> Result<bool, Stop> {
    Ok(from.get(keyspace, key).map_err(Stop::failed)?.inspect(|row| see(row)).is_some())
}

fn scan(
    of: &impl Readable,
    keyspace: &OptimisticTxKeyspace,
    (from, to): (&[u8], &[u8]),
    limit: usize,
    mut see: impl FnMut(&[u8], &[u8]),
) -> Result<(), Stop> {
    for entry in of.range(keyspace, from..to).take(limit) {
        let (key, row) = entry.into_inner().map_err(Stop::failed)?;
        see(&key, &row);
    }
    Ok(())
}

impl Reads for Reading<'_> {
    fn get(&mut self, table: TableId, key: &[u8], see: impl FnMut(&[u8])) -> Result<bool, Stop> {
        get(&self.snapshot, self.of.keyspace(table)?, key, see)
    }

    fn scan(
        &mut self,
        table: TableId,
        from: &[u8],
        to: &[u8],
        limit: usize,
        see: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Stop> {
        scan(&self.snapshot, self.of.keyspace(table)?, (from, to), limit, see)
    }
}

impl Txn for Writing<'_> {
    fn get(&mut self, table: TableId, key: &[u8], see: impl FnMut(&[u8])) -> Result<bool, Stop> {
        get(&self.txn, self.of.keyspace(table)?, key, see)
    }

    fn update(
        &mut self,
        table: TableId,
        key: &[u8],
        mut change: impl FnMut(&mut [u8]),
    ) -> Result<bool, Stop> {
        let keyspace = self.of.keyspace(table)?;
        self.row.clear();
        if !get(&self.txn, keyspace, key, |row| self.row.extend_from_slice(row))? {
            return Ok(false);
        }
        change(&mut self.row);
        self.txn.insert(keyspace, key, self.row.as_slice());
        Ok(true)
    }

    fn insert(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<(), Stop> {
        self.txn.insert(self.of.keyspace(table)?, key, value);
        Ok(())
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool, Stop> {
        let keyspace = self.of.keyspace(table)?;
        let is_there = get(&self.txn, keyspace, key, |_| ())?;
        if is_there {
            self.txn.remove(keyspace, key);
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
        scan(&self.txn, self.of.keyspace(table)?, (from, to), limit, see)
    }
}
