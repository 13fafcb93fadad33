//! Tests of the replay in the order of stamps; with all orders of stamps tried it also is a definition of
//! serializability.

#[path = "common/all_orders.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod all_orders;
mod common;
#[path = "common/random.rs"]
mod random;

use checker::{Level, Phenomenon, out_of_order};
use common::{Act, Place, Script, history};
use stdx::Rng;
use stdx::history::{AttemptOutcome, TxnId, Version};

const X: Place = (0, 1);
const Y: Place = (0, 2);

/// The version of write number `sequence` by the only transaction of a session.
fn by(session: u32, sequence: u32) -> Version {
    Version::new(TxnId::new(session, 1), sequence, false)
}

/// The only transaction of a session, with this stamp.
fn at(session: u32, stamp: u64, acts: &[Act]) -> Script {
    Script {
        session,
        invoked: 0,
        responded: 100,
        outcome: AttemptOutcome::Committed(stamp),
        acts: acts.to_vec(),
    }
}

/// A transaction of session 1 that replaces the loaded version at a place.
fn writes(place: Place, stamp: u64) -> Script {
    let after = by(1, 0);
    let acts = [
        Act::Write { at: place, is_tombstone: false },
        Act::Install { at: place, before: Version::LOADED, after },
    ];
    at(1, stamp, &acts)
}

/// A scan of both places by session 2.
fn scans(stamp: u64, is_forward: bool, rows: &[(Place, Version)]) -> Script {
    let rows = rows.iter().map(|((_, key), seen)| (*key, *seen)).collect();
    at(2, stamp, &[Act::Scan { table: 0, low: 1, high: 2, is_forward, is_complete: true, rows }])
}

/// The session of the transaction whose stamp is out of order, if any.
fn misplaced(scripts: &[Script]) -> Option<u32> {
    let anomaly = out_of_order(&history(scripts))?;
    assert_eq!(anomaly.phenomenon, Phenomenon::Stamps);
    Some(anomaly.txns[0].txn.session())
}

#[test]
fn a_reader_is_where_its_stamp_says_or_told_of() {
    let reads = |stamp, seen| at(2, stamp, &[Act::Read(X, seen)]);
    assert_eq!(misplaced(&[writes(X, 5), reads(6, by(1, 0))]), None);
    assert_eq!(misplaced(&[writes(X, 5), reads(4, Version::LOADED)]), None);
    assert_eq!(misplaced(&[writes(X, 5), reads(6, Version::LOADED)]), Some(2), "it read the past");
    assert_eq!(misplaced(&[writes(X, 5), reads(4, by(1, 0))]), Some(2), "it read the future");
    assert_eq!(misplaced(&[writes(X, 5), reads(5, by(1, 0))]), None, "of equal stamps the reader is later");
    assert_eq!(misplaced(&[writes(X, 5), reads(6, Version::ABSENT)]), Some(2), "it missed a row");
}

#[test]
fn a_scan_meets_all_that_stands_in_its_range_and_nothing_else() {
    let loaded = at(3, 1, &[Act::Read(X, Version::LOADED)]);
    let after = |scan: Script| misplaced(&[loaded.clone(), writes(Y, 5), scan]);
    let (x, y) = ((X, Version::LOADED), (Y, by(1, 0)));
    assert_eq!(after(scans(6, true, &[x, y])), None);
    assert_eq!(after(scans(6, false, &[y, x])), None);
    assert_eq!(after(scans(6, true, &[x])), Some(2), "a phantom");
    assert_eq!(after(scans(6, true, &[x, x, y])), Some(2), "a row that was met twice");
    assert_eq!(after(scans(6, true, &[y, x])), Some(2), "rows out of order");
}

#[test]
fn a_transaction_sees_its_own_writes_and_replaces_what_stands_there() {
    let own = [Act::Write { at: X, is_tombstone: false }, Act::Read(X, by(2, 0))];
    let replaces = |before| {
        let install = Act::Install { at: X, before, after: by(2, 0) };
        at(2, 6, &[own[0].clone(), own[1].clone(), install])
    };
    assert_eq!(misplaced(&[writes(X, 5), replaces(by(1, 0))]), None);
    assert_eq!(misplaced(&[writes(X, 5), replaces(Version::LOADED)]), Some(2), "a lost update");
}

/// Whether some order of stamps explains the transactions that are left, after those that have stamps.
fn some_order(scripts: &mut [Script], left: &mut Vec<usize>, stamp: u64) -> bool {
    if left.is_empty() {
        return out_of_order(&history(scripts)).is_none();
    }
    (0..left.len()).any(|nth| {
        let next = left.remove(nth);
        scripts[next].outcome = AttemptOutcome::Committed(stamp);
        let is_found = some_order(scripts, left, stamp + 1);
        left.insert(nth, next);
        is_found
    })
}

#[test]
fn a_history_is_serializable_if_and_only_if_some_stamps_explain_it() {
    let (mut explained, mut not) = (0, 0);
    for seed in 0..6_000 {
        let mut scripts = random::scripts(&mut Rng::from_path(&[seed]), 4);
        if scripts.iter().any(|script| script.outcome == AttemptOutcome::Unknown) {
            assert!(out_of_order(&history(&scripts)).is_none(), "seed {seed}: nobody was told all stamps");
            continue;
        }
        // An aborted attempt has no stamp, whatever it did.
        scripts.retain(|script| script.outcome != AttemptOutcome::Aborted);
        let holds = all_orders::holds(&history(&scripts), Level::Serializable);
        let mut left: Vec<usize> = (0..scripts.len()).collect();
        let is_explained = some_order(&mut scripts, &mut left, 1);
        assert_eq!(is_explained, holds, "seed {seed}: {scripts:#?}");
        if holds { explained += 1 } else { not += 1 }
    }
    assert!(explained > 1_000 && not > 1_000, "{explained} explained, {not} not: hardly tried");
}
