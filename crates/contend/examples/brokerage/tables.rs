//! The tables of the brokerage, those of TPC-E that its transactions write. Amounts and prices are in cents.

use contend::{Column, KeyColumn, Sum, Table, Text, Type};

pub(super) type Symbol = Text<7>;

#[derive(Clone, Debug, Table)]
pub(super) struct Account {
    #[key]
    pub(super) id: u64,
    pub(super) broker: u32,
    /// The tier of the customer, from 1 to 3: higher tiers pay less.
    pub(super) tier: u8,
    /// The part of a gain that is withheld, in percent.
    pub(super) tax_percent: u8,
    pub(super) balance: i64,
}

/// A broker, with totals of completed trades. Trades add to them without reading them, and so do not conflict here.
#[derive(Debug, Table)]
pub(super) struct Broker {
    #[key]
    pub(super) id: u32,
    pub(super) trades: Sum,
    pub(super) commission: Sum,
}

#[derive(Debug, Table)]
#[table(name = "last_trade", point)]
pub(super) struct LastTrade {
    #[key]
    pub(super) symbol: Symbol,
    pub(super) price: u32,
}

/// A lot, the part of a position that one trade has opened. The key puts the lots of a position in the order of time.
#[derive(Debug, PartialEq, Table)]
pub(super) struct Holding {
    #[key]
    pub(super) account: u64,
    #[key]
    pub(super) symbol: Symbol,
    #[key]
    pub(super) time: u64,
    #[key]
    pub(super) trade: u64,
    pub(super) price: u32,
    /// Negative for a lot that was sold short.
    pub(super) quantity: i32,
}

/// The position of an account in a security, which is the sum of its lots. A position of zero has no row.
#[derive(Debug, Table)]
#[table(name = "holding_summary")]
pub(super) struct Position {
    #[key]
    pub(super) account: u64,
    #[key]
    pub(super) symbol: Symbol,
    pub(super) quantity: i64,
}

/// A trade, from its order on. The index finds the trades of an account in the order of time.
#[derive(Clone, Debug, PartialEq, Table)]
#[table(point, index(by_account = (account, time)))]
pub(super) struct Trade {
    #[key]
    pub(super) id: u64,
    pub(super) account: u64,
    pub(super) time: u64,
    pub(super) symbol: Symbol,
    /// Negative for a sale.
    pub(super) quantity: i32,
    pub(super) is_lifo: bool,
    pub(super) status: Status,
    /// Price, commission and tax of an order are what they would be at the last price.
    pub(super) price: u32,
    pub(super) charge: i64,
    pub(super) commission: i64,
    pub(super) tax: i64,
}

#[derive(Debug, Table)]
#[table(name = "trade_history")]
pub(super) struct TradeHistory {
    #[key]
    pub(super) trade: u64,
    #[key]
    pub(super) status: Status,
    pub(super) time: u64,
}

#[derive(Debug, Table)]
#[table(point)]
pub(super) struct Settlement {
    #[key]
    pub(super) trade: u64,
    pub(super) due: u64,
    pub(super) amount: i64,
}

#[derive(Debug, Table)]
#[table(name = "cash_transaction", point)]
pub(super) struct CashTransaction {
    #[key]
    pub(super) trade: u64,
    pub(super) amount: i64,
    pub(super) name: Text<40>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Status {
    Submitted,
    Completed,
    Canceled,
}

// Stored as a number. Numbers can be part of a key.
impl Column for Status {
    const TYPE: Type = u8::TYPE;

    fn write(&self, to: &mut [u8]) {
        (*self as u8).write(to);
    }

    fn read(from: &[u8]) -> Self {
        [Self::Submitted, Self::Completed, Self::Canceled][usize::from(u8::read(from).min(2))]
    }
}

impl KeyColumn for Status {}
