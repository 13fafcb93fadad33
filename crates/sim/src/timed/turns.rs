//! The turns of workers: whose time is the least.

/// The greatest number of bits of a worker's number in a turn.
const WORKER_BITS_MAX: u32 = 15;

/// The turn of a worker that has none.
const NEVER: u64 = u64::MAX;

/// The workers that can go on, by the time from which they can. Each has one turn: a time in picoseconds, and the
/// worker's number, which decides between equal times.
///
/// A tree: each node has the earlier turn of its two children, and each leaf that of a worker. So a turn moves in the
/// time of one way to the root, and no turn that was replaced has to be skipped later.
#[derive(Debug)]
pub(super) struct Turns {
    /// The root is number 1, and the children of `n` are `2n` and `2n + 1`.
    nodes: Vec<u64>,
    /// Bits of a worker's number in a turn, below the time.
    worker_bits: u32,
}

impl Turns {
    /// No turns of so many workers.
    pub(super) fn new(workers: usize) -> Self {
        assert!(workers <= 1 << WORKER_BITS_MAX, "a worker's number has its place in a turn");
        let leaves = workers.next_power_of_two();
        Self { nodes: vec![NEVER; 2 * leaves], worker_bits: leaves.ilog2() }
    }

    /// The latest time of a turn, in picoseconds: two and a half hours with 2,048 workers, and longer with fewer.
    pub(super) fn latest(&self) -> u64 {
        (NEVER >> self.worker_bits) - 1
    }

    /// Lets a worker go on from a time on, at the [latest](Self::latest) one, whatever its turn was before.
    #[inline]
    pub(super) fn set(&mut self, worker: usize, at: u64) {
        self.put(worker, self.turn(worker, at));
    }

    /// Whether no other worker's turn comes before that of this worker at this time.
    #[inline]
    pub(super) fn is_first(&self, worker: usize, at: u64) -> bool {
        self.turn(worker, at) < self.nodes[1]
    }

    /// The worker whose turn is first.
    #[inline]
    pub(super) fn first(&self) -> Option<usize> {
        let turn = self.nodes[1];
        (turn != NEVER).then_some(self.worker_of(turn))
    }

    /// Takes the first turn: its worker and its time.
    #[inline]
    pub(super) fn take(&mut self) -> Option<(usize, u64)> {
        let turn = self.nodes[1];
        if turn == NEVER {
            return None;
        }
        let worker = self.worker_of(turn);
        self.put(worker, NEVER);
        Some((worker, turn >> self.worker_bits))
    }

    #[inline]
    fn turn(&self, worker: usize, at: u64) -> u64 {
        at << self.worker_bits | worker as u64
    }

    #[inline]
    fn worker_of(&self, turn: u64) -> usize {
        (turn & ((1 << self.worker_bits) - 1)) as usize
    }

    #[inline]
    fn put(&mut self, worker: usize, turn: u64) {
        let mut node = self.nodes.len() / 2 + worker;
        self.nodes[node] = turn;
        while node > 1 {
            let earlier = self.nodes[node].min(self.nodes[node ^ 1]);
            node /= 2;
            if self.nodes[node] == earlier {
                return;
            }
            self.nodes[node] = earlier;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_come_in_the_order_of_their_times_and_then_of_their_workers() {
        let mut turns = Turns::new(5);
        assert!(turns.take().is_none() && turns.is_first(2, 1 << 50), "nobody has a turn");
        for (worker, at) in [(3, 20), (0, 30), (4, 10), (1, 20)] {
            turns.set(worker, at);
        }
        let firsts = [(3, 9), (3, 10), (4, 10)].map(|(worker, at)| turns.is_first(worker, at));
        assert_eq!(firsts, [true, true, false], "numbers decide between equal times");
        turns.set(4, 40);
        turns.set(0, 5);
        assert_eq!(turns.first(), Some(0));
        let order: Vec<_> = core::iter::from_fn(|| turns.take()).collect();
        assert_eq!(order, [(0, 5), (1, 20), (3, 20), (4, 40)]);
        assert_eq!((turns.take(), turns.first()), (None, None));
    }

    #[test]
    fn one_worker_has_a_turn_of_its_own() {
        let mut turns = Turns::new(1);
        turns.set(0, 7);
        assert_eq!((turns.take(), turns.take()), (Some((0, 7)), None));
    }

    #[test]
    fn the_latest_time_is_hours_away() {
        for workers in [1, 2, 3, 1_570, 2_048] {
            let mut turns = Turns::new(workers);
            let latest = turns.latest();
            assert!(latest > 9_000_000_000_000_000, "{workers} workers, {latest} ps");
            turns.set(workers - 1, latest);
            turns.set(0, latest - 1);
            assert_eq!(turns.take(), Some((0, latest - 1)), "{workers} workers");
            assert_eq!(turns.take(), (workers > 1).then_some((workers - 1, latest)), "{workers} workers");
        }
    }
}
