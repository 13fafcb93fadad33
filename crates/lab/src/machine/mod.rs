//! The machine that a run was on: all that a reader needs to judge the numbers, and nothing that identifies the owner.
//! Facts that the system does not tell are left out.

mod topology;

use std::fs;
use std::path::Path;

use sync::atomic::{AtomicU64, Ordering};
use sync::limits::{Limits, MemoryLeft};
use sync::{clock, workers};

pub use topology::Cache;
use topology::Topology;

/// The known facts about a machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// The processor's name.
    pub cpu: String,
    /// Cores that this process may use.
    pub cores: usize,
    /// Bytes of main memory.
    pub memory_bytes: u64,
    /// Bytes of the last-level cache.
    pub cache_bytes: u64,
    /// The operating system and its version.
    pub kernel: String,
    /// Whether the machine runs under a hypervisor.
    pub is_virtual: bool,
    /// Hardware threads of a core; 0 if unknown.
    pub threads_per_core: usize,
    /// Physical cores to which the cores of this process (hardware threads) belong; 0 if unknown.
    pub physical_cores: usize,
    /// Memory nodes to which the cores of this process belong; 0 if unknown.
    pub numa_nodes: usize,
    /// The caches of the first core of this process, the nearest first.
    pub caches: Vec<Cache>,
    /// The clock source from which the system reads the time.
    pub clock_source: String,
    /// Processor time that the control group of this process may use, in cores, if it is limited.
    pub cpu_quota: Option<f64>,
    /// Bytes of memory that the control group of this process may use, if it is limited.
    pub memory_limit_bytes: Option<u64>,
    /// The frequency governor of the cores; empty if there is none, as under most hypervisors.
    pub governor: String,
    /// The setting of transparent huge pages in the system: `always`, `madvise` or `never`.
    pub huge_pages: String,
    /// Whether the system moves pages to the memory nodes of the threads that use them, which causes noise in figures.
    pub is_numa_balanced: bool,
    /// The mean number of runnable threads in the last minute before the system was asked.
    pub load_average: f64,
    /// Bytes of memory that were available when the system was asked.
    pub memory_available_bytes: u64,
}

impl Machine {
    /// Asks the system for the facts.
    pub fn of_this_process() -> Self {
        let cpu_info = read("/proc/cpuinfo");
        let kernel = format!(
            "{} {}",
            read("/proc/sys/kernel/ostype").trim(),
            read("/proc/sys/kernel/osrelease").trim()
        );
        let flags = colon_field(&cpu_info, "flags").unwrap_or_default();
        let root = Path::new("/");
        let (topology, limits) = (Topology::read(root), Limits::of_this_process());
        Self {
            cpu: colon_field(&cpu_info, "model name").unwrap_or(std::env::consts::ARCH).to_owned(),
            cores: workers::cores(),
            memory_bytes: kilobytes(&read("/proc/meminfo"), "MemTotal").unwrap_or(0),
            cache_bytes: topology.caches.iter().map(|cache| cache.bytes).max().unwrap_or(0),
            kernel: kernel.trim().to_owned(),
            is_virtual: flags.split_whitespace().any(|flag| flag == "hypervisor"),
            threads_per_core: topology.threads_per_core,
            physical_cores: topology.physical_cores,
            numa_nodes: topology.numa_nodes,
            caches: topology.caches,
            clock_source: read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
                .trim()
                .to_owned(),
            cpu_quota: limits.cpu_quota,
            memory_limit_bytes: limits.memory_bytes,
            governor: read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").trim().to_owned(),
            huge_pages: chosen(&read("/sys/kernel/mm/transparent_hugepage/enabled")).to_owned(),
            is_numa_balanced: !["", "0"].contains(&read("/proc/sys/kernel/numa_balancing").trim()),
            memory_available_bytes: available_bytes().unwrap_or(0),
            load_average: read("/proc/loadavg").split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0.0),
        }
    }
}

/// For how many nanoseconds an answer of the system about free memory is used. A sweep asks for each of its points, and
/// the answer comes from dozens of files.
const MEMORY_IS_KNOWN_NS: u64 = 100_000_000;

/// Returns the bytes of memory that are available without swapping, within the limits of the system, the process and
/// its control group; `None` if the system does not tell.
pub(crate) fn available_bytes() -> Option<u64> {
    /// The moment of the last answer, and the answer; `UNTOLD` if there was none.
    static TOLD_AT_NS: AtomicU64 = AtomicU64::new(0);
    static TOLD: AtomicU64 = AtomicU64::new(UNTOLD);
    const UNTOLD: u64 = u64::MAX;

    let now = clock::now_ns();
    // Acquire: pairs with the Release below, so that the answer is at least as new as its moment.
    let told_at = TOLD_AT_NS.load(Ordering::Acquire);
    if told_at == 0 || now.saturating_sub(told_at) > MEMORY_IS_KNOWN_NS {
        let bytes = MemoryLeft::of_this_process().map_or(UNTOLD, |left| left.bytes);
        TOLD.store(bytes, Ordering::Relaxed); // Relaxed: published by the moment.
        TOLD_AT_NS.store(now, Ordering::Release);
    }
    Some(TOLD.load(Ordering::Relaxed)).filter(|bytes| *bytes != UNTOLD) // Relaxed: see above.
}

/// Returns how many simulations fit the free memory of this host at the same time, from 1 on, by the bytes that each
/// needs.
pub(crate) fn fits(needed_bytes: impl Iterator<Item = u64>) -> usize {
    let most = needed_bytes.max().unwrap_or_default().max(1);
    available_bytes().map_or(usize::MAX, |free| (free / most).max(1) as usize)
}

/// Resets the peak of this process's resident memory, so that a run is not charged with the memory of earlier runs. If
/// the system refuses, the peak covers the earlier runs, too.
pub(crate) fn forget_peak_rss() {
    // "5" resets the peak (proc(5), /proc/PID/clear_refs). A refusal changes only the reported figure.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// Returns the peak of this process's resident memory in bytes; 0 if the system does not tell.
pub(crate) fn peak_rss_bytes() -> u64 {
    kilobytes(&read("/proc/self/status"), "VmHWM").unwrap_or(0)
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// Returns the value of the first line `name : value`.
fn colon_field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let fields = text.lines().filter_map(|line| line.split_once(':'));
    fields
        .map(|(key, value)| (key.trim(), value.trim()))
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value)
}

/// Returns the value of the line `name: value kB`, in bytes.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let value = colon_field(text, name)?.strip_suffix("kB")?;
    value.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// Returns the word in brackets, by which the system marks the chosen option.
fn chosen(text: &str) -> &str {
    text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or("", |(word, _)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_names() {
        let text = "MemTotal:       100 kB\nMemAvailable:    7 kB\nmodel name\t: A CPU: fast\n";
        assert_eq!(kilobytes(text, "MemAvailable"), Some(7 * 1024));
        assert_eq!(kilobytes(text, "Mem"), None);
        assert_eq!(colon_field(text, "model name"), Some("A CPU: fast"));
    }

    #[test]
    fn choices_of_the_system_are_understood() {
        assert_eq!((chosen("always [madvise] never"), chosen("")), ("madvise", ""));
    }

    #[test]
    fn this_machine_has_cores_and_a_processor() {
        let machine = Machine::of_this_process();
        assert!(machine.cores > 0 && !machine.cpu.is_empty());
    }
}
