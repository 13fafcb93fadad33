//! Anti-dependencies of an attempt: the commits that overwrote its reads, and the commits that read what it overwrites.
//! For schemes that read snapshots, or the newest commits, of version chains, and allow no cycle: their
//! [`AntiDependencyRule`] says when anti-dependencies may close a cycle.
//!
//! Each version has a note of its writer for readers of the version before. Each record and each leaf has the greatest
//! number of a commit that has read its newest version, or its gaps. A commit draws its number and then looks for
//! overwriters with smaller numbers; then, if its rule sees any danger in those, for readers; and leaves its own marks
//! at last. An attempt that writes nothing draws no number. It first leaves marks, as low as its rule allows, and then
//! looks for overwriters.
//!
//! Readers do not register with the records that they read, so there may be any number of slots. Each slot shows that
//! it decides on a commit, and with which number. An attempt that must know of readers waits for all commits with
//! smaller numbers. Few attempts must.
//!
//! INVARIANTS
//! (1) A slot that decides on a commit shows it before it draws the number, and until its marks are left and its
//!     versions have their number and note. So an attempt that has drawn a greater number finds all of that, or the
//!     slot that shows it.
//! (2) A commit waits only for smaller numbers, and for numbers that are being drawn; an attempt without a number waits
//!     for commits, and no commit for it. So waits cannot form a circle.
//! (3) The mark of a record's readers never falls. A reader of a version before the newest needs no mark: an attempt
//!     that overwrites the newest version has, by the writer of that version, a predecessor with a greater number.
//! (4) An insert is a write of its gap: a record enters a leaf with a mark that is not below the leaf's ([`entering`]),
//!     and leaves it with that mark and the number of its last version ([`retire`]). An attempt that has looked at a
//!     leaf finds out whether keys have entered it since, by its gap version, and whether it has given gaps away, by a
//!     count. Keys that entered make no difference to attempts that find them; commits that entered them tell the leaf,
//!     if their rule sees danger in them.
//! (5) Numbers of a leaf change under its latch only; marks are also raised without it, and count if the gap version is
//!     then as it was read. Neither falls while the leaf keeps its gaps.
//! (6) Where a rule asks for it, an attempt that only reads takes a safe snapshot, and an attempt that reads much
//!     remembers no stale versions: `safe_snapshots`, `stale_reads`. An attempt that looks for readers finds either as
//!     it finds marks.
//! (7) An attempt that uses an entry which another attempt put into a leaf does not know the leaf, and readers of the
//!     gap that looked before the entry was there know no record to mark. So it takes the number before its own for
//!     that of a reader: it commits only if its rule sees no danger in any reader, and then it has nothing to tell the
//!     leaf either.

mod deciding;
mod gaps;
mod safe_snapshots;
mod stale_reads;

use core::fmt::{self, Debug};
use core::marker::PhantomData;

use deciding::DRAWING;
pub use deciding::Deciding;
use engine::setting::Settings;
use engine::{Abort, AccessSet, Env, Facts, Info, Retire, Ticket, Views};
use gaps::{Entered, Read};
pub use gaps::{Gap, entering, leaving, retire};
use safe_snapshots::SafeSnapshots;
use stale_reads::StaleReads;
use storage::{LeafRef, Meta, RecordRef, Shape, Slot, VersionRef};
use sync::atomic::{AtomicU64, Ordering, fence};
use sync::clock;
use sync::plant::is_planted;

use crate::certifier::{Certified, Certifier, Made, SnapshotView};
use crate::version_chain::{ChainHead, Chained, Stamped, VersionStamp, wait_for_number};
use crate::{PendingWrites, Timestamps, plants};

/// Schemes whose versions and leaves carry the metadata of anti-dependencies.
pub trait Watched: Chained + Shape<Header = ChainHead, Version = NotedStamp, Leaf = Gap> {}
impl<S: Chained + Shape<Header = ChainHead, Version = NotedStamp, Leaf = Gap>> Watched for S {}

/// The rule that says when anti-dependencies may close a circle; its scheme keeps that from happening. A value is the
/// rule's state of one attempt.
pub trait AntiDependencyRule: Debug + Send + Sync + 'static {
    /// Static facts about the scheme.
    const INFO: Info;
    /// The scheme's settings.
    type Settings: Settings;
    /// The part of the settings that the rule depends on.
    type Line: Copy + Debug + Default + Send + Sync;
    /// The line under which the rule refuses nothing and looks at nothing, if there is one.
    const LENIENT: Option<Self::Line> = None;

    /// The line that the settings select.
    fn line(settings: &Self::Settings) -> Self::Line;

    /// See [`Certifier::wait_us`].
    fn wait_us(settings: &Self::Settings) -> u64;

    /// See [`Scheme::facts`](engine::Scheme::facts).
    fn facts(_settings: &Self::Settings) -> Facts {
        Facts::of(&Self::INFO)
    }

    /// The options that the settings select in addition.
    fn options(_settings: &Self::Settings) -> Options {
        Options::default()
    }

    /// See [`Certifier::space`].
    #[inline]
    fn space<S: Watched>(_writes: &PendingWrites<'_, S>) -> u64 {
        1
    }

    /// Begins the rule for an attempt that sees all commits up to `snapshot`.
    fn begin(line: Self::Line, snapshot: u64) -> Self;
    /// Whether the rule looks at anything: not under a lenient line.
    #[inline]
    fn watches(&self) -> bool {
        true
    }
    /// The attempt has read, or will overwrite, a version with at most this number.
    fn follows(&mut self, number: u64);
    /// A commit with this number and this note has overwritten a read of the attempt, and comes before its own commit.
    fn is_overwritten(&mut self, number: u64, note: u64);
    /// Commits after the attempt's snapshot may have put keys into gaps that it read. `note` is at most the least note
    /// of those commits that saw danger.
    fn is_entered(&mut self, note: Option<u64>);
    /// The least number of a reader that would be a danger together with the commits that overwrote the attempt's
    /// reads: a commit that has read what the attempt overwrites. `None` if no reader would be.
    fn fears_readers_from(&self) -> Option<u64>;
    /// A commit with at most this number has read what the attempt overwrites.
    fn is_read(&mut self, number: u64);
    /// Whether the attempt must not commit: as an attempt that writes, or as one that only reads. A writing attempt may
    /// be refused where a reading one is not, and never the reverse.
    fn is_refused(&self, writes: bool) -> bool;
    /// The mark that an attempt which only reads leaves.
    fn reader_mark(&self) -> u64;
    /// The note of the attempt's versions, if its commit has this number.
    fn note(&self, number: u64) -> u64;
}

/// Options of attempts in addition to the rule.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Whether attempts see commits that are made while they run.
    pub sees_all: bool,
    /// Whether attempts that are declared read-only take safe snapshots, and the maximum age of these in nanoseconds.
    /// For rules that have a lenient line.
    pub safe_ns: Option<u64>,
    /// The number of reads that an attempt remembers before it remembers no more reads of stale versions, and the
    /// distance, in numbers, from which on a version is stale. For rules that have a lenient line.
    pub stale: Option<(usize, u64)>,
}

/// State shared by all attempts.
#[derive(Debug)]
struct Shared {
    deciding: Deciding,
    safe: Option<SafeSnapshots>,
    stale: Option<StaleReads>,
}

/// A version's stamp, and its writer's note.
#[derive(Debug, Default)]
pub struct NotedStamp {
    stamp: VersionStamp,
    note: AtomicU64,
}

impl Meta for NotedStamp {
    fn reset(&self) {
        self.stamp.reset();
        self.note.store(0, Ordering::Relaxed); // Relaxed: publishing the version orders it.
    }

    #[inline]
    fn copy_final(&self, to: &Self) -> bool {
        to.set_note(self.note());
        self.stamp.copy_final(&to.stamp)
    }
}

impl Stamped for NotedStamp {
    #[inline]
    fn stamp(&self) -> &VersionStamp {
        &self.stamp
    }
}

impl NotedStamp {
    /// The note, once the version has its number.
    #[inline]
    fn note(&self) -> u64 {
        self.note.load(Ordering::Relaxed) // Relaxed: ordered by the number.
    }

    #[inline]
    fn set_note(&self, note: u64) {
        self.note.store(note, Ordering::Relaxed); // Relaxed: ordered by the number, which is set afterwards.
    }
}

/// The reads of an attempt, the leaves that its keys entered, and its rule's conclusions from them.
pub struct AntiDependencies<'db, S: Watched, R> {
    /// Records that had no version of a later commit when they were read, each with the number of the version that was
    /// read; 0 where there was none.
    reads: Vec<(RecordRef<'db, S>, u64)>,
    /// By the ids of leaves. A leaf has one entry for each state in which it was seen.
    leaves: AccessSet<Read<'db>>,
    entered: AccessSet<Entered<'db>>,
    snapshot: u64,
    /// Whether the attempt has read stale versions that it does not remember.
    reads_stale: bool,
    /// Whether the attempt overwrites stale versions.
    overwrites_stale: bool,
    /// Whether the attempt has used entries of indexes that others put there: invariant (7).
    reuses: bool,
    rule: R,
}

impl<S: Watched, R: AntiDependencyRule> Debug for AntiDependencies<'_, S, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reads, leaves, entered, snapshot, reads_stale, overwrites_stale, reuses, rule } = self;
        let mut told = f.debug_struct("AntiDependencies");
        told.field("reads", reads).field("leaves", leaves).field("entered", entered);
        told.field("snapshot", snapshot).field("reads_stale", reads_stale);
        told.field("overwrites_stale", overwrites_stale);
        told.field("reuses", reuses).field("rule", rule).finish()
    }
}

impl<S: Watched, R: AntiDependencyRule> Default for AntiDependencies<'_, S, R> {
    fn default() -> Self {
        let (reads, leaves, entered) = (Vec::new(), AccessSet::default(), AccessSet::default());
        let rule = R::begin(R::Line::default(), 0);
        let (reads_stale, overwrites_stale, reuses) = (false, false, false);
        Self { reads, leaves, entered, snapshot: 0, reads_stale, overwrites_stale, reuses, rule }
    }
}

impl<'db, S: Watched, R: AntiDependencyRule> AntiDependencies<'db, S, R> {
    /// Begins an attempt that sees all commits up to `snapshot`, and perhaps later ones.
    #[inline]
    pub fn begin(&mut self, line: R::Line, snapshot: u64) {
        self.reads.clear();
        self.leaves.clear();
        self.entered.clear();
        self.snapshot = snapshot;
        self.overwrites_stale = false;
        self.reuses = false;
        self.rule = R::begin(line, snapshot);
    }

    /// Records that the attempt reads a version of a record, or finds none, although a commit that it does not see has
    /// put the version `over` on top.
    ///
    /// # Errors
    /// When the attempt cannot commit any more.
    #[inline]
    pub fn read(
        &mut self,
        record: RecordRef<'db, S>,
        version: Option<VersionRef<'db, S>>,
        over: Option<VersionRef<'db, S>>,
    ) -> Result<(), Abort> {
        if !self.rule.watches() {
            return Ok(());
        }
        let number = self.follow(record, version);
        let Some(over) = over else {
            self.reads.push((record, number));
            return Ok(());
        };
        self.rule.is_overwritten(over.meta().stamp.number(), over.meta().note());
        if self.rule.is_refused(false) { Err(Abort::ReadChanged) } else { Ok(()) }
    }

    /// Reads a version that has no later version over it, without remembering the read, if the version is stale.
    /// Returns `false` if the read has still to be recorded. Invariant (1) of [`stale_reads`].
    fn read_stale(
        &mut self,
        stale: &StaleReads,
        slot: &Slot<'db, S>,
        record: RecordRef<'db, S>,
        version: VersionRef<'db, S>,
    ) -> bool {
        let stamp = version.meta().stamp();
        let number = stamp.number();
        // When a record without a value leaves, its leaf takes over what it protects: its readers must be known by the
        // record.
        if !self.rule.watches() || stamp.is_tombstone() || !stale.is_stale(number, self.snapshot) {
            return false;
        }
        if !self.reads_stale {
            self.reads_stale = true;
            stale.enter(slot.id());
        }
        let is_newest = slot.newest(record) == Some(version);
        if is_newest {
            self.rule.follows(number);
        }
        is_newest
    }

    /// Records that the attempt has put a version of its own over this one, or over none.
    #[inline]
    pub fn wrote(&mut self, record: RecordRef<'db, S>, over: Option<VersionRef<'db, S>>) {
        if self.rule.watches() {
            self.follow(record, over);
        }
    }

    /// Passes the number of a version that the attempt met to the rule, and returns it; 0 if there is none.
    #[inline]
    fn follow(&mut self, record: RecordRef<'db, S>, version: Option<VersionRef<'db, S>>) -> u64 {
        let Some(version) = version else {
            // A record that entered the leaf anew has in its mark the number with which a record of the same key left,
            // and that number was before every snapshot.
            self.rule.follows(record.header().rts().min(self.snapshot));
            return 0;
        };
        let number = version.meta().stamp.number();
        self.rule.follows(number);
        number
    }

    /// Records that the attempt reads the gaps of a leaf.
    #[inline]
    pub fn read_gaps(&mut self, leaf: LeafRef<'db, Gap>) {
        if !self.rule.watches() {
            return;
        }
        self.rule.follows(leaf.meta().left());
        let is_it = |at: usize| self.leaves.get(at).leaf.seen() == leaf.seen();
        let is_known = self.leaves.find_all(leaf.id()).any(is_it);
        if !is_known {
            self.leaves.push(leaf.id(), Read { leaf, given: leaf.meta().given(), has_grown: false });
        }
    }

    /// Records that the attempt's own key entered a leaf, whose gap version changed from `before.seen()`.
    #[inline]
    pub fn added(&mut self, before: LeafRef<'db, Gap>, after: u64) {
        if !self.rule.watches() {
            return;
        }
        self.leaves.change_all(before.id(), |read| {
            if read.leaf.seen() == before.seen() {
                read.leaf = before.at(after);
            }
        });
        let given = before.meta().given();
        let is_known = |at: usize| self.entered.get(at).given == given;
        let is_known = self.entered.find_all(before.id()).any(is_known);
        if !is_known {
            self.entered.push(before.id(), Entered { leaf: before, given });
        }
    }

    /// Records that the attempt's own insert split `into` off `from`.
    #[cold]
    pub fn split(&mut self, from: LeafRef<'db, Gap>, after: u64, into: LeafRef<'db, Gap>) {
        let (from_given, into_given) = (from.meta().given(), into.meta().given());
        let reads: Vec<_> = self.leaves.find_all(from.id()).collect();
        for at in reads {
            let read = self.leaves.get_mut(at);
            if read.given + 1 == from_given {
                let has_grown = read.has_grown || read.leaf.seen() != from.seen();
                *read = Read { leaf: from.at(after), given: from_given, has_grown };
                self.leaves.push(into.id(), Read { leaf: into, given: into_given, has_grown });
            }
        }
        let entered: Vec<_> = self.entered.find_all(from.id()).collect();
        for at in entered {
            let known = self.entered.get_mut(at);
            if known.given + 1 == from_given {
                known.given = from_given;
                self.entered.push(into.id(), Entered { leaf: into, given: into_given });
            }
        }
    }

    // ANCHOR: certify
    /// Decides on a commit with this number, and leaves its marks. The versions in `writes` are marked as committing.
    ///
    /// # Errors
    /// When the attempt must not commit.
    fn certify(
        &mut self,
        slot: &Slot<'db, S>,
        writes: &PendingWrites<'db, S>,
        shared: &Shared,
        number: u64,
    ) -> Result<(), Abort> {
        self.look_for_overwriters(slot, &shared.deciding, number);
        if self.rule.is_refused(true) {
            return Err(Abort::ReadChanged);
        }
        let mut has_grown = false;
        for read in self.leaves.iter_mut() {
            has_grown |= read.look()?;
        }
        if has_grown || self.reads_stale {
            shared.deciding.wait_for(0, number);
            self.ask(slot, shared, number)?;
        }
        self.look_for_readers(slot, writes, shared, number)?;
        if self.rule.is_refused(true) {
            return Err(Abort::ReadChanged);
        }
        for &(record, _) in &self.reads {
            mark(record, number)?;
        }
        for read in self.leaves.iter_mut() {
            read.mark(number)?;
        }
        self.mark_stale(shared, number);
        Ok(())
    }
    // ANCHOR_END: certify

    /// Decides on an attempt that only reads, or that rolls back and counts as one that only reads, and leaves its
    /// marks.
    ///
    /// # Errors
    /// When the attempt's reads must not be believed.
    fn certify_reading(
        &mut self,
        slot: &Slot<'db, S>,
        writes: &PendingWrites<'db, S>,
        shared: &Shared,
    ) -> Result<(), Abort> {
        let mark_of_all = self.rule.reader_mark();
        let written = writes.versions().map(|(record, version)| {
            let before = slot.older(version);
            (record, before.map_or(0, |before| before.meta().stamp.number()))
        });
        for (record, number) in self.reads.iter().copied().chain(written) {
            // An attempt that overwrites a version has the version's writer, with its number, before itself.
            mark(record, if number < mark_of_all { mark_of_all } else { 0 })?;
        }
        let mut has_grown = false;
        for read in self.leaves.iter_mut() {
            has_grown |= read.mark(mark_of_all)?;
        }
        self.mark_stale(shared, mark_of_all);
        if has_grown || self.reads_stale {
            // SeqCst fence: pairs with the one in `look_for_readers`. Of an attempt that marks a leaf, or all stale
            // versions, and then looks at the deciding slots, and one that decides and then looks for marks, at least
            // one sees the other.
            fence(Ordering::SeqCst);
            shared.deciding.wait_for(0, DRAWING);
            self.ask(slot, shared, DRAWING)?;
        }
        self.look_for_overwriters(slot, &shared.deciding, DRAWING);
        if self.rule.is_refused(false) { Err(Abort::ReadChanged) } else { Ok(()) }
    }

    /// Leaves a mark for all stale versions, if the attempt has read some.
    #[inline]
    fn mark_stale(&self, shared: &Shared, mark: u64) {
        if let (true, Some(stale)) = (self.reads_stale, &shared.stale) {
            stale.mark(mark);
        }
    }

    /// Finds the commits with numbers before `end` that have overwritten reads of the attempt, and forgets these reads:
    /// invariant (3).
    fn look_for_overwriters(&mut self, slot: &Slot<'db, S>, deciding: &Deciding, end: u64) {
        let Self { reads, rule, .. } = self;
        reads.retain(|&(record, number)| {
            let over = overwriter(slot, record, number, deciding, end);
            if let Some(over) = over {
                rule.is_overwritten(over.meta().stamp.number(), over.meta().note());
            }
            over.is_none()
        });
    }

    /// Asks the leaves that keys of others have entered for the notes of those commits, and asks for stale versions
    /// that were overwritten before `end`.
    #[cold]
    fn ask(&mut self, slot: &Slot<'db, S>, shared: &Shared, end: u64) -> Result<(), Abort> {
        for read in self.leaves.iter().filter(|read| read.has_grown) {
            self.rule.is_entered(read.told_since(self.snapshot)?);
        }
        if let (true, Some(stale)) = (self.reads_stale, &shared.stale)
            && let Some((number, note)) = stale.told(slot.id(), end)
        {
            self.rule.is_overwritten(number, note);
        }
        Ok(())
    }

    /// Finds the commits that have read what the attempt overwrites, if there is any danger in them.
    fn look_for_readers(
        &mut self,
        slot: &Slot<'db, S>,
        writes: &PendingWrites<'db, S>,
        shared: &Shared,
        number: u64,
    ) -> Result<(), Abort> {
        if let Some(stale) = &shared.stale {
            let is_stale = |before: VersionRef<'_, S>| stale.is_stale(before.meta().stamp.number(), number);
            self.overwrites_stale =
                writes.versions().any(|(_, version)| slot.older(version).is_some_and(is_stale));
        }
        let Some(from) = self.rule.fears_readers_from() else { return Ok(()) };
        // SeqCst fence: pairs with those in `certify_reading` and `overwriter`.
        fence(Ordering::SeqCst);
        shared.deciding.wait_for(from, number);
        for (record, _) in writes.versions() {
            self.rule.is_read(record.header().rts());
        }
        if self.reuses && !is_planted(&plants::REUSE_UNNOTICED) {
            self.rule.is_read(number - 1); // Invariant (7).
        }
        if let Some(safe) = &shared.safe {
            self.rule.is_read(safe.number());
        }
        if let (true, Some(stale)) = (self.overwrites_stale, &shared.stale) {
            self.rule.is_read(stale.marked());
        }
        for Entered { leaf, given } in self.entered.iter() {
            let read = leaf.meta().read();
            // Acquire fence: a mark that came together with other gaps comes with the count.
            fence(Ordering::Acquire);
            if leaf.meta().given() != *given {
                return Err(Abort::Phantom);
            }
            self.rule.is_read(read);
        }
        Ok(())
    }

    /// Stores the note for the readers of a version of the commit.
    #[inline]
    fn note(&self, version: &NotedStamp, number: u64) {
        assert!(!self.rule.is_refused(true), "what is refused numbers no versions");
        version.set_note(self.rule.note(number));
    }

    /// Called when the commit's versions have their numbers. Tells attempts that do not remember their stale reads, and
    /// tells the leaves that a key has entered, for attempts that have not found the key and so see no note of its
    /// versions.
    #[inline]
    fn tell(&self, shared: &Shared, number: u64, watermark: u64) {
        if let (true, Some(stale)) = (self.overwrites_stale, &shared.stale) {
            stale.tell(number, self.rule.note(number));
        }
        if self.rule.fears_readers_from().is_none() {
            return;
        }
        for Entered { leaf, given } in self.entered.iter() {
            // An attempt that looked at a leaf which has given gaps away since, or is gone, finds out.
            if let Some(_held) = leaf.hold_as_is()
                && leaf.meta().given() == *given
            {
                leaf.meta().tell(number, self.rule.note(number), watermark);
            }
        }
    }
}

/// Leaves a mark with a record that was read.
#[inline]
fn mark<S: Watched>(record: RecordRef<'_, S>, mark: u64) -> Result<(), Abort> {
    let mark = if is_planted(&plants::READS_UNMARKED) { 0 } else { mark };
    // A record that has left the indexes protects nothing any more.
    if record.header().read_at(mark) { Ok(()) } else { Err(Abort::ReadChanged) }
}

/// The version that a commit with a number before `end` has put over the version with this `number`.
#[inline]
fn overwriter<'db, S: Watched>(
    slot: &Slot<'db, S>,
    record: RecordRef<'db, S>,
    number: u64,
    deciding: &Deciding,
    end: u64,
) -> Option<VersionRef<'db, S>> {
    let newest = slot.newest(record)?;
    if newest.meta().stamp.number() <= number {
        return None;
    }
    search_overwriter(slot, record, number, deciding, end)
}

#[cold]
fn search_overwriter<'db, S: Watched>(
    slot: &Slot<'db, S>,
    record: RecordRef<'db, S>,
    number: u64,
    deciding: &Deciding,
    end: u64,
) -> Option<VersionRef<'db, S>> {
    let (mut over, mut next) = (None, slot.newest(record));
    while let Some(version) = next {
        let stamp = &version.meta().stamp;
        let mut found = stamp.number();
        let is_undecided = (VersionStamp::UNDECIDED..VersionStamp::COMMITTING).contains(&found);
        if is_undecided && end == DRAWING {
            // SeqCst fence: pairs with the one in `look_for_readers`. Of an attempt that marks a record and then finds
            // a version undecided, and one that makes the version committing and then looks for marks, one sees the
            // other.
            fence(Ordering::SeqCst);
            found = stamp.number();
        }
        let is_own = found == VersionStamp::COMMITTING + slot.id() as u64;
        if found <= number {
            break;
        } else if found >= VersionStamp::COMMITTING && !is_own {
            match deciding.is_later(version, found, end) {
                Some(true) => {}
                Some(false) if is_planted(&plants::OVERWRITERS_UNAWAITED) => {}
                decided => {
                    if decided.is_some() {
                        wait_for_number(version, found);
                    }
                    (over, next) = (None, slot.newest(record));
                    continue;
                }
            }
        } else if found < VersionStamp::UNDECIDED {
            over = Some(version);
        }
        next = slot.older(version);
    }
    over
}

/// The certifier that refuses the attempts that a rule refuses.
#[derive(Debug)]
pub struct Watching<R: AntiDependencyRule> {
    shared: Shared,
    line: R::Line,
    sees_all: bool,
    rule: PhantomData<R>,
}

impl<R: AntiDependencyRule> Certifier for Watching<R> {
    const INFO: Info = R::INFO;
    type Settings = R::Settings;
    type Version = NotedStamp;
    type Leaf = Gap;
    type Certificate<'db, S: Certified<Self>> = AntiDependencies<'db, S, R>;

    fn new(settings: &R::Settings, env: Env) -> Self {
        let Options { sees_all, safe_ns, stale } = R::options(settings);
        let has_options = safe_ns.is_some() || stale.is_some();
        assert!(
            !has_options || R::LENIENT.is_some(),
            "rules without a lenient line are spared the questions"
        );
        let shared = Shared {
            // One slot more, which takes safe snapshots.
            deciding: Deciding::new(env.slots + usize::from(safe_ns.is_some())),
            safe: safe_ns.map(|period_ns| SafeSnapshots::new(period_ns, env.slots)),
            stale: stale.map(|(remembered, age)| StaleReads::new(age, remembered, env.slots)),
        };
        Self { shared, line: R::line(settings), sees_all, rule: PhantomData }
    }

    fn wait_us(settings: &R::Settings) -> u64 {
        R::wait_us(settings)
    }

    /// Two reads of the newest commits may have another commit between them.
    fn facts(settings: &R::Settings) -> Facts {
        let facts = R::facts(settings);
        if R::options(settings).sees_all { Facts { views: Views::Unconfirmed, ..facts } } else { facts }
    }

    fn numbers(&self, slots: usize) -> Timestamps {
        if self.shared.safe.is_some() { Timestamps::with_past(slots) } else { Timestamps::new(slots) }
    }

    #[inline]
    fn begin<S: Certified<Self>>(
        &self,
        certificate: &mut Self::Certificate<'_, S>,
        slot: usize,
        commits: &Timestamps,
        ticket: &Ticket,
    ) -> SnapshotView {
        if let (Some(safe), Some(lenient)) = (&self.shared.safe, R::LENIENT)
            && ticket.read_only
        {
            safe.take_if_due(ticket.birth, &self.shared.deciding, commits);
            let snapshot = commits.past(slot);
            certificate.begin(lenient, snapshot);
            return SnapshotView::of(snapshot);
        }
        let snapshot = commits.snapshot(slot);
        certificate.begin(self.line, snapshot);
        SnapshotView { snapshot, sees: if self.sees_all { VersionStamp::UNDECIDED - 1 } else { snapshot } }
    }

    #[inline]
    fn read<'db, S: Certified<Self>>(
        &self,
        certificate: &mut Self::Certificate<'db, S>,
        slot: &Slot<'db, S>,
        record: RecordRef<'db, S>,
        version: Option<VersionRef<'db, S>>,
        over: Option<VersionRef<'db, S>>,
    ) -> Result<(), Abort> {
        if R::LENIENT.is_some()
            && let (Some(stale), Some(version), None) = (&self.shared.stale, version, over)
            && stale.is_enough(certificate.reads.len())
            && certificate.read_stale(stale, slot, record, version)
        {
            return Ok(());
        }
        certificate.read(record, version, over)
    }

    #[inline]
    fn wrote<'db, S: Certified<Self>>(
        certificate: &mut Self::Certificate<'db, S>,
        record: RecordRef<'db, S>,
        over: Option<VersionRef<'db, S>>,
    ) {
        certificate.wrote(record, over);
    }

    #[inline]
    fn passes<S: Certified<Self>>(&self, version: VersionRef<'_, S>, mark: u64, snapshot: u64) -> bool {
        self.shared.deciding.is_later(version, mark, snapshot) == Some(true)
    }

    #[inline]
    fn read_gaps<'db, S: Certified<Self>>(
        certificate: &mut Self::Certificate<'db, S>,
        leaf: LeafRef<'db, Gap>,
    ) {
        certificate.read_gaps(leaf);
    }

    #[inline]
    fn entering<S: Certified<Self>>(record: RecordRef<'_, S>, leaf: &Gap) -> Result<(), Abort> {
        entering(record, leaf)
    }

    #[inline]
    fn added<'db, S: Certified<Self>>(
        certificate: &mut Self::Certificate<'db, S>,
        before: LeafRef<'db, Gap>,
        after: u64,
    ) {
        certificate.added(before, after);
    }

    #[inline]
    fn reusing<S: Certified<Self>>(certificate: &mut Self::Certificate<'_, S>) {
        certificate.reuses = true;
    }

    #[inline]
    fn split<'db, S: Certified<Self>>(
        certificate: &mut Self::Certificate<'db, S>,
        from: LeafRef<'db, Gap>,
        after: u64,
        into: LeafRef<'db, Gap>,
    ) {
        certificate.split(from, after, into);
    }

    #[inline]
    fn space<S: Certified<Self>>(writes: &PendingWrites<'_, S>) -> u64 {
        R::space(writes)
    }

    #[inline]
    fn draw(&self, slot: usize, commits: &Timestamps, space: u64) -> u64 {
        self.shared.deciding.draw(slot, commits, space)
    }

    #[inline]
    fn certify<'db, S: Certified<Self>>(
        &self,
        certificate: &mut Self::Certificate<'db, S>,
        slot: &Slot<'db, S>,
        writes: &PendingWrites<'db, S>,
        number: Option<u64>,
    ) -> Result<(), Abort> {
        let is_watched = certificate.rule.watches();
        assert!(
            is_watched || number.is_none() || !R::begin(self.line, 0).watches(),
            "a procedure that is declared read-only writes nothing"
        );
        match number {
            _ if !is_watched => Ok(()),
            Some(number) => certificate.certify(slot, writes, &self.shared, number),
            None => certificate.certify_reading(slot, writes, &self.shared),
        }
    }

    #[inline]
    fn numbered<S: Certified<Self>>(
        certificate: &Self::Certificate<'_, S>,
        version: &NotedStamp,
        number: u64,
    ) {
        certificate.note(version, number);
    }

    #[inline]
    fn ended<S: Certified<Self>>(
        &self,
        certificate: &Self::Certificate<'_, S>,
        slot: usize,
        made: Option<Made>,
    ) {
        if let Some(Made { number, watermark }) = made {
            certificate.tell(&self.shared, number, watermark);
        }
        self.shared.deciding.decided(slot);
    }

    #[inline]
    fn left<S: Certified<Self>>(&self, certificate: &mut Self::Certificate<'_, S>, slot: usize) {
        if R::LENIENT.is_some()
            && let (true, Some(stale)) = (certificate.reads_stale, &self.shared.stale)
        {
            certificate.reads_stale = false;
            stale.leave(slot);
        }
    }

    fn maintain(&self, commits: &Timestamps) {
        if let Some(safe) = &self.shared.safe {
            safe.take_if_due(clock::ticks(), &self.shared.deciding, commits);
        }
    }

    #[inline]
    fn watermark(&self, commits: &Timestamps) -> Option<u64> {
        self.shared.safe.is_some().then(|| commits.known_watermark())
    }

    fn retire<S: Certified<Self>>(
        record: RecordRef<'_, S>,
        leaf: &Gap,
        is_past: impl Fn(u64) -> bool,
    ) -> Retire {
        retire(record, leaf, is_past)
    }

    fn leaving<S: Certified<Self>>(
        record: RecordRef<'_, S>,
        leaf: &Gap,
        is_past: impl Fn(u64) -> bool,
    ) -> Retire {
        leaving(record, leaf, is_past)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_goes_where_its_version_goes() {
        let (from, to) = (NotedStamp::default(), NotedStamp::default());
        from.set_note(4);
        from.stamp().set_number(VersionStamp::COMMITTING);
        assert!(!from.copy_final(&to), "it is not decided yet");
        from.stamp().set_number(9);
        assert!(from.copy_final(&to));
        assert_eq!((to.stamp().number(), to.note()), (9, 4));
    }
}
