//! How many transactions a second one core checks: serializable histories of six operations a transaction, over
//! few and many keys, with rows that come and go, and with scans.
//!
//! Counted is the time that the thread had a core, so that others on the machine disturb little.
//!
//! `cargo run --release -p contend-checker --example checker_speed [TRANSACTIONS [PART OF A SHAPE'S NAME]]`
#![allow(clippy::print_stdout, reason = "an example shows its figures")]
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "the checker knows no door to clocks"
)]

use checker::{Answer, Level, check};
use stdx::Rng;
use stdx::history::{History, Key, Log, Outcome, Version};

/// Operations of a transaction.
const OPS: usize = 6;
/// Sessions that take turns.
const SESSIONS: u32 = 16;

/// What transactions do.
struct Shape {
    name: &'static str,
    keys: u64,
    updates_pct: f64,
    /// Deletions, or insertions of what is not there.
    comings_pct: f64,
    scans_pct: f64,
}

const SHAPES: [Shape; 5] = [
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
];

/// Scans ten keys from this one on.
fn scan(log: &mut Log, state: &[Version], writes: &[(u64, Version)], low: u64) {
    let high = (low + 9).min(state.len() as u64 - 1);
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

fn history(shape: &Shape, txns: u64) -> History {
    let mut rng = Rng::new(1);
    let mut state = vec![Version::LOADED; shape.keys as usize];
    let mut logs: Vec<Log> = (0..SESSIONS).map(Log::new).collect();
    for nth in 0..txns {
        let log = &mut logs[(nth % u64::from(SESSIONS)) as usize];
        // Each overlaps with most of those of the other sessions around it.
        let moment = 100 * (nth + 1);
        let slack = 100 * u64::from(SESSIONS) / 2 - 1;
        log.begin(moment.saturating_sub(rng.below(slack)));
        let mut writes: Vec<(u64, Version)> = Vec::new();
        for _ in 0..OPS {
            let key = rng.below(shape.keys);
            let dice = rng.unit() * 100.0;
            if writes.iter().any(|(written, _)| *written == key) {
                continue;
            }
            if dice < shape.scans_pct {
                scan(log, &state, &writes, key);
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
        log.end(Outcome::Committed(moment), moment + rng.below(slack));
    }
    History::new(logs)
}

/// For how long this thread has had a core, as Linux counts it.
fn ran_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("this runs on Linux");
    text.split(' ').next().and_then(|ns| ns.parse().ok()).expect("the first number is nanoseconds")
}

fn main() {
    let txns = std::env::args().nth(1).map_or(Ok(1_000_000), |count| count.parse());
    let txns: u64 = txns.expect("the argument is the number of transactions");
    let wanted = std::env::args().nth(2).unwrap_or_default();
    for shape in SHAPES.iter().filter(|shape| shape.name.contains(&wanted)) {
        let history = history(shape, txns);
        let bytes: usize = history.logs().iter().map(Log::bytes).sum();
        print!("{:24} {:4} bytes a transaction;", shape.name, bytes as u64 / txns);
        for level in [Level::Serializable, Level::StrictlySerializable] {
            let start = ran_ns();
            let verdict = check(&history, level);
            let seconds = (ran_ns() - start) as f64 / 1e9;
            assert_eq!(verdict.answer, Answer::Holds, "{verdict}");
            print!("  {}: {:.2} million a second", level.name(), txns as f64 / seconds / 1e6);
        }
        println!();
    }
}
