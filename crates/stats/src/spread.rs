//! The median and the range of repeated runs.

/// The median and the range of some measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The smallest measurement.
    pub min: f64,
    /// The largest measurement.
    pub max: f64,
}

impl Spread {
    /// Computes the spread of measurements; `None` if there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let sorted = sorted(values);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        Some(Self { median: median_of_sorted(&sorted), min, max })
    }
}

/// Sorts values in ascending order.
pub(crate) fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The middle of sorted values, or the mean of the two middle values.
pub(crate) fn median_of_sorted(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    } else {
        sorted[middle]
    }
}

/// The `p`-quantile of sorted values, with linear interpolation (definition 7 of Hyndman and Fan, The American
/// Statistician 1996).
pub(crate) fn quantile_of_sorted(sorted: &[f64], p: f64) -> f64 {
    let place = p.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let (before, after) = (place.floor() as usize, place.ceil() as usize);
    sorted[before] + (place - place.floor()) * (sorted[after] - sorted[before])
}

/// The mean; not a number if there are no values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assert_near;

    #[test]
    fn the_median_is_in_the_middle_of_odd_and_even_numbers() {
        let of = |values: &[f64]| Spread::of(values.iter().copied());
        assert_eq!(of(&[3.0, 1.0, 9.0]), Some(Spread { median: 3.0, min: 1.0, max: 9.0 }));
        assert_eq!(of(&[4.0, 1.0, 9.0, 2.0]), Some(Spread { median: 3.0, min: 1.0, max: 9.0 }));
        assert_eq!(of(&[7.0]), Some(Spread { median: 7.0, min: 7.0, max: 7.0 }));
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn quantiles_lie_between_their_neighbours() {
        let sorted = [1.0, 2.0, 4.0, 8.0, 16.0];
        for (p, value) in [(0.0, 1.0), (0.5, 4.0), (0.625, 6.0), (1.0, 16.0), (1.5, 16.0)] {
            assert_near(quantile_of_sorted(&sorted, p), value, 1e-12);
        }
    }
}
