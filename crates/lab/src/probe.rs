//! The probe: the facts about this machine, the sizes that fit on it, and the limits of figures measured on it.

use engine::Drive;
use runs::WorkloadInfo;
use serde_json::{Value, json};

use crate::plan::needed_bytes;
use crate::sweep::Sweep;
use crate::text::{Lines, bytes, count, plural};
use crate::{Catalogue, Machine};

/// The share of the free memory that loaded data may take. The rest is for rows and versions that a run adds.
const LOADED_SHARE: f64 = 0.5;
/// The load average above which a machine is not idle, in runnable threads.
const BUSY: f64 = 0.5;

/// The maximum of a size on a machine, with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeLimit {
    /// The name of the size: of a setting, or of a drive of a run such as `workers`.
    pub name: String,
    /// The maximum.
    pub at_most: u64,
    /// The reason for this maximum.
    pub why: String,
}

/// A warning for readers of figures from a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The subject of the warning, in a word.
    pub name: &'static str,
    /// The warning in words.
    pub says: String,
}

/// Returns the maximum sizes for a machine.
pub fn rules(machine: &Machine) -> Vec<SizeLimit> {
    let mut rules = vec![workers(machine)];
    for workload in runs::WORKLOADS {
        rules.extend(scale_in_memory(workload, machine));
        rules.extend(scale_in_cache(workload, machine));
    }
    rules
}

/// Returns the maximum number of workers that have a core each, with one core left to the system.
fn workers(machine: &Machine) -> SizeLimit {
    let (cores, physical) = (machine.cores.max(1), machine.physical_cores);
    let is_shared = physical > 0 && physical < cores;
    let own = if is_shared { physical } else { cores };
    let quota = machine.cpu_quota.map_or(usize::MAX, |quota| (quota as usize).max(1));
    let usable = own.min(quota);
    let threads = if is_shared {
        format!(", hardware threads of {physical}: a worker for each of these")
    } else {
        String::new()
    };
    let granted =
        if quota < own { format!(", of which the control group grants {quota}") } else { String::new() };
    let at_most = if usable > 2 { usable - 1 } else { usable };
    let left = if usable > 2 {
        "one is left to the system, whose work would otherwise interrupt a worker and delay all that wait for it"
    } else {
        "too few to leave one to the system, so runs may be starved"
    };
    let why = format!("{}{threads}{granted}; {left}", plural(cores, "core"));
    SizeLimit { name: "workers".to_owned(), at_most: at_most as u64, why }
}

/// The memory cost of a workload's scale: in `memory` the bytes of everything, in `columns` those of columns alone.
/// Each pair holds the bytes at the scale `base`, and the bytes of each further unit of scale.
struct Cost {
    base: u64,
    memory: (u64, u64),
    columns: (u64, u64),
}

/// Returns the cost of a workload's scale, from its forecasts at two scales. The cost is linear in the scale.
fn cost(workload: &WorkloadInfo) -> Option<Cost> {
    let forecast = |scale: u64| {
        let given = [(workload.scale.to_owned(), scale.to_string())];
        let values = Catalogue::WITHOUT_SCHEMES.values(workload, None, &given).ok()?;
        runs::forecast(workload.name, &values, Drive { workers: 1, clients: 1, seed: 1 }).ok()
    };
    let base = Catalogue::WITHOUT_SCHEMES.values(workload, None, &[]).ok()?.int(workload.scale);
    let (one, two) = (forecast(base)?, forecast(2 * base)?);
    let line = |one: u64, two: u64| (one, two.saturating_sub(one) / base.max(1));
    Some(Cost {
        base,
        memory: line(needed_bytes(&one), needed_bytes(&two)),
        columns: line(one.row_bytes, two.row_bytes),
    })
}

/// Returns the greatest scale that is possible and no greater than `scale`; `None` if there is none.
fn in_steps(workload: &WorkloadInfo, scale: u64) -> Option<u64> {
    let scale = scale / workload.scale_step * workload.scale_step;
    (scale > 0).then_some(scale)
}

/// Returns the greatest scale that takes at most `bytes`; `None` if no scale does.
fn scale_within(base: u64, (at_base, each): (u64, u64), bytes: u64) -> Option<u64> {
    let each = each.max(1);
    let scale = if bytes >= at_base {
        base + (bytes - at_base) / each
    } else {
        base.saturating_sub((at_base - bytes).div_ceil(each))
    };
    (scale > 0).then_some(scale)
}

fn scale_in_memory(workload: &WorkloadInfo, machine: &Machine) -> Option<SizeLimit> {
    let cost = cost(workload)?;
    let room = (machine.memory_available_bytes as f64 * LOADED_SHARE) as u64;
    let at_most = in_steps(workload, scale_within(cost.base, cost.memory, room)?)?;
    let why = format!(
        "{} of memory are free, half of them for loaded data: each takes about {} with its headers and indexes, and \
         the rest is for what runs add",
        bytes(machine.memory_available_bytes),
        bytes(cost.memory.1)
    );
    Some(SizeLimit { name: workload.scale.to_owned(), at_most, why })
}

fn scale_in_cache(workload: &WorkloadInfo, machine: &Machine) -> Option<SizeLimit> {
    let cost = cost(workload)?;
    let at_most = in_steps(workload, scale_within(cost.base, cost.columns, machine.cache_bytes)?)?;
    let why = format!(
        "the last-level cache has {}, and the columns of each take {}: with more, cold rows are cache misses",
        bytes(machine.cache_bytes),
        bytes(cost.columns.1)
    );
    Some(SizeLimit { name: format!("{} in cache", workload.scale), at_most, why })
}

/// Returns the warnings for readers of figures from a machine.
pub fn warnings(machine: &Machine) -> Vec<Warning> {
    of_cores(machine).into_iter().chain(of_the_system(machine)).flatten().collect()
}

fn warning(applies: bool, name: &'static str, says: String) -> Option<Warning> {
    applies.then_some(Warning { name, says })
}

/// Returns the warnings about the cores that this process has.
fn of_cores(machine: &Machine) -> [Option<Warning>; 5] {
    let (cores, physical, nodes) = (machine.cores, machine.physical_cores, machine.numa_nodes);
    let quota = machine.cpu_quota.unwrap_or(f64::INFINITY);
    [
        warning(
            cores > 1 && physical == 1,
            "smt",
            format!("the {cores} cores are hardware threads of one: every result of two workers or more is of SMT"),
        ),
        warning(
            physical > 1 && physical < cores,
            "smt",
            format!("the {cores} cores are hardware threads of {physical}: with more workers a result shows the \
                     effect of SMT"),
        ),
        warning(
            nodes > 1,
            "numa",
            format!("the cores belong to {nodes} memory nodes: give `--pin`, and keep results of one node apart from \
                     others"),
        ),
        warning(
            quota < cores as f64,
            "quota",
            format!("the control group grants {quota:.1} of {cores} cores: more are throttled"),
        ),
        warning(
            machine.is_virtual,
            "virtual",
            "it is virtual: other virtual machines use time and caches unseen, and its cores may be hardware threads \
             of one core; trust only ratios of runs side by side"
                .to_owned(),
        ),
    ]
}

/// Returns the warnings about the configuration and the load of the system.
fn of_the_system(machine: &Machine) -> [Option<Warning>; 5] {
    let (load, governor, clock) = (machine.load_average, &machine.governor, &machine.clock_source);
    [
        warning(
            load > BUSY,
            "load",
            format!("{load:.1} threads wanted a core in the last minute: wait for an idle machine"),
        ),
        warning(
            !["", "performance"].contains(&governor.as_str()),
            "governor",
            format!(
                "the clock governor is `{governor}`: with `performance` the clock rate does not follow the load"
            ),
        ),
        warning(
            !["", "tsc", "kvm-clock", "arch_sys_counter"].contains(&clock.as_str()),
            "clock",
            format!("the time comes from `{clock}`, which is slow to read: sample latencies rarely"),
        ),
        warning(
            machine.huge_pages == "always",
            "huge_pages",
            "the system makes huge pages by itself, at any time".to_owned(),
        ),
        warning(
            machine.is_numa_balanced && machine.numa_nodes > 1,
            "numa_balancing",
            "the system moves pages between memory nodes while runs are made, which shows as noise"
                .to_owned(),
        ),
    ]
}

/// Returns the warnings that apply to a sweep on a machine, one a line.
pub fn applying(sweep: &Sweep, machine: &Machine) -> String {
    let mut lines = Lines::default();
    let advised = workers(machine);
    let asked = |unit: &crate::sweep::Unit| unit.request.workers.unwrap_or(machine.cores as u64);
    // What is simulated depends on this machine in nothing but the time that it takes.
    let mut native = sweep.units.iter().filter(|unit| unit.request.machine.is_none()).map(asked);
    let Some(first) = native.next() else { return lines.0 };
    let most = native.fold(first, u64::max);
    if most > advised.at_most {
        lines.add(format!(
            "this machine: up to {most} workers, and {} are advised: {}",
            advised.at_most, advised.why
        ));
    }
    for Warning { says, .. } in warnings(machine) {
        lines.add(format!("this machine: {says}"));
    }
    lines.0
}

/// Returns a machine, its rules and its warnings as text for people.
pub fn text(machine: &Machine) -> String {
    let mut lines = Lines::default();
    for (name, fact) in facts(machine) {
        lines.add(format!("{name:<18}{fact}"));
    }
    lines.add("\nwhat fits, at most:");
    for SizeLimit { name, at_most, why } in rules(machine) {
        lines.add(format!("- {name}: {}\n  {why}", count(at_most as f64)));
    }
    let warnings = warnings(machine);
    if !warnings.is_empty() {
        lines.add("\nlimits of figures from this machine:");
    }
    for Warning { says, .. } in warnings {
        lines.add(format!("- {says}"));
    }
    lines.0
}

/// Returns the known facts about a machine, by name.
fn facts(machine: &Machine) -> [(&'static str, String); 13] {
    let told = |known: bool, text: String| if known { text } else { "unknown".to_owned() };
    let word = |word: &str| told(!word.is_empty(), word.to_owned());
    let caches = machine.caches.iter().map(|cache| {
        let by = if cache.shared_by > 1 { format!(", shared by {}", cache.shared_by) } else { String::new() };
        format!("L{} {} {}{by}", cache.level, cache.kind, bytes(cache.bytes))
    });
    let limit = machine.memory_limit_bytes.map(|limit| format!(", limited to {}", bytes(limit)));
    let quota = machine.cpu_quota.map_or("none".to_owned(), |quota| format!("{quota:.1} cores"));
    let (physical, nodes) = (machine.physical_cores, machine.numa_nodes);
    [
        ("processor", machine.cpu.clone()),
        ("cores", machine.cores.to_string()),
        (
            "of the processor",
            told(
                physical > 0,
                format!("{physical}, of {} each", plural(machine.threads_per_core, "hardware thread")),
            ),
        ),
        ("memory nodes", told(nodes > 0, nodes.to_string())),
        ("caches", told(!machine.caches.is_empty(), caches.collect::<Vec<_>>().join("; "))),
        (
            "memory",
            format!(
                "{}, {} free{}",
                bytes(machine.memory_bytes),
                bytes(machine.memory_available_bytes),
                limit.unwrap_or_default()
            ),
        ),
        ("huge pages", word(&machine.huge_pages)),
        ("clock source", word(&machine.clock_source)),
        ("governor", word(&machine.governor)),
        ("load", format!("{:.1}", machine.load_average)),
        ("processor limit", quota),
        ("virtual", if machine.is_virtual { "yes" } else { "no" }.to_owned()),
        ("system", machine.kernel.clone()),
    ]
}

/// Returns a machine, its rules and its warnings as an object for programs.
pub fn json(machine: &Machine) -> Value {
    let rule =
        |SizeLimit { name, at_most, why }: SizeLimit| json!({ "name": name, "at_most": at_most, "why": why });
    let warning = |Warning { name, says }: Warning| json!({ "name": name, "says": says });
    json!({
        "schema": crate::json::SCHEMA,
        "kind": "probe",
        "version": env!("CARGO_PKG_VERSION"),
        "machine": crate::json::machine(machine),
        "rules": rules(machine).into_iter().map(rule).collect::<Vec<_>>(),
        "warnings": warnings(machine).into_iter().map(warning).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::tests::catalogue;
    use crate::sweep::Recipe;
    use crate::{Plan, Request};

    fn machine(cores: usize, physical_cores: usize) -> Machine {
        let (memory_available_bytes, cache_bytes) = (4 << 30, 1 << 20);
        Machine { cores, cache_bytes, physical_cores, memory_available_bytes, ..Machine::default() }
    }

    #[test]
    fn a_core_is_left_to_the_system_where_there_are_more_than_two() {
        let of = |cores, physical| workers(&machine(cores, physical)).at_most;
        assert_eq!([of(1, 1), of(2, 2), of(3, 3), of(16, 16), of(4, 0)], [1, 2, 2, 15, 3]);
        assert_eq!([of(2, 1), of(16, 8)], [1, 7], "hardware threads of one core are one");
        let throttled = Machine { cpu_quota: Some(4.5), ..machine(16, 16) };
        assert_eq!(workers(&throttled).at_most, 3);
    }

    #[test]
    fn two_hardware_threads_of_one_core_are_pointed_out() {
        let smt = |cores, physical| {
            let all = warnings(&machine(cores, physical)).into_iter();
            all.filter(|warning| warning.name == "smt").map(|warning| warning.says).collect::<String>()
        };
        assert!(smt(2, 1).contains("every result of two workers"));
        assert!(smt(8, 4).contains("hardware threads of 4"));
        assert!(smt(2, 2).is_empty() && smt(1, 1).is_empty() && smt(4, 0).is_empty());
    }

    #[test]
    fn what_is_said_to_fit_is_planned_and_twice_as_much_as_there_is_room_for_is_not() {
        let machine = machine(2, 2);
        for workload in catalogue().workloads() {
            let rule = scale_in_memory(workload, &machine).expect("something fits");
            let room = machine.memory_available_bytes as f64 * LOADED_SHARE;
            let needed = |scale: u64| {
                let given = [(workload.scale.to_owned(), scale.to_string())];
                let values = catalogue().values(workload, None, &given).expect("legal");
                let drive = Drive { workers: 1, clients: 1, seed: 1 };
                needed_bytes(&runs::forecast(workload.name, &values, drive).expect("possible")) as f64
            };
            assert!(needed(rule.at_most) <= room * 1.01, "{rule:?}");
            let more = (rule.at_most + rule.at_most / 50) / workload.scale_step * workload.scale_step;
            assert!(needed(more + workload.scale_step) > room, "{rule:?}");
        }
        assert_eq!(scale_within(10, (100, 10), 25), Some(2));
        assert_eq!(scale_within(10, (100, 10), 5), None);
    }

    #[test]
    fn a_sweep_hears_what_applies_to_it() {
        let text = "title = \"a test\"\nworkload = \"ycsb\"\nschemes = [\"silo\"]\n[settings]\nworkers = 4\n";
        let sweep =
            Sweep::new(catalogue(), Recipe::parse(catalogue(), text).expect("legal"), "").expect("possible");
        let told = applying(&sweep, &Machine { governor: "powersave".to_owned(), ..machine(4, 4) });
        assert!(told.contains("up to 4 workers, and 3 are advised") && told.contains("powersave"), "{told}");
        assert_eq!(applying(&sweep, &machine(8, 8)), "");
        let text = text.replace("workers = 4", "machine = \"epyc\"\nworkers = 64");
        let simulated = Recipe::parse(catalogue(), &text).expect("legal");
        let simulated = Sweep::new(catalogue(), simulated, "").expect("possible");
        let slow = Machine { governor: "powersave".to_owned(), ..machine(4, 4) };
        assert_eq!(applying(&simulated, &slow), "", "this machine decides nothing");
        assert!(simulated.portable().is_ok());
    }

    #[test]
    fn this_machine_is_told_in_both_ways() {
        let machine = Machine::of_this_process();
        let (text, object) = (text(&machine), json(&machine));
        assert!(text.contains("- workers: ") && text.contains("- ycsb.records: "), "{text}");
        assert_eq!((&object["kind"], &object["rules"][0]["name"]), (&"probe".into(), &"workers".into()));
        let workers = object["rules"][0]["at_most"].as_u64();
        assert!(Plan::new(catalogue(), &Request { workers, ..Request::new("ycsb") }).is_ok());
    }
}
