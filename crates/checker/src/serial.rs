//! A quick look at a history: its transactions, one after the other in the layout, as if each took effect at once.
//!
//! Mostly a transaction sees what those before it left, replaces that, and does not see what those after it do. Then
//! all its edges agree with the layout, and there is nothing else to tell of it. Everybody else is *doubted*, and is
//! left to a [`walk`](crate::walk), which finds what there is to find. To doubt without need costs time; not to
//! doubt is a claim, which rests on this: what a key is here, if it is a value, is a version that somebody before
//! installed, and that nobody before replaced.
//!
//! Which absence was met follows from the reading, not from here. So absences are only listed, for whoever knows the
//! reading (`cover`).

use std::collections::BTreeMap;

use stdx::history::{Key, Version};

use crate::keys::KeyId;
use crate::txns::{Rank, StateId};

/// The key had a value before the history began.
pub(crate) const LOADED: u32 = 1;
/// Somebody deleted it.
pub(crate) const DELETED: u32 = 2;
/// Somebody saw the value from before the history.
const MET_LOADED: u32 = 4;
/// Somebody found it absent.
const MET_ABSENT: u32 = 8;
/// Somebody replaced what it was at first.
const INSTALLED: u32 = 16;

/// What a key is at a moment of the layout, and what is known of it at all moments.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// What it is; absent until anything is known.
    version: Version,
    /// The state of that version, if it is of the history.
    state: StateId,
    /// Bits as above.
    flags: u32,
}

const UNKNOWN: Slot = Slot { version: Version::ABSENT, state: StateId::NONE, flags: 0 };

impl Slot {
    /// Whether nobody has said yet what it was at first.
    const fn is_unknown(&self) -> bool {
        self.flags & (MET_LOADED | MET_ABSENT | INSTALLED) == 0
    }
}

/// A write of the transaction itself.
#[derive(Debug)]
struct Own {
    id: KeyId,
    /// The place of the key in the block of the transaction, where its words are at hand.
    at: u32,
    version: Version,
    is_installed: bool,
}

/// The transactions one after the other.
#[derive(Debug, Default)]
pub(crate) struct Serial {
    /// By key.
    slots: Vec<Slot>,
    /// Of installs that came before those of what they replaced: what they replaced, and what by.
    early: BTreeMap<(KeyId, Version), (Version, StateId)>,
    /// Whether this is done at all; if not, everybody is doubted.
    is_on: bool,
    rank: Rank,
    is_doubted: bool,
    own: Vec<Own>,
    /// By rank, a bit each.
    doubted: Vec<u64>,
    /// Who found which key absent, in the layout; scans left out.
    pub(crate) absences: Vec<(Rank, KeyId)>,
    /// Who read which ranges, in the layout.
    pub(crate) scans: Vec<Scanned>,
    /// What they came to.
    rows: Vec<KeyId>,
    /// The words of the least and of the greatest keys that they cover.
    bounds: Vec<u64>,
}

/// A range that was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scanned {
    pub(crate) by: Rank,
    table: u16,
    width: u16,
    pub(crate) is_forward: bool,
    /// Where its bounds and its rows begin.
    bounds_at: usize,
    rows_at: usize,
    rows: usize,
}

impl Serial {
    /// Forgets all, for so many transactions. It is of use only if each reads and writes at one moment.
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

    /// Whether this is done at all.
    #[inline]
    pub(crate) const fn is_on(&self) -> bool {
        self.is_on
    }

    /// Makes room for so many keys.
    pub(crate) fn resize(&mut self, keys: usize) {
        self.slots.resize(keys, UNKNOWN);
    }

    /// Something of the slot of a key: it is in the cache then.
    #[inline]
    pub(crate) fn touch(&self, id: KeyId) -> u32 {
        self.slots[id.at()].flags
    }

    /// Whether the key has the flag.
    #[inline]
    pub(crate) fn has(&self, id: KeyId, flag: u32) -> bool {
        self.slots[id.at()].flags & flag != 0
    }

    /// Says so of the key.
    #[inline]
    pub(crate) fn set(&mut self, id: KeyId, flag: u32) {
        self.slots[id.at()].flags |= flag;
    }

    /// Nobody comes any more, and of each key that was installed over what was there first it is known that it was
    /// loaded. If others found absent at first what some saw loaded, nothing is claimed.
    pub(crate) fn settle_first(&mut self) {
        for slot in self.slots.iter_mut().filter(|slot| slot.flags & (MET_LOADED | LOADED) == MET_LOADED) {
            if slot.flags & MET_ABSENT == 0 {
                slot.flags |= LOADED;
            } else {
                self.is_on = false;
            }
        }
    }

    /// Doubts everybody: nothing is claimed.
    pub(crate) fn give_up(&mut self) {
        self.is_on = false;
    }

    /// Doubts a transaction.
    pub(crate) fn doubt(&mut self, rank: Rank) {
        if self.is_on {
            self.doubted[rank.at() / 64] |= 1 << (rank.0 % 64);
        }
    }

    /// Whom it doubts, a bit each; none if that is everybody.
    pub(crate) fn doubted(&self) -> Option<&[u64]> {
        self.is_on.then_some(&self.doubted)
    }

    /// The least and the greatest key that a scan covers.
    pub(crate) fn bounds(&self, scan: &Scanned) -> (Key<'_>, Key<'_>) {
        let width = usize::from(scan.width);
        let (low, high) = self.bounds[scan.bounds_at..scan.bounds_at + 2 * width].split_at(width);
        (Key::new(scan.table, low), Key::new(scan.table, high))
    }

    /// The rows that it came to.
    pub(crate) fn rows(&self, scan: &Scanned) -> &[KeyId] {
        &self.rows[scan.rows_at..scan.rows_at + scan.rows]
    }

    /// A transaction comes.
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

    /// It saw a version, looking for the key or as a row of a range.
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

    /// It wrote the key, which has that place in its block, for itself.
    #[inline]
    pub(crate) fn write(&mut self, (id, at): (KeyId, u32), to: Version) {
        match self.own(id) {
            Some(own) => own.version = to,
            None => self.own.push(Own { id, at, version: to, is_installed: false }),
        }
    }

    /// It installed a version. The answer is the state that this replaced, if it is a version of another that was
    /// there indeed.
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
            // An insert that came before the deletion of what was there has the last word all the same.
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

    /// It read a range from a least to a greatest key, and came to these.
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

    /// The keys to which it has given values so far, by their places in its block.
    pub(crate) fn written(&self) -> impl Iterator<Item = u32> {
        self.own.iter().filter(|own| !own.version.is_absent()).map(|own| own.at)
    }

    /// There is something about the transaction to be looked at.
    #[inline]
    pub(crate) fn doubt_this(&mut self) {
        self.is_doubted = true;
    }

    /// It is over.
    #[inline]
    pub(crate) fn end(&mut self) {
        for own in &self.own {
            if own.is_installed {
                continue;
            }
            // It deleted what it had inserted: the key was absent before.
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
