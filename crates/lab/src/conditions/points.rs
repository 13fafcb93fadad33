//! Points that were not measured before. A test of a claim at the points that the claim was made from would be no test.
//!
//! Two points are the same if all of their settings resolve to the same values, however they are written. Words and
//! whole numbers make spaces of few points, in which random points soon repeat. The points of such a space are counted,
//! and a part of them is left for the test.

use std::collections::BTreeSet;

use results::{Choices, Features};
use stdx::Rng;

use super::study::{Sample, Study};
use crate::sweep::ResultStore;
use crate::{Plan, Refusal};

/// The maximum number of points of a space of few points, whose points are counted.
const FEW: usize = 200;
/// The maximum number of random points that are tried to find a wanted one. Points that a claim covers are rare if it
/// covers little of the space.
const TRIES: usize = 2_000;
/// In a space of few points, one point in this number is left for the test.
const LEFT_EVERY: usize = 3;
/// The least number of points that make a test.
const TESTS_MIN: usize = 5;

/// A point with its features and its identity.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Candidate {
    pub(super) point: Vec<f64>,
    pub(super) features: Features,
    /// The identity of the point: for each scheme, its resolved settings as text.
    pub(super) place: [String; 2],
}

/// Points that were chosen and cannot be run under both schemes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LeftOut {
    /// The number of the points.
    pub(super) points: usize,
    /// The reason of the first.
    pub(super) why: Option<Refusal>,
}

impl LeftOut {
    /// Adds a point.
    pub(super) fn add(&mut self, why: Refusal) {
        self.points += 1;
        self.why.get_or_insert(why);
    }

    /// Adds the points of another list.
    pub(super) fn merge(&mut self, other: Self) {
        self.points += other.points;
        self.why = self.why.take().or(other.why);
    }
}

/// Returns the points of a space of few points, each once, and those that cannot be run under both schemes. `None` if
/// the space is larger.
pub(super) fn few(study: &Study) -> Option<(Vec<Candidate>, LeftOut)> {
    let mut seen = BTreeSet::new();
    let mut left_out = LeftOut::default();
    let all = study.ground.space.all(FEW)?;
    let judged = all.into_iter().map(|point| candidate(study, point));
    let possible = judged.filter_map(|point| point.map_err(|why| left_out.add(why)).ok());
    Some((possible.filter(|of| seen.insert(of.place.clone())).collect(), left_out))
}

/// Returns the number of points of a space of few points to leave for the test. It is 0 if these would be too few for a
/// test: then it is better to measure all points.
pub(super) fn left_for_tests(few: usize, held_out: usize) -> usize {
    let left = (few / LEFT_EVERY).min(held_out);
    if left < TESTS_MIN { 0 } else { left }
}

/// Returns a point with its features and its identity: all choices for the runs of both schemes at the point, except
/// those in which repetitions differ.
///
/// # Errors
/// A point that cannot be run under both schemes.
pub(super) fn candidate(study: &Study, point: Vec<f64>) -> Result<Candidate, Refusal> {
    let plans = study.plans(&point)?;
    let of_plan = |plan: &Plan| of_run(&crate::json::choices(plan, 0));
    let place = plans.each_ref().map(of_plan);
    Ok(Candidate { features: study.features_of(&point, &plans), place, point })
}

/// Returns the resolved settings of a run as text.
fn of_run(run: &Choices) -> String {
    let Choices { workload, scheme, workers, clients, retry, is_pinned, .. } = run;
    let Choices { mode, rtt_us, batch, arrivals, rate_txn_s, settings, .. } = run;
    let Choices { machine_digest, placement, memory, smt, lookahead_ns, .. } = run;
    let Choices { txns, warmup_txns, patience, .. } = run;
    let traffic = (mode, rtt_us, batch, arrivals, rate_txn_s);
    let machine = (machine_digest, placement, memory, smt, lookahead_ns, [txns, warmup_txns, patience]);
    format!("{:?}", (workload, scheme, workers, clients, retry, is_pinned, traffic, machine, settings))
}

/// A source of points to test a claim at. It returns no point twice, and no point that was measured before.
pub(super) struct Fresh<'s> {
    store: &'s ResultStore,
    /// The first repetition number of this study's test, by which its own runs are recognized. Points that this test
    /// measured itself, before it was stopped, are allowed.
    own: u64,
    /// The resolved settings of all runs of the store.
    measured: BTreeSet<String>,
    /// The points that this study has explored or tested.
    taken: BTreeSet<[String; 2]>,
    rng: Rng,
    /// The points of a space of few points that were not drawn yet; `None` if the space is larger.
    few: Option<Vec<Candidate>>,
    /// The random points that cannot be run under both schemes.
    pub(super) left_out: LeftOut,
}

impl<'s> Fresh<'s> {
    /// Makes the source for a study that has measured these samples.
    ///
    /// # Errors
    /// Results that cannot be read.
    pub(super) fn new(
        study: &Study,
        store: &'s ResultStore,
        samples: &[Sample],
        own: u64,
    ) -> Result<Self, Refusal> {
        let measured = store.all()?.iter().map(|entry| of_run(&entry.run.choices)).collect();
        let place = |sample: &Sample| Ok::<_, Refusal>(candidate(study, sample.point.clone())?.place);
        let taken = samples.iter().map(place).collect::<Result<_, _>>()?;
        let mut rng = Rng::from_path(&[study.question.seed, 0x0068_656c_646f_7574]);
        let mut few = few(study).map(|(few, _)| few);
        if let Some(few) = &mut few {
            stats::shuffle(few, &mut rng);
        }
        Ok(Self { store, own, measured, taken, rng, few, left_out: LeftOut::default() })
    }

    /// Returns another point that is `wanted`; `None` if there is none, or if none is found.
    ///
    /// # Errors
    /// Results that cannot be read.
    pub(super) fn next(
        &mut self,
        study: &Study,
        wanted: impl Fn(&Features) -> bool,
    ) -> Result<Option<Candidate>, Refusal> {
        if let Some(mut few) = self.few.take() {
            let mut found = None;
            for at in 0..few.len() {
                if wanted(&few[at].features) && self.is_fresh(study, &few[at])? {
                    found = Some(few.remove(at));
                    break;
                }
            }
            self.few = Some(few);
            self.taken.extend(found.iter().map(|of: &Candidate| of.place.clone()));
            return Ok(found);
        }
        for _ in 0..TRIES {
            let point = study.ground.space.random(&mut self.rng);
            let candidate = match candidate(study, point) {
                Ok(candidate) => candidate,
                Err(why) => {
                    self.left_out.add(why);
                    continue;
                }
            };
            if wanted(&candidate.features) && self.is_fresh(study, &candidate)? {
                self.taken.insert(candidate.place.clone());
                return Ok(Some(candidate));
            }
        }
        Ok(None)
    }

    /// Returns the number of points of a space of few points that are left unmeasured; `None` if the space is larger.
    ///
    /// # Errors
    /// Results that cannot be read.
    pub(super) fn left(&self, study: &Study) -> Result<Option<usize>, Refusal> {
        let Some(few) = &self.few else { return Ok(None) };
        let mut left = 0;
        for candidate in few {
            left += usize::from(self.is_fresh(study, candidate)?);
        }
        Ok(Some(left))
    }

    fn is_fresh(&self, study: &Study, candidate: &Candidate) -> Result<bool, Refusal> {
        if self.taken.contains(&candidate.place) {
            return Ok(false);
        }
        let is_measured = candidate.place.iter().all(|place| self.measured.contains(place));
        Ok(!is_measured || self.is_own(study, candidate)?)
    }

    /// Returns whether this test measured the point before it was stopped.
    fn is_own(&self, study: &Study, candidate: &Candidate) -> Result<bool, Refusal> {
        for scheme in study.schemes {
            let unit = study.ground.unit(scheme, &candidate.point, self.own)?;
            if self.store.get(&unit.id)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::super::study::tests::question;
    use super::*;
    use crate::registry::tests::catalogue;

    fn study(vary: &[&str]) -> Study {
        Study::new(catalogue(), question(vary), "a build").expect("possible")
    }

    #[test]
    fn a_space_of_few_points_is_counted() {
        let count = |vary: &[&str]| few(&study(vary)).map(|(few, left_out)| (few.len(), left_out.points));
        assert_eq!(count(&["workers=1..2"]), Some((2, 0)));
        assert_eq!(count(&["workers=1..2", "clients=2..4", "retry=same|drop"]), Some((12, 0)));
        assert_eq!(count(&["workers=1..2", "ycsb.theta=0..0.9"]), None);
        // Each worker serves at least one client, so there cannot be fewer clients than workers.
        assert_eq!(count(&["workers=1..2", "clients=1..2"]), Some((3, 1)));
        assert_eq!(count(&["machine=epyc|power9", "workers=1..2"]), Some((4, 0)));
        assert_eq!(count(&["machine=epyc|here", "placement=cores_first|scatter"]), Some((4, 0)));
        assert_eq!(count(&["machine=epyc|power9", "memory=local|interleaved", "smt=1..2"]), Some((8, 0)));
        assert_eq!([2, 14, 15, 60, 200].map(|few| left_for_tests(few, 40)), [0, 0, 5, 20, 40]);
    }

    #[test]
    fn a_point_is_drawn_once_and_not_where_something_was_measured() {
        let path = std::env::temp_dir().join(format!("contend-points-{}", std::process::id()));
        let store = ResultStore::open(&path).expect("writable");
        let study = study(&["workers=1..2", "retry=same|drop"]);
        let put = |scheme: &'static str, point: &[f64], repetition: u64| {
            let unit = study.ground.unit(scheme, point, repetition).expect("possible");
            let plan = Plan::new(catalogue(), &unit.request).expect("possible");
            let choices = crate::json::choices(&plan, 0);
            store.put(&unit, &results::Run { choices, ..results::Run::default() }).expect("written");
        };
        let drawn = || {
            let mut fresh = Fresh::new(&study, &store, &[], 77).expect("readable");
            let mut points = Vec::new();
            while let Some(of) = fresh.next(&study, |_| true).expect("readable") {
                points.push(of.point);
            }
            points.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
            points
        };
        let all = [[1.0, 0.0], [1.0, 1.0], [2.0, 0.0], [2.0, 1.0]];
        assert_eq!(drawn(), all, "each once");
        put("silo", &all[1], 3);
        assert_eq!(drawn(), all, "one scheme alone says nothing of a ratio");
        put("mvto", &all[1], 5);
        assert_eq!(drawn(), [all[0], all[2], all[3]], "with another seed it is the same point");
        let left = Fresh::new(&study, &store, &[], 77).and_then(|fresh| fresh.left(&study));
        assert_eq!(left, Ok(Some(3)));
        put("silo", &all[1], 77);
        assert_eq!(drawn(), all, "what the test has measured itself is still its own when it goes on");
        std::fs::remove_dir_all(path).expect("its own directory");
    }
}
