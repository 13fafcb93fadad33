//! Comparisons of two sets of results: a build with the one before, a setting with another.
//!
//! Results are compared cell by cell. A *cell* is all that was chosen but the seed; runs of one seed answered the same
//! requests and are a pair. What two sets may differ in has to be named: else a difference that nobody thought of would
//! be taken for that of the code.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};
use stats::{Comparison, Paired, Verdict, holm, paired, unpaired};

use crate::json::SCHEMA;
use crate::sweep::{CONFIDENCE, verdict_name};
use crate::text::{Lines, Table, percent, plural};
use crate::{Arrival, Mode, Refusal};

/// What was chosen, and so tells one cell from another; settings come on top.
const CHOSEN: [&str; 16] = [
    "workload",
    "scheme",
    "workers",
    "clients_asked",
    "retry",
    "pinned",
    "warmup_s",
    "warmup_auto",
    "asked_s",
    "cooldown_s",
    "isolation",
    "mode",
    "rtt_us",
    "batch",
    "arrivals",
    "rate_txn_s",
];

/// What a result was chosen to be that does not say so, because there was no choice when it was made.
fn unsaid(name: &str) -> Value {
    match name {
        "warmup_auto" => json!(false),
        "cooldown_s" => json!(0.0),
        "mode" => json!(Mode::default().name()),
        "rtt_us" => json!(0),
        "batch" => json!(1),
        "arrivals" => json!(Arrival::default().name()),
        _ => Value::Null,
    }
}
/// What tells one machine from another.
const MACHINE: [&str; 8] =
    ["cpu", "cores", "memory_bytes", "cache_bytes", "kernel", "governor", "huge_pages", "numa_balancing"];

/// What is compared.
#[derive(Clone, Debug)]
pub struct Question {
    /// A ratio that matters, from 1.
    pub margin: f64,
    /// Names of what may differ: settings, `scheme`, `workers` and the like.
    pub across: Vec<String>,
}

/// Two sets of results, cell by cell.
#[derive(Debug)]
pub struct Compared {
    /// The cells that both have.
    pub cells: Vec<Cell>,
    /// What tells the machines apart, with both values.
    pub machines: Vec<(String, String, String)>,
    /// Cells that only the first and only the second has.
    pub alone: (usize, usize),
    margin: f64,
}

/// A cell that both sets have.
#[derive(Debug)]
pub struct Cell {
    /// What tells it from the other cells.
    pub label: String,
    /// Results on both sides.
    pub results: (usize, usize),
    /// Whether they were compared in pairs of a seed.
    pub is_paired: bool,
    /// The second set against the first.
    pub comparison: Comparison,
    /// The probability of so clear a difference by chance in any of the cells (Holm's adjustment).
    pub p_adjusted: f64,
    /// What can be said.
    pub verdict: Verdict,
}

/// Reads results: a file of JSON lines, or a directory of such files, as `contend run --out` and `contend sweep` leave
/// them.
///
/// # Errors
/// What cannot be read, or holds no result.
pub fn results(path: &Path) -> Result<Vec<Value>, Refusal> {
    let shown = path.display();
    let unread = |error: std::io::Error| Refusal(format!("`{shown}`: cannot be read ({error})"));
    let mut files = vec![path.to_owned()];
    if path.is_dir() {
        let folder = if path.join("runs").is_dir() { path.join("runs") } else { path.to_owned() };
        let names = fs::read_dir(folder).map_err(unread)?.map(|file| file.map(|file| file.path()));
        files = names.collect::<Result<Vec<_>, _>>().map_err(unread)?;
        files.retain(|file| file.extension().is_some_and(|ending| ending == "json" || ending == "jsonl"));
        files.sort();
    }
    let mut found = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).map_err(unread)?;
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let value: Value = serde_json::from_str(line).map_err(|error| {
                Refusal(format!("`{}`: is not JSON, a line an object ({error})", file.display()))
            })?;
            let is_result = value["kind"] == "run" && value["throughput_txn_s"].is_number();
            found.extend(is_result.then_some(value));
        }
    }
    if found.is_empty() {
        let says = "give a file or a directory that `contend run --out` or `contend sweep` wrote";
        return Err(Refusal(format!("`{shown}`: has no result of a run: {says}")));
    }
    Ok(found)
}

/// Compares the second set with the first.
///
/// # Errors
/// When the sets have no cell in common, with what they differ in.
pub fn compare(first: &[Value], second: &[Value], question: &Question) -> Result<Compared, Refusal> {
    if !(1.0..=1e6).contains(&question.margin) {
        return Err(Refusal(format!(
            "`--margin {}`: give a ratio from 1 on, for example 1.05",
            question.margin
        )));
    }
    let is_known =
        |name: &String| first.iter().chain(second).any(|value| chosen(value, &[]).contains_key(name));
    if let Some(name) = question.across.iter().find(|name| !is_known(name)) {
        let says = "is nothing that runs are told apart by: name a setting, or one of";
        return Err(Refusal(format!("`--across {name}`: {says} {}", CHOSEN.join(", "))));
    }
    let (a, b) = (cells(first, &question.across), cells(second, &question.across));
    let common: Vec<&String> = a.keys().filter(|key| b.contains_key(*key)).collect();
    if common.is_empty() {
        return Err(nothing_in_common(first, second, &question.across));
    }
    let alone = (a.len() - common.len(), b.len() - common.len());
    let labels = labels(&common);
    let mut compared = Vec::new();
    for (key, label) in common.iter().zip(labels) {
        let (a, b) = (&a[*key], &b[*key]);
        let pairs: Vec<(f64, f64)> = b.iter().filter_map(|(seed, b)| Some((*b, *a.get(seed)?))).collect();
        // Where the seeds are the same, what slowed a pair slowed both.
        let is_paired = pairs.len() == a.len() && pairs.len() == b.len();
        let comparison = if is_paired {
            paired(&pairs, Paired::SignedRanks, CONFIDENCE)
        } else {
            let values = |of: &BTreeMap<u64, f64>| of.values().copied().collect::<Vec<f64>>();
            unpaired(&values(b), &values(a), CONFIDENCE)
        };
        let comparison = comparison.map_err(|error| Refusal(format!("{label}: {error}")))?;
        let verdict = comparison.verdict(question.margin, CONFIDENCE);
        let results = (a.len(), b.len());
        compared.push(Cell { label, results, is_paired, comparison, p_adjusted: 1.0, verdict });
    }
    let adjusted = holm(&compared.iter().map(|cell| cell.comparison.p_value).collect::<Vec<f64>>());
    compared.iter_mut().zip(adjusted).for_each(|(cell, p)| cell.p_adjusted = p);
    Ok(Compared { cells: compared, machines: machines(first, second), alone, margin: question.margin })
}

/// All that was chosen, by name, but what may differ.
fn chosen(value: &Value, across: &[String]) -> Map<String, Value> {
    let of = |name: &str| value.get(name).cloned().unwrap_or_else(|| unsaid(name));
    let own = CHOSEN.iter().map(|name| ((*name).to_owned(), of(name)));
    let settings = value["settings"].as_object().into_iter().flatten();
    let all = own.chain(settings.map(|(name, value)| (name.clone(), value.clone())));
    all.filter(|(name, _)| !is_free(name, across)).collect()
}

/// Whether something may differ. With the scheme go what it promises and its settings.
fn is_free(name: &str, across: &[String]) -> bool {
    let goes_with_scheme = name == "isolation" || crate::Catalogue.owner(name).is_some();
    across.iter().any(|free| free == name || free == "scheme" && goes_with_scheme)
}

/// The throughputs of each cell, by seed; of several of one seed the last.
fn cells(values: &[Value], across: &[String]) -> BTreeMap<String, BTreeMap<u64, f64>> {
    let mut cells: BTreeMap<String, BTreeMap<u64, f64>> = BTreeMap::new();
    for value in values {
        let key = Value::Object(chosen(value, across)).to_string();
        let (seed, throughput) = (value["seed"].as_u64(), value["throughput_txn_s"].as_f64());
        if let (Some(seed), Some(throughput)) = (seed, throughput) {
            cells.entry(key).or_default().insert(seed, throughput);
        }
    }
    cells
}

/// What each cell is called: what not all of them have alike, and what was measured.
fn labels(keys: &[&String]) -> Vec<String> {
    let parsed: Vec<Map<String, Value>> =
        keys.iter().map(|key| serde_json::from_str(key).expect("it was written by us")).collect();
    let is_shown = |name: &str| {
        ["workload", "scheme"].contains(&name)
            || parsed.iter().any(|other| other.get(name) != parsed[0].get(name))
    };
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let label = |cell: &Map<String, Value>| {
        let heads = ["workload", "scheme"].into_iter().filter_map(|name| cell.get(name)).map(text);
        let rest = cell
            .iter()
            .filter(|(name, _)| is_shown(name) && !["workload", "scheme"].contains(&name.as_str()));
        heads.chain(rest.map(|(name, value)| format!("{name}={}", text(value)))).collect::<Vec<_>>().join(" ")
    };
    parsed.iter().map(label).collect()
}

fn nothing_in_common(first: &[Value], second: &[Value], across: &[String]) -> Refusal {
    let (a, b) = (chosen(&first[0], across), chosen(&second[0], across));
    let differs = a.keys().chain(b.keys().filter(|name| !a.contains_key(*name)));
    let differs: Vec<&String> = differs.filter(|name| a.get(*name) != b.get(*name)).collect();
    let told: Vec<String> = differs
        .iter()
        .map(|name| {
            let text = |of: &Map<String, Value>| {
                of.get(*name).map_or_else(|| "nothing".to_owned(), Value::to_string)
            };
            format!("{name} ({} and {})", text(&a), text(&b))
        })
        .collect();
    let names: Vec<&str> = differs.iter().map(|name| name.as_str()).collect();
    Refusal(format!(
        "nothing was measured under the same settings on both sides; their first runs differ in {}: if that is what \
         you want to compare, say `--across {}`",
        told.join(", "),
        names.join(",")
    ))
}

/// In what the machines differ.
fn machines(first: &[Value], second: &[Value]) -> Vec<(String, String, String)> {
    let all = |values: &[Value], name: &str| {
        let mut all: Vec<String> = values.iter().map(|value| value["machine"][name].to_string()).collect();
        all.sort();
        all.dedup();
        all.join(" or ")
    };
    let both = MACHINE.iter().map(|name| ((*name).to_owned(), all(first, name), all(second, name)));
    both.filter(|(_, a, b)| a != b).collect()
}

impl Compared {
    /// Whether the second set is slower anywhere, by more than the margin, as far as all cells together allow it to be
    /// said.
    pub fn is_slower(&self) -> bool {
        self.cells.iter().any(|cell| cell.verdict == Verdict::Slower)
    }

    /// As a table for people.
    pub fn text(&self) -> String {
        let mut table = Table::default();
        table.row(["", "results", "ratio", "(interval)", "p of all", "verdict"]);
        for cell in &self.cells {
            let Comparison { ratio, interval, .. } = &cell.comparison;
            let (a, b) = cell.results;
            table.row([
                cell.label.clone(),
                if cell.is_paired { format!("{a} pairs") } else { format!("{a} and {b}") },
                format!("{ratio:.3}"),
                format!("({:.3} .. {:.3})", interval.low, interval.high),
                format!("{:.3}", cell.p_adjusted),
                verdict_name(cell.verdict).to_owned(),
            ]);
        }
        let mut lines = Lines(table.render());
        for (name, first, second) in &self.machines {
            lines.add(format!(
                "MACHINES DIFFER: {name} is {first} and {second}; the ratio is of both differences."
            ));
        }
        let (a, b) = self.alone;
        if a + b > 0 {
            lines.add(format!(
                "left out: {} of the first and {b} of the second, which the other does not have",
                plural(a, "cell")
            ));
        }
        lines.add(format!(
            "the second against the first; a verdict needs 90% and more than {}",
            percent(self.margin - 1.0)
        ));
        lines.0
    }

    /// As objects for programs, one a cell.
    pub fn json(&self) -> Vec<Value> {
        let cell = |cell: &Cell| {
            let Comparison { ratio, interval, p_value, superiority } = &cell.comparison;
            json!({
                "schema": SCHEMA,
                "kind": "comparison",
                "cell": cell.label,
                "results": [cell.results.0, cell.results.1],
                "paired": cell.is_paired,
                "ratio": ratio,
                "interval": { "low": interval.low, "high": interval.high, "confidence": interval.confidence },
                "p_value": p_value,
                "p_adjusted": cell.p_adjusted,
                "superiority": superiority,
                "verdict": verdict_name(cell.verdict),
                "machines_differ": !self.machines.is_empty(),
            })
        };
        self.cells.iter().map(cell).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(scheme: &str, theta: f64, seed: u64, throughput: f64) -> Value {
        json!({
            "kind": "run", "workload": "ycsb", "scheme": scheme, "workers": 2, "clients_asked": 2, "retry": "same",
            "pinned": false, "warmup_s": 1.0, "asked_s": 5.0, "isolation": "serializable",
            "settings": { "ycsb.theta": theta }, "seed": seed, "throughput_txn_s": throughput,
            "machine": { "cpu": "a cpu", "cores": 2 },
        })
    }

    fn series(scheme: &str, theta: f64, factor: f64) -> Vec<Value> {
        (1..=6)
            .map(|seed| run(scheme, theta, seed, 1_000.0 * seed as f64 * (factor + 0.001 * seed as f64)))
            .collect()
    }

    fn question(across: &[&str]) -> Question {
        Question { margin: 1.05, across: across.iter().map(|&name| name.to_owned()).collect() }
    }

    #[test]
    fn cells_are_compared_in_pairs_of_a_seed() {
        let first = [series("silo", 0.5, 1.0), series("silo", 0.9, 1.0)].concat();
        let second = [series("silo", 0.5, 1.0), series("silo", 0.9, 0.8), series("mvto", 0.9, 1.0)].concat();
        let compared = compare(&first, &second, &question(&[])).expect("comparable");
        assert_eq!((compared.cells.len(), compared.alone), (2, (0, 1)));
        let of =
            |theta: &str| compared.cells.iter().find(|cell| cell.label.ends_with(theta)).expect("a cell");
        assert_eq!((of("0.5").verdict, of("0.9").verdict), (Verdict::Same, Verdict::Slower));
        assert!(of("0.9").is_paired && compared.is_slower());
        assert!(of("0.9").p_adjusted > of("0.9").comparison.p_value, "two cells were looked at");
        assert!(compared.text().contains("ycsb silo ycsb.theta=0.9"), "{}", compared.text());
    }

    #[test]
    fn what_differs_has_to_be_named() {
        let (first, second) = (series("silo", 0.5, 1.0), series("mvto", 0.5, 1.2));
        let says = compare(&first, &second, &question(&[])).expect_err("nothing in common").0;
        assert!(
            says.contains("scheme (\"silo\" and \"mvto\")") && says.contains("--across scheme"),
            "{says}"
        );
        let compared = compare(&first, &second, &question(&["scheme"])).expect("comparable");
        assert_eq!(compared.cells[0].verdict, Verdict::Faster);
        assert!(
            compare(&first, &second, &question(&["shceme"]))
                .expect_err("unknown")
                .0
                .contains("--across shceme")
        );
    }

    #[test]
    fn results_from_before_there_were_modes_are_those_of_procedures() {
        let first = series("silo", 0.5, 1.0);
        let told = |mode: &str| {
            let mut values = series("silo", 0.5, 1.0);
            for value in &mut values {
                value["mode"] = mode.into();
                value["rate_txn_s"] = Value::Null;
            }
            values
        };
        assert!(compare(&first, &told("procedure"), &question(&[])).is_ok());
        let says = compare(&first, &told("interactive"), &question(&[])).expect_err("another mode").0;
        assert!(says.contains("--across mode"), "{says}");
    }

    #[test]
    fn other_machines_are_pointed_out_and_other_seeds_are_no_pairs() {
        let first = series("silo", 0.5, 1.0);
        let mut second = series("silo", 0.5, 1.0);
        for value in &mut second {
            value["machine"]["cores"] = 8.into();
            value["seed"] = (value["seed"].as_u64().expect("a number") + 100).into();
        }
        let compared = compare(&first, &second, &question(&[])).expect("comparable");
        assert_eq!(compared.machines, [("cores".to_owned(), "2".to_owned(), "8".to_owned())]);
        assert!(!compared.cells[0].is_paired && compared.text().contains("MACHINES DIFFER: cores"));
    }
}
