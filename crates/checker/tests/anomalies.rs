//! Tests of the anomalies: each has a history that shows it and no stronger one.

mod common;

use checker::{Answer, Level, Phenomenon, check};
use common::{Act, Place, Script, history};
use stdx::history::{AttemptOutcome, TxnId, Version};

const X: Place = (0, 1);
const Y: Place = (0, 2);
const Z: Place = (1, 1);
const LOADED: Version = Version::LOADED;
const ABSENT: Version = Version::ABSENT;

/// The version of write number `sequence` by the only transaction of a session.
fn by(session: u32, sequence: u32) -> Version {
    Version::new(TxnId::new(session, 1), sequence, false)
}

/// The same version as a deletion.
fn deleted_by(session: u32, sequence: u32) -> Version {
    Version::new(TxnId::new(session, 1), sequence, true)
}

fn read(at: Place, seen: Version) -> Act {
    Act::Read(at, seen)
}

fn write(at: Place) -> Act {
    Act::Write { at, is_tombstone: false }
}

fn delete(at: Place) -> Act {
    Act::Write { at, is_tombstone: true }
}

fn install(at: Place, before: Version, after: Version) -> Act {
    Act::Install { at, before, after }
}

/// A scan of both keys that was completed.
fn scan(rows: &[(Place, Version)]) -> Act {
    let rows = rows.iter().map(|((_, key), seen)| (*key, *seen)).collect();
    Act::Scan { table: 0, low: 1, high: 2, is_forward: true, is_complete: true, rows }
}

fn at(session: u32, (invoked, responded): (u64, u64), acts: &[Act]) -> Script {
    Script { session, invoked, responded, outcome: AttemptOutcome::Committed(0), acts: acts.to_vec() }
}

/// Transactions of sessions 1 and up, all at the same time.
fn together(txns: &[&[Act]]) -> Vec<Script> {
    (1..).zip(txns).map(|(session, acts)| at(session, (0, 100), acts)).collect()
}

/// Asserts that the history shows this anomaly and no other, and that every level answers accordingly.
#[track_caller]
fn shows(scripts: &[Script], phenomenon: Phenomenon, name: &str) {
    let history = history(scripts);
    for level in Level::ALL {
        let verdict = check(&history, level);
        let (expected, found, others) = if level.forbids(phenomenon) {
            (Answer::Violated, &verdict.violations, &verdict.beyond)
        } else {
            (Answer::Holds, &verdict.beyond, &verdict.violations)
        };
        assert_eq!(verdict.answer, expected, "{verdict}");
        assert!(others.is_empty(), "{verdict}");
        let names: Vec<_> = found.iter().map(|anomaly| (anomaly.phenomenon, anomaly.name)).collect();
        assert_eq!(names, [(phenomenon, name)], "{verdict}");
    }
}

/// Asserts that every level holds and that no anomaly shows.
#[track_caller]
fn is_clean(scripts: &[Script]) {
    for level in Level::ALL {
        let verdict = check(&history(scripts), level);
        assert_eq!(verdict.answer, Answer::Holds, "{verdict}");
        assert!(verdict.beyond.is_empty(), "{verdict}");
    }
}

/// Asserts that every level is violated, by this anomaly.
#[track_caller]
fn is_broken(scripts: &[Script], name: &str) {
    for level in Level::ALL {
        let verdict = check(&history(scripts), level);
        assert_eq!(verdict.answer, Answer::Violated, "{verdict}");
        assert_eq!(verdict.violations[0].name, name, "{verdict}");
    }
}

#[test]
fn one_after_the_other_shows_nothing() {
    is_clean(&[
        at(1, (0, 1), &[read(X, LOADED), write(X), read(X, by(1, 0)), install(X, LOADED, by(1, 0))]),
        at(
            2,
            (2, 3),
            &[read(X, by(1, 0)), delete(X), read(X, ABSENT), install(X, by(1, 0), deleted_by(2, 0))],
        ),
        at(3, (4, 5), &[scan(&[]), read(X, ABSENT), write(X), install(X, ABSENT, by(3, 0))]),
        at(4, (6, 7), &[scan(&[(X, by(3, 0))]), write(Y), delete(Y), scan(&[(X, by(3, 0))])]),
    ]);
}

#[test]
fn writes_in_two_orders_are_a_dirty_write() {
    let one = [write(X), write(Y), install(X, LOADED, by(1, 0)), install(Y, by(2, 1), by(1, 1))];
    let two = [write(X), write(Y), install(X, by(1, 0), by(2, 0)), install(Y, LOADED, by(2, 1))];
    shows(&together(&[&one, &two]), Phenomenon::G0, "dirty write");
}

#[test]
fn what_aborted_is_not_read() {
    let mut scripts = together(&[&[write(X)], &[read(X, by(1, 0))]]);
    scripts[0].outcome = AttemptOutcome::Aborted;
    shows(&scripts, Phenomenon::G1a, "aborted read");
}

#[test]
fn what_its_writer_replaced_is_not_read() {
    let one = [write(X), write(X), install(X, LOADED, by(1, 1))];
    shows(&together(&[&one, &[read(X, by(1, 0))]]), Phenomenon::G1b, "intermediate read");
}

#[test]
fn two_that_read_each_others_writes_are_circular() {
    let one = [write(X), read(Y, by(2, 0)), install(X, LOADED, by(1, 0))];
    let two = [write(Y), read(X, by(1, 0)), install(Y, LOADED, by(2, 0))];
    shows(&together(&[&one, &two]), Phenomenon::G1c, "circular information flow");
}

#[test]
fn two_that_change_what_they_both_read_lose_an_update() {
    let one = [read(X, LOADED), write(X), install(X, LOADED, by(1, 0))];
    let two = [read(X, LOADED), write(X), install(X, by(1, 0), by(2, 0))];
    shows(&together(&[&one, &two]), Phenomenon::GSingle, "lost update");
}

#[test]
fn half_of_a_transaction_seen_is_read_skew() {
    let one = [write(X), write(Y), install(X, LOADED, by(1, 0)), install(Y, LOADED, by(1, 1))];
    let two = [read(X, LOADED), read(Y, by(1, 1))];
    shows(&together(&[&one, &two]), Phenomenon::GSingle, "read skew");
}

#[test]
fn two_values_of_one_key_are_an_unrepeatable_read() {
    let one = [write(X), install(X, LOADED, by(1, 0))];
    let two = [read(X, LOADED), read(X, by(1, 0))];
    shows(&together(&[&one, &two]), Phenomenon::GSingle, "unrepeatable read");
}

#[test]
fn a_row_that_appears_during_a_transaction_is_a_phantom() {
    let one = [write(X), install(X, ABSENT, by(1, 0))];
    let two = [scan(&[]), scan(&[(X, by(1, 0))])];
    shows(&together(&[&one, &two]), Phenomenon::GSingle, "phantom");
}

#[test]
fn two_readers_that_order_two_writers_differently_are_a_long_fork() {
    let one = [write(X), install(X, LOADED, by(1, 0))];
    let two = [write(Y), install(Y, LOADED, by(2, 0))];
    let three = [read(X, by(1, 0)), read(Y, LOADED)];
    let four = [read(X, LOADED), read(Y, by(2, 0))];
    shows(&together(&[&one, &two, &three, &four]), Phenomenon::GNonadjacent, "long fork");
}

#[test]
fn two_that_change_what_the_other_read_are_write_skew() {
    let one = [read(X, LOADED), read(Y, LOADED), write(X), install(X, LOADED, by(1, 0))];
    let two = [read(X, LOADED), read(Y, LOADED), write(Y), install(Y, LOADED, by(2, 0))];
    shows(&together(&[&one, &two]), Phenomenon::G2Item, "write skew");
}

#[test]
fn a_reader_can_show_what_writers_alone_do_not() {
    let one = [read(X, LOADED), read(Y, LOADED), write(X), install(X, LOADED, by(1, 0))];
    let two = [read(Y, LOADED), write(Y), install(Y, LOADED, by(2, 0))];
    is_clean(&together(&[&one, &two]));
    let three = [read(X, LOADED), read(Y, by(2, 0))];
    shows(&together(&[&one, &two, &three]), Phenomenon::G2Item, "read-only anomaly");
}

#[test]
fn two_that_insert_into_the_range_that_the_other_scanned_are_a_phantom() {
    let one = [scan(&[]), write(X), install(X, ABSENT, by(1, 0))];
    let two = [scan(&[]), write(Y), install(Y, ABSENT, by(2, 0))];
    shows(&together(&[&one, &two]), Phenomenon::G2, "phantom");
}

#[test]
fn what_a_broken_off_scan_did_not_reach_is_no_phantom() {
    let early = |acts: &[Act]| {
        let row = vec![(1, LOADED)];
        let broken_off =
            Act::Scan { table: 0, low: 0, high: 2, is_forward: true, is_complete: false, rows: row };
        [&[broken_off], acts].concat()
    };
    let three = (0, 3);
    let one = early(&[write(Y), install(Y, ABSENT, by(1, 0))]);
    let two = early(&[write(three), install(three, ABSENT, by(2, 0)), read(Y, ABSENT)]);
    is_clean(&together(&[&one, &two]));
}

#[test]
fn an_old_value_after_its_writer_has_responded_is_a_stale_read() {
    let one = [write(X), install(X, LOADED, by(1, 0))];
    let scripts = [at(1, (0, 10), &one), at(2, (11, 20), &[read(X, LOADED)])];
    shows(&scripts, Phenomenon::RealTime, "stale read");
    is_clean(&[at(1, (0, 10), &one), at(2, (10, 20), &[read(X, LOADED)])]);
}

#[test]
fn an_old_value_in_the_session_of_its_writer_is_out_of_order() {
    let one = [write(X), install(X, LOADED, by(1, 0))];
    let scripts = [at(1, (0, 10), &one), at(1, (10, 20), &[read(X, LOADED)])];
    shows(&scripts, Phenomenon::RealTime, "session out of order");
}

#[test]
fn whoever_finds_a_key_absent_may_have_come_before_or_after() {
    let insert = [write(X), install(X, ABSENT, by(1, 0))];
    let remove = [delete(X), install(X, by(1, 0), deleted_by(2, 0))];
    // Key Y shows that the reader came before the insert, whatever the order of responses.
    let before = [read(X, ABSENT), write(Y), install(Y, LOADED, by(3, 0))];
    let mut with_y = insert.to_vec();
    with_y.push(read(Y, by(3, 0)));
    let late = |acts: &[Act]| at(3, (0, 99), acts);
    is_clean(&[at(1, (0, 10), &with_y), at(2, (0, 20), &remove), late(&before)]);
    // If the transaction that deleted X also came before the reader, X cannot be absent there.
    let mut with_z = remove.to_vec();
    with_z.extend([write(Z), install(Z, LOADED, by(2, 1))]);
    let mut neither = before.to_vec();
    neither.push(read(Z, by(2, 1)));
    let scripts = [at(1, (0, 10), &with_y), at(2, (0, 20), &with_z), late(&neither)];
    let verdict = check(&history(&scripts), Level::Serializable);
    assert_eq!(verdict.answer, Answer::Violated, "{verdict}");
}

#[test]
fn an_absence_of_which_is_said_since_when_is_no_choice() {
    let insert = [write(X), install(X, ABSENT, by(1, 0)), read(Y, by(3, 0))];
    let remove = [delete(X), install(X, by(1, 0), deleted_by(2, 0))];
    let reader = [read(X, deleted_by(2, 0)), write(Y), install(Y, LOADED, by(3, 0))];
    shows(&together(&[&insert, &remove, &reader]), Phenomenon::G1c, "circular information flow");
}

#[test]
fn what_no_order_explains_is_named() {
    let plain = [write(X), install(X, LOADED, by(1, 0))];
    let seen = |seen| together(&[&plain, &[read(X, seen)]]);
    is_broken(&seen(by(9, 0)), "read of what nobody wrote");
    is_broken(&seen(by(1, 7)), "read of what nobody wrote");
    is_broken(&seen(ABSENT), "present row taken for absent");
    is_broken(&together(&[&plain, &[read(Y, by(1, 0))]]), "read of another key's version");
    is_broken(&together(&[&[write(X), read(X, LOADED), install(X, LOADED, by(1, 0))]]), "own write not seen");
    is_broken(&together(&[&[write(X), write(X), install(X, LOADED, by(1, 0))]]), "own write not seen");
    is_broken(&together(&[&[write(X)]]), "write lost at commit");
    is_broken(&together(&[&plain, &[write(X), install(X, LOADED, by(1, 0))]]), "install of another's write");
    is_broken(&together(&[&[write(X), install(X, by(9, 0), by(1, 0))]]), "missing version");
    let twice = [write(X), install(X, LOADED, by(2, 0))];
    is_broken(&together(&[&plain, &twice]), "version lost by a second install over the same");
    let removed = [delete(X), install(X, LOADED, deleted_by(2, 0))];
    is_broken(&together(&[&plain, &removed]), "deleted row came back");
    let inserted = [write(X), install(X, ABSENT, by(2, 0))];
    is_broken(&together(&[&plain, &inserted]), "present row taken for absent");
    is_broken(
        &together(&[&[write(X), install(X, ABSENT, by(1, 0))], &[read(X, LOADED)]]),
        "loaded value of a row that was not loaded",
    );
    is_broken(&together(&[&[scan(&[(Y, LOADED), (X, LOADED)])]]), "scan out of order");
    is_broken(&together(&[&[scan(&[(X, LOADED), (X, LOADED)])]]), "scan out of order");
    is_broken(&together(&[&[scan(&[(X, LOADED)])], &[read(Y, LOADED)]]), "present row taken for absent");
    let mut aborted = together(&[&plain]);
    aborted[0].outcome = AttemptOutcome::Aborted;
    is_broken(&aborted, "install by an aborted attempt");
}

#[test]
fn a_cut_off_attempt_counts_if_it_was_seen() {
    let cut_off = |acts: &[Act]| Script { outcome: AttemptOutcome::Unknown, ..at(1, (0, 100), acts) };
    let reader = at(2, (0, 100), &[read(X, by(1, 0))]);
    let installed = [write(X), install(X, LOADED, by(1, 0))];
    is_clean(&[cut_off(&installed), reader.clone()]);
    is_clean(&[cut_off(&installed[..1]), at(2, (0, 100), &[read(X, LOADED)])]);
    // The version was seen, but its position in the order of X is not known.
    let verdict = check(&history(&[cut_off(&installed[..1]), reader]), Level::Serializable);
    assert_eq!(verdict.answer, Answer::Undecided, "{verdict}");
}

#[test]
fn a_cycle_is_shown_with_what_its_transactions_did() {
    let one = [read(X, LOADED), write(X), install(X, LOADED, by(1, 0))];
    let two = [read(X, LOADED), read(Y, LOADED), write(X), install(X, by(1, 0), by(2, 0))];
    let verdict = check(&history(&together(&[&one, &two])), Level::SnapshotIsolation);
    let shown = "snapshot isolation: NO, 2 transactions\n\
                 lost update (G-single)\n  \
                 2.1: read 0[1] = loaded; write 0[1] = 2.1#0; install 0[1]: 1.1#0 -> 2.1#0; commit at 0\n  \
                 1.1: read 0[1] = loaded; write 0[1] = 1.1#0; install 0[1]: loaded -> 1.1#0; commit at 0\n  \
                 2.1 --rw 0[1]--> 1.1\n  \
                 1.1 --ww 0[1]--> 2.1\n";
    assert_eq!(verdict.to_string(), shown);
}

/// `count` transactions that change a hundred rows, one after the other in the order of responses, and overlap.
fn many(count: u32) -> Vec<Script> {
    let change = |nth: u32| {
        let (key, session, start) = ((0, 100 + u64::from(nth % 100)), 10 + nth % 7, u64::from(nth) * 10);
        let last = nth.checked_sub(100).map(|last| TxnId::new(10 + last % 7, 1 + last / 7));
        let before = last.map_or(LOADED, |last| Version::new(last, 0, false));
        let after = Version::new(TxnId::new(session, 1 + nth / 7), 0, false);
        at(session, (start, start + 15), &[read(key, before), write(key), install(key, before, after)])
    };
    (0..count).map(change).collect()
}

#[test]
fn one_write_skew_among_many_transactions_is_found_and_nothing_else() {
    let mut scripts = many(25_000);
    is_clean(&scripts);
    let one = [read(X, LOADED), read(Y, LOADED), write(X), install(X, LOADED, by(1, 0))];
    let two = [read(X, LOADED), read(Y, LOADED), write(Y), install(Y, LOADED, by(2, 0))];
    scripts.extend([at(1, (90_000, 90_100), &one), at(2, (90_005, 90_080), &two)]);
    shows(&scripts, Phenomenon::G2Item, "write skew");
}

#[test]
fn the_right_absence_is_found_among_many_transactions() {
    let scripts = |reader_sees: &[Act]| {
        let insert = [write(X), install(X, ABSENT, by(1, 0)), read(Y, by(3, 0))];
        let remove =
            [delete(X), install(X, by(1, 0), deleted_by(2, 0)), write(Z), install(Z, LOADED, by(2, 1))];
        let reader = [reader_sees, &[read(X, ABSENT), write(Y), install(Y, LOADED, by(3, 0))]].concat();
        let times = [(90_000, 90_010), (90_000, 90_020), (90_000, 90_990)];
        let mut scripts = many(25_000);
        let txns = [&insert[..], &remove, &reader];
        scripts.extend((1..).zip(times).zip(txns).map(|((session, times), acts)| at(session, times, acts)));
        scripts
    };
    is_clean(&scripts(&[]));
    for level in [Level::Serializable, Level::StrictlySerializable] {
        let verdict = check(&history(&scripts(&[read(Z, by(2, 1))])), level);
        assert_eq!(verdict.answer, Answer::Violated, "{verdict}");
    }
}

#[test]
fn tables_are_called_what_the_reader_calls_them() {
    let scripts = [
        Script { session: 1, invoked: 0, responded: 9, outcome: AttemptOutcome::Committed(5), acts: vec![] },
        Script { session: 2, invoked: 0, responded: 9, outcome: AttemptOutcome::Committed(6), acts: vec![] },
    ];
    let mut scripts = scripts.to_vec();
    scripts[0].acts =
        vec![read(Z, LOADED), write(X), Act::Install { at: X, before: LOADED, after: by(1, 0) }];
    scripts[1].acts =
        vec![read(X, LOADED), write(Z), Act::Install { at: Z, before: LOADED, after: by(2, 0) }];
    let verdict = check(&history(&scripts), Level::Serializable);
    let told = verdict.told(&|table| ["stock", "orders"][usize::from(table)].to_owned());
    let golden = "serializable: NO, 2 transactions\n\
        write skew (G2-item)\n  \
          1.1: read orders[1] = loaded; write stock[1] = 1.1#0; install stock[1]: loaded -> 1.1#0; commit at 5\n  \
          2.1: read stock[1] = loaded; write orders[1] = 2.1#0; install orders[1]: loaded -> 2.1#0; commit at 6\n  \
          1.1 --rw orders[1]--> 2.1\n  \
          2.1 --rw stock[1]--> 1.1\n";
    assert_eq!(told, golden);
    assert!(verdict.to_string().contains("1.1 --rw 1[1]--> 2.1"));
}
