//! Studies of scaling: schemes by the number of cores of a simulated machine. Each point is a run of its own on one
//! thread of the host, so that as many points as the host has cores are simulated side by side.

use std::collections::BTreeSet;

use engine::driver::Limit;
use runs::{CheckVerdict, Monitor, Phase};

use crate::measure::abort_rate;
use crate::simulation::{ERROR_MAX, simulated_ns};
use crate::text::{Lines, Table, changed, count, duration_s, percent, plural};
use crate::{Catalogue, Machine, Plan, Record, Refusal, Request, SimulationPlan, json, machine};

/// The question of a study of scaling.
#[derive(Clone, Debug)]
pub struct ScalingQuestion {
    /// The request for the runs. Its number of workers is not used.
    pub request: Request,
    /// The numbers of cores: of workers, each of which has a hardware thread of the machine.
    pub cores: Vec<u64>,
}

/// A study of scaling that was found possible.
#[derive(Debug)]
pub struct Scaling {
    /// A plan for each number of cores. All have the same schemes.
    plans: Vec<Plan>,
    /// The points: positions in `plans`, and of a scheme in the plan.
    points: Vec<(usize, usize)>,
    /// The points that schemes cannot run: scheme, cores, and reason.
    left_out: Vec<(&'static str, usize, String)>,
}

impl Scaling {
    /// Checks a question.
    ///
    /// # Errors
    /// Numbers of cores that are illegal or given twice, everything that [`Plan::new`] refuses, and schemes that can run
    /// no point.
    pub fn new(catalogue: Catalogue, question: &ScalingQuestion) -> Result<Self, Refusal> {
        let ScalingQuestion { request, cores } = question;
        // The machine is read before the cores are judged: the refusal has their range.
        let any = Plan::for_any_scheme(catalogue, &Request { workers: Some(1), ..request.clone() })?;
        judge(cores, any.simulation.as_ref().expect("the request has a machine"))?;
        let plan = |&workers: &u64| {
            Plan::for_any_scheme(catalogue, &Request { workers: Some(workers), ..request.clone() })
        };
        let plans = cores.iter().map(plan).collect::<Result<Vec<_>, _>>()?;
        let mut study = Self { plans, points: Vec::new(), left_out: Vec::new() };
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
        let runs = |scheme: &str| study.points.iter().any(|point| study.name(*point) == scheme);
        match study.left_out.iter().find(|(scheme, ..)| !runs(scheme)) {
            Some((_, _, why)) => Err(Refusal(why.clone())),
            None => Ok(study),
        }
    }

    /// Returns the number of points.
    pub fn points(&self) -> usize {
        self.points.len()
    }

    /// Returns the name of the workload and of a point's scheme.
    pub fn names(&self, point: usize) -> (&'static str, &'static str) {
        (self.plans[0].workload.name, self.name(self.points[point]))
    }

    fn name(&self, (at, position): (usize, usize)) -> &'static str {
        self.plans[at].subjects[position].scheme.name
    }

    fn plan(&self, point: usize) -> &Plan {
        &self.plans[self.points[point].0]
    }

    /// Returns the number of points that the free memory of this host can hold at the same time, from 1 on.
    pub fn side_by_side(&self) -> usize {
        let needed = self.plans.iter().map(Plan::needed_bytes).max().unwrap_or_default();
        machine::available_bytes().map_or(usize::MAX, |free| (free / needed.max(1)).max(1) as usize)
    }

    /// Simulates a point, on the calling thread.
    ///
    /// # Errors
    /// A point that the simulator refuses.
    pub fn measure(&self, point: usize) -> Result<Record, Refusal> {
        let (at, position) = self.points[point];
        self.plans[at].measure(position, &Monitor::new(1))
    }

    /// Returns the result of a point as a line.
    pub fn line(&self, point: usize, record: &Record, host: &Machine) -> String {
        format!("{}\n", json::run(self.plan(point), record, host))
    }

    /// Returns the progress in a line: the points that are done, the slowdown, and the time that is left.
    pub fn progress(&self, records: &[Option<Record>], elapsed_s: f64) -> String {
        let done: Vec<(usize, &Record)> = done(records).collect();
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
            "{} on {} (simulated): {}, {} cores, {}; {}; seed {}",
            plan.workload.name,
            simulation.machine.name,
            plural(plan.subjects.len(), "scheme"),
            cores.join(", "),
            simulation.uses(),
            limit(plan),
            plan.job.seed
        ));
        lines.add(simulation.told());
        lines.add(changed(plan));
        lines.0
    }

    /// Returns the tables of the study, with notes for their readers.
    pub fn tables(&self, records: &[Option<Record>]) -> String {
        let mut lines = Lines(format!("\n{}", self.throughput(records).render()));
        lines.add(format!(
            "\nshares of the workers' time, by the part of the machine\n{}",
            self.parts(records)
        ));
        lines.add(format!("shares of the sampled transactions' time, by phase\n{}", self.phases(records)));
        self.notes(records, &mut lines);
        lines.0
    }

    /// Returns the schemes, each with its points by number of cores.
    fn rows<'r>(
        &self,
        records: &'r [Option<Record>],
    ) -> impl Iterator<Item = (&'static str, Vec<(&Plan, Option<&'r Record>)>)> {
        let subjects = self.plans[0].subjects.iter().enumerate();
        subjects.map(move |(position, subject)| {
            let record = |at| {
                let point = self.points.iter().position(|point| *point == (at, position));
                point.and_then(|point| records[point].as_ref())
            };
            let of_scheme = self.plans.iter().enumerate().map(|(at, plan)| (plan, record(at)));
            (subject.scheme.name, of_scheme.collect())
        })
    }

    fn throughput(&self, records: &[Option<Record>]) -> Table {
        let mut table = Table::default();
        let cores = self.plans.iter().map(|plan| plural(plan.job.workers, "core"));
        table.row(["txn/s".to_owned()].into_iter().chain(cores));
        for (scheme, of_scheme) in self.rows(records) {
            let cells = of_scheme.into_iter().map(|(_, record)| record.map_or_else(|| "-".to_owned(), rate));
            table.row([scheme.to_owned()].into_iter().chain(cells));
        }
        table
    }

    /// Returns a table with a row for each result: its shares, and some figures before them.
    fn shares<const N: usize>(
        &self,
        records: &[Option<Record>],
        (heads, names): (&[&str], [&str; N]),
        figures: impl Fn(&Plan, &Record) -> (Vec<String>, [f64; N]),
    ) -> String {
        let mut table = Table::default();
        table.row(["scheme", "cores"].iter().chain(heads).chain(&names).copied());
        for (scheme, of_scheme) in self.rows(records) {
            for (plan, record) in of_scheme {
                let Some(record) = record.filter(|record| record.is_result()) else { continue };
                let (figures, shares) = figures(plan, record);
                let head = [scheme.to_owned(), plan.job.workers.to_string()];
                table.row(head.into_iter().chain(figures).chain(shares.map(percent)));
            }
        }
        table.render()
    }

    fn parts(&self, records: &[Option<Record>]) -> String {
        let names = ["instructions", "private", "l3", "memory", "coherence", "numa", "contention"];
        self.shares(records, (&["aborts"], names), |plan, record| {
            let costs = record.simulated.as_ref().expect("a point is simulated");
            let totals = record.totals();
            let aborts = percent(abort_rate(totals.commits, &totals.aborts));
            (vec![aborts], costs.shares(plan, record).map(|(_, share)| share))
        })
    }

    fn phases(&self, records: &[Option<Record>]) -> String {
        self.shares(records, (&[], Phase::NAMES), |_, record| {
            let ticks = record.measured.phase_ticks;
            let sum = ticks.iter().sum::<u64>().max(1) as f64;
            (Vec::new(), ticks.map(|ticks| ticks as f64 / sum))
        })
    }

    fn notes(&self, records: &[Option<Record>], lines: &mut Lines) {
        let done: Vec<(usize, &Record)> = done(records).collect();
        if done.len() < self.points() {
            lines.add(format!("INTERRUPTED: {} of {} points were simulated.", done.len(), self.points()));
        }
        for (scheme, cores, why) in &self.left_out {
            lines.add(format!("left out: {scheme} with {}: {why}", plural(*cores, "core")));
        }
        for (point, record) in &done {
            let plan = self.plan(*point);
            let label = format!("{} with {}", self.names(*point).1, plural(plan.job.workers, "core"));
            if let CheckVerdict::Failed(violations) = &record.measured.verdict {
                violations.iter().for_each(|found| lines.add(format!("CHECK FAILED: {label}: {found}")));
            }
            if record.measured.series.is_warm == Some(false) {
                lines.add(format!("NOT WARM: {label} had fewer commits than the warm-up asks for."));
            }
        }
        let passed = done.iter().filter(|(_, record)| record.measured.verdict == CheckVerdict::Passed);
        match passed.count() {
            _ if !self.plans[0].check => {
                lines.add("check: skipped, so that these figures are not known to be of correct runs");
            }
            passed => lines.add(format!("check: passed by {passed} of {}", plural(done.len(), "point"))),
        }
        let is_wide = |(_, record): &(usize, &Record)| record.is_result() && !is_narrow(record);
        if done.iter().any(is_wide) {
            lines.add(format!(
                "! the 95% interval of the throughput reaches further than {} to either side, or is unknown: ask for \
                 more commits with `--txns`",
                percent(ERROR_MAX)
            ));
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

fn done(records: &[Option<Record>]) -> impl Iterator<Item = (usize, &Record)> {
    records.iter().enumerate().filter_map(|(point, record)| Some((point, record.as_ref()?)))
}

/// Returns the seconds of the host for each simulated second of these points; `None` if nothing was simulated.
fn slowdown(done: &[(usize, &Record)]) -> Option<f64> {
    let costs = done.iter().filter_map(|(_, record)| record.simulated.as_ref());
    let host_ns: u64 = costs.map(|costs| costs.host_ns).sum();
    let simulated_ns: u64 = done.iter().map(|(_, record)| simulated_ns(record)).sum();
    (simulated_ns > 0).then(|| host_ns as f64 / simulated_ns as f64)
}

/// Returns the limit of a plan's simulated runs in words.
pub(crate) fn limit(plan: &Plan) -> String {
    let Limit::Estimate(estimate) = plan.job.limit else { panic!("simulated runs go by commits") };
    format!("at least {} commits a worker after {}", estimate.commits, estimate.warmup_commits)
}

/// Returns the interval of a simulated run's throughput, and the slowdown of the simulation, in words.
pub(crate) fn interval(record: &Record) -> String {
    let half_width =
        record.measured.series.half_width().map(|half_width| format!("+-{}", percent(half_width)));
    let half_width = half_width.unwrap_or_else(|| "unknown, as the run was too short".to_owned());
    let slowdown = slowdown(&[(0, record)]).map_or_else(|| "-".to_owned(), count);
    format!(
        "95% interval of the throughput: {half_width}; {slowdown} seconds of the host for a simulated second"
    )
}

fn is_narrow(record: &Record) -> bool {
    record.measured.series.half_width().is_some_and(|half_width| half_width <= ERROR_MAX)
}

/// Returns the throughput of a point with the half width of its interval. Wide intervals are marked.
fn rate(record: &Record) -> String {
    let Some(throughput) = record.throughput() else { return "CHECK FAILED".to_owned() };
    let half_width = record.measured.series.half_width();
    let half_width = half_width.map_or_else(|| "?".to_owned(), percent);
    let mark = if is_narrow(record) { "" } else { "!" };
    format!("{} +-{half_width}{mark}", count(throughput))
}
