//! The test of claims at random points that were not measured before, with their own requests, and under both policies
//! of retry. Some published results drop aborted requests, others try them again, and rankings that follow from this
//! choice look as if they followed from the schemes.

use engine::driver::Retry;
use results::{Class, Features, HeldOut, Otherwise, Predicate};
use stats::{Verdict, share};

use super::fit::Map;
use super::investigate::{CONFIDENCE, Findings};
use super::pairs::{Pairs, Stop};
use super::points::{Candidate, Fresh};
use super::study::{Role, Sample, Study};
use crate::sweep::Runner;

/// Shares of the budget after which each part of a test ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Until {
    /// The end of the part with random points of the space.
    random: f64,
    /// The end of the part with further points that the claims cover.
    covered: f64,
    /// The end of the part with the same points under the other policy of retry.
    otherwise: f64,
}

/// The shares in a study, which goes on to explain its claims; and below, the shares in a test alone.
pub(super) const OF_STUDY: Until = Until { random: 0.55, covered: 0.6, otherwise: 0.75 };
pub(super) const OF_TEST: Until = Until { random: 0.5, covered: 0.65, otherwise: 1.0 };
/// The least number of covered points that can decide about a claim.
const COVERED_MIN: usize = 5;
/// The wanted number of covered points: if the winner is ahead at all but three of them, this shows that it is ahead at
/// most of the points that the claim covers.
pub(super) const COVERED_WANTED: usize = 12;
/// The number of pairs at each point: their median is off the truth half as often as a single pair is.
const PAIRS: u64 = 3;
/// The first number of their repetitions, so that their requests differ from those of the exploration.
const FRESH: u64 = 1 << 32;

impl Study {
    /// Returns this study under the other policy of retry: aborted requests are dropped, or, if this study drops them,
    /// tried again. `None` if the policy varies: then it is a condition like others.
    pub(super) fn otherwise(&self) -> Option<Self> {
        let varies = self.ground.axes.iter().any(|axis| axis == "retry");
        let is_dropped = self.value("retry") == Retry::Drop.name();
        let other = if is_dropped { Retry::Same } else { Retry::Drop };
        (!varies).then(|| self.with("retry", other.name()))
    }
}

/// Measures random points that were not measured before, and notes the predictions of the map for them. There are three
/// parts: points of the whole space; if a claim covers few of these, further points that it covers; and as many of all
/// these points as there is time for, under the other policy of retry and on the same requests.
pub(super) fn test<R: Runner>(
    study: &Study,
    pairs: &mut Pairs<'_, R>,
    map: &Map,
    until: Until,
    findings: &mut Findings,
) -> Result<(), Stop> {
    let own = repetition(study.question.seed, 0);
    let mut fresh = Fresh::new(study, pairs.store(), &findings.samples, own)?;
    let mut points = Vec::new();
    let tested = at_fresh_points(study, pairs, (map, until), &mut fresh, findings, &mut points);
    findings.left_out.merge(core::mem::take(&mut fresh.left_out));
    findings.left = fresh.left(study)?;
    tested?;
    let has_claims = [Class::A, Class::B].into_iter().any(|class| !map.of(class).is_never());
    let Some(other) = study.otherwise().filter(|_| has_claims) else { return Ok(()) };
    let (retry, seed) = (other.value("retry"), study.question.seed);
    for (nth, (point, role)) in points.iter().enumerate() {
        // A scheme that runs batches tries every aborted transaction again. If it cannot drop requests at this point,
        // it cannot at any.
        let Ok(features) = other.features(point) else { break };
        if !pairs.has_time(&other, until.otherwise, 2 * PAIRS as usize) {
            break;
        }
        let what = format!("testing with retry={retry}, point {} of {}", nth + 1, points.len());
        findings.otherwise.push(measure(&other, pairs, (point, seed), (features, *role), &what)?);
    }
    Ok(())
}

/// Makes the first two parts of a [`test`], and notes their points for the third part.
fn at_fresh_points<R: Runner>(
    study: &Study,
    pairs: &mut Pairs<'_, R>,
    (map, until): (&Map, Until),
    fresh: &mut Fresh<'_>,
    findings: &mut Findings,
    points: &mut Vec<(Vec<f64>, Role)>,
) -> Result<(), Stop> {
    let (seed, of) = (study.question.seed, study.question.held_out);
    while points.len() < of && pairs.has_time(study, until.random, 2 * PAIRS as usize) {
        let Some(Candidate { point, features, .. }) = fresh.next(study, |_| true)? else {
            findings.is_exhausted = true;
            break;
        };
        let what = format!("testing, point {} of {of}", points.len() + 1);
        findings.predicted.push(map.predict(&features));
        findings.samples.push(measure(study, pairs, (&point, seed), (features, Role::HeldOut), &what)?);
        points.push((point, Role::HeldOut));
    }
    if points.is_empty() {
        return Ok(());
    }
    for class in [Class::A, Class::B].into_iter().filter(|class| !map.of(*class).is_never()) {
        let covers = |features: &Features| map.of(class).holds(features);
        let tests = || findings.samples.iter().filter(|sample| sample.role.is_test());
        let mut covered = tests().filter(|sample| covers(&sample.features)).count();
        while covered < COVERED_WANTED && pairs.has_time(study, until.covered, 2 * PAIRS as usize) {
            let Some(Candidate { point, features, .. }) = fresh.next(study, covers)? else { break };
            covered += 1;
            let what = format!("testing a claim, point {covered} of {COVERED_WANTED}");
            findings.predicted.push(map.predict(&features));
            findings.samples.push(measure(study, pairs, (&point, seed), (features, Role::Covered), &what)?);
            points.push((point, Role::Covered));
        }
    }
    Ok(())
}

/// Returns the number of a repetition at a test point. It depends on the seed, and no repetition of the exploration has
/// this number.
fn repetition(seed: u64, nth: u64) -> u64 {
    FRESH + seed.wrapping_mul(PAIRS) + nth
}

fn measure<R: Runner>(
    study: &Study,
    pairs: &mut Pairs<'_, R>,
    (point, seed): (&[f64], u64),
    (features, role): (Features, Role),
    what: &str,
) -> Result<Sample, Stop> {
    let mut sample = Sample::new(point.to_vec(), features, role);
    for nth in 0..PAIRS {
        sample.add(&pairs.measure(study, point, repetition(seed, nth), what)?);
    }
    Ok(sample)
}

/// Returns the test of a predicate at points: whether the winner is ahead by the margin where the predicate holds, and
/// only there. The intervals of `shares` such tests hold together. `None` if no point was drawn from the whole space.
pub(super) fn fare(
    predicate: &Predicate,
    winner: Class,
    samples: &[&Sample],
    (margin, shares, seed): (f64, usize, u64),
) -> Option<HeldOut> {
    let wins = |sample: &&&Sample| Class::of(sample.ratio(), margin) == winner;
    let covers = |sample: &&&Sample| predicate.holds(&sample.features);
    let agrees = |sample: &&&Sample| covers(sample) == wins(sample);
    let edge = if winner == Class::A { margin } else { 1.0 / margin };
    let is_undecided =
        |sample: &&&Sample| sample.interval(CONFIDENCE).is_none_or(|interval| interval.contains(edge));
    let of_space = || samples.iter().filter(|sample| sample.role == Role::HeldOut);
    let (points, agree) = (of_space().count(), of_space().filter(agrees).count());
    let undecided = of_space().filter(|sample| !agrees(sample) && is_undecided(sample)).count();
    let covered = samples.iter().filter(covers).count();
    let covered_agree = samples.iter().filter(|sample| covers(sample) && wins(sample)).count();
    let confidence = 1.0 - (1.0 - CONFIDENCE) / shares.max(1) as f64;
    let interval = share(agree as u64, points as u64, confidence)?.into();
    let share = agree as f64 / points as f64;
    Some(HeldOut { points, agree, undecided, covered, covered_agree, share, interval, seed })
}

/// Returns the tests of a predicate under both policies of retry: the study's own policy, and the other one if it was
/// measured.
pub(super) fn fare_under_both(
    study: &Study,
    (predicate, winner): (&Predicate, Class),
    findings: &Findings,
    claims: usize,
) -> Option<(HeldOut, Option<Otherwise>)> {
    let as_is: Vec<&Sample> = findings.samples.iter().filter(|sample| sample.role.is_test()).collect();
    let otherwise: Vec<&Sample> = findings.otherwise.iter().collect();
    // A predicate that was tested at no point is no claim.
    let shares = if otherwise.is_empty() { claims } else { 2 * claims };
    let of = (study.question.margin, shares, study.question.seed);
    let fared = fare(predicate, winner, &as_is, of)?;
    let other = study.otherwise().and_then(|other| {
        let held_out = fare(predicate, winner, &otherwise, of)?;
        let verdict = name_of(where_it_says_so(&held_out)).to_owned();
        Some(Otherwise { retry: other.value("retry"), held_out, verdict })
    });
    Some((fared, other))
}

/// Returns the verdict of new points on a claim: whether as many agree as before, and whether the winner is ahead at
/// the points that the claim covers. The first test alone is not enough: if a claim covers little, most points agree
/// although the winner is never ahead.
pub(super) fn verdict(said: &HeldOut, found: &HeldOut) -> Verdict {
    match (as_many_agree(said, found), where_it_says_so(found)) {
        (Verdict::Slower, _) | (_, Verdict::Slower) => Verdict::Slower,
        (Verdict::Unclear, _) | (_, Verdict::Unclear) => Verdict::Unclear,
        _ => Verdict::Same,
    }
}

/// Returns whether the winner is ahead at most of the points that the claim covers: `Same` if it is, `Slower` if it is
/// ahead at fewer than half of them, `Unclear` if there are too few points to tell.
pub(super) fn where_it_says_so(found: &HeldOut) -> Verdict {
    let interval = share(found.covered_agree as u64, found.covered as u64, CONFIDENCE);
    match interval.filter(|_| found.covered >= COVERED_MIN) {
        Some(interval) if interval.low > 0.5 => Verdict::Same,
        Some(interval) if interval.high < 0.5 => Verdict::Slower,
        _ => Verdict::Unclear,
    }
}

/// Returns whether as many points agree as the claim says. Fewer agree (`Slower`) if the upper end of the new interval
/// is below the lower end of the old interval. As many agree (`Same`) if the new share is not below the lower end that
/// the old interval would have with as few points as now.
fn as_many_agree(said: &HeldOut, found: &HeldOut) -> Verdict {
    if found.interval.high < said.interval.low {
        return Verdict::Slower;
    }
    let likely = share((said.share * found.points as f64).floor() as u64, found.points as u64, CONFIDENCE);
    let results::Interval { low, .. } = likely.expect("there are points").into();
    if found.share >= low { Verdict::Same } else { Verdict::Unclear }
}

/// Returns the name of a verdict in results.
pub(super) const fn name_of(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Slower => "does_not_hold",
        Verdict::Unclear => "undecided",
        Verdict::Same | Verdict::Faster => "holds",
    }
}

#[cfg(test)]
mod tests {
    use super::super::study::tests::question;
    use super::*;
    use crate::registry::tests::catalogue;

    fn held_out(agree: usize, points: usize) -> HeldOut {
        let interval = share(agree as u64, points as u64, CONFIDENCE).expect("points").into();
        let share = agree as f64 / points as f64;
        HeldOut { points, agree, undecided: 0, covered: 0, covered_agree: 0, share, interval, seed: 1 }
    }

    #[test]
    fn a_claim_is_judged_by_the_points_that_it_covers() {
        let covering = |covered_agree, covered| {
            where_it_says_so(&HeldOut { covered, covered_agree, ..held_out(30, 40) })
        };
        assert_eq!([covering(6, 7), covering(5, 5)], [Verdict::Same; 2]);
        assert_eq!(
            [covering(0, 5), covering(1, 8)],
            [Verdict::Slower; 2],
            "most points agree, and none of these"
        );
        assert_eq!([covering(0, 0), covering(0, 1), covering(4, 4), covering(3, 6)], [Verdict::Unclear; 4]);
    }

    #[test]
    fn a_claim_fails_when_clearly_fewer_points_agree() {
        let said = held_out(47, 50);
        let of = |agree| as_many_agree(&said, &held_out(agree, 50));
        assert_eq!(
            [46, 50, 25, 41].map(of),
            [Verdict::Same, Verdict::Same, Verdict::Slower, Verdict::Unclear]
        );
        let covering = HeldOut { covered: 9, covered_agree: 0, ..held_out(47, 50) };
        assert_eq!(verdict(&said, &covering), Verdict::Slower);
        assert_eq!(verdict(&said, &held_out(47, 50)), Verdict::Unclear, "nothing was tested that it covers");
    }

    #[test]
    fn the_other_policy_is_to_drop_or_not_to_unless_it_varies() {
        let of = |vary: &[&str], set: &str| {
            let mut question = question(vary);
            question.set.push(set.to_owned());
            let study = Study::new(catalogue(), question, "a build").expect("possible");
            study.otherwise().map(|other| other.value("retry"))
        };
        assert_eq!(of(&["ycsb.theta=0..0.9"], "workers=1").as_deref(), Some("drop"));
        assert_eq!(of(&["ycsb.theta=0..0.9"], "retry=backoff").as_deref(), Some("drop"));
        assert_eq!(of(&["ycsb.theta=0..0.9"], "retry=drop").as_deref(), Some("same"));
        assert_eq!(of(&["ycsb.theta=0..0.9", "retry=same|drop"], "workers=1"), None);
    }
}
