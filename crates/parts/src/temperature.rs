//! How often a record caused failures lately, in a word that costs others little (Wang and Kimura, PVLDB 10(2), 2016,
//! 3.2).
//!
//! All accesses to words are Relaxed: a temperature is a hint, and may lose a failure more or less.

use stdx::Rng;
use sync::atomic::{AtomicU32, Ordering};

/// The bits of a temperature; the bits above them are the number of its era.
const DEGREES: u32 = 0xff;
const ERA_SHIFT: u32 = 8;

/// The temperature of a record, which starts from the coldest again in each era. The hottest temperature: it would take
/// a million failures in an era to get beyond.
#[derive(Debug, Default)]
pub struct Temperature(AtomicU32);

impl Temperature {
    /// The hottest: it would take a million failures of an era to get beyond.
    pub const MAX: u32 = 20;

    /// Makes the record as cold as a new one.
    pub fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// The temperature in an era. `era` is called only where the temperature is not zero.
    #[inline]
    pub fn degrees(&self, era: impl FnOnce() -> u64) -> u32 {
        let word = self.0.load(Ordering::Relaxed);
        if word != 0 && word >> ERA_SHIFT == bits(era()) { word & DEGREES } else { 0 }
    }

    /// Counts another failure because of the record: each degree takes twice as many failures as the one before.
    #[cold]
    pub fn heat(&self, era: u64, rng: &mut Rng) {
        let now = self.degrees(|| era);
        if now < Self::MAX && rng.below(1 << now) == 0 {
            self.0.store(bits(era) << ERA_SHIFT | (now + 1), Ordering::Relaxed);
        }
    }
}

/// The part of an era's number that a word has room for.
fn bits(era: u64) -> u32 {
    era as u32 & (u32::MAX >> ERA_SHIFT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_degree_takes_twice_as_many_failures_and_an_era_forgets_them() {
        let (record, mut rng) = (Temperature::default(), Rng::new(1));
        let mut failures = 0;
        while record.degrees(|| 3) < 10 {
            record.heat(3, &mut rng);
            failures += 1;
        }
        assert!((300..4_000).contains(&failures), "{failures}");
        assert_eq!(record.degrees(|| 4), 0);
        record.heat(4, &mut rng);
        assert_eq!((record.degrees(|| 4), record.degrees(|| 3)), (1, 0));
        record.reset();
        assert_eq!(record.degrees(|| 4), 0);
    }
}
