//! Lines on their way into the caches of a group of cores.
//!
//! The tag of a line stands in a cache as soon as somebody has asked for the line. Whoever finds it there before the
//! line has arrived waits until then: who asked for the line ahead of its use, another thread of the core, or another
//! core of the group.

use sync_sim::host;

use super::caches::Part;
use super::tags::LineId;

/// Places for each thread of a group: more than the lines that a transaction asks for ahead.
const PLACES_PER_THREAD: u32 = 128;

/// A line that arrives at some time, from some part of the machine.
#[derive(Clone, Copy, Debug)]
struct Coming {
    ready: u64,
    line: LineId,
    part: Part,
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
        let nothing = Coming { ready: 0, line: LineId::MAX, part: Part::Memory };
        let places = vec![nothing; groups as usize * of_group].into_boxed_slice();
        Self { places, last: vec![0; groups as usize].into_boxed_slice(), of_group }
    }

    /// A line arrives in a group at this time, from this part of the machine.
    #[inline]
    pub(super) fn put(&mut self, group: u16, line: LineId, (ready, part): (u64, Part)) {
        let place = self.place(group, line);
        self.places[place] = Coming { ready, line, part };
        let last = &mut self.last[usize::from(group)];
        *last = ready.max(*last);
    }

    /// The time at which a line arrives in a group, if that is after `at`.
    #[inline]
    pub(super) fn after(&self, group: u16, at: u64, line: LineId) -> Option<(u64, Part)> {
        if self.last[usize::from(group)] <= at {
            return None;
        }
        let coming = self.places[self.place(group, line)];
        (coming.line == line && coming.ready > at).then_some((coming.ready, coming.part))
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
        arrivals.put(1, 7, (500, Part::Numa));
        assert_eq!(arrivals.after(1, 499, 7), Some((500, Part::Numa)));
        let others = [(1, 500, 7), (0, 0, 7), (1, 0, 8), (1, 0, 7 + PLACES_PER_THREAD)];
        assert!(others.iter().all(|&(group, at, line)| arrivals.after(group, at, line).is_none()));
        arrivals.put(1, 7, (300, Part::L3));
        assert_eq!(arrivals.after(1, 299, 7), Some((300, Part::L3)), "asked for again");
    }
}
