//! Claims about the exploration of small schedules: the whole of a tiny database under every
//! scheme.

use engine_sim::{Admits, Scheme};
use schemes_sim::catalogue::{self, Visit};
use sim::{Explorer, Schedule, Search, Strategy};

use crate::small::Small;

/// Calls a visitor with each scheme that admits several workers.
fn with_each<V: Visit<Out = ()>>(visitor: impl Fn() -> V) {
    for info in catalogue::infos().filter(|info| info.workers == Admits::Any) {
        catalogue::with(info.name, visitor()).expect("a scheme of the catalogue");
    }
}

/// Visits a scheme: tries the strategies of seeds, and the first schedules of a search.
struct TryMany;

impl Visit for TryMany {
    type Out = ();

    fn visit<S: Scheme>(self) {
        let (name, small) = (S::INFO.name, Small::new::<S>());
        let choices = Explorer::replay(Schedule::default()).run(|| small.run::<S>()).1.choices;
        for seed in 0..500 {
            let strategy = Strategy::of_seed(seed, choices);
            let (is_right, _) = Explorer::new(seed).strategy(strategy).run(|| small.run::<S>());
            assert!(is_right, "{name}: seed {seed}, {strategy:?}");
        }
        let mut search = Search::bounded(1).cap(2_000);
        while let Some(explored) = search.run(|| small.run::<S>()) {
            let is_right = explored.outcome.expect("it ends");
            assert!(is_right, "{name}: schedule `{}`", explored.schedule);
        }
        assert!(search.tried() > 50, "{name}: {search:?}");
    }
}

#[test]
fn small_schedules_break_no_scheme() {
    with_each(|| TryMany);
}

/// Visits a scheme: replays explored schedules.
struct Replays;

impl Visit for Replays {
    type Out = ();

    fn visit<S: Scheme>(self) {
        let small = Small::new::<S>();
        for seed in 0..60 {
            let explored =
                Explorer::new(seed).strategy(Strategy::of_seed(seed, 500)).explore(|| small.run::<S>());
            let text = explored.schedule.to_string();
            let again = Explorer::replay(text.parse().expect("its own text")).explore(|| small.run::<S>());
            assert_eq!(again.trace, explored.trace, "{}: seed {seed}, {text}", S::INFO.name);
        }
    }
}

#[test]
fn a_schedule_of_a_database_comes_back_from_its_text() {
    with_each(|| Replays);
}
