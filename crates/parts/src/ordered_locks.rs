//! Locks of the transactions of a batch, granted in its order (Thomson and others: Calvin, SIGMOD 2012): each lock is
//! requested by all transactions that need it before any of them runs, so that none waits for one that comes after it.
//!
//! Each lock has a number. Each number belongs to a manager, which has the requests for it, sorted. Workers leave their
//! requests for the managers in boxes (`handovers`). Requests that follow each other and may hold the lock together
//! form a group; when all requests of a group have released the lock, the next group has it. A transaction counts the
//! locks that it does not have yet, and runs when there are none: no table of locks is searched while transactions run.
//! Requests that conflict with no other of the batch are dropped before anything is sorted, and a transaction whose
//! requests were all dropped has nothing to release. A transaction whose requests are all shared gives a manager only
//! its place: the manager fetches the requests if it has others in modes that conflict. So the footprints stay here
//! until their transactions run.
//!
//! INVARIANTS
//! (1) A request is dropped only if no other request of the batch in a mode that conflicts has its number. Two
//!     transactions that request the same lock request it from the same manager.
//! (2) No two of declaring, granting and releasing overlap: they take the latches of places and managers in different
//!     orders.

use core::mem;

use sync::atomic::{AtomicU32, Ordering};
use sync::{Latched, LatchedGuard, Padded, clock, hint};

use sync::plant::is_planted;

use crate::footprint::{Footprint, Mode, SPREAD};
use crate::handovers::Handovers;
use crate::plants;

/// Instructions for a request when it is copied for its manager, and as many when it is granted, beyond those of the
/// footprint.
const INSTRUCTIONS: u64 = 100;

/// Buckets for each request.
const BUCKETS: usize = 8;

#[derive(Clone, Copy, Debug)]
struct Request {
    number: u64,
    place: u32,
    mode: Mode,
}

/// The requests for the numbers of a bucket.
#[derive(Clone, Copy, Debug, Default)]
enum Mark {
    #[default]
    Free,
    /// All in this mode, in which they admit each other.
    Held(Mode),
    Contested,
}

impl Mark {
    /// The mark after one more request.
    fn with(self, mode: Mode) -> Self {
        let admits = |held: Mode| {
            let are_mixed = held != Mode::Exclusive && mode != Mode::Exclusive;
            held.admits(mode) || are_mixed && is_planted(&plants::PARTS_READ_LIKE_WHOLES)
        };
        match self {
            Self::Free => Self::Held(mode),
            Self::Held(held) if admits(held) => self,
            Self::Held(_) | Self::Contested => Self::Contested,
        }
    }

    /// The mark of two buckets, if all their requests were in one.
    fn and(self, other: Self) -> Self {
        match other {
            Self::Free => self,
            Self::Held(mode) => self.with(mode),
            Self::Contested => Self::Contested,
        }
    }
}

/// Keeps the requests that conflict with another. Numbers may share a bucket, and then conflict as if they were one.
fn keep_contested(requests: &mut Vec<Request>, marks: &mut Vec<Mark>) {
    marks.clear();
    marks.resize((requests.len() * BUCKETS).next_power_of_two(), Mark::Free);
    let last = marks.len() - 1;
    // By other bits than managers.
    let bucket = |request: &Request| (request.number.wrapping_mul(SPREAD) >> 32) as usize & last;
    for request in &*requests {
        let mark = &mut marks[bucket(request)];
        *mark = mark.with(request.mode);
    }
    requests.retain(|request| matches!(marks[bucket(request)], Mark::Contested));
}

/// Requests for a lock that hold it together.
#[derive(Debug)]
struct Group {
    /// Their range among the manager's requests.
    first: usize,
    end: usize,
    /// The number of requests that have not released the lock.
    holders: usize,
    /// Whether the next group is of the same lock.
    is_followed: bool,
}

/// The requests of one worker's transactions to a manager, for the locks of a batch.
#[derive(Debug, Default)]
struct Declared {
    requests: Vec<Request>,
    /// The places whose requests are all shared: these are fetched only if the modes of all requests to the manager
    /// conflict.
    shared: Vec<u32>,
    /// The mark that a bucket would have in which all requests were.
    mark: Mark,
}

impl Declared {
    /// Adds the place of a transaction whose requests are all shared.
    fn add_shared(&mut self, place: usize) {
        self.mark = self.mark.with(Mode::Shared);
        self.shared.push(place as u32);
        hint::pushes(&self.shared);
    }

    /// Adds a request of another transaction.
    fn add(&mut self, request: Request) {
        self.mark = self.mark.with(request.mode);
        self.requests.push(request);
        hint::pushes(&self.requests);
    }
}

/// The locks whose numbers belong to one manager.
#[derive(Debug, Default)]
struct Manager {
    /// The requests of a batch, sorted by number and place.
    requests: Vec<Request>,
    /// The places whose shared requests are fetched.
    shared: Vec<u32>,
    groups: Vec<Group>,
    /// By place: the groups of the transaction's requests.
    of_place: Vec<Vec<usize>>,
    /// Marks of numbers: see [`keep_contested`].
    marks: Vec<Mark>,
}

/// The locks of the transaction at a place.
#[derive(Debug, Default)]
struct Standing {
    /// The number of locks that the transaction does not have yet.
    missing: AtomicU32,
    /// The number of managers that have a contested request of the transaction.
    contested: AtomicU32,
}

/// The footprint of a transaction, whose requests are made of it.
#[derive(Debug, Default)]
struct Requested {
    footprint: Footprint,
    /// The managers that are asked, in ascending order; empty if there is one manager.
    managers: Vec<u32>,
    /// The requests with their managers, sorted by these; empty if there is one manager, or as long as none has fetched
    /// shared requests.
    by_manager: Vec<(u32, Request)>,
}

impl Requested {
    /// Takes a footprint over, in exchange for one that is of no use.
    fn take(&mut self, footprint: &mut Footprint) {
        mem::swap(&mut self.footprint, footprint);
        self.managers.clear();
        self.by_manager.clear();
    }

    /// Notes which of several managers are asked.
    fn divide(&mut self, managers: usize) {
        let of = |(number, _)| Footprint::manager_of(number, managers) as u32;
        self.managers.extend(self.footprint.iter().map(of));
        self.managers.sort_unstable();
        self.managers.dedup();
    }

    fn sort(&mut self, place: usize, managers: usize) {
        let of = |request: Request| (Footprint::manager_of(request.number, managers) as u32, request);
        self.by_manager.extend(requests(&self.footprint, place).map(of));
        self.by_manager.sort_unstable_by_key(|(manager, _)| *manager);
        hint::writes(&self.by_manager[..]);
        clock::compute(INSTRUCTIONS * self.by_manager.len() as u64);
    }

    /// The requests to one of several managers, which are sorted.
    fn to(&self, manager: usize) -> &[(u32, Request)] {
        let first = self.by_manager.partition_point(|(of, _)| (*of as usize) < manager);
        let rest = &self.by_manager[first..];
        &rest[..rest.partition_point(|(of, _)| *of as usize == manager)]
    }

    /// Fetches the requests to one of `managers` managers, which were not sorted when they were declared.
    fn fetch(&mut self, (place, manager, managers): (usize, usize, usize), to: &mut Vec<Request>) {
        if managers == 1 {
            hint::reads(self.footprint.entries());
            return to.extend(requests(&self.footprint, place));
        }
        if self.by_manager.is_empty() {
            hint::reads(self.footprint.entries());
            self.sort(place, managers);
        }
        let requests = self.to(manager);
        hint::reads(requests);
        to.extend(requests.iter().map(|(_, request)| *request));
    }
}

/// The requests of the transaction at a place that has a footprint.
fn requests(footprint: &Footprint, place: usize) -> impl Iterator<Item = Request> {
    footprint.iter().map(move |(number, mode)| Request { number, place: place as u32, mode })
}

/// The locks of a batch.
#[derive(Debug)]
pub struct OrderedLocks {
    /// By worker, by manager: what is declared of the next batch.
    declared: Handovers<Declared>,
    managers: Box<[Latched<Manager>]>,
    /// By place.
    standings: Box<[Padded<Standing>]>,
    /// By place.
    requested: Box<[Padded<Latched<Requested>>]>,
}

impl OrderedLocks {
    /// Makes locks for batches of at most `places` places, which `workers` workers declare to `managers` managers.
    pub fn new(places: usize, workers: usize, managers: usize) -> Self {
        let manager = || Manager { of_place: vec![Vec::new(); places], ..Manager::default() };
        Self {
            declared: Handovers::new(workers, managers),
            managers: (0..managers).map(|_| Latched::new(manager())).collect(),
            standings: (0..places).map(|_| Padded::default()).collect(),
            requested: (0..places).map(|_| Padded::default()).collect(),
        }
    }

    /// Requests the locks in a footprint for the transaction at a place of the batch, from 0, and keeps the footprint
    /// until it is [handed over](Self::hand_over); `footprint` is of no use then. When all transactions have declared
    /// theirs, all managers [`grant`](Self::grant). A boundless footprint requests nothing. Called by `worker`.
    pub fn declare(&self, worker: usize, place: usize, footprint: &mut Footprint) {
        let mut requested = self.requested[place].lock();
        requested.take(footprint);
        let Requested { footprint, .. } = &*requested;
        let (is_shared, managers) = (footprint.is_shared(), self.managers.len());
        if footprint.is_boundless() {
            return;
        }
        if is_shared {
            hint::writes(footprint.entries());
        } else {
            clock::compute(INSTRUCTIONS * footprint.len() as u64);
            let mut held: Option<(usize, LatchedGuard<'_, Declared>)> = None;
            for request in requests(footprint, place) {
                let manager = Footprint::manager_of(request.number, managers);
                held.take_if(|(of, _)| *of != manager);
                held.get_or_insert_with(|| (manager, self.declared.between(worker, manager))).1.add(request);
            }
        }
        if managers > 1 {
            requested.divide(managers);
        }
        if is_shared {
            let all = if managers > 1 { &requested.managers[..] } else { &[0] };
            let to = |&manager| self.declared.between(worker, manager as usize).add_shared(place);
            all.iter().for_each(to);
        }
    }

    /// Hands over the footprint of the transaction at a place, in exchange for one that is of no use.
    pub fn hand_over(&self, place: usize, footprint: &mut Footprint) {
        mem::swap(&mut self.requested[place].lock().footprint, footprint);
    }

    /// The number of managers.
    pub fn managers(&self) -> usize {
        self.managers.len()
    }

    /// Grants the locks of a manager to the first transactions that requested them.
    ///
    /// # Panics
    /// When a lock of the last batch was not released.
    pub fn grant(&self, manager: usize) {
        let mut of = self.managers[manager].lock();
        let Manager { requests, shared, groups, of_place, marks } = &mut *of;
        assert!(groups.iter().all(|group| group.holders == 0), "a transaction that has ended holds no lock");
        requests.clear();
        groups.clear();
        let mut mark = Mark::Free;
        for mut declared in self.declared.for_taker(manager) {
            mark = mark.and(mem::take(&mut declared.mark));
            hint::reads(&declared.requests[..]);
            hint::reads(&declared.shared[..]);
            requests.append(&mut declared.requests);
            shared.append(&mut declared.shared);
        }
        hint::writes(&requests[..]);
        if !matches!(mark, Mark::Contested) {
            // All requests are in one mode that admits itself: so it is where writes have versions of their own, and no
            // key is added or removed.
            requests.clear();
            shared.clear();
            return;
        }
        for place in shared.drain(..).map(|place| place as usize) {
            self.requested[place].lock().fetch((place, manager, self.managers.len()), requests);
        }
        clock::compute(INSTRUCTIONS * requests.len() as u64);
        keep_contested(requests, marks);
        requests.sort_unstable_by_key(|request| (request.number, request.place));
        let mut before: Option<Request> = None;
        for (at, &request) in requests.iter().enumerate() {
            let last = before.replace(request).filter(|last| last.number == request.number);
            match (last, groups.last_mut()) {
                (Some(last), Some(group)) if last.mode.admits(request.mode) => {
                    group.end += 1;
                    group.holders += 1;
                }
                (last, group) => {
                    if let (Some(_), Some(group)) = (last, group) {
                        group.is_followed = true;
                    }
                    groups.push(Group { first: at, end: at + 1, holders: 1, is_followed: false });
                }
            }
            let own = &mut of_place[request.place as usize];
            if own.is_empty() {
                // Relaxed: no transaction releases before all managers have granted, which the caller's barrier orders.
                self.standings[request.place as usize].contested.fetch_add(1, Ordering::Relaxed);
            }
            own.push(groups.len() - 1);
            hint::writes(own);
            hint::pushes(own);
        }
        hint::writes(&requests[..]);
        hint::writes(&groups[..]);
        for group in 1..groups.len() {
            if groups[group - 1].is_followed {
                for request in &requests[groups[group].first..groups[group].end] {
                    // Relaxed: no transaction asks before all managers have granted, which the caller's barrier orders.
                    self.standings[request.place as usize].missing.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    /// Whether a transaction has all its locks. It then sees the writes of all earlier holders of these locks.
    #[inline]
    pub fn are_held(&self, place: usize) -> bool {
        // Acquire: pairs with the Release in `release`.
        self.standings[place].missing.load(Ordering::Acquire) == 0
    }

    /// Releases the locks of a transaction that has ended.
    pub fn release(&self, place: usize) {
        let contested = &self.standings[place].contested;
        // Relaxed, both: see `grant`. Nobody else looks at it before the next batch.
        let mut left = contested.load(Ordering::Relaxed);
        if left == 0 {
            return;
        }
        contested.store(0, Ordering::Relaxed);
        if self.managers.len() == 1 {
            self.release_at(0, place);
            return;
        }
        let requested = self.requested[place].lock();
        hint::reads(&requested.managers[..]);
        for &manager in &requested.managers {
            if left == 0 {
                break;
            }
            left -= u32::from(self.release_at(manager as usize, place));
        }
    }

    /// Releases the locks of one manager; whether there were some.
    fn release_at(&self, manager: usize, place: usize) -> bool {
        let mut of = self.managers[manager].lock();
        let Manager { requests, groups, of_place, .. } = &mut *of;
        let had_some = !of_place[place].is_empty();
        hint::reads(&of_place[place]);
        for group in of_place[place].drain(..) {
            groups[group].holders -= 1;
            hint::writes(&groups[group]);
            if groups[group].holders > 0 || !groups[group].is_followed {
                continue;
            }
            let next = &requests[groups[group + 1].first..groups[group + 1].end];
            hint::reads(next);
            for request in next {
                // Release: pairs with the Acquire in `are_held`, for this transaction and, since all of its group
                // have passed the manager's latch before, for the whole group.
                self.standings[request.place as usize].missing.fetch_sub(1, Ordering::Release);
            }
        }
        had_some
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn footprint(locks: &[(u64, Mode)]) -> Footprint {
        let mut footprint = Footprint::default();
        for &(number, mode) in locks {
            footprint.add(number, mode);
        }
        footprint
    }

    /// The locks of a batch of transactions with these needs.
    fn granted(needs: &[&[(u64, Mode)]], managers: usize) -> OrderedLocks {
        let locks = OrderedLocks::new(needs.len(), 2, managers);
        // In any order: it is that of the places which counts.
        for (place, need) in needs.iter().enumerate().rev() {
            locks.declare(place % 2, place, &mut footprint(need));
        }
        (0..managers).for_each(|manager| locks.grant(manager));
        locks
    }

    fn held(locks: &OrderedLocks) -> Vec<usize> {
        (0..locks.standings.len()).filter(|&place| locks.are_held(place)).collect()
    }

    use Mode::{Exclusive, Intent, Shared};

    #[test]
    fn locks_are_granted_in_the_order_of_the_batch() {
        for managers in [1, 3] {
            let locks =
                granted(&[&[(7, Exclusive)], &[(7, Exclusive), (8, Exclusive)], &[(8, Exclusive)]], managers);
            assert_eq!(held(&locks), [0]);
            locks.release(0);
            assert_eq!(held(&locks), [0, 1]);
            locks.release(1);
            assert_eq!(held(&locks), [0, 1, 2]);
            locks.release(2);
        }
    }

    #[test]
    fn readers_share_and_writers_wait_for_all_of_them() {
        let locks = granted(&[&[(5, Shared)], &[(5, Shared)], &[(5, Exclusive)], &[(5, Shared)]], 2);
        assert_eq!(held(&locks), [0, 1]);
        locks.release(1);
        assert_eq!(held(&locks), [0, 1]);
        locks.release(0);
        assert_eq!(held(&locks), [0, 1, 2], "who reads after a writer waits for it");
        locks.release(2);
        assert_eq!(held(&locks), [0, 1, 2, 3]);
        locks.release(3);
    }

    #[test]
    fn parts_are_changed_together_and_not_while_the_whole_is_read() {
        let locks = granted(&[&[(5, Intent)], &[(5, Intent)], &[(5, Shared)], &[(5, Intent)]], 1);
        assert_eq!(held(&locks), [0, 1]);
        locks.release(0);
        locks.release(1);
        assert_eq!(held(&locks), [0, 1, 2]);
        locks.release(2);
        assert_eq!(held(&locks), [0, 1, 2, 3]);
        locks.release(3);
    }

    #[test]
    fn only_requests_that_conflict_are_kept() {
        let locks = granted(
            &[
                &[(1, Shared), (2, Exclusive), (5, Intent)],
                &[(1, Shared), (5, Intent)],
                &[(3, Exclusive)],
                &[(3, Shared)],
            ],
            1,
        );
        let kept: Vec<u64> = locks.managers[0].lock().requests.iter().map(|request| request.number).collect();
        assert_eq!(kept, [3, 3]);
        assert_eq!(held(&locks), [0, 1, 2]);
        (0..3).for_each(|place| locks.release(place));
        assert_eq!(held(&locks), [0, 1, 2, 3]);
    }

    /// The places whose transactions conflict with none before them that has not ended.
    fn may_run(needs: &[Vec<(u64, Mode)>], has_ended: &[bool]) -> Vec<usize> {
        let conflict = |a: &[(u64, Mode)], b: &[(u64, Mode)]| {
            a.iter().any(|(number, mode)| b.iter().any(|(other, of)| number == other && !mode.admits(*of)))
        };
        let is_free = |place: usize| {
            (0..place).all(|before| has_ended[before] || !conflict(&needs[before], &needs[place]))
        };
        (0..needs.len()).filter(|&place| !has_ended[place] && is_free(place)).collect()
    }

    #[test]
    fn each_transaction_waits_for_those_before_it_with_which_it_conflicts() {
        let mut rng = stdx::Rng::from_path(&[0x6c6f_636b]);
        for round in 0..400 {
            let (managers, numbers) = (1 + round % 3, 2 + rng.below(60));
            let locks = OrderedLocks::new(12, 4, managers);
            for _ in 0..3 {
                let needs: Vec<Vec<(u64, Mode)>> = (0..12)
                    .map(|_| {
                        let mode =
                            |rng: &mut stdx::Rng| [Shared, Shared, Intent, Exclusive][rng.below(4) as usize];
                        let mut need: Vec<_> =
                            (0..rng.below(5)).map(|_| (rng.below(numbers), mode(&mut rng))).collect();
                        need.sort_by_key(|(number, _)| *number);
                        need.dedup_by_key(|(number, _)| *number);
                        need
                    })
                    .collect();
                (0..12).for_each(|place| locks.declare(place % 4, place, &mut footprint(&needs[place])));
                (0..managers).for_each(|manager| locks.grant(manager));
                let mut has_ended = [false; 12];
                while !has_ended.iter().all(|ended| *ended) {
                    let held: Vec<_> = held(&locks).into_iter().filter(|&place| !has_ended[place]).collect();
                    assert_eq!(held, may_run(&needs, &has_ended), "{needs:?}");
                    let next = *held.first().expect("the first that has not ended has its locks");
                    assert_eq!(Some(next), has_ended.iter().position(|ended| !ended));
                    locks.release(next);
                    has_ended[next] = true;
                }
            }
        }
    }

    #[test]
    fn a_batch_is_followed_by_another() {
        let locks = granted(&[&[(1, Exclusive)], &[(1, Exclusive)]], 2);
        locks.release(0);
        locks.release(1);
        locks.declare(1, 0, &mut footprint(&[(1, Shared)]));
        locks.declare(0, 1, &mut footprint(&[(1, Exclusive), (2, Shared)]));
        (0..2).for_each(|manager| locks.grant(manager));
        assert_eq!(held(&locks), [0]);
        locks.release(0);
        locks.release(1);
        // Nothing conflicts, and nothing of the last batch is left.
        (0..2).for_each(|place| locks.declare(0, place, &mut footprint(&[(1, Shared), (2, Shared)])));
        (0..2).for_each(|manager| locks.grant(manager));
        assert!(locks.managers.iter().all(|manager| manager.lock().requests.is_empty()));
        assert_eq!(held(&locks), [0, 1]);
        (0..2).for_each(|place| locks.release(place));
        locks.declare(0, 0, &mut footprint(&[(2, Intent)]));
        locks.declare(1, 1, &mut footprint(&[(2, Shared)]));
        (0..2).for_each(|manager| locks.grant(manager));
        assert_eq!(held(&locks), [0]);
    }
}
