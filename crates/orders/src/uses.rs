//! The uses of keys in a batch, grouped by key.
//!
//! Most keys are used by one transaction, and grouping them by sorting would take longer than all the rest of a
//! decision. So uses are grouped by a hash table, which is never walked in the order of its slots.

use crate::graph::KeySets;

/// One use of a key by a transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyUse {
    pub(crate) key: u64,
    /// The position of the transaction.
    pub(crate) at: u32,
    pub(crate) is_write: bool,
    /// The use of the same key before this one.
    earlier: u32,
}

/// The end of a list of uses.
const NONE: u32 = u32::MAX;

/// All uses of keys in a batch, with their memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyUses {
    uses: Vec<KeyUse>,
    /// A hash table with open addressing: the last use of a key. It has a power of two of slots, and is at most half
    /// full.
    last: Vec<u32>,
    /// The slots of the keys that are used more than once, in the order of their second uses.
    shared: Vec<u32>,
}

impl KeyUses {
    /// Lists the uses of a batch, and returns the number of transactions.
    pub(crate) fn list<'a>(&mut self, transactions: impl IntoIterator<Item = KeySets<'a>>) -> usize {
        self.uses.clear();
        let mut len = 0;
        for (at, keys) in (0..).zip(transactions) {
            let of = |key: &u64, is_write| KeyUse { key: *key, at, is_write, earlier: NONE };
            self.uses.extend(keys.reads.iter().map(|key| of(key, false)));
            self.uses.extend(keys.writes.iter().map(|key| of(key, true)));
            len = at as usize + 1;
        }
        self.group();
        len
    }

    /// Makes a list of the uses of each key.
    fn group(&mut self) {
        let slots = (2 * self.uses.len()).next_power_of_two();
        self.last.clear();
        self.last.resize(slots, NONE);
        self.shared.clear();
        self.shared.reserve(self.uses.len());
        for place in 0..self.uses.len() {
            let key = self.uses[place].key;
            let mut slot = hash(key) as usize & (slots - 1);
            while self.last[slot] != NONE && self.uses[self.last[slot] as usize].key != key {
                slot = (slot + 1) & (slots - 1);
            }
            let earlier = core::mem::replace(&mut self.last[slot], place as u32);
            if earlier != NONE {
                self.uses[place].earlier = earlier;
                if self.uses[earlier as usize].earlier == NONE {
                    self.shared.push(slot as u32);
                }
            }
        }
    }

    /// The uses of each key that is written, and is used by more than one transaction.
    pub(crate) fn of_each_key(&self) -> impl Iterator<Item = impl Iterator<Item = &KeyUse> + Clone> {
        self.shared.iter().map(|slot| self.from(self.last[*slot as usize])).filter(|uses| {
            let first = uses.clone().next().map(|of| of.at);
            uses.clone().any(|of| of.is_write) && uses.clone().any(|of| Some(of.at) != first)
        })
    }

    /// A use and the earlier ones of its key.
    fn from(&self, place: u32) -> impl Iterator<Item = &KeyUse> + Clone {
        let at = |place: u32| self.uses.get(place as usize);
        core::iter::successors(at(place), move |of| at(of.earlier))
    }

    /// The capacities of all buffers.
    #[cfg(test)]
    pub(crate) fn capacities(&self) -> [usize; 3] {
        [self.uses.capacity(), self.last.capacity(), self.shared.capacity()]
    }
}

/// The finalizer of splitmix64: each bit of a key changes the low bits, by which slots are chosen.
fn hash(key: u64) -> u64 {
    let key = (key ^ (key >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let key = (key ^ (key >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    key ^ (key >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_shared_and_written_are_listed_with_all_uses() {
        let mut uses = KeyUses::default();
        let sets: [(&[u64], &[u64]); 4] =
            [(&[1, 1, 5], &[1, 9]), (&[2, 5], &[3]), (&[3], &[2]), (&[5], &[3])];
        assert_eq!(uses.list(sets.iter().map(|&(reads, writes)| KeySets { reads, writes })), 4);
        let found: Vec<Vec<(u64, u32, bool)>> =
            uses.of_each_key().map(|of| of.map(|of| (of.key, of.at, of.is_write)).collect()).collect();
        let expected = [vec![(3, 3, true), (3, 2, false), (3, 1, true)], vec![(2, 2, true), (2, 1, false)]];
        assert_eq!(found, expected);
    }

    #[test]
    fn any_keys_are_told_apart() {
        let mut rng = stdx::Rng::new(8);
        for bits in [1, 4, 32, 63] {
            let keys: Vec<u64> = (0..500).map(|_| rng.next_u64() >> bits << (bits / 2)).collect();
            let mut uses = KeyUses::default();
            uses.list(keys.iter().map(|key| KeySets { reads: &[], writes: core::slice::from_ref(key) }));
            let mut distinct = keys.clone();
            distinct.sort_unstable();
            let often = distinct.chunk_by(|one, other| one == other).filter(|of| of.len() > 1);
            assert_eq!(uses.of_each_key().count(), often.clone().count());
            assert_eq!(uses.of_each_key().flatten().count(), often.flatten().count());
            assert!(uses.of_each_key().all(|mut of| {
                let key = of.next().map(|of| of.key);
                of.all(|of| Some(of.key) == key)
            }));
        }
    }
}
