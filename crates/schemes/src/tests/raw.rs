//! Claims about transactions over words. The same scripts through `Transaction` and through `RawTxn` see the
//! same and leave the same behind, under every scheme. Misuse that no type rules out is an error that undoes
//! the attempt.

use core::ops::{Bound, ControlFlow};
use std::panic::{AssertUnwindSafe, catch_unwind};

use engine::{
    Abort, Admits, AnyKey, Database, Direction, Home, Index, IndexOn, Key, Layout, Lookup, Misuse, Quiesced,
    RawError, RawSession, RawTxn, Row, Schema, Scheme, Share, Splitting, Table, TableId, Ticket, Transaction,
    Which,
};
use stdx::Rng;
use storage::{IndexedKey, words_of};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::catalogue::{self, Visit};
use crate::optimistic::silo::Silo;
use crate::partitioned::hstore::HStore;
use crate::tests::common::{ByName, Cell, NameKey, Named, Place, database, drain, secondary_entries};

/// A key of six words, of which it uses two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Long(Place);

impl Key for Long {
    type Ordered = [u64; 6];

    fn ordered(self) -> [u64; 6] {
        [self.0.at(), 0, 0, 0, 0, self.0.number()]
    }

    fn from_ordered([home, .., number]: [u64; 6]) -> Self {
        Self(Place::new(home, number))
    }

    fn home(self) -> Home {
        self.0.home()
    }
}

/// A row with two secondary keys.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Tagged {
    tag: u64,
    mark: u64,
}

impl Row for Tagged {
    type Key = Long;
    type Indexes = (ByTag, ByMark);
}

struct ByTag;

impl IndexOn<Tagged> for ByTag {
    type Key = NameKey;

    fn key(Long(key): Long, row: &Tagged) -> NameKey {
        NameKey { home: key.at(), name: row.tag, number: key.number() }
    }

    fn primary(key: NameKey) -> Long {
        Long(key.place())
    }
}

struct ByMark;

/// A mark and a place, in one word; the place has a few bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MarkKey(u64);

impl MarkKey {
    fn new(place: Place, mark: u64) -> Self {
        Self(place.at() << 32 | mark << 8 | place.number())
    }
}

impl Key for MarkKey {
    type Ordered = u64;

    fn ordered(self) -> u64 {
        self.0
    }

    fn from_ordered(ordered: u64) -> Self {
        Self(ordered)
    }

    fn home(self) -> Home {
        Home::At(self.0 >> 32)
    }
}

impl IndexOn<Tagged> for ByMark {
    type Key = MarkKey;

    fn key(Long(key): Long, row: &Tagged) -> MarkKey {
        MarkKey::new(key, row.mark)
    }

    fn primary(key: MarkKey) -> Long {
        Long(Place::new(key.0 >> 32, key.0 & 0xff))
    }
}

/// A key of rows that are at home everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Common(u128);

impl Key for Common {
    type Ordered = u128;

    fn ordered(self) -> u128 {
        self.0
    }

    fn from_ordered(ordered: u128) -> Self {
        Self(ordered)
    }

    fn home(self) -> Home {
        Home::Everywhere
    }
}

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Fixed(u64);

impl Row for Fixed {
    type Key = Common;
    type Indexes = ();
}

/// A row that is computed from a number.
trait Made: Row {
    fn made(value: u64) -> Self;
}

impl Made for Named {
    fn made(value: u64) -> Self {
        Self(value % 7)
    }
}

impl Made for Cell {
    fn made(value: u64) -> Self {
        Self::new(value)
    }
}

impl Made for Tagged {
    fn made(value: u64) -> Self {
        Self { tag: value % 3, mark: value % 5 }
    }
}

/// The tables: one with three column groups, one of them indexed and one constant; one found by equality; one with long
/// keys and two indexes; a heap; and tables for misuse.
#[derive(Clone, Copy)]
struct World {
    people: (Table<Named>, Table<Cell>, Table<Cell>),
    by_name: Index<Named, ByName>,
    points: Table<Cell>,
    long: Table<Tagged>,
    by_tag: Index<Tagged, ByTag>,
    by_mark: Index<Tagged, ByMark>,
    log: Table<Cell>,
    twice: Table<Named>,
    fixed: Table<Fixed>,
}

impl World {
    fn declare(schema: &mut Schema) -> Self {
        let mut table = schema.table("people", Lookup::Ordered, 0);
        let people = (table.group(), table.group(), table.constant_group());
        let by_name = table.index(people.0, "by_name");
        let points = schema.table("points", Lookup::Point, 8).group();
        let mut table = schema.table("long", Lookup::Ordered, 0);
        let long = table.group();
        let (by_tag, by_mark) = (table.index(long, "by_tag"), table.index(long, "by_mark"));
        let log = schema.table("log", Lookup::Heap, 0).group();
        let mut table = schema.table("twice", Lookup::Point, 8);
        let (twice, other) = (table.group(), table.group());
        for group in [twice, other] {
            table.index::<Named, ByName>(group, "by_name");
        }
        let fixed = schema.table("fixed", Lookup::Ordered, 0).group();
        Self { people, by_name, points, long, by_tag, by_mark, log, twice, fixed }
    }
}

/// An operation on a row.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Get,
    Update(u64),
    Replace(u64),
    Delete,
}

/// A key range of an index, as homes and numbers.
#[derive(Clone, Copy, Debug)]
struct Range {
    from: Bound<(u64, u64)>,
    to: Bound<(u64, u64)>,
    direction: Direction,
    /// The number of rows after which the visitor breaks.
    limit: usize,
}

/// A step of a script. The number selects one of the tables or indexes.
#[derive(Clone, Copy, Debug)]
enum Step {
    Row(u64, Place, Deed),
    Add(u64, Place, u64),
    Insert(u64, Place, u64),
    Scan(u64, Range),
}

/// The rows that a step saw: keys and words.
type Seen = Vec<(Option<AnyKey>, Vec<u64>)>;

fn told(result: bool) -> Seen {
    vec![(None, vec![u64::from(result)])]
}

fn random_step(rng: &mut Rng) -> Step {
    let place = Place::new(rng.below(2), rng.below(5));
    let value = rng.below(40);
    let mut bound = || {
        let key = (rng.below(2), rng.below(8));
        [Bound::Included(key), Bound::Excluded(key), Bound::Unbounded][rng.below(3) as usize]
    };
    let (from, to) = (bound(), bound());
    match rng.below(12) {
        0..4 => Step::Insert(rng.below(4), place, value),
        4 => Step::Row(rng.below(4), place, Deed::Update(value)),
        5 => Step::Add(rng.below(2), place, value),
        6 => Step::Row(rng.below(4), place, Deed::Replace(value)),
        7 => Step::Row(rng.below(4), place, Deed::Delete),
        8 => Step::Row(rng.below(4), place, Deed::Get),
        _ => {
            let direction = if rng.below(2) == 0 { Direction::Forward } else { Direction::Backward };
            let limit = if rng.below(3) == 0 { 2 } else { usize::MAX };
            Step::Scan(rng.below(6), Range { from, to, direction, limit })
        }
    }
}

/// The two ways to run a script.
trait Way {
    fn row<R: Made>(&mut self, table: Table<R>, key: R::Key, deed: Deed) -> Result<Seen, RawError>;
    fn add(&mut self, table: Table<Cell>, at: Place, amount: u64) -> Result<Seen, RawError>;
    fn insert(&mut self, world: &World, which: u64, at: Place, value: u64) -> Result<bool, RawError>;
    fn scan<R: Made>(
        &mut self,
        table: Table<R>,
        range: Range,
        key: impl Fn((u64, u64)) -> R::Key,
    ) -> Result<Seen, RawError>;
    fn scan_by<R: Made, I: IndexOn<R>>(
        &mut self,
        index: Index<R, I>,
        range: Range,
        key: impl Fn((u64, u64)) -> I::Key,
    ) -> Result<Seen, RawError>;
}

fn take(way: &mut impl Way, world: &World, step: Step) -> Result<Seen, RawError> {
    let place = |(home, number)| Place::new(home, number);
    let name = |(home, name)| NameKey { home, name, number: 2 };
    let World { people, by_name, points, long, by_tag, by_mark, .. } = *world;
    match step {
        // The group with the index is the one through which typed calls delete.
        Step::Row(0, at, deed) => way.row(people.0, at, deed),
        Step::Row(1, at, Deed::Delete) => way.row(people.0, at, Deed::Delete),
        Step::Row(1, at, deed) => way.row(people.1, at, deed),
        Step::Row(2, at, deed) => way.row(points, at, deed),
        Step::Row(_, at, deed) => way.row(long, Long(at), deed),
        Step::Add(0, at, amount) => way.add(people.1, at, amount),
        Step::Add(_, at, amount) => way.add(points, at, amount),
        Step::Insert(which, at, value) => way.insert(world, which, at, value).map(told),
        Step::Scan(0, range) => way.scan(people.0, range, place),
        Step::Scan(1, range) => way.scan(people.1, range, place),
        Step::Scan(2, range) => way.scan(long, range, |key| Long(place(key))),
        Step::Scan(3, range) => way.scan_by(by_name, range, name),
        Step::Scan(4, range) => way.scan_by(by_tag, range, name),
        Step::Scan(_, range) => {
            way.scan_by(by_mark, range, |(home, mark)| MarkKey::new(place((home, 2)), mark))
        }
    }
}

struct Typed<'t, T>(&'t mut T);

/// Adds what a scan sees to the list, up to a limit.
fn note(seen: &mut Seen, limit: usize, key: AnyKey, words: &[u64]) -> ControlFlow<()> {
    seen.push((Some(key), words.to_vec()));
    if seen.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

impl<T: Transaction> Way for Typed<'_, T> {
    fn row<R: Made>(&mut self, table: Table<R>, key: R::Key, deed: Deed) -> Result<Seen, RawError> {
        Ok(match deed {
            Deed::Get => {
                let read = self.0.read(table, key, |row| words_of(row).to_vec())?;
                read.map(|words| (None, words)).into_iter().collect()
            }
            Deed::Update(value) => {
                let change = |row: &mut R| *row = R::made(words_of(row)[0] + value);
                told(self.0.update(table, key, change)?.is_some())
            }
            Deed::Replace(value) => told(self.0.replace(table, key, &R::made(value))?),
            Deed::Delete => told(self.0.delete(table, key)?),
        })
    }

    fn add(&mut self, table: Table<Cell>, at: Place, amount: u64) -> Result<Seen, RawError> {
        Ok(told(self.0.add(table, at, |cell| cell.set(amount))?))
    }

    fn insert(&mut self, world: &World, which: u64, at: Place, value: u64) -> Result<bool, RawError> {
        let cell = Cell::made(value);
        Ok(match which {
            0 => self.0.insert(world.people, at, (&Named::made(value), &cell, &cell)),
            1 => self.0.insert(world.points, at, &cell),
            2 => self.0.insert(world.long, Long(at), &Tagged::made(value)),
            _ => self.0.insert(world.log, at, &cell),
        }?)
    }

    fn scan<R: Made>(
        &mut self,
        table: Table<R>,
        Range { from, to, direction, limit }: Range,
        key: impl Fn((u64, u64)) -> R::Key,
    ) -> Result<Seen, RawError> {
        let mut seen = Seen::new();
        self.0.scan(table, (from.map(&key), to.map(&key)), direction, |key, row| {
            note(&mut seen, limit, key.ordered().any(), words_of(row))
        })?;
        Ok(seen)
    }

    fn scan_by<R: Made, I: IndexOn<R>>(
        &mut self,
        index: Index<R, I>,
        Range { from, to, direction, limit }: Range,
        key: impl Fn((u64, u64)) -> I::Key,
    ) -> Result<Seen, RawError> {
        let mut seen = Seen::new();
        self.0.scan_by(index, (from.map(&key), to.map(&key)), direction, |key, row| {
            note(&mut seen, limit, key.ordered().any(), words_of(row))
        })?;
        Ok(seen)
    }
}

fn any<K: Key>(key: K) -> AnyKey {
    key.ordered().any()
}

struct Words<'t>(&'t mut dyn RawTxn);

impl Words<'_> {
    fn walk<K: Key>(
        &mut self,
        (table, group, which): (TableId, usize, Which),
        Range { from, to, direction, limit }: Range,
        key: impl Fn((u64, u64)) -> K,
    ) -> Result<Seen, RawError> {
        let mut seen = Seen::new();
        let key = |at| any(key(at));
        self.0.scan(table, group, which, (from.map(key), to.map(key)), direction, &mut |key, words| {
            note(&mut seen, limit, key, words)
        })?;
        Ok(seen)
    }
}

impl Way for Words<'_> {
    fn row<R: Made>(&mut self, table: Table<R>, key: R::Key, deed: Deed) -> Result<Seen, RawError> {
        let (table, group, key) = (table.id(), table.group(), any(key));
        Ok(match deed {
            Deed::Get => {
                let mut read = Seen::new();
                let is_there =
                    self.0.get(table, group, key, &mut |words| read.push((None, words.to_vec())))?;
                assert_eq!(read.len(), usize::from(is_there), "a row that is there is seen");
                read
            }
            Deed::Update(value) => told(self.0.update(table, group, key, &mut |words| {
                words.copy_from_slice(words_of(&R::made(words[0] + value)));
            })?),
            Deed::Replace(value) => told(self.0.replace(table, group, key, words_of(&R::made(value)))?),
            Deed::Delete => told(self.0.delete(table, key)?),
        })
    }

    fn add(&mut self, table: Table<Cell>, at: Place, amount: u64) -> Result<Seen, RawError> {
        let amounts = Cell::new(amount);
        self.0.add(table.id(), table.group(), any(at), words_of(&amounts)).map(told)
    }

    fn insert(&mut self, world: &World, which: u64, at: Place, value: u64) -> Result<bool, RawError> {
        let (name, cell, tagged) = (Named::made(value), Cell::made(value), Tagged::made(value));
        let cell = words_of(&cell);
        match which {
            0 => self.0.insert(world.people.0.id(), any(at), &[words_of(&name), cell, cell]),
            1 => self.0.insert(world.points.id(), any(at), &[cell]),
            2 => self.0.insert(world.long.id(), any(Long(at)), &[words_of(&tagged)]),
            _ => self.0.insert(world.log.id(), any(at), &[cell]),
        }
    }

    fn scan<R: Made>(
        &mut self,
        table: Table<R>,
        range: Range,
        key: impl Fn((u64, u64)) -> R::Key,
    ) -> Result<Seen, RawError> {
        self.walk((table.id(), table.group(), Which::Primary), range, key)
    }

    fn scan_by<R: Made, I: IndexOn<R>>(
        &mut self,
        index: Index<R, I>,
        range: Range,
        key: impl Fn((u64, u64)) -> I::Key,
    ) -> Result<Seen, RawError> {
        self.walk((index.table(), index.group(), index.which()), range, key)
    }
}

fn new_world<S: Scheme>() -> (World, Database<S>) {
    laid_out(Layout::default())
}

/// A world whose tables have this layout.
fn laid_out<S: Scheme>(layout: Layout) -> (World, Database<S>) {
    let mut schema = Schema::new();
    schema.lay_out(layout);
    let world = World::declare(&mut schema);
    let workers = if S::INFO.workers == Admits::Any { 2 } else { 1 };
    (world, database(&schema, 4, workers))
}

/// A ticket of an attempt at home 0, which may learn that it needs another.
fn ticket(retries: u32) -> Ticket {
    Ticket { retries, ..Ticket::new(1, crate::tests::common::at_home(0)) }
}

/// Makes attempts until one commits or rolls back for good.
fn end<S: Scheme>(
    db: &Database<S>,
    mut attempt: impl FnMut(&Ticket) -> Result<(), RawError>,
) -> Result<(), RawError> {
    for retries in 0..1_000 {
        match attempt(&ticket(retries)) {
            Err(RawError::Abort(abort)) if abort != Abort::Rollback => db.scheme().maintain(0),
            ended => return ended,
        }
    }
    panic!("nobody is in the way under {}", S::INFO.name);
}

/// The entire contents of a quiesced database.
fn state<S: Scheme>(db: &Database<S>, world: &World) -> Vec<Seen> {
    fn rows<S: Scheme, R: Row>(db: &Database<S>, table: Table<R>) -> Seen {
        let mut seen = Seen::new();
        db.quiesced()
            .rows(table, Share::WHOLE, |key, row| seen.push((Some(any(key)), words_of(row).to_vec())));
        seen.sort();
        seen
    }
    fn entries<S: Scheme, R: Row, I: IndexOn<R>>(db: &Database<S>, index: Index<R, I>) -> Seen {
        let mut seen = Seen::new();
        db.quiesced().scan_by(index, .., |key, row| note(&mut seen, usize::MAX, any(key), words_of(row)));
        seen
    }
    let mut log = Seen::new();
    db.quiesced().heap(world.log, Share::WHOLE, |row| log.push((None, words_of(row).to_vec())));
    log.sort();
    let (names, cells, constants) =
        (rows(db, world.people.0), rows(db, world.people.1), rows(db, world.people.2));
    let found = [entries(db, world.by_name), entries(db, world.by_tag), entries(db, world.by_mark)];
    let counts = secondary_entries(db).into_iter();
    let counts = counts.map(|(_, rows, entries)| (None, vec![rows as u64, entries as u64]));
    [names, cells, constants, rows(db, world.points), rows(db, world.long), log, counts.collect()]
        .into_iter()
        .chain(found)
        .collect()
}

/// A claim about every scheme.
trait Claim: Copy {
    fn check<S: Scheme>(self);
}

struct Check<C>(C);

impl<C: Claim> Visit for Check<C> {
    type Out = ();

    fn visit<S: Scheme>(self) {
        self.0.check::<S>();
    }
}

fn check(claim: impl Claim) {
    for info in catalogue::infos() {
        catalogue::with(info.name, Check(claim)).expect("a scheme of the catalogue");
    }
}

const SPLITTINGS: [Splitting; 3] = [Splitting::On, Splitting::Constant, Splitting::Off];

#[derive(Clone, Copy)]
struct Scripts;

impl Claim for Scripts {
    fn check<S: Scheme>(self) {
        let mut steps_that_did = 0;
        for seed in 0..12 {
            // Which column groups share a record changes which transactions conflict, and nothing that is
            // seen or left.
            let [of_typed, of_raw] = [seed, seed / 3]
                .map(|seed| Layout { splitting: SPLITTINGS[seed as usize % 3], ..Layout::default() });
            let ((world, typed), (raw_world, raw)) = (laid_out::<S>(of_typed), laid_out::<S>(of_raw));
            let mut rng = Rng::new(seed);
            let (mut typed_session, mut raw_session) = (typed.session(), raw.session());
            for nth in 0..40 {
                let script: Vec<_> = (0..=rng.below(8)).map(|_| random_step(&mut rng)).collect();
                let last = if rng.below(4) == 0 { Err(RawError::Abort(Abort::Rollback)) } else { Ok(()) };
                let (mut seen, mut raw_seen) = (Vec::new(), Vec::new());
                let ended = end(&typed, |ticket| {
                    seen.clear();
                    let attempt = typed_session.attempt(ticket, |txn| {
                        for &step in &script {
                            match take(&mut Typed(txn), &world, step) {
                                Ok(saw) => seen.push(saw),
                                Err(RawError::Abort(abort)) => return Err(abort),
                                Err(misuse) => panic!("types rule this out: {misuse}"),
                            }
                        }
                        last.map_err(|_| Abort::Rollback)
                    });
                    Ok(attempt?)
                });
                let session: &mut dyn RawSession = &mut raw_session;
                let raw_ended = end(&raw, |ticket| {
                    session.transact(ticket, &mut |txn| {
                        raw_seen.clear();
                        for &step in &script {
                            raw_seen.push(take(&mut Words(txn), &raw_world, step)?);
                        }
                        last
                    })
                });
                let scheme = S::INFO.name;
                assert_eq!((ended, raw_ended), (last, last), "under {scheme}, seed {seed}, script {nth}");
                for (step, (saw, raw_saw)) in script.iter().zip(seen.iter().zip(&raw_seen)) {
                    assert_eq!(saw, raw_saw, "{step:?} under {scheme}, seed {seed}, script {nth}");
                    steps_that_did += usize::from(!saw.is_empty() && *saw != told(false));
                }
            }
            drop((typed_session, raw_session));
            drain(&typed);
            drain(&raw);
            assert_eq!(state(&typed, &world), state(&raw, &raw_world), "under {}, seed {seed}", S::INFO.name);
        }
        assert!(steps_that_did > 400, "most steps find something: {steps_that_did}");
    }
}

#[test]
fn scripts_over_words_see_and_leave_what_typed_ones_do() {
    check(Scripts);
}

/// A call.
type Call<'w> = dyn Fn(&mut dyn RawTxn) -> Result<bool, RawError> + 'w;

/// A call, and the error with which it is answered.
type Wrong<'w> = (&'w Call<'w>, Misuse);

#[derive(Clone, Copy)]
struct Misuses;

impl Misuses {
    /// Checks that each call is answered with its error, and undoes what its attempt did before.
    fn refused<S: Scheme>(calls: &[Wrong<'_>]) {
        let (world, db) = new_world::<S>();
        let (people, key) = (world.people.0.id(), any(Place::new(0, 1)));
        let mut session = db.session();
        for &(call, misuse) in calls {
            let expected = Err(RawError::Misuse(misuse));
            let mut is_overlooked = false;
            for _ in 0..2 {
                let ended = session.transact(&ticket(0), &mut |txn| {
                    // A hint that makes no sense is passed over.
                    txn.prefetch(TableId(9), 0..1, &[key]);
                    txn.prefetch(people, 0..4, &[key]);
                    txn.prefetch(people, 0..0, &[key]);
                    txn.prefetch(people, 0..2, &[key, AnyKey::Two(1)]);
                    txn.prefetch(world.log.id(), 0..1, &[key]);
                    assert_eq!(
                        txn.insert(people, key, &[&[3], &[4; 5], &[6; 5]]),
                        Ok(true),
                        "nothing was left behind"
                    );
                    txn.prefetch(people, 0..2, &[key, AnyKey::One(77)]);
                    assert_eq!(call(txn).map(|_| ()), expected, "under {}", S::INFO.name);
                    assert_eq!(
                        txn.get(people, 0, key, &mut |_| ()).map(|_| ()),
                        expected,
                        "it stays misused"
                    );
                    if is_overlooked { Ok(()) } else { expected }
                });
                assert_eq!(ended, expected, "under {}", S::INFO.name);
                is_overlooked = true;
                drain(&db);
            }
        }
        let told = session.transact(&ticket(0), &mut |txn| {
            assert_eq!(txn.get(people, 0, key, &mut |_| ()), Ok(false), "misuse undoes its attempt");
            Ok(())
        });
        assert_eq!(told, Ok(()));
    }
}

fn all(txn: &mut dyn RawTxn, table: TableId, group: usize, which: Which) -> Result<bool, RawError> {
    let keys = (Bound::Unbounded, Bound::Unbounded);
    txn.scan(table, group, which, keys, Direction::Forward, &mut |_, _| ControlFlow::Continue(()))?;
    Ok(true)
}

impl Claim for Misuses {
    fn check<S: Scheme>(self) {
        let world = World::declare(&mut Schema::new());
        let (people, long, log) = (world.people.0.id(), world.long.id(), world.log.id());
        let (points, twice, fixed) = (world.points.id(), world.twice.id(), world.fixed.id());
        let (one, two, six) = (AnyKey::One(1), AnyKey::Two(1), AnyKey::Six([0, 1, 0, 0, 0, 0]));
        let second = |group, position| Which::Secondary { group, position };
        let width = |table, which, given, expected| Misuse::KeyWidth { table, which, given, expected };
        let row = |table, group, given, expected| Misuse::RowWidth { table, group, given, expected };
        let none = TableId(9);
        let no_table = Misuse::UnknownTable { table: none, tables: 6 };
        let no_group = Misuse::UnknownGroup { table: "people", group: 3, groups: 3 };
        let no_index = |which, group| Misuse::UnknownIndex { table: "people", which, group };
        let primary = Which::Primary;
        Self::refused::<S>(&[
            (&|txn| txn.get(none, 0, one, &mut |_| ()), no_table),
            (&|txn| txn.delete(none, one), no_table),
            (&|txn| all(txn, none, 0, primary), no_table),
            (&|txn| txn.get(people, 3, one, &mut |_| ()), no_group),
            (&|txn| txn.update(people, 3, one, &mut |_| ()), no_group),
            (&|txn| txn.replace(people, 3, one, &[]), no_group),
            (&|txn| txn.add(people, 3, one, &[]), no_group),
            (&|txn| all(txn, people, 3, primary), no_group),
            (&|txn| all(txn, people, 0, second(0, 1)), no_index(second(0, 1), 0)),
            (&|txn| all(txn, people, 1, second(0, 0)), no_index(second(0, 0), 1)),
            (&|txn| all(txn, people, 0, second(7, 0)), no_index(second(7, 0), 0)),
            (&|txn| txn.get(people, 0, two, &mut |_| ()), width("people", primary, 2, 1)),
            (&|txn| txn.update(long, 0, one, &mut |_| ()), width("long", primary, 1, 6)),
            (&|txn| txn.insert(people, six, &[&[3], &[4; 5], &[6; 5]]), width("people", primary, 6, 1)),
            (&|txn| txn.delete(points, two), width("points", primary, 2, 1)),
            (
                &|txn| {
                    let keys = (Bound::Unbounded, Bound::Excluded(one));
                    let see = &mut |_, _: &[u64]| ControlFlow::Break(());
                    txn.scan(people, 0, second(0, 0), keys, Direction::Backward, see).map(|()| true)
                },
                width("people", second(0, 0), 1, 2),
            ),
            (
                &|txn| txn.get(long, 0, six, &mut |_| ()),
                Misuse::KeyValue { table: "long", which: primary, key: six },
            ),
            (&|txn| txn.replace(people, 1, one, &[1; 4]), row("people", 1, 4, 5)),
            (&|txn| txn.add(people, 1, one, &[1; 4]), row("people", 1, 4, 5)),
            (&|txn| txn.add(people, 1, two, &[1; 5]), width("people", primary, 2, 1)),
            (&|txn| txn.add(people, 0, one, &[1]), Misuse::NotAdditive { table: "people", group: 0 }),
            (&|txn| txn.add(fixed, 0, two, &[1]), Misuse::Everywhere { table: "fixed", key: two }),
            (&|txn| txn.insert(people, one, &[&[3], &[4], &[6; 5]]), row("people", 1, 1, 5)),
            (
                &|txn| txn.insert(people, one, &[&[3]]),
                Misuse::GroupCount { table: "people", given: 1, expected: 3 },
            ),
            (&|txn| txn.get(log, 0, one, &mut |_| ()), Misuse::Unfindable { table: "log" }),
            (&|txn| txn.delete(log, one), Misuse::Unfindable { table: "log" }),
            (&|txn| txn.add(log, 0, one, &[1; 5]), Misuse::Unfindable { table: "log" }),
            (&|txn| all(txn, points, 0, primary), Misuse::Unordered { table: "points" }),
            (&|txn| all(txn, log, 0, primary), Misuse::Unordered { table: "log" }),
            (&|txn| txn.delete(twice, one), Misuse::Undeletable { table: "twice" }),
            (&|txn| txn.insert(fixed, two, &[&[1]]), Misuse::Everywhere { table: "fixed", key: two }),
        ]);
    }
}

#[test]
fn what_no_type_rules_out_is_an_error_and_undoes_its_attempt() {
    check(Misuses);
}

#[derive(Clone, Copy)]
struct Panics;

impl Claim for Panics {
    fn check<S: Scheme>(self) {
        let (world, db) = new_world::<S>();
        let (people, key) = (world.people.0.id(), any(Place::new(0, 1)));
        let mut session = db.session();
        let inserts =
            &mut |txn: &mut dyn RawTxn| txn.insert(people, key, &[&[3], &[4; 5], &[6; 5]]).map(|_| ());
        assert_eq!(session.transact(&ticket(0), inserts), Ok(()));
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            session.transact(&ticket(0), &mut |txn| {
                assert_eq!(txn.update(people, 0, key, &mut |words| words[0] = 5), Ok(true));
                txn.update(people, 1, key, &mut |words| panic!("a body that is wrong about {words:?}"))?;
                Ok(())
            })
        }));
        assert!(panicked.is_err(), "the panic reaches the caller");
        let before = state(&db, &world);
        assert_eq!(before[0], [(Some(key), vec![3])], "under {}", S::INFO.name);
        let mut read_only = ticket(0);
        read_only.read_only = true;
        let written = session.transact(&read_only, &mut |txn| txn.delete(people, key).map(|_| ()));
        assert_eq!(written, Err(RawError::Misuse(Misuse::ReadOnly { table: "people" })));
        let told = session.transact(&ticket(0), &mut |txn| {
            let mut seen = Vec::new();
            assert_eq!(txn.get(people, 0, key, &mut |words| seen.push(words.to_vec())), Ok(true));
            assert_eq!(seen, [[3]], "under {}", S::INFO.name);
            Ok(())
        });
        assert_eq!(told, Ok(()), "the session goes on under {}", S::INFO.name);
    }
}

#[test]
fn a_panic_or_a_write_against_the_ticket_undoes_the_attempt() {
    check(Panics);
}

#[test]
fn misuse_is_believed_only_of_consistent_reads() {
    let (world, db) = new_world::<Silo>();
    let (people, key) = (world.people.0.id(), any(Place::new(0, 1)));
    let write = |name: u64| {
        let ended = db.session().transact(&ticket(0), &mut |txn| {
            if !txn.replace(people, 0, key, &[name])? {
                txn.insert(people, key, &[&[name], &[4; 5], &[6; 5]])?;
            }
            Ok(())
        });
        assert_eq!(ended, Ok(()));
    };
    write(1);
    let ended = db.session().transact(&ticket(0), &mut |txn| {
        txn.get(people, 0, key, &mut |_| ())?;
        write(2);
        txn.delete(TableId(77), key).map(|_| ())
    });
    assert_eq!(ended, Err(RawError::Abort(Abort::ReadChanged)));
}

#[test]
fn words_reach_no_partition_that_was_not_named_and_an_abort_is_not_overlooked() {
    let (world, db) = new_world::<HStore>();
    let elsewhere = Place::new(1, 1);
    let (people, points) = (world.people.0.id(), world.points.id());
    let mut session = db.session();
    let beyond = (Bound::Unbounded, Bound::Included(any(elsewhere)));
    let calls: [&Call<'_>; 4] = [
        &|txn| txn.get(points, 0, any(elsewhere), &mut |_| ()),
        &|txn| txn.insert(people, any(elsewhere), &[&[3], &[4; 5], &[6; 5]]),
        &|txn| txn.delete(people, any(elsewhere)),
        &|txn| {
            let see = &mut |_, _: &[u64]| ControlFlow::Continue(());
            txn.scan(people, 0, Which::Primary, beyond, Direction::Forward, see).map(|()| true)
        },
    ];
    for call in calls {
        let ended = session.transact(&ticket(0), &mut |txn| {
            assert_eq!(call(txn), Err(RawError::Abort(Abort::Partition)));
            Ok(())
        });
        assert_eq!(ended, Err(RawError::Abort(Abort::Partition)));
    }
}

#[test]
fn errors_name_the_table_and_what_it_expects() {
    let width = Misuse::RowWidth { table: "people", group: 1, given: 4, expected: 5 };
    let text = RawError::from(width).to_string();
    for part in ["`people`", "column group 1", "5 words", "4"] {
        assert!(text.contains(part), "{part} is in {text}");
    }
    assert!(RawError::from(Abort::Phantom).to_string().contains("phantom"));
}
