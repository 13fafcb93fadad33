//! `contend report`: tells what a directory of results says, and writes it where it is asked to.

use std::path::{Path, PathBuf};

use lab::Refusal;
use lab::report::{self, Report};

use crate::args::{self, Form};
use crate::out::Out;

pub(crate) fn report(args: &args::Report, out: &mut Out) -> Result<u8, Refusal> {
    let report = Report::read(&args.results, args.against.as_deref())?;
    let place = |name: &str| args.out.clone().unwrap_or_else(|| beside(&args.results, name));
    if args.format == Form::Text && args.out.is_some() {
        let says = "`--out`: text goes to standard output: leave it out, or give another `--format`";
        return Err(Refusal(says.to_owned()));
    }
    let written = match args.format {
        Form::Html => {
            let path = place("report.html");
            report::write(&path, report::HTML_MARK, report::page(&report).as_bytes())?;
            vec![path]
        }
        Form::Text => Vec::new(),
        Form::Svg => write_plots(&place("plots"), &report)?,
        Form::Csv => write_tables(&place("tables"), &report)?,
    };
    if matches!(args.format, Form::Html | Form::Text) {
        out.print(&report::text(&report));
    }
    if args.format == Form::Html {
        out.print("\nplots, settings and the evidence of every run, for any browser:\n");
    }
    written.iter().for_each(|path| out.print(&format!("{}\n", path.display())));
    Ok(0)
}

/// Where something is written without being told: in the directory of results, or beside the file of them.
fn beside(results: &Path, name: &str) -> PathBuf {
    if results.is_dir() { results.join(name) } else { results.with_file_name(name) }
}

fn write_plots(folder: &Path, report: &Report) -> Result<Vec<PathBuf>, Refusal> {
    let mut written = Vec::new();
    for plot in report.plots() {
        let path = folder.join(&plot.name);
        report::write(&path, report::SVG_MARK, plot.svg.as_bytes())?;
        written.push(path);
    }
    Ok(written)
}

fn write_tables(folder: &Path, report: &Report) -> Result<Vec<PathBuf>, Refusal> {
    let mut written = Vec::new();
    for (name, text) in [("runs.csv", report::runs_csv(report)), ("lines.csv", report::lines_csv(report))] {
        let path = folder.join(name);
        report::write(&path, report::CSV_MARK, text.as_bytes())?;
        written.push(path);
    }
    Ok(written)
}
