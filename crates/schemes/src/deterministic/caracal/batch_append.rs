//! Batch append (Qin, Brown, Goel: Caracal, SOSP 2021): how the transactions of a batch announce the records that they
//! will write, so that each record's places can be laid out in order.
//!
//! A place goes straight to the list of its record, under a latch. For a record that many transactions write, all
//! workers would wait for this latch. So once the record has proved contended, by a latch that was held or by the
//! number of its places, further places stay in buffers of each session's own, which are merged and sorted once, when
//! all sessions have appended.

use core::fmt;

use storage::RecordRef;
use sync::atomic::{AtomicUsize, Ordering};
use sync::plant::is_planted;
use sync::{Growing, Latched, Padded, hint};

use super::plants;
use super::version_arrays::Arrayed;

/// The appends of a batch.
pub struct Appends<'db, S: Arrayed> {
    shares: Box<[Padded<Share<'db, S>>]>,
    /// By slot, by share.
    buffers: Box<[Latched<Buffer>]>,
    /// The number of places from which on a record counts as contended; `None` if no record does.
    contended: Option<usize>,
}

/// Pairs of a record's number within its share, and a place.
type Buffer = Vec<(usize, u32)>;

struct Share<'db, S: Arrayed> {
    rows: Growing<Latched<Gathered<'db, S>>>,
    count: AtomicUsize,
}

/// The places that write a record.
struct Gathered<'db, S: Arrayed> {
    record: Option<RecordRef<'db, S>>,
    /// Sorted, until the buffers are merged.
    places: Vec<u32>,
}

impl<S: Arrayed> Default for Gathered<'_, S> {
    fn default() -> Self {
        Self { record: None, places: Vec::new() }
    }
}

impl<S: Arrayed> Gathered<'_, S> {
    /// Inserts a place in order, which mostly is at the end.
    fn put(&mut self, place: u32) {
        let at = if is_planted(&plants::APPENDS_UNSORTED) {
            self.places.len()
        } else {
            self.places.partition_point(|&other| other < place)
        };
        self.places.insert(at, place);
        hint::writes(&self.places[at..]);
    }
}

const SHARE_SHIFT: u32 = 40;

impl<'db, S: Arrayed> Appends<'db, S> {
    /// Makes the appends of sessions with slots below `slots`, to be merged in shares. Without a number of places from
    /// which on a record is contended, there are no buffers.
    pub fn new(slots: usize, shares: usize, contended: Option<usize>) -> Self {
        let share = |_| Padded(Share { rows: Growing::default(), count: AtomicUsize::new(0) });
        Self {
            shares: (0..shares).map(share).collect(),
            buffers: (0..slots * shares).map(|_| Latched::default()).collect(),
            contended,
        }
    }

    /// Announces that the transaction at a place will write a record. It does so once for a record, in any session.
    pub fn append(&self, slot: usize, record: RecordRef<'db, S>, place: u32) {
        // Acquire: pairs with the Release in `begin`.
        let found = record.header().appended.load(Ordering::Acquire);
        let found =
            if found == 0 { self.begin(slot % self.shares.len(), record, place) } else { Some(found) };
        let Some(id) = found else { return };
        let share = (id >> SHARE_SHIFT) as usize;
        let number = (id & ((1 << SHARE_SHIFT) - 1)) as usize - 1;
        let row = self.shares[share].rows.make(number);
        let Some(contended) = self.contended else { return row.lock().put(place) };
        match row.try_lock() {
            Some(mut row) if row.places.len() < contended => row.put(place),
            _ => {
                let mut buffer = self.buffers[slot * self.shares.len() + share].lock();
                buffer.push((number, place));
                hint::pushes(&buffer);
            }
        }
    }

    /// Begins the list of a record's places with `place`. If another session was first, returns the id of its list.
    fn begin(&self, share: usize, record: RecordRef<'db, S>, place: u32) -> Option<u64> {
        let of = &self.shares[share];
        let number = of.count.fetch_add(1, Ordering::Relaxed); // Relaxed: draws a number.
        let mut row = of.rows.make(number).lock();
        row.record = Some(record);
        row.put(place);
        let id = (share as u64) << SHARE_SHIFT | (number as u64 + 1);
        // Release: pairs with the Acquire in `append`. Acquire on failure: pairs with the Release of the session that
        // was first.
        match record.header().appended.compare_exchange(0, id, Ordering::Release, Ordering::Acquire) {
            Ok(_) => None,
            Err(first) => {
                row.record = None;
                row.places.clear();
                Some(first)
            }
        }
    }

    /// Shows the records of a share when all have appended, each with the places that write it, in order; and forgets
    /// them.
    pub fn merge(&self, share: usize, mut see: impl FnMut(RecordRef<'db, S>, &[u32])) {
        let of = &self.shares[share];
        for buffer in self.buffers.iter().skip(share).step_by(self.shares.len()) {
            let mut buffer = buffer.lock();
            hint::reads(&buffer[..]);
            for (number, place) in buffer.drain(..) {
                of.rows.make(number).lock().places.push(place);
            }
        }
        // Relaxed, here and below: the caller's barriers order appends and merges.
        for number in 0..of.count.swap(0, Ordering::Relaxed) {
            let mut row = of.rows.make(number).lock();
            let Some(record) = row.record.take() else { continue };
            hint::reads(&row.places[..]);
            if !row.places.is_sorted() && !is_planted(&plants::APPENDS_UNSORTED) {
                row.places.sort_unstable();
            }
            record.header().appended.store(0, Ordering::Relaxed);
            see(record, &row.places);
            row.places.clear();
        }
    }

    /// The number of places in buffers.
    pub fn buffered(&self) -> usize {
        self.buffers.iter().map(|buffer| buffer.lock().len()).sum()
    }
}

impl<S: Arrayed> fmt::Debug for Appends<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Appends").field("contended", &self.contended).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use storage::{Home, InPlace, Lookup, Row, Schema, Shape, TableId, Tables};
    use sync::workers;
    use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

    use super::super::version_arrays::ArrayHead;
    use super::*;

    #[derive(Debug)]
    struct Arrays;

    impl Shape for Arrays {
        type Header = ArrayHead;
        type Version = ();
        type Leaf = ();
        type Data = InPlace;
    }

    #[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
    #[repr(C)]
    struct One([u64; 1]);

    impl Row for One {
        type Key = u64;
        type Indexes = ();
    }

    /// Runs `test` with two records.
    fn check(test: impl for<'db> FnOnce([RecordRef<'db, Arrays>; 2])) {
        let mut schema = Schema::new();
        schema.table::<u64>("ones", Lookup::Heap, 0).group::<One>();
        let tables = Tables::<Arrays>::new(&schema, 1, 0, false);
        let mut slot = tables.slot();
        slot.pin();
        let mut record = || slot.new_row(tables.get(TableId(0)), Home::At(0)).row().record(0);
        test([record(), record()]);
    }

    /// Merges all shares: the places that were gathered, by record.
    fn merged(appends: &Appends<'_, Arrays>) -> Vec<(usize, Vec<u32>)> {
        let mut all = Vec::new();
        for share in 0..appends.shares.len() {
            appends.merge(share, |record, places| all.push((record.id(), places.to_vec())));
        }
        all.sort_unstable();
        all
    }

    #[test]
    fn what_comes_in_any_order_is_laid_out_in_that_of_the_places() {
        check(|[hot, cold]| {
            for contended in [None, Some(1), Some(3), Some(100)] {
                let appends = Appends::new(4, 2, contended);
                // One batch after the other, in the same memory.
                for batch in 0..3 {
                    let places: Vec<u32> = (0..50).map(|nth| (nth * 37 + batch) % 50).collect();
                    for (nth, place) in places.iter().enumerate() {
                        appends.append(nth % 4, hot, *place);
                    }
                    appends.append(3, cold, 7);
                    let mut expected = vec![(hot.id(), (0..50).collect()), (cold.id(), vec![7])];
                    expected.sort_unstable();
                    assert_eq!(merged(&appends), expected, "{contended:?}");
                    assert!(merged(&appends).is_empty(), "what was merged is forgotten");
                }
            }
        });
    }

    #[test]
    fn a_record_is_contended_from_its_number_of_versions_on() {
        check(|[hot, cold]| {
            for (contended, buffered) in [(None, 0), (Some(1), 9), (Some(4), 6), (Some(10), 0)] {
                let appends = Appends::new(2, 1, contended);
                for place in 0..10 {
                    appends.append(0, hot, place);
                    assert_eq!(
                        appends.buffered() > 0,
                        contended.is_some_and(|least| place as usize >= least)
                    );
                }
                appends.append(1, cold, 1);
                assert_eq!(appends.buffered(), buffered, "{contended:?}");
                assert_eq!(merged(&appends).len(), 2);
                assert_eq!(appends.buffered(), 0);
            }
        });
    }

    #[test]
    fn who_finds_the_latch_held_waits_only_without_buffers() {
        check(|[hot, _]| {
            let appends = Appends::new(2, 1, Some(100));
            appends.append(0, hot, 5);
            let held = appends.shares[0].rows.make(0).lock();
            appends.append(1, hot, 3);
            assert_eq!(appends.buffered(), 1);
            drop(held);
            assert_eq!(merged(&appends), [(hot.id(), vec![3, 5])]);
        });
    }

    #[test]
    fn no_append_of_several_threads_is_lost() {
        check(|[hot, cold]| {
            for contended in [None, Some(20)] {
                let appends = Appends::new(3, 3, contended);
                workers::run(3, false, |worker| {
                    for place in (worker as u32..3_000).step_by(3) {
                        appends.append(worker, if place % 7 == 0 { cold } else { hot }, place);
                    }
                });
                let of = |is_cold: bool| (0..3_000).filter(|place| (place % 7 == 0) == is_cold).collect();
                let mut expected = vec![(hot.id(), of(false)), (cold.id(), of(true))];
                expected.sort_unstable();
                assert_eq!(merged(&appends), expected, "{contended:?}");
            }
        });
    }
}
