//! `contend conditions` and `contend recheck`: where one scheme beats another, why, and whether that still holds.

use std::fs;
use std::path::Path;

use lab::conditions::{Findings, Rechecked, Study, Testable, Verdict, investigate, recheck as test_again};
use lab::sweep::ResultStore;
use lab::{Catalogue, Refusal};
use results::{Claim, Recheck};

use crate::args::{self, Format};
use crate::out::Out;
use crate::process::{build, run_unless_stopped};
use crate::{exit_code, live};

pub(crate) fn conditions(
    catalogue: Catalogue,
    args: &args::Conditions,
    out: &mut Out,
) -> Result<u8, Refusal> {
    let study = Study::new(catalogue, args.question(), &build(catalogue)?)?;
    if args.dry_run {
        out.print(&study.text());
        return Ok(0);
    }
    let store = ResultStore::open(&args.out)?;
    live::take_interrupts();
    let findings = investigate(&study, &store, |unit, label| run_unless_stopped(unit, label, out))?;
    keep(&study, &store, &findings)?;
    match args.format {
        Format::Text => out.print(&findings.text(&study)),
        Format::Json => {
            out.print(&format!("{}\n", findings.result(&study)));
            for claim in &findings.claims {
                out.print(&format!("{}\n", text_of(claim)));
            }
        }
    }
    Ok(exit_code(findings.failed.is_some()))
}

/// Writes the findings beside the runs on which they rest.
fn keep(study: &Study, store: &ResultStore, findings: &Findings) -> Result<(), Refusal> {
    store.derive(Path::new("conditions.json"), &format!("{}\n", findings.result(study)))?;
    for claim in &findings.claims {
        let path = Path::new("claims").join(format!("{}.json", claim.name));
        store.derive(&path, &format!("{}\n", text_of(claim)))?;
    }
    Ok(())
}

fn text_of(claim: &Claim) -> String {
    serde_json::to_string(claim).expect("names are text, and numbers finite")
}

pub(crate) fn recheck(catalogue: Catalogue, args: &args::Recheck, out: &mut Out) -> Result<u8, Refusal> {
    let name = args.claim.display();
    let text = fs::read_to_string(&args.claim).map_err(|error| {
        Refusal(format!("`{name}`: cannot be read ({error}): give a file that `contend conditions` wrote"))
    })?;
    let in_claim = |refusal: Refusal| Refusal(format!("`{name}`: {refusal}"));
    let claim = Claim::parse(&text).map_err(in_claim)?;
    if args.seed == claim.held_out.seed {
        return Err(Refusal(format!(
            "`--seed {}`: the claim was tested with this seed: give another, for other points and requests",
            args.seed
        )));
    }
    let study =
        claim.study(catalogue, args.budget, args.points, args.seed, &build(catalogue)?).map_err(in_claim)?;
    let own = args.claim.parent().and_then(Path::parent).filter(|folder| folder.join("runs").is_dir());
    let Some(folder) = args.out.as_deref().or(own) else {
        let says = "is in no directory of results: give a directory for the new results with `--out DIR`";
        return Err(in_claim(Refusal(says.to_owned())));
    };
    let store = ResultStore::open(folder)?;
    live::take_interrupts();
    let rechecked = test_again(&claim, &study, &store, |unit, label| run_unless_stopped(unit, label, out))?;
    let code = exit_code(rechecked.failed.is_some() || rechecked.verdict == Verdict::Slower);
    match args.format {
        Format::Text => out.print(&rechecked.text(&claim)),
        Format::Json => out.print(&format!("{}\n", result(&claim, rechecked))),
    }
    Ok(code)
}

fn result(claim: &Claim, rechecked: Rechecked) -> Recheck {
    Recheck {
        claim: claim.name.clone(),
        statement: claim.statement.clone(),
        verdict: rechecked.verdict_name().to_owned(),
        held_out: rechecked.held_out,
        otherwise: rechecked.otherwise,
        starvation: rechecked.starvation.result(),
        is_same_build: rechecked.is_same_build,
        is_interrupted: rechecked.is_interrupted,
        ..Recheck::default()
    }
}
