//! The sink through which a session tells the log of its commits.

use core::convert::Infallible;
use core::ops::Range;

use engine::{Groups, Key, Loader, Row, Scheme, Sink, Stamp, Table};
use storage::{AnyKey, GroupVisit, IndexedKey, RecordRef, Shape, TableId, TableStore, Tables, words_of};
use sync::atomic::Ordering;
use sync::{Arc, clock, waiter};

use crate::entry::{ALL, GONE, VALUE, head_of_write};
use crate::error::LogError;
use crate::handover::Giver;
use crate::log::{CommitTicket, Log};
use crate::store::Order;
use crate::touched::Touched;

/// The sink of one session: gathers the writes of a commit, and hands them over when the commit is complete.
///
/// A commit opens the epoch between `precommit` and `install`, and then draws its order within the epoch: see the
/// header of the crate. A read-only transaction waits for the last epoch in which any session has committed, since it
/// may have seen that commit's writes.
#[derive(Debug)]
pub struct LogSink {
    log: Log,
    seat: usize,
    /// By table.
    records: Vec<Records>,
    /// The number of words of a mark, which may stand behind the words of a row.
    mark_words: usize,
    touched: Touched,
    /// The writer of the transaction's words.
    giver: Giver,
    writes: u64,
    is_open: bool,
    ticket: CommitTicket,
}

/// The column groups of a table's records.
#[derive(Debug)]
enum Records {
    /// Each record has one.
    One,
    /// A row has one record with all of them.
    All,
    /// Some share a record.
    Some(Box<[Part]>),
}

/// A column group among the words of its record.
#[derive(Debug)]
struct Part {
    /// The record's first column group.
    record: usize,
    group: u16,
    place: Range<usize>,
}

impl Records {
    fn of<S: Scheme>(store: &TableStore<S>) -> Self {
        let part =
            |group| Part { record: store.record_of(group), group: group as u16, place: store.place(group) };
        if !store.is_shared() {
            Self::One
        } else if store.groups_of(0).count() == store.groups() {
            Self::All
        } else {
            Self::Some((0..store.groups()).map(part).collect())
        }
    }
}

impl Log {
    /// A sink for a session of a database with these tables.
    ///
    /// # Panics
    /// When all sessions for which the log was opened have sinks.
    pub fn sink<S: Scheme>(&self, tables: &Tables<S>) -> LogSink {
        let mut sink = self.plain_sink();
        sink.records.extend(tables.iter().map(Records::of));
        sink.mark_words = usize::from(tables.has_marks());
        sink
    }

    /// A sink that is told of writes only by [`write`](LogSink::write).
    ///
    /// # Panics
    /// The same as [`sink`](Self::sink).
    pub fn plain_sink(&self) -> LogSink {
        let seat = self.0.free.lock().pop().expect("the log was opened for as many sessions");
        LogSink {
            log: self.clone(),
            seat,
            records: Vec::new(),
            mark_words: 0,
            touched: Touched::default(),
            giver: Giver::new(Arc::clone(&self.0.handovers[seat])),
            writes: 0,
            is_open: false,
            ticket: CommitTicket::default(),
        }
    }
}

impl LogSink {
    /// The ticket of the session's last commit: when it is durable, so is everything that the commit has seen.
    #[inline]
    pub fn ticket(&self) -> CommitTicket {
        self.ticket
    }

    /// The log.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Begins a commit: opens the epoch and draws the order.
    #[inline]
    pub fn open(&mut self) {
        let shared = &*self.log.0;
        let epoch = shared.epochs.open(self.seat).epoch;
        // Relaxed: see `Log::present`. The load before the update makes the word change once per epoch, not once per
        // commit.
        if shared.used.load(Ordering::Relaxed) < epoch {
            shared.used.fetch_max(epoch, Ordering::Relaxed);
        }
        let order = match shared.order {
            Order::Ticks => clock::between(),
            // Relaxed: of two commits that conflict, the second draws after it has seen the first one's installed
            // writes.
            Order::Counter => shared.counter.fetch_add(1, Ordering::Relaxed),
        };
        self.is_open = true;
        self.ticket = CommitTicket { epoch };
        self.giver.begin(epoch, order);
        self.writes = 0;
    }

    /// Appends a write to the open commit: the words of a column group, or `None` if the row has no value any more.
    /// `None` in place of the column group means all groups, one after the other.
    #[inline]
    pub fn write(&mut self, table: TableId, group: Option<u16>, key: AnyKey, row: Option<&[u64]>) {
        let kind = if row.is_some() { VALUE } else { GONE };
        let first = head_of_write(table.0, group.unwrap_or(ALL), kind, key.words());
        let (one, two);
        let key = match &key {
            AnyKey::One(key) => {
                one = [*key];
                &one[..]
            }
            AnyKey::Two(key) => {
                two = [(key >> 64) as u64, *key as u64];
                &two[..]
            }
            AnyKey::Six(key) => &key[..],
        };
        self.giver.append(first, key, row.unwrap_or_default());
        self.writes += 1;
    }

    /// Ends the open commit, and hands it over.
    #[inline]
    pub fn close(&mut self) {
        self.is_open = false;
        if self.writes > 0 && !self.log.has_failed() {
            self.giver.end(self.writes);
        }
        self.log.0.epochs.close(self.seat);
    }
}

impl Sink for LogSink {
    const ON: bool = true;

    #[inline]
    fn begin(&mut self) {
        self.touched.clear();
    }

    #[inline]
    fn touched(&mut self, record: usize, key: AnyKey) {
        self.touched.push(record, key);
    }

    #[inline]
    fn committing(&mut self) {
        if self.touched.is_empty() {
            self.ticket = self.log.present();
        } else {
            self.open();
        }
    }

    #[inline]
    fn logged<S: Shape>(&mut self, _: Stamp, record: RecordRef<'_, S>, row: Option<&[u64]>) {
        let table = record.table().0;
        let key = self.touched.key(record.id());
        let mut append = |group: u16, row: Option<&[u64]>| {
            let kind = if row.is_some() { VALUE } else { GONE };
            self.giver.append(head_of_write(table, group, kind, key.len()), key, row.unwrap_or_default());
            self.writes += 1;
        };
        let row = row.map(|row| &row[..row.len() - self.mark_words]);
        match &self.records[usize::from(table)] {
            Records::One => append(record.group() as u16, row),
            Records::All => append(ALL, row),
            Records::Some(parts) => {
                for part in parts.iter().filter(|part| part.record == record.group()) {
                    append(part.group, row.map(|row| &row[part.place.clone()]));
                }
            }
        }
    }

    #[inline]
    fn committed(&mut self) {
        if self.is_open {
            self.close();
        }
    }

    /// Back pressure: a session that is ahead of the devices waits before its next attempt.
    #[inline]
    fn ended(&mut self) {
        if self.giver.waiting() > self.log.0.backlog_words {
            waiter::wait_until(None, || self.giver.waiting() == 0 || self.log.has_failed());
        }
    }
}

impl Drop for LogSink {
    fn drop(&mut self) {
        if self.is_open {
            // A part of this commit may be installed and not logged.
            self.log.fail(LogError::CutShort);
            self.log.0.epochs.close(self.seat);
        }
        self.log.0.free.lock().push(self.seat);
    }
}

/// Lets another loader load rows, and logs them: a few hundred to a commit. The last rows are logged only when it is
/// dropped.
#[derive(Debug)]
pub struct LoggedLoader<'l, L> {
    loader: &'l mut L,
    sink: LogSink,
}

/// The number of words of rows that are logged as one commit.
const COMMIT_WORDS: usize = 1 << 14;

impl<'l, L: Loader> LoggedLoader<'l, L> {
    /// Logs the rows that a loader loads.
    ///
    /// # Panics
    /// The same as [`Log::sink`].
    pub fn new(log: &Log, loader: &'l mut L) -> Self {
        Self { loader, sink: log.plain_sink() }
    }
}

/// Logs each column group of a row.
struct Groupwise<'s> {
    sink: &'s mut LogSink,
    key: AnyKey,
}

impl<K: Key> GroupVisit<K> for Groupwise<'_> {
    type Stop = Infallible;

    fn group<R: Row<Key = K> + ?Sized>(&mut self, table: Table<R>, row: &R) -> Result<(), Infallible> {
        self.sink.write(table.id(), Some(table.group() as u16), self.key, Some(words_of(row)));
        Ok(())
    }
}

impl<L: Loader> Loader for LoggedLoader<'_, L> {
    fn insert<G: Groups>(&mut self, table: G, key: G::Key, rows: G::Rows<'_>) {
        self.loader.insert(table, key, rows);
        if !self.sink.is_open {
            self.sink.open();
        }
        let mut groups = Groupwise { sink: &mut self.sink, key: key.ordered().any() };
        let Ok(()) = table.try_each(rows, &mut groups);
        if self.sink.giver.len() > COMMIT_WORDS {
            self.sink.close();
            Sink::ended(&mut self.sink);
        }
    }
}

impl<L> Drop for LoggedLoader<'_, L> {
    fn drop(&mut self) {
        if self.sink.is_open {
            self.sink.close();
        }
    }
}
