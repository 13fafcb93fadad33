//! Designs, which choose the points to measure: they fill the unit cube more evenly than random points.
//! [`Axis::at`](crate::Axis::at) converts their coordinates to values.

use stdx::Rng;

use crate::shuffle;

/// Makes `points` points of a Latin hypercube (`McKay`, Beckman and Conover, Technometrics 1979): when an axis is cut
/// into as many equal stretches as there are points, each stretch has exactly one, at random within it. Good for a
/// number of points that is known beforehand, on any number of axes.
pub fn latin_hypercube(points: usize, axes: usize, rng: &mut Rng) -> Vec<Vec<f64>> {
    let mut design = vec![Vec::with_capacity(axes); points];
    for _ in 0..axes {
        let mut stretches: Vec<usize> = (0..points).collect();
        shuffle(&mut stretches, rng);
        for (point, stretch) in design.iter_mut().zip(stretches) {
            point.push((stretch as f64 + rng.unit()) / points as f64);
        }
    }
    design
}

/// Halton's sequence (Numerische Mathematik 1960). Any prefix of it fills the cube evenly, so measuring may stop at any
/// time. It suits up to about six axes. With more axes, neighbouring axes are correlated for long stretches, and the
/// [`SobolSequence`](crate::SobolSequence) is better.
#[derive(Clone, Debug)]
pub struct Halton {
    offsets: Vec<f64>,
    index: u64,
}

const PRIMES: [u64; Halton::AXES_MAX] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];

impl Halton {
    /// The most axes that are supported.
    pub const AXES_MAX: usize = 12;

    /// Makes the plain sequence, which begins at the origin.
    ///
    /// # Panics
    /// If there are more than [`AXES_MAX`](Self::AXES_MAX) axes.
    pub fn new(axes: usize) -> Self {
        assert!(axes <= Self::AXES_MAX, "{axes} axes are more than {}", Self::AXES_MAX);
        Self { offsets: vec![0.0; axes], index: 0 }
    }

    /// Makes the sequence moved by a random vector and wrapped around (Cranley and Patterson, SIAM Journal on Numerical
    /// Analysis 1976). It is as even, has no point in a corner, and differs for each seed.
    ///
    /// # Panics
    /// If there are more than [`AXES_MAX`](Self::AXES_MAX) axes.
    pub fn moved(axes: usize, rng: &mut Rng) -> Self {
        let mut sequence = Self::new(axes);
        sequence.offsets.fill_with(|| rng.unit());
        sequence
    }
}

impl Iterator for Halton {
    type Item = Vec<f64>;

    fn next(&mut self) -> Option<Vec<f64>> {
        let axes = PRIMES.iter().zip(&self.offsets);
        let point =
            axes.map(|(&base, offset)| (radical_inverse(self.index, base) + offset).fract()).collect();
        self.index += 1;
        Some(point)
    }
}

/// The digits of a number in a base, mirrored at the point.
fn radical_inverse(mut number: u64, base: u64) -> f64 {
    let (mut mirrored, mut weight) = (0.0, 1.0);
    while number > 0 {
        weight /= base as f64;
        mirrored += (number % base) as f64 * weight;
        number /= base;
    }
    mirrored
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assert_near;

    #[test]
    fn each_stretch_of_each_axis_has_one_point_of_a_latin_hypercube() {
        let design = latin_hypercube(25, 4, &mut Rng::new(1));
        for axis in 0..4 {
            let mut seen = [false; 25];
            for point in &design {
                seen[(point[axis] * 25.0) as usize] = true;
            }
            assert_eq!(seen, [true; 25]);
        }
        assert_eq!(design, latin_hypercube(25, 4, &mut Rng::new(1)));
        assert_ne!(design, latin_hypercube(25, 4, &mut Rng::new(2)));
    }

    #[test]
    fn the_sequence_begins_as_published() {
        let points: Vec<Vec<f64>> = Halton::new(3).take(5).collect();
        let wanted = [
            [0.0, 0.0, 0.0],
            [1.0 / 2.0, 1.0 / 3.0, 1.0 / 5.0],
            [1.0 / 4.0, 2.0 / 3.0, 2.0 / 5.0],
            [3.0 / 4.0, 1.0 / 9.0, 3.0 / 5.0],
            [1.0 / 8.0, 4.0 / 9.0, 4.0 / 5.0],
        ];
        for (got, want) in points.iter().flatten().zip(wanted.iter().flatten()) {
            assert_near(*got, *want, 1e-12);
        }
    }

    #[test]
    fn a_moved_sequence_is_as_even() {
        // The mean of a smooth function over 1,000 points, of which chance would miss by some 0.02.
        let points: Vec<Vec<f64>> = Halton::moved(4, &mut Rng::new(3)).take(1_000).collect();
        let mean =
            points.iter().map(|point| point.iter().map(|x| 2.0 * x).product::<f64>()).sum::<f64>() / 1_000.0;
        assert_near(mean, 1.0, 0.01);
        assert!(points.iter().flatten().all(|x| (0.0..1.0).contains(x)));
    }
}
