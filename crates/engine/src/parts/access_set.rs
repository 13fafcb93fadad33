//! What an attempt has touched, found again by record.

/// Entries in the order of their addition, found by the id of their record in constant time. Emptying it
/// costs nothing: slots of an earlier generation count as free.
#[derive(Debug)]
pub struct AccessSet<E> {
    entries: Vec<(usize, E)>,
    slots: Vec<Slot>,
    generation: u32,
    /// The ids and positions of the entries in ascending order of ids; empty unless they were sorted.
    order: Vec<(usize, u32)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    generation: u32,
    entry: u32,
}

impl<E> Default for AccessSet<E> {
    fn default() -> Self {
        let (entries, order) = (Vec::new(), Vec::new());
        Self { entries, slots: vec![Slot::default(); 64], generation: 1, order }
    }
}

impl<E> AccessSet<E> {
    /// The position of a record's entry.
    #[inline]
    pub fn find(&self, id: usize) -> Option<usize> {
        if self.entries.is_empty() {
            return None;
        }
        let mask = self.slots.len() - 1;
        let mut at = hash(id) & mask;
        loop {
            let slot = self.slots[at];
            if slot.generation != self.generation {
                return None;
            }
            if self.entries[slot.entry as usize].0 == id {
                return Some(slot.entry as usize);
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds an entry for a record that has none, and returns its position.
    #[inline]
    pub fn push(&mut self, id: usize, entry: E) -> usize {
        if (self.entries.len() + 1) * 2 > self.slots.len() {
            self.grow();
        }
        let position = self.entries.len();
        self.entries.push((id, entry));
        self.place(position);
        position
    }

    #[inline]
    fn place(&mut self, position: usize) {
        let mask = self.slots.len() - 1;
        let mut at = hash(self.entries[position].0) & mask;
        while self.slots[at].generation == self.generation {
            at = (at + 1) & mask;
        }
        self.slots[at] = Slot { generation: self.generation, entry: position as u32 };
    }

    #[cold]
    fn grow(&mut self) {
        let slots = self.slots.len() * 2;
        self.slots.clear();
        self.slots.resize(slots, Slot::default());
        self.generation = 1;
        for position in 0..self.entries.len() {
            self.place(position);
        }
    }

    /// Forgets all entries.
    #[inline]
    pub fn clear(&mut self) {
        self.entries.clear();
        self.order.clear();
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.slots.fill(Slot::default());
            self.generation = 1;
        }
    }

    /// Sorts the entries by record, which is the order in which records are locked. The entries stay where
    /// they are: [`sorted`](Self::sorted) tells their positions.
    #[inline]
    pub fn sort(&mut self) {
        self.order.clear();
        self.order.extend((0..).zip(&self.entries).map(|(position, (id, _))| (*id, position)));
        self.order.sort_unstable();
    }

    /// Orders the entries from the last to the first, as [`sort`](Self::sort) does by record.
    #[inline]
    pub fn reverse(&mut self) {
        self.order.clear();
        let positions = (0..self.entries.len() as u32).rev();
        self.order.extend(positions.map(|position| (self.entries[position as usize].0, position)));
    }

    /// The position of the entry that is the `nth` by record, or of the `nth` unless they were sorted.
    #[inline]
    pub fn sorted(&self, nth: usize) -> usize {
        if self.order.is_empty() { nth } else { self.order[nth].1 as usize }
    }

    /// The number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entry at a position.
    #[inline]
    pub fn get(&self, position: usize) -> &E {
        &self.entries[position].1
    }

    /// The entry at a position, to be changed.
    #[inline]
    pub fn get_mut(&mut self, position: usize) -> &mut E {
        &mut self.entries[position].1
    }

    /// All entries in order.
    #[inline]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &E> {
        self.entries.iter().map(|(_, entry)| entry)
    }

    /// All entries in order, to be changed.
    #[inline]
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut E> {
        self.entries.iter_mut().map(|(_, entry)| entry)
    }

    /// Takes all entries out, in order.
    #[inline]
    pub fn drain(&mut self) -> impl DoubleEndedIterator<Item = E> {
        self.order.clear();
        self.generation = self.generation.wrapping_add(1).max(1);
        if self.generation == 1 {
            self.slots.fill(Slot::default());
        }
        self.entries.drain(..).map(|(_, entry)| entry)
    }
}

/// Records are aligned to 8 bytes at least, so the low bits tell nothing.
#[inline]
fn hash(id: usize) -> usize {
    ((id as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_by_record_until_cleared() {
        let mut set = AccessSet::default();
        for round in 0..3 {
            for id in (0..1_000).step_by(8) {
                assert_eq!(set.find(id), None);
                set.push(id, id + round);
            }
            for id in (0..1_000).step_by(8) {
                let position = set.find(id).expect("added");
                assert_eq!(*set.get(position), id + round);
            }
            assert_eq!(set.find(4), None);
            set.clear();
            assert_eq!(set.find(0), None);
        }
    }

    #[test]
    fn sorting_orders_by_record() {
        let mut set = AccessSet::default();
        for id in [24, 8, 16] {
            set.push(id, id);
        }
        assert!((0..3).map(|nth| *set.get(set.sorted(nth))).eq([24, 8, 16]));
        set.sort();
        assert!((0..3).map(|nth| *set.get(set.sorted(nth))).eq([8, 16, 24]));
        set.reverse();
        assert!((0..3).map(|nth| *set.get(set.sorted(nth))).eq([16, 8, 24]));
        assert_eq!(set.find(24), Some(0), "the entries stay where they are");
    }
}
