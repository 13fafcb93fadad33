//! Inputs: the requests of customers and of the market, drawn according to TPC-E 6.4. An input is a plain value and can
//! be executed again.
//!
//! Customers' requests are the same for every scheme and any number of workers. The market's requests follow from the
//! orders that were committed before: see `market`.

use engine::ClientId;
use stdx::Rng;

use super::Tpce;
use super::market::{FEED_ENTRIES, MarketOrder, MarketRequest, Quote};
use super::rows::{EXCHANGES, INDUSTRIES, SECTORS, TAXRATES, TradeType};
use super::scale::{self, Scale, account_of_slot, accounts, granule_of_account, trade_id};
use super::settings::{ANALYTIC, MARKET_FEED, Settings, TRADE_ORDER, is_skipped};
use super::time::{MARKET_DAYS, PRICE_MAX, PRICE_MIN, calendar, market_date};

/// The trades that Trade-Lookup and Trade-Update ask for.
pub(super) const TRADES_ASKED: usize = 20;
/// The maximum number of brokers of a Broker-Volume.
pub(super) const BROKERS_ASKED: usize = 40;
/// The companies among which a Market-Watch by industry looks.
const COMPANIES_WATCHED: u32 = 5_000;

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// The volume of the pending orders of some brokers in a sector.
    BrokerVolume(BrokerVolume),
    /// The value of a customer's accounts.
    CustomerPosition(CustomerPosition),
    /// Prices from the market, which trigger pending orders.
    MarketFeed(MarketFeed),
    /// How the value of some securities has changed.
    MarketWatch(MarketWatch),
    /// All about a security.
    SecurityDetail(SecurityDetail),
    /// Trades of the past.
    TradeLookup(TradeLookup),
    /// An order.
    TradeOrder(TradeOrder),
    /// The market's answer to an order.
    TradeResult(TradeResult),
    /// The last trades of an account.
    TradeStatus(TradeStatus),
    /// Small corrections of trades of the past.
    TradeUpdate(TradeUpdate),
    /// Changes of data that hardly ever change.
    DataMaintenance(DataMaintenance),
    /// The end of all orders that are under way.
    TradeCleanup(TradeCleanup),
    /// The value of a group of accounts.
    Analytic(Analytic),
}

/// The input of a Broker-Volume (TPC-E 3.3.1).
#[derive(Clone, Debug, PartialEq)]
pub struct BrokerVolume {
    /// The brokers, numbered from 0; the first `count` are meant. They are asked for by name.
    pub brokers: [u32; BROKERS_ASKED],
    /// How many brokers there are.
    pub count: u8,
    /// The sector, numbered from 0. It is asked for by name.
    pub sector: u8,
}

/// The input of a Customer-Position (TPC-E 3.3.2).
#[derive(Clone, Debug, PartialEq)]
pub struct CustomerPosition {
    /// The customer, numbered from 0.
    pub customer: u32,
    /// `true` if the customer is asked for by the tax identifier.
    pub by_tax_id: bool,
    /// If the history is wanted: of which of the customer's accounts, in the order in which they are found.
    pub history: Option<u32>,
}

/// The input of a Market-Feed (TPC-E 3.3.3).
#[derive(Clone, Debug, PartialEq)]
pub struct MarketFeed {
    /// The client whose desk answers the orders that are triggered.
    pub desk: u32,
    /// The prices.
    pub quotes: [Quote; FEED_ENTRIES],
    /// The entries of this transaction: all of them, or one.
    pub entries: core::ops::Range<u8>,
    /// The calendar time.
    pub time: u64,
}

/// The input of a Market-Watch (TPC-E 3.3.4).
#[derive(Clone, Debug, PartialEq)]
pub struct MarketWatch {
    /// The securities.
    pub watched: WatchedSecurities,
    /// The day to compare with, in days since 1970.
    pub date: u32,
}

/// The securities of a Market-Watch.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchedSecurities {
    /// Those of the watch list of a customer, numbered from 0.
    ListOf(u32),
    /// Those that an account has.
    Account(u64),
    /// Those of the companies of an industry.
    Industry {
        /// The industry, numbered from 0.
        industry: u8,
        /// The companies among which those of the industry are looked for, both ends included.
        first: u32,
        /// The last of them.
        last: u32,
    },
}

/// The input of a Security-Detail (TPC-E 3.3.5).
#[derive(Clone, Debug, PartialEq)]
pub struct SecurityDetail {
    /// The security.
    pub security: u32,
    /// `true` if news are wanted with their bodies.
    pub with_news: bool,
    /// How many days of the market are wanted.
    pub days: u8,
    /// The first of these days.
    pub date: u32,
}

/// The input of a Trade-Lookup (TPC-E 3.3.6): one of four frames.
#[derive(Clone, Debug, PartialEq)]
pub enum TradeLookup {
    /// Frame 1: some trades.
    Trades([u64; TRADES_ASKED]),
    /// Frame 2: the first trades of an account in a period.
    Account {
        /// `CA_ID`.
        account: u64,
        /// The calendar time of the beginning.
        from: u64,
        /// The calendar time of the end.
        to: u64,
    },
    /// Frame 3: the first trades of a security in a period.
    Security {
        /// The security.
        security: u32,
        /// The calendar time of the beginning.
        from: u64,
        /// The calendar time of the end.
        to: u64,
    },
    /// Frame 4: how lots changed that the first trade of an account after a time has touched.
    Holdings {
        /// `CA_ID`.
        account: u64,
        /// The calendar time.
        from: u64,
    },
}

/// The input of a Trade-Order (TPC-E 3.3.7).
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::struct_excessive_bools, reason = "the specification's input has these five")]
pub struct TradeOrder {
    /// The client whose desk answers the order.
    pub desk: u32,
    /// `T_ID`.
    pub trade: u64,
    /// `CA_ID`.
    pub account: u64,
    /// The customer who gives the order, numbered from 0: the owner of the account, or somebody with the permission.
    pub executor: u32,
    /// The security.
    pub security: u32,
    /// `true` if the security is asked for by the name of its company and its issue.
    pub by_company: bool,
    /// The type.
    pub kind: TradeType,
    /// The quantity.
    pub quantity: u32,
    /// The limit, in cents. Orders without one take the last price.
    pub limit: u32,
    /// `true` if the newest lots are closed first.
    pub is_lifo: bool,
    /// `true` if it is on margin.
    pub is_margin: bool,
    /// `true` if the client cancels the order in the end.
    pub rolls_back: bool,
    /// The calendar time.
    pub time: u64,
}

/// The input of a Trade-Result (TPC-E 3.3.8).
#[derive(Clone, Debug, PartialEq)]
pub struct TradeResult {
    /// The order.
    pub order: MarketOrder,
    /// The price of the trade, in cents.
    pub price: u32,
    /// The calendar time.
    pub time: u64,
}

/// The input of a Trade-Status (TPC-E 3.3.9).
#[derive(Clone, Debug, PartialEq)]
pub struct TradeStatus {
    /// `CA_ID`.
    pub account: u64,
}

/// The input of a Trade-Update (TPC-E 3.3.10): one of three frames. All trades that are found are changed.
#[derive(Clone, Debug, PartialEq)]
pub enum TradeUpdate {
    /// Frame 1: the names of those who gave the orders.
    Trades([u64; TRADES_ASKED]),
    /// Frame 2: the settlements of trades of an account in a period.
    Account {
        /// `CA_ID`.
        account: u64,
        /// The calendar time of the beginning.
        from: u64,
        /// The calendar time of the end.
        to: u64,
    },
    /// Frame 3: the cash transactions of trades of a security in a period.
    Security {
        /// The security.
        security: u32,
        /// The calendar time of the beginning.
        from: u64,
        /// The calendar time of the end.
        to: u64,
    },
}

/// The input of a Data-Maintenance (TPC-E 3.3.11): one of twelve tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataMaintenance {
    /// ACCOUNT_PERMISSION: the rights of an account change.
    AccountPermission {
        /// `CA_ID`.
        account: u64,
    },
    /// ADDRESS: the second line changes.
    Address {
        /// The address, numbered from 0.
        address: u32,
    },
    /// COMPANY: the rating changes.
    Company {
        /// The company.
        company: u32,
    },
    /// CUSTOMER: the second mail address changes.
    Customer {
        /// The customer, numbered from 0.
        customer: u32,
    },
    /// CUSTOMER_TAXRATE: the rate of the country changes.
    CustomerTaxrate {
        /// The customer, numbered from 0.
        customer: u32,
    },
    /// DAILY_MARKET: volumes of a day of each month change.
    DailyMarket {
        /// The security.
        security: u32,
        /// The day of the month.
        day_of_month: u8,
        /// The change of the volume.
        change: i64,
    },
    /// EXCHANGE: the descriptions get another time.
    Exchange {
        /// The calendar time.
        time: u64,
    },
    /// FINANCIAL: the dates of the quarters change.
    Financial {
        /// The company.
        company: u32,
    },
    /// NEWS_ITEM: the times of the news of a company change.
    NewsItem {
        /// The company.
        company: u32,
    },
    /// SECURITY: the date of the first trade changes.
    Security {
        /// The security.
        security: u32,
    },
    /// TAXRATE: the name changes.
    Taxrate {
        /// The rate, numbered from 0.
        rate: u16,
    },
    /// WATCH_ITEM: another security is watched.
    WatchItem {
        /// The customer, numbered from 0.
        customer: u32,
    },
}

/// The input of a Trade-Cleanup (TPC-E 3.3.12).
#[derive(Clone, Debug, PartialEq)]
pub struct TradeCleanup {
    /// The calendar time at which the run began: older trades are done.
    pub from: u64,
    /// The calendar time.
    pub time: u64,
}

/// The input of an analytic transaction (Kim et al., SIGMOD 2016).
#[derive(Clone, Debug, PartialEq)]
pub struct Analytic {
    /// The first `CA_ID` of the group. The group is a range of identifiers, of which some have no account.
    pub first: u64,
    /// The last `CA_ID` of the group.
    pub last: u64,
}

impl TradeOrder {
    /// Returns the order as the market knows it.
    pub(super) fn market_order(&self) -> MarketOrder {
        MarketOrder { trade: self.trade, security: self.security, quantity: self.quantity }
    }
}

impl BrokerVolume {
    /// Returns the brokers.
    #[inline]
    pub fn brokers(&self) -> &[u32] {
        &self.brokers[..usize::from(self.count).min(BROKERS_ASKED)]
    }
}

impl MarketFeed {
    /// Returns the entries of this transaction.
    #[inline]
    pub fn quotes(&self) -> &[Quote] {
        let len = self.quotes.len();
        &self.quotes[usize::from(self.entries.start).min(len)..usize::from(self.entries.end).min(len)]
    }

    /// Returns the next transaction of the same feed, or `None` after the last entry.
    pub(super) fn rest(&self) -> Option<Self> {
        let entries = self.entries.end..self.entries.end + (self.entries.end - self.entries.start);
        (usize::from(entries.start) < FEED_ENTRIES).then(|| Self { entries, ..self.clone() })
    }
}

impl Input {
    /// Returns the index of the request's transaction type.
    #[inline]
    pub(super) fn kind(&self) -> usize {
        match self {
            Self::BrokerVolume(_) => 0,
            Self::CustomerPosition(_) => 1,
            Self::MarketFeed(_) => 2,
            Self::MarketWatch(_) => 3,
            Self::SecurityDetail(_) => 4,
            Self::TradeLookup(_) => 5,
            Self::TradeOrder(_) => 6,
            Self::TradeResult(_) => 7,
            Self::TradeStatus(_) => 8,
            Self::TradeUpdate(_) => 9,
            Self::DataMaintenance(_) => 10,
            Self::TradeCleanup(_) => 11,
            Self::Analytic(_) => 12,
        }
    }
}

impl Tpce {
    /// Draws request number `sequence` of a client, or takes what the market has for it.
    pub(super) fn draw(&self, client: ClientId, sequence: u64, rng: &mut Rng) -> Input {
        let settings = &self.settings;
        let number = client.0 % settings.clients;
        let mut desk = self.desks[number as usize].lock();
        let mut request = desk.next(settings.scale.securities(), rng);
        if settings.mix.weights[MARKET_FEED] <= 0.0 && matches!(request, Some(MarketRequest::Feed(_))) {
            // The mix admits no feeds: its prices are lost, and the market has at most an answer now.
            request = desk.next(settings.scale.securities(), rng);
        }
        if let Some(request) = request {
            let time = calendar(desk.now());
            return match request {
                MarketRequest::Result { order, price } => {
                    Input::TradeResult(TradeResult { order, price, time })
                }
                MarketRequest::Feed(quotes) => {
                    let entries = 0..if settings.feeds_by_entry { 1 } else { FEED_ENTRIES as u8 };
                    Input::MarketFeed(MarketFeed { desk: number, quotes, entries, time })
                }
            };
        }
        let kind = settings.mix.draw(rng);
        if kind == TRADE_ORDER {
            desk.advance(settings.order_interval_ms());
        }
        let time = calendar(desk.now());
        drop(desk);
        match kind {
            0 => Input::BrokerVolume(settings.broker_volume(rng)),
            1 => {
                let customer = settings.customer(rng);
                let by_tax_id = rng.below(2) == 0;
                let wants_history = rng.below(2) == 0;
                let account = rng.below(u64::from(accounts(customer))) as u32;
                let history = wants_history.then_some(account);
                Input::CustomerPosition(CustomerPosition { customer, by_tax_id, history })
            }
            3 => Input::MarketWatch(settings.market_watch(rng)),
            4 => Input::SecurityDetail(SecurityDetail {
                security: settings.security(rng),
                with_news: rng.percent(1.0),
                days: rng.between(5, 20) as u8,
                date: market_date(rng.below(u64::from(MARKET_DAYS) - 20) as u32),
            }),
            5 => Input::TradeLookup(settings.trade_lookup(rng)),
            TRADE_ORDER => Input::TradeOrder(settings.trade_order(number, sequence, time, rng)),
            8 => Input::TradeStatus(TradeStatus { account: settings.account(rng) }),
            9 => Input::TradeUpdate(settings.trade_update(rng)),
            10 => Input::DataMaintenance(settings.data_maintenance(time, rng)),
            11 => Input::TradeCleanup(TradeCleanup { from: calendar(settings.opening()), time }),
            ANALYTIC => Input::Analytic(settings.analytic(rng)),
            _ => unreachable!("the market's types are not drawn"),
        }
    }
}

impl Settings {
    /// Draws a customer who sends requests.
    fn customer(&self, rng: &mut Rng) -> u32 {
        Scale::draw_customer(self.active, rng)
    }

    /// Draws an account of such a customer.
    fn account(&self, rng: &mut Rng) -> u64 {
        let customer = self.customer(rng);
        scale::account_id(customer, rng.below(u64::from(accounts(customer))) as u32)
    }

    /// Draws any security.
    fn security(&self, rng: &mut Rng) -> u32 {
        rng.below(u64::from(self.scale.securities())) as u32
    }

    /// Draws any company.
    fn company(&self, rng: &mut Rng) -> u32 {
        rng.below(u64::from(self.scale.companies())) as u32
    }

    fn broker_volume(&self, rng: &mut Rng) -> BrokerVolume {
        let all = self.scale.brokers();
        let count = rng.between(20, BROKERS_ASKED as u64).min(u64::from(all)) as usize;
        let mut brokers = [0; BROKERS_ASKED];
        let mut drawn = 0;
        while drawn < count {
            let broker = rng.below(u64::from(all)) as u32;
            if !brokers[..drawn].contains(&broker) {
                brokers[drawn] = broker;
                drawn += 1;
            }
        }
        BrokerVolume { brokers, count: count as u8, sector: rng.below(u64::from(SECTORS)) as u8 }
    }

    fn market_watch(&self, rng: &mut Rng) -> MarketWatch {
        let watched = match rng.below(100) {
            0..60 => WatchedSecurities::ListOf(self.customer(rng)),
            60..95 => WatchedSecurities::Account(self.account(rng)),
            _ => {
                let companies = self.scale.companies();
                let count = companies.min(COMPANIES_WATCHED);
                let first = rng.below(u64::from(companies - count) + 1) as u32;
                let industry = rng.below(u64::from(INDUSTRIES)) as u8;
                WatchedSecurities::Industry { industry, first, last: first + count - 1 }
            }
        };
        // A week with a skew, and mostly its Friday.
        let week = non_uniform(rng, 255, 0, 256) as u32;
        let day = match rng.below(100) {
            0..60 => 4,
            60..80 => 0,
            80..87 => 1,
            87..93 => 2,
            _ => 3,
        };
        MarketWatch { watched, date: market_date(week * 5 + day) }
    }

    fn trade_lookup(&self, rng: &mut Rng) -> TradeLookup {
        match rng.below(10) {
            0..3 => TradeLookup::Trades(self.trades(rng)),
            3..6 => {
                let (from, to) = self.period(32 * 3_600_000, rng);
                TradeLookup::Account { account: self.account(rng), from, to }
            }
            6..9 => {
                let (from, to) = self.period(200 * 60_000, rng);
                TradeLookup::Security { security: self.security(rng), from, to }
            }
            _ => {
                let (from, _) = self.period(500 * 60_000, rng);
                TradeLookup::Holdings { account: self.account(rng), from }
            }
        }
    }

    fn trade_update(&self, rng: &mut Rng) -> TradeUpdate {
        match rng.below(100) {
            0..33 => TradeUpdate::Trades(self.trades(rng)),
            33..66 => {
                let (from, to) = self.period(32 * 3_600_000, rng);
                TradeUpdate::Account { account: self.account(rng), from, to }
            }
            _ => {
                let (from, to) = self.period(200 * 60_000, rng);
                TradeUpdate::Security { security: self.security(rng), from, to }
            }
        }
    }

    /// Draws initial trades, with a skew, without repetition unless there are hardly more.
    fn trades(&self, rng: &mut Rng) -> [u64; TRADES_ASKED] {
        let granules = u64::from(self.scale.granules());
        let slots = self.slots_of_granule();
        let mut trades = [0; TRADES_ASKED];
        for drawn in 0..TRADES_ASKED {
            for _ in 0..8 {
                // In the order of time: granules send their orders side by side.
                let number = non_uniform(rng, 65_535, 7, slots * granules);
                let (granule, mut number) = ((number % granules) as u32, number / granules);
                if is_skipped(number) {
                    number -= 1;
                }
                trades[drawn] = trade_id(granule, number);
                if !trades[..drawn].contains(&trades[drawn]) {
                    break;
                }
            }
        }
        trades
    }

    /// Draws a period from a time, with a skew, to the end of the initial trades. It begins long enough before the end,
    /// if there are so many days: `room_ms` of trading time before.
    fn period(&self, room_ms: u64, rng: &mut Rng) -> (u64, u64) {
        let end = self.end_of_initial();
        // With few days, periods begin within the first half of them.
        let latest = end.saturating_sub(room_ms).max(end / 2);
        let from = non_uniform(rng, 4_095, 16, latest);
        (calendar(from), calendar(end))
    }

    fn trade_order(&self, desk: u32, sequence: u64, time: u64, rng: &mut Rng) -> TradeOrder {
        let account = self.account(rng);
        let basket = self.scale.basket(account);
        let basket = basket.as_slice();
        let security = basket[rng.below(basket.len() as u64) as usize];
        let (is_market, is_sell) = (rng.percent(60.0), rng.below(2) == 0);
        let kind = match (is_market, is_sell) {
            (true, true) => TradeType::MarketSell,
            (true, false) => TradeType::MarketBuy,
            (false, false) => TradeType::LimitBuy,
            (false, true) if rng.below(2) == 0 => TradeType::StopLoss,
            (false, true) => TradeType::LimitSell,
        };
        // Nine in ten orders are given by the owner: all of the accounts to which nobody else has access, and three in
        // four of the others.
        let (others, count) = self.scale.permitted(account);
        let by_owner = count == 0 || rng.percent(75.0);
        let executor = match others[..count] {
            _ if by_owner => scale::customer_of_account(account),
            [] => scale::customer_of_account(account),
            ref others => others[rng.below(others.len() as u64) as usize],
        };
        let number = self.slots_of_granule() + sequence * u64::from(self.clients) + u64::from(desk);
        TradeOrder {
            desk,
            trade: trade_id(granule_of_account(account), number),
            account,
            executor,
            security,
            by_company: rng.percent(40.0),
            kind,
            quantity: 100 << rng.below(4),
            limit: rng.between(u64::from(PRICE_MIN), u64::from(PRICE_MAX)) as u32,
            is_lifo: rng.percent(35.0),
            is_margin: !is_sell && rng.percent(16.0),
            rolls_back: rng.below(101) == 0,
            time,
        }
    }

    fn data_maintenance(&self, time: u64, rng: &mut Rng) -> DataMaintenance {
        match rng.below(12) {
            0 => DataMaintenance::AccountPermission { account: self.account(rng) },
            1 => {
                let (exchanges, companies) = (u32::from(EXCHANGES), self.scale.companies());
                let address = if rng.percent(67.0) {
                    exchanges + companies + self.customer(rng)
                } else {
                    exchanges + self.company(rng)
                };
                DataMaintenance::Address { address }
            }
            2 => DataMaintenance::Company { company: self.company(rng) },
            3 => DataMaintenance::Customer { customer: self.customer(rng) },
            4 => DataMaintenance::CustomerTaxrate { customer: self.customer(rng) },
            5 => DataMaintenance::DailyMarket {
                security: self.security(rng),
                day_of_month: rng.between(1, 31) as u8,
                change: [-3, -2, -1, 1, 2, 3][rng.below(6) as usize],
            },
            6 => DataMaintenance::Exchange { time },
            7 => DataMaintenance::Financial { company: self.company(rng) },
            8 => DataMaintenance::NewsItem { company: self.company(rng) },
            9 => DataMaintenance::Security { security: self.security(rng) },
            10 => DataMaintenance::Taxrate { rate: rng.below(u64::from(TAXRATES)) as u16 },
            _ => DataMaintenance::WatchItem { customer: self.customer(rng) },
        }
    }

    fn analytic(&self, rng: &mut Rng) -> Analytic {
        let slots = u64::from(self.scale.customers) * 10;
        let first = rng.below(slots - self.group + 1);
        Analytic { first: account_of_slot(first), last: account_of_slot(first + self.group - 1) }
    }
}

/// Draws a number below `count` with the specification's skew: `(U[0, count) | U[0, a] << shift) % count`, where `a` is
/// reduced to the numbers that there are (TPC-E 6.4.1.1).
fn non_uniform(rng: &mut Rng, a: u64, shift: u32, count: u64) -> u64 {
    let count = count.max(1);
    let mask = a.min((count >> shift).next_power_of_two().saturating_sub(1));
    (rng.below(count) | (rng.next_u64() & mask) << shift) % count
}

#[cfg(test)]
mod tests {
    use super::super::Tpce;
    use crate::mock::Fixture;

    #[test]
    fn a_mix_without_feeds_has_answers_and_triggers_nothing() {
        for (feeds, weight) in [(true, 1), (false, 0)] {
            let given = format!(
                "tpce.customers=200 tpce.scale_factor=100000 \
                 tpce.mix=trade_order:1,trade_result:1,market_feed:{weight}"
            );
            let mut fixture = Fixture::<Tpce>::with_heaps(&given, &["assets_history"]);
            let inputs: Vec<_> = (0..200)
                .flat_map(|_| {
                    let inputs = fixture.inputs(1);
                    for input in &inputs {
                        // A rollback is no failure.
                        _ = fixture.execute(input);
                    }
                    inputs
                })
                .collect();
            let of_kind = |kind: usize| inputs.iter().filter(|input| input.kind() == kind).count();
            assert!(of_kind(super::TRADE_ORDER) > 100 && of_kind(7) > 100);
            assert_eq!(of_kind(super::MARKET_FEED) > 0, feeds);
            assert_eq!(fixture.ledger.triggered > 0, feeds);
        }
    }
}
