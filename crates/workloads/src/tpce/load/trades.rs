//! Brokers, the trades of their accounts, and the positions that follow: BROKER, TRADE, TRADE_HISTORY, SETTLEMENT,
//! CASH_TRANSACTION, HOLDING_HISTORY, HOLDING and HOLDING_SUMMARY.
//!
//! Trades change positions in the order in which they are completed, exactly as Trade-Result does it. The trades of a
//! broker's accounts are loaded together, because the broker has their sums. Only the open lots are in memory.

use core::convert::Infallible;

use engine::{Loader, Share};

use super::super::Tpce;
use super::super::fees;
use super::super::keys::{BrokerKey, HoldingHistoryKey, HoldingKey, SummaryKey, TradeHistoryKey, TradeKey};
use super::super::names::{self, Person};
use super::super::positions::{Closing, Lot, close};
use super::super::rows::{
    Broker, BrokerTotals, CashTransaction, Holding, HoldingHistory, Settlement, StatusId, Summary, Trade,
    TradeExecutor, TradeHistory,
};
use super::super::scale::BASKET_MAX;
use super::super::schema::Tables;
use super::super::settings::Settings;
use super::super::time::{calendar, date, price};
use super::orders::{AccountFacts, Book, Completions, Order, place_of_account};
use super::texts::text;

/// The days from a trade to its settlement (TPC-E 3.3.8, frame 6).
const SETTLEMENT_DAYS: u32 = 2;

/// Loads a share of the rows: of brokers with the trades and the positions of their accounts.
pub(super) fn load(tpce: &Tpce, share: Share, loader: &mut impl Loader) {
    for broker in share.of_range(u64::from(tpce.settings.scale.brokers())) {
        load_broker(tpce, broker as u32, loader);
    }
}

fn load_broker(tpce: &Tpce, broker: u32, loader: &mut impl Loader) {
    let (settings, tables) = (&tpce.settings, &tpce.tables);
    let book = Book::new(settings.scale, broker);
    let mut positions = Positions::new(&book);
    let mut totals = BrokerTotals { trades: 0, commission: 0 };
    for order in Completions::new(settings, &book) {
        let facts = book.facts(order.account).expect("only orders of the book are drawn");
        let price = price(order.security, order.completed);
        let closing = positions.change(&order, price, tables, loader);
        let result = TradeRows::new(settings, facts, &order, price, &closing);
        totals.trades += 1;
        totals.commission += result.trade.commission;
        result.load(&order, tables, loader);
    }
    let row = Broker { name: names::broker(broker), status: StatusId::Active as u8, pad: [0; 6] };
    loader.insert((tables.broker_totals, tables.broker), BrokerKey::new(broker), (&totals, &row));
    positions.load(&book, tables, loader);
}

/// The open lots of a broker's accounts.
struct Positions {
    /// By the place of the account in the granule, and the place of the security in its basket. Lots are in the order
    /// of their times.
    lots: Vec<Vec<Lot>>,
    /// The lots that a trade has touched, with their quantity afterwards.
    touched: Vec<(Lot, i32)>,
}

impl Positions {
    fn new(book: &Book) -> Self {
        Self { lots: vec![Vec::new(); book.places() * BASKET_MAX], touched: Vec::new() }
    }

    fn of(&mut self, account: u64, place: usize) -> &mut Vec<Lot> {
        &mut self.lots[place_of_account(account) * BASKET_MAX + place]
    }

    /// Changes a position by a trade, and loads how its lots change.
    fn change(&mut self, order: &Order, price: u32, tables: &Tables, loader: &mut impl Loader) -> Closing {
        let mut touched = core::mem::take(&mut self.touched);
        touched.clear();
        let lots = self.of(order.account, usize::from(order.place));
        let sign = if order.kind.is_sell() { -1 } else { 1 };
        let quantity = sign * order.quantity as i32;
        let change = |lot: &Lot, left| {
            touched.push((*lot, left));
            Ok::<_, Infallible>(())
        };
        let Ok(closing) = if order.is_lifo {
            close(lots.iter().rev().copied(), quantity, price, change)
        } else {
            close(lots.iter().copied(), quantity, price, change)
        };
        for &(changed, left) in &touched {
            let lot = lots.iter_mut().find(|lot| lot.trade == changed.trade);
            lot.expect("a lot that was closed was open").quantity = left;
            let row = HoldingHistory { before: changed.quantity, after: left };
            loader.insert(tables.holding_history, HoldingHistoryKey::new(changed.trade, order.trade), &row);
        }
        lots.retain(|lot| lot.quantity != 0);
        if closing.opened != 0 {
            let time = calendar(order.completed);
            lots.push(Lot { time, trade: order.trade, price, quantity: closing.opened });
            let row = HoldingHistory { before: 0, after: closing.opened };
            loader.insert(tables.holding_history, HoldingHistoryKey::new(order.trade, order.trade), &row);
        }
        self.touched = touched;
        closing
    }

    /// Loads the lots that are left, and their sums.
    fn load(mut self, book: &Book, tables: &Tables, loader: &mut impl Loader) {
        for (account, basket) in book.baskets() {
            for (place, &security) in basket.iter().enumerate() {
                let lots = core::mem::take(self.of(account, place));
                if lots.is_empty() {
                    continue;
                }
                for lot in &lots {
                    let key = HoldingKey::new(account, security, lot.time, lot.trade);
                    let row = Holding { price: lot.price, quantity: lot.quantity };
                    loader.insert(tables.holding, key, &row);
                }
                let quantity = lots.iter().map(|lot| i64::from(lot.quantity)).sum();
                loader.insert(tables.summary, SummaryKey::new(account, security), &Summary { quantity });
            }
        }
    }
}

/// The rows of a trade that is completed.
struct TradeRows {
    trade: Trade,
    executor: TradeExecutor,
    settlement: Settlement,
}

impl TradeRows {
    fn new(settings: &Settings, facts: &AccountFacts, order: &Order, price: u32, closing: &Closing) -> Self {
        let &Order { security, quantity, kind, .. } = order;
        let time = calendar(order.completed);
        let charge = fees::charge(kind, facts.tier);
        let exchange = fees::exchange_of_security(security);
        let rate = fees::commission_rate(facts.tier, kind, exchange, quantity);
        let commission = fees::commission(rate, quantity, price);
        let tax = if facts.tax_status == 0 { 0 } else { fees::tax(closing.gain(), facts.rates_sum) };
        let withheld = if facts.tax_status == 1 { tax } else { 0 };
        let amount = fees::settlement_amount(kind.is_sell(), quantity, price, charge, commission) - withheld;
        let name = if order.executor == facts.owner {
            facts.owner_name
        } else {
            Person::customer(settings.scale, order.executor).full_name()
        };
        Self {
            trade: Trade {
                time,
                account: order.account,
                charge,
                commission,
                tax,
                security,
                quantity,
                bid_price: order.bid_price,
                trade_price: price,
                status: StatusId::Completed as u8,
                kind: kind as u8,
                is_cash: (!order.is_margin).into(),
                is_lifo: order.is_lifo.into(),
                pad: [0; 4],
            },
            executor: TradeExecutor { name, pad: [0; 7] },
            settlement: Settlement {
                amount,
                due_date: date(time) + SETTLEMENT_DAYS,
                cash_type: text(if order.is_margin { "Margin" } else { "Cash Account" }),
                pad: [0; 4],
            },
        }
    }

    fn load(&self, order: &Order, tables: &Tables, loader: &mut impl Loader) {
        let key = TradeKey::new(order.trade);
        loader.insert((tables.trade, tables.trade_executor), key, (&self.trade, &self.executor));
        loader.insert(tables.settlement, key, &self.settlement);
        if !order.is_margin {
            let row = CashTransaction {
                time: self.trade.time,
                amount: self.settlement.amount,
                name: fees::cash_name(order.kind, order.quantity, order.security),
                pad: [0; 4],
            };
            loader.insert(tables.cash_transaction, key, &row);
        }
        let mut history = |status, time| {
            let row = TradeHistory { time: calendar(time) };
            loader.insert(tables.trade_history, TradeHistoryKey::new(order.trade, status), &row);
        };
        if !order.kind.is_market() {
            history(StatusId::Pending, order.sent);
        }
        history(StatusId::Submitted, order.submitted);
        history(StatusId::Completed, order.completed);
    }
}
