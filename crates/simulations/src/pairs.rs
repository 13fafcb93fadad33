//! Pairs: loops that each measure one cost, natively and on a simulated machine. A pair that disagrees shows an error
//! of the machine's constants, or of the simulator.

use std::rc::Rc;

use sim::Timed;
use sim::machine::{Machine, Placement};
use sync::probes::{LOOPS, ProbeLoop, ProbeScale};
use sync_sim::{heap, probes as stepped};

/// Windows of a loop in a simulation. A simulation has no noise; the first windows fill caches.
const SIMULATED_WINDOWS: usize = 5;

/// The share of the native windows that are at most as long as the figure of a loop of one worker. Other programs make
/// windows longer, and hardly any shorter.
const LOW: f64 = 0.1;

/// The same of a loop of several workers, whose windows count only if the workers ran at the same time. Here a few
/// windows are too short: a worker that was interrupted leaves the lines to the others.
const MIDDLE: f64 = 0.5;

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
    let figure = |(probe, windows): (&ProbeLoop, Vec<f64>)| {
        quantile(windows, if probe.workers == 1 { LOW } else { MIDDLE })
    };
    LOOPS.iter().zip(windows).map(figure).collect()
}

/// Returns the nanoseconds of a step of a loop on a simulated machine; `None` if the machine has too few cores, or
/// there is no loop of this name.
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
    timed.start();
    heap::within(|| timed.run(|| quantile(probe.run(&scale_of(machine)), MIDDLE)))
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

/// Returns the figure of a loop of one worker: the value that a tenth of them do not exceed.
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

    /// A machine's first socket alone: its pages are on no other one.
    fn one_socket(machine: &Machine) -> Machine {
        let mut machine = machine.clone();
        machine.topology.sockets = 1;
        machine.topology.distance = vec![vec![0]];
        machine.hops.truncate(1);
        machine
    }

    /// Each loop that measures a constant, with its path.
    const CONSTANTS: [(&str, &str); 9] = [
        ("l1", "l1.latency_ns"),
        ("l2", "l2.latency_ns"),
        ("l3", "l3.latency_ns"),
        ("memory", "memory.latency_ns"),
        ("dirty", "coherence.transfer_ns"),
        ("update", "core.update_ns"),
        ("fence", "core.fence_ns"),
        ("pause", "core.pause_ns"),
        ("clock", "core.clock_ns"),
    ];

    fn constant_ns(machine: &Machine, path: &str) -> f64 {
        let values = machine.values();
        let value = values.iter().find(|(known, _)| known == path).map(|(_, value)| value.parse());
        value.expect("a constant").expect("a number")
    }

    #[test]
    fn simulated_loops_give_back_the_constants_of_their_machine() {
        for machine in machines() {
            // Lines that go from one group of cores to another take the way between groups, too.
            let machine = one_socket(&machine);
            let hop_ns = machine.hops[0].round_trip_ps as f64 / 1_000.0;
            let hit_ns = machine.l1.latency_ps as f64 / 1_000.0;
            for (name, path) in CONSTANTS {
                let found = simulated(name, &machine).expect("there are two cores");
                let constant = constant_ns(&machine, path);
                let way = if name == "dirty" && machine.topology.cores_per_group == 1 { hop_ns } else { 0.0 };
                // A hit of the first level belongs to the instructions of an access, and may count beside a miss.
                let most = (constant + way + hit_ns) * 1.1;
                assert!(
                    ((constant + way) * 0.9..most).contains(&found),
                    "{}, {path}: {constant}, found {found}",
                    machine.name
                );
            }
        }
    }

    #[test]
    fn a_write_that_takes_a_line_within_a_group_of_cores_pays_no_way_between_groups() {
        let upgrade = |name: &str| {
            let machine = Machine::read(Machine::of_name(name).expect("known"), name).expect("correct");
            let hop_ns = machine.hops[0].round_trip_ps as f64 / 1_000.0;
            let within_ns = (machine.coherence.transfer_ps + machine.core.update_ps) as f64 / 1_000.0;
            [simulated("upgrade_1", &machine).expect("there are two cores"), within_ns, hop_ns]
        };
        let [epyc, within, hop] = upgrade("epyc");
        assert!((within * 0.9..within * 1.1).contains(&epyc) && hop > within, "{epyc}");
        let [power9, within, hop] = upgrade("power9");
        let between = within + hop;
        assert!((between * 0.9..between * 1.1).contains(&power9), "a group has one core: {power9}");
    }

    #[test]
    fn a_loop_follows_its_constant() {
        let machine = Machine::read(Machine::of_name("here").expect("known"), "here").expect("correct");
        for (name, path) in CONSTANTS {
            let slower = machine.scaled(path, 2.0).expect("a cost");
            let ns =
                [&machine, &slower].map(|machine| simulated(name, machine).expect("there are two cores"));
            let longer = (ns[1] - ns[0]) / constant_ns(&machine, path);
            assert!((0.9..1.1).contains(&longer), "{path}: {} and {}", ns[0], ns[1]);
        }
    }

    #[test]
    fn a_simulated_loop_takes_the_same_time_again() {
        let machine = Machine::read(Machine::of_name("epyc").expect("known"), "epyc").expect("correct");
        for probe in LOOPS {
            let ns = [(); 2].map(|()| simulated(probe.name, &machine).map(f64::to_bits));
            assert!(ns[0].is_some() && ns[0] == ns[1], "{}", probe.name);
        }
    }

    #[test]
    fn a_loop_of_more_cores_than_there_are_is_left_out() {
        let machine = Machine::read(Machine::of_name("here").expect("known"), "here").expect("correct");
        assert_eq!((simulated("storm_4", &machine), simulated("nothing", &machine)), (None, None));
    }

    #[test]
    fn a_quantile_is_one_of_the_values() {
        assert_eq!(quantile(Vec::new(), 0.1), None);
        assert_eq!(quantile(vec![3.0], 0.9), Some(3.0));
        assert_eq!(quantile((0..20).map(f64::from).collect(), 0.1), Some(2.0));
    }
}
