//! Trade-Update (TPC-E 3.3.10): small corrections of trades of the past, which are then read as Trade-Lookup reads
//! them.
//!
//! Frame 1 writes TRADE of some trades, the name of the one who gave the order; frame 2 SETTLEMENT of trades of an
//! account; frame 3 CASH_TRANSACTION of trades of a security. Each correction turns a text into another, and the same
//! correction turns it back, so that texts do not grow. All found rows are changed, up to twenty.
//!
//! Nothing is hot: trades are drawn from a long history, with a skew.

use engine::{Abort, Text, Transaction};

use super::super::input::{TRADES_ASKED, TradeUpdate};
use super::super::keys::TradeKey;
use super::super::schema::Tables;
use super::super::{Output, Scratch, Tpce};
use super::show;
use super::texts::{find, spliced, swap_word};
use super::trade_result::{CASH, MARGIN};
use super::trades::{prefetch_trades, read_trade, read_type, trades_of_account, trades_of_security};

/// The other `SE_CASH_TYPE` of a trade that is not on margin.
const CASH_SHORT: &[u8] = b"Cash";
/// The other `SE_CASH_TYPE` of a trade on margin.
const MARGIN_LONG: &[u8] = b"Margin Account";

/// A frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frame {
    Executors,
    Settlements,
    CashTransactions,
}

impl Tpce {
    /// Corrects trades. Rolls back if there is nothing to correct.
    #[inline(never)]
    pub(in super::super) fn trade_update<T: Transaction>(
        &self,
        input: &TradeUpdate,
        scratch: &mut Scratch,
        txn: &mut T,
    ) -> Result<Output, Abort> {
        let (tables, trades) = (&self.tables, &mut scratch.trades);
        let frame = match *input {
            TradeUpdate::Trades(ref asked) => {
                trades.clear();
                trades.extend(asked.iter().map(|&trade| (trade, 0)));
                Frame::Executors
            }
            TradeUpdate::Account { account, from, to } => {
                trades_of_account(tables, account, from, to, TRADES_ASKED, trades, txn)?;
                Frame::Settlements
            }
            TradeUpdate::Security { security, from, to } => {
                trades_of_security(tables, security, from, to, TRADES_ASKED, trades, txn)?;
                Frame::CashTransactions
            }
        };
        prefetch_trades(tables, trades.iter().map(|&(trade, _)| trade), txn);
        let mut changed = 0;
        for &(trade, _) in &*trades {
            if frame.correct(tables, TradeKey::new(trade), txn)? {
                if changed == 0 {
                    txn.decided();
                }
                changed += 1;
            }
            let Some(seen) = read_trade(tables, trade, txn)? else { continue };
            show(seen);
            if frame != Frame::Settlements {
                show(read_type(tables, &seen.trade, txn)?);
            }
        }
        if changed == 0 {
            return Err(Abort::Rollback);
        }
        Ok(Output::TradeUpdate { changed })
    }
}

impl Frame {
    /// Corrects a trade. Returns `false` if it has nothing to be corrected.
    fn correct<T: Transaction>(self, tables: &Tables, key: TradeKey, txn: &mut T) -> Result<bool, Abort> {
        let is_changed = match self {
            Self::Executors => txn.update(tables.trade_executor, key, |row| swap_middle(&mut row.name))?,
            Self::Settlements => {
                txn.update(tables.settlement, key, |row| swap_cash_type(&mut row.cash_type))?
            }
            Self::CashTransactions => {
                // A trade on margin has no row, and must not read that there is none.
                if txn.read(tables.trade, key, |row| row.is_cash != 0)? != Some(true) {
                    return Ok(false);
                }
                let swap = |name: &mut Text<100>| swap_word(name, b"shares of", b"Shares of");
                txn.update(tables.cash_transaction, key, |row| swap(&mut row.name))?
            }
        };
        Ok(is_changed == Some(true))
    }
}

/// Puts an initial between the names of a person, or takes it away. Returns `false` if there is only one name.
fn swap_middle(name: &mut Text<49>) -> bool {
    let (with, without) = (b" X ", b" ");
    let other = if let Some(at) = find(name.as_bytes(), with) {
        spliced(*name, at, with.len(), without)
    } else if let Some(at) = find(name.as_bytes(), without) {
        spliced(*name, at, without.len(), with)
    } else {
        return false;
    };
    *name = other;
    true
}

/// Turns the long name of a type of settlement into the short one, or the other way round.
fn swap_cash_type(name: &mut Text<40>) -> bool {
    let other = match name.as_bytes() {
        CASH => CASH_SHORT,
        CASH_SHORT => CASH,
        MARGIN => MARGIN_LONG,
        MARGIN_LONG => MARGIN,
        _ => return false,
    };
    *name = Text::new(other);
    true
}

#[cfg(test)]
mod tests {
    use super::super::super::input::Input;
    use super::super::super::names::Person;
    use super::super::super::scale::Scale;
    use super::super::testing::{House, ORDERED_AT};
    use super::super::testing_writes::trade;
    use super::*;

    /// A database with some completed trades of one account and one security, of which every third is on margin.
    fn house(trades: u64) -> House {
        let mut house = House::new();
        for number in 0..trades {
            house.completed_trade(trade(number), 0, 1, ORDERED_AT + number, number % 3 != 2);
            let key = TradeKey::new(trade(number));
            let name = if number % 3 == 2 { MARGIN } else { CASH };
            house.change(house.tpce.tables.settlement, key, |row| row.cash_type = Text::new(name));
            if number % 3 != 2 {
                let name = Text::new(b"Market-Buy 100 shares of COMMON of AAAAB");
                house.change(house.tpce.tables.cash_transaction, key, |row| row.name = name);
            }
        }
        house
    }

    fn of_account(from: u64, to: u64) -> Input {
        Input::TradeUpdate(TradeUpdate::Account { account: House::account(0), from, to })
    }

    fn of_security(security: u32) -> Input {
        let (from, to) = (ORDERED_AT, ORDERED_AT + 1_000);
        Input::TradeUpdate(TradeUpdate::Security { security, from, to })
    }

    fn of_trades(first: &[u64]) -> Input {
        let mut trades = [trade(1_000); TRADES_ASKED];
        trades.iter_mut().zip(first).for_each(|(to, &number)| *to = trade(number));
        Input::TradeUpdate(TradeUpdate::Trades(trades))
    }

    fn changed(changed: u8) -> Output {
        Output::TradeUpdate { changed }
    }

    #[test]
    fn executors_get_an_initial_and_lose_it_again() {
        let mut house = house(3);
        let before = house.mock.clone();
        let name = |house: &House, number| {
            let key = TradeKey::new(trade(number));
            house.row(house.tpce.tables.trade_executor, key).expect("there").name
        };
        assert_eq!(house.commits(&of_trades(&[0, 2])), changed(2));
        assert_eq!(name(&house, 0).as_bytes(), b"Ada X Adler");
        assert_eq!(name(&house, 1).as_bytes(), b"Ada Adler");
        assert_eq!(name(&house, 2).as_bytes(), b"Ada X Adler");
        assert_eq!(house.commits(&of_trades(&[2, 0])), changed(2));
        assert!(house.mock == before);
    }

    #[test]
    fn all_people_have_room_for_an_initial() {
        let scale = Scale { seed: 1, customers: 200 };
        for customer in 0..200 {
            let name = Person::customer(scale, customer).full_name();
            let mut other = name;
            assert!(swap_middle(&mut other) && other != name);
            assert!(swap_middle(&mut other));
            assert_eq!(other, name);
        }
    }

    #[test]
    fn settlements_of_an_account_get_their_other_name_and_the_first_one_again() {
        let mut house = house(6);
        let before = house.mock.clone();
        let name = |house: &House, number| {
            let key = TradeKey::new(trade(number));
            house.row(house.tpce.tables.settlement, key).expect("there").cash_type
        };
        // Trades are completed a millisecond after their orders.
        let input = of_account(ORDERED_AT + 2, ORDERED_AT + 4);
        assert_eq!(house.commits(&input), changed(3));
        let names: Vec<_> = (0..5).map(|number| name(&house, number)).collect();
        let expected: [&[u8]; 5] = [b"Cash Account", b"Cash", b"Margin Account", b"Cash", b"Cash Account"];
        assert_eq!(names, expected.map(Text::new));
        assert_eq!(house.commits(&input), changed(3));
        assert!(house.mock == before);
    }

    #[test]
    fn cash_transactions_of_a_security_change_to_and_fro() {
        let mut house = house(6);
        let before = house.mock.clone();
        assert_eq!(house.commits(&of_security(1)), changed(4));
        let row = house.row(house.tpce.tables.cash_transaction, TradeKey::new(trade(4))).unwrap();
        assert_eq!(row.name.as_bytes(), b"Market-Buy 100 Shares of COMMON of AAAAB");
        assert_eq!(house.commits(&of_security(1)), changed(4));
        assert!(house.mock == before);
        // A row that a trade on margin should not have is left alone.
        let table = house.tpce.tables.trade;
        house.change(table, TradeKey::new(trade(4)), |row| row.is_cash = 0);
        assert_eq!(house.commits(&of_security(1)), changed(3));
    }

    #[test]
    fn no_more_than_twenty_trades_are_changed() {
        let mut house = house(25);
        assert_eq!(house.commits(&of_account(ORDERED_AT, u64::MAX >> 20)), changed(20));
        let table = house.tpce.tables.settlement;
        let name = |number| house.row(table, TradeKey::new(trade(number))).map(|row| row.cash_type);
        assert_eq!(name(19), Some(Text::new(CASH_SHORT)));
        assert_eq!(name(21), Some(Text::new(CASH)));
    }

    #[test]
    fn an_update_that_finds_nothing_rolls_back() {
        let mut house = house(3);
        house.rolls_back(&of_trades(&[]));
        house.rolls_back(&of_account(ORDERED_AT + 100, ORDERED_AT + 200));
        house.rolls_back(&of_security(2));
    }
}
