//! Sweeps: one recipe, all combinations of what it varies, measured so that the comparison is fair.
//!
//! A [`Recipe`] is a file of settings: what is fixed, what varies, and why it is off the standard. A [`Sweep`] is the
//! runs that it asks for, each a [`Unit`] that one command makes; what a scheme cannot run of it is [`LeftOut`].
//! Repetitions come one after the other, so that a sweep that is cut short is a sweep of fewer repetitions; in each,
//! points come in random order, and the schemes of a point directly after one another, in random order too: what
//! changes slowly on the machine meets all of them alike. All schemes of a repetition answer the same requests, drawn
//! from the repetition's seed.
//!
//! A unit's *id* is a digest of all that can change its outcome and that we know: the resolved settings, the seed, the
//! build. Results lie under it in a [`Store`], so that nothing is measured twice and nothing is overwritten, whatever
//! recipes share the directory and however often a sweep is killed.
//!
//! Beyond one machine nothing is scheduled here. [`blocks`] of units that belong on one host are what others place: a
//! [`JobArray`] of Slurm, or whatever starts `contend sweep FILE --only ID,..`. On each host a [`HostLock`] sees to it
//! that one timed run is made at a time, and [`merge`] brings results together.

mod bench;
mod host;
mod measuring;
mod merge;
mod recipe;
mod slurm;
mod store;
mod summary;
mod told;
mod units;

pub use bench::{Bench, Run};
pub use host::HostLock;
pub use measuring::Measuring;
pub use merge::{Merged, merge};
pub(crate) use recipe::DRIVES;
pub use recipe::{MEMORY, Recipe, Scalar, VARIANT, Variant};
pub use slurm::{JobArray, Places};
pub use store::{Entry, Store};
pub(crate) use summary::{CONFIDENCE, MARGIN, compared, json_of, judged, machine, speeds, verdict_name};
pub use summary::{Line, Summary, json, left_out};
pub(crate) use told::{heads, row};
pub use told::{plan, results};
pub use units::{LeftOut, Sweep, Unit, blocks, digest};
