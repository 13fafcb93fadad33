//! The command `contend`, with the schemes of the catalogue and no others.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    contend_cli::main_with(&[])
}
