//! Sensitivity: which settings move the throughput of each scheme, and which move their ranking.
//!
//! A [`Study`] is a space of settings and some schemes. [`measure`] screens it along Morris' trajectories, on which one
//! setting after the other takes a large step, and then fills it evenly as long as there is time. An [`Analysis`] says
//! what each setting does: the mean size of its steps beside that of a step on which nothing changed, which is what
//! chance does; and which share of the variance it explains, by Sobol's indices of a tree that was fitted to all
//! points.

mod analysis;
mod measure;
mod study;
mod told;

pub use analysis::{Analysis, Effect, Outcome, Share};
pub use measure::{Measured, Sample, measure};
pub use study::{Method, Question, Study};
