//! The course of a study: it explores, concludes, tests, and explains.

use results::{
    Breadth, Claim, Class, Conditions, Exception, Explored, Predicate, Ratio, SamplesOtherwise, Version,
};
use serde_json::json;

use super::claim::statement;
use super::crossing::{self, Clear, PAIRS_CLEAR};
use super::explore::{Exploration, Next, PAIRS_MAX};
use super::fit::Map;
use super::held_out::{OF_STUDY, fare_under_both, test};
use super::pairs::{Pairs, Stop};
use super::points::{self, Candidate, LeftOut, candidate, left_for_tests};
use super::study::{Role, Sample, Study};
use super::why::{self, Site};
use crate::reproduce::Trust;
use crate::speed::{self, Speed};
use crate::sweep::{ResultStore, Runner, digest};
use crate::{Machine, Refusal, Starvation, StarvedType};

/// The confidence of all claims of a study together.
pub(super) const CONFIDENCE: f64 = 0.9;
/// The share of the budget after which the exploration ends.
const EXPLORED_BY: f64 = 0.4;
/// The number of points in a row that are known or cannot be run, after which the exploration ends: there are no
/// others.
const IN_VAIN_MAX: usize = 500;

/// The findings of a study.
#[derive(Debug, Default)]
pub struct Findings {
    /// The measured points.
    pub samples: Vec<Sample>,
    /// The predicted classes of the test points, in the order of these points in `samples`.
    pub predicted: Vec<Class>,
    /// The test points under the other policy of retry, as far as there was time.
    pub otherwise: Vec<Sample>,
    /// The claims.
    pub claims: Vec<Claim>,
    /// The points that were chosen but could not be run under both schemes.
    pub(super) left_out: LeftOut,
    /// The number of points of the space that can be run, if the space has few points; `None` if it has many.
    pub few: Option<usize>,
    /// The number of these points that were not measured.
    pub left: Option<usize>,
    /// Whether a test ended because it found no point that had not been measured before.
    pub(super) is_exhausted: bool,
    /// Whether the study was interrupted, for example by the user.
    pub is_interrupted: bool,
    /// The command of the run whose failed check ended the study.
    pub failed: Option<String>,
}

/// Answers a study's question, and keeps all runs in the store. Runs that are in the store already are not made again.
///
/// # Errors
/// Errors of the runs and of the store. The runs made before the error are kept.
pub fn investigate(study: &Study, store: &ResultStore, run: impl Runner) -> Result<Findings, Refusal> {
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

fn course<R: Runner>(
    study: &Study,
    store: &ResultStore,
    pairs: &mut Pairs<'_, R>,
    findings: &mut Findings,
) -> Result<(), Stop> {
    let few = points::few(study);
    if let Some((few, left_out)) = &few {
        (findings.few, findings.left_out) = (Some(few.len()), left_out.clone());
    }
    let few = few.as_ref().map(|(few, _)| &few[..]);
    let explored = explore(study, pairs, few, findings);
    findings.left = findings.few.map(|few| few.saturating_sub(findings.samples.len()));
    explored?;
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

/// Measures until there is no time left, or nothing new to measure. In a space of few points, some are left for the
/// test. If these would be too few for a test, all points are measured, each until it has enough pairs to show which
/// scheme is ahead.
fn explore<R: Runner>(
    study: &Study,
    pairs: &mut Pairs<'_, R>,
    few: Option<&[Candidate]>,
    findings: &mut Findings,
) -> Result<(), Stop> {
    let mut exploration = Exploration::new(&study.ground.space, study.question.margin, study.question.seed);
    let left = few.map_or(0, |few| left_for_tests(few.len(), study.question.held_out));
    let is_whole = few.is_some() && left == 0;
    let most = few.map_or(usize::MAX, |few| few.len() - left);
    let points_max = study.question.points.unwrap_or(usize::MAX).min(most);
    let mut places: Vec<[String; 2]> = Vec::new();
    let mut in_vain = 0;
    while in_vain < IN_VAIN_MAX && pairs.has_time(study, EXPLORED_BY, 2) {
        let samples = &findings.samples;
        let is_full = samples.len() >= points_max;
        if is_full && !is_whole {
            break;
        }
        let what = format!("exploring, point {}", samples.len() + 1);
        let next = crossing::next(&study.ground.space, samples).or_else(|| match few.filter(|_| is_whole) {
            Some(few) => next_of_few(few, samples),
            None => Some(exploration.next(samples)),
        });
        let at = match next {
            None => break,
            Some(Next::Again(at)) => at,
            Some(Next::Point(point, role)) => {
                let Candidate { point, features, place } = match candidate(study, point) {
                    Ok(candidate) => candidate,
                    Err(why) => {
                        in_vain += 1;
                        // The points of a space of few points were judged before.
                        if few.is_none() {
                            findings.left_out.add(why);
                        }
                        continue;
                    }
                };
                match places.iter().position(|other| *other == place) {
                    // If there are few points, they are drawn again and again: this one is measured well enough.
                    Some(at) if samples[at].pairs.len() >= PAIRS_MAX => {
                        in_vain += 1;
                        continue;
                    }
                    Some(at) => at,
                    None if is_full => break,
                    None => {
                        places.push(place);
                        findings.samples.push(Sample::new(point, features, role));
                        places.len() - 1
                    }
                }
            }
        };
        in_vain = 0;
        let sample = &mut findings.samples[at];
        match pairs.measure(study, &sample.point, sample.pairs.len() as u64, &what) {
            Ok(pair) => sample.add(&pair),
            Err(stop) => {
                // A point without a pair is no sample.
                findings.samples.retain(|sample| !sample.pairs.is_empty());
                return Err(stop);
            }
        }
    }
    Ok(())
}

/// Returns the next of few points, all of which are measured with enough pairs to show which scheme is ahead; `None` if
/// all have enough.
fn next_of_few(few: &[Candidate], samples: &[Sample]) -> Option<Next> {
    let is_new = |of: &&Candidate| samples.iter().all(|sample| sample.point != of.point);
    if let Some(new) = few.iter().find(is_new) {
        return Some(Next::Point(new.point.clone(), Role::Explored));
    }
    let (at, least) = samples.iter().enumerate().min_by_key(|(_, sample)| sample.pairs.len())?;
    (least.pairs.len() < PAIRS_CLEAR).then_some(Next::Again(at))
}

/// Returns the claims of the map, each with its test at the held-out points. There are no claims if neither scheme is
/// clearly ahead anywhere.
fn conclude(study: &Study, map: &Map, findings: &Findings, store: &ResultStore) -> Vec<Claim> {
    if findings.clear(study) == Clear::Nowhere {
        return Vec::new();
    }
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
    let breadth = breadth(study, (predicate, winner), findings);
    let starvation = findings.starvation();
    let of = (margin, study.measure, predicate);
    Some(Claim {
        schema: Version::default(),
        kind: results::kind::Claim::Claim,
        statement: statement(names, of, (&breadth, &starvation), (&fared, otherwise.as_ref())),
        workload: study.ground.workload().to_owned(),
        a: a.to_owned(),
        b: b.to_owned(),
        metric: study.measure.name(),
        margin,
        winner,
        predicate: predicate.clone(),
        in_words: predicate.to_string(),
        space: study.ground.space.result(),
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
        breadth,
        ratio: Ratio::of(inside.map(ahead).collect()),
        mechanisms: Vec::new(),
        holds_without: Vec::new(),
        evidence: tests().chain(&findings.otherwise).flat_map(|sample| sample.runs.clone()).collect(),
        recheck: format!(
            "contend recheck DIR/claims/{name}.json --seed {}",
            study.question.seed.wrapping_add(1)
        ),
        trust: starvation.trust(Trust::A).name().to_owned(),
        starvation: starvation.result(),
        build: study.ground.build.clone(),
        machine: crate::json::machine(&Machine::of_this_process()),
        name,
    })
}

/// Returns the reach of a claim: the number of measured points that it covers, the number of these at which the winner
/// is ahead, and the exceptions.
fn breadth(study: &Study, (predicate, winner): (&Predicate, Class), findings: &Findings) -> Breadth {
    let [a, b] = study.schemes;
    let loser = if winner == Class::A { b } else { a };
    let covered: Vec<&Sample> =
        findings.samples.iter().filter(|sample| predicate.holds(&sample.features)).collect();
    let is_held = |sample: &&&Sample| Class::of(sample.ratio(), study.question.margin) == winner;
    let exception = |sample: &&&Sample| {
        let ratio = if winner == Class::A { sample.ratio() } else { 1.0 / sample.ratio() };
        Exception {
            at: study.ground.space.named_values(&sample.point),
            role: sample.role.name().to_owned(),
            ratio,
            ahead: (ratio < 1.0).then(|| loser.to_owned()),
        }
    };
    let mut exceptions: Vec<Exception> =
        covered.iter().filter(|sample| !is_held(sample)).map(|sample| exception(&sample)).collect();
    exceptions.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    Breadth {
        measured: covered.len(),
        ahead: covered.len() - exceptions.len(),
        exceptions,
        is_clear: findings.clear(study) == Clear::Perhaps,
        points: findings.few,
        left: findings.left,
    }
}

/// Returns the covered point at which a claim's winner is farthest ahead. Points are ranked by their worst pair, since
/// the widest gap of single pairs is due to luck.
fn site(claim: &Claim, findings: &Findings) -> Option<Site> {
    let ahead = |pair: &(Speed, Speed)| {
        let ratio = speed::median_ratio(&[*pair]).expect("a pair");
        if claim.winner == Class::A { ratio.ln() } else { -ratio.ln() }
    };
    let worst = |sample: &Sample| sample.pairs.iter().map(ahead).fold(f64::INFINITY, f64::min);
    let inside = findings.samples.iter().filter(|sample| claim.predicate.holds(&sample.features));
    let seen_twice = inside.filter(|sample| sample.pairs.len() > 1 && worst(sample) > claim.margin.ln());
    let widest = seen_twice.max_by(|a, b| worst(a).total_cmp(&worst(b)))?;
    Some(Site { winner: claim.winner, point: widest.point.clone() })
}

impl Study {
    /// Returns a digest of the question. It is the same if the study is started again to go on, and differs from that
    /// of every other study.
    pub(super) fn digest(&self) -> String {
        let question = json!([
            self.ground.space.result(),
            self.ground.fixed(),
            self.schemes,
            self.ground.workload(),
            self.question.margin,
            [self.question.seconds, self.question.warmup],
            self.question.pin,
        ]);
        let of_type = self.question.of_type.as_deref().unwrap_or_default();
        digest((question.to_string() + of_type).as_bytes())[..8].to_owned()
    }
}

impl Findings {
    /// Returns the starvation of all runs together.
    pub fn starvation(&self) -> Starvation {
        let mut all = Starvation::default();
        self.samples.iter().chain(&self.otherwise).for_each(|sample| all.merge(&sample.starvation));
        all
    }

    /// Returns whether a scheme is clearly ahead somewhere.
    pub(super) fn clear(&self, study: &Study) -> Clear {
        crossing::clear(&study.ground.space, &self.samples)
    }

    /// Returns the measured points as a result.
    pub fn result(&self, study: &Study) -> Conditions {
        let [a, b] = study.schemes;
        let mut predicted = self.predicted.iter();
        let mut point = |sample: &Sample| results::Sample {
            point: study.ground.space.named_values(&sample.point),
            features: sample.features.clone(),
            role: sample.role.name().to_owned(),
            pairs: sample.pairs.len(),
            ratio: sample.ratio(),
            interval: sample.interval(CONFIDENCE).map(results::Interval::from),
            class: Class::of(sample.ratio(), study.question.margin),
            predicted: if sample.role.is_test() { predicted.next().copied() } else { None },
            runs: sample.runs.clone(),
            starved: sample.starvation.starved(),
            starved_types: sample.starvation.types().iter().map(StarvedType::result).collect(),
        };
        Conditions {
            workload: study.ground.workload().to_owned(),
            a: a.to_owned(),
            b: b.to_owned(),
            metric: study.measure.name(),
            margin: study.question.margin,
            space: study.ground.space.result(),
            settings: study.ground.fixed(),
            crossings: crossing::results(&study.ground.space, study.schemes, &self.samples),
            impossible: self.left_out.points as u64,
            space_points: self.few,
            points_left: self.left,
            starvation: self.starvation().result(),
            is_interrupted: self.is_interrupted,
            points: self.samples.iter().map(&mut point).collect(),
            otherwise: study.otherwise().map(|other| SamplesOtherwise {
                retry: other.value("retry"),
                points: self.otherwise.iter().map(&mut point).collect(),
            }),
            claims: self.claims.iter().map(|claim| claim.name.clone()).collect(),
            ..Conditions::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use results::Feature;
    use stdx::Rng;

    use super::super::study::tests::question;
    use super::super::{Question, Testable, recheck};
    use super::*;
    use crate::json::tests::given;
    use crate::registry::tests::catalogue;
    use crate::speed::tests::pair;
    use crate::sweep::Unit;
    use crate::{Plan, Request};

    fn folder(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("contend-conditions-{name}-{}", std::process::id()))
    }

    fn setting(request: &Request, name: &str) -> f64 {
        let plan = Plan::new(catalogue(), request).expect("possible");
        plan.subjects[0].values.text(name).parse().expect("a number")
    }

    /// Returns the throughput of a run on an imagined machine. Silo is faster by a factor if theta is low, unless
    /// aborted requests are dropped. It is slower if theta is high and few operations are reads, and level with mvto
    /// otherwise and if rows are small. There is noise that both runs of a pair share, and noise that they do not
    /// share.
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

    fn result(unit: &Unit) -> results::Run {
        given(json!({
            "kind": "run", "throughput_txn_s": throughput(unit), "measured_s": 1.0, "starved": false,
            "check": { "verdict": "passed" },
        }))
    }

    fn study(vary: &[&str]) -> Study {
        Study::new(catalogue(), question(vary), "a build").expect("possible")
    }

    #[test]
    fn planted_conditions_are_found_tested_explained_and_tested_again() {
        let path = folder("planted");
        let store = ResultStore::open(&path).expect("writable");
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
            let again = read.study(catalogue(), 100.0, 40, 9, "a build").expect("possible");
            let rechecked = recheck(&read, &again, &store, |unit: &Unit, _: &str| Ok(Some(result(unit))));
            let rechecked = rechecked.expect("made");
            assert_eq!(rechecked.verdict, stats::Verdict::Same, "{}", rechecked.text(&read));
            let turned = |unit: &Unit| planted(unit, 1e10 / throughput(unit));
            let other = read.study(catalogue(), 100.0, 40, 10, "a build").expect("possible");
            let refuted =
                recheck(&read, &other, &store, |unit: &Unit, _: &str| Ok(Some(turned(unit)))).expect("made");
            assert_eq!(refuted.verdict, stats::Verdict::Slower, "{}", refuted.text(&read));
        }
        std::fs::remove_dir_all(path).expect("its own directory");
    }

    #[test]
    fn a_study_that_was_stopped_goes_on_without_measuring_again() {
        let path = folder("stopped");
        let store = ResultStore::open(&path).expect("writable");
        let study = study(&["ycsb.theta=0..0.9", "ycsb.read_pct=0..100"]);
        let mut made = 0;
        let mut limited = |limit: usize| {
            let run = |unit: &Unit, _: &str| {
                made += 1;
                Ok((made <= limit).then(|| result(unit)))
            };
            let findings = investigate(&study, &store, run).expect("made");
            (findings.is_interrupted, json!(findings.result(&study)))
        };
        assert!(limited(101).0, "stopped in the middle of a pair");
        let whole = limited(usize::MAX);
        assert!(!whole.0);
        let before = made;
        let again =
            investigate(&study, &store, |_: &Unit, _: &str| -> Result<Option<results::Run>, Refusal> {
                panic!("everything is there")
            });
        assert_eq!(
            json!(again.expect("readable").result(&study)),
            whole.1,
            "the same measurements give the same answer"
        );
        assert!(before > 300);
        std::fs::remove_dir_all(path).expect("its own directory");
    }

    #[test]
    fn schemes_that_are_alike_give_no_claim_and_a_failed_check_ends_it() {
        let path = folder("alike");
        let store = ResultStore::open(&path).expect("writable");
        let alike = Question { points: Some(20), ..question(&["ycsb.theta=0..0.9"]) };
        let alike = Study::new(catalogue(), alike, "a build").expect("possible");
        let same = |_: &Unit| given(json!({ "throughput_txn_s": 100.0, "measured_s": 1.0 }));
        let findings =
            investigate(&alike, &store, |unit: &Unit, _: &str| Ok(Some(same(unit)))).expect("made");
        assert!(findings.claims.is_empty());
        assert!(findings.text(&alike).contains("no claim: neither"), "{}", findings.text(&alike));
        let broken = Study::new(catalogue(), Question { seed: 5, ..alike.question.clone() }, "a build")
            .expect("possible");
        let failed = |_: &Unit, _: &str| Ok(Some(given(json!({ "check": { "verdict": "failed" } }))));
        let findings = investigate(&broken, &store, failed).expect("made");
        assert!(findings.failed.is_some() && findings.claims.is_empty());
        std::fs::remove_dir_all(path).expect("its own directory");
    }

    #[test]
    fn without_time_nothing_is_claimed() {
        let path = folder("hurried");
        let store = ResultStore::open(&path).expect("writable");
        let hurried = Question { budget_minutes: 1e-6, ..question(&["ycsb.theta=0..0.9"]) };
        let study = Study::new(catalogue(), hurried, "a build").expect("possible");
        let refusal =
            investigate(&study, &store, |unit: &Unit, _: &str| Ok(Some(result(unit)))).expect_err("no time");
        assert!(refusal.0.contains("--budget"));
        std::fs::remove_dir_all(path).expect("its own directory");
    }

    /// Returns a run of a unit, with all its conditions and this throughput.
    fn planted(unit: &Unit, throughput: f64) -> results::Run {
        let plan = Plan::new(catalogue(), &unit.request).expect("possible");
        results::Run {
            choices: crate::json::choices(&plan, 0),
            throughput_txn_s: Some(throughput),
            measured_s: 1.0,
            cpu_share: Some(1.0),
            ..results::Run::default()
        }
    }

    #[test]
    fn a_scheme_beside_a_busy_neighbour_is_not_behind() {
        let path = folder("neighbour");
        let store = ResultStore::open(&path).expect("writable");
        let study = Study::new(catalogue(), question(&["workers=1|2"]), "a build").expect("possible");
        let run = |unit: &Unit, _: &str| {
            let mut run = planted(unit, if unit.scheme == "silo" { 400.0 } else { 1_000.0 });
            if unit.scheme == "silo" {
                (run.cpu_share, run.is_starved) = (Some(0.4), true);
            }
            Ok(Some(run))
        };
        let findings = investigate(&study, &store, run).expect("made");
        std::fs::remove_dir_all(path).expect("its own directory");
        assert!(!findings.samples.is_empty());
        for sample in &findings.samples {
            assert!((sample.ratio() - 1.0).abs() < 1e-9, "{} by wall time is a neighbour's", sample.ratio());
            let interval = sample.interval(CONFIDENCE);
            assert!(interval.is_none_or(|at| at.low < 1.0 && 1.0 < at.high), "the correction is not exact");
        }
        assert!(findings.claims.is_empty(), "{:?}", findings.claims);
    }

    /// Returns the answer to a question on an imagined machine, on which silo is faster by the factor `ahead` of a run.
    fn answer(name: &str, question: Question, ahead: impl Fn(&Unit) -> f64) -> (Study, Findings) {
        let path = folder(name);
        let store = ResultStore::open(&path).expect("writable");
        let study = Study::new(catalogue(), question, "a build").expect("possible");
        let run = |unit: &Unit, _: &str| {
            let ahead = if unit.scheme == "silo" { ahead(unit) } else { 1.0 };
            Ok(Some(planted(unit, 1_000.0 * ahead)))
        };
        let findings = investigate(&study, &store, run).expect("made");
        std::fs::remove_dir_all(path).expect("its own directory");
        (study, findings)
    }

    #[test]
    fn a_space_of_two_points_has_no_held_out_ones() {
        let (study, findings) = answer("two", question(&["workers=1..2"]), |_| 1.5);
        assert_eq!((findings.samples.len(), findings.few, findings.left), (2, Some(2), Some(0)));
        assert!(findings.samples.iter().all(|sample| !sample.role.is_test() && sample.pairs.len() >= 6));
        let told = findings.text(&study);
        assert!(findings.claims.is_empty() && !told.contains("everywhere"), "{told}");
        for says in [
            "2 points explored",
            "the space has 2 points: 2 were explored, 0 held out, and 0 are left",
            "workers=1: silo is ahead, ratio of silo to mvto 1.50 in 6 pairs (1.50 .. 1.50)",
            "no claim: a claim is about points that were not measured, and all points were measured",
        ] {
            assert!(told.contains(says), "{says}: {told}");
        }
        let json = json!(findings.result(&study));
        assert_eq!((&json["space_points"], &json["points_left"]), (&2.into(), &0.into()));
    }

    #[test]
    fn of_a_space_of_few_points_some_are_left_for_the_test() {
        let asked = question(&["workers=1..2", "clients=2..9"]);
        let (study, findings) = answer("sixteen", asked, |_| 1.5);
        let of = |is_test| findings.samples.iter().filter(|sample| sample.role.is_test() == is_test).count();
        let told = findings.text(&study);
        assert_eq!((of(false), of(true), findings.few, findings.left), (11, 5, Some(16), Some(0)), "{told}");
        let mut points: Vec<String> =
            findings.samples.iter().map(|sample| format!("{:?}", sample.point)).collect();
        points.sort();
        points.dedup();
        assert_eq!(points.len(), 16, "none is measured for two reasons");
        let [claim] = &findings.claims[..] else { panic!("{told}") };
        assert!(
            claim
                .statement
                .contains("at the 16 points that were measured of the 16 that the space has; 100.0%")
        );
        assert!(claim.statement.contains("of 5 held-out points agree"), "{told}");
        assert_eq!(claim.held_out.covered, 5, "none is drawn twice, however many are wanted");
    }

    #[test]
    fn what_is_not_clear_anywhere_is_not_claimed_everywhere() {
        let asked = Question { margin: 1.0, ..question(&["ycsb.theta=0..0.9"]) };
        let (study, findings) =
            answer("unclear", asked, |unit| if unit.repetition.is_multiple_of(2) { 1.3 } else { 0.9 });
        let told = findings.text(&study);
        assert!(told.contains("neither is clearly ahead, by any margin"), "{told}");
        assert!(findings.claims.is_empty() && !told.contains("everywhere"), "{told}");
        assert!(told.contains("no claim: neither silo nor mvto is clearly ahead at any point"), "{told}");
    }

    #[test]
    fn a_claim_names_the_points_at_which_it_is_not_so() {
        let study = study(&["ycsb.theta=0..0.9", "ycsb.read_pct=0..100"]);
        let sample = |theta: f64, ratio: f64, role| {
            let point = vec![theta, 50.0];
            let features = study.features(&point).expect("possible");
            Sample { pairs: vec![pair(ratio); 3], ..Sample::new(point, features, role) }
        };
        let held_out = (0..12).map(|at| sample(0.01 * f64::from(at), 1.5, Role::HeldOut));
        let others = [
            sample(0.5, 1.5, Role::Explored),
            sample(0.6, 0.8, Role::HeldOut),
            sample(0.7, 1.02, Role::Covered),
        ];
        let samples: Vec<Sample> = held_out.chain(others).collect();
        let findings = Findings { samples, ..Findings::default() };
        let always = Predicate(vec![Vec::new()]);
        let map = Map::of_claim(Class::A, &always);
        let claim = super::claim(&study, &map, Class::A, 1, &findings).expect("tested");
        assert!(!claim.statement.contains("everywhere"), "{}", claim.statement);
        let says = "at 13 of the 15 points that were measured, but mvto is ahead at ycsb.read_pct=50 \
                    ycsb.theta=0.6 (1.25 times); ";
        assert!(claim.statement.contains(says), "{}", claim.statement);
        assert_eq!(claim.breadth.exceptions.len(), 2);
        let text = claim.text();
        assert!(
            text.contains("COUNTEREXAMPLES, where the other scheme is ahead: ycsb.read_pct=50"),
            "{text}"
        );
        assert!(text.contains("short of it: ycsb.read_pct=50 ycsb.theta=0.7 (1.02 times)"), "{text}");
        let written = serde_json::to_string(&claim).expect("text");
        assert_eq!(Claim::parse(&written).expect("a claim").breadth, claim.breadth);
    }

    #[test]
    fn trust_is_lower_where_runs_or_types_are_starved() {
        let path = folder("starved");
        let store = ResultStore::open(&path).expect("writable");
        let asked = Question {
            points: Some(10),
            held_out: 12,
            ..question(&["ycsb.theta=0..0.9", "ycsb.read_pct=0..100"])
        };
        let study = Study::new(catalogue(), asked, "a build").expect("possible");
        let run = |unit: &Unit, _: &str| {
            let is_silo = unit.scheme == "silo";
            let run = planted(unit, if is_silo { 1_500.0 } else { 1_000.0 });
            let long = if is_silo { 0 } else { 100 };
            let types = given(json!({
                "mix": { "short": 0.9, "long": 0.1 },
                "by_type": { "short": { "commits": 900 }, "long": { "commits": long } },
            }));
            let (mix, by_type) = (types.mix, types.by_type);
            Ok(Some(results::Run { is_starved: true, cpu_share: Some(0.5), mix, by_type, ..run }))
        };
        let findings = investigate(&study, &store, run).expect("made");
        let told = findings.text(&study);
        let [claim] = &findings.claims[..] else { panic!("{told}") };
        assert_eq!(claim.trust, "C", "{told}");
        let runs = findings.starvation().runs();
        assert!(runs > 50 && told.contains(&format!("STARVED: in {runs} of {runs} runs")), "{told}");
        assert!(
            claim
                .statement
                .contains(&format!("; {runs} of {runs} runs were starved; silo committed 0 long at"))
        );
        assert!(
            told.contains("  trust: C (") && told.contains("STARVED TYPE: silo committed 0 long at"),
            "{told}"
        );
        let json = json!(findings.result(&study));
        assert_eq!(json["starvation"]["starved"], runs);
        assert_eq!(json["points"][0]["starved_types"][0]["type"], "long");
        let read = Claim::parse(&serde_json::to_string(claim).expect("text")).expect("a claim");
        let again = read.study(catalogue(), 100.0, 12, 9, "a build").expect("possible");
        let rechecked = recheck(&read, &again, &store, run).expect("made");
        assert!(rechecked.text(&read).contains("STARVED: in "), "{}", rechecked.text(&read));
        std::fs::remove_dir_all(path).expect("its own directory");
    }

    #[test]
    fn a_claim_about_a_space_without_a_point_left_cannot_be_tested_again() {
        let path = folder("exhausted");
        let store = ResultStore::open(&path).expect("writable");
        let study = study(&["workers=1..2", "clients=2..9"]);
        let run = |unit: &Unit, _: &str| {
            Ok(Some(planted(unit, if unit.scheme == "silo" { 1_500.0 } else { 1_000.0 })))
        };
        let findings = investigate(&study, &store, run).expect("made");
        let claim = &findings.claims[0];
        let again = claim.study(catalogue(), 100.0, 12, 9, "a build").expect("possible");
        let rechecked = recheck(claim, &again, &store, run).expect("made");
        assert!(rechecked.held_out.is_none() && rechecked.is_exhausted);
        let told = rechecked.text(claim);
        assert!(told.contains("every point of the space was measured before"), "{told}");
        // In another store, nothing was measured yet.
        let elsewhere = folder("elsewhere");
        let other = ResultStore::open(&elsewhere).expect("writable");
        let rechecked = recheck(claim, &again, &other, run).expect("made");
        assert_eq!(rechecked.held_out.map(|held_out| held_out.points), Some(12));
        std::fs::remove_dir_all(path).expect("its own directory");
        std::fs::remove_dir_all(elsewhere).expect("its own directory");
    }
}
