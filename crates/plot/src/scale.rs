//! Scales, which map values to places between 0 and 1, with ticks at round values.

/// Ticks of a decade of a logarithmic scale, from few to many.
const OF_DECADE: [&[f64]; 4] =
    [&[1.0], &[1.0, 3.0], &[1.0, 2.0, 5.0], &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0]];

/// The scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    low: f64,
    high: f64,
    is_log: bool,
}

impl Scale {
    /// Makes a linear scale: equal differences are equally far apart. The ends are as given; if both are the same,
    /// there is room around them.
    pub fn linear(low: f64, high: f64) -> Self {
        if low < high {
            return Self { low, high, is_log: false };
        }
        let room = if low == 0.0 { 1.0 } else { low.abs() / 2.0 };
        Self { low: low - room, high: low + room, is_log: false }
    }

    /// Makes a logarithmic scale: equal ratios are equally far apart. If an end is not positive, the scale is linear.
    pub fn log(low: f64, high: f64) -> Self {
        if low <= 0.0 {
            return Self::linear(low, high);
        }
        if low < high {
            Self { low, high, is_log: true }
        } else {
            Self { low: low / 2.0, high: low * 2.0, is_log: true }
        }
    }

    /// Makes a linear scale from zero to a round value that none of the values exceeds.
    pub fn from_zero(values: impl IntoIterator<Item = f64>) -> Self {
        let high = finite(values).fold(0.0, f64::max);
        if high <= 0.0 {
            return Self::linear(0.0, 1.0);
        }
        let step = step(high, 5);
        Self::linear(0.0, (high / step - 1e-9).ceil() * step)
    }

    /// Makes a logarithmic scale over these values, with a little room; linear if a value is not positive.
    pub fn log_over(values: impl IntoIterator<Item = f64>) -> Self {
        let (low, high) = ends(values);
        if low <= 0.0 {
            return Self::over([low, high]);
        }
        let room = (high / low).powf(0.06).max(1.05);
        Self::log(low / room, high * room)
    }

    /// Makes a linear scale over these values, with a little room.
    pub fn over(values: impl IntoIterator<Item = f64>) -> Self {
        let (low, high) = ends(values);
        let room = (high - low) * 0.06;
        Self::linear(low - room, high + room)
    }

    /// Makes a scale for the values of a setting: logarithmic if they span a factor of 30 or more.
    pub fn of_setting(values: impl IntoIterator<Item = f64> + Clone) -> Self {
        let (low, high) = ends(values.clone());
        if low > 0.0 && high / low >= 30.0 { Self::log_over(values) } else { Self::over(values) }
    }

    /// Whether equal ratios are equally far apart.
    pub const fn is_log(&self) -> bool {
        self.is_log
    }

    /// Both ends.
    pub const fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// The place of a value: 0 at the lower end and 1 at the upper end. Values beyond an end are placed at that end.
    pub fn place(&self, value: f64) -> f64 {
        let share = if self.is_log {
            (value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }
    }

    /// Returns round values within the scale, approximately `about` of them.
    pub fn ticks(&self, about: usize) -> Vec<f64> {
        if !self.is_log {
            return self.linear_ticks(about);
        }
        let every = (((self.high / self.low).log10() / about as f64).ceil() as i32).max(1);
        let sparse = OF_DECADE.iter().map(|digits| self.log_ticks(digits, every));
        // The sparsest set with enough ticks; a range that is too narrow for any gets the ticks of a linear scale.
        let enough = sparse.into_iter().find(|ticks| ticks.len() >= about.min(4));
        enough.unwrap_or_else(|| self.linear_ticks(about))
    }

    fn log_ticks(&self, digits: &[f64], every: i32) -> Vec<f64> {
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let decades = (first..=last).filter(|decade| decade.rem_euclid(every) == 0);
        let all = decades.flat_map(|decade| digits.iter().map(move |digit| digit * 10_f64.powi(decade)));
        all.filter(|tick| self.holds(*tick)).collect()
    }

    fn linear_ticks(&self, about: usize) -> Vec<f64> {
        let step = step(self.high - self.low, about);
        let (first, last) =
            ((self.low / step - 1e-9).ceil() as i64, (self.high / step + 1e-9).floor() as i64);
        (first..=last).map(|at| at as f64 * step).filter(|tick| self.holds(*tick)).collect()
    }

    fn holds(&self, value: f64) -> bool {
        let room = (self.high - self.low).abs() * 1e-9;
        self.low - room <= value && value <= self.high + room
    }
}

fn finite(values: impl IntoIterator<Item = f64>) -> impl Iterator<Item = f64> {
    values.into_iter().filter(|value| value.is_finite())
}

/// The least and the greatest of some values; 0 and 1 if there are none.
fn ends(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let ends = finite(values)
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    if ends.0 <= ends.1 { ends } else { (0.0, 1.0) }
}

/// The step of 1, 2 or 5 times a power of ten that divides a range into approximately `about` parts (Heckbert, Graphics
/// Gems, 1990).
fn step(range: f64, about: usize) -> f64 {
    let rough = range / about.max(1) as f64;
    let power = 10_f64.powf(rough.log10().floor());
    let digit = match rough / power {
        digit if digit < 1.5 => 1.0,
        digit if digit < 3.5 => 2.0,
        digit if digit < 7.5 => 5.0,
        _ => 10.0,
    };
    digit * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: &[f64], wanted: &[f64]) -> bool {
        found.len() == wanted.len()
            && found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-9 * b.abs().max(1.0))
    }

    #[test]
    fn ticks_are_round_and_within() {
        assert!(near(&Scale::linear(0.0, 1.0).ticks(5), &[0.0, 0.2, 0.4, 0.6, 0.8, 1.0]));
        assert!(near(&Scale::linear(-3.0, 12.0).ticks(4), &[0.0, 5.0, 10.0]));
        assert!(near(&Scale::log(1.0, 1000.0).ticks(4), &[1.0, 10.0, 100.0, 1000.0]));
        assert!(near(&Scale::log(1.0, 10.0).ticks(5), &[1.0, 2.0, 5.0, 10.0]));
        assert!(
            near(&Scale::log(100.0, 130.0).ticks(3), &[100.0, 110.0, 120.0, 130.0]),
            "no decade is within"
        );
    }

    #[test]
    fn every_scale_has_ticks_that_increase() {
        for low in [1e-9, 0.03, 1.0, 7.0, 1e6] {
            for factor in [1.001, 1.5, 3.0, 40.0, 1e5, 1e9] {
                for scale in [Scale::linear(low, low * factor), Scale::log(low, low * factor)] {
                    let ticks = scale.ticks(5);
                    assert!((2..=16).contains(&ticks.len()), "{scale:?} {ticks:?}");
                    assert!(ticks.windows(2).all(|pair| pair[0] < pair[1]), "{scale:?} {ticks:?}");
                }
            }
        }
    }

    #[test]
    fn places_follow_differences_or_ratios_and_stay_within() {
        let (linear, log) = (Scale::linear(0.0, 10.0), Scale::log(1.0, 100.0));
        assert!((linear.place(2.5) - 0.25).abs() < 1e-12 && (log.place(10.0) - 0.5).abs() < 1e-12);
        let beyond = [linear.place(-5.0), linear.place(50.0), log.place(0.0), linear.place(f64::NAN)];
        assert!(near(&beyond, &[0.0, 1.0, 0.0, 0.0]), "{beyond:?}");
    }

    #[test]
    fn a_scale_of_one_value_or_none_has_room() {
        for scale in [Scale::over([3.0]), Scale::log_over([3.0]), Scale::from_zero([3.0]), Scale::over([])] {
            let (low, high) = scale.ends();
            assert!(low < high, "{scale:?}");
        }
        assert_eq!(Scale::from_zero([417.0]).ends(), (0.0, 500.0));
        assert!(!Scale::log(0.0, 5.0).is_log(), "zero has no logarithm");
        assert!(Scale::of_setting([1.0, 100.0]).is_log() && !Scale::of_setting([0.5, 0.99]).is_log());
    }
}
