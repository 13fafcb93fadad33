//! The tags of a cache: which version of which line it has.

/// The number of a line of the simulated memory, in the order of their first use.
pub(super) type LineId = u32;

/// A set-associative cache without data. A line counts as present if the cache has its current version: a write
/// anywhere gives the line another version, so that no cache has to be told.
#[derive(Debug)]
pub(super) struct Tags {
    /// The sets one after the other, the most recently used line of each set first. An entry is a line's number plus
    /// one in the upper half, and the version in the lower half; 0 is an empty entry.
    entries: Box<[u64]>,
    ways: usize,
    mask: usize,
}

impl Tags {
    /// A cache of so many lines, rounded down to a power of two of sets.
    pub(super) fn new(lines: u64, ways: u32) -> Self {
        let ways = ways.max(1) as usize;
        let sets = (lines as usize / ways).max(1);
        let sets = if sets.is_power_of_two() { sets } else { sets.next_power_of_two() / 2 };
        Self { entries: vec![0; sets * ways].into_boxed_slice(), ways, mask: sets - 1 }
    }

    /// Whether the cache has this version of the line, which then is the most recently used one.
    #[inline]
    pub(super) fn has(&mut self, line: LineId, version: u32) -> bool {
        let set = self.set(line);
        let entry = entry(line, version);
        if set[0] == entry {
            return true;
        }
        let Some(at) = set.iter().position(|&other| other == entry) else { return false };
        set.copy_within(..at, 1);
        set[0] = entry;
        true
    }

    /// Puts a version of the line in the place of an older one, or else of the least recently used line.
    #[inline]
    pub(super) fn put(&mut self, line: LineId, version: u32) {
        let set = self.set(line);
        let tag = entry(line, 0) >> 32;
        let at = set.iter().position(|&other| other >> 32 == tag).unwrap_or(set.len() - 1);
        set.copy_within(..at, 1);
        set[0] = entry(line, version);
    }

    #[inline]
    fn set(&mut self, line: LineId) -> &mut [u64] {
        let start = (line as usize & self.mask) * self.ways;
        &mut self.entries[start..start + self.ways]
    }
}

#[inline]
fn entry(line: LineId, version: u32) -> u64 {
    (u64::from(line) + 1) << 32 | u64::from(version)
}
