//! The conditions of rows whose number does not change: last trades, tax rates and watch lists.

use core::ops::ControlFlow;

use engine::{Quiesced, Violation};

use super::super::keys::{CustomerTaxrateKey, CustomerWatchListKey, SecurityKey, WatchItemKey};
use super::super::rows::COUNTRY_RATES;
use super::super::scale::{CUSTOMERS, SECURITIES, customer_id};
use super::super::time::{PRICE_MAX, PRICE_MIN, calendar};
use super::{Check, ensure};

impl<V: Quiesced> Check<'_, V> {
    /// Checks plus 17 and plus 18 for the securities and the customers of a granule.
    pub(super) fn market(&self, granule: u32) -> Result<(), Violation> {
        for security in granule * SECURITIES..(granule + 1) * SECURITIES {
            let key = SecurityKey::new(security);
            let row = self.row("TPC-E plus 17", self.tpce.tables.last_trade, key)?;
            let prices = [row.price, row.open_price];
            let are_plausible = prices.iter().all(|price| (PRICE_MIN..=PRICE_MAX).contains(price));
            let is_plausible = are_plausible && row.volume >= 0 && row.time >= calendar(0);
            ensure("TPC-E plus 17", is_plausible, || format!("{key:?} has {row:?}"))?;
        }
        (granule * CUSTOMERS..(granule + 1) * CUSTOMERS).try_for_each(|customer| {
            self.rates(customer_id(customer))?;
            self.watched(customer_id(customer))
        })
    }

    fn rates(&self, customer: u64) -> Result<(), Violation> {
        let (mut of_countries, mut of_divisions) = (0, 0);
        let keys = CustomerTaxrateKey::of_customer(customer);
        self.view.scan(self.tpce.tables.customer_taxrate, keys, |key, row| {
            let is_country = key.rate() < COUNTRY_RATES;
            let is_itself = row.rate == u64::from(key.rate());
            *(if is_country { &mut of_countries } else { &mut of_divisions }) += i32::from(is_itself);
            ControlFlow::Continue(())
        });
        ensure("TPC-E plus 18", (of_countries, of_divisions) == (1, 1), || {
            format!("customer {customer} has {of_countries} rates of countries, {of_divisions} of divisions")
        })
    }

    fn watched(&self, customer: u64) -> Result<(), Violation> {
        let tables = &self.tpce.tables;
        let (mut lists, mut list) = (0, 0);
        self.view.scan_by(
            tables.watch_list_by_customer,
            CustomerWatchListKey::of_customer(customer),
            |key, _| {
                (lists, list) = (lists + 1, key.list());
                ControlFlow::Continue(())
            },
        );
        let (mut items, mut are_right) = (0, true);
        self.view.scan(tables.watch_item, WatchItemKey::of_list(list), |key, row| {
            items += 1;
            are_right &= row.security == u64::from(key.security());
            are_right &= key.security() < self.tpce.settings.scale.securities();
            ControlFlow::Continue(())
        });
        ensure("TPC-E plus 18", lists == 1 && (50..=150).contains(&items) && are_right, || {
            format!("customer {customer} has {lists} lists, the last of {items} securities")
        })
    }
}
