//! Tests that long histories with inserted and deleted rows are decided, whatever order their schemes put them in.

mod common;

use std::collections::BTreeMap;

use checker::{Answer, Level, check};
use common::{Act, Place, Script, history};
use stdx::Rng;
use stdx::history::{AttemptOutcome, TxnId, Version};

/// The number of transactions of a history, of sessions that take turns, and of keys.
const TXNS: u64 = 3_000;
const SESSIONS: u64 = 32;
const KEYS: u64 = 24;

/// The moment of the state that the transactions of a scheme see.
#[derive(Clone, Copy, PartialEq)]
enum Sees {
    /// The state at the transaction's end, in the order of responses.
    AtEnd,
    /// The state at the transaction's beginning, in the order of invocations, whatever the order of responses.
    AtBeginning,
    /// An earlier state; at its end a transaction writes only keys that no other has written since.
    Snapshot,
    /// The state before the batch, in which each transaction writes only keys that no other has written or seen.
    Batch,
}

/// A correct execution.
fn execution(sees: Sees, seed: u64) -> Vec<Script> {
    let mut rng = Rng::new(seed);
    let places = (0..KEYS).map(|key| (0, key));
    let mut states = vec![places.map(|at| (at, Version::LOADED)).collect::<BTreeMap<Place, Version>>()];
    // By key, the index of the state in which a transaction last wrote or saw it.
    let mut touched: BTreeMap<Place, usize> = BTreeMap::new();
    let mut scripts = Vec::new();
    for nth in 0..TXNS {
        let session = (nth % SESSIONS) as u32;
        let id = TxnId::new(session, (nth / SESSIONS) as u32 + 1);
        let last = states.len() - 1;
        let (snapshot, moment) = match sees {
            Sees::AtEnd | Sees::AtBeginning => (last, 100 * (nth + 1)),
            Sees::Snapshot => (last.saturating_sub(rng.below(12) as usize), 100 * (nth + 1)),
            Sees::Batch => (last - last % 8, 100 * (nth + 1)),
        };
        let (before, after) = (rng.below(90) * 10, rng.below(90) * 10);
        let (invoked, responded) = match sees {
            Sees::AtEnd => (moment.saturating_sub(before), moment),
            Sees::AtBeginning => (moment, moment + after),
            Sees::Snapshot => (100 * (snapshot as u64 + 1) - 50, moment),
            Sees::Batch => (100 * (snapshot as u64 + 1), 100 * (snapshot as u64 + 8) + 50 + after % 50),
        };
        let mut state = states[last].clone();
        let mut acts = Vec::new();
        let mut installs = Vec::new();
        let mut rows: Vec<(u64, Version)> = (4..12).map(|key| (key, states[snapshot][&(0, key)])).collect();
        rows.retain(|(_, seen)| !seen.is_absent());
        let is_scan = sees != Sees::Batch && rng.below(4) == 0;
        if is_scan {
            let (low, high) = (4, 11);
            acts.push(Act::Scan { table: 0, low, high, is_forward: true, is_complete: true, rows });
        }
        for _ in 0..4 {
            let at = (0, rng.below(KEYS));
            if acts.iter().any(|act| matches!(act, Act::Read(read, _) if *read == at)) {
                continue;
            }
            let seen = states[snapshot][&at];
            let is_untouched = touched.get(&at).is_none_or(|&touched| touched <= snapshot);
            if sees == Sees::Batch && !is_untouched {
                continue;
            }
            acts.push(Act::Read(at, if seen.is_absent() { Version::ABSENT } else { seen }));
            if sees == Sees::Batch {
                touched.insert(at, last + 1);
            }
            if rng.below(2) == 0 && is_untouched {
                let is_tombstone = !seen.is_absent() && rng.below(2) == 0;
                let to = Version::new(id, installs.len() as u32, is_tombstone);
                acts.push(Act::Write { at, is_tombstone });
                let before = if seen.is_absent() { Version::ABSENT } else { seen };
                installs.push(Act::Install { at, before, after: to });
                state.insert(at, to);
                touched.insert(at, last + 1);
            }
        }
        acts.extend(installs);
        states.push(state);
        scripts.push(Script {
            session,
            invoked,
            responded,
            outcome: AttemptOutcome::Committed(moment),
            acts,
        });
    }
    scripts
}

#[test]
fn long_histories_without_fault_are_known_to_hold() {
    for (sees, level) in [
        (Sees::AtEnd, Level::StrictlySerializable),
        (Sees::AtBeginning, Level::StrictlySerializable),
        (Sees::Snapshot, Level::SnapshotIsolation),
        (Sees::Batch, Level::Serializable),
    ] {
        for seed in 0..3 {
            let verdict = check(&history(&execution(sees, seed)), level);
            assert_eq!(verdict.answer, Answer::Holds, "seed {seed}: {verdict}");
        }
    }
}

#[test]
fn a_stale_read_of_an_absence_in_a_long_history_is_not_held_to_be_right() {
    let mut scripts = execution(Sees::AtEnd, 7);
    let reads = |script: &Script| {
        script.acts.iter().any(|act| matches!(act, Act::Read(_, seen) if !seen.is_absent()))
    };
    let which = (1_000..scripts.len()).find(|&nth| reads(&scripts[nth])).expect("most of them read");
    // By key, a version that one of the first 100 transactions installed, long ago.
    let old = scripts[..100].iter().rev().flat_map(|script| &script.acts);
    let old: BTreeMap<Place, Version> = old
        .filter_map(|act| match act {
            Act::Install { at, after, .. } if !after.is_absent() => Some((*at, *after)),
            _ => None,
        })
        .collect();
    for act in &mut scripts[which].acts {
        if let Act::Read(at, seen) = act
            && !seen.is_absent()
            && let Some(stale) = old.get(at)
        {
            *seen = *stale;
        }
    }
    let verdict = check(&history(&scripts), Level::StrictlySerializable);
    assert_eq!(verdict.answer, Answer::Violated, "{verdict}");
}
