//! Reports as text for a terminal.

use super::figures::Drawn;
use super::{Report, claims, conditions, evidence, knees, planes, region, words};
use crate::knees::Knee;
use crate::text::Lines;

/// Returns a report as tables and sentences.
pub fn text(report: &Report) -> String {
    let mut lines = Lines::default();
    lines.add(&report.title);
    report.remarks.iter().for_each(|remark| lines.add(format!("NOTE: {remark}")));
    if let Some(conditions) = &report.conditions {
        lines.add(conditions::findings(conditions));
    }
    for claim in &report.claims {
        lines.add(format!("\nclaim {}: {}", claim.name, claim.statement));
        for (name, fact) in claims::facts(claim) {
            lines.add(format!("  {name}: {fact}"));
        }
        lines.add(format!("  check it again: {}", claim.recheck));
    }
    for (number, study) in report.studies.iter().enumerate() {
        let drawn = Drawn { number, study };
        lines.add(if study.title == report.title { String::new() } else { format!("\n{}", study.title) });
        for sentence in words::findings(study) {
            lines.add(format!("- {sentence}"));
        }
        lines.add(format!("- {}", region::sentence(study)));
        for sentence in words::cautions(study) {
            lines.add(sentence);
        }
        if study.is_scattered() {
            lines.add("Its points were drawn rather than combined; `--format csv` has them all.");
            continue;
        }
        lines.add("");
        // Of the tables of a page, a terminal shows throughputs with their verdicts, leaders and knees.
        lines.add(drawn.throughput_grid().text().trim_end());
        if study.schemes.len() > 1 && study.leaders.len() > 1 {
            lines.add("");
            lines.add(planes::leaders_grid(drawn).text().trim_end());
        }
        let knees = knees::grid(drawn);
        if !knees.rows.is_empty() {
            lines.add(format!("\n{}\n{}\n{}", knees.caption, Knee::LEGEND, knees.text().trim_end()));
        }
    }
    for machine in &report.machines {
        let facts: Vec<String> =
            evidence::machine(machine).iter().map(|(name, fact)| format!("{name} {fact}")).collect();
        lines.add(format!("\nmachine: {}", facts.join(", ")));
    }
    lines.0
}
