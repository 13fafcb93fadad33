//! Constants of a simulated machine that are multiplied, one at a time: a conclusion that turns with a constant is no
//! firmer than this constant.

use core::fmt;

use sim::machine::{Basis, FACTORS, Machine};

use crate::Refusal;
use crate::simulation::changed_machine;

/// The maximum number of changes that a line names.
const NAMED: usize = 3;

/// A constant of one or more machines, multiplied.
#[derive(Clone, Debug, PartialEq)]
pub struct ConstantChange {
    path: String,
    factor: f64,
    /// The bases of the constant on these machines.
    bases: Vec<Basis>,
}

impl fmt::Display for ConstantChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bases: Vec<&str> = self.bases.iter().map(|basis| basis.name()).collect();
        write!(f, "{} x {} ({})", self.path, self.factor, bases.join(" or "))
    }
}

impl ConstantChange {
    /// Whether both multiply the same constant by the same factor.
    fn is_of(&self, other: &Self) -> bool {
        self.path == other.path && (self.factor - other.factor).abs() < 1e-9
    }

    /// Returns the name of the constant, as machine files have it.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Whether the machine has the constant, and another machine results.
    pub(crate) fn changes(&self, machine: &Machine) -> bool {
        machine.scaled(&self.path, self.factor).is_ok()
    }

    /// Returns the text by which the changed machine is asked for.
    pub(crate) fn asked(&self, machine: &str) -> String {
        changed_machine(machine, &self.path, self.factor)
    }
}

/// Returns each change of a constant by a factor that makes another machine of one of these. The shape of the machines
/// stays, and so does their log, which simulated runs do not write.
///
/// # Errors
/// A factor that is out of range, that changes nothing, or that is given twice.
pub(crate) fn changes<'m>(
    machines: impl IntoIterator<Item = &'m Machine>,
    factors: &[f64],
) -> Result<Vec<ConstantChange>, Refusal> {
    for (at, factor) in factors.iter().enumerate() {
        let is_twice = factors[..at].iter().any(|other| (factor - other).abs() < 1e-9);
        if is_twice || !FACTORS.contains(factor) || (factor - 1.0).abs() < 1e-9 {
            return Err(Refusal(format!(
                "`--constants {factor:?}`: give different numbers from {} to {} other than 1, as in `--constants \
                 0.7,1.3`",
                FACTORS.start(),
                FACTORS.end()
            )));
        }
    }
    let mut all: Vec<ConstantChange> = Vec::new();
    for machine in machines {
        for constant in machine.constants.iter().filter(|constant| constant.is_in_use()) {
            for &factor in factors {
                let change =
                    ConstantChange { path: constant.path.clone(), factor, bases: vec![constant.basis] };
                let known = all.iter_mut().find(|known| known.is_of(&change));
                match known {
                    _ if !change.changes(machine) => {}
                    Some(known) if known.bases.contains(&constant.basis) => {}
                    Some(known) => known.bases.push(constant.basis),
                    None => all.push(change),
                }
            }
        }
    }
    Ok(all)
}

/// Returns the first of some changes, and the number of the others; `-` if there are none.
pub(crate) fn some_of(changes: &[String]) -> String {
    match changes.len().saturating_sub(NAMED) {
        _ if changes.is_empty() => "-".to_owned(),
        0 => changes.join(", "),
        more => format!("{} and {more} more", changes[..NAMED].join(", ")),
    }
}
