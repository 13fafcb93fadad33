//! The homes and the rows that requests are known to touch before they are executed.
//!
//! Homes are for schemes that own partitions. A home is a granule, and those of a request have to be all that it may
//! touch, index entries and keys that it only looks for included: an attempt that touches another one aborts. Which
//! securities an account may hold, and so which its trades are of, is known: those of its basket (see
//! [`Scale::basket`](super::scale::Scale::basket)). Where homes depend on rows that change, or on rows of many
//! accounts, they are all homes. Rows that nobody writes and that are not of a company, a security or a customer live
//! everywhere.
//!
//! Of rows, left out are those that no transaction writes, those that the transaction inserts, and those that are found
//! only during the execution: among them the account and the broker of a Trade-Result, the orders that a Market-Feed
//! triggers, and the positions and trades of an account.

use engine::{Homes, InputFootprint};

use super::input::{
    CustomerPosition, DataMaintenance, Input, MarketWatch, TradeLookup, TradeOrder, TradeUpdate,
    WatchedSecurities,
};
use super::keys::{
    AccountKey, AddressKey, CompanyKey, CustomerKey, ExchangeDescriptionKey, NewsKey, SHARED_HOME,
    SecurityKey, SummaryKey, TaxrateNameKey, TradeKey, home_of_company, home_of_granule, home_of_security,
};
use super::rows::{EXCHANGES, NEWS_OF_COMPANY};
use super::scale::{
    CUSTOMERS, account_ids, company_of_security, customer_id, granule_of_account, granule_of_trade,
};
use super::schema::Tables;
use super::settings::Settings;

/// Returns the homes that the request may touch.
pub(super) fn homes(settings: &Settings, input: &Input) -> Homes {
    let mut reach = Reach { settings, homes: Homes::new() };
    match input {
        Input::CustomerPosition(input) => reach.customer_position(input),
        Input::MarketWatch(MarketWatch { watched: WatchedSecurities::Account(account), .. })
        // Beside the trades it shows the names of their securities.
        | Input::TradeStatus(super::TradeStatus { account }) => {
            reach.account(*account);
            reach.basket(*account);
        }
        Input::TradeLookup(TradeLookup::Trades(trades)) | Input::TradeUpdate(TradeUpdate::Trades(trades)) => {
            for &trade in trades {
                reach.trade(trade);
            }
        }
        // Lots were opened by trades of the same account, so that their histories live where it lives.
        Input::TradeLookup(TradeLookup::Account { account, .. } | TradeLookup::Holdings { account, .. })
        | Input::TradeUpdate(TradeUpdate::Account { account, .. }) => reach.account(*account),
        Input::TradeOrder(input) => reach.trade_order(input),
        // The entry of the trade by security moves when its time changes.
        Input::TradeResult(input) => {
            reach.trade(input.order.trade);
            reach.security(input.order.security);
        }
        Input::DataMaintenance(input) => reach.data_maintenance(*input),
        // Competitors are companies of any granule.
        Input::SecurityDetail(_)
        // A broker's orders are for securities of any granule.
        | Input::BrokerVolume(_)
        // The items of a list, and the companies of an industry, are found during the execution.
        | Input::MarketWatch(_)
        // The triggered orders are of any account, as are the trades of a security.
        | Input::MarketFeed(_)
        | Input::TradeLookup(TradeLookup::Security { .. })
        | Input::TradeUpdate(TradeUpdate::Security { .. })
        | Input::TradeCleanup(_)
        // A group of accounts holds securities of any granule.
        | Input::Analytic(_) => reach.everything(),
    }
    reach.homes
}

/// A set of homes that becomes that of all homes when it has no room.
struct Reach<'s> {
    settings: &'s Settings,
    homes: Homes,
}

impl Reach<'_> {
    fn add(&mut self, home: u64) {
        match self.homes.listed() {
            Some(homes) if homes.len() == Homes::MAX && !homes.contains(&home) => self.homes = Homes::all(),
            _ => self.homes.add(home),
        }
    }

    /// Adds all homes that there are: one by one if they are few, so that a scheme does not take partitions in which
    /// there is nothing.
    fn everything(&mut self) {
        let granules = self.settings.scale.granules();
        if granules as usize > Homes::MAX {
            self.homes = Homes::all();
        } else {
            (0..granules).for_each(|granule| self.add(home_of_granule(granule)));
        }
    }

    /// Adds the home of what belongs to no granule: addresses, the names by which rows are found, companies by
    /// industry.
    fn shared(&mut self) {
        self.add(SHARED_HOME);
    }

    fn customer(&mut self, customer: u32) {
        self.add(home_of_granule(customer / CUSTOMERS));
    }

    fn account(&mut self, account: u64) {
        self.add(home_of_granule(granule_of_account(account)));
    }

    fn trade(&mut self, trade: u64) {
        self.add(home_of_granule(granule_of_trade(trade)));
    }

    fn security(&mut self, security: u32) {
        self.add(home_of_security(security));
    }

    fn company(&mut self, company: u32) {
        self.add(home_of_company(company));
    }

    /// Adds the securities that an account may hold.
    fn basket(&mut self, account: u64) {
        let basket = self.settings.scale.basket(account);
        basket.as_slice().iter().for_each(|&security| self.security(security));
    }

    fn customer_position(&mut self, input: &CustomerPosition) {
        if input.by_tax_id {
            self.shared();
        }
        self.customer(input.customer);
        account_ids(input.customer).for_each(|account| self.basket(account));
    }

    fn trade_order(&mut self, input: &TradeOrder) {
        // Permissions live with the account, and a company with its securities.
        self.account(input.account);
        self.security(input.security);
        if input.by_company {
            self.shared();
        }
        if input.is_margin {
            self.basket(input.account);
        }
    }

    fn data_maintenance(&mut self, input: DataMaintenance) {
        match input {
            DataMaintenance::AccountPermission { account } => self.account(account),
            DataMaintenance::Address { .. }
            | DataMaintenance::Exchange { .. }
            | DataMaintenance::Taxrate { .. } => self.shared(),
            DataMaintenance::Customer { customer }
            | DataMaintenance::CustomerTaxrate { customer }
            | DataMaintenance::WatchItem { customer } => self.customer(customer),
            DataMaintenance::Company { company }
            | DataMaintenance::Financial { company }
            | DataMaintenance::NewsItem { company } => self.company(company),
            DataMaintenance::DailyMarket { security, .. } | DataMaintenance::Security { security } => {
                self.security(security);
            }
        }
    }
}

/// Adds the rows of a request.
pub(super) fn add(tables: &Tables, input: &Input, footprint: &mut InputFootprint) {
    match input {
        Input::MarketFeed(input) => {
            let quotes = input.quotes().iter();
            quotes.for_each(|quote| footprint.write(tables.last_trade, SecurityKey::new(quote.security)));
        }
        Input::CustomerPosition(input) => {
            footprint.read(tables.customer_email, CustomerKey::new(customer_id(input.customer)));
            let accounts = account_ids(input.customer).map(AccountKey::new);
            accounts.for_each(|account| footprint.read(tables.account_balance, account));
        }
        Input::SecurityDetail(input) => {
            footprint.read(tables.last_trade, SecurityKey::new(input.security));
            footprint.read(tables.security_exchange_date, SecurityKey::new(input.security));
            footprint.read(tables.company_rating, CompanyKey::new(company_of_security(input.security)));
        }
        Input::TradeLookup(TradeLookup::Trades(trades)) => {
            for &trade in trades {
                footprint.read(tables.trade_executor, TradeKey::new(trade));
                footprint.read(tables.settlement, TradeKey::new(trade));
            }
        }
        Input::TradeUpdate(TradeUpdate::Trades(trades)) => {
            for &trade in trades {
                footprint.write(tables.trade_executor, TradeKey::new(trade));
                footprint.read(tables.settlement, TradeKey::new(trade));
            }
        }
        Input::TradeOrder(input) => {
            footprint.read(tables.last_trade, SecurityKey::new(input.security));
            footprint.read(tables.summary, SummaryKey::new(input.account, input.security));
            if input.is_margin {
                footprint.read(tables.account_balance, AccountKey::new(input.account));
            }
        }
        Input::TradeResult(input) => footprint.write(tables.trade, TradeKey::new(input.order.trade)),
        Input::DataMaintenance(input) => add_maintenance(tables, *input, footprint),
        Input::BrokerVolume(_)
        | Input::MarketWatch(_)
        | Input::TradeLookup(_)
        | Input::TradeStatus(_)
        | Input::TradeUpdate(_)
        | Input::TradeCleanup(_)
        | Input::Analytic(_) => {}
    }
}

fn add_maintenance(tables: &Tables, input: DataMaintenance, footprint: &mut InputFootprint) {
    match input {
        DataMaintenance::Address { address } => footprint.write(tables.address, AddressKey::new(address)),
        DataMaintenance::Company { company } => {
            footprint.write(tables.company_rating, CompanyKey::new(company));
        }
        DataMaintenance::Customer { customer } => {
            footprint.write(tables.customer_email, CustomerKey::new(customer_id(customer)));
        }
        DataMaintenance::Exchange { .. } => {
            let keys = (0..EXCHANGES).map(ExchangeDescriptionKey::new);
            keys.for_each(|key| footprint.write(tables.exchange_description, key));
        }
        DataMaintenance::NewsItem { company } => {
            let first = company * NEWS_OF_COMPANY;
            let keys = (first..first + NEWS_OF_COMPANY).map(NewsKey::new);
            keys.for_each(|key| footprint.write(tables.news, key));
        }
        DataMaintenance::Security { security } => {
            footprint.write(tables.security_exchange_date, SecurityKey::new(security));
        }
        DataMaintenance::Taxrate { rate } => {
            footprint.write(tables.taxrate_name, TaxrateNameKey::new(rate));
        }
        // Found during the execution: the row of the highest rights, the present rate, the rows of a day of the month,
        // the quarters that there are, and the item in the middle.
        DataMaintenance::AccountPermission { .. }
        | DataMaintenance::CustomerTaxrate { .. }
        | DataMaintenance::DailyMarket { .. }
        | DataMaintenance::Financial { .. }
        | DataMaintenance::WatchItem { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    use core::ops::{Bound, ControlFlow, RangeBounds};
    use std::collections::BTreeSet;

    use engine::{
        Abort, Additive, Direction, Groups, Home, Index, IndexOn, Key, Row, Schema, Table, Transaction,
        Workload,
    };

    use super::super::{Scratch, Tpce};
    use super::*;
    use crate::mock::{Fixture, MockTxn, declare};

    /// Notes the homes of all keys for which an attempt asks.
    struct Watching<'w, 'm> {
        txn: &'w mut MockTxn<'m>,
        homes: BTreeSet<u64>,
    }

    impl Watching<'_, '_> {
        fn at<K: Key>(&mut self, key: K) {
            if let Home::At(home) = key.home() {
                self.homes.insert(home);
            }
        }

        /// All homes between the ends of a range count, as they do for a scheme that owns partitions.
        fn between<K: Key>(&mut self, keys: &impl RangeBounds<K>) {
            let home = |bound: Bound<&K>| match bound {
                Bound::Included(key) | Bound::Excluded(key) => key.home(),
                Bound::Unbounded => panic!("no transaction scans a whole table"),
            };
            if let (Home::At(from), Home::At(to)) = (home(keys.start_bound()), home(keys.end_bound())) {
                self.homes.extend(from..=to);
            }
        }
    }

    impl Transaction for Watching<'_, '_> {
        fn read<R: Row + ?Sized, O>(
            &mut self,
            table: Table<R>,
            key: R::Key,
            see: impl FnOnce(&R) -> O,
        ) -> Result<Option<O>, Abort> {
            self.at(key);
            self.txn.read(table, key, see)
        }

        fn update<R: Row + ?Sized, O>(
            &mut self,
            table: Table<R>,
            key: R::Key,
            change: impl FnOnce(&mut R) -> O,
        ) -> Result<Option<O>, Abort> {
            self.at(key);
            self.txn.update(table, key, change)
        }

        fn add<R: Additive>(
            &mut self,
            table: Table<R>,
            key: R::Key,
            amounts: impl FnOnce(&mut R),
        ) -> Result<bool, Abort> {
            self.at(key);
            self.txn.add(table, key, amounts)
        }

        fn replace<R: Row + ?Sized>(&mut self, table: Table<R>, key: R::Key, row: &R) -> Result<bool, Abort> {
            self.at(key);
            self.txn.replace(table, key, row)
        }

        fn insert<G: Groups>(&mut self, table: G, key: G::Key, rows: G::Rows<'_>) -> Result<bool, Abort> {
            self.at(key);
            self.txn.insert(table, key, rows)
        }

        fn delete<R: Row + ?Sized>(&mut self, table: Table<R>, key: R::Key) -> Result<bool, Abort> {
            self.at(key);
            self.txn.delete(table, key)
        }

        fn scan<R: Row + ?Sized>(
            &mut self,
            table: Table<R>,
            keys: impl RangeBounds<R::Key>,
            direction: Direction,
            see: impl FnMut(R::Key, &R) -> ControlFlow<()>,
        ) -> Result<(), Abort> {
            self.between(&keys);
            self.txn.scan(table, keys, direction, see)
        }

        fn scan_by<R: Row, I: IndexOn<R>>(
            &mut self,
            index: Index<R, I>,
            keys: impl RangeBounds<I::Key>,
            direction: Direction,
            mut see: impl FnMut(I::Key, &R) -> ControlFlow<()>,
        ) -> Result<(), Abort> {
            self.between(&keys);
            let mut found = Vec::new();
            let scanned = self.txn.scan_by(index, keys, direction, |key, row| {
                found.push(I::primary(key));
                see(key, row)
            });
            for key in found {
                self.at(key);
            }
            scanned
        }

        fn prefetch<G: Groups>(&mut self, _: G, _: impl Iterator<Item = G::Key>) {}
    }

    /// The homes of the index entries that a request inserts or moves in other granules than that of its trade.
    fn entries(input: &Input) -> Option<u64> {
        match input {
            Input::TradeOrder(input) => Some(home_of_security(input.security)),
            Input::TradeResult(input) => Some(home_of_security(input.order.security)),
            _ => None,
        }
    }

    #[test]
    fn homes_are_those_of_all_that_is_touched() {
        let given = "tpce.customers=600 tpce.scale_factor=20000 tpce.mix=broker_volume:2,customer_position:2,\
                     market_feed:1,market_watch:2,security_detail:1,trade_lookup:3,trade_order:10,trade_result:10,\
                     trade_status:2,trade_update:3,data_maintenance:8,trade_cleanup:0.02,analytic:1";
        let mut fixture = Fixture::<Tpce>::with_heaps(given, &["assets_history"]);
        let (mut scratch, mut commits, mut partial) = (Scratch::default(), [0; 13], [0; 13]);
        for _ in 0..1_200 {
            for input in fixture.inputs(1) {
                let (workload, kind) = (&fixture.workload, input.kind());
                let homes = workload.homes(&input);
                let listed = homes.listed().expect("there are three");
                let touched = fixture.mock.attempt(|txn| {
                    let mut txn = Watching { txn, homes: BTreeSet::new() };
                    workload.execute(&input, &mut scratch, &mut txn).map(|output| (output, txn.homes))
                });
                let Ok((output, mut touched)) = touched else { continue };
                workload.committed(&mut fixture.ledger, &input, &output);
                touched.extend(entries(&input));
                let are_told = touched.iter().all(|home| listed.contains(home));
                assert!(are_told, "{input:?}: {touched:?}, told {listed:?}");
                commits[kind] += 1;
                partial[kind] += usize::from(listed.len() < 3);
            }
        }
        assert!(commits.iter().all(|&count| count > 0), "{commits:?}");
        // Orders, results, lookups, updates and maintenance do not take all homes.
        assert!([5, 6, 7, 9, 10].iter().all(|&kind| partial[kind] > 0), "{partial:?}");
    }

    #[test]
    fn more_homes_than_have_room_are_all_homes() {
        let tpce: Tpce = declare("tpce.customers=4000", &mut Schema::new()).expect("legal");
        let homes = |input: &Input| tpce.homes(input).listed().map(<[u64]>::len);
        let trades = |count: u32| {
            Input::TradeLookup(TradeLookup::Trades(core::array::from_fn(|place| {
                super::super::scale::trade_id(place as u32 % count, 0)
            })))
        };
        assert_eq!([16, 17].map(|count| homes(&trades(count))), [Some(16), None]);
        let status = |account| Input::TradeStatus(super::super::TradeStatus { account });
        assert!(account_ids(7).all(|account| homes(&status(account)).is_some_and(|count| count > 1)));
        let analytic = super::super::Analytic { first: 1, last: 2 };
        assert_eq!(homes(&Input::Analytic(analytic)), None);
    }

    #[test]
    fn footprints_have_rows_that_are_touched() {
        let given = "tpce.customers=200 tpce.scale_factor=5000 tpce.mix=customer_position:2,market_feed:1,\
                     security_detail:2,trade_lookup:3,trade_order:10,trade_result:10,trade_update:3,data_maintenance:5";
        let mut fixture = Fixture::<Tpce>::with_heaps(given, &["assets_history"]);
        let mut counts = [0; 3];
        for _ in 0..300 {
            let of_requests = fixture.compare_footprints(1);
            counts.iter_mut().zip(of_requests).for_each(|(sum, count)| *sum += count);
        }
        let [commits, untouched, unknown] = counts;
        assert!(commits > 700 && untouched == 0, "{untouched} of {commits}");
        // Unknown are what a Trade-Result and a Market-Feed find out, and texts of trades of an account or a security.
        assert!((1..commits * 2 / 3).contains(&unknown), "{unknown} of {commits}");
    }
}
