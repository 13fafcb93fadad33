//! The driver of schemes that own partitions.

use crate::driver::{Driver, Job, Part, PerWorker, Tally};
use crate::{Abort, Database, Ledger, Observe, Partitioned};

/// Runs transactions as [`PerWorker`] does, and tells the scheme where the keys live that an attempt looks for.
#[derive(Debug)]
pub enum PerPartition {}

impl<S: Partitioned> Driver<S> for PerPartition {
    type Shared<'r> = <PerWorker as Driver<S>>::Shared<'r>;
    const PARTITIONED: bool = true;

    fn shared<'r>(db: &'r Database<S>, job: &Job) -> Self::Shared<'r> {
        PerWorker::shared(db, job)
    }

    fn work<'r, V: Observe>(part: Part<'r, S, V>, shared: &Self::Shared<'r>) -> (Tally, Ledger) {
        PerWorker::work(part, shared)
    }

    #[inline]
    fn reach<'db>(scheme: &'db S, txn: &mut S::Txn<'db>, from: u64, to: u64) -> Result<(), Abort> {
        scheme.reach(txn, from, to)
    }
}
