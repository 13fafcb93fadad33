//! Settings: named values with a range, a unit and a sentence; parsed once, refused with the way out.

use core::fmt;
use std::collections::BTreeMap;

/// The legal values of a setting.
#[derive(Clone, Copy, Debug)]
pub enum Range {
    /// A whole number between two bounds, both included.
    Int(u64, u64),
    /// A number between two bounds, both included.
    Real(f64, f64),
    /// `true` or `false`.
    Switch,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A text in a small language of its own: a description of its form, and a test for it.
    Text(&'static str, fn(&str) -> bool),
}

impl Range {
    fn admits(self, text: &str) -> bool {
        match self {
            Self::Int(min, max) => text.parse().is_ok_and(|value: u64| (min..=max).contains(&value)),
            Self::Real(min, max) => text.parse().is_ok_and(|value: f64| (min..=max).contains(&value)),
            Self::Switch => matches!(text, "true" | "false"),
            Self::Choice(words) => words.contains(&text),
            Self::Text(_, admits) => admits(text),
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(min, max) => write!(f, "a whole number from {min} to {max}"),
            Self::Real(min, max) => write!(f, "a number from {min} to {max}"),
            Self::Switch => write!(f, "true or false"),
            Self::Choice(words) => write!(f, "one of {}", words.join(", ")),
            Self::Text(form, _) => write!(f, "{form}"),
        }
    }
}

/// A setting: of a workload, of a scheme, or of the run.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its full name, for example `tpcc.warehouses`.
    pub name: &'static str,
    /// The standard value.
    pub default: &'static str,
    /// The legal values.
    pub range: Range,
    /// The unit of a quantity, or empty.
    pub unit: &'static str,
    /// One sentence: its effect, and when it pays.
    pub doc: &'static str,
    /// One phrase: the part of the system that a change of it stresses.
    pub stresses: &'static str,
}

/// The reason for which settings were refused. The text names the way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingError(pub String);

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for SettingError {}

/// The value of every setting of a run, given or standard; all in range.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values(BTreeMap<&'static str, String>);

impl Values {
    /// Takes `given` values for `known` settings and the standard ones for the rest.
    ///
    /// # Errors
    /// An unknown name (with the nearest known one), a value out of range (with the range), or a name
    /// given twice.
    pub fn new<'k>(
        known: impl IntoIterator<Item = &'k Setting>,
        given: &[(String, String)],
    ) -> Result<Self, SettingError> {
        let known: Vec<&Setting> = known.into_iter().collect();
        let mut values: BTreeMap<_, _> = known.iter().map(|s| (s.name, s.default.to_owned())).collect();
        let mut seen = std::collections::BTreeSet::new();
        for (name, text) in given {
            let Some(setting) = known.iter().find(|setting| setting.name == name) else {
                let names = known.iter().map(|setting| setting.name);
                return Err(SettingError(match nearest(name, names) {
                    Some(near) => format!("unknown setting `{name}`; did you mean `{near}`?"),
                    None => format!("unknown setting `{name}`; see `contend list settings`"),
                }));
            };
            if !setting.range.admits(text) {
                let (range, default) = (setting.range, setting.default);
                return Err(SettingError(format!("`{name}={text}`: must be {range} (standard: {default})")));
            }
            if !seen.insert(name) {
                return Err(SettingError(format!("`{name}` is given twice; give it once")));
            }
            values.insert(setting.name, text.clone());
        }
        Ok(Self(values))
    }

    /// The value of a setting as text.
    ///
    /// # Panics
    /// When the setting is not among the known ones: a wrong program.
    pub fn text(&self, name: &str) -> &str {
        self.0.get(name).unwrap_or_else(|| panic!("no setting `{name}`"))
    }

    /// The value of a whole-number setting.
    pub fn int(&self, name: &str) -> u64 {
        self.text(name).parse().expect("checked against its range")
    }

    /// The value of a real-number setting.
    pub fn real(&self, name: &str) -> f64 {
        self.text(name).parse().expect("checked against its range")
    }

    /// The value of a switch.
    pub fn switch(&self, name: &str) -> bool {
        self.text(name) == "true"
    }

    /// All settings with their values, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(name, value)| (*name, value.as_str()))
    }
}

/// The settings of a scheme with their values: a struct that [`settings!`](crate::settings) declares, or `()` for a
/// scheme without settings.
pub trait Settings: Sized {
    /// The declarations of the settings.
    const ALL: &'static [Setting];

    /// Takes the settings out of these values.
    ///
    /// # Panics
    /// When one of the settings is not among those that the values were made for: a wrong program.
    fn of(values: &Values) -> Self;
}

impl Settings for () {
    const ALL: &'static [Setting] = &[];

    fn of(_: &Values) {}
}

/// The type of a setting's value in code.
pub trait Value: Sized {
    /// The range of a setting that declares none.
    const RANGE: Range;

    /// Returns the value that a text means, which the setting's range admits.
    ///
    /// # Panics
    /// When the range of the setting admits a text that is no value of the type: a wrong declaration.
    fn of(text: &str) -> Self;
}

macro_rules! parsed_values {
    ($($Type:ty: $range:expr),+) => {
        $(impl Value for $Type {
            const RANGE: Range = $range;

            fn of(text: &str) -> Self {
                text.parse().unwrap_or_else(|_| panic!("the range admits `{text}`, the type does not"))
            }
        })+
    };
}

parsed_values!(
    u32: Range::Int(0, u32::MAX as u64),
    u64: Range::Int(0, u64::MAX),
    usize: Range::Int(0, usize::MAX as u64),
    f64: Range::Real(f64::MIN, f64::MAX)
);

impl Value for bool {
    const RANGE: Range = Range::Choice(&["off", "on"]);

    fn of(text: &str) -> Self {
        matches!(text, "on" | "true")
    }
}

/// Declares the settings of a scheme as a struct that implements [`Settings`]. The name of a setting is the name of the
/// scheme, a point, and the name of the field; the field's documentation is the sentence that users read. `range` may
/// be left out where the type's own range is meant, and `unit` where there is none. A setting that several schemes
/// share is declared by a function of its name.
#[macro_export]
macro_rules! settings {
    (
        $(#[$about:meta])*
        $seen:vis struct $Settings:ident of $scheme:literal {
            $($(#[doc = $doc:literal])+ $field:ident: $Type:ty $({ $($declared:tt)+ })? $(= $declare:path)?),+ $(,)?
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug)]
        $seen struct $Settings {
            $($(#[doc = $doc])+ pub $field: $Type,)+
        }

        impl $crate::setting::Settings for $Settings {
            const ALL: &'static [$crate::setting::Setting] = &[$(
                $crate::settings!(
                    @one concat!($scheme, ".", stringify!($field)), concat!($($doc),+), $Type,
                    $({ $($declared)+ })? $(= $declare)?
                )
            ),+];

            fn of(values: &$crate::setting::Values) -> Self {
                Self {
                    $($field: $crate::setting::Value::of(
                        values.text(concat!($scheme, ".", stringify!($field)))
                    ),)+
                }
            }
        }
    };
    (
        @one $name:expr, $doc:expr, $Type:ty,
        {
            default: $default:literal,
            $(range: $range:expr,)?
            $(unit: $unit:literal,)?
            stresses: $stresses:literal $(,)?
        }
    ) => {
        $crate::setting::Setting {
            name: $name,
            default: $default,
            range: $crate::settings!(@range $Type $(, $range)?),
            unit: concat!($($unit)?),
            doc: $doc.trim_ascii_start(),
            stresses: $stresses,
        }
    };
    (@one $name:expr, $doc:expr, $Type:ty, = $declare:path) => {
        $declare($name)
    };
    (@range $Type:ty) => {
        <$Type as $crate::setting::Value>::RANGE
    };
    (@range $Type:ty, $range:expr) => {
        $range
    };
}

/// Declares the words of a setting as an `enum`, which are the setting's range.
#[macro_export]
macro_rules! words {
    (
        $(#[$about:meta])*
        $seen:vis enum $Words:ident {
            $($(#[$says:meta])* $Word:ident = $word:literal),+ $(,)?
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $seen enum $Words {
            $($(#[$says])* $Word,)+
        }

        impl $crate::setting::Value for $Words {
            const RANGE: $crate::setting::Range = $crate::setting::Range::Choice(&[$($word),+]);

            fn of(text: &str) -> Self {
                match text {
                    $($word => Self::$Word,)+
                    _ => panic!("the range admits `{text}`, the type does not"),
                }
            }
        }
    };
}

/// The candidate that a mistyped `name` most likely means: at most a third of its letters differ.
pub fn nearest<'n>(name: &str, candidates: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::levenshtein(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= name.len().div_ceil(3))
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [Setting; 2] = [
        Setting {
            name: "tpcc.warehouses",
            default: "1",
            range: Range::Int(1, 100),
            unit: "",
            doc: "",
            stresses: "",
        },
        Setting {
            name: "ycsb.theta",
            default: "0.99",
            range: Range::Real(0.0, 0.999),
            unit: "",
            doc: "",
            stresses: "",
        },
    ];

    crate::words! {
        /// Two words.
        pub(crate) enum Color {
            /// One.
            Red = "red",
            /// The other.
            DarkBlue = "dark_blue",
        }
    }

    const fn shared(name: &'static str) -> Setting {
        Setting { name, default: "3", range: Range::Int(1, 9), unit: "", doc: "", stresses: "" }
    }

    crate::settings! {
        /// Settings of a scheme that is not there.
        pub(crate) struct Mine of "mine" {
            /// A length;
            /// in two lines.
            length: usize {
                default: "40",
                range: Range::Int(1, 100),
                unit: "ms",
                stresses: "patience",
            },
            /// A color.
            color: Color { default: "red", stresses: "the eye" },
            /// A switch.
            on: bool { default: "off", stresses: "nothing" },
            /// A part of the whole.
            share: f64 { default: "0.5", range: Range::Real(0.0, 1.0), stresses: "the rest" },
            /// Declared elsewhere.
            turns: u64 = shared,
        }
    }

    #[test]
    fn declared_settings_have_names_sentences_and_typed_values() {
        let [length, color, on, share, turns] = Mine::ALL else { panic!("five settings: {:?}", Mine::ALL) };
        let names = [length, color, on, share, turns].map(|setting| setting.name);
        assert_eq!(names, ["mine.length", "mine.color", "mine.on", "mine.share", "mine.turns"]);
        assert_eq!((length.doc, length.unit), ("A length; in two lines.", "ms"));
        assert_eq!((color.unit, turns.default), ("", "3"));
        let given = [("mine.color".into(), "dark_blue".into()), ("mine.on".into(), "on".into())];
        let mine = Mine::of(&Values::new(Mine::ALL, &given).expect("legal"));
        assert_eq!((mine.length, mine.color, mine.on, mine.turns), (40, Color::DarkBlue, true, 3));
        assert!((mine.share - 0.5).abs() < 1e-12);
        assert!(Values::new(Mine::ALL, &[("mine.color".into(), "blue".into())]).is_err());
    }

    fn refusal(name: &str, value: &str) -> String {
        Values::new(&KNOWN, &[(name.into(), value.into())]).expect_err("refused").0
    }

    #[test]
    fn values_not_given_are_standard() {
        let values = Values::new(&KNOWN, &[("ycsb.theta".into(), "0.5".into())]).expect("legal");
        assert_eq!(values.int("tpcc.warehouses"), 1);
        assert!((values.real("ycsb.theta") - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_mistyped_name_is_refused_with_the_nearest() {
        assert!(refusal("tpcc.warehouse", "2").contains("did you mean `tpcc.warehouses`"));
        assert!(refusal("zzz", "2").contains("contend list settings"));
    }

    #[test]
    fn a_value_out_of_range_is_refused_with_the_range() {
        assert!(refusal("tpcc.warehouses", "0").contains("from 1 to 100"));
        assert!(refusal("tpcc.warehouses", "-1").contains("from 1 to 100"));
        assert!(refusal("ycsb.theta", "nan").contains("from 0 to 0.999"));
    }
}
