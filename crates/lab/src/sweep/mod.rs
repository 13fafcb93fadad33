//! Sweeps: all combinations of the settings that a recipe varies, measured so that the comparison is fair.
//!
//! A [`Recipe`] is a file with the fixed settings, the settings that vary, and the reasons for values off the standard.
//! A [`Sweep`] is the list of runs that a recipe asks for. Each run is a [`Unit`], which one command makes. Points that
//! a scheme cannot run are [`LeftOut`]. Repetitions come one after the other, so that a sweep that ends early is a
//! sweep of fewer repetitions. Within a repetition, the points come in random order. The schemes of a point come
//! directly after one another, also in random order, so that slow changes of the machine affect all of them alike. All
//! schemes of a repetition answer the same requests, which are drawn from the repetition's seed.
//!
//! The results of simulated runs do not depend on what else the host does. Such runs come first, and several are made
//! at the same time: [`SideBySide`].
//!
//! A unit's *id* is a digest of everything known that can change its outcome: the resolved settings, the seed, the
//! build. A [`ResultStore`] keeps results by this id, so that nothing is measured twice and nothing is overwritten,
//! even if several recipes share the directory and a sweep is killed often.
//!
//! Runs on several machines are not scheduled here. Another program places [`blocks`] of units that belong on one host:
//! Slurm by a [`JobArray`], or any program that starts `contend sweep FILE --only ID,..`. On each host, a [`HostLock`]
//! ensures that one timed run is made at a time, and [`merge`] brings the results together.

mod bench;
mod host;
mod measuring;
mod merge;
mod recipe;
mod side_by_side;
mod slurm;
mod store;
mod summary;
mod told;
mod units;

pub(crate) use bench::nothing_measured;
pub use bench::{Bench, Runner};
pub use host::HostLock;
pub use measuring::Measuring;
pub use merge::{Merged, merge};
pub(crate) use recipe::DRIVES;
pub use recipe::{MEMORY, Recipe, RecipeVariant, Scalar, VARIANT};
pub use side_by_side::SideBySide;
pub use slurm::{JobArray, Places};
pub use store::{ResultStore, StoredResult};
pub(crate) use summary::{CONFIDENCE, MARGIN, compared, judged, point_of, speeds, verdict_name};
pub use summary::{PointSummary, Summary, left_out, point};
pub(crate) use told::{heads, row};
pub use told::{plan, results};
pub(crate) use units::command;
pub use units::{LeftOut, Sweep, Unit, blocks, digest};
