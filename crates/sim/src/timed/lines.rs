//! The lines of the simulated memory: their numbers, and the directory's knowledge of each.
//!
//! With a thousand workers the directory is far larger than the caches of the host, and the simulator waits for the
//! host's memory more than it executes. So what is known of a line is small, and is asked for ahead of its use.

use sync_sim::{heap, host};

use super::parked::First;
use super::tags::LineId;

/// No core, or no group of cores.
pub(super) const NOBODY: u16 = u16::MAX;

/// Bytes of a page.
const PAGE_BYTES: usize = 4096;

/// Pages of a stretch of memory: 64 MiB.
const STRETCH_PAGES: usize = 1 << 14;

/// The copies of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copies {
    /// They are as the line is in memory.
    Clean,
    /// The same, and all of them are in the holder's group.
    CleanInGroup,
    /// The owner has written the line.
    Dirty,
}

/// A line as its home knows it. None of them is in two lines of the host.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct Line {
    /// Requests that another cache must answer wait until this time.
    pub(super) busy_until: u64,
    /// The sockets that may have a copy, one bit each.
    pub(super) sockets: u64,
    /// Counts the times that the line was taken for writing.
    pub(super) version: u32,
    /// The core that has the only copy, if there is one.
    pub(super) owner: u16,
    /// The group of cores whose last-level cache got the line last.
    pub(super) holder: u16,
    /// The socket in whose memory the line is.
    pub(super) home: u16,
    pub(super) copies: Copies,
    /// Counts the writes, and begins again after 255: a core that has the line for itself, or keeps it for a moment,
    /// writes it without another version.
    pub(super) writes: u8,
    /// The workers that are parked until the line is written.
    pub(super) first_parked: First,
}

/// The state of a line when somebody looked at it: any write makes it another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SeenLine {
    version: u32,
    writes: u8,
}

/// All lines that were used, by number.
#[derive(Debug)]
pub(super) struct Lines {
    all: Vec<Line>,
    /// By line: picoseconds that threads have waited for it while other cores had it.
    waited_ps: Vec<u64>,
    /// The stretches of memory of which a page was used: open addressing, the stretch's address and its position in
    /// `pages`.
    stretches: Vec<(usize, u32)>,
    /// By stretch: the number of each page plus one, or 0 if it was not used. Pages are numbered in the order of their
    /// first use.
    pages: Vec<Box<[u32]>>,
    /// The number of pages that were used.
    used: u32,
    /// The page that was looked up last, and the number of its first line.
    last: (usize, LineId),
    line_shift: u32,
    homes: Homes,
}

/// The sockets in whose memory pages are.
#[derive(Debug)]
pub(super) enum Homes {
    /// Pages are spread over these sockets, one on each in turn.
    Spread(Vec<u16>),
    /// By socket: the home of the pages that a thread of the socket is the first to use.
    ByUser(Vec<u16>),
}

impl Lines {
    pub(super) fn new(line_bytes: u64, homes: Homes) -> Self {
        Self {
            all: Vec::new(),
            waited_ps: Vec::new(),
            stretches: vec![(usize::MAX, u32::MAX); 1 << 6],
            pages: Vec::new(),
            used: 0,
            last: (usize::MAX, 0),
            line_shift: line_bytes.trailing_zeros(),
            homes,
        }
    }

    /// The number of the line of an address that a thread of `socket` uses.
    #[inline]
    pub(super) fn number(&mut self, address: usize, socket: u16) -> LineId {
        let page = address / PAGE_BYTES;
        if self.last.0 != page {
            self.last = (page, self.page(page, socket));
        }
        self.last.1 + self.within_page(address)
    }

    /// The number of the line of an address, if its page was used.
    #[inline]
    pub(super) fn known(&self, address: usize) -> Option<LineId> {
        let page = address / PAGE_BYTES;
        let (_, position) = self.stretches[self.slot(page / STRETCH_PAGES)];
        let number = self.pages.get(position as usize)?[page % STRETCH_PAGES].checked_sub(1)?;
        Some(self.first_line(number) + self.within_page(address))
    }

    /// Asks the host for what is known of a line.
    #[inline]
    pub(super) fn ask_ahead(&self, line: LineId) {
        host::prefetch(&raw const self.all[line as usize]);
    }

    /// The position of the line of an address in its page.
    #[inline]
    fn within_page(&self, address: usize) -> LineId {
        ((address % PAGE_BYTES) >> self.line_shift) as LineId
    }

    /// The number of the first line of a page that has this number.
    #[inline]
    fn first_line(&self, page: u32) -> LineId {
        page * (PAGE_BYTES >> self.line_shift) as LineId
    }

    #[inline]
    pub(super) fn get(&mut self, line: LineId) -> &mut Line {
        &mut self.all[line as usize]
    }

    /// Counts that a thread has waited for a line.
    #[inline]
    pub(super) fn has_waited(&mut self, line: LineId, ps: u64) {
        self.waited_ps[line as usize] += ps;
    }

    /// Forgets for how long threads have waited.
    pub(super) fn forget_waits(&mut self) {
        self.waited_ps.fill(0);
    }

    /// The addresses of the lines for which threads have waited longest, with the picoseconds that they have waited.
    pub(super) fn hottest(&self, count: usize) -> Vec<(usize, u64)> {
        let lines = self.waited_ps.iter().enumerate();
        let mut waited: Vec<(u64, usize)> =
            lines.filter(|(_, ps)| **ps > 0).map(|(at, ps)| (*ps, at)).collect();
        waited.sort_unstable_by(|one, other| other.cmp(one));
        waited.truncate(count);
        let lines: Vec<LineId> = waited.iter().map(|(_, at)| *at as LineId).collect();
        self.addresses(&lines).into_iter().zip(waited.into_iter().map(|(ps, _)| ps)).collect()
    }

    /// The addresses of lines.
    pub(super) fn addresses(&self, lines: &[LineId]) -> Vec<usize> {
        // The addresses of all pages, by number.
        let mut addresses = vec![0; self.used as usize];
        for (stretch, position) in self.stretches.iter().filter(|(stretch, _)| *stretch != usize::MAX) {
            for (at, number) in self.pages[*position as usize].iter().enumerate() {
                if let Some(number) = number.checked_sub(1) {
                    addresses[number as usize] = (stretch * STRETCH_PAGES + at) * PAGE_BYTES;
                }
            }
        }
        let of_page = self.first_line(1);
        let address = |line: &LineId| {
            addresses[(line / of_page) as usize] + (((line % of_page) as usize) << self.line_shift)
        };
        lines.iter().map(address).collect()
    }

    /// The state in which a line is seen now.
    #[inline]
    pub(super) fn seen(&self, line: LineId) -> SeenLine {
        let Line { version, writes, .. } = self.all[line as usize];
        SeenLine { version, writes }
    }

    /// The number of the first line of a page, which gets a number at its first use.
    fn page(&mut self, page: usize, socket: u16) -> LineId {
        let slot = self.slot(page / STRETCH_PAGES);
        if self.stretches[slot].0 == usize::MAX {
            self.add_stretch(page / STRETCH_PAGES, slot);
            return self.page(page, socket);
        }
        let (_, position) = self.stretches[slot];
        match self.pages[position as usize][page % STRETCH_PAGES].checked_sub(1) {
            Some(number) => self.first_line(number),
            None => self.add_page(page, position, socket),
        }
    }

    /// The place of a stretch in the table, or the free place where it belongs.
    #[inline]
    fn slot(&self, stretch: usize) -> usize {
        let hash = (stretch as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut at = hash as usize >> (64 - self.stretches.len().trailing_zeros());
        while self.stretches[at].0 != stretch && self.stretches[at].0 != usize::MAX {
            at = (at + 1) & (self.stretches.len() - 1);
        }
        at
    }

    #[cold]
    fn add_page(&mut self, page: usize, position: u32, socket: u16) -> LineId {
        let number = self.used;
        let home = match &self.homes {
            Homes::Spread(sockets) => sockets[number as usize % sockets.len()],
            Homes::ByUser(home) => home[usize::from(socket)],
        };
        let line = Line {
            busy_until: 0,
            sockets: 0,
            version: 0,
            first_parked: First::NOBODY,
            owner: NOBODY,
            holder: NOBODY,
            home,
            copies: Copies::Clean,
            writes: 0,
        };
        self.used += 1;
        let lines = self.first_line(self.used) as usize;
        heap::outside(|| {
            self.all.resize(lines, line);
            self.waited_ps.resize(lines, 0);
        });
        self.pages[position as usize][page % STRETCH_PAGES] = self.used;
        self.first_line(number)
    }

    #[cold]
    fn add_stretch(&mut self, stretch: usize, slot: usize) {
        self.stretches[slot] = (stretch, self.pages.len() as u32);
        heap::outside(|| self.pages.push(vec![0; STRETCH_PAGES].into_boxed_slice()));
        if self.pages.len() * 2 <= self.stretches.len() {
            return;
        }
        let grown = heap::outside(|| vec![(usize::MAX, u32::MAX); self.stretches.len() * 2]);
        let old = core::mem::replace(&mut self.stretches, grown);
        for (stretch, position) in old.into_iter().filter(|(stretch, _)| *stretch != usize::MAX) {
            let slot = self.slot(stretch);
            self.stretches[slot] = (stretch, position);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_page_by_page_in_the_order_of_their_first_use() {
        let mut lines = Lines::new(64, Homes::Spread(vec![3, 5]));
        let (one, other) = (7 * PAGE_BYTES + 130, 2 * PAGE_BYTES);
        assert_eq!((lines.known(one), lines.known(other)), (None, None));
        assert_eq!((lines.number(one, 0), lines.number(other, 0), lines.number(one + 64, 0)), (2, 64, 3));
        assert_eq!((lines.known(one), lines.known(other + 4095)), (Some(2), Some(127)));
        assert_eq!([0, 64].map(|line| lines.get(line).home), [3, 5]);
        lines.has_waited(64, 9);
        lines.has_waited(2, 4);
        assert_eq!(lines.hottest(2), [(other, 9), (7 * PAGE_BYTES + 128, 4)]);
        lines.forget_waits();
        assert!(lines.hottest(2).is_empty());
    }

    #[test]
    fn pages_far_from_each_other_keep_their_numbers_while_the_table_grows() {
        let mut lines = Lines::new(128, Homes::ByUser(vec![1, 0]));
        let address = |nth: usize| nth * 3 * STRETCH_PAGES * PAGE_BYTES + nth * PAGE_BYTES;
        let numbers: Vec<LineId> = (0..200).map(|nth| lines.number(address(nth), (nth % 2) as u16)).collect();
        assert_eq!(numbers, (0..200).map(|nth| nth * 32).collect::<Vec<_>>());
        assert!((0..200).all(|nth| lines.known(address(nth)) == Some(numbers[nth])));
        assert_eq!(lines.known(address(200)), None);
        assert_eq!(lines.addresses(&numbers), (0..200).map(address).collect::<Vec<_>>());
        assert_eq!([numbers[0], numbers[1]].map(|line| lines.get(line).home), [1, 0]);
    }
}
