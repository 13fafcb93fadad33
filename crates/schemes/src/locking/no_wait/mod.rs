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
//! DEPARTURES  A conflicting lock is looked at `no_wait.spin` times more before the abort, a bounded wait
//!             ([`LockWord::exchange`]): most locks are held for less time than an abort wastes. On fibers nobody
//!             spins. The departures of [`TwoPhase`] hold here, too.

pub mod entry;
pub mod plants;
#[cfg(all(test, feature = "tests", not(loom)))]
mod tests;

use engine::setting::{Range, SettingError};
use engine::{Abort, Admits, Env, Family, Info, Isolation, settings};
use parts::LockWord;
use parts::lock_word::{NO_VALUE, RETIRED};
use sync::atomic::Ordering;
use sync::plant::is_planted;

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
/// One shared lock.
const SHARED: u64 = 8;
/// Everything but whether there is a value: a word that is free of these is unlocked.
const LOCKS: u64 = !(NO_VALUE | RETIRED);

/// The rule: an attempt that finds a conflicting lock aborts.
#[derive(Debug)]
pub struct AbortAtOnce {
    spin: u64,
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
    type Party = ();

    fn new(settings: &Settings, _: Env) -> Result<Self, SettingError> {
        Ok(Self { spin: settings.spin })
    }

    fn attach(&self, _: usize) {}

    // ANCHOR: lock
    #[inline]
    fn lock(&self, (): &mut (), word: &LockWord, _: usize, mode: Mode) -> Result<bool, Abort> {
        let before = word.exchange(self.spin, |word| match mode {
            Mode::Shared => (word & EXCLUSIVE == 0).then_some(word + SHARED),
            Mode::Exclusive => (word & LOCKS == 0).then_some(word + EXCLUSIVE),
        })?;
        Ok(before & NO_VALUE == 0)
    }

    #[inline]
    fn upgrade(&self, (): &mut (), word: &LockWord, _: usize) -> Result<(), Abort> {
        // The only shared lock is this attempt's own: anyone else's is a conflict.
        let always = is_planted(&plants::NO_WAIT_UPGRADES_ALWAYS);
        let may = |word: u64| word & LOCKS == SHARED || always && word & EXCLUSIVE == 0;
        word.exchange(self.spin, |word| may(word).then_some(word - SHARED + EXCLUSIVE)).map(|_| ())
    }
    // ANCHOR_END: lock

    #[inline]
    fn unlock(&self, (): &(), word: &LockWord, _: usize, mode: Mode, left: Left) {
        if left == Left::AsItWas {
            let lock = if mode == Mode::Exclusive { EXCLUSIVE } else { SHARED };
            word.0.fetch_sub(lock, Ordering::Release); // Release: pairs with the Acquire in `exchange`.
            return;
        }
        // Relaxed: this attempt holds the lock. Invariant (1).
        let locked = word.0.load(Ordering::Relaxed);
        assert!(locked & LOCKS == EXCLUSIVE, "an exclusive lock excludes all others");
        word.0.store(left.applied(0), Ordering::Release); // Release: pairs with the Acquire in `exchange`.
    }
}
