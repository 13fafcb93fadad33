//! Tests of the sources of schedules: planted bugs are found, and what was found can be repeated and simplified.

use core::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use sim::{Exploration, Explorer, Schedule, Search, Strategy, shrink};
use sync_sim::atomic::{AtomicBool, AtomicU64, Ordering};
use sync_sim::{Latched, RareChange, VersionLatch, hint, words, workers};

/// The strategies that take a seed, for programs of about a hundred choices.
const STRATEGIES: [Strategy; 7] = [
    Strategy::Random,
    Strategy::Sparse { mean_steps: 4 },
    Strategy::Sparse { mean_steps: 16 },
    Strategy::Pct { depth: 2, choices: 100 },
    Strategy::Pct { depth: 3, choices: 100 },
    Strategy::Clocks { jitter_pct: 400 },
    Strategy::Changes { mean_steps: 8 },
];

/// Enough seeds for the rarest planted bug under the strategy that suits it least.
const SEEDS: Range<u64> = 0..5_000;

/// A program that returns whether it went wrong.
type Program = fn() -> bool;

/// Two workers add two each, with a load and a store.
fn loses_update() -> bool {
    let sum = AtomicU64::new(0);
    workers::run(2, false, |_| {
        for _ in 0..2 {
            // Relaxed: steps are sequentially consistent, here as in all tests of this file.
            sum.store(sum.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    });
    sum.into_inner() < 4
}

/// One worker writes a record of three equal words, two workers copy it and trust what they see.
fn tears_copy() -> bool {
    let record = [const { AtomicU64::new(0) }; 3];
    let (latch, is_torn) = (VersionLatch::new(), AtomicBool::new(false));
    workers::run(3, false, |worker| {
        for round in 0..2 {
            if worker == 0 {
                let _guard = latch.lock().expect("not gone");
                words::store(&record, &[round + 1; 3]);
            } else {
                let mut copy = [0; 3];
                latch.read().expect("not gone");
                words::load(&record, &mut copy);
                is_torn.fetch_or(copy != [copy[0]; 3], Ordering::Relaxed);
            }
        }
    });
    is_torn.into_inner()
}

/// Two workers take two latches, each in its own order.
fn deadlocks() -> bool {
    let latches = [Latched::new(()), Latched::new(())];
    workers::run(2, false, |worker| {
        let _first = latches[worker].lock();
        let _second = latches[1 - worker].lock();
    });
    false
}

/// Goes wrong only if one of worker 1's steps comes between two certain steps of worker 0, among many: a defect of
/// depth 2 if worker 0 starts.
fn is_overtaken() -> bool {
    let [published, filled, seen] = [const { AtomicU64::new(0) }; 3];
    workers::run(2, false, |worker| {
        if worker == 0 {
            (0..6).for_each(|_| _ = seen.load(Ordering::Relaxed));
            published.store(1, Ordering::Relaxed);
            filled.store(1, Ordering::Relaxed);
            (0..6).for_each(|_| _ = seen.load(Ordering::Relaxed));
        } else if published.load(Ordering::Relaxed) == 1 {
            seen.store(1 + filled.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    });
    seen.into_inner() == 1
}

const PLANTED: [(&str, Program); 4] = [
    ("a lost update", loses_update),
    ("a torn copy", tears_copy),
    ("a deadlock", deadlocks),
    ("an overtaking", is_overtaken),
];

fn has_failed(explored: &Exploration<bool>) -> bool {
    !matches!(explored.outcome, Ok(false))
}

/// The exploration of the first of these seeds under which a program goes wrong.
fn found(program: Program, strategy: Strategy, mut seeds: Range<u64>) -> Option<Exploration<bool>> {
    seeds.find_map(|seed| {
        let explored = Explorer::new(seed).strategy(strategy).steps_max(10_000).explore(program);
        has_failed(&explored).then_some(explored)
    })
}

#[test]
fn every_strategy_finds_what_is_planted() {
    for (name, program) in PLANTED {
        for strategy in STRATEGIES {
            assert!(found(program, strategy, SEEDS).is_some(), "{name} by {strategy:?}");
        }
        assert!(
            SEEDS
                .into_iter()
                .any(|seed| found(program, Strategy::of_seed(seed, 100), seed..seed + 1).is_some()),
            "{name} by the strategies of seeds"
        );
    }
}

#[test]
fn one_preemption_is_enough_for_what_is_planted() {
    for (name, program) in PLANTED {
        let mut search = Search::bounded(1).steps_max(10_000);
        let mut failures = 0;
        while let Some(explored) = search.run(program) {
            failures += u64::from(has_failed(&explored));
        }
        assert!(search.is_exhausted() && failures > 0 && failures < search.tried(), "{name}: {search:?}");
    }
}

/// The number of schedules that a search over two workers of two steps tries; all of them must differ.
fn schedules_of_two_by_two(preemptions: u32) -> u64 {
    let mut search = Search::bounded(preemptions);
    let mut hashes = Vec::new();
    while let Some(explored) = search.run(|| {
        let order = AtomicU64::new(1);
        workers::run(2, false, |worker| {
            for _ in 0..2 {
                order.fetch_add(worker as u64, Ordering::Relaxed);
            }
        })
    }) {
        assert!(explored.outcome.is_ok());
        assert!(explored.schedule.preemptions() <= preemptions as usize);
        hashes.push(explored.schedule.to_string());
    }
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len() as u64, search.tried(), "each schedule is tried once");
    assert!(search.is_exhausted());
    search.tried()
}

#[test]
fn a_search_tries_exactly_the_schedules_within_its_bound() {
    // A worker of two steps has three pieces: before, between and behind the steps. A schedule begins with either
    // worker. Without preemptions there is one schedule for each first worker. With one, the first is interrupted at 2
    // places; with two, the second as well, at 2 places; with three, the first twice and the second at 2 places; with
    // four, both twice.
    let with = [2, 2 * 2, 2 * 2 * 2, 2 * 2, 2];
    for preemptions in 0..=5 {
        let expected: u64 = with.iter().take(preemptions + 1).sum();
        assert_eq!(schedules_of_two_by_two(preemptions as u32), expected, "{preemptions} preemptions");
    }
    // The number of all orders of three and three pieces.
    assert_eq!(with.iter().sum::<u64>(), 6 * 5 * 4 / (3 * 2));
}

#[test]
fn a_search_branches_over_who_follows_a_worker_that_ends() {
    let mut search = Search::bounded(0);
    let mut orders = Vec::new();
    while let Some(explored) = search.run(|| {
        let order = AtomicU64::new(0);
        workers::run(3, false, |worker| {
            let seen = order.load(Ordering::Relaxed);
            order.store(seen * 10 + worker as u64 + 1, Ordering::Relaxed);
        });
        order.into_inner()
    }) {
        orders.push(explored.outcome.expect("nothing to fail"));
    }
    orders.sort_unstable();
    assert_eq!(orders, [123, 132, 213, 231, 312, 321]);
}

#[test]
fn a_search_ends_though_workers_spin_for_each_other() {
    // Each of the first two spins with a write, so that neither ever waits in quiet, for what the third does.
    let spins = || {
        let [tries, is_open] = [const { AtomicU64::new(0) }; 2];
        workers::run(3, false, |worker| {
            while worker < 2 && is_open.load(Ordering::Relaxed) == 0 {
                tries.fetch_add(1, Ordering::Relaxed);
                hint::spin_loop();
            }
            is_open.store(1, Ordering::Relaxed);
        });
    };
    let mut search = Search::bounded(1).steps_max(1_000).cap(100_000);
    while let Some(explored) = search.run(spins) {
        assert!(explored.outcome.is_ok(), "{:?} under {}", explored.outcome, explored.schedule);
    }
    assert!(search.is_exhausted() && search.tried() > 10, "{search:?}");
    for seed in 0..200 {
        let strategy = Strategy::Pct { depth: 3, choices: 20 };
        let explored = Explorer::new(seed).strategy(strategy).steps_max(1_000).explore(spins);
        assert!(explored.outcome.is_ok(), "seed {seed}: {:?}", explored.outcome);
    }
}

#[test]
fn a_worker_that_retries_without_waiting_does_not_keep_up_the_one_it_waits_for() {
    let retries = || {
        let is_open = AtomicBool::new(false);
        workers::run(2, false, |worker| {
            if worker == 0 {
                while !is_open.load(Ordering::Relaxed) {}
            } else {
                is_open.store(true, Ordering::Relaxed);
            }
        });
    };
    let mut search = Search::bounded(1).steps_max(20_000);
    while let Some(explored) = search.run(retries) {
        assert!(explored.outcome.is_ok(), "{:?}", explored.outcome);
        let again = Explorer::replay(explored.schedule).explore(retries);
        assert_eq!(again.trace, explored.trace);
    }
    for seed in 0..20 {
        let strategy = Strategy::Pct { depth: 2, choices: 10 };
        Explorer::new(seed).strategy(strategy).steps_max(20_000).run(retries);
    }
}

#[test]
fn a_search_stops_at_its_cap_and_goes_on_after_failures() {
    let mut search = Search::bounded(2).cap(10);
    let mut tried = 0;
    while let Some(explored) = search.run(|| workers::run(2, false, |worker| assert!(worker == 1, "planted")))
    {
        let message = explored.outcome.expect_err("worker 0 fails").to_string();
        assert!(message.starts_with("schedule `") && message.ends_with("step 0: planted"), "{message}");
        tried += 1;
    }
    assert_eq!((tried, search.tried(), search.is_exhausted()), (2, 2, true));
    let mut search = Search::bounded(2).cap(3);
    while search.run(loses_update).is_some() {}
    assert_eq!((search.tried(), search.is_exhausted()), (3, false));
}

#[test]
fn priorities_find_a_defect_of_depth_two_as_often_as_promised() {
    const SEEDS: u64 = 20_000;
    let choices = Explorer::replay(Schedule::default()).run(is_overtaken).1.choices;
    let strategy = Strategy::Pct { depth: 2, choices };
    let finds = |&seed: &u64| Explorer::new(seed).strategy(strategy).run(is_overtaken).0;
    let found = (0..SEEDS).filter(finds).count() as f64;
    // 1 / (workers * choices ^ (depth - 1)) of them, and no more: only one moment and one order of priorities makes it
    // fail. With this many draws, deviations of up to three standard deviations are to be expected.
    let promised = SEEDS as f64 / (2 * choices) as f64;
    assert!((found - promised).abs() < 3.0 * promised.sqrt(), "{found} instead of {promised}");
    // A bug that needs a change of priorities is not found without such a change.
    let plain = Strategy::Pct { depth: 1, choices };
    assert!(!(0..SEEDS).any(|seed| Explorer::new(seed).strategy(plain).run(is_overtaken).0));
}

/// Goes wrong only if four workers are at the same place at the same time, each after a way of 400 steps.
fn meets() -> bool {
    let [way, sum] = [const { AtomicU64::new(0) }; 2];
    workers::run(4, false, |_| {
        (0..400).for_each(|_| _ = way.load(Ordering::Relaxed));
        sum.store(sum.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    });
    sum.into_inner() == 1
}

#[test]
fn clocks_find_a_defect_of_workers_that_meet_which_chance_misses() {
    let found = |strategy| (0..100).filter(|&seed| found(meets, strategy, seed..seed + 1).is_some()).count();
    let clocks = found(Strategy::Clocks { jitter_pct: 5 });
    let chance = found(Strategy::Random);
    assert!(clocks > 5 && chance == 0, "{clocks} by clocks, {chance} by chance");
}

/// Goes wrong only if a change of 30 steps, the only one among many steps, comes between two certain steps of another
/// worker.
fn changes_between() -> bool {
    let [way, first, last, is_wrong] = [const { AtomicU64::new(0) }; 4];
    let walks = |steps: u64| (0..steps).for_each(|_| _ = way.load(Ordering::Relaxed));
    workers::run(2, false, |worker| {
        walks(20);
        if worker == 0 {
            let _change = RareChange::begin();
            first.store(1, Ordering::Relaxed);
            walks(28);
            last.store(1, Ordering::Relaxed);
        } else {
            let before = first.load(Ordering::Relaxed);
            let after = last.load(Ordering::Relaxed);
            is_wrong.store(u64::from(before < after), Ordering::Relaxed);
        }
        walks(20);
    });
    is_wrong.into_inner() == 1
}

#[test]
fn schedules_steered_to_changes_find_a_whole_change_between_two_steps_more_often() {
    const SEEDS: u64 = 5_000;
    let found = |strategy| {
        (0..SEEDS).filter(|&seed| Explorer::new(seed).strategy(strategy).run(changes_between).0).count()
    };
    let steered = found(Strategy::Changes { mean_steps: 16 });
    for other in [
        Strategy::Random,
        Strategy::Sparse { mean_steps: 16 },
        Strategy::Pct { depth: 2, choices: 140 },
        Strategy::Clocks { jitter_pct: 400 },
    ] {
        let by_others = found(other);
        assert!(steered > 2 * by_others, "{steered} of {SEEDS} steered, {by_others} by {other:?}");
    }
}

#[test]
fn a_schedule_brings_an_exploration_back_by_way_of_its_text() {
    for (name, program) in PLANTED {
        // Under the usual bound a deadlock would be a failure of its own.
        for seed in 0..100 {
            let strategy = Strategy::of_seed(seed, 60);
            let explored = Explorer::new(seed).strategy(strategy).explore(program);
            let text = explored.schedule.to_string();
            let schedule: Schedule = text.parse().expect("its own text");
            assert_eq!(schedule, explored.schedule);
            let again = Explorer::replay(schedule).explore(program);
            assert_eq!(again.trace, explored.trace, "{name}, seed {seed}, {text}");
            assert_eq!(again.outcome.ok(), explored.outcome.ok());
            assert_eq!(again.schedule, explored.schedule);
        }
    }
}

#[test]
fn a_schedule_of_several_calls_comes_back() {
    let calls = || {
        let order = AtomicU64::new(0);
        for count in [3, 1, 2] {
            workers::run(count, false, |worker| {
                for _ in 0..3 {
                    let seen = order.load(Ordering::Relaxed);
                    order.store(seen.wrapping_mul(31).wrapping_add(worker as u64), Ordering::Relaxed);
                }
            });
        }
        order.into_inner()
    };
    for seed in 0..50 {
        let explored = Explorer::new(seed).explore(calls);
        assert_eq!(
            explored.schedule.to_string().matches('/').count(),
            1,
            "calls with one worker are not told"
        );
        let again = Explorer::replay(explored.schedule).explore(calls);
        assert_eq!((again.trace, again.outcome.ok()), (explored.trace, explored.outcome.ok()));
    }
}

#[test]
fn texts_round_trip_and_others_are_refused() {
    for text in ["", "0", "0x12,1,0x3,2", "/1x4", "0x1/1x2,0", "1,1,1x7"] {
        let schedule: Schedule = text.parse().expect("a schedule");
        assert_eq!(schedule.to_string(), text);
    }
    assert_eq!("0x12,1,0x3,2".parse::<Schedule>().expect("a schedule").preemptions(), 2);
    for text in ["x", "0x", "0x0", "a", "0,,1", "-1", "0x1x2", " 0"] {
        let refusal = text.parse::<Schedule>().expect_err("no schedule").to_string();
        assert!(refusal.contains("is no run of a schedule"), "{refusal}");
    }
}

#[test]
fn the_plainest_schedule_has_the_empty_text() {
    let (_, trace) = Explorer::replay(Schedule::default()).run(loses_update);
    let mut search = Search::bounded(0);
    let first = search.run(loses_update).expect("there is a first");
    assert_eq!((first.schedule.to_string(), first.trace), (String::new(), trace));
}

#[test]
fn a_schedule_that_does_not_fit_is_replayed_in_one_way() {
    let schedule: Schedule = "2x3,0x1,7,1x2,1x9,0x4,2,2,0x100,1/0,1".parse().expect("a schedule");
    for (_, program) in PLANTED {
        let [first, second] = [0; 2].map(|_| Explorer::replay(schedule.clone()).explore(program));
        assert_eq!((first.trace, first.schedule), (second.trace, second.schedule));
    }
}

/// Whether a program goes wrong under a schedule.
fn fails_under(program: Program) -> impl FnMut(&Schedule) -> bool {
    move |schedule| has_failed(&Explorer::replay(schedule.clone()).steps_max(10_000).explore(program))
}

#[test]
fn what_is_shrunk_fails_and_needs_each_of_its_preemptions() {
    for (name, program) in PLANTED {
        for strategy in STRATEGIES {
            let found = found(program, strategy, SEEDS).expect("see above");
            let [shrunk, again] = [0; 2].map(|_| shrink(&found.schedule, 10_000, fails_under(program)));
            assert_eq!(shrunk, again, "{name}: the same result each time");
            assert!(shrunk.is_minimal && fails_under(program)(&shrunk.schedule), "{name}: {shrunk:?}");
            // The bug shows with one preemption, but some schedules have two of which neither can be removed.
            let preemptions = shrunk.schedule.preemptions();
            assert!((1..=2).contains(&preemptions), "{name} from {}: {shrunk:?}", found.schedule);
            for without in without_one(&shrunk.schedule.to_string()) {
                assert!(
                    !fails_under(program)(&without),
                    "{name}: {without} is simpler than {}",
                    shrunk.schedule
                );
            }
            let once_more = shrink(&shrunk.schedule, 10_000, fails_under(program));
            assert_eq!(once_more.schedule, shrunk.schedule);
        }
    }
}

/// The schedules in which one of the interrupted runs is not interrupted, or does not take place.
fn without_one(text: &str) -> Vec<Schedule> {
    let runs: Vec<&str> = text.split(',').collect();
    let interrupted = (0..runs.len()).filter(|&at| runs[at].contains('x'));
    let without = |at: usize| {
        let worker = runs[at].split('x').next().expect("a worker");
        let (mut open, mut gone) = (runs.clone(), runs.clone());
        open[at] = worker;
        gone.remove(at);
        [open, gone].map(|runs| runs.join(",").parse().expect("a schedule"))
    };
    interrupted.flat_map(without).collect()
}

#[test]
fn shrinking_keeps_to_its_budget() {
    let found = found(tears_copy, Strategy::Random, SEEDS).expect("see above");
    for budget in 0..5 {
        let mut tries = 0;
        let shrunk = shrink(&found.schedule, budget, |schedule| {
            tries += 1;
            fails_under(tears_copy)(schedule)
        });
        assert_eq!((shrunk.tries, shrunk.is_minimal), (tries, false));
        assert!(tries <= budget && fails_under(tears_copy)(&shrunk.schedule));
    }
}

#[test]
fn a_failure_says_what_brings_it_back() {
    let planted = || workers::run(2, false, |worker| assert!(worker == 0, "planted"));
    let message = |explorer: Explorer| {
        let panic = catch_unwind(AssertUnwindSafe(|| explorer.run(planted))).expect_err("worker 1 fails");
        panic.downcast_ref::<String>().expect("a message").clone()
    };
    let strategy = Strategy::Pct { depth: 2, choices: 9 };
    let told = message(Explorer::new(5).strategy(strategy));
    assert_eq!(told, "seed 5, Pct { depth: 2, choices: 9 }, step 0: planted");
    assert_eq!(message(Explorer::replay("1".parse().expect("a schedule"))), "schedule `1`, step 0: planted");
}
