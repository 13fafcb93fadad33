//! The result of a comparison of two schemes, and its verdict.

use core::fmt;

use crate::Interval;

/// A comparison of A with B. Larger values are better, as with throughputs; for latencies swap A and B.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// The ratio of A to B, as the method estimates it.
    pub ratio: f64,
    /// An interval of the true ratio, with its real confidence.
    pub interval: Interval,
    /// The probability of a difference at least as clear as the measured one if A and B did not differ: two-sided,
    /// between 0 and 1.
    pub p_value: f64,
    /// The probability that a measurement of A is above a measurement of B, ties counting half: 0.5 if neither is
    /// better.
    pub superiority: f64,
}

/// The verdict of a comparison of A with B, given a margin: the ratio that matters in practice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// A is faster by more than the margin.
    Faster,
    /// A is slower by more than the margin.
    Slower,
    /// The two differ by no more than the margin.
    Same,
    /// The measurements do not decide; more measurements might.
    Unclear,
}

/// The error for two series that cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CompareError {
    /// One side has no values: measure it.
    Empty,
    /// A value is not a positive finite number, which a ratio needs: leave the run out, and report that.
    NotPositive(f64),
}

impl fmt::Display for CompareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("there is nothing to compare on one of the sides"),
            Self::NotPositive(value) => write!(f, "ratios need positive numbers, and {value} is none"),
        }
    }
}

impl core::error::Error for CompareError {}

impl Comparison {
    /// Returns the verdict at a margin, for example 1.05 for five percent. It is `Unclear` also if there are too few
    /// samples for the requested `confidence`. See [`Verdict::of`].
    pub fn verdict(&self, margin: f64, confidence: f64) -> Verdict {
        if self.interval.confidence < confidence - 1e-12 {
            return Verdict::Unclear;
        }
        Verdict::of(&self.interval, margin)
    }
}

impl Verdict {
    /// Returns the verdict of an interval of the ratio of A to B: the interval lies beyond the margin on one side, or
    /// within the margin on both sides, or decides nothing.
    ///
    /// The three claims exclude each other, and the interval holds the true ratio with its confidence. So any verdict
    /// other than `Unclear` is wrong with a probability of at most one minus that confidence. The method combines
    /// minimum-effect and equivalence tests (Schuirmann, 1987, for the latter; Wellek, Testing Statistical Hypotheses
    /// of Equivalence). An interval above 1 that reaches into the margin is unclear: there is a difference, but perhaps
    /// none that matters. With a margin of 1, only an exact tie is `Same`, and `Faster` means significantly faster.
    ///
    /// # Panics
    /// If the margin is below 1.
    pub fn of(ratio: &Interval, margin: f64) -> Self {
        assert!(margin >= 1.0, "a margin is a ratio of at least 1, {margin} is less");
        if ratio.low > margin {
            Self::Faster
        } else if ratio.high < 1.0 / margin {
            Self::Slower
        } else if ratio.low >= 1.0 / margin && ratio.high <= margin {
            Self::Same
        } else {
            Self::Unclear
        }
    }
}

/// The probability that a value of `a` is above a value of `b`, ties counting half (Vargha and Delaney's A12, 2000);
/// Cliff's delta (Psychological Bulletin 1993) is `2 * superiority - 1`. `None` if a side is empty.
pub fn superiority(a: &[f64], b: &[f64]) -> Option<f64> {
    let wins = a.iter().flat_map(|a| b.iter().map(move |b| win(*a, *b)));
    (!a.is_empty() && !b.is_empty()).then(|| wins.sum::<f64>() / (a.len() * b.len()) as f64)
}

/// Returns 1 if `a` is above `b`, a half if they are equal, else 0.
pub(crate) fn win(a: f64, b: f64) -> f64 {
    f64::midpoint(f64::from(a > b), f64::from(a >= b))
}

/// Returns the logarithm of a value, or the error for a value that is not positive and finite.
pub(crate) fn log(value: f64) -> Result<f64, CompareError> {
    if value > 0.0 && value.is_finite() { Ok(value.ln()) } else { Err(CompareError::NotPositive(value)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assert_near;

    #[test]
    fn verdicts_follow_from_where_the_interval_lies() {
        let of = |low, high| Verdict::of(&Interval { low, high, confidence: 0.95 }, 1.05);
        assert_eq!(of(1.06, 1.5), Verdict::Faster);
        assert_eq!(of(0.5, 0.95), Verdict::Slower);
        assert_eq!(of(0.96, 1.05), Verdict::Same);
        assert_eq!(of(1.01, 1.04), Verdict::Same);
        assert_eq!(of(1.01, 1.2), Verdict::Unclear);
        assert_eq!(of(0.5, 2.0), Verdict::Unclear);
    }

    #[test]
    fn too_few_samples_decide_nothing() {
        let interval = Interval { low: 2.0, high: 3.0, confidence: 0.75 };
        let comparison = Comparison { ratio: 2.5, interval, p_value: 0.25, superiority: 1.0 };
        assert_eq!(comparison.verdict(1.05, 0.95), Verdict::Unclear);
        assert_eq!(comparison.verdict(1.05, 0.75), Verdict::Faster);
    }

    #[test]
    fn superiority_counts_pairs_and_halves_of_ties() {
        assert_eq!(superiority(&[1.0], &[]), None);
        assert_near(superiority(&[3.0, 4.0], &[1.0, 2.0]).unwrap(), 1.0, 0.0);
        // Six pairs: wins 2 > 1, 3 > 1, 3 > 2, a tie of 2 and 2, two losses to 4.
        assert_near(superiority(&[2.0, 3.0], &[1.0, 2.0, 4.0]).unwrap(), 3.5 / 6.0, 1e-15);
    }
}
