//! Plans: requests that are checked completely before anything is loaded.

use std::collections::BTreeSet;
use std::path::PathBuf;

use engine::driver::{Admission, ClientMode, Job, Limit, Retry};
use engine::entry::Published;
use engine::setting::Values;
use engine::{Admits, Drive, Family, Forecast, Info, Isolation, levers};
use results::TunedSetting;
use runs::{Layout, Spec, WorkloadInfo};
use serde_json::Value;
use simulations::{FirstRows, SimulatedInstance, SimulationSpec};
use stdx::Rng;
use sync::workers;

use crate::logs::Logs;
use crate::registry::{Listed, pairs};
use crate::simulation::TXNS_MAX;
use crate::traffic::{Arrival, traffic};
use crate::{Catalogue, MemoryPolicy, Placement, Refusal, SimulationPlan, json, machine, mix, steady};

/// The maximum numbers of workers and of clients: far more than a machine needs, and few enough to start.
const WORKERS_MAX: u64 = 1_024;
const CLIENTS_MAX: u64 = 20_000;
/// The maximum of each time of a run, in seconds: a day.
const SECONDS_MAX: f64 = 86_400.0;
const REPEAT_MAX: u64 = 1_000;
/// The assumed number of transactions that a host simulates in a second, and the assumed seconds for the start and the
/// end of a simulated run, to guess the time of many: two cores make two of them side by side.
const SIMULATED_TXN_S: f64 = 8_000.0;
const SIMULATED_START_S: f64 = 1.0;
/// The assumed number of transactions that a core commits in a second, to guess the time of a native run that goes by
/// requests.
const NATIVE_TXN_S: f64 = 200_000.0;

/// A request for runs, as it is typed or as a recipe has it.
#[derive(Clone, Debug)]
pub struct Request {
    /// The workload's name.
    pub workload: String,
    /// Names of schemes with commas between them, or `all`. If `None`, the schemes that are no baselines.
    pub schemes: Option<String>,
    /// The name of a machine to simulate the runs on, or the path of its file. If `None`, the runs are native.
    pub machine: Option<String>,
    /// The digest that the simulated machine must have, so that a file that has changed meanwhile is noticed. If
    /// `None`, any.
    pub machine_digest: Option<String>,
    /// The order in which workers get the hardware threads of a simulated machine.
    pub placement: Option<Placement>,
    /// The sockets on which the memory of a simulated run is. If `None`, it is interleaved over those that are used.
    pub memory: Option<MemoryPolicy>,
    /// The number of hardware threads of a core that a simulated run uses. If `None`, all of them.
    pub smt: Option<u64>,
    /// The least number of commits of a worker, in the mean, that a simulated run counts. If `None`, 500. A native run
    /// serves this number of requests a worker, in the mean, and counts all of them. If `None`, it goes by time.
    pub txns: Option<u64>,
    /// The number of commits of a worker, in the mean, before a simulated run begins to count. If `None`, 200.
    pub warmup_txns: Option<u64>,
    /// The greatest multiple of the time of the least number of commits for which a simulated run waits until the 95%
    /// interval of its throughput is narrow. If `None`, 10.
    pub patience: Option<u64>,
    /// Nanoseconds of the simulated machine for which a hardware thread may run ahead of the others, for a faster and
    /// less exact simulation. If `None`, 0.
    pub lookahead_ns: Option<u64>,
    /// The number of threads that execute. If `None`, one for each core, also of a simulated machine; if there is a
    /// log, one core is left to it.
    pub workers: Option<u64>,
    /// The number of logical sessions in flight. If `None`, one for each worker, or the workload's terminals.
    pub clients: Option<ClientCount>,
    /// Measured seconds. Simulated runs, and native ones with a number of requests, do not go by time.
    pub seconds: f64,
    /// Seconds of warm-up before the measured time. It is a maximum if the warm-up ends when the run is steady.
    pub warmup: f64,
    /// Whether the warm-up ends as soon as the run is steady.
    pub until_steady: bool,
    /// Seconds after the measured time during which the load goes on.
    pub cooldown: f64,
    /// The number of runs of each scheme.
    pub repeat: u64,
    /// The seed of all random numbers.
    pub seed: u64,
    /// Settings as `name=value`.
    pub set: Vec<String>,
    /// The values of those settings of schemes that are not in `set`.
    pub standard: StandardValues,
    /// The reaction of a client to an abort by the scheme.
    pub retry: Retry,
    /// The content of a client's message.
    pub mode: ClientMode,
    /// Microseconds of a round trip between a client and its worker. If `None`, there is no network between them.
    pub rtt_us: Option<u64>,
    /// The number of requests that a client sends in one message.
    pub batch: u64,
    /// The arrival process of requests.
    pub arrivals: Arrival,
    /// Arrivals a second, if the arrivals are open-loop.
    pub rate: Option<f64>,
    /// Whether workers stay on their cores.
    pub pin: bool,
    /// Directories of the log, one for each device, if `run.durability` asks for a log. If empty, the log goes to the
    /// directory of temporary files, and is removed after the run.
    pub log: Vec<PathBuf>,
    /// Whether runs are checked.
    pub check: bool,
}

impl Request {
    /// Returns the standard request for a workload.
    pub fn new(workload: &str) -> Self {
        Self {
            workload: workload.to_owned(),
            schemes: None,
            machine: None,
            machine_digest: None,
            placement: None,
            memory: None,
            smt: None,
            txns: None,
            warmup_txns: None,
            patience: None,
            lookahead_ns: None,
            workers: None,
            clients: None,
            seconds: 5.0,
            warmup: 1.0,
            until_steady: false,
            cooldown: 0.0,
            repeat: 1,
            seed: 1,
            set: Vec::new(),
            standard: StandardValues::Tuned,
            retry: Retry::Same,
            mode: ClientMode::Procedure,
            rtt_us: None,
            batch: 1,
            arrivals: Arrival::Closed,
            rate: None,
            pin: false,
            log: Vec::new(),
            check: true,
        }
    }
}

/// The values of the settings of schemes that a request does not give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandardValues {
    /// The standard values of this laboratory.
    Tuned,
    /// Those of the schemes' authors, and the standard ones where the authors state none or the same.
    Published,
}

/// A number of logical sessions, as it is written: `64`, or `10x` for ten of each worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientCount {
    /// So many in all.
    All(u64),
    /// So many of each worker.
    PerWorker(u64),
}

impl ClientCount {
    /// Returns the number in all.
    pub fn of(self, workers: u64) -> u64 {
        match self {
            Self::All(count) => count,
            Self::PerWorker(count) => count.saturating_mul(workers),
        }
    }
}

impl core::str::FromStr for ClientCount {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let count = match text.strip_suffix('x') {
            Some(count) => count.parse().map(Self::PerWorker),
            None => text.parse().map(Self::All),
        };
        count.map_err(|_| {
            Refusal(format!(
                "`{text}` is no number of clients: give one, for example 64, or `10x` for ten a worker"
            ))
        })
    }
}

impl core::fmt::Display for ClientCount {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::All(count) => write!(f, "{count}"),
            Self::PerWorker(count) => write!(f, "{count}x"),
        }
    }
}

/// The length of a warm-up, as it is written: seconds, or `auto`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WarmUpLength {
    /// This number of seconds.
    Seconds(f64),
    /// Until the run is steady.
    Auto,
}

impl core::str::FromStr for WarmUpLength {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        match text {
            "auto" => Ok(Self::Auto),
            _ => text.parse().map(Self::Seconds).map_err(|_| {
                Refusal(format!("`{text}` is no warm-up: give seconds, for example 1.5, or `auto`"))
            }),
        }
    }
}

impl WarmUpLength {
    /// Returns the two fields of a [`Request`]: the seconds at most, and whether the warm-up may end earlier.
    pub fn of_request(self) -> (f64, bool) {
        match self {
            Self::Seconds(seconds) => (seconds, false),
            Self::Auto => (steady::WARMUP_S_MAX, true),
        }
    }
}

/// A scheme of a plan, with the values of its own settings and of the workload's settings.
#[derive(Clone, Debug)]
pub struct PlannedScheme {
    /// The scheme.
    pub scheme: &'static Info,
    /// The values of the settings.
    pub values: Values,
    /// The number of clients of its runs: the requested number, or more if the scheme needs more.
    pub clients: usize,
    pub(crate) run: runs::Instance,
    pub(crate) simulated: SimulatedInstance,
}

impl PlannedScheme {
    /// Returns the isolation that the scheme promises under these values.
    pub fn isolation(&self) -> Isolation {
        self.run.facts(&self.values).isolation
    }
}

/// A request that was found possible, with its runs in the order in which they are to be made.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The catalogue of the schemes.
    pub(crate) catalogue: Catalogue,
    /// The workload.
    pub workload: &'static WorkloadInfo,
    /// The schemes, in the requested order.
    pub subjects: Vec<PlannedScheme>,
    /// The simulation of the runs; `None` if they are native.
    pub simulation: Option<SimulationPlan>,
    /// The way in which runs are driven. The times of simulated runs are those of the simulated machine.
    pub job: Job,
    /// The number of requests of a worker, in the mean, that native runs serve; `None` if they go by time.
    pub requests: Option<u64>,
    /// The number of runs of each scheme.
    pub repeat: usize,
    /// Whether runs are checked.
    pub check: bool,
    /// The forecast of a run: what the settings stress, and how much is loaded.
    pub forecast: Forecast,
    /// Bytes of memory that are requested from the system before each run.
    pub reserve_bytes: usize,
    /// The logs of the runs; `None` if nothing is logged.
    pub(crate) logs: Option<Logs>,
    /// The runs in their order. Each is a pair of a scheme's position in `subjects` and a round.
    pub order: Vec<(usize, usize)>,
}

impl Plan {
    /// Checks a request.
    ///
    /// # Errors
    /// Anything unknown, out of range, contradictory, or beyond the available memory.
    pub fn new(catalogue: Catalogue, request: &Request) -> Result<Self, Refusal> {
        let plan = Self::for_any_scheme(catalogue, request)?;
        let refusal = |subject| Some((subject, plan.suits(subject).err()?));
        let mut refused = plan.subjects.iter().filter_map(refusal);
        let Some((_, Refusal(why))) = refused.next() else { return Ok(plan) };
        let others: Vec<_> = refused.map(|(subject, _)| subject.scheme.name).collect();
        Err(Refusal(if others.is_empty() {
            why
        } else {
            format!("{why} (refused, too: {})", others.join(", "))
        }))
    }

    /// Checks everything about a request except whether its schemes can run it, which [`suits`](Self::suits) checks.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub(crate) fn for_any_scheme(catalogue: Catalogue, request: &Request) -> Result<Self, Refusal> {
        let workload = catalogue.workload(&request.workload)?;
        let schemes = catalogue.schemes_of(request.schemes.as_deref())?;
        let mut given = pairs(&request.set)?;
        refuse_settings_of_absent_schemes(catalogue, &schemes, &given)?;
        if request.standard == StandardValues::Published {
            add_published(catalogue, &schemes, &mut given);
        }
        let shared = catalogue.values(workload, None, &given)?;
        let mut simulation = SimulationPlan::of_request(request, &shared)?;
        let job = job(request, simulation.as_ref(), &shared, runs::terminals(workload.name, &shared))?;
        let drive = Drive { workers: job.workers as u32, clients: job.clients as u32, seed: job.seed };
        let forecast = runs::forecast(workload.name, &shared, drive)?;
        if let Some(simulation) = &mut simulation {
            simulation.decide_rows(&shared, &forecast)?;
        }
        let subject = |scheme: &'static Info| {
            let values = catalogue.values(workload, Some(scheme), &given)?;
            let Listed { run, simulated, .. } = *catalogue.listed(scheme.name);
            let clients = run.facts(&values).clients(job.clients, job.workers);
            Ok(PlannedScheme { scheme, values, clients, run, simulated })
        };
        let subjects = schemes.into_iter().map(subject).collect::<Result<Vec<_>, Refusal>>()?;
        let apart = have_versions_apart(&subjects);
        if simulation.as_ref().is_none_or(|simulation| simulation.rows == FirstRows::Loaded) {
            refuse_beyond_memory(workload, &shared, (&forecast, apart), machine::available_bytes())?;
        }
        let repeat = within("--repeat", request.repeat, 1, REPEAT_MAX)? as usize;
        if repeat > 1 && simulation.is_some() {
            return Err(Refusal(format!(
                "`--repeat {repeat}`: a simulated run is the same each time: leave it out, and repeat with other seeds \
                 (`--seed`), as the repetitions of a recipe do (`contend sweep`)"
            )));
        }
        let order = order(subjects.len(), repeat, request.seed);
        let reserve_bytes = reserve_bytes(&shared, &job, (&forecast, apart), machine::available_bytes())?;
        let (check, logs) = (request.check, Logs::new(request, &shared)?);
        let requests = request.txns.filter(|_| simulation.is_none());
        let plan = Self {
            catalogue,
            workload,
            subjects,
            simulation,
            job,
            requests,
            repeat,
            check,
            forecast,
            reserve_bytes,
            logs,
            order,
        };
        plan.refuse_touched_beyond_memory(machine::available_bytes())?;
        Ok(plan)
    }

    /// Checks that a scheme can run the plan. Other schemes may be able to if this one is not.
    ///
    /// # Errors
    /// A scheme that cannot run the plan. The text says why, and what to change.
    pub(crate) fn suits(&self, subject: &PlannedScheme) -> Result<(), Refusal> {
        refuse_for_scheme(subject.scheme, &self.job)?;
        Ok(runs::admit(&self.spec(subject))?)
    }

    /// Returns the schemes that have more clients than requested.
    pub(crate) fn raised(&self) -> impl Iterator<Item = &PlannedScheme> {
        self.subjects.iter().filter(|subject| subject.clients > self.job.clients)
    }

    /// Returns the seconds of a run's warm-up, measured time, and cool-down. Of a simulated run, only the longest
    /// measured time is known, in seconds of the simulated machine.
    pub(crate) fn times_s(&self) -> [f64; 3] {
        let times_ns = match self.job.limit {
            Limit::Time { warmup_ns, measured_ns, cooldown_ns } => [warmup_ns, measured_ns, cooldown_ns],
            Limit::Estimate(estimate) => [0, estimate.longest_ns, 0],
            Limit::Requests(_) => [0; 3],
        };
        times_ns.map(|ns| ns as f64 / 1e9)
    }

    /// Returns the maximum seconds of a run, without loading, checking, and the transactions in flight at its end; of a
    /// run that does not go by time, a guess.
    pub fn lasts_s(&self) -> f64 {
        match self.job.limit {
            Limit::Estimate(_) => SIMULATED_START_S + self.simulated_txns() as f64 / SIMULATED_TXN_S,
            Limit::Requests(_) => self.all_requests() as f64 / (NATIVE_TXN_S * cores_of(&self.job)),
            Limit::Time { .. } => self.times_s().iter().sum(),
        }
    }

    /// Returns the number of requests that the first scheme's native runs serve, all workers together; 0 if they go by
    /// time, or are simulated.
    pub fn all_requests(&self) -> u64 {
        let Limit::Requests(count) = self.limit(&self.subjects[0]) else { return 0 };
        count.saturating_mul(self.subjects[0].clients as u64)
    }

    /// Returns the length of a subject's runs: its clients share the requests of their workers.
    fn limit(&self, subject: &PlannedScheme) -> Limit {
        let (workers, clients) = (self.job.workers as u64, subject.clients as u64);
        self.requests.map_or(self.job.limit, |requests| request_limit(requests, workers, clients))
    }

    /// Returns the number of rows that are loaded before a run: fewer than the workload has, if rows are made when they
    /// are touched.
    pub(crate) fn loaded_rows(&self) -> u64 {
        let is_implicit = self.simulation.as_ref().is_some_and(|it| it.rows == FirstRows::Implicit);
        let implicit = self.forecast.implicit.filter(|_| is_implicit).map_or(0, |implicit| implicit.rows);
        self.forecast.rows.saturating_sub(implicit)
    }

    /// Returns the least number of transactions that a simulated run executes; 0 for native runs.
    pub(crate) fn simulated_txns(&self) -> u64 {
        let Limit::Estimate(estimate) = self.job.limit else { return 0 };
        (estimate.warmup_commits + estimate.commits).saturating_mul(self.job.workers as u64)
    }

    /// Returns the share of each type of transaction among the requests that clients will send, in the order of the
    /// workload's types.
    ///
    /// # Errors
    /// None: [`new`](Self::new) has excluded all errors.
    pub(crate) fn mix(&self) -> Result<Vec<f64>, Refusal> {
        let Job { workers, clients, seed, .. } = self.job;
        let drive = Drive { workers: workers as u32, clients: clients as u32, seed };
        Ok(mix::shares(self.workload.name, &self.subjects[0].values, drive)?)
    }

    /// Returns the names of all choices for the first scheme's runs that differ from those of another plan: settings,
    /// workers, clients and the like. Standard values are resolved first.
    pub(crate) fn differs(&self, other: &Self) -> BTreeSet<String> {
        let flat = |plan: &Self| {
            let mut chosen = json::conditions(plan, 0);
            if let Some(Value::Object(settings)) = chosen.remove("settings") {
                chosen.extend(settings);
            }
            chosen
        };
        let (own, others) = (flat(self), flat(other));
        let names = own.keys().chain(others.keys());
        names.filter(|name| own.get(*name) != others.get(*name)).cloned().collect()
    }

    /// Returns the specification of a subject's simulated runs.
    pub(crate) fn simulation_spec<'p>(
        &'p self,
        subject: &'p PlannedScheme,
        simulation: &'p SimulationPlan,
    ) -> SimulationSpec<'p> {
        SimulationSpec {
            workload: self.workload.name,
            values: &subject.values,
            job: self.job,
            layout: layout(&subject.values),
            machine: &simulation.machine,
            placement: simulation.placement,
            memory: simulation.memory,
            lookahead_ps: simulation.lookahead_ps,
            rows: simulation.rows,
            check: self.check,
        }
    }

    /// Returns the specification of a subject's runs.
    pub(crate) fn spec<'p>(&'p self, subject: &'p PlannedScheme) -> Spec<'p> {
        Spec {
            workload: self.workload.name,
            scheme: subject.run,
            values: &subject.values,
            job: Job { limit: self.limit(subject), ..self.job },
            layout: layout(&subject.values),
            reserve_bytes: self.reserve_bytes,
            logging: self.logs.as_ref().map(Logs::logging),
            check: self.check,
        }
    }
}

fn layout(values: &Values) -> Layout {
    let layout = Layout {
        is_ordered_only: values.text("run.index") == "ordered",
        has_versions_apart: values.text("run.versions") == "apart",
        ..Layout::default()
    };
    levers::lay_out(values, layout)
}

fn job(
    request: &Request,
    simulation: Option<&SimulationPlan>,
    values: &Values,
    terminals: Option<u64>,
) -> Result<Job, Refusal> {
    let free = standard_workers(values.text("run.durability") != "none");
    let workers = match simulation {
        Some(simulation) => simulation.workers(request.workers)?,
        None => self::workers(request.workers.or(Some(free)))? as u64,
    };
    let asked = request.clients.map(|count| count.of(workers));
    let clients = within("--clients", asked.or(terminals).unwrap_or(workers), workers, CLIENTS_MAX)
        .map_err(|refusal| Refusal(format!("{refusal}; each worker serves a client or more")))?;
    let traffic = traffic(request, values, terminals.is_some())?;
    let pause_ns = values.int("run.pause_us") * 1_000;
    let limit = match (simulation, request.txns) {
        (Some(simulation), _) => simulation.limit(pause_ns > 0 || !traffic.is_immediate()),
        (None, Some(requests)) => {
            refuse_open_loop(request)?;
            request_limit(within("--txns", requests, 1, TXNS_MAX)?, workers, clients)
        }
        (None, None) => time_limit(request)?,
    };
    Ok(Job {
        workers: workers as usize,
        clients: clients as usize,
        retry: request.retry,
        limit,
        seed: request.seed,
        pause_ns,
        abort_ns: values.int("run.abort_us") * 1_000,
        backoff_ns: values.int("run.backoff_us") * 1_000,
        admission: admission(values),
        turn_after: values.int("run.turn_after") as u32,
        reads_first: levers::reads_first(values),
        rehearses: levers::rehearses(values),
        reorder: levers::reorder(values),
        pin: request.pin,
        sample_every: values.int("run.sample_every"),
        latencies: true,
        traffic,
        is_steady: (request.until_steady && matches!(limit, Limit::Time { .. })).then_some(steady::is_warm),
    })
}

fn admission(values: &Values) -> Admission {
    match values.text("run.admission") {
        "open" => Admission::Open,
        "single" => Admission::Single,
        _ => Admission::Regulated,
    }
}

/// Returns the length of runs that serve so many requests of a worker, in the mean: each client has an equal share,
/// rounded up.
fn request_limit(requests: u64, workers: u64, clients: u64) -> Limit {
    Limit::Requests((requests * workers).div_ceil(clients))
}

/// Refuses arrivals that go by time in runs that go by a number of requests.
fn refuse_open_loop(request: &Request) -> Result<(), Refusal> {
    if request.arrivals == Arrival::Closed {
        return Ok(());
    }
    Err(Refusal(format!(
        "`--txns` with `--arrivals {}`: requests of an open loop arrive by time: give `--seconds` in place of `--txns`",
        request.arrivals.name()
    )))
}

fn time_limit(request: &Request) -> Result<Limit, Refusal> {
    let measured_ns = nanoseconds("--seconds", request.seconds)?;
    if measured_ns == 0 {
        return Err(Refusal(
            "`--seconds 0` measures nothing: give a time, for example `--seconds 5`".to_owned(),
        ));
    }
    Ok(Limit::Time {
        warmup_ns: nanoseconds("--warmup", request.warmup)?,
        measured_ns,
        cooldown_ns: nanoseconds("--cooldown", request.cooldown)?,
    })
}

/// Returns the standard number of workers: one for each core. If there is a log, there is one worker less, since the
/// log's thread needs a core, too. There is at least one worker.
pub(crate) fn standard_workers(is_logged: bool) -> u64 {
    workers::cores().saturating_sub(usize::from(is_logged)).max(1) as u64
}

/// Returns the requested number of workers, or else the number of cores.
pub(crate) fn workers(asked: Option<u64>) -> Result<usize, Refusal> {
    Ok(within("--workers", asked.unwrap_or(workers::cores() as u64), 1, WORKERS_MAX)? as usize)
}

fn within(name: &str, value: u64, min: u64, max: u64) -> Result<u64, Refusal> {
    if (min..=max).contains(&value) {
        Ok(value)
    } else {
        Err(Refusal(format!("`{name} {value}`: must be a whole number from {min} to {max}")))
    }
}

fn nanoseconds(name: &str, seconds: f64) -> Result<u64, Refusal> {
    if (0.0..=SECONDS_MAX).contains(&seconds) {
        Ok((seconds * 1e9) as u64)
    } else {
        Err(Refusal(format!("`{name} {seconds}`: must be a number of seconds from 0 to {SECONDS_MAX}")))
    }
}

/// Adds the settings as the authors of the schemes have them, where the request does not give them.
fn add_published(catalogue: Catalogue, schemes: &[&Info], given: &mut Vec<(String, String)>) {
    for Published { setting, value, .. } in schemes.iter().flat_map(|scheme| catalogue.published(scheme.name))
    {
        if given.iter().all(|(name, _)| name != setting) {
            given.push(((*setting).to_owned(), (*value).to_owned()));
        }
    }
}

fn refuse_settings_of_absent_schemes(
    catalogue: Catalogue,
    schemes: &[&Info],
    given: &[(String, String)],
) -> Result<(), Refusal> {
    for (name, _) in given {
        let owner = catalogue.owner(name);
        if let Some(owner) = owner.filter(|owner| schemes.iter().all(|scheme| scheme.name != *owner)) {
            let says =
                format!("`{name}` is a setting of {owner}, which is not among the schemes: add {owner}");
            return Err(Refusal(says));
        }
    }
    Ok(())
}

fn refuse_for_scheme(scheme: &Info, job: &Job) -> Result<(), Refusal> {
    let name = scheme.name;
    if scheme.workers == Admits::One && (job.workers > 1 || job.clients > 1) {
        let says = format!(
            "{name} does not protect transactions from each other and runs with one worker and one client only: \
             give `--workers 1` (`--cores 1` of `contend simulate`)"
        );
        return Err(Refusal(says));
    }
    Ok(())
}

/// Bytes that a row needs beside its columns under the most expensive scheme: header, version, and index entry at a
/// fill of two thirds.
const ROW_OVERHEAD: u64 = 160;

/// Transactions that a simulated run of several workers may execute for each that it must, since all go on until the
/// slowest has its own: on 1,568 workers there were 2.5.
const UNEVEN: u64 = 3;

/// Returns the bytes of memory that the loaded data takes, without growth during the run.
pub(crate) fn needed_bytes(forecast: &Forecast) -> u64 {
    // A quarter more for later versions of rows that are updated: rows are loaded with their first version only.
    forecast.row_bytes.saturating_mul(5) / 4 + forecast.rows.saturating_mul(ROW_OVERHEAD)
}

/// Returns [`needed_bytes`], with those of versions that stand apart from their records, if there are such.
fn loaded_bytes(forecast: &Forecast, has_versions_apart: bool) -> u64 {
    // A version that stands apart is a block of memory of its own.
    let of_versions = forecast.rows.saturating_mul(ROW_OVERHEAD_BYTES as u64);
    needed_bytes(forecast).saturating_add(if has_versions_apart { of_versions } else { 0 })
}

/// Returns `true` if a scheme keeps versions apart from their records.
fn have_versions_apart(subjects: &[PlannedScheme]) -> bool {
    subjects.iter().any(|PlannedScheme { scheme, values, run, .. }| {
        let is_asked = scheme.family == Family::MultiVersion && layout(values).has_versions_apart;
        is_asked || run.facts(values).has_versions_apart
    })
}

impl Plan {
    /// Returns the settings of a scheme that have their standard values, where its authors have others.
    pub(crate) fn tuned(&self, of: &PlannedScheme) -> impl Iterator<Item = TunedSetting> {
        let values = &of.values;
        let standard =
            |name: &str| self.catalogue.setting(name).is_ok_and(|own| values.text(name) == own.default);
        let published = self.catalogue.published(of.scheme.name).iter();
        published.filter(move |published| standard(published.setting)).map(|published| TunedSetting {
            setting: published.setting.to_owned(),
            value: values.text(published.setting).to_owned(),
            published: published.value.to_owned(),
            place: published.place.to_owned(),
        })
    }

    /// Returns the bytes of memory that the loaded data takes, without growth during the run.
    pub(crate) fn needed_bytes(&self) -> u64 {
        let simulated = self.simulation.as_ref();
        simulated.map_or_else(
            || loaded_bytes(&self.forecast, have_versions_apart(&self.subjects)),
            |simulation| simulation.needed_bytes(&self.forecast, self.simulated_txns_at_most()),
        )
    }

    /// Returns `true` if rows are made when they are touched.
    pub(crate) fn is_implicit(&self) -> bool {
        self.simulation.as_ref().is_some_and(|it| it.rows == FirstRows::Implicit)
    }

    /// Returns the most transactions that a simulated run is expected to execute; 0 for native runs.
    fn simulated_txns_at_most(&self) -> u64 {
        let uneven = if self.job.workers > 1 { UNEVEN } else { 1 };
        self.simulated_txns().saturating_mul(uneven)
    }

    /// Refuses a run that touches more rows than fit into memory, where rows are made when they are touched.
    fn refuse_touched_beyond_memory(&self, available: Option<u64>) -> Result<(), Refusal> {
        let needed = self.needed_bytes();
        let Some(available) = available.filter(|&available| self.is_implicit() && available < needed) else {
            return Ok(());
        };
        Err(Refusal(format!(
            "up to {} transactions touch rows of about {}, and {} of memory are available: ask for fewer with \
             `--txns`, or `txns` in a recipe",
            self.simulated_txns_at_most(),
            crate::text::bytes(needed),
            crate::text::bytes(available)
        )))
    }
}

/// Refuses data that does not fit into memory, without growth during the run.
fn refuse_beyond_memory(
    workload: &WorkloadInfo,
    values: &Values,
    (forecast, has_versions_apart): (&Forecast, bool),
    available: Option<u64>,
) -> Result<(), Refusal> {
    let needed = loaded_bytes(forecast, has_versions_apart);
    let Some(available) = available.filter(|&available| available < needed) else { return Ok(()) };
    let scale = values.int(workload.scale);
    let fits = (scale as f64 * 0.9 * available as f64 / needed as f64) as u64;
    let step = workload.scale_step;
    let instead = match fits / step * step {
        0 => format!("`{}={step}` is too large, too: lower what else makes the data large", workload.scale),
        fitting => format!("lower it to {fitting} or less"),
    };
    Err(Refusal(format!(
        "`{}={scale}` needs about {} of memory, and {} are available: {instead}",
        workload.scale,
        crate::text::bytes(needed),
        crate::text::bytes(available),
    )))
}

/// Commits a second and worker that memory is reserved for: more than a worker makes if transactions add rows.
const FAST_TXN_S: f64 = 250_000.0;
/// Bytes that a row takes beside its columns: the heads of record and version, and the loss by rounding to cache lines.
const ROW_OVERHEAD_BYTES: f64 = 64.0;

/// Returns the number of cores of this machine that a native job's workers keep busy.
fn cores_of(job: &Job) -> f64 {
    job.workers.min(workers::cores()) as f64
}

/// Returns the bytes of memory to request from the system before a run.
fn reserve_bytes(
    values: &Values,
    job: &Job,
    (forecast, has_versions_apart): (&Forecast, bool),
    available: Option<u64>,
) -> Result<usize, Refusal> {
    let txns = match job.limit {
        Limit::Time { warmup_ns, measured_ns, cooldown_ns } => {
            FAST_TXN_S * cores_of(job) * (warmup_ns + measured_ns + cooldown_ns) as f64 / 1e9
        }
        Limit::Requests(of_client) => of_client as f64 * job.clients as f64,
        // A simulated run has no page faults.
        Limit::Estimate(_) => return Ok(0),
    };
    let Ok(asked_mb) = values.text("run.reserve_mb").parse::<u64>() else {
        let blocks = if has_versions_apart { 2.0 } else { 1.0 };
        let of_txn = forecast.growth_bytes as f64 + forecast.growth_rows * blocks * ROW_OVERHEAD_BYTES;
        let growth = (of_txn * txns) as u64;
        return Ok(growth.min(available.unwrap_or(0) / 4) as usize);
    };
    let asked = asked_mb << 20;
    match available.filter(|&available| available < asked) {
        None => Ok(asked as usize),
        Some(available) => Err(Refusal(format!(
            "`run.reserve_mb={asked_mb}`: only {} of memory are available; lower it, or leave it at `auto`",
            crate::text::bytes(available)
        ))),
    }
}

/// Returns the order of runs: round after round, each with all schemes in its own random order, so that slow changes of
/// the machine affect all schemes alike. A single round keeps the requested order.
fn order(schemes: usize, rounds: usize, seed: u64) -> Vec<(usize, usize)> {
    let round = |round: usize| {
        let mut schemes: Vec<usize> = (0..schemes).collect();
        if rounds > 1 {
            stats::shuffle(&mut schemes, &mut Rng::from_path(&[seed, 0x6f72_6465_7221, round as u64]));
        }
        schemes.into_iter().map(move |scheme| (scheme, round))
    };
    (0..rounds).flat_map(round).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::tests::catalogue;

    fn small() -> Request {
        Request { set: vec!["ycsb.records=1000".to_owned()], ..Request::new("ycsb") }
    }

    fn refusal(request: &Request) -> String {
        Plan::new(catalogue(), request).expect_err("refused").0
    }

    #[test]
    fn a_standard_request_is_a_plan_with_a_client_a_worker() {
        let plan = Plan::new(catalogue(), &small()).expect("legal");
        assert_eq!(plan.job.clients, plan.job.workers);
        assert_eq!(plan.order.len(), plan.subjects.len());
        assert_eq!(plan.subjects[0].values.int("ycsb.records"), 1_000);
    }

    #[test]
    fn what_differs_between_two_plans_is_named_with_every_standard_resolved() {
        let with = |pair: &str, workers| {
            let set = [small().set, vec![pair.to_owned()]].concat();
            Plan::new(catalogue(), &Request { set, workers, schemes: Some("silo".to_owned()), ..small() })
                .expect("legal")
        };
        let names = |a: &Plan, b: &Plan| a.differs(b).into_iter().collect::<Vec<String>>();
        let (plain, logged) = (with("ycsb.theta=0.5", Some(1)), with("run.durability=async", Some(1)));
        assert_eq!(names(&plain, &plain), Vec::<String>::new());
        assert_eq!(names(&plain, &logged), ["run.durability", "ycsb.theta"]);
        if workers::cores() > 1 {
            let (plain, logged) = (with("ycsb.theta=0.5", None), with("run.durability=async", None));
            assert_eq!(
                names(&plain, &logged),
                ["clients", "clients_asked", "run.durability", "workers", "ycsb.theta"]
            );
        }
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        assert!(refusal(&Request { workers: Some(0), ..small() }).contains("--workers 0"));
        assert!(
            refusal(&Request { workers: Some(2), clients: Some(ClientCount::All(1)), ..small() })
                .contains("--clients 1")
        );
        assert!(refusal(&Request { seconds: 0.0, ..small() }).contains("measures nothing"));
        assert!(refusal(&Request { seconds: -1.0, ..small() }).contains("--seconds -1"));
        assert!(refusal(&Request { warmup: f64::NAN, ..small() }).contains("--warmup"));
        assert!(refusal(&Request { cooldown: -1.0, ..small() }).contains("--cooldown -1"));
        assert!(refusal(&Request { repeat: 0, ..small() }).contains("--repeat 0"));
    }

    #[test]
    fn settings_of_schemes_that_do_not_run_are_refused() {
        let given = [("silo.epoch_ms".to_owned(), "1".to_owned())];
        let silo = catalogue().scheme("silo").expect("catalogued");
        assert!(refuse_settings_of_absent_schemes(catalogue(), &[], &given).is_err());
        assert!(refuse_settings_of_absent_schemes(catalogue(), &[silo], &given).is_ok());
    }

    #[test]
    fn one_worker_schemes_refuse_more() {
        let info = Info { workers: Admits::One, ..*catalogue().scheme("silo").expect("catalogued") };
        let mut job = Plan::new(catalogue(), &Request { workers: Some(1), ..small() }).expect("legal").job;
        assert!(refuse_for_scheme(&info, &job).is_ok());
        job.clients = 2;
        assert!(refuse_for_scheme(&info, &job).is_err());
        let info = Info { workers: Admits::Any, ..info };
        assert!(refuse_for_scheme(&info, &job).is_ok());
    }

    #[test]
    fn what_a_scheme_s_driver_cannot_do_is_refused_in_its_name() {
        let of = |schemes: &str| Request { schemes: Some(schemes.to_owned()), retry: Retry::Drop, ..small() };
        assert!(Plan::new(catalogue(), &of("silo")).is_ok());
        let says = refusal(&of("silo,aria"));
        assert!(says.starts_with("aria: ") && says.contains("`--retry same`"), "{says}");
    }

    #[test]
    fn a_number_of_clients_is_read_as_it_is_written() {
        for text in ["1", "64", "10x"] {
            assert_eq!(text.parse::<ClientCount>().expect("legal").to_string(), text);
        }
        for text in ["", "x", "-1", "1.5", "10 x", "x10"] {
            let says = text.parse::<ClientCount>().expect_err("refused").0;
            assert!(says.contains("`10x` for ten a worker"), "{says}");
        }
    }

    #[test]
    fn clients_are_those_that_run() {
        let set = ["ycsb.records=1000", "aria.batch=40"].map(str::to_owned).to_vec();
        let schemes = Some("silo,aria".to_owned());
        let plan = |clients| {
            let (set, schemes) = (set.clone(), schemes.clone());
            Plan::new(catalogue(), &Request { set, schemes, workers: Some(2), clients, ..small() })
                .expect("legal")
        };
        let clients = |plan: &Plan| plan.subjects.iter().map(|subject| subject.clients).collect::<Vec<_>>();
        assert_eq!(clients(&plan(None)), [2, 40]);
        assert_eq!(clients(&plan(Some(ClientCount::All(60)))), [60, 60]);
        assert_eq!(clients(&plan(Some(ClientCount::PerWorker(30)))), [60, 60]);
        assert_eq!(plan(Some(ClientCount::All(60))).raised().count(), 0);
    }

    #[test]
    fn a_run_by_requests_gives_each_worker_so_many_however_many_clients_a_scheme_has() {
        let set = ["ycsb.records=1000", "aria.batch=40"].map(str::to_owned).to_vec();
        let schemes = Some("silo,aria".to_owned());
        let request = Request { set, schemes, workers: Some(2), txns: Some(100), ..small() };
        let plan = Plan::new(catalogue(), &request).expect("legal");
        let limits: Vec<Limit> = plan.subjects.iter().map(|subject| plan.spec(subject).job.limit).collect();
        assert_eq!(limits, [Limit::Requests(100), Limit::Requests(5)], "of a client each");
        assert_eq!((plan.all_requests(), plan.times_s()), (200, [0.0; 3]));
        assert_eq!(json::choices(&plan, 0).txns, Some(100));
        for (name, wrong) in [
            ("`--txns 0`", Request { txns: Some(0), ..request.clone() }),
            (
                "`--seconds` in place",
                Request { arrivals: Arrival::Poisson, rate: Some(9.0), ..request.clone() },
            ),
        ] {
            let says = refusal(&wrong);
            assert!(says.contains(name), "{says}");
        }
    }

    #[test]
    fn all_schemes_that_cannot_run_are_named_at_once() {
        let schemes = Some("silo,aria,calvin,bohm".to_owned());
        let refusal =
            Plan::new(catalogue(), &Request { schemes, retry: Retry::Drop, ..small() }).expect_err("refused");
        assert!(
            refusal.0.starts_with("aria: ") && refusal.0.ends_with("(refused, too: calvin, bohm)"),
            "{refusal:?}"
        );
    }

    #[test]
    fn what_does_not_fit_is_refused_with_what_would() {
        let workload = catalogue().workload("ycsb").expect("catalogued");
        let values = catalogue().values(workload, None, &[]).expect("legal");
        let forecast = Forecast { rows: 1_000_000, row_bytes: 1_000_000_000, ..Forecast::default() };
        let check = |available| refuse_beyond_memory(workload, &values, (&forecast, false), available);
        assert!(check(None).is_ok() && check(Some(1_450_000_000)).is_ok());
        let says = check(Some(141_000_000)).expect_err("refused").0;
        assert!(says.contains("lower it to 90000 or less"), "{says}");
        let says = check(Some(1_000)).expect_err("refused").0;
        assert!(says.contains("is too large, too: lower what else"), "{says}");
        let apart = refuse_beyond_memory(workload, &values, (&forecast, true), Some(1_450_000_000));
        assert!(apart.is_err(), "each row has a version beside it");
    }

    #[test]
    fn a_simulated_run_that_touches_more_than_fits_is_refused() {
        let of = |txns| {
            let (machine, schemes) = (Some("hpe-superdome-flex".to_owned()), Some("silo".to_owned()));
            let set = vec!["run.rows=implicit".to_owned()];
            let request =
                Request { machine, schemes, workers: Some(4), txns: Some(txns), set, ..Request::new("tpcc") };
            Plan::new(catalogue(), &request).expect("possible")
        };
        let plan = of(500);
        let needed = plan.needed_bytes();
        assert!(of(50).needed_bytes() < needed, "fewer transactions touch fewer rows");
        assert!([None, Some(needed)].iter().all(|&it| plan.refuse_touched_beyond_memory(it).is_ok()));
        let says = plan.refuse_touched_beyond_memory(Some(needed - 1)).expect_err("refused").0;
        assert!(says.contains("ask for fewer with `--txns`"), "{says}");
    }

    #[test]
    fn rounds_are_whole_and_shuffled_by_the_seed() {
        assert_eq!(order(3, 1, 9), [(0, 0), (1, 0), (2, 0)]);
        let runs = order(5, 4, 9);
        for (round, of_round) in runs.chunks(5).enumerate() {
            let mut schemes: Vec<usize> = of_round.iter().map(|(scheme, _)| *scheme).collect();
            schemes.sort_unstable();
            assert_eq!(schemes, [0, 1, 2, 3, 4]);
            assert!(of_round.iter().all(|(_, of)| *of == round));
        }
        assert_eq!(runs, order(5, 4, 9));
        assert_ne!(runs, order(5, 4, 10));
    }
}
