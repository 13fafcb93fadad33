//! Constants of a simulated machine that are multiplied, one at a time: a conclusion that turns with a constant is no
//! firmer than this constant.

use core::fmt;

use sim::machine::{Basis, Machine};

use crate::Refusal;
use crate::simulation::changed_machine;

/// The maximum number of changes that a line names.
const NAMED: usize = 3;

/// A constant of a machine, multiplied.
#[derive(Clone, Debug, PartialEq)]
pub struct ConstantChange {
    path: String,
    factor: f64,
    basis: Basis,
}

impl fmt::Display for ConstantChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x {} ({})", self.path, self.factor, self.basis.name())
    }
}

impl ConstantChange {
    /// Returns the name of the constant, as machine files have it.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Whether the machine has the constant, and another one results.
    pub(crate) fn changes(&self, machine: &Machine) -> bool {
        machine.scaled(&self.path, self.factor).is_ok()
    }

    /// Returns the text by which the changed machine is asked for.
    pub(crate) fn asked(&self, machine: &str) -> String {
        changed_machine(machine, &self.path, self.factor)
    }
}

/// Returns each change of a constant by a factor that makes another machine. The shape of the machine stays, and so
/// does its log, which simulated runs do not write.
///
/// # Errors
/// A factor that is not positive, that changes nothing, or that is given twice.
pub(crate) fn changes(machine: &Machine, factors: &[f64]) -> Result<Vec<ConstantChange>, Refusal> {
    for (at, factor) in factors.iter().enumerate() {
        let is_twice = factors[..at].iter().any(|other| (factor - other).abs() < 1e-9);
        if is_twice || !(factor.is_finite() && *factor > 0.0 && (factor - 1.0).abs() > 1e-9) {
            return Err(Refusal(format!(
                "`--constants {factor}`: give different positive numbers other than 1, as in `--constants 0.7,1.3`"
            )));
        }
    }
    let mut all = Vec::new();
    for constant in machine.constants.iter().filter(|constant| !constant.path.starts_with("log.")) {
        let (path, basis) = (&constant.path, constant.basis);
        for &factor in factors.iter().filter(|factor| machine.scaled(path, **factor).is_ok()) {
            all.push(ConstantChange { path: path.clone(), factor, basis });
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
