//! Histories: records of the reads and writes of transactions. They are so cheap to record that they hardly change the
//! run, and are checked afterwards. They are in this crate, below everything, so that native and stepped builds write
//! the same types.
//!
//! Each session has a [`SessionLog`] of its own, to which it only appends: a recorder shared by sessions would order
//! them, and hide the races that it should find. A [`History`] consists of the logs of all sessions.

use core::fmt;

/// Bits of a version's sequence number, that is, its position among the writes of its transaction.
const SEQUENCE_BITS: u32 = 16;
/// Bits of a transaction's position in its session.
const COUNT_BITS: u32 = 29;
/// Bits of a session's number.
const SESSION_BITS: u32 = 18;

/// The id of an attempt: its session, and its position in the session, counted from one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TxnId(u64);

impl TxnId {
    /// The id of the load, which filled the tables before the history began. It comes before all other ids, and is in
    /// no log.
    pub const LOAD: Self = Self(0);

    /// The id of the attempt with this position in the session; the first is 1.
    ///
    /// # Panics
    /// If a number has more bits than a version has for it, or `count` is zero.
    pub const fn new(session: u32, count: u32) -> Self {
        assert!(session >> SESSION_BITS == 0, "a history has at most 262,144 sessions");
        assert!(
            count > 0 && count >> COUNT_BITS == 0,
            "a session has at most 536,870,911 attempts, from one"
        );
        Self((session as u64) << COUNT_BITS | count as u64)
    }

    /// The session's number.
    pub const fn session(self) -> u32 {
        (self.0 >> COUNT_BITS) as u32
    }

    /// The position in the session, from one; zero for [`TxnId::LOAD`].
    pub const fn count(self) -> u32 {
        self.0 as u32 & ((1 << COUNT_BITS) - 1)
    }
}

impl fmt::Debug for TxnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::LOAD => f.write_str("load"),
            id => write!(f, "{}.{}", id.session(), id.count()),
        }
    }
}

/// One value of one key, or one absence of a value, identified by its writer and by the position of the write among the
/// writer's writes. A version fits in a word. Values carry it, so that a reader of a value also reads its writer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(u64);

impl Version {
    /// The absence of a value from an unknown write on: there has never been a value, or one of the deletions removed
    /// it.
    pub const ABSENT: Self = Self(0);
    /// The version of loaded values. All keys share it.
    pub const LOADED: Self = Self::new(TxnId::LOAD, 1, false);

    /// The version made by the transaction's write with this sequence number, counted from zero: a value or an absence.
    ///
    /// # Panics
    /// If a transaction writes more than 65,536 times.
    pub const fn new(txn: TxnId, sequence: u32, is_tombstone: bool) -> Self {
        assert!(sequence >> SEQUENCE_BITS == 0, "a recorded transaction writes at most 65,536 times");
        Self((txn.0 << SEQUENCE_BITS | sequence as u64) << 1 | is_tombstone as u64)
    }

    /// The version as the word that a value carries.
    pub const fn word(self) -> u64 {
        self.0
    }

    /// The version of the word that a value carries.
    pub const fn from_word(word: u64) -> Self {
        Self(word)
    }

    /// The writer; [`TxnId::LOAD`] also for [`Version::ABSENT`].
    pub const fn txn(self) -> TxnId {
        TxnId(self.0 >> (SEQUENCE_BITS + 1))
    }

    /// The position among the transaction's writes, from zero.
    pub const fn sequence(self) -> u32 {
        (self.0 >> 1) as u32 & ((1 << SEQUENCE_BITS) - 1)
    }

    /// Whether the version is an absence.
    pub const fn is_absent(self) -> bool {
        self.0 == 0 || self.0 & 1 == 1
    }

    /// Whether the version was there before the history began.
    pub const fn is_loaded(self) -> bool {
        self.0 != 0 && self.txn().0 == 0
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ABSENT => f.write_str("absent"),
            Self::LOADED => f.write_str("loaded"),
            _ => {
                let sign = if self.is_absent() { "-" } else { "" };
                write!(f, "{sign}{:?}#{}", self.txn(), self.sequence())
            }
        }
    }
}

/// A key of a table, or of an index that is recorded as a table of its own. Its words are the words of the ordered
/// integer that indexes compare, the most significant word first, so keys have the order of the index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key<'a> {
    /// The number of the table.
    pub table: u16,
    /// At most [`Key::WORDS_MAX`] words; all keys of a table have the same number.
    pub words: &'a [u64],
}

impl<'a> Key<'a> {
    /// The length of the longest key, in words.
    pub const WORDS_MAX: usize = 6;

    /// Makes a key of its words.
    #[inline]
    pub const fn new(table: u16, words: &'a [u64]) -> Self {
        Self { table, words }
    }
}

impl fmt::Debug for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[", self.table)?;
        for (nth, word) in self.words.iter().enumerate() {
            write!(f, "{}{word}", if nth == 0 { "" } else { "," })?;
        }
        f.write_str("]")
    }
}

/// The outcome of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The attempt committed, with this stamp from its scheme. A stamp's meaning depends on the scheme, unless the
    /// scheme promises that the order of its stamps explains the history.
    Committed(u64),
    /// The attempt aborted, and none of its writes stays.
    Aborted,
    /// The outcome is unknown, because the run was cut off.
    Unknown,
}

/// An attempt's frame in its log.
#[derive(Clone, Copy, Debug)]
struct Frame {
    first_word: usize,
    versions: u32,
    invoked: u64,
    responded: u64,
    outcome: AttemptOutcome,
}

/// The kinds of operations, as the lowest bits of an operation's first word.
const READ: u64 = 0;
const WRITE: u64 = 1;
const INSTALL: u64 = 2;
const SCAN: u64 = 3;
/// An installation whose key is not repeated: the key is that of the write that many words back.
const INSTALL_BACK: u64 = 4;
/// The positions of the other fields of the first word, in bits, and its flags.
const WIDTH_AT: u32 = 4;
const FORWARD: u64 = 1 << 8;
const COMPLETE: u64 = 1 << 9;
const TABLE_AT: u32 = 16;
const ROWS_AT: u32 = 32;
/// Returns the table and the width of the key of an operation, from its first word.
const fn key_of(first: u64) -> (u16, usize) {
    ((first >> TABLE_AT) as u16, (first >> WIDTH_AT & 0xf) as usize)
}

/// The operations of one session, attempt by attempt, in the order in which they happened. The words are in one vector,
/// and a frame for each attempt in another.
#[derive(Clone, Debug)]
pub struct SessionLog {
    session: u32,
    words: Vec<u64>,
    frames: Vec<Frame>,
    /// The position of the first word of the last scan.
    scan_at: usize,
    /// The position of the last scan's next row.
    row_at: usize,
    /// The attempt that began last.
    txn: TxnId,
    /// The positions of that attempt's writes, by the sequence numbers of their versions.
    writes: Vec<usize>,
    /// The tables that were scanned, a bit each.
    scanned: Vec<u64>,
}

impl SessionLog {
    /// Makes the empty log of a session. Sessions of a history have different numbers, preferably small ones.
    pub const fn new(session: u32) -> Self {
        assert!(session >> SESSION_BITS == 0, "a history has at most 262,144 sessions");
        Self {
            session,
            words: Vec::new(),
            frames: Vec::new(),
            scan_at: 0,
            row_at: 0,
            txn: TxnId::LOAD,
            writes: Vec::new(),
            scanned: Vec::new(),
        }
    }

    /// Like [`new`](Self::new), with memory for this many attempts and words. All of the memory is touched, so that
    /// recording causes no page fault in it.
    pub fn with_room(session: u32, attempts: usize, words: usize) -> Self {
        let mut log = Self::new(session);
        let frame = Frame {
            first_word: 0,
            versions: 0,
            invoked: 0,
            responded: 0,
            outcome: AttemptOutcome::Committed(1),
        };
        log.frames.resize(attempts, frame);
        log.words.resize(words, 1);
        log.frames.clear();
        log.words.clear();
        log
    }

    /// The session's number.
    pub const fn session(&self) -> u32 {
        self.session
    }

    /// Records the begin of an attempt. Times are those of one clock for the whole history, in any unit. Until the
    /// attempt ends, its outcome is unknown.
    ///
    /// # Panics
    /// If the previous attempt ended later.
    #[inline]
    pub fn begin(&mut self, invoked: u64) -> TxnId {
        if let Some(last) = self.frames.last() {
            assert!(
                last.responded <= invoked || last.outcome == AttemptOutcome::Unknown,
                "a session does one attempt at a time"
            );
        }
        self.frames.push(Frame {
            first_word: self.words.len(),
            versions: 0,
            invoked,
            responded: u64::MAX,
            outcome: AttemptOutcome::Unknown,
        });
        self.txn = TxnId::new(self.session, self.frames.len() as u32);
        self.writes.clear();
        self.txn
    }

    /// Records the end of the attempt. It is not called for an outcome that stays unknown.
    ///
    /// # Panics
    /// If no attempt has begun, or the attempt ends before it began.
    #[inline]
    pub fn end(&mut self, outcome: AttemptOutcome, responded: u64) {
        let frame = self.last();
        assert!(frame.invoked <= responded, "an attempt ends after it began");
        frame.outcome = outcome;
        frame.responded = responded;
    }

    /// Records a read of a single key, not as part of a scan.
    #[inline]
    pub fn read(&mut self, key: Key<'_>, seen: Version) {
        self.push(READ, key, &[seen.0]);
    }

    /// Records that the attempt is about to write a key, and returns the version that the value must carry. The
    /// attempt's own reads see the version from here on, reads of others once it is installed. A deletion that finds
    /// nothing is recorded as a read.
    ///
    /// # Panics
    /// If no attempt has begun.
    #[inline]
    pub fn write(&mut self, key: Key<'_>, is_tombstone: bool) -> Version {
        let sequence = self.writes.len() as u32;
        let to = Version::new(self.txn, sequence, is_tombstone);
        self.last().versions = sequence + 1;
        self.writes.push(self.words.len());
        self.push(WRITE, key, &[to.0]);
        to
    }

    /// The key of the attempt's write with this sequence number.
    ///
    /// # Panics
    /// If there was no such write.
    #[inline]
    pub fn written(&self, sequence: u32) -> Key<'_> {
        let at = self.writes[sequence as usize];
        let (table, width) = key_of(self.words[at]);
        Key::new(table, &self.words[at + 1..=at + width])
    }

    /// Records that the commit replaced the version in storage, `before`, by the attempt's last write of the key,
    /// `after`. `before` is read from storage under the same protection under which the value is replaced, whatever the
    /// scheme believes it to be: the order of a key's versions follows from nothing else. A deletion of a row that the
    /// attempt itself has inserted installs nothing.
    #[inline]
    pub fn install(&mut self, key: Key<'_>, before: Version, after: Version) {
        self.push(INSTALL, key, &[before.0, after.0]);
    }

    /// Like [`install`](Self::install), for the key of the attempt's write with this sequence number.
    ///
    /// # Panics
    /// If there was no such write.
    #[inline]
    pub fn install_written(&mut self, sequence: u32, before: Version, after: Version) {
        let back = self.words.len() - self.writes[sequence as usize];
        self.words.extend_from_slice(&[INSTALL_BACK | (back as u64) << ROWS_AT, before.0, after.0]);
    }

    /// Records the begin of a scan of the keys from `low` to `high`, both included. Its rows follow.
    ///
    /// # Panics
    /// If `low` and `high` have different lengths.
    pub fn scan(&mut self, table: u16, low: &[u64], high: &[u64], is_forward: bool) {
        assert_eq!(low.len(), high.len(), "keys of a table are of one length");
        self.scan_at = self.words.len();
        self.push(SCAN | if is_forward { FORWARD } else { 0 }, Key::new(table, low), high);
        self.row_at = self.words.len();
        let (at, bit) = (usize::from(table / 64), 1 << (table % 64));
        if self.scanned.len() <= at {
            self.scanned.resize(at + 1, 0);
        }
        self.scanned[at] |= bit;
    }

    /// Records a row that the scan reached.
    ///
    /// # Panics
    /// If the attempt recorded another operation since the scan began.
    #[inline]
    pub fn row(&mut self, key: &[u64], seen: Version) {
        assert_eq!(self.row_at, self.words.len(), "the rows of a scan follow it");
        match *key {
            [one] => self.words.extend_from_slice(&[one, seen.0]),
            [one, two] => self.words.extend_from_slice(&[one, two, seen.0]),
            _ => {
                self.words.extend_from_slice(key);
                self.words.push(seen.0);
            }
        }
        self.words[self.scan_at] += 1 << ROWS_AT;
        self.row_at = self.words.len();
    }

    /// Records that the scan reached the end of its range. A scan that was broken off has read only up to its last row,
    /// or nothing if it has no rows.
    #[inline]
    pub fn scan_complete(&mut self) {
        self.words[self.scan_at] |= COMPLETE;
    }

    /// The attempts, in order.
    pub fn attempts(&self) -> impl ExactSizeIterator<Item = RecordedAttempt<'_>> {
        (0..self.frames.len()).map(|at| self.attempt(at))
    }

    /// The attempt at this position in the log, from zero.
    ///
    /// # Panics
    /// If there is no such attempt.
    #[inline]
    pub fn attempt(&self, at: usize) -> RecordedAttempt<'_> {
        let frame = self.frames[at];
        let end = self.frames.get(at + 1).map_or(self.words.len(), |next| next.first_word);
        RecordedAttempt {
            id: TxnId::new(self.session, at as u32 + 1),
            invoked: frame.invoked,
            responded: frame.responded,
            outcome: frame.outcome,
            versions: frame.versions,
            words: &self.words[frame.first_word..end],
        }
    }

    /// The tables that attempts of this log have scanned, in order.
    pub fn scanned(&self) -> impl Iterator<Item = u16> {
        (0..).zip(&self.scanned).flat_map(|(nth, &word)| {
            let without_lowest = |bits: &u64| Some(bits & (bits - 1)).filter(|bits| *bits != 0);
            let bits = std::iter::successors(Some(word).filter(|bits| *bits != 0), without_lowest);
            bits.map(move |bits| nth * 64 + bits.trailing_zeros() as u16)
        })
    }

    /// The memory that the log's entries take, in bytes.
    pub const fn bytes(&self) -> usize {
        self.words.len() * size_of::<u64>() + self.frames.len() * size_of::<Frame>()
    }

    fn last(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("an attempt has begun")
    }

    /// Appends an operation. For the usual widths this is one store of an array, since the lengths are known where this
    /// function is inlined.
    #[inline(always)]
    fn push(&mut self, kind: u64, key: Key<'_>, rest: &[u64]) {
        let width = key.words.len();
        assert!(width <= Key::WORDS_MAX, "a key has at most six words");
        let first = kind | (width as u64) << WIDTH_AT | u64::from(key.table) << TABLE_AT;
        match (key.words, rest) {
            (&[one], &[version]) => self.words.extend_from_slice(&[first, one, version]),
            (&[one, two], &[version]) => self.words.extend_from_slice(&[first, one, two, version]),
            (&[one], &[before, after]) => self.words.extend_from_slice(&[first, one, before, after]),
            (&[one, two], &[before, after]) => {
                self.words.extend_from_slice(&[first, one, two, before, after]);
            }
            _ => {
                self.words.push(first);
                self.words.extend_from_slice(key.words);
                self.words.extend_from_slice(rest);
            }
        }
    }
}

/// One attempt of a log.
#[derive(Clone, Copy, Debug)]
pub struct RecordedAttempt<'a> {
    /// The attempt's id.
    pub id: TxnId,
    /// The time of its begin.
    pub invoked: u64,
    /// The time of its end; `u64::MAX` if the outcome is unknown.
    pub responded: u64,
    /// The attempt's outcome.
    pub outcome: AttemptOutcome,
    /// The number of its writes: the sequence numbers of its versions are below this.
    pub versions: u32,
    words: &'a [u64],
}

impl<'a> RecordedAttempt<'a> {
    /// The attempt's operations, in order.
    #[inline]
    pub const fn ops(&self) -> Ops<'a> {
        Ops { words: self.words, at: 0 }
    }

    /// Reads a word of each cache line of the operations, so that they are in the cache when a caller iterates over the
    /// operations of many attempts.
    #[inline]
    pub fn touch(&self) -> u64 {
        /// Words of a cache line.
        const LINE: usize = 8;
        self.words.iter().step_by(LINE).fold(0, |touched, word| touched ^ word)
    }
}

/// One operation of an attempt.
#[derive(Clone, Copy, Debug)]
pub enum Op<'a> {
    /// A read of a key.
    Read {
        /// The key.
        key: Key<'a>,
        /// The version that was read.
        seen: Version,
    },
    /// A write of a key, visible only to the attempt itself.
    Write {
        /// The key.
        key: Key<'a>,
        /// The version that was written.
        to: Version,
    },
    /// The installation of a version, visible to all.
    Install {
        /// The key.
        key: Key<'a>,
        /// The version that was in storage before.
        before: Version,
        /// The version that is in storage from then on.
        after: Version,
    },
    /// A scan of a range.
    Scan(Scan<'a>),
}

/// A scan of an attempt.
#[derive(Clone, Copy, Debug)]
pub struct Scan<'a> {
    /// The least key asked for.
    pub low: Key<'a>,
    /// The greatest key asked for.
    pub high: Key<'a>,
    /// Whether the scan went from the least key to the greatest.
    pub is_forward: bool,
    /// Whether the scan reached the end of the range.
    pub is_complete: bool,
    rows: &'a [u64],
}

impl<'a> Scan<'a> {
    /// The rows that the scan reached, in the order in which it reached them.
    pub fn rows(&self) -> impl DoubleEndedIterator<Item = (Key<'a>, Version)> + use<'a> {
        let (table, width) = (self.low.table, self.low.words.len());
        self.rows
            .chunks_exact(width + 1)
            .map(move |row| (Key::new(table, &row[..width]), Version(row[width])))
    }

    /// The least and the greatest key of the range that was read, both included: the whole range, or the range up to
    /// the last row. `None` if nothing was read.
    pub fn covered(&self) -> Option<(Key<'a>, Key<'a>)> {
        if self.is_complete {
            return Some((self.low, self.high));
        }
        let (last, _) = self.rows().next_back()?;
        Some(if self.is_forward { (self.low, last) } else { (last, self.high) })
    }
}

impl fmt::Display for Op<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { key, seen } => write!(f, "read {key:?}: {seen:?}"),
            Self::Write { key, to } if to.is_absent() => write!(f, "delete {key:?}"),
            Self::Write { key, to } => write!(f, "write {key:?} = {to:?}"),
            Self::Install { key, before, after } => write!(f, "install {key:?}: {before:?} -> {after:?}"),
            Self::Scan(scan) => {
                let Scan { low, high, is_forward, is_complete, .. } = scan;
                let (from, to) = if *is_forward { (low, high) } else { (high, low) };
                write!(f, "scan {from:?} to {to:?}:")?;
                for (key, seen) in scan.rows() {
                    write!(f, " {key:?}={seen:?}")?;
                }
                f.write_str(if *is_complete { "" } else { " and no further" })
            }
        }
    }
}

/// The operations of an attempt.
#[derive(Clone, Debug)]
pub struct Ops<'a> {
    words: &'a [u64],
    at: usize,
}

impl<'a> Ops<'a> {
    #[inline]
    fn take(&mut self, count: usize) -> &'a [u64] {
        let from = self.at;
        self.at += count;
        &self.words[from..self.at]
    }

    #[inline]
    fn version(&mut self) -> Version {
        Version(self.take(1)[0])
    }
}

impl<'a> Iterator for Ops<'a> {
    type Item = Op<'a>;

    #[inline]
    fn next(&mut self) -> Option<Op<'a>> {
        let first = *self.words.get(self.at)?;
        if first & 0xf == INSTALL_BACK {
            let written = self.at - (first >> ROWS_AT) as usize;
            let (table, width) = key_of(self.words[written]);
            let key = Key::new(table, &self.words[written + 1..=written + width]);
            self.at += 1;
            return Some(Op::Install { key, before: self.version(), after: self.version() });
        }
        self.at += 1;
        let (table, width) = key_of(first);
        let key = Key::new(table, self.take(width));
        Some(match first & 0xf {
            READ => Op::Read { key, seen: self.version() },
            WRITE => Op::Write { key, to: self.version() },
            INSTALL => Op::Install { key, before: self.version(), after: self.version() },
            _ => Op::Scan(Scan {
                low: key,
                high: Key::new(table, self.take(width)),
                is_forward: first & FORWARD != 0,
                is_complete: first & COMPLETE != 0,
                rows: self.take((first >> ROWS_AT) as usize * (width + 1)),
            }),
        })
    }
}

/// The logs of all sessions.
#[derive(Clone, Debug, Default)]
pub struct History {
    logs: Vec<SessionLog>,
}

impl fmt::Display for History {
    /// Writes all attempts, one below the other, by the time of their begin.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut attempts: Vec<RecordedAttempt<'_>> =
            self.logs.iter().flat_map(SessionLog::attempts).collect();
        attempts.sort_by_key(|attempt| attempt.invoked);
        for attempt in attempts {
            let RecordedAttempt { id, invoked, responded, outcome, .. } = attempt;
            match outcome {
                AttemptOutcome::Committed(stamp) => {
                    writeln!(f, "{id:?} from {invoked} to {responded}: committed, stamp {stamp}")?;
                }
                AttemptOutcome::Aborted => writeln!(f, "{id:?} from {invoked} to {responded}: aborted")?,
                AttemptOutcome::Unknown => writeln!(f, "{id:?} from {invoked}: cut off")?,
            }
            attempt.ops().try_for_each(|op| writeln!(f, "    {op}"))?;
        }
        Ok(())
    }
}

impl History {
    /// Makes the history of these sessions.
    ///
    /// # Panics
    /// If two sessions have the same number.
    pub fn new(mut logs: Vec<SessionLog>) -> Self {
        logs.sort_by_key(SessionLog::session);
        let is_unique = logs.windows(2).all(|pair| pair[0].session != pair[1].session);
        assert!(is_unique, "sessions of a history have different numbers");
        Self { logs }
    }

    /// The logs, in the order of their sessions' numbers.
    pub fn logs(&self) -> &[SessionLog] {
        &self.logs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_tells_its_writer_and_its_place() {
        let txn = TxnId::new((1 << SESSION_BITS) - 1, (1 << COUNT_BITS) - 1);
        for is_tombstone in [false, true] {
            let version = Version::from_word(Version::new(txn, 65_535, is_tombstone).word());
            assert_eq!((version.txn(), version.sequence()), (txn, 65_535));
            assert_eq!((version.is_absent(), version.is_loaded()), (is_tombstone, false));
        }
        assert!(Version::ABSENT.is_absent() && !Version::ABSENT.is_loaded());
        assert!(Version::LOADED.is_loaded() && !Version::LOADED.is_absent());
    }

    #[test]
    fn keys_are_ordered_by_table_and_then_as_integers() {
        let words = [[1, 9], [2, 0], [2, 1]];
        assert!(words.windows(2).all(|pair| Key::new(3, &pair[0]) < Key::new(3, &pair[1])));
        assert!(Key::new(2, &words[2]) < Key::new(3, &words[0]));
    }

    #[test]
    fn a_log_gives_back_what_was_written_for_keys_of_all_widths() {
        for width in 0..=Key::WORDS_MAX {
            let words: Vec<u64> = (0..width as u64).map(|word| u64::MAX - word).collect();
            let low = vec![0; width];
            let key = Key::new(u16::MAX, &words);
            // Memory from the beginning changes nothing.
            let mut log = if width % 2 == 0 { SessionLog::new(5) } else { SessionLog::with_room(5, 1, 2) };
            let id = log.begin(3);
            log.read(key, Version::LOADED);
            let to = log.write(key, false);
            log.scan(7, &low, &words, false);
            log.row(&words, to);
            log.row(&low, Version::ABSENT);
            log.install(key, Version::LOADED, to);
            log.install_written(0, to, Version::ABSENT);
            log.end(AttemptOutcome::Committed(9), 4);
            log.begin(5);
            let attempt = log.attempt(0);
            assert_eq!((attempt.id, attempt.versions, attempt.responded), (id, 1, 4));
            let ops: Vec<Op<'_>> = attempt.ops().collect();
            assert!(matches!(ops[0], Op::Read { key: k, seen: Version::LOADED } if k == key));
            assert!(matches!(ops[1], Op::Write { key: k, to: t } if k == key && t == to));
            let Op::Scan(scan) = ops[2] else { panic!("{:?}", ops[2]) };
            let rows: Vec<_> = scan.rows().map(|(key, seen)| (key.words.to_vec(), seen)).collect();
            assert_eq!(rows, [(words.clone(), to), (low.clone(), Version::ABSENT)]);
            assert!(!scan.is_forward && !scan.is_complete);
            assert!(matches!(ops[3], Op::Install { before: Version::LOADED, after, .. } if after == to));
            assert!(
                matches!(ops[4], Op::Install { key: k, before, after: Version::ABSENT } if k == key && before == to)
            );
            assert_eq!(ops.len(), 5);
            assert_eq!((log.attempt(1).outcome, log.attempt(1).ops().count()), (AttemptOutcome::Unknown, 0));
            assert_eq!(log.scanned().collect::<Vec<u16>>(), [7]);
        }
    }

    #[test]
    fn a_scan_that_is_broken_off_has_read_as_far_as_its_last_row() {
        for (is_forward, covered) in [(true, (0, 5)), (false, (5, 9))] {
            let mut log = SessionLog::new(0);
            log.begin(0);
            log.scan(0, &[0], &[9], is_forward);
            let scan = |log: &SessionLog| match log.attempt(0).ops().next() {
                Some(Op::Scan(scan)) => scan.covered().map(|(low, high)| (low.words[0], high.words[0])),
                _ => None,
            };
            assert_eq!(scan(&log), None);
            log.row(&[5], Version::LOADED);
            assert_eq!(scan(&log), Some(covered));
            log.scan_complete();
            assert_eq!(scan(&log), Some((0, 9)));
        }
    }

    #[test]
    #[should_panic(expected = "the rows of a scan follow it")]
    fn a_row_without_its_scan_is_refused() {
        let mut log = SessionLog::new(0);
        log.begin(0);
        log.scan(0, &[0], &[9], true);
        log.read(Key::new(0, &[1]), Version::ABSENT);
        log.row(&[5], Version::LOADED);
    }

    #[test]
    #[should_panic(expected = "different numbers")]
    fn two_logs_of_one_session_are_refused() {
        let _ = History::new(vec![SessionLog::new(1), SessionLog::new(1)]);
    }
}
