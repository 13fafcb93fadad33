//! A version latch: readers copy without writing and check afterwards; writers exclude each other.

use crate::Backoff;
use crate::atomic::{AtomicU64, Ordering, fence};

/// One word: bit 0 is the latch, bit 1 says that the protected thing is gone for good, the rest
/// counts changes. Used by index nodes (optimistic latch coupling, Leis et al., `DaMoN` 2016).
///
/// Reader: `v = read()`, relaxed loads, `validate(v)`. Writer: `lock()` or `upgrade(v)`, stores,
/// drop the guard.
#[derive(Debug, Default)]
pub struct VersionLatch {
    word: AtomicU64,
}

/// Holds a [`VersionLatch`] for writing. Dropping it counts a change and frees the latch.
#[derive(Debug)]
pub struct VersionLatchGuard<'a> {
    latch: &'a VersionLatch,
    locked_word: u64,
}

const HELD: u64 = 1;
const GONE: u64 = 2;
const CHANGE: u64 = 4;

impl VersionLatch {
    /// A free latch at version zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits until no writer holds the latch and returns the version; `None` when the thing is gone.
    #[inline]
    pub fn read(&self) -> Option<u64> {
        // Acquire: pairs with the Release of a writer's guard, so its stores are seen.
        let mut word = self.word.load(Ordering::Acquire);
        if word & HELD != 0 {
            word = self.wait();
        }
        (word & GONE == 0).then_some(word)
    }

    /// The word as soon as no writer holds the latch.
    #[cold]
    fn wait(&self) -> u64 {
        let mut backoff = Backoff::new();
        loop {
            backoff.snooze();
            // Acquire: as in `read`.
            let word = self.word.load(Ordering::Acquire);
            if word & HELD == 0 {
                return word;
            }
        }
    }

    /// Whether nothing has changed since [`read`](Self::read) returned `version`.
    #[inline]
    pub fn validate(&self, version: u64) -> bool {
        // Acquire fence: the reader's relaxed loads come before the load below, so a load that saw a
        // writer's store makes this one see at least that writer's latch bit.
        fence(Ordering::Acquire);
        self.word.load(Ordering::Relaxed) == version
    }

    /// Takes the latch if the version is still `version`.
    #[inline]
    pub fn upgrade(&self, version: u64) -> Option<VersionLatchGuard<'_>> {
        // Acquire: pairs with the Release of the last writer's guard. Relaxed on failure: nothing is read.
        self.word.compare_exchange(version, version | HELD, Ordering::Acquire, Ordering::Relaxed).ok()?;
        // Release fence: a reader that sees a store made under the latch sees the latch bit, too.
        fence(Ordering::Release);
        Some(VersionLatchGuard { latch: self, locked_word: version | HELD })
    }

    /// Waits for the latch; `None` when the thing is gone.
    #[inline]
    pub fn lock(&self) -> Option<VersionLatchGuard<'_>> {
        loop {
            let version = self.read()?;
            if let Some(guard) = self.upgrade(version) {
                return Some(guard);
            }
        }
    }

    /// The word as it is now. It equals a version that [`read`](Self::read) returned only while nothing
    /// has changed since and no writer is at work.
    #[inline]
    pub fn current(&self) -> u64 {
        // Acquire: pairs with the Release of a writer's guard.
        self.word.load(Ordering::Acquire)
    }

    /// Whether the thing is in use and no writer holds the latch: for a caller beside whom nobody runs.
    pub fn is_free(&self) -> bool {
        self.current() & (HELD | GONE) == 0
    }

    /// Makes a gone thing usable again: held, and after the release with a version that it never had. For
    /// a caller that alone may use the thing; readers that knew it before may still look at it.
    pub fn revive(&self) -> VersionLatchGuard<'_> {
        // Relaxed: nobody else writes the word of a gone thing, and the thread that makes it gone hands it
        // over.
        let word = self.word.load(Ordering::Relaxed);
        assert!(word & (HELD | GONE) == GONE, "only a gone thing is revived");
        let locked_word = ((word & !GONE) + CHANGE) | HELD;
        // Relaxed: a reader that sees it waits for the Release of the guard.
        self.word.store(locked_word, Ordering::Relaxed);
        // Release fence: as in `upgrade`.
        fence(Ordering::Release);
        VersionLatchGuard { latch: self, locked_word }
    }
}

impl VersionLatchGuard<'_> {
    /// The version that dropping this guard gives.
    #[inline]
    pub fn next(&self) -> u64 {
        (self.locked_word & !HELD) + CHANGE
    }

    /// Frees the latch and marks the thing as gone: no reader validates any more.
    pub fn retire(mut self) {
        self.locked_word |= GONE;
    }

    /// Frees the latch without counting a change: nothing that readers see was written.
    pub fn release_unchanged(self) {
        // Release: pairs with the Acquire in `read` and `upgrade`.
        self.latch.word.store(self.locked_word & !HELD, Ordering::Release);
        core::mem::forget(self);
    }
}

impl Drop for VersionLatchGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `read` and `upgrade`.
        self.latch.word.store(self.next(), Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_write_between_read_and_validate_is_seen() {
        let latch = VersionLatch::new();
        let version = latch.read().expect("not gone");
        assert!(latch.validate(version));
        drop(latch.lock());
        assert!(!latch.validate(version));
        assert!(latch.upgrade(version).is_none());
    }

    #[test]
    fn a_retired_latch_refuses_until_revived() {
        let latch = VersionLatch::new();
        let version = latch.read().expect("not gone");
        latch.lock().expect("not gone").retire();
        assert!(latch.read().is_none());
        let guard = latch.revive();
        assert!(!latch.validate(version));
        let revived = guard.next();
        drop(guard);
        assert!(revived > version);
        assert_eq!(latch.read(), Some(revived));
        assert_eq!(latch.current(), revived);
    }
}
