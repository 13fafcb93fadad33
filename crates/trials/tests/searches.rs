//! Searches of all programs: under every scheme without a bug, and with bugs that random trials find late or never.

use engine::Scheme;
use schemes::catalogue::{self, Visit};
use trials::{
    Budget, Campaign, CampaignMonitor, CampaignReport, Replay, SEARCHES, TrialInstance, TrialLimit,
    TrialSubject,
};

/// Searches only, on one thread, so that it is always the same program that finds a violation first.
const SEARCHES_ONLY: Budget = Budget {
    seed: 1,
    cores: 1,
    searched: Budget::SEARCHED,
    schedules: TrialLimit::Count(0),
    transactions: TrialLimit::Count(0),
};

/// Returns the instance of the scheme of this name.
fn instance(scheme: &str) -> TrialInstance {
    instances::trial(scheme).expect("a scheme of the catalogue")
}

fn search(scheme: &str, plant: Option<&str>, budget: &Budget) -> CampaignReport {
    let campaign = Campaign::new(instance(scheme), &[]).expect("legal settings");
    let campaign = match plant {
        Some(name) => campaign.plant(instance(scheme).plant(name).expect("a bug that can be planted")),
        None => campaign,
    };
    campaign.run(budget, &CampaignMonitor::default())
}

/// Whether a scheme waits in the middle of an attempt.
struct Waits;

impl Visit for Waits {
    type Out = bool;

    fn visit<S: Scheme>(self) -> bool {
        S::WAITS
    }
}

/// `cargo xtask isolation` searches all programs under every scheme, with the command.
#[test]
fn schemes_of_each_kind_keep_their_promises_under_all_schedules_of_all_programs() {
    let one_of_each = ["no_wait", "wait_die", "silo", "mvto", "si", "aria", "calvin"];
    for info in catalogue::infos().filter(|info| one_of_each.contains(&info.name)) {
        let searched = if info.family.is_in_batches() { 3_000 } else { Budget::SEARCHED };
        let report = search(info.name, None, &Budget { cores: 2, searched, ..SEARCHES_ONLY });
        assert!(report.violations.is_empty(), "{}: {:?}", info.name, report.violations);
        assert_eq!(report.undecided, 0, "{}", info.name);
        // In batches, programs have more schedules than are tried. Under schemes that wait for locks, two programs do.
        let left = SEARCHES.len() as u64 - report.searches;
        let waits = catalogue::with(info.name, Waits).expect("a scheme of the catalogue");
        let may_be = if info.family.is_in_batches() { left > 0 } else { left <= 2 * u64::from(waits) };
        assert!(may_be, "{}: {left} programs have schedules that were not tried", info.name);
    }
}

#[test]
fn bugs_that_need_a_rare_moment_are_found_by_the_programs_made_for_them() {
    for (scheme, plant, program) in [
        ("no_wait", "insert_shrugs", "insert_after_a_miss"),
        ("occ_central", "occ_central_trusts_misses", "a_row_goes_and_comes_back"),
        ("silo", "insert_shrugs", "insert_after_a_miss"),
        ("tictoc", "insert_shrugs", "insert_after_a_miss"),
        ("tictoc", "split_drops_mark", "a_leaf_splits_behind_a_mark"),
        ("tictoc", "unlink_drops_mark", "a_leaf_vanishes_behind_a_mark"),
        ("mvto", "split_drops_mark", "a_leaf_splits_under_a_scan"),
        ("mvto", "unlink_drops_mark", "a_leaf_comes_and_goes_behind_a_mark"),
        ("cicada", "split_drops_mark", "a_leaf_splits_under_a_scan"),
        ("cicada", "unlink_drops_mark", "a_leaf_comes_and_goes_behind_a_mark"),
        ("ssn", "gaps_left_blank", "a_key_comes_and_goes_behind_a_mark"),
        ("ssi", "gaps_left_blank", "a_key_comes_and_goes_behind_a_mark"),
        ("hstore", "hstore_reaches_anywhere", "misses_away_from_home"),
        ("silo", "leaf_set_forgets_splits", "an_insert_splits_what_was_scanned"),
        ("silo", "growth_unnoticed", "a_bucket_splits_behind_a_miss"),
        ("silo", "growth_overlooked", "a_bucket_splits_behind_a_miss"),
        ("tictoc", "growth_unnoticed", "a_bucket_splits_behind_a_miss"),
        ("tictoc", "growth_overlooked", "a_bucket_splits_behind_a_miss"),
        ("basic_to", "growth_drops_mark", "a_bucket_splits_behind_a_miss"),
        ("mvto", "growth_drops_mark", "a_bucket_splits_behind_a_miss"),
        ("tictoc", "growth_drops_mark", "a_bucket_splits_behind_a_mark"),
        ("hstore", "claim_ends_before_undo", "a_key_is_inserted_where_another_was_rolled_back"),
        ("silo", "reuses_early", "memory_serves_again"),
    ] {
        let report = search(scheme, Some(plant), &SEARCHES_ONLY);
        let first = report.violations.first().map(|violation| &violation.replay);
        let Some(Replay::Explored(subject @ TrialSubject::Program(found), schedule)) = first else {
            panic!("{plant} in {scheme} is not found: {report:?}")
        };
        assert_eq!(found.name, program, "{plant} in {scheme}");
        let campaign = Campaign::new(instance(scheme), &[]).expect("legal settings");
        let case = trials::Case { schedule: Some(schedule), ..campaign.trial(*subject) };
        assert!(!case.explore().is_violation(), "without {plant} all is well");
        assert!(
            trials::Case { plant: instance(scheme).plant(plant), ..case }.explore().is_violation(),
            "{plant}"
        );
    }
}

#[test]
fn a_key_whose_lock_stands_for_its_row_shows_in_the_plainest_schedule() {
    let program = SEARCHES.iter().find(|program| program.name == "an_insert_finds_a_row_and_changes_it");
    let subject = TrialSubject::Program(program.expect("it is searched"));
    for scheme in ["calvin", "bohm", "caracal", "pwv"] {
        let campaign = Campaign::new(instance(scheme), &[]).expect("legal settings");
        let case = campaign.trial(subject);
        assert!(!case.explore().is_violation(), "{scheme}: without the bug all is well");
        let plant = instance(scheme).plant("keys_stand_for_all");
        assert!(plant.is_some(), "{scheme} can have it");
        assert!(trials::Case { plant, ..case }.explore().is_violation(), "{scheme}");
    }
}

#[test]
fn programs_have_names_of_their_own_that_are_no_seeds() {
    for program in SEARCHES {
        let same = SEARCHES.iter().filter(|other| other.name == program.name);
        assert_eq!(same.count(), 1, "{}", program.name);
        assert!(program.name.parse::<u64>().is_err() && !program.says.is_empty(), "{}", program.name);
        assert!(program.has_acts(), "{}", program.name);
    }
}
