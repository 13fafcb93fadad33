//! What is given to the mix in place of chance: the rows that are there, and each operation of each transaction.

use super::{At, Input, OPS_MAX, Op, Spot};

/// Rows that are there before anything runs: so many of a table, with numbers in a row from the first key's on.
#[derive(Clone, Copy, Debug)]
pub struct Rows(pub At, pub Spot, pub u64);

/// What sessions send at the same time: each its transactions, one after the other. One that has fewer of them than
/// others ends with empty ones.
pub type Act = &'static [&'static [Input]];

impl Rows {
    /// Their keys, in ascending order.
    pub(super) fn keys(self) -> impl Iterator<Item = (At, Spot)> {
        let Self(at, first, count) = self;
        (0..count).map(move |nth| (at, Spot::new(first.at(), first.number() + nth)))
    }
}

impl Input {
    /// A transaction of these operations. It says where their keys live, and commits.
    pub const fn given(list: &[Op]) -> Self {
        assert!(list.len() <= OPS_MAX, "a transaction has a bounded number of operations");
        let mut ops = [Op::NONE; OPS_MAX];
        let mut nth = 0;
        while nth < list.len() {
            ops[nth] = list[nth];
            nth += 1;
        }
        let len = list.len();
        Self { len, ops, is_read_only: false, rolls_back: false, tells_homes: true, pauses: 0, pause_ns: 0 }
    }

    /// The same, declared to change nothing.
    #[must_use]
    pub const fn reading_only(self) -> Self {
        Self { is_read_only: true, ..self }
    }

    /// The same, but it rolls back in the end.
    #[must_use]
    pub const fn rolling_back(self) -> Self {
        Self { rolls_back: true, ..self }
    }

    /// The same, but it says only where the key of its first operation lives.
    #[must_use]
    pub const fn telling_one_home(self) -> Self {
        Self { tells_homes: false, ..self }
    }

    /// The same, but it waits for so many nanoseconds after its operation at this position.
    #[must_use]
    pub const fn waiting_after(self, position: usize, ns: u64) -> Self {
        Self { pauses: self.pauses | 1 << position, pause_ns: ns, ..self }
    }
}
