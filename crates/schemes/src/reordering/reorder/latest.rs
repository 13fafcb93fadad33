//! The last write of each record that the validator remembers: a hash table with open addressing. It is never walked,
//! but to grow.

use sync::hint;

/// The last writes, by id of the record.
#[derive(Debug, Default)]
pub struct LatestWrites {
    /// The length is a power of two, and at most half of the slots are taken.
    slots: Vec<Option<(u64, LatestWrite)>>,
    taken: usize,
}

/// The last write of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatestWrite {
    /// The number of its commit.
    pub number: u64,
    /// Whether the record has a value afterwards.
    pub has_value: bool,
}

/// The first number of slots.
const SLOTS: usize = 1_024;

impl LatestWrites {
    /// The last write of the record with this id.
    #[inline]
    pub fn get(&self, id: u64) -> Option<LatestWrite> {
        if self.slots.is_empty() {
            return None;
        }
        let slot = &self.slots[self.slot_of(id)];
        hint::reads(slot);
        slot.map(|(_, write)| write)
    }

    /// Enters a write, and returns the one before.
    #[inline]
    pub fn insert(&mut self, id: u64, write: LatestWrite) -> Option<LatestWrite> {
        if 2 * (self.taken + 1) > self.slots.len() {
            self.grow();
        }
        let slot = self.slot_of(id);
        let before = self.slots[slot].replace((id, write));
        hint::writes(&self.slots[slot]);
        self.taken += usize::from(before.is_none());
        before.map(|(_, write)| write)
    }

    /// Removes the write of a record, if it is that of the commit of this number.
    pub fn remove(&mut self, id: u64, number: u64) {
        if self.get(id).is_none_or(|write| write.number != number) {
            return;
        }
        let mask = self.slots.len() - 1;
        let mut free = self.slot_of(id);
        self.slots[free] = None;
        hint::writes(&self.slots[free]);
        self.taken -= 1;
        // Those behind that were kept from their place move up, so that they are found without a mark here.
        let mut at = (free + 1) & mask;
        while let Some((other, _)) = self.slots[at] {
            let wanted = home(other) & mask;
            if at.wrapping_sub(wanted) & mask >= at.wrapping_sub(free) & mask {
                self.slots.swap(free, at);
                free = at;
            }
            at = (at + 1) & mask;
        }
    }

    /// The slot of the record with this id, or the free one where it would be.
    #[inline]
    fn slot_of(&self, id: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = home(id) & mask;
        while self.slots[at].is_some_and(|(other, _)| other != id) {
            at = (at + 1) & mask;
        }
        at
    }

    #[cold]
    fn grow(&mut self) {
        let wider = vec![None; (2 * self.slots.len()).max(SLOTS)];
        for entry in core::mem::replace(&mut self.slots, wider).into_iter().flatten() {
            let slot = self.slot_of(entry.0);
            self.slots[slot] = Some(entry);
        }
    }
}

/// Where the search for an id begins. Ids are addresses: their low bits are alike.
#[inline]
fn home(id: u64) -> usize {
    ((id >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24) as usize
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::BTreeMap;

    use stdx::Rng;

    use super::*;

    #[test]
    fn the_table_agrees_with_a_map_while_writes_come_and_go() {
        let (mut latest, mut map, mut rng) = (LatestWrites::default(), BTreeMap::new(), Rng::new(5));
        for number in 1..60_000 {
            // Few ids at first, so that most searches pass others.
            let id = 8 * rng.below(number.min(3_000) + 1);
            if rng.percent(45.0) {
                let of = if rng.percent(80.0) { map.get(&id).copied().unwrap_or(0) } else { 0 };
                latest.remove(id, of);
                if map.get(&id) == Some(&of) {
                    map.remove(&id);
                }
            } else {
                let write = LatestWrite { number, has_value: number % 2 == 0 };
                assert_eq!(latest.insert(id, write).map(|write| write.number), map.insert(id, number));
            }
            let looked_at = 8 * rng.below(3_000);
            assert_eq!(latest.get(looked_at).map(|write| write.number), map.get(&looked_at).copied());
        }
        assert_eq!(latest.taken, map.len());
        assert!(map.iter().all(|(id, number)| latest.get(*id).unwrap().number == *number));
    }
}
