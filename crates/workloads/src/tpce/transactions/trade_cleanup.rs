//! Trade-Cleanup (TPC-E 3.3.12): ends all orders that are under way, pending or submitted. The specification runs it
//! once, before a run; here it may also be a part of a mix.
//!
//! It reads all of TRADE_REQUEST by broker, and all trades of a run by security. It writes TRADE, deletes from
//! TRADE_REQUEST and inserts into TRADE_HISTORY. Its scans cover what every order of all clients inserts, so that
//! it conflicts with all Trade-Orders, Trade-Results and Market-Feeds that run beside it.

use core::ops::ControlFlow;

use engine::{Abort, Direction, Transaction};

use super::super::input::TradeCleanup;
use super::super::keys::{BrokerRequestKey, SecurityTradeKey, TradeHistoryKey, TradeKey};
use super::super::rows::{StatusId, TradeHistory};
use super::super::{Output, Scratch, Tpce, done, found};

impl Tpce {
    /// Cancels all orders that are under way. Rolls back if there are none.
    #[inline(never)]
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
                if row.status == StatusId::Submitted as u8 {
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
            self.add_status(trade, StatusId::Submitted, input.time, txn)?;
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
        self.add_status(trade, StatusId::Canceled, time, txn)?;
        found(txn.update(self.tables.trade, TradeKey::new(trade), |row| {
            row.time = time;
            row.status = StatusId::Canceled as u8;
        })?)
    }

    /// Adds a status to the history of a trade.
    fn add_status<T: Transaction>(
        &self,
        trade: u64,
        status: StatusId,
        time: u64,
        txn: &mut T,
    ) -> Result<(), Abort> {
        let key = TradeHistoryKey::new(trade, status);
        done(txn.insert(self.tables.trade_history, key, &TradeHistory { time })?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::input::{Input, TradeOrder};
    use super::super::super::rows::TradeType;
    use super::super::testing::{House, ORDERED_AT};
    use super::super::testing_writes::{NOW, order, trade};
    use super::*;

    /// The time of the loaded orders is a minute before that of their inputs.
    const ORDERED: u64 = NOW - 60_000;

    fn cleanup(from: u64) -> Input {
        Input::TradeCleanup(TradeCleanup { from, time: NOW })
    }

    fn status(house: &House, number: u64) -> StatusId {
        let key = TradeKey::new(trade(number));
        StatusId::of(house.row(house.tpce.tables.trade, key).expect("there").status)
    }

    #[test]
    fn pending_and_submitted_orders_are_canceled_with_their_histories() {
        let mut house = House::trading("");
        house.pending(&order(1, 0, TradeType::LimitBuy));
        house.pending(&TradeOrder { security: 3, ..order(2, 1, TradeType::StopLoss) });
        house.pending(&TradeOrder { security: 2, ..order(3, 2, TradeType::LimitSell) });
        house.submitted(&TradeOrder { security: 2, ..order(4, 0, TradeType::MarketBuy) }, 2_500);
        let output = house.commits(&cleanup(ORDERED));
        assert_eq!(output, Output::TradeCleanup { pending: 3, submitted: 1 });
        assert_eq!(house.mock.count(house.tpce.tables.trade_request), 0);
        for number in 1..=4 {
            assert_eq!(status(&house, number), StatusId::Canceled);
            let row = house.row(house.tpce.tables.trade, TradeKey::new(trade(number))).unwrap();
            assert_eq!(row.time, NOW);
        }
        for number in 1..=3 {
            let expected =
                [(StatusId::Pending, ORDERED), (StatusId::Submitted, NOW), (StatusId::Canceled, NOW)];
            assert_eq!(house.states(trade(number)), expected);
        }
        assert_eq!(house.states(trade(4)), [(StatusId::Submitted, ORDERED), (StatusId::Canceled, NOW)]);
        house.rolls_back(&cleanup(ORDERED));
    }

    #[test]
    fn completed_trades_and_those_before_the_run_stay() {
        let mut house = House::trading("");
        house.completed_trade(trade(1), 0, 1, NOW - 5, true);
        house.submitted(&TradeOrder { time: ORDERED_AT + 60_000, ..order(2, 0, TradeType::MarketBuy) }, 1);
        house.rolls_back(&cleanup(ORDERED_AT + 1));
        house.submitted(&order(3, 0, TradeType::MarketBuy), 1);
        house.commits(&cleanup(ORDERED_AT + 1));
        let expected = [StatusId::Completed, StatusId::Submitted, StatusId::Canceled];
        assert_eq!([1, 2, 3].map(|number| status(&house, number)), expected);
    }
}
