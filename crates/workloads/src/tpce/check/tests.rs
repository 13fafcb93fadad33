//! Claims that each condition detects its violation: every test damages a consistent database in one way and names the
//! condition that must fail first.
//!
//! The database is made by hand, so that the checks are tested without the loader and the transactions.

use std::collections::BTreeMap;

use engine::{Row, Schema, Share, Table, Text, Transaction, Violation, Workload};
use zerocopy::FromZeros;

use super::super::keys::{
    AccountKey, AccountTradeKey, BrokerKey, BrokerRequestKey, CompanyKey, CustomerKey, CustomerTaxrateKey,
    HoldingHistoryByTradeKey, HoldingHistoryKey, HoldingKey, IssueKey, LimitKey, NameKey, SecurityKey,
    SecurityTradeKey, SummaryKey, TradeHistoryKey, TradeKey, WatchItemKey, WatchListKey,
};
use super::super::load::initial_balance;
use super::super::names;
use super::super::rows::{
    Account, AccountBalance, AssetsHistory, Broker, BrokerTotals, CashTransaction, Company, CompanyRating,
    Customer, CustomerEmail, CustomerTaxrate, Holding, HoldingHistory, LastTrade, Security,
    SecurityExchangeDate, Settlement, StatusId, Summary, Trade, TradeExecutor, TradeHistory, TradeRequest,
    TradeType, WatchItem, WatchList,
};
use super::super::scale::{
    BROKERS, COMPANIES, CUSTOMERS, SECURITIES, account_id, account_ids, broker_of_account,
    company_of_security, customer_id, trade_id,
};
use super::super::settings::is_skipped;
use super::super::time::calendar;
use super::super::{Ledger, Tpce};
use crate::mock::{Fixture, Mock, declare};

/// The first trades of the run: an initial one has a number below.
const RUN: u64 = 58;
/// The price of all trades.
const PRICE: u32 = 2_500;
const CHARGE: i64 = 450;
const COMMISSION: i64 = 70;
const TAX: i64 = 9;

/// A small database after a run, with its ledger.
struct House {
    tpce: Tpce,
    mock: Mock,
    ledger: Ledger,
    /// The open lots by account and security: the trade and the quantity.
    lots: BTreeMap<(u64, u32), Vec<(u64, i32)>>,
}

/// Returns a row of zeros, to be completed by the columns that matter.
fn zeroed<R: FromZeros>() -> R {
    R::new_zeroed()
}

/// Returns the first account of a customer.
fn account(customer: u32) -> u64 {
    account_id(customer, 0)
}

/// Returns the trade with a number.
fn trade(number: u64) -> u64 {
    trade_id(0, number)
}

fn time(number: u64) -> u64 {
    calendar(number * 1_000)
}

fn tax_status(account: u64) -> u8 {
    (account % 3) as u8
}

/// The account that has three trades in one security, and two lots in another.
const TRADER: u32 = 5;
const TRADED: u32 = 3;
const TWICE_BOUGHT: u32 = 4;

impl House {
    /// Makes the database:
    ///
    /// - Trades 0 and 1 of the trader buy 400 and 200 of a security, and trade 2 sells 500 of it, which closes the
    ///   first lot and leaves 100 of the second one. Trades 3 and 4 buy 100 and 200 of another security.
    /// - All other initial trades buy 100 each, every one of another customer.
    /// - In the run, the first customer sells what he bought, and another one buys on margin; one limit order is
    ///   pending, one is triggered and not answered yet, one is canceled while it is pending; an order without a limit
    ///   is answered by nobody, and one is canceled.
    fn new() -> Self {
        let mut schema = Schema::new();
        let tpce: Tpce =
            declare("tpce.customers=200 tpce.scale_factor=100000", &mut schema).expect("legal settings");
        assert_eq!(tpce.settings.slots_of_granule(), RUN);
        let mock = Mock::new(&schema, &["assets_history"]);
        let mut house = Self { tpce, mock, ledger: Ledger::default(), lots: BTreeMap::new() };
        (0..CUSTOMERS).for_each(|customer| house.load_customer(customer));
        house.load_market();

        let buy = (TradeType::MarketBuy, true);
        house.complete(0, TRADER, TRADED, 400, buy, &[(0, 0, 400)]);
        house.complete(1, TRADER, TRADED, 200, buy, &[(1, 0, 200)]);
        let sell = (TradeType::MarketSell, true);
        house.complete(2, TRADER, TRADED, 500, sell, &[(0, 400, 0), (1, 200, 100)]);
        house.complete(3, TRADER, TWICE_BOUGHT, 100, buy, &[(3, 0, 100)]);
        house.complete(4, TRADER, TWICE_BOUGHT, 200, (TradeType::LimitBuy, true), &[(4, 0, 200)]);
        for number in (5..RUN).filter(|&number| !is_skipped(number)) {
            house.complete(number, number as u32 + 5, number as u32, 100, buy, &[(number, 0, 100)]);
        }

        house.complete(RUN, 10, 5, 100, sell, &[(5, 100, 0)]);
        house.complete(RUN + 1, 0, 9, 800, (TradeType::MarketBuy, false), &[(RUN + 1, 0, 800)]);
        house.ledger.market_orders += 2;
        house.ledger.results += 2;
        let limit = |number| (number, TRADER, TRADED, 100, (TradeType::LimitBuy, true));
        house.order(limit(RUN + 2), StatusId::Pending);
        house.order(limit(RUN + 3), StatusId::Submitted);
        house.order(limit(RUN + 4), StatusId::Canceled);
        house.ledger.limit_orders += 3;
        house.ledger.triggered += 1;
        house.ledger.canceled_pending += 1;
        let market = |number| (number, TRADER, TRADED, 100, (TradeType::MarketSell, true));
        house.order(market(RUN + 5), StatusId::Submitted);
        house.order(market(RUN + 6), StatusId::Canceled);
        house.ledger.market_orders += 2;
        house.ledger.canceled_submitted += 1;
        house.load(house.tpce.tables.assets_history, AccountKey::new(account(0)), &zeroed::<AssetsHistory>());
        house.ledger.analytics += 1;
        house.load_positions();
        assert_eq!(house.check(), Ok(()));
        assert_eq!(house.tpce.check_state(&house.mock, Share::WHOLE), Ok(()));
        house
    }

    fn load<R: Row>(&mut self, table: Table<R>, key: R::Key, row: &R) {
        let inserted = self.mock.attempt(|txn| txn.insert(table, key, row));
        assert_eq!(inserted, Ok(true), "the key is new: {key:?}");
    }

    fn load_customer(&mut self, customer: u32) {
        let (tables, id) = (self.tpce.tables, customer_id(customer));
        let row = Customer { tax_id: names::tax_id(self.tpce.settings.scale, customer), ..zeroed() };
        let groups = (tables.customer, tables.customer_email);
        let inserted = self
            .mock
            .attempt(|txn| txn.insert(groups, CustomerKey::new(id), (&row, &zeroed::<CustomerEmail>())));
        assert_eq!(inserted, Ok(true));
        for rate in [2, 77] {
            let row = CustomerTaxrate { rate: u64::from(rate) };
            self.load(tables.customer_taxrate, CustomerTaxrateKey::new(id, rate), &row);
        }
        self.load(tables.watch_list, WatchListKey::new(id), &WatchList { customer: id });
        for security in 0..50 {
            let row = WatchItem { security: u64::from(security) };
            self.load(tables.watch_item, WatchItemKey::new(id, security), &row);
        }
        for account in account_ids(customer) {
            let balance = AccountBalance { balance: initial_balance(self.tpce.settings.scale, account) };
            let (broker, tax_status) = (broker_of_account(account), tax_status(account));
            let row = Account { customer: id, broker, tax_status, ..zeroed() };
            let (groups, key) = ((tables.account_balance, tables.account), AccountKey::new(account));
            assert_eq!(self.mock.attempt(|txn| txn.insert(groups, key, (&balance, &row))), Ok(true));
        }
    }

    fn load_market(&mut self) {
        let tables = self.tpce.tables;
        for broker in 0..BROKERS {
            let row = Broker { name: names::broker(broker), ..zeroed() };
            let (groups, key) = ((tables.broker_totals, tables.broker), BrokerKey::new(broker));
            let rows = (&zeroed::<BrokerTotals>(), &row);
            assert_eq!(self.mock.attempt(|txn| txn.insert(groups, key, rows)), Ok(true));
        }
        for company in 0..COMPANIES {
            let row = Company { name: names::company(company), industry: company as u8, ..zeroed() };
            let (groups, key) = ((tables.company, tables.company_rating), CompanyKey::new(company));
            let rows = (&row, &zeroed::<CompanyRating>());
            assert_eq!(self.mock.attempt(|txn| txn.insert(groups, key, rows)), Ok(true));
        }
        for security in 0..SECURITIES {
            let row = Security { company: company_of_security(security), ..zeroed() };
            let (groups, key) =
                ((tables.security, tables.security_exchange_date), SecurityKey::new(security));
            let rows = (&row, &zeroed::<SecurityExchangeDate>());
            assert_eq!(self.mock.attempt(|txn| txn.insert(groups, key, rows)), Ok(true));
            let row = LastTrade { time: time(0), volume: 0, price: PRICE, open_price: PRICE };
            self.load(tables.last_trade, key, &row);
        }
    }

    /// Places an order and leads it to a status. Returns its row.
    fn order(
        &mut self,
        (number, customer, security, quantity, (kind, is_cash)): (u64, u32, u32, u32, (TradeType, bool)),
        status: StatusId,
    ) -> Trade {
        let (tables, key, account) = (self.tpce.tables, TradeKey::new(trade(number)), account(customer));
        let is_done = status == StatusId::Completed;
        let row = Trade {
            time: time(number) + status as u64,
            account,
            charge: CHARGE,
            commission: COMMISSION,
            tax: if is_done { TAX } else { 0 },
            security,
            quantity,
            bid_price: PRICE,
            trade_price: if is_done { PRICE } else { 0 },
            status: status as u8,
            kind: kind as u8,
            is_cash: is_cash.into(),
            ..zeroed()
        };
        let groups = (tables.trade, tables.trade_executor);
        let rows = (&row, &zeroed::<TradeExecutor>());
        assert_eq!(self.mock.attempt(|txn| txn.insert(groups, key, rows)), Ok(true));
        let states = match (kind.is_market(), status) {
            (false, StatusId::Pending) => vec![StatusId::Pending],
            (false, StatusId::Submitted) => vec![StatusId::Pending, status],
            (false, _) => vec![StatusId::Pending, StatusId::Submitted, status],
            (true, StatusId::Submitted) => vec![status],
            (true, _) => vec![StatusId::Submitted, status],
        };
        for state in states {
            let row = TradeHistory { time: time(number) + state as u64 };
            self.load(tables.trade_history, TradeHistoryKey::new(trade(number), state), &row);
        }
        if status == StatusId::Pending {
            let row = TradeRequest {
                security,
                quantity,
                bid_price: PRICE,
                broker: broker_of_account(account),
                kind: kind as u8,
                ..zeroed()
            };
            self.load(tables.trade_request, key, &row);
        }
        row
    }

    /// Places an order and completes it. `changes` are those of lots: the number of the trade that opened the lot, and
    /// the quantity before and after.
    fn complete(
        &mut self,
        number: u64,
        customer: u32,
        security: u32,
        quantity: u32,
        (kind, is_cash): (TradeType, bool),
        changes: &[(u64, i32, i32)],
    ) {
        let row = self.order((number, customer, security, quantity, (kind, is_cash)), StatusId::Completed);
        let (tables, key) = (self.tpce.tables, TradeKey::new(trade(number)));
        let value = i64::from(quantity * PRICE) * if kind.is_sell() { 1 } else { -1 };
        let withheld = if tax_status(row.account) == 1 { TAX } else { 0 };
        let amount = value - CHARGE - COMMISSION - withheld;
        self.load(tables.settlement, key, &Settlement { amount, ..zeroed() });
        if is_cash {
            self.load(tables.cash_transaction, key, &CashTransaction { amount, ..zeroed() });
            if number >= RUN {
                self.update(tables.account_balance, AccountKey::new(row.account), |row| {
                    row.balance += amount;
                });
            }
        }
        self.update(tables.broker_totals, BrokerKey::new(broker_of_account(row.account)), |row| {
            row.trades += 1;
            row.commission += COMMISSION;
        });
        for &(lot, before, after) in changes {
            let key = HoldingHistoryKey::new(trade(lot), trade(number));
            self.load(tables.holding_history, key, &HoldingHistory { before, after });
            let lots = self.lots.entry((row.account, security)).or_default();
            lots.retain(|&(other, _)| other != lot);
            lots.extend((after != 0).then_some((lot, after)));
        }
    }

    fn load_positions(&mut self) {
        let tables = self.tpce.tables;
        for ((account, security), lots) in core::mem::take(&mut self.lots) {
            for &(lot, quantity) in &lots {
                let at = time(lot) + StatusId::Completed as u64;
                let key = HoldingKey::new(account, security, at, trade(lot));
                self.load(tables.holding, key, &Holding { price: PRICE, quantity });
            }
            if !lots.is_empty() {
                let quantity = lots.iter().map(|&(_, quantity)| i64::from(quantity)).sum();
                self.load(tables.summary, SummaryKey::new(account, security), &Summary { quantity });
            }
        }
    }

    /// Checks in three shares.
    fn check(&self) -> Result<(), Violation> {
        let ledgers = core::slice::from_ref(&self.ledger);
        (0..3).try_for_each(|index| self.tpce.check(&self.mock, Share { index, of: 3 }, ledgers))
    }

    /// Returns the condition that fails first.
    fn found(&self) -> &'static str {
        self.check().expect_err("one of three shares finds the corruption");
        let ledgers = core::slice::from_ref(&self.ledger);
        let violation = self.tpce.check(&self.mock, Share::WHOLE, ledgers);
        violation.expect_err("the whole finds the corruption").condition
    }

    fn update<R: Row>(&mut self, table: Table<R>, key: R::Key, change: impl FnOnce(&mut R)) {
        let changed = self.mock.damage(|txn| txn.update(table, key, change));
        assert_eq!(changed, Ok(Some(())), "there is a row to change");
    }

    fn change_trade(&mut self, number: u64, change: impl FnOnce(&mut Trade)) {
        self.update(self.tpce.tables.trade, TradeKey::new(trade(number)), change);
    }

    fn change_request(&mut self, number: u64, change: impl FnOnce(&mut TradeRequest)) {
        self.update(self.tpce.tables.trade_request, TradeKey::new(trade(number)), change);
    }

    fn change_account(&mut self, customer: u32, change: impl FnOnce(&mut AccountBalance)) {
        self.update(self.tpce.tables.account_balance, AccountKey::new(account(customer)), change);
    }

    fn change_last_trade(&mut self, security: u32, change: impl FnOnce(&mut LastTrade)) {
        self.update(self.tpce.tables.last_trade, SecurityKey::new(security), change);
    }

    fn delete<R: Row>(&mut self, table: Table<R>, key: R::Key) {
        assert_eq!(self.mock.attempt(|txn| txn.delete(table, key)), Ok(true), "there is a row to delete");
    }
}

/// A way to damage a database.
type Damage = fn(&mut House);

/// Asserts that each damage violates the condition, and no other one before.
fn assert_found(condition: &str, damages: &[Damage]) {
    let mut house = House::new();
    let (mock, ledger) = (house.mock.clone(), house.ledger);
    for (number, damage) in damages.iter().enumerate() {
        damage(&mut house);
        assert_eq!(house.found(), condition, "damage {number}");
        (house.mock, house.ledger) = (mock.clone(), ledger);
    }
}

fn holding(number: u64) -> HoldingKey {
    HoldingKey::new(account(TRADER), TWICE_BOUGHT, time(number) + StatusId::Completed as u64, trade(number))
}

/// A position with two lots.
fn position() -> SummaryKey {
    SummaryKey::new(account(TRADER), TWICE_BOUGHT)
}

#[test]
fn a_lost_update_of_a_broker_is_found() {
    assert_found(
        "TPC-E 1",
        &[|house| {
            house.update(house.tpce.tables.broker_totals, BrokerKey::new(0), |row| row.trades -= 1);
        }],
    );
    assert_found(
        "TPC-E 2",
        &[|house| {
            house.update(house.tpce.tables.broker_totals, BrokerKey::new(1), |row| row.commission -= 1);
        }],
    );
}

#[test]
fn a_position_that_is_not_the_sum_of_its_lots_is_found() {
    assert_found(
        "TPC-E 3",
        &[
            |house| house.update(house.tpce.tables.summary, position(), |row| row.quantity += 100),
            |house| house.update(house.tpce.tables.holding, holding(3), |row| row.quantity += 100),
            |house| house.delete(house.tpce.tables.holding, holding(4)),
            |house| {
                let key = SummaryKey::new(account(TRADER), 100);
                house.load(house.tpce.tables.summary, key, &Summary { quantity: 100 });
            },
        ],
    );
}

#[test]
fn a_position_of_zero_and_lots_of_no_position_or_of_the_other_sign_are_found() {
    assert_found(
        "TPC-E plus 4",
        &[
            |house| house.delete(house.tpce.tables.summary, position()),
            |house| {
                house.update(house.tpce.tables.holding, holding(3), |row| row.quantity = -100);
                house.update(house.tpce.tables.holding, holding(4), |row| row.quantity = 400);
            },
            |house| {
                let key = SummaryKey::new(account(TRADER), 100);
                house.load(house.tpce.tables.summary, key, &Summary { quantity: 0 });
            },
            |house| {
                // After the last position of all.
                let key = HoldingKey::new(account(199), SECURITIES - 1, time(4), trade(4));
                house.load(house.tpce.tables.holding, key, &Holding { price: PRICE, quantity: 1 });
            },
        ],
    );
}

#[test]
fn a_trade_whose_states_and_papers_contradict_each_other_is_found() {
    assert_found(
        "TPC-E plus 5",
        &[
            |house| house.delete(house.tpce.tables.settlement, TradeKey::new(trade(7))),
            |house| house.delete(house.tpce.tables.cash_transaction, TradeKey::new(trade(7))),
            |house| house.load(house.tpce.tables.settlement, TradeKey::new(trade(RUN + 5)), &zeroed()),
            |house| house.load(house.tpce.tables.cash_transaction, TradeKey::new(trade(RUN + 1)), &zeroed()),
            |house| house.load(house.tpce.tables.settlement, TradeKey::new(trade(RUN + 99)), &zeroed()),
            |house| {
                let key = TradeHistoryKey::new(trade(4), StatusId::Pending);
                house.delete(house.tpce.tables.trade_history, key);
            },
            |house| {
                let key = TradeHistoryKey::new(trade(7), StatusId::Pending);
                house.load(house.tpce.tables.trade_history, key, &zeroed());
            },
            |house| {
                let key = TradeHistoryKey::new(trade(RUN + 99), StatusId::Pending);
                house.load(house.tpce.tables.trade_history, key, &zeroed());
            },
            |house| house.change_trade(7, |row| row.trade_price = 0),
            |house| house.change_trade(7, |row| row.account += 2_000_000),
            |house| house.change_trade(RUN + 5, |row| row.status = 4),
            |house| house.change_trade(RUN + 5, |row| row.status = 3),
        ],
    );
}

#[test]
fn a_request_that_is_not_its_pending_trade_is_found() {
    const KEY: u64 = RUN + 2;
    assert_found(
        "TPC-E plus 6",
        &[
            |house| house.delete(house.tpce.tables.trade_request, TradeKey::new(trade(KEY))),
            |house| house.change_request(KEY, |row| row.quantity = 200),
            |house| house.change_request(KEY, |row| row.bid_price += 1),
            |house| house.change_request(KEY, |row| row.broker ^= 1),
            |house| house.change_request(KEY, |row| row.security += 1),
            |house| house.change_request(KEY, |row| row.kind = 2),
            |house| house.load(house.tpce.tables.trade_request, TradeKey::new(trade(RUN + 3)), &zeroed()),
            |house| house.load(house.tpce.tables.trade_request, TradeKey::new(trade(RUN + 99)), &zeroed()),
        ],
    );
}

#[test]
fn a_history_of_a_lot_that_is_no_chain_is_found() {
    fn key(lot: u64, number: u64) -> HoldingHistoryKey {
        HoldingHistoryKey::new(trade(lot), trade(number))
    }
    assert_found(
        "TPC-E plus 7",
        &[
            |house| house.delete(house.tpce.tables.holding_history, key(0, 0)),
            |house| house.delete(house.tpce.tables.holding_history, key(0, 2)),
            |house| house.update(house.tpce.tables.holding_history, key(1, 2), |row| row.before = 300),
            |house| house.update(house.tpce.tables.holding_history, key(1, 2), |row| row.after = 0),
            |house| house.update(house.tpce.tables.holding_history, key(1, 2), |row| row.after = -100),
            |house| house.update(house.tpce.tables.holding_history, key(0, 0), |row| row.after = 0),
            // A change by a trade of another account, by one that is not done, and by none.
            |house| {
                let row = HoldingHistory { before: 100, after: 50 };
                house.load(house.tpce.tables.holding_history, key(1, 7), &row);
            },
            |house| {
                let row = HoldingHistory { before: 100, after: 50 };
                house.load(house.tpce.tables.holding_history, key(1, RUN + 5), &row);
            },
            |house| {
                let row = HoldingHistory { before: 100, after: 50 };
                house.load(house.tpce.tables.holding_history, key(1, RUN + 99), &row);
            },
            |house| {
                let row = HoldingHistory { before: 0, after: 50 };
                house.load(house.tpce.tables.holding_history, key(RUN + 99, RUN + 99), &row);
            },
            // What two lots have is the right sum.
            |house| {
                house.update(house.tpce.tables.holding, holding(3), |row| row.quantity += 50);
                house.update(house.tpce.tables.holding, holding(4), |row| row.quantity -= 50);
            },
        ],
    );
}

#[test]
fn a_trade_that_changed_too_many_or_too_few_lots_is_found() {
    assert_found(
        "TPC-E plus 11",
        &[
            |house| house.change_trade(7, |row| row.quantity = 200),
            |house| house.change_trade(7, |row| row.kind = 1),
        ],
    );
}

#[test]
fn money_that_went_astray_is_found() {
    assert_found(
        "TPC-E plus 8",
        &[
            |house| house.change_account(0, |row| row.balance += 1),
            |house| house.change_account(10, |row| row.balance -= 1),
        ],
    );
    assert_found(
        "TPC-E plus 9",
        &[|house| {
            house.update(house.tpce.tables.cash_transaction, TradeKey::new(trade(7)), |row| row.amount += 1);
        }],
    );
    assert_found(
        "TPC-E plus 15",
        &[
            |house| {
                let key = TradeKey::new(trade(RUN + 1));
                house.update(house.tpce.tables.settlement, key, |row| row.amount += 1);
            },
            |house| house.change_trade(7, |row| row.charge += 1),
            |house| house.change_trade(7, |row| row.commission += 1),
        ],
    );
}

#[test]
fn a_tax_is_withheld_only_from_accounts_of_status_1() {
    let mut house = House::new();
    let taxed = (5..RUN).find(|&number| tax_status(account(number as u32 + 5)) == 1).expect("one in three");
    house.change_trade(taxed, |row| row.tax += 1);
    assert_eq!(house.found(), "TPC-E plus 15");
    let mut house = House::new();
    let free = (5..RUN).find(|&number| tax_status(account(number as u32 + 5)) == 2).expect("one in three");
    house.change_trade(free, |row| row.tax += 1);
    assert_eq!(house.check(), Ok(()));
}

#[test]
fn an_index_entry_that_is_lost_or_leads_elsewhere_is_found() {
    const KEY: u64 = RUN + 2;
    for leads_to in [None, Some(8), Some(RUN + 99)] {
        let damages: [&dyn Fn(&mut House); 5] = [
            &|house| {
                let entry = AccountTradeKey::new(account(12), time(7) + StatusId::Completed as u64, trade(7));
                let leads_to = leads_to.map(|number| TradeKey::new(trade(number)));
                house.mock.corrupt_entry(house.tpce.tables.trade_by_account, entry, leads_to);
            },
            &|house| {
                let entry = SecurityTradeKey::new(7, time(7) + StatusId::Completed as u64, trade(7));
                let leads_to = leads_to.map(|number| TradeKey::new(trade(number)));
                house.mock.corrupt_entry(house.tpce.tables.trade_by_security, entry, leads_to);
            },
            &|house| {
                let entry = HoldingHistoryByTradeKey::new(trade(7), trade(7));
                // Lots of one size have equal histories, so that the entry leads to a lot of another size.
                let leads_to = leads_to.map(|number| if number == 8 { 0 } else { number });
                let leads_to = leads_to.map(|number| HoldingHistoryKey::new(trade(number), trade(number)));
                house.mock.corrupt_entry(house.tpce.tables.holding_history_by_trade, entry, leads_to);
            },
            &|house| {
                let entry = LimitKey::new(TRADED, TradeType::LimitBuy, PRICE, trade(KEY));
                let leads_to = leads_to.map(|_| TradeKey::new(trade(RUN + 99)));
                house.mock.corrupt_entry(house.tpce.tables.request_by_limit, entry, leads_to);
            },
            &|house| {
                let broker = broker_of_account(account(TRADER));
                let entry = BrokerRequestKey::new(broker, TRADED, trade(KEY));
                let leads_to = leads_to.map(|_| TradeKey::new(trade(RUN + 99)));
                house.mock.corrupt_entry(house.tpce.tables.request_by_broker, entry, leads_to);
            },
        ];
        let mut house = House::new();
        let before = house.mock.clone();
        for (number, damage) in damages.iter().enumerate() {
            damage(&mut house);
            assert_eq!(house.found(), "TPC-E plus 10", "{number}: {leads_to:?}");
            house.mock = before.clone();
        }
    }
}

#[test]
fn an_entry_that_is_left_behind_is_found() {
    let mut house = House::new();
    // As if a trade's entry had not moved when its time changed.
    let stale = SecurityTradeKey::new(TRADED, time(0), trade(0));
    house.mock.corrupt_entry(house.tpce.tables.trade_by_security, stale, Some(TradeKey::new(trade(0))));
    assert_eq!(house.found(), "TPC-E plus 10");
}

#[test]
fn a_name_or_an_issue_that_is_not_found_is_found() {
    assert_found(
        "TPC-E plus 10",
        &[
            |house| {
                let entry = NameKey { name: Text::new(names::company(4).as_bytes()), number: 4 };
                house.mock.corrupt_entry(house.tpce.tables.company_by_name, entry, None);
            },
            |house| {
                let entry = NameKey { name: Text::new(names::broker(1).as_bytes()), number: 1 };
                house.mock.corrupt_entry(house.tpce.tables.broker_by_name, entry, Some(BrokerKey::new(0)));
            },
            |house| {
                let entry = IssueKey::new(6, 0, 6);
                house.mock.corrupt_entry(
                    house.tpce.tables.security_by_company,
                    entry,
                    Some(SecurityKey::new(7)),
                );
            },
        ],
    );
}

#[test]
fn commits_without_their_trades_are_found() {
    assert_found(
        "TPC-E plus 12",
        &[|house| house.ledger.market_orders += 1, |house| house.ledger.limit_orders -= 1],
    );
    assert_found(
        "TPC-E plus 13",
        &[
            |house| house.ledger.results += 1,
            |house| house.ledger.triggered += 1,
            |house| house.ledger.canceled_pending -= 1,
            |house| house.ledger.canceled_submitted += 1,
        ],
    );
    assert_found(
        "TPC-E plus 14",
        &[
            |house| house.ledger.analytics += 1,
            |house| house.mock.corrupt_heap(house.tpce.tables.assets_history, |_| false),
        ],
    );
}

#[test]
fn without_ledgers_only_the_state_is_checked() {
    let mut house = House::new();
    house.ledger = Ledger::default();
    assert_eq!(house.found(), "TPC-E plus 12");
    assert_eq!(house.tpce.check_state(&house.mock, Share::WHOLE), Ok(()));
    house.update(house.tpce.tables.broker_totals, BrokerKey::new(0), |row| row.trades -= 1);
    let violation = house.tpce.check_state(&house.mock, Share::WHOLE).expect_err("found");
    assert_eq!(violation.condition, "TPC-E 1");
}

#[test]
fn a_time_or_a_price_that_is_not_that_of_the_trade_is_found() {
    assert_found(
        "TPC-E plus 16",
        &[
            |house| house.change_trade(RUN + 5, |row| row.time += 1),
            |house| {
                let key = TradeHistoryKey::new(trade(RUN + 5), StatusId::Submitted);
                house.update(house.tpce.tables.trade_history, key, |row| row.time += 1);
            },
            |house| house.update(house.tpce.tables.holding, holding(3), |row| row.price += 1),
            |house| house.change_trade(3, |row| row.trade_price += 1),
        ],
    );
}

#[test]
fn an_impossible_last_trade_is_found() {
    assert_found(
        "TPC-E plus 17",
        &[
            |house| house.change_last_trade(136, |row| row.price = 1_999),
            |house| house.change_last_trade(0, |row| row.open_price = 3_001),
            |house| house.change_last_trade(0, |row| row.volume = -1),
            |house| house.change_last_trade(0, |row| row.time = 0),
            |house| house.delete(house.tpce.tables.last_trade, SecurityKey::new(50)),
        ],
    );
}

#[test]
fn a_customer_without_his_rates_or_his_list_is_found() {
    fn rate(rate: u16) -> CustomerTaxrateKey {
        CustomerTaxrateKey::new(customer_id(3), rate)
    }
    assert_found(
        "TPC-E plus 18",
        &[
            |house| house.delete(house.tpce.tables.customer_taxrate, rate(2)),
            |house| house.load(house.tpce.tables.customer_taxrate, rate(4), &CustomerTaxrate { rate: 4 }),
            |house| house.update(house.tpce.tables.customer_taxrate, rate(2), |row| row.rate = 3),
            |house| house.delete(house.tpce.tables.watch_item, WatchItemKey::new(customer_id(199), 7)),
            |house| {
                let key = WatchItemKey::new(customer_id(199), 7);
                house.update(house.tpce.tables.watch_item, key, |row| row.security = 8);
            },
            |house| house.delete(house.tpce.tables.watch_list, WatchListKey::new(customer_id(0))),
        ],
    );
}

#[test]
fn a_missing_row_is_found_and_no_panic() {
    assert_found(
        "TPC-E plus 8",
        &[|house| {
            house.delete(house.tpce.tables.account, AccountKey::new(account(0)));
        }],
    );
    assert_found(
        "TPC-E 1",
        &[
            |house| house.delete(house.tpce.tables.broker_totals, BrokerKey::new(1)),
            |house| {
                house.update(house.tpce.tables.account, AccountKey::new(account(TRADER)), |row| {
                    row.broker = 77;
                });
            },
        ],
    );
}

#[test]
fn a_loaded_database_is_consistent() {
    for given in [
        "tpce.customers=200 tpce.scale_factor=1000",
        "tpce.customers=600 tpce.scale_factor=10000 tpce.days=2 tpce.active_customers=200",
    ] {
        let fixture = Fixture::<Tpce>::with_heaps(given, &["assets_history"]);
        assert_eq!(fixture.check(), Ok(()), "{given}");
    }
}

#[test]
fn a_run_leaves_a_consistent_database() {
    let with_cleanups = "tpce.mix=trade_order:10,trade_result:10,market_feed:1,trade_cleanup:0.05,\
                         data_maintenance:1,trade_update:2 tpce.market_feed=per_entry tpce.commutative=off";
    for given in ["tpce.customers=400", "tpce.mix=hybrid", with_cleanups] {
        let given = format!("tpce.customers=200 tpce.scale_factor=20000 {given}");
        let mut fixture = Fixture::<Tpce>::with_heaps(&given, &["assets_history"]);
        // What the market sends follows from what was committed before.
        (0..1_000).for_each(|_| _ = fixture.run(1));
        let Ledger { triggered, results, canceled_pending, canceled_submitted, analytics, .. } =
            fixture.ledger;
        assert!(results > 200 && triggered > 10, "{given}: {:?}", fixture.ledger);
        assert_eq!(analytics > 0, given.contains("hybrid"));
        assert_eq!(canceled_pending > 0 && canceled_submitted > 0, given.contains("cleanup"));
        assert_eq!(fixture.check(), Ok(()), "{given}");
    }
}
