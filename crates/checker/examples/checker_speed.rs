//! The number of transactions that one core checks per second: serializable histories of six operations a transaction,
//! over few and many keys, with rows that are inserted and deleted, with scans, and with all of these as in the
//! workload `mix`. Also the number of small histories per second.
//!
//! The time that counts is the time for which the thread had a core. Other programs on the machine still take from its
//! caches and its memory bandwidth, so two builds are compared by the medians of alternating runs.
//!
//! A long history is checked twice by one `Checker`, and the second time counts, as for a caller that checks one
//! history after the other: the first time includes the cost of memory pages that were never touched before.
//!
//! `cargo run --release -p contend-checker --example checker_speed [TRANSACTIONS [PART OF A SHAPE'S NAME]]`
#![allow(clippy::print_stdout, reason = "an example shows its figures")]
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "the checker knows no door to clocks"
)]

use checker::{Answer, Checker, Level};
use stdx::Rng;
use stdx::history::{AttemptOutcome, History, Key, SessionLog, Version};

/// Operations of a transaction.
const OPS: usize = 6;
/// The number of sessions, which take turns.
const SESSIONS: u32 = 16;
/// The number of sessions in small histories.
const FEW: u32 = 4;

/// The operations of transactions.
struct Shape {
    name: &'static str,
    keys: u64,
    updates_pct: f64,
    /// Deletions, or insertions of a key that is absent.
    comings_pct: f64,
    scans_pct: f64,
}

const SHAPES: [Shape; 7] = [
    Shape { name: "half updates", keys: 1 << 20, updates_pct: 50.0, comings_pct: 0.0, scans_pct: 0.0 },
    Shape {
        name: "half updates, few keys",
        keys: 1 << 10,
        updates_pct: 50.0,
        comings_pct: 0.0,
        scans_pct: 0.0,
    },
    Shape { name: "mostly reads", keys: 1 << 20, updates_pct: 5.0, comings_pct: 0.0, scans_pct: 0.0 },
    Shape { name: "rows come and go", keys: 1 << 16, updates_pct: 30.0, comings_pct: 20.0, scans_pct: 0.0 },
    Shape { name: "with short scans", keys: 1 << 16, updates_pct: 30.0, comings_pct: 10.0, scans_pct: 10.0 },
    MIX,
    Shape { name: "mix of 1,000 keys", keys: 8_000, ..MIX },
];

/// Four tables at two homes, of sixteen keys each.
const MIX: Shape =
    Shape { name: "mix of 16 keys", keys: 128, updates_pct: 25.0, comings_pct: 20.0, scans_pct: 20.0 };

/// The largest number of keys that a scan covers.
const SCANNED_MAX: u64 = 12;
/// The number of small histories, which are checked in turns, and the number of times that each is checked.
const SMALL: (u64, usize) = (1_000, 300);

/// Scans `count` keys from `low` on.
fn scan(log: &mut SessionLog, state: &[Version], writes: &[(u64, Version)], low: u64, count: u64) {
    let high = (low + count - 1).min(state.len() as u64 - 1);
    log.scan(0, &[low], &[high], true);
    for row in low..=high {
        let own = writes.iter().find(|(written, _)| *written == row).map(|(_, to)| *to);
        let seen = own.unwrap_or(state[row as usize]);
        if !seen.is_absent() {
            log.row(&[row], seen);
        }
    }
    log.scan_complete();
}

fn history(shape: &Shape, txns: u64, ops: usize, (sessions, seed): (u32, u64)) -> History {
    let mut rng = Rng::new(seed);
    let mut state = vec![Version::LOADED; shape.keys as usize];
    let mut logs: Vec<SessionLog> = (0..sessions).map(SessionLog::new).collect();
    for nth in 0..txns {
        let log = &mut logs[(nth % u64::from(sessions)) as usize];
        // Each transaction overlaps with most of its neighbours in the other sessions.
        let moment = 100 * (nth + 1);
        let slack = 100 * u64::from(sessions) / 2 - 1;
        log.begin(moment.saturating_sub(rng.below(slack)));
        let mut writes: Vec<(u64, Version)> = Vec::new();
        for _ in 0..ops {
            let key = rng.below(shape.keys);
            let dice = rng.unit() * 100.0;
            if writes.iter().any(|(written, _)| *written == key) {
                continue;
            }
            if dice < shape.scans_pct {
                scan(log, &state, &writes, key, 1 + rng.below(SCANNED_MAX));
                continue;
            }
            let (at, held) = ([key], state[key as usize]);
            let told = if held.is_absent() { Version::ABSENT } else { held };
            log.read(Key::new(0, &at), told);
            let is_present = !held.is_absent();
            if dice < shape.scans_pct + shape.comings_pct {
                writes.push((key, log.write(Key::new(0, &at), is_present)));
            } else if is_present && dice < shape.scans_pct + shape.comings_pct + shape.updates_pct {
                writes.push((key, log.write(Key::new(0, &at), false)));
            }
        }
        for (key, after) in writes {
            let before = std::mem::replace(&mut state[key as usize], after);
            let told = if before.is_absent() { Version::ABSENT } else { before };
            log.install(Key::new(0, &[key]), told, after);
        }
        log.end(AttemptOutcome::Committed(moment), moment + rng.below(slack));
    }
    History::new(logs)
}

/// The time for which this thread has had a core, in nanoseconds, as Linux counts it.
fn ran_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("this runs on Linux");
    text.split(' ').next().and_then(|ns| ns.parse().ok()).expect("the first number is nanoseconds")
}

fn main() {
    let txns = std::env::args().nth(1).map_or(Ok(1_000_000), |count| count.parse());
    let txns: u64 = txns.expect("the argument is the number of transactions");
    let wanted = std::env::args().nth(2).unwrap_or_default();
    for shape in SHAPES.iter().filter(|shape| shape.name.contains(&wanted)) {
        let history = history(shape, txns, OPS, (SESSIONS, 1));
        let bytes: usize = history.logs().iter().map(SessionLog::bytes).sum();
        print!("{:24} {:4} bytes a transaction;", shape.name, bytes as u64 / txns);
        for level in [Level::Serializable, Level::StrictlySerializable] {
            let mut checker = Checker::new();
            checker.check(&history, level);
            let start = ran_ns();
            let verdict = checker.check(&history, level);
            let seconds = (ran_ns() - start) as f64 / 1e9;
            assert_eq!(verdict.answer, Answer::Holds, "{verdict}");
            print!("  {}: {:.2} million a second", level.name(), txns as f64 / seconds / 1e6);
        }
        println!();
    }
    if "small histories".contains(&wanted) {
        small();
    }
}

/// Four transactions with three operations each, over few keys.
fn small() {
    let shape = Shape { keys: 4, ..MIX };
    let histories: Vec<History> = (0..SMALL.0).map(|seed| history(&shape, 4, 3, (FEW, seed))).collect();
    for level in [Level::SnapshotIsolation, Level::Serializable, Level::StrictlySerializable] {
        let mut checker = Checker::new();
        let start = ran_ns();
        for _ in 0..SMALL.1 {
            for history in &histories {
                assert_eq!(checker.check(history, level).answer, Answer::Holds);
            }
        }
        let seconds = (ran_ns() - start) as f64 / 1e9;
        let rate = (SMALL.0 as usize * SMALL.1) as f64 / seconds;
        println!("small histories, {}: {:.2} million a second", level.name(), rate / 1e6);
    }
}
