//! The command `contend` with one more scheme.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use cautious_waiting::{CautiousWaiting, entry::ENTRY};
use cautious_waiting_sim::{CautiousWaiting as Stepped, entry::ENTRY as STEPPED};
use contend_cli::{Listed, main_with};

fn main() -> ExitCode {
    main_with(&[Listed::of::<CautiousWaiting, Stepped>(&ENTRY, &STEPPED)])
}
