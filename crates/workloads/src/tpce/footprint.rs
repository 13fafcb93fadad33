//! The homes and the rows that requests are known to touch before they are executed.
//!
//! Homes are for schemes that own partitions. A home is a granule, and those of a request have to be all that it may
//! touch, index entries and keys that it only looks for included: an attempt that touches another one aborts. Which
//! securities an account may hold, and so which its trades are of, is known: those of its basket (see
//! [`Scale::basket`](super::scale::Scale::basket)). Where homes depend on rows that change, or on rows of many accounts,
//! they are all homes. Rows that nobody writes and that are not of a company, a security or a customer live everywhere.
//!
//! Of rows, left out are those that no transaction writes, those that the transaction inserts, and those that are found
//! only during the execution: among them the account and the broker of a Trade-Result, the orders that a Market-Feed
//! triggers, and the positions and trades of an account.

use engine::{Homes, InputFootprint};

use super::input::{
    CustomerPosition, DataMaintenance, Input, MarketWatch, TradeLookup, TradeOrder, TradeUpdate, Watched,
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
        Input::MarketWatch(MarketWatch { watched: Watched::Account(account), .. })
        // Beside the trades it shows the names of their securities.
        | Input::TradeStatus(super::TradeStatus { account }) => {
            reach.account(*account);
            reach.basket(*account);
        }
        Input::TradeLookup(TradeLookup::Trades(trades)) | Input::TradeUpdate(TradeUpdate::Trades(trades)) => {
            trades.iter().for_each(|&trade| reach.trade(trade));
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

    /// Adds the home of what belongs to no granule: addresses, the names by which rows are found, companies by industry.
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
