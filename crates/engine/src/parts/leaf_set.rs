//! Leaves that an attempt has read, with the gap versions it saw: the node sets of Silo (Tu et al., SOSP
//! 2013, 4.6). Comparing them at commit is sound only for schemes that serialize at a physical instant,
//! with everything checked as of it.

use storage::{LeafMeta, LeafRef};

use crate::Abort;

/// The leaves that an attempt has read.
#[derive(Debug)]
pub struct LeafSet<'db, L: LeafMeta>(Vec<(LeafRef<'db, L>, u64)>);

impl<L: LeafMeta> Default for LeafSet<'_, L> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'db, L: LeafMeta> LeafSet<'db, L> {
    /// Remembers a leaf as it was seen; an error when it was seen otherwise before.
    #[inline]
    pub fn read(&mut self, leaf: LeafRef<'db, L>) -> Result<(), Abort> {
        match self.0.iter().rev().find(|(known, _)| known.same_leaf(&leaf)) {
            Some((_, seen)) if *seen == leaf.seen() => Ok(()),
            Some(_) => Err(Abort::Phantom),
            None => {
                self.0.push((leaf, leaf.seen()));
                Ok(())
            }
        }
    }

    /// The attempt's own key entered the leaf, whose gap version changed from `before.seen()`.
    #[inline]
    pub fn added(&mut self, before: LeafRef<'db, L>, after: u64) {
        // If the leaf was seen at another version, someone else's key came between: leave it to fail.
        let known = self.0.iter_mut().find(|(known, seen)| known.same_leaf(&before) && *seen == before.seen());
        if let Some((_, seen)) = known {
            *seen = after;
        }
    }

    /// The attempt's own insert split `into` off `from`.
    #[inline]
    pub fn split(&mut self, from: LeafRef<'db, L>, after: u64, into: LeafRef<'db, L>) {
        let known = self.0.iter_mut().find(|(known, seen)| known.same_leaf(&from) && *seen == from.seen());
        if let Some((_, seen)) = known {
            *seen = after;
            self.0.push((into, into.seen()));
        }
    }

    /// Whether no leaf was read.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether every leaf is as the attempt saw it.
    #[inline]
    pub fn is_unchanged(&self) -> bool {
        self.0.iter().all(|(leaf, seen)| leaf.gap_version() == *seen)
    }

    /// The leaves, each with the version at which the attempt knows it.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &(LeafRef<'db, L>, u64)> {
        self.0.iter()
    }

    /// Forgets all leaves.
    #[inline]
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
