//! Statistics of repeated runs: few numbers, so the median and the whole spread, and no assumed
//! distribution.

/// The median of some measurements, and between what they lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Half of the measurements are not above it.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// The spread of measurements; `None` when there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median = if sorted.len().is_multiple_of(2) {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        } else {
            sorted[middle]
        };
        Some(Self { median, min, max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle_of_odd_and_even_numbers() {
        let of = |values: &[f64]| Spread::of(values.iter().copied());
        assert_eq!(of(&[3.0, 1.0, 9.0]), Some(Spread { median: 3.0, min: 1.0, max: 9.0 }));
        assert_eq!(of(&[4.0, 1.0, 9.0, 2.0]), Some(Spread { median: 3.0, min: 1.0, max: 9.0 }));
        assert_eq!(of(&[7.0]), Some(Spread { median: 7.0, min: 7.0, max: 7.0 }));
        assert_eq!(of(&[]), None);
    }
}
