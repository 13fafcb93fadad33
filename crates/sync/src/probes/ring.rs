//! Memory that probes walk through: lines in one random cycle, so that no processor can tell the next line ahead.

use crate::atomic::{AtomicU64, Ordering};
use crate::{IS_STEPPED, words};

/// Bytes of a huge page, to which the memory is aligned. Records of databases are on such pages, too.
const HUGE_BYTES: usize = 2 << 20;

const WORD_BYTES: usize = size_of::<u64>();

/// The bit of a line's second word that updates change.
const CHANGED: u64 = 1 << 63;

/// Lines, each of which has the place of the next one of a cycle in its first two words.
#[derive(Debug)]
pub(super) struct Ring {
    words: Vec<AtomicU64>,
    /// The words before the first line.
    skipped: usize,
    /// Words of a line.
    pub(super) stride: usize,
    /// The number of lines.
    pub(super) lines: usize,
}

impl Ring {
    /// A cycle over so many bytes, in lines of `line_bytes`.
    ///
    /// # Panics
    /// When there is no room for a line, or a line has less than three words.
    pub(super) fn new(bytes: usize, line_bytes: usize) -> Self {
        let (lines, stride) = (bytes / line_bytes, line_bytes / WORD_BYTES);
        assert!(lines > 0 && stride > 2, "a probe has lines of words");
        let mut words: Vec<AtomicU64> = Vec::with_capacity(lines * stride + HUGE_BYTES / WORD_BYTES);
        let skipped = words.as_ptr().align_offset(HUGE_BYTES).min(HUGE_BYTES / WORD_BYTES);
        ask_for_huge_pages(&words);
        words.resize_with(skipped + lines * stride, AtomicU64::default);
        let ring = Self { words, skipped, stride, lines };
        ring.link();
        ring
    }

    /// Writes the cycle.
    fn link(&self) {
        let mut order: Vec<usize> = (0..self.lines).collect();
        let mut state = 1_u64;
        for last in (1..self.lines).rev() {
            // Knuth's linear congruential generator (MMIX); its upper bits are good enough for an order that no
            // processor foresees, and the same on every machine.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            order.swap(last, ((u128::from(state) * (last as u128 + 1)) >> 64) as usize);
        }
        for (at, line) in order.iter().enumerate() {
            let next = order[(at + 1) % self.lines] * self.stride;
            // Relaxed: workers start later.
            self.words()[line * self.stride].store(next as u64, Ordering::Relaxed);
            // Relaxed: as above.
            self.words()[line * self.stride + 1].store(next as u64, Ordering::Relaxed);
        }
    }

    /// All words of all lines.
    #[inline]
    pub(super) fn words(&self) -> &[AtomicU64] {
        &self.words[self.skipped..]
    }

    /// Goes so many lines on from the line at word `at`, and returns the word of the line that it reaches.
    #[inline]
    pub(super) fn chase(&self, at: usize, steps: usize) -> usize {
        let words = self.words();
        // Relaxed: the lines do not change while somebody walks.
        (0..steps).fold(at, |at, _| words[at].load(Ordering::Relaxed) as usize)
    }

    /// As [`chase`](Self::chase), with an atomic update of each line. The update changes a bit, because a compiler
    /// makes a load of an update that changes nothing; and a word that no chase looks at, because to take the bit off
    /// takes time.
    #[inline]
    pub(super) fn chase_by_updates(&self, at: usize, steps: usize) -> usize {
        let words = self.words();
        // Relaxed: as in `chase`.
        let next = |at: usize| words[at + 1].fetch_add(CHANGED, Ordering::Relaxed) & !CHANGED;
        (0..steps).fold(at, |at, _| next(at) as usize)
    }

    /// As [`chase`](Self::chase), with a copy of several lines at each step.
    #[inline]
    pub(super) fn chase_by_copies(&self, at: usize, steps: usize, copy: &mut [u64]) -> usize {
        let words = self.words();
        (0..steps).fold(at, |at, _| {
            let from = at.min(words.len() - copy.len());
            words::load(&words[from..from + copy.len()], copy);
            copy[at - from] as usize
        })
    }

    /// The first word of the `nth` line of a sequence that jumps through memory, known ahead.
    #[inline]
    pub(super) fn jump(&self, nth: usize) -> &AtomicU64 {
        // A power of two of lines, of which an odd factor reaches every one.
        let mask = (self.lines + 1).next_power_of_two() / 2 - 1;
        &self.words()[(nth.wrapping_mul(0x9e37_79b1) & mask) * self.stride]
    }
}

/// Asks for huge pages for memory that has not been written yet.
fn ask_for_huge_pages(words: &Vec<AtomicU64>) {
    #[cfg(target_os = "linux")]
    if !IS_STEPPED {
        let start = words.as_ptr().wrapping_add(words.as_ptr().align_offset(HUGE_BYTES));
        let end = words.as_ptr().wrapping_add(words.capacity());
        let bytes = end.addr().saturating_sub(start.addr()) / HUGE_BYTES * HUGE_BYTES;
        // SAFETY: the whole pages lie within the vector's own memory, and the advice changes no contents. The system
        // may refuse, which costs speed only.
        unsafe { libc::madvise(start.cast_mut().cast(), bytes, libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = words;
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_chase_visits_each_line_once_and_comes_back() {
        for (bytes, line_bytes) in [(64, 64), (4096, 64), (100 * 128, 128)] {
            let ring = Ring::new(bytes, line_bytes);
            let visited: BTreeSet<usize> = (0..ring.lines).map(|steps| ring.chase(0, steps)).collect();
            assert_eq!(visited.len(), bytes / line_bytes);
            assert!(visited.iter().all(|at| (at * WORD_BYTES).is_multiple_of(line_bytes)));
            assert_eq!(ring.chase(0, ring.lines), 0);
        }
    }

    #[test]
    fn neighbours_in_memory_are_no_neighbours_of_the_cycle() {
        let ring = Ring::new(1 << 16, 64);
        let next = |line: usize| ring.chase(line * ring.stride, 1) / ring.stride;
        let near = (0..ring.lines).filter(|line| next(*line).abs_diff(*line) <= 2).count();
        assert!(near < 20, "{near} of {}", ring.lines);
    }

    #[test]
    fn updates_and_copies_go_the_way_of_loads_and_leave_the_cycle() {
        let ring = Ring::new(1 << 13, 64);
        let reached = ring.chase(0, 77);
        assert_eq!(ring.chase_by_updates(0, 77), reached);
        assert_eq!(ring.chase_by_copies(0, 77, &mut [0; 32]), reached);
        assert_eq!((ring.chase(0, ring.lines), ring.chase_by_updates(0, ring.lines)), (0, 0));
        assert_eq!(ring.chase(0, 77), reached);
    }

    #[test]
    fn jumps_reach_a_power_of_two_of_lines() {
        let ring = Ring::new(100 * 64, 64);
        let reached: BTreeSet<usize> =
            (0..64).map(|nth| core::ptr::from_ref(ring.jump(nth)).addr()).collect();
        assert_eq!(reached.len(), 64);
    }
}
