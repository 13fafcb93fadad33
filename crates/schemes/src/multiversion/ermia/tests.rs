//! Claims about ERMIA: its lines, its log's space, safe snapshots, reads that nobody remembers, and the places of
//! its versions.

use engine::{
    Abort, Attempt, Facts, Homes, Isolation, Observer, Scheme, Session, Stamp, Ticket, Transaction,
};

use crate::multiversion::ermia::Ermia;
use crate::multiversion::si::Si;
use crate::tests::common::certified::{self, A, B, C, NEW, REFUSED, Rows, rows_under};
use crate::tests::common::{Cell, Given, Place, values};

crate::tests::conformance!(crate::multiversion::ermia::entry::ENTRY:
    without_a_certifier,
    by_dangerous_structures,
    over_read_committed,
    with_safe_snapshots,
    that_remembers_nothing,
    by_dangerous_structures_with_everything,
    with_shared_snapshots
);

/// ERMIA for which everything is stale, and which remembers few stale reads or none.
const NOTHING_REMEMBERED: Given =
    &[("ermia.read_mostly", "on"), ("ermia.read_mostly_after", "0"), ("ermia.stale_kb", "0")];

/// ERMIA whose read-only transactions read safe snapshots, each its own.
const SAFE_SNAPSHOTS: Given = &[("ermia.safe_snapshots", "on"), ("ermia.snapshot_us", "0")];

/// ERMIA whose attempts see what is committed while they run.
const LINE_SSN_RC: Given = &[("ermia.line", "ssn_rc")];

/// ERMIA that refuses dangerous structures, whose versions may stand within records.
const LINE_SSI: Given = &[("ermia.line", "ssi"), ("ermia.indirection", "off")];

/// ERMIA without a certifier.
const LINE_SI: Given = &[("ermia.line", "si")];

/// The standard settings.
const BY_DEFAULT: Given = &[];
/// The standard line, with shared snapshots.
const SHARED: Given = &[("ermia.safe_snapshots", "on"), ("ermia.snapshot_us", "1000")];
/// The other certifier, and a snapshot for each reader.
const SAFE_SSI: Given = &[("ermia.line", "ssi"), ("ermia.safe_snapshots", "on"), ("ermia.snapshot_us", "0")];
/// The other certifier, for which everything is stale.
const STALE_SSI: Given = &[
    ("ermia.line", "ssi"),
    ("ermia.read_mostly", "on"),
    ("ermia.read_mostly_after", "0"),
    ("ermia.stale_kb", "0"),
];

type Done = Result<(), Abort>;

/// The number of a session's last commit.
#[derive(Default)]
struct LastStamp(u64);

impl Observer for LastStamp {
    fn listens(&self) -> bool {
        true
    }

    fn outcome(&mut self, outcome: Result<Stamp, Abort>) {
        if let Ok(Stamp(stamp)) = outcome {
            self.0 = stamp;
        }
    }
}

/// An attempt that is declared to only read.
fn look<T>(
    rows: &Rows<Ermia>,
    body: impl FnOnce(&mut Attempt<'_, '_, Ermia>) -> Result<T, Abort>,
) -> Result<T, Abort> {
    let ticket = Ticket { read_only: true, ..Ticket::new(1, Homes::new()) };
    rows.db.session().attempt(&ticket, |txn| body(txn))
}

/// Write skew: each of two attempts reads what the other overwrites. The outcome of the second to commit.
fn write_skew(given: Given) -> Done {
    let rows = rows_under::<Ermia>(given);
    rows.commit(|txn| {
        rows.read(txn, A)?;
        let other = rows.commit(|other| {
            rows.read(other, B)?;
            rows.add(other, A)
        });
        assert_eq!(other, Ok(()));
        rows.add(txn, B)
    })
}

/// The outcome of the first attempt of a dangerous structure that closes no circle.
fn before_a_pivot(given: Given) -> Done {
    let rows = rows_under::<Ermia>(given);
    rows.commit(|first| {
        rows.read(first, A)?;
        let pivot = rows.commit(|pivot| {
            rows.read(pivot, B)?;
            assert_eq!(rows.updated(B), Ok(()));
            rows.add(pivot, A)
        });
        assert_eq!(pivot, Ok(()));
        rows.add(first, C)
    })
}

#[test]
fn the_promise_is_that_of_the_line() {
    for (given, isolation) in [
        (BY_DEFAULT, Isolation::Serializable),
        (LINE_SSI, Isolation::Serializable),
        (LINE_SSN_RC, Isolation::Serializable),
        (LINE_SI, Isolation::Snapshot),
    ] {
        assert_eq!(Facts::under::<Ermia>(&values::<Ermia>(given)).isolation, isolation);
        let is_refused = isolation == Isolation::Serializable;
        assert_eq!(write_skew(given), if is_refused { REFUSED } else { Ok(()) }, "{given:?}");
    }
}

#[test]
fn the_lines_differ_in_what_they_refuse_without_need() {
    assert_eq!(before_a_pivot(BY_DEFAULT), Ok(()));
    assert_eq!(before_a_pivot(LINE_SI), Ok(()));
    assert_eq!(before_a_pivot(LINE_SSI), REFUSED);
}

#[test]
fn over_read_committed_an_attempt_sees_what_is_committed_meanwhile() {
    for (given, seen) in [(BY_DEFAULT, 0), (LINE_SSN_RC, 1)] {
        let rows = rows_under::<Ermia>(given);
        let read = rows.commit(|txn| {
            assert_eq!(rows.updated(A), Ok(()));
            rows.read(txn, A)
        });
        assert_eq!(read, Ok(Some(seen)), "{given:?}");
    }
}

#[test]
fn the_standard_line_refuses_and_admits_what_the_safety_net_does() {
    certified::refuses_the_read_only_anomaly::<Ermia>();
    certified::believes_who_rolls_back::<Ermia>();
    certified::admits_a_pivot_under_an_open_reader::<Ermia>();
    certified::admits_a_pivot_over_what_nobody_has_read::<Ermia>();
    certified::refuses_late_entries::<Ermia>();
    certified::refuses_a_scan_below_which_was_inserted::<Ermia>();
    certified::admits_scans_of_growing_leaves::<Ermia>();
    certified::keeps_marks_when_a_key_leaves_and_enters::<Ermia>();
    certified::admits_a_retry::<Ermia>();
    certified::admits_old_readers::<Ermia>(true);
}

/// A block has a head of 32 bytes, a record one of 16, and a cell five words.
#[test]
fn a_commit_is_numbered_by_where_its_space_in_the_log_ends() {
    let rows = rows_under::<Ermia>(BY_DEFAULT);
    let mut session = rows.db.session_with(LastStamp::default(), ());
    let mut number = |body: &dyn Fn(&mut Attempt<'_, '_, Ermia, LastStamp>) -> Done| {
        let outcome = session.attempt(&Ticket::new(1, Homes::new()), |txn| body(txn));
        outcome.map(|()| session.observer().0)
    };
    let add = |txn: &mut Attempt<'_, '_, Ermia, LastStamp>, at| {
        txn.update(rows.cells, at, |cell| cell.set(cell.value() + 1)).map(|_| ())
    };
    let first = number(&|txn| add(txn, A)).expect("nobody is in the way");
    assert_eq!(number(&|txn| add(txn, A)), Ok(first + 32 + 56));
    assert_eq!(number(&|txn| add(txn, A).and_then(|()| add(txn, B))), Ok(first + 2 * 32 + 3 * 56));
    assert_eq!(number(&|txn| txn.delete(rows.cells, C).map(|_| ())), Ok(first + 3 * 32 + 3 * 56 + 16));
    let end = first + 3 * 32 + 3 * 56 + 16;
    assert_eq!(number(&|txn| txn.read(rows.cells, A, Cell::value).map(|_| ())), Ok(end), "a snapshot");
    let undone = number(&|txn| add(txn, A).and(Err(Abort::Rollback)));
    assert_eq!(undone, Err(Abort::Rollback));
    assert_eq!(number(&|txn| add(txn, A)), Ok(end + 32 + 56), "who rolls back takes no space");
}

#[test]
fn versions_stand_apart_unless_they_may_stand_within() {
    fn bytes<S: Scheme>(given: Given) -> usize {
        let memory = &rows_under::<S>(given).db.memory()[0];
        memory.version_bytes - memory.version_bytes_free
    }
    assert!(bytes::<Ermia>(BY_DEFAULT) > 0);
    assert_eq!(bytes::<Ermia>(&[("ermia.indirection", "off")]), bytes::<Si>(BY_DEFAULT));
}

/// The first reads what the second overwrites. A snapshot shows the second and not the first, which commits then.
#[test]
fn what_a_safe_snapshot_shows_is_not_overtaken() {
    for is_read in [false, true] {
        let rows = rows_under::<Ermia>(SAFE_SNAPSHOTS);
        let outcome = rows.commit(|txn| {
            rows.read(txn, A)?;
            rows.read(txn, B)?;
            assert_eq!(rows.updated(B), Ok(()));
            if is_read {
                assert_eq!(look(&rows, |_| Ok(())), Ok(()), "it need not read anything");
            }
            rows.add(txn, A)
        });
        assert_eq!(outcome, if is_read { REFUSED } else { Ok(()) });
    }
}

#[test]
fn who_reads_a_safe_snapshot_is_refused_nothing() {
    for given in [SAFE_SNAPSHOTS, SAFE_SSI] {
        let rows = rows_under::<Ermia>(given);
        let outcome = rows.commit(|early| {
            rows.read(early, A)?;
            rows.read(early, B)?;
            assert_eq!(rows.updated(B), Ok(()));
            let seen = look(&rows, |txn| {
                let seen = (rows.read(txn, A)?, rows.read(txn, B)?);
                for at in [A, B, NEW] {
                    assert_eq!(rows.updated(at), Ok(()));
                }
                assert_eq!(rows.commit(|other| rows.insert(other, NEW)), Ok(()));
                Ok((seen, rows.read(txn, A)?, rows.read(txn, NEW)?))
            });
            assert_eq!(seen, Ok(((Some(0), Some(1)), Some(0), None)));
            rows.add(early, C)
        });
        assert_eq!(outcome, REFUSED, "it comes before the update, and the snapshot may have read {C:?}");
    }
}

#[test]
fn a_shared_snapshot_is_as_old_as_it_may_be_and_keeps_what_it_shows() {
    let rows = rows_under::<Ermia>(SHARED);
    assert_eq!(look(&rows, |txn| rows.read(txn, A)), Ok(None), "nothing was there when there was no other");
    rows.db.scheme().maintain(0);
    for _ in 0..50 {
        assert_eq!(rows.updated(A), Ok(()));
        assert_eq!(rows.commit(|txn| txn.delete(rows.cells, B)), Ok(true));
        assert_eq!(rows.commit(|txn| rows.insert(txn, B)), Ok(()));
        let seen = look(&rows, |txn| Ok((rows.read(txn, A)?, rows.read(txn, B)?)));
        assert_eq!(seen, Ok((Some(0), Some(0))));
    }
    assert_eq!(rows.commit(|txn| rows.read(txn, A)), Ok(Some(50)), "others read the present");
}

#[test]
#[should_panic(expected = "a procedure that is declared read-only writes nothing")]
fn who_reads_a_safe_snapshot_writes_nothing() {
    let rows = rows_under::<Ermia>(SAFE_SNAPSHOTS);
    _ = look(&rows, |txn| rows.add(txn, A));
}

/// Neither of two attempts remembers its reads: the second to commit was told, or knows that there was a reader.
#[test]
fn reads_that_nobody_remembers_are_found_out_by_either_side() {
    for given in [NOTHING_REMEMBERED, STALE_SSI] {
        assert_eq!(write_skew(given), REFUSED, "{given:?}");
        // The overtaken attempt has committed first: the other must find that it read.
        let rows = rows_under::<Ermia>(given);
        let outcome = rows.commit(|txn| {
            rows.read(txn, A)?;
            rows.read(txn, B)?;
            assert_eq!(rows.updated(B), Ok(()));
            assert_eq!(
                rows.commit(|other| Ok((rows.read(other, A)?, rows.read(other, B)?))),
                Ok((Some(0), Some(1)))
            );
            rows.add(txn, A)
        });
        assert_eq!(outcome, REFUSED, "{given:?}");
    }
}

#[test]
fn who_remembers_nothing_is_refused_nothing_for_old_reads_alone() {
    for given in [NOTHING_REMEMBERED, STALE_SSI] {
        for writes in [false, true] {
            let rows = rows_under::<Ermia>(given);
            let outcome = rows.commit(|txn| {
                for at in [A, B] {
                    assert_eq!(rows.read(txn, at), Ok(Some(0)));
                    assert_eq!(rows.updated(at), Ok(()));
                }
                assert_eq!(rows.read(txn, A), Ok(Some(0)));
                if writes { rows.add(txn, C) } else { Ok(()) }
            });
            assert_eq!(outcome, Ok(()), "{given:?}");
        }
    }
}

/// A notice to an attempt that is over does not concern the next one.
#[test]
fn what_is_told_is_told_to_those_who_are_there() {
    let rows = rows_under::<Ermia>(NOTHING_REMEMBERED);
    let mut session: Session<'_, Ermia> = rows.db.session();
    let ticket = Ticket::new(1, Homes::new());
    let undone = session.attempt(&ticket, |txn| {
        rows.read(txn, A)?;
        assert_eq!(rows.updated(A), Ok(()));
        Err::<(), _>(Abort::Rollback)
    });
    assert_eq!(undone, Err(Abort::Rollback));
    let next = session.attempt(&ticket, |txn| {
        rows.read(txn, A)?;
        rows.read(txn, B)?;
        assert_eq!(rows.commit(|other| rows.read(other, C)), Ok(Some(0)));
        rows.add(txn, C)
    });
    assert_eq!(next, Ok(()));
}

/// An attempt remembers its first reads, and later reads only if they are not stale.
#[test]
fn what_is_not_stale_is_remembered() {
    let given: Given =
        &[("ermia.read_mostly", "on"), ("ermia.read_mostly_after", "0"), ("ermia.stale_kb", "1000")];
    for (given, is_told) in [(given, false), (NOTHING_REMEMBERED, true)] {
        let rows = rows_under::<Ermia>(given);
        // Another attempt has read C after an update of something that this attempt has not read.
        let outcome = rows.commit(|txn| {
            rows.read(txn, A)?;
            assert_eq!(rows.updated(B), Ok(()));
            assert_eq!(
                rows.commit(|other| rows.read(other, B).and_then(|_| rows.read(other, C))),
                Ok(Some(0))
            );
            rows.add(txn, C)
        });
        assert_eq!(
            outcome,
            if is_told { REFUSED } else { Ok(()) },
            "B counts as read by who remembers nothing"
        );
    }
}

/// The entries that a scan finds in place of a row that it should not find.
#[test]
fn a_safe_snapshot_shows_no_keys_that_come_later() {
    let rows = rows_under::<Ermia>(SAFE_SNAPSHOTS);
    let found = look(&rows, |txn| {
        for number in 0..100 {
            assert_eq!(rows.commit(|other| rows.insert(other, Place::new(1, number))), Ok(()));
        }
        rows.read(txn, Place::new(1, 7))
    });
    assert_eq!(found, Ok(None));
    assert_eq!(look(&rows, |txn| rows.read(txn, Place::new(1, 7))), Ok(Some(1)));
}
