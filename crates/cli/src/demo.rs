//! `contend demo`: a demonstration of one minute, which shows the purpose of the laboratory.

use lab::{Catalogue, Machine, Plan, Refusal, Request, Results, text};

use crate::out::Out;
use crate::{live, run};

/// A table of the demo.
struct Scene {
    title: &'static str,
    request: Request,
}

/// One or two schemes of each family: all schemes would take longer, and show no more.
const SHOWN: &str = "no_wait,silo,tictoc,mvto,si,hstore,aria";
/// Rounds of each scheme in each scene: enough for a spread, short enough for a minute in all.
const ROUNDS: u64 = 3;

fn scenes() -> [Scene; 2] {
    let request = |workload: &str, set: &[&str]| Request {
        schemes: Some(SHOWN.to_owned()),
        seconds: 0.8,
        warmup: 0.2,
        repeat: ROUNDS,
        set: set.iter().map(|&setting| setting.to_owned()).collect(),
        ..Request::new(workload)
    };
    [
        Scene {
            title: "1. TPC-C, all five transactions, a warehouse for each worker and nothing between them",
            request: Request {
                workers: Some(2),
                ..request(
                    "tpcc",
                    &["tpcc.warehouses=2", "tpcc.remote_item_pct=0", "tpcc.remote_payment_pct=0"],
                )
            },
        },
        Scene {
            title: "2. YCSB, skewed: 16 operations on hot records, one in twenty of them a write",
            request: Request {
                workers: Some(2),
                ..request(
                    "ycsb",
                    &[
                        "ycsb.workload=b",
                        "ycsb.ops_per_txn=16",
                        "ycsb.records=100000",
                        "ycsb.value_bytes=104",
                    ],
                )
            },
        },
    ]
}

const NEXT: &str = "
What to try next:
  contend explain tpcc --set tpcc.warehouses=1       what a setting stresses, before anything runs
  contend run tpcc --set tpcc.warehouses=1           more contention: one warehouse for all workers
  contend run ycsb --set ycsb.theta=0.5              less skew
  contend run tpcc --scheme silo --format json       one scheme, everything measured
  contend list schemes                               all schemes; a run without --scheme compares them
  contend list settings                              everything that can be changed
";

pub(crate) fn demo(catalogue: Catalogue, out: &mut Out) -> Result<u8, Refusal> {
    let scenes = scenes();
    let plans =
        scenes.iter().map(|scene| Plan::new(catalogue, &scene.request)).collect::<Result<Vec<_>, _>>()?;
    let machine = Machine::of_this_process();
    live::take_interrupts();
    out.print(&format!(
        "The same transactions under {} of the concurrency-control schemes, checked after each run, in two settings.\n",
        plans[0].subjects.len()
    ));
    let mut winners = Vec::new();
    let mut code = 0;
    for (scene, plan) in scenes.iter().zip(&plans) {
        out.print(&format!(
            "\n{}\n{}\n{}",
            scene.title,
            text::header(plan),
            text::explanation(plan, &machine)
        ));
        let results = run::measure(plan, out, |_, _| {})?;
        out.print(&run::tables(plan, &results, &machine));
        winners.extend(winner(plan, &results, &machine));
        code = code.max(run::exit_code(&results));
        if code != 0 {
            return Ok(code);
        }
    }
    out.print(&verdict(&winners));
    out.print(NEXT);
    Ok(code)
}

/// Returns the name of the fastest scheme.
fn winner(plan: &Plan, results: &Results, machine: &Machine) -> Option<&'static str> {
    results.winner(plan, machine).map(|subject| plan.subjects[subject].scheme.name)
}

fn verdict(winners: &[&str]) -> String {
    match winners {
        [first, second] if first == second => {
            format!("\n{first} is the fastest in both on this machine: try settings until it is not.\n")
        }
        [first, second] => {
            format!("\nThe winner changes with the setting: {first} in the first, {second} in the second.\n")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenes_are_possible_and_differ() {
        let plans = scenes()
            .map(|scene| Plan::new(Catalogue::new(instances::all()), &scene.request).expect("possible"));
        assert_ne!(plans[0].workload.name, plans[1].workload.name);
        assert!(plans.iter().all(|plan| plan.repeat > 1));
    }

    #[test]
    fn the_verdict_does_not_claim_a_change_that_is_none() {
        assert!(verdict(&["silo", "mvto"]).contains("silo in the first, mvto in the second"));
        assert!(verdict(&["silo", "silo"]).contains("fastest in both"));
    }
}
