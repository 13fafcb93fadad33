//! `contend run`: makes the runs of a plan and reports them.

use lab::{Catalogue, Machine, Plan, Record, Refusal, Results, json, text};

use crate::args::{Format, Run};
use crate::out::{Folder, Out, complain};
use crate::{CHECK_FAILED, INTERRUPTED, REFUSED, live};

pub(crate) fn run(catalogue: Catalogue, args: &Run, out: &mut Out) -> Result<u8, Refusal> {
    let plan = Plan::new(catalogue, &args.request())?;
    let folder = args.out.as_deref().map(Folder::open).transpose()?;
    let machine = Machine::of_this_process();
    live::take_interrupts();
    if args.format == Format::Text {
        out.print(&text::header(&plan));
        if args.is_tuned() {
            out.print(&text::tuned(&plan));
        }
    }
    let mut unwritten = Vec::new();
    let results = measure(&plan, out, |record, out| {
        let line = format!("{}\n", json::run(&plan, record, &machine));
        if args.format == Format::Json {
            out.print(&line);
        }
        if let Some(folder) = &folder {
            let name = format!("{}-{}", plan.workload.name, plan.subjects[record.subject].scheme.name);
            unwritten.extend(folder.write(&name, &line).err());
        }
    })?;
    match args.format {
        Format::Text => out.print(&tables(&plan, &results, &machine)),
        Format::Json if plan.repeat > 1 => {
            let summary = |subject| json::summary(&plan, &results, &machine, subject);
            let summaries = (0..plan.subjects.len()).map(summary);
            summaries.for_each(|summary| out.print(&format!("{summary}\n")));
        }
        Format::Json => {}
    }
    let code = exit_code(&results);
    for error in &unwritten {
        complain(&format!("contend: {error}\n"));
    }
    if !unwritten.is_empty() {
        // A failed check is worse than a file that was not written, so its exit code stays.
        return Ok(if code == CHECK_FAILED { code } else { REFUSED });
    }
    Ok(code)
}

/// Makes the runs of a plan in their order, until one is interrupted or nobody reads the results.
pub(crate) fn measure(
    plan: &Plan,
    out: &mut Out,
    mut report: impl FnMut(&Record, &mut Out),
) -> Result<Results, Refusal> {
    let mut results = Results::default();
    for position in 0..plan.order.len() {
        if live::is_stopped() || out.is_closed() {
            break;
        }
        let Some(record) = live::measure(plan, position)? else { break };
        report(&record, out);
        results.records.push(record);
    }
    Ok(results)
}

pub(crate) fn tables(plan: &Plan, results: &Results, machine: &Machine) -> String {
    let details = match results.records.as_slice() {
        [record] if record.is_result() => format!("\n{}", text::details(plan, record)),
        _ => String::new(),
    };
    let table = text::results(plan, results, machine);
    format!("\n{table}{details}\n{}", text::notes(plan, results, machine))
}

pub(crate) fn exit_code(results: &Results) -> u8 {
    if results.is_failed() {
        CHECK_FAILED
    } else if live::is_stopped() {
        INTERRUPTED
    } else {
        0
    }
}
