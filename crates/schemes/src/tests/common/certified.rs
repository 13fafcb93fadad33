//! Histories that schemes which certify attempts over snapshots must refuse or admit, one by one.

use core::cell::Cell as Flag;
use core::ops::{ControlFlow, RangeInclusive};

use engine::{
    Abort, Attempt, Database, Direction, Homes, Lookup, Schema, Scheme, Session, Table, Ticket, Transaction,
};

use super::order::{Order, interleave};
use super::{ByName, Cell, Given, NameKey, Named, Place, database_with};

/// Three records that exist.
pub(crate) const A: Place = Place::new(0, 1);
pub(crate) const B: Place = Place::new(0, 2);
pub(crate) const C: Place = Place::new(0, 3);
/// A range of missing keys, in leaves of their own.
pub(crate) const GAP: RangeInclusive<Place> = Place::new(1, 0)..=Place::new(1, 999);
/// One of these keys.
pub(crate) const NEW: Place = Place::new(1, 500);

/// A database of these records of value 0, and of a row with the name 1.
pub(crate) struct Rows<S: Scheme> {
    pub(crate) db: Database<S>,
    pub(crate) cells: Table<Cell>,
    named: Table<Named>,
    by_name: engine::Index<Named, ByName>,
}

/// The outcome of an attempt to overwrite, insert or move.
type Done = Result<(), Abort>;
/// The refusal that all of these histories lead to.
pub(crate) const REFUSED: Done = Err(Abort::ReadChanged);

fn ticket() -> Ticket {
    Ticket::new(1, Homes::new())
}

/// A database for a history.
pub(crate) fn rows<S: Scheme>() -> Rows<S> {
    rows_under(&[])
}

/// A database for a history, under these settings.
pub(crate) fn rows_under<S: Scheme>(given: Given) -> Rows<S> {
    let mut schema = Schema::new();
    let cells = schema.table("cells", Lookup::Ordered, 8).group();
    let mut table = schema.table("named", Lookup::Ordered, 8);
    let named = table.group::<Named>();
    let by_name = table.index::<Named, ByName>(named, "by_name");
    let rows = Rows { db: database_with(&schema, 6, 1, given), cells, named, by_name };
    for at in [A, B, C] {
        assert_eq!(rows.commit(|txn| txn.insert(cells, at, &Cell::new(0))), Ok(true));
    }
    assert_eq!(rows.commit(|txn| txn.insert(named, A, &Named(1))), Ok(true));
    rows
}

impl<S: Scheme> Rows<S> {
    /// One attempt of a session of its own.
    pub(crate) fn commit<T>(
        &self,
        body: impl FnOnce(&mut Attempt<'_, '_, S>) -> Result<T, Abort>,
    ) -> Result<T, Abort> {
        self.db.session().attempt(&ticket(), |txn| body(txn))
    }

    pub(crate) fn read(&self, txn: &mut Attempt<'_, '_, S>, at: Place) -> Result<Option<u64>, Abort> {
        txn.read(self.cells, at, Cell::value)
    }

    pub(crate) fn add(&self, txn: &mut Attempt<'_, '_, S>, at: Place) -> Done {
        txn.update(self.cells, at, |cell| cell.set(cell.value() + 1)).map(|_| ())
    }

    pub(crate) fn insert(&self, txn: &mut Attempt<'_, '_, S>, at: Place) -> Done {
        txn.insert(self.cells, at, &Cell::new(1)).map(|_| ())
    }

    /// Another attempt updates a record, alone.
    pub(crate) fn updated(&self, at: Place) -> Done {
        self.commit(|txn| self.add(txn, at))
    }

    fn count(&self, txn: &mut Attempt<'_, '_, S>, keys: RangeInclusive<Place>) -> Result<u64, Abort> {
        let mut rows = 0;
        txn.scan(self.cells, keys, Direction::Forward, |_, _| {
            rows += 1;
            ControlFlow::Continue(())
        })?;
        Ok(rows)
    }

    fn count_named(&self, txn: &mut Attempt<'_, '_, S>, names: RangeInclusive<u64>) -> Result<u64, Abort> {
        let mut rows = 0;
        txn.scan_by(self.by_name, NameKey::all(0, names), Direction::Forward, |_, _| {
            rows += 1;
            ControlFlow::Continue(())
        })?;
        Ok(rows)
    }
}

/// Write skew: each of two attempts reads what the other overwrites.
pub(crate) fn refuses_write_skew<S: Scheme>() {
    let rows = rows::<S>();
    let outcome = rows.commit(|txn| {
        rows.read(txn, A)?;
        let other = rows.commit(|other| {
            rows.read(other, B)?;
            rows.add(other, A)
        });
        assert_eq!(other, Ok(()));
        rows.add(txn, B)
    });
    assert_eq!(outcome, REFUSED);
}

/// The read-only anomaly: without the attempt in the middle, which only reads, all would be well.
pub(crate) fn refuses_the_read_only_anomaly<S: Scheme>() {
    for is_read in [false, true] {
        let rows = rows::<S>();
        let outcome = rows.commit(|txn| {
            rows.read(txn, A)?;
            rows.read(txn, B)?;
            assert_eq!(rows.updated(B), Ok(()));
            if is_read {
                let seen = rows.commit(|other| Ok((rows.read(other, A)?, rows.read(other, B)?)));
                assert_eq!(seen, Ok((Some(0), Some(1))));
            }
            rows.add(txn, A)
        });
        assert_eq!(outcome, if is_read { REFUSED } else { Ok(()) });
    }
}

/// An attempt that rolls back has read what it has read: it is believed, and then another is not.
pub(crate) fn believes_who_rolls_back<S: Scheme>() {
    let rows = rows::<S>();
    let early = rows.commit(|txn| {
        rows.read(txn, A)?;
        rows.read(txn, B)?;
        assert_eq!(rows.updated(B), Ok(()));
        let undone = rows.commit(|late| {
            assert_eq!(rows.read(late, B), Ok(Some(1)));
            rows.add(late, A)?;
            Err::<(), _>(Abort::Rollback)
        });
        assert_eq!(undone, Err(Abort::Rollback));
        rows.add(txn, A)
    });
    assert_eq!(early, REFUSED);
}

/// Old versions may be read however often they are overwritten meanwhile, and their readers hold up nobody.
pub(crate) fn admits_old_readers<S: Scheme>(writes: bool) {
    let rows = rows::<S>();
    let outcome = rows.commit(|txn| {
        for _ in 0..5 {
            assert_eq!((rows.read(txn, A), rows.updated(A)), (Ok(Some(0)), Ok(())));
            assert_eq!((rows.updated(B), rows.read(txn, B)), (Ok(()), Ok(Some(0))));
        }
        if writes { rows.add(txn, C) } else { Ok(()) }
    });
    assert_eq!(outcome, Ok(()));
}

/// A commit that is a pivot if a reader of what it overwrites commits; it commits while such a reader is still open.
pub(crate) fn admits_a_pivot_under_an_open_reader<S: Scheme>() {
    let rows = rows::<S>();
    let outcome = rows.commit(|reader| {
        assert_eq!(rows.read(reader, A), Ok(Some(0)));
        let pivot = rows.commit(|pivot| {
            rows.read(pivot, B)?;
            assert_eq!(rows.updated(B), Ok(()));
            rows.add(pivot, A)
        });
        assert_eq!(pivot, Ok(()));
        Ok(())
    });
    assert_eq!(outcome, Ok(()), "it stands before both");
}

/// The outcome of the first attempt of a dangerous structure that closes no circle.
pub(crate) fn before_a_pivot<S: Scheme>() -> Done {
    let rows = rows::<S>();
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

/// A transaction that commits after an update has read a gap. Then an attempt whose snapshot is older than the update
/// puts something into the gap.
pub(crate) fn refuses_late_entries<S: Scheme>() {
    type Step<S> = fn(&Rows<S>, &mut Attempt<'_, '_, S>) -> Done;
    let scan: Step<S> = |rows, txn| rows.count(txn, GAP).map(|found| assert_eq!(found, 0));
    let miss: Step<S> = |rows, txn| rows.read(txn, NEW).map(|found| assert_eq!(found, None));
    let names: Step<S> = |rows, txn| rows.count_named(txn, 5..=9).map(|found| assert_eq!(found, 0));
    let enter: Step<S> = |rows, txn| rows.insert(txn, NEW);
    let move_in: Step<S> = |rows, txn| txn.update(rows.named, A, |row| row.0 = 7).map(|_| ());
    for (look, change) in [(scan, enter), (miss, enter), (names, move_in)] {
        for splits in [false, true] {
            let rows = rows::<S>();
            let outcome = rows.commit(|txn| {
                rows.read(txn, A)?;
                assert_eq!(rows.updated(A), Ok(()));
                let late = rows.commit(|late| {
                    assert_eq!(rows.read(late, A), Ok(Some(1)));
                    look(&rows, late)
                });
                assert_eq!(late, Ok(()));
                for number in 0..if splits { 200 } else { 0 } {
                    let (low, high) = (Place::new(1, number), Place::new(1, 600 + number));
                    assert_eq!(rows.commit(|other| rows.insert(other, low)), Ok(()));
                    assert_eq!(rows.commit(|other| rows.insert(other, high)), Ok(()));
                }
                change(&rows, txn)
            });
            assert_eq!(outcome, REFUSED, "after a split: {splits}");
        }
    }
}

/// The insert commits while the scan that did not see it is open: the scan then knows too much.
pub(crate) fn refuses_a_scan_below_which_was_inserted<S: Scheme>() {
    for is_overtaken in [false, true] {
        let rows = rows::<S>();
        let (order, scanned) = (Order::default(), Flag::new(Ok(0)));
        let scripts: Vec<Box<dyn FnOnce() + '_>> = vec![
            Box::new(|| {
                let inserted = rows.commit(|txn| {
                    order.step(0, || rows.read(txn, A).map(|_| ()))?;
                    order.step(3, || rows.insert(txn, NEW))
                });
                order.step(4, || assert_eq!(inserted, Ok(())));
            }),
            Box::new(|| {
                order.step(1, || assert_eq!(rows.updated(if is_overtaken { A } else { B }), Ok(())));
                scanned.set(rows.commit(|txn| {
                    order.step(2, || rows.read(txn, A).and_then(|_| rows.count(txn, GAP)))?;
                    order.step(5, || rows.count(txn, GAP))
                }));
            }),
        ];
        interleave(&order, 6, scripts);
        let admitted = Ok(0);
        assert_eq!(scanned.get(), if is_overtaken { Err(Abort::ReadChanged) } else { admitted });
    }
}

/// A commit that would be a pivot if an attempt had since read what the commit overwrites. The version that was read
/// since is an older one.
pub(crate) fn admits_a_pivot_over_what_nobody_has_read<S: Scheme>() {
    let rows = rows::<S>();
    let (order, pivot) = (Order::default(), Flag::new(Ok(())));
    let scripts: Vec<Box<dyn FnOnce() + '_>> = vec![
        Box::new(|| {
            let old = rows.commit(|txn| {
                order.step(0, || rows.read(txn, A))?;
                order.step(3, || rows.add(txn, C))
            });
            assert_eq!(old, Ok(()));
        }),
        Box::new(|| {
            order.step(1, || assert_eq!(rows.updated(A), Ok(())));
            pivot.set(rows.commit(|txn| {
                order.step(2, || rows.read(txn, B).map(|_| assert_eq!(rows.updated(B), Ok(()))))?;
                order.step(4, || rows.add(txn, A))
            }));
        }),
    ];
    interleave(&order, 5, scripts);
    assert_eq!(pivot.get(), Ok(()));
}

/// Keys that enter a leaf, others' or its own, are no reason to refuse an attempt that has read the leaf, split or not.
pub(crate) fn admits_scans_of_growing_leaves<S: Scheme>() {
    let rows = rows::<S>();
    let outcome = rows.commit(|txn| {
        rows.count(txn, GAP)?;
        assert_eq!(rows.commit(|other| rows.insert(other, NEW)), Ok(()));
        assert_eq!(rows.count(txn, GAP), Ok(0));
        rows.add(txn, A)
    });
    assert_eq!(outcome, Ok(()), "another's key");
    let outcome = rows.commit(|txn| {
        let before = rows.count(txn, GAP)?;
        for number in 0..100 {
            rows.insert(txn, Place::new(1, 2 * number))?;
        }
        assert_eq!(rows.count(txn, GAP), Ok(before + 100));
        assert_eq!(rows.updated(B), Ok(()));
        rows.add(txn, A)
    });
    assert_eq!(outcome, Ok(()), "its own");
}

/// The mark that a reader has left with the record of a deleted row protects the gap when the row has left the index.
pub(crate) fn keeps_marks_when_a_key_leaves_and_enters<S: Scheme>() {
    let rows = rows::<S>();
    let (order, late) = (Order::default(), Flag::new(Ok(())));
    let scripts: Vec<Box<dyn FnOnce() + '_>> = vec![
        Box::new(|| {
            // Holds the watermark, so that the record of the deleted row stays for a while.
            let held = rows.commit(|_| {
                order.step(0, || ());
                order.step(5, || Ok(()))
            });
            assert_eq!(held, Ok(()));
        }),
        Box::new(|| {
            order.step(1, || assert_eq!(rows.commit(|txn| txn.delete(rows.cells, B)), Ok(true)));
            late.set(rows.commit(|txn| {
                order.step(2, || rows.read(txn, A))?;
                order.step(7, || rows.insert(txn, B))
            }));
        }),
        Box::new(|| {
            order.step(3, || assert_eq!(rows.updated(A), Ok(())));
            let seen = order.step(4, || rows.commit(|txn| Ok((rows.read(txn, A)?, rows.read(txn, B)?))));
            assert_eq!(seen, Ok((Some(1), None)), "read of the record");
            // The record leaves the index if any attempt may remove it, a new one enters it, and its insert rolls back.
            order.step(6, || {
                for _ in 0..100 {
                    assert_eq!(rows.commit(|_| Ok(())), Ok(()));
                }
                let undone = rows.commit(|txn| {
                    rows.insert(txn, B)?;
                    Err::<(), _>(Abort::Rollback)
                });
                assert_eq!(undone, Err(Abort::Rollback));
            });
        }),
    ];
    interleave(&order, 8, scripts);
    assert_eq!(late.get(), REFUSED);
}

/// An attempt that is refused and tries again is not refused for the same reason.
pub(crate) fn admits_a_retry<S: Scheme>() {
    let rows = rows::<S>();
    let mut session: Session<'_, S> = rows.db.session();
    let mut retry = ticket();
    let first = session.attempt(&retry, |txn| {
        rows.read(txn, B)?;
        assert_eq!(
            rows.commit(|other| {
                rows.read(other, A)?;
                rows.add(other, B)
            }),
            Ok(())
        );
        rows.add(txn, A)
    });
    assert_eq!(first, REFUSED);
    retry.retries = 1;
    let second = session.attempt(&retry, |txn| {
        rows.read(txn, B)?;
        rows.add(txn, A)
    });
    assert_eq!(second, Ok(()));
}
