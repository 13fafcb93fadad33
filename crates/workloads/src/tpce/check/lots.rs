//! The conditions of lots: their histories, and the positions that they make.

use core::ops::ControlFlow;

use engine::{Key, Quiesced, Violation};

use super::super::keys::{HoldingHistoryKey, HoldingKey, SummaryKey};
use super::super::rows::StatusId;
use super::super::scale::{CUSTOMERS, account_id, trade_id};
use super::granule::Granule;
use super::{Check, ensure, while_ok};

/// A lot that is open according to its history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OpenLot {
    account: u64,
    security: u32,
    /// The trade that opened it.
    lot: u64,
    quantity: i32,
    /// The time of this trade.
    time: u64,
    /// Its price.
    price: u32,
}

impl OpenLot {
    /// Returns what HOLDING_HISTORY says of it: the account, the security, the trade that opened it, and the
    /// quantity.
    fn quantity(&self) -> (u64, u32, u64, i32) {
        (self.account, self.security, self.lot, self.quantity)
    }
}

/// A row of HOLDING_HISTORY.
#[derive(Clone, Copy, Debug)]
struct Change {
    trade: u64,
    before: i32,
    after: i32,
}

impl<V: Quiesced> Check<'_, V> {
    /// Checks the part of plus 7 that is about HOLDING_HISTORY, and adds up the changes of each trade. Returns the
    /// lots that are open, in the order of accounts, securities and trades.
    pub(super) fn lots(&self, granule: &mut Granule) -> Result<Vec<OpenLot>, Violation> {
        let first = HoldingHistoryKey::new(trade_id(granule.number, 0), 0);
        let last = HoldingHistoryKey::new(trade_id(granule.number, u64::MAX), u64::MAX);
        let (mut open, mut changes, mut lot, mut result) = (Vec::new(), Vec::new(), 0, Ok(()));
        self.view.scan(self.tpce.tables.holding_history, first..=last, |key, row| {
            if key.lot() != lot {
                result = chain(granule, lot, &mut changes, &mut open);
                changes.clear();
                lot = key.lot();
            }
            changes.push(Change { trade: key.trade(), before: row.before, after: row.after });
            while_ok(&result)
        });
        result?;
        chain(granule, lot, &mut changes, &mut open)?;
        open.sort_unstable_by_key(|lot| (lot.account, lot.security, lot.lot));
        Ok(open)
    }

    /// Checks 3, plus 4, and the parts of plus 7 and plus 16 that are about HOLDING.
    pub(super) fn positions(&self, granule: u32, open: &[OpenLot]) -> Result<(), Violation> {
        let (tables, customers) = (&self.tpce.tables, (granule * CUSTOMERS, (granule + 1) * CUSTOMERS - 1));
        let (first, last) = (account_id(customers.0, 0), account_id(customers.1, 9));
        let mut held = Vec::new();
        self.view.scan(tables.holding, HoldingKey::of_accounts(first, last), |key, row| {
            held.push(OpenLot {
                account: key.account(),
                security: key.security(),
                lot: key.trade(),
                quantity: row.quantity,
                time: key.time(),
                price: row.price,
            });
            ControlFlow::Continue(())
        });
        held.sort_unstable_by_key(|lot| (lot.account, lot.security, lot.lot));
        self.summaries(first, last, &held)?;

        let differing = open.iter().zip(&held).find(|(open, held)| open.quantity() != held.quantity());
        ensure("TPC-E plus 7", differing.is_none() && open.len() == held.len(), || {
            let counts = (open.len(), held.len());
            format!("open are {} lots, {} in HOLDING, first differing: {differing:?}", counts.0, counts.1)
        })?;
        let differing = open.iter().zip(&held).find(|(open, held)| open != held);
        ensure("TPC-E plus 16", differing.is_none(), || format!("by TRADE and in HOLDING: {differing:?}"))
    }

    /// Checks 3 and plus 4, of lots in the order of accounts and securities.
    fn summaries(&self, first: u64, last: u64, held: &[OpenLot]) -> Result<(), Violation> {
        let (mut result, mut rest) = (Ok(()), held);
        let mut next = |key: SummaryKey, quantity: Option<i64>| {
            let of = |lot: &OpenLot| SummaryKey::new(lot.account, lot.security).ordered();
            let lots;
            (lots, rest) = rest.split_at(rest.partition_point(|lot| of(lot) <= key.ordered()));
            let (stray, lots) = lots.split_at(lots.partition_point(|lot| of(lot) < key.ordered()));
            ensure("TPC-E plus 4", stray.is_empty(), || format!("lots without a position: {stray:?}"))?;
            let Some(quantity) = quantity else { return Ok(()) };
            let sum: i64 = lots.iter().map(|lot| i64::from(lot.quantity)).sum();
            let have_sign = lots.iter().all(|lot| i64::from(lot.quantity.signum()) == quantity.signum());
            ensure("TPC-E plus 4", quantity != 0, || format!("{key:?}: HS_QTY is 0"))?;
            ensure("TPC-E 3", quantity == sum, || {
                format!("{key:?}: HS_QTY is {quantity}, H_QTY together {sum}: {lots:?}")
            })?;
            ensure("TPC-E plus 4", have_sign, || format!("{key:?}: HS_QTY is {quantity}: {lots:?}"))
        };
        self.view.scan(self.tpce.tables.summary, SummaryKey::of_accounts(first, last), |key, row| {
            result = next(key, Some(row.quantity));
            while_ok(&result)
        });
        result?;
        // What is left is of no position.
        next(SummaryKey::from_ordered(u64::MAX), None)
    }
}

/// Checks the history of a lot, and adds it to `open` if it is open.
fn chain(
    granule: &mut Granule,
    lot: u64,
    changes: &mut [Change],
    open: &mut Vec<OpenLot>,
) -> Result<(), Violation> {
    // The trade that opened the lot has changed it from 0, and each other has brought it nearer to 0.
    changes.sort_unstable_by_key(|change| {
        (change.trade != lot, core::cmp::Reverse(change.before.unsigned_abs()))
    });
    let Some(opening) = changes.first() else { return Ok(()) };
    let condition = "TPC-E plus 7";
    let opened = granule.place_of(lot).map(|place| granule.trades[place].row);
    let Some(opened) = opened.filter(|_| opening.trade == lot) else {
        return Err(Violation { condition, found: format!("lot {lot} was opened by no trade: {changes:?}") });
    };
    let mut quantity = 0_i32;
    for (at, change) in changes.iter().enumerate() {
        let is_step = if at == 0 {
            change.after != 0
        } else {
            let (before, after) = (quantity.unsigned_abs(), change.after.unsigned_abs());
            after < before && (change.after == 0 || change.after.signum() == quantity.signum())
        };
        ensure(condition, is_step && change.before == quantity, || {
            format!("lot {lot}: {quantity} is followed by {change:?}")
        })?;
        quantity = change.after;
        let Some(place) = granule.place_of(change.trade) else {
            return Err(Violation {
                condition,
                found: format!("lot {lot} was changed by no trade: {change:?}"),
            });
        };
        let traded = &mut granule.trades[place];
        let is_of_position = (traded.row.account, traded.row.security) == (opened.account, opened.security);
        ensure(condition, is_of_position && traded.is(StatusId::Completed), || {
            format!("lot {lot} of {opened:?} was changed by {:?}", traded.row)
        })?;
        traded.changed += i64::from(change.after) - i64::from(change.before);
    }
    if quantity != 0 {
        let (account, security) = (opened.account, opened.security);
        open.push(OpenLot { account, security, lot, quantity, time: opened.time, price: opened.trade_price });
    }
    Ok(())
}
