//! Rare changes: what few transactions meet, such as the split of a leaf. Schedules are steered to them.

use crate::backend::changes_rarely;

/// A rare change that is under way, from its begin until this is dropped. Does nothing but in explored schedules: there
/// a scheduler may hold the worker up at the begin, or let it go on without others until the end.
#[derive(Debug)]
#[must_use = "the change ends when this is dropped"]
pub struct RareChange(());

impl RareChange {
    /// Says that a rare change begins.
    #[inline(always)]
    pub fn begin() -> Self {
        changes_rarely(true);
        Self(())
    }
}

impl Drop for RareChange {
    #[inline(always)]
    fn drop(&mut self) {
        changes_rarely(false);
    }
}
