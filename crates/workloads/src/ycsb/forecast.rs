//! The forecast of YCSB: the load that the settings cause, computed before anything runs.

use engine::{Drive, Forecast};

use super::input::{Generator, INSERT_EVERY, Kind};
use super::keys::HOMES;
use super::settings::{Distribution, Settings};
use crate::text::{self, at_least_one, percent};

/// The forecast for `contend explain`.
pub(super) fn of(settings: &Settings, generator: &Generator, drive: Drive) -> Forecast {
    let sentences = vec![
        operations(settings),
        data(settings),
        hot_records(settings, generator),
        conflicts(settings, generator, drive),
        homes(settings),
    ];
    let width = settings.words as u64 * 8;
    let growth_rows =
        if settings.mix.inserts { settings.ops_per_txn as f64 / INSERT_EVERY as f64 } else { 0.0 };
    let growth_bytes = (growth_rows * width as f64).ceil() as u64;
    let (rows, row_bytes) = (settings.records, settings.records * width);
    let features = vec![
        ("writes a transaction", settings.writes()),
        ("conflicting transactions in flight", expected_conflicts(settings, generator) * others(drive)),
    ];
    let is_skewed = settings.distribution != Distribution::Uniform;
    let idle = text::idle([
        ("ycsb.theta", is_skewed),
        (
            "ycsb.hot_placement",
            settings.mix.inserts || is_skewed && settings.theta > 0.0 || settings.hot_at.is_some(),
        ),
        ("ycsb.scan_max", settings.mix.other == Kind::Scan),
        ("ycsb.write", settings.mix.other == Kind::Update && settings.writes() > 0.0),
        ("ycsb.distinct", settings.ops_per_txn > 1),
    ]);
    Forecast { sentences, row_bytes, rows, growth_bytes, growth_rows, implicit: None, idle, features }
}

fn operations(settings: &Settings) -> String {
    let Settings { letter, ops_per_txn, mix, scan_max, .. } = settings;
    let update = if settings.is_blind { "blind overwrites" } else { "updates, each a read-modify-write" };
    let other = match mix.other {
        Kind::Scan => format!("scans of 1 to {scan_max} rows"),
        Kind::ReadModifyWrite => "read-modify-writes".to_owned(),
        _ => update.to_owned(),
    };
    let shares = match mix.read_pct {
        0 => format!("{other} only"),
        100 => "reads only".to_owned(),
        reads => format!("{reads}% reads and {}% {other}", 100 - reads),
    };
    let hot = if settings.hot_at.is_some() { ", beside an update of the hot row" } else { "" };
    let inserts = if mix.inserts { ", beside 5% inserts" } else { hot };
    let transactions = match (ops_per_txn, settings.is_distinct) {
        (1, _) => "one operation a transaction".to_owned(),
        (_, true) => {
            format!("{ops_per_txn} operations on different records a transaction, prefetched together")
        }
        (_, false) => format!("{ops_per_txn} operations a transaction, prefetched together"),
    };
    format!("YCSB {letter}: {shares}{inserts}; {transactions}.")
}

fn data(settings: &Settings) -> String {
    let Settings { records, words, key_bytes, .. } = settings;
    let bytes = words * 8;
    format!("{records} records of {bytes} bytes under keys of {key_bytes} bytes.")
}

fn hot_records(settings: &Settings, generator: &Generator) -> String {
    let hottest = 100.0 * generator.hottest(1);
    let hottest_32 = 100.0 * generator.hottest(32);
    let shares = format!(
        "the hottest gets {} of the operations, the hottest 32 get {}",
        percent(hottest),
        percent(hottest_32)
    );
    let place = if settings.is_scattered { "scattered in key order" } else { "side by side in key order" };
    let beside = if settings.hot_at.is_some() { "Beside the hot row: " } else { "" };
    let sentence = match settings.distribution {
        Distribution::Uniform => {
            format!("All records are equally hot: each gets {} of the operations.", percent(hottest))
        }
        Distribution::Zipfian => {
            format!("Zipf with theta {}: {shares}; hot records are {place}.", settings.theta)
        }
        Distribution::Latest => {
            format!("The latest records are hot, by Zipf with theta {}: {shares}.", settings.theta)
        }
    };
    format!("{beside}{sentence}")
}

/// The mean number of conflicting pairs of operations of two transactions. A pair conflicts if both operations are on
/// one record and at least one of them writes it. Zero if only inserts write.
fn expected_conflicts(settings: &Settings, generator: &Generator) -> f64 {
    if settings.mix.inserts {
        return 0.0;
    }
    let one_writes = 1.0 - (1.0 - settings.mix.write_share()).powi(2);
    let hot = if settings.hot_at.is_some() { 1.0 } else { 0.0 };
    let pairs = (settings.ops_per_txn as f64 - hot).powi(2);
    hot + pairs * generator.collision() * one_writes
}

/// The number of other transactions in flight beside one.
fn others(drive: Drive) -> f64 {
    f64::from(drive.clients.saturating_sub(1))
}

/// Each pair of operations of two transactions conflicts with a small probability of its own.
fn conflicts(settings: &Settings, generator: &Generator, drive: Drive) -> String {
    let expected = expected_conflicts(settings, generator);
    let happens = |expected: f64| percent(100.0 * at_least_one(expected));
    if settings.mix.inserts {
        return "Loaded records are only read; conflicts can come from inserts alone: new index entries beside \
                what others read or insert."
            .to_owned();
    }
    if let Some(at) = settings.hot_at {
        return format!(
            "Operation {} of the {} of each transaction updates one record, the same for all: transactions in flight \
             always conflict.",
            at + 1,
            settings.ops_per_txn
        );
    }
    if expected == 0.0 {
        return "Nothing is written: there are no conflicts.".to_owned();
    }
    format!(
        "Two transactions in flight conflict on a record in about {} of the cases; with {} clients a \
         transaction meets such another in about {}.",
        happens(expected),
        drive.clients,
        happens(expected * others(drive))
    )
}

fn homes(settings: &Settings) -> String {
    let homes = HOMES as f64;
    let touched = homes * (1.0 - (1.0 - 1.0 / homes).powi(settings.ops_per_txn as i32));
    format!(
        "Schemes that own partitions find {HOMES} homes, ranges of keys; a transaction with uniform keys touches \
         {touched:.1} of them in the mean."
    )
}
