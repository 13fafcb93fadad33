//! Trade-Result (TPC-E 3.3.8): the market has executed an order, and all accounts are settled.
//!
//! It reads TRADE_TYPE, CUSTOMER_ACCOUNT, CUSTOMER, SECURITY and the rates of taxes and commissions. It changes the
//! position of the account in HOLDING, HOLDING_HISTORY and HOLDING_SUMMARY, completes the TRADE with a row of
//! TRADE_HISTORY, inserts into SETTLEMENT and CASH_TRANSACTION, and adds to the balance of the account and to the
//! totals of the BROKER.
//!
//! The broker is hot: there are two in each granule, and each trade adds to one. It is written last, so that it is held
//! for as short as possible. The entry of the trade in the index of trades by security moves to the end of its
//! security, which all trades of the security share.

#[cfg(test)]
mod tests;

use core::iter;

use engine::{Abort, Text, Transaction};

use super::super::fees;
use super::super::input::TradeResult;
use super::super::keys::{
    AccountKey, BrokerKey, CustomerKey, HoldingHistoryKey, HoldingKey, SecurityKey, SummaryKey,
    TradeHistoryKey, TradeKey, TradeTypeKey,
};
use super::super::positions::{Closing, close};
use super::super::rows::{
    CashTransaction, Holding, HoldingHistory, Settlement, StatusId, Summary, Trade, TradeHistory, TradeType,
};
use super::super::time::date;
use super::super::{Output, Scratch, Tpce, done, found};
use super::show;
use super::trading::{Change, Commissioned, is_taxed, is_withheld, read_tax, signed_quantity};

/// The days from a trade to its settlement.
const SETTLEMENT_DAYS: u32 = 2;
/// `SE_CASH_TYPE` of a trade that is not on margin.
pub(super) const CASH: &[u8] = b"Cash Account";
/// `SE_CASH_TYPE` of a trade on margin.
pub(super) const MARGIN: &[u8] = b"Margin";

impl Tpce {
    /// Completes a trade. Rolls back if its order was canceled.
    #[inline(never)]
    pub(in super::super) fn trade_result<T: Transaction>(
        &self,
        input: &TradeResult,
        scratch: &mut Scratch,
        txn: &mut T,
    ) -> Result<Output, Abort> {
        let tables = &self.tables;
        let id = input.order.trade;
        txn.prefetch(tables.trade, iter::once(TradeKey::new(id)));
        txn.prefetch(tables.security, iter::once(SecurityKey::new(input.order.security)));
        let mut trade = found(txn.read(tables.trade, TradeKey::new(id), |row| *row)?)?;
        if trade.status != StatusId::Submitted as u8 {
            return Err(Abort::Rollback);
        }
        txn.decided();

        let kind = TradeType::of(trade.kind);
        let is_sell = found(txn.read(tables.trade_type, TradeTypeKey::new(kind), |row| {
            show(row.name);
            row.is_sell != 0
        })?)?;
        let account = found(txn.read(tables.account, AccountKey::new(trade.account), |row| *row)?)?;
        txn.prefetch(tables.customer, iter::once(CustomerKey::new(account.customer)));
        let closing = self.change_position(input, &trade, is_sell, scratch, txn)?;
        if closing.gain() > 0 && is_taxed(account.tax_status) {
            trade.tax = read_tax(tables, account.customer, closing.gain(), &mut scratch.positions, txn)?;
        }

        let key = SecurityKey::new(trade.security);
        let exchange = found(txn.read(tables.security, key, |row| {
            show(row.name);
            row.exchange
        })?)?;
        let tier = found(txn.read(tables.customer, CustomerKey::new(account.customer), |row| row.tier)?)?;
        let commissioned =
            Commissioned { tier, kind, exchange, quantity: trade.quantity, price: input.price };
        trade.commission = commissioned.read(tables, txn)?;
        self.complete(input, &trade, txn)?;

        let (quantity, fees) = (trade.quantity, (trade.charge, trade.commission));
        let mut amount = fees::settlement_amount(is_sell, quantity, input.price, fees.0, fees.1);
        if is_withheld(account.tax_status) {
            amount = amount.wrapping_sub(trade.tax);
        }
        let balance = self.settle(input, &trade, amount, txn)?;
        self.add_to_broker(account.broker, trade.commission, txn)?;
        Ok(Output::TradeResult { balance, gain: closing.gain() })
    }

    /// Closes lots of the position and opens one with the rest (frames 1 and 2).
    fn change_position<T: Transaction>(
        &self,
        input: &TradeResult,
        trade: &Trade,
        is_sell: bool,
        scratch: &mut Scratch,
        txn: &mut T,
    ) -> Result<Closing, Abort> {
        let (tables, id) = (&self.tables, input.order.trade);
        let change = Change {
            account: trade.account,
            security: trade.security,
            quantity: signed_quantity(is_sell, trade.quantity),
            is_lifo: trade.is_lifo != 0,
        };
        let key = SummaryKey::new(trade.account, trade.security);
        let before = txn.read(tables.summary, key, |row| row.quantity)?;
        change.collect_lots(tables, before.unwrap_or(0), &mut scratch.lots, txn)?;
        let lots = scratch.lots.iter().copied();
        let closing = close(lots, change.quantity, input.price, |lot, left| {
            let history = HoldingHistory { before: lot.quantity, after: left };
            done(txn.insert(tables.holding_history, HoldingHistoryKey::new(lot.trade, id), &history)?)?;
            let key = HoldingKey::new(trade.account, trade.security, lot.time, lot.trade);
            if left == 0 {
                done(txn.delete(tables.holding, key)?)
            } else {
                found(txn.update(tables.holding, key, |row| row.quantity = left)?)
            }
        })?;
        if closing.opened != 0 {
            let history = HoldingHistory { before: 0, after: closing.opened };
            done(txn.insert(tables.holding_history, HoldingHistoryKey::new(id, id), &history)?)?;
            let key = HoldingKey::new(trade.account, trade.security, input.time, id);
            let lot = Holding { price: input.price, quantity: closing.opened };
            done(txn.insert(tables.holding, key, &lot)?)?;
        }
        let after = before.unwrap_or(0).wrapping_add(i64::from(change.quantity));
        match before {
            None => done(txn.insert(tables.summary, key, &Summary { quantity: after })?)?,
            Some(_) if after == 0 => done(txn.delete(tables.summary, key)?)?,
            Some(_) => found(txn.update(tables.summary, key, |row| row.quantity = after)?)?,
        }
        Ok(closing)
    }

    /// Completes the trade (frames 3 and 5). The specification writes the tax and the other columns one after the
    /// other.
    fn complete<T: Transaction>(&self, input: &TradeResult, trade: &Trade, txn: &mut T) -> Result<(), Abort> {
        let (tables, id) = (&self.tables, input.order.trade);
        found(txn.update(tables.trade, TradeKey::new(id), |row| {
            row.time = input.time;
            row.commission = trade.commission;
            row.tax = trade.tax;
            row.trade_price = input.price;
            row.status = StatusId::Completed as u8;
        })?)?;
        let history = TradeHistory { time: input.time };
        let key = TradeHistoryKey::new(id, StatusId::Completed);
        done(txn.insert(tables.trade_history, key, &history)?)
    }

    /// Settles the trade: if it is not on margin, its amount is added to the balance (frame 6). Returns the balance.
    fn settle<T: Transaction>(
        &self,
        input: &TradeResult,
        trade: &Trade,
        amount: i64,
        txn: &mut T,
    ) -> Result<i64, Abort> {
        let tables = &self.tables;
        let (key, is_cash) = (TradeKey::new(input.order.trade), trade.is_cash != 0);
        let settlement = Settlement {
            amount,
            due_date: date(input.time).wrapping_add(SETTLEMENT_DAYS),
            cash_type: Text::new(if is_cash { CASH } else { MARGIN }),
            pad: [0; 4],
        };
        done(txn.insert(tables.settlement, key, &settlement)?)?;
        let account = AccountKey::new(trade.account);
        if !is_cash {
            return found(txn.read(tables.account_balance, account, |row| row.balance)?);
        }
        let name = fees::cash_name(TradeType::of(trade.kind), trade.quantity, trade.security);
        let cash = CashTransaction { time: input.time, amount, name, pad: [0; 4] };
        done(txn.insert(tables.cash_transaction, key, &cash)?)?;
        found(txn.update(tables.account_balance, account, |row| {
            row.balance = row.balance.wrapping_add(amount);
            row.balance
        })?)
    }

    /// Adds a trade and its commission to the totals of its broker (frame 5).
    fn add_to_broker<T: Transaction>(&self, broker: u32, commission: i64, txn: &mut T) -> Result<(), Abort> {
        let (table, key) = (self.tables.broker_totals, BrokerKey::new(broker));
        if self.settings.adds_to_broker {
            done(txn.add(table, key, |row| {
                row.trades = 1;
                row.commission = commission;
            })?)
        } else {
            found(txn.update(table, key, |row| {
                row.trades = row.trades.wrapping_add(1);
                row.commission = row.commission.wrapping_add(commission);
            })?)
        }
    }
}
