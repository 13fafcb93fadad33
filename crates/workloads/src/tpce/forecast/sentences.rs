//! The sentences of a forecast.

use engine::Workload;

use super::super::Tpce;
use super::super::rows::DailyMarket;
use super::super::settings::{
    ANALYTIC, MARKET_FEED, Settings, TRADE_CLEANUP, TRADE_ORDER, TRADE_RESULT, TYPES,
};
use super::super::time::MARKET_DAYS;
use super::loaded::{ACCOUNTS_OF_CALLER, Loaded, empty_groups, watched};
use super::{
    ASKED, BROKER_VOLUME, CUSTOMER_POSITION, LIMITS, MARKET_WATCH, SECURITY_DETAIL, active_brokers, feeds,
    growth, multi_home, read_only,
};
use crate::text::percent;

pub(super) fn data(settings: &Settings, loaded: &Loaded) -> String {
    let scale = settings.scale;
    let (rows, bytes) = loaded.rows();
    let of_market = f64::from(scale.securities() * MARKET_DAYS) * size_of::<DailyMarket>() as f64;
    format!(
        "Data: {} customers with about {} accounts, {} securities, {} companies and {} brokers; {} trades, which {} \
         {} of trading left; about {} rows of {:.1} MiB together, before indexes and headers, of which DAILY_MARKET, \
         which hardly anybody writes, has {}.",
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

pub(super) fn mix(settings: &Settings, shares: &[f64; TYPES]) -> String {
    let named = Tpce::TYPES.iter().zip(shares).filter(|(_, share)| **share > 0.0);
    let parts: Vec<_> = named.map(|(kind, share)| format!("{} {:.1}%", kind.name, 100.0 * share)).collect();
    let (rows, bytes) = growth(settings, shares);
    format!(
        "Mix: {}; {:.1}% only read. A transaction adds {rows:.2} rows of {bytes:.0} bytes in the mean, for as long as \
         the run lasts.",
        parts.join(", "),
        100.0 * read_only(shares),
    )
}

pub(super) fn touched_rows(loaded: &Loaded, shares: &[f64; TYPES]) -> String {
    let touched = loaded.touched();
    let types = Tpce::TYPES.iter().zip(touched).zip(shares).filter(|(_, share)| **share > 0.0);
    let parts: Vec<_> = types
        .map(|((kind, (reads, writes)), _)| {
            format!("{} {} and {}", kind.name, thousands(reads), thousands(writes))
        })
        .collect();
    let growing = if shares[BROKER_VOLUME] > 0.0 && loaded.pending().is_none() {
        "; broker_volume reads more the longer the run lasts, because orders wait forever"
    } else {
        ""
    };
    format!("Rows read and written by a transaction, in the mean: {}{growing}.", parts.join(", "))
}

pub(super) fn hottest(settings: &Settings, loaded: &Loaded, shares: &[f64; TYPES]) -> String {
    let (positions, securities) = (loaded.positions_of_account(), f64::from(settings.scale.securities()));
    let prices = shares[CUSTOMER_POSITION] * ACCOUNTS_OF_CALLER * positions
        + shares[MARKET_WATCH] * (0.6 * watched(securities) + 0.35 * positions)
        + shares[SECURITY_DETAIL]
        + shares[TRADE_ORDER] * (1.0 + 0.08 * positions)
        + shares[ANALYTIC] * loaded.group(settings).1;
    let feed = match (shares[MARKET_FEED] > 0.0, settings.feeds_by_entry) {
        (false, _) => "",
        (true, true) => ", and a Market-Feed writes twenty, each in a transaction of its own",
        (true, false) => ", and a Market-Feed writes twenty in one transaction",
    };
    let mut parts = Vec::new();
    if prices >= 0.05 {
        parts.push(format!(
            "the {} rows of LAST_TRADE, of which a transaction reads {prices:.1} in the mean{feed}",
            thousands(securities)
        ));
    }
    if shares[TRADE_RESULT] > 0.0 {
        parts.push(format!(
            "each broker, written by {} of the transactions, which {}",
            percent(100.0 * shares[TRADE_RESULT] / active_brokers(settings)),
            if settings.adds_to_broker {
                "only add, so that under schemes that add at the commit Trade-Results do not conflict on it"
            } else {
                "read what they add to, so that Trade-Results conflict on it under every scheme"
            }
        ));
    }
    let scanners =
        [(MARKET_FEED, "Market-Feeds"), (BROKER_VOLUME, "Broker-Volumes"), (TRADE_CLEANUP, "Trade-Cleanups")];
    let scanners = scanners.into_iter().filter(|(kind, _)| shares[*kind] > 0.0);
    let scanners: Vec<_> = scanners.map(|(_, name)| name).collect();
    if shares[TRADE_ORDER] > 0.0 && !scanners.is_empty() {
        let pending = loaded.pending().map_or_else(
            || "more and more orders wait".to_owned(),
            |pending| format!("about {} orders wait in the long run", thousands(pending)),
        );
        parts.push(format!(
            "TRADE_REQUEST, in which {pending}: Trade-Orders insert into ranges that {} scan",
            scanners.join(" and ")
        ));
    }
    if parts.is_empty() {
        return "Hottest rows: none that all transactions of the mix meet.".to_owned();
    }
    format!("Hottest rows: {}.", parts.join("; "))
}

pub(super) fn homes(settings: &Settings, shares: &[f64; TYPES]) -> String {
    let granules = settings.scale.granules();
    if granules == 1 {
        return "Homes: 200 customers with their accounts, brokers and trades, and as many companies and securities as \
                go with them, are a home for schemes that own partitions; there is only one, so that such schemes run \
                one transaction at a time."
            .to_owned();
    }
    format!(
        "Homes: 200 customers with their accounts, brokers and trades, and as many companies and securities as go with \
         them, are a home for schemes that own partitions; there are {granules}, and {} of the transactions touch more \
         than one, because accounts hold securities of all.",
        percent(100.0 * multi_home(settings, shares)),
    )
}

pub(super) fn market(settings: &Settings, shares: &[f64; TYPES]) -> String {
    let ms = settings.order_interval_ms();
    let pace = format!(
        "trading time goes on by {:.3} s with each order of a client, whatever the clock says",
        ms as f64 / 1_000.0
    );
    if !feeds(settings) {
        let wait = if shares[TRADE_CLEANUP] > 0.0 {
            "in TRADE_REQUEST until a Trade-Cleanup cancels them"
        } else {
            "forever in TRADE_REQUEST, which grows"
        };
        return format!(
            "Market: without `market_feed` in the mix no limit is ever reached: {} of the orders wait {wait}, and the \
             others are answered by a Trade-Result each; {pace}. Add `market_feed:1` to let them be triggered.",
            percent(100.0 * LIMITS)
        );
    }
    format!(
        "Market: each Trade-Order is answered by a Trade-Result, {} of them only when a Market-Feed brings the price \
         of their limit, and ten answers make one Market-Feed: {} of the transactions are sent by the market and not \
         by customers; {pace}.",
        percent(100.0 * LIMITS),
        percent(100.0 * (shares[TRADE_RESULT] + shares[MARKET_FEED])),
    )
}

pub(super) fn analytic(settings: &Settings, loaded: &Loaded, shares: &[f64; TYPES]) -> String {
    let (accounts, positions) = loaded.group(settings);
    let empty = empty_groups(settings);
    let empty = if empty > 0.0 {
        format!(
            "{} of those that are sent find no account in their group and roll back; ",
            percent(100.0 * empty)
        )
    } else {
        String::new()
    };
    format!(
        "Analytic transactions: {} of all; each reads {} accounts, {} positions, and as many last prices, of {} \
         different ones; {empty}{}.",
        percent(100.0 * shares[ANALYTIC]),
        if accounts < 10.0 { format!("{accounts:.1}") } else { thousands(accounts) },
        if positions < 10.0 { format!("{positions:.1}") } else { thousands(positions) },
        thousands(f64::from(settings.scale.securities()).min(positions)),
        if settings.logs_analytics {
            "it logs its result, so that it is no read-only transaction, and a Trade-Result or a Market-Feed that \
             changes one of these rows meanwhile is a conflict"
        } else {
            "it writes nothing, so that a scheme may serve it from a snapshot if it knows that beforehand"
        },
    )
}

pub(super) fn active(settings: &Settings) -> String {
    format!(
        "Active: only the first {} customers send requests, with the brokers and accounts of theirs; securities and \
         companies are drawn from all.",
        thousands(f64::from(settings.active)),
    )
}

/// Says that lookups are short, if they are. Periods of lookups begin in the first half of the initial trades, if there
/// are few.
pub(super) fn short_lookups(settings: &Settings, loaded: &Loaded) -> Option<String> {
    let of_account = loaded.trades / loaded.accounts;
    if of_account >= 2.0 * ASKED {
        return None;
    }
    let days = (2.0 * ASKED * f64::from(settings.days) / of_account).ceil();
    let setting =
        if days <= 300.0 { format!("`tpce.days={days:.0}`") } else { "more trades a day".to_owned() };
    Some(format!(
        "Few days: an account has {of_account:.0} trades in the mean before the run, so that Trade-Lookups and \
         Trade-Updates by account may find fewer than the {ASKED:.0} that they ask for; with {setting} most find as \
         many.",
    ))
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
