//! Aria: deterministic batches on a snapshot, decided by reservations (Lu, Yu, Cao, Madden, PVLDB 13(12),
//! 2020).
//!
//! IDEA        All transactions of a batch execute on the same snapshot, the state that the last batch left, and
//!             buffer their writes. Each then reserves its reads and its writes; of several reservations, the
//!             smallest number in the batch wins. From the reservations alone each decides whether it commits:
//!             the outcome is a function of the batch, whichever worker executes it and when. Transactions that
//!             abort execute again, one after the other, when the others have committed. Without this fallback
//!             they come first in the next batch, of which the first always commits.
//! RECORD      One word: bits 0..14 smallest number of a writer, bits 14..28 smallest number of a reader, bit
//!             28 has a value, bits 29.. the batch in which both were reserved; those of an earlier batch count
//!             as none. A leaf has such a word for its gaps, whose writers are the inserts into it; and
//!             keys that are inserted have one each in a table of fixed size, found by hash.
//! COMMIT      1. Reserve every record and gap that was read, and every record, gap and new key that is written.
//!                An attempt that wrote nothing, or rolled back, reserves nothing: it comes before the batch.
//!             2. When all have reserved, decide. WAW: a smaller number writes the same record or inserts the
//!                same key. RAW: a smaller number writes what this attempt read. WAR: a smaller number read what
//!                this attempt writes. Commit unless WAW or RAW; with reordering, unless WAW or both RAW and
//!                WAR.
//!             3. Install the values. Entries of indexes follow when all have installed.
//!             4. Fall back: in the order of their numbers, the aborted transactions execute alone, each on the
//!                state that the one before left, entries of indexes included. They count as a batch in which
//!                nobody reserves, so all commit.
//! INVARIANTS  (1) While a batch executes nobody writes a value or changes an index, and while an attempt is
//!                 alone nobody else is open: the driver's barriers, or the gate (`begin`), see to it. So reads
//!                 need no validation, and every ordering may be Relaxed: barriers and gate order whatever one
//!                 step leaves to another.
//!             (2) Of the committed writers of a record, or inserters of a key, there is one in a batch
//!                 (asserted in `install`: the smallest number has it).
//!             (3) Some serial order of the committed transactions agrees with all their reads. A transaction
//!                 that read what another wrote must come before the writer. In a cycle of such demands the
//!                 largest number would have a smaller one before it, its WAR, and a smaller one after it, its
//!                 RAW. Transactions that fall back come after all of these, in the order in which they execute.
//!             (4) An attempt of a batch has a number from 1, and the batch a number that never returns.
//!                 Transactions that fall back have another batch's number, so that no reservation stands in
//!                 their way.
//! DEPARTURES  The original has no ranges. Here a scan, or a search that misses, reads the gaps of the leaves it meets,
//!             and an insert writes the gap that it enters. That counts for RAW and WAR and not for WAW, because
//!             inserts of different keys commute; the table of keys finds equal ones, and may take different keys for
//!             equal only if both enter the same leaf. A delete is a write of its record: an attempt that saw the key
//!             has read the record. A record that an update reads is reserved as written only, since WAW decides. The
//!             original falls back to locks, which are granted in the order of the batch for the keys that each
//!             transaction touched before; a transaction that touches another key aborts again. Here one lock serves
//!             all: transactions that aborted together mostly want the same records. A transaction alone may touch any
//!             record, so that it commits, and it finds every key in the indexes that was inserted before it. The price
//!             is the cores that would not have waited. Changes of indexes are made an index at a time, by one worker
//!             each, in the order of keys, so that leaves have the same shape for any number of workers; the paper
//!             has no such step. An attempt outside of a batch is a batch of its own, and
//!             excludes others. Leaves are decided by their shape, which depends on the order in which rows were
//!             loaded: the outcome is the same for any number of workers if there was one loader and `aria.batch` is
//!             given. Where clients hear of no commit before all of its batch have decided, as from the engine's
//!             driver, the order also agrees with real time.

pub mod entry;
pub mod plants;
#[cfg(all(test, feature = "tests", not(loom)))]
mod tests;

use engine::driver::Batched;
use engine::setting::{Range, SettingError};
use engine::{
    Abort, Admits, Batching, End, Env, Facts, Family, Info, Isolation, Observer, OwnWrites, Retire, Scheme,
    Sink, Stamp, Ticket, Write, settings,
};
use parts::{BatchSize, Buffered, BufferedWrites, Buffers, CopyBuffer, Gate, StandardSize, WordRange};
use storage::{InPlace, LeafMeta, LeafRef, Meta, RecordRef, Shape, Slot, places_beside};
use sync::Padded;
use sync::atomic::{AtomicU64, Ordering};
use sync::plant::is_planted;

/// The standard number of transactions in a batch.
const BATCH: StandardSize = StandardSize { each: 4, least: 16 };

settings! {
    /// The settings of the scheme.
    pub struct Settings of "aria" {
        /// Transactions of a batch, and 0 for 16 of up to four workers and four for each further one: large ones meet
        /// less often, and pay where conflicts are rare.
        batch: usize {
            default: "0",
            range: Range::Int(0, 10_000),
            unit: "transactions",
            stresses: "conflicts within a batch, latency, and the caches that hold a batch's read and write sets",
        },
        /// Whether a transaction that read what a smaller number writes may come before it; pays where reads and writes
        /// conflict.
        reordering: bool {
            default: "true",
            range: Range::Switch,
            stresses: "aborts of transactions that read more than they write",
        },
        /// `on` executes what aborted again within its batch, one transaction after the other, so that every
        /// transaction of a batch ends with it; `off` puts it first in the next batch. Pays under contention.
        fallback: bool {
            default: "on",
            stresses: "the part of a batch in which one worker at a time executes",
        },
    }
}

const NUMBER_BITS: u32 = 14;
const NUMBER_MAX: u64 = (1 << NUMBER_BITS) - 1;
const HAS_VALUE: u64 = 1 << (2 * NUMBER_BITS);
const BATCH_SHIFT: u32 = 2 * NUMBER_BITS + 1;
/// The number of batches that have numbers: at a hundred thousand a second, enough for four days.
const BATCH_MAX: u64 = u64::MAX >> BATCH_SHIFT;
/// Words in the table of inserted keys. Half a megabyte: it should stay in a cache.
const KEYS: usize = 1 << 16;

/// The state that all transactions share.
#[derive(Debug)]
pub struct Aria {
    batch_max: usize,
    reorders: bool,
    falls_back: bool,
    /// The present batch.
    batch: Padded<AtomicU64>,
    /// Held by a run, or by an attempt outside of one.
    gate: Gate,
    keys: Box<[Reservation]>,
}

/// A word with the smallest numbers of readers and writers: of a record, of a leaf's gaps, or of a new key.
#[derive(Debug, Default)]
pub struct Reservation(AtomicU64);

type Gaps<'db> = LeafRef<'db, Reservation>;

/// A role in a reservation: it selects one of the two numbers, by its place in the word.
#[derive(Clone, Copy)]
#[repr(u32)]
enum Role {
    Writer = 0,
    Reader = NUMBER_BITS,
}

/// The identity of an attempt in reservations.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    batch: u64,
    number: u64,
}

impl Reservation {
    // ANCHOR: word
    #[inline]
    fn reserve(&self, place: Place, role: Role) {
        // Relaxed: invariant (1).
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            let is_current = word >> BATCH_SHIFT == place.batch;
            let current = if is_current { word } else { place.batch << BATCH_SHIFT | word & HAS_VALUE };
            let holder = current >> role as u32 & NUMBER_MAX;
            if holder != 0 && holder <= place.number {
                return;
            }
            let new = current & !(NUMBER_MAX << role as u32) | place.number << role as u32;
            match self.0.compare_exchange_weak(word, new, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return,
                Err(other) => word = other,
            }
        }
    }
    // ANCHOR_END: word

    /// Whether a smaller number has reserved the word in this role.
    #[inline]
    fn precedes(&self, place: Place, role: Role) -> bool {
        let word = self.0.load(Ordering::Relaxed); // Relaxed: invariant (1).
        let holder = word >> role as u32 & NUMBER_MAX;
        word >> BATCH_SHIFT == place.batch && holder != 0 && holder < place.number
    }

    #[inline]
    fn has_value(&self) -> bool {
        self.0.load(Ordering::Relaxed) & HAS_VALUE != 0 // Relaxed: invariant (1).
    }
}

impl Meta for Reservation {
    fn reset(&self) {
        self.0.store(0, Ordering::Relaxed); // Relaxed: publishing the record, or the leaf's latch, orders it.
    }
}

impl LeafMeta for Reservation {
    type Places<T: Default + Send + Sync> = [T; places_beside(size_of::<Reservation>())];

    /// Leaves change between batches, when the reservations of the last batch mean nothing any more.
    fn carry(&self, _: &Self) {}
}

/// An attempt's private state.
#[derive(Debug)]
pub struct Txn<'db> {
    slot: Slot<'db, Aria>,
    place: Place,
    /// Whether the attempt holds the gate.
    is_alone: bool,
    /// Whether the procedure writes nothing: then its reads need not be known.
    is_read_only: bool,
    reads: Vec<RecordRef<'db, Aria>>,
    writes: BufferedWrites<'db, Aria>,
    gaps_read: Vec<Gaps<'db>>,
    gaps_entered: Vec<Gaps<'db>>,
    /// New keys, by their words in the table, and the leaves that they enter.
    keys: Vec<(usize, Gaps<'db>)>,
    /// The copy that the last read lent.
    copy: CopyBuffer,
}

impl Shape for Aria {
    type Header = Reservation;
    type Version = ();
    type Leaf = Reservation;
    type Data = InPlace;
}

impl Scheme for Aria {
    const INFO: Info = Info {
        name: "aria",
        title: "Aria",
        paper: "Lu, Yu, Cao, Madden: Aria: a fast and practical deterministic OLTP database, PVLDB 13(12), 2020",
        family: Family::Batched,
        isolation: Isolation::Serializable,
        workers: Admits::Any,
        views: engine::Views::Unconfirmed,
        idea: "executes batches on a snapshot, and lets the smallest number that reserved a record have it",
    };
    type Settings = Settings;
    type Driver = Batched;
    type Txn<'db> = Txn<'db>;

    fn new(settings: &Settings, env: Env) -> Result<Self, SettingError> {
        Ok(Self {
            batch_max: BatchSize::new(settings.batch, BATCH).of(env.workers),
            reorders: settings.reordering,
            falls_back: settings.fallback,
            batch: Padded::default(),
            gate: Gate::default(),
            keys: (0..KEYS).map(|_| Reservation::default()).collect(),
        })
    }

    fn facts(settings: &Settings) -> Facts {
        BatchSize::new(settings.batch, BATCH).facts(&Self::INFO)
    }

    fn attach<'db>(&'db self, slot: Slot<'db, Self>) -> Txn<'db> {
        Txn {
            writes: BufferedWrites::new(&slot),
            slot,
            place: Place::default(),
            is_alone: false,
            is_read_only: false,
            reads: Vec::new(),
            gaps_read: Vec::new(),
            gaps_entered: Vec::new(),
            keys: Vec::new(),
            copy: CopyBuffer::default(),
        }
    }

    #[inline]
    fn slot<'t, 'db>(&'db self, txn: &'t mut Txn<'db>) -> &'t mut Slot<'db, Self> {
        &mut txn.slot
    }

    fn loaded(&self, record: RecordRef<'_, Self>) {
        record.header().0.store(HAS_VALUE, Ordering::Relaxed); // Relaxed: publishing the record orders it.
    }

    #[inline]
    fn begin<'db>(&'db self, txn: &mut Txn<'db>, ticket: &Ticket) -> Result<(), Abort> {
        txn.reads.clear();
        txn.writes.clear();
        txn.gaps_read.clear();
        txn.gaps_entered.clear();
        txn.keys.clear();
        txn.is_read_only = ticket.read_only;
        if ticket.sequence == 0 {
            if !self.gate.try_enter() {
                return Err(Abort::LockBusy);
            }
            txn.is_alone = true;
            self.turn();
        }
        // Relaxed: invariant (1).
        let batch = self.batch.load(Ordering::Relaxed);
        txn.place = Place { batch, number: ticket.sequence.max(1) };
        // Invariant (4).
        assert!(batch <= BATCH_MAX && txn.place.number <= NUMBER_MAX, "batches and places have numbers");
        Ok(())
    }

    #[inline]
    fn own_writes<'t, 'db>(&'db self, txn: &'t mut Txn<'db>) -> Option<impl OwnWrites<'t, 'db, Self>> {
        Some(&mut txn.writes)
    }

    #[inline]
    fn read<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t [u64]>, Abort> {
        if !txn.observe(record) {
            return Ok(None);
        }
        let copy = txn.copy.room(record.width());
        record.load(copy);
        Ok(Some(copy))
    }

    #[inline]
    fn write<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
        how: Write,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        if !record.header().has_value() {
            txn.observe(record);
            return Ok(None);
        }
        let value = txn.writes.room(record);
        if how == Write::Modify {
            record.load(txn.writes.room_mut(value));
        }
        Ok(txn.set(record, Some(value)))
    }

    #[inline]
    fn insert<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        if record.header().has_value() {
            txn.observe(record);
            return Ok(None);
        }
        let value = txn.writes.room(record);
        Ok(txn.set(record, Some(value)))
    }

    #[inline]
    fn delete<'db>(&'db self, txn: &mut Txn<'db>, record: RecordRef<'db, Self>) -> Result<bool, Abort> {
        let is_there = record.header().has_value();
        if is_there {
            txn.set(record, None);
        } else {
            txn.observe(record);
        }
        Ok(is_there)
    }

    #[inline]
    fn read_gaps<'db>(&'db self, txn: &mut Txn<'db>, leaf: Gaps<'db>) -> Result<(), Abort> {
        if !txn.is_read_only {
            txn.gaps_read.push(leaf);
        }
        Ok(())
    }

    #[inline]
    fn adding<'db>(&'db self, txn: &mut Txn<'db>, leaf: Gaps<'db>) -> Result<(), Abort> {
        txn.gaps_entered.push(leaf);
        Ok(())
    }

    #[inline]
    fn precommit<'db>(&'db self, txn: &mut Txn<'db>, end: End) -> Result<(), Abort> {
        // A rollback needs no confirmation: the snapshot is consistent.
        let may = end == End::Rollback || txn.is_alone || txn.writes.is_empty() || self.decide(txn);
        if may { Ok(()) } else { Err(Abort::Reserved) }
    }

    #[inline]
    fn install<'db>(&'db self, txn: &mut Txn<'db>, sink: &mut impl Sink, seen: &mut impl Observer) -> Stamp {
        let Place { batch, number } = txn.place;
        let stamp = Stamp(batch << NUMBER_BITS | number);
        for at in 0..txn.writes.len() {
            let has_value = |write: &Buffered<'db, Self, ()>| write.record.header().has_value();
            let (record, value) = txn.writes.ready(at, has_value, stamp, sink, seen);
            let word = record.header();
            // Invariant (2).
            assert!(txn.is_alone || !word.precedes(txn.place, Role::Writer), "one commit writes a record");
            if let Some(value) = value {
                record.store(value);
            }
            if value.is_some() != word.has_value() {
                // Relaxed: invariants (1) and (2).
                word.0.fetch_xor(HAS_VALUE, Ordering::Relaxed);
            }
        }
        self.leave(txn);
        stamp
    }

    #[inline]
    fn abort<'db>(&'db self, txn: &mut Txn<'db>) {
        self.leave(txn);
    }

    fn retire(&self, record: RecordRef<'_, Self>, _: &Reservation) -> Retire {
        if record.header().has_value() { Retire::Alive } else { Retire::Done }
    }

    fn latest<'b, 'db>(&'db self, txn: &'b mut Txn<'db>, record: RecordRef<'db, Self>) -> Option<&'b [u64]> {
        let copy = txn.copy.room(record.width());
        record.load(copy);
        record.header().has_value().then_some(copy)
    }
}

impl Buffers<()> for Aria {}

impl Batching for Aria {
    fn batch_max(&self) -> usize {
        self.batch_max
    }

    fn open(&self) {
        self.gate.enter();
        self.turn();
    }

    fn falls_back(&self) -> bool {
        self.falls_back
    }

    fn turn(&self) {
        // Relaxed, and no read-modify-write: invariant (1); one worker turns, or the holder of the gate.
        self.batch.store(self.batch.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    fn close(&self) {
        self.gate.leave();
    }

    // ANCHOR: reserve
    /// Step 1 of COMMIT.
    #[inline]
    fn reserve<'db>(&'db self, txn: &mut Txn<'db>) {
        if txn.writes.is_empty() {
            return;
        }
        let reads = txn.words_read().filter(|_| !is_planted(&plants::ARIA_RESERVES_NO_READS));
        for word in reads {
            word.reserve(txn.place, Role::Reader);
        }
        let keys = txn.keys.iter().map(|(key, _)| &self.keys[*key]);
        for word in txn.words_written().chain(keys) {
            word.reserve(txn.place, Role::Writer);
        }
    }
    // ANCHOR_END: reserve

    #[inline]
    fn claim<'db>(&'db self, txn: &mut Txn<'db>, leaf: Gaps<'db>, key: u64) -> Result<(), Abort> {
        txn.keys.push((key as usize % KEYS, leaf));
        Ok(())
    }
}

impl Aria {
    /// Gives the gate back if the attempt has it.
    #[inline]
    fn leave(&self, txn: &mut Txn<'_>) {
        if core::mem::take(&mut txn.is_alone) {
            self.gate.leave();
        }
    }

    // ANCHOR: decide
    /// Step 2 of COMMIT: whether the attempt commits.
    #[inline]
    fn decide(&self, txn: &Txn<'_>) -> bool {
        let precedes = |role| move |word: &Reservation| word.precedes(txn.place, role);
        let same_key = |&(key, leaf): &(usize, Gaps<'_>)| {
            self.keys[key].precedes(txn.place, Role::Writer) && leaf.meta().precedes(txn.place, Role::Writer)
        };
        let waw = || txn.records_written().any(precedes(Role::Writer)) || txn.keys.iter().any(same_key);
        let raw = || txn.words_read().any(precedes(Role::Writer));
        let war = || txn.words_written().any(precedes(Role::Reader));
        let [skips_waw, skips_raw] = [&plants::ARIA_SKIPS_WAW, &plants::ARIA_SKIPS_RAW].map(is_planted);
        (skips_waw || !waw()) && (skips_raw || !(raw() && (!self.reorders || war())))
    }
    // ANCHOR_END: decide
}

impl<'db> Txn<'db> {
    /// The words of the records and gaps read.
    #[inline]
    fn words_read(&self) -> impl Iterator<Item = &'db Reservation> {
        let records = self.reads.iter().map(|record| record.header());
        let gaps = self.gaps_read.iter().filter(|_| !is_planted(&plants::ARIA_FORGETS_GAPS_READ));
        records.chain(gaps.map(LeafRef::meta))
    }

    /// The words of the records written.
    #[inline]
    fn records_written(&self) -> impl Iterator<Item = &'db Reservation> {
        self.writes.iter().map(|write| write.record.header())
    }

    /// The words of the records written, and of the gaps that new keys enter.
    #[inline]
    fn words_written(&self) -> impl Iterator<Item = &'db Reservation> {
        self.records_written().chain(self.gaps_entered.iter().map(LeafRef::meta))
    }

    /// Reads whether a record has a value.
    #[inline]
    fn observe(&mut self, record: RecordRef<'db, Aria>) -> bool {
        if !self.is_read_only {
            self.reads.push(record);
        }
        record.header().has_value()
    }

    /// Puts a record that is not in the write set into it. Returns the words of its value, if it is to have one.
    #[inline]
    fn set(&mut self, record: RecordRef<'db, Aria>, value: Option<WordRange>) -> Option<&mut [u64]> {
        assert!(!self.is_read_only, "a procedure that writes nothing wrote");
        self.writes.push(record, value, ())
    }
}
