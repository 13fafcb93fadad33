//! Zipf's distribution over ranks, by which benchmarks make some records hotter than others.
//!
//! The generator is the constant-time generator of Gray et al., "Quickly Generating Billion-Record Synthetic Databases"
//! (SIGMOD 1994), which YCSB and its ports use, so that a theta means here what it means in the literature.

use crate::Rng;

/// Ranks `0..n`, rank 0 the most frequent: rank `k` has a probability proportional to `(k + 1)^-theta`.
///
/// Ranks 0 and 1 are drawn with exactly these probabilities. The others come from a continuous curve with the same
/// total: at theta 0.99 over 100,000 ranks, rank 2 is drawn 19% too often, rank 10 3% too often and the long tail 2%
/// too seldom; the errors are less for smaller thetas. This is the method's price for constant time, and is part of
/// every result that was published with it.
///
/// The curve is approximated by chords. A draw then costs a third of computing a power, and its error is less than a
/// thousandth of its rank.
#[derive(Clone, Debug)]
pub struct Zipf {
    n: u64,
    theta: f64,
    /// Sum of the weights of all ranks.
    zeta_n: f64,
    /// Sum of the weights of the first two ranks.
    zeta_2: f64,
    curve: Curve,
    /// Points of the curve at `CHORDS + 1` equally distant numbers from 0 to 1.
    points: Box<[f64]>,
}

/// Chords of the curve: their points are 16 kB, half of a small first-level cache.
const CHORDS: usize = 2_048;
/// With a small theta the curve bends most at its beginning, where it is computed instead. With a large theta its
/// beginning belongs to ranks 0 and 1.
const COMPUTED: usize = CHORDS / 64;

/// The continuous curve from a uniform number to a rank.
#[derive(Clone, Copy, Debug)]
struct Curve {
    n: f64,
    alpha: f64,
    eta: f64,
}

impl Curve {
    fn at(self, u: f64) -> f64 {
        self.n * (self.eta * u - self.eta + 1.0).max(0.0).powf(self.alpha)
    }
}

impl Zipf {
    /// Makes the distribution over `n` ranks with exponent `theta`; 0 is uniform.
    ///
    /// # Panics
    /// If `n` is zero, or `theta` is not in `[0, 1)`, outside of which the method is not defined.
    pub fn new(n: u64, theta: f64) -> Self {
        assert!(n > 0, "there is no rank among none");
        assert!((0.0..1.0).contains(&theta), "theta is in [0, 1), not {theta}");
        let (zeta_n, zeta_2) = (zeta(n, theta), zeta(2, theta));
        let eta = (1.0 - (2.0 / n as f64).powf(1.0 - theta)) / (1.0 - zeta_2 / zeta_n);
        let curve = Curve { n: n as f64, alpha: 1.0 / (1.0 - theta), eta };
        let points = (0..=CHORDS).map(|point| curve.at(point as f64 / CHORDS as f64)).collect();
        Self { n, theta, zeta_n, zeta_2, curve, points }
    }

    /// Draws a rank in `0..n`.
    #[inline]
    pub fn rank(&self, rng: &mut Rng) -> u64 {
        let u = rng.unit();
        let weight = u * self.zeta_n;
        let other = self.follow(u) as u64;
        // A select instead of a branch, which would often be mispredicted.
        let rank = if weight < self.zeta_2 { u64::from(weight >= 1.0) } else { other };
        // Rounding can reach n when u is close to 1.
        rank.min(self.n - 1)
    }

    /// The value of the curve, by its chords.
    #[inline]
    fn follow(&self, u: f64) -> f64 {
        let at = u * CHORDS as f64;
        let chord = at as usize;
        if chord < COMPUTED {
            return self.curve.at(u);
        }
        let (from, to) = (self.points[chord], self.points[chord + 1]);
        from + (to - from) * (at - chord as f64)
    }

    /// The probability of a rank by the definition of the distribution; zero beyond the last.
    pub fn probability(&self, rank: u64) -> f64 {
        if rank < self.n { ((rank + 1) as f64).powf(-self.theta) / self.zeta_n } else { 0.0 }
    }

    /// The probability that two independent draws are the same rank: the sum of the squared
    /// probabilities, in closed form.
    pub fn collision(&self) -> f64 {
        zeta(self.n, 2.0 * self.theta) / (self.zeta_n * self.zeta_n)
    }
}

/// The sum of `i^-s` over `i` in `1..=n`, for `s` in `[0, 2)`.
///
/// The first thousand terms are added one by one. The rest is computed by Euler and Maclaurin's formula up to the first
/// derivative, with an error below 1e-11.
fn zeta(n: u64, s: f64) -> f64 {
    const ADDED: u64 = 1_000;
    let added = n.min(ADDED);
    let head: f64 = (1..=added).rev().map(|i| (i as f64).powf(-s)).sum();
    let (from, to) = (added as f64, n as f64);
    let weight = |x: f64| x.powf(-s);
    let slope = |x: f64| -s * x.powf(-s - 1.0);
    let ends = (weight(to) - weight(from)) / 2.0 + (slope(to) - slope(from)) / 12.0;
    head + integral(from, to, s) + ends
}

/// The integral of `x^-s` between two positive numbers.
fn integral(from: f64, to: f64, s: f64) -> f64 {
    let (exponent, ratio_ln) = (1.0 - s, (to / from).ln());
    if exponent == 0.0 {
        ratio_ln
    } else {
        // Written so that no digits cancel as s approaches 1.
        from.powf(exponent) * (exponent * ratio_ln).exp_m1() / exponent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance, "{found} is not {expected} within {tolerance}");
    }

    /// The share of the hottest `count` ranks.
    fn hottest(zipf: &Zipf, count: u64) -> f64 {
        (0..count).map(|rank| zipf.probability(rank)).sum()
    }

    /// The probability with which the method draws a rank, from the inverse of the curve at both ends of the rank.
    fn drawn(zipf: &Zipf, rank: u64) -> f64 {
        let share = |k: u64| (k as f64 / zipf.n as f64).powf(1.0 - zipf.theta);
        let eta = (1.0 - share(2)) / (1.0 - zipf.zeta_2 / zipf.zeta_n);
        if rank < 2 { zipf.probability(rank) } else { (share(rank + 1) - share(rank)) / eta }
    }

    /// Counts of draws for each of the first ranks, and for all others together.
    fn histogram(zipf: &Zipf, ranks: usize, draws: u64) -> Vec<u64> {
        let mut rng = Rng::new(42);
        let mut counts = vec![0; ranks + 1];
        for _ in 0..draws {
            counts[(zipf.rank(&mut rng) as usize).min(ranks)] += 1;
        }
        counts
    }

    #[test]
    fn long_sums_equal_their_terms_added() {
        for s in [0.0, 0.3, 0.5, 0.99, 1.0, 1.000_000_1, 1.5, 1.98] {
            let added: f64 = (1..=200_000_u64).rev().map(|i| (i as f64).powf(-s)).sum();
            assert_close(zeta(200_000, s) / added, 1.0, 1e-11);
        }
    }

    #[test]
    fn sums_and_hot_shares_are_the_published_ones() {
        for (n, sum, first, first_32) in [
            (100_000, 12.778, 0.0783, 0.322),
            (1_000_000, 15.392, 0.0650, 0.268),
            (10_000_000, 18.066, 0.0554, 0.228),
            (100_000_000, 20.803, 0.0481, 0.198),
        ] {
            let zipf = Zipf::new(n, 0.99);
            assert_close(zipf.zeta_n, sum, 0.000_5);
            assert_close(zipf.probability(0), first, 0.000_05);
            assert_close(hottest(&zipf, 32), first_32, 0.000_5);
        }
        for (theta, first, first_10) in [(0.7, 0.0097, 0.039), (0.8, 0.022, 0.078), (0.9, 0.045, 0.145)] {
            let zipf = Zipf::new(100_000, theta);
            assert_close(zipf.probability(0), first, 0.000_5);
            assert_close(hottest(&zipf, 10), first_10, 0.000_5);
        }
    }

    #[test]
    fn probabilities_sum_to_one_and_end_at_the_last_rank() {
        for theta in [0.0, 0.5, 0.999] {
            assert_close(hottest(&Zipf::new(5_000, theta), 5_000), 1.0, 1e-9);
        }
        assert_close(Zipf::new(5_000, 0.5).probability(5_000), 0.0, 0.0);
    }

    #[test]
    fn chords_follow_the_curve() {
        for (n, theta) in
            [(1_000, 0.1), (100_000, 0.5), (1_000_000_000, 0.7), (1_000_000, 0.99), (1_000_000_000, 0.999)]
        {
            let zipf = Zipf::new(n, theta);
            let mut rng = Rng::new(n);
            for _ in 0..100_000 {
                let u = rng.unit();
                let error = zipf.follow(u) / zipf.curve.at(u) - 1.0;
                assert!(
                    u * zipf.zeta_n < zipf.zeta_2 || error.abs() < 1e-3,
                    "n {n}, theta {theta}, {u}: {error}"
                );
            }
        }
    }

    #[test]
    fn draws_follow_the_methods_distribution() {
        const RANKS: usize = 1_000;
        const DRAWS: u64 = 4_000_000;
        for theta in [0.0, 0.5, 0.8, 0.99] {
            let zipf = Zipf::new(100_000, theta);
            let counts = histogram(&zipf, RANKS, DRAWS);
            let first: Vec<f64> = (0..RANKS as u64).map(|rank| drawn(&zipf, rank)).collect();
            let rest = 1.0 - first.iter().sum::<f64>();
            let chi_square: f64 = counts
                .iter()
                .zip(first.iter().chain([&rest]))
                .map(|(&count, probability)| {
                    let expected = probability * DRAWS as f64;
                    (count as f64 - expected).powi(2) / expected
                })
                .sum();
            // 1,000 degrees of freedom: mean 1,000, deviation 45; five deviations either way.
            assert!((776.0..1_224.0).contains(&chi_square), "theta {theta}: {chi_square}");
        }
    }

    #[test]
    fn the_method_is_close_to_the_definition() {
        for theta in [0.5, 0.9, 0.99] {
            let zipf = Zipf::new(1_000_000, theta);
            for rank in [0, 1, 2, 3, 10, 100, 10_000, 999_999] {
                let ratio = drawn(&zipf, rank) / zipf.probability(rank);
                assert!((0.85..1.2).contains(&ratio), "theta {theta}, rank {rank}: {ratio}");
            }
        }
    }

    #[test]
    fn the_mean_log_rank_is_that_of_the_definition() {
        for theta in [0.0, 0.6, 0.99] {
            let zipf = Zipf::new(10_000, theta);
            let expected: f64 = (0..10_000).map(|k| zipf.probability(k) * ((k + 1) as f64).ln()).sum();
            let mut rng = Rng::new(7);
            let draws = 1_000_000;
            let sum: f64 = (0..draws).map(|_| ((zipf.rank(&mut rng) + 1) as f64).ln()).sum();
            // The method's bias for ranks beyond the second is about one percent of the mean.
            assert_close(sum / f64::from(draws) / expected, 1.0, 0.02);
        }
    }

    #[test]
    fn two_draws_collide_as_often_as_the_closed_form_says() {
        for theta in [0.0, 0.5, 0.99] {
            let zipf = Zipf::new(50_000, theta);
            let added: f64 = (0..50_000).map(|rank| zipf.probability(rank).powi(2)).sum();
            assert_close(zipf.collision() / added, 1.0, 1e-9);
        }
    }

    #[test]
    fn the_smallest_populations_and_the_last_rank_are_drawn() {
        for n in [1, 2, 3] {
            for theta in [0.0, 0.5, 0.999] {
                let zipf = Zipf::new(n, theta);
                let mut rng = Rng::new(n);
                let mut seen = [false; 3];
                for _ in 0..100_000 {
                    seen[zipf.rank(&mut rng) as usize] = true;
                }
                assert_eq!(seen, [true, n > 1, n > 2], "n {n}, theta {theta}");
            }
        }
    }
}
