//! The lines of the simulated memory: their numbers, and the directory's knowledge of each.

use sync_sim::heap;

use super::parked::First;
use super::tags::LineId;

/// No core, or no group of cores.
pub(super) const NOBODY: u16 = u16::MAX;

/// Lines of a page, for lines of 64 bytes or more.
const PAGE_BYTES: usize = 4096;

/// A slot without a part.
const NO_PART: (usize, usize) = (usize::MAX, 0);

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
    /// The workers that are parked until the line is written.
    pub(super) first_parked: First,
}

/// All lines that were used, by number.
#[derive(Debug)]
pub(super) struct Lines {
    all: Vec<Line>,
    /// Tables of the pages of a part of the address space each.
    parts: Vec<Part>,
    /// Finds the part of an address: open addressing, the part's place in the address space and its index in `parts`.
    by_place: Vec<(usize, usize)>,
    /// Pages that were used.
    used: usize,
    /// The page that was looked up last.
    last: (usize, LineId),
    line_shift: u32,
    homes: Homes,
}

/// The pages of 64 MiB: of each the number of its first line, plus one, or 0 before it is used. Four bytes a page and
/// neighbours side by side, because nearly each access looks one up, and few of them are in the host's caches.
#[derive(Debug)]
struct Part {
    place: usize,
    firsts: Box<[LineId]>,
}

/// Pages of a part.
const PART_PAGES: usize = 1 << 14;

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
            parts: Vec::new(),
            by_place: vec![NO_PART; 64],
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
        let pages_of = |part: &Part| {
            let first_page = part.place * PART_PAGES;
            let used = part.firsts.iter().enumerate().filter(|(_, first)| **first != 0);
            used.map(|(nth, first)| (*first - 1, first_page + nth)).collect::<Vec<_>>()
        };
        let mut pages: Vec<(LineId, usize)> = self.parts.iter().flat_map(pages_of).collect();
        pages.sort_unstable();
        let address = |line: &LineId| {
            let (first, page) = pages[pages.partition_point(|(first, _)| first <= line) - 1];
            page * PAGE_BYTES + (((line - first) as usize) << self.line_shift)
        };
        lines.iter().map(address).collect()
    }

    /// The version of a line.
    #[inline]
    pub(super) fn all_version(&self, line: LineId) -> u32 {
        self.all[line as usize].version
    }

    /// The number of the first line of a page, which gets numbers for its lines at its first use.
    #[inline]
    fn page(&mut self, page: usize, socket: u16) -> LineId {
        let part = self.part(page / PART_PAGES);
        let first = self.parts[part].firsts[page % PART_PAGES];
        if first == 0 { self.add(part, page, socket) } else { first - 1 }
    }

    /// The index of the part at this place.
    #[inline]
    fn part(&mut self, place: usize) -> usize {
        let at = self.slot(place);
        if self.by_place[at].0 == place { self.by_place[at].1 } else { self.add_part(place) }
    }

    /// The slot of `by_place` that has this place or is free for it.
    #[inline]
    fn slot(&self, place: usize) -> usize {
        let hash = (place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut at = hash as usize >> (64 - self.by_place.len().trailing_zeros());
        while self.by_place[at].0 != place && self.by_place[at] != NO_PART {
            at = (at + 1) & (self.by_place.len() - 1);
        }
        at
    }

    #[cold]
    fn add_part(&mut self, place: usize) -> usize {
        let part = self.parts.len();
        heap::outside(|| {
            self.parts.push(Part { place, firsts: vec![0; PART_PAGES].into_boxed_slice() });
            if self.parts.len() * 2 > self.by_place.len() {
                self.by_place = vec![NO_PART; self.by_place.len() * 2];
                for (nth, place) in self.parts.iter().map(|part| part.place).enumerate().take(part) {
                    let at = self.slot(place);
                    self.by_place[at] = (place, nth);
                }
            }
        });
        let at = self.slot(place);
        self.by_place[at] = (place, part);
        part
    }

    #[cold]
    fn add(&mut self, part: usize, page: usize, socket: u16) -> LineId {
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
            first_parked: First::NOBODY,
        };
        let lines = self.all.len() + (PAGE_BYTES >> self.line_shift);
        heap::outside(|| self.all.resize(lines, line));
        self.parts[part].firsts[page % PART_PAGES] = first + 1;
        self.used += 1;
        first
    }
}
