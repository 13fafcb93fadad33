//! Small random histories: executions at some level, mostly with one falsified fact.

use std::collections::BTreeMap;

use stdx::Rng;
use stdx::history::{AttemptOutcome, TxnId, Version};

use super::common::{Act, Place, Script};

/// The reads of an execution before the history is falsified.
#[derive(Clone, Copy)]
enum Reads {
    /// All reads of a transaction see the state at its commit.
    AtCommit,
    /// All reads of a transaction see the state of one earlier moment.
    AtSnapshot,
    /// All transactions of a batch see the state at the beginning of the batch.
    AtBatch,
    /// Each read sees the state of an earlier moment of its own.
    Anywhere,
}

/// The number of keys of each of the two tables.
const KEYS: u64 = 3;

/// A transaction in execution.
struct Running<'r> {
    rng: &'r mut Rng,
    id: TxnId,
    states: &'r [BTreeMap<Place, Version>],
    reads: Reads,
    snapshot: usize,
    own: BTreeMap<Place, Version>,
    acts: Vec<Act>,
    writes: u32,
}

impl Running<'_> {
    fn sees(&mut self, at: Place) -> Version {
        let moment = match self.reads {
            Reads::Anywhere => self.rng.below(self.states.len() as u64) as usize,
            _ => self.snapshot,
        };
        self.own.get(&at).copied().unwrap_or_else(|| self.states[moment][&at])
    }

    /// The version as it is recorded: most absences do not name their deletion.
    fn told(&mut self, version: Version) -> Version {
        if version.is_absent() && self.rng.below(4) > 0 { Version::ABSENT } else { version }
    }

    fn step(&mut self) {
        let at = (self.rng.below(2) as u16, self.rng.below(KEYS));
        match self.rng.below(8) {
            0..3 => self.read(at),
            3..6 => {
                if self.rng.below(2) == 0 {
                    self.read(at);
                }
                let is_tombstone = self.rng.below(3) == 0;
                self.acts.push(Act::Write { at, is_tombstone });
                self.own.insert(at, Version::new(self.id, self.writes, is_tombstone));
                self.writes += 1;
            }
            _ => self.scan(),
        }
    }

    fn read(&mut self, at: Place) {
        let seen = self.sees(at);
        let told = self.told(seen);
        self.acts.push(Act::Read(at, told));
    }

    fn scan(&mut self) {
        let low = self.rng.below(KEYS);
        let high = self.rng.between(low, KEYS - 1);
        let limit = 1 + self.rng.below(3) as usize;
        let is_forward = self.rng.below(2) == 0;
        let mut rows: Vec<(u64, Version)> = (low..=high).map(|key| (key, self.sees((0, key)))).collect();
        rows.retain(|(_, seen)| !seen.is_absent());
        if !is_forward {
            rows.reverse();
        }
        let is_complete = rows.len() < limit;
        rows.truncate(limit);
        self.acts.push(Act::Scan { table: 0, low, high, is_forward, is_complete, rows });
    }

    /// Installs its writes.
    fn commit(&mut self) -> BTreeMap<Place, Version> {
        let mut state = self.states.last().expect("there is a first one").clone();
        for (at, after) in std::mem::take(&mut self.own) {
            let before = state[&at];
            if before.is_absent() && after.is_absent() && self.rng.below(4) > 0 {
                continue;
            }
            let told = self.told(before);
            self.acts.push(Act::Install { at, before: told, after });
            state.insert(at, after);
        }
        state
    }
}

/// The scripts of a history of at most `txns_max` transactions.
pub(crate) fn scripts(rng: &mut Rng, txns_max: u64) -> Vec<Script> {
    let txns = rng.between(2, txns_max) as usize;
    let kinds = [Reads::AtCommit, Reads::AtCommit, Reads::AtSnapshot, Reads::AtBatch, Reads::Anywhere];
    let reads = kinds[rng.below(5) as usize];
    let batch = rng.between(2, 4) as usize;
    let are_stamps_true = rng.below(4) > 0;
    let places = (0..2).flat_map(|table| (0..KEYS).map(move |key| (table, key)));
    let first = places.map(|at| (at, if rng.below(2) == 0 { Version::LOADED } else { Version::ABSENT }));
    let mut states = vec![first.collect::<BTreeMap<Place, Version>>()];
    let spread = [1, 8, 25][rng.below(3) as usize];
    let mut scripts: Vec<Script> = Vec::new();
    let sessions = rng.between(1, txns as u64);
    for nth in 0..txns {
        let moment = 10 * nth as u64 + 100;
        let (mut invoked, mut responded) = (moment - rng.below(spread), moment + rng.below(spread));
        if matches!(reads, Reads::AtBatch) {
            let first = 10 * (nth - nth % batch) as u64 + 100;
            (invoked, responded) = (first, first + 10 * batch as u64 - 1);
        }
        // A session of its own, unless the drawn session is free.
        let drawn = rng.below(sessions) as u32;
        let mut of_drawn = scripts.iter().filter(|script| script.session == drawn);
        let is_free = of_drawn.all(|script| script.responded <= invoked);
        let session = if is_free { drawn } else { 100 + nth as u32 };
        let count = 1 + scripts.iter().filter(|script| script.session == session).count() as u32;
        let snapshot = match reads {
            Reads::AtSnapshot => states.len() - 1 - rng.below(states.len().min(3) as u64) as usize,
            Reads::AtBatch => nth - nth % batch,
            _ => states.len() - 1,
        };
        let id = TxnId::new(session, count);
        let (own, acts) = (BTreeMap::new(), Vec::new());
        let mut running = Running { rng, id, states: &states, reads, snapshot, own, acts, writes: 0 };
        for _ in 0..running.rng.between(1, 4) {
            running.step();
        }
        let state = running.commit();
        let acts = running.acts;
        states.push(state);
        let outcome = AttemptOutcome::Committed(if are_stamps_true { moment } else { rng.below(100) });
        scripts.push(Script { session, invoked, responded, outcome, acts });
    }
    for _ in 0..rng.below(3) {
        falsify(rng, &mut scripts, &states);
    }
    scripts
}

/// Falsifies one fact of a history.
fn falsify(rng: &mut Rng, scripts: &mut [Script], states: &[BTreeMap<Place, Version>]) {
    let which = rng.below(scripts.len() as u64) as usize;
    if rng.below(8) == 0 {
        let is_last = scripts[which + 1..].iter().all(|other| other.session != scripts[which].session);
        let script = &mut scripts[which];
        script.outcome =
            if rng.below(2) == 0 || !is_last { AttemptOutcome::Aborted } else { AttemptOutcome::Unknown };
        if script.outcome == AttemptOutcome::Aborted && rng.below(4) > 0 {
            script.acts.retain(|act| !matches!(act, Act::Install { .. }));
        }
        return;
    }
    if scripts[which].acts.is_empty() {
        return;
    }
    let nth = rng.below(scripts[which].acts.len() as u64) as usize;
    let state = &states[rng.below(states.len() as u64) as usize];
    let is_other_key = rng.below(8) == 0;
    let mut other = |at: Place| if is_other_key { (at.0, rng.below(KEYS)) } else { at };
    match &mut scripts[which].acts[nth] {
        Act::Read(at, seen) => *seen = state[&other(*at)],
        Act::Install { at, before, .. } if is_other_key => *before = state[&other(*at)],
        Act::Install { at, before, .. } => *before = state[at],
        Act::Write { is_tombstone, .. } if is_other_key => *is_tombstone = !*is_tombstone,
        Act::Write { .. } => {
            scripts[which].acts.remove(nth);
        }
        Act::Scan { rows, is_complete, .. } => match rows.len() {
            0 => *is_complete = true,
            _ if is_other_key => rows.reverse(),
            length => {
                let row = rng.below(length as u64) as usize;
                let (key, seen) = rows[row];
                let now = state[&(0, key)];
                if now.is_absent() || now == seen {
                    rows.remove(row);
                    *is_complete = true;
                } else {
                    rows[row].1 = now;
                }
            }
        },
    }
}
