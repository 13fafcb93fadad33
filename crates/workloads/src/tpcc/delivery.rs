//! Delivery (TPC-C 2.7): delivers the oldest undelivered order of each of the ten districts, in one
//! transaction or in one transaction for each district. TPC-C 2.7 counts the ten orders as one business
//! transaction, and leaves the number of orders in a database transaction to the implementation. A
//! Delivery commits or is aborted, and never rolls back. A district without an undelivered order is
//! skipped.
//!
//! The full mix of the study of a thousand cores (Bang et al., 2022; its code is in DataManagementLab/DBx1000) has a
//! flag for each warehouse, which is set from the beginning of a Delivery to the end of its commit: a Delivery that
//! finds it set commits without any work. An attempt that aborts before its commit leaves it set, so that no Delivery
//! of the warehouse works afterwards. `tpcc.delivery=stop_at_abort` has this flag, and `skip_if_running` has it without
//! that error, to measure what both change. Here the flag is given up when the client hears of the commit, and an
//! attempt that fails in its commit keeps it until it is tried again. A Delivery that its client drops then keeps it
//! until the client's next Delivery of the warehouse, so that `--retry drop` says little about either.

use core::iter;
use core::ops::ControlFlow;

use engine::{Abort, ClientId, Direction, Transaction};
use sync::Padded;
use sync::atomic::{AtomicU32, Ordering};

use super::input::Delivery;
use super::keys::{CustomerKey, NewOrderKey, OrderKey, OrderLineKey};
use super::rows::DISTRICTS;
use super::settings::DeliveryChoice;
use super::{Output, Tpcc, found};

/// The client whose Delivery runs in a warehouse. It is outside of the database, so that no scheme isolates it.
#[derive(Debug, Default)]
pub(super) struct Running(Padded<AtomicU32>);

/// The mark of a warehouse in which no Delivery runs.
const NOBODY: u32 = 0;
/// The mark of a warehouse in which none will run any more.
const STOPPED: u32 = u32::MAX;

impl Running {
    /// Begins a client's Delivery, or goes on with it. Returns `false` if it is to be skipped.
    pub(super) fn begin(&self, client: ClientId) -> bool {
        let mark = mark(client);
        // Relaxed: it decides who works, and orders no access to rows.
        let found = self.0.compare_exchange(NOBODY, mark, Ordering::Relaxed, Ordering::Relaxed);
        found.is_ok() || found == Err(mark)
    }

    /// Ends a client's Delivery, unless it was skipped.
    pub(super) fn end(&self, client: ClientId) {
        // Relaxed, twice: as in `begin`. Nobody else changes the mark of a Delivery that runs.
        if self.0.load(Ordering::Relaxed) == mark(client) {
            self.0.store(NOBODY, Ordering::Relaxed);
        }
    }

    /// Lets no Delivery work any more.
    fn stop(&self) {
        self.0.store(STOPPED, Ordering::Relaxed); // Relaxed: as in `begin`.
    }
}

fn mark(client: ClientId) -> u32 {
    client.0 + 1
}

impl Tpcc {
    /// Delivers at most one order for each of the input's districts, or none if the Delivery is to be skipped.
    pub(super) fn delivery<T: Transaction>(&self, input: &Delivery, txn: &mut T) -> Result<Output, Abort> {
        txn.decided();
        let running = self.running(input);
        if running.is_some_and(|running| !running.begin(input.client)) {
            return Ok(Output::Delivery { orders: [0; DISTRICTS as usize] });
        }
        let delivered = self.deliver_all(input, txn);
        if let Some(running) = running
            && delivered.is_err()
        {
            match self.settings.delivery {
                DeliveryChoice::StopAtAbort => running.stop(),
                _ => running.end(input.client),
            }
        }
        delivered.map(|orders| Output::Delivery { orders })
    }

    /// Ends a Delivery that has committed.
    pub(super) fn delivery_committed(&self, input: &Delivery) {
        if let Some(running) = self.running(input) {
            running.end(input.client);
        }
    }

    /// Returns the mark of the input's warehouse, or `None` if no Delivery is skipped.
    fn running(&self, input: &Delivery) -> Option<&Running> {
        self.deliveries.get(usize::from(input.warehouse) - 1)
    }

    /// Returns the order that is delivered in each district, 0 for none.
    fn deliver_all<T: Transaction>(
        &self,
        input: &Delivery,
        txn: &mut T,
    ) -> Result<[u32; DISTRICTS as usize], Abort> {
        let mut orders = [0; DISTRICTS as usize];
        for district in input.districts.clone() {
            if let Some(order) = self.oldest(input.warehouse, district, txn)? {
                self.deliver(input, district, order, txn)?;
                orders[usize::from(district) - 1] = order;
            }
        }
        Ok(orders)
    }

    /// Returns the oldest undelivered order of a district. The search starts at the district's first key:
    /// a remembered start could miss an order that a rolled back delivery put back.
    fn oldest<T: Transaction>(
        &self,
        warehouse: u16,
        district: u8,
        txn: &mut T,
    ) -> Result<Option<u32>, Abort> {
        let mut oldest = None;
        let first = NewOrderKey::new(warehouse, district, 0);
        let queue = first..=NewOrderKey::new(warehouse, district, u32::MAX);
        txn.scan(self.tables.new_order, queue, Direction::Forward, |key, _| {
            oldest = Some(key.order());
            ControlFlow::Break(())
        })?;
        Ok(oldest)
    }

    fn deliver<T: Transaction>(
        &self,
        input: &Delivery,
        district: u8,
        order: u32,
        txn: &mut T,
    ) -> Result<(), Abort> {
        let (tables, warehouse) = (&self.tables, input.warehouse);
        if !txn.delete(tables.new_order, NewOrderKey::new(warehouse, district, order))? {
            return Err(Abort::ReadChanged);
        }
        let key = OrderKey::new(warehouse, district, order);
        let (customer, lines) = found(txn.update(tables.order, key, |row| {
            row.carrier = input.carrier;
            (row.customer, row.lines)
        })?)?;
        txn.prefetch(tables.customer, iter::once(CustomerKey::new(warehouse, district, customer)));
        let keys = (1..=lines).map(|line| OrderLineKey::new(warehouse, district, order, line));
        txn.prefetch(tables.order_line, keys.clone());
        let mut sum: i64 = 0;
        for key in keys {
            let amount = txn.update(tables.order_line, key, |row| {
                row.delivery_date = input.date;
                row.amount
            })?;
            sum += i64::from(found(amount)?);
        }
        let key = CustomerKey::new(warehouse, district, customer);
        found(txn.update(tables.customer, key, |row| {
            row.balance = row.balance.wrapping_add(sum);
            row.delivery_cnt = row.delivery_cnt.wrapping_add(1);
        })?)
    }
}
