//! SI: snapshot isolation (Berenson, Bernstein, Gray, Melton, O'Neil, O'Neil, SIGMOD 1995).
//!
//! IDEA        An attempt reads the database as it was when it began: of each record the newest version that was
//!             committed by then. It writes by putting an undecided version on the end of the chain, and the first to
//!             do so wins: an attempt that meets another's undecided version, or a version that is newer than its
//!             snapshot, aborts. Readers do not wait for writers nor writers for readers, and no read is checked, so
//!             two attempts that each write what the other reads may both commit: write skew.
//! RECORD      `ChainHead`: only whether the record is retired. `VersionStamp`: while undecided, the slot of
//!             the writer; then that the writer commits; then the number of its commit.
//! COMMIT      1. Mark every version as committing: from here on only a certifier can turn back.
//!             2. Draw the commit number.
//!             3. Give up the versions before each written one that nobody needs.
//!             4. Seal the version and give it the number.
//!             5. Give up what earlier commits had to leave and nobody needs any more.
//! INVARIANTS  (1) A snapshot `s` shows all of a commit or nothing. An attempt that finds a version undecided after it
//!                 took `s` knows that the commit number will be drawn later, hence above `s`: had it been drawn
//!                 before, the marks, which come before it, would be seen. An attempt that finds a version committing
//!                 waits for the number, which is a few instructions away, or as far as a certifier waits (`see`).
//!             (2) Versions grow only at the new end, in the order of commit numbers, the newest alone undecided
//!                 (asserted in `PendingWrites::push`; `top` lets nobody write over an undecided one).
//!             (3) No attempt waits while it has undecided versions, except for numbers; and no attempt whose versions
//!                 are committing waits, except, if a certifier allows it, for commits with smaller numbers. So waits
//!                 cannot form a circle.
//! DEPARTURES  The first updater wins, not the first committer: an attempt that cannot commit is not executed to its
//!             end. An attempt that lost to a version that is still undecided waits for the decision before it tries
//!             again, holding nothing, for `si.wait_us` at most: before the decision it would lose again. The snapshot
//!             is the last number drawn, never an older one, so that a client sees every commit of which it was told. A
//!             `Certifier` may watch the reads and writes of an attempt, and refuse its commit between 2 and 3: `ssn`,
//!             `ssi` and `ermia` are this scheme with a certifier. Here there is none, and the calls to it are not
//!             compiled.

pub mod entry;
pub mod plants;
#[cfg(all(test, feature = "tests", not(loom)))]
mod tests;

use engine::driver::PerWorker;
use engine::setting::SettingError;
use engine::{
    Abort, Admits, End, Env, Facts, Family, Info, Isolation, Observer, Retire, Scheme, Sink, Stamp, Ticket,
    Write, settings,
};
use parts::certifier::{Certified, Certifier, Made, SnapshotView, wait_us};
use parts::version_chain::{
    ChainHead, Stamped, VersionStamp, cut, is_absent, settle, wait_for_number, words_of,
};
use parts::{PendingWrites, Timestamps, value_before};
use storage::{LeafRef, RecordRef, Shape, Slot, VersionRef, Versioned};
use sync::plant::is_planted;
use sync::{clock, waiter};

settings! {
    /// The settings of the scheme.
    pub struct Settings of "si" {
        /// How long a retry waits for the writer that it lost to.
        wait_us: u64 = wait_us,
    }
}

const UNDECIDED: u64 = VersionStamp::UNDECIDED;
const COMMITTING: u64 = VersionStamp::COMMITTING;

/// Snapshot isolation.
pub type Si = Snapshots<Uncertified>;

/// The state that all transactions share: the source of snapshots and commit numbers, and the certifier of commits.
#[derive(Debug)]
pub struct Snapshots<C> {
    commits: Timestamps,
    wait_ns: u64,
    certifier: C,
}

/// The certifier that certifies nothing: all reads are of one snapshot, and the first updater has won already.
#[derive(Debug)]
pub struct Uncertified;

impl Certifier for Uncertified {
    const INFO: Info = Info {
        name: "si",
        title: "Snapshot isolation",
        paper: "Berenson, Bernstein, Gray and others: A critique of ANSI SQL isolation levels, SIGMOD 1995",
        family: Family::MultiVersion,
        isolation: Isolation::Snapshot,
        workers: Admits::Any,
        views: engine::Views::Consistent,
        idea: "reads the state as of the begin, lets the first updater of a record win, checks nothing that was read",
    };
    type Settings = Settings;
    type Version = VersionStamp;
    type Leaf = ();
    type Certificate<'db, S: Certified<Self>> = ();

    fn new(_: &Settings, _: Env) -> Self {
        Self
    }

    fn wait_us(settings: &Settings) -> u64 {
        settings.wait_us
    }
}

/// A version of a record that an attempt has met.
type Met<'db, C> = (RecordRef<'db, Snapshots<C>>, VersionRef<'db, Snapshots<C>>);

/// An attempt's private state.
#[derive(Debug)]
pub struct Txn<'db, C: Certifier> {
    slot: Slot<'db, Snapshots<C>>,
    snapshot: u64,
    /// The snapshot; a later point if the certifier lets the attempt see what is committed later.
    sees: u64,
    /// The number of its undecided versions.
    mark: u64,
    /// The number of its commit, once it is drawn; 0 before.
    number: u64,
    writes: PendingWrites<'db, Snapshots<C>>,
    /// The undecided version to which the last attempt lost.
    lost_to: Option<Met<'db, C>>,
    certificate: C::Certificate<'db, Snapshots<C>>,
    /// See [`Timestamps::watermark`].
    watermark_age: usize,
}

/// The state of a record as an attempt sees it.
enum Seen<'db, C: Certifier> {
    /// Its own version, by its place among the writes.
    Own(usize),
    Value(VersionRef<'db, Snapshots<C>>),
    Nothing,
}

/// The new end of a chain, as a writer finds it.
enum Top<'db, C: Certifier> {
    /// Its own version, by its place among the writes.
    Own(usize),
    /// A version that the snapshot shows, or none.
    Of(Option<VersionRef<'db, Snapshots<C>>>),
}

impl<C: Certifier> Shape for Snapshots<C> {
    type Header = ChainHead;
    type Version = C::Version;
    type Leaf = C::Leaf;
    type Data = Versioned;
}

impl<C: Certifier> Scheme for Snapshots<C> {
    const INFO: Info = C::INFO;
    type Settings = C::Settings;
    type Driver = PerWorker;
    type Txn<'db> = Txn<'db, C>;

    fn new(settings: &C::Settings, env: Env) -> Result<Self, SettingError> {
        let certifier = C::new(settings, env);
        let commits = certifier.numbers(env.slots);
        Ok(Self { commits, wait_ns: C::wait_us(settings) * 1_000, certifier })
    }

    fn facts(settings: &C::Settings) -> Facts {
        C::facts(settings)
    }

    fn attach<'db>(&'db self, slot: Slot<'db, Self>) -> Txn<'db, C> {
        let watermark_age = self.commits.first_age(slot.id());
        Txn {
            mark: UNDECIDED + slot.id() as u64,
            slot,
            snapshot: 0,
            sees: 0,
            number: 0,
            writes: PendingWrites::default(),
            lost_to: None,
            certificate: C::Certificate::default(),
            watermark_age,
        }
    }

    #[inline]
    fn slot<'t, 'db>(&'db self, txn: &'t mut Txn<'db, C>) -> &'t mut Slot<'db, Self> {
        &mut txn.slot
    }

    /// The first version has number 0, which every snapshot shows.
    fn loaded(&self, _: RecordRef<'_, Self>) {}

    /// A retry waits here for the version to which the attempt before it has lost: it holds up no memory that others
    /// give back meanwhile.
    #[inline]
    fn await_others<'db>(&'db self, txn: &mut Txn<'db, C>, ticket: &Ticket) {
        if let Some((record, version)) = txn.lost_to.take()
            && ticket.retries > 0
        {
            txn.wait_for_decision(record, version, self.wait_ns);
        }
    }

    #[inline]
    fn begin<'db>(&'db self, txn: &mut Txn<'db, C>, ticket: &Ticket) -> Result<(), Abort> {
        let slot = txn.slot.id();
        let view = self.certifier.begin::<Self>(&mut txn.certificate, slot, &self.commits, ticket);
        SnapshotView { snapshot: txn.snapshot, sees: txn.sees } = view;
        Ok(())
    }

    #[inline]
    fn read<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db, C>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t [u64]>, Abort> {
        match txn.see(&self.certifier, record)? {
            Seen::Own(at) => Ok(txn.writes.value(at)),
            Seen::Value(version) => Ok(txn.slot.words(version)),
            Seen::Nothing => Ok(None),
        }
    }

    #[inline]
    fn write<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db, C>,
        record: RecordRef<'db, Self>,
        how: Write,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        loop {
            let over = match txn.top(record)? {
                Top::Own(at) => return Ok(txn.writes.words(at)),
                Top::Of(over) if is_absent(over) => {
                    return txn.finds(&self.certifier, record, over).map(|()| None);
                }
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
        txn: &'t mut Txn<'db, C>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        loop {
            let over = match txn.top(record)? {
                Top::Own(at) => return Ok(txn.writes.insert(at)),
                Top::Of(over) if !is_absent(over) => {
                    return txn.finds(&self.certifier, record, over).map(|()| None);
                }
                Top::Of(over) => over,
            };
            if let Some(at) = txn.write_over(record, over, Write::Blind)? {
                return Ok(txn.writes.words(at));
            }
        }
    }

    #[inline]
    fn delete<'db>(&'db self, txn: &mut Txn<'db, C>, record: RecordRef<'db, Self>) -> Result<bool, Abort> {
        loop {
            let over = match txn.top(record)? {
                Top::Own(at) => return Ok(txn.writes.delete(at)),
                Top::Of(over) if is_absent(over) => {
                    return txn.finds(&self.certifier, record, over).map(|()| false);
                }
                Top::Of(over) => over,
            };
            if let Some(at) = txn.write_over(record, over, Write::Blind)? {
                return Ok(txn.writes.delete(at));
            }
        }
    }

    #[inline]
    fn read_gaps<'db>(&'db self, txn: &mut Txn<'db, C>, leaf: LeafRef<'db, C::Leaf>) -> Result<(), Abort> {
        C::read_gaps::<Self>(&mut txn.certificate, leaf);
        Ok(())
    }

    #[inline]
    fn entering(&self, record: RecordRef<'_, Self>, leaf: &C::Leaf) -> Result<(), Abort> {
        C::entering(record, leaf)
    }

    #[inline]
    fn added<'db>(&'db self, txn: &mut Txn<'db, C>, before: LeafRef<'db, C::Leaf>, after: u64) {
        C::added::<Self>(&mut txn.certificate, before, after);
    }

    #[inline]
    fn reusing<'db>(&'db self, txn: &mut Txn<'db, C>) {
        C::reusing::<Self>(&mut txn.certificate);
    }

    #[inline]
    fn split<'db>(
        &'db self,
        txn: &mut Txn<'db, C>,
        from: LeafRef<'db, C::Leaf>,
        after: u64,
        into: LeafRef<'db, C::Leaf>,
    ) {
        C::split::<Self>(&mut txn.certificate, from, after, into);
    }

    // ANCHOR: commit
    #[inline]
    fn precommit<'db>(&'db self, txn: &mut Txn<'db, C>, end: End) -> Result<(), Abort> {
        let writes = end == End::Commit && !txn.writes.is_empty();
        if writes {
            let mark = COMMITTING + txn.slot.id() as u64;
            txn.writes.versions().for_each(|(_, version)| version.meta().stamp().set_number(mark)); // 1
            let space = C::space::<Self>(&txn.writes);
            txn.number = self.certifier.draw(txn.slot.id(), &self.commits, space); // 2
        }
        let number = writes.then_some(txn.number);
        self.certifier.certify(&mut txn.certificate, &txn.slot, &txn.writes, number)
    }
    // ANCHOR_END: commit

    #[inline]
    fn install<'db>(
        &'db self,
        txn: &mut Txn<'db, C>,
        sink: &mut impl Sink,
        seen: &mut impl Observer,
    ) -> Stamp {
        self.commits.leave(txn.slot.id());
        if txn.writes.is_empty() {
            self.certifier.left::<Self>(&mut txn.certificate, txn.slot.id());
            settle(&mut txn.slot, || self.commits.known_watermark());
            return Stamp(txn.snapshot);
        }
        let number = core::mem::take(&mut txn.number);
        let watermark = self.commits.watermark(&mut txn.watermark_age);
        for (record, pending) in txn.writes.drain() {
            let version = pending.version();
            let value = (!version.meta().stamp().is_tombstone()).then(|| pending.value());
            seen.installed(record, value_before(&txn.slot, version), value);
            sink.logged(Stamp(number), record, value);
            cut(&mut txn.slot, record, &pending, number, watermark); // 3
            C::numbered::<Self>(&txn.certificate, version.meta(), number);
            pending.seal().meta().stamp().set_number(number); // 4
        }
        self.certifier.ended::<Self>(&txn.certificate, txn.slot.id(), Some(Made { number, watermark }));
        self.certifier.left::<Self>(&mut txn.certificate, txn.slot.id());
        settle(&mut txn.slot, || watermark); // 5
        Stamp(number)
    }

    #[inline]
    fn abort<'db>(&'db self, txn: &mut Txn<'db, C>) {
        let is_drawn = core::mem::take(&mut txn.number) != 0;
        if is_drawn {
            // Attempts that wait for the number must look again.
            txn.writes.versions().for_each(|(_, version)| version.meta().stamp().set_number(txn.mark));
        }
        txn.writes.undo(&mut txn.slot);
        if is_drawn {
            self.certifier.ended::<Self>(&txn.certificate, txn.slot.id(), None);
        }
        self.certifier.left::<Self>(&mut txn.certificate, txn.slot.id());
        self.commits.leave(txn.slot.id());
        settle(&mut txn.slot, || self.commits.known_watermark());
    }

    fn maintain(&self, _: usize) {
        self.certifier.maintain(&self.commits);
        self.commits.maintain();
    }

    fn retire(&self, record: RecordRef<'_, Self>, leaf: &C::Leaf) -> Retire {
        C::retire(record, leaf, |number| self.commits.is_past(number))
    }

    fn watermark(&self) -> Option<u64> {
        self.certifier.watermark(&self.commits)
    }

    fn leaving(&self, record: RecordRef<'_, Self>, leaf: &C::Leaf) -> Retire {
        C::leaving(record, leaf, |number| self.commits.is_past(number))
    }

    fn latest<'b, 'db>(
        &'db self,
        txn: &'b mut Txn<'db, C>,
        record: RecordRef<'db, Self>,
    ) -> Option<&'b [u64]> {
        words_of(&txn.slot, txn.slot.newest(record))
    }
}

impl<'db, C: Certifier> Txn<'db, C> {
    // ANCHOR: see
    /// Finds the version of a record that the snapshot shows: invariant (1). Of a record that was retired, a snapshot
    /// shows nothing.
    #[inline]
    fn see(&mut self, certifier: &C, record: RecordRef<'db, Snapshots<C>>) -> Result<Seen<'db, C>, Abort> {
        let (mut over, mut next) = (None, self.slot.newest(record));
        while let Some(version) = next {
            let number = version.meta().stamp().number();
            let is_latest = number < UNDECIDED && is_planted(&plants::SI_READS_LATEST);
            if number <= self.sees || is_latest {
                break;
            } else if number == self.mark {
                return Ok(Seen::Own(self.writes.of(record)));
            } else if number >= COMMITTING
                && !is_planted(&plants::SI_SKIPS_COMMITTING)
                && !certifier.passes(version, number, self.snapshot)
            {
                wait_for_number(version, number);
            } else {
                over = (number < UNDECIDED).then_some(version);
                next = self.slot.older(version);
            }
        }
        certifier.read(&mut self.certificate, &self.slot, record, next, over)?;
        Ok(next.filter(|_| !is_absent(next)).map_or(Seen::Nothing, Seen::Value))
    }
    // ANCHOR_END: see

    /// Notes that the attempt writes no version over the newest of a record, or none, but has found out whether there
    /// is a value.
    #[inline]
    fn finds(
        &mut self,
        certifier: &C,
        record: RecordRef<'db, Snapshots<C>>,
        newest: Option<VersionRef<'db, Snapshots<C>>>,
    ) -> Result<(), Abort> {
        certifier.read(&mut self.certificate, &self.slot, record, newest, None)
    }

    // ANCHOR: top
    /// Finds the version over which a write would go.
    #[inline]
    fn top(&mut self, record: RecordRef<'db, Snapshots<C>>) -> Result<Top<'db, C>, Abort> {
        while let Some(version) = self.slot.newest(record) {
            let number = version.meta().stamp().number();
            let wins = number < UNDECIDED && is_planted(&plants::SI_LAST_WRITER_WINS);
            if number <= self.sees || wins {
                return Ok(Top::Of(Some(version)));
            } else if number == self.mark {
                return Ok(Top::Own(self.writes.of(record)));
            } else if number >= COMMITTING {
                wait_for_number(version, number);
            } else {
                self.lost_to = (number >= UNDECIDED).then_some((record, version));
                return Err(Abort::WriteConflict);
            }
        }
        Ok(Top::Of(None))
    }
    // ANCHOR_END: top

    /// Writes over the newest version, or reports that it is no longer the newest.
    #[inline]
    fn write_over(
        &mut self,
        record: RecordRef<'db, Snapshots<C>>,
        over: Option<VersionRef<'db, Snapshots<C>>>,
        how: Write,
    ) -> Result<Option<usize>, Abort> {
        let check = || if record.header().is_retired() { Err(Abort::WriteConflict) } else { Ok(()) };
        let at = self.writes.push(&mut self.slot, record, over, self.mark, how, check)?;
        if at.is_some() {
            C::wrote(&mut self.certificate, record, over);
        }
        Ok(at)
    }

    /// Waits until a version is decided, if it is still there. The record and the version may meanwhile belong to
    /// another key, which makes the wait a little too short or too long.
    #[cold]
    fn wait_for_decision(
        &self,
        record: RecordRef<'db, Snapshots<C>>,
        version: VersionRef<'db, Snapshots<C>>,
        wait_ns: u64,
    ) {
        let number = || version.meta().stamp().number();
        let decided = || number() < UNDECIDED || self.slot.newest(record) != Some(version);
        let deadline_ns = clock::now_ns().saturating_add(wait_ns);
        waiter::wait_until(Some(deadline_ns), decided);
    }
}
