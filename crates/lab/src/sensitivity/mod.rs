//! Sensitivity: which settings move the throughput of each scheme, and which move their ranking.
//!
//! A [`Study`] is a space of settings and some schemes. [`measure`] screens the space along Morris' trajectories, on
//! which one setting after the other takes a large step. Then it fills the space evenly as long as there is time. An
//! [`Analysis`] reports two figures for each setting. The first is the mean size of the effects of its steps, beside
//! that of a step on which nothing changes, which is due to chance. The second is the share of the variance that the
//! setting explains, by Sobol's indices of a tree that is fitted to all points.

mod analysis;
mod measure;
mod study;
mod told;

pub use analysis::{Analysis, Effect, Response, VarianceShare};
pub use measure::{MeasuredPoint, StudyMeasurements, measure};
pub use study::{Method, Question, Study};
