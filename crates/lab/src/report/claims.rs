//! Claims: statements, the conditions under which they hold, and their evidence.

use serde_json::Value;

use super::grid::Grid;
use super::varied::shown;
use crate::text::percent;

/// A claim, as `contend conditions` writes it.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The name of the claim.
    pub name: String,
    /// The statement, with its condition.
    pub statement: String,
    /// The command that tests the claim again.
    pub recheck: String,
    value: Value,
}

impl Claim {
    /// Reads a claim; `None` if the JSON is no claim.
    pub(super) fn read(value: &Value) -> Option<Self> {
        let text = |key: &str| Some(value[key].as_str()?.to_owned());
        let is_claim = value["kind"] == "claim";
        is_claim.then_some(Self {
            name: text("name")?,
            statement: text("statement")?,
            recheck: text("recheck").unwrap_or_default(),
            value: value.clone(),
        })
    }

    /// Returns the boxes of the predicate. Each box is a list of conditions on features.
    pub(super) fn predicate(&self) -> Vec<Vec<Condition>> {
        let boxes = self.value["predicate"].as_array().into_iter().flatten();
        boxes.map(|of| of.as_array().into_iter().flatten().filter_map(Condition::read).collect()).collect()
    }

    /// Returns the evidence of the claim as pairs of name and text.
    pub(super) fn facts(&self) -> Vec<(String, String)> {
        let value = &self.value;
        let mut facts = vec![("predicate".to_owned(), self.in_words())];
        let mut fact =
            |name: &str, text: Option<String>| facts.extend(text.map(|text| (name.to_owned(), text)));
        let (a, b) = (shown(&value["a"]), shown(&value["b"]));
        let winner = if value["winner"] == "b" { [&b, &a] } else { [&a, &b] };
        let ratio = &value["ratio"];
        fact(
            "ratio where it holds",
            ratio["median"].as_f64().map(|median| {
                let ends = match (ratio["p10"].as_f64(), ratio["p90"].as_f64()) {
                    (Some(low), Some(high)) => {
                        format!(", between {low:.2} and {high:.2} at eight of ten points")
                    }
                    _ => String::new(),
                };
                format!("{median:.2} in the median ({} to {}){ends}", winner[0], winner[1])
            }),
        );
        fact(
            "matters from",
            value["margin"].as_f64().map(|margin| format!("{margin:.2} ({} to {})", winner[0], winner[1])),
        );
        fact("held-out points", held_out(&value["held_out"]));
        let otherwise = &value["otherwise"];
        fact(
            &format!("with retry={}", shown(&otherwise["retry"])),
            held_out(&otherwise["held_out"])
                .map(|fared| format!("{fared}: {}", shown(&otherwise["verdict"]).replace('_', " "))),
        );
        fact("explored", explored(&value["exploration"]));
        let text = |value: &Value| Some(shown(value)).filter(|text| text != "null");
        fact("not so at", exceptions(&value["breadth"]));
        let lowered: Vec<String> =
            value["starvation"]["reasons"].as_array().into_iter().flatten().map(shown).collect();
        let lowered = if lowered.is_empty() { String::new() } else { format!(" ({})", lowered.join("; ")) };
        fact("trust", text(&value["trust"]).map(|trust| format!("{trust}{lowered}")));
        fact("build", text(&value["build"]));
        fact("evidence", value["evidence"].as_array().map(|runs| crate::text::plural(runs.len(), "run")));
        facts
    }

    fn in_words(&self) -> String {
        if let Some(words) = self.value["in_words"].as_str() {
            return words.to_owned();
        }
        let one = |conditions: &Vec<Condition>| {
            conditions.iter().map(Condition::in_words).collect::<Vec<_>>().join(" and ")
        };
        self.predicate().iter().map(one).collect::<Vec<_>>().join(", or ")
    }

    /// Returns the table of the mechanisms that were toggled to explain the claim.
    pub(super) fn mechanisms(&self) -> Grid {
        let head = [
            "mechanism",
            "setting",
            "from",
            "to",
            "at",
            "says",
            "gap before",
            "gap after",
            "share",
            "(interval)",
            "p",
        ];
        let mut grid = Grid::new(format!("Why: mechanisms toggled one at a time ({})", self.name), 6, &head);
        for of in self.value["mechanisms"].as_array().into_iter().flatten() {
            let text = |key: &str| {
                Some(shown(&of[key])).filter(|text| text != "null").unwrap_or_else(|| "-".to_owned())
            };
            let number =
                |value: &Value, show: fn(f64) -> String| value.as_f64().map_or_else(|| "-".to_owned(), show);
            let at = of["at"].as_object().into_iter().flatten();
            let at: Vec<String> = at.map(|(name, value)| format!("{name} = {}", shown(value))).collect();
            let interval = match (of["interval"]["low"].as_f64(), of["interval"]["high"].as_f64()) {
                (Some(low), Some(high)) => format!("({low:.2} .. {high:.2})"),
                _ => "-".to_owned(),
            };
            let mut cells = ["name", "setting", "from", "to"].map(text).to_vec();
            cells.extend([at.join(", "), text("says")]);
            cells.extend(["gap_before", "gap_after"].map(|key| number(&of[key], |gap| format!("{gap:.2}"))));
            cells.extend([
                number(&of["share"], percent),
                interval,
                number(&of["p_adjusted"], |p| format!("{p:.3}")),
            ]);
            grid.row("", cells);
        }
        grid
    }
}

/// A condition on a feature: an exclusive lower bound, an inclusive upper bound, or a set of values.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Condition {
    pub(super) feature: String,
    pub(super) above: Option<f64>,
    pub(super) at_most: Option<f64>,
    pub(super) one_of: Vec<String>,
}

impl Condition {
    fn read(value: &Value) -> Option<Self> {
        let one_of = value["one_of"].as_array().into_iter().flatten().map(shown).collect();
        Some(Self {
            feature: value["feature"].as_str()?.to_owned(),
            above: value["above"].as_f64(),
            at_most: value["at_most"].as_f64(),
            one_of,
        })
    }

    fn in_words(&self) -> String {
        let mut words = Vec::new();
        words.extend(self.above.map(|above| format!("{} > {}", self.feature, plot::plain(above))));
        words.extend(self.at_most.map(|most| format!("{} <= {}", self.feature, plot::plain(most))));
        if !self.one_of.is_empty() {
            words.push(format!("{} in {}", self.feature, self.one_of.join(", ")));
        }
        words.join(" and ")
    }
}

fn held_out(of: &Value) -> Option<String> {
    let (points, agree) = (of["points"].as_u64()?, of["agree"].as_u64()?);
    let share = of["share"].as_f64().map_or_else(String::new, |share| format!(" ({})", percent(share)));
    let interval = match (of["interval"]["low"].as_f64(), of["interval"]["high"].as_f64()) {
        (Some(low), Some(high)) => {
            format!(", {} to {} with {} confidence", percent(low), percent(high), confidence(of))
        }
        _ => String::new(),
    };
    let covered = of["covered"].as_u64().zip(of["covered_agree"].as_u64());
    let covered = covered.filter(|(all, _)| *all > 0);
    let covered =
        covered.map_or_else(String::new, |(all, agree)| format!(", {agree} of the {all} that it covers"));
    let undecided = of["undecided"].as_u64().filter(|number| *number > 0);
    let undecided = undecided.map_or_else(String::new, |number| format!("; {number} more decided nothing"));
    Some(format!("{agree} of {points} held-out points agree{share}{interval}{covered}{undecided}"))
}

/// Returns the measured points at which the claim does not hold; `None` if there are none.
fn exceptions(breadth: &Value) -> Option<String> {
    let one = |of: &Value| {
        let at = of["at"].as_object().into_iter().flatten();
        let at: Vec<String> = at.map(|(name, value)| format!("{name} = {}", shown(value))).collect();
        let ratio = of["ratio"].as_f64().map_or_else(String::new, |ratio| format!(" ({ratio:.2})"));
        let ahead = of["ahead"].as_str().map_or_else(String::new, |ahead| format!(": {ahead} is ahead"));
        format!("{}{ratio}{ahead}", at.join(", "))
    };
    let all: Vec<String> = breadth["exceptions"].as_array().into_iter().flatten().map(one).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

fn confidence(of: &Value) -> String {
    of["interval"]["confidence"].as_f64().map_or_else(|| "unknown".to_owned(), percent)
}

fn explored(of: &Value) -> Option<String> {
    let points = of["points"].as_u64()? as usize;
    let runs = of["runs"]
        .as_u64()
        .map_or_else(String::new, |runs| format!(", {}", crate::text::plural(runs as usize, "run")));
    Some(format!("{}{runs}", crate::text::plural(points, "point")))
}
