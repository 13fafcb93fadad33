//! Morris' screening: finds from few runs which of many settings matter.

use stdx::Rng;

use crate::shuffle;
use crate::spread::mean;

/// The design of Morris (Technometrics 1991): trajectories through a grid on the unit cube. Along a trajectory, one
/// axis after the other is changed by the same large step. A trajectory has one point more than there are axes, and
/// gives one *elementary effect* of each axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Morris {
    /// Number of values of each axis; even, usually 4. The step is `levels / (2 (levels - 1))` of an axis, so that all
    /// values are equally likely.
    pub levels: usize,
    /// Number of trajectories; 10 to 50.
    pub trajectories: usize,
}

/// The points to measure. Effects are computed from the outcomes at these points.
#[derive(Clone, Debug, PartialEq)]
pub struct MorrisDesign {
    axes: usize,
    points: Vec<Vec<f64>>,
}

/// The effect of an axis on the outcome, for a change across the whole axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ElementaryEffects {
    /// The mean effect; effects of opposite signs cancel.
    pub mu: f64,
    /// The mean size of the effects, which measures the importance of the axis (Campolongo, Cariboni and Saltelli,
    /// Environmental Modelling & Software 2007).
    pub mu_star: f64,
    /// The standard deviation of the effects. It is large if the effect of the axis depends on other axes, or is not
    /// linear. 0 if there is only one trajectory.
    pub sigma: f64,
}

impl Morris {
    /// Makes the points for a number of axes.
    ///
    /// # Panics
    /// If the number of levels is odd or less than 2.
    pub fn design(&self, axes: usize, rng: &mut Rng) -> MorrisDesign {
        assert!(self.levels >= 2 && self.levels.is_multiple_of(2), "levels are an even number");
        let points = (0..self.trajectories).flat_map(|_| self.trajectory(axes, rng)).collect();
        MorrisDesign { axes, points }
    }

    fn trajectory(&self, axes: usize, rng: &mut Rng) -> Vec<Vec<f64>> {
        let half = self.levels / 2;
        let coordinate = |level: usize| level as f64 / (self.levels - 1) as f64;
        let mut at: Vec<usize> = (0..axes).map(|_| rng.below(self.levels as u64) as usize).collect();
        let mut order: Vec<usize> = (0..axes).collect();
        shuffle(&mut order, rng);
        let mut points = vec![at.iter().copied().map(coordinate).collect::<Vec<f64>>()];
        for axis in order {
            // From the lower half a step goes up, from the upper half down: only this direction stays on the grid.
            at[axis] = if at[axis] < half { at[axis] + half } else { at[axis] - half };
            points.push(at.iter().copied().map(coordinate).collect());
        }
        points
    }
}

impl MorrisDesign {
    /// The points to measure, with coordinates from 0 to 1.
    pub fn points(&self) -> &[Vec<f64>] {
        &self.points
    }

    /// Returns the effects of each axis, given the outcome at each point.
    ///
    /// # Panics
    /// If the number of outcomes differs from the number of points.
    pub fn effects(&self, outcomes: &[f64]) -> Vec<ElementaryEffects> {
        self.elementary(outcomes).iter().map(|effects| ElementaryEffects::of(effects)).collect()
    }

    /// Returns for each axis its effect in each trajectory, for a change across the whole axis.
    ///
    /// # Panics
    /// If the number of outcomes differs from the number of points.
    pub fn elementary(&self, outcomes: &[f64]) -> Vec<Vec<f64>> {
        assert_eq!(outcomes.len(), self.points.len(), "each point has an outcome");
        let mut effects = vec![Vec::new(); self.axes];
        let trajectories = self.points.chunks_exact(self.axes + 1).zip(outcomes.chunks_exact(self.axes + 1));
        for (points, outcomes) in trajectories {
            for (ends, change) in points.windows(2).zip(outcomes.windows(2)) {
                let step = |axis: &usize| ends[1][*axis] - ends[0][*axis];
                let moved = (0..self.axes).find(|axis| step(axis) != 0.0).expect("each step moves one axis");
                effects[moved].push((change[1] - change[0]) / step(&moved));
            }
        }
        effects
    }
}

impl ElementaryEffects {
    /// Summarizes the effects of an axis, one for each trajectory.
    ///
    /// # Panics
    /// If there are no effects.
    pub fn of(effects: &[f64]) -> Self {
        let mu = mean(effects);
        let sizes: Vec<f64> = effects.iter().map(|effect| effect.abs()).collect();
        let squares: f64 = effects.iter().map(|effect| (effect - mu).powi(2)).sum();
        let others = effects.len().saturating_sub(1).max(1) as f64;
        Self { mu, mu_star: mean(&sizes), sigma: (squares / others).sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assert_near;

    /// The test function of Morris' paper. It has 20 axes, counted from 1, of which the first ten matter. Axes 8 to 10
    /// matter on their own, without interactions.
    fn published(point: &[f64]) -> f64 {
        let w = |i: usize| {
            let x = point[i - 1];
            2.0 * (if [3, 5, 7].contains(&i) { 1.1 * x / (x + 0.1) } else { x } - 0.5)
        };
        let sign = |odd: usize| if odd.is_multiple_of(2) { 1.0 } else { -1.0 };
        let mut sum = 0.0;
        for i in 1..=20 {
            sum += if i <= 10 { 20.0 } else { sign(i) * 0.5 } * w(i);
            for j in i + 1..=20 {
                sum += if j <= 6 { -15.0 } else { sign(i + j) * 0.5 } * w(i) * w(j);
                for l in j + 1..=5 {
                    sum += -10.0 * w(i) * w(j) * w(l);
                    for s in l + 1..=4 {
                        sum += 5.0 * w(i) * w(j) * w(l) * w(s);
                    }
                }
            }
        }
        sum
    }

    #[test]
    fn the_published_function_is_screened_as_published() {
        for seed in 0..20 {
            let design = Morris { levels: 4, trajectories: 20 }.design(20, &mut Rng::new(seed));
            let outcomes: Vec<f64> = design.points().iter().map(|point| published(point)).collect();
            let effects = design.effects(&outcomes);
            let matters = effects[..10].iter().map(|effect| effect.mu_star).fold(f64::INFINITY, f64::min);
            let does_not = effects[10..].iter().map(|effect| effect.mu_star).fold(0.0, f64::max);
            assert!(matters > 2.0 * does_not, "seed {seed}: {matters} {does_not}");
            // The effects of axes that matter on their own hardly vary; the other axes interact.
            assert!(effects[7..10].iter().all(|effect| effect.sigma < 0.25 * effect.mu_star), "seed {seed}");
            assert!(effects[..7].iter().all(|effect| effect.sigma > 0.25 * effect.mu_star), "seed {seed}");
        }
    }

    #[test]
    fn effects_of_a_sum_are_its_factors() {
        let design = Morris { levels: 6, trajectories: 5 }.design(3, &mut Rng::new(2));
        let outcomes: Vec<f64> =
            design.points().iter().map(|point| 3.0 * point[0] - 5.0 * point[1] + 1.0).collect();
        for (effect, factor) in design.effects(&outcomes).into_iter().zip([3.0_f64, -5.0, 0.0]) {
            assert_near(effect.mu, factor, 1e-9);
            assert_near(effect.mu_star, factor.abs(), 1e-9);
            assert_near(effect.sigma, 0.0, 1e-9);
        }
    }

    #[test]
    fn trajectories_move_each_axis_once_by_the_step_and_all_levels_are_used() {
        let design = Morris { levels: 4, trajectories: 200 }.design(5, &mut Rng::new(3));
        let mut used = [0_u32; 4];
        let mut first = [0_u32; 5];
        for trajectory in design.points().chunks_exact(6) {
            let mut moved = [0; 5];
            for step in trajectory.windows(2) {
                for axis in (0..5).filter(|&axis| (step[0][axis] - step[1][axis]).abs() > 0.0) {
                    moved[axis] += 1;
                    assert_near((step[1][axis] - step[0][axis]).abs(), 2.0 / 3.0, 1e-12);
                }
            }
            assert_eq!(moved, [1; 5]);
            let moves = |axis: &usize| (trajectory[0][*axis] - trajectory[1][*axis]).abs() > 0.0;
            first[(0..5).find(moves).unwrap()] += 1;
            trajectory.iter().flatten().for_each(|x| used[(x * 3.0).round() as usize] += 1);
        }
        assert!(first.iter().all(|&times| times.abs_diff(40) < 25), "{first:?}");
        assert!(used.iter().all(|&times| times.abs_diff(1_500) < 200), "{used:?}");
    }
}
