//! Claims about additions. Under every scheme they are seen as updates are. Under schemes that add at the
//! commit, additions do not conflict with each other, and conflict with everything else as they must.

use core::marker::PhantomData;

use engine::{
    Abort, Attempt, Database, Lookup, Observer, Quiesced, Schema, Scheme, Session, Table, Ticket, Transaction,
};
use storage::{RecordRef, Shape, words_of};

use crate::catalogue::{self, Visit};
use crate::tests::common::{Cell, Given, Place, SNAPSHOTS, at_home, database_with, drain};

const X: Place = Place::new(0, 0);
const Y: Place = Place::new(0, 1);
/// A key that is missing at first.
const NONE: Place = Place::new(0, 2);
/// The value of `X` and `Y` at first.
const VALUE: u64 = 100;

/// A claim about a scheme.
trait Claim {
    fn check<S: Scheme>();
}

struct Check<C>(PhantomData<C>);

impl<C: Claim> Visit for Check<C> {
    type Out = ();

    fn visit<S: Scheme>(self) {
        C::check::<S>();
    }
}

fn check_all<C: Claim>() {
    for info in catalogue::infos() {
        catalogue::with(info.name, Check::<C>(PhantomData)).expect("a scheme of the catalogue");
    }
}

fn stage<S: Scheme>(given: Given) -> (Database<S>, Table<Cell>) {
    let mut schema = Schema::new();
    let table = schema.table("sums", Lookup::Point, 8).group();
    let db = database_with::<S>(&schema, 4, 1, given);
    let prepare = |txn: &mut Attempt<'_, '_, S>| {
        [X, Y].into_iter().try_for_each(|key| txn.insert(table, key, &Cell::new(VALUE)).map(drop))
    };
    assert_eq!(commit(&mut db.session(), prepare), Ok(()));
    // Where snapshots show these values, a deleted row stays in the index without a value.
    drain(&db);
    (db, table)
}

fn commit<S: Scheme, O: Observer, T>(
    session: &mut Session<'_, S, O>,
    body: impl FnOnce(&mut Attempt<'_, '_, S, O>) -> Result<T, Abort>,
) -> Result<T, Abort> {
    session.attempt(&Ticket::new(0, at_home(0)), body)
}

fn add<T: Transaction>(txn: &mut T, table: Table<Cell>, key: Place, amount: u64) -> Result<bool, Abort> {
    txn.add(table, key, |cell| {
        assert_eq!(cell.value(), 0, "amounts start at zero, whatever was added before");
        cell.set(amount);
    })
}

/// The value of a row.
fn value<S: Scheme>(db: &Database<S>, table: Table<Cell>, key: Place) -> Option<u64> {
    db.quiesced().read(table, key, Cell::value)
}

struct OwnSums;

impl Claim for OwnSums {
    fn check<S: Scheme>() {
        let (db, table) = stage::<S>(&[]);
        let scheme = S::INFO.name;
        let mut session = db.session();
        let seen = commit(&mut session, |txn| {
            assert!(add(txn, table, X, 1)? && add(txn, table, X, 2)?);
            let read = txn.read(table, X, Cell::value)?;
            assert!(add(txn, table, X, 4)?);
            let updated = txn.update(table, X, |cell| {
                let seen = cell.value();
                cell.set(seen * 2);
                seen
            })?;
            assert!(add(txn, table, X, 3)?);
            Ok((read, updated, txn.read(table, X, Cell::value)?))
        });
        let sums = (Some(VALUE + 3), Some(VALUE + 7), Some(2 * VALUE + 17));
        assert_eq!(seen, Ok(sums), "under {scheme}");
        assert_eq!(value(&db, table, X), sums.2, "under {scheme}");

        let done = commit(&mut session, |txn| {
            assert!(add(txn, table, X, 1)?, "to be overwritten");
            assert!(txn.replace(table, X, &Cell::new(7))?);
            assert_eq!(txn.read(table, X, Cell::value)?, Some(7), "under {scheme}");
            assert!(add(txn, table, X, 1)?);
            assert!(add(txn, table, Y, 1)?, "to be deleted");
            assert!(!txn.insert(table, Y, &Cell::new(1))?, "it is there, under {scheme}");
            assert!(txn.delete(table, Y)?);
            assert!(!add(txn, table, Y, 1)?, "it is not there any more, under {scheme}");
            assert!(txn.insert(table, NONE, &Cell::new(10))?);
            add(txn, table, NONE, 5)
        });
        assert_eq!(done, Ok(true));
        let values = [X, Y, NONE].map(|key| value(&db, table, key));
        assert_eq!(values, [Some(8), None, Some(15)], "under {scheme}");
    }
}

#[test]
fn a_transaction_sees_its_own_sums() {
    check_all::<OwnSums>();
}

struct Nothing;

impl Claim for Nothing {
    fn check<S: Scheme>() {
        let (db, table) = stage::<S>(&[]);
        let mut session = db.session();
        let rolled_back: Result<(), Abort> = commit(&mut session, |txn| {
            assert!(add(txn, table, X, 1)? && !add(txn, table, NONE, 1)?);
            assert!(add(txn, table, Y, 1)?);
            assert_eq!(txn.read(table, Y, Cell::value)?, Some(VALUE + 1));
            Err(Abort::Rollback)
        });
        assert_eq!(rolled_back, Err(Abort::Rollback));
        assert_eq!(commit(&mut session, |txn| add(txn, table, NONE, 1)), Ok(false));
        // The earlier contents of a buffer are in no later sum.
        assert_eq!(commit(&mut session, |txn| add(txn, table, X, 0)), Ok(true));
        let values = [X, Y, NONE].map(|key| value(&db, table, key));
        assert_eq!(values, [Some(VALUE), Some(VALUE), None], "under {}", S::INFO.name);
    }
}

#[test]
fn what_is_rolled_back_or_missing_is_added_to_nothing() {
    check_all::<Nothing>();
}

#[derive(Default)]
struct Installed(Vec<[Option<Vec<u64>>; 2]>);

impl Observer for Installed {
    fn listens(&self) -> bool {
        true
    }

    fn installed<S: Shape>(&mut self, _: RecordRef<'_, S>, before: Option<&[u64]>, after: Option<&[u64]>) {
        self.0.push([before, after].map(|value| value.map(<[u64]>::to_vec)));
    }
}

/// A claim about schemes that add when they commit.
trait DeltaClaim {
    fn check<S: Scheme>(given: Given);
}

/// Checks a delta claim about a scheme that adds at the commit. Returns whether the scheme does so.
struct CheckDeltas<C>(Given, PhantomData<C>);

impl<C: DeltaClaim> Visit for CheckDeltas<C> {
    type Out = bool;

    fn visit<S: Scheme>(self) -> bool {
        if S::DELTAS {
            C::check::<S>(self.0);
        }
        S::DELTAS
    }
}

fn check_deltas<C: DeltaClaim>() {
    let check = |scheme, given| {
        catalogue::with(scheme, CheckDeltas::<C>(given, PhantomData)).expect("a scheme of the catalogue")
    };
    let names = catalogue::infos().map(|info| info.name);
    let found: Vec<_> = names.filter(|scheme| check(scheme, &[])).collect();
    assert_eq!(found, ["silo", "mocc", "foedus", "tictoc"], "the schemes that add when they commit");
    assert!(check("silo", SNAPSHOTS));
}

type Body<'b, S> = dyn Fn(&mut Attempt<'_, '_, S>, Table<Cell>) -> Result<(), Abort> + 'b;

/// The end of an attempt during which, after it has done its part, another attempt does its own part and
/// commits.
fn overlap<S: Scheme>(
    given: Given,
    first: &Body<'_, S>,
    second: &Body<'_, S>,
) -> (Result<(), Abort>, [u64; 2]) {
    let (db, table) = stage::<S>(given);
    let (mut one, mut other) = (db.session(), db.session());
    let ended = commit(&mut one, |txn| {
        first(txn, table)?;
        assert_eq!(commit(&mut other, |txn| second(txn, table)), Ok(()));
        Ok(())
    });
    (ended, [X, Y].map(|key| value(&db, table, key).unwrap_or_default()))
}

fn update<S: Scheme>(txn: &mut Attempt<'_, '_, S>, table: Table<Cell>, key: Place) -> Result<(), Abort> {
    txn.update(table, key, |cell| cell.set(cell.value() + 1)).map(drop)
}

struct Commute;

impl DeltaClaim for Commute {
    fn check<S: Scheme>(given: Given) {
        let scheme = S::INFO.name;
        let adds = |txn: &mut Attempt<'_, '_, S>, table| {
            assert!(add(txn, table, X, 1)?);
            Ok(())
        };
        let updates = |txn: &mut Attempt<'_, '_, S>, table| update(txn, table, X);
        let outcome = overlap::<S>(given, &adds, &adds);
        assert_eq!(outcome, (Ok(()), [VALUE + 2, VALUE]), "two additions under {scheme}");
        let outcome = overlap::<S>(given, &adds, &updates);
        assert_eq!(outcome, (Ok(()), [VALUE + 2, VALUE]), "an addition around an update under {scheme}");
        let outcome = overlap::<S>(given, &updates, &adds);
        assert_eq!(outcome, (Err(Abort::WriteConflict), [VALUE + 1, VALUE]), "the reverse under {scheme}");
        let outcome = overlap::<S>(given, &updates, &updates);
        assert_eq!(outcome, (Err(Abort::WriteConflict), [VALUE + 1, VALUE]), "two updates under {scheme}");
    }
}

#[test]
fn additions_commute_and_updates_do_not() {
    check_deltas::<Commute>();
}

struct ReadsConflict;

impl DeltaClaim for ReadsConflict {
    fn check<S: Scheme>(given: Given) {
        let adds = |txn: &mut Attempt<'_, '_, S>, table| add(txn, table, X, 1).map(drop);
        let bodies: [(&str, &Body<'_, S>, Abort); 4] = [
            (
                "read after",
                &|txn, table| {
                    adds(txn, table)?;
                    txn.read(table, X, Cell::value).map(drop)
                },
                Abort::WriteConflict,
            ),
            (
                "updated after",
                &|txn, table| {
                    adds(txn, table)?;
                    update(txn, table, X)
                },
                Abort::WriteConflict,
            ),
            (
                "read before",
                &|txn, table| {
                    txn.read(table, X, Cell::value)?;
                    adds(txn, table)
                },
                Abort::ReadChanged,
            ),
            (
                "read alone",
                &|txn, table| {
                    txn.read(table, X, Cell::value)?;
                    add(txn, table, Y, 1).map(drop)
                },
                Abort::ReadChanged,
            ),
        ];
        for (what, body, abort) in bodies {
            let outcome = overlap::<S>(given, body, &adds);
            assert_eq!(outcome, (Err(abort), [VALUE + 1, VALUE]), "{what} under {}", S::INFO.name);
        }
        let replaces = |txn: &mut Attempt<'_, '_, S>, table| {
            adds(txn, table)?;
            assert!(txn.replace(table, X, &Cell::new(5))?);
            Ok(())
        };
        let outcome = overlap::<S>(given, &replaces, &adds);
        assert_eq!(outcome, (Ok(()), [5, VALUE]), "overwritten unread under {}", S::INFO.name);
    }
}

#[test]
fn who_reads_a_sum_conflicts_with_additions() {
    check_deltas::<ReadsConflict>();
}

struct PresenceCounts;

impl DeltaClaim for PresenceCounts {
    fn check<S: Scheme>(given: Given) {
        let scheme = S::INFO.name;
        let adds = |txn: &mut Attempt<'_, '_, S>, table| {
            assert!(add(txn, table, X, 1)?);
            Ok(())
        };
        let deletes = |txn: &mut Attempt<'_, '_, S>, table: Table<Cell>| {
            assert!(txn.delete(table, X)?);
            Ok(())
        };
        let outcome = overlap::<S>(given, &adds, &deletes);
        assert_eq!(outcome, (Err(Abort::WriteConflict), [0, VALUE]), "deleted meanwhile, under {scheme}");
        let outcome = overlap::<S>(given, &deletes, &adds);
        assert_eq!(outcome, (Ok(()), [0, VALUE]), "a deletion has read no sum, under {scheme}");

        let misses = |txn: &mut Attempt<'_, '_, S>, table| {
            assert!(!add(txn, table, NONE, 1)?);
            add(txn, table, X, 1).map(drop)
        };
        let inserts = |txn: &mut Attempt<'_, '_, S>, table: Table<Cell>| {
            assert!(txn.insert(table, NONE, &Cell::new(1))?);
            Ok(())
        };
        let (ended, values) = overlap::<S>(given, &misses, &inserts);
        assert!(ended.is_err(), "a key that was missing is read, under {scheme}");
        assert_eq!(values, [VALUE; 2], "under {scheme}");
    }
}

#[test]
fn an_addition_needs_its_row_to_be_there_at_the_commit() {
    check_deltas::<PresenceCounts>();
}

struct RowsWithoutValue;

impl DeltaClaim for RowsWithoutValue {
    fn check<S: Scheme>(given: Given) {
        let (db, table) = stage::<S>(given);
        let [mut one, mut other] = [db.session(), db.session()];
        // While it is being inserted, the row stands in the index and has no value.
        let outer = commit(&mut one, |txn| {
            txn.insert(table, NONE, &Cell::new(10))?;
            assert_eq!(commit(&mut other, |txn| add(txn, table, NONE, 1)), Ok(false));
            Ok(())
        });
        assert_eq!(outer, Ok(()), "an absence that was read is not in the way under {}", S::INFO.name);
        assert_eq!(value(&db, table, NONE), Some(10));
    }
}

#[test]
fn a_row_that_is_being_inserted_is_not_added_to() {
    check_deltas::<RowsWithoutValue>();
}

struct Sums;

impl DeltaClaim for Sums {
    fn check<S: Scheme>(given: Given) {
        let (db, table) = stage::<S>(given);
        let mut observed = db.session_with(Installed::default(), ());
        let mut other = db.session();
        let done = commit(&mut observed, |txn| {
            assert!(add(txn, table, X, 2)?);
            assert_eq!(commit(&mut other, |txn| add(txn, table, X, 5)), Ok(true));
            add(txn, table, X, 1)
        });
        assert_eq!(done, Ok(true));
        let sums = [VALUE + 5, VALUE + 8].map(|value| Some(words_of(&Cell::new(value)).to_vec()));
        assert_eq!(observed.observer().0, [sums], "under {}", S::INFO.name);
    }
}

#[test]
fn observers_are_told_the_sum_and_what_was_added_to() {
    check_deltas::<Sums>();
}

struct RollbacksAreValidated;

impl DeltaClaim for RollbacksAreValidated {
    fn check<S: Scheme>(given: Given) {
        let (db, table) = stage::<S>(given);
        let (mut one, mut other) = (db.session(), db.session());
        let ended: Result<(), Abort> = commit(&mut one, |txn| {
            let old = txn.read(table, Y, Cell::value)?;
            assert!(add(txn, table, X, 1)?);
            let both = commit(&mut other, |txn| {
                update(txn, table, X)?;
                update(txn, table, Y)
            });
            assert_eq!(both, Ok(()));
            // One value is from before the other attempt, one from after it.
            assert_eq!((old, txn.read(table, X, Cell::value)?), (Some(VALUE), Some(VALUE + 2)));
            Err(Abort::Rollback)
        });
        assert_eq!(ended, Err(Abort::ReadChanged), "under {}", S::INFO.name);
    }
}

#[test]
fn a_rollback_because_of_an_inconsistent_sum_is_not_believed() {
    check_deltas::<RollbacksAreValidated>();
}
