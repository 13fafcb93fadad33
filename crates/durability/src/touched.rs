//! The keys under which an attempt knows the records that it may write.

use storage::AnyKey;

use crate::entry::push_key;

/// How far from the last record the next one is looked for, before all are searched.
const NEAR: usize = 4;

/// Keys by record. Records are mostly asked for in the order in which they were touched, or against it.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    /// By record, where its key begins. A record may be there several times, with one key.
    records: Vec<(usize, u32)>,
    /// The words of the keys, each after their number.
    keys: Vec<u64>,
    /// Where the last record was.
    last: usize,
    /// All of them in order, once one was not near the last.
    order: Vec<(usize, u32)>,
}

impl Touched {
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.records.clear();
        self.keys.clear();
        self.order.clear();
        self.last = 0;
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    #[inline]
    pub(crate) fn push(&mut self, record: usize, key: AnyKey) {
        self.records.push((record, self.keys.len() as u32));
        self.keys.push(key.words() as u64);
        push_key(&mut self.keys, key);
    }

    /// The words of the key of a record, which was touched.
    #[inline]
    pub(crate) fn key(&mut self, record: usize) -> &[u64] {
        let near = self.last.saturating_sub(NEAR)..(self.last + NEAR + 1).min(self.records.len());
        let first = near.start;
        let found = self.records[near].iter().position(|(near, _)| *near == record);
        let at = match found {
            Some(nth) => {
                self.last = first + nth;
                self.records[self.last].1
            }
            None => self.search(record),
        } as usize;
        &self.keys[at + 1..=at + self.keys[at] as usize]
    }

    #[cold]
    fn search(&mut self, record: usize) -> u32 {
        if self.order.is_empty() {
            self.order.clone_from(&self.records);
            self.order.sort_unstable();
        }
        let at = self.order.partition_point(|(id, _)| *id < record);
        let (found, key) = self.order[at];
        assert!(found == record, "what is installed was touched");
        self.last = self.records.iter().position(|touched| *touched == (found, key)).unwrap_or_default();
        key
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
                let wide = AnyKey::Six([number; 6]);
                touched.push(record, if record % 16 == 0 { wide } else { AnyKey::One(number) });
            }
            let orders: [Vec<usize>; 3] = [
                records.clone(),
                records.iter().rev().copied().collect(),
                (0..40).map(|nth| nth * 8).collect(),
            ];
            for record in orders.iter().flatten() {
                let words = if record % 16 == 0 { 6 } else { 1 };
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
