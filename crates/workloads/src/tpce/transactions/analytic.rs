//! The analytic transaction of ERMIA's hybrid TPC-E (Kim et al., SIGMOD 2016): the value of a group of accounts.
//!
//! It reads a range of CUSTOMER_ACCOUNT, the positions of each account in HOLDING_SUMMARY, and the price of each
//! position in LAST_TRADE. A group of a fifth of the accounts reads each price many times over. So it conflicts with
//! each Trade-Result for one of its accounts, and with nearly each Market-Feed, for as long as it runs. Of
//! CUSTOMER_ACCOUNT it needs the keys alone, and reads the columns that nobody writes: balances are no part of the
//! result.
//!
//! In the end it inserts a row into a log, so that it is no read-only transaction. The log is a heap: ERMIA numbers its
//! rows by a counter, about which such transactions would not conflict either.

use core::ops::ControlFlow;

use engine::{Abort, Direction, Transaction};

use super::super::input::Analytic;
use super::super::keys::AccountKey;
use super::super::rows::AssetsHistory;
use super::super::{Output, Scratch, Tpce};
use super::assets::{add_positions, prefetch_prices, value_of};

impl Tpce {
    /// Adds up the positions of a group of accounts. A group without accounts is rolled back.
    #[inline(never)]
    pub(in super::super) fn analytic<T: Transaction>(
        &self,
        input: &Analytic,
        scratch: &mut Scratch,
        txn: &mut T,
    ) -> Result<Output, Abort> {
        let tables = &self.tables;
        // The buffer grows to the size of the groups once, and stays so large.
        let Scratch { accounts, positions, .. } = scratch;
        accounts.clear();
        let group = AccountKey::new(input.first)..=AccountKey::new(input.last);
        txn.scan(tables.account, group, Direction::Forward, |key, _| {
            accounts.push((key.id(), 0));
            ControlFlow::Continue(())
        })?;
        if accounts.is_empty() {
            return Err(Abort::Rollback);
        }
        if self.settings.logs_analytics {
            txn.decided();
        }

        let mut total = 0_i64;
        for &(account, _) in accounts.iter() {
            positions.clear();
            add_positions(tables, account, positions, txn)?;
            prefetch_prices(tables, positions, txn);
            total = total.wrapping_add(value_of(tables, positions, txn)?);
        }
        if self.settings.logs_analytics {
            let row = AssetsHistory { first_account: input.first, last_account: input.last, total };
            // An insert into a heap always succeeds.
            txn.insert(tables.assets_history, AccountKey::new(input.first), &row)?;
        }
        Ok(Output::Analytic { total })
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Input;
    use super::super::super::scale::account_id;
    use super::super::testing::House;
    use super::*;

    /// Customers 0 to 2 have accounts 0 and 3. Each account has 100 of security 1, at 25.00, and is short of 40 of
    /// security 2, at 20.00: 1,700.00. The first account of customer 1 has no position.
    fn house(settings: &str) -> House {
        let mut house = House::with(settings);
        house.price(1, 2_500);
        house.price(2, 2_000);
        for customer in 0..3 {
            for place in [0, 3] {
                house.account_of(customer, place, 0);
                if (customer, place) != (1, 0) {
                    house.position(account_id(customer, place), 1, 100);
                    house.position(account_id(customer, place), 2, -40);
                }
            }
        }
        house
    }

    fn sum(house: &mut House, first: u64, last: u64) -> Result<i64, Abort> {
        match house.execute(&Input::Analytic(Analytic { first, last }))? {
            Output::Analytic { total } => Ok(total),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_group_has_the_value_of_its_accounts_and_logs_it() {
        let mut house = house("");
        let (first, last) = (account_id(0, 3), account_id(2, 0));
        // Both ends count; of the four accounts in the group, one has no position.
        assert_eq!(sum(&mut house, first, last), Ok(3 * 170_000));
        assert_eq!(sum(&mut house, account_id(0, 0), account_id(2, 9)), Ok(5 * 170_000));
        assert_eq!(sum(&mut house, account_id(1, 0), account_id(1, 2)), Ok(0));
        let mut log = Vec::new();
        let share = engine::Share { index: 0, of: 1 };
        engine::Quiesced::heap(&house.mock, house.tpce.tables.assets_history, share, |row| log.push(*row));
        assert_eq!(log.len(), 3);
        let logged = AssetsHistory { first_account: first, last_account: last, total: 3 * 170_000 };
        assert!(log.contains(&logged));
    }

    #[test]
    fn the_log_can_be_left_out() {
        let mut house = house("tpce.analytic_log=off");
        assert_eq!(sum(&mut house, account_id(0, 0), account_id(0, 0)), Ok(170_000));
        assert_eq!(house.mock.count(house.tpce.tables.assets_history), 0);
    }

    #[test]
    fn a_group_without_accounts_rolls_back() {
        let mut house = house("");
        assert_eq!(sum(&mut house, account_id(0, 1), account_id(0, 2)), Err(Abort::Rollback));
        assert_eq!(house.mock.count(house.tpce.tables.assets_history), 0);
    }
}
