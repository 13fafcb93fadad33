//! The threads of an ordinary program, which calls the engine from any thread: a number for each, and the things that
//! a thread is in the midst of. Workers have numbers of their own and need none of it.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, JoinHandle};

static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    // Relaxed: numbers are distinct, and order nothing.
    static NUMBER: usize = THREADS.fetch_add(1, Ordering::Relaxed);
    /// The numbers of the things that the thread is in the midst of.
    static INSIDE: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// The number of the calling thread, which no other thread of the process has or will have. Threads that come early
/// have small numbers.
#[inline]
pub fn number() -> usize {
    NUMBER.with(|number| *number)
}

/// Guard: the calling thread is in the midst of something until it drops this.
#[derive(Debug)]
pub struct Inside {
    what: usize,
    /// Keeps the guard on its thread: another thread is in the midst of other things.
    stays: core::marker::PhantomData<*const ()>,
}

impl Inside {
    /// Enters `what`, a number on which callers agree. Returns `None` if the calling thread is in the midst of it
    /// already.
    #[inline]
    pub fn enter(what: usize) -> Option<Self> {
        INSIDE.with_borrow_mut(|inside| {
            let is_new = !inside.contains(&what);
            is_new.then(|| {
                inside.push(what);
                Self { what, stays: core::marker::PhantomData }
            })
        })
    }
}

/// Whether the calling thread is in the midst of several things, one within the other.
#[inline]
pub fn is_nested() -> bool {
    INSIDE.with_borrow(|inside| inside.len() > 1)
}

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        INSIDE.with_borrow_mut(|inside| {
            // Nearly always the last.
            let at = inside.iter().rposition(|what| *what == self.what);
            inside.remove(at.expect("it was entered"));
        });
    }
}

/// Starts a thread that its starter may leave alone. Returns `None` when the system starts no more.
pub fn start<T: Send + 'static>(
    name: String,
    body: impl FnOnce() -> T + Send + 'static,
) -> Option<JoinHandle<T>> {
    Builder::new().name(name).spawn(body).ok()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::workers;

    #[test]
    fn threads_have_numbers_of_their_own() {
        let mut numbers = workers::run(4, false, |_| (number(), number()));
        numbers.push((number(), number()));
        assert!(numbers.iter().all(|(first, again)| first == again));
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 5);
    }

    #[test]
    fn a_thread_is_in_the_midst_of_a_thing_once() {
        let outer = Inside::enter(1).expect("it is not inside");
        let other = Inside::enter(2).expect("another thing");
        assert!(Inside::enter(1).is_none() && is_nested());
        assert!(workers::run(1, false, |_| Inside::enter(1).is_some())[0], "another thread is not");
        drop(outer);
        assert!(!is_nested() && Inside::enter(2).is_none() && Inside::enter(1).is_some());
        drop(other);
        assert!(Inside::enter(2).is_some());
    }
}
