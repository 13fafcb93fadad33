//! Version arrays (Qin, Brown, Goel: Caracal, SOSP 2021): the versions of a record that the transactions of a batch
//! write, side by side in the order of the batch, found by binary search.
//!
//! A record has its value in place, and for a while one array in addition. Arrays are laid out in regions: one for each
//! of the batches that may still have some, and within a batch one for each of the workers that lay out. A region is
//! used again when nothing in it is of use. The place of the batch that writes a version is settled before the first
//! transaction runs. A version then waits for its value, or for a mark that says to ignore it.
//!
//! The final value of an array is *settled*, that is, stored in place: when the record gets its next array (the minor
//! collection), or when the array would be in the way (the major one).
//!
//! INVARIANTS
//! (1) Places grow along an array, and stay as they were laid out until the region is cleared.
//! (2) A version is filled once, by one transaction; its value is written before, and by no thread after.
//! (3) Arrays are laid out, collected and cleared while no transaction executes: the caller's barriers order this, so
//!     that all accesses to an array, except to the states of its versions, may be Relaxed.
//! (4) No record leads to an array of a region that is used again: each array is settled, in the batch before at the
//!     latest.

use core::fmt;

use engine::Abort;
use storage::{InPlace, Meta, RecordRef, Shape};
use sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use sync::plant::is_planted;
use sync::{Growing, Latched, LatchedGuard, Padded, hint, waiter, words};

use super::plants;

/// Schemes whose records have such arrays.
pub trait Arrayed: Shape<Header = ArrayHead, Data = InPlace> {}
impl<S: Shape<Header = ArrayHead, Data = InPlace>> Arrayed for S {}

/// The header of a record.
#[derive(Debug, Default)]
pub struct ArrayHead {
    /// Bit 0: whether there is a value in place; the other bits: the number of its writer, see [`set`](Self::set).
    value: AtomicU64,
    /// The id of the array, or 0.
    array: AtomicU64,
    /// For `Appends`: the id of the list in which the record's next array is gathered, or 0.
    pub(super) appended: AtomicU64,
}

/// The number of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayId(u64);

const SHARE_SHIFT: u32 = 40;
const _: () =
    assert!(Growing::<AtomicU64>::LEN_MAX < 1 << SHARE_SHIFT, "an id has room for the words of a region");
const REGION_SHIFT: u32 = 56;

impl Meta for ArrayHead {
    fn reset(&self) {
        // Relaxed, all: publishing the record orders them.
        self.value.store(0, Ordering::Relaxed);
        self.array.store(0, Ordering::Relaxed);
        self.appended.store(0, Ordering::Relaxed);
    }
}

impl ArrayHead {
    /// Whether there is a value in place.
    #[inline]
    pub fn has_value(&self) -> bool {
        // Relaxed, here and below: invariant (3), or a lock of the caller's orders it.
        self.value.load(Ordering::Relaxed) & 1 == 1
    }

    /// Sets whether there is a value in place, and the number of the writer that has stored it or taken it away: an
    /// even number.
    #[inline]
    pub fn set(&self, writer: u64, has_value: bool) {
        self.value.store(writer | u64::from(has_value), Ordering::Relaxed);
    }

    /// The number of the writer that has stored the value in place, or taken it away.
    #[inline]
    pub fn writer(&self) -> u64 {
        self.value.load(Ordering::Relaxed) & !1
    }

    /// Whether the record has never had a value.
    #[inline]
    pub fn is_fresh(&self) -> bool {
        self.value.load(Ordering::Relaxed) == 0 && self.array().is_none()
    }

    /// The record's array.
    #[inline]
    pub fn array(&self) -> Option<ArrayId> {
        Some(ArrayId(self.array.load(Ordering::Relaxed))).filter(|id| id.0 != 0)
    }

    /// Detaches the record's array, if it has one: from now on the value in place counts.
    pub fn leave_array(&self) {
        self.array.store(0, Ordering::Relaxed);
    }
}

impl ArrayId {
    #[inline]
    fn region(self) -> usize {
        (self.0 >> REGION_SHIFT) as usize
    }
}

/// The state of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Not filled yet: its transaction has not ended.
    Pending,
    /// Filled with a value.
    Value,
    /// Filled with the absence of a value.
    Absent,
    /// Not written by its transaction: the version before it counts.
    Ignored,
}

/// The value of a record that an attempt is to see.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    value: Value<'a>,
    /// The record's array, if it has one of the present batch.
    pub array: Option<VersionArray<'a>>,
}

#[derive(Clone, Copy, Debug)]
enum Value<'a> {
    /// The record has no value.
    Nothing,
    /// The value is in place.
    InPlace,
    /// The value is in a version.
    Version(&'a [AtomicU64]),
}

/// Where the value of a write goes.
#[derive(Clone, Copy, Debug)]
pub enum Goal<'a> {
    /// Into the record; nowhere, if the write is only rehearsed.
    Place,
    /// Into the version at a position of the record's array.
    Version(VersionArray<'a>, usize),
}

const PENDING: u64 = 0;
const VALUE: u64 = 1;
const ABSENT: u64 = 2;
const IGNORED: u64 = 3;
/// Bits of a version's word for its state; the place of its writer is above them.
const STATE_BITS: u32 = 2;

/// The arrays that one worker has laid out for a batch. An array is a run of words: the number of its versions; a word
/// for each version, its place and its state; the values of the versions.
#[derive(Debug, Default)]
struct Region {
    words: Growing<AtomicU64>,
    used: Latched<Used>,
}

#[derive(Debug, Default)]
struct Used {
    words: usize,
    /// The maximum number of words that the region ever had, with gaps where an array did not fit.
    most: usize,
}

/// The version arrays of a database.
#[derive(Debug)]
pub struct VersionArrays {
    shares: usize,
    regions: usize,
    /// By region, by share.
    all: Box<[Padded<Region>]>,
    /// The number of batches so far, the present one included.
    batches: AtomicUsize,
}

/// By region, by share: the records that were given arrays there, until they are collected.
pub struct LaidOut<'db, S: Arrayed>(Box<[Latched<Arrays<'db, S>>]>);

type Arrays<'db, S> = Vec<(RecordRef<'db, S>, ArrayId)>;

/// A worker's hold of the share whose arrays it lays out for the present batch. It has the latches as long as that
/// takes: nobody else wants them.
pub struct Layout<'a, 'db, S: Arrayed> {
    arrays: &'a VersionArrays,
    region: usize,
    share: usize,
    used: LatchedGuard<'a, Used>,
    laid_out: LatchedGuard<'a, Arrays<'db, S>>,
}

/// The versions of a record that a transaction may see.
struct Visible<'a> {
    array: VersionArray<'a>,
    /// The number of them: they are the first ones of the array.
    len: usize,
    /// The array, if it is of the present batch.
    present: Option<VersionArray<'a>>,
}

impl Visible<'_> {
    /// Those of a record without an array.
    const NONE: Self = Self { array: VersionArray { words: &[], len: 0 }, len: 0, present: None };
}

/// A record's array.
#[derive(Clone, Copy, Debug)]
pub struct VersionArray<'a> {
    /// From the word of the first version to the end of the chunk.
    words: &'a [AtomicU64],
    len: usize,
}

impl VersionArrays {
    /// Makes arrays that are laid out in `shares` shares, and are used for at most `batches` batches after their own.
    pub fn new(batches: usize, shares: usize) -> Self {
        let regions = batches + 1;
        assert!(regions < 1 << 8 && shares < 1 << 16, "an id has room for all regions and shares");
        let all = (0..regions * shares).map(|_| Padded::default()).collect();
        Self { shares, regions, all, batches: AtomicUsize::new(0) }
    }

    /// The number of shares.
    pub fn shares(&self) -> usize {
        self.shares
    }

    /// Makes the list of records with arrays, empty.
    pub fn laid_out<'db, S: Arrayed>(&self) -> LaidOut<'db, S> {
        LaidOut((0..self.all.len()).map(|_| Latched::default()).collect())
    }

    /// Called when the next batch begins.
    pub fn turn(&self) {
        // Relaxed, here and below: one worker turns, and nobody asks before all workers meet next; except readers of an
        // array as a whole, to whom it makes no difference.
        self.batches.store(self.batches.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// The region of the batch that is `batches` batches after the present one.
    #[inline]
    fn region_in(&self, batches: usize) -> usize {
        (self.batches.load(Ordering::Relaxed) + batches) % self.regions
    }

    /// Takes hold of a share that no other worker uses, to lay out arrays of the present batch.
    pub fn layout<'a, 'db, S: Arrayed>(
        &'a self,
        laid_out: &'a LaidOut<'db, S>,
        share: usize,
    ) -> Layout<'a, 'db, S> {
        let region = self.region_in(0);
        let at = region * self.shares + share;
        let (used, laid_out) = (self.all[at].used.lock(), laid_out.0[at].lock());
        Layout { arrays: self, region, share, used, laid_out }
    }

    /// Makes an array whose versions are all pending.
    fn make(
        &self,
        (region, share): (usize, usize),
        used: &mut Used,
        places: &[u32],
        width: usize,
    ) -> ArrayId {
        let need = 1 + places.len() * (1 + width);
        let first = Growing::<AtomicU64>::run_from(used.words, need);
        used.words = first + need;
        used.most = used.most.max(used.words);
        let run = self.all[region * self.shares + share].words.make_run(first, need);
        // Relaxed, both: invariant (3).
        run[0].store(places.len() as u64, Ordering::Relaxed);
        for (version, &place) in run[1..].iter().zip(places) {
            version.store(u64::from(place) << STATE_BITS | PENDING, Ordering::Relaxed);
        }
        ArrayId((region as u64) << REGION_SHIFT | (share as u64) << SHARE_SHIFT | (first as u64 + 1))
    }

    /// Makes an array of no record.
    #[cfg(test)]
    pub(super) fn pending(&self, places: &[u32]) -> ArrayId {
        self.make((0, 0), &mut self.all[0].used.lock(), places, 1)
    }

    /// The array with this id.
    #[inline]
    pub fn get(&self, id: ArrayId) -> VersionArray<'_> {
        let share = (id.0 >> SHARE_SHIFT) as usize & 0xffff;
        let first = (id.0 & ((1 << SHARE_SHIFT) - 1)) as usize - 1;
        let (len, words) = self.all[id.region() * self.shares + share]
            .words
            .make_rest(first)
            .split_first()
            .expect("an array has a first word");
        // Relaxed: invariant (3).
        let len = len.load(Ordering::Relaxed) as usize;
        assert!(len <= words.len(), "an array is a run");
        VersionArray { words, len }
    }

    /// Finds the value of a record that the transaction at a place of the present batch is to see. Waits for the value,
    /// unless `is_over` says that there is nothing to wait for any more.
    ///
    /// # Errors
    /// When it is over.
    // ANCHOR: see
    #[inline]
    pub fn see<S: Arrayed>(
        &self,
        record: RecordRef<'_, S>,
        place: u32,
        is_over: impl Fn() -> bool,
    ) -> Result<Seen<'_>, Abort> {
        let Visible { array, len, present } = self.visible(record, place);
        for at in (0..len).rev() {
            let value = match array.filled(at, &is_over)? {
                State::Value => Value::Version(array.value(at, record.width())),
                State::Absent => Value::Nothing,
                State::Ignored | State::Pending => continue,
            };
            return Ok(Seen { value, array: present });
        }
        let value = if record.header().has_value() { Value::InPlace } else { Value::Nothing };
        Ok(Seen { value, array: present })
    }
    // ANCHOR_END: see

    /// As [`see`](Self::see), for a write that is blind: the array, if the record has a value. Does not wait: a version
    /// that is not filled yet will not change whether there is a value, since what does is under an exclusive lock.
    #[inline]
    pub fn presence<S: Arrayed>(
        &self,
        record: RecordRef<'_, S>,
        place: u32,
    ) -> Option<Option<VersionArray<'_>>> {
        let Visible { array, len, present } = self.visible(record, place);
        let decides = |state: &State| matches!(state, State::Value | State::Absent);
        let newest = (0..len).rev().map(|at| array.state(at)).find(decides);
        newest.map_or(record.header().has_value(), |state| state == State::Value).then_some(present)
    }

    /// Finds the versions that the transaction at a place of the present batch may see.
    #[inline]
    fn visible<S: Arrayed>(&self, record: RecordRef<'_, S>, place: u32) -> Visible<'_> {
        let Some(id) = record.header().array() else { return Visible::NONE };
        let array = self.get(id);
        let is_present = id.region() == self.region_in(0);
        let sees_all = !is_present || is_planted(&plants::ARRAYS_READ_LAST);
        let len = if sees_all { array.len() } else { array.before(place) };
        Visible { array, len, present: is_present.then_some(array) }
    }

    /// Marks the version that a place has of a record, and does not write, as to be ignored.
    ///
    /// # Panics
    /// When the place has none.
    pub fn ignore<S: Arrayed>(&self, record: RecordRef<'_, S>, place: u32) {
        let array = record.header().array().map(|id| self.get(id));
        let array = array.expect("a record that was appended to has an array");
        let version = array.position(place).expect("what was appended has a version");
        let absent = is_planted(&plants::CARACAL_IGNORES_NOTHING);
        if absent { array.fill(version, None) } else { array.ignore(version) }
    }

    /// Whether a record has a value, or may be about to get one. Does not wait.
    pub fn may_have_value<S: Arrayed>(&self, record: RecordRef<'_, S>) -> bool {
        let head = record.header();
        let newest = head.array().and_then(|id| {
            let array = self.get(id);
            (0..array.len()).rev().map(|at| array.state(at)).find(|state| *state != State::Ignored)
        });
        newest.map_or(head.has_value(), |state| state != State::Absent)
    }

    /// Stores the final value of a record's array in place. All versions of the array are filled. The worker that lays
    /// out the record's next array and the worker that collects may do so at the same time: both store the same value.
    fn settle<S: Arrayed>(&self, record: RecordRef<'_, S>, id: ArrayId) {
        let array = self.get(id);
        let counts = |at: &usize| array.state(*at) != State::Ignored;
        let mut all = 0..array.len();
        let last =
            if is_planted(&plants::ARRAYS_SETTLED_FIRST) { all.find(counts) } else { all.rfind(counts) };
        let Some(last) = last else { return };
        let has_value = array.state(last) == State::Value;
        if has_value {
            record.store_from(array.value(last, record.width()));
        }
        record.header().set(0, has_value);
    }

    /// Does the major collection: settles the arrays of a share in the region where the next batch is to lay out its
    /// arrays.
    pub fn make_way<S: Arrayed>(&self, laid_out: &LaidOut<'_, S>, share: usize) {
        self.collect(laid_out, self.region_in(1), share);
    }

    /// Settles all arrays, and forgets their records.
    pub fn settle_all<S: Arrayed>(&self, laid_out: &LaidOut<'_, S>) {
        for region in 0..self.regions {
            (0..self.shares).for_each(|share| self.collect(laid_out, region, share));
        }
    }

    fn collect<S: Arrayed>(&self, laid_out: &LaidOut<'_, S>, region: usize, share: usize) {
        let at = region * self.shares + share;
        let mut all = laid_out.0[at].lock();
        hint::reads(&all[..]);
        for (record, id) in all.drain(..) {
            let head = record.header();
            // The record may have another array by now, or serve another row.
            if head.array() == Some(id) {
                self.settle(record, id);
                // Relaxed, both: of the workers that lay out and that collect, the second one finds the word of the
                // first.
                _ = head.array.compare_exchange(id.0, 0, Ordering::Relaxed, Ordering::Relaxed);
            }
        }
        let mut used = self.all[at].used.lock();
        *used = Used { words: 0, most: used.most };
    }

    /// The number of words of arrays, and the number for which there is room.
    pub fn words(&self) -> (usize, usize) {
        self.all.iter().fold((0, 0), |(now, most), region| {
            let used = region.used.lock();
            (now + used.words, most + used.most)
        })
    }
}

impl<'db, S: Arrayed> Layout<'_, 'db, S> {
    /// Lays out an array for a record, with a version for each of these places, which ascend.
    // ANCHOR: lay_out
    pub fn lay_out(&mut self, record: RecordRef<'db, S>, places: &[u32]) -> ArrayId {
        let head = record.header();
        if let Some(old) = head.array() {
            self.arrays.settle(record, old); // The minor collection.
        }
        let id = self.arrays.make((self.region, self.share), &mut self.used, places, record.width());
        head.array.store(id.0, Ordering::Relaxed); // Relaxed: invariant (3).
        self.laid_out.push((record, id));
        id
    }
    // ANCHOR_END: lay_out
}

impl<S: Arrayed> fmt::Debug for LaidOut<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LaidOut")
    }
}

impl Seen<'_> {
    /// Whether there is a value.
    #[inline]
    pub fn is_value(self) -> bool {
        !matches!(self.value, Value::Nothing)
    }

    /// Copies the value, if there is one. Returns whether there is one.
    #[inline]
    pub fn copy<S: Arrayed>(self, record: RecordRef<'_, S>, to: &mut [u64]) -> bool {
        match self.value {
            Value::Nothing => {}
            Value::InPlace => record.load(to),
            Value::Version(from) => words::load(from, to),
        }
        self.is_value()
    }
}

impl<'a> VersionArray<'a> {
    /// The number of versions.
    #[inline]
    pub fn len(self) -> usize {
        self.len
    }

    /// Whether the array has no version.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    #[inline]
    fn versions(self) -> &'a [AtomicU64] {
        &self.words[..self.len]
    }

    /// The places of the batch that write the array's versions.
    pub fn places(self) -> impl Iterator<Item = u32> {
        self.versions().iter().map(place_of)
    }

    /// The number of versions that are written by places before this one.
    #[inline]
    pub fn before(self, place: u32) -> usize {
        self.versions().partition_point(|version| place_of(version) < place)
    }

    /// The position of the version that a place writes.
    #[inline]
    pub fn position(self, place: u32) -> Option<usize> {
        let at = self.before(place);
        self.versions().get(at).filter(|version| place_of(version) == place).map(|_| at)
    }

    /// The state of a version.
    #[inline]
    pub fn state(self, at: usize) -> State {
        // Acquire: pairs with the Release in `fill`.
        match self.versions()[at].load(Ordering::Acquire) & ((1 << STATE_BITS) - 1) {
            PENDING => State::Pending,
            VALUE => State::Value,
            ABSENT => State::Absent,
            _ => State::Ignored,
        }
    }

    /// The state of a version once it is filled: waits for that.
    #[inline]
    fn filled(self, at: usize, is_over: impl Fn() -> bool) -> Result<State, Abort> {
        let mut state = self.state(at);
        let waits = !is_planted(&plants::ARRAYS_SKIP_PENDING) && !is_planted(&plants::ARRAYS_READ_LAST);
        if state == State::Pending && waits {
            waiter::wait_until(None, || {
                state = self.state(at);
                state != State::Pending || is_over()
            });
            if state == State::Pending {
                return Err(Abort::Stopped);
            }
        }
        Ok(state)
    }

    /// The words of a version's value, `width` of them.
    #[inline]
    pub fn value(self, at: usize, width: usize) -> &'a [AtomicU64] {
        &self.words[self.len + at * width..][..width]
    }

    /// Fills a version with a value, or with the absence of one.
    ///
    /// # Panics
    /// When it was filled before.
    #[inline]
    pub fn fill(self, at: usize, value: Option<&[u64]>) {
        if let Some(value) = value {
            words::store(self.value(at, value.len()), value);
        }
        self.finish(at, if value.is_some() { VALUE } else { ABSENT });
    }

    /// Fills a version with the mark that its transaction has not written it.
    ///
    /// # Panics
    /// When it was filled before.
    #[inline]
    pub fn ignore(self, at: usize) {
        self.finish(at, IGNORED);
    }

    #[inline]
    fn finish(self, at: usize, state: u64) {
        let of = &self.versions()[at];
        // Relaxed: only its transaction changes it, invariant (2).
        let word = of.load(Ordering::Relaxed);
        assert!(word & ((1 << STATE_BITS) - 1) == PENDING, "a version is filled once");
        // Release: pairs with the Acquire in `state`, so that a reader that finds the version filled sees its value.
        of.store(word | state, Ordering::Release);
    }
}

/// The place that writes a version, by the version's word.
#[inline]
fn place_of(version: &AtomicU64) -> u32 {
    (version.load(Ordering::Relaxed) >> STATE_BITS) as u32 // Relaxed: invariant (3).
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_place_finds_the_version_before_it_among_thousands() {
        let arrays = VersionArrays::new(1, 1);
        let places: Vec<u32> = (0..5_000).map(|nth| nth * 2 + 1).collect();
        let id = arrays.make((1, 0), &mut Used::default(), &places, 1);
        let array = arrays.get(id);
        assert_eq!((id.region(), array.len()), (1, 5_000));
        for place in [0, 1, 2, 3, 4_999, 5_000, 9_998, 9_999, 10_000, u32::MAX] {
            let before = places.iter().filter(|&&other| other < place).count();
            assert_eq!(array.before(place), before, "before {place}");
            assert_eq!(array.position(place), places.contains(&place).then_some(before), "of {place}");
        }
    }

    #[test]
    fn versions_have_words_of_their_own_and_are_filled_once() {
        let arrays = VersionArrays::new(1, 2);
        let used = &mut Used::default();
        let (a, b) = (arrays.make((0, 1), used, &[3, 5, 9], 40), arrays.make((0, 1), used, &[5], 7));
        let (a, b) = (arrays.get(a), arrays.get(b));
        assert_eq!((0..3).map(|at| a.state(at)).collect::<Vec<_>>(), [State::Pending; 3]);
        a.fill(1, Some(&[1; 40]));
        b.fill(0, Some(&[2; 7]));
        a.fill(0, None);
        a.ignore(2);
        let states = (0..3).map(|at| a.state(at)).collect::<Vec<_>>();
        assert_eq!(states, [State::Absent, State::Value, State::Ignored]);
        let mut copy = [0; 40];
        words::load(a.value(1, 40), &mut copy);
        assert_eq!(copy, [1; 40]);
        words::load(b.value(0, 7), &mut copy[..7]);
        assert_eq!(copy[..7], [2; 7]);
    }

    #[test]
    #[should_panic(expected = "filled once")]
    fn a_version_is_not_filled_twice() {
        let arrays = VersionArrays::new(1, 1);
        let array = arrays.get(arrays.pending(&[1]));
        array.ignore(0);
        array.fill(0, Some(&[1]));
    }
}
