//! The statistics of the laboratory: conclusions from a few noisy measurements, and the choice of the next
//! measurements.
//!
//! Measurements of throughput are few, noisy, skewed and sometimes of two kinds, because a shared host has two speeds.
//! So no comparison or interval here assumes that measurements are normally distributed, and a method is exact for few
//! samples where that is possible. An [`Interval`] says its real confidence: with three samples it is never 95 percent,
//! whatever is requested.
//!
//! | question | answer |
//! |---|---|
//! | how fast is it? | [`Spread`]; [`Interval::of_median`], exact; [`Bootstrap`] for statistics other than the median |
//! | is A faster than B? | [`paired()`] if both were measured side by side, else [`unpaired()`]; a [`Verdict`] |
//! | how many repetitions would decide it? | [`pairs_to_decide`], [`values_to_decide`] |
//! | are any of these hundred ratios real? | [`holm`], [`benjamini_hochberg`] |
//! | has the run warmed up, does it drift? | [`warm_up()`], [`Trend`] |
//! | how often does the prediction agree? | [`share`] |
//! | where does the ranking flip? | [`Bisect`] |
//! | where should one measure? | [`Axis`], [`latin_hypercube`], [`Halton`], [`SobolSequence`] |
//! | which settings matter? | [`Morris`] for many settings and few runs, [`SobolDesign`] on a surrogate |
//! | under which conditions is A faster? | [`tree`]: regions in words |
//!
//! *Invariants:* chance comes from a seed, so that the same measurements give the same answer; nothing is printed,
//! read or measured here; a method is named for its source, and tested against closed form, published values or
//! enumeration.
//!
//! Measurements are finite. A ratio of a measurement that is not finite is an error; elsewhere such a measurement is a
//! defect of the caller.
#![forbid(unsafe_code)]

mod axis;
mod bisect;
mod bootstrap;
mod comparison;
mod designs;
mod interval;
mod morris;
mod multiplicity;
mod normal;
mod paired;
mod planning;
mod proportion;
mod ranks;
mod sobol_indices;
mod sobol_sequence;
mod spread;
mod trend;
mod unpaired;
mod warm_up;

pub mod tree;

pub use axis::{Axis, AxisError, Scale};
pub use bisect::{Bisect, BisectionFindings, Crossing, Next, RatioSide};
pub use bootstrap::Bootstrap;
pub use comparison::{CompareError, Comparison, Verdict, superiority};
pub use designs::{Halton, latin_hypercube};
pub use interval::Interval;
pub use morris::{ElementaryEffects, Morris, MorrisDesign};
pub use multiplicity::{benjamini_hochberg, holm};
pub use paired::{Paired, least_p_value, paired};
pub use planning::{REPETITIONS_MAX, log_deviation, pairs_to_decide, values_to_decide};
pub use proportion::share;
pub use sobol_indices::{Indices, SobolDesign};
pub use sobol_sequence::SobolSequence;
pub use spread::Spread;
pub use trend::Trend;
pub use unpaired::unpaired;
pub use warm_up::{WarmUp, warm_up};

/// Shuffles things into a random order (Fisher and Yates; Durstenfeld, 1964).
pub fn shuffle<T>(things: &mut [T], rng: &mut stdx::Rng) {
    for last in (1..things.len()).rev() {
        things.swap(last, rng.below(last as u64 + 1) as usize);
    }
}

#[cfg(test)]
#[track_caller]
fn assert_near(got: f64, want: f64, tolerance: f64) {
    assert!((got - want).abs() <= tolerance, "{got} is not within {tolerance} of {want}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_orders_are_equally_likely() {
        let mut rng = stdx::Rng::new(1);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..6_000 {
            let mut things = [1, 2, 3];
            shuffle(&mut things, &mut rng);
            *seen.entry(things).or_insert(0_u32) += 1;
        }
        assert_eq!(seen.len(), 6);
        assert!(seen.values().all(|&times| times.abs_diff(1_000) < 150), "{seen:?}");
    }
}
