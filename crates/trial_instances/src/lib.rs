//! The instances of the catalogue's schemes for trials: both halves, on threads and explored. They are compiled apart
//! from the instances for runs, beside them, and optimised less: nobody measures how fast a trial is.
#![forbid(unsafe_code)]

use engine::Scheme;
use engine::entry::Entry;
use engine_sim::Scheme as SteppedScheme;
use engine_sim::entry::Entry as SteppedEntry;
use schemes::catalogue;
use schemes_sim::catalogue as stepped_catalogue;
use trials::{Native, Stepped, TrialInstance};

/// Returns the instance of the scheme of this name; `None` if there is no such scheme.
pub fn of(name: &str) -> Option<TrialInstance> {
    let native = catalogue::with(name, OfNative(catalogue::entry(name)?))?;
    let stepped = stepped_catalogue::with(name, OfStepped(stepped_catalogue::entry(name)?))?;
    Some(TrialInstance::new(native, stepped))
}

struct OfNative(&'static Entry);

impl catalogue::Visit for OfNative {
    type Out = Native;

    fn visit<S: Scheme>(self) -> Native {
        Native::of::<S>(self.0)
    }
}

struct OfStepped(&'static SteppedEntry);

impl stepped_catalogue::Visit for OfStepped {
    type Out = Stepped;

    fn visit<S: SteppedScheme>(self) -> Stepped {
        Stepped::of::<S>(self.0)
    }
}
