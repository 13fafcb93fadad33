//! Permutations without state: what shuffles a range of numbers so that the place of one of them can be
//! computed without the others.

use stdx::Rng;

/// A bijection of `0..count` onto itself, fixed by its keys: a balanced Feistel network over the next
/// even power of two (Luby and Rackoff, 1988), walked until it falls into the range (Black and Rogaway,
/// "Ciphers with Arbitrary Finite Domains", 2002), at most four steps on average.
#[derive(Clone, Debug)]
pub(crate) struct Permutation {
    count: u64,
    half_bits: u32,
    keys: [u64; 4],
}

impl Permutation {
    /// A permutation of `0..count` drawn from `rng`.
    pub(crate) fn new(count: u64, rng: &mut Rng) -> Self {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        let half_bits = bits.div_ceil(2).max(1);
        Self { count, half_bits, keys: core::array::from_fn(|_| rng.next_u64()) }
    }

    /// Where a number goes.
    ///
    /// # Panics
    /// When it is not below the count: from outside the range the walk need not end in it.
    pub(crate) fn apply(&self, number: u64) -> u64 {
        assert!(number < self.count, "{number} is not below {}", self.count);
        let mut walked = self.rounds(number);
        while walked >= self.count {
            walked = self.rounds(walked);
        }
        walked
    }

    fn rounds(&self, number: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (number >> self.half_bits, number & mask);
        for key in self.keys {
            let mixed = ((right ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) & mask;
            (left, right) = (right, left ^ mixed);
        }
        left << self.half_bits | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_reached_once() {
        for count in [1, 2, 3, 10, 64, 65, 3_000] {
            let permutation = Permutation::new(count, &mut Rng::new(count));
            let mut reached: Vec<u64> = (0..count).map(|number| permutation.apply(number)).collect();
            reached.sort_unstable();
            assert!(reached.into_iter().eq(0..count), "a permutation of {count}");
        }
    }

    #[test]
    fn other_keys_give_another_order_without_pattern() {
        let moved = |seed| {
            let permutation = Permutation::new(3_000, &mut Rng::new(seed));
            (0..3_000).map(move |number| permutation.apply(number)).collect::<Vec<_>>()
        };
        let (one, two) = (moved(1), moved(2));
        assert!(one.iter().zip(&two).filter(|(a, b)| a == b).count() < 10);
        // Among shuffled neighbours every second pair ascends.
        let ascents = one.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!((1_350..1_650).contains(&ascents), "{ascents} ascents");
    }
}
