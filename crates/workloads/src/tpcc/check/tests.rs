//! Claims that each condition detects its violation: every test damages a consistent database in one
//! way and names the condition that must fail first.

use core::ops::ControlFlow;

use engine::{Quiesced, Row, Share, Table, Transaction, Workload};

use super::super::keys::{
    CustomerKey, CustomerNameKey, CustomerOrderKey, DistrictKey, NewOrderKey, OrderKey, OrderLineKey,
    StockKey, WarehouseKey,
};
use super::super::rows::AnalyticHistory;
use super::super::tests::{check, loaded, run};
use super::super::{Ledger, Tpcc};
use crate::mock::Mock;

/// A small database after a run, with its ledger.
struct Ran {
    tpcc: Tpcc,
    mock: Mock,
    ledger: Ledger,
}

impl Ran {
    fn new() -> Self {
        Self::with(&[])
    }

    /// Runs with further settings.
    fn with(further: &[(&str, &str)]) -> Self {
        let given = [("warehouses", "2"), ("items", "40"), ("customers_per_district", "10")];
        // A mix with few Deliveries leaves long queues.
        let (tpcc, mut mock) = loaded(&[given.as_slice(), &[("mix", "45,45,4,2,4")], further].concat());
        let (ledger, _) = run(&tpcc, &mut mock, 1_000);
        assert_eq!(check(&tpcc, &mock, core::slice::from_ref(&ledger)), Ok(()));
        Self { tpcc, mock, ledger }
    }

    /// Returns the condition that fails first, and the details.
    fn found(&self) -> (&'static str, String) {
        let ledgers = core::slice::from_ref(&self.ledger);
        check(&self.tpcc, &self.mock, ledgers).expect_err("one of three shares finds the corruption");
        let violation = self.tpcc.check(&self.mock, Share::WHOLE, ledgers);
        let violation = violation.expect_err("the whole finds the corruption");
        (violation.condition, violation.found)
    }

    fn update<R: Row>(&mut self, table: Table<R>, key: R::Key, change: impl FnOnce(&mut R)) {
        let changed = self.mock.attempt(|txn| txn.update(table, key, change));
        assert_eq!(changed, Ok(Some(())), "there is a row to corrupt");
    }

    fn delete<R: Row>(&mut self, table: Table<R>, key: R::Key) {
        assert_eq!(self.mock.attempt(|txn| txn.delete(table, key)), Ok(true), "there is a row to corrupt");
    }

    /// Returns the last order of the first district: an order of the run, undelivered and with several
    /// lines.
    fn last_order(&self) -> u32 {
        let (mut last, mut queued) = (0, 0);
        let keys = NewOrderKey::new(1, 1, 0)..=NewOrderKey::new(1, 1, u32::MAX);
        Quiesced::scan(&self.mock, self.tpcc.tables.new_order, keys, |key, _| {
            last = key.order();
            queued += 1;
            ControlFlow::Continue(())
        });
        assert!(last > 12 && queued > 2, "the run ordered in the first district");
        last
    }

    fn customer_of(&self, order: u32) -> u32 {
        let key = OrderKey::new(1, 1, order);
        Quiesced::read(&self.mock, self.tpcc.tables.order, key, |row| row.customer)
            .expect("the order is there")
    }
}

const DISTRICT: DistrictKey = DistrictKey::new(1, 1);
const CUSTOMER: CustomerKey = CustomerKey::new(1, 1, 3);
const STOCK: StockKey = StockKey::new(2, 7);

#[test]
fn money_of_a_warehouse_that_its_districts_lack_is_found() {
    let mut ran = Ran::new();
    ran.update(ran.tpcc.tables.warehouse, WarehouseKey::new(1), |row| row.ytd += 1);
    assert_eq!(ran.found().0, "TPC-C 3.3.2.1");
}

#[test]
fn a_wrong_next_order_is_found() {
    let mut ran = Ran::new();
    ran.update(ran.tpcc.tables.district_next, DISTRICT, |row| row.order += 1);
    assert_eq!(ran.found().0, "TPC-C 3.3.2.2");
}

#[test]
fn a_queue_that_lacks_the_last_order_is_found() {
    let mut ran = Ran::new();
    let last = ran.last_order();
    ran.delete(ran.tpcc.tables.new_order, NewOrderKey::new(1, 1, last));
    // A delivered order would have a carrier, and its customer one more delivery. Only the carrier is
    // set.
    ran.update(ran.tpcc.tables.order, OrderKey::new(1, 1, last), |row| row.carrier = 1);
    assert_eq!(ran.found().0, "TPC-C 3.3.2.2");
}

#[test]
fn a_gap_in_the_queue_is_found() {
    let mut ran = Ran::new();
    let last = ran.last_order();
    ran.delete(ran.tpcc.tables.new_order, NewOrderKey::new(1, 1, last - 1));
    assert_eq!(ran.found().0, "TPC-C 3.3.2.3");
}

#[test]
fn a_lost_line_is_found() {
    let mut ran = Ran::new();
    ran.delete(ran.tpcc.tables.order_line, OrderLineKey::new(1, 1, 1, 5));
    assert_eq!(ran.found().0, "TPC-C 3.3.2.4");
}

#[test]
fn a_queued_order_with_a_carrier_is_found() {
    let mut ran = Ran::new();
    let last = ran.last_order();
    ran.update(ran.tpcc.tables.order, OrderKey::new(1, 1, last), |row| row.carrier = 1);
    assert_eq!(ran.found().0, "TPC-C 3.3.2.5");
}

#[test]
fn a_queue_entry_that_holds_another_order_is_found() {
    let mut ran = Ran::new();
    let last = ran.last_order();
    ran.update(ran.tpcc.tables.new_order, NewOrderKey::new(1, 1, last), |row| row.order -= 1);
    assert_eq!(ran.found().0, "TPC-C 3.3.2.5");
}

#[test]
fn lines_counted_to_another_order_are_found() {
    let mut ran = Ran::new();
    ran.update(ran.tpcc.tables.order, OrderKey::new(1, 1, 1), |row| row.lines += 1);
    ran.update(ran.tpcc.tables.order, OrderKey::new(1, 1, 2), |row| row.lines -= 1);
    assert_eq!(ran.found().0, "TPC-C 3.3.2.6");
}

#[test]
fn a_line_delivered_before_its_order_is_found() {
    let mut ran = Ran::new();
    let last = ran.last_order();
    ran.update(ran.tpcc.tables.order_line, OrderLineKey::new(1, 1, last, 1), |row| row.delivery_date = 1);
    assert_eq!(ran.found().0, "TPC-C 3.3.2.7");
}

#[test]
fn payments_that_history_lacks_are_found() {
    let mut ran = Ran::new();
    let mut is_first = true;
    ran.mock.corrupt_heap(ran.tpcc.tables.history, |row| {
        let forgotten = is_first && row.warehouse == 1;
        is_first &= !forgotten;
        !forgotten
    });
    assert_eq!(ran.found().0, "TPC-C 3.3.2.8");
}

#[test]
fn a_payment_booked_in_another_district_is_found() {
    let mut ran = Ran::new();
    ran.update(ran.tpcc.tables.district_ytd, DISTRICT, |row| row.ytd += 1);
    ran.update(ran.tpcc.tables.district_ytd, DistrictKey::new(1, 2), |row| row.ytd -= 1);
    assert_eq!(ran.found().0, "TPC-C 3.3.2.9");
}

#[test]
fn a_payment_that_changed_only_the_customer_is_found() {
    let mut ran = Ran::new();
    ran.update(ran.tpcc.tables.customer, CUSTOMER, |row| {
        row.balance -= 1;
        row.ytd_payment += 1;
    });
    assert_eq!(ran.found().0, "TPC-C 3.3.2.10");
}

#[test]
fn a_delivery_that_no_order_shows_is_found() {
    let mut ran = Ran::new();
    ran.update(ran.tpcc.tables.customer, CUSTOMER, |row| row.delivery_cnt += 1);
    assert_eq!(ran.found().0, "TPC-C 3.3.2.11");
}

#[test]
fn a_lost_update_of_a_balance_is_found() {
    let mut ran = Ran::new();
    ran.update(ran.tpcc.tables.customer, CUSTOMER, |row| row.balance += 1);
    assert_eq!(ran.found().0, "TPC-C 3.3.2.12");
}

#[test]
fn a_lost_count_of_a_payment_is_found() {
    let mut ran = Ran::new();
    ran.update(ran.tpcc.tables.customer, CUSTOMER, |row| row.payment_cnt -= 1);
    assert_eq!(ran.found().0, "TPC-C plus 13");
}

#[test]
fn a_payment_of_nobody_is_found() {
    let mut ran = Ran::new();
    let mut is_first = true;
    ran.mock.corrupt_heap(ran.tpcc.tables.history, |row| {
        row.customer = if is_first { 11 } else { row.customer };
        is_first = false;
        true
    });
    assert_eq!(ran.found().0, "TPC-C plus 13");
}

#[test]
fn a_hole_in_the_order_numbers_is_found() {
    let mut ran = Ran::new();
    ran.delete(ran.tpcc.tables.order, OrderKey::new(1, 1, 2));
    let (condition, found) = ran.found();
    assert_eq!(condition, "TPC-C plus 14");
    assert!(found.contains("no order 2"), "{found}");
}

#[test]
fn a_commit_that_left_no_order_is_found() {
    let mut ran = Ran::new();
    ran.ledger.district(3).new_orders += 1;
    assert_eq!(ran.found().0, "TPC-C plus 15");
}

#[test]
fn a_lost_update_of_stock_is_found() {
    let mut ran = Ran::new();
    ran.update(ran.tpcc.tables.stock, STOCK, |row| row.order_cnt -= 1);
    assert_eq!(ran.found().0, "TPC-C plus 16");
    let mut ran = Ran::new();
    ran.update(ran.tpcc.tables.stock, STOCK, |row| row.remote_cnt += 1);
    assert_eq!(ran.found().0, "TPC-C plus 16");
    let mut ran = Ran::new();
    ran.update(ran.tpcc.tables.stock, STOCK, |row| row.ytd += 1);
    assert_eq!(ran.found().0, "TPC-C plus 16");
}

#[test]
fn a_quantity_that_was_not_ordered_is_found() {
    let mut ran = Ran::new();
    ran.update(ran.tpcc.tables.stock, STOCK, |row| row.quantity += 1);
    assert_eq!(ran.found().0, "TPC-C plus 17");
}

#[test]
fn an_order_that_denies_its_remote_lines_is_found() {
    let mut ran = Ran::new();
    ran.update(ran.tpcc.tables.order, OrderKey::new(1, 1, 1), |row| row.all_local = 0);
    assert_eq!(ran.found().0, "TPC-C plus 18");
}

#[test]
fn a_line_that_item_or_stock_contradict_is_found() {
    for change in [
        (|row| row.amount += 1) as fn(&mut super::super::rows::OrderLine),
        |row| row.item = 41,
        |row| row.item = 0,
        |row| row.dist_info = engine::Text::new(b"x"),
    ] {
        let mut ran = Ran::new();
        let last = ran.last_order();
        ran.update(ran.tpcc.tables.order_line, OrderLineKey::new(1, 1, last, 1), change);
        assert_eq!(ran.found().0, "TPC-C plus 19");
    }
}

#[test]
fn an_index_entry_that_is_lost_or_leads_elsewhere_is_found() {
    for leads_to in [None, Some(OrderKey::new(1, 1, 1)), Some(OrderKey::new(1, 1, 9_999))] {
        let mut ran = Ran::new();
        let last = ran.last_order();
        let entry = CustomerOrderKey::new(1, 1, ran.customer_of(last), last);
        ran.mock.corrupt_entry(ran.tpcc.tables.order_by_customer, entry, leads_to);
        assert_eq!(ran.found().0, "TPC-C plus 20", "{leads_to:?}");
    }
    for leads_to in [None, Some(CustomerKey::new(1, 1, 4)), Some(CustomerKey::new(1, 1, 9_999))] {
        let mut ran = Ran::new();
        let names = Quiesced::read(&ran.mock, ran.tpcc.tables.customer_info, CUSTOMER, |row| row.person);
        let person = names.expect("the customer is there");
        let (last, first) = (person.last, person.first);
        let entry = CustomerNameKey { warehouse: 1, district: 1, last, first, customer: 3 };
        ran.mock.corrupt_entry(ran.tpcc.tables.customer_by_name, entry, leads_to);
        assert_eq!(ran.found().0, "TPC-C plus 20", "{leads_to:?}");
    }
}

#[test]
fn a_commit_that_left_no_payment_is_found() {
    let mut ran = Ran::new();
    ran.ledger.district(13).payments += 1;
    assert_eq!(ran.found().0, "TPC-C plus 21");
}

#[test]
fn a_delivery_without_work_is_found() {
    let mut ran = Ran::new();
    ran.ledger.district(13).delivered += 1;
    assert_eq!(ran.found().0, "TPC-C plus 22");
}

#[test]
fn an_analytic_transaction_that_the_log_lacks_is_found() {
    let mut ran = Ran::with(&[("analytic_pct", "10")]);
    let mut is_first = true;
    ran.mock.corrupt_heap(ran.tpcc.tables.analytic_history, |_| !core::mem::take(&mut is_first));
    let (condition, found) = ran.found();
    let committed = ran.ledger.analytics;
    assert_eq!(condition, "TPC-C plus 24");
    assert!(committed > 50 && found.contains(&format!("{committed} analytic")), "{found}");
}

#[test]
fn a_log_of_analytic_transactions_that_did_not_commit_is_found() {
    let mut ran = Ran::with(&[("analytic_pct", "10")]);
    ran.ledger.analytics -= 1;
    assert_eq!(ran.found().0, "TPC-C plus 24");
    // Without the log there is no row to miss, and none to be found.
    let mut ran = Ran::with(&[("analytic_pct", "10"), ("analytic_log", "off")]);
    assert!(ran.ledger.analytics > 50);
    let row = AnalyticHistory { total: 0, rows: 0, low: 0, warehouse: 1, pad: [0; 6] };
    let log = ran.tpcc.tables.analytic_history;
    assert_eq!(ran.mock.attempt(|txn| txn.insert(log, WarehouseKey::new(1), &row)), Ok(true));
    assert_eq!(ran.found().0, "TPC-C plus 24");
}

#[test]
fn eased_districts_and_numbers_are_checked_by_the_counter() {
    let given = [("items", "40"), ("customers_per_district", "10"), ("profile", "eased")];
    let (tpcc, mut mock) = loaded(&given);
    let (ledger, _) = run(&tpcc, &mut mock, 1_000);
    let corruptions: [fn(&mut Ran); 3] = [
        |ran| ran.update(ran.tpcc.tables.district_next, DISTRICT, |row| row.order += 1),
        |ran| ran.delete(ran.tpcc.tables.order, OrderKey::new(1, 1, 2)),
        |ran| ran.delete(ran.tpcc.tables.order, OrderKey::new(1, 1, 11)),
    ];
    let mut ran = Ran { tpcc, mock, ledger };
    for (corrupt, condition) in
        corruptions.into_iter().zip(["TPC-C 3.3.2.2", "TPC-C plus 14", "TPC-C plus 15"])
    {
        let before = ran.mock.clone();
        corrupt(&mut ran);
        assert_eq!(ran.found().0, condition);
        ran.mock = before;
    }
}

#[test]
fn a_missing_row_is_found_and_no_panic() {
    let mut ran = Ran::new();
    ran.delete(ran.tpcc.tables.warehouse, WarehouseKey::new(1));
    assert_eq!(ran.found().0, "TPC-C 3.3.2.1");
    let mut ran = Ran::new();
    ran.delete(ran.tpcc.tables.customer, CUSTOMER);
    assert_eq!(ran.found().0, "TPC-C 3.3.2.12");
    let mut ran = Ran::new();
    ran.delete(ran.tpcc.tables.stock, STOCK);
    assert!(["TPC-C plus 16", "TPC-C plus 19"].contains(&ran.found().0));
}
