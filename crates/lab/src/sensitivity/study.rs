//! Studies of sensitivity: the question, its checks, and the points to measure.

use stats::{Morris, MorrisDesign, SobolSequence};
use stdx::Rng;

use crate::ground::{How, judge_budget};
use crate::{Catalogue, Ground, Refusal};

/// The number of trajectories of the screening: Morris takes 10 to 50.
const TRAJECTORIES: usize = 10;
/// The number of values of each setting on the trajectories.
const LEVELS: usize = 4;
/// The maximum number of trajectories that are drawn to find those whose points can all be run.
const TRIES: usize = 200;

/// A question: which settings move the throughput of schemes, and their ranking?
#[derive(Clone, Debug)]
pub struct Question {
    /// The workload.
    pub workload: String,
    /// The schemes. The rankings are of each other scheme against the first.
    pub schemes: Vec<String>,
    /// The settings that vary, in the form that [`Space::parse`](crate::Space::parse) reads.
    pub vary: Vec<String>,
    /// The fixed settings, as `name=value`. Besides settings of the catalogue, they can be those of a recipe: workers,
    /// clients, retry and the like.
    pub set: Vec<String>,
    /// The choice of the first points.
    pub method: Method,
    /// Measured seconds of each run.
    pub seconds: f64,
    /// Seconds of warm-up before the measured time.
    pub warmup: f64,
    /// Minutes for the whole study.
    pub budget_minutes: f64,
    /// The maximum number of points to measure. If `None`, as many as there is time for.
    pub points: Option<usize>,
    /// The seed of all random numbers.
    pub seed: u64,
    /// Whether workers stay on their cores.
    pub pin: bool,
    /// Whether runs are checked.
    pub check: bool,
}

/// The choice of the first points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Points along trajectories, and then in the whole space: shows which settings matter at all.
    Morris,
    /// Points in the whole space: shows how much of the variance each setting explains.
    Sobol,
}

impl Method {
    /// Returns the name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Morris => "morris",
            Self::Sobol => "sobol",
        }
    }
}

/// A question that was found possible.
#[derive(Debug)]
pub struct Study {
    /// The question.
    pub question: Question,
    /// The ground of the study: its space, its fixed settings, and its build.
    pub ground: Ground,
    /// The schemes.
    pub schemes: Vec<&'static str>,
    pub(super) trajectories: Vec<Trajectory>,
}

/// Points along which one setting after the other takes a step. One further step changes nothing: the last axis of the
/// design is no setting.
#[derive(Debug)]
pub(super) struct Trajectory {
    pub(super) design: MorrisDesign,
    pub(super) points: Vec<Vec<f64>>,
}

impl Study {
    /// Checks that a question can be answered, and makes its study. `build` names the build that will make the runs.
    ///
    /// # Errors
    /// Anything unknown, out of range or contradictory, and a space of which hardly any point can be run.
    pub fn new(catalogue: Catalogue, question: Question, build: &str) -> Result<Self, Refusal> {
        judge(&question)?;
        let schemes = catalogue.schemes_of(Some(&question.schemes.join(",")))?;
        let schemes: Vec<&'static str> = schemes.into_iter().map(|info| info.name).collect();
        let Question { seconds, warmup, seed, pin, check, .. } = question;
        let how = How { seconds, warmup, seed, pin, check };
        let asked = (&question.vary[..], &question.set[..]);
        let ground = Ground::new(catalogue, Some(&question.workload), &schemes, asked, how, build)?;
        let mut study = Self { question, ground, schemes, trajectories: Vec::new() };
        study.trajectories = study.draw()?;
        study.ground.refuse_dead_ends(|point| study.possible(point))?;
        Ok(study)
    }

    /// Draws trajectories of which all points can be run.
    fn draw(&self) -> Result<Vec<Trajectory>, Refusal> {
        let mut rng = Rng::from_path(&[self.question.seed, 0x7365_6e73_6974]);
        let mut drawn = Vec::new();
        let mut refused = None;
        for _ in 0..TRIES {
            let design =
                Morris { levels: LEVELS, trajectories: 1 }.design(self.ground.axes.len() + 1, &mut rng);
            let own = |units: &Vec<f64>| self.ground.space.point(&units[..self.ground.axes.len()]);
            let points: Vec<Vec<f64>> = design.points().iter().map(own).collect();
            match points.iter().find_map(|point| self.possible(point).err()) {
                Some(refusal) => refused = Some(refusal),
                None => drawn.push(Trajectory { design, points }),
            }
            if drawn.len() == TRAJECTORIES {
                break;
            }
        }
        match refused.filter(|_| drawn.is_empty()) {
            Some(refusal) => Err(Refusal(format!(
                "no way through the space can be run, on which each setting goes half of its range: {refusal}"
            ))),
            None => Ok(drawn),
        }
    }

    /// Checks that all schemes can run a point.
    fn possible(&self, point: &[f64]) -> Result<(), Refusal> {
        self.schemes.iter().try_for_each(|scheme| self.ground.unit(scheme, point, 0).map(drop))
    }

    /// Returns points that fill the space evenly, without end. Points that cannot be run are left out.
    pub(super) fn filling(&self) -> impl Iterator<Item = Vec<f64>> {
        let mut rng = Rng::from_path(&[self.question.seed, 0x6669_6c6c]);
        let points = SobolSequence::shifted(self.ground.axes.len(), &mut rng)
            .map(|units| self.ground.space.point(&units));
        points.filter(|point| self.possible(point).is_ok())
    }
}

fn judge(question: &Question) -> Result<(), Refusal> {
    let Question { budget_minutes, points, .. } = question;
    judge_budget(*budget_minutes)?;
    if points.is_some_and(|points| !(2..=100_000).contains(&points)) {
        return Err(Refusal("`--points`: give from 2 to 100000".to_owned()));
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::registry::tests::catalogue;

    pub(crate) fn question() -> Question {
        Question {
            workload: "ycsb".to_owned(),
            schemes: vec!["silo".to_owned(), "no_wait".to_owned()],
            vary: ["ycsb.theta=0..0.9", "ycsb.read_pct=0..100"].map(str::to_owned).to_vec(),
            set: ["workers=1", "ycsb.workload=custom", "ycsb.records=1000"].map(str::to_owned).to_vec(),
            method: Method::Morris,
            seconds: 0.1,
            warmup: 0.0,
            budget_minutes: 10.0,
            points: None,
            seed: 1,
            pin: false,
            check: true,
        }
    }

    fn refusal(question: Question) -> String {
        Study::new(catalogue(), question, "a build").expect_err("refused").0
    }

    #[test]
    fn trajectories_are_of_points_that_can_be_run() {
        // Nothing runs with fewer clients than workers, which is the case in half of this space.
        let vary = vec!["workers=1..8".to_owned(), "clients=1..8".to_owned()];
        let set = question().set[1..].to_vec();
        let study =
            Study::new(catalogue(), Question { vary, set, ..question() }, "a build").expect("possible");
        assert!(!study.trajectories.is_empty());
        let points = study.trajectories.iter().flat_map(|trajectory| &trajectory.points);
        for point in points.chain(&study.filling().take(50).collect::<Vec<_>>()) {
            assert!(point[0] <= point[1], "{point:?}");
        }
    }

    #[test]
    fn a_trajectory_has_a_step_on_which_nothing_changes() {
        let study = Study::new(catalogue(), question(), "a build").expect("possible");
        assert_eq!(study.trajectories.len(), TRAJECTORIES);
        for trajectory in &study.trajectories {
            let same = trajectory.points.windows(2).filter(|ends| ends[0] == ends[1]).count();
            assert_eq!((trajectory.points.len(), same), (4, 1));
        }
    }

    #[test]
    fn what_cannot_be_asked_is_refused_with_the_way_out() {
        let with = |vary: &str| Question { vary: vec![vary.to_owned()], ..question() };
        assert!(refusal(with("ycsb.tehta=0..1")).contains("ycsb.theta"));
        assert!(refusal(with("ycsb.records=10..100")).contains("both fixed and varied"));
        assert!(refusal(with("aria.batch=1..64")).contains("aria"));
        assert!(refusal(with("tpcc.warehouses=1..4")).contains("tpcc"));
        assert!(refusal(Question { schemes: vec!["sillo".to_owned()], ..question() }).contains("silo"));
        assert!(refusal(Question { budget_minutes: 0.0, ..question() }).contains("--budget"));
        assert!(refusal(Question { points: Some(1), ..question() }).contains("--points"));
        assert!(refusal(Question { seconds: 0.0, ..question() }).contains("--seconds"));
        let set = vec!["workers=0".to_owned()];
        assert!(refusal(Question { set, ..question() }).contains("workers"));
    }
}
