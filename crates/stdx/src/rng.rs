//! Random numbers whose streams are defined by this file alone: a seed always gives the same stream.

/// xoshiro256++ (Blackman and Vigna, 2019), seeded by splitmix64. Not for secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng([u64; 4]);

/// One step of splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
#[inline]
const fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut x = *state;
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A path of numbers that names a stream, for example (seed, table, key). Who draws one number from each of many
/// streams keeps the part of the path that all of them share.
#[derive(Clone, Copy, Debug)]
pub struct Path(u64);

impl Path {
    /// Makes a path.
    #[inline]
    pub const fn new(parts: &[u64]) -> Self {
        Self(0x636f_6e74_656e_6421).join(parts)
    }

    /// The path with more numbers behind it.
    #[inline]
    #[must_use]
    pub const fn join(mut self, mut parts: &[u64]) -> Self {
        while let [part, rest @ ..] = parts {
            self.0 = splitmix(&mut self.0) ^ *part;
            parts = rest;
        }
        self
    }

    /// Makes the stream of the path. It is independent of the streams of all other paths.
    #[inline]
    pub const fn rng(mut self) -> Rng {
        Rng::new(splitmix(&mut self.0))
    }
}

impl Rng {
    /// Makes the stream of a seed.
    #[inline]
    pub const fn new(seed: u64) -> Self {
        let mut state = seed;
        Self([splitmix(&mut state), splitmix(&mut state), splitmix(&mut state), splitmix(&mut state)])
    }

    /// Makes the stream of a path of numbers: see [`Path::rng`].
    #[inline]
    pub fn from_path(path: &[u64]) -> Self {
        Path::new(path).rng()
    }

    /// The next 64 random bits.
    #[inline]
    pub const fn next_u64(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A uniform number below `bound`, without bias (Lemire, 2019).
    ///
    /// # Panics
    /// If `bound` is zero.
    #[inline]
    pub const fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "there is no number below zero");
        let mut product = self.next_u64() as u128 * bound as u128;
        if (product as u64) < bound {
            let threshold = bound.wrapping_neg() % bound;
            while (product as u64) < threshold {
                product = self.next_u64() as u128 * bound as u128;
            }
        }
        (product >> 64) as u64
    }

    /// A uniform number between `low` and `high`, both included.
    #[inline]
    pub const fn between(&mut self, low: u64, high: u64) -> u64 {
        assert!(low <= high, "an empty range has no number");
        low + self.below(high - low + 1)
    }

    /// A uniform number in `[0, 1)`, with 53 bits.
    #[inline]
    pub const fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Returns `true` in `percent` of 100 cases.
    #[inline]
    pub const fn percent(&mut self, percent: f64) -> bool {
        self.unit() * 100.0 < percent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_means_the_same_for_ever() {
        // From the reference implementation with splitmix64(0) as the state.
        let mut rng = Rng::new(0);
        assert_eq!(rng.next_u64(), 0x5317_5d61_490b_23df);
        assert_eq!(Rng::new(7), Rng::new(7));
        assert_ne!(Rng::new(7), Rng::new(8));
    }

    #[test]
    fn bounds_are_reached_and_kept() {
        let mut rng = Rng::new(1);
        let mut seen = [false; 6];
        for _ in 0..1_000 {
            seen[(rng.between(10, 15) - 10) as usize] = true;
        }
        assert_eq!(seen, [true; 6]);
        assert_eq!(rng.between(u64::MAX, u64::MAX), u64::MAX);
    }

    #[test]
    fn paths_that_differ_in_one_part_give_other_streams() {
        let first = |path: &[u64]| Rng::from_path(path).next_u64();
        assert_ne!(first(&[1, 2, 3]), first(&[1, 3, 2]));
        assert_ne!(first(&[1, 2]), first(&[1, 2, 0]));
        assert_eq!(first(&[1, 2, 3]), Path::new(&[1]).join(&[2, 3]).rng().next_u64());
        assert_eq!(first(&[1, 2, 3]), 0x1ab5_ff0a_b69c_a927, "a path means the same for ever");
    }
}
