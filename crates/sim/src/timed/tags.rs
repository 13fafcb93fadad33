//! The tags of caches: which version of which line each has.

use sync_sim::host;

/// The number of a line of the simulated memory, in the order of their first use.
pub(super) type LineId = u32;

/// Equal set-associative caches without data. A line counts as present if the cache has its current version: a write
/// anywhere gives the line another version, so that no cache has to be told.
#[derive(Debug)]
pub(super) struct Tags {
    /// The sets one after the other, the most recently used line of each set first. An entry is a line's number plus
    /// one in the upper half, and the version in the lower half; 0 is an empty entry.
    entries: Box<[u64]>,
    /// The position of the first set: no set is in more lines of the host than it has to be.
    first: usize,
    ways: usize,
    /// The distance of two sets.
    stride: usize,
    /// The sets of a cache, and a number by which a division by them becomes a multiplication.
    sets: usize,
    share: u64,
}

/// Entries of a line of the host.
const ENTRIES_PER_LINE: usize = 64 / size_of::<u64>();

impl Tags {
    /// So many caches of so many lines each, rounded down to whole sets.
    pub(super) fn new(caches: u32, lines: u64, ways: u32) -> Self {
        let ways = ways.max(1) as usize;
        let sets = (lines as usize / ways).max(1);
        let share = (u64::MAX / sets as u64).wrapping_add(1);
        let stride = ways.next_power_of_two().min(ways.next_multiple_of(ENTRIES_PER_LINE));
        let entries = vec![0_u64; caches as usize * sets * stride + ENTRIES_PER_LINE].into_boxed_slice();
        let first = entries.as_ptr().align_offset(ENTRIES_PER_LINE * size_of::<u64>()).min(ENTRIES_PER_LINE);
        Self { entries, first, ways, stride, sets, share }
    }

    /// Whether a cache has this version of the line, which then is the most recently used one.
    #[inline]
    pub(super) fn has(&mut self, cache: u16, line: LineId, version: u32) -> bool {
        let set = self.set(cache, line);
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
    pub(super) fn put(&mut self, cache: u16, line: LineId, version: u32) {
        let set = self.set(cache, line);
        let tag = entry(line, 0) >> 32;
        let at = set.iter().position(|&other| other >> 32 == tag).unwrap_or(set.len() - 1);
        set.copy_within(..at, 1);
        set[0] = entry(line, version);
    }

    /// Asks the host for the set of a line.
    #[inline]
    pub(super) fn ask_ahead(&self, cache: u16, line: LineId) {
        host::prefetch(&raw const self.entries[self.start(cache, line)]);
    }

    #[inline]
    fn set(&mut self, cache: u16, line: LineId) -> &mut [u64] {
        let start = self.start(cache, line);
        &mut self.entries[start..start + self.ways]
    }

    /// The position of the set of a line.
    #[inline]
    fn start(&self, cache: u16, line: LineId) -> usize {
        // The rest of a division by the number of sets (Lemire, Kaser, Kurz: Faster remainder by direct computation,
        // Software: Practice and Experience 49(6), 2019). With one set, `share` is 0 and so is the rest.
        let fraction = self.share.wrapping_mul(u64::from(line));
        let of_cache = ((u128::from(fraction) * self.sets as u128) >> 64) as usize;
        self.first + (usize::from(cache) * self.sets + of_cache) * self.stride
    }

    /// Whether a cache has this version of the line. It counts as no use of the line.
    pub(super) fn keeps(&self, cache: u16, line: LineId, version: u32) -> bool {
        let start = self.start(cache, line);
        self.entries[start..start + self.ways].contains(&entry(line, version))
    }
}

#[inline]
fn entry(line: LineId, version: u32) -> u64 {
    (u64::from(line) + 1) << 32 | u64::from(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cache_keeps_the_lines_of_a_set_that_it_used_last() {
        // Eleven ways, which share two lines of the host; two sets.
        let mut tags = Tags::new(3, 22, 11);
        let of_set = |set: u32| (0..12).map(move |nth| 2 * nth + set);
        for line in of_set(0).take(11) {
            tags.put(1, line, 0);
        }
        tags.put(2, 0, 0);
        assert!(tags.has(1, 0, 0), "all eleven have a place");
        tags.put(1, 22, 0);
        let kept: Vec<LineId> = of_set(0).filter(|line| tags.has(1, *line, 0)).collect();
        assert_eq!(kept, of_set(0).filter(|line| *line != 2).collect::<Vec<_>>());
        assert!(of_set(1).all(|line| !tags.has(1, line, 0)), "nobody used the other set");
        assert!(tags.has(2, 0, 0) && !tags.has(2, 22, 0) && !tags.has(0, 0, 0), "the caches are apart");
        assert!(!tags.has(1, 0, 1), "it has an older version");
    }

    #[test]
    fn lines_spread_over_any_number_of_sets() {
        for sets in [1_u32, 2, 3, 7, 56, 57_344] {
            let tags = Tags::new(1, u64::from(sets), 1);
            let at = |line: LineId| (tags.start(0, line) - tags.first) / tags.stride;
            for line in (0..3 * sets + 2).chain([u32::MAX - 1, u32::MAX]) {
                assert_eq!(at(line), (line % sets) as usize, "line {line} of {sets} sets");
            }
        }
    }

    #[test]
    fn sets_begin_with_lines_of_the_host() {
        for ways in [4, 8, 11, 16] {
            let tags = Tags::new(2, 64, ways);
            let address = |line| core::ptr::from_ref(&tags.entries[tags.start(1, line)]).addr();
            let part = ENTRIES_PER_LINE.min(ways as usize) * size_of::<u64>();
            assert!((0..2).all(|line| address(line) % part == 0), "{ways} ways");
        }
    }
}
