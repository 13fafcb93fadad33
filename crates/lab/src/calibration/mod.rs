//! Calibration of simulated machines: small loops that run natively and simulated, and machine files from what the
//! native ones measured.

mod host;
mod measured;

use serde_json::{Value, json};
use sim::machine::Machine;
use simulations::pairs::{ProbePair, pairs};
use sync::workers;

use crate::text::{Lines, Table};

pub use crate::simulation::machine_of;
pub use measured::measured_machine;

/// The times that each loop runs natively, with all other loops between two of its runs.
const ROUNDS: usize = 3;

/// The relative difference within which a pair agrees.
const AGREES: f64 = 0.1;

/// Runs all loops on this machine and on a simulated one.
pub fn run(machine: &Machine) -> Vec<ProbePair> {
    pairs(&host::scale(&crate::Machine::of_this_process()), workers::cores(), ROUNDS, machine)
}

/// Returns pairs as text for people.
pub fn text(machine: &Machine, pairs: &[ProbePair]) -> String {
    let ns = |ns: Option<f64>| ns.map_or("-".to_owned(), |ns| format!("{ns:.2}"));
    let mut table = Table::default();
    table.row(["loop", "native ns", "simulated ns", "ratio", ""]);
    for pair in pairs {
        let (ratio, agrees) = match pair.ratio() {
            Some(ratio) => (format!("{ratio:.2}"), if agrees(ratio) { "" } else { "differs" }),
            None => ("-".to_owned(), ""),
        };
        table.row([
            pair.name.to_owned(),
            ns(pair.native_ns),
            ns(pair.simulated_ns),
            ratio,
            agrees.to_owned(),
        ]);
    }
    let ratios: Vec<f64> = pairs.iter().filter_map(ProbePair::ratio).collect();
    let agree = ratios.iter().filter(|ratio| agrees(**ratio)).count();
    let mut lines = Lines::default();
    lines.add(format!("this machine, and {} simulated: nanoseconds of a step", machine.name));
    lines.0.push_str(&table.render());
    lines.add(format!(
        "{agree} of {} pairs agree within 10%; `-` is a loop that needs more cores",
        ratios.len()
    ));
    lines.add("native figures are 10th percentiles of short windows, of several cores medians; a step of each loop:");
    for pair in pairs.iter().filter(|pair| pair.native_ns.is_some() || pair.simulated_ns.is_some()) {
        lines.add(format!("- {}: {}", pair.name, pair.says));
    }
    lines.0
}

fn agrees(ratio: f64) -> bool {
    (1.0 - AGREES..=1.0 + AGREES).contains(&ratio)
}

/// Returns pairs as an object for programs.
pub fn json(machine: &Machine, pairs: &[ProbePair]) -> Value {
    let pair = |pair: &ProbePair| {
        json!({
            "name": pair.name,
            "says": pair.says,
            "workers": pair.workers,
            "native_ns": pair.native_ns,
            "simulated_ns": pair.simulated_ns,
            "ratio": pair.ratio(),
        })
    };
    json!({
        "schema": crate::json::SCHEMA,
        "kind": "probe_pairs",
        "version": env!("CARGO_PKG_VERSION"),
        "machine": crate::json::machine(&crate::Machine::of_this_process()),
        "simulated_machine": machine.name,
        "simulated_digest": machine.digest(),
        "pairs": pairs.iter().map(pair).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_that_differ_are_pointed_out_and_missing_ones_are_not() {
        let pair = |name, native_ns, simulated_ns| ProbePair {
            name,
            says: "a step",
            workers: 2,
            native_ns,
            simulated_ns,
        };
        let all = [
            pair("near", Some(10.0), Some(10.9)),
            pair("far", Some(8.0), Some(9.0)),
            pair("absent", None, Some(3.0)),
        ];
        let machine = machine_of("here").expect("built in");
        let text = text(&machine, &all);
        let line = |name: &str| text.lines().find(|line| line.starts_with(name)).expect("a row").to_owned();
        assert!(line("far").ends_with("differs") && !line("near").contains("differs"), "{text}");
        assert!(line("absent").contains('-') && text.contains("1 of 2 pairs"), "{text}");
        let object = json(&machine, &all);
        assert_eq!(
            (&object["pairs"][1]["ratio"], &object["pairs"][2]["ratio"]),
            (&json!(1.125), &Value::Null)
        );
    }
}
