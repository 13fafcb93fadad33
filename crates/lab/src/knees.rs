//! Knees: the first numbers of cores from which the next number helps little.

/// The share of what more cores would add if all cores kept their rate. If they add less, the curve has a knee.
const HELPS: f64 = 0.5;

/// Returns the position of the knee of a curve of throughput by the number of cores: the first point from which the
/// next one adds less than half of what it would add if all cores kept their rate. `None` if each adds more.
pub(crate) fn knee(points: &[(f64, f64)]) -> Option<usize> {
    points.windows(2).position(|pair| {
        let [(cores, rate), (more_cores, more_rate)] = [pair[0], pair[1]];
        more_rate - rate < HELPS * (more_cores - cores) * rate / cores
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_knee_is_where_more_cores_add_less_than_half() {
        assert_eq!(knee(&[(1.0, 10.0), (2.0, 20.0), (4.0, 31.0), (8.0, 62.0)]), None);
        assert_eq!(knee(&[(1.0, 10.0), (2.0, 20.0), (4.0, 29.0), (8.0, 90.0)]), Some(1));
        assert_eq!(knee(&[(1.0, 10.0), (2.0, 5.0)]), Some(0), "more cores may harm");
        assert_eq!((knee(&[]), knee(&[(1.0, 1.0)])), (None, None));
    }
}
