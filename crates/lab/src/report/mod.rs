//! Reports: the contents of a directory of results in words, tables and plots.
//!
//! A [`Report`] is read once and rendered in many forms: as text for a terminal, as one page that opens anywhere
//! without a network, as plots for papers, as tables for programs. All forms take their figures from the same
//! [`Study`], whose lines are those of [`sweep`](crate::sweep). No form computes a figure again, and the page's script
//! only hides and shows.
//!
//! No figure is given without its condition: a ratio stands beside its interval and the point at which it was measured.

mod claims;
mod conditions;
mod csv;
mod curves;
mod details;
mod evidence;
mod figures;
mod file;
mod grid;
mod html;
mod insight;
mod knees;
mod material;
#[cfg(feature = "parquet")]
mod parquet;
mod planes;
mod region;
mod study;
mod told;
mod varied;
mod words;

use std::path::Path;

use results::Machine;

use crate::{Catalogue, Refusal};
use figures::Figure;
use material::Material;

pub use csv::{MARK as CSV_MARK, lines as lines_csv, runs as runs_csv};
pub use details::{Details, LatencyMedians, OfType};
pub use file::write;
pub use html::{MARK as HTML_MARK, page};
pub use results::{Claim, Conditions};
pub use study::{Leader, PointMeasurements, Study};
pub use told::text;
pub use varied::Varied;

/// A report on a directory of results.
#[derive(Debug)]
pub struct Report {
    /// The title.
    pub title: String,
    /// The path of the directory, as the user gave it.
    pub folder: String,
    /// The studies: groups of runs that belong together.
    pub studies: Vec<Study>,
    /// The claims about the results, each with its evidence.
    pub claims: Vec<Claim>,
    /// The machines of the runs, each once.
    pub machines: Vec<Machine>,
    /// Remarks on contents of the directory that cannot be shown, one sentence each.
    pub remarks: Vec<String>,
    conditions: Option<Conditions>,
}

/// The beginning of every plot file, by which a file is recognised as a plot of a report.
pub const SVG_MARK: &str = "<!-- contend plot -->\n";

/// The beginning of every Parquet file, ours or not: only their names tell our files from others.
pub const PARQUET_MARK: &str = "PAR1";

/// A plot as a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plot {
    /// The file's name, without a directory.
    pub name: String,
    /// The title of the plot.
    pub title: String,
    /// The content of the file.
    pub svg: String,
}

impl Report {
    /// Reads a directory that `contend sweep`, `contend run` or `contend conditions` filled, or a file of results. A
    /// study that measured the scheme `against` compares the others with that scheme; otherwise with its first scheme,
    /// which is the first of the recipe.
    ///
    /// # Errors
    /// A file cannot be read or is no result, there are no results, or the scheme `against` was not measured.
    pub fn read(catalogue: Catalogue, path: &Path, against: Option<&str>) -> Result<Self, Refusal> {
        let material = Material::read(catalogue, path)?;
        let studies = study::studies(catalogue, &material, against);
        if let Some(name) = against.filter(|name| !studies.iter().any(|study| study.first == *name)) {
            return Err(unmeasured("--against", name, &studies));
        }
        let mut machines: Vec<Machine> = Vec::new();
        for machine in material.runs.iter().map(|run| run.machine.lasting()) {
            if machine.is_known() && !machines.contains(&machine) {
                machines.push(machine);
            }
        }
        let folder = path.display().to_string();
        let title = title(&studies, material.conditions.as_ref(), &folder);
        let Material { conditions, claims, remarks, .. } = material;
        Ok(Self { title, folder, studies, claims, machines, remarks, conditions })
    }

    /// Returns all plots, each as a separate file.
    pub fn plots(&self) -> Vec<Plot> {
        self.figures().iter().map(Figure::file).collect()
    }

    /// Returns a plot of the throughput of each scheme. The schemes of `beside` are drawn in every plot, for
    /// comparison.
    ///
    /// # Errors
    /// A scheme of `beside` was not measured, or nothing varies along which a line could run.
    pub fn curves(&self, beside: &[String]) -> Result<Vec<Plot>, Refusal> {
        let is_measured = |name: &&String| self.studies.iter().any(|study| study.schemes.contains(*name));
        if let Some(name) = beside.iter().find(|name| !is_measured(name)) {
            return Err(unmeasured("--beside", name, &self.studies));
        }
        let studies = self.studies.iter().enumerate();
        let curves: Vec<Plot> =
            studies.flat_map(|(number, study)| curves::of_study(number, study, beside)).collect();
        if curves.is_empty() {
            let says =
                "`--format curves`: nothing varies here that a line could run along: give `--format svg`";
            return Err(Refusal(says.to_owned()));
        }
        Ok(curves)
    }

    /// Returns the table of runs and the table of lines as Parquet.
    ///
    /// # Errors
    /// The build has no Parquet.
    #[cfg(feature = "parquet")]
    pub fn parquet(&self) -> Result<[Vec<u8>; 2], Refusal> {
        let file = |rows| {
            parquet::bytes(&rows).map_err(|error| Refusal(format!("Parquet cannot be written: {error}")))
        };
        Ok([file(csv::rows_of_runs(self))?, file(csv::rows_of_lines(self))?])
    }

    /// Returns the table of runs and the table of lines as Parquet.
    ///
    /// # Errors
    /// The build has no Parquet.
    #[cfg(not(feature = "parquet"))]
    pub fn parquet(&self) -> Result<[Vec<u8>; 2], Refusal> {
        let says = "this build has no Parquet: give `--format csv`, or build with `cargo build --release --features \
                    parquet`";
        Err(Refusal(format!("`--format parquet`: {says}")))
    }

    fn figures(&self) -> Vec<Figure> {
        let of_studies =
            self.studies.iter().enumerate().flat_map(|(number, study)| figures::of_study(number, study));
        let of_conditions = self.conditions.iter().flat_map(|of| conditions::figures(of, &self.claims));
        of_conditions.chain(of_studies).collect()
    }
}

/// Returns the refusal of a scheme that `option` names and that was not measured; it lists the measured schemes.
fn unmeasured(option: &str, name: &str, studies: &[Study]) -> Refusal {
    let mut measured: Vec<&str> =
        studies.iter().flat_map(|study| &study.schemes).map(String::as_str).collect();
    measured.sort_unstable();
    measured.dedup();
    Refusal(format!("`{option} {name}`: was not measured here: give one of {}", measured.join(", ")))
}

/// Returns the title of a report: that of its conditions, otherwise that of a study (with a recipe, if there are
/// several studies), otherwise one with the folder.
fn title(studies: &[Study], conditions: Option<&Conditions>, folder: &str) -> String {
    match (conditions, studies) {
        (Some(conditions), _) => conditions::title(conditions),
        (None, [study]) => study.title.clone(),
        (None, studies) => match studies.iter().find(|study| study.is_of_recipe) {
            Some(study) => {
                format!("{}, and {} more", study.title, crate::text::plural(studies.len() - 1, "study"))
            }
            None => format!("Results in {folder}"),
        },
    }
}

#[cfg(test)]
mod tests;
