//! Instances: the operations on a scheme, compiled for its type, as a value. Lists of schemes are made of instances, so
//! that nothing above this crate needs a scheme's type.

use engine::driver::{Control, Driver, Job};
use engine::entry::Entry;
use engine::setting::{SettingError, Settings, Values};
use engine::{Database, Drive, Env, Facts, Forecast, Schema, Scheme, Workload};
use sync::{clock, workers};
use workloads::catalogue::{self, VisitWorkload};
use workloads::erased::Erased;

use crate::database::RunDatabase;
use crate::erased::{self, LoggedWorkload};
use crate::loading;
use crate::log::RunLog;
use crate::recovery::{self, LockedDirectories, Recovered, RecoveryProgress};
use crate::{CheckVerdict, Measured, Monitor, RunError, RunPhase, Spec};

/// A scheme as runs need it: its entry, and the operations that are compiled for its type. A function of an instance is
/// called once a run.
#[derive(Clone, Copy, Debug)]
pub struct Instance {
    /// The scheme's entry.
    pub entry: &'static Entry,
    /// The facts that the scheme's type tells. A list compares them with `entry`.
    pub told: Entry,
    facts: fn(&Values) -> Facts,
    admit: fn(&Spec<'_>) -> Result<(), SettingError>,
    slots: fn(&Spec<'_>) -> usize,
    open: fn(&Spec<'_>, &Schema) -> Opened,
}

/// An empty database, or the reason for which the settings do not go together.
type Opened = Result<Box<dyn RunDatabase>, SettingError>;

impl Instance {
    /// Returns the instance of a scheme with its entry.
    pub const fn of<S: Scheme>(entry: &'static Entry) -> Self {
        Self {
            entry,
            told: Entry::of::<S>(),
            facts: Facts::under::<S>,
            admit: admit_under::<S>,
            slots: |spec| spec.env::<S>().slots,
            open: open_under::<S>,
        }
    }

    /// The scheme's name.
    pub fn name(&self) -> &'static str {
        self.entry.info.name
    }

    /// Returns the facts about the scheme that depend on its settings.
    pub fn facts(&self, values: &Values) -> Facts {
        (self.facts)(values)
    }
}

/// Returns the forecast of a run: what its settings stress, and how much they load.
///
/// # Errors
/// The settings of the workload contradict each other.
pub fn forecast(workload: &str, values: &Values, drive: Drive) -> Result<Forecast, SettingError> {
    catalogue::with(workload, values, ForecastOf { values, drive })
}

/// Returns the number of clients if the settings make them terminals, which wait as the workload says.
pub fn terminals(workload: &str, values: &Values) -> Option<u64> {
    catalogue::with(workload, values, TerminalsOf(values))
}

/// Checks whether a run would be refused, before anything is loaded.
///
/// # Errors
/// The settings of the workload or of the scheme contradict each other, or the scheme's driver cannot do what is asked.
pub fn admit(spec: &Spec<'_>) -> Result<(), SettingError> {
    forecast(spec.workload, spec.values, spec.drive())?;
    (spec.scheme.admit)(spec)
}

/// Loads the database, runs the workload, and checks the result. Returns `None` if the run was interrupted before all
/// rows were loaded.
///
/// # Errors
/// Those of [`admit`], and those of the devices of the log, if the run has one.
pub fn run(spec: &Spec<'_>, monitor: &Monitor) -> Result<Option<Measured>, RunError> {
    let spec = &spec.with_clients();
    measure(spec, monitor, &declare(spec)?)
}

/// Recovers the log of a run of the same workload with this many workers, and checks the rows. The directories are not
/// changed.
///
/// # Errors
/// The files cannot be read or are not valid, or the settings differ from those of the run.
pub fn recover(
    spec: &Spec<'_>,
    held: &LockedDirectories,
    workers: usize,
    progress: &RecoveryProgress,
) -> Result<Recovered, RunError> {
    let spec = &spec.with_clients();
    let declared = declare(spec)?;
    let db = &*(spec.scheme.open)(spec, &declared.schema)?;
    let mut recovered = recovery::into(db, held, workers, progress)?;
    if spec.check {
        recovered.verdict = erased::verdict(&|see| db.show(see), &*declared.workload.check_state());
    }
    Ok(recovered)
}

impl Spec<'_> {
    /// The specification with the number of clients that the scheme needs, which may be more than were asked for.
    fn with_clients(&self) -> Self {
        let clients = self.scheme.facts(self.values).clients(self.job.clients, self.job.workers);
        Self { job: Job { clients, ..self.job }, ..*self }
    }

    fn drive(&self) -> Drive {
        let (workers, clients) = (self.job.workers as u32, self.job.clients as u32);
        Drive { workers, clients, seed: self.job.seed }
    }

    fn env<S: Scheme>(&self) -> Env {
        // Each loader and each checker has a session, too, while no client has one.
        Env { slots: S::Driver::sessions(&self.job).max(helpers()), workers: self.job.workers }
    }
}

/// Returns the number of workers that load and check: all cores, however many workers the run has.
pub(crate) fn helpers() -> usize {
    workers::cores()
}

struct ForecastOf<'s> {
    values: &'s Values,
    drive: Drive,
}

impl VisitWorkload for ForecastOf<'_> {
    type Out = Result<Forecast, SettingError>;

    fn visit<W: Workload>(self) -> Self::Out {
        Ok(W::declare(self.values, self.drive, &mut Schema::new())?.forecast())
    }
}

struct TerminalsOf<'s>(&'s Values);

impl VisitWorkload for TerminalsOf<'_> {
    type Out = Option<u64>;

    fn visit<W: Workload>(self) -> Self::Out {
        W::terminals(self.0)
    }
}

/// Checks whether a run under the scheme would be refused: see [`admit`].
fn admit_under<S: Scheme>(spec: &Spec<'_>) -> Result<(), SettingError> {
    if let Some(says) = S::Driver::refuses(&spec.job) {
        return Err(SettingError(format!("{}: {says}", spec.scheme.name())));
    }
    S::new(&S::Settings::of(spec.values), spec.env::<S>()).map(drop)
}

/// Opens an empty database.
fn open_under<S: Scheme>(spec: &Spec<'_>, schema: &Schema) -> Opened {
    Ok(Box::new(Database::<S>::new(schema, spec.values, spec.env::<S>())?))
}

/// A workload and the schema that it has declared.
struct Declared {
    schema: Schema,
    workload: Box<dyn LoggedWorkload>,
}

fn declare(spec: &Spec<'_>) -> Result<Declared, SettingError> {
    catalogue::with(spec.workload, spec.values, Declare(spec))
}

struct Declare<'s>(&'s Spec<'s>);

impl VisitWorkload for Declare<'_> {
    type Out = Result<Declared, SettingError>;

    fn visit<W: Workload>(self) -> Self::Out {
        let Self(spec) = self;
        let mut schema = Schema::new();
        schema.lay_out(spec.layout);
        let workload = W::declare(spec.values, spec.drive(), &mut schema)?;
        Ok(Declared { schema, workload: Box::new(Erased(workload)) })
    }
}

/// The work of a run.
fn measure(spec: &Spec<'_>, monitor: &Monitor, declared: &Declared) -> Result<Option<Measured>, RunError> {
    let db = &*(spec.scheme.open)(spec, &declared.schema)?;
    let workload = &*declared.workload;
    monitor.enter(RunPhase::Load);
    let slots = (spec.scheme.slots)(spec) + helpers();
    let log =
        spec.logging.as_ref().map(|logging| RunLog::begin(logging, &db.layouts(), slots)).transpose()?;
    let control: &Control = &monitor.control;
    let (loaded, load_ns) = timed(|| {
        if !loading::load(db, workload, helpers(), control) {
            return Ok(None);
        }
        let Some((mut log, logging)) = log.zip(spec.logging.as_ref()) else { return Ok(Some(None)) };
        log.load(workload, helpers(), logging).map(|()| Some(Some(log)))
    });
    let Some(log) = loaded? else { return Ok(None) };
    let memory_loaded = db.memory();
    db.reserve(spec.reserve_bytes, helpers());
    monitor.enter(RunPhase::Run);
    let outcome = db.drive(spec, workload.as_any(), control, log.as_ref());
    let logged = log.map(|log| log.end(db)).transpose()?;
    monitor.enter(RunPhase::Check);
    let (verdict, check_ns) = timed(|| {
        if !spec.check {
            return CheckVerdict::Skipped;
        }
        erased::verdict(&|see| db.show(see), &*workload.check(outcome.ledgers))
    });
    Ok(Some(Measured {
        types: outcome.types,
        arrived: outcome.arrived,
        turns: outcome.turns,
        series: outcome.series,
        phase_ticks: outcome.phase_ticks,
        load_ns,
        measured_ns: outcome.measured_ns,
        check_ns,
        cpu_share: outcome.cpu_share,
        is_interrupted: control.is_interrupted(),
        verdict,
        memory_loaded,
        memory: db.memory(),
        logged,
        insight: outcome.insight,
    }))
}

/// Returns the result of `work`, and the nanoseconds that it took.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let start_ns = clock::now_ns();
    let result = work();
    (result, clock::now_ns() - start_ns)
}
