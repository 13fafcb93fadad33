//! Claims about wide transactions: an operation costs the same whether it is the thousandth or the
//! hundred-thousandth of its attempt, under every scheme, whatever the attempt keeps of its earlier accesses.

use core::ops::ControlFlow;

use engine::driver::{self, Control, Driver, Job, Limit};
use engine::setting::{Setting, SettingError, Values};
use engine::{
    Abort, ClientId, Direction, Drive, Forecast, Homes, Index, Loader, Lookup, Quiesced, Schema, Scheme,
    Share, Table, Ticket, Transaction, TxnType, Violation, Workload,
};
use stdx::Rng;

use crate::catalogue::{self, Visit};
use crate::tests::common::{ByName, Cell, EFFORT, NameKey, Named, Place, at_home, database, no_forecast};

/// The operations of a wide transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// It scans all rows.
    Scan,
    /// It looks for keys that are missing, most of them in different buckets.
    Misses,
    /// It updates all rows, and scans them.
    Updates,
    /// It scans all rows, and inserts one beside each, in no order.
    Inserts,
    /// Like `Inserts`, from the last row to the first, and rolls back.
    Rollback,
    /// It deletes all rows, and scans what is left.
    Deletes,
    /// It deletes all rows of a table with a secondary index, and inserts them again.
    Returns,
    /// It gives all rows other secondary keys, and scans them by these.
    Moves,
}

/// The table that has rows from the beginning.
enum Needs {
    Ordered,
    Named,
    Nothing,
}

impl Kind {
    fn needs(self) -> Needs {
        match self {
            Self::Misses => Needs::Nothing,
            Self::Returns | Self::Moves => Needs::Named,
            _ => Needs::Ordered,
        }
    }
}

/// The workload: rows with even numbers in tables of each kind. One transaction touches all of them.
#[derive(Debug)]
struct Wide {
    ordered: Table<Cell>,
    point: Table<Cell>,
    named: Table<Named>,
    by_name: Index<Named, ByName>,
    rows: u64,
    kind: Kind,
}

impl Workload for Wide {
    const NAME: &'static str = "wide";
    const TYPES: &'static [TxnType] = &[TxnType { name: "wide", read_only: false }];
    const SETTINGS: &'static [Setting] = &[];
    type Input = Kind;
    type Scratch = ();
    type Output = ();
    type Ledger = ();

    fn declare(_: &Values, _: Drive, schema: &mut Schema) -> Result<Self, SettingError> {
        Ok(Self::of(Kind::Scan, 1, schema))
    }

    fn forecast(&self) -> Forecast {
        no_forecast()
    }

    fn load(&self, share: Share, loader: &mut impl Loader) {
        for number in share.of_range(self.rows) {
            match self.kind.needs() {
                Needs::Ordered => loader.insert(self.ordered, at(number), &Cell::new(number)),
                Needs::Named => loader.insert(self.named, at(number), &Named(number)),
                Needs::Nothing => {}
            }
        }
    }

    fn generate(&self, _: ClientId, _: u64, _: &mut Rng) -> Kind {
        self.kind
    }

    fn kind(&self, _: &Kind) -> usize {
        0
    }

    fn homes(&self, _: &Kind) -> Homes {
        at_home(0)
    }

    fn execute<T: Transaction>(&self, kind: &Kind, (): &mut (), txn: &mut T) -> Result<(), Abort> {
        let rows = self.rows;
        match kind {
            Kind::Scan => assert_eq!(self.scan(txn)?, rows),
            Kind::Misses => {
                for n in 0..rows {
                    assert_eq!(txn.read(self.point, at(n), Cell::value)?, None);
                }
            }
            Kind::Updates => {
                for n in 0..rows {
                    txn.update(self.ordered, at(n), |cell| cell.set(n + 1))?;
                }
                assert_eq!(self.scan(txn)?, rows);
            }
            Kind::Inserts => {
                assert_eq!(self.scan(txn)?, rows);
                self.shuffled().try_for_each(|n| self.insert(n, txn))?;
                assert_eq!(self.scan(txn)?, 2 * rows);
            }
            Kind::Rollback => {
                assert_eq!(self.scan(txn)?, rows);
                (0..rows).rev().try_for_each(|n| self.insert(n, txn))?;
                return Err(Abort::Rollback);
            }
            Kind::Deletes => {
                for n in 0..rows {
                    assert!(txn.delete(self.ordered, at(n))?);
                }
                assert_eq!(self.scan(txn)?, 0);
            }
            Kind::Returns => {
                for n in 0..rows {
                    assert!(txn.delete(self.named, at(n))?);
                }
                for n in 0..rows {
                    assert!(txn.insert(self.named, at(n), &Named(n + 1))?);
                }
            }
            Kind::Moves => {
                for n in 0..rows {
                    txn.update(self.named, at(n), |row| row.0 += rows)?;
                }
                assert_eq!(self.scan_names(txn)?, rows);
            }
        }
        Ok(())
    }

    fn check(&self, _: &impl Quiesced, _: Share, _: &[()]) -> Result<(), Violation> {
        Ok(())
    }
}

/// The place of the row of a number.
fn at(number: u64) -> Place {
    Place::new(0, 2 * number)
}

/// A place between those of rows, which has no row.
fn between(number: u64) -> Place {
    Place::new(0, 2 * number + 1)
}

impl Wide {
    fn of(kind: Kind, rows: u64, schema: &mut Schema) -> Self {
        let mut of_names = schema.table("named", Lookup::Ordered, 0);
        let named = of_names.group();
        let by_name = of_names.index(named, "by_name");
        Self {
            ordered: schema.table("ordered", Lookup::Ordered, 0).group(),
            // As many buckets as the rows fill. Each bucket is a leaf for a search that misses a key.
            point: schema.table("point", Lookup::Point, rows as usize).group(),
            named,
            by_name,
            rows,
            kind,
        }
    }

    fn all(&self) -> core::ops::RangeInclusive<Place> {
        Place::new(0, 0)..=Place::new(0, 4 * self.rows)
    }

    /// The numbers in another order, in which neighbours are far apart.
    fn shuffled(&self) -> impl Iterator<Item = u64> {
        // An odd factor maps them to different numbers.
        let (rows, all) = (self.rows, self.rows.next_power_of_two());
        (0..all).map(move |number| number * 0x9e37_79b1 % all).filter(move |number| *number < rows)
    }

    /// The number of rows that a scan sees.
    fn scan<T: Transaction>(&self, txn: &mut T) -> Result<u64, Abort> {
        let mut seen = 0;
        txn.scan(self.ordered, self.all(), Direction::Forward, |_, _| {
            seen += 1;
            ControlFlow::Continue(())
        })?;
        Ok(seen)
    }

    /// The number of rows that a scan by their names sees.
    fn scan_names<T: Transaction>(&self, txn: &mut T) -> Result<u64, Abort> {
        let mut seen = 0;
        txn.scan_by(self.by_name, NameKey::all(0, 0..=10 * self.rows), Direction::Forward, |_, _| {
            seen += 1;
            ControlFlow::Continue(())
        })?;
        Ok(seen)
    }

    fn insert<T: Transaction>(&self, number: u64, txn: &mut T) -> Result<(), Abort> {
        assert!(txn.insert(self.ordered, between(number), &Cell::new(number))?, "it is missing");
        Ok(())
    }
}

/// Executes one wide transaction of a kind under a scheme; by the scheme's driver where that plans it.
struct Alone {
    kind: Kind,
    rows: u64,
}

impl Visit for Alone {
    type Out = ();

    fn visit<S: Scheme>(self) {
        let (scheme, is_rolled_back) = (S::INFO.name, self.kind == Kind::Rollback);
        let mut schema = Schema::new();
        let wide = Wide::of(self.kind, self.rows, &mut schema);
        let job = Job::new(1, 1, Limit::Requests(1), 1);
        let db = database::<S>(&schema, <S::Driver as Driver<S>>::sessions(&job) + 1, 1);
        db.load(&wide, 1);
        if S::Driver::PLANS {
            let outcome = driver::run(&db, &wide, &job, &Control::new(1));
            let [tally] = &outcome.types[..] else { panic!("there is one type of transaction") };
            let ended = (tally.commits, tally.user_aborts);
            assert_eq!(ended, (u64::from(!is_rolled_back), u64::from(is_rolled_back)), "under {scheme}");
            // A plan that cannot tell what a transaction touches makes it run once more.
            assert!(tally.aborts.iter().sum::<u64>() <= 1, "under {scheme} nobody is in its way");
            return;
        }
        let mut session = db.session();
        let ended =
            session.attempt(&Ticket::new(0, at_home(0)), |txn| wide.execute(&self.kind, &mut (), txn));
        let expected = if is_rolled_back { Err(Abort::Rollback) } else { Ok(()) };
        assert_eq!(ended, expected, "under {scheme} nobody is in its way");
    }
}

/// Runs each of the kinds alone, over `rows` rows, under every scheme: in one attempt.
fn check(kinds: &[Kind], rows: u64) {
    for info in catalogue::infos() {
        for &kind in kinds {
            let ended = catalogue::with(info.name, Alone { kind, rows });
            ended.expect("a scheme of the catalogue");
        }
    }
}

/// The test would take minutes if each leaf were compared with all before it, since a missing key stands for a
/// leaf.
#[test]
fn tens_of_thousands_of_rows_and_misses_are_read_in_one_attempt() {
    check(&[Kind::Scan, Kind::Misses], 20_000 * EFFORT);
}

/// The test would take minutes if each row that is moved, deleted or inserted were compared with all others that
/// are.
#[test]
fn many_rows_are_written_moved_and_read_again_in_one_attempt() {
    check(&[Kind::Updates, Kind::Inserts, Kind::Rollback, Kind::Deletes, Kind::Returns, Kind::Moves], 5_000);
}
