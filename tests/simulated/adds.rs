//! Claims about additions, under every scheme and schedules that a seed decides: sums are exact, a transaction
//! that reads all rows sees all additions, and additions apply to existing rows.

use core::marker::PhantomData;

use engine_sim::{Admits, Scheme, Workload};
use schemes_sim::catalogue::{self, Visit};
use sim::Explorer;

use crate::common::bank::{self, Bank};
use crate::common::claims::Claims;
use crate::common::counters::Counters;
use crate::common::{Plan, run_plan};

const SEEDS: u64 = if cfg!(debug_assertions) { 150 } else { 300 };

/// Visits a scheme: runs a workload, and checks the result, under the schedule of a seed. Returns the rollbacks by
/// type.
struct Explore<W>(u64, PhantomData<W>);

impl<W: Workload> Visit for Explore<W> {
    type Out = Vec<u64>;

    fn visit<S: Scheme>(self) -> Vec<u64> {
        let workers = if S::INFO.workers == Admits::One { 1 } else { 2 };
        let plan = Plan { workers, clients: 1, requests: 10, pause_ns: 0, rtt_ns: 0, seed: 1 + self.0 / 8 };
        let (types, _) = Explorer::new(self.0).run(|| run_plan::<S, W>(&plan, &[]));
        types.iter().map(|tally| tally.user_aborts).collect()
    }
}

fn explore<W: Workload>(check: impl Fn(&[u64])) {
    for info in catalogue::infos() {
        for seed in 0..SEEDS {
            let explore = Explore::<W>(seed, PhantomData);
            check(&catalogue::with(info.name, explore).expect("a scheme of the catalogue"));
        }
    }
}

#[test]
fn no_addition_is_lost_or_counted_twice_under_any_schedule() {
    explore::<Counters>(|_| ());
}

#[test]
fn audits_see_every_deposit_with_its_withdrawal_under_any_schedule() {
    explore::<Bank>(|user_aborts| {
        assert_eq!(user_aborts[bank::AUDIT], 0, "no audit that lacked money was believed");
    });
}

#[test]
fn nothing_is_added_to_what_is_deleted_under_any_schedule() {
    explore::<Claims>(|_| ());
}
