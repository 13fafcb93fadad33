//! The workers that are parked at lines until one of these is written.

use super::lines::Lines;
use super::tags::LineId;

/// The maximum number of lines at which a worker is parked.
pub(super) const LINES_MAX: usize = 12;

/// No link.
const NONE: u32 = u32::MAX;

/// The first of the workers that are parked at a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct First(u32);

impl First {
    /// Nobody is parked.
    pub(super) const NOBODY: Self = Self(NONE);

    #[inline]
    pub(super) fn is_nobody(self) -> bool {
        self.0 == NONE
    }

    /// The worker, if anybody is parked.
    pub(super) fn worker(self) -> Option<usize> {
        (!self.is_nobody()).then_some(self.0 as usize / LINES_MAX)
    }
}

/// Lists of workers, one for each line at which workers are parked. A worker is in several lists at a time, and leaves
/// all of them when one of its lines is written: so each list is linked in both directions.
#[derive(Debug, Default)]
pub(super) struct Parked {
    /// [`LINES_MAX`] for each worker.
    links: Vec<Link>,
    /// By worker: the number of its links that are in a list.
    used: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    line: LineId,
    before: u32,
    after: u32,
}

impl Parked {
    /// Nobody of so many workers is parked.
    pub(super) fn new(workers: usize) -> Self {
        let link = Link { line: 0, before: NONE, after: NONE };
        Self { links: vec![link; workers * LINES_MAX], used: vec![0; workers] }
    }

    /// Parks a worker, which is not parked, at each of these lines.
    pub(super) fn park(&mut self, worker: usize, at: impl Iterator<Item = LineId>, lines: &mut Lines) {
        for (link, line) in (worker * LINES_MAX..).zip(at) {
            let First(after) = core::mem::replace(&mut lines.get(line).first_parked, First(link as u32));
            self.links[link] = Link { line, before: NONE, after };
            if after != NONE {
                self.links[after as usize].before = link as u32;
            }
            self.used[worker] += 1;
        }
    }

    /// The worker is not parked any more. Returns whether it was.
    pub(super) fn leave(&mut self, worker: usize, lines: &mut Lines) -> bool {
        let used = usize::from(core::mem::take(&mut self.used[worker]));
        for link in worker * LINES_MAX..worker * LINES_MAX + used {
            let Link { line, before, after } = self.links[link];
            if before == NONE {
                lines.get(line).first_parked = First(after);
            } else {
                self.links[before as usize].after = after;
            }
            if after != NONE {
                self.links[after as usize].before = before;
            }
        }
        used > 0
    }
}

#[cfg(test)]
mod tests {
    use super::super::lines::Homes;
    use super::*;

    #[test]
    fn a_worker_leaves_all_lines_at_which_it_is_parked() {
        let mut lines = Lines::new(64, Homes::Spread(vec![0]));
        let [one, two] = [0, 64].map(|address| lines.number(address, 0));
        let mut parked = Parked::new(3);
        parked.park(0, [one, two].into_iter(), &mut lines);
        parked.park(1, [one].into_iter(), &mut lines);
        parked.park(2, [two, one].into_iter(), &mut lines);
        assert_eq!(lines.get(two).first_parked.worker(), Some(2));
        assert!(parked.leave(1, &mut lines), "it was in the middle of a list");
        assert!(!parked.leave(1, &mut lines));
        assert!(parked.leave(2, &mut lines));
        assert_eq!([one, two].map(|line| lines.get(line).first_parked.worker()), [Some(0); 2]);
        assert!(parked.leave(0, &mut lines));
        assert!([one, two].iter().all(|&line| lines.get(line).first_parked.is_nobody()));
    }
}
