//! `SQLite` through `rusqlite`, in memory and as a file with a write-ahead log: one writer at a time, prepared
//! statements, and for each table of a workload a table of a key and a row of bytes.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, params};

use crate::peer::{
    Body, Durability, Expected, Given, Key, Peer, Place, Session, Stop, Txn, signed, unsigned,
};
use crate::tables::{COUNT, TABLES, Table, TableId};

/// The maximum length of keys that are stored as integers, in bytes. `SQLite` uses them as rowids.
const NUMBER_BYTES: usize = 8;
/// A counter that makes the names of databases in memory unique.
static DATABASES: AtomicUsize = AtomicUsize::new(0);

/// A database in memory, shared by the connections of this process.
pub struct InMemory(Common);

/// A database in a file with a write-ahead log.
pub struct Wal(Common);

struct Common {
    /// A connection that keeps a database in memory alive.
    _first: Mutex<Connection>,
    name: String,
    pragmas: &'static str,
    statements: Vec<Option<Statements>>,
}

/// The statements on a table.
#[derive(Clone)]
struct Statements {
    get: String,
    put: String,
    insert: String,
    delete: String,
    scan: String,
}

impl Statements {
    fn new(table: &Table) -> Self {
        let name = table.name;
        Self {
            get: format!("SELECT v FROM {name} WHERE k = ?1"),
            put: format!("UPDATE {name} SET v = ?2 WHERE k = ?1"),
            insert: format!("INSERT INTO {name} (k, v) VALUES (?1, ?2)"),
            delete: format!("DELETE FROM {name} WHERE k = ?1"),
            scan: format!("SELECT k, v FROM {name} WHERE k >= ?1 AND k < ?2 ORDER BY k LIMIT ?3"),
        }
    }
}

/// Waits for the current writer, at first by yielding the processor, because a transaction takes microseconds.
fn wait(times: i32) -> bool {
    const YIELDS: i32 = 200;
    if times < YIELDS {
        thread::yield_now();
    } else {
        thread::sleep(Duration::from_micros(100));
    }
    true
}

fn connect(name: &str, pragmas: &str) -> Result<Connection, rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(name, flags)?;
    connection.busy_handler(Some(wait))?;
    connection.set_prepared_statement_cache_capacity(128);
    connection.execute_batch(pragmas)?;
    Ok(connection)
}

impl Common {
    fn open(name: String, pragmas: &'static str, tables: &[Expected]) -> Result<Self, String> {
        let says = |error: &dyn std::fmt::Display| format!("SQLite at {name}: {error}");
        let first = connect(&name, pragmas).map_err(|error| says(&error))?;
        let mut statements = vec![None; COUNT];
        for expected in tables {
            let table = &TABLES[expected.table.0];
            let kind = if table.key_bytes <= NUMBER_BYTES {
                "INTEGER PRIMARY KEY, v BLOB)"
            } else {
                "BLOB PRIMARY KEY, v BLOB) WITHOUT ROWID"
            };
            let create = format!("CREATE TABLE {} (k {kind}", table.name);
            first.execute_batch(&create).map_err(|error| says(&error))?;
            statements[expected.table.0] = Some(Statements::new(table));
        }
        Ok(Self { _first: Mutex::new(first), name, pragmas, statements })
    }

    fn session(&self) -> Result<Seat<'_>, String> {
        let connection = connect(&self.name, self.pragmas);
        let connection = connection.map_err(|error| format!("SQLite at {}: {error}", self.name))?;
        Ok(Seat { connection, statements: &self.statements })
    }
}

impl Peer for InMemory {
    const NAME: &'static str = "sqlite-memory";

    type Session<'p> = Seat<'p>;

    fn gives(durability: Durability) -> Result<Given, &'static str> {
        match durability {
            Durability::None => Ok(Given {
                isolation: "strictly serializable, one writer",
                has_phantoms: false,
                durability: "in memory (vfs=memdb)",
            }),
            Durability::Async | Durability::Group => Err("it is in memory; take `sqlite-wal`"),
        }
    }

    fn open(_: &Place, durability: Durability, tables: &[Expected]) -> Result<Self, String> {
        Self::gives(durability)?;
        // Relaxed: the number only has to be unique.
        let number = DATABASES.fetch_add(1, Ordering::Relaxed);
        let name = format!("file:/peer{number}?vfs=memdb");
        Common::open(name, "PRAGMA journal_mode = MEMORY; PRAGMA cache_size = -1000000;", tables).map(Self)
    }

    fn session(&self) -> Result<Seat<'_>, String> {
        self.0.session()
    }
}

impl Peer for Wal {
    const NAME: &'static str = "sqlite-wal";

    type Session<'p> = Seat<'p>;

    fn gives(durability: Durability) -> Result<Given, &'static str> {
        let durability = match durability {
            Durability::None => "log and file written, never synced (synchronous=OFF)",
            Durability::Async => "log written at each commit, synced at checkpoints (synchronous=NORMAL)",
            Durability::Group => "log synced at each commit (synchronous=FULL); writers take turns",
        };
        Ok(Given { isolation: "strictly serializable, one writer", has_phantoms: false, durability })
    }

    fn open(place: &Place, durability: Durability, tables: &[Expected]) -> Result<Self, String> {
        std::fs::create_dir_all(&place.dir).map_err(|error| format!("{}: {error}", place.dir.display()))?;
        let pragmas = match durability {
            Durability::None => {
                "PRAGMA journal_mode = WAL; PRAGMA cache_size = -1000000; PRAGMA synchronous = OFF;"
            }
            Durability::Async => {
                "PRAGMA journal_mode = WAL; PRAGMA cache_size = -1000000; PRAGMA synchronous = NORMAL;"
            }
            Durability::Group => {
                "PRAGMA journal_mode = WAL; PRAGMA cache_size = -1000000; PRAGMA synchronous = FULL;"
            }
        };
        let file: &Path = &place.dir.join("peer.sqlite");
        Common::open(file.display().to_string(), pragmas, tables).map(Self)
    }

    fn session(&self) -> Result<Seat<'_>, String> {
        self.0.session()
    }
}

/// A connection.
pub struct Seat<'p> {
    connection: Connection,
    statements: &'p [Option<Statements>],
}

/// Converts an error to the reason why the attempt ended.
fn stop(error: rusqlite::Error) -> Stop {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Stop::Conflict,
        Some(ErrorCode::ConstraintViolation) => Stop::Missing("a key that is free"),
        _ => Stop::failed(error),
    }
}

impl Seat<'_> {
    fn execute(&self, statement: &str) -> Result<(), Stop> {
        self.connection.prepare_cached(statement).map_err(stop)?.execute([]).map_err(stop)?;
        Ok(())
    }
}

impl Session for Seat<'_> {
    fn attempt(&mut self, body: &mut impl Body) -> Result<(), Stop> {
        // A writer gets its turn at the begin, so that no conflict can occur after its first read.
        self.execute(if body.is_read_only() { "BEGIN DEFERRED" } else { "BEGIN IMMEDIATE" })?;
        let mut attempt = Attempt { seat: self, row: Vec::new() };
        let ended = body.run(&mut attempt).and_then(|()| self.execute("COMMIT"));
        if ended.is_err() && !self.connection.is_autocommit() {
            self.execute("ROLLBACK")?;
        }
        ended
    }
}

struct Attempt<'a, 'p> {
    seat: &'a Seat<'p>,
    row: Vec<u8>,
}

impl<'a> Attempt<'a, '_> {
    fn statements(&self, table: TableId) -> Result<&'a Statements, Stop> {
        self.seat.statements[table.0]
            .as_ref()
            .ok_or_else(|| Stop::Failed(format!("table `{}` was not opened", TABLES[table.0].name)))
    }

    /// Executes a statement with a key and, if the statement takes one, a row. Returns `true` if rows were
    /// changed.
    fn execute(&self, table: TableId, statement: &str, key: &[u8], row: Option<&[u8]>) -> Result<bool, Stop> {
        let mut statement = self.seat.connection.prepare_cached(statement).map_err(stop)?;
        let changed = match (TABLES[table.0].key_bytes <= NUMBER_BYTES, row) {
            (true, Some(row)) => statement.execute(params![signed(key), row]),
            (true, None) => statement.execute(params![signed(key)]),
            (false, Some(row)) => statement.execute(params![key, row]),
            (false, None) => statement.execute(params![key]),
        };
        Ok(changed.map_err(stop)? > 0)
    }
}

impl Txn for Attempt<'_, '_> {
    fn get(&mut self, table: TableId, key: &[u8], mut see: impl FnMut(&[u8])) -> Result<bool, Stop> {
        let statements = self.statements(table)?;
        let mut statement = self.seat.connection.prepare_cached(&statements.get).map_err(stop)?;
        let mut rows = if TABLES[table.0].key_bytes <= NUMBER_BYTES {
            statement.query(params![signed(key)])
        } else {
            statement.query(params![key])
        }
        .map_err(stop)?;
        let Some(row) = rows.next().map_err(stop)? else { return Ok(false) };
        see(row.get_ref(0).map_err(stop)?.as_blob().map_err(Stop::failed)?);
        Ok(true)
    }

    fn update(
        &mut self,
        table: TableId,
        key: &[u8],
        mut change: impl FnMut(&mut [u8]),
    ) -> Result<bool, Stop> {
        let mut row = std::mem::take(&mut self.row);
        row.clear();
        if !self.get(table, key, |seen| row.extend_from_slice(seen))? {
            return Ok(false);
        }
        change(&mut row);
        let is_there = self.execute(table, &self.statements(table)?.put, key, Some(&row))?;
        self.row = row;
        Ok(is_there)
    }

    fn insert(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<(), Stop> {
        self.execute(table, &self.statements(table)?.insert, key, Some(value)).map(|_| ())
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool, Stop> {
        self.execute(table, &self.statements(table)?.delete, key, None)
    }

    fn scan(
        &mut self,
        table: TableId,
        from: &[u8],
        to: &[u8],
        limit: usize,
        mut see: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Stop> {
        let statements = self.statements(table)?;
        let mut statement = self.seat.connection.prepare_cached(&statements.scan).map_err(stop)?;
        let bytes = TABLES[table.0].key_bytes;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut rows = if bytes <= NUMBER_BYTES {
            statement.query(params![signed(from), signed(to), limit])
        } else {
            statement.query(params![from, to, limit])
        }
        .map_err(stop)?;
        while let Some(row) = rows.next().map_err(stop)? {
            let (key, value) = (row.get_ref(0).map_err(stop)?, row.get_ref(1).map_err(stop)?);
            let key = if bytes <= NUMBER_BYTES {
                unsigned(key.as_i64().map_err(Stop::failed)?, bytes)
            } else {
                Key::new().bytes(key.as_blob().map_err(Stop::failed)?)
            };
            see(&key, value.as_blob().map_err(Stop::failed)?);
        }
        Ok(())
    }
}
