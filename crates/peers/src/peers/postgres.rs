//! `PostgreSQL` over its network protocol: an external server, a connection for each session, prepared
//! statements, and for each table of a workload a table of a key and a row of bytes. Each operation is a round
//! trip.

use postgres::error::SqlState;
use postgres::{Client, IsolationLevel, NoTls, Statement, Transaction};

use crate::peer::{
    Body, Durability, Expected, Given, Key, Peer, Place, Session, Stop, Txn, signed, unsigned,
};
use crate::tables::{COUNT, TABLES, TableId};

/// The maximum length of keys that are stored as integers, in bytes.
const NUMBER_BYTES: usize = 8;

/// The server's address, and the tables in use.
pub struct Postgres {
    address: String,
    tables: Vec<TableId>,
    /// The statement with which each session sets the durability of its commits.
    commits: &'static str,
}

fn connect(address: &str) -> Result<Client, String> {
    Client::connect(address, NoTls).map_err(|error| {
        format!(
            "PostgreSQL at `{address}`: {error}; crates/peers/compare.sh starts a server and says where it is"
        )
    })
}

impl Peer for Postgres {
    const NAME: &'static str = "postgres";

    type Session<'p> = Seat;

    fn gives(durability: Durability) -> Result<Given, &'static str> {
        let durability = match durability {
            Durability::None => "tables without a log (UNLOGGED), synchronous_commit=off",
            Durability::Async => "log written by the server soon after (synchronous_commit=off)",
            Durability::Group => {
                "log synced at each commit (synchronous_commit=on), shared by commits at a time"
            }
        };
        Ok(Given { isolation: "serializable, over the wire", has_phantoms: false, durability })
    }

    fn open(place: &Place, durability: Durability, tables: &[Expected]) -> Result<Self, String> {
        let Some(address) = place.postgres.clone() else {
            return Err(
                "say where a server is with `--postgres 'host=/run/x user=contend dbname=contend'`, or \
                        leave out `postgres`; crates/peers/compare.sh starts one"
                    .into(),
            );
        };
        let mut client = connect(&address)?;
        let (kind, commits) = match durability {
            Durability::None => ("UNLOGGED TABLE", "SET synchronous_commit = off"),
            Durability::Async => ("TABLE", "SET synchronous_commit = off"),
            Durability::Group => ("TABLE", "SET synchronous_commit = on"),
        };
        for expected in tables {
            let table = &TABLES[expected.table.0];
            let name = table.name;
            let key = if table.key_bytes <= NUMBER_BYTES { "BIGINT" } else { "BYTEA" };
            let create = format!(
                "DROP TABLE IF EXISTS {name}; CREATE {kind} {name} (k {key} PRIMARY KEY, v BYTEA NOT NULL); \
                 ALTER TABLE {name} ALTER COLUMN v SET STORAGE PLAIN"
            );
            client.batch_execute(&create).map_err(|error| format!("PostgreSQL: {}", told(&error)))?;
        }
        Ok(Self { address, tables: tables.iter().map(|expected| expected.table).collect(), commits })
    }

    fn session(&self) -> Result<Seat, String> {
        let mut client = connect(&self.address)?;
        let says = |error: postgres::Error| format!("PostgreSQL: {}", told(&error));
        client.batch_execute(self.commits).map_err(says)?;
        let mut statements = [const { None }; COUNT];
        for &table in &self.tables {
            statements[table.0] = Some(Statements::new(&mut client, table).map_err(says)?);
        }
        Ok(Seat { client, statements })
    }

    fn loaded(&self) -> Result<(), String> {
        let mut client = connect(&self.address)?;
        for table in &self.tables {
            let vacuum = format!("VACUUM ANALYZE {}", TABLES[table.0].name);
            client.batch_execute(&vacuum).map_err(|error| format!("PostgreSQL: {}", told(&error)))?;
        }
        Ok(())
    }
}

/// The statements on a table.
struct Statements {
    get: Statement,
    put: Statement,
    insert: Statement,
    load: Statement,
    delete: Statement,
    scan: Statement,
}

impl Statements {
    fn new(client: &mut Client, table: TableId) -> Result<Self, postgres::Error> {
        let name = TABLES[table.0].name;
        let kind = if TABLES[table.0].key_bytes <= NUMBER_BYTES { "BIGINT" } else { "BYTEA" };
        Ok(Self {
            get: client.prepare(&format!("SELECT v FROM {name} WHERE k = $1"))?,
            put: client.prepare(&format!("UPDATE {name} SET v = $2 WHERE k = $1"))?,
            insert: client.prepare(&format!("INSERT INTO {name} (k, v) VALUES ($1, $2)"))?,
            load: client.prepare(&format!(
                "INSERT INTO {name} (k, v) SELECT * FROM unnest($1::{kind}[], $2::BYTEA[])"
            ))?,
            delete: client.prepare(&format!("DELETE FROM {name} WHERE k = $1"))?,
            scan: client
                .prepare(&format!("SELECT k, v FROM {name} WHERE k >= $1 AND k < $2 ORDER BY k LIMIT $3"))?,
        })
    }
}

/// A connection.
pub struct Seat {
    client: Client,
    statements: [Option<Statements>; COUNT],
}

/// Returns the server's own message, which the error does not show by itself.
fn told(error: &postgres::Error) -> String {
    error.as_db_error().map_or_else(|| error.to_string(), ToString::to_string)
}

/// Converts an error to the reason why the attempt ended.
#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` passes")]
fn stop(error: postgres::Error) -> Stop {
    match error.code() {
        Some(code) if *code == SqlState::T_R_SERIALIZATION_FAILURE => Stop::Conflict,
        Some(code) if *code == SqlState::T_R_DEADLOCK_DETECTED => Stop::Conflict,
        // A transaction that this one does not see has inserted the row: the order of the two is still open.
        Some(code) if *code == SqlState::UNIQUE_VIOLATION => Stop::Missing("a key that is free"),
        _ => Stop::Failed(format!("PostgreSQL: {}", told(&error))),
    }
}

fn statements(all: &[Option<Statements>; COUNT], table: TableId) -> Result<&Statements, Stop> {
    all[table.0]
        .as_ref()
        .ok_or_else(|| Stop::Failed(format!("table `{}` was not opened", TABLES[table.0].name)))
}

impl Session for Seat {
    fn attempt(&mut self, body: &mut impl Body) -> Result<(), Stop> {
        let txn = self
            .client
            .build_transaction()
            .isolation_level(IsolationLevel::Serializable)
            .read_only(body.is_read_only())
            .start()
            .map_err(stop)?;
        let mut attempt = Attempt { txn, statements: &self.statements, row: Vec::new() };
        match body.run(&mut attempt) {
            Ok(()) => attempt.txn.commit().map_err(stop),
            Err(ended) => {
                attempt.txn.rollback().map_err(stop)?;
                Err(ended)
            }
        }
    }

    fn load(&mut self, table: TableId, rows: &[(Key, Vec<u8>)]) -> Result<(), Stop> {
        let load = &statements(&self.statements, table)?.load;
        let values: Vec<&[u8]> = rows.iter().map(|(_, value)| value.as_slice()).collect();
        let loaded = if TABLES[table.0].key_bytes <= NUMBER_BYTES {
            let keys: Vec<i64> = rows.iter().map(|(key, _)| signed(key)).collect();
            self.client.execute(load, &[&keys, &values])
        } else {
            let keys: Vec<&[u8]> = rows.iter().map(|(key, _)| &**key).collect();
            self.client.execute(load, &[&keys, &values])
        };
        loaded.map_err(stop).map(|_| ())
    }
}

struct Attempt<'a> {
    txn: Transaction<'a>,
    statements: &'a [Option<Statements>; COUNT],
    row: Vec<u8>,
}

impl Attempt<'_> {
    /// Executes a statement with a key and, if the statement takes one, a row. Returns `true` if rows were
    /// changed.
    fn execute(
        &mut self,
        table: TableId,
        statement: &Statement,
        key: &[u8],
        row: Option<&[u8]>,
    ) -> Result<bool, Stop> {
        let changed = match (TABLES[table.0].key_bytes <= NUMBER_BYTES, row) {
            (true, Some(row)) => self.txn.execute(statement, &[&signed(key), &row]),
            (true, None) => self.txn.execute(statement, &[&signed(key)]),
            (false, Some(row)) => self.txn.execute(statement, &[&key, &row]),
            (false, None) => self.txn.execute(statement, &[&key]),
        };
        Ok(changed.map_err(stop)? > 0)
    }
}

impl Txn for Attempt<'_> {
    fn get(&mut self, table: TableId, key: &[u8], mut see: impl FnMut(&[u8])) -> Result<bool, Stop> {
        let get = &statements(self.statements, table)?.get;
        let row = if TABLES[table.0].key_bytes <= NUMBER_BYTES {
            self.txn.query_opt(get, &[&signed(key)])
        } else {
            self.txn.query_opt(get, &[&key])
        };
        Ok(row.map_err(stop)?.inspect(|row| see(row.get(0))).is_some())
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
        let put = &statements(self.statements, table)?.put;
        let is_there = self.execute(table, put, key, Some(&row))?;
        self.row = row;
        Ok(is_there)
    }

    fn insert(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<(), Stop> {
        let insert = &statements(self.statements, table)?.insert;
        self.execute(table, insert, key, Some(value)).map(|_| ())
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool, Stop> {
        let delete = &statements(self.statements, table)?.delete;
        self.execute(table, delete, key, None)
    }

    fn scan(
        &mut self,
        table: TableId,
        from: &[u8],
        to: &[u8],
        limit: usize,
        mut see: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Stop> {
        let scan = &statements(self.statements, table)?.scan;
        let bytes = TABLES[table.0].key_bytes;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = if bytes <= NUMBER_BYTES {
            self.txn.query(scan, &[&signed(from), &signed(to), &limit])
        } else {
            self.txn.query(scan, &[&from, &to, &limit])
        };
        for row in rows.map_err(stop)? {
            if bytes <= NUMBER_BYTES {
                see(&unsigned(row.get(0), bytes), row.get(1));
            } else {
                see(row.get(0), row.get(1));
            }
        }
        Ok(())
    }
}
