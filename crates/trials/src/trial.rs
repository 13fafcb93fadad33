//! One trial: a run of the mix under a scheme, over either build of the engine, and its history.

use checker::{Answer, Checker, HistoryVerdict, Level};
use stdx::history::History;
use sync::Arc;

use crate::watch::Progress;

/// The parameters of a trial.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trial<'t> {
    /// Settings of the scheme, of the mix and of the engine that are not the standard ones.
    pub(crate) given: &'t [(String, String)],
    /// Threads that execute.
    pub(crate) workers: usize,
    /// Sessions in flight; a batched scheme has at least one for each place of its batches.
    pub(crate) clients: usize,
    /// Transactions of each session.
    pub(crate) requests: u64,
    /// The seed of all random requests.
    pub(crate) seed: u64,
    /// Whether rare changes of storage are common.
    pub(crate) changes_often: bool,
}

/// The result of a trial.
#[derive(Debug)]
pub(crate) struct Tried {
    /// The history of all sessions.
    pub(crate) history: History,
    /// The level that the scheme promises under these settings.
    pub(crate) promise: Level,
    /// Whether the scheme promises that the order of its stamps explains all commits.
    pub(crate) has_serial_stamps: bool,
    /// A violation that transactions noticed themselves: a torn row, or a row under a key that is not its own.
    pub(crate) noticed: Option<String>,
}

impl Tried {
    /// Judges the history by all that the scheme promises.
    pub(crate) fn judge(&self, checker: &mut Checker) -> HistoryVerdict {
        let mut verdict = checker.check(&self.history, self.promise);
        let is_right = self.has_serial_stamps && verdict.answer != Answer::Violated;
        if let Some(anomaly) = is_right.then(|| checker::out_of_order(&self.history)).flatten() {
            verdict.answer = Answer::Violated;
            verdict.violations.push(anomaly);
        }
        verdict
    }
}

/// Defines trials over one build of the engine, where `$observed` makes of the records what gives sessions
/// their observers.
macro_rules! trial {
    ($engine:ident, $workloads:ident, $observed:expr) => {
        use stdx::Rng;
        use $engine::driver::{self, Control, Job, Limit};
        use $engine::setting::{Setting, SettingError, Settings, Values};
        use $engine::{
            Abort, AnyDatabase, ClientId, Database, Drive, Env, Facts, Forecast, Homes, Isolation, Layout,
            Loader, Procedures, Quiesced, Records, Schema, Scheme, Share, Transaction, TxnType, TypedLoader,
            TypedView, Violation, Workload, levers,
        };
        use $workloads::mix::{Act, Input, LoadedRows, Mix};

        use super::{Arc, Level, Progress, Trial, Tried};

        /// Rows and requests that are given and not random: the acts are run one after the other.
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct Given {
            pub(crate) rows: &'static [LoadedRows],
            pub(crate) acts: &'static [Act],
        }

        /// The mix, which records the progress of its transactions.
        #[derive(Debug)]
        struct Noted {
            mix: Mix,
            progress: Arc<Progress>,
        }

        impl Workload for Noted {
            const NAME: &'static str = Mix::NAME;
            const TYPES: &'static [TxnType] = Mix::TYPES;
            const SETTINGS: &'static [Setting] = Mix::SETTINGS;
            const COMPILED_ONCE: bool = true;
            type Input = Input;
            type Scratch = ();
            type Output = ();
            type Ledger = ();

            fn declare(values: &Values, drive: Drive, schema: &mut Schema) -> Result<Self, SettingError> {
                Ok(Self { mix: Mix::declare(values, drive, schema)?, progress: Arc::default() })
            }

            fn forecast(&self) -> Forecast {
                self.mix.forecast()
            }

            fn load(&self, share: Share, loader: &mut impl Loader) {
                self.mix.load(share, loader);
            }

            fn generate(&self, client: ClientId, sequence: u64, rng: &mut Rng) -> Input {
                self.progress.ended();
                self.mix.generate(client, sequence, rng)
            }

            fn kind(&self, input: &Input) -> usize {
                self.mix.kind(input)
            }

            fn homes(&self, input: &Input) -> Homes {
                self.mix.homes(input)
            }

            fn execute<T: Transaction>(&self, input: &Input, (): &mut (), txn: &mut T) -> Result<(), Abort> {
                self.progress.attempted();
                self.mix.execute(input, &mut (), txn)
            }

            fn committed(&self, (): &mut (), _: &Input, (): &()) {
                self.progress.ended();
            }

            fn check(&self, view: &impl Quiesced, share: Share, _: &[()]) -> Result<(), Violation> {
                self.mix.check(view, share, &[])
            }
        }

        /// Runs a trial of a scheme, which records its progress.
        ///
        /// # Errors
        /// The settings are refused.
        pub(crate) fn run<S: Scheme>(
            trial: Trial<'_>,
            given: Option<Given>,
            progress: Arc<Progress>,
        ) -> Result<Tried, SettingError> {
            let values = values(S::Settings::ALL, trial)?;
            let facts = Facts::under::<S>(&values);
            let clients = facts.clients(trial.clients, trial.workers);
            let (schema, noted) = declare(&values, trial, clients, given, progress)?;
            let env = Env { slots: clients + trial.workers, workers: trial.workers };
            let db = Database::<S>::new(&schema, &values, env)?;
            Ok(carry_out(&db, &values, trial, &facts, given, noted))
        }

        /// A database without the type of its scheme.
        trait TrialDatabase: AnyDatabase {
            /// See [`Scheme::SERIAL_STAMPS`].
            fn has_serial_stamps(&self) -> bool;

            /// Does a job, and records what its sessions see and do.
            fn drive(&self, noted: &Noted, job: &Job, records: &Records);
        }

        impl<S: Scheme> TrialDatabase for Database<S> {
            fn has_serial_stamps(&self) -> bool {
                S::SERIAL_STAMPS
            }

            fn drive(&self, noted: &Noted, job: &Job, records: &Records) {
                let control = Control::new(job.workers);
                _ = driver::drive(self, &Procedures(noted), job, &control, &$observed(records));
            }
        }

        /// The values of all settings that a trial of a scheme with settings of its own has.
        fn values(own: &'static [Setting], trial: Trial<'_>) -> Result<Values, SettingError> {
            Values::new(own.iter().chain(Mix::SETTINGS).chain(levers::SETTINGS), trial.given)
        }

        /// Declares the tables of a trial.
        fn declare(
            values: &Values,
            trial: Trial<'_>,
            clients: usize,
            given: Option<Given>,
            progress: Arc<Progress>,
        ) -> Result<(Schema, Noted), SettingError> {
            let drive = Drive { workers: trial.workers as u32, clients: clients as u32, seed: trial.seed };
            let mut schema = Schema::new();
            schema.mark_values();
            if trial.changes_often {
                schema.change_often();
            }
            schema.lay_out(levers::lay_out(values, Layout::default()));
            let mut mix = Mix::declare(values, drive, &mut schema)?;
            if let Some(given) = given {
                mix = mix.with_rows(given.rows);
            }
            Ok((schema, Noted { mix, progress }))
        }

        /// Does all jobs of a trial on an empty database.
        fn carry_out(
            db: &dyn TrialDatabase,
            values: &Values,
            trial: Trial<'_>,
            facts: &Facts,
            given: Option<Given>,
            mut noted: Noted,
        ) -> Tried {
            db.load_rows(1, &|share, rows| noted.load(share, &mut TypedLoader::new(rows)));
            let records = Records::default();
            let clients = facts.clients(trial.clients, trial.workers);
            let job = Job {
                reads_first: levers::reads_first(values),
                rehearses: levers::rehearses(values),
                reorder: levers::reorder(values),
                ..Job::new(trial.workers, clients, Limit::Requests(trial.requests), trial.seed)
            };
            match given {
                None => db.drive(&noted, &job, &records),
                Some(given) => given.acts.iter().for_each(|act| {
                    noted.mix.enter(act);
                    let clients = facts.clients(act.len(), trial.workers);
                    db.drive(&noted, &Job { clients, ..of_act(act, job) }, &records);
                }),
            }
            let mut checked = Ok(());
            db.show(&mut |rows| checked = noted.check(&TypedView(rows), Share::WHOLE, &[]));
            Tried {
                history: records.into_history(),
                promise: promise(facts.isolation),
                has_serial_stamps: db.has_serial_stamps(),
                noticed: checked.err().map(|violation| violation.to_string()),
            }
        }

        /// Returns the level by which a checker judges a scheme.
        pub(crate) fn promise(isolation: Isolation) -> Level {
            match isolation {
                Isolation::StrictlySerializable => Level::StrictlySerializable,
                Isolation::Serializable => Level::Serializable,
                Isolation::Snapshot => Level::SnapshotIsolation,
                Isolation::None => Level::ReadCommitted,
            }
        }

        /// Returns the job of an act: a worker for each session, and as many requests as the longest session has.
        fn of_act(act: Act, job: Job) -> Job {
            let requests = act.iter().map(|session| session.len() as u64).max().unwrap_or_default();
            Job { workers: act.len(), limit: Limit::Requests(requests), ..job }
        }
    };
}

/// Trials on threads of this machine.
pub(crate) mod native {
    trial!(engine, workloads, core::convert::identity);

    /// Returns the facts of a scheme under settings of the scheme and of the engine.
    ///
    /// # Errors
    /// The settings are refused.
    pub(crate) fn facts<S: Scheme>(given: &[(String, String)]) -> Result<Facts, SettingError> {
        let values = Values::new(S::Settings::ALL.iter().chain(levers::SETTINGS), given)?;
        levers::admit::<S>(&values)?;
        Ok(Facts::under::<S>(&values))
    }
}

/// Trials over stepped primitives: under a schedule of [`sim`], every access to a shared word is a step. The observer
/// is optional, as in simulated runs, so that both have one type of session, which is compiled once for each scheme.
pub(crate) mod stepped {
    trial!(engine_sim, workloads_sim, Some);
}
