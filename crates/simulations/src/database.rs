//! Databases whose scheme is not known. A simulation calls each of these functions a few times; whatever does not need
//! the type of the scheme is compiled once, above them.

use core::any::Any;
use core::marker::PhantomData;
use core::ops::Range;

use engine_sim::driver::{self, Control, Job, RunOutcome};
use engine_sim::setting::Values;
use engine_sim::{
    AnyDatabase, Database, ImplicitRows, Ledger, Procedures, Program, Recorder, Records, RowLoader, Scheme,
    Share, TableId, Workload,
};
use storage_sim::TableStore;
use workloads_sim::catalogue::{self, VisitWorkload};

use crate::SimulationSpec;

/// A database without the type of its scheme.
pub(crate) trait SimulatedDatabase: AnyDatabase {
    /// The numbers of all tables.
    fn tables(&self) -> Vec<TableId>;

    /// Makes all rows that nobody has looked at: see [`Database::make_all_rows`].
    fn make_all_rows(&self, load: &dyn Fn(Share, &mut dyn RowLoader), rows: &dyn ImplicitRows);

    /// Executes the transactions of a run of this workload.
    fn drive(
        &self,
        spec: &SimulationSpec<'_>,
        values: &Values,
        workload: &dyn Any,
        job: &Job,
    ) -> RunOutcome<Ledger>;

    /// Returns the name of the part of the database or of the scheme whose words are in the cache line at an address.
    fn part(&self, line: usize, line_bytes: usize) -> String;

    /// Tells the place of each record: the name of its table, the number of its row, and its addresses.
    fn each_record(&self, tell: &mut dyn FnMut(&str, u64, Range<usize>));
}

/// The observer of trials, switched off. Simulated runs and explored trials then have one type of session, which is
/// compiled once for each scheme.
type Unobserved = Option<Recorder<'static>>;

/// Gives sessions this observer.
const UNOBSERVED: Option<&Records> = None;

impl<S: Scheme> SimulatedDatabase for Database<S> {
    fn tables(&self) -> Vec<TableId> {
        self.tables().iter().map(TableStore::id).collect()
    }

    fn make_all_rows(&self, load: &dyn Fn(Share, &mut dyn RowLoader), rows: &dyn ImplicitRows) {
        self.make_all_rows(load, rows);
    }

    fn drive(
        &self,
        spec: &SimulationSpec<'_>,
        values: &Values,
        workload: &dyn Any,
        job: &Job,
    ) -> RunOutcome<Ledger> {
        let compile = Compile { workload, scheme: PhantomData::<S> };
        let program = catalogue::with(spec.workload, values, compile);
        // In the simulated heap, as all words that workers share.
        let control = Box::new(Control::new(job.workers));
        driver::drive(self, &*program, job, &control, &UNOBSERVED)
    }

    fn part(&self, line: usize, line_bytes: usize) -> String {
        let scheme = core::ptr::from_ref(self.scheme()).addr();
        let has_scheme = scheme < line + line_bytes && scheme + size_of::<S>() > line;
        let of_scheme = has_scheme.then(|| "words of the scheme itself".to_owned());
        let part = of_scheme.or_else(|| self.tables().part_at(line));
        part.unwrap_or_else(|| "memory of the scheme or of its driver".to_owned())
    }

    fn each_record(&self, tell: &mut dyn FnMut(&str, u64, Range<usize>)) {
        for table in self.tables().iter() {
            let mut number = 0_u64;
            table.for_each_row(0, 1, |row| {
                for record in row.records() {
                    // The header stands in front of the words.
                    let bytes = (1 + record.width()) * size_of::<u64>();
                    tell(table.name(), number, record.id()..record.id() + bytes);
                }
                number += 1;
            });
        }
    }
}

/// Makes the program of a workload for a scheme: all that is compiled for each pair.
struct Compile<'w, S> {
    workload: &'w dyn Any,
    scheme: PhantomData<S>,
}

impl<'w, S: Scheme> VisitWorkload for Compile<'w, S> {
    type Out = Box<dyn Program<S, Unobserved, ()> + 'w>;

    fn visit<W: Workload>(self) -> Self::Out {
        Box::new(Procedures::<W>(self.workload.downcast_ref().expect("the workload of this name")))
    }
}
