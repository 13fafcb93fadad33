//! Market-Feed (TPC-E 3.3.3): prices from the market, which trigger orders with limits.
//!
//! It writes LAST_TRADE of twenty securities, scans TRADE_REQUEST for the orders that their prices trigger, and
//! submits these: it writes TRADE, deletes from TRADE_REQUEST and inserts into TRADE_HISTORY.
//!
//! LAST_TRADE is hot: nearly all types read it, and a Market-Feed that is one transaction holds what it has written
//! until its last entry is done. Its entries come in the order of the ticker, and not in that of securities, so that
//! two Market-Feeds may wait for each other.

use core::ops::ControlFlow;

use engine::{Abort, Direction, Transaction};

use super::super::input::MarketFeed;
use super::super::keys::{LimitKey, SecurityKey, TradeHistoryKey, TradeKey};
use super::super::market::{MarketOrder, Quote};
use super::super::rows::{StatusId, TradeHistory, TradeType};
use super::super::{Output, Scratch, Tpce, Triggered, done, found};

impl Tpce {
    /// Tells prices, and submits the orders that they trigger.
    #[inline(never)]
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
            row.status = StatusId::Submitted as u8;
        })?)?;
        done(txn.delete(tables.trade_request, TradeKey::new(id))?)?;
        let key = TradeHistoryKey::new(id, StatusId::Submitted);
        done(txn.insert(tables.trade_history, key, &TradeHistory { time })?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::TRIGGERED_MAX;
    use super::super::super::input::{Input, TradeOrder};
    use super::super::super::market::FEED_ENTRIES;
    use super::super::super::rows::LastTrade;
    use super::super::testing::House;
    use super::super::testing_writes::{NOW, PRICE, order, trade};
    use super::*;

    /// A feed of these quotes, and of others of securities that no test has orders for.
    fn feed(first: &[(u32, u32)]) -> Input {
        let mut quotes = [Quote { security: 0, price: PRICE, quantity: 1 }; FEED_ENTRIES];
        for (quote, &(security, price)) in quotes.iter_mut().zip(first) {
            *quote = Quote { security, price, quantity: 300 };
        }
        Input::MarketFeed(MarketFeed { desk: 0, quotes, entries: 0..FEED_ENTRIES as u8, time: NOW })
    }

    fn triggered(house: &mut House, first: &[(u32, u32)]) -> Vec<u64> {
        let Output::MarketFeed { triggered } = house.commits(&feed(first)) else { panic!("a Market-Feed") };
        triggered.as_slice().iter().map(|order| order.trade).collect()
    }

    fn pending(house: &mut House, number: u64, kind: TradeType, limit: u32) {
        house.pending(&TradeOrder { limit, ..order(number, 0, kind) });
    }

    #[test]
    fn the_last_trade_has_the_price_the_time_and_the_added_volume() {
        let mut house = House::trading("");
        house.commits(&feed(&[(1, 2_600), (2, 2_100), (1, 2_601)]));
        let row = |security| house.row(house.tpce.tables.last_trade, SecurityKey::new(security)).unwrap();
        let expected = |price, volume| LastTrade { time: NOW, volume, price, open_price: PRICE };
        assert_eq!([row(1), row(2)], [expected(2_601, 605), expected(2_100, 305)]);
        assert_eq!(row(0), expected(PRICE, 5 + 17));
        assert_ne!(row(3).time, NOW);
    }

    #[test]
    fn a_feed_by_entry_tells_its_own_entries_only() {
        let mut house = House::trading("");
        let Input::MarketFeed(mut input) = feed(&[(1, 2_600), (2, 2_100)]) else { panic!("a feed") };
        input.entries = 1..2;
        house.commits(&Input::MarketFeed(input));
        let price = |security| {
            house.row(house.tpce.tables.last_trade, SecurityKey::new(security)).map(|row| row.price)
        };
        assert_eq!((price(1), price(2)), (Some(PRICE), Some(2_100)));
    }

    #[test]
    fn limits_are_triggered_at_equality_and_beyond() {
        for (kind, limits) in [
            (TradeType::StopLoss, [2_499, 2_500, 2_501]),
            (TradeType::LimitSell, [2_501, 2_500, 2_499]),
            (TradeType::LimitBuy, [2_499, 2_500, 2_501]),
        ] {
            let mut house = House::trading("");
            for (number, limit) in limits.into_iter().enumerate() {
                pending(&mut house, number as u64, kind, limit);
            }
            let mut all = triggered(&mut house, &[(1, 2_500)]);
            all.sort_unstable();
            assert_eq!(all, [trade(1), trade(2)], "{kind:?}");
        }
    }

    #[test]
    fn a_triggered_order_is_submitted_and_waits_no_longer() {
        let mut house = House::trading("");
        let tables = house.tpce.tables;
        pending(&mut house, 7, TradeType::LimitBuy, 2_500);
        let Output::MarketFeed { triggered } = house.commits(&feed(&[(1, 2_400)])) else { panic!("a feed") };
        let expected = MarketOrder { trade: trade(7), security: 1, quantity: 100 };
        assert_eq!(triggered.as_slice(), [expected]);
        let key = TradeKey::new(trade(7));
        let row = house.row(tables.trade, key).unwrap();
        assert_eq!((row.status, row.time), (StatusId::Submitted as u8, NOW));
        assert_eq!(house.row(tables.trade_request, key), None);
        assert_eq!(house.states(trade(7))[1..], [(StatusId::Submitted, NOW)]);
        assert_eq!(super::tests::triggered(&mut house, &[(1, 2_400)]), []);
    }

    #[test]
    fn an_order_is_triggered_once_by_two_quotes_and_never_by_those_of_other_securities() {
        let mut house = House::trading("");
        pending(&mut house, 7, TradeType::LimitBuy, 2_500);
        assert_eq!(triggered(&mut house, &[(2, 2_400)]), []);
        assert_eq!(triggered(&mut house, &[(1, 2_400), (1, 2_300)]), [trade(7)]);
    }

    #[test]
    fn orders_beyond_the_room_wait_for_the_next_price() {
        let mut house = House::trading("");
        for number in 0..TRIGGERED_MAX as u64 + 3 {
            let kind = if number < 15 { TradeType::StopLoss } else { TradeType::LimitBuy };
            pending(&mut house, number, kind, 2_500);
        }
        house.pending(&TradeOrder { security: 2, limit: 2_500, ..order(99, 0, TradeType::LimitBuy) });
        assert_eq!(triggered(&mut house, &[(1, 2_400), (2, 2_400)]).len(), TRIGGERED_MAX);
        assert_eq!(house.mock.count(house.tpce.tables.trade_request), 4);
        assert_eq!(triggered(&mut house, &[(1, 2_400), (2, 2_400)]).len(), 4);
    }
}
