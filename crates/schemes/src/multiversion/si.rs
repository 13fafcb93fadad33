//! SI: snapshot isolation (Berenson, Bernstein, Gray, Melton, O'Neil, O'Neil, SIGMOD 1995).
//!
//! IDEA        An attempt reads the database as it was when it began: of each record the newest version that
//!             was committed by then. It writes by putting an undecided version on the end of the chain,
//!             and the first to do so wins: whoever meets an undecided version of another, or one that is
//!             newer than its snapshot, aborts. Readers do not wait for writers nor writers for readers, and
//!             nothing that was read is checked, so two attempts that each write what the other reads may
//!             both commit: write skew.
//! RECORD      `ChainHead`: only whether the record is retired. `VersionStamp`: while undecided, the slot of
//!             the writer; then that the writer commits; then the number of its commit.
//! COMMIT      1. Mark every version as committing: from here on there is no way back.
//!             2. Draw the commit number.
//!             3. Give up the versions before each written one that nobody needs.
//!             4. Seal the version and give it the number.
//!             5. Give up what earlier commits had to leave and nobody needs any more.
//! INVARIANTS  (1) A snapshot `s` shows all of a commit or nothing. Who finds a version undecided after it took
//!                 `s` knows that the commit number will be drawn later, hence above `s`: had it been drawn
//!                 before, the marks, which come before it, would be seen. Who finds one committing waits
//!                 for the number, which is a few instructions away (`see`).
//!             (2) Versions grow only at the new end, in the order of commit numbers, the newest alone undecided
//!                 (asserted in `PendingWrites::push`; `top` lets nobody write over an undecided one).
//!             (3) Nobody waits while it has undecided versions, but for numbers: waits cannot form a circle.
//! DEPARTURES  The first updater wins, not the first committer: what cannot commit is not executed to its end.
//!             What lost to a version that is still undecided waits for the decision before it tries again,
//!             holding nothing, for `si.wait_us` at most: before, it would lose again. The snapshot is the
//!             last number drawn, never an older one, so that a client sees what it was told is committed.

use engine::driver::PerWorker;
use engine::parts::version_chain::{ChainHead, VersionStamp, cut, is_absent, leaving, retire, settle};
use engine::parts::{PendingWrites, Timestamps, value_before};
use engine::setting::{Range, Setting, SettingError, Values};
use engine::{
    Abort, Admits, End, Env, Family, Info, InsertAt, Isolation, Observer, Retire, Scheme, Sink, Stamp,
    Ticket, Write,
};
use storage::{LeafRef, RecordRef, Shape, Slot, VersionRef, Versioned};
use sync::plant::is_planted;
use sync::{clock, waiter};

use crate::plants;

const UNDECIDED: u64 = VersionStamp::UNDECIDED;
/// Above the marks of all slots.
const COMMITTING: u64 = UNDECIDED + (1 << 61);

/// The state that all transactions share: the source of snapshots and commit numbers.
#[derive(Debug)]
pub struct Si {
    commits: Timestamps,
    wait_ns: u64,
}

/// An attempt's private state.
#[derive(Debug)]
pub struct Txn<'db> {
    slot: Slot<'db, Si>,
    snapshot: u64,
    /// The number of its undecided versions.
    mark: u64,
    writes: PendingWrites<'db, Si>,
    /// The undecided version to which the last attempt lost.
    lost_to: Option<(RecordRef<'db, Si>, VersionRef<'db, Si>)>,
    /// See [`Timestamps::watermark`].
    watermark_age: usize,
}

/// What an attempt sees of a record.
enum Seen<'db> {
    /// Its own version, by its place among the writes.
    Own(usize),
    Value(VersionRef<'db, Si>),
    Nothing,
}

/// The new end of a chain, as one who is to write finds it.
enum Top<'db> {
    /// Its own version, by its place among the writes.
    Own(usize),
    /// A version that the snapshot shows, or none.
    Of(Option<VersionRef<'db, Si>>),
}

impl Shape for Si {
    type Header = ChainHead;
    type Version = VersionStamp;
    type Leaf = ();
    type Data = Versioned;
}

impl Scheme for Si {
    const INFO: Info = Info {
        name: "si",
        title: "Snapshot isolation",
        paper: "Berenson, Bernstein, Gray and others: A critique of ANSI SQL isolation levels, SIGMOD 1995",
        family: Family::MultiVersion,
        isolation: Isolation::Snapshot,
        workers: Admits::Any,
        idea: "reads the state as of the begin, lets the first updater of a record win, checks nothing that was read",
    };
    const SETTINGS: &'static [Setting] = &[Setting {
        name: "si.wait_us",
        default: "1000",
        range: Range::Int(0, 10_000_000),
        unit: "us",
        doc: "How long a retry waits, before it begins, for the decision of the writer that it lost to; waiting \
              pays where records are written often, 0 where transactions wait for their clients while they write.",
        stresses: "how many attempts are wasted on records that are written often",
    }];
    const INSERT: InsertAt = InsertAt::Access;
    type Driver = PerWorker;
    type Txn<'db> = Txn<'db>;

    fn new(values: &Values, env: Env) -> Result<Self, SettingError> {
        Ok(Self { commits: Timestamps::new(env.slots), wait_ns: values.int("si.wait_us") * 1_000 })
    }

    fn attach<'db>(&'db self, slot: Slot<'db, Self>) -> Txn<'db> {
        Txn {
            mark: UNDECIDED + slot.id() as u64,
            slot,
            snapshot: 0,
            writes: PendingWrites::default(),
            lost_to: None,
            watermark_age: 0,
        }
    }

    #[inline]
    fn slot<'t, 'db>(&'db self, txn: &'t mut Txn<'db>) -> &'t mut Slot<'db, Self> {
        &mut txn.slot
    }

    /// The first version has number 0, which every snapshot shows.
    fn loaded(&self, _: RecordRef<'_, Self>) {}

    #[inline]
    fn begin<'db>(&'db self, txn: &mut Txn<'db>, ticket: &Ticket) -> Result<(), Abort> {
        if let Some((record, version)) = txn.lost_to.take()
            && ticket.retries > 0
        {
            txn.wait_for_decision(record, version, self.wait_ns);
        }
        txn.snapshot = self.commits.snapshot(txn.slot.id());
        Ok(())
    }

    #[inline]
    fn read<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t [u64]>, Abort> {
        match txn.see(record) {
            Seen::Own(at) => Ok(txn.writes.words(at).map(|words| &*words)),
            Seen::Value(version) => Ok(txn.slot.words(version)),
            Seen::Nothing => Ok(None),
        }
    }

    #[inline]
    fn write<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
        how: Write,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        loop {
            let over = match txn.top(record)? {
                Top::Own(at) => return Ok(txn.writes.words(at)),
                Top::Of(over) if is_absent(over) => return Ok(None),
                Top::Of(over) => over,
            };
            if let Some(at) = txn.write_over(record, over, how)? {
                return Ok(txn.writes.words(at));
            }
        }
    }

    #[inline]
    fn insert<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        loop {
            let over = match txn.top(record)? {
                Top::Own(at) => return Ok(txn.writes.insert(at)),
                Top::Of(over) if !is_absent(over) => return Ok(None),
                Top::Of(over) => over,
            };
            if let Some(at) = txn.write_over(record, over, Write::Blind)? {
                return Ok(txn.writes.words(at));
            }
        }
    }

    #[inline]
    fn delete<'db>(&'db self, txn: &mut Txn<'db>, record: RecordRef<'db, Self>) -> Result<bool, Abort> {
        loop {
            let over = match txn.top(record)? {
                Top::Own(at) => return Ok(txn.writes.delete(at)),
                Top::Of(over) if is_absent(over) => return Ok(false),
                Top::Of(over) => over,
            };
            if let Some(at) = txn.write_over(record, over, Write::Blind)? {
                return Ok(txn.writes.delete(at));
            }
        }
    }

    /// A key that enters later leads to versions that the snapshot does not show.
    #[inline]
    fn read_gaps<'db>(&'db self, _: &mut Txn<'db>, _: LeafRef<'db, ()>) -> Result<(), Abort> {
        Ok(())
    }

    #[inline]
    fn adding<'db>(&'db self, _: &mut Txn<'db>, _: LeafRef<'db, ()>) -> Result<(), Abort> {
        Ok(())
    }

    #[inline]
    fn added<'db>(&'db self, _: &mut Txn<'db>, _: LeafRef<'db, ()>, _: u64) {}

    #[inline]
    fn split<'db>(&'db self, _: &mut Txn<'db>, _: LeafRef<'db, ()>, _: u64, _: LeafRef<'db, ()>) {}

    /// The first updater has won already, and what was read is one snapshot.
    #[inline]
    fn precommit<'db>(&'db self, _: &mut Txn<'db>, _: End) -> Result<(), Abort> {
        Ok(())
    }

    #[inline]
    fn install<'db>(&'db self, txn: &mut Txn<'db>, sink: &mut impl Sink, seen: &mut impl Observer) -> Stamp {
        if txn.writes.is_empty() {
            self.commits.leave(txn.slot.id());
            settle(&mut txn.slot, || self.commits.known_watermark());
            return Stamp(txn.snapshot);
        }
        txn.writes.versions().for_each(|version| version.meta().set_number(COMMITTING)); // 1
        let number = self.commits.draw(); // 2
        self.commits.leave(txn.slot.id());
        let watermark = self.commits.watermark(&mut txn.watermark_age);
        for (record, mut pending) in txn.writes.drain() {
            let version = pending.version();
            let value = (!version.meta().is_tombstone()).then(|| &*pending.words());
            seen.installed(record, value_before(&txn.slot, version), value);
            sink.logged(Stamp(number), record, value);
            cut(&mut txn.slot, record, &pending, number, watermark); // 3
            pending.seal().meta().set_number(number); // 4
        }
        settle(&mut txn.slot, || watermark); // 5
        Stamp(number)
    }

    #[inline]
    fn abort<'db>(&'db self, txn: &mut Txn<'db>) {
        txn.writes.undo(&mut txn.slot);
        self.commits.leave(txn.slot.id());
        settle(&mut txn.slot, || self.commits.known_watermark());
    }

    fn maintain(&self, _: usize) {
        self.commits.refresh();
    }

    fn retire(&self, record: RecordRef<'_, Self>, (): &()) -> Retire {
        retire(record, |number| self.commits.is_past(number)).0
    }

    /// Whoever began earlier may see a version that has the key.
    fn leaving(&self, record: RecordRef<'_, Self>, (): &()) -> Retire {
        leaving(record, |number| self.commits.is_past(number))
    }

    fn latest<'b, 'db>(&'db self, txn: &'b mut Txn<'db>, record: RecordRef<'db, Self>) -> Option<&'b [u64]> {
        let newest = txn.slot.newest(record).filter(|version| !version.meta().is_tombstone());
        txn.slot.words(newest?)
    }
}

impl<'db> Txn<'db> {
    /// Finds what the snapshot shows of a record: invariant (1). Of a record that was retired, which no
    /// snapshot shows, nothing.
    #[inline]
    fn see(&mut self, record: RecordRef<'db, Si>) -> Seen<'db> {
        let mut next = self.slot.newest(record);
        while let Some(version) = next {
            let number = version.meta().number();
            let is_latest = number < UNDECIDED && is_planted(&plants::SI_READS_LATEST);
            if number <= self.snapshot || is_latest {
                return if version.meta().is_tombstone() { Seen::Nothing } else { Seen::Value(version) };
            } else if number == self.mark {
                return Seen::Own(self.writes.of(record));
            } else if number == COMMITTING && !is_planted(&plants::SI_SKIPS_COMMITTING) {
                wait_for_number(version);
            } else {
                next = self.slot.older(version);
            }
        }
        Seen::Nothing
    }

    /// Finds the version that a write would go over.
    #[inline]
    fn top(&mut self, record: RecordRef<'db, Si>) -> Result<Top<'db>, Abort> {
        while let Some(version) = self.slot.newest(record) {
            let number = version.meta().number();
            let wins = number < UNDECIDED && is_planted(&plants::SI_LAST_WRITER_WINS);
            if number <= self.snapshot || wins {
                return Ok(Top::Of(Some(version)));
            } else if number == self.mark {
                return Ok(Top::Own(self.writes.of(record)));
            } else if number == COMMITTING {
                wait_for_number(version);
            } else {
                self.lost_to = (number >= UNDECIDED).then_some((record, version));
                return Err(Abort::WriteConflict);
            }
        }
        Ok(Top::Of(None))
    }

    /// Writes over the newest version, or reports that it is the newest no more.
    #[inline]
    fn write_over(
        &mut self,
        record: RecordRef<'db, Si>,
        over: Option<VersionRef<'db, Si>>,
        how: Write,
    ) -> Result<Option<usize>, Abort> {
        let check = || if record.header().is_retired() { Err(Abort::WriteConflict) } else { Ok(()) };
        self.writes.push(&mut self.slot, record, over, self.mark, how, check)
    }

    /// Waits until a version, if it is still there, is decided. Both may meanwhile belong to another key,
    /// which makes the wait a little too short or too long.
    #[cold]
    fn wait_for_decision(&self, record: RecordRef<'db, Si>, version: VersionRef<'db, Si>, wait_ns: u64) {
        let decided = || version.meta().number() < UNDECIDED || self.slot.newest(record) != Some(version);
        let deadline_ns = clock::now_ns().saturating_add(wait_ns);
        waiter::wait_until(Some(deadline_ns), decided);
    }
}

/// Waits for the number of a version whose writer is past deciding.
#[cold]
fn wait_for_number(version: VersionRef<'_, Si>) {
    waiter::wait_until(None, || version.meta().number() < UNDECIDED);
}
