//! The rows that a request is known to touch before it is executed.

use core::fmt;

use storage::{Key, OrderedKey, Row, Table};

/// The rows that an input is known to read and to write, as numbers: see
/// [`Workload::footprint`](crate::Workload::footprint). Different rows, and different column groups of a row, have
/// different numbers, except with a probability of one in 2^64.
///
/// A footprint may be incomplete, and may have rows that are not touched after all. It decides only where and when a
/// request is executed, and never whether its result is correct.
#[derive(Clone, Default)]
pub struct InputFootprint {
    reads: Vec<u64>,
    writes: Vec<u64>,
}

impl InputFootprint {
    /// Adds a row that is read and not written.
    #[inline]
    pub fn read<R: Row + ?Sized>(&mut self, table: Table<R>, key: R::Key) {
        self.reads.push(number(table, key));
    }

    /// Adds a row that is written, whether or not it is read before.
    #[inline]
    pub fn write<R: Row + ?Sized>(&mut self, table: Table<R>, key: R::Key) {
        self.writes.push(number(table, key));
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.reads.clear();
        self.writes.clear();
    }

    /// The rows that are read and not written.
    pub fn reads(&self) -> &[u64] {
        &self.reads
    }

    /// The rows that are written.
    pub fn writes(&self) -> &[u64] {
        &self.writes
    }
}

#[cfg(all(test, not(loom)))]
impl InputFootprint {
    /// The footprint with these numbers.
    pub(crate) fn of_numbers(reads: &[u64], writes: &[u64]) -> Self {
        Self { reads: reads.to_vec(), writes: writes.to_vec() }
    }
}

#[inline]
fn number<R: Row + ?Sized>(table: Table<R>, key: R::Key) -> u64 {
    let group = (u64::from(table.id().0) << 16 | table.group() as u64).hash();
    group.wrapping_add(key.ordered().hash()).hash()
}

impl fmt::Debug for InputFootprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InputFootprint")
            .field("reads", &self.reads.len())
            .field("writes", &self.writes.len())
            .finish()
    }
}
