//! Instances: the trials of a scheme, compiled for its types in both builds of the engine, as values. Lists of schemes
//! are made of instances, so that nothing above this crate needs a scheme's type.

use engine::entry::Entry;
use engine::setting::{SettingError, Values};
use engine::{Admits, Facts, Scheme};
use engine_sim::Info as SteppedInfo;
use engine_sim::setting::SettingError as SteppedError;
use proof::script::{self, Script, ScriptOutcome};
use sync::Arc;

use crate::trial::{Trial, Tried, native, stepped};
use crate::watch::Progress;

pub use engine_sim::Scheme as SteppedScheme;
pub use engine_sim::entry::{Entry as SteppedEntry, Planted};
pub use sync_sim::plant::Plant;

/// Settings of a trial that are not the standard ones.
type Given = [(String, String)];

/// A scheme as trials need it, over both builds of the engine.
#[derive(Clone, Copy, Debug)]
pub struct TrialInstance {
    /// The trials on threads, and the scripts.
    pub(crate) native: Native,
    /// The explored trials.
    pub(crate) stepped: Stepped,
}

/// The half of a [`TrialInstance`] over the native build: trials on threads, and scripts.
#[derive(Clone, Copy, Debug)]
pub struct Native {
    pub(crate) entry: &'static Entry,
    pub(crate) facts: fn(&Given) -> Result<Facts, SettingError>,
    pub(crate) run: fn(Trial<'_>, Option<native::Given>, Arc<Progress>) -> Result<Tried, SettingError>,
    pub(crate) play: fn(&Script, &Values) -> Result<ScriptOutcome, SettingError>,
}

/// The half of a [`TrialInstance`] over the stepped build: explored trials.
#[derive(Clone, Copy, Debug)]
pub struct Stepped {
    pub(crate) entry: &'static SteppedEntry,
    /// The description that the scheme's type tells.
    info: SteppedInfo,
    pub(crate) run: fn(Trial<'_>, Option<stepped::Given>, Arc<Progress>) -> Result<Tried, SteppedError>,
}

impl Native {
    /// Returns the native trials of a scheme with its entry.
    pub const fn of<S: Scheme>(entry: &'static Entry) -> Self {
        Self { entry, facts: native::facts::<S>, run: native::run::<S>, play: script::play::<S> }
    }
}

impl Stepped {
    /// Returns the explored trials of a scheme with its entry in the stepped build.
    pub const fn of<S: SteppedScheme>(entry: &'static SteppedEntry) -> Self {
        Self { entry, info: S::INFO, run: stepped::run::<S> }
    }
}

impl TrialInstance {
    /// Returns the instance of a scheme with its entry in the native build and in the stepped one.
    pub const fn of<N: Scheme, S: SteppedScheme>(
        entry: &'static Entry,
        stepped: &'static SteppedEntry,
    ) -> Self {
        Self::new(Native::of::<N>(entry), Stepped::of::<S>(stepped))
    }

    /// Returns the instance of the scheme of which `native` and `stepped` are the halves.
    pub const fn new(native: Native, stepped: Stepped) -> Self {
        Self { native, stepped }
    }

    /// The scheme's name.
    pub fn name(&self) -> &'static str {
        self.native.entry.info.name
    }

    /// Whether the entries of both builds, and the type of the stepped one, describe the scheme of `entry`.
    pub fn is_of(&self, entry: &Entry) -> bool {
        // The builds have types of their own for what they tell in the same words.
        let told = format!("{:?}", entry.info);
        let is_same = |info: &SteppedInfo| format!("{info:?}") == told;
        let settings = entry.settings.iter().map(|setting| setting.name);
        self.native.entry.info == entry.info
            && is_same(&self.stepped.entry.info)
            && is_same(&self.stepped.info)
            && settings.eq(self.stepped.entry.settings.iter().map(|setting| setting.name))
    }

    /// Returns the bugs that can be planted in the scheme.
    pub fn plants(&self) -> &'static [Planted] {
        self.stepped.entry.plants
    }

    /// Returns the bug of this name, if it can be planted in the scheme.
    pub fn plant(&self, name: &str) -> Option<&'static Plant> {
        self.plants().iter().map(|planted| planted.plant).find(|plant| plant.name == name)
    }

    /// Whether the scheme admits only one worker.
    pub(crate) fn admits_one(&self) -> bool {
        self.native.entry.info.workers == Admits::One
    }
}
