//! Trade-Cleanup (TPC-E 3.3.12): ends all orders that are under way, pending or submitted. The specification runs it
//! once, before a run; here it may also be a part of a mix.
//!
//! It reads all of `TRADE_REQUEST` by broker, and all trades of a run by security. It writes TRADE, deletes from
//! `TRADE_REQUEST` and inserts into `TRADE_HISTORY`. Its scans cover what every order of all clients inserts, so that
//! it conflicts with all Trade-Orders, Trade-Results and Market-Feeds that run beside it.

use core::ops::ControlFlow;

use engine::{Abort, Direction, Transaction};

use super::super::input::TradeCleanup;
use super::super::keys::{BrokerRequestKey, SecurityTradeKey, TradeHistoryKey, TradeKey};
use super::super::rows::{Status, TradeHistory};
use super::super::{Output, Scratch, Tpce, done, found};

impl Tpce {
    /// Cancels all orders that are under way. Rolls back if there are none.
    pub(in super::super) fn trade_cleanup<T: Transaction>(
        &self,
        input: &TradeCleanup,
        scratch: &mut Scratch,
        txn: &mut T,
    ) -> Result<Output, Abort> {
        let (tables, scale) = (&self.tables, self.settings.scale);
        // All orders are found before the first one is canceled, because that moves the entries of the indexes.
        let trades = &mut scratch.trades;
        trades.clear();
        for broker in 0..scale.brokers() {
            let keys = BrokerRequestKey::of_broker(broker);
            txn.scan_by(tables.request_by_broker, keys, Direction::Forward, |key, _| {
                trades.push((key.trade(), 0));
                ControlFlow::Continue(())
            })?;
        }
        let pending = trades.len();
        for security in 0..scale.securities() {
            let keys = SecurityTradeKey::of_security(security, input.from, u64::MAX);
            txn.scan_by(tables.trade_by_security, keys, Direction::Forward, |key, row| {
                if row.status == Status::Submitted as u8 {
                    trades.push((key.trade(), row.time));
                }
                ControlFlow::Continue(())
            })?;
        }
        let submitted = trades.len() - pending;
        if trades.is_empty() {
            return Err(Abort::Rollback);
        }
        txn.decided();

        for &(trade, _) in &trades[..pending] {
            self.add_status(trade, Status::Submitted, input.time, txn)?;
            self.cancel(trade, input.time, txn)?;
            done(txn.delete(tables.trade_request, TradeKey::new(trade))?)?;
        }
        for &(trade, _) in &trades[pending..] {
            self.cancel(trade, input.time, txn)?;
        }
        Ok(Output::TradeCleanup { pending: pending as u32, submitted: submitted as u32 })
    }

    /// Cancels an order.
    fn cancel<T: Transaction>(&self, trade: u64, time: u64, txn: &mut T) -> Result<(), Abort> {
        self.add_status(trade, Status::Canceled, time, txn)?;
        found(txn.update(self.tables.trade, TradeKey::new(trade), |row| {
            row.time = time;
            row.status = Status::Canceled as u8;
        })?)
    }

    /// Adds a status to the history of a trade.
    fn add_status<T: Transaction>(
        &self,
        trade: u64,
        status: Status,
        time: u64,
        txn: &mut T,
    ) -> Result<(), Abort> {
        let key = TradeHistoryKey::new(trade, status);
        done(txn.insert(self.tables.trade_history, key, &TradeHistory { time })?)
    }
}
