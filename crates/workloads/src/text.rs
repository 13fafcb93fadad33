//! What forecasts have in common: numbers as readers want them.

/// A percentage with two significant digits or more.
pub(crate) fn percent(value: f64) -> String {
    let digits = if value >= 10.0 || value == 0.0 {
        0
    } else {
        (1.0 - value.log10().floor()).clamp(1.0, 7.0) as usize
    };
    format!("{value:.digits$}%")
}

/// The probability that something happens at all of which so much is expected, where it can happen in many ways, each
/// of them rare.
pub(crate) fn at_least_one(expected: f64) -> f64 {
    -(-expected).exp_m1()
}
