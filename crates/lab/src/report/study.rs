//! Studies: runs that belong together, as lines of figures, one line for each scheme at each point.
//!
//! A recipe beside the results says which runs belong together, in which order, and why they were made. Runs without a
//! recipe are grouped by workload, and their axes are found by comparing them. Runs of different builds are never put
//! into one study.

use std::collections::{BTreeMap, BTreeSet};

use results::Run;
use stats::{Comparison, Verdict};

use super::details::Details;
use super::material::Material;
use super::varied::{Varied, chosen, has, varied};
use crate::sweep::{PointSummary, Recipe, compared, judged, speeds};
use crate::text::count;
use crate::{Catalogue, Starvation, StarvedType};

/// A study: runs that belong together.
#[derive(Debug)]
pub struct Study {
    /// The catalogue of the schemes.
    pub(super) catalogue: Catalogue,
    /// The title: that of the recipe or, without one, the workload and the schemes.
    pub title: String,
    /// Whether the study has a recipe.
    pub is_of_recipe: bool,
    /// The workload of the runs.
    pub workload: String,
    /// The build that made the runs, if it is known.
    pub build: Option<String>,
    /// The reasons why settings are off their standard values, by name.
    pub why: BTreeMap<String, String>,
    /// The axes, in the order of the values in [`PointSummary::point`].
    pub axes: Vec<Varied>,
    /// The schemes, in the order in which they are shown.
    pub schemes: Vec<String>,
    /// The scheme that the others are compared with.
    pub first: String,
    /// A line for each scheme at each point, ordered by point.
    pub lines: Vec<PointMeasurements>,
    /// The leading scheme at each point.
    pub leaders: Vec<Leader>,
    /// The runs.
    pub runs: Vec<Run>,
    /// The number of runs that the recipe asks for and that are missing.
    pub missing: usize,
}

/// The measurements of a scheme at a point.
#[derive(Debug)]
pub struct PointMeasurements {
    /// The throughput with its interval, and the comparison with the first scheme.
    pub line: PointSummary,
    /// The number of runs, including those that are no results.
    pub runs: usize,
    /// The number of these runs whose check failed: they are no results.
    pub failed: usize,
    /// The number of these runs whose workers did not get the processor time that they asked for.
    pub starved: usize,
    /// The types of transaction that hardly commit.
    pub starved_types: Vec<StarvedType>,
    /// The results of these runs besides throughput.
    pub details: Details,
}

/// The leading scheme at a point.
#[derive(Clone, Debug)]
pub struct Leader {
    /// The point.
    pub point: Vec<String>,
    /// The leading scheme. It is faster than the largest number of others, in the repetitions that both have; among
    /// equals it has the highest median.
    pub scheme: String,
    /// The second scheme by the same ranking.
    pub second: String,
    /// The comparison of the leading scheme with the second, in the repetitions that both have.
    pub comparison: Option<Comparison>,
    /// The verdict on the comparison: whether the lead is greater than the margin that matters.
    pub verdict: Verdict,
}

/// Returns the studies of a directory's contents.
pub(super) fn studies(catalogue: Catalogue, material: &Material, against: Option<&str>) -> Vec<Study> {
    let mut is_taken = vec![false; material.runs.len()];
    let mut studies = Vec::new();
    for recipe in &material.recipes {
        let mut own = Vec::new();
        let axes = Varied::of_recipe(recipe);
        for (run, is_taken) in material.runs.iter().zip(&mut is_taken) {
            if asks_for(catalogue, recipe, &axes, run) {
                *is_taken = true;
                own.push(run);
            }
        }
        let builds = by_build(&own).into_values();
        studies.extend(builds.map(|runs| of_recipe(catalogue, recipe, &runs, against)));
    }
    let rest = material.runs.iter().zip(is_taken).filter(|(_, is_taken)| !is_taken);
    let mut by_workload: BTreeMap<String, Vec<&Run>> = BTreeMap::new();
    for (run, _) in rest {
        by_workload.entry(run.choices.workload.clone()).or_default().push(run);
    }
    for runs in by_workload.into_values() {
        studies.extend(by_build(&runs).into_values().map(|runs| of_runs(catalogue, &runs, against)));
    }
    name_builds(&mut studies);
    studies
}

/// Adds the build, and the digest of the machine, to the titles that occur more than once.
fn name_builds(studies: &mut [Study]) {
    let builds: Vec<(String, Option<String>)> =
        studies.iter().map(|study| (study.title.clone(), study.build.clone())).collect();
    for study in studies {
        let own: Vec<_> = builds.iter().filter(|(title, _)| *title == study.title).collect();
        let is_of_one = own.iter().all(|(_, build)| *build == study.build);
        let build = study.build.as_ref().filter(|_| own.len() > 1 && !is_of_one);
        let is_same = |(_, build): &&&(String, Option<String>)| *build == study.build;
        let digest = study.runs.first().and_then(|run| run.choices.machine_digest.as_ref());
        let digest = digest.filter(|_| own.iter().filter(is_same).count() > 1);
        let build = build.map(|build| format!("build {build}"));
        let digest = digest.map(|digest| format!("machine {digest}"));
        let names: Vec<String> = build.into_iter().chain(digest).collect();
        if !names.is_empty() {
            study.title = format!("{} ({})", study.title, names.join(", "));
        }
    }
}

/// Returns the runs of each build apart, and of these those on each state of a file of a machine that has changed: they
/// were simulated on different machines of one name. Runs that only repeat another one are left out.
fn by_build<'r>(runs: &[&'r Run]) -> BTreeMap<[Option<String>; 2], Vec<&'r Run>> {
    let mut states: BTreeMap<_, BTreeSet<&Option<String>>> = BTreeMap::new();
    let machine = |run: &Run| (run.choices.simulated_on.clone(), run.choices.smt);
    for run in runs {
        states.entry(machine(run)).or_default().insert(&run.choices.machine_digest);
    }
    let mut builds: BTreeMap<[Option<String>; 2], Vec<&Run>> = BTreeMap::new();
    for run in runs {
        let has_changed = states[&machine(run)].len() > 1;
        let state = run.choices.machine_digest.clone().filter(|_| has_changed);
        let own = builds.entry([run.build.clone(), state]).or_default();
        if !own.iter().any(|other| run.repeats(other)) {
            own.push(run);
        }
    }
    builds
}

/// Whether a recipe asks for a run.
fn asks_for(catalogue: Catalogue, recipe: &Recipe, axes: &[Varied], run: &Run) -> bool {
    let seeds = recipe.seed..recipe.seed.saturating_add(recipe.repeat);
    // A number of requests is in place of the seconds, and is compared as settings are.
    let goes_by_requests =
        recipe.settings.contains_key("txns") || axes.iter().any(|axis| axis.name == "txns");
    run.choices.workload == recipe.workload
        && recipe.schemes.contains(&run.choices.scheme)
        && seeds.contains(&run.choices.seed)
        && (run.choices.is_simulated
            || goes_by_requests
            || (run.choices.asked_s - recipe.seconds).abs() < 1e-9)
        && recipe.settings.iter().all(|(name, value)| has(catalogue, run, name, &value.to_string()))
        && axes.iter().all(|axis| !axis.places(catalogue, run).is_empty())
}

fn of_recipe(catalogue: Catalogue, recipe: &Recipe, runs: &[&Run], against: Option<&str>) -> Study {
    let axes = Varied::of_recipe(recipe);
    let points: usize = axes.iter().map(|axis| axis.values.len()).product();
    let mut study = Study::new(catalogue, runs, axes, recipe.schemes.clone(), against);
    let lines = points * recipe.schemes.len();
    study.missing =
        (lines * recipe.repeat as usize).saturating_sub(study.lines.iter().map(|line| line.runs).sum());
    (study.title, study.is_of_recipe, study.why) = (recipe.title.clone(), true, recipe.why.clone());
    study
}

fn of_runs(catalogue: Catalogue, runs: &[&Run], against: Option<&str>) -> Study {
    let mut schemes: Vec<String> = runs.iter().map(|run| run.choices.scheme.clone()).collect();
    schemes.sort_by_key(|scheme| (place_of(catalogue, scheme), scheme.clone()));
    schemes.dedup();
    Study::new(catalogue, runs, varied(catalogue, runs), schemes, against)
}

/// Returns the position of a scheme in the catalogue; unknown schemes come last.
pub(super) fn place_of(catalogue: Catalogue, scheme: &str) -> usize {
    catalogue.schemes().position(|entry| entry.info.name == scheme).unwrap_or(usize::MAX)
}

impl Study {
    fn new(
        catalogue: Catalogue,
        runs: &[&Run],
        axes: Vec<Varied>,
        schemes: Vec<String>,
        against: Option<&str>,
    ) -> Self {
        let cells = cells(catalogue, runs, &axes);
        let made: BTreeSet<&str> = cells.keys().map(|(_, scheme)| scheme.as_str()).collect();
        let schemes: Vec<String> =
            schemes.into_iter().filter(|scheme| made.contains(scheme.as_str())).collect();
        let first =
            against.filter(|name| made.contains(name)).map_or_else(|| schemes[0].clone(), str::to_owned);
        let mut points: Vec<&Vec<usize>> = cells.keys().map(|(point, _)| point).collect();
        points.dedup();
        let workload = runs[0].choices.workload.clone();
        let mut study = Self {
            catalogue,
            title: format!("{workload}: {}", schemes.join(", ")),
            is_of_recipe: false,
            build: runs[0].build.clone(),
            why: BTreeMap::new(),
            lines: Vec::new(),
            leaders: Vec::new(),
            runs: runs.iter().map(|run| (*run).clone()).collect(),
            missing: 0,
            workload,
            axes,
            schemes,
            first,
        };
        for point in points {
            study.add_point(point, &cells);
        }
        study
    }

    fn add_point(&mut self, at: &[usize], cells: &Cells<'_>) {
        let point: Vec<String> =
            self.axes.iter().zip(at).map(|(axis, at)| axis.values[*at].clone()).collect();
        let of = |scheme: &String| cells.get(&(at.to_vec(), scheme.clone()));
        let of_first = speeds(of(&self.first).into_iter().flatten().map(|(nth, run)| (nth, *run)));
        let mut lines = Vec::new();
        for scheme in &self.schemes {
            let Some(runs) = of(scheme) else { continue };
            let first = (*scheme != self.first).then_some(&of_first);
            let results = runs.iter().map(|(nth, run)| (*nth, (*run).clone())).collect();
            lines
                .push(PointMeasurements::new(PointSummary::new(point.clone(), scheme, results, first), runs));
        }
        self.leaders.extend(Leader::of(&lines));
        self.lines.extend(lines);
    }

    /// Returns the index of a value of an axis.
    pub(super) fn number_of(&self, axis: usize, value: &str) -> usize {
        self.axes[axis].values.iter().position(|its| its == value).unwrap_or(0)
    }

    /// Returns a point as text. The coordinates with the indexes in `except` are left out, because they are said
    /// elsewhere.
    pub(super) fn point_in_words(&self, point: &[String], except: &[usize]) -> String {
        let coordinates = self.axes.iter().zip(point).enumerate();
        let told = coordinates.filter(|(at, _)| !except.contains(at));
        told.map(|(_, (axis, value))| format!("{} = {value}", axis.name)).collect::<Vec<_>>().join(", ")
    }

    /// Returns the warning for a scheme that is said to be ahead at these points: the types that it starves there. It
    /// begins with a comma, and is empty if the scheme starves none.
    pub(super) fn starving(&self, scheme: &str, points: &[&[String]]) -> String {
        let is_meant = |line: &&PointMeasurements| {
            line.line.scheme == scheme && points.contains(&line.line.point.as_slice())
        };
        let mut sums: BTreeMap<&str, (u64, f64, usize)> = BTreeMap::new();
        for of in self.lines.iter().filter(is_meant).flat_map(|line| &line.starved_types) {
            let (commits, expected, at) = sums.entry(&of.name).or_default();
            (*commits, *expected, *at) = (*commits + of.commits, *expected + of.expected, *at + 1);
        }
        let told = sums.into_iter().map(|(name, (commits, expected, at))| {
            let at = if points.len() > 1 { format!(" at {at} of them") } else { String::new() };
            format!("{} {name}{at} where its share would be {}", count(commits as f64), count(expected))
        });
        let told: Vec<String> = told.collect();
        if told.is_empty() {
            String::new()
        } else {
            format!(", but STARVES: it committed {}", told.join(", and "))
        }
    }

    /// Returns the points, each once, in their order.
    pub(super) fn points(&self) -> Vec<&[String]> {
        let mut points: Vec<&[String]> = self.lines.iter().map(|line| line.line.point.as_slice()).collect();
        points.dedup();
        points
    }

    /// Returns the line of a scheme at a point.
    pub(super) fn line(&self, point: &[String], scheme: &str) -> Option<&PointMeasurements> {
        self.lines.iter().find(|line| line.line.point == point && line.line.scheme == scheme)
    }

    /// Whether the points were drawn at random and are not all combinations of values. There are then no lines between
    /// them.
    pub(super) fn is_scattered(&self) -> bool {
        let all = self.axes.iter().fold(1_usize, |all, axis| all.saturating_mul(axis.values.len()));
        self.axes.len() > 1 && all > 16 && self.points().len() * 3 < all
    }

    /// Returns all values of each choice among the runs, by name. Settings of single schemes are included.
    pub(super) fn fixed(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (name, value) in self.runs.iter().flat_map(chosen) {
            all.entry(name).or_default().insert(value);
        }
        all
    }
}

impl PointMeasurements {
    fn new(line: PointSummary, runs: &BTreeMap<u64, &Run>) -> Self {
        let values: Vec<&Run> = runs.values().copied().collect();
        let count = |is: &dyn Fn(&Run) -> bool| values.iter().filter(|run| is(run)).count();
        Self {
            line,
            runs: values.len(),
            failed: count(&Run::is_failed),
            starved: count(&|run| run.is_starved),
            starved_types: Starvation::of(values.iter().copied()).types(),
            details: Details::of(&values),
        }
    }
}

impl Leader {
    /// Returns the leading scheme among the lines of a point; `None` with fewer than two results.
    fn of(lines: &[PointMeasurements]) -> Option<Self> {
        let measured: Vec<(f64, &PointSummary)> =
            lines.iter().filter_map(|line| Some((line.line.median()?, &line.line))).collect();
        // Schemes are ranked by pairs of runs, because medians may come from better or worse times of the machine.
        let beaten = |line: &PointSummary| {
            let others = measured.iter().filter(|(_, other)| other.scheme != line.scheme);
            let ratio = |other: &PointSummary| {
                compared(&line.speeds, &other.speeds).map_or(0.0, |of| of.comparison.ratio)
            };
            others.filter(|(_, other)| ratio(other) > 1.0).count()
        };
        let mut ranked: Vec<(usize, f64, &PointSummary)> =
            measured.iter().map(|(median, line)| (beaten(line), *median, *line)).collect();
        ranked.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)));
        let [(_, _, first), (_, _, second), ..] = ranked[..] else { return None };
        let comparison = compared(&first.speeds, &second.speeds).map(|of| of.comparison);
        Some(Self {
            point: first.point.clone(),
            scheme: first.scheme.clone(),
            second: second.scheme.clone(),
            verdict: comparison.as_ref().map_or(Verdict::Unclear, judged),
            comparison,
        })
    }
}

/// Runs by point, scheme and repetition. A point consists of the indexes of its values.
type Cells<'r> = BTreeMap<(Vec<usize>, String), BTreeMap<u64, &'r Run>>;

fn cells<'r>(catalogue: Catalogue, runs: &[&'r Run], axes: &[Varied]) -> Cells<'r> {
    let mut cells = Cells::new();
    let mut repetitions: Vec<(u64, u64)> = runs.iter().map(|run| repetition(run)).collect();
    repetitions.sort_unstable();
    repetitions.dedup();
    for run in runs {
        let nth = repetitions.binary_search(&repetition(run)).unwrap_or(0) as u64;
        for point in points_of(catalogue, run, axes) {
            let cell = cells.entry((point, run.choices.scheme.clone())).or_default();
            // A run that repeats an earlier one under the same seed counts as one more repetition.
            let mut nth = nth;
            while cell.contains_key(&nth) {
                nth += repetitions.len() as u64;
            }
            cell.insert(nth, *run);
        }
    }
    cells
}

/// Returns the key by which runs of different schemes are paired: seed and round. Runs with the same key answered the
/// same requests, one soon after the other.
fn repetition(run: &Run) -> (u64, u64) {
    (run.choices.seed, run.round)
}

/// Returns the points to which a run belongs. There are several if a setting of another scheme varies, because it does
/// not apply to the run.
fn points_of(catalogue: Catalogue, run: &Run, axes: &[Varied]) -> Vec<Vec<usize>> {
    axes.iter().fold(vec![Vec::new()], |points, axis| {
        let numbers = axis.places(catalogue, run);
        let longer = |point: &Vec<usize>| {
            numbers.iter().map(|at| [point.as_slice(), &[*at]].concat()).collect::<Vec<_>>()
        };
        points.iter().flat_map(longer).collect()
    })
}
