//! Labels of numbers on axes: short, without meaningless digits.

/// Formats a number with as few digits as it needs, six at most.
pub fn plain(value: f64) -> String {
    if value != 0.0 && !(1e-4..1e7).contains(&value.abs()) {
        return format!("{value:.0e}");
    }
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Formats a number with k, M or G for thousands, millions and thousands of millions.
pub fn si(value: f64) -> String {
    let (scaled, suffix) = match value.abs() {
        v if v >= 1e9 => (value / 1e9, "G"),
        v if v >= 1e6 => (value / 1e6, "M"),
        v if v >= 1e3 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    format!("{}{suffix}", plain((scaled * 1e3).round() / 1e3))
}

/// Formats a share as a percentage.
pub fn percent(value: f64) -> String {
    format!("{}%", plain((value * 1e6).round() / 1e4))
}

/// Formats microseconds in the unit that leaves one to three digits before the point.
pub fn micros(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        v if v >= 1e6 => (value / 1e6, "s"),
        v if v >= 1e3 => (value / 1e3, "ms"),
        v if v >= 1.0 || v == 0.0 => (value, "us"),
        _ => (value * 1e3, "ns"),
    };
    format!("{} {unit}", plain((scaled * 1e3).round() / 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_short() {
        assert_eq!([plain(0.0), plain(0.99), plain(100.0), plain(2.5e8)], ["0", "0.99", "100", "2e8"]);
        assert_eq!([si(0.0), si(1_500.0), si(2e6), si(250_000.0)], ["0", "1.5k", "2M", "250k"]);
        assert_eq!([percent(0.25), percent(1.0), percent(0.0005)], ["25%", "100%", "0.05%"]);
        assert_eq!(
            [micros(0.5), micros(20.0), micros(2_000.0), micros(3e6)],
            ["500 ns", "20 us", "2 ms", "3 s"]
        );
    }
}
