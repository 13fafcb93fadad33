//! Rules that all recipes of experiments from the literature keep.

use lab::Catalogue;
use lab::reproduce::{all, recipe};
use lab::sweep::{Recipe, Sweep};

/// Returns the catalogue of all schemes.
fn catalogue() -> Catalogue {
    Catalogue::new(instances::all())
}

/// Published engines do not adapt the number of clients that begin, and no client waits for a request that is aborted
/// again and again. So a document's claims about many clients are tested without either mechanism: with all clients, or
/// with a thread for each transaction.
#[test]
fn recipes_with_many_clients_have_no_load_control() {
    let mut seen = 0;
    for experiment in all() {
        for name in &experiment.recipes {
            let parsed = Recipe::parse(catalogue(), recipe(name).expect("it comes along")).expect("legal");
            for unit in &Sweep::new(catalogue(), parsed, "a build").expect("possible").units {
                let request = &unit.request;
                let workers = request.workers.unwrap_or(1);
                if request.clients.is_some_and(|clients| clients.of(workers) > workers) {
                    for settings in
                        [&["run.admission=open", "run.admission=single"][..], &["run.turn_after=0"]]
                    {
                        let is_given = request.set.iter().any(|set| settings.contains(&set.as_str()));
                        assert!(is_given, "{name}: give one of {settings:?}");
                    }
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 100, "there are such recipes");
}
