//! H-Store: partitions that run one transaction at a time (Stonebraker et al., VLDB 2007; as
//! `PartitionedStore` in Tu et al., SOSP 2013).
//!
//! IDEA        Rows that are used together live at one home, and homes are spread over partitions. A
//!             transaction says which homes it will touch, takes their partitions when it begins, and then
//!             works in place as if it were alone: no locks on records, no copies, no validation. It pays
//!             as long as transactions stay at home.
//! RECORD      Whether there is a value: `parts::Existence`.
//! COMMIT      1. (At the begin.) Take the partitions of the declared homes, or all of them if the transaction may
//!                touch any home.
//!             2. Give them up: what was done in place stays. (An abort first undoes it in reverse.)
//! INVARIANTS  (1) A record is touched under a claim that holds its partition (storage lends its words on no
//!                 other terms), or lives everywhere and never changes.
//!             (2) Keys that are missing, and the gaps of a scan, are looked for only in partitions that
//!                 the claim holds (`reach`, which the engine calls before each search).
//!             (3) All partitions are asked for at once, before the first access, and who waits for several stands in
//!                 all their lines: no cycle of waits (`storage::PartitionClaim`).
//! DEPARTURES  Partitions are locks, as in `PartitionedStore`, not threads with a queue, so that any worker may
//!             serve any client; who waits for a partition is served as it came, not by its timestamp. An attempt that
//!             touches what it did not declare aborts, and the next attempt takes that partition, too. Rows
//!             that never change may live everywhere, in place of H-Store's replicas, and are read without a
//!             claim. Indexes are those of the engine, which all partitions share: they have latches, which a
//!             thread that owns the index of its partition would not need.

pub mod entry;
pub mod plants;
#[cfg(all(test, feature = "tests", not(loom)))]
mod tests;

use engine::driver::PerPartition;
use engine::setting::{Range, SettingError};
use engine::{
    Abort, Admits, Env, Facts, Family, Info, Isolation, PARTITIONS_MAX, Partitioned, Scheme, Ticket, settings,
};
use parts::{Claimed, Existence};
use storage::{Owned, Shape, Slot};
use sync::plant::is_planted;

/// The number of partitions for a workload that does not state its homes.
const UNSTATED: usize = 64;

settings! {
    /// The settings of the scheme.
    pub struct Settings of "hstore" {
        /// Number of partitions onto which homes are folded; 0 makes one for each home, and 64 where the workload does
        /// not state its homes. Fewer spare transactions of many homes some locks, more let more transactions run side
        /// by side, up to one partition a home.
        partitions: usize {
            default: "0",
            range: Range::Int(0, PARTITIONS_MAX as u64),
            stresses: "the partition locks: homes that share one wait for each other",
        },
    }
}

/// The state that all transactions share: nothing but the partitions, which are the engine's.
#[derive(Debug)]
pub struct HStore;

/// An attempt's private state.
#[derive(Debug)]
pub struct Txn<'db> {
    slot: Slot<'db, HStore>,
    claimed: Claimed<'db, HStore>,
    /// The partitions to take.
    wanted: Vec<usize>,
    /// Partitions whose lack aborted earlier attempts of the same transaction.
    lacked: Vec<usize>,
    /// The home that was last found to be covered: most accesses are to the same.
    covered: Option<u64>,
}

impl Shape for HStore {
    type Header = Existence;
    type Version = ();
    type Leaf = ();
    type Data = Owned;
}

impl Scheme for HStore {
    const INFO: Info = Info {
        name: "hstore",
        title: "H-Store",
        paper: "Stonebraker, Madden, Abadi, Harizopoulos, Hachem, Helland: The end of an architectural era, VLDB 2007",
        family: Family::Partitioned,
        isolation: Isolation::StrictlySerializable,
        workers: Admits::Any,
        views: engine::Views::Consistent,
        idea: "takes the partitions of all its homes at the begin, and then works in place without any control",
    };
    type Settings = Settings;
    const WAITS: bool = true;
    type Driver = PerPartition;
    type Txn<'db> = Txn<'db>;

    fn new(_: &Settings, _: Env) -> Result<Self, SettingError> {
        Ok(Self)
    }

    fn facts(settings: &Settings) -> Facts {
        let has_partition_per_home = settings.partitions == 0;
        let partitions = if has_partition_per_home { UNSTATED } else { settings.partitions };
        Facts { partitions, has_partition_per_home, ..Facts::of(&Self::INFO) }
    }

    fn attach<'db>(&'db self, slot: Slot<'db, Self>) -> Txn<'db> {
        let claimed = Claimed::new(&slot);
        Txn { slot, claimed, wanted: Vec::new(), lacked: Vec::new(), covered: None }
    }

    #[inline]
    fn begin<'db>(&'db self, txn: &mut Txn<'db>, ticket: &Ticket) -> Result<(), Abort> {
        txn.learn(ticket);
        txn.claim_partitions(ticket); // 1
        Ok(())
    }

    parts::claimed_hooks!(); // 2
}

impl Partitioned for HStore {
    #[inline]
    fn reach<'db>(&'db self, txn: &mut Txn<'db>, from: u64, to: u64) -> Result<(), Abort> {
        if is_planted(&plants::HSTORE_HOLDS_BRIEFLY) {
            txn.claimed.give_up();
            txn.claimed.hold_all(&mut txn.slot, &txn.wanted);
        }
        if from == to && txn.covered == Some(from) {
            return Ok(());
        }
        txn.cover(from, to)
    }
}

impl Txn<'_> {
    /// Remembers the partitions that the last attempt lacked, and forgets them with the transaction.
    #[inline]
    fn learn(&mut self, ticket: &Ticket) {
        let lacking = self.claimed.take_lacking();
        if ticket.retries == 0 {
            self.lacked.clear();
        } else {
            self.lacked.extend(lacking);
        }
    }

    // ANCHOR: claim
    /// Step 1 of COMMIT.
    #[inline]
    fn claim_partitions(&mut self, ticket: &Ticket) {
        let claim = self.claimed.claim();
        self.covered = None;
        self.wanted.clear();
        match ticket.homes.listed() {
            Some(homes) => self.wanted.extend(homes.iter().map(|home| claim.partition_of(*home))),
            None => self.wanted.extend(0..claim.partitions()),
        }
        self.wanted.extend_from_slice(&self.lacked);
        self.wanted.sort_unstable();
        self.wanted.dedup();
        self.claimed.hold_all(&mut self.slot, &self.wanted);
    }
    // ANCHOR_END: claim

    // ANCHOR: cover
    /// Checks that the claim covers homes `from` to `to`, and notes the partitions that it lacks.
    fn cover(&mut self, from: u64, to: u64) -> Result<(), Abort> {
        if is_planted(&plants::HSTORE_REACHES_ANYWHERE) {
            return Ok(());
        }
        let claim = self.claimed.claim();
        // A row of as many homes as there are partitions takes all partitions.
        let last = to.min(from.saturating_add(claim.partitions() as u64 - 1));
        let mut is_covered = true;
        for partition in (from..=last).map(|home| claim.partition_of(home)) {
            if !claim.holds(partition) {
                self.lacked.push(partition);
                is_covered = false;
            }
        }
        if !is_covered {
            return Err(Abort::Partition);
        }
        if from == to {
            self.covered = Some(from);
        }
        Ok(())
    }
    // ANCHOR_END: cover
}
