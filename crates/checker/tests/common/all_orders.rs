//! An oracle for isolation: tries all orders in which transactions can have taken effect, on a plain map.

use std::collections::{BTreeMap, BTreeSet};

use checker::Level;
use stdx::history::{AttemptOutcome, History, Key, Op, RecordedAttempt, SessionLog, Version};

/// An owned key for the oracle.
type Named = (u16, Vec<u64>);

/// The contents of the map: each key's version, a tombstone or [`Version::ABSENT`] where there is no value.
type State = BTreeMap<Named, Version>;

/// The needs and the effects of a transaction.
struct Needs {
    session: u32,
    invoked: u64,
    responded: u64,
    /// The versions of other transactions that it saw, absences in scanned ranges included.
    seen: Vec<(Named, Version)>,
    /// Its installs: the key, the version that was replaced, and the new version.
    installs: Vec<(Named, Version, Version)>,
}

/// Whether some order explains the history.
pub(crate) fn holds(history: &History, level: Level) -> bool {
    let attempts: Vec<RecordedAttempt<'_>> = history.logs().iter().flat_map(SessionLog::attempts).collect();
    let has_installed =
        |attempt: &RecordedAttempt<'_>| attempt.ops().any(|op| matches!(op, Op::Install { .. }));
    if attempts.iter().any(|attempt| attempt.outcome == AttemptOutcome::Aborted && has_installed(attempt)) {
        return false;
    }
    let counts = |attempt: &&RecordedAttempt<'_>| match attempt.outcome {
        AttemptOutcome::Committed(_) => true,
        AttemptOutcome::Aborted => false,
        AttemptOutcome::Unknown => has_installed(attempt),
    };
    let attempts: Vec<RecordedAttempt<'_>> = attempts.iter().filter(counts).copied().collect();
    let first = first_state(&attempts);
    let needs: Option<Vec<Needs>> = attempts.iter().map(|attempt| needs(*attempt, &first)).collect();
    needs.is_some_and(|needs| orders(&needs, level, &mut vec![first], &mut Vec::new()))
}

fn named(key: Key<'_>) -> Named {
    (key.table, key.words.to_vec())
}

/// The first state of each key: loaded if any attempt met the loaded version.
fn first_state(attempts: &[RecordedAttempt<'_>]) -> State {
    let mut state = State::new();
    let mut meet = |key: Key<'_>, version: Version| {
        let held = state.entry(named(key)).or_insert(Version::ABSENT);
        if version.is_loaded() {
            *held = Version::LOADED;
        }
    };
    for op in attempts.iter().flat_map(RecordedAttempt::ops) {
        match op {
            Op::Read { key, seen } => meet(key, seen),
            Op::Write { key, .. } => meet(key, Version::ABSENT),
            Op::Install { key, before, .. } => meet(key, before),
            Op::Scan(scan) => scan.rows().for_each(|(key, seen)| meet(key, seen)),
        }
    }
    state
}

fn matches(held: Version, said: Version) -> bool {
    held == said || said == Version::ABSENT && held.is_absent()
}

/// The needs of a transaction; `None` if nothing can explain it.
fn needs(attempt: RecordedAttempt<'_>, first: &State) -> Option<Needs> {
    let mut own: BTreeMap<Named, Version> = BTreeMap::new();
    let mut installed: BTreeSet<Named> = BTreeSet::new();
    let mut needs = Needs {
        session: attempt.id.session(),
        invoked: attempt.invoked,
        responded: attempt.responded,
        seen: Vec::new(),
        installs: Vec::new(),
    };
    let mut see = |own: &BTreeMap<Named, Version>, key: Named, seen: Version| match own.get(&key) {
        Some(&held) => matches(held, seen),
        None if seen.txn() == attempt.id => false,
        None => {
            needs.seen.push((key, seen));
            true
        }
    };
    for op in attempt.ops() {
        let is_sound = match op {
            Op::Read { key, seen } => see(&own, named(key), seen),
            Op::Write { key, to } => {
                own.insert(named(key), to);
                true
            }
            Op::Install { key, before, after } => {
                needs.installs.push((named(key), before, after));
                own.get(&named(key)) == Some(&after) && installed.insert(named(key))
            }
            Op::Scan(scan) => {
                let rows: Vec<(Named, Version)> = scan.rows().map(|(key, seen)| (named(key), seen)).collect();
                let is_next = |pair: &[(Named, Version)]| {
                    let (one, other) = (&pair[0].0, &pair[1].0);
                    if scan.is_forward { one < other } else { one > other }
                };
                let range = named(scan.low)..=named(scan.high);
                let covered = scan.covered().map(|(low, high)| named(low)..=named(high));
                let mut is_sound = rows.windows(2).all(is_next);
                for (key, seen) in &rows {
                    is_sound &= range.contains(key) && !seen.is_absent() && see(&own, key.clone(), *seen);
                }
                for key in first.keys().filter(|key| covered.as_ref().is_some_and(|c| c.contains(key))) {
                    if rows.iter().all(|(row, _)| row != key) {
                        is_sound &= see(&own, key.clone(), Version::ABSENT);
                    }
                }
                is_sound
            }
        };
        if !is_sound {
            return None;
        }
    }
    for (key, held) in own {
        if !installed.contains(&key) {
            if !held.is_absent() {
                return None;
            }
            needs.seen.push((key, Version::ABSENT));
        }
    }
    Some(needs)
}

/// Whether the transactions that are left can follow those that are done; the last state is the current one.
fn orders(all: &[Needs], level: Level, states: &mut Vec<State>, done: &mut Vec<usize>) -> bool {
    if done.len() == all.len() {
        return true;
    }
    for next in 0..all.len() {
        if done.contains(&next) || !may_follow(all, level, states, done, next) {
            continue;
        }
        let mut state = states.last().expect("there is a first one").clone();
        for (key, _, after) in &all[next].installs {
            state.insert(key.clone(), *after);
        }
        states.push(state);
        done.push(next);
        if orders(all, level, states, done) {
            return true;
        }
        states.pop();
        done.pop();
    }
    false
}

fn may_follow(all: &[Needs], level: Level, states: &[State], done: &[usize], next: usize) -> bool {
    let txn = &all[next];
    let now = states.last().expect("there is a first one");
    if !txn.installs.iter().all(|(key, before, _)| matches(now[key], *before)) {
        return false;
    }
    let sees = |state: &State| txn.seen.iter().all(|(key, seen)| matches(state[key], *seen));
    match level {
        // Each read on its own saw some earlier state.
        Level::ReadCommitted => {
            txn.seen.iter().all(|(key, seen)| states.iter().any(|state| matches(state[key], *seen)))
        }
        // All reads saw one state, and since then no transaction wrote a key that this one writes.
        Level::SnapshotIsolation => states
            .iter()
            .any(|state| sees(state) && txn.installs.iter().all(|(key, _, _)| state[key] == now[key])),
        Level::Serializable => sees(now),
        Level::StrictlySerializable => {
            let others = (0..all.len()).filter(|other| *other != next && !done.contains(other));
            let is_first = |other: usize| {
                let other_txn = &all[other];
                let is_same = other_txn.session == txn.session && other < next;
                other_txn.responded < txn.invoked || is_same && other_txn.responded <= txn.invoked
            };
            sees(now) && !others.into_iter().any(is_first)
        }
    }
}
