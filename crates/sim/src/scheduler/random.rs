//! Random choices: uniform, or such that workers run for a while.
//!
//! Uniform choices find defects that need many switches at unlucky moments. Most defects of whole transactions need few
//! switches, each followed by a long undisturbed run; rarer switches find these sooner.

use super::Turns;

/// A stream of random numbers: splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
#[derive(Debug, Clone)]
pub(crate) struct Stream(u64);

impl Stream {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not zero.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// Chooses each worker that can run with equal probability.
    #[inline]
    pub(crate) fn uniform(&mut self, turns: &Turns) -> usize {
        let ready = turns.ready();
        ready[self.below(ready.len() as u64) as usize]
    }

    /// Lets the running worker go on for `mean_steps` steps on average.
    #[inline]
    pub(crate) fn sparse(&mut self, turns: &Turns, mean_steps: u32) -> usize {
        if turns.goes_on() && self.below(u64::from(mean_steps.max(1))) > 0 {
            return turns.running();
        }
        self.uniform(turns)
    }
}
