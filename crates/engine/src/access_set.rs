//! The records that an attempt has touched, with their entries, found by record.

use sync::clock;

/// Instructions of an addition to a set or a search of it, with what its callers do with the entry.
const INSTRUCTIONS: u64 = 44;

/// Instructions of a look at the entries that are expected next.
const INSTRUCTIONS_IN_TURN: u64 = 10;

/// The number of entries that are tried where one is expected: the owner may not come to some of those before it.
const AHEAD: usize = 4;

/// The minimum number of slots in use.
const FIRST_SLOTS: usize = 64;
/// Memory for more entries than this is given back after [`NARROW_ATTEMPTS`] emptyings in a row that needed less than a
/// [`NARROW`]th of it.
const WIDE: usize = 1 << 14;
const NARROW: usize = 16;
const NARROW_ATTEMPTS: u32 = 256;

/// Entries in the order of their addition, found by the id of their record in constant time, however many there are.
/// Emptying costs nothing: slots of an earlier generation count as free. Only as many slots are in use as the last
/// filling needed, so that after one wide attempt later ones do not probe all over a large table.
#[derive(Debug)]
pub struct AccessSet<E> {
    entries: Vec<(usize, E)>,
    slots: Vec<Slot>,
    /// The number of slots in use, the first ones of the table: a power of two, or 0 before the first entry.
    in_use: usize,
    generation: u32,
    /// The number of fillings in a row that were far narrower than the memory that is kept.
    narrow: u32,
    /// The ids and positions of the entries in ascending order of ids; empty unless they were sorted.
    order: Vec<(usize, u32)>,
    /// The number of slots that were looked at.
    #[cfg(debug_assertions)]
    probes: core::cell::Cell<usize>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    generation: u32,
    entry: u32,
}

impl<E> Default for AccessSet<E> {
    fn default() -> Self {
        let (entries, slots, order) = (Vec::new(), Vec::new(), Vec::new());
        #[cfg(debug_assertions)]
        let probes = core::cell::Cell::default();
        Self {
            entries,
            slots,
            in_use: 0,
            generation: 1,
            narrow: 0,
            order,
            #[cfg(debug_assertions)]
            probes,
        }
    }
}

impl<E> AccessSet<E> {
    /// The position of a record's entry; of the first one, if it has several.
    #[inline]
    pub fn find(&self, id: usize) -> Option<usize> {
        if self.entries.is_empty() {
            return None;
        }
        clock::compute(INSTRUCTIONS);
        let mask = self.in_use - 1;
        self.find_from(id, hash(id) & mask, mask).ok().map(|(entry, _)| entry)
    }

    /// Like [`find`](Self::find), for searches that are mostly in the order of the additions: the entries from `turn`
    /// on are tried first. `turn` becomes the position after the one that is found.
    #[inline]
    pub fn find_in_turn(&self, id: usize, turn: &mut usize) -> Option<usize> {
        self.next_in_turn(id, turn).or_else(|| {
            let found = self.find(id)?;
            *turn = found + 1;
            Some(found)
        })
    }

    /// Like [`find_in_turn`](Self::find_in_turn), but looks at a few entries from `turn` on and at no others.
    #[inline]
    pub fn next_in_turn(&self, id: usize, turn: &mut usize) -> Option<usize> {
        let mut next = self.entries.get(*turn..)?.iter().take(AHEAD);
        clock::compute(INSTRUCTIONS_IN_TURN);
        let passed = next.position(|(expected, _)| *expected == id)?;
        let found = *turn + passed;
        *turn = found + 1;
        Some(found)
    }

    /// The position of a record's next entry from a slot on, and the slot behind it; or else the free slot at which the
    /// search ends.
    #[inline]
    fn find_from(&self, id: usize, mut at: usize, mask: usize) -> Result<(usize, usize), usize> {
        loop {
            #[cfg(debug_assertions)]
            self.probes.set(self.probes.get() + 1);
            let slot = self.slots[at];
            if slot.generation != self.generation {
                return Err(at);
            }
            at = (at + 1) & mask;
            if self.entries[slot.entry as usize].0 == id {
                return Ok((slot.entry as usize, at));
            }
        }
    }

    /// The positions of a record's entries, in the order of their addition.
    #[inline]
    pub fn find_all(&self, id: usize) -> impl Iterator<Item = usize> {
        if !self.entries.is_empty() {
            clock::compute(INSTRUCTIONS);
        }
        let mask = self.in_use.wrapping_sub(1);
        let mut next = (!self.entries.is_empty()).then_some(hash(id) & mask);
        core::iter::from_fn(move || {
            let (entry, behind) = self.find_from(id, next?, mask).ok()?;
            next = Some(behind);
            Some(entry)
        })
    }

    /// Changes all entries of a record, in the order of their addition.
    #[inline]
    pub fn change_all(&mut self, id: usize, mut change: impl FnMut(&mut E)) {
        if self.entries.is_empty() {
            return;
        }
        let mask = self.in_use - 1;
        let mut at = hash(id) & mask;
        while let Ok((entry, behind)) = self.find_from(id, at, mask) {
            change(&mut self.entries[entry].1);
            at = behind;
        }
    }

    /// Adds an entry, and returns its position. In a set with one entry a record, the record must not have one yet.
    #[inline]
    pub fn push(&mut self, id: usize, entry: E) -> usize {
        if (self.entries.len() + 1) * 2 > self.in_use {
            self.grow();
        }
        clock::compute(INSTRUCTIONS);
        let position = self.entries.len();
        self.entries.push((id, entry));
        self.place(position);
        position
    }

    /// The position of a record's entry. A record that has none gets the one that `entry` returns; the second result
    /// says whether it did. For sets with one entry a record.
    // Always: its one caller is inlined, too, where it is called for each access.
    #[inline(always)]
    pub fn find_or_push(&mut self, id: usize, entry: impl FnOnce() -> E) -> (usize, bool) {
        if (self.entries.len() + 1) * 2 > self.in_use {
            self.grow();
        }
        clock::compute(INSTRUCTIONS);
        let mask = self.in_use - 1;
        let at = match self.find_from(id, hash(id) & mask, mask) {
            Ok((found, _)) => return (found, false),
            Err(free) => free,
        };
        let position = self.entries.len();
        self.entries.push((id, entry()));
        self.slots[at] = Slot { generation: self.generation, entry: position as u32 };
        (position, true)
    }

    #[inline]
    fn place(&mut self, position: usize) {
        let mask = self.in_use - 1;
        let mut at = hash(self.entries[position].0) & mask;
        while self.slots[at].generation == self.generation {
            #[cfg(debug_assertions)]
            self.probes.set(self.probes.get() + 1);
            at = (at + 1) & mask;
        }
        self.slots[at] = Slot { generation: self.generation, entry: position as u32 };
    }

    #[cold]
    fn grow(&mut self) {
        self.in_use = (self.in_use * 2).max(FIRST_SLOTS);
        if self.in_use > self.slots.len() {
            self.slots.resize(self.in_use, Slot::default());
        }
        self.free_slots();
        for position in 0..self.entries.len() {
            self.place(position);
        }
    }

    /// Makes all slots count as free.
    #[inline]
    fn free_slots(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.slots.fill(Slot::default());
            self.generation = 1;
        }
    }

    /// Empties the slots. From here on, as many slots are in use as the present entries have needed.
    #[inline]
    fn empty_slots(&mut self) {
        self.order.clear();
        if self.entries.is_empty() {
            return;
        }
        self.free_slots();
        let needed = (self.entries.len() * 2).next_power_of_two().max(FIRST_SLOTS);
        self.in_use = self.in_use.min(needed);
        if self.entries.capacity() > WIDE {
            self.is_narrow();
        }
    }

    /// Counts how often in a row the memory was far larger than needed.
    #[cold]
    fn is_narrow(&mut self) {
        let is_narrow = self.entries.len() < self.entries.capacity() / NARROW;
        self.narrow = if is_narrow { self.narrow + 1 } else { 0 };
        if self.narrow == NARROW_ATTEMPTS {
            self.narrow = 0;
            self.entries.shrink_to(self.in_use);
            self.order.shrink_to(self.in_use);
            self.slots.truncate(self.in_use);
            self.slots.shrink_to_fit();
        }
    }

    /// The memory of the entries, with the ids of their records, in the order of their addition.
    pub fn entries(&self) -> &[(usize, E)] {
        &self.entries
    }

    /// Clears the set.
    #[inline]
    pub fn clear(&mut self) {
        self.empty_slots();
        self.entries.clear();
    }

    /// Sorts the entries by record, which is the order in which records are locked. The entries stay where
    /// they are: [`sorted`](Self::sorted) tells their positions.
    #[inline]
    pub fn sort(&mut self) {
        self.order.clear();
        self.order.extend((0..).zip(&self.entries).map(|(position, (id, _))| (*id, position)));
        sort(&mut self.order);
    }

    /// Orders the entries from the last to the first, in place of the order by record of [`sort`](Self::sort).
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

    /// Whether there are no entries.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The number of slots that were looked at: the cost of all searches, for tests. Builds without debug assertions do
    /// not count.
    #[cfg(debug_assertions)]
    pub fn probes(&self) -> usize {
        self.probes.get()
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
        self.empty_slots();
        self.entries.drain(..).map(|(_, entry)| entry)
    }
}

// Never: it is compiled once here, and not for each scheme.
#[inline(never)]
fn sort(order: &mut [(usize, u32)]) {
    order.sort_unstable();
}

/// Hashes by both halves of the product: ids lie at all kinds of distances, and for some of these one half alone cannot
/// keep some hundred thousand ids apart.
#[inline]
fn hash(id: usize) -> usize {
    let product = id as u128 * 0x9e37_79b9_7f4a_7c15;
    (product as u64 ^ (product >> 64) as u64) as usize
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

    #[cfg(debug_assertions)]
    #[test]
    fn an_entry_is_found_as_soon_among_a_million_as_among_a_few() {
        let probes = |entries: usize, distance: usize| {
            let (mut set, first) = (AccessSet::default(), 0x7f12_3456_7000);
            for position in 0..entries {
                assert_eq!(set.find(first + position * distance), None);
                set.push(first + position * distance, position);
            }
            for position in 0..entries {
                assert_eq!(set.find(first + position * distance), Some(position));
            }
            set.probes()
        };
        // Two searches, a placement, and two more when the table grows: none of them goes far.
        let is_quick = |entries, distance| {
            let probes = probes(entries, distance);
            assert!(probes < 10 * entries, "{probes} for {entries} entries at a distance of {distance}");
        };
        (1..=64).for_each(|distance| is_quick(50_000, 8 * distance));
        is_quick(10, 64);
        is_quick(1_000_000, 64);
    }

    #[test]
    fn entries_of_one_record_are_found_in_their_order() {
        let mut set = AccessSet::default();
        for entry in 0..200 {
            set.push(entry % 100 * 8, entry);
        }
        for id in 0..100 {
            assert!(set.find_all(id * 8).eq([id, id + 100]));
            set.change_all(id * 8, |entry| *entry += 1_000);
        }
        assert!(set.iter().copied().eq(1_000..1_200));
        assert_eq!(set.find_all(800).next(), None);
    }

    #[test]
    fn a_wide_attempt_leaves_no_large_table_to_those_after_it() {
        let mut set = AccessSet::default();
        let fill = |set: &mut AccessSet<usize>, entries: usize| {
            (0..entries).for_each(|entry| _ = set.push(entry * 8, entry));
            assert!((0..entries).all(|entry| set.find(entry * 8) == Some(entry)));
            set.clear();
        };
        fill(&mut set, 100_000);
        fill(&mut set, 10);
        assert_eq!(set.in_use, FIRST_SLOTS, "the next attempt has what it needs");
        assert!(set.slots.len() > 100_000, "a wide attempt that follows finds its memory");
        fill(&mut set, 100_000);
        for _ in 0..=NARROW_ATTEMPTS {
            fill(&mut set, 10);
        }
        assert!(set.slots.len() == FIRST_SLOTS && set.entries.capacity() <= FIRST_SLOTS);
    }

    #[test]
    fn entries_are_found_in_turn_and_out_of_turn() {
        let (mut set, mut turn) = (AccessSet::default(), 0);
        for id in [24, 8, 16, 32, 48, 56, 64] {
            set.push(id, id);
        }
        assert_eq!([8, 32, 8, 80].map(|id| set.next_in_turn(id, &mut turn)), [Some(1), Some(3), None, None]);
        turn = 0;
        assert_eq!(
            [48, 32].map(|id| set.next_in_turn(id, &mut turn)),
            [None, Some(3)],
            "only a few are tried"
        );
        turn = 0;
        let mut find = |id| set.find_in_turn(id, &mut turn);
        assert_eq!(
            [24, 8, 40, 16, 24, 24, 32, 8].map(&mut find),
            [Some(0), Some(1), None, Some(2), Some(0), Some(0), Some(3), Some(1)]
        );
    }

    #[test]
    fn an_entry_is_found_or_else_added() {
        let mut set = AccessSet::default();
        for round in 0..3 {
            // More than there are slots at first.
            for nth in 0..200 {
                assert_eq!(set.find_or_push(nth * 8, || nth + round), (nth, true));
                assert_eq!(set.find_or_push(nth / 2 * 8, || unreachable!("it is there")), (nth / 2, false));
            }
            assert!((0..200).all(|nth| set.find(nth * 8) == Some(nth) && *set.get(nth) == nth + round));
            set.clear();
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
