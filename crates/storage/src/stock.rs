//! Blocks of an arena that a slot keeps for itself, so that few transactions ask the arena.

use crate::arena::{Block, BlockArena, Reserve};

/// Blocks that a slot takes from an arena at a time at first, and at least.
pub(crate) const BATCH: usize = 16;
/// Bytes of the blocks that a slot takes at a time at most, unless [`BATCH`] blocks are more.
const BATCH_BYTES_MAX: usize = 32 << 10;
/// A slot that takes blocks again within so many attempts takes twice as many.
const ATTEMPTS_MIN: u32 = 32;
/// A slot that takes blocks again after more attempts than so many takes half as many.
const ATTEMPTS_MAX: u32 = 4 * ATTEMPTS_MIN;

/// The blocks of one arena that a slot has in stock.
#[derive(Debug)]
pub(crate) struct Stock {
    blocks: Vec<Block>,
    /// The number of blocks that the slot took last.
    batch: usize,
    /// The attempt in which it took them.
    taken_in: u32,
}

impl Stock {
    /// An empty stock. A slot takes as many blocks at a time as it uses in some tens of attempts: the words of an arena
    /// belong to all, and a thousand cores cannot change them for each few blocks.
    pub(crate) fn new() -> Self {
        Self { blocks: Vec::new(), batch: BATCH / 2, taken_in: 0 }
    }

    /// The number of blocks to take in an attempt.
    fn next_batch(&self, arena: &BlockArena, attempt: u32) -> usize {
        let batch = match attempt.wrapping_sub(self.taken_in) {
            ..ATTEMPTS_MIN => self.batch * 2,
            ATTEMPTS_MIN..=ATTEMPTS_MAX => self.batch,
            _ => self.batch / 2,
        };
        batch.min(BATCH_BYTES_MAX / arena.stride()).max(BATCH)
    }

    /// Takes a block from the stock, or from the arena, which makes those that were never used by `build`. `attempt` is
    /// the number of the slot's attempt.
    #[inline]
    pub(crate) fn take(
        &mut self,
        arena: &BlockArena,
        reserve: &Reserve,
        attempt: u32,
        build: impl FnMut(Block),
    ) -> Block {
        if self.blocks.is_empty() {
            (self.batch, self.taken_in) = (self.next_batch(arena, attempt), attempt);
            arena.take(&mut self.blocks, self.batch, reserve, build);
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

    /// Gives blocks back to their arena if there are many.
    #[inline]
    pub(crate) fn give_surplus(&mut self, arena: &BlockArena) {
        let batch = self.batch.max(BATCH);
        if self.blocks.len() > 2 * batch {
            arena.give(&mut self.blocks, batch);
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

    /// The sizes of the batches in which a slot takes one block in each attempt of a range, as a function of the stock.
    fn batches(stock: &mut Stock, arena: &BlockArena, attempts: impl Iterator<Item = u32>) -> Vec<usize> {
        let taken = |attempt| {
            let before = arena.bytes().0;
            stock.take(arena, &Reserve::default(), attempt, |_| ());
            (arena.bytes().0 - before) / arena.stride()
        };
        attempts.map(taken).filter(|batch| *batch > 0).collect()
    }

    #[test]
    fn a_batch_lasts_for_some_tens_of_attempts() {
        let (arena, mut stock) = (BlockArena::new(64), Stock::new());
        let by_eights = (0..4_000).map(|nth| nth / 8);
        let sizes = batches(&mut stock, &arena, by_eights);
        assert_eq!(sizes[..6], [16, 32, 64, 128, 256, 256], "256 blocks are those of 32 attempts");
        let now_and_then = (0..2_000).map(|nth| 1_000 + nth * 200);
        let sizes = batches(&mut stock, &arena, now_and_then);
        assert_eq!(sizes[..3], [128, 64, 32]);
        assert_eq!(sizes.last(), Some(&BATCH));
    }

    #[test]
    fn a_batch_has_a_limit_of_bytes() {
        let (arena, mut stock) = (BlockArena::new(64), Stock::new());
        assert_eq!(batches(&mut stock, &arena, (0..16_000).map(|_| 0)).last(), Some(&512));
        let (wide, mut of_wide) = (BlockArena::new(8 << 10), Stock::new());
        assert_eq!(batches(&mut of_wide, &wide, (0..64).map(|_| 0)), [BATCH; 4], "never fewer than at first");
    }

    #[test]
    fn a_surplus_goes_back_and_the_rest_at_the_end() {
        let (arena, reserve, mut stock) = (BlockArena::new(64), Reserve::default(), Stock::new());
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
