//! Claims about schemes that fix the order of a batch before they execute it. A transaction finds at a key something
//! else than its rehearsal did, or does something else with it: the lock of a key stands for no row that was there
//! before the batch.

use engine::driver::{self, Control, Job, Limit};
use engine::setting::{Setting, SettingError, Settings, Values};
use engine::{
    Abort, ClientId, Database, Drive, Env, Forecast, Homes, Loader, Lookup, Quiesced, Row, Schema, Scheme,
    Share, Table, Transaction, TxnType, Violation, Workload,
};
use stdx::Rng;
use sync::waiter;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::deterministic::bohm::Bohm;
use crate::deterministic::calvin::Calvin;
use crate::deterministic::caracal::Caracal;
use crate::deterministic::pwv::Pwv;

/// A counter. A row has two counters, each in a column group of its own.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Cell {
    value: u64,
}

impl Row for Cell {
    type Key = u64;
    type Indexes = ();
}

const CELLS: u64 = 10;
/// The row that is inserted although it is present, or deleted.
const ROW: u64 = 3;
/// A row that is present all the time.
const OTHER: u64 = 5;
/// The row that decides whether the unforeseen moves are made.
const GATE: u64 = 7;

#[derive(Clone, Copy, Debug)]
enum Move {
    /// Adds one to the first group, if the row is there.
    Add(u64),
    Read(u64),
    /// Like `Add` and `Read`, for the second group.
    AddSecond(u64),
    ReadSecond(u64),
    /// Inserts a row with 70 in both groups.
    Insert(u64),
    Delete(u64),
    /// Makes these moves if the gate is open. Another transaction of the batch has opened it.
    IfOpen(&'static [Move]),
    /// Waits for this number of milliseconds, in which others can do all that they have to.
    Wait(u64),
}

use Move::{Add, AddSecond, Delete, IfOpen, Insert, Read, ReadSecond, Wait};

/// The moves that a client sends, one transaction after the other.
type Part = &'static [&'static [Move]];
/// A transaction of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sent {
    client: usize,
    sequence: usize,
}

/// The values that a transaction read.
type Seen = Vec<Option<u64>>;

struct Play {
    first: Table<Cell>,
    second: Table<Cell>,
    parts: &'static [Part],
}

impl Play {
    fn make<T: Transaction>(&self, moves: &[Move], seen: &mut Seen, txn: &mut T) -> Result<(), Abort> {
        for &step in moves {
            match step {
                Add(key) => _ = txn.update(self.first, key, |cell| cell.value += 1)?,
                AddSecond(key) => _ = txn.update(self.second, key, |cell| cell.value += 1)?,
                Read(key) => seen.push(txn.read(self.first, key, |cell| cell.value)?),
                ReadSecond(key) => seen.push(txn.read(self.second, key, |cell| cell.value)?),
                Insert(key) => {
                    let cell = Cell { value: 70 };
                    txn.insert((self.first, self.second), key, (&cell, &cell))?;
                }
                Delete(key) => _ = txn.delete(self.first, key)?,
                IfOpen(moves) => {
                    if txn.read(self.first, GATE, |cell| cell.value)? != Some(0) {
                        self.make(moves, seen, txn)?;
                    }
                }
                Wait(ms) => waiter::pause_ns(1_000_000 * ms),
            }
        }
        Ok(())
    }
}

impl Workload for Play {
    const NAME: &'static str = "play";
    const TYPES: &'static [TxnType] = &[TxnType { name: "part", read_only: false }];
    const SETTINGS: &'static [Setting] = &[];
    type Input = Sent;
    type Scratch = ();
    type Output = Seen;
    type Ledger = Vec<(Sent, Seen)>;

    fn declare(_: &Values, _: Drive, schema: &mut Schema) -> Result<Self, SettingError> {
        let mut table = schema.table("cells", Lookup::Point, CELLS as usize);
        Ok(Self { first: table.group(), second: table.group(), parts: &[] })
    }

    fn forecast(&self) -> Forecast {
        Forecast::default()
    }

    fn load(&self, share: Share, loader: &mut impl Loader) {
        for key in share.of_range(CELLS) {
            loader.insert((self.first, self.second), key, (&Cell { value: 0 }, &Cell { value: 0 }));
        }
    }

    fn generate(&self, client: ClientId, sequence: u64, _: &mut Rng) -> Self::Input {
        Sent { client: client.0 as usize, sequence: sequence as usize }
    }

    fn kind(&self, _: &Self::Input) -> usize {
        0
    }

    fn homes(&self, _: &Self::Input) -> Homes {
        Homes::new()
    }

    fn execute<T: Transaction>(&self, sent: &Sent, (): &mut (), txn: &mut T) -> Result<Seen, Abort> {
        let mut seen = Seen::new();
        self.make(self.parts[sent.client][sent.sequence], &mut seen, txn).map(|()| seen)
    }

    fn committed(&self, ledger: &mut Self::Ledger, sent: &Sent, seen: &Seen) {
        ledger.push((*sent, seen.clone()));
    }

    fn check(&self, _: &impl Quiesced, _: Share, _: &[Self::Ledger]) -> Result<(), Violation> {
        Ok(())
    }
}

/// The outcome of a play.
#[derive(Debug, PartialEq, Eq)]
struct Played {
    /// The values that its transactions read, by client.
    seen: Vec<Seen>,
    /// By key, both groups.
    rows: Vec<Option<(u64, u64)>>,
    /// The number of transactions that ran alone.
    alone: u64,
}

/// Runs as many batches as each client has transactions, with one transaction of each client.
fn play<S: Scheme>(parts: &'static [Part], workers: usize) -> Played {
    let given = [(format!("{}.batch", S::INFO.name), parts.len().to_string())];
    let values = Values::new(S::Settings::ALL, &given).expect("legal");
    let mut schema = Schema::new();
    let drive = Drive { workers: 1, clients: 1, seed: 1 };
    let mut play = Play::declare(&values, drive, &mut schema).expect("legal");
    play.parts = parts;
    let env = Env { slots: 12 * workers + 2, workers };
    let db = Database::<S>::new(&schema, &values, env).expect("legal");
    db.load(&play, 1);
    let requests = parts[0].len() as u64;
    let job = Job::new(workers, parts.len(), Limit::Requests(requests), 1);
    let outcome = driver::run(&db, &play, &job, &Control::new(workers));
    let mut seen = vec![Seen::new(); parts.len()];
    let mut ledger: Vec<_> = outcome.ledgers.into_iter().flatten().collect();
    ledger.sort_unstable_by_key(|(sent, _)| *sent);
    for (sent, saw) in ledger {
        seen[sent.client].extend(saw);
    }
    let [tally] = &outcome.types[..] else { panic!("there is one type") };
    assert_eq!(tally.commits, requests * parts.len() as u64);
    let alone = tally.aborts[Abort::Footprint as usize];
    let cascades = tally.aborts[Abort::Cascade as usize];
    assert_eq!(tally.aborts.iter().sum::<u64>(), alone + cascades, "nothing else aborts");
    let mut rows = vec![None; CELLS as usize];
    let view = db.quiesced();
    view.rows(play.first, Share::WHOLE, |key, cell| rows[key as usize] = Some((cell.value, u64::MAX)));
    view.rows(play.second, Share::WHOLE, |key, cell| {
        rows[key as usize].as_mut().expect("a row has both groups").1 = cell.value;
    });
    let there = rows.iter().flatten().count();
    assert_eq!(db.memory()[0].entries, there, "deleted keys have left the index");
    Played { seen, rows, alone }
}

/// The insert has looked at one group of the row. Then the row is updated, in the other group or in the same one, and a
/// third transaction reads the updated group twice.
fn who_changes_a_row_that_its_insert_has_found_runs_alone<S: Scheme>() {
    const THE_OTHER_GROUP: &[Part] = &[
        &[&[Add(GATE)]],
        &[&[Insert(ROW), IfOpen(&[AddSecond(ROW), Wait(20)])]],
        &[&[ReadSecond(ROW), Wait(80), ReadSecond(ROW)]],
    ];
    const THE_SAME: &[Part] = &[
        &[&[Add(GATE)]],
        &[&[Insert(ROW), IfOpen(&[Add(ROW), Wait(20)])]],
        &[&[Read(ROW), Wait(80), Read(ROW)]],
    ];
    for parts in [THE_OTHER_GROUP, THE_SAME] {
        for workers in [1, 3] {
            let played = play::<S>(parts, workers);
            assert_eq!(played.seen[2], [Some(0); 2], "{workers} workers");
            let (first, second) = played.rows[ROW as usize].expect("nobody deletes it");
            assert_eq!((first + second, played.alone), (1, 1), "{workers} workers");
        }
    }
}

/// The row goes, and another comes in its place, while a fourth transaction is about to look for it. The fourth must
/// not find the key missing, as it was between the two, and then what the third has done besides.
fn who_deletes_a_row_that_its_insert_has_found_is_not_overtaken<S: Scheme>() {
    let parts: &[Part] = &[
        &[&[Add(GATE)]],
        &[&[Insert(ROW), Add(ROW), AddSecond(ROW), IfOpen(&[Delete(ROW), Wait(40)])]],
        &[&[Insert(ROW), Add(OTHER)]],
        &[&[Read(ROW), Read(OTHER)]],
    ];
    let one = play::<S>(parts, 1);
    for workers in [2, 4] {
        let played = play::<S>(parts, workers);
        assert_ne!(played.seen[3], [None, Some(1)], "{workers} workers");
        assert_eq!(played, one, "{workers} workers");
    }
}

/// The transaction that deletes the row is followed, in its batch, by one that has a place for a version of the row,
/// and by one that has locked the row. In the next batch the key is missing for all of them.
fn a_row_that_others_were_about_to_write_is_gone_with_its_batch<S: Scheme>() {
    let parts: &[Part] = &[
        &[&[Delete(ROW)], &[Read(ROW), Read(OTHER)]],
        &[&[Wait(20), Add(ROW)], &[Insert(ROW), Add(OTHER)]],
        &[&[Read(ROW)], &[Read(ROW), Read(OTHER)]],
    ];
    for workers in [1, 2, 3] {
        let played = play::<S>(parts, workers);
        assert_eq!(played.seen[0], [None, Some(0)], "before the insert");
        assert_eq!(played.seen[2], [None, Some(70), Some(1)], "after it");
        assert_eq!(played.alone, 2, "the second and the third of the first batch");
    }
}

/// A row goes, and another comes with its key, before a transaction of the batch that was to read it: the transaction
/// does not take the row that was found for it.
fn a_row_that_was_replaced_is_not_the_one_that_was_found<S: Scheme>() {
    let parts: &[Part] = &[&[&[Delete(ROW)]], &[&[Insert(ROW)]], &[&[Read(ROW), ReadSecond(ROW)]]];
    for workers in [1, 3] {
        let played = play::<S>(parts, workers);
        assert_eq!(played.seen[2], [Some(70); 2], "{workers} workers");
        assert_eq!(played.rows[ROW as usize], Some((70, 70)), "{workers} workers");
        assert_eq!(played.alone, 1, "the row that comes is not in the footprint of the third");
    }
}

/// A row that was missing at the rehearsal is covered by its key, whoever has added it meanwhile.
fn who_finds_what_another_has_inserted_does_not_run_alone<S: Scheme>() {
    const NEW: u64 = CELLS - 1;
    let parts: &[Part] = &[
        &[&[Delete(NEW)], &[Insert(NEW), Add(NEW)]],
        &[&[], &[Insert(NEW), AddSecond(NEW)]],
        &[&[], &[Read(NEW), ReadSecond(NEW)]],
    ];
    for workers in [1, 3] {
        let played = play::<S>(parts, workers);
        assert_eq!(played.seen[2], [Some(71); 2], "{workers} workers");
        assert_eq!(played.alone, 0, "{workers} workers");
    }
}

macro_rules! for_schemes {
    ($($name:ident: $scheme:ty),+ $(,)?) => {
        $(
            mod $name {
                use super::*;

                #[test]
                fn who_changes_a_row_that_its_insert_has_found_runs_alone() {
                    super::who_changes_a_row_that_its_insert_has_found_runs_alone::<$scheme>();
                }

                #[test]
                fn who_deletes_a_row_that_its_insert_has_found_is_not_overtaken() {
                    super::who_deletes_a_row_that_its_insert_has_found_is_not_overtaken::<$scheme>();
                }

                #[test]
                fn a_row_that_others_were_about_to_write_is_gone_with_its_batch() {
                    super::a_row_that_others_were_about_to_write_is_gone_with_its_batch::<$scheme>();
                }

                #[test]
                fn a_row_that_was_replaced_is_not_the_one_that_was_found() {
                    super::a_row_that_was_replaced_is_not_the_one_that_was_found::<$scheme>();
                }

                #[test]
                fn who_finds_what_another_has_inserted_does_not_run_alone() {
                    super::who_finds_what_another_has_inserted_does_not_run_alone::<$scheme>();
                }
            }
        )+
    };
}

for_schemes!(calvin: Calvin, bohm: Bohm, caracal: Caracal, pwv: Pwv);
