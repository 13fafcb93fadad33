//! Contend itself, as a program that embeds the library has it: tables of a key and a row of bytes, closures that are
//! executed until they commit.

use core::ops::ControlFlow;

use contend::{Database, Definition, Direction, Error, Handle, Options, Table, Txn as Inner};

use crate::peer::{Body, Durability, Expected, Given, Peer, Place, Session, Stop, Txn};
use crate::tables::{TABLES, TableId};

/// A row of the table number `T`, whose key has `K` bytes and whose rest has `V`.
struct Row<const T: usize, const K: usize, const V: usize> {
    key: [u8; K],
    value: [u8; V],
}

impl<const T: usize, const K: usize, const V: usize> Table for Row<T, K, V> {
    type Key = [u8; K];

    fn definition() -> Definition {
        let table = TableId(T).table();
        let definition =
            Definition::new(table.name).column::<[u8; K]>("key").column::<[u8; V]>("value").key(["key"]);
        if table.is_ordered { definition } else { definition.point() }
    }

    #[inline]
    fn key(&self) -> [u8; K] {
        self.key
    }

    #[inline]
    fn write(&self, row: &mut [u8]) {
        row[..V].copy_from_slice(&self.value);
    }

    #[inline]
    fn read(key: [u8; K], row: &[u8]) -> Self {
        Self { key, value: row[..V].try_into().expect("a row is as wide as its table says") }
    }
}

/// The bytes of a key or row, which are as many as its table says.
#[inline]
fn exactly<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("keys and rows are as wide as their table says")
}

macro_rules! tables {
    ($($number:literal $name:ident)+) => {
        /// How transactions name the tables.
        #[derive(Clone, Copy)]
        struct Handles {
            $($name: Handle<Row<$number, { TABLES[$number].key_bytes }, { TABLES[$number].value_bytes }>>,)+
        }

        impl Handles {
            fn of(db: &Database) -> Result<Self, Error> {
                Ok(Self { $($name: db.table()?,)+ })
            }
        }

        /// The definitions of all tables.
        fn definitions() -> Vec<Definition> {
            vec![$(
                <Row<$number, { TABLES[$number].key_bytes }, { TABLES[$number].value_bytes }>>::definition(),
            )+]
        }

        impl Txn for Attempt<'_, '_> {
            #[inline]
            fn get(&mut self, table: TableId, key: &[u8], see: impl FnMut(&[u8])) -> Result<bool, Stop> {
                match table.0 {
                    $($number => get(self.txn, self.handles.$name, key, see),)+
                    _ => unreachable!("tables are numbered"),
                }
            }

            #[inline]
            fn update(&mut self, table: TableId, key: &[u8], change: impl FnMut(&mut [u8])) -> Result<bool, Stop> {
                match table.0 {
                    $($number => update(self.txn, self.handles.$name, key, change),)+
                    _ => unreachable!("tables are numbered"),
                }
            }

            #[inline]
            fn insert(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<(), Stop> {
                match table.0 {
                    $($number => insert(self.txn, self.handles.$name, key, value),)+
                    _ => unreachable!("tables are numbered"),
                }
            }

            #[inline]
            fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool, Stop> {
                match table.0 {
                    $($number => Ok(self.txn.delete(self.handles.$name, exactly(key))?),)+
                    _ => unreachable!("tables are numbered"),
                }
            }

            #[inline]
            fn scan(
                &mut self,
                table: TableId,
                from: &[u8],
                to: &[u8],
                limit: usize,
                see: impl FnMut(&[u8], &[u8]),
            ) -> Result<(), Stop> {
                match table.0 {
                    $($number => scan(self.txn, self.handles.$name, (from, to), limit, see),)+
                    _ => unreachable!("tables are numbered"),
                }
            }
        }
    };
}

tables! {
    0 warehouse
    1 district
    2 customer
    3 customer_name
    4 history
    5 new_order
    6 order
    7 order_customer
    8 order_line
    9 item
    10 stock
    11 usertable_100
    12 usertable_1000
    13 account
    14 warehouse_ytd
    15 district_ytd
    16 district_next
}

type HandleOf<const T: usize, const K: usize, const V: usize> = Handle<Row<T, K, V>>;

#[inline]
fn get<const T: usize, const K: usize, const V: usize>(
    txn: &mut Inner<'_>,
    table: HandleOf<T, K, V>,
    key: &[u8],
    mut see: impl FnMut(&[u8]),
) -> Result<bool, Stop> {
    Ok(txn.get(table, exactly(key))?.inspect(|row| see(&row.value)).is_some())
}

#[inline]
fn update<const T: usize, const K: usize, const V: usize>(
    txn: &mut Inner<'_>,
    table: HandleOf<T, K, V>,
    key: &[u8],
    mut change: impl FnMut(&mut [u8]),
) -> Result<bool, Stop> {
    Ok(txn.update(table, exactly(key), |row| change(&mut row.value))?.is_some())
}

#[inline]
fn insert<const T: usize, const K: usize, const V: usize>(
    txn: &mut Inner<'_>,
    table: HandleOf<T, K, V>,
    key: &[u8],
    value: &[u8],
) -> Result<(), Stop> {
    let is_new = txn.insert(table, &Row { key: exactly(key), value: exactly(value) })?;
    if is_new { Ok(()) } else { Err(Stop::Missing("a key that is free")) }
}

#[inline]
fn scan<const T: usize, const K: usize, const V: usize>(
    txn: &mut Inner<'_>,
    table: HandleOf<T, K, V>,
    (from, to): (&[u8], &[u8]),
    limit: usize,
    mut see: impl FnMut(&[u8], &[u8]),
) -> Result<(), Stop> {
    let mut left = limit;
    txn.visit(table, exactly(from)..exactly(to), Direction::Forward, |row| {
        see(&row.key, &row.value);
        left -= 1;
        if left > 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(())
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        match error {
            Error::Conflict(_) | Error::Contended { .. } => Self::Conflict,
            other => Self::failed(other),
        }
    }
}

/// The library, under its standard scheme.
pub struct Contend {
    db: Database,
    handles: Handles,
}

impl Peer for Contend {
    const NAME: &'static str = "contend";

    type Session<'p> = &'p Contend;

    fn gives(durability: Durability) -> Result<Given, &'static str> {
        let durability = match durability {
            Durability::None => "in memory",
            Durability::Async => "log written by a thread soon after, checkpoints",
            Durability::Group => {
                "log synced before a commit returns, shared by commits at a time, checkpoints"
            }
        };
        Ok(Given { isolation: "strictly serializable", has_phantoms: false, durability })
    }

    fn open(place: &Place, durability: Durability, tables: &[Expected]) -> Result<Self, String> {
        let mut options = Options::new();
        for (number, definition) in definitions().into_iter().enumerate() {
            let expected = tables.iter().find(|expected| expected.table.0 == number);
            options = options.define(definition.expect_rows(expected.map_or(0, |expected| expected.rows)));
        }
        let db = match durability {
            Durability::None => Database::in_memory(options),
            Durability::Async => Database::open(&place.dir, options.durability(contend::Durability::Async)),
            Durability::Group => Database::open(&place.dir, options.durability(contend::Durability::Group)),
        }
        .map_err(|error| error.to_string())?;
        let handles = Handles::of(&db).map_err(|error| error.to_string())?;
        Ok(Self { db, handles })
    }

    fn session(&self) -> Result<&Self, String> {
        Ok(self)
    }
}

/// A transaction and the names of its tables.
struct Attempt<'a, 't> {
    txn: &'a mut Inner<'t>,
    handles: &'a Handles,
}

impl Session for &Contend {
    /// Until it commits: the library tries again by itself.
    fn attempt(&mut self, body: &mut impl Body) -> Result<(), Stop> {
        self.db.try_transact(|txn| body.run(&mut Attempt { txn, handles: &self.handles }))
    }
}
