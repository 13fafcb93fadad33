//! The recorder: the observer that writes down histories, which a checker judges afterwards.
//!
//! A session's recorder appends to a log of its own and shares nothing with other sessions while attempts run: shared
//! state would order the sessions, and hide the races that the recorder is there to find.
//!
//! The tables of a history are [`Facet`]s. A secondary index is a facet of its own, in which each row stands with all
//! words of its column group. A write of the group is therefore also a write of each index entry. The versions of the
//! entries follow the version of the write, in the order of positions. So a mark, which names only the first of these
//! versions, tells them all.

use core::ops::Bound;

use stdx::history::{AttemptOutcome, History, Key, SessionLog, Version};
use storage::{AnyKey, CoreKey, Direction, RecordRef, SecondaryKeys, Shape};
use sync::Latched;
use sync::atomic::{AtomicU32, Ordering};
use sync::clock;

use crate::observer::{Facet, Observe, Observer, mark_of};
use crate::{Abort, Stamp};

/// Facets of a table: one for each column group, followed by two for the secondary indexes of each column group.
const FACETS: usize = 16;
/// Tables whose facets have numbers.
const TABLES: u16 = 1 << 12;
/// Column groups of a table whose facets have numbers.
const GROUPS: usize = 5;

impl Facet {
    /// The table's number in histories.
    ///
    /// # Panics
    /// When a table has more than five column groups, or is not among the first 4,096.
    #[inline]
    pub const fn number(self) -> u16 {
        let Self { table, group, index } = self;
        assert!(group < GROUPS, "histories know five column groups of a table");
        assert!(table.0 < TABLES, "histories know 4,096 tables");
        let within = match index {
            Some(position) => GROUPS + 2 * group + position as usize,
            None => group,
        };
        table.0 * FACETS as u16 + within as u16
    }

    /// The facet with this number.
    pub fn from_number(number: u16) -> Self {
        let within = usize::from(number) % FACETS;
        let table = storage::TableId(number / FACETS as u16);
        match within.checked_sub(GROUPS) {
            None => Self::primary(table, within),
            Some(entry) => Self { table, group: entry / 2, index: Some((entry % 2) as u16) },
        }
    }
}

/// The histories of a run's sessions.
#[derive(Debug, Default)]
pub struct Records {
    sessions: AtomicU32,
    /// Attempts and words for which each log has memory from the beginning.
    room: (usize, usize),
    logs: Latched<Vec<SessionLog>>,
}

impl Records {
    /// Returns an empty collection whose logs each have memory for `attempts` attempts and `words` words from the
    /// beginning: for runs that are measured while they are recorded, since new memory costs more than the writes to
    /// it.
    pub fn with_room(attempts: usize, words: usize) -> Self {
        Self { room: (attempts, words), ..Self::default() }
    }

    /// Returns everything that the ended sessions have seen and done.
    pub fn into_history(self) -> History {
        History::new(self.logs.into_inner())
    }
}

impl<'h> Observe for &'h Records {
    type Observer = Recorder<'h>;
    type Sink = ();

    fn sink(&self) {}

    fn observer(&self) -> Recorder<'h> {
        // Relaxed: all that matters is that numbers differ.
        let session = self.sessions.fetch_add(1, Ordering::Relaxed);
        let (attempts, words) = self.room;
        let log = SessionLog::with_room(session, attempts, words);
        Recorder { records: self, log, own: Own::default(), scan: Walk::None }
    }
}

/// Writes down what a session sees and does.
#[derive(Debug)]
pub struct Recorder<'h> {
    records: &'h Records,
    log: SessionLog,
    own: Own,
    scan: Walk,
}

/// The scan that the next rows belong to.
#[derive(Clone, Copy, Debug)]
enum Walk {
    /// No scan, or a scan of a range in which no key can be.
    None,
    /// A scan of a facet whose versions are `behind` versions behind those of the writes.
    Of { behind: u32 },
}

/// The initial number of buckets for the writes of an attempt: most attempts write fewer records than that.
const BUCKETS: usize = 256;

/// The writes of the running attempt, found by record.
#[derive(Debug)]
struct Own {
    keys: Vec<OwnKey>,
    /// By hashed record: the last attempt that wrote a record of the bucket, and the last of its keys there.
    heads: Box<[(u32, u32)]>,
    /// The number of the running attempt, from 1.
    attempt: u32,
}

/// A key that the running attempt has written.
#[derive(Clone, Copy, Debug)]
struct OwnKey {
    record: usize,
    /// The version that the attempt wrote last under this key.
    version: Version,
    /// The previous key of the same bucket, if there is one.
    next: Option<u32>,
    number: u16,
    /// The distance, in versions, from the version of the record's write.
    behind: u8,
    /// Whether the row stood under this key before the attempt.
    was_there: bool,
}

impl Default for Own {
    fn default() -> Self {
        Self { keys: Vec::new(), heads: vec![(0, 0); BUCKETS].into(), attempt: 0 }
    }
}

impl Own {
    /// Forgets all for the next attempt.
    #[inline]
    fn clear(&mut self) {
        self.keys.clear();
        self.attempt = self.attempt.checked_add(1).unwrap_or_else(|| {
            self.heads.fill((0, 0));
            1
        });
    }

    /// The bucket of a record, by Fibonacci hashing: records lie at multiples of their size.
    #[inline]
    fn bucket(&self, record: usize) -> usize {
        ((record as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - self.heads.len().ilog2())) as usize
    }

    /// The last key in the bucket of a record.
    #[inline]
    fn head(&self, record: usize) -> Option<u32> {
        let (attempt, last) = self.heads[self.bucket(record)];
        (attempt == self.attempt).then_some(last)
    }

    /// The places of a record's keys, the last one first.
    #[inline]
    fn of(&self, record: usize) -> impl Iterator<Item = usize> {
        let next = |at: &u32| self.keys[*at as usize].next;
        let in_bucket = core::iter::successors(self.head(record), next).map(|at| at as usize);
        in_bucket.filter(move |at| self.keys[*at].record == record)
    }

    #[inline]
    fn push(&mut self, key: OwnKey) {
        if self.keys.len() == self.heads.len() {
            self.grow();
        }
        self.keys.push(key);
        self.link(self.keys.len() - 1);
    }

    /// Makes a key the last of its bucket.
    #[inline]
    fn link(&mut self, at: usize) {
        let record = self.keys[at].record;
        self.keys[at].next = self.head(record);
        self.heads[self.bucket(record)] = (self.attempt, at as u32);
    }

    /// Doubles the buckets, for an attempt that writes more records than others. The buckets are kept for later
    /// attempts.
    #[cold]
    fn grow(&mut self) {
        self.heads = vec![(0, 0); 2 * self.heads.len()].into();
        (0..self.keys.len()).for_each(|at| self.link(at));
    }
}

/// The words of a key, the most significant first.
struct Words([u64; Key::WORDS_MAX], usize);

impl Words {
    #[inline]
    fn of(key: AnyKey) -> Self {
        let mut words = [0; Key::WORDS_MAX];
        match key {
            AnyKey::One(key) => words[0] = key,
            AnyKey::Two(key) => (words[0], words[1]) = ((key >> 64) as u64, key as u64),
            AnyKey::Six(key) => words = key,
        }
        Self(words, key.words())
    }

    #[inline]
    fn get(&self) -> &[u64] {
        &self.0[..self.1]
    }

    /// The next key, or the previous one; `None` at the end.
    fn step(mut self, is_up: bool) -> Option<Self> {
        for word in self.0[..self.1].iter_mut().rev() {
            let (next, is_carried) = if is_up { word.overflowing_add(1) } else { word.overflowing_sub(1) };
            *word = next;
            if !is_carried {
                return Some(self);
            }
        }
        None
    }

    /// The first or last key of so many words within a bound.
    fn bound(words: usize, bound: Bound<AnyKey>, is_low: bool) -> Option<Self> {
        match bound {
            Bound::Included(key) => Some(Self::of(key)),
            Bound::Excluded(key) => Self::of(key).step(is_low),
            Bound::Unbounded => {
                let [least, greatest] = AnyKey::ends(words);
                Some(Self::of(if is_low { least } else { greatest }))
            }
        }
    }
}

/// The version of a facet's entry for a value with this mark.
#[inline]
fn version(mark: u64, behind: u32) -> Version {
    let version = Version::from_word(mark);
    if behind == 0 || version.is_loaded() {
        return version;
    }
    Version::new(version.txn(), version.sequence() + behind, false)
}

impl Recorder<'_> {
    /// Records the write of a key, and that the key belongs to this record.
    #[inline]
    fn wrote(&mut self, record: usize, facet: Facet, key: AnyKey, was_there: bool, deletes: bool) -> Version {
        let (number, behind) = (facet.number(), behind(facet) as u8);
        let words = Words::of(key);
        let version = self.log.write(Key::new(number, words.get()), deletes);
        // A record has one primary key, and may have stood under several others.
        let is_it = |own: &OwnKey| {
            own.number == number
                && (behind == 0 || self.log.written(own.version.sequence()).words == words.get())
        };
        let known = self.own.of(record).find(|at| is_it(&self.own.keys[*at]));
        if let Some(at) = known {
            self.own.keys[at].version = version;
        } else {
            self.own.push(OwnKey { record, version, next: None, number, behind, was_there });
        }
        version
    }
}

/// The distance, in versions, from the version of a write to the version of this facet's entry.
#[inline]
fn behind(facet: Facet) -> u32 {
    facet.index.map_or(0, |position| 1 + u32::from(position))
}

impl Observer for Recorder<'_> {
    // Recording need not be fast.
    const ANY_WIDTH: bool = true;

    #[inline]
    fn listens(&self) -> bool {
        true
    }

    #[inline]
    fn marks(&self) -> bool {
        true
    }

    #[inline]
    fn begin(&mut self) {
        self.log.begin(clock::before());
        self.own.clear();
    }

    #[inline]
    fn read(&mut self, facet: Facet, key: AnyKey, mark: Option<u64>) {
        let seen = mark.map_or(Version::ABSENT, Version::from_word);
        self.log.read(Key::new(facet.number(), Words::of(key).get()), seen);
    }

    #[inline]
    fn write(&mut self, record: usize, facet: Facet, key: AnyKey, deletes: bool) -> u64 {
        self.wrote(record, facet, key, true, deletes).word()
    }

    fn entries(&mut self, record: usize, facet: Facet, from: &SecondaryKeys, to: &SecondaryKeys) {
        let facets = [0, 1].map(|position| Facet { index: Some(position), ..facet });
        let is_first = facets.map(|facet| {
            let number = facet.number();
            !self.own.of(record).any(|at| self.own.keys[at].number == number)
        });
        // In the order of positions, and before all deletions, so that the versions follow the version of the write.
        for (position, key) in to.iter().enumerate() {
            if let Some(key) = *key {
                let was_there = is_first[position] && from[position] == Some(key);
                let entry = self.wrote(record, facets[position], key, was_there, false);
                let mut own = self.own.of(record).map(|at| self.own.keys[at]);
                let mark = own.find(|own| own.behind == 0);
                let told = mark.map(|mark| version(mark.version.word(), behind(facets[position])));
                assert_eq!(told, Some(entry), "the mark of a row tells the versions of its entries");
            }
        }
        for (position, key) in from.iter().enumerate() {
            if let Some(key) = key.filter(|key| to[position] != Some(*key)) {
                self.wrote(record, facets[position], key, is_first[position], true);
            }
        }
    }

    fn scan(
        &mut self,
        facet: Facet,
        words: usize,
        (from, to): (Bound<AnyKey>, Bound<AnyKey>),
        direction: Direction,
    ) {
        self.scan = Walk::None;
        let bounds = (Words::bound(words, from, true), Words::bound(words, to, false));
        if let (Some(low), Some(high)) = bounds
            && low.get() <= high.get()
        {
            self.log.scan(facet.number(), low.get(), high.get(), direction == Direction::Forward);
            self.scan = Walk::Of { behind: behind(facet) };
        }
    }

    #[inline]
    fn row(&mut self, key: AnyKey, mark: u64) {
        let Walk::Of { behind } = self.scan else { panic!("a range without keys has no rows") };
        self.log.row(Words::of(key).get(), version(mark, behind));
    }

    #[inline]
    fn scanned(&mut self) {
        if let Walk::Of { .. } = self.scan {
            self.log.scan_complete();
        }
    }

    fn installed<S: Shape>(
        &mut self,
        record: RecordRef<'_, S>,
        before: Option<&[u64]>,
        after: Option<&[u64]>,
    ) {
        let Self { log, own, .. } = self;
        for own in own.of(record.id()).map(|at| own.keys[at]) {
            let behind = u32::from(own.behind);
            let was_there = before.filter(|_| own.was_there);
            let before = was_there.map_or(Version::ABSENT, |before| version(mark_of(before), behind));
            // The version that storage holds afterwards, whatever the attempt meant to write.
            let after = match after {
                Some(after) if behind == 0 => Version::from_word(mark_of(after)),
                None if !own.version.is_absent() => Version::ABSENT,
                _ => own.version,
            };
            if !(before.is_absent() && after.is_absent()) {
                log.install_written(own.version.sequence(), before, after);
            }
        }
    }

    #[inline]
    fn outcome(&mut self, outcome: Result<Stamp, Abort>) {
        let outcome =
            outcome.map_or(AttemptOutcome::Aborted, |Stamp(stamp)| AttemptOutcome::Committed(stamp));
        self.log.end(outcome, clock::after());
    }
}

impl Drop for Recorder<'_> {
    fn drop(&mut self) {
        let log = core::mem::replace(&mut self.log, SessionLog::new(0));
        self.records.logs.lock().push(log);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use storage::{IndexedKey, TableId};

    #[test]
    fn facets_have_numbers_of_their_own() {
        let mut facets = Vec::new();
        for table in [0, 1, 4_095] {
            for group in 0..GROUPS {
                let table = TableId(table);
                facets.push(Facet::primary(table, group));
                facets.extend([0, 1].map(|position| Facet { table, group, index: Some(position) }));
            }
        }
        let mut numbers: Vec<u16> = facets.iter().map(|facet| facet.number()).collect();
        assert!(facets.iter().zip(&numbers).all(|(facet, number)| Facet::from_number(*number) == *facet));
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), facets.len());
    }

    #[test]
    fn bounds_let_in_what_they_say() {
        fn low<K: IndexedKey>(bound: Bound<K>) -> Option<Vec<u64>> {
            let words = K::MIN.any().words();
            Words::bound(words, bound.map(K::any), true).map(|words| words.get().to_vec())
        }
        fn high<K: IndexedKey>(bound: Bound<K>) -> Option<Vec<u64>> {
            let words = K::MIN.any().words();
            Words::bound(words, bound.map(K::any), false).map(|words| words.get().to_vec())
        }
        assert_eq!(low(Bound::Included(7_u64)), Some(vec![7]));
        assert_eq!(low(Bound::Excluded(u128::from(u64::MAX))), Some(vec![1, 0]));
        assert_eq!(high(Bound::Excluded(1_u128 << 64)), Some(vec![0, u64::MAX]));
        assert_eq!(high(Bound::<u64>::Unbounded), Some(vec![u64::MAX]));
        assert_eq!(low(Bound::Excluded([u64::MAX; 6])), None);
        assert_eq!(high(Bound::Excluded(0_u64)), None);
    }
}
