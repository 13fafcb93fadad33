//! Dates of the civil calendar, of days counted since 1970.

/// The bytes of a time as text.
pub(super) const TIME_BYTES: usize = 19;

/// A date of the Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Civil {
    pub(super) year: u32,
    /// From 1 to 12.
    pub(super) month: u32,
    /// The day of the month, from 1 on.
    pub(super) day: u32,
}

impl Civil {
    /// Returns the date of a number of days since 1970.
    ///
    /// Years are taken to begin in March, so that the day that leap years have more is the last one of a year. The
    /// calendar repeats after 400 years.
    pub(super) fn of(days: u32) -> Self {
        const DAYS_OF_400_YEARS: u64 = 146_097;
        /// The days from the first of March of the year 0 to 1970.
        const DAYS_BEFORE: u64 = 719_468;
        let all = u64::from(days) + DAYS_BEFORE;
        let (cycle, day) = (all / DAYS_OF_400_YEARS, all % DAYS_OF_400_YEARS);
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
        let day_of_year = day - (365 * year + year / 4 - year / 100);
        // Five months have 153 days, from March and from August on.
        let month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month + 2) / 5 + 1;
        let (month, of_next_year) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
        Self { year: (cycle * 400 + year + of_next_year) as u32, month: month as u32, day: day as u32 }
    }
}

/// Returns a calendar time, in milliseconds since 1970, as text such as `2005-01-03 09:00:00`.
pub(super) fn time_of_day_text(time_ms: u64) -> [u8; TIME_BYTES] {
    let seconds = time_ms / 1_000;
    let date = Civil::of((seconds / 86_400) as u32);
    let of_day = (seconds % 86_400) as u32;
    let mut text = *b"0000-00-00 00:00:00";
    let fields = [
        (0..4, date.year),
        (5..7, date.month),
        (8..10, date.day),
        (11..13, of_day / 3_600),
        (14..16, of_day / 60 % 60),
        (17..19, of_day % 60),
    ];
    for (place, mut number) in fields {
        for digit in text[place].iter_mut().rev() {
            *digit = b'0' + (number % 10) as u8;
            number /= 10;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_follow_the_calendar() {
        let date = |days| {
            let Civil { year, month, day } = Civil::of(days);
            (year, month, day)
        };
        assert_eq!(date(0), (1970, 1, 1));
        assert_eq!(date(58), (1970, 2, 28));
        assert_eq!(date(59), (1970, 3, 1));
        assert_eq!(date(10_959), (2000, 1, 3));
        assert_eq!(date(11_016), (2000, 2, 29));
        assert_eq!(date(11_017), (2000, 3, 1));
        assert_eq!(date(12_786), (2005, 1, 3));
        assert_eq!(date(47_540), (2100, 2, 28));
        assert_eq!(date(47_541), (2100, 3, 1));
        assert!(Civil::of(u32::MAX).day <= 31);
    }

    #[test]
    fn each_day_follows_the_one_before() {
        for days in 0..100_000 {
            let (today, next) = (Civil::of(days), Civil::of(days + 1));
            let is_first = next.day == 1 && (next.month == today.month % 12 + 1);
            assert!(is_first || next == Civil { day: today.day + 1, ..today }, "{today:?} {next:?}");
        }
    }

    #[test]
    fn a_time_is_readable() {
        assert_eq!(&time_of_day_text(12_786 * 86_400_000 + 9 * 3_600_000 + 61_001), b"2005-01-03 09:01:01");
    }
}
