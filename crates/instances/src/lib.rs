//! The instances of the catalogue's schemes, for runs and for trials. This crate alone compiles each scheme over the
//! workloads and over the trials, once; a package outside of the workspace makes instances of its own schemes.
#![forbid(unsafe_code)]

use engine::Scheme;
use engine::entry::Entry;
use engine_sim::Scheme as SteppedScheme;
use engine_sim::entry::Entry as SteppedEntry;
use schemes::catalogue;
use trials::{Native, Stepped};

/// Returns the instances of all schemes, in the order of the catalogue.
pub fn all() -> impl Iterator<Item = (runs::Instance, trials::Instance)> {
    catalogue::ENTRIES.iter().map(of)
}

/// Returns the instance for runs of the scheme of this name; `None` if there is no such scheme.
pub fn run(name: &str) -> Option<runs::Instance> {
    catalogue::entry(name).map(|entry| of(entry).0)
}

/// Returns the instance for trials of the scheme of this name; `None` if there is no such scheme.
pub fn trial(name: &str) -> Option<trials::Instance> {
    catalogue::entry(name).map(|entry| of(entry).1)
}

fn of(entry: &'static Entry) -> (runs::Instance, trials::Instance) {
    let name = entry.info.name;
    let native = catalogue::with(name, OfNative(entry));
    let stepped = schemes_sim::catalogue::entry(name).map(OfStepped);
    let stepped = stepped.and_then(|visitor| schemes_sim::catalogue::with(name, visitor));
    let ((run, native), stepped) = native.zip(stepped).expect("both builds have the same catalogue");
    (run, trials::Instance::new(native, stepped))
}

struct OfNative(&'static Entry);

impl catalogue::Visit for OfNative {
    type Out = (runs::Instance, Native);

    fn visit<S: Scheme>(self) -> Self::Out {
        (runs::Instance::of::<S>(self.0), Native::of::<S>(self.0))
    }
}

struct OfStepped(&'static SteppedEntry);

impl schemes_sim::catalogue::Visit for OfStepped {
    type Out = Stepped;

    fn visit<S: SteppedScheme>(self) -> Stepped {
        Stepped::of::<S>(self.0)
    }
}
