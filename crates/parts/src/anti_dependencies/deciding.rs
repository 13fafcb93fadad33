//! The slots that decide on a commit: invariants (1) and (2) of [`anti_dependencies`](super).

use storage::VersionRef;
use sync::atomic::{AtomicU64, Ordering};
use sync::plant::is_planted;
use sync::{Padded, waiter};

use crate::version_chain::{Chained, Stamped, VersionStamp};
use crate::{Timestamps, plants};

/// The commits that are being decided, by slot: none, or the mark of a number being drawn, or the number.
#[derive(Debug)]
pub struct Deciding(Box<[Padded<AtomicU64>]>);

const NOTHING: u64 = 0;
pub(super) const DRAWING: u64 = u64::MAX;

impl Deciding {
    /// Makes the state for this many slots.
    pub fn new(slots: usize) -> Self {
        Self((0..slots).map(|_| Padded(AtomicU64::new(NOTHING))).collect())
    }

    /// Begins a slot's decision on a commit that takes `space` numbers. Returns the commit's number. Invariant (1).
    #[inline]
    pub fn draw(&self, slot: usize, commits: &Timestamps, space: u64) -> u64 {
        // SeqCst: with the draw, pairs with the draw of whoever has a greater number and looks here; with the fence
        // in `look_for_readers`, with those in `certify_reading` and `overwriter` of attempts that draw no number.
        self.0[slot].store(DRAWING, Ordering::SeqCst);
        let number = commits.draw_space(space);
        // Release: a thread that finds the number finds that the versions of the slot's previous commit are numbered.
        self.0[slot].store(number, Ordering::Release);
        number
    }

    /// Ends the slot's decision. All marks and numbers that there will be are left.
    #[inline]
    pub fn decided(&self, slot: usize) {
        // Release: pairs with the Acquire in `word`.
        self.0[slot].store(NOTHING, Ordering::Release);
    }

    #[inline]
    fn word(&self, slot: usize) -> u64 {
        self.0[slot].load(Ordering::Acquire) // Acquire: pairs with the Release stores above.
    }

    /// Waits until all commits are decided that are being decided now with numbers from `from` to before `to`.
    pub(super) fn wait_for(&self, from: u64, to: u64) {
        if is_planted(&plants::COMMITS_UNAWAITED) {
            return;
        }
        for slot in 0..self.0.len() {
            loop {
                let word = self.word(slot);
                if word == NOTHING || word != DRAWING && !(from..to).contains(&word) {
                    break;
                }
                waiter::wait_until(None, || self.word(slot) != word);
            }
        }
    }

    /// Whether a version, which was found with this mark, the mark of a commit being decided, gets a greater number
    /// than `bound`, if it gets any; `None` when it is decided by now.
    #[inline]
    pub fn is_later<S: Chained>(&self, version: VersionRef<'_, S>, mark: u64, bound: u64) -> Option<bool> {
        let stamp = version.meta().stamp();
        let slot = (mark - VersionStamp::COMMITTING) as usize;
        loop {
            let word = self.word(slot);
            // The slot's word, once read, is that of this commit if the version is still undecided afterwards.
            if stamp.number() != mark {
                return None;
            }
            if word != NOTHING && word != DRAWING {
                return Some(word > bound);
            }
            waiter::wait_until(None, || stamp.number() != mark || self.word(slot) != word);
        }
    }
}

#[cfg(test)]
mod tests {
    use sync::fiber;

    use super::*;

    #[test]
    fn commits_are_waited_for_by_greater_numbers_from_which_they_may_be_feared() {
        let (deciding, commits) = (Deciding::new(3), Timestamps::new(3));
        let [first, second] = [0, 1].map(|slot| deciding.draw(slot, &commits, 1));
        // Nobody is on the way to end these waits.
        deciding.wait_for(0, first);
        deciding.wait_for(second + 1, u64::MAX);
        let mut crew = fiber::Crew::new();
        crew.spawn(4 * fiber::STACK_BYTES, || {
            deciding.wait_for(0, second);
            assert_eq!((deciding.word(0), deciding.word(1)), (NOTHING, second));
            deciding.decided(1);
        });
        crew.spawn(4 * fiber::STACK_BYTES, || {
            deciding.wait_for(second, DRAWING);
            assert_eq!(deciding.word(1), NOTHING);
        });
        crew.spawn(4 * fiber::STACK_BYTES, || deciding.decided(0));
        crew.run();
    }
}
