//! Hekaton: optimistic multi-version concurrency control with commit dependencies (Larson, Blanas, Diaconu, Freedman,
//! Patel, Zwilling, PVLDB 2011: its scheme MV/O).
//!
//! IDEA        An attempt reads the database as of its begin. It writes by putting an undecided version on the end of
//!             the chain, which nobody else may do before it is decided. To commit it draws its end number and
//!             validates: what it read must also be what is there as of the end. Meanwhile its versions are known to
//!             have that number if it commits. So an attempt that began later reads them at once, and makes its own
//!             commit depend on that one: it waits for that validation at its own end, and not when it reads.
//! RECORD      `ChainHead`: only whether the record is retired. `VersionStamp`: while undecided, the slot of the
//!             writer; then that the writer draws its end number; then that number, as not yet certain; then the
//!             number, or that the writer has failed.
//! COMMIT      1. Mark every version: the number will be drawn after this.
//!             2. Draw the end number: the serialization point.
//!             3. Give up the versions before each written one that nobody needs; seal the version and give it the
//!                number, as not yet certain.
//!             4. Validate: of each record that was read, the version that is visible at the end is the one that was
//!                seen; each leaf has its gap version. An attempt that writes nothing took effect at its begin, where
//!                all that it has seen was there together.
//!             5. Wait for the commits on which this commit depends.
//!             6. Make the numbers certain.
//! INVARIANTS  (1) An attempt that finds a version undecided after it took or drew a number knows that the version's
//!                 number will be greater, since the mark comes before the number (`parts::speculation`).
//!             (2) Versions grow only at the new end, in the order of end numbers, the newest alone undecided or
//!                 uncertain (asserted in `PendingWrites::push`; `own` lets nobody write over such a one).
//!             (3) Waits go from later to earlier end numbers, and an attempt that waits for a number or a decision
//!                 outside of step 5 holds nothing for which the other waits: waits cannot form a circle.
//!             (4) A version that was read in advance stays what it is while its reader is pinned, so it tells at the
//!                 end the fate of its writer (`CommitDependencies::wait`).
//!             (5) Keys stand in their leaf, and rows without a value are marked before they leave it, before the
//!                 number of an attempt that needs that is drawn; leaves and marks are looked at after the attempt's
//!                 own number is drawn.
//! DEPARTURES  The paper has an end field in each version; here a version ends where the next on its chain begins. A
//!             writer does not tell its dependents of its end: they look at the versions that they have read. The
//!             scheme counts no dependencies and keeps no transaction objects that could be confused. Where the paper
//!             scans again, here the versions of leaves and of rows tell of changes. No version is written over while
//!             its writer is uncertain: a writer that sees the version waits for the decision, and one that does not
//!             aborts at once. The paper's other isolation levels are left out; its scheme with locks is
//!             `hekaton_locking`.

pub mod entry;
pub mod plants;
#[cfg(all(test, feature = "tests", not(loom)))]
mod tests;

use engine::driver::PerWorker;
use engine::setting::SettingError;
use engine::{
    Abort, Admits, End, Env, Family, Info, Isolation, LeafSet, Observer, Retire, Scheme, Sink, Stamp, Ticket,
    Write, settings,
};
use parts::speculation::{self, CommitDependencies, Uncertain, Writer, look, number, wait_for_end};
use parts::version_chain::{ChainHead, VersionStamp, is_absent, leaving, settle, words_of};
use parts::{PendingWrites, Timestamps};
use storage::{LeafRef, RecordRef, Shape, Slot, VersionRef, Versioned};
use sync::plant::is_planted;

settings! {
    /// The settings of the scheme.
    pub struct Settings of "hekaton" {
        /// `on` reads versions whose writer is being validated, and fails with it; `off` waits for its decision, which
        /// pays where many fail.
        speculation: bool {
            default: "on",
            stresses: "the choice between waiting and cascading aborts on records that are written often",
        },
    }
}

/// The state that all transactions share: the source of numbers.
#[derive(Debug)]
pub struct Hekaton {
    numbers: Timestamps,
    /// Whether uncertain versions are read at once, and not waited for.
    speculates: bool,
}

/// An attempt's private state.
#[derive(Debug)]
pub struct Txn<'db> {
    slot: Slot<'db, Hekaton>,
    begin: u64,
    /// The end number; 0 before it is drawn.
    end: u64,
    /// The number of its undecided versions.
    mark: u64,
    /// Records read, each with the number of the version that was seen, if there was one.
    reads: Vec<(RecordRef<'db, Hekaton>, Option<u64>)>,
    leaves: LeafSet<'db, ()>,
    /// Whether the attempt may write, so that its reads must be validated.
    may_write: bool,
    writes: PendingWrites<'db, Hekaton>,
    /// Its versions once they have the end number.
    uncertain: Uncertain<'db, Hekaton>,
    /// The versions that were read while they were uncertain.
    dependencies: CommitDependencies<'db, Hekaton>,
    /// See [`Timestamps::watermark`].
    watermark_age: usize,
}

/// An attempt's own version of a record, by its place among the writes.
enum Own {
    /// It had one before.
    Had(usize),
    /// It has one now.
    New(usize),
    /// It has none, since the record has no value where one is to be, or the reverse.
    Refused,
}

impl Shape for Hekaton {
    type Header = ChainHead;
    type Version = VersionStamp;
    type Leaf = ();
    type Data = Versioned;
}

impl Scheme for Hekaton {
    const INFO: Info = Info {
        name: "hekaton",
        title: "Hekaton MV/O",
        paper: "Larson, Blanas, Diaconu, Freedman, Patel, Zwilling: High-performance concurrency control mechanisms \
                for main-memory databases, PVLDB 2011",
        family: Family::MultiVersion,
        isolation: Isolation::StrictlySerializable,
        workers: Admits::Any,
        views: engine::Views::Unconfirmed,
        idea: "reads as of the begin, validates as of the end, and reads what is being validated in advance",
    };
    type Settings = Settings;
    const SERIAL_STAMPS: bool = true;
    type Driver = PerWorker;
    type Txn<'db> = Txn<'db>;

    fn new(settings: &Settings, env: Env) -> Result<Self, SettingError> {
        let speculates = settings.speculation;
        Ok(Self { numbers: Timestamps::new(env.slots), speculates })
    }

    fn attach<'db>(&'db self, slot: Slot<'db, Self>) -> Txn<'db> {
        let watermark_age = self.numbers.first_age(slot.id());
        Txn {
            mark: speculation::mark_of(slot.id()),
            slot,
            begin: 0,
            end: 0,
            reads: Vec::new(),
            leaves: LeafSet::default(),
            may_write: true,
            writes: PendingWrites::default(),
            uncertain: Uncertain::default(),
            dependencies: CommitDependencies::default(),
            watermark_age,
        }
    }

    #[inline]
    fn slot<'t, 'db>(&'db self, txn: &'t mut Txn<'db>) -> &'t mut Slot<'db, Self> {
        &mut txn.slot
    }

    /// The first version has number 0, which is before every begin.
    fn loaded(&self, _: RecordRef<'_, Self>) {}

    #[inline]
    fn begin<'db>(&'db self, txn: &mut Txn<'db>, ticket: &Ticket) -> Result<(), Abort> {
        txn.reads.clear();
        txn.leaves.clear();
        txn.dependencies.clear();
        txn.may_write = !ticket.read_only;
        txn.end = 0;
        txn.begin = self.numbers.snapshot(txn.slot.id());
        Ok(())
    }

    // ANCHOR: read
    #[inline]
    fn read<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t [u64]>, Abort> {
        if txn.slot.newest(record).is_some_and(|version| version.meta().number() == txn.mark) {
            let own = txn.writes.of(record);
            return Ok(txn.writes.value(own));
        }
        let Txn { dependencies, slot, begin, .. } = &mut *txn;
        let version = dependencies.visible(slot, record, *begin, self.speculates);
        txn.note(record, version);
        Ok(words_of(&txn.slot, version))
    }
    // ANCHOR_END: read

    #[inline]
    fn write<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
        how: Write,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        Ok(match txn.own(record, true, how)? {
            Own::Had(at) | Own::New(at) => txn.writes.words(at),
            Own::Refused => None,
        })
    }

    #[inline]
    fn insert<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        Ok(match txn.own(record, false, Write::Blind)? {
            Own::Had(at) => txn.writes.insert(at),
            Own::New(at) => txn.writes.words(at),
            Own::Refused => None,
        })
    }

    #[inline]
    fn delete<'db>(&'db self, txn: &mut Txn<'db>, record: RecordRef<'db, Self>) -> Result<bool, Abort> {
        Ok(match txn.own(record, true, Write::Blind)? {
            Own::Had(at) | Own::New(at) => txn.writes.delete(at),
            Own::Refused => false,
        })
    }

    #[inline]
    fn leaves<'t, 'db>(&'db self, txn: &'t mut Txn<'db>) -> Option<&'t mut LeafSet<'db, ()>> {
        Some(&mut txn.leaves)
    }

    #[inline]
    fn read_gaps<'db>(&'db self, txn: &mut Txn<'db>, leaf: LeafRef<'db, ()>) -> Result<(), Abort> {
        // A key that enters later leads to versions that are not seen as of the begin, so an attempt that writes
        // nothing need not care. For an attempt that writes, the leaf stays in the set as it was seen first, which is
        // not as it is at the end.
        if txn.may_write {
            _ = txn.leaves.read(leaf);
        }
        Ok(())
    }

    #[inline]
    fn precommit<'db>(&'db self, txn: &mut Txn<'db>, end: End) -> Result<(), Abort> {
        if end == End::Commit && !txn.writes.is_empty() {
            assert!(txn.may_write, "a procedure that is declared read-only writes nothing");
            // 1, 2, 3
            let Txn { uncertain, slot, writes, watermark_age, .. } = &mut *txn;
            txn.end = uncertain.draw(slot, writes, &self.numbers, watermark_age);
            txn.validate()?; // 4
        }
        txn.dependencies.wait() // 5
    }

    #[inline]
    fn install<'db>(&'db self, txn: &mut Txn<'db>, sink: &mut impl Sink, seen: &mut impl Observer) -> Stamp {
        let stamp = Stamp(if txn.uncertain.is_empty() { txn.begin } else { txn.end });
        txn.uncertain.commit(&txn.slot, txn.end, sink, seen); // 6
        self.numbers.leave(txn.slot.id());
        settle(&mut txn.slot, || self.numbers.known_watermark());
        stamp
    }

    #[inline]
    fn abort<'db>(&'db self, txn: &mut Txn<'db>) {
        txn.writes.undo(&mut txn.slot);
        txn.uncertain.fail(&mut txn.slot);
        self.numbers.leave(txn.slot.id());
        settle(&mut txn.slot, || self.numbers.known_watermark());
    }

    fn maintain(&self, _: usize) {
        self.numbers.maintain();
    }

    fn retire(&self, record: RecordRef<'_, Self>, (): &()) -> Retire {
        speculation::retire(record, |number| self.numbers.is_past(number))
    }

    /// An attempt that began earlier may see a version that has the key.
    fn leaving(&self, record: RecordRef<'_, Self>, (): &()) -> Retire {
        leaving(record, |number| self.numbers.is_past(number))
    }

    fn latest<'b, 'db>(&'db self, txn: &'b mut Txn<'db>, record: RecordRef<'db, Self>) -> Option<&'b [u64]> {
        words_of(&txn.slot, txn.slot.newest(record))
    }
}

impl<'db> Txn<'db> {
    /// Notes that a record was seen as of this version, or without any.
    #[inline]
    fn note(&mut self, record: RecordRef<'db, Hekaton>, version: Option<VersionRef<'db, Hekaton>>) {
        if self.may_write {
            self.reads.push((record, version.map(number)));
        }
    }

    /// Gives a record a version of the attempt's own, unless it has one. The record must have a value if `has_value` is
    /// true, and none otherwise.
    #[inline]
    fn own(&mut self, record: RecordRef<'db, Hekaton>, has_value: bool, how: Write) -> Result<Own, Abort> {
        let check = || if record.header().is_retired() { Err(Abort::WriteConflict) } else { Ok(()) };
        loop {
            let over = self.slot.newest(record);
            if over.is_some_and(|version| version.meta().number() == self.mark) {
                return Ok(Own::Had(self.writes.of(record)));
            }
            if !self.is_written_over(over)? {
                continue;
            }
            if is_absent(over) == has_value {
                self.note(record, over);
                return Ok(Own::Refused);
            }
            // Tries again if the version is no longer the newest.
            if let Some(at) = self.writes.push(&mut self.slot, record, over, self.mark, how, check)? {
                return Ok(Own::New(at));
            }
        }
    }

    /// Whether a version that was the newest of its record may be written over; `false` when another is the newest by
    /// now.
    #[inline]
    fn is_written_over(&self, newest: Option<VersionRef<'db, Hekaton>>) -> Result<bool, Abort> {
        let Some(version) = newest else { return Ok(true) };
        match look(version) {
            Writer::Committed(number) if number <= self.begin => Ok(true),
            // Once the version is certain, it may be written over.
            Writer::Uncertain(number) if number <= self.begin => Ok(wait_for_end(version)),
            Writer::Failed => Ok(false),
            _ => Err(Abort::WriteConflict),
        }
    }

    // ANCHOR: validate
    /// Step 4 of COMMIT.
    #[inline]
    fn validate(&self) -> Result<(), Abort> {
        for &(record, seen) in &self.reads {
            let is_same = self.visible_at_end(record) == seen || is_planted(&plants::HEKATON_SKIPS_READS);
            // A key whose record has left the index may stand in another record by now, which is not known here.
            let is_gone = record.header().is_retired() && !is_planted(&plants::HEKATON_TRUSTS_MISSES);
            if !is_same || is_gone {
                return Err(Abort::ReadChanged);
            }
        }
        let skips = is_planted(&plants::HEKATON_SKIPS_LEAVES);
        if skips || self.leaves.is_unchanged() { Ok(()) } else { Err(Abort::Phantom) }
    }
    // ANCHOR_END: validate

    /// The number of the version of a record that is visible at the end, apart from an own one. An uncertain version
    /// counts as if it were certain: if its writer fails, this attempt has failed in vain.
    #[inline]
    fn visible_at_end(&self, record: RecordRef<'db, Hekaton>) -> Option<u64> {
        let mut next = self.slot.newest(record);
        while let Some(version) = next {
            match look(version) {
                Writer::Committed(number) | Writer::Uncertain(number) if number < self.end => {
                    return Some(number);
                }
                _ => next = self.slot.older(version),
            }
        }
        None
    }
}
