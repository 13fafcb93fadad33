//! The contents of a directory of results: runs, the recipes that asked for them, conditions and claims.

use std::fs;
use std::path::{Path, PathBuf};

use results::{Claim, Conditions, Line, Run, Unread};

use crate::sweep::Recipe;
use crate::{Catalogue, Refusal};

/// The contents of a directory of results, or of a file of results.
#[derive(Debug, Default)]
pub(super) struct Material {
    /// The runs, sorted by file name.
    pub(super) runs: Vec<Run>,
    /// The recipes, sorted by file name.
    pub(super) recipes: Vec<Recipe>,
    pub(super) conditions: Option<Conditions>,
    pub(super) claims: Vec<Claim>,
    /// Remarks on contents that cannot be shown, one sentence each.
    pub(super) remarks: Vec<String>,
}

impl Material {
    /// Reads a directory, or a file of results.
    pub(super) fn read(catalogue: Catalogue, path: &Path) -> Result<Self, Refusal> {
        let mut material = Self::default();
        for file in runs_of(path)? {
            material.take_runs(&file)?;
        }
        if path.is_dir() {
            for file in files(path, "toml")? {
                material.take_recipe(catalogue, &file)?;
            }
            let conditions = path.join("conditions.json");
            if conditions.exists() {
                let Some(Line::Conditions(of)) = line(&conditions)? else { return Err(odd(&conditions)) };
                material.conditions = Some(*of);
            }
            let claims = path.join("claims");
            let claims = if claims.is_dir() { files(&claims, "json")? } else { Vec::new() };
            for file in claims {
                let Some(Line::Claim(claim)) = line(&file)? else { return Err(odd(&file)) };
                material.claims.push(*claim);
            }
        }
        if material.runs.is_empty() && material.claims.is_empty() && material.conditions.is_none() {
            return Err(Refusal(format!(
                "`{0}`: has no result of a run: give a directory that `contend sweep FILE --out {0}` or \
                 `contend run WORKLOAD --out {0}` fills",
                path.display()
            )));
        }
        Ok(material)
    }

    fn take_runs(&mut self, path: &Path) -> Result<(), Refusal> {
        for line in text(path)?.lines().filter(|line| !line.trim().is_empty()) {
            let read = results::parse(line).map_err(|unread| {
                let says = "move it elsewhere, and run the command again";
                Refusal(format!("`{}`: {unread}: {says}", path.display()))
            })?;
            let Some(Line::Run(run)) = read else { continue };
            let named = [("workload", &run.choices.workload), ("scheme", &run.choices.scheme)];
            if let Some((name, _)) = named.into_iter().find(|(_, value)| value.is_empty()) {
                return Err(Refusal(format!(
                    "`{}`: is no result of a run, for it has no `{name}`: move it elsewhere",
                    path.display()
                )));
            }
            self.runs.push(*run);
        }
        Ok(())
    }

    fn take_recipe(&mut self, catalogue: Catalogue, path: &Path) -> Result<(), Refusal> {
        match Recipe::parse(catalogue, &text(path)?) {
            Ok(recipe) => self.recipes.push(recipe),
            // A recipe of another version may name other settings; its results are still results.
            Err(refusal) => self.remarks.push(format!(
                "{} is no recipe that this version understands, so its runs are shown without its title and reasons \
                 ({})",
                path.file_name().unwrap_or_default().to_string_lossy(),
                refusal.0.lines().next().unwrap_or_default()
            )),
        }
        Ok(())
    }
}

/// Returns the files that may hold runs.
fn runs_of(path: &Path) -> Result<Vec<PathBuf>, Refusal> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let folder = if path.join("runs").is_dir() { path.join("runs") } else { path.to_owned() };
    let mut found = files(&folder, "json")?;
    found.extend(files(&folder, "jsonl")?);
    found.retain(|file| file.file_name().is_none_or(|name| name != "conditions.json"));
    Ok(found)
}

/// Returns the files with this extension, sorted by name.
fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, Refusal> {
    let all = fs::read_dir(folder).map_err(|error| unread(folder, &error))?;
    let mut found = Vec::new();
    for file in all {
        let path = file.map_err(|error| unread(folder, &error))?.path();
        if path.is_file() && path.extension().is_some_and(|its| its == ending) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn text(path: &Path) -> Result<String, Refusal> {
    fs::read_to_string(path).map_err(|error| unread(path, &error))
}

/// Reads a file that has one result.
fn line(path: &Path) -> Result<Option<Line>, Refusal> {
    results::parse(&text(path)?).map_err(|error| match error {
        Unread::NoResult(_) => odd(path),
        Unread::NotJson(error) => Refusal(format!(
            "`{}`: is not JSON ({error}): move it elsewhere, and run the command again",
            path.display()
        )),
        Unread::Version(_) => Refusal(format!("`{}`: {error}", path.display())),
    })
}

fn odd(path: &Path) -> Refusal {
    Refusal(format!(
        "`{}`: is not what `contend conditions` of this version writes: move it elsewhere, and run the command again",
        path.display()
    ))
}

fn unread(path: &Path, error: &std::io::Error) -> Refusal {
    Refusal(format!(
        "`{}`: cannot be read ({error}): give a directory that `contend sweep` or `contend run --out` filled",
        path.display()
    ))
}
