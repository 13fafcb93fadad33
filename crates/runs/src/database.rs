//! Databases whose scheme is not known. A run and a recovery call each of these functions a few times; whatever does
//! not need the type of the scheme is compiled once, above them.

use core::any::Any;
use core::marker::PhantomData;

use durability::Layouts;
use engine::driver::{self, Control, RunOutcome};
use engine::{AnyDatabase, Database, Ledger, Procedures, Program, RowLoader, Scheme, Share, Workload};
use storage::TableMemory;
use workloads::catalogue::{self, VisitWorkload};

use crate::Spec;
use crate::log::{Logs, MaybeLogged, RunLog};

/// A database without the type of its scheme.
pub(crate) trait RunDatabase: AnyDatabase {
    /// The shapes of the tables, as a log describes them.
    fn layouts(&self) -> Layouts;

    /// Returns a loader of rows.
    fn loader(&self) -> Box<dyn RowLoader + '_>;

    /// Asks the system for memory: see [`Database::reserve`].
    fn reserve(&self, bytes: usize, workers: usize);

    /// The use of the memory: see [`Database::memory`].
    fn memory(&self) -> Vec<TableMemory>;

    /// Executes the transactions of a run of this workload, which are logged if there is a log.
    fn drive(
        &self,
        spec: &Spec<'_>,
        workload: &dyn Any,
        control: &Control,
        log: Option<&RunLog>,
    ) -> RunOutcome<Ledger>;

    /// Returns the digest of a share of the rows: see [`View::digest`](engine::View::digest).
    fn digest(&self, share: Share) -> u64;
}

impl<S: Scheme> RunDatabase for Database<S> {
    fn layouts(&self) -> Layouts {
        Layouts::of(self.tables())
    }

    fn loader(&self) -> Box<dyn RowLoader + '_> {
        Box::new(self.word_loader())
    }

    fn reserve(&self, bytes: usize, workers: usize) {
        self.reserve(bytes, workers);
    }

    fn memory(&self) -> Vec<TableMemory> {
        self.memory()
    }

    fn drive(
        &self,
        spec: &Spec<'_>,
        workload: &dyn Any,
        control: &Control,
        log: Option<&RunLog>,
    ) -> RunOutcome<Ledger> {
        let compile = Compile { workload, scheme: PhantomData::<S> };
        let program = catalogue::with(spec.workload, spec.values, compile);
        driver::drive(self, &*program, &spec.job, control, &Logs { db: self, log, control })
    }

    fn digest(&self, share: Share) -> u64 {
        self.quiesced().digest(share)
    }
}

/// Makes the program of a workload for a scheme: all that is compiled for each pair.
struct Compile<'w, S> {
    workload: &'w dyn Any,
    scheme: PhantomData<S>,
}

impl<'w, S: Scheme> VisitWorkload for Compile<'w, S> {
    type Out = Box<dyn Program<S, (), MaybeLogged> + 'w>;

    fn visit<W: Workload>(self) -> Self::Out {
        Box::new(Procedures::<W>(self.workload.downcast_ref().expect("the workload of this name")))
    }
}
