//! The planted bugs, by scheme.

use schemes_sim::plants::OF_SCHEMES;

pub use sync_sim::plant::Plant;

/// The bugs that can be planted in a scheme.
pub fn of_scheme(scheme: &str) -> impl Iterator<Item = &'static Plant> {
    let found = OF_SCHEMES.iter().find(|(name, _)| *name == scheme);
    found.into_iter().flat_map(|(_, plants)| plants.iter().copied())
}

/// The bug of this name, if it can be planted in the scheme.
pub fn find(scheme: &str, name: &str) -> Option<&'static Plant> {
    of_scheme(scheme).find(|plant| plant.name == name)
}

#[cfg(test)]
mod tests {
    use engine_sim::{Admits, Family};

    use super::*;

    #[test]
    fn four_bugs_at_least_can_be_planted_in_every_scheme() {
        for info in schemes_sim::catalogue::INFO.iter().filter(|info| info.workers == Admits::Any) {
            // A measuring stick has less in which to be wrong.
            let least = if info.family == Family::Baseline { 3 } else { 4 };
            assert!(of_scheme(info.name).count() >= least, "{}", info.name);
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
}
