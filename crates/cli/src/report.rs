//! `contend report`: renders a report on a directory of results as text, page, plots or tables.

use std::path::{Path, PathBuf};

use lab::report::{self, Plot, Report};
use lab::{Catalogue, Refusal};

use crate::args::{self, Form};
use crate::out::Out;

pub(crate) fn report(catalogue: Catalogue, args: &args::Report, out: &mut Out) -> Result<u8, Refusal> {
    let report = Report::read(catalogue, &args.results, args.against.as_deref())?;
    let place = |name: &str| args.out.clone().unwrap_or_else(|| beside(&args.results, name));
    if args.format == Form::Text && args.out.is_some() {
        let says = "`--out`: text goes to standard output: leave it out, or give another `--format`";
        return Err(Refusal(says.to_owned()));
    }
    if args.format != Form::Curves && !args.beside.is_empty() {
        let says = "`--beside`: only a curve has others beside it: leave it out, or give `--format curves`";
        return Err(Refusal(says.to_owned()));
    }
    let written = match args.format {
        Form::Html => {
            let path = place("report.html");
            report::write(&path, report::HTML_MARK, report::page(&report).as_bytes())?;
            vec![path]
        }
        Form::Text => Vec::new(),
        Form::Svg => write_plots(&place("plots"), &report.plots())?,
        Form::Curves => write_plots(&place("curves"), &report.curves(&args.beside)?)?,
        Form::Csv => {
            let tables = [report::runs_csv(&report), report::lines_csv(&report)].map(String::into_bytes);
            write_tables(&place("tables"), "csv", report::CSV_MARK, &tables)?
        }
        Form::Parquet => write_tables(&place("tables"), "parquet", report::PARQUET_MARK, &report.parquet()?)?,
    };
    if matches!(args.format, Form::Html | Form::Text) {
        out.print(&report::text(&report));
    }
    if args.format == Form::Html {
        out.print("\nplots, settings and the evidence of every run, for any browser:\n");
    }
    for path in written {
        out.print(&format!("{}\n", path.display()));
    }
    Ok(0)
}

/// Returns the standard place of an output: in the directory of results, or beside the file of results.
fn beside(results: &Path, name: &str) -> PathBuf {
    if results.is_dir() { results.join(name) } else { results.with_file_name(name) }
}

fn write_plots(folder: &Path, plots: &[Plot]) -> Result<Vec<PathBuf>, Refusal> {
    let mut written = Vec::new();
    for plot in plots {
        let path = folder.join(&plot.name);
        report::write(&path, report::SVG_MARK, plot.svg.as_bytes())?;
        written.push(path);
    }
    Ok(written)
}

/// Writes the table of runs and the table of lines.
fn write_tables(
    folder: &Path,
    ending: &str,
    mark: &str,
    tables: &[Vec<u8>; 2],
) -> Result<Vec<PathBuf>, Refusal> {
    let mut written = Vec::new();
    for (name, bytes) in ["runs", "lines"].iter().zip(tables) {
        let path = folder.join(format!("{name}.{ending}"));
        report::write(&path, mark, bytes)?;
        written.push(path);
    }
    Ok(written)
}
