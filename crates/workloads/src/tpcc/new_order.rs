//! New-Order (TPC-C 2.4): a customer orders 5 to 15 items; one order in a hundred names an unused item
//! at its end and rolls back.

use engine::{Abort, Text, Transaction};

use super::input::{Line, NewOrder};
use super::keys::{
    CustomerKey, DistrictKey, ItemKey, NewOrderKey, OrderKey, OrderLineKey, StockKey, WarehouseKey,
    district_number,
};
use super::rows::{self, is_original};
use super::{Output, Screen, Tpcc, found, is_new};

/// What a terminal shows of a line (TPC-C 2.4.3.3).
#[derive(Clone, Copy, Debug, Default)]
pub struct LineShown {
    /// `I_NAME`.
    pub name: Text<24>,
    /// `I_PRICE`, in cents.
    pub price: u32,
    /// `OL_AMOUNT`, in cents.
    pub amount: u32,
    /// `S_QUANTITY`, what is left.
    pub quantity: i32,
    /// Whether item and stock are both originals: the brand is `B`, else `G`.
    pub is_original: bool,
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
        // All keys are known, so the misses of a dozen rows overlap.
        txn.prefetch(tables.customer_info, customer_key);
        for line in input.lines() {
            txn.prefetch(tables.item, ItemKey::new(line.item));
            txn.prefetch(tables.stock, StockKey::new(line.supply_warehouse, line.item));
            txn.prefetch(tables.stock_info, StockKey::new(line.supply_warehouse, line.item));
        }

        let warehouse_key = WarehouseKey::new(input.warehouse);
        let warehouse_tax = found(txn.read(tables.warehouse_info, warehouse_key, |row| row.site.tax)?)?;
        let district_key = DistrictKey::new(input.warehouse, input.district);
        let district_tax = found(txn.read(tables.district_info, district_key, |row| row.site.tax)?)?;
        let order = self.next_order(input, txn)?;
        let discount = found(txn.read(tables.customer_info, customer_key, |row| {
            screen.customer = row.person;
            row.person.discount
        })?)?;

        let row = rows::Order {
            entry_date: input.date,
            customer: input.customer,
            carrier: 0,
            lines: input.line_count,
            all_local: u8::from(input.is_all_local()),
            pad: 0,
        };
        is_new(txn.insert(tables.order, OrderKey::new(input.warehouse, input.district, order), &row)?)?;
        let queued = rows::NewOrder { order: u64::from(order) };
        is_new(txn.insert(
            tables.new_order,
            NewOrderKey::new(input.warehouse, input.district, order),
            &queued,
        )?)?;

        let mut sum = 0;
        for (number, (line, shown)) in (1..).zip(input.lines().iter().zip(&mut screen.lines)) {
            let key = OrderLineKey::new(input.warehouse, input.district, order, number);
            *shown = self.order_item(key, *line, txn)?;
            sum += u64::from(shown.amount);
        }
        Ok(Output::NewOrder { order, total_cents: total(sum, discount, warehouse_tax + district_tax) })
    }

    /// The order's number: from the district, or, eased, from a counter beside the database.
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

    /// Takes one item out of stock and writes its line.
    #[inline]
    fn order_item<T: Transaction>(
        &self,
        key: OrderLineKey,
        line: Line,
        txn: &mut T,
    ) -> Result<LineShown, Abort> {
        let tables = &self.tables;
        let item = txn.read(tables.item, ItemKey::new(line.item), |row| {
            (row.price, row.name, is_original(&row.data))
        })?;
        // An unused item: the customer's mistake, for which the order is undone (TPC-C 2.4.2.3).
        let (price, name, item_is_original) = item.ok_or(Abort::Rollback)?;
        let (warehouse, district) = key.district();
        let stock_key = StockKey::new(line.supply_warehouse, line.item);
        let is_remote = line.supply_warehouse != warehouse;
        let quantity = found(txn.update(tables.stock, stock_key, |row| row.take(line.quantity, is_remote))?)?;
        let (dist_info, is_original) = found(txn.read(tables.stock_info, stock_key, |row| {
            (row.dist[usize::from(district) - 1], item_is_original && is_original(&row.data))
        })?)?;
        let amount = u32::from(line.quantity) * price;
        let row = rows::OrderLine {
            delivery_date: 0,
            item: line.item,
            amount,
            supply_warehouse: line.supply_warehouse,
            quantity: line.quantity,
            dist_info,
            pad: [0; 4],
        };
        is_new(txn.insert(tables.order_line, key, &row)?)?;
        Ok(LineShown { name, price, amount, quantity, is_original })
    }
}

/// The total amount (TPC-C 2.4.2.2): the sum less the discount and plus the taxes, rounded to cents.
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
