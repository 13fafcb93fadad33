//! Data-Maintenance of the tables of the market of which it changes several rows: DAILY_MARKET, EXCHANGE, FINANCIAL
//! and NEWS_ITEM.

use core::ops::ControlFlow;

use engine::{Abort, Direction, Key, Text, Transaction};

use super::super::super::keys::{
    CompanyNewsKey, DailyMarketKey, ExchangeDescriptionKey, FinancialKey, NewsKey,
};
use super::super::super::rows::EXCHANGES;
use super::super::super::{Scratch, Tpce, found};
use super::super::texts::{find, spliced};
use super::dates::{Civil, TIME_BYTES, time_of_day_text};

/// The milliseconds of a calendar day.
const DAY_MS: u64 = 24 * 3_600_000;
/// The beginning of the part of `EX_DESC` that says when the description was changed.
const STAMP: &[u8] = b" Changed at ";
/// The bytes of `EX_DESC`.
const DESCRIPTION_BYTES: usize = 150;

impl Tpce {
    /// Changes the volumes of a security on one day of all months (DAILY_MARKET).
    pub(super) fn change_volumes<T: Transaction>(
        &self,
        security: u32,
        day_of_month: u8,
        change: i64,
        scratch: &mut Scratch,
        txn: &mut T,
    ) -> Result<u32, Abort> {
        let (table, days) = (self.tables.daily_market, &mut scratch.positions);
        days.clear();
        // The key has dates and not days of months, so that all days of the security are visited.
        txn.scan(table, DailyMarketKey::from_date(security, 0), Direction::Forward, |key, _| {
            if Civil::of(key.date()).day == u32::from(day_of_month) {
                days.push((key.date(), 0));
            }
            ControlFlow::Continue(())
        })?;
        if days.is_empty() {
            return Ok(0);
        }
        txn.decided();
        for &(date, _) in &*days {
            let key = DailyMarketKey::new(security, date);
            found(txn.update(table, key, |row| row.volume = row.volume.wrapping_add(change))?)?;
        }
        Ok(days.len() as u32)
    }

    /// Writes a time into the descriptions of all exchanges (EXCHANGE).
    pub(super) fn stamp_exchanges<T: Transaction>(&self, time: u64, txn: &mut T) -> Result<u32, Abort> {
        txn.decided();
        for exchange in 0..EXCHANGES {
            let key = ExchangeDescriptionKey::new(exchange);
            found(txn.update(self.tables.exchange_description, key, |row| {
                row.description = stamped(row.description, time);
            })?)?;
        }
        Ok(u32::from(EXCHANGES))
    }

    /// Lets the quarters of a company begin a day later, or a day earlier if they begin on the second of a month
    /// already (FINANCIAL).
    pub(super) fn change_quarters<T: Transaction>(
        &self,
        company: u32,
        scratch: &mut Scratch,
        txn: &mut T,
    ) -> Result<u32, Abort> {
        let (table, quarters) = (self.tables.financial, &mut scratch.trades);
        quarters.clear();
        txn.scan(table, FinancialKey::of_company(company), Direction::Forward, |key, _| {
            quarters.push((key.ordered(), 0));
            ControlFlow::Continue(())
        })?;
        if quarters.is_empty() {
            return Ok(0);
        }
        txn.decided();
        for &(key, _) in &*quarters {
            found(txn.update(table, FinancialKey::from_ordered(key), |row| {
                let start = row.quarter_start;
                let is_changed = Civil::of(start).day == 2;
                row.quarter_start = if is_changed { start.wrapping_sub(1) } else { start.wrapping_add(1) };
            })?)?;
        }
        Ok(quarters.len() as u32)
    }

    /// Lets the news of a company appear a day later (NEWS_ITEM).
    pub(super) fn delay_news<T: Transaction>(
        &self,
        company: u32,
        scratch: &mut Scratch,
        txn: &mut T,
    ) -> Result<u32, Abort> {
        let (tables, items) = (&self.tables, &mut scratch.positions);
        items.clear();
        let keys = CompanyNewsKey::of_company(company);
        txn.scan(tables.company_news, keys, Direction::Forward, |key, _| {
            items.push((key.item(), 0));
            ControlFlow::Continue(())
        })?;
        if items.is_empty() {
            return Ok(0);
        }
        txn.decided();
        for &(item, _) in &*items {
            let key = NewsKey::new(item);
            found(txn.update(tables.news, key, |row| row.time = row.time.wrapping_add(DAY_MS))?)?;
        }
        Ok(items.len() as u32)
    }
}

/// Returns a description with the time at which it was changed, in the place of an earlier time. The end of a long
/// description makes room for it.
pub(super) fn stamped(description: Text<DESCRIPTION_BYTES>, time: u64) -> Text<DESCRIPTION_BYTES> {
    const STAMP_BYTES: usize = STAMP.len() + TIME_BYTES;
    let mut stamp = [0; STAMP_BYTES];
    stamp[..STAMP.len()].copy_from_slice(STAMP);
    stamp[STAMP.len()..].copy_from_slice(&time_of_day_text(time));
    let old = description.as_bytes();
    let at = find(old, STAMP).unwrap_or(old.len()).min(DESCRIPTION_BYTES - STAMP_BYTES);
    spliced(description, at, DESCRIPTION_BYTES, &stamp)
}
