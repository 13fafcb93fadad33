//! The tables of all workloads: keys and rows of fixed width, so that stores with typed tables can have them, too.

use std::ops::Range;

/// Names a table: its place in [`TABLES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableId(pub usize);

/// A table.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Width of the keys.
    pub key_bytes: usize,
    /// Width of the rows beside the key.
    pub value_bytes: usize,
    /// Widths of the parts of which rows are made, if there are several: columns that are used together. Stores that
    /// can keep them apart do.
    pub parts: &'static [usize],
    /// Whether ranges of it are scanned.
    pub is_ordered: bool,
}

/// How many tables there are.
pub const COUNT: usize = 17;

/// WAREHOUSE without `W_YTD`: what nobody writes.
pub const WAREHOUSE: TableId = TableId(0);
/// DISTRICT without `D_YTD` and `D_NEXT_O_ID`: what nobody writes.
pub const DISTRICT: TableId = TableId(1);
/// CUSTOMER.
pub const CUSTOMER: TableId = TableId(2);
/// The secondary index of customers by last and first name.
pub const CUSTOMER_NAME: TableId = TableId(3);
/// HISTORY, whose key is made up: TPC-C has none.
pub const HISTORY: TableId = TableId(4);
/// NEW-ORDER.
pub const NEW_ORDER: TableId = TableId(5);
/// ORDER.
pub const ORDER: TableId = TableId(6);
/// The secondary index of orders by customer, the last first.
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
/// `W_YTD`, the hottest column of all: apart, so that who adds to it is in nobody's way who reads the rest.
pub const WAREHOUSE_YTD: TableId = TableId(14);
/// `D_YTD`, for the same reason.
pub const DISTRICT_YTD: TableId = TableId(15);
/// `D_NEXT_O_ID`, for the same reason.
pub const DISTRICT_NEXT: TableId = TableId(16);

/// Columns of a table that stand next to each other and are used together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The table.
    pub table: TableId,
    /// The place among its parts.
    pub number: usize,
}

impl Part {
    /// The bytes of the row that it is.
    pub const fn bytes(self) -> Range<usize> {
        let (parts, mut start, mut before) = (self.table.table().parts, 0, 0);
        while before < self.number {
            start += parts[before];
            before += 1;
        }
        start..start + parts[self.number]
    }
}

/// What payments and deliveries change of a customer.
pub const CUSTOMER_BALANCE: Part = Part { table: CUSTOMER, number: 0 };
/// Who a customer is.
pub const CUSTOMER_PERSON: Part = Part { table: CUSTOMER, number: 1 };
/// `C_DATA`.
pub const CUSTOMER_DATA: Part = Part { table: CUSTOMER, number: 2 };
/// What orders change of a stock.
pub const STOCK_LEVEL: Part = Part { table: STOCK, number: 0 };
/// The texts of a stock.
pub const STOCK_INFO: Part = Part { table: STOCK, number: 1 };

/// The tables, by number.
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
    // The multiples of eight that the laboratory rounds these widths to.
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
    /// What it names.
    pub const fn table(self) -> &'static Table {
        &TABLES[self.0]
    }
}
