//! Entries in the order of their keys, for lists that are searched and walked while they grow in any order.
//!
//! They stand in chunks of bounded length, each a sorted array: few entries are one array, in which they are found
//! and shifted faster than in a tree, and of many no more than a chunk is ever shifted. Chunks that are empty are
//! used again, so a list that has had its length before allocates nothing.

/// The most entries of a chunk.
const CHUNK: usize = 256;

/// Entries in the order of their keys.
#[derive(Debug)]
pub struct SortedList<K, E> {
    /// None of them is empty.
    chunks: Vec<Vec<(K, E)>>,
    /// Empty ones.
    spare: Vec<Vec<(K, E)>>,
    /// How many entries were shifted.
    #[cfg(test)]
    shifted: usize,
}

/// A place between two entries: the chunk and the entry in it that come next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    chunk: usize,
    at: usize,
}

impl<K, E> Default for SortedList<K, E> {
    fn default() -> Self {
        Self {
            chunks: Vec::new(),
            spare: Vec::new(),
            #[cfg(test)]
            shifted: 0,
        }
    }
}

impl<K: Ord, E> SortedList<K, E> {
    /// Whether there are no entries.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The place behind all entries whose keys are, as this says, before it: the first ones.
    #[inline]
    pub fn partition(&self, is_before: impl Fn(&K) -> bool) -> Position {
        // The last chunk that begins before the place has it, or ends at it.
        let behind = self.chunks.partition_point(|chunk| is_before(&chunk[0].0));
        let Some(chunk) = behind.checked_sub(1) else { return Position::default() };
        let at = self.chunks[chunk].partition_point(|(key, _)| is_before(key));
        if at == self.chunks[chunk].len() {
            Position { chunk: behind, at: 0 }
        } else {
            Position { chunk, at }
        }
    }

    /// The entry behind a place, if it is not the end.
    #[inline]
    pub fn get(&self, position: Position) -> Option<&(K, E)> {
        self.chunks.get(position.chunk)?.get(position.at)
    }

    /// The place behind the next entry.
    #[inline]
    pub fn after(&self, Position { chunk, at }: Position) -> Position {
        let is_last = at + 1 == self.chunks[chunk].len();
        if is_last { Position { chunk: chunk + 1, at: 0 } } else { Position { chunk, at: at + 1 } }
    }

    /// The place before the last entry that comes before one, of which there is one.
    #[inline]
    pub fn before(&self, Position { chunk, at }: Position) -> Position {
        match at.checked_sub(1) {
            Some(at) => Position { chunk, at },
            None => Position { chunk: chunk - 1, at: self.chunks[chunk - 1].len() - 1 },
        }
    }

    #[inline]
    fn place_of(&self, key: &K) -> Option<Position> {
        let position = self.partition(|other| other < key);
        self.get(position).is_some_and(|(found, _)| found == key).then_some(position)
    }

    /// The entry of a key.
    #[inline]
    pub fn find(&self, key: &K) -> Option<&E> {
        let position = self.place_of(key)?;
        self.get(position).map(|(_, entry)| entry)
    }

    /// The entry of a key, to be changed.
    #[inline]
    pub fn find_mut(&mut self, key: &K) -> Option<&mut E> {
        let Position { chunk, at } = self.place_of(key)?;
        Some(&mut self.chunks[chunk][at].1)
    }

    /// The last entry.
    #[inline]
    pub fn last(&self) -> Option<&(K, E)> {
        self.chunks.last()?.last()
    }

    /// Adds an entry of a key that has none.
    #[inline]
    pub fn insert(&mut self, key: K, entry: E) {
        // Keys mostly come in ascending order, in which they fill one chunk after the other.
        if self.last().is_none_or(|(last, _)| *last < key) {
            if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK) {
                let chunk = self.spare.pop().unwrap_or_default();
                self.chunks.push(chunk);
            }
            self.chunks.last_mut().expect("one was added").push((key, entry));
        } else {
            self.insert_between(key, entry);
        }
    }

    fn insert_between(&mut self, key: K, entry: E) {
        let Position { mut chunk, mut at } = self.partition(|other| *other < key);
        if self.chunks[chunk].len() == CHUNK {
            let mut upper = self.spare.pop().unwrap_or_default();
            upper.extend(self.chunks[chunk].drain(CHUNK / 2..));
            self.chunks.insert(chunk + 1, upper);
            if at > CHUNK / 2 {
                (chunk, at) = (chunk + 1, at - CHUNK / 2);
            }
        }
        #[cfg(test)]
        {
            self.shifted += self.chunks[chunk].len() - at;
        }
        self.chunks[chunk].insert(at, (key, entry));
    }

    /// Takes out the entry of a key, if there is one that is to go.
    pub fn remove_if(&mut self, key: &K, is_to_go: impl FnOnce(&E) -> bool) -> Option<E> {
        let Position { chunk, at } = self.place_of(key)?;
        if !is_to_go(&self.chunks[chunk][at].1) {
            return None;
        }
        #[cfg(test)]
        {
            self.shifted += self.chunks[chunk].len() - at;
        }
        let (_, entry) = self.chunks[chunk].remove(at);
        if self.chunks[chunk].is_empty() {
            let empty = self.chunks.remove(chunk);
            self.spare.push(empty);
        }
        Some(entry)
    }

    /// All entries in order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &(K, E)> {
        self.chunks.iter().flatten()
    }

    /// Takes out the entries behind a place, in order.
    pub fn drain_from(&mut self, from: Position, mut take: impl FnMut(K, E)) {
        let Some(first) = self.chunks.get_mut(from.chunk) else { return };
        first.drain(from.at..).for_each(|(key, entry)| take(key, entry));
        let kept = from.chunk + usize::from(from.at > 0);
        for mut chunk in self.chunks.drain(kept..) {
            chunk.drain(..).for_each(|(key, entry)| take(key, entry));
            self.spare.push(chunk);
        }
    }

    /// Takes out all entries, in order.
    #[inline]
    pub fn drain(&mut self, take: impl FnMut(K, E)) {
        self.drain_from(Position::default(), take);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use stdx::Rng;

    use super::*;

    fn keys(list: &SortedList<u64, u64>) -> Vec<u64> {
        list.iter().map(|(key, _)| *key).collect()
    }

    #[test]
    fn a_list_does_what_a_tree_does() {
        let mut rng = Rng::new(1);
        let (mut list, mut tree) = (SortedList::default(), BTreeMap::new());
        for round in 0..20_000 {
            let key = rng.below(4_000);
            match rng.below(5) {
                0 | 1 => {
                    if tree.insert(key, round).is_none() {
                        list.insert(key, round);
                    } else if let Some(entry) = list.find_mut(&key) {
                        *entry = round;
                    }
                }
                2 => assert_eq!(list.remove_if(&key, |_| true), tree.remove(&key)),
                3 => assert_eq!(list.find(&key), tree.get(&key)),
                _ => {
                    let (from, to) = (list.partition(|k| *k < key), list.partition(|k| *k < key + 300));
                    let within: Vec<_> = tree.range(key..key + 300).map(|(key, _)| *key).collect();
                    let (mut at, mut forward) = (from, Vec::new());
                    while at < to {
                        forward.push(list.get(at).expect("before the end").0);
                        at = list.after(at);
                    }
                    let (mut at, mut backward) = (to, Vec::new());
                    while from < at {
                        at = list.before(at);
                        backward.push(list.get(at).expect("before the end").0);
                    }
                    backward.reverse();
                    assert_eq!((&forward, &backward), (&within, &within));
                }
            }
        }
        assert!(keys(&list).iter().eq(tree.keys()) && list.chunks.len() > 4);
        assert_eq!(list.last().map(|(key, _)| *key), tree.keys().last().copied());
        for from in [3_000, 1_000, 999, 0] {
            let mut taken = Vec::new();
            list.drain_from(list.partition(|key| *key < from), |key, _| taken.push(key));
            assert!(taken.iter().eq(tree.split_off(&from).keys()) && keys(&list).iter().eq(tree.keys()));
        }
        assert!(list.is_empty() && list.spare.len() > 4);
        assert!(list.spare.iter().all(Vec::is_empty));
    }

    #[test]
    fn a_key_shifts_no_more_of_many_entries_than_of_a_few() {
        for step in [1, 7_919, 99_999] {
            let mut list = SortedList::default();
            let keys = 100_000_u64;
            for nth in 0..keys {
                list.insert(nth * step % keys, nth);
            }
            assert!(list.shifted <= CHUNK * keys as usize, "{} by {step}", list.shifted);
            (0..keys).for_each(|key| _ = list.remove_if(&key, |_| true));
            assert!(list.is_empty() && list.shifted <= 2 * CHUNK * keys as usize);
        }
    }
}
