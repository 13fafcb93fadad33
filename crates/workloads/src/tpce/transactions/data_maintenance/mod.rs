//! Data-Maintenance (TPC-E 3.3.11): changes data that hardly ever change, one of twelve tables at a time.
//!
//! It writes ACCOUNT_PERMISSION, ADDRESS, COMPANY, CUSTOMER, CUSTOMER_TAXRATE, DAILY_MARKET, EXCHANGE, FINANCIAL,
//! NEWS_ITEM, SECURITY, TAXRATE or WATCH_ITEM, and reads nothing beside the rows that it changes and what leads to
//! them. It is rare, and shows whether a scheme copes with writes to data that it may take for constant. Columns that
//! it writes are groups of their own where others read the rest of the row.
//!
//! Most changes go to and fro, or round in a circle, so that data stays as it was loaded in kind and in size.

mod dates;
mod market;
#[cfg(test)]
mod tests;

use core::ops::ControlFlow;

use engine::{Abort, Direction, Row, Table, Text, Transaction};

use super::super::input::DataMaintenance;
use super::super::keys::{
    AddressKey, CompanyKey, CustomerKey, CustomerTaxrateKey, CustomerWatchListKey, PermissionKey,
    SecurityKey, TaxrateNameKey, WatchItemKey,
};
use super::super::rows::{COUNTRY_RATES, CustomerTaxrate, WatchItem};
use super::super::scale::customer_id;
use super::super::{Output, Scratch, Tpce, done, found};
use super::texts::{find, spliced, swap_word};

/// The number of tax rates of the first country: US1 to US5. The other country has the rest of the
/// [`COUNTRY_RATES`].
const FIRST_COUNTRY_RATES: u16 = 5;
/// The domains of `C_EMAIL_2`.
const DOMAINS: [&[u8]; 2] = [b"@mindspring.com", b"@earthlink.com"];

impl Tpce {
    /// Changes rows of a table. Rolls back if there is nothing to change.
    #[inline(never)]
    pub(in super::super) fn data_maintenance<T: Transaction>(
        &self,
        input: &DataMaintenance,
        scratch: &mut Scratch,
        txn: &mut T,
    ) -> Result<Output, Abort> {
        let tables = &self.tables;
        let changed = match *input {
            DataMaintenance::AccountPermission { account } => self.change_rights(account, txn)?,
            DataMaintenance::Address { address } => {
                let change = |line: &mut Text<80>| set_other(line, b"Apt. 10C", b"Apt. 22");
                change_row(tables.address, AddressKey::new(address), |row| change(&mut row.line_2), txn)?
            }
            DataMaintenance::Company { company } => {
                let change = |rating: &mut Text<4>| set_other(rating, b"ABA", b"AAA");
                let key = CompanyKey::new(company);
                change_row(tables.company_rating, key, |row| change(&mut row.rating), txn)?
            }
            DataMaintenance::Customer { customer } => {
                let key = CustomerKey::new(customer_id(customer));
                change_row(tables.customer_email, key, |row| change_domain(&mut row.email_2), txn)?
            }
            DataMaintenance::CustomerTaxrate { customer } => self.change_country_rate(customer, txn)?,
            DataMaintenance::DailyMarket { security, day_of_month, change } => {
                self.change_volumes(security, day_of_month, change, scratch, txn)?
            }
            DataMaintenance::Exchange { time } => self.stamp_exchanges(time, txn)?,
            DataMaintenance::Financial { company } => self.change_quarters(company, scratch, txn)?,
            DataMaintenance::NewsItem { company } => self.delay_news(company, scratch, txn)?,
            DataMaintenance::Security { security } => {
                let (table, key) = (tables.security_exchange_date, SecurityKey::new(security));
                change_row(table, key, |row| row.date = row.date.wrapping_add(1), txn)?
            }
            DataMaintenance::Taxrate { rate } => {
                let (table, key) = (tables.taxrate_name, TaxrateNameKey::new(rate));
                let swap = |name: &mut Text<50>| swap_word(name, b"Tax", b"tax");
                u32::from(found(txn.update(table, key, |row| swap(&mut row.name))?)?)
            }
            DataMaintenance::WatchItem { customer } => self.change_watched(customer, scratch, txn)?,
        };
        if changed == 0 {
            return Err(Abort::Rollback);
        }
        Ok(Output::DataMaintenance { changed })
    }

    /// Gives the one who has the most rights to an account all rights, or takes some away if he has them already
    /// (ACCOUNT_PERMISSION).
    fn change_rights<T: Transaction>(&self, account: u64, txn: &mut T) -> Result<u32, Abort> {
        let table = self.tables.permission;
        let mut greatest: Option<(Text<4>, PermissionKey)> = None;
        txn.scan(table, PermissionKey::of_account(account), Direction::Forward, |key, row| {
            if greatest.is_none_or(|(rights, _)| row.acl > rights) {
                greatest = Some((row.acl, key));
            }
            ControlFlow::Continue(())
        })?;
        let Some((_, key)) = greatest else { return Ok(0) };
        change_row(table, key, |row| set_other(&mut row.acl, b"1111", b"0011"), txn)
    }

    /// Gives a customer the next tax rate of the same country, and after the last one the first (CUSTOMER_TAXRATE).
    /// The rate is a part of the key.
    fn change_country_rate<T: Transaction>(&self, customer: u32, txn: &mut T) -> Result<u32, Abort> {
        let (table, customer) = (self.tables.customer_taxrate, customer_id(customer));
        let mut country = None;
        txn.scan(table, CustomerTaxrateKey::of_customer(customer), Direction::Forward, |key, _| {
            // Rates of countries come first.
            country = Some(key.rate()).filter(|&rate| rate < COUNTRY_RATES);
            ControlFlow::Break(())
        })?;
        let Some(old) = country else { return Ok(0) };
        txn.decided();
        let new = next_rate(old);
        done(txn.delete(table, CustomerTaxrateKey::new(customer, old))?)?;
        let row = CustomerTaxrate { rate: u64::from(new) };
        done(txn.insert(table, CustomerTaxrateKey::new(customer, new), &row)?)?;
        Ok(1)
    }

    /// Lets a customer watch another security instead of the one in the middle of the list: the next one that is not in
    /// it (WATCH_ITEM).
    fn change_watched<T: Transaction>(
        &self,
        customer: u32,
        scratch: &mut Scratch,
        txn: &mut T,
    ) -> Result<u32, Abort> {
        let tables = &self.tables;
        let lists = CustomerWatchListKey::of_customer(customer_id(customer));
        let mut list = None;
        txn.scan_by(tables.watch_list_by_customer, lists, Direction::Forward, |key, _| {
            list = Some(key.list());
            ControlFlow::Break(())
        })?;
        let Some(list) = list else { return Ok(0) };
        let watched = &mut scratch.positions;
        watched.clear();
        txn.scan(tables.watch_item, WatchItemKey::of_list(list), Direction::Forward, |key, _| {
            watched.push((key.security(), 0));
            ControlFlow::Continue(())
        })?;
        let Some(&(old, _)) = watched.get(watched.len().saturating_sub(1) / 2) else { return Ok(0) };
        // Items come in the order of securities.
        let is_new = |security: &u32| watched.binary_search_by_key(security, |&(item, _)| item).is_err();
        let all = self.settings.scale.securities();
        let Some(new) = (old.wrapping_add(1)..all).chain(0..old.min(all)).find(is_new) else { return Ok(0) };
        txn.decided();
        done(txn.delete(tables.watch_item, WatchItemKey::new(list, old))?)?;
        let row = WatchItem { security: u64::from(new) };
        done(txn.insert(tables.watch_item, WatchItemKey::new(list, new), &row)?)?;
        Ok(1)
    }
}

/// Changes a row that must exist. Returns the number of rows: one.
fn change_row<R: Row, T: Transaction>(
    table: Table<R>,
    key: R::Key,
    change: impl FnOnce(&mut R),
    txn: &mut T,
) -> Result<u32, Abort> {
    txn.decided();
    found(txn.update(table, key, change)?)?;
    Ok(1)
}

/// Sets a text to the first of two values, or to the second if it has the first.
fn set_other<const N: usize>(text: &mut Text<N>, first: &[u8], second: &[u8]) {
    *text = Text::new(if text.as_bytes() == first { second } else { first });
}

/// Returns the tax rate that follows another one of the same country.
fn next_rate(rate: u16) -> u16 {
    match rate + 1 {
        FIRST_COUNTRY_RATES => 0,
        COUNTRY_RATES => FIRST_COUNTRY_RATES,
        next => next,
    }
}

/// Gives a mail address the first domain, or the second one if it has the first.
fn change_domain(address: &mut Text<50>) {
    let [first, second] = DOMAINS;
    let old = address.as_bytes();
    let domain = if old.ends_with(first) { second } else { first };
    let at = find(old, b"@").unwrap_or(old.len());
    *address = spliced(*address, at, old.len() - at, domain);
}
