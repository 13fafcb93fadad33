//! Leaves that an attempt has read, with the gap versions it saw: the node sets of Silo (Tu et al., SOSP
//! 2013, 4.6). Comparing them at commit is sound only for schemes that serialize at a physical instant,
//! with everything checked as of it; others note with each leaf what they saw of its metadata.

use storage::{LeafMeta, LeafRef};
use sync::plant::is_planted;

use crate::{Abort, plants};

/// The leaves that an attempt has read, with a note on each.
#[derive(Debug)]
pub struct LeafSet<'db, L: LeafMeta, N = ()>(Vec<(LeafRef<'db, L>, N)>);

impl<L: LeafMeta, N> Default for LeafSet<'_, L, N> {
    fn default() -> Self {
        Self(Vec::new())
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
        match self.0.iter().rev().find(|(known, _)| known.same_leaf(&leaf)) {
            Some((known, _)) if known.seen() == leaf.seen() => Ok(()),
            Some(_) => Err(Abort::Phantom),
            None => {
                self.0.push((leaf, note));
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
        if let Some(note) = self.own_change(from, after) {
            self.0.push((into, note));
        }
    }

    /// If the leaf was seen at another version, someone else's key came between: it is left to fail.
    #[inline]
    fn own_change(&mut self, before: LeafRef<'db, L>, after: u64) -> Option<N> {
        let is_planted = is_planted(&plants::LEAF_SET_ADOPTS);
        let is_it = |known: &LeafRef<'db, L>| {
            known.same_leaf(&before) && (is_planted || known.seen() == before.seen())
        };
        let (known, note) = self.0.iter_mut().find(|(known, _)| is_it(known))?;
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
