//! The faults that make a gate fail, and the faults that a gate may let pass.

use engine::setting::nearest;

use super::{Compared, ComparedCell};
use crate::Refusal;

/// A reason why a cell fails a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GateFault {
    /// The second side is slower by more than the margin.
    Slower,
    /// Runs of the second side failed their check, or a side has no result at all.
    Failed,
    /// Only one side has the cell.
    Lost,
    /// The results do not say whether the second side is slower.
    Undecided,
    /// The two sides were measured on different machines.
    Machines,
    /// A side mixes runs of several builds.
    Builds,
}

impl GateFault {
    /// All faults, the gravest first.
    pub const ALL: [Self; 6] =
        [Self::Slower, Self::Failed, Self::Lost, Self::Undecided, Self::Machines, Self::Builds];

    /// Returns the name on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Failed => "failed",
            Self::Lost => "lost",
            Self::Undecided => "undecided",
            Self::Machines => "machines",
            Self::Builds => "builds",
        }
    }
}

/// The faults and cells that a gate lets pass.
#[derive(Debug, Default)]
pub(super) struct Allowed {
    faults: Vec<GateFault>,
    cells: Vec<String>,
}

impl Allowed {
    /// Reads the texts of `--allow`. Each is the name of a cell, or names of faults with commas. The fault
    /// [`GateFault::Slower`] is the purpose of a gate, and can be allowed only for single cells by their names.
    ///
    /// # Errors
    /// Unknown names. The text lists the known names.
    pub(super) fn parse(texts: &[String], cells: &[ComparedCell]) -> Result<Self, Refusal> {
        let mut allowed = Self::default();
        for text in texts {
            if cells.iter().any(|cell| cell.label == *text) {
                allowed.cells.push(text.clone());
                continue;
            }
            for name in text.split(',') {
                let fault = GateFault::ALL
                    .into_iter()
                    .find(|fault| fault.name() == name && *fault != GateFault::Slower);
                allowed.faults.push(fault.ok_or_else(|| unknown(text, name, cells))?);
            }
        }
        Ok(allowed)
    }

    /// Returns whether the gate lets a fault of a cell pass.
    fn lets_pass(&self, fault: GateFault, label: &str) -> bool {
        self.faults.contains(&fault) || self.cells.iter().any(|cell| cell == label)
    }
}

fn unknown(text: &str, name: &str, cells: &[ComparedCell]) -> Refusal {
    const SHOWN: usize = 20;
    let faults: Vec<&str> = GateFault::ALL[1..].iter().map(|fault| fault.name()).collect();
    let mut labels: Vec<String> = cells.iter().take(SHOWN).map(|cell| format!("`{}`", cell.label)).collect();
    labels.extend((cells.len() > SHOWN).then(|| format!("{} more", cells.len() - SHOWN)));
    let meant = if name == GateFault::Slower.name() {
        "to be slower can be allowed for a cell by its name only; ".to_owned()
    } else {
        let near = nearest(name, faults.iter().copied());
        near.map_or_else(String::new, |near| format!("did you mean `{near}`? "))
    };
    Refusal(format!(
        "`--allow {text}`: {meant}give one or more of {} with commas between them, or the name of a cell: {}",
        faults.join(", "),
        labels.join(", ")
    ))
}

impl Compared {
    /// Returns whether the gate fails, because a cell has a fault that is not allowed.
    pub fn fails(&self) -> bool {
        GateFault::ALL.into_iter().any(|fault| !self.labels_of(fault, false).is_empty())
    }

    /// Returns the cells that have a fault: if `is_allowed`, those that the gate lets pass, else the others.
    pub(super) fn labels_of(&self, fault: GateFault, is_allowed: bool) -> Vec<&str> {
        let cells = self.cells.iter().filter(|cell| cell.faults.contains(&fault));
        let labels = cells.map(|cell| cell.label.as_str());
        labels.filter(|label| self.allowed.lets_pass(fault, label) == is_allowed).collect()
    }

    /// Returns whether the gate fails because of this cell.
    pub(super) fn fails_by(&self, cell: &ComparedCell) -> bool {
        cell.faults.iter().any(|fault| !self.allowed.lets_pass(*fault, &cell.label))
    }
}
