//! Consistency after loading and after a run: conditions 1 to 3 of TPC-E, and further identities that are violated by
//! lost, duplicated or invented updates, by phantoms, and by index entries that go astray.
//!
//! | condition | what must hold |
//! |---|---|
//! | 1 | `B_NUM_TRADES` is the number of completed trades of the broker's accounts |
//! | 2 | `B_COMM_TOTAL` is the sum of their `T_COMM` |
//! | 3 | `HS_QTY` is the sum of `H_QTY` over the lots of the position |
//! | plus 4 | no position is 0; a lot is of a position, and has its sign |
//! | plus 5 | a trade is of an account, and had the states that lead to its present one |
//! | plus 6 | TRADE_REQUEST has the pending trades, each as TRADE and its account say |
//! | plus 7 | the changes of a lot form a chain from the trade that opened it to `H_QTY`, or to 0 if it is closed |
//! | plus 8 | `CA_BAL` is what it was after loading, and the settlements of cash trades since |
//! | plus 9 | `SE_AMT` is `CT_AMT` |
//! | plus 10 | secondary indexes hold each row once, and lead to it |
//! | plus 11 | a completed trade has changed lots by its quantity, others have changed none |
//! | plus 12 | there are as many trades as were loaded or ordered |
//! | plus 13 | as many trades are pending, submitted, completed and canceled as commits say |
//! | plus 14 | the log of the analytic transactions has a row of each |
//! | plus 15 | `SE_AMT` is what quantity, price, charge, commission and withheld tax make |
//! | plus 16 | `T_DTS` is when the trade got its present state; a lot has the time and the price of its trade |
//! | plus 17 | each security has a last trade with prices in their range |
//! | plus 18 | a customer has two tax rates, one of a country, and a list of 50 to 150 securities |
//!
//! A trade that is completed, and no other one, has a price and a row of SETTLEMENT, and if it is for cash, one of
//! CASH_TRANSACTION: this is a part of plus 5.
//!
//! `SE_CASH_TYPE`, `CT_NAME` and `T_EXEC_NAME` are not compared with anything, because Trade-Update changes them back
//! and forth. The time of an order may be after the time at which it was triggered or answered, because the desks of
//! the market have clocks of their own (see `market`), so that times of different states are not compared.
//!
//! A share checks the granules of its own: their accounts, brokers and securities, and the trades of these accounts,
//! which it finds by the index of trades by account. It reads one granule at a time, in the order of keys, and merges.
//! That each row is in the indexes, and that no row belongs to a trade that is not there, is found by visiting a share
//! of the rows of each table. Only the first share, which compares totals with the commits, visits all trades.

mod granule;
mod indexes;
mod lots;
mod market;
#[cfg(test)]
mod tests;

use core::ops::ControlFlow;

use engine::{Quiesced, Row, Share, Table, Violation};

use super::rows::StatusId;
use super::{Ledger, Tpce};

/// The inputs of all conditions.
struct Check<'c, V> {
    tpce: &'c Tpce,
    view: &'c V,
    /// The ledgers of the run, or `None` if nobody kept them: the conditions that need them are then skipped.
    ledgers: Option<&'c [Ledger]>,
}

/// Checks a share.
pub(super) fn check<V: Quiesced>(
    tpce: &Tpce,
    view: &V,
    share: Share,
    ledgers: Option<&[Ledger]>,
) -> Result<(), Violation> {
    let check = Check { tpce, view, ledgers };
    let granules = share.of_range(u64::from(tpce.settings.scale.granules()));
    // The indexes come first, because the other conditions find rows by them.
    check.rows_are_indexed(share)?;
    if share.index == 0 {
        check.small_indexes()?;
    }
    for granule in granules.clone() {
        check.indexes_of_granule(granule as u32)?;
    }
    check.belong_to_trades(share)?;
    for granule in granules {
        check.granule(granule as u32)?;
        check.market(granule as u32)?;
    }
    if share.index == 0 { check.totals() } else { Ok(()) }
}

fn ensure(condition: &'static str, holds: bool, found: impl FnOnce() -> String) -> Result<(), Violation> {
    if holds { Ok(()) } else { Err(Violation { condition, found: found() }) }
}

/// Continues a scan until a violation is found.
fn while_ok(result: &Result<(), Violation>) -> ControlFlow<()> {
    if result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

impl<V: Quiesced> Check<'_, V> {
    /// Reads a row.
    fn read<R: Row + Copy>(&self, table: Table<R>, key: R::Key) -> Option<R> {
        self.view.read(table, key, |row| *row)
    }

    /// Returns a row that must exist before a condition can be checked.
    fn row<R: Row + Copy>(
        &self,
        condition: &'static str,
        table: Table<R>,
        key: R::Key,
    ) -> Result<R, Violation> {
        self.read(table, key)
            .ok_or_else(|| Violation { condition, found: format!("no row of {table:?} at {key:?}") })
    }

    /// Checks plus 12, 13 and 14 against the commits of all workers.
    fn totals(&self) -> Result<(), Violation> {
        let Some(ledgers) = self.ledgers else { return Ok(()) };
        let sum = |count: fn(&Ledger) -> u64| ledgers.iter().map(count).sum::<u64>();
        let (market, limit) = (sum(|ledger| ledger.market_orders), sum(|ledger| ledger.limit_orders));
        let (triggered, results) = (sum(|ledger| ledger.triggered), sum(|ledger| ledger.results));
        let canceled = [sum(|ledger| ledger.canceled_pending), sum(|ledger| ledger.canceled_submitted)];
        let (tables, settings) = (&self.tpce.tables, &self.tpce.settings);

        let mut by_status = [0_u64; 5];
        self.view.rows(tables.trade, Share::WHOLE, |_, row| {
            by_status[usize::from(row.status).min(4)] += 1;
        });
        let (all, initial) = (by_status.iter().sum::<u64>(), settings.initial_trades());
        ensure("TPC-E plus 12", all == initial + market + limit, || {
            format!("{all} trades; {initial} were loaded, {market} and {limit} orders committed")
        })?;
        let is = |status: StatusId, due: u64| {
            let there = by_status[status as usize];
            ensure("TPC-E plus 13", there == due, || {
                format!("{there} trades are {status:?}, {due} follow from what committed: {ledgers:?}")
            })
        };
        is(StatusId::Completed, initial.wrapping_add(results))?;
        is(StatusId::Pending, limit.wrapping_sub(triggered).wrapping_sub(canceled[0]))?;
        is(StatusId::Submitted, (market + triggered).wrapping_sub(results).wrapping_sub(canceled[1]))?;
        is(StatusId::Canceled, canceled[0] + canceled[1])?;

        let (mut logged, analytics) = (0, sum(|ledger| ledger.analytics));
        self.view.heap(tables.assets_history, Share::WHOLE, |_| logged += 1);
        let due = if settings.logs_analytics { analytics } else { 0 };
        ensure("TPC-E plus 14", logged == due, || {
            format!("{logged} rows in the log, {due} analytic transactions logged")
        })
    }
}
