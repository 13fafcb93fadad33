//! Records that an attempt changes in place under its claim on their partitions, with an undo list: the
//! body of every scheme whose transactions own what they touch.
//!
//! RECORD      One word: bit 0 has a value, bit 1 the running attempt has changed the record, bit 2 retired.
//! INVARIANTS
//! (1) A word other than 0 changes only under the claim that holds the record's partition. A word of 0, of
//!     a record whose absence is committed, may turn to retired at any time.
//! (2) While bit 1 is set, the attempt that holds the partition has what the record was before in its lists, and
//!     either clears the bit when it commits or puts that back. So it saves the value of a record once, and none of a
//!     record to which it has given the first one.
//! (3) To the holder of its partition a retired record is one without a value, and no conflict: nobody else
//!     can have given its key another record. Only a value it must not be given.
//!
//! All accesses to words are Relaxed: the claim orders what its holders do one after the other, and the mark
//! of a retired record publishes nothing.

use engine::{Abort, AccessSet, Observer, Retire, Sink, Stamp};
use storage::{Meta, Owned, PartitionClaim, RecordRef, Shape, Slot};
use sync::atomic::{AtomicU64, Ordering};
use sync::plant::is_planted;

use crate::{WordRange, WriteBuffer, plants};

const VALUE: u64 = 1;
const RUNNING: u64 = 2;
const RETIRED: u64 = 4;

/// Whether a record has a value: the whole header of a record that is changed in place under a claim.
#[derive(Debug, Default)]
pub struct Existence(AtomicU64);

impl Meta for Existence {
    fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

impl Existence {
    /// The record's first value is in place.
    pub fn loaded(&self) {
        self.0.store(VALUE, Ordering::Relaxed);
    }

    #[inline]
    fn has_value(&self) -> bool {
        self.0.load(Ordering::Relaxed) & VALUE != 0
    }

    /// Marks the record if its absence is committed: see [`Scheme::retire`](engine::Scheme::retire).
    pub fn retire(&self) -> Retire {
        match self.0.compare_exchange(0, RETIRED, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => Retire::Done,
            Err(word) if word & RETIRED != 0 => Retire::Done,
            Err(word) if word & RUNNING != 0 => Retire::Later,
            Err(_) => Retire::Alive,
        }
    }
}

/// An attempt's claim, and what it changed under it.
#[derive(Debug)]
pub struct Claimed<'db, S: Shape<Data = Owned, Header = Existence>> {
    claim: PartitionClaim<'db>,
    /// Values that were overwritten or taken away, each as it was before the attempt.
    overwritten: Vec<(RecordRef<'db, S>, WordRange)>,
    /// Words of records that were given a value, or that lost theirs, as they were before.
    turned: Vec<(RecordRef<'db, S>, u64)>,
    /// The words of `overwritten`.
    values: WriteBuffer,
    /// The partition whose lack refused an access.
    lacking: Option<usize>,
    /// The records that a commit tells of, each with the value it had before.
    changes: AccessSet<(RecordRef<'db, S>, Option<WordRange>)>,
    /// The copy that the last look at a quiesced database lent.
    copy: Vec<u64>,
}

impl<'db, S: Shape<Data = Owned, Header = Existence>> Claimed<'db, S> {
    /// A claim that holds nothing.
    pub fn new(slot: &Slot<'db, S>) -> Self {
        Self {
            claim: slot.claim(),
            overwritten: Vec::new(),
            turned: Vec::new(),
            values: WriteBuffer::default(),
            lacking: None,
            changes: AccessSet::default(),
            copy: Vec::new(),
        }
    }

    /// The claim.
    #[inline]
    pub fn claim(&self) -> &PartitionClaim<'db> {
        &self.claim
    }

    /// Takes partitions, whose numbers are in ascending order, and waits while others have them. Only before the first
    /// access: the wait unpins the slot, for whoever waits to begin has seen nothing yet and need not hold up what
    /// others retire.
    #[inline]
    pub fn hold_all(&mut self, slot: &mut Slot<'db, S>, partitions: &[usize]) {
        if !self.claim.try_hold_all(partitions) {
            slot.unpin();
            self.claim.hold_all(partitions);
            slot.pin();
        }
    }

    /// Gives up all partitions, whatever was done in them.
    #[inline]
    pub fn give_up(&mut self) {
        self.claim.release_all();
    }

    /// The partition whose lack aborted the attempt, if that was the reason; asked once.
    pub fn take_lacking(&mut self) -> Option<usize> {
        self.lacking.take()
    }

    /// Reads a record.
    #[inline]
    pub fn read(&mut self, record: RecordRef<'db, S>) -> Result<Option<&[u64]>, Abort> {
        let Some(words) = self.claim.words(record) else { return Err(lack(&mut self.lacking, record)) };
        Ok(record.header().has_value().then_some(words))
    }

    /// Writes a record that has a value: its words to be overwritten, `None` when it has none.
    #[inline]
    pub fn write(&mut self, record: RecordRef<'db, S>) -> Result<Option<&mut [u64]>, Abort> {
        let Some(words) = self.claim.words_mut(record) else { return Err(lack(&mut self.lacking, record)) };
        let header = &record.header().0;
        let word = header.load(Ordering::Relaxed);
        if word & VALUE == 0 {
            return Ok(None);
        }
        if word & RUNNING == 0 {
            self.overwritten.push((record, self.values.push_copy(words)));
            header.store(word | RUNNING, Ordering::Relaxed);
        }
        Ok(Some(words))
    }

    /// Gives a record that has no value one: its words to be filled, `None` when it has a value.
    #[inline]
    pub fn insert(&mut self, record: RecordRef<'db, S>) -> Result<Option<&mut [u64]>, Abort> {
        let Some(words) = self.claim.words_mut(record) else { return Err(lack(&mut self.lacking, record)) };
        let header = &record.header().0;
        let word = header.load(Ordering::Relaxed);
        if word & VALUE != 0 {
            return Ok(None);
        }
        // An exchange, because by invariant (1) whoever retires the record may come first.
        let given = VALUE | RUNNING;
        let is_given = word & RETIRED == 0
            && header.compare_exchange(word, given, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if !is_given {
            return Err(Abort::WriteConflict);
        }
        self.turned.push((record, word));
        Ok(Some(words))
    }

    /// Takes a record's value away: `false` when it has none.
    #[inline]
    pub fn delete(&mut self, record: RecordRef<'db, S>) -> Result<bool, Abort> {
        let is_there = self.write(record)?.is_some();
        if is_there {
            let header = &record.header().0;
            self.turned.push((record, header.load(Ordering::Relaxed)));
            header.store(RUNNING, Ordering::Relaxed);
        }
        Ok(is_there)
    }

    /// Commits: what was done in place stays, and the partitions are given up.
    #[inline]
    pub fn install<L: Sink, O: Observer>(&mut self, sink: &mut L, seen: &mut O) -> Stamp {
        let stamp = Stamp(0);
        if sink.listens() || seen.listens() {
            self.tell(stamp, sink, seen);
        }
        if is_planted(&plants::COMMIT_LEAVES_MARKS) {
            self.overwritten.clear();
        }
        if is_planted(&plants::CLAIM_ENDS_EARLY) {
            self.claim.release_all();
        }
        let turned = self.turned.drain(..).map(|(record, _)| record);
        for record in turned.chain(self.overwritten.drain(..).map(|(record, _)| record)) {
            let header = &record.header().0;
            let word = header.load(Ordering::Relaxed);
            // A record in both lists is done, and may have been retired since.
            if word & RUNNING != 0 {
                header.store(word & !RUNNING, Ordering::Relaxed);
            }
        }
        self.values.clear();
        self.claim.release_all();
        stamp
    }

    /// Tells of each record that was changed, once.
    fn tell(&mut self, stamp: Stamp, sink: &mut impl Sink, seen: &mut impl Observer) {
        let inserted = self.turned.iter().filter(|(_, word)| *word == 0).map(|(record, _)| (*record, None));
        let overwritten = self.overwritten.iter().map(|(record, before)| (*record, Some(*before)));
        for (record, before) in inserted.chain(overwritten) {
            if self.changes.find(record.id()).is_none() {
                self.changes.push(record.id(), (record, before));
            }
        }
        for &(record, before) in self.changes.iter() {
            let after = self.claim.words(record).filter(|_| record.header().has_value());
            seen.installed(record, before.map(|before| self.values.get(before)), after);
            sink.logged(stamp, record, after);
        }
        self.changes.clear();
    }

    /// Undoes everything, and gives the partitions up.
    pub fn abort(&mut self) {
        if is_planted(&plants::UNDO_FORGETS_VALUES) {
            self.overwritten.clear();
        }
        if is_planted(&plants::UNDO_RUNS_FORWARDS) {
            self.turned.reverse();
        }
        // Values can be put back only under the claim.
        if is_planted(&plants::CLAIM_ENDS_BEFORE_UNDO) && self.overwritten.is_empty() {
            self.claim.release_all();
        }
        for (record, word) in self.turned.drain(..).rev() {
            let given = record.header().0.load(Ordering::Relaxed);
            let stays = is_planted(&plants::UNDO_FORGETS_INSERTS) && given & VALUE != 0;
            record.header().0.store(if stays { VALUE } else { word }, Ordering::Relaxed);
        }
        for (record, before) in self.overwritten.drain(..) {
            let words = self.claim.words_mut(record).expect("written under this claim");
            words.copy_from_slice(self.values.get(before));
            record.header().0.store(VALUE, Ordering::Relaxed);
        }
        self.values.clear();
        self.claim.release_all();
    }

    /// The value of a record in a quiesced database. Takes its partition for the moment: others may be
    /// looking, too.
    pub fn latest(&mut self, record: RecordRef<'db, S>) -> Option<&[u64]> {
        if let Some(partition) = record.partition()
            && !self.claim.try_hold_all(&[partition])
        {
            self.claim.hold_all(&[partition]);
        }
        let has_value = record.header().has_value();
        self.copy.clear();
        self.copy.extend_from_slice(self.claim.words(record).expect("its partition is held"));
        self.claim.release_all();
        has_value.then_some(&self.copy)
    }
}

/// Notes the partition that an access to a record would need.
#[cold]
fn lack<S: Shape<Data = Owned>>(lacking: &mut Option<usize>, record: RecordRef<'_, S>) -> Abort {
    *lacking = record.partition();
    assert!(lacking.is_some(), "rows that are at home everywhere are written only by their loading");
    Abort::Partition
}

/// The hooks of [`Scheme`](engine::Scheme) that are the same for every scheme whose transactions own what they
/// touch: to be called inside its implementation, whose `Txn` has the fields `slot` and `claimed`. Nothing
/// protects gaps or validates, because nobody else may change what the claim covers.
#[macro_export]
macro_rules! claimed_hooks {
    () => {
        #[inline]
        fn slot<'t, 'db>(&'db self, txn: &'t mut Self::Txn<'db>) -> &'t mut ::storage::Slot<'db, Self> {
            &mut txn.slot
        }

        fn loaded(&self, record: ::storage::RecordRef<'_, Self>) {
            record.header().loaded();
        }

        #[inline]
        fn read<'t, 'db>(
            &'db self,
            txn: &'t mut Self::Txn<'db>,
            record: ::storage::RecordRef<'db, Self>,
        ) -> Result<Option<&'t [u64]>, $crate::engine::Abort> {
            txn.claimed.read(record)
        }

        #[inline]
        fn write<'t, 'db>(
            &'db self,
            txn: &'t mut Self::Txn<'db>,
            record: ::storage::RecordRef<'db, Self>,
            _: $crate::engine::Write,
        ) -> Result<Option<&'t mut [u64]>, $crate::engine::Abort> {
            txn.claimed.write(record)
        }

        #[inline]
        fn insert<'t, 'db>(
            &'db self,
            txn: &'t mut Self::Txn<'db>,
            record: ::storage::RecordRef<'db, Self>,
        ) -> Result<Option<&'t mut [u64]>, $crate::engine::Abort> {
            txn.claimed.insert(record)
        }

        #[inline]
        fn delete<'db>(
            &'db self,
            txn: &mut Self::Txn<'db>,
            record: ::storage::RecordRef<'db, Self>,
        ) -> Result<bool, $crate::engine::Abort> {
            txn.claimed.delete(record)
        }

        #[inline]
        fn precommit<'db>(
            &'db self,
            _: &mut Self::Txn<'db>,
            _: $crate::engine::End,
        ) -> Result<(), $crate::engine::Abort> {
            Ok(())
        }

        #[inline]
        fn install<'db>(
            &'db self,
            txn: &mut Self::Txn<'db>,
            sink: &mut impl $crate::engine::Sink,
            seen: &mut impl $crate::engine::Observer,
        ) -> $crate::engine::Stamp {
            txn.claimed.install(sink, seen)
        }

        #[inline]
        fn abort<'db>(&'db self, txn: &mut Self::Txn<'db>) {
            txn.claimed.abort();
        }

        fn retire(&self, record: ::storage::RecordRef<'_, Self>, (): &()) -> $crate::engine::Retire {
            record.header().retire()
        }

        fn latest<'b, 'db>(
            &'db self,
            txn: &'b mut Self::Txn<'db>,
            record: ::storage::RecordRef<'db, Self>,
        ) -> Option<&'b [u64]> {
            txn.claimed.latest(record)
        }
    };
}

#[cfg(test)]
mod tests {
    use storage::{Home, Lookup, Row, Schema, TableId, Tables};
    use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

    use super::*;

    #[derive(Debug)]
    struct Owning;

    impl Shape for Owning {
        type Header = Existence;
        type Version = ();
        type Leaf = ();
        type Data = Owned;
    }

    #[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
    #[repr(C)]
    struct Pair([u64; 2]);

    impl Row for Pair {
        type Key = u64;
        type Indexes = ();
    }

    /// Runs `test` with an attempt that holds partition 0 of two, and new records without value at homes 0, 1
    /// and everywhere.
    fn check(test: impl for<'db> FnOnce(Claimed<'db, Owning>, [RecordRef<'db, Owning>; 3])) {
        let mut schema = Schema::new();
        schema.table::<u64>("pairs", Lookup::Heap, 0).group::<Pair>();
        let tables = Tables::<Owning>::new(&schema, 1, 2, false);
        let mut slot = tables.slot();
        slot.pin();
        let mut record = |home| slot.new_row(tables.get(TableId(0)), home).row().record(0);
        let records = [record(Home::At(2)), record(Home::At(3)), record(Home::Everywhere)];
        let mut claimed = Claimed::new(&slot);
        claimed.hold_all(&mut slot, &[0]);
        test(claimed, records);
    }

    fn fill(words: Result<Option<&mut [u64]>, Abort>, value: u64) {
        words.expect("held").expect("free").fill(value);
    }

    #[test]
    fn who_holds_all_partitions_has_every_record_that_has_an_owner_and_writes_no_other() {
        check(|mut claimed, [own, other, everywhere]| {
            assert!(claimed.claim.words_mut(other).is_none() && !claimed.claim.holds(1));
            assert!(claimed.claim.try_hold_all(&[1]));
            assert!((0..2).all(|number| claimed.claim.holds(number)));
            assert!([own, other].into_iter().all(|record| claimed.claim.words_mut(record).is_some()));
            assert!(claimed.claim.words_mut(everywhere).is_none(), "others may read it now");
            assert!(claimed.claim.words(everywhere).is_some());
            claimed.claim.release_all();
            assert!(!claimed.claim.holds(0) && claimed.claim.words_mut(own).is_none());
        });
    }

    #[test]
    fn the_value_of_a_record_is_saved_once() {
        check(|mut claimed, [record, ..]| {
            fill(claimed.insert(record), 1);
            fill(claimed.write(record), 2);
            assert!(claimed.overwritten.is_empty(), "there was no value before the attempt");
            claimed.install(&mut (), &mut ());
            for ends in 0..2 {
                assert!(claimed.claim.try_hold_all(&[0]));
                (3..10).for_each(|value| fill(claimed.write(record), value));
                assert_eq!(claimed.overwritten.len(), 1);
                if ends == 0 {
                    claimed.abort();
                } else {
                    _ = claimed.install(&mut (), &mut ());
                }
                assert!(claimed.claim.try_hold_all(&[0]));
                assert_eq!(claimed.read(record), Ok(Some(&[[2, 2], [9, 9]][ends][..])));
                claimed.abort();
            }
            assert!(claimed.claim.try_hold_all(&[0]));
            fill(claimed.write(record), 11);
            claimed.abort();
            assert!(claimed.claim.try_hold_all(&[0]));
            assert_eq!(claimed.read(record), Ok(Some(&[9, 9][..])), "the commit before has cleared its mark");
        });
    }

    #[test]
    fn an_abort_restores_what_was_there() {
        check(|mut claimed, [record, ..]| {
            fill(claimed.insert(record), 1);
            claimed.install(&mut (), &mut ());
            assert!(claimed.claim.try_hold_all(&[0]), "a commit gives the partition up");
            fill(claimed.write(record), 2);
            assert_eq!(claimed.delete(record), Ok(true));
            assert_eq!(claimed.delete(record), Ok(false));
            assert_eq!(claimed.read(record), Ok(None));
            fill(claimed.insert(record), 3);
            assert_eq!(claimed.insert(record), Ok(None));
            fill(claimed.write(record), 4);
            assert_eq!(claimed.read(record), Ok(Some(&[4, 4][..])));
            claimed.abort();
            assert!(claimed.claim.try_hold_all(&[0]), "an abort gives the partition up");
            assert_eq!(claimed.read(record), Ok(Some(&[1, 1][..])));
        });
    }

    #[test]
    fn a_record_is_retired_only_when_its_absence_is_committed() {
        check(|mut claimed, [record, ..]| {
            fill(claimed.insert(record), 1);
            assert_eq!(record.header().retire(), Retire::Later, "the insert may yet abort");
            claimed.install(&mut (), &mut ());
            assert_eq!(record.header().retire(), Retire::Alive);
            assert!(claimed.claim.try_hold_all(&[0]));
            assert_eq!(claimed.delete(record), Ok(true));
            assert_eq!(record.header().retire(), Retire::Later, "the delete may yet abort");
            claimed.install(&mut (), &mut ());
            assert_eq!(record.header().retire(), Retire::Done);
            assert_eq!(record.header().retire(), Retire::Done);
            assert!(claimed.claim.try_hold_all(&[0]));
            assert_eq!(claimed.read(record), Ok(None));
            assert_eq!(claimed.write(record), Ok(None));
            assert_eq!(claimed.delete(record), Ok(false));
            assert_eq!(claimed.insert(record), Err(Abort::WriteConflict));
        });
    }

    #[test]
    fn an_access_without_its_partition_is_refused_and_noted() {
        check(|mut claimed, [_, other, everywhere]| {
            assert_eq!(claimed.read(other), Err(Abort::Partition));
            assert_eq!((claimed.take_lacking(), claimed.take_lacking()), (Some(1), None));
            assert_eq!(claimed.insert(other), Err(Abort::Partition));
            everywhere.header().loaded();
            assert_eq!(claimed.read(everywhere), Ok(Some(&[0, 0][..])));
        });
    }

    #[test]
    fn a_commit_tells_of_each_record_once() {
        #[derive(Default)]
        struct Heard(Vec<(Option<u64>, Option<u64>)>);

        impl Observer for Heard {
            fn listens(&self) -> bool {
                true
            }
            fn installed<S: Shape>(
                &mut self,
                _: RecordRef<'_, S>,
                before: Option<&[u64]>,
                after: Option<&[u64]>,
            ) {
                self.0.push((before.map(|words| words[0]), after.map(|words| words[0])));
            }
        }

        check(|mut claimed, [record, ..]| {
            let mut heard = Heard::default();
            fill(claimed.insert(record), 1);
            fill(claimed.write(record), 2);
            claimed.install(&mut (), &mut heard);
            assert!(claimed.claim.try_hold_all(&[0]));
            fill(claimed.write(record), 3);
            assert_eq!(claimed.delete(record), Ok(true));
            fill(claimed.insert(record), 4);
            claimed.install(&mut (), &mut heard);
            assert!(claimed.claim.try_hold_all(&[0]));
            assert_eq!(claimed.delete(record), Ok(true));
            claimed.install(&mut (), &mut heard);
            assert_eq!(heard.0, [(None, Some(2)), (Some(2), Some(4)), (Some(4), None)]);
        });
    }
}
