//! Claims: conclusions with their conditions, their evidence, and the command that tests them again.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use stats::{Interval, Verdict};

use super::held_out::{COVERED_WANTED, where_it_says_so};
use super::predicate::Predicate;
use super::study::{Class, Question, Study};
use crate::text::{percent, plural};
use crate::{Catalogue, Refusal, Space, Starvation};

/// A conclusion with its conditions. Written as a file, it can be tested again by itself.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Claim {
    /// The version of the keys' names and meanings.
    pub schema: u32,
    /// Always `claim`.
    pub kind: String,
    /// The name of the claim and of its file.
    pub name: String,
    /// The whole claim in a sentence.
    pub statement: String,
    /// The workload.
    pub workload: String,
    /// The first scheme of the question.
    pub a: String,
    /// The second scheme of the question.
    pub b: String,
    /// The name of the compared figure.
    pub metric: String,
    /// The least ratio by which the winner is ahead.
    pub margin: f64,
    /// The scheme that wins.
    pub winner: Class,
    /// The condition under which the winner wins.
    pub predicate: Predicate,
    /// The predicate in words.
    pub in_words: String,
    /// The space of the measurements. The claim says nothing about points outside it.
    pub space: Value,
    /// The settings that were fixed in all measurements, by name.
    pub settings: std::collections::BTreeMap<String, String>,
    /// Measured seconds of each run.
    pub seconds: f64,
    /// Seconds of warm-up before the measured time.
    pub warmup: f64,
    /// Whether workers stayed on their cores.
    pub pin: bool,
    /// The size of the exploration that the claim was derived from.
    pub exploration: Explored,
    /// The test of the claim at fresh random points.
    pub held_out: HeldOut,
    /// The test under the other policy of retry; `None` if that was not measured, or if the policy varies.
    pub otherwise: Option<Otherwise>,
    /// The number of measured points that the claim covers, and the exceptions among them.
    #[serde(default)]
    pub breadth: Breadth,
    /// Throughput of the winner over that of the other scheme, at the held-out points that the claim covers; `None` if
    /// it covers none of them.
    pub ratio: Option<Ratio>,
    /// The mechanisms that were changed to explain the gap, at a point where the gap is wide.
    pub mechanisms: Vec<Mechanism>,
    /// Changes with which the winner is no longer ahead by the margin. The claim holds only without these changes.
    pub holds_without: Vec<String>,
    /// The ids of the runs at the held-out points.
    pub evidence: Vec<String>,
    /// The command that tests the claim again.
    pub recheck: String,
    /// The level of trust. `A` means measured natively, by runs that were not starved. It is one level lower if a
    /// twentieth or more of the runs were starved, two levels lower if half or more of them were, and a further level
    /// lower if types of transaction hardly commit. It is never below `C`.
    pub trust: String,
    /// The starvation of all runs, explored and held out: see [`Starvation::json`].
    #[serde(default)]
    pub starvation: Value,
    /// The build that made the runs.
    pub build: String,
    /// The machine that the runs were made on.
    pub machine: Value,
}

/// The size of the exploration that a claim was derived from.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Explored {
    /// The number of points.
    pub points: usize,
    /// The number of runs.
    pub runs: usize,
}

/// The result of testing a claim at fresh random points.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct HeldOut {
    /// The number of random points, drawn from the whole space.
    pub points: usize,
    /// The number of these points that agree. A point agrees if the winner is ahead by the margin and the claim covers
    /// the point, or if neither is so.
    pub agree: usize,
    /// The number of points that do not agree, but whose ratio has an interval that includes the margin: with more
    /// pairs, they might agree.
    pub undecided: usize,
    /// The number of tested points that the claim covers: at these points, it says that the winner is ahead by the
    /// margin. If few of `points` are covered, further points are drawn where the claim covers the space. They are
    /// needed because most points agree with a claim that covers little, whichever scheme is ahead where it does.
    pub covered: usize,
    /// The number of covered points at which the winner is ahead by the margin.
    pub covered_agree: usize,
    /// `agree` as a share of `points`.
    pub share: f64,
    /// The interval of the share of all points of the space that agree. If there are several claims, the confidence is
    /// raised so that all of their intervals hold together.
    pub interval: Bounds,
    /// The seed that the points were drawn with.
    pub seed: u64,
}

/// The reach of a claim: counts of the measured points that it covers, explored and held out.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Breadth {
    /// The number of points.
    pub measured: usize,
    /// The number of these points at which the median ratio of the winner exceeds the margin.
    pub ahead: usize,
    /// The other covered points, in ascending order of the winner's ratio.
    pub exceptions: Vec<Exception>,
    /// Whether some scheme may be clearly ahead somewhere; false if the search for crossings on a single axis found no
    /// point at which one is.
    pub is_clear: bool,
    /// The number of points of the space that can be run, if the space has few points; `None` if it has many.
    pub points: Option<usize>,
    /// The number of these points that were not measured.
    pub left: Option<usize>,
}

/// A point at which the winner is not ahead by the margin, although the claim says so.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Exception {
    /// The point.
    pub at: Value,
    /// The name of the [`Role`](super::Role) of the point.
    pub role: String,
    /// Throughput of the winner over that of the other scheme at this point.
    pub ratio: f64,
    /// The name of the other scheme, if it is ahead at this point.
    pub ahead: Option<String>,
}

/// The maximum number of exceptions that a sentence names.
const NAMED_MAX: usize = 3;

impl Breadth {
    /// Returns the place of a claim whose condition is always met, in words. The word "everywhere" requires a test that
    /// could have failed, and no exception.
    fn in_words(&self, held_out: &HeldOut) -> String {
        let Self { measured, ahead, points, .. } = self;
        let of = points.map_or_else(String::new, |points| format!(" of the {points} that the space has"));
        let is_tested = held_out.covered >= COVERED_WANTED && where_it_says_so(held_out) == Verdict::Same;
        if ahead < measured {
            format!("at {ahead} of the {} that were measured{of}", plural(*measured, "point"))
        } else if is_tested && self.is_clear {
            format!("everywhere in the space, at all {} that were measured{of}", plural(*measured, "point"))
        } else {
            format!("at the {} that were measured{of}", plural(*measured, "point"))
        }
    }

    /// Returns the points at which the other scheme is ahead, as half a sentence; empty if there are none.
    fn counterexamples(&self) -> String {
        let all: Vec<&Exception> = self.exceptions.iter().filter(|of| of.ahead.is_some()).collect();
        let Some(ahead) = all.first().and_then(|of| of.ahead.as_ref()) else { return String::new() };
        let named: Vec<String> = all.iter().take(NAMED_MAX).map(|of| of.in_words()).collect();
        let rest = all.len() - named.len();
        let rest = if rest > 0 { format!(", and at {rest} more") } else { String::new() };
        format!(", but {ahead} is ahead at {}{rest}", named.join(", at "))
    }
}

impl Exception {
    /// Returns the point and the ratio of the scheme that is ahead.
    pub(super) fn in_words(&self) -> String {
        let Self { at, ratio, .. } = self;
        match &self.ahead {
            Some(_) => format!("{} ({:.2} times)", point(at), 1.0 / ratio),
            None => format!("{} ({ratio:.2} times)", point(at)),
        }
    }
}

impl HeldOut {
    /// Returns in words how many of the covered points agree.
    pub(super) fn covered_in_words(&self) -> String {
        match self.covered {
            0 => "none of which it covers".to_owned(),
            covered => format!("{} of the {covered} that it covers", self.covered_agree),
        }
    }
}

/// The test of a claim under the other policy of retry: with aborted requests dropped, or, if the claim is about runs
/// that drop them, with aborted requests tried again.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Otherwise {
    /// The name of the other policy.
    pub retry: String,
    /// The result at the claim's held-out points, as many as there was time for, on the same requests.
    pub held_out: HeldOut,
    /// `holds` if the winner is ahead at most of the covered points, `does_not_hold` if it is ahead at fewer than half
    /// of them, and `undecided` if there are too few points to tell.
    pub verdict: String,
}

/// An interval in a file.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Bounds {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The confidence of the interval.
    pub confidence: f64,
}

impl From<Interval> for Bounds {
    fn from(interval: Interval) -> Self {
        let Interval { low, high, confidence } = interval;
        Self { low, high, confidence }
    }
}

/// The distribution of a winner's ratio over points.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Ratio {
    /// The median.
    pub median: f64,
    /// The 10th percentile: a tenth of the points have a lower ratio.
    pub p10: f64,
    /// The 90th percentile: a tenth of the points have a higher ratio.
    pub p90: f64,
    /// The number of points.
    pub points: usize,
}

impl Ratio {
    /// Returns the distribution of some ratios; `None` if there are none.
    pub(super) fn of(mut ratios: Vec<f64>) -> Option<Self> {
        ratios.sort_by(f64::total_cmp);
        let last = ratios.len().checked_sub(1)?;
        let at = |share: f64| ratios[(share * last as f64).round() as usize];
        Some(Self { median: at(0.5), p10: at(0.1), p90: at(0.9), points: ratios.len() })
    }
}

/// A mechanism that was changed alone, at a point where the gap is wide, on identical requests.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Mechanism {
    /// The name of the mechanism and of its change.
    pub name: String,
    /// The setting.
    pub setting: String,
    /// The setting's value in the claim.
    pub from: String,
    /// The setting's changed value.
    pub to: String,
    /// The point.
    pub at: Value,
    /// Throughput of the winner over that of the other scheme before the change.
    pub gap_before: f64,
    /// Throughput of the winner over that of the other scheme after the change.
    pub gap_after: f64,
    /// The interval of `gap_after` over `gap_before`.
    pub interval: Bounds,
    /// The probability of so clear a change by chance, adjusted for all mechanisms that the study tested.
    pub p_adjusted: f64,
    /// The share of the gap, on a scale of ratios, that the change removes. It is above 1 if the ranking turns around,
    /// and negative if the gap grows. `None` if the change is not clear.
    pub share: Option<f64>,
    /// The number of repetitions.
    pub repetitions: usize,
    /// The names of other choices that the setting changes: the isolation that a scheme promises, or the clients that
    /// it needs.
    #[serde(default)]
    pub implies: Vec<String>,
    /// The part of the gap that the mechanism accounts for, in words.
    pub says: String,
}

impl Claim {
    /// Reads a claim from JSON.
    ///
    /// # Errors
    /// A text that is no claim.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let claim: Self = serde_json::from_str(text).map_err(|error| {
            Refusal(format!("is no claim ({error}): give a file that `contend conditions` wrote"))
        })?;
        if claim.kind != "claim" || claim.winner == Class::Level {
            return Err(Refusal("is no claim of one scheme beating another".to_owned()));
        }
        Ok(claim)
    }

    /// Returns the study of the claim, to be measured again.
    ///
    /// # Errors
    /// A claim that this version cannot measure.
    pub fn study(
        &self,
        catalogue: Catalogue,
        budget_minutes: f64,
        held_out: usize,
        seed: u64,
        build: &str,
    ) -> Result<Study, Refusal> {
        let space = Space::of_json(catalogue, &self.space)?;
        let question = Question {
            workload: Some(self.workload.clone()),
            a: self.a.clone(),
            b: self.b.clone(),
            vary: space.items(),
            set: self.settings.iter().map(|(name, value)| format!("{name}={value}")).collect(),
            margin: self.margin,
            seconds: self.seconds,
            warmup: self.warmup,
            budget_minutes,
            points: None,
            held_out,
            seed,
            pin: self.pin,
            check: true,
        };
        Study::new(catalogue, question, build)
    }

    /// Returns the names of the winner and of the other scheme.
    pub fn names(&self) -> (&str, &str) {
        if self.winner == Class::A { (&self.a, &self.b) } else { (&self.b, &self.a) }
    }
}

/// Returns the sentence of a claim. It includes the exceptions and the starvation of the runs, so that a quotation
/// cannot omit them.
pub(super) fn statement(
    (winner, loser): (&str, &str),
    (margin, predicate): (f64, &Predicate),
    (breadth, starvation): (&Breadth, &Starvation),
    (held_out, otherwise): (&HeldOut, Option<&Otherwise>),
) -> String {
    let beats = format!("{winner} beats {loser} by {margin} times or more");
    let agree = |held_out: &HeldOut| {
        let HeldOut { points, share, interval, .. } = held_out;
        format!(
            "{} of {} agree ({} .. {}), {}",
            percent(*share),
            plural(*points, "held-out point"),
            percent(interval.low),
            percent(interval.high),
            held_out.covered_in_words()
        )
    };
    let otherwise = otherwise.map(|other| format!("; with retry={} {}", other.retry, agree(&other.held_out)));
    let agree = format!("{}{}", agree(held_out), otherwise.unwrap_or_default());
    let place = match &predicate.0[..] {
        [] => "nowhere in the space".to_owned(),
        [terms] if terms.is_empty() => breadth.in_words(held_out),
        _ => format!("when {predicate}"),
    };
    let said = format!("{beats} {place}{}; {agree}", breadth.counterexamples());
    [vec![said], starvation.reasons()].concat().join("; ")
}

/// Returns a point in words.
pub(super) fn point(at: &Value) -> String {
    let pairs = at.as_object().into_iter().flatten();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    pairs.map(|(name, value)| format!("{name}={}", text(value))).collect::<Vec<String>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_of_points_that_were_measured() {
        let ratio = Ratio::of((0..=10).map(|at| 1.0 + f64::from(at)).collect()).expect("points");
        assert_eq!(ratio, Ratio { median: 6.0, p10: 2.0, p90: 10.0, points: 11 });
        assert_eq!(Ratio::of(Vec::new()), None);
    }

    #[test]
    fn a_statement_carries_its_condition_and_its_test() {
        let interval = Bounds { low: 0.84, high: 0.98, confidence: 0.95 };
        let held_out = HeldOut {
            points: 50,
            agree: 47,
            undecided: 1,
            covered: 9,
            covered_agree: 8,
            share: 0.94,
            interval,
            seed: 1,
        };
        let term = super::super::Term { feature: "reads".to_owned(), above: Some(0.5), ..Default::default() };
        let breadth = Breadth { measured: 20, ahead: 20, is_clear: true, ..Breadth::default() };
        let said = |boxes, held_out: &HeldOut, breadth: &Breadth| {
            let of = (1.1, &Predicate(boxes));
            statement(("silo", "mvto"), of, (breadth, &Starvation::default()), (held_out, None))
        };
        assert_eq!(
            said(vec![vec![term.clone()]], &held_out, &breadth),
            "silo beats mvto by 1.1 times or more when reads > 0.5; \
             94.0% of 50 held-out points agree (84.0% .. 98.0%), 8 of the 9 that it covers"
        );
        let other = Otherwise { retry: "drop".to_owned(), held_out, verdict: "holds".to_owned() };
        let starvation = Starvation::of(&[serde_json::json!({ "starved": true }), Value::Null]);
        let all = (&breadth, &starvation);
        let under_both =
            statement(("a", "b"), (1.1, &Predicate(vec![vec![]])), all, (&held_out, Some(&other)));
        let alone = "; 94.0% of 50 held-out points agree (84.0% .. 98.0%), 8 of the 9 that it covers; with";
        assert!(under_both.contains(alone), "{under_both}");
        assert!(under_both.contains("; with retry=drop 94.0% of 50 held-out points agree"), "{under_both}");
        assert!(under_both.ends_with("; 1 of 2 runs were starved"), "{under_both}");
        let exception = |theta: f64, ratio: f64| Exception {
            at: serde_json::json!({ "theta": theta }),
            role: "held_out".to_owned(),
            ratio,
            ahead: (ratio < 1.0).then(|| "mvto".to_owned()),
        };
        let exceptions = vec![exception(0.3, 0.8), exception(0.4, 0.98), exception(0.5, 1.02)];
        let breadth = Breadth { ahead: 17, exceptions, ..breadth };
        let named = ", but mvto is ahead at theta=0.3 (1.25 times), at theta=0.4 (1.02 times); 94.0% of";
        let with_condition = said(vec![vec![term]], &held_out, &breadth);
        assert!(with_condition.contains(&format!("when reads > 0.5{named}")), "{with_condition}");
        let always = said(vec![vec![]], &held_out, &breadth);
        assert!(always.contains(&format!("at 17 of the 20 points that were measured{named}")), "{always}");
        let nowhere = HeldOut { covered: 0, covered_agree: 0, ..held_out };
        assert_eq!(nowhere.covered_in_words(), "none of which it covers");
        assert!(said(vec![], &held_out, &Breadth::default()).contains("nowhere in the space"));
    }

    #[test]
    fn everywhere_is_said_of_what_was_tested_without_an_exception() {
        let interval = Bounds { low: 0.9, high: 1.0, confidence: 0.95 };
        let counts = HeldOut {
            points: 12,
            agree: 12,
            undecided: 0,
            covered: 12,
            covered_agree: 12,
            share: 1.0,
            interval,
            seed: 1,
        };
        let whole = Breadth { measured: 20, ahead: 20, is_clear: true, ..Breadth::default() };
        let said = |breadth: &Breadth, covered: usize| {
            let held_out = HeldOut { covered, covered_agree: covered, ..counts };
            let of = (1.1, &Predicate(vec![vec![]]));
            statement(("silo", "mvto"), of, (breadth, &Starvation::default()), (&held_out, None))
        };
        assert!(
            said(&whole, 12).contains("everywhere in the space, at all 20 points that were measured; 100.0%")
        );
        let unclear = Breadth { is_clear: false, ..whole.clone() };
        let one_off = Breadth { ahead: 19, ..whole.clone() };
        for (breadth, covered) in [(&whole, 11), (&unclear, 12), (&one_off, 12)] {
            assert!(!said(breadth, covered).contains("everywhere"), "{}", said(breadth, covered));
        }
        let few = Breadth { points: Some(24), left: Some(4), ..whole };
        assert!(said(&few, 12).contains("at all 20 points that were measured of the 24 that the space has"));
    }

    #[test]
    fn what_is_no_claim_is_refused() {
        for text in ["", "{}", "[1]", "{\"kind\":\"run\"}"] {
            assert!(Claim::parse(text).expect_err("none").0.contains("contend conditions"), "{text}");
        }
    }
}
