//! Crossings: the places on a single axis of numbers at which the ranking flips, found by halving.
//!
//! In a space of many axes, a decision tree finds the region in which a scheme is ahead by the margin. On one axis,
//! more can be said: the last value at which one scheme is clearly ahead, and the first value at which the other scheme
//! is, by any margin.

use results::Crossing;
use stats::{Bisect, Interval, Next as Step, RatioSide};

use super::explore::Next;
use super::study::{Role, Sample};
use crate::Space;

/// The number of points of the first grid, which is measured before anything is halved.
const GRID: usize = 5;
/// The share of the axis at which a stretch is not halved further.
const TOLERANCE: f64 = 0.01;
/// The confidence with which a scheme is clearly ahead at a point: few of the dozen points of a search are wrong.
const CONFIDENCE: f64 = 0.95;
/// The maximum number of pairs at a point that is not clear.
const PAIRS_MAX: u32 = 10;
/// The least number of pairs that can be clear.
pub(super) const PAIRS_CLEAR: usize = 6;

/// Returns the next measurement of the search for crossings, given the samples; `None` if the space is not a single
/// axis of numbers, and if the search is done.
pub(super) fn next(space: &Space, samples: &[Sample]) -> Option<Next> {
    let bisect = bisect(space, samples)?;
    match bisect.next() {
        Step::Measure(at) => {
            let role = if samples.len() < GRID { Role::Explored } else { Role::Refined };
            Some(Next::Point(vec![at], role))
        }
        Step::Repeat(at) => {
            samples.iter().position(|sample| sample.point[0].total_cmp(&at).is_eq()).map(Next::Again)
        }
        Step::Done(_) => None,
    }
}

/// The answer to the question whether a scheme is clearly ahead anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clear {
    /// A scheme is clearly ahead somewhere; or it is unknown, since the space has several axes, or words.
    Perhaps,
    /// No point was measured often enough to decide.
    TooFew,
    /// No scheme is clearly ahead at any point, by any margin.
    Nowhere,
}

/// Returns whether a scheme is clearly ahead somewhere on a single axis of numbers.
pub(super) fn clear(space: &Space, samples: &[Sample]) -> Clear {
    let Some(bisect) = bisect(space, samples) else { return Clear::Perhaps };
    let is_known =
        |sample: &Sample| sample.interval(CONFIDENCE).is_some_and(|of| of.confidence >= CONFIDENCE);
    if bisect.findings().first.is_some() {
        Clear::Perhaps
    } else if samples.iter().any(|sample| !sample.role.is_test() && is_known(sample)) {
        Clear::Nowhere
    } else {
        Clear::TooFew
    }
}

/// Returns the crossings as text for people; `None` if the space is not a single axis of numbers.
pub(super) fn text(space: &Space, [a, b]: [&str; 2], samples: &[Sample]) -> Option<String> {
    let findings = bisect(space, samples)?.findings();
    let axis = &space.axes()[0];
    let at = |value: f64| axis.text(value);
    let name = |side: RatioSide| if side == RatioSide::Above { a } else { b };
    let Some(first) = findings.first else {
        if clear(space, samples) == Clear::TooFew {
            return Some(format!(
                "who is clearly ahead is not known at any {}: each takes {PAIRS_CLEAR} pairs of runs, and there was no \
                 time for so many",
                axis.name()
            ));
        }
        return Some(format!(
            "neither is clearly ahead, by any margin, at any {} that was measured",
            axis.name()
        ));
    };
    if findings.crossings.is_empty() {
        let says = format!("the ranking does not flip: wherever one is clearly ahead it is {}", name(first));
        return Some(says);
    }
    let mut from = name(first);
    let flips = findings.crossings.iter().map(|crossing| {
        let to = name(crossing.to);
        let unclear = match crossing.unclear {
            Some((low, high)) if low < high => format!(", neither clearly from {} to {}", at(low), at(high)),
            Some((low, _)) => format!(", neither clearly at {}", at(low)),
            None => String::new(),
        };
        let (low, high) = (at(crossing.low), at(crossing.high));
        format!(
            "{} is ahead up to {} = {low}{unclear}, {to} from {high} on",
            core::mem::replace(&mut from, to),
            axis.name()
        )
    });
    Some(format!("the ranking flips: {}", flips.collect::<Vec<_>>().join("; ")))
}

/// Returns the crossings as results; `None` if the space is not a single axis of numbers.
pub(super) fn results(space: &Space, [a, b]: [&str; 2], samples: &[Sample]) -> Option<Vec<Crossing>> {
    let crossings = bisect(space, samples)?.findings().crossings.into_iter().map(|crossing| Crossing {
        low: crossing.low,
        high: crossing.high,
        ahead_from_high: if crossing.to == RatioSide::Above { a } else { b }.to_owned(),
        unclear: crossing.unclear,
    });
    Some(crossings.collect())
}

/// Returns the search after these samples; `None` if the space is not a single axis of numbers. Held-out points only
/// test the findings, and are not part of the search.
fn bisect(space: &Space, samples: &[Sample]) -> Option<Bisect> {
    let [axis] = space.axes() else { return None };
    if axis.choices().is_some() {
        return None;
    }
    let mut bisect = Bisect::new(axis.clone(), GRID, TOLERANCE, PAIRS_MAX);
    for sample in samples.iter().filter(|sample| !sample.role.is_test()) {
        let known = sample.interval(CONFIDENCE).filter(|interval| interval.confidence >= CONFIDENCE);
        let ratio = known.unwrap_or(Interval { low: 0.0, high: f64::INFINITY, confidence: CONFIDENCE });
        for _ in &sample.pairs {
            bisect.tell(sample.point[0], ratio);
        }
    }
    Some(bisect)
}

#[cfg(test)]
mod tests {
    use results::Features;
    use serde_json::json;

    use super::*;
    use crate::registry::tests::catalogue;
    use crate::speed::tests::pair;

    fn space(items: &[&str]) -> Space {
        Space::parse(catalogue(), &items.iter().map(|&item| item.to_owned()).collect::<Vec<_>>())
            .expect("legal")
    }

    /// Runs a search with a known ratio until it is done, and returns its samples.
    fn search(space: &Space, ratio: impl Fn(f64) -> f64) -> Vec<Sample> {
        let mut samples: Vec<Sample> = Vec::new();
        for _ in 0..1_000 {
            match next(space, &samples) {
                Some(Next::Point(point, role)) => {
                    let pairs = vec![pair(ratio(point[0]))];
                    samples.push(Sample { pairs, ..Sample::new(point, Features::new(), role) });
                }
                Some(Next::Again(at)) => {
                    let pair = pair(ratio(samples[at].point[0]));
                    samples[at].pairs.push(pair);
                }
                None => return samples,
            }
        }
        panic!("a search ends");
    }

    #[test]
    fn a_crossing_is_found_to_a_hundredth_and_told() {
        let space = space(&["ycsb.theta=0..0.9"]);
        let samples = search(&space, |theta| if theta < 0.37 { 1.02 } else { 0.98 });
        assert!(samples.iter().all(|sample| sample.pairs.len() == 6), "six pairs are clear");
        let told = text(&space, ["silo", "mvto"], &samples).expect("one axis");
        assert_eq!(told, "the ranking flips: silo is ahead up to ycsb.theta = 0.366, mvto from 0.373 on");
        let json = json!(results(&space, ["silo", "mvto"], &samples));
        assert_eq!(
            json,
            json!([{ "low": 0.366, "high": 0.373, "ahead_from_high": "mvto", "unclear": null }])
        );
    }

    #[test]
    fn what_stays_unclear_between_is_told() {
        let space = space(&["tpcc.warehouses=1..8"]);
        let samples = search(&space, |warehouses| match warehouses {
            ..3.0 => 0.8,
            ..5.0 => 1.0,
            _ => 1.2,
        });
        let told = text(&space, ["silo", "mvto"], &samples).expect("one axis");
        assert_eq!(
            told,
            "the ranking flips: mvto is ahead up to tpcc.warehouses = 2, neither clearly from 3 to 4, silo from 5 on"
        );
        assert!(samples.iter().any(|sample| sample.pairs.len() == PAIRS_MAX as usize));
    }

    #[test]
    fn without_a_flip_it_is_said_who_is_ahead_and_when_nobody_is() {
        let space = space(&["ycsb.theta=0..0.9"]);
        let told = |ratio: f64| text(&space, ["silo", "mvto"], &search(&space, |_| ratio)).expect("one axis");
        assert!(told(0.9).ends_with("it is mvto"), "{}", told(0.9));
        assert!(told(1.0).starts_with("neither is clearly ahead"), "{}", told(1.0));
    }

    #[test]
    fn spaces_of_words_or_of_several_axes_have_no_crossing() {
        for items in [&["retry=same|drop"][..], &["ycsb.theta=0..0.9", "clients=2..64"]] {
            let space = space(items);
            assert_eq!(next(&space, &[]), None);
            assert_eq!(results(&space, ["silo", "mvto"], &[]), None);
        }
    }
}
