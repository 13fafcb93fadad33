//! Numbers of rows, after loading and as transactions touch them.
//!
//! They follow from the cardinalities of TPC-E 2.6, except for those of positions, which depend on the number of trades
//! and are computed from their distribution: see [`position`].

use core::f64::consts::PI;

use super::super::rows::{
    Account, AccountBalance, Address, Broker, BrokerTotals, CashTransaction, Charge, CommissionRate, Company,
    CompanyNews, CompanyRating, Competitor, Customer, CustomerEmail, CustomerTaxrate, DailyMarket, EXCHANGES,
    Exchange, ExchangeDescription, Financial, Holding, HoldingHistory, INDUSTRIES, Industry, LastTrade,
    NEWS_OF_COMPANY, News, NewsBody, Permission, SECTORS, Sector, Security, SecurityExchangeDate, Settlement,
    StatusType, Summary, TAXRATES, Taxrate, TaxrateName, Trade, TradeExecutor, TradeHistory, TradeTypeRow,
    WatchItem, WatchList, ZIP_CODES, ZipCode,
};
use super::super::scale::{ACCOUNT_SLOTS, accounts};
use super::super::settings::{Settings, TRADE_CLEANUP, TRADE_ORDER, TYPES};
use super::super::time::{MARKET_DAYS, PERIOD_MS};
use super::{ASKED, CASH, LIMITS, RESULTS_OF_FEED, active_brokers, feeds, shares};

/// The mean number of accounts of a customer.
const ACCOUNTS: f64 = 5.0;
/// The mean number of accounts of a customer who sends a request: 10% of the requests are by customers with 2.5
/// accounts, 60% by customers with 5, and 30% by customers with 7.5.
pub(super) const ACCOUNTS_OF_CALLER: f64 = 5.5;
/// The mean number of securities of an account's basket.
pub(super) const BASKET: f64 = 10.0;
/// The quantities of trades in hundreds, which are equally likely.
const QUANTITIES: [f64; 4] = [1.0, 2.0, 4.0, 8.0];
/// The mean quantity of an open lot, in hundreds, as found in loaded databases: a little below that of a trade.
const LOT_QUANTITY: f64 = 3.7;
/// The variance of the number of trades that an account makes in a security of its basket, as a part of the square of
/// the mean: some customers send more requests than others, and have fewer accounts or smaller baskets.
const BUSY: f64 = 0.46;
/// The changes of lots by a trade, after many trades.
pub(super) const CHANGES_OF_TRADE: f64 = 1.34;
/// The entries of a Market-Feed.
const ENTRIES: f64 = super::super::market::FEED_ENTRIES as f64;
/// The rows of a trade in TRADE, SETTLEMENT, CASH_TRANSACTION and TRADE_HISTORY.
const ROWS_OF_TRADE: f64 = 1.0 + 1.0 + CASH + 2.0 + LIMITS;

/// The numbers of rows after loading on which those of other tables depend.
pub(super) struct Loaded<'s> {
    pub(super) settings: &'s Settings,
    pub(super) accounts: f64,
    pub(super) trades: f64,
    /// The rows of HOLDING_SUMMARY.
    pub(super) positions: f64,
    /// The rows of HOLDING.
    pub(super) lots: f64,
    /// The rows of HOLDING_HISTORY.
    pub(super) changes: f64,
}

impl<'s> Loaded<'s> {
    pub(super) fn new(settings: &'s Settings) -> Self {
        let accounts = f64::from(settings.scale.customers) * ACCOUNTS;
        let trades = settings.initial_trades() as f64;
        let pairs = accounts * BASKET;
        let (is_open, quantity) = position(trades / pairs);
        let lots = pairs * quantity / LOT_QUANTITY;
        // A trade changes one lot, or several with a share that grows with the lots that there have been: a fit to
        // loaded databases of 1/10 to 300 days.
        let changes = 1.36 * trades - 0.375 * lots;
        Self { settings, accounts, trades, positions: pairs * is_open, lots, changes }
    }

    /// Returns the number of rows of each kind, with the size of a row in bytes.
    fn kinds(&self) -> [(f64, usize); 32] {
        let scale = self.settings.scale;
        let customers = f64::from(scale.customers);
        let [companies, securities, brokers] =
            [scale.companies(), scale.securities(), scale.brokers()].map(f64::from);
        let news = companies * f64::from(NEWS_OF_COMPANY);
        let trade_history = self.trades * (2.0 + LIMITS);
        [
            (self.accounts * 1.42, size_of::<Permission>()),
            (customers, size_of::<Customer>() + size_of::<CustomerEmail>()),
            (self.accounts, size_of::<Account>() + size_of::<AccountBalance>()),
            (customers * 2.0, size_of::<CustomerTaxrate>()),
            (self.lots, size_of::<Holding>()),
            (self.changes, size_of::<HoldingHistory>()),
            (self.positions, size_of::<Summary>()),
            (customers * watched(securities), size_of::<WatchItem>()),
            (customers, size_of::<WatchList>()),
            (brokers, size_of::<Broker>() + size_of::<BrokerTotals>()),
            (self.trades * CASH, size_of::<CashTransaction>()),
            (15.0, size_of::<Charge>()),
            (240.0, size_of::<CommissionRate>()),
            (self.trades, size_of::<Settlement>()),
            (self.trades, size_of::<Trade>() + size_of::<TradeExecutor>()),
            (trade_history, size_of::<TradeHistory>()),
            (5.0, size_of::<TradeTypeRow>()),
            (companies, size_of::<Company>() + size_of::<CompanyRating>()),
            (companies * 3.0, size_of::<Competitor>()),
            (securities * f64::from(MARKET_DAYS), size_of::<DailyMarket>()),
            (f64::from(EXCHANGES), size_of::<Exchange>()),
            (f64::from(EXCHANGES), size_of::<ExchangeDescription>()),
            (companies * 20.0, size_of::<Financial>()),
            (f64::from(INDUSTRIES), size_of::<Industry>()),
            (securities, size_of::<LastTrade>()),
            (news, size_of::<News>() + size_of::<NewsBody>() + size_of::<CompanyNews>()),
            (f64::from(SECTORS), size_of::<Sector>()),
            (securities, size_of::<Security>() + size_of::<SecurityExchangeDate>()),
            (customers + companies + f64::from(EXCHANGES), size_of::<Address>()),
            (5.0, size_of::<StatusType>()),
            (f64::from(TAXRATES), size_of::<Taxrate>() + size_of::<TaxrateName>()),
            (f64::from(ZIP_CODES), size_of::<ZipCode>()),
        ]
    }

    /// Returns the number of all rows, and their bytes.
    pub(super) fn rows(&self) -> (u64, u64) {
        // News and tax rates are two tables each with as many rows.
        let companies = f64::from(self.settings.scale.companies());
        let second = companies * f64::from(NEWS_OF_COMPANY) + f64::from(TAXRATES);
        let rows: f64 = self.kinds().iter().map(|(rows, _)| rows).sum();
        let bytes: f64 = self.kinds().iter().map(|(rows, bytes)| rows * *bytes as f64).sum();
        ((rows + second).round() as u64, bytes.round() as u64)
    }

    /// The positions of an account.
    pub(super) fn positions_of_account(&self) -> f64 {
        self.positions / self.accounts
    }

    /// The trades of an account that a transaction finds if it asks for so many.
    fn trades_of_account(&self, asked: f64) -> f64 {
        (self.trades / self.accounts).min(asked)
    }

    /// The orders that wait for their prices in the long run: each for a sixth of the period of prices, if
    /// Market-Feeds bring it, and at most until the next Trade-Cleanup. `None` if they wait forever.
    pub(super) fn pending(&self) -> Option<f64> {
        let shares = shares(self.settings);
        if shares[TRADE_ORDER] <= 0.0 {
            return Some(0.0);
        }
        let orders_a_second = f64::from(self.settings.active) / f64::from(self.settings.scale_factor);
        let triggered = feeds(self.settings).then(|| orders_a_second * LIMITS * PERIOD_MS as f64 / 6_000.0);
        let (orders, cleanups) = (shares[TRADE_ORDER], shares[TRADE_CLEANUP]);
        let canceled = (cleanups > 0.0).then(|| LIMITS * orders / cleanups);
        [triggered, canceled].into_iter().flatten().reduce(f64::min)
    }

    /// Returns the accounts of a group of an analytic transaction, and their positions.
    pub(super) fn group(&self, settings: &Settings) -> (f64, f64) {
        let accounts = settings.group as f64 / 10.0 * ACCOUNTS;
        (accounts, accounts * self.positions_of_account())
    }

    /// The rows that a transaction of each type reads and writes, in the mean.
    pub(super) fn touched(&self) -> [(f64, f64); TYPES] {
        let (settings, positions) = (self.settings, self.positions_of_account());
        let securities = f64::from(settings.scale.securities());
        let brokers = f64::from(settings.scale.brokers()).min(30.0);
        // What grows with the run is counted as it is at the start.
        let pending = self.pending().unwrap_or(0.0);
        let requests = pending / active_brokers(settings);
        let history = self.trades_of_account(10.0);
        let of_industry = securities.min(5_000.0 * 1.37) / f64::from(INDUSTRIES);
        let lookup = ASKED * ROWS_OF_TRADE;
        let by_account = self.trades_of_account(ASKED) * ROWS_OF_TRADE;
        let (accounts, of_group) = self.group(settings);
        let triggered = RESULTS_OF_FEED * LIMITS;
        [
            (1.0 + brokers * (1.0 + 4.0 * requests), 0.0),
            (
                2.0 + ACCOUNTS_OF_CALLER * (2.0 + 2.0 * positions)
                    + history * (1.0 + 2.0 * (2.0 + LIMITS)) / 2.0,
                0.0,
            ),
            (ENTRIES + triggered, ENTRIES + 3.0 * triggered),
            (
                0.6 * (1.0 + 4.0 * watched(securities)) + 0.35 * 4.0 * positions + 0.05 * 5.0 * of_industry,
                0.0,
            ),
            (10.0 + 3.0 * 3.0 + 20.0 + 12.5 + 1.0 + 4.0, 0.0),
            (0.3 * lookup + 0.3 * by_account + 0.3 * lookup + 0.1 * 4.0, 0.0),
            (12.0 + 0.08 * 2.0 * positions, 2.0 + LIMITS),
            (10.0, 7.0 + 2.0 * CASH + self.changes / self.trades.max(1.0)),
            (3.0 + 6.0 * self.trades_of_account(50.0), 0.0),
            (0.67 * lookup + 0.33 * by_account, 0.67 * ASKED + 0.33 * self.trades_of_account(ASKED)),
            (4.0, 3.0),
            (2.0 * pending, 4.0 * pending),
            (accounts + 2.0 * of_group, if settings.logs_analytics { 1.0 } else { 0.0 }),
        ]
    }
}

/// Returns the share of the groups that have no account: of the ten places for accounts that each customer has, the
/// last ones may be empty, and a small group may lie among these.
pub(super) fn empty_groups(settings: &Settings) -> f64 {
    if settings.group >= ACCOUNT_SLOTS {
        return 0.0;
    }
    let customers = settings.scale.customers;
    let empty =
        |customer: u32| (ACCOUNT_SLOTS + 1).saturating_sub(u64::from(accounts(customer)) + settings.group);
    let all: u64 = (0..customers).map(empty).sum();
    all as f64 / (u64::from(customers) * ACCOUNT_SLOTS + 1 - settings.group) as f64
}

/// Returns the probability that a position is open after a number of trades with this mean, and the mean of its
/// quantity in hundreds, long or short.
///
/// The number of trades is distributed by Poisson, with means that differ by a gamma distribution, and each trade adds
/// or takes one of the quantities. If `f` is the characteristic function of a trade, and `v` the relative variance of
/// the means, that of the sum is `(1 + v * mean * (1 - f))^(-1 / v)`, and both results are integrals of it.
fn position(mean: f64) -> (f64, f64) {
    const STEPS: u32 = 4_096;
    let (mut closed, mut quantity) = (0.0, 0.0);
    for step in 0..STEPS {
        let t = (f64::from(step) + 0.5) * PI / f64::from(STEPS);
        let of_trade = QUANTITIES.iter().map(|quantity| (quantity * t).cos()).sum::<f64>() / 4.0;
        let of_sum = (1.0 + BUSY * mean * (1.0 - of_trade)).powf(-1.0 / BUSY);
        closed += of_sum;
        quantity += (1.0 - of_sum) / (t / 2.0).sin().powi(2);
    }
    (1.0 - closed / f64::from(STEPS), quantity / (2.0 * f64::from(STEPS)))
}

/// Returns the mean number of securities of a watch list: 50 to 150, but at most seven in eight of them.
pub(super) fn watched(securities: f64) -> f64 {
    let most = (securities * 7.0 / 8.0).floor();
    (50..=150).map(|count| f64::from(count).min(most)).sum::<f64>() / 101.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_follow_from_the_trades() {
        let (is_open, quantity) = position(0.001);
        assert!((is_open - 0.001).abs() < 2e-6 && (quantity - 0.00375).abs() < 5e-6, "{is_open} {quantity}");
        // Of as many trades in each position, the sum would be normal with a variance of 21.25 for each trade.
        let (is_open, quantity) = position(10_000.0);
        let normal = (21.25_f64 * 10_000.0 * 2.0 / PI).sqrt();
        assert!((0.85..0.95).contains(&(quantity / normal)) && is_open > 0.99, "{quantity} {is_open}");
    }
}
