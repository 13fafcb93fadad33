//! The placement of requests on workers: thread-aware reordering (Ding, Kot, Gehrke, PVLDB 12(2), 2018).
//!
//! Each worker gathers the requests of its clients in batches. The requests of a batch that conflict, as far as their
//! footprints tell, are placed on the same worker, which executes them one after the other. The source says no more
//! than that. For the conflicts of requests in different batches, which may be batches of different workers, this file
//! adds *leases*: a contended key belongs to the worker on which its requests were placed last, for about the time that
//! this worker takes for them, and later requests with the key are placed there, too.
//!
//! A wrong placement costs conflicts, which the scheme resolves, and never correctness. So all accesses to the shared
//! words are Relaxed, and a lease may be overwritten by that of another key with the same place.

use core::num::NonZero;

use orders::{KeySets, LargeComponents, ThreadAware};
use sync::atomic::{AtomicU64, Ordering};
use sync::{Padded, clock};

use super::Reorder;
use crate::Footprint;

/// The number of places for leases: a power of two, many times the number of contended keys.
const LEASES: usize = 1 << 14;
/// The bits of a lease that name the worker. The bits above are the time at which it ends.
const WORKER_BITS: u32 = 16;
/// The unit of the time in a lease: about a microsecond.
const TIME_SHIFT: u32 = 10;
/// The length of an attempt before one was measured.
const FIRST_NS: u64 = 2_000;

/// The state that the workers share.
#[derive(Debug)]
pub(super) struct Placement {
    reorder: Reorder,
    leases: Box<[AtomicU64]>,
    loads: Box<[Padded<Load>]>,
}

/// The load of a worker.
#[derive(Debug, Default)]
struct Load {
    /// The number of requests that were placed on it and have not ended.
    requests: AtomicU64,
    /// The mean time that it takes for one, of the last ones; in nanoseconds, 0 before the first.
    each_ns: AtomicU64,
}

impl Placement {
    pub(super) fn new(reorder: Reorder, workers: usize) -> Self {
        assert!(workers < 1 << WORKER_BITS, "a lease names its worker");
        let leases = (0..LEASES).map(|_| AtomicU64::new(0)).collect();
        Self { reorder, leases, loads: (0..workers).map(|_| Padded::default()).collect() }
    }

    /// Records that a worker has executed a request in this time.
    pub(super) fn ended(&self, worker: usize, took_ns: u64) {
        let load = &self.loads[worker];
        load.requests.fetch_sub(1, Ordering::Relaxed);
        let mean_ns = load.each_ns.load(Ordering::Relaxed);
        // Time without a core does not make a request long.
        let took_ns = took_ns.min(4 * mean_ns + 100_000);
        let next_ns = if mean_ns == 0 { took_ns } else { mean_ns - mean_ns / 16 + took_ns / 16 };
        load.each_ns.store(next_ns, Ordering::Relaxed);
    }

    fn requests(&self, worker: usize) -> u64 {
        self.loads[worker].requests.load(Ordering::Relaxed)
    }

    /// The worker that has a lease of the key.
    fn holder(&self, key: u64, now_ns: u64) -> Option<usize> {
        let lease = self.place(key).load(Ordering::Relaxed);
        (lease >> WORKER_BITS > now_ns >> TIME_SHIFT).then_some((lease & ((1 << WORKER_BITS) - 1)) as usize)
    }

    /// Gives the worker a lease of the key, for the time in which it is likely to have requests with it.
    fn lease(&self, key: u64, worker: usize, now_ns: u64) {
        let each_ns = match self.loads[worker].each_ns.load(Ordering::Relaxed) {
            0 => FIRST_NS,
            ns => ns,
        };
        let lasts_ns = each_ns * (self.requests(worker) + self.reorder.batch_max as u64);
        let until = (now_ns + lasts_ns) >> TIME_SHIFT;
        self.place(key).store(until << WORKER_BITS | worker as u64, Ordering::Relaxed);
    }

    fn place(&self, key: u64) -> &AtomicU64 {
        &self.leases[key as usize & (LEASES - 1)]
    }
}

/// The part of a worker that places requests.
#[derive(Debug)]
pub(super) struct Placer<'s> {
    placement: &'s Placement,
    own: usize,
    division: ThreadAware,
    order: Vec<u32>,
    /// By position in the batch.
    workers: Vec<u32>,
    /// By worker: the number of keys of a piece that it has a lease of.
    votes: Vec<u32>,
}

impl<'s> Placer<'s> {
    pub(super) fn new(placement: &'s Placement, own: usize) -> Self {
        let votes = vec![0; placement.loads.len()];
        let [order, workers] = [Vec::new(), Vec::new()];
        Self { placement, own, division: ThreadAware::default(), order, workers, votes }
    }

    /// Divides a batch of `len` requests into pieces and places each; `footprint_of` returns the footprint of the request
    /// at a position.
    pub(super) fn place<'f>(&mut self, len: usize, footprint_of: impl Fn(u32) -> &'f Footprint) {
        let Self { placement, own, division, order, workers, votes } = self;
        let count = NonZero::new(votes.len()).expect("there is a worker");
        order.clear();
        order.extend(0..len as u32);
        let sets = (0..len as u32).map(|at| {
            let footprint = footprint_of(at);
            KeySets { reads: footprint.reads(), writes: footprint.writes() }
        });
        division.divide(sets, order, count, placement.reorder.large);
        workers.clear();
        workers.resize(len, 0);
        let now_ns = clock::now_ns();
        for piece in division.pieces() {
            votes.fill(0);
            piece.iter().for_each(|at| placement.vote(footprint_of(*at), now_ns, votes));
            let worker = placement.choose(piece.len(), *own, votes);
            piece.iter().for_each(|at| workers[*at as usize] = worker as u32);
            placement.loads[worker].requests.fetch_add(piece.len() as u64, Ordering::Relaxed);
        }
        for (key, at) in division.conflicts() {
            placement.lease(key, workers[at as usize] as usize, now_ns);
        }
    }

    /// The pieces of the last batch: the worker of each, and the positions of its requests, in the order in which they
    /// are to be executed.
    pub(super) fn placed(&self) -> impl Iterator<Item = (usize, &[u32])> {
        self.division.pieces().map(|piece| (self.workers[piece[0] as usize] as usize, piece))
    }

    /// Places a request whose last attempt was aborted: returns its worker. All that it writes is contended.
    pub(super) fn place_again(&mut self, footprint: &Footprint) -> usize {
        let now_ns = clock::now_ns();
        self.votes.fill(0);
        self.placement.vote(footprint, now_ns, &mut self.votes);
        let worker = self.placement.choose(1, self.own, &self.votes);
        self.placement.loads[worker].requests.fetch_add(1, Ordering::Relaxed);
        for key in footprint.writes() {
            self.placement.lease(*key, worker, now_ns);
        }
        worker
    }
}

impl Placement {
    /// Counts the keys of a footprint by the workers that have a lease of them.
    fn vote(&self, footprint: &Footprint, now_ns: u64, votes: &mut [u32]) {
        for key in footprint.writes().iter().chain(footprint.reads()) {
            if let Some(worker) = self.holder(*key, now_ns) {
                votes[worker] += 1;
            }
        }
    }

    /// Chooses the worker for a piece of `len` requests: the one that has leases of most of its keys, or else the one
    /// whose clients sent them. If that worker has much more to do than another one, the piece goes to the other one,
    /// unless conflicts must stay together.
    fn choose(&self, len: usize, own: usize, votes: &[u32]) -> usize {
        let workers = self.loads.len();
        let most = (0..workers).max_by_key(|worker| (votes[*worker], *worker == own)).unwrap_or(own);
        if votes[most] > 0 && self.reorder.large == LargeComponents::Keep {
            return most;
        }
        let share = self.reorder.batch_max.div_ceil(workers) as u64;
        let least = (0..workers).min_by_key(|worker| self.requests(*worker)).unwrap_or(own);
        let is_ahead = self.requests(most) + len as u64 > self.requests(least) + share;
        if is_ahead { least } else { most }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn placement(large: LargeComponents) -> Placement {
        Placement::new(Reorder { batch_max: 8, large }, 2)
    }

    fn footprint(reads: &[u64], writes: &[u64]) -> Footprint {
        Footprint::of_numbers(reads, writes)
    }

    /// The pieces of a batch, each with its worker.
    fn place(placer: &mut Placer<'_>, batch: &[Footprint]) -> Vec<(usize, Vec<u32>)> {
        placer.place(batch.len(), |at| &batch[at as usize]);
        placer.placed().map(|(worker, piece)| (worker, piece.to_vec())).collect()
    }

    #[test]
    fn conflicts_stay_together_and_the_rest_stays_at_home() {
        let placement = placement(LargeComponents::Keep);
        let mut placer = Placer::new(&placement, 1);
        let batch = [footprint(&[1], &[2]), footprint(&[], &[3]), footprint(&[2], &[])];
        assert_eq!(place(&mut placer, &batch), [(1, vec![0, 2]), (1, vec![1])]);
        assert_eq!(placement.requests(1), 3);
        (0..3).for_each(|_| placement.ended(1, 1_000));
        assert_eq!(placement.requests(1), 0);
    }

    #[test]
    fn a_contended_key_stays_with_its_worker_for_other_batches() {
        let placement = placement(LargeComponents::Keep);
        let [mut one, mut other] = [0, 1].map(|own| Placer::new(&placement, own));
        let both = [footprint(&[], &[7]), footprint(&[7], &[])];
        assert_eq!(place(&mut one, &both), [(0, vec![0, 1])]);
        let reader = [footprint(&[7], &[5]), footprint(&[8], &[])];
        assert_eq!(place(&mut other, &reader), [(0, vec![0]), (1, vec![1])]);
        assert_eq!(place(&mut other, &[footprint(&[], &[5])]), [(1, vec![0])], "nobody else used key 5");
        let aborted = footprint(&[7], &[6]);
        assert_eq!(other.place_again(&aborted), 0);
        assert_eq!(place(&mut other, &[footprint(&[], &[6])]), [(0, vec![0])]);
    }

    #[test]
    fn a_lease_ends() {
        let placement = placement(LargeComponents::Keep);
        let now_ns = clock::now_ns();
        placement.lease(9, 1, now_ns);
        assert_eq!(placement.holder(9, now_ns), Some(1));
        assert_eq!(placement.holder(9, now_ns + 8 * FIRST_NS + 2_048), None);
        assert_eq!(placement.holder(10, now_ns), None);
    }

    #[test]
    fn a_worker_that_is_far_ahead_gets_no_more_unless_conflicts_must_stay_together() {
        for large in [LargeComponents::Keep, LargeComponents::Cut] {
            let placement = placement(large);
            let mut placer = Placer::new(&placement, 0);
            let batch: Vec<Footprint> = (0..8).map(|_| footprint(&[], &[7])).collect();
            for _ in 0..5 {
                place(&mut placer, &batch);
                let loads = [0, 1].map(|worker| placement.requests(worker));
                match large {
                    LargeComponents::Keep => assert_eq!(loads[1], 0),
                    LargeComponents::Cut => assert!(loads[0].abs_diff(loads[1]) <= 4, "{loads:?}"),
                }
            }
        }
    }
}
