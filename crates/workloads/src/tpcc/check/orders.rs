//! The conditions of a district's orders, of their lines, and of the queue of undelivered orders.

use core::ops::{ControlFlow, Range};

use engine::{Key, Quiesced, Share, Text, Violation};

use super::super::keys::{CustomerOrderKey, NewOrderKey, OrderKey, OrderLineKey, StockKey};
use super::super::rows::{Customer, Order, OrderLine, StockInfo};
use super::stock::Taken;
use super::{Check, District, Paid, ensure, while_ok};

/// Orders in key order.
pub(super) type Orders = [(OrderKey, Order)];

/// A tally of an order's lines.
#[derive(Clone, Copy, Default)]
struct Lines {
    count: u8,
    has_remote: bool,
}

/// The `S_DIST` texts of stocks for one district. The texts of the home warehouse are cached: they
/// are requested often, and each read is a cache miss.
struct Texts {
    at: District,
    home: Vec<Option<Text<24>>>,
}

impl Texts {
    fn new<V: Quiesced>(check: &Check<'_, V>, at: District) -> Self {
        Self { at, home: vec![None; check.tpcc.settings.items as usize] }
    }

    /// Returns the text of the stock that a line names, or `None` if the stock does not exist.
    fn of<V: Quiesced>(&mut self, check: &Check<'_, V>, line: &OrderLine) -> Option<Text<24>> {
        let key = StockKey::new(line.supply_warehouse, line.item);
        let dist_of = |row: &StockInfo| row.dist[usize::from(self.at.district) - 1];
        let read = || check.view.read(check.tpcc.tables.stock_info, key, dist_of);
        if line.supply_warehouse != self.at.warehouse {
            return read();
        }
        let remembered = self.home.get_mut((line.item as usize).wrapping_sub(1))?;
        if remembered.is_none() {
            *remembered = read();
        }
        *remembered
    }
}

/// Returns the orders of one district from a list of the orders of several districts.
pub(super) fn of_district(orders: &Orders, at: District) -> &Orders {
    let (first, last) = (at.order(0).ordered(), at.order(u32::MAX).ordered());
    let from = orders.partition_point(|(key, _)| key.ordered() < first);
    let to = orders.partition_point(|(key, _)| key.ordered() <= last);
    &orders[from..to]
}

impl<V: Quiesced> Check<'_, V> {
    /// Returns the orders of some districts, in key order. ORDER is hashed, so all rows are visited,
    /// and the result is sorted.
    pub(super) fn orders(&self, districts: Range<usize>) -> Vec<(OrderKey, Order)> {
        let first_of = |number| District::of(number).order(0).ordered();
        let own = first_of(districts.start)..first_of(districts.end);
        let mut orders = Vec::new();
        self.view.rows(self.tpcc.tables.order, Share::WHOLE, |key, row| {
            if own.contains(&key.ordered()) {
                orders.push((key, *row));
            }
        });
        orders.sort_unstable_by_key(|(key, _)| key.ordered());
        orders
    }

    /// Returns `I_PRICE` by item, counted from 0.
    pub(super) fn prices(&self) -> Vec<u32> {
        let mut prices = vec![0; self.tpcc.settings.items as usize];
        self.view.rows(self.tpcc.tables.item, Share::WHOLE, |key, row| {
            if let Some(price) = prices.get_mut((key.item() as usize).wrapping_sub(1)) {
                *price = row.price;
            }
        });
        prices
    }

    /// Checks all conditions of a district.
    pub(super) fn district(
        &self,
        at: District,
        orders: &Orders,
        paid: &Paid,
        (prices, taken): (&[u32], &mut Taken),
    ) -> Result<(), Violation> {
        let customers = self.customers(at)?;
        let queue = self.queue(at)?;
        self.numbers(at, orders, &queue)?;
        self.counts(at, orders, &queue, &customers)?;
        queued_are_without_carrier(at, orders, &queue)?;
        for (key, order) in orders {
            let is_customer = (1..=self.tpcc.settings.customers).contains(&order.customer);
            ensure("TPC-C plus 20", is_customer, || format!("{key:?} is of nobody: {order:?}"))?;
        }
        let delivered = self.lines(at, orders, prices, taken)?;
        self.money(at, &customers, &delivered, paid)?;
        self.customers_by_name(at)?;
        self.orders_by_customer(at, orders)
    }

    /// Returns the order numbers in NEW-ORDER of a district, in ascending order.
    fn queue(&self, at: District) -> Result<Vec<u32>, Violation> {
        let key = |order| NewOrderKey::new(at.warehouse, at.district, order);
        let (mut queue, mut result) = (Vec::new(), Ok(()));
        self.view.scan(self.tpcc.tables.new_order, key(0)..=key(u32::MAX), |key, row| {
            queue.push(key.order());
            let is_same = row.order == u64::from(key.order());
            result = ensure("TPC-C 3.3.2.5", is_same, || format!("{key:?} holds {row:?}"));
            while_ok(&result)
        });
        result.map(|()| queue)
    }

    /// Checks 3.3.2.2, 3.3.2.3 and plus 14.
    fn numbers(&self, at: District, orders: &Orders, queue: &[u32]) -> Result<(), Violation> {
        let next = self.row("TPC-C 3.3.2.2", self.tpcc.tables.district_next, at.key())?.order;
        let last = orders.last().map_or(0, |(key, _)| u64::from(key.order()));
        let loaded = self.tpcc.settings.customers;
        let mut without_holes = orders;
        if self.tpcc.settings.is_eased {
            let counter = self.tpcc.order_numbers[at.number()].peek();
            ensure("TPC-C 3.3.2.2", last < counter, || {
                format!("{at}: the last order is {last}, the counter's next {counter}")
            })?;
            ensure("TPC-C 3.3.2.2", next == u64::from(loaded) + 1, || {
                format!("{at}: D_NEXT_O_ID is {next}, loaded were {loaded} orders")
            })?;
            without_holes = &orders[..orders.len().min(loaded as usize)];
        } else {
            ensure("TPC-C 3.3.2.2", next.checked_sub(1) == Some(last), || {
                format!("{at}: D_NEXT_O_ID is {next}, the last order {last}")
            })?;
            if let (Some(&oldest), Some(&newest)) = (queue.first(), queue.last()) {
                ensure("TPC-C 3.3.2.2", u64::from(newest) == last, || {
                    format!("{at}: the last order is {last}, in NEW-ORDER {newest}")
                })?;
                ensure("TPC-C 3.3.2.3", (newest - oldest) as usize + 1 == queue.len(), || {
                    format!("{at}: NEW-ORDER has {} rows from {oldest} to {newest}", queue.len())
                })?;
            }
        }
        let hole = (1..).zip(without_holes).find(|(number, (key, _))| key.order() != *number);
        ensure("TPC-C plus 14", hole.is_none(), || {
            format!("{at}: there is no order {}", hole.map_or(0, |(number, _)| number))
        })
    }

    /// Checks 3.3.2.11 and plus 15, 22.
    fn counts(
        &self,
        at: District,
        orders: &Orders,
        queue: &[u32],
        customers: &[Customer],
    ) -> Result<(), Violation> {
        let (settings, commits) = (&self.tpcc.settings, self.commits(at));
        let (orders, queued) = (orders.len() as u64, queue.len() as u64);
        if let Some(commits) = &commits {
            let due = u64::from(settings.customers) + commits.new_orders;
            ensure("TPC-C plus 15", orders == due, || {
                format!("{at}: {orders} orders, {due} were loaded or committed")
            })?;
        }
        let delivered: u64 = customers.iter().map(|customer| u64::from(customer.delivery_cnt)).sum();
        let due = u64::from(settings.delivered()) + delivered;
        ensure("TPC-C 3.3.2.11", orders == queued + due, || {
            format!(
                "{at}: {orders} orders, {queued} in NEW-ORDER, {due} loaded as delivered or counted since"
            )
        })?;
        let committed = commits.map_or(delivered, |commits| commits.delivered);
        ensure("TPC-C plus 22", delivered == committed, || {
            format!("{at}: {delivered} orders delivered, {committed} committed")
        })
    }

    /// Checks 3.3.2.4, 6, 7 and plus 18, 19. Returns the amount delivered to each customer, in cents.
    fn lines(
        &self,
        at: District,
        orders: &Orders,
        prices: &[u32],
        taken: &mut Taken,
    ) -> Result<Vec<i64>, Violation> {
        let mut texts = Texts::new(self, at);
        let mut tallies = vec![Lines::default(); orders.len()];
        let mut delivered = vec![0; self.tpcc.settings.customers as usize];
        let (mut position, mut count, mut orphan, mut result) = (0, 0, None, Ok(()));
        let keys = at.line(0, 0)..=at.line(u32::MAX, u8::MAX);
        self.view.scan(self.tpcc.tables.order_line, keys, |key, line| {
            count += 1_u64;
            taken.add(key, line);
            while orders.get(position).is_some_and(|(order, _)| order.order() < key.order()) {
                position += 1;
            }
            let order = orders.get(position).filter(|(order, _)| order.order() == key.order());
            let Some((_, order)) = order else {
                orphan = Some(key);
                return ControlFlow::Continue(());
            };
            let tally = &mut tallies[position];
            tally.count = tally.count.saturating_add(1);
            tally.has_remote |= line.supply_warehouse != at.warehouse;
            if line.delivery_date != 0 {
                delivered[order.customer as usize - 1] += i64::from(line.amount);
            }
            if result.is_ok() {
                result = self.line(key, line, (order, tally.count), prices, &mut texts);
            }
            ControlFlow::Continue(())
        });
        let said: u64 = orders.iter().map(|(_, order)| u64::from(order.lines)).sum();
        ensure("TPC-C 3.3.2.4", count == said, || format!("{at}: {count} lines, O_OL_CNT together {said}"))?;
        ensure("TPC-C 3.3.2.6", orphan.is_none(), || format!("{orphan:?} is of no order"))?;
        result?;
        for ((key, order), lines) in orders.iter().zip(&tallies) {
            ensure("TPC-C 3.3.2.6", order.lines == lines.count, || {
                format!("{key:?} has {} lines, O_OL_CNT is {}", lines.count, order.lines)
            })?;
            ensure("TPC-C plus 18", order.all_local == u8::from(!lines.has_remote), || {
                format!("{key:?}: O_ALL_LOCAL is {}, a line is remote: {}", order.all_local, lines.has_remote)
            })?;
        }
        Ok(delivered)
    }

    /// Checks the conditions of one line, the line `number` of its order.
    fn line(
        &self,
        key: OrderLineKey,
        line: &OrderLine,
        (order, number): (&Order, u8),
        prices: &[u32],
        texts: &mut Texts,
    ) -> Result<(), Violation> {
        ensure("TPC-C 3.3.2.6", key.line() == number, || format!("{key:?} is line {number} of its order"))?;
        ensure("TPC-C 3.3.2.7", (line.delivery_date == 0) == (order.carrier == 0), || {
            format!("{key:?}: delivered at {}, by carrier {}", line.delivery_date, order.carrier)
        })?;
        if key.order() <= self.tpcc.settings.customers {
            return Ok(());
        }
        let price = prices.get((line.item as usize).wrapping_sub(1));
        let amount = price.map(|price| u32::from(line.quantity) * price);
        ensure("TPC-C plus 19", Some(line.amount) == amount, || {
            format!("{key:?}: OL_AMOUNT is {}, quantity times price {amount:?}", line.amount)
        })?;
        let dist = texts.of(self, line);
        ensure("TPC-C plus 19", Some(line.dist_info) == dist, || {
            format!("{key:?}: OL_DIST_INFO is {:?}, the stock's {dist:?}", line.dist_info)
        })
    }

    /// Checks plus 20 for the index of orders by customer.
    fn orders_by_customer(&self, at: District, orders: &Orders) -> Result<(), Violation> {
        let first = CustomerOrderKey::new(at.warehouse, at.district, 0, u32::MAX);
        let last = CustomerOrderKey::new(at.warehouse, at.district, u32::from(u16::MAX), 0);
        let (mut count, mut result) = (0, Ok(()));
        self.view.scan_by(self.tpcc.tables.order_by_customer, first..=last, |entry, row| {
            count += 1;
            let position = orders.binary_search_by_key(&entry.order(), |(key, _)| key.order());
            let is_it = position.is_ok_and(|position| orders[position].1 == *row);
            let is_right = is_it && entry.customer() == row.customer;
            result = ensure("TPC-C plus 20", is_right, || format!("{entry:?} leads to {row:?}"));
            while_ok(&result)
        });
        result?;
        ensure("TPC-C plus 20", count == orders.len(), || {
            format!("{at}: {} orders, {count} in the index by customer", orders.len())
        })
    }
}

/// Checks 3.3.2.5.
fn queued_are_without_carrier(at: District, orders: &Orders, queue: &[u32]) -> Result<(), Violation> {
    let mut queue = queue.iter().peekable();
    for (key, order) in orders {
        let is_queued = queue.next_if_eq(&&key.order()).is_some();
        ensure("TPC-C 3.3.2.5", is_queued == (order.carrier == 0), || {
            format!("{key:?}: carrier {}, in NEW-ORDER: {is_queued}", order.carrier)
        })?;
    }
    let rest = queue.next();
    ensure("TPC-C 3.3.2.5", rest.is_none(), || format!("{at}: NEW-ORDER holds {rest:?}, which is no order"))
}
