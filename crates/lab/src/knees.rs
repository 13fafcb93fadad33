//! Knees: the first numbers of cores from which the next number helps little, and what takes the time of the cores that
//! help little.

use std::collections::BTreeMap;

use results::Run;
use runs::Phase;

use crate::simulation::PARTS;
use crate::text::percent;

/// The share of what more cores would add if all cores kept their rate. If they add less, the curve has a knee.
const HELPS: f64 = 0.5;

/// Returns the position of the knee of a curve of throughput by the number of cores: the first point from which the
/// next one adds less than half of what it would add if all cores kept their rate. `None` if each adds more.
pub(crate) fn knee(points: &[(f64, f64)]) -> Option<usize> {
    points.windows(2).position(|pair| {
        let [(cores, rate), (more_cores, more_rate)] = [pair[0], pair[1]];
        more_rate - rate < HELPS * (more_cores - cores) * rate / cores
    })
}

/// The knee of a scheme: why a transaction takes more of a core's time on the next number of cores.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Knee {
    /// The numbers of cores at the knee and after it.
    cores: [u64; 2],
    /// The time of a core for a commit at the knee and after it, in microseconds.
    core_us: [f64; 2],
    /// The part of the machine in which this time grows most, and its share of the growth; `None` for real machines.
    part: Option<(&'static str, f64)>,
    /// The phase of a transaction in which this time grows most, and its share of the growth; `None` for schemes that
    /// tell no phases.
    phase: Option<(&'static str, f64)>,
    /// The part of the database that was waited for longest after the knee; `None` for real machines.
    hottest: Option<String>,
}

impl Knee {
    /// The definition of the word, for readers of a table.
    pub(crate) const DEFINITION: &str = "knees: the first number of cores from which the next one adds less than half \
                                         of what it would add if all cores kept their rate";

    /// The meaning of the columns.
    pub(crate) const LEGEND: &str = "us/txn: the time of a core for a commit; part, phase: where it grows most, and \
                                     the share of the growth";

    /// The heads of the columns of [`cells`](Self::cells).
    pub(crate) const HEADS: [&str; 9] =
        ["knee", "next", "us/txn", "next us/txn", "part", "of growth", "phase", "of growth", "hottest part"];

    /// Returns the knee of a scheme, if it has one. Each number of cores has one run; runs without commits are left
    /// out.
    pub(crate) fn of<'r>(runs: impl IntoIterator<Item = &'r Run>) -> Option<Self> {
        let mut points: Vec<(&Run, f64)> =
            runs.into_iter().filter_map(|run| Some((run, rate(run)?))).collect();
        points.sort_by_key(|(run, _)| run.choices.workers);
        let curve: Vec<(f64, f64)> =
            points.iter().map(|(run, rate)| (run.choices.workers as f64, *rate)).collect();
        let at = knee(&curve)?;
        let core_us = |(run, rate): (&Run, f64)| run.choices.workers as f64 * 1e6 / rate;
        let pair = [points[at], points[at + 1]];
        let [before_us, after_us] = pair.map(core_us);
        let [(from, _), (to, _)] = pair;
        let spent = |run: &Run| run.simulation.as_ref().map(|simulation| simulation.spent.clone());
        let hottest = to.simulation.as_ref().and_then(|simulation| simulation.hot_parts.first());
        Some(Self {
            cores: pair.map(|(run, _)| run.choices.workers),
            core_us: [before_us, after_us],
            part: grown(&PARTS, (spent(from), before_us), (spent(to), after_us)),
            phase: grown(
                &Phase::NAMES,
                (from.breakdown.clone(), before_us),
                (to.breakdown.clone(), after_us),
            ),
            hottest: hottest.map(|part| part.name.clone()),
        })
    }

    /// Returns the cells of a table.
    pub(crate) fn cells(&self) -> [String; 9] {
        let named = |grown: Option<(&str, f64)>| match grown {
            Some((name, share)) => [name.to_owned(), percent(share)],
            None => ["-", "-"].map(str::to_owned),
        };
        let [[part, part_share], [phase, phase_share]] = [self.part, self.phase].map(named);
        let [knee, next] = self.cores.map(|cores| cores.to_string());
        let [before_us, after_us] = self.core_us.map(|us| format!("{us:.2}"));
        let hottest = self.hottest.clone().unwrap_or_else(|| "-".to_owned());
        [knee, next, before_us, after_us, part, part_share, phase, phase_share, hottest]
    }
}

/// Returns the throughput of a run that has commits.
pub(crate) fn rate(run: &Run) -> Option<f64> {
    run.throughput_txn_s.filter(|rate| *rate > 0.0)
}

/// The shares of a time by name.
type Shares = Option<BTreeMap<String, f64>>;

/// Returns the part of the time for a commit that grew most, and its share in the growth of all that grew.
fn grown<'n>(names: &[&'n str], before: (Shares, f64), after: (Shares, f64)) -> Option<(&'n str, f64)> {
    let ((Some(before), before_us), (Some(after), after_us)) = (before, after) else { return None };
    let us =
        |shares: &BTreeMap<String, f64>, name: &str, all: f64| shares.get(name).copied().unwrap_or(0.0) * all;
    let growth = |name: &&'n str| (*name, us(&after, name, after_us) - us(&before, name, before_us));
    let grown: Vec<(&str, f64)> = names.iter().map(growth).filter(|(_, us)| *us > 0.0).collect();
    let all: f64 = grown.iter().map(|(_, us)| us).sum();
    let most = grown.into_iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
    Some((most.0, most.1 / all))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::json::tests::given;

    #[test]
    fn a_knee_is_where_more_cores_add_less_than_half() {
        assert_eq!(knee(&[(1.0, 10.0), (2.0, 20.0), (4.0, 31.0), (8.0, 62.0)]), None);
        assert_eq!(knee(&[(1.0, 10.0), (2.0, 20.0), (4.0, 29.0), (8.0, 90.0)]), Some(1));
        assert_eq!(knee(&[(1.0, 10.0), (2.0, 5.0)]), Some(0), "more cores may harm");
        assert_eq!((knee(&[]), knee(&[(1.0, 1.0)])), (None, None));
    }

    #[test]
    fn the_knee_of_runs_tells_the_time_of_a_core_and_the_phase_where_it_grows() {
        let run = |workers: u64, rate: f64, wait: f64| {
            given(json!({
                "workers": workers, "throughput_txn_s": rate,
                "breakdown": { "useful": 1.0 - wait, "wait": wait },
            }))
        };
        // The order of runs does not matter, and one without commits is no point of the curve.
        let runs =
            [run(8, 250_000.0, 0.75), run(2, 200_000.0, 0.0), run(4, 0.0, 1.0), run(1, 100_000.0, 0.0)];
        let knee = Knee::of(&runs).expect("the step to eight adds little");
        // A commit took 10 us of a core and takes 32: 8 us of use, and 24 us of waiting.
        assert_eq!((knee.cores, knee.part, knee.hottest.as_deref()), ([2, 8], None, None));
        assert_eq!(knee.cells(), ["2", "8", "10.00", "32.00", "-", "-", "wait", "100.0%", "-"]);
        assert_eq!(Knee::of(&runs[1..]), None, "to two cores it grows");
    }

    #[test]
    fn the_part_that_grew_most_is_named_with_its_share_of_the_growth() {
        let shares = |parts: &[(&str, f64)]| {
            Some(parts.iter().map(|&(name, share)| (name.to_owned(), share)).collect::<BTreeMap<_, _>>())
        };
        let before = shares(&[("memory", 0.5), ("numa", 0.3), ("contention", 0.2)]);
        let after = shares(&[("memory", 0.1), ("numa", 0.3), ("contention", 0.6)]);
        // From 10 us: memory shrinks from 5 to 4, numa grows from 3 to 12, contention from 2 to 24.
        let names = ["memory", "numa", "contention"];
        let found = grown(&names, (before.clone(), 10.0), (after, 40.0));
        let (name, share) = found.expect("two grew");
        assert!(name == "contention" && (share - 22.0 / 31.0).abs() < 1e-9, "{name} {share}");
        assert_eq!(grown(&names, (before.clone(), 10.0), (before, 10.0)), None);
        assert_eq!(grown(&names, (None, 1.0), (None, 2.0)), None);
    }
}
