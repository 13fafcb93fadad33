//! The settings of a study, and the region of settings that it tested.

use super::grid::Grid;
use super::study::Study;
use super::varied::{MISSING, ordered};

/// Options that drive a run and are not settings of the catalogue: name, meaning, and what the option stresses.
const DRIVES: [(&str, &str, &str); 6] = [
    ("workers", "threads that execute", "conflicts, and the scheduler beyond the cores"),
    ("clients", "logical sessions in flight", "waits, which others may use, and conflicts"),
    ("retry", "what a client does after an abort", "wasted work under contention"),
    ("pinned", "whether workers stay on their cores", "the scheduler and caches"),
    ("asked_s", "seconds that were measured", "rare events: short runs miss them"),
    ("warmup_s", "seconds before them", "cold caches and growing tables"),
];

/// Returns a table of the settings that vary or are off their standard values, with the reason, the meaning and the
/// stress of each.
pub(super) fn off_standard(study: &Study) -> Grid {
    let mut grid = Grid::new(
        "What was chosen: all that varies or is off its standard value",
        6,
        &["setting", "values", "standard", "why", "what it does", "what it stresses"],
    );
    for (name, values) in study.fixed() {
        let known = study.catalogue.setting(&name).ok();
        let values = ordered(values.into_iter().collect());
        let is_off = known.is_none_or(|setting| values.iter().any(|value| value != setting.default));
        if values.len() < 2 && !is_off {
            continue;
        }
        let is_off = known.is_some() && is_off;
        let missing = if is_off && study.is_of_recipe { "NO REASON WAS GIVEN" } else { "" };
        let why = study.why.get(&name).map_or(missing, String::as_str).to_owned();
        let drive = DRIVES.iter().find(|(drive, ..)| *drive == name);
        let (standard, doc, stresses) = match (known, drive) {
            (Some(setting), _) => (setting.default, setting.doc, setting.stresses),
            (None, Some((_, doc, stresses))) => ("", *doc, *stresses),
            (None, None) => ("", "", ""),
        };
        let label = if is_off { format!("{name} *") } else { name.clone() };
        let said = [standard, doc, stresses].map(str::to_owned);
        let [standard, doc, stresses] = said;
        grid.row("", vec![label, listed(&values), standard, why, doc, stresses]);
    }
    grid
}

/// Returns a table of every setting: covered values, legal values, number of levels, and values that were not covered.
pub(super) fn tested(study: &Study) -> Grid {
    let mut grid = Grid::new(
        "The tested region: outside of it nothing is known",
        5,
        &["setting", "covered", "legal", "levels", "what was not covered"],
    );
    for (name, values) in study.fixed() {
        let values: Vec<String> = ordered(values.into_iter().filter(|value| value != MISSING).collect());
        let legal = study
            .catalogue
            .setting(&name)
            .map_or_else(|_| String::new(), |setting| setting.range.to_string());
        let numbers: Option<Vec<f64>> = values.iter().map(|value| value.parse().ok()).collect();
        let covered = match (&numbers, &values[..]) {
            (Some(_), [first, .., last]) => format!("{first} to {last}"),
            _ => listed(&values),
        };
        let missed = match (numbers.is_some(), values.len()) {
            (_, 0) => "all of it".to_owned(),
            (_, 1) => "all but this value".to_owned(),
            (true, 2) => "between and beyond the two".to_owned(),
            (true, levels) => format!("between the {levels} levels and beyond them"),
            (false, _) => "all other values".to_owned(),
        };
        grid.row("", vec![name, covered, legal, values.len().to_string(), missed]);
    }
    grid
}

/// Returns the tested region as a sentence.
pub(super) fn sentence(study: &Study) -> String {
    let told = |axis: &super::Varied| match (axis.numbers(), &axis.values[..]) {
        (Some(numbers), _) => {
            let (low, high) =
                numbers.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &number| {
                    (low.min(number), high.max(number))
                });
            format!(
                "{} from {} to {} ({} levels)",
                axis.name,
                plot::plain(low),
                plot::plain(high),
                numbers.len()
            )
        }
        (None, values) => format!("{} in {}", axis.name, values.join(", ")),
    };
    let axes: Vec<String> = study.axes.iter().map(told).collect();
    if axes.is_empty() {
        return "One point was tested: nothing is known about other points.".to_owned();
    }
    format!(
        "Tested: {}, all else fixed. Nothing is known outside of this region, nor between its levels, nor for other \
         values of the fixed settings.",
        axes.join("; ")
    )
}

/// Returns the values as a list, or their number and range if there are more than 12.
fn listed(values: &[String]) -> String {
    match values {
        [first, .., last] if values.len() > 12 => format!("{} values from {first} to {last}", values.len()),
        _ => values.join(", "),
    }
}
