//! The output of a comparison: a table with notes for people, objects for programs.

use results::ComparisonVerdict;
use stats::Verdict;

use super::{CellOutcome, CellRatio, Compared, ComparedCell, GateFault, Needs, Side};
use crate::speed::Basis;
use crate::sweep::{CONFIDENCE, verdict_name};
use crate::text::{Lines, Table, percent, plural};

/// The names of the two sides.
const SIDES: [&str; 2] = ["first", "second"];

/// The largest margin that is proposed.
const MARGIN_MAX: f64 = 3.0;

impl Compared {
    /// Returns the comparison as a table for people, with the result of the gate if there is one.
    pub fn text(&self, has_gate: bool) -> String {
        let mut lines = Lines(self.table());
        for cell in &self.cells {
            for note in cell.notes(self.margin) {
                lines.add(note);
            }
        }
        let is_by_processor = |cell: &ComparedCell| {
            cell.ratio().is_some_and(|ratio| ratio.judged.basis == Basis::ProcessorTime)
        };
        if self.cells.iter().any(is_by_processor) {
            lines.add(format!(
                "STARVED: in {} of {} the workers got less than 95% of the processor time that they asked for. Ratios \
                 by processor time take that into account, and their intervals are wider for it.",
                self.starved(),
                plural(self.runs(), "run")
            ));
        }
        for (name, first, second) in &self.machines {
            lines.add(format!(
                "MACHINES DIFFER: {name} is {first} and {second}; the ratio includes the effect of this difference."
            ));
        }
        self.simulated.iter().for_each(|sentence| lines.add(sentence));
        if self.same_runs > 0 {
            lines.add(format!(
                "SAME RUNS: {} of the second set are identical to runs of the first, to the last digit: are the \
                 directories right?",
                plural(self.same_runs, "run")
            ));
        }
        lines.add(format!(
            "the second against the first; a verdict needs {}% and more than {}; `not slower` is faster or the same",
            100.0 * CONFIDENCE,
            percent(self.margin - 1.0)
        ));
        lines.add(self.verdict());
        if has_gate {
            lines.add(self.gate());
        }
        lines.0
    }

    fn table(&self) -> String {
        let is_starved = self.starved() > 0;
        let mut table = Table::default();
        let mut head = vec!["", "results", "ratio", "(interval)"];
        head.extend(is_starved.then_some(["by", "by wall time", "starved"]).into_iter().flatten());
        head.extend(["p of all", "verdict"]);
        table.row(head);
        for cell in &self.cells {
            let [a, b] = &cell.sides;
            let ratio = cell.ratio();
            let of = |text: &dyn Fn(&CellRatio) -> String| ratio.map_or_else(|| "-".to_owned(), text);
            let mut row = vec![cell.label.clone(), cell.results()];
            row.push(of(&|ratio| format!("{:.3}", ratio.judged.comparison.ratio)));
            row.push(of(&|ratio| {
                let interval = &ratio.judged.comparison.interval;
                format!("({:.3} .. {:.3})", interval.low, interval.high)
            }));
            if is_starved {
                row.push(of(&|ratio| ratio.judged.basis.name().replace('_', " ")));
                row.push(of(&|ratio| format!("{:.3}", ratio.judged.by_wall.ratio)));
                row.push(format!("{} of {}", a.starved + b.starved, a.runs + b.runs));
            }
            row.push(of(&|ratio| format!("{:.3}", ratio.p_adjusted)));
            row.push(cell.verdict().replace('_', " "));
            table.row(row);
        }
        table.render()
    }

    /// Returns the number of starved runs of both sides.
    fn starved(&self) -> usize {
        self.cells.iter().flat_map(|cell| &cell.sides).map(|side| side.starved).sum()
    }

    /// Returns the number of runs of both sides.
    fn runs(&self) -> usize {
        self.cells.iter().flat_map(|cell| &cell.sides).map(|side| side.runs).sum()
    }

    /// Returns a line with the number of cells of each verdict, and the number of starved runs.
    fn verdict(&self) -> String {
        let verdicts = ["slower", "failed", "lost", "unclear", "not_slower", "same", "faster"];
        let count = |name: &str| self.cells.iter().filter(|cell| cell.verdict() == name).count();
        let counts = verdicts.map(|name| (count(name), name.replace('_', " ")));
        let counts: Vec<String> = counts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, name)| format!("{count} {name}"))
            .collect();
        let starved = match self.starved() {
            0 => "no run was starved".to_owned(),
            starved => format!("{starved} of {} were starved", plural(self.runs(), "run")),
        };
        format!("verdict: of {} {}; {starved}", plural(self.cells.len(), "cell"), counts.join(", "))
    }

    fn gate(&self) -> String {
        let named = |is_allowed: bool| {
            let of = |fault: GateFault| {
                let labels = self.labels_of(fault, is_allowed);
                (!labels.is_empty())
                    .then(|| format!("{} {} ({})", labels.len(), fault.name(), labels.join("; ")))
            };
            GateFault::ALL.into_iter().filter_map(of).collect::<Vec<String>>().join(", ")
        };
        let (failing, allowed) = (named(false), named(true));
        let line = if failing.is_empty() {
            "gate: passes".to_owned()
        } else {
            format!("gate: FAILS: {failing}; to allow one, give `--allow` the name of a fault or of a cell")
        };
        if allowed.is_empty() { line } else { format!("{line}; allowed: {allowed}") }
    }

    /// Returns the comparison as results: an object for each cell.
    pub fn cells(&self) -> Vec<results::Comparison> {
        self.cells.iter().map(|cell| cell.result(self.fails_by(cell), !self.machines.is_empty())).collect()
    }

    /// Returns the comparison of all cells together as a result.
    pub fn all(&self) -> ComparisonVerdict {
        let faults = |is_allowed: bool| {
            let of = |fault: GateFault| {
                let labels = self.labels_of(fault, is_allowed).into_iter().map(str::to_owned);
                (fault.name().to_owned(), labels.collect())
            };
            GateFault::ALL.into_iter().map(of).collect()
        };
        ComparisonVerdict {
            cells: self.cells.len() as u64,
            runs: self.runs() as u64,
            starved: self.starved() as u64,
            same_runs: self.same_runs as u64,
            machines_differ: !self.machines.is_empty(),
            gate_fails: self.fails(),
            faults: faults(false),
            allowed: faults(true),
            ..ComparisonVerdict::default()
        }
    }
}

impl ComparedCell {
    /// Returns the verdict's name in results.
    fn verdict(&self) -> &'static str {
        match &self.outcome {
            CellOutcome::Lost => "lost",
            CellOutcome::Failed => "failed",
            CellOutcome::Compared(ratio) if ratio.verdict == Verdict::Unclear && ratio.is_not_slower => {
                "not_slower"
            }
            CellOutcome::Compared(ratio) => verdict_name(ratio.verdict),
        }
    }

    fn results(&self) -> String {
        let [a, b] = [0, 1].map(|side: usize| self.sides[side].results());
        match self.ratio().and_then(|ratio| ratio.pairs) {
            Some(pairs) => plural(pairs, "pair"),
            None => format!("{a} and {b}"),
        }
    }

    /// Returns notes on this cell for readers of the table, one sentence each.
    fn notes(&self, margin: f64) -> Vec<String> {
        let label = &self.label;
        let mut notes = Vec::new();
        match &self.outcome {
            CellOutcome::Lost => {
                let only = SIDES[usize::from(self.sides[0].runs == 0)];
                notes.push(format!("LOST: {label}: only the {only} side has runs of it"));
            }
            CellOutcome::Failed => {
                let (side, name) = if self.sides[1].results() == 0 { (1, SIDES[1]) } else { (0, SIDES[0]) };
                let says = if self.sides[side].results() > 0 {
                    "nothing was committed on either side".to_owned()
                } else {
                    format!("the {name} side has no result")
                };
                notes.push(format!("FAILED: {label}: {says}, so nothing is compared"));
            }
            CellOutcome::Compared(ratio) => notes.extend(ratio.notes(label, margin)),
        }
        for (side, name) in self.sides.iter().zip(SIDES) {
            notes.extend(
                side.notes().into_iter().map(|(head, says)| format!("{head}: {label}: {name}: {says}")),
            );
        }
        if let Some(dropped) = self.without_partner() {
            notes.push(format!("LEFT OUT: {label}: {} without a partner", plural(dropped, "result")));
        }
        notes
    }

    /// Returns the number of results that were left out because the other side has none of the same seed and round;
    /// `None` if there are none.
    fn without_partner(&self) -> Option<usize> {
        let pairs = self.ratio()?.pairs?;
        let dropped = self.sides.iter().map(|side| side.results() - pairs).sum();
        (dropped > 0).then_some(dropped)
    }

    fn result(&self, fails_gate: bool, machines_differ: bool) -> results::Comparison {
        let ratio = self.ratio();
        let comparison = ratio.map(|ratio| &ratio.judged.comparison);
        let both = |of: &dyn Fn(&Side) -> usize| [0, 1].map(|side: usize| of(&self.sides[side]) as u64);
        results::Comparison {
            cell: self.label.clone(),
            results: both(&Side::results),
            runs: both(&|side| side.runs),
            check_failed: both(&|side| side.failed),
            interrupted: both(&|side| side.interrupted),
            copies: both(&|side| side.copies),
            starved: both(&|side| side.starved),
            is_paired: ratio.map(|ratio| ratio.pairs.is_some()),
            pairs: ratio.and_then(|ratio| ratio.pairs).map(|pairs| pairs as u64),
            basis: ratio.map(|ratio| ratio.judged.basis),
            ratio: comparison.map(|of| of.ratio),
            interval: comparison.map(|of| of.interval.into()),
            ratio_wall_time: ratio.map(|ratio| ratio.judged.by_wall.ratio),
            ratio_processor_time: ratio.and_then(|ratio| ratio.judged.ratio_processor),
            interval_wall_time: ratio.map(|ratio| ratio.judged.by_wall.interval.into()),
            p_value: comparison.map(|of| of.p_value),
            p_adjusted: ratio.map(|ratio| ratio.p_adjusted),
            superiority: comparison.map(|of| of.superiority),
            verdict: self.verdict().to_owned(),
            repetitions_needed: ratio
                .and_then(|ratio| ratio.needs?.repetitions())
                .map(|number| number as u64),
            faults: self.faults.iter().map(|fault| fault.name().to_owned()).collect(),
            fails_gate,
            machines_differ,
            ..results::Comparison::default()
        }
    }
}

impl CellRatio {
    fn notes(&self, label: &str, margin: f64) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(needs) = self.needs {
            let made = match self.pairs {
                Some(1) => "a single pair, which has no spread, decides nothing".to_owned(),
                Some(pairs) => format!("{pairs} pairs do not decide"),
                None => "the results are too few or too different to decide".to_owned(),
            };
            notes.push(format!("UNDECIDED: {label}: {made}: {}{}", needs.told(), self.decided_margin()));
        }
        let wall = self.judged.by_wall.verdict(margin, CONFIDENCE);
        match self.judged.basis {
            Basis::ProcessorTime if wall == Verdict::Slower && self.verdict != Verdict::Slower => {
                notes.push(format!(
                    "STARVED: {label}: slower by wall time ({:.3}), which other work on the machine explains; if it \
                     is slower on an idle machine, too, the second side waits where Contend does not see it",
                    self.judged.by_wall.ratio
                ));
            }
            Basis::WallTime | Basis::ProcessorTime => {}
            Basis::Both => {
                let waits = self.judged.waits.unwrap_or("runs wait by design");
                notes.push(format!(
                    "STARVED: {label}: {waits}, so the ratio by processor time alone is not valid: the interval \
                     includes the ratio by wall time and that by processor time ({:.3})",
                    self.judged.ratio_processor.unwrap_or(self.judged.by_wall.ratio)
                ));
            }
        }
        notes
    }
}

impl CellRatio {
    /// Returns a remark with the margin at which the present results decide; empty if this margin is too large to be
    /// useful.
    fn decided_margin(&self) -> String {
        let interval = &self.judged.comparison.interval;
        let margin = (100.0 / interval.low).ceil() / 100.0;
        if interval.confidence >= CONFIDENCE - 1e-12 && margin <= MARGIN_MAX {
            format!("; these decide at `--margin {margin}`")
        } else {
            String::new()
        }
    }
}

impl Needs {
    fn told(self) -> String {
        match self {
            Self::AtLeast(number) => format!("at least {number} repetitions are needed"),
            Self::About(number) => {
                format!("about {number} repetitions would decide, if the others have the same spread")
            }
            Self::TooMany => format!(
                "more than {} repetitions would be needed: the ratio is near the margin, so give another `--margin`, \
                 or make longer runs",
                stats::REPETITIONS_MAX
            ),
            Self::Quiet => {
                "no number of repetitions would decide: the result depends on how much processor time other work took \
                 from starved runs; measure on an idle machine, or alternate the two sides"
                    .to_owned()
            }
        }
    }

    /// Returns the number of repetitions that would decide; `None` if no practical number does.
    fn repetitions(self) -> Option<usize> {
        match self {
            Self::AtLeast(number) | Self::About(number) => Some(number),
            Self::TooMany | Self::Quiet => None,
        }
    }
}

impl Side {
    /// Returns notes on these runs, each with a heading and a sentence.
    fn notes(&self) -> Vec<(&'static str, String)> {
        let mut notes = Vec::new();
        let of = |count: usize| format!("{count} of {}", plural(self.runs, "run"));
        if self.failed > 0 {
            notes
                .push(("CHECK FAILED", format!("{} failed their check and are no results", of(self.failed))));
        }
        if self.interrupted > 0 {
            notes.push(("LEFT OUT", format!("{} were ended early", of(self.interrupted))));
        }
        if self.copies > 0 {
            notes.push(("LEFT OUT", format!("{} of runs that the side has already", copies(self.copies))));
        }
        if self.silent > 0 {
            notes.push(("NOTHING COMMITTED", format!("in {}", of(self.silent))));
        }
        if self.unchecked > 0 {
            notes.push(("NOT CHECKED", of(self.unchecked)));
        }
        if self.builds.len() > 1 {
            let builds: Vec<&str> = self.builds.iter().map(String::as_str).collect();
            notes.push(("SEVERAL BUILDS", format!("its runs are of {}", builds.join(" and "))));
        }
        notes
    }
}

fn copies(number: usize) -> String {
    if number == 1 { "1 copy".to_owned() } else { format!("{number} copies") }
}
