//! Instances: the simulated run of a scheme, compiled for its type, as a value.

use std::rc::Rc;

use engine_sim::driver::{self, Control, Driver};
use engine_sim::entry::Entry;
use engine_sim::setting::{Settings, Values};
use engine_sim::{
    Admits, Database, Drive, Env, Facts, Ledger, Procedures, Schema, Scheme, Share, Workload, levers,
};
use runs::{CheckVerdict, Measured};
use sim::Timed;
use sync::clock;
use workloads_sim::catalogue::{self, VisitWorkload, WORKLOADS};

use crate::{Simulated, SimulationError, SimulationSpec, convert, hot_lines};

/// A scheme as simulations need it.
#[derive(Clone, Copy, Debug)]
pub struct SimulatedInstance {
    /// The scheme's entry in the stepped build.
    pub entry: &'static Entry,
    run: fn(&SimulationSpec<'_>) -> Result<Simulated, SimulationError>,
}

impl SimulatedInstance {
    /// Returns the instance of a scheme with its entry.
    pub const fn of<S: Scheme>(entry: &'static Entry) -> Self {
        Self { entry, run: run::<S> }
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
        (self.run)(spec)
    }
}

fn run<S: Scheme>(spec: &SimulationSpec<'_>) -> Result<Simulated, SimulationError> {
    let info = WORKLOADS.iter().find(|info| info.name == spec.workload).expect("callers know the workload");
    let known = || S::Settings::ALL.iter().chain(info.settings).chain(levers::SETTINGS);
    let is_known = |(name, _): &(&str, &str)| known().any(|setting| setting.name == *name);
    let given: Vec<(String, String)> =
        spec.values.iter().filter(is_known).map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
    let values = Values::new(known(), &given)?;
    let facts = Facts::under::<S>(&values);
    let mut job = convert::job(&spec.job);
    job.clients = facts.clients(job.clients);
    if let Some(says) = S::Driver::refuses(&job) {
        return Err(SimulationError(format!("{}: {says}", S::INFO.name)));
    }
    catalogue::with(
        spec.workload,
        &values,
        Simulate::<S> { spec, values: &values, job, scheme: core::marker::PhantomData },
    )
}

struct Simulate<'s, S> {
    spec: &'s SimulationSpec<'s>,
    values: &'s Values,
    job: driver::Job,
    scheme: core::marker::PhantomData<S>,
}

impl<S: Scheme> VisitWorkload for Simulate<'_, S> {
    type Out = Result<Simulated, SimulationError>;

    fn visit<W: Workload>(self) -> Self::Out {
        let Self { spec, values, job, .. } = self;
        let (workers, clients) = (job.workers, job.clients);
        let drive = Drive { workers: workers as u32, clients: clients as u32, seed: job.seed };
        let mut schema = Schema::new();
        schema.lay_out(convert::layout(spec.layout));
        let workload = W::declare(values, drive, &mut schema)?;
        let slots = S::Driver::sessions(&job) + 1;
        let db = Database::<S>::new(&schema, values, Env { slots, workers })?;
        let timed = Rc::new(Timed::new(spec.machine, spec.placement, workers, spec.lookahead_ps));
        timed.run(|| {
            let start_ns = clock::now_ns();
            db.load(&workload, 1);
            let loaded_ns = clock::now_ns();
            timed.start();
            let control = Control::new(workers);
            let outcome = driver::drive(&db, &Procedures(&workload), &job, &control, &());
            let run_ns = clock::now_ns();
            let driver::RunOutcome {
                types, arrived, turns, series, phase_ticks, measured_ns, ledgers, ..
            } = outcome;
            let ledgers: Vec<W::Ledger> = ledgers.into_iter().map(Ledger::into_inner::<W>).collect();
            let verdict = if spec.check {
                convert::verdict(workload.check(&db.quiesced(), Share::WHOLE, &ledgers))
            } else {
                CheckVerdict::Skipped
            };
            let measured = Measured {
                types: types.into_iter().map(convert::tally).collect(),
                arrived: convert::arrived(arrived),
                turns,
                series: convert::series(series),
                phase_ticks,
                load_ns: loaded_ns - start_ns,
                measured_ns,
                check_ns: clock::now_ns() - run_ns,
                cpu_share: 1.0,
                is_interrupted: false,
                verdict,
                memory_loaded: Vec::new(),
                memory: Vec::new(),
                logged: None,
                insight: engine::Insight::default(),
            };
            let (counts, spent) = timed.counts();
            let line_bytes = spec.machine.line_bytes as usize;
            let hottest = hot_lines::name(&db, &timed.hottest(hot_lines::COUNT), line_bytes, &spent);
            Ok(Simulated { measured, counts, spent, hottest, host_ns: run_ns - loaded_ns })
        })
    }
}
