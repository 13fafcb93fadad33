//! redb: a copy-on-write B+tree in Rust, one writer at a time, readers of snapshots.

use std::fs;

use redb::backends::InMemoryBackend;
use redb::{Database, ReadTransaction, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction};

use crate::peer::{Body, Durability, Expected, Given, Peer, Place, ReadOnly, Reads, Session, Stop, Txn};
use crate::tables::{COUNT, TABLES, TableId};

/// The size of the page cache in bytes: more than the data of short runs.
const CACHE_BYTES: usize = 4 << 30;

const fn definition(table: TableId) -> TableDefinition<'static, &'static [u8], &'static [u8]> {
    TableDefinition::new(TABLES[table.0].name)
}

/// A database, in memory or in a file.
pub struct Redb {
    db: Database,
    durability: redb::Durability,
}

impl Peer for Redb {
    const NAME: &'static str = "redb";

    type Session<'p> = &'p Redb;

    fn gives(durability: Durability) -> Result<Given, &'static str> {
        let durability = match durability {
            Durability::None => "in memory, commits without a sync",
            Durability::Async => return Err("its commits without a sync are lost with the process"),
            Durability::Group => "synced at each commit; nothing is shared, since writers take turns",
        };
        Ok(Given { isolation: "strictly serializable, one writer", has_phantoms: false, durability })
    }

    fn open(place: &Place, durability: Durability, tables: &[Expected]) -> Result<Self, String> {
        let says = |error: &dyn std::fmt::Display| format!("redb in {}: {error}", place.dir.display());
        Self::gives(durability)?;
        let mut builder = Database::builder();
        builder.set_cache_size(CACHE_BYTES);
        let (db, durability) = match durability {
            Durability::None => (builder.create_with_backend(InMemoryBackend::new()), redb::Durability::None),
            Durability::Async => unreachable!("`gives` refuses it"),
            Durability::Group => {
                fs::create_dir_all(&place.dir).map_err(|error| says(&error))?;
                (builder.create(place.dir.join("peer.redb")), redb::Durability::Immediate)
            }
        };
        let db = db.map_err(|error| says(&error))?;
        let txn = db.begin_write().map_err(|error| says(&error))?;
        for expected in tables {
            txn.open_table(definition(expected.table)).map_err(|error| says(&error))?;
        }
        txn.commit().map_err(|error| says(&error))?;
        Ok(Self { db, durability })
    }

    fn session(&self) -> Result<&Self, String> {
        Ok(self)
    }
}

impl Session for &Redb {
    fn attempt(&mut self, body: &mut impl Body) -> Result<(), Stop> {
        if body.is_read_only() {
            let txn = self.db.begin_read().map_err(Stop::failed)?;
            return body.run(&mut ReadOnly(Reading { txn: &txn, tables: [const { None }; COUNT] }));
        }
        let mut txn = self.db.begin_write().map_err(Stop::failed)?;
        txn.set_durability(self.durability).map_err(Stop::failed)?;
        let ended = body.run(&mut Writing { txn: &txn, tables: [const { None }; COUNT], row: Vec::new() });
        match ended {
            Ok(()) => txn.commit().map_err(Stop::failed),
            Err(stop) => {
                txn.abort().map_err(Stop::failed)?;
                Err(stop)
            }
        }
    }
}

/// A snapshot with its opened tables.
struct Reading<'t> {
    txn: &'t ReadTransaction,
    tables: [Option<redb::ReadOnlyTable<&'static [u8], &'static [u8]>>; COUNT],
}

/// A transaction with its opened tables. Each table is opened once.
struct Writing<'t> {
    txn: &'t WriteTransaction,
    tables: [Option<redb::Table<'t, &'static [u8], &'static [u8]>>; COUNT],
    row: Vec<u8>,
}

impl Reading<'_> {
    fn table(&mut self, table: TableId) -> Result<&redb::ReadOnlyTable<&'static [u8], &'static [u8]>, Stop> {
        let place = &mut self.tables[table.0];
        match place {
            Some(open) => Ok(open),
            None => Ok(place.insert(self.txn.open_table(definition(table)).map_err(Stop::failed)?)),
        }
    }
}

impl<'t> Writing<'t> {
    fn table(&mut self, table: TableId) -> Result<&mut redb::Table<'t, &'static [u8], &'static [u8]>, Stop> {
        let place = &mut self.tables[table.0];
        match place {
            Some(open) => Ok(open),
            None => Ok(place.insert(self.txn.open_table(definition(table)).map_err(Stop::failed)?)),
        }
    }
}

fn get(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    key: &[u8],
    mut see: impl FnMut(&[u8]),
) -> Result<bool, Stop> {
    Ok(table.get(key).map_err(Stop::failed)?.inspect(|row| see(row.value())).is_some())
}

fn scan(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    (from, to): (&[u8], &[u8]),
    limit: usize,
    mut see: impl FnMut(&[u8], &[u8]),
) -> Result<(), Stop> {
    for entry in table.range::<&[u8]>(from..to).map_err(Stop::failed)?.take(limit) {
        let (key, row) = entry.map_err(Stop::failed)?;
        see(key.value(), row.value());
    }
    Ok(())
}

impl Reads for Reading<'_> {
    fn get(&mut self, table: TableId, key: &[u8], see: impl FnMut(&[u8])) -> Result<bool, Stop> {
        get(self.table(table)?, key, see)
    }

    fn scan(
        &mut self,
        table: TableId,
        from: &[u8],
        to: &[u8],
        limit: usize,
        see: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Stop> {
        scan(self.table(table)?, (from, to), limit, see)
    }
}

impl Txn for Writing<'_> {
    fn get(&mut self, table: TableId, key: &[u8], see: impl FnMut(&[u8])) -> Result<bool, Stop> {
        get(self.table(table)?, key, see)
    }

    fn update(
        &mut self,
        table: TableId,
        key: &[u8],
        mut change: impl FnMut(&mut [u8]),
    ) -> Result<bool, Stop> {
        let mut row = std::mem::take(&mut self.row);
        row.clear();
        let open = self.table(table)?;
        if !get(open, key, |seen| row.extend_from_slice(seen))? {
            return Ok(false);
        }
        change(&mut row);
        open.insert(key, row.as_slice()).map_err(Stop::failed)?;
        self.row = row;
        Ok(true)
    }

    fn insert(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<(), Stop> {
        self.table(table)?.insert(key, value).map_err(Stop::failed)?;
        Ok(())
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool, Stop> {
        Ok(self.table(table)?.remove(key).map_err(Stop::failed)?.is_some())
    }

    fn scan(
        &mut self,
        table: TableId,
        from: &[u8],
        to: &[u8],
        limit: usize,
        see: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Stop> {
        scan(self.table(table)?, (from, to), limit, see)
    }
}
