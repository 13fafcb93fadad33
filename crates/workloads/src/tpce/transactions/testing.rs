//! A database of a few hand-made rows for the tests of stored procedures.

use engine::{Abort, Groups, Loader, Schema, Text, Transaction, Workload};
use zerocopy::FromZeros;

use super::super::keys::{
    AccountKey, AddressKey, BrokerKey, CompanyKey, CustomerKey, DailyMarketKey, ExchangeDescriptionKey,
    ExchangeKey, IndustryKey, SectorKey, SecurityKey, StatusKey, SummaryKey, TradeHistoryKey, TradeKey,
    TradeTypeKey, ZipKey,
};
use super::super::rows::{
    Account, AccountBalance, Address, Broker, BrokerTotals, CashTransaction, Company, CompanyRating,
    Customer, CustomerEmail, DailyMarket, Exchange, ExchangeDescription, Industry, LastTrade, Sector,
    Security, SecurityExchangeDate, Settlement, StatusId, StatusType, Summary, Trade, TradeExecutor,
    TradeHistory, TradeType, TradeTypeRow, ZipCode,
};
use super::super::scale::{account_id, customer_id};
use super::super::{Input, Output, Scratch, Tpce, names};
use crate::mock::{Mock, declare};

/// A calendar time of trades.
pub(super) const ORDERED_AT: u64 = 1_104_742_800_000;

/// Returns a row of zeros, to be completed by the columns that matter.
pub(super) fn zeroed<R: FromZeros>() -> R {
    R::new_zeroed()
}

/// The database: at first the rows of TRADE_TYPE and STATUS_TYPE, and nothing else.
pub(super) struct House {
    pub(super) tpce: Tpce,
    pub(super) mock: Mock,
    pub(super) scratch: Scratch,
}

impl House {
    /// Creates the database.
    pub(super) fn new() -> Self {
        Self::with("")
    }

    /// Creates the database with settings.
    pub(super) fn with(settings: &str) -> Self {
        let mut schema = Schema::new();
        let small = format!("tpce.customers=200 tpce.scale_factor=100000 {settings}");
        let tpce = declare::<Tpce>(&small, &mut schema).expect("legal settings");
        let mock = Mock::new(&schema, &["assets_history"]);
        let mut house = Self { tpce, mock, scratch: Scratch::default() };
        let tables = house.tpce.tables;
        for (kind, id, name) in TradeType::ALL {
            let (id, name) = (Text::new(id.as_bytes()), Text::new(name.as_bytes()));
            let (is_sell, is_market) = (u8::from(kind.is_sell()), u8::from(kind.is_market()));
            let row = TradeTypeRow { id, name, is_sell, is_market, ..zeroed() };
            house.load(tables.trade_type, TradeTypeKey::new(kind), &row);
        }
        for (status, id, name) in StatusId::ALL {
            let (id, name) = (Text::new(id.as_bytes()), Text::new(name.as_bytes()));
            let row = StatusType { id, name, ..zeroed() };
            house.load(tables.status_type, StatusKey::new(status), &row);
        }
        house
    }

    /// Loads a row.
    pub(super) fn load<G: Groups>(&mut self, table: G, key: G::Key, rows: G::Rows<'_>) {
        Loader::insert(&mut self.mock, table, key, rows);
    }

    /// Loads a row unless there is one.
    pub(super) fn ensure<G: Groups>(&mut self, table: G, key: G::Key, rows: G::Rows<'_>) {
        self.mock.attempt(|txn| txn.insert(table, key, rows)).expect("nothing aborts");
    }

    /// Executes a request.
    pub(super) fn execute(&mut self, input: &Input) -> Result<Output, Abort> {
        let Self { tpce, mock, scratch } = self;
        mock.attempt(|txn| tpce.execute(input, scratch, txn))
    }

    /// Returns the first account of a customer.
    pub(super) fn account(customer: u32) -> u64 {
        account_id(customer, 0)
    }

    /// Loads a customer.
    pub(super) fn customer(&mut self, customer: u32) {
        let tables = self.tpce.tables;
        let tax_id = names::tax_id(self.tpce.settings.scale, customer);
        let row = Customer { tax_id, last_name: Text::new(b"Adler"), ..zeroed() };
        let key = CustomerKey::new(customer_id(customer));
        self.load((tables.customer, tables.customer_email), key, (&row, &zeroed::<CustomerEmail>()));
    }

    /// Loads an account of a customer.
    pub(super) fn account_of(&mut self, customer: u32, place: u32, broker: u32) {
        let tables = self.tpce.tables;
        let row = Account { customer: customer_id(customer), broker, ..zeroed() };
        let key = AccountKey::new(account_id(customer, place));
        self.load((tables.account_balance, tables.account), key, (&AccountBalance { balance: 7 }, &row));
    }

    /// Loads a position.
    pub(super) fn position(&mut self, account: u64, security: u32, quantity: i64) {
        self.load(self.tpce.tables.summary, SummaryKey::new(account, security), &Summary { quantity });
    }

    /// Loads a broker.
    pub(super) fn broker(&mut self, broker: u32) {
        let tables = self.tpce.tables;
        let row = Broker { name: names::broker(broker), ..zeroed() };
        let rows = (&zeroed::<BrokerTotals>(), &row);
        self.load((tables.broker_totals, tables.broker), BrokerKey::new(broker), rows);
    }

    /// Loads a sector, unless it is there.
    pub(super) fn sector(&mut self, sector: u8) {
        let row = Sector { name: names::sector(sector), ..zeroed() };
        self.ensure(self.tpce.tables.sector, SectorKey::new(sector), &row);
    }

    /// Loads an industry.
    pub(super) fn industry(&mut self, industry: u8, sector: u8) {
        let row = Industry { sector, ..zeroed() };
        self.load(self.tpce.tables.industry, IndustryKey::new(industry), &row);
    }

    /// Loads a company, with address 0.
    pub(super) fn company(&mut self, company: u32, industry: u8) {
        let tables = self.tpce.tables;
        let row = Company { industry, name: names::company(company), ..zeroed() };
        let rows = (&row, &zeroed::<CompanyRating>());
        self.load((tables.company, tables.company_rating), CompanyKey::new(company), rows);
    }

    /// Loads a security, of which there are 1,000 times its number plus one, on exchange 0, with its last price.
    pub(super) fn security(&mut self, security: u32, company: u32, price: u32) {
        let tables = self.tpce.tables;
        let outstanding = 1_000 * (i64::from(security) + 1);
        let row = Security { outstanding, company, ..zeroed() };
        let rows = (&row, &zeroed::<SecurityExchangeDate>());
        self.load((tables.security, tables.security_exchange_date), SecurityKey::new(security), rows);
        self.price(security, price);
    }

    /// Sets the last price of a security.
    pub(super) fn price(&mut self, security: u32, price: u32) {
        let (table, key) = (self.tpce.tables.last_trade, SecurityKey::new(security));
        self.ensure(table, key, &zeroed::<LastTrade>());
        let changed = self.mock.attempt(|txn| txn.update(table, key, |row| row.price = price));
        assert_eq!(changed, Ok(Some(())));
    }

    /// Loads a day of the market.
    pub(super) fn day(&mut self, security: u32, date: u32, close: u32) {
        let row = DailyMarket { close, ..zeroed() };
        self.load(self.tpce.tables.daily_market, DailyMarketKey::new(security, date), &row);
    }

    /// Loads exchange 0 with address 1, and addresses 0 and 1.
    pub(super) fn exchange(&mut self) {
        let tables = self.tpce.tables;
        self.load(tables.exchange, ExchangeKey::new(0), &Exchange { address: 1, ..zeroed() });
        let key = ExchangeDescriptionKey::new(0);
        self.load(tables.exchange_description, key, &zeroed::<ExchangeDescription>());
        for address in 0..2 {
            let row = Address { zip_code: 10 + address, ..zeroed() };
            self.load(tables.address, AddressKey::new(address), &row);
            self.load(tables.zip_code, ZipKey::new(10 + address), &zeroed::<ZipCode>());
        }
    }

    /// Loads a purchase of 100 at 25.00 for the first account of a customer, without charges. It was ordered at a time,
    /// and completed a millisecond later.
    pub(super) fn completed_trade(
        &mut self,
        trade: u64,
        customer: u32,
        security: u32,
        at: u64,
        is_cash: bool,
    ) {
        let tables = self.tpce.tables;
        let key = TradeKey::new(trade);
        let row = Trade {
            time: at + 1,
            account: Self::account(customer),
            security,
            quantity: 100,
            bid_price: 2_500,
            trade_price: 2_500,
            status: StatusId::Completed as u8,
            kind: TradeType::MarketBuy as u8,
            is_cash: u8::from(is_cash),
            ..zeroed()
        };
        let executor = TradeExecutor { name: Text::new(b"Ada Adler"), ..zeroed() };
        self.load((tables.trade, tables.trade_executor), key, (&row, &executor));
        for (status, time) in [(StatusId::Submitted, at), (StatusId::Completed, at + 1)] {
            self.load(tables.trade_history, TradeHistoryKey::new(trade, status), &TradeHistory { time });
        }
        self.load(tables.settlement, key, &Settlement { amount: -250_000, ..zeroed() });
        if is_cash {
            let row = CashTransaction { time: at + 1, amount: -250_000, ..zeroed() };
            self.load(tables.cash_transaction, key, &row);
        }
    }
}
