//! A fixed interleaving of attempts, each on a fiber of its own.

use core::cell::Cell;

use sync::{fiber, waiter};

/// The steps of a script, done in the order of their numbers, whichever fiber they are on.
#[derive(Debug, Default)]
pub(crate) struct Order(Cell<usize>);

impl Order {
    /// Waits for its turn, acts, and lets the next step come.
    pub(crate) fn step<T>(&self, number: usize, act: impl FnOnce() -> T) -> T {
        waiter::wait_until(None, || self.0.get() == number);
        let done = act();
        self.0.set(number + 1);
        done
    }
}

/// Runs scripts side by side, and checks that together they took all of `steps`.
pub(crate) fn interleave<'s>(order: &'s Order, steps: usize, scripts: Vec<Box<dyn FnOnce() + 's>>) {
    let mut crew = fiber::Crew::new();
    for script in scripts {
        crew.spawn(4 * fiber::STACK_BYTES, script);
    }
    crew.run();
    assert_eq!(order.0.get(), steps, "every step is done");
}
