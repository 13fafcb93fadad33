//! New-Order (TPC-C 2.4): a customer orders 5 to 15 items. One order in a hundred ends with an unused item
//! number, and rolls back.

use core::iter;

use engine::{Abort, Text, Transaction};

use super::input::{NewOrder, OrderLineInput};
use super::keys::{
    CustomerKey, DistrictKey, ItemKey, NewOrderKey, OrderKey, OrderLineKey, StockKey, WarehouseKey,
    district_number,
};
use super::rows::{self, is_original};
use super::{Output, Screen, Tpcc, found, is_new};

/// The data that a terminal shows for a line (TPC-C 2.4.3.3).
#[derive(Clone, Copy, Debug, Default)]
pub struct LineShown {
    /// `I_NAME`.
    pub name: Text<24>,
    /// `I_PRICE`, in cents.
    pub price: u32,
    /// `OL_AMOUNT`, in cents.
    pub amount: u32,
    /// `S_QUANTITY` after the order.
    pub quantity: i32,
    /// `true` if item and stock are both originals: the brand is `B`, else `G`.
    pub is_original: bool,
    /// `OL_DIST_INFO`, which is not shown.
    dist_info: Text<24>,
}

impl Tpcc {
    /// Places an order.
    pub(super) fn new_order<T: Transaction>(
        &self,
        input: &NewOrder,
        screen: &mut Screen,
        txn: &mut T,
    ) -> Result<Output, Abort> {
        let tables = &self.tables;
        let customer_key = CustomerKey::new(input.warehouse, input.district, input.customer);
        // All keys are known, so that the cache misses of a dozen rows overlap.
        txn.prefetch(tables.customer_info, iter::once(customer_key));
        txn.prefetch(tables.item, input.lines().iter().map(|line| ItemKey::new(line.item)));
        let stock_key = |line: &OrderLineInput| StockKey::new(line.supply_warehouse, line.item);
        txn.prefetch((tables.stock, tables.stock_info), input.lines().iter().map(stock_key));

        let early = if self.settings.is_hot_last { None } else { Some(self.next_order(input, txn)?) };
        let warehouse_key = WarehouseKey::new(input.warehouse);
        let warehouse_tax = found(txn.read(tables.warehouse_info, warehouse_key, |row| row.site.tax)?)?;
        let district_key = DistrictKey::new(input.warehouse, input.district);
        let district_tax = found(txn.read(tables.district_info, district_key, |row| row.site.tax)?)?;
        let discount = found(txn.read(tables.customer_info, customer_key, |row| {
            screen.customer = row.person;
            row.person.discount
        })?)?;
        // An unused item number is the customer's mistake. The order is rolled back, but only after the
        // work for the other lines (TPC-C 2.4.2.3).
        let (mut sum, mut taken) = (0, 0);
        for (line, shown) in input.lines().iter().zip(&mut screen.lines) {
            let Some(line) = self.take_item(input, *line, txn)? else { break };
            *shown = line;
            sum += u64::from(line.amount);
            taken += 1;
        }
        if taken == input.lines().len() {
            txn.decided();
        }
        let order = early.map_or_else(|| self.next_order(input, txn), Ok)?;
        self.write_order(input, order, &screen.lines[..taken], txn)?;
        if taken < input.lines().len() {
            return Err(Abort::Rollback);
        }
        Ok(Output::NewOrder { order, total_cents: total(sum, discount, warehouse_tax + district_tax) })
    }

    /// Draws the order's number: from the district or, with the profile `eased`, from a counter outside
    /// the database.
    fn next_order<T: Transaction>(&self, input: &NewOrder, txn: &mut T) -> Result<u32, Abort> {
        if self.settings.is_eased {
            return Ok(self.order_numbers[district_number(input.warehouse, input.district)].take() as u32);
        }
        let key = DistrictKey::new(input.warehouse, input.district);
        let next = txn.update(self.tables.district_next, key, |row| {
            let order = row.order;
            row.order = order.wrapping_add(1);
            order
        })?;
        Ok(found(next)? as u32)
    }

    /// Takes the item of a line out of stock. Returns `None` if the item does not exist.
    #[inline]
    fn take_item<T: Transaction>(
        &self,
        input: &NewOrder,
        line: OrderLineInput,
        txn: &mut T,
    ) -> Result<Option<LineShown>, Abort> {
        let tables = &self.tables;
        let item = txn.read(tables.item, ItemKey::new(line.item), |row| {
            (row.price, row.name, is_original(&row.data))
        })?;
        let Some((price, name, item_is_original)) = item else { return Ok(None) };
        let stock_key = StockKey::new(line.supply_warehouse, line.item);
        let is_remote = line.supply_warehouse != input.warehouse;
        let quantity = found(txn.update(tables.stock, stock_key, |row| row.take(line.quantity, is_remote))?)?;
        let (dist_info, is_original) = found(txn.read(tables.stock_info, stock_key, |row| {
            (row.dist[usize::from(input.district) - 1], item_is_original && is_original(&row.data))
        })?)?;
        let amount = u32::from(line.quantity) * price;
        Ok(Some(LineShown { name, price, amount, quantity, is_original, dist_info }))
    }

    /// Inserts the order and the lines that were taken out of stock.
    #[inline]
    fn write_order<T: Transaction>(
        &self,
        input: &NewOrder,
        order: u32,
        shown: &[LineShown],
        txn: &mut T,
    ) -> Result<(), Abort> {
        let (tables, warehouse, district) = (&self.tables, input.warehouse, input.district);
        let row = rows::Order {
            entry_date: input.date,
            customer: input.customer,
            carrier: 0,
            lines: input.line_count,
            all_local: u8::from(input.is_all_local()),
            pad: 0,
        };
        is_new(txn.insert(tables.order, OrderKey::new(warehouse, district, order), &row)?)?;
        let queued = rows::NewOrder { order: u64::from(order) };
        is_new(txn.insert(tables.new_order, NewOrderKey::new(warehouse, district, order), &queued)?)?;
        for (number, (line, shown)) in (1..).zip(input.lines().iter().zip(shown)) {
            let row = rows::OrderLine {
                delivery_date: 0,
                item: line.item,
                amount: shown.amount,
                supply_warehouse: line.supply_warehouse,
                quantity: line.quantity,
                dist_info: shown.dist_info,
                pad: [0; 4],
            };
            let key = OrderLineKey::new(warehouse, district, order, number);
            is_new(txn.insert(tables.order_line, key, &row)?)?;
        }
        Ok(())
    }
}

/// Returns the total amount (TPC-C 2.4.2.2): the sum less the discount, plus the taxes, rounded to cents.
fn total(sum: u64, discount: u32, taxes: u32) -> u64 {
    (sum * u64::from(10_000 - discount) * u64::from(10_000 + taxes) + 50_000_000) / 100_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_less_the_discount_and_plus_the_taxes() {
        assert_eq!(total(10_000, 0, 0), 10_000);
        assert_eq!(total(10_000, 5_000, 2_000), 6_000);
        assert_eq!(total(1, 5_000, 0), 1);
    }
}
