//! Explanations of a ranking: mechanisms are changed one at a time, on identical requests, at a point where the winner
//! is far ahead.
//!
//! First, a few repetitions of all changes select those that are worth following. These are then tested on other
//! requests than those of the selection, so that a change does not seem to matter only because many were tried.
//!
//! A change affects the setting that it names and nothing else. Values that a run resolves by itself, such as its
//! number of workers, keep their earlier values. If a setting necessarily changes something else (for example the
//! isolation that the scheme promises), the report names it with the change.
//!
//! The part of the gap that goes away with a mechanism was due to it, as far as the mechanism acts alone. Mechanisms
//! that can replace each other show nothing one by one, and shares need not add up to one.

use core::ops::Range;
use std::collections::BTreeSet;

use engine::Family;
use results::{Class, Mechanism};
use stats::{Comparison, Paired, Verdict, holm, least_p_value, shuffle};
use stdx::Rng;

use super::investigate::CONFIDENCE;
use super::pairs::{Pairs, Stop};
use super::study::Study;
use crate::speed::{self, Speed};
use crate::sweep::Runner;
use crate::text::percent;
use crate::{Catalogue, Plan, SettingOf};

/// The number of repetitions of each change that select those that are worth following.
const SCREENED: u64 = 3;
/// A change is worth following if it moves the gap by this factor or more.
const WORTH: f64 = 1.05;
/// The maximum number of changes that are followed at a site.
const FOLLOWED_MAX: usize = 4;
/// The number of repetitions of each followed change. A difference that is on the same side in all of them happens by
/// chance in one of 128 cases: rarely enough to test several changes together.
const TESTED: u64 = 8;
/// The first repetition number of these tests, so that their requests differ from those of the selection.
const FRESH: u64 = 1 << 31;

/// A description of a change, the setting, and its changed value.
type Change = (&'static str, &'static str, &'static str);

/// The possible changes to a run and to a workload. Those to a scheme are the toggles of its entry.
const CHANGES: &[Change] = &[
    ("backoff: longer pauses after an abort", "retry", "backoff"),
    ("aborted work: it is dropped and not done again", "retry", "drop"),
    ("abort cost: each is 5 us dearer", "run.abort_us", "5"),
    ("version placement: none within the record", "run.versions", "apart"),
    ("logging: commits are copied and written, and nobody waits", "run.durability", "async"),
    ("index kind: all indexes are ordered", "run.index", "ordered"),
    ("timestamp splitting: a row is one unit of conflict", "run.splitting", "off"),
    ("read-for-update hints: updates read first", "run.read_for_update", "off"),
    ("stated footprints: every transaction is rehearsed", "run.footprints", "rehearsed"),
    ("key layout: hot keys share leaves", "ycsb.hot_placement", "adjacent"),
    ("reads before writes: updates overwrite blindly", "ycsb.write", "blind"),
    ("copying of values: rows are small", "ycsb.value_bytes", "8"),
    ("commit-time updates: sums are read and written", "tpcc.commutative", "off"),
    ("write-set order: the hottest rows come first", "tpcc.hot_rows", "first"),
    ("length of transactions: a Delivery is ten", "tpcc.delivery", "per_district"),
    ("district counter: order ids come from outside", "tpcc.profile", "eased"),
    ("commit-time updates: counters of brokers are read and written", "tpce.commutative", "off"),
    ("length of transactions: a Market-Feed is twenty", "tpce.market_feed", "per_entry"),
    ("read-mostly transactions: analytic ones write nothing", "tpce.analytic_log", "off"),
    ("commit-time updates: payments are added", "smallbank.commutative", "on"),
    ("key layout: rows read are neighbours", "stock.readset", "contiguous"),
    ("reads before writes: rows are overwritten", "stock.write", "blind"),
    ("reads before writes: objects written are read", "micro.write", "rmw"),
    ("allocation: no memory is reserved", "run.reserve_mb", "0"),
];

/// Returns all possible changes. A change is left out if the run has this value already, or if the setting belongs to
/// another workload or to another scheme.
fn possible_changes(catalogue: Catalogue) -> impl Iterator<Item = Change> {
    let toggles = catalogue.schemes().flat_map(|entry| entry.toggles);
    CHANGES.iter().copied().chain(toggles.map(|toggle| (toggle.says, toggle.setting, toggle.value)))
}

/// A point at which the gap of a claim is to be explained.
#[derive(Clone, Debug)]
pub(super) struct Site {
    /// The scheme that is far ahead.
    pub(super) winner: Class,
    /// The point.
    pub(super) point: Vec<f64>,
}

/// The reasons for the gap at a site.
#[derive(Clone, Debug, Default)]
pub(super) struct Reasons {
    /// The changes. Clear changes come first, and those that move the gap most come first among them.
    pub(super) mechanisms: Vec<Mechanism>,
    /// The changes with which the claim does not hold at the site, as `setting=value`.
    pub(super) holds_without: Vec<String>,
}

/// The speeds of the winner and of the loser, measured side by side. Their ratio is the gap.
type Gap = (Speed, Speed);

/// A change at a site with its measured gaps, before and after the change, by repetition.
struct Trial<'s> {
    site: usize,
    name: &'static str,
    setting: &'static str,
    to: &'static str,
    changed: Study,
    /// The names of other choices that the change affects by itself.
    implies: Vec<String>,
    /// The gaps of the repetitions that selected the changes worth following.
    screened: Vec<(Gap, Gap)>,
    gaps: Vec<(Gap, Gap)>,
    is_followed: bool,
    original: &'s Study,
}

/// Returns for each site the reasons for its gap.
pub(super) fn explain<R: Runner>(
    study: &Study,
    pairs: &mut Pairs<'_, R>,
    sites: &[Site],
) -> Result<Vec<Reasons>, Stop> {
    let mut trials: Vec<Trial<'_>> =
        sites.iter().enumerate().flat_map(|(at, site)| changes(study, at, &site.point)).collect();
    let all: Vec<usize> = (0..trials.len()).collect();
    repeat(study, pairs, sites, (&mut trials, &all), (0..SCREENED, "looking for reasons"))?;
    let followed: Vec<usize> = (0..sites.len()).flat_map(|site| worth_following(&trials, site)).collect();
    for &at in &followed {
        trials[at].screened = core::mem::take(&mut trials[at].gaps);
        trials[at].is_followed = true;
    }
    let fresh = (FRESH..FRESH + TESTED, "testing reasons");
    repeat(study, pairs, sites, (&mut trials, &followed), fresh)?;
    Ok(judge(&trials, sites))
}

/// Measures the sites without a change and with each of the `chosen` changes, as often as there is time for.
fn repeat<R: Runner>(
    study: &Study,
    pairs: &mut Pairs<'_, R>,
    sites: &[Site],
    (trials, chosen): (&mut [Trial<'_>], &[usize]),
    (repetitions, what): (Range<u64>, &str),
) -> Result<(), Stop> {
    let concerned: Vec<usize> =
        (0..sites.len()).filter(|site| chosen.iter().any(|&at| trials[at].site == *site)).collect();
    let of = repetitions.end - repetitions.start;
    for (nth, repetition) in repetitions.enumerate() {
        if !pairs.has_time(study, 1.0, 2 * (chosen.len() + concerned.len())) {
            break;
        }
        let what = format!("{what}, repetition {} of {of}", nth + 1);
        let gap = |pairs: &mut Pairs<'_, R>, study: &Study, site: &Site| {
            let (a, b) = pairs.measure(study, &site.point, repetition, &what)?.speeds;
            Ok::<Gap, Stop>(if site.winner == Class::A { (a, b) } else { (b, a) })
        };
        let mut before = vec![None; sites.len()];
        for &site in &concerned {
            before[site] = Some(gap(pairs, study, &sites[site])?);
        }
        let mut order = chosen.to_vec();
        shuffle(&mut order, &mut Rng::from_path(&[study.question.seed, 0x0077_6879, repetition]));
        for at in order {
            let trial = &mut trials[at];
            let after = gap(pairs, &trial.changed, &sites[trial.site])?;
            trial.gaps.push((before[trial.site].expect("measured above"), after));
        }
    }
    Ok(())
}

/// Returns the changes at a site that seem to move the gap most.
fn worth_following(trials: &[Trial<'_>], site: usize) -> Vec<usize> {
    let moved = |at: usize| trials[at].moved().ln().abs();
    let mut worth: Vec<usize> =
        (0..trials.len()).filter(|&at| trials[at].site == site && moved(at) >= WORTH.ln()).collect();
    worth.sort_by(|&a, &b| moved(b).total_cmp(&moved(a)));
    worth.truncate(FOLLOWED_MAX);
    worth
}

/// Returns the changes that are possible at a point.
fn changes<'s>(study: &'s Study, site: usize, point: &[f64]) -> Vec<Trial<'s>> {
    let catalogue = study.ground.catalogue;
    let is_own = |name: &str| match catalogue.settings().find(|(_, setting)| setting.name == name) {
        Some((SettingOf::Run, _)) | None => true,
        Some((SettingOf::Workload(of), _)) => of == study.ground.workload(),
        Some((SettingOf::Scheme(of), _)) => study.schemes.contains(&of),
    };
    let has_family = |family| {
        let is_of = |name: &&str| catalogue.scheme(name).is_ok_and(|info| info.family == family);
        study.schemes.iter().any(is_of)
    };
    let has_upgrades = study.schemes.iter().any(|name| catalogue.listed(name).entry().upgrades);
    let possible = possible_changes(catalogue).filter(|(_, setting, to)| {
        is_own(setting)
            && (*setting != "run.versions" || has_family(Family::MultiVersion))
            && (*setting != "run.footprints" || has_family(Family::Deterministic))
            && (*setting != "run.read_for_update" || has_upgrades)
            && !study.ground.axes.iter().any(|axis| axis == setting)
            && study.value(setting) != *to
    });
    let Ok(before) = study.plans(point) else { return Vec::new() };
    let held = held(study, &before);
    let trial = |(name, setting, to): Change| {
        let changed = held.with(setting, to);
        let implies = implied(&before, &changed.plans(point).ok()?, setting)?;
        let (screened, gaps) = (Vec::new(), Vec::new());
        Some(Trial {
            site,
            name,
            setting,
            to,
            changed,
            implies,
            screened,
            gaps,
            is_followed: false,
            original: study,
        })
    };
    possible.filter_map(trial).collect()
}

/// Returns the study with the numbers of workers and clients fixed to those that its plans resolved. Otherwise, a
/// change could resolve them differently: with a log, the standard number of workers is one less.
fn held(study: &Study, [plan, _]: &[Plan; 2]) -> Study {
    let resolved = [("workers", plan.job.workers), ("clients", plan.job.clients)];
    let is_open = |name: &str| {
        !study.ground.axes.iter().any(|axis| axis == name) && !study.ground.fixed().contains_key(name)
    };
    let ground = resolved.into_iter().filter(|(name, _)| is_open(name));
    let ground =
        ground.fold(study.ground.clone(), |ground, (name, value)| ground.with(name, &value.to_string()));
    Study { question: study.question.clone(), ground, ..*study }
}

/// Returns the names of the choices that a change affects beside its setting, which a report has to name: the isolation
/// that a scheme promises, and the clients that it needs. `None` if anything else would change, since the cause of a
/// gap would then be unknown; and `None` if nothing changes.
fn implied(before: &[Plan; 2], after: &[Plan; 2], setting: &str) -> Option<Vec<String>> {
    let mut differs: BTreeSet<String> =
        before.iter().zip(after).flat_map(|(before, after)| before.differs(after)).collect();
    let is_changed = differs.remove(setting);
    let is_needed = |name: &String| match name.as_str() {
        "isolation" => true,
        "clients" => before.iter().chain(after).any(|plan| plan.raised().count() > 0),
        _ => false,
    };
    (is_changed && differs.iter().all(is_needed)).then(|| differs.into_iter().collect())
}

/// Returns the reasons that follow from the gaps. For all changes of a study together, the probability that any is
/// falsely said to matter is at most 1 minus the confidence.
fn judge(trials: &[Trial<'_>], sites: &[Site]) -> Vec<Reasons> {
    let compared: Vec<(&Trial<'_>, Comparison)> = trials
        .iter()
        .filter(|trial| trial.is_measured())
        .filter_map(|trial| Some((trial, trial.comparison()?)))
        .collect();
    let is_followed = |of: &&(&Trial<'_>, Comparison)| of.0.is_followed;
    let followed: Vec<&(&Trial<'_>, Comparison)> = compared.iter().filter(is_followed).collect();
    let p_values: Vec<f64> = followed.iter().map(|(trial, found)| trial.p_value(found)).collect();
    let adjusted = holm(&p_values);
    let mut nth = 0..followed.len();
    let mut all = vec![Reasons::default(); sites.len()];
    for (trial, comparison) in &compared {
        let at = if trial.is_followed { nth.next() } else { None };
        let p_adjusted = at.map_or(1.0, |at| adjusted[at]);
        let is_too_few = at.is_some_and(|at| is_too_few(&p_values, at, trial.gaps.len()));
        let needed = is_too_few.then(|| repetitions_needed(followed.len()));
        let site = &sites[trial.site];
        let mechanism = mechanism(trial, comparison, (p_adjusted, needed), &site.point);
        let Reasons { mechanisms, holds_without } = &mut all[trial.site];
        if mechanism.share.is_some() && trial.is_decisive() {
            holds_without.push(format!("{}={}", trial.setting, trial.to));
        }
        mechanisms.push(mechanism);
    }
    for Reasons { mechanisms, .. } in &mut all {
        let strength = |mechanism: &Mechanism| {
            (mechanism.share.is_some(), (mechanism.gap_after / mechanism.gap_before).ln().abs())
        };
        mechanisms.sort_by(|a, b| {
            let (a, b) = (strength(a), strength(b));
            b.0.cmp(&a.0).then(b.1.total_cmp(&a.1))
        });
    }
    all
}

/// Returns whether this number of repetitions is too small to show even the clearest change, given the p-values of the
/// other changes.
fn is_too_few(p_values: &[f64], at: usize, repetitions: usize) -> bool {
    let mut clearest = p_values.to_vec();
    clearest[at] = least_p_value(repetitions).min(p_values[at]);
    holm(&clearest)[at] > 1.0 - CONFIDENCE
}

/// Returns the least number of repetitions that could show any of this number of changes.
fn repetitions_needed(changes: usize) -> usize {
    let mut repetitions = 1;
    while changes as f64 * least_p_value(repetitions) > 1.0 - CONFIDENCE + 1e-12 {
        repetitions += 1;
    }
    repetitions
}

impl Trial<'_> {
    /// Returns the gaps to report: those of the test, or, if too few of these were measured, those of the selection.
    fn told(&self) -> &[(Gap, Gap)] {
        if (self.gaps.len() as u64) < SCREENED { &self.screened } else { &self.gaps }
    }

    /// Returns whether the change was measured often enough to report, and the gap before it was again above the
    /// margin.
    fn is_measured(&self) -> bool {
        let gaps = if self.is_followed { self.told() } else { &self.gaps };
        gaps.len() as u64 >= SCREENED && median(gaps, |gaps| gaps.0) > self.original.question.margin
    }

    /// Returns the probability of so clear a change by chance. It is 1 if there are only the gaps of the selection,
    /// which are no test.
    fn p_value(&self, found: &Comparison) -> f64 {
        if (self.gaps.len() as u64) < SCREENED { 1.0 } else { found.p_value }
    }

    /// Returns the median of the gap after the change over the gap before it; 1 if nothing was measured.
    fn moved(&self) -> f64 {
        median(&self.gaps, turned)
    }

    /// Returns the comparison of the gap after the change with the gap before it.
    fn comparison(&self) -> Option<Comparison> {
        let gaps = if self.is_followed { self.told() } else { &self.gaps };
        compared(gaps, turned)
    }

    /// Returns whether the winner is clearly not ahead by the margin after the change.
    fn is_decisive(&self) -> bool {
        let margin = self.original.question.margin;
        compared(&self.gaps, |gaps| gaps.1).is_some_and(|comparison| {
            matches!(comparison.verdict(margin, CONFIDENCE), Verdict::Same | Verdict::Slower)
        })
    }
}

/// Returns a pair whose ratio is the gap after a change over the gap before it.
fn turned(((winner, loser), (winner_after, loser_after)): &(Gap, Gap)) -> Gap {
    (winner_after.times(loser), loser_after.times(winner))
}

/// Returns the median ratio of the pairs that `of` makes of gaps; 1 if there are none.
fn median(gaps: &[(Gap, Gap)], of: impl Fn(&(Gap, Gap)) -> Gap) -> f64 {
    speed::median_ratio(&gaps.iter().map(of).collect::<Vec<_>>()).unwrap_or(1.0)
}

/// Returns the comparison of the pairs that `of` makes of gaps; `None` if there are too few gaps.
fn compared(gaps: &[(Gap, Gap)], of: impl Fn(&(Gap, Gap)) -> Gap) -> Option<Comparison> {
    let pairs: Vec<Gap> = gaps.iter().map(of).collect();
    Some(speed::compare_pairs(&pairs, Paired::SignedRanks, CONFIDENCE).ok()?.comparison)
}

/// Returns the result of a change. If too few repetitions were made for any answer, `needed` is the number that it
/// takes.
fn mechanism(
    trial: &Trial<'_>,
    comparison: &Comparison,
    (p_adjusted, needed): (f64, Option<usize>),
    point: &[f64],
) -> Mechanism {
    let gaps = if trial.is_followed { trial.told() } else { &trial.gaps };
    let (gap_before, gap_after) = (median(gaps, |gaps| gaps.0), median(gaps, |gaps| gaps.1));
    let interval = comparison.interval;
    let is_clear =
        trial.is_followed && needed.is_none() && p_adjusted <= 1.0 - CONFIDENCE && !interval.contains(1.0);
    let share = is_clear.then(|| -comparison.ratio.ln() / gap_before.ln());
    let says = match (share, needed) {
        (_, Some(needed)) => format!("too few repetitions (needs {needed})"),
        (None, _) if trial.is_followed => "no clear change".to_owned(),
        (None, _) => "not followed".to_owned(),
        (Some(share), _) if share < 0.0 => "none: the gap grows".to_owned(),
        (Some(share), _) if share > 1.0 => "all of the gap, and more".to_owned(),
        (Some(share), _) => format!("{} of the gap", percent(share)),
    };
    Mechanism {
        name: trial.name.to_owned(),
        setting: trial.setting.to_owned(),
        from: trial.original.value(trial.setting),
        to: trial.to.to_owned(),
        at: trial.original.ground.space.named_values(point),
        gap_before,
        gap_after,
        interval: interval.into(),
        p_adjusted,
        share,
        repetitions: trial.gaps.len(),
        implies: trial.implies.clone(),
        says,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Question;
    use super::super::study::tests::question;
    use super::*;
    use crate::registry::tests::catalogue;
    use crate::speed::tests::pair;
    use engine::setting::Values;

    #[test]
    fn changes_are_legal_and_change_something() {
        for (_, name, to) in possible_changes(catalogue()) {
            if name == "retry" {
                assert!(["drop", "backoff"].contains(&to));
                continue;
            }
            let setting = catalogue().setting(name).unwrap_or_else(|refusal| panic!("{refusal}"));
            Values::new([setting], &[(name.to_owned(), to.to_owned())])
                .unwrap_or_else(|error| panic!("{error}"));
            assert_ne!(setting.default, to, "{name}");
        }
    }

    /// Returns the gaps before and after a change.
    fn gaps_of(before: f64, after: f64) -> (Gap, Gap) {
        (pair(before), pair(after))
    }

    fn trials<'s>(study: &'s Study, gaps: &[(&str, &str, f64)]) -> Vec<Trial<'s>> {
        let mut trials = changes(study, 0, &[0.5]);
        trials.retain(|trial| gaps.iter().any(|(name, to, _)| trial.setting == *name && trial.to == *to));
        for trial in &mut trials {
            let (.., after) =
                gaps.iter().find(|gap| (gap.0, gap.1) == (trial.setting, trial.to)).expect("kept");
            trial.is_followed = true;
            trial.gaps = (0..8)
                .map(|at| 1.0 + 0.002 * f64::from(at))
                .map(|noise| gaps_of(2.0 * noise, after * noise * noise))
                .collect();
        }
        trials
    }

    #[test]
    fn changes_are_those_of_the_workload_and_the_two_schemes_that_are_not_made_yet() {
        let mut question = question(&["ycsb.theta=0..0.9"]);
        question.set.push("ycsb.write=blind".to_owned());
        let study = Study::new(catalogue(), question, "").expect("possible");
        let settings: Vec<&str> = changes(&study, 0, &[0.5]).iter().map(|trial| trial.setting).collect();
        for present in ["retry", "ycsb.value_bytes", "mvto.wait_us", "silo.snapshots", "run.reserve_mb"] {
            assert!(settings.contains(&present), "{present}");
        }
        for absent in ["ycsb.write", "tpcc.hot_rows", "si.wait_us", "aria.batch"] {
            assert!(!settings.contains(&absent), "{absent}");
        }
    }

    #[test]
    fn the_gap_is_laid_to_what_removes_it() {
        let study = Study::new(catalogue(), question(&["ycsb.theta=0..0.9"]), "").expect("possible");
        let gaps = [
            ("retry", "drop", 1.41),
            ("retry", "backoff", 2.0),
            ("ycsb.value_bytes", "8", 0.7),
            ("mvto.wait_us", "0", 2.8),
        ];
        let trials = trials(&study, &gaps);
        let site = Site { winner: Class::A, point: vec![0.5] };
        let [Reasons { mechanisms, holds_without }] = &judge(&trials, &[site])[..] else {
            panic!("one site")
        };
        let of = |setting: &str, to: &str| {
            mechanisms
                .iter()
                .find(|mechanism| (&*mechanism.setting, &*mechanism.to) == (setting, to))
                .expect("judged")
        };
        assert!((of("retry", "drop").share.expect("clear") - 0.5).abs() < 0.05);
        assert!(of("ycsb.value_bytes", "8").share.expect("clear") > 1.0);
        assert!(of("mvto.wait_us", "0").share.expect("clear") < 0.0);
        assert_eq!(holds_without, &["ycsb.value_bytes=8"], "there the other is ahead");
        assert_eq!(mechanisms[0].setting, "ycsb.value_bytes", "the strongest comes first");
        assert!(of("retry", "drop").says.ends_with("% of the gap"), "{}", of("retry", "drop").says);
    }

    #[test]
    fn what_chance_may_have_done_is_no_mechanism() {
        let study = Study::new(catalogue(), question(&["ycsb.theta=0..0.9"]), "").expect("possible");
        let mut trials = trials(&study, &[("retry", "drop", 2.0)]);
        trials[0].gaps = [1.9, 2.1, 2.2, 1.8, 2.05].map(|after| gaps_of(2.0, after)).to_vec();
        let site = Site { winner: Class::A, point: vec![0.5] };
        let judge = |trials: &[Trial<'_>]| judge(trials, std::slice::from_ref(&site)).remove(0).mechanisms;
        let mechanisms = judge(&trials);
        assert_eq!((mechanisms[0].share, mechanisms[0].says.as_str()), (None, "no clear change"));
        trials[0].gaps = vec![gaps_of(2.0, 1.0); 3];
        assert_eq!(judge(&trials)[0].share, None, "three repetitions are too few");
        assert_eq!(judge(&trials)[0].says, "too few repetitions (needs 5)");
        trials[0].screened = core::mem::take(&mut trials[0].gaps);
        trials[0].gaps = vec![gaps_of(2.0, 1.0)];
        let cut_short = judge(&trials).remove(0);
        assert_eq!((cut_short.says.as_str(), cut_short.repetitions), ("too few repetitions (needs 5)", 1));
        trials[0].gaps = vec![gaps_of(1.0, 0.5); 8];
        assert!(judge(&trials).is_empty(), "there is no gap to be explained");
    }

    #[test]
    fn a_busy_neighbour_is_no_mechanism() {
        let study = Study::new(catalogue(), question(&["ycsb.theta=0..0.9"]), "").expect("possible");
        let mut trials = trials(&study, &[("retry", "drop", 2.0)]);
        // While the change was measured, another program had half of the winner's core.
        trials[0].gaps = (0..8)
            .map(|at| {
                let (before, (winner, loser)) = gaps_of(2.0, 2.0 + 0.002 * f64::from(at));
                (before, (Speed::disturbed(winner.by_wall() / 2.0, 0.5), loser))
            })
            .collect();
        assert!((median(&trials[0].gaps, |gaps| gaps.1) - 2.0).abs() < 0.02, "by processor time");
        let site = Site { winner: Class::A, point: vec![0.5] };
        let mechanisms = judge(&trials, &[site]).remove(0).mechanisms;
        assert_eq!((mechanisms[0].share, mechanisms[0].says.as_str()), (None, "no clear change"));
    }

    #[test]
    fn too_few_repetitions_are_told_from_no_change() {
        assert_eq!([1, 4, 8].map(repetitions_needed), [5, 7, 8]);
        let study = Study::new(catalogue(), question(&["ycsb.theta=0..0.9"]), "").expect("possible");
        let halved = [
            ("retry", "drop", 0.9),
            ("retry", "backoff", 0.9),
            ("ycsb.value_bytes", "8", 0.9),
            ("mvto.wait_us", "0", 0.9),
        ];
        let judged = |repetitions: usize| {
            let mut trials = trials(&study, &halved);
            for trial in &mut trials {
                trial.gaps.truncate(repetitions);
            }
            let site = Site { winner: Class::A, point: vec![0.5] };
            let Reasons { mechanisms, .. } = judge(&trials, &[site]).remove(0);
            mechanisms.into_iter().map(|of| of.says).collect::<BTreeSet<String>>()
        };
        assert_eq!(judged(6), BTreeSet::from(["too few repetitions (needs 7)".to_owned()]));
        assert_eq!(judged(7), BTreeSet::from(["all of the gap, and more".to_owned()]));
    }

    #[test]
    fn a_change_changes_what_it_names_and_nothing_else() {
        let name_of = |(_, setting): (SettingOf, &'static engine::setting::Setting)| setting.name;
        let mut changed = BTreeSet::new();
        for (workload, vary, b) in [
            ("tpcc", "tpcc.warehouses=1..2", "mvto"),
            ("tpce", "tpce.group_pct=1..60", "si"),
            ("ycsb", "ycsb.theta=0..0.9", "aria"),
            ("ycsb", "ycsb.theta=0..0.9", "ermia"),
            ("stock", "stock.write_pct=0.1..10", "cicada"),
            ("micro", "micro.theta=0..0.9", "bamboo"),
            ("smallbank", "smallbank.theta=0..0.9", "hstore"),
            ("smallbank", "smallbank.theta=0..0.9", "bohm"),
        ] {
            let asked =
                Question { workload: Some(workload.to_owned()), b: b.to_owned(), ..question(&[vary]) };
            let set = asked.set.iter().filter(|_| workload == "ycsb").cloned().collect();
            let study = Study::new(catalogue(), Question { set, ..asked }, "").expect("possible");
            let point = study.ground.space.point(&[0.5]);
            let before = study.plans(&point).expect("possible");
            for trial in changes(&study, 0, &point) {
                let after = trial.changed.plans(&point).expect("possible");
                for (before, after) in before.iter().zip(&after) {
                    let mut differs = before.differs(after);
                    differs.retain(|name| *name != trial.setting && !trial.implies.contains(name));
                    assert!(differs.is_empty(), "{}={} changes {differs:?}, too", trial.setting, trial.to);
                    assert_eq!(before.job.workers, after.job.workers, "{}={}", trial.setting, trial.to);
                }
                for implied in &trial.implies {
                    assert!(
                        ["isolation", "clients"].contains(&implied.as_str()),
                        "{}: {implied}",
                        trial.setting
                    );
                }
                changed.insert((trial.setting, trial.to));
            }
        }
        assert!(changed.contains(&("run.durability", "async")), "a worker less is no reason to leave it out");
        let own = |name: &str| {
            let of = catalogue().settings().find(|of| name_of(*of) == name).map(|(of, _)| of);
            !matches!(of, Some(SettingOf::Scheme(_)))
        };
        let missing: Vec<_> = CHANGES
            .iter()
            .filter(|(_, name, to)| own(name) && !changed.contains(&(*name, *to)))
            .map(|(_, name, to)| format!("{name}={to}"))
            .collect();
        assert_eq!(missing, Vec::<String>::new(), "left out, since something else would change with them");
    }

    #[test]
    fn what_a_change_brings_along_is_named_or_it_is_left_out() {
        let study = Study::new(catalogue(), question(&["ycsb.theta=0..0.9"]), "").expect("possible");
        let before = study.plans(&[0.5]).expect("possible");
        let after = |name: &str, value: &str| study.with(name, value).plans(&[0.5]).expect("possible");
        assert_eq!(implied(&before, &after("silo.epoch_ms", "1"), "silo.epoch_ms"), Some(Vec::new()));
        let promised = implied(&before, &after("silo.snapshots", "on"), "silo.snapshots");
        assert_eq!(promised, Some(vec!["isolation".to_owned()]));
        assert_eq!(implied(&before, &after("run.abort_us", "5"), "run.versions"), None, "another setting");
        if before[0].job.workers > 1 {
            assert_eq!(
                implied(&before, &after("run.durability", "async"), "run.durability"),
                None,
                "and a worker"
            );
        }
    }
}
