//! A brokerage: Trade-Order and Trade-Result, the two transactions at the heart of TPC-E, as a program writes them with
//! the library. Customers order from several threads, the market answers from others, and the books are checked
//! meanwhile and at the end. Run it with `cargo run --release -p contend --example brokerage`.
//!
//! It shows keys of several columns, an index over two columns, sums that are added to, and an enum as a column;
//! transactions of a dozen reads and writes, whose functions share one transaction; an error type whose values end a
//! transaction without a trace; messages, which are sent after the commit; and a snapshot over all tables.
//!
//! It leaves out orders with a limit or on margin, permissions, the history of lots, and all that TPC-E only shows.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "an ordinary program, which starts threads, sends messages and prints"
)]

use std::collections::BTreeMap;
use std::ops::ControlFlow::{Break, Continue};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::{fmt, thread};

use contend::{Database, Direction, Error, Handle, Options, Reader, Sum, Table, Text, Txn};

#[path = "brokerage/tables.rs"]
mod tables;
#[cfg(test)]
#[path = "brokerage/tests.rs"]
mod tests;

use tables::{
    Account, Broker, CashTransaction, Holding, LastTrade, Position, Settlement, Status, Symbol, Trade,
    TradeHistory,
};

const BROKERS: u32 = 3;
const ACCOUNTS: u64 = 12;
const SYMBOLS: [&str; 5] = ["ALFA", "BRAVO", "DELTA", "ECHO", "GOLF"];
const OPENING_BALANCE: i64 = 1_000_000;
const CUSTOMERS: u64 = 4;
const ORDERS: u64 = 250;

/// The reason for which a transaction was not made.
#[derive(Debug)]
enum TradeError {
    NoAccount(u64),
    NoBroker(u32),
    NoSecurity(Symbol),
    NoTrade(u64),
    /// The client, who has seen the costs, does not want the order any more.
    Declined,
    /// The order came a second time.
    Known(u64),
    /// The trade does not wait for the market: it was canceled, or completed before.
    NotSubmitted(u64, Status),
    Store(Error),
}

// With this conversion, `?` passes on the errors of the database, which executes the closure again after a conflict.
impl From<Error> for TradeError {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl fmt::Display for TradeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAccount(id) => write!(f, "there is no account {id}"),
            Self::NoBroker(id) => write!(f, "there is no broker {id}"),
            Self::NoSecurity(symbol) => write!(f, "there is no security {symbol}"),
            Self::NoTrade(id) => write!(f, "there is no trade {id}"),
            Self::Declined => f.write_str("the client has declined"),
            Self::Known(id) => write!(f, "order {id} came before"),
            Self::NotSubmitted(id, status) => write!(f, "trade {id} is {status:?}"),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TradeError {}

impl Account {
    /// Computes the costs of a trade at a price, if it closes lots with that gain.
    fn charge(&self, trade: &mut Trade, price: u32, gain: i64) {
        let (tier, quantity) = (i64::from(self.tier), i64::from(trade.quantity.abs()));
        let per_mille = if quantity > 200 { 5 - tier } else { 6 - tier };
        trade.price = price;
        trade.charge = 550 - 50 * tier;
        trade.commission = quantity * i64::from(price) * per_mille / 1_000;
        trade.tax = gain.max(0) * i64::from(self.tax_percent) / 100;
    }
}

/// The effect of a trade on the lots of its position.
struct Closing {
    /// The lots that the trade closes, with what is left of them.
    lots: Vec<Holding>,
    gain: i64,
    /// The rest, which opens a lot: negative for a sale.
    opened: i32,
}

/// The result of a check: numbers of rows, and the contradictions that were found.
#[derive(Debug, Default, PartialEq)]
struct Audit {
    orders: usize,
    completed: usize,
    positions: usize,
    faults: Vec<String>,
}

impl Audit {
    fn compare(&mut self, says: &str, stored: i64, computed: i64) {
        if stored != computed {
            self.faults.push(format!("{says}: {stored} is stored, and {computed} computed"));
        }
    }
}

struct Brokerage {
    db: Database,
    accounts: Handle<Account>,
    brokers: Handle<Broker>,
    prices: Handle<LastTrade>,
    holdings: Handle<Holding>,
    positions: Handle<Position>,
    trades: Handle<Trade>,
    history: Handle<TradeHistory>,
    settlements: Handle<Settlement>,
    cash: Handle<CashTransaction>,
}

impl Brokerage {
    fn open(options: Options) -> Result<Self, Box<dyn std::error::Error>> {
        let options = options.table::<Account>().table::<Broker>().table::<LastTrade>().table::<Holding>();
        let options = options.table::<Position>().table::<Trade>().table::<TradeHistory>();
        let db = Database::in_memory(options.table::<Settlement>().table::<CashTransaction>())?;
        let (accounts, brokers, prices) = (db.table()?, db.table()?, db.table()?);
        let (holdings, positions, trades) = (db.table()?, db.table()?, db.table()?);
        let (history, settlements, cash) = (db.table()?, db.table()?, db.table()?);
        db.transact(|txn| {
            for id in 0..BROKERS {
                txn.insert(brokers, &Broker { id, trades: Sum(0), commission: Sum(0) })?;
            }
            for id in 0..ACCOUNTS {
                let (broker, tier, tax_percent) =
                    (id as u32 % BROKERS, 1 + (id % 3) as u8, 10 * (id % 4) as u8);
                txn.insert(accounts, &Account { id, broker, tier, tax_percent, balance: OPENING_BALANCE })?;
            }
            for symbol in SYMBOLS {
                txn.insert(prices, &LastTrade { symbol: symbol.parse()?, price: 2_500 })?;
            }
            Ok(())
        })?;
        Ok(Self { db, accounts, brokers, prices, holdings, positions, trades, history, settlements, cash })
    }

    /// Trade-Order: places an order, unless the client, who is shown its costs, declines. `accepts` is called in the
    /// closure, perhaps several times.
    fn order(&self, wish: &Trade, accepts: impl Fn(&Trade) -> bool) -> Result<(), TradeError> {
        self.db.try_transact(|txn| {
            let account = txn.get(self.accounts, wish.account)?.ok_or(TradeError::NoAccount(wish.account))?;
            let last = txn.get(self.prices, wish.symbol)?.ok_or(TradeError::NoSecurity(wish.symbol))?;
            let mut trade = wish.clone();
            account.charge(&mut trade, last.price, self.closing(txn, wish, last.price)?.gain);
            if !txn.insert(self.trades, &trade)? {
                return Err(TradeError::Known(trade.id));
            }
            self.note(txn, &trade)?;
            // The error takes back all that the closure has written.
            if accepts(&trade) { Ok(()) } else { Err(TradeError::Declined) }
        })
    }

    /// Cancels an order that the market has not answered.
    fn cancel(&self, id: u64, time: u64) -> Result<(), TradeError> {
        self.db.try_transact(|txn| {
            let trade = Trade { status: Status::Canceled, time, ..self.submitted(txn, id)? };
            txn.replace(self.trades, &trade)?;
            Ok(self.note(txn, &trade)?)
        })
    }

    /// Trade-Result: the market has executed an order at a price. Returns the balance of the account.
    fn complete(&self, id: u64, price: u32, time: u64) -> Result<i64, TradeError> {
        self.db.try_transact(|txn| {
            let mut trade = Trade { status: Status::Completed, time, ..self.submitted(txn, id)? };
            let account =
                txn.get(self.accounts, trade.account)?.ok_or(TradeError::NoAccount(trade.account))?;
            let closing = self.closing(txn, &trade, price)?;
            account.charge(&mut trade, price, closing.gain);
            txn.replace(self.trades, &trade)?;
            self.note(txn, &trade)?;
            self.change_position(txn, &trade, &closing)?;
            let amounts = Broker { id: account.broker, trades: Sum(1), commission: Sum(trade.commission) };
            if !txn.add(self.brokers, &amounts)? {
                return Err(TradeError::NoBroker(account.broker));
            }
            self.settle(txn, &trade)
        })
    }

    /// Reads a trade that waits for the market.
    fn submitted(&self, txn: &mut Reader<'_>, id: u64) -> Result<Trade, TradeError> {
        let trade = txn.get(self.trades, id)?.ok_or(TradeError::NoTrade(id))?;
        let is_submitted = trade.status == Status::Submitted;
        if is_submitted { Ok(trade) } else { Err(TradeError::NotSubmitted(id, trade.status)) }
    }

    /// Adds the status of a trade to its history.
    fn note(&self, txn: &mut Txn<'_>, trade: &Trade) -> Result<(), Error> {
        let &Trade { id, status, time, .. } = trade;
        txn.insert(self.history, &TradeHistory { trade: id, status, time }).map(drop)
    }

    /// Finds the lots that a trade closes: those of the other sign, the oldest first (FIFO) or the newest first (LIFO).
    fn closing(&self, txn: &mut Reader<'_>, trade: &Trade, price: u32) -> Result<Closing, Error> {
        let &Trade { account, symbol, quantity, .. } = trade;
        let mut closing = Closing { lots: Vec::new(), gain: 0, opened: quantity };
        let lots = (account, symbol, 0, 0)..=(account, symbol, u64::MAX, u64::MAX);
        let direction = if trade.is_lifo { Direction::Backward } else { Direction::Forward };
        txn.visit(self.holdings, lots, direction, |mut lot| {
            if closing.opened == 0 || lot.quantity.signum() == quantity.signum() {
                return Break(());
            }
            let taken = lot.quantity.abs().min(closing.opened.abs()) * quantity.signum();
            closing.gain -= i64::from(taken) * (i64::from(price) - i64::from(lot.price));
            closing.opened -= taken;
            lot.quantity += taken;
            closing.lots.push(lot);
            Continue(())
        })?;
        Ok(closing)
    }

    /// Closes lots, opens one with the rest, and writes the new sum.
    fn change_position(&self, txn: &mut Txn<'_>, trade: &Trade, closing: &Closing) -> Result<(), Error> {
        for lot in &closing.lots {
            if lot.quantity == 0 {
                txn.delete(self.holdings, lot.key())?;
            } else {
                txn.replace(self.holdings, lot)?;
            }
        }
        let &Trade { id, account, symbol, time, price, .. } = trade;
        if closing.opened != 0 {
            let lot = Holding { account, symbol, time, trade: id, price, quantity: closing.opened };
            txn.insert(self.holdings, &lot)?;
        }
        let before = txn.get(self.positions, (account, symbol))?.map_or(0, |position| position.quantity);
        let quantity = before + i64::from(trade.quantity);
        if quantity == 0 {
            txn.delete(self.positions, (account, symbol))?;
        } else {
            txn.put(self.positions, &Position { account, symbol, quantity })?;
        }
        Ok(())
    }

    /// Settles a trade in cash. Returns the balance.
    fn settle(&self, txn: &mut Txn<'_>, trade: &Trade) -> Result<i64, TradeError> {
        let &Trade { id, account, time, symbol, quantity, .. } = trade;
        let value = -i64::from(quantity) * i64::from(trade.price);
        let amount = value - trade.charge - trade.commission - trade.tax;
        let name = Text::new(&format!("{quantity} shares of {symbol}")).map_err(Error::from)?;
        txn.insert(self.settlements, &Settlement { trade: id, due: time + 2, amount })?;
        txn.insert(self.cash, &CashTransaction { trade: id, amount, name })?;
        let balance = txn.update(self.accounts, account, |account| {
            account.balance += amount;
            account.balance
        })?;
        balance.ok_or(TradeError::NoAccount(account))
    }

    /// Compares the tables as they are at one moment: TPC-E's conditions 1 to 3, and the balances.
    fn audit(&self) -> Result<Audit, Error> {
        self.db.snapshot(|txn| {
            // Each attempt begins with these anew: what an earlier one has counted must not stay.
            let (mut audit, mut totals, mut sums) = (Audit::default(), BTreeMap::new(), BTreeMap::new());
            let accounts = txn.scan(self.accounts, ..).collect::<Result<Vec<_>, _>>()?;
            for Account { id, broker, balance, .. } in accounts {
                let (own, mut settled) = ((id, 0)..=(id, u64::MAX), OPENING_BALANCE);
                let trades =
                    txn.scan_by(self.trades, Trade::BY_ACCOUNT, own).collect::<Result<Vec<_>, _>>()?;
                audit.orders += trades.len();
                for trade in trades.iter().filter(|trade| trade.status == Status::Completed) {
                    audit.completed += 1;
                    let (count, commission) = totals.entry(broker).or_insert((0, 0));
                    (*count, *commission) = (*count + 1, *commission + trade.commission);
                    settled += txn.get(self.settlements, trade.id)?.map_or(0, |settlement| settlement.amount);
                }
                audit.compare(&format!("balance of account {id}"), balance, settled);
            }
            for broker in txn.scan(self.brokers, ..) {
                let Broker { id, trades, commission } = broker?;
                let (count, sum) = totals.remove(&id).unwrap_or_default();
                audit.compare(&format!("1: trades of broker {id}"), trades.0, count);
                audit.compare(&format!("2: commission of broker {id}"), commission.0, sum);
            }
            for lot in txn.scan(self.holdings, ..) {
                let Holding { account, symbol, quantity, .. } = lot?;
                *sums.entry((account, symbol)).or_insert(0) += i64::from(quantity);
            }
            for position in txn.scan(self.positions, ..) {
                let Position { account, symbol, quantity } = position?;
                audit.positions += 1;
                let sum = sums.remove(&(account, symbol)).unwrap_or_default();
                audit.compare(&format!("3: {symbol} of account {account}"), quantity, sum);
            }
            for ((account, symbol), sum) in sums {
                audit.compare(&format!("3: {symbol} of account {account}"), 0, sum);
            }
            Ok(audit)
        })
    }

    /// The part of a customer, whose orders are the same in each run: some are declined, some are canceled.
    fn customer(&self, customer: u64, markets: &[Sender<Trade>]) -> Result<(), TradeError> {
        for step in 1..=ORDERS {
            let wish = wish(customer, step)?;
            match self.order(&wish, |_| step % 25 != 0) {
                Err(TradeError::Declined) => continue,
                placed => placed?,
            }
            if step % 20 == 7 {
                self.cancel(wish.id, step + 1)?;
            }
            // Sent after the commit: within the closure, each attempt would send it, also one that does not commit.
            if markets[step as usize % markets.len()].send(wish).is_err() {
                break; // The market has ended with an error, which `trade` returns.
            }
        }
        Ok(())
    }

    /// The part of a market: it executes orders, also those that were canceled meanwhile, and tells the last price.
    /// Returns the number of results that were refused.
    fn market(&self, orders: Receiver<Trade>) -> Result<u64, TradeError> {
        let mut refused = 0;
        for Trade { id, symbol, time, .. } in orders {
            let price = 2_000 + (id * 7_919 % 1_000) as u32;
            match self.complete(id, price, time + 2) {
                Err(TradeError::NotSubmitted(..)) => refused += 1,
                completed => drop(completed?),
            }
            self.db.transact(|txn| txn.update(self.prices, symbol, |last| last.price = price))?;
        }
        Ok(refused)
    }

    /// Trades until all orders are answered. Returns the number of refused results, and what a check found meanwhile.
    fn trade(&self) -> Result<(u64, Vec<String>), TradeError> {
        thread::scope(|scope| {
            let (senders, receivers): (Vec<_>, Vec<_>) = (0..2).map(|_| channel()).unzip();
            let markets: Vec<_> =
                receivers.into_iter().map(|orders| scope.spawn(move || self.market(orders))).collect();
            let customers: Vec<_> = (0..CUSTOMERS)
                .map(|customer| {
                    let senders = senders.clone();
                    scope.spawn(move || self.customer(customer, &senders))
                })
                .collect();
            // A market ends when nobody can send to it any more.
            drop(senders);
            let meanwhile = self.audit()?.faults;
            customers.into_iter().try_for_each(|customer| customer.join().expect("no customer panics"))?;
            let refused = markets.into_iter().map(|market| market.join().expect("no market panics"));
            Ok((refused.sum::<Result<u64, _>>()?, meanwhile))
        })
    }
}

/// Returns the wish of a customer at a step, with the quantities of TPC-E.
fn wish(customer: u64, step: u64) -> Result<Trade, Error> {
    let id = customer * 1_000_000 + step;
    // The bits of a product are chance enough here.
    let chance = (id + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    let (account, symbol) = (chance % ACCOUNTS, SYMBOLS[(chance >> 8) as usize % SYMBOLS.len()].parse()?);
    let (lots, is_sale, is_lifo) = (1 << (chance >> 16 & 3), chance >> 20 & 1 == 1, chance >> 24 & 3 == 3);
    let quantity = if is_sale { -100 * lots } else { 100 * lots };
    let (price, charge, commission, tax, status) = (0, 0, 0, 0, Status::Submitted);
    Ok(Trade { id, account, time: step, symbol, quantity, is_lifo, status, price, charge, commission, tax })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let brokerage = Brokerage::open(Options::new())?;
    let (refused, mut faults) = brokerage.trade()?;
    let Audit { orders, completed, positions, faults: at_the_end } = brokerage.audit()?;
    let declined = (CUSTOMERS * ORDERS) as usize - orders;
    println!("{orders} orders and {declined} that their clients declined");
    println!(
        "{completed} trades, which left {positions} positions; {refused} results came for canceled orders"
    );
    faults.extend(at_the_end);
    if !faults.is_empty() {
        return Err(faults.join("; ").into());
    }
    brokerage.db.close()?;
    Ok(())
}
