//! The loading of a run, which ends early if the run is interrupted.
//!
//! A workload loads its share in loops of its own, which know nothing of runs. So the loader that it gets leaves them
//! by unwinding, between two rows, and the loops need no way out.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use engine::RowLoader;
use engine::driver::Control;
use storage::{AnyKey, TableId};
use workloads::erased::AnyWorkload;

use crate::database::RunDatabase;

/// Loads the rows of a workload by several workers. Returns `false` if the run was interrupted before all were loaded;
/// then the database is good for nothing.
pub(crate) fn load(
    db: &dyn RunDatabase,
    workload: &dyn AnyWorkload,
    loaders: usize,
    control: &Control,
) -> bool {
    let all = || {
        db.load_rows(loaders, &|share, rows| workload.load(share, &mut Interruptible { rows, control }));
    };
    // The database is not used after an interruption, whatever its state.
    match catch_unwind(AssertUnwindSafe(all)) {
        Ok(()) => true,
        Err(panic) if panic.is::<Interrupted>() => false,
        Err(panic) => resume_unwind(panic),
    }
}

/// The payload of the unwinding.
struct Interrupted;

/// A loader that unwinds once the run is interrupted.
struct Interruptible<'l> {
    rows: &'l mut dyn RowLoader,
    control: &'l Control,
}

impl RowLoader for Interruptible<'_> {
    fn insert_row(&mut self, table: TableId, key: AnyKey, groups: &[u64]) {
        if self.control.is_interrupted() {
            // Unlike `panic!`, this prints nothing.
            resume_unwind(Box::new(Interrupted));
        }
        self.rows.insert_row(table, key, groups);
    }
}
