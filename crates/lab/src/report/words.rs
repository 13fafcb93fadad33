//! Findings as sentences. A ratio never stands without its interval and the point at which it was measured.

use std::collections::BTreeMap;

use results::{CheckVerdict, Run};
use stats::Verdict;

use super::study::{Leader, Study};
use crate::sweep::{MARGIN, PointSummary};
use crate::text::{percent, plural, ratio_interval};
use crate::{Starvation, simulation};

/// Returns the findings of a study as sentences.
pub(super) fn findings(study: &Study) -> Vec<String> {
    let mut sentences = Vec::new();
    // Points that were drawn at random are a sample of the space: single points support no finding.
    if study.is_scattered() {
        return sentences;
    }
    let points = study.points().len();
    if study.schemes.len() < 2 {
        sentences.push(format!(
            "{} alone was measured, at {}: how it compares with others is not known from this.",
            study.schemes[0],
            plural(points, "point")
        ));
        return sentences;
    }
    let decided: Vec<&Leader> =
        study.leaders.iter().filter(|leader| leader.verdict == Verdict::Faster).collect();
    sentences.push(summary(study, &decided, points));
    for scheme in &study.schemes {
        let own: Vec<&&Leader> = decided.iter().filter(|leader| leader.scheme == *scheme).collect();
        if let (Some(least), Some(most)) = (by_ratio(&own).first(), by_ratio(&own).last()) {
            sentences.push(of_leader(study, scheme, own.len(), least, most));
        }
    }
    let open = points - decided.len().min(points);
    if open > 0 && !decided.is_empty() {
        sentences.push(format!(
            "At {} no scheme is ahead of all others by more than {} with 90% confidence.",
            plural(open, "point"),
            percent(MARGIN - 1.0)
        ));
    }
    sentences.extend(study.schemes.iter().filter_map(|scheme| against_first(study, scheme)));
    if study.leaders.len() > 1 {
        sentences.push(format!(
            "Each single verdict has 90% confidence: of {} verdicts some may be wrong by chance. Trust verdicts on \
             which neighbouring points agree.",
            study.leaders.len()
        ));
    }
    sentences
}

fn summary(study: &Study, decided: &[&Leader], points: usize) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for leader in decided {
        *counts.entry(&leader.scheme).or_default() += 1;
    }
    let among = format!("Of {} under {}", plural(points, "point"), study.schemes.join(", "));
    let but = |name: &str| {
        let own = decided.iter().filter(|leader| leader.scheme == name);
        study.starving(name, &own.map(|leader| leader.point.as_slice()).collect::<Vec<_>>())
    };
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(name, count)| (core::cmp::Reverse(*count), *name));
    match &counts[..] {
        [] => format!(
            "{among}: at none is a scheme ahead of all others by more than {} with 90% confidence. Measure more \
             repetitions, or on a quieter machine, before preferring one.",
            percent(MARGIN - 1.0)
        ),
        [(name, count)] if *count == points => {
            format!("{among}: {name} is ahead of all others at every one{}.", but(name))
        }
        [(name, count)] => {
            format!(
                "{among}: {name} is ahead of all others at {count}{}, and no other scheme is ahead anywhere.",
                but(name)
            )
        }
        several => {
            let told: Vec<String> =
                several.iter().map(|(name, count)| format!("{name} at {count}{}", but(name))).collect();
            let between = if told.iter().any(|told| told.contains(',')) { "; " } else { ", " };
            format!("{among}: the winner changes with the settings: {}.", told.join(between))
        }
    }
}

fn by_ratio<'l>(leaders: &[&&'l Leader]) -> Vec<&'l Leader> {
    let mut sorted: Vec<&Leader> = leaders.iter().map(|leader| **leader).collect();
    let ratio = |leader: &Leader| leader.comparison.map_or(1.0, |of| of.ratio);
    sorted.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    sorted
}

fn of_leader(study: &Study, scheme: &str, points: usize, least: &Leader, most: &Leader) -> String {
    let at = |leader: &Leader| {
        let of = leader.comparison.expect("a verdict rests on a comparison");
        let words = study.point_in_words(&leader.point, &[]);
        let place = if words.is_empty() { String::new() } else { format!(" at {words}") };
        format!(
            "{:.2} times the throughput of {} {}{place}{}",
            of.ratio,
            leader.second,
            ratio_interval(of.interval.low, of.interval.high),
            study.starving(scheme, &[&leader.point])
        )
    };
    if points == 1 {
        return format!("{scheme} has {}.", at(most));
    }
    format!("{scheme} has, where it leads least, {}; where it leads most, {}.", at(least), at(most))
}

/// Returns a sentence on the decided comparisons of a scheme with the study's first scheme; `None` if none is decided.
fn against_first(study: &Study, scheme: &str) -> Option<String> {
    let own =
        study.lines.iter().filter(|line| line.line.scheme == scheme && line.line.against_first.is_some());
    let own: Vec<&PointSummary> = own.map(|line| &line.line).collect();
    let of = |verdict| own.iter().copied().filter(|line| line.verdict() == Some(verdict)).collect::<Vec<_>>();
    let all = own.len();
    let mut parts = Vec::new();
    for (verdict, word) in [(Verdict::Faster, "faster"), (Verdict::Slower, "slower")] {
        let lines = of(verdict);
        let farthest = |line: &&&PointSummary| line.against_first.map_or(0.0, |of| of.ratio.ln().abs());
        let most = lines.iter().max_by(|a, b| farthest(a).total_cmp(&farthest(b)));
        if let Some((line, of)) = most.and_then(|line| Some((line, line.against_first?))) {
            let place = study.point_in_words(&line.point, &[]);
            let place = if place.is_empty() { String::new() } else { format!(" at {place}") };
            let interval = ratio_interval(of.interval.low, of.interval.high);
            let most = if lines.len() > 1 { "most clearly " } else { "" };
            // The starved types of the scheme that is ahead are named beside the verdict.
            let ahead = if verdict == Verdict::Faster { scheme } else { study.first.as_str() };
            let points: Vec<&[String]> = lines.iter().map(|line| line.point.as_slice()).collect();
            let starving = study.starving(ahead, &points);
            let starving = starving.replacen(", but STARVES: it", &format!(", but {ahead} STARVES: it"), 1);
            parts.push(format!(
                "{word} at {} of {all} points ({most}{:.2} {interval}{place}){starving}",
                lines.len(),
                of.ratio
            ));
        }
    }
    let same = of(Verdict::Same).len();
    parts.extend((same > 0).then(|| format!("the same at {same}")));
    let told = format!("{scheme} against {}: {}.", study.first, parts.join(", "));
    (!parts.is_empty()).then_some(told)
}

/// Returns the cautions that a reader needs beside a study's figures.
pub(super) fn cautions(study: &Study) -> Vec<String> {
    let mut sentences = Vec::new();
    let count = |is: fn(&Run) -> bool| study.runs.iter().filter(|run| is(run)).count();
    let (all, failed) = (study.runs.len(), count(Run::is_failed));
    if failed > 0 {
        sentences.push(format!(
            "CHECK FAILED in {}: they are no results, and their figures are left out. Look at these first.",
            plural(failed, "run")
        ));
    }
    let skipped = count(|run| run.check.verdict == CheckVerdict::Skipped);
    if skipped > 0 {
        sentences.push(format!(
            "UNCHECKED: {} were not checked, so it is unknown whether they were correct.",
            plural(skipped, "run")
        ));
    }
    let starved = count(|run| run.is_starved);
    if starved > 0 {
        sentences.push(format!(
            "STARVED: in {starved} of {} the workers got less than 95% of the processor time that they asked for: \
             something else used the cores, and absolute figures are too low. Ratios are by processor time; ratios of \
             runs that wait by design are by wall time, and their intervals include the ratio by processor time.",
            plural(all, "run")
        ));
    }
    sentences.extend(Starvation::of(&study.runs).type_lines());
    if study.missing > 0 {
        sentences.push(format!(
            "UNFINISHED: {} that the recipe asks for are not there. Start the sweep again to make them.",
            plural(study.missing, "run")
        ));
    }
    let crowded =
        count(|run| !run.choices.is_simulated && (1..run.choices.workers).contains(&run.machine.cores));
    sentences.extend(simulation::notes(&study.runs));
    if crowded > 0 {
        sentences.push(format!(
            "CROWDED: {} had more workers than the machine has cores; the system's scheduler is part of what they \
             measure.",
            plural(crowded, "run")
        ));
    }
    sentences.extend(few_repetitions(study).filter(|_| !study.is_scattered()));
    sentences
}

fn few_repetitions(study: &Study) -> Option<String> {
    let least = study
        .lines
        .iter()
        .map(|line| line.line.throughput_txn_s.len())
        .filter(|results| *results > 0)
        .min()?;
    (least < 5 && study.schemes.len() > 1).then(|| {
        format!(
            "FEW REPETITIONS: somewhere there are {} only, and fewer than five can never be 90% sure: verdicts there \
             stay \
             `unclear`.",
            plural(least, "result")
        )
    })
}
