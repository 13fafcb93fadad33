//! The forecast of TPC-E: the load that the settings cause, before anything runs.

mod loaded;
mod sentences;

use engine::{Drive, Forecast, Workload};

use super::Tpce;
use super::rows::{
    AssetsHistory, CashTransaction, HoldingHistory, Settlement, Trade, TradeExecutor, TradeHistory,
    TradeRequest,
};
use super::settings::{ANALYTIC, MARKET_FEED, Settings, TRADE_CLEANUP, TRADE_ORDER, TRADE_RESULT, TYPES};
use crate::text;
use loaded::{BASKET, CHANGES_OF_TRADE, Loaded, empty_groups};
use sentences::{active, analytic, data, homes, hottest, market, mix, short_lookups, touched_rows};

/// Broker-Volume.
const BROKER_VOLUME: usize = 0;
/// Customer-Position.
const CUSTOMER_POSITION: usize = 1;
/// Market-Watch.
const MARKET_WATCH: usize = 3;
/// Security-Detail.
const SECURITY_DETAIL: usize = 4;
/// Trade-Lookup.
const TRADE_LOOKUP: usize = 5;
/// Trade-Update.
const TRADE_UPDATE: usize = 9;
/// The share of orders that have a limit.
const LIMITS: f64 = 0.4;
/// The share of orders that are not rolled back.
const COMMITTED_ORDERS: f64 = 100.0 / 101.0;
/// The share of trades that are not on margin.
const CASH: f64 = 0.92;
/// The Trade-Results that one Market-Feed follows from.
const RESULTS_OF_FEED: f64 = 10.0;
/// The trades that Trade-Lookup and Trade-Update ask for.
const ASKED: f64 = super::input::TRADES_ASKED as f64;

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
        sentences.push(active(settings));
    }
    if shares[TRADE_LOOKUP] + shares[TRADE_UPDATE] > 0.0 {
        sentences.extend(short_lookups(settings, &loaded));
    }
    let (growth_rows, growth_bytes) = growth(settings, &shares);
    Forecast {
        sentences,
        row_bytes,
        rows,
        growth_bytes: growth_bytes.ceil() as u64,
        growth_rows,
        implicit: None,
        idle: idle(settings, &shares),
        features: vec![
            ("clients a broker", f64::from(drive.clients) / active_brokers(settings)),
            ("read-only share", read_only(&shares)),
            ("multi-home share", multi_home(settings, &shares)),
            ("analytic share", shares[ANALYTIC]),
            ("positions an analytic transaction reads", loaded.group(settings).1),
        ],
    }
}

/// Returns the settings that change nothing, because they are about types of transaction that do not run.
fn idle(settings: &Settings, shares: &[f64; TYPES]) -> Vec<&'static str> {
    let is_analytic = shares[ANALYTIC] > 0.0;
    text::idle([
        ("tpce.analytic_pct", settings.mix.is_hybrid),
        ("tpce.group_pct", is_analytic),
        ("tpce.analytic_log", is_analytic),
        ("tpce.market_feed", shares[MARKET_FEED] > 0.0),
        ("tpce.commutative", shares[TRADE_RESULT] > 0.0),
    ])
}

/// Returns `true` if limits trigger.
fn feeds(settings: &Settings) -> bool {
    settings.mix.weights[MARKET_FEED] > 0.0
}

/// The brokers of the customers who send requests.
fn active_brokers(settings: &Settings) -> f64 {
    f64::from(settings.active / super::scale::CUSTOMERS * super::scale::BROKERS)
}

/// Returns the shares of the types among the transactions that commit. Each order that commits is answered once, and
/// ten answers make a Market-Feed.
pub(super) fn shares(settings: &Settings) -> [f64; TYPES] {
    let mut rates: [f64; TYPES] = core::array::from_fn(|kind| settings.mix.drawn(kind));
    rates[TRADE_ORDER] *= COMMITTED_ORDERS;
    rates[ANALYTIC] *= 1.0 - empty_groups(settings);
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
    let waiting = if feeds(settings) || shares[TRADE_CLEANUP] > 0.0 { 0.0 } else { LIMITS };
    // A Trade-Cleanup submits what waits, and cancels it.
    let canceled = if feeds(settings) || shares[TRADE_CLEANUP] <= 0.0 { 0.0 } else { 2.0 * LIMITS };
    let kinds = [
        (shares[TRADE_ORDER], size_of::<Trade>() + size_of::<TradeExecutor>()),
        (
            shares[TRADE_ORDER] * (1.0 + canceled) + shares[TRADE_RESULT] * (1.0 + triggered),
            size_of::<TradeHistory>(),
        ),
        (shares[TRADE_ORDER] * waiting, size_of::<TradeRequest>()),
        (shares[TRADE_RESULT], size_of::<Settlement>()),
        (shares[TRADE_RESULT] * CASH, size_of::<CashTransaction>()),
        (shares[TRADE_RESULT] * CHANGES_OF_TRADE, size_of::<HoldingHistory>()),
        (logged, size_of::<AssetsHistory>()),
    ];
    let sum = |of: fn(&(f64, usize)) -> f64| kinds.iter().map(of).sum();
    (sum(|(rows, _)| *rows), sum(|(rows, bytes)| rows * *bytes as f64))
}

#[cfg(test)]
mod tests {
    use engine::Schema;

    use super::loaded::watched;
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
            "about 120 orders wait in the long run",
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
        let few = said("tpce.mix=data_maintenance:1").sentences.join("\n");
        assert!(few.contains("Hottest rows: none") && !few.contains("LAST_TRADE"), "{few}");
        assert!(
            said("tpce.mix=trade_status:1").sentences.iter().all(|sentence| !sentence.contains("Market:"))
        );
    }

    #[test]
    fn orders_that_nobody_triggers_wait_forever_or_until_a_cleanup() {
        let forever = said("tpce.mix=trade_order:10,trade_result:10,broker_volume:10").sentences.join("\n");
        for figure in [
            "broker_volume reads more the longer the run lasts",
            "more and more orders wait",
            "ranges that Broker-Volumes scan",
            "wait forever",
        ] {
            assert!(forever.contains(figure), "{figure} in {forever}");
        }
        let given = "tpce.mix=trade_order:10,trade_result:10,trade_cleanup:1";
        let canceled = said(given).sentences.join("\n");
        // Four of ten orders wait, and a cleanup follows ten orders, of which one in 101 rolls back.
        for figure in [
            "about 4 orders wait",
            "that Trade-Cleanups scan",
            "until a Trade-Cleanup cancels",
            "trade_cleanup 8 and 16",
        ] {
            assert!(canceled.contains(figure), "{figure} in {canceled}");
        }
    }

    #[test]
    fn small_groups_may_be_empty() {
        let text = |pct: &str| said(&format!("tpce.mix=hybrid tpce.group_pct={pct}")).sentences.join("\n");
        // A customer has five of ten places in the mean, so that half of the groups of one place have no account.
        assert!(text("0.01").contains("50% of those that are sent find no account in their group and roll"));
        let shares = shares(&tpce("tpce.mix=hybrid tpce.group_pct=0.01").settings);
        assert!((shares[ANALYTIC] - 0.1 / 0.9).abs() < 5e-3, "half of a fifth commits: {}", shares[ANALYTIC]);
        assert!(!text("1").contains("roll back"));
    }

    #[test]
    fn settings_of_transactions_that_do_not_run_are_idle() {
        assert_eq!(said("").idle, ["tpce.analytic_pct", "tpce.group_pct", "tpce.analytic_log"]);
        assert!(said("tpce.mix=hybrid").idle.is_empty());
        let by_name = said("tpce.mix=trade_order:1,trade_result:1,analytic:1").idle;
        assert_eq!(by_name, ["tpce.analytic_pct", "tpce.market_feed"]);
        assert!(said("tpce.mix=trade_status:1").idle.contains(&"tpce.commutative"));
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
