//! The instances of the catalogue's schemes over the stepped build, for explored trials. They are compiled apart from
//! the native instances, beside them, and optimised less: nobody measures how fast a trial is.
#![forbid(unsafe_code)]

use engine_sim::Scheme;
use engine_sim::entry::Entry;
use schemes_sim::catalogue;
use simulations::SimulatedInstance;
use trials::Stepped;

/// Returns the explored trials of the scheme of this name; `None` if there is no such scheme.
pub fn of(name: &str) -> Option<Stepped> {
    catalogue::with(name, OfStepped(catalogue::entry(name)?))
}

/// Returns the simulated runs of the scheme of this name; `None` if there is no such scheme.
pub fn simulated(name: &str) -> Option<SimulatedInstance> {
    catalogue::with(name, OfSimulated(catalogue::entry(name)?))
}

struct OfStepped(&'static Entry);

impl catalogue::Visit for OfStepped {
    type Out = Stepped;

    fn visit<S: Scheme>(self) -> Stepped {
        Stepped::of::<S>(self.0)
    }
}

struct OfSimulated(&'static Entry);

impl catalogue::Visit for OfSimulated {
    type Out = SimulatedInstance;

    fn visit<S: Scheme>(self) -> SimulatedInstance {
        SimulatedInstance::of::<S>(self.0)
    }
}
