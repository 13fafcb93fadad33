//! The rows that requests are known to touch before they are executed.
//!
//! New-Order, and Payment of a customer who is numbered, state all that they touch. Of other requests are left out:
//! rows that no transaction writes, and rows that are found only during the execution, which are those of a customer
//! who is named, of a customer's last order, and of the items of a district's last orders. Left out, too, are all rows
//! of an analytic transaction: they are so many that it would belong to every other request.

use engine::InputFootprint;

use super::input::{Input, NewOrder, OrderStatus, Payment, Who};
use super::keys::{
    CustomerKey, CustomerOrderKey, DistrictKey, ItemKey, NewOrderKey, OrderKey, OrderLineKey, StockKey,
    WarehouseKey,
};
use super::schema::Tables;

/// Adds the rows of a request.
pub(super) fn add(tables: &Tables, is_eased: bool, input: &Input, footprint: &mut InputFootprint) {
    match input {
        Input::NewOrder(order) => {
            if !is_eased {
                footprint.write(tables.district_next, DistrictKey::new(order.warehouse, order.district));
            }
            add_new_order(tables, order, footprint);
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

fn add_new_order(tables: &Tables, input: &NewOrder, footprint: &mut InputFootprint) {
    let (warehouse, district) = (input.warehouse, input.district);
    footprint.read_fixed(tables.warehouse_info, WarehouseKey::new(warehouse));
    footprint.read_fixed(tables.district_info, DistrictKey::new(warehouse, district));
    footprint.read_fixed(tables.customer_info, CustomerKey::new(warehouse, district, input.customer));
    for line in input.lines() {
        let stock = StockKey::new(line.supply_warehouse, line.item);
        footprint.read_fixed(tables.item, ItemKey::new(line.item));
        footprint.write(tables.stock, stock);
        footprint.read_fixed(tables.stock_info, stock);
    }
    // Which number the order gets is not known, nor does it matter.
    footprint.insert_numbered(tables.order, OrderKey::new(warehouse, district, 0));
    let by_customer = CustomerOrderKey::new(warehouse, district, input.customer, 0);
    footprint.insert_numbered_by(tables.order_by_customer, by_customer);
    footprint.insert_numbered(tables.new_order, NewOrderKey::new(warehouse, district, 0));
    footprint.insert_numbered(tables.order_line, OrderLineKey::new(warehouse, district, 0, 1));
    footprint.complete();
}

fn add_payment(tables: &Tables, payment: &Payment, footprint: &mut InputFootprint) {
    let (warehouse, district) =
        (WarehouseKey::new(payment.warehouse), DistrictKey::new(payment.warehouse, payment.district));
    footprint.write(tables.warehouse, warehouse);
    footprint.write(tables.district_ytd, district);
    if let Who::Number(customer) = payment.who {
        let key = CustomerKey::new(payment.customer_warehouse, payment.customer_district, customer);
        footprint.write(tables.customer, key);
        footprint.read_fixed(tables.warehouse_info, warehouse);
        footprint.read_fixed(tables.district_info, district);
        footprint.read_fixed(tables.customer_info, key);
        // Only of a customer with bad credit.
        footprint.may_write(tables.customer_data, key);
        footprint.complete();
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

    #[test]
    fn new_orders_and_payments_by_number_state_all() {
        for further in
            ["", "tpcc.profile=eased tpcc.rollback_pct=0", "tpcc.hot_rows=first tpcc.commutative=off"]
        {
            for (mix, share) in [("1,0,0,0,0", 100..101), ("0,1,0,0,0", 30..50), ("0,0,1,1,1", 0..1)] {
                let given = format!(
                    "tpcc.warehouses=2 tpcc.items=200 tpcc.customers_per_district=30 tpcc.mix={mix} {further}"
                );
                let mut fixture = Fixture::<Tpcc>::with_heaps(&given, &["history", "analytic_history"]);
                let [requests, stating] = fixture.stated_footprints(100);
                assert!(share.contains(&(100 * stating / requests)), "{mix}: {stating} of {requests}");
            }
        }
    }
}
