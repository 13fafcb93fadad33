//! The choices that were made for a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Choice, Named, Version};

/// All choices that were made for a run. They are the same for all runs of a scheme in a plan. A choice that a result
/// does not state, because the choice did not exist when the result was made, has the value of that time.
#[derive(Clone, Debug, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Choices {
    /// The version of the names and their meanings.
    pub schema: Version,
    /// The version of the program.
    pub version: String,
    /// The workload.
    pub workload: String,
    /// The scheme.
    pub scheme: String,
    /// The isolation that the scheme promises under its settings.
    pub isolation: String,
    /// The number of workers: threads that execute transactions.
    pub workers: u64,
    /// The number of clients that ran: those that were asked for, and as many more as the scheme needs.
    pub clients: u64,
    /// The number of clients that were asked for.
    pub clients_asked: u64,
    /// The name of the policy of retry: what a client does with an aborted request.
    pub retry: String,
    /// Whether workers stayed on their cores.
    #[serde(rename = "pinned")]
    pub is_pinned: bool,
    /// The seed of all requests.
    pub seed: u64,
    /// The number of rounds of the plan.
    pub repeat: u64,
    /// The requested seconds of warm-up before the measured time; the most, if the warm-up is automatic; 0 if the run
    /// is simulated, whose warm-up goes by commits.
    pub warmup_s: f64,
    /// Whether the warm-up ends when throughput is steady.
    #[serde(rename = "warmup_auto")]
    pub is_warmup_auto: bool,
    /// The requested seconds of measured time; the most, in seconds of the simulated machine, if the run is simulated.
    pub asked_s: f64,
    /// Seconds of work after the measured time.
    pub cooldown_s: f64,
    /// The name of the mode: how clients run transactions, as stored procedures or statement by statement.
    pub mode: String,
    /// The time of a message from a client to the database and back, in microseconds.
    pub rtt_us: u64,
    /// The number of requests that a client sends together.
    pub batch: u64,
    /// The name of the arrival process: `closed` if a client sends its next request after the answer.
    pub arrivals: String,
    /// The requested arrivals a second of all clients together; `null` if the loop is closed.
    pub rate_txn_s: Option<f64>,
    /// Whether the run was simulated: its figures are those of a model of a machine. Left out if it was native.
    #[serde(rename = "simulated", skip_serializing_if = "core::ops::Not::not")]
    pub is_simulated: bool,
    /// The simulated machine: its name, or the path of its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated_on: Option<String>,
    /// The digest of the simulated machine's constants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_digest: Option<String>,
    /// The name of the order in which workers get the hardware threads of the simulated machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<String>,
    /// The name of the policy by which memory is on the sockets of the simulated machine.
    #[serde(rename = "memory_policy", skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// The number of hardware threads of a core that are used, if the simulated machine has more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smt: Option<u64>,
    /// The least number of commits of a worker, in the mean, that the simulation counts; of a native run, the number of
    /// its requests, if it goes by requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub txns: Option<u64>,
    /// The number of commits of a worker, in the mean, before the simulation begins to count, if it is not 200.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmup_txns: Option<u64>,
    /// The greatest multiple of the time of the least number of commits for which the simulation waits for a narrow
    /// interval, if it is not 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patience: Option<u64>,
    /// Nanoseconds of the simulated machine for which a hardware thread may run ahead of the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lookahead_ns: Option<u64>,
    /// The values of all settings by name, those with standard values included.
    pub settings: Named,
}

impl Default for Choices {
    fn default() -> Self {
        Self {
            schema: Version::default(),
            version: String::new(),
            workload: String::new(),
            scheme: String::new(),
            isolation: String::new(),
            workers: 0,
            clients: 0,
            clients_asked: 0,
            retry: String::new(),
            is_pinned: false,
            seed: 0,
            repeat: 0,
            warmup_s: 0.0,
            is_warmup_auto: false,
            asked_s: 0.0,
            cooldown_s: 0.0,
            mode: "procedure".to_owned(),
            rtt_us: 0,
            batch: 1,
            arrivals: "closed".to_owned(),
            rate_txn_s: None,
            is_simulated: false,
            simulated_on: None,
            machine_digest: None,
            placement: None,
            memory: None,
            smt: None,
            txns: None,
            warmup_txns: None,
            patience: None,
            lookahead_ns: None,
            settings: Named::new(),
        }
    }
}

impl Choices {
    /// Returns the value of a choice by its name in results, which is no setting; `None` if there is no such choice, or
    /// if its value is `null` or empty.
    pub fn get(&self, name: &str) -> Option<Choice> {
        let word = |word: &String| (!word.is_empty()).then(|| word.as_str().into());
        Some(match name {
            "workload" => word(&self.workload)?,
            "scheme" => word(&self.scheme)?,
            "isolation" => word(&self.isolation)?,
            "workers" => self.workers.into(),
            "clients" => self.clients.into(),
            "clients_asked" => self.clients_asked.into(),
            "retry" => word(&self.retry)?,
            "pinned" => self.is_pinned.into(),
            "seed" => self.seed.into(),
            "repeat" => self.repeat.into(),
            "warmup_s" => self.warmup_s.into(),
            "warmup_auto" => self.is_warmup_auto.into(),
            "asked_s" => self.asked_s.into(),
            "cooldown_s" => self.cooldown_s.into(),
            "mode" => word(&self.mode)?,
            "rtt_us" => self.rtt_us.into(),
            "batch" => self.batch.into(),
            "arrivals" => word(&self.arrivals)?,
            "rate_txn_s" => self.rate_txn_s?.into(),
            "simulated" => self.is_simulated.then_some(true)?.into(),
            "machine" => word(self.simulated_on.as_ref()?)?,
            "machine_digest" => word(self.machine_digest.as_ref()?)?,
            "placement" => word(self.placement.as_ref()?)?,
            "memory" => word(self.memory.as_ref()?)?,
            "smt" => self.smt?.into(),
            "txns" => self.txns?.into(),
            "warmup_txns" => self.warmup_txns?.into(),
            "patience" => self.patience?.into(),
            "lookahead_ns" => self.lookahead_ns?.into(),
            _ => return None,
        })
    }

    /// Returns the value of a setting as a number; `None` if the run has no such setting, or if it is no number.
    pub fn number(&self, setting: &str) -> Option<f64> {
        self.settings.get(setting)?.as_f64()
    }

    /// Whether a setting is a word other than `standard`.
    pub fn is_off(&self, setting: &str, standard: &str) -> bool {
        self.settings.get(setting).is_some_and(|value| value.as_str() != Some(standard))
    }
}
