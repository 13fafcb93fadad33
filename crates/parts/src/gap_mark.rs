//! The mark that readers leave with the gaps of a leaf, for schemes that order by timestamps: to add a key is to write
//! the gap, so whoever adds one must come after those who found it missing.

use storage::{LeafMeta, Meta, places_beside};
use sync::atomic::{AtomicU64, Ordering};

/// A leaf: the greatest timestamp that has read it.
#[derive(Debug, Default)]
pub struct GapMark(AtomicU64);

impl Meta for GapMark {
    fn reset(&self) {
        self.0.store(0, Ordering::Relaxed); // Relaxed: publishing the leaf orders it.
    }
}

impl GapMark {
    /// Makes `rts` count as having read the leaf.
    #[inline]
    pub fn read_at(&self, rts: u64) {
        // Relaxed, here and below: the index separates a reader's mark from its second look at the gap
        // version, and the latch that changes this one from a look at the mark, by fences.
        if self.rts() < rts {
            self.0.fetch_max(rts, Ordering::Relaxed);
        }
    }

    /// The greatest timestamp that has read the leaf.
    #[inline]
    pub fn rts(&self) -> u64 {
        self.0.load(Ordering::Relaxed) // Relaxed: see `read_at`.
    }
}

impl LeafMeta for GapMark {
    type Places<T: Default + Send + Sync> = [T; places_beside(size_of::<GapMark>())];

    fn carry(&self, to: &Self) {
        to.read_at(self.rts());
    }
}
