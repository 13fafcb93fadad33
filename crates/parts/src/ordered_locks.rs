//! Locks of the transactions of a batch, granted in its order (Thomson and others: Calvin, SIGMOD 2012): each lock is
//! requested by all transactions that need it before any of them runs, so that none waits for one that comes after it.
//!
//! Each lock has a number. Each number belongs to a manager, which has the requests for it, sorted. Requests that
//! follow each other and may hold the lock together form a group; when all requests of a group have released the lock,
//! the next group has it. A transaction counts the locks that it does not have yet, and runs when there are none: no
//! table of locks is searched while transactions run.

use core::mem;

use sync::atomic::{AtomicU32, Ordering};
use sync::{Latched, Padded};

use crate::footprint::{Footprint, Mode};

#[derive(Clone, Copy, Debug)]
struct Request {
    number: u64,
    place: u32,
    mode: Mode,
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

/// The locks whose numbers belong to one manager.
#[derive(Debug, Default)]
struct Manager {
    /// The requests of a batch, sorted by number and place.
    requests: Vec<Request>,
    groups: Vec<Group>,
    /// By place: the groups of the transaction's requests.
    of_place: Vec<Vec<usize>>,
}

/// The locks of a batch.
#[derive(Debug)]
pub struct OrderedLocks {
    /// By manager: the requests of the batch that is being declared.
    declared: Box<[Latched<Vec<Request>>]>,
    managers: Box<[Latched<Manager>]>,
    /// By place: the number of locks that the transaction does not have yet.
    missing: Box<[Padded<AtomicU32>]>,
}

impl OrderedLocks {
    /// Makes locks for batches of at most `places` places, with `managers` managers.
    pub fn new(places: usize, managers: usize) -> Self {
        let manager = || Manager { of_place: vec![Vec::new(); places], ..Manager::default() };
        Self {
            declared: (0..managers).map(|_| Latched::default()).collect(),
            managers: (0..managers).map(|_| Latched::new(manager())).collect(),
            missing: (0..places).map(|_| Padded::default()).collect(),
        }
    }

    /// Requests the locks in `footprint` for the transaction at a place of the batch, from 0. When all transactions
    /// have declared theirs, all managers [`grant`](Self::grant).
    pub fn declare(&self, place: usize, footprint: &Footprint) {
        let managers = self.managers.len() as u64;
        for (manager, declared) in self.declared.iter().enumerate() {
            let locks = footprint.iter().filter(|(number, _)| number % managers == manager as u64);
            let requests = locks.map(|(number, mode)| Request { number, place: place as u32, mode });
            declared.lock().extend(requests);
        }
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
        let Manager { requests, groups, of_place } = &mut *of;
        assert!(groups.iter().all(|group| group.holders == 0), "a transaction that has ended holds no lock");
        requests.clear();
        groups.clear();
        mem::swap(requests, &mut self.declared[manager].lock());
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
            of_place[request.place as usize].push(groups.len() - 1);
        }
        for group in 1..groups.len() {
            if groups[group - 1].is_followed {
                for request in &requests[groups[group].first..groups[group].end] {
                    // Relaxed: no transaction asks before all managers have granted, which the caller's barrier orders.
                    self.missing[request.place as usize].fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    /// Whether a transaction has all its locks. It then sees the writes of all earlier holders of these locks.
    #[inline]
    pub fn are_held(&self, place: usize) -> bool {
        // Acquire: pairs with the Release in `release`.
        self.missing[place].load(Ordering::Acquire) == 0
    }

    /// Releases the locks of a transaction that has ended.
    pub fn release(&self, place: usize) {
        for manager in &self.managers {
            let mut of = manager.lock();
            let Manager { requests, groups, of_place } = &mut *of;
            for group in of_place[place].drain(..) {
                groups[group].holders -= 1;
                if groups[group].holders > 0 || !groups[group].is_followed {
                    continue;
                }
                for request in &requests[groups[group + 1].first..groups[group + 1].end] {
                    // Release: pairs with the Acquire in `are_held`, for this transaction and, since all of its group
                    // have passed the manager's latch before, for the whole group.
                    self.missing[request.place as usize].fetch_sub(1, Ordering::Release);
                }
            }
        }
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
        let locks = OrderedLocks::new(needs.len(), managers);
        // In any order: it is that of the places which counts.
        for (place, need) in needs.iter().enumerate().rev() {
            locks.declare(place, &footprint(need));
        }
        (0..managers).for_each(|manager| locks.grant(manager));
        locks
    }

    fn held(locks: &OrderedLocks) -> Vec<usize> {
        (0..locks.missing.len()).filter(|&place| locks.are_held(place)).collect()
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
    fn a_batch_is_followed_by_another() {
        let locks = granted(&[&[(1, Exclusive)], &[(1, Exclusive)]], 2);
        locks.release(0);
        locks.release(1);
        locks.declare(0, &footprint(&[(1, Shared)]));
        locks.declare(1, &footprint(&[(1, Exclusive), (2, Shared)]));
        (0..2).for_each(|manager| locks.grant(manager));
        assert_eq!(held(&locks), [0]);
    }
}
