//! The microbenchmark on TPC-C's Stock table that came with ERMIA: a transaction reads many rows and writes a few of
//! them (Kim, Wang, Johnson, Pandis: ERMIA: fast memory-optimized database system for heterogeneous workloads, SIGMOD
//! 2016).
//!
//! TABLE        STOCK, the columns that change; read by single keys only.
//! TRANSACTION  Reads a number of different rows: random rows of the table, or consecutive rows from a random row on.
//!              Then writes a share of them.
//! CHECKS       A transaction adds the quantity that it takes from one row to the next row that it writes, and counts
//!              both writes. At each home (a warehouse, or several) the quantities, the moved amounts and the counters
//!              are the sum of the loaded and the committed ones. Rows lie under their keys. A transaction that reads
//!              all rows sees the total quantity.
//! DEPARTURES   (1) The texts of STOCK, which ERMIA keeps in another table and which this benchmark never touches, are
//!              left out. (2) The published program overwrites quantities with random ones; here they are moved, so
//!              that lost updates are detected. (3) The published program rounds the number of rows to write down to an
//!              integer; here the fraction is the share of transactions that write one row more, so that a hundredth of
//!              a row has an effect. (4) The published program draws the rows to write with repetition, near the
//!              beginning of the rows read; here they are different rows, and `stock.writeset` determines their place.

mod forecast;
mod input;
mod rows;
mod settings;
#[cfg(test)]
mod tests;

use engine::setting::{Setting, SettingError, Values};
use engine::{
    Abort, ClientId, Drive, Forecast, Homes, InputFootprint, Key, Loader, Lookup, Quiesced, Schema, Share,
    Table, Transaction, TxnType, Violation, Workload,
};
use stdx::Rng;

use input::delta;
use rows::{HOMES_MAX, Rows, Stock, StockKey};
use settings::{SETTINGS, Settings};

pub use input::Input;

/// The number of rows that are prefetched before they are read, so that their cache misses overlap.
const AHEAD: usize = 32;

/// The workload.
#[derive(Debug)]
pub struct StockTable {
    settings: Settings,
    drive: Drive,
    table: Table<Stock>,
}

/// The writes at a home: their number, the sum of the moved quantities, and the sum of their absolute values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Written {
    count: u64,
    net: i64,
    moved: u64,
}

impl Written {
    fn plus(self, other: Self) -> Self {
        Self {
            count: self.count.wrapping_add(other.count),
            net: self.net.wrapping_add(other.net),
            moved: self.moved.wrapping_add(other.moved),
        }
    }
}

/// The result of a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The sum of the quantities that were read.
    quantity: i64,
    /// The number of rows under another's key.
    misplaced: u64,
    /// The number of rows that were not found.
    missing: u64,
    /// The writes by home.
    written: [Written; HOMES_MAX],
}

/// A worker's counts of its commits.
#[derive(Debug, Default)]
pub struct Ledger {
    written: [Written; HOMES_MAX],
    misplaced: u64,
    missing: u64,
    /// The number of transactions that read all rows and saw another quantity than the total.
    fractured: u64,
    digest: i64,
}

/// A worker's buffers.
#[derive(Debug, Default)]
pub struct Scratch {
    /// The rows to write, with the values that were read.
    chosen: Vec<(StockKey, Stock)>,
}

impl StockTable {
    /// Reads the rows, and keeps the rows to write.
    fn read<T: Transaction>(
        &self,
        input: &Input,
        chosen: &mut Vec<(StockKey, Stock)>,
        output: &mut Output,
        txn: &mut T,
    ) -> Result<(), Abort> {
        let Settings { rows, reads, .. } = self.settings;
        let (walk, mut chooser) = (input.walk(&self.settings), input.chooser(&self.settings));
        let mut keys = [StockKey::NONE; AHEAD];
        for from in (0..reads).step_by(AHEAD) {
            let count = (reads - from).min(AHEAD as u64) as usize;
            for (key, nth) in keys[..count].iter_mut().zip(from..) {
                *key = rows.key(walk.position(nth));
            }
            txn.prefetch(self.table, keys[..count].iter().copied());
            for &key in &keys[..count] {
                let is_chosen = chooser.next();
                let Some(row) = txn.read(self.table, key, |row| *row)? else {
                    output.missing += 1;
                    continue;
                };
                output.quantity = output.quantity.wrapping_add(row.quantity);
                output.misplaced += u64::from(row.key != key.ordered());
                if is_chosen {
                    chosen.push((key, row));
                }
            }
        }
        Ok(())
    }

    /// Writes the chosen rows.
    fn write<T: Transaction>(
        &self,
        input: &Input,
        chosen: &[(StockKey, Stock)],
        output: &mut Output,
        txn: &mut T,
    ) -> Result<(), Abort> {
        let writes = chosen.len() as u64;
        for ((key, seen), nth) in chosen.iter().zip(0..) {
            let delta = delta(input.stamp, nth, writes);
            let was_there = if self.settings.is_blind {
                let mut row = *seen;
                row.take(delta);
                txn.replace(self.table, *key, &row)?
            } else {
                txn.update(self.table, *key, |row| row.take(delta))?.is_some()
            };
            if was_there {
                let written = Written { count: 1, net: delta, moved: delta.unsigned_abs() };
                let at_home = &mut output.written[key.at()];
                *at_home = at_home.plus(written);
            } else {
                output.missing += 1;
            }
        }
        Ok(())
    }

    /// Checks a share, against the commits if they are known.
    fn check_share(
        &self,
        view: &impl Quiesced,
        share: Share,
        ledgers: Option<&[Ledger]>,
    ) -> Result<(), Violation> {
        for home in share.of_range(self.settings.rows.homes()) {
            self.check_home(home, view, ledgers)?;
        }
        if share.index == 0 { self.check_whole(view, ledgers) } else { Ok(()) }
    }

    /// Checks the rows of a home.
    fn check_home(
        &self,
        home: u64,
        view: &impl Quiesced,
        ledgers: Option<&[Ledger]>,
    ) -> Result<(), Violation> {
        let rows = self.settings.rows;
        let positions = rows.of_home(home);
        let mut found = Written::default();
        for position in positions.clone() {
            let key = rows.key(position);
            let Some(row) = view.read(self.table, key, |row| *row) else {
                return violation("loaded rows stay", format!("row {position} is gone"));
            };
            if row.key != key.ordered() {
                return violation("rows lie under their keys", format!("row {position} lies elsewhere"));
            }
            found = found.plus(Written { count: row.order_count, net: row.quantity, moved: row.ytd });
        }
        let Some(ledgers) = ledgers else { return Ok(()) };
        let loaded = Rows::loaded_before(positions.end) - Rows::loaded_before(positions.start);
        let loaded = Written { net: loaded, ..Written::default() };
        let expected = ledgers.iter().fold(loaded, |sum, ledger| sum.plus(ledger.written[home as usize]));
        if found == expected {
            return Ok(());
        }
        let told = format!("home {home} shows {found:?}, but {expected:?} were loaded and committed");
        violation("rows are what was loaded and committed", told)
    }

    /// Checks the conditions of the whole table.
    fn check_whole(&self, view: &impl Quiesced, ledgers: Option<&[Ledger]>) -> Result<(), Violation> {
        let ledgers = ledgers.unwrap_or_default();
        let mut rows = 0;
        view.rows(self.table, Share::WHOLE, |_, _| rows += 1);
        let expected = self.settings.rows.count();
        if rows != expected {
            return violation("there are as many rows as were loaded", format!("{rows} rows of {expected}"));
        }
        let sum = |of: fn(&Ledger) -> u64| ledgers.iter().map(of).sum::<u64>();
        for (condition, count) in [
            ("transactions see rows under their keys", sum(|ledger| ledger.misplaced)),
            ("transactions find every row", sum(|ledger| ledger.missing)),
            ("who reads all rows sees the whole quantity", sum(|ledger| ledger.fractured)),
        ] {
            if count > 0 {
                return violation(condition, format!("violated {count} times"));
            }
        }
        Ok(())
    }
}

fn violation(condition: &'static str, found: String) -> Result<(), Violation> {
    Err(Violation { condition, found })
}

impl Workload for StockTable {
    const NAME: &'static str = "stock";
    const TYPES: &'static [TxnType] =
        &[TxnType { name: "read_write", read_only: false }, TxnType { name: "read_only", read_only: true }];
    const SETTINGS: &'static [Setting] = SETTINGS;
    type Input = Input;
    type Scratch = Scratch;
    type Output = Output;
    type Ledger = Ledger;

    fn declare(values: &Values, drive: Drive, schema: &mut Schema) -> Result<Self, SettingError> {
        let settings = Settings::new(values)?;
        schema.set_homes(settings.rows.homes() as usize);
        let table = schema.table("stock", Lookup::Point, settings.rows.count() as usize).group();
        Ok(Self { settings, drive, table })
    }

    fn forecast(&self) -> Forecast {
        forecast::of(&self.settings, self.drive)
    }

    fn load(&self, share: Share, loader: &mut impl Loader) {
        let rows = self.settings.rows;
        for position in share.of_range(rows.count()) {
            loader.insert(self.table, rows.key(position), &rows.loaded(position));
        }
    }

    fn generate(&self, _: ClientId, _: u64, rng: &mut Rng) -> Input {
        Input::generate(&self.settings, rng)
    }

    fn kind(&self, input: &Input) -> usize {
        usize::from(input.writes == 0)
    }

    fn homes(&self, input: &Input) -> Homes {
        input.homes(&self.settings)
    }

    /// The rows that are written, but of those that are only read a few: a transaction may read all rows.
    fn footprint(&self, input: &Input, footprint: &mut InputFootprint) {
        let Settings { rows, reads, .. } = self.settings;
        let (walk, mut chooser) = (input.walk(&self.settings), input.chooser(&self.settings));
        for nth in 0..reads {
            let key = rows.key(walk.position(nth));
            if chooser.next() {
                footprint.write(self.table, key);
            } else if nth < AHEAD as u64 {
                footprint.read(self.table, key);
            }
        }
    }

    fn execute<T: Transaction>(
        &self,
        input: &Input,
        scratch: &mut Scratch,
        txn: &mut T,
    ) -> Result<Output, Abort> {
        let (chosen, mut output) = (&mut scratch.chosen, Output::default());
        chosen.clear();
        // Allocates only once: no transaction writes more rows.
        chosen.reserve(self.settings.writes_max() as usize);
        txn.decided();
        self.read(input, chosen, &mut output, txn)?;
        self.write(input, chosen, &mut output, txn)?;
        Ok(output)
    }

    fn committed(&self, ledger: &mut Ledger, _: &Input, output: &Output) {
        for (sum, written) in ledger.written.iter_mut().zip(output.written) {
            *sum = sum.plus(written);
        }
        let (rows, reads) = (self.settings.rows, self.settings.reads);
        let reads_all = reads == rows.count();
        ledger.fractured += u64::from(reads_all && output.quantity != Rows::loaded_before(rows.count()));
        ledger.misplaced += output.misplaced;
        ledger.missing += output.missing;
        ledger.digest = ledger.digest.wrapping_add(output.quantity);
    }

    fn check(&self, view: &impl Quiesced, share: Share, ledgers: &[Ledger]) -> Result<(), Violation> {
        self.check_share(view, share, Some(ledgers))
    }

    fn check_state(&self, view: &impl Quiesced, share: Share) -> Result<(), Violation> {
        self.check_share(view, share, None)
    }
}
