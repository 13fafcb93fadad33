//! Workers for the transactions of a batch: those that conflict are given to the same worker, which executes them one
//! after the other, so that they meet no conflict and share a cache (the thread-aware policy of Ding, Kot and Gehrke
//! 2018). The source describes the aim; components and their placement are ours.

use core::cmp::Reverse;
use core::num::NonZero;

use crate::graph::KeySets;
use crate::uses::KeyUses;

/// The treatment of a component of conflicting transactions that is larger than an even share of the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LargeComponents {
    /// One worker gets the component, so that no two workers conflict.
    Keep,
    /// Several workers get a piece each, so that no worker has much more than its share.
    Cut,
}

/// A division of a batch into pieces that conflict with each other as little as possible, and an assignment of the
/// pieces to workers, with their memory.
///
/// Two transactions conflict if one writes a key that the other reads or writes. Components are the connected
/// components of this relation. A piece is a component, or a part of one that is cut. The largest piece is placed
/// first, on the worker with the fewest transactions. A caller who knows more of the workers [divides](Self::divide)
/// the batch only.
///
/// *Promised:* each transaction is in one piece, and is given to one worker; the transactions of a piece are in the
/// order that was given, and a worker gets them one after the other; with [`LargeComponents::Keep`] no transactions of
/// different pieces conflict; with [`LargeComponents::Cut`] no piece is larger than an even share, rounded up; the same
/// batch gives the same pieces and lists.
///
/// *Not promised:* equal lists, since a batch may be one component; the absence of conflicts with transactions of other
/// batches; the absence of conflicts between workers after a cut. So workers need concurrency control all the same.
#[derive(Clone, Debug, Default)]
pub struct ThreadAware {
    uses: KeyUses,
    /// A forest: each transaction leads to the first one of its component.
    parents: Vec<u32>,
    /// The transactions that are placed, by component: the component, and the place in the given order.
    placed: Vec<(u32, u32)>,
    /// The same transactions, piece by piece.
    listed: Vec<u32>,
    /// Pieces, the largest first: the start and the end in `listed`.
    pieces: Vec<(u32, u32)>,
    loads: Vec<usize>,
    /// The worker of each piece.
    workers: Vec<u32>,
    lists: Vec<u32>,
    /// The end of each worker's list.
    ends: Vec<usize>,
}

impl ThreadAware {
    /// Divides the transactions of `order` into pieces for this many workers, and assigns the pieces to the workers.
    /// Positions in `order` are those of `transactions`, and occur at most once; transactions that are missing, such as
    /// victims, are not assigned.
    ///
    /// # Panics
    /// If `order` has a position that is not in the batch.
    pub fn assign<'a>(
        &mut self,
        transactions: impl IntoIterator<Item = KeySets<'a>>,
        order: &[u32],
        workers: NonZero<usize>,
        large: LargeComponents,
    ) {
        self.divide(transactions, order, workers, large);
        self.place(workers.get());
        self.write(workers.get());
    }

    /// Divides the transactions of `order` into [pieces](Self::pieces), as [`assign`](Self::assign) does.
    ///
    /// # Panics
    /// If `order` has a position that is not in the batch.
    pub fn divide<'a>(
        &mut self,
        transactions: impl IntoIterator<Item = KeySets<'a>>,
        order: &[u32],
        workers: NonZero<usize>,
        large: LargeComponents,
    ) {
        let len = self.uses.list(transactions);
        self.connect(len, order);
        let share = order.len().div_ceil(workers.get());
        self.cut(order, if large == LargeComponents::Keep { order.len() } else { share });
    }

    /// Joins the transactions of `order` that conflict, and sorts them by component.
    fn connect(&mut self, len: usize, order: &[u32]) {
        self.parents.clear();
        self.parents.resize(len, NOT_PLACED);
        for at in order {
            self.parents[*at as usize] = *at;
        }
        for uses in self.uses.of_each_key() {
            let is_placed = |at: u32| self.parents[at as usize] != NOT_PLACED;
            if !uses.clone().any(|of| of.is_write && is_placed(of.at)) {
                continue;
            }
            let mut one = None;
            for at in uses.map(|of| of.at) {
                if self.parents[at as usize] != NOT_PLACED {
                    join(&mut self.parents, *one.get_or_insert(at), at);
                }
            }
        }
        self.placed.clear();
        for (at, place) in order.iter().zip(0..) {
            self.placed.push((root(&mut self.parents, *at), place));
        }
        self.placed.sort_unstable();
    }

    /// Cuts components into pieces of at most `most` transactions, and sorts the pieces, the largest first.
    fn cut(&mut self, order: &[u32], most: usize) {
        self.pieces.clear();
        self.listed.clear();
        self.listed.extend(self.placed.iter().map(|(_, place)| order[*place as usize]));
        let mut start = 0;
        for component in self.placed.chunk_by(|one, other| one.0 == other.0) {
            for piece in component.chunks(most) {
                let end = start + piece.len() as u32;
                self.pieces.push((start, end));
                start = end;
            }
        }
        self.pieces.sort_unstable_by_key(|(start, end)| (Reverse(end - start), *start));
    }

    /// The pieces, the largest first: positions in the batch.
    pub fn pieces(&self) -> impl ExactSizeIterator<Item = &[u32]> + Clone {
        self.pieces.iter().map(|(start, end)| &self.listed[*start as usize..*end as usize])
    }

    /// The keys that a transaction of the batch writes and another one uses, each with one of these transactions.
    pub fn conflicts(&self) -> impl Iterator<Item = (u64, u32)> {
        self.uses.of_each_key().filter_map(|mut uses| uses.next().map(|of| (of.key, of.at)))
    }

    /// Places each piece on the worker with the fewest transactions.
    fn place(&mut self, workers: usize) {
        self.loads.clear();
        self.loads.resize(workers, 0);
        self.workers.clear();
        for (start, end) in &self.pieces {
            let least = (0..workers).min_by_key(|worker| self.loads[*worker]).expect("there is a worker");
            self.loads[least] += (end - start) as usize;
            self.workers.push(least as u32);
        }
    }

    /// Writes the list of each worker.
    fn write(&mut self, workers: usize) {
        self.ends.clear();
        self.lists.clear();
        for worker in 0..workers as u32 {
            for ((start, end), _) in self.pieces.iter().zip(&self.workers).filter(|(_, of)| **of == worker) {
                self.lists.extend_from_slice(&self.listed[*start as usize..*end as usize]);
            }
            self.ends.push(self.lists.len());
        }
    }

    /// The list of each worker that [`assign`](Self::assign) made, in the order of execution. Some may be empty.
    pub fn lists(&self) -> impl Iterator<Item = &[u32]> {
        let starts = core::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(start, end)| &self.lists[*start..*end])
    }
}

/// In place of a parent: the transaction is not in the given order, and connects nobody.
const NOT_PLACED: u32 = u32::MAX;

/// The first transaction of a component. Paths to it are halved as they are walked.
fn root(parents: &mut [u32], of: u32) -> u32 {
    let mut at = of as usize;
    while parents[at] as usize != at {
        parents[at] = parents[parents[at] as usize];
        at = parents[at] as usize;
    }
    at as u32
}

/// Joins two components; the earlier first transaction is that of both.
fn join(parents: &mut [u32], one: u32, other: u32) {
    let (one, other) = (root(parents, one), root(parents, other));
    parents[one.max(other) as usize] = one.min(other);
}

#[cfg(test)]
mod tests {
    use super::*;
    use stdx::Rng;

    const KEEP: LargeComponents = LargeComponents::Keep;
    const CUT: LargeComponents = LargeComponents::Cut;

    fn lists(
        sets: &[(&[u64], &[u64])],
        order: &[u32],
        workers: usize,
        large: LargeComponents,
    ) -> Vec<Vec<u32>> {
        let mut threads = ThreadAware::default();
        let sets = sets.iter().map(|&(reads, writes)| KeySets { reads, writes });
        threads.assign(sets, order, NonZero::new(workers).unwrap(), large);
        threads.lists().map(<[u32]>::to_vec).collect()
    }

    #[test]
    fn conflicts_share_a_worker_and_reads_do_not() {
        // 0 and 2 write a key that the other reads; 1 and 3 write the same key blindly; 4 and 5 read the same key.
        let sets: [(&[u64], &[u64]); 6] =
            [(&[1], &[]), (&[], &[2]), (&[], &[1]), (&[], &[2]), (&[3], &[]), (&[3], &[])];
        let found = lists(&sets, &[5, 3, 2, 1, 0, 4], 3, KEEP);
        assert_eq!(found, [[2, 0], [3, 1], [4, 5]]);
    }

    #[test]
    fn those_that_are_left_out_connect_nobody() {
        let sets: [(&[u64], &[u64]); 4] = [(&[1], &[]), (&[], &[1, 2]), (&[2], &[]), (&[1], &[])];
        assert_eq!(lists(&sets, &[0, 1, 2, 3], 2, KEEP), [vec![0, 1, 2, 3], vec![]]);
        assert_eq!(lists(&sets, &[0, 2, 3], 3, KEEP), [[0], [2], [3]]);
        assert_eq!(lists(&sets, &[], 2, CUT), [vec![], Vec::<u32>::new()]);
    }

    #[test]
    fn a_component_is_cut_only_if_that_is_allowed() {
        let sets: [(&[u64], &[u64]); 5] = [(&[], &[1]); 5];
        assert_eq!(lists(&sets, &[4, 3, 2, 1, 0], 2, KEEP), [vec![4, 3, 2, 1, 0], vec![]]);
        assert_eq!(lists(&sets, &[4, 3, 2, 1, 0], 2, CUT), [vec![4, 3, 2], vec![1, 0]]);
    }

    #[test]
    fn random_batches_keep_the_promises() {
        let mut threads = ThreadAware::default();
        for seed in 0..300 {
            let mut rng = Rng::from_path(&[seed, 21]);
            let len = rng.below(80) as usize;
            let keys = [40, 400, 4_000][seed as usize % 3];
            let sets: Vec<[Vec<u64>; 2]> =
                (0..len).map(|_| [2, 2].map(|count| (0..count).map(|_| rng.below(keys)).collect())).collect();
            let mut order: Vec<u32> = (0..len as u32).filter(|_| rng.percent(80.0)).collect();
            order.reverse();
            let workers = NonZero::new(1 + rng.below(6) as usize).unwrap();
            let large = if rng.percent(50.0) { KEEP } else { CUT };
            let all = || sets.iter().map(|[reads, writes]| KeySets { reads, writes });
            threads.assign(all(), &order, workers, large);
            let share = order.len().div_ceil(workers.get());
            assert!(large == KEEP || threads.pieces().all(|piece| piece.len() <= share), "seed {seed}");
            assert!(
                threads.pieces().map(<[u32]>::len).is_sorted_by(|one, other| one >= other),
                "seed {seed}"
            );
            for (key, at) in threads.conflicts() {
                let uses = |at: &u32| sets[*at as usize].iter().flatten().any(|used| *used == key);
                let users = (0..len as u32).filter(uses).count();
                assert!(uses(&at) && users > 1 && sets.iter().any(|[_, written]| written.contains(&key)));
            }
            let lists: Vec<&[u32]> = threads.lists().collect();
            assert_eq!(lists.len(), workers.get());
            let mut placed = lists.concat();
            placed.sort_unstable_by_key(|at| Reverse(*at));
            assert_eq!(placed, order, "seed {seed}");
            for (worker, list) in lists.iter().enumerate() {
                // The last piece went to the worker with the fewest transactions.
                let is_even = list.len() <= 2 * share;
                assert!(large == KEEP || is_even, "seed {seed}");
                for (place, one) in list.iter().enumerate() {
                    let conflicts = |other: &u32| is_conflict(&sets[*one as usize], &sets[*other as usize]);
                    let later = list[place + 1..].iter().filter(|other| conflicts(other));
                    assert!(later.into_iter().all(|other| other < one), "seed {seed}: the given order");
                    let mut elsewhere = lists[worker + 1..].iter().flat_map(|list| list.iter());
                    assert!(large == CUT || !elsewhere.any(conflicts), "seed {seed}: a conflict");
                }
            }
        }
    }

    fn is_conflict([reads, writes]: &[Vec<u64>; 2], [other_reads, other_writes]: &[Vec<u64>; 2]) -> bool {
        writes.iter().any(|key| other_reads.contains(key) || other_writes.contains(key))
            || reads.iter().any(|key| other_writes.contains(key))
    }
}
