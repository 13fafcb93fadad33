//! TPC-C, revision 5.11: a wholesale supplier with warehouses, ten districts each, and five types of
//! transaction, of which New-Order and Payment make up nine in ten.
//!
//! All five types run with their inserts, deletes, range scans, look-ups by name and rollbacks. The
//! terminals' screens are left out: the data of a screen is collected (see [`Screen`]) but not drawn. The
//! waits of terminals are optional. After a run the conditions of `check` decide whether the committed
//! rows are consistent as the specification requires. An optional [`Audit`] decides it during the run. An optional
//! [`Analytic`] transaction, which the specification does not have, reads long beside the short ones.

mod analytic;
mod audit;
mod check;
mod customer;
mod delivery;
mod footprint;
mod forecast;
mod implicit;
mod input;
mod keys;
mod load;
mod new_order;
mod order_status;
mod payment;
mod random;
mod rows;
mod schema;
mod settings;
mod stock_level;

use engine::setting::{Setting, SettingError, Values};
use engine::{
    Abort, ClientId, Counter, Drive, Forecast, Homes, ImplicitRows, InputFootprint, Loader, Pace, Quiesced,
    Schema, Share, Transaction, TxnType, Violation, Workload,
};
use stdx::Rng;
use sync::Arc;
use zerocopy::FromZeros;

pub use audit::FailedCondition;
pub use input::{
    Analytic, AnalyticRows, Audit, Delivery, Input, NewOrder, OrderLineInput, OrderStatus, Payment,
    StockLevel, Who,
};
pub use new_order::LineShown;
pub use order_status::{StatusLine, StatusShown};
pub use rows::{Address, Person, Site};

use delivery::Running;
use keys::district_number;
use rows::{DISTRICTS, LINES_MAX};
use schema::Tables;
use settings::{DeliveryChoice, SETTINGS, Settings};
use stock_level::ItemSet;

/// The workload.
#[derive(Debug)]
pub struct Tpcc {
    settings: Settings,
    drive: Drive,
    tables: Tables,
    /// The next order number of each district with the profile `eased`, else empty.
    order_numbers: Box<[Counter]>,
    /// One for each warehouse if Deliveries are skipped, else empty.
    deliveries: Box<[Running]>,
}

/// The result of a committed transaction. Other data that its terminal shows is on the [`Screen`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The result of a New-Order.
    NewOrder {
        /// `O_ID`.
        order: u32,
        /// The total amount, in cents.
        total_cents: u64,
    },
    /// The result of a Payment.
    Payment {
        /// `C_ID`, also if the customer is selected by name.
        customer: u32,
        /// `C_BALANCE` after the payment, in cents.
        balance_cents: i64,
    },
    /// The result of an Order-Status.
    OrderStatus {
        /// `O_ID` of the customer's last order.
        order: u32,
        /// `O_CARRIER_ID`, 0 for null.
        carrier: u8,
        /// `O_ENTRY_D`, in milliseconds since 1970.
        entry_date: u64,
        /// `C_BALANCE`, in cents.
        balance_cents: i64,
    },
    /// The result of a Delivery, which TPC-C 2.7.2.2 writes to a file.
    Delivery {
        /// `O_ID` of the order delivered in each district. 0 for districts without an undelivered order,
        /// for districts that other transactions of the same Delivery process, and for all if the Delivery is
        /// skipped (`tpcc.delivery`).
        orders: [u32; DISTRICTS as usize],
    },
    /// The result of a Stock-Level.
    StockLevel {
        /// The number of items that are low in stock.
        low: u32,
    },
    /// The result of an Audit.
    Audit {
        /// The first condition that did not hold.
        finding: Option<FailedCondition>,
    },
    /// The result of an analytic transaction.
    Analytic {
        /// The sum of `S_QUANTITY`, or of `OL_AMOUNT` in cents.
        total: i64,
        /// The number of rows added up.
        rows: u32,
        /// The number of these that are stock below the threshold.
        low: u32,
    },
}

/// The data that a terminal shows after the last transaction, beside its [`Output`] (TPC-C 2.4.3 to
/// 2.8.3).
#[derive(Clone, Debug)]
pub struct Screen {
    /// Payment: the warehouse.
    pub warehouse: Site,
    /// Payment: the district.
    pub district: Site,
    /// New-Order, Payment, Order-Status: the customer.
    pub customer: Person,
    /// Payment by a customer with bad credit: the first bytes of `C_DATA`.
    pub customer_data: [u8; payment::DATA_SHOWN_BYTES],
    /// New-Order: the lines.
    pub lines: [LineShown; LINES_MAX],
    /// Order-Status: the lines.
    pub status: StatusShown,
}

/// A worker's buffers.
#[derive(Clone, Debug)]
pub struct Scratch {
    /// The data that a terminal shows.
    pub screen: Screen,
    /// The customers with the requested last name.
    customers: Vec<(u32, Person)>,
    /// The items of a district's last orders.
    items: ItemSet,
}

impl Default for Scratch {
    fn default() -> Self {
        let screen = Screen {
            warehouse: Site::new_zeroed(),
            district: Site::new_zeroed(),
            customer: Person::new_zeroed(),
            customer_data: [0; payment::DATA_SHOWN_BYTES],
            lines: [LineShown::default(); LINES_MAX],
            status: StatusShown::default(),
        };
        // The most frequent name belongs to about 50 of a district's 3,000 customers, plus or minus 20.
        Self { screen, customers: Vec::with_capacity(128), items: ItemSet::new() }
    }
}

/// A worker's counts of its commits, for the checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Commits by district, counted from 0 over all warehouses. The list ends at the highest district with
    /// a commit.
    districts: Vec<Commits>,
    /// The number of audits, and the number of audits that found a violation.
    audits: (u64, u64),
    /// The finding of the first audit that found a violation.
    finding: Option<FailedCondition>,
    /// The number of analytic transactions.
    analytics: u64,
}

/// Commits in one district.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Commits {
    new_orders: u64,
    payments: u64,
    /// The number of delivered orders, not of Deliveries.
    delivered: u64,
}

impl Ledger {
    fn district(&mut self, number: usize) -> &mut Commits {
        if self.districts.len() <= number {
            self.districts.resize(number + 1, Commits::default());
        }
        &mut self.districts[number]
    }
}

/// Returns a row that must exist. A missing row means that an optimistic scheme shows rows of different
/// moments, or that the data is damaged, which the checks detect.
#[inline]
fn found<O>(row: Option<O>) -> Result<O, Abort> {
    row.ok_or(Abort::ReadChanged)
}

/// Accepts an insert whose key must be new. A key that exists has the causes named at [`found`].
#[inline]
fn is_new(inserted: bool) -> Result<(), Abort> {
    if inserted { Ok(()) } else { Err(Abort::ReadChanged) }
}

impl Workload for Tpcc {
    const NAME: &'static str = "tpcc";
    const TYPES: &'static [TxnType] = &[
        TxnType { name: "new_order", read_only: false },
        TxnType { name: "payment", read_only: false },
        TxnType { name: "order_status", read_only: true },
        TxnType { name: "delivery", read_only: false },
        TxnType { name: "stock_level", read_only: true },
        TxnType { name: "audit", read_only: true },
        TxnType { name: "analytic", read_only: false },
        TxnType { name: "analytic_query", read_only: true },
    ];
    const SETTINGS: &'static [Setting] = SETTINGS;
    type Input = Input;
    type Scratch = Scratch;
    type Output = Output;
    type Ledger = Ledger;

    fn declare(values: &Values, drive: Drive, schema: &mut Schema) -> Result<Self, SettingError> {
        let settings = Settings::new(values, drive.clients, drive.seed)?;
        let tables = Tables::declare(&settings, schema);
        let counters = if settings.is_eased { settings.districts() } else { 0 };
        let first = u64::from(settings.customers) + 1;
        let order_numbers = (0..counters).map(|_| Counter::new(first)).collect();
        let skips = matches!(settings.delivery, DeliveryChoice::SkipIfRunning | DeliveryChoice::StopAtAbort);
        let warehouses = if skips { usize::from(settings.warehouses) } else { 0 };
        let deliveries = (0..warehouses).map(|_| Running::default()).collect();
        Ok(Self { settings, drive, tables, order_numbers, deliveries })
    }

    fn terminals(values: &Values) -> Option<u64> {
        settings::terminals(values)
    }

    fn pace(&self, kind: usize) -> Pace {
        self.settings.pace(kind)
    }

    fn forecast(&self) -> Forecast {
        forecast::forecast(&self.settings, self.drive)
    }

    fn load(&self, share: Share, loader: &mut impl Loader) {
        self.load_share(share, loader);
    }

    fn implicit(&self) -> Option<Arc<dyn ImplicitRows>> {
        Some(Arc::new(implicit::Rows::new(&self.settings, self.tables)))
    }

    fn load_explicit(&self, share: Share, loader: &mut impl Loader) {
        self.load_small(share, loader);
    }

    #[inline]
    fn generate(&self, client: ClientId, sequence: u64, rng: &mut Rng) -> Input {
        self.settings.generate(client, sequence, rng)
    }

    #[inline]
    fn kind(&self, input: &Input) -> usize {
        match input {
            Input::Analytic(_) => self.settings.analytics.kind(),
            _ => input.kind(),
        }
    }

    fn homes(&self, input: &Input) -> Homes {
        input.homes()
    }

    fn footprint(&self, input: &Input, footprint: &mut InputFootprint) {
        footprint::add(&self.tables, self.settings.is_eased, input, footprint);
    }

    #[inline]
    fn execute<T: Transaction>(
        &self,
        input: &Input,
        scratch: &mut Scratch,
        txn: &mut T,
    ) -> Result<Output, Abort> {
        match input {
            Input::NewOrder(input) => self.new_order(input, &mut scratch.screen, txn),
            Input::Payment(input) => self.payment(input, scratch, txn),
            Input::OrderStatus(input) => self.order_status(input, scratch, txn),
            Input::Delivery(input) => self.delivery(input, txn),
            Input::StockLevel(input) => self.stock_level(input, &mut scratch.items, txn),
            Input::Audit(input) => self.audit(input, txn),
            Input::Analytic(input) => self.analytic(input, txn),
        }
    }

    #[inline]
    fn rest(&self, input: &Input, _: &Output) -> Option<Input> {
        match input {
            Input::Delivery(input) => input.rest().map(Input::Delivery),
            _ => None,
        }
    }

    #[inline]
    fn committed(&self, ledger: &mut Ledger, input: &Input, output: &Output) {
        match (input, output) {
            (Input::NewOrder(input), _) => {
                ledger.district(district_number(input.warehouse, input.district)).new_orders += 1;
            }
            (Input::Payment(input), _) => {
                ledger.district(district_number(input.warehouse, input.district)).payments += 1;
            }
            (Input::Delivery(input), Output::Delivery { orders }) => {
                self.delivery_committed(input);
                let first = district_number(input.warehouse, 1);
                for (number, &order) in (first..).zip(orders) {
                    ledger.district(number).delivered += u64::from(order != 0);
                }
            }
            (_, Output::Audit { finding }) => {
                ledger.audits.0 += 1;
                ledger.audits.1 += u64::from(finding.is_some());
                ledger.finding = ledger.finding.or(*finding);
            }
            (Input::Analytic(_), _) => ledger.analytics += 1,
            _ => {}
        }
    }

    fn check(&self, view: &impl Quiesced, share: Share, ledgers: &[Ledger]) -> Result<(), Violation> {
        check::check(self, view, share, Some(ledgers))
    }

    fn check_state(&self, view: &impl Quiesced, share: Share) -> Result<(), Violation> {
        check::check(self, view, share, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock::Mock;

    /// Declares the workload with settings that differ from the standard ones, and an empty database.
    pub(super) fn declared(given: &[(&str, &str)], clients: u32) -> (Tpcc, Mock) {
        let given: Vec<_> =
            given.iter().map(|(name, value)| (format!("tpcc.{name}"), value.to_string())).collect();
        let values = Values::new(SETTINGS, &given).expect("legal");
        let mut schema = Schema::new();
        let drive = Drive { workers: 1, clients, seed: 1 };
        let tpcc = Tpcc::declare(&values, drive, &mut schema).expect("not contradictory");
        (tpcc, Mock::new(&schema, &["history", "analytic_history"]))
    }

    /// Declares the workload and loads its database.
    pub(super) fn loaded(given: &[(&str, &str)]) -> (Tpcc, Mock) {
        let (tpcc, mut mock) = declared(given, 3);
        tpcc.load(Share::WHOLE, &mut mock);
        (tpcc, mock)
    }

    /// Runs transactions one after the other. Returns the ledger and the number of rollbacks.
    pub(super) fn run(tpcc: &Tpcc, mock: &mut Mock, count: u32) -> (Ledger, u32) {
        let (mut ledger, mut scratch, mut rollbacks) = (Ledger::default(), Scratch::default(), 0);
        for n in 0..count {
            let rng = &mut Rng::from_path(&[1, u64::from(n)]);
            let mut next = Some(tpcc.generate(ClientId(n % 3), u64::from(n), rng));
            while let Some(input) = next.take() {
                match mock.attempt(|txn| tpcc.execute(&input, &mut scratch, txn)) {
                    Ok(output) => {
                        tpcc.committed(&mut ledger, &input, &output);
                        next = tpcc.rest(&input, &output);
                    }
                    Err(Abort::Rollback) => rollbacks += 1,
                    Err(abort) => panic!("{input:?} aborted: {abort:?}"),
                }
            }
        }
        (ledger, rollbacks)
    }

    /// Runs the check in three shares.
    pub(super) fn check(tpcc: &Tpcc, mock: &Mock, ledgers: &[Ledger]) -> Result<(), Violation> {
        (0..3).try_for_each(|index| tpcc.check(mock, Share { index, of: 3 }, ledgers))
    }

    #[test]
    fn any_number_of_loaders_gives_the_same_rows() {
        let small = [("warehouses", "2"), ("items", "50"), ("customers_per_district", "20")];
        let (_, one) = loaded(&small);
        let (tpcc, mut three) = declared(&small, 1);
        for index in [2, 0, 1] {
            tpcc.load(Share { index, of: 3 }, &mut three);
        }
        assert!(one == three);
    }

    #[test]
    fn another_seed_loads_other_rows() {
        let (mut tpcc, mut mock) = declared(&[("items", "50"), ("customers_per_district", "20")], 1);
        tpcc.load(Share::WHOLE, &mut mock);
        let (_, mut other) = declared(&[], 1);
        tpcc.settings.seed = 2;
        tpcc.load(Share::WHOLE, &mut other);
        assert!(mock != other);
    }

    #[test]
    fn a_warehouse_of_the_standard_loads_and_runs_consistently() {
        let (tpcc, mut mock) = loaded(&[]);
        let tables = &tpcc.tables;
        let counts = [mock.count(tables.customer), mock.count(tables.history), mock.count(tables.order)];
        assert_eq!(counts, [30_000; 3]);
        assert_eq!((mock.count(tables.stock), mock.count(tables.item)), (100_000, 100_000));
        assert_eq!((mock.count(tables.new_order), mock.count(tables.district_next)), (9_000, 10));
        assert!(mock.count(tables.order_line).abs_diff(300_000) < 5_000);
        assert_eq!(check(&tpcc, &mock, &[]), Ok(()));

        let (ledger, rollbacks) = run(&tpcc, &mut mock, 10_000);
        assert_eq!(check(&tpcc, &mock, &[ledger]), Ok(()));
        assert!((20..80).contains(&rollbacks), "{rollbacks} rollbacks of about 4,500 New-Orders");
        assert!(mock.count(tables.order).abs_diff(34_455) < 300);
        assert!(mock.count(tables.new_order).abs_diff(9_000 + 4_455 - 4_000) < 600);
    }

    #[test]
    fn odd_scales_and_remote_shares_run_consistently() {
        let tiny = [("items", "1"), ("customers_per_district", "1")];
        let small = [("items", "40"), ("customers_per_district", "10")];
        for scale in [tiny, small] {
            for (warehouses, pct, home) in [
                ("1", "0", "fixed"),
                ("1", "100", "uniform"),
                ("3", "0", "fixed"),
                ("3", "100", "zipf:0.9"),
                ("7", "50", "fixed"),
            ] {
                let rest = [("warehouses", warehouses), ("home", home)];
                let pcts = [("remote_item_pct", pct), ("remote_payment_pct", pct)];
                let given = [scale.as_slice(), &rest, &pcts].concat();
                let (tpcc, mut mock) = loaded(&given);
                assert_eq!(check(&tpcc, &mock, &[]), Ok(()), "loaded, {given:?}");
                let (ledger, _) = run(&tpcc, &mut mock, 1_500);
                assert_eq!(check(&tpcc, &mock, &[ledger]), Ok(()), "run, {given:?}");
            }
        }
    }

    #[test]
    fn deliveries_of_empty_districts_are_skips() {
        let given = [("items", "40"), ("customers_per_district", "10"), ("mix", "0,0,0,1,0")];
        let (tpcc, mut mock) = loaded(&given);
        let (ledger, _) = run(&tpcc, &mut mock, 20);
        assert_eq!(mock.count(tpcc.tables.new_order), 0);
        assert_eq!(ledger.districts.iter().map(|commits| commits.delivered).sum::<u64>(), 30);
        assert_eq!(check(&tpcc, &mock, &[ledger]), Ok(()));
    }

    #[test]
    fn a_delivery_by_district_does_what_one_transaction_does() {
        let small = [("items", "40"), ("customers_per_district", "10"), ("mix", "45,43,4,20,4")];
        let [whole, apart] = ["one_transaction", "per_district"].map(|delivery| {
            let given = [small.as_slice(), &[("delivery", delivery)]].concat();
            let (tpcc, mut mock) = loaded(&given);
            let (ledger, _) = run(&tpcc, &mut mock, 1_000);
            assert_eq!(check(&tpcc, &mock, core::slice::from_ref(&ledger)), Ok(()), "{delivery}");
            assert!(ledger.districts.iter().all(|commits| commits.delivered > 0), "{delivery}");
            (mock, ledger)
        });
        assert!(whole == apart);
    }

    #[test]
    fn a_delivery_is_skipped_while_another_runs_in_its_warehouse() {
        let given = [
            ("warehouses", "2"),
            ("items", "40"),
            ("customers_per_district", "10"),
            ("mix", "0,0,0,1,0"),
            ("delivery", "skip_if_running"),
        ];
        let (tpcc, mut mock) = loaded(&given);
        let undelivered = mock.count(tpcc.tables.new_order);
        // A client that none of the requests has.
        let other = ClientId(3);
        assert!(tpcc.deliveries.iter().all(|running| running.begin(other)));
        let (ledger, _) = run(&tpcc, &mut mock, 20);
        assert!(ledger.districts.iter().all(|commits| commits.delivered == 0));
        assert_eq!(mock.count(tpcc.tables.new_order), undelivered);
        tpcc.deliveries.iter().for_each(|running| running.end(other));
        let (ledger, _) = run(&tpcc, &mut mock, 20);
        assert_eq!(mock.count(tpcc.tables.new_order), 0);
        assert_eq!(check(&tpcc, &mock, &[ledger]), Ok(()));
    }

    #[test]
    fn an_aborted_delivery_stops_those_that_follow_if_asked_to() {
        for (delivery, works_after) in [("skip_if_running", true), ("stop_at_abort", false)] {
            let given = [("items", "40"), ("customers_per_district", "10"), ("delivery", delivery)];
            let (tpcc, mut mock) = loaded(&given);
            let deliver = |mock: &mut Mock, client| {
                let client = ClientId(client);
                let delivery = Delivery { client, districts: 1..=10, warehouse: 1, carrier: 1, date: 1 };
                let input = Input::Delivery(delivery);
                let output = mock.attempt(|txn| tpcc.execute(&input, &mut Scratch::default(), txn))?;
                Ok::<_, Abort>((input, output))
            };
            // The attempt fails at an order whose customer is missing.
            let key = keys::OrderKey::new(1, 5, 8);
            let spoil = |mock: &mut Mock, customer| {
                mock.attempt(|txn| txn.update(tpcc.tables.order, key, |row| row.customer = customer))
                    .expect("done")
            };
            spoil(&mut mock, 11);
            assert!(deliver(&mut mock, 0).is_err());
            spoil(&mut mock, 1);
            let undelivered = mock.count(tpcc.tables.new_order);
            assert!(deliver(&mut mock, 0).is_ok());
            assert_eq!(mock.count(tpcc.tables.new_order) < undelivered, works_after, "{delivery}");
            // Until the client hears of the commit, others skip theirs, and the same client goes on.
            for (client, works, is_heard) in
                [(1, false, true), (0, works_after, true), (1, works_after, false)]
            {
                let undelivered = mock.count(tpcc.tables.new_order);
                let (input, output) = deliver(&mut mock, client).expect("it commits");
                assert_eq!(mock.count(tpcc.tables.new_order) < undelivered, works, "{delivery}, {client}");
                if is_heard {
                    tpcc.committed(&mut Ledger::default(), &input, &output);
                }
            }
        }
    }

    #[test]
    fn added_payments_leave_what_updates_do() {
        let small = [("items", "40"), ("customers_per_district", "10"), ("mix", "1,4,0,0,0")];
        let [added, updated] = ["on", "off"].map(|commutative| {
            let given = [small.as_slice(), &[("commutative", commutative)]].concat();
            let (tpcc, mut mock) = loaded(&given);
            let (ledger, _) = run(&tpcc, &mut mock, 500);
            assert_eq!(check(&tpcc, &mock, core::slice::from_ref(&ledger)), Ok(()), "{commutative}");
            (mock, ledger)
        });
        assert!(added == updated);
    }

    #[test]
    fn eased_orders_leave_the_districts_alone_and_check() {
        let given = [("items", "40"), ("customers_per_district", "10"), ("profile", "eased")];
        let (tpcc, mut mock) = loaded(&given);
        // The number drawn by an aborted attempt stays unused.
        tpcc.order_numbers[0].take();
        let (ledger, rollbacks) = run(&tpcc, &mut mock, 2_000);
        assert_eq!(rollbacks, 0);
        assert_eq!(check(&tpcc, &mock, core::slice::from_ref(&ledger)), Ok(()));
        let key = keys::DistrictKey::new(1, 1);
        assert_eq!(Quiesced::read(&mock, tpcc.tables.district_next, key, |row| row.order), Some(11));
    }

    #[test]
    fn a_rolled_back_order_leaves_nothing() {
        let given = [
            ("items", "40"),
            ("customers_per_district", "10"),
            ("rollback_pct", "100"),
            ("mix", "1,1,0,0,0"),
        ];
        let (tpcc, mut mock) = loaded(&given);
        let (ledger, rollbacks) = run(&tpcc, &mut mock, 200);
        assert!(rollbacks > 50);
        assert_eq!(mock.count(tpcc.tables.order), 100);
        assert_eq!(check(&tpcc, &mock, &[ledger]), Ok(()));
    }

    #[test]
    fn hot_rows_are_changed_first_or_last() {
        for (given, is_first) in [("first", true), ("last", false)] {
            let (tpcc, mut mock) = loaded(&[("warehouses", "1"), ("hot_rows", given), ("items", "200")]);
            let (mut orders, mut payments, mut scratch) = (0, 0, Scratch::default());
            for n in 0..100 {
                let input = tpcc.generate(ClientId(0), n, &mut Rng::from_path(&[1, n]));
                if mock.attempt(|txn| tpcc.execute(&input, &mut scratch, txn)).is_err() {
                    continue;
                }
                let Tables { warehouse, district_next, customer, stock, .. } = tpcc.tables;
                match input {
                    Input::NewOrder(_) => {
                        assert_eq!(mock.changed_in_order(district_next, stock), is_first, "{input:?}");
                        orders += 1;
                    }
                    Input::Payment(_) => {
                        assert_eq!(mock.changed_in_order(warehouse, district_next), is_first, "{input:?}");
                        assert_eq!(mock.changed_in_order(warehouse, customer), is_first, "{input:?}");
                        payments += 1;
                    }
                    _ => {}
                }
            }
            assert!(orders > 10 && payments > 10, "{orders} orders, {payments} payments");
        }
    }
}
