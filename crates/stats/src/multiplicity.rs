//! Corrections for many comparisons: of a hundred p-values, five are expected to be below 0.05 even if nothing differs.

/// Adjusts p-values so that, if differences below a level are called real, the probability that *any* of these claims
/// is wrong is at most that level (Holm, Scandinavian Journal of Statistics 1979). For few claims, each of which must
/// hold. The order is kept.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut highest = 0.0_f64;
    adjusted(p_values, ascending(p_values), |p, position| {
        highest = highest.max(p * (p_values.len() - position) as f64);
        highest.min(1.0)
    })
}

/// Adjusts p-values so that, if differences below a level are called real, the expected share of wrong claims among
/// these is at most that level (Benjamini and Hochberg, Journal of the Royal Statistical Society B 1995). For maps of
/// many points. The order is kept. The method holds for independent p-values and for positively dependent ones, for
/// example of ratios to the same baseline.
pub fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    let mut order = ascending(p_values);
    order.reverse();
    let mut lowest = 1.0_f64;
    adjusted(p_values, order, |p, position| {
        let rank = p_values.len() - position;
        lowest = lowest.min(p * p_values.len() as f64 / rank as f64);
        lowest
    })
}

fn ascending(p_values: &[f64]) -> Vec<usize> {
    assert!(p_values.iter().all(|p| (0.0..=1.0).contains(p)), "p-values lie between 0 and 1");
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    order
}

fn adjusted(p_values: &[f64], order: Vec<usize>, mut adjust: impl FnMut(f64, usize) -> f64) -> Vec<f64> {
    let mut result = vec![0.0; p_values.len()];
    for (position, index) in order.into_iter().enumerate() {
        result[index] = adjust(p_values[index], position);
    }
    result
}

#[cfg(test)]
mod tests {
    use stdx::Rng;

    use super::*;
    use crate::assert_near;

    #[test]
    fn hand_computed_adjustments_come_out() {
        let p_values = [0.01, 0.04, 0.03, 0.005];
        for (got, want) in holm(&p_values).into_iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert_near(got, want, 1e-15);
        }
        for (got, want) in benjamini_hochberg(&p_values).into_iter().zip([0.02, 0.04, 0.04, 0.02]) {
            assert_near(got, want, 1e-15);
        }
        // A larger p-value that is adjusted to less takes the smaller ones down with it.
        for (got, want) in benjamini_hochberg(&[0.01, 0.035, 0.04]).into_iter().zip([0.03, 0.04, 0.04]) {
            assert_near(got, want, 1e-15);
        }
        assert!(holm(&[]).is_empty() && benjamini_hochberg(&[]).is_empty());
        assert_near(holm(&[0.6, 0.7])[0], 1.0, 0.0);
    }

    #[test]
    fn the_published_example_keeps_its_four_discoveries() {
        // The 15 p-values of Benjamini and Hochberg, 1995: at 0.05 theirs makes four discoveries, Holm's three.
        let p_values = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719,
            0.6528, 0.7590, 1.0,
        ];
        let discoveries = |adjusted: Vec<f64>| adjusted.iter().filter(|p| **p <= 0.05).count();
        assert_eq!(discoveries(benjamini_hochberg(&p_values)), 4);
        assert_eq!(discoveries(holm(&p_values)), 3);
    }

    #[test]
    fn chance_alone_is_rarely_called_real() {
        let mut rng = Rng::new(2);
        let mut wrong = [0_u32; 3];
        for _ in 0..2_000 {
            let p_values: Vec<f64> = (0..20).map(|_| rng.unit()).collect();
            let any = |p_values: &[f64]| u32::from(p_values.iter().any(|p| *p <= 0.05));
            wrong[0] += any(&p_values);
            wrong[1] += any(&holm(&p_values));
            wrong[2] += any(&benjamini_hochberg(&p_values));
        }
        assert!(wrong[0] > 1_000, "unadjusted: {wrong:?}");
        assert!(wrong[1] < 130 && wrong[2] < 130, "adjusted: {wrong:?}");
    }
}
