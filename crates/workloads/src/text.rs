//! Functions that all forecasts share: numbers formatted for readers, and settings without effect.

/// Formats a percentage with at least two significant digits.
pub(crate) fn percent(value: f64) -> String {
    let digits = if value >= 10.0 || value == 0.0 {
        0
    } else {
        (1.0 - value.log10().floor()).clamp(1.0, 7.0) as usize
    };
    format!("{value:.digits$}%")
}

/// Returns the settings that are not used, of settings with whether they are.
pub(crate) fn idle<const N: usize>(settings: [(&'static str, bool); N]) -> Vec<&'static str> {
    settings.into_iter().filter_map(|(name, is_used)| (!is_used).then_some(name)).collect()
}

/// The probability that an event happens at least once when `expected` events are expected, if there are many
/// independent ways in which it can happen and each of them is rare.
pub(crate) fn at_least_one(expected: f64) -> f64 {
    -(-expected).exp_m1()
}
