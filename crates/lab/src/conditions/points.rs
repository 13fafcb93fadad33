//! Points that nobody has measured: a claim that is tested where it was made is not tested.
//!
//! Two points are the same when all of their settings resolve to the same values, however they are written. Words and
//! whole numbers make spaces of few points, in which what is drawn at random is soon drawn again; such a space is
//! counted, and a part of it is left for the test.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use stdx::Rng;

use super::predicate::Features;
use super::study::{Sample, Study};
use crate::sweep::Store;
use crate::{Plan, Refusal};

/// A space of so many points or fewer is one of few: they are counted.
const FEW: usize = 200;
/// Random points that are looked at to find one that is wanted. A claim about little of a space has few.
const TRIES: usize = 2_000;
/// Of a space of few points one in so many is left for the test.
const LEFT_EVERY: usize = 3;
/// Fewer points than this test nothing.
const TESTS_MIN: usize = 5;

/// A point with what tells it from others.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Candidate {
    pub(super) point: Vec<f64>,
    pub(super) features: Features,
    /// One for each scheme.
    pub(super) place: [String; 2],
}

/// The points of a space of few, each once, without those that cannot be run under both schemes; none of larger spaces.
pub(super) fn few(study: &Study) -> Option<Vec<Candidate>> {
    let mut seen = BTreeSet::new();
    let all = study.ground.space.all(FEW)?;
    let possible = all.into_iter().filter_map(|point| candidate(study, point).ok());
    Some(possible.filter(|of| seen.insert(of.place.clone())).collect())
}

/// How many points of a space of few are to be left for the test of what the others say; none where so few would be
/// left that they would test nothing, and all points are better measured.
pub(super) fn left_for_tests(few: usize, held_out: usize) -> usize {
    let left = (few / LEFT_EVERY).min(held_out);
    if left < TESTS_MIN { 0 } else { left }
}

/// A point with what tells it from others: all that is chosen for the runs of both schemes there, but what repetitions
/// differ in.
///
/// # Errors
/// When the point cannot be run under both schemes.
pub(super) fn candidate(study: &Study, point: Vec<f64>) -> Result<Candidate, Refusal> {
    let plans = study.plans(&point)?;
    let of_plan = |plan: &Plan| of_run(&Value::Object(crate::json::conditions(plan, 0)));
    let place = plans.each_ref().map(of_plan);
    Ok(Candidate { features: study.features_of(&point, &plans), place, point })
}

/// The resolved settings of a run.
fn of_run(run: &Value) -> String {
    const CHOSEN: [&str; 11] = [
        "workload",
        "scheme",
        "workers",
        "clients",
        "retry",
        "pinned",
        "mode",
        "rtt_us",
        "batch",
        "arrivals",
        "rate_txn_s",
    ];
    let chosen: Vec<&Value> = CHOSEN.iter().map(|name| &run[*name]).chain([&run["settings"]]).collect();
    json!(chosen).to_string()
}

/// Points to test a claim at, none twice, and none that was measured before.
pub(super) struct Fresh<'s> {
    store: &'s Store,
    /// The repetition by which a test of this study is known: what it has measured itself is still its own.
    own: u64,
    /// Of all runs of the store.
    measured: BTreeSet<String>,
    /// Points that this study has explored, or tested at.
    taken: BTreeSet<[String; 2]>,
    rng: Rng,
    /// The points of a space of few that were not drawn yet.
    few: Option<Vec<Candidate>>,
    /// Random points that cannot be run under both schemes.
    pub(super) impossible: usize,
}

impl<'s> Fresh<'s> {
    /// Of a study that has measured these samples.
    ///
    /// # Errors
    /// Results that cannot be read.
    pub(super) fn new(
        study: &Study,
        store: &'s Store,
        samples: &[Sample],
        own: u64,
    ) -> Result<Self, Refusal> {
        let measured = store.all()?.iter().map(|entry| of_run(&entry.value)).collect();
        let place = |sample: &Sample| Ok::<_, Refusal>(candidate(study, sample.point.clone())?.place);
        let taken = samples.iter().map(place).collect::<Result<_, _>>()?;
        let mut rng = Rng::from_path(&[study.question.seed, 0x0068_656c_646f_7574]);
        let mut few = few(study);
        if let Some(few) = &mut few {
            stats::shuffle(few, &mut rng);
        }
        Ok(Self { store, own, measured, taken, rng, few, impossible: 0 })
    }

    /// Another one that is `wanted`; none if there is none, or none is found.
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
            let Ok(candidate) = candidate(study, point) else {
                self.impossible += 1;
                continue;
            };
            if wanted(&candidate.features) && self.is_fresh(study, &candidate)? {
                self.taken.insert(candidate.place.clone());
                return Ok(Some(candidate));
            }
        }
        Ok(None)
    }

    /// How many points of a space of few are left that nobody has measured; none of larger spaces.
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

    /// Whether it is a point that this test has drawn before, and was stopped.
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

    fn study(vary: &[&str]) -> Study {
        Study::new(question(vary), "a build").expect("possible")
    }

    #[test]
    fn a_space_of_few_points_is_counted() {
        let count = |vary: &[&str]| few(&study(vary)).map(|few| few.len());
        assert_eq!(count(&["workers=1..2"]), Some(2));
        assert_eq!(count(&["workers=1..2", "clients=2..4", "retry=same|drop"]), Some(12));
        assert_eq!(count(&["workers=1..2", "ycsb.theta=0..0.9"]), None);
        // Whoever serves one client each cannot have fewer of them than workers.
        assert_eq!(count(&["workers=1..2", "clients=1..2"]), Some(3));
        assert_eq!([2, 14, 15, 60, 200].map(|few| left_for_tests(few, 40)), [0, 0, 5, 20, 40]);
    }

    #[test]
    fn a_point_is_drawn_once_and_not_where_something_was_measured() {
        let path = std::env::temp_dir().join(format!("contend-points-{}", std::process::id()));
        let store = Store::open(&path).expect("writable");
        let study = study(&["workers=1..2", "retry=same|drop"]);
        let put = |scheme: &'static str, point: &[f64], repetition: u64| {
            let unit = study.ground.unit(scheme, point, repetition).expect("possible");
            let plan = Plan::new(&unit.request).expect("possible");
            let mut run = Value::Object(crate::json::conditions(&plan, 0));
            run["kind"] = "run".into();
            store.put(&unit, &run).expect("written");
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
