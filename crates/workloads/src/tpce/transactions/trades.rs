//! Trades of the past, as Trade-Lookup and Trade-Update read them (TPC-E 3.3.6, 3.3.10): by their identifiers, or the
//! first ones of an account or of a security in a period.
//!
//! It reads `TRADE`, `SETTLEMENT`, CASH_TRANSACTION and TRADE_HISTORY. Trades are found through the indexes of
//! `TRADE` by account and by security, whose ends are hot: orders are inserted there, and their entries move when their
//! status changes. The periods that customers ask for end before the run begins, so that all trades in them are
//! completed. A trade that is not has no settlement yet, which is no error.

use core::ops::ControlFlow;

use engine::{Abort, Direction, Transaction};

use super::super::found;
use super::super::keys::{AccountTradeKey, SecurityTradeKey, TradeHistoryKey, TradeKey, TradeTypeKey};
use super::super::rows::{CashTransaction, Settlement, Trade, TradeType, TradeTypeRow};
use super::super::schema::Tables;

/// The rows of TRADE_HISTORY that are read of a trade.
const HISTORY_MAX: usize = 3;

/// The latest calendar time that keys have room for.
pub(super) const TIME_MAX: u64 = (1 << 44) - 1;

/// A trade, as a terminal shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TradeSeen {
    /// `TRADE` without the executor.
    pub(super) trade: Trade,
    /// `T_EXEC_NAME`.
    pub(super) executor: engine::Text<49>,
    /// `SETTLEMENT`, if the trade is completed.
    pub(super) settlement: Option<Settlement>,
    /// CASH_TRANSACTION, if the trade is completed and not on margin.
    pub(super) cash: Option<CashTransaction>,
    /// TRADE_HISTORY: the times at which the trade got its states, in the order of time, and 0 where it has no more.
    pub(super) history: [u64; HISTORY_MAX],
}

/// Reads a trade, and what belongs to it in other tables. Returns `None` if there is no such trade.
pub(super) fn read_trade<T: Transaction>(
    tables: &Tables,
    trade: u64,
    txn: &mut T,
) -> Result<Option<TradeSeen>, Abort> {
    let key = TradeKey::new(trade);
    let Some(row) = txn.read(tables.trade, key, |row| *row)? else { return Ok(None) };
    let executor = found(txn.read(tables.trade_executor, key, |row| row.name)?)?;
    let settlement = txn.read(tables.settlement, key, |row| *row)?;
    let is_cash = row.is_cash != 0;
    let cash = if is_cash { txn.read(tables.cash_transaction, key, |row| *row)? } else { None };
    // The states of a trade are stored in the order in which it gets them, which is the order of time.
    let mut history = [0; HISTORY_MAX];
    let mut len = 0;
    txn.scan(tables.trade_history, TradeHistoryKey::of_trade(trade), Direction::Forward, |_, row| {
        let Some(time) = history.get_mut(len) else { return ControlFlow::Break(()) };
        *time = row.time;
        len += 1;
        ControlFlow::Continue(())
    })?;
    Ok(Some(TradeSeen { trade: row, executor, settlement, cash, history }))
}

/// Reads TRADE_TYPE of a trade.
pub(super) fn read_type<T: Transaction>(
    tables: &Tables,
    trade: &Trade,
    txn: &mut T,
) -> Result<TradeTypeRow, Abort> {
    let key = TradeTypeKey::new(TradeType::of(trade.kind));
    found(txn.read(tables.trade_type, key, |row| *row)?)
}

/// Declares that these trades will be read.
pub(super) fn prefetch_trades<T: Transaction>(
    tables: &Tables,
    trades: impl Iterator<Item = u64> + Clone,
    txn: &mut T,
) {
    let keys = trades.map(TradeKey::new);
    txn.prefetch((tables.trade, tables.trade_executor), keys.clone());
    txn.prefetch(tables.settlement, keys.clone());
    // Nearly all trades are paid in cash.
    txn.prefetch(tables.cash_transaction, keys);
}

/// Finds the first `most` trades of an account in a period, both ends included, in the order of time. Puts their `T_ID`
/// and their time into the emptied buffer.
pub(super) fn trades_of_account<T: Transaction>(
    tables: &Tables,
    account: u64,
    from: u64,
    to: u64,
    most: usize,
    into: &mut Vec<(u64, u64)>,
    txn: &mut T,
) -> Result<(), Abort> {
    into.clear();
    let period = AccountTradeKey::of_account(account, from, to);
    txn.scan_by(tables.trade_by_account, period, Direction::Forward, |key, row| {
        collect(into, most, key.trade(), row.time)
    })
}

/// Finds the first `most` trades of a security in a period: see [`trades_of_account`].
pub(super) fn trades_of_security<T: Transaction>(
    tables: &Tables,
    security: u32,
    from: u64,
    to: u64,
    most: usize,
    into: &mut Vec<(u64, u64)>,
    txn: &mut T,
) -> Result<(), Abort> {
    into.clear();
    let period = SecurityTradeKey::of_security(security, from, to);
    txn.scan_by(tables.trade_by_security, period, Direction::Forward, |key, row| {
        collect(into, most, key.trade(), row.time)
    })
}

/// Adds a trade to a buffer, and breaks when the buffer has `most` of them, so that no row beyond the last one is read.
fn collect(into: &mut Vec<(u64, u64)>, most: usize, trade: u64, time: u64) -> ControlFlow<()> {
    if into.len() < most {
        into.push((trade, time));
    }
    if into.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

#[cfg(test)]
mod tests {
    use engine::Text;

    use super::super::super::rows::{StatusId, TradeExecutor};
    use super::super::testing::{House, ORDERED_AT, zeroed};
    use super::*;

    const TRADE: u64 = 200_000_000_000_007;

    #[test]
    fn a_completed_trade_is_read_with_all_that_belongs_to_it() {
        let mut house = House::new();
        house.completed_trade(TRADE, 0, 5, ORDERED_AT, true);
        let tables = house.tpce.tables;
        let seen = house.mock.attempt(|txn| read_trade(&tables, TRADE, txn)).unwrap().expect("there");
        assert_eq!((seen.trade.security, seen.trade.quantity, seen.trade.trade_price), (5, 100, 2_500));
        assert_eq!(seen.executor, Text::new(b"Ada Adler"));
        assert_eq!(seen.settlement.map(|row| row.amount), Some(-250_000));
        assert_eq!(seen.cash.map(|row| row.amount), Some(-250_000));
        assert_eq!(seen.history, [ORDERED_AT, ORDERED_AT + 1, 0]);
        let kind = house.mock.attempt(|txn| read_type(&tables, &seen.trade, txn)).unwrap();
        assert_eq!(kind.id, Text::new(b"TMB"));
    }

    #[test]
    fn a_trade_on_margin_has_no_cash_transaction_even_if_there_is_a_row() {
        let mut house = House::new();
        house.completed_trade(TRADE, 0, 5, ORDERED_AT, true);
        let tables = house.tpce.tables;
        let seen = house.mock.attempt(|txn| {
            txn.update(tables.trade, TradeKey::new(TRADE), |row| row.is_cash = 0)?;
            read_trade(&tables, TRADE, txn)
        });
        let seen = seen.unwrap().expect("there");
        assert_eq!((seen.settlement.is_some(), seen.cash), (true, None));
    }

    #[test]
    fn a_trade_that_is_not_completed_has_no_settlement_and_an_unknown_one_is_none() {
        let mut house = House::new();
        let tables = house.tpce.tables;
        let trade = Trade { time: 9, is_cash: 1, status: StatusId::Submitted as u8, ..zeroed() };
        let executor: TradeExecutor = zeroed();
        house.load((tables.trade, tables.trade_executor), TradeKey::new(TRADE), (&trade, &executor));
        let seen = house.mock.attempt(|txn| read_trade(&tables, TRADE, txn)).unwrap();
        let nothing = TradeSeen {
            trade,
            executor: Text::default(),
            settlement: None,
            cash: None,
            history: [0; HISTORY_MAX],
        };
        assert_eq!(seen, Some(nothing));
        assert_eq!(house.mock.attempt(|txn| read_trade(&tables, TRADE + 1, txn)), Ok(None));
    }

    #[test]
    fn the_first_trades_of_a_period_are_found_in_the_order_of_time() {
        let mut house = House::new();
        // The identifiers fall while the times grow. Completion is a millisecond after the order.
        for number in 0..9 {
            house.completed_trade(TRADE + 20 - number, 1, 3, ORDERED_AT + 10 * number, true);
        }
        house.completed_trade(TRADE + 100, 2, 4, ORDERED_AT + 15, true);
        let tables = house.tpce.tables;
        let account = House::account(1);
        let (from, to) = (ORDERED_AT + 11, ORDERED_AT + 51);
        let expected: Vec<_> = (1..=5).map(|n| (TRADE + 20 - n, ORDERED_AT + 10 * n + 1)).collect();
        let mut into = vec![(1, 1)];
        let mut find = |most: usize, by_account: bool| {
            let found = house.mock.attempt(|txn| {
                if by_account {
                    trades_of_account(&tables, account, from, to, most, &mut into, txn)
                } else {
                    trades_of_security(&tables, 3, from, to, most, &mut into, txn)
                }
            });
            assert_eq!(found, Ok(()));
            into.clone()
        };
        for by_account in [true, false] {
            assert_eq!(find(20, by_account), expected);
            assert_eq!(find(3, by_account), expected[..3]);
            assert_eq!(find(0, by_account), []);
        }
    }
}
