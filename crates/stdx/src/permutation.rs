//! A pseudorandom permutation of a range, computed number by number. It scatters hot ranks over a key space, or gives
//! each of many rows a different value, without a table.

use crate::Rng;

/// A bijection of `0..n` onto itself, chosen by a seed. A call takes a few nanoseconds and no memory.
///
/// Numbers are mixed within the smallest power of two that holds them, by steps that are each invertible (xor with a
/// key, multiplication by an odd number, xor with the own upper half). They are mixed again while the result is not
/// below `n` (cycle walking: Black and Rogaway, CT-RSA 2002), which takes fewer than two rounds on average.
#[derive(Clone, Debug)]
pub struct Permutation {
    n: u64,
    mask: u64,
    half: u32,
    keys: [u64; 3],
}

/// Odd numbers without a pattern: the factors of splitmix64 and the golden ratio.
const FACTORS: [u64; 3] = [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb, 0x9e37_79b9_7f4a_7c15];

impl Permutation {
    /// The permutation of `0..n` that `seed` chooses.
    ///
    /// # Panics
    /// If `n` is zero.
    pub fn new(n: u64, seed: u64) -> Self {
        assert!(n > 0, "there is nothing to permute");
        let last = (n - 1).max(1);
        let mask = u64::MAX >> last.leading_zeros();
        let mut rng = Rng::new(seed);
        let keys = core::array::from_fn(|_| rng.next_u64() & mask);
        Self { n, mask, half: mask.count_ones().div_ceil(2), keys }
    }

    /// Returns the image of `number`.
    ///
    /// # Panics
    /// If `number` is not below `n`.
    #[inline]
    pub fn apply(&self, number: u64) -> u64 {
        assert!(number < self.n, "{number} is not below {}", self.n);
        let mut x = number;
        loop {
            for (key, factor) in self.keys.into_iter().zip(FACTORS) {
                x = (x ^ key).wrapping_mul(factor) & self.mask;
                x ^= x >> self.half;
            }
            if x < self.n {
                return x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_reached_once() {
        for n in [1, 2, 3, 5, 64, 1_000, 4_097] {
            for seed in 0..5 {
                let permutation = Permutation::new(n, seed);
                let mut images: Vec<u64> = (0..n).map(|number| permutation.apply(number)).collect();
                images.sort_unstable();
                assert!(images.into_iter().eq(0..n), "n {n}, seed {seed}");
            }
        }
    }

    #[test]
    fn seeds_choose_permutations() {
        let images = |seed| (0..100).map(|i| Permutation::new(100, seed).apply(i)).collect::<Vec<_>>();
        assert_eq!(images(1), images(1));
        assert_ne!(images(1), images(2));
    }

    #[test]
    fn neighbours_are_scattered_evenly() {
        const BINS: usize = 64;
        for seed in 0..20 {
            let permutation = Permutation::new(1_000_000, seed);
            let mut counts = [0_u32; BINS];
            for number in 0..6_400 {
                counts[(permutation.apply(number) as usize * BINS) / 1_000_000] += 1;
            }
            let chi_square: f64 =
                counts.iter().map(|&count| (f64::from(count) - 100.0).powi(2) / 100.0).sum();
            // 63 degrees of freedom: mean 63, deviation 11. A linear map would come out close to 0.
            assert!((15.0..130.0).contains(&chi_square), "seed {seed}: {chi_square}");
        }
    }

    #[test]
    fn the_largest_range_is_permuted() {
        let permutation = Permutation::new(u64::MAX, 3);
        assert_ne!(permutation.apply(u64::MAX - 1), permutation.apply(0));
    }
}
