//! Contend itself, used as in a program that embeds the library: tables with a key and a row of bytes, and closures
//! that are executed until they commit. Rows with parts are kept in column groups. Columns to which transactions add
//! are sums.

use core::ops::ControlFlow;

use contend::{
    ColumnGroup, Database, Definition, Direction, Error, Group, Handle, Options, Sum, Table, Txn as Inner,
};

use crate::peer::{Body, Durability, Expected, Given, Key, Peer, Place, Session, Stop, Txn};
use crate::tables::{
    CUSTOMER_BALANCE, CUSTOMER_DATA, CUSTOMER_PERSON, Part, STOCK_INFO, STOCK_LEVEL, TABLES, TableId,
};

/// Converts a slice to an array. Keys and rows have the width that their table states.
#[inline]
fn exactly<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("keys and rows are as wide as their table says")
}

/// A row of columns that converts to and from the bytes that other stores keep.
trait Bytes: Table {
    fn of(key: &[u8], row: &[u8]) -> Self;

    fn key_of(key: &[u8]) -> Self::Key;

    fn show(&self, see: impl FnMut(&[u8], &[u8]));

    fn change(&mut self, change: impl FnMut(&mut [u8]));
}

/// A row of the table number `T`, with a key of `K` bytes and a value of `V` bytes.
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
        Self { key, value: exactly(&row[..V]) }
    }
}

impl<const T: usize, const K: usize, const V: usize> Bytes for Row<T, K, V> {
    #[inline]
    fn of(key: &[u8], row: &[u8]) -> Self {
        Self { key: exactly(key), value: exactly(row) }
    }

    #[inline]
    fn key_of(key: &[u8]) -> [u8; K] {
        exactly(key)
    }

    #[inline]
    fn show(&self, mut see: impl FnMut(&[u8], &[u8])) {
        see(&self.key, &self.value);
    }

    #[inline]
    fn change(&mut self, mut change: impl FnMut(&mut [u8])) {
        change(&mut self.value);
    }
}

/// Like [`Row`], for a table whose keys consist of a prefix of `P` bytes and `R` bytes that grow under each prefix.
struct Series<const T: usize, const P: usize, const R: usize, const V: usize> {
    key: ([u8; P], [u8; R]),
    value: [u8; V],
}

impl<const T: usize, const P: usize, const R: usize, const V: usize> Table for Series<T, P, R, V> {
    type Key = ([u8; P], [u8; R]);

    fn definition() -> Definition {
        let definition = Definition::new(TableId(T).table().name);
        let definition = definition.column::<[u8; P]>("prefix").column::<[u8; R]>("number");
        definition.column::<[u8; V]>("value").key(["prefix", "number"]).prefix(1)
    }

    #[inline]
    fn key(&self) -> ([u8; P], [u8; R]) {
        self.key
    }

    #[inline]
    fn write(&self, row: &mut [u8]) {
        row[..V].copy_from_slice(&self.value);
    }

    #[inline]
    fn read(key: ([u8; P], [u8; R]), row: &[u8]) -> Self {
        Self { key, value: exactly(&row[..V]) }
    }
}

impl<const T: usize, const P: usize, const R: usize, const V: usize> Bytes for Series<T, P, R, V> {
    #[inline]
    fn of(key: &[u8], row: &[u8]) -> Self {
        Self { key: Self::key_of(key), value: exactly(row) }
    }

    #[inline]
    fn key_of(key: &[u8]) -> ([u8; P], [u8; R]) {
        (exactly(&key[..P]), exactly(&key[P..]))
    }

    #[inline]
    fn show(&self, mut see: impl FnMut(&[u8], &[u8])) {
        let key = Key::new().bytes(&self.key.0).bytes(&self.key.1);
        see(&key, &self.value);
    }

    #[inline]
    fn change(&mut self, mut change: impl FnMut(&mut [u8])) {
        change(&mut self.value);
    }
}

/// Defines tables whose rows are one number, to which transactions add.
macro_rules! totals {
    ($($row:ident $name:literal $key:literal)+) => {
        $(
            #[derive(Table)]
            #[table(name = $name, point)]
            struct $row {
                #[key]
                key: [u8; $key],
                total: Sum,
            }

            impl Bytes for $row {
                fn of(key: &[u8], row: &[u8]) -> Self {
                    Self { key: exactly(key), total: Sum(i64::from_le_bytes(exactly(row))) }
                }

                fn key_of(key: &[u8]) -> [u8; $key] {
                    exactly(key)
                }

                fn show(&self, mut see: impl FnMut(&[u8], &[u8])) {
                    see(&self.key, &self.total.0.to_le_bytes());
                }

                fn change(&mut self, mut change: impl FnMut(&mut [u8])) {
                    let mut row = self.total.0.to_le_bytes();
                    change(&mut row);
                    self.total.0 = i64::from_le_bytes(row);
                }
            }
        )+
    };
}

totals! {
    WarehouseYtd "warehouse_ytd" 2
    DistrictYtd "district_ytd" 3
}

/// A column group of bytes.
trait GroupBytes: ColumnGroup {
    fn bytes(&self) -> &[u8];
}

/// Defines tables whose parts are column groups.
macro_rules! parted {
    ($($row:ident $name:literal $key:literal { $($part:ident $group:ident $bytes:literal)+ })+) => {
        $(
            $(
                #[derive(ColumnGroup)]
                struct $group {
                    bytes: [u8; $bytes],
                }

                impl GroupBytes for $group {
                    #[inline]
                    fn bytes(&self) -> &[u8] {
                        &self.bytes
                    }
                }
            )+

            #[derive(Table)]
            #[table(name = $name, point)]
            struct $row {
                #[key]
                key: [u8; $key],
                $(
                    #[group]
                    $part: $group,
                )+
            }

            impl $row {
                fn row(&self) -> [u8; 0 $(+ $bytes)+] {
                    let mut row = [0; 0 $(+ $bytes)+];
                    let rest = &mut row[..];
                    $(
                        let (own, rest) = rest.split_at_mut($bytes);
                        own.copy_from_slice(&self.$part.bytes);
                    )+
                    debug_assert!(rest.is_empty());
                    row
                }

                fn set(&mut self, row: &[u8]) {
                    $(
                        let (own, row) = row.split_at($bytes);
                        self.$part.bytes.copy_from_slice(own);
                    )+
                    assert!(row.is_empty(), "a row is as wide as its table says");
                }
            }

            impl Bytes for $row {
                fn of(key: &[u8], row: &[u8]) -> Self {
                    let mut own = Self { key: exactly(key), $($part: $group { bytes: [0; $bytes] }),+ };
                    own.set(row);
                    own
                }

                fn key_of(key: &[u8]) -> [u8; $key] {
                    exactly(key)
                }

                fn show(&self, mut see: impl FnMut(&[u8], &[u8])) {
                    see(&self.key, &self.row());
                }

                fn change(&mut self, mut change: impl FnMut(&mut [u8])) {
                    let mut row = self.row();
                    change(&mut row);
                    self.set(&row);
                }
            }
        )+
    };
}

parted! {
    Customer "customer" 7 {
        balance Balance 24
        person Person 143
        data Data 500
    }
    Stock "stock" 6 {
        level Level 16
        info Info 290
    }
}

/// The row type of a table without parts.
macro_rules! row {
    ($number:literal) => { Row<$number, { TABLES[$number].key_bytes }, { TABLES[$number].value_bytes }> };
}

/// The row type of a table whose keys grow under a district.
macro_rules! series {
    ($number:literal) => {
        Series<$number, 3, { TABLES[$number].key_bytes - 3 }, { TABLES[$number].value_bytes }>
    };
}

macro_rules! tables {
    ($($number:literal $name:ident $row:ty)+) => {
        /// The handles by which transactions name the tables.
        #[derive(Clone, Copy)]
        struct Handles {
            $($name: Handle<$row>,)+
        }

        impl Handles {
            fn of(db: &Database) -> Result<Self, Error> {
                Ok(Self { $($name: db.table()?,)+ })
            }
        }

        /// Returns the definitions of all tables.
        fn definitions() -> Vec<Definition> {
            vec![$(<$row>::definition()),+]
        }

        /// Evaluates an expression with the handle of a table.
        macro_rules! with_table {
            ($table:expr, $handles:expr, |$handle:ident| $body:expr) => {
                match $table.0 {
                    $($number => { let $handle = $handles.$name; $body })+
                    _ => unreachable!("tables are numbered"),
                }
            };
        }
    };
}

tables! {
    0 warehouse row!(0)
    1 district row!(1)
    2 customer Customer
    3 customer_name row!(3)
    4 history row!(4)
    5 new_order series!(5)
    6 order row!(6)
    7 order_customer row!(7)
    8 order_line series!(8)
    9 item row!(9)
    10 stock Stock
    11 usertable_100 row!(11)
    12 usertable_1000 row!(12)
    13 account row!(13)
    14 warehouse_ytd WarehouseYtd
    15 district_ytd DistrictYtd
    16 district_next row!(16)
}

impl Txn for Attempt<'_, '_> {
    #[inline]
    fn get(&mut self, table: TableId, key: &[u8], mut see: impl FnMut(&[u8])) -> Result<bool, Stop> {
        with_table!(table, self.handles, |of| {
            Ok(self.txn.get_with(of, key_of(of, key), |row| row.show(|_, row| see(row)))?.is_some())
        })
    }

    #[inline]
    fn update(
        &mut self,
        table: TableId,
        key: &[u8],
        mut change: impl FnMut(&mut [u8]),
    ) -> Result<bool, Stop> {
        with_table!(table, self.handles, |of| {
            Ok(self.txn.update(of, key_of(of, key), |row| row.change(&mut change))?.is_some())
        })
    }

    #[inline]
    fn insert(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<(), Stop> {
        let is_new = with_table!(table, self.handles, |of| self.txn.insert(of, &row_of(of, key, value))?);
        if is_new { Ok(()) } else { Err(Stop::Missing("a key that is free")) }
    }

    #[inline]
    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool, Stop> {
        with_table!(table, self.handles, |of| Ok(self.txn.delete(of, key_of(of, key))?))
    }

    #[inline]
    fn scan(
        &mut self,
        table: TableId,
        from: &[u8],
        to: &[u8],
        limit: usize,
        mut see: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Stop> {
        let mut left = limit;
        with_table!(table, self.handles, |of| {
            self.txn.visit(of, key_of(of, from)..key_of(of, to), Direction::Forward, |row| {
                row.show(&mut see);
                left -= 1;
                if left > 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })?;
        });
        Ok(())
    }

    fn get_part(&mut self, part: Part, key: &[u8], see: impl FnMut(&[u8])) -> Result<bool, Stop> {
        let Handles { customer, stock, .. } = *self.handles;
        match part {
            CUSTOMER_BALANCE => get_group(self.txn, customer, Customer::BALANCE, key, see),
            CUSTOMER_PERSON => get_group(self.txn, customer, Customer::PERSON, key, see),
            CUSTOMER_DATA => get_group(self.txn, customer, Customer::DATA, key, see),
            STOCK_LEVEL => get_group(self.txn, stock, Stock::LEVEL, key, see),
            STOCK_INFO => get_group(self.txn, stock, Stock::INFO, key, see),
            _ => unreachable!("the other tables have no parts"),
        }
    }

    fn update_part(
        &mut self,
        part: Part,
        beside: Option<Part>,
        key: &[u8],
        mut change: impl FnMut(&mut [u8], &[u8]),
    ) -> Result<bool, Stop> {
        let Handles { customer, stock, .. } = *self.handles;
        match (part, beside) {
            (CUSTOMER_BALANCE, None) => {
                let change = |own: &mut Balance| change(&mut own.bytes, &[]);
                Ok(self.txn.update_group(customer, Customer::BALANCE, exactly(key), change)?.is_some())
            }
            (STOCK_LEVEL, Some(STOCK_INFO)) => {
                let mut info = [0; STOCK_INFO.bytes().end - STOCK_INFO.bytes().start];
                let keep = |own: &Info| info = own.bytes;
                if self.txn.get_group_with(stock, Stock::INFO, exactly(key), keep)?.is_none() {
                    return Ok(false);
                }
                let change = |own: &mut Level| change(&mut own.bytes, &info);
                Ok(self.txn.update_group(stock, Stock::LEVEL, exactly(key), change)?.is_some())
            }
            _ => Err(Stop::Failed(format!("no workload changes {part:?} beside {beside:?}"))),
        }
    }

    fn add(&mut self, table: TableId, key: &[u8], amount: i64) -> Result<bool, Stop> {
        let amount = amount.to_le_bytes();
        with_table!(table, self.handles, |of| Ok(self.txn.add(of, &row_of(of, key, &amount))?))
    }

    fn expect(&mut self, table: TableId, keys: impl Iterator<Item = Key>) {
        with_table!(table, self.handles, |of| self.txn.prefetch(of, keys.map(|key| key_of(of, &key))));
    }
}

/// Converts bytes to a key of the table.
#[inline]
fn key_of<T: Bytes>(_: Handle<T>, key: &[u8]) -> T::Key {
    T::key_of(key)
}

/// Converts bytes to a row of the table.
#[inline]
fn row_of<T: Bytes>(_: Handle<T>, key: &[u8], row: &[u8]) -> T {
    T::of(key, row)
}

fn get_group<T: Bytes, G: GroupBytes>(
    txn: &mut Inner<'_>,
    table: Handle<T>,
    group: Group<T, G>,
    key: &[u8],
    mut see: impl FnMut(&[u8]),
) -> Result<bool, Stop> {
    Ok(txn.get_group_with(table, group, T::key_of(key), |own| see(own.bytes()))?.is_some())
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

/// A transaction and the handles of the tables.
struct Attempt<'a, 't> {
    txn: &'a mut Inner<'t>,
    handles: &'a Handles,
}

impl Session for &Contend {
    /// Executes a transaction until it commits: the library retries by itself.
    fn attempt(&mut self, body: &mut impl Body) -> Result<(), Stop> {
        self.db.try_transact(|txn| body.run(&mut Attempt { txn, handles: &self.handles }))
    }
}
