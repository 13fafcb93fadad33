//! Runs in processes of their own: each has the memory of a fresh start, and the others are kept when one fails.

use std::fs;
use std::process::{Command, Output, Stdio};

use lab::Refusal;
use lab::sweep::{self, Unit};
use serde_json::Value;
use sync::Latched;

use crate::live::{self, is_stopped};
use crate::out::Out;

/// What makes the runs: results of one build are not taken for those of another. A commit if it says what was built,
/// or else a digest of the program.
pub(crate) fn build() -> Result<String, Refusal> {
    let is_committed = option_env!("CONTEND_IS_CHANGED") == Some("false");
    if let Some(commit) = option_env!("CONTEND_COMMIT").filter(|_| is_committed) {
        return Ok(commit.to_owned());
    }
    let program = std::env::current_exe().and_then(fs::read);
    let program = program.map_err(|error| {
        Refusal(format!("the program cannot read itself ({error}): start it by its path"))
    })?;
    Ok(sweep::digest(&program))
}

/// Makes a run unless nobody wants it any more; none if so.
///
/// # Errors
/// When it cannot be made, with its command.
pub(crate) fn run_unless_stopped(unit: &Unit, label: &str, out: &Out) -> Result<Option<Value>, Refusal> {
    if is_stopped() || out.is_closed() { Ok(None) } else { run(unit, label) }
}

/// Makes a run in a process of its own; none if it was interrupted.
fn run(unit: &Unit, label: &str) -> Result<Option<Value>, Refusal> {
    let words = unit.command();
    let failed = |says: String| {
        Refusal(format!("`contend {}`: {says}; what was measured before is kept", words.join(" ")))
    };
    let program = std::env::current_exe();
    let program = program.map_err(|error| failed(format!("cannot be started ({error})")))?;
    let output = Latched::new(None);
    let work = || {
        let ended = Command::new(&program).args(&words).stdin(Stdio::null()).output();
        *output.lock() = Some(ended);
    };
    live::watched(work, || label.to_owned(), || ());
    let output = output.into_inner().expect("the run was waited for");
    let Output { status, stdout, stderr } =
        output.map_err(|error| failed(format!("cannot be started ({error})")))?;
    match serde_json::from_slice::<Value>(&stdout) {
        Ok(value) if value["kind"] == "run" => Ok((value["interrupted"] != true).then_some(value)),
        _ if is_stopped() => Ok(None),
        _ => {
            let says = String::from_utf8_lossy(&stderr);
            Err(failed(format!("ended with {status} and no result: {}", says.trim())))
        }
    }
}
