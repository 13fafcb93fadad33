//! The placement of requests in lanes: thread-aware reordering (Ding, Kot, Gehrke, PVLDB 12(2), 2018).
//!
//! Each worker gathers the requests of its clients in batches. The requests of a batch that conflict, as far as their
//! footprints tell, are placed in the same lane of the same worker, which executes them one after the other. The source
//! says no more than that. For the conflicts of requests in different batches, which may be batches of different
//! workers, this file adds *leases*: a contended key belongs to the lane in which its requests were placed last, until
//! the worker of the lane has executed as many requests as it had then, and a batch more. Later requests with the key
//! are placed there, too, and extend the lease.
//!
//! A wrong placement costs conflicts, which the scheme resolves, and never correctness. So all accesses to the shared
//! words are Relaxed, and a lease may be overwritten by that of another key with the same place.

use core::num::NonZero;

use orders::{KeySets, LargeComponents, ThreadAware};
use sync::Padded;
use sync::atomic::{AtomicU64, Ordering};

use super::Reorder;
use crate::InputFootprint;

/// The number of places for leases: a power of two, many times the number of contended keys.
const LEASES: usize = 1 << 14;
/// The bits of a lease that name the lane. The bits above are the number of ended requests of the lane's worker at
/// which the lease ends.
const LANE_BITS: u32 = 24;
/// The maximum number of lanes among which an empty one is looked for.
const LOOKS: usize = 32;

/// The state that the workers share.
#[derive(Debug)]
pub(super) struct Placement {
    reorder: Reorder,
    leases: Box<[AtomicU64]>,
    workers: Box<[Padded<Load>]>,
    /// By lane: the number of requests that were placed in it and have not ended. Lane `n` is one of worker
    /// `n % workers`.
    lanes: Box<[AtomicU64]>,
}

/// The load of a worker.
#[derive(Debug, Default)]
struct Load {
    /// The number of requests that were placed on it and have not ended.
    requests: AtomicU64,
    /// The number of requests that have ended on it.
    ended: AtomicU64,
}

impl Placement {
    /// Makes the state of a run with this many lanes.
    pub(super) fn new(reorder: Reorder, workers: usize, lanes: usize) -> Self {
        assert!(lanes < 1 << LANE_BITS, "a lease names its lane");
        let words = |count| (0..count).map(|_| AtomicU64::new(0)).collect();
        let (leases, lanes) = (words(LEASES), words(lanes));
        Self { reorder, leases, workers: (0..workers).map(|_| Padded::default()).collect(), lanes }
    }

    /// Records that a lane has executed a request.
    pub(super) fn ended(&self, lane: u32) {
        self.lanes[lane as usize].fetch_sub(1, Ordering::Relaxed);
        let load = &self.workers[self.worker_of(lane)];
        load.requests.fetch_sub(1, Ordering::Relaxed);
        load.ended.fetch_add(1, Ordering::Relaxed);
    }

    /// The worker that a lane belongs to.
    pub(super) fn worker_of(&self, lane: u32) -> usize {
        lane as usize % self.workers.len()
    }

    fn requests(&self, worker: usize) -> u64 {
        self.workers[worker].requests.load(Ordering::Relaxed)
    }

    /// The lane that has a lease of the key.
    fn holder(&self, key: u64) -> Option<u32> {
        let lease = self.place(key).load(Ordering::Relaxed);
        let lane = (lease & ((1 << LANE_BITS) - 1)) as u32;
        let ended = self.workers[self.worker_of(lane)].ended.load(Ordering::Relaxed);
        (lease >> LANE_BITS > ended).then_some(lane)
    }

    /// Gives the lane a lease of the key, for the time in which its worker is likely to have requests with it.
    fn lease(&self, key: u64, lane: u32) {
        let worker = self.worker_of(lane);
        let ended = self.workers[worker].ended.load(Ordering::Relaxed);
        let until = ended + self.requests(worker) + self.reorder.batch_max as u64;
        self.place(key).store(until << LANE_BITS | u64::from(lane), Ordering::Relaxed);
    }

    /// Gives the lane all leases that any lane has of the keys of a request that was placed in it.
    fn renew(&self, footprint: &InputFootprint, lane: u32) {
        for key in footprint.writes().iter().chain(footprint.reads()) {
            if self.holder(*key).is_some() {
                self.lease(*key, lane);
            }
        }
    }

    fn place(&self, key: u64) -> &AtomicU64 {
        &self.leases[key as usize & (LEASES - 1)]
    }

    /// Counts the keys of a footprint by the lanes that have leases of them.
    fn vote(&self, footprint: &InputFootprint, votes: &mut Vec<(u32, u32)>) {
        for key in footprint.writes().iter().chain(footprint.reads()) {
            let Some(holder) = self.holder(*key) else { continue };
            match votes.iter_mut().find(|(lane, _)| *lane == holder) {
                Some((_, keys)) => *keys += 1,
                None => votes.push((holder, 1)),
            }
        }
    }

    /// Places a piece of `len` requests in a lane and returns the lane. `votes` are the lanes that have leases of its
    /// keys, each with the number of these keys. The lane with the most is chosen; without votes, one of the worker
    /// whose clients sent the requests. If that worker has much more to do than another one, a lane of the other one is
    /// chosen, unless conflicts must stay together.
    fn choose(&self, len: usize, own: usize, votes: &[(u32, u32)]) -> u32 {
        let workers = self.workers.len();
        let most = votes.iter().max_by_key(|(_, keys)| *keys).map(|(lane, _)| *lane);
        let worker = most.map_or(own, |lane| self.worker_of(lane));
        let share = self.reorder.batch_max.div_ceil(workers) as u64;
        let least = (0..workers).min_by_key(|worker| self.requests(*worker)).unwrap_or(own);
        let is_ahead = self.requests(worker) + len as u64 > self.requests(least) + share;
        let stays = most.is_some() && self.reorder.large == LargeComponents::Keep;
        let lane = match most {
            Some(lane) if stays || !is_ahead => lane,
            _ => self.lightest_lane(if is_ahead { least } else { worker }),
        };
        self.workers[self.worker_of(lane)].requests.fetch_add(len as u64, Ordering::Relaxed);
        self.lanes[lane as usize].fetch_add(len as u64, Ordering::Relaxed);
        lane
    }

    /// The first empty lane of a worker, or else the one with the fewest requests, of the first few lanes.
    fn lightest_lane(&self, worker: usize) -> u32 {
        let lanes = (worker..self.lanes.len()).step_by(self.workers.len()).take(LOOKS);
        let (mut lightest, mut fewest) = (worker, u64::MAX);
        for lane in lanes {
            let requests = self.lanes[lane].load(Ordering::Relaxed);
            if requests < fewest {
                (lightest, fewest) = (lane, requests);
            }
            if requests == 0 {
                break;
            }
        }
        lightest as u32
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
    lanes: Vec<u32>,
    /// The lanes that have leases of the keys of a piece, each with the number of these keys.
    votes: Vec<(u32, u32)>,
}

impl<'s> Placer<'s> {
    pub(super) fn new(placement: &'s Placement, own: usize) -> Self {
        let [order, lanes] = [Vec::new(), Vec::new()];
        Self { placement, own, division: ThreadAware::default(), order, lanes, votes: Vec::new() }
    }

    /// Divides a batch of `len` requests into pieces and places each; `footprint_of` returns the footprint of the
    /// request at a position.
    pub(super) fn place<'f>(&mut self, len: usize, footprint_of: impl Fn(u32) -> &'f InputFootprint) {
        let Self { placement, own, division, order, lanes, votes } = self;
        let workers = NonZero::new(placement.workers.len()).expect("there is a worker");
        order.clear();
        order.extend(0..len as u32);
        let sets = (0..len as u32).map(|at| {
            let footprint = footprint_of(at);
            KeySets { reads: footprint.reads(), writes: footprint.writes() }
        });
        division.divide(sets, order, workers, placement.reorder.large);
        lanes.clear();
        lanes.resize(len, 0);
        for piece in division.pieces() {
            votes.clear();
            for at in piece {
                placement.vote(footprint_of(*at), votes);
            }
            let lane = placement.choose(piece.len(), *own, votes);
            for at in piece {
                lanes[*at as usize] = lane;
                placement.renew(footprint_of(*at), lane);
            }
        }
        for (key, at) in division.conflicts() {
            placement.lease(key, lanes[at as usize]);
        }
    }

    /// The pieces of the last batch: the lane of each, and the positions of its requests, in the order in which they
    /// are to be executed.
    pub(super) fn placed(&self) -> impl Iterator<Item = (u32, &[u32])> {
        self.division.pieces().map(|piece| (self.lanes[piece[0] as usize], piece))
    }

    /// Places a request whose last attempt was aborted: returns its lane. All that it writes is contended.
    pub(super) fn place_again(&mut self, footprint: &InputFootprint) -> u32 {
        self.votes.clear();
        self.placement.vote(footprint, &mut self.votes);
        let lane = self.placement.choose(1, self.own, &self.votes);
        self.placement.renew(footprint, lane);
        footprint.writes().iter().for_each(|key| self.placement.lease(*key, lane));
        lane
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Two workers with four lanes each.
    fn placement(large: LargeComponents) -> Placement {
        Placement::new(Reorder { batch_max: 8, large }, 2, 8)
    }

    fn footprint(reads: &[u64], writes: &[u64]) -> InputFootprint {
        InputFootprint::of_numbers(reads, writes)
    }

    /// The pieces of a batch, each with its lane.
    fn place(placer: &mut Placer<'_>, batch: &[InputFootprint]) -> Vec<(u32, Vec<u32>)> {
        placer.place(batch.len(), |at| &batch[at as usize]);
        placer.placed().map(|(lane, piece)| (lane, piece.to_vec())).collect()
    }

    #[test]
    fn conflicts_share_a_lane_and_the_rest_stays_at_home() {
        let placement = placement(LargeComponents::Keep);
        let mut placer = Placer::new(&placement, 1);
        let batch = [footprint(&[1], &[2]), footprint(&[], &[3]), footprint(&[2], &[])];
        assert_eq!(place(&mut placer, &batch), [(1, vec![0, 2]), (3, vec![1])]);
        assert_eq!([placement.requests(0), placement.requests(1)], [0, 3]);
        for lane in [1, 1, 3] {
            placement.ended(lane);
        }
        assert_eq!(placement.requests(1), 0);
        assert_eq!(place(&mut placer, &batch[1..2]), [(1, vec![0])], "the first lane is empty again");
    }

    #[test]
    fn a_contended_key_stays_with_its_lane_for_other_batches() {
        let placement = placement(LargeComponents::Keep);
        let [mut one, mut other] = [0, 1].map(|own| Placer::new(&placement, own));
        let both = [footprint(&[], &[7]), footprint(&[7], &[])];
        assert_eq!(place(&mut one, &both), [(0, vec![0, 1])]);
        let reader = [footprint(&[7], &[5]), footprint(&[8], &[])];
        assert_eq!(place(&mut other, &reader), [(0, vec![0]), (1, vec![1])]);
        assert_eq!(place(&mut other, &[footprint(&[], &[5])]), [(3, vec![0])], "nobody else used key 5");
        let aborted = footprint(&[7], &[6]);
        assert_eq!(other.place_again(&aborted), 0);
        assert_eq!(place(&mut other, &[footprint(&[], &[6])]), [(0, vec![0])]);
    }

    #[test]
    fn a_lease_ends_when_its_worker_has_executed_a_batch_more() {
        let placement = placement(LargeComponents::Keep);
        placement.workers[1].requests.store(8, Ordering::Relaxed);
        placement.lanes[1].store(8, Ordering::Relaxed);
        assert_eq!(placement.holder(9), None);
        placement.lease(9, 1);
        placement.workers[1].requests.store(16, Ordering::Relaxed);
        placement.lanes[1].store(16, Ordering::Relaxed);
        for _ in 0..16 {
            assert_eq!([placement.holder(9), placement.holder(10)], [Some(1), None]);
            placement.ended(1);
        }
        assert_eq!(placement.holder(9), None);
    }

    #[test]
    fn a_worker_that_is_far_ahead_gets_no_more_unless_conflicts_must_stay_together() {
        for large in [LargeComponents::Keep, LargeComponents::Cut] {
            let placement = placement(large);
            let mut placer = Placer::new(&placement, 0);
            let batch: Vec<InputFootprint> = (0..8).map(|_| footprint(&[], &[7])).collect();
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
