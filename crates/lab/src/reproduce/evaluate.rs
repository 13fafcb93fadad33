//! Decisions on relations: each relation is decided on the results of its recipe.

use std::collections::BTreeMap;

use stats::{Comparison, Interval, Paired, Spread, Verdict, paired};
use stdx::{Rng, Zipf};

use super::relation::{SHARE_MARGIN, bounds, near};
use super::victims::Sides;
use super::{Metric, Pair, Relation, RelationRule, SchemeCell, TrendDirection};
use crate::speed::{self, Speed};
use crate::sweep::{CONFIDENCE, MARGIN, PointSummary, Summary, Sweep};

/// The decision on a relation at one place, that is, at one combination of the values that it leaves open.
#[derive(Clone, Debug, PartialEq)]
pub struct RelationInstance {
    /// The values that the relation leaves open, by name.
    pub at: Vec<(String, String)>,
    /// The estimate: a ratio, a figure, or the change along an axis, which is a ratio or (for shares) a difference.
    pub estimate: Option<f64>,
    /// The interval in which the true value lies.
    pub interval: Option<Interval>,
    /// The outcome at this place.
    pub outcome: RelationOutcome,
}

/// The outcome of a relation on results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelationOutcome {
    /// The relation holds.
    Holds,
    /// The relation does not hold.
    Fails,
    /// The results do not decide the relation; more results might.
    Undecided,
}

impl RelationOutcome {
    /// Returns the name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
            Self::Undecided => "undecided",
        }
    }

    /// Returns whether an interval lies within a range, outside it, or neither. An interval with too little confidence
    /// decides nothing.
    pub(super) fn of_range(interval: &Interval, low: Option<f64>, high: Option<f64>) -> Self {
        let (low, high) = (low.unwrap_or(f64::NEG_INFINITY), high.unwrap_or(f64::INFINITY));
        if interval.confidence < CONFIDENCE - 1e-12 {
            Self::Undecided
        } else if low <= interval.low && interval.high <= high {
            Self::Holds
        } else if interval.high < low || high < interval.low {
            Self::Fails
        } else {
            Self::Undecided
        }
    }

    /// Returns the outcome of several parts that must all hold.
    fn of_all(outcomes: &[Self]) -> Self {
        if outcomes.contains(&Self::Fails) {
            Self::Fails
        } else if outcomes.is_empty() || outcomes.contains(&Self::Undecided) {
            Self::Undecided
        } else {
            Self::Holds
        }
    }

    /// Returns the outcome of a comparison whose verdict must be `wanted`.
    fn of_verdict(found: Verdict, wanted: Verdict) -> Self {
        match found {
            Verdict::Unclear => Self::Undecided,
            _ if found == wanted => Self::Holds,
            _ => Self::Fails,
        }
    }
}

impl Relation {
    /// Decides the relation on the results of its recipe, at each place that it leaves open.
    pub fn decide(&self, sweep: &Sweep, summary: &Summary) -> Vec<RelationInstance> {
        let table = Results { sweep, lines: &summary.lines };
        match &self.rule {
            RelationRule::Ratio { of, to, low, high, best_over, of_type, against } => {
                let rate = of_type.as_ref().map_or(Rate::All, Rate::OfType);
                let best_over = best_over.as_deref();
                table.ratios((of, to), against.as_ref(), bounds(*low, *high), Along { best_over, rate })
            }
            RelationRule::Figure { metric, of, low, high } => table.figures(*metric, of, *low, *high),
            RelationRule::Trend { metric, of, axis, goes, margin } => {
                table.trends(*metric, of, axis, *goes, *margin)
            }
            RelationRule::Crossing { first, then, axis, low, high } => {
                table.crossings(first, then, axis, (*low, *high))
            }
            RelationRule::Peak { of, axis, low, high } => table.peaks(of, axis, (*low, *high)),
            RelationRule::Published { of, to, published, tolerance, .. } => {
                table.ratios((of, to), None, near(*published, *tolerance), Along::default())
            }
            RelationRule::HottestShare { .. } | RelationRule::Victims { .. } => {
                self.compute(sweep.recipe.seed)
            }
        }
    }

    /// Decides a relation that needs no runs; returns nothing for other relations. `seed` is the seed of the keys that
    /// are drawn.
    pub fn compute(&self, seed: u64) -> Vec<RelationInstance> {
        let (records, theta, ranks, draws, published, tolerance) = match &self.rule {
            RelationRule::HottestShare { records, theta, ranks, draws, published, tolerance } => {
                (records, theta, ranks, draws, published, tolerance)
            }
            RelationRule::Victims { batch, theta, figure, of, to, low, high } => {
                let sides = Sides { batch: *batch, theta: *theta, figure: *figure, methods: [of, to] };
                return vec![sides.compare(seed, bounds(*low, *high))];
            }
            _ => return Vec::new(),
        };
        let zipf = Zipf::new(*records, *theta);
        let interval = match draws {
            None => {
                let share = (0..*ranks).map(|rank| zipf.probability(rank)).sum();
                Some(Interval { low: share, high: share, confidence: 1.0 })
            }
            Some(draws) => {
                let mut rng = Rng::new(seed);
                let hits = (0..*draws).filter(|_| zipf.rank(&mut rng) < *ranks).count();
                stats::share(hits as u64, *draws, CONFIDENCE)
            }
        };
        let (low, high) = near(*published, *tolerance);
        let outcome = interval.as_ref().map(|interval| RelationOutcome::of_range(interval, low, high));
        vec![RelationInstance {
            at: vec![("records".to_owned(), records.to_string()), ("hottest".to_owned(), ranks.to_string())],
            estimate: interval.map(|interval| f64::midpoint(interval.low, interval.high)),
            interval,
            outcome: outcome.unwrap_or(RelationOutcome::Undecided),
        }]
    }
}

/// The results of a sweep by point and scheme.
struct Results<'s> {
    sweep: &'s Sweep,
    lines: &'s [PointSummary],
}

/// Values of axes by name.
type At = BTreeMap<String, String>;
/// The values by which a place is told from others.
type Place = Vec<(String, String)>;

impl<'s> Results<'s> {
    fn at(&self, line: &PointSummary) -> At {
        self.sweep.axes.iter().cloned().zip(line.point.iter().cloned()).collect()
    }

    /// Returns the lines of a cell.
    fn lines(&self, cell: &SchemeCell) -> impl Iterator<Item = &'s PointSummary> {
        let is_meant = |line: &&PointSummary| {
            let at = self.at(line);
            let is_at = |(name, value): (&String, &_)| at.get(name) == Some(&ToString::to_string(value));
            line.scheme == cell.scheme && cell.at.iter().all(is_at)
        };
        self.lines.iter().filter(is_meant)
    }

    /// Returns the place of a line: its values on the axes that are not in `given`.
    fn open(&self, line: &PointSummary, given: &[&str]) -> Place {
        self.at(line).into_iter().filter(|(name, _)| !given.contains(&name.as_str())).collect()
    }

    /// Returns pairs of sides of two cells, with the place of the first side. Both sides have the same values on the
    /// axes that the second cell leaves open. If `along` has an axis, each side is taken where its throughput along
    /// that axis is best.
    fn pairs(&self, of: &SchemeCell, to: &SchemeCell, along: Along<'_>) -> Vec<(Place, Side<'s>, Side<'s>)> {
        let given: Vec<&str> = of.at.keys().map(String::as_str).chain(along.best_over).collect();
        let other: Vec<&str> = to.at.keys().map(String::as_str).chain(along.best_over).collect();
        let partners = self.sides(to, along);
        let partner = |side: Side<'s>| {
            let rest = self.open(side.line, &other);
            let partner = partners.iter().find(|partner| self.open(partner.line, &other) == rest)?;
            Some((self.open(side.line, &given), side, *partner))
        };
        self.sides(of, along).into_iter().filter_map(partner).collect()
    }

    /// Returns the sides of a cell: its lines or, if `along` has an axis, the best line along that axis at each place.
    fn sides(&self, of: &SchemeCell, along: Along<'_>) -> Vec<Side<'s>> {
        match along.best_over {
            None => self.lines(of).map(|line| Side { line, is_open: false }).collect(),
            Some(axis) => {
                self.series(of, axis).values().filter_map(|lines| best(lines, along.rate)).collect()
            }
        }
    }

    fn ratios(
        &self,
        (of, to): (&SchemeCell, &SchemeCell),
        against: Option<&Pair>,
        (low, high): (Option<f64>, Option<f64>),
        along: Along<'_>,
    ) -> Vec<RelationInstance> {
        let others = against.map(|Pair { of, to }| self.pairs(of, to, along));
        let decided = |(at, of, to): (Place, Side<'_>, Side<'_>)| {
            let speeds = |side: &Side<'_>| along.rate.speeds(side.line);
            let (mut above, mut below) = (speeds(&of), speeds(&to));
            let (mut is_open_above, mut is_open_below) = (of.is_open, to.is_open);
            if let Some(others) = &others {
                let other = others.iter().find(|(other, ..)| *other == at);
                let (of, to) = other.map(|(_, of, to)| (of, to)).unzip();
                above = times(&above, &to.map(speeds).unwrap_or_default());
                below = times(&below, &of.map(speeds).unwrap_or_default());
                is_open_above |= to.is_some_and(|side| side.is_open);
                is_open_below |= of.is_some_and(|side| side.is_open);
            }
            let compared = ratio(&below, &above);
            let interval = compared.as_ref().map(|compared| Interval {
                low: if is_open_below { 0.0 } else { compared.interval.low },
                high: if is_open_above { f64::INFINITY } else { compared.interval.high },
                confidence: compared.interval.confidence,
            });
            RelationInstance {
                at,
                estimate: compared.map(|compared| compared.ratio),
                outcome: interval
                    .as_ref()
                    .map_or(RelationOutcome::Undecided, |at| RelationOutcome::of_range(at, low, high)),
                interval,
            }
        };
        self.pairs(of, to, along).into_iter().map(decided).collect()
    }

    fn figures(
        &self,
        metric: Metric,
        of: &SchemeCell,
        low: Option<f64>,
        high: Option<f64>,
    ) -> Vec<RelationInstance> {
        let given: Vec<&str> = of.at.keys().map(String::as_str).collect();
        let decided = |line: &PointSummary| {
            let values: Vec<f64> = values(metric, line).into_values().collect();
            let interval = Interval::of_median(&values, CONFIDENCE);
            let outcome = interval.as_ref().map(|interval| RelationOutcome::of_range(interval, low, high));
            RelationInstance {
                at: self.open(line, &given),
                estimate: Spread::of(values).map(|spread| spread.median),
                interval,
                outcome: outcome.unwrap_or(RelationOutcome::Undecided),
            }
        };
        self.lines(of).map(decided).collect()
    }

    /// Returns the lines of a cell along an axis, by place.
    fn series(&self, of: &SchemeCell, axis: &str) -> BTreeMap<Place, Vec<&'s PointSummary>> {
        let given: Vec<&str> = of.at.keys().map(String::as_str).chain([axis]).collect();
        let mut series: BTreeMap<_, Vec<&PointSummary>> = BTreeMap::new();
        for line in self.lines(of) {
            series.entry(self.open(line, &given)).or_default().push(line);
        }
        series
    }

    fn trends(
        &self,
        metric: Metric,
        of: &SchemeCell,
        axis: &str,
        goes: TrendDirection,
        margin: Option<f64>,
    ) -> Vec<RelationInstance> {
        let margin = match (metric.is_share(), margin) {
            (false, margin) => margin.unwrap_or(MARGIN),
            (true, margin) => margin.unwrap_or(SHARE_MARGIN).exp(),
        };
        let decided = |(at, lines): (Place, Vec<&PointSummary>)| {
            let ends = lines.first().zip(lines.last()).and_then(|(first, last)| change(metric, first, last));
            let steps: Vec<Option<Verdict>> = lines
                .windows(2)
                .map(|ends| Some(change(metric, ends[0], ends[1])?.verdict(margin, CONFIDENCE)))
                .collect();
            let whole = ends.as_ref().map(|ends| ends.verdict(margin, CONFIDENCE));
            let shown = |ratio: f64| if metric.is_share() { ratio.ln() } else { ratio };
            RelationInstance {
                at,
                estimate: ends.map(|ends| shown(ends.ratio)),
                interval: ends.map(|ends| ends.interval.map(shown)),
                outcome: whole.map_or(RelationOutcome::Undecided, |whole| trend(whole, &steps, goes)),
            }
        };
        self.series(of, axis).into_iter().map(decided).collect()
    }

    /// Decides at which value of an axis a scheme is best: the values whose throughput is not clearly below the best.
    /// If the first or the last value is among them, a peak beyond it cannot be excluded.
    fn peaks(&self, of: &SchemeCell, axis: &str, (low, high): (f64, f64)) -> Vec<RelationInstance> {
        let decided = |(at, lines): (Place, Vec<&PointSummary>)| {
            let value = |line: &PointSummary| self.at(line).get(axis)?.parse::<f64>().ok();
            let peak = best(&lines, Rate::All)?.line;
            let is_level = |line: &&&PointSummary| {
                let compared = change(Metric::ThroughputTxnS, line, peak);
                core::ptr::eq(**line, peak)
                    || compared.is_some_and(|found| found.verdict(MARGIN, CONFIDENCE) != Verdict::Faster)
            };
            let level: Vec<f64> = lines.iter().filter(is_level).filter_map(|line| value(line)).collect();
            let ends = |values: &[f64]| {
                let by = f64::total_cmp;
                Some((values.iter().copied().min_by(by)?, values.iter().copied().max_by(by)?))
            };
            let (first, last) = ends(&lines.iter().filter_map(|line| value(line)).collect::<Vec<_>>())?;
            let (least, greatest) = ends(&level)?;
            let low_end = if least > first { least } else { f64::NEG_INFINITY };
            let high_end = if greatest < last { greatest } else { f64::INFINITY };
            let interval = Interval { low: low_end, high: high_end, confidence: CONFIDENCE };
            let outcome = RelationOutcome::of_range(&interval, Some(low), Some(high));
            Some(RelationInstance { at, estimate: value(peak), interval: Some(interval), outcome })
        };
        self.series(of, axis).into_iter().filter_map(decided).collect()
    }

    fn crossings(
        &self,
        first: &SchemeCell,
        then: &SchemeCell,
        axis: &str,
        ends: (f64, f64),
    ) -> Vec<RelationInstance> {
        let mut by_place: BTreeMap<Place, Vec<(f64, Verdict)>> = BTreeMap::new();
        for (mut place, first, then) in self.pairs(first, then, Along::default()) {
            let Some(at) = place.iter().position(|(name, _)| name == axis) else { continue };
            let Ok(value) = place.remove(at).1.parse::<f64>() else { continue };
            let found = change(Metric::ThroughputTxnS, then.line, first.line)
                .map_or(Verdict::Unclear, |compared| compared.verdict(MARGIN, CONFIDENCE));
            by_place.entry(place).or_default().push((value, found));
        }
        by_place.into_iter().map(|(at, found)| crossing(at, &found, ends)).collect()
    }
}

/// The way in which the sides of a ratio are chosen.
#[derive(Clone, Copy, Default)]
struct Along<'r> {
    /// The axis along which each side is taken where it is best.
    best_over: Option<&'r str>,
    rate: Rate<'r>,
}

/// The commits per second that are compared.
#[derive(Clone, Copy, Default)]
enum Rate<'r> {
    /// Commits of all types.
    #[default]
    All,
    /// Commits of one type.
    OfType(&'r String),
}

impl Rate<'_> {
    /// Returns the speeds of the runs of a line, by repetition. A run that failed its check has no speed.
    fn speeds(self, line: &PointSummary) -> Speeds {
        let speed = |run: &results::Run| match self {
            Self::All => Speed::of(run),
            Self::OfType(name) => Speed::of_type(run, name),
        };
        line.results.iter().filter_map(|(repetition, run)| Some((*repetition, speed(run)?))).collect()
    }
}

/// One side of a ratio.
#[derive(Clone, Copy)]
struct Side<'s> {
    line: &'s PointSummary,
    /// Whether the side is best at an end of the axis, so that it may be better still beyond that end.
    is_open: bool,
}

/// Returns the line with the best median rate. If it is at an end of the axis, and not shown to be level with the line
/// beside it, the maximum may lie beyond that end.
fn best<'s>(lines: &[&'s PointSummary], rate: Rate<'_>) -> Option<Side<'s>> {
    let median = |line: &PointSummary| {
        let speeds = rate.speeds(line).into_values();
        Spread::of(speeds.map(|speed| speed.in_ratios())).map(|spread| spread.median)
    };
    let medians = lines.iter().enumerate().filter_map(|(at, line)| Some((at, median(line)?)));
    let (at, _) = medians.max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    let is_level_with = |other: Option<usize>| {
        let other = other.and_then(|other| lines.get(other))?;
        let change = ratio(&rate.speeds(other), &rate.speeds(lines[at]))?;
        Some(change.verdict(MARGIN, CONFIDENCE) == Verdict::Same)
    };
    let is_first_open = at == 0 && is_level_with(Some(1)) != Some(true);
    let is_last_open = at + 1 == lines.len() && is_level_with(at.checked_sub(1)) != Some(true);
    Some(Side { line: lines[at], is_open: is_first_open || is_last_open })
}

/// Decides a crossing by the scheme that is ahead at each value of an axis. The crossing lies between the last value
/// where the first scheme is ahead and the first value where the other is ahead.
fn crossing(at: Place, found: &[(f64, Verdict)], ends: (f64, f64)) -> RelationInstance {
    let wanted = |value: f64| {
        if value <= ends.0 { Some(Verdict::Faster) } else { (value >= ends.1).then_some(Verdict::Slower) }
    };
    let decided =
        |(value, found): &(f64, Verdict)| Some(RelationOutcome::of_verdict(*found, wanted(*value)?));
    let outcomes: Vec<RelationOutcome> = found.iter().filter_map(decided).collect();
    let of =
        |verdict: Verdict| found.iter().filter(move |(_, found)| *found == verdict).map(|(value, _)| *value);
    let low = of(Verdict::Faster).max_by(f64::total_cmp);
    let high = of(Verdict::Slower).min_by(f64::total_cmp);
    let interval = low.zip(high).filter(|(low, high)| low < high);
    RelationInstance {
        at,
        estimate: None,
        interval: interval.map(|(low, high)| Interval { low, high, confidence: CONFIDENCE }),
        outcome: RelationOutcome::of_all(&outcomes),
    }
}

/// Decides a trend by the change along the whole axis and by its steps.
fn trend(whole: Verdict, steps: &[Option<Verdict>], goes: TrendDirection) -> RelationOutcome {
    let (wanted, against) = match goes {
        TrendDirection::Up => (Verdict::Faster, vec![Verdict::Slower]),
        TrendDirection::Down => (Verdict::Slower, vec![Verdict::Faster]),
        TrendDirection::Level => (Verdict::Same, vec![Verdict::Faster, Verdict::Slower]),
    };
    let is_against = |step: &Option<Verdict>| step.is_some_and(|step| against.contains(&step));
    if steps.iter().any(is_against) {
        RelationOutcome::Fails
    } else {
        RelationOutcome::of_verdict(whole, wanted)
    }
}

/// Returns the values of a figure by repetition.
fn values(metric: Metric, line: &PointSummary) -> BTreeMap<u64, f64> {
    let value = |(repetition, run): (&u64, &results::Run)| Some((*repetition, metric.of(run)?));
    line.results.iter().filter_map(value).collect()
}

/// Returns the ratio of the second line to the first, in pairs of a repetition. A share may be 0 and has no ratio: the
/// ratio is then that of the exponentials of the shares, whose logarithm is the difference.
fn change(metric: Metric, first: &PointSummary, second: &PointSummary) -> Option<Comparison> {
    if metric == Metric::ThroughputTxnS {
        return ratio(&Rate::All.speeds(first), &Rate::All.speeds(second));
    }
    let scaled = |line: &PointSummary| -> BTreeMap<u64, f64> {
        let scaled = |value: f64| if metric.is_share() { value.exp() } else { value };
        values(metric, line).into_iter().map(|(repetition, value)| (repetition, scaled(value))).collect()
    };
    paired(&by_repetition(&scaled(first), &scaled(second)), Paired::SignedRanks, CONFIDENCE).ok()
}

/// The speeds of runs, by repetition.
type Speeds = BTreeMap<u64, Speed>;

/// Returns the ratio of the second to the first, in pairs of a repetition. Starved runs are compared by processor time.
fn ratio(first: &Speeds, second: &Speeds) -> Option<Comparison> {
    let pairs = by_repetition(first, second);
    Some(speed::compare_pairs(&pairs, Paired::SignedRanks, CONFIDENCE).ok()?.comparison)
}

/// Returns the values of the second and the first in each repetition that both have.
fn by_repetition<T: Copy>(first: &BTreeMap<u64, T>, second: &BTreeMap<u64, T>) -> Vec<(T, T)> {
    second.iter().filter_map(|(repetition, second)| Some((*second, *first.get(repetition)?))).collect()
}

/// Returns the products of the two speeds in each repetition that both have.
fn times(one: &Speeds, other: &Speeds) -> Speeds {
    let product =
        |(repetition, speed): (&u64, &Speed)| Some((*repetition, speed.times(other.get(repetition)?)));
    one.iter().filter_map(product).collect()
}

#[cfg(test)]
mod tests {
    use results::Counts;
    use serde_json::json;

    use super::*;
    use crate::json::tests::given;
    use crate::registry::tests::catalogue;
    use crate::sweep::Recipe;

    fn sweep() -> Sweep {
        let text = "title = \"a test\"\nworkload = \"ycsb\"\nschemes = [\"silo\", \"no_wait\"]\nrepeat = 8\n\
                    [vary]\n\"ycsb.theta\" = [0.5, 0.8, 0.9]\n[why]\n\"ycsb.theta\" = \"a test\"\n";
        Sweep::new(catalogue(), Recipe::parse(catalogue(), text).expect("legal"), "a build")
            .expect("possible")
    }

    /// Returns the results of eight runs of each scheme at each theta, with the throughputs and abort rates of
    /// `figures`.
    fn summary(sweep: &Sweep, figures: impl Fn(&str, f64, u64) -> (f64, f64)) -> Summary {
        let mut summary = Summary::default();
        for theta in ["0.5", "0.8", "0.9"] {
            for scheme in &sweep.schemes {
                let entry = |repetition: u64| {
                    let (throughput, aborts) = figures(scheme, theta.parse().unwrap(), repetition);
                    let p99_us = Some(1e6 / throughput).filter(|us| us.is_finite());
                    let value = json!({
                        "kind": "run", "throughput_txn_s": throughput, "abort_rate": aborts, "commits": 99,
                        "user_aborts": 1, "latency_us": p99_us.map(|us| json!({ "p99": us })),
                    });
                    (repetition, given(value))
                };
                let results = (0..8).map(entry).collect();
                summary.lines.push(PointSummary::new(vec![theta.to_owned()], scheme, results, None));
            }
        }
        summary
    }

    fn decide(rule: &str, figures: impl Fn(&str, f64, u64) -> (f64, f64)) -> Vec<RelationOutcome> {
        let text = format!("says = \"a test\"\n[rule]\n{rule}");
        let relation: Relation = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let sweep = sweep();
        let summary = summary(&sweep, figures);
        relation.decide(&sweep, &summary).iter().map(|instance| instance.outcome).collect()
    }

    /// Returns the factor that chance adds to a repetition: up to 2% or, on an unsuitable machine (`is_wild`), about
    /// three.
    fn noise(repetition: u64, scheme: &str, is_wild: bool) -> f64 {
        let up = (repetition + scheme.len() as u64).is_multiple_of(2);
        if is_wild {
            if up { 3.0 } else { 0.4 }
        } else {
            1.0 + if up { 0.002 } else { -0.002 } * repetition as f64
        }
    }

    const RATIO: &str =
        "kind = \"ratio\"\nof = { scheme = \"no_wait\" }\nto = { scheme = \"silo\" }\nlow = 1.1\nhigh = 1.5";

    #[test]
    fn ratios_trends_and_crossings_of_starved_runs_are_by_processor_time() {
        let decided = |rule: &str, share: f64| {
            let text = format!("says = \"a test\"\n[rule]\n{rule}");
            let relation: Relation = toml::from_str(&text).expect("a rule");
            let sweep = sweep();
            // If nothing else uses the processors, no_wait has 1.3 times silo's rate up to theta 0.8, and 0.7 times
            // above.
            let mut summary = summary(&sweep, |scheme, theta, repetition| {
                let ahead = if theta < 0.85 { 1.3 } else { 0.7 };
                let base = if scheme == "silo" { 100.0 } else { 100.0 * ahead * share };
                (base * noise(repetition, scheme, false), 0.0)
            });
            for line in summary.lines.iter_mut().filter(|line| line.scheme == "no_wait") {
                for run in line.results.values_mut() {
                    (run.cpu_share, run.is_starved, run.choices.workers) = (Some(share), true, 1);
                }
            }
            relation.decide(&sweep, &summary)
        };
        let crossing = "kind = \"crossing\"\nfirst = { scheme = \"no_wait\" }\nthen = { scheme = \"silo\" }\n\
                        axis = \"ycsb.theta\"\nlow = 0.8\nhigh = 0.9";
        for (rule, outcomes) in [
            (RATIO, vec![RelationOutcome::Holds, RelationOutcome::Holds, RelationOutcome::Fails]),
            (crossing, vec![RelationOutcome::Holds]),
        ] {
            let found = decided(rule, 0.7);
            assert!(found.iter().map(|at| at.outcome).eq(outcomes), "{rule}: {found:?}");
        }
    }

    #[test]
    fn a_ratio_holds_fails_or_stays_undecided() {
        let times = |factor: f64, is_wild: bool| {
            move |scheme: &str, _: f64, repetition: u64| {
                let base = if scheme == "silo" { 100.0 } else { 100.0 * factor };
                (base * noise(repetition, scheme, is_wild), 0.0)
            }
        };
        assert_eq!(
            decide(RATIO, times(1.3, false)),
            [RelationOutcome::Holds; 3],
            "at each theta that is left open"
        );
        assert_eq!(decide(RATIO, times(1.7, false)), [RelationOutcome::Fails; 3]);
        assert_eq!(decide(RATIO, times(0.9, false)), [RelationOutcome::Fails; 3]);
        assert_eq!(
            decide(RATIO, times(1.5, false)),
            [RelationOutcome::Undecided; 3],
            "the end lies in the interval"
        );
        assert_eq!(decide(RATIO, times(1.3, true)), [RelationOutcome::Undecided; 3], "too wide");
        let one = RATIO.replace("\"no_wait\"", "\"no_wait\", at = { \"ycsb.theta\" = 0.9 }");
        assert_eq!(decide(&one, times(1.3, false)), [RelationOutcome::Holds], "with silo at the same theta");
        let away = one.replace("0.9", "0.7");
        assert_eq!(decide(&away, times(1.3, false)), [], "nothing is there");
        let across = one.replace("\"silo\"", "\"silo\", at = { \"ycsb.theta\" = 0.5 }");
        assert_eq!(decide(&across, times(1.3, false)), [RelationOutcome::Holds], "both are given");
    }

    #[test]
    fn who_is_ahead_is_ahead_by_more_than_the_margin_of_sweeps() {
        let ahead = |factor: f64| {
            move |scheme: &str, _: f64, repetition: u64| {
                let base = if scheme == "silo" { 100.0 } else { 100.0 * factor };
                (base * (1.0 + repetition as f64 / 1e4), 0.0)
            }
        };
        let with = |bound: &str| RATIO.replace("low = 1.1\nhigh = 1.5", bound);
        assert_ne!(with("low = 1.0"), RATIO);
        assert_eq!(decide(&with("low = 1.0"), ahead(1.1)), [RelationOutcome::Holds; 3]);
        assert_eq!(
            decide(&with("low = 1.0"), ahead(1.03)),
            [RelationOutcome::Fails; 3],
            "a sweep calls that level"
        );
        assert_eq!(decide(&with("high = 1.0"), ahead(0.97)), [RelationOutcome::Fails; 3]);
        assert_eq!(decide(&with("high = 1.0"), ahead(0.9)), [RelationOutcome::Holds; 3]);
        assert_eq!(
            decide(&with("low = 1.01"), ahead(1.03)),
            [RelationOutcome::Holds; 3],
            "a figure of its own"
        );
    }

    /// Decides a ratio of the best throughputs over theta.
    fn best(bound: &str, figures: impl Fn(&str, f64) -> f64) -> Vec<RelationInstance> {
        let rule = format!(
            "says = \"a test\"\n[rule]\nkind = \"ratio\"\nof = {{ scheme = \"no_wait\" }}\nto = {{ scheme = \
             \"silo\" }}\nbest_over = \"ycsb.theta\"\n{bound}"
        );
        let relation: Relation = toml::from_str(&rule).unwrap();
        let sweep = sweep();
        let with_noise = |scheme: &str, theta: f64, repetition: u64| {
            (figures(scheme, theta) * (1.0 + repetition as f64 / 1e4), 0.0)
        };
        relation.decide(&sweep, &summary(&sweep, with_noise))
    }

    #[test]
    fn the_best_of_an_axis_is_open_where_it_lies_at_the_end() {
        let peak = |at: f64, theta: f64| 100.0 - 100.0 * (theta - at).abs();
        let half = |scheme: &str, at: f64, theta: f64| {
            if scheme == "silo" { peak(0.8, theta) } else { peak(at, theta) / 2.0 }
        };
        let found = best("high = 0.6", |scheme, theta| half(scheme, 0.8, theta));
        assert_eq!(
            (found.len(), found[0].outcome),
            (1, RelationOutcome::Holds),
            "one place, the best of each: {found:?}"
        );
        assert!(found[0].at.is_empty() && (found[0].estimate.unwrap() - 0.5).abs() < 1e-9);
        let rising = best("high = 0.6", |scheme, theta| half(scheme, 0.9, theta));
        assert_eq!(
            rising[0].outcome,
            RelationOutcome::Undecided,
            "more of the axis might raise it: {rising:?}"
        );
        assert!(rising[0].interval.is_some_and(|interval| interval.high.is_infinite()));
        let level = |scheme: &str, theta: f64| half(scheme, 0.8, theta.min(0.8)) + theta / 1e3;
        assert_eq!(best("high = 0.6", level)[0].outcome, RelationOutcome::Holds, "it has levelled");
        let below = best("low = 0.4", |scheme, theta| if scheme == "silo" { peak(0.9, theta) } else { 50.0 });
        assert_eq!(
            below[0].outcome,
            RelationOutcome::Undecided,
            "what it is compared with may be higher: {below:?}"
        );
    }

    #[test]
    fn a_peak_is_where_a_scheme_is_best_and_open_at_the_ends_of_the_axis() {
        let rule = |low: f64, high: f64| {
            format!(
                "kind = \"peak\"\nof = {{ scheme = \"silo\" }}\naxis = \"ycsb.theta\"\nlow = {low}\nhigh = {high}"
            )
        };
        let at = |peak: f64| {
            move |_: &str, theta: f64, repetition: u64| {
                ((100.0 - 100.0 * (theta - peak).abs()) * (1.0 + repetition as f64 / 1e4), 0.0)
            }
        };
        assert_eq!(decide(&rule(0.75, 0.85), at(0.8)), [RelationOutcome::Holds]);
        assert_eq!(decide(&rule(0.85, 0.95), at(0.8)), [RelationOutcome::Fails]);
        assert_eq!(decide(&rule(0.75, 0.95), at(0.9)), [RelationOutcome::Undecided], "it may be beyond");
        assert_eq!(decide(&rule(0.75, 0.85), at(0.9)), [RelationOutcome::Fails], "wherever beyond it is");
        assert_eq!(decide(&rule(0.45, 0.55), at(0.5)), [RelationOutcome::Undecided], "it may be before");
        let level = |_: &str, theta: f64, repetition: u64| {
            (if theta < 0.75 { 50.0 } else { 100.0 } * (1.0 + repetition as f64 / 1e4), 0.0)
        };
        assert_eq!(decide(&rule(0.75, 0.85), level), [RelationOutcome::Undecided], "as good as the next");
    }

    #[test]
    fn a_gain_is_compared_with_a_gain_elsewhere() {
        let gain = |at: &str, against: &str| {
            let cell = |scheme: &str, theta: &str| {
                format!("{{ scheme = \"{scheme}\", at = {{ \"ycsb.theta\" = {theta} }} }}")
            };
            format!(
                "kind = \"ratio\"\nof = {}\nto = {}\nlow = 1.9\nhigh = 2.1\n[rule.against]\nof = {}\nto = {}",
                cell("no_wait", at),
                cell("silo", at),
                cell("no_wait", against),
                cell("silo", against)
            )
        };
        let figures = |scheme: &str, theta: f64, repetition: u64| {
            let gain = if theta > 0.85 { 6.0 } else { 3.0 };
            (if scheme == "silo" { 10.0 } else { 10.0 * gain } * noise(repetition, "silo", false), 0.0)
        };
        assert_eq!(decide(&gain("0.9", "0.5"), figures), [RelationOutcome::Holds]);
        assert_eq!(decide(&gain("0.5", "0.9"), figures), [RelationOutcome::Fails]);
        assert_eq!(decide(&gain("0.8", "0.5"), figures), [RelationOutcome::Fails]);
        assert_eq!(
            decide(&gain("0.9", "0.7"), figures),
            [RelationOutcome::Undecided],
            "nothing is there to compare with"
        );
    }

    #[test]
    fn of_one_type_only_its_commits_count() {
        let of_type = |name: &str| {
            format!("{}\nof_type = \"{name}\"", RATIO.replace("low = 1.1\nhigh = 1.5", "low = 1.5"))
        };
        let relation: Relation =
            toml::from_str(&format!("says = \"a test\"\n[rule]\n{}", of_type("update"))).unwrap();
        let sweep = sweep();
        let mut summary = summary(&sweep, |_, _, _| (100.0, 0.0));
        for line in &mut summary.lines {
            let updates = if line.scheme == "silo" { 10 } else { 20 };
            for run in line.results.values_mut() {
                run.measured_s = 2.0;
                run.by_type = [("update", updates), ("read", 200 - updates)]
                    .map(|(name, commits)| (name.to_owned(), Counts { commits, ..Counts::default() }))
                    .into();
            }
        }
        let found = relation.decide(&sweep, &summary);
        assert!(
            found.iter().all(
                |one| one.outcome == RelationOutcome::Holds && (one.estimate.unwrap() - 2.0).abs() < 1e-9
            ),
            "{found:?}"
        );
        assert_eq!(
            decide(RATIO, |_, _, repetition| (noise(repetition, "silo", false), 0.0)),
            [RelationOutcome::Fails; 3]
        );
    }

    #[test]
    fn few_repetitions_decide_nothing() {
        let relation: Relation = toml::from_str(&format!("says = \"a test\"\n[rule]\n{RATIO}")).unwrap();
        let sweep = sweep();
        let mut summary = summary(&sweep, |scheme, _, _| (if scheme == "silo" { 100.0 } else { 130.0 }, 0.0));
        for line in &mut summary.lines {
            line.results.retain(|repetition, _| *repetition < 4);
        }
        let found = relation.decide(&sweep, &summary);
        assert_eq!(found[0].outcome, RelationOutcome::Undecided);
        assert!((found[0].estimate.unwrap() - 1.3).abs() < 1e-9);
        summary.lines[0].results.clear();
        assert_eq!(relation.decide(&sweep, &summary)[0].estimate, None, "nothing was measured");
    }

    #[test]
    fn a_figure_is_held_to_its_range() {
        let rule = |metric: &str, range: &str| {
            format!("kind = \"figure\"\nmetric = \"{metric}\"\nof = {{ scheme = \"silo\" }}\n{range}")
        };
        let figures = |_: &str, theta: f64, _: u64| (1e6, theta);
        let aborts = |range: &str| decide(&rule("abort_rate", range), figures);
        assert_eq!(
            aborts("low = 0.7"),
            [RelationOutcome::Fails, RelationOutcome::Holds, RelationOutcome::Holds]
        );
        assert_eq!(
            aborts("low = 0.4\nhigh = 0.6"),
            [RelationOutcome::Holds, RelationOutcome::Fails, RelationOutcome::Fails]
        );
        assert_eq!(
            decide(&rule("rollback_rate", "low = 0.01\nhigh = 0.01"), figures),
            [RelationOutcome::Holds; 3]
        );
        assert_eq!(decide(&rule("latency_us_p99", "high = 1.1"), figures), [RelationOutcome::Holds; 3]);
        let wide =
            |_: &str, _: f64, repetition: u64| (1e6, if repetition.is_multiple_of(2) { 0.1 } else { 0.9 });
        assert_eq!(decide(&rule("abort_rate", "low = 0.5"), wide), [RelationOutcome::Undecided; 3]);
    }

    #[test]
    fn a_trend_goes_its_way_and_never_back() {
        let rule = |metric: &str, goes: &str| {
            format!(
                "kind = \"trend\"\nmetric = \"{metric}\"\nof = {{ scheme = \"silo\" }}\naxis = \"ycsb.theta\"\n\
                 goes = \"{goes}\""
            )
        };
        let along = |at: [f64; 3]| {
            move |scheme: &str, theta: f64, repetition: u64| {
                let value = if theta < 0.6 {
                    at[0]
                } else if theta < 0.85 {
                    at[1]
                } else {
                    at[2]
                };
                (value * noise(repetition, scheme, false), value / 1_000.0)
            }
        };
        let throughput = |goes: &str, at: [f64; 3]| decide(&rule("throughput_txn_s", goes), along(at));
        assert_eq!(throughput("down", [100.0, 90.0, 50.0]), [RelationOutcome::Holds]);
        assert_eq!(throughput("down", [100.0, 130.0, 50.0]), [RelationOutcome::Fails], "up on the way");
        assert_eq!(throughput("down", [100.0, 100.5, 100.0]), [RelationOutcome::Fails], "it stays");
        assert_eq!(throughput("up", [100.0, 90.0, 50.0]), [RelationOutcome::Fails]);
        assert_eq!(throughput("level", [100.0, 100.5, 100.0]), [RelationOutcome::Holds]);
        assert_eq!(throughput("level", [100.0, 130.0, 100.0]), [RelationOutcome::Fails]);
        let wild = |scheme: &str, theta: f64, repetition: u64| {
            (noise(repetition, if theta > 0.85 { "other" } else { scheme }, true), 0.0)
        };
        assert_eq!(decide(&rule("throughput_txn_s", "level"), wild), [RelationOutcome::Undecided]);
        // The share rises from 0 to a few percent: there is no ratio to 0.
        assert_eq!(decide(&rule("abort_rate", "up"), along([0.0, 20.0, 60.0])), [RelationOutcome::Holds]);
        assert_eq!(
            decide(&rule("abort_rate", "up"), along([0.0, 1.0, 2.0])),
            [RelationOutcome::Fails],
            "a fifth of a point"
        );
    }

    #[test]
    fn a_crossing_lies_in_its_range() {
        let rule = |low: f64, high: f64| {
            format!(
                "kind = \"crossing\"\nfirst = {{ scheme = \"silo\" }}\nthen = {{ scheme = \"no_wait\" }}\n\
                 axis = \"ycsb.theta\"\nlow = {low}\nhigh = {high}"
            )
        };
        let crossing_at = |at: f64| {
            move |scheme: &str, theta: f64, repetition: u64| {
                let is_ahead = (scheme == "silo") == (theta < at);
                (if is_ahead { 120.0 } else { 100.0 } * noise(repetition, scheme, false), 0.0)
            }
        };
        assert_eq!(decide(&rule(0.5, 0.9), crossing_at(0.7)), [RelationOutcome::Holds]);
        let found = [(0.5, Verdict::Faster), (0.8, Verdict::Unclear), (0.9, Verdict::Slower)];
        let between = crossing(Vec::new(), &found, (0.5, 0.9)).interval.expect("both sides are known");
        assert!((between.low - 0.5).abs() < 1e-9 && (between.high - 0.9).abs() < 1e-9);
        assert_eq!(decide(&rule(0.5, 0.8), crossing_at(0.85)), [RelationOutcome::Fails]);
        assert_eq!(decide(&rule(0.8, 0.9), crossing_at(0.7)), [RelationOutcome::Fails]);
        let wild = |scheme: &str, _: f64, repetition: u64| (noise(repetition, scheme, true), 0.0);
        assert_eq!(decide(&rule(0.5, 0.9), wild), [RelationOutcome::Undecided]);
    }

    #[test]
    fn the_hottest_share_is_computed_and_counted() {
        let compute = |published: f64, draws: &str| {
            let text = format!(
                "says = \"a test\"\n[rule]\nkind = \"hottest_share\"\nrecords = 1000000\ntheta = 0.99\nranks = 1\n\
                 published = {published}\ntolerance = 0.02\n{draws}"
            );
            let relation: Relation = toml::from_str(&text).unwrap();
            relation.compute(1)[0].clone()
        };
        let computed = compute(0.065, "");
        assert_eq!(computed.outcome, RelationOutcome::Holds);
        // The value is that of an independent computation: the zeta function of a million terms is 15.392.
        assert!((computed.estimate.unwrap() - 1.0 / 15.392).abs() < 1e-5);
        assert_eq!(compute(0.07, "").outcome, RelationOutcome::Fails);
        assert_eq!(compute(0.065, "draws = 1000000").outcome, RelationOutcome::Holds);
        assert_eq!(compute(0.07, "draws = 1000000").outcome, RelationOutcome::Fails);
        assert_eq!(compute(0.065, "draws = 1000").outcome, RelationOutcome::Undecided, "too few");
    }
}
