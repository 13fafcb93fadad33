//! Hand-made rows of customers, of the market and of orders, for the tests of stored procedures that write.
//!
//! Charges and rates are other than those that the loader makes, so that a procedure that computes them instead of
//! reading them fails its tests: each charge is 7 cents, each commission 0.4% for up to 200 and 0.3% above, and the
//! taxes are 10% and 5%.

use core::ops::ControlFlow;

use engine::{Abort, Quiesced, Row, Table, Text, Transaction};

use super::super::fees;
use super::super::input::{Input, TradeOrder, TradeResult};
use super::super::keys::{
    AccountKey, BrokerKey, ChargeKey, CommissionKey, CompanyKey, CustomerKey, CustomerTaxrateKey,
    HoldingHistoryByTradeKey, HoldingKey, PermissionKey, SecurityKey, SummaryKey, TaxrateKey,
    TradeHistoryKey, TradeKey,
};
use super::super::market::MarketOrder;
use super::super::names::{self, Person};
use super::super::rows::{
    Account, AccountBalance, Broker, BrokerTotals, Charge, CommissionRate, Company, Customer,
    CustomerTaxrate, EXCHANGES, Holding, HoldingHistory, LastTrade, Permission, Security, StatusId, Summary,
    Taxrate, Trade, TradeExecutor, TradeHistory, TradeRequest, TradeType,
};
use super::super::scale::{broker_of_account, company_of_security, customer_id, trade_id};
use super::super::{Output, time};
use super::testing::{House, ORDERED_AT, zeroed};

/// The last price of each security.
pub(super) const PRICE: u32 = 2_500;
/// The balance of each account.
pub(super) const BALANCE: i64 = 1_000_000;
/// A calendar time after that of all rows.
pub(super) const NOW: u64 = ORDERED_AT + 3_600_000;

/// Returns `T_ID` of a trade.
pub(super) fn trade(number: u64) -> u64 {
    trade_id(0, number)
}

/// An order of 100 of security 1, not on margin and without a limit.
pub(super) fn order(number: u64, customer: u32, kind: TradeType) -> TradeOrder {
    TradeOrder {
        desk: 0,
        trade: trade(number),
        account: House::account(customer),
        executor: customer,
        security: 1,
        by_company: false,
        kind,
        quantity: 100,
        limit: 2_200,
        is_lifo: false,
        is_margin: false,
        rolls_back: false,
        time: NOW,
    }
}

impl House {
    /// Creates a database with rates, brokers, companies and securities, and with customers 0 to 2. The accounts of a
    /// customer have the customer's number as their tax status.
    pub(super) fn trading(settings: &str) -> Self {
        let mut house = Self::with(settings);
        let tables = house.tpce.tables;
        for (kind, ..) in TradeType::ALL {
            for tier in 1..=3 {
                house.load(tables.charge, ChargeKey::new(kind, tier), &Charge { charge: 7 });
                for (exchange, (from, rate)) in
                    (0..EXCHANGES).flat_map(|exchange| [(1, 400), (201, 300)].map(|band| (exchange, band)))
                {
                    let key = CommissionKey::new(tier, kind, exchange, from);
                    house.load(tables.commission_rate, key, &CommissionRate { to: 9_999_999, rate });
                }
            }
        }
        for (rate, value) in [(0, 10_000), (1, 20_000), (9, 5_000)] {
            house.load(tables.taxrate, TaxrateKey::new(rate), &Taxrate { rate: value, id: Text::default() });
        }
        for broker in 0..2 {
            let totals = BrokerTotals { trades: 10, commission: 1_000 };
            let row = Broker { name: names::broker(broker), ..zeroed() };
            let key = BrokerKey::new(broker);
            house.load((tables.broker_totals, tables.broker), key, (&totals, &row));
        }
        for security in [0, 1, 2, 3, 101] {
            house.listed(security);
        }
        (0..3).for_each(|customer| house.client(customer));
        house
    }

    fn listed(&mut self, security: u32) {
        let tables = self.tpce.tables;
        let company = company_of_security(security);
        let row = Security {
            company,
            exchange: fees::exchange_of_security(security),
            issue: fees::issue_of_security(security),
            ..zeroed()
        };
        let key = SecurityKey::new(security);
        self.load((tables.security, tables.security_exchange_date), key, (&row, &zeroed()));
        let last = LastTrade { time: ORDERED_AT, volume: 5, price: PRICE, open_price: PRICE };
        self.load(tables.last_trade, key, &last);
        if security < 100 {
            let row = Company { name: names::company(company), ..zeroed() };
            let rating = zeroed();
            self.load((tables.company, tables.company_rating), CompanyKey::new(company), (&row, &rating));
        }
    }

    fn client(&mut self, customer: u32) {
        let tables = self.tpce.tables;
        let Person { tax_id, last_name, first_name } = Person::customer(self.tpce.settings.scale, customer);
        let row = Customer { tax_id, last_name, first_name, tier: 2, ..zeroed() };
        let id = customer_id(customer);
        self.load((tables.customer, tables.customer_email), CustomerKey::new(id), (&row, &zeroed()));
        for rate in [0, 9] {
            let row = CustomerTaxrate { rate: u64::from(rate) };
            self.load(tables.customer_taxrate, CustomerTaxrateKey::new(id, rate), &row);
        }
        let account = Self::account(customer);
        let balance = AccountBalance { balance: BALANCE };
        let broker = broker_of_account(account);
        let row = Account { customer: id, broker, tax_status: customer as u8, ..zeroed() };
        let key = AccountKey::new(account);
        self.load((tables.account_balance, tables.account), key, (&balance, &row));
        let owner = Permission { acl: Text::new(b"0000"), last_name, first_name, ..zeroed() };
        self.load(tables.permission, PermissionKey { account, tax_id }, &owner);
    }

    /// Gives a customer a lot of security 1, bought or sold by trade `number` at second `number`.
    pub(super) fn lot(&mut self, customer: u32, number: u64, price: u32, quantity: i32) {
        let (tables, account) = (self.tpce.tables, Self::account(customer));
        let key = HoldingKey::new(account, 1, ORDERED_AT + 1_000 * number, trade(number));
        self.load(tables.holding, key, &Holding { price, quantity });
        let key = SummaryKey::new(account, 1);
        let position = self.row(tables.summary, key).map_or(0, |row| row.quantity);
        if position == 0 {
            self.load(tables.summary, key, &Summary { quantity: i64::from(quantity) });
        } else {
            self.change(tables.summary, key, |row| row.quantity += i64::from(quantity));
        }
    }

    /// Loads an order for security 1 that was submitted to the market, as [`order`] makes it. Returns the answer of the
    /// market.
    pub(super) fn submitted(&mut self, order: &TradeOrder, price: u32) -> Input {
        self.ordered(order, StatusId::Submitted);
        let (trade, security, quantity) = (order.trade, order.security, order.quantity);
        let order = MarketOrder { trade, security, quantity };
        Input::TradeResult(TradeResult { order, price, time: NOW })
    }

    /// Loads an order that waits for its price.
    pub(super) fn pending(&mut self, order: &TradeOrder) {
        self.ordered(order, StatusId::Pending);
        let request = TradeRequest {
            security: order.security,
            quantity: order.quantity,
            bid_price: order.limit,
            broker: broker_of_account(order.account),
            kind: order.kind as u8,
            ..zeroed()
        };
        self.load(self.tpce.tables.trade_request, TradeKey::new(order.trade), &request);
    }

    fn ordered(&mut self, order: &TradeOrder, status: StatusId) {
        let tables = self.tpce.tables;
        let row = Trade {
            time: order.time - 60_000,
            account: order.account,
            charge: 7,
            security: order.security,
            quantity: order.quantity,
            bid_price: order.limit,
            status: status as u8,
            kind: order.kind as u8,
            is_cash: u8::from(!order.is_margin),
            is_lifo: u8::from(order.is_lifo),
            ..zeroed()
        };
        let executor: TradeExecutor = zeroed();
        let key = TradeKey::new(order.trade);
        self.load((tables.trade, tables.trade_executor), key, (&row, &executor));
        let history = TradeHistory { time: row.time };
        self.load(tables.trade_history, TradeHistoryKey::new(order.trade, status), &history);
    }

    /// Reads a row.
    pub(super) fn row<R: Row + Copy>(&self, table: Table<R>, key: R::Key) -> Option<R> {
        Quiesced::read(&self.mock, table, key, |row| *row)
    }

    /// Changes a row.
    pub(super) fn change<R: Row>(&mut self, table: Table<R>, key: R::Key, change: impl FnOnce(&mut R)) {
        let changed = self.mock.attempt(|txn| txn.update(table, key, change));
        assert_eq!(changed, Ok(Some(())), "the row is there");
    }

    /// Returns the lots of security 1 of a customer, in the order of time: trade, price, quantity.
    pub(super) fn lots(&self, customer: u32) -> Vec<(u64, u32, i32)> {
        let mut lots = Vec::new();
        let keys = HoldingKey::of_position(Self::account(customer), 1);
        Quiesced::scan(&self.mock, self.tpce.tables.holding, keys, |key, row| {
            lots.push((key.trade(), row.price, row.quantity));
            ControlFlow::Continue(())
        });
        lots
    }

    /// Returns the position in security 1 of a customer, or `None` if there is no row.
    pub(super) fn position_of(&self, customer: u32) -> Option<i64> {
        let key = SummaryKey::new(Self::account(customer), 1);
        self.row(self.tpce.tables.summary, key).map(|row| row.quantity)
    }

    /// Returns the changes of lots that a trade has made: lot, quantity before and after.
    pub(super) fn changes(&self, trade: u64) -> Vec<(u64, i32, i32)> {
        let mut changes = Vec::new();
        let keys = HoldingHistoryByTradeKey::of_trade(trade);
        let index = self.tpce.tables.holding_history_by_trade;
        Quiesced::scan_by(&self.mock, index, keys, |key, row: &HoldingHistory| {
            changes.push((key.primary().lot(), row.before, row.after));
            ControlFlow::Continue(())
        });
        changes
    }

    /// Returns the states that a trade had, with their times.
    pub(super) fn states(&self, trade: u64) -> Vec<(StatusId, u64)> {
        let mut states = Vec::new();
        let keys = TradeHistoryKey::of_trade(trade);
        Quiesced::scan(&self.mock, self.tpce.tables.trade_history, keys, |key, row| {
            states.push((key.status(), row.time));
            ControlFlow::Continue(())
        });
        states
    }

    /// Executes a request that rolls back, and asserts that it leaves nothing.
    pub(super) fn rolls_back(&mut self, input: &Input) {
        let before = self.mock.clone();
        assert_eq!(self.execute(input), Err(Abort::Rollback));
        assert!(self.mock == before, "a rollback leaves nothing");
    }

    /// Executes a request that commits.
    pub(super) fn commits(&mut self, input: &Input) -> Output {
        self.execute(input).expect("commits")
    }
}

#[test]
fn the_time_of_tests_is_one_of_trading() {
    assert_eq!(ORDERED_AT, time::calendar(0));
}
