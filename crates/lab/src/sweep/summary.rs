//! The summary of results: a line for each scheme at each point. Tables, JSON and reports of a sweep take their figures
//! from here.

use std::collections::{BTreeMap, BTreeSet};

use results::{Against, Machine, Point, Run};
use stats::{Comparison, Interval, Paired, Spread, Verdict};

use super::{LeftOut, ResultStore, StoredResult, Sweep};
use crate::speed::{self, Basis, Judged, Speed};
use crate::{Refusal, Starvation};

/// The requested confidence of intervals. Intervals of few repetitions have less, and state it.
pub(crate) const CONFIDENCE: f64 = 0.9;
/// The margin of ratios: smaller differences do not matter, since they are within the spread of a quiet machine.
pub(crate) const MARGIN: f64 = 1.05;

/// The summary of a sweep's results.
#[derive(Debug, Default)]
pub struct Summary {
    /// The lines, by point, and at each point by scheme, in the order of the recipe.
    pub lines: Vec<PointSummary>,
    /// The number of runs that were made, of those that the recipe asks for.
    pub made: usize,
    /// The number of runs whose workers did not get the processor time that they asked for, although the runs were
    /// repeated.
    pub starved: usize,
    /// The number of runs whose check failed: they are no results.
    pub failed: usize,
    /// The machines that the runs were made on, each once.
    pub machines: Vec<Machine>,
    /// The starvation of the runs.
    pub starvation: Starvation,
}

/// The results of a scheme at a point.
#[derive(Clone, Debug)]
pub struct PointSummary {
    /// The values of the point, in the order of [`Sweep::axes`].
    pub point: Vec<String>,
    /// The scheme.
    pub scheme: String,
    /// The runs by repetition, including runs that failed their check.
    pub results: BTreeMap<u64, Run>,
    /// Commits a second, by repetition. Repetitions without a result are left out.
    pub throughput_txn_s: BTreeMap<u64, f64>,
    /// The interval of the median of `throughput_txn_s`.
    pub interval: Option<Interval>,
    /// The median of the abort rates of the runs.
    pub abort_rate: Option<f64>,
    /// The median of the 99th percentiles of latency, in microseconds.
    pub p99_us: Option<f64>,
    /// The comparison with the first scheme in the same repetitions; `None` for the first scheme itself, and if nothing
    /// can be compared.
    pub against_first: Option<Comparison>,
    /// The basis of the comparison with the first scheme.
    pub basis: Option<Basis>,
    /// The ratio to the first scheme by wall time.
    pub ratio_wall_time: Option<f64>,
    /// The speeds of the runs, by repetition.
    pub(crate) speeds: BTreeMap<u64, Speed>,
}

impl PointSummary {
    /// Returns the line of a scheme at a point from its results by repetition. `first` are the speeds of the scheme
    /// that it is compared with.
    pub(crate) fn new(
        point: Vec<String>,
        scheme: &str,
        results: BTreeMap<u64, Run>,
        first: Option<&BTreeMap<u64, Speed>>,
    ) -> Self {
        let throughput_txn_s = throughputs(&results);
        let speeds = speeds(&results);
        let judged = first.and_then(|first| compared(&speeds, first));
        let values: Vec<f64> = throughput_txn_s.values().copied().collect();
        let median = |of: &dyn Fn(&Run) -> Option<f64>| {
            Spread::of(results.values().filter_map(of)).map(|spread| spread.median)
        };
        Self {
            point,
            scheme: scheme.to_owned(),
            interval: Interval::of_median(&values, CONFIDENCE),
            abort_rate: median(&|run| run.abort_rate),
            p99_us: median(&Run::p99_us),
            against_first: judged.as_ref().map(|judged| judged.comparison),
            basis: judged.as_ref().map(|judged| judged.basis),
            ratio_wall_time: judged.as_ref().map(|judged| judged.by_wall.ratio),
            speeds,
            throughput_txn_s,
            results,
        }
    }

    /// Returns the median throughput, in transactions a second.
    pub fn median(&self) -> Option<f64> {
        Spread::of(self.throughput_txn_s.values().copied()).map(|spread| spread.median)
    }

    /// Returns the verdict of the comparison with the first scheme.
    pub fn verdict(&self) -> Option<Verdict> {
        self.against_first.as_ref().map(judged)
    }
}

impl Summary {
    /// Reads the results of a sweep's units.
    ///
    /// # Errors
    /// Files that cannot be read.
    pub fn new(sweep: &Sweep, store: &ResultStore) -> Result<Self, Refusal> {
        let mut summary = Self::default();
        let mut cells: BTreeMap<(&[String], &str), BTreeMap<u64, Run>> = BTreeMap::new();
        for unit in &sweep.units {
            let Some(StoredResult { run, .. }) = store.get(&unit.id)? else { continue };
            summary.count(&run);
            cells.entry((&unit.point, unit.scheme)).or_default().insert(unit.repetition, run);
        }
        let planned: BTreeSet<(&[String], &str)> =
            sweep.units.iter().map(|unit| (unit.point.as_slice(), unit.scheme)).collect();
        let mut points: Vec<&[String]> = Vec::new();
        for unit in &sweep.units {
            points.extend((unit.repetition == 0).then_some(unit.point.as_slice()));
        }
        points.sort_by_key(|point| place(sweep, point));
        points.dedup();
        for point in points {
            let first = cells.get(&(point, sweep.schemes[0])).map(speeds);
            let is_run = |scheme: &&&str| planned.contains(&(point, **scheme));
            for scheme in sweep.schemes.iter().filter(is_run) {
                let results = cells.remove(&(point, scheme)).unwrap_or_default();
                let first = first.as_ref().filter(|_| *scheme != sweep.schemes[0]);
                summary.lines.push(PointSummary::new(point.to_vec(), scheme, results, first));
            }
        }
        Ok(summary)
    }

    fn count(&mut self, run: &Run) {
        self.made += 1;
        self.starvation.add(run);
        self.starved += usize::from(run.is_starved);
        self.failed += usize::from(run.is_failed());
        let machine = run.machine.lasting();
        if !self.machines.contains(&machine) {
            self.machines.push(machine);
        }
    }
}

/// Returns the position of a point's values in the recipe, axis by axis.
fn place(sweep: &Sweep, point: &[String]) -> Vec<usize> {
    let axes = sweep.recipe.axes().into_iter().zip(point);
    axes.map(|((_, values), value)| values.iter().position(|other| other == value).unwrap_or(0)).collect()
}

/// Returns the commits a second of the runs that are results, by repetition.
fn throughputs<'v>(runs: impl IntoIterator<Item = (&'v u64, &'v Run)>) -> BTreeMap<u64, f64> {
    let of = |(repetition, run): (&u64, &Run)| Some((*repetition, run.throughput_txn_s?));
    runs.into_iter().filter_map(of).collect()
}

/// Returns the speeds of the runs that are results, by repetition.
pub(crate) fn speeds<'v>(runs: impl IntoIterator<Item = (&'v u64, &'v Run)>) -> BTreeMap<u64, Speed> {
    runs.into_iter().filter_map(|(repetition, run)| Some((*repetition, Speed::of(run)?))).collect()
}

/// Returns the comparison of the first series with the second in the same repetitions; `None` if nothing can be
/// compared.
pub(crate) fn compared(a: &BTreeMap<u64, Speed>, b: &BTreeMap<u64, Speed>) -> Option<Judged> {
    let pairs: Vec<(Speed, Speed)> =
        a.iter().filter_map(|(repetition, a)| Some((*a, *b.get(repetition)?))).collect();
    // A scheme that commits nothing has no ratio; its median throughput shows the reason.
    let have_commits = pairs.iter().all(|(a, b)| a.has_commits() && b.has_commits());
    have_commits.then(|| speed::compare_pairs(&pairs, Paired::SignedRanks, CONFIDENCE).ok())?
}

/// Returns the verdict of a comparison by the laboratory's own margin.
pub(crate) fn judged(comparison: &Comparison) -> Verdict {
    comparison.verdict(MARGIN, CONFIDENCE)
}

/// Returns a line of a sweep as a result.
pub fn point(sweep: &Sweep, line: &PointSummary) -> Point {
    point_of(&sweep.recipe.workload, &sweep.axes, sweep.schemes[0], line)
}

/// Returns a line as a result, given the names of the axes and of the scheme that the line is compared with.
pub(crate) fn point_of(workload: &str, axes: &[String], first: &str, line: &PointSummary) -> Point {
    let against = |comparison: &Comparison| Against {
        ratio: comparison.ratio,
        interval: comparison.interval.into(),
        p_value: comparison.p_value,
        superiority: comparison.superiority,
        verdict: line.verdict().map(results::Verdict::from),
        basis: line.basis,
        ratio_wall_time: line.ratio_wall_time,
    };
    let starved = Starvation::of(line.results.values()).types();
    Point {
        workload: workload.to_owned(),
        point: named(axes, &line.point),
        scheme: line.scheme.clone(),
        first: first.to_owned(),
        results: line.throughput_txn_s.len() as u64,
        throughput_txn_s: line.median(),
        interval: line.interval.map(results::Interval::from),
        abort_rate: line.abort_rate,
        p99_us: line.p99_us,
        starved_types: starved.into_iter().map(|of| of.name).collect(),
        against_first: line.against_first.as_ref().map(against),
        ..Point::default()
    }
}

/// Returns the points that were left out as results: an object for each scheme and reason.
pub fn left_out(sweep: &Sweep) -> Vec<results::LeftOut> {
    let object = |LeftOut { scheme, points, why }: &LeftOut| results::LeftOut {
        workload: sweep.recipe.workload.clone(),
        scheme: scheme.to_string(),
        points: points.iter().map(|point| named(&sweep.axes, point)).collect(),
        why: why.clone(),
        ..results::LeftOut::default()
    };
    sweep.left_out.iter().map(object).collect()
}

/// Returns the values of a point by the names of the axes.
pub(super) fn named(axes: &[String], point: &[String]) -> BTreeMap<String, String> {
    axes.iter().cloned().zip(point.iter().cloned()).collect()
}

/// Returns the name of a verdict in results.
pub(crate) fn verdict_name(verdict: Verdict) -> &'static str {
    results::Verdict::from(verdict).name()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::json::tests::given;
    use crate::registry::tests::catalogue;
    use crate::sweep::Recipe;

    fn sweep() -> Sweep {
        let text = "title = \"a test\"\nworkload = \"ycsb\"\nschemes = [\"silo\", \"no_wait\"]\nrepeat = 6\n\
                    [settings]\n\"ycsb.records\" = 1000\n[vary]\n\"ycsb.theta\" = [0.9, 0.5]\n\
                    [why]\n\"ycsb.records\" = \"a test\"\n\"ycsb.theta\" = \"a test\"\n";
        Sweep::new(catalogue(), Recipe::parse(catalogue(), text).expect("legal"), "a build")
            .expect("possible")
    }

    fn result(throughput: Option<f64>, starved: bool) -> Value {
        let verdict = if throughput.is_some() { "passed" } else { "failed" };
        json!({
            "kind": "run", "throughput_txn_s": throughput, "abort_rate": 0.25, "latency_us": { "p99": 12.5 },
            "starved": starved, "cpu_share": if starved { 0.5 } else { 1.0 }, "check": { "verdict": verdict },
            "machine": { "cpu": "a cpu", "load_average": throughput },
        })
    }

    #[test]
    fn schemes_are_compared_with_the_first_within_repetitions() {
        let path = std::env::temp_dir().join(format!("contend-summary-{}", std::process::id()));
        let (sweep, store) = (sweep(), ResultStore::open(&path).expect("writable"));
        for unit in &sweep.units {
            // Repetitions differ by far more than schemes do, and at one point something goes wrong.
            let base = 1_000.0 * (unit.repetition + 1) as f64;
            let factor = if unit.scheme == "silo" { 1.0 } else { 1.2 + 0.01 * unit.repetition as f64 };
            let is_broken = unit.scheme == "silo" && unit.point == ["0.5"] && unit.repetition == 2;
            let mut value = result((!is_broken).then_some(base * factor), unit.repetition == 0);
            if unit.repetition == 5 {
                value["machine"]["cpu"] = "another cpu".into();
            }
            store.put(unit, &given(value)).expect("written");
        }
        let summary = Summary::new(&sweep, &store).expect("readable");
        assert_eq!((summary.made, summary.starved, summary.failed, summary.machines.len()), (24, 4, 1, 2));
        let heads: Vec<(&str, &str)> =
            summary.lines.iter().map(|line| (line.point[0].as_str(), line.scheme.as_str())).collect();
        assert_eq!(heads, [("0.9", "silo"), ("0.9", "no_wait"), ("0.5", "silo"), ("0.5", "no_wait")]);
        let of = |at: usize| summary.lines[at].against_first.expect("compared");
        assert!(summary.lines[0].against_first.is_none());
        assert!((of(1).ratio - 1.225).abs() < 0.01, "{:?}", of(1));
        assert_eq!(summary.lines[1].verdict(), Some(Verdict::Faster));
        assert_eq!(
            (summary.lines[2].throughput_txn_s.len(), summary.lines[3].throughput_txn_s.len()),
            (5, 6)
        );
        let told = crate::sweep::results(&sweep, &summary);
        assert!(told.contains("2 MACHINES") && told.contains("CHECK FAILED in 1 run"), "{told}");
        assert!(told.contains("ratios of 2 lines are by processor time"), "{told}");
        let object: Value = json!(point(&sweep, &summary.lines[1]));
        assert_eq!(object["against_first"]["basis"], "processor_time");
        // Both schemes were starved alike in the first repetition.
        let by_wall = object["against_first"]["ratio_wall_time"].as_f64();
        assert!(by_wall.is_some_and(|ratio| (ratio - of(1).ratio).abs() < 1e-9), "{object}");
        assert_eq!(
            (&object["against_first"]["verdict"], &object["point"]["ycsb.theta"]),
            (&"faster".into(), &"0.9".into())
        );
        std::fs::remove_dir_all(path).expect("its own directory");
    }
}
