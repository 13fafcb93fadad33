//! Consistency after loading and after a run: conditions 1 to 12 of TPC-C 3.3.2, and further identities
//! that are violated by lost, duplicated or invented updates.
//!
//! | condition | what must hold |
//! |---|---|
//! | 3.3.2.1 | a warehouse's `W_YTD` is the sum of its districts' `D_YTD` |
//! | 3.3.2.2 | `D_NEXT_O_ID` - 1 is the greatest order number, also in NEW-ORDER unless that is empty |
//! | 3.3.2.3 | NEW-ORDER has no gaps in a district |
//! | 3.3.2.4 | a district has as many lines as its orders say together |
//! | 3.3.2.5 | an order has no carrier exactly when it is in NEW-ORDER |
//! | 3.3.2.6 | an order has as many lines as it says, numbered from 1 |
//! | 3.3.2.7 | a line has no delivery date exactly when its order has no carrier |
//! | 3.3.2.8, 9 | `W_YTD`, `D_YTD` are what HISTORY says was paid there |
//! | 3.3.2.10 | a balance is what was delivered to the customer less what he paid |
//! | 3.3.2.11 | delivered orders are those of the load, and since then as many as `C_DELIVERY_CNT` says |
//! | 3.3.2.12 | `C_BALANCE` + `C_YTD_PAYMENT` is what was delivered to the customer |
//! | plus 13 | `C_PAYMENT_CNT` is how often HISTORY names the customer |
//! | plus 14 | order numbers are 1 to `D_NEXT_O_ID` - 1, without holes |
//! | plus 15 | a district has as many new orders as New-Orders committed there |
//! | plus 16 | a stock's counters are what the lines say was ordered of it |
//! | plus 17 | a stock's quantity is what the load and the lines make of it, modulo 91 |
//! | plus 18 | `O_ALL_LOCAL` says whether all lines are supplied by the home warehouse |
//! | plus 19 | a new line's amount and text are what item and stock say |
//! | plus 20 | secondary indexes hold each row once, and lead to it |
//! | plus 21 | HISTORY has as many rows of a district as Payments committed there |
//! | plus 22 | as many orders of a district are delivered as Deliveries reported |
//! | plus 23 | no audit that committed during the run found something |
//! | plus 24 | the log of the analytic transactions has a row of each that committed and logs |
//!
//! With the profile `eased` order numbers have holes, and districts do not count orders. Then 3.3.2.2, 3
//! and plus 14 require only that no number reaches the counter's next number, that `D_NEXT_O_ID` is as
//! loaded, and that the loaded orders have no holes.
//!
//! A share checks its own districts, warehouses and stocks. References to them from elsewhere (payments
//! in other districts, lines of other warehouses) are found by reading all of HISTORY, ORDER and
//! ORDER-LINE. Rows are merged in key order, or summed in arrays indexed by dense numbers.

mod customers;
mod orders;
mod stock;
#[cfg(test)]
mod tests;

use core::fmt;
use core::ops::{ControlFlow, Range};

use engine::{Quiesced, Row, Share, Table, Violation};

use super::keys::{CustomerKey, DistrictKey, OrderKey, OrderLineKey, WarehouseKey, district_number};
use super::rows::DISTRICTS;
use super::settings::Settings;
use super::{Commits, Ledger, Tpcc};
use stock::Taken;

/// The inputs of all conditions.
struct Check<'c, V> {
    tpcc: &'c Tpcc,
    view: &'c V,
    /// The ledgers of the run, or `None` if nobody kept them: the conditions that need them are then
    /// skipped.
    ledgers: Option<&'c [Ledger]>,
}

/// A district.
#[derive(Clone, Copy, Debug)]
struct District {
    warehouse: u16,
    district: u8,
}

impl District {
    /// Returns the district with a number, counted from 0 over all warehouses.
    fn of(number: usize) -> Self {
        let (warehouse, district) = Settings::district_of(number);
        Self { warehouse, district }
    }

    fn number(self) -> usize {
        district_number(self.warehouse, self.district)
    }

    fn key(self) -> DistrictKey {
        DistrictKey::new(self.warehouse, self.district)
    }

    fn order(self, order: u32) -> OrderKey {
        OrderKey::new(self.warehouse, self.district, order)
    }

    fn line(self, order: u32, line: u8) -> OrderLineKey {
        OrderLineKey::new(self.warehouse, self.district, order, line)
    }

    fn customer(self, customer: u32) -> CustomerKey {
        CustomerKey::new(self.warehouse, self.district, customer)
    }
}

impl fmt::Display for District {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "warehouse {}, district {}", self.warehouse, self.district)
    }
}

/// Checks a share.
pub(super) fn check<V: Quiesced>(
    tpcc: &Tpcc,
    view: &V,
    share: Share,
    ledgers: Option<&[Ledger]>,
) -> Result<(), Violation> {
    let check = Check { tpcc, view, ledgers };
    if share.index == 0 {
        check.audits()?;
        check.analytics()?;
    }
    let settings = &tpcc.settings;
    let own = |count: u64| {
        let range = share.of_range(count);
        range.start as usize..range.end as usize
    };
    let districts = own(settings.districts() as u64);
    let paid = Paid::collect(&check, districts.clone())?;
    for warehouse in own(u64::from(settings.warehouses)) {
        check.warehouse(warehouse as u16 + 1, &paid)?;
    }
    let orders = check.orders(districts.clone());
    let prices = check.prices();
    let mut taken = Taken::new(settings, own(u64::from(settings.warehouses) * u64::from(settings.items)));
    for number in districts.clone() {
        let at = District::of(number);
        check.district(at, orders::of_district(&orders, at), &paid, (&prices, &mut taken))?;
    }
    check.take_elsewhere(districts, &mut taken);
    check.stocks(&taken)
}

/// The payments recorded in HISTORY.
struct Paid {
    /// The districts of the share, whose customers are counted.
    own: Range<usize>,
    customers: usize,
    /// Cents and rows by customer of the share's districts.
    by_customer: Vec<(i64, u64)>,
    /// Cents and rows by district, of all districts, that received the payment.
    by_district: Vec<(i64, u64)>,
}

impl Paid {
    fn collect<V: Quiesced>(check: &Check<'_, V>, own: Range<usize>) -> Result<Self, Violation> {
        let settings = &check.tpcc.settings;
        let customers = settings.customers as usize;
        let mut paid = Self {
            customers,
            by_customer: vec![(0, 0); own.len() * customers],
            by_district: vec![(0, 0); settings.districts()],
            own,
        };
        let mut stray = None;
        let is_district = |warehouse, district| {
            (1..=settings.warehouses).contains(&warehouse) && (1..=DISTRICTS).contains(&district)
        };
        check.view.heap(check.tpcc.tables.history, Share::WHOLE, |row| {
            if !is_district(row.warehouse, row.district)
                || !is_district(row.customer_warehouse, row.customer_district)
                || !(1..=settings.customers).contains(&row.customer)
            {
                stray = Some(*row);
                return;
            }
            add(&mut paid.by_district[district_number(row.warehouse, row.district)], row.amount);
            let of = district_number(row.customer_warehouse, row.customer_district);
            if paid.own.contains(&of) {
                let number = (of - paid.own.start) * customers + row.customer as usize - 1;
                add(&mut paid.by_customer[number], row.amount);
            }
        });
        ensure("TPC-C plus 13", stray.is_none(), || format!("a HISTORY row names nobody: {stray:?}"))?;
        Ok(paid)
    }

    /// The cents paid in a district, and the number of payments.
    fn district(&self, at: District) -> (i64, u64) {
        self.by_district[at.number()]
    }

    /// The cents paid by each customer of one of the share's districts, and the number of payments.
    fn customers(&self, at: District) -> &[(i64, u64)] {
        let first = (at.number() - self.own.start) * self.customers;
        &self.by_customer[first..first + self.customers]
    }
}

fn add((cents, rows): &mut (i64, u64), amount: u32) {
    *cents += i64::from(amount);
    *rows += 1;
}

fn ensure(condition: &'static str, holds: bool, found: impl FnOnce() -> String) -> Result<(), Violation> {
    if holds { Ok(()) } else { Err(Violation { condition, found: found() }) }
}

/// Continues a scan until a violation is found.
fn while_ok(result: &Result<(), Violation>) -> ControlFlow<()> {
    if result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

impl<V: Quiesced> Check<'_, V> {
    /// Returns a row that must exist before a condition can be checked.
    fn row<R: Row + Copy>(
        &self,
        condition: &'static str,
        table: Table<R>,
        key: R::Key,
    ) -> Result<R, Violation> {
        let row = self.view.read(table, key, |row| *row);
        row.ok_or_else(|| Violation { condition, found: format!("no row of {table:?} at {key:?}") })
    }

    /// Returns the commits of all workers in a district, or `None` if there are no ledgers.
    fn commits(&self, at: District) -> Option<Commits> {
        let of_worker = self.ledgers?.iter().filter_map(|ledger| ledger.districts.get(at.number()));
        Some(of_worker.fold(Commits::default(), |sum, commits| Commits {
            new_orders: sum.new_orders + commits.new_orders,
            payments: sum.payments + commits.payments,
            delivered: sum.delivered + commits.delivered,
        }))
    }

    /// Checks plus 23.
    fn audits(&self) -> Result<(), Violation> {
        let ledgers = self.ledgers.unwrap_or_default();
        let sum = |count: fn(&Ledger) -> u64| ledgers.iter().map(count).sum::<u64>();
        let (audits, torn) = (sum(|ledger| ledger.audits.0), sum(|ledger| ledger.audits.1));
        let first = ledgers.iter().find_map(|ledger| ledger.finding);
        first.map_or(Ok(()), |first| {
            let found = format!("{torn} of {audits} audits committed with a finding; one of them {first}");
            Err(Violation { condition: "TPC-C plus 23", found })
        })
    }

    /// Checks plus 24.
    fn analytics(&self) -> Result<(), Violation> {
        let Some(ledgers) = self.ledgers else { return Ok(()) };
        let committed = ledgers.iter().map(|ledger| ledger.analytics).sum::<u64>();
        let due = if self.tpcc.settings.analytics.are_logged { committed } else { 0 };
        let mut logged = 0;
        self.view.heap(self.tpcc.tables.analytic_history, Share::WHOLE, |_| logged += 1);
        ensure("TPC-C plus 24", logged == due, || {
            format!("{logged} rows in the log, {due} analytic transactions logged")
        })
    }

    /// Checks 3.3.2.1 and 3.3.2.8.
    fn warehouse(&self, warehouse: u16, paid: &Paid) -> Result<(), Violation> {
        let tables = &self.tpcc.tables;
        let ytd = self.row("TPC-C 3.3.2.1", tables.warehouse, WarehouseKey::new(warehouse))?.ytd;
        let (mut of_districts, mut of_history) = (0, 0);
        for district in 1..=DISTRICTS {
            let at = District { warehouse, district };
            of_districts += self.row("TPC-C 3.3.2.1", tables.district_ytd, at.key())?.ytd;
            of_history += paid.district(at).0;
        }
        ensure("TPC-C 3.3.2.1", ytd == of_districts, || {
            format!("warehouse {warehouse}: W_YTD is {ytd}, its districts' D_YTD together {of_districts}")
        })?;
        ensure("TPC-C 3.3.2.8", ytd == of_history, || {
            format!("warehouse {warehouse}: W_YTD is {ytd}, HISTORY says {of_history}")
        })
    }
}
