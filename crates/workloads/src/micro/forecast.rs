//! The forecast of the microbenchmark: the load that the settings cause, computed before anything runs.

use engine::{Drive, Forecast};

use super::Version;
use super::input::Generator;
use super::settings::Settings;
use crate::text::{self, at_least_one, percent};

/// The forecast for `contend explain`.
pub(super) fn of(settings: &Settings, generator: &Generator, drive: Drive) -> Forecast {
    let Settings { objects, reads, writes, common, .. } = *settings;
    let conflicts = expected_conflicts(settings, generator) * others(drive);
    let how = if settings.is_blind { "blindly" } else { "by a read-modify-write each" };
    let [hottest, hottest_32] = [1, 32].map(|count| percent(100.0 * generator.hottest(count)));
    let sentences = vec![
        format!(
            "A transaction reads {reads} objects and writes {writes}, {how}; {common} of them both, so that it touches \
             {}.",
            settings.accesses()
        ),
        format!("{objects} objects with a name and a version of 8 bytes each, prefetched together."),
        format!(
            "Zipf with theta {}: the hottest object gets {hottest} of the draws, the hottest 32 get {hottest_32}; hot \
             objects are no neighbours.",
            settings.theta
        ),
        told_conflicts(settings, generator, drive),
        "Schemes that own partitions find 16 homes, ranges of names, of which a transaction touches many."
            .to_owned(),
    ];
    Forecast {
        sentences,
        row_bytes: objects * size_of::<Version>() as u64,
        rows: objects,
        growth_bytes: 0,
        growth_rows: 0.0,
        implicit: None,
        idle: text::idle([("micro.write", writes > 0)]),
        features: vec![
            ("writes a transaction", writes as f64),
            ("conflicting transactions in flight", conflicts),
        ],
    }
}

/// The mean number of conflicting pairs of accesses of two transactions: both to one object, and not both reads.
/// The rule that the objects of a transaction differ is ignored.
fn expected_conflicts(settings: &Settings, generator: &Generator) -> f64 {
    let all = settings.accesses() as f64;
    let only_read = all - settings.writes as f64;
    (all * all - only_read * only_read) * generator.collision()
}

/// The number of other transactions in flight beside one.
fn others(drive: Drive) -> f64 {
    f64::from(drive.clients.saturating_sub(1))
}

fn told_conflicts(settings: &Settings, generator: &Generator, drive: Drive) -> String {
    let expected = expected_conflicts(settings, generator);
    if expected == 0.0 {
        return "Nothing is written: there are no conflicts.".to_owned();
    }
    let happens = |expected: f64| percent(100.0 * at_least_one(expected));
    format!(
        "Two transactions in flight conflict on an object in about {} of the cases; with {} clients a transaction \
         meets such another in about {}.",
        happens(expected),
        drive.clients,
        happens(expected * others(drive))
    )
}
