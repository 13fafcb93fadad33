//! What no order of transactions can explain: reads of what nobody committed, versions that went missing, a
//! transaction that does not see its own writes.

use stdx::history::{Key, TxnId, Version};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FlawKind {
    /// G1a: it read what an aborted attempt wrote.
    AbortedRead,
    /// G1b: it read what its writer itself replaced before committing.
    IntermediateRead,
    /// It read a version that nobody wrote.
    UnwrittenRead,
    /// It read, under one key, a version of another.
    WrongKey,
    /// It did not read its own write, or installed another value than its last.
    OwnWrite,
    /// It committed, but one of its writes was never installed.
    LostWrite,
    /// It installed what another wrote.
    ForeignInstall,
    /// It aborted, but something was installed.
    AbortedInstall,
    /// It replaced a version that was never installed there.
    BrokenChain,
    /// Two installs replaced the same version, or one version was installed twice: one of them is lost.
    DoubleInstall,
    /// Two installs replaced the same version, and one of them was a deletion: what was deleted came back.
    Resurrected,
    /// It found a key absent that had a value all the time, or inserted one that was not absent.
    NeverAbsent,
    /// It saw a loaded value under a key that was not loaded.
    NeverLoaded,
    /// The rows of a scan were out of order, out of range, or there twice.
    ScanOrder,
}

impl FlawKind {
    /// What users call it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::AbortedRead => "aborted read",
            Self::IntermediateRead => "intermediate read",
            Self::UnwrittenRead => "read of what nobody wrote",
            Self::WrongKey => "read of another key's version",
            Self::OwnWrite => "own write not seen",
            Self::LostWrite => "write lost at commit",
            Self::ForeignInstall => "install of another's write",
            Self::AbortedInstall => "install by an aborted attempt",
            Self::BrokenChain => "missing version",
            Self::DoubleInstall => "version lost by a second install over the same",
            Self::Resurrected => "deleted row came back",
            Self::NeverAbsent => "present row taken for absent",
            Self::NeverLoaded => "loaded value of a row that was not loaded",
            Self::ScanOrder => "scan out of order",
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flaw {
    /// What.
    pub(crate) kind: FlawKind,
    /// Who met it.
    pub(crate) txn: TxnId,
    /// Who else had a part in it.
    pub(crate) other: Option<TxnId>,
    /// The table of the key.
    pub(crate) table: u16,
    /// The key.
    pub(crate) key: Vec<u64>,
    /// The version that was met.
    pub(crate) version: Version,
}

impl Flaw {
    pub(crate) fn new(kind: FlawKind, txn: TxnId, key: Key<'_>, version: Version) -> Self {
        let other = Some(version.txn()).filter(|other| *other != TxnId::LOAD && *other != txn);
        Self { kind, txn, other, table: key.table, key: key.words.to_vec(), version }
    }

    pub(crate) fn with(self, other: TxnId) -> Self {
        Self { other: Some(other), ..self }
    }
}
