//! The first look at a whole history: where edges go against the layout. Outside of the neighbourhoods that such
//! edges hold together there is no cycle.

use std::ops::Range;

use crate::flaws::Flaw;
use crate::reading::{Reading, Text};
use crate::txns::{Layout, Rank};
use crate::walk::{Choice, Edge, Sink, Walk};

/// What the first look found.
pub(crate) struct Covered {
    /// First and last of each neighbourhood in which there may be cycles that matter to a level.
    pub(crate) windows: Vec<(Rank, Rank)>,
    /// The same for any cycles.
    pub(crate) all: Vec<(Rank, Rank)>,
    pub(crate) flaws: Vec<Flaw>,
    /// Versions whose position in their chain is not known.
    pub(crate) holes: usize,
    /// How many edges go against the layout.
    pub(crate) against: usize,
}

/// Looks at all of a history as the reading has it.
pub(crate) fn cover(text: Text<'_, '_>, reading: &Reading) -> Covered {
    let moments = text.txns.moments();
    let ranks = if text.txns.is_split() { text.txns.len() } else { 0 };
    let cover = Cover {
        text,
        reading,
        steps: vec![0; moments + 1],
        plain: vec![0; ranks + 1],
        flaws: Vec::new(),
        holes: 0,
        against: 0,
        present: Present::new(text, reading),
        reader: Rank::NONE,
    };
    let mut walk = Walk::new(text.txns, text.chains, cover);
    (0..text.txns.len()).for_each(|nth| walk.visit(text.txns.reader(nth)));
    let mut cover = walk.into_sink();
    if matches!(text.txns.layout(), Layout::Invocations | Layout::Stamps) {
        cover.time();
    }
    let windows = windows(&cover.steps);
    let (windows, all) = if text.txns.is_split() {
        (ranks_of(text, &windows), self::windows(&cover.plain))
    } else {
        (windows.clone(), windows)
    };
    let as_ranks = |windows: Vec<(u32, u32)>| windows.into_iter().map(|(a, b)| (Rank(a), Rank(b))).collect();
    Covered {
        windows: as_ranks(windows),
        all: as_ranks(all),
        flaws: cover.flaws,
        holes: cover.holes,
        against: cover.against,
    }
}

/// Counts the edges that go against the layout past each of its moments.
struct Cover<'s, 'h, 'r> {
    text: Text<'s, 'h>,
    reading: &'r Reading,
    /// How many such edges more go past a moment than past the one before.
    steps: Vec<i32>,
    /// If transactions read and write at different moments: the same for edges between transactions, each of
    /// which is where it wrote.
    plain: Vec<i32>,
    flaws: Vec<Flaw>,
    holes: usize,
    against: usize,
    present: Present,
    reader: Rank,
}

impl Sink for Cover<'_, '_, '_> {
    #[inline]
    fn edge(&mut self, edge: Edge) {
        let (from, to) = self.text.moments(&edge);
        if from > to {
            self.steps[to as usize] += 1;
            self.steps[from as usize] -= 1;
            self.against += 1;
        }
        if self.plain.len() > 1 && edge.from > edge.to {
            self.plain[edge.to.at()] += 1;
            self.plain[edge.from.at()] -= 1;
        }
    }

    #[inline]
    fn choice(&mut self, choice: Choice) {
        let gap = self.text.answer(self.reading, &choice);
        let closer = self.text.closer(self.reading, choice.key, gap);
        for edge in self.text.edges(&choice, gap, closer) {
            self.edge(edge);
        }
    }

    fn flaw(&mut self, flaw: Flaw) {
        self.flaws.push(flaw);
    }

    fn hole(&mut self) {
        self.holes += 1;
    }

    #[inline]
    fn enter(&mut self, rank: Rank) {
        self.reader = rank;
        self.present.advance(self.text.txns.reads_at(rank));
    }

    /// Those that were present, in the layout. That the others were absent agrees with it; but if the transaction
    /// wrote later than it read, it may be before one whose write came in between and who is before it.
    fn asks(&mut self, range: Range<usize>, asked: &mut Vec<u32>) {
        self.present.list(&range, asked);
        if self.plain.len() > 1 {
            let before = asked.len();
            self.present.list_coming(self.text.txns.writes_at(self.reader), &range, asked);
            if asked.len() > before {
                asked.sort_unstable();
                asked.dedup();
            }
        }
    }
}

impl Cover<'_, '_, '_> {
    /// Real time and sessions, where the layout may go against them.
    fn time(&mut self) {
        // The transactions that were invoked later than all before them.
        let mut latest: Vec<(u64, Rank)> = Vec::new();
        let txns = self.text.txns;
        for rank in txns.all() {
            let attempt = txns.attempt(rank);
            let first = latest.partition_point(|&(invoked, _)| invoked <= attempt.responded);
            let session = txns.before(rank).filter(|before| *before > rank);
            let against = latest.get(first).map(|&(_, other)| (other, rank));
            for (to, from) in against.into_iter().chain(session.map(|before| (rank, before))) {
                self.steps[to.at()] += 1;
                self.steps[from.at()] -= 1;
                self.against += 1;
            }
            if latest.last().is_none_or(|&(invoked, _)| invoked < attempt.invoked) {
                latest.push((attempt.invoked, rank));
            }
        }
    }
}

/// Which keys of scanned tables have a value, as time goes on in the layout.
struct Present {
    /// By place among the sorted keys, a bit each.
    bits: Vec<u64>,
    /// At which moment which key, doubled, comes (odd) or goes.
    events: Vec<(u32, u32)>,
    next: usize,
}

impl Present {
    fn new(text: Text<'_, '_>, reading: &Reading) -> Self {
        let chains = text.chains;
        let mut bits = vec![0; chains.sorted.len().div_ceil(64)];
        let mut events: Vec<(u32, u32)> = Vec::new();
        for (nth, &key) in chains.sorted.iter().enumerate() {
            let (comes, goes) = (nth as u32 * 2 + 1, nth as u32 * 2);
            let is_asked_always = !reading.touched.is_empty() && reading.touched.contains(&key);
            if is_asked_always || chains.is_loaded(key) {
                bits[nth / 64] |= 1 << (nth % 64);
            }
            if is_asked_always {
                continue;
            }
            if !chains.is_deleted(key) {
                let inserted_by = chains.state(chains.first(key)).next_writer;
                if inserted_by != Rank::NONE && !chains.is_loaded(key) {
                    events.push((text.txns.writes_at(inserted_by) + 1, comes));
                }
                continue;
            }
            let gaps = chains.gaps_in_order(key);
            for (nth, gap) in gaps.iter().enumerate() {
                let until = gap.to.saturating_add(1);
                events.push((gap.from, if gap.from < until { goes } else { comes }));
                if gap.from < until && until < gaps.get(nth + 1).map_or(u32::MAX, |next| next.from) {
                    events.push((until, comes));
                }
            }
        }
        Self { bits, events: in_order(&events, text.txns.moments()), next: 0 }
    }

    /// Goes on to this moment, which is not before the last one.
    #[inline]
    fn advance(&mut self, moment: u32) {
        while let Some(&(at, change)) = self.events.get(self.next)
            && at <= moment
        {
            let (word, bit) = (change as usize / 128, 1 << (change / 2 % 64));
            if change % 2 == 1 {
                self.bits[word] |= bit;
            } else {
                self.bits[word] &= !bit;
            }
            self.next += 1;
        }
    }

    /// Lists the keys of the range that are present.
    fn list(&self, range: &Range<usize>, keys: &mut Vec<u32>) {
        if range.is_empty() {
            return;
        }
        for at in range.start / 64..=(range.end - 1) / 64 {
            let mut word = self.bits[at];
            if at == range.start / 64 {
                word &= u64::MAX << (range.start % 64);
            }
            if at == (range.end - 1) / 64 {
                word &= u64::MAX >> (63 - (range.end - 1) % 64);
            }
            while word != 0 {
                keys.push(at as u32 * 64 + word.trailing_zeros());
                word &= word - 1;
            }
        }
    }

    /// Lists the keys of the range that come until this moment.
    fn list_coming(&self, until: u32, range: &Range<usize>, keys: &mut Vec<u32>) {
        for &(at, change) in &self.events[self.next..] {
            if at > until {
                break;
            }
            let key = change / 2;
            if change % 2 == 1 && range.contains(&(key as usize)) {
                keys.push(key);
            }
        }
    }
}

/// The events by moment. Of those at one moment the order stays, so that of a key's the last one counts.
fn in_order(events: &[(u32, u32)], moments: usize) -> Vec<(u32, u32)> {
    if events.len() < moments / 16 {
        let mut sorted = events.to_vec();
        sorted.sort_by_key(|&(moment, _)| moment);
        return sorted;
    }
    let mut places = vec![0_u32; moments + 2];
    for &(moment, _) in events {
        places[moment as usize + 1] += 1;
    }
    for moment in 0..=moments {
        places[moment + 1] += places[moment];
    }
    let mut sorted = vec![(0, 0); events.len()];
    for &event in events {
        let place = &mut places[event.0 as usize];
        sorted[*place as usize] = event;
        *place += 1;
    }
    sorted
}

/// The neighbours that edges against the layout hold together: each cycle lies within one window, since it
/// goes back past every moment that it goes forward past.
fn windows(steps: &[i32]) -> Vec<(u32, u32)> {
    let mut windows = Vec::new();
    let (mut open, mut start) = (0, 0);
    for (at, step) in steps.iter().enumerate() {
        if *step == 0 {
            continue;
        }
        if open == 0 {
            start = at as u32;
        }
        open += step;
        if open == 0 {
            windows.push((start, at as u32));
        }
    }
    windows
}

/// The transactions that read or wrote within windows of moments, from the first to the last of each.
fn ranks_of(text: Text<'_, '_>, windows: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let mut found = vec![(u32::MAX, 0); windows.len()];
    for rank in text.txns.all() {
        for moment in [text.txns.reads_at(rank), text.txns.writes_at(rank)] {
            let nth = windows.partition_point(|window| window.1 < moment);
            if windows.get(nth).is_some_and(|window| window.0 <= moment) {
                found[nth] = (found[nth].0.min(rank.0), found[nth].1.max(rank.0));
            }
        }
    }
    found
}
