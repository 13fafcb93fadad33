//! Trials that do not end have a verdict.

use sync::atomic::{AtomicBool, Ordering};
use sync::{Arc, waiter};
use trials::{
    Budget, Campaign, CampaignMonitor, CampaignReport, Case, Patience, Progress, Replay, Stuck,
    TrialInstance, TrialLimit, TrialViolation, WatchOutcome, watched,
};

const BUDGET: Budget = Budget {
    seed: 1,
    cores: 1,
    searched: 0,
    schedules: TrialLimit::Count(500),
    transactions: TrialLimit::Count(100),
};

/// Returns the instance of the scheme of this name.
fn instance(scheme: &str) -> TrialInstance {
    instances::trial(scheme).expect("a scheme of the catalogue")
}

fn run(scheme: &str, plant: &str, searched: u64) -> CampaignReport {
    let campaign = Campaign::new(instance(scheme), &[]).expect("legal settings");
    let campaign = campaign.plant(instance(scheme).plant(plant).expect("a plant"));
    campaign.run(&Budget { searched, ..BUDGET }, &CampaignMonitor::default())
}

/// Asserts that transactions with the bug get stuck in this way, that the report says so, and that the report's
/// schedule shows it.
fn is_stuck(scheme: &str, plant: &str, stuck: Stuck, searched: u64) {
    let report = run(scheme, plant, searched);
    assert_eq!(report.stuck, Some(stuck), "{report:?}");
    let [TrialViolation { what, replay: Replay::Explored(subject, schedule), .. }] = &report.violations[..]
    else {
        panic!("{report:?}")
    };
    let name = if stuck == Stuck::Deadlock { "deadlock: " } else { "livelock: " };
    assert!(what.starts_with(name), "{what}");
    let campaign = Campaign::new(instance(scheme), &[]).expect("legal settings");
    let case = Case { schedule: Some(schedule), ..campaign.trial(*subject) };
    assert!(!case.explore().is_violation(), "without the bug all is well");
    let again = Case { plant: instance(scheme).plant(plant), ..case }.explore();
    assert_eq!((again.stuck, again.failure.is_some_and(|told| told.starts_with(name))), (Some(stuck), true));
}

#[test]
fn transactions_that_all_wait_are_a_deadlock() {
    is_stuck("wound_wait", "wound_wait_wounds_nobody", Stuck::Deadlock, 0);
    is_stuck("wait_die", "wait_die_lets_young_wait", Stuck::Deadlock, Budget::SEARCHED);
}

#[test]
fn transactions_that_look_for_deadlocks_in_vain_are_one_though_time_passes() {
    is_stuck("dl_detect", "wait_graph_sees_nothing", Stuck::Deadlock, 0);
}

#[test]
fn transactions_that_all_abort_for_ever_are_a_livelock() {
    is_stuck("no_wait", "two_phase_keeps_locks", Stuck::Livelock, 0);
    is_stuck("no_wait", "two_phase_keeps_locks", Stuck::Livelock, Budget::SEARCHED);
}

const HASTY: Patience = Patience { looks: 20, look_ns: 1_000 };

#[test]
fn threads_that_wait_for_ever_are_given_up() {
    let is_over = Arc::new(AtomicBool::new(false));
    let theirs = Arc::clone(&is_over);
    let ended = watched(HASTY, move |progress| {
        progress.ended();
        progress.attempted();
        // Relaxed: it orders nothing.
        waiter::wait_until(None, || theirs.load(Ordering::Relaxed));
    });
    assert!(matches!(ended, WatchOutcome::Stuck(Stuck::Deadlock, _)), "{ended:?}");
    is_over.store(true, Ordering::Relaxed); // Relaxed: as above.
}

#[test]
fn attempts_without_an_end_tell_a_livelock_from_a_deadlock() {
    let progress = Progress::default();
    (0..100).for_each(|_| progress.attempted());
    assert_eq!(progress.verdict().0, Stuck::Deadlock, "those before the wait");
    (0..1_000).for_each(|_| progress.attempted());
    let (stuck, told) = progress.verdict();
    assert_eq!((stuck, told.starts_with("livelock: 1100 attempts")), (Stuck::Livelock, true), "{told}");
    progress.ended();
    assert_eq!(progress.verdict().0, Stuck::Deadlock);
}

#[test]
fn threads_of_which_some_get_on_are_not_given_up() {
    let ended = watched(Patience::default(), |progress| {
        for _ in 0..200 {
            progress.attempted();
            waiter::pause_ns(10_000);
            progress.ended();
        }
        7
    });
    assert!(matches!(ended, WatchOutcome::Ended(7)), "{ended:?}");
    let ended = watched(Patience::default(), |_| -> () { panic!("as planned") });
    assert!(matches!(&ended, WatchOutcome::Panicked(says) if says == "as planned"), "{ended:?}");
}
