//! Every scheme has enough bugs to plant, and each bug can be named.

use engine_sim::{Admits, Family};

use schemes_sim::catalogue::ENTRIES;

#[test]
fn four_bugs_at_least_can_be_planted_in_every_scheme() {
    for entry in ENTRIES.iter().filter(|entry| entry.info.workers == Admits::Any) {
        // A baseline has less code that can be wrong.
        let least = if entry.info.family == Family::Baseline { 3 } else { 4 };
        assert!(entry.plants.len() >= least, "{}", entry.info.name);
    }
}

#[test]
fn bugs_have_names_of_their_own() {
    for entry in ENTRIES {
        for planted in entry.plants {
            let same = entry.plants.iter().filter(|other| other.plant.name == planted.plant.name);
            assert_eq!(same.count(), 1, "{}", planted.plant);
        }
    }
}

#[test]
fn bugs_in_code_that_settings_enable_name_legal_settings() {
    for entry in ENTRIES {
        for planted in entry.plants {
            let given: Vec<_> =
                planted.under.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
            engine_sim::setting::Values::new(entry.settings, &given)
                .unwrap_or_else(|error| panic!("{}: {error}", planted.plant));
        }
    }
}
