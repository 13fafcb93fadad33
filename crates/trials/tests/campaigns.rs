//! Campaigns: they find the defects that exist and no others, and say how to reproduce them.

use checker::Answer;
use trials::{
    Budget, Campaign, CampaignMonitor, CampaignReport, Case, Form, Notation, Replay, TrialInstance,
    TrialLimit,
};

const NOTHING: Budget = Budget {
    seed: 1,
    cores: 2,
    searched: 0,
    schedules: TrialLimit::Count(0),
    transactions: TrialLimit::Count(0),
};

/// Returns the instance of the scheme of this name.
fn instance(scheme: &str) -> TrialInstance {
    instances::trial(scheme).expect("a scheme of the catalogue")
}

fn run(scheme: &str, plant: Option<&str>) -> CampaignReport {
    let campaign = Campaign::new(instance(scheme), &[]).expect("legal settings");
    let campaign = match plant {
        Some(name) => campaign.plant(instance(scheme).plant(name).expect("a plant")),
        None => campaign,
    };
    let budget =
        Budget { schedules: TrialLimit::Count(2_000), transactions: TrialLimit::Count(10_000), ..NOTHING };
    campaign.run(&budget, &CampaignMonitor::default())
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
    let campaign = Campaign::new(instance("si"), &[]).expect("legal settings");
    let report = campaign.run(&NOTHING, &CampaignMonitor::default());
    assert!(report.is_blind() && report.violations.is_empty());
}

#[test]
fn a_planted_bug_is_caught_and_its_seed_brings_it_back() {
    let report = run("no_wait", Some("two_phase_skips_leaves"));
    let explored = report.violations.iter().filter_map(|violation| match &violation.replay {
        Replay::Explored(subject, schedule) => Some((subject, schedule)),
        _ => None,
    });
    let simplest = explored.min_by_key(|(_, schedule)| schedule.preemptions());
    let (subject, schedule) = simplest.unwrap_or_else(|| panic!("{report:?}"));
    let campaign = Campaign::new(instance("no_wait"), &[]).expect("legal settings");
    let case = Case { schedule: Some(schedule), ..campaign.trial(*subject) };
    assert!(!case.explore().is_violation(), "without the bug all is well");
    let plant = instance("no_wait").plant("two_phase_skips_leaves").expect("a plant");
    assert!(Case { plant: Some(plant), ..case }.explore().is_violation());
    assert!(schedule.preemptions() <= 2, "{schedule}");
}

#[test]
fn unknown_schemes_and_settings_are_refused() {
    assert!(instances::trial("sillo").is_none());
    let given = [("silo.epoch_ms".to_owned(), "0".to_owned())];
    let refused = Campaign::new(instance("silo"), &given).expect_err("out of range");
    assert!(refused.to_string().contains("silo.epoch_ms=0"));
}

#[test]
fn exported_histories_tell_what_nearly_all_transactions_saw_and_did() {
    let campaign = Campaign::new(instance("silo"), &[]).expect("legal settings");
    let told = campaign.histories(1);
    assert_eq!(told.iter().map(|(kind, ..)| *kind).collect::<Vec<_>>(), ["explored", "native"]);
    let (_, history, verdict) = &told[1];
    assert_eq!(verdict.answer, Answer::Holds);
    let mut text = Vec::new();
    let form = (Form::ListAppend, Notation::Edn);
    trials::export(history, form, &trials::name_of, &mut text).expect("memory takes everything");
    let text = String::from_utf8(text).expect("it is text");
    let committed = text.lines().filter(|line| line.contains(":type :ok"));
    let silent = committed.clone().filter(|line| line.contains(":value []")).count();
    // Silent transactions are those that read only missing keys.
    assert!(silent * 5 < committed.count(), "{silent} say nothing");
}

#[test]
fn a_planted_bug_is_in_what_is_exported() {
    let campaign = Campaign::new(instance("si"), &[]).expect("legal settings");
    let campaign = campaign.plant(instance("si").plant("si_reads_latest").expect("a plant"));
    let violated = (1..=300).filter(|seed| {
        let told = campaign.histories(*seed);
        assert_eq!(told.len(), 1, "threads have no bug");
        told[0].2.answer == Answer::Violated
    });
    assert!(violated.count() > 0);
}
