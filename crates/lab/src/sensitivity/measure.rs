//! The measuring of a study's points, as long as there is time.

use stdx::Rng;
use sync::clock;

use super::{Method, Study};
use crate::Refusal;
use crate::speed::Speed;
use crate::sweep::{Bench, ResultStore, Runner, nothing_measured};
use crate::text::duration_s;

/// The maximum number of times that a run is made until its workers get the processor time that they ask for.
const ATTEMPTS_MAX: u32 = 2;

/// A measured point.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredPoint {
    /// The values of the point on the axes of the space.
    pub point: Vec<f64>,
    /// Commits a second by scheme, of runs side by side. They are by processor time if a run is starved and does not
    /// wait by design, else by wall time.
    pub speed_txn_s: Vec<f64>,
    /// The ids of the runs.
    pub runs: Vec<String>,
}

/// The measurements of a study.
#[derive(Debug, Default)]
pub struct StudyMeasurements {
    /// The points. Those of trajectories come first, in their order, then those that fill the space.
    pub samples: Vec<MeasuredPoint>,
    /// The number of trajectories that were measured completely.
    pub trajectories: usize,
    /// The number of runs whose workers did not get the processor time that they asked for.
    pub starved: usize,
    /// Whether the measuring was interrupted, for example by the user.
    pub is_interrupted: bool,
    /// The command of the run whose failed check ended the measuring.
    pub failed: Option<String>,
}

/// Measures a study's points in their order, until there is no time left or there are enough points. Keeps all runs in
/// the store. Runs that are in the store already are not made again.
///
/// # Errors
/// Errors of the runs and of the store. The runs made before the error are kept.
pub fn measure(study: &Study, store: &ResultStore, run: impl Runner) -> Result<StudyMeasurements, Refusal> {
    let mut bench = Bench::new(store, &study.ground.build, &study.ground.axes, ATTEMPTS_MAX, run);
    let mut measured = StudyMeasurements::default();
    let along: Vec<&Vec<f64>> = match study.question.method {
        Method::Morris => study.trajectories.iter().flat_map(|trajectory| &trajectory.points).collect(),
        Method::Sobol => Vec::new(),
    };
    let mut points = along.into_iter().cloned().chain(study.filling());
    let (begun_ns, budget_s) = (clock::now_ns(), study.question.budget_minutes * 60.0);
    let mut longest_s: f64 = 0.0;
    while measured.samples.len() < study.question.points.unwrap_or(usize::MAX) {
        let elapsed_s = seconds_since(begun_ns);
        let Some(point) = points.next().filter(|_| elapsed_s + longest_s <= budget_s) else { break };
        let label =
            format!("point {}: {} left", measured.samples.len() + 1, duration_s(budget_s - elapsed_s));
        let Some(sample) = side_by_side(study, &mut bench, point, &label, &mut measured)? else { break };
        measured.samples.push(sample);
        longest_s = longest_s.max(seconds_since(begun_ns) - elapsed_s);
    }
    if study.question.method == Method::Morris {
        let whole = measured.samples.len() / (study.ground.axes.len() + 2);
        measured.trajectories = whole.min(study.trajectories.len());
    }
    Ok(measured)
}

fn seconds_since(then_ns: u64) -> f64 {
    (clock::now_ns() - then_ns) as f64 / 1e9
}

/// Makes the runs of all schemes at a point, in random order; returns `None` if one was interrupted or failed its
/// check.
fn side_by_side<R: Runner>(
    study: &Study,
    bench: &mut Bench<'_, R>,
    point: Vec<f64>,
    label: &str,
    measured: &mut StudyMeasurements,
) -> Result<Option<MeasuredPoint>, Refusal> {
    // Each point has its own number, and with it its own requests, so that a step on which nothing changes shows the
    // effect of chance.
    let number = measured.samples.len() as u64;
    let mut order: Vec<usize> = (0..study.schemes.len()).collect();
    stats::shuffle(&mut order, &mut Rng::from_path(&[study.question.seed, 0x006f_7264_6572, number]));
    let mut sample =
        MeasuredPoint { speed_txn_s: vec![0.0; order.len()], runs: vec![String::new(); order.len()], point };
    for scheme in order {
        let unit = study.ground.unit(study.schemes[scheme], &sample.point, number)?;
        let label = format!("{label}, {}", study.schemes[scheme]);
        let Some(run) = bench.result(&unit, &label)? else {
            measured.is_interrupted = true;
            return Ok(None);
        };
        if run.is_failed() {
            measured.failed = run.command;
            return Ok(None);
        }
        let speed = Speed::of(&run).ok_or_else(|| nothing_measured(&run))?;
        measured.starved += usize::from(run.is_starved);
        sample.speed_txn_s[scheme] = speed.in_ratios();
        sample.runs[scheme] = unit.id;
    }
    Ok(Some(sample))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Question;
    use super::super::study::tests::question;
    use super::*;
    use crate::json::tests::given;
    use crate::registry::tests::catalogue;
    use crate::sweep::Unit;

    fn with_store<T>(name: &str, work: impl FnOnce(&ResultStore) -> T) -> T {
        let path = std::env::temp_dir().join(format!("contend-sensitivity-{name}-{}", std::process::id()));
        let out = work(&ResultStore::open(&path).expect("writable"));
        std::fs::remove_dir_all(path).expect("its own directory");
        out
    }

    fn study(points: Option<usize>, method: Method) -> Study {
        Study::new(catalogue(), Question { method, points, ..question() }, "a build").expect("possible")
    }

    fn result() -> results::Run {
        given(json!({ "throughput_txn_s": 100.0, "cpu_share": 1.0, "starved": false }))
    }

    #[test]
    fn whole_trajectories_come_first_and_nothing_is_measured_twice() {
        with_store("resumes", |store| {
            let mut made = 0;
            let mut run = |_: &Unit, _: &str| {
                made += 1;
                Ok(Some(result()))
            };
            let first = measure(&study(Some(9), Method::Morris), store, &mut run).expect("measured");
            assert_eq!((first.samples.len(), first.trajectories), (9, 2), "four points a trajectory");
            let second = measure(&study(Some(43), Method::Morris), store, &mut run).expect("measured");
            assert_eq!((second.samples.len(), second.trajectories, made), (43, 10, 86));
            assert_eq!(second.samples[..9], first.samples);
        });
    }

    #[test]
    fn a_starved_run_counts_by_processor_time_unless_it_waits() {
        with_store("starved", |store| {
            let run = |unit: &Unit, _: &str| {
                let mut run = result();
                if unit.scheme == "silo" {
                    run = given(json!({ "throughput_txn_s": 50.0, "cpu_share": 0.5, "starved": true }));
                }
                Ok(Some(run))
            };
            let measured = measure(&study(Some(5), Method::Morris), store, run).expect("measured");
            assert!(
                measured.samples.iter().all(|sample| sample.speed_txn_s == [100.0, 100.0]),
                "{measured:?}"
            );
            assert!(measured.starved > 0);
        });
    }

    #[test]
    fn a_failed_check_or_an_interrupt_ends_it_with_what_there_is() {
        with_store("ends", |store| {
            let mut left = 3;
            let run = |_: &Unit, _: &str| {
                left -= 1;
                Ok((left >= 0).then(result))
            };
            let measured = measure(&study(None, Method::Sobol), store, run).expect("measured");
            assert_eq!(
                (measured.samples.len(), measured.is_interrupted, measured.trajectories),
                (1, true, 0)
            );
            let mut run = results::Run::default();
            let empty = |_: &Unit, _: &str| Ok(Some(results::Run::default()));
            let refused =
                measure(&study(None, Method::Morris), store, empty).expect_err("nothing was measured");
            assert!(refused.0.contains("--seconds") && !refused.0.contains("check"), "{refused}");
            run.check.verdict = results::CheckVerdict::Failed;
            let broken = |_: &Unit, _: &str| Ok(Some(run.clone()));
            let measured = measure(&study(None, Method::Sobol), store, broken).expect("measured");
            assert!(measured.failed.is_some_and(|command| command.starts_with("contend run ycsb")));
        });
    }
}
