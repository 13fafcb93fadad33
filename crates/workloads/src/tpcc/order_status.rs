//! Order-Status (TPC-C 2.6): a customer asks for the state of the last order.

use core::ops::ControlFlow;

use engine::{Abort, Direction, Transaction};

use super::input::OrderStatus;
use super::keys::{CustomerKey, CustomerOrderKey, OrderLineKey};
use super::rows::{LINES_MAX, OrderLine};
use super::{Output, Scratch, Tpcc, found};

/// The data that a terminal shows of the order (TPC-C 2.6.3.3).
#[derive(Clone, Debug, Default)]
pub struct StatusShown {
    len: usize,
    lines: [StatusLine; LINES_MAX],
}

/// A line of the order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusLine {
    /// `OL_I_ID`.
    pub item: u32,
    /// `OL_SUPPLY_W_ID`.
    pub supply_warehouse: u16,
    /// `OL_QUANTITY`.
    pub quantity: u16,
    /// `OL_AMOUNT`, in cents.
    pub amount: u32,
    /// `OL_DELIVERY_D`, in milliseconds since 1970, 0 for null.
    pub delivery_date: u64,
}

impl StatusShown {
    /// Returns the lines.
    pub fn lines(&self) -> &[StatusLine] {
        &self.lines[..self.len]
    }

    fn clear(&mut self) {
        self.len = 0;
    }

    /// Adds a line. A screen has room for the maximum number of lines of an order.
    fn push(&mut self, row: &OrderLine) {
        if let Some(line) = self.lines.get_mut(self.len) {
            let OrderLine { item, supply_warehouse, quantity, amount, delivery_date, .. } = *row;
            *line = StatusLine { item, supply_warehouse, quantity, amount, delivery_date };
            self.len += 1;
        }
    }
}

impl Tpcc {
    /// Reads the state of a customer's last order.
    pub(super) fn order_status<T: Transaction>(
        &self,
        input: &OrderStatus,
        scratch: &mut Scratch,
        txn: &mut T,
    ) -> Result<Output, Abort> {
        let (tables, warehouse, district) = (&self.tables, input.warehouse, input.district);
        let customer = self.select((warehouse, district), &input.who, scratch, txn)?;
        let key = CustomerKey::new(warehouse, district, customer);
        let balance_cents = found(txn.read(tables.customer, key, |row| row.balance)?)?;

        let mut last = None;
        // The index holds later orders before earlier orders.
        let first = CustomerOrderKey::new(warehouse, district, customer, u32::MAX);
        let orders = first..=CustomerOrderKey::new(warehouse, district, customer, 0);
        txn.scan_by(tables.order_by_customer, orders, Direction::Forward, |key, row| {
            last = Some((key.order(), row.carrier, row.entry_date));
            ControlFlow::Break(())
        })?;
        let (order, carrier, entry_date) = found(last)?;

        let shown = &mut scratch.screen.status;
        shown.clear();
        let first = OrderLineKey::new(warehouse, district, order, 0);
        let lines = first..=OrderLineKey::new(warehouse, district, order, u8::MAX);
        txn.scan(tables.order_line, lines, Direction::Forward, |_, row| {
            shown.push(row);
            ControlFlow::Continue(())
        })?;
        Ok(Output::OrderStatus { order, carrier, entry_date, balance_cents })
    }
}
