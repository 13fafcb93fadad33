//! Trials: what is tried on every scheme to show that it does not isolate as it promises.
//!
//! A trial runs the *mix*, small transactions made to be in each other's way, records what all of them saw and did,
//! and has a checker judge it. There are two kinds. *Explored* trials run over stepped primitives, where every
//! interleaving is decided, so that whatever is found can be found again: a seed decides rows, requests and schedule,
//! or a *search* tries all schedules of a small given program. *Native* trials run on threads of this machine, where
//! memory is as weak and schedules are as wild as they are in use.
//!
//! A trial that does not end has a verdict, too: a *deadlock*, if all wait for ever, or a *livelock*, if all abort and
//! are tried again for ever. An explored one is given up after a number of steps, and what was found once is not looked
//! for on threads, which nothing can end.
//!
//! The *scripts* of [`proof`] come first: the anomalies of the literature, step by step.
//!
//! A [`Campaign`] makes as many of both as its budget allows, and says what a scheme was seen to do: nothing that its
//! promise forbids, it is hoped, and of what the promise permits, enough to show that the trials are not blind. That
//! they are not is shown once more by [planted bugs](sync_sim::plant), which explored trials have to find.
#![forbid(unsafe_code)]

mod campaign;
mod case;
mod plants;
mod scripts;
mod searches;
mod trial;
mod watch;

pub use campaign::{Budget, Campaign, Limit, Monitor, Replay, Report, Step, Violation, name_of};
pub use case::{Case, Explored, Subject};
pub use checker::{Form, Notation, export};
pub use plants::{Plant, find as find_plant, of_scheme as plants_of};
pub use searches::{Program, SEARCHES};
pub use sim::Schedule;
pub use watch::{Patience, Progress, Stuck, Watched, watched};
