//! Why an attempt did not commit.

/// The reason for which an attempt ends without committing. One byte, so that it travels through `?`
/// on the hot path. A key that is not found or already there is a result, not an abort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Abort {
    /// A lock was held in a conflicting mode, and the scheme does not wait for it.
    LockBusy,
    /// An older transaction took the lock away.
    Wounded,
    /// Chosen as the victim of a deadlock.
    Deadlock,
    /// A record that was read has changed.
    ReadChanged,
    /// Another transaction wrote, or is writing, a record that this one writes.
    WriteConflict,
    /// A range or a missing key that was read has changed.
    Phantom,
    /// The order of timestamps forbids the access.
    TooLate,
    /// A transaction with a smaller number reserved the record.
    Reserved,
    /// A transaction that this one depends on did not commit.
    Dependency,
    /// A transaction whose uncommitted data was read rolled back.
    Cascade,
    /// The attempt touched a partition that it had not declared.
    Partition,
    /// The attempt touched a record outside its footprint.
    Footprint,
    /// Chosen to abort, so that the other transactions of its batch have a serial order.
    Victim,
    /// A wait took too long.
    Timeout,
    /// A bounded resource is used up.
    Full,
    /// The run is over: the attempt was waiting when the workers were told to stop.
    Stopped,
    /// The procedure itself asked for it: a user abort, not retried.
    Rollback,
}

impl Abort {
    /// All reasons, in the order of their numbers.
    pub const ALL: [Self; 17] = [
        Self::LockBusy,
        Self::Wounded,
        Self::Deadlock,
        Self::ReadChanged,
        Self::WriteConflict,
        Self::Phantom,
        Self::TooLate,
        Self::Reserved,
        Self::Dependency,
        Self::Cascade,
        Self::Partition,
        Self::Footprint,
        Self::Victim,
        Self::Timeout,
        Self::Full,
        Self::Stopped,
        Self::Rollback,
    ];

    /// The name used in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LockBusy => "lock_busy",
            Self::Wounded => "wounded",
            Self::Deadlock => "deadlock",
            Self::ReadChanged => "read_changed",
            Self::WriteConflict => "write_conflict",
            Self::Phantom => "phantom",
            Self::TooLate => "too_late",
            Self::Reserved => "reserved",
            Self::Dependency => "dependency",
            Self::Cascade => "cascade",
            Self::Partition => "partition",
            Self::Footprint => "footprint",
            Self::Victim => "victim",
            Self::Timeout => "timeout",
            Self::Full => "full",
            Self::Stopped => "stopped",
            Self::Rollback => "rollback",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_stand_at_their_numbers() {
        for (number, reason) in Abort::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, number, "{}", reason.name());
        }
    }
}
