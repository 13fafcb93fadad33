//! Claims: conclusions with their conditions, their evidence, and the command that tests them again.

use results::{Breadth, Claim, Class, Exception, HeldOut, Line, Named, Otherwise, Predicate, Unread};
use stats::Verdict;

use super::held_out::{COVERED_WANTED, where_it_says_so};
use super::study::{Measure, Question, Study};
use super::told;
use crate::text::{percent, plural};
use crate::{Catalogue, Refusal, Space, Starvation};

/// The maximum number of exceptions that a sentence names.
const NAMED_MAX: usize = 3;

/// Returns the place of a claim whose condition is always met, in words. The word "everywhere" requires a test that
/// could have failed, and no exception.
fn reach(breadth: &Breadth, held_out: &HeldOut) -> String {
    let Breadth { measured, ahead, points, .. } = breadth;
    let of = points.map_or_else(String::new, |points| format!(" of the {points} that the space has"));
    let is_tested = held_out.covered >= COVERED_WANTED && where_it_says_so(held_out) == Verdict::Same;
    if ahead < measured {
        format!("at {ahead} of the {} that were measured{of}", plural(*measured, "point"))
    } else if is_tested && breadth.is_clear {
        format!("everywhere in the space, at all {} that were measured{of}", plural(*measured, "point"))
    } else {
        format!("at the {} that were measured{of}", plural(*measured, "point"))
    }
}

/// Returns the points at which the other scheme is ahead, as half a sentence; empty if there are none.
fn counterexamples(breadth: &Breadth) -> String {
    let all: Vec<&Exception> = breadth.exceptions.iter().filter(|of| of.ahead.is_some()).collect();
    let Some(ahead) = all.first().and_then(|of| of.ahead.as_ref()) else { return String::new() };
    let named: Vec<String> = all.iter().take(NAMED_MAX).map(|of| exception(of)).collect();
    let rest = all.len() - named.len();
    let rest = if rest > 0 { format!(", and at {rest} more") } else { String::new() };
    format!(", but {ahead} is ahead at {}{rest}", named.join(", at "))
}

/// Returns the point of an exception, and the ratio of the scheme that is ahead.
pub(super) fn exception(Exception { at, ratio, ahead, .. }: &Exception) -> String {
    match ahead {
        Some(_) => format!("{} ({:.2} times)", point(at), 1.0 / ratio),
        None => format!("{} ({ratio:.2} times)", point(at)),
    }
}

/// Returns in words how many of the covered points agree.
pub(super) fn covered(held_out: &HeldOut) -> String {
    match held_out.covered {
        0 => "none of which it covers".to_owned(),
        covered => format!("{} of the {covered} that it covers", held_out.covered_agree),
    }
}

/// A claim that can be read, told, and tested again.
pub trait Testable: Sized {
    /// Reads a claim from JSON.
    ///
    /// # Errors
    /// A text that is no claim.
    fn parse(text: &str) -> Result<Self, Refusal>;

    /// Returns the study of the claim, to be measured again.
    ///
    /// # Errors
    /// A claim that this version cannot measure.
    fn study(
        &self,
        catalogue: Catalogue,
        budget_minutes: f64,
        held_out: usize,
        seed: u64,
        build: &str,
    ) -> Result<Study, Refusal>;

    /// Returns the whole claim as text.
    fn text(&self) -> String;
}

impl Testable for Claim {
    fn parse(text: &str) -> Result<Self, Refusal> {
        let refused = |says: &str| Refusal(format!("{says}: give a file that `contend conditions` wrote"));
        match results::parse(text) {
            Ok(Some(Line::Claim(claim))) if claim.winner != Class::Level => Ok(*claim),
            Ok(Some(Line::Claim(_))) => Err(Refusal("is no claim of one scheme beating another".to_owned())),
            Ok(_) => Err(refused("is no claim of one scheme beating another")),
            Err(Unread::Version(version)) => Err(Refusal(Unread::Version(version).to_string())),
            Err(Unread::NotJson(error) | Unread::NoResult(error)) => {
                Err(refused(&format!("is no claim ({error})")))
            }
        }
    }

    fn study(
        &self,
        catalogue: Catalogue,
        budget_minutes: f64,
        held_out: usize,
        seed: u64,
        build: &str,
    ) -> Result<Study, Refusal> {
        let space = Space::of_axes(catalogue, &self.space)?;
        let question = Question {
            workload: Some(self.workload.clone()),
            a: self.a.clone(),
            b: self.b.clone(),
            vary: space.items(),
            set: self.settings.iter().map(|(name, value)| format!("{name}={value}")).collect(),
            margin: self.margin,
            of_type: Measure::type_of(&self.metric).map(str::to_owned),
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

    fn text(&self) -> String {
        told::claim(self)
    }
}

/// Returns the sentence of a claim. It includes the exceptions and the starvation of the runs, so that a quotation
/// cannot omit them.
pub(super) fn statement(
    (winner, loser): (&str, &str),
    (margin, measure, predicate): (f64, Measure, &Predicate),
    (breadth, starvation): (&Breadth, &Starvation),
    (held_out, otherwise): (&HeldOut, Option<&Otherwise>),
) -> String {
    let beats = format!("{winner} beats {loser} by {margin} times or more{}", measure.words());
    let agree = |held_out: &HeldOut| {
        let HeldOut { points, share, interval, .. } = held_out;
        format!(
            "{} of {} agree ({} .. {}), {}",
            percent(*share),
            plural(*points, "held-out point"),
            percent(interval.low),
            percent(interval.high),
            covered(held_out)
        )
    };
    let otherwise = otherwise.map(|other| format!("; with retry={} {}", other.retry, agree(&other.held_out)));
    let agree = format!("{}{}", agree(held_out), otherwise.unwrap_or_default());
    let place = match &predicate.0[..] {
        [] => "nowhere in the space".to_owned(),
        [terms] if terms.is_empty() => reach(breadth, held_out),
        _ => format!("when {predicate}"),
    };
    let said = format!("{beats} {place}{}; {agree}", counterexamples(breadth));
    [vec![said], starvation.reasons()].concat().join("; ")
}

/// Returns a point in words.
pub(super) fn point(at: &Named) -> String {
    at.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<String>>().join(" ")
}

#[cfg(test)]
mod tests {
    use results::Ratio;

    use super::*;

    #[test]
    fn quantiles_are_of_points_that_were_measured() {
        let ratio = Ratio::of((0..=10).map(|at| 1.0 + f64::from(at)).collect()).expect("points");
        assert_eq!(ratio, Ratio { median: 6.0, p10: 2.0, p90: 10.0, points: 11 });
        assert_eq!(Ratio::of(Vec::new()), None);
    }

    #[test]
    fn a_statement_carries_its_condition_and_its_test() {
        let interval = results::Interval { low: 0.84, high: 0.98, confidence: 0.95 };
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
        let term = results::Term { feature: "reads".to_owned(), above: Some(0.5), ..Default::default() };
        let breadth = Breadth { measured: 20, ahead: 20, is_clear: true, ..Breadth::default() };
        let said = |boxes, held_out: &HeldOut, breadth: &Breadth| {
            let of = (1.1, Measure::All, &Predicate(boxes));
            statement(("silo", "mvto"), of, (breadth, &Starvation::default()), (held_out, None))
        };
        assert_eq!(
            said(vec![vec![term.clone()]], &held_out, &breadth),
            "silo beats mvto by 1.1 times or more when reads > 0.5; \
             94.0% of 50 held-out points agree (84.0% .. 98.0%), 8 of the 9 that it covers"
        );
        let other = Otherwise { retry: "drop".to_owned(), held_out, verdict: "holds".to_owned() };
        let starved = results::Run { is_starved: true, ..results::Run::default() };
        let starvation = Starvation::of(&[starved, results::Run::default()]);
        let all = (&breadth, &starvation);
        let under_both = statement(
            ("a", "b"),
            (1.1, Measure::All, &Predicate(vec![vec![]])),
            all,
            (&held_out, Some(&other)),
        );
        let alone = "; 94.0% of 50 held-out points agree (84.0% .. 98.0%), 8 of the 9 that it covers; with";
        assert!(under_both.contains(alone), "{under_both}");
        assert!(under_both.contains("; with retry=drop 94.0% of 50 held-out points agree"), "{under_both}");
        assert!(under_both.ends_with("; 1 of 2 runs were starved"), "{under_both}");
        let exception = |theta: f64, ratio: f64| Exception {
            at: [("theta".to_owned(), theta.into())].into(),
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
        assert_eq!(covered(&nowhere), "none of which it covers");
        assert!(said(vec![], &held_out, &Breadth::default()).contains("nowhere in the space"));
    }

    #[test]
    fn everywhere_is_said_of_what_was_tested_without_an_exception() {
        let interval = results::Interval { low: 0.9, high: 1.0, confidence: 0.95 };
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
            let of = (1.1, Measure::OfType("scan"), &Predicate(vec![vec![]]));
            statement(("silo", "mvto"), of, (breadth, &Starvation::default()), (&held_out, None))
        };
        assert!(said(&whole, 12).contains(
            "or more in commits of scan everywhere in the space, at all 20 points that were measured; 100.0%"
        ));
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
