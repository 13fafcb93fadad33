//! Predicates over settings: the region of a claim, in a form that people can read and programs can test.

use core::fmt;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::tree::Rule;

/// The features of a point, by name: words for choices, numbers for all others.
pub type Features = BTreeMap<String, Feature>;

/// The value of a feature.
#[derive(Clone, Debug, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(untagged)]
pub enum Feature {
    /// A number.
    Number(f64),
    /// A word of a choice.
    Word(String),
}

/// A list of boxes of settings. A predicate holds at a point if any of its boxes does. Without a box, it never holds.
/// It displays in words.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
pub struct Predicate(pub Vec<Vec<Term>>);

/// The condition of a box on one feature.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
pub struct Term {
    /// The name of a setting, or of a quantity that is derived from several settings.
    pub feature: String,
    /// The feature is above this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<f64>,
    /// The feature is at most this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// The feature is one of these words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_of: Option<Vec<String>>,
}

impl Predicate {
    /// Returns the boxes of a tree's rules. Two boxes that are halves of one box are joined.
    pub fn of_rules(rules: &[Rule]) -> Self {
        let term = |condition: &stats::tree::Condition| {
            let (above, at_most) = condition.bounds();
            let words = condition.words();
            let one_of = words.map(|words| words.into_iter().map(str::to_owned).collect());
            Term { feature: condition.name().to_owned(), above, at_most, one_of }
        };
        let mut boxes: Vec<Vec<Term>> =
            rules.iter().map(|rule| rule.conditions.iter().map(term).collect()).collect();
        while let Some((first, second, whole)) = halves(&boxes) {
            boxes.remove(second);
            boxes[first] = whole;
        }
        Self(boxes)
    }

    /// Returns whether the predicate holds at a point. A condition on a feature that the point does not have is not
    /// met.
    pub fn holds(&self, features: &Features) -> bool {
        self.0.iter().any(|terms| terms.iter().all(|term| term.holds(features)))
    }

    /// Returns whether the predicate never holds.
    pub fn is_never(&self) -> bool {
        self.0.is_empty()
    }
}

impl Term {
    fn holds(&self, features: &Features) -> bool {
        match features.get(&self.feature) {
            Some(Feature::Number(value)) => {
                self.one_of.is_none()
                    && self.above.is_none_or(|bound| *value > bound)
                    && self.at_most.is_none_or(|bound| *value <= bound)
            }
            Some(Feature::Word(word)) => self.one_of.as_ref().is_some_and(|words| words.contains(word)),
            None => false,
        }
    }

    /// Returns the term that covers this and another term, if one range begins where the other ends.
    fn joined(&self, other: &Self) -> Option<Self> {
        if self.feature != other.feature {
            return None;
        }
        let (low, high) = match (self.at_most, other.at_most, self.above, other.above) {
            (Some(end), _, _, Some(start)) if end.total_cmp(&start).is_eq() => (self, other),
            (_, Some(end), Some(start), _) if end.total_cmp(&start).is_eq() => (other, self),
            _ => return None,
        };
        Some(Self { feature: self.feature.clone(), above: low.above, at_most: high.at_most, one_of: None })
    }

    /// Returns whether the term has no condition.
    fn is_empty(&self) -> bool {
        self.above.is_none() && self.at_most.is_none() && self.one_of.is_none()
    }
}

/// Returns the positions of two boxes that differ in one term only and are halves of one box, and that box.
fn halves(boxes: &[Vec<Term>]) -> Option<(usize, usize, Vec<Term>)> {
    for second in 1..boxes.len() {
        for first in 0..second {
            let (a, b) = (&boxes[first], &boxes[second]);
            if a.len() != b.len() {
                continue;
            }
            let differing: Vec<usize> = (0..a.len()).filter(|&at| a[at] != b[at]).collect();
            let [at] = differing[..] else { continue };
            if let Some(whole) = a[at].joined(&b[at]) {
                let (before, after) = (a[..at].iter().cloned(), a[at + 1..].iter().cloned());
                let whole = before.chain([whole].into_iter().filter(|term| !term.is_empty())).chain(after);
                return Some((first, second, whole.collect()));
            }
        }
    }
    None
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = |terms: &Vec<Term>| {
            let terms: Vec<String> = terms.iter().map(Term::to_string).collect();
            if terms.is_empty() { "always".to_owned() } else { terms.join(" and ") }
        };
        match &self.0[..] {
            [] => f.write_str("never"),
            [one] => f.write_str(&words(one)),
            boxes => {
                let told: Vec<String> = boxes.iter().map(|terms| format!("({})", words(terms))).collect();
                f.write_str(&told.join(" or "))
            }
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { feature, above, at_most, one_of } = self;
        match (above, at_most, one_of) {
            (_, _, Some(words)) => write!(f, "{feature} is {}", words.join(" or ")),
            (Some(above), Some(at_most), _) => write!(f, "{above} < {feature} <= {at_most}"),
            (Some(above), None, _) => write!(f, "{feature} > {above}"),
            (None, Some(at_most), _) => write!(f, "{feature} <= {at_most}"),
            (None, None, None) => write!(f, "{feature} is anything"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(feature: &str, above: Option<f64>, at_most: Option<f64>) -> Term {
        Term { feature: feature.to_owned(), above, at_most, one_of: None }
    }

    fn features(theta: f64, retry: &str) -> Features {
        let number = ("theta".to_owned(), Feature::Number(theta));
        [number, ("retry".to_owned(), Feature::Word(retry.to_owned()))].into()
    }

    #[test]
    fn it_holds_where_any_of_its_boxes_does() {
        let retry = Term { one_of: Some(vec!["drop".to_owned()]), ..term("retry", None, None) };
        let predicate = Predicate(vec![
            vec![term("theta", Some(0.5), Some(0.8))],
            vec![term("theta", Some(0.8), None), retry],
        ]);
        assert_eq!(predicate.to_string(), "(0.5 < theta <= 0.8) or (theta > 0.8 and retry is drop)");
        for (theta, word, holds) in
            [(0.5, "same", false), (0.8, "same", true), (0.9, "same", false), (0.9, "drop", true)]
        {
            assert_eq!(predicate.holds(&features(theta, word)), holds, "{theta} {word}");
        }
        assert!(!predicate.holds(&Features::new()), "a point that knows nothing meets no condition");
    }

    #[test]
    fn empty_predicates_never_hold_and_empty_boxes_always() {
        let (never, always) = (Predicate::default(), Predicate(vec![Vec::new()]));
        assert!(never.is_never() && !never.holds(&features(0.5, "same")) && never.to_string() == "never");
        assert!(always.holds(&features(0.5, "same")) && always.to_string() == "always");
    }

    #[test]
    fn halves_become_whole() {
        let low = vec![term("theta", None, Some(0.5)), term("reads", None, Some(3.0))];
        let middle = vec![term("theta", Some(0.5), Some(0.8)), term("reads", None, Some(3.0))];
        let other = vec![term("theta", Some(0.9), None), term("reads", None, Some(3.0))];
        let (first, second, whole) =
            halves(&[low.clone(), other.clone(), middle.clone()]).expect("two halves");
        assert_eq!((first, second), (0, 2));
        assert_eq!(Predicate(vec![whole]).to_string(), "theta <= 0.8 and reads <= 3");
        assert_eq!(halves(&[low.clone(), other]), None);
        let rest = vec![term("theta", Some(0.5), None), term("reads", None, Some(3.0))];
        assert_eq!(Predicate(vec![halves(&[low, rest]).expect("two halves").2]).to_string(), "reads <= 3");
    }

    #[test]
    fn it_survives_being_written_down() {
        let retry = Term { one_of: Some(vec!["drop".to_owned()]), ..term("retry", None, None) };
        let predicate = Predicate(vec![vec![term("theta", Some(0.5), None), retry]]);
        let text = serde_json::to_string(&predicate).expect("text");
        assert_eq!(text, r#"[[{"feature":"theta","above":0.5},{"feature":"retry","one_of":["drop"]}]]"#);
        assert_eq!(serde_json::from_str::<Predicate>(&text).expect("a predicate"), predicate);
    }
}
