//! The contract of a concurrency-control scheme.

use core::fmt::Debug;

use stdx::Rng;
use storage::{LeafRef, RecordRef, Shape, Slot};

use crate::driver::Driver;
use crate::setting::{Setting, SettingError, Values};
use crate::{Abort, Homes, Observer, Sink};

/// What is known of a scheme without making one.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// The name on the command line, which is that of the file.
    pub name: &'static str,
    /// The name in prose.
    pub title: &'static str,
    /// Where it was published: authors, venue and year.
    pub paper: &'static str,
    /// The family it belongs to.
    pub family: Family,
    /// What it promises.
    pub isolation: Isolation,
    /// How many workers it admits.
    pub workers: Admits,
    /// The states that its attempts may see before they are decided.
    pub views: Views,
    /// One sentence: the idea.
    pub idea: &'static str,
}

/// The families of schemes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Locks before access.
    Locking,
    /// Optimistic: validates at commit.
    Optimistic,
    /// Accesses each record in the order of timestamps, and keeps one version of it.
    TimestampOrdering,
    /// Keeps several versions of a record.
    MultiVersion,
    /// Owns whole partitions.
    Partitioned,
    /// Executes and decides in batches.
    Batched,
    /// Fixes the order of transactions before it executes them.
    Deterministic,
    /// A measuring stick.
    Baseline,
}

/// What a scheme promises of committed transactions, phantoms included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Equivalent to a serial order that agrees with real time.
    StrictlySerializable,
    /// Equivalent to a serial order.
    Serializable,
    /// Snapshot isolation: permits write skew.
    Snapshot,
    /// Nothing.
    None,
}

/// The states that an attempt may have seen before it is decided, whether it commits in the end or not. What an
/// attempt has seen that commits belongs to one state of the database, as does what leads to a rollback that is
/// believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Views {
    /// All that an attempt has seen belongs to one state that was committed, at any moment: opacity (Guerraoui,
    /// Kapalka, Symposium on Principles and Practice of Parallel Programming 2008).
    Consistent,
    /// Two reads may belong to different committed states. An attempt that asks before it acts on what it has seen, by
    /// [`Scheme::confirm`], is told so; others find out at their end.
    Confirmed,
    /// Two reads may belong to different states, perhaps to such as are never committed, and it shows at the end.
    Unconfirmed,
}

/// How many workers a scheme admits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admits {
    /// Any number.
    Any,
    /// One: it does not protect transactions from each other.
    One,
}

impl Family {
    /// Whether its schemes run transactions in batches.
    pub const fn is_in_batches(self) -> bool {
        matches!(self, Self::Batched | Self::Deterministic)
    }

    /// The name used in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Locking => "locking",
            Self::Optimistic => "optimistic",
            Self::TimestampOrdering => "timestamp ordering",
            Self::MultiVersion => "multi-version",
            Self::Partitioned => "partitioned",
            Self::Batched => "batched",
            Self::Deterministic => "deterministic",
            Self::Baseline => "baseline",
        }
    }
}

impl Isolation {
    /// The name used in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::StrictlySerializable => "strictly serializable",
            Self::Serializable => "serializable",
            Self::Snapshot => "snapshot isolation",
            Self::None => "none",
        }
    }
}

/// When the engine adds the keys of inserted rows to the indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsertAt {
    /// At the insert, as records without a value, which the commit gives one.
    Access,
    /// At the commit: until then only the inserting attempt knows the row. Indexes then change while no
    /// attempt is open, or none that may look for these keys, and rows of deleted keys leave at once, without
    /// `retire`: an attempt that begins after that finds no row without a value.
    Install,
}

/// Where a scheme will work.
#[derive(Clone, Copy, Debug)]
pub struct Env {
    /// Sessions at a time, at most; slot numbers are below it.
    pub slots: usize,
    /// Workers.
    pub workers: usize,
}

/// What is known of an attempt when it begins.
#[derive(Clone, Debug)]
pub struct Ticket {
    /// How many attempts the transaction has had before.
    pub retries: u32,
    /// When the transaction was first submitted, in ticks: kept across attempts.
    pub birth: u64,
    /// Its place in the order of its batch, from 1; 0 outside of batches.
    pub sequence: u64,
    /// Whether its procedure writes nothing. A scheme that says so may show it the past.
    pub read_only: bool,
    /// Whether it sees all that was committed before it began, where its scheme has a choice.
    pub is_fresh: bool,
    /// What it is for, in a batch whose order is fixed before.
    pub step: Step,
    /// The homes that it will touch.
    pub homes: Homes,
}

impl Ticket {
    /// A first attempt of a transaction that may write.
    pub fn new(birth: u64, homes: Homes) -> Self {
        Self { retries: 0, birth, sequence: 0, read_only: false, is_fresh: false, step: Step::Whole, homes }
    }
}

/// What an attempt is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The transaction itself; the only one outside of batches whose order is fixed before.
    Whole,
    /// Reconnaissance: finds out what the transaction would touch, and changes nothing.
    Rehearsal,
    /// The transaction, in its place in the order, among others.
    Planned,
    /// The transaction, after all others of its batch and while no other attempt is open.
    Alone,
}

/// What an attempt is about to look for or to change in the indexes, for schemes that [plan](Scheme::PLANS).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// A row is looked for by its primary key. What follows is an access to its records, or `read_gaps` if the key is
    /// missing.
    Seek(Spot),
    /// A scan has come to a row with this primary key, which is read next.
    Meet(Spot),
    /// A key is about to be added, unless it is there.
    Add(Spot),
    /// A key that was found is about to be removed.
    Remove(Spot),
    /// The keys of a range are looked for, all with one prefix: its number as in [`Spot::stretch`], and
    /// [`Spot::is_numbered`].
    Scan(u64, bool),
    /// The keys of a range with several prefixes are looked for.
    ScanAcross,
}

/// A key of an index, in numbers that tell apart the keys, and the prefixes, of all indexes of a database but for one
/// in 2^64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The number of the key.
    pub key: u64,
    /// The number of all keys of the index that have its prefix: see [`Key::SUFFIX_BITS`](storage::Key::SUFFIX_BITS).
    pub stretch: u64,
    /// Whether the rows of the table are [numbered](storage::TableBuilder::numbered) under their prefix, so that the
    /// key which a transaction adds depends on those that are there.
    pub is_numbered: bool,
}

/// How an attempt wants to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It commits.
    Commit,
    /// Its procedure rolled back: the scheme confirms that what it read was consistent, since otherwise
    /// the rollback may be an error of the attempt and not of its input. Under a scheme that [plans](Scheme::PLANS)
    /// so ends whatever does not commit, since what becomes of it then must not be an error either.
    Rollback,
}

/// A number of the scheme's own for a commit: a timestamp, a TID, a batch and place in it. 0 when the
/// scheme has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(pub u64);

/// What a write needs of the record's present value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// The present value, to be changed: a read and a write.
    Modify,
    /// Nothing but that there is one: a blind write.
    Blind,
    /// Nothing but that there is one, to which amounts are added when the attempt commits. Only for schemes that
    /// have [`DELTAS`](Scheme::DELTAS).
    Delta,
}

/// Whether a record without a value, or one entry of a record, may leave the indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retire {
    /// It may. A record that leaves whole is marked: whoever still finds it aborts.
    Done,
    /// Someone may yet need it.
    Later,
    /// It has a value again.
    Alive,
}

/// A concurrency-control scheme: functions over shared state (`self`), one attempt (`Txn`) and records.
///
/// Rules for all of them:
/// - A hook that is called under a leaf's latch (`adding`, `entering`, `added`, `split`, `retire`, `leaving`)
///   does not wait.
/// - Whatever else waits does so through `sync::waiter`.
/// - `read`, `write`, `insert` and `delete` know the attempt's own earlier writes, and may be called any
///   number of times for a record.
/// - A record that has never been written, or whose header was reset, has no value.
/// - A record that was retired aborts whoever touches it.
pub trait Scheme: Shape {
    /// What is known of it without making one.
    const INFO: Info;
    /// Its settings; all names begin with its own.
    const SETTINGS: &'static [Setting];
    /// When the engine adds keys to the indexes.
    const INSERT: InsertAt;
    /// Whether it adds amounts to records when it installs, so that attempts which add to the same record do not
    /// conflict: [`Write::Delta`] then reads nothing but that the record has a value, and lends words in which
    /// the amounts of the attempt are gathered. Once the attempt reads the record or changes its value, it has
    /// read the value. Elsewhere an addition is a [`Write::Modify`].
    const DELTAS: bool = false;
    /// Whether an attempt may have to wait until another one has ended, so that an attempt which is to go on must not
    /// have to wait for this one: the two are not to be open in one thread, unless each is on a fiber of its own.
    const WAITS: bool = false;
    /// Whether it locks records when they are accessed, and to be read otherwise than to be written: so that it matters
    /// whether an update says at once that it will write, as [`Write::Modify`] does, or [reads
    /// first](crate::Session::read_first).
    const UPGRADES: bool = false;
    /// Whether it is told by [`touch`](Self::touch) what an attempt will look for.
    const PLANS: bool = false;
    /// Whether the order of its stamps is a serial order that explains all commits, and those with the same stamp
    /// do not conflict but that one reads what the other wrote.
    const SERIAL_STAMPS: bool = false;
    /// How transactions reach its workers.
    type Driver: Driver<Self>;
    /// An attempt's private state: made once per slot, used for one attempt after the other.
    type Txn<'db>: Send
    where
        Self: 'db;

    /// A scheme for a new database.
    ///
    /// # Errors
    /// Settings that contradict each other.
    fn new(values: &Values, env: Env) -> Result<Self, SettingError>;

    /// How many clients a run has for which `asked` were asked. A scheme that works in batches has one for
    /// each place of a batch at least.
    fn clients(_values: &Values, asked: usize) -> usize {
        asked
    }

    /// The number of partitions that own records.
    fn partitions(&self) -> usize {
        0
    }

    /// What it promises under these settings, where that is not what [`INFO`](Self::INFO) says.
    fn isolation(_values: &Values) -> Isolation {
        Self::INFO.isolation
    }

    /// The states that its attempts may see under these settings, where that is not what [`INFO`](Self::INFO) says.
    fn views(_values: &Values) -> Views {
        Self::INFO.views
    }

    /// Whether records whose data is in place have older versions beside it.
    fn keeps_versions(&self) -> bool {
        false
    }

    /// Whether no version of a record stands within it under these settings, wherever others have theirs: every access
    /// to a value is one to a pointer before.
    fn has_versions_apart(_values: &Values) -> bool {
        false
    }

    /// The private state of a slot's attempts.
    fn attach<'db>(&'db self, slot: Slot<'db, Self>) -> Self::Txn<'db>;

    /// The slot given to [`attach`](Self::attach).
    fn slot<'t, 'db>(&'db self, txn: &'t mut Self::Txn<'db>) -> &'t mut Slot<'db, Self>;

    /// A record of a row that is being loaded: its first value is in place, and nobody knows it yet.
    fn loaded(&self, record: RecordRef<'_, Self>);

    /// An attempt is about to begin, and its slot is not pinned yet: the place to wait before it does. Whoever waits
    /// longer than that holds up the memory and the entries that others have left, and so perhaps whom it waits for.
    #[inline]
    fn await_others<'db>(&'db self, _txn: &mut Self::Txn<'db>, _ticket: &Ticket) {}

    /// The slot is pinned and an attempt begins.
    fn begin<'db>(&'db self, txn: &mut Self::Txn<'db>, ticket: &Ticket) -> Result<(), Abort>;

    /// The attempt is about to look for keys that live at homes `from` to `to`, or to add one. For schemes
    /// that own partitions: what they do not hold, keys that are missing included, may change.
    #[inline]
    fn reach<'db>(&'db self, _txn: &mut Self::Txn<'db>, _from: u64, _to: u64) -> Result<(), Abort> {
        Ok(())
    }

    /// The attempt is about to look for, or to change, what `touch` says. Only for schemes that have
    /// [`PLANS`](Self::PLANS).
    #[inline]
    fn touch<'db>(&'db self, _txn: &mut Self::Txn<'db>, _touch: Touch) -> Result<(), Abort> {
        Ok(())
    }

    /// Reads a record: its value as this attempt sees it, `None` when it has none.
    fn read<'t, 'db>(
        &'db self,
        txn: &'t mut Self::Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t [u64]>, Abort>;

    /// Writes a record that has a value: the words to write, `None` when it has none. The words of a
    /// [`Write::Delta`] are what the attempt has given the record so far, or zero, and only added to.
    fn write<'t, 'db>(
        &'db self,
        txn: &'t mut Self::Txn<'db>,
        record: RecordRef<'db, Self>,
        how: Write,
    ) -> Result<Option<&'t mut [u64]>, Abort>;

    /// Gives a record that has no value one: the words to write, `None` when it has a value, which counts
    /// as read.
    fn insert<'t, 'db>(
        &'db self,
        txn: &'t mut Self::Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t mut [u64]>, Abort>;

    /// Takes a record's value away: `false` when it has none.
    fn delete<'db>(&'db self, txn: &mut Self::Txn<'db>, record: RecordRef<'db, Self>) -> Result<bool, Abort>;

    /// The attempt has read a leaf: a range of its keys, or that a key is missing. The rows in it follow
    /// as reads of their own. Called after the leaf was read and before it is checked that its gaps are
    /// as they were: what is stamped here covers whatever was not seen.
    fn read_gaps<'db>(
        &'db self,
        txn: &mut Self::Txn<'db>,
        leaf: LeafRef<'db, Self::Leaf>,
    ) -> Result<(), Abort>;

    /// A key of this attempt is about to enter a gap of the leaf; under its latch. An error keeps it out.
    /// Under [`InsertAt::Install`]: it will enter at the commit; no latch is held.
    fn adding<'db>(&'db self, txn: &mut Self::Txn<'db>, leaf: LeafRef<'db, Self::Leaf>) -> Result<(), Abort>;

    /// A record is about to be found under a key of the leaf, where it was not before: makes it protect what
    /// the gap protected, as [`retire`](Self::retire) does the reverse. Under the leaf's latch, after
    /// [`adding`](Self::adding), for each record of the row, which others may know by another key: it may have
    /// a value, if its secondary key changes. An error keeps the key out.
    fn entering(&self, _record: RecordRef<'_, Self>, _leaf: &Self::Leaf) -> Result<(), Abort> {
        Ok(())
    }

    /// Under [`InsertAt::Install`], after `adding`: the attempt inserts a row whose primary key is missing
    /// from `leaf`. `key` is a hash of table and key, which tells two inserts of one key. Others than those
    /// are no concern of it: that the key was missing is not reported as read.
    #[inline]
    fn claim<'db>(
        &'db self,
        _txn: &mut Self::Txn<'db>,
        _leaf: LeafRef<'db, Self::Leaf>,
        _key: u64,
    ) -> Result<(), Abort> {
        Ok(())
    }

    /// The key is in: the leaf's gap version was `before.seen()` and is now `after`; under its latch.
    /// The default is for schemes that do not compare gap versions.
    fn added<'db>(&'db self, _txn: &mut Self::Txn<'db>, _before: LeafRef<'db, Self::Leaf>, _after: u64) {}

    /// To make room for a key of this attempt, `into` was split off `from`, whose gap version was
    /// `from.seen()` and is now `after`; under the latches of both.
    /// The default is for schemes that do not compare gap versions: what a leaf carries goes along without it.
    fn split<'db>(
        &'db self,
        _txn: &mut Self::Txn<'db>,
        _from: LeafRef<'db, Self::Leaf>,
        _after: u64,
        _into: LeafRef<'db, Self::Leaf>,
    ) {
    }

    /// Whether all that the attempt has seen so far belongs to one committed state; it may be asked after each access.
    /// Under schemes whose attempts see one state [anyhow](Views::Consistent) it does; where it only shows [at the
    /// end](Views::Unconfirmed), nothing is asked.
    #[inline]
    fn confirm<'db>(&'db self, _txn: &mut Self::Txn<'db>) -> Result<(), Abort> {
        Ok(())
    }

    /// The procedure will not roll back from here on: see [`Transaction::decided`](crate::Transaction::decided). It may
    /// do so all the same.
    #[inline]
    fn decided<'db>(&'db self, _txn: &mut Self::Txn<'db>) {}

    /// Decides whether the attempt may end as it wants: all that can fail. Of two attempts that write the same
    /// record and commit, the second passes this after the first has installed it.
    fn precommit<'db>(&'db self, txn: &mut Self::Txn<'db>, end: End) -> Result<(), Abort>;

    /// Makes the writes of an attempt that passed [`precommit`](Self::precommit) visible. Cannot fail.
    fn install<'db>(
        &'db self,
        txn: &mut Self::Txn<'db>,
        sink: &mut impl Sink,
        seen: &mut impl Observer,
    ) -> Stamp;

    /// Undoes an attempt: of its own doing, or after `precommit` failed, or after a rollback.
    fn abort<'db>(&'db self, txn: &mut Self::Txn<'db>);

    /// Called by each worker between attempts, now and then: epochs, watermarks, clocks.
    fn maintain(&self, _worker: usize) {}

    /// A record left without a value, by a delete that committed or an insert that aborted, is to leave the
    /// indexes: if no snapshot needs it and nobody is at work on it, marks it for whoever still holds it,
    /// and makes `leaf` protect what the record protected. Under the latch of its leaf: first that of the
    /// primary key, then, for a record that is marked already, those of the row's other keys.
    fn retire(&self, record: RecordRef<'_, Self>, leaf: &Self::Leaf) -> Retire;

    /// A number that grows when rows may leave the indexes that [`retire`](Self::retire) kept there: none of
    /// them is tried again before. `None` where another try pays as soon as the attempts of that time have ended.
    #[inline]
    fn watermark(&self) -> Option<u64> {
        None
    }

    /// An entry of a secondary index is about to leave, whose key the last committed value of its row does
    /// not have, and no attempt in progress gives it: if no snapshot shows a value with that key, makes
    /// `leaf` protect what whoever found the entry learnt of the record. The record, of the column group with
    /// the key, stays, and goes on protecting what was read of it. Under the leaf's latch.
    ///
    /// The default is for schemes in which whoever misses the entry serializes after the commit that took the
    /// key away, because that commit is over.
    fn leaving(&self, _record: RecordRef<'_, Self>, _leaf: &Self::Leaf) -> Retire {
        Retire::Done
    }

    /// The value of a record in a quiesced database, copied to `buffer` where it is not constant.
    fn latest<'b, 'db>(
        &'db self,
        txn: &'b mut Self::Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Option<&'b [u64]>;
}

/// What [`driver::Batched`](crate::driver::Batched) asks of a scheme beside the hooks of [`Scheme`].
///
/// In a batch, all attempts execute, and all that want to commit reserve, before the first goes through
/// `precommit` and `install` or `abort`; all have ended before the next batch begins. Where a scheme
/// [falls back](Self::falls_back), what aborted executes again in between.
pub trait Batching: Scheme {
    /// The most transactions that a batch may have.
    fn batch_max(&self) -> usize;

    /// The first batch of a run is about to begin. Waits until no attempt outside of batches is open, and
    /// keeps others out until `close`.
    fn open(&self);

    /// All attempts of the batch have executed and reserved, and the next batch comes after it. Called again
    /// when attempts have fallen back: they count as a batch, in which nobody reserves.
    fn turn(&self);

    /// Whether what aborted in a batch executes again before the next one: when the commits of the batch are in
    /// the indexes, in the order of places, each attempt from its beginning to its end while no other is open.
    fn falls_back(&self) -> bool {
        false
    }

    /// All attempts of the last batch of a run have ended.
    fn close(&self);

    /// Publishes what the attempt read and wants to write.
    fn reserve<'db>(&'db self, txn: &mut Self::Txn<'db>);
}

/// What [`driver::Planned`](crate::driver::Planned) asks of a scheme beside the hooks of [`Scheme`].
///
/// Of each transaction of a batch there is a [rehearsal](Step::Rehearsal) while nothing changes, after which its
/// attempt is [declared](Self::declare) and aborted. When all are, each worker [plans](Self::plan) its share; when all
/// have, each transaction is [prepared](Self::prepare), attempted as [planned](Step::Planned) and
/// [released](Self::release), once it [may run](Self::may_run), which the first of those that have not ended always
/// may. What aborts then, other than by its own wish, is attempted [alone](Step::Alone), in the order of the batch;
/// unless it [is to run again](Self::is_to_run_again), which it does at once.
pub trait Planning: Scheme {
    /// Whether a worker executes its transactions in their order, because they may wait for each other when they run.
    const IN_ORDER: bool;
    /// The plans of a run's batches, one after the other.
    type Plan<'db>: Sync + Debug;

    /// The most transactions that a batch may have.
    fn batch_max(&self) -> usize;

    /// The most attempts that a worker has open at a time, each on a fiber, where one that waits lets the next
    /// transaction begin.
    fn open_max(&self) -> usize {
        1
    }

    /// The first batch of a run is about to begin, of at most `places` transactions. Waits until no attempt outside of
    /// batches is open, and keeps others out until `close`.
    fn open(&self, places: usize, workers: usize) -> Self::Plan<'_>;

    /// All attempts of the last batch of a run have ended, and the plan goes: called once, before `close`.
    fn finish<'db>(&'db self, _plan: &Self::Plan<'db>) {}

    /// All attempts of the last batch of a run have ended.
    fn close(&self);

    /// A worker has panicked: who waits for what it was to do gives up.
    fn abandon(&self) {}

    /// The last batch has ended, and what is planned next is of another. Transactions are rehearsed meanwhile.
    fn turn(&self);

    /// Enters what the rehearsed attempt touched into the plan.
    fn declare<'db>(&'db self, plan: &Self::Plan<'db>, txn: &mut Self::Txn<'db>);

    /// Does a worker's share of planning the batch, one of as many as there are workers, with a pinned slot.
    fn plan<'db>(&'db self, plan: &Self::Plan<'db>, txn: &mut Self::Txn<'db>, worker: usize, workers: usize);

    /// Whether [`worker_of`](Self::worker_of) may name others than the workers of the clients.
    fn moves(&self) -> bool {
        false
    }

    /// Which worker executes the transaction at this place of the batch, from 0, whose client belongs to the worker
    /// `home`: the same whoever asks, once the batch is planned.
    fn worker_of(_plan: &Self::Plan<'_>, _place: usize, home: usize) -> usize {
        home
    }

    /// Whether the transaction at this place of the batch, from 0, may run.
    fn may_run(plan: &Self::Plan<'_>, place: usize) -> bool;

    /// Gives an attempt what was planned for the transaction at this place.
    fn prepare<'db>(plan: &Self::Plan<'db>, txn: &mut Self::Txn<'db>, place: usize);

    /// Whether the planned attempt that has just aborted did so because of others, and is made again in its place with
    /// all that was prepared for it.
    fn is_to_run_again(_txn: &Self::Txn<'_>) -> bool {
        false
    }

    /// The last planned attempt of the transaction at this place has ended.
    fn release(plan: &Self::Plan<'_>, place: usize);
}

impl Spot {
    /// What stands for the key: itself, or its stretch if rows are numbered there.
    #[inline]
    pub fn number(&self) -> u64 {
        if self.is_numbered { self.stretch } else { self.key }
    }
}

/// Draws a fresh, repeatable stream of random numbers for a slot, for example for backoff.
pub fn slot_rng(slot: usize) -> Rng {
    Rng::from_path(&[0x736c_6f74, slot as u64])
}
