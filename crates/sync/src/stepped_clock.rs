//! Time in the stepped build: the scheduler's virtual time, the same in every repeat.

use crate::hook;

/// Virtual nanoseconds: there is no cheaper clock to read.
pub fn ticks() -> u64 {
    hook::now_ns()
}

/// Virtual nanoseconds: nothing is out of order here.
pub fn before() -> u64 {
    hook::now_ns()
}

/// Virtual nanoseconds, as [`before`].
pub fn after() -> u64 {
    hook::now_ns()
}

/// Nanoseconds in `ticks`.
pub fn ticks_to_ns(ticks: u64) -> u64 {
    ticks
}

/// Virtual nanoseconds, the same for all workers.
pub fn now_ns() -> u64 {
    hook::now_ns()
}

/// Virtual nanoseconds: a simulated worker has its core to itself.
pub fn thread_cpu_ns() -> u64 {
    hook::now_ns()
}

/// Says that the caller has executed so many instructions beyond those that belong to its accesses to shared words:
/// they take time where the scheduler has any.
pub fn compute(instructions: u64) {
    hook::compute(instructions);
}

/// Begins or ends the measured part of a run: the scheduler counts where the time goes in it.
pub fn measure(is_on: bool) {
    hook::measure(is_on);
}

/// Says that all workers are to end within so many nanoseconds: otherwise the scheduler may give up, since they wait
/// for each other for ever.
pub fn end_within(ns: u64) {
    hook::end_within(ns);
}
