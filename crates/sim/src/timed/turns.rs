//! The turns of workers: whose time is the least.

/// Bits of a worker's number in a turn.
const WORKER_BITS: u32 = 15;

/// The latest time of a turn, in picoseconds: some nine minutes.
pub(super) const LATEST: u64 = (1 << (u64::BITS - WORKER_BITS)) - 2;

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
}

impl Turns {
    /// No turns of so many workers.
    pub(super) fn new(workers: usize) -> Self {
        assert!(workers <= 1 << WORKER_BITS, "a worker's number has its place in a turn");
        Self { nodes: vec![NEVER; 2 * workers.next_power_of_two()] }
    }

    /// Lets a worker go on from a time on, at the [`LATEST`], whatever its turn was before.
    #[inline]
    pub(super) fn set(&mut self, worker: usize, at: u64) {
        self.put(worker, turn(worker, at));
    }

    /// Whether no other worker's turn comes before that of this worker at this time.
    #[inline]
    pub(super) fn is_first(&self, worker: usize, at: u64) -> bool {
        turn(worker, at) < self.nodes[1]
    }

    /// The worker whose turn is first.
    #[inline]
    pub(super) fn first(&self) -> Option<usize> {
        let turn = self.nodes[1];
        (turn != NEVER).then_some(worker_of(turn))
    }

    /// Takes the first turn: its worker and its time.
    #[inline]
    pub(super) fn take(&mut self) -> Option<(usize, u64)> {
        let turn = self.nodes[1];
        if turn == NEVER {
            return None;
        }
        let worker = worker_of(turn);
        self.put(worker, NEVER);
        Some((worker, turn >> WORKER_BITS))
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

#[inline]
fn worker_of(turn: u64) -> usize {
    (turn & ((1 << WORKER_BITS) - 1)) as usize
}

#[inline]
fn turn(worker: usize, at: u64) -> u64 {
    at << WORKER_BITS | worker as u64
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
        turns.set(0, LATEST);
        assert_eq!(turns.take(), Some((0, LATEST)));
    }
}
