//! The positions of columns in TPC-C's rows (TPC-C 1.3): fixed offsets in packed little-endian bytes, without keys.
//! Money is in cents, rates are in 1/10,000, dates are in milliseconds since 1970 with 0 for null.

/// Defines functions that read and write columns by their offset in a row.
macro_rules! number {
    ($($get:ident $set:ident $type:ty;)+) => {
        $(
            /// Returns the column at an offset.
            pub(super) fn $get(row: &[u8], at: usize) -> $type {
                let (column, _) = row[at..].split_first_chunk().expect("a row is as wide as its table says");
                <$type>::from_le_bytes(*column)
            }

            /// Overwrites the column at an offset.
            pub(super) fn $set(row: &mut [u8], at: usize, value: $type) {
                let (column, _) = row[at..].split_first_chunk_mut().expect("a row is as wide as its table says");
                *column = value.to_le_bytes();
            }
        )+
    };
}

number! {
    get_u32 set_u32 u32;
    get_i32 set_i32 i32;
    get_u64 set_u64 u64;
    get_i64 set_i64 i64;
}

/// Overwrites the column at an offset.
pub(super) fn set_u16(row: &mut [u8], at: usize, value: u16) {
    row[at..at + 2].copy_from_slice(&value.to_le_bytes());
}

/// Adds to the column at an offset. Returns the sum.
pub(super) fn add_u32(row: &mut [u8], at: usize, value: u32) -> u32 {
    let sum = get_u32(row, at).wrapping_add(value);
    set_u32(row, at, sum);
    sum
}

/// Adds to the column at an offset.
pub(super) fn add_i64(row: &mut [u8], at: usize, value: i64) {
    set_i64(row, at, get_i64(row, at).wrapping_add(value));
}

/// WAREHOUSE and DISTRICT without the hot columns, which have tables of one column.
pub(super) mod site {
    pub(in super::super) const TAX: usize = 0;
    pub(in super::super) const NAME: usize = 4;
    pub(in super::super) const ADDRESS: usize = 14;
}

/// CUSTOMER.
pub(super) mod customer {
    pub(in super::super) const BALANCE: usize = 0;
    pub(in super::super) const YTD_PAYMENT: usize = 8;
    pub(in super::super) const PAYMENT_CNT: usize = 16;
    pub(in super::super) const DELIVERY_CNT: usize = 20;
    /// The offset of `CUSTOMER_PERSON`.
    pub(in super::super) const PERSON: usize = 24;
    pub(in super::super) const SINCE: usize = 24;
    pub(in super::super) const CREDIT_LIM: usize = 32;
    pub(in super::super) const DISCOUNT: usize = 40;
    pub(in super::super) const CREDIT: usize = 44;
    pub(in super::super) const MIDDLE: usize = 46;
    pub(in super::super) const LAST: usize = 48;
    pub(in super::super) const FIRST: usize = 64;
    pub(in super::super) const PHONE: usize = 80;
    pub(in super::super) const ADDRESS: usize = 96;
    pub(in super::super) const DATA: usize = 167;
}

/// HISTORY.
pub(super) mod history {
    pub(in super::super) const DATE: usize = 0;
    pub(in super::super) const AMOUNT: usize = 8;
    pub(in super::super) const CUSTOMER: usize = 12;
    pub(in super::super) const CUSTOMER_WAREHOUSE: usize = 16;
    pub(in super::super) const WAREHOUSE: usize = 18;
    pub(in super::super) const CUSTOMER_DISTRICT: usize = 20;
    pub(in super::super) const DISTRICT: usize = 21;
    pub(in super::super) const DATA: usize = 22;
}

/// ORDER.
pub(super) mod order {
    pub(in super::super) const ENTRY_DATE: usize = 0;
    pub(in super::super) const CUSTOMER: usize = 8;
    /// 1 to 10, or 0 for null.
    pub(in super::super) const CARRIER: usize = 12;
    pub(in super::super) const LINES: usize = 13;
    pub(in super::super) const ALL_LOCAL: usize = 14;
}

/// ORDER-LINE.
pub(super) mod order_line {
    pub(in super::super) const DELIVERY_DATE: usize = 0;
    pub(in super::super) const ITEM: usize = 8;
    pub(in super::super) const AMOUNT: usize = 12;
    pub(in super::super) const SUPPLY_WAREHOUSE: usize = 16;
    pub(in super::super) const QUANTITY: usize = 18;
    pub(in super::super) const DIST_INFO: usize = 20;
}

/// ITEM.
pub(super) mod item {
    pub(in super::super) const PRICE: usize = 0;
    pub(in super::super) const IMAGE: usize = 4;
    pub(in super::super) const NAME: usize = 8;
    pub(in super::super) const DATA: usize = 32;
}

/// STOCK.
pub(super) mod stock {
    pub(in super::super) const QUANTITY: usize = 0;
    pub(in super::super) const YTD: usize = 4;
    pub(in super::super) const ORDER_CNT: usize = 8;
    pub(in super::super) const REMOTE_CNT: usize = 12;
    /// The offset of `STOCK_INFO`.
    pub(in super::super) const INFO: usize = 16;
    /// Ten texts of 24 bytes.
    pub(in super::super) const DIST: usize = 16;
    pub(in super::super) const DATA: usize = 256;
}
