//! Trials: they try to show that a scheme does not isolate as it promises.
//!
//! A trial runs the *mix*, small transactions made to conflict with each other, records what all of them saw and did,
//! and has a checker judge the history. There are two kinds. *Explored* trials run over stepped primitives, where every
//! interleaving is decided, so that every finding can be reproduced: a seed decides rows, requests and schedule, or a
//! *search* tries all schedules of a small given program. *Native* trials run on threads of this machine, where memory
//! ordering is as weak and schedules are as irregular as in use.
//!
//! A trial that does not end has a verdict, too: a *deadlock* if all transactions wait for ever, or a *livelock* if all
//! abort and are retried for ever. An explored trial is given up after a number of steps. After such a finding nothing
//! is tried on threads, because stuck threads cannot be ended.
//!
//! The *scripts* of [`proof`] come first: they play the anomalies of the literature step by step.
//!
//! A [`TrialInstance`] has the trials of a scheme compiled for its types.
//!
//! A [`Campaign`] runs as many trials of both kinds as its budget allows, and reports the anomalies of the scheme.
//! There should be none that the scheme's promise forbids, and enough of those that the promise permits to show that
//! the trials are not blind. [Planted bugs](sync_sim::plant), which explored trials have to find, show this once more.
#![forbid(unsafe_code)]

mod campaign;
mod case;
mod instance;
mod scripts;
mod searches;
mod trial;
mod watch;

pub use campaign::{
    Budget, Campaign, CampaignMonitor, CampaignPhase, CampaignReport, Replay, TrialLimit, TrialViolation,
    name_of,
};
pub use case::{Case, ExploredTrial, TrialSubject};
pub use checker::{Form, Notation, export};
pub use instance::{Native, Plant, Planted, Stepped, SteppedEntry, SteppedScheme, TrialInstance};
pub use searches::{SEARCHES, SearchedProgram};
pub use sim::Schedule;
pub use watch::{Patience, Progress, Stuck, WatchOutcome, watched};
