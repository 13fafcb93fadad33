//! Fixed inputs for the mix, in place of random ones: the loaded rows, and each operation of each transaction.

use super::{At, Input, MixKey, MixOp, OPS_MAX};

/// Rows that are loaded before the run: the table, the first key, and the number of rows, whose keys have
/// consecutive numbers from the first key's on.
#[derive(Clone, Copy, Debug)]
pub struct LoadedRows(pub At, pub MixKey, pub u64);

/// The transactions of concurrent sessions: a list for each session, in order. A session whose list is shorter than
/// others sends empty transactions at the end.
pub type Act = &'static [&'static [Input]];

impl LoadedRows {
    /// Returns the keys of the rows, in ascending order.
    pub(super) fn keys(self) -> impl Iterator<Item = (At, MixKey)> {
        let Self(at, first, count) = self;
        (0..count).map(move |nth| (at, MixKey::new(first.at(), first.number() + nth)))
    }
}

impl Input {
    /// Creates a transaction of these operations. The transaction names the homes of all its keys, and commits.
    pub const fn given(list: &[MixOp]) -> Self {
        assert!(list.len() <= OPS_MAX, "a transaction has a bounded number of operations");
        let mut ops = [MixOp::NONE; OPS_MAX];
        let mut nth = 0;
        while nth < list.len() {
            ops[nth] = list[nth];
            nth += 1;
        }
        let len = list.len();
        Self { len, ops, is_read_only: false, rolls_back: false, tells_homes: true, pauses: 0, pause_ns: 0 }
    }

    /// Returns the same transaction, declared read-only.
    #[must_use]
    pub const fn reading_only(self) -> Self {
        Self { is_read_only: true, ..self }
    }

    /// Returns the same transaction, but with a rollback at its end.
    #[must_use]
    pub const fn rolling_back(self) -> Self {
        Self { rolls_back: true, ..self }
    }

    /// Returns the same transaction, but only the home of the first operation's key is named.
    #[must_use]
    pub const fn telling_one_home(self) -> Self {
        Self { tells_homes: false, ..self }
    }

    /// Returns the same transaction, but with a wait of `ns` nanoseconds after the operation at this position.
    #[must_use]
    pub const fn waiting_after(self, position: usize, ns: u64) -> Self {
        Self { pauses: self.pauses | 1 << position, pause_ns: ns, ..self }
    }
}
