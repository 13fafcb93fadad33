//! Inputs: the objects of a transaction, and the number that its writes store.

use core::ops::Range;

use engine::{ClientId, Home, Homes, Key};
use stdx::{Permutation, Rng, Zipf};

use super::settings::Settings;

/// The maximum number of objects that a transaction reads, and the maximum number that it writes.
pub(super) const EACH_MAX: usize = 32;
/// The maximum number of objects that a transaction reads or writes.
const ACCESSES_MAX: usize = 2 * EACH_MAX;
/// The maximum number of draws of an object that was not drawn before. Then the next unused object is taken, which
/// happens only if a transaction contains almost all objects.
const DRAWS: u32 = 64;
/// The number of homes: as many as an input can name, so that a long transaction may touch all homes.
pub(super) const HOMES: u64 = engine::Homes::MAX as u64;
/// The number of bits of a request's number in the number of a writer.
const SEQUENCE_BITS: u32 = 40;
/// The stream of random numbers for requests.
const REQUESTS: u64 = 0x6d69_6372_6f21;

/// An object's name: 8 bytes. Names are spread evenly over all 64-bit values, so that the top bits divide objects
/// into equal homes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Object(u64);

impl Object {
    /// An arbitrary object that fills unused array elements.
    const NONE: Self = Self(0);

    /// Returns the number of the object's part, among `parts` equal ranges of names.
    #[inline]
    pub(super) fn part(self, parts: usize) -> usize {
        (self.0 >> (u64::BITS - parts.ilog2())) as usize
    }
}

impl Key for Object {
    type Ordered = u64;

    #[inline]
    fn ordered(self) -> u64 {
        self.0
    }

    #[inline]
    fn from_ordered(ordered: u64) -> Self {
        Self(ordered)
    }

    #[inline]
    fn home(self) -> Home {
        Home::At(self.0 >> (u64::BITS - HOMES.ilog2()))
    }
}

/// The request of a client that wrote an object. Never 0, the value with which objects are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Writer(pub(super) u64);

impl Writer {
    pub(super) fn new(client: ClientId, sequence: u64) -> Self {
        Self((u64::from(client.0) << SEQUENCE_BITS | sequence) + 1)
    }

    /// Returns the client, and the number of the request.
    pub(super) fn request(self) -> (ClientId, u64) {
        let number = self.0.wrapping_sub(1);
        (ClientId((number >> SEQUENCE_BITS) as u32), number & ((1 << SEQUENCE_BITS) - 1))
    }
}

/// A transaction: first objects that are only read, then those that are read and written, then those that are only
/// written.
#[derive(Clone, Debug)]
pub struct Input {
    pub(super) writer: Writer,
    reads: usize,
    common: usize,
    len: usize,
    /// The objects' ranks in the order of hotness.
    ranks: [u64; ACCESSES_MAX],
    objects: [Object; ACCESSES_MAX],
}

impl Input {
    /// Returns the objects that are read or written.
    #[inline]
    pub(super) fn all(&self) -> &[Object] {
        &self.objects[..self.len]
    }

    /// Returns the objects that are read.
    #[inline]
    pub(super) fn read(&self) -> &[Object] {
        &self.objects[..self.reads]
    }

    /// Returns the objects that are written.
    #[inline]
    pub(super) fn written(&self) -> &[Object] {
        &self.objects[self.reads - self.common..self.len]
    }

    /// Returns the ranks of the objects that are written. Rank 0 is the hottest.
    #[inline]
    pub(super) fn ranks_written(&self) -> &[u64] {
        &self.ranks[self.reads - self.common..self.len]
    }

    /// Returns the homes of the objects.
    pub(super) fn homes(&self) -> Homes {
        let mut homes = Homes::new();
        for object in self.all() {
            if let Home::At(home) = object.home() {
                homes.add(home);
            }
        }
        homes
    }
}

/// A generator of inputs.
#[derive(Debug)]
pub(super) struct Generator {
    settings: Settings,
    seed: u64,
    /// The distribution of ranks, or `None` if all objects are equally frequent.
    zipf: Option<Zipf>,
    /// Maps an object's rank to its position in the order of names, so that hot objects are not adjacent.
    scatter: Permutation,
    /// The distance between neighbouring names.
    gap: u64,
}

impl Generator {
    pub(super) fn new(settings: Settings, seed: u64) -> Self {
        let zipf = (settings.theta > 0.0).then(|| Zipf::new(settings.objects, settings.theta));
        let scatter = Permutation::new(settings.objects, seed);
        Self { settings, seed, zipf, scatter, gap: u64::MAX / settings.objects }
    }

    /// Returns the object at a position in the order of names.
    #[inline]
    pub(super) fn at(&self, position: u64) -> Object {
        Object(position * self.gap)
    }

    /// Returns the positions of the objects in one of `parts` equal ranges.
    pub(super) fn positions(&self, part: usize, parts: usize) -> Range<u64> {
        let first = |part: usize| {
            let from = ((part as u128) << u64::BITS).div_ceil(parts as u128);
            (from.div_ceil(u128::from(self.gap)) as u64).min(self.settings.objects)
        };
        first(part)..first(part + 1)
    }

    /// Returns the object with a rank in the order of hotness.
    #[inline]
    pub(super) fn of_rank(&self, rank: u64) -> Object {
        self.at(self.scatter.apply(rank))
    }

    /// Draws a client's request. The check draws the request again after the run, to compare its objects with the
    /// versions.
    pub(super) fn generate(&self, client: ClientId, sequence: u64) -> Input {
        let rng = &mut Rng::from_path(&[self.seed, REQUESTS, u64::from(client.0), sequence]);
        let Settings { reads, common, .. } = self.settings;
        let mut input = Input {
            writer: Writer::new(client, sequence),
            reads,
            common,
            len: self.settings.accesses(),
            ranks: [0; ACCESSES_MAX],
            objects: [Object::NONE; ACCESSES_MAX],
        };
        for nth in 0..input.len {
            let rank = self.rank_beside(&input.ranks[..nth], rng);
            (input.ranks[nth], input.objects[nth]) = (rank, self.of_rank(rank));
        }
        input
    }

    /// Draws a rank that was not drawn before.
    fn rank_beside(&self, drawn: &[u64], rng: &mut Rng) -> u64 {
        let mut rank = self.rank(rng);
        let mut draws = 1;
        while drawn.contains(&rank) {
            rank = if draws < DRAWS { self.rank(rng) } else { (rank + 1) % self.settings.objects };
            draws += 1;
        }
        rank
    }

    fn rank(&self, rng: &mut Rng) -> u64 {
        match &self.zipf {
            Some(zipf) => zipf.rank(rng),
            None => rng.below(self.settings.objects),
        }
    }

    /// The probability that two draws return the same object.
    pub(super) fn collision(&self) -> f64 {
        self.zipf.as_ref().map_or(1.0 / self.settings.objects as f64, Zipf::collision)
    }

    /// The share of draws that return one of the hottest `count` objects.
    pub(super) fn hottest(&self, count: u64) -> f64 {
        let objects = self.settings.objects;
        match &self.zipf {
            Some(zipf) => (0..count).map(|rank| zipf.probability(rank)).sum(),
            None => count.min(objects) as f64 / objects as f64,
        }
    }
}
