//! Axes: a scale with a name and labels.

use crate::Scale;
use crate::frame::LABEL;
use crate::svg::fit;

/// A word on an axis is no wider.
const WORD_MAX: f64 = 90.0;

/// An axis of a plot.
#[derive(Clone, Debug)]
pub struct Axis {
    /// What it shows, with its unit.
    pub label: String,
    /// How values lie along it.
    pub scale: Scale,
    /// Where it is labelled, and with what.
    pub ticks: Vec<(f64, String)>,
}

impl Axis {
    /// An axis of numbers, labelled at round ones.
    pub fn numbers(label: impl Into<String>, scale: Scale, show: fn(f64) -> String) -> Self {
        let ticks = scale.ticks(5).into_iter().map(|tick| (tick, show(tick))).collect();
        Self { label: label.into(), scale, ticks }
    }

    /// An axis of numbers that was measured at these, and is labelled there.
    pub fn measured_at(label: impl Into<String>, values: &[f64], show: fn(f64) -> String) -> Self {
        let scale = Scale::of_setting(values.iter().copied());
        let ticks = values.iter().map(|&value| (value, show(value))).collect();
        Self { label: label.into(), scale, ticks }
    }

    /// An axis of words: the first is at 0, the second at 1, and so on.
    pub fn words(label: impl Into<String>, words: &[String]) -> Self {
        let scale = Scale::linear(-0.4, words.len() as f64 - 0.6);
        let ticks =
            words.iter().enumerate().map(|(at, word)| (at as f64, fit(word, LABEL, WORD_MAX))).collect();
        Self { label: label.into(), scale, ticks }
    }
}
