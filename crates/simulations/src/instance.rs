//! Instances: the simulated run of a scheme, compiled for its type, as a value.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

use engine_sim::driver::{Driver, Job, RunOutcome};
use engine_sim::entry::Entry;
use engine_sim::setting::Values;
use engine_sim::{
    Admits, Database, Drive, Env, Facts, ImplicitRows, Ledger, MakeError, Schema, Scheme, Share, Workload,
    levers,
};
use runs::{CheckVerdict, Measured};
use sim::Timed;
use sync::clock;
use sync_sim::{Arc, heap};
use workloads_sim::catalogue::{self, VisitWorkload, WORKLOADS};
use workloads_sim::erased::{AnyWorkload, Erased};

use crate::database::SimulatedDatabase;
use crate::{FirstRows, Simulated, SimulationError, SimulationSpec, convert, hot_lines};

/// A scheme as simulations need it.
#[derive(Clone, Copy, Debug)]
pub struct SimulatedInstance {
    /// The scheme's entry in the stepped build.
    pub entry: &'static Entry,
    facts: fn(&Values) -> Facts,
    refuses: fn(&Job) -> Option<&'static str>,
    sessions: fn(&Job) -> usize,
    open: Open,
}

/// Makes a database, which has implicit rows or none.
type Open = fn(&Schema, &Values, Env, Option<&Arc<dyn ImplicitRows>>) -> Opened;

/// A database without loaded rows, or the reason for which it cannot be made.
type Opened = Result<Arc<dyn SimulatedDatabase>, MakeError>;

impl SimulatedInstance {
    /// Returns the instance of a scheme with its entry.
    pub const fn of<S: Scheme>(entry: &'static Entry) -> Self {
        Self {
            entry,
            facts: Facts::under::<S>,
            refuses: S::Driver::refuses,
            sessions: S::Driver::sessions,
            open: open_under::<S>,
        }
    }

    /// The scheme's name.
    pub fn name(&self) -> &'static str {
        self.entry.info.name
    }

    /// Loads the database, runs the workload on the simulated machine, and checks the result.
    ///
    /// # Errors
    /// The settings contradict each other, the machine has too few hardware threads, or the scheme cannot do what is
    /// asked.
    pub fn run(&self, spec: &SimulationSpec<'_>) -> Result<Simulated, SimulationError> {
        let threads = spec.machine.threads() as usize;
        if spec.job.workers > threads {
            let (name, asked) = (&spec.machine.name, spec.job.workers);
            return Err(SimulationError(format!(
                "{name} has {threads} hardware threads, and {asked} are asked for: give 1 to {threads}"
            )));
        }
        if self.entry.info.workers == Admits::One && spec.job.workers > 1 {
            return Err(SimulationError(format!(
                "{} does not protect transactions from each other: simulate it with one core",
                self.name()
            )));
        }
        let timed = Timed::new(spec.machine, spec.placement, spec.job.workers, spec.lookahead_ps);
        let timed = Rc::new(timed.with_memory(spec.memory));
        let simulated = heap::within(|| run(self, spec, &timed));
        simulated.clone()
    }
}

fn open_under<S: Scheme>(
    schema: &Schema,
    values: &Values,
    env: Env,
    rows: Option<&Arc<dyn ImplicitRows>>,
) -> Opened {
    Ok(match rows {
        Some(rows) => Database::<S>::with_implicit_rows(schema, values, env, rows)?,
        None => Arc::new(Database::<S>::try_new(schema, values, env)?),
    })
}

fn run(
    scheme: &SimulatedInstance,
    spec: &SimulationSpec<'_>,
    timed: &Rc<Timed>,
) -> Result<Simulated, SimulationError> {
    let info = WORKLOADS.iter().find(|info| info.name == spec.workload).expect("callers know the workload");
    let known = || scheme.entry.settings.iter().chain(info.settings).chain(levers::SETTINGS);
    let is_known = |(name, _): &(&str, &str)| known().any(|setting| setting.name == *name);
    let given: Vec<(String, String)> =
        spec.values.iter().filter(is_known).map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
    let values = &Values::new(known(), &given)?;
    let mut job = convert::job(&spec.job);
    job.clients = (scheme.facts)(values).clients(job.clients, job.workers);
    if let Some(says) = (scheme.refuses)(&job) {
        return Err(SimulationError(format!("{}: {says}", scheme.name())));
    }
    let Declared { schema, workload } =
        &catalogue::with(spec.workload, values, Declare { spec, values, job })?;
    let env = Env { slots: (scheme.sessions)(&job) + 1, workers: job.workers };
    let rows = first_rows(spec, schema, &**workload)?;
    let db = (scheme.open)(schema, values, env, rows.as_ref()).map_err(refused)?;
    let implicit_rows =
        rows.as_ref().map_or(0, |rows| db.tables().into_iter().filter_map(|it| rows.rows(it)).sum());
    timed.run(|| {
        let start_ns = clock::now_ns();
        match rows {
            Some(_) => db.load_rows(1, &|share, rows| workload.load_explicit(share, rows)),
            None => db.load_rows(1, &|share, rows| workload.load(share, rows)),
        }
        let loaded_ns = clock::now_ns();
        timed.start();
        let drive = || db.drive(spec, values, workload.as_any(), &job);
        let driven = catch_unwind(AssertUnwindSafe(drive));
        let run_ns = clock::now_ns();
        let line_bytes = spec.machine.line_bytes as usize;
        let (mut outcome, livelock) = match (driven, timed.stuck()) {
            (Ok(outcome), _) => (outcome, None),
            (Err(_), Some(stuck)) => {
                // The workers that wait may have latches of the database, which its end would wait for.
                core::mem::forget(Arc::clone(&db));
                let violation = hot_lines::livelock(&*db, stuck, job.workers, line_bytes);
                (RunOutcome::empty(info.types.len()), Some(violation))
            }
            (Err(panic), None) => resume_unwind(panic),
        };
        let ledgers = core::mem::take(&mut outcome.ledgers);
        let verdict = if let Some(livelock) = livelock {
            CheckVerdict::Failed(vec![livelock])
        } else if spec.check && implicit_rows <= FirstRows::CHECKED_MAX {
            if let Some(rows) = &rows {
                db.make_all_rows(&|share, loader| workload.load(share, loader), &**rows);
            }
            let (check, mut found) = (workload.check(ledgers), Ok(()));
            db.show(&mut |rows| found = check(rows, Share::WHOLE));
            convert::verdict(found)
        } else {
            CheckVerdict::Skipped
        };
        let times = Times { load_ns: loaded_ns - start_ns, check_ns: clock::now_ns() - run_ns };
        let (counts, spent) = timed.counts();
        let hottest = timed.hottest(hot_lines::COUNTED);
        let (hottest, hot_parts) = hot_lines::name(&*db, &hottest, line_bytes, &spent);
        let measured = measured(outcome, verdict, &times);
        let host_ns = run_ns - loaded_ns;
        Ok(Simulated { measured, counts, spent, hottest, hot_parts, host_ns, implicit_rows })
    })
}

/// The rows that are not loaded, if the run asks for such.
fn first_rows(
    spec: &SimulationSpec<'_>,
    schema: &Schema,
    workload: &dyn AnyWorkload,
) -> Result<Option<Arc<dyn ImplicitRows>>, SimulationError> {
    if spec.rows == FirstRows::Loaded {
        return Ok(None);
    }
    if schema.layout().is_ordered_only {
        let says =
            "rows that are not loaded are found by the standard indexes: leave out `run.index=ordered`";
        return Err(SimulationError(says.to_owned()));
    }
    let says = || SimulationError(format!("{} has no implicit rows: load them", spec.workload));
    workload.implicit().ok_or_else(says).map(Some)
}

fn refused(error: MakeError) -> SimulationError {
    match error {
        MakeError::Setting(error) => error.into(),
        MakeError::Memory(error) => SimulationError(error.to_string()),
    }
}

/// A workload and the schema that it has declared.
struct Declared {
    schema: Schema,
    workload: Box<dyn AnyWorkload>,
}

struct Declare<'s> {
    spec: &'s SimulationSpec<'s>,
    values: &'s Values,
    job: Job,
}

impl VisitWorkload for Declare<'_> {
    type Out = Result<Declared, SimulationError>;

    fn visit<W: Workload>(self) -> Self::Out {
        let Self { spec, values, job } = self;
        let drive = Drive { workers: job.workers as u32, clients: job.clients as u32, seed: job.seed };
        let mut schema = Schema::new();
        schema.lay_out(convert::layout(spec.layout));
        let workload = W::declare(values, drive, &mut schema)?;
        Ok(Declared { schema, workload: Box::new(Erased(workload)) })
    }
}

/// Nanoseconds of the host around the transactions.
struct Times {
    load_ns: u64,
    check_ns: u64,
}

/// The measurements of a run as those of a native one.
fn measured(outcome: RunOutcome<Ledger>, verdict: CheckVerdict, times: &Times) -> Measured {
    Measured {
        types: outcome.types.into_iter().map(convert::tally).collect(),
        arrived: convert::arrived(outcome.arrived),
        turns: outcome.turns,
        series: convert::series(outcome.series),
        phase_ticks: outcome.phase_ticks,
        load_ns: times.load_ns,
        measured_ns: outcome.measured_ns,
        check_ns: times.check_ns,
        cpu_share: 1.0,
        is_interrupted: false,
        verdict,
        memory_loaded: Vec::new(),
        memory: Vec::new(),
        logged: None,
        insight: engine::Insight::default(),
    }
}
