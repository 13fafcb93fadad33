//! Planted bugs: mistakes that an author of a log might make, to prove that the search for lost and torn commits finds
//! them. None is on the path of a transaction.

/// A planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogPlant {
    /// Says that an epoch is durable before its bytes are synced.
    AcknowledgesBeforeSync,
    /// Syncs a round before its seals are written, and does not sync the seals.
    SealsAfterSync,
    /// Writes no seals, and takes the last block that can be read for the end of the log.
    SkipsSeals,
    /// Accepts blocks without verifying their checksums.
    IgnoresChecksums,
    /// Cuts the log at the first block that cannot be read, whatever follows it.
    CutsAnywhere,
    /// Does not make the name of a new segment durable.
    SkipsDirectorySync,
    /// Replaces the manifest, but does not make its new name durable before files that it no longer names are removed.
    RenamesWithoutSync,
    /// Overwrites the old manifest.
    OverwritesManifest,
    /// Does not sync the manifest before it is renamed.
    RenamesUnsynced,
    /// Retries a failed sync, and trusts the second result.
    RetriesSync,
    /// Writes a round directly behind the one before, on the same page.
    SharesPages,
    /// Recovers up to the last seal of any device, instead of the last epoch that all devices have sealed.
    BelievesOneDevice,
    /// Seals an epoch while a commit that drew it has not been handed over.
    SealsEarly,
    /// Orders the writes of a row by their place in the log, instead of by epoch and order.
    OrdersByPlace,
    /// Forgets deletions.
    ForgetsDeletions,
    /// Removes the log before the manifest names the checkpoint that replaces it.
    TruncatesEarly,
    /// Accepts a segment that is shorter than its head says.
    IgnoresLengths,
    /// Continues in new segments that the manifest does not name.
    LeavesSegmentsUnnamed,
    /// Does not sync the parts of a checkpoint.
    LeavesPartsUnsynced,
}
