//! Rows: the nine tables of TPC-C 1.3, and the log of the analytic transactions, as column groups of fixed layout.
//!
//! Columns that are written together form a column group, and so do columns that are only read. Each
//! group is copied, locked and validated by itself. Thus a Payment (which writes `W_YTD`) and a
//! New-Order (which reads `W_TAX`) do not conflict on a warehouse. The specification allows this (TPC-C
//! 1.4), and STO measured the gain. The documentation of each group names the transactions that touch
//! it.
//!
//! Rows do not repeat their key columns. Money is in cents, rates are in 1/10,000, dates are in
//! milliseconds since 1970 with 0 for null. Counters are wider than the specification requires, because
//! a run without wait times exceeds its four digits. 32-bit counters wrap, and the checks take that into
//! account.

use engine::{IndexOn, Row, Text};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::keys::{
    CustomerKey, CustomerNameKey, CustomerOrderKey, DistrictKey, ItemKey, NewOrderKey, OrderKey,
    OrderLineKey, StockKey, WarehouseKey,
};

/// The number of districts of a warehouse.
pub(super) const DISTRICTS: u8 = 10;
/// The maximum number of lines of an order.
pub(super) const LINES_MAX: usize = 15;
/// The width of `C_DATA` in bytes.
pub(super) const CUSTOMER_DATA_BYTES: usize = 500;

macro_rules! row {
    ($(#[$doc:meta])* $name:ident of $key:ty, indexes $indexes:ty {
        $($(#[$column_doc:meta])* $column:ident: $type:ty,)*
    }) => {
        row!(@columns $(#[$doc])* $name { $($(#[$column_doc])* $column: $type,)* });

        impl Row for $name {
            type Key = $key;
            type Indexes = $indexes;
        }
    };
    ($(#[$doc:meta])* $name:ident of $key:ty, additive {
        $($(#[$column_doc:meta])* $column:ident: $type:ty,)*
    }) => {
        row!(@columns $(#[$doc])* $name { $($(#[$column_doc])* $column: $type,)* });

        engine::additive!($name of $key { $($column),* });
    };
    (@columns $(#[$doc:meta])* $name:ident { $($(#[$column_doc:meta])* $column:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, FromBytes, IntoBytes, KnownLayout, Immutable)]
        #[repr(C, align(8))]
        pub(super) struct $name {
            $($(#[$column_doc])* pub(super) $column: $type,)*
        }
    };
}

/// A postal address: columns that are the same in several tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct Address {
    /// `STREET_1`.
    pub street_1: Text<20>,
    /// `STREET_2`.
    pub street_2: Text<20>,
    /// `CITY`.
    pub city: Text<20>,
    /// `STATE`.
    pub state: Text<2>,
    /// `ZIP`.
    pub zip: Text<9>,
}

/// The columns that warehouses and districts share and that no transaction writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct Site {
    /// `TAX`, in 1/10,000.
    pub tax: u32,
    /// `NAME`.
    pub name: Text<10>,
    /// The address.
    pub address: Address,
    pub(super) pad: [u8; 3],
}

row!(
    /// WAREHOUSE, the column that Payment adds to: the hottest row of the workload.
    Warehouse of WarehouseKey, additive {
        ytd: i64,
    }
);

row!(
    /// WAREHOUSE, the read-only columns. New-Order reads the tax, Payment the name and the address.
    WarehouseInfo of WarehouseKey, indexes () {
        site: Site,
    }
);

row!(
    /// DISTRICT, the column that New-Order writes and Stock-Level reads.
    DistrictNext of DistrictKey, indexes () {
        order: u64,
    }
);

row!(
    /// DISTRICT, the column that Payment adds to.
    DistrictYtd of DistrictKey, additive {
        ytd: i64,
    }
);

row!(
    /// DISTRICT, the read-only columns. New-Order reads the tax, Payment the name and the address.
    DistrictInfo of DistrictKey, indexes () {
        site: Site,
    }
);

row!(
    /// CUSTOMER, the columns that Payment and Delivery write and Order-Status reads.
    Customer of CustomerKey, indexes () {
        balance: i64,
        ytd_payment: i64,
        payment_cnt: u32,
        delivery_cnt: u32,
    }
);

/// The read-only columns of a customer, without the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct Person {
    /// `C_SINCE`.
    pub since: u64,
    /// `C_CREDIT_LIM`, in cents.
    pub credit_lim: i64,
    /// `C_DISCOUNT`, in 1/10,000.
    pub discount: u32,
    /// `C_CREDIT`: `GC` or `BC`.
    pub credit: Text<2>,
    /// `C_MIDDLE`.
    pub middle: Text<2>,
    /// `C_LAST`.
    pub last: Text<16>,
    /// `C_FIRST`.
    pub first: Text<16>,
    /// `C_PHONE`.
    pub phone: Text<16>,
    /// The customer's address.
    pub address: Address,
    pub(super) pad: [u8; 1],
}

row!(
    /// CUSTOMER, the read-only columns. New-Order reads discount, name and credit. Payment and
    /// Order-Status search by name and read the other columns for the terminal.
    CustomerInfo of CustomerKey, indexes (ByName,) {
        person: Person,
    }
);

row!(
    /// CUSTOMER, the 500 bytes that only a Payment of a customer with bad credit touches.
    CustomerData of CustomerKey, indexes () {
        data: [u8; CUSTOMER_DATA_BYTES],
        pad: [u8; 4],
    }
);

row!(
    /// HISTORY: Payment appends, and only the checks read.
    History of WarehouseKey, indexes () {
        date: u64,
        amount: u32,
        customer: u32,
        customer_warehouse: u16,
        warehouse: u16,
        customer_district: u8,
        district: u8,
        data: Text<24>,
        pad: [u8; 2],
    }
);

row!(
    /// The log of the analytic transactions, which is no table of the specification: they append, and only the checks
    /// read.
    AnalyticHistory of WarehouseKey, indexes () {
        total: i64,
        rows: u32,
        low: u32,
        warehouse: u16,
        pad: [u8; 6],
    }
);

row!(
    /// NEW-ORDER: New-Order appends, Delivery deletes the oldest. All columns of the table are in its
    /// key, so the row repeats the order's number: a row is at least one word.
    NewOrder of NewOrderKey, indexes () {
        order: u64,
    }
);

row!(
    /// ORDER: New-Order appends, Order-Status reads, Delivery sets the carrier.
    Order of OrderKey, indexes (ByCustomer,) {
        entry_date: u64,
        customer: u32,
        /// 1 to 10, or 0 for null: not delivered.
        carrier: u8,
        lines: u8,
        /// 1 when all lines are supplied by the home warehouse, else 0.
        all_local: u8,
        pad: u8,
    }
);

row!(
    /// ORDER-LINE: New-Order appends, Order-Status and Stock-Level read, Delivery sets the date.
    OrderLine of OrderLineKey, indexes () {
        delivery_date: u64,
        item: u32,
        amount: u32,
        supply_warehouse: u16,
        quantity: u16,
        dist_info: Text<24>,
        pad: [u8; 4],
    }
);

row!(
    /// ITEM, read-only: New-Order reads.
    Item of ItemKey, indexes () {
        price: u32,
        image: u32,
        name: Text<24>,
        data: Text<50>,
        pad: [u8; 6],
    }
);

row!(
    /// STOCK, the columns that New-Order writes and Stock-Level reads.
    Stock of StockKey, indexes () {
        quantity: i32,
        ytd: u32,
        order_cnt: u32,
        remote_cnt: u32,
    }
);

row!(
    /// STOCK, the read-only columns. New-Order reads one of the ten `S_DIST`, and `S_DATA`.
    StockInfo of StockKey, indexes () {
        dist: [Text<24>; DISTRICTS as usize],
        data: Text<50>,
        pad: [u8; 6],
    }
);

/// The secondary index of customers by name.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByName;

impl IndexOn<CustomerInfo> for ByName {
    type Key = CustomerNameKey;

    #[inline]
    fn key(key: CustomerKey, row: &CustomerInfo) -> CustomerNameKey {
        let (warehouse, district, customer) = key.columns();
        CustomerNameKey { warehouse, district, last: row.person.last, first: row.person.first, customer }
    }

    #[inline]
    fn primary(key: CustomerNameKey) -> CustomerKey {
        CustomerKey::new(key.warehouse, key.district, key.customer)
    }
}

/// The secondary index of orders by customer. A customer's last order comes first.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByCustomer;

impl IndexOn<Order> for ByCustomer {
    type Key = CustomerOrderKey;

    #[inline]
    fn key(key: OrderKey, row: &Order) -> CustomerOrderKey {
        let (warehouse, district) = key.district();
        CustomerOrderKey::new(warehouse, district, row.customer, key.order())
    }

    #[inline]
    fn primary(key: CustomerOrderKey) -> OrderKey {
        let (warehouse, district) = key.district();
        OrderKey::new(warehouse, district, key.order())
    }
}

impl Stock {
    /// Takes a quantity out of stock (TPC-C 2.4.2.2): if less than 10 would be left, 91 are added.
    #[inline]
    pub(super) fn take(&mut self, quantity: u16, is_remote: bool) -> i32 {
        let left = self.quantity.wrapping_sub(i32::from(quantity));
        self.quantity = if left >= 10 { left } else { left.wrapping_add(91) };
        self.ytd = self.ytd.wrapping_add(u32::from(quantity));
        self.order_cnt = self.order_cnt.wrapping_add(1);
        self.remote_cnt = self.remote_cnt.wrapping_add(u32::from(is_remote));
        self.quantity
    }
}

/// Returns `true` if the data of an item or a stock contains `ORIGINAL` (TPC-C 2.4.2.2).
// Never: it is compiled once here, and not for each scheme.
#[inline(never)]
pub(super) fn is_original(data: &Text<50>) -> bool {
    let text = data.padded();
    // The search for the first letters can test all positions at once, and rarely finds any.
    let may_begin = |window: &[u8]| window[0] == b'O' && window[1] == b'R' && window[2] == b'I';
    let may_be = text.windows(3).fold(false, |may_be, window| may_be | may_begin(window));
    may_be && text.windows(8).any(|window| window == b"ORIGINAL")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stock_wraps_by_91_below_10() {
        let mut stock = Stock { quantity: 20, ytd: u32::MAX, order_cnt: u32::MAX, remote_cnt: 0 };
        assert_eq!(stock.take(10, false), 10);
        assert_eq!(stock.take(1, true), 100);
        assert_eq!((stock.ytd, stock.order_cnt, stock.remote_cnt), (10, 1, 1));
    }

    #[test]
    fn original_is_found_at_both_ends_and_not_in_part() {
        let data = |text: &[u8]| is_original(&Text::new(text));
        assert!(data(b"ORIGINALxxxxxxxxxxxxxxxxxxxxxx"));
        assert!(data(&[&[b'x'; 42][..], b"ORIGINAL"].concat()));
        assert!(!data(b"xxxxORIGINAxxxxxxxxxxxxxxxxxxx"));
    }
}
