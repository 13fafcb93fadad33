//! The evidence: every run with its result and the command that repeats it, and the machines.

use results::{Machine, Run};

use super::figures::Drawn;
use super::grid::Grid;
use super::varied::chosen;
use crate::Catalogue;
use crate::text::{bytes, count, percent};

/// Returns the table of the runs of a study.
pub(super) fn runs(drawn: Drawn<'_>) -> Grid {
    let study = drawn.study;
    let mut grid = Grid { caption: "Every run".to_owned(), words: 2 + study.axes.len(), ..Grid::default() };
    grid.head = vec!["run".to_owned(), "scheme".to_owned()];
    grid.head.extend(drawn.names());
    grid.head.extend(["seed", "txn/s", "processor time", "check", "made again by"].map(str::to_owned));
    for run in &study.runs {
        let scheme = &run.choices.scheme;
        let point: Vec<String> = study.axes.iter().map(|axis| axis.told(study.catalogue, run)).collect();
        let key = format!("{} {}", drawn.scheme_key(scheme), drawn.point_key(&point, &[]));
        let mut cells = vec![run.id.clone().unwrap_or_else(|| "-".to_owned()), scheme.clone()];
        cells.extend(point);
        cells.push(run.choices.seed.to_string());
        cells.push(run.throughput_txn_s.map_or_else(|| "no result".to_owned(), count));
        cells.push(processor_time(run));
        cells.push(run.check.verdict.name().to_owned());
        cells.push(command(study.catalogue, run));
        grid.row(key.trim_end(), cells);
    }
    grid
}

fn processor_time(run: &Run) -> String {
    let share = run.cpu_share.map_or_else(|| "-".to_owned(), percent);
    if run.is_starved { format!("{share} (starved)") } else { share }
}

/// Returns the command that repeats a run: the recorded command, or one made from the choices of the run.
fn command(catalogue: Catalogue, run: &Run) -> String {
    if let Some(command) = &run.command {
        return command.clone();
    }
    let mut words = ["contend", "run"].map(str::to_owned).to_vec();
    words.push(run.choices.workload.clone());
    let flags = [
        ("scheme", "scheme"),
        ("workers", "workers"),
        ("clients", "clients_asked"),
        ("seed", "seed"),
        ("retry", "retry"),
        ("machine", "machine"),
        ("placement", "placement"),
        ("memory", "memory"),
        ("smt", "smt"),
        ("txns", "txns"),
        ("warmup-txns", "warmup_txns"),
        ("patience", "patience"),
        ("lookahead-ns", "lookahead_ns"),
    ];
    let times = [("seconds", "asked_s"), ("warmup", "warmup_s")];
    let times = times.into_iter().filter(|_| run.choices.txns.is_none());
    for (name, key) in flags.into_iter().chain(times) {
        words.extend(
            run.choices.get(key).into_iter().flat_map(|value| [format!("--{name}"), value.to_string()]),
        );
    }
    words.extend(run.choices.is_pinned.then(|| "--pin".to_owned()));
    for (name, value) in chosen(run) {
        let standard = catalogue.setting(&name).ok().map(|setting| setting.default);
        if standard.is_some_and(|standard| standard != value) {
            words.extend(["--set".to_owned(), format!("{name}={value}")]);
        }
    }
    words.join(" ")
}

/// Returns the facts about a machine as pairs of name and text.
pub(super) fn machine(machine: &Machine) -> Vec<(String, String)> {
    let or = |text: &str, none: &str| if text.is_empty() { none } else { text }.to_owned();
    let unknown = |text: &str| or(text, "unknown");
    let number = |number: u64| unknown(&if number > 0 { number.to_string() } else { String::new() });
    let size = |size: u64| unknown(&if size > 0 { bytes(size) } else { String::new() });
    let is_virtual = if machine.is_virtual { "yes: a hypervisor may give the cores to others" } else { "no" };
    let numa = if machine.is_numa_balanced { "on: pages move during runs" } else { "off" };
    let facts = [
        ("processor", unknown(&machine.cpu)),
        ("cores", number(machine.cores)),
        ("threads of a core", number(machine.threads_per_core)),
        ("memory", size(machine.memory_bytes)),
        ("last-level cache", size(machine.cache_bytes)),
        ("system", unknown(&machine.kernel)),
        ("virtual", is_virtual.to_owned()),
        ("clocks' governor", or(&machine.governor, "none to be seen, so clocks may change unnoticed")),
        ("huge pages", unknown(&machine.huge_pages)),
        ("NUMA balancing", numa.to_owned()),
    ];
    facts.into_iter().map(|(name, fact)| (name.to_owned(), fact)).collect()
}

/// Returns how busy the machine was before the runs: the least and the greatest load average, and the least free
/// memory.
pub(super) fn load(runs: &[Run]) -> Option<String> {
    let loads = || runs.iter().filter_map(|run| run.machine.load_average);
    let free = runs.iter().filter_map(|run| run.machine.memory_available_bytes).min();
    let (low, high) = (loads().min_by(f64::total_cmp)?, loads().max_by(f64::total_cmp)?);
    let free = free.map_or_else(String::new, |free| format!("; at least {} of memory free", bytes(free)));
    Some(format!("load average {low:.1} to {high:.1}{free}"))
}
