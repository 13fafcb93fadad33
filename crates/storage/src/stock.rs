//! Blocks of an arena that a slot keeps for itself, so that few transactions ask the arena.

use crate::arena::{Block, BlockArena, Reserve};

/// Blocks that a slot takes from an arena at a time at first, or gives back.
pub(crate) const BATCH: usize = 16;
/// Bytes of the blocks that a slot takes at a time at most, unless [`BATCH`] blocks are more.
const BATCH_BYTES_MAX: usize = 32 << 10;
/// A slot takes one in so many of the blocks that it has taken and kept so far: it has little memory ahead of its use.
const BATCH_SHARE: usize = 16;

/// The blocks of one arena that a slot has in stock. A slot that takes blocks often takes more at a time: the word that
/// counts an arena's blocks belongs to all, and a thousand cores cannot change it for each few rows.
#[derive(Debug, Default)]
pub(crate) struct Stock {
    blocks: Vec<Block>,
    /// The number of blocks that were taken from the arena and not given back.
    taken: usize,
}

impl Stock {
    /// The number of blocks to take at a time.
    fn batch(&self, arena: &BlockArena) -> usize {
        (self.taken / BATCH_SHARE).min(BATCH_BYTES_MAX / arena.stride()).max(BATCH)
    }

    /// Takes a block from the stock, or from the arena, which makes those that were never used by `build`.
    #[inline]
    pub(crate) fn take(&mut self, arena: &BlockArena, reserve: &Reserve, build: impl FnMut(Block)) -> Block {
        if self.blocks.is_empty() {
            let batch = self.batch(arena);
            arena.take(&mut self.blocks, batch, reserve, build);
            self.taken += batch;
        }
        self.blocks.pop().expect("the arena gave blocks")
    }

    /// Takes a block for which `is_fit` holds, if there is one in stock.
    pub(crate) fn find(&mut self, is_fit: impl Fn(Block) -> bool) -> Option<Block> {
        self.blocks.iter().rposition(|&block| is_fit(block)).map(|found| self.blocks.swap_remove(found))
    }

    /// Adds a block.
    #[inline]
    pub(crate) fn put(&mut self, block: Block) {
        self.blocks.push(block);
    }

    /// Gives blocks back to their arena if there are many: who gets blocks from elsewhere need not take many.
    #[inline]
    pub(crate) fn give_surplus(&mut self, arena: &BlockArena) {
        if self.blocks.len() > 2 * BATCH {
            arena.give(&mut self.blocks, BATCH);
            self.taken = self.taken.saturating_sub(BATCH);
        }
    }

    /// Gives all blocks back to their arena.
    pub(crate) fn give_all(&mut self, arena: &BlockArena) {
        let count = self.blocks.len();
        arena.give(&mut self.blocks, count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_that_takes_often_takes_more_at_a_time_up_to_a_limit() {
        let (arena, reserve, mut stock) = (BlockArena::new(64), Reserve::default(), Stock::default());
        let mut batches = Vec::new();
        for _ in 0..16_000 {
            let before = arena.bytes().0;
            stock.take(&arena, &reserve, |_| ());
            batches.extend(Some((arena.bytes().0 - before) / 64).filter(|batch| *batch > 0));
        }
        let sum = |count: usize| batches[..count].iter().sum::<usize>();
        assert!(
            (0..batches.len()).all(|nth| batches[nth] == (sum(nth) / BATCH_SHARE).clamp(BATCH, 512)),
            "{batches:?}"
        );
        assert_eq!(batches.last(), Some(&512));
        let (wide, mut of_wide) = (BlockArena::new(8 << 10), Stock::default());
        (0..=BATCH).for_each(|_| _ = of_wide.take(&wide, &reserve, |_| ()));
        assert_eq!(wide.bytes().0, 2 * BATCH * (8 << 10), "never fewer than at first");
    }

    #[test]
    fn a_surplus_goes_back_and_the_rest_at_the_end() {
        let (arena, reserve, mut stock) = (BlockArena::new(64), Reserve::default(), Stock::default());
        let mut blocks = Vec::new();
        arena.take(&mut blocks, 2 * BATCH + 1, &reserve, |_| ());
        for block in blocks {
            stock.put(block);
            stock.give_surplus(&arena);
        }
        assert_eq!(arena.bytes().1, BATCH * 64);
        stock.give_all(&arena);
        assert_eq!(arena.bytes(), ((2 * BATCH + 1) * 64, (2 * BATCH + 1) * 64));
    }
}
