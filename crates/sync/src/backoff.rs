//! Pauses of growing length between looks at something that another worker must change.

use crate::{backend, hint};

/// Spins a little longer each time, then gives the core away: with more workers than cores, the worker
/// that must act next may be waiting for this core.
#[derive(Debug, Default)]
pub struct Backoff {
    step: u32,
}

impl Backoff {
    /// A fresh start.
    #[inline]
    pub const fn new() -> Self {
        Self { step: 0 }
    }

    /// Pauses once: 1, 2, 4 .. 32 spin hints, thereafter a yield to the operating system. (The stepped
    /// and the loom build spin once: there, a spin is a yield.)
    #[inline]
    pub fn snooze(&mut self) {
        if self.step < backend::BACKOFF_SPINS {
            for _ in 0..1_u32 << self.step {
                hint::spin_loop();
            }
        } else {
            backend::yield_now(self.step);
        }
        self.step = self.step.saturating_add(1);
    }

    /// Whether the spinning is over: a caller that may give up should give up now.
    #[inline]
    pub fn is_exhausted(&self) -> bool {
        self.step >= backend::BACKOFF_SPINS
    }
}
