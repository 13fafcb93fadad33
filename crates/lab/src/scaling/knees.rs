//! The knees of a study of scaling, and what takes the time of the cores that help little.

use std::collections::BTreeMap;

use results::Run;
use runs::Phase;

use super::Scaling;
use crate::knees::knee;
use crate::simulation::PARTS;
use crate::text::{Table, percent};

impl Scaling {
    /// Returns a table with the knee of each scheme that has one: why a transaction takes more of a core's time on the
    /// next number of cores.
    pub(super) fn knees(&self, results: &[Option<Run>]) -> String {
        let mut table = Table::default();
        let heads =
            ["scheme", "knee", "next", "us/txn", "next us/txn", "part", "of growth", "phase", "of growth"];
        table.row(heads.into_iter().chain(["hottest part"]));
        let mut has_any = false;
        for (scheme, of_scheme) in self.rows(results) {
            let mut runs: Vec<(&Run, f64)> =
                of_scheme.into_iter().flatten().filter_map(|run| Some((run, rate(run)?))).collect();
            runs.sort_by_key(|(run, _)| run.choices.workers);
            let points: Vec<(f64, f64)> =
                runs.iter().map(|(run, rate)| (run.choices.workers as f64, *rate)).collect();
            let Some(at) = knee(&points) else { continue };
            has_any = true;
            let core_us = |(run, rate): (&Run, f64)| run.choices.workers as f64 * 1e6 / rate;
            let [before_us, after_us] = [runs[at], runs[at + 1]].map(core_us);
            let [(from, _), (to, _)] = [runs[at], runs[at + 1]];
            let spent = |run: &Run| run.simulation.as_ref().map(|simulation| simulation.spent.clone());
            let part = grown(&PARTS, (spent(from), before_us), (spent(to), after_us));
            let phase =
                grown(&Phase::NAMES, (from.breakdown.clone(), before_us), (to.breakdown.clone(), after_us));
            let hottest = to.simulation.as_ref().and_then(|simulation| simulation.hot_parts.first());
            let named = |grown: Option<(&str, f64)>| {
                grown.map_or(["-".to_owned(), "-".to_owned()], |(name, share)| {
                    [name.to_owned(), percent(share)]
                })
            };
            let ([part, part_share], [phase, phase_share]) = (named(part), named(phase));
            table.row([
                scheme.to_owned(),
                from.choices.workers.to_string(),
                to.choices.workers.to_string(),
                format!("{before_us:.2}"),
                format!("{after_us:.2}"),
                part,
                part_share,
                phase,
                phase_share,
                hottest.map_or("-".to_owned(), |part| part.name.clone()),
            ]);
        }
        if has_any { table.render() } else { "no scheme has one\n".to_owned() }
    }
}

/// Returns the throughput of a run that has commits.
pub(super) fn rate(run: &Run) -> Option<f64> {
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
    use super::*;

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
