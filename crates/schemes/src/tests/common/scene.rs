//! Scenes: a few attempts, each on a fiber of one thread, that take steps in a given order, also while some of them
//! wait. A fiber runs until it waits, so an attempt that takes a turn and then asks for a lock has asked for it when
//! the next turn is taken.

use core::cell::{Cell as Flag, RefCell};

use engine::{Abort, Attempt, Database, Homes, Lookup, Schema, Scheme, Table, Ticket, Transaction};
use sync::{fiber, waiter};

use super::{Cell, Given, Place, database_with};

/// A test's stack frames are wide.
pub(crate) const STACK_BYTES: usize = 4 * fiber::STACK_BYTES;
/// Sessions of a scene, at most.
const SESSIONS: usize = 8;

/// A database of a few cells, the present turn, and the events so far.
pub(crate) struct Scene<S: Scheme> {
    pub(crate) db: Database<S>,
    pub(crate) table: Table<Cell>,
    turn: Flag<u32>,
    events: RefCell<Vec<String>>,
}

/// The part of a fiber in a scene: the body of its attempt.
pub(crate) type Part<'s, S> = &'s dyn Fn(&mut On<'_, '_, '_, S>) -> Result<(), Abort>;

/// An attempt of a scene.
pub(crate) struct On<'o, 't, 'db, S: Scheme> {
    scene: &'o Scene<S>,
    txn: &'o mut Attempt<'t, 'db, S>,
}

/// The cell of a number.
const fn at(number: u64) -> Place {
    Place::new(0, number)
}

impl<S: Scheme> Scene<S> {
    /// Cells of 0, as many as there are sessions.
    pub(crate) fn new(given: Given) -> Self {
        let mut schema = Schema::new();
        let table = schema.table("cells", Lookup::Point, 64).group();
        let db = database_with(&schema, SESSIONS, 1, given);
        let scene = Self { db, table, turn: Flag::new(0), events: RefCell::default() };
        let all = |txn: &mut Attempt<'_, '_, S>| {
            (0..SESSIONS as u64).try_for_each(|n| txn.insert(table, at(n), &Cell::new(0)).map(|_| ()))
        };
        assert_eq!(scene.db.session().attempt(&Ticket::new(1, Homes::new()), all), Ok(()));
        scene
    }

    /// Plays the parts, each an attempt of a transaction of the given birth. Returns how they ended.
    pub(crate) fn play(&self, parts: &[(u64, Part<'_, S>)]) -> Vec<Result<(), Abort>> {
        self.play_tries(parts, 1)
    }

    /// Like `play`, but each part has up to `tries` attempts.
    pub(crate) fn play_tries(&self, parts: &[(u64, Part<'_, S>)], tries: u32) -> Vec<Result<(), Abort>> {
        self.turn.set(0);
        let endings: Vec<_> = parts.iter().map(|_| Flag::new(Ok(()))).collect();
        let mut crew = fiber::Crew::new();
        let mut sessions: Vec<_> = parts.iter().map(|_| Some(self.db.session())).collect();
        for (((birth, part), ending), session) in parts.iter().zip(&endings).zip(&mut sessions) {
            let mut session = session.take().expect("made for it");
            crew.spawn(STACK_BYTES, move || {
                let mut ticket = Ticket::new(*birth, Homes::new());
                for retries in 0..tries {
                    ticket.retries = retries;
                    ending.set(session.attempt(&ticket, |txn| part(&mut On { scene: self, txn })));
                    let how = if ending.get().is_ok() { "commits" } else { "aborts" };
                    self.note(format!("{birth} {how}"));
                    if ending.get().is_ok() {
                        break;
                    }
                }
            });
        }
        crew.run();
        endings.iter().map(Flag::get).collect()
    }

    /// Plays two parts that read cell 0 and then write it, each with its birth and the turn in which it asks.
    pub(crate) fn play_upgrades(&self, parts: [(u64, u32); 2]) -> Vec<Result<(), Abort>> {
        let upgrades = |turn| {
            move |txn: &mut On<'_, '_, '_, S>| {
                txn.read(0)?;
                txn.turn(turn);
                txn.turn(turn + 2);
                txn.count(0)?;
                assert_eq!(txn.read(0)?, 1);
                Ok(())
            }
        };
        let [(one, first), (other, second)] = parts;
        self.play(&[(one, &upgrades(first)), (other, &upgrades(second))])
    }

    /// The events since the last call.
    pub(crate) fn events(&self) -> String {
        self.events.borrow_mut().drain(..).collect::<Vec<_>>().join(", ")
    }

    fn note(&self, event: String) {
        self.events.borrow_mut().push(event);
    }

    /// The value of a cell, for callers outside of any attempt.
    pub(crate) fn value(&self, number: u64) -> u64 {
        let ticket = Ticket::new(1, Homes::new());
        let read = self.db.session().attempt(&ticket, |txn| txn.read(self.table, at(number), Cell::value));
        read.expect("nobody is in the way").expect("no cell is deleted")
    }
}

/// Asserts that of two attempts that have read a cell and then write it, the older one writes, whichever asks first,
/// and that the other aborts with `loses`.
pub(crate) fn the_older_upgrades<S: Scheme>(given: Given, loses: Abort) {
    let (old, young) = (10, 30);
    for turns in [[1, 2], [2, 1]] {
        let scene = Scene::<S>::new(given);
        let ended = scene.play_upgrades([(old, turns[0]), (young, turns[1])]);
        assert_eq!(ended, [Ok(()), Err(loses)], "the older asks in turn {}", turns[0]);
        assert_eq!(scene.value(0), 1);
    }
}

/// Asserts that attempts which wait for one that has written a cell go on in the order of their timestamps, and not in
/// that in which they came to wait: so that none of them comes too late.
///
/// `patient` is to be so long a limit of waits that nobody goes on out of turn.
pub(crate) fn waits_end_in_the_order_of_timestamps<S: Scheme>(patient: Given) {
    for ending in [Ok(()), Err(Abort::Rollback)] {
        let scene = Scene::<S>::new(patient);
        let writes_and_lingers = |txn: &mut On<'_, '_, '_, S>| {
            txn.count(0)?;
            txn.after(4);
            linger();
            ending
        };
        let adds_in = |turn| {
            move |txn: &mut On<'_, '_, '_, S>| {
                txn.turn(turn);
                txn.count(0)
            }
        };
        let reads = |txn: &mut On<'_, '_, '_, S>| {
            txn.turn(2);
            let seen = txn.read(0)?;
            txn.note(&format!("3 sees {seen}"));
            Ok(())
        };
        // Timestamps are in the order of the parts, which all begin before the first turn is taken.
        let parts: [(u64, Part<'_, S>); 5] =
            [(1, &writes_and_lingers), (2, &adds_in(4)), (3, &reads), (4, &adds_in(3)), (5, &adds_in(1))];
        let ended = scene.play(&parts);
        let (how, first) = if ending.is_ok() { ("commits", 1) } else { ("aborts", 0) };
        assert_eq!(ended, [ending, Ok(()), Ok(()), Ok(()), Ok(())], "{}", scene.events());
        assert_eq!(scene.value(0), 3 + first);
        let events = format!("1 {how}, 2 commits, 3 sees {}, 3 commits, 4 commits, 5 commits", 1 + first);
        assert_eq!(scene.events(), events);
    }
}

/// Lets the other fibers do all that they can.
pub(crate) fn linger() {
    for _ in 0..100 {
        waiter::give_way();
    }
}

impl<S: Scheme> On<'_, '_, '_, S> {
    /// Waits until a turn was taken.
    pub(crate) fn after(&self, number: u32) {
        let turn = &self.scene.turn;
        assert!(waiter::wait_until(None, || turn.get() >= number), "the crew is not unwound");
    }

    /// Takes a turn after the one before it: everything until the next wait belongs to this turn.
    pub(crate) fn turn(&self, number: u32) {
        self.after(number - 1);
        let turn = &self.scene.turn;
        turn.set(turn.get().max(number));
    }

    /// Reads a cell.
    pub(crate) fn read(&mut self, number: u64) -> Result<u64, Abort> {
        let read = self.txn.read(self.scene.table, at(number), Cell::value)?;
        Ok(read.expect("no cell is deleted"))
    }

    /// Whether a cell is there.
    pub(crate) fn has(&mut self, number: u64) -> Result<bool, Abort> {
        Ok(self.txn.read(self.scene.table, at(number), Cell::value)?.is_some())
    }

    /// Inserts a missing cell with value 0.
    pub(crate) fn insert(&mut self, number: u64) -> Result<(), Abort> {
        let inserted = self.txn.insert(self.scene.table, at(number), &Cell::new(0))?;
        assert!(inserted, "no cell is made twice");
        Ok(())
    }

    /// Adds one to a cell.
    pub(crate) fn count(&mut self, number: u64) -> Result<(), Abort> {
        let added = self.txn.update(self.scene.table, at(number), |cell| cell.set(cell.value() + 1))?;
        added.expect("no cell is deleted");
        Ok(())
    }

    /// Writes down that something has happened.
    pub(crate) fn note(&self, event: &str) {
        self.scene.note(event.to_owned());
    }
}
