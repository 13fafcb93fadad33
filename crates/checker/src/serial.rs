//! A quick look at a history: executes its transactions serially in the order of the layout.
//!
//! Mostly a transaction sees what those before it left, replaces that, and does not see what those after it do. Then
//! all its edges agree with the layout, and there is nothing else to report about it. All other transactions are
//! *doubted*: they are left to a [`walk`](crate::walk), which finds their edges and flaws. A doubt without need costs
//! time. The absence of a doubt is a claim, which rests on this invariant: if the slot of a key holds a value, that
//! value is a version that an earlier transaction installed and that no earlier transaction replaced.
//!
//! Which absence was met follows from the reading, which is not known here. So absences are only listed, for the module
//! that knows the reading (`cover`).

use std::collections::BTreeMap;

use stdx::history::{Key, Version};

use crate::keys::KeyId;
use crate::txns::{Rank, StateId};

/// The key had a value before the history began.
pub(crate) const LOADED: u32 = 1;
/// A transaction deleted the key.
pub(crate) const DELETED: u32 = 2;
/// A transaction saw the value from before the history.
const MET_LOADED: u32 = 4;
/// A transaction found the key absent.
const MET_ABSENT: u32 = 8;
/// A transaction replaced the first state of the key.
const INSTALLED: u32 = 16;

/// The state of a key at a moment of the layout, and the facts about the key that hold at all moments.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// The current version; absent until anything is known.
    version: Version,
    /// The state of that version, if the version was written in the history.
    state: StateId,
    /// The flag bits defined above.
    flags: u32,
}

const UNKNOWN: Slot = Slot { version: Version::ABSENT, state: StateId::NONE, flags: 0 };

impl Slot {
    /// Whether no transaction has shown yet what the first state of the key was.
    const fn is_unknown(&self) -> bool {
        self.flags & (MET_LOADED | MET_ABSENT | INSTALLED) == 0
    }
}

/// A write of the transaction itself.
#[derive(Debug)]
struct Own {
    id: KeyId,
    /// The index of the key in the transaction's block, which has the words of the key.
    at: u32,
    version: Version,
    is_installed: bool,
}

/// The serial execution of all transactions.
#[derive(Debug, Default)]
pub(crate) struct Serial {
    /// The slots, by key.
    slots: Vec<Slot>,
    /// Installs that came before the install of the version that they replaced: by key and replaced version, the
    /// version and the state that replaced it.
    early: BTreeMap<(KeyId, Version), (Version, StateId)>,
    /// Whether the serial execution is in use; if not, every transaction is doubted.
    is_on: bool,
    rank: Rank,
    is_doubted: bool,
    own: Vec<Own>,
    /// The doubted transactions, one bit by rank.
    doubted: Vec<u64>,
    /// The transactions that found keys absent, with the keys, in the order of the layout; scans are not included.
    pub(crate) absences: Vec<(Rank, KeyId)>,
    /// The ranges that were read and their readers, in the order of the layout.
    pub(crate) scans: Vec<Scanned>,
    /// The rows that these scans returned.
    rows: Vec<KeyId>,
    /// The words of the least and of the greatest keys that these scans cover.
    bounds: Vec<u64>,
}

/// A range that was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scanned {
    pub(crate) by: Rank,
    table: u16,
    width: u16,
    pub(crate) is_forward: bool,
    /// The indexes at which the scan's bounds begin in `bounds` and its rows in `rows`.
    bounds_at: usize,
    rows_at: usize,
    rows: usize,
}

impl Serial {
    /// Clears everything, for `txns` transactions. `is_on` is true only for layouts in which each transaction reads and
    /// writes at one moment.
    pub(crate) fn clear(&mut self, txns: usize, is_on: bool) {
        self.slots.clear();
        self.early.clear();
        self.is_on = is_on;
        self.absences.clear();
        self.scans.clear();
        self.rows.clear();
        self.bounds.clear();
        self.doubted.clear();
        self.doubted.resize(if is_on { txns / 64 + 1 } else { 0 }, 0);
    }

    /// Whether the serial execution is in use.
    #[inline]
    pub(crate) const fn is_on(&self) -> bool {
        self.is_on
    }

    /// Makes room for `keys` keys.
    pub(crate) fn resize(&mut self, keys: usize) {
        self.slots.resize(keys, UNKNOWN);
    }

    /// Reads a part of the key's slot, which brings the slot into the cache.
    #[inline]
    pub(crate) fn touch(&self, id: KeyId) -> u32 {
        self.slots[id.at()].flags
    }

    /// Whether the key has the flag.
    #[inline]
    pub(crate) fn has(&self, id: KeyId, flag: u32) -> bool {
        self.slots[id.at()].flags & flag != 0
    }

    /// Sets the flag of the key.
    #[inline]
    pub(crate) fn set(&mut self, id: KeyId, flag: u32) {
        self.slots[id.at()].flags |= flag;
    }

    /// Settles the first states after the last transaction: each key of which a transaction met the loaded value was
    /// loaded. If other transactions found such a key absent at first, the execution claims nothing.
    pub(crate) fn settle_first(&mut self) {
        for slot in self.slots.iter_mut().filter(|slot| slot.flags & (MET_LOADED | LOADED) == MET_LOADED) {
            if slot.flags & MET_ABSENT == 0 {
                slot.flags |= LOADED;
            } else {
                self.is_on = false;
            }
        }
    }

    /// Doubts every transaction: nothing is claimed.
    pub(crate) fn give_up(&mut self) {
        self.is_on = false;
    }

    /// Doubts a transaction.
    pub(crate) fn doubt(&mut self, rank: Rank) {
        if self.is_on {
            self.doubted[rank.at() / 64] |= 1 << (rank.0 % 64);
        }
    }

    /// The doubted transactions, one bit by rank; `None` if every transaction is doubted.
    pub(crate) fn doubted(&self) -> Option<&[u64]> {
        self.is_on.then_some(&self.doubted)
    }

    /// The least and the greatest key that a scan covers.
    pub(crate) fn bounds(&self, scan: &Scanned) -> (Key<'_>, Key<'_>) {
        let width = usize::from(scan.width);
        let (low, high) = self.bounds[scan.bounds_at..scan.bounds_at + 2 * width].split_at(width);
        (Key::new(scan.table, low), Key::new(scan.table, high))
    }

    /// The rows that a scan returned.
    pub(crate) fn rows(&self, scan: &Scanned) -> &[KeyId] {
        &self.rows[scan.rows_at..scan.rows_at + scan.rows]
    }

    /// Begins a transaction.
    #[inline]
    pub(crate) fn begin(&mut self, rank: Rank) {
        self.rank = rank;
        self.is_doubted = false;
        self.own.clear();
    }

    #[inline]
    fn own(&mut self, id: KeyId) -> Option<&mut Own> {
        self.own.iter_mut().find(|own| own.id == id)
    }

    /// The transaction saw a version, by a lookup of the key or as a row of a range.
    #[inline]
    pub(crate) fn read(&mut self, id: KeyId, seen: Version) {
        if !self.own.is_empty()
            && let Some(own) = self.own(id)
        {
            self.is_doubted |= own.version != seen && !(own.version.is_absent() && seen == Version::ABSENT);
            return;
        }
        let slot = &mut self.slots[id.at()];
        if seen == Version::ABSENT {
            slot.flags |= MET_ABSENT;
            self.absences.push((self.rank, id));
            return;
        }
        if seen.is_loaded() {
            if slot.is_unknown() {
                slot.version = seen;
            }
            slot.flags |= MET_LOADED;
        }
        self.is_doubted |= slot.version != seen || seen.is_absent();
    }

    /// The transaction wrote a version of the key, whose index in the transaction's block is `at`, into its write set.
    #[inline]
    pub(crate) fn write(&mut self, (id, at): (KeyId, u32), to: Version) {
        match self.own(id) {
            Some(own) => own.version = to,
            None => self.own.push(Own { id, at, version: to, is_installed: false }),
        }
    }

    /// The transaction installed a version. Returns the state that this replaced, if it is a version written in the
    /// history that was indeed there.
    #[inline]
    pub(crate) fn install(
        &mut self,
        id: KeyId,
        before: Version,
        (after, state): (Version, StateId),
    ) -> Option<StateId> {
        let is_own = match self.own(id) {
            Some(own) if own.version == after => std::mem::replace(&mut own.is_installed, true),
            _ => true,
        };
        self.is_doubted |= is_own;
        let slot = &mut self.slots[id.at()];
        let replaced = slot.state;
        let fits = if before == Version::ABSENT {
            slot.version.is_absent()
        } else if before.is_loaded() {
            slot.is_unknown() || slot.version == before
        } else {
            slot.version == before
        };
        slot.flags |= if before == Version::ABSENT { MET_ABSENT } else { 0 };
        self.is_doubted |= !fits;
        if fits || before == Version::ABSENT {
            slot.flags |= INSTALLED;
            // An insert that came before the deletion of the earlier value determines the state all the same.
            (slot.version, slot.state) = (after, state);
            while !self.early.is_empty()
                && let Some((after, state)) = self.early.remove(&(id, slot.version))
            {
                (slot.version, slot.state) = (after, state);
            }
        } else if !before.is_loaded() {
            self.early.insert((id, before), (after, state));
        }
        (fits && before != Version::ABSENT && !before.is_loaded()).then_some(replaced)
    }

    /// The transaction read a range from a least to a greatest key, and the scan returned these rows.
    pub(crate) fn scan(
        &mut self,
        (low, high): (Key<'_>, Key<'_>),
        rows: impl Iterator<Item = KeyId>,
        is_forward: bool,
    ) {
        let (bounds_at, rows_at) = (self.bounds.len(), self.rows.len());
        self.bounds.extend_from_slice(low.words);
        self.bounds.extend_from_slice(high.words);
        self.rows.extend(rows);
        let (table, width, rows) = (low.table, low.words.len() as u16, self.rows.len() - rows_at);
        self.scans.push(Scanned { by: self.rank, table, width, is_forward, bounds_at, rows_at, rows });
    }

    /// The keys to which the transaction has given values so far, by their indexes in its block.
    pub(crate) fn written(&self) -> impl Iterator<Item = u32> {
        self.own.iter().filter(|own| !own.version.is_absent()).map(|own| own.at)
    }

    /// Doubts the running transaction.
    #[inline]
    pub(crate) fn doubt_this(&mut self) {
        self.is_doubted = true;
    }

    /// Ends the transaction.
    #[inline]
    pub(crate) fn end(&mut self) {
        for own in &self.own {
            if own.is_installed {
                continue;
            }
            // The transaction deleted a key that it had inserted itself: the key was absent before.
            if own.version.is_absent() {
                self.slots[own.id.at()].flags |= MET_ABSENT;
                self.absences.push((self.rank, own.id));
            } else {
                self.is_doubted = true;
            }
        }
        if self.is_doubted {
            self.doubt(self.rank);
        }
    }
}
