//! The contract of a concurrency-control scheme.

use core::fmt::Debug;

use stdx::Rng;
use storage::{LeafRef, RecordRef, Schema, Shape, Slot};

use crate::driver::Driver;
use crate::setting::{SettingError, Settings, Values};
use crate::{Abort, Homes, Insight, LeafSet, NoOwnWrites, Observer, OwnWrites, Sink};

/// Static facts about a scheme, known without an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// The name on the command line, which is also the file's name.
    pub name: &'static str,
    /// The name in prose.
    pub title: &'static str,
    /// The publication: authors, venue and year.
    pub paper: &'static str,
    /// The family that the scheme belongs to.
    pub family: Family,
    /// The isolation that the scheme promises.
    pub isolation: Isolation,
    /// The number of workers that the scheme admits.
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
    /// Chooses the order of transactions that have executed.
    Reordering,
    /// Executes and decides in batches.
    Batched,
    /// Fixes the order of transactions before it executes them.
    Deterministic,
    /// A baseline for comparisons.
    Baseline,
}

/// The isolation that a scheme promises of committed transactions, phantoms included.
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

/// The states that an attempt may see before its commit or abort is decided. The reads of an attempt that commits
/// always belong to one state of the database. So do the reads that lead to a rollback which the engine accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Views {
    /// All reads of an attempt belong to one committed state, at every moment: opacity (Guerraoui,
    /// Kapalka, Symposium on Principles and Practice of Parallel Programming 2008).
    Consistent,
    /// Two reads may belong to different committed states. [`Scheme::confirm`] aborts an attempt in that case, if it is
    /// asked before the attempt acts on its reads. Other attempts find out at their end.
    Confirmed,
    /// Two reads may belong to different states, even to states that are never committed. The attempt finds out at its
    /// end.
    Unconfirmed,
}

/// The number of workers that a scheme admits.
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
            Self::Reordering => "reordering",
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

/// The maximum number of partitions of a database.
pub const PARTITIONS_MAX: usize = 4_096;

/// The facts about a scheme that depend on its settings.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// The isolation that the scheme promises.
    pub isolation: Isolation,
    /// The states that attempts may see.
    pub views: Views,
    /// The minimum number of clients of a run: a scheme that works in batches has at least one client for each place of
    /// a batch.
    pub clients_min: usize,
    /// The minimum number of clients of a run for each of its workers: batches may grow with the workers.
    pub clients_min_per_worker: usize,
    /// The number of partitions that own records; 0 if there are none. Before a schema is known, that for schemas
    /// without a stated number of homes.
    pub partitions: usize,
    /// Whether there is a partition for each [home](storage::Home) instead, up to [`PARTITIONS_MAX`], where the schema
    /// [states](storage::Schema::set_homes) how many homes there are.
    pub has_partition_per_home: bool,
    /// Whether records whose data is in place keep older versions beside it.
    pub keeps_versions: bool,
    /// Whether no version is stored in the record itself, where other schemes store one: every access to a value first
    /// follows a pointer.
    pub has_versions_apart: bool,
}

impl Facts {
    /// Returns the facts of a scheme that needs nothing in particular.
    pub const fn of(info: &Info) -> Self {
        Self {
            isolation: info.isolation,
            views: info.views,
            clients_min: 1,
            clients_min_per_worker: 1,
            partitions: 0,
            has_partition_per_home: false,
            keeps_versions: false,
            has_versions_apart: false,
        }
    }

    /// Returns the facts of a scheme under its settings among these values.
    pub fn under<S: Scheme>(values: &Values) -> Self {
        S::facts(&S::Settings::of(values))
    }

    /// Returns the facts in a database of this schema.
    pub(crate) fn in_schema(self, schema: &Schema) -> Self {
        match schema.homes() {
            Some(homes) if self.has_partition_per_home => {
                Self { partitions: homes.clamp(1, PARTITIONS_MAX), ..self }
            }
            _ => self,
        }
    }

    /// Returns the number of clients of a run by so many workers for which `asked` were asked.
    pub fn clients(&self, asked: usize, workers: usize) -> usize {
        asked.max(self.clients_min).max(self.clients_min_per_worker * workers)
    }
}

/// When the engine adds the keys of inserted rows to the indexes: decided by the [driver](Scheme::Driver).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsertAt {
    /// At the insert, as records without a value. The commit gives them one.
    Access,
    /// At the commit: until then only the inserting attempt knows the row. Indexes change only while no attempt is
    /// open, or none that may look for these keys. Rows of deleted keys leave at once, without `retire`: an attempt
    /// that begins after that finds no row without a value.
    Install,
}

/// The environment of a scheme.
#[derive(Clone, Copy, Debug)]
pub struct Env {
    /// The maximum number of open sessions; slot numbers are below it.
    pub slots: usize,
    /// The number of workers.
    pub workers: usize,
}

/// The facts about an attempt that are known when it begins.
#[derive(Clone, Debug)]
pub struct Ticket {
    /// The number of earlier attempts of the transaction.
    pub retries: u32,
    /// The type of the transaction, an index into [`Workload::TYPES`](crate::Workload::TYPES); 0 where no workload
    /// gives it.
    pub kind: usize,
    /// When the transaction was first submitted, in ticks: kept across attempts.
    pub birth: u64,
    /// Its place in the order of its batch, from 1; 0 outside of batches.
    pub sequence: u64,
    /// Whether the procedure writes nothing. Such an attempt may be shown a past state by its scheme.
    pub read_only: bool,
    /// Whether the attempt must see everything that was committed before it began, where the scheme has a choice.
    pub is_fresh: bool,
    /// Whether the transaction is sampled: its scheme may look at the clock for it. See [`Scheme::insight`]. Not set
    /// where transactions run in batches.
    pub is_sampled: bool,
    /// The purpose of the attempt, in a batch whose order is fixed before execution.
    pub step: Step,
    /// The home partitions that the attempt will touch.
    pub homes: Homes,
}

impl Ticket {
    /// Returns the ticket of the first attempt of a transaction that may write.
    pub fn new(birth: u64, homes: Homes) -> Self {
        Self {
            retries: 0,
            kind: 0,
            birth,
            sequence: 0,
            read_only: false,
            is_fresh: false,
            is_sampled: false,
            step: Step::Whole,
            homes,
        }
    }
}

/// The purpose of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Executes the transaction. The only step outside of batches whose order is fixed before execution.
    Whole,
    /// Rehearses the transaction (reconnaissance): finds out what the transaction would touch, and changes nothing. Or
    /// finds the rows and keys that its input states, and does not execute it.
    Rehearsal,
    /// Executes the transaction in its place in the order, concurrently with others.
    Planned,
    /// Executes the transaction after all others of its batch, while no other attempt is open.
    Alone,
}

/// An index lookup or index change that an attempt is about to make, reported to schemes that [plan](Planning::touch).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// A lookup of a row by its primary key. It is followed by an access to the row's records, or by `read_gaps` if the
    /// key is missing.
    Seek(Spot),
    /// A row with this primary key, reached by a scan, which reads it next.
    Meet(Spot),
    /// The addition of a key, unless the key is there already, with the number of its stretch: all keys of the index
    /// with this prefix, see [`Key::SUFFIX_BITS`](storage::Key::SUFFIX_BITS).
    Add(Spot, u64),
    /// The removal of a key that was found, with the number of its stretch.
    Remove(Spot, u64),
    /// A scan of a range whose keys all have one prefix: the number of the stretch, and [`Spot::is_numbered`].
    Scan(u64, bool),
    /// A scan of a range whose keys have several prefixes.
    ScanAcross,
}

/// A key of an index, as a number. Keys, and stretches of keys, of all indexes of a database have different numbers,
/// except with a probability of one in 2^64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The number that stands for the key: the key's own, or its stretch's if rows are numbered there.
    pub number: u64,
    /// Whether the rows of the table are [numbered](storage::TableBuilder::numbered) under their prefix, so that the
    /// key which a transaction adds depends on the keys that are there.
    pub is_numbered: bool,
}

/// The end that an attempt asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Commits the attempt.
    Commit,
    /// Ends an attempt whose procedure rolled back. The scheme confirms that its reads were consistent, since otherwise
    /// the rollback may be an error of the attempt and not of its input. Under a scheme that [plans](Planning),
    /// every attempt that does not commit ends in this way, since its outcome must not be an error of the attempt
    /// either.
    Rollback,
}

/// The scheme's own number of a commit: a timestamp, a TID, or a batch and a place in it. 0 when the scheme has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(pub u64);

/// The need of a write for the record's present value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// The present value, to be changed: a read and a write.
    Modify,
    /// Only the existence of a value: a blind write.
    Blind,
    /// Only the existence of a value, to which amounts are added when the attempt commits. Only for schemes that have
    /// [`DELTAS`](Scheme::DELTAS).
    Delta,
}

/// Whether a record without a value, or one entry of a record, may leave the indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retire {
    /// The record or entry may leave. A record that leaves as a whole is marked: every attempt that still finds it
    /// aborts.
    Done,
    /// Some attempt may still need the record or entry.
    Later,
    /// The record has a value again.
    Alive,
}

/// A concurrency-control scheme: functions over shared state (`self`), one attempt (`Txn`) and records.
///
/// Rules for all schemes:
/// - A hook that is called under a leaf's latch (`adding`, `entering`, `added`, `split`, `retire`, `leaving`) does not
///   wait.
/// - All other waiting goes through `sync::waiter`.
/// - `read`, `write`, `insert` and `delete` may be called any number of times for a record. They take the attempt's own
///   earlier writes into account, unless [`own_writes`](Self::own_writes) has them.
/// - A record that has never been written, or whose header was reset, has no value.
/// - An attempt that touches a retired record aborts.
pub trait Scheme: Shape {
    /// Static facts about the scheme, known without an instance.
    const INFO: Info;
    /// Whether the scheme adds amounts to records when it installs, so that attempts which add to the same record do
    /// not conflict. [`Write::Delta`] then reads only whether the record has a value, and lends words in which the
    /// amounts of the attempt are summed up. Once the attempt reads the record or changes its value, it has read the
    /// value. Under other schemes an addition is a [`Write::Modify`].
    const DELTAS: bool = false;
    /// Whether an attempt may have to wait until another attempt has ended. The other attempt must then be able to go
    /// on without waiting for this one: the two must not be open in one thread, unless each is on a fiber of its own.
    const WAITS: bool = false;
    /// Whether the scheme locks records at access, in a different mode for reads than for writes. It then matters
    /// whether an update announces its write at once, as [`Write::Modify`] does, or [reads
    /// first](crate::Session::read_first).
    const UPGRADES: bool = false;
    /// Whether the order of the scheme's stamps is a serial order that explains all commits. The only conflicts between
    /// commits with the same stamp are reads by one of what the other wrote.
    const SERIAL_STAMPS: bool = false;
    /// The scheme's settings: a struct that [`settings!`](crate::settings) declares, or `()`.
    type Settings: Settings;
    /// The driver: the way in which transactions reach the workers.
    type Driver: Driver<Self>;
    /// The private state of an attempt: made once per slot, and reused by one attempt after the other.
    type Txn<'db>: Send
    where
        Self: 'db;

    /// Makes a scheme for a new database.
    ///
    /// # Errors
    /// Returns an error for settings that contradict each other.
    fn new(settings: &Self::Settings, env: Env) -> Result<Self, SettingError>;

    /// The facts about the scheme that depend on its settings.
    fn facts(_settings: &Self::Settings) -> Facts {
        Facts::of(&Self::INFO)
    }

    /// Makes the private state of a slot's attempts.
    fn attach<'db>(&'db self, slot: Slot<'db, Self>) -> Self::Txn<'db>;

    /// Returns the slot that was given to [`attach`](Self::attach).
    fn slot<'t, 'db>(&'db self, txn: &'t mut Self::Txn<'db>) -> &'t mut Slot<'db, Self>;

    /// Called for each record of a row that is being loaded: its first value is in place, and no other thread knows it
    /// yet.
    fn loaded(&self, record: RecordRef<'_, Self>);

    /// Called before an attempt begins, while its slot is not pinned yet: the place to wait for other attempts. Waiting
    /// with a pinned slot holds up the memory and the entries that other attempts have left, and so perhaps the very
    /// attempts that are waited for.
    #[inline]
    fn await_others<'db>(&'db self, _txn: &mut Self::Txn<'db>, _ticket: &Ticket) {}

    /// Begins an attempt. Its slot is pinned.
    fn begin<'db>(&'db self, txn: &mut Self::Txn<'db>, ticket: &Ticket) -> Result<(), Abort>;

    /// The attempt's own writes, for schemes that keep them from others until the commit. They are looked up before the
    /// scheme is asked: `read`, `write`, `insert` and `delete` are then called only for records that the attempt has
    /// not written. `None` for schemes that find an own write where they look for others' writes.
    #[inline]
    fn own_writes<'t, 'db>(&'db self, _txn: &'t mut Self::Txn<'db>) -> Option<impl OwnWrites<'t, 'db, Self>> {
        None::<NoOwnWrites>
    }

    /// Reads a record: returns its value as this attempt sees it, `None` when it has none.
    fn read<'t, 'db>(
        &'db self,
        txn: &'t mut Self::Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t [u64]>, Abort>;

    /// Writes a record that has a value: returns the words to write, `None` when the record has no value. For a
    /// [`Write::Delta`], the words are what the attempt has added to the record so far, or zero, and are only added to.
    fn write<'t, 'db>(
        &'db self,
        txn: &'t mut Self::Txn<'db>,
        record: RecordRef<'db, Self>,
        how: Write,
    ) -> Result<Option<&'t mut [u64]>, Abort>;

    /// Gives a value to a record that has none: returns the words to write, `None` when the record has a value, which
    /// counts as read.
    fn insert<'t, 'db>(
        &'db self,
        txn: &'t mut Self::Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t mut [u64]>, Abort>;

    /// Takes a record's value away: returns `false` when the record has none.
    fn delete<'db>(&'db self, txn: &mut Self::Txn<'db>, record: RecordRef<'db, Self>) -> Result<bool, Abort>;

    /// The leaves that the attempt has read, for schemes that compare the gap versions of leaves when they commit:
    /// `read_gaps`, `added`, `split` and `confirm` then keep the set. `None` for other schemes, and for an attempt that
    /// reads a snapshot: a key that enters later leads to values that the snapshot does not show.
    #[inline]
    fn leaves<'t, 'db>(&'db self, _txn: &'t mut Self::Txn<'db>) -> Option<&'t mut LeafSet<'db, Self::Leaf>> {
        None
    }

    /// Called when the attempt has read a leaf: a range of its keys, or the absence of a key. The rows in the range
    /// follow as reads of their own. Called after the leaf was read and before its gaps are compared with what they
    /// were: a stamp set here covers everything that was not seen.
    #[inline]
    fn read_gaps<'db>(
        &'db self,
        txn: &mut Self::Txn<'db>,
        leaf: LeafRef<'db, Self::Leaf>,
    ) -> Result<(), Abort> {
        self.leaves(txn).map_or(Ok(()), |leaves| leaves.read(leaf))
    }

    /// Called when a key of this attempt is about to enter a gap of the leaf, under the leaf's latch. An error keeps
    /// the key out. Under [`InsertAt::Install`] the key will enter at the commit, and no latch is held.
    #[inline]
    fn adding<'db>(
        &'db self,
        _txn: &mut Self::Txn<'db>,
        _leaf: LeafRef<'db, Self::Leaf>,
    ) -> Result<(), Abort> {
        Ok(())
    }

    /// Makes a record that is about to be found under a new key of the leaf protect what the gap protected;
    /// [`retire`](Self::retire) does the reverse. Called under the leaf's latch, after [`adding`](Self::adding), for
    /// each record of the row. Other attempts may know the record by another key: it may have a value, if its secondary
    /// key changes. An error keeps the key out.
    fn entering(&self, _record: RecordRef<'_, Self>, _leaf: &Self::Leaf) -> Result<(), Abort> {
        Ok(())
    }

    /// Called when the key is in: the leaf's gap version was `before.seen()` and is now `after`. Under the leaf's
    /// latch.
    #[inline]
    fn added<'db>(&'db self, txn: &mut Self::Txn<'db>, before: LeafRef<'db, Self::Leaf>, after: u64) {
        if let Some(leaves) = self.leaves(txn) {
            leaves.added(before, after);
        }
    }

    /// Called when the attempt uses an entry that another attempt put into an index: it gives an absent key a value, or
    /// moves its row to a secondary key, and the entry was there, left by an attempt that aborted or by an earlier
    /// value of the row. The attempt does not know the leaf. Readers of the gap that looked before the entry was there
    /// may have left marks with the leaf, and none with the record. The default is for schemes whose readers of gaps
    /// leave their marks when they read, or compare gap versions when they commit.
    fn reusing<'db>(&'db self, _txn: &mut Self::Txn<'db>) {}

    /// Called when `into` was split off `from` to make room for a key of this attempt. The gap version of `from` was
    /// `from.seen()` and is now `after`. Under the latches of both leaves. The metadata of the leaf goes along without
    /// this hook.
    #[inline]
    fn split<'db>(
        &'db self,
        txn: &mut Self::Txn<'db>,
        from: LeafRef<'db, Self::Leaf>,
        after: u64,
        into: LeafRef<'db, Self::Leaf>,
    ) {
        if let Some(leaves) = self.leaves(txn) {
            leaves.split(from, after, into);
        }
    }

    /// Confirms that all reads of the attempt so far belong to one committed state. It may be called after each access.
    /// The default is for schemes under which records stay as they were read, and only gaps may change. It has nothing
    /// to check under schemes whose attempts [always see one state](Views::Consistent), and is not called under schemes
    /// that find out only [at the end](Views::Unconfirmed).
    fn confirm<'db>(&'db self, txn: &mut Self::Txn<'db>) -> Result<(), Abort> {
        self.leaves(txn).map_or(Ok(()), |leaves| leaves.confirm())
    }

    /// Decides whether the attempt may end as it asks: everything that can fail. Of two attempts that write the same
    /// record and commit, the second passes `precommit` after the first has installed the record, or the scheme has
    /// [`await_overwritten`](Self::await_overwritten).
    fn precommit<'db>(&'db self, txn: &mut Self::Txn<'db>, end: End) -> Result<(), Abort>;

    /// Waits until everything that the attempt overwrites is installed, under schemes in which a write need not wait
    /// for the one before it. Called after [`precommit`](Self::precommit) if a [sink](Sink) listens, which takes the
    /// order of writes from the order of commits.
    ///
    /// # Errors
    /// When it will not be installed, because the run is given up.
    #[inline]
    fn await_overwritten<'db>(&'db self, _txn: &mut Self::Txn<'db>) -> Result<(), Abort> {
        Ok(())
    }

    /// Makes the writes of an attempt that passed [`precommit`](Self::precommit) visible. Cannot fail.
    fn install<'db>(
        &'db self,
        txn: &mut Self::Txn<'db>,
        sink: &mut impl Sink,
        seen: &mut impl Observer,
    ) -> Stamp;

    /// Undoes an attempt that the scheme aborted during an access, that failed in `precommit`, or that rolled back.
    fn abort<'db>(&'db self, txn: &mut Self::Txn<'db>);

    /// The scheme's own observations since the database was made. Asked for once, when a run has ended. A scheme that
    /// has some makes them of [sampled](Ticket::is_sampled) transactions only, so that other attempts cost a branch.
    fn insight(&self) -> Insight {
        Insight::default()
    }

    /// Maintains epochs, watermarks and clocks. Called by each worker between attempts, now and then.
    fn maintain(&self, _worker: usize) {}

    /// Lets a record leave the indexes that was left without a value by a committed delete or an aborted insert. If no
    /// snapshot needs the record and no attempt is at work on it, the scheme marks it for attempts that still hold it,
    /// and makes `leaf` protect what the record protected. Called under the latch of its leaf: first for the leaf of
    /// the primary key, then, if the record is marked already, for the leaves of the row's other keys.
    fn retire(&self, record: RecordRef<'_, Self>, leaf: &Self::Leaf) -> Retire;

    /// A number that grows when rows which [`retire`](Self::retire) kept in the indexes may leave them: none of these
    /// rows is tried again before. `None` where another try pays as soon as the attempts of that time have ended.
    #[inline]
    fn watermark(&self) -> Option<u64> {
        None
    }

    /// Lets an entry of a secondary index leave whose key the last committed value of its row does not have, and which
    /// no attempt in progress gives to the row. If no snapshot shows a value with that key, the scheme makes `leaf`
    /// protect what finders of the entry learnt of the record. The record, of the column group with the key, stays, and
    /// goes on protecting the reads of it. Called under the leaf's latch.
    ///
    /// The default is for schemes in which an attempt that misses the entry serializes after the commit that took the
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

/// Hooks that [`driver::Batched`](crate::driver::Batched) requires in addition to those of [`Scheme`].
///
/// In a batch, all attempts execute, and those that want to commit reserve, before the first one goes through
/// `precommit` and `install` or `abort`. All have ended before the next batch begins. Where a scheme [falls
/// back](Self::falls_back), aborted transactions execute again in between.
pub trait Batching: Scheme {
    /// The maximum number of transactions in a batch.
    fn batch_max(&self) -> usize;

    /// Called before the first batch of a run. Waits until no attempt outside of batches is open, and keeps such
    /// attempts out until `close`.
    fn open(&self);

    /// Called when all attempts of the batch have executed and reserved, and the next batch follows. Called again when
    /// attempts have fallen back: they count as a batch, in which no attempt reserves.
    fn turn(&self);

    /// Whether transactions that aborted in a batch execute again before the next batch: when the commits of the batch
    /// are in the indexes, in the order of places, each attempt from its beginning to its end while no other is open.
    fn falls_back(&self) -> bool {
        false
    }

    /// Called when all attempts of the last batch of a run have ended.
    fn close(&self);

    /// Called after [`Scheme::adding`]: the attempt inserts a row whose primary key is missing from `leaf`. `key` is a
    /// hash of table and key, by which the scheme detects two inserts of one key. The insert need not conflict with
    /// anything else: the absence of the key is not reported as read.
    fn claim<'db>(
        &'db self,
        txn: &mut Self::Txn<'db>,
        leaf: LeafRef<'db, Self::Leaf>,
        key: u64,
    ) -> Result<(), Abort>;

    /// Publishes the attempt's reads and intended writes.
    fn reserve<'db>(&'db self, txn: &mut Self::Txn<'db>);
}

/// Hooks that [`driver::Planned`](crate::driver::Planned) requires in addition to those of [`Scheme`].
///
/// Each transaction of a batch is [rehearsed](Step::Rehearsal) while nothing changes or, if its input states what it
/// touches, that is [entered](Self::foresee) instead; the attempt is then [declared](Self::declare) and aborted. When
/// all transactions are declared, each worker [plans](Self::plan) its share. When all workers have planned, each
/// transaction is [prepared](Self::prepare), attempted as [planned](Step::Planned) and [released](Self::release), once
/// it [may run](Self::may_run). The first transaction that has not ended may always run. A planned attempt that the
/// scheme aborts is attempted [alone](Step::Alone), in the order of the batch; unless it [is to run
/// again](Self::is_to_run_again), which it does at once.
pub trait Planning: Scheme {
    /// Whether a worker executes its transactions in their order, because they may wait for each other while they run.
    const IN_ORDER: bool;
    /// The plans of a run's batches, one after the other.
    type Plan<'db>: Sync + Debug;

    /// The maximum number of transactions in a batch.
    fn batch_max(&self) -> usize;

    /// The maximum number of attempts that a worker has open at a time, each on a fiber: when one of them waits, the
    /// next transaction begins.
    fn open_max(&self) -> usize {
        1
    }

    /// Called before the first batch of a run; batches have at most `places` transactions. Waits until no attempt
    /// outside of batches is open, and keeps such attempts out until `close`.
    fn open(&self, places: usize, workers: usize) -> Self::Plan<'_>;

    /// Called when all attempts of the last batch of a run have ended, before the plan is dropped: once, before
    /// `close`.
    fn finish<'db>(&'db self, _plan: &Self::Plan<'db>) {}

    /// Called when all attempts of the last batch of a run have ended.
    fn close(&self);

    /// Called when a worker has panicked: workers that wait for it give up.
    fn abandon(&self) {}

    /// Called when the last batch has ended: the next plan is that of another batch. Transactions are rehearsed
    /// meanwhile.
    fn turn(&self);

    /// Enters the record that was found last into the footprint of a transaction whose input
    /// [states](crate::InputFootprint::complete) what it touches; `is_written` counts one write. The attempt is a
    /// [rehearsal](Step::Rehearsal), in which keys are announced by [`touch`](Self::touch) and misses by
    /// [`read_gaps`](Scheme::read_gaps), also where the execution will insert.
    fn foresee<'db>(
        &'db self,
        txn: &mut Self::Txn<'db>,
        record: RecordRef<'db, Self>,
        is_written: bool,
    ) -> Result<(), Abort>;

    /// Enters the footprint of the attempt, which `worker` has rehearsed or foreseen, into the plan.
    fn declare<'db>(&'db self, plan: &Self::Plan<'db>, txn: &mut Self::Txn<'db>, worker: usize);

    /// Does a worker's share of planning the batch, one of `workers` shares, with a pinned slot.
    fn plan<'db>(&'db self, plan: &Self::Plan<'db>, txn: &mut Self::Txn<'db>, worker: usize, workers: usize);

    /// Whether [`worker_of`](Self::worker_of) may name other workers than those of the clients.
    fn moves(&self) -> bool {
        false
    }

    /// The worker that executes the transaction at this place of the batch, from 0, whose client belongs to the worker
    /// `home`. Every caller gets the same answer, once the batch is planned.
    fn worker_of(_plan: &Self::Plan<'_>, _place: usize, home: usize) -> usize {
        home
    }

    /// Whether the transaction at this place of the batch, from 0, may run.
    fn may_run(plan: &Self::Plan<'_>, place: usize) -> bool;

    /// Gives an attempt the plan of the transaction at this place, which `worker` executes.
    fn prepare<'db>(plan: &Self::Plan<'db>, txn: &mut Self::Txn<'db>, place: usize, worker: usize);

    /// Whether the planned attempt that has just aborted did so because of other attempts, and is made again in its
    /// place with everything that was prepared for it.
    fn is_to_run_again(_txn: &Self::Txn<'_>) -> bool {
        false
    }

    /// Called when the last planned attempt of the transaction at this place has ended.
    fn release(plan: &Self::Plan<'_>, place: usize);

    /// Called before the attempt looks for, or changes, what `touch` says.
    fn touch<'db>(&'db self, txn: &mut Self::Txn<'db>, touch: Touch) -> Result<(), Abort>;

    /// Called when the procedure announces that it will not roll back from here on: see
    /// [`Transaction::decided`](crate::Transaction::decided). It may still roll back.
    #[inline]
    fn decided<'db>(&'db self, _txn: &mut Self::Txn<'db>) {}
}

/// Hooks that [`driver::PerPartition`](crate::driver::PerPartition) requires in addition to those of [`Scheme`].
pub trait Partitioned: Scheme {
    /// Called before the attempt looks for keys that live at home partitions `from` to `to`, or adds one: anything at a
    /// partition that the attempt does not hold may change, keys that are missing included.
    fn reach<'db>(&'db self, txn: &mut Self::Txn<'db>, from: u64, to: u64) -> Result<(), Abort>;
}

/// Draws a fresh, repeatable stream of random numbers for a slot, for example for backoff.
pub fn slot_rng(slot: usize) -> Rng {
    Rng::from_path(&[0x736c_6f74, slot as u64])
}
