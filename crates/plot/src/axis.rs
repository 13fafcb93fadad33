//! Axes: a scale with a name and labels.

use crate::Scale;
use crate::frame::LABEL;
use crate::svg::fit;

/// Greatest width of a word on an axis, in pixels.
const WORD_MAX: f64 = 90.0;

/// An axis of a plot.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The label: the quantity, with its unit.
    pub label: String,
    /// The scale of the values.
    pub scale: Scale,
    /// The ticks: values, and their labels.
    pub ticks: Vec<(f64, String)>,
}

impl Axis {
    /// Makes an axis of numbers, labelled at round numbers.
    pub fn numbers(label: impl Into<String>, scale: Scale, show: fn(f64) -> String) -> Self {
        let ticks = scale.ticks(5).into_iter().map(|tick| (tick, show(tick))).collect();
        Self { label: label.into(), scale, ticks }
    }

    /// Makes an axis of numbers, labelled at the values that were measured.
    pub fn measured_at(label: impl Into<String>, values: &[f64], show: fn(f64) -> String) -> Self {
        let scale = Scale::of_setting(values.iter().copied());
        let ticks = values.iter().map(|&value| (value, show(value))).collect();
        Self { label: label.into(), scale, ticks }
    }

    /// Makes an axis of words: the first is at 0, the second at 1, and so on.
    pub fn words(label: impl Into<String>, words: &[String]) -> Self {
        let scale = Scale::linear(-0.4, words.len() as f64 - 0.6);
        let ticks =
            words.iter().enumerate().map(|(at, word)| (at as f64, fit(word, LABEL, WORD_MAX))).collect();
        Self { label: label.into(), scale, ticks }
    }
}
