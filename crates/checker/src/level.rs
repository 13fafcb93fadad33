//! Levels of isolation, and the phenomena that they forbid: Adya's (1999), with those that snapshots (Cerone
//! and Gotsman, 2016) and real time add.

/// The isolation level that a scheme promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// No cycle of dependencies alone, and reads return committed versions only.
    ReadCommitted,
    /// Each transaction reads one state of all keys, and of two transactions that overlap at most one writes a key: no
    /// cycle without two anti-dependencies in a row. Snapshots may be old.
    SnapshotIsolation,
    /// Some serial order of the transactions explains the history.
    Serializable,
    /// Some such order explains it in which a transaction that began after another had ended comes after it.
    StrictlySerializable,
}

impl Level {
    /// All levels, the weakest first.
    pub const ALL: [Self; 4] =
        [Self::ReadCommitted, Self::SnapshotIsolation, Self::Serializable, Self::StrictlySerializable];

    /// The name for users.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadCommitted => "read committed",
            Self::SnapshotIsolation => "snapshot isolation",
            Self::Serializable => "serializable",
            Self::StrictlySerializable => "strictly serializable",
        }
    }

    /// Whether the level forbids the phenomenon.
    pub const fn forbids(self, phenomenon: Phenomenon) -> bool {
        use Phenomenon::{Broken, G0, G1a, G1b, G1c, G2, G2Item, GNonadjacent, GSingle, RealTime, Stamps};
        match phenomenon {
            Broken | G0 | G1a | G1b | G1c => true,
            GSingle | GNonadjacent => !matches!(self, Self::ReadCommitted),
            G2Item | G2 => matches!(self, Self::Serializable | Self::StrictlySerializable),
            RealTime => matches!(self, Self::StrictlySerializable),
            Stamps => false,
        }
    }
}

/// A phenomenon, the strongest first: a level that forbids one forbids all before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phenomenon {
    /// No execution at all explains the history.
    Broken,
    /// A read of a version whose writer aborted.
    G1a,
    /// A read of a version that its writer itself replaced.
    G1b,
    /// A cycle of `ww`.
    G0,
    /// A cycle of `ww` and `wr`.
    G1c,
    /// A cycle with one `rw`.
    GSingle,
    /// A cycle with several `rw`, no two in a row.
    GNonadjacent,
    /// A cycle with two `rw` in a row, all over keys that were read by a lookup of the key, not by a scan.
    G2Item,
    /// The same, with an `rw` over a range in which a key was missing.
    G2,
    /// A cycle that closes only with an edge of a session or of real time.
    RealTime,
    /// A transaction that the order of stamps does not explain: no level forbids it, but schemes may promise more.
    Stamps,
}

impl Phenomenon {
    /// The name in the literature.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Broken => "broken history",
            Self::G0 => "G0",
            Self::G1a => "G1a",
            Self::G1b => "G1b",
            Self::G1c => "G1c",
            Self::GSingle => "G-single",
            Self::GNonadjacent => "G-nonadjacent",
            Self::G2Item => "G2-item",
            Self::G2 => "G2",
            Self::RealTime => "real time",
            Self::Stamps => "stamps",
        }
    }
}
