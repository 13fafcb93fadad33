//! The entries of a catalogue: all facts about a scheme that a list may ask for. Lists of schemes, of their settings,
//! of the variants that are tested, and of the mechanisms that explain their speed are made from entries and name no
//! scheme.

use sync::plant::Plant;

use crate::setting::{Setting, Settings};
use crate::{Info, Scheme};

/// Values of settings, of a scheme or of the engine, that differ from the standard ones.
pub type Given = &'static [(&'static str, &'static str)];

/// A scheme's entry.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The description of the scheme.
    pub info: Info,
    /// The settings of the scheme.
    pub settings: &'static [Setting],
    /// Whether the scheme takes different locks for reads and for writes when records are accessed: see
    /// [`Scheme::UPGRADES`].
    pub upgrades: bool,
    /// Settings under which the scheme is held to its promises, too.
    pub variants: &'static [Variant],
    /// Settings of the scheme that its authors have at other values than the standard ones.
    pub published: &'static [Published],
    /// Mechanisms that a setting turns off, on, or another way. Each is tried as an explanation of the scheme's speed.
    pub toggles: &'static [Toggle],
    /// The bugs that can be planted in the scheme and in the parts that it uses.
    pub plants: &'static [Planted],
    /// The exact outcomes of scripts under the standard settings: the name of the script, and facts with commas between
    /// them, in the language of the scripts.
    pub outcomes: &'static [(&'static str, &'static str)],
}

impl Entry {
    /// Returns the entry of a scheme with the facts that its type tells.
    pub const fn of<S: Scheme>() -> Self {
        Self {
            info: S::INFO,
            settings: S::Settings::ALL,
            upgrades: S::UPGRADES,
            variants: &[],
            published: &[],
            toggles: &[],
            plants: &[],
            outcomes: &[],
        }
    }

    /// Returns the settings of the variant of this name; `None` if there is no such variant.
    pub fn variant(&self, name: &str) -> Option<&'static Variant> {
        self.variants.iter().find(|variant| variant.name == name)
    }
}

/// Settings that make another algorithm of a scheme, or change its promise.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// The name, which follows that of the scheme: `bamboo` `showing_nothing`.
    pub name: &'static str,
    /// A description of the algorithm under these settings.
    pub says: &'static str,
    /// The settings.
    pub given: Given,
}

/// A setting of a scheme as its authors have it.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    /// The name of the setting.
    pub setting: &'static str,
    /// The value that the authors have.
    pub value: &'static str,
    /// The place that says so: a section of a paper, or a public program.
    pub place: &'static str,
}

/// A mechanism of a scheme, and the setting that changes it.
#[derive(Clone, Copy, Debug)]
pub struct Toggle {
    /// The mechanism, a colon, and its state after the change.
    pub says: &'static str,
    /// The name of the setting.
    pub setting: &'static str,
    /// The value of the setting after the change.
    pub value: &'static str,
}

/// A bug that can be planted in a scheme.
#[derive(Clone, Copy, Debug)]
pub struct Planted {
    /// The bug.
    pub plant: &'static Plant,
    /// The settings that enable the code of the bug.
    pub under: Given,
    /// The reason for which a search may miss the bug; `None` if the search must find it.
    pub may_be_missed: Option<&'static str>,
}

impl Planted {
    /// Returns a bug in code that the standard settings enable, and that a search must find.
    pub const fn new(plant: &'static Plant) -> Self {
        Self { plant, under: &[], may_be_missed: None }
    }

    /// Returns the bug as one in code that only these settings enable.
    #[must_use]
    pub const fn under(self, under: Given) -> Self {
        Self { under, ..self }
    }

    /// Returns the bug as one that a search may miss, for this reason.
    #[must_use]
    pub const fn may_be_missed(self, reason: &'static str) -> Self {
        Self { may_be_missed: Some(reason), ..self }
    }
}
