//! `NO_WAIT`: strict two-phase locking that aborts at a conflict (Eswaran, Gray, Lorie, Traiger, CACM 1976; per
//! record and without a queue in Yu, Bezerra, Pavlo, Devadas, Stonebraker, VLDB 2014).
//!
//! IDEA        An attempt locks a record shared before it first reads it, exclusively before it writes it, and
//!             keeps the lock to the end. An attempt that finds a lock held in a conflicting mode aborts at
//!             once: nobody waits, so there are neither queues nor deadlocks, and a lock is one exchange on the
//!             record's word.
//! RECORD      One word: bit 0 locked exclusively, bit 1 no value, bit 2 retired, bits 3.. number of shared
//!             locks.
//! COMMIT      That of two-phase locking ([`TwoPhase`]); the store of the new word unlocks.
//! INVARIANTS  Those of two-phase locking, of which (1), an exclusive lock excludes every other lock of the
//!             record, is asserted in `unlock`.
//! DEPARTURES  A conflicting lock is looked at `no_wait.spin` times more before the abort, a bounded wait: most
//!             locks are held for less time than an abort wastes. On fibers nobody spins. The departures of
//!             [`TwoPhase`] hold here, too.

pub mod entry;
pub mod plants;
#[cfg(all(test, feature = "tests", not(loom)))]
mod tests;

use engine::setting::{Range, SettingError};
use engine::{Abort, Admits, Env, Family, Info, Isolation, Retire, Ticket, settings};
use storage::Meta;
use sync::atomic::{AtomicU64, Ordering};
use sync::plant::is_planted;
use sync::{hint, waiter};

use crate::frames::two_phase::{ConflictRule, Left, Mode, TwoPhase};

settings! {
    /// The settings of the scheme.
    pub struct Settings of "no_wait" {
        /// How often a conflicting lock is looked at again before the attempt aborts; pays while locks are held briefly
        /// by transactions that run, and 0 is the published scheme.
        spin: u64 {
            default: "64",
            range: Range::Int(0, 1_000_000),
            unit: "looks",
            stresses: "aborts against time spent waiting for locks",
        },
    }
}

/// Two-phase locking that aborts at a conflict.
pub type NoWait = TwoPhase<AbortAtOnce>;

const EXCLUSIVE: u64 = 1;
const NO_VALUE: u64 = 2;
const RETIRED: u64 = 4;
/// One shared lock.
const SHARED: u64 = 8;
/// Everything but whether there is a value: a word that is free of these is unlocked.
const LOCKS: u64 = !(NO_VALUE | RETIRED);

/// The rule: an attempt that finds a conflicting lock aborts.
#[derive(Debug)]
pub struct AbortAtOnce {
    spin: u64,
}

/// A record's lock word.
#[derive(Debug)]
pub struct Header(AtomicU64);

impl Default for Header {
    fn default() -> Self {
        Self(AtomicU64::new(NO_VALUE))
    }
}

impl Meta for Header {
    fn reset(&self) {
        self.0.store(NO_VALUE, Ordering::Relaxed); // Relaxed: publishing the record orders it.
    }
}

impl crate::frames::two_phase::Header for Header {
    fn load(&self) {
        self.0.store(0, Ordering::Relaxed); // Relaxed: publishing the record orders it.
    }

    #[inline]
    fn has_value(&self) -> bool {
        self.0.load(Ordering::Acquire) & NO_VALUE == 0 // Acquire: pairs with the Release in `unlock`.
    }

    fn retire(&self) -> Retire {
        // Nobody holds a lock of a record that turns from free to retired, and nobody gets one later.
        // AcqRel: pairs with the Release in `unlock`, and orders the mark before what follows from it.
        // Relaxed on failure: nothing is read.
        match self.0.compare_exchange(NO_VALUE, NO_VALUE | RETIRED, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => Retire::Done,
            Err(word) if word & RETIRED != 0 => Retire::Done,
            Err(word) if word & NO_VALUE != 0 => Retire::Later,
            Err(_) => Retire::Alive,
        }
    }
}

impl ConflictRule for AbortAtOnce {
    const INFO: Info = Info {
        name: "no_wait",
        title: "NO_WAIT",
        paper: "Yu, Bezerra, Pavlo, Devadas, Stonebraker: Staring into the abyss, VLDB 2014 (two-phase locking: \
                Eswaran, Gray, Lorie, Traiger, CACM 1976)",
        family: Family::Locking,
        isolation: Isolation::StrictlySerializable,
        workers: Admits::Any,
        views: engine::Views::Confirmed,
        idea: "locks each record before it is accessed, keeps the locks to the end, aborts when one is held",
    };
    type Settings = Settings;
    const WAITS: bool = false;
    type Header = Header;
    type Party = ();

    fn new(settings: &Settings, _: Env) -> Result<Self, SettingError> {
        Ok(Self { spin: settings.spin })
    }

    fn attach(&self, _: usize) {}

    #[inline]
    fn begin(&self, (): &mut (), _: &Ticket) {}

    // ANCHOR: lock
    #[inline]
    fn lock(&self, (): &mut (), header: &Header, _: usize, mode: Mode) -> Result<bool, Abort> {
        let word = match mode {
            Mode::Shared => self.acquire(header, |word| (word & EXCLUSIVE == 0).then_some(word + SHARED))?,
            Mode::Exclusive => {
                self.acquire(header, |word| (word & LOCKS == 0).then_some(word + EXCLUSIVE))?
            }
        };
        Ok(word & NO_VALUE == 0)
    }

    #[inline]
    fn upgrade(&self, (): &mut (), header: &Header, _: usize) -> Result<(), Abort> {
        // The only shared lock is this attempt's own: anyone else's is a conflict.
        let always = is_planted(&plants::NO_WAIT_UPGRADES_ALWAYS);
        let may = |word: u64| word & LOCKS == SHARED || always && word & EXCLUSIVE == 0;
        self.acquire(header, |word| may(word).then_some(word - SHARED + EXCLUSIVE)).map(|_| ())
    }
    // ANCHOR_END: lock

    #[inline]
    fn unlock(&self, (): &(), header: &Header, _: usize, mode: Mode, left: Left) {
        if left == Left::AsItWas {
            let lock = if mode == Mode::Exclusive { EXCLUSIVE } else { SHARED };
            header.0.fetch_sub(lock, Ordering::Release); // Release: pairs with the Acquire in `acquire`.
            return;
        }
        // Relaxed: this attempt holds the lock. Invariant (1).
        let word = header.0.load(Ordering::Relaxed);
        assert!(word & LOCKS == EXCLUSIVE, "an exclusive lock excludes all others");
        let word = if left == Left::WithoutValue { NO_VALUE } else { 0 };
        header.0.store(word, Ordering::Release); // Release: pairs with the Acquire in `acquire`.
    }
}

impl AbortAtOnce {
    // ANCHOR: acquire
    /// Replaces a record's word by the result of `take`, and returns the word before. `take` returns `None`
    /// while a lock is in the way.
    #[inline]
    fn acquire(&self, header: &Header, take: impl Fn(u64) -> Option<u64>) -> Result<u64, Abort> {
        let mut looks = 0;
        loop {
            let word = header.0.load(Ordering::Relaxed); // Relaxed: checked by the exchange.
            if word & RETIRED != 0 {
                return Err(Abort::ReadChanged);
            }
            if let Some(locked) = take(word) {
                // Acquire: pairs with the Release in `unlock`. Relaxed on failure: nothing is read.
                if header.0.compare_exchange(word, locked, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                    return Ok(word);
                }
                continue;
            }
            // On a fiber the holder of the lock may be another attempt of this worker, which cannot go on
            // before this one ends.
            if looks == self.spin || waiter::in_fiber() {
                return Err(Abort::LockBusy);
            }
            looks += 1;
            hint::spin_loop();
        }
    }
    // ANCHOR_END: acquire
}
