//! Workloads whose type is not known: loading and checking, which go over words. Each workload has one copy of this
//! code, and not one for each scheme.

use core::any::Any;

use durability::{Log, LoggedLoader};
use engine::{
    Groups, Ledger, Loader, RowLoader, RowView, Share, TypedLoader, TypedView, Violation, Workload,
};
use sync::workers;

use crate::CheckVerdict;
use crate::instance::helpers;

/// Shows a quiesced database: calls its argument once.
pub(crate) type Show<'v> = dyn Fn(&mut dyn FnMut(&dyn RowView)) + Sync + 'v;

/// A workload without its type.
pub(crate) trait AnyWorkload: Sync {
    /// The workload.
    fn as_any(&self) -> &dyn Any;

    /// Loads a share of the first rows: see [`Workload::load`].
    fn load(&self, share: Share, rows: &mut dyn RowLoader);

    /// Logs what [`load`](Self::load) loads.
    fn log(&self, share: Share, log: &Log);

    /// Checks all shares in parallel: see [`Workload::check`].
    fn check(&self, ledgers: Vec<Ledger>, show: &Show<'_>) -> CheckVerdict;

    /// Checks all shares in parallel: see [`Workload::check_state`].
    fn check_state(&self, show: &Show<'_>) -> CheckVerdict;
}

/// The workload of a type.
pub(crate) struct Erased<W>(pub(crate) W);

impl<W: Workload> AnyWorkload for Erased<W> {
    fn as_any(&self) -> &dyn Any {
        &self.0
    }

    fn load(&self, share: Share, rows: &mut dyn RowLoader) {
        self.0.load(share, &mut TypedLoader::new(rows));
    }

    fn log(&self, share: Share, log: &Log) {
        self.0.load(share, &mut LoggedLoader::new(log, &mut Nowhere));
    }

    fn check(&self, ledgers: Vec<Ledger>, show: &Show<'_>) -> CheckVerdict {
        let ledgers: Vec<W::Ledger> = ledgers.into_iter().map(Ledger::into_inner::<W>).collect();
        verdict(show, &|view, share| self.0.check(&TypedView(view), share, &ledgers))
    }

    fn check_state(&self, show: &Show<'_>) -> CheckVerdict {
        verdict(show, &|view, share| self.0.check_state(&TypedView(view), share))
    }
}

/// Checks a share of a database.
type Check<'c> = dyn Fn(&dyn RowView, Share) -> Result<(), Violation> + Sync + 'c;

/// Checks all shares of a database in parallel.
fn verdict(show: &Show<'_>, check: &Check<'_>) -> CheckVerdict {
    let of = helpers();
    let found = workers::run(of, false, |index| {
        let mut found = Ok(());
        show(&mut |view| found = check(view, Share { index, of }));
        found
    });
    let violations: Vec<Violation> = found.into_iter().filter_map(Result::err).collect();
    if violations.is_empty() { CheckVerdict::Passed } else { CheckVerdict::Failed(violations) }
}

/// A loader that discards the rows: they are loaded into the database separately.
struct Nowhere;

impl Loader for Nowhere {
    fn insert<G: Groups>(&mut self, _: G, _: G::Key, _: G::Rows<'_>) {}
}
