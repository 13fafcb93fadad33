//! Studies of conditions: the question, its checks, and the measured points.

use results::{Feature, Features};
use stats::{Interval, Paired};
use stdx::Rng;

use super::pairs::Pair;
use crate::ground::{How, judge_budget};
use crate::speed::{self, Speed};
use crate::{Catalogue, Ground, Plan, Refusal, Starvation};

/// The number of random points that are tried before a space is refused because none of its points can be run.
const TRIES: u64 = 200;

/// A question: where does one of two schemes beat the other?
#[derive(Clone, Debug)]
pub struct Question {
    /// The workload. If `None`, the workload that the named settings belong to.
    pub workload: Option<String>,
    /// The first scheme, A.
    pub a: String,
    /// The second scheme, B.
    pub b: String,
    /// The settings that vary, in the form that [`Space::parse`](crate::Space::parse) reads.
    pub vary: Vec<String>,
    /// The fixed settings, as `name=value`. Besides settings of the catalogue, they can be those of a recipe: workers,
    /// clients, retry and the like.
    pub set: Vec<String>,
    /// The ratio above which one scheme beats the other.
    pub margin: f64,
    /// The type of transaction whose commits are compared. If `None`, those of all types together.
    pub of_type: Option<String>,
    /// Measured seconds of each run.
    pub seconds: f64,
    /// Seconds of warm-up before the measured time.
    pub warmup: f64,
    /// Minutes for the whole study.
    pub budget_minutes: f64,
    /// The maximum number of points to explore. If `None`, as many as there is time for.
    pub points: Option<usize>,
    /// The number of fresh points at which claims are tested.
    pub held_out: usize,
    /// The seed of all random numbers.
    pub seed: u64,
    /// Whether workers stay on their cores.
    pub pin: bool,
    /// Whether runs are checked.
    pub check: bool,
}

/// A question that was found possible.
#[derive(Debug)]
pub struct Study {
    /// The question.
    pub question: Question,
    /// The ground of the study: its space, its fixed settings, and its build.
    pub ground: Ground,
    /// The two schemes.
    pub schemes: [&'static str; 2],
    /// The measure by which the schemes are compared.
    pub(super) measure: Measure,
}

/// A measure by which schemes are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    /// Commits a second of all types of transaction together.
    All,
    /// Commits a second of one type.
    OfType(&'static str),
}

impl Measure {
    /// Returns the measure of the commits of a workload's type; of all commits, if no type is given.
    fn of(workload: &str, catalogue: Catalogue, of_type: Option<&str>) -> Result<Self, Refusal> {
        let Some(name) = of_type else { return Ok(Self::All) };
        let workload = catalogue.workload(workload)?;
        let found = workload.types.iter().find(|of| of.name == name);
        let says = || {
            let names: Vec<&str> = workload.types.iter().map(|of| of.name).collect();
            Refusal(format!("`--type {name}`: the types of {} are {}", workload.name, names.join(", ")))
        };
        found.map(|found| Self::OfType(found.name)).ok_or_else(says)
    }

    /// Returns the speed of a run by this measure; `None` if the run is no result.
    pub(super) fn speed(self, run: &results::Run) -> Option<Speed> {
        match self {
            Self::All => Speed::of(run),
            Self::OfType(name) => Speed::of_type(run, name),
        }
    }

    /// Returns the name of the measure in results.
    pub(super) fn name(self) -> String {
        match self {
            Self::All => "throughput_txn_s".to_owned(),
            Self::OfType(name) => format!("{OF_TYPE}{name}"),
        }
    }

    /// Returns the type of the measure with this name in results; `None` if the measure is of all types.
    pub(super) fn type_of(name: &str) -> Option<&str> {
        name.strip_prefix(OF_TYPE)
    }

    /// Returns the end of a comparison in words; empty for commits of all types.
    pub(super) fn words(self) -> String {
        match self {
            Self::All => String::new(),
            Self::OfType(name) => format!(" in commits of {name}"),
        }
    }
}

/// The beginning of the names of measures of one type of transaction.
const OF_TYPE: &str = "commits_s of ";

/// The purpose for which a point was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// To fill the space.
    Explored,
    /// To find the place where the ranking flips.
    Refined,
    /// To test the claims, anywhere in the space.
    HeldOut,
    /// To test a claim, at a point that it covers.
    Covered,
}

impl Role {
    /// Returns the name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Explored => "explored",
            Self::Refined => "refined",
            Self::HeldOut => "held_out",
            Self::Covered => "covered",
        }
    }

    /// Returns whether the point is a test point, from which no claim is derived.
    pub const fn is_test(self) -> bool {
        matches!(self, Self::HeldOut | Self::Covered)
    }
}

/// A measured point.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The values of the point on the axes of the space.
    pub point: Vec<f64>,
    /// The features of the point: its values, and quantities derived from its settings.
    pub(super) features: Features,
    /// The purpose for which the point was measured.
    pub role: Role,
    /// The speeds of A and B, measured side by side, by repetition.
    pub(super) pairs: Vec<(Speed, Speed)>,
    /// The ids of the runs.
    pub runs: Vec<String>,
    /// The starvation of the runs.
    pub starvation: Starvation,
}

impl Sample {
    /// Makes a sample without any measurement.
    pub(super) fn new(point: Vec<f64>, features: Features, role: Role) -> Self {
        let (pairs, runs) = (Vec::new(), Vec::new());
        Self { point, features, role, pairs, runs, starvation: Starvation::default() }
    }

    /// Adds a pair of runs that were measured side by side.
    pub(super) fn add(&mut self, pair: &Pair) {
        self.pairs.push(pair.speeds);
        self.runs.extend(pair.ids());
        pair.runs.iter().for_each(|run| self.starvation.add(run));
    }

    /// Returns the median ratio of the pairs. If any run is starved, the ratio is by processor time, unless runs wait
    /// by design.
    ///
    /// # Panics
    /// If there is no pair.
    pub fn ratio(&self) -> f64 {
        speed::median_ratio(&self.pairs).expect("a sample has pairs")
    }

    /// Returns the interval of the ratio. Few pairs may give it less than the requested confidence. `None` for a single
    /// pair, which gives no confidence.
    pub fn interval(&self, confidence: f64) -> Option<Interval> {
        let judged = speed::compare_pairs(&self.pairs, Paired::SignedRanks, confidence).ok();
        judged.map(|judged| judged.comparison.interval).filter(|interval| interval.confidence > 0.0)
    }
}

impl Study {
    /// Checks that a question can be answered, and makes its study. `build` names the build that will make the runs.
    ///
    /// # Errors
    /// Anything unknown, out of range or contradictory, and a space of which no point can be run.
    pub fn new(catalogue: Catalogue, question: Question, build: &str) -> Result<Self, Refusal> {
        judge(&question)?;
        let schemes = [&question.a, &question.b].map(|name| catalogue.scheme(name).map(|info| info.name));
        let [a, b] = schemes;
        let schemes = [a?, b?];
        if schemes[0] == schemes[1] {
            return Err(Refusal(format!("`--a` and `--b` are both {}: name two schemes", schemes[0])));
        }
        let Question { seconds, warmup, seed, pin, check, .. } = question;
        let how = How { seconds, warmup, seed, pin, check };
        let asked = (&question.vary[..], &question.set[..]);
        let ground = Ground::new(catalogue, question.workload.as_deref(), &schemes, asked, how, build)?;
        let measure = Measure::of(ground.workload(), catalogue, question.of_type.as_deref())?;
        let study = Self { question, ground, schemes, measure };
        study.refuse_empty()?;
        study.ground.refuse_dead_ends(|point| study.plans(point).map(drop))?;
        Ok(study)
    }

    /// Returns this study with another value of a setting that does not vary.
    pub(super) fn with(&self, name: &str, value: &str) -> Self {
        let ground = self.ground.with(name, value);
        Self { question: self.question.clone(), ground, ..*self }
    }

    /// Returns the value of a setting that does not vary.
    pub(super) fn value(&self, name: &str) -> String {
        let standard = || match name {
            "retry" => "same".to_owned(),
            _ => self
                .ground
                .catalogue
                .setting(name)
                .map(|setting| setting.default.to_owned())
                .unwrap_or_default(),
        };
        self.ground.fixed().get(name).cloned().unwrap_or_else(standard)
    }

    /// Returns the plans of both schemes at a point, with all settings resolved.
    ///
    /// # Errors
    /// A point that cannot be run under both schemes.
    pub(super) fn plans(&self, point: &[f64]) -> Result<[Plan; 2], Refusal> {
        let [a, b] = self.schemes.map(|scheme| self.ground.plan(scheme, point));
        Ok([a?, b?])
    }

    /// Returns the features of a point: its values, and the quantities that the workload derives from its settings.
    ///
    /// # Errors
    /// A point that cannot be run under both schemes.
    pub(super) fn features(&self, point: &[f64]) -> Result<Features, Refusal> {
        Ok(self.features_of(point, &self.plans(point)?))
    }

    /// Like [`features`](Self::features), but with the plans of the point given.
    pub(super) fn features_of(&self, point: &[f64], [plan, _]: &[Plan; 2]) -> Features {
        let own = self.ground.space.axes().iter().zip(point).map(|(axis, &value)| {
            let feature = match axis.choices() {
                Some(_) => Feature::Word(axis.text(value)),
                None => Feature::Number(value),
            };
            (axis.name().to_owned(), feature)
        });
        // If only one setting varies, the derived quantities would only be other names for it.
        let derived = plan.forecast.features.iter().filter(|_| self.ground.axes.len() > 1);
        own.chain(derived.map(|(name, value)| ((*name).to_owned(), Feature::Number(*value)))).collect()
    }

    fn refuse_empty(&self) -> Result<(), Refusal> {
        let mut rng = Rng::new(self.question.seed);
        let middle = self.ground.space.point(&vec![0.5; self.ground.axes.len()]);
        let Err(refusal) = self.features(&middle) else { return Ok(()) };
        let is_possible = (0..TRIES).any(|_| self.features(&self.ground.space.random(&mut rng)).is_ok());
        if is_possible {
            Ok(())
        } else {
            Err(Refusal(format!("no point of the space can be run: {refusal}")))
        }
    }
}

fn judge(question: &Question) -> Result<(), Refusal> {
    let Question { margin, budget_minutes, held_out, points, .. } = question;
    if !(1.0..=100.0).contains(margin) {
        return Err(Refusal(format!(
            "`--margin {margin}`: give a ratio from 1 on, for example 1.1 for a tenth"
        )));
    }
    judge_budget(*budget_minutes)?;
    if !(5..=10_000).contains(held_out) {
        return Err(Refusal(format!(
            "`--held-out {held_out}`: give from 5 to 10000 points; fewer show nothing"
        )));
    }
    if points.is_some_and(|points| !(4..=100_000).contains(&points)) {
        return Err(Refusal("`--points`: give from 4 to 100000".to_owned()));
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use results::Class;

    use super::*;
    use crate::registry::tests::catalogue;

    /// Returns a question about two schemes that can be run without loading much data.
    pub(crate) fn question(vary: &[&str]) -> Question {
        Question {
            workload: Some("ycsb".to_owned()),
            a: "silo".to_owned(),
            b: "mvto".to_owned(),
            vary: vary.iter().map(|&item| item.to_owned()).collect(),
            set: vec!["ycsb.records=1000".to_owned(), "ycsb.workload=custom".to_owned()],
            margin: 1.1,
            of_type: None,
            seconds: 1.0,
            warmup: 0.0,
            budget_minutes: 1_000.0,
            points: Some(60),
            held_out: 50,
            seed: 1,
            pin: false,
            check: false,
        }
    }

    fn refusal(question: Question) -> String {
        Study::new(catalogue(), question, "a build").expect_err("refused").0
    }

    #[test]
    fn the_workload_is_that_of_the_settings() {
        let asked = |vary: &[&str], set: &[&str]| Question {
            workload: None,
            set: set.iter().map(|&pair| pair.to_owned()).collect(),
            ..question(vary)
        };
        let study = Study::new(catalogue(), asked(&["tpcc.warehouses=1..2", "workers=1..2"], &[]), "")
            .expect("possible");
        assert_eq!(study.ground.workload(), "tpcc");
        let study =
            Study::new(catalogue(), asked(&["workers=1..2"], &["ycsb.theta=0.5"]), "").expect("possible");
        assert_eq!((study.ground.workload(), study.ground.fixed()["ycsb.theta"].as_str()), ("ycsb", "0.5"));
        assert!(refusal(asked(&["workers=1..2"], &[])).contains("contend conditions ycsb"));
    }

    #[test]
    fn features_are_the_values_and_what_they_come_to() {
        let study = Study::new(catalogue(), question(&["ycsb.read_pct=0..100", "retry=same|drop"]), "")
            .expect("possible");
        let features = study.features(&[50.0, 1.0]).expect("possible");
        assert_eq!(features["ycsb.read_pct"], Feature::Number(50.0));
        assert_eq!(features["retry"], Feature::Word("drop".to_owned()));
        assert_eq!(features["writes a transaction"], Feature::Number(0.5));
        let alone = Study::new(catalogue(), question(&["ycsb.read_pct=0..100"]), "").expect("possible");
        assert_eq!(alone.features(&[50.0]).expect("possible").len(), 1);
    }

    #[test]
    fn what_cannot_be_asked_is_refused_with_the_way_out() {
        let good = || question(&["ycsb.theta=0..0.9"]);
        assert!(refusal(Question { b: "silo".to_owned(), ..good() }).contains("name two"));
        assert!(refusal(Question { b: "silos".to_owned(), ..good() }).contains("did you mean `silo`"));
        assert!(refusal(Question { margin: 0.9, ..good() }).contains("from 1 on"));
        assert!(refusal(Question { budget_minutes: f64::NAN, ..good() }).contains("--budget"));
        assert!(refusal(Question { held_out: 0, ..good() }).contains("--held-out"));
        assert!(refusal(Question { points: Some(1), ..good() }).contains("--points"));
        assert!(refusal(Question { set: vec!["ycsb.theta=0.5".to_owned()], ..good() }).contains("both"));
        assert!(
            refusal(Question { set: vec!["ycsb.tehta=0.5".to_owned()], ..good() }).contains("ycsb.theta")
        );
        assert!(
            refusal(Question { set: vec!["tictoc.x=1".to_owned()], ..good() }).contains("unknown setting")
        );
        assert!(
            refusal(Question { set: vec!["si.wait_us=1".to_owned()], ..good() }).contains("not compared")
        );
        assert!(refusal(Question { seconds: 0.0, ..good() }).contains("--seconds"));
        let of_type = Some("reed".to_owned());
        assert!(refusal(Question { of_type, ..good() }).contains("the types of ycsb are read, "));
        let alone = Question { a: "uncontrolled".to_owned(), set: vec!["workers=2".to_owned()], ..good() };
        assert!(refusal(alone).contains("no point of the space can be run"));
    }

    #[test]
    fn schemes_are_compared_by_the_commits_of_one_type_if_that_is_asked() {
        let of = |of_type: Option<&str>| {
            let of_type = of_type.map(str::to_owned);
            let asked = Question { of_type, ..question(&["ycsb.theta=0..0.9"]) };
            Study::new(catalogue(), asked, "a build").expect("possible")
        };
        let (all, scans) = (of(None), of(Some("scan")));
        assert_ne!(all.digest(), scans.digest(), "another question has another name");
        let mut run = results::Run { throughput_txn_s: Some(1_000.0), ..results::Run::default() };
        run.measured_s = 0.5;
        run.by_type.insert("scan".to_owned(), results::Counts { commits: 50, ..Default::default() });
        let speed = |study: &Study| study.measure.speed(&run).expect("a result").by_wall();
        assert_eq!((speed(&all), speed(&scans)), (1_000.0, 100.0));
        assert!(scans.text().contains("by 1.1 times in commits of scan?"), "{}", scans.text());
        let name = scans.measure.name();
        assert_eq!((Measure::type_of(&name), Measure::type_of(&all.measure.name())), (Some("scan"), None));
    }

    #[test]
    fn classes_begin_beyond_the_margin() {
        let of = |ratio: f64| Class::of(ratio, 1.25);
        assert_eq!(
            [of(1.3), of(1.25), of(1.0), of(0.8), of(0.79)].map(Class::name),
            ["a", "level", "level", "level", "b"]
        );
    }
}
