//! A bounded queue between threads whose only work is to wait for its entries.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A queue of at most `entries_max` entries. A thread that takes an entry sleeps until there is one.
#[derive(Debug)]
pub struct Inbox<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    entries_max: usize,
}

#[derive(Debug)]
struct State<T> {
    entries: VecDeque<T>,
    is_closed: bool,
}

impl<T> Inbox<T> {
    /// An empty queue.
    pub fn new(entries_max: usize) -> Self {
        let state = State { entries: VecDeque::new(), is_closed: false };
        Self { state: Mutex::new(state), changed: Condvar::new(), entries_max }
    }

    /// Puts an entry at the end.
    ///
    /// # Errors
    /// The entry, when the queue is full or closed.
    pub fn put(&self, entry: T) -> Result<(), T> {
        let mut state = self.lock();
        if state.is_closed || state.entries.len() >= self.entries_max {
            return Err(entry);
        }
        state.entries.push_back(entry);
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    /// Puts an entry that was [taken](Self::take) before at the end. It is never refused, even if the queue is full or
    /// closed: the thread that has taken it comes back for it.
    pub fn put_back(&self, entry: T) {
        self.lock().entries.push_back(entry);
        self.changed.notify_one();
    }

    /// Takes the first entry, and waits for one if there is none. Returns `None` when the queue is closed and empty.
    pub fn take(&self) -> Option<T> {
        let mut state = self.lock();
        loop {
            if let Some(entry) = state.entries.pop_front() {
                return Some(entry);
            }
            if state.is_closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The number of waiting entries.
    pub fn len(&self) -> usize {
        self.lock().entries.len()
    }

    /// Whether no entry waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Closes the queue: no entry enters any more, but the entries in it can still be taken.
    pub fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// Locks the state. Nothing panics while it holds the lock, so a poisoned lock is usable.
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::workers;

    #[test]
    fn entries_are_taken_in_their_order_until_the_queue_is_closed_and_empty() {
        let inbox = Inbox::new(2);
        assert_eq!([inbox.put(1), inbox.put(2), inbox.put(3)], [Ok(()), Ok(()), Err(3)]);
        assert_eq!((inbox.take(), inbox.len()), (Some(1), 1));
        inbox.close();
        assert_eq!(inbox.put(4), Err(4));
        assert_eq!((inbox.take(), inbox.take()), (Some(2), None));
        assert!(inbox.is_empty());
    }

    #[test]
    fn what_is_put_back_is_the_last_and_never_refused() {
        let inbox = Inbox::new(2);
        assert_eq!([inbox.put(1), inbox.put(2)], [Ok(()), Ok(())]);
        let taken = inbox.take().expect("there is one");
        assert_eq!(inbox.put(3), Ok(()));
        inbox.put_back(taken);
        assert_eq!((inbox.len(), inbox.put(4)), (3, Err(4)), "it counts");
        inbox.close();
        let second = inbox.take().expect("there is one");
        inbox.put_back(second);
        let left: Vec<_> = std::iter::from_fn(|| inbox.take()).collect();
        assert_eq!(left, [3, 1, 2], "and is there after the end of others");
    }

    #[test]
    fn who_takes_from_an_empty_queue_waits_for_an_entry_or_the_end() {
        let inbox = Inbox::new(10);
        let taken = workers::run(4, false, |worker| {
            if worker == 0 {
                (0..10).for_each(|entry| inbox.put(entry).expect("there is room"));
                inbox.close();
            }
            std::iter::from_fn(|| inbox.take()).collect::<Vec<_>>()
        });
        let mut all = taken.concat();
        all.sort_unstable();
        assert_eq!(all, (0..10).collect::<Vec<_>>());
    }
}
