//! Uncontrolled: no concurrency control at all, the ceiling that other schemes are measured against.
//!
//! IDEA        With one worker, and nothing that waits inside a transaction, transactions already run one
//!             after the other, and the control of their concurrency is pure cost. This scheme does without
//!             it: it reads and writes in place and remembers only what it needs to undo a rollback.
//! RECORD      Whether the record has a value: `parts::Existence`.
//! COMMIT      Nothing but the end of the claim. (An abort first undoes the list in reverse.)
//! INVARIANTS  (1) There is one worker (`new` refuses more).
//! DEPARTURES  Storage lends words only to the holder of a claim on their partition, which costs an
//!             uncontended exchange for each transaction. A client that waits inside its transaction
//!             therefore keeps the other clients of the worker waiting.

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
pub struct Uncontrolled;

/// An attempt's private state.
#[derive(Debug)]
pub struct Txn<'db> {
    slot: Slot<'db, Uncontrolled>,
    claimed: Claimed<'db, Uncontrolled>,
}

impl Shape for Uncontrolled {
    type Header = Existence;
    type Version = ();
    type Leaf = ();
    type Data = Owned;
}

impl Scheme for Uncontrolled {
    const INFO: Info = Info {
        name: "uncontrolled",
        title: "Uncontrolled",
        paper: "none: the ceiling",
        family: Family::Baseline,
        isolation: Isolation::None,
        workers: Admits::One,
        views: engine::Views::Unconfirmed,
        idea: "controls nothing, writes in place and undoes rollbacks: the ceiling, for one worker",
    };
    type Settings = ();
    type Driver = PerWorker;
    type Txn<'db> = Txn<'db>;

    // ANCHOR: admit
    fn new((): &(), env: Env) -> Result<Self, SettingError> {
        match env.workers {
            0 | 1 => Ok(Self), // Invariant (1).
            _ => Err(SettingError("`uncontrolled` controls nothing and runs with one worker".to_owned())),
        }
    }
    // ANCHOR_END: admit

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
