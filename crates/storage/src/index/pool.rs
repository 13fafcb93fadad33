//! Memory of index nodes: type-stable, recycled at once.

use core::marker::PhantomData;
use core::ptr::NonNull;
use std::collections::BTreeMap;

use sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use sync::{Growing, Latched, Padded, VersionLatch, VersionLatchGuard, hushed, workers};

use crate::arena::{self, Chunk, HUGE};
use crate::part::is_in;

/// Chunks of a slab: the first serves the declared size, each further one doubles the slab.
const CHUNKS: usize = 28;

/// A sequence that only grows and whose elements never move. Threads make elements side by side, and nobody waits until
/// those before are made: whoever looks for an element by its number knows already that it was made.
pub(super) struct Slab<T> {
    /// The first chunk has room for `1 << shift` elements.
    shift: u32,
    starts: [AtomicPtr<T>; CHUNKS],
    /// The number of elements made or being made. Apart from what waits for a new chunk.
    len: Padded<AtomicUsize>,
    growth: Padded<Growth>,
    owns: PhantomData<T>,
}

/// The fields that are written as a slab grows.
#[derive(Default)]
struct Growth {
    /// Whether a thread gave up as it made elements: some below `len` were never made.
    has_gaps: AtomicBool,
    /// The number of elements whose memory has its pages already, or is about to have them.
    populated: AtomicUsize,
    chunks: Latched<Chunks>,
}

#[derive(Default)]
struct Chunks(Vec<Chunk>);

// SAFETY: a chunk is memory that it alone owns, wherever it is dropped.
unsafe impl Send for Chunks {}

impl<T> Slab<T> {
    /// An empty slab that will hold `first` elements in one piece, a power of two.
    pub(super) fn new(first: usize) -> Self {
        assert!(first.is_power_of_two(), "chunks double the slab");
        Self {
            shift: first.ilog2(),
            starts: core::array::from_fn(|_| AtomicPtr::new(core::ptr::null_mut())),
            len: Padded::default(),
            growth: Padded::default(),
            owns: PhantomData,
        }
    }

    /// An empty slab whose first chunk exists, of a size that a caller decides; `None` when there is no memory
    /// for it.
    pub(super) fn try_with_room(first: usize) -> Option<Self> {
        let slab = Self::new(first);
        let chunk = Chunk::try_new(first.checked_mul(size_of::<T>())?)?;
        // Relaxed: nobody else knows the slab.
        slab.starts[0].store(chunk.start.cast().as_ptr(), Ordering::Relaxed);
        slab.growth.chunks.lock().0.push(chunk);
        Some(slab)
    }

    /// The chunk of an element, and its place there.
    #[inline]
    fn place(&self, number: usize) -> (usize, usize) {
        let beyond = number >> self.shift;
        if beyond == 0 {
            return (0, number);
        }
        let chunk = (usize::BITS - beyond.leading_zeros()) as usize;
        (chunk, number - (1 << (self.shift as usize + chunk - 1)))
    }

    /// The number of elements made or being made.
    #[inline]
    pub(super) fn len(&self) -> usize {
        // Relaxed: it says nothing about the elements.
        self.len.load(Ordering::Relaxed)
    }

    /// The address of an element that was made before this call.
    #[inline]
    fn address(&self, number: usize) -> *mut T {
        let (chunk, place) = self.place(number);
        // Relaxed: the chunk was set before the element was made.
        let start = self.starts[chunk].load(Ordering::Relaxed);
        // SAFETY: the element exists, so its chunk does, and has room for it.
        unsafe { start.add(place) }
    }

    /// Whether an address is in the memory of the elements.
    pub(super) fn has(&self, address: usize) -> bool {
        self.growth.chunks.lock().0.iter().any(|chunk| chunk.has(address))
    }

    /// An element.
    ///
    /// # Safety
    /// The element was made, and that happened before this call.
    #[inline]
    pub(super) unsafe fn get(&self, number: usize) -> &T {
        // SAFETY: the caller knows that the element was written, and it is only shared since.
        unsafe { &*self.address(number) }
    }

    /// Makes an element; `make` is given its number.
    pub(super) fn push(&self, make: impl FnOnce(usize) -> T) -> &T {
        let mut make = Some(make);
        let mut made = None;
        self.push_all(
            1,
            |number| (make.take().expect("one element"))(number),
            |element| made = Some(element),
        );
        // SAFETY: just written, and only shared from here on.
        unsafe { made.expect("one element").as_ref() }
    }

    /// Makes `count` elements; `make` is given the number of each, and `tell` what was made. Nobody but the caller
    /// knows them.
    fn push_all(&self, count: usize, mut make: impl FnMut(usize) -> T, mut tell: impl FnMut(NonNull<T>)) {
        let unless_done = MarkGaps(&self.growth.has_gaps);
        // Relaxed: each number is given once.
        let first = self.len.fetch_add(count, Ordering::Relaxed);
        let mut current = None;
        for number in first..first + count {
            let (chunk, place) = self.place(number);
            let known = current.filter(|(number, _)| *number == chunk).map(|(_, start)| start);
            let start = known.unwrap_or_else(|| self.chunk(chunk));
            current = Some((chunk, start));
            // SAFETY: the chunk has room for the element.
            let at = unsafe { start.add(place) };
            // SAFETY: in bounds, aligned to a page as the chunk is to 64 bytes at least, and used by nobody.
            unsafe { at.write(make(number)) };
            tell(at);
        }
        core::mem::forget(unless_done);
    }

    /// The elements of a chunk. The chunk, and the chunks before it, are made if they do not exist.
    fn chunk(&self, chunk: usize) -> NonNull<T> {
        // Acquire: pairs with the Release below. What a new chunk holds is what the system gave.
        let made = || NonNull::new(self.starts[chunk].load(Ordering::Acquire));
        loop {
            if let Some(start) = made() {
                return start;
            }
            let Some(mut chunks) = self.growth.chunks.lock_while(|| made().is_none()) else { continue };
            for number in chunks.0.len()..=chunk {
                let bytes =
                    self.room(number).checked_mul(size_of::<T>()).expect("an index fits the address space");
                let new = Chunk::new(bytes);
                self.starts[number].store(new.start.cast().as_ptr(), Ordering::Release);
                chunks.0.push(new);
            }
        }
    }

    /// Elements for which a chunk has room.
    fn room(&self, chunk: usize) -> usize {
        1 << (self.shift as usize + chunk.saturating_sub(1))
    }

    /// Asks for the pages of elements to come when few elements are left whose pages exist. Called without a
    /// latch: a page takes long to come, and a thread that makes an element holds others up.
    pub(super) fn populate_ahead(&self) {
        let step = (HUGE / size_of::<T>().max(1)).max(1);
        let len = self.len();
        // Relaxed: checked by the exchange.
        let populated = self.growth.populated.load(Ordering::Relaxed);
        if len < step || len + step / 2 < populated {
            return;
        }
        let from = populated.max(len);
        let (chunk, place) = self.place(from);
        let count = step.min(self.room(chunk) - place);
        // Relaxed, twice: it shares the work out and orders nothing.
        let is_mine = self
            .growth
            .populated
            .compare_exchange(populated, from + count, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok();
        if is_mine {
            let start = self.chunk(chunk);
            // SAFETY: the chunk has room for the element.
            let at = unsafe { start.add(place) };
            arena::populate(at.cast(), count * size_of::<T>());
        }
    }

    /// Bytes of the elements made: memory of chunks beyond them has never been touched.
    pub(super) fn bytes(&self) -> usize {
        self.len() * size_of::<T>()
    }
}

impl<T> Drop for Slab<T> {
    fn drop(&mut self) {
        // Elements beside a gap are forgotten rather than dropped: nobody knows where the gap is. Relaxed: nobody else
        // has the slab.
        if core::mem::needs_drop::<T>() && !self.growth.has_gaps.load(Ordering::Relaxed) {
            for number in 0..self.len() {
                // SAFETY: the element was made, and every reference to it has ended with the slab's life.
                unsafe { self.address(number).drop_in_place() };
            }
        }
    }
}

/// Marks a slab when it is dropped.
struct MarkGaps<'s>(&'s AtomicBool);

impl Drop for MarkGaps<'_> {
    fn drop(&mut self) {
        // Relaxed: read by whoever has the slab alone.
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A thing at which readers may still look when it is given back.
pub(super) trait Node {
    /// Makes a new node.
    fn new() -> Self;
    /// Its latch.
    fn latch(&self) -> &VersionLatch;
}

/// The maximum number of nodes for which an implicit index has room at first. Room that is not used takes no memory.
const ROOM_MAX: usize = 1 << 20;

/// The maximum number of stocks of nodes: threads rarely share one. One in models, which try all orders.
const STOCKS: usize = if cfg!(loom) { 1 } else { 2_048 };
/// Nodes of an index for each of its stocks: a small index has little memory ahead of its use.
const NODES_PER_STOCK: usize = 64;
/// Nodes that are made at a time for a stock, at least and at most: one in `AHEAD_SHARE` of those of the index for each
/// stock. The numbers of nodes are drawn from one word: the fewer are made at a time, the more often.
const AHEAD: usize = if cfg!(loom) { 1 } else { 8 };
const AHEAD_MAX: usize = 8 * AHEAD;
const AHEAD_SHARE: usize = 8;

/// Nodes that are handed out held and taken back gone.
pub(super) struct Pool<T> {
    slab: Slab<T>,
    /// Nodes of some threads each: fresh ones, and those that these threads gave back.
    stocks: Growing<Padded<Latched<Nodes<T>>>>,
    /// Nodes that were given back and for which a stock had no room.
    free: Padded<Latched<Nodes<T>>>,
    /// Whether there may be such nodes: most indexes only grow, and nobody then wants the latch. Each time that it
    /// changes, all threads that read it wait for its line. So they read it only when their stocks are empty.
    has_free: Padded<AtomicBool>,
    /// The nodes that are made while no simulated worker runs: whoever makes them can wait for no latch.
    apart: Option<Box<Apart<T>>>,
}

struct Apart<T> {
    slab: Slab<T>,
    /// Fresh nodes for each place where nodes are needed, since loading makes the nodes of one place one after the
    /// other: they share pages, and those of other places have pages of their own.
    fresh: Latched<BTreeMap<usize, Nodes<T>>>,
}

struct Nodes<T>(Vec<NonNull<T>>);

// SAFETY: the pointers lead to elements of the pool's slab, which are shared between threads.
unsafe impl<T: Sync> Send for Nodes<T> {}

impl<T> Default for Nodes<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Node> Pool<T> {
    /// An empty pool that begins with memory for `first` nodes, a power of two.
    pub(super) fn new(first: usize) -> Self {
        Self {
            slab: Slab::new(first),
            stocks: Growing::default(),
            free: Padded::default(),
            has_free: Padded::default(),
            apart: None,
        }
    }

    /// A node that nobody else uses, although readers that knew it before may look at it. Its contents are as
    /// new, or as they were when it was given back.
    pub(super) fn take(&self) -> (&T, VersionLatchGuard<'_>) {
        self.take_for(workers::own_number())
    }

    /// A node for the thread of this number.
    fn take_for(&self, thread: usize) -> (&T, VersionLatchGuard<'_>) {
        let (stock, ahead) = self.stock(thread);
        let Nodes(stock) = &mut *stock.lock();
        if stock.is_empty() {
            stock.extend(self.take_free());
        }
        if stock.is_empty() {
            self.slab.push_all(ahead, |_| T::new(), |node| stock.push(node));
        }
        let node = stock.pop().expect("nodes were just made");
        // SAFETY: the node is an element of the slab, which outlives the borrow of `self`.
        let node = unsafe { node.as_ref() };
        // A node that was given back is gone, and a fresh one is not.
        let guard = node.latch().lock().unwrap_or_else(|| node.latch().revive());
        (node, guard)
    }

    /// The stock of a thread, and the number of nodes that are made for it at a time, or kept there when they are given
    /// back.
    fn stock(&self, thread: usize) -> (&Latched<Nodes<T>>, usize) {
        // An implicit index is a large one, however few of its nodes are made so far.
        let len = if self.apart.is_some() { usize::MAX } else { self.slab.len() };
        let stocks = (len / NODES_PER_STOCK).clamp(1, STOCKS);
        (self.stocks.make(thread % stocks), (len / stocks / AHEAD_SHARE).clamp(AHEAD, AHEAD_MAX))
    }

    /// A node for which a stock had no room.
    fn take_free(&self) -> Option<NonNull<T>> {
        // Relaxed: a hint; the latch orders what it says.
        let has_free = || self.has_free.load(Ordering::Relaxed);
        if !has_free() {
            return None;
        }
        // Who waits may hear that nothing is left.
        let mut free = self.free.lock_while(has_free)?;
        let node = free.0.pop();
        if free.0.is_empty() {
            // Relaxed: as above.
            self.has_free.store(false, Ordering::Relaxed);
        }
        node
    }

    /// An empty pool of an implicit index, of which loading would make so many nodes. It allows
    /// [`take_apart`](Self::take_apart), and begins with room for as many more nodes: a loaded index hardly ever makes
    /// room.
    pub(super) fn implicit(nodes: usize) -> Self {
        let apart = Some(Box::new(Apart { slab: Slab::new(8), fresh: Latched::default() }));
        Self { apart, ..Self::new(nodes.clamp(AHEAD_MAX, ROOM_MAX).next_power_of_two()) }
    }

    /// A new node like that of [`take`](Self::take), for callers within [`sync::hushed`]: no other caller takes the
    /// latches that this takes. `near` is any number of the place where the node is needed.
    pub(super) fn take_apart(&self, near: usize) -> (&T, VersionLatchGuard<'_>) {
        let Apart { slab, fresh } = self.apart.as_deref().expect("the index is implicit");
        let mut fresh = fresh.lock();
        let Nodes(nodes) = fresh.entry(near).or_default();
        if nodes.is_empty() {
            slab.push_all(AHEAD, |_| T::new(), |node| nodes.push(node));
            nodes.reverse();
        }
        let node = nodes.pop().expect("nodes were just made");
        // SAFETY: the node is an element of the slab, which outlives the borrow of `self`.
        let node = unsafe { node.as_ref() };
        (node, node.latch().lock().expect("a fresh node is not gone"))
    }

    /// Takes back a node to which no pointer leads any more.
    pub(super) fn give(&self, node: &T, guard: VersionLatchGuard<'_>) {
        self.give_for(workers::own_number(), node, guard);
    }

    /// Takes back a node from the thread of this number. The thread's next node is the same one if there is room: a
    /// transaction that takes its inserts back disturbs no other thread.
    fn give_for(&self, thread: usize, node: &T, guard: VersionLatchGuard<'_>) {
        guard.retire();
        let (stock, room) = self.stock(thread);
        let Nodes(stock) = &mut *stock.lock();
        if stock.len() < room {
            stock.push(NonNull::from(node));
            return;
        }
        let mut free = self.free.lock();
        free.0.push(NonNull::from(node));
        if free.0.len() == 1 {
            // Relaxed: a hint.
            self.has_free.store(true, Ordering::Relaxed);
        }
    }

    /// See [`Slab::populate_ahead`].
    pub(super) fn populate_ahead(&self) {
        self.slab.populate_ahead();
    }

    /// Nodes handed out and not taken back. One that moves meanwhile may not be counted.
    pub(super) fn in_use(&self) -> usize {
        // One latch at a time: whoever has that of a stock may wait for that of the others.
        let given_back = self.free.lock().0.len();
        let free = given_back + self.stocks().map(|stock| stock.lock().0.len()).sum::<usize>();
        let made_apart = self.apart.as_ref().map_or(0, |apart| apart.in_use());
        // A node that is taken and given back meanwhile may count as free twice.
        (self.slab.len() + made_apart).saturating_sub(free)
    }

    /// Like [`in_use`](Self::in_use) with few looks, for callers that ask often: the nodes of all stocks but the first
    /// count as in use, up to one in [`AHEAD_SHARE`] of the nodes. Not for indexes whose nodes are
    /// made [apart](Self::take_apart).
    pub(super) fn about_in_use(&self) -> usize {
        debug_assert!(self.apart.is_none(), "nodes made apart come back, too, and are not counted");
        // Relaxed: a hint; the latch orders what it says.
        let free = if self.has_free.load(Ordering::Relaxed) { self.free.lock().0.len() } else { 0 };
        let stock = self.stocks.get(0).map_or(0, |stock| stock.lock().0.len());
        self.slab.len().saturating_sub(free + stock)
    }

    /// Whether an address is in the memory of the nodes.
    pub(super) fn has(&self, address: usize) -> bool {
        self.slab.has(address) || self.apart.as_ref().is_some_and(|apart| apart.slab.has(address))
    }

    /// Whether an address is in one of the stocks of nodes.
    pub(super) fn has_stock(&self, address: usize) -> bool {
        self.stocks().any(|stock| is_in(stock, address))
    }

    /// The stocks that threads have used, and others between them.
    fn stocks(&self) -> impl Iterator<Item = &Padded<Latched<Nodes<T>>>> {
        (0..STOCKS).filter_map(|number| self.stocks.get(number))
    }

    /// Bytes of all nodes, in use or free.
    pub(super) fn bytes(&self) -> usize {
        self.slab.bytes() + self.apart.as_ref().map_or(0, |apart| apart.slab.bytes())
    }
}

impl<T> Apart<T> {
    /// Nodes handed out.
    fn in_use(&self) -> usize {
        let fresh: usize = hushed(|| self.fresh.lock().values().map(|nodes| nodes.0.len()).sum());
        self.slab.len() - fresh
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn elements_stay_where_they_are_as_the_slab_grows() {
        let slab = Slab::new(4);
        let addresses: Vec<_> =
            (0..10_000).map(|_| core::ptr::from_ref(slab.push(|number| number))).collect();
        for (number, &address) in addresses.iter().enumerate() {
            // SAFETY: it was made above.
            let element = unsafe { slab.get(number) };
            assert_eq!((*element, core::ptr::from_ref(element)), (number, address));
        }
        assert_eq!(slab.len(), addresses.len());
        assert_eq!(slab.bytes(), addresses.len() * size_of::<usize>());
    }

    #[test]
    fn threads_make_elements_of_their_own_side_by_side() {
        const EACH: usize = 30_000;
        let slab = Slab::new(4);
        let made = workers::run(4, false, |worker| {
            let mut numbers = Vec::new();
            while numbers.len() < EACH {
                slab.push_all(
                    3,
                    |number| (worker, number),
                    |element| {
                        // SAFETY: just made, and only shared since.
                        numbers.push(unsafe { element.as_ref() }.1);
                    },
                );
            }
            (worker, numbers)
        });
        for (worker, numbers) in &made {
            // SAFETY: they were made before the threads ended.
            assert!(numbers.iter().all(|&number| unsafe { *slab.get(number) } == (*worker, number)));
        }
        let mut numbers: Vec<usize> = made.into_iter().flat_map(|(_, numbers)| numbers).collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..4 * EACH), "each number is given once");
        assert_eq!(slab.len(), 4 * EACH);
    }

    #[test]
    fn nobody_waits_for_a_thread_that_makes_elements_before() {
        let slab = Slab::new(4);
        let (at_work, others_done) = (sync::Barrier::new(2), sync::Barrier::new(2));
        workers::run(2, false, |worker| {
            if worker == 0 {
                slab.push(|number| {
                    at_work.wait().expect("no thread panics");
                    others_done.wait().expect("no thread panics");
                    number
                });
            } else {
                at_work.wait().expect("no thread panics");
                assert_eq!(*slab.push(|number| number), 1);
                others_done.wait().expect("no thread panics");
            }
        });
        assert_eq!(slab.len(), 2);
    }

    #[test]
    fn memory_is_populated_ahead_of_elements_that_stay_as_they_are() {
        let slab: Slab<[usize; 512]> = Slab::new(4);
        let step = HUGE / size_of::<[usize; 512]>();
        for number in 0..3 * step {
            slab.push(|number| [number; 512]);
            slab.populate_ahead();
            let ahead = slab.growth.populated.load(Ordering::Relaxed);
            assert!(ahead > number || number + 1 < step, "{ahead} at element {number}");
        }
        for number in 0..3 * step {
            // SAFETY: it was made above.
            let element = unsafe { slab.get(number) };
            assert_eq!((element[0], element[511]), (number, number));
        }
    }

    #[test]
    fn a_slab_drops_its_elements() {
        let element = std::rc::Rc::new(());
        let slab = Slab::new(2);
        for _ in 0..100 {
            slab.push(|_| element.clone());
        }
        drop(slab);
        assert_eq!(std::rc::Rc::strong_count(&element), 1);
    }

    #[test]
    fn a_slab_with_a_gap_drops_nothing() {
        let element = std::rc::Rc::new(());
        let slab = Slab::new(2);
        slab.push(|_| element.clone());
        let make = |_| panic!("no memory");
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| slab.push(make)));
        assert!(result.is_err());
        slab.push(|_| element.clone());
        drop(slab);
        assert_eq!(std::rc::Rc::strong_count(&element), 3);
    }

    struct Plain(VersionLatch);

    impl Node for Plain {
        fn new() -> Self {
            Self(VersionLatch::new())
        }

        fn latch(&self) -> &VersionLatch {
            &self.0
        }
    }

    #[test]
    fn a_large_pool_has_several_stocks_and_a_small_one_has_one() {
        let pool: Pool<Plain> = Pool::new(2);
        let number = |node: &Plain| {
            // SAFETY: made by this thread.
            let is_it = |at: &usize| core::ptr::eq(unsafe { pool.slab.get(*at) }, node);
            (0..pool.slab.len()).find(is_it).expect("it is of the pool")
        };
        let mut taken = std::collections::BTreeSet::new();
        let mut take = |thread: usize| {
            let (node, guard) = pool.take_for(thread);
            drop(guard);
            assert!(taken.insert(number(node)), "a node is taken once");
            number(node)
        };
        let mut few = 0;
        while pool.slab.len() < 2 * NODES_PER_STOCK {
            take(few);
            few += 1;
            let ahead = (few / AHEAD_SHARE).max(AHEAD);
            assert!(pool.slab.len() - few < ahead, "each batch is used up before the next is made");
        }
        let shared = take(0);
        let made = pool.slab.len();
        assert_eq!(made / NODES_PER_STOCK, 2);
        assert!(take(1) >= made, "a stock of its own, which makes nodes");
        assert!(shared < made && take(0) < made, "the stock that was there");
        assert_eq!(pool.in_use(), few + 3);
        let fresh = pool.stocks.get(1).map_or(0, |stock| stock.lock().0.len());
        assert!(fresh > 0 && fresh <= pool.slab.len() / AHEAD_SHARE, "{fresh} of {}", pool.slab.len());
        assert_eq!(pool.about_in_use(), few + 3 + fresh, "those of the second stock count as in use");
    }

    #[test]
    fn a_count_of_nodes_that_move_is_never_beyond_those_made() {
        // The stock has room for half of them.
        let made = 2 * AHEAD;
        for _ in 0..2_000 {
            let pool: Pool<Plain> = Pool::new(2);
            let is_done = AtomicBool::new(false);
            workers::run(2, false, |worker| {
                if worker == 1 {
                    while !is_done.load(Ordering::Relaxed) {
                        assert!(pool.in_use() <= made, "some are in use, or all that are being made");
                    }
                    return;
                }
                let taken: Vec<_> = (0..made).map(|_| pool.take_for(0)).collect();
                for (node, guard) in taken {
                    pool.give(node, guard);
                }
                is_done.store(true, Ordering::Relaxed);
            });
        }
    }

    #[test]
    fn a_node_that_is_given_back_serves_its_thread_and_disturbs_no_other() {
        let pool: Pool<Plain> = Pool::implicit(2);
        let (node, guard) = pool.take_for(0);
        drop(pool.take_for(1).1);
        pool.give_for(0, node, guard);
        assert!(!pool.has_free.load(Ordering::Relaxed));
        let (again, guard) = pool.take_for(0);
        assert!(core::ptr::eq(again, node));
        drop(guard);
    }

    #[test]
    fn nodes_for_which_a_stock_has_no_room_serve_all_threads() {
        let pool: Pool<Plain> = Pool::implicit(2);
        let taken: Vec<_> = (0..2 * AHEAD_MAX).map(|_| pool.take_for(0)).collect();
        for (node, guard) in taken {
            pool.give_for(0, node, guard);
        }
        assert!(pool.has_free.load(Ordering::Relaxed));
        assert_eq!(pool.in_use(), 0);
        for left in (0..AHEAD_MAX).rev() {
            drop(pool.take_for(1).1);
            assert_eq!(pool.has_free.load(Ordering::Relaxed), left > 0);
            assert_eq!(pool.slab.len(), 2 * AHEAD_MAX, "none is made while some are free");
        }
        drop(pool.take_for(1).1);
        assert_eq!(pool.slab.len(), 3 * AHEAD_MAX);
    }

    #[test]
    fn a_large_index_makes_more_nodes_at_a_time() {
        let made = |is_implicit| {
            let pool: Pool<Plain> = if is_implicit { Pool::implicit(2) } else { Pool::new(2) };
            drop(pool.take_for(0).1);
            pool.slab.len()
        };
        assert_eq!((made(false), made(true)), (AHEAD, AHEAD_MAX), "an implicit index counts as a large one");
        let pool: Pool<Plain> = Pool::new(2);
        while pool.slab.len() < STOCKS * NODES_PER_STOCK * AHEAD {
            drop(pool.take_for(0).1);
        }
        let before = pool.slab.len();
        drop(pool.take_for(1).1);
        assert_eq!(pool.slab.len(), before + AHEAD_MAX, "the first of another thread");
    }

    #[test]
    fn a_node_that_comes_back_has_a_version_that_it_never_had() {
        let pool: Pool<Plain> = Pool::new(2);
        let mut versions = Vec::new();
        for _ in 0..10 {
            let (node, guard) = pool.take();
            drop(guard);
            versions.push(node.0.read().expect("in use"));
            assert_eq!([pool.in_use(), pool.about_in_use()], [1, 1]);
            pool.give(node, node.0.lock().expect("in use"));
            assert!(node.0.read().is_none(), "gone");
            assert_eq!([pool.in_use(), pool.about_in_use()], [0, 0]);
        }
        assert!(versions.is_sorted_by(|a, b| a < b));
        assert_eq!(pool.bytes(), AHEAD * size_of::<Plain>(), "it was the same node each time");
    }
}
