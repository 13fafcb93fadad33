//! TPC-C over ordered byte keys: all five transactions, written once for every store, with the laboratory's requests
//! (TPC-C 2.4 to 2.8: the standard mix, non-uniform numbers, look-ups by name, one New-Order in a hundred rolled
//! back). Rows are packed. Each row contains all columns of the standard's table, except for the three hottest
//! columns, which have tables of their own.

mod check;
mod load;
mod procedures;
mod rows;

use std::sync::Arc;

use engine::setting::Values;
use engine::{ClientId, Drive, Schema, Workload as _};
use stdx::Rng;
use workloads::tpcc::{Input, Tpcc as Requests};

use crate::peer::{Body, Expected, Key, Session, Stop, Txn};
use crate::tables::{self, TableId};
use crate::work;

/// The number of districts of a warehouse (TPC-C 1.2.1).
const DISTRICTS: u8 = 10;
/// The time of loading, 2020-01-01, in milliseconds since 1970: fixed, so that the same seed makes the same bytes.
const LOADED_AT_MS: u64 = 1_577_836_800_000;
/// The amount that every customer paid before the load, in cents (TPC-C 4.3.3.1).
const FIRST_PAYMENT: i64 = 1_000;

/// The settings of the workload.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The number of warehouses.
    pub warehouses: u16,
    /// The number of items, and of rows of stock for each warehouse: 100,000 in the standard.
    pub items: u32,
    /// The number of customers of a district, and of its orders after loading: 3,000 in the standard.
    pub customers: u32,
    /// The number of clients. Each client has its own warehouse if there are enough.
    pub clients: u32,
    /// The seed. The same seed makes the same requests.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { warehouses: 1, items: 100_000, customers: 3_000, clients: 1, seed: 1 }
    }
}

/// The workload.
pub struct Tpcc {
    settings: Settings,
    requests: Arc<Requests>,
}

impl Tpcc {
    /// Creates the workload with these settings.
    ///
    /// # Errors
    /// The invalid setting and its remedy, as text.
    pub fn new(settings: Settings) -> Result<Self, String> {
        let given = [
            ("tpcc.warehouses", u64::from(settings.warehouses)),
            ("tpcc.items", u64::from(settings.items)),
            ("tpcc.customers_per_district", u64::from(settings.customers)),
        ];
        let given: Vec<_> = given.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        let values = Values::new(Requests::SETTINGS, &given).map_err(|error| error.0)?;
        let drive = Drive { workers: settings.clients, clients: settings.clients, seed: settings.seed };
        let requests = Requests::declare(&values, drive, &mut Schema::new()).map_err(|error| error.0)?;
        Ok(Self { settings, requests: Arc::new(requests) })
    }

    /// The number of orders of each district that are undelivered when loaded: the last 900 of 3,000 (TPC-C
    /// 4.3.3.1).
    fn undelivered(&self) -> u32 {
        self.settings.customers * 3 / 10
    }

    /// Returns all pairs of warehouse and district.
    fn districts(&self) -> impl Iterator<Item = (u16, u8)> {
        (1..=self.settings.warehouses)
            .flat_map(|warehouse| (1..=DISTRICTS).map(move |district| (warehouse, district)))
    }
}

/// The counts of a client's commits.
#[derive(Clone, Copy, Debug, Default)]
struct Ledger {
    new_orders: u64,
    /// The number of lines of New-Orders, and the sum of their quantities.
    lines: u64,
    quantity: u64,
    payments: u64,
    paid: i64,
    delivered: u64,
}

impl Ledger {
    fn and(&self, other: &Self) -> Self {
        Self {
            new_orders: self.new_orders + other.new_orders,
            lines: self.lines + other.lines,
            quantity: self.quantity + other.quantity,
            payments: self.payments + other.payments,
            paid: self.paid + other.paid,
            delivered: self.delivered + other.delivered,
        }
    }
}

/// A client of [`Tpcc`].
pub struct Terminal {
    requests: Arc<Requests>,
    seed: u64,
    number: u32,
    sequence: u64,
    input: Option<Input>,
    ledger: Ledger,
    /// The number of orders that the last execution of a Delivery delivered.
    delivering: u64,
    scratch: procedures::Scratch,
}

impl work::Client for Terminal {
    fn draw(&mut self) {
        let mut rng = Rng::from_path(&[self.seed, u64::from(self.number), self.sequence]);
        self.input = Some(self.requests.generate(ClientId(self.number), self.sequence, &mut rng));
        self.sequence += 1;
    }

    fn committed(&mut self) {
        let ledger = &mut self.ledger;
        match &self.input {
            Some(Input::NewOrder(input)) => {
                ledger.new_orders += 1;
                ledger.lines += input.lines().len() as u64;
                ledger.quantity += input.lines().iter().map(|line| u64::from(line.quantity)).sum::<u64>();
            }
            Some(Input::Payment(input)) => {
                ledger.payments += 1;
                ledger.paid += i64::from(input.amount);
            }
            Some(Input::Delivery(_)) => ledger.delivered += self.delivering,
            _ => {}
        }
    }
}

impl Body for Terminal {
    fn is_read_only(&self) -> bool {
        matches!(self.input, Some(Input::OrderStatus(_) | Input::StockLevel(_) | Input::Audit(_)))
    }

    fn run(&mut self, txn: &mut impl Txn) -> Result<(), Stop> {
        let scratch = &mut self.scratch;
        match &self.input {
            Some(Input::NewOrder(input)) => procedures::new_order(input, scratch, txn),
            Some(Input::Payment(input)) => {
                // An artificial key: the client and its request. It stays the same in a retry.
                let history =
                    Key::new().u16(input.warehouse).u16(self.number as u16).u32(self.sequence as u32);
                procedures::payment(input, &history, scratch, txn)
            }
            Some(Input::OrderStatus(input)) => procedures::order_status(input, scratch, txn),
            Some(Input::Delivery(input)) => {
                self.delivering = procedures::delivery(input, txn)?;
                Ok(())
            }
            Some(Input::StockLevel(input)) => procedures::stock_level(input, scratch, txn),
            Some(Input::Audit(_) | Input::Analytic(_)) | None => Err(Stop::Failed("no request was drawn".into())),
        }
    }
}

impl work::Workload for Tpcc {
    type Client = Terminal;

    fn tables(&self) -> Vec<Expected> {
        let warehouses = usize::from(self.settings.warehouses);
        let districts = warehouses * usize::from(DISTRICTS);
        let customers = districts * self.settings.customers as usize;
        let items = self.settings.items as usize;
        // Reserves room for the orders and payments of a run, in stores that need an expected size.
        let added = (1 << 20).min(15 * customers);
        let expected = |table, rows| Expected { table, rows };
        vec![
            expected(tables::WAREHOUSE, warehouses),
            expected(tables::WAREHOUSE_YTD, warehouses),
            expected(tables::DISTRICT, districts),
            expected(tables::DISTRICT_YTD, districts),
            expected(tables::DISTRICT_NEXT, districts),
            expected(tables::CUSTOMER, customers),
            expected(tables::CUSTOMER_NAME, customers),
            expected(tables::HISTORY, customers + added),
            expected(tables::NEW_ORDER, customers),
            expected(tables::ORDER, customers + added),
            expected(tables::ORDER_CUSTOMER, customers + added),
            expected(tables::ORDER_LINE, 10 * customers),
            expected(tables::ITEM, items),
            expected(tables::STOCK, warehouses * items),
        ]
    }

    fn rows(&self, give: &mut dyn FnMut(TableId, Key, Vec<u8>) -> Result<(), String>) -> Result<(), String> {
        self.load(give)
    }

    fn client(&self, number: u32) -> Terminal {
        Terminal {
            requests: Arc::clone(&self.requests),
            seed: self.settings.seed,
            number,
            sequence: 0,
            input: None,
            ledger: Ledger::default(),
            delivering: 0,
            scratch: procedures::Scratch::default(),
        }
    }

    fn check(&self, session: &mut impl Session, clients: &[Terminal]) -> Result<(), String> {
        let ledger = clients.iter().fold(Ledger::default(), |sum, client| sum.and(&client.ledger));
        check::check(self, session, &ledger)
    }
}
