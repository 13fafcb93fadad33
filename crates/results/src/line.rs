//! Lines of results: one JSON object a line, with the version of the schema and the kind of the object.

use core::fmt;

use schemars::{JsonSchema, Schema, generate::SchemaSettings};
use serde::{Deserialize, Serialize};
use serde_json::Error;

use crate::{
    Claim, Comparison, ComparisonVerdict, Conditions, Described, LeftOut, Point, Recheck, Reproduction, Run,
    SCHEMA, Summary,
};

/// The version of an object's names and their meanings.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Version(pub u32);

impl Default for Version {
    fn default() -> Self {
        Self(SCHEMA)
    }
}

/// Makes the types of kinds, the enumeration of lines, and their reading and writing.
macro_rules! kinds {
    ($($(#[doc = $says:literal])* $kind:ident = $text:literal,)*) => {
        /// The kinds of lines, each as a type with one value.
        pub mod kind {
            $(
                #[doc = concat!("The kind `", $text, "`.")]
                #[derive(
                    Clone, Copy, Debug, Default, ::serde::Deserialize, PartialEq, Eq, ::schemars::JsonSchema,
                    ::serde::Serialize,
                )]
                pub enum $kind {
                    #[doc = concat!("Always `", $text, "`.")]
                    #[default]
                    #[serde(rename = $text)]
                    $kind,
                }
            )*
        }

        /// A line of results.
        #[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
        #[serde(untagged)]
        pub enum Line {
            $($(#[doc = $says])* $kind(Box<$kind>),)*
        }

        impl Line {
            /// The names of all kinds, each with its meaning.
            pub const KINDS: &[(&str, &str)] = &[$(($text, concat!($($says),*))),*];

            /// Returns the line of an object of a kind; `None` if the kind is no kind of results.
            fn of_kind(kind: &str, text: &str) -> Result<Option<Self>, Error> {
                Ok(match kind {
                    $($text => Some(Self::$kind(serde_json::from_str(text)?)),)*
                    _ => None,
                })
            }
        }

        $(
            impl fmt::Display for $kind {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    sorted(self, f)
                }
            }

            impl From<$kind> for Line {
                fn from(of: $kind) -> Self {
                    Self::$kind(Box::new(of))
                }
            }
        )*
    };
}

kinds! {
    /// A run.
    Run = "run",
    /// The summary of the runs of a scheme.
    Summary = "summary",
    /// The results of a scheme at a point of a sweep.
    Point = "point",
    /// The points of a sweep that a scheme cannot run.
    LeftOut = "left_out",
    /// A cell of a comparison.
    Comparison = "comparison",
    /// All cells of a comparison.
    ComparisonVerdict = "comparison_verdict",
    /// The points that were measured to find where one scheme beats another.
    Conditions = "conditions",
    /// A claim of one scheme beating another.
    Claim = "claim",
    /// The result of testing a claim again.
    Recheck = "recheck",
    /// The result of an experiment of the literature.
    Reproduction = "reproduction",
}

impl fmt::Display for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        sorted(self, f)
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        sorted(self, f)
    }
}

/// Writes an object as JSON, with its keys in alphabetical order.
fn sorted(object: &impl Serialize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    fmt::Display::fmt(&serde_json::to_value(object).map_err(|_| fmt::Error)?, f)
}

/// The reason why a text is no line of results. It says what to do with the file that has the text.
#[derive(Debug)]
pub enum Unread {
    /// The text is no JSON.
    NotJson(Error),
    /// The object has another version of the schema.
    Version(u32),
    /// The object lacks what its kind has, or has values of other types.
    NoResult(Error),
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJson(error) => write!(f, "is not JSON, a line an object ({error})"),
            Self::Version(version) => write!(
                f,
                "has version {version} of the schema of results, and this program reads version {SCHEMA}: read it with \
                 the version of `contend` that wrote it"
            ),
            Self::NoResult(error) => write!(f, "is no result that this program knows ({error})"),
        }
    }
}

impl core::error::Error for Unread {}

/// Reads a line of results; `None` if its kind is none of [`Line`].
///
/// # Errors
/// A text that is no line of results of this version.
pub fn parse(text: &str) -> Result<Option<Line>, Unread> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Head {
        schema: Version,
        kind: String,
    }
    let unread =
        |error: Error| if error.is_data() { Unread::NoResult(error) } else { Unread::NotJson(error) };
    let head: Head = serde_json::from_str(text).map_err(unread)?;
    if head.schema != Version::default() {
        return Err(Unread::Version(head.schema.0));
    }
    Line::of_kind(&head.kind, text).map_err(unread)
}

/// Returns the JSON Schema of all lines of results.
pub fn schema() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<Line>()
}
