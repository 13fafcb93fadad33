//! A search for the places on an axis at which the ranking of two schemes flips, from noisy measurements.

use crate::{Axis, Interval};

/// A search for the places at which the ratio of A to B crosses 1, one measurement at a time.
///
/// A measurement is *clear* if its interval excludes 1; it then shows which scheme is ahead. First a grid is measured,
/// so that several crossings can be seen. Then each stretch between two clear neighbours on different sides is halved
/// on the axis' scale. A measurement that is not clear is repeated until its interval has been told `repeats` times. If
/// it stays unclear, the search goes on between that point and its clear neighbours, and the crossing has an unclear
/// middle: the points at which, by these measurements, neither scheme is ahead.
///
/// Telling a point again replaces its earlier interval: merge the samples first. An interval of confidence `c` is on
/// the wrong side with a probability of at most `(1 - c) / 2`, and a single such interval adds two false crossings. So
/// use a confidence of 99 percent if many points are measured.
#[derive(Clone, Debug)]
pub struct Bisect {
    axis: Axis,
    grid: usize,
    tolerance: f64,
    repeats: u32,
    points: Vec<Point>,
}

#[derive(Clone, Copy, Debug)]
struct Point {
    at: f64,
    ratio: Interval,
    told: u32,
}

/// The side of a ratio, that is, the scheme that is ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RatioSide {
    /// The ratio is above 1.
    Above,
    /// The ratio is below 1.
    Below,
}

/// The next step of a search.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Measure at this value of the axis, and [`tell`](Bisect::tell) the interval of the ratio.
    Measure(f64),
    /// Measure more at this value, which is not clear yet, and [`tell`](Bisect::tell) the interval of all its
    /// measurements.
    Repeat(f64),
    /// The search is done, with these findings.
    Done(BisectionFindings),
}

/// The findings of a search, from the low end of the axis to the high end.
#[derive(Clone, Debug, PartialEq)]
pub struct BisectionFindings {
    /// The scheme that is ahead before the first crossing; `None` if no measurement was clear.
    pub first: Option<RatioSide>,
    /// The crossings; empty if the same scheme is ahead at all clear points.
    pub crossings: Vec<Crossing>,
    /// All values at which the measurements did not decide which scheme is ahead.
    pub unclear: Vec<f64>,
}

/// A stretch of the axis within which the ratio crosses 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// The last value at which the ratio is clearly still on its earlier side.
    pub low: f64,
    /// The first value at which the ratio is clearly on the other side.
    pub high: f64,
    /// The scheme that is ahead from `high` on.
    pub to: RatioSide,
    /// The first and the last measured value between `low` and `high` that stayed unclear, if there are any.
    pub unclear: Option<(f64, f64)>,
}

impl Point {
    fn side(&self) -> Option<RatioSide> {
        if self.ratio.low > 1.0 {
            Some(RatioSide::Above)
        } else if self.ratio.high < 1.0 {
            Some(RatioSide::Below)
        } else {
            None
        }
    }
}

impl Bisect {
    /// Makes a search on an axis. First `grid` points are measured, at least the two ends. Then stretches are halved
    /// down to `tolerance` of the axis (0.01 is a hundredth of its scale), or to neighbours where values are whole or
    /// have no more digits. Each unclear point is measured `repeats` times at most.
    ///
    /// # Panics
    /// On an axis of choices, which have no order; with fewer than 2 grid points; with `repeats` of 0; with a tolerance
    /// that is not positive.
    pub fn new(axis: Axis, grid: usize, tolerance: f64, repeats: u32) -> Self {
        assert!(axis.choices().is_none(), "choices have no order in which a ratio could cross");
        assert!(
            grid >= 2 && repeats >= 1 && tolerance > 0.0,
            "a search needs both ends, measured, and an end"
        );
        Self { axis, grid, tolerance, repeats, points: Vec::new() }
    }

    /// Records the interval of the ratio that was measured at a value.
    pub fn tell(&mut self, at: f64, ratio: Interval) {
        match self.points.binary_search_by(|point| point.at.total_cmp(&at)) {
            Ok(place) => self.points[place] = Point { at, ratio, told: self.points[place].told + 1 },
            Err(place) => self.points.insert(place, Point { at, ratio, told: 1 }),
        }
    }

    /// Returns the next step. The answer stays the same until a new interval is told.
    pub fn next(&self) -> Next {
        if let Some(at) = self.missing_of_grid() {
            return Next::Measure(at);
        }
        let open = self.points.iter().find(|point| point.side().is_none() && point.told < self.repeats);
        if let Some(point) = open {
            return Next::Repeat(point.at);
        }
        match self.widest_gap() {
            Some((low, high)) => Next::Measure(self.middle(low, high).expect("a gap has a middle")),
            None => Next::Done(self.findings()),
        }
    }

    fn missing_of_grid(&self) -> Option<f64> {
        let (low, high) = self.axis.ends();
        let (from, to) = (self.axis.unit_of(low), self.axis.unit_of(high));
        let steps = self.grid - 1;
        let at = |step: usize| match step {
            0 => low,
            _ if step == steps => high,
            _ => self.axis.legible(self.axis.at(from + (to - from) * step as f64 / steps as f64)),
        };
        (0..self.grid).map(at).find(|at| self.points.iter().all(|point| point.at.total_cmp(at).is_ne()))
    }

    /// Returns the widest gap that is wider than the tolerance, if there is one. Each crossing has one or two gaps in
    /// which it may be narrowed: after its last clear point on the one side, and before its first clear point on the
    /// other side.
    fn widest_gap(&self) -> Option<(f64, f64)> {
        let width = |gap: &(f64, f64)| self.axis.unit_of(gap.1) - self.axis.unit_of(gap.0);
        self.crossings()
            .into_iter()
            .flat_map(|crossing| match crossing.unclear {
                Some((first, last)) => vec![(crossing.low, first), (last, crossing.high)],
                None => vec![(crossing.low, crossing.high)],
            })
            .filter(|gap| width(gap) > self.tolerance && self.middle(gap.0, gap.1).is_some())
            .max_by(|a, b| width(a).total_cmp(&width(b)))
    }

    /// Returns the value to measure between two values; `None` if they are neighbours in the digits that are written.
    fn middle(&self, low: f64, high: f64) -> Option<f64> {
        let middle = self.axis.legible(self.axis.between(low, high)?);
        (low < middle && middle < high).then_some(middle)
    }

    fn crossings(&self) -> Vec<Crossing> {
        let clear: Vec<(f64, RatioSide)> =
            self.points.iter().filter_map(|point| Some((point.at, point.side()?))).collect();
        let flips = clear.windows(2).filter(|pair| pair[0].1 != pair[1].1);
        flips
            .map(|pair| {
                let ((low, _), (high, to)) = (pair[0], pair[1]);
                let mut inside = self.points.iter().filter(|point| low < point.at && point.at < high);
                let first = inside.next().map(|point| point.at);
                let unclear = first.map(|first| (first, inside.next_back().map_or(first, |point| point.at)));
                Crossing { low, high, to, unclear }
            })
            .collect()
    }

    /// Returns the findings so far, also before the search is done.
    pub fn findings(&self) -> BisectionFindings {
        BisectionFindings {
            first: self.points.iter().find_map(Point::side),
            crossings: self.crossings(),
            unclear: self
                .points
                .iter()
                .filter(|point| point.side().is_none())
                .map(|point| point.at)
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use stdx::Rng;

    use super::*;
    use crate::interval::tests::gauss;
    use crate::{Paired, Scale, assert_near, paired};

    fn exactly(ratio: f64) -> Interval {
        Interval { low: ratio, high: ratio, confidence: 0.95 }
    }

    fn warehouses() -> Axis {
        Axis::new("warehouses", Scale::LogInteger { low: 1, high: 1_024 }).unwrap()
    }

    /// Searches until the search is done, and returns the number of measurements.
    fn search(mut bisect: Bisect, mut measure: impl FnMut(f64) -> Interval) -> (BisectionFindings, u32) {
        let mut measured = 0;
        loop {
            match bisect.next() {
                Next::Measure(at) | Next::Repeat(at) => bisect.tell(at, measure(at)),
                Next::Done(findings) => return (findings, measured),
            }
            measured += 1;
            assert!(measured < 1_000, "a search ends");
        }
    }

    #[test]
    fn without_noise_neighbours_are_found_in_logarithmically_many_steps() {
        for flip in [2.0, 3.0, 37.0, 800.0, 1_024.0] {
            let ratio = |at: f64| exactly(if at < flip { 1.3 } else { 0.8 });
            let (findings, measured) = search(Bisect::new(warehouses(), 2, 1e-6, 1), ratio);
            let crossing = Crossing { low: flip - 1.0, high: flip, to: RatioSide::Below, unclear: None };
            assert_eq!(findings.crossings, [crossing]);
            assert_eq!(findings.first, Some(RatioSide::Above));
            assert!(measured <= 16, "{measured}");
        }
    }

    #[test]
    fn a_coarse_grid_shows_several_crossings() {
        let axis = Axis::new("share", Scale::Linear { low: 0.0, high: 1.0 }).unwrap();
        let ratio = |at: f64| exactly(if (0.3..0.62).contains(&at) { 0.9 } else { 1.1 });
        let (findings, _) = search(Bisect::new(axis, 6, 0.01, 1), ratio);
        let [into, out_of] = &findings.crossings[..] else { panic!("{findings:?}") };
        assert!(
            into.low < 0.3 && into.high >= 0.3 && into.high - into.low < 0.011 && into.to == RatioSide::Below
        );
        assert!(out_of.low < 0.62 && out_of.high >= 0.62 && out_of.to == RatioSide::Above);
    }

    #[test]
    fn one_scheme_ahead_has_no_crossing_and_unclear_points_are_repeated() {
        let (findings, measured) = search(Bisect::new(warehouses(), 4, 0.01, 3), |_| exactly(1.2));
        assert_eq!((findings.first, findings.crossings.len(), measured), (Some(RatioSide::Above), 0, 4));
        let (findings, measured) = search(Bisect::new(warehouses(), 4, 0.01, 3), |_| exactly(1.0));
        assert_eq!((findings.first, findings.unclear.len(), measured), (None, 4, 12));
    }

    #[test]
    fn an_unclear_middle_is_bounded_from_both_sides() {
        let axis = Axis::new("share", Scale::Linear { low: 0.0, high: 1.0 }).unwrap();
        let ratio = |at: f64| Interval { low: at + 0.4, high: at + 0.6, confidence: 0.95 };
        // Unclear from 0.4 to 0.6.
        let (findings, _) = search(Bisect::new(axis, 2, 0.01, 2), ratio);
        let [crossing] = &findings.crossings[..] else { panic!("{findings:?}") };
        let (first, last) = crossing.unclear.expect("the middle is unclear");
        assert_near(crossing.low, 0.4, 0.011);
        assert_near(first, 0.4, 0.011);
        assert_near(last, 0.6, 0.011);
        assert_near(crossing.high, 0.6, 0.011);
    }

    #[test]
    fn noisy_crossings_are_bracketed() {
        let (mut right, mut measurements) = (0, 0);
        for seed in 0..200 {
            let axis = Axis::new("theta", Scale::Linear { low: 0.0, high: 1.0 }).unwrap();
            let mut rng = Rng::new(seed);
            let truth = 0.2 + 0.6 * rng.unit();
            // The ratio falls from one side of 1 to the other, and a single pair is off by some 3 percent.
            let mut samples: BTreeMap<u64, Vec<(f64, f64)>> = BTreeMap::new();
            let measure = |at: f64| {
                let pairs = samples.entry(at.to_bits()).or_default();
                let noise = |rng: &mut Rng| (0.03 * gauss(rng)).exp();
                pairs.extend((0..8).map(|_| ((truth - at).exp() * noise(&mut rng), noise(&mut rng))));
                paired(pairs, Paired::SignedRanks, 0.99).unwrap().interval
            };
            let (findings, measured) = search(Bisect::new(axis, 5, 0.02, 3), measure);
            measurements += measured;
            if let [crossing] = findings.crossings[..] {
                right += u32::from(
                    crossing.low <= truth && truth <= crossing.high && crossing.to == RatioSide::Below,
                );
                assert!(crossing.high - crossing.low < 0.35, "{crossing:?}");
            }
        }
        assert!(right >= 190, "{right} of 200");
        assert!(measurements < 200 * 30, "{measurements} for 200 searches");
    }
}
