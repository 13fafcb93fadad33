//! Trade-Lookup (TPC-E 3.3.6): trades of the past, by their identifiers, of an account or of a security, or the lots
//! that a trade has touched.
//!
//! It reads `TRADE`, `SETTLEMENT`, CASH_TRANSACTION and TRADE_HISTORY (see `trades`), in frame 1 TRADE_TYPE, and
//! in frame 4 HOLDING_HISTORY. Frames 1 to 3 ask for trades that are older than the run, which only Trade-Updates
//! write. Frame 4 has a period without an end, and Trade-Results insert changes of the lots that it reads.

use core::ops::ControlFlow;

use engine::{Abort, Direction, Transaction};

use super::super::input::{TRADES_ASKED, TradeLookup};
use super::super::keys::{HoldingHistoryByTradeKey, HoldingHistoryKey};
use super::super::positions::Lot;
use super::super::schema::Tables;
use super::super::{Output, Scratch, Tpce, found};
use super::show;
use super::trades::{
    TIME_MAX, prefetch_trades, read_trade, read_type, trades_of_account, trades_of_security,
};

/// The maximum number of changes of lots that are shown (TPC-E 3.3.6, frame 4).
const CHANGES_MAX: u8 = 20;

impl Tpce {
    /// Reads trades of the past.
    #[inline(never)]
    pub(in super::super) fn trade_lookup<T: Transaction>(
        &self,
        input: &TradeLookup,
        scratch: &mut Scratch,
        txn: &mut T,
    ) -> Result<Output, Abort> {
        let tables = &self.tables;
        let found = match *input {
            TradeLookup::Trades(ref trades) => look_up(tables, trades, txn)?,
            TradeLookup::Account { account, from, to } => {
                trades_of_account(tables, account, from, to, TRADES_ASKED, &mut scratch.trades, txn)?;
                look_up_found(tables, &scratch.trades, txn)?
            }
            TradeLookup::Security { security, from, to } => {
                trades_of_security(tables, security, from, to, TRADES_ASKED, &mut scratch.trades, txn)?;
                look_up_found(tables, &scratch.trades, txn)?
            }
            TradeLookup::Holdings { account, from } => {
                trades_of_account(tables, account, from, TIME_MAX, 1, &mut scratch.trades, txn)?;
                let Some(&(trade, _)) = scratch.trades.first() else { return Err(Abort::Rollback) };
                look_up_lots(tables, trade, &mut scratch.lots, txn)?
            }
        };
        if found == 0 { Err(Abort::Rollback) } else { Ok(Output::TradeLookup { found }) }
    }
}

/// Frame 1: reads those of the trades that there are.
fn look_up<T: Transaction>(tables: &Tables, trades: &[u64], txn: &mut T) -> Result<u8, Abort> {
    prefetch_trades(tables, trades.iter().copied(), txn);
    let mut count = 0;
    for &trade in trades {
        if let Some(seen) = read_trade(tables, trade, txn)? {
            show((seen, read_type(tables, &seen.trade, txn)?));
            count += 1;
        }
    }
    Ok(count)
}

/// Frames 2 and 3: reads the trades that were found.
fn look_up_found<T: Transaction>(tables: &Tables, trades: &[(u64, u64)], txn: &mut T) -> Result<u8, Abort> {
    prefetch_trades(tables, trades.iter().map(|&(trade, _)| trade), txn);
    for &(trade, _) in trades {
        show(found(read_trade(tables, trade, txn)?)?);
    }
    Ok(trades.len() as u8)
}

/// Frame 4: reads all changes, by whatever trade, of the lots that a trade has touched. Returns their number.
fn look_up_lots<T: Transaction>(
    tables: &Tables,
    trade: u64,
    lots: &mut Vec<Lot>,
    txn: &mut T,
) -> Result<u8, Abort> {
    lots.clear();
    let by_trade = HoldingHistoryByTradeKey::of_trade(trade);
    txn.scan_by(tables.holding_history_by_trade, by_trade, Direction::Forward, |key, _| {
        lots.push(Lot { trade: key.primary().lot(), ..Lot::default() });
        ControlFlow::Continue(())
    })?;
    let mut changes = 0;
    for lot in lots.iter() {
        if changes == CHANGES_MAX {
            break;
        }
        let of_lot = HoldingHistoryKey::of_lot(lot.trade);
        txn.scan(tables.holding_history, of_lot, Direction::Forward, |key, row| {
            show((key.lot(), key.trade(), *row));
            changes += 1;
            if changes < CHANGES_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
    }
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::super::super::Input;
    use super::super::super::rows::HoldingHistory;
    use super::super::testing::{House, ORDERED_AT};
    use super::*;

    const TRADE: u64 = 200_000_000_000_000;

    /// Trades 0 to 29 of the first account of customer 1, for securities 3 and 4 in turn, one each second.
    fn house() -> House {
        let mut house = House::new();
        for number in 0..30 {
            house.completed_trade(
                TRADE + number,
                1,
                3 + number as u32 % 2,
                ORDERED_AT + 1_000 * number,
                true,
            );
        }
        house
    }

    fn look(house: &mut House, input: TradeLookup) -> Result<u8, Abort> {
        match house.execute(&Input::TradeLookup(input))? {
            Output::TradeLookup { found } => Ok(found),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn those_of_the_trades_that_exist_are_found() {
        let mut house = house();
        let from = |first: u64| TradeLookup::Trades(core::array::from_fn(|at| TRADE + first + at as u64));
        assert_eq!(look(&mut house, from(0)), Ok(20));
        assert_eq!(look(&mut house, from(18)), Ok(12));
        assert_eq!(look(&mut house, from(30)), Err(Abort::Rollback));
    }

    #[test]
    fn an_account_and_a_security_have_the_first_twenty_trades_of_a_period() {
        let mut house = house();
        let account = House::account(1);
        let time = |number: u64| ORDERED_AT + 1_000 * number;
        let of_account = |from, to| TradeLookup::Account { account, from, to };
        let of_security = |security, from, to| TradeLookup::Security { security, from, to };
        assert_eq!(look(&mut house, of_account(0, time(100))), Ok(20));
        assert_eq!(look(&mut house, of_account(time(25), time(28))), Ok(3));
        assert_eq!(look(&mut house, of_account(time(30), time(100))), Err(Abort::Rollback));
        assert_eq!(look(&mut house, of_security(3, 0, time(100))), Ok(15));
        assert_eq!(look(&mut house, of_security(4, time(0), time(4))), Ok(2));
        assert_eq!(look(&mut house, of_security(5, 0, time(100))), Err(Abort::Rollback));
    }

    #[test]
    fn the_lots_of_the_first_trade_show_all_their_changes() {
        let mut house = house();
        let change = |house: &mut House, lot: u64, by: u64| {
            let row = HoldingHistory { before: 100, after: 0 };
            let key = HoldingHistoryKey::new(TRADE + lot, TRADE + by);
            house.load(house.tpce.tables.holding_history, key, &row);
        };
        // Trade 5 has closed lots 1 and 2, of which 2 was changed before.
        for (lot, by) in [(1, 1), (2, 2), (2, 4), (1, 5), (2, 5), (3, 3)] {
            change(&mut house, lot, by);
        }
        let time = |number: u64| ORDERED_AT + 1_000 * number;
        let lots = |from| TradeLookup::Holdings { account: House::account(1), from };
        assert_eq!(look(&mut house, lots(time(4) + 2)), Ok(5));
        assert_eq!(look(&mut house, lots(time(2) + 2)), Ok(1));
        assert_eq!(look(&mut house, lots(time(5) + 2)), Err(Abort::Rollback));
        assert_eq!(look(&mut house, lots(time(30))), Err(Abort::Rollback));
        (6..30).for_each(|by| change(&mut house, 1, by));
        assert_eq!(look(&mut house, lots(time(4) + 2)), Ok(20));
    }
}
