//! Workloads whose type is not known: loading and checking, which go over words. Each workload has one copy of this
//! code, and not one for each scheme.

use core::any::Any;

use engine::{ImplicitRows, Ledger, RowLoader, RowView, Share, TypedLoader, TypedView, Violation, Workload};
use sync::Arc;

/// Checks a share of a database in which no transaction runs.
pub type ShareCheck<'c> = dyn Fn(&dyn RowView, Share) -> Result<(), Violation> + Sync + 'c;

/// A workload without its type.
pub trait AnyWorkload: Sync {
    /// The workload.
    fn as_any(&self) -> &dyn Any;

    /// Loads a share of the first rows: see [`Workload::load`].
    fn load(&self, share: Share, rows: &mut dyn RowLoader);

    /// Returns the rows that need not be loaded: see [`Workload::implicit`].
    fn implicit(&self) -> Option<Arc<dyn ImplicitRows>>;

    /// Loads a share of the first rows of all other tables: see [`Workload::load_explicit`].
    fn load_explicit(&self, share: Share, rows: &mut dyn RowLoader);

    /// Returns the check of what these workers' commits have left: see [`Workload::check`].
    ///
    /// # Panics
    /// When a ledger is another workload's.
    fn check(&self, ledgers: Vec<Ledger>) -> Box<ShareCheck<'_>>;

    /// Returns the check of a state of which no commits are known: see [`Workload::check_state`].
    fn check_state(&self) -> Box<ShareCheck<'_>>;
}

/// The workload of a type.
#[derive(Debug)]
pub struct Erased<W>(pub W);

impl<W: Workload> AnyWorkload for Erased<W> {
    fn as_any(&self) -> &dyn Any {
        &self.0
    }

    fn load(&self, share: Share, rows: &mut dyn RowLoader) {
        self.0.load(share, &mut TypedLoader::new(rows));
    }

    fn implicit(&self) -> Option<Arc<dyn ImplicitRows>> {
        self.0.implicit()
    }

    fn load_explicit(&self, share: Share, rows: &mut dyn RowLoader) {
        self.0.load_explicit(share, &mut TypedLoader::new(rows));
    }

    fn check(&self, ledgers: Vec<Ledger>) -> Box<ShareCheck<'_>> {
        let ledgers: Vec<W::Ledger> = ledgers.into_iter().map(Ledger::into_inner::<W>).collect();
        Box::new(move |view, share| self.0.check(&TypedView(view), share, &ledgers))
    }

    fn check_state(&self) -> Box<ShareCheck<'_>> {
        Box::new(|view, share| self.0.check_state(&TypedView(view), share))
    }
}
