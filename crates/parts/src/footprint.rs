//! Footprints: everything that a transaction will touch, compared with the accesses of the planned attempt. A footprint
//! is found by a rehearsal, or by looking up what the input states; below, both are called rehearsals, since both see
//! the state that the last batch left.
//!
//! Each touched thing has a number. It is a record; a key that is missing, added or removed; or a stretch, which is all
//! keys of an index with one prefix. Where rows are numbered under a prefix, the next number depends on earlier
//! transactions, which no rehearsal knows: the stretch then stands for all its keys, and for all rows that are found by
//! them. Elsewhere a scan touches its stretch, and adding or removing a key changes a part of the stretch.
//!
//! INVARIANTS
//! (1) Two transactions that conflict have a number in common, in modes that conflict. A transaction that reads or
//!     writes a row has the number of its record, of its stretch, or, if the rehearsal missed the key, of the key. A
//!     transaction that adds or removes a key has the numbers of the key and of the stretch. All rehearsals find the
//!     same rows: so for a row that one rehearsal has found, all transactions that touch it have the records, and for a
//!     row that was inserted within the batch all have the key. A key that was found does not stand for its row, even
//!     if it was locked to be added or removed: other transactions that touch the row need not have the key.
//! (2) Whether an access is covered depends only on the footprint and on the transaction's earlier reads: not on
//!     leaves, whose shape depends on the order of all inserts so far.

use engine::{Abort, AccessSet, Spot, Step, Touch};
use sync::plant::is_planted;

use crate::plants;

/// Odd, so that multiplying by it keeps numbers apart; it spreads numbers that differ little over the highest bits.
pub(crate) const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
/// The same for the choice of managers, which must not follow that of other things by [`SPREAD`].
const SPREAD_OVER_MANAGERS: u64 = 0xbf58_476d_1ce4_e5b9;

/// The purpose for which something is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Reading, concurrently with others in this mode.
    Shared,
    /// Changing parts, each of which has a number of its own, concurrently with others in this mode.
    Intent,
    /// Writing, excluding all others.
    Exclusive,
}

impl Mode {
    /// Whether a touch in this mode permits accesses in the other mode.
    fn covers(self, other: Self) -> bool {
        self == other || self == Self::Exclusive
    }

    /// The mode that covers both.
    fn with(self, other: Self) -> Self {
        if self == other { self } else { Self::Exclusive }
    }

    /// Whether two transactions may touch the same number at the same time, one in each of the modes.
    pub(super) fn admits(self, other: Self) -> bool {
        self == other && self != Self::Exclusive
    }
}

/// A touched thing: its number, and the mode.
#[derive(Clone, Copy, Debug)]
struct Touched {
    number: u64,
    mode: Mode,
    /// Whether the number is that of a key that was missing.
    is_missing: bool,
    /// How often the record is written, as the input states: see [`Coverage::touch_stated`].
    writes: u32,
}

impl Touched {
    fn new(number: u64, mode: Mode) -> Self {
        Self { number, mode, is_missing: false, writes: 0 }
    }
}

/// The footprint of a transaction: everything that it touches.
#[derive(Debug, Default)]
pub struct Footprint {
    touched: AccessSet<Touched>,
    /// Whether some touch is in another mode than `Shared`.
    is_changed: bool,
    is_boundless: bool,
    /// The position of the number that a planned attempt is expected to touch next.
    turn: usize,
}

impl Footprint {
    /// The number of a record. Different records have different numbers.
    #[inline]
    pub fn of_record(id: usize) -> u64 {
        (id as u64).wrapping_mul(SPREAD).rotate_left(u64::BITS / 2)
    }

    /// Which of so many managers has a number. The numbers of records side by side are spread over all managers.
    #[inline]
    pub fn manager_of(number: u64, managers: usize) -> usize {
        // A division takes longer than all the rest.
        if managers == 1 { 0 } else { (number.wrapping_mul(SPREAD_OVER_MANAGERS) >> 32) as usize % managers }
    }

    /// Clears the footprint.
    pub fn clear(&mut self) {
        self.touched.clear();
        self.is_changed = false;
        self.is_boundless = false;
    }

    /// Adds the thing with this number.
    pub fn add(&mut self, number: u64, mode: Mode) {
        self.add_touched(Touched::new(number, mode));
    }

    /// Adds the key with this number, which is missing.
    fn add_missing(&mut self, number: u64) {
        self.add_touched(Touched { is_missing: true, ..Touched::new(number, Mode::Shared) });
    }

    /// The position of the thing, which is there now.
    #[inline(always)]
    fn add_touched(&mut self, touched: Touched) -> usize {
        self.is_changed |= touched.mode != Mode::Shared;
        let (at, is_added) = self.touched.find_or_push(touched.number as usize, || touched);
        if !is_added {
            let had = self.touched.get_mut(at);
            had.mode = had.mode.with(touched.mode);
            had.is_missing |= touched.is_missing;
        }
        at
    }

    /// How often the input writes the record at a position: see [`Coverage::touch_stated`].
    #[inline]
    pub(crate) fn writes(&self, at: usize) -> u32 {
        self.touched.get(at).writes
    }

    /// Whether all touches are in the mode `Shared`.
    pub fn is_shared(&self) -> bool {
        !self.is_changed
    }

    /// Whether the footprint cannot be stated.
    pub fn is_boundless(&self) -> bool {
        self.is_boundless
    }

    /// Whether the footprint has a number, in a mode that covers this one.
    #[inline]
    pub fn covers(&self, number: u64, mode: Mode) -> bool {
        self.find(number).is_some_and(|touched| touched.mode.covers(mode))
    }

    /// Whether the number is among those that the attempt is expected to touch next, in a mode that covers this one.
    /// Touches come mostly in the order in which they were foreseen.
    #[inline]
    fn is_next(&mut self, number: u64, mode: Mode) -> bool {
        let found = self.touched.next_in_turn(number as usize, &mut self.turn);
        found.is_some_and(|at| self.touched.get(at).mode.covers(mode))
    }

    /// Like [`covers`](Self::covers), for an attempt. If the footprint has the number, the one after it is expected
    /// next.
    fn covers_out_of_turn(&mut self, number: u64, mode: Mode) -> bool {
        let Some(at) = self.touched.find(number as usize) else { return false };
        self.turn = at + 1;
        self.touched.get(at).mode.covers(mode)
    }

    /// Whether the footprint has the number of a key that was missing, in a mode that covers this one for the row that
    /// is there now.
    #[inline]
    fn covers_missing(&self, number: u64, mode: Mode) -> bool {
        let stands = |touched: &Touched| touched.is_missing || is_planted(&plants::KEYS_STAND_FOR_ALL);
        self.find(number).is_some_and(|touched| stands(touched) && touched.mode.covers(mode))
    }

    #[inline]
    fn find(&self, number: u64) -> Option<&Touched> {
        self.touched.find(number as usize).map(|at| self.touched.get(at))
    }

    /// The number of touched things.
    pub(crate) fn len(&self) -> usize {
        self.touched.len()
    }

    /// The memory of the touched things, for those who tell the simulator of it.
    pub(crate) fn entries(&self) -> &[impl Sized] {
        self.touched.entries()
    }

    /// The numbers, each once, with the mode that covers all its touches.
    pub fn iter(&self) -> impl Iterator<Item = (u64, Mode)> {
        self.touched.iter().map(|touched| (touched.number, touched.mode))
    }
}

/// The way in which an attempt comes to know the records that it accesses next.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// By this key.
    Key(Spot),
    /// By a scan; with the number of its stretch, if its rows are numbered.
    Scan(Option<u64>),
}

/// The touches of an attempt: in a rehearsal they become its footprint, and in the planned attempt they must be within
/// it.
#[derive(Debug)]
pub struct Coverage {
    step: Step,
    way: Way,
    footprint: Footprint,
}

impl Default for Coverage {
    fn default() -> Self {
        Self { step: Step::Whole, way: Way::Scan(None), footprint: Footprint::default() }
    }
}

impl Coverage {
    /// Begins an attempt.
    ///
    /// # Errors
    /// When the attempt is planned and its footprint could not be stated.
    #[inline]
    pub fn begin(&mut self, step: Step) -> Result<(), Abort> {
        self.step = step;
        match step {
            Step::Rehearsal => self.footprint.clear(),
            Step::Planned if self.footprint.is_boundless => return Err(Abort::Footprint),
            Step::Planned => self.footprint.turn = 0,
            Step::Whole | Step::Alone => {}
        }
        Ok(())
    }

    /// The purpose of the attempt.
    #[inline]
    pub fn step(&self) -> Step {
        self.step
    }

    /// The footprint.
    pub fn footprint(&mut self) -> &mut Footprint {
        &mut self.footprint
    }

    /// Touches a number in a mode.
    #[inline]
    fn cover(&mut self, number: u64, mode: Mode) -> Result<(), Abort> {
        match self.step {
            Step::Rehearsal => self.footprint.add(number, mode),
            Step::Planned if !self.footprint.covers(number, mode) => return Self::lack(),
            Step::Planned | Step::Whole | Step::Alone => {}
        }
        Ok(())
    }

    fn lack() -> Result<(), Abort> {
        if is_planted(&plants::REHEARSALS_TRUSTED) { Ok(()) } else { Err(Abort::Footprint) }
    }

    /// Announces that the attempt looks for, or changes, something in an index.
    ///
    /// # Errors
    /// When the touch is outside of the attempt's footprint. The same holds for the methods that follow.
    // Callers name the kind of the touch, so that little of this is left where it is inlined: most touches only set the
    // way, and a call costs more.
    #[inline(always)]
    pub fn touch(&mut self, touch: Touch) -> Result<(), Abort> {
        match touch {
            Touch::Seek(spot) => {
                self.way = Way::Key(spot);
                Ok(())
            }
            Touch::Meet(spot) => {
                self.way = Way::Scan(spot.is_numbered.then_some(spot.number));
                Ok(())
            }
            Touch::Add(spot, stretch) => {
                self.way = Way::Key(spot);
                self.change(spot, stretch)
            }
            Touch::Remove(spot, stretch) => self.change(spot, stretch),
            Touch::Scan(stretch, is_numbered) => {
                self.way = Way::Scan(is_numbered.then_some(stretch));
                self.cover(stretch, Mode::Shared)
            }
            Touch::ScanAcross => {
                self.way = Way::Scan(None);
                match self.step {
                    Step::Rehearsal => self.footprint.is_boundless = true,
                    Step::Planned => return Self::lack(),
                    Step::Whole | Step::Alone => {}
                }
                Ok(())
            }
        }
    }

    /// Covers the addition or removal of a key.
    fn change(&mut self, spot: Spot, stretch: u64) -> Result<(), Abort> {
        self.cover(spot.number, Mode::Exclusive)?;
        if spot.is_numbered || is_planted(&plants::STRETCHES_UNTOUCHED) {
            return Ok(());
        }
        self.cover(stretch, Mode::Intent)
    }

    /// Covers a missing key: the key that was announced last, to be looked for or to be added. A key that is missing
    /// from the range that was announced last is covered by the range.
    ///
    /// # Errors
    /// When the key is outside of the footprint.
    #[inline]
    pub fn miss(&mut self) -> Result<(), Abort> {
        let Way::Key(spot) = self.way else { return Ok(()) };
        if is_planted(&plants::MISSES_UNTOUCHED) {
            return Ok(());
        }
        if self.step == Step::Rehearsal {
            self.footprint.add_missing(spot.number);
            return Ok(());
        }
        self.cover(spot.number, Mode::Shared)
    }

    /// Covers an access to the record that was found last.
    #[inline]
    pub fn record(&mut self, id: usize, mode: Mode) -> Result<(), Abort> {
        // Inline, since most accesses are of this kind, and a call costs more than the look.
        if self.step == Step::Planned
            && self.stretch().is_none()
            && self.footprint.is_next(Footprint::of_record(id), mode)
        {
            return Ok(());
        }
        self.record_otherwise(id, mode)
    }

    /// Covers the deletion of the record that was found last: it excludes all who touch the record.
    #[inline]
    pub fn deletion(&mut self, id: usize) -> Result<(), Abort> {
        self.record(id, if is_planted(&plants::DELETES_SHARED) { Mode::Shared } else { Mode::Exclusive })
    }

    /// As [`record`](Self::record).
    fn record_otherwise(&mut self, id: usize, mode: Mode) -> Result<(), Abort> {
        let number = self.stretch().unwrap_or_else(|| Footprint::of_record(id));
        match self.step {
            Step::Rehearsal => self.footprint.add(number, mode),
            Step::Planned
                if !(self.footprint.covers_out_of_turn(number, mode) || self.is_covered_otherwise(mode)) =>
            {
                return Self::lack();
            }
            Step::Planned | Step::Whole | Step::Alone => {}
        }
        Ok(())
    }

    /// In a rehearsal: touches the record that was found last, to write it beside others, into a version of its own,
    /// unless the stretch stands for the record.
    #[inline]
    pub fn foresee_write(&mut self, id: usize) {
        _ = self.touch_stated(id, Mode::Shared, true);
    }

    /// In a rehearsal, for an input that states what it touches: touches the record that was found last, in this mode
    /// unless a stretch stands for it, and counts the write. Returns the position of the record in the footprint if
    /// this is the first write that is stated of it and it has a number of its own.
    // Always: it is called once for each access that is stated, from one place of each scheme.
    #[inline(always)]
    pub fn touch_stated(&mut self, id: usize, mode: Mode, is_written: bool) -> Option<usize> {
        debug_assert_eq!(self.step, Step::Rehearsal, "a planned attempt must not widen its footprint");
        if let Some(stretch) = self.stretch() {
            self.footprint.add(stretch, if is_written { Mode::Exclusive } else { Mode::Shared });
            return None;
        }
        let at = self.footprint.add_touched(Touched::new(Footprint::of_record(id), mode));
        let writes = &mut self.footprint.touched.get_mut(at).writes;
        *writes += u32::from(is_written);
        (is_written && *writes == 1).then_some(at)
    }

    /// Whether the record that was found last is covered by something other than its own number: in a planned attempt,
    /// by its stretch, or by its key, which the rehearsal missed.
    #[inline]
    pub fn is_covered_otherwise(&self, mode: Mode) -> bool {
        if self.step != Step::Planned {
            return false;
        }
        match (self.stretch(), self.way) {
            (Some(stretch), _) => self.footprint.covers(stretch, mode),
            (None, Way::Key(spot)) => self.footprint.covers_missing(spot.number, mode),
            (None, Way::Scan(_)) => false,
        }
    }

    /// The stretch that stands for the record that was found last.
    #[inline]
    pub fn stretch(&self) -> Option<u64> {
        match self.way {
            Way::Key(spot) => spot.is_numbered.then_some(spot.number),
            Way::Scan(stretch) => stretch,
        }
    }
}

#[cfg(test)]
mod tests {
    use Mode::{Exclusive, Intent, Shared};

    use super::*;

    #[test]
    fn a_footprint_knows_the_mode_that_covers_all_uses() {
        let mut footprint = Footprint::default();
        for (number, mode) in
            [(1, Shared), (2, Intent), (3, Shared), (3, Exclusive), (4, Shared), (4, Intent), (2, Intent)]
        {
            footprint.add(number, mode);
        }
        for (number, covered) in [
            (1, &[Shared][..]),
            (2, &[Intent]),
            (3, &[Shared, Intent, Exclusive]),
            (4, &[Shared, Intent, Exclusive]),
        ] {
            for mode in [Shared, Intent, Exclusive] {
                assert_eq!(footprint.covers(number, mode), covered.contains(&mode), "{number} {mode:?}");
            }
        }
        assert!(!footprint.covers(9, Shared));
        assert_eq!(footprint.iter().count(), 4);
    }

    #[test]
    fn records_side_by_side_are_spread_over_the_managers() {
        for (stride, managers) in [16, 32, 64, 128, 256]
            .into_iter()
            .flat_map(|stride| [2, 4, 12, 28].map(|managers| (stride, managers)))
        {
            let of = |nth: usize| {
                Footprint::manager_of(Footprint::of_record(0x7f12_3456_0000 + nth * stride), managers)
            };
            let records = 20_000;
            let mut counts = vec![0; managers];
            (0..records).for_each(|nth| counts[of(nth)] += 1);
            let mean = records / managers;
            assert!(
                counts.iter().all(|count| (mean * 9 / 10..=mean * 11 / 10).contains(count)),
                "{counts:?}"
            );
            let together = (0..records).filter(|&nth| of(nth) == of(nth + 1)).count();
            assert!(
                together < records * 2 / 3,
                "{together} pairs at a distance of {stride}, {managers} managers"
            );
        }
    }

    const ALONE: Spot = Spot { number: 1, is_numbered: false };
    const NUMBERED: Spot = Spot { number: 200, is_numbered: true };

    /// Returns the coverage of a planned attempt that was rehearsed by `rehearse`.
    fn planned(rehearse: impl Fn(&mut Coverage) -> Result<(), Abort>) -> Coverage {
        let mut coverage = Coverage::default();
        coverage.begin(Step::Rehearsal).expect("nothing is refused");
        rehearse(&mut coverage).expect("nothing is refused");
        coverage.begin(Step::Planned).expect("it has bounds");
        coverage
    }

    fn sought(coverage: &mut Coverage, spot: Spot, id: usize, mode: Mode) -> Result<(), Abort> {
        coverage.touch(Touch::Seek(spot)).and_then(|()| coverage.record(id, mode))
    }

    #[test]
    fn what_was_rehearsed_is_covered_and_nothing_else() {
        let mut read = planned(|coverage| sought(coverage, ALONE, 7, Shared));
        assert_eq!(sought(&mut read, ALONE, 7, Shared), Ok(()));
        assert_eq!(sought(&mut read, ALONE, 7, Exclusive), Err(Abort::Footprint));
        assert_eq!(sought(&mut read, ALONE, 8, Shared), Err(Abort::Footprint), "another row of the key");
        assert_eq!(read.touch(Touch::Seek(ALONE)).and_then(|()| read.miss()), Err(Abort::Footprint));
        assert_eq!(read.touch(Touch::Add(ALONE, 100)), Err(Abort::Footprint));
        assert_eq!(read.touch(Touch::Scan(100, false)), Err(Abort::Footprint));
        assert_eq!(read.touch(Touch::ScanAcross), Err(Abort::Footprint));
    }

    #[test]
    fn a_row_that_was_missing_is_covered_by_its_key() {
        let mut missed =
            planned(|coverage| coverage.touch(Touch::Seek(ALONE)).and_then(|()| coverage.miss()));
        assert_eq!(sought(&mut missed, ALONE, 7, Shared), Ok(()));
        assert_eq!(sought(&mut missed, ALONE, 7, Exclusive), Err(Abort::Footprint));
        let add = |coverage: &mut Coverage| coverage.touch(Touch::Add(ALONE, 100));
        let mut added = planned(|coverage| add(coverage).and_then(|()| coverage.miss()));
        assert_eq!(add(&mut added).and_then(|()| added.miss()), Ok(()));
        assert_eq!(add(&mut added).and_then(|()| added.record(7, Shared)), Ok(()), "another has added it");
        assert_eq!(sought(&mut added, ALONE, 7, Exclusive), Ok(()));
        assert!(added.footprint().covers(100, Intent) && !added.footprint().covers(100, Shared));
    }

    #[test]
    fn a_row_that_was_found_is_covered_by_its_records_and_not_by_its_key() {
        let add = |coverage: &mut Coverage| coverage.touch(Touch::Add(ALONE, 100));
        let mut not_added = planned(|coverage| add(coverage).and_then(|()| coverage.record(7, Shared)));
        assert_eq!(add(&mut not_added).and_then(|()| not_added.record(7, Shared)), Ok(()));
        assert_eq!(sought(&mut not_added, ALONE, 7, Exclusive), Err(Abort::Footprint), "it only looked");
        assert!(!not_added.is_covered_otherwise(Exclusive));
        // It stopped at the first column group.
        assert_eq!(sought(&mut not_added, ALONE, 8, Shared), Err(Abort::Footprint), "another column group");
        assert_eq!(add(&mut not_added).and_then(|()| not_added.miss()), Ok(()), "it may have gone");
        let remove = |coverage: &mut Coverage| coverage.touch(Touch::Remove(ALONE, 100));
        let mut removed = planned(|coverage| {
            sought(coverage, ALONE, 7, Exclusive).and_then(|()| remove(coverage)).and_then(|()| add(coverage))
        });
        assert_eq!(sought(&mut removed, ALONE, 7, Exclusive).and_then(|()| remove(&mut removed)), Ok(()));
        assert_eq!(sought(&mut removed, ALONE, 8, Shared), Err(Abort::Footprint), "another row of the key");
        assert_eq!(removed.touch(Touch::Seek(ALONE)).and_then(|()| removed.miss()), Ok(()));
    }

    #[test]
    fn numbered_rows_are_covered_with_their_stretch() {
        let mut numbered = planned(|coverage| coverage.touch(Touch::Add(NUMBERED, 200)));
        assert_eq!(numbered.touch(Touch::Add(NUMBERED, 200)), Ok(()), "whatever its number");
        assert_eq!(sought(&mut numbered, NUMBERED, 7, Exclusive), Ok(()));
        assert_eq!(numbered.touch(Touch::Scan(200, true)).and_then(|()| numbered.record(8, Shared)), Ok(()));
        let mut met = planned(|coverage| {
            coverage.touch(Touch::Meet(NUMBERED)).and_then(|()| coverage.record(7, Shared))
        });
        assert_eq!(sought(&mut met, NUMBERED, 9, Shared), Ok(()));
        assert_eq!(sought(&mut met, NUMBERED, 9, Exclusive), Err(Abort::Footprint));
    }

    #[test]
    fn stated_writes_are_counted_for_each_record_that_no_stretch_stands_for() {
        let mut coverage = Coverage::default();
        coverage.begin(Step::Rehearsal).expect("nothing is refused");
        let mut touch = |spot, id, mode, is_written| {
            coverage.touch(Touch::Seek(spot)).expect("nothing is refused");
            coverage.touch_stated(id, mode, is_written)
        };
        assert_eq!(touch(ALONE, 7, Shared, false), None, "a read");
        let at = touch(ALONE, 7, Shared, true).expect("the first write");
        assert_eq!(touch(ALONE, 7, Shared, true), None, "a further write");
        assert!(touch(ALONE, 8, Exclusive, true).is_some());
        assert_eq!(touch(NUMBERED, 9, Shared, true), None, "its stretch stands for it");
        let footprint = coverage.footprint();
        assert_eq!(footprint.writes(at), 2);
        let [shared, exclusive] = [7, 8].map(Footprint::of_record);
        assert!(footprint.covers(shared, Shared) && !footprint.covers(shared, Exclusive));
        assert!(footprint.covers(exclusive, Exclusive) && footprint.covers(200, Exclusive));
        assert!(!footprint.covers(Footprint::of_record(9), Shared));
    }

    #[test]
    fn who_scans_across_prefixes_is_not_planned_and_may_do_so_alone() {
        let mut across = planned(|coverage| sought(coverage, ALONE, 7, Shared));
        across.begin(Step::Rehearsal).expect("nothing is refused");
        assert_eq!(across.touch(Touch::ScanAcross), Ok(()));
        assert_eq!(across.begin(Step::Planned), Err(Abort::Footprint));
        assert_eq!(across.begin(Step::Alone).and_then(|()| across.touch(Touch::ScanAcross)), Ok(()));
    }
}
