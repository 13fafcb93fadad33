//! The forecast of the Stock workload: the load that the settings cause, computed before anything
//! runs.

use engine::{Drive, Forecast};

use super::rows::{HOMES_MAX, Stock};
use super::settings::Settings;
use crate::text::{self, percent};

/// The forecast for `contend explain`.
pub(super) fn of(settings: &Settings, drive: Drive) -> Forecast {
    let rows = settings.rows.count();
    let (reads, writes) = (settings.reads as f64, settings.writes_mean());
    // The estimate is for any rows read and any rows written, whatever their positions.
    let invalidated = reads * writes / rows as f64;
    let others = f64::from(drive.clients.saturating_sub(1));
    let sentences = vec![
        data(settings),
        transactions(settings),
        format!(
            "Of the rows that a transaction reads another one writes {invalidated:.3} in the mean, and {:.3} of those \
             that it writes itself; with {} clients {:.0} others are in flight. A scheme that validates what was read \
             needs the first to be small, one that only keeps writes apart the second.",
            writes * writes / rows as f64,
            drive.clients,
            others
        ),
        homes(settings),
    ];
    Forecast {
        sentences,
        row_bytes: rows * size_of::<Stock>() as u64,
        rows,
        growth_bytes: 0,
        growth_rows: 0.0,
        implicit: None,
        idle: text::idle([
            ("stock.writeset", writes > 0.0 && !settings.is_scattered),
            ("stock.write", writes > 0.0),
        ]),
        features: vec![
            ("rows read", reads),
            ("rows written", writes),
            ("rows read that those in flight write", invalidated * others),
            ("rows written that those in flight write", writes * writes / rows as f64 * others),
        ],
    }
}

fn data(settings: &Settings) -> String {
    let Settings { warehouses, items, .. } = settings;
    let shared = if *warehouses > HOMES_MAX as u64 { "; several warehouses share a home" } else { "" };
    format!(
        "STOCK of {warehouses} warehouses with {items} items: {} rows of {} bytes{shared}.",
        settings.rows.count(),
        size_of::<Stock>()
    )
}

fn transactions(settings: &Settings) -> String {
    let Settings { reads, write_pct, is_scattered, writes_first, is_blind, .. } = settings;
    let lie = if *is_scattered { "anywhere" } else { "one after the other" };
    let share = percent(100.0 * *reads as f64 / settings.rows.count() as f64);
    let chosen = if *writes_first && !is_scattered { ", the first" } else { "" };
    let how = if *is_blind { "overwrites" } else { "updates" };
    let writes = settings.writes_mean();
    let written = if writes < 1.0 {
        format!("one in {:.0} transactions {how} one of them, the others only read", 1.0 / writes.max(1e-9))
    } else {
        format!("it {how} {writes:.1} of them ({write_pct}%{chosen})")
    };
    let written = if writes == 0.0 { "it writes none".to_owned() } else { written };
    format!("A transaction reads {reads} rows, {share} of all, {lie}; {written}.")
}

fn homes(settings: &Settings) -> String {
    let (homes, reads) = (settings.rows.homes() as f64, settings.reads as f64);
    let at_each = settings.rows.count() as f64 / homes;
    let touched = if settings.is_scattered {
        homes * (1.0 - (1.0 - 1.0 / homes).powf(reads))
    } else {
        (1.0 + (reads - 1.0) / at_each).min(homes)
    };
    format!(
        "Schemes that own partitions find {homes} homes, a warehouse each or several; a transaction touches \
         {touched:.1} of them in the mean."
    )
}
