//! Comparison of two series that were not measured in pairs.

use crate::comparison::log;
use crate::ranks::{self, chosen_sums, doubled_ranks};
use crate::spread::{median_of_sorted, sorted};
use crate::{CompareError, Comparison, Interval, normal, superiority};

/// Compares `a` with `b` by ranks. The ratio is the median of the ratios of any value of `a` to any value of `b`
/// (Hodges and Lehmann, 1963), its interval lies between order statistics of these ratios (Hollander, Wolfe and
/// Chicken, 4.3), and the p-value is that of Mann and Whitney (1947). Exact up to 80 values in all, approximately
/// normal beyond.
///
/// It assumes that all values are independent and that A is distributed as B times a factor. If the host is slower
/// while one side is measured, that looks like a difference: prefer [`paired`](crate::paired()). With three values on
/// each side the confidence is 90 percent at most, with four 97.1.
///
/// # Errors
/// If a side is empty, or a number has no logarithm.
///
/// # Panics
/// If `confidence` is not between 0 and 1.
pub fn unpaired(a: &[f64], b: &[f64], confidence: f64) -> Result<Comparison, CompareError> {
    let superiority = superiority(a, b).ok_or(CompareError::Empty)?;
    let logs = |values: &[f64]| values.iter().map(|&value| log(value)).collect::<Result<Vec<f64>, _>>();
    let (a, b) = (logs(a)?, logs(b)?);
    let differences = sorted(a.iter().flat_map(|a| b.iter().map(move |b| a - b)));
    let interval = interval(&differences, a.len(), b.len(), confidence).ok_or(CompareError::Empty)?;
    Ok(Comparison {
        ratio: median_of_sorted(&differences).exp(),
        interval: interval.map(f64::exp),
        p_value: p_value(&a, &b),
        superiority,
    })
}

/// The interval of the difference: the number of differences below the true one is distributed as Mann and Whitney's U.
fn interval(differences: &[f64], of_a: usize, of_b: usize, confidence: f64) -> Option<Interval> {
    let all = of_a + of_b;
    if all > ranks::SUMMED_MAX {
        let (mean, deviation) = moments(of_a as f64, of_b as f64, 0.0);
        let tail = |at_most: usize| normal::below((at_most as f64 + 0.5 - mean) / deviation);
        return Interval::between_order_statistics(differences, confidence, tail);
    }
    let doubled: Vec<usize> = (1..=all).map(|rank| 2 * rank).collect();
    let least: usize = doubled[..of_a].iter().sum();
    let chances = chosen_sums(&doubled, of_a);
    let tail = |at_most: usize| chances[..=least + 2 * at_most].iter().sum();
    Interval::between_order_statistics(differences, confidence, tail)
}

/// Mean and standard deviation of U, given the ties.
fn moments(of_a: f64, of_b: f64, ties: f64) -> (f64, f64) {
    let all = of_a + of_b;
    let variance = of_a * of_b / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    (of_a * of_b / 2.0, variance.sqrt())
}

/// Mann and Whitney's two-sided test; exact, given the ties, for few values.
fn p_value(a: &[f64], b: &[f64]) -> f64 {
    let both: Vec<f64> = a.iter().chain(b).copied().collect();
    let doubled = doubled_ranks(&both);
    let observed: usize = doubled[..a.len()].iter().sum();
    if both.len() <= ranks::SUMMED_MAX {
        return ranks::two_sided(&chosen_sums(&doubled, a.len()), observed);
    }
    let (mean, deviation) = moments(a.len() as f64, b.len() as f64, ranks::ties(&both));
    let above_least = observed as f64 / 2.0 - (a.len() * (a.len() + 1)) as f64 / 2.0;
    let away = ((above_least - mean).abs() - 0.5).max(0.0);
    // If all values are equal, the deviation is 0.
    if deviation > 0.0 { normal::two_sided(away / deviation) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use stdx::Rng;

    use super::*;
    use crate::assert_near;
    use crate::interval::tests::SOURCES;

    #[test]
    fn p_values_are_those_of_enumeration_also_with_ties() {
        for (a, b) in [
            (vec![1.0, 4.0, 6.0], vec![2.0, 3.0, 5.0, 7.0]),
            (vec![1.0, 2.0, 2.0, 2.0], vec![2.0, 3.0, 3.0, 9.0]),
            (vec![5.0], vec![5.0, 5.0]),
        ] {
            let both: Vec<f64> = a.iter().chain(&b).copied().collect();
            // U counts the pairs in which the first side is above, doubled because of ties.
            let twice_u = |choice: usize| -> u32 {
                let side = |wanted: usize| (0..both.len()).filter(move |i| choice >> i & 1 == wanted);
                let win = |i: usize, j: usize| u32::from(both[i] > both[j]) + u32::from(both[i] >= both[j]);
                side(1).flat_map(|i| side(0).map(move |j| (i, j))).map(|(i, j)| win(i, j)).sum()
            };
            let observed = twice_u((1 << a.len()) - 1);
            let choices: Vec<usize> =
                (0..1_usize << both.len()).filter(|choice| choice.count_ones() as usize == a.len()).collect();
            let share = |is_counted: &dyn Fn(u32) -> bool| {
                choices.iter().filter(|&&choice| is_counted(twice_u(choice))).count() as f64
                    / choices.len() as f64
            };
            let wanted = 2.0 * share(&|u| u <= observed).min(share(&|u| u >= observed));
            assert_near(p_value(&a, &b), wanted.min(1.0), 1e-12);
        }
    }

    #[test]
    fn interval_and_test_agree() {
        let mut rng = Rng::new(6);
        for (n, m) in [(4, 4), (5, 7), (8, 6)] {
            let mut draw = |count: usize| (0..count).map(|_| rng.unit()).collect::<Vec<f64>>();
            let (a, b) = (draw(n), draw(m));
            let differences = sorted(a.iter().flat_map(|a| b.iter().map(move |b| a - b)));
            let interval = interval(&differences, n, m, 0.9).unwrap();
            for step in -100..100 {
                let shift = f64::from(step) / 99.0;
                let shifted: Vec<f64> = a.iter().map(|a| a - shift).collect();
                let is_refused = p_value(&shifted, &b) <= 1.0 - interval.confidence + 1e-9;
                assert_eq!(interval.contains(shift), !is_refused, "{n} {m} {shift} {interval:?}");
            }
        }
    }

    #[test]
    fn intervals_of_ratios_cover_as_often_as_they_say() {
        for (name, draw, _) in SOURCES {
            for n in [4_u64, 5, 7, 10] {
                let mut rng = Rng::from_path(&[n, 8]);
                let (mut covered, mut says) = (0_u32, 0.0);
                for _ in 0..2_000 {
                    let mut series =
                        |factor: f64| (0..n).map(|_| factor * draw(&mut rng)).collect::<Vec<f64>>();
                    let interval = unpaired(&series(1.3), &series(1.0), 0.95).unwrap().interval;
                    covered += u32::from(interval.contains(1.3));
                    says = interval.confidence;
                }
                let covered = f64::from(covered) / 2_000.0;
                assert!((covered - says).abs() < 0.02, "{name}, {n} a side: {covered} instead of {says}");
            }
        }
    }

    #[test]
    fn few_values_have_the_confidence_that_few_values_have() {
        let (a, b) = ([20.0, 22.0, 24.0, 26.0], [10.0, 11.0, 12.0, 13.0]);
        for (n, confidence) in [(1, 0.0), (3, 0.9), (4, 1.0 - 2.0 / 70.0)] {
            let comparison = unpaired(&a[..n], &b[..n], 0.97).unwrap();
            assert_near(comparison.interval.confidence, confidence, 1e-12);
            assert_near(comparison.p_value, 1.0 - confidence, 1e-12);
            assert_near(comparison.superiority, 1.0, 0.0);
        }
        assert_near(unpaired(&a, &b, 0.9).unwrap().ratio, 2.0, 0.05);
        assert_eq!(unpaired(&a, &[], 0.9), Err(CompareError::Empty));
        assert_eq!(unpaired(&[-1.0], &b, 0.9), Err(CompareError::NotPositive(-1.0)));
    }

    #[test]
    fn many_values_are_approximated_where_exactness_ends() {
        let mut rng = Rng::new(12);
        let a: Vec<f64> = (0..41).map(|_| rng.unit() + 0.1).collect();
        let b: Vec<f64> = (0..40).map(|_| rng.unit()).collect();
        assert_near(p_value(&a, &b), p_value(&a[1..], &b), 0.03);
        assert_near(p_value(&[1.0; 50], &[1.0; 40]), 1.0, 0.0);
        let interval = |a: &[f64]| {
            let differences = sorted(a.iter().flat_map(|a| b.iter().map(move |b| a - b)));
            interval(&differences, a.len(), b.len(), 0.95).unwrap()
        };
        assert_near(interval(&a).low, interval(&a[1..]).low, 0.02);
    }

    #[test]
    fn ties_narrow_the_approximation_as_they_narrow_the_distribution() {
        let both = [1.0, 1.0, 1.0, 2.0, 3.0, 3.0, 7.0, 7.0, 7.0, 7.0];
        let (mean, deviation) = ranks::tests::moments(&chosen_sums(&doubled_ranks(&both), 4));
        let approximate = moments(4.0, 6.0, ranks::ties(&both));
        // U is the rank sum less the least that four ranks can sum to.
        assert_near(approximate.0, mean - 10.0, 1e-9);
        assert_near(approximate.1, deviation, 1e-9);
    }
}
