//! Claims about schemes whose stamps are a serial order: the reads and writes of many concurrent attempts
//! are replayed one by one in the order of their stamps, on a plain map, and must have the same outcome.
//! This is stronger than any invariant of a workload: every read of every kind is compared.

use std::collections::BTreeMap;

use engine::Scheme;

use crate::catalogue::{self, Visit};
use crate::tests::common::histories::{CLIENTS, Committed, history_under, replays};
use crate::tests::common::{EFFORT, Given, Place, STALE_AND_WAITING, THOMAS};

/// The rows after an attempt, if the attempt has the same outcome.
fn replay(committed: &Committed, rows: &BTreeMap<Place, u64>) -> Option<BTreeMap<Place, u64>> {
    let mut rows = rows.clone();
    committed.steps.iter().all(|step| replays(step, &mut rows)).then_some(rows)
}

/// Replays a history. Of equal stamps, attempts that read what others wrote come after them. No two of them
/// write the same row, and none reads what another overwrites, so any of them that can come next may.
fn check(mut history: Vec<Committed>) {
    history.sort_by_key(|committed| committed.stamp);
    let mut rows = BTreeMap::new();
    for tied in history.chunk_by(|one, other| one.stamp == other.stamp) {
        if let [only] = tied {
            assert!(only.steps.iter().all(|step| replays(step, &mut rows)), "no serial order: {only:#?}");
            continue;
        }
        let mut left: Vec<&Committed> = tied.iter().collect();
        while !left.is_empty() {
            let next = left.iter().enumerate().find_map(|(nth, next)| Some((nth, replay(next, &rows)?)));
            let Some((nth, after)) = next else { panic!("no serial order: {left:#?} on {rows:?}") };
            left.swap_remove(nth);
            rows = after;
        }
    }
}

/// Checks the histories of a scheme under settings.
struct StampsAreAnOrder(Given);

impl Visit for StampsAreAnOrder {
    type Out = ();

    fn visit<S: Scheme>(self) {
        if !S::SERIAL_STAMPS {
            return;
        }
        for (threads, attempts) in
            [(1, 600), (2, 600), (4, 200)].map(|(threads, few)| (threads, few * EFFORT))
        {
            let history = history_under::<S>(threads, attempts, self.0);
            let share = history.len() as u64 * 100 / (attempts * (threads * CLIENTS) as u64);
            assert!(share >= 5, "only {share}% of the attempts commit: the history shows little");
            check(history);
        }
    }
}

#[test]
fn schemes_that_say_so_commit_in_the_order_of_their_stamps() {
    for info in catalogue::infos() {
        catalogue::with(info.name, StampsAreAnOrder(&[])).expect("a scheme of the catalogue");
    }
}

#[test]
fn so_they_do_where_late_writes_are_dropped_and_where_snapshots_are_old() {
    for (scheme, given) in [("basic_to", THOMAS), ("mv2pl", STALE_AND_WAITING)] {
        catalogue::with(scheme, StampsAreAnOrder(given)).expect("a scheme of the catalogue");
    }
}
