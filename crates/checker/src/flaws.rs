//! Flaws, which no order of transactions can explain: reads of versions that nobody committed, versions that went
//! missing, a transaction that does not see its own writes.

use stdx::history::{Key, TxnId, Version};

/// The kind of a flaw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FlawKind {
    /// G1a: the transaction read a version that an aborted attempt wrote.
    AbortedRead,
    /// G1b: the transaction read a version that the writer itself replaced before committing.
    IntermediateRead,
    /// The transaction read a version that nobody wrote.
    UnwrittenRead,
    /// The transaction read, under one key, a version of another key.
    WrongKey,
    /// The transaction did not read its own write, or installed a value other than its last write.
    OwnWrite,
    /// The transaction committed, but one of its writes was never installed.
    LostWrite,
    /// The transaction installed a version that another transaction wrote.
    ForeignInstall,
    /// The transaction aborted, but one of its versions was installed.
    AbortedInstall,
    /// The transaction replaced a version that was never installed under that key.
    BrokenChain,
    /// Two installs replaced the same version, or one version was installed twice: one of them is lost.
    DoubleInstall,
    /// Two installs replaced the same version, and one of them was a deletion: the deleted row came back.
    Resurrected,
    /// The transaction found a key absent that had a value all the time, or inserted a key that was not absent.
    NeverAbsent,
    /// The transaction saw a loaded value under a key that was not loaded.
    NeverLoaded,
    /// The rows of a scan were out of order, out of range, or duplicated.
    ScanOrder,
}

impl FlawKind {
    /// The name for users.
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

/// One flaw of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flaw {
    /// The kind of the flaw.
    pub(crate) kind: FlawKind,
    /// The transaction that met the flaw.
    pub(crate) txn: TxnId,
    /// Another transaction that had a part in the flaw.
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
