//! The cost of sleeping fibers: the time of a switch between two running fibers beside many that sleep, and the time
//! of a sleep and its end when all fibers sleep again and again.
//!
//! `cargo run --release -p contend-sync --example sleepers`
#![allow(clippy::print_stdout, reason = "an example says what it did")]

use std::cell::Cell;

use sync::fiber::{Crew, STACK_BYTES};
use sync::{clock, waiter};

const SWITCHES: u64 = 1_000_000;
const SLEEPS: u64 = 2_000_000;

fn main() {
    println!("{:>8}  {:>12}  {:>12}", "sleepers", "ns a switch", "ns a sleep");
    for sleepers in [10, 1_000, 20_000] {
        println!("{sleepers:>8}  {:>12.0}  {:>12.0}", switch_ns(sleepers), sleep_ns(sleepers));
    }
}

/// The time of a switch between two fibers while `sleepers` others sleep.
fn switch_ns(sleepers: u64) -> f64 {
    let (awake, elapsed_ns) = (Cell::new(2), Cell::new(0));
    let mut crew = Crew::new();
    for number in 0..sleepers {
        let awake = &awake;
        // Each sleeper has its own deadline, after the end of the measurement.
        crew.spawn(STACK_BYTES, move || {
            while awake.get() > 0 {
                waiter::pause_ns(3_000_000_000 + number * 977);
            }
        });
    }
    for _ in 0..2 {
        crew.spawn(STACK_BYTES, || {
            waiter::give_way();
            let begun_ns = clock::now_ns();
            (0..SWITCHES).for_each(|_| waiter::give_way());
            elapsed_ns.set(clock::now_ns() - begun_ns);
            awake.set(awake.get() - 1);
        });
    }
    crew.run();
    elapsed_ns.get() as f64 / (2 * SWITCHES) as f64
}

/// The time of a sleep and its end, while `sleepers` fibers sleep again and again and are always about to wake.
fn sleep_ns(sleepers: u64) -> f64 {
    let left = Cell::new(SLEEPS);
    let mut crew = Crew::new();
    let left = &left;
    for number in 0..sleepers {
        crew.spawn(STACK_BYTES, move || {
            // Durations of half to twice the time that a fiber waits for its turn, in an order without a pattern.
            let mut spread = number;
            while left.get() > 0 {
                left.set(left.get() - 1);
                spread =
                    spread.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                waiter::pause_ns(sleepers * (10 + (spread >> 33) % 30));
            }
        });
    }
    let begun_ns = clock::now_ns();
    crew.run();
    (clock::now_ns() - begun_ns) as f64 / SLEEPS as f64
}
