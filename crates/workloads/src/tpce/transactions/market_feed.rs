//! Market-Feed (TPC-E 3.3.3): prices from the market, which trigger orders with limits.
//!
//! It writes `LAST_TRADE` of twenty securities, scans `TRADE_REQUEST` for the orders that their prices trigger, and
//! submits these: it writes TRADE, deletes from `TRADE_REQUEST` and inserts into `TRADE_HISTORY`.
//!
//! `LAST_TRADE` is hot: nearly all types read it, and a Market-Feed that is one transaction holds what it has written
//! until its last entry is done. Its entries come in the order of the ticker, and not in that of securities, so that
//! two Market-Feeds may wait for each other.

use core::ops::ControlFlow;

use engine::{Abort, Direction, Transaction};

use super::super::input::MarketFeed;
use super::super::keys::{LimitKey, SecurityKey, TradeHistoryKey, TradeKey};
use super::super::market::{MarketOrder, Quote};
use super::super::rows::{Status, TradeHistory, TradeType};
use super::super::{Output, Scratch, Tpce, Triggered, done, found};

impl Tpce {
    /// Tells prices, and submits the orders that they trigger.
    pub(in super::super) fn market_feed<T: Transaction>(
        &self,
        input: &MarketFeed,
        scratch: &mut Scratch,
        txn: &mut T,
    ) -> Result<Output, Abort> {
        txn.decided();
        let quotes = input.quotes();
        txn.prefetch(self.tables.last_trade, quotes.iter().map(|quote| SecurityKey::new(quote.security)));
        let mut triggered = Triggered::default();
        for quote in quotes {
            let key = SecurityKey::new(quote.security);
            found(txn.update(self.tables.last_trade, key, |row| {
                row.price = quote.price;
                row.volume = row.volume.wrapping_add(i64::from(quote.quantity));
                row.time = input.time;
            })?)?;
            self.find_triggered(quote, &triggered, &mut scratch.orders, txn)?;
            for &order in &scratch.orders {
                self.submit(order.trade, input.time, txn)?;
                triggered.push(order);
            }
        }
        Ok(Output::MarketFeed { triggered })
    }

    /// Collects the pending orders that a price triggers into the emptied buffer, as many as have room beside those
    /// that were triggered before.
    fn find_triggered<T: Transaction>(
        &self,
        quote: &Quote,
        before: &Triggered,
        orders: &mut Vec<MarketOrder>,
        txn: &mut T,
    ) -> Result<(), Abort> {
        orders.clear();
        let mut all = *before;
        let (security, price) = (quote.security, quote.price);
        let ranges = [
            (TradeType::StopLoss, price, u32::MAX),
            (TradeType::LimitSell, 0, price),
            (TradeType::LimitBuy, price, u32::MAX),
        ];
        for (kind, low, high) in ranges {
            if all.is_full() {
                break;
            }
            let limits = LimitKey::between(security, kind, low, high);
            txn.scan_by(self.tables.request_by_limit, limits, Direction::Forward, |key, row| {
                let order = MarketOrder { trade: key.trade(), security, quantity: row.quantity };
                orders.push(order);
                all.push(order);
                if all.is_full() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
        }
        Ok(())
    }

    /// Submits a pending order to the market.
    fn submit<T: Transaction>(&self, id: u64, time: u64, txn: &mut T) -> Result<(), Abort> {
        let tables = &self.tables;
        found(txn.update(tables.trade, TradeKey::new(id), |row| {
            row.time = time;
            row.status = Status::Submitted as u8;
        })?)?;
        done(txn.delete(tables.trade_request, TradeKey::new(id))?)?;
        let key = TradeHistoryKey::new(id, Status::Submitted);
        done(txn.insert(tables.trade_history, key, &TradeHistory { time })?)
    }
}
