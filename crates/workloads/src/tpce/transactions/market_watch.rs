//! Market-Watch (TPC-E 3.3.4): how the value of some companies on the market has changed since a day.
//!
//! It reads a list of securities, from WATCH_LIST and WATCH_ITEM, from HOLDING_SUMMARY, or from `INDUSTRY`,
//! `COMPANY` and `SECURITY`, and for each of them LAST_TRADE, `SECURITY` and DAILY_MARKET: some hundred point reads
//! without any order, which are requested ahead. The prices are what it conflicts about: a Market-Feed writes twenty of
//! them, and a watch list has a hundred. Other tables are hardly ever written.

use core::ops::ControlFlow;

use engine::{Abort, Direction, Transaction};

use super::super::input::{MarketWatch, WatchedSecurities};
use super::super::keys::{
    CustomerWatchListKey, DailyMarketKey, IndustryCompanyKey, IndustryKey, IssueKey, SecurityKey,
    WatchItemKey,
};
use super::super::scale::customer_id;
use super::super::schema::Tables;
use super::super::{Output, Scratch, Tpce, found};
use super::assets::add_positions;
use super::show;

/// A hundred percent of the unit of the result.
const WHOLE: i128 = 100_000;

impl Tpce {
    /// Compares the value of securities with that on another day.
    #[inline(never)]
    pub(in super::super) fn market_watch<T: Transaction>(
        &self,
        input: &MarketWatch,
        scratch: &mut Scratch,
        txn: &mut T,
    ) -> Result<Output, Abort> {
        let tables = &self.tables;
        find_watched(tables, &input.watched, scratch, txn)?;
        if scratch.positions.is_empty() {
            return Err(Abort::Rollback);
        }
        let watched = || scratch.positions.iter().map(|&(security, _)| security);
        txn.prefetch(tables.last_trade, watched().map(SecurityKey::new));
        txn.prefetch(tables.security, watched().map(SecurityKey::new));
        txn.prefetch(
            tables.daily_market,
            watched().map(|security| DailyMarketKey::new(security, input.date)),
        );

        let (mut before, mut now) = (0_i128, 0_i128);
        let mut securities = 0;
        for security in watched() {
            // A security without one of the three values does not count, neither now nor before.
            let key = SecurityKey::new(security);
            let Some(price) = txn.read(tables.last_trade, key, |row| row.price)? else { continue };
            let Some(outstanding) = txn.read(tables.security, key, |row| row.outstanding)? else { continue };
            let key = DailyMarketKey::new(security, input.date);
            let Some(close) = txn.read(tables.daily_market, key, |row| row.close)? else { continue };
            let outstanding = i128::from(outstanding);
            now = now.saturating_add(outstanding * i128::from(price));
            before = before.saturating_add(outstanding * i128::from(close));
            securities += 1;
        }
        // Without a value before, no change can be told, and the specification wants 0.
        let change = now.saturating_sub(before).saturating_mul(WHOLE).checked_div(before).unwrap_or(0);
        Ok(Output::MarketWatch { securities, change: i64::try_from(change).unwrap_or(i64::MAX) })
    }
}

/// Puts the securities that are watched into the buffer of positions.
fn find_watched<T: Transaction>(
    tables: &Tables,
    watched: &WatchedSecurities,
    scratch: &mut Scratch,
    txn: &mut T,
) -> Result<(), Abort> {
    let securities = &mut scratch.positions;
    securities.clear();
    match *watched {
        WatchedSecurities::ListOf(customer) => {
            let lists = CustomerWatchListKey::of_customer(customer_id(customer));
            let mut list = None;
            txn.scan_by(tables.watch_list_by_customer, lists, Direction::Forward, |key, _| {
                list = Some(key.list());
                // A customer has one list.
                ControlFlow::Break(())
            })?;
            let items = WatchItemKey::of_list(found(list)?);
            txn.scan(tables.watch_item, items, Direction::Forward, |key, _| {
                securities.push((key.security(), 0));
                ControlFlow::Continue(())
            })
        }
        WatchedSecurities::Account(account) => add_positions(tables, account, securities, txn),
        WatchedSecurities::Industry { industry, first, last } => {
            found(txn.read(tables.industry, IndustryKey::new(industry), |row| show(*row))?)?;
            let companies = &mut scratch.companies;
            companies.clear();
            let of_industry = IndustryCompanyKey::of_industry(industry, first, last);
            txn.scan_by(tables.company_by_industry, of_industry, Direction::Forward, |key, _| {
                companies.push(key.company());
                ControlFlow::Continue(())
            })?;
            for &company in companies.iter() {
                let issues = IssueKey::of_company(company);
                txn.scan_by(tables.security_by_company, issues, Direction::Forward, |key, _| {
                    securities.push((key.security(), 0));
                    ControlFlow::Continue(())
                })?;
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Input;
    use super::super::super::keys::{DailyMarketKey, WatchListKey};
    use super::super::super::rows::{DailyMarket, WatchItem, WatchList};
    use super::super::testing::{House, zeroed};
    use super::*;

    const DATE: u32 = 11_000;

    /// Securities 0 to 3, of which there are 1,000 times their number plus one, cost 20.00 on the day and 25.00 now.
    /// Their companies have the same numbers and, but for the last, are of industry 7.
    fn house() -> House {
        let mut house = House::new();
        house.sector(1);
        house.industry(7, 1);
        house.industry(8, 1);
        for security in 0..4 {
            house.company(security, if security < 3 { 7 } else { 8 });
            house.security(security, security, 2_500);
            house.day(security, DATE, 2_000);
        }
        house
    }

    fn list(house: &mut House, customer: u32, securities: &[u32]) {
        let (tables, id) = (house.tpce.tables, customer_id(customer));
        house.load(tables.watch_list, WatchListKey::new(id), &WatchList { customer: id });
        for &security in securities {
            let row = WatchItem { security: u64::from(security) };
            house.load(tables.watch_item, WatchItemKey::new(id, security), &row);
        }
    }

    fn watch(house: &mut House, watched: WatchedSecurities) -> Result<(u32, i64), Abort> {
        match house.execute(&Input::MarketWatch(MarketWatch { watched, date: DATE }))? {
            Output::MarketWatch { securities, change } => Ok((securities, change)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_three_ways_to_name_securities_agree() {
        let mut house = house();
        list(&mut house, 5, &[0, 1, 2]);
        list(&mut house, 6, &[3]);
        (0..3).for_each(|security| house.position(House::account(9), security, 100));
        let industry = |first, last| WatchedSecurities::Industry { industry: 7, first, last };
        for watched in
            [WatchedSecurities::ListOf(5), WatchedSecurities::Account(House::account(9)), industry(0, 3)]
        {
            assert_eq!(watch(&mut house, watched), Ok((3, 25_000)));
        }
        assert_eq!(watch(&mut house, industry(1, 3)), Ok((2, 25_000)));
    }

    #[test]
    fn securities_count_by_what_is_outstanding() {
        let mut house = house();
        list(&mut house, 5, &[0, 3]);
        house.price(0, 1_000);
        house.price(3, 2_100);
        // 1,000 * 10.00 + 4,000 * 21.00 of 5,000 * 20.00 is 94%.
        assert_eq!(watch(&mut house, WatchedSecurities::ListOf(5)), Ok((2, -6_000)));
        house.price(3, 2_100 + 1);
        // The value is 94.04%.
        assert_eq!(watch(&mut house, WatchedSecurities::ListOf(5)), Ok((2, -5_960)));
    }

    #[test]
    fn a_security_that_lacks_a_value_is_left_out() {
        let mut house = house();
        let tables = house.tpce.tables;
        list(&mut house, 5, &[0, 1, 2, 3, 77]);
        house.price(3, 2_000);
        assert_eq!(watch(&mut house, WatchedSecurities::ListOf(5)).map(|seen| seen.0), Ok(4));
        let deleted = house.mock.attempt(|txn| {
            Ok([
                txn.delete(tables.daily_market, DailyMarketKey::new(0, DATE))?,
                txn.delete(tables.last_trade, SecurityKey::new(1))?,
                txn.delete(tables.security, SecurityKey::new(2))?,
            ])
        });
        assert_eq!(deleted, Ok([true; 3]));
        assert_eq!(watch(&mut house, WatchedSecurities::ListOf(5)), Ok((1, 0)));
    }

    #[test]
    fn nothing_to_watch_rolls_back_and_no_value_before_is_no_change() {
        let mut house = house();
        assert_eq!(watch(&mut house, WatchedSecurities::Account(House::account(9))), Err(Abort::Rollback));
        list(&mut house, 5, &[]);
        assert_eq!(watch(&mut house, WatchedSecurities::ListOf(5)), Err(Abort::Rollback));
        let none = WatchedSecurities::Industry { industry: 8, first: 0, last: 2 };
        assert_eq!(watch(&mut house, none), Err(Abort::Rollback));
        assert_eq!(watch(&mut house, WatchedSecurities::ListOf(6)), Err(Abort::ReadChanged));
        list(&mut house, 7, &[0]);
        let day = house.tpce.tables.daily_market;
        house
            .mock
            .attempt(|txn| txn.replace(day, DailyMarketKey::new(0, DATE), &zeroed::<DailyMarket>()))
            .unwrap();
        assert_eq!(watch(&mut house, WatchedSecurities::ListOf(7)), Ok((1, 0)));
    }
}
