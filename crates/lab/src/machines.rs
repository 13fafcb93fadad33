//! The list of the machines that the program brings along for simulated runs.

use serde_json::{Value, json};
use sim::machine::{Basis, Machine};

use crate::text::Lines;

fn all() -> impl Iterator<Item = Machine> {
    Machine::built_in().into_iter().map(|(name, _)| {
        let text = Machine::of_name(name).expect("it is in the list");
        Machine::read(text, name).expect("the files of the program are correct")
    })
}

/// Returns the number of constants of each basis on which simulated time depends.
fn constants(machine: &Machine) -> [(&'static str, usize); Basis::ALL.len()] {
    let of = |basis| machine.constants.iter().filter(|of| of.is_in_use() && of.basis == basis).count();
    Basis::ALL.map(|basis| (basis.name(), of(basis)))
}

/// Returns the list of machines for people.
pub fn text() -> String {
    let mut lines = Lines::default();
    for machine in all() {
        let counts: Vec<String> =
            constants(&machine).iter().map(|(basis, count)| format!("{count} {basis}")).collect();
        let counts = counts.join(", ");
        let (threads, digest) = (machine.threads(), machine.digest());
        lines.add(format!("{}: {}", machine.name, machine.title));
        lines.add(format!("    1 to {threads} workers; constants: {counts}; digest {digest}"));
    }
    lines.add("`--machine` also takes the path of a file, and `@CONSTANT*FACTOR` behind either: docs/book/machines.md \
         describes both; `contend list machines NAME` prints the file of a machine");
    lines.0
}

/// Returns the list of machines, with all constants, as JSON.
pub fn json() -> Value {
    all().map(|machine| json_of(&machine)).collect()
}

/// Returns a machine, with all constants, as JSON.
pub fn json_of(machine: &Machine) -> Value {
    let values = machine.values();
    let constant = |constant: &sim::machine::Constant| {
        let value = values.iter().find(|(path, _)| *path == constant.path).map(|(_, value)| value);
        json!({
            "name": constant.path,
            "value": value,
            "basis": constant.basis.name(),
            "source": constant.source,
        })
    };
    let topology = &machine.topology;
    json!({
        "name": machine.name,
        "title": machine.title,
        "digest": machine.digest(),
        "sockets": topology.sockets,
        "cores": topology.cores(),
        "threads": machine.threads(),
        "bases": constants(machine).into_iter().collect::<std::collections::BTreeMap<_, _>>(),
        "constants": machine.constants.iter().map(constant).collect::<Vec<_>>(),
    })
}
