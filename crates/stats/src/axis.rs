//! Axes of a space of settings: numbers, logarithms, whole numbers and choices, each mapped to a coordinate from 0 to
//! 1.

use core::fmt;

/// The least number of values that rounding leaves between the ends of an axis: more digits would claim too much.
const STEPS: f64 = 100.0;

/// A setting that is varied.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    name: String,
    scale: Scale,
}

/// The values of a setting, and the steps between them that count as equal.
#[derive(Clone, Debug, PartialEq)]
pub enum Scale {
    /// Any number; equal differences count as equal.
    Linear {
        /// The smallest value.
        low: f64,
        /// The largest value.
        high: f64,
    },
    /// Any positive number; equal ratios count as equal.
    Log {
        /// The smallest value.
        low: f64,
        /// The largest value.
        high: f64,
    },
    /// Whole numbers; equal differences count as equal.
    Integer {
        /// The smallest value.
        low: i64,
        /// The largest value.
        high: i64,
    },
    /// Positive whole numbers; equal ratios count as equal.
    LogInteger {
        /// The smallest value.
        low: i64,
        /// The largest value.
        high: i64,
    },
    /// Words without an order; a value is a word's position.
    Choice(Vec<String>),
}

/// The error for an axis that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AxisError {
    /// The low end must be below the high end.
    Empty(String),
    /// Ratios need a low end above zero.
    NotPositive(String),
    /// There must be from 2 to [`Axis::CHOICES_MAX`] choices.
    Choices(String),
}

impl fmt::Display for AxisError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty(name) => write!(f, "`{name}`: the low end must be a number below the high end"),
            Self::NotPositive(name) => write!(f, "`{name}`: a logarithmic axis must begin above 0"),
            Self::Choices(name) => write!(f, "`{name}`: give from 2 to {} choices", Axis::CHOICES_MAX),
        }
    }
}

impl core::error::Error for AxisError {}

impl Axis {
    /// The most choices of an axis: a set of choices is a word of bits.
    pub const CHOICES_MAX: usize = 64;

    /// Makes an axis. Rules in words use its name.
    ///
    /// # Errors
    /// If the scale has fewer than two values, or is logarithmic and begins at or below zero.
    pub fn new(name: impl Into<String>, scale: Scale) -> Result<Self, AxisError> {
        let name = name.into();
        let (is_wide, is_positive) = match &scale {
            Scale::Linear { low, high } => (low < high && (high - low).is_finite(), true),
            Scale::Log { low, high } => (low < high && high.is_finite(), *low > 0.0),
            Scale::Integer { low, high } => (low < high, true),
            Scale::LogInteger { low, high } => (low < high, *low > 0),
            Scale::Choice(words) if (2..=Self::CHOICES_MAX).contains(&words.len()) => (true, true),
            Scale::Choice(_) => return Err(AxisError::Choices(name)),
        };
        match (is_wide, is_positive) {
            (false, _) => Err(AxisError::Empty(name)),
            (_, false) => Err(AxisError::NotPositive(name)),
            _ => Ok(Self { name, scale }),
        }
    }

    /// The name of the axis.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The values of the axis.
    pub fn scale(&self) -> &Scale {
        &self.scale
    }

    /// The words of an axis of choices; `None` for numbers, which have an order.
    pub fn choices(&self) -> Option<&[String]> {
        if let Scale::Choice(words) = &self.scale { Some(words) } else { None }
    }

    /// Whether the values are whole numbers.
    pub fn is_whole(&self) -> bool {
        matches!(self.scale, Scale::Integer { .. } | Scale::LogInteger { .. })
    }

    /// Whether equal ratios count as equal steps.
    pub fn is_logarithmic(&self) -> bool {
        matches!(self.scale, Scale::Log { .. } | Scale::LogInteger { .. })
    }

    /// The smallest and the largest value.
    pub fn ends(&self) -> (f64, f64) {
        match &self.scale {
            Scale::Linear { low, high } | Scale::Log { low, high } => (*low, *high),
            Scale::Integer { low, high } | Scale::LogInteger { low, high } => (*low as f64, *high as f64),
            Scale::Choice(words) => (0.0, (words.len() - 1) as f64),
        }
    }

    /// Returns the value at a coordinate between 0 and 1. Uniform coordinates give values that are uniform on the
    /// scale. Each whole number and each choice has an interval of coordinates of its own.
    pub fn at(&self, unit: f64) -> f64 {
        let (low, high) = self.ends();
        let unit = unit.clamp(0.0, 1.0);
        match self.scale {
            Scale::Linear { .. } => (low + unit * (high - low)).min(high),
            Scale::Log { .. } => (low * (high / low).powf(unit)).clamp(low, high),
            Scale::Integer { .. } | Scale::Choice(_) => (low + unit * (high - low + 1.0)).floor().min(high),
            Scale::LogInteger { .. } => (low * ((high + 1.0) / low).powf(unit)).floor().clamp(low, high),
        }
    }

    /// Returns the point of a space at coordinates between 0 and 1, for example those of a design.
    ///
    /// # Panics
    /// If the number of coordinates differs from the number of axes.
    pub fn point(axes: &[Self], units: &[f64]) -> Vec<f64> {
        assert_eq!(axes.len(), units.len(), "a point has a coordinate on each axis");
        axes.iter().zip(units).map(|(axis, &unit)| axis.at(unit)).collect()
    }

    /// Returns the coordinate of a value; for a whole number or a choice, the middle of its interval. The inverse of
    /// [`at`](Self::at).
    pub fn unit_of(&self, value: f64) -> f64 {
        let (low, high) = self.ends();
        let unit = match self.scale {
            Scale::Linear { .. } => (value - low) / (high - low),
            Scale::Log { .. } => (value / low).ln() / (high / low).ln(),
            Scale::Integer { .. } | Scale::Choice(_) => (value - low + 0.5) / (high - low + 1.0),
            Scale::LogInteger { .. } => {
                let edge = |value: f64| (value / low).ln() / ((high + 1.0) / low).ln();
                f64::midpoint(edge(value), edge(value + 1.0))
            }
        };
        unit.clamp(0.0, 1.0)
    }

    /// Returns the value in the middle between two values on this scale, different from both; `None` if there is no
    /// value between them.
    pub fn between(&self, low: f64, high: f64) -> Option<f64> {
        if self.is_whole() && high - low < 2.0 {
            return None;
        }
        let middle = self.middle(low, high);
        let middle = if self.is_whole() { middle.round().clamp(low + 1.0, high - 1.0) } else { middle };
        (self.choices().is_none() && low < middle && middle < high).then_some(middle)
    }

    /// The value with no more digits than this axis has use for: a hundredth of a range, or of the value on a scale of
    /// ratios.
    #[must_use]
    pub fn legible(&self, value: f64) -> f64 {
        let (low, high) = self.ends();
        let width = match self.scale {
            Scale::Linear { .. } => high - low,
            Scale::Log { .. } => value,
            _ => return value,
        };
        let digits = digits(width);
        let rounded: f64 = format!("{value:.digits$}").parse().expect("a number was written");
        rounded.clamp(low, high)
    }

    /// Returns the axis' values, as rounded by [`legible`](Self::legible), if there are at most `most`.
    pub fn values(&self, most: usize) -> Option<Vec<f64>> {
        let (low, high) = self.ends();
        let step = match self.scale {
            Scale::Linear { .. } => 0.1_f64.powi(digits(high - low) as i32),
            // Their distances differ, and there are more of them than any caller asks for.
            Scale::Log { .. } => return None,
            Scale::Integer { .. } | Scale::LogInteger { .. } | Scale::Choice(_) => 1.0,
        };
        let steps = ((high - low) / step + 1e-9).floor();
        if steps >= most as f64 {
            return None;
        }
        let mut values: Vec<f64> =
            (0..=steps as u64).map(|at| self.legible(low + step * at as f64)).collect();
        // A range may end between two multiples of the step.
        values.push(self.legible(high));
        values.dedup_by(|a, b| a.total_cmp(b).is_eq());
        Some(values)
    }

    /// Returns the point halfway between two values on this scale, even if it is not a value of the axis.
    pub(crate) fn middle(&self, low: f64, high: f64) -> f64 {
        if self.is_logarithmic() { (low * high).sqrt() } else { f64::midpoint(low, high) }
    }

    /// Formats a value for people: the word of a choice, or the number.
    pub fn text(&self, value: f64) -> String {
        match self.choices() {
            Some(words) => words.get(value as usize).cloned().unwrap_or_default(),
            None => format!("{value}"),
        }
    }
}

/// The number of useful digits after the point for values whose distance is `width`.
fn digits(width: f64) -> usize {
    (STEPS / width).log10().ceil().clamp(0.0, 15.0) as usize
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::assert_near;

    pub(crate) fn axes() -> Vec<Axis> {
        let words = ["silo", "tictoc", "mvto"].map(str::to_owned).to_vec();
        vec![
            Axis::new("read_share", Scale::Linear { low: 0.0, high: 1.0 }).unwrap(),
            Axis::new("latency_us", Scale::Log { low: 0.1, high: 1_000.0 }).unwrap(),
            Axis::new("operations", Scale::Integer { low: 1, high: 16 }).unwrap(),
            Axis::new("warehouses", Scale::LogInteger { low: 1, high: 64 }).unwrap(),
            Axis::new("scheme", Scale::Choice(words)).unwrap(),
        ]
    }

    #[test]
    fn coordinates_and_values_undo_each_other() {
        for axis in axes() {
            let (low, high) = axis.ends();
            assert_near(axis.at(0.0), low, 1e-12);
            assert_near(axis.at(1.0), high, 1e-9);
            for step in 0..=100 {
                let value = axis.at(f64::from(step) / 100.0);
                assert_near(axis.at(axis.unit_of(value)), value, 1e-9);
            }
        }
    }

    #[test]
    fn whole_numbers_and_choices_have_their_share_of_coordinates() {
        let axes = axes();
        let share = |axis: &Axis, value: f64| {
            let hits =
                (0..30_000).filter(|i| axis.at((f64::from(*i) + 0.5) / 30_000.0).total_cmp(&value).is_eq());
            hits.count() as f64 / 30_000.0
        };
        assert_near(share(&axes[2], 16.0), 1.0 / 16.0, 1e-3);
        assert_near(share(&axes[4], 1.0), 1.0 / 3.0, 1e-3);
        // On a scale of ratios, the distance from 4 to 5 equals the distance from 8 to 10.
        assert_near(share(&axes[3], 4.0), share(&axes[3], 8.0) + share(&axes[3], 9.0), 1e-3);
        assert_near(share(&axes[3], 1.0), 2.0_f64.ln() / 65.0_f64.ln(), 1e-3);
    }

    #[test]
    fn the_middle_is_that_of_the_scale() {
        let axes = axes();
        assert_near(axes[0].between(0.2, 0.4).unwrap(), 0.3, 1e-12);
        assert_near(axes[1].between(1.0, 100.0).unwrap(), 10.0, 1e-12);
        assert_eq!(axes[2].between(4.0, 7.0), Some(6.0));
        assert_eq!(axes[3].between(1.0, 64.0), Some(8.0));
        assert_eq!(axes[3].between(1.0, 3.0), Some(2.0));
        assert_eq!(axes[3].between(1.0, 2.0), None);
        assert_eq!(axes[4].between(0.0, 2.0), None);
    }

    #[test]
    fn legible_values_have_few_digits_and_stay_on_their_axis() {
        let axes = axes();
        assert_near(axes[0].legible(0.618_034), 0.62, 1e-12);
        assert_near(axes[1].legible(31.622_777), 31.6, 1e-12);
        assert_near(axes[1].legible(0.1), 0.1, 1e-12);
        assert_near(axes[2].legible(7.0), 7.0, 0.0);
    }

    #[test]
    fn the_values_of_an_axis_are_all_that_it_gives() {
        for axis in axes() {
            let Some(values) = axis.values(200) else {
                assert_eq!(axis.name(), "latency_us", "ratios have no number of values");
                continue;
            };
            let is_one_of = |value: f64| values.iter().any(|other| other.total_cmp(&value).is_eq());
            assert!(
                (0..=1_000).all(|step| is_one_of(axis.legible(axis.at(f64::from(step) / 1_000.0)))),
                "{values:?}"
            );
            assert_eq!(
                (axis.values(values.len()).as_ref(), axis.values(values.len() - 2)),
                (Some(&values), None)
            );
        }
        assert_eq!(axes()[3].values(64).map(|values| values.len()), Some(64));
    }

    #[test]
    fn axes_without_values_are_refused() {
        let refused = |scale| Axis::new("x", scale).unwrap_err();
        assert_eq!(refused(Scale::Linear { low: 1.0, high: 1.0 }), AxisError::Empty("x".into()));
        assert_eq!(refused(Scale::Linear { low: f64::NAN, high: 1.0 }), AxisError::Empty("x".into()));
        assert_eq!(refused(Scale::Log { low: 0.0, high: 1.0 }), AxisError::NotPositive("x".into()));
        assert_eq!(refused(Scale::LogInteger { low: 0, high: 1 }), AxisError::NotPositive("x".into()));
        assert_eq!(refused(Scale::Choice(vec!["a".into()])), AxisError::Choices("x".into()));
    }
}
