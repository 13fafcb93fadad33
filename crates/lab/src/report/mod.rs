//! Reports: what a directory of results says, in words, tables and plots.
//!
//! A [`Report`] is read once and told in many forms: as text for a terminal, as one page that opens anywhere without a
//! network, as plots for papers, as tables for programs. All forms take their figures from the same [`Study`], whose
//! lines are those of [`sweep`](crate::sweep); no form computes one again, and the page's script only hides and shows.
//!
//! Nothing is said without its condition: a ratio stands beside the point at which it was measured and the interval
//! that
//! it has.

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

use serde_json::Value;

use crate::Refusal;
use crate::sweep::machine;
use conditions::Conditions;
use figures::Figure;
use material::Material;

pub use claims::Claim;
pub use csv::{MARK as CSV_MARK, lines as lines_csv, runs as runs_csv};
pub use details::{Details, Latency, OfType};
pub use file::write;
pub use html::{MARK as HTML_MARK, page};
pub use study::{Leader, Measured, Study};
pub use told::text;
pub use varied::Varied;

/// What a directory of results says.
#[derive(Debug)]
pub struct Report {
    /// What it is about.
    pub title: String,
    /// The directory, as its reader called it.
    pub folder: String,
    /// Runs that belong together.
    pub studies: Vec<Study>,
    /// What was claimed of the results, each with what it rests on.
    pub claims: Vec<Claim>,
    /// The machines, each once.
    pub machines: Vec<Value>,
    /// What was in the directory and could not be shown, a sentence each.
    pub remarks: Vec<String>,
    conditions: Option<Conditions>,
}

/// What the files of plots begin with, so that they are known for what they are.
pub const SVG_MARK: &str = "<!-- contend plot -->\n";

/// What the files of Parquet begin with, ours and all others: they are told apart by their names only.
pub const PARQUET_MARK: &str = "PAR1";

/// A plot as a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plot {
    /// The file's name, without a directory.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// The file.
    pub svg: String,
}

impl Report {
    /// Reads a directory that `contend sweep`, `contend run` or `contend conditions` filled, or a file of results.
    /// `against` is the scheme that the others are compared with, where it was measured; without it, the first of the
    /// recipe.
    ///
    /// # Errors
    /// What cannot be read, is no result, or is nothing at all; a scheme that was not measured.
    pub fn read(path: &Path, against: Option<&str>) -> Result<Self, Refusal> {
        let material = Material::read(path)?;
        let studies = study::studies(&material, against);
        if let Some(name) = against.filter(|name| !studies.iter().any(|study| study.first == *name)) {
            return Err(unmeasured("--against", name, &studies));
        }
        let mut machines: Vec<Value> = Vec::new();
        for machine in material.runs.iter().map(machine) {
            if !machine.is_null() && !machines.contains(&machine) {
                machines.push(machine);
            }
        }
        let folder = path.display().to_string();
        let title = title(&studies, material.conditions.as_ref(), &folder);
        let Material { conditions, claims, remarks, .. } = material;
        Ok(Self { title, folder, studies, claims, machines, remarks, conditions })
    }

    /// All plots, each as a file of its own.
    pub fn plots(&self) -> Vec<Plot> {
        self.figures().iter().map(Figure::file).collect()
    }

    /// A plot for each scheme of its throughput, beside that of these others, which are the same in all of them.
    ///
    /// # Errors
    /// When one of the others was not measured, and when there is nothing to draw a line along.
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

    /// The tables of a row a run and of a row a line as Parquet.
    ///
    /// # Errors
    /// In a build without it.
    #[cfg(feature = "parquet")]
    pub fn parquet(&self) -> Result<[Vec<u8>; 2], Refusal> {
        let file = |rows| {
            parquet::bytes(&rows).map_err(|error| Refusal(format!("Parquet cannot be written: {error}")))
        };
        Ok([file(csv::rows_of_runs(self))?, file(csv::rows_of_lines(self))?])
    }

    /// The tables of a row a run and of a row a line as Parquet.
    ///
    /// # Errors
    /// In a build without it.
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

/// That `option` names a scheme that was not measured, and which were.
fn unmeasured(option: &str, name: &str, studies: &[Study]) -> Refusal {
    let mut measured: Vec<&str> =
        studies.iter().flat_map(|study| &study.schemes).map(String::as_str).collect();
    measured.sort_unstable();
    measured.dedup();
    Refusal(format!("`{option} {name}`: was not measured here: give one of {}", measured.join(", ")))
}

/// What a report is called: by its recipe when there is one.
fn title(studies: &[Study], conditions: Option<&Conditions>, folder: &str) -> String {
    match (conditions, studies) {
        (Some(conditions), _) => conditions.title(),
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
