//! Lines on their way into the caches of a group of cores.
//!
//! The tag of a line stands in a cache as soon as somebody has asked for the line. Whoever finds it there before the
//! line has arrived waits until then: who asked for the line ahead of its use, another thread of the core, or another
//! core of the group.

use sync_sim::host;

use super::caches::{Fetched, Part};
use super::tags::LineId;

/// Places for each thread of a group: more than the lines that a transaction asks for ahead.
const PLACES_PER_THREAD: u32 = 128;

/// A line that arrives at some time, from some part of the machine.
#[derive(Clone, Copy, Debug)]
struct Coming {
    line: LineId,
    fetched: Fetched,
}

/// The lines that are on their way, by group. A line has one place, and the next line of the same place takes it: of
/// two such lines that are on their way at the same time, the first counts as arrived.
#[derive(Debug)]
pub(super) struct Arrivals {
    places: Box<[Coming]>,
    /// By group, the time at which all lines have arrived.
    last: Box<[u64]>,
    /// The places of a group: a power of two.
    of_group: usize,
}

impl Arrivals {
    /// No lines on their way into so many groups, of so many threads each.
    pub(super) fn new(groups: u32, threads: u32) -> Self {
        let of_group = (PLACES_PER_THREAD * threads.max(1)).next_power_of_two() as usize;
        let fetched = Fetched { ready: 0, part: Part::Memory, is_shared: false };
        let nothing = Coming { line: LineId::MAX, fetched };
        let places = vec![nothing; groups as usize * of_group].into_boxed_slice();
        Self { places, last: vec![0; groups as usize].into_boxed_slice(), of_group }
    }

    /// A line is on its way into a group.
    #[inline]
    pub(super) fn put(&mut self, group: u16, line: LineId, fetched: Fetched) {
        let place = self.place(group, line);
        self.places[place] = Coming { line, fetched };
        let last = &mut self.last[usize::from(group)];
        *last = fetched.ready.max(*last);
    }

    /// The line on its way into a group, if it arrives after `at`.
    #[inline]
    pub(super) fn after(&self, group: u16, at: u64, line: LineId) -> Option<Fetched> {
        if self.last[usize::from(group)] <= at {
            return None;
        }
        let coming = self.places[self.place(group, line)];
        (coming.line == line && coming.fetched.ready > at).then_some(coming.fetched)
    }

    /// Asks the host for the place of a line.
    #[inline]
    pub(super) fn ask_ahead(&self, group: u16, line: LineId) {
        host::prefetch(&raw const self.places[self.place(group, line)]);
    }

    #[inline]
    fn place(&self, group: u16, line: LineId) -> usize {
        usize::from(group) * self.of_group + (line as usize & (self.of_group - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_arrived_when_its_time_has_come() {
        let mut arrivals = Arrivals::new(2, 1);
        let far = Fetched { ready: 500, part: Part::Numa, is_shared: true };
        arrivals.put(1, 7, far);
        assert_eq!(arrivals.after(1, 499, 7), Some(far));
        let others = [(1, 500, 7), (0, 0, 7), (1, 0, 8), (1, 0, 7 + PLACES_PER_THREAD)];
        assert!(others.iter().all(|&(group, at, line)| arrivals.after(group, at, line).is_none()));
        let near = Fetched { ready: 300, part: Part::L3, is_shared: false };
        arrivals.put(1, 7, near);
        assert_eq!(arrivals.after(1, 299, 7), Some(near), "asked for again");
    }
}
