//! Serial: one transaction at a time, the oracle that other schemes are compared with.
//!
//! IDEA        The whole database is one partition. A transaction takes it when it begins, does its work in
//!             place with an undo list for rollbacks, and gives it up when it ends. There is nothing to
//!             get wrong, so a workload whose check fails here is itself wrong.
//! RECORD      Whether the record has a value: `parts::Existence`.
//! COMMIT      Give the partition up. (An abort first undoes the list in reverse.)
//! INVARIANTS  (1) One attempt at a time is between `begin` and its end (the claim: storage lends words to
//!                 its holder only).
//! DEPARTURES  None: this is the definition of a serial execution. Attempts that wait for the partition get it in the
//!             order of arrival; on a fiber the worker runs another client meanwhile.

pub mod entry;
#[cfg(all(test, feature = "tests", not(loom)))]
mod tests;

use engine::driver::PerWorker;
use engine::setting::SettingError;
use engine::{Abort, Admits, Env, Facts, Family, Info, Isolation, Scheme, Ticket};
use parts::{Claimed, Existence};
use storage::{Owned, Shape, Slot};

/// The only partition.
const EVERYTHING: usize = 0;

/// The state that all transactions share: nothing but the partition.
#[derive(Debug)]
pub struct Serial;

/// An attempt's private state.
#[derive(Debug)]
pub struct Txn<'db> {
    slot: Slot<'db, Serial>,
    claimed: Claimed<'db, Serial>,
}

impl Shape for Serial {
    type Header = Existence;
    type Version = ();
    type Leaf = ();
    type Data = Owned;
}

impl Scheme for Serial {
    const INFO: Info = Info {
        name: "serial",
        title: "Serial",
        paper: "none: the definition of a serial execution",
        family: Family::Baseline,
        isolation: Isolation::StrictlySerializable,
        workers: Admits::Any,
        views: engine::Views::Consistent,
        idea: "executes one transaction at a time under one global claim: the oracle",
    };
    type Settings = ();
    const WAITS: bool = true;
    type Driver = PerWorker;
    type Txn<'db> = Txn<'db>;

    fn new((): &(), _: Env) -> Result<Self, SettingError> {
        Ok(Self)
    }

    fn facts((): &()) -> Facts {
        Facts { partitions: 1, ..Facts::of(&Self::INFO) }
    }

    fn attach<'db>(&'db self, slot: Slot<'db, Self>) -> Txn<'db> {
        let claimed = Claimed::new(&slot);
        Txn { slot, claimed }
    }

    // ANCHOR: begin
    #[inline]
    fn begin<'db>(&'db self, txn: &mut Txn<'db>, _: &Ticket) -> Result<(), Abort> {
        txn.claimed.hold_all(&mut txn.slot, &[EVERYTHING]);
        Ok(())
    }
    // ANCHOR_END: begin

    parts::claimed_hooks!();
}
