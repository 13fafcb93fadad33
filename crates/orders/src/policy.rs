//! Policies: which transaction of a cycle is the victim.
//!
//! The three scores by degrees are those of Ding, Kot and Gehrke (2018). They also lower the score of transactions that
//! have aborted often, for the sake of the tail of latencies, and of valuable ones. The formula here is ours, since the
//! source gives none.

use core::fmt;
use core::str::FromStr;

/// The score of a transaction by its degrees in the graph that is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DegreeScore {
    /// `sum-degree`: incoming edges plus outgoing edges.
    Sum,
    /// `max-degree`: the greater of both numbers.
    Max,
    /// `prod-degree`: incoming edges times outgoing edges, the number of paths of two edges through the transaction.
    Product,
}

impl DegreeScore {
    /// All scores.
    pub const ALL: [Self; 3] = [Self::Sum, Self::Max, Self::Product];

    /// The name in settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum-degree",
            Self::Max => "max-degree",
            Self::Product => "prod-degree",
        }
    }

    /// The score of a transaction with these numbers of edges.
    #[inline]
    pub fn of(self, in_degree: u32, out_degree: u32) -> f64 {
        let (incoming, outgoing) = (f64::from(in_degree), f64::from(out_degree));
        match self {
            Self::Sum => incoming + outgoing,
            Self::Max => incoming.max(outgoing),
            Self::Product => incoming * outgoing,
        }
    }
}

/// The error for a name that no score has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DegreeScoreError(pub String);

impl fmt::Display for DegreeScoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [sum, max, product] = DegreeScore::ALL.map(DegreeScore::name);
        write!(f, "there is no score `{}`: give `{sum}`, `{max}` or `{product}`", self.0)
    }
}

impl core::error::Error for DegreeScoreError {}

impl FromStr for DegreeScore {
    type Err = DegreeScoreError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|score| score.name() == name)
            .ok_or_else(|| DegreeScoreError(name.to_owned()))
    }
}

/// Facts about a transaction, beyond its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxnFacts {
    /// The number of aborted attempts before this one.
    pub retries: u32,
    /// The value of the commit, in any unit, the same for the whole batch. A value of 0 counts as 1.
    pub value: u32,
}

impl Default for TxnFacts {
    /// A first attempt, as valuable as others.
    fn default() -> Self {
        Self { retries: 0, value: 1 }
    }
}

/// The preference among victims: the transaction with the highest score is removed, the earlier one of two with equal
/// scores.
///
/// The score is `degrees / ((1 + retries)^retry_exponent * value^value_exponent)`. With exponents of zero it is the
/// score by degrees. With a retry exponent of 1 a transaction that has aborted once needs twice the score by degrees
/// to be the victim again. Exponents are finite and not negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// The score by degrees.
    pub degrees: DegreeScore,
    /// The weight of aborted attempts; 0 ignores them.
    pub retry_exponent: f64,
    /// The weight of the value; 0 ignores it.
    pub value_exponent: f64,
}

impl Policy {
    /// Makes the policy for the fewest victims: by degrees alone.
    pub const fn new(degrees: DegreeScore) -> Self {
        Self { degrees, retry_exponent: 0.0, value_exponent: 0.0 }
    }

    /// Keeps transactions that have aborted often, for the sake of the tail of latencies.
    #[must_use]
    pub const fn with_retries(self, exponent: f64) -> Self {
        Self { retry_exponent: exponent, ..self }
    }

    /// Keeps valuable transactions.
    #[must_use]
    pub const fn with_value(self, exponent: f64) -> Self {
        Self { value_exponent: exponent, ..self }
    }

    /// The factor by which the score by degrees is multiplied: from 0 to 1, low for a transaction that is worth
    /// keeping.
    pub fn factor(self, facts: TxnFacts) -> f64 {
        if self.retry_exponent == 0.0 && self.value_exponent == 0.0 {
            return 1.0;
        }
        let retries = (1.0 + f64::from(facts.retries)).powf(self.retry_exponent);
        let value = f64::from(facts.value.max(1)).powf(self.value_exponent);
        1.0 / (retries * value)
    }

    /// The score of a transaction with these numbers of edges.
    pub fn score(self, in_degree: u32, out_degree: u32, facts: TxnFacts) -> f64 {
        self.degrees.of(in_degree, out_degree) * self.factor(facts)
    }
}

/// A policy for one batch, with the factor of each transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scoring<'a> {
    pub(crate) degrees: DegreeScore,
    pub(crate) factors: &'a [f64],
}

impl Scoring<'_> {
    /// The score of a transaction with these numbers of edges.
    #[inline]
    pub(crate) fn of(&self, at: usize, in_degree: u32, out_degree: u32) -> f64 {
        self.degrees.of(in_degree, out_degree) * self.factors[at]
    }
}

/// The best victim of those seen so far: the one with the highest score, the earlier one of two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Best {
    score: f64,
    at: Option<usize>,
}

impl Best {
    /// No victim yet.
    pub(crate) const NONE: Self = Self { score: f64::NEG_INFINITY, at: None };

    /// Takes a transaction if it is better. Transactions are seen in ascending order.
    #[inline]
    pub(crate) fn see(&mut self, at: usize, score: f64) {
        if score > self.score || self.at.is_none() {
            *self = Self { score, at: Some(at) };
        }
    }

    /// The best victim, if one was seen.
    pub(crate) fn at(self) -> Option<usize> {
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_by_degrees_are_those_of_the_paper() {
        let of = |score: DegreeScore| Policy::new(score).score(3, 4, TxnFacts { retries: 9, value: 9 });
        assert_eq!(DegreeScore::ALL.map(of).map(f64::to_bits), [7.0, 4.0, 12.0].map(f64::to_bits));
    }

    #[test]
    fn retries_and_value_divide_the_score() {
        let policy = Policy::new(DegreeScore::Sum).with_retries(1.0).with_value(2.0);
        let of = |retries, value| policy.score(6, 6, TxnFacts { retries, value });
        let (found, expected) = ([of(0, 1), of(2, 1), of(0, 2), of(2, 2)], [12.0, 4.0, 3.0, 1.0]);
        assert!(
            found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-9),
            "{found:?}"
        );
        assert_eq!(of(0, 0).to_bits(), of(0, 1).to_bits(), "no value counts as the least");
    }

    #[test]
    fn names_are_read_and_others_are_refused_with_the_legal_ones() {
        for score in DegreeScore::ALL {
            assert_eq!(score.name().parse(), Ok(score));
        }
        let refused = "sum".parse::<DegreeScore>().unwrap_err().to_string();
        assert!(DegreeScore::ALL.iter().all(|score| refused.contains(score.name())), "{refused}");
    }

    #[test]
    fn the_earlier_of_two_equal_scores_is_the_best() {
        let mut best = Best::NONE;
        assert_eq!(best.at(), None);
        for (at, score) in [(3, 1.0), (5, 2.0), (8, 2.0)] {
            best.see(at, score);
        }
        assert_eq!(best.at(), Some(5));
    }
}
