//! The instances of the catalogue's schemes. This crate alone compiles each scheme over the workloads, and lists the
//! result beside the scheme's trials. A package outside of the workspace makes instances of its own schemes.
#![forbid(unsafe_code)]

use engine::Scheme;
use engine::entry::Entry;
use schemes::catalogue;

/// Returns the instances of all schemes, in the order of the catalogue.
pub fn all() -> impl Iterator<Item = (runs::Instance, trials::TrialInstance)> {
    let both = |name| run(name).zip(trial(name));
    catalogue::ENTRIES.iter().map(move |entry| both(entry.info.name).expect("every entry is of a scheme"))
}

/// Returns the instance for runs of the scheme of this name; `None` if there is no such scheme.
pub fn run(name: &str) -> Option<runs::Instance> {
    catalogue::with(name, OfRuns(catalogue::entry(name)?))
}

/// Returns the instance for trials of the scheme of this name; `None` if there is no such scheme.
pub fn trial(name: &str) -> Option<trials::TrialInstance> {
    trial_instances::of(name)
}

struct OfRuns(&'static Entry);

impl catalogue::Visit for OfRuns {
    type Out = runs::Instance;

    fn visit<S: Scheme>(self) -> runs::Instance {
        runs::Instance::of::<S>(self.0)
    }
}
