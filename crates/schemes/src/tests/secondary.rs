//! Secondary keys that change, script by script: an attempt finds a row under the key that it gave the row, no attempt
//! finds a row in two places or in none, and no entry stays that leads to a row with another key.

use core::cell::{Cell, RefCell};
use core::ops::ControlFlow;

use engine::{
    Abort, Attempt, Database, Direction, Family, Home, Homes, Index, IndexOn, Key, Lookup, Quiesced, Row,
    Schema, Scheme, Sink, Stamp, Table, Ticket, Transaction,
};
use storage::{RecordRef, Shape};
use sync::{fiber, waiter};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::catalogue::{self, Visit};
use crate::locking::bamboo::Bamboo;
use crate::locking::wound_wait::WoundWait;
use crate::partitioned::hstore::HStore;
use crate::tests::common::scene::{STACK_BYTES, linger};
use crate::tests::common::{
    ByName, Given, NameKey, Named, Place, at_home, database, database_with, drain, secondary_entries,
};

const ONE: Place = Place::new(0, 1);
const TWO: Place = Place::new(0, 2);

/// Names and numbers of rows, in the order of their names.
type Names = Vec<(u64, u64)>;

/// A database with the rows 1 and 2, named 10 and 20.
struct Stage<S: Scheme> {
    db: Database<S>,
    rows: Table<Named>,
    by_name: Index<Named, ByName>,
}

impl<S: Scheme> Stage<S> {
    fn new() -> Self {
        Self::given(&[])
    }

    fn given(given: Given) -> Self {
        let mut schema = Schema::new();
        let mut table = schema.table("named", Lookup::Point, 8);
        let rows = table.group();
        let by_name = table.index(rows, "by_name");
        let stage = Self { rows, by_name, db: database_with(&schema, 4, 1, given) };
        stage.commit(|txn| {
            txn.insert(rows, ONE, &Named(10))?;
            txn.insert(rows, TWO, &Named(20)).map(|_| ())
        });
        stage
    }

    /// One attempt of a session of its own.
    fn attempt<T>(&self, body: impl FnOnce(&mut Attempt<'_, '_, S>) -> Result<T, Abort>) -> Result<T, Abort> {
        self.db.session().attempt(&Ticket::new(1, at_home(0)), |txn| body(txn))
    }

    fn commit(&self, body: impl FnOnce(&mut Attempt<'_, '_, S>) -> Result<(), Abort>) {
        assert_eq!(self.attempt(body), Ok(()), "nobody is in the way under {}", S::INFO.name);
    }

    fn rename(&self, txn: &mut Attempt<'_, '_, S>, at: Place, name: u64) -> Result<(), Abort> {
        txn.update(self.rows, at, |row| row.0 = name)?.ok_or(Abort::ReadChanged)
    }

    /// The rows with names in a range, as an attempt finds them.
    fn find(&self, txn: &mut Attempt<'_, '_, S>, first: u64, last: u64) -> Result<Names, Abort> {
        let mut found = Vec::new();
        txn.scan_by(self.by_name, NameKey::all(0, first..=last), Direction::Forward, |key, row| {
            assert_eq!(key.name, row.0, "a row is found under its name");
            found.push((key.name, key.number));
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }

    fn expect(&self, txn: &mut Attempt<'_, '_, S>, names: &[(u64, u64)]) -> Result<(), Abort> {
        assert_eq!(self.find(txn, 0, 99)?, names, "an attempt sees its own writes under {}", S::INFO.name);
        Ok(())
    }

    /// Checks that these are all rows, as scans find them and in the index itself.
    fn check(&self, names: &[(u64, u64)]) {
        let scheme = S::INFO.name;
        assert_eq!(self.attempt(|txn| self.find(txn, 0, 99)), Ok(names.to_vec()), "under {scheme}");
        let mut found = Vec::new();
        self.db.quiesced().scan_by(self.by_name, .., |key, _| {
            found.push((key.name, key.number));
            ControlFlow::Continue(())
        });
        assert_eq!(found, names, "in the quiesced database under {scheme}");
        drain(&self.db);
        let entries = secondary_entries(&self.db);
        assert_eq!(entries, [("named", names.len(), names.len())], "rows and entries under {scheme}");
        assert_eq!(self.attempt(|txn| self.find(txn, 0, 99)), Ok(names.to_vec()), "drained, under {scheme}");
    }

    /// Checks that row 1 is found under its name, whatever the name is.
    fn check_one(&self) {
        let name = self.attempt(|txn| txn.read(self.rows, ONE, |row| row.0));
        let name = name.expect("nobody is in the way").expect("row 1 is there");
        let mut names = vec![(name, 1), (20, 2)];
        names.sort_unstable();
        self.check(&names);
    }
}

/// A claim about every scheme.
trait Claim {
    fn check<S: Scheme>();
}

struct Check<C>(C);

impl<C: Claim> Visit for Check<C> {
    type Out = ();

    fn visit<S: Scheme>(self) {
        C::check::<S>();
    }
}

/// Whether a scheme waits in the middle of an attempt.
struct Waits;

impl Visit for Waits {
    type Out = bool;

    fn visit<S: Scheme>(self) -> bool {
        S::WAITS
    }
}

/// Checks a claim about the schemes of these families, or of all. Claims about families have several attempts open in
/// one thread, where an attempt that waits for another would wait for ever: no scheme that waits is among them.
fn check<C: Claim>(claim: impl Fn() -> C, families: &[Family]) {
    let mut checked = 0;
    for info in catalogue::infos().filter(|info| families.is_empty() || families.contains(&info.family)) {
        let waits = catalogue::with(info.name, Waits).expect("a scheme of the catalogue");
        if families.is_empty() || !waits {
            catalogue::with(info.name, Check(claim())).expect("a scheme of the catalogue");
            checked += 1;
        }
    }
    assert!(checked > 0, "there is a scheme to check");
}

/// The families whose attempts may be open at the same time in one thread, unless they wait.
const NESTING: &[Family] =
    &[Family::Locking, Family::Optimistic, Family::TimestampOrdering, Family::MultiVersion];

struct OwnMoves;

impl Claim for OwnMoves {
    fn check<S: Scheme>() {
        let stage = Stage::<S>::new();
        let rows = stage.rows;
        stage.commit(|txn| {
            stage.rename(txn, ONE, 11)?;
            stage.expect(txn, &[(11, 1), (20, 2)])?;
            stage.rename(txn, ONE, 30)?;
            stage.expect(txn, &[(20, 2), (30, 1)])?;
            assert_eq!(txn.replace(rows, TWO, &Named(30)), Ok(true));
            stage.expect(txn, &[(30, 1), (30, 2)])?;
            stage.rename(txn, TWO, 20)?;
            stage.rename(txn, ONE, 10)?;
            stage.expect(txn, &[(10, 1), (20, 2)])
        });
        stage.check(&[(10, 1), (20, 2)]);
        for name in [11, 10, 30, 30, 10] {
            stage.commit(|txn| stage.rename(txn, ONE, name));
            stage.check_one();
        }
        let undone = stage.attempt(|txn| {
            stage.rename(txn, ONE, 11)?;
            txn.replace(rows, TWO, &Named(5))?;
            stage.expect(txn, &[(5, 2), (11, 1)])?;
            Err::<(), _>(Abort::Rollback)
        });
        assert_eq!(undone, Err(Abort::Rollback));
        stage.check(&[(10, 1), (20, 2)]);
    }
}

#[test]
fn an_attempt_finds_a_row_where_it_moved_it_and_leaves_no_other_entry() {
    check(|| OwnMoves, &[]);
}

/// Attempts that insert in vain: a million where tests are optimised.
const IN_VAIN: usize = if cfg!(debug_assertions) { 5_000 } else { 1_000_000 };

struct InVain;

impl Claim for InVain {
    fn check<S: Scheme>() {
        let stage = Stage::<S>::new();
        let rows = stage.rows;
        let mut session = stage.db.session();
        let mut insert = |end: Result<(), Abort>| {
            session.attempt(&Ticket::new(1, at_home(0)), |txn| {
                assert!(txn.insert(rows, Place::new(0, 3), &Named(15))?, "under {}", S::INFO.name);
                end
            })
        };
        let mut early_bytes = 0;
        for nth in 0..IN_VAIN {
            assert_eq!(insert(Err(Abort::Rollback)), Err(Abort::Rollback), "under {}", S::INFO.name);
            if nth.is_multiple_of(IN_VAIN / 10) {
                let memory = &stage.db.memory()[0];
                let secondary = memory.secondary[0].1;
                let dead = [memory.entries, secondary].map(|entries| entries.saturating_sub(2));
                assert!(dead.into_iter().all(|dead| dead <= 64), "{dead:?} dead keys under {}", S::INFO.name);
                if nth > 0 && early_bytes == 0 {
                    early_bytes = memory.row_bytes;
                }
                assert!(
                    nth == 0 || memory.row_bytes == early_bytes,
                    "rows serve again under {}",
                    S::INFO.name
                );
            }
        }
        assert_eq!(insert(Ok(())), Ok(()), "under {}", S::INFO.name);
        drop(session);
        stage.check(&[(10, 1), (15, 3), (20, 2)]);
    }
}

#[test]
fn a_key_may_be_inserted_in_vain_again_and_again_and_leaves_nothing() {
    check(|| InVain, &[]);
}

struct DeletedMoves;

impl Claim for DeletedMoves {
    fn check<S: Scheme>() {
        let stage = Stage::<S>::new();
        let rows = stage.rows;
        stage.commit(|txn| {
            stage.rename(txn, ONE, 30)?;
            assert_eq!(txn.delete(rows, ONE), Ok(true));
            stage.expect(txn, &[(20, 2)])
        });
        stage.check(&[(20, 2)]);
        stage.commit(|txn| {
            assert_eq!(txn.insert(rows, ONE, &Named(5)), Ok(true));
            stage.rename(txn, ONE, 6)?;
            stage.expect(txn, &[(6, 1), (20, 2)])
        });
        stage.check(&[(6, 1), (20, 2)]);
        let anew = |txn: &mut Attempt<'_, '_, S>| {
            stage.rename(txn, ONE, 7)?;
            assert_eq!(txn.delete(rows, ONE), Ok(true));
            stage.expect(txn, &[(20, 2)])?;
            assert_eq!(txn.insert(rows, ONE, &Named(8)), Ok(true));
            stage.expect(txn, &[(8, 1), (20, 2)])?;
            stage.rename(txn, ONE, 9)?;
            assert_eq!(txn.delete(rows, TWO), Ok(true));
            assert_eq!(txn.insert(rows, TWO, &Named(1)), Ok(true));
            stage.expect(txn, &[(1, 2), (9, 1)])
        };
        assert_eq!(stage.attempt(|txn| anew(txn).and(Err::<(), _>(Abort::Rollback))), Err(Abort::Rollback));
        stage.check(&[(6, 1), (20, 2)]);
        stage.commit(anew);
        stage.check(&[(1, 2), (9, 1)]);
        let three = Place::new(0, 3);
        let born = |txn: &mut Attempt<'_, '_, S>| {
            assert_eq!(txn.insert(rows, three, &Named(40)), Ok(true));
            stage.rename(txn, three, 41)?;
            assert_eq!(txn.delete(rows, three), Ok(true));
            assert_eq!(txn.insert(rows, three, &Named(42)), Ok(true));
            stage.expect(txn, &[(1, 2), (9, 1), (42, 3)])
        };
        assert_eq!(stage.attempt(|txn| born(txn).and(Err::<(), _>(Abort::Rollback))), Err(Abort::Rollback));
        stage.check(&[(1, 2), (9, 1)]);
        stage.commit(|txn| born(txn).and_then(|()| txn.delete(rows, three).map(|_| ())));
        stage.check(&[(1, 2), (9, 1)]);
        stage.commit(born);
        stage.check(&[(1, 2), (9, 1), (42, 3)]);
    }
}

#[test]
fn a_moved_row_that_is_deleted_leaves_all_its_entries_and_comes_back_under_another() {
    check(|| DeletedMoves, &[]);
}

struct Rivals;

impl Claim for Rivals {
    fn check<S: Scheme>() {
        for ending in [Ok(()), Err(Abort::Rollback)] {
            // The outer attempt enters the key, and the inner one finds it.
            let stage = Stage::<S>::new();
            _ = stage.attempt(|outer| {
                stage.rename(outer, ONE, 30)?;
                _ = stage.attempt(|inner| stage.rename(inner, ONE, 30).and(ending));
                Ok(())
            });
            stage.check_one();
            // The same, the other way round.
            let stage = Stage::<S>::new();
            _ = stage.attempt(|outer| {
                let mut found = Ok(());
                _ = stage.attempt(|inner| {
                    stage.rename(inner, ONE, 30)?;
                    found = stage.rename(outer, ONE, 30);
                    ending
                });
                found
            });
            stage.check_one();
            // The key is committed and given up again before the outer attempt ends, or committed once more.
            for then in [&[30, 31][..], &[30, 31, 30], &[31, 30]] {
                let stage = Stage::<S>::new();
                _ = stage.attempt(|outer| {
                    stage.rename(outer, ONE, 30)?;
                    for &name in then {
                        _ = stage.attempt(|inner| stage.rename(inner, ONE, name));
                        drain(&stage.db);
                    }
                    ending
                });
                stage.check_one();
            }
        }
    }
}

#[test]
fn a_key_that_several_enter_stays_for_the_one_that_commits() {
    check(|| Rivals, NESTING);
}

struct Gone;

impl Gone {
    /// Checks that nothing leads to row 1, and that its names do not lead to the rows that its memory serves next.
    fn check<S: Scheme>(stage: &Stage<S>) {
        let is_there = stage.attempt(|txn| txn.read(stage.rows, ONE, |_| ())).expect("nobody is in the way");
        if is_there.is_some() {
            return stage.check_one();
        }
        stage.check(&[(20, 2)]);
        let mut names = vec![(20, 2)];
        for number in 50..60 {
            stage.commit(|txn| txn.insert(stage.rows, Place::new(0, number), &Named(number)).map(|_| ()));
            names.push((number, number));
        }
        stage.check(&names);
    }
}

impl Claim for Gone {
    fn check<S: Scheme>() {
        let delete = |stage: &Stage<S>| {
            _ = stage.attempt(|inner| inner.delete(stage.rows, ONE));
            drain(&stage.db);
        };
        // While an attempt has moved the row.
        let stage = Stage::<S>::new();
        _ = stage.attempt(|outer| {
            stage.rename(outer, ONE, 30)?;
            delete(&stage);
            stage.rename(outer, ONE, 31)
        });
        Self::check(&stage);
        // While it is about to.
        let stage = Stage::<S>::new();
        _ = stage.attempt(|outer| {
            let mut is_gone = false;
            let renamed = outer.update(stage.rows, ONE, |row| {
                delete(&stage);
                is_gone = secondary_entries(&stage.db) == [("named", 1, 1)];
                row.0 = 30;
            });
            assert!(!is_gone || renamed.is_err(), "nothing enters for a row that is gone");
            renamed.map(|_| ())
        });
        Self::check(&stage);
        // After others have left entries behind; and it is about to get the last key that it had.
        let stage = Stage::<S>::new();
        _ = stage.attempt(|outer| {
            stage.rename(outer, ONE, 30)?;
            let renamed = outer.update(stage.rows, ONE, |row| {
                _ = stage.attempt(|inner| stage.rename(inner, ONE, 31).and(Err::<(), _>(Abort::Rollback)));
                _ = stage.attempt(|inner| stage.rename(inner, ONE, 32));
                delete(&stage);
                row.0 = 32;
            });
            renamed.map(|_| ())
        });
        Self::check(&stage);
    }
}

#[test]
fn no_entry_outlives_a_row_that_is_deleted_while_it_moves() {
    check(|| Gone, NESTING);
}

/// A sink: while a commit that has renamed both rows installs the second, it gives the first its old name back.
struct MovesBack<'s, S: Scheme> {
    stage: &'s Stage<S>,
    /// The new names, in the order of installation.
    installed: RefCell<Vec<u64>>,
    /// Whether the first row could be given its name back. A scheme may keep others out of all that a commit writes
    /// until the last write is installed.
    is_back: RefCell<bool>,
}

impl<S: Scheme> Sink for &MovesBack<'_, S> {
    const ON: bool = true;

    fn logged<T: Shape>(&mut self, _: Stamp, _: RecordRef<'_, T>, row: Option<&[u64]>) {
        self.installed.borrow_mut().push(row.expect("nothing is deleted")[0]);
        let back = match self.installed.borrow()[..] {
            [30, _] => (ONE, 10),
            [40, _] => (TWO, 20),
            _ => return,
        };
        let renamed = self.stage.attempt(|txn| self.stage.rename(txn, back.0, back.1));
        *self.is_back.borrow_mut() = renamed.is_ok();
    }
}

struct Order;

impl Claim for Order {
    fn check<S: Scheme>() {
        let stage = Stage::<S>::new();
        let sink = MovesBack { stage: &stage, installed: RefCell::default(), is_back: RefCell::default() };
        let moved = stage.db.session_with((), &sink).attempt(&Ticket::new(1, at_home(0)), |txn| {
            for (at, name) in [(ONE, 30), (TWO, 40)] {
                txn.update(stage.rows, at, |row| row.0 = name)?;
            }
            Ok(())
        });
        assert_eq!(moved, Ok(()));
        let is_one_first = sink.installed.borrow()[0] == 30;
        stage.check(match (is_one_first, *sink.is_back.borrow()) {
            (_, false) => &[(30, 1), (40, 2)],
            (true, true) => &[(10, 1), (40, 2)],
            (false, true) => &[(20, 2), (30, 1)],
        });
    }
}

#[test]
fn moves_of_a_row_take_effect_in_the_order_of_their_commits() {
    check(|| Order, NESTING);
}

struct OnePlace;

impl Claim for OnePlace {
    fn check<S: Scheme>() {
        // From a part that was scanned to one that will be, and the other way round; twice, so that the second
        // time the entries of the first may still be there.
        for (looks, is_twice) in [([10, 30], false), ([30, 10], false), ([10, 30], true), ([30, 10], true)] {
            let stage = Stage::<S>::new();
            let seen = stage.attempt(|txn| {
                let mut found = stage.find(txn, looks[0], looks[0])?;
                for name in if is_twice { &[30, 10, 30][..] } else { &[30] } {
                    _ = stage.attempt(|inner| stage.rename(inner, ONE, *name));
                    drain(&stage.db);
                }
                found.extend(stage.find(txn, looks[1], looks[1])?);
                Ok(found)
            });
            if let Ok(seen) = seen {
                assert_eq!(seen.len(), 1, "{looks:?} under {}: {seen:?}", S::INFO.name);
            }
            stage.check_one();
        }
    }
}

#[test]
fn who_commits_has_seen_a_moving_row_in_one_place() {
    check(|| OnePlace, NESTING);
}

struct Snapshots;

impl Claim for Snapshots {
    fn check<S: Scheme>() {
        let stage = Stage::<S>::new();
        let ticket = Ticket { read_only: true, ..Ticket::new(1, at_home(0)) };
        let early = stage.db.session().attempt(&ticket, |early| {
            assert_eq!(early.read(stage.rows, TWO, |row| row.0), Ok(Some(20)));
            for name in [30, 10, 31, 30, 32] {
                stage.commit(|txn| stage.rename(txn, ONE, name));
                drain(&stage.db);
                assert_eq!(stage.find(early, 0, 99), Ok(vec![(10, 1), (20, 2)]), "under {}", S::INFO.name);
            }
            stage.commit(|txn| txn.delete(stage.rows, ONE).map(|_| ()));
            drain(&stage.db);
            assert_eq!(stage.find(early, 0, 99), Ok(vec![(10, 1), (20, 2)]), "under {}", S::INFO.name);
            Ok(())
        });
        assert_eq!(early, Ok(()));
        stage.check(&[(20, 2)]);
    }
}

#[test]
fn an_early_snapshot_finds_a_row_where_it_was() {
    check(|| Snapshots, &[Family::MultiVersion]);
}

struct LateDeletion;

impl Claim for LateDeletion {
    /// The stale entries are left over first. They cannot leave when their time comes, because of a snapshot that began
    /// after they were left; so the row, which was left over later, leaves before them.
    fn check<S: Scheme>() {
        let stage = Stage::<S>::new();
        let ticket = || Ticket::new(1, at_home(0));
        let (mut early, mut late, mut session) = (stage.db.session(), stage.db.session(), stage.db.session());
        let moved =
            early.attempt(&ticket(), |_| session.attempt(&ticket(), |txn| stage.rename(txn, ONE, 30)));
        assert_eq!(moved, Ok(()));
        // One step of reclamation, and not the two steps after which the entry would leave.
        for _ in 0..8 {
            assert_eq!(session.attempt(&ticket(), |_| Ok(())), Ok(()));
        }
        let deleted = late.attempt(&ticket(), |_| {
            session.attempt(&ticket(), |txn| stage.rename(txn, ONE, 31))?;
            session.attempt(&ticket(), |txn| txn.delete(stage.rows, ONE))?;
            for _ in 0..8 {
                session.attempt(&ticket(), |_| Ok(()))?;
            }
            Ok(())
        });
        assert_eq!(deleted, Ok(()));
        drop((early, late, session));
        stage.check(&[(20, 2)]);
    }
}

#[test]
fn stale_entries_leave_with_their_row_if_that_comes_first() {
    check(|| LateDeletion, &[Family::MultiVersion]);
}

/// A row whose secondary key lives where its value says.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Guest(u64);

impl Row for Guest {
    type Key = Place;
    type Indexes = (ByHost,);
}

#[derive(Debug)]
struct ByHost;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HostKey(Place);

impl Key for HostKey {
    type Ordered = u64;

    fn ordered(self) -> u64 {
        self.0.ordered()
    }

    fn from_ordered(ordered: u64) -> Self {
        Self(Place::from_ordered(ordered))
    }

    fn home(self) -> Home {
        self.0.home()
    }
}

impl IndexOn<Guest> for ByHost {
    type Key = HostKey;

    fn key(key: Place, row: &Guest) -> HostKey {
        HostKey(Place::new(row.0, key.number()))
    }

    fn primary(key: HostKey) -> Place {
        Place::new(0, key.0.number())
    }
}

#[test]
fn a_move_takes_the_partitions_of_both_keys() {
    let mut schema = Schema::new();
    let mut table = schema.table("guests", Lookup::Point, 8);
    let rows = table.group::<Guest>();
    let by_host = table.index::<Guest, ByHost>(rows, "by_host");
    let db = database::<HStore>(&schema, 1, 1);
    let mut session = db.session();
    let ticket = |homes: &[u64]| {
        let mut ticket = Ticket::new(1, Homes::new());
        for home in homes {
            ticket.homes.add(*home);
        }
        ticket
    };
    let inserted = session.attempt(&ticket(&[0, 1]), |txn| txn.insert(rows, ONE, &Guest(1)));
    assert_eq!(inserted, Ok(true));
    for (homes, moved) in [
        (&[0][..], Err(Abort::Partition)),
        (&[0, 1], Err(Abort::Partition)),
        (&[0, 2], Err(Abort::Partition)),
        (&[0, 1, 2], Ok(Some(()))),
    ] {
        assert_eq!(session.attempt(&ticket(homes), |txn| txn.update(rows, ONE, |row| row.0 = 2)), moved);
    }
    let found = session.attempt(&ticket(&[0, 1, 2]), |txn| {
        let mut found = Vec::new();
        txn.scan_by(
            by_host,
            HostKey(Place::new(1, 0))..=HostKey(Place::new(2, 9)),
            Direction::Forward,
            |key, _| {
                found.push(key.0);
                ControlFlow::Continue(())
            },
        )?;
        Ok(found)
    });
    assert_eq!(found, Ok(vec![Place::new(2, 1)]));
}

/// Two transactions insert a row. The older one wounds the younger. The younger's entry may not leave while the older
/// one is at it, and the older one goes on only when the entry has left: so the younger may hold up no entry while it
/// waits for the older one's end.
fn waits_out_of_the_way<S: Scheme>(given: Given) {
    const THREE: Place = Place::new(0, 3);
    let stage = Stage::<S>::given(given);
    let (turn, is_over) = (Cell::new(0), Cell::new(false));
    let (mut young, mut old) = (stage.db.session(), stage.db.session());
    let rows = stage.rows;
    let mut crew = fiber::Crew::new();
    crew.spawn(STACK_BYTES, || {
        let wounded = young.attempt(&Ticket::new(20, at_home(0)), |txn| {
            txn.insert(rows, THREE, &Named(30))?;
            turn.set(1);
            assert!(waiter::wait_until(None, || turn.get() == 2));
            linger();
            txn.read(rows, ONE, |_| ()).map(|_| ())
        });
        assert!(wounded.is_err(), "{}", S::INFO.name);
        let again = Ticket { retries: 1, ..Ticket::new(20, at_home(0)) };
        let ended = young.attempt(&again, |txn| {
            assert!(is_over.get(), "{}: it waits for the end of the older one", S::INFO.name);
            txn.insert(rows, THREE, &Named(30))
        });
        assert_eq!(ended, Ok(false), "{}", S::INFO.name);
    });
    crew.spawn(STACK_BYTES, || {
        assert!(waiter::wait_until(None, || turn.get() == 1));
        let mut ticket = Ticket::new(10, at_home(0));
        let insert = |txn: &mut Attempt<'_, '_, S>| {
            turn.set(2);
            txn.insert(rows, THREE, &Named(31))
        };
        while old.attempt(&ticket, insert) != Ok(true) {
            ticket.retries += 1;
            waiter::give_way();
        }
        is_over.set(true);
    });
    crew.run();
}

#[test]
fn who_waits_to_begin_again_holds_up_no_entry() {
    waits_out_of_the_way::<WoundWait>(&[("wound_wait.respect_us", "1000000")]);
    waits_out_of_the_way::<Bamboo>(&[("bamboo.respect_us", "1000000"), ("bamboo.dynamic_attempts", "0")]);
}
