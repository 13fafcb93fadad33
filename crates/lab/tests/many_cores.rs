//! Tests of the experiments of the many-core study: their recipes have the conditions that the study states, so that
//! the verdicts are about the study's claims.

use std::collections::BTreeSet;

use lab::Catalogue;
use lab::reproduce::{Experiment, RelationRule, find, recipe};
use lab::sweep::{Recipe, Sweep, Unit};

/// The eight schemes of the study, by their names in this project: the study's MVCC is `mvto`.
const SCHEMES: [&str; 8] = ["dl_detect", "hstore", "mvto", "no_wait", "occ", "silo", "tictoc", "wait_die"];

/// Returns the catalogue of all schemes.
fn catalogue() -> Catalogue {
    Catalogue::new(instances::all())
}

fn sweeps(experiment: &Experiment) -> Vec<Sweep> {
    let sweep = |name: &String| {
        let recipe = Recipe::parse(catalogue(), recipe(name).expect("it comes along")).expect("legal");
        Sweep::new(catalogue(), recipe, "a build").expect("possible")
    };
    experiment.recipes.iter().map(sweep).collect()
}

/// Returns the value of a setting in a run, or else `standard`.
fn number(unit: &Unit, name: &str, standard: f64) -> f64 {
    let value = unit.request.set.iter().find_map(|set| set.strip_prefix(name)?.strip_prefix('='));
    value.map_or(standard, |value| value.parse().expect("a number"))
}

#[test]
fn low_conflict_has_remote_transactions_and_no_fewer_warehouses_than_workers() {
    for id in ["C-13", "C-22"] {
        for unit in sweeps(&find(id).expect("catalogued")).iter().flat_map(|sweep| &sweep.units) {
            let warehouses = number(unit, "tpcc.warehouses", 1.0);
            let workers = unit.request.workers.expect("given") as f64;
            assert!(warehouses >= 2.0 && warehouses >= workers, "{id}: {warehouses} for {workers} workers");
            for share in [("tpcc.remote_item_pct", 1.0), ("tpcc.remote_payment_pct", 15.0)] {
                assert!(number(unit, share.0, share.1) > 0.0, "{id}: nothing is remote");
            }
        }
    }
}

#[test]
fn high_conflict_is_four_warehouses_with_fixed_homes() {
    for id in ["C-11", "C-19"] {
        for unit in sweeps(&find(id).expect("catalogued")).iter().flat_map(|sweep| &sweep.units) {
            assert!((number(unit, "tpcc.warehouses", 1.0) - 4.0).abs() < 0.5, "{id}");
            assert!(!unit.request.set.iter().any(|set| set.starts_with("tpcc.home")), "{id}");
        }
    }
}

#[test]
fn remote_transactions_meet_other_workers_where_h_store_is_to_lose() {
    let experiment = find("C-23").expect("catalogued");
    let sweeps = sweeps(&experiment);
    let units = || sweeps.iter().flat_map(|sweep| &sweep.units);
    let share = |unit: &Unit| {
        number(unit, "tpcc.remote_item_pct", 1.0) + number(unit, "tpcc.remote_payment_pct", 15.0)
    };
    let shares: BTreeSet<u64> = units().map(|unit| share(unit) as u64).collect();
    assert_eq!(
        shares,
        BTreeSet::from([0, 16]),
        "without remote transactions, and with those of the standard"
    );
    for unit in units() {
        assert_eq!(number(unit, "tpcc.warehouses", 1.0) as u64, unit.request.workers.expect("given"));
    }
}

#[test]
fn all_eight_schemes_are_measured_and_asked_for_where_the_study_speaks_of_all() {
    for id in ["C-11", "C-13", "C-19", "C-22", "C-23"] {
        let sweep = sweeps(&find(id).expect("catalogued")).swap_remove(0);
        assert_eq!(sweep.schemes.iter().copied().collect::<BTreeSet<_>>(), BTreeSet::from(SCHEMES), "{id}");
    }
    for (id, clause) in [
        ("C-11", "scales-at-first"),
        ("C-13", "all-scale"),
        ("C-19", "slower-at-few-cores"),
        ("C-22", "all-slower"),
    ] {
        let experiment = find(id).expect("catalogued");
        let relations = experiment.relations.iter().filter(|one| one.clause.as_deref() == Some(clause));
        let tested: BTreeSet<&str> = relations.filter_map(|one| subject(&one.rule)).collect();
        assert_eq!(tested, BTreeSet::from(SCHEMES), "{id} {clause}");
    }
}

/// Returns the scheme that a rule is about.
fn subject(rule: &RelationRule) -> Option<&str> {
    match rule {
        RelationRule::Ratio { of, .. } | RelationRule::Figure { of, .. } | RelationRule::Trend { of, .. } => {
            Some(&of.scheme)
        }
        _ => None,
    }
}
