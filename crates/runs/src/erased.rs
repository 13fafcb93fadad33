//! Workloads whose type is not known, with the log and the checks of native runs.

use durability::{Log, LoggedLoader};
use engine::{Groups, Loader, RowView, Share, Workload};
use sync::workers;
use workloads::erased::{AnyWorkload, Erased, ShareCheck};

use crate::CheckVerdict;
use crate::instance::helpers;

/// Shows a quiesced database: calls its argument once.
pub(crate) type Show<'v> = dyn Fn(&mut dyn FnMut(&dyn RowView)) + Sync + 'v;

/// A workload whose rows may be logged.
pub(crate) trait LoggedWorkload: AnyWorkload {
    /// Logs what [`load`](AnyWorkload::load) loads.
    fn log(&self, share: Share, log: &Log);
}

impl<W: Workload> LoggedWorkload for Erased<W> {
    fn log(&self, share: Share, log: &Log) {
        self.0.load(share, &mut LoggedLoader::new(log, &mut Nowhere));
    }
}

/// Checks all shares of a database in parallel.
pub(crate) fn verdict(show: &Show<'_>, check: &ShareCheck<'_>) -> CheckVerdict {
    let of = helpers();
    let found = workers::run(of, false, |index| {
        let mut found = Ok(());
        show(&mut |view| found = check(view, Share { index, of }));
        found
    });
    let violations: Vec<_> = found.into_iter().filter_map(Result::err).collect();
    if violations.is_empty() { CheckVerdict::Passed } else { CheckVerdict::Failed(violations) }
}

/// A loader that discards the rows: they are loaded into the database separately.
struct Nowhere;

impl Loader for Nowhere {
    fn insert<G: Groups>(&mut self, _: G, _: G::Key, _: G::Rows<'_>) {}
}
