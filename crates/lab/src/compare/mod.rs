//! Comparisons of two sets of results: of two builds, or of two values of a setting, for example.
//!
//! Results are compared cell by cell. A *cell* is a combination of all choices except the seed. Two runs of one seed
//! and round answered the same requests and are a pair, so that N repetitions are N pairs. The choices in which the two
//! sets may differ have to be named. Otherwise, an unnoticed difference would be taken for a difference of the code.
//!
//! A gate fails if the results do not show that the second side is not slower: if a cell is slower, has no result, is
//! missing on one side, or has results that do not decide. Each such cell is named, and passes only if it is allowed
//! to.

mod gate;
mod side;
mod told;

use std::collections::BTreeMap;

use results::{Choice, Machine, Run};
use stats::{CompareError, Paired, Verdict, holm, log_deviation, pairs_to_decide, values_to_decide};

pub use gate::GateFault;
pub use side::{Side, results};

use crate::speed::{self, Basis, Judged, Speed};
use crate::sweep::CONFIDENCE;
use crate::{Catalogue, Refusal, simulation};
use gate::Allowed;

/// The choices that distinguish cells, in addition to the settings.
pub(crate) const CHOSEN: [&str; 26] = [
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
    "simulated",
    "machine",
    "machine_digest",
    "placement",
    "memory",
    "smt",
    "txns",
    "warmup_txns",
    "patience",
    "lookahead_ns",
];

/// Returns the facts about the machine of a run. Simulated runs do not depend on their host, and have those of none.
fn facts_of(run: &Run) -> [(&'static str, String); 8] {
    if run.choices.is_simulated { facts(&Machine::default()) } else { facts(&run.machine) }
}

/// Returns the facts that distinguish machines, by name: words in quotation marks.
fn facts(machine: &Machine) -> [(&'static str, String); 8] {
    let word = |word: &String| json(word);
    [
        ("cpu", word(&machine.cpu)),
        ("cores", machine.cores.to_string()),
        ("memory_bytes", machine.memory_bytes.to_string()),
        ("cache_bytes", machine.cache_bytes.to_string()),
        ("kernel", word(&machine.kernel)),
        ("governor", word(&machine.governor)),
        ("huge_pages", word(&machine.huge_pages)),
        ("numa_balancing", machine.is_numa_balanced.to_string()),
    ]
}

/// The options of a comparison of two sets.
#[derive(Clone, Debug)]
pub struct Question {
    /// The smallest ratio that matters, from 1.
    pub margin: f64,
    /// Names of the choices that may differ: settings, `scheme`, `workers` and the like.
    pub across: Vec<String>,
    /// The faults and cells that a gate lets pass: names of cells, and of faults with commas.
    pub allow: Vec<String>,
}

/// Two sets of results, cell by cell.
#[derive(Debug)]
pub struct Compared {
    /// The cells of either set.
    pub cells: Vec<ComparedCell>,
    /// The facts in which the machines differ, with both values.
    pub machines: Vec<(String, String, String)>,
    /// The number of runs that both sets have, identical to the last digit.
    pub same_runs: usize,
    /// A sentence for each simulated machine of the runs.
    simulated: Vec<String>,
    margin: f64,
    allowed: Allowed,
}

/// A cell that at least one set has.
#[derive(Debug)]
pub struct ComparedCell {
    /// The name of the cell: its workload, its scheme, and the choices in which it differs from the other cells.
    pub label: String,
    /// The runs of the first and the second set.
    pub sides: [Side; 2],
    /// The comparison of the second set with the first.
    pub outcome: CellOutcome,
    /// The reasons why a gate fails at this cell.
    pub faults: Vec<GateFault>,
}

/// The comparison of one cell.
#[derive(Debug)]
pub enum CellOutcome {
    /// Both sides have results.
    Compared(Box<CellRatio>),
    /// A side has runs but no result, or nothing was committed on either side.
    Failed,
    /// A side has no run.
    Lost,
}

/// The ratio of the second side of a cell to the first, with its verdict.
#[derive(Debug)]
pub struct CellRatio {
    /// The number of pairs of the same seed and round; `None` if the sides were not compared in pairs.
    pub pairs: Option<usize>,
    /// The probability of so clear a difference by chance in any of the cells, by Holm's adjustment.
    pub p_adjusted: f64,
    /// The verdict; [`Verdict::Unclear`] if there is none.
    pub verdict: Verdict,
    /// Whether the second side is known not to be slower by more than the margin. It may be unclear whether it is
    /// faster.
    pub is_not_slower: bool,
    /// The repetitions that would decide the cell; `None` if it is decided.
    pub needs: Option<Needs>,
    pub(crate) judged: Judged,
}

/// The repetitions that would decide a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// At least this number of repetitions in total: fewer never have the confidence. A single repetition has no
    /// spread, so that it is unknown whether this number is enough.
    AtLeast(usize),
    /// About this number of repetitions in total, if further repetitions have the same spread.
    About(usize),
    /// More repetitions than is practical: the ratio is too near to the margin for this spread.
    TooMany,
    /// No number of repetitions, but a quieter machine: the answer depends on the correction for starvation.
    Quiet,
}

/// Compares the second set with the first.
///
/// # Errors
/// Sets without a common cell: the text says in which choices they differ. Unknown names in the question.
pub fn compare(
    catalogue: Catalogue,
    first: &[Run],
    second: &[Run],
    question: &Question,
) -> Result<Compared, Refusal> {
    if !(1.0..=1e6).contains(&question.margin) {
        return Err(Refusal(format!(
            "`--margin {}`: give a ratio from 1 on, for example 1.05",
            question.margin
        )));
    }
    let is_known =
        |name: &String| first.iter().chain(second).any(|run| chosen(catalogue, run, &[]).contains_key(name));
    if let Some(name) = question.across.iter().find(|name| !is_known(name)) {
        let says = "is no choice in which runs differ: name a setting, or one of";
        return Err(Refusal(format!("`--across {name}`: {says} {}", CHOSEN.join(", "))));
    }
    let mut a = cells(catalogue, first, &question.across, "first")?;
    let mut b = cells(catalogue, second, &question.across, "second")?;
    if !a.keys().any(|key| b.contains_key(key)) {
        return Err(nothing_in_common(catalogue, first, second, &question.across));
    }
    let mut keys: Vec<String> = a.keys().chain(b.keys()).cloned().collect();
    keys.sort();
    keys.dedup();
    let mut compared = Vec::new();
    for (key, label) in keys.iter().zip(labels(catalogue, &keys)) {
        let sides = [&mut a, &mut b].map(|cells| cells.remove(key).unwrap_or_default());
        let cell = ComparedCell::new(label.clone(), sides, question.margin);
        compared.push(cell.map_err(|error| Refusal(format!("{label}: {error}")))?);
    }
    adjust(&mut compared);
    let allowed = Allowed::parse(&question.allow, &compared)?;
    let machines = machines(first, second);
    let same_runs = same_runs(first, second);
    let simulated = simulation::notes(first.iter().chain(second));
    Ok(Compared { cells: compared, machines, same_runs, simulated, margin: question.margin, allowed })
}

/// Returns the number of runs of the second set that are in the first set, too.
fn same_runs(first: &[Run], second: &[Run]) -> usize {
    let figure = |run: &Run| (run.choices.seed, run.throughput_txn_s.map(f64::to_bits));
    let mut by_figure: BTreeMap<_, Vec<&Run>> = BTreeMap::new();
    for run in first {
        by_figure.entry(figure(run)).or_default().push(run);
    }
    second.iter().filter(|run| by_figure.get(&figure(run)).is_some_and(|runs| runs.contains(run))).count()
}

/// Adjusts the p-values for the number of compared cells.
fn adjust(cells: &mut [ComparedCell]) {
    let mut ratios: Vec<&mut CellRatio> = cells.iter_mut().filter_map(ComparedCell::ratio_mut).collect();
    let p_values: Vec<f64> = ratios.iter().map(|ratio| ratio.judged.comparison.p_value).collect();
    ratios.iter_mut().zip(holm(&p_values)).for_each(|(ratio, p)| ratio.p_adjusted = p);
}

impl ComparedCell {
    fn new(label: String, sides: [Side; 2], margin: f64) -> Result<Self, CompareError> {
        let [a, b] = &sides;
        let has_commits = |side: &Side| side.silent < side.results();
        let outcome = if a.runs == 0 || b.runs == 0 {
            CellOutcome::Lost
        } else if a.results() == 0 || b.results() == 0 || !(has_commits(a) || has_commits(b)) {
            CellOutcome::Failed
        } else {
            CellOutcome::Compared(Box::new(CellRatio::new(a, b, margin)?))
        };
        let mut cell = Self { label, sides, outcome, faults: Vec::new() };
        cell.faults = GateFault::ALL.into_iter().filter(|fault| cell.has(*fault)).collect();
        Ok(cell)
    }

    /// Returns the comparison of the second side with the first; `None` unless both sides have results.
    pub fn ratio(&self) -> Option<&CellRatio> {
        if let CellOutcome::Compared(ratio) = &self.outcome { Some(ratio) } else { None }
    }

    fn ratio_mut(&mut self) -> Option<&mut CellRatio> {
        if let CellOutcome::Compared(ratio) = &mut self.outcome { Some(ratio) } else { None }
    }

    fn has(&self, fault: GateFault) -> bool {
        let [a, b] = &self.sides;
        let is_lost = matches!(self.outcome, CellOutcome::Lost);
        match fault {
            GateFault::Slower => self.ratio().is_some_and(|ratio| ratio.verdict == Verdict::Slower),
            GateFault::Undecided => self.ratio().is_some_and(|ratio| !ratio.is_decided()),
            // A failed check on the first side only is no fault: the second side may have fixed the defect.
            GateFault::Failed => matches!(self.outcome, CellOutcome::Failed) || b.failed > 0,
            GateFault::Lost => is_lost,
            GateFault::Machines => !is_lost && a.machines != b.machines,
            GateFault::Builds => a.builds.len() > 1 || b.builds.len() > 1,
        }
    }
}

impl CellRatio {
    fn new(a: &Side, b: &Side, margin: f64) -> Result<Self, CompareError> {
        let pairs: Vec<(Speed, Speed)> =
            b.results.iter().filter_map(|(nth, b)| Some((*b, *a.results.get(nth)?))).collect();
        // Disturbances of the machine slow both runs of a pair. So pairs are better if all results of one side have a
        // partner. But too few pairs cannot have the confidence; then, results without a partner add to it.
        let (fewer, more) = (a.results().min(b.results()), a.results().max(b.results()));
        let is_paired = pairs.len() == fewer && (fewer == more || pairs.len() >= pairs_least());
        let judged = if is_paired {
            speed::compare_pairs(&pairs, Paired::SignedRanks, CONFIDENCE)
        } else {
            let of = |side: &Side| side.results.values().copied().collect::<Vec<Speed>>();
            speed::compare_apart(&of(b), &of(a), CONFIDENCE)
        }?;
        let verdict = judged.comparison.verdict(margin, CONFIDENCE);
        let interval = &judged.comparison.interval;
        let is_not_slower = interval.confidence >= CONFIDENCE - 1e-12 && interval.low >= 1.0 / margin;
        let is_decided = is_not_slower || verdict == Verdict::Slower;
        let needs = (!is_decided).then(|| {
            let needs = if is_paired {
                Needs::of_pairs(&judged, &pairs, margin)
            } else {
                Needs::of_sides(&judged, [b, a], margin)
            };
            needs.beyond(fewer)
        });
        let pairs = is_paired.then_some(pairs.len());
        Ok(Self { pairs, p_adjusted: 1.0, verdict, is_not_slower, needs, judged })
    }

    /// Returns whether it is known if the second side is slower by more than the margin.
    pub fn is_decided(&self) -> bool {
        self.is_not_slower || self.verdict == Verdict::Slower
    }
}

/// Returns the least number of pairs that can give a verdict, however clear they are.
fn pairs_least() -> usize {
    pairs_to_decide(f64::INFINITY, 0.0, CONFIDENCE).expect("some number of pairs has the confidence")
}

impl Needs {
    fn of_pairs(judged: &Judged, pairs: &[(Speed, Speed)], margin: f64) -> Self {
        let ratios: Vec<f64> = pairs.iter().map(|(b, a)| b.by_processor() / a.by_processor()).collect();
        let deviation = log_deviation(&ratios);
        Self::new(judged, margin, deviation.is_some(), |distance| {
            pairs_to_decide(distance, deviation.unwrap_or_default(), CONFIDENCE)
        })
    }

    fn of_sides(judged: &Judged, sides: [&Side; 2], margin: f64) -> Self {
        let [b, a] = sides
            .map(|side| log_deviation(&side.results.values().map(Speed::by_processor).collect::<Vec<f64>>()));
        let deviations = b.zip(a);
        Self::new(judged, margin, deviations.is_some(), |distance| {
            values_to_decide(distance, deviations.unwrap_or_default(), CONFIDENCE)
        })
    }

    /// Returns the need of a comparison. `repetitions` returns the number of repetitions whose interval has its ends
    /// within a distance of the ratio, in logarithms.
    fn new(
        judged: &Judged,
        margin: f64,
        has_spread: bool,
        repetitions: impl Fn(f64) -> Option<usize>,
    ) -> Self {
        let (low, high) = judged.centres;
        let limit = -margin.ln();
        let distance = if low.ln() > limit { low.ln() - limit } else { limit - high.ln() };
        if !has_spread {
            Self::AtLeast(repetitions(f64::INFINITY).expect("some number has the confidence"))
        } else if distance <= 0.0 && judged.basis != Basis::WallTime {
            Self::Quiet
        } else {
            repetitions(distance).map_or(Self::TooMany, Self::About)
        }
    }

    /// Raises an estimated number above the number of repetitions that were made, since those did not decide.
    fn beyond(self, made: usize) -> Self {
        if let Self::About(number) = self { Self::About(number.max(made + 1)) } else { self }
    }
}

/// The choices of a run by name. A choice may be `null`.
type Chosen = BTreeMap<String, Option<Choice>>;

/// Returns all choices of a run, by name, except those that may differ.
fn chosen(catalogue: Catalogue, run: &Run, across: &[String]) -> Chosen {
    let own = CHOSEN.iter().map(|name| ((*name).to_owned(), run.choices.get(name)));
    let settings = run.choices.settings.iter().map(|(name, value)| (name.clone(), Some(value.clone())));
    own.chain(settings).filter(|(name, _)| !is_free(catalogue, name, across)).collect()
}

/// Returns the value of a choice in JSON, or `nothing` for a choice that does not exist.
fn text(of: &Chosen, name: &str) -> String {
    of.get(name).map_or_else(|| "nothing".to_owned(), json)
}

/// Returns choices in JSON.
fn json(of: &impl serde::Serialize) -> String {
    serde_json::to_string(of).expect("names are text")
}

/// Returns whether a choice may differ. If the scheme may differ, so may its isolation and its settings; if the
/// simulated machine may differ, so may its constants, and one side may be native.
fn is_free(catalogue: Catalogue, name: &str, across: &[String]) -> bool {
    let goes_with = |free: &str| match free {
        "scheme" => name == "isolation" || catalogue.owner(name).is_some(),
        "machine" => ["simulated", "machine_digest", "smt"].contains(&name),
        _ => false,
    };
    across.iter().any(|free| free == name || goes_with(free))
}

/// Returns the runs of each cell of one side.
///
/// # Errors
/// Runs of a cell that differ within one side in a choice that may differ between the sides: they are no repetitions of
/// each other.
fn cells(
    catalogue: Catalogue,
    runs: &[Run],
    across: &[String],
    side: &str,
) -> Result<BTreeMap<String, Side>, Refusal> {
    let mut cells: BTreeMap<String, Vec<&Run>> = BTreeMap::new();
    for run in runs {
        let same = cells.entry(json(&chosen(catalogue, run, across))).or_default();
        if let Some(other) = same.first() {
            let (own, others) = (chosen(catalogue, run, &[]), chosen(catalogue, other, &[]));
            if let Some(name) = across.iter().find(|name| own.get(*name) != others.get(*name)) {
                return Err(Refusal(format!(
                    "`--across {name}`: the {side} side has runs of {} and of {}, which are no repetitions of each \
                     other: give a side that has one of them",
                    text(&others, name),
                    text(&own, name)
                )));
            }
        }
        same.push(run);
    }
    Ok(cells.into_iter().map(|(key, runs)| (key, Side::new(&runs))).collect())
}

/// Returns the label of each cell: its workload, its scheme, and the choices that distinguish it from other cells. The
/// isolation and the settings of a scheme are left out as long as the scheme's name distinguishes the cells.
fn labels(catalogue: Catalogue, keys: &[String]) -> Vec<String> {
    const HEADS: [&str; 2] = ["workload", "scheme"];
    let parsed: Vec<Chosen> =
        keys.iter().map(|key| serde_json::from_str(key).expect("it was written by us")).collect();
    let is_alike = |a: &Chosen, b: &Chosen| HEADS.iter().all(|head| a.get(*head) == b.get(*head));
    let is_shown = |cell: &Chosen, name: &str| {
        let goes_with_scheme = is_free(catalogue, name, &["scheme".to_owned()]);
        parsed
            .iter()
            .filter(|other| other.get(name) != cell.get(name))
            .any(|other| is_alike(cell, other) || other.contains_key(name) && !goes_with_scheme)
    };
    let text = |value: &Option<Choice>| value.as_ref().map_or_else(|| "null".to_owned(), Choice::to_string);
    let label = |cell: &Chosen| {
        let heads = HEADS.into_iter().filter_map(|name| cell.get(name)).map(text);
        let rest = cell.iter().filter(|(name, _)| !HEADS.contains(&name.as_str()) && is_shown(cell, name));
        heads.chain(rest.map(|(name, value)| format!("{name}={}", text(value)))).collect::<Vec<_>>().join(" ")
    };
    parsed.iter().map(label).collect()
}

fn nothing_in_common(catalogue: Catalogue, first: &[Run], second: &[Run], across: &[String]) -> Refusal {
    let (a, b) = (chosen(catalogue, &first[0], across), chosen(catalogue, &second[0], across));
    let differs = a.keys().chain(b.keys().filter(|name| !a.contains_key(*name)));
    let differs: Vec<&String> = differs.filter(|name| a.get(*name) != b.get(*name)).collect();
    let told: Vec<String> =
        differs.iter().map(|name| format!("{name} ({} and {})", text(&a, name), text(&b, name))).collect();
    let names: Vec<&str> = differs.iter().map(|name| name.as_str()).collect();
    Refusal(format!(
        "nothing was measured under the same settings on both sides; their first runs differ in {}: to compare these, \
         give `--across {}`",
        told.join(", "),
        names.join(",")
    ))
}

/// Returns the facts in which the machines of the two sets differ, with both values.
fn machines(first: &[Run], second: &[Run]) -> Vec<(String, String, String)> {
    let all = |runs: &[Run], at: usize| {
        let mut all: Vec<String> = runs.iter().map(|run| facts_of(run)[at].1.clone()).collect();
        all.sort();
        all.dedup();
        all.join(" or ")
    };
    let names = facts(&Machine::default()).into_iter().enumerate();
    let both = names.map(|(at, (name, _))| (name.to_owned(), all(first, at), all(second, at)));
    both.filter(|(_, a, b)| a != b).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::json::tests::given;
    use crate::registry::tests::catalogue;

    fn compare(first: &[Value], second: &[Value], question: &Question) -> Result<Compared, Refusal> {
        let runs = |values: &[Value]| values.iter().cloned().map(given).collect::<Vec<Run>>();
        super::compare(catalogue(), &runs(first), &runs(second), question)
    }

    /// Returns the objects of a comparison, that of all cells the last.
    fn objects(compared: &Compared) -> Vec<Value> {
        compared.cells().iter().map(|cell| json!(cell)).chain([json!(compared.all())]).collect()
    }

    fn run(scheme: &str, theta: f64, seed: u64, throughput: f64) -> Value {
        json!({
            "kind": "run", "workload": "ycsb", "scheme": scheme, "workers": 2, "clients_asked": 2, "retry": "same",
            "pinned": false, "warmup_s": 1.0, "asked_s": 5.0, "isolation": "serializable",
            "settings": { "ycsb.theta": theta }, "seed": seed, "round": 0, "throughput_txn_s": throughput,
            "check": { "verdict": "passed" }, "interrupted": false, "cpu_share": 1.0, "starved": false,
            "machine": { "cpu": "a cpu", "cores": 2 },
        })
    }

    fn series(scheme: &str, theta: f64, factor: f64) -> Vec<Value> {
        (1..=6)
            .map(|seed| run(scheme, theta, seed, 1_000.0 * seed as f64 * (factor + 0.001 * seed as f64)))
            .collect()
    }

    /// Returns runs as `run --repeat` makes them: of one seed, by round.
    fn rounds(number: u64, factor: f64) -> Vec<Value> {
        let of = |round: u64| {
            let mut run = run("silo", 0.5, 1, 1_000.0 * (1 + round) as f64 * (factor + 0.001 * round as f64));
            run["round"] = round.into();
            run
        };
        (0..number).map(of).collect()
    }

    fn changed(mut runs: Vec<Value>, change: impl Fn(usize, &mut Value)) -> Vec<Value> {
        runs.iter_mut().enumerate().for_each(|(nth, run)| change(nth, run));
        runs
    }

    fn question(across: &[&str]) -> Question {
        let across = across.iter().map(|&name| name.to_owned()).collect();
        Question { margin: 1.05, across, allow: Vec::new() }
    }

    #[test]
    fn simulated_machines_are_compared_if_they_are_named_and_their_hosts_do_not_matter() {
        let on = |name: &str, cores: u64, factor: f64| {
            changed(series("silo", 0.5, factor), |_, run| {
                run["simulated"] = true.into();
                run["simulated_on"] = name.into();
                run["machine_digest"] = format!("digest of {name}").into();
                run["placement"] = "scatter".into();
                run["machine"]["cores"] = cores.into();
                run["simulation"] = json!({ "title": format!("The machine {name}"), "trust": "some" });
            })
        };
        let (a, b) = (on("epyc", 2, 1.0), on("power9", 64, 2.0));
        let says = compare(&a, &b, &question(&[])).expect_err("two machines").0;
        assert!(says.contains("--across machine,machine_digest"), "{says}");
        let compared = compare(&a, &b, &question(&["machine"])).expect("comparable");
        assert_eq!((compared.cells.len(), compared.machines.len()), (1, 0));
        let text = compared.text(false);
        assert!(text.contains("SIMULATED: The machine epyc") && text.contains("machine power9"), "{text}");
        let native = series("silo", 0.5, 1.0);
        let says = compare(&native, &b, &question(&["machine"])).expect_err("placement").0;
        assert!(says.contains("--across placement"), "{says}");
    }

    fn compared(first: &[Value], second: &[Value]) -> Compared {
        compare(first, second, &question(&[])).expect("comparable")
    }

    /// Asserts that a gate fails because of this fault alone, that the text reports it, and that only the names of the
    /// fault and of the cell allow it.
    #[track_caller]
    fn assert_fails_by(first: &[Value], second: &[Value], fault: GateFault, says: &str) {
        let plain = compared(first, second);
        let faults: Vec<GateFault> = plain.cells.iter().flat_map(|cell| cell.faults.clone()).collect();
        assert_eq!(faults, [fault], "{}", plain.text(true));
        let text = plain.text(true);
        assert!(plain.fails() && text.contains(says) && text.contains("gate: FAILS: 1 "), "`{says}`: {text}");
        let label =
            plain.cells.iter().find(|cell| !cell.faults.is_empty()).expect("it has one").label.clone();
        let allowing = |allow: &str| Question { allow: vec![allow.to_owned()], ..question(&[]) };
        let fails = |allow: &str| compare(first, second, &allowing(allow)).expect("allowed").fails();
        assert!(!fails(&label), "{label}");
        for other in &GateFault::ALL[1..] {
            assert_eq!(fails(other.name()), *other != fault, "{}", other.name());
        }
    }

    #[test]
    fn cells_are_compared_in_pairs_of_a_seed() {
        let first = [series("silo", 0.5, 1.0), series("silo", 0.9, 1.0)].concat();
        let second = [series("silo", 0.5, 1.0), series("silo", 0.9, 0.8)].concat();
        let compared = compared(&first, &second);
        let of = |theta: &str| {
            compared
                .cells
                .iter()
                .find(|cell| cell.label.ends_with(theta))
                .and_then(ComparedCell::ratio)
                .expect("a ratio")
        };
        assert_eq!((of("0.5").verdict, of("0.9").verdict), (Verdict::Same, Verdict::Slower));
        assert!(of("0.9").pairs == Some(6) && compared.fails());
        assert!(of("0.9").p_adjusted > of("0.9").judged.comparison.p_value, "two cells were looked at");
        let text = compared.text(true);
        assert!(text.contains("ycsb silo ycsb.theta=0.9"), "{text}");
        assert!(text.contains("verdict: of 2 cells 1 slower, 1 same; no run was starved"), "{text}");
        assert!(text.contains("gate: FAILS: 1 slower (ycsb silo ycsb.theta=0.9)"), "{text}");
    }

    #[test]
    fn rounds_of_one_seed_are_as_many_pairs() {
        let slower = compared(&rounds(6, 1.0), &rounds(6, 0.025));
        let ratio = slower.cells[0].ratio().expect("compared");
        assert_eq!((ratio.pairs, ratio.verdict), (Some(6), Verdict::Slower));
        assert!(slower.fails() && slower.text(false).contains("6 pairs"), "{}", slower.text(false));
        // Rounds differ sixfold: only runs of the same round are alike.
        let backwards: Vec<Value> = rounds(6, 1.0).into_iter().rev().collect();
        assert!(!compared(&rounds(6, 1.0), &backwards).fails());
        // A further measurement under the same seed and round is a further repetition.
        let again = changed(rounds(6, 1.002), |_, run| run["load_s"] = 2.into());
        let [first, second] = [1.0, 0.9].map(|by| {
            let again = changed(again.clone(), |_, run| {
                run["throughput_txn_s"] = (by * run["throughput_txn_s"].as_f64().expect("a result")).into();
            });
            [rounds(6, by), again].concat()
        });
        let twice = compared(&first, &second);
        assert_eq!(twice.cells[0].ratio().expect("compared").pairs, Some(12));
    }

    #[test]
    fn a_copy_of_a_run_is_no_repetition() {
        let first = rounds(6, 1.0);
        let second = [rounds(1, 0.9), rounds(1, 0.9), rounds(1, 0.9)].concat();
        let copied = compared(&first, &second);
        assert_eq!((copied.cells[0].sides[1].results(), copied.cells[0].sides[1].copies), (1, 2));
        let text = copied.text(true);
        assert!(
            copied.fails() && text.contains("second: 2 copies of runs that the side has already"),
            "{text}"
        );
    }

    #[test]
    fn what_does_not_decide_fails_a_gate_and_says_what_would() {
        let single = "UNDECIDED: ycsb silo: a single pair, which has no spread, decides nothing: at least 5 \
             repetitions";
        assert_fails_by(&rounds(1, 1.0), &rounds(1, 1.0), GateFault::Undecided, single);
        let few = "4 pairs do not decide: about 5 repetitions would";
        assert_fails_by(&rounds(4, 1.0), &rounds(4, 1.0), GateFault::Undecided, few);
        let swing = |runs, by: f64| {
            changed(runs, |nth, run| {
                let factor = if nth % 2 == 0 { by } else { 1.0 / by };
                run["throughput_txn_s"] =
                    (run["throughput_txn_s"].as_f64().expect("a result") * factor).into();
            })
        };
        let noisy = swing(rounds(6, 1.0), 1.1);
        assert_fails_by(&rounds(6, 1.0), &noisy, GateFault::Undecided, "6 pairs do not decide: about ");
        let needs = compared(&rounds(6, 1.0), &noisy).cells[0].ratio().and_then(|ratio| ratio.needs);
        assert!(matches!(needs, Some(Needs::About(7..60))), "{needs:?}");
        let far = swing(rounds(6, 0.955), 2.0);
        assert_fails_by(&rounds(6, 1.0), &far, GateFault::Undecided, "more than 200 repetitions");
    }

    #[test]
    fn whoever_may_be_faster_is_not_slower_and_passes() {
        let second = changed(rounds(6, 1.0), |nth, run| {
            let throughput = run["throughput_txn_s"].as_f64().expect("a result");
            run["throughput_txn_s"] = (throughput * (1.0 + 0.03 * nth as f64)).into();
        });
        let compared = compared(&rounds(6, 1.0), &second);
        assert!(!compared.fails() && compared.text(true).contains("not slower\n"), "{}", compared.text(true));
        assert_eq!(objects(&compared)[0]["verdict"], "not_slower");
    }

    #[test]
    fn runs_that_failed_their_check_fail_a_gate() {
        let failing = |runs, of: fn(usize) -> bool| {
            changed(runs, |nth, run| {
                if of(nth) {
                    run["check"]["verdict"] = "failed".into();
                    run["throughput_txn_s"] = Value::Null;
                }
            })
        };
        let (good, none) = (rounds(6, 1.0), failing(rounds(6, 1.0), |_| true));
        let all = "CHECK FAILED: ycsb silo: second: 6 of 6 runs failed their check";
        assert_fails_by(&good, &none, GateFault::Failed, all);
        assert_fails_by(&none, &good, GateFault::Failed, "FAILED: ycsb silo: the first side has no result");
        let one = failing(rounds(6, 1.0), |nth| nth == 3);
        assert_fails_by(&good, &one, GateFault::Failed, "second: 1 of 6 runs failed their check");
        // Failures of the first side are reported, but do not fail the gate: the second side may have fixed the defect.
        let mended = compared(&one, &good);
        assert!(
            !mended.fails() && mended.text(true).contains("first: 1 of 6 runs failed"),
            "{}",
            mended.text(true)
        );
        assert!(mended.text(true).contains("LEFT OUT: ycsb silo: 1 result without a partner"));
    }

    #[test]
    fn runs_that_ended_early_or_committed_nothing_are_no_evidence() {
        let good = rounds(6, 1.0);
        let ended = changed(rounds(6, 1.0), |nth, run| run["interrupted"] = (nth > 0).into());
        let says = "LEFT OUT: ycsb silo: second: 5 of 6 runs were ended early";
        assert_fails_by(&good, &ended, GateFault::Undecided, says);
        let all = changed(rounds(6, 1.0), |_, run| run["interrupted"] = true.into());
        assert_fails_by(&good, &all, GateFault::Failed, "the second side has no result");
        let silent = changed(rounds(6, 1.0), |_, run| run["throughput_txn_s"] = 0.0.into());
        assert_fails_by(&silent, &silent, GateFault::Failed, "nothing was committed on either side");
        assert_fails_by(
            &good,
            &silent,
            GateFault::Slower,
            "NOTHING COMMITTED: ycsb silo: second: in 6 of 6 runs",
        );
    }

    #[test]
    fn cells_that_one_side_lacks_fail_a_gate() {
        let both = [series("silo", 0.5, 1.0), series("mvto", 0.5, 1.0)].concat();
        let one = series("silo", 0.5, 1.0);
        assert_fails_by(&both, &one, GateFault::Lost, "LOST: ycsb mvto: only the first side has runs of it");
        assert_fails_by(&one, &both, GateFault::Lost, "LOST: ycsb mvto: only the second side has runs of it");
    }

    #[test]
    fn other_machines_and_mixed_builds_fail_a_gate() {
        let first = rounds(6, 1.0);
        let elsewhere = changed(rounds(6, 1.0), |_, run| run["machine"]["cores"] = 8.into());
        assert_fails_by(&first, &elsewhere, GateFault::Machines, "MACHINES DIFFER: cores is 2 and 8");
        let mixed = changed(rounds(6, 1.0), |nth, run| run["build"] = format!("b{}", nth % 2).into());
        assert_fails_by(&first, &mixed, GateFault::Builds, "second: its runs are of b0 and b1");
    }

    #[test]
    fn a_busy_neighbour_is_no_slowdown_and_hides_none() {
        let beside = |factor: f64| {
            changed(rounds(6, factor), |_, run| {
                (run["cpu_share"], run["starved"]) = (0.5.into(), true.into());
            })
        };
        let same = compared(&rounds(6, 1.0), &beside(0.52));
        let text = same.text(true);
        assert!(!same.fails() && text.contains("gate: passes"), "{text}");
        assert!(text.contains("processor time         0.521  6 of 12"), "{text}");
        assert!(
            text.contains("slower by wall time (0.521), which other work on the machine explains"),
            "{text}"
        );
        assert!(text.contains("not slower; 6 of 12 runs were starved"), "{text}");
        let [cell, all] = &objects(&same)[..] else { panic!("a cell and a verdict") };
        assert_eq!((&cell["basis"], &cell["starved"]), (&"processor_time".into(), &json!([0, 6])));
        assert!((all["starved"] == 6) && (all["gate_fails"] == false), "{all}");
        assert!(
            cell["ratio"].as_f64() > Some(1.0) && cell["ratio_wall_time"].as_f64() < Some(0.53),
            "{cell}"
        );
        assert_fails_by(&rounds(6, 1.0), &beside(0.1), GateFault::Slower, "6 of 12 runs were starved");
        // The speed of the first side on a quiet machine is unknown, and repetitions do not show it.
        assert_fails_by(
            &beside(0.52),
            &rounds(6, 1.0),
            GateFault::Undecided,
            "no number of repetitions would",
        );
    }

    #[test]
    fn what_is_allowed_has_to_be_there() {
        let refused = |allow: &str| {
            let question = Question { allow: vec![allow.to_owned()], ..question(&[]) };
            compare(&rounds(6, 1.0), &rounds(6, 1.0), &question).expect_err("unknown").0
        };
        assert!(refused("undecidd").contains("did you mean `undecided`?"), "{}", refused("undecidd"));
        for says in ["failed, lost, undecided, machines, builds", "`ycsb silo`"] {
            assert!(refused("ycsb sillo").contains(says), "{}", refused("ycsb sillo"));
        }
        assert!(refused("lost,nothing").contains("`--allow lost,nothing`"));
        assert!(refused("slower").contains("for a cell by its name only"));
        let many =
            Question { allow: vec!["lost,failed".to_owned(), "ycsb silo".to_owned()], ..question(&[]) };
        let passed = compare(&rounds(1, 1.0), &rounds(1, 1.0), &many).expect("all are there");
        assert!(
            !passed.fails() && passed.text(true).contains("gate: passes; allowed: 1 undecided (ycsb silo)")
        );
    }

    #[test]
    fn objects_of_cells_have_the_same_keys_whatever_came_of_them() {
        let first = [series("silo", 0.5, 1.0), series("mvto", 0.5, 1.0), series("occ", 0.5, 1.0)].concat();
        let failed = changed(series("mvto", 0.5, 1.0), |_, run| run["check"]["verdict"] = "failed".into());
        let objects = objects(&compared(&first, &[series("silo", 0.5, 1.0), failed].concat()));
        let keys = |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
        assert_eq!(objects.len(), 4);
        assert!(objects[..3].iter().all(|cell| keys(cell) == keys(&objects[0])));
        let verdicts: Vec<&Value> = objects[..3].iter().map(|cell| &cell["verdict"]).collect();
        assert_eq!(verdicts, ["failed", "lost", "same"]);
        assert_eq!(objects[3]["faults"]["lost"], json!(["ycsb occ"]));
    }

    #[test]
    fn what_differs_has_to_be_named() {
        let (first, second) = (series("silo", 0.5, 1.0), series("mvto", 0.5, 1.2));
        let says = compare(&first, &second, &question(&[])).expect_err("nothing in common").0;
        assert!(
            says.contains("scheme (\"silo\" and \"mvto\")") && says.contains("--across scheme"),
            "{says}"
        );
        let across = compare(&first, &second, &question(&["scheme"])).expect("comparable");
        assert_eq!(across.cells[0].ratio().expect("compared").verdict, Verdict::Faster);
        assert!(
            compare(&first, &second, &question(&["shceme"]))
                .expect_err("unknown")
                .0
                .contains("--across shceme")
        );
        let mixed = [first.clone(), second].concat();
        let says = compare(&first, &mixed, &question(&["scheme"])).expect_err("no repetitions").0;
        assert!(says.contains("the second side has runs of \"silo\" and of \"mvto\""), "{says}");
    }

    #[test]
    fn results_from_before_there_were_modes_are_those_of_procedures() {
        let first = series("silo", 0.5, 1.0);
        let told = |mode: &str| {
            changed(series("silo", 0.5, 1.0), |_, run| {
                run["mode"] = mode.into();
                run["rate_txn_s"] = Value::Null;
            })
        };
        assert!(compare(&first, &told("procedure"), &question(&[])).is_ok());
        let says = compare(&first, &told("interactive"), &question(&[])).expect_err("another mode").0;
        assert!(says.contains("--across mode"), "{says}");
    }

    #[test]
    fn a_cell_is_called_by_what_tells_it_from_the_others() {
        let of = |scheme: &str, own: &str, value: u64, theta: f64| {
            changed(series(scheme, theta, 1.0), |_, run| {
                run["settings"][own] = value.into();
                run["isolation"] = scheme.into();
            })
        };
        let labels = |sides: [Vec<Value>; 2]| {
            let compared = compared(&sides.concat(), &sides[0]);
            compared.cells.iter().map(|cell| cell.label.clone()).collect::<Vec<_>>()
        };
        // The scheme's name determines its settings and its isolation.
        let two = labels([of("mvto", "mvto.wait_us", 1, 0.5), of("silo", "silo.epoch_ms", 40, 0.5)]);
        assert_eq!(two, ["ycsb mvto", "ycsb silo"]);
        let varied = labels([of("mvto", "mvto.wait_us", 1, 0.5), of("mvto", "mvto.wait_us", 2, 0.5)]);
        assert_eq!(varied, ["ycsb mvto mvto.wait_us=1", "ycsb mvto mvto.wait_us=2"]);
        let both = labels([of("mvto", "mvto.wait_us", 1, 0.5), of("silo", "silo.epoch_ms", 40, 0.9)]);
        assert_eq!(both, ["ycsb mvto ycsb.theta=0.5", "ycsb silo ycsb.theta=0.9"]);
        // A build with a setting that the other build does not know has its own cells.
        let newer = labels([series("mvto", 0.5, 1.0), of("mvto", "mvto.wait_us", 1, 0.5)]);
        assert_eq!(newer, ["ycsb mvto isolation=mvto mvto.wait_us=1", "ycsb mvto isolation=serializable"]);
    }

    #[test]
    fn other_seeds_are_no_pairs() {
        let second = changed(series("silo", 0.5, 1.0), |_, run| {
            run["seed"] = (run["seed"].as_u64().expect("a number") + 100).into();
        });
        let compared = compared(&series("silo", 0.5, 1.0), &second);
        assert_eq!(compared.cells[0].ratio().expect("compared").pairs, None);
        assert!(compared.text(false).contains("6 and 6"), "{}", compared.text(false));
    }
}
