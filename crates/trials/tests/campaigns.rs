//! Campaigns: they find what is there and nothing else, and say how to see it again.

use trials::{Budget, Campaign, Case, Limit, Monitor, Replay, Report, Violation, find_plant};

const NOTHING: Budget =
    Budget { seed: 1, cores: 2, searches: false, schedules: Limit::Count(0), transactions: Limit::Count(0) };

fn run(scheme: &str, plant: Option<&str>) -> Report {
    let campaign = Campaign::new(scheme, &[]).expect("a scheme").expect("legal settings");
    let campaign = match plant {
        Some(name) => campaign.plant(find_plant(scheme, name).expect("a plant")),
        None => campaign,
    };
    let budget = Budget { schedules: Limit::Count(2_000), transactions: Limit::Count(10_000), ..NOTHING };
    campaign.run(&budget, &Monitor::default())
}

#[test]
fn a_scheme_keeps_its_promise_and_shows_what_it_permits() {
    let report = run("si", None);
    assert!(report.violations.is_empty(), "{:?}", report.violations);
    assert!(report.permitted_shown.contains_key("write_skew"), "{:?}", report.permitted_shown);
    assert!(report.schedules >= 2_000 && report.transactions >= 10_000 && !report.is_blind());
    assert!(report.scripts > 40);
}

#[test]
fn a_scheme_that_was_hardly_tried_may_have_been_looked_at_blindly() {
    let campaign = Campaign::new("si", &[]).expect("a scheme").expect("legal settings");
    let report = campaign.run(&NOTHING, &Monitor::default());
    assert!(report.is_blind() && report.violations.is_empty());
}

#[test]
fn a_planted_bug_is_caught_and_its_seed_brings_it_back() {
    let report = run("no_wait", Some("no_wait_skips_leaves"));
    let Some(Violation { replay: Replay::Explored(subject, schedule), .. }) = report.violations.first()
    else {
        panic!("{report:?}")
    };
    let campaign = Campaign::new("no_wait", &[]).expect("a scheme").expect("legal settings");
    let case = Case { schedule: Some(schedule), ..campaign.trial(*subject) };
    assert!(!case.explore().is_violation(), "without the bug all is well");
    let plant = find_plant("no_wait", "no_wait_skips_leaves").expect("a plant");
    assert!(Case { plant: Some(plant), ..case }.explore().is_violation());
    assert!(schedule.preemptions() < 5, "{schedule}");
}

#[test]
fn unknown_schemes_and_settings_are_refused() {
    assert!(Campaign::new("sillo", &[]).is_none());
    let given = [("silo.epoch_ms".to_owned(), "0".to_owned())];
    let refused = Campaign::new("silo", &given).expect("a scheme").expect_err("out of range");
    assert!(refused.to_string().contains("silo.epoch_ms=0"));
}
