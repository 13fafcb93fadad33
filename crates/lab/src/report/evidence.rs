//! The evidence: every run with its result and the command that repeats it, and the machines.

use serde_json::Value;

use super::figures::Drawn;
use super::grid::Grid;
use super::varied::{chosen, shown};
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
        let scheme = shown(&run["scheme"]);
        let point: Vec<String> =
            study.axes.iter().map(|axis| axis.told(study.catalogue, run, &scheme)).collect();
        let key = format!("{} {}", drawn.scheme_key(&scheme), drawn.point_key(&point, &[]));
        let mut cells = vec![run["id"].as_str().unwrap_or("-").to_owned(), scheme];
        cells.extend(point);
        cells.push(run["seed"].to_string());
        cells.push(run["throughput_txn_s"].as_f64().map_or_else(|| "no result".to_owned(), count));
        cells.push(processor_time(run));
        cells.push(run["check"]["verdict"].as_str().unwrap_or("-").to_owned());
        cells.push(command(study.catalogue, run));
        grid.row(key.trim_end(), cells);
    }
    grid
}

fn processor_time(run: &Value) -> String {
    let share = run["cpu_share"].as_f64().map_or_else(|| "-".to_owned(), percent);
    if run["starved"] == true { format!("{share} (starved)") } else { share }
}

/// Returns the command that repeats a run: the recorded command, or one made from the choices of the run.
fn command(catalogue: Catalogue, run: &Value) -> String {
    if let Some(command) = run["command"].as_str() {
        return command.to_owned();
    }
    let mut words = ["contend", "run"].map(str::to_owned).to_vec();
    words.push(shown(&run["workload"]));
    let flags = [
        ("scheme", "scheme"),
        ("workers", "workers"),
        ("clients", "clients_asked"),
        ("seconds", "asked_s"),
        ("warmup", "warmup_s"),
        ("seed", "seed"),
        ("retry", "retry"),
    ];
    for (name, key) in flags.into_iter().filter(|(_, key)| !run[*key].is_null()) {
        words.extend([format!("--{name}"), shown(&run[key])]);
    }
    words.extend((run["pinned"] == true).then(|| "--pin".to_owned()));
    for (name, value) in chosen(run) {
        let standard = catalogue.setting(&name).ok().map(|setting| setting.default);
        if standard.is_some_and(|standard| standard != value) {
            words.extend(["--set".to_owned(), format!("{name}={value}")]);
        }
    }
    words.join(" ")
}

/// Returns the facts about a machine as pairs of name and text.
pub(super) fn machine(machine: &Value) -> Vec<(String, String)> {
    let size = |value: &Value| value.as_u64().filter(|size| *size > 0).map(bytes);
    let text = |value: &Value| Some(shown(value)).filter(|text| !text.is_empty() && text != "null");
    let or_none = |text: Option<String>, none: &str| text.unwrap_or_else(|| none.to_owned());
    let unknown = "unknown";
    let facts = [
        ("processor", or_none(text(&machine["cpu"]), unknown)),
        ("cores", or_none(text(&machine["cores"]), unknown)),
        (
            "threads of a core",
            or_none(text(&machine["threads_per_core"]).filter(|threads| threads != "0"), unknown),
        ),
        ("memory", or_none(size(&machine["memory_bytes"]), unknown)),
        ("last-level cache", or_none(size(&machine["cache_bytes"]), unknown)),
        ("system", or_none(text(&machine["kernel"]), unknown)),
        (
            "virtual",
            if machine["virtual"] == true { "yes: a hypervisor may give the cores to others" } else { "no" }
                .to_owned(),
        ),
        (
            "clocks' governor",
            or_none(text(&machine["governor"]), "none to be seen, so clocks may change unnoticed"),
        ),
        ("huge pages", or_none(text(&machine["huge_pages"]), unknown)),
        (
            "NUMA balancing",
            if machine["numa_balancing"] == true { "on: pages move during runs" } else { "off" }.to_owned(),
        ),
    ];
    facts.into_iter().map(|(name, fact)| (name.to_owned(), fact)).collect()
}

/// Returns how busy the machine was before the runs: the least and the greatest load average, and the least free
/// memory.
pub(super) fn load(runs: &[Value]) -> Option<String> {
    let loads = || runs.iter().filter_map(|run| run["machine"]["load_average"].as_f64());
    let free = runs.iter().filter_map(|run| run["machine"]["memory_available_bytes"].as_u64()).min();
    let (low, high) = (loads().min_by(f64::total_cmp)?, loads().max_by(f64::total_cmp)?);
    let free = free.map_or_else(String::new, |free| format!("; at least {} of memory free", bytes(free)));
    Some(format!("load average {low:.1} to {high:.1}{free}"))
}
