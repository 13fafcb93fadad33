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
