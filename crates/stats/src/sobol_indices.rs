//! Sobol's indices: the share of the outcome's variance that each setting explains, alone and together with others.

use stdx::Rng;

use crate::SobolSequence;
use crate::spread::mean;

/// The design of Saltelli (Computer Physics Communications 2002): two sets of points A and B, and for each axis the
/// points of A with that axis' coordinate taken from B. The design needs thousands of outcomes. So they come from a
/// function or a surrogate, for example a [`tree`](crate::tree) fitted to measurements, rather than from measurements.
#[derive(Clone, Debug)]
pub struct SobolDesign {
    axes: usize,
    points: Vec<Vec<f64>>,
}

/// The shares of the variance that an axis explains. They are estimates: a share near 0 may be slightly negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Indices {
    /// The share that the axis explains alone: the share of the variance that would vanish if the axis' value were
    /// known. The first-order shares of all axes sum to 1 if axes do not interact, and to less otherwise.
    pub first: f64,
    /// The share that the axis explains alone and in all its interactions: the share that would be left if the values
    /// of all other axes were known. An axis whose total is 0 does not matter.
    pub total: f64,
}

impl SobolDesign {
    /// Makes the design of `base` points each in A and B, `base * (axes + 2)` points in all; `base` is best a power of
    /// two. The points of A and B are the two halves of the points of one shifted [`SobolSequence`].
    ///
    /// # Panics
    /// If there are more axes than half of the sequence's axes.
    pub fn new(base: usize, axes: usize, rng: &mut Rng) -> Self {
        let mut points = Vec::with_capacity(base * (axes + 2));
        for both in SobolSequence::shifted(2 * axes, rng).take(base) {
            let (a, b) = both.split_at(axes);
            points.extend([a.to_vec(), b.to_vec()]);
            for axis in 0..axes {
                let mut mixed = a.to_vec();
                mixed[axis] = b[axis];
                points.push(mixed);
            }
        }
        Self { axes, points }
    }

    /// The points, with coordinates from 0 to 1.
    pub fn points(&self) -> &[Vec<f64>] {
        &self.points
    }

    /// Returns the indices of each axis, given the outcome at each point: first-order indices by the estimator of
    /// Saltelli and others, total indices by Jansen's (both in Saltelli et al., Computer Physics Communications 2010,
    /// table 2). `None` if all outcomes are equal.
    ///
    /// # Panics
    /// If the number of outcomes differs from the number of points.
    pub fn indices(&self, outcomes: &[f64]) -> Option<Vec<Indices>> {
        assert_eq!(outcomes.len(), self.points.len(), "each point has an outcome");
        let base: Vec<f64> = outcomes.chunks_exact(self.axes + 2).flat_map(|of| [of[0], of[1]]).collect();
        let middle = mean(&base);
        let variance = base.iter().map(|outcome| (outcome - middle).powi(2)).sum::<f64>() / base.len() as f64;
        let is_constant = outcomes.iter().all(|outcome| outcome.total_cmp(&outcomes[0]).is_eq());
        // Outcomes are centred, which does not change the indices: with a large mean, rounding would hide the
        // differences.
        let share = |axis: usize, term: fn(f64, f64, f64) -> f64| {
            let terms = outcomes
                .chunks_exact(self.axes + 2)
                .map(|of| term(of[0] - middle, of[1] - middle, of[2 + axis] - middle));
            terms.sum::<f64>() / (base.len() / 2) as f64 / variance
        };
        let of_axis = |axis| Indices {
            first: share(axis, |a, b, mixed| b * (mixed - a)),
            total: share(axis, |a, _, mixed| (a - mixed).powi(2) / 2.0),
        };
        (!is_constant).then(|| (0..self.axes).map(of_axis).collect())
    }
}

#[cfg(test)]
mod tests {
    use core::f64::consts::PI;

    use super::*;
    use crate::assert_near;

    fn indices(base: usize, axes: usize, function: impl Fn(&[f64]) -> f64) -> Option<Vec<Indices>> {
        let design = SobolDesign::new(base, axes, &mut Rng::new(1));
        let outcomes: Vec<f64> = design.points().iter().map(|point| function(point)).collect();
        design.indices(&outcomes)
    }

    #[test]
    fn ishigami_and_hommas_function_has_its_closed_form() {
        let (a, b) = (7.0, 0.1);
        let function = |point: &[f64]| {
            let x = |i: usize| PI * (2.0 * point[i] - 1.0);
            x(0).sin() + a * x(1).sin().powi(2) + b * x(2).powi(4) * x(0).sin()
        };
        let alone = [(1.0 + b * PI.powi(4) / 5.0).powi(2) / 2.0, a * a / 8.0, 0.0];
        let with_third = 8.0 * b * b * PI.powi(8) / 225.0;
        let variance = alone.iter().sum::<f64>() + with_third;
        let totals = [alone[0] + with_third, alone[1], with_third];
        let indices = indices(8_192, 3, function).unwrap();
        for ((got, alone), total) in indices.iter().zip(alone).zip(totals) {
            assert_near(got.first, alone / variance, 0.005);
            assert_near(got.total, total / variance, 0.005);
        }
    }

    #[test]
    fn the_g_function_has_its_closed_form() {
        let weights = [0.0, 1.0, 4.5, 9.0, 99.0, 99.0, 99.0, 99.0];
        let function = |point: &[f64]| {
            point.iter().zip(weights).map(|(x, a)| ((4.0 * x - 2.0).abs() + a) / (1.0 + a)).product::<f64>()
        };
        let partial = weights.map(|a: f64| 1.0 / (3.0 * (1.0 + a).powi(2)));
        let all: f64 = partial.iter().map(|v| 1.0 + v).product();
        for (got, v) in indices(8_192, 8, function).unwrap().iter().zip(partial) {
            assert_near(got.first, v / (all - 1.0), 0.01);
            assert_near(got.total, v * all / (1.0 + v) / (all - 1.0), 0.01);
        }
    }

    #[test]
    fn a_constant_has_no_indices() {
        assert_eq!(indices(16, 2, |_| 0.1), None);
    }
}
