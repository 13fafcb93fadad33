//! Inputs: the rows that a transaction reads, and those of them that it writes. A request holds no list of rows, which
//! would be long, but the seed from which the rows are drawn.

use engine::Homes;
use stdx::{Permutation, Rng};

use super::settings::Settings;

/// The maximum number of scattered rows for which the home of each row is determined. For more rows, all homes are
/// named.
const ASKED_MAX: u64 = 256;

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    /// The seed of everything random in the request.
    pub(super) stamp: u64,
    /// The position of the first row, if the rows are consecutive.
    first: u64,
    /// The number of rows that the transaction writes.
    pub(super) writes: u64,
}

impl Input {
    pub(super) fn generate(settings: &Settings, rng: &mut Rng) -> Self {
        let stamp = rng.next_u64();
        let first = rng.below(settings.rows.count());
        let mean = settings.writes_mean();
        let more = u64::from(rng.unit() < mean.fract());
        Self { stamp, first, writes: (mean as u64 + more).min(settings.writes_max()) }
    }

    /// Returns the sequence of rows that the transaction reads.
    #[inline]
    pub(super) fn walk(&self, settings: &Settings) -> Walk {
        let rows = settings.rows.count();
        if settings.is_scattered {
            Walk::Scattered(Permutation::new(rows, self.stamp))
        } else {
            Walk::Contiguous { first: self.first, rows }
        }
    }

    /// Returns the chooser, which decides for each row that is read, in order, if it is written.
    #[inline]
    pub(super) fn chooser(&self, settings: &Settings) -> Chooser {
        // The first rows of a random permutation are random rows.
        let takes_first = settings.writes_first || settings.is_scattered;
        let rng = Rng::new(!self.stamp);
        Chooser { rows_left: settings.reads, writes_left: self.writes, takes_first, rng }
    }

    /// Returns the homes of the rows that the transaction reads.
    pub(super) fn homes(&self, settings: &Settings) -> Homes {
        let (rows, reads, mut homes) = (settings.rows, settings.reads, Homes::new());
        match self.walk(settings) {
            Walk::Scattered(permutation) if reads <= ASKED_MAX => {
                (0..reads).for_each(|nth| homes.add(rows.key(permutation.apply(nth)).at() as u64));
            }
            Walk::Scattered(_) => (0..rows.homes()).for_each(|home| homes.add(home)),
            Walk::Contiguous { first, rows: count } => {
                let (to, around) = (first + reads, (first + reads).saturating_sub(count));
                for home in 0..rows.homes() {
                    let of_home = rows.of_home(home);
                    if of_home.start < to && first < of_home.end || of_home.start < around {
                        homes.add(home);
                    }
                }
            }
        }
        homes
    }
}

/// The rows that a transaction reads, in order.
#[derive(Clone, Debug)]
pub(super) enum Walk {
    /// Consecutive rows. The first row follows the last.
    Contiguous { first: u64, rows: u64 },
    /// The first rows of a permutation of all rows.
    Scattered(Permutation),
}

impl Walk {
    /// Returns the position of the `nth` row.
    #[inline]
    pub(super) fn position(&self, nth: u64) -> u64 {
        match self {
            Self::Contiguous { first, rows } => {
                let position = first + nth;
                if position < *rows { position } else { position - rows }
            }
            Self::Scattered(permutation) => permutation.apply(nth),
        }
    }
}

/// Chooses `writes_left` of `rows_left` rows one after the other: either each choice with equal probability (Knuth,
/// volume 2, 3.4.2, algorithm S), or the first rows.
#[derive(Clone, Debug)]
pub(super) struct Chooser {
    rows_left: u64,
    writes_left: u64,
    takes_first: bool,
    rng: Rng,
}

impl Chooser {
    /// Returns `true` if the next row is chosen.
    #[inline]
    pub(super) fn next(&mut self) -> bool {
        let is_chosen =
            self.writes_left > 0 && (self.takes_first || self.rng.below(self.rows_left) < self.writes_left);
        self.rows_left -= 1;
        self.writes_left -= u64::from(is_chosen);
        is_chosen
    }
}

/// The quantity that the `nth` of `writes` writes adds to its row. Writes form pairs: the second row gains the quantity
/// that the first loses. A last write without a partner moves nothing.
#[inline]
pub(super) fn delta(stamp: u64, nth: u64, writes: u64) -> i64 {
    let pair = nth / 2;
    let amount = 1 + (stamp.rotate_right(pair as u32) & 7) as i64;
    match nth % 2 {
        1 => amount,
        _ if nth + 1 < writes => -amount,
        _ => 0,
    }
}
