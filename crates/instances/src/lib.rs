//! The instances of the catalogue's schemes: their runs, and their trials on threads, which share the code that is
//! compiled for each scheme here. The explored trials and the simulated runs come from `stepped_instances`. A package
//! outside of the workspace makes instances of its own schemes.
#![forbid(unsafe_code)]

use engine::Scheme;
use engine::entry::Entry;
use schemes::catalogue;
use simulations::SimulatedInstance;
use trials::{Native, TrialInstance};

/// Returns the instances of all schemes, in the order of the catalogue.
pub fn all() -> impl Iterator<Item = (runs::Instance, TrialInstance, SimulatedInstance)> {
    let all = |name| Some((run(name)?, trial(name)?, stepped_instances::simulated(name)?));
    catalogue::ENTRIES.iter().map(move |entry| all(entry.info.name).expect("every entry is of a scheme"))
}

/// Returns the instance for runs of the scheme of this name; `None` if there is no such scheme.
pub fn run(name: &str) -> Option<runs::Instance> {
    catalogue::with(name, OfRuns(catalogue::entry(name)?))
}

/// Returns the instance for trials of the scheme of this name; `None` if there is no such scheme.
pub fn trial(name: &str) -> Option<TrialInstance> {
    let native = catalogue::with(name, OfTrials(catalogue::entry(name)?))?;
    Some(TrialInstance::new(native, stepped_instances::of(name)?))
}

struct OfRuns(&'static Entry);

impl catalogue::Visit for OfRuns {
    type Out = runs::Instance;

    fn visit<S: Scheme>(self) -> runs::Instance {
        runs::Instance::of::<S>(self.0)
    }
}

struct OfTrials(&'static Entry);

impl catalogue::Visit for OfTrials {
    type Out = Native;

    fn visit<S: Scheme>(self) -> Native {
        Native::of::<S>(self.0)
    }
}
