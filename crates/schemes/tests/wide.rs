//! Wide transactions: whatever an attempt keeps of what it has touched, an operation costs the same whether it is
//! the thousandth or the hundred-thousandth of its attempt, under every scheme.

mod common;

use core::ops::ControlFlow;

use common::{ByName, Cell, NameKey, Named, Place, at_home, database, no_forecast};
use engine::driver::{self, Control, Driver, Job, Limit};
use engine::setting::{Setting, SettingError, Values};
use engine::{
    Abort, ClientId, Direction, Drive, Forecast, Homes, Index, Loader, Lookup, Quiesced, Schema, Scheme,
    Share, Table, Ticket, Transaction, TxnType, Violation, Workload,
};
use schemes::catalogue::{self, Visit};
use stdx::Rng;
use sync::clock;

/// What a wide transaction does to all rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Scan,
    ScanBack,
    ScanTwice,
    Misses,
    PointMisses,
    Reads,
    Updates,
    UpdatesDown,
    UpdatesShuffled,
    Replaces,
    Adds,
    UpdateScan,
    ScanUpdate,
    Inserts,
    InsertsDown,
    InsertsShuffled,
    PointInserts,
    InsertScan,
    ScanInserts,
    ScanInsertsShuffled,
    Rollback,
    DeleteScan,
    DeleteInsert,
    DeleteInsertDown,
    InsertDelete,
    NamedInserts,
    NamedDeleteInsert,
    Moves,
    MovesBack,
    MovesScan,
    Records,
}

const KINDS: &[Kind] = &[
    Kind::Scan,
    Kind::ScanBack,
    Kind::ScanTwice,
    Kind::Misses,
    Kind::PointMisses,
    Kind::Reads,
    Kind::Updates,
    Kind::UpdatesDown,
    Kind::UpdatesShuffled,
    Kind::Replaces,
    Kind::Adds,
    Kind::UpdateScan,
    Kind::ScanUpdate,
    Kind::Inserts,
    Kind::InsertsDown,
    Kind::InsertsShuffled,
    Kind::PointInserts,
    Kind::InsertScan,
    Kind::ScanInserts,
    Kind::ScanInsertsShuffled,
    Kind::Rollback,
    Kind::DeleteScan,
    Kind::DeleteInsert,
    Kind::DeleteInsertDown,
    Kind::InsertDelete,
    Kind::NamedInserts,
    Kind::NamedDeleteInsert,
    Kind::Moves,
    Kind::MovesBack,
    Kind::MovesScan,
    Kind::Records,
];

/// Which table has rows from the beginning.
enum Needs {
    Ordered,
    Point,
    Named,
    Nothing,
}

impl Kind {
    fn needs(self) -> Needs {
        match self {
            Self::Reads | Self::UpdatesShuffled | Self::Replaces | Self::Adds => Needs::Point,
            Self::NamedDeleteInsert | Self::Moves | Self::MovesBack | Self::MovesScan => Needs::Named,
            Self::PointMisses | Self::PointInserts | Self::NamedInserts | Self::Records => Needs::Nothing,
            _ => Needs::Ordered,
        }
    }
}

/// The workload: rows with even numbers in tables of each kind, which one transaction touches all.
#[derive(Debug)]
struct Wide {
    ordered: Table<Cell>,
    point: Table<Cell>,
    heap: Table<Cell>,
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
                Needs::Point => loader.insert(self.point, at(number), &Cell::new(number)),
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
        self.execute_kind(*kind, txn)
    }

    fn check(&self, _: &impl Quiesced, _: Share, _: &[()]) -> Result<(), Violation> {
        Ok(())
    }
}

/// The place of the row of a number.
fn at(number: u64) -> Place {
    Place::new(0, 2 * number)
}

/// A place between those of rows.
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
            // As many buckets as the rows fill, which are leaves for those who miss keys.
            point: schema.table("point", Lookup::Point, rows as usize).group(),
            heap: schema.table("heap", Lookup::Heap, 0).group(),
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
        let rows = self.rows;
        (0..rows)
            .map(move |number| number.wrapping_mul(0x9e37_79b1) % rows.next_power_of_two())
            .filter(move |n| *n < rows)
    }

    fn scan<T: Transaction>(&self, txn: &mut T, direction: Direction) -> Result<u64, Abort> {
        let mut seen = 0;
        txn.scan(self.ordered, self.all(), direction, |_, _| {
            seen += 1;
            ControlFlow::Continue(())
        })?;
        Ok(seen)
    }

    fn scan_names<T: Transaction>(&self, txn: &mut T) -> Result<u64, Abort> {
        let mut seen = 0;
        txn.scan_by(self.by_name, NameKey::all(0, 0..=10 * self.rows), Direction::Forward, |_, _| {
            seen += 1;
            ControlFlow::Continue(())
        })?;
        Ok(seen)
    }

    fn execute_kind<T: Transaction>(&self, kind: Kind, txn: &mut T) -> Result<(), Abort> {
        let rows = self.rows;
        let add = |cell: &mut Cell| cell.set(cell.value() + 1);
        match kind {
            Kind::Scan => assert_eq!(self.scan(txn, Direction::Forward)?, rows),
            Kind::ScanBack => assert_eq!(self.scan(txn, Direction::Backward)?, rows),
            Kind::ScanTwice => {
                assert_eq!(self.scan(txn, Direction::Forward)?, rows);
                assert_eq!(self.scan(txn, Direction::Forward)?, rows);
            }
            Kind::Misses => {
                for n in 0..rows {
                    assert!(txn.read(self.ordered, between(n), Cell::value)?.is_none());
                }
            }
            Kind::PointMisses => {
                for n in 0..rows {
                    assert!(txn.read(self.point, between(n), Cell::value)?.is_none());
                }
            }
            Kind::Reads => {
                for _ in 0..2 {
                    for n in 0..rows {
                        assert!(txn.read(self.point, at(n), Cell::value)?.is_some());
                    }
                }
            }
            Kind::Updates => (0..rows).try_for_each(|n| txn.update(self.ordered, at(n), add).map(drop))?,
            Kind::UpdatesDown => {
                (0..rows).rev().try_for_each(|n| txn.update(self.ordered, at(n), add).map(drop))?;
            }
            Kind::UpdatesShuffled => {
                self.shuffled().try_for_each(|n| txn.update(self.point, at(n), add).map(drop))?;
            }
            Kind::Replaces => {
                (0..rows).try_for_each(|n| txn.replace(self.point, at(n), &Cell::new(n)).map(drop))?;
            }
            Kind::Adds => {
                (0..rows).try_for_each(|n| txn.add(self.point, at(n), |cell| cell.set(1)).map(drop))?
            }
            Kind::UpdateScan => {
                (0..rows).try_for_each(|n| txn.update(self.ordered, at(n), add).map(drop))?;
                assert_eq!(self.scan(txn, Direction::Forward)?, rows);
            }
            Kind::ScanUpdate => {
                assert_eq!(self.scan(txn, Direction::Forward)?, rows);
                (0..rows).try_for_each(|n| txn.update(self.ordered, at(n), add).map(drop))?;
            }
            Kind::Inserts | Kind::InsertScan | Kind::ScanInserts | Kind::Rollback | Kind::InsertDelete => {
                if kind == Kind::ScanInserts {
                    assert_eq!(self.scan(txn, Direction::Forward)?, rows);
                }
                for n in 0..rows {
                    assert!(txn.insert(self.ordered, between(n), &Cell::new(n))?);
                }
                if kind == Kind::InsertScan {
                    assert_eq!(self.scan(txn, Direction::Forward)?, 2 * rows);
                }
                if kind == Kind::InsertDelete {
                    for n in 0..rows {
                        assert!(txn.delete(self.ordered, between(n))?);
                    }
                }
                if kind == Kind::Rollback {
                    return Err(Abort::Rollback);
                }
            }
            Kind::InsertsDown => {
                for n in (0..rows).rev() {
                    assert!(txn.insert(self.ordered, between(n), &Cell::new(n))?);
                }
            }
            Kind::InsertsShuffled | Kind::ScanInsertsShuffled => {
                if kind == Kind::ScanInsertsShuffled {
                    assert_eq!(self.scan(txn, Direction::Forward)?, rows);
                }
                for n in self.shuffled() {
                    assert!(txn.insert(self.ordered, between(n), &Cell::new(n))?);
                }
            }
            Kind::PointInserts => {
                for n in 0..rows {
                    assert!(txn.insert(self.point, between(n), &Cell::new(n))?);
                }
            }
            Kind::DeleteScan | Kind::DeleteInsert | Kind::DeleteInsertDown => {
                for n in 0..rows {
                    assert!(txn.delete(self.ordered, at(n))?);
                }
                let again = |txn: &mut T, n| {
                    txn.insert(self.ordered, at(n), &Cell::new(n)).map(|is_new| assert!(is_new))
                };
                match kind {
                    Kind::DeleteScan => assert_eq!(self.scan(txn, Direction::Forward)?, 0),
                    Kind::DeleteInsert => (0..rows).try_for_each(|n| again(txn, n))?,
                    _ => (0..rows).rev().try_for_each(|n| again(txn, n))?,
                }
            }
            Kind::NamedInserts => {
                for n in 0..rows {
                    assert!(txn.insert(self.named, between(n), &Named(n))?);
                }
            }
            Kind::NamedDeleteInsert => {
                for n in 0..rows {
                    assert!(txn.delete(self.named, at(n))?);
                }
                for n in 0..rows {
                    assert!(txn.insert(self.named, at(n), &Named(n + 1))?);
                }
            }
            Kind::Moves | Kind::MovesBack | Kind::MovesScan => {
                for n in 0..rows {
                    txn.update(self.named, at(n), |row| row.0 += rows)?;
                }
                if kind == Kind::MovesBack {
                    for n in 0..rows {
                        txn.update(self.named, at(n), |row| row.0 -= rows)?;
                    }
                }
                if kind == Kind::MovesScan {
                    assert_eq!(self.scan_names(txn)?, rows);
                }
            }
            Kind::Records => {
                for n in 0..rows {
                    assert!(txn.insert(self.heap, at(n), &Cell::new(n))?);
                }
            }
        }
        Ok(())
    }
}

/// Executes one wide transaction of a kind under a scheme, where it is planned as it is by its driver, and says how many
/// nanoseconds of processor time it took unless it was planned.
struct Alone {
    kind: Kind,
    rows: u64,
}

impl Visit for Alone {
    type Out = u64;

    fn visit<S: Scheme>(self) -> u64 {
        let (scheme, is_rolled_back) = (S::INFO.name, self.kind == Kind::Rollback);
        let mut schema = Schema::new();
        let wide = Wide::of(self.kind, self.rows, &mut schema);
        let job = Job::new(1, 1, Limit::Requests(1), 1);
        let db = database::<S>(&schema, <S::Driver as Driver<S>>::sessions(&job) + 1, 1);
        db.load(&wide, 1);
        if S::PLANS {
            let outcome = driver::run(&db, &wide, &job, &Control::new(1));
            let [tally] = &outcome.types[..] else { panic!("there is one type of transaction") };
            let ended = (tally.commits, tally.user_aborts);
            assert_eq!(ended, (u64::from(!is_rolled_back), u64::from(is_rolled_back)), "under {scheme}");
            // A plan that cannot say what a transaction touches has it run once more.
            assert!(tally.aborts.iter().sum::<u64>() <= 1, "under {scheme} nobody is in its way");
            return 0;
        }
        let mut session = db.session();
        let start_ns = clock::thread_cpu_ns();
        let ended = session.attempt(&Ticket::new(0, at_home(0)), |txn| wide.execute_kind(self.kind, txn));
        let expected = if is_rolled_back { Err(Abort::Rollback) } else { Ok(()) };
        assert_eq!(ended, expected, "under {scheme} nobody is in its way");
        clock::thread_cpu_ns() - start_ns
    }
}

/// Each of the kinds, alone, over so many rows, under every scheme: in one attempt.
fn check(kinds: &[Kind], rows: u64) {
    for info in catalogue::INFO {
        for &kind in kinds {
            let ended = catalogue::with(info.name, Alone { kind, rows });
            ended.expect("a scheme of the catalogue");
        }
    }
}

/// It would take minutes if each leaf were compared with all before it, since a key that is missing stands for one.
#[test]
fn a_hundred_thousand_rows_and_misses_are_read_in_one_attempt() {
    check(&[Kind::Scan, Kind::PointMisses], 100_000);
}

/// It would take minutes if each row that is moved, deleted or inserted were compared with all others that are.
#[test]
fn many_rows_are_written_moved_and_read_again_in_one_attempt() {
    check(&[Kind::UpdateScan, Kind::ScanInsertsShuffled, Kind::DeleteScan], 10_000);
    check(&[Kind::NamedDeleteInsert, Kind::MovesScan, Kind::Rollback], 10_000);
}

/// For those who look for what grows with the width of transactions: by name of a scheme or of a kind, or for all.
#[test]
#[ignore = "prints what operations cost, to be looked at"]
fn costs() {
    let only = ["WIDE_SCHEME", "WIDE_KIND"].map(|name| std::env::var(name).unwrap_or_default());
    for info in catalogue::INFO.iter().filter(|info| only[0].is_empty() || only[0] == info.name) {
        for &kind in KINDS.iter().filter(|kind| only[1].is_empty() || only[1] == format!("{kind:?}")) {
            let costs = [1_000, 32_000].map(|rows| {
                let took = |_| catalogue::with(info.name, Alone { kind, rows }).expect("a known scheme");
                let least_ns = (0..32_000 / rows.max(10_000)).map(took).min().expect("one at least");
                least_ns / rows
            });
            println!(
                "{} {kind:?}: {} ns an operation, {} in a wide transaction",
                info.name, costs[0], costs[1]
            );
        }
    }
}
