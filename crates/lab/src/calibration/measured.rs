//! Machine files of this machine: constants that loops measured, facts that the system tells, and assumptions.

use sim::machine::{Basis, Cache, Coherence, Constant, Core, Hop, LogDevice, Machine, Memory, Topology};
use simulations::pairs::{low, natives};
use sync::probes::{LOOPS, ProbeScale, load_ns};
use sync::{clock, workers};

use super::{ROUNDS, host};
use crate::Refusal;

/// The command, as the source of constants.
const COMMAND: &str = "contend probe --write";

/// Instructions of a cycle, if nothing misses: an assumption.
const INSTRUCTIONS_PER_CYCLE: f64 = 2.5;

/// Nanoseconds of a step that the loops measured, by the loop's name.
struct Measured(Vec<(&'static str, Option<f64>)>);

impl Measured {
    fn ns(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|(known, _)| *known == name).and_then(|(_, ns)| *ns)
    }
}

/// The constants' origins, collected as the machine is put together.
#[derive(Default)]
struct Origins(Vec<Constant>);

impl Origins {
    fn add(&mut self, path: &str, basis: Basis, source: impl Into<String>) {
        self.0.push(Constant { path: path.to_owned(), basis, source: source.into() });
    }

    /// A constant that the system told, or that is usual.
    fn told<T>(&mut self, path: &str, (value, is_told): (T, bool)) -> T {
        if is_told {
            self.add(path, Basis::Measured, "the system's own files (sysfs)");
        } else {
            self.add(path, Basis::Assumed, "the system does not tell; the value of most processors");
        }
        value
    }

    /// Picoseconds that a loop measured, or an assumption.
    fn time(&mut self, path: &str, measured: &Measured, name: &str, otherwise_ns: f64) -> u64 {
        let ns = measured.ns(name);
        if ns.is_some() {
            self.add(path, Basis::Measured, format!("{COMMAND}: loop `{name}`"));
        } else {
            self.add(path, Basis::Assumed, format!("loop `{name}` could not run here"));
        }
        ((ns.unwrap_or(otherwise_ns) * 1_000.0) as u64).max(1)
    }

    fn assumed<T>(&mut self, path: &str, value: T, source: &str) -> T {
        self.add(path, Basis::Assumed, source);
        value
    }
}

/// Measures this machine, and returns it as a machine to simulate. One memory node is described: the one on which this
/// process runs.
///
/// # Errors
/// Measurements that contradict each other, as they do if other programs disturbed some loops.
pub fn measured_machine(name: &str) -> Result<Machine, Refusal> {
    let facts = crate::Machine::of_this_process();
    let scale = host::scale(&facts);
    let ns = natives(&scale, workers::cores(), ROUNDS);
    let measured = Measured(LOOPS.iter().map(|probe| probe.name).zip(ns).collect());
    let machine = put_together(name, &facts, &scale, &measured);
    // A machine that cannot be read back must not be written.
    Machine::read(&machine.text(), name).map_err(|error| {
        Refusal(format!(
            "the machine is disturbed, so that the measurements contradict each other ({error}): try again"
        ))
    })
}

fn put_together(name: &str, facts: &crate::Machine, scale: &ProbeScale, measured: &Measured) -> Machine {
    let mut origins = Origins::default();
    let line_bytes = origins.told("line_bytes", host::line_bytes());
    let topology = topology(&mut origins, facts);
    let core = core(&mut origins, measured, topology.threads_per_core as usize);
    let mut cache = |level: u64, bytes: u64, otherwise_ns: f64| {
        let path = |name: &str| format!("l{level}.{name}");
        let ways = origins.told(&path("ways"), host::ways(level));
        let set = u64::from(ways) * line_bytes;
        let latency_ps = origins.time(&path("latency_ns"), measured, &format!("l{level}"), otherwise_ns);
        Cache { bytes: (bytes / set).max(1) * set, ways, latency_ps }
    };
    let [l1_told, l2_told, l3_told] = [1, 2, 3].map(|level| host::cache_bytes(facts, level));
    let l3_bytes = l3_bytes(scale, measured).unwrap_or(l3_told.0);
    let (l1, l2, l3) = (cache(1, l1_told.0, 1.5), cache(2, l2_told.0, 5.0), cache(3, l3_bytes, 25.0));
    origins.told("l1.size_kib", l1_told);
    origins.told("l2.size_kib", l2_told);
    if l3_bytes == l3_told.0 {
        origins.told("l3.size_kib", l3_told);
    } else {
        let source = format!(
            "{COMMAND}: the largest memory in which a load takes the time of this cache and not that of memory. The \
             system says {} KiB, which others use, too",
            l3_told.0 >> 10
        );
        origins.add("l3.size_kib", Basis::Measured, source);
    }
    let memory = memory(&mut origins, measured, line_bytes);
    let coherence = coherence(&mut origins, measured, l3.latency_ps);
    let flush_ps = origins.assumed("log.flush_ns", 20_000_000, "an NVMe device with a protected buffer");
    let bytes_per_ns = origins.assumed("log.bytes_per_ns", 2.0, "an NVMe device on four lanes of PCIe 3");
    for constant in ["round_trip_ns", "bytes_per_ns"] {
        origins.assumed(&format!("hops.0.{constant}"), (), "all cores are taken to be at the same distance");
    }
    Machine {
        name: name.to_owned(),
        title: format!("{}, {} cores, as `contend probe` measured it", facts.cpu, topology.cores()),
        compared: None,
        line_bytes,
        topology,
        core,
        l1,
        l2,
        l3,
        memory,
        hops: vec![Hop { round_trip_ps: 0, bytes_per_ns: 0.0 }],
        coherence,
        log: LogDevice { flush_ps, bytes_per_ns },
        constants: origins.0,
    }
}

fn topology(origins: &mut Origins, facts: &crate::Machine) -> Topology {
    let threads_per_core = facts.threads_per_core.max(1);
    let cores = if facts.physical_cores > 0 { facts.physical_cores } else { facts.cores }.max(1);
    let cores_per_group = (host::l3_threads(facts) / threads_per_core).clamp(1, cores);
    for path in ["sockets", "groups_per_socket", "cores_per_group", "threads_per_core", "distance"] {
        origins.add(
            &format!("topology.{path}"),
            Basis::Measured,
            "the system's own files (sysfs), of one memory node",
        );
    }
    Topology {
        sockets: 1,
        groups_per_socket: cores.div_ceil(cores_per_group) as u32,
        cores_per_group: cores_per_group as u32,
        threads_per_core: threads_per_core as u32,
        distance: vec![vec![0]],
    }
}

fn core(origins: &mut Origins, measured: &Measured, threads: usize) -> Core {
    let ghz = (1e9 / clock::ticks_to_ns(1_000_000_000).max(1) as f64 * 1_000.0).round() / 1_000.0;
    origins.add("core.ghz", Basis::Measured, format!("{COMMAND}: the rate of the processor's clock"));
    let instruction_ps = (1_000.0 / ghz / INSTRUCTIONS_PER_CYCLE) as u64;
    origins.assumed(
        "core.instruction_ns",
        (),
        "2.5 instructions a cycle; see docs/book/machines.md for a measurement",
    );
    // A thread more is worth a quarter of the first.
    let smt_speedup = (0..threads).map(|more| 1.0 + 0.25 * more as f64).collect();
    origins.assumed("core.smt_speedup", (), "a quarter for each further thread");
    Core {
        ghz,
        instruction_ps,
        smt_speedup,
        misses_max: misses_max(origins, measured),
        pause_ps: origins.time("core.pause_ns", measured, "pause", 25.0),
        fence_ps: origins.time("core.fence_ns", measured, "fence", 8.0),
        update_ps: origins.time("core.update_ns", measured, "update", 8.0),
        clock_ps: origins.time("core.clock_ns", measured, "clock", 10.0),
    }
}

/// The misses that overlap: the time of one alone, divided by the time of each of many.
fn misses_max(origins: &mut Origins, measured: &Measured) -> u32 {
    let overlapping =
        || Some((measured.ns("memory")? / measured.ns("prefetch")?).round().clamp(1.0, 64.0) as u32);
    match overlapping() {
        Some(misses) => {
            origins.add(
                "core.misses_max",
                Basis::Measured,
                format!("{COMMAND}: loop `memory` divided by `prefetch`"),
            );
            misses
        }
        None => origins.assumed("core.misses_max", 16, "not measured"),
    }
}

fn memory(origins: &mut Origins, measured: &Measured, line_bytes: u64) -> Memory {
    let latency_ps = origins.time("memory.latency_ns", measured, "memory", 100.0);
    let line_ns =
        ["stream", "stream_2"].into_iter().filter_map(|name| measured.ns(name)).fold(f64::INFINITY, f64::min);
    let bytes_per_ns = (line_bytes as f64 / line_ns * 10.0).round() / 10.0;
    origins.add(
        "memory.bytes_per_ns",
        Basis::Measured,
        format!("{COMMAND}: loop `stream_2`, or `stream` on one core: what two cores reach"),
    );
    Memory { latency_ps, bytes_per_ns }
}

fn coherence(origins: &mut Origins, measured: &Measured, l3_ps: u64) -> Coherence {
    Coherence {
        transfer_ps: origins.time("coherence.transfer_ns", measured, "dirty", 3.0 * l3_ps as f64 / 1_000.0),
        hold_ps: origins.time("coherence.hold_ns", measured, "possession", 10.0),
        directory_ps: origins.assumed(
            "coherence.directory_ns",
            5_000,
            "some ten cycles of an on-chip network",
        ),
        invalidate_ps: origins.assumed(
            "coherence.invalidate_ns",
            5_000,
            "one more message to a further socket",
        ),
    }
}

/// Returns the bytes of the last-level cache that this process has: the largest set within which a load takes rather
/// the time of the cache than that of memory. Returns `None` if that is all of it, or nothing was measured.
fn l3_bytes(scale: &ProbeScale, measured: &Measured) -> Option<u64> {
    let between_ns = (measured.ns("l3")? * measured.ns("memory")?).sqrt();
    let sizes =
        (1..).flat_map(|step| [2 << step, 3 << step]).map(|halves: usize| halves * scale.l2_bytes / 2);
    let is_cache = |bytes: &usize| low(load_ns(scale, *bytes)).is_some_and(|ns| ns < between_ns);
    let last = sizes.take_while(|bytes| *bytes <= scale.l3_bytes * 3 / 4).take_while(is_cache).last();
    // The loop `l3` has found the cache within this.
    let bytes = last.unwrap_or(2 * scale.l2_bytes).min(scale.l3_bytes);
    (bytes < scale.l3_bytes / 2).then_some(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> crate::Machine {
        let cache = |level, kib: u64, shared_by| crate::Cache {
            level,
            kind: "unified".to_owned(),
            bytes: kib << 10,
            shared_by,
        };
        crate::Machine {
            cpu: "a \"processor\"".to_owned(),
            cores: 8,
            physical_cores: 4,
            threads_per_core: 2,
            caches: vec![cache(1, 32, 2), cache(2, 512, 2), cache(3, 1 << 14, 4)],
            memory_available_bytes: 1 << 30,
            ..crate::Machine::default()
        }
    }

    #[test]
    fn a_machine_that_was_measured_can_be_read_and_says_what_was_not() {
        let ns = |probe: &sync::probes::ProbeLoop| match probe.name {
            "l1" => Some(1.0),
            "l2" => Some(4.0),
            "memory" => Some(90.0),
            "dirty" | "possession" | "l3" => None,
            _ => Some(7.0),
        };
        let measured = Measured(LOOPS.iter().map(|probe| (probe.name, ns(probe))).collect());
        let scale = host::scale(&facts());
        let machine = put_together("mine", &facts(), &scale, &measured);
        let read = Machine::read(&machine.text(), "mine.toml").expect("it reads back");
        assert_eq!(read.digest(), machine.digest());
        assert_eq!(
            (read.topology.groups_per_socket, read.topology.cores_per_group, read.threads()),
            (2, 2, 8)
        );
        assert_eq!((read.l2.latency_ps, read.memory.latency_ps), (4_000, 90_000));
        let basis = |path: &str| {
            read.constants.iter().find(|constant| constant.path == path).map(|constant| constant.basis)
        };
        assert_eq!(basis("l1.latency_ns"), Some(Basis::Measured));
        assert_eq!(basis("coherence.transfer_ns"), Some(Basis::Assumed));
    }
}
