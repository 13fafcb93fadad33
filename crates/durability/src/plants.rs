//! Planted bugs: slips that an author of a log might make, to prove that the search for lost and torn commits finds
//! them. None is on the path of a transaction.

/// A planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plant {
    /// Says that an epoch is durable before its bytes are synced.
    AcknowledgesBeforeSync,
    /// Syncs what was written, but the seals, which come after.
    SealsAfterSync,
    /// Writes no seals, and takes the last block that can be read for the end.
    SkipsSeals,
    /// Believes blocks without looking at their checksums.
    IgnoresChecksums,
    /// Cuts the log at the first block that cannot be read, whatever comes after it.
    CutsAnywhere,
    /// Does not make the name of a new segment durable.
    SkipsDirectorySync,
    /// Replaces the manifest, but does not make its new name durable before what it no longer names is removed.
    RenamesWithoutSync,
    /// Writes the manifest in place of the one before.
    OverwritesManifest,
    /// Does not sync the manifest before it is renamed.
    RenamesUnsynced,
    /// Tries again when a sync has failed, and believes the second answer.
    RetriesSync,
    /// Writes a round right behind the one before, on the same page.
    SharesPages,
    /// Recovers up to the last seal of any device, and not of all.
    BelievesOneDevice,
    /// Seals an epoch while somebody who drew it has not handed over.
    SealsEarly,
    /// Takes the last write in the log for the last one made.
    OrdersByPlace,
    /// Forgets deletions.
    ForgetsDeletions,
    /// Removes the log before the checkpoint that stands for it is in the manifest.
    TruncatesEarly,
    /// Believes a segment that is shorter than its head says.
    IgnoresLengths,
    /// Goes on in new segments that the manifest does not name.
    LeavesSegmentsUnnamed,
    /// Does not sync the parts of a checkpoint.
    LeavesPartsUnsynced,
}
