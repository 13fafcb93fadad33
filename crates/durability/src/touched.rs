//! The keys of the records that an attempt may write.

use storage::AnyKey;

/// The distance from the last record at which the next one is searched, before all are searched.
const NEAR: usize = 4;

/// A record and its key.
#[derive(Clone, Copy, Debug)]
struct Entry {
    record: usize,
    /// The width of the key.
    words: usize,
    /// The key, or its index in `wide`.
    key: [u64; 2],
}

/// Keys by record. Records are mostly looked up in the order in which they were touched, or in reverse.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    /// The touched records. A record may be there several times, with the same key.
    entries: Vec<Entry>,
    wide: Vec<[u64; 6]>,
    /// The index of the record that was last looked up; behind all entries before the first lookup.
    last: usize,
    /// All records and their indexes, sorted; filled when a lookup first finds no record near the last.
    order: Vec<(usize, usize)>,
}

impl Touched {
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.wide.clear();
        self.order.clear();
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    #[inline]
    pub(crate) fn push(&mut self, record: usize, key: AnyKey) {
        let (words, key) = match key {
            AnyKey::One(key) => (1, [key, 0]),
            AnyKey::Two(key) => (2, [(key >> 64) as u64, key as u64]),
            AnyKey::Six(key) => (6, [self.keep(key), 0]),
        };
        self.entries.push(Entry { record, words, key });
        self.last = self.entries.len();
    }

    #[cold]
    fn keep(&mut self, key: [u64; 6]) -> u64 {
        self.wide.push(key);
        self.wide.len() as u64 - 1
    }

    /// The words of the key of a record, which was touched.
    #[inline]
    pub(crate) fn key(&mut self, record: usize) -> &[u64] {
        let is_at = |at: usize| self.entries.get(at).is_some_and(|entry| entry.record == record);
        let at = if is_at(self.last.wrapping_sub(1)) {
            self.last - 1
        } else if is_at(self.last + 1) {
            self.last + 1
        } else {
            self.search(record)
        };
        self.last = at;
        let Entry { words, key, .. } = &self.entries[at];
        if *words <= key.len() { &key[..*words] } else { &self.wide[key[0] as usize] }
    }

    #[cold]
    fn search(&mut self, record: usize) -> usize {
        let near = self.last.saturating_sub(NEAR)..(self.last + NEAR + 1).min(self.entries.len());
        // A lookup in touching order begins with the first.
        let mut places = near.chain(0..NEAR.min(self.entries.len()));
        if let Some(at) = places.find(|at| self.entries[*at].record == record) {
            return at;
        }
        if self.order.is_empty() {
            let records = self.entries.iter().enumerate().map(|(at, entry)| (entry.record, at));
            self.order.extend(records);
            self.order.sort_unstable();
        }
        let nth = self.order.partition_point(|(id, _)| *id < record);
        let found = self.order.get(nth).filter(|(id, _)| *id == record);
        found.expect("what is installed was touched").1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_record_has_the_key_that_it_was_touched_with() {
        let mut touched = Touched::default();
        let number = |record: usize| record as u64 * 3;
        let records: Vec<usize> = (0..40).map(|nth| (nth * 17) % 40 * 8).collect();
        for round in 0..3 {
            touched.clear();
            for &record in records.iter().chain(&records[round..2 * round]) {
                let number = number(record);
                touched.push(
                    record,
                    match record % 24 {
                        0 => AnyKey::Six([number; 6]),
                        8 => AnyKey::Two(u128::from(number) << 64 | u128::from(number)),
                        _ => AnyKey::One(number),
                    },
                );
            }
            let orders: [Vec<usize>; 3] = [
                records.clone(),
                records.iter().rev().copied().collect(),
                (0..40).map(|nth| nth * 8).collect(),
            ];
            for record in orders.iter().flatten() {
                let words = [6, 2, 1][record % 24 / 8];
                assert_eq!(touched.key(*record), vec![number(*record); words]);
            }
        }
    }

    #[test]
    #[should_panic(expected = "was touched")]
    fn a_record_that_was_not_touched_has_no_key() {
        let mut touched = Touched::default();
        touched.push(8, AnyKey::One(1));
        touched.push(24, AnyKey::One(1));
        _ = touched.key(16);
    }
}
