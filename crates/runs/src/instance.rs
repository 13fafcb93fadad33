//! Operations on a scheme and a workload whose types are known.

use core::any::Any;
use core::marker::PhantomData;

use engine::driver::{self, Control, Driver, Job};
use engine::setting::{SettingError, Values};
use engine::{Database, Drive, Env, Forecast, Isolation, Procedures, Program, Schema, Scheme, Workload};
use schemes::catalogue;
use sync::{clock, workers};

use crate::erased::{AnyWorkload, Erased};
use crate::log::{Logs, MaybeLogged, RunLog};
use crate::recovery::{self, Held, Progress, Recovered};
use crate::workload::{self, Visit};
use crate::{CheckVerdict, Measured, Monitor, RunError, Spec, Step};

/// Returns the forecast of a run: what its settings stress, and how much they load.
///
/// # Errors
/// The settings of the workload contradict each other.
pub fn forecast(workload: &str, values: &Values, drive: Drive) -> Result<Forecast, SettingError> {
    workload::with(workload, values, ForecastOf { values, drive })
}

/// Returns the isolation that a scheme promises under its settings.
pub fn isolation(scheme: &str, values: &Values) -> Isolation {
    let isolation = catalogue::with(scheme, IsolationUnder(values));
    isolation.unwrap_or_else(|| panic!("no scheme `{scheme}`"))
}

/// Whether a scheme under its settings stores no version of a record in the record itself, even where other schemes do.
pub fn has_versions_apart(scheme: &str, values: &Values) -> bool {
    with_scheme(scheme, VersionsApart(values))
}

/// Whether a scheme locks records when they are accessed, with different locks for reads and for writes.
pub fn upgrades(scheme: &str) -> bool {
    with_scheme(scheme, Upgrades)
}

/// Returns the number of clients if the settings make them terminals, which wait as the workload says.
pub fn terminals(workload: &str, values: &Values) -> Option<u64> {
    workload::with(workload, values, TerminalsOf(values))
}

/// Checks whether a run would be refused, before anything is loaded.
///
/// # Errors
/// The settings of the workload or of the scheme contradict each other, or the scheme's driver cannot do what is asked.
pub fn admit(spec: &Spec<'_>) -> Result<(), SettingError> {
    forecast(spec.workload, spec.values, spec.drive())?;
    with_scheme(spec.scheme, Admit(spec))
}

/// Returns the number of clients of a run under the scheme, which may need more clients than are `asked` for.
pub fn clients(scheme: &str, values: &Values, asked: usize) -> usize {
    with_scheme(scheme, Clients { values, asked })
}

/// Loads the database, runs the workload, and checks the result.
///
/// # Errors
/// Those of [`admit`], and those of the devices of the log, if the run has one.
pub fn run(spec: &Spec<'_>, monitor: &Monitor) -> Result<Measured, RunError> {
    let spec = &spec.with_clients();
    let declared = declare(spec)?;
    with_scheme(spec.scheme, Measure { spec, monitor, declared })
}

/// Recovers the log of a run of the same workload with this many workers, and checks the rows. The directories are not
/// changed.
///
/// # Errors
/// The files cannot be read or are not valid, or the settings differ from those of the run.
pub fn recover(
    spec: &Spec<'_>,
    held: &Held,
    workers: usize,
    progress: &Progress,
) -> Result<Recovered, RunError> {
    let spec = &spec.with_clients();
    let declared = declare(spec)?;
    with_scheme(spec.scheme, Recover { spec, held, workers, progress, declared })
}

impl Spec<'_> {
    /// The specification with the number of clients that the scheme needs, which may be more than were asked for.
    fn with_clients(&self) -> Self {
        let clients = clients(self.scheme, self.values, self.job.clients);
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

fn with_scheme<V: catalogue::Visit>(name: &str, visitor: V) -> V::Out {
    catalogue::with(name, visitor).unwrap_or_else(|| panic!("no scheme `{name}`"))
}

struct ForecastOf<'s> {
    values: &'s Values,
    drive: Drive,
}

impl Visit for ForecastOf<'_> {
    type Out = Result<Forecast, SettingError>;

    fn visit<W: Workload>(self) -> Self::Out {
        Ok(W::declare(self.values, self.drive, &mut Schema::new())?.forecast())
    }
}

struct TerminalsOf<'s>(&'s Values);

impl Visit for TerminalsOf<'_> {
    type Out = Option<u64>;

    fn visit<W: Workload>(self) -> Self::Out {
        W::terminals(self.0)
    }
}

struct IsolationUnder<'s>(&'s Values);

impl catalogue::Visit for IsolationUnder<'_> {
    type Out = Isolation;

    fn visit<S: Scheme>(self) -> Isolation {
        S::facts(self.0).isolation
    }
}

struct VersionsApart<'s>(&'s Values);

impl catalogue::Visit for VersionsApart<'_> {
    type Out = bool;

    fn visit<S: Scheme>(self) -> bool {
        S::facts(self.0).has_versions_apart
    }
}

struct Upgrades;

impl catalogue::Visit for Upgrades {
    type Out = bool;

    fn visit<S: Scheme>(self) -> bool {
        S::UPGRADES
    }
}

struct Admit<'s>(&'s Spec<'s>);

impl catalogue::Visit for Admit<'_> {
    type Out = Result<(), SettingError>;

    fn visit<S: Scheme>(self) -> Self::Out {
        if let Some(says) = S::Driver::refuses(&self.0.job) {
            return Err(SettingError(format!("{}: {says}", self.0.scheme)));
        }
        S::new(self.0.values, self.0.env::<S>()).map(drop)
    }
}

struct Clients<'s> {
    values: &'s Values,
    asked: usize,
}

impl catalogue::Visit for Clients<'_> {
    type Out = usize;

    fn visit<S: Scheme>(self) -> usize {
        S::facts(self.values).clients(self.asked)
    }
}

/// A workload and the schema that it has declared.
struct Declared {
    schema: Schema,
    workload: Box<dyn AnyWorkload>,
}

fn declare(spec: &Spec<'_>) -> Result<Declared, SettingError> {
    workload::with(spec.workload, spec.values, Declare(spec))
}

struct Declare<'s>(&'s Spec<'s>);

impl Visit for Declare<'_> {
    type Out = Result<Declared, SettingError>;

    fn visit<W: Workload>(self) -> Self::Out {
        let Self(spec) = self;
        let mut schema = Schema::new();
        schema.lay_out(spec.layout);
        let workload = W::declare(spec.values, spec.drive(), &mut schema)?;
        Ok(Declared { schema, workload: Box::new(Erased(workload)) })
    }
}

impl Declared {
    /// Returns an empty database.
    fn open<S: Scheme>(&self, spec: &Spec<'_>) -> Result<Database<S>, SettingError> {
        Database::new(&self.schema, spec.values, spec.env::<S>())
    }
}

/// Makes the program of a workload for a scheme: all that is compiled for each pair.
struct Compile<'w, S> {
    workload: &'w dyn Any,
    scheme: PhantomData<S>,
}

impl<'w, S: Scheme> Visit for Compile<'w, S> {
    type Out = Box<dyn Program<S, (), MaybeLogged> + 'w>;

    fn visit<W: Workload>(self) -> Self::Out {
        Box::new(Procedures::<W>(self.workload.downcast_ref().expect("the workload of this name")))
    }
}

/// The work of a run, compiled once for each scheme.
struct Measure<'s> {
    spec: &'s Spec<'s>,
    monitor: &'s Monitor,
    declared: Declared,
}

impl catalogue::Visit for Measure<'_> {
    type Out = Result<Measured, RunError>;

    fn visit<S: Scheme>(self) -> Self::Out {
        let Self { spec, monitor, declared } = self;
        let db = declared.open::<S>(spec)?;
        let workload = &*declared.workload;
        let compile = Compile { workload: workload.as_any(), scheme: PhantomData };
        let program = workload::with(spec.workload, spec.values, compile);
        monitor.enter(Step::Load);
        let slots = spec.env::<S>().slots + helpers();
        let log = spec.logging.as_ref().map(|logging| RunLog::begin(logging, &db, slots)).transpose()?;
        let (log, load_ns) = timed(|| {
            db.load_rows(helpers(), &|share, rows| workload.load(share, rows));
            let Some((mut log, logging)) = log.zip(spec.logging.as_ref()) else { return Ok(None) };
            log.load(workload, helpers(), logging).map(|()| Some(log))
        });
        let log = log?;
        let memory_loaded = db.memory();
        db.reserve(spec.reserve_bytes, helpers());
        monitor.enter(Step::Run);
        let control: &Control = &monitor.control;
        let logs = Logs { db: &db, log: log.as_ref(), control };
        let outcome = driver::drive(&db, &*program, &spec.job, control, &logs);
        let logged = log.map(|log| log.end(&db)).transpose()?;
        monitor.enter(Step::Check);
        let (verdict, check_ns) = timed(|| {
            if !spec.check {
                return CheckVerdict::Skipped;
            }
            workload.check(outcome.ledgers, &|see| see(&db.quiesced()))
        });
        Ok(Measured {
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
        })
    }
}

struct Recover<'s> {
    spec: &'s Spec<'s>,
    held: &'s Held,
    workers: usize,
    progress: &'s Progress,
    declared: Declared,
}

impl catalogue::Visit for Recover<'_> {
    type Out = Result<Recovered, RunError>;

    fn visit<S: Scheme>(self) -> Self::Out {
        let Self { spec, held, workers, progress, declared } = self;
        let db = declared.open::<S>(spec)?;
        let mut recovered = recovery::into(&db, held, workers, progress)?;
        if spec.check {
            recovered.verdict = declared.workload.check_state(&|see| see(&db.quiesced()));
        }
        Ok(recovered)
    }
}

/// Returns the result of `work`, and the nanoseconds that it took.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let start_ns = clock::now_ns();
    let result = work();
    (result, clock::now_ns() - start_ns)
}
