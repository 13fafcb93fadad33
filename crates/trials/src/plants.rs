//! The planted bugs, by scheme.

use schemes_sim::catalogue;

pub use engine_sim::entry::Planted;
pub use sync_sim::plant::Plant;

/// Returns the bugs that can be planted in a scheme.
pub fn of_scheme(scheme: &str) -> impl Iterator<Item = &'static Planted> {
    catalogue::entry(scheme).into_iter().flat_map(|entry| entry.plants)
}

/// Returns the bug of this name, if it can be planted in the scheme.
pub fn find(scheme: &str, name: &str) -> Option<&'static Plant> {
    of_scheme(scheme).map(|planted| planted.plant).find(|plant| plant.name == name)
}
