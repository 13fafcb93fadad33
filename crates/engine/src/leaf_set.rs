//! Leaves that an attempt has read, with the gap versions it saw: the node sets of Silo (Tu et al., SOSP
//! 2013, 4.6). Comparing them at commit is sound only for schemes that serialize at a physical instant,
//! with everything checked as of it; others note with each leaf what they saw of its metadata.

use storage::{LeafMeta, LeafRef};
use sync::plant::is_planted;

use crate::{Abort, AccessSet, plants};

/// The leaves that an attempt has read, with a note on each, found by their ids: to read one more costs the same
/// however many there are.
#[derive(Debug)]
pub struct LeafSet<'db, L: LeafMeta, N = ()>(AccessSet<(LeafRef<'db, L>, N)>);

impl<L: LeafMeta, N> Default for LeafSet<'_, L, N> {
    fn default() -> Self {
        Self(AccessSet::default())
    }
}

impl<'db, L: LeafMeta> LeafSet<'db, L> {
    /// Remembers a leaf as it was seen; an error when it was seen otherwise before.
    #[inline]
    pub fn read(&mut self, leaf: LeafRef<'db, L>) -> Result<(), Abort> {
        self.read_noting(leaf, ())
    }
}

impl<'db, L: LeafMeta, N: Copy> LeafSet<'db, L, N> {
    /// Remembers a leaf as it was seen; an error when it was seen otherwise before. The first note stays.
    #[inline]
    pub fn read_noting(&mut self, leaf: LeafRef<'db, L>, note: N) -> Result<(), Abort> {
        match self.0.find(leaf.id()).map(|at| self.0.get(at)) {
            Some((known, _)) if known.seen() == leaf.seen() => Ok(()),
            Some(_) => Err(Abort::Phantom),
            None => {
                self.0.push(leaf.id(), (leaf, note));
                Ok(())
            }
        }
    }

    /// The attempt's own key entered the leaf, whose gap version changed from `before.seen()`.
    #[inline]
    pub fn added(&mut self, before: LeafRef<'db, L>, after: u64) {
        self.own_change(before, after);
    }

    /// The attempt's own insert split `into` off `from`.
    #[inline]
    pub fn split(&mut self, from: LeafRef<'db, L>, after: u64, into: LeafRef<'db, L>) {
        let note = self.own_change(from, after);
        if let Some(note) = note.filter(|_| !is_planted(&plants::LEAF_SET_FORGETS_SPLITS)) {
            self.0.push(into.id(), (into, note));
        }
    }

    /// If the leaf was seen at another version, someone else's key came between: it is left to fail.
    #[inline]
    fn own_change(&mut self, before: LeafRef<'db, L>, after: u64) -> Option<N> {
        let (known, note) = self.0.find(before.id()).map(|at| self.0.get_mut(at))?;
        if known.seen() != before.seen() && !is_planted(&plants::LEAF_SET_ADOPTS) {
            return None;
        }
        *known = before.at(after);
        Some(*note)
    }

    /// Whether every leaf is as the attempt saw it.
    #[inline]
    pub fn is_unchanged(&self) -> bool {
        self.0.iter().all(|(leaf, _)| leaf.gap_version() == leaf.seen())
    }

    /// As [`is_unchanged`](Self::is_unchanged).
    ///
    /// # Errors
    /// When one is not.
    #[inline]
    pub fn confirm(&self) -> Result<(), Abort> {
        if self.is_unchanged() { Ok(()) } else { Err(Abort::Phantom) }
    }

    /// The leaves, each as the attempt knows it.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &(LeafRef<'db, L>, N)> {
        self.0.iter()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Forgets all leaves.
    #[inline]
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(all(test, debug_assertions, not(loom)))]
mod tests {
    use storage::{InPlace, Lookup, Row, Schema, Shape, TableId, Tables, Which};
    use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

    use super::*;

    #[derive(Debug)]
    struct Plain;

    impl Shape for Plain {
        type Header = ();
        type Version = ();
        type Leaf = ();
        type Data = InPlace;
    }

    #[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
    #[repr(C)]
    struct Number(u64);

    impl Row for Number {
        type Key = u64;
        type Indexes = ();
    }

    #[test]
    fn one_more_leaf_is_read_as_soon_among_thousands_as_among_a_few() {
        for keys in [10, 50_000] {
            let mut schema = Schema::new();
            schema.table::<u64>("numbers", Lookup::Point, keys).group::<Number>();
            let tables = Tables::<Plain>::new(&schema, 1, 1, false);
            let index = tables.get(TableId(0)).index(Which::Primary);
            let mut leaves = LeafSet::<()>::default();
            // Each key is missing in one of many buckets, and each bucket is met several times.
            for key in 0..keys as u64 {
                let found = index.get(key, |leaf| leaves.read(leaf));
                assert!(matches!(found, Ok(None)));
            }
            let (read, probes) = (leaves.iter().count(), leaves.0.probes());
            assert!(read * 10 > keys && leaves.is_unchanged(), "{read} leaves");
            assert!(probes < 8 * keys, "{probes} for {keys} reads of {read} leaves");
        }
    }
}
