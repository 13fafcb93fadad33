//! The tables of all workloads. Keys and rows have fixed widths, so that stores with typed tables can hold them,
//! too.

use std::ops::Range;

/// The name of a table: its index in [`TABLES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableId(pub usize);

/// A table.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// The table's name.
    pub name: &'static str,
    /// The width of the keys in bytes.
    pub key_bytes: usize,
    /// The width of the rows in bytes, without the key.
    pub value_bytes: usize,
    /// The widths of the parts of a row, if it has several. A part is a set of columns that are used together.
    /// Stores that can keep parts apart do so.
    pub parts: &'static [usize],
    /// `true` if ranges of the table are scanned.
    pub is_ordered: bool,
}

/// The number of tables.
pub const COUNT: usize = 17;

/// WAREHOUSE without `W_YTD`: the read-only columns.
pub const WAREHOUSE: TableId = TableId(0);
/// DISTRICT without `D_YTD` and `D_NEXT_O_ID`: the read-only columns.
pub const DISTRICT: TableId = TableId(1);
/// CUSTOMER.
pub const CUSTOMER: TableId = TableId(2);
/// The secondary index of customers by last and first name.
pub const CUSTOMER_NAME: TableId = TableId(3);
/// HISTORY, with an artificial key: TPC-C defines none.
pub const HISTORY: TableId = TableId(4);
/// NEW-ORDER.
pub const NEW_ORDER: TableId = TableId(5);
/// ORDER.
pub const ORDER: TableId = TableId(6);
/// The secondary index of orders by customer. The last order comes first.
pub const ORDER_CUSTOMER: TableId = TableId(7);
/// ORDER-LINE.
pub const ORDER_LINE: TableId = TableId(8);
/// ITEM.
pub const ITEM: TableId = TableId(9);
/// STOCK.
pub const STOCK: TableId = TableId(10);
/// YCSB's table with rows of 100 bytes.
pub const USERTABLE_100: TableId = TableId(11);
/// YCSB's table with rows of 1,000 bytes.
pub const USERTABLE_1000: TableId = TableId(12);
/// Accounts, for tests.
pub const ACCOUNT: TableId = TableId(13);
/// `W_YTD`, the hottest column of all: a separate table, so that additions do not conflict with reads of the rest.
pub const WAREHOUSE_YTD: TableId = TableId(14);
/// `D_YTD`, a separate table for the same reason.
pub const DISTRICT_YTD: TableId = TableId(15);
/// `D_NEXT_O_ID`, a separate table for the same reason.
pub const DISTRICT_NEXT: TableId = TableId(16);

/// A part of a table's rows: adjacent columns that are used together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The table.
    pub table: TableId,
    /// The part's index among the table's parts.
    pub number: usize,
}

impl Part {
    /// Returns the range of bytes of the part within the row.
    pub const fn bytes(self) -> Range<usize> {
        let (parts, mut start, mut before) = (self.table.table().parts, 0, 0);
        while before < self.number {
            start += parts[before];
            before += 1;
        }
        start..start + parts[self.number]
    }
}

/// The columns of a customer that payments and deliveries change.
pub const CUSTOMER_BALANCE: Part = Part { table: CUSTOMER, number: 0 };
/// The columns of a customer that never change.
pub const CUSTOMER_PERSON: Part = Part { table: CUSTOMER, number: 1 };
/// `C_DATA`.
pub const CUSTOMER_DATA: Part = Part { table: CUSTOMER, number: 2 };
/// The columns of a stock that orders change.
pub const STOCK_LEVEL: Part = Part { table: STOCK, number: 0 };
/// The texts of a stock, which never change.
pub const STOCK_INFO: Part = Part { table: STOCK, number: 1 };

/// The tables, indexed by [`TableId`].
pub const TABLES: [Table; COUNT] = [
    point("warehouse", 2, 85),
    point("district", 3, 85),
    Table { parts: &[24, 143, 500], ..point("customer", 7, 667) },
    ordered("customer_name", 39, 4),
    point("history", 8, 46),
    ordered("new_order", 7, 4),
    point("orders", 7, 15),
    ordered("order_customer", 11, 4),
    ordered("order_line", 8, 44),
    point("item", 4, 82),
    Table { parts: &[16, 290], ..point("stock", 6, 306) },
    // The widths are rounded up to multiples of eight, as in the laboratory.
    point("usertable_100", 8, 104),
    point("usertable_1000", 8, 1_000),
    point("account", 8, 8),
    point("warehouse_ytd", 2, 8),
    point("district_ytd", 3, 8),
    point("district_next", 3, 8),
];

const fn point(name: &'static str, key_bytes: usize, value_bytes: usize) -> Table {
    Table { name, key_bytes, value_bytes, parts: &[], is_ordered: false }
}

const fn ordered(name: &'static str, key_bytes: usize, value_bytes: usize) -> Table {
    Table { name, key_bytes, value_bytes, parts: &[], is_ordered: true }
}

impl TableId {
    /// Returns the table.
    pub const fn table(self) -> &'static Table {
        &TABLES[self.0]
    }
}
