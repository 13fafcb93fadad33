//! Memory in blocks of one size, carved from large chunks and kept until the arena is dropped.
//!
//! INVARIANTS
//! (1) A block belongs to one arena for the arena's life and is never handed out twice at a time.
//! (2) `build` runs once for each block, before it is first handed out: blocks are type-stable.

use core::alloc::Layout;
use core::ops::Range;
use core::ptr::NonNull;

use sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use sync::{Backoff, Latched, Padded, recycled};

use crate::part::is_in;

/// A block's address.
pub(crate) type Block = NonNull<u8>;

/// Chunks of this size and more are aligned to it and ask for huge pages.
pub(crate) const HUGE: usize = 2 << 20;
/// Bytes of the system's smallest page, to which smaller chunks are aligned.
const PAGE: usize = 4096;
/// An arena's first chunk; further ones double the arena until they reach `HUGE`.
const CHUNK_MIN: usize = 64 << 10;

/// Chunks of `HUGE` bytes that the system has given pages for already: taking one while transactions run
/// costs no page fault.
#[derive(Debug, Default)]
pub(crate) struct Reserve(Latched<Vec<Chunk>>);

// SAFETY: a chunk in reserve belongs to nobody.
unsafe impl Sync for Reserve {}
// SAFETY: as above.
unsafe impl Send for Reserve {}

impl Reserve {
    /// Adds `bytes`, rounded down to whole chunks, and touches them.
    pub(crate) fn add(&self, bytes: usize) {
        for _ in 0..bytes / HUGE {
            let chunk = Chunk::new(HUGE);
            // SAFETY: the chunk is `HUGE` bytes of memory that nobody else knows.
            unsafe { chunk.start.write_bytes(0, HUGE) };
            self.0.lock().push(chunk);
        }
    }

    fn take(&self, bytes: usize) -> Chunk {
        let reserved = if bytes == HUGE { self.0.lock().pop() } else { None };
        reserved.unwrap_or_else(|| Chunk::new(bytes))
    }

    /// A chunk of `HUGE` bytes with its pages.
    fn take_populated(&self) -> Chunk {
        let reserved = self.0.lock().pop();
        reserved.unwrap_or_else(|| {
            let chunk = Chunk::new(HUGE);
            populate(chunk.start, HUGE);
            chunk
        })
    }
}

/// Hands out blocks of one size, in batches. Blocks are numbered; those that were never used are handed out by a count,
/// without a latch, so that an insert of one thread delays no other.
#[derive(Debug)]
pub(crate) struct BlockArena {
    stride: usize,
    /// Whether blocks that are handed out one after the other are apart: see [`scattered`].
    is_scattered: bool,
    /// The chunk with the highest numbers.
    newest: AtomicPtr<Numbered>,
    /// Whether blocks were given back, and wait for use.
    has_free: AtomicBool,
    /// Whether the next chunk should be made soon: the last is half used up.
    is_low: AtomicBool,
    /// The number of blocks that were handed out for the first time.
    carved: Padded<AtomicUsize>,
    state: Padded<Latched<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// By their numbers.
    #[expect(clippy::vec_box, reason = "`newest` is one of them, so they stay where they are")]
    chunks: Vec<Box<Numbered>>,
    /// Bytes of all chunks.
    bytes: usize,
    /// Blocks that were given back, ready for use.
    free: Vec<Block>,
    /// The next chunk of `HUGE` bytes.
    next: Option<Chunk>,
}

/// A chunk whose blocks have the numbers from `first` on.
#[derive(Debug)]
struct Numbered {
    first: usize,
    chunk: Chunk,
    /// The chunk with the numbers below; null if there is none.
    before: *const Numbered,
}

#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) start: Block,
    layout: Layout,
}

// SAFETY: blocks are plain addresses; the arena hands each to one owner at a time, invariant (1).
unsafe impl Send for State {}

impl BlockArena {
    /// An arena of blocks of at least `bytes` bytes. Small blocks are laid out so that they straddle no
    /// cache line; large ones begin at one.
    pub(crate) fn new(bytes: usize) -> Self {
        let stride = if bytes <= 64 { bytes.next_power_of_two().max(8) } else { bytes.next_multiple_of(64) };
        Self {
            stride,
            is_scattered: false,
            newest: AtomicPtr::default(),
            has_free: AtomicBool::new(false),
            is_low: AtomicBool::new(false),
            carved: Padded::default(),
            state: Padded::default(),
        }
    }

    /// An empty arena of blocks of the same size, which are not handed out in the order of their addresses.
    pub(crate) fn scattered(&self) -> Self {
        Self { is_scattered: true, ..Self::new(self.stride) }
    }

    /// The place of the block that is carved as number `number` from a chunk of so many.
    fn place(&self, number: usize, blocks: usize) -> usize {
        if self.is_scattered { scattered(number, blocks) } else { number }
    }

    /// Moves `count` blocks to the end of `to`. Blocks that were given back come first; `build` makes the blocks that
    /// were never used.
    pub(crate) fn take(
        &self,
        to: &mut Vec<Block>,
        count: usize,
        reserve: &Reserve,
        build: impl FnMut(Block),
    ) {
        let reused = if self.has_free() { self.take_free(to, count) } else { 0 };
        if reused < count {
            let first_new = to.len();
            self.carve(to, count - reused, reserve);
            to[first_new..].iter().copied().for_each(build);
        }
    }

    /// Moves up to `count` blocks that were given back to the end of `to`, and returns their number.
    fn take_free(&self, to: &mut Vec<Block>, count: usize) -> usize {
        // Who waits may hear that nothing is left.
        let Some(mut state) = self.state.lock_while(|| self.has_free()) else { return 0 };
        let free = &mut state.free;
        let reused = count.min(free.len());
        to.extend(free.drain(free.len() - reused..));
        if free.is_empty() {
            // Relaxed: see `has_free`.
            self.has_free.store(false, Ordering::Relaxed);
        }
        reused
    }

    /// Whether blocks were given back.
    fn has_free(&self) -> bool {
        // Relaxed: a hint. Which blocks there are is read under the latch.
        self.has_free.load(Ordering::Relaxed)
    }

    /// Moves `count` blocks that were never used to the end of `to`.
    fn carve(&self, to: &mut Vec<Block>, count: usize, reserve: &Reserve) {
        // Relaxed: each number is given once; nobody but the caller touches the blocks before they are built.
        let first = self.carved.fetch_add(count, Ordering::Relaxed);
        let numbers = first..first + count;
        let newest = self.newest().filter(|newest| numbers.end <= newest.numbers(self.stride).end);
        self.hand_out(newest.unwrap_or_else(|| self.grow(&numbers, reserve)), numbers, to);
    }

    /// The chunk with the highest numbers.
    fn newest(&self) -> Option<&Numbered> {
        // SAFETY: chunks live as long as the arena, and do not move. Acquire: their contents were written before.
        unsafe { self.newest.load(Ordering::Acquire).as_ref() }
    }

    /// Makes the chunks of these numbers if nobody else does, and returns the newest. Of many threads whose numbers
    /// have no chunk yet, the one with the first of these numbers makes the chunks of all, and the others wait until
    /// these are there: nobody waits for a turn at the latch.
    #[cold]
    fn grow(&self, numbers: &Range<usize>, reserve: &Reserve) -> &Numbered {
        let mut backoff = Backoff::new();
        loop {
            let newest = self.newest();
            let made = newest.map_or(0, |newest| newest.numbers(self.stride).end);
            match newest {
                Some(newest) if numbers.end <= made => return newest,
                _ if numbers.start <= made => self.grow_beyond(numbers.end, reserve),
                _ => backoff.snooze(),
            }
        }
    }

    /// Makes the chunks of all numbers below `end`, and of others that are taken already.
    fn grow_beyond(&self, end: usize, reserve: &Reserve) {
        let mut state = self.state.lock();
        let end = end.max(self.carved());
        while self.newest().is_none_or(|newest| newest.numbers(self.stride).end < end) {
            self.add_chunk(&mut state, reserve);
        }
    }

    /// Adds a chunk.
    fn add_chunk(&self, State { chunks, bytes: so_far, next, .. }: &mut State, reserve: &Reserve) {
        let bytes = (*so_far).clamp(CHUNK_MIN, HUGE).max(self.stride);
        let ahead = if bytes == HUGE { next.take() } else { None };
        let chunk = ahead.unwrap_or_else(|| reserve.take(bytes));
        *so_far += chunk.layout.size();
        let first = chunks.last().map_or(0, |last| last.numbers(self.stride).end);
        let last = |chunks: &[Box<Numbered>]| {
            chunks.last().map_or(core::ptr::null(), |last| core::ptr::from_ref(&**last))
        };
        let before = last(chunks);
        chunks.push(Box::new(Numbered { first, chunk, before }));
        // The address is taken last: nobody may know that of a box that moves. Release: whoever finds the chunk finds
        // its contents.
        self.newest.store(last(chunks).cast_mut(), Ordering::Release);
    }

    /// Moves the blocks of these numbers to the end of `to`. The last of them is in the chunk `numbered` or one before
    /// it.
    fn hand_out(&self, numbered: &Numbered, mut numbers: Range<usize>, to: &mut Vec<Block>) {
        if numbers.start < numbered.first {
            // SAFETY: chunks live as long as the arena, and do not move. Those before a chunk were made before it.
            let before = unsafe { numbered.before.as_ref() }.expect("the first chunk begins with number 0");
            self.hand_out(before, numbers.start..numbers.end.min(numbered.first), to);
            numbers.start = numbered.first;
        }
        let blocks = numbered.chunk.blocks(self.stride);
        let half = numbered.first + blocks / 2;
        if numbers.contains(&half) && numbered.chunk.layout.size() == HUGE {
            // Relaxed: a hint. The thread that takes it up finds the rest under the latch.
            self.is_low.store(true, Ordering::Relaxed);
        }
        let block = |number: usize| self.place(number - numbered.first, blocks) * self.stride;
        to.extend(numbers.map(|number| offset(numbered.chunk.start, block(number))));
    }

    /// Makes the next chunk when the last is half used up. Called without a latch: the system takes long to provide its
    /// pages, and a thread that takes blocks holds others up.
    #[inline]
    pub(crate) fn populate_ahead(&self, reserve: &Reserve) {
        // Relaxed, twice: it shares the work out and orders nothing.
        let is_mine = self.is_low.load(Ordering::Relaxed) && self.is_low.swap(false, Ordering::Relaxed);
        // One that came too late for its chunk serves for the next.
        if is_mine && self.state.lock().next.is_none() {
            let next = reserve.take_populated();
            self.state.lock().next = Some(next);
        }
    }

    /// Takes back the last `count` blocks of `from`.
    pub(crate) fn give(&self, from: &mut Vec<Block>, count: usize) {
        if count == 0 {
            return;
        }
        let keep = from.len() - count;
        let free = &mut self.state.lock().free;
        free.extend(from.drain(keep..));
        // Relaxed: see `has_free`.
        self.has_free.store(true, Ordering::Relaxed);
    }

    /// Declares that nobody may touch the contents of a block behind its first `head` bytes before
    /// [`reuse`](Self::reuse).
    #[inline]
    pub(crate) fn retire(&self, block: Block, head: usize) {
        recycled::poison(offset(block, head), self.stride - head);
    }

    /// Declares that a block serves again.
    #[inline]
    pub(crate) fn reuse(&self, block: Block) {
        recycled::unpoison(block, self.stride);
    }

    /// Visits the `index`-th of `of` shares of all blocks ever built, free ones included. The caller ensures that no
    /// block is being built or written.
    pub(crate) fn for_each(&self, index: usize, of: usize, mut visit: impl FnMut(Block)) {
        let all = self.carved();
        let of_chunk = |numbered: &Numbered| {
            let blocks = numbered.chunk.blocks(self.stride);
            (numbered.chunk.start, blocks, all.saturating_sub(numbered.first).min(blocks))
        };
        let spans: Vec<_> = self.state.lock().chunks.iter().map(|numbered| of_chunk(numbered)).collect();
        for (start, blocks, carved) in spans {
            for number in carved * index / of..carved * (index + 1) / of {
                visit(offset(start, self.place(number, blocks) * self.stride));
            }
        }
    }

    /// The part of the arena itself, beside its blocks, that has an address.
    pub(crate) fn part_at(&self, address: usize) -> Option<&'static str> {
        let parts = [
            (is_in(&self.carved, address), "count"),
            (is_in(&self.state, address), "latch"),
            (is_in(self, address), "head"),
        ];
        parts.iter().find(|(is_part, _)| *is_part).map(|(_, name)| *name)
    }

    /// Whether an address is in one of the blocks' chunks; false if these change right now.
    pub(crate) fn has(&self, address: usize) -> bool {
        // In a simulation that was given up, a worker that stands still may have the latch for ever.
        let state = self.state.try_lock();
        state.is_some_and(|state| state.chunks.iter().any(|numbered| numbered.chunk.has(address)))
    }

    /// Bytes from one block to the next.
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    /// Bytes of all blocks ever built, and the bytes among these that were given back.
    pub(crate) fn bytes(&self) -> (usize, usize) {
        let free = self.state.lock().free.len();
        (self.carved() * self.stride, free * self.stride)
    }

    /// The number of blocks that were handed out for the first time.
    fn carved(&self) -> usize {
        // Relaxed: exact if the caller knows that nobody takes blocks, and otherwise an estimate.
        self.carved.load(Ordering::Relaxed)
    }
}

impl Numbered {
    /// The numbers of the chunk's blocks.
    fn numbers(&self, stride: usize) -> Range<usize> {
        self.first..self.first + self.chunk.blocks(stride)
    }
}

/// Blocks that are made at a time where they are scattered.
pub(crate) const SCATTERED: usize = 64;

/// The place of the `number`-th of `count` things that are made when they are touched. Those that a transaction touches
/// one after the other are not neighbours, as they would not be if all had been made in the order of their keys: the
/// hardware, and a simulation of it, fetches neighbours ahead.
pub(crate) fn scattered(number: usize, count: usize) -> usize {
    let first = number - number % SCATTERED;
    let window = SCATTERED.min(count - first);
    // Each place is taken once if the step and the window have no common divisor; neighbours come many steps apart.
    let is_fit = |step: &usize| {
        let (mut a, mut b) = (*step, window);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a == 1
    };
    let step = (window * 37 / SCATTERED..window).find(is_fit).unwrap_or(1);
    first + (number - first) * step % window
}

/// Asks the system for the pages of memory that belongs to the caller, ahead of their use. The contents of the memory
/// stay as they are.
pub(crate) fn populate(start: Block, bytes: usize) {
    #[cfg(target_os = "linux")]
    {
        let within = start.as_ptr().addr() % PAGE;
        // SAFETY: the range is memory of the caller, and of what shares its first page; the advice changes no
        // contents. It may be refused, which costs speed only.
        unsafe {
            libc::madvise(
                start.as_ptr().wrapping_sub(within).cast(),
                bytes + within,
                libc::MADV_POPULATE_WRITE,
            )
        };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, bytes);
}

/// The address `bytes` into the memory at `start`; the caller keeps within the same allocation.
#[inline]
fn offset(start: Block, bytes: usize) -> Block {
    // SAFETY: callers stay within the chunk (of `carved` blocks, at most as many as it has room for).
    unsafe { start.add(bytes) }
}

impl Chunk {
    pub(crate) fn new(bytes: usize) -> Self {
        let layout = Self::layout(bytes).expect("chunk sizes are small");
        Self::over(sync::memory::allocate(layout), layout)
    }

    /// A chunk of a size that a caller decides; `None` when there is no memory for it.
    pub(crate) fn try_new(bytes: usize) -> Option<Self> {
        let layout = Self::layout(bytes)?;
        Some(Self::over(sync::memory::try_allocate(layout)?, layout))
    }

    /// The layout of a chunk, if it fits the address space.
    fn layout(bytes: usize) -> Option<Layout> {
        let align = if bytes >= HUGE { HUGE } else { PAGE };
        Layout::from_size_align(bytes.checked_next_multiple_of(align)?, align).ok()
    }

    fn over(start: Block, layout: Layout) -> Self {
        #[cfg(target_os = "linux")]
        if layout.size() >= HUGE {
            // SAFETY: the range is this fresh allocation; the advice changes no contents. It may be
            // refused, which costs speed only.
            unsafe { libc::madvise(start.as_ptr().cast(), layout.size(), libc::MADV_HUGEPAGE) };
        }
        Self { start, layout }
    }

    /// Whether an address is in the chunk.
    pub(crate) fn has(&self, address: usize) -> bool {
        address.checked_sub(self.start.addr().get()).is_some_and(|offset| offset < self.layout.size())
    }

    /// The blocks that the chunk has room for.
    fn blocks(&self, stride: usize) -> usize {
        self.layout.size() / stride
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, freed once. What the blocks hold needs no drop:
        // their types are atomics and plain data.
        unsafe { sync::memory::free(self.start, self.layout) };
    }
}

#[cfg(test)]
mod tests {
    use sync::workers;

    use super::*;

    #[test]
    fn blocks_are_distinct_built_once_and_come_back() {
        let arena = BlockArena::new(40);
        let mut built = 0;
        let mut blocks = Vec::new();
        arena.take(&mut blocks, 5_000, &Reserve::default(), |_| built += 1);
        let mut addresses: Vec<_> = blocks.iter().map(|block| block.as_ptr() as usize).collect();
        addresses.sort_unstable();
        assert!(addresses.windows(2).all(|pair| pair[1] - pair[0] >= 64 || pair[1] / 64 != pair[0] / 64));
        arena.give(&mut blocks, 1_000);
        assert_eq!(arena.bytes(), (5_000 * 64, 1_000 * 64));
        arena.take(&mut blocks, 1_500, &Reserve::default(), |_| built += 1);
        assert_eq!(built, 5_500);
    }

    #[test]
    fn the_next_chunk_is_there_before_it_is_needed() {
        let (arena, reserve) = (BlockArena::new(64), Reserve::default());
        let (mut blocks, mut ahead) = (Vec::new(), Vec::new());
        for _ in 0..8 * (HUGE / 64) / 100 {
            let chunks = arena.state.lock().chunks.len();
            arena.take(&mut blocks, 100, &reserve, |_| ());
            let state = arena.state.lock();
            if state.chunks.len() > chunks {
                ahead.extend(state.chunks.last().map(|last| (last.chunk.start, last.chunk.layout.size())));
            }
            drop(state);
            let had_next = arena.state.lock().next.is_some();
            arena.populate_ahead(&reserve);
            let state = arena.state.lock();
            if let Some(next) = state.next.as_ref().filter(|_| !had_next) {
                let last = state.chunks.last().expect("there is one");
                assert_eq!(last.chunk.layout.size(), HUGE, "small arenas need none");
                let used = arena.carved() - last.first;
                assert!(2 * used > last.chunk.blocks(64), "half of the last is used up");
                ahead.push((next.start, 0));
            }
        }
        let huge: Vec<_> = ahead.iter().skip_while(|(_, bytes)| *bytes != 0).collect();
        assert!(huge.len() >= 10, "{huge:?}");
        assert!(huge.chunks_exact(2).all(|pair| pair[0].0 == pair[1].0), "each was made, and then used");
        blocks.sort_unstable();
        blocks.dedup();
        assert_eq!(blocks.len(), 8 * (HUGE / 64) / 100 * 100, "no block is handed out twice");
    }

    #[test]
    fn threads_get_blocks_of_their_own() {
        const TAKES: usize = 100_000;
        let (arena, reserve, built) = (BlockArena::new(64), Reserve::default(), AtomicUsize::new(0));
        let taken = Latched::new(Vec::new());
        workers::run(2, false, |_| {
            let mut blocks = Vec::new();
            for take in 0..TAKES {
                // Few at a time, so that the threads meet; some are taken across the ends of chunks.
                arena.take(&mut blocks, 1 + take % 3, &reserve, |_| {
                    // Relaxed: a count, read when the threads have ended.
                    built.fetch_add(1, Ordering::Relaxed);
                });
                if take % 1_000 == 0 {
                    arena.give(&mut blocks, 1);
                    arena.populate_ahead(&reserve);
                }
            }
            taken.lock().extend(blocks.iter().map(|block| block.as_ptr().addr()));
        });
        let mut blocks = taken.into_inner();
        let count = blocks.len();
        blocks.sort_unstable();
        blocks.dedup();
        assert_eq!(blocks.len(), count, "no block is handed out twice");
        let mut all = Vec::new();
        arena.for_each(0, 1, |block| all.push(block.as_ptr().addr()));
        all.sort_unstable();
        assert!(blocks.iter().all(|block| all.binary_search(block).is_ok()), "each is of a chunk");
        let (carved, free) = arena.bytes();
        // Relaxed: the threads have ended.
        assert_eq!(built.load(Ordering::Relaxed) * 64, carved, "each is built once");
        assert_eq!(carved - free, count * 64);
    }

    #[test]
    fn scattered_blocks_are_distinct_and_no_neighbours() {
        let (arena, mut blocks) = (BlockArena::new(384).scattered(), Vec::new());
        arena.take(&mut blocks, 5_000, &Reserve::default(), |_| ());
        let address = |block: &Block| block.as_ptr().addr();
        let neighbours =
            blocks.windows(2).filter(|pair| address(&pair[0]) + 384 == address(&pair[1])).count();
        assert!(neighbours < 5_000 / 50, "{neighbours}");
        let mut seen = Vec::new();
        arena.for_each(0, 1, |block| seen.push(block));
        seen.sort_unstable();
        blocks.sort_unstable();
        blocks.dedup();
        assert_eq!((seen.len(), seen), (5_000, blocks));
    }

    #[test]
    fn shares_visit_every_block_once() {
        let arena = BlockArena::new(8);
        let mut blocks = Vec::new();
        arena.take(&mut blocks, 20_000, &Reserve::default(), |_| ());
        let mut seen = Vec::new();
        for index in 0..3 {
            arena.for_each(index, 3, |block| seen.push(block));
        }
        seen.sort_unstable();
        blocks.sort_unstable();
        assert_eq!(seen, blocks);
    }
}
