//! A database of a few hand-made rows for the tests of stored procedures.

use engine::{Abort, Groups, Loader, Schema, Text, Workload};
use zerocopy::FromZeros;

use super::super::keys::{StatusKey, TradeHistoryKey, TradeKey, TradeTypeKey};
use super::super::rows::{
    CashTransaction, Settlement, Status, StatusType, Trade, TradeExecutor, TradeHistory, TradeType,
    TradeTypeRow,
};
use super::super::scale::account_id;
use super::super::{Input, Output, Scratch, Tpce};
use crate::mock::{Mock, declare};

/// A calendar time of trades.
pub(super) const ORDERED_AT: u64 = 1_104_742_800_000;

/// Returns a row of zeros, to be completed by the columns that matter.
pub(super) fn zeroed<R: FromZeros>() -> R {
    R::new_zeroed()
}

/// The database: the rows of TRADE_TYPE and STATUS_TYPE, and nothing else.
pub(super) struct House {
    pub(super) tpce: Tpce,
    pub(super) mock: Mock,
    scratch: Scratch,
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
        for (status, id, name) in Status::ALL {
            let row =
                StatusType { id: Text::new(id.as_bytes()), name: Text::new(name.as_bytes()), ..zeroed() };
            house.load(tables.status_type, StatusKey::new(status), &row);
        }
        house
    }

    /// Returns the first account of a customer.
    pub(super) fn account(customer: u32) -> u64 {
        account_id(customer, 0)
    }

    /// Loads a row.
    pub(super) fn load<G: Groups>(&mut self, table: G, key: G::Key, rows: G::Rows<'_>) {
        self.mock.insert(table, key, rows);
    }

    /// Executes a request.
    pub(super) fn execute(&mut self, input: &Input) -> Result<Output, Abort> {
        let Self { tpce, mock, scratch } = self;
        mock.attempt(|txn| tpce.execute(input, scratch, txn))
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
            status: Status::Completed as u8,
            kind: TradeType::MarketBuy as u8,
            is_cash: u8::from(is_cash),
            ..zeroed()
        };
        let executor = TradeExecutor { name: Text::new(b"Ada Adler"), ..zeroed() };
        self.load((tables.trade, tables.trade_executor), key, (&row, &executor));
        for (status, time) in [(Status::Submitted, at), (Status::Completed, at + 1)] {
            self.load(tables.trade_history, TradeHistoryKey::new(trade, status), &TradeHistory { time });
        }
        self.load(tables.settlement, key, &Settlement { amount: -250_000, ..zeroed() });
        if is_cash {
            self.load(
                tables.cash_transaction,
                key,
                &CashTransaction { time: at + 1, amount: -250_000, ..zeroed() },
            );
        }
    }
}
