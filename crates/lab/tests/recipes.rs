//! Rules that all recipes of the literature keep.

use lab::reproduce::{all, recipe};
use lab::sweep::{Recipe, Sweep};

/// Published engines do not keep clients from beginning, and have nobody wait for who is aborted again and again: what
/// a document says of many clients is tested without either.
#[test]
fn all_clients_begin_where_workers_have_several() {
    let mut seen = 0;
    for experiment in all() {
        for name in &experiment.recipes {
            let parsed = Recipe::parse(recipe(name).expect("it comes along")).expect("legal");
            for unit in &Sweep::new(parsed, "a build").expect("possible").units {
                let request = &unit.request;
                if request.clients > request.workers {
                    for setting in ["run.admission=open", "run.turn_after=0"] {
                        assert!(request.set.iter().any(|set| set == setting), "{name}: give {setting}");
                    }
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 100, "there are such recipes");
}
