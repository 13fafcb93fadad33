//! Customer-Position (TPC-E 3.3.2): the balances and the value of a customer's accounts and, if wanted, the history of
//! the latest trades of one of them.
//!
//! It reads `CUSTOMER`, by key or by tax identifier, CUSTOMER_ACCOUNT by customer, HOLDING_SUMMARY and
//! LAST_TRADE; for the history `TRADE` by account, TRADE_HISTORY and STATUS_TYPE. Market-Feeds write the prices,
//! which is its most frequent conflict. Trade-Results write balances and positions, and Trade-Orders and Trade-Results
//! the end of the account's trades, but these belong to one customer.

use core::cmp::Reverse;
use core::ops::ControlFlow;

use engine::{Abort, Direction, Transaction};

use super::super::input::CustomerPosition;
use super::super::keys::{
    AccountKey, AccountTradeKey, CustomerAccountKey, CustomerKey, StatusKey, TradeHistoryKey,
};
use super::super::rows::StatusId;
use super::super::scale::{account_id, customer_id, customer_of_id};
use super::super::schema::Tables;
use super::super::{Output, Scratch, Tpce, found, names};
use super::assets::{add_positions, prefetch_prices, value_of};
use super::trades::TIME_MAX;
use super::{find_named, show};

/// The maximum number of accounts that are shown (TPC-E 3.3.2, frame 1).
const ACCOUNTS_MAX: usize = 10;
/// The latest trades whose history is shown (TPC-E 3.3.2, frame 2).
const TRADES_MAX: usize = 10;
/// The maximum number of rows of the history that are shown.
const HISTORY_MAX: usize = 30;
/// The states that a trade can have.
const STATES: usize = StatusId::ALL.len();

/// A row of the history.
#[derive(Clone, Copy, Debug)]
struct Change {
    /// `TH_DTS`.
    time: u64,
    /// `T_ID`.
    trade: u64,
    /// `TH_ST_ID`.
    status: StatusId,
}

impl Tpce {
    /// Adds up the accounts of a customer.
    #[inline(never)]
    pub(in super::super) fn customer_position<T: Transaction>(
        &self,
        input: &CustomerPosition,
        scratch: &mut Scratch,
        txn: &mut T,
    ) -> Result<Output, Abort> {
        let tables = &self.tables;
        let id = self.find_customer(input, txn)?;
        found(txn.read(tables.customer_email, CustomerKey::new(id), |row| show(*row))?)?;

        let accounts = &mut scratch.accounts;
        accounts.clear();
        let customer = customer_of_id(id);
        let last = account_id(customer, ACCOUNTS_MAX as u32 - 1);
        let of_customer = CustomerAccountKey::new(account_id(customer, 0))..=CustomerAccountKey::new(last);
        txn.scan_by(tables.account_by_customer, of_customer, Direction::Forward, |key, _| {
            accounts.push((engine::Key::ordered(key), 0));
            ControlFlow::Continue(())
        })?;
        // The account of the history is one of those in the order in which they are found, not in that of their values,
        // so that a request asks for the same account whatever the prices are.
        let asked = input.history.map(|number| found(accounts.get(number as usize).copied())).transpose()?;

        let positions = &mut scratch.positions;
        positions.clear();
        let mut ends = [0; ACCOUNTS_MAX];
        for ((account, _), end) in accounts.iter().zip(&mut ends) {
            found(txn.read(tables.account_balance, AccountKey::new(*account), |row| show(*row))?)?;
            add_positions(tables, *account, positions, txn)?;
            *end = positions.len();
        }
        prefetch_prices(tables, positions, txn);
        let mut begin = 0;
        for ((_, value), end) in accounts.iter_mut().zip(ends) {
            *value = value_of(tables, positions.get(begin..end).unwrap_or_default(), txn)?;
            begin = end;
        }
        accounts.sort_unstable_by_key(|&(account, value)| (value, account));
        accounts.truncate(ACCOUNTS_MAX);
        let mut assets = 0_i64;
        for &(account, value) in accounts.iter() {
            show((account, value));
            assets = assets.wrapping_add(value);
        }

        let history = match asked {
            Some((account, _)) => read_history(tables, account, &mut scratch.trades, txn)?,
            None => 0,
        };
        Ok(Output::CustomerPosition { accounts: scratch.accounts.len() as u8, assets, history })
    }

    /// Reads `CUSTOMER`, and returns `C_ID`.
    fn find_customer<T: Transaction>(&self, input: &CustomerPosition, txn: &mut T) -> Result<u64, Abort> {
        if input.by_tax_id {
            let tax_id = names::tax_id(self.settings.scale, input.customer);
            let index = self.tables.customer_by_tax_id;
            let customer = find_named(index, tax_id.as_bytes(), txn, |row| show(*row))?;
            return Ok(found(customer)?.0);
        }
        let id = customer_id(input.customer);
        found(txn.read(self.tables.customer, CustomerKey::new(id), |row| show(*row))?)?;
        Ok(id)
    }
}

/// Reads the history of the latest trades of an account, and returns its number of rows.
fn read_history<T: Transaction>(
    tables: &Tables,
    account: u64,
    trades: &mut Vec<(u64, u64)>,
    txn: &mut T,
) -> Result<u8, Abort> {
    trades.clear();
    let all = AccountTradeKey::of_account(account, 0, TIME_MAX);
    txn.scan_by(tables.trade_by_account, all, Direction::Backward, |key, row| {
        show((row.security, row.quantity));
        trades.push((key.trade(), row.time));
        if trades.len() < TRADES_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;

    let mut changes = [Change { time: 0, trade: 0, status: StatusId::Pending }; TRADES_MAX * STATES];
    let mut len = 0;
    for &(trade, _) in trades.iter() {
        txn.scan(tables.trade_history, TradeHistoryKey::of_trade(trade), Direction::Forward, |key, row| {
            let Some(change) = changes.get_mut(len) else { return ControlFlow::Break(()) };
            *change = Change { time: row.time, trade, status: key.status() };
            len += 1;
            ControlFlow::Continue(())
        })?;
    }
    let changes = &mut changes[..len];
    changes.sort_unstable_by_key(|change| Reverse((change.time, change.trade, change.status)));
    let shown = &changes[..len.min(HISTORY_MAX)];
    for change in shown {
        found(txn.read(tables.status_type, StatusKey::new(change.status), |row| show((*change, row.name)))?)?;
    }
    Ok(shown.len() as u8)
}

#[cfg(test)]
mod tests {
    use super::super::super::Input;
    use super::super::super::keys::TradeKey;
    use super::super::super::rows::{Trade, TradeExecutor, TradeHistory};
    use super::super::testing::{House, ORDERED_AT, zeroed};
    use super::*;

    const TRADE: u64 = 200_000_000_000_000;

    /// Customer 4 has three accounts: the first with 100 of security 1, at 25.00, and 200 of security 2, at 20.00; the
    /// second without a position; the third short of 100 of security 1. Customers 3 and 5 have an account each.
    fn house() -> House {
        let mut house = House::new();
        house.price(1, 2_500);
        house.price(2, 2_000);
        for (customer, places) in [(3, 1), (4, 3), (5, 1)] {
            house.customer(customer);
            (0..places).for_each(|place| house.account_of(customer, place, 0));
        }
        house.position(account_id(4, 0), 1, 100);
        house.position(account_id(4, 0), 2, 200);
        house.position(account_id(4, 2), 1, -100);
        house.position(account_id(3, 0), 1, 1);
        house.position(account_id(5, 0), 1, 1);
        house
    }

    fn ask(house: &mut House, by_tax_id: bool, history: Option<u32>) -> Result<Output, Abort> {
        let input = CustomerPosition { customer: 4, by_tax_id, history };
        house.execute(&Input::CustomerPosition(input))
    }

    /// Loads a trade of the second account of customer 4 that had these states, a second each, from a time on.
    fn trade(house: &mut House, number: u64, time: u64, states: &[StatusId]) {
        let (tables, key) = (house.tpce.tables, TradeKey::new(TRADE + number));
        let row = Trade { time, account: account_id(4, 1), ..zeroed() };
        let rows = (&row, &zeroed::<TradeExecutor>());
        house.load((tables.trade, tables.trade_executor), key, rows);
        for (at, &status) in states.iter().enumerate() {
            let row = TradeHistory { time: time + 1_000 * at as u64 };
            house.load(tables.trade_history, TradeHistoryKey::new(TRADE + number, status), &row);
        }
    }

    #[test]
    fn the_accounts_of_the_customer_are_added_up_by_id_and_by_tax_id() {
        let mut house = house();
        let assets = 100 * 2_500 + 200 * 2_000 - 100 * 2_500;
        let position = Ok(Output::CustomerPosition { accounts: 3, assets, history: 0 });
        assert_eq!(ask(&mut house, false, None), position);
        assert_eq!(ask(&mut house, true, None), position);
    }

    #[test]
    fn accounts_are_shown_from_the_poorest_to_the_richest() {
        let mut house = house();
        assert!(ask(&mut house, false, None).is_ok());
        let seen = house.scratch.accounts.clone();
        assert_eq!(seen, [(account_id(4, 2), -250_000), (account_id(4, 1), 0), (account_id(4, 0), 650_000)]);
    }

    #[test]
    fn the_history_has_thirty_changes_of_the_ten_latest_trades_of_the_account() {
        let mut house = house();
        let history = |house: &mut House, number| match ask(house, false, Some(number)).unwrap() {
            Output::CustomerPosition { history, .. } => history,
            other => panic!("{other:?}"),
        };
        assert_eq!(history(&mut house, 1), 0);
        let states = [StatusId::Pending, StatusId::Submitted, StatusId::Completed];
        for number in 0..4 {
            trade(&mut house, number, ORDERED_AT + number, &states);
        }
        assert_eq!(history(&mut house, 1), 12);
        assert_eq!(history(&mut house, 0), 0);
        for number in 4..15 {
            trade(&mut house, number, ORDERED_AT + number, &states[..2]);
        }
        // The trades from 5 on are the latest ten.
        assert_eq!(history(&mut house, 1), 20);
        let all = [states[0], states[1], states[2], StatusId::Canceled];
        for number in 15..25 {
            trade(&mut house, number, ORDERED_AT + number, &all);
        }
        assert_eq!(history(&mut house, 1), 30);
    }

    #[test]
    fn a_missing_price_or_account_is_a_contradiction() {
        let mut house = house();
        assert_eq!(ask(&mut house, false, Some(3)), Err(Abort::ReadChanged));
        house.position(account_id(4, 1), 3, 1);
        assert_eq!(ask(&mut house, false, None), Err(Abort::ReadChanged));
    }
}
