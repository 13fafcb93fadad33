//! Claims: all clients insert, delete and insert again the same few keys. Of several inserts of a missing
//! key exactly one wins, and of several deletes of a key, too.

use core::ops::ControlFlow;

use engine::setting::{Setting, SettingError, Values};
use engine::{
    Abort, ClientId, Drive, Forecast, Homes, Loader, Lookup, Quiesced, Schema, Share, Table, Transaction,
    TxnType, Violation, Workload,
};
use stdx::Rng;
use sync::waiter;

use super::{Cell, Place, at_home, no_forecast, violation};

const KEYS: u64 = 6;

/// The workload: a table found by equality, and an ordered one.
#[derive(Debug)]
pub(crate) struct Claims {
    tables: [Table<Cell>; 2],
}

/// A step of a sequence that is applied to the key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// Inserts it.
    Insert,
    /// Deletes it.
    Delete,
    /// Adds one to its value.
    Update,
    /// Adds one to its value, and does not look at it.
    Add,
    /// Rolls back.
    Rollback,
}

/// The sequences that are tried.
const SEQUENCES: &[&[Step]] = &[
    &[Step::Insert],
    &[Step::Insert],
    &[Step::Delete],
    &[Step::Delete],
    &[Step::Insert, Step::Update, Step::Delete],
    &[Step::Delete, Step::Insert],
    &[Step::Delete, Step::Insert, Step::Update, Step::Delete],
    &[Step::Insert, Step::Delete, Step::Insert],
    &[Step::Insert, Step::Update, Step::Rollback],
    &[Step::Delete, Step::Rollback],
    &[Step::Delete, Step::Insert, Step::Delete, Step::Rollback],
    &[Step::Update],
    &[Step::Add],
    &[Step::Add],
    &[Step::Add, Step::Delete],
    &[Step::Delete, Step::Insert, Step::Add],
    &[Step::Add, Step::Rollback],
];

/// A table, a key and a sequence of [`SEQUENCES`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input {
    table: usize,
    key: u64,
    sequence: usize,
}

/// The outcome of a sequence, or of a part of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Output {
    /// By how many rows there are more.
    more: i64,
    /// Whether the sequence did not read its own writes. An optimistic attempt that will not commit may fail
    /// to read them.
    is_blind: bool,
}

fn place(key: u64) -> Place {
    Place::new(key, key)
}

impl Step {
    /// Takes the step, and returns its outcome.
    fn run<T: Transaction>(self, table: Table<Cell>, key: Place, txn: &mut T) -> Result<Output, Abort> {
        let own = match self {
            Self::Insert if txn.insert(table, key, &Cell::new(100))? => Some((1, Some(100))),
            Self::Delete if txn.delete(table, key)? => Some((-1, None)),
            Self::Insert | Self::Delete => None,
            Self::Update => {
                let value = txn.update(table, key, |cell| {
                    cell.set(cell.value() + 1);
                    cell.value()
                })?;
                value.map(|value| (0, Some(value)))
            }
            Self::Add => {
                txn.add(table, key, |cell| cell.set(1))?;
                None
            }
            Self::Rollback => return Err(Abort::Rollback),
        };
        let Some((more, expected)) = own else { return Ok(Output::default()) };
        let is_blind = txn.read(table, key, Cell::value)? != expected;
        Ok(Output { more, is_blind })
    }
}

impl Workload for Claims {
    const NAME: &'static str = "claims";
    const TYPES: &'static [TxnType] = &[TxnType { name: "claim", read_only: false }];
    const SETTINGS: &'static [Setting] = &[];
    type Input = Input;
    type Scratch = ();
    type Output = Output;
    /// The increase of the number of rows, by table and key.
    type Ledger = [[i64; KEYS as usize]; 2];

    fn declare(_: &Values, _: Drive, schema: &mut Schema) -> Result<Self, SettingError> {
        let hashed = schema.table("hashed", Lookup::Point, 8).group();
        let ordered = schema.table("ordered", Lookup::Ordered, 0).group();
        Ok(Self { tables: [hashed, ordered] })
    }

    fn forecast(&self) -> Forecast {
        no_forecast()
    }

    fn load(&self, _: Share, _: &mut impl Loader) {}

    fn generate(&self, _: ClientId, _: u64, rng: &mut Rng) -> Input {
        let sequence = rng.below(SEQUENCES.len() as u64) as usize;
        Input { table: rng.below(2) as usize, key: rng.below(KEYS), sequence }
    }

    fn kind(&self, _: &Input) -> usize {
        0
    }

    fn homes(&self, input: &Input) -> Homes {
        at_home(place(input.key).at())
    }

    fn execute<T: Transaction>(&self, input: &Input, (): &mut (), txn: &mut T) -> Result<Output, Abort> {
        let (table, key) = (self.tables[input.table], place(input.key));
        let mut output = Output::default();
        for step in SEQUENCES[input.sequence] {
            let done = step.run(table, key, txn)?;
            output.more += done.more;
            output.is_blind |= done.is_blind;
            waiter::give_way();
        }
        Ok(output)
    }

    fn committed(&self, ledger: &mut Self::Ledger, input: &Input, output: &Output) {
        assert!(!output.is_blind, "who commits has read its own writes: {input:?}");
        ledger[input.table][input.key as usize] += output.more;
    }

    fn check(&self, view: &impl Quiesced, _: Share, ledgers: &[Self::Ledger]) -> Result<(), Violation> {
        for key in 0..KEYS {
            for (number, &table) in self.tables.iter().enumerate() {
                let rows: i64 = ledgers.iter().map(|ledger| ledger[number][key as usize]).sum();
                let found = i64::from(view.read(table, place(key), Cell::value).is_some());
                if rows != found {
                    return violation(
                        "one wins",
                        format!("key {key}: {found} rows, {rows} by those who won"),
                    );
                }
            }
        }
        let mut last = None;
        view.scan(self.tables[1], place(0)..=place(KEYS - 1), |key, _| {
            assert!(last < Some(key), "keys ascend");
            last = Some(key);
            ControlFlow::Continue(())
        });
        Ok(())
    }
}
