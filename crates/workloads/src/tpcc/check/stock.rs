//! The conditions of stock: the quantities that all order lines together took out of it.

use core::ops::{Bound, ControlFlow, Range};

use engine::{Quiesced, Violation};

use super::super::keys::{OrderLineKey, StockKey};
use super::super::rows::OrderLine;
use super::super::settings::Settings;
use super::{Check, District, ensure};

/// The quantities that the order lines visited so far took out of the share's stocks.
pub(super) struct Taken {
    /// The share's stocks, numbered over all warehouses.
    own: Range<usize>,
    items: usize,
    /// The number of the last loaded order. Loaded orders took nothing out of stock.
    loaded: u32,
    by_stock: Vec<Ordered>,
}

/// The sums over the order lines of one stock.
#[derive(Clone, Copy, Default)]
struct Ordered {
    lines: u64,
    remote_lines: u64,
    quantity: u64,
}

impl Taken {
    /// Creates the tally of the stocks `own`, with nothing taken.
    pub(super) fn new(settings: &Settings, own: Range<usize>) -> Self {
        let by_stock = vec![Ordered::default(); own.len()];
        Self { own, items: settings.items as usize, loaded: settings.customers, by_stock }
    }

    /// Adds a line, if it names one of the stocks.
    pub(super) fn add(&mut self, key: OrderLineKey, line: &OrderLine) {
        if key.order() <= self.loaded {
            return;
        }
        // A line that names no stock wraps to a number that no stock has. Condition plus 19 detects
        // such a line.
        let before = usize::from(line.supply_warehouse).wrapping_sub(1).wrapping_mul(self.items);
        let number = before.wrapping_add(line.item as usize).wrapping_sub(1);
        if let Some(ordered) = self.by_stock.get_mut(number.wrapping_sub(self.own.start)) {
            let (warehouse, _) = key.district();
            ordered.lines += 1;
            ordered.remote_lines += u64::from(line.supply_warehouse != warehouse);
            ordered.quantity += u64::from(line.quantity);
        }
    }
}

impl<V: Quiesced> Check<'_, V> {
    /// Adds the lines of all districts except `but`: an order of any warehouse can name any stock.
    pub(super) fn take_elsewhere(&self, but: Range<usize>, taken: &mut Taken) {
        let first_of = |number| District::of(number).line(0, 0);
        let below = (Bound::Unbounded, Bound::Excluded(first_of(but.start)));
        let above = (Bound::Included(first_of(but.end)), Bound::Unbounded);
        for keys in [below, above] {
            self.view.scan(self.tpcc.tables.order_line, keys, |key, line| {
                taken.add(key, line);
                ControlFlow::Continue(())
            });
        }
    }

    /// Checks plus 16 and plus 17, after all lines have been added.
    pub(super) fn stocks(&self, taken: &Taken) -> Result<(), Violation> {
        for (number, &ordered) in taken.own.clone().zip(&taken.by_stock) {
            let (warehouse, item) = self.tpcc.settings.stock_of(number);
            self.stock(warehouse, item, ordered)?;
        }
        Ok(())
    }

    fn stock(&self, warehouse: u16, item: u32, ordered: Ordered) -> Result<(), Violation> {
        let stock = self.row("TPC-C plus 16", self.tpcc.tables.stock, StockKey::new(warehouse, item))?;
        // The counters wrap at 32 bits.
        let said = [ordered.lines, ordered.remote_lines, ordered.quantity].map(|count| count as u32);
        let counted = [stock.order_cnt, stock.remote_cnt, stock.ytd];
        ensure("TPC-C plus 16", counted == said, || {
            format!(
                "warehouse {warehouse}, stock of item {item}: S_ORDER_CNT, S_REMOTE_CNT, S_YTD are {counted:?}, \
                 the lines say {said:?}"
            )
        })?;
        // A line takes at most 10. The rule "subtract, and add 91 if the result is below 10" keeps
        // the quantity in 10 to 100. So it is a subtraction modulo 91, whatever the order of the
        // lines.
        let loaded = i64::from(self.tpcc.settings.stock_quantity(warehouse, item));
        let left = 10 + (loaded - 10 - ordered.quantity as i64).rem_euclid(91);
        ensure("TPC-C plus 17", i64::from(stock.quantity) == left, || {
            format!(
                "warehouse {warehouse}, stock of item {item}: S_QUANTITY is {}, the lines leave {left} of {loaded}",
                stock.quantity
            )
        })
    }
}
