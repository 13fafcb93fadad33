//! Inputs: the objects of a transaction, and a number that its writes leave behind.

use core::ops::Range;

use engine::{ClientId, Home, Homes, Key};
use stdx::{Permutation, Rng, Zipf};

use super::settings::Settings;

/// The most objects that a transaction reads, and the most that it writes.
pub(super) const EACH_MAX: usize = 32;
/// The most that it reads or writes.
const ACCESSES_MAX: usize = 2 * EACH_MAX;
/// Draws of an object until it is none that was drawn before: then the next free one is taken, only where a
/// transaction has almost all objects there are.
const DRAWS: u32 = 64;
/// The number of homes: as many as an input can name, so that long transactions may touch them all.
const HOMES: u64 = engine::Homes::MAX as u64;
/// Bits of a request's number in the number of a writer.
const SEQUENCE_BITS: u32 = 40;
/// The stream of random numbers of requests.
const REQUESTS: u64 = 0x6d69_6372_6f21;

/// An object's name: 8 bytes. Objects lie evenly over all of them, so that the top bits divide them into equal homes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Object(u64);

impl Object {
    /// Any object: to fill a place that is not used.
    const NONE: Self = Self(0);

    /// One of `parts` equal ranges of objects.
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

/// Who wrote: a request of a client. Never 0, which is what objects are loaded with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Writer(pub(super) u64);

impl Writer {
    pub(super) fn new(client: ClientId, sequence: u64) -> Self {
        Self((u64::from(client.0) << SEQUENCE_BITS | sequence) + 1)
    }

    /// The client, and the number of the request.
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
    /// By rank in the order of hotness.
    ranks: [u64; ACCESSES_MAX],
    objects: [Object; ACCESSES_MAX],
}

impl Input {
    /// What is read or written.
    #[inline]
    pub(super) fn all(&self) -> &[Object] {
        &self.objects[..self.len]
    }

    /// What is read.
    #[inline]
    pub(super) fn read(&self) -> &[Object] {
        &self.objects[..self.reads]
    }

    /// What is written.
    #[inline]
    pub(super) fn written(&self) -> &[Object] {
        &self.objects[self.reads - self.common..self.len]
    }

    /// How hot that is.
    #[inline]
    pub(super) fn ranks_written(&self) -> &[u64] {
        &self.ranks[self.reads - self.common..self.len]
    }

    /// Where it lives.
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

/// Draws inputs.
#[derive(Debug)]
pub(super) struct Generator {
    settings: Settings,
    seed: u64,
    /// By rank; none where all objects are equally frequent.
    zipf: Option<Zipf>,
    /// From the rank of an object to its position in the order of names, so that hot ones are no neighbours.
    scatter: Permutation,
    /// From one name to the next.
    gap: u64,
}

impl Generator {
    pub(super) fn new(settings: Settings, seed: u64) -> Self {
        let zipf = (settings.theta > 0.0).then(|| Zipf::new(settings.objects, settings.theta));
        let scatter = Permutation::new(settings.objects, seed);
        Self { settings, seed, zipf, scatter, gap: u64::MAX / settings.objects }
    }

    /// The object at a position in the order of names.
    #[inline]
    pub(super) fn at(&self, position: u64) -> Object {
        Object(position * self.gap)
    }

    /// The positions of the objects in one of `parts` equal ranges.
    pub(super) fn positions(&self, part: usize, parts: usize) -> Range<u64> {
        let first = |part: usize| {
            let from = ((part as u128) << u64::BITS).div_ceil(parts as u128);
            (from.div_ceil(u128::from(self.gap)) as u64).min(self.settings.objects)
        };
        first(part)..first(part + 1)
    }

    /// The object with a rank in the order of hotness.
    #[inline]
    pub(super) fn of_rank(&self, rank: u64) -> Object {
        self.at(self.scatter.apply(rank))
    }

    /// A client's request: drawn again after the run to see whether it wrote what it left behind.
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

    /// A rank that is not among those drawn before.
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

    /// The probability that two draws are of the same object.
    pub(super) fn collision(&self) -> f64 {
        self.zipf.as_ref().map_or(1.0 / self.settings.objects as f64, Zipf::collision)
    }

    /// The share of draws that go to the hottest `count` objects.
    pub(super) fn hottest(&self, count: u64) -> f64 {
        let objects = self.settings.objects;
        match &self.zipf {
            Some(zipf) => (0..count).map(|rank| zipf.probability(rank)).sum(),
            None => count.min(objects) as f64 / objects as f64,
        }
    }
}
