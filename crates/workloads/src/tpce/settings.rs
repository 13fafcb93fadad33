//! Settings: the options of TPC-E for users, and their typed values for the workload.

use engine::setting::{Range, Setting, SettingError, Values};
use engine::{TxnType, Workload};
use stdx::Rng;

use super::Tpce;
use super::scale::{CUSTOMERS, GRANULES_MAX, Scale};
use super::time::{DAY_MS, PAUSE_MS};

/// The number of types of transaction that a mix may have.
pub(super) const TYPES: usize = 13;

/// The shares of `tpce.mix=standard`, in percent (TPC-E 6.2.2 and 6.4), in the order of the types. Data-Maintenance,
/// which the specification starts once a minute, is as frequent as it is there with about 1,000 customers.
const STANDARD: [f64; TYPES] = [4.9, 13.0, 1.0, 18.0, 14.0, 8.0, 10.1, 10.0, 19.0, 2.0, 0.1, 0.0, 0.0];
/// The shares of `tpce.mix=hybrid` beside the analytic transactions, which are a fifth of all: those of ERMIA's
/// evaluation (Kim et al., SIGMOD 2016).
const HYBRID: [f64; TYPES] = [4.9, 8.0, 1.0, 13.0, 14.0, 8.0, 10.1, 10.0, 9.0, 2.0, 0.1, 0.0, 20.0];

/// The types that are not drawn, because they answer others: Market-Feed and Trade-Result.
pub(super) const MARKET_FEED: usize = 2;
/// See [`MARKET_FEED`].
pub(super) const TRADE_RESULT: usize = 7;
/// Trade-Order.
pub(super) const TRADE_ORDER: usize = 6;
/// Trade-Cleanup.
pub(super) const TRADE_CLEANUP: usize = 11;
/// The analytic transaction.
pub(super) const ANALYTIC: usize = 12;
/// The analytic transaction if it does not log its result.
pub(super) const ANALYTIC_QUERY: usize = 13;

/// The legal mixes.
const MIXES: &str = "`standard`, `hybrid`, or weights by name such as \
                     `trade_order:10,trade_result:10,trade_status:19`: each name once, each weight from 0 to \
                     1,000,000; the names are broker_volume, customer_position, market_feed, market_watch, \
                     security_detail, trade_lookup, trade_order, trade_result, trade_status, trade_update, \
                     data_maintenance, trade_cleanup and analytic";

/// The settings of TPC-E.
pub(super) const SETTINGS: &[Setting] = &[
    Setting {
        name: "tpce.customers",
        default: "1000",
        range: Range::Int(CUSTOMERS as u64, (GRANULES_MAX * CUSTOMERS) as u64),
        unit: "customers",
        doc: "How many customers are loaded, a multiple of 200: accounts, trades, brokers, companies and securities \
              grow with them.",
        stresses: "contention on securities and brokers, when few; memory and caches, when many",
    },
    Setting {
        name: "tpce.active_customers",
        default: "0",
        range: Range::Int(0, (GRANULES_MAX * CUSTOMERS) as u64),
        unit: "customers",
        doc: "How many of the customers, the first ones, send requests, a multiple of 200; 0 stands for all.",
        stresses: "contention on accounts, when fewer than loaded",
    },
    Setting {
        name: "tpce.scale_factor",
        default: "500",
        range: Range::Int(1, 100_000),
        unit: "customers for each trade a second",
        doc: "How many customers make one trade a second of trading time: fewer customers a trade make more initial \
              trades, and prices that move more slowly from trade to trade.",
        stresses: "the size of the history of trades",
    },
    Setting {
        name: "tpce.days",
        default: "1",
        range: Range::Int(1, 300),
        unit: "trading days",
        doc: "For how many days of eight hours the database has trades after loading; the standard has 300, ERMIA's \
              evaluation 10.",
        stresses: "memory and caches; the length of the histories that are scanned",
    },
    Setting {
        name: "tpce.mix",
        default: "standard",
        range: Range::Text(MIXES, |text| Mix::parse(text).is_some()),
        unit: "",
        doc: "The types of transaction and their weights. Trade-Results and Market-Feeds are not drawn: they follow \
              from the orders, and a weight above 0 admits them.",
        stresses: "with `hybrid`, long analytic reads beside short transactions",
    },
    Setting {
        name: "tpce.analytic_pct",
        default: "20",
        range: Range::Real(0.0, 90.0),
        unit: "% of the mix `hybrid`",
        doc: "How many transactions of the mix `hybrid` are analytic; the others keep their proportions.",
        stresses: "long reads beside short transactions",
    },
    Setting {
        name: "tpce.group_pct",
        default: "20",
        range: Range::Real(0.01, 100.0),
        unit: "% of the accounts",
        doc: "How many accounts an analytic transaction adds up: the contention with Trade-Results and Market-Feeds.",
        stresses: "the length of the analytic reads, and their conflicts",
    },
    Setting {
        name: "tpce.analytic_log",
        default: "on",
        range: Range::Choice(&["on", "off"]),
        unit: "",
        doc: "Whether an analytic transaction logs its result in a row of its own, so that it is no read-only \
              transaction, which some schemes serve from a snapshot.",
        stresses: "read-mostly transactions, which read-only snapshots do not help",
    },
    Setting {
        name: "tpce.market_feed",
        default: "whole",
        range: Range::Choice(&["whole", "per_entry"]),
        unit: "",
        doc: "Whether a Market-Feed is one transaction over its twenty entries, as in research engines, or one after \
              the other for each, as in the specification; they count as one either way.",
        stresses: "how long Market-Feeds hold what nearly all others read",
    },
    Setting {
        name: "tpce.commutative",
        default: "on",
        range: Range::Choice(&["on", "off"]),
        unit: "",
        doc: "Whether Trade-Result adds to its broker's counters when it commits, without reading them: the sums are \
              the same, and nobody sees them; `off` reads and writes them, as schemes that cannot do otherwise do \
              anyway.",
        stresses: "Trade-Results against each other: reading the counters makes them conflict on the broker",
    },
];

/// The settings of a run, as the workload uses them.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) scale: Scale,
    /// The number of customers who send requests.
    pub(super) active: u32,
    pub(super) scale_factor: u32,
    pub(super) days: u32,
    pub(super) clients: u32,
    pub(super) mix: Mix,
    /// The places of accounts that an analytic transaction visits, used or not.
    pub(super) group: u64,
    /// `true` if analytic transactions log their results.
    pub(super) logs_analytics: bool,
    /// `true` if a Market-Feed is one transaction for each entry.
    pub(super) feeds_by_entry: bool,
    /// `true` if Trade-Result adds to its broker without reading.
    pub(super) adds_to_broker: bool,
}

/// The weights of the types of transaction.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mix {
    pub(super) weights: [f64; TYPES],
    /// The shares of the types among the transactions that are drawn.
    shares: [f64; TYPES],
    /// `true` if it is `hybrid`, whose analytic share another setting has.
    pub(super) is_hybrid: bool,
}

impl Mix {
    /// Parses the mix. Returns `None` if the text has no valid weights.
    fn parse(text: &str) -> Option<Self> {
        match text {
            "standard" => Some(Self::of(STANDARD, false)),
            "hybrid" => Some(Self::of(HYBRID, true)),
            _ => {
                let mut weights = [0.0; TYPES];
                for part in text.split(',') {
                    let (name, weight) = part.trim().split_once(':')?;
                    let kind =
                        Tpce::TYPES[..TYPES].iter().position(|kind: &TxnType| kind.name == name.trim())?;
                    let weight: f64 = weight.trim().parse().ok()?;
                    if !(0.0..=1e6).contains(&weight) || weights[kind] > 0.0 {
                        return None;
                    }
                    weights[kind] = weight;
                }
                Some(Self::of(weights, false))
            }
        }
    }

    /// Creates a mix of weights.
    fn of(weights: [f64; TYPES], is_hybrid: bool) -> Self {
        let is_drawn = |kind: usize| !matches!(kind, MARKET_FEED | TRADE_RESULT);
        let weight = |kind: usize| if is_drawn(kind) { weights[kind] } else { 0.0 };
        let all: f64 = (0..TYPES).map(weight).sum();
        let shares = core::array::from_fn(|kind| if all > 0.0 { weight(kind) / all } else { 0.0 });
        Self { weights, shares, is_hybrid }
    }

    /// Returns the share of a type among the transactions that are drawn.
    pub(super) fn drawn(&self, kind: usize) -> f64 {
        self.shares[kind]
    }

    /// Draws a type.
    pub(super) fn draw(&self, rng: &mut Rng) -> usize {
        let mut rest = rng.unit();
        let mut last = 0;
        for (kind, share) in self.shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
            last = kind;
            rest -= share;
            if rest < 0.0 {
                break;
            }
        }
        last
    }
}

impl Settings {
    /// Creates the settings from their values.
    ///
    /// # Errors
    /// If numbers of customers are not whole granules. If the mix has nothing that a client can send, or orders that
    /// nobody answers.
    pub(super) fn new(values: &Values, clients: u32, seed: u64) -> Result<Self, SettingError> {
        let granules = |name: &str| {
            let given = values.int(name) as u32;
            if given.is_multiple_of(CUSTOMERS) {
                return Ok(given);
            }
            let (below, above) = (given / CUSTOMERS * CUSTOMERS, (given / CUSTOMERS + 1) * CUSTOMERS);
            let near = if below == 0 { above.to_string() } else { format!("{below} or {above}") };
            Err(SettingError(format!(
                "`{name}={given}`: must be a multiple of {CUSTOMERS}, for example {near}"
            )))
        };
        let customers = granules("tpce.customers")?;
        let active = match granules("tpce.active_customers")? {
            0 => customers,
            active if active <= customers => active,
            active => {
                return Err(SettingError(format!(
                    "`tpce.active_customers={active}`: there are {customers} customers; lower it, or raise \
                     `tpce.customers`"
                )));
            }
        };
        let mut mix = Mix::parse(values.text("tpce.mix")).expect("checked against its range");
        if mix.is_hybrid {
            let share = values.real("tpce.analytic_pct") / 100.0;
            let others: f64 = mix.weights.iter().sum::<f64>() - mix.weights[ANALYTIC];
            mix.weights[ANALYTIC] = others * share / (1.0 - share);
            mix = Mix::of(mix.weights, true);
        }
        check_mix(&mix)?;
        let slots = f64::from(customers) * 10.0;
        Ok(Self {
            scale: Scale { seed, customers },
            active,
            scale_factor: values.int("tpce.scale_factor") as u32,
            days: values.int("tpce.days") as u32,
            clients: clients.max(1),
            mix,
            group: ((slots * values.real("tpce.group_pct") / 100.0) as u64).clamp(1, slots as u64),
            logs_analytics: values.text("tpce.analytic_log") == "on",
            feeds_by_entry: values.text("tpce.market_feed") == "per_entry",
            adds_to_broker: values.text("tpce.commutative") == "on",
        })
    }

    /// The number of orders that a granule has sent before the run: those that were rolled back included.
    pub(super) fn slots_of_granule(&self) -> u64 {
        u64::from(self.days) * DAY_MS * 101 / (u64::from(self.scale_factor) * 500)
    }

    /// Returns the trading time of the initial order of a granule with a number.
    pub(super) fn slot_time(&self, number: u64) -> u64 {
        number * u64::from(self.scale_factor) * 500 / 101
    }

    /// The number of trades after loading.
    pub(super) fn initial_trades(&self) -> u64 {
        let slots = self.slots_of_granule();
        let skipped = (slots + 101 - 1 - SKIPPED) / 101;
        u64::from(self.scale.granules()) * (slots - skipped)
    }

    /// The trading time at which the initial orders end.
    pub(super) fn end_of_initial(&self) -> u64 {
        u64::from(self.days) * DAY_MS
    }

    /// The trading time at which a run begins.
    pub(super) fn opening(&self) -> u64 {
        self.end_of_initial() + PAUSE_MS
    }

    /// The trading time from one order of a client to the next, in milliseconds: all clients together send as many
    /// orders in a second of trading time as the active customers do.
    pub(super) fn order_interval_ms(&self) -> u64 {
        let all = u64::from(self.scale_factor) * 1_000 * u64::from(self.clients) * 100;
        (all / (u64::from(self.active) * 101)).max(1)
    }
}

/// The number, modulo 101, of the initial orders that were rolled back: one in 101, as during a run.
const SKIPPED: u64 = 51;

/// Returns `true` if the initial order of a granule with a number was rolled back, so that it left no trade.
pub(super) fn is_skipped(number: u64) -> bool {
    number % 101 == SKIPPED
}

/// Refuses mixes that cannot run.
fn check_mix(mix: &Mix) -> Result<(), SettingError> {
    let weight = |kind: usize| mix.weights[kind];
    let refuse = |says: &str| Err(SettingError(format!("`tpce.mix`: {says}")));
    if !(0..TYPES).any(|kind| mix.drawn(kind) > 0.0) {
        return refuse(
            "nothing would be sent: give a type other than `market_feed` and `trade_result` a weight",
        );
    }
    if weight(TRADE_ORDER) > 0.0 && weight(TRADE_RESULT) <= 0.0 {
        return refuse("no trade would be completed: add `trade_result:1` beside `trade_order`");
    }
    if weight(TRADE_ORDER) <= 0.0 && weight(TRADE_RESULT) + weight(MARKET_FEED) > 0.0 {
        return refuse(
            "`trade_result` and `market_feed` follow from orders: add `trade_order`, or leave them out",
        );
    }
    if mix.drawn(TRADE_CLEANUP) >= 1.0 {
        return refuse("`trade_cleanup` alone finds nothing to do: add `trade_order:10,trade_result:10`");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(given: &[(&str, &str)]) -> Result<Settings, SettingError> {
        let given: Vec<_> =
            given.iter().map(|(name, value)| (format!("tpce.{name}"), (*value).to_owned())).collect();
        Settings::new(&Values::new(SETTINGS, &given)?, 2, 1)
    }

    #[test]
    fn the_standard_loads_as_many_trades_as_the_specification() {
        let standard = settings(&[]).expect("legal");
        assert_eq!(standard.initial_trades(), 57_600);
        assert_eq!(
            settings(&[("customers", "5000"), ("days", "10")]).expect("legal").initial_trades(),
            2_880_000
        );
        let counted = (0..standard.slots_of_granule()).filter(|&number| !is_skipped(number)).count() as u64;
        assert_eq!(counted * 5, standard.initial_trades());
        assert!(standard.slot_time(standard.slots_of_granule() - 1) < standard.end_of_initial());
    }

    #[test]
    fn what_cannot_run_is_refused_with_the_way_out() {
        let refusal = |given: &[(&str, &str)]| settings(given).expect_err("refused").0;
        assert!(refusal(&[("customers", "1100")]).contains("1000 or 1200"));
        assert!(refusal(&[("customers", "100")]).contains("from 200"));
        assert!(refusal(&[("days", "0")]).contains("from 1 to 300"));
        assert!(refusal(&[("group_pct", "101")]).contains("to 100"));
        assert!(refusal(&[("active_customers", "1200")]).contains("raise `tpce.customers`"));
        assert!(refusal(&[("mix", "trade_order:1")]).contains("trade_result:1"));
        assert!(refusal(&[("mix", "trade_result:1,trade_status:1")]).contains("add `trade_order`"));
        assert!(refusal(&[("mix", "market_feed:1")]).contains("nothing would be sent"));
        assert!(refusal(&[("mix", "trade_orders:1")]).contains("weights by name"));
        let (_, names) = MIXES.split_once("the names are ").expect("they are listed");
        let listed: Vec<_> = names.split(", ").flat_map(|part| part.split(" and ")).collect();
        assert!(listed.into_iter().eq(Tpce::TYPES[..TYPES].iter().map(|kind| kind.name)));
        assert!(refusal(&[("mix", "trade_order:1,trade_order:2")]).contains("weights by name"));
    }

    #[test]
    fn the_hybrid_mix_has_its_analytic_share() {
        for (given, share) in [("20", 0.2), ("50", 0.5), ("0", 0.0)] {
            let mix = settings(&[("mix", "hybrid"), ("analytic_pct", given)]).expect("legal").mix;
            let all: f64 = mix.weights.iter().sum();
            assert!((mix.weights[ANALYTIC] / all - share).abs() < 1e-9, "{given}");
        }
    }

    #[test]
    fn types_are_drawn_by_their_weights() {
        let mix = settings(&[("mix", "trade_status:3,market_watch:1")]).expect("legal").mix;
        let rng = &mut Rng::new(1);
        let statuses = (0..10_000).filter(|_| mix.draw(rng) == 8).count();
        assert!(statuses.abs_diff(7_500) < 200, "{statuses}");
        let standard = settings(&[]).expect("legal").mix;
        assert!((0..10_000).all(|_| !matches!(standard.draw(rng), MARKET_FEED | TRADE_RESULT)));
    }

    #[test]
    fn clients_share_the_orders_of_the_active_customers() {
        let standard = settings(&[]).expect("legal");
        // Two clients for 1,000 customers, who send 2.02 orders a second together.
        assert_eq!(standard.order_interval_ms(), 990);
    }
}
