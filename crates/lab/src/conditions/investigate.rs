//! The course of a study: explore, conclude, test, explain.

use serde_json::{Value, json};

use super::claim::{Claim, Explored, Ratio, statement};
use super::crossing;
use super::explore::{Exploration, Next};
use super::fit::Map;
use super::held_out::{OF_STUDY, fare_under_both, test};
use super::pairs::{Pairs, Stop};
use super::study::{Class, Sample, Study};
use super::why::{self, Site};
use crate::json::SCHEMA;
use crate::sweep::{Run, Store, digest};
use crate::{Machine, Refusal};

/// The confidence of what is said, all claims of a study together.
pub(super) const CONFIDENCE: f64 = 0.9;
/// The share of the budget after which no more is explored.
const EXPLORED_BY: f64 = 0.4;

/// What a study found.
#[derive(Debug, Default)]
pub struct Findings {
    /// What was measured.
    pub samples: Vec<Sample>,
    /// What was predicted at the points that test it, in the order of these.
    pub predicted: Vec<Class>,
    /// These points again, as far as there was time, under the other policy of retry.
    pub otherwise: Vec<Sample>,
    /// What is concluded.
    pub claims: Vec<Claim>,
    /// Random points that could not be run under both schemes.
    pub impossible: usize,
    /// Whether whoever watched did not want more.
    pub is_interrupted: bool,
    /// The command of a run whose check failed, and ended all of it.
    pub failed: Option<String>,
}

/// Answers a study's question, and keeps all runs in the store: what is there already is not made again.
///
/// # Errors
/// Those of the runs and of the store. What was measured before is kept.
pub fn investigate(study: &Study, store: &Store, run: impl Run) -> Result<Findings, Refusal> {
    let mut findings = Findings::default();
    let mut pairs = Pairs::new(study, store, run);
    let ended = course(study, store, &mut pairs, &mut findings);
    match ended {
        Ok(()) => {}
        Err(Stop::Interrupted) => findings.is_interrupted = true,
        Err(Stop::Failed(command)) => findings.failed = Some(command),
        Err(Stop::Refused(refusal)) => return Err(refusal),
    }
    Ok(findings)
}

fn course<R: Run>(
    study: &Study,
    store: &Store,
    pairs: &mut Pairs<'_, R>,
    findings: &mut Findings,
) -> Result<(), Stop> {
    explore(study, pairs, findings)?;
    if findings.samples.is_empty() {
        let says =
            "there was no time for a single pair of runs: give a larger `--budget`, or lower `--seconds`";
        return Err(Stop::Refused(Refusal(says.to_owned())));
    }
    let map = Map::fit(&study.ground.space, &findings.samples, study.question.margin);
    let tested = test(study, pairs, &map, OF_STUDY, findings);
    findings.claims = conclude(study, &map, findings, store);
    tested?;
    let sites: Vec<Site> = findings.claims.iter().filter_map(|claim| site(claim, findings)).collect();
    let explained = why::explain(study, pairs, &sites)?;
    for (site, reasons) in sites.iter().zip(explained) {
        let claim = findings.claims.iter_mut().find(|claim| claim.winner == site.winner);
        let claim = claim.expect("each site is of a claim");
        (claim.mechanisms, claim.holds_without) = (reasons.mechanisms, reasons.holds_without);
    }
    Ok(())
}

fn explore<R: Run>(study: &Study, pairs: &mut Pairs<'_, R>, findings: &mut Findings) -> Result<(), Stop> {
    let mut exploration = Exploration::new(&study.ground.space, study.question.margin, study.question.seed);
    let points_max = study.question.points.unwrap_or(usize::MAX);
    while findings.samples.len() < points_max && pairs.has_time(study, EXPLORED_BY, 2) {
        let what = format!("exploring, point {}", findings.samples.len() + 1);
        let to_cross = crossing::next(&study.ground.space, &findings.samples);
        match to_cross.unwrap_or_else(|| exploration.next(&findings.samples)) {
            Next::Point(point, role) => {
                let Ok(features) = study.features(&point) else {
                    findings.impossible += 1;
                    continue;
                };
                let pair = pairs.measure(study, &point, 0, &what)?;
                let runs = pair.ids().collect();
                findings.samples.push(Sample { point, features, role, pairs: vec![pair.throughputs], runs });
            }
            Next::Again(at) => {
                let sample = &mut findings.samples[at];
                let pair = pairs.measure(study, &sample.point, sample.pairs.len() as u64, &what)?;
                sample.pairs.push(pair.throughputs);
                sample.runs.extend(pair.ids());
            }
        }
    }
    Ok(())
}

/// The claims that the map makes, each with how it fared at the held-out points.
fn conclude(study: &Study, map: &Map, findings: &Findings, store: &Store) -> Vec<Claim> {
    let winners = [Class::A, Class::B].into_iter().filter(|class| !map.of(*class).is_never());
    let count = winners.clone().count();
    let folder = store.path().display();
    let seed = study.question.seed.wrapping_add(1);
    let concluded = winners.filter_map(|winner| {
        let claim = claim(study, map, winner, count, findings)?;
        let recheck = format!("contend recheck {folder}/claims/{}.json --seed {seed}", claim.name);
        Some(Claim { recheck, ..claim })
    });
    concluded.collect()
}

fn claim(study: &Study, map: &Map, winner: Class, claims: usize, findings: &Findings) -> Option<Claim> {
    let [a, b] = study.schemes;
    let names = if winner == Class::A { (a, b) } else { (b, a) };
    let (margin, predicate) = (study.question.margin, map.of(winner));
    let (fared, otherwise) = fare_under_both(study, (predicate, winner), findings, claims)?;
    let tests = || findings.samples.iter().filter(|sample| sample.role.is_test());
    let inside = tests().filter(|sample| predicate.holds(&sample.features));
    let ahead = |sample: &Sample| if winner == Class::A { sample.ratio() } else { 1.0 / sample.ratio() };
    let explored = findings.samples.iter().filter(|sample| !sample.role.is_test());
    let name = format!("{}-over-{}-{}", names.0, names.1, study.digest());
    Some(Claim {
        schema: SCHEMA,
        kind: "claim".to_owned(),
        statement: statement(names, margin, predicate, (&fared, otherwise.as_ref())),
        workload: study.ground.workload().to_owned(),
        a: a.to_owned(),
        b: b.to_owned(),
        metric: "throughput_txn_s".to_owned(),
        margin,
        winner,
        predicate: predicate.clone(),
        in_words: predicate.to_string(),
        space: study.ground.space.json(),
        settings: study.ground.fixed(),
        seconds: study.question.seconds,
        warmup: study.question.warmup,
        pin: study.question.pin,
        exploration: Explored {
            points: explored.clone().count(),
            runs: explored.map(|sample| sample.runs.len()).sum(),
        },
        held_out: fared,
        otherwise,
        ratio: Ratio::of(inside.map(ahead).collect()),
        mechanisms: Vec::new(),
        holds_without: Vec::new(),
        evidence: tests().chain(&findings.otherwise).flat_map(|sample| sample.runs.clone()).collect(),
        recheck: format!(
            "contend recheck DIR/claims/{name}.json --seed {}",
            study.question.seed.wrapping_add(1)
        ),
        trust: "A".to_owned(),
        build: study.ground.build.clone(),
        machine: crate::json::machine(&Machine::of_this_process()),
        name,
    })
}

/// The point at which a claim's winner is farthest ahead, of those where the claim says so: by the worst pair of each,
/// since the widest gap of single pairs is that of the luckiest.
fn site(claim: &Claim, findings: &Findings) -> Option<Site> {
    let ahead = |(a, b): &(f64, f64)| if claim.winner == Class::A { (a / b).ln() } else { (b / a).ln() };
    let worst = |sample: &Sample| sample.pairs.iter().map(ahead).fold(f64::INFINITY, f64::min);
    let inside = findings.samples.iter().filter(|sample| claim.predicate.holds(&sample.features));
    let seen_twice = inside.filter(|sample| sample.pairs.len() > 1 && worst(sample) > claim.margin.ln());
    let widest = seen_twice.max_by(|a, b| worst(a).total_cmp(&worst(b)))?;
    Some(Site { winner: claim.winner, point: widest.point.clone() })
}

impl Study {
    /// A digest of the question: the same for a study that goes on, and for no other.
    pub(super) fn digest(&self) -> String {
        let question = json!([
            self.ground.space.json(),
            self.ground.fixed(),
            self.schemes,
            self.ground.workload(),
            self.question.margin,
            [self.question.seconds, self.question.warmup],
            self.question.pin,
        ]);
        digest(question.to_string().as_bytes())[..8].to_owned()
    }
}

impl Findings {
    /// The points that were measured, as an object for programs.
    pub fn json(&self, study: &Study) -> Value {
        let [a, b] = study.schemes;
        let mut predicted = self.predicted.iter();
        let mut point = |sample: &Sample| {
            let predicted = if sample.role.is_test() { predicted.next() } else { None };
            json!({
                "point": study.ground.space.point_json(&sample.point),
                "features": sample.features,
                "role": sample.role.name(),
                "pairs": sample.pairs.len(),
                "ratio": sample.ratio(),
                "interval": sample.interval(CONFIDENCE).map(super::claim::Bounds::from),
                "class": Class::of(sample.ratio(), study.question.margin).name(),
                "predicted": predicted.map(|class| class.name()),
                "runs": sample.runs,
            })
        };
        json!({
            "schema": SCHEMA,
            "kind": "conditions",
            "workload": study.ground.workload(),
            "a": a,
            "b": b,
            "metric": "throughput_txn_s",
            "margin": study.question.margin,
            "space": study.ground.space.json(),
            "settings": study.ground.fixed(),
            "crossings": crossing::json(&study.ground.space, study.schemes, &self.samples),
            "impossible": self.impossible,
            "interrupted": self.is_interrupted,
            "points": self.samples.iter().map(&mut point).collect::<Vec<_>>(),
            "otherwise": study.otherwise().map(|other| json!({
                "retry": other.value("retry"),
                "points": self.otherwise.iter().map(&mut point).collect::<Vec<_>>(),
            })),
            "claims": self.claims.iter().map(|claim| claim.name.as_str()).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use stdx::Rng;

    use super::super::predicate::Feature;
    use super::super::study::tests::question;
    use super::super::{Question, recheck};
    use super::*;
    use crate::sweep::Unit;
    use crate::{Plan, Request};

    fn folder(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("contend-conditions-{name}-{}", std::process::id()))
    }

    fn setting(request: &Request, name: &str) -> f64 {
        let plan = Plan::new(request).expect("possible");
        plan.subjects[0].values.text(name).parse().expect("a number")
    }

    /// A machine on which silo is faster by a factor where few records are hot, unless what aborts is dropped, slower
    /// where many are, and level with mvto once rows are small; all of it under noise that both of a pair share, and
    /// under some that they do not.
    fn throughput(unit: &Unit) -> f64 {
        let request = &unit.request;
        let (theta, reads) = (setting(request, "ycsb.theta"), setting(request, "ycsb.read_pct"));
        let ahead = match (theta < 0.5, reads < 40.0) {
            (true, _) => 1.5,
            (false, true) => 0.6,
            (false, false) => 1.0,
        };
        let is_level = setting(request, "ycsb.value_bytes") < 9.0
            || ahead > 1.0 && request.retry == engine::driver::Retry::Drop;
        let ahead: f64 = if is_level { 1.0 } else { ahead };
        let noise = |path: &[u64], by: f64| (by * (Rng::from_path(path).unit() - 0.5)).exp();
        let shared = noise(&[request.seed, theta.to_bits(), reads.to_bits()], 0.5);
        let own = noise(&[request.seed, theta.to_bits(), u64::from(unit.scheme.as_bytes()[0]), 1], 0.04);
        100_000.0 * shared * own * if unit.scheme == "silo" { ahead } else { 1.0 }
    }

    fn result(unit: &Unit) -> Value {
        json!({
            "kind": "run", "throughput_txn_s": throughput(unit), "measured_s": 1.0, "starved": false,
            "check": { "verdict": "passed" },
        })
    }

    fn study(vary: &[&str]) -> Study {
        Study::new(question(vary), "a build").expect("possible")
    }

    #[test]
    fn planted_conditions_are_found_tested_explained_and_tested_again() {
        let path = folder("planted");
        let store = Store::open(&path).expect("writable");
        let study = study(&["ycsb.theta=0..0.9", "ycsb.read_pct=0..100"]);
        let findings =
            investigate(&study, &store, |unit: &Unit, _: &str| Ok(Some(result(unit)))).expect("made");
        let told = findings.text(&study);
        let [fast, slow] = &findings.claims[..] else { panic!("two claims: {told}") };
        assert_eq!((fast.names(), slow.names()), (("silo", "mvto"), ("mvto", "silo")));
        let features = |theta: f64, reads: f64| {
            let of = |name: &str, value| (name.to_owned(), Feature::Number(value));
            [
                of("ycsb.theta", theta),
                of("ycsb.read_pct", reads),
                of("writes a transaction", 1.0 - reads / 100.0),
            ]
            .into()
        };
        assert!(
            fast.predicate.holds(&features(0.3, 80.0)) && !fast.predicate.holds(&features(0.7, 80.0)),
            "{told}"
        );
        assert!(
            slow.predicate.holds(&features(0.7, 10.0)) && !slow.predicate.holds(&features(0.7, 80.0)),
            "{told}"
        );
        for claim in [fast, slow] {
            assert!(claim.held_out.share >= 0.9 && claim.held_out.points == 50, "{told}");
            let covered = claim
                .held_out
                .covered
                .min(claim.otherwise.as_ref().map_or(0, |other| other.held_out.covered));
            assert!(covered >= 12, "where random points are few more are drawn: {told}");
            assert!((claim.held_out.interval.confidence - 0.975).abs() < 1e-9, "of two claims, twice each");
            let is_of_retry = claim.winner == Class::A;
            let expected = if is_of_retry { "does_not_hold" } else { "holds" };
            let removes: &[&str] =
                if is_of_retry { &["retry=drop", "ycsb.value_bytes=8"] } else { &["ycsb.value_bytes=8"] };
            let otherwise = claim.otherwise.as_ref().expect("there was time");
            assert_eq!((&*otherwise.retry, &*otherwise.verdict), ("drop", expected), "{told}");
            let mut holds_without = claim.holds_without.clone();
            holds_without.sort();
            assert_eq!(holds_without, removes, "{told}");
            assert!(claim.text().contains("ONLY WITH retry=same") == is_of_retry, "{told}");
            let written = serde_json::to_string(claim).expect("text");
            let read = Claim::parse(&written).expect("a claim");
            let again = read.study(100.0, 40, 9, "a build").expect("possible");
            let rechecked = recheck(&read, &again, &store, |unit: &Unit, _: &str| Ok(Some(result(unit))));
            let rechecked = rechecked.expect("made");
            assert_eq!(rechecked.verdict, stats::Verdict::Same, "{}", rechecked.text(&read));
            let turned = |unit: &Unit| {
                let throughput = 1e10 / throughput(unit);
                json!({ "kind": "run", "throughput_txn_s": throughput, "measured_s": 1.0 })
            };
            let other = read.study(100.0, 40, 10, "a build").expect("possible");
            let refuted =
                recheck(&read, &other, &store, |unit: &Unit, _: &str| Ok(Some(turned(unit)))).expect("made");
            assert_eq!(refuted.verdict, stats::Verdict::Slower, "{}", refuted.text(&read));
        }
        std::fs::remove_dir_all(path).expect("its own directory");
    }

    #[test]
    fn a_study_that_was_stopped_goes_on_without_measuring_again() {
        let path = folder("stopped");
        let store = Store::open(&path).expect("writable");
        let study = study(&["ycsb.theta=0..0.9", "ycsb.read_pct=0..100"]);
        let mut made = 0;
        let mut limited = |limit: usize| {
            let run = |unit: &Unit, _: &str| {
                made += 1;
                Ok((made <= limit).then(|| result(unit)))
            };
            let findings = investigate(&study, &store, run).expect("made");
            (findings.is_interrupted, findings.json(&study))
        };
        assert!(limited(101).0, "stopped in the middle of a pair");
        let whole = limited(usize::MAX);
        assert!(!whole.0);
        let before = made;
        let again = investigate(&study, &store, |_: &Unit, _: &str| -> Result<Option<Value>, Refusal> {
            panic!("everything is there")
        });
        assert_eq!(
            again.expect("readable").json(&study),
            whole.1,
            "the same measurements give the same answer"
        );
        assert!(before > 300);
        std::fs::remove_dir_all(path).expect("its own directory");
    }

    #[test]
    fn schemes_that_are_alike_give_no_claim_and_a_failed_check_ends_it() {
        let path = folder("alike");
        let store = Store::open(&path).expect("writable");
        let alike = Question { points: Some(20), ..question(&["ycsb.theta=0..0.9"]) };
        let alike = Study::new(alike, "a build").expect("possible");
        let same = |unit: &Unit| json!({ "kind": "run", "throughput_txn_s": 100.0, "measured_s": 1.0, "id": unit.id });
        let findings =
            investigate(&alike, &store, |unit: &Unit, _: &str| Ok(Some(same(unit)))).expect("made");
        assert!(findings.claims.is_empty());
        assert!(findings.text(&alike).contains("no claim: nowhere"), "{}", findings.text(&alike));
        let broken = Study::new(Question { seed: 5, ..alike.question.clone() }, "a build").expect("possible");
        let failed = |_: &Unit, _: &str| Ok(Some(json!({ "kind": "run", "check": { "verdict": "failed" } })));
        let findings = investigate(&broken, &store, failed).expect("made");
        assert!(findings.failed.is_some() && findings.claims.is_empty());
        std::fs::remove_dir_all(path).expect("its own directory");
    }

    #[test]
    fn without_time_nothing_is_claimed() {
        let path = folder("hurried");
        let store = Store::open(&path).expect("writable");
        let hurried = Question { budget_minutes: 1e-6, ..question(&["ycsb.theta=0..0.9"]) };
        let study = Study::new(hurried, "a build").expect("possible");
        let refusal =
            investigate(&study, &store, |unit: &Unit, _: &str| Ok(Some(result(unit)))).expect_err("no time");
        assert!(refusal.0.contains("--budget"));
        std::fs::remove_dir_all(path).expect("its own directory");
    }
}
