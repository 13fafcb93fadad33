//! The rows that requests are known to touch before they are executed.
//!
//! Left out are rows that no transaction writes, and rows that are found only during the execution: those of a customer
//! who is named and not numbered, of a customer's last order, and of the items of a district's last orders. Left out,
//! too, are all rows of an analytic transaction: they are so many that it would belong to every other request.

use engine::InputFootprint;

use super::input::{Input, OrderStatus, Payment, Who};
use super::keys::{CustomerKey, DistrictKey, NewOrderKey, StockKey, WarehouseKey};
use super::schema::Tables;

/// Adds the rows of a request.
pub(super) fn add(tables: &Tables, input: &Input, footprint: &mut InputFootprint) {
    match input {
        Input::NewOrder(order) => {
            footprint.write(tables.district_next, DistrictKey::new(order.warehouse, order.district));
            for line in order.lines() {
                footprint.write(tables.stock, StockKey::new(line.supply_warehouse, line.item));
            }
        }
        Input::Payment(payment) => add_payment(tables, payment, footprint),
        Input::OrderStatus(OrderStatus { warehouse, district, who: Who::Number(customer) }) => {
            footprint.read(tables.customer, CustomerKey::new(*warehouse, *district, *customer));
        }
        Input::OrderStatus(_) | Input::Audit(_) | Input::Analytic(_) => {}
        Input::Delivery(delivery) => {
            for district in delivery.districts.clone() {
                // Order 0 does not exist. It stands for the oldest one, which all Deliveries of the district want.
                footprint.write(tables.new_order, NewOrderKey::new(delivery.warehouse, district, 0));
            }
        }
        Input::StockLevel(level) => {
            footprint.read(tables.district_next, DistrictKey::new(level.warehouse, level.district));
        }
    }
}

fn add_payment(tables: &Tables, payment: &Payment, footprint: &mut InputFootprint) {
    footprint.write(tables.warehouse, WarehouseKey::new(payment.warehouse));
    footprint.write(tables.district_ytd, DistrictKey::new(payment.warehouse, payment.district));
    if let Who::Number(customer) = payment.who {
        let key = CustomerKey::new(payment.customer_warehouse, payment.customer_district, customer);
        footprint.write(tables.customer, key);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Tpcc;
    use crate::mock::Fixture;

    #[test]
    fn footprints_have_rows_that_are_touched() {
        let given = "tpcc.warehouses=1 tpcc.items=200 tpcc.customers_per_district=30";
        let mut fixture = Fixture::<Tpcc>::with_heaps(given, &["history", "analytic_history"]);
        let [commits, untouched, unknown] = fixture.compare_footprints(200);
        // Order 0 of Deliveries is not touched. Unknown are delivered orders, and customers by their names.
        assert!(commits > 500 && untouched < commits / 10, "{untouched} of {commits}");
        assert!((1..commits / 2).contains(&unknown), "{unknown} of {commits}");
    }
}
