//! Claims about where one scheme beats another, with their conditions. The conditions are found by measuring where the
//! ranking is in doubt, and tested at points that were not measured before.
//!
//! A [`Study`] explores a [`Space`](crate::Space): first points that fill it, then points halfway between neighbours
//! that disagree, so that most runs are spent where the ranking flips. On a single axis, it halves stretches of the
//! axis until a crossing is known. A decision tree turns the measured points into a [`Predicate`]. The fit of the
//! predicate to these points says little, since it was made from them. Therefore, it is tested on fresh random points,
//! which have their own requests. A [`Claim`] says how many of these points agree, both if aborted requests are tried
//! again and if they are dropped. Finally, at a point where the winner is far ahead, mechanisms are changed one at a
//! time, on identical requests, to find those that the gap depends on.
//!
//! Schemes are always measured in pairs, one directly after the other, on the same requests, so that a slow phase of
//! the machine affects both. The ratio of a pair is the throughput of A over the throughput of B.

mod claim;
mod crossing;
mod explore;
mod fit;
mod held_out;
mod investigate;
mod pairs;
mod points;
mod recheck;
mod study;
mod told;
mod why;

pub use claim::Testable;
pub use investigate::{Findings, investigate};
pub use recheck::{Rechecked, recheck};
pub use results::{Claim, Class, Predicate};
pub use stats::Verdict;
pub use study::{Question, Role, Sample, Study};
