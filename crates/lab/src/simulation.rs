//! The machine of simulated runs: found by its name or read from its file, and judged together with the request.

use core::ops::RangeInclusive;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{fs, io, iter};

use engine::Forecast;
use engine::driver::{Estimate, Limit};
use engine::setting::{Values, nearest};
use results::{Axis, Run};
use sim::machine::{self, Basis, Machine};
pub use sim::machine::{MemoryPolicy, Placement};
use sim::{Spent, TimedCounts};
use simulations::{FirstRows, HotLine};

use crate::plan::needed_bytes;
use crate::text::{count, percent, plural};
use crate::{Plan, Record, Refusal, Request};

/// The number of commits of a worker, in the mean, before the counting begins, unless the request has another number.
pub(crate) const WARMUP_TXNS: u64 = 200;
/// The least number of commits of a worker, in the mean, that count, unless the request has another number.
const TXNS: u64 = 500;
/// The maximum of these numbers: more than anybody waits for.
pub(crate) const TXNS_MAX: u64 = 1_000_000_000;
/// The greatest half width of the 95% interval of throughput, as a share of it. Wider ones are marked.
pub(crate) const ERROR_MAX: f64 = 0.03;
/// The greatest multiple of the least measured time for which a run waits until its interval is so narrow, unless the
/// request has another number.
pub(crate) const PATIENCE: u64 = 10;
/// The maximum of that number.
const PATIENCE_MAX: u64 = 1_000;
/// Nanoseconds of the simulated machine after which a run ends in any case.
const LONGEST_NS: u64 = 10_000_000_000;
/// The same of a run whose clients wait for messages, arrivals, pauses or people.
const LONGEST_WAITING_NS: u64 = 4_000_000_000_000;
/// Bytes that loading may take before rows are rather made when they are touched.
const LOADED_MAX: u64 = 2 << 30;
/// Bytes that a touched row takes beside its columns: its header, the bucket and the leaf that lead to it, and its
/// places in the maps of what was made.
const TOUCHED_OVERHEAD: f64 = 256.0;
/// The bytes that the simulator keeps for each line of memory, as a share of a line.
const DIRECTORY_SHARE: f64 = 40.0 / 64.0;

/// The parts that the time of workers is divided into, from the rest to the waits for lines.
pub(crate) const PARTS: [&str; 8] =
    ["instructions", "waiting", "private", "l3", "memory", "coherence", "numa", "contention"];

/// The machine on which the runs of a plan are simulated, and the way in which they use it.
#[derive(Clone, Debug)]
pub struct SimulationPlan {
    /// The machine. Its cores have no more hardware threads than are to be used.
    pub machine: Machine,
    /// The name or the path by which the machine was asked for.
    pub asked: String,
    /// The order in which workers get the machine's hardware threads.
    pub placement: Placement,
    /// On which sockets the memory is.
    pub memory: MemoryPolicy,
    /// The number of hardware threads of a core that are used, if not all of them are.
    pub smt: Option<u32>,
    /// Picoseconds for which a hardware thread may run on beyond the next one.
    pub lookahead_ps: u64,
    /// The digest of the machine's constants.
    pub digest: String,
    /// The least number of commits of a worker, in the mean, that count.
    pub txns: u64,
    /// The number of commits of a worker, in the mean, before the counting begins.
    pub warmup_txns: u64,
    /// The greatest multiple of the time of the least number of commits for which a run waits for a narrow interval.
    pub patience: u64,
    /// The way in which databases get their first rows.
    pub rows: FirstRows,
}

/// The costs of a simulated run: what happened in the machine, and how long the simulation took.
#[derive(Clone, Debug)]
pub struct SimulationCosts {
    /// Counts of the simulation.
    pub counts: TimedCounts,
    /// The time of accesses by the part of the machine.
    pub spent: Spent,
    /// The cache lines for which threads waited longest because other cores had them, the longest first.
    pub hottest: Vec<HotLine>,
    /// The parts of the database whose lines together were waited for longest, the longest first.
    pub hot_parts: Vec<HotLine>,
    /// Nanoseconds of the host that the simulation of the transactions took.
    pub host_ns: u64,
    /// The number of rows that were made only when they were touched, or never.
    pub implicit_rows: u64,
}

impl SimulationPlan {
    /// Returns the simulation that a request asks for; `None` if its runs are native.
    ///
    /// # Errors
    /// A machine that is unknown or cannot be read, options of simulations without a machine, numbers out of range, and
    /// options that need real devices or cores.
    pub(crate) fn of_request(request: &Request, values: &Values) -> Result<Option<Self>, Refusal> {
        let Some(asked) = &request.machine else {
            return refuse_without_machine(request, values).map(|()| None);
        };
        refuse_devices(request, values)?;
        let mut plan = Self::whole(asked)?;
        let machine = &mut plan.machine;
        let of_core = u64::from(machine.topology.threads_per_core);
        let smt = request.smt.unwrap_or(of_core);
        within("--smt", smt, 1..=of_core, &machine.name)?;
        machine.topology.threads_per_core = smt as u32;
        machine.core.smt_speedup.truncate(smt as usize);
        let nearest_ns = machine.coherence.transfer_ps / 1_000;
        let lookahead_ns = request.lookahead_ns.unwrap_or(0);
        within("--lookahead-ns", lookahead_ns, 0..=nearest_ns, &machine.name)?;
        plan.txns = request.txns.unwrap_or(TXNS);
        within("--txns", plan.txns, 1..=TXNS_MAX, &machine.name)?;
        plan.warmup_txns = request.warmup_txns.unwrap_or(WARMUP_TXNS);
        within("--warmup-txns", plan.warmup_txns, 1..=TXNS_MAX, &machine.name)?;
        plan.patience = request.patience.unwrap_or(PATIENCE);
        within("--patience", plan.patience, 1..=PATIENCE_MAX, &machine.name)?;
        plan.digest = machine.digest();
        if let Some(digest) = request.machine_digest.as_ref().filter(|digest| **digest != plan.digest) {
            return Err(Refusal(format!(
                "`--machine {asked}`: its digest is {}, not {digest}: its file has changed since the runs were \
                 planned; put the file back, or begin anew",
                plan.digest
            )));
        }
        plan.smt = (smt < of_core).then_some(smt as u32);
        plan.placement = request.placement.unwrap_or(plan.placement);
        plan.lookahead_ps = lookahead_ns * 1_000;
        plan.memory = request.memory.unwrap_or(plan.memory);
        if let MemoryPolicy::Distance(distance) = plan.memory {
            let farthest = plan.machine.hops.len().saturating_sub(1) as u64;
            if !(1..=farthest).contains(&u64::from(distance)) {
                let name = &plan.machine.name;
                let has = match farthest {
                    0 => "one socket: leave it out".to_owned(),
                    1 => "`distance_1` alone".to_owned(),
                    _ => format!("`distance_1` to `distance_{farthest}`"),
                };
                return Err(Refusal(format!("`--memory distance_{distance}`: {name} has {has}")));
            }
            let topology = &plan.machine.topology;
            if let Some(alone) = (0..topology.sockets).find(|at| topology.partner(*at, distance).is_none()) {
                let says =
                    format!("socket {alone} has no socket at this distance: name a distance that all have");
                return Err(Refusal(format!("`--memory distance_{distance}`: {says}")));
            }
        }
        Ok(Some(plan))
    }

    /// Returns the simulation on a whole machine, with the standard options.
    pub(crate) fn whole(asked: &str) -> Result<Self, Refusal> {
        let machine = machine_of(asked)?;
        let (digest, placement) = (machine.digest(), Placement::CoresFirst);
        Ok(Self {
            machine,
            asked: asked.to_owned(),
            placement,
            memory: MemoryPolicy::Interleaved,
            smt: None,
            lookahead_ps: 0,
            digest,
            txns: TXNS,
            warmup_txns: WARMUP_TXNS,
            patience: PATIENCE,
            rows: FirstRows::Loaded,
        })
    }

    /// Returns the legal numbers of workers.
    ///
    /// # Errors
    /// Another number. The text has the legal range.
    pub(crate) fn workers(&self, asked: Option<u64>) -> Result<u64, Refusal> {
        let threads = u64::from(self.machine.threads());
        let workers = asked.unwrap_or_else(|| u64::from(self.machine.topology.cores()));
        within("--workers", workers, 1..=threads, &self.machine.name)?;
        Ok(workers)
    }

    /// Decides how databases get their first rows, of which loading needs memory as `forecast` says.
    ///
    /// # Errors
    /// The settings ask for rows that are not loaded, and the workload, or the kind of index, has none.
    pub(crate) fn decide_rows(&mut self, values: &Values, forecast: &Forecast) -> Result<(), Refusal> {
        let (has, is_standard) = (forecast.implicit.is_some(), values.text("run.index") == "standard");
        self.rows = match values.text("run.rows") {
            "implicit" if !has => {
                let says =
                    "`run.rows=implicit`: this workload loads all of its rows: leave it out, or use tpcc";
                return Err(Refusal(says.to_owned()));
            }
            "implicit" if !is_standard => {
                let says = "`run.rows=implicit`: rows that are not loaded are found by the standard indexes: leave out \
                            `run.index=ordered`";
                return Err(Refusal(says.to_owned()));
            }
            "implicit" => FirstRows::Implicit,
            "auto" if has && is_standard && needed_bytes(forecast) > LOADED_MAX => FirstRows::Implicit,
            _ => FirstRows::Loaded,
        };
        Ok(())
    }

    /// Returns the bytes of memory that the database takes: of rows that are not loaded, those that so many
    /// transactions touch.
    pub(crate) fn needed_bytes(&self, forecast: &Forecast, txns: u64) -> u64 {
        let Some(implicit) = forecast.implicit.filter(|_| self.rows == FirstRows::Implicit) else {
            return needed_bytes(forecast);
        };
        let mut loaded = forecast.clone();
        loaded.rows = loaded.rows.saturating_sub(implicit.rows);
        loaded.row_bytes = loaded.row_bytes.saturating_sub(implicit.row_bytes);
        let at_most = |all: u64, of_txn: f64| (all as f64).min(of_txn * txns as f64);
        let rows = at_most(implicit.rows, implicit.touched_rows) + forecast.growth_rows * txns as f64;
        let bytes =
            at_most(implicit.row_bytes, implicit.touched_bytes) + forecast.growth_bytes as f64 * txns as f64;
        // Beside each row its entries, with lines and buckets of their own; and of each line what the directory knows.
        let touched = (bytes + rows * TOUCHED_OVERHEAD) * (1.0 + DIRECTORY_SHARE);
        needed_bytes(&loaded).saturating_add(touched as u64)
    }

    /// Returns the limit of runs, whose clients may wait for something other than each other: they end when their
    /// throughput is known well enough.
    pub(crate) fn limit(&self, clients_wait: bool) -> Limit {
        Limit::Estimate(Estimate {
            warmup_commits: self.warmup_txns,
            commits: self.txns,
            error: ERROR_MAX,
            patience: self.patience,
            longest_ns: if clients_wait { LONGEST_WAITING_NS } else { LONGEST_NS },
        })
    }

    /// Returns the number of constants of each basis on which simulated time depends, from the firmest to the weakest.
    pub fn constants(&self) -> [(Basis, usize); Basis::ALL.len()] {
        let used = || self.machine.constants.iter().filter(|constant| constant.is_in_use());
        Basis::ALL.map(|basis| (basis, used().filter(|constant| constant.basis == basis).count()))
    }

    /// Returns the weakest basis of the constants.
    pub fn weakest(&self) -> Basis {
        let mut used = self.constants().into_iter().filter(|(_, count)| *count > 0);
        used.next_back().map_or(Basis::Measured, |(basis, _)| basis)
    }

    /// Returns the use of the machine's hardware threads in words.
    pub(crate) fn uses(&self) -> String {
        let smt = self.smt.map(|smt| format!(", {smt} of the threads of a core")).unwrap_or_default();
        let lookahead = match self.lookahead_ps / 1_000 {
            0 => String::new(),
            ns => format!(", threads up to {ns} ns ahead"),
        };
        let memory = match self.memory {
            MemoryPolicy::Interleaved => String::new(),
            policy => format!(", memory {}", policy.name()),
        };
        format!("{}{memory}{smt}{lookahead}", self.placement.name())
    }

    /// Returns a sentence that says that figures are simulated, on which machine, and how firm its constants are.
    pub fn told(&self) -> String {
        let constants = self.constants().map(|(basis, count)| (basis.name(), count as u64));
        told(&self.machine.title, &self.digest, &constants, &self.trust())
    }

    /// Returns how far figures of this machine can be trusted, in a sentence: by the weakest constant, and by what
    /// comparisons have shown.
    pub fn trust(&self) -> String {
        let by_constants = match self.weakest() {
            Basis::Measured => {
                "all constants were measured on the machine; compare a native run before you trust absolute figures"
            }
            Basis::Published => {
                "no constant is firmer than a publication: trust shapes, orders and ratios, and no absolute figure \
                 before calibration"
            }
            Basis::Fitted => {
                "some constants were fitted: figures that they were fitted to are no evidence; trust no absolute \
                 figure before calibration"
            }
            Basis::Assumed => {
                "some constants are assumed: trust shapes, orders and ratios as far as they do not depend on these, \
                 and no absolute figure before calibration"
            }
        };
        let compared = self.machine.compared.iter().map(|compared| format!("; {compared}"));
        iter::once(by_constants.to_owned()).chain(compared).collect()
    }
}

impl SimulationCosts {
    /// Returns the picoseconds of waits for other workers, and of accesses by the part of the machine.
    pub(crate) fn parts(&self) -> [(&'static str, u64); 7] {
        let Spent { waiting, private, l3, memory, coherence, numa, contention } = self.spent;
        let [_, names @ ..] = PARTS;
        let mut spent = [waiting, private, l3, memory, coherence, numa, contention].into_iter();
        names.map(|name| (name, spent.next().expect("each part has a time")))
    }

    /// Returns the shares of the parts in the time of all workers, from `instructions`, the rest, to `contention`.
    /// An access counts whole if it begins within what is measured, and a wait for other workers if it ends there. If
    /// they take more time than the workers have, the shares are of their time, and that of instructions is 0.
    pub(crate) fn shares(&self, plan: &Plan, record: &Record) -> [(&'static str, f64); 8] {
        let workers_ps = record.measured.measured_ns as f64 * 1e3 * plan.job.workers as f64;
        let parts = self.parts();
        let accesses_ps = parts.iter().map(|(_, ps)| *ps as f64).sum::<f64>();
        let all = workers_ps.max(accesses_ps).max(1.0);
        let mut shares = PARTS.map(|name| (name, (all - accesses_ps) / all));
        for (share, (_, ps)) in shares[1..].iter_mut().zip(parts) {
            share.1 = ps as f64 / all;
        }
        shares
    }

    /// Returns the interval of the run's throughput, and the slowdown of the simulation, in words.
    pub(crate) fn interval(&self, record: &Record) -> String {
        let half_width = record.measured.series.half_width();
        let half_width = half_width.map_or_else(
            || "unknown, as the run was too short".to_owned(),
            |half_width| format!("+-{}", percent(half_width)),
        );
        let slowdown = self.slowdown(record).map_or_else(|| "-".to_owned(), count);
        format!(
            "95% interval of the throughput: {half_width}; {slowdown} seconds of the host for a simulated second"
        )
    }

    /// Returns the seconds of the host for each second of the simulated machine; `None` if nothing was simulated.
    pub(crate) fn slowdown(&self, record: &Record) -> Option<f64> {
        let simulated_ns = simulated_ns(record);
        (simulated_ns > 0).then(|| self.host_ns as f64 / simulated_ns as f64)
    }
}

/// Returns a sentence for each simulated machine of some runs: that their figures are simulated, and how firm the
/// constants are; and one that says how many of the runs are too short for a narrow interval, if any are.
pub(crate) fn notes<'r>(runs: impl IntoIterator<Item = &'r Run>) -> Vec<String> {
    let simulated: Vec<_> = runs.into_iter().filter_map(|run| run.simulation.as_ref()).collect();
    let of_machine = |results::Simulation { title, digest, constants, trust, .. }: &_| {
        let count = |basis: Basis| (basis.name(), constants.get(basis.name()).copied().unwrap_or_default());
        told(title, digest, &Basis::ALL.map(count), trust)
    };
    let machines: BTreeSet<String> = simulated.iter().copied().map(of_machine).collect();
    let is_wide = |one: &&results::Simulation| one.half_width.is_none_or(|width| width > ERROR_MAX);
    let wide = simulated.iter().copied().filter(is_wide).count();
    let short = (wide > 0).then(|| {
        format!(
            "SHORT: of {}, {wide} committed too little for a narrow interval: the 95% interval of the throughput of \
             such a run reaches further than {} to either side, or is unknown; more `txns` narrow it.",
            plural(simulated.len(), "simulated run"),
            percent(ERROR_MAX)
        )
    });
    machines.into_iter().chain(short).collect()
}

/// Returns a sentence for each machine that a study names, as a fixed value or on an axis: see [`notes`].
pub(crate) fn told_by(fixed: &BTreeMap<String, String>, axes: &[Axis]) -> Vec<String> {
    let axis = axes.iter().find(|axis| axis.name == "machine");
    let varied = axis.and_then(|axis| axis.choices.as_ref()).into_iter().flatten();
    let named = fixed.get("machine").into_iter().chain(varied);
    // A machine whose file is gone since then has no sentence: the runs say the same.
    named.filter_map(|name| SimulationPlan::whole(name).ok()).map(|plan| plan.told()).collect()
}

fn told(title: &str, digest: &str, constants: &[(&str, u64)], trust: &str) -> String {
    let all: u64 = constants.iter().map(|(_, count)| count).sum();
    let counts: Vec<String> = constants.iter().map(|(basis, count)| format!("{count} {basis}")).collect();
    format!(
        "SIMULATED: {title} (digest {digest}). Of its {all} constants, {} (docs/book/machines.md): {trust}.",
        counts.join(", ")
    )
}

/// Returns the limit of a plan's simulated runs in words.
pub(crate) fn limit(plan: &Plan) -> String {
    let Limit::Estimate(estimate) = plan.job.limit else { panic!("simulated runs go by commits") };
    format!("at least {} commits a worker after {}", estimate.commits, estimate.warmup_commits)
}

/// Returns the nanoseconds of the simulated machine in which transactions ran, warm-up included.
pub(crate) fn simulated_ns(record: &Record) -> u64 {
    record.measured.series.warmup_ns + record.measured.measured_ns
}

/// Returns the names of the machines that the program brings along.
fn names() -> Vec<&'static str> {
    Machine::built_in().into_iter().map(|(name, _)| name).collect()
}

/// Returns the text by which a machine is asked for that differs from another one in a constant.
pub(crate) fn changed_machine(asked: &str, path: &str, factor: f64) -> String {
    format!("{asked}{CHANGE}{path}{TIMES}{factor}")
}

/// Stands before the path of a constant that is multiplied, and between the path and the factor.
const CHANGE: char = '@';
const TIMES: char = '*';

/// Returns the machine of a name, or else of a file, with constants multiplied: `epyc@memory.latency_ns*1.3`.
///
/// # Errors
/// There is no such machine and no such file, the file is not correct, or there is no such constant.
pub fn machine_of(asked: &str) -> Result<Machine, Refusal> {
    let Some((whole, change)) = asked.rsplit_once(CHANGE).filter(|_| !Path::new(asked).exists()) else {
        return read_file(asked);
    };
    let refuse = |says: String| Refusal(format!("`--machine {asked}`: {says}"));
    let parts = change.split_once(TIMES);
    let Some((path, factor)) = parts.and_then(|(path, factor)| Some((path, factor.parse().ok()?))) else {
        return Err(refuse(format!(
            "`{change}` changes no constant: write the machine, `{CHANGE}`, a constant, `{TIMES}` and a factor, as in \
             'epyc{CHANGE}memory.latency_ns{TIMES}1.3'"
        )));
    };
    let scaled = machine_of(whole)?.scaled(path, factor).map_err(|error| refuse(error.to_string()))?;
    let title = format!("{}, with {path} times {factor}", scaled.title);
    Ok(Machine { name: format!("{}{CHANGE}{change}", scaled.name), title, ..scaled })
}

/// The maximum length of the file of a machine: a hundred times that of those that the program brings along.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Reads the machine of a name, or else of a file.
fn read_file(asked: &str) -> Result<Machine, Refusal> {
    let told = |error: machine::MachineError| Refusal(format!("`--machine`: {error}"));
    if let Some(text) = Machine::of_name(asked) {
        return Machine::read(text, asked).map_err(told);
    }
    let is_file = fs::metadata(asked).map(|of| of.is_file() && of.len() <= FILE_BYTES_MAX);
    if matches!(is_file, Ok(false)) {
        return Err(Refusal(format!(
            "`--machine {asked}`: no regular file of at most {FILE_BYTES_MAX} bytes: each run reads it again; give the \
             path of a file as in docs/book/machines.md"
        )));
    }
    match fs::read_to_string(Path::new(asked)) {
        Ok(text) => Machine::read(&text, asked).map_err(told),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(unknown(asked)),
        Err(error) => Err(Refusal(format!(
            "`--machine {asked}`: cannot be read ({error}): give the path of a file as in docs/book/machines.md"
        ))),
    }
}

fn unknown(asked: &str) -> Refusal {
    let names = names();
    Refusal(match nearest(asked, names.iter().copied()) {
        Some(near) => format!("unknown machine `{asked}`; did you mean `{near}`?"),
        None => format!(
            "no machine and no file is called `{asked}`: give one of {}, or the path of a file as in \
             docs/book/machines.md",
            names.join(", ")
        ),
    })
}

fn within(name: &str, value: u64, legal: RangeInclusive<u64>, machine: &str) -> Result<(), Refusal> {
    if legal.contains(&value) {
        return Ok(());
    }
    let (least, most) = (legal.start(), legal.end());
    Err(Refusal(format!("`{name} {value}`: must be a whole number from {least} to {most} on {machine}")))
}

/// Refuses options that mean something in simulated runs only.
fn refuse_without_machine(request: &Request, values: &Values) -> Result<(), Refusal> {
    if values.text("run.rows") == "implicit" {
        let says = "`run.rows=implicit` is of simulated runs: add `--machine NAME`, or leave it out: a native run \
                    loads all rows";
        return Err(Refusal(says.to_owned()));
    }
    let given = [
        ("--machine-digest", request.machine_digest.is_some()),
        ("--placement", request.placement.is_some()),
        ("--memory", request.memory.is_some()),
        ("--smt", request.smt.is_some()),
        ("--warmup-txns", request.warmup_txns.is_some()),
        ("--patience", request.patience.is_some()),
        ("--lookahead-ns", request.lookahead_ns.is_some()),
    ];
    let Some((name, _)) = given.into_iter().find(|(_, is_given)| *is_given) else { return Ok(()) };
    Err(Refusal(format!("`{name}` is of simulated runs: add `--machine NAME`, or leave it out")))
}

/// Refuses options that need devices, memory or cores of the host.
fn refuse_devices(request: &Request, values: &Values) -> Result<(), Refusal> {
    let durability = values.text("run.durability");
    let refuse =
        |given: String, says: &str| Err(Refusal(format!("`{given}`: a simulated run {says}: leave it out")));
    if durability != "none" {
        return refuse(format!("run.durability={durability}"), "has no device for a log");
    }
    if !request.log.is_empty() {
        return refuse("--log".to_owned(), "has no device for a log");
    }
    if request.pin {
        return refuse(
            "--pin".to_owned(),
            "has no cores of this machine, and `--placement` places its workers",
        );
    }
    let reserve_mb = values.text("run.reserve_mb");
    if reserve_mb != "auto" {
        return refuse(format!("run.reserve_mb={reserve_mb}"), "has no page faults to avoid");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;
    use crate::measure::tests::record;
    use crate::registry::tests::catalogue;
    use crate::sweep::{Recipe, Sweep};

    fn request() -> Request {
        let set = vec!["ycsb.records=1000".to_owned()];
        let (machine, schemes) = (Some("epyc".to_owned()), Some("silo".to_owned()));
        Request { schemes, machine, set, ..Request::new("ycsb") }
    }

    fn plan(request: &Request) -> Plan {
        Plan::new(catalogue(), request).expect("legal")
    }

    #[test]
    fn a_simulated_plan_has_the_cores_of_its_machine_and_goes_by_commits() {
        let plan = plan(&request());
        let Limit::Estimate(estimate) = plan.job.limit else { panic!("no time") };
        assert_eq!((plan.job.workers, plan.reserve_bytes, estimate.commits), (128, 0, TXNS));
        assert_eq!(plan.simulated_txns(), 128 * (WARMUP_TXNS + TXNS));
        let choices = json::choices(&plan, 0);
        let of = |name: &str| choices.get(name).map(|choice| choice.to_string());
        assert_eq!(
            (of("machine").as_deref(), of("placement").as_deref()),
            (Some("epyc"), Some("cores_first"))
        );
        assert_eq!(
            of("machine_digest"),
            plan.simulation.as_ref().map(|simulation| simulation.digest.clone())
        );
    }

    #[test]
    fn the_length_of_a_run_can_be_chosen_and_is_a_choice_of_its_results() {
        let chosen = Request { txns: Some(30), warmup_txns: Some(40), patience: Some(2), ..request() };
        let shorter = plan(&chosen);
        let Limit::Estimate(estimate) = shorter.job.limit else { panic!("no time") };
        assert_eq!((estimate.warmup_commits, estimate.commits, estimate.patience), (40, 30, 2));
        let of = |plan: &Plan, name: &str| json::choices(plan, 0).get(name).map(|choice| choice.to_string());
        assert_eq!(of(&shorter, "warmup_txns").as_deref(), Some("40"));
        assert_eq!(of(&shorter, "patience").as_deref(), Some("2"));
        let standard = plan(&request());
        assert_eq!((of(&standard, "warmup_txns"), of(&standard, "patience")), (None, None));
        for (name, wrong) in [
            ("--warmup-txns 0", Request { warmup_txns: Some(0), ..request() }),
            ("--patience 0", Request { patience: Some(0), ..request() }),
            ("--patience 1001", Request { patience: Some(PATIENCE_MAX + 1), ..request() }),
            ("--warmup-txns", Request { machine: None, warmup_txns: Some(40), ..request() }),
            ("--patience", Request { machine: None, patience: Some(2), ..request() }),
        ] {
            let says = Plan::new(catalogue(), &wrong).expect_err("refused").0;
            assert!(says.contains(name), "{says}");
        }
    }

    #[test]
    fn threads_of_a_core_can_be_left_out_and_then_the_machine_is_another() {
        let (all, one) = (plan(&request()), plan(&Request { smt: Some(1), ..request() }));
        let of = |plan: &Plan| plan.simulation.clone().expect("simulated");
        assert_eq!((of(&all).machine.threads(), of(&one).machine.threads()), (256, 128));
        assert_eq!((of(&all).smt, of(&one).smt), (None, Some(1)));
        assert_ne!(of(&all).digest, of(&one).digest);
        let whole = plan(&Request { smt: Some(2), ..request() });
        assert_eq!(of(&whole).digest, of(&all).digest);
    }

    #[test]
    fn trust_is_that_of_the_weakest_constant_that_a_run_uses() {
        let simulation = plan(&request()).simulation.expect("simulated");
        let idle = simulation.machine.constants.iter().filter(|constant| !constant.is_in_use());
        let counted: usize = simulation.constants().iter().map(|(_, count)| count).sum();
        assert_eq!(counted + idle.count(), simulation.machine.constants.len());
        assert_eq!(simulation.weakest(), Basis::Assumed);
        let mut firmer = simulation.clone();
        firmer.machine.constants.retain(|constant| constant.basis == Basis::Measured);
        assert_eq!(firmer.weakest(), Basis::Measured);
        assert!(simulation.told().contains("assumed") && !firmer.trust().contains("assumed"));
        assert!(firmer.trust().ends_with("before you trust absolute figures"), "{}", firmer.trust());
        firmer.machine.compared = Some("ratios were off by a half".to_owned());
        assert!(firmer.told().ends_with("absolute figures; ratios were off by a half."), "{}", firmer.told());
    }

    #[test]
    fn runs_with_wide_intervals_are_counted() {
        let run = |half_width| Run {
            simulation: Some(results::Simulation { half_width, ..results::Simulation::default() }),
            ..Run::default()
        };
        let runs = [Some(0.01), Some(0.029), Some(0.031), None].map(run);
        assert_eq!(notes(&runs[..2]).len(), 1, "nothing is said of narrow intervals");
        let said = notes(&runs);
        assert!(
            said[1].starts_with("SHORT: of 4 simulated runs, 2 committed too little for a narrow interval"),
            "{said:?}"
        );
        assert!(notes(&[Run::default()]).is_empty(), "of native runs nothing is said");
    }

    #[test]
    fn shares_of_the_time_are_one_together_even_if_accesses_take_more_time() {
        let plan = plan(&Request { workers: Some(1), ..request() });
        let counts = TimedCounts::default();
        for (memory, instructions) in [(250_000_000_000, 0.75), (3_000_000_000_000, 0.0)] {
            let spent = Spent { memory, ..Spent::default() };
            let costs = SimulationCosts {
                counts,
                spent,
                hottest: Vec::new(),
                hot_parts: Vec::new(),
                host_ns: 5_000_000_000,
                implicit_rows: 0,
            };
            let record = Record { simulated: Some(costs.clone()), ..record(0, 0, 100) };
            let shares = costs.shares(&plan, &record);
            assert!((shares.iter().map(|(_, share)| share).sum::<f64>() - 1.0).abs() < 1e-9, "{shares:?}");
            assert!((shares[0].1 - instructions).abs() < 1e-9, "{shares:?}");
            assert_eq!(costs.slowdown(&record), Some(5.0));
        }
    }

    #[test]
    fn machines_are_options_of_recipes_and_their_constants_are_part_of_the_id() {
        let folder = std::env::temp_dir().join(format!("contend-machine-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("writable");
        let file = folder.join("mine.toml");
        let epyc = Machine::of_name("epyc").expect("built in");
        let sweep = |text: &str| {
            fs::write(&file, text).expect("writable");
            let recipe = format!(
                "title = \"a test\"\nworkload = \"ycsb\"\nschemes = [\"silo\"]\nrepeat = 1\n[settings]\nworkers = \
                 4\ntxns = 20\n[vary]\nmachine = [\"epyc\", \"{}\"]\nplacement = [\"scatter\"]\n",
                file.display()
            );
            let recipe = Recipe::parse(catalogue(), &recipe).expect("legal");
            let mut units = Sweep::new(catalogue(), recipe, "a build").expect("possible").units;
            units.sort_by(|a, b| a.point.cmp(&b.point));
            units
        };
        let first = sweep(epyc);
        let changed = sweep(&epyc.replacen("value = 2.25", "value = 2.5", 1));
        fs::remove_dir_all(folder).expect("its own directory");
        let line = first
            .iter()
            .find_map(|unit| Some(unit.line()).filter(|line| line.contains(" epyc ")))
            .expect("a unit");
        assert!(line.contains("--txns 20 --machine epyc --machine-digest ") && !line.contains("--seconds"));
        assert!(line.contains(" --placement scatter"));
        let of_file = |unit: &&crate::sweep::Unit| unit.point[0].ends_with("mine.toml");
        let id = |units: &[crate::sweep::Unit], is_of_file: bool| {
            units.iter().find(|unit| of_file(unit) == is_of_file).expect("a unit").id.clone()
        };
        assert_eq!(id(&first, false), id(&changed, false));
        assert_ne!(id(&first, true), id(&changed, true));
    }
}
