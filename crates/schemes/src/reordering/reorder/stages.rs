//! The stages through which a transaction passes, and the time of sampled transactions in each of them.
//!
//! A session has a clock for its own stages. The session that decides a batch measures ordering and validation once for
//! all requests in it, as lengths and not as moments, because clocks of two cores may differ.
//!
//! Relaxed everywhere: sums that order nothing else, and that are read when the run is over.

use core::array;

use engine::{StageTimes, Ticket};
use sync::atomic::{AtomicU64, Ordering};
use sync::{Padded, clock};

/// A stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The attempt has not begun: too many transactions are open, or the attempt before was aborted and a pause
    /// follows.
    Beginning,
    /// The procedure, with the search of the indexes and the buffering of writes.
    Processing,
    /// A read waits for its batch.
    InStorage,
    /// A value is copied.
    Reading,
    /// The request to commit waits for its batch, for the batch to be taken up, and for the outcome to be heard.
    InValidator,
    /// The batch is compared with earlier commits and put in order.
    Ordering,
    /// The batch is decided.
    Validation,
    /// Earlier writes of the same records are not in place.
    WritesBefore,
    /// The writes are installed.
    Installation,
}

impl Stage {
    /// The number of stages.
    const COUNT: usize = 9;
    /// The names, in the order of the stages.
    const NAMES: [&'static str; Self::COUNT] = [
        "waiting to begin",
        "processing",
        "waiting in the storage",
        "reading",
        "waiting in the validator",
        "ordering",
        "validating",
        "waiting for earlier writes",
        "installing",
    ];
}

/// Measures lengths, one after the other, if it is on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stopwatch {
    is_on: bool,
    since: u64,
}

impl Stopwatch {
    /// Starts now.
    #[inline]
    pub fn start(is_on: bool) -> Self {
        Self { is_on, since: if is_on { clock::ticks() } else { 0 } }
    }

    /// Ticks since the last call, or since the start; 0 if it is off.
    #[inline]
    pub fn lap(&mut self) -> u64 {
        if self.is_on { self.lap_at(clock::ticks()) } else { 0 }
    }

    fn lap_at(&mut self, now: u64) -> u64 {
        now.wrapping_sub(core::mem::replace(&mut self.since, now))
    }
}

/// The clock of a session. It is off while its transaction is not sampled.
#[derive(Debug)]
pub struct StageClock {
    watch: Stopwatch,
    stage: Stage,
    ticks: [u64; Stage::COUNT],
    /// Whether the transaction is yet to be counted.
    is_new: bool,
}

impl Default for StageClock {
    fn default() -> Self {
        let watch = Stopwatch::default();
        Self { watch, stage: Stage::Beginning, ticks: [0; Stage::COUNT], is_new: false }
    }
}

impl StageClock {
    /// An attempt comes.
    #[inline]
    pub fn begin(&mut self, ticket: &Ticket) {
        if !ticket.is_sampled {
            self.watch.is_on = false;
        } else if ticket.retries == 0 || !self.watch.is_on {
            (self.watch, self.stage, self.is_new) = (Stopwatch::start(true), Stage::Beginning, true);
        }
    }

    /// The attempt comes to a stage.
    #[inline]
    pub fn enter(&mut self, stage: Stage) {
        if self.watch.is_on {
            self.enter_at(stage, clock::ticks());
        }
    }

    #[cold]
    fn enter_at(&mut self, stage: Stage, now: u64) {
        self.ticks[self.stage as usize] += self.watch.lap_at(now);
        self.stage = stage;
    }

    /// The request was decided, after so many ticks of ordering and of validation, and the attempt comes to the next
    /// stage.
    #[inline]
    pub fn decided(&mut self, ordering: u64, validation: u64) {
        if self.watch.is_on {
            self.decided_at(ordering, validation, clock::ticks());
        }
    }

    #[cold]
    fn decided_at(&mut self, ordering: u64, validation: u64, now: u64) {
        self.enter_at(Stage::WritesBefore, now);
        for (stage, ticks) in [(Stage::Ordering, ordering), (Stage::Validation, validation)] {
            let waited = &mut self.ticks[Stage::InValidator as usize];
            let ticks = ticks.min(*waited);
            *waited -= ticks;
            self.ticks[stage as usize] += ticks;
        }
    }

    /// The attempt ends.
    #[inline]
    pub fn end(&mut self, sums: &StageSums) {
        if self.watch.is_on {
            self.enter_at(Stage::Beginning, clock::ticks());
            sums.add(&core::mem::take(&mut self.ticks), core::mem::take(&mut self.is_new));
        }
    }
}

/// The times of all sampled transactions together.
#[derive(Debug)]
pub struct StageSums {
    ticks: Padded<[AtomicU64; Stage::COUNT]>,
    transactions: AtomicU64,
}

impl Default for StageSums {
    fn default() -> Self {
        let ticks = array::from_fn(|_| AtomicU64::new(0));
        Self { ticks: Padded(ticks), transactions: AtomicU64::new(0) }
    }
}

impl StageSums {
    fn add(&self, ticks: &[u64; Stage::COUNT], is_new: bool) {
        for (sum, ticks) in self.ticks.iter().zip(ticks) {
            sum.fetch_add(*ticks, Ordering::Relaxed);
        }
        self.transactions.fetch_add(u64::from(is_new), Ordering::Relaxed);
    }

    /// The sums so far; `None` if nothing was sampled.
    pub fn times(&self) -> Option<StageTimes> {
        let transactions = self.transactions.load(Ordering::Relaxed);
        let ns = self.ticks.iter().map(|ticks| clock::ticks_to_ns(ticks.load(Ordering::Relaxed)));
        (transactions > 0)
            .then(|| StageTimes { transactions, ns: Stage::NAMES.into_iter().zip(ns).collect() })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use engine::Homes;

    use super::*;

    /// A clock that is on since the tick 0.
    fn clock() -> StageClock {
        let watch = Stopwatch { is_on: true, since: 0 };
        StageClock { watch, ..StageClock::default() }
    }

    fn of(clock: &StageClock, stage: Stage) -> u64 {
        clock.ticks[stage as usize]
    }

    #[test]
    fn every_tick_counts_in_one_stage() {
        let mut clock = clock();
        clock.enter_at(Stage::Processing, 5);
        clock.enter_at(Stage::InStorage, 12);
        clock.enter_at(Stage::Processing, 112);
        clock.enter_at(Stage::InValidator, 115);
        clock.decided_at(20, 30, 315);
        clock.enter_at(Stage::Installation, 316);
        assert_eq!([Stage::Beginning, Stage::Processing].map(|stage| of(&clock, stage)), [5, 7 + 3]);
        assert_eq!([Stage::InStorage, Stage::InValidator].map(|stage| of(&clock, stage)), [100, 150]);
        assert_eq!([Stage::Ordering, Stage::Validation].map(|stage| of(&clock, stage)), [20, 30]);
        assert_eq!((of(&clock, Stage::WritesBefore), clock.ticks.iter().sum::<u64>()), (1, 316));
    }

    #[test]
    fn a_decision_does_not_take_longer_than_its_request_has_waited() {
        let mut clock = clock();
        clock.enter_at(Stage::InValidator, 0);
        clock.decided_at(7, 100, 10);
        assert_eq!(
            [Stage::InValidator, Stage::Ordering, Stage::Validation].map(|stage| of(&clock, stage)),
            [0, 7, 3]
        );
    }

    #[test]
    fn a_transaction_counts_once_whatever_its_attempts_and_only_if_it_is_sampled() {
        let (mut clock, sums) = (StageClock::default(), StageSums::default());
        let mut ticket = Ticket::new(1, Homes::new());
        let mut attempt = |ticket: &Ticket| {
            clock.begin(ticket);
            clock.enter(Stage::Processing);
            clock.end(&sums);
            sums.times().map(|times| times.transactions)
        };
        assert_eq!(attempt(&ticket), None);
        ticket.is_sampled = true;
        assert_eq!(attempt(&ticket), Some(1));
        ticket.retries = 1;
        assert_eq!(attempt(&ticket), Some(1), "another attempt of it");
        ticket.retries = 0;
        assert_eq!(attempt(&ticket), Some(2));
    }

    #[test]
    fn a_stopwatch_that_is_off_measures_nothing() {
        assert_eq!(Stopwatch::start(false).lap(), 0);
        let mut on = Stopwatch { is_on: true, since: 3 };
        assert_eq!((on.lap_at(10), on.lap_at(11)), (7, 1));
    }
}
