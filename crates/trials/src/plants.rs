//! The planted bugs, by scheme.

use schemes_sim::plants::OF_SCHEMES;

pub use sync_sim::plant::Plant;

/// Returns the bugs that can be planted in a scheme.
pub fn of_scheme(scheme: &str) -> impl Iterator<Item = &'static Plant> {
    let found = OF_SCHEMES.iter().find(|(name, _)| *name == scheme);
    found.into_iter().flat_map(|(_, plants)| plants.iter().copied())
}

/// Returns the bug of this name, if it can be planted in the scheme.
pub fn find(scheme: &str, name: &str) -> Option<&'static Plant> {
    of_scheme(scheme).find(|plant| plant.name == name)
}
