//! Snapshots of the past for read-only transactions: a fixed number of commit epochs make a snapshot epoch, and at its
//! end the database may be read as it was then (Tu et al., SOSP 2013, 4.9). For schemes with data in place whose
//! commits belong to epochs: before they overwrite a value that a snapshot shows, they keep it.
//!
//! With snapshot epochs of `n` commit epochs, snapshot `s` shows the commits of the commit epochs 1 to `s * n`, and the
//! loaded rows, which count as epoch 0.
//!
//! INVARIANTS
//! (1) A snapshot may be read only when everything that it shows has been installed: when the commit epoch is two past
//!     the last one that the snapshot shows, by invariant (2) of `CommitEpoch`.
//! (2) A commit keeps the value that it overwrites if that value is of an earlier snapshot epoch: then a snapshot, read
//!     now or later, shows that value and not this commit. No snapshot shows other overwritten values.
//! (3) The epochs of a record's kept versions fall from the newest to the oldest, and are before the epoch of its
//!     value: the holder of the record's lock keeps them one after the other.
//! (4) No present or future reader needs versions of a record that are older than its newest value of an epoch before
//!     the [`watermark`](SnapshotEpochs::watermark): this is the watermark of `Timestamps`, invariant (3).

use parts::{CommitEpoch, Timestamps};
use storage::{InPlace, Meta, RecordRef, Shape, Slot};
use sync::atomic::{AtomicU64, Ordering};
use sync::waiter;

/// The snapshots and their readers.
#[derive(Debug)]
pub struct SnapshotEpochs {
    /// The number of commit epochs that make a snapshot epoch.
    length: u64,
    /// The number of the newest snapshot, and by slot the snapshot that it reads.
    snapshots: Timestamps,
}

impl SnapshotEpochs {
    /// Makes snapshot epochs of `length` commit epochs for this many slots.
    pub fn new(length: u64, slots: usize) -> Self {
        Self { length, snapshots: Timestamps::new(slots) }
    }

    /// Called when the commit epoch has advanced to `epoch`: once for each epoch, by the thread that advanced it.
    pub fn advanced_to(&self, epoch: u64) {
        // If two threads that advance the epoch overtake each other here, only time is lost: the count lags.
        if epoch > 2 && (epoch - 2).is_multiple_of(self.length) {
            self.snapshots.draw(); // Invariant (1).
        }
        self.snapshots.refresh();
    }

    /// Makes snapshots until one shows everything that was committed before this call: as many epochs begin as that
    /// takes. Waits for commits that are under way.
    pub fn renew(&self, commits: &CommitEpoch) {
        let present = commits.now();
        waiter::wait_until(None, || {
            while self.end_of(self.snapshots.last()) <= present {
                let Some(epoch) = commits.advance_now() else { return false };
                self.advanced_to(epoch);
            }
            true
        });
    }

    /// Begins a slot's read of the newest snapshot. Returns the first commit epoch that the snapshot does not show.
    #[inline]
    pub fn enter(&self, slot: usize) -> u64 {
        self.end_of(self.snapshots.snapshot(slot))
    }

    /// Ends a slot's read of a snapshot.
    #[inline]
    pub fn leave(&self, slot: usize) {
        self.snapshots.leave(slot);
    }

    /// The rule by which a commit of epoch `epoch` keeps values.
    #[inline]
    pub fn keep_at(&self, epoch: u64) -> Keep {
        Keep { below: self.end_of((epoch - 1) / self.length), watermark: self.watermark() }
    }

    /// The commit epoch before which every snapshot that is read now or later shows all epochs. Brought up to date with
    /// each commit epoch; see invariant (4).
    #[inline]
    pub fn watermark(&self) -> u64 {
        self.end_of(self.snapshots.known_watermark())
    }

    /// The first commit epoch that a snapshot does not show.
    #[inline]
    fn end_of(&self, snapshot: u64) -> u64 {
        snapshot * self.length + 1
    }
}

/// The metadata of a kept version: bit 0 is set if the record had no value, and the bits above it are the epoch of the
/// commit that left this state.
#[derive(Debug, Default)]
pub struct Past(AtomicU64);

// Relaxed throughout: `Slot::keep` publishes earlier stores, and storage publishes resets.
impl Meta for Past {
    fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

impl Past {
    #[inline]
    fn epoch(&self) -> u64 {
        self.0.load(Ordering::Relaxed) >> 1
    }

    #[inline]
    fn has_value(&self) -> bool {
        self.0.load(Ordering::Relaxed) & 1 == 0
    }
}

/// Schemes that keep the past of their records beside the data.
pub trait KeepsPast: Shape<Version = Past, Data = InPlace> {}
impl<S: Shape<Version = Past, Data = InPlace>> KeepsPast for S {}

/// The rule by which a commit keeps values.
#[derive(Clone, Copy, Debug)]
pub struct Keep {
    /// The first epoch of the commit's snapshot epoch.
    below: u64,
    watermark: u64,
}

impl Keep {
    /// Whether a value that was committed at `epoch` is kept: invariant (2).
    #[inline]
    pub fn wants(self, epoch: u64) -> bool {
        epoch < self.below
    }

    /// Keeps the value that a record has had since `epoch`, or its absence, and gives up the versions that no reader
    /// needs any more. For the holder of the record's lock.
    pub fn keep<'db, S: KeepsPast>(
        self,
        slot: &mut Slot<'db, S>,
        record: RecordRef<'db, S>,
        epoch: u64,
        has_value: bool,
    ) {
        slot.keep(record, |past| past.0.store(epoch << 1 | u64::from(!has_value), Ordering::Relaxed));
        slot.cut_kept(record, |past| past.epoch() < self.watermark); // Invariant (4).
    }
}

/// The value that a record had before the commits of epoch `end`, if its present value is of that epoch or a later one.
pub fn value_before<'t, 'db, S: KeepsPast>(
    slot: &'t Slot<'db, S>,
    record: RecordRef<'db, S>,
    end: u64,
) -> Option<&'t [u64]> {
    let mut next = slot.kept(record);
    while let Some(version) = next {
        if version.meta().epoch() < end {
            return if version.meta().has_value() { slot.words(version) } else { None };
        }
        next = slot.older(version);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Advances the commit epoch by one.
    fn step(epoch: &CommitEpoch, snapshots: &SnapshotEpochs) {
        snapshots.advanced_to(epoch.advance().expect("nobody commits"));
    }

    #[test]
    fn a_snapshot_shows_only_epochs_of_which_no_commit_is_under_way() {
        let (epoch, snapshots) = (CommitEpoch::new(0, 1), SnapshotEpochs::new(3, 1));
        for _ in 0..20 {
            // A commit that enters now draws this epoch or the next.
            epoch.enter(0);
            let drawn = epoch.now();
            while let Some(epoch) = epoch.advance() {
                snapshots.advanced_to(epoch);
            }
            assert!(snapshots.enter(0) <= drawn, "the commit of epoch {drawn} has not installed");
            epoch.leave(0);
            step(&epoch, &snapshots);
        }
        assert!(snapshots.enter(0) >= 19);
    }

    #[test]
    fn a_snapshot_is_as_young_as_it_may_be() {
        let (epoch, snapshots) = (CommitEpoch::new(0, 1), SnapshotEpochs::new(2, 1));
        let mut ends = vec![snapshots.enter(0)];
        for _ in 0..6 {
            step(&epoch, &snapshots);
            ends.push(snapshots.enter(0));
        }
        assert_eq!(ends, [1, 1, 1, 3, 3, 5, 5], "at the epochs 1 to 7");
    }

    #[test]
    fn a_snapshot_that_is_renewed_shows_what_was_committed_before_and_no_more() {
        let (epoch, snapshots) = (CommitEpoch::new(10_000, 1), SnapshotEpochs::new(25, 1));
        for _ in 0..3 {
            epoch.enter(0);
            let drawn = epoch.now();
            epoch.leave(0);
            snapshots.renew(&epoch);
            let shown = snapshots.enter(0);
            assert!(drawn < shown && shown < epoch.now(), "{drawn} < {shown} < {}", epoch.now());
        }
    }

    #[test]
    fn a_value_is_kept_if_a_snapshot_ends_between_it_and_its_successor() {
        let snapshots = SnapshotEpochs::new(3, 1);
        for (old, new) in (0..20).flat_map(|new| (0..new).map(move |old| (old, new))) {
            // Snapshot `s` shows the epochs up to `3 * s`.
            let is_shown = (0..=20).any(|s| old <= 3 * s && 3 * s < new);
            assert_eq!(snapshots.keep_at(new).wants(old), is_shown, "{old} before {new}");
        }
    }

    #[test]
    fn a_reader_holds_the_watermark_and_not_the_snapshots_of_others() {
        let (epoch, snapshots) = (CommitEpoch::new(0, 2), SnapshotEpochs::new(1, 2));
        for _ in 0..5 {
            step(&epoch, &snapshots);
        }
        let held = snapshots.enter(0);
        for _ in 0..5 {
            step(&epoch, &snapshots);
        }
        assert_eq!((snapshots.watermark(), snapshots.enter(1)), (held, held + 5));
        snapshots.leave(1);
        snapshots.leave(0);
        step(&epoch, &snapshots);
        assert_eq!(snapshots.watermark(), held + 6);
    }
}
