//! Claims: statements, the conditions under which they hold, and their evidence.

use results::{Breadth, Claim, Exception, HeldOut, Mechanism, Named};

use super::grid::Grid;
use crate::text::{percent, plural};

/// Returns the evidence of a claim as pairs of name and text.
pub(super) fn facts(claim: &Claim) -> Vec<(String, String)> {
    let mut facts = vec![("predicate".to_owned(), claim.in_words.clone())];
    let mut fact = |name: &str, text: String| facts.push((name.to_owned(), text));
    let (winner, other) = claim.names();
    if let Some(ratio) = &claim.ratio {
        fact(
            "ratio where it holds",
            format!(
                "{:.2} in the median ({winner} to {other}), between {:.2} and {:.2} at eight of ten points",
                ratio.median, ratio.p10, ratio.p90
            ),
        );
    }
    fact("matters from", format!("{:.2} ({winner} to {other})", claim.margin));
    fact("held-out points", held_out(&claim.held_out));
    if let Some(otherwise) = &claim.otherwise {
        let verdict = otherwise.verdict.replace('_', " ");
        fact(
            &format!("with retry={}", otherwise.retry),
            format!("{}: {verdict}", held_out(&otherwise.held_out)),
        );
    }
    let (points, runs) = (claim.exploration.points, claim.exploration.runs);
    fact("explored", format!("{}, {}", plural(points, "point"), plural(runs, "run")));
    if !claim.breadth.exceptions.is_empty() {
        fact("not so at", exceptions(&claim.breadth));
    }
    let reasons = &claim.starvation.reasons;
    let lowered = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join("; ")) };
    fact("trust", format!("{}{lowered}", claim.trust));
    fact("build", claim.build.clone());
    fact("evidence", plural(claim.evidence.len(), "run"));
    facts
}

/// Returns the table of the mechanisms that were toggled to explain a claim.
pub(super) fn mechanisms(claim: &Claim) -> Grid {
    let head = [
        "mechanism",
        "setting",
        "from",
        "to",
        "at",
        "says",
        "gap before",
        "gap after",
        "share",
        "(interval)",
        "p",
    ];
    let mut grid = Grid::new(format!("Why: mechanisms toggled one at a time ({})", claim.name), 6, &head);
    for of in &claim.mechanisms {
        let Mechanism { name, setting, from, to, at, says, interval, .. } = of;
        let mut cells = [name, setting, from, to].map(String::clone).to_vec();
        cells.extend([point(at), says.clone()]);
        cells.extend([of.gap_before, of.gap_after].map(|gap| format!("{gap:.2}")));
        cells.extend([
            of.share.map_or_else(|| "-".to_owned(), percent),
            format!("({:.2} .. {:.2})", interval.low, interval.high),
            format!("{:.3}", of.p_adjusted),
        ]);
        grid.row("", cells);
    }
    grid
}

/// Returns a point as text.
fn point(at: &Named) -> String {
    at.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}

fn held_out(of: &HeldOut) -> String {
    let HeldOut { points, agree, undecided, covered, covered_agree, share, interval, .. } = of;
    let covered = match covered {
        0 => String::new(),
        all => format!(", {covered_agree} of the {all} that it covers"),
    };
    let undecided = match undecided {
        0 => String::new(),
        number => format!("; {number} more decided nothing"),
    };
    format!(
        "{agree} of {points} held-out points agree ({}), {} to {} with {} confidence{covered}{undecided}",
        percent(*share),
        percent(interval.low),
        percent(interval.high),
        percent(interval.confidence)
    )
}

/// Returns the measured points at which a claim does not hold.
fn exceptions(breadth: &Breadth) -> String {
    let one = |Exception { at, ratio, ahead, .. }: &Exception| {
        let ahead = ahead.as_ref().map_or_else(String::new, |ahead| format!(": {ahead} is ahead"));
        format!("{} ({ratio:.2}){ahead}", point(at))
    };
    breadth.exceptions.iter().map(one).collect::<Vec<_>>().join("; ")
}
