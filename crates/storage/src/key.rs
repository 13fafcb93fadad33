//! Keys: the names by which a workload refers to rows, and the fixed-width integers that indexes compare.

use core::fmt::Debug;

use crate::table::IndexedKey;
use sync::atomic::{AtomicU64, Ordering};

/// A typed key of a table or of a secondary index. Its order is that of [`Key::ordered`].
pub trait Key: Copy + Eq + Debug + Send + Sync + 'static {
    /// The integer, or array of integers, that indexes store and compare.
    type Ordered: IndexedKey;

    /// The number of low bits of the integer that number the rows of one *prefix*, the bits above. Ordered
    /// indexes keep keys of different prefixes in different leaves: a leaf protects its gaps as one, so a
    /// reader of the first keys of one prefix would otherwise conflict with an inserter of the last key of
    /// the prefix before. Each prefix costs at least one leaf, so there should be many keys of each. All keys
    /// have one prefix unless stated otherwise.
    const SUFFIX_BITS: u32 = u32::MAX;

    /// Converts the key to its integer; the order is kept.
    fn ordered(self) -> Self::Ordered;

    /// Converts an integer back to its key.
    fn from_ordered(ordered: Self::Ordered) -> Self;

    /// Where the row lives, for schemes that own partitions. Homes ascend with keys: of two keys of an
    /// index, the greater has the same home or one of a greater number.
    fn home(self) -> Home;
}

/// The part of the database that a row belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// The unit of partitioning with this number, for example a warehouse. Schemes fold it onto their
    /// partitions.
    At(u64),
    /// Read-only after loading, and readable from every partition without its lock.
    Everywhere,
}

/// A fixed-width integer key as indexes see it: `u64`, `u128` or `[u64; 6]`.
pub trait OrderedKey: Copy + Ord + Debug + Send + Sync + 'static {
    /// A place in an index node that holds one key and may be read while it is written.
    type Slot: Default + Send + Sync;
    /// The smallest key.
    const MIN: Self;
    /// The largest key.
    const MAX: Self;

    /// Reads a slot; torn values are possible and found by the node's version.
    fn load(slot: &Self::Slot) -> Self;
    /// Writes a slot, under the node's latch.
    fn store(self, slot: &Self::Slot);
    /// A well-mixed 64-bit hash.
    fn hash(self) -> u64;
    /// The smallest key with the same bits above the lowest `suffix_bits`.
    #[must_use]
    fn prefix(self, suffix_bits: u32) -> Self;
}

// Finalizer of splitmix64 (Steele, Lea, Flood, OOPSLA 2014): every input bit reaches every output bit.
#[inline]
const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl OrderedKey for u64 {
    type Slot = AtomicU64;
    const MIN: Self = 0;
    const MAX: Self = u64::MAX;

    #[inline]
    fn load(slot: &Self::Slot) -> Self {
        // Relaxed: the node's version check orders the read.
        slot.load(Ordering::Relaxed)
    }

    #[inline]
    fn store(self, slot: &Self::Slot) {
        // Relaxed: the release of the node's latch orders the write.
        slot.store(self, Ordering::Relaxed);
    }

    #[inline]
    fn hash(self) -> u64 {
        mix(self.wrapping_add(0x9e37_79b9_7f4a_7c15))
    }

    #[inline]
    fn prefix(self, suffix_bits: u32) -> Self {
        self.unbounded_shr(suffix_bits).unbounded_shl(suffix_bits)
    }
}

impl OrderedKey for u128 {
    type Slot = [AtomicU64; 2];
    const MIN: Self = 0;
    const MAX: Self = u128::MAX;

    #[inline]
    fn load(slot: &Self::Slot) -> Self {
        u128::from(u64::load(&slot[0])) << 64 | u128::from(u64::load(&slot[1]))
    }

    #[inline]
    fn store(self, slot: &Self::Slot) {
        ((self >> 64) as u64).store(&slot[0]);
        (self as u64).store(&slot[1]);
    }

    #[inline]
    fn hash(self) -> u64 {
        mix(((self >> 64) as u64).hash() ^ self as u64)
    }

    #[inline]
    fn prefix(self, suffix_bits: u32) -> Self {
        self.unbounded_shr(suffix_bits).unbounded_shl(suffix_bits)
    }
}

impl<const N: usize> OrderedKey for [u64; N]
where
    [AtomicU64; N]: Default,
{
    type Slot = [AtomicU64; N];
    const MIN: Self = [0; N];
    const MAX: Self = [u64::MAX; N];

    #[inline]
    fn load(slot: &Self::Slot) -> Self {
        core::array::from_fn(|i| u64::load(&slot[i]))
    }

    #[inline]
    fn store(self, slot: &Self::Slot) {
        for (word, slot) in self.into_iter().zip(slot) {
            word.store(slot);
        }
    }

    #[inline]
    fn hash(self) -> u64 {
        self.into_iter().fold(0, |hash, word| mix(hash ^ word.hash()))
    }

    #[inline]
    fn prefix(self, suffix_bits: u32) -> Self {
        core::array::from_fn(|i| self[i].prefix(suffix_bits.saturating_sub((N - 1 - i) as u32 * 64)))
    }
}

impl Key for u64 {
    type Ordered = u64;

    #[inline]
    fn ordered(self) -> u64 {
        self
    }

    #[inline]
    fn from_ordered(ordered: u64) -> Self {
        ordered
    }

    #[inline]
    fn home(self) -> Home {
        Home::At(self)
    }
}
