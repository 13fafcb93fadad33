//! Regressions: trials that once showed a defect, each in a file of `regression/` with its story. A file names a bug
//! that can be planted, so that the trial is known to still show the defect: the trial is a violation with the bug, and
//! no violation without it.

use trials::{Campaign, Case, Schedule, TrialInstance};

/// The files, with their names.
const FILES: &[(&str, &str)] = &[
    ("insert_after_a_miss", include_str!("../regression/insert_after_a_miss.txt")),
    ("snapshot_of_a_new_session", include_str!("../regression/snapshot_of_a_new_session.txt")),
];

/// A trial that a file names, with the bug that makes the trial a violation.
struct Regression {
    name: &'static str,
    scheme: String,
    plant: String,
    seed: u64,
    schedule: Schedule,
}

/// Reads `scheme: .., plant: .., seed: .., schedule: ..`, one trial a line; all other lines are the story.
fn regressions() -> Vec<Regression> {
    let mut found = Vec::new();
    for (name, text) in FILES {
        let before = found.len();
        for line in text.lines().filter(|line| line.starts_with("scheme: ")) {
            let field = |key: &str| {
                let found = line.split_once(&format!("{key}: "));
                let (_, rest) = found.unwrap_or_else(|| panic!("{name}: no `{key}`: {line}"));
                rest.split(' ').next().expect("a word").to_owned()
            };
            found.push(Regression {
                name,
                scheme: field("scheme"),
                plant: field("plant"),
                seed: field("seed").parse().expect("a number"),
                schedule: field("schedule").parse().expect("a schedule"),
            });
        }
        assert!(found.len() > before, "{name} names no trial");
    }
    found
}

/// Returns the instance of the scheme of this name.
fn instance(scheme: &str) -> TrialInstance {
    instances::trial(scheme).expect("a scheme of the catalogue")
}

#[test]
fn trials_that_once_showed_something_show_it_with_the_bug_and_nothing_without() {
    for Regression { name, scheme, plant, seed, schedule } in regressions() {
        let campaign = Campaign::new(instance(&scheme), &[]).expect("legal settings");
        let case = Case { schedule: Some(&schedule), ..campaign.case(seed) };
        let well = case.explore();
        assert!(!well.is_violation(), "{name} under {scheme}: {:?}", well.failure);
        let plant =
            instance(&scheme).plant(&plant).unwrap_or_else(|| panic!("{name}: no bug `{plant}` in {scheme}"));
        let wrong = Case { plant: Some(plant), ..case }.explore();
        assert!(
            wrong.is_violation(),
            "{name} under {scheme} with {plant}: shows nothing any more; find a new seed"
        );
    }
}
