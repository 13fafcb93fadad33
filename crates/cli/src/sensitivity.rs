//! `contend sensitivity`: which settings move the throughput of schemes, and which move their ranking.

use std::path::Path;

use lab::sensitivity::{Analysis, Study, measure};
use lab::sweep::ResultStore;
use lab::{Catalogue, Refusal};

use crate::args::{self, Format};
use crate::out::Out;
use crate::process::{build, run_unless_stopped};
use crate::{exit_code, live};

pub(crate) fn sensitivity(
    catalogue: Catalogue,
    args: &args::Sensitivity,
    out: &mut Out,
) -> Result<u8, Refusal> {
    let study = Study::new(catalogue, args.question(), &build(catalogue)?)?;
    if args.dry_run {
        out.print(&study.text());
        return Ok(0);
    }
    let store = ResultStore::open(&args.out)?;
    live::take_interrupts();
    let measured = measure(&study, &store, |unit, label| run_unless_stopped(unit, label, out))?;
    let analysis = Analysis::new(&study, &measured);
    let object = analysis.json(&study, &measured);
    store.derive(Path::new("sensitivity.json"), &format!("{object}\n"))?;
    match args.format {
        Format::Text => out.print(&analysis.text(&study, &measured)),
        Format::Json => out.print(&format!("{object}\n")),
    }
    Ok(exit_code(measured.failed.is_some()))
}
