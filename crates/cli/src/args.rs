//! The command line, as clap reads it. Names and numbers are judged later, all together.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use lab::{
    Arrival, ClientCount, ClientMode, MemoryPolicy, Placement, Question, Request, Retry, ScalingQuestion,
    StandardValues, WarmUpLength, conditions, sensitivity,
};

/// A laboratory of concurrency control: which scheme wins, by how much, and under which conditions.
#[derive(Debug, Parser)]
#[command(name = "contend", version, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show in one minute that the winner depends on the settings, and what to try next
    Demo,
    /// Measure a workload under one scheme or several, and check the results
    Run(Run),
    /// Simulate a workload on a large machine, under one scheme or several, on different numbers of cores
    Simulate(Simulate),
    /// Measure all combinations of the values that a recipe varies
    Sweep(Sweep),
    /// Merge the results of several directories
    Merge(Merge),
    /// Describe this machine, and what can be measured on it
    Probe(Probe),
    /// Compare two sets of results, cell by cell
    Compare(Compare),
    /// Repeat an experiment of the literature, and judge its claim
    Reproduce(Reproduce),
    /// Find out under which conditions one scheme beats another, and why
    Conditions(Conditions),
    /// Test a claim of `conditions` again, at new points
    Recheck(Recheck),
    /// Report a directory of results: as a page with plots, as text, as tables, as plots for papers
    Report(Report),
    /// Find out which settings move the throughput of schemes, and which move their ranking
    Sensitivity(Sensitivity),
    /// Search for violations of the isolation that schemes promise
    Check(Check),
    /// List schemes, workloads, settings and everything else that can be chosen
    List(List),
    /// Explain what the settings of a run stress, without running it
    Explain(Explain),
    /// Recover the log of a run, or check that the files of another database are whole
    Recover(Recover),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Run {
    #[command(flatten)]
    choice: Choice,
    /// Schemes, separated by commas, or `all` [default: all except the baselines]
    #[arg(long, value_name = "A,B|all")]
    scheme: Option<String>,
    /// Simulate the runs on this machine instead: see `contend list machines`. They go by commits (`--txns`), not by
    /// time
    #[arg(long, value_name = "NAME|FILE[@CONSTANT*FACTOR]", conflicts_with_all = ["seconds", "warmup", "cooldown"])]
    machine: Option<String>,
    /// The digest that the simulated machine must have: a file that has changed is refused
    #[arg(long, value_name = "HEX", requires = "machine")]
    machine_digest: Option<String>,
    #[command(flatten)]
    seats: Seats,
    /// Measured time
    #[arg(
        long,
        value_name = "S",
        default_value_t = 5.0,
        allow_negative_numbers = true,
        conflicts_with = "txns"
    )]
    seconds: f64,
    /// Warm-up before the measured time, or `auto`: until the run is steady, at most 30 seconds
    #[arg(
        long,
        value_name = "S|auto",
        default_value = "1",
        allow_negative_numbers = true,
        conflicts_with = "txns"
    )]
    warmup: WarmUpLength,
    /// Time after the measured time in which the load continues and is not measured
    #[arg(
        long,
        value_name = "S",
        default_value_t = 0.0,
        allow_negative_numbers = true,
        conflicts_with = "txns"
    )]
    cooldown: f64,
    /// Runs of each scheme, in random order
    #[arg(long, value_name = "R", default_value_t = 1)]
    repeat: u64,
    /// How results are printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// A directory to write a JSON file for each run to
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// The policy of a client after an abort
    #[arg(long, value_enum, default_value_t = RetryPolicy::Same)]
    retry: RetryPolicy,
    /// The content of a client's message: a request, or one statement after the other
    #[arg(long, value_enum, default_value_t = ModeOfClients::Procedure)]
    mode: ModeOfClients,
    /// The round trip of a message and its answer: in microseconds, or `rdma` (3), `tcp` (50), `10ms`, `100ms`
    #[arg(long, value_name = "US|NAME", value_parser = lab::rtt_us, allow_negative_numbers = true)]
    rtt_us: Option<u64>,
    /// Requests that a client sends in one message
    #[arg(long, value_name = "N", default_value_t = 1)]
    batch: u64,
    /// How requests arrive: in a closed loop or in an open loop
    #[arg(long, value_enum, default_value_t = ArrivalProcess::Closed)]
    arrivals: ArrivalProcess,
    /// The rate at which requests arrive in an open loop
    #[arg(long, value_name = "TXN_S", allow_negative_numbers = true)]
    rate: Option<f64>,
    /// Keep each worker on a core of its own
    #[arg(long)]
    pin: bool,
    /// Do not check the database after a run
    #[arg(long)]
    no_check: bool,
    /// The directories of the log, one for each device: empty, or not existing yet. The log of the last run is kept,
    /// for `contend recover` [default: a temporary directory, which is removed]
    #[arg(long, value_name = "DIR,..", value_delimiter = ',')]
    log: Vec<PathBuf>,
    /// When commits are durable: the same as `--set run.durability=...`
    #[arg(long, value_enum)]
    durability: Option<Durability>,
}

/// The arguments that all simulated runs have.
#[derive(Debug, clap::Args)]
struct Seats {
    /// The order in which workers get the hardware threads of a simulated machine [default: `cores_first`]
    #[arg(long, value_enum, value_name = "ORDER")]
    placement: Option<OrderOfSeats>,
    /// The sockets on which a simulated run's memory is: `interleaved` over those that are used, `local` to the thread
    /// that uses it first, or at a `distance_1` and further from that thread [default: interleaved]
    #[arg(long, value_name = "POLICY", value_parser = memory_policy)]
    memory: Option<MemoryPolicy>,
    /// Hardware threads of a core that a simulated run uses; 1 is without hyper-threading [default: all]
    #[arg(long, value_name = "N")]
    smt: Option<u64>,
    /// The least number of commits of a worker that a simulated run counts; it counts more until the 95% interval of
    /// the throughput is within 3%, for up to `--patience` times as long [default: 500]. A native run serves exactly so
    /// many requests of each worker, in the mean, in place of `--seconds`, and has no warm-up
    #[arg(long, value_name = "N")]
    txns: Option<u64>,
    /// The number of commits of a worker before a simulated run begins to count [default: 200]
    #[arg(long, value_name = "N")]
    warmup_txns: Option<u64>,
    /// The greatest multiple of the time of `--txns` commits for which a simulated run goes on [default: 10]
    #[arg(long, value_name = "N")]
    patience: Option<u64>,
    /// Time for which a simulated thread may run ahead of the others, which is faster and less exact [default: 0]
    #[arg(long, value_name = "NS")]
    lookahead_ns: Option<u64>,
}

impl Seats {
    fn of(&self, request: Request) -> Request {
        let placement = self.placement.map(|placement| match placement {
            OrderOfSeats::CoresFirst => Placement::CoresFirst,
            OrderOfSeats::ThreadsFirst => Placement::ThreadsFirst,
            OrderOfSeats::Scatter => Placement::Scatter,
        });
        let Self { memory, smt, txns, warmup_txns, patience, lookahead_ns, .. } = *self;
        Request { placement, memory, smt, txns, warmup_txns, patience, lookahead_ns, ..request }
    }
}

fn memory_policy(name: &str) -> Result<MemoryPolicy, &'static str> {
    MemoryPolicy::of_name(name).ok_or("it is `interleaved`, `local`, or `distance_1` and further")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum OrderOfSeats {
    /// Socket by socket, in a socket one thread on each core before any core gets its second
    CoresFirst,
    /// Core by core, all threads of a core before the next core
    ThreadsFirst,
    /// The sockets in turn; all cores get one thread before any gets two
    Scatter,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Jobs {
    /// Simulated runs that are made side by side, each on a core of this host [default: the cores of this host, or as
    /// many as its memory can hold]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = jobs)]
    pub(crate) jobs: Option<usize>,
}

/// The maximum number of runs that are simulated side by side.
const JOBS_MAX: usize = 1_024;

fn jobs(text: &str) -> Result<usize, String> {
    let jobs = text.parse().ok().filter(|jobs| (1..=JOBS_MAX).contains(jobs));
    jobs.ok_or_else(|| format!("must be a whole number from 1 to {JOBS_MAX}"))
}

fn cores(text: &str) -> Result<u64, &'static str> {
    text.trim()
        .parse()
        .map_err(|_| "give whole numbers with commas between them, for example `--cores 1,2,4,8`")
}

#[derive(Debug, clap::Args)]
pub(crate) struct Simulate {
    /// The workload: see `contend list workloads`
    workload: String,
    /// The machine: see `contend list machines`
    #[arg(long, value_name = "NAME|FILE[@CONSTANT*FACTOR]")]
    machine: String,
    /// Numbers of cores, with commas: hardware threads that the machine gives to workers, one to each
    #[arg(long, value_name = "N,..", value_delimiter = ',', required = true, value_parser = cores)]
    #[arg(allow_negative_numbers = true)]
    cores: Vec<u64>,
    /// Schemes, separated by commas, or `all` [default: all except the baselines]
    #[arg(long, value_name = "A,B|all")]
    scheme: Option<String>,
    /// A setting: see `contend list settings`
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    authors: Authors,
    #[command(flatten)]
    seats: Seats,
    /// The seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Do not check the database after a run
    #[arg(long)]
    no_check: bool,
    /// Test the conclusions again on machines on which one constant is multiplied by one of these factors
    #[arg(long, value_name = "FACTOR,..", value_delimiter = ',', allow_negative_numbers = true)]
    constants: Vec<f64>,
    #[command(flatten)]
    pub(crate) jobs: Jobs,
    /// A directory to write a JSON file for each point to
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// How results are printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

impl Simulate {
    /// Whether differences from the schemes' authors are to be stated.
    pub(crate) fn is_tuned(&self) -> bool {
        self.authors.tuned
    }

    /// The question that these arguments ask.
    pub(crate) fn question(&self) -> ScalingQuestion {
        let request = Request {
            machine: Some(self.machine.clone()),
            schemes: self.scheme.clone(),
            set: self.set.clone(),
            standard: self.authors.standard(),
            seed: self.seed,
            check: !self.no_check,
            ..Request::new(&self.workload)
        };
        ScalingQuestion {
            request: self.seats.of(request),
            cores: self.cores.clone(),
            factors: self.constants.clone(),
        }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct Sweep {
    /// A recipe, in TOML: see `docs/book/sweeps.md`
    pub(crate) recipe: PathBuf,
    /// Make the runs of a whole figure, where the recipe has a part of it that takes an hour or less
    #[arg(long)]
    pub(crate) whole: bool,
    /// The directory of the results; results that are there are not measured again [default: the recipe's name]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Begin no run after this time
    #[arg(long, value_name = "MINUTES", allow_negative_numbers = true)]
    pub(crate) budget: Option<f64>,
    /// Print the runs that would be made and an estimate of their time; run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print the commands of the missing runs, one a line, for running them elsewhere
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) commands: bool,
    /// Make only the runs with these ids; used for sweeps on several hosts
    #[arg(
        long,
        value_name = "ID,..",
        value_delimiter = ',',
        conflicts_with_all = ["dry_run", "commands", "budget", "executor"]
    )]
    pub(crate) only: Vec<String>,
    #[command(flatten)]
    pub(crate) jobs: Jobs,
    /// The system that places the runs on hosts
    #[arg(long, value_enum, default_value_t = Executor::Local)]
    pub(crate) executor: Executor,
    /// How results are printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Executor {
    /// All runs on this host: simulated ones side by side, all others one after the other
    Local,
    /// A Ray cluster, one run a host at a time
    Ray,
    /// Slurm: writes a job array for you to submit
    Slurm,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Merge {
    /// The directory into which results are copied
    pub(crate) into: PathBuf,
    /// The directories from which results are copied; they are not changed
    #[arg(required = true)]
    pub(crate) from: Vec<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Probe {
    /// Run small loops on this machine and on a simulated one, and compare their times
    #[arg(long)]
    pub(crate) pairs: bool,
    /// The simulated machine of `--pairs`: a name, or a file
    #[arg(long, value_name = "NAME|FILE", default_value = "here", requires = "pairs")]
    pub(crate) machine: String,
    /// Measure this machine, and write it to a file as a machine to simulate
    #[arg(long, value_name = "FILE", conflicts_with = "pairs")]
    pub(crate) write: Option<PathBuf>,
    /// How the output is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Compare {
    /// The first results, with which the second are compared: a file, or a directory that `run --out` or `sweep` wrote
    pub(crate) first: PathBuf,
    /// The second results
    pub(crate) second: PathBuf,
    /// The smallest ratio that counts as a difference
    #[arg(long, value_name = "RATIO", default_value_t = 1.05, allow_negative_numbers = true)]
    pub(crate) margin: f64,
    /// Names that may differ between the two, with commas: settings, or `scheme`, `workers`, `clients_asked`, `retry`
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    pub(crate) across: Vec<String>,
    /// Exit with 1 if the second is slower in any cell, or if this is unknown for any cell: if runs failed their check,
    /// a side lacks the cell, or its results do not decide
    #[arg(long)]
    pub(crate) gate: bool,
    /// Faults and cells that do not fail the gate: `failed`, `lost`, `undecided`, `machines`, `builds` with commas,
    /// or the name of a cell; as often as needed
    #[arg(long, value_name = "FAULT,..|CELL", requires = "gate")]
    pub(crate) allow: Vec<String>,
    /// How results are printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Conditions {
    /// The workload [default: that of the settings]
    workload: Option<String>,
    /// A scheme
    #[arg(long, value_name = "SCHEME")]
    a: String,
    /// The scheme that it is compared with
    #[arg(long, value_name = "SCHEME")]
    b: String,
    /// Names that vary, with commas: settings, or options that drive a run (`workers`, `clients`, `retry`, `mode`,
    /// `rtt_us` ..); between two values or among words
    #[arg(long, value_name = "NAME[=LOW..HIGH|=A|B],..", value_delimiter = ',', required = true)]
    vary: Vec<String>,
    /// A value that is the same in all runs, of a setting or of an option that drives a run
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// The smallest ratio at which one scheme beats the other
    #[arg(long, value_name = "RATIO", default_value_t = 1.1, allow_negative_numbers = true)]
    margin: f64,
    /// Compare the commits of this type of transaction [default: those of all types together]
    #[arg(long = "type", value_name = "TYPE")]
    of_type: Option<String>,
    /// The total time: two fifths to explore, the rest to test and to explain
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = minutes)]
    budget: f64,
    /// Measured time of each run
    #[arg(long, value_name = "S", default_value_t = 0.5, allow_negative_numbers = true)]
    seconds: f64,
    /// Warm-up before the measured time
    #[arg(long, value_name = "S", default_value_t = 0.2, allow_negative_numbers = true)]
    warmup: f64,
    /// The maximum number of points to explore [default: as many as there is time for]
    #[arg(long, value_name = "N")]
    points: Option<usize>,
    /// The number of fresh random points at which claims are tested
    #[arg(long, value_name = "N", default_value_t = 40)]
    held_out: usize,
    /// The seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Keep each worker on a core of its own
    #[arg(long)]
    pin: bool,
    /// Do not check the database after a run
    #[arg(long)]
    no_check: bool,
    /// The directory of the results and claims; results that are there are not measured again
    #[arg(long, value_name = "DIR", default_value = "conditions")]
    pub(crate) out: PathBuf,
    /// Print the question; measure nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// How findings are printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

impl Conditions {
    /// The question that these arguments ask.
    pub(crate) fn question(&self) -> conditions::Question {
        conditions::Question {
            workload: self.workload.clone(),
            a: self.a.clone(),
            b: self.b.clone(),
            vary: self.vary.clone(),
            set: self.set.clone(),
            margin: self.margin,
            of_type: self.of_type.clone(),
            seconds: self.seconds,
            warmup: self.warmup,
            budget_minutes: self.budget,
            points: self.points,
            held_out: self.held_out,
            seed: self.seed,
            pin: self.pin,
            check: !self.no_check,
        }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct Recheck {
    /// A file of a claim, which `contend conditions` wrote
    pub(crate) claim: PathBuf,
    /// The seed of the points and requests: another seed than that of the claim
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) seed: u64,
    /// The number of fresh random points
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub(crate) points: usize,
    /// The total time
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = minutes)]
    pub(crate) budget: f64,
    /// The directory of the results [default: the directory with the claim]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// How the outcome is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// Minutes of a time such as `90s`, `30m` or `1.5h`; a number alone is of minutes.
fn minutes(text: &str) -> Result<f64, String> {
    let units = [("s", 1.0 / 60.0), ("m", 1.0), ("h", 60.0)];
    let with_unit = units.iter().find_map(|(unit, minutes)| Some((text.strip_suffix(unit)?, *minutes)));
    let (number, of_unit) = with_unit.unwrap_or((text, 1.0));
    let minutes = number.trim().parse::<f64>().ok().map(|number| number * of_unit);
    minutes
        .filter(|minutes| *minutes > 0.0 && *minutes <= 100_000.0)
        .ok_or_else(|| "give a time such as `90s`, `30m` or `1.5h`".to_owned())
}

#[derive(Debug, clap::Args)]
pub(crate) struct Report {
    /// A directory that `sweep`, `run --out` or `conditions` wrote, or a file of results
    pub(crate) results: PathBuf,
    /// The form of the output
    #[arg(long, value_enum, default_value_t = Form::Html)]
    pub(crate) format: Form,
    /// The file of a page, or the directory of plots, curves or tables [default: `report.html`, `plots`, `curves`,
    /// `tables` beside the results]
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// The scheme that the others are compared with [default: the first of the recipe]
    #[arg(long, value_name = "SCHEME")]
    pub(crate) against: Option<String>,
    /// The schemes that are drawn beside each scheme in its curve
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) beside: Vec<String>,
}

/// The form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// One page, which needs no network, and the text
    Html,
    /// Findings and tables on standard output
    Text,
    /// Each plot as a file, for papers
    Svg,
    /// The throughput of each scheme as a plot of its own, for texts about the scheme: see `--beside`
    Curves,
    /// Tables for notebooks: a row for each run, and a row for each scheme at each point
    Csv,
    /// The same tables as Parquet, in a build with `--features parquet`
    Parquet,
}

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct Reproduce {
    /// The experiment: see `contend reproduce --list`
    pub(crate) id: Option<String>,
    /// List all experiments and whether they can be run; run none
    #[arg(long, conflicts_with_all = ["id", "out", "budget", "dry_run", "repeat", "seed", "jobs"])]
    pub(crate) list: bool,
    /// Make the runs of a whole figure, where the recipe has a part of it that takes an hour or less
    #[arg(long, conflicts_with = "list")]
    pub(crate) whole: bool,
    /// The directory of the results; results that are there are not measured again [default: the id in small letters]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Begin no run after this time
    #[arg(long, value_name = "TIME", value_parser = minutes)]
    pub(crate) budget: Option<f64>,
    /// Print the runs that would be made and an estimate of their time; run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Runs of each scheme at each point, for a verdict that is undecided [default: those of the recipe]
    #[arg(long, value_name = "R")]
    pub(crate) repeat: Option<u64>,
    #[command(flatten)]
    pub(crate) jobs: Jobs,
    /// The seed of all random numbers [default: that of the recipe]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Print the figures that the simulated runs give, as a file of predictions has them, and decide nothing
    #[arg(long, conflicts_with_all = ["list", "dry_run", "format"])]
    pub(crate) predict: bool,
    /// Make the simulated runs again on machines on which one constant is multiplied by one of these factors, and say
    /// which figures turn with which constant; one run of each unless `--repeat` says more
    #[arg(
        long,
        value_name = "FACTOR,..",
        value_delimiter = ',',
        allow_negative_numbers = true,
        conflicts_with_all = ["list", "predict", "budget", "format"]
    )]
    pub(crate) constants: Vec<f64>,
    /// Multiply these constants alone: see `contend list machines --format json`
    #[arg(long, value_name = "NAME,..", value_delimiter = ',', requires = "constants")]
    pub(crate) only: Vec<String>,
    /// How the output is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Sensitivity {
    /// The workload: see `contend list workloads`
    workload: String,
    /// Schemes, separated by commas; the ranking compares each with the first
    #[arg(long, value_name = "A,B", value_delimiter = ',', required = true)]
    schemes: Vec<String>,
    /// Names that vary, with commas: settings, or options that drive a run (`workers`, `clients`, `retry`, `mode`,
    /// `rtt_us` ..); between two values or among words
    #[arg(long, value_name = "NAME[=LOW..HIGH|=A|B],..", value_delimiter = ',', required = true)]
    vary: Vec<String>,
    /// A value that is the same in all runs, of a setting or of an option that drives a run
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// How points are chosen
    #[arg(long, value_enum, default_value_t = Method::Morris)]
    method: Method,
    /// The total time
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = minutes)]
    budget: f64,
    /// The maximum number of points to measure [default: as many as there is time for]
    #[arg(long, value_name = "N")]
    points: Option<usize>,
    /// Measured time of each run
    #[arg(long, value_name = "S", default_value_t = 0.5, allow_negative_numbers = true)]
    seconds: f64,
    /// Warm-up before the measured time
    #[arg(long, value_name = "S", default_value_t = 0.2, allow_negative_numbers = true)]
    warmup: f64,
    /// The seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Keep each worker on a core of its own
    #[arg(long)]
    pin: bool,
    /// Do not check the database after a run
    #[arg(long)]
    no_check: bool,
    /// The directory of the results; results that are there are not measured again
    #[arg(long, value_name = "DIR", default_value = "sensitivity")]
    pub(crate) out: PathBuf,
    /// Print what would be measured; measure nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// How findings are printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// Where a study of sensitivity measures first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Method {
    /// First along trajectories on which one setting after the other changes, then at points that fill the space
    Morris,
    /// Only at points that fill the space
    Sobol,
}

impl Sensitivity {
    /// The question that these arguments ask.
    pub(crate) fn question(&self) -> sensitivity::Question {
        sensitivity::Question {
            workload: self.workload.clone(),
            schemes: self.schemes.clone(),
            vary: self.vary.clone(),
            set: self.set.clone(),
            method: match self.method {
                Method::Morris => sensitivity::Method::Morris,
                Method::Sobol => sensitivity::Method::Sobol,
            },
            seconds: self.seconds,
            warmup: self.warmup,
            budget_minutes: self.budget,
            points: self.points,
            seed: self.seed,
            pin: self.pin,
            check: !self.no_check,
        }
    }
}

/// The arguments that `run` and `explain` have in common.
#[derive(Debug, clap::Args)]
struct Choice {
    /// The workload: see `contend list workloads`
    workload: String,
    /// Threads that execute [default: the cores]
    #[arg(long, value_name = "N")]
    workers: Option<u64>,
    /// Logical sessions in flight, or `10x` for ten of each worker [default: one a worker]
    #[arg(long, value_name = "N")]
    clients: Option<ClientCount>,
    /// The seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// A setting: see `contend list settings`
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    authors: Authors,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    /// The schemes [default: all that promise some isolation]
    schemes: Vec<String>,
    /// Time for each scheme, half of it for schedules and half for threads
    #[arg(long, value_name = "S", default_value_t = 10.0, allow_negative_numbers = true)]
    seconds: f64,
    /// The number of schedules to explore for each scheme, however long it takes; with 0 no program is searched, either
    #[arg(long, value_name = "N")]
    schedules: Option<u64>,
    /// The number of schedules after which the search of a program ends, even if there are more; 0 searches none
    /// [default: 30000]
    #[arg(long, value_name = "N")]
    searched: Option<u64>,
    /// The number of transactions to run on threads for each scheme, however long it takes
    #[arg(long, value_name = "N")]
    transactions: Option<u64>,
    /// The first seed; the others follow it
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// A setting of a scheme: see `contend list settings`
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// A bug to plant into the scheme, to see that it is found: see `contend list plants`
    #[arg(long, value_name = "BUG")]
    plant: Option<String>,
    /// Show one explored trial of one scheme, by its seed or program (see `contend list searches`): all that its
    /// transactions saw and did
    #[arg(
        long,
        value_name = "SEED|PROGRAM",
        conflicts_with_all = ["seconds", "schedules", "searched", "transactions", "seed", "export", "format"]
    )]
    replay: Option<String>,
    /// The schedule of the replayed trial, if it is not the trial's own
    #[arg(long, value_name = "RUNS")]
    schedule: Option<String>,
    /// A directory to write histories to, in the list-append form that Elle reads
    #[arg(long, value_name = "DIR")]
    pub(crate) export: Option<PathBuf>,
    /// How results are printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

impl Check {
    /// The question that these arguments ask.
    pub(crate) fn question(&self) -> Question {
        Question {
            schemes: self.schemes.clone(),
            seconds: self.seconds,
            schedules: self.schedules,
            searched: self.searched,
            transactions: self.transactions,
            seed: self.seed,
            set: self.set.clone(),
            plant: self.plant.clone(),
            replay: self.replay.clone(),
            schedule: self.schedule.clone(),
        }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct Explain {
    #[command(flatten)]
    choice: Choice,
}

#[derive(Debug, clap::Args)]
pub(crate) struct List {
    /// The things to list
    #[arg(value_enum)]
    pub(crate) subject: Subject,
    /// Of machines: the one whose file is printed, by its name or by the path of a file
    #[arg(value_name = "NAME|FILE")]
    pub(crate) name: Option<String>,
    /// How the output is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Subject {
    /// The concurrency-control schemes
    Schemes,
    /// The workloads
    Workloads,
    /// The settings of runs, workloads and schemes
    Settings,
    /// Which schemes run which workloads with which options
    Capabilities,
    /// The machines on which runs can be simulated
    Machines,
    /// The bugs that can be planted in schemes
    Plants,
    /// The programs of which checks try all schedules
    Searches,
    /// The kinds of results; as JSON, the schema of all that is written with `--format json` and kept in files
    Schema,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Tables for people
    Text,
    /// One object a line for programs
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RetryPolicy {
    /// Tries the same request again, after a pause just long enough to let the conflicting attempts end
    Same,
    /// Goes on with another request
    Drop,
    /// Tries the same request again after a pause that doubles with each abort
    Backoff,
    /// Tries the same request again after a random pause: see `run.backoff_us`
    Fixed,
    /// Tries the same request again after a pause, whose length is adjusted for the highest throughput
    Climb,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ModeOfClients {
    /// A whole request
    Procedure,
    /// One statement; the transaction keeps its locks between statements
    Interactive,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ArrivalProcess {
    /// Closed loop: when the client's last request was answered
    Closed,
    /// Open loop: at equal distances in time
    Constant,
    /// Open loop: at random (a Poisson process)
    Poisson,
    /// Open loop: at random, in bursts; see `run.burst_ms`
    Bursty,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Durability {
    /// Never: there is no log
    None,
    /// Some time after they are acknowledged
    Async,
    /// Before they are acknowledged, many at once (group commit)
    Group,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Recover {
    /// The directories of the database, one for each device, for example as `contend run --log` was given them
    #[arg(required = true, value_delimiter = ',')]
    pub(crate) log: Vec<PathBuf>,
    /// The scheme to recover under [default: that of the run]
    #[arg(long, value_name = "SCHEME")]
    pub(crate) scheme: Option<String>,
    /// Threads that recover [default: the cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) workers: Option<u64>,
    /// Do not check what was recovered
    #[arg(long)]
    pub(crate) no_check: bool,
    /// How the outcome is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

impl Choice {
    fn request(&self) -> Request {
        Request {
            workers: self.workers,
            clients: self.clients,
            seed: self.seed,
            set: self.set.clone(),
            standard: self.authors.standard(),
            ..Request::new(&self.workload)
        }
    }
}

/// The settings of the schemes' authors.
#[derive(Clone, Copy, Debug, clap::Args)]
struct Authors {
    /// Give the schemes the settings of their authors, where the standard ones differ: see `contend list settings`
    #[arg(long)]
    published: bool,
    /// State in the text which standard settings differ from those of the schemes' authors; JSON has them anyway
    #[arg(long, conflicts_with = "published")]
    tuned: bool,
}

impl Authors {
    /// Returns the values of settings that are not given.
    fn standard(self) -> StandardValues {
        if self.published { StandardValues::Published } else { StandardValues::Tuned }
    }
}

impl Explain {
    /// Whether differences from the schemes' authors are to be stated.
    pub(crate) fn is_tuned(&self) -> bool {
        self.choice.authors.tuned
    }

    pub(crate) fn request(&self) -> Request {
        self.choice.request()
    }
}

impl Run {
    /// Whether differences from the schemes' authors are to be stated.
    pub(crate) fn is_tuned(&self) -> bool {
        self.choice.authors.tuned
    }

    /// The request that these arguments make.
    pub(crate) fn request(&self) -> Request {
        let mut request = self.choice.request();
        if let Some(durability) = self.durability {
            let value = match durability {
                Durability::None => "none",
                Durability::Async => "async",
                Durability::Group => "group",
            };
            request.set.push(format!("run.durability={value}"));
        }
        let (warmup, until_steady) = self.warmup.of_request();
        let (machine, machine_digest) = (self.machine.clone(), self.machine_digest.clone());
        let request = Request { machine, machine_digest, ..self.seats.of(request) };
        Request {
            schemes: self.scheme.clone(),
            seconds: self.seconds,
            warmup,
            until_steady,
            cooldown: self.cooldown,
            repeat: self.repeat,
            retry: match self.retry {
                RetryPolicy::Same => Retry::Same,
                RetryPolicy::Drop => Retry::Drop,
                RetryPolicy::Backoff => Retry::Backoff,
                RetryPolicy::Fixed => Retry::Fixed,
                RetryPolicy::Climb => Retry::Climb,
            },
            mode: match self.mode {
                ModeOfClients::Procedure => ClientMode::Procedure,
                ModeOfClients::Interactive => ClientMode::Interactive,
            },
            rtt_us: self.rtt_us,
            batch: self.batch,
            arrivals: match self.arrivals {
                ArrivalProcess::Closed => Arrival::Closed,
                ArrivalProcess::Constant => Arrival::Constant,
                ArrivalProcess::Poisson => Arrival::Poisson,
                ArrivalProcess::Bursty => Arrival::Bursty,
            },
            rate: self.rate,
            pin: self.pin,
            log: self.log.clone(),
            check: !self.no_check,
            ..request
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Args, clap::Error> {
        Args::try_parse_from(line.split(' '))
    }

    fn request(line: &str) -> Request {
        let Ok(Args { command: Command::Run(run) }) = parse(line) else { panic!("`{line}` is a run") };
        run.request()
    }

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Args::command().debug_assert();
    }

    #[test]
    fn standard_values_are_those_of_the_contract() {
        let standard = request("contend run tpcc");
        assert_eq!(format!("{standard:?}"), format!("{:?}", Request::new("tpcc")));
    }

    #[test]
    fn everything_given_is_taken() {
        let line = "contend run ycsb --scheme a,b --workers 3 --clients 9 --seconds 0.5 --warmup 0 --repeat 2 \
                    --seed 7 --set x=1 --set y=2 --retry backoff --pin --no-check --mode interactive --rtt-us tcp \
                    --batch 4 --arrivals bursty --rate 2500 --cooldown 0.25 --published";
        let request = request(&line.split_whitespace().collect::<Vec<_>>().join(" "));
        assert_eq!(
            (request.schemes.as_deref(), request.workers, request.clients),
            (Some("a,b"), Some(3), Some(ClientCount::All(9)))
        );
        assert_eq!((request.repeat, request.seed, request.set.len()), (2, 7, 2));
        assert!(
            request.standard == StandardValues::Published
                && request.pin
                && !request.check
                && request.retry == Retry::Backoff
        );
        assert_eq!((request.mode, request.rtt_us, request.batch), (ClientMode::Interactive, Some(50), 4));
        assert_eq!((request.arrivals, request.rate), (Arrival::Bursty, Some(2_500.0)));
        assert!((request.cooldown - 0.25).abs() < 1e-9 && !request.until_steady);
        assert!((request.seconds - 0.5).abs() < 1e-9 && request.warmup.abs() < 1e-9);
    }

    #[test]
    fn a_warm_up_can_be_left_to_the_run() {
        let auto = request("contend run tpcc --warmup auto");
        assert!(auto.until_steady && auto.warmup >= 30.0);
        assert!(parse("contend run tpcc --warmup soon").is_err());
    }

    #[test]
    fn durability_is_a_setting_and_each_device_has_a_directory() {
        let request = request("contend run tpcc --durability group --log a,b --set run.pause_us=1");
        assert_eq!(request.set, ["run.pause_us=1", "run.durability=group"]);
        assert_eq!(request.log, [PathBuf::from("a"), PathBuf::from("b")]);
        assert!(parse("contend run tpcc --durability always").is_err());
    }

    #[test]
    fn times_have_units() {
        let near = |text: &str, wanted: f64| (minutes(text).expect("a time") - wanted).abs() < 1e-9;
        assert!(near("90s", 1.5) && near("30m", 30.0) && near("1.5h", 90.0) && near("2", 2.0));
        for text in ["", "m", "-1m", "0s", "nan", "inf", "5d", "1e9h"] {
            assert!(minutes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn unknown_commands_and_flags_exit_with_2() {
        for line in ["contend", "contend rum tpcc", "contend run tpcc --sceme a", "contend list tables"] {
            assert_eq!(parse(line).expect_err("refused").exit_code(), 2, "{line}");
        }
    }
}
