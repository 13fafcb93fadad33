//! Values of settings and of other choices: switches, numbers or words, as JSON has them.

use core::fmt;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Number;

/// The value of a setting or of another choice. It displays as text without quotation marks.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(untagged)]
pub enum Choice {
    /// A switch.
    Switch(bool),
    /// A number, in the unit of the setting.
    Number(Number),
    /// A word.
    Word(String),
}

/// Values by the names of settings or other choices.
pub type Named = BTreeMap<String, Choice>;

impl Choice {
    /// Returns the number; `None` if the value is none.
    pub fn as_f64(&self) -> Option<f64> {
        if let Self::Number(number) = self { number.as_f64() } else { None }
    }

    /// Returns the word; `None` if the value is none.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::Word(word) = self { Some(word) } else { None }
    }

    /// Returns the value of a text: the switch or the number that the text is in JSON, else the text as a word.
    pub fn of_text(text: &str) -> Self {
        serde_json::from_str(text)
            .ok()
            .filter(|of| !matches!(of, Self::Word(_)))
            .unwrap_or_else(|| text.into())
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch(is_on) => is_on.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Word(word) => word.fmt(f),
        }
    }
}

impl From<bool> for Choice {
    fn from(is_on: bool) -> Self {
        Self::Switch(is_on)
    }
}

impl From<u64> for Choice {
    fn from(number: u64) -> Self {
        Self::Number(number.into())
    }
}

impl From<i64> for Choice {
    fn from(number: i64) -> Self {
        Self::Number(number.into())
    }
}

impl From<f64> for Choice {
    /// Returns the number; as a word, if JSON has no such number.
    fn from(number: f64) -> Self {
        Number::from_f64(number).map_or_else(|| Self::Word(number.to_string()), Self::Number)
    }
}

impl From<&str> for Choice {
    fn from(word: &str) -> Self {
        Self::Word(word.to_owned())
    }
}
