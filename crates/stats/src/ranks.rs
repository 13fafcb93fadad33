//! Ranks, and the exact distributions of their sums.
//!
//! Ranks are doubled, so that the mean of two neighbours, which equal values share, is a whole number.

/// Most samples for which the distribution of a signed-rank sum is computed exactly.
pub(crate) const SIGNED_MAX: usize = 200;

/// Most samples of both groups together for which the distribution of a rank sum is computed exactly.
pub(crate) const SUMMED_MAX: usize = 80;

/// Twice the rank of each value; equal values share the mean of their ranks.
pub(crate) fn doubled_ranks(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0; values.len()];
    let mut done = 0;
    for equal in order.chunk_by(|&a, &b| values[a].total_cmp(&values[b]).is_eq()) {
        // The ranks from done + 1 to done + n have the mean done + (n + 1) / 2.
        for &i in equal {
            ranks[i] = 2 * done + equal.len() + 1;
        }
        done += equal.len();
    }
    ranks
}

/// The probability of each sum of doubled ranks when every rank is in the sum or not with equal chance: Wilcoxon's
/// signed-rank distribution (Biometrics Bulletin 1945), given the ties.
pub(crate) fn signed_sums(doubled: &[usize]) -> Vec<f64> {
    let mut chances = vec![0.0; doubled.iter().sum::<usize>() + 1];
    chances[0] = 1.0;
    let mut highest = 0;
    for &rank in doubled {
        highest += rank;
        for sum in (0..=highest).rev() {
            let without_it = if sum >= rank { chances[sum - rank] } else { 0.0 };
            chances[sum] = f64::midpoint(chances[sum], without_it);
        }
    }
    chances
}

/// The probability of each sum of doubled ranks when all choices of `chosen` of them are equally likely: the
/// distribution of Wilcoxon's rank sum and of Mann and Whitney's U (Annals of Mathematical Statistics 1947), given
/// the ties.
pub(crate) fn chosen_sums(doubled: &[usize], chosen: usize) -> Vec<f64> {
    let highest: usize = doubled.iter().sum();
    // ways[count][sum]: the number of choices of `count` ranks that have the sum.
    let mut ways = vec![vec![0.0; highest + 1]; chosen + 1];
    ways[0][0] = 1.0;
    for &rank in doubled {
        for count in (1..=chosen).rev() {
            let (fewer, more) = ways.split_at_mut(count);
            let added = fewer[count - 1].iter();
            more[0][rank..].iter_mut().zip(added).for_each(|(ways, added)| *ways += added);
        }
    }
    let mut ways = ways.swap_remove(chosen);
    let all: f64 = ways.iter().sum();
    for ways in &mut ways {
        *ways /= all;
    }
    ways
}

/// The probability of a value at least as extreme as `observed`, on either side of a distribution: twice the
/// probability of the nearer tail.
pub(crate) fn two_sided(chances: &[f64], observed: usize) -> f64 {
    let below: f64 = chances[..=observed].iter().sum();
    let above: f64 = chances[observed..].iter().sum();
    (2.0 * below.min(above)).min(1.0)
}

/// The sum of `t^3 - t` over the sizes of all groups of equal values, by which ties reduce the variance of a normal
/// approximation.
pub(crate) fn ties(values: &[f64]) -> f64 {
    let sorted = crate::spread::sorted(values.iter().copied());
    let groups = sorted.chunk_by(|a, b| a.total_cmp(b).is_eq());
    groups.map(|group| (group.len() as f64).powi(3) - group.len() as f64).sum()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::assert_near;

    /// Mean and standard deviation of a sum of ranks, given the probability of each sum of doubled ranks.
    pub(crate) fn moments(chances: &[f64]) -> (f64, f64) {
        let moment = |of: &dyn Fn(f64) -> f64| -> f64 {
            chances.iter().enumerate().map(|(sum, chance)| chance * of(sum as f64 / 2.0)).sum()
        };
        let mean = moment(&|sum| sum);
        (mean, moment(&|sum| (sum - mean).powi(2)).sqrt())
    }

    #[test]
    fn equal_values_share_the_mean_of_their_ranks() {
        assert_eq!(doubled_ranks(&[3.0, 1.0, 3.0, 2.0, 3.0]), [8, 2, 8, 4, 8]);
        assert_eq!(doubled_ranks(&[5.0, 5.0]), [3, 3]);
        assert_near(ties(&[3.0, 1.0, 3.0, 2.0, 3.0, 1.0]), 24.0 + 6.0, 0.0);
    }

    #[test]
    fn signed_sums_are_those_of_enumeration() {
        for ranks in [vec![2, 4, 6, 8, 10, 12], vec![3, 3, 6, 9, 9, 12, 14], vec![2]] {
            let mut counted = vec![0.0; ranks.iter().sum::<usize>() + 1];
            for signs in 0..1_usize << ranks.len() {
                let positive = ranks.iter().enumerate().filter(|(i, _)| signs >> i & 1 == 1);
                counted[positive.map(|(_, rank)| rank).sum::<usize>()] += 0.5_f64.powi(ranks.len() as i32);
            }
            let computed = signed_sums(&ranks);
            computed.iter().zip(&counted).for_each(|(a, b)| assert_near(*a, *b, 1e-15));
        }
    }

    #[test]
    fn chosen_sums_are_those_of_enumeration() {
        for (ranks, chosen) in
            [(vec![2, 4, 6, 8, 10, 12, 14], 3), (vec![3, 3, 7, 7, 10, 12], 2), (vec![2, 4], 2)]
        {
            let mut counted = vec![0.0; ranks.iter().sum::<usize>() + 1];
            for choice in (0..1_usize << ranks.len()).filter(|choice| choice.count_ones() == chosen) {
                let in_it = ranks.iter().enumerate().filter(|(i, _)| choice >> i & 1 == 1);
                counted[in_it.map(|(_, rank)| rank).sum::<usize>()] += 1.0;
            }
            let all: f64 = counted.iter().sum();
            let computed = chosen_sums(&ranks, chosen as usize);
            computed.iter().zip(&counted).for_each(|(a, b)| assert_near(*a, *b / all, 1e-15));
        }
    }
}
