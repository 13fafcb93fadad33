//! Conclusions with their conditions: where one scheme beats another, found by measuring where it is in doubt, and
//! tested where nothing was measured before.
//!
//! A [`Study`] explores a [`Space`](crate::Space): first points that fill it, then points halfway between neighbours
//! that disagree, so that most runs are spent where the ranking flips; on a single axis, halves until a crossing is
//! known. A tree of decisions turns what was found into a
//! [`Predicate`]. Whatever its fit to these points is says little, since it was made for them: so the predicate is then
//! tested on fresh random points, with requests of their own, and a [`Claim`] says how many of them agree: with
//! aborted requests tried again, and with them dropped. At last, at a point where the winner is far ahead, mechanisms
//! are changed one at a time, on identical requests, to see which of them the gap depends on.
//!
//! Schemes are always measured in pairs, one directly after the other, on the same requests: what slows the machine
//! slows both. The ratio of a pair is throughput of A over throughput of B.

mod claim;
mod crossing;
mod explore;
mod fit;
mod held_out;
mod investigate;
mod pairs;
mod points;
mod predicate;
mod recheck;
mod study;
mod told;
mod why;

pub use claim::{Breadth, Claim, Exception, HeldOut, Mechanism, Otherwise, Ratio};
pub use investigate::{Findings, investigate};
pub use predicate::{Predicate, Term};
pub use recheck::{Rechecked, recheck};
pub use stats::Verdict;
pub use study::{Class, Question, Role, Sample, Study};
