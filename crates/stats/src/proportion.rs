//! Proportions: an interval of the true share, if `k` of `n` held-out points agree.

use crate::{Interval, interval, normal};

/// An interval of the true share if `hits` of `of` were counted: Wilson's interval (JASA 1927). Unlike the textbook's
/// interval it is not empty at 0 or all, and it has about its nominal coverage, on average over shares, for any `of`
/// (Brown, Cai and `DasGupta`, Statistical Science 2001). `None` if `of` is 0.
///
/// # Panics
/// If `hits` is above `of`, or `confidence` is not between 0 and 1.
pub fn share(hits: u64, of: u64, confidence: f64) -> Option<Interval> {
    interval::check_confidence(confidence);
    assert!(hits <= of, "{hits} are more than {of}");
    if of == 0 {
        return None;
    }
    let (k, n, z) = (hits as f64, of as f64, normal::critical(confidence));
    let centre = (k + z * z / 2.0) / (n + z * z);
    let reach = z / (n + z * z) * (k * (n - k) / n + z * z / 4.0).sqrt();
    // At the ends the exact bound is 0 or 1, which rounding misses.
    let low = if hits == 0 { 0.0 } else { centre - reach };
    let high = if hits == of { 1.0 } else { centre + reach };
    Some(Interval { low, high, confidence })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assert_near;

    #[test]
    fn published_intervals_come_out() {
        // Newcombe, Statistics in Medicine 1998, table I, method 3.
        for (hits, of, low, high) in [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ] {
            let interval = share(hits, of, 0.95).unwrap();
            assert_near(interval.low, low, 0.000_05);
            assert_near(interval.high, high, 0.000_05);
        }
        assert_eq!(share(0, 0, 0.95), None);
    }

    #[test]
    fn shares_are_covered_about_as_often_as_asked() {
        // Summed over the binomial distribution, without chance; the average over shares is close to 95 percent, and
        // single shares between 1/20 and 19/20 are never below 89.
        let n = 30_u64;
        let (mut sum, mut least) = (0.0, 1.0_f64);
        for step in 5..=95 {
            let p = f64::from(step) / 100.0;
            let mut chance = (1.0 - p).powi(n as i32);
            let mut covered = 0.0;
            for k in 0..=n {
                covered += if share(k, n, 0.95).unwrap().contains(p) { chance } else { 0.0 };
                chance *= (n - k) as f64 / (k + 1) as f64 * p / (1.0 - p);
            }
            sum += covered / 91.0;
            least = least.min(covered);
        }
        assert_near(sum, 0.95, 0.01);
        assert!(least > 0.89, "{least}");
    }
}
