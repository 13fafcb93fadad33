//! Every scheme has enough bugs to plant, and each bug can be named.

use engine_sim::{Admits, Family};

use schemes_sim::plants::OF_SCHEMES;
use trials::plants_of;

#[test]
fn four_bugs_at_least_can_be_planted_in_every_scheme() {
    for info in schemes_sim::catalogue::INFO.iter().filter(|info| info.workers == Admits::Any) {
        // A baseline has less code that can be wrong.
        let least = if info.family == Family::Baseline { 3 } else { 4 };
        assert!(plants_of(info.name).count() >= least, "{}", info.name);
    }
}

#[test]
fn bugs_have_names_of_their_own_and_schemes_that_there_are() {
    for (scheme, plants) in OF_SCHEMES {
        assert!(schemes_sim::catalogue::INFO.iter().any(|info| info.name == *scheme), "{scheme}");
        for plant in *plants {
            let same = plants.iter().filter(|other| other.name == plant.name);
            assert_eq!(same.count(), 1, "{plant}");
        }
    }
}
