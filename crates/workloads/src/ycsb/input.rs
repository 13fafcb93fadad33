//! Inputs: the operations of a transaction, drawn before its execution.

use engine::{ClientId, Homes};
use stdx::{Rng, Zipf};

use super::keys::{COLUMNS_FROM, Places, home_of};
use super::settings::{Distribution, Settings};

/// The maximum number of operations of a transaction.
pub(super) const MAX_OPS: usize = 64;

/// One operation in this many is an insert, in mixes with inserts: the suite's 5%.
pub(super) const INSERT_EVERY: u64 = 20;

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// Reads all columns of a row.
    Read,
    /// Writes one column of a row after reading the row or, with blind writes, overwrites the whole row
    /// without reading.
    Update,
    /// Reads a row and writes one column.
    ReadModifyWrite,
    /// Inserts a row.
    Insert,
    /// Reads consecutive rows.
    Scan,
}

impl Kind {
    /// Whether the operation writes a row that is there.
    #[inline]
    pub(super) fn writes(self) -> bool {
        matches!(self, Self::Update | Self::ReadModifyWrite)
    }
}

/// The index among the transaction types of transactions with operations of several kinds.
pub(super) const MIXED: usize = Kind::Scan as usize + 1;

/// An operation on the record at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Op {
    pub(super) place: u64,
    pub(super) kind: Kind,
    /// For a write, the number of the word to overwrite, or 0. For a scan, the number of rows.
    pub(super) detail: u16,
}

/// A transaction: up to 64 operations, and a stamp that distinguishes its writes from those of others.
#[derive(Clone, Debug)]
pub struct Input {
    pub(super) stamp: u64,
    /// A bit for each place, which several may share: most places that are not among the operations are
    /// told by it alone.
    marks: u64,
    // Not an array: most transactions have far fewer operations than the most, and requests are moved.
    ops: Vec<Op>,
}

impl Input {
    /// Without operations, of which there will be `ops`.
    fn new(stamp: u64, ops: usize) -> Self {
        Self { stamp, marks: 0, ops: Vec::with_capacity(ops) }
    }

    #[inline]
    pub(super) fn ops(&self) -> &[Op] {
        &self.ops
    }

    fn push(&mut self, op: Op) {
        self.ops.push(op);
        self.marks |= mark(op.place);
    }

    fn has(&self, place: u64) -> bool {
        self.marks & mark(place) != 0 && self.ops().iter().any(|op| op.place == place)
    }

    /// Returns the transaction's type: the kind of its operations, or [`MIXED`].
    pub(super) fn kind(&self) -> usize {
        let first = self.ops[0].kind;
        if self.ops().iter().all(|op| op.kind == first) { first as usize } else { MIXED }
    }

    /// Returns the homes of all rows that the operations may touch.
    pub(super) fn homes(&self, places: &Places) -> Homes {
        let mut homes = Homes::new();
        for op in self.ops() {
            let last = match op.kind {
                Kind::Scan => places.end_of_scan(op.place, u64::from(op.detail)),
                _ => op.place,
            };
            (home_of(op.place)..=home_of(last)).for_each(|home| homes.add(home));
        }
        homes
    }
}

/// Maps a place to one of 64 bits, by multiplication with the golden ratio (Knuth, volume 3, 6.4).
fn mark(place: u64) -> u64 {
    1 << (place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58)
}

/// The place of the record that all transactions update if there is a hot row.
fn hot_row(places: &Places) -> u64 {
    places.loaded(0)
}

/// A generator of inputs.
#[derive(Debug)]
pub(super) struct Generator {
    settings: Settings,
    seed: u64,
    /// The distribution of ranks, or `None` if all records are equally frequent.
    zipf: Option<Zipf>,
    /// The first possible detail of an operation, and the number of possible details.
    details: (u64, u64),
}

impl Generator {
    pub(super) fn new(settings: Settings, seed: u64) -> Self {
        let is_skewed = settings.distribution != Distribution::Uniform && settings.theta > 0.0;
        let zipf = is_skewed.then(|| Zipf::new(settings.records, settings.theta));
        let details = match settings.mix.other {
            Kind::Scan => (1, settings.scan_max),
            _ if settings.words > COLUMNS_FROM => {
                (COLUMNS_FROM as u64, (settings.words - COLUMNS_FROM) as u64)
            }
            _ => (0, 1),
        };
        Self { settings, seed, zipf, details }
    }

    pub(super) fn generate(&self, places: &Places, client: ClientId, sequence: u64, rng: &mut Rng) -> Input {
        let client = u64::from(client.0);
        let ops_per_txn = self.settings.ops_per_txn as u64;
        // Odd, because a stamp of 0 says that a row was never written.
        let mut input = Input::new(rng.next_u64() | 1, self.settings.ops_per_txn);
        let hot = self.settings.hot_at.map(|at| sequence * ops_per_txn + at as u64);
        for number in sequence * ops_per_txn..(sequence + 1) * ops_per_txn {
            if hot == Some(number) {
                let detail = self.detail(rng);
                input.push(Op { place: hot_row(places), kind: self.settings.mix.other, detail });
                continue;
            }
            let op = match self.insert(client, number) {
                Some(nth) => Op { place: places.inserted(client, nth), kind: Kind::Insert, detail: 0 },
                None => self.access(places, client, number, &input, rng),
            };
            input.push(op);
        }
        input
    }

    /// Draws an operation on an existing record.
    fn access(&self, places: &Places, client: u64, number: u64, input: &Input, rng: &mut Rng) -> Op {
        /// The number of draws of an unused record, after which the next unused record is taken. This
        /// happens only if one transaction contains almost all records of a very small table.
        const DRAWS: u32 = 64;
        let kind =
            if rng.below(100) < self.settings.mix.read_pct { Kind::Read } else { self.settings.mix.other };
        let detail = self.detail(rng);
        let hot = self.settings.hot_at.map(|_| hot_row(places));
        let mut place = self.place(places, client, number, rng);
        let mut draws = 1;
        while self.settings.is_distinct && (input.has(place) || hot == Some(place)) {
            place = if draws < DRAWS { self.place(places, client, number, rng) } else { places.next(place) };
            draws += 1;
        }
        Op { place, kind, detail }
    }

    /// Draws the detail of an operation.
    fn detail(&self, rng: &mut Rng) -> u16 {
        (self.details.0 + rng.below(self.details.1)) as u16
    }

    fn place(&self, places: &Places, client: u64, number: u64, rng: &mut Rng) -> u64 {
        let records = self.settings.records;
        let rank = match &self.zipf {
            Some(zipf) => zipf.rank(rng),
            None => rng.below(records),
        };
        if self.settings.distribution == Distribution::Latest {
            let inserted = self.inserted_before(client, number);
            match inserted.checked_sub(rank + 1) {
                Some(nth) => places.inserted(client, nth),
                None => places.loaded(records - 1 - (rank - inserted)),
            }
        } else {
            places.loaded(rank)
        }
    }

    /// Returns the number of the insert among the client's inserts, if this operation is an insert.
    ///
    /// The positions of inserts among operations are dealt and not drawn, one for each twenty
    /// operations. The number of earlier inserts is then known without looking at the earlier
    /// operations.
    fn insert(&self, client: u64, number: u64) -> Option<u64> {
        let inserts = self.settings.mix.inserts && number % INSERT_EVERY == self.slot(client, number);
        inserts.then_some(number / INSERT_EVERY)
    }

    fn inserted_before(&self, client: u64, number: u64) -> u64 {
        if !self.settings.mix.inserts {
            return 0;
        }
        number / INSERT_EVERY + u64::from(number % INSERT_EVERY > self.slot(client, number))
    }

    /// Returns the position of the insert among the twenty operations to which this operation belongs.
    fn slot(&self, client: u64, number: u64) -> u64 {
        Rng::from_path(&[self.seed, client, number / INSERT_EVERY]).below(INSERT_EVERY)
    }

    /// The probability that two draws return the same record.
    pub(super) fn collision(&self) -> f64 {
        self.zipf.as_ref().map_or(1.0 / self.settings.records as f64, Zipf::collision)
    }

    /// The share of draws that return one of the hottest `count` records.
    pub(super) fn hottest(&self, count: u64) -> f64 {
        let records = self.settings.records;
        match &self.zipf {
            Some(zipf) => (0..count).map(|rank| zipf.probability(rank)).sum(),
            None => count.min(records) as f64 / records as f64,
        }
    }
}
