//! Requests to the validator: what an attempt has seen and wants to write, as numbers alone, so that any worker may
//! decide it.

use orders::{KeySets, TxnFacts};

use super::gap_stamps::Gap;

/// The request of an attempt that wants to end.
#[derive(Debug, Default)]
pub struct Request {
    /// All commits up to this number were in place when the attempt began.
    pub start: u64,
    /// Facts for the policy of the order.
    pub facts: TxnFacts,
    /// Whether the transaction is sampled.
    pub is_sampled: bool,
    /// Ticks for which its batch was put in order, if the transaction is sampled.
    pub ordering: u64,
    /// Ticks for which its batch was validated, if the transaction is sampled.
    pub validation: u64,
    /// The writes.
    pub writes: Vec<Written>,
    /// The gaps that were read, and those that own keys have entered.
    gaps: Vec<Gap>,
    entered: Vec<Gap>,
    /// The number of entries that were used again before the first gap was read.
    pub reused: u64,
    /// The keys that were read, and the numbers of the commits that wrote what was seen.
    read_keys: Vec<u64>,
    seen: Vec<u64>,
    /// The keys that are written.
    write_keys: Vec<u64>,
}

/// A write.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    /// The id of the record.
    pub id: u64,
    /// Whether the record has a value afterwards.
    pub has_value: bool,
    /// The number of the commit whose write of the record comes right before, as the validator knows it; 0 if that
    /// write is in place for sure.
    pub after: u64,
}

/// The key that stands for a record's value.
#[inline]
pub fn value_key(id: usize) -> u64 {
    (id as u64) << 2
}

/// The key that stands for the gaps with the stamp at a place.
#[inline]
fn gap_key(place: usize) -> u64 {
    value_key(place) | 2
}

/// The key that stands for the presence of a value.
#[inline]
pub fn presence_key(id: usize) -> u64 {
    value_key(id) | 1
}

/// The id of the record for whose value, or presence, a key stands.
#[inline]
pub fn id_of(key: u64) -> u64 {
    key >> 2
}

/// Whether a key stands for the presence of a value.
#[inline]
pub fn is_presence(key: u64) -> bool {
    key & 1 != 0
}

impl Request {
    /// Empties the request.
    #[inline]
    pub fn clear(&mut self) {
        self.writes.clear();
        self.gaps.clear();
        self.entered.clear();
        self.read_keys.clear();
        self.seen.clear();
        self.write_keys.clear();
    }

    /// Adds a key that was read, as the commit of number `seen` wrote it.
    #[inline]
    pub fn read(&mut self, key: u64, seen: u64) {
        self.read_keys.push(key);
        self.seen.push(seen);
    }

    /// Adds a write of a record; `changes_presence` tells whether it gives a value to a record that had none, or takes
    /// it away.
    #[inline]
    pub fn write(&mut self, id: usize, has_value: bool, changes_presence: bool) {
        self.writes.push(Written { id: id as u64, has_value, after: 0 });
        self.write_keys.push(value_key(id));
        if changes_presence {
            self.write_keys.push(presence_key(id));
        }
    }

    /// The keys of records that were read, with the numbers of the commits that wrote what was seen.
    #[inline]
    pub fn reads(&self) -> impl Iterator<Item = (u64, u64)> {
        // The keys of gaps come last.
        self.read_keys.iter().copied().zip(self.seen.iter().copied())
    }

    /// Adds gaps that were read, after all records.
    #[inline]
    pub fn read_gaps(&mut self, gap: Gap) {
        self.gaps.push(gap);
        self.read_keys.push(gap_key(gap.place));
    }

    /// Adds gaps that an own key has entered.
    #[inline]
    pub fn enter_gaps(&mut self, gap: Gap) {
        self.entered.push(gap);
        self.write_keys.push(gap_key(gap.place));
    }

    /// The gaps that were read.
    #[inline]
    pub fn gaps(&self) -> &[Gap] {
        &self.gaps
    }

    /// The gaps that own keys have entered, with the stamps of these.
    #[inline]
    pub fn entered(&self) -> &[Gap] {
        &self.entered
    }

    /// All keys, for the graph of a batch; as a planted bug, `but_the_first` that was read.
    #[inline]
    pub fn keys(&self, but_the_first: bool) -> KeySets<'_> {
        let reads = self.read_keys.get(usize::from(but_the_first)..).unwrap_or_default();
        KeySets { reads, writes: &self.write_keys }
    }
}
