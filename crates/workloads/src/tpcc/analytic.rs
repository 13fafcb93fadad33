//! The analytic transaction: adds up many rows of a warehouse, beside the short transactions of the mix. It is not a
//! transaction of the specification, and runs only if `tpcc.analytic_pct` asks for it.
//!
//! Either it is a long Stock-Level, which reads STOCK for a range of items by their keys: each New-Order of the
//! warehouse that takes one of these items is a conflict. Or it reads the lines of the last orders of all ten
//! districts, and the next order number of each district to find them: each New-Order of the warehouse is a conflict,
//! and each Delivery of one of these orders.
//!
//! In the end it inserts a row into a log, so that it is no read-only transaction. The log is a heap, about which such
//! transactions do not conflict. `tpcc.analytic_log` leaves the log out.

use core::ops::{ControlFlow, Range};

use engine::setting::{SettingError, Values};
use engine::{Abort, Direction, Transaction};

use super::input::{Analytic, AnalyticRows};
use super::keys::{OrderLineKey, StockKey, WarehouseKey};
use super::rows::{AnalyticHistory, DISTRICTS};
use super::{Output, Tpcc, found};

/// The number of stocks that are prefetched together: so few that their rows and index entries fit into the first level
/// of the cache.
const PREFETCHED: u32 = 64;

/// The transaction type of analytic transactions that log their results.
pub(super) const ANALYTIC: usize = 6;
/// The transaction type of analytic transactions that do not log their results.
pub(super) const ANALYTIC_QUERY: usize = 7;

/// The analytic transactions of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Analytics {
    /// Their share of all requests, in percent.
    pub(super) pct: f64,
    pub(super) reach: Reach,
    /// `true` if they log their results.
    pub(super) are_logged: bool,
}

/// The rows that an analytic transaction adds up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// The stock of this number of items.
    Stock(u32),
    /// The lines of this number of last orders of each district.
    Lines(u32),
}

impl Analytics {
    /// Creates the settings of the analytic transactions from their values.
    ///
    /// # Errors
    /// If there are more of them and of audits than requests.
    pub(super) fn new(values: &Values) -> Result<Self, SettingError> {
        let (pct, audit_pct) = (values.real("tpcc.analytic_pct"), values.real("tpcc.audit_pct"));
        if pct + audit_pct > 100.0 {
            return Err(SettingError(format!(
                "`tpcc.analytic_pct={pct}` and `tpcc.audit_pct={audit_pct}` are more than all requests: lower one"
            )));
        }
        // At least one row is read, however small the share.
        let part = |all: u64| {
            let share = values.real("tpcc.analytic_share_pct") / 100.0;
            ((all as f64 * share).round() as u64).clamp(1, all) as u32
        };
        let reach = match values.text("tpcc.analytic") {
            "stock" => Reach::Stock(part(values.int("tpcc.items"))),
            _ => Reach::Lines(part(values.int("tpcc.customers_per_district"))),
        };
        Ok(Self { pct, reach, are_logged: values.text("tpcc.analytic_log") == "on" })
    }

    /// The transaction type of the analytic transactions.
    pub(super) fn kind(&self) -> usize {
        if self.are_logged { ANALYTIC } else { ANALYTIC_QUERY }
    }
}

impl Tpcc {
    /// Adds up the rows that the input names.
    pub(super) fn analytic<T: Transaction>(&self, input: &Analytic, txn: &mut T) -> Result<Output, Abort> {
        let is_logged = self.settings.analytics.are_logged;
        if is_logged {
            txn.decided();
        }
        let warehouse = input.warehouse;
        let mut sum = AnalyticHistory { total: 0, rows: 0, low: 0, warehouse, pad: [0; 6] };
        match &input.rows {
            AnalyticRows::Stock { items, threshold } => self.add_stock(items, *threshold, &mut sum, txn)?,
            AnalyticRows::Lines { orders } => self.add_lines(*orders, &mut sum, txn)?,
        }
        if is_logged {
            // An insert into a heap always succeeds.
            txn.insert(self.tables.analytic_history, WarehouseKey::new(warehouse), &sum)?;
        }
        Ok(Output::Analytic { total: sum.total, rows: sum.rows, low: sum.low })
    }

    /// Adds the quantities of items, and counts those that are low in stock.
    fn add_stock<T: Transaction>(
        &self,
        items: &Range<u32>,
        threshold: i32,
        sum: &mut AnalyticHistory,
        txn: &mut T,
    ) -> Result<(), Abort> {
        let (stock, warehouse) = (self.tables.stock, sum.warehouse);
        for first in items.clone().step_by(PREFETCHED as usize) {
            let some = first..items.end.min(first + PREFETCHED);
            let keys = some.map(|item| StockKey::new(warehouse, item));
            txn.prefetch(stock, keys.clone());
            for key in keys {
                let quantity = found(txn.read(stock, key, |row| row.quantity)?)?;
                sum.total = sum.total.wrapping_add(i64::from(quantity));
                sum.rows += 1;
                sum.low += u32::from(quantity < threshold);
            }
        }
        Ok(())
    }

    /// Adds the amounts of the lines of the last orders of each district.
    fn add_lines<T: Transaction>(
        &self,
        orders: u32,
        sum: &mut AnalyticHistory,
        txn: &mut T,
    ) -> Result<(), Abort> {
        for district in 1..=DISTRICTS {
            let next = self.read_next_order(sum.warehouse, district, txn)?;
            let first = OrderLineKey::new(sum.warehouse, district, next.saturating_sub(orders), 0);
            let lines = first..OrderLineKey::new(sum.warehouse, district, next, 0);
            txn.scan(self.tables.order_line, lines, Direction::Forward, |_, line| {
                sum.total = sum.total.wrapping_add(i64::from(line.amount));
                sum.rows = sum.rows.wrapping_add(1);
                ControlFlow::Continue(())
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use engine::{Loader, Quiesced, Share, Table, Text, Workload};

    use super::super::keys::DistrictKey;
    use super::super::rows::{DistrictInfo, DistrictNext, DistrictYtd, OrderLine, Site, Stock, StockInfo};
    use super::super::settings::tests::settings;
    use super::super::tests::{check, declared, loaded, run};
    use super::super::{Input, Ledger, Scratch};
    use super::*;
    use crate::mock::Mock;

    fn execute(tpcc: &Tpcc, mock: &mut Mock, warehouse: u16, rows: AnalyticRows) -> Result<Output, Abort> {
        let (input, mut scratch) = (Input::Analytic(Analytic { warehouse, rows }), Scratch::default());
        mock.attempt(|txn| tpcc.execute(&input, &mut scratch, txn))
    }

    fn stock(items: Range<u32>, threshold: i32) -> AnalyticRows {
        AnalyticRows::Stock { items, threshold }
    }

    fn log(tpcc: &Tpcc, mock: &Mock) -> Vec<AnalyticHistory> {
        let mut log = Vec::new();
        mock.heap(tpcc.tables.analytic_history, Share::WHOLE, |row| log.push(*row));
        log
    }

    /// Two warehouses with 200 items. In the second, the quantity of item i is i, and in the first it is 1,000.
    fn stocked(given: &[(&str, &str)]) -> (Tpcc, Mock) {
        let (tpcc, mut mock) = declared(&[&[("warehouses", "2"), ("items", "200")], given].concat(), 1);
        let groups: (Table<Stock>, Table<StockInfo>) = (tpcc.tables.stock, tpcc.tables.stock_info);
        let info = StockInfo { dist: [Text::default(); 10], data: Text::default(), pad: [0; 6] };
        for item in 1..=200 {
            for (warehouse, quantity) in [(1, 1_000), (2, item as i32)] {
                let row = Stock { quantity, ytd: 0, order_cnt: 0, remote_cnt: 0 };
                mock.insert(groups, StockKey::new(warehouse, item), (&row, &info));
            }
        }
        (tpcc, mock)
    }

    #[test]
    fn audits_and_analytic_transactions_are_at_most_all_requests() {
        assert!(settings(&[("audit_pct", "20"), ("analytic_pct", "80")], 1).is_ok());
        let refusal = settings(&[("audit_pct", "20"), ("analytic_pct", "80.5")], 1).expect_err("refused").0;
        assert!(refusal.contains("more than all requests"), "{refusal}");
    }

    #[test]
    fn an_analytic_transaction_reads_the_asked_share_and_at_least_one() {
        let reach = |of, pct| {
            let given = [("analytic", of), ("analytic_share_pct", pct), ("customers_per_district", "1000")];
            settings(&given, 1).expect("legal").analytics.reach
        };
        assert_eq!(
            ["0.01", "20", "100"].map(|pct| reach("stock", pct)),
            [10, 20_000, 100_000].map(Reach::Stock)
        );
        assert_eq!(["0.01", "20", "100"].map(|pct| reach("lines", pct)), [1, 200, 1_000].map(Reach::Lines));
    }

    #[test]
    fn stock_is_added_up_and_low_stock_is_counted() {
        let (tpcc, mut mock) = stocked(&[]);
        let mut sum =
            |warehouse, items, threshold| execute(&tpcc, &mut mock, warehouse, stock(items, threshold));
        // All of the items: 1 + 2 + .. + 200. They are prefetched in four parts, the last of which is short.
        assert_eq!(sum(2, 1..201, 15), Ok(Output::Analytic { total: 20_100, rows: 200, low: 14 }));
        assert_eq!(sum(2, 10..13, 12), Ok(Output::Analytic { total: 10 + 11 + 12, rows: 3, low: 2 }));
        assert_eq!(sum(2, 200..201, 10), Ok(Output::Analytic { total: 200, rows: 1, low: 0 }));
        assert_eq!(sum(1, 1..66, 20), Ok(Output::Analytic { total: 65_000, rows: 65, low: 0 }));
        let logged = AnalyticHistory { total: 33, rows: 3, low: 2, warehouse: 2, pad: [0; 6] };
        assert_eq!(log(&tpcc, &mock).len(), 4);
        assert!(log(&tpcc, &mock).contains(&logged));
    }

    #[test]
    fn a_stock_that_is_missing_is_no_panic_and_logs_nothing() {
        let (tpcc, mut mock) = stocked(&[]);
        assert_eq!(execute(&tpcc, &mut mock, 1, stock(200..202, 10)), Err(Abort::ReadChanged));
        assert_eq!(log(&tpcc, &mock), []);
    }

    /// A warehouse whose districts have as many orders as their number says. Order o of district d has two lines, of
    /// 100 d + o cents each.
    fn ordered(given: &[(&str, &str)]) -> (Tpcc, Mock) {
        let (tpcc, mut mock) = declared(given, 1);
        let tables = &tpcc.tables;
        let groups = (tables.district_next, tables.district_ytd, tables.district_info);
        let site: Site = zerocopy::FromZeros::new_zeroed();
        for district in 1..=DISTRICTS {
            let next = DistrictNext { order: u64::from(district) + 1 };
            let rows = (&next, &DistrictYtd { ytd: 0 }, &DistrictInfo { site });
            mock.insert(groups, DistrictKey::new(1, district), rows);
            // The order after the last belongs to a New-Order that the district does not count.
            for order in 1..=u32::from(district) + 1 {
                for line in 1..=2 {
                    let row = OrderLine {
                        delivery_date: 0,
                        item: 1,
                        amount: 100 * u32::from(district) + order,
                        supply_warehouse: 1,
                        quantity: 1,
                        dist_info: Text::default(),
                        pad: [0; 4],
                    };
                    mock.insert(tables.order_line, OrderLineKey::new(1, district, order, line), &row);
                }
            }
        }
        (tpcc, mock)
    }

    #[test]
    fn the_lines_of_the_last_orders_of_all_districts_are_added_up() {
        let (tpcc, mut mock) = ordered(&[]);
        let mut sum = |orders| execute(&tpcc, &mut mock, 1, AnalyticRows::Lines { orders });
        // The last order of district d has the number d: 2 (100 + 1) d, and 1 + 2 + .. + 10 is 55.
        assert_eq!(sum(1), Ok(Output::Analytic { total: 2 * 101 * 55, rows: 20, low: 0 }));
        // The order before the last: 2 (101 d - 1), in the nine districts that have one.
        let two = 2 * 101 * 55 + 2 * (101 * 54 - 9);
        assert_eq!(sum(2), Ok(Output::Analytic { total: two, rows: 20 + 18, low: 0 }));
        // All: d orders of 100 d cents, and 1 + .. + d more; 1 + 4 + .. + 100 is 385, 1 + 3 + 6 + .. + 55 is 220.
        let all = Output::Analytic { total: 2 * (100 * 385 + 220), rows: 110, low: 0 };
        assert_eq!((sum(10), sum(3_000)), (Ok(all), Ok(all)));
        assert_eq!(log(&tpcc, &mock).len(), 4);
    }

    #[test]
    fn eased_districts_are_read_up_to_the_counter() {
        let (tpcc, mut mock) = ordered(&[("profile", "eased"), ("customers_per_district", "1")]);
        // The counters begin at order 2, so that each district has one order: 2 (100 d + 1).
        let sum = execute(&tpcc, &mut mock, 1, AnalyticRows::Lines { orders: 10 });
        assert_eq!(sum, Ok(Output::Analytic { total: 2 * (100 * 55 + 10), rows: 20, low: 0 }));
    }

    #[test]
    fn the_log_can_be_left_out() {
        for (setting, kind) in [("on", "analytic"), ("off", "analytic_query")] {
            let (tpcc, mut mock) = stocked(&[("analytic_log", setting)]);
            let input = Input::Analytic(Analytic { warehouse: 2, rows: stock(1..3, 10) });
            let of = Tpcc::TYPES[tpcc.kind(&input)];
            assert_eq!((of.name, of.read_only), (kind, setting == "off"));
            let sum = execute(&tpcc, &mut mock, 2, stock(1..3, 10));
            assert_eq!(sum, Ok(Output::Analytic { total: 3, rows: 2, low: 2 }));
            assert_eq!(log(&tpcc, &mock).len(), usize::from(setting == "on"));
        }
    }

    #[test]
    fn analytic_transactions_beside_the_mix_read_what_there_is_and_pass_the_check() {
        let small =
            [("warehouses", "2"), ("items", "40"), ("customers_per_district", "10"), ("analytic_pct", "20")];
        for (rows, pct) in [("stock", "0.01"), ("stock", "100"), ("lines", "0.01"), ("lines", "100")] {
            for profile in ["standard", "eased"] {
                let rest = [("analytic", rows), ("analytic_share_pct", pct), ("profile", profile)];
                let (tpcc, mut mock) = loaded(&[small.as_slice(), &rest].concat());
                let (ledger, _) = run(&tpcc, &mut mock, 1_500);
                let read = log(&tpcc, &mock);
                assert!(ledger.analytics > 200 && read.len() as u64 == ledger.analytics);
                let is_as_asked = |row: &AnalyticHistory| match (rows, pct) {
                    ("stock", "100") => row.rows == 40 && (400..=4_000).contains(&row.total),
                    ("stock", _) => row.rows == 1 && (10..=100).contains(&row.total),
                    // Of each district one order, or ten, of 5 to 15 lines.
                    (_, "100") => (500..=1_500).contains(&row.rows) && row.total > 0,
                    _ => (50..=150).contains(&row.rows),
                };
                assert!(read.iter().all(is_as_asked), "{rows}, {pct}%: {read:?}");
                assert_eq!(check(&tpcc, &mock, &[ledger]), Ok(()));
                assert!(check(&tpcc, &mock, &[Ledger::default()]).is_err());
            }
        }
    }
}
