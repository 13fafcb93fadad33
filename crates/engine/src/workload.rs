//! The contract of a workload: tables, inputs, procedures and checks, written once for all schemes.

use core::fmt;
use core::ops::{ControlFlow, RangeBounds};

use stdx::Rng;
use storage::{Groups, ImplicitRows, Index, IndexOn, Row, Schema, Table};
use sync::Arc;

use crate::setting::{Setting, SettingError, Values};
use crate::{Abort, InputFootprint, Transaction};

/// A type of transaction of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxnType {
    /// The name used in reports, for example `new_order`.
    pub name: &'static str,
    /// Whether it writes nothing.
    pub read_only: bool,
}

/// The waits of a client around a request of some type, when it keeps to the workload's pace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// Nanoseconds before the request is sent: keying time.
    pub before_ns: u64,
    /// Mean nanoseconds after the answer: think time. Distributed exponentially, up to ten times the mean.
    pub after_mean_ns: u64,
}

impl Pace {
    /// No wait at all.
    pub const NONE: Self = Self { before_ns: 0, after_mean_ns: 0 };
}

/// A logical session: the source of a sequence of inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientId(pub u32);

/// One of several equal parts of a job, for example of loading.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// The number of this part, from 0.
    pub index: usize,
    /// The number of parts.
    pub of: usize,
}

impl Share {
    /// The whole job.
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    /// This part's contiguous sub-range of `0..count`; the parts cover it without overlap.
    pub fn of_range(self, count: u64) -> core::ops::Range<u64> {
        let (index, of) = (self.index as u128, self.of as u128);
        let cut = |i: u128| (u128::from(count) * i / of) as u64;
        cut(index)..cut(index + 1)
    }
}

/// The home partitions (see [`storage::Home`]) that an input will touch, for partition-owned schemes: a small set
/// without allocation, or all homes that there are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Homes {
    are_all: bool,
    len: usize,
    list: [u64; Self::MAX],
}

impl Homes {
    /// The maximum number of homes in a set that lists them.
    pub const MAX: usize = 16;

    /// Returns an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the set of all homes: for an input that may touch any of them, because which ones is found only during
    /// the execution, or because they are more than [`Self::MAX`].
    pub fn all() -> Self {
        Self { are_all: true, ..Self::default() }
    }

    /// Adds a home unless the set has it already.
    ///
    /// # Panics
    /// When the set already lists [`Self::MAX`] others.
    pub fn add(&mut self, home: u64) {
        if !self.are_all && !self.list[..self.len].contains(&home) {
            assert!(self.len < Self::MAX, "a set lists at most {} homes", Self::MAX);
            self.list[self.len] = home;
            self.len += 1;
        }
    }

    /// The homes, in the order of their addition. `None` if the set has all homes.
    pub fn listed(&self) -> Option<&[u64]> {
        (!self.are_all).then_some(&self.list[..self.len])
    }
}

/// Puts the first rows into an empty database.
pub trait Loader {
    /// Inserts a row whose key is new.
    ///
    /// # Panics
    /// When the key is there already: a loader that repeats itself is a wrong program.
    fn insert<G: Groups>(&mut self, table: G, key: G::Key, rows: G::Rows<'_>);
}

/// A database in which no transaction runs: the view of the checks.
pub trait Quiesced {
    /// Reads a row.
    fn read<R: Row + ?Sized, O>(&self, table: Table<R>, key: R::Key, see: impl FnOnce(&R) -> O) -> Option<O>;

    /// Visits rows by key range, in order; ordered tables only.
    fn scan<R: Row + ?Sized>(
        &self,
        table: Table<R>,
        keys: impl RangeBounds<R::Key>,
        see: impl FnMut(R::Key, &R) -> ControlFlow<()>,
    );

    /// Visits a share of all rows of a heap table, in no particular order.
    fn heap<R: Row + ?Sized>(&self, table: Table<R>, share: Share, see: impl FnMut(&R));

    /// Visits a share of all rows of a table with a primary index, in no particular order.
    fn rows<R: Row + ?Sized>(&self, table: Table<R>, share: Share, see: impl FnMut(R::Key, &R));

    /// Visits the entries of a secondary index by key range, in order. Entries without a live row are
    /// left out.
    fn scan_by<R: Row, I: IndexOn<R>>(
        &self,
        index: Index<R, I>,
        keys: impl RangeBounds<I::Key>,
        see: impl FnMut(I::Key, &R) -> ControlFlow<()>,
    );
}

/// A violation that a consistency check found, in words, with the keys that show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The condition, for example `TPC-C 3.3.2.1`.
    pub condition: &'static str,
    /// The finding, and the expectation.
    pub found: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.condition, self.found)
    }
}

/// A statement before a run: what its settings stress, in plain words, and how much memory it needs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forecast {
    /// Sentences for `contend explain`.
    pub sentences: Vec<String>,
    /// Bytes of rows after loading, without indexes and headers.
    pub row_bytes: u64,
    /// Rows after loading.
    pub rows: u64,
    /// Bytes of rows that a committed transaction adds, in the mean, without indexes and headers.
    pub growth_bytes: u64,
    /// Rows that a committed transaction adds, in the mean.
    pub growth_rows: f64,
    /// The part of the rows after loading that a simulated run need not load; `None` if there is none.
    pub implicit: Option<ImplicitForecast>,
    /// The workload's settings that change nothing under its other settings, whatever their values: the length of
    /// transactions that the mix does not have, for example.
    pub idle: Vec<&'static str>,
    /// Quantities that follow from the settings, by name: conclusions are better stated in them than in the settings.
    /// The same names under all settings of a workload.
    pub features: Vec<(&'static str, f64)>,
}

/// A statement about [implicit rows](Workload::implicit) before a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ImplicitForecast {
    /// The implicit rows.
    pub rows: u64,
    /// Bytes of these rows, without indexes and headers.
    pub row_bytes: u64,
    /// Implicit rows that a committed transaction touches, in the mean, if no other has touched them.
    pub touched_rows: f64,
    /// Bytes of these rows.
    pub touched_bytes: f64,
}

/// The part of a run's settings that the workload may know.
#[derive(Clone, Copy, Debug)]
pub struct Drive {
    /// Threads that execute.
    pub workers: u32,
    /// Logical sessions in flight.
    pub clients: u32,
    /// The run's seed: the same inputs for every scheme and any number of workers.
    pub seed: u64,
}

/// A benchmark: tables, inputs, procedures, checks.
pub trait Workload: Sized + Send + Sync + 'static {
    /// The name on the command line.
    const NAME: &'static str;
    /// Its types of transaction.
    const TYPES: &'static [TxnType];
    /// Its settings; all names begin with `NAME.`.
    const SETTINGS: &'static [Setting];
    /// Whether the stored procedures are compiled once for all schemes, over an
    /// [`ErasedAttempt`](crate::ErasedAttempt), and not once for each. A statement then costs a few nanoseconds more:
    /// for workloads of much code, whose statements do much.
    const COMPILED_ONCE: bool = false;
    /// The request that a client sends: a plain value that can be executed again.
    type Input: Clone + Send + Sync + 'static;
    /// A worker's private buffers, so that procedures allocate nothing.
    type Scratch: Default + Send + 'static;
    /// The result that a committed transaction returns to its client, which may be another worker's.
    type Output: Send + 'static;
    /// A worker's counts of its commits, for the checks after the run.
    type Ledger: Default + Send + Sync + 'static;

    /// Takes the settings (already known to be in range) and refuses those that contradict each other;
    /// declares the tables.
    fn declare(values: &Values, drive: Drive, schema: &mut Schema) -> Result<Self, SettingError>;

    /// The number of clients, if these settings make them terminals of people, who keep to the workload's
    /// [`pace`](Self::pace).
    fn terminals(_values: &Values) -> Option<u64> {
        None
    }

    /// The waits of a terminal around a request of a type.
    fn pace(&self, _kind: usize) -> Pace {
        Pace::NONE
    }

    /// States what the settings stress and how much they load.
    fn forecast(&self) -> Forecast;

    /// Loads this share of the initial rows. Every row is a pure function of (seed, table, key).
    fn load(&self, share: Share, loader: &mut impl Loader);

    /// The rows of the tables that need not be loaded if the run is simulated: they are the rows that
    /// [`load`](Self::load) inserts into these tables. `None` if all tables are always loaded.
    fn implicit(&self) -> Option<Arc<dyn ImplicitRows>> {
        None
    }

    /// Loads this share of the initial rows of the tables that are not [implicit](Self::implicit).
    fn load_explicit(&self, share: Share, loader: &mut impl Loader) {
        self.load(share, loader);
    }

    /// Generates a client's request number `sequence`, counted from 0; `rng` is derived from (seed, client, sequence),
    /// so that requests can be generated ahead and in any order. A request may follow from what the workload has heard
    /// of in [`committed`](Self::committed), if the workload says so; each request is generated once.
    fn generate(&self, client: ClientId, sequence: u64, rng: &mut Rng) -> Self::Input;

    /// The input's type, an index into [`Self::TYPES`].
    fn kind(&self, input: &Self::Input) -> usize;

    /// The homes that the input touches.
    fn homes(&self, input: &Self::Input) -> Homes;

    /// Adds the rows that the input is known to touch before it is executed. Requests are placed by it if they are
    /// [reordered](crate::driver::Reorder): rows that are never written, and rows that are found only during the
    /// execution, may be left out. Schemes that [plan](crate::Planning) do not rehearse an input that
    /// [states](InputFootprint::complete) all that it touches. By default no row is known.
    fn footprint(&self, _input: &Self::Input, _footprint: &mut InputFootprint) {}

    /// The stored procedure.
    fn execute<T: Transaction>(
        &self,
        input: &Self::Input,
        scratch: &mut Self::Scratch,
        txn: &mut T,
    ) -> Result<Self::Output, Abort>;

    /// The next transaction of the same request, which the client sends at once after this one has committed: for
    /// requests that are several transactions. A request has committed, and its latency ends, with the last of them.
    /// The rest of a request is not sent when the run ends before.
    #[inline]
    fn rest(&self, _input: &Self::Input, _output: &Self::Output) -> Option<Self::Input> {
        None
    }

    /// Returns the share of each type among the commits of a long run, if requests of some types follow from the
    /// commits of others. By default the share of a type is that among the requests that are drawn.
    fn shares(&self) -> Option<Vec<f64>> {
        None
    }

    /// Hears of each commit, warm-up included.
    fn committed(&self, _ledger: &mut Self::Ledger, _input: &Self::Input, _output: &Self::Output) {}

    /// Checks this share of the database after a run; `ledgers` are those of all workers, empty right
    /// after loading.
    fn check(&self, view: &impl Quiesced, share: Share, ledgers: &[Self::Ledger]) -> Result<(), Violation>;

    /// Checks in this share what must hold whichever requests were committed: for a recovered database, whose ledgers
    /// were not kept.
    fn check_state(&self, _view: &impl Quiesced, _share: Share) -> Result<(), Violation> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cover_a_range_without_overlap() {
        for count in [0, 1, 7, 100] {
            let parts = (0..3).flat_map(|index| Share { index, of: 3 }.of_range(count));
            assert!(parts.eq(0..count));
        }
    }

    #[test]
    fn homes_are_a_set() {
        let mut homes = Homes::new();
        for home in [3, 1, 3] {
            homes.add(home);
        }
        assert_eq!(homes.listed(), Some([3, 1].as_slice()));
        assert_eq!(Homes::new().listed(), Some([].as_slice()));
    }

    #[test]
    fn all_homes_are_never_a_list() {
        let mut homes = Homes::all();
        (0..2 * Homes::MAX as u64).for_each(|home| homes.add(home));
        assert_eq!(homes.listed(), None);
    }
}
