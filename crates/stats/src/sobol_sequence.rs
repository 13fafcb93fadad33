//! Sobol's sequence: points that fill the unit cube evenly on many axes. Prefixes whose length is a power of two are
//! the most even.

use stdx::Rng;

/// Sobol's sequence (USSR Computational Mathematics and Mathematical Physics 1967) in the order of Antonov and Saleev
/// (1979), with the direction numbers of Joe and Kuo (SIAM Journal on Scientific Computing 2008), which make the
/// projections on any two axes even. Use a number of points that is a power of two: then each half of each axis has
/// half of the points, each quarter a quarter, and so on.
#[derive(Clone, Debug)]
pub struct SobolSequence {
    /// For each axis and each bit of the position: the change of the coordinate.
    directions: Vec<[u32; BITS]>,
    /// The coordinates of the next point, as fractions of 2^32.
    next: Vec<u32>,
    index: u32,
}

const BITS: usize = 32;

/// For each axis from the second on: the inner coefficients of a primitive polynomial over two elements, as the bits of
/// a number, and the first direction numbers, as many as the polynomial's degree (Joe and Kuo, table
/// `new-joe-kuo-6.21201`, columns `a` and `m_i`).
const INITIAL: [(u32, &[u32]); SobolSequence::AXES_MAX - 1] = [
    (0, &[1]),
    (1, &[1, 3]),
    (1, &[1, 3, 1]),
    (2, &[1, 1, 1]),
    (1, &[1, 1, 3, 3]),
    (4, &[1, 3, 5, 13]),
    (2, &[1, 1, 5, 5, 17]),
    (4, &[1, 1, 5, 5, 5]),
    (7, &[1, 1, 7, 11, 19]),
    (11, &[1, 1, 5, 1, 1]),
    (13, &[1, 1, 1, 3, 11]),
    (14, &[1, 3, 5, 5, 31]),
    (1, &[1, 3, 3, 9, 7, 49]),
    (13, &[1, 1, 1, 15, 21, 21]),
    (16, &[1, 3, 1, 13, 27, 49]),
    (19, &[1, 1, 1, 15, 7, 5]),
    (22, &[1, 3, 1, 15, 13, 25]),
    (25, &[1, 1, 5, 5, 19, 61]),
    (1, &[1, 3, 7, 11, 23, 15, 103]),
    (4, &[1, 3, 7, 13, 13, 15, 69]),
    (7, &[1, 1, 3, 13, 7, 35, 63]),
    (8, &[1, 3, 5, 9, 1, 25, 53]),
    (14, &[1, 3, 1, 13, 9, 35, 107]),
    (19, &[1, 3, 1, 5, 27, 61, 31]),
    (21, &[1, 1, 5, 11, 19, 41, 61]),
    (28, &[1, 3, 5, 3, 3, 13, 69]),
    (31, &[1, 1, 7, 13, 1, 19, 1]),
    (32, &[1, 3, 7, 5, 13, 19, 59]),
    (37, &[1, 1, 3, 9, 25, 29, 41]),
    (41, &[1, 3, 5, 13, 23, 1, 55]),
    (42, &[1, 3, 7, 3, 13, 59, 17]),
    (50, &[1, 3, 1, 3, 5, 53, 69]),
    (55, &[1, 1, 5, 5, 23, 33, 13]),
    (56, &[1, 1, 7, 7, 1, 61, 123]),
    (59, &[1, 1, 7, 9, 13, 61, 49]),
    (62, &[1, 3, 3, 5, 3, 55, 33]),
    (14, &[1, 3, 1, 15, 31, 13, 49, 245]),
    (21, &[1, 3, 5, 15, 31, 59, 63, 97]),
    (22, &[1, 3, 1, 11, 11, 11, 77, 249]),
];

impl SobolSequence {
    /// The most axes, for which there are direction numbers.
    pub const AXES_MAX: usize = 40;

    /// Makes the plain sequence, which begins at the origin.
    ///
    /// # Panics
    /// If there are more than [`AXES_MAX`](Self::AXES_MAX) axes.
    pub fn new(axes: usize) -> Self {
        assert!(axes <= Self::AXES_MAX, "{axes} axes are more than {}", Self::AXES_MAX);
        let first = core::array::from_fn(|bit| 1 << (BITS - 1 - bit));
        let others = INITIAL.iter().map(|(inner, initial)| directions(*inner, initial));
        let directions = core::iter::once(first).chain(others).take(axes).collect();
        Self { directions, next: vec![0; axes], index: 0 }
    }

    /// Makes the sequence with the same random bits flipped in all points (a digital shift: L'Ecuyer and Lemieux,
    /// 2002). It is as even, and differs for each seed.
    ///
    /// # Panics
    /// If there are more than [`AXES_MAX`](Self::AXES_MAX) axes.
    pub fn shifted(axes: usize, rng: &mut Rng) -> Self {
        let mut sequence = Self::new(axes);
        sequence.next.fill_with(|| (rng.next_u64() >> 32) as u32);
        sequence
    }
}

/// The directions of an axis from its recurrence (Bratley and Fox, ACM TOMS 1988).
fn directions(inner: u32, initial: &[u32]) -> [u32; BITS] {
    let degree = initial.len();
    let mut directions = [0; BITS];
    for bit in 0..BITS {
        directions[bit] = if bit < degree {
            initial[bit] << (BITS - 1 - bit)
        } else {
            let earlier = directions[bit - degree];
            let is_set = |term: &usize| inner >> (degree - 1 - term) & 1 == 1;
            (1..degree)
                .filter(is_set)
                .fold(earlier ^ (earlier >> degree), |sum, term| sum ^ directions[bit - term])
        };
    }
    directions
}

impl Iterator for SobolSequence {
    type Item = Vec<f64>;

    fn next(&mut self) -> Option<Vec<f64>> {
        let point = self.next.iter().map(|&fraction| f64::from(fraction) / 4_294_967_296.0).collect();
        let changed = self.index.trailing_ones() as usize;
        self.index = self.index.checked_add(1)?;
        for (fraction, directions) in self.next.iter_mut().zip(&self.directions) {
            *fraction ^= directions[changed];
        }
        Some(point)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assert_near;

    #[test]
    fn the_sequence_is_the_published_one() {
        // Point 11 on 21 axes, of an independent implementation with the same numbers.
        let wanted = [7, 9, 3, 11, 13, 1, 11, 11, 11, 1, 15, 5, 3, 3, 9, 3, 9, 1, 11, 9, 15];
        let point = SobolSequence::new(21).nth(11).unwrap();
        for (got, sixteenths) in point.into_iter().zip(wanted) {
            assert_near(got, f64::from(sixteenths) / 16.0, 0.0);
        }
    }

    #[test]
    fn beginnings_of_powers_of_two_have_one_point_in_each_stretch() {
        for sequence in [SobolSequence::new(40), SobolSequence::shifted(40, &mut Rng::new(1))] {
            let points: Vec<Vec<f64>> = sequence.take(256).collect();
            for axis in 0..40 {
                let mut seen = [false; 256];
                for point in &points {
                    seen[(point[axis] * 256.0) as usize] = true;
                }
                assert_eq!(seen, [true; 256], "axis {axis}");
            }
        }
    }

    #[test]
    fn two_axes_are_even_together() {
        // The first two axes are a net in base 2: each box of area 1/256, of whatever shape, has one of 256 points.
        let points: Vec<Vec<f64>> = SobolSequence::shifted(2, &mut Rng::new(5)).take(256).collect();
        for wide in 0..=8 {
            let (columns, rows) = (f64::from(1 << wide), f64::from(256 >> wide));
            let mut seen = [false; 256];
            for point in &points {
                seen[((point[0] * columns).floor() * rows + (point[1] * rows).floor()) as usize] = true;
            }
            assert_eq!(seen, [true; 256], "{columns} columns");
        }
    }
}
