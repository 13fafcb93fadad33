//! All tables of a database, and slots: the storage side of a session, through which an attempt pins what
//! it looks at, gets memory, and gives memory back.
//!
//! INVARIANTS
//! (1) A slot's attempt number grows with each pin, so that a `VersionRef` of an earlier attempt is told from a
//!     reference that is still protected.
//! (2) What was unlinked during an attempt is stamped with the epoch when the attempt unpins, after the
//!     unlinking, and used again only when that epoch is past.
//! (3) A record is settled when it has one version, which stands within the record, or anywhere if none ever stands
//!     there. Whoever takes a version off a record, or leaves a version on it that is not settled, ensures that the
//!     record is settled: at once, or because the place within the record waits to come home (`come_home`), or through
//!     a number in `unsettled`. If the record was written again, this is left to that writer; if others hold the place
//!     within the record, to those.

use core::marker::PhantomData;
use core::ops::ControlFlow;
use core::ptr::NonNull;

use sync::atomic::{AtomicBool, AtomicPtr, Ordering, fence};
use sync::plant::is_planted;
use sync::{IS_STEPPED, Latched};

use crate::arena::{Block, Reserve};
use crate::epoch::{Epochs, Participant};
use crate::key::Home;
use crate::owned::{Partition, PartitionClaim, Partitions};
use crate::part::is_in;
use crate::plants;
use crate::record::{self, RecordRef};
use crate::row::TableId;
use crate::schema::{FirstMemory, Layout, NoMemory, Schema};
use crate::shape::{Data, DataKind, InPlace, Shape, Versioned};
use crate::stock::Stock;
use crate::table::{AnyIndex, NewRow, RowRef, TableMemory, TableStore};
use crate::unsettled::{Shared, Unsettled};
use crate::version::{self, Loan, Pending, VersionHead, VersionRef};
use crate::waiting::Waiting;

/// Attempts between two tries to advance the epoch.
const ADVANCE_EVERY: u32 = 8;
/// Attempts between two looks at whether the indexes need memory soon.
const POPULATE_EVERY: u32 = 64;

/// The tables of a database and what they share.
#[derive(Debug)]
pub struct Tables<S: Shape> {
    stores: Vec<TableStore<S>>,
    epochs: Epochs,
    partitions: Partitions,
    has_marks: bool,
    changes_often: bool,
    layout: Layout,
    keeps_versions: bool,
    reserve: Reserve,
    /// Things that were waiting in slots that were given up.
    left_behind: Latched<Waiting<Unlinked>>,
    /// Whether there may be such things: slots that begin together would wait for the latch.
    has_left_behind: AtomicBool,
    /// Records to settle, from slots that were given up or that have too many.
    unsettled: Shared<At>,
}

// SAFETY: the blocks left behind are plain addresses that belong to whoever takes them out.
unsafe impl<S: Shape> Send for Tables<S> {}
// SAFETY: as above; the rest is shared by design.
unsafe impl<S: Shape> Sync for Tables<S> {}

impl<S: Shape> Tables<S> {
    /// Empty tables. `slots` bounds the number of sessions at a time; `partitions` is the number of owners for schemes
    /// that own partitions; with `keeps_versions`, data in place has older versions beside it.
    ///
    /// # Panics
    /// When versions are to be kept, but the data is not in place; and when there is no memory for the expected rows.
    pub fn new(schema: &Schema, slots: usize, partitions: usize, keeps_versions: bool) -> Self {
        let made = Self::try_new(schema, slots, partitions, keeps_versions);
        made.unwrap_or_else(|no_memory| panic!("{no_memory}"))
    }

    /// As [`new`](Self::new).
    ///
    /// # Errors
    /// When there is no memory for the expected rows.
    ///
    /// # Panics
    /// When versions are to be kept, but the data is not in place.
    pub fn try_new(
        schema: &Schema,
        slots: usize,
        partitions: usize,
        keeps_versions: bool,
    ) -> Result<Self, NoMemory> {
        let is_in_place = matches!(S::Data::KIND, DataKind::InPlace);
        assert!(is_in_place || !keeps_versions, "older versions are kept beside data in place");
        let tables = schema.tables.iter().enumerate();
        let store = |(id, decl)| TableStore::new(TableId(id as u16), decl, schema, keeps_versions);
        Ok(Self {
            stores: tables.map(store).collect::<Result<_, _>>()?,
            epochs: Epochs::new(slots),
            partitions: Partitions::new(partitions, slots),
            has_marks: schema.has_marks,
            changes_often: schema.changes_often,
            layout: schema.layout,
            keeps_versions,
            reserve: Reserve::default(),
            left_behind: Latched::default(),
            has_left_behind: AtomicBool::new(false),
            unsettled: Shared::default(),
        })
    }

    /// The memory that the index of each table takes at first for the rows that the table expects, computed before any
    /// table is made.
    pub fn first_memory(schema: &Schema) -> impl Iterator<Item = FirstMemory> {
        schema.tables.iter().map(AnyIndex::<S::Leaf>::first_memory)
    }

    /// Whether each record has a mark behind its row: see [`Schema::mark_values`].
    #[inline]
    pub fn has_marks(&self) -> bool {
        self.has_marks
    }

    /// Asks the system for `bytes` of memory ahead of time, so that tables that grow while transactions
    /// run wait for no page faults.
    pub fn reserve(&self, bytes: usize) {
        self.reserve.add(bytes);
    }

    /// A table.
    #[inline]
    pub fn get(&self, id: TableId) -> &TableStore<S> {
        &self.stores[usize::from(id.0)]
    }

    /// A table, if there is one of this number.
    pub fn find(&self, id: TableId) -> Option<&TableStore<S>> {
        self.stores.get(usize::from(id.0))
    }

    /// All tables.
    pub fn iter(&self) -> impl Iterator<Item = &TableStore<S>> {
        self.stores.iter()
    }

    /// Bytes that the tables use: see [`TableStore::bytes`].
    pub fn bytes(&self) -> usize {
        self.stores.iter().map(TableStore::bytes).sum()
    }

    /// The use of the memory, one element for each table.
    pub fn memory(&self) -> Vec<TableMemory> {
        self.stores.iter().map(TableStore::memory).collect()
    }

    /// The part of the tables that has an address, in words: for people who look at the cache lines of a run. `None` if
    /// the address is neither a table's nor that of a thing that tables share.
    pub fn part_at(&self, address: usize) -> Option<String> {
        let of_tables = || self.stores.iter().find_map(|store| store.part_at(address));
        let part = self.partitions.part_at(address).or_else(|| self.epochs.part_at(address));
        let shared = [
            (is_in(&self.reserve, address), "memory in reserve"),
            (is_in(&self.left_behind, address), "what sessions left behind"),
            (is_in(&self.unsettled, address), "the queue of unsettled records"),
            (is_in(self, address), "words that all tables share"),
        ];
        let named = || shared.iter().find(|(is_part, _)| *is_part).map(|(_, name)| (*name).to_owned());
        part.or_else(of_tables).or_else(named)
    }

    /// Takes a slot.
    ///
    /// # Panics
    /// When all are taken.
    pub fn slot(&self) -> Slot<'_, S> {
        let stock = self.stores.iter().map(|table| TableStock {
            rows: Stock::new(),
            fresh: Stock::new(),
            versions: (0..table.groups()).map(|_| Stock::new()).collect(),
        });
        Slot {
            tables: self,
            participant: self.epochs.join(),
            attempt: 0,
            is_urgent: false,
            stock: stock.collect(),
            waiting: self.left_behind(),
            unsettled: Unsettled::default(),
        }
    }

    /// Takes what slots that were given up left behind.
    fn left_behind(&self) -> Waiting<Unlinked> {
        // Relaxed, twice: a hint, which is written under the latch.
        let is_there = || self.has_left_behind.load(Ordering::Relaxed);
        let left_behind = if is_there() { self.left_behind.lock_while(is_there) } else { None };
        let Some(mut left_behind) = left_behind else { return Waiting::default() };
        self.has_left_behind.store(false, Ordering::Relaxed);
        core::mem::take(&mut left_behind)
    }

    /// All tables, while they are made.
    pub(crate) fn stores_mut(&mut self) -> impl Iterator<Item = &mut TableStore<S>> {
        self.stores.iter_mut()
    }

    /// The version that may stand within a record of these tables; `None` if none may.
    #[inline]
    fn home(&self, record: RecordRef<'_, S>) -> Option<Inline<S>> {
        let has_home = matches!(S::Data::KIND, DataKind::Versioned) && !self.layout.has_versions_apart;
        // SAFETY: the layout of all tables gives their records room for a version.
        has_home.then(|| Inline(unsafe { record.inline() }))
    }

    /// Writes the first value of a record that nobody knows yet; `pooled` claims a version outside of the record.
    pub(crate) fn fill_first(
        &self,
        record: RecordRef<'_, S>,
        value: &[u64],
        pooled: impl FnOnce() -> NonNull<VersionHead<S>>,
    ) {
        assert_eq!(value.len(), record.width(), "a value has its record's width");
        let to = match S::Data::KIND {
            DataKind::InPlace | DataKind::Owned => record.data(),
            DataKind::Versioned => {
                let head = match self.home(record) {
                    None => pooled(),
                    Some(home) => {
                        assert!(home.head().claim_inline(), "nobody uses a new row's inline version");
                        home.0
                    }
                };
                // SAFETY: the version was just claimed and is known to nobody.
                let words = unsafe { head.cast::<u8>().add(version::version_head_bytes::<S>()) };
                // SAFETY: as above; its head is built.
                unsafe { head.as_ref() }.seal_first();
                // Release: pairs with the load in `newest`, by a slot that settles the record which the row's memory
                // was before.
                record.versioned().newest.store(head.as_ptr(), Ordering::Release);
                words.cast()
            }
        };
        // SAFETY: the words are `value.len()` wide and known to nobody else, since the row is not.
        unsafe { to.copy_from_nonoverlapping(NonNull::from(value).cast(), value.len()) };
    }

    pub(crate) fn owner(&self, home: Home) -> *const Partition {
        match home {
            Home::At(home) if self.partitions.len() > 0 => self.partitions.get(self.partitions.of_home(home)),
            _ => core::ptr::null(),
        }
    }
}

/// The version within a record; its words follow its head.
struct Inline<S: Shape>(NonNull<VersionHead<S>>);

impl<S: Shape> Clone for Inline<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Shape> Copy for Inline<S> {}

impl<S: Shape> Inline<S> {
    #[inline]
    fn head(&self) -> &VersionHead<S> {
        // SAFETY: the record was built with it, and it is accessed only as this.
        unsafe { self.0.as_ref() }
    }
}

/// Memory that a slot keeps in stock for one table.
#[derive(Debug)]
struct TableStock {
    rows: Stock,
    /// Of a table of owned rows, blocks that never were a row: any owner may get them.
    fresh: Stock,
    /// By column group.
    versions: Vec<Stock>,
}

/// Something unlinked, to be used again later.
#[derive(Debug)]
enum Unlinked {
    Row(TableId, Block),
    /// A row that has given up its versions.
    Emptied(TableId, Block),
    /// A version of a pool.
    Version(TableId, u16, Block),
    /// The inline version of a record.
    Inline(TableId, u16, Block),
}

/// The place of a record, for holders that may outlive the lender of the record.
#[derive(Clone, Copy, Debug)]
struct At {
    table: TableId,
    group: u16,
    block: Block,
}

/// The storage side of a session.
#[derive(Debug)]
pub struct Slot<'db, S: Shape> {
    tables: &'db Tables<S>,
    participant: Participant<'db>,
    attempt: u32,
    /// See [`urge`](Self::urge).
    is_urgent: bool,
    stock: Vec<TableStock>,
    /// Stamped when the attempt that unlinked them unpins.
    waiting: Waiting<Unlinked>,
    /// Each record with a number: once the watermark has reached it, nobody needs what is older than the record's
    /// version of that number.
    unsettled: Unsettled<At>,
}

// SAFETY: the blocks in stock and in waiting belong to the slot alone.
unsafe impl<S: Shape> Send for Slot<'_, S> {}

impl<'db, S: Shape> Slot<'db, S> {
    /// The slot's number, below the number of slots that the database was made for.
    #[inline]
    pub fn id(&self) -> usize {
        self.participant.seat()
    }

    /// The tables.
    #[inline]
    pub fn tables(&self) -> &'db Tables<S> {
        self.tables
    }

    /// Begins an attempt: the memory at which it looks is not used again before [`unpin`](Self::unpin).
    #[inline]
    pub fn pin(&mut self) {
        self.attempt = self.attempt.wrapping_add(1);
        self.participant.pin();
    }

    /// Ends an attempt, and now and then moves reclamation on.
    #[inline]
    pub fn unpin(&mut self) {
        let is_due = self.attempt.is_multiple_of(ADVANCE_EVERY) || IS_STEPPED && self.tables.changes_often;
        if is_due {
            self.reclaim(); // Still pinned: moving a version looks at it.
        }
        self.participant.unpin();
        self.waiting.stamp(|| self.tables.epochs.stamp());
        if is_due {
            self.participant.help_advance(core::mem::take(&mut self.is_urgent));
            self.unsettled.help(&self.tables.unsettled);
        }
        if self.attempt.is_multiple_of(POPULATE_EVERY) {
            let tables = self.tables;
            tables.stores.iter().for_each(|store| store.populate_ahead(&tables.reserve));
        }
    }

    /// The epoch to stamp on things unlinked before, for owners of things that storage does not know.
    #[inline]
    pub fn stamp(&self) -> u64 {
        self.tables.epochs.stamp()
    }

    /// Says that somebody waits for memory to be past: this slot then tries to advance the epoch without waiting for
    /// its turn.
    #[inline]
    pub fn urge(&mut self) {
        self.is_urgent = true;
    }

    /// Whether every attempt that was pinned at `stamp` has ended.
    #[inline]
    pub fn is_past(&self, stamp: u64) -> bool {
        self.tables.epochs.is_past(stamp)
    }

    fn reclaim(&mut self) {
        let epochs = &self.tables.epochs;
        let is_past = |epoch: u64| {
            is_planted(&plants::REUSES_AT_ONCE)
                || is_planted(&plants::REUSES_EARLY) && epochs.is_past(epoch.saturating_sub(1))
                || epochs.is_past(epoch)
        };
        while let count @ 1.. = self.waiting.end_run(is_past) {
            for _ in 0..count {
                match self.waiting.take() {
                    Unlinked::Row(table, block) => {
                        if self.empty_row(RowRef { at: block, table: self.tables.get(table) }) {
                            self.waiting.push(Unlinked::Emptied(table, block));
                        } else {
                            self.stock_row(table, block);
                        }
                    }
                    Unlinked::Emptied(table, block) => self.stock_row(table, block),
                    Unlinked::Version(table, group, block) => {
                        let arena = &self.tables.get(table).versions[usize::from(group)];
                        let versions = &mut self.stock[usize::from(table.0)].versions[usize::from(group)];
                        // A thread that waits for a version to be decided may look at its head even now.
                        arena.retire(block, version::version_head_bytes::<S>());
                        versions.put(block);
                        versions.give_surplus(arena);
                    }
                    Unlinked::Inline(table, group, block) => {
                        let record = self.record(At { table, group, block });
                        let home = self.tables.home(record).expect("a version has stood within the record");
                        self.come_home(record, home);
                    }
                }
            }
        }
    }

    fn stock_row(&mut self, table: TableId, block: Block) {
        let rows = &mut self.stock[usize::from(table.0)].rows;
        rows.put(block);
        // Blocks of owned rows stay here: they serve rows of the same owner only.
        if !matches!(S::Data::KIND, DataKind::Owned) {
            rows.give_surplus(&self.tables.get(table).rows);
        }
    }

    fn record(&self, at: At) -> RecordRef<'db, S> {
        let words = self.tables.get(at.table).width(usize::from(at.group));
        // SAFETY: an `At` is made of a record of these tables.
        unsafe { RecordRef::new(at.block, words, at.table, at.group) }
    }

    /// Gives up the versions of a row to which no index leads any more. Returns whether some versions within the row
    /// must wait for those who settle its records. Until now the versions were left alone: an attempt that knew the row
    /// may have pushed a version, to take it back when it found the row given up.
    fn empty_row(&mut self, row: RowRef<'db, S>) -> bool {
        if self.tables.keeps_versions {
            row.records().for_each(|record| self.retire_kept(record, self.kept_link(record)));
        }
        let DataKind::Versioned = S::Data::KIND else { return false };
        let mut waits = false;
        for record in row.records() {
            // AcqRel: pairs with the push of the newest version, and with `move_home`, which from now on moves no
            // version of this chain.
            let newest = record.versioned().newest.swap(core::ptr::null_mut(), Ordering::AcqRel);
            waits |= self.retire_chain(record, newest);
        }
        waits
    }

    /// Frees a record's inline version, which the caller holds and nobody looks at. If the record's one version is in a
    /// pool, it moves into the inline place instead. So a record that is written now and then stays in one piece, and
    /// pools are only as large as what is in motion.
    fn come_home(&mut self, record: RecordRef<'db, S>, home: Inline<S>) {
        while !self.move_home(record, home) {
            home.head().free_inline();
            // SeqCst fence: pairs with the one in `settle`. Of a thread that settles the record and finds no room in
            // it, and a thread that makes room and finds the record not settled, at least one sees what the other did.
            fence(Ordering::SeqCst);
            // Acquire: pairs with the push of the newest version.
            let newest = NonNull::new(record.versioned().newest.load(Ordering::Acquire));
            // SAFETY: versions on a chain are built and type-stable.
            let is_left = newest.is_some_and(|newest| unsafe { newest.as_ref() }.is_settled());
            if !is_left || !home.head().claim_inline() {
                return;
            }
        }
    }

    /// Moves a record's one version to the place within the record, which the caller holds.
    fn move_home(&mut self, record: RecordRef<'db, S>, home: Inline<S>) -> bool {
        let head = record.versioned();
        // Acquire: pairs with the push of the newest version.
        let newest = head.newest.load(Ordering::Acquire);
        let Some(from) = NonNull::new(newest) else { return false };
        let to = home.0;
        // SAFETY: the slot is pinned, so the newest version is in use, if no longer by this record, and the
        // inline one belongs to the caller until it is free. Both have the record's width.
        let is_moved = unsafe { version::copy_only(from, to, record.width()) }
            // AcqRel: publishes the version in its new place; Acquire pairs with other pushes. Relaxed on
            // failure: nothing is read.
            && head.newest.compare_exchange(newest, to.as_ptr(), Ordering::AcqRel, Ordering::Relaxed).is_ok();
        if is_moved {
            self.waiting.push(Unlinked::Version(record.table(), record.group() as u16, from.cast()));
        }
        is_moved
    }

    /// Memory for a row that nobody knows yet: its records have default headers and no value.
    pub fn new_row(&mut self, table: &'db TableStore<S>, home: Home) -> NewRow<'db, S> {
        assert!(core::ptr::eq(self.tables.get(table.id()), table), "a slot serves its database's tables");
        let owner = self.tables.owner(home);
        let TableStock { rows, fresh, .. } = &mut self.stock[usize::from(table.id().0)];
        let (at, stock) = if let DataKind::Owned = S::Data::KIND {
            // A row's memory stays with its owner, so that a claim held on a partition keeps every
            // writer away from whatever was borrowed under it.
            (rows.find(|at| owner_of(RowRef { at, table }) == owner), fresh)
        } else {
            (None, rows)
        };
        let (reserve, attempt) = (&self.tables.reserve, self.attempt);
        let fresh_row = || stock.take(&table.rows, reserve, attempt, |at| table.build_row(at));
        let at = at.unwrap_or_else(fresh_row);
        let row = RowRef { at, table };
        for record in row.records() {
            record::reset(record, owner);
        }
        NewRow { row, only: PhantomData }
    }

    /// Gives back a row that was never published.
    pub fn discard_row(&mut self, new: NewRow<'db, S>) {
        let row = new.into_row();
        self.stock[usize::from(row.table.id().0)].rows.put(row.at);
    }

    /// Gives up a row that was published and that no index holds any more.
    pub fn retire_row(&mut self, row: RowRef<'db, S>) {
        // A record that everyone may read without a claim is never written again.
        if !(matches!(S::Data::KIND, DataKind::Owned) && owner_of(row).is_null()) {
            self.waiting.push(Unlinked::Row(row.table.id(), row.at));
        }
    }

    /// Writes the first value of a row's record before the row is published.
    ///
    /// # Panics
    /// When `value` has another width.
    pub fn fill(&mut self, row: &NewRow<'db, S>, group: usize, value: &[u64]) {
        let (record, tables) = (row.row.record(group), self.tables);
        tables.fill_first(record, value, || self.pooled_version(record).head);
    }

    fn inline_version(&self, record: RecordRef<'db, S>) -> Option<VersionRef<'db, S>> {
        let home = self.tables.home(record)?;
        home.head().claim_inline().then(|| self.version(home.0, record))
    }

    #[inline]
    fn version(&self, head: NonNull<VersionHead<S>>, record: RecordRef<'db, S>) -> VersionRef<'db, S> {
        VersionRef { head, words: record.width() as u32, attempt: self.attempt, db: PhantomData }
    }

    /// A claim that holds nothing yet.
    pub fn claim(&self) -> PartitionClaim<'db> {
        PartitionClaim::new(&self.tables.partitions, self.id())
    }

    /// Gives up versions that the caller has taken off their chain. Returns whether the inline version is among them.
    fn retire_chain(&mut self, record: RecordRef<'db, S>, mut newest: *mut VersionHead<S>) -> bool {
        let mut has_inline = false;
        while let Some(head) = NonNull::new(newest) {
            // SAFETY: versions on a chain are built and type-stable.
            let version = unsafe { head.as_ref() };
            newest = version.take_older();
            has_inline |= version.is_at_home();
            self.retire_one(record, head);
        }
        has_inline
    }

    fn retire_one(&mut self, record: RecordRef<'db, S>, head: NonNull<VersionHead<S>>) {
        // SAFETY: versions of a record are built and type-stable.
        let unlinked = if unsafe { head.as_ref() }.is_at_home() {
            Unlinked::Inline(record.table(), record.group() as u16, record.at())
        } else {
            Unlinked::Version(record.table(), record.group() as u16, head.cast())
        };
        self.waiting.push(unlinked);
    }

    /// Gives up the versions that are kept beside a record's data, from a link of their chain on.
    fn retire_kept(&mut self, record: RecordRef<'db, S>, link: &AtomicPtr<VersionHead<S>>) {
        // AcqRel, here and below: pairs with the push of the version; see invariant (5) of `version`.
        let mut next = link.swap(core::ptr::null_mut(), Ordering::AcqRel);
        while let Some(head) = NonNull::new(next) {
            // SAFETY: versions on a chain are built and type-stable.
            next = unsafe { head.as_ref() }.next.swap(core::ptr::null_mut(), Ordering::AcqRel);
            self.waiting.push(Unlinked::Version(record.table(), record.group() as u16, head.cast()));
        }
    }

    /// The link to the versions kept beside a record's data.
    #[inline]
    fn kept_link(&self, record: RecordRef<'db, S>) -> &'db AtomicPtr<VersionHead<S>> {
        assert!(self.tables.keeps_versions, "versions are kept beside data if the database is made so");
        // SAFETY: a slot serves its own database's records, and this one keeps versions.
        unsafe { record.kept() }
    }

    /// The version before this one.
    #[inline]
    pub fn older(&self, version: VersionRef<'db, S>) -> Option<VersionRef<'db, S>> {
        // Acquire: pairs with the Release in `push`.
        let head = NonNull::new(version.head().next.load(Ordering::Acquire))?;
        Some(VersionRef { head, ..version })
    }

    /// The words of a version found during this attempt; `None` while it is being written.
    ///
    /// # Panics
    /// When the version was found during an earlier attempt.
    #[inline]
    pub fn words(&self, version: VersionRef<'db, S>) -> Option<&[u64]> {
        assert_eq!(version.attempt, self.attempt, "a version is read during the attempt that found it");
        // SAFETY: found during this attempt, which cannot end while `self` is borrowed: `pin` and
        // `unpin` borrow mutably.
        unsafe { version.words() }
    }

    /// Takes up the loan of a version found during this attempt, if it is lent: to read its words before it is sealed.
    ///
    /// # Panics
    /// When the version was found during an earlier attempt.
    #[inline]
    pub fn loan(&self, version: VersionRef<'db, S>) -> Option<Loan<'_, S>> {
        assert_eq!(version.attempt, self.attempt, "a version is read during the attempt that found it");
        // SAFETY: as in `words`.
        unsafe { version.loan() }
    }

    fn pooled_version(&mut self, record: RecordRef<'db, S>) -> VersionRef<'db, S> {
        let table = self.tables.get(record.table());
        let stock = &mut self.stock[usize::from(record.table().0)].versions[record.group()];
        let words = record.width();
        // SAFETY: the group's arena gives blocks with room for a head and the record's width.
        let build = |at| unsafe { version::build_version::<S>(at, words) };
        let reserve = &self.tables.reserve;
        let block = stock.take(&table.versions[record.group()], reserve, self.attempt, build);
        table.versions[record.group()].reuse(block);
        let version = self.version(block.cast::<VersionHead<S>>(), record);
        version.head().claim_pooled();
        version
    }
}

impl At {
    fn of<S: Shape>(record: RecordRef<'_, S>) -> Self {
        Self { table: record.table(), group: record.group() as u16, block: record.at() }
    }
}

fn owner_of<S: Shape>(row: RowRef<'_, S>) -> *const Partition {
    // Relaxed: constant while the row's memory is in use.
    row.record(0).owned().owner.load(Ordering::Relaxed)
}

impl<'db, S: Shape<Data = Versioned>> Slot<'db, S> {
    /// The newest version of a record.
    #[inline]
    pub fn newest(&self, record: RecordRef<'db, S>) -> Option<VersionRef<'db, S>> {
        // SeqCst: pairs with the exchange in `push`, which says what for.
        let head = NonNull::new(record.versioned().newest.load(Ordering::SeqCst))?;
        Some(self.version(head, record))
    }

    /// A version to be written: the one within the record if it is free, else one of a pool.
    #[inline]
    pub fn new_version(&mut self, record: RecordRef<'db, S>) -> Pending<'db, S> {
        let version = self.inline_version(record).unwrap_or_else(|| self.pooled_version(record));
        // SAFETY: just claimed.
        unsafe { Pending::new(version) }
    }

    /// Gives back a version that was never pushed.
    pub fn discard_version(&mut self, record: RecordRef<'db, S>, pending: Pending<'db, S>) {
        // It was never published, but an inline version may be looked at through its record: it waits like the others.
        self.retire_version(record, pending.discard());
    }

    /// Gives up a version that was popped off its chain.
    pub fn retire_version(&mut self, record: RecordRef<'db, S>, version: VersionRef<'db, S>) {
        // Readers that pass it see the rest of the chain through its link.
        self.retire_one(record, version.head);
    }

    /// Gives up the old end of a record's chain. `look` is shown one version after the other, from `newest` on, until
    /// it breaks. It breaks with `true` at a version if no present or future reader needs older ones.
    ///
    /// For the writer of the newest version, while that is pending. Returns `true` if the record must then be settled
    /// [`later`](Self::settle_later), should the version stay.
    ///
    /// # Panics
    /// When `newest` is not the newest version of the record.
    #[inline]
    pub fn cut(
        &mut self,
        record: RecordRef<'db, S>,
        newest: &Pending<'db, S>,
        mut look: impl FnMut(&S::Version) -> ControlFlow<bool>,
    ) -> bool {
        let newest = newest.version();
        let (mut version, head) = (newest, newest.head());
        assert_eq!(self.newest(record), Some(version), "a chain is cut by the writer of its newest version");
        let is_enough = loop {
            let Some(older) = self.older(version) else { break false };
            match look(version.meta()) {
                ControlFlow::Continue(()) => version = older,
                ControlFlow::Break(is_enough) => break is_enough,
            }
        };
        let mut comes_home = false;
        if is_enough {
            let older = if version == newest {
                // Acquire: pairs with the push of the older version.
                let older = head.next.load(Ordering::Acquire);
                // Relaxed: a reader that still finds the old end stays pinned while it looks at it. No exchange: nobody
                // but its writer takes older versions off a pending version.
                head.next.store(core::ptr::null_mut(), Ordering::Relaxed);
                older
            } else {
                version.head().take_older()
            };
            comes_home = self.retire_chain(record, older);
        }
        // Relaxed: as above, this worker alone changes it.
        let is_alone = head.next.load(Ordering::Relaxed).is_null();
        !(is_alone && (self.is_home(head) || comes_home))
    }

    /// Gives up what is older than a sealed version of a record, whether or not that version is the newest: no present
    /// or future reader needs it. Returns whether the place within the record becomes free by this.
    pub fn cut_older(&mut self, record: RecordRef<'db, S>, version: VersionRef<'db, S>) -> bool {
        assert!(version.is_sealed(), "of a pending version the writer alone takes what is older");
        let older = version.head().take_older();
        self.retire_chain(record, older)
    }

    /// Whether `version`, the newest of a record, is the only one and stands where it may stay: within the record, or
    /// about to be there, or anywhere if no version ever stands there.
    #[inline]
    pub fn is_settled(&self, version: VersionRef<'db, S>) -> bool {
        // Relaxed: a link that is null stays so.
        self.is_home(version.head()) && version.head().next.load(Ordering::Relaxed).is_null()
    }

    /// Whether a version stands where it may stay.
    #[inline]
    fn is_home(&self, head: &VersionHead<S>) -> bool {
        head.is_at_home() || self.tables.layout.has_versions_apart
    }

    /// Notes that a record is to be settled once nobody needs anything older than its version with `number`.
    #[inline]
    pub fn settle_later(&mut self, record: RecordRef<'db, S>, number: u64) {
        self.unsettled.push(number, At::of(record), &self.tables.unsettled);
    }

    /// Whether records wait to be settled.
    #[inline]
    pub fn has_unsettled(&self) -> bool {
        !self.unsettled.is_empty()
    }

    /// Settles records that were noted with numbers up to `watermark`: up to twice as many as were noted since the last
    /// call, and a few more. `has` tells whether a version has a given number. Anything older than that version is
    /// given up, unless the record was written again: then its writer does so.
    pub fn settle(&mut self, watermark: u64, has: impl Fn(&S::Version, u64) -> bool) {
        let mut left = self.unsettled.budget();
        while left > 0
            && let Some((number, at)) = self.unsettled.pop(watermark)
        {
            left -= 1;
            let record = self.record(at);
            // The record may serve another row by now. Its newest version is a version all the same, and while this
            // slot is pinned, neither that version nor those to which it leads are used again for another.
            if let Some(newest) = self.newest(record)
                && newest.is_sealed()
                && has(newest.meta(), number)
            {
                let older = newest.head().take_older();
                let comes_home = self.retire_chain(record, older);
                if !comes_home
                    && !newest.head().is_at_home()
                    && let Some(home) = self.tables.home(record)
                {
                    // SeqCst fence: pairs with the one in `come_home`.
                    fence(Ordering::SeqCst);
                    if home.head().claim_inline() {
                        self.come_home(record, home);
                    }
                }
            }
        }
    }
}

impl<'db, S: Shape<Data = InPlace>> Slot<'db, S> {
    /// Keeps the present value of a record as its newest older version; `mark` writes the version's metadata. For the
    /// holder of the record's lock, before it overwrites the value.
    ///
    /// # Panics
    /// When the database was not made to keep versions, or another thread keeps a version of the same record meanwhile.
    pub fn keep(&mut self, record: RecordRef<'db, S>, mark: impl FnOnce(&S::Version)) {
        let link = self.kept_link(record);
        // SAFETY: just claimed.
        let mut kept = unsafe { Pending::new(self.pooled_version(record)) };
        record.load(kept.words());
        mark(kept.version().meta());
        // Relaxed, both: the exchange below checks the one and publishes the other.
        let newest = link.load(Ordering::Relaxed);
        kept.version().head().next.store(newest, Ordering::Relaxed);
        let kept = kept.seal();
        // Release: pairs with the Acquire in `kept`. Relaxed on failure: it panics.
        let is_pushed =
            link.compare_exchange(newest, kept.head.as_ptr(), Ordering::Release, Ordering::Relaxed);
        assert!(is_pushed.is_ok(), "the holder of a record's lock alone keeps its value");
    }

    /// The newest version that is kept beside a record's data.
    ///
    /// # Panics
    /// When the database was not made to keep versions.
    #[inline]
    pub fn kept(&self, record: RecordRef<'db, S>) -> Option<VersionRef<'db, S>> {
        // Acquire: pairs with the Release in `keep`.
        let head = NonNull::new(self.kept_link(record).load(Ordering::Acquire))?;
        Some(self.version(head, record))
    }

    /// Gives up the kept versions that are older than the newest for which `is_enough`: no present or future
    /// reader needs them. For the holder of the record's lock.
    ///
    /// # Panics
    /// When the database was not made to keep versions.
    pub fn cut_kept(&mut self, record: RecordRef<'db, S>, is_enough: impl Fn(&S::Version) -> bool) {
        let mut next = self.kept(record);
        while let Some(version) = next {
            if is_enough(version.meta()) {
                return self.retire_kept(record, &version.head().next);
            }
            next = self.older(version);
        }
    }
}

impl<S: Shape> Drop for Slot<'_, S> {
    /// The stock goes back to the arenas, and things that still wait go to the next slot.
    fn drop(&mut self) {
        self.participant.unpin();
        self.waiting.stamp(|| self.tables.epochs.stamp());
        if !self.waiting.is_empty() {
            let mut left_behind = self.tables.left_behind.lock();
            left_behind.append(&mut self.waiting);
            // Relaxed: a hint, which is written under the latch.
            self.tables.has_left_behind.store(true, Ordering::Relaxed);
        }
        self.unsettled.leave(&self.tables.unsettled);
        for (table, stock) in self.tables.stores.iter().zip(&mut self.stock) {
            // A row's memory stays with its owner, and serves no other.
            let rows = if let DataKind::Owned = S::Data::KIND { &mut stock.fresh } else { &mut stock.rows };
            rows.give_all(&table.rows);
            for (arena, versions) in table.versions.iter().zip(&mut stock.versions) {
                versions.give_all(arena);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use core::cell::RefCell;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use sync::atomic::AtomicU64;
    use sync::{fiber, waiter, workers};

    use super::*;
    use crate::row::{Row, Table};
    use crate::schema::Lookup;
    use crate::shape::{Meta, Owned};
    use crate::stock::BATCH;
    use crate::unsettled::KEPT_MAX;

    #[derive(Debug, Default)]
    struct Word(AtomicU64);

    impl Meta for Word {
        fn reset(&self) {
            self.0.store(0, Ordering::Relaxed); // Relaxed: publishing what it belongs to orders it.
        }

        fn copy_final(&self, to: &Self) -> bool {
            to.0.store(self.0.load(Ordering::Relaxed), Ordering::Relaxed); // Relaxed: as above.
            true
        }
    }

    #[derive(Debug)]
    struct Chains;

    impl Shape for Chains {
        type Header = Word;
        type Version = Word;
        type Leaf = ();
        type Data = Versioned;
    }

    #[derive(Debug)]
    struct Places;

    impl Shape for Places {
        type Header = Word;
        type Version = Word;
        type Leaf = ();
        type Data = InPlace;
    }

    #[derive(Debug)]
    struct Parts;

    impl Shape for Parts {
        type Header = Word;
        type Version = ();
        type Leaf = ();
        type Data = Owned;
    }

    impl Row for [u64] {
        type Key = u64;
        type Indexes = ();
    }

    fn schema() -> (Schema, Table<[u64]>) {
        let mut schema = Schema::new();
        let table = schema.table::<u64>("t", Lookup::Point, 100).group_of_words(3);
        (schema, table)
    }

    fn push<'db>(
        slot: &mut Slot<'db, Chains>,
        record: RecordRef<'db, Chains>,
        value: u64,
    ) -> VersionRef<'db, Chains> {
        push_and_cut(slot, record, value, false)
    }

    fn push_and_cut<'db>(
        slot: &mut Slot<'db, Chains>,
        record: RecordRef<'db, Chains>,
        value: u64,
        is_enough: bool,
    ) -> VersionRef<'db, Chains> {
        let newest = slot.newest(record);
        let mut pending = slot.new_version(record);
        pending.words().fill(value);
        assert!(record.push(&pending, newest));
        assert_eq!(slot.words(pending.version()), None, "a version is not read before it is sealed");
        slot.cut(record, &pending, |_| ControlFlow::Break(is_enough));
        pending.seal()
    }

    #[test]
    fn a_table_for_more_rows_than_there_is_memory_for_is_told_and_not_made() {
        let (mut schema, _) = schema();
        let much = 1 << 50;
        schema.table::<u64>("much", Lookup::Point, much).group_of_words::<[u64]>(1);
        schema.table::<u64>("ordered", Lookup::Ordered, usize::MAX).group_of_words::<[u64]>(1);
        let first: Vec<FirstMemory> = Tables::<Places>::first_memory(&schema).collect();
        let of = |table, expected_rows, bytes| FirstMemory { table, expected_rows, bytes: Some(bytes) };
        let beyond = of("much", much, 64 << 49);
        assert_eq!(first, [of("t", 100, 64 * 64), beyond, of("ordered", usize::MAX, 0)]);
        assert_eq!(Tables::<Places>::try_new(&schema, 1, 0, false).err(), Some(NoMemory(beyond)));
    }

    #[test]
    fn versions_are_read_newest_first_and_reused_only_after_their_readers() {
        let (schema, table) = schema();
        let tables = Tables::<Chains>::new(&schema, 2, 0, false);
        let (mut writer, mut reader) = (tables.slot(), tables.slot());
        let store = tables.get(table.id());
        let record = writer.new_row(store, Home::At(0)).row().record(0);
        writer.pin();
        let first = push(&mut writer, record, 1);
        push(&mut writer, record, 2);
        writer.unpin();

        reader.pin();
        let newest = reader.newest(record).expect("pushed");
        let older = reader.older(newest).expect("pushed");
        assert_eq!(reader.words(newest), Some(&[2; 3][..]));
        for value in 3..50 {
            writer.pin();
            push_and_cut(&mut writer, record, value, true);
            writer.unpin();
        }
        assert_eq!(reader.words(newest), Some(&[2; 3][..]), "a pinned reader keeps what it has found");
        assert_eq!(reader.words(older), Some(&[1; 3][..]));
        assert_eq!(older.head, first.head);
        reader.unpin();

        for value in 0..10_000 {
            writer.pin();
            push_and_cut(&mut writer, record, value, true);
            writer.unpin();
        }
        let versions = tables.memory()[0].version_bytes / store.versions[0].stride();
        assert!(versions < 200, "{versions} versions were carved for at most a few at a time");
    }

    #[test]
    #[should_panic(expected = "during the attempt that found it")]
    fn a_version_is_not_read_by_a_later_attempt() {
        let (schema, table) = schema();
        let tables = Tables::<Chains>::new(&schema, 1, 0, false);
        let mut slot = tables.slot();
        let record = slot.new_row(tables.get(table.id()), Home::At(0)).row().record(0);
        slot.pin();
        let version = push(&mut slot, record, 1);
        slot.unpin();
        slot.pin();
        let _ = slot.words(version);
    }

    #[test]
    fn a_popped_version_leaves_the_one_before() {
        let (schema, table) = schema();
        let tables = Tables::<Chains>::new(&schema, 1, 0, false);
        let mut slot = tables.slot();
        let record = slot.new_row(tables.get(table.id()), Home::At(0)).row().record(0);
        slot.pin();
        let first = push(&mut slot, record, 1);
        let pending = slot.new_version(record);
        assert!(record.push(&pending, Some(first)));
        record.pop(pending.version());
        slot.retire_version(record, pending.version());
        assert_eq!(slot.newest(record), Some(first));
        slot.unpin();
    }

    #[test]
    fn a_version_moves_into_its_record_when_there_is_room_again() {
        let (schema, table) = schema();
        let tables = Tables::<Chains>::new(&schema, 1, 0, false);
        let mut slot = tables.slot();
        let record = slot.new_row(tables.get(table.id()), Home::At(0)).row().record(0);
        for value in 0..10 {
            slot.pin();
            assert!(slot.newest(record).is_none_or(|newest| newest.head().is_at_home()));
            let version = push_and_cut(&mut slot, record, value, true);
            assert_eq!(version.head().is_at_home(), value == 0);
            version.meta().0.store(value, Ordering::Relaxed); // Relaxed: one thread.
            slot.unpin();
            for _ in 0..4 * ADVANCE_EVERY {
                slot.pin();
                let newest = slot.newest(record).expect("pushed");
                assert_eq!(slot.words(newest), Some(&[value; 3][..]));
                assert_eq!(newest.meta().0.load(Ordering::Relaxed), value); // Relaxed: one thread.
                slot.unpin();
            }
        }
        slot.pin();
        slot.retire_row(record_row(tables.get(table.id()), record));
        slot.unpin();
    }

    #[test]
    fn a_record_whose_versions_stand_apart_is_its_head_alone() {
        let bytes = |has_versions_apart| {
            let (mut schema, table) = schema();
            schema.lay_out(Layout { has_versions_apart, ..Layout::default() });
            let tables = Tables::<Chains>::new(&schema, 1, 0, false);
            (tables.get(table.id()).rows.stride(), tables.get(table.id()).versions[0].stride())
        };
        let ((within, version), (head, apart)) = (bytes(false), bytes(true));
        assert_eq!(apart, version);
        assert_eq!(
            head,
            size_of::<Word>() + size_of::<usize>(),
            "the header, and what leads to the versions"
        );
        assert!(within >= head + 3 * 8, "{within} bytes have room for a value of three words");
    }

    #[test]
    fn versions_that_stand_apart_never_come_home_and_one_alone_is_settled() {
        let (mut schema, table) = schema();
        schema.lay_out(Layout { has_versions_apart: true, ..Layout::default() });
        let tables = Tables::<Chains>::new(&schema, 1, 0, false);
        let mut slot = tables.slot();
        let row = slot.new_row(tables.get(table.id()), Home::At(0));
        slot.fill(&row, 0, &[7; 3]);
        let record = row.row().record(0);
        for number in 1..100 {
            slot.pin();
            let newest = slot.newest(record).expect("filled");
            assert!(!newest.head().is_at_home() && slot.words(newest).is_some());
            assert!(slot.is_settled(newest), "nobody needs what is older");
            let mut pending = slot.new_version(record);
            pending.words().fill(number);
            assert!(record.push(&pending, Some(newest)));
            assert!(!slot.cut(record, &pending, |_| ControlFlow::Break(true)), "there is nothing to settle");
            pending.seal();
            slot.unpin();
        }
        let carved = tables.memory()[0].version_bytes / tables.get(table.id()).versions[0].stride();
        assert!(carved <= 4 * BATCH, "{carved} versions were carved for a few at a time");
    }

    /// The row of a table with one column group.
    fn record_row<'db>(
        table: &'db TableStore<Chains>,
        record: RecordRef<'db, Chains>,
    ) -> RowRef<'db, Chains> {
        RowRef { at: record.at(), table }
    }

    /// Pushes a version whose value is its number over the newest, if that is sealed. Takes the version back every
    /// fifth time, and gives up older ones every third. These are exactly the steps of a scheme.
    fn push_or_take_back<'db>(
        slot: &mut Slot<'db, Chains>,
        record: RecordRef<'db, Chains>,
        number: u64,
    ) -> bool {
        let newest = slot.newest(record);
        if !newest.is_none_or(VersionRef::is_sealed) {
            return false;
        }
        let mut pending = slot.new_version(record);
        pending.words().fill(number);
        pending.version().meta().0.store(number, Ordering::Relaxed); // Relaxed: the push publishes it.
        if !record.push(&pending, newest) {
            slot.discard_version(record, pending);
            return false;
        }
        if number.is_multiple_of(5) {
            record.pop(pending.version());
            slot.discard_version(record, pending);
            if let Some(newest) = newest.filter(|&newest| !slot.is_settled(newest)) {
                slot.settle_later(record, newest.meta().0.load(Ordering::Relaxed)); // Relaxed: it is sealed.
            }
            return false;
        }
        if slot.cut(record, &pending, |_| ControlFlow::Break(number.is_multiple_of(3))) {
            slot.settle_later(record, number);
        }
        pending.seal();
        true
    }

    fn settle(slot: &mut Slot<'_, Chains>) {
        // Relaxed: it is sealed.
        slot.settle(u64::MAX, |meta, number| meta.0.load(Ordering::Relaxed) == number);
    }

    #[test]
    fn versions_that_move_while_others_write_and_read_are_never_torn_and_all_come_back() {
        versions_come_back(Layout::default());
    }

    #[test]
    fn versions_that_stand_apart_are_never_torn_and_come_back_but_for_the_last() {
        versions_come_back(Layout { has_versions_apart: true, ..Layout::default() });
    }

    fn versions_come_back(layout: Layout) {
        let (mut schema, table) = schema();
        schema.lay_out(layout);
        let tables = Tables::<Chains>::new(&schema, 4, 0, false);
        let store = tables.get(table.id());
        let record = tables.slot().new_row(store, Home::At(0)).row().record(0);
        let pushed = sync::workers::run(4, false, |worker| {
            let (mut slot, mut pushed) = (tables.slot(), 0);
            for turn in 0..20_000 {
                slot.pin();
                let newest = slot.newest(record);
                if let Some(words) = newest.and_then(|newest| slot.words(newest)) {
                    assert_eq!(words, [words[0]; 3]);
                }
                // Rarely enough that versions have time to move.
                if turn % 64 == worker {
                    pushed += i32::from(push_or_take_back(&mut slot, record, (4 * turn + worker + 1) as u64));
                }
                if turn % 8 == worker {
                    settle(&mut slot);
                }
                slot.unpin();
            }
            pushed
        });
        assert!(pushed.iter().sum::<i32>() > 100);
        let mut slot = tables.slot();
        for _ in 0..32 * ADVANCE_EVERY {
            slot.pin();
            settle(&mut slot);
            slot.unpin();
        }
        assert!(slot.newest(record).is_some_and(|newest| slot.is_settled(newest)));
        drop(slot);
        let stride = store.versions[0].stride();
        let memory = &tables.memory()[0];
        let in_use = usize::from(layout.has_versions_apart);
        assert_eq!(
            memory.version_bytes_free,
            memory.version_bytes - in_use * stride,
            "every version of the pool is back in it"
        );
        let mut blocks = Vec::new();
        let count = memory.version_bytes / stride - in_use;
        store.versions[0].take(&mut blocks, count, &tables.reserve, |_| panic!("none is missing"));
        blocks.sort_unstable();
        blocks.dedup();
        assert_eq!(blocks.len(), count, "and none is there twice");
    }

    #[test]
    fn what_a_writer_leaves_behind_is_settled_by_another_if_it_idles() {
        const COUNT: usize = 5 * KEPT_MAX;
        let (schema, table) = schema();
        let tables = Tables::<Chains>::new(&schema, 2, 0, false);
        let store = tables.get(table.id());
        let (mut idle, mut busy) = (tables.slot(), tables.slot());
        let records: Vec<_> = (0..COUNT).map(|_| idle.new_row(store, Home::At(0)).row().record(0)).collect();
        for number in [1, 2] {
            for &record in &records {
                idle.pin();
                assert!(push_or_take_back(&mut idle, record, number));
                idle.unpin();
            }
        }
        for _ in 0..COUNT {
            busy.pin();
            settle(&mut busy);
            busy.unpin();
        }
        busy.pin();
        let is_settled = |record: &&RecordRef<'_, Chains>| {
            busy.newest(**record).is_some_and(|newest| busy.is_settled(newest))
        };
        let settled = records.iter().filter(is_settled).count();
        assert!(settled >= COUNT - KEPT_MAX, "{settled} of {COUNT} records have one version");
        busy.unpin();
    }

    /// Writes `attempts` new rows. Returns whether one of them has the memory of `row`.
    fn serves_others<'db>(slot: &mut Slot<'db, Chains>, row: RowRef<'db, Chains>, attempts: u32) -> bool {
        let mut serves = false;
        for _ in 0..attempts {
            slot.pin();
            let other = slot.new_row(row.table, Home::At(0)).row();
            serves |= other.is(row);
            push(slot, other.record(0), 9);
            slot.unpin();
        }
        serves
    }

    #[test]
    fn what_stands_within_a_row_stays_for_whoever_found_it_after_the_row_was_given_up() {
        let (schema, table) = schema();
        let tables = Tables::<Chains>::new(&schema, 2, 0, false);
        let store = tables.get(table.id());
        let (mut writer, mut late) = (tables.slot(), tables.slot());
        let row = writer.new_row(store, Home::At(0)).row();
        let record = row.record(0);
        writer.pin();
        push(&mut writer, record, 7);
        writer.retire_row(row);
        writer.unpin();
        // Too late to hold up the reuse of the row, but in time to hold up the reuse of what stands within it.
        serves_others(&mut writer, row, ADVANCE_EVERY);
        late.pin();
        let found = late.newest(record).expect("pushed");
        serves_others(&mut writer, row, 100 * ADVANCE_EVERY);
        assert_eq!(late.words(found), Some(&[7; 3][..]));
        assert_eq!(late.newest(record), None, "the row is empty");
        late.unpin();
        writer.pin();
        writer.unpin();
        assert!(serves_others(&mut writer, row, 100 * ADVANCE_EVERY), "the row serves again");
    }

    #[test]
    fn rows_given_up_by_one_slot_serve_another() {
        let (schema, table) = schema();
        let tables = Tables::<Chains>::new(&schema, 1, 0, false);
        let store = tables.get(table.id());
        for _ in 0..100 {
            let mut slot = tables.slot();
            for _ in 0..100 {
                let row = slot.new_row(store, Home::At(0)).row();
                slot.pin();
                slot.retire_row(row);
                slot.unpin();
            }
        }
        let rows = tables.memory()[0].row_bytes / store.rows.stride();
        assert!(rows < 200, "{rows} rows were carved for at most a few at a time");
    }

    /// Overwrites a value in place, and keeps the value before it and `older` of the values before that.
    fn overwrite<'db>(slot: &mut Slot<'db, Places>, record: RecordRef<'db, Places>, value: u64, older: u64) {
        slot.pin();
        slot.keep(record, |mark| mark.0.store(value - 1, Ordering::Relaxed)); // Relaxed: `keep` publishes.
        record.store(&[value; 3]);
        slot.cut_kept(record, |mark| mark.0.load(Ordering::Relaxed) + older < value); // Relaxed: as above.
        slot.unpin();
    }

    #[test]
    fn values_are_kept_beside_the_data_and_given_up_from_the_oldest() {
        let (schema, table) = schema();
        let tables = Tables::<Places>::new(&schema, 2, 0, true);
        let (mut writer, mut reader) = (tables.slot(), tables.slot());
        let store = tables.get(table.id());
        let (before, record, after) = {
            let mut new = || writer.new_row(store, Home::At(0)).row().record(0);
            (new(), new(), new())
        };
        for neighbour in [before, after] {
            neighbour.store(&[u64::MAX; 3]);
        }
        for value in 1..=5 {
            overwrite(&mut writer, record, value, 3);
        }
        let mut kept = Vec::new();
        reader.pin();
        let newest = reader.kept(record).expect("kept");
        let mut next = Some(newest);
        while let Some(version) = next {
            let value = version.meta().0.load(Ordering::Relaxed); // Relaxed: one thread.
            assert_eq!(reader.words(version), Some(&[value; 3][..]));
            kept.push(value);
            next = reader.older(version);
        }
        assert_eq!(kept, [4, 3, 2, 1], "those up to three older than 5 less one, and no more");
        let mut value = [0; 3];
        record.load(&mut value);
        assert_eq!(value, [5; 3]);

        for value in 6..1_000 {
            overwrite(&mut writer, record, value, 0);
        }
        assert_eq!(reader.words(newest), Some(&[4; 3][..]), "a pinned reader keeps what it has found");
        reader.unpin();
        let held = tables.memory()[0].version_bytes;
        for value in 1_000..20_000 {
            overwrite(&mut writer, record, value, 0);
        }
        let now = tables.memory()[0].version_bytes;
        assert!(now < held + held / 10, "what was held serves again: {held} and {now} bytes");
        for neighbour in [before, after] {
            neighbour.load(&mut value);
            assert_eq!(value, [u64::MAX; 3]);
            assert_eq!(writer.kept(neighbour), None);
        }
    }

    #[test]
    fn a_row_that_serves_again_has_nothing_beside_its_data() {
        let (schema, table) = schema();
        let tables = Tables::<Places>::new(&schema, 1, 0, true);
        let store = tables.get(table.id());
        let mut slot = tables.slot();
        for value in 1..2_000 {
            let row = slot.new_row(store, Home::At(0)).row();
            assert_eq!(slot.kept(row.record(0)), None);
            overwrite(&mut slot, row.record(0), value, 0);
            slot.pin();
            slot.retire_row(row);
            slot.unpin();
        }
        let (rows, versions) = (store.rows.stride(), store.versions[0].stride());
        let memory = &tables.memory()[0];
        assert!(memory.row_bytes / rows < 200 && memory.version_bytes / versions < 200, "{memory:?}");
    }

    #[test]
    fn versions_beside_the_data_take_a_word_of_each_record_where_they_are_kept() {
        let mut schema = Schema::new();
        let mut table = schema.table::<u64>("t", Lookup::Point, 100);
        let _: (Table<[u64]>, Table<[u64]>) = (table.group_of_words(20), table.group_of_words(10));
        let stride = |keeps_versions| {
            let tables = Tables::<Places>::new(&schema, 1, 0, keeps_versions);
            let store = tables.iter().next().expect("declared");
            let row = tables.slot().new_row(store, Home::At(0)).row();
            row.record(1).id() - row.record(0).id()
        };
        assert_eq!((stride(false), stride(true)), (21 * 8, 22 * 8));
    }

    #[test]
    #[should_panic(expected = "if the database is made so")]
    fn nothing_is_kept_in_a_database_that_was_not_made_to() {
        let (schema, table) = schema();
        let tables = Tables::<Places>::new(&schema, 1, 0, false);
        let mut slot = tables.slot();
        let record = slot.new_row(tables.get(table.id()), Home::At(0)).row().record(0);
        slot.keep(record, |_| ());
    }

    #[test]
    fn only_the_holder_of_a_partition_touches_its_records() {
        let (schema, table) = schema();
        let tables = Tables::<Parts>::new(&schema, 2, 4, false);
        let (mut slot, other) = (tables.slot(), tables.slot());
        let new = slot.new_row(tables.get(table.id()), Home::At(5));
        slot.fill(&new, 0, &[7; 3]);
        let record = new.row().record(0);
        let (mut mine, mut theirs) = (slot.claim(), other.claim());
        assert_eq!(mine.words(record), None);
        assert!(mine.try_hold(1) && !theirs.try_hold(1));
        mine.words_mut(record).expect("5 folds onto partition 1")[0] = 8;
        assert_eq!(mine.words(record), Some(&[8, 7, 7][..]));
        assert_eq!(theirs.words_mut(record), None);
        mine.release_all();
        assert!(theirs.try_hold(1));
    }

    #[test]
    fn a_partition_is_handed_on_in_the_order_of_arrival() {
        let tables = Tables::<Parts>::new(&schema().0, 4, 2, false);
        let slots = [(); 4].map(|()| tables.slot());
        let mut claims = slots.each_ref().map(Slot::claim);
        let order = RefCell::new(Vec::new());
        let mut crew = fiber::Crew::new();
        for (number, claim) in claims.iter_mut().enumerate() {
            let order = &order;
            crew.spawn(fiber::STACK_BYTES, move || {
                for _ in 0..2 {
                    if !claim.try_hold_all(&[1]) {
                        claim.hold_all(&[1]);
                    }
                    order.borrow_mut().push(number);
                    waiter::give_way();
                    claim.release_all();
                }
            });
        }
        crew.run();
        assert_eq!(order.into_inner(), [0, 1, 2, 3, 0, 1, 2, 3], "nobody passes others");
        assert!(claims[0].try_hold(1), "it is free");
    }

    #[test]
    fn who_wants_several_partitions_stands_in_all_their_lines() {
        let tables = Tables::<Parts>::new(&schema().0, 3, 4, false);
        let slots = [(); 3].map(|()| tables.slot());
        let [mut owner, mut both, mut later] = slots.each_ref().map(Slot::claim);
        owner.hold_all(&[1]);
        let order = RefCell::new(Vec::new());
        let mut crew = fiber::Crew::new();
        crew.spawn(fiber::STACK_BYTES, || {
            assert!(!both.try_hold_all(&[0, 1, 2]), "one of them is held");
            both.hold_all(&[0, 1, 2]);
            order.borrow_mut().push("all three");
            both.release_all();
        });
        crew.spawn(fiber::STACK_BYTES, || {
            assert!(!later.try_hold_all(&[2]), "it is free, and somebody waits for it");
            later.hold_all(&[2]);
            order.borrow_mut().push("the last");
        });
        crew.spawn(fiber::STACK_BYTES, || {
            waiter::give_way();
            owner.release_all();
        });
        crew.run();
        assert_eq!(order.into_inner(), ["all three", "the last"]);
    }

    #[test]
    fn who_is_unwound_leaves_the_lines_of_partitions() {
        let tables = Tables::<Parts>::new(&schema().0, 3, 2, false);
        let slots = [(); 3].map(|()| tables.slot());
        let [mut owner, mut waits, mut next] = slots.each_ref().map(Slot::claim);
        owner.hold_all(&[1]);
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            let mut crew = fiber::Crew::new();
            crew.spawn(fiber::STACK_BYTES, || waits.hold_all(&[0, 1]));
            crew.spawn(fiber::STACK_BYTES, || panic!("the run ends"));
            crew.run();
        }));
        assert!(unwound.is_err());
        owner.release_all();
        drop(waits);
        assert!(next.try_hold_all(&[0, 1]), "they are not handed to who has left");
    }

    #[test]
    fn one_claim_at_a_time_writes() {
        const ROUNDS: u64 = 2_000;
        let (schema, table) = schema();
        let tables = Tables::<Parts>::new(&schema, 5, 4, false);
        let mut slot = tables.slot();
        let new = slot.new_row(tables.get(table.id()), Home::At(5));
        slot.fill(&new, 0, &[0; 3]);
        let record = new.row().record(0);
        let wanted: [&[usize]; 4] = [&[1], &[0, 1], &[1, 2, 3], &[0, 1, 3]];
        workers::run(4, false, |worker| {
            let slot = tables.slot();
            let mut claim = slot.claim();
            for round in 0..ROUNDS {
                let wanted = wanted[(worker + round as usize) % 4];
                if !claim.try_hold_all(wanted) {
                    claim.hold_all(wanted);
                }
                claim.words_mut(record).expect("it is held")[0] += 1;
                claim.release_all();
            }
        });
        let mut claim = slot.claim();
        claim.hold_all(&[1]);
        assert_eq!(claim.words(record), Some(&[4 * ROUNDS, 0, 0][..]));
    }

    #[test]
    fn a_slot_takes_memory_for_owned_rows_in_batches() {
        let (schema, table) = schema();
        let tables = Tables::<Parts>::new(&schema, 2, 4, false);
        let store = tables.get(table.id());
        let (mut slot, mut other) = (tables.slot(), tables.slot());
        let mut of_slot = Vec::new();
        for home in 0..BATCH as u64 {
            of_slot.push(slot.new_row(store, Home::At(home)).into_row().at.addr().get());
            other.new_row(store, Home::At(home)).into_row();
        }
        let (first, last) = (of_slot.iter().min(), of_slot.iter().max());
        let span = last.zip(first).map(|(last, first)| last - first);
        let of_batch = (BATCH - 1) * store.rows.stride();
        assert_eq!(span, Some(of_batch), "the rows of one batch stand side by side, whoever owns them");
    }

    #[test]
    fn memory_that_no_owned_row_has_used_serves_the_rows_of_the_next_slot() {
        let (schema, table) = schema();
        let tables = Tables::<Parts>::new(&schema, 1, 4, false);
        let store = tables.get(table.id());
        for home in 0..BATCH as u64 {
            tables.slot().new_row(store, Home::At(home)).into_row();
        }
        // Each slot found what the one before had left, and took one more.
        let stride = store.rows.stride();
        assert_eq!(store.rows.bytes(), ((2 * BATCH - 1) * stride, (BATCH - 1) * stride));
    }

    #[test]
    fn everyone_reads_what_lives_everywhere_and_nobody_writes_it() {
        let (schema, table) = schema();
        let tables = Tables::<Parts>::new(&schema, 1, 4, false);
        let mut slot = tables.slot();
        let new = slot.new_row(tables.get(table.id()), Home::Everywhere);
        slot.fill(&new, 0, &[7; 3]);
        let mut claim = slot.claim();
        assert!((0..4).all(|partition| claim.try_hold(partition)));
        assert_eq!(claim.words(new.row().record(0)), Some(&[7; 3][..]));
        assert_eq!(claim.words_mut(new.row().record(0)), None);
    }
}
