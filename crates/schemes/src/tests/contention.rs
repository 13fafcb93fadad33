//! Contention does not make throughput collapse, under any scheme: dozens of clients on a dozen rows abort each other a
//! few times and not thousands of times, however long their attempts last on the machine, and each request ends.
//!
//! Nothing here looks at a clock: the claims are of aborts a commit.

use engine::driver::{Admission, Driver, Job, Limit, Retry};
use engine::entry::Given;
use engine::levers;
use engine::{Admits, Scheme};

use crate::catalogue::{self, Visit};
use crate::tests::common::movers::Movers;
use crate::tests::common::{Plan, run_job, values};

/// Fifty clients of a worker, whose attempts overlap because each waits before it commits.
fn crowd(pause_ns: u64, requests: u64) -> Plan {
    Plan { workers: 1, clients: 50, requests, pause_ns, rtt_ns: 0, seed: 1 }
}

/// Runs a plan of [`Movers`], whose twelve rows change places all the time. Returns the aborts for each request,
/// rounded up.
struct Aborts<'p>(&'p Plan, Given, fn(Job) -> Job);

impl Visit for Aborts<'_> {
    /// None where the driver refuses the job.
    type Out = Option<(u64, [u64; 2])>;

    fn visit<S: Scheme>(self) -> Self::Out {
        let Self(plan, given, change) = self;
        let clients = plan.workers * plan.clients;
        let limit = Limit::Requests(plan.requests);
        let job =
            change(Job { pause_ns: plan.pause_ns, ..Job::new(plan.workers, clients, limit, plan.seed) });
        let is_refused = levers::admit::<S>(&values::<S>(given)).is_err();
        let is_alone = S::INFO.workers != Admits::Any && plan.workers > 1;
        if is_refused || is_alone || S::Driver::refuses(&job).is_some() {
            return None;
        }
        let outcome = run_job::<S, Movers>(plan, job, given);
        let aborts: u64 = outcome.types.iter().flat_map(|tally| tally.aborts).sum();
        Some((aborts.div_ceil(clients as u64 * plan.requests), outcome.turns))
    }
}

/// The aborts of each scheme.
fn aborts(
    plan: &Plan,
    given: Given,
    change: fn(Job) -> Job,
) -> impl Iterator<Item = (&'static str, u64, [u64; 2])> {
    catalogue::infos().filter_map(move |info| {
        let found =
            catalogue::with(info.name, Aborts(plan, given, change)).expect("a scheme of the catalogue");
        found.map(|(aborts, turns)| (info.name, aborts, turns))
    })
}

#[test]
fn pauses_grow_with_attempts_however_long_these_last() {
    // As long as on a machine a hundred times slower: far above any pause at the beginning.
    for pause_ns in [5_000, 500_000] {
        let plan = crowd(pause_ns, 2);
        let without_turns = |job| Job { retry: Retry::Backoff, ..job };
        for (scheme, aborts, turns) in aborts(&plan, &[], without_turns) {
            assert!(aborts <= 20, "{scheme}: {aborts} aborts a request in {plan:?}");
            assert_eq!(turns, [0, 0], "{scheme}: nobody gets a turn that was not asked for");
        }
    }
}

#[test]
fn turns_bound_what_requests_fail_where_nobody_steps_aside() {
    let plan = crowd(5_000, 10);
    let at_once = |job| Job { retry: Retry::Fixed, backoff_ns: 0, turn_after: 16, ..job };
    let mut has_turns = false;
    for (scheme, aborts, turns) in aborts(&plan, &[], at_once) {
        // Fifty until the request has its worker's turn, and one more.
        assert!(aborts <= 52, "{scheme}: {aborts} aborts a request");
        has_turns |= turns[0] > 0;
    }
    assert!(has_turns, "some scheme needs them");
}

#[test]
fn few_requests_are_under_way_where_most_would_be_in_vain() {
    let plan = crowd(5_000, 20);
    let regulated = |job| Job { admission: Admission::Regulated, ..job };
    for (scheme, aborts, turns) in aborts(&plan, &[], regulated) {
        assert!(aborts <= 6, "{scheme}: {aborts} aborts a request");
        assert_eq!(turns, [0, 0], "{scheme}: nobody gets a turn that was not asked for");
    }
}

#[test]
fn attempts_of_a_worker_do_not_meet_if_one_at_a_time_is_admitted() {
    let single = |job| Job { admission: Admission::Single, ..job };
    for (scheme, aborts, turns) in aborts(&crowd(5_000, 20), &[], single) {
        assert_eq!((aborts, turns), (0, [0, 0]), "{scheme}");
    }
    // Who has a turn is admitted, whoever waits for the end of the turn.
    let two_workers = Plan { workers: 2, clients: 2, ..crowd(20_000, 200) };
    let at_once = |job| Job { retry: Retry::Fixed, turn_after: 1, admission: Admission::Single, ..job };
    let of_all = aborts(&two_workers, &[], at_once).map(|(_, _, turns)| turns.iter().sum::<u64>());
    assert!(of_all.sum::<u64>() > 0, "some scheme needs turns");
}

#[test]
fn requests_that_are_known_to_conflict_do_not_meet_if_they_are_reordered() {
    let plan = crowd(5_000, 10);
    let keep: Given = &[("run.reorder", "keep"), ("run.reorder_batch", "50")];
    for (scheme, aborts, turns) in aborts(&plan, keep, |job| job) {
        assert!(aborts <= 1, "{scheme}: {aborts} aborts a request");
        assert_eq!(turns, [0, 0], "{scheme}: nobody gets a turn that was not asked for");
    }
}
