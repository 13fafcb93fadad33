//! The lines of the simulated memory: their numbers, and the directory's knowledge of each.

use sync_sim::heap;

use super::parked::First;
use super::tags::LineId;

/// No core, or no group of cores.
pub(super) const NOBODY: u16 = u16::MAX;

/// Lines of a page, for lines of 64 bytes or more.
const PAGE_BYTES: usize = 4096;

/// A line as its home knows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// Requests that another cache must answer wait until this time.
    pub(super) busy_until: u64,
    /// Picoseconds that threads have waited for the line while other cores had it.
    pub(super) waited_ps: u64,
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
    /// Whether the owner has written the line.
    pub(super) is_dirty: bool,
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
    /// The pages: open addressing, the page's address and the number of its first line.
    pages: Vec<(usize, LineId)>,
    used: usize,
    /// The page that was looked up last.
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
            pages: vec![(usize::MAX, 0); 1 << 12],
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
        self.last.1 + ((address % PAGE_BYTES) >> self.line_shift) as LineId
    }

    #[inline]
    pub(super) fn get(&mut self, line: LineId) -> &mut Line {
        &mut self.all[line as usize]
    }

    /// Forgets for how long threads have waited.
    pub(super) fn forget_waits(&mut self) {
        self.all.iter_mut().for_each(|line| line.waited_ps = 0);
    }

    /// The addresses of the lines for which threads have waited longest, with the picoseconds that they have waited.
    pub(super) fn hottest(&self, count: usize) -> Vec<(usize, u64)> {
        let mut waited: Vec<(u64, usize)> = self
            .all
            .iter()
            .enumerate()
            .filter(|(_, line)| line.waited_ps > 0)
            .map(|(at, line)| (line.waited_ps, at))
            .collect();
        waited.sort_unstable_by(|one, other| other.cmp(one));
        waited.truncate(count);
        let lines: Vec<LineId> = waited.iter().map(|(_, at)| *at as LineId).collect();
        self.addresses(&lines).into_iter().zip(waited.into_iter().map(|(ps, _)| ps)).collect()
    }

    /// The addresses of lines.
    pub(super) fn addresses(&self, lines: &[LineId]) -> Vec<usize> {
        // The pages in the order of their lines, so that each address is found at once.
        let used = self.pages.iter().filter(|(page, _)| *page != usize::MAX);
        let mut pages: Vec<(LineId, usize)> = used.map(|(page, first)| (*first, *page)).collect();
        pages.sort_unstable();
        let address = |line: &LineId| {
            let (first, page) = pages[pages.partition_point(|(first, _)| first <= line) - 1];
            page * PAGE_BYTES + (((line - first) as usize) << self.line_shift)
        };
        lines.iter().map(address).collect()
    }

    /// The state in which a line is seen now.
    #[inline]
    pub(super) fn seen(&self, line: LineId) -> SeenLine {
        let Line { version, writes, .. } = self.all[line as usize];
        SeenLine { version, writes }
    }

    /// The number of the first line of a page, which gets numbers for its lines at its first use.
    fn page(&mut self, page: usize, socket: u16) -> LineId {
        let mut at = self.slot(page);
        while self.pages[at].0 != page {
            if self.pages[at].0 == usize::MAX {
                return self.add(page, at, socket);
            }
            at = (at + 1) & (self.pages.len() - 1);
        }
        self.pages[at].1
    }

    fn slot(&self, page: usize) -> usize {
        (page as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize >> (64 - self.pages.len().trailing_zeros())
    }

    #[cold]
    fn add(&mut self, page: usize, at: usize, socket: u16) -> LineId {
        let first = self.all.len() as LineId;
        let home = match &self.homes {
            Homes::Spread(sockets) => sockets[self.used % sockets.len()],
            Homes::ByUser(home) => home[usize::from(socket)],
        };
        let line = Line {
            busy_until: 0,
            waited_ps: 0,
            sockets: 0,
            version: 0,
            owner: NOBODY,
            holder: NOBODY,
            home,
            is_dirty: false,
            writes: 0,
            first_parked: First::NOBODY,
        };
        let lines = self.all.len() + (PAGE_BYTES >> self.line_shift);
        heap::outside(|| self.all.resize(lines, line));
        self.pages[at] = (page, first);
        self.used += 1;
        if self.used * 2 > self.pages.len() {
            self.grow();
        }
        first
    }

    fn grow(&mut self) {
        let grown = heap::outside(|| vec![(usize::MAX, 0); self.pages.len() * 2]);
        let old = core::mem::replace(&mut self.pages, grown);
        for (page, first) in old.into_iter().filter(|(page, _)| *page != usize::MAX) {
            let mut at = self.slot(page);
            while self.pages[at].0 != usize::MAX {
                at = (at + 1) & (self.pages.len() - 1);
            }
            self.pages[at] = (page, first);
        }
    }
}
