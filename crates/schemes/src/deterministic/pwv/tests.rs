//! Claims about PWV. Writes are seen while their transactions go on, once these have announced that they will not roll
//! back and after the last write of the record. The outcome of a batch is that of its order, even if a transaction that
//! has exposed a write does not come to the end that its rehearsal promised.

use engine::driver::{self, Control, Job, Limit};
use engine::setting::{Setting, SettingError, Settings, Values};
use engine::{
    Abort, ClientId, Database, Drive, Env, Forecast, Homes, Loader, Lookup, Quiesced, Row, Schema, Scheme,
    Share, Table, Transaction, TxnType, Violation, Workload,
};
use stdx::Rng;
use storage::{Home, TableId, Tables};
use sync::atomic::{AtomicU64, Ordering};
use sync::{Latched, clock, waiter};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::deterministic::pwv::Pwv;
use crate::deterministic::pwv::courses::{Courses, Run};

/// A counter.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Cell {
    value: u64,
}

impl Row for Cell {
    type Key = u64;
    type Indexes = ();
}

const CELLS: u64 = 40;
/// The cell that a transaction which exposes writes early writes first.
const HOT: u64 = 0;
/// The cell whose value names the cell that another transaction touches.
const POINTER: u64 = 1;

#[derive(Clone, Copy, Debug)]
enum Move {
    /// Adds one to a cell.
    Add(u64),
    Read(u64),
    /// Like `Read`, for a cell that may be missing, which counts as 0.
    Peek(u64),
    Delete(u64),
    /// Inserts the cell with the value 7.
    Insert(u64),
    /// Announces that there will be no rollback.
    Decide,
    /// Waits until the hot cell was read outside of a rehearsal, at most this number of milliseconds. Does not wait in
    /// rehearsals.
    AwaitReader(u64),
    /// Adds one to the cell that the pointer names. Another transaction of the batch has moved the pointer.
    Follow,
    /// Adds one to the hot cell as many times as the pointer's value.
    AddAsOften,
    /// Writes the value that was read last into a cell.
    Note(u64),
    RollBack,
    /// Rolls back if the value that was read last is this one.
    RollBackIf(u64),
    GiveWay,
}

use Move::{
    Add, AddAsOften, AwaitReader, Decide, Delete, Follow, GiveWay, Insert, Note, Peek, Read, RollBack,
    RollBackIf,
};

crate::tests::conformance!(crate::deterministic::pwv::entry::ENTRY);

type Part = &'static [Move];

/// One request for each client, with the given moves.
struct Play {
    cells: Table<Cell>,
    parts: &'static [Part],
    /// Executions, by client.
    runs: Vec<AtomicU64>,
    /// How often the hot cell was read outside of rehearsals.
    reads: AtomicU64,
    /// The values read, with their runs, by client; the rehearsal is run 0.
    seen: Latched<Vec<(u64, u64, u64)>>,
    /// Whether the transactions that waited for a reader met one.
    met: Latched<Vec<bool>>,
}

impl Workload for Play {
    const NAME: &'static str = "play";
    const TYPES: &'static [TxnType] = &[TxnType { name: "part", read_only: false }];
    const SETTINGS: &'static [Setting] = &[];
    type Input = (u64, Part);
    type Scratch = ();
    type Output = ();
    type Ledger = ();

    fn declare(_: &Values, _: Drive, schema: &mut Schema) -> Result<Self, SettingError> {
        let cells = schema.table("cells", Lookup::Point, CELLS as usize).group();
        let (runs, reads) = (Vec::new(), AtomicU64::new(0));
        Ok(Self { cells, parts: &[], runs, reads, seen: Latched::default(), met: Latched::default() })
    }

    fn forecast(&self) -> Forecast {
        Forecast::default()
    }

    fn load(&self, share: Share, loader: &mut impl Loader) {
        for key in share.of_range(CELLS) {
            // The pointer says 1 at first.
            loader.insert(self.cells, key, &Cell { value: u64::from(key == POINTER) });
        }
    }

    fn generate(&self, client: ClientId, _: u64, _: &mut Rng) -> (u64, Part) {
        (u64::from(client.0), self.parts.get(client.0 as usize).copied().unwrap_or(&[]))
    }

    fn kind(&self, _: &(u64, Part)) -> usize {
        0
    }

    fn homes(&self, _: &(u64, Part)) -> Homes {
        Homes::new()
    }

    fn execute<T: Transaction>(
        &self,
        &(client, part): &(u64, Part),
        (): &mut (),
        txn: &mut T,
    ) -> Result<(), Abort> {
        // Relaxed, here and below: it orders nothing that is read while the run goes on.
        let run = self.runs[client as usize].fetch_add(1, Ordering::Relaxed);
        let mut last = 0;
        let add =
            |txn: &mut T, key| txn.update(self.cells, key, |cell| cell.value += 1)?.ok_or(Abort::ReadChanged);
        for &step in part {
            match step {
                Add(key) => add(txn, key)?,
                Read(key) => {
                    last = txn.read(self.cells, key, |cell| cell.value)?.ok_or(Abort::ReadChanged)?;
                    self.seen.lock().push((client, run, last));
                    if key == HOT && run > 0 {
                        self.reads.fetch_add(1, Ordering::Relaxed);
                    }
                }
                Peek(key) => last = txn.read(self.cells, key, |cell| cell.value)?.unwrap_or_default(),
                Delete(key) => _ = txn.delete(self.cells, key)?,
                Insert(key) => _ = txn.insert(self.cells, key, &Cell { value: 7 })?,
                Decide => txn.decided(),
                AwaitReader(ms) if run > 0 => {
                    let deadline_ns = clock::now_ns() + 1_000_000 * ms;
                    let is_read = || self.reads.load(Ordering::Relaxed) > 0;
                    let is_met = waiter::wait_until(Some(deadline_ns), is_read);
                    self.met.lock().push(is_met);
                }
                Follow => {
                    let to = txn.read(self.cells, POINTER, |cell| cell.value)?.ok_or(Abort::ReadChanged)?;
                    add(txn, 10 + to)?;
                }
                AddAsOften => {
                    let times =
                        txn.read(self.cells, POINTER, |cell| cell.value)?.ok_or(Abort::ReadChanged)?;
                    (0..times).try_for_each(|_| add(txn, HOT))?;
                }
                Note(key) => {
                    assert!(txn.replace(self.cells, key, &Cell { value: last })?, "no cell ever goes");
                }
                RollBack => return Err(Abort::Rollback),
                RollBackIf(value) if last == value => return Err(Abort::Rollback),
                AwaitReader(_) | RollBackIf(_) => {}
                GiveWay => (0..20).for_each(|_| waiter::give_way()),
            }
        }
        Ok(())
    }

    fn committed(&self, (): &mut (), _: &(u64, Part), (): &()) {}

    fn check(&self, _: &impl Quiesced, _: Share, _: &[()]) -> Result<(), Violation> {
        Ok(())
    }
}

/// The outcome of a play.
#[derive(Debug)]
struct Played {
    cells: Vec<u64>,
    /// The values that each client read in its runs, rehearsals left out.
    seen: Vec<Vec<u64>>,
    met: Vec<bool>,
    commits: u64,
    user_aborts: u64,
    footprint: u64,
    cascades: u64,
}

fn play(parts: &'static [Part], workers: usize, given: &[(&str, &str)]) -> Played {
    const CLIENTS: usize = 12;
    let mut given: Vec<_> = given.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    given.push(("pwv.batch".to_owned(), CLIENTS.to_string()));
    let values = Values::new(<Pwv as Scheme>::Settings::ALL, &given).expect("legal");
    let mut schema = Schema::new();
    let drive = Drive { workers: 1, clients: 1, seed: 1 };
    let mut play = Play::declare(&values, drive, &mut schema).expect("legal");
    play.parts = parts;
    play.runs = (0..CLIENTS).map(|_| AtomicU64::new(0)).collect();
    let env = Env { slots: 12 * workers + 2, workers };
    let db = Database::<Pwv>::new(&schema, &values, env).expect("legal");
    db.load(&play, 1);
    let job = Job::new(workers, CLIENTS, Limit::Requests(1), 1);
    let outcome = driver::run(&db, &play, &job, &Control::new(workers));
    let [tally] = &outcome.types[..] else { panic!("there is one type") };
    let mut cells = vec![0; CELLS as usize];
    db.quiesced().rows(play.cells, Share::WHOLE, |key, cell| cells[key as usize] = cell.value);
    let mut seen = vec![Vec::new(); CLIENTS];
    for (client, run, value) in play.seen.into_inner() {
        if run > 0 {
            seen[client as usize].push(value);
        }
    }
    let aborts = |reason| tally.aborts[reason as usize];
    let (footprint, cascades) = (aborts(Abort::Footprint), aborts(Abort::Cascade));
    assert_eq!(tally.aborts.iter().sum::<u64>(), footprint + cascades, "nothing else aborts");
    let (commits, user_aborts, met) = (tally.commits, tally.user_aborts, play.met.into_inner());
    assert_eq!(commits + user_aborts, CLIENTS as u64);
    Played { cells, seen, met, commits, user_aborts, footprint, cascades }
}

/// With one worker only a wait lets the next transaction begin, so that it is known which transactions meet.
const ONE: usize = 1;
/// Milliseconds after which something must be wrong.
const LONG: u64 = 20_000;

#[test]
fn a_write_is_seen_while_its_transaction_goes_on() {
    let parts: &[Part] =
        &[&[Decide, Add(HOT), Read(POINTER), AwaitReader(LONG), Add(2)], &[Read(HOT), Note(3)]];
    let played = play(parts, ONE, &[]);
    assert_eq!(played.met, [true]);
    assert_eq!((played.seen[1].as_slice(), played.cells[3]), (&[1][..], 1), "and it is the right one");
    assert_eq!(played.footprint + played.cascades, 0);
}

#[test]
fn a_write_is_not_seen_before_its_transaction_has_decided() {
    let parts: &[Part] = &[&[Add(HOT), Read(POINTER), AwaitReader(20), Decide], &[Read(HOT), Note(3)]];
    let played = play(parts, ONE, &[]);
    assert_eq!((played.met, played.cells[3]), (vec![false], 1));
}

#[test]
fn a_decision_shows_what_was_written_before_it() {
    let parts: &[Part] = &[&[Add(HOT), Read(POINTER), Decide, AwaitReader(LONG)], &[Read(HOT), Note(3)]];
    let played = play(parts, ONE, &[]);
    assert_eq!((played.met, played.cells[3]), (vec![true], 1));
}

#[test]
fn a_write_is_not_seen_before_the_end_where_that_is_not_wanted() {
    let parts: &[Part] =
        &[&[Decide, Add(HOT), Read(POINTER), AwaitReader(20), Add(2)], &[Read(HOT), Note(3)]];
    let played = play(parts, ONE, &[("pwv.early", "off")]);
    assert_eq!((played.met, played.cells[3]), (vec![false], 1));
}

#[test]
fn only_the_last_write_of_a_record_is_seen() {
    let parts: &[Part] = &[
        &[
            Decide,
            Add(HOT),
            Read(POINTER),
            GiveWay,
            AwaitReader(20),
            Add(HOT),
            Read(POINTER),
            AwaitReader(LONG),
        ],
        &[Read(HOT), Note(3)],
    ];
    let played = play(parts, ONE, &[]);
    assert_eq!((played.met, played.seen[1].as_slice()), (vec![false, true], &[2][..]));
}

#[test]
fn who_read_what_did_not_come_to_pass_executes_again_in_its_place() {
    // The first moves the pointer, so that the second touches a cell that it had not declared, after it has exposed its
    // write to the third; it then comes last.
    let parts: &[Part] = &[
        &[Add(POINTER)],
        &[Decide, Add(HOT), Read(2), AwaitReader(LONG), Follow],
        &[Read(HOT), Note(3)],
        &[Read(HOT), Add(4)],
    ];
    let played = play(parts, ONE, &[]);
    assert!(played.met[0]);
    assert_eq!(played.seen[2], [1, 0], "what it saw first was taken back");
    assert_eq!(
        (played.cells[HOT as usize], played.cells[3], played.cells[12], played.cells[11]),
        (1, 0, 1, 0)
    );
    assert_eq!((played.footprint, played.commits), (1, 12));
    assert!(played.cascades >= 1);
}

#[test]
fn a_cascade_goes_on_to_those_who_depend_on_those_who_depend() {
    let parts: &[Part] = &[
        &[Add(POINTER)],
        &[Decide, Add(HOT), Read(2), AwaitReader(LONG), Follow],
        &[Decide, Read(HOT), Note(3)],
        &[Decide, Read(3), Note(4)],
        &[Decide, Read(4), Note(5)],
    ];
    let played = play(parts, ONE, &[]);
    assert_eq!((&played.cells[3..6], played.cells[HOT as usize]), (&[0, 0, 0][..], 1));
    for client in 2..5 {
        assert_eq!(played.seen[client].last(), Some(&0), "{played:?}");
    }
    assert!(
        played.seen[4].contains(&1),
        "the last one, too, was shown what did not come to pass: {played:?}"
    );
    assert!(played.cascades >= 3);
}

#[test]
fn a_rollback_due_to_what_did_not_come_to_pass_is_not_believed() {
    let parts: &[Part] = &[
        &[Add(POINTER)],
        &[Decide, Add(HOT), Read(2), AwaitReader(LONG), Follow],
        &[Read(HOT), Add(3), RollBackIf(1)],
        // The same holds for an access that is lacking in a footprint.
        &[Read(HOT), RollBackIf(1), Add(4)],
    ];
    let played = play(parts, ONE, &[]);
    assert_eq!((played.seen[2].as_slice(), played.cells[3], played.cells[4]), (&[1, 0][..], 1, 1));
    assert_eq!((played.user_aborts, played.footprint), (0, 1));
}

#[test]
fn a_rollback_that_was_not_to_come_leaves_nothing() {
    let parts: &[Part] =
        &[&[Decide, Add(HOT), Read(POINTER), AwaitReader(LONG), RollBack], &[Read(HOT), Note(3)]];
    let played = play(parts, ONE, &[]);
    assert_eq!((played.met[0], played.seen[1].as_slice()), (true, &[1, 0][..]));
    assert_eq!((played.cells[HOT as usize], played.cells[3]), (0, 0));
    assert_eq!((played.user_aborts, played.commits, played.footprint), (1, 11, 0));
}

#[test]
fn who_writes_once_more_what_it_has_shown_comes_last() {
    // The transaction was rehearsed with one addition, and makes two.
    let parts: &[Part] = &[&[Add(POINTER)], &[Decide, AddAsOften], &[Read(HOT), Note(3)]];
    let played = play(parts, ONE, &[]);
    assert_eq!((played.cells[HOT as usize], played.cells[3], played.footprint), (2, 0, 1));
}

#[test]
fn a_row_that_is_updated_and_deleted_is_looked_for_when_that_is_over() {
    // The third must not find the row that the first is about to delete: the second inserts another one.
    let parts: &[Part] = &[&[Add(20), AwaitReader(20), Delete(20)], &[Insert(20)], &[Peek(20), Note(3)]];
    let played = play(parts, ONE, &[]);
    assert_eq!((played.cells[3], played.cells[20], played.footprint), (7, 7, 1));
}

#[test]
fn what_comes_of_a_batch_does_not_depend_on_the_workers() {
    const MOVED: Part = &[Add(POINTER)];
    const DEVIATES: Part = &[Decide, Add(HOT), GiveWay, Follow];
    const LIES: Part = &[Decide, Add(HOT), GiveWay, RollBack];
    const PASSES_ON: Part = &[Decide, Add(HOT), GiveWay, Read(HOT), Note(5), Add(6)];
    const NOTES: Part = &[Decide, Read(HOT), Note(7), GiveWay, Read(5), Note(8), Read(6), Note(9)];
    let parts: &[Part] = &[
        PASSES_ON, MOVED, DEVIATES, PASSES_ON, LIES, NOTES, PASSES_ON, DEVIATES, NOTES, LIES, PASSES_ON,
        NOTES,
    ];
    let one = play(parts, ONE, &[]);
    assert_eq!((one.user_aborts, one.footprint, one.cells[HOT as usize]), (2, 2, 6));
    for round in 0..20 {
        for (workers, open) in [(2, "8"), (3, "2"), (4, "1"), (2, "3")] {
            let many = play(parts, workers, &[("pwv.open", open)]);
            assert_eq!(many.cells, one.cells, "{workers} workers, round {round}");
            assert_eq!((many.user_aborts, many.footprint), (one.user_aborts, one.footprint));
        }
    }
    let late = play(parts, 2, &[("pwv.early", "off")]);
    assert_eq!((late.cells, late.cascades), (one.cells, 0));
}

#[test]
fn who_reads_what_has_become_final_meanwhile_depends_on_nothing() {
    let mut schema = Schema::new();
    schema.table::<u64>("cells", Lookup::Point, 1).group::<Cell>();
    let tables = Tables::<Pwv>::new(&schema, 1, 0, false);
    let mut slot = tables.slot();
    slot.pin();
    let row = slot.new_row(tables.get(TableId(0)), Home::Everywhere);
    let record = row.row().record(0);
    let mut version = slot.new_version(record);
    // The first place of a batch.
    version.version().meta().set_number(1);
    version.words().fill(7);
    assert!(record.push(&version, None));
    version.lend();
    let (courses, mut copy) = (Courses::new(3), Vec::new());
    let [mut writer, mut early, mut late] = [Run::default(), Run::default(), Run::default()];
    courses.begin(&mut writer, Some(0), 1);
    courses.begin(&mut early, Some(1), 0);
    courses.begin(&mut late, Some(2), 0);
    assert_eq!(courses.borrow(&mut early, &slot, version.version(), &mut copy), Some(true));
    assert_eq!((early.has_dependencies(), courses.verdict(&early)), (true, None));
    courses.end(&mut writer);
    assert_eq!(courses.verdict(&early), Some(true));
    // It has found the version lent, and asks for the count after the end of the run.
    assert_eq!(courses.borrow(&mut late, &slot, version.version(), &mut copy), Some(true));
    assert_eq!((late.has_dependencies(), courses.verdict(&late)), (false, Some(true)));
    assert_eq!(copy, [7]);
    version.seal();
}
