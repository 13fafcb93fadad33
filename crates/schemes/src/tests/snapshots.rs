//! Claims about snapshot isolation, read by read: the reads and writes of many concurrent attempts are
//! replayed on plain maps, each attempt on the state that one snapshot shows.

use std::collections::BTreeMap;

use crate::multiversion::si::Si;
use crate::tests::common::Place;
use crate::tests::common::histories::{CLIENTS, Committed, Step, history, replays};

type Rows = BTreeMap<Place, u64>;

/// The keys that an attempt wrote.
fn written(committed: &Committed) -> impl Iterator<Item = Place> {
    committed.steps.iter().filter_map(|step| match step {
        Step::Update { at, seen: Some(_), .. }
        | Step::Add { at, done: true, .. }
        | Step::Replace { at, seen: true, .. }
        | Step::Insert { at, done: true, .. }
        | Step::Delete { at, done: true } => Some(*at),
        _ => None,
    })
}

/// The rows that the steps of an attempt leave behind, from the rows that it saw.
fn outcome(committed: &Committed, rows: &Rows) -> Option<Rows> {
    let mut rows = rows.clone();
    committed.steps.iter().all(|step| replays(step, &mut rows)).then_some(rows)
}

/// The states of the database by commit number, the empty one first; and the last commit of each key.
struct States {
    states: Vec<(u64, Rows)>,
    last: BTreeMap<Place, u64>,
}

impl States {
    /// The number of states that a snapshot shows or could show.
    fn up_to(&self, snapshot: u64) -> usize {
        self.states.partition_point(|(number, _)| *number <= snapshot)
    }

    /// Adds the state after a commit. Its attempt saw a snapshot that was taken at `since` or later, and no
    /// other commit had meanwhile written what it wrote.
    fn commit(&mut self, committed: &Committed, since: u64) {
        let conflict = written(committed).filter_map(|at| self.last.get(&at)).max();
        let first = self.up_to(since.max(conflict.copied().unwrap_or(0))) - 1;
        let after = self.states[first..].iter().find_map(|(_, rows)| outcome(committed, rows));
        let Some(after) = after else { panic!("no snapshot shows this: {committed:#?}") };
        let mut rows = self.states.last().expect("the empty state").1.clone();
        for at in written(committed) {
            match after.get(&at) {
                Some(value) => rows.insert(at, *value),
                None => rows.remove(&at),
            };
            self.last.insert(at, committed.stamp);
        }
        self.states.push((committed.stamp, rows));
    }
}

/// Replays a history.
fn check(mut history: Vec<Committed>) {
    history.sort_by_key(|committed| committed.stamp);
    let (readers, writers): (Vec<_>, Vec<_>) = history.iter().partition(|one| written(one).next().is_none());
    let mut states = States { states: vec![(0, Rows::new())], last: BTreeMap::new() };
    let mut acknowledged = BTreeMap::new();
    for committed in writers {
        let since = acknowledged.insert(committed.client, committed.stamp);
        states.commit(committed, since.unwrap_or(0));
    }
    for committed in readers {
        let (_, rows) = &states.states[states.up_to(committed.stamp) - 1];
        assert!(outcome(committed, rows).is_some(), "the snapshot shows something else: {committed:#?}");
    }
}

#[test]
fn si_shows_each_attempt_one_snapshot_and_lets_the_first_updater_win() {
    for (threads, attempts) in [(1, 2_000), (2, 2_000), (4, 500)] {
        let history = history::<Si>(threads, attempts);
        let share = history.len() as u64 * 100 / (attempts * (threads * CLIENTS) as u64);
        assert!(share >= 5, "only {share}% of the attempts commit: the history shows little");
        check(history);
    }
}
