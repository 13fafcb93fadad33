//! Rows: their positions, keys and contents.

use engine::{Home, Key, Row};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The maximum number of homes: as many as an input can name, so that a long transaction may touch all homes.
pub(super) const HOMES_MAX: usize = engine::Homes::MAX;
/// The number of bits of a key below the home, and below the warehouse.
const HOME_SHIFT: u32 = 56;
const WAREHOUSE_SHIFT: u32 = 32;
/// The range of loaded quantities (TPC-C 4.3.3.1): the least, and the number of different ones. In the order of keys
/// the quantities ascend and repeat, so that the sum over any consecutive rows is known.
const QUANTITY_MIN: i64 = 10;
const QUANTITIES: u64 = 91;

/// The key (`S_W_ID`, `S_I_ID`), with the home in the top bits, so that a key contains its home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StockKey(u64);

impl StockKey {
    /// An arbitrary key that fills unused array elements.
    pub(super) const NONE: Self = Self(0);

    /// Returns the home of the row.
    #[inline]
    pub(super) fn at(self) -> usize {
        (self.0 >> HOME_SHIFT) as usize
    }
}

impl Key for StockKey {
    type Ordered = u64;

    #[inline]
    fn ordered(self) -> u64 {
        self.0
    }

    #[inline]
    fn from_ordered(ordered: u64) -> Self {
        Self(ordered)
    }

    #[inline]
    fn home(self) -> Home {
        Home::At(self.0 >> HOME_SHIFT)
    }
}

/// STOCK, the columns that change.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(super) struct Stock {
    /// A copy of the key, which shows a row that is found under another's key.
    pub(super) key: u64,
    /// `S_QUANTITY`. Transactions move quantities between rows, so the total is constant.
    pub(super) quantity: i64,
    /// `S_YTD`: the sum of the moved quantities, in both directions.
    pub(super) ytd: u64,
    /// `S_ORDER_CNT`: the number of writes of the row.
    pub(super) order_count: u64,
}

impl Row for Stock {
    type Key = StockKey;
    type Indexes = ();
}

impl Stock {
    /// Adds a quantity to the row, or takes it if `delta` is negative.
    #[inline]
    pub(super) fn take(&mut self, delta: i64) {
        self.quantity = self.quantity.wrapping_add(delta);
        self.ytd = self.ytd.wrapping_add(delta.unsigned_abs());
        self.order_count = self.order_count.wrapping_add(1);
    }
}

/// The rows in the order of their keys. A row's *position* is its number in this order, from 0: warehouse by
/// warehouse.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    warehouses: u64,
    items: u64,
}

impl Rows {
    pub(super) fn new(warehouses: u64, items: u64) -> Self {
        Self { warehouses, items }
    }

    pub(super) fn count(self) -> u64 {
        self.warehouses * self.items
    }

    /// Returns the number of homes. A home is one warehouse, or several consecutive ones if there are more
    /// warehouses than homes.
    pub(super) fn homes(self) -> u64 {
        self.warehouses.min(HOMES_MAX as u64)
    }

    #[inline]
    pub(super) fn key(self, position: u64) -> StockKey {
        let (warehouse, item) = (position / self.items, position % self.items);
        let home = warehouse * self.homes() / self.warehouses;
        StockKey(home << HOME_SHIFT | warehouse << WAREHOUSE_SHIFT | item)
    }

    /// Returns the positions of the rows of a home.
    pub(super) fn of_home(self, home: u64) -> core::ops::Range<u64> {
        let first = |home: u64| (home * self.warehouses).div_ceil(self.homes()) * self.items;
        first(home)..first(home + 1)
    }

    /// Returns the first value of a row.
    pub(super) fn loaded(self, position: u64) -> Stock {
        let quantity = QUANTITY_MIN + (position % QUANTITIES) as i64;
        Stock { key: self.key(position).0, quantity, ytd: 0, order_count: 0 }
    }

    /// Returns the sum of the quantities loaded at all positions before this one.
    pub(super) fn loaded_before(position: u64) -> i64 {
        let (rounds, rest) = (position / QUANTITIES, position % QUANTITIES);
        let sum_below = |count: u64| count * count.saturating_sub(1) / 2;
        position as i64 * QUANTITY_MIN + (rounds * sum_below(QUANTITIES) + sum_below(rest)) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_ascend_with_positions_and_homes_with_keys() {
        for (warehouses, items) in [(1, 7), (3, 5), (16, 2), (32, 3), (37, 2)] {
            let rows = Rows::new(warehouses, items);
            let keys: Vec<StockKey> = (0..rows.count()).map(|position| rows.key(position)).collect();
            assert!(keys.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].at() <= pair[1].at()));
            let by_home = (0..rows.homes()).flat_map(|home| rows.of_home(home).map(move |at| (home, at)));
            assert!(by_home.clone().map(|(_, position)| position).eq(0..rows.count()));
            assert!(by_home.clone().all(|(home, at)| keys[at as usize].at() as u64 == home));
            assert!((0..rows.homes()).all(|home| !rows.of_home(home).is_empty()));
        }
    }

    #[test]
    fn loaded_quantities_add_up() {
        let rows = Rows::new(3, 100);
        let mut sum = 0;
        for position in 0..300 {
            assert_eq!(Rows::loaded_before(position), sum);
            let quantity = rows.loaded(position).quantity;
            assert!((10..=100).contains(&quantity));
            sum += quantity;
        }
    }
}
