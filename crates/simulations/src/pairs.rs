//! Pairs: loops that each measure one cost, natively and on a simulated machine. A pair that disagrees shows an error of
//! the machine's constants, or of the simulator.

use std::rc::Rc;

use sim::Timed;
use sim::machine::{Machine, Placement};
use sync::probes::{LOOPS, ProbeLoop, ProbeScale};
use sync_sim::probes as stepped;

use crate::instance::Installed;

/// Windows of a loop in a simulation. A simulation has no noise; the first windows fill caches.
const SIMULATED_WINDOWS: usize = 5;

/// The share of a loop's native windows that are at most as long as its figure. Other programs make windows longer,
/// and hardly any shorter.
const LOW: f64 = 0.1;

/// A loop with its native and its simulated time.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbePair {
    /// The loop's name.
    pub name: &'static str,
    /// A step of the loop, in words.
    pub says: &'static str,
    /// The number of cores that the loop needs.
    pub workers: usize,
    /// Nanoseconds of a step on this machine; `None` if it has too few cores, or did not run them at the same time.
    pub native_ns: Option<f64>,
    /// Nanoseconds of a step on the simulated machine; `None` if it has too few cores.
    pub simulated_ns: Option<f64>,
}

impl ProbePair {
    /// Returns the simulated time relative to the native time.
    pub fn ratio(&self) -> Option<f64> {
        Some(self.simulated_ns? / self.native_ns?)
    }
}

/// Runs all loops natively and on a simulated machine. The native ones run `rounds` times each, in turn, so that a
/// disturbance of some seconds does not spoil a loop.
pub fn pairs(scale: &ProbeScale, cores: usize, rounds: usize, machine: &Machine) -> Vec<ProbePair> {
    let native = natives(scale, cores, rounds);
    let pair = |(probe, native_ns): (&'static ProbeLoop, Option<f64>)| ProbePair {
        name: probe.name,
        says: probe.says,
        workers: probe.workers,
        native_ns,
        simulated_ns: simulated(probe.name, machine),
    };
    LOOPS.iter().zip(native).map(pair).collect()
}

/// Returns the nanoseconds of a step of each loop on this machine, in the order of [`LOOPS`]. See [`pairs`].
pub fn natives(scale: &ProbeScale, cores: usize, rounds: usize) -> Vec<Option<f64>> {
    let mut windows = vec![Vec::new(); LOOPS.len()];
    for _ in 0..rounds {
        for (probe, windows) in LOOPS.iter().zip(&mut windows) {
            if probe.workers <= cores {
                windows.extend(probe.run(scale));
            }
        }
    }
    windows.into_iter().map(low).collect()
}

/// Returns the nanoseconds of a step of a loop on a simulated machine; `None` if the machine has too few cores, or there
/// is no loop of this name.
///
/// The simulator has a mean number of instructions between two accesses, which is that of the engine. A loop has fewer.
/// So the time of an instruction is changed for the loop, such that the mean number takes the loop's own time.
pub fn simulated(name: &str, machine: &Machine) -> Option<f64> {
    let probe = stepped::ProbeLoop::of_name(name)?;
    let own_ps = match probe.own {
        stepped::OwnTime::Hidden => 0,
        stepped::OwnTime::DependentLoad => machine.l1.latency_ps,
        stepped::OwnTime::Instructions(count) => u64::from(count) * machine.core.instruction_ps,
    };
    let mut machine = machine.clone();
    machine.core.instruction_ps = (own_ps as f64 / instructions_per_access(&machine)) as u64;
    run(probe, &machine)
}

/// Returns the instructions that the simulator counts for an access: what a hit takes if an instruction takes a
/// nanosecond.
fn instructions_per_access(machine: &Machine) -> f64 {
    let mut machine = machine.clone();
    machine.core.instruction_ps = 1_000;
    machine.core.clock_ps = 0;
    let probe = stepped::ProbeLoop::of_name("l1").expect("it is in the list");
    run(probe, &machine).expect("a machine has a core").round().max(1.0)
}

fn run(probe: &stepped::ProbeLoop, machine: &Machine) -> Option<f64> {
    if probe.workers > machine.topology.cores() as usize {
        return None;
    }
    let timed = Rc::new(Timed::new(machine, Placement::CoresFirst, probe.workers, 0));
    let _installed = Installed::of(&timed);
    timed.start();
    quantile(probe.run(&scale_of(machine)), 0.5)
}

/// The sizes of a simulated machine. Its memory is cold, so that twice the caches are enough for misses.
fn scale_of(machine: &Machine) -> stepped::ProbeScale {
    stepped::ProbeScale {
        line_bytes: machine.line_bytes as usize,
        l1_bytes: machine.l1.bytes as usize,
        l2_bytes: machine.l2.bytes as usize,
        l3_bytes: machine.l3.bytes as usize,
        memory_bytes: 2 * machine.l3.bytes as usize,
        windows: SIMULATED_WINDOWS,
        pin: false,
    }
}

/// Returns the figure of a loop with these windows: the value that a tenth of them do not exceed.
pub fn low(windows: Vec<f64>) -> Option<f64> {
    quantile(windows, LOW)
}

/// Returns the value that a share of the values do not exceed.
fn quantile(mut values: Vec<f64>, share: f64) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let at = (values.len() as f64 * share) as usize;
    values.get(at.min(values.len().saturating_sub(1))).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machines() -> Vec<Machine> {
        let read = |(name, _)| Machine::read(Machine::of_name(name).expect("known"), name).expect("correct");
        Machine::built_in().into_iter().map(read).collect()
    }

    #[test]
    #[ignore]
    fn native() {
        let scale = ProbeScale {
            line_bytes: 64,
            l1_bytes: 32 << 10,
            l2_bytes: 1 << 20,
            l3_bytes: 32 << 20,
            memory_bytes: 128 << 20,
            windows: 400,
            pin: true,
        };
        for kib in [1536, 2048, 3072, 4096, 6144, 8192, 16384] {
            let s = ProbeScale { l2_bytes: kib << 7, l3_bytes: 1 << 30, ..scale };
            let w = ProbeLoop::of_name("l3").unwrap().run(&s);
            println!(
                "l3 {kib} n min {:8.2?} p10 {:8.2?} p50 {:8.2?} p90 {:8.2?}",
                quantile(w.clone(), 0.0),
                quantile(w.clone(), 0.1),
                quantile(w.clone(), 0.5),
                quantile(w.clone(), 0.9)
            );
        }
        for (i, probe) in LOOPS.iter().enumerate() {
            if probe.workers > 2 {
                continue;
            }
            let t = std::time::Instant::now();
            let mut w = probe.run(&scale);
            for _ in 0..2 {
                w.extend(probe.run(&scale));
            }
            let n = w.len();
            println!(
                "{i:2} {:12} n {n:5} min {:8.2?} p10 {:8.2?} p50 {:8.2?} p90 {:8.2?} {:?}",
                probe.name,
                quantile(w.clone(), 0.0),
                quantile(w.clone(), 0.1),
                quantile(w.clone(), 0.5),
                quantile(w.clone(), 0.9),
                t.elapsed()
            );
        }
    }

    #[test]
    #[ignore]
    fn show() {
        for machine in machines() {
            println!("{}", machine.name);
            for probe in LOOPS {
                println!("{:12} {:?}", probe.name, simulated(probe.name, &machine));
            }
        }
    }

    #[test]
    fn a_quantile_is_one_of_the_values() {
        assert_eq!(quantile(Vec::new(), 0.1), None);
        assert_eq!(quantile(vec![3.0], 0.9), Some(3.0));
        assert_eq!(quantile((0..20).map(f64::from).collect(), 0.1), Some(2.0));
    }
}
