//! The first look at a whole history: finds the edges that go against the layout. All cycles lie within the windows of
//! neighbouring transactions that such edges span.

use std::borrow::Cow;
use std::iter::Peekable;
use std::ops::Range;
use std::slice;

use crate::chains::FEW;
use crate::flaws::Flaw;
use crate::keys::KeyId;
use crate::reading::{Reading, Text};
use crate::serial::Scanned;
use crate::txns::{Layout, Rank};
use crate::walk::{Choice, Edge, Sink, Walk};

/// The results of the first look.
pub(crate) struct Covered {
    /// The first and the last transaction of each window that may contain cycles that matter to the level.
    pub(crate) windows: Vec<(Rank, Rank)>,
    /// The same windows for cycles of any kind.
    pub(crate) all: Vec<(Rank, Rank)>,
    pub(crate) flaws: Vec<Flaw>,
    /// The number of versions whose position in their chain is not known.
    pub(crate) holes: usize,
    /// The number of edges that go against the layout.
    pub(crate) against: usize,
}

/// Looks at all of a history under a reading.
pub(crate) fn cover(text: Text<'_, '_>, reading: &Reading) -> Covered {
    let doubts = doubts(text, reading);
    let is_quick = doubts.is_some();
    let covered = look(text, reading, doubts);
    // Without a doubt a transaction is known to be correct only if all chains are whole.
    if is_quick && !covered.flaws.is_empty() { look(text, reading, None) } else { covered }
}

/// Looks at the doubted transactions, or at all of them if `doubts` is `None`.
fn look<'s>(text: Text<'s, '_>, reading: &Reading, doubts: Option<Cow<'s, [u64]>>) -> Covered {
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
        doubts,
        absences: text.chains.serial.absences.iter().peekable(),
        scans: text.chains.serial.scans.iter().peekable(),
        asked: Vec::new(),
    };
    let mut walk = Walk::new(text.txns, text.chains, cover);
    for rank in (0..text.txns.len()).map(|nth| text.txns.reader(nth)) {
        if walk.sink().is_doubted(rank) {
            walk.visit(rank);
        }
    }
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

/// A sink that counts, for each moment of the layout, the edges against the layout that go past it.
struct Cover<'s, 'h, 'r> {
    text: Text<'s, 'h>,
    reading: &'r Reading,
    /// By moment, the number of such edges that go past it minus the number that go past the moment before.
    steps: Vec<i32>,
    /// The same for edges between ranks, if transactions read and write at different moments. A transaction's rank is
    /// the place where it wrote.
    plain: Vec<i32>,
    flaws: Vec<Flaw>,
    holes: usize,
    against: usize,
    present: Present,
    reader: Rank,
    /// The transactions that are doubted whatever keys are present, one bit each; `None` if every transaction is
    /// doubted.
    doubts: Option<Cow<'s, [u64]>>,
    /// The listed absences that have not been checked yet.
    absences: Peekable<slice::Iter<'s, (Rank, KeyId)>>,
    /// The listed scans that have not been checked yet.
    scans: Peekable<slice::Iter<'s, Scanned>>,
    asked: Vec<u32>,
}

/// The transactions that are doubted whatever keys are present: those that the serial execution doubts, and those that
/// insert keys about which the reading says something. `None` if every transaction is doubted.
fn doubts<'s>(text: Text<'s, '_>, reading: &Reading) -> Option<Cow<'s, [u64]>> {
    let mut doubts = Cow::Borrowed(text.chains.serial.doubted()?);
    for insert in reading.touched.iter().flat_map(|&key| text.chains.opens(key)) {
        let writer = text.chains.state(*insert).writer;
        doubts.to_mut()[writer.at() / 64] |= 1 << (writer.0 % 64);
    }
    Some(doubts)
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

    /// Asks about the keys that were present in the layout: the absence of the others agrees with it. But if the
    /// transaction wrote later than it read, it may have to come before a transaction whose write came in between and
    /// that precedes it.
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
    /// Whether there may be anything to report about a transaction. A key that it found absent must be absent at its
    /// moment, and its scans must have returned all keys present; for a transaction that is not doubted all else is
    /// known.
    #[inline]
    fn is_doubted(&mut self, rank: Rank) -> bool {
        let Some(doubts) = &self.doubts else { return true };
        let mut is_doubted = doubts[rank.at() / 64] >> (rank.0 % 64) & 1 == 1;
        self.present.advance(rank.0);
        while let Some((_, key)) = self.absences.next_if(|absence| absence.0 == rank) {
            is_doubted = is_doubted || self.present.is(self.text.chains.place(*key));
        }
        while let Some(scan) = self.scans.next_if(|scan| scan.by == rank) {
            is_doubted = is_doubted || self.misses(scan);
        }
        is_doubted
    }

    /// Whether a scan returned other keys than those that are present.
    fn misses(&mut self, scan: &Scanned) -> bool {
        let chains = self.text.chains;
        let ((low, high), rows) = (chains.serial.bounds(scan), chains.serial.rows(scan));
        self.asked.clear();
        self.present.list(&chains.range(low, high), &mut self.asked);
        let is_at = |(&nth, &row): (&u32, &KeyId)| chains.place(row) == nth;
        let is_met = if scan.is_forward {
            self.asked.iter().zip(rows).all(is_at)
        } else {
            self.asked.iter().zip(rows.iter().rev()).all(is_at)
        };
        self.asked.len() != rows.len() || !is_met
    }

    /// Adds real time and sessions, for layouts that may go against them.
    fn time(&mut self) {
        // The transactions that were invoked later than all transactions before them in the layout.
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

/// The keys that have a value, at an advancing moment of the layout.
struct Present {
    /// One bit per key, by the key's place (see `Chains::place`).
    bits: Vec<u64>,
    /// Events: the moment, and twice the key's place, plus one if the key gets a value then, plus zero if it loses it.
    events: Vec<(u32, u32)>,
    next: usize,
}

impl Present {
    fn new(text: Text<'_, '_>, reading: &Reading) -> Self {
        let chains = text.chains;
        let mut bits = vec![0; chains.keys.len().div_ceil(64)];
        let mut events: Vec<(u32, u32)> = Vec::new();
        for key in (0..chains.keys.len() as u32).map(KeyId) {
            let is_asked_always = !reading.touched.is_empty() && reading.touched.contains(&key);
            let place = chains.place(key);
            let (comes, goes) = (place * 2 + 1, place * 2);
            if is_asked_always || chains.is_loaded(key) {
                bits[place as usize / 64] |= 1 << (place % 64);
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
        Self { bits, events: in_order(events, text.txns.moments()), next: 0 }
    }

    /// Advances to this moment, which is not before the last one.
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

    /// Whether the key at this place is present.
    #[inline]
    fn is(&self, place: u32) -> bool {
        self.bits[place as usize / 64] >> (place % 64) & 1 == 1
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

    /// Lists the keys of the range that get a value up to this moment.
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

/// Sorts the events by moment. The order of events at one moment is kept, so that the last event of a key counts.
fn in_order(mut events: Vec<(u32, u32)>, moments: usize) -> Vec<(u32, u32)> {
    if events.len() < FEW.max(moments / 16) {
        events.sort_by_key(|&(moment, _)| moment);
        return events;
    }
    let mut places = vec![0_u32; moments + 2];
    for &(moment, _) in &events {
        places[moment as usize + 1] += 1;
    }
    for moment in 0..=moments {
        places[moment + 1] += places[moment];
    }
    let mut sorted = vec![(0, 0); events.len()];
    for event in events {
        let place = &mut places[event.0 as usize];
        sorted[*place as usize] = event;
        *place += 1;
    }
    sorted
}

/// The windows of neighbouring moments that edges against the layout span. Each cycle lies within one window, since it
/// must go back past every moment that it goes forward past.
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

/// The transactions that read or wrote within each window of moments, as the first and the last rank.
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

#[cfg(test)]
mod tests {
    use stdx::Rng;
    use stdx::history::{AttemptOutcome, History, Key, SessionLog, Version};

    use super::*;
    use crate::chains::Chains;
    use crate::txns::{Tables, Txns};

    const KEYS: u64 = 8;
    const SESSIONS: u64 = 4;
    /// The number of keys in the table that is scanned; the other keys are in a table that is not scanned.
    const SCANNED: u64 = 6;

    /// A history of transactions that take effect one after the other and respond in nearly that order. With a share of
    /// lies, some versions that they saw, replaced or scanned are not those that were there.
    fn history(rng: &mut Rng, lies_pct: u64) -> History {
        let mut state: Vec<Version> =
            (0..KEYS).map(|key| if key % 2 == 0 { Version::LOADED } else { Version::ABSENT }).collect();
        let mut past = state.clone();
        let mut logs: Vec<SessionLog> = (0..SESSIONS as u32).map(SessionLog::new).collect();
        let table = |key: u64| u16::from(key >= SCANNED);
        let told = |seen: Version| if seen.is_absent() { Version::ABSENT } else { seen };
        for nth in 0..40 {
            let log = &mut logs[(nth % SESSIONS) as usize];
            log.begin(10 * nth);
            let mut writes: Vec<(u64, Version)> = Vec::new();
            for _ in 0..=rng.below(4) {
                let key = rng.below(KEYS);
                let own = writes.iter().find(|write| write.0 == key).map(|write| write.1);
                let is_lie = rng.below(100) < lies_pct;
                let seen =
                    if is_lie { past[rng.below(past.len() as u64) as usize] } else { state[key as usize] };
                match rng.below(4) {
                    0 => {
                        let (low, high, is_forward) =
                            (key, (key + 3).min(SCANNED - 1).max(key), rng.below(2) == 0);
                        log.scan(0, &[low], &[high], is_forward);
                        for nth in 0..SCANNED.saturating_sub(low).min(high - low + 1) {
                            let row = if is_forward { low + nth } else { high - nth };
                            let own = writes.iter().find(|write| write.0 == row).map(|write| write.1);
                            let seen = own.unwrap_or(state[row as usize]);
                            if !seen.is_absent() && rng.below(400) >= lies_pct {
                                log.row(&[row], seen);
                            }
                        }
                        log.scan_complete();
                    }
                    1 => {
                        let seen = if is_lie { seen } else { own.unwrap_or(seen) };
                        let is_exact = rng.below(8) == 0;
                        log.read(Key::new(table(key), &[key]), if is_exact { seen } else { told(seen) });
                    }
                    _ if own.is_some() => {}
                    _ => {
                        let is_tombstone = !state[key as usize].is_absent() && rng.below(2) == 0;
                        writes.push((key, log.write(Key::new(table(key), &[key]), is_tombstone)));
                    }
                }
            }
            for (key, after) in writes {
                let before = std::mem::replace(&mut state[key as usize], after);
                past.push(after);
                let is_lie = rng.below(200) < lies_pct;
                let before = if is_lie { past[rng.below(past.len() as u64) as usize] } else { told(before) };
                if rng.below(400) >= lies_pct {
                    log.install(Key::new(table(key), &[key]), before, after);
                }
            }
            log.end(AttemptOutcome::Committed(nth), 10 * nth + rng.below(35));
        }
        History::new(logs)
    }

    /// The guessed reading, except that for one key two inserts have exchanged the absences that they ended.
    fn reading(chains: &Chains, rng: &mut Rng) -> Reading {
        let mut reading = Reading::default();
        let key = KeyId(rng.below(chains.keys.len() as u64) as u32);
        if let [one, .., other] = *chains.opens(key) {
            (reading.keys, reading.touched) = ([key].into(), [key].into());
            for &insert in chains.opens(key) {
                let instead = match insert {
                    insert if insert == one => other,
                    insert if insert == other => one,
                    insert => insert,
                };
                let gap = chains.state(instead).before().0;
                reading.replaced.insert(insert, gap);
                reading.closers.insert(gap, insert);
            }
        }
        reading
    }

    #[test]
    fn of_whom_nobody_doubts_there_is_nothing_to_tell() {
        let mut undoubted = 0;
        for seed in 0..4_000 {
            let mut rng = Rng::new(seed);
            let history = history(&mut rng, [0, 0, 1, 10][seed as usize % 4]);
            let layout = [Layout::Responses, Layout::Invocations, Layout::Stamps][seed as usize % 3];
            let txns = Txns::new(history.logs(), layout, u64::MAX, Tables::default());
            let (mut chains, mut flaws) = (Chains::default(), Vec::new());
            chains.fill(&txns, &mut flaws);
            let reading = reading(&chains, &mut rng);
            let doubted =
                chains.serial.doubted().map(|bits| bits.iter().map(|word| word.count_ones()).sum::<u32>());
            undoubted += doubted.map_or(0, |doubted| txns.len() as u32 - doubted);
            let quick = cover(Text { txns: &txns, chains: &chains }, &reading);
            chains.serial.give_up();
            let whole = cover(Text { txns: &txns, chains: &chains }, &reading);
            let told = |covered: Covered| {
                (covered.windows, covered.all, covered.flaws, covered.holes, covered.against)
            };
            assert_eq!(told(quick), told(whole), "seed {seed}: {history}");
        }
        assert!(undoubted > 20_000, "{undoubted}");
    }
}
