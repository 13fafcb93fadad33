//! Trials: runs of the mix whose histories are recorded, natively and over stepped primitives, for a checker to judge.
#![forbid(unsafe_code)]

/// What is tried.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'t> {
    /// The scheme's name.
    pub scheme: &'t str,
    /// Settings of the scheme and of the mix that are not the standard ones.
    pub given: &'t [(String, String)],
    /// Threads that execute.
    pub workers: usize,
    /// Sessions in flight; a batched scheme has one for each place of its batches at least.
    pub clients: usize,
    /// Transactions of each.
    pub requests: u64,
    /// The seed of all requests.
    pub seed: u64,
}

/// What came of a trial.
#[derive(Debug)]
pub struct Tried {
    /// What all sessions saw and did.
    pub history: stdx::history::History,
    /// What the scheme promises under these settings.
    pub promise: checker::Level,
    /// Transactions that committed.
    pub commits: u64,
    /// Attempts that the scheme aborted.
    pub aborts: u64,
    /// What transactions noticed by themselves.
    pub noticed: Option<String>,
}

/// The same over one build of the engine.
macro_rules! trial {
    ($engine:ident, $schemes:ident, $workloads:ident) => {
        use $engine::driver::{self, Control, Job, Limit, Retry, TypeTally};
        use $engine::setting::{SettingError, Values};
        use $engine::{Database, Drive, Env, Isolation, Records, Schema, Scheme, Share, Workload};
        use $schemes::catalogue::{self, Visit};
        use $workloads::mix::Mix;

        use crate::{Trial, Tried};

        struct Run<'t>(Trial<'t>);

        impl Visit for Run<'_> {
            type Out = Result<Tried, SettingError>;

            fn visit<S: Scheme>(self) -> Self::Out {
                let Self(trial) = self;
                let values = Values::new(S::SETTINGS.iter().chain(Mix::SETTINGS), trial.given)?;
                let (workers, seed) = (trial.workers, trial.seed);
                let clients = S::clients(&values, trial.clients);
                let drive = Drive { workers: workers as u32, clients: clients as u32, seed };
                let mut schema = Schema::new();
                schema.mark_values();
                let mix = Mix::declare(&values, drive, &mut schema)?;
                let db = Database::<S>::new(&schema, &values, Env { slots: clients + workers, workers })?;
                db.load(&mix, 1);
                let job = Job {
                    workers,
                    clients,
                    retry: Retry::Same,
                    limit: Limit::Requests(trial.requests),
                    seed,
                    pause_ns: 0,
                    pin: false,
                    sample_every: 0,
                    latencies: false,
                };
                let records = Records::default();
                let outcome = driver::observe(&db, &mix, &job, &Control::new(workers), &&records);
                let sum = |count: fn(&TypeTally) -> u64| outcome.types.iter().map(count).sum();
                let checked = mix.check(&db.quiesced(), Share::WHOLE, &outcome.ledgers);
                Ok(Tried {
                    history: records.into_history(),
                    promise: promise(S::isolation(&values)),
                    commits: sum(|tally| tally.commits),
                    aborts: sum(|tally| tally.aborts.iter().sum()),
                    noticed: checked.err().map(|violation| violation.to_string()),
                })
            }
        }

        /// What a checker holds a scheme to.
        fn promise(isolation: Isolation) -> checker::Level {
            match isolation {
                Isolation::StrictlySerializable => checker::Level::StrictlySerializable,
                Isolation::Serializable => checker::Level::Serializable,
                Isolation::Snapshot => checker::Level::SnapshotIsolation,
                Isolation::None => checker::Level::ReadCommitted,
            }
        }

        /// Runs a trial. None when there is no such scheme.
        ///
        /// # Errors
        /// Settings that are refused.
        pub fn run(trial: Trial<'_>) -> Option<Result<Tried, SettingError>> {
            catalogue::with(trial.scheme, Run(trial))
        }
    };
}

/// On threads of this machine.
pub mod native {
    trial!(engine, schemes, workloads);
}

/// Over stepped primitives: under a schedule of [`sim`], every access to a shared word is a step.
pub mod stepped {
    trial!(engine_sim, schemes_sim, workloads_sim);
}
