//! Limits of the options. Options beyond a limit are refused when the database is opened, before anything is made:
//! otherwise the process would run out of memory, or work for hours.

use storage::FirstMemory;
use sync::limits::{Bound, MemoryLeft};

use crate::definition::Definition;
use crate::open_error::{MemoryLimit, OpenError};

/// Most transactions that run at a time: each takes a seat with a session, whose number schemes keep in words.
pub(crate) const SESSIONS_MAX: usize = 4_096;
/// Most threads that execute begun transactions.
pub(crate) const HELPERS_MAX: usize = 1_024;
/// Most bytes of a row without its key: a row is copied whole, and a table allocates memory for several rows at a time.
pub(crate) const ROW_BYTES_MAX: usize = 1 << 20;
/// Most column groups of a table: each has memory of its own, in every session.
pub(crate) const GROUPS_MAX: usize = 1_024;

/// Indexes that take fewer bytes than this at first are made without asking the system how much memory is left.
const SMALL_BYTES: usize = 64 << 20;

/// Refuses a number that is greater than its limit.
pub(crate) fn check(
    what: &'static str,
    given: usize,
    most: usize,
    fix: &'static str,
) -> Result<(), OpenError> {
    if given <= most { Ok(()) } else { Err(OpenError::Limit { what, given, most, fix }) }
}

/// Refuses numbers of expected rows for whose hash indexes there is no memory. Hash indexes take their memory when they
/// are made.
pub(crate) fn check_memory(
    first: impl Iterator<Item = FirstMemory>,
    memory_bytes: Option<usize>,
    left: impl FnOnce() -> Option<MemoryLeft>,
) -> Result<(), OpenError> {
    // Bytes of all tables, bytes of the tables whose rows the program expects, and the largest table. The sums
    // saturate, and `u64::MAX` is refused.
    let (mut all, mut expected, mut most) = (0_usize, 0_usize, None::<FirstMemory>);
    let bytes_of = |memory: &FirstMemory| memory.bytes.unwrap_or(usize::MAX);
    for memory in first {
        all = all.saturating_add(bytes_of(&memory));
        if memory.expected_rows > Definition::ROWS_MIN {
            expected = expected.saturating_add(bytes_of(&memory));
        }
        if most.as_ref().is_none_or(|most| bytes_of(most) < bytes_of(&memory)) {
            most = Some(memory);
        }
    }
    let Some(most) = most else { return Ok(()) };
    let refused = |needed: usize, limit| Err(refusal(&most, needed, limit));
    if let Some(limit) = memory_bytes.filter(|limit| expected > *limit) {
        return refused(expected, MemoryLimit::Setting(limit as u64));
    }
    if all < SMALL_BYTES {
        return Ok(());
    }
    match left() {
        Some(left) if left.bytes < all as u64 => refused(all, left.bound.limit(left.bytes)),
        _ if all == usize::MAX => refused(all, MemoryLimit::System),
        _ => Ok(()),
    }
}

/// Makes the error for too little memory for hash indexes; `most` is the table with the largest.
pub(crate) fn refusal(most: &FirstMemory, needed: usize, limit: MemoryLimit) -> OpenError {
    let (table, expected_rows) = (most.table.to_owned(), most.expected_rows);
    let needed_bytes = Some(needed as u64).filter(|_| needed < usize::MAX);
    OpenError::Memory { table, expected_rows, needed_bytes, limit }
}

/// Conversion of a bound, with the bytes that it leaves, to the error's limit.
trait Limit {
    fn limit(self, bytes: u64) -> MemoryLimit;
}

impl Limit for Bound {
    fn limit(self, bytes: u64) -> MemoryLimit {
        match self {
            Self::Process => MemoryLimit::Process(bytes),
            Self::Group => MemoryLimit::ControlGroup(bytes),
            Self::Machine => MemoryLimit::Machine(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: usize = 1 << 30;

    fn memory(table: &'static str, expected_rows: usize, bytes: Option<usize>) -> FirstMemory {
        FirstMemory { table, expected_rows, bytes }
    }

    #[track_caller]
    fn refused(
        first: &[FirstMemory],
        memory_bytes: Option<usize>,
        left: Option<(usize, Bound)>,
    ) -> Option<(String, Option<u64>, MemoryLimit)> {
        let left = left.map(|(bytes, bound)| MemoryLeft { bytes: bytes as u64, bound });
        match check_memory(first.iter().copied(), memory_bytes, || left) {
            Ok(()) => None,
            Err(OpenError::Memory { table, needed_bytes, limit, .. }) => Some((table, needed_bytes, limit)),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn indexes_in_all_are_held_to_each_limit_and_the_largest_is_named() {
        let tables =
            [memory("a", 2_000, Some(GIB)), memory("b", 9_000, Some(3 * GIB)), memory("c", 1, Some(GIB))];
        let machine = |bytes| Some((bytes, Bound::Machine));
        assert_eq!(refused(&tables, None, machine(5 * GIB)), None);
        let told = |bytes: usize, limit| Some(("b".to_owned(), Some(bytes as u64), limit));
        let bytes = 5 * GIB as u64 - 1;
        let left = |bound| Some((bytes as usize, bound));
        assert_eq!(refused(&tables, None, left(Bound::Machine)), told(5 * GIB, MemoryLimit::Machine(bytes)));
        assert_eq!(
            refused(&tables, None, left(Bound::Group)),
            told(5 * GIB, MemoryLimit::ControlGroup(bytes))
        );
        assert_eq!(refused(&tables, None, left(Bound::Process)), told(5 * GIB, MemoryLimit::Process(bytes)));
        // The limit of `memory_bytes` does not count tables without expected rows: their inserts are refused later.
        let limit = 4 * GIB;
        assert_eq!(refused(&tables, Some(limit), None), None);
        assert_eq!(
            refused(&tables, Some(limit - 1), None),
            told(limit, MemoryLimit::Setting(limit as u64 - 1))
        );
    }

    #[test]
    fn more_than_can_be_counted_is_refused_though_nothing_is_known_of_the_machine() {
        let tables = [memory("a", 2_000, Some(GIB)), memory("b", usize::MAX, None)];
        assert_eq!(refused(&tables, None, None), Some(("b".to_owned(), None, MemoryLimit::System)));
        assert_eq!(refused(&[], Some(0), None), None);
    }

    #[test]
    fn of_what_is_small_nobody_asks() {
        let small = [memory("a", 5_000, Some(SMALL_BYTES - 1))];
        assert_eq!(check_memory(small.into_iter(), None, || panic!("asked")), Ok(()));
    }
}
