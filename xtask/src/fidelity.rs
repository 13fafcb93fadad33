//! The table of fidelity in the book: what the authors of schemes claim, beside what was found here. It is written from
//! the claims that `contend reproduce` keeps.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::house::{Checked, House};

const PAGE: &str = "docs/book/fidelity.md";
const BEGIN: &str = "<!-- The table is written by `cargo xtask fidelity DIR`. -->\n";
const END: &str = "<!-- End of the table. -->\n";

/// Writes the table of the claims below a folder: those of experiments whose ids begin with `A-`.
pub(crate) fn write(house: &House, folder: &str) -> Checked {
    let mut claims = Vec::new();
    find(Path::new(folder), &mut claims)?;
    if claims.is_empty() {
        return Err(format!(
            "no claims below {folder}: run `contend reproduce A-MOCC --out {folder}/a-mocc`, and so on"
        ));
    }
    claims.sort_unstable_by_key(|claim| claim["name"].to_string());
    let page = house.root.join(PAGE);
    let text = fs::read_to_string(&page).map_err(|error| format!("cannot read {PAGE}: {error}"))?;
    let written = place(&text, &table(&claims)).ok_or(format!("{PAGE} has no place for the table"))?;
    fs::write(&page, written).map_err(|error| format!("cannot write {PAGE}: {error}"))
}

/// Adds all claims of authors in a folder and in the folders in it.
fn find(folder: &Path, claims: &mut Vec<Value>) -> Checked {
    let cannot =
        |path: &Path, error: &dyn std::fmt::Display| format!("cannot read {}: {error}", path.display());
    let entries = fs::read_dir(folder).map_err(|error| cannot(folder, &error))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            find(&path, claims)?;
        } else if name.starts_with("A-") && path.extension().is_some_and(|ending| ending == "json") {
            let text = fs::read_to_string(&path).map_err(|error| cannot(&path, &error))?;
            claims.push(serde_json::from_str(&text).map_err(|error| cannot(&path, &error))?);
        }
    }
    Ok(())
}

/// Returns the page with this table in place of the one that it has.
fn place(page: &str, table: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{table}\n{END}{after}"))
}

/// Returns the table, with a line for each relation at each of its points.
fn table(claims: &[Value]) -> String {
    let mut lines = String::from(
        "| experiment | source | claim | its setting | tested here | wanted | found (interval) | outcome | trust |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for claim in claims {
        // Without the section of the paper.
        let place = text(&claim["source"]["place"]);
        let paper = place.rsplit_once(", ").map_or(&*place, |(paper, _)| paper);
        let mut of_claim = format!("{paper} | {} | {}", text(&claim["claim"]), text(&claim["condition"]));
        let relations = claim["relations"].as_array().into_iter().flatten();
        let mut head = format!("{} ({})", text(&claim["name"]), text(&claim["verdict"]));
        for relation in relations {
            for place in relation["places"].as_array().into_iter().flatten() {
                let [found, low, high] =
                    [&place["estimate"], &place["interval"]["low"], &place["interval"]["high"]].map(
                        |value| value.as_f64().map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")),
                    );
                let (says, wanted, outcome) =
                    (text(&relation["says"]), text(&relation["wanted"]), text(&place["outcome"]));
                let trust = text(&claim["trust"]);
                writeln!(
                    lines,
                    "| {head} | {of_claim} | {says} | {wanted} | {found} ({low} .. {high}) | {outcome} | {trust} |"
                )
                .expect("a string takes any text");
                head.clear();
                " |  | ".clone_into(&mut of_claim);
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_table_replaces_the_one_before_and_nothing_else() {
        let claim = json!({
            "name": "A-X", "verdict": "holds", "trust": "B", "source": { "place": "Them: It, 2020, abstract" },
            "claim": "X is fast.", "condition": "YCSB.",
            "relations": [{ "says": "x is ahead", "wanted": "1 or more", "places": [
                { "estimate": 1.234, "interval": { "low": 1.1, "high": 1.3 }, "outcome": "holds" },
                { "estimate": null, "interval": null, "outcome": "no figure" },
            ] }],
        });
        let table = table(&[claim]);
        let lines: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "| A-X (holds) | Them: It, 2020 | X is fast. | YCSB. | x is ahead | 1 or more | 1.23 (1.10 .. 1.30) \
                 | holds | B |",
                "|  |  |  |  | x is ahead | 1 or more | - (- .. -) | no figure | B |",
            ]
        );
        let page = format!("before\n{BEGIN}old\n{END}after\n");
        assert_eq!(place(&page, "new\n").as_deref(), Some(&*format!("before\n{BEGIN}\nnew\n\n{END}after\n")));
        assert_eq!(place("no place", "new"), None);
    }
}
