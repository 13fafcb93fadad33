//! The error of a file that describes no machine: its place, and a sentence that says what to change.

use core::fmt;

/// The refusal of a machine: the file, the line and the reason. Correct the file, or the request, as the sentence says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineError {
    origin: String,
    line: usize,
    says: String,
}

impl MachineError {
    /// The error at a line of a file; line 0 is the file as a whole.
    pub(super) fn new(origin: &str, line: usize, says: impl Into<String>) -> Self {
        Self { origin: origin.to_owned(), line, says: says.into() }
    }

    /// Returns the number of the line, from 1; 0 if the error is in no line.
    pub fn line(&self) -> usize {
        self.line
    }
}

impl fmt::Display for MachineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { origin, line, says } = self;
        match line {
            0 => write!(f, "{origin}: {says}"),
            _ => write!(f, "{origin}, line {line}: {says}"),
        }
    }
}

impl std::error::Error for MachineError {}
