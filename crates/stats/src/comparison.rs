//! What a comparison of two schemes says, and the verdict that follows from it.

use core::fmt;

use crate::Interval;

/// How A compares with B. Values are such that more is better, throughputs for example; for latencies swap A and B.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// The ratio of A to B, as the method estimates it.
    pub ratio: f64,
    /// Where the true ratio is, with the confidence that the interval has.
    pub interval: Interval,
    /// How likely a difference as clear as this one would be if there were none: two-sided, between 0 and 1.
    pub p_value: f64,
    /// How likely it is that a measurement of A beats one of B, ties counting half: 0.5 when neither is better.
    pub superiority: f64,
}

/// What a comparison allows to be said of A against B, given a ratio that matters in practice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// A is faster by more than the margin.
    Faster,
    /// A is slower by more than the margin.
    Slower,
    /// The two differ by no more than the margin.
    Same,
    /// The measurements do not decide it: more of them might.
    Unclear,
}

/// Why two series cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CompareError {
    /// There is nothing on one side: measure it.
    Empty,
    /// Ratios need positive finite numbers, and this is none: leave the run out, and say so.
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
    /// The verdict at a margin, such as 1.05 for five percent; `Unclear` also when the samples are too few for the
    /// `confidence` that is asked for. See [`Verdict::of`].
    pub fn verdict(&self, margin: f64, confidence: f64) -> Verdict {
        if self.interval.confidence < confidence - 1e-12 {
            return Verdict::Unclear;
        }
        Verdict::of(&self.interval, margin)
    }
}

impl Verdict {
    /// What an interval of the ratio of A to B says: it lies beyond the margin on one side, or within it on both, or
    /// decides nothing.
    ///
    /// The three claims exclude each other, and the interval holds the truth with its confidence, so a verdict other
    /// than `Unclear` is wrong at most that seldom, whichever of them it is: minimum-effect and equivalence tests at
    /// once (Schuirmann, 1987, for the latter; Wellek, Testing Statistical Hypotheses of Equivalence). An interval
    /// above 1 that reaches into the margin is unclear: there is a difference, and perhaps none that matters. With a
    /// margin of 1 nothing but an exact tie is the same, and `Faster` means significantly so.
    ///
    /// # Panics
    /// When the margin is below 1.
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

/// The probability that a value of `a` is above one of `b`, ties counting half (Vargha and Delaney's A12, 2000);
/// Cliff's delta (Psychological Bulletin 1993) is `2 * superiority - 1`. `None` when a side is empty.
pub fn superiority(a: &[f64], b: &[f64]) -> Option<f64> {
    let wins = a.iter().flat_map(|a| b.iter().map(move |b| win(*a, *b)));
    (!a.is_empty() && !b.is_empty()).then(|| wins.sum::<f64>() / (a.len() * b.len()) as f64)
}

/// 1 when `a` is above `b`, a half when they are equal.
pub(crate) fn win(a: f64, b: f64) -> f64 {
    f64::midpoint(f64::from(a > b), f64::from(a >= b))
}

/// The logarithm of a value that ratios can be made of.
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
