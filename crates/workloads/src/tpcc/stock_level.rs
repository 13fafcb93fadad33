//! Stock-Level (TPC-C 2.8): how many of the items in a district's last 20 orders are low in stock.

use core::ops::ControlFlow;

use engine::{Abort, Direction, Transaction};

use super::input::StockLevel;
use super::keys::{DistrictKey, OrderLineKey, StockKey, district_number};
use super::rows::LINES_MAX;
use super::{Output, Tpcc, found};

/// The number of recent orders that a Stock-Level reads.
const ORDERS: u32 = 20;
/// The maximum number of items in these orders.
const ITEMS_MAX: usize = ORDERS as usize * LINES_MAX;

/// A set of items that is cleared without freeing memory: a hash table with open addressing and
/// three times as many slots as items.
#[derive(Clone, Debug)]
pub(super) struct ItemSet {
    /// Items by hash. 0 marks an empty slot, because items are numbered from 1.
    slots: [u32; Self::SLOTS],
    items: [u32; ITEMS_MAX],
    len: usize,
}

impl ItemSet {
    const SLOTS: usize = 1 << Self::SLOT_BITS;
    const SLOT_BITS: u32 = 10;

    pub(super) fn new() -> Self {
        Self { slots: [0; Self::SLOTS], items: [0; ITEMS_MAX], len: 0 }
    }

    fn clear(&mut self) {
        self.slots.fill(0);
        self.len = 0;
    }

    /// Adds an item unless it is already in the set. Returns `false` if the set is full.
    fn add(&mut self, item: u32) -> bool {
        let mut slot = (item.wrapping_mul(0x9e37_79b9) >> (u32::BITS - Self::SLOT_BITS)) as usize;
        while self.slots[slot] != 0 {
            if self.slots[slot] == item {
                return true;
            }
            slot = (slot + 1) % Self::SLOTS;
        }
        let Some(end) = self.items.get_mut(self.len) else { return false };
        *end = item;
        self.len += 1;
        self.slots[slot] = item;
        true
    }

    fn as_slice(&self) -> &[u32] {
        &self.items[..self.len]
    }
}

impl Tpcc {
    /// Reads the number of a district's next order without taking it.
    pub(super) fn read_next_order<T: Transaction>(
        &self,
        warehouse: u16,
        district: u8,
        txn: &mut T,
    ) -> Result<u32, Abort> {
        if self.settings.is_eased {
            return Ok(self.order_numbers[district_number(warehouse, district)].peek() as u32);
        }
        let key = DistrictKey::new(warehouse, district);
        Ok(found(txn.read(self.tables.district_next, key, |row| row.order)?)? as u32)
    }

    /// Counts the items that are low in stock.
    pub(super) fn stock_level<T: Transaction>(
        &self,
        input: &StockLevel,
        items: &mut ItemSet,
        txn: &mut T,
    ) -> Result<Output, Abort> {
        let (tables, warehouse, district) = (&self.tables, input.warehouse, input.district);
        let next = self.read_next_order(warehouse, district, txn)?;
        items.clear();
        let mut has_room = true;
        let first = OrderLineKey::new(warehouse, district, next.saturating_sub(ORDERS), 0);
        let lines = first..OrderLineKey::new(warehouse, district, next, 0);
        txn.scan(tables.order_line, lines, Direction::Forward, |_, row| {
            has_room = items.add(row.item);
            if has_room { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        if !has_room {
            return Err(Abort::ReadChanged);
        }

        txn.prefetch(tables.stock, items.as_slice().iter().map(|&item| StockKey::new(warehouse, item)));
        let mut low = 0;
        for &item in items.as_slice() {
            let is_low = |row: &super::rows::Stock| row.quantity < input.threshold;
            low += u32::from(found(txn.read(tables.stock, StockKey::new(warehouse, item), is_low)?)?);
        }
        Ok(Output::StockLevel { low })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_each_item_once_and_says_when_it_is_full() {
        let mut set = ItemSet::new();
        for item in (1..=ITEMS_MAX as u32).chain(1..=ITEMS_MAX as u32) {
            assert!(set.add(item));
        }
        assert_eq!(set.as_slice().len(), ITEMS_MAX);
        assert!(!set.add(100_000));
        set.clear();
        assert!(set.add(100_000));
        assert_eq!(set.as_slice(), [100_000]);
    }
}
