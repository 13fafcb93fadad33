//! The conditions of stock: what all order lines together took out of it.

use core::ops::{ControlFlow, Range};

use engine::{Quiesced, Violation};

use super::super::keys::{OrderLineKey, StockKey};
use super::{Check, ensure};

/// What the lines say was ordered of one stock.
#[derive(Clone, Copy, Default)]
struct Ordered {
    lines: u64,
    remote_lines: u64,
    quantity: u64,
}

impl<V: Quiesced> Check<'_, V> {
    /// Plus 16 and plus 17 for some stocks, numbered over all warehouses. Any warehouse may have ordered
    /// of them, so all lines are read.
    pub(super) fn stocks(&self, own: Range<usize>) -> Result<(), Violation> {
        let (settings, tables) = (&self.tpcc.settings, &self.tpcc.tables);
        let mut ordered = vec![Ordered::default(); own.len()];
        let all = OrderLineKey::new(0, 0, 0, 0)..=OrderLineKey::new(u16::MAX, u8::MAX, u32::MAX, u8::MAX);
        self.view.scan(tables.order_line, all, |key, line| {
            // Lines of the load took nothing.
            if key.order() > settings.customers {
                let (warehouse, _) = key.district();
                let before =
                    usize::from(line.supply_warehouse).wrapping_sub(1).wrapping_mul(settings.items as usize);
                let number = before.wrapping_add(line.item as usize).wrapping_sub(1);
                if let Some(stock) = ordered.get_mut(number.wrapping_sub(own.start)) {
                    stock.lines += 1;
                    stock.remote_lines += u64::from(line.supply_warehouse != warehouse);
                    stock.quantity += u64::from(line.quantity);
                }
            }
            ControlFlow::Continue(())
        });
        for (number, ordered) in own.zip(ordered) {
            let (warehouse, item) = settings.stock_of(number);
            self.stock(warehouse, item, ordered)?;
        }
        Ok(())
    }

    fn stock(&self, warehouse: u16, item: u32, ordered: Ordered) -> Result<(), Violation> {
        let place = || format!("stock of item {item} in warehouse {warehouse}");
        let stock = self.row("TPC-C plus 16", self.tpcc.tables.stock, StockKey::new(warehouse, item))?;
        // The counters wrap at 32 bits.
        let said = [ordered.lines, ordered.remote_lines, ordered.quantity].map(|count| count as u32);
        let counted = [stock.order_cnt, stock.remote_cnt, stock.ytd];
        ensure("TPC-C plus 16", counted == said, || {
            format!("{}: S_ORDER_CNT, S_REMOTE_CNT, S_YTD are {counted:?}, the lines say {said:?}", place())
        })?;
        // An order takes at most 10, so "less, or 91 more when that is below 10" keeps the quantity
        // in 10 to 100 and is subtraction modulo 91, in whatever order.
        let loaded = i64::from(self.tpcc.settings.stock_quantity(warehouse, item));
        let left = 10 + (loaded - 10 - ordered.quantity as i64).rem_euclid(91);
        ensure("TPC-C plus 17", i64::from(stock.quantity) == left, || {
            format!("{}: S_QUANTITY is {}, the lines leave {left} of {loaded}", place(), stock.quantity)
        })
    }
}
