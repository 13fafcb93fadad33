//! LMDB through `heed`: a copy-on-write B+tree in a memory map, one writer at a time, readers of snapshots.

use std::fs;

use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions, RoTxn, RwTxn};

use crate::peer::{Body, Durability, Expected, Given, Peer, Place, ReadOnly, Reads, Session, Stop, Txn};
use crate::tables::{COUNT, TABLES, TableId};

/// The maximum size of the memory map in bytes. It costs address space, but no memory.
const MAP_BYTES: usize = 64 << 30;

type Tree = Database<'static, Bytes, Bytes>;

/// An environment with a tree for each table.
pub struct Lmdb {
    env: Env,
    trees: [Tree; COUNT],
}

impl Peer for Lmdb {
    const NAME: &'static str = "lmdb";

    type Session<'p> = &'p Lmdb;

    fn gives(durability: Durability) -> Result<Given, &'static str> {
        let durability = match durability {
            Durability::None => "never synced (MDB_NOSYNC, MDB_WRITEMAP)",
            Durability::Async => {
                "written to the file, never synced (MDB_NOSYNC): the system may break it when it crashes"
            }
            Durability::Group => "synced at each commit; nothing is shared, since writers take turns",
        };
        Ok(Given { isolation: "strictly serializable, one writer", has_phantoms: false, durability })
    }

    fn open(place: &Place, durability: Durability, _: &[Expected]) -> Result<Self, String> {
        let says = |error: &dyn std::fmt::Display| format!("LMDB in {}: {error}", place.dir.display());
        fs::create_dir_all(&place.dir).map_err(|error| says(&error))?;
        let env = open(place, durability).map_err(|error| says(&error))?;
        let txn = env.write_txn().map_err(|error| says(&error))?;
        let trees = env
            .create_databases_and_commit(txn, |opener, txn| -> Result<_, heed::Error> {
                let mut trees = Vec::with_capacity(COUNT);
                for table in &TABLES {
                    trees.push(opener.create_database::<Bytes, Bytes>(txn, Some(table.name))?);
                }
                let Ok(trees) = <[_; COUNT]>::try_from(trees) else { unreachable!("one for each table") };
                Ok(CommitOrAbort::<_, ()>::Commit(trees))
            })
            .map_err(|error| says(&error))?
            .unwrap_commit();
        Ok(Self { env, trees })
    }

    fn session(&self) -> Result<&Self, String> {
        Ok(self)
    }
}

#[expect(
    unsafe_code,
    reason = "a memory map is unsafe to open: nobody else may write the file, whose folder is ours"
)]
fn open(place: &Place, durability: Durability) -> Result<Env, heed::Error> {
    let flags = match durability {
        Durability::None => EnvFlags::NO_SYNC | EnvFlags::WRITE_MAP | EnvFlags::NO_MEM_INIT,
        Durability::Async => EnvFlags::NO_SYNC,
        Durability::Group => EnvFlags::empty(),
    };
    let mut options = EnvOpenOptions::new();
    options.map_size(MAP_BYTES).max_dbs(COUNT as u32);
    // SAFETY: the folder was made for this store, and `open` is called once for it.
    unsafe { options.flags(flags) };
    // SAFETY: as above.
    unsafe { options.open(&place.dir) }
}

impl Session for &Lmdb {
    fn attempt(&mut self, body: &mut impl Body) -> Result<(), Stop> {
        if body.is_read_only() {
            let txn = self.env.read_txn().map_err(Stop::failed)?;
            return body.run(&mut ReadOnly(Reading { txn: &txn, trees: &self.trees }));
        }
        let mut writing =
            Writing { txn: self.env.write_txn().map_err(Stop::failed)?, trees: &self.trees, row: Vec::new() };
        // Without a commit, dropping the transaction discards its writes.
        body.run(&mut writing)?;
        writing.txn.commit().map_err(Stop::failed)
    }
}

struct Reading<'t> {
    txn: &'t RoTxn<'t>,
    trees: &'t [Tree; COUNT],
}

struct Writing<'t> {
    txn: RwTxn<'t>,
    trees: &'t [Tree; COUNT],
    row: Vec<u8>,
}

fn get(txn: &RoTxn<'_>, tree: &Tree, key: &[u8], mut see: impl FnMut(&[u8])) -> Result<bool, Stop> {
    Ok(tree.get(txn, key).map_err(Stop::failed)?.inspect(|row| see(row)).is_some())
}

fn scan(
    txn: &RoTxn<'_>,
    tree: &Tree,
    (from, to): (&[u8], &[u8]),
    limit: usize,
    mut see: impl FnMut(&[u8], &[u8]),
) -> Result<(), Stop> {
    let range = (core::ops::Bound::Included(from), core::ops::Bound::Excluded(to));
    for entry in tree.range(txn, &range).map_err(Stop::failed)?.take(limit) {
        let (key, row) = entry.map_err(Stop::failed)?;
        see(key, row);
    }
    Ok(())
}

impl Reads for Reading<'_> {
    fn get(&mut self, table: TableId, key: &[u8], see: impl FnMut(&[u8])) -> Result<bool, Stop> {
        get(self.txn, &self.trees[table.0], key, see)
    }

    fn scan(
        &mut self,
        table: TableId,
        from: &[u8],
        to: &[u8],
        limit: usize,
        see: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Stop> {
        scan(self.txn, &self.trees[table.0], (from, to), limit, see)
    }
}

impl Txn for Writing<'_> {
    fn get(&mut self, table: TableId, key: &[u8], see: impl FnMut(&[u8])) -> Result<bool, Stop> {
        get(&self.txn, &self.trees[table.0], key, see)
    }

    fn update(
        &mut self,
        table: TableId,
        key: &[u8],
        mut change: impl FnMut(&mut [u8]),
    ) -> Result<bool, Stop> {
        let tree = &self.trees[table.0];
        let Some(row) = tree.get(&self.txn, key).map_err(Stop::failed)? else { return Ok(false) };
        self.row.clear();
        self.row.extend_from_slice(row);
        change(&mut self.row);
        tree.put(&mut self.txn, key, &self.row).map_err(Stop::failed)?;
        Ok(true)
    }

    fn insert(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<(), Stop> {
        self.trees[table.0].put(&mut self.txn, key, value).map_err(Stop::failed)
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool, Stop> {
        self.trees[table.0].delete(&mut self.txn, key).map_err(Stop::failed)
    }

    fn scan(
        &mut self,
        table: TableId,
        from: &[u8],
        to: &[u8],
        limit: usize,
        see: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Stop> {
        scan(&self.txn, &self.trees[table.0], (from, to), limit, see)
    }
}
