//! Findings, claims and their tests, as text for people.

use results::{Breadth, Claim, Class, HeldOut, Mechanism, Otherwise, Starvation};
use stats::Verdict;

use super::claim::{covered, exception, point};
use super::crossing::{self, Clear, PAIRS_CLEAR};
use super::held_out::where_it_says_so;
use super::investigate::{CONFIDENCE, Findings};
use super::points::LeftOut;
use super::recheck::Rechecked;
use super::study::{Role, Sample, Study};
use crate::simulation;
use crate::text::{Lines, Table, percent, plural, ratio_interval};

impl Study {
    /// Returns the question, with the settings that vary and those that are fixed.
    pub fn text(&self) -> String {
        let mut lines = Lines::default();
        let [a, b] = self.schemes;
        lines.add(format!(
            "{}: where does {a} beat {b}, and where {b} {a}, by {} times{}?",
            self.ground.workload(),
            self.question.margin,
            self.measure.words()
        ));
        for axis in self.ground.space.axes() {
            let range = match axis.choices() {
                Some(words) => words.join(", "),
                None => format!(
                    "{} .. {}{}",
                    axis.ends().0,
                    axis.ends().1,
                    if axis.is_logarithmic() { ", by ratio" } else { "" }
                ),
            };
            lines.add(format!("  {} = {range}", axis.name()));
        }
        for (name, value) in self.ground.fixed() {
            lines.add(format!("  {name} = {value}, always"));
        }
        self.ground.simulated().iter().for_each(|sentence| lines.add(sentence));
        lines.0
    }
}

impl Findings {
    /// Returns the findings: a count of the measurements, the crossings, and the claims.
    pub fn text(&self, study: &Study) -> String {
        let mut lines = Lines(study.text());
        let of = |role: Role| self.samples.iter().filter(|sample| sample.role == role).count();
        let runs: usize = self.samples.iter().chain(&self.otherwise).map(|sample| sample.runs.len()).sum();
        let explored = of(Role::Explored) + of(Role::Refined);
        lines.add(format!(
            "measured: {} explored, {} of them where the ranking flips; {} held out, and {} where claims are made; {}",
            plural(explored, "point"),
            of(Role::Refined),
            of(Role::HeldOut),
            of(Role::Covered),
            plural(runs, "run")
        ));
        if self.samples.iter().any(|sample| sample.role == Role::HeldOut) {
            lines.add(self.tally(study));
        }
        if let Some(flips) = crossing::text(&study.ground.space, study.schemes, &self.samples) {
            lines.add(flips);
        }
        if let Some(counted) = self.counted(study) {
            lines.add(counted);
        }
        for line in self.starvation().lines() {
            lines.add(line);
        }
        if let LeftOut { points, why: Some(why) } = &self.left_out {
            let points = plural(*points, "point");
            lines.add(format!(
                "{points} of the space cannot be run and are left out, the first because: {why}"
            ));
        }
        for claim in &self.claims {
            lines.add("");
            lines.add(self::claim(claim).trim_end());
        }
        if self.claims.is_empty() {
            lines.add("");
            lines.add(self.silence(study));
        }
        if let Some(command) = &self.failed {
            lines.add(format!("CHECK FAILED: `{command}`; the scheme is wrong, so nothing is concluded."));
        }
        if self.is_interrupted {
            lines.add("INTERRUPTED: the measurements are kept; start the command again to continue.");
        }
        lines.0
    }

    /// Returns the counts of a space of few points; `None` if the space has many points. If no point was left to test a
    /// claim at, adds for each point the scheme that is ahead.
    fn counted(&self, study: &Study) -> Option<String> {
        let (few, left) = self.few.zip(self.left)?;
        let of = |is: fn(&Sample) -> bool| self.samples.iter().filter(|sample| is(sample)).count();
        let mut lines = Lines::default();
        lines.add(format!(
            "the space has {}: {} were explored, {} held out, and {left} are left",
            plural(few, "point"),
            of(|sample| !sample.role.is_test()),
            of(|sample| sample.role.is_test())
        ));
        if left > 0 || self.samples.iter().any(|sample| sample.role.is_test()) {
            return Some(lines.0.trim_end().to_owned());
        }
        let [a, b] = study.schemes;
        for sample in &self.samples {
            let (ratio, pairs) = (sample.ratio(), plural(sample.pairs.len(), "pair"));
            let interval = sample.interval(CONFIDENCE).filter(|interval| interval.confidence >= CONFIDENCE);
            let says = match &interval {
                Some(interval) if interval.low > 1.0 => format!("{a} is ahead"),
                Some(interval) if interval.high < 1.0 => format!("{b} is ahead"),
                _ => "neither is clearly ahead".to_owned(),
            };
            let interval = interval.map_or_else(
                || format!("(too few for an interval, which takes {PAIRS_CLEAR})"),
                |interval| ratio_interval(interval.low, interval.high),
            );
            let at = point(&study.ground.space.named_values(&sample.point));
            lines.add(format!("  {at}: {says}, ratio of {a} to {b} {ratio:.2} in {pairs} {interval}"));
        }
        Some(lines.0.trim_end().to_owned())
    }

    /// Returns a line that counts at how many random points each scheme is ahead.
    fn tally(&self, study: &Study) -> String {
        let [a, b] = study.schemes;
        let held_out = self.samples.iter().filter(|sample| sample.role == Role::HeldOut);
        let classes: Vec<Class> =
            held_out.map(|sample| Class::of(sample.ratio(), study.question.margin)).collect();
        let of = |class: Class| classes.iter().filter(|other| **other == class).count();
        format!(
            "of {}: {a} is ahead at {}, {b} at {}, neither at {}",
            plural(classes.len(), "random point"),
            of(Class::A),
            of(Class::B),
            of(Class::Level)
        )
    }

    /// Returns the reason why there is no claim.
    fn silence(&self, study: &Study) -> String {
        let [a, b] = study.schemes;
        let is_tested = self.samples.iter().any(|sample| sample.role == Role::HeldOut);
        if self.clear(study) == Clear::Nowhere {
            return format!("no claim: neither {a} nor {b} is clearly ahead at any point that was explored");
        }
        if !is_tested && self.left == Some(0) {
            return "no claim: a claim is about points that were not measured, and all points were measured"
                .to_owned();
        }
        if !is_tested {
            let says = "no claim: there was no time to test one; start the command again with a larger `--budget` \
                        to continue";
            return says.to_owned();
        }
        let widest =
            self.samples.iter().map(Sample::ratio).map(f64::ln).map(f64::abs).fold(0.0, f64::max).exp();
        format!(
            "no claim: in no part of the space do {a} and {b} usually differ by more than {} times; the largest ratio \
             at a point was {widest:.2}",
            study.question.margin
        )
    }
}

/// Returns the whole claim.
pub(super) fn claim(claim: &Claim) -> String {
    let mut lines = Lines::default();
    lines.add(format!("CLAIM {}", claim.name));
    lines.add(format!("  {}", claim.statement));
    if let Some(ratio) = &claim.ratio {
        lines.add(format!(
            "  where it applies: median ratio {:.2} at {}, {:.2} .. {:.2} at eight in ten of them",
            ratio.median,
            plural(ratio.points, "held-out point"),
            ratio.p10,
            ratio.p90
        ));
    }
    let HeldOut { points, agree, undecided, .. } = claim.held_out;
    if agree < points {
        lines.add(format!(
            "  of {} that do not agree, {undecided} might agree with more pairs",
            plural(points - agree, "point")
        ));
    }
    if where_it_says_so(&claim.held_out) != Verdict::Same {
        let covered = covered(&claim.held_out);
        lines.add(format!("  WEAK: {covered}: this does not show that the winner is ahead at most of them"));
    }
    for line in breadth(&claim.breadth) {
        lines.add(format!("  {line}"));
    }
    lines.add(format!("  trust: {}{}", claim.trust, lowered(&claim.starvation)));
    lines.add(otherwise(claim));
    if let Some(first) = claim.mechanisms.first() {
        lines.add(format!("  reasons, at {}, where the ratio is {:.2}:", point(&first.at), first.gap_before));
        lines.add(mechanisms(&claim.mechanisms).trim_end());
    } else {
        lines
            .add("  reasons: not looked for, since there was no time, or the gap was not seen a second time");
    }
    if !claim.holds_without.is_empty() {
        lines.add(format!(
            "  ONLY WITHOUT {}: with it the winner is not ahead there",
            claim.holds_without.join(", ")
        ));
    }
    lines.add(format!("  test it again: {}", claim.recheck));
    lines.0
}

/// Returns the result of a claim under the other policy of retry.
fn otherwise(claim: &Claim) -> String {
    let own = claim.settings.get("retry").map_or("same", String::as_str);
    let Some(Otherwise { retry, held_out, verdict }) = &claim.otherwise else {
        if claim.space.iter().any(|axis| axis.name == "retry") {
            return "  it was tested with each policy of retry that varies".to_owned();
        }
        return format!(
            "  tested with retry={own} alone: there was no time for another policy, or a scheme has none"
        );
    };
    let HeldOut { points, agree, .. } = held_out;
    let found = format!("with retry={retry} {agree} of {points} agree, {}", covered(held_out));
    match verdict.as_str() {
        "holds" => format!("  it holds with retry={own} and with retry={retry}: {found}"),
        "undecided" => {
            format!("  tested with retry={own}; {found}: too few to decide whether it holds then, too")
        }
        _ => format!("  ONLY WITH retry={own}: {found}"),
    }
}

/// Returns lines about the exceptions of a claim, and about the number of points of the space.
fn breadth(breadth: &Breadth) -> Vec<String> {
    let mut lines = Vec::new();
    for (says, is_behind) in
        [("COUNTEREXAMPLES, where the other scheme is ahead", true), ("short of it", false)]
    {
        let of_kind = breadth.exceptions.iter().filter(|of| of.ahead.is_some() == is_behind);
        let told: Vec<String> = of_kind.clone().take(EXCEPTIONS_MAX).map(exception).collect();
        let rest = of_kind.count() - told.len();
        let rest = if rest > 0 { format!("; and {}", plural(rest, "other")) } else { String::new() };
        if !told.is_empty() {
            lines.push(format!("{says}: {}{rest}", told.join("; ")));
        }
    }
    if let Some((points, left)) = breadth.points.zip(breadth.left) {
        lines.push(format!("the space has {}, of which {left} were not measured", plural(points, "point")));
    }
    lines
}

/// Returns the reasons that lower the trust, in parentheses; empty if there are none.
fn lowered(starvation: &Starvation) -> String {
    let reasons = &starvation.reasons;
    if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join("; ")) }
}

/// The maximum number of points that a line names.
const EXCEPTIONS_MAX: usize = 5;

fn mechanisms(mechanisms: &[Mechanism]) -> String {
    let mut table = Table::default();
    table.row(["    changed", "", "gap", "of before (interval)", "runs", "accounts for"]);
    for mechanism in mechanisms {
        let Mechanism {
            name, setting, to, gap_after, interval, repetitions, says, gap_before, implies, ..
        } = mechanism;
        let with =
            if implies.is_empty() { String::new() } else { format!(" (with it {})", implies.join(" and ")) };
        table.row([
            format!("    {name}{with}"),
            format!("{setting}={to}"),
            format!("{gap_after:.2}"),
            format!("{:.2} ({:.2} .. {:.2})", gap_after / gap_before, interval.low, interval.high),
            repetitions.to_string(),
            says.clone(),
        ]);
    }
    table.render()
}

impl Rechecked {
    /// Returns the result of testing a claim again.
    pub fn text(&self, claim: &Claim) -> String {
        let mut lines = Lines::default();
        lines.add(&claim.statement);
        let Some(held_out) = &self.held_out else {
            lines.add(if self.is_exhausted {
                "every point of the space was measured before: no point is left for the test"
            } else {
                "no point was measured: give a larger `--budget`"
            });
            return lines.0;
        };
        let HeldOut { points, agree, undecided, interval, seed, share, .. } = held_out;
        lines.add(format!(
            "seed {seed}: {agree} of {points} fresh points agree, {} ({} .. {}, with a confidence of {}), {}; \
             {undecided} of the others might agree with more pairs",
            percent(*share),
            percent(interval.low),
            percent(interval.high),
            percent(interval.confidence),
            covered(held_out)
        ));
        if let Some(Otherwise { retry, held_out, verdict }) = &self.otherwise {
            let HeldOut { points, agree, .. } = held_out;
            let covered = covered(held_out);
            let verdict = verdict.replace('_', " ");
            lines.add(format!("with retry={retry} {agree} of {points} of them agree, {covered}: {verdict}"));
        }
        for line in self.starvation.lines() {
            lines.add(line);
        }
        for sentence in simulation::told_by(&claim.settings, &claim.space) {
            lines.add(sentence);
        }
        lines.add(match self.verdict {
            Verdict::Slower => {
                "DOES NOT HOLD: clearly fewer points agree than the claim states, or the winner is not ahead where \
                 the claim applies"
            }
            Verdict::Unclear => "UNDECIDED: too few points to decide; give more `--points`",
            Verdict::Same | Verdict::Faster => "HOLDS",
        });
        if !self.is_same_build {
            lines.add("these runs are of another build than those of the claim");
        }
        if let Some(command) = &self.failed {
            lines.add(format!("CHECK FAILED: `{command}`"));
        }
        if self.is_interrupted {
            lines.add("INTERRUPTED: the measurements are kept; start the command again to continue.");
        }
        lines.0
    }
}
