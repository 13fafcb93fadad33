//! The forecast of TPC-E: sentences about the load that the settings cause, before anything runs.
//!
//! Numbers of rows follow from the cardinalities of TPC-E 2.6, except for those of positions, which depend on the number
//! of trades and are computed from their distribution: see [`Loaded`].

use core::f64::consts::PI;

use engine::{Drive, Forecast, Workload};

use super::Tpce;
use super::rows::{
    Account, AccountBalance, Address, AssetsHistory, Broker, BrokerTotals, CashTransaction, Charge,
    CommissionRate, Company, CompanyNews, CompanyRating, Competitor, Customer, CustomerEmail,
    CustomerTaxrate, DailyMarket, EXCHANGES, Exchange, ExchangeDescription, Financial, Holding,
    HoldingHistory, INDUSTRIES, Industry, LastTrade, NEWS_OF_COMPANY, News, NewsBody, Permission, SECTORS,
    Sector, Security, SecurityExchangeDate, Settlement, StatusType, Summary, TAXRATES, Taxrate, TaxrateName,
    Trade, TradeExecutor, TradeHistory, TradeTypeRow, WatchItem, WatchList, ZIP_CODES, ZipCode,
};
use super::settings::{ANALYTIC, MARKET_FEED, Settings, TRADE_ORDER, TRADE_RESULT, TYPES};
use super::time::{MARKET_DAYS, PERIOD_MS};
use crate::text::percent;

/// The mean number of accounts of a customer.
const ACCOUNTS: f64 = 5.0;
/// The mean number of accounts of a customer who sends a request: 10% of the requests are by customers with 2.5 accounts,
/// 60% by customers with 5, and 30% by customers with 7.5.
const ACCOUNTS_OF_CALLER: f64 = 5.5;
/// The mean number of securities of an account's basket.
const BASKET: f64 = 10.0;
/// The quantities of trades in hundreds, which are equally likely.
const QUANTITIES: [f64; 4] = [1.0, 2.0, 4.0, 8.0];
/// The mean quantity of an open lot, in hundreds, as found in loaded databases: a little below that of a trade.
const LOT_QUANTITY: f64 = 3.7;
/// The variance of the number of trades that an account makes in a security of its basket, as a part of the square of the
/// mean: some customers send more requests than others, and have fewer accounts or smaller baskets.
const BUSY: f64 = 0.46;
/// The share of orders that have a limit.
const LIMITS: f64 = 0.4;
/// The share of orders that are not rolled back.
const COMMITTED_ORDERS: f64 = 100.0 / 101.0;
/// The share of trades that are not on margin.
const CASH: f64 = 0.92;
/// The Trade-Results that one Market-Feed follows from.
const RESULTS_OF_FEED: f64 = 10.0;
/// The entries of a Market-Feed.
const ENTRIES: f64 = super::market::FEED_ENTRIES as f64;
/// The trades that Trade-Lookup and Trade-Update ask for.
const ASKED: f64 = super::input::TRADES_ASKED as f64;
/// The rows of a trade in TRADE, SETTLEMENT, CASH_TRANSACTION and TRADE_HISTORY.
const ROWS_OF_TRADE: f64 = 1.0 + 1.0 + CASH + 2.0 + LIMITS;
/// The trading days from which on the periods of Trade-Lookup leave room for as many trades as it asks for.
const DAYS_OF_LOOKUPS: u32 = 5;

/// The forecast of a run.
pub(super) fn forecast(settings: &Settings, drive: Drive) -> Forecast {
    let loaded = Loaded::new(settings);
    let shares = shares(settings);
    let (rows, row_bytes) = loaded.rows();
    let mut sentences = vec![
        data(settings, &loaded),
        mix(settings, &shares),
        touched_rows(&loaded, &shares),
        hottest(settings, &loaded, &shares),
        homes(settings, &shares),
    ];
    if shares[TRADE_ORDER] > 0.0 {
        sentences.push(market(settings, &shares));
    }
    if shares[ANALYTIC] > 0.0 {
        sentences.push(analytic(settings, &loaded, &shares));
    }
    if settings.active < settings.scale.customers {
        sentences.push(format!(
            "Active: only the first {} customers send requests, with the brokers and accounts of theirs; securities and \
             companies are drawn from all.",
            thousands(f64::from(settings.active)),
        ));
    }
    if settings.days < DAYS_OF_LOOKUPS && shares[5] + shares[9] > 0.0 {
        sentences.push(format!(
            "Few days: an account has {:.0} trades in the mean before the run, so that Trade-Lookups and Trade-Updates \
             by account find fewer than the {ASKED:.0} that they ask for; with `tpce.days={DAYS_OF_LOOKUPS}` or more \
             they read more.",
            loaded.trades / loaded.accounts,
        ));
    }
    let (growth_rows, growth_bytes) = growth(settings, &shares);
    Forecast {
        sentences,
        row_bytes,
        rows,
        growth_bytes: growth_bytes.ceil() as u64,
        growth_rows,
        features: vec![
            ("clients a broker", f64::from(drive.clients) / active_brokers(settings)),
            ("read-only share", read_only(&shares)),
            ("multi-home share", multi_home(settings, &shares)),
            ("analytic share", shares[ANALYTIC]),
            ("positions an analytic transaction reads", loaded.group(settings).1),
        ],
    }
}

/// The numbers of rows after loading on which others depend.
struct Loaded<'s> {
    settings: &'s Settings,
    accounts: f64,
    trades: f64,
    /// The rows of HOLDING_SUMMARY.
    positions: f64,
    /// The rows of HOLDING.
    lots: f64,
    /// The rows of HOLDING_HISTORY.
    changes: f64,
}

impl<'s> Loaded<'s> {
    fn new(settings: &'s Settings) -> Self {
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
    fn rows(&self) -> (u64, u64) {
        // News and tax rates are two tables each with as many rows.
        let companies = f64::from(self.settings.scale.companies());
        let second = companies * f64::from(NEWS_OF_COMPANY) + f64::from(TAXRATES);
        let rows: f64 = self.kinds().iter().map(|(rows, _)| rows).sum();
        let bytes: f64 = self.kinds().iter().map(|(rows, bytes)| rows * *bytes as f64).sum();
        ((rows + second).round() as u64, bytes.round() as u64)
    }

    /// The positions of an account.
    fn positions_of_account(&self) -> f64 {
        self.positions / self.accounts
    }

    /// The trades of an account that a transaction finds if it asks for so many.
    fn trades_of_account(&self, asked: f64) -> f64 {
        (self.trades / self.accounts).min(asked)
    }

    /// The orders that wait for their prices in the course of a run: a sixth of the period of prices each.
    fn pending(&self) -> f64 {
        if !feeds(self.settings) {
            return 0.0;
        }
        let orders_a_second = f64::from(self.settings.active) / f64::from(self.settings.scale_factor);
        orders_a_second * LIMITS * PERIOD_MS as f64 / 6_000.0
    }

    /// Returns the accounts of a group of an analytic transaction, and their positions.
    fn group(&self, settings: &Settings) -> (f64, f64) {
        let accounts = settings.group as f64 / 10.0 * ACCOUNTS;
        (accounts, accounts * self.positions_of_account())
    }

    /// The rows that a transaction of each type reads and writes, in the mean.
    fn touched(&self) -> [(f64, f64); TYPES] {
        let (settings, positions) = (self.settings, self.positions_of_account());
        let securities = f64::from(settings.scale.securities());
        let brokers = f64::from(settings.scale.brokers()).min(30.0);
        let requests = self.pending() / active_brokers(settings);
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
            (2.0 * self.pending(), 4.0 * self.pending()),
            (accounts + 2.0 * of_group, if settings.logs_analytics { 1.0 } else { 0.0 }),
        ]
    }
}

/// Returns the probability that a position is open after a number of trades with this mean, and the mean of its quantity
/// in hundreds, long or short.
///
/// The number of trades is distributed by Poisson, with means that differ by a gamma distribution, and each trade adds or
/// takes one of the quantities. If `f` is the characteristic function of a trade, and `v` the relative variance of the
/// means, that of the sum is `(1 + v * mean * (1 - f))^(-1 / v)`, and both results are integrals of it.
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
fn watched(securities: f64) -> f64 {
    let most = (securities * 7.0 / 8.0).floor();
    (50..=150).map(|count| f64::from(count).min(most)).sum::<f64>() / 101.0
}

/// Returns `true` if limits trigger.
fn feeds(settings: &Settings) -> bool {
    settings.mix.weights[MARKET_FEED] > 0.0
}

/// The brokers of the customers who send requests.
fn active_brokers(settings: &Settings) -> f64 {
    f64::from(settings.active / super::scale::CUSTOMERS * super::scale::BROKERS)
}

/// Returns the shares of the types among the transactions that commit. Each order that commits is answered once, and ten
/// answers make a Market-Feed.
fn shares(settings: &Settings) -> [f64; TYPES] {
    let mut rates: [f64; TYPES] = core::array::from_fn(|kind| settings.mix.drawn(kind));
    rates[TRADE_ORDER] *= COMMITTED_ORDERS;
    let answered = if feeds(settings) { 1.0 } else { 1.0 - LIMITS };
    rates[TRADE_RESULT] = rates[TRADE_ORDER] * answered;
    rates[MARKET_FEED] = if feeds(settings) { rates[TRADE_RESULT] / RESULTS_OF_FEED } else { 0.0 };
    let all: f64 = rates.iter().sum();
    rates.map(|rate| rate / all)
}

/// The share of transactions that only read. An analytic transaction that does not log its result counts as one.
fn read_only(shares: &[f64; TYPES]) -> f64 {
    (0..TYPES).filter(|&kind| Tpce::TYPES[kind].read_only).map(|kind| shares[kind]).sum()
}

/// The share of transactions that touch more than one home: see `footprint`.
fn multi_home(settings: &Settings, shares: &[f64; TYPES]) -> f64 {
    if settings.scale.granules() == 1 {
        return 0.0;
    }
    // The probability that so many draws are all of one given granule.
    let same = |draws: i32| (1.0 / f64::from(settings.scale.granules())).powi(draws);
    let basket = 1.0 - same(BASKET as i32);
    let asked = 1.0 - same(ASKED as i32 - 1);
    let order = 0.6 * (1.0 - same(1)) + 0.4 * (1.0 - same(2));
    let of_type: [f64; TYPES] = [
        1.0,
        basket,
        1.0,
        0.65 + 0.35 * basket,
        1.0,
        0.3 * asked + 0.3,
        0.92 * order + 0.08 * basket,
        1.0 - same(1),
        basket,
        0.33 * asked + 0.34,
        0.0,
        1.0,
        1.0,
    ];
    shares.iter().zip(of_type).map(|(share, multi)| share * multi).sum()
}

/// Returns the rows that a transaction of the mix adds in the mean, and their bytes.
fn growth(settings: &Settings, shares: &[f64; TYPES]) -> (f64, f64) {
    let triggered = if feeds(settings) { LIMITS } else { 0.0 };
    let logged = if settings.logs_analytics { shares[ANALYTIC] } else { 0.0 };
    let waiting = if feeds(settings) { 0.0 } else { LIMITS };
    let kinds = [
        (shares[TRADE_ORDER], size_of::<Trade>() + size_of::<TradeExecutor>()),
        (shares[TRADE_ORDER] + shares[TRADE_RESULT] * (1.0 + triggered), size_of::<TradeHistory>()),
        (shares[TRADE_ORDER] * waiting, size_of::<super::rows::TradeRequest>()),
        (shares[TRADE_RESULT], size_of::<Settlement>()),
        (shares[TRADE_RESULT] * CASH, size_of::<CashTransaction>()),
        (shares[TRADE_RESULT] * 1.34, size_of::<HoldingHistory>()),
        (logged, size_of::<AssetsHistory>()),
    ];
    let sum = |of: fn(&(f64, usize)) -> f64| kinds.iter().map(of).sum();
    (sum(|(rows, _)| *rows), sum(|(rows, bytes)| rows * *bytes as f64))
}

fn data(settings: &Settings, loaded: &Loaded) -> String {
    let scale = settings.scale;
    let (rows, bytes) = loaded.rows();
    let of_market = f64::from(scale.securities() * MARKET_DAYS) * size_of::<DailyMarket>() as f64;
    format!(
        "Data: {} customers with about {} accounts, {} securities, {} companies and {} brokers; {} trades, which {} \
         {} of trading left; about {} rows of {:.1} MiB together, before indexes and headers, of which DAILY_MARKET, which \
         hardly anybody writes, has {}.",
        thousands(f64::from(scale.customers)),
        thousands(loaded.accounts),
        thousands(f64::from(scale.securities())),
        thousands(f64::from(scale.companies())),
        thousands(f64::from(scale.brokers())),
        thousands(loaded.trades),
        settings.days,
        if settings.days == 1 { "day" } else { "days" },
        thousands(rows as f64),
        bytes as f64 / f64::from(1 << 20),
        percent(100.0 * of_market / bytes as f64),
    )
}

fn mix(settings: &Settings, shares: &[f64; TYPES]) -> String {
    let named = Tpce::TYPES.iter().zip(shares).filter(|(_, share)| **share > 0.0);
    let parts: Vec<_> = named.map(|(kind, share)| format!("{} {:.1}%", kind.name, 100.0 * share)).collect();
    let (rows, bytes) = growth(settings, shares);
    format!(
        "Mix: {}; {:.1}% only read. A transaction adds {rows:.2} rows of {bytes:.0} bytes in the mean, for as long as the \
         run lasts.",
        parts.join(", "),
        100.0 * read_only(shares),
    )
}

fn touched_rows(loaded: &Loaded, shares: &[f64; TYPES]) -> String {
    let touched = loaded.touched();
    let types = Tpce::TYPES.iter().zip(touched).zip(shares).filter(|(_, share)| **share > 0.0);
    let parts: Vec<_> = types
        .map(|((kind, (reads, writes)), _)| {
            format!("{} {} and {}", kind.name, thousands(reads), thousands(writes))
        })
        .collect();
    format!("Rows read and written by a transaction, in the mean: {}.", parts.join(", "))
}

fn hottest(settings: &Settings, loaded: &Loaded, shares: &[f64; TYPES]) -> String {
    let (positions, securities) = (loaded.positions_of_account(), f64::from(settings.scale.securities()));
    let prices = shares[1] * ACCOUNTS_OF_CALLER * positions
        + shares[3] * (0.6 * watched(securities) + 0.35 * positions)
        + shares[4]
        + shares[TRADE_ORDER] * (1.0 + 0.08 * positions)
        + shares[ANALYTIC] * loaded.group(settings).1;
    let mut sentence = format!(
        "Hottest rows: the {} rows of LAST_TRADE, of which a transaction reads {prices:.1} in the mean",
        thousands(securities)
    );
    if shares[MARKET_FEED] > 0.0 {
        sentence += if settings.feeds_by_entry {
            ", and a Market-Feed writes twenty, each in a transaction of its own"
        } else {
            ", and a Market-Feed writes twenty in one transaction"
        };
    }
    if shares[TRADE_RESULT] > 0.0 {
        let broker = 100.0 * shares[TRADE_RESULT] / active_brokers(settings);
        sentence += &format!("; each broker, written by {} of the transactions, ", percent(broker));
        sentence += if settings.adds_to_broker {
            "which only add, so that under schemes that add at the commit Trade-Results do not conflict on it"
        } else {
            "which read what they add to, so that Trade-Results conflict on it under every scheme"
        };
        if feeds(settings) {
            sentence += &format!(
                "; TRADE_REQUEST, in which about {} orders wait: Trade-Orders insert into ranges that Market-Feeds and \
                 Broker-Volumes scan",
                thousands(loaded.pending())
            );
        }
    }
    sentence + "."
}

fn homes(settings: &Settings, shares: &[f64; TYPES]) -> String {
    let granules = settings.scale.granules();
    if granules == 1 {
        return "Homes: 200 customers with their accounts, brokers and trades, and as many companies and securities as go \
                with them, are a home for schemes that own partitions; there is only one, so that such schemes run one \
                transaction at a time."
            .to_owned();
    }
    format!(
        "Homes: 200 customers with their accounts, brokers and trades, and as many companies and securities as go with \
         them, are a home for schemes that own partitions; there are {granules}, and {} of the transactions touch more \
         than one, because accounts hold securities of all.",
        percent(100.0 * multi_home(settings, shares)),
    )
}

fn market(settings: &Settings, shares: &[f64; TYPES]) -> String {
    let ms = settings.order_interval_ms();
    let pace = format!(
        "trading time goes on by {:.3} s with each order of a client, whatever the clock says",
        ms as f64 / 1_000.0
    );
    if !feeds(settings) {
        return format!(
            "Market: without `market_feed` in the mix no limit is ever reached: {} of the orders wait forever in \
             TRADE_REQUEST, which grows, and the others are answered by a Trade-Result each; {pace}. Add `market_feed:1` \
             to let them be triggered.",
            percent(100.0 * LIMITS)
        );
    }
    format!(
        "Market: each Trade-Order is answered by a Trade-Result, {} of them only when a Market-Feed brings the price of \
         their limit, and ten answers make one Market-Feed: {} of the transactions are sent by the market and not by \
         customers; {pace}.",
        percent(100.0 * LIMITS),
        percent(100.0 * (shares[TRADE_RESULT] + shares[MARKET_FEED])),
    )
}

fn analytic(settings: &Settings, loaded: &Loaded, shares: &[f64; TYPES]) -> String {
    let (accounts, positions) = loaded.group(settings);
    format!(
        "Analytic transactions: {} of all; each reads {} accounts, {} positions, and as many last prices, of {} different \
         ones; {}.",
        percent(100.0 * shares[ANALYTIC]),
        thousands(accounts),
        thousands(positions),
        thousands(f64::from(settings.scale.securities()).min(positions)),
        if settings.logs_analytics {
            "it logs its result, so that it is no read-only transaction, and a Trade-Result or a Market-Feed that changes \
             one of these rows meanwhile is a conflict"
        } else {
            "it writes nothing, so that a scheme may serve it from a snapshot if it knows that beforehand"
        },
    )
}

/// Formats a number without decimals, with commas between thousands.
fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut grouped = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use engine::Schema;

    use super::*;
    use crate::mock::{DRIVE, Fixture, declare};

    fn tpce(given: &str) -> Tpce {
        declare::<Tpce>(given, &mut Schema::new()).expect("legal")
    }

    fn said(given: &str) -> Forecast {
        tpce(given).forecast()
    }

    fn feature(given: &str, name: &str) -> f64 {
        let features = said(given).features;
        features.iter().find(|(other, _)| *other == name).expect("always there").1
    }

    #[test]
    fn a_thousand_customers_have_the_cardinalities_of_the_specification() {
        let workload = tpce("tpce.customers=1000");
        let loaded = Loaded::new(&workload.settings);
        let of_customers = 7_100 + 1_000 + 5_000 + 2_000 + 100_000 + 1_000;
        let of_trades = 52_992 + 15 + 240 + 57_600 + 57_600 + 138_240 + 5 + 10;
        let of_market = 500 + 1_500 + 685 * 1_305 + 8 + 10_000 + 102 + 685 + 2_000 + 12 + 685;
        let others = 1_504 + 5 + 640 + 14_741;
        let positions = (loaded.positions + loaded.lots + loaded.changes).round() as u64;
        assert_eq!(loaded.rows().0, of_customers + of_trades + of_market + others + positions);
        // Counted in a loaded database.
        for (rows, counted) in
            [(loaded.positions, 29_159.0), (loaded.lots, 40_053.0), (loaded.changes, 63_249.0)]
        {
            assert!((rows / counted - 1.0_f64).abs() < 0.03, "{rows}, counted {counted}");
        }
        let forecast = said("tpce.customers=1000");
        assert!((40_000_000..55_000_000).contains(&forecast.row_bytes), "{}", forecast.row_bytes);
    }

    #[test]
    fn rows_are_as_many_as_are_loaded() {
        for given in ["tpce.customers=200", "tpce.customers=200 tpce.scale_factor=10000"] {
            let fixture = Fixture::<Tpce>::with_heaps(given, &["assets_history"]);
            let (workload, mock) = (&fixture.workload, &fixture.mock);
            let (loaded, tables) = (Loaded::new(&workload.settings), &workload.tables);
            for (rows, counted) in [
                (loaded.trades, mock.count(tables.trade)),
                (loaded.positions, mock.count(tables.summary)),
                (loaded.lots, mock.count(tables.holding)),
                (loaded.changes, mock.count(tables.holding_history)),
                (200.0 * watched(137.0), mock.count(tables.watch_item)),
                (loaded.accounts * 1.42, mock.count(tables.permission)),
            ] {
                assert!((rows / counted as f64 - 1.0).abs() < 0.06, "{given}: {rows}, counted {counted}");
            }
        }
    }

    #[test]
    fn positions_follow_from_the_trades() {
        let (is_open, quantity) = position(0.001);
        assert!((is_open - 0.001).abs() < 2e-6 && (quantity - 0.00375).abs() < 5e-6, "{is_open} {quantity}");
        // Of as many trades in each position, the sum would be normal with a variance of 21.25 for each trade.
        let (is_open, quantity) = position(10_000.0);
        let normal = (21.25_f64 * 10_000.0 * 2.0 / PI).sqrt();
        assert!((0.85..0.95).contains(&(quantity / normal)) && is_open > 0.99, "{quantity} {is_open}");
    }

    #[test]
    fn the_market_sends_a_tenth_of_the_standard_mix() {
        let shares = shares(&tpce("").settings);
        assert!((shares[TRADE_RESULT] - 0.1).abs() < 1e-3, "{}", shares[TRADE_RESULT]);
        assert!((shares[MARKET_FEED] - 0.01).abs() < 1e-4, "{}", shares[MARKET_FEED]);
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        let hybrid = feature("tpce.mix=hybrid", "analytic share");
        assert!((hybrid - 0.2).abs() < 2e-3, "{hybrid}");
        assert!(feature("", "analytic share").abs() < 1e-12);
    }

    #[test]
    fn sentences_carry_the_figures() {
        let text = said("tpce.customers=1000 tpce.mix=hybrid tpce.group_pct=10").sentences.join("\n");
        for figure in [
            "1,000 customers with about 5,000 accounts, 685 securities, 500 companies and 10 brokers",
            "57,600 trades, which 1 day of trading left",
            "Analytic transactions: 20% of all; each reads 500 accounts, ",
            "only add",
            "writes twenty in one transaction",
            "about 120 orders wait",
            "Few days: an account has 12 trades",
        ] {
            assert!(text.contains(figure), "{figure} in {text}");
        }
        assert!(!text.contains("Active:") && !text.contains("without `market_feed`"));
        let given = "tpce.commutative=off tpce.market_feed=per_entry tpce.days=5 tpce.customers=400 \
                     tpce.active_customers=200";
        let other = said(given).sentences.join("\n");
        for figure in
            ["conflict on it under every", "each in a transaction of its own", "Active: only the first 200"]
        {
            assert!(other.contains(figure), "{figure} in {other}");
        }
        assert!(!other.contains("Few days") && !other.contains("Analytic"));
        let given = "tpce.mix=trade_order:10,trade_result:10,trade_status:10";
        let untriggered = said(given).sentences.join("\n");
        assert!(untriggered.contains("no limit is ever reached: 40% of the orders"), "{untriggered}");
        assert!(
            said("tpce.mix=hybrid tpce.analytic_log=off").sentences.join("\n").contains("writes nothing")
        );
        assert!(
            said("tpce.mix=trade_status:1").sentences.iter().all(|sentence| !sentence.contains("Market:"))
        );
    }

    #[test]
    fn features_say_what_settings_come_to_together() {
        let crowd = feature("tpce.customers=1000", "clients a broker");
        assert!((crowd - f64::from(DRIVE.clients) / 10.0).abs() < 1e-9);
        assert!(feature("tpce.customers=200", "multi-home share").abs() < 1e-12);
        let of_many = feature("tpce.customers=4000", "multi-home share");
        assert!((0.9..0.97).contains(&of_many), "{of_many}");
        let read_only = feature("", "read-only share");
        assert!((read_only - 0.769).abs() < 2e-3, "{read_only}");
        let name = "positions an analytic transaction reads";
        let (one, two) = (feature("tpce.group_pct=10", name), feature("tpce.group_pct=20", name));
        assert!((two / one - 2.0).abs() < 1e-9 && one > 2_000.0);
    }

    #[test]
    fn an_order_adds_its_trade_and_the_rows_that_follow() {
        let forecast = said("tpce.mix=trade_order:10,trade_result:10,market_feed:1");
        let shares = shares(&tpce("tpce.mix=trade_order:10,trade_result:10,market_feed:1").settings);
        // TRADE, 2.4 rows of TRADE_HISTORY, SETTLEMENT, CASH_TRANSACTION, HOLDING_HISTORY.
        let due = shares[TRADE_ORDER] * (1.0 + 2.4 + 1.0 + 0.92 + 1.34);
        assert!((forecast.growth_rows - due).abs() < 1e-9, "{} and {due}", forecast.growth_rows);
        let few = said("tpce.mix=trade_status:1");
        assert!(few.growth_rows.abs() < 1e-12 && few.growth_bytes == 0);
    }
}
