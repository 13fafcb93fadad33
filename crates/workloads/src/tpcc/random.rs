//! The random functions of TPC-C 2.1.6 and 4.3.2: non-uniform numbers, names, strings.

use engine::Text;
use stdx::Rng;

/// The purpose of a stream of random numbers: the second part of its seed, after the seed of the run.
#[derive(Clone, Copy, Debug)]
#[repr(u64)]
pub(super) enum Stream {
    Item = 1,
    Warehouse,
    District,
    Customer,
    History,
    OrderedBy,
    Order,
    OrderLine,
    StockQuantity,
    Stock,
    HotWarehouses,
}

/// Non-uniform random numbers (TPC-C 2.1.6):
/// `NURand(A, x, y) = (((random(0, A) | random(x, y)) + C) % (y - x + 1)) + x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NuRand {
    a: u64,
    c: u64,
    first: u64,
    count: u64,
}

impl NuRand {
    /// The distribution of `OL_I_ID`.
    pub(super) fn items(items: u64) -> Self {
        Self::scaled(8_191, 100_000, 7_911, 1, items)
    }

    /// The distribution of `C_ID`.
    pub(super) fn customers(customers: u64) -> Self {
        Self::scaled(1_023, 3_000, 259, 1, customers)
    }

    /// The distribution of the number of `C_LAST` during the load.
    pub(super) fn names_load(customers: u64) -> Self {
        Self::scaled(255, NAMES, 157, 0, customers.min(NAMES))
    }

    /// The distribution of the number of `C_LAST` during the run. C differs by 66 from the load's
    /// constant (TPC-C 2.1.6.1).
    pub(super) fn names_run(customers: u64) -> Self {
        Self::scaled(255, NAMES, 223, 0, customers.min(NAMES))
    }

    /// Scales the function to `count` numbers; the standard has `standard` of them. For `standard`
    /// numbers the function is exactly the standard's. For fewer, A + 1 is reduced in proportion, down
    /// to a power of two, so that the hot numbers stay about as hot, and C is cut to A.
    fn scaled(a: u64, standard: u64, c: u64, first: u64, count: u64) -> Self {
        let share = ((a + 1) * count / standard).max(1);
        let a = (1 << share.ilog2()) - 1;
        Self { a, c: c & a, first, count }
    }

    /// Draws a number.
    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> u64 {
        let last = self.first + self.count - 1;
        // A + 1 is a power of two, so a mask draws from 0 to A.
        let number = rng.next_u64() & self.a | rng.between(self.first, last);
        (number + self.c) % self.count + self.first
    }
}

/// The number of last names.
pub(super) const NAMES: u64 = 1_000;

/// Returns the last name of a number from 0 to 999 (TPC-C 4.3.2.3).
pub(super) fn last_name(number: u64) -> Text<16> {
    const SYLLABLES: [&[u8]; 10] =
        [b"BAR", b"OUGHT", b"ABLE", b"PRI", b"PRES", b"ESE", b"ANTI", b"CALLY", b"ATION", b"EING"];
    let mut name = [0; 16];
    let mut len = 0;
    for digit in [number / 100 % 10, number / 10 % 10, number % 10] {
        let syllable = SYLLABLES[digit as usize];
        name[len..len + syllable.len()].copy_from_slice(syllable);
        len += syllable.len();
    }
    Text::new(&name)
}

/// Fills bytes with characters of an alphabet, eight for each random number. If the size of the
/// alphabet does not divide 256, some characters are slightly more frequent. No rule depends on that.
fn fill(rng: &mut Rng, alphabet: &[u8], bytes: &mut [u8]) {
    for chunk in bytes.chunks_mut(8) {
        let random = rng.next_u64().to_le_bytes();
        for (byte, random) in chunk.iter_mut().zip(random) {
            *byte = alphabet[(usize::from(random) * alphabet.len()) >> 8];
        }
    }
}

/// Fills with random letters and digits: an a-string (TPC-C 4.3.2.2).
pub(super) fn fill_letters(rng: &mut Rng, bytes: &mut [u8]) {
    fill(rng, b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", bytes);
}

/// Returns an a-string of a random length between two limits.
pub(super) fn letters<const N: usize>(rng: &mut Rng, shortest: usize, longest: usize) -> Text<N> {
    let mut bytes = [0; N];
    let len = rng.between(shortest as u64, longest as u64) as usize;
    fill_letters(rng, &mut bytes[..len]);
    Text::new(&bytes)
}

/// Returns an n-string: exactly `N` digits (TPC-C 4.3.2.2).
pub(super) fn digits<const N: usize>(rng: &mut Rng) -> Text<N> {
    let mut bytes = [0; N];
    fill(rng, b"0123456789", &mut bytes);
    Text::new(&bytes)
}

/// Returns the data of an item or a stock: an a-string of 26 to 50 characters, in one of ten cases
/// with `ORIGINAL` at a random place (TPC-C 4.3.3.1).
pub(super) fn item_data(rng: &mut Rng) -> Text<50> {
    const ORIGINAL: &[u8] = b"ORIGINAL";
    let mut bytes = [0; 50];
    let len = rng.between(26, 50) as usize;
    fill_letters(rng, &mut bytes[..len]);
    if rng.below(10) == 0 {
        let at = rng.below((len - ORIGINAL.len()) as u64 + 1) as usize;
        bytes[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL);
    }
    Text::new(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_the_standards_at_the_standards_sizes() {
        assert_eq!(NuRand::items(100_000), NuRand { a: 8_191, c: 7_911, first: 1, count: 100_000 });
        assert_eq!(NuRand::customers(3_000), NuRand { a: 1_023, c: 259, first: 1, count: 3_000 });
        let (load, run) = (NuRand::names_load(3_000), NuRand::names_run(3_000));
        assert_eq!((load.a, load.count, run.a, run.count), (255, 1_000, 255, 1_000));
        // TPC-C 2.1.6.1.
        let delta = load.c.abs_diff(run.c);
        assert!((65..=119).contains(&delta) && delta != 96 && delta != 112);
    }

    #[test]
    fn draws_keep_and_reach_their_range_at_any_size() {
        let mut rng = Rng::new(1);
        for count in [1, 2, 3, 10, 1_000] {
            let random = NuRand::customers(count);
            let mut seen = vec![false; count as usize];
            for _ in 0..count * 1_000 {
                seen[(random.draw(&mut rng) - 1) as usize] = true;
            }
            assert!(seen.into_iter().all(|seen| seen), "all of {count}");
        }
    }

    #[test]
    fn draws_are_skewed_as_the_bits_say() {
        // Each of the ten low bits of the OR is 0 only if the bit is 0 in both draws.
        let random = NuRand { c: 0, ..NuRand::customers(3_000) };
        let mut rng = Rng::new(1);
        let draws = 200_000;
        let is_low_set = |_: &u32| (random.draw(&mut rng) - 1) & 1 == 1;
        let set = (0..draws).filter(is_low_set).count() as f64 / f64::from(draws);
        assert!((set - 0.75).abs() < 0.01, "{set}");
    }

    #[test]
    fn names_are_the_standards() {
        assert_eq!(last_name(371).as_bytes(), b"PRICALLYOUGHT");
        assert_eq!(last_name(0).as_bytes(), b"BARBARBAR");
        assert_eq!(last_name(999).as_bytes(), b"EINGEINGEING");
    }

    #[test]
    fn one_item_in_ten_is_original() {
        let mut rng = Rng::new(1);
        let originals = (0..10_000).filter(|_| super::super::rows::is_original(&item_data(&mut rng))).count();
        assert!((900..1_100).contains(&originals), "{originals}");
    }

    #[test]
    fn strings_are_of_the_asked_length_and_alphabet() {
        let mut rng = Rng::new(1);
        let mut lengths = std::collections::BTreeSet::new();
        for _ in 0..1_000 {
            let text = letters::<20>(&mut rng, 10, 20);
            assert!(text.as_bytes().iter().all(u8::is_ascii_alphanumeric));
            lengths.insert(text.as_bytes().len());
        }
        assert!(lengths.into_iter().eq(10..=20));
        assert!(digits::<16>(&mut rng).as_bytes().iter().all(u8::is_ascii_digit));
    }
}
