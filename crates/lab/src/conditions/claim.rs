//! Claims: what was concluded, where it is said to hold, what speaks for it, and how to test it again.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use stats::{Interval, Verdict};

use super::held_out::{COVERED_WANTED, where_it_says_so};
use super::predicate::Predicate;
use super::study::{Class, Question, Study};
use crate::text::{percent, plural};
use crate::{Refusal, Space, Starvation};

/// A conclusion with its conditions. Written as a file, it can be tested again by itself.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Claim {
    /// The version of what the keys mean.
    pub schema: u32,
    /// Always `claim`.
    pub kind: String,
    /// What it is called, and its file.
    pub name: String,
    /// All of it in a sentence.
    pub statement: String,
    /// The workload.
    pub workload: String,
    /// The two schemes.
    pub a: String,
    /// See `a`.
    pub b: String,
    /// What is compared.
    pub metric: String,
    /// By how much the winner is ahead at least.
    pub margin: f64,
    /// Which of the two wins.
    pub winner: Class,
    /// Where it wins.
    pub predicate: Predicate,
    /// The same in words.
    pub in_words: String,
    /// Where measurements were made: nothing is said beyond.
    pub space: Value,
    /// What was the same in all of them, by name.
    pub settings: std::collections::BTreeMap<String, String>,
    /// Seconds that were measured in each run.
    pub seconds: f64,
    /// Seconds before them.
    pub warmup: f64,
    /// Whether workers stayed on their cores.
    pub pin: bool,
    /// What it was derived from.
    pub exploration: Explored,
    /// How it fared where nothing had been measured.
    pub held_out: HeldOut,
    /// And how with the other policy of retry; none where that was not measured, or varies.
    pub otherwise: Option<Otherwise>,
    /// How much of the space was measured where it is made, and where the winner is not ahead there.
    #[serde(default)]
    pub breadth: Breadth,
    /// Throughput of the winner over that of the other, at held-out points where the claim holds that it wins; none
    /// if there was no such point.
    pub ratio: Option<Ratio>,
    /// What the gap depends on, at a point where it is wide.
    pub mechanisms: Vec<Mechanism>,
    /// Changes with which the winner is no longer ahead by the margin: the claim holds without them only.
    pub holds_without: Vec<String>,
    /// The ids of the runs at its held-out points.
    pub evidence: Vec<String>,
    /// The command that tests it again.
    pub recheck: String,
    /// `A`: measured natively, by runs that were not starved. A level lower for a twentieth of starved runs or more,
    /// two for half of them, and one for types of transaction that hardly commit; not below `C`.
    pub trust: String,
    /// The starvation of the runs, explored and held out: see [`Starvation::json`].
    #[serde(default)]
    pub starvation: Value,
    /// What made the runs.
    pub build: String,
    /// The machine that they were made on.
    pub machine: Value,
}

/// What a claim was derived from.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Explored {
    /// Points.
    pub points: usize,
    /// Runs.
    pub runs: usize,
}

/// How a claim fared at fresh random points.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct HeldOut {
    /// Points, all over the space.
    pub points: usize,
    /// Those at which the winner is ahead by the margin where the claim says so, and only there.
    pub agree: usize,
    /// Those of the others at which the interval of the ratio reaches across the margin: more pairs might agree.
    pub undecided: usize,
    /// Points that the claim covers, where it says that the winner is ahead by the margin: of `points`, and, where
    /// these are few, more that were drawn there. Where a claim covers little most points agree whoever is ahead there.
    pub covered: usize,
    /// Those of them at which it is.
    pub covered_agree: usize,
    /// `agree` of `points`.
    pub share: f64,
    /// Where the share of all points of the space is. With more than one claim, all of their intervals hold together.
    pub interval: Bounds,
    /// The seed that the points were drawn with.
    pub seed: u64,
}

/// How far a claim reaches: of the points that were measured where it is made, explored and held out.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Breadth {
    /// Points.
    pub measured: usize,
    /// Those at which the winner is ahead by the margin, in the median.
    pub ahead: usize,
    /// The others, those at which the winner is farthest behind first.
    pub exceptions: Vec<Exception>,
    /// Whether it is not known to be so that nobody is clearly ahead anywhere.
    pub is_clear: bool,
    /// All points of the space, where they are few enough to be counted.
    pub points: Option<usize>,
    /// Of these, those that were not measured.
    pub left: Option<usize>,
}

/// A point at which the winner is not ahead by the margin, although the claim says so.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Exception {
    /// The point.
    pub at: Value,
    /// Why it was measured.
    pub role: String,
    /// Throughput of the winner over that of the other there.
    pub ratio: f64,
    /// The other, if it is the one that is ahead.
    pub ahead: Option<String>,
}

/// Exceptions that a sentence names.
const NAMED_MAX: usize = 3;

impl Breadth {
    /// Where a claim holds whose condition is always met. "Everywhere" takes a test that could have failed, and no
    /// exception.
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

    /// The points at which the other one is ahead, in half a sentence; nothing without one.
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
    /// The point and the ratio.
    pub(super) fn in_words(&self) -> String {
        let Self { at, ratio, .. } = self;
        match &self.ahead {
            Some(_) => format!("{} ({:.2} times)", point(at), 1.0 / ratio),
            None => format!("{} ({ratio:.2} times)", point(at)),
        }
    }
}

impl HeldOut {
    /// How many of the points that the claim covers agree.
    pub(super) fn covered_in_words(&self) -> String {
        match self.covered {
            0 => "none of which it covers".to_owned(),
            covered => format!("{} of the {covered} that it covers", self.covered_agree),
        }
    }
}

/// How a claim fares when aborted requests are dropped; or, if it is about a world where they are, when they are tried
/// again.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Otherwise {
    /// The policy.
    pub retry: String,
    /// At points of `held_out` of the claim, as many as there was time for, on the same requests.
    pub held_out: HeldOut,
    /// `holds` when the winner is ahead at most of the points that the claim covers, `does_not_hold` when it is at
    /// fewer than half of them, `undecided` when so few points cannot tell.
    pub verdict: String,
}

/// An interval in a file.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Bounds {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The confidence that it has.
    pub confidence: f64,
}

impl From<Interval> for Bounds {
    fn from(interval: Interval) -> Self {
        let Interval { low, high, confidence } = interval;
        Self { low, high, confidence }
    }
}

/// How far the winner was ahead.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Ratio {
    /// In the median.
    pub median: f64,
    /// A tenth of the points had less.
    pub p10: f64,
    /// A tenth had more.
    pub p90: f64,
    /// Points.
    pub points: usize,
}

impl Ratio {
    /// Of some ratios; none of none.
    pub(super) fn of(mut ratios: Vec<f64>) -> Option<Self> {
        ratios.sort_by(f64::total_cmp);
        let last = ratios.len().checked_sub(1)?;
        let at = |share: f64| ratios[(share * last as f64).round() as usize];
        Some(Self { median: at(0.5), p10: at(0.1), p90: at(0.9), points: ratios.len() })
    }
}

/// One thing that was changed, at a point where the gap is wide, on identical requests.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Mechanism {
    /// What it is.
    pub name: String,
    /// The setting.
    pub setting: String,
    /// Its value in the claim.
    pub from: String,
    /// The value that it was given.
    pub to: String,
    /// The point.
    pub at: Value,
    /// Throughput of the winner over that of the other before.
    pub gap_before: f64,
    /// And after.
    pub gap_after: f64,
    /// Where `gap_after` over `gap_before` is.
    pub interval: Bounds,
    /// How likely so clear a change would be if there were none, given that all mechanisms of the study were looked at.
    pub p_adjusted: f64,
    /// The share of the gap, on a scale of ratios, that is gone; more than 1 if the ranking turns around, negative if
    /// the gap has grown. None where the change is not clear.
    pub share: Option<f64>,
    /// How often it was measured.
    pub repetitions: usize,
    /// Other settings that the setting changes, by name: what the scheme promises, or the clients that it needs.
    #[serde(default)]
    pub implies: Vec<String>,
    /// In words what it accounts for.
    pub says: String,
}

impl Claim {
    /// Reads a claim.
    ///
    /// # Errors
    /// What is no claim.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let claim: Self = serde_json::from_str(text).map_err(|error| {
            Refusal(format!("is no claim ({error}): give a file that `contend conditions` wrote"))
        })?;
        if claim.kind != "claim" || claim.winner == Class::Level {
            return Err(Refusal("is no claim of one scheme beating another".to_owned()));
        }
        Ok(claim)
    }

    /// The study that it came of, to be measured again.
    ///
    /// # Errors
    /// When this version cannot measure it.
    pub fn study(
        &self,
        budget_minutes: f64,
        held_out: usize,
        seed: u64,
        build: &str,
    ) -> Result<Study, Refusal> {
        let space = Space::of_json(&self.space)?;
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
        Study::new(question, build)
    }

    /// The names of the winner and of the other.
    pub fn names(&self) -> (&str, &str) {
        if self.winner == Class::A { (&self.a, &self.b) } else { (&self.b, &self.a) }
    }
}

/// The sentence of a claim. Whoever quotes it quotes its exceptions, and what the runs were starved of.
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

/// A point in words.
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
