//! Keys and rows: the places of loaded and inserted records, and the layout of their words.
//!
//! A record's *place* is a 64-bit number, and its key is that number in one of two widths. Loaded
//! records are spread over all places with equal gaps between them. Thus the top bits of a place
//! divide any number of records into equal homes, and the gaps have room for inserted records.
//!
//! The words of a row are: 0 the version counter, to which a read-modify-write adds 1 (in a blindly
//! written row: the stamp of its writer); 1 the place, which shows a row that was read under another's
//! key; the rest 8-byte columns.

use core::fmt::Debug;

use engine::{Home, Key, Row};
use stdx::{Permutation, Rng};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The index of the first word of a row that is a column.
pub(super) const COLUMNS_FROM: usize = 2;

/// The number of homes: as many as an input can name, so that a long transaction may touch all homes.
pub(super) const HOMES: u64 = engine::Homes::MAX as u64;

/// Returns the home of a place. Homes are equal ranges of places.
pub(super) fn home_of(place: u64) -> u64 {
    place >> (u64::BITS - HOMES.ilog2())
}

/// A key of one of the two widths.
pub trait RecordKey: Key {
    /// The type of the rows with this key.
    type Row: Row<Key = Self> + AsRef<[u64]> + AsMut<[u64]> + ?Sized;
    /// The width of the key in bytes.
    const BYTES: usize;

    /// Creates the key of a place.
    fn of(place: u64) -> Self;

    /// Returns the place of a key.
    fn place(self) -> u64;
}

/// An 8-byte key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortKey(u64);

/// A 48-byte key. As in the suite's textual keys, the part that distinguishes keys follows a common
/// prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongKey(u64);

impl Key for ShortKey {
    type Ordered = u64;

    #[inline]
    fn ordered(self) -> u64 {
        self.0
    }

    #[inline]
    fn from_ordered(ordered: u64) -> Self {
        Self(ordered)
    }

    #[inline]
    fn home(self) -> Home {
        Home::At(home_of(self.0))
    }
}

impl Key for LongKey {
    type Ordered = [u64; 6];

    #[inline]
    fn ordered(self) -> [u64; 6] {
        // Five words of "user", the beginning of the suite's keys.
        const PREFIX: u64 = 0x7573_6572_7573_6572;
        [PREFIX, PREFIX, PREFIX, PREFIX, PREFIX, self.0]
    }

    #[inline]
    fn from_ordered(ordered: [u64; 6]) -> Self {
        Self(ordered[5])
    }

    #[inline]
    fn home(self) -> Home {
        Home::At(home_of(self.0))
    }
}

/// A row under a [`ShortKey`].
#[derive(Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct ShortRow([u64]);

/// A row under a [`LongKey`].
#[derive(Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct LongRow([u64]);

macro_rules! keyed_row {
    ($key:ty, $row:ty, $bytes:literal) => {
        impl Row for $row {
            type Key = $key;
            type Indexes = ();
        }

        impl AsRef<[u64]> for $row {
            #[inline]
            fn as_ref(&self) -> &[u64] {
                &self.0
            }
        }

        impl AsMut<[u64]> for $row {
            #[inline]
            fn as_mut(&mut self) -> &mut [u64] {
                &mut self.0
            }
        }

        impl RecordKey for $key {
            type Row = $row;
            const BYTES: usize = $bytes;

            #[inline]
            fn of(place: u64) -> Self {
                Self(place)
            }

            #[inline]
            fn place(self) -> u64 {
                self.0
            }
        }
    };
}

keyed_row!(ShortKey, ShortRow, 8);
keyed_row!(LongKey, LongRow, 48);

/// Converts words to a row.
#[inline]
pub(super) fn row_of<R: Row + ?Sized>(words: &[u64]) -> &R {
    R::ref_from_bytes(words.as_bytes()).expect("a row is any number of words")
}

/// The places of records.
#[derive(Clone, Debug)]
pub(super) struct Places {
    records: u64,
    clients: u64,
    /// The distance between the places of neighbouring loaded records.
    gap: u64,
    /// Maps the number of a record, in the order of hotness or age, to its position in key order.
    /// `None` if both orders are the same.
    scatter: Option<Permutation>,
}

impl Places {
    pub(super) fn new(records: u64, clients: u64, seed: u64, is_scattered: bool) -> Self {
        let scatter = is_scattered.then(|| Permutation::new(records, seed));
        // The number of gaps is the number of records plus one: the last gap is for inserts after the
        // last record.
        Self { records, clients: clients.max(1), gap: u64::MAX / (records + 1), scatter }
    }

    /// Returns the place of the loaded record at a position of the key order.
    #[inline]
    pub(super) fn at(&self, position: u64) -> u64 {
        position * self.gap
    }

    /// Returns the place of a loaded record by its number.
    #[inline]
    pub(super) fn loaded(&self, number: u64) -> u64 {
        self.at(self.position(number))
    }

    #[inline]
    fn position(&self, number: u64) -> u64 {
        self.scatter.as_ref().map_or(number, |scatter| scatter.apply(number))
    }

    /// Returns the place of a client's `nth` insert. No other client, and no other `n`, has the same
    /// place.
    ///
    /// With scattered records, the place follows a loaded record; each client goes through all loaded
    /// records in turn, from a start of its own. With adjacent records, the place follows all loaded
    /// records, and inserts compete there.
    pub(super) fn inserted(&self, client: u64, nth: u64) -> u64 {
        if self.scatter.is_some() {
            let start = Rng::from_path(&[client]).below(self.records);
            let round = nth / self.records;
            let number = (nth % self.records + start) % self.records;
            self.loaded(number) + 1 + round * self.clients + client
        } else {
            self.at(self.records) + 1 + nth * self.clients + client
        }
    }

    /// Returns `true` if a record was loaded at this place.
    pub(super) fn is_loaded(&self, place: u64) -> bool {
        place.is_multiple_of(self.gap) && place / self.gap < self.records
    }

    /// Returns the loaded record after a loaded record in key order. The first follows the last.
    pub(super) fn next(&self, place: u64) -> u64 {
        self.at((place / self.gap + 1) % self.records)
    }

    /// Returns the last place of the range of the `count` loaded records from `place` on.
    pub(super) fn end_of_scan(&self, place: u64, count: u64) -> u64 {
        place.saturating_add(count.saturating_mul(self.gap) - 1)
    }

    /// Returns how many of the `count` loaded records from `place` on exist.
    pub(super) fn available(&self, place: u64, count: u64) -> u64 {
        count.min(self.records.saturating_sub(place.div_ceil(self.gap)))
    }

    /// Returns the positions of the loaded records whose places are in one of `parts` equal ranges.
    pub(super) fn positions(&self, part: u64, parts: u64) -> core::ops::Range<u64> {
        let first = |part: u64| {
            let from = (u128::from(part) << u64::BITS).div_ceil(u128::from(parts));
            (from.div_ceil(u128::from(self.gap)) as u64).min(self.records)
        };
        first(part)..first(part + 1)
    }
}

/// Fills a row with its first value, which is the same for any loader and any order of loading.
pub(super) fn fill(words: &mut [u64], seed: u64, place: u64) {
    const TABLE: u64 = 0x7963_7362;
    let mut rng = Rng::from_path(&[seed, TABLE, place]);
    words.fill_with(|| rng.next_u64());
    words[0] = 0;
    mark(words, place);
}

/// Fills a row with the value of a blind write with `stamp`.
pub(super) fn overwrite(words: &mut [u64], stamp: u64, place: u64) {
    for (i, word) in words.iter_mut().enumerate() {
        *word = stamp.rotate_left(i as u32);
    }
    mark(words, place);
}

/// Returns `true` unless the row was blindly written and its columns disagree with its stamp. Such
/// columns are of several writes.
pub(super) fn is_whole(words: &[u64]) -> bool {
    words[0] == 0
        || words
            .iter()
            .enumerate()
            .skip(COLUMNS_FROM)
            .all(|(i, &word)| word == words[0].rotate_left(i as u32))
}

/// Returns `true` if a row lies under its own key. A row too narrow for a copy of its place always
/// passes.
#[inline]
pub(super) fn is_at(words: &[u64], place: u64) -> bool {
    words.get(1).is_none_or(|&own| own == place)
}

fn mark(words: &mut [u64], place: u64) {
    if let Some(own) = words.get_mut(1) {
        *own = place;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const KINDS: [bool; 2] = [true, false];

    #[test]
    fn no_two_records_share_a_place() {
        for is_scattered in KINDS {
            let places = Places::new(100, 3, 7, is_scattered);
            let loaded = (0..100).map(|number| places.loaded(number));
            let inserted = (0..3).flat_map(|client| (0..1_000).map(move |nth| (client, nth)));
            let inserted = inserted.map(|(client, nth)| places.inserted(client, nth));
            let all: BTreeSet<u64> = loaded.chain(inserted).collect();
            assert_eq!(all.len(), 100 + 3 * 1_000);
            assert_eq!(all.iter().filter(|&&place| places.is_loaded(place)).count(), 100);
        }
    }

    #[test]
    fn scattered_inserts_fall_between_loaded_records_and_adjacent_ones_behind() {
        let last = |places: &Places| places.at(999);
        let behind = |is_scattered| {
            let places = Places::new(1_000, 2, 7, is_scattered);
            (0..1_000).filter(|&nth| places.inserted(1, nth) > last(&places)).count()
        };
        assert_eq!((behind(true), behind(false)), (1, 1_000));
    }

    #[test]
    fn homes_are_of_equal_size() {
        let places = Places::new(16_000, 1, 7, true);
        let mut counts = [0_u32; HOMES as usize];
        (0..16_000).for_each(|number| counts[home_of(places.loaded(number)) as usize] += 1);
        assert!(counts.iter().all(|count| (999..=1_001).contains(count)), "{counts:?}");
    }

    #[test]
    fn parts_cover_the_loaded_records_by_their_top_bits() {
        for records in [1, 2, 63, 1_000, 1_000_000_000] {
            let places = Places::new(records, 1, 7, false);
            let mut next = 0;
            for part in 0..64 {
                let positions = places.positions(part, 64);
                assert_eq!(positions.start, next);
                for position in [positions.start, positions.end.saturating_sub(1)] {
                    assert!(positions.is_empty() || places.at(position) >> 58 == part);
                }
                next = positions.end;
            }
            assert_eq!(next, records);
        }
    }

    #[test]
    fn scans_end_behind_as_many_loaded_records() {
        let places = Places::new(1_000, 1, 7, true);
        let within = |from: u64, count| {
            let range = places.at(from)..=places.end_of_scan(places.at(from), count);
            (0..1_000).filter(|&position| range.contains(&places.at(position))).count() as u64
        };
        assert_eq!((within(0, 1), within(10, 100)), (1, 100));
        assert_eq!(within(990, 100), places.available(places.at(990), 100));
        assert_eq!(places.available(places.at(990), 100), 10);
        assert_eq!(places.available(places.at(990) + 1, 100), 9);
        assert_eq!(places.available(places.at(1_000) + 1, 100), 0);
        let single = Places::new(1, 1, 7, true);
        assert!(single.end_of_scan(0, 1_000) >= single.at(1));
    }

    #[test]
    fn long_keys_are_ordered_as_their_places() {
        let (low, high) = (LongKey::of(3), LongKey::of(1 << 40));
        assert!(low.ordered() < high.ordered());
        assert_eq!(LongKey::from_ordered(high.ordered()), high);
        assert_eq!(size_of_val(&low.ordered()), LongKey::BYTES);
        assert_eq!(size_of_val(&ShortKey::of(3).ordered()), ShortKey::BYTES);
    }

    #[test]
    fn a_mixture_of_two_blind_writes_is_not_whole() {
        let mut words = [0; 8];
        fill(&mut words, 1, 5);
        assert!(is_whole(&words) && is_at(&words, 5) && !is_at(&words, 6));
        overwrite(&mut words, 77, 5);
        assert!(is_whole(&words) && is_at(&words, 5));
        let mut other = words;
        overwrite(&mut other, 78, 5);
        words[4..].copy_from_slice(&other[4..]);
        assert!(!is_whole(&words));
    }
}
