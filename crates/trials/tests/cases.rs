//! Explored trials can be reproduced: by a seed, and by a program with its schedule.

use checker::Checker;
use trials::{Case, ExploredTrial, TrialInstance, TrialSubject};

/// Returns the instance of the scheme of this name.
fn instance(scheme: &str) -> TrialInstance {
    instances::trial(scheme).expect("a scheme of the catalogue")
}

#[test]
fn a_seed_brings_a_trial_back() {
    for seed in 0..20 {
        let case = Case {
            scheme: instance("silo"),
            given: &[],
            subject: TrialSubject::Seed(seed),
            schedule: None,
            plant: None,
        };
        let told = || {
            let explored = case.explore();
            assert!(!explored.is_violation(), "seed {seed}: {explored:?}");
            format!("{:?}", explored.history)
        };
        assert_eq!(told(), told(), "seed {seed}");
    }
}

#[test]
fn a_trial_in_large_batches_is_long_and_not_endless() {
    let given = [("batch", "200"), ("contended", "1"), ("collect_every", "1")];
    let given = given.map(|(last, value)| (format!("caracal.{last}"), value.to_owned()));
    // The trial of this seed has seven requests for each client, and a batch needs 200 clients.
    let subject = TrialSubject::Seed(12);
    let case = Case { scheme: instance("caracal"), given: &given, subject, schedule: None, plant: None };
    let explored = case.explore();
    assert!(!explored.is_violation(), "after {} steps: {:?}", explored.steps, explored.failure);
}

#[test]
fn a_schedule_of_a_program_brings_its_history_back() {
    for scheme in ["tictoc", "mvto", "aria"] {
        for name in ["insert_after_a_miss", "a_leaf_comes_and_goes_behind_a_mark"] {
            let subject = TrialSubject::named(name).expect("a program");
            let TrialSubject::Program(program) = subject else { panic!("`{name}` is no seed") };
            let case = Case { scheme: instance(scheme), given: &[], subject, schedule: None, plant: None };
            let (mut search, mut checker) = (case.search(program, 60), Checker::new());
            for _ in 0..60 {
                let Some(explored) = case.explore_next(&mut search, &mut checker) else { break };
                let schedule = explored.schedule.to_string().parse().expect("its own text");
                let again = Case { schedule: Some(&schedule), ..case }.explore();
                let told = |explored: &ExploredTrial| format!("{:?}", explored.history);
                assert_eq!(told(&again), told(&explored), "{scheme}, {name}: `{schedule}`");
            }
            assert!(search.tried() > 3, "{scheme}, {name}");
        }
    }
}
