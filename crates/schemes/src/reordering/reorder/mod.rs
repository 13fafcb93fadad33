//! `REORDER`: optimistic concurrency control by stages, with batches and a validator that chooses the order of
//! transactions (Ding, Kot, Gehrke, PVLDB 12(2), 2018).
//!
//! IDEA        Many transactions are open at a time, more than there are workers. Reads wait in batches before the
//!             storage, so that what was committed meanwhile is in place first. Requests to commit wait in batches
//!             before a central validator. In a batch, all have read the state before it, so whoever reads a record
//!             comes before all others that write it. Of the transactions on cycles of this relation a few abort; all
//!             others commit in an order that respects it, where a validator that takes them as they come would have
//!             aborted each one that read what an earlier one wrote.
//! RECORD      One word: bit 0 a write is being installed, bit 1 no value, bit 2 retired, bits 3..18 the number of
//!             commits that are about to give the record a value, bits 19.. the number of the commit that wrote it.
//! COMMIT      1. Claim what is to get a value: it does not leave the indexes meanwhile.
//!             2. Send the request: what was read, with numbers, and what is written. The validator compares, orders
//!                and decides: the serialization point.
//!             3. Wait until the writes before, of the same records, are in place.
//!             4. Install each value; the store of the new word unlocks.
//!             5. Report the commit as one whose writes are in place.
//! INVARIANTS  (1) The numbers of commits are a serial order, and agree with real time: an attempt begins after the
//!                 commits that it has heard of were decided.
//!             (2) An attempt that begins sees the writes of all commits up to a number. It is compared with all later
//!                 ones.
//!             (3) One commit at a time installs a write of a record, in the order of numbers. Nobody waits in a
//!                 circle: a commit that waits in step 3 waits for smaller numbers.
//!             (4) Keys stand in their leaf, and rows without a value are marked before they leave it, before the
//!                 request is sent of which that is a part. Stamps of gaps are looked at afterwards.
//! DEPARTURES  The paper's stages are threads with queues between them. Here they are work that the waiting session
//!             does which finds it due, so that a machine with few cores is not shared by threads that wait. A batch
//!             also ends when a worker has nothing else to do, which costs nobody any time. The paper's processors send
//!             all reads of a transaction at once; here the first read waits for a batch, and the others follow when
//!             that is served. Writes are not sent to the storage but installed by their sessions, at once, all of
//!             them. The paper's validator keeps each committed write until the next one of the record; this one
//!             forgets the oldest, and aborts an attempt that would need them. The standard method
//!             (`reorder.method=reduced`) is ours; `sorted` is the paper's, except that of two transactions that are in
//!             each other's way it keeps one. The paper gives no formula for the protection of retries; the one here is
//!             ours. The paper has no inserts, deletes and scans.

mod attempt;
mod batch_wait;
pub mod committed;
pub mod entry;
pub mod gap_stamps;
pub mod installs;
pub mod latest;
pub mod picture;
pub mod plants;
pub mod read_queues;
pub mod request;
pub mod settings;
pub mod stages;
#[cfg(all(test, feature = "tests", not(loom)))]
mod tests;
pub mod validator;

use engine::driver::PerWorker;
use engine::setting::SettingError;
use engine::{
    Abort, Admits, End, Env, Family, Info, Insight, Isolation, Observer, OwnWrites, Retire, Scheme, Sink,
    Stamp, Ticket, Write,
};
use orders::TxnFacts;
use parts::{Buffered, Buffers, LockBits};
use storage::{InPlace, LeafRef, Meta, RecordRef, Shape, Slot};
use sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
use sync::plant::is_planted;
use sync::{Padded, clock, waiter};

use self::attempt::{Note, Touched};
use self::read_queues::ReadQueues;
use self::settings::{Method, Settings};
use self::stages::{Stage, StageSums};
use self::validator::Validator;

pub use self::attempt::Txn;

/// The maximum size of a batch for the exact method.
const EXACT_MAX: usize = 64;
/// The time that an attempt waits for others to end where too many are open.
const ADMISSION_NS: u64 = 100_000_000;

const INSTALLING: u64 = 1;
const NO_VALUE: u64 = 2;
const RETIRED: u64 = 4;
const LOCK: LockBits = LockBits { locked: INSTALLING, retired: RETIRED };
/// One claim.
const CLAIM: u64 = 8;
/// The number of the commit begins at this bit.
const NUMBER: u32 = 19;
const CLAIMS: u64 = (1 << NUMBER) - CLAIM;
/// A record that is claimed does not leave the indexes, as if it were locked.
const HELD: LockBits = LockBits { locked: INSTALLING | CLAIMS, retired: RETIRED };

/// The state that all transactions share.
#[derive(Debug)]
pub struct Reorder {
    validator: Validator,
    storage: ReadQueues,
    /// The number of open transactions, and its limit.
    live: Padded<AtomicUsize>,
    live_max: usize,
    /// The time of sampled transactions by stage.
    stages: StageSums,
}

/// A record's word.
#[derive(Debug)]
pub struct Header(AtomicU64);

impl Default for Header {
    fn default() -> Self {
        Self(AtomicU64::new(NO_VALUE))
    }
}

impl Meta for Header {
    fn reset(&self) {
        self.0.store(NO_VALUE, Ordering::Relaxed); // Relaxed: publishing the record orders it.
    }
}

impl Shape for Reorder {
    type Header = Header;
    type Version = ();
    type Leaf = ();
    type Data = InPlace;
}

impl Scheme for Reorder {
    const INFO: Info = Info {
        name: "reorder",
        title: "OCC with batches and reordering",
        paper: "Ding, Kot, Gehrke: Improving optimistic concurrency control through transaction batching and \
                operation reordering, PVLDB 2018",
        family: Family::Reordering,
        isolation: Isolation::StrictlySerializable,
        workers: Admits::Any,
        views: engine::Views::Confirmed,
        idea: "gathers reads and requests to commit in batches, and commits each batch in an order in which most can",
    };
    type Settings = Settings;
    const SERIAL_STAMPS: bool = true;
    type Driver = PerWorker;
    type Txn<'db> = Txn<'db>;

    fn new(settings: &Settings, env: Env) -> Result<Self, SettingError> {
        if settings.method == Method::Exact && settings.validator_batch > EXACT_MAX {
            return Err(SettingError(format!(
                "reorder.method=exact is for batches of up to {EXACT_MAX} transactions: set \
                 reorder.validator_batch to {EXACT_MAX} or less"
            )));
        }
        Ok(Self {
            validator: Validator::new(settings, env.slots),
            storage: ReadQueues::new(settings),
            live: Padded::default(),
            live_max: settings.live,
            stages: StageSums::default(),
        })
    }

    fn attach<'db>(&'db self, slot: Slot<'db, Self>) -> Txn<'db> {
        Txn::new(slot)
    }

    #[inline]
    fn slot<'t, 'db>(&'db self, txn: &'t mut Txn<'db>) -> &'t mut Slot<'db, Self> {
        &mut txn.slot
    }

    fn loaded(&self, record: RecordRef<'_, Self>) {
        record.header().0.store(0, Ordering::Relaxed); // Relaxed: publishing the record orders it.
    }

    #[inline]
    fn await_others<'db>(&'db self, txn: &mut Txn<'db>, ticket: &Ticket) {
        txn.clock.begin(ticket);
        if self.is_full() {
            waiter::wait_until(Some(clock::now_ns() + ADMISSION_NS), || !self.is_full());
        }
    }

    #[inline]
    fn begin<'db>(&'db self, txn: &mut Txn<'db>, ticket: &Ticket) -> Result<(), Abort> {
        txn.kept = if ticket.retries > 0 && is_planted(&plants::REORDER_KEEPS_OLD_READS) {
            txn.touched.len()
        } else {
            txn.touched.clear();
            0
        };
        txn.writes.clear();
        txn.gaps.clear();
        txn.entered.clear();
        txn.has_waited = false;
        if self.is_full() {
            return Err(Abort::Full);
        }
        self.live.fetch_add(1, Ordering::Relaxed); // Relaxed, here and below: a count.
        txn.is_live = true;
        txn.request.facts =
            TxnFacts { retries: ticket.retries, value: self.validator.values.of(ticket.kind) };
        txn.request.is_sampled = ticket.is_sampled;
        txn.request.start = self.validator.start();
        txn.clock.enter(Stage::Processing);
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
        self.stand(txn, record);
        let copy = txn.copy.room(record.width());
        let word = copy_stable(record, Some(copy))?;
        self.touch(txn, record, word, true)?;
        txn.clock.enter(Stage::Processing);
        Ok((word & NO_VALUE == 0).then(|| &*txn.copy.room(record.width())))
    }

    #[inline]
    fn write<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
        how: Write,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        let is_read = how == Write::Modify;
        if is_read {
            self.stand(txn, record);
        }
        let value = txn.writes.room(record);
        let word = copy_stable(record, is_read.then(|| txn.writes.room_mut(value)))?;
        self.touch(txn, record, word, is_read)?;
        txn.clock.enter(Stage::Processing);
        let has_value = word & NO_VALUE == 0;
        Ok(if has_value { txn.writes.push(record, Some(value), Note::of(word)) } else { None })
    }

    #[inline]
    fn insert<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        let word = copy_stable(record, None)?;
        self.touch(txn, record, word, true)?;
        if word & NO_VALUE == 0 {
            return Ok(None);
        }
        let value = txn.writes.room(record);
        Ok(txn.writes.push(record, Some(value), Note::of(word)))
    }

    #[inline]
    fn delete<'db>(&'db self, txn: &mut Txn<'db>, record: RecordRef<'db, Self>) -> Result<bool, Abort> {
        let word = copy_stable(record, None)?;
        self.touch(txn, record, word, false)?;
        let has_value = word & NO_VALUE == 0;
        if has_value {
            txn.writes.push(record, None, Note::of(word));
        }
        Ok(has_value)
    }

    #[inline]
    fn read_gaps<'db>(&'db self, txn: &mut Txn<'db>, leaf: LeafRef<'db, ()>) -> Result<(), Abort> {
        self.note_gap(txn, leaf.id());
        // A key that entered after the leaf was read, and before the stamp was, has a stamp that counts as seen. The
        // Acquire of the stamp orders the look at the leaf after it.
        let is_as_read = leaf.gap_version() == leaf.seen() || is_planted(&plants::REORDER_STAMPS_LATE);
        if is_as_read { Ok(()) } else { Err(Abort::Phantom) }
    }

    #[inline]
    fn added<'db>(&'db self, txn: &mut Txn<'db>, before: LeafRef<'db, ()>, _: u64) {
        let gap = self.validator.gaps.enter(before.id());
        txn.entered.push(gap);
        txn.changed_gap(gap);
    }

    fn reusing<'db>(&'db self, txn: &mut Txn<'db>) {
        if self.validator.gaps.reuse() == txn.request.reused {
            txn.request.reused += 1;
        }
    }

    #[inline]
    fn split<'db>(&'db self, txn: &mut Txn<'db>, from: LeafRef<'db, ()>, _: u64, into: LeafRef<'db, ()>) {
        if txn.changed_gap(self.validator.gaps.force(from.id())) {
            self.note_gap(txn, into.id());
        }
    }

    fn confirm<'db>(&'db self, txn: &mut Txn<'db>) -> Result<(), Abort> {
        txn.make_request(End::Rollback);
        self.validator.confirm(&txn.request)
    }

    // ANCHOR: commit
    #[inline]
    fn precommit<'db>(&'db self, txn: &mut Txn<'db>, end: End) -> Result<(), Abort> {
        if end == End::Commit {
            txn.claim()?; // 1
        }
        txn.make_request(end);
        txn.clock.enter(Stage::InValidator);
        let decided = self.validator.decide(txn.slot.id(), &mut txn.request); // 2
        txn.clock.decided(txn.request.ordering, txn.request.validation);
        txn.number = decided?;
        if !is_planted(&plants::REORDER_INSTALLS_AS_THEY_COME) {
            txn.await_writes_before(); // 3
        }
        txn.clock.enter(Stage::Installation);
        Ok(())
    }
    // ANCHOR_END: commit

    #[inline]
    fn install<'db>(&'db self, txn: &mut Txn<'db>, sink: &mut impl Sink, seen: &mut impl Observer) -> Stamp {
        let stamp = Stamp(txn.number);
        for at in 0..txn.writes.len() {
            let word_of = |record: RecordRef<'db, Self>| &record.header().0;
            let record = txn.writes.record(at);
            // Relaxed: the fence orders it.
            let before = word_of(record).fetch_or(INSTALLING, Ordering::Relaxed);
            // Release fence: pairs with the Acquire fence in `LockBits::copy_stable`, so that a copy which saw a store
            // from below sees the bit.
            fence(Ordering::Release);
            let has_value = |_: &Buffered<'_, _, Note>| before & NO_VALUE == 0;
            let (_, value) = txn.writes.ready(at, has_value, stamp, sink, seen);
            let status = if value.is_none() { NO_VALUE } else { 0 };
            if let Some(value) = value {
                record.store(value);
            }
            let own = if txn.writes.note(at).is_claimed { CLAIM } else { 0 };
            // Release: pairs with the Acquire in `LockBits::copy_stable` and of those who wait for the number. Claims
            // come and go meanwhile. Relaxed at first: checked by the exchange. 4
            let installed = |now: u64| Some((txn.number << NUMBER) | status | ((now & CLAIMS) - own));
            _ = word_of(record).fetch_update(Ordering::Release, Ordering::Relaxed, installed);
        }
        if !txn.writes.is_empty() {
            self.validator.installs.finish(txn.number); // 5
        }
        self.end(txn);
        stamp
    }

    #[inline]
    fn abort<'db>(&'db self, txn: &mut Txn<'db>) {
        txn.give_up_claims();
        self.end(txn);
    }

    fn insight(&self) -> Insight {
        Insight { stages: self.stages.times(), batch: self.validator.picture.taken() }
    }

    fn retire(&self, record: RecordRef<'_, Self>, (): &()) -> Retire {
        let bits = if is_planted(&plants::REORDER_RETIRES_CLAIMED) { LOCK } else { HELD };
        let retired = bits.retire(&record.header().0, NO_VALUE);
        if retired == Retire::Done {
            self.validator.gaps.force(record.id());
        }
        retired
    }

    fn latest<'b, 'db>(&'db self, txn: &'b mut Txn<'db>, record: RecordRef<'db, Self>) -> Option<&'b [u64]> {
        let copy = txn.copy.room(record.width());
        let word = copy_stable(record, Some(copy)).ok()?;
        (word & NO_VALUE == 0).then_some(copy)
    }
}

impl Buffers<Note> for Reorder {}

/// The word of a record in which nothing is being installed, and its value as of that word.
#[inline(always)]
fn copy_stable(record: RecordRef<'_, Reorder>, copy: Option<&mut [u64]>) -> Result<u64, Abort> {
    LOCK.copy_stable(record, &record.header().0, NO_VALUE, copy)
}

impl Reorder {
    /// Whether no more attempts may begin.
    #[inline]
    fn is_full(&self) -> bool {
        self.live.load(Ordering::Relaxed) >= self.live_max // Relaxed: a count.
    }

    /// Waits until a record may be read.
    #[inline]
    fn stand(&self, txn: &mut Txn<'_>, record: RecordRef<'_, Self>) {
        txn.clock.enter(Stage::InStorage);
        self.storage.stand(record.id(), &self.validator, &mut txn.has_waited);
        txn.clock.enter(Stage::Reading);
    }

    /// The attempt counts among the open ones no more.
    #[inline]
    fn end(&self, txn: &mut Txn<'_>) {
        txn.clock.end(&self.stages);
        if core::mem::take(&mut txn.is_live) {
            self.live.fetch_sub(1, Ordering::Relaxed); // Relaxed: a count.
        }
    }

    /// Notes that the gaps of a leaf, or the record in place of one, are read. Of several stamps the earliest counts.
    #[inline]
    fn note_gap(&self, txn: &mut Txn<'_>, id: usize) {
        let gaps = &self.validator.gaps;
        if txn.gaps.is_empty() {
            txn.request.reused = gaps.reused();
        }
        let gap = gaps.of(id);
        if txn.gaps.find(gap.place).is_none() {
            txn.gaps.push(gap.place, gap);
        }
    }

    /// Notes that a record was seen with this word.
    #[inline]
    fn touch(
        &self,
        txn: &mut Txn<'_>,
        record: RecordRef<'_, Self>,
        word: u64,
        is_read: bool,
    ) -> Result<(), Abort> {
        let is_missing = word & NO_VALUE != 0;
        let is_read = is_read || is_missing;
        if let Some(known) = txn.touched.find(record.id()) {
            let touched = txn.touched.get_mut(known);
            if known >= txn.kept && touched.seen != word >> NUMBER {
                return Err(Abort::ReadChanged);
            }
            touched.is_read |= is_read;
        } else {
            txn.touched.push(record.id(), Touched { id: record.id(), seen: word >> NUMBER, is_read });
        }
        if is_missing && !is_planted(&plants::REORDER_TRUSTS_MISSES) {
            self.note_gap(txn, record.id());
            // A record that is not marked now is marked after the stamp was seen, if it is.
            // Relaxed: the Acquire of the stamp orders it.
            if record.header().0.load(Ordering::Relaxed) & RETIRED != 0 {
                return Err(Abort::ReadChanged);
            }
        }
        Ok(())
    }
}
