//! The speed of runs, and the basis on which they are compared if other work took processor time from their workers.
//!
//! Commits a second of wall time compare two runs only if the workers of both got the processor time that they asked
//! for. A run beside a busy neighbour commits less, and then its ratio to another run depends on the neighbour. A run
//! is *starved* if its workers got less than 95% of the processor time that they asked for. If a run is starved, the
//! ratio is of commits a second of processor time: of the throughput divided by the share that the workers got.
//! Comparisons and tables take their ratios from here, so that the same runs have the same ratio in both.
//!
//! The correction is not exact, and repetitions do not help: the error is the same in each repetition. Therefore, the
//! interval of such a ratio widens with the size of the correction. The correction divides by the share to the power of
//! `e`. The interval reaches from `e = 0.9` to `e = 1.1` for runs of one worker (a neighbour takes caches, too), and to
//! `e = 2` for runs of several workers: a worker that does not run delays other workers, which use their own processor
//! time to wait for it. If both sides are starved alike, the correction does not move the ratio, and the interval does
//! not widen.
//!
//! Runs that wait by design (for a clock, a person, a network or a device) do not turn more processor time into more
//! commits. Their ratio is by wall time, and its interval also includes the ratio by processor time: the true ratio is
//! somewhere between the two.

pub use results::Basis;
use results::{Choices, Run};
use stats::{CompareError, Comparison, Interval, Paired, Spread, paired, unpaired};

use crate::measure::STARVED_BELOW;

/// The least exponent `e` of the correction.
const LEAST: f64 = 0.9;
/// The greatest exponent `e` of the correction, for runs of a single worker.
const MOST_ALONE: f64 = 1.1;
/// The greatest exponent `e` of the correction, for runs of several workers.
const MOST_TOGETHER: f64 = 2.0;

/// The speed of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Speed {
    /// Commits a second of wall time. A run without a commit counts as a run with one commit, since it would have no
    /// ratio otherwise.
    wall_txn_s: f64,
    /// The share that the workers got of the processor time that they asked for and that the cores could give them. It
    /// is below 1 if other work took some.
    share: f64,
    is_starved: bool,
    /// The wait that the run has by design; `None` if it has none.
    waits: Option<&'static str>,
    has_many_workers: bool,
    has_commits: bool,
}

/// The comparison of two series of runs, with its basis.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    /// The basis of the ratios.
    pub(crate) basis: Basis,
    /// The comparison from which verdicts follow. Its interval is widened as the basis requires.
    pub(crate) comparison: Comparison,
    /// The comparison by wall time.
    pub(crate) by_wall: Comparison,
    /// The ratio by processor time, unless no run is starved.
    pub(crate) ratio_processor: Option<f64>,
    /// The least and the greatest ratio of the allowed corrections, which repetitions do not bring closer. Both are
    /// equal if the basis is wall time.
    pub(crate) centres: (f64, f64),
    /// The wait that runs have by design, if it is the reason why the basis is [`Basis::Both`].
    pub(crate) waits: Option<&'static str>,
}

impl Speed {
    /// Returns the speed of a run; `None` if the run is no result.
    pub(crate) fn of(run: &Run) -> Option<Self> {
        let throughput = run.throughput_txn_s?;
        let seconds = if run.measured_s > 0.0 { run.measured_s } else { 1.0 };
        let wall_txn_s = if throughput > 0.0 { throughput } else { 1.0 / seconds };
        let (workers, cores) = (run.choices.workers, run.machine.cores);
        // More workers than cores take turns. This is no other work: together they cannot get more than the cores.
        let crowd = if cores > 0 { workers as f64 / cores as f64 } else { 1.0 };
        let is_given = run.is_target_sustained == Some(true);
        let share = run.cpu_share.filter(|share| *share > 0.0 && !is_given).unwrap_or(1.0);
        let share = (share * crowd.max(1.0)).min(1.0);
        Some(Self {
            wall_txn_s,
            share,
            is_starved: share < STARVED_BELOW,
            waits: waits(&run.choices),
            has_many_workers: workers > 1,
            has_commits: throughput > 0.0,
        })
    }

    /// Returns the speed of a run in commits of one type of transaction; `None` if the run has no such type or is no
    /// result.
    pub(crate) fn of_type(run: &Run, name: &str) -> Option<Self> {
        let commits = run.by_type.get(name).filter(|_| run.measured_s > 0.0)?.commits;
        let wall_txn_s = commits.max(1) as f64 / run.measured_s;
        Some(Self { wall_txn_s, has_commits: commits > 0, ..Self::of(run)? })
    }

    /// Returns the product of two speeds, for ratios of ratios. Each factor is corrected by the share of its own run.
    pub(crate) fn times(&self, other: &Self) -> Self {
        Self {
            wall_txn_s: self.wall_txn_s * other.wall_txn_s,
            share: self.share * other.share,
            is_starved: self.is_starved || other.is_starved,
            waits: self.waits.or(other.waits),
            has_many_workers: self.has_many_workers || other.has_many_workers,
            has_commits: self.has_commits && other.has_commits,
        }
    }

    /// Returns the commits a second as a single number for use in ratios: of processor time if the run is starved and
    /// does not wait by design, else of wall time.
    pub(crate) fn in_ratios(&self) -> f64 {
        if self.is_starved && self.waits.is_none() { self.by_processor() } else { self.wall_txn_s }
    }

    /// Whether other work took so much processor time that ratios by wall time are not valid.
    pub(crate) fn is_starved(&self) -> bool {
        self.is_starved
    }

    /// Whether the run committed anything.
    pub(crate) fn has_commits(&self) -> bool {
        self.has_commits
    }

    /// Commits a second of wall time.
    pub(crate) fn by_wall(&self) -> f64 {
        self.wall_txn_s
    }

    /// Returns the commits a second of processor time: those that a second of wall time would have had if the workers
    /// had got all the processor time that they asked for.
    pub(crate) fn by_processor(&self) -> f64 {
        self.corrected(1.0)
    }

    fn corrected(&self, power: f64) -> f64 {
        self.wall_txn_s / self.share.powf(power)
    }

    /// Returns the least speed that the run may have had without other work.
    fn least(&self) -> f64 {
        if self.waits.is_some() { self.wall_txn_s } else { self.corrected(LEAST) }
    }
}

/// Compares the first run of each pair with the second.
///
/// # Errors
/// Those of [`paired`](stats::paired()).
pub(crate) fn compare_pairs(
    pairs: &[(Speed, Speed)],
    by: Paired,
    confidence: f64,
) -> Result<Judged, CompareError> {
    let all: Vec<&Speed> = pairs.iter().flat_map(|(a, b)| [a, b]).collect();
    judge(&all, |of_a, of_b| {
        let values: Vec<(f64, f64)> = pairs.iter().map(|(a, b)| (of_a(a), of_b(b))).collect();
        paired(&values, by, confidence)
    })
}

/// Compares two series of runs that do not form pairs.
///
/// # Errors
/// Those of [`unpaired`](stats::unpaired()).
pub(crate) fn compare_apart(a: &[Speed], b: &[Speed], confidence: f64) -> Result<Judged, CompareError> {
    let all: Vec<&Speed> = a.iter().chain(b).collect();
    judge(&all, |of_a, of_b| {
        let [a, b] = [(a, of_a), (b, of_b)].map(|(runs, of)| runs.iter().map(of).collect::<Vec<f64>>());
        unpaired(&a, &b, confidence)
    })
}

/// Returns the basis on which these runs are compared.
fn basis(runs: &[&Speed]) -> Basis {
    if !runs.iter().any(|run| run.is_starved()) {
        Basis::WallTime
    } else if runs.iter().any(|run| run.waits.is_some()) {
        Basis::Both
    } else {
        Basis::ProcessorTime
    }
}

/// A function that makes a number of a run's speed.
type Of<'f> = &'f dyn Fn(&Speed) -> f64;

fn judge(
    runs: &[&Speed],
    compare: impl Fn(Of<'_>, Of<'_>) -> Result<Comparison, CompareError>,
) -> Result<Judged, CompareError> {
    let basis = basis(runs);
    let by_wall = compare(&Speed::by_wall, &Speed::by_wall)?;
    if basis == Basis::WallTime {
        let centres = (by_wall.ratio, by_wall.ratio);
        return Ok(Judged {
            basis,
            comparison: by_wall,
            by_wall,
            ratio_processor: None,
            centres,
            waits: None,
        });
    }
    let most = if runs.iter().any(|run| run.has_many_workers) { MOST_TOGETHER } else { MOST_ALONE };
    let at = |power: f64| move |run: &Speed| run.corrected(power);
    let by_processor = compare(&at(1.0), &at(1.0))?;
    let ends = if basis == Basis::Both {
        // It is unknown which of the two runs waits more, so each run may need the least or the greatest correction.
        [compare(&Speed::least, &at(most))?, compare(&at(most), &Speed::least)?]
    } else {
        [compare(&at(LEAST), &at(LEAST))?, compare(&at(most), &at(most))?]
    };
    let middle = if basis == Basis::Both { by_wall } else { by_processor };
    let all = [&middle, &ends[0], &ends[1]];
    let least = |of: fn(&Comparison) -> f64| all.iter().map(|one| of(one)).fold(f64::INFINITY, f64::min);
    let greatest = |of: fn(&Comparison) -> f64| all.iter().map(|one| of(one)).fold(0.0, f64::max);
    let centres = (least(|one| one.ratio), greatest(|one| one.ratio));
    let interval = Interval {
        low: least(|one| one.interval.low),
        high: greatest(|one| one.interval.high),
        confidence: least(|one| one.interval.confidence),
    };
    // A difference whose direction depends on the chosen correction is no evidence.
    let is_one_sided = centres.0 > 1.0 || centres.1 < 1.0;
    let p_value = if is_one_sided { greatest(|one| one.p_value) } else { 1.0 };
    let comparison = Comparison { interval, p_value, ..middle };
    let waits = runs.iter().find_map(|run| run.waits);
    Ok(Judged { basis, comparison, by_wall, ratio_processor: Some(by_processor.ratio), centres, waits })
}

/// The ratios of pairs of runs, as a spread: for pairs too few for an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratios {
    /// The basis of the ratios.
    pub basis: Basis,
    /// The ratios of the first run of each pair to the second. With [`Basis::Both`], the spread reaches from the least
    /// to the greatest ratio by wall time or by processor time, and its median is by wall time.
    pub spread: Spread,
    /// The ratios by wall time.
    pub by_wall: Spread,
}

/// Returns the ratios of pairs of runs; `None` if there is no pair.
pub(crate) fn ratios(pairs: &[(Speed, Speed)]) -> Option<Ratios> {
    let basis = basis(&pairs.iter().flat_map(|(a, b)| [a, b]).collect::<Vec<_>>());
    let of = |speed: fn(&Speed) -> f64| Spread::of(pairs.iter().map(|(a, b)| speed(a) / speed(b)));
    let (by_wall, by_processor) = (of(Speed::by_wall)?, of(Speed::by_processor)?);
    let spread = match basis {
        Basis::WallTime => by_wall,
        Basis::ProcessorTime => by_processor,
        Basis::Both => {
            let (min, max) = (by_wall.min.min(by_processor.min), by_wall.max.max(by_processor.max));
            Spread { median: by_wall.median, min, max }
        }
    };
    Some(Ratios { basis, spread, by_wall })
}

/// Returns the median ratio of pairs of runs; `None` if there is no pair.
pub(crate) fn median_ratio(pairs: &[(Speed, Speed)]) -> Option<f64> {
    let basis = basis(&pairs.iter().flat_map(|(a, b)| [a, b]).collect::<Vec<_>>());
    let of = if basis == Basis::ProcessorTime { Speed::by_processor } else { Speed::by_wall };
    let logs = pairs.iter().map(|(a, b)| of(a).ln() - of(b).ln());
    Some(Spread::of(logs)?.median.exp())
}

/// Returns the wait that a run has by design; `None` if it has none. The commits of a run that waits do not grow in
/// proportion to its processor time.
fn waits(run: &Choices) -> Option<&'static str> {
    let is_above_zero = |setting: &str| run.number(setting).is_some_and(|us| us > 0.0);
    let has_terminals =
        run.settings.get("tpcc.terminals").is_some_and(|value| ["on", "true"].contains(&&*value.to_string()));
    if run.arrivals != "closed" {
        Some("requests arrive by the clock")
    } else if run.mode == "interactive" || run.rtt_us > 0 {
        Some("clients wait for messages")
    } else if has_terminals {
        Some("people at terminals think")
    } else if run.is_off("run.durability", "none") {
        Some("the log has a thread of its own, and its device is waited for")
    } else if is_above_zero("run.pause_us") {
        Some("transactions pause before they commit")
    } else if ["backoff", "fixed", "climb"].contains(&run.retry.as_str()) {
        Some("clients pause after aborts")
    } else {
        None
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::json::tests::given;

    fn run(throughput: f64, share: f64, workers: u64) -> Value {
        json!({
            "throughput_txn_s": throughput, "cpu_share": share, "starved": share < 0.95, "workers": workers,
            "measured_s": 0.5, "retry": "same", "mode": "procedure", "rtt_us": 0, "arrivals": "closed",
            "settings": { "run.pause_us": 0, "run.durability": "none" }, "machine": { "cores": 2 },
        })
    }

    impl Speed {
        /// Returns the speed of a run that got all the processor time that it asked for.
        pub(crate) fn undisturbed(throughput: f64) -> Self {
            speed(throughput, 1.0, 1)
        }

        /// Returns the speed of a run of one worker that got this share of the processor time.
        pub(crate) fn disturbed(throughput: f64, share: f64) -> Self {
            speed(throughput, share, 1)
        }
    }

    /// Returns a pair of undisturbed runs with this ratio.
    pub(crate) fn pair(ratio: f64) -> (Speed, Speed) {
        (Speed::undisturbed(1_000.0 * ratio), Speed::undisturbed(1_000.0))
    }

    fn speed(throughput: f64, share: f64, workers: u64) -> Speed {
        Speed::of(&given(run(throughput, share, workers))).expect("a result")
    }

    /// Returns six pairs, made by `of` from factors between 1.001 and 1.006.
    fn six(of: impl Fn(f64) -> (Speed, Speed)) -> Vec<(Speed, Speed)> {
        (1..=6).map(|nth| of(1.0 + 0.001 * f64::from(nth))).collect()
    }

    fn judged(pairs: &[(Speed, Speed)]) -> Judged {
        compare_pairs(pairs, Paired::SignedRanks, 0.9).expect("comparable")
    }

    #[test]
    fn a_busy_neighbour_does_not_make_a_run_slower() {
        for workers in [1, 2] {
            let pairs = six(|by| (speed(506.0 * by, 0.5, workers), speed(1_000.0, 1.0, workers)));
            let Judged { basis, comparison, by_wall, .. } = judged(&pairs);
            assert_eq!(basis, Basis::ProcessorTime);
            assert!(
                by_wall.interval.high < 0.52 && (comparison.ratio - 1.012).abs() < 0.01,
                "{comparison:?}"
            );
            assert!(comparison.interval.contains(1.0) && comparison.p_value > 0.9, "{comparison:?}");
        }
    }

    #[test]
    fn without_starvation_a_ratio_is_by_wall_time_and_as_narrow_as_it_was() {
        let pairs = six(|by| (speed(900.0 * by, 0.96, 2), speed(1_000.0, 1.0, 2)));
        let Judged { basis, comparison, by_wall, centres, .. } = judged(&pairs);
        assert_eq!((basis, comparison, centres.0), (Basis::WallTime, by_wall, by_wall.ratio));
    }

    #[test]
    fn intervals_widen_as_far_as_the_correction_moves_and_further_for_several_workers() {
        let width = |share: f64, workers: u64| {
            let interval =
                judged(&six(|by| (speed(1_000.0 * by, share, workers), speed(1_000.0, 1.0, workers))))
                    .comparison
                    .interval;
            interval.high / interval.low
        };
        assert!(
            width(1.0, 1) < width(0.9, 1) && width(0.9, 1) < width(0.5, 1) && width(0.5, 1) < width(0.5, 2)
        );
        // If both sides are starved alike, the correction does not move the ratio.
        let alike = judged(&six(|by| (speed(800.0 * by, 0.5, 2), speed(1_000.0, 0.5, 2))));
        assert!(
            alike.basis == Basis::ProcessorTime
                && (alike.comparison.ratio - alike.by_wall.ratio).abs() < 1e-9
        );
        assert!(alike.comparison.interval.high < 0.81, "{alike:?}");
    }

    #[test]
    fn a_real_slowdown_beside_a_busy_neighbour_stays_one() {
        let pairs = six(|by| (speed(100.0 * by, 0.5, 2), speed(1_000.0, 1.0, 2)));
        let Judged { comparison, .. } = judged(&pairs);
        assert!(comparison.interval.high < 0.5 && comparison.p_value < 0.1, "{comparison:?}");
    }

    #[test]
    fn of_runs_that_wait_both_ratios_are_kept() {
        let waiting = [
            ("mode", json!("interactive")),
            ("rtt_us", json!(50)),
            ("arrivals", json!("poisson")),
            ("retry", json!("backoff")),
            ("settings", json!({ "run.durability": "group" })),
            ("settings", json!({ "run.pause_us": 20 })),
            ("settings", json!({ "tpcc.terminals": "on" })),
        ];
        for (name, value) in waiting {
            let of = |throughput: f64, share: f64| {
                let mut run = run(throughput, share, 2);
                run[name] = value.clone();
                Speed::of(&given(run)).expect("a result")
            };
            let Judged { basis, comparison, waits, .. } =
                judged(&six(|by| (of(900.0 * by, 0.6), of(1_000.0, 1.0))));
            assert_eq!(basis, Basis::Both, "{name}");
            assert!(
                waits.is_some() && comparison.interval.contains(0.91) && comparison.interval.contains(1.5)
            );
            assert!((comparison.ratio - 0.903).abs() < 0.01, "waiting is not divided away: {comparison:?}");
            let pair = [(of(900.0, 0.6), of(1_000.0, 1.0))];
            let ratios = ratios(&pair).expect("a pair");
            assert_eq!(ratios.spread, Spread { median: 0.9, min: 0.9, max: 1.5 });
            // No allowed correction for a neighbour explains a run that is ten times slower by wall time.
            let slower = judged(&six(|by| (of(100.0 * by, 0.6), of(1_000.0, 1.0))));
            assert!(slower.comparison.interval.high < 0.5, "{name}: {slower:?}");
        }
    }

    #[test]
    fn a_rate_that_was_sustained_needs_no_correction() {
        let sustained = |throughput: f64, share: f64| {
            let mut run = run(throughput, share, 1);
            run["arrivals"] = "poisson".into();
            run["target_sustained"] = true.into();
            Speed::of(&given(run)).expect("a result")
        };
        let judged = judged(&six(|by| (sustained(1_000.0 * by, 0.5), sustained(1_000.0, 1.0))));
        assert!(judged.basis == Basis::WallTime && judged.comparison.interval.high < 1.01, "{judged:?}");
    }

    #[test]
    fn ratios_of_pairs_have_the_same_basis_as_their_comparison() {
        let starved = ratios(&[(speed(500.0, 0.5, 2), speed(1_000.0, 1.0, 2))]).expect("a pair");
        assert_eq!(
            (starved.basis, starved.spread.median, starved.by_wall.median),
            (Basis::ProcessorTime, 1.0, 0.5)
        );
        let quiet = ratios(&[(speed(500.0, 0.96, 2), speed(1_000.0, 1.0, 2))]).expect("a pair");
        assert_eq!((quiet.basis, quiet.spread.median), (Basis::WallTime, 0.5));
        assert_eq!(ratios(&[]), None);
    }

    #[test]
    fn workers_that_take_turns_on_too_few_cores_are_not_taken_for_starved() {
        assert!(!speed(1_000.0, 0.5, 4).is_starved() && speed(1_000.0, 0.3, 4).is_starved());
        assert!((speed(1_000.0, 0.25, 4).by_processor() - 2_000.0).abs() < 1e-9);
    }

    #[test]
    fn a_run_without_a_commit_has_a_ratio_and_one_without_a_result_has_none() {
        assert!((speed(0.0, 1.0, 2).by_wall() - 2.0).abs() < 1e-12);
        assert_eq!(Speed::of(&Run::default()), None);
    }

    #[test]
    fn a_ratio_of_ratios_is_corrected_by_the_shares_of_all_four_runs() {
        let quiet = (speed(200.0, 1.0, 1), speed(100.0, 1.0, 1));
        let busy = (speed(100.0, 0.5, 1), speed(100.0, 1.0, 1));
        let products = six(|by| {
            let first = Speed { wall_txn_s: quiet.0.wall_txn_s * by, ..quiet.0 };
            (first.times(&busy.1), quiet.1.times(&busy.0))
        });
        let Judged { basis, comparison, by_wall, .. } = judged(&products);
        assert_eq!(basis, Basis::ProcessorTime);
        assert!(
            (by_wall.ratio - 2.0).abs() < 0.02 && (comparison.ratio - 1.0).abs() < 0.01,
            "{comparison:?}"
        );
        assert!((median_ratio(&products).expect("pairs") - comparison.ratio).abs() < 0.01);
    }

    #[test]
    fn the_speed_of_a_type_is_that_of_its_commits() {
        let mut run = run(1_000.0, 0.5, 1);
        run["by_type"] = json!({ "payment": { "commits": 50 }, "delivery": { "commits": 0 } });
        let of = |name: &str| Speed::of_type(&given(run.clone()), name).expect("a type of the run");
        assert_eq!((of("payment").by_wall(), of("payment").in_ratios()), (100.0, 200.0));
        assert_eq!((of("delivery").by_wall(), of("delivery").has_commits()), (2.0, false));
        assert_eq!(Speed::of_type(&given(run.clone()), "audit"), None);
        run["throughput_txn_s"] = Value::Null;
        assert_eq!(Speed::of_type(&given(run), "payment"), None, "a run that failed its check is no result");
    }
}
