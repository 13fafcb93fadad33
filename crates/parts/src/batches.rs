//! The numbers of batches and of transactions in them, for schemes that order these ahead; and what keeps attempts
//! outside of batches apart from each other, and from a run in batches.

use engine::{Abort, Facts, Info, Step, Ticket};
use sync::Padded;
use sync::atomic::{AtomicU64, Ordering};

use crate::Gate;
use crate::version_chain::VersionStamp;

/// Bits of a number below that of the batch: which transaction of it, and whether it ran alone.
const PLACE_BITS: u32 = 15;
const ALONE: u64 = 1 << (PLACE_BITS - 1);
/// Above all batches, and below what marks versions that are undecided.
const BATCH_MAX: u64 = (VersionStamp::UNDECIDED - 1) >> PLACE_BITS;

/// The size of a scheme's batches.
#[derive(Clone, Copy, Debug)]
pub struct BatchSize {
    /// The number of places; 0 if it follows from the number of workers.
    given: usize,
    standard: StandardSize,
}

/// The number of places that follows from the number of workers.
#[derive(Clone, Copy, Debug)]
pub struct StandardSize {
    /// The number of places for each worker.
    pub each: usize,
    /// The minimum number of places.
    pub least: usize,
}

impl BatchSize {
    /// The maximum number of places.
    pub const MAX: usize = 10_000;

    /// The size that a setting gives: so many places or, with 0, the standard size.
    pub const fn new(given: usize, standard: StandardSize) -> Self {
        Self { given, standard }
    }

    /// The number of places for so many workers.
    pub fn of(self, workers: usize) -> usize {
        match self.given {
            0 => (self.standard.each * workers).clamp(self.standard.least, Self::MAX),
            given => given,
        }
    }

    /// The facts of a scheme with such batches. Clients above [`MAX`](Self::MAX) wait for the next batch.
    pub fn facts(self, info: &Info) -> Facts {
        let (clients_min, clients_min_per_worker) = match self.given {
            0 => (self.standard.least, self.standard.each),
            given => (given, 1),
        };
        Facts { clients_min, clients_min_per_worker, ..Facts::of(info) }
    }
}

/// The batches of a database: one after the other, since a run holds the gate, and so does an attempt outside of one,
/// which counts as a batch. Numbers of transactions are in the order in which these take effect.
#[derive(Debug, Default)]
pub struct Batches {
    present: Padded<AtomicU64>,
    gate: Gate,
}

/// The number of an attempt.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numbered {
    /// The number: of a rehearsal, above all others, as it sees all that there is.
    pub number: u64,
    /// Whether the attempt is a batch of its own, and holds the gate.
    is_whole: bool,
}

impl Numbered {
    /// The place of the transaction in its batch, from 0.
    #[inline]
    pub fn place(self) -> usize {
        Self::place_of(self.number)
    }

    /// The place of the transaction with a number.
    #[inline]
    pub fn place_of(number: u64) -> usize {
        (number & (ALONE - 1)) as usize - 1
    }
}

impl Batches {
    /// An attempt begins.
    ///
    /// # Errors
    /// When it is outside of batches and another has the gate.
    #[inline]
    pub fn enter(&self, ticket: &Ticket) -> Result<Numbered, Abort> {
        let is_whole = ticket.step == Step::Whole;
        if is_whole {
            if !self.gate.try_enter() {
                return Err(Abort::LockBusy);
            }
            self.turn();
        }
        let before = match ticket.step {
            Step::Rehearsal => BATCH_MAX << PLACE_BITS,
            Step::Alone => self.before() | ALONE,
            Step::Planned | Step::Whole => self.before(),
        };
        Ok(Numbered { number: before | ticket.sequence.max(1), is_whole })
    }

    /// An attempt has ended.
    #[inline]
    pub fn leave(&self, numbered: &mut Numbered) {
        if core::mem::take(&mut numbered.is_whole) {
            self.gate.leave();
        }
    }

    /// Below all numbers of the present batch, and above those of the ones before.
    #[inline]
    pub fn before(&self) -> u64 {
        // Relaxed, here and below: who turns is one worker, between two meetings of all, or has the gate.
        self.present.load(Ordering::Relaxed) << PLACE_BITS
    }

    /// The number of the transaction at a place of the present batch, from 0.
    #[inline]
    pub fn number_of(&self, place: usize) -> u64 {
        self.before() | (place as u64 + 1)
    }

    /// The next batch comes.
    pub fn turn(&self) {
        self.present.store(self.present.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// A run begins, as soon as nobody has the gate.
    pub fn open(&self) {
        self.gate.enter();
    }

    /// A run has ended.
    pub fn close(&self) {
        self.gate.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Homes;

    fn ticket(step: Step, sequence: u64) -> Ticket {
        Ticket { sequence, step, ..Ticket::new(0, Homes::new()) }
    }

    #[test]
    fn batches_grow_with_the_workers_unless_their_size_is_given() {
        let (planned, few) = (StandardSize { each: 16, least: 16 }, StandardSize { each: 4, least: 16 });
        let sizes = |size: BatchSize| [1, 4, 5, 56, 1_568].map(|workers| size.of(workers));
        let standard = BatchSize::new(0, planned);
        assert_eq!(sizes(standard), [16, 64, 80, 896, BatchSize::MAX]);
        assert_eq!(sizes(BatchSize::new(0, few)), [16, 16, 20, 224, 6_272]);
        assert_eq!(sizes(BatchSize::new(7, planned)), [7; 5]);
        let info = Info {
            name: "batched",
            title: "",
            paper: "",
            family: engine::Family::Batched,
            isolation: engine::Isolation::Serializable,
            workers: engine::Admits::Any,
            views: engine::Views::Confirmed,
            idea: "",
        };
        for workers in [1, 4, 5, 56] {
            assert_eq!(
                standard.facts(&info).clients(1, workers),
                standard.of(workers),
                "a client for each place"
            );
        }
        assert_eq!(BatchSize::new(7, planned).facts(&info).clients(1, 2), 7);
    }

    #[test]
    fn numbers_are_in_the_order_in_which_transactions_take_effect() {
        let batches = Batches::default();
        let number =
            |step, sequence| batches.enter(&ticket(step, sequence)).expect("nobody is in the way").number;
        batches.open();
        batches.turn();
        let first = [number(Step::Planned, 1), number(Step::Planned, 10_000), number(Step::Alone, 1)];
        let rehearsed = number(Step::Rehearsal, 7);
        batches.turn();
        let second = number(Step::Planned, 1);
        assert!(
            first.is_sorted()
                && first[2] < batches.before()
                && batches.before() < second
                && second < rehearsed
        );
        assert_eq!(second, batches.number_of(0));
        assert_eq!(Numbered { number: rehearsed, is_whole: false }.place(), 6);
    }

    #[test]
    fn a_run_keeps_others_out_and_so_does_an_attempt() {
        let batches = Batches::default();
        let mut whole = batches.enter(&ticket(Step::Whole, 0)).expect("nobody is in the way");
        assert!(batches.enter(&ticket(Step::Whole, 0)).is_err());
        batches.leave(&mut whole);
        batches.leave(&mut whole);
        batches.open();
        assert!(batches.enter(&ticket(Step::Whole, 0)).is_err());
        batches.close();
        assert!(batches.enter(&ticket(Step::Whole, 0)).is_ok_and(|later| later.number > whole.number));
    }
}
