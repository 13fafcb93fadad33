//! Studies of scaling: schemes by the number of cores of a simulated machine. Each point is a process of its own, which
//! needs one core of the host, so that as many points as the host has cores are simulated side by side. The places of
//! shared words in cache lines depend on what a process allocated before: in a process of its own, a point is the same
//! whatever is simulated beside it.

mod retest;

use std::collections::{BTreeMap, BTreeSet};

use results::{CheckVerdict, HottestLine, Run, Simulation};
use runs::Phase;

use self::retest::ChangedMachine;
use crate::knees::Knee;
use crate::simulation::{ERROR_MAX, PARTS, limit};
use crate::sweep::command;
use crate::text::{self, Lines, Table, changed, count, duration, duration_s, percent, plural};
use crate::{Catalogue, Plan, Refusal, Request, SimulationPlan, Starvation, machine};

/// The question of a study of scaling.
#[derive(Clone, Debug)]
pub struct ScalingQuestion {
    /// The request for the runs. Its number of workers is not used.
    pub request: Request,
    /// The numbers of cores: of workers, each of which has a hardware thread of the machine.
    pub cores: Vec<u64>,
    /// The factors by which each constant of the machine is multiplied, one at a time, to test the conclusions again.
    pub factors: Vec<f64>,
}

/// A study of scaling that was found possible.
#[derive(Debug)]
pub struct Scaling {
    request: Request,
    /// A plan for each number of cores. All have the same schemes.
    plans: Vec<Plan>,
    /// The machines: first the one that was asked for, then those that differ from it in a constant.
    machines: Vec<ChangedMachine>,
    /// The points on each of the machines: positions in `plans`, and of a scheme in the plan.
    points: Vec<(usize, usize)>,
    /// The points that schemes cannot run: scheme, cores, and reason.
    left_out: Vec<(&'static str, usize, String)>,
}

impl Scaling {
    /// Checks a question.
    ///
    /// # Errors
    /// Numbers of cores that are illegal or given twice, factors that are not positive, change nothing or are given
    /// twice, everything that [`Plan::new`] refuses, and schemes that can run no point.
    pub fn new(catalogue: Catalogue, question: &ScalingQuestion) -> Result<Self, Refusal> {
        let ScalingQuestion { request, cores, factors } = question;
        // The machine is read before the cores are judged: the refusal has their range.
        let any = Plan::for_any_scheme(catalogue, &Request { workers: Some(1), ..request.clone() })?;
        let simulation = any.simulation.as_ref().expect("the request has a machine");
        judge(cores, simulation)?;
        let mut machines = retest::machines(simulation, factors)?;
        // What a changed machine does not allow is refused before the first point, not in their midst.
        for changed in &mut machines[1..] {
            let machine = Some(changed.asked.clone());
            let request = Request { machine, workers: Some(1), ..request.clone() };
            let plan = Plan::for_any_scheme(catalogue, &request)?;
            changed.digest = plan.simulation.expect("the request has a machine").digest;
        }
        let plan = |&workers: &u64| {
            Plan::for_any_scheme(catalogue, &Request { workers: Some(workers), ..request.clone() })
        };
        let plans = cores.iter().map(plan).collect::<Result<Vec<_>, _>>()?;
        let (points, left_out) = (Vec::new(), Vec::new());
        let mut study = Self { request: request.clone(), plans, machines, points, left_out };
        for (at, plan) in study.plans.iter().enumerate() {
            for (position, subject) in plan.subjects.iter().enumerate() {
                match plan.suits(subject) {
                    Ok(()) => study.points.push((at, position)),
                    Err(Refusal(why)) => {
                        study.left_out.push((subject.scheme.name, plan.job.workers, why));
                    }
                }
            }
        }
        if study.machines.len() > 1 && study.points.len() < 2 {
            let says = "`--constants`: one point is no conclusion: give several schemes or numbers of cores";
            return Err(Refusal(says.to_owned()));
        }
        let runs = |scheme: &str| study.points.iter().any(|point| study.name(*point) == scheme);
        match study.left_out.iter().find(|(scheme, ..)| !runs(scheme)) {
            Some((_, _, why)) => Err(Refusal(why.clone())),
            None => Ok(study),
        }
    }

    /// Returns the number of points.
    pub fn points(&self) -> usize {
        self.points.len() * self.machines.len()
    }

    /// Returns the machine of a point, and the position of the point among those of the machine.
    fn place(&self, point: usize) -> (&ChangedMachine, (usize, usize)) {
        (&self.machines[point / self.points.len()], self.points[point % self.points.len()])
    }

    /// Returns the name of the workload and of a point's scheme.
    pub fn names(&self, point: usize) -> (&'static str, &'static str) {
        (self.plans[0].workload.name, self.name(self.place(point).1))
    }

    fn name(&self, (at, position): (usize, usize)) -> &'static str {
        self.plans[at].subjects[position].scheme.name
    }

    fn plan(&self, point: usize) -> &Plan {
        &self.plans[self.place(point).1.0]
    }

    /// Returns the number of points that the free memory of this host can hold at the same time, from 1 on.
    pub fn side_by_side(&self) -> usize {
        machine::fits(self.plans.iter().map(Plan::needed_bytes))
    }

    /// Returns the arguments with which `contend` simulates a point, and prints its result as a line of JSON.
    pub fn command(&self, point: usize) -> Vec<String> {
        let workers = Some(self.plan(point).job.workers as u64);
        let scheme = self.names(point).1;
        let ChangedMachine { asked, digest, .. } = self.place(point).0.clone();
        let (machine, machine_digest) = (Some(asked), Some(digest));
        let catalogue = self.plan(point).catalogue;
        // A run is refused settings of other schemes than its own.
        let is_own = |pair: &&String| {
            let name = pair.split_once('=').map_or("", |(name, _)| name.trim());
            catalogue.owner(name).is_none_or(|owner| owner == scheme)
        };
        let set = self.request.set.iter().filter(is_own).cloned().collect();
        let schemes = Some(scheme.to_owned());
        command(&Request { schemes, machine, machine_digest, workers, set, ..self.request.clone() })
    }

    /// Returns the progress in a line: the points that are done, the slowdown, and the time that is left.
    pub fn progress(&self, results: &[Option<Run>], elapsed_s: f64) -> String {
        let done: Vec<(usize, &Run)> = done(results).collect();
        let head = format!("[{}/{}] {}", done.len(), self.points(), self.plans[0].workload.name);
        let Some(slowdown) = slowdown(&done) else { return format!("{head}: simulating") };
        let weight = |point: usize| self.plan(point).simulated_txns() as f64;
        let all: f64 = (0..self.points()).map(weight).sum();
        let made: f64 = done.iter().map(|(point, _)| weight(*point)).sum();
        let left_s = elapsed_s * (all - made) / made;
        let (slowdown, left) = (count(slowdown), duration_s(left_s));
        format!("{head}: {slowdown} seconds of the host for a simulated one; about {left} left")
    }

    /// Returns the header of the study: its machine, its runs and their settings.
    pub fn header(&self) -> String {
        let plan = &self.plans[0];
        let Some(simulation) = &plan.simulation else { panic!("a study of scaling is simulated") };
        let cores: Vec<String> = self.plans.iter().map(|plan| plan.job.workers.to_string()).collect();
        let mut lines = Lines::default();
        lines.add(format!(
            "{} on {} (simulated): {}, {} {}, {}; {}; seed {}",
            plan.workload.name,
            simulation.machine.name,
            plural(plan.subjects.len(), "scheme"),
            cores.join(", "),
            if cores == ["1"] { "core" } else { "cores" },
            simulation.uses(),
            limit(plan),
            plan.job.seed
        ));
        lines.add(simulation.told());
        lines.add(changed(plan));
        if self.machines.len() > 1 {
            lines.add(format!(
                "tested again on {} machines that differ in a constant",
                self.machines.len() - 1
            ));
        }
        lines.0
    }

    /// Returns the differences of the settings from those of the schemes' authors, as [`text::tuned`] does.
    pub fn tuned(&self) -> String {
        text::tuned(&self.plans[0])
    }

    /// Returns the tables of the study, with notes for their readers.
    pub fn tables(&self, results: &[Option<Run>]) -> String {
        let mut lines = Lines(format!("\n{}", self.throughput(results).render()));
        lines.add(format!(
            "\nshares of the workers' time, by the part of the machine\n{}",
            self.parts(results)
        ));
        lines.add(format!("shares of the sampled transactions' time, by phase\n{}", self.phases(results)));
        lines.add(format!(
            "hottest cache lines, with their share of the time of accesses\n{}",
            self.hottest(results, "line", |simulation| &simulation.hot_lines)
        ));
        lines.add(format!(
            "hottest parts, all of their lines together\n{}",
            self.hottest(results, "part", |simulation| &simulation.hot_parts)
        ));
        if self.plans.len() > 1 {
            lines.add(format!("{}\n{}\n{}", Knee::DEFINITION, Knee::LEGEND, self.knees(results)));
        }
        if self.machines.len() > 1 {
            lines.add(self.retest(results));
        }
        self.notes(results, &mut lines);
        lines.0
    }

    /// Returns the schemes, each with its points by number of cores.
    fn rows<'r>(
        &self,
        results: &'r [Option<Run>],
    ) -> impl Iterator<Item = (&'static str, Vec<Option<&'r Run>>)> {
        let subjects = self.plans[0].subjects.iter().enumerate();
        subjects.map(move |(position, subject)| {
            let run = |at| {
                let point = self.points.iter().position(|point| *point == (at, position));
                point.and_then(|point| results[point].as_ref())
            };
            (subject.scheme.name, (0..self.plans.len()).map(run).collect())
        })
    }

    fn throughput(&self, results: &[Option<Run>]) -> Table {
        let mut table = Table::default();
        let cores = self.plans.iter().map(|plan| plural(plan.job.workers, "core"));
        table.row(["txn/s".to_owned()].into_iter().chain(cores));
        for (scheme, of_scheme) in self.rows(results) {
            let cells = of_scheme.into_iter().map(|run| run.map_or_else(|| "-".to_owned(), rate));
            table.row([scheme.to_owned()].into_iter().chain(cells));
        }
        table
    }

    /// Returns a table with a row for each result: its shares, and some figures before them.
    fn shares(
        &self,
        results: &[Option<Run>],
        (heads, names): (&[&str], &[&str]),
        figures: impl Fn(&Run) -> (Vec<String>, Option<&BTreeMap<String, f64>>),
    ) -> String {
        let mut table = Table::default();
        table.row(["scheme", "cores"].iter().chain(heads).chain(names).copied());
        for run in self.rows(results).flat_map(|(_, of_scheme)| of_scheme).flatten() {
            if run.throughput_txn_s.is_none() {
                continue;
            }
            let (figures, shares) = figures(run);
            let share = |name: &&str| shares.and_then(|shares| shares.get(*name)).copied();
            let shares = names.iter().map(|name| share(name).map_or_else(|| "-".to_owned(), percent));
            let head = [run.choices.scheme.clone(), run.choices.workers.to_string()];
            table.row(head.into_iter().chain(figures).chain(shares));
        }
        table.render()
    }

    fn parts(&self, results: &[Option<Run>]) -> String {
        self.shares(results, (&["aborts"], &PARTS), |run| {
            let aborts = run.abort_rate.map_or_else(|| "-".to_owned(), percent);
            (vec![aborts], run.simulation.as_ref().map(|simulation| &simulation.spent))
        })
    }

    fn phases(&self, results: &[Option<Run>]) -> String {
        self.shares(results, (&[], &phase_names(results)), |run| (Vec::new(), run.breakdown.as_ref()))
    }

    /// Returns the lines, or the parts, for which threads waited longest.
    fn hottest(
        &self,
        results: &[Option<Run>],
        what: &str,
        of: impl Fn(&Simulation) -> &Vec<HottestLine>,
    ) -> String {
        let mut table = Table::default();
        table.row(["scheme", "cores", what, "share", "next", "share"]);
        for run in self.rows(results).flat_map(|(_, of_scheme)| of_scheme).flatten() {
            let hottest = run.simulation.as_ref().map_or(&[][..], |simulation| of(simulation));
            let mut cells = vec![run.choices.scheme.clone(), run.choices.workers.to_string()];
            for at in 0..2 {
                let line = hottest.get(at);
                cells.push(line.map_or_else(|| "-".to_owned(), |line| line.name.clone()));
                cells.push(line.map_or_else(|| "-".to_owned(), |line| percent(line.share)));
            }
            table.row(cells);
        }
        table.render()
    }

    /// Returns a table with the knee of each scheme that has one.
    fn knees(&self, results: &[Option<Run>]) -> String {
        let of = |(scheme, runs): (&'static str, Vec<Option<&Run>>)| {
            Some((scheme, Knee::of(runs.into_iter().flatten())?))
        };
        let knees: Vec<(&str, Knee)> = self.rows(results).filter_map(of).collect();
        if knees.is_empty() {
            return "no scheme has one\n".to_owned();
        }
        let mut table = Table::default();
        table.row(["scheme"].into_iter().chain(Knee::HEADS));
        for (scheme, knee) in knees {
            table.row([scheme.to_owned()].into_iter().chain(knee.cells()));
        }
        table.render()
    }

    fn notes(&self, results: &[Option<Run>], lines: &mut Lines) {
        let done: Vec<(usize, &Run)> = done(results).collect();
        if done.len() < self.points() {
            lines.add(format!("INTERRUPTED: {} of {} points were simulated.", done.len(), self.points()));
        }
        for (scheme, cores, why) in &self.left_out {
            lines.add(format!("left out: {scheme} with {}: {why}", plural(*cores, "core")));
        }
        for (_, run) in &done {
            let asked = run.choices.simulated_on.as_deref().unwrap_or_default();
            let change = asked.strip_prefix(&*self.machines[0].asked).unwrap_or_default();
            let cores = plural(run.choices.workers as usize, "core");
            let label = format!("{} with {cores}{change}", run.choices.scheme);
            run.check.details.iter().for_each(|found| lines.add(format!("CHECK FAILED: {label}: {found}")));
            if let Some((head, says)) = idle(run) {
                lines.add(format!("{head}: {label} {says}"));
            }
            if run.is_warmup_steady == Some(false) {
                lines.add(format!("NOT WARM: {label} had fewer commits than the warm-up asks for."));
            }
        }
        let passed = done.iter().filter(|(_, run)| run.check.verdict == CheckVerdict::Passed).count();
        let unseen = done.iter().filter(|(_, run)| is_unseen(run)).count();
        if self.plans[0].check && unseen > 0 {
            lines.add(format!(
                "check: passed by {passed} of {}; {unseen} {} not checked, because rows were made when they were \
                 touched, and those that nobody touched cannot be looked at (`run.rows`)",
                plural(done.len(), "point"),
                if unseen == 1 { "was" } else { "were" },
            ));
        } else if self.plans[0].check {
            lines.add(format!("check: passed by {passed} of {}", plural(done.len(), "point")));
        } else {
            lines.add("check: skipped, so that these figures are not known to be of correct runs");
        }
        if done.iter().any(|(_, run)| run.throughput_txn_s.is_some() && !is_narrow(run)) {
            lines.add(format!(
                "! the 95% interval of the throughput reaches further than {} to either side, or is unknown: ask for \
                 more commits with `--txns`",
                percent(ERROR_MAX)
            ));
        }
        for line in Starvation::of(done.iter().map(|(_, run)| *run)).type_lines() {
            lines.add(line);
        }
        if let Some(slowdown) = slowdown(&done) {
            lines.add(format!(
                "{} seconds of the host for a second of the simulated machine",
                count(slowdown)
            ));
        }
    }
}

/// Refuses numbers of cores.
///
/// # Errors
/// No number, a number twice, and a number that the machine does not have. The text has the legal range.
fn judge(cores: &[u64], simulation: &SimulationPlan) -> Result<(), Refusal> {
    let (name, threads) = (&simulation.machine.name, u64::from(simulation.machine.threads()));
    let mut seen = BTreeSet::new();
    for &number in cores {
        if !(1..=threads).contains(&number) {
            return Err(Refusal(format!(
                "`--cores {number}`: {name} has {threads} hardware threads: give whole numbers from 1 to {threads}"
            )));
        }
        if !seen.insert(number) {
            return Err(Refusal(format!("`--cores`: {number} is given twice: leave one out")));
        }
    }
    if cores.is_empty() {
        return Err(Refusal(format!("`--cores`: give one or more whole numbers from 1 to {threads}")));
    }
    Ok(())
}

/// Says of a point that made no commits, or at its end none any more, whether it had too little time or was in a
/// livelock.
fn idle(run: &Run) -> Option<(&'static str, String)> {
    if run.check.verdict == CheckVerdict::Failed {
        return None;
    }
    let stalled_s = run.simulation.as_ref().map_or(0.0, |simulation| simulation.stalled_s);
    if stalled_s <= 0.0 {
        let has_none = run.throughput_txn_s.is_none_or(|rate| rate <= 0.0);
        return has_none.then(|| ("NO COMMITS", "counted none: ask for more with `--txns`.".to_owned()));
    }
    let hottest = run.simulation.as_ref().and_then(|simulation| simulation.hot_lines.first());
    let line = hottest
        .map_or_else(String::new, |line| format!("; they waited longest for a cache line, {}", line.name));
    let time = duration((stalled_s * 1e9) as u64);
    Some(("LIVELOCK", format!("committed nothing in its last {time} of simulated time{line}.")))
}

/// Whether a run was not checked because most of its rows were never made.
fn is_unseen(run: &Run) -> bool {
    let is_implicit = run.simulation.as_ref().is_some_and(|simulation| simulation.implicit_rows > 0);
    is_implicit && run.check.verdict == CheckVerdict::Skipped
}

fn done(results: &[Option<Run>]) -> impl Iterator<Item = (usize, &Run)> {
    results.iter().enumerate().filter_map(|(point, run)| Some((point, run.as_ref()?)))
}

/// Returns the seconds of the host for each simulated second of these points; `None` if nothing was simulated.
fn slowdown(done: &[(usize, &Run)]) -> Option<f64> {
    let host_s: f64 = done.iter().filter_map(|(_, run)| Some(run.simulation.as_ref()?.host_s)).sum();
    let simulated_s: f64 = done.iter().map(|(_, run)| run.warmed_up_s + run.measured_s).sum();
    (simulated_s > 0.0).then(|| host_s / simulated_s)
}

fn half_width(run: &Run) -> Option<f64> {
    run.simulation.as_ref()?.half_width
}

fn is_narrow(run: &Run) -> bool {
    half_width(run).is_some_and(|half_width| half_width <= ERROR_MAX)
}

/// Returns the throughput of a point with the half width of its interval. Wide intervals are marked.
fn rate(run: &Run) -> String {
    let Some(throughput) = run.throughput_txn_s else {
        let is_failed = run.check.verdict == CheckVerdict::Failed;
        return if is_failed { "CHECK FAILED" } else { "no commits" }.to_owned();
    };
    let half_width = half_width(run).map_or_else(|| "?".to_owned(), percent);
    let mark = if is_narrow(run) { "" } else { "!" };
    format!("{} +-{half_width}{mark}", count(throughput))
}

/// Returns the names of the phases in which results may have time: most schemes need no footprints.
fn phase_names(results: &[Option<Run>]) -> Vec<&'static str> {
    let footprint = Phase::Footprint.name();
    let phases = results.iter().flatten().filter_map(|run| run.breakdown.as_ref());
    let is_any = phases.filter_map(|phases| phases.get(footprint)).any(|share| *share > 0.0);
    Phase::NAMES.into_iter().filter(|name| is_any || *name != footprint).collect()
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::StandardValues;

    #[test]
    fn a_point_without_a_figure_says_why() {
        let mut run = Run::default();
        assert_eq!(rate(&run), "no commits");
        run.check.verdict = CheckVerdict::Failed;
        assert_eq!(rate(&run), "CHECK FAILED");
    }

    #[test]
    fn a_point_is_given_the_settings_of_its_scheme_alone() {
        let set = ["no_wait.spin=0", "ycsb.records=100"].map(str::to_owned).to_vec();
        let (machine, schemes) = (Some("here".to_owned()), Some("silo,no_wait".to_owned()));
        let standard = StandardValues::Published;
        let request = Request { schemes, machine, set, standard, ..Request::new("ycsb") };
        let question = ScalingQuestion { request, cores: vec![1], factors: Vec::new() };
        let study = Scaling::new(crate::registry::tests::catalogue(), &question).expect("possible");
        let [silo, no_wait] = [0, 1].map(|point| study.command(point).join(" "));
        assert!(!silo.contains("no_wait.spin") && silo.contains("--set ycsb.records=100"), "{silo}");
        assert!(silo.contains("--published"), "{silo}");
        assert!(no_wait.contains("--set no_wait.spin=0"), "{no_wait}");
    }

    #[test]
    fn the_time_that_is_left_goes_by_the_workers_of_the_points() {
        let schemes = Some("silo".to_owned());
        let machine = Some("hpe-superdome-flex".to_owned());
        let request = Request { schemes, machine, ..Request::new("ycsb") };
        let question = ScalingQuestion { request, cores: vec![1, 3], factors: Vec::new() };
        let study = Scaling::new(crate::registry::tests::catalogue(), &question).expect("possible");
        assert_eq!(study.progress(&[None, None], 1.0), "[0/2] ycsb: simulating");
        let simulation = Some(Simulation { host_s: 8.0, ..Simulation::default() });
        let run = Run { simulation, warmed_up_s: 0.5, measured_s: 1.5, ..Run::default() };
        let says = study.progress(&[Some(run), None], 10.0);
        assert_eq!(says, "[1/2] ycsb: 4 seconds of the host for a simulated one; about 30 s left");
    }

    #[test]
    fn the_time_of_footprints_is_shown_where_some_scheme_has_any() {
        let run = |footprint| {
            let breakdown =
                [("useful", 0.5), ("footprint", footprint)].map(|(name, share)| (name.to_owned(), share));
            Some(Run { breakdown: Some(breakdown.into()), ..Run::default() })
        };
        let shown = |results: &[Option<Run>]| phase_names(results).contains(&"footprint");
        assert!(!shown(&[run(0.0), None]) && shown(&[run(0.0), None, run(0.1)]));
        assert_eq!(phase_names(&[]).len(), Phase::COUNT - 1);
    }

    #[test]
    fn a_point_that_commits_nothing_for_long_is_a_livelock_with_its_line() {
        let line = HottestLine { name: "usertable row 3".to_owned(), share: 0.9 };
        let point = |stalled_s| {
            let simulation = Simulation { hot_lines: vec![line.clone()], stalled_s, ..Simulation::default() };
            Run { simulation: Some(simulation), throughput_txn_s: Some(0.0), ..Run::default() }
        };
        assert_eq!(idle(&point(0.0)).map(|(head, _)| head), Some("NO COMMITS"));
        let (head, says) = idle(&point(0.02)).expect("it made no commits");
        assert!(
            head == "LIVELOCK" && says.contains("last 20.0 ms") && says.contains("usertable row 3"),
            "{says}"
        );
        assert_eq!(idle(&Run { throughput_txn_s: Some(1.0), ..point(0.0) }), None);
        let (head, _) =
            idle(&Run { throughput_txn_s: Some(1.0), ..point(0.03) }).expect("it made none at its end");
        assert_eq!(head, "LIVELOCK");
    }
}
