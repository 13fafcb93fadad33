//! The planted bugs of all layers.

pub use sync_sim::plant::Plant;

fn all() -> impl Iterator<Item = &'static Plant> {
    let layers = [storage_sim::plants::ALL, engine_sim::plants::ALL, schemes_sim::plants::ALL];
    layers.into_iter().rev().flatten().copied()
}

/// The bugs that can be planted in a scheme.
pub fn of_scheme(scheme: &str) -> impl Iterator<Item = &'static Plant> {
    all().filter(move |plant| plant.schemes.contains(&scheme))
}

/// The bug of this name, if it can be planted in the scheme.
pub fn find(scheme: &str, name: &str) -> Option<&'static Plant> {
    of_scheme(scheme).find(|plant| plant.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_that_excludes_others_has_four_bugs_at_least() {
        for info in schemes_sim::catalogue::INFO {
            let count = of_scheme(info.name).count();
            let needs = match info.name {
                "uncontrolled" => 0,
                "serial" => 3,
                _ => 4,
            };
            assert!(count >= needs, "{} has {count}", info.name);
        }
    }

    #[test]
    fn bugs_have_names_of_their_own_and_schemes_that_there_are() {
        let mut names: Vec<_> = all().map(|plant| plant.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        let is_known = |name: &&str| schemes_sim::catalogue::INFO.iter().any(|info| info.name == *name);
        assert!(all().all(|plant| plant.schemes.iter().all(|scheme| is_known(&scheme))));
    }
}
