//! Maps over two axes: the leading scheme at each point, and the points where the ranking of two schemes flips.

use plot::{Cell, Map, Paint, Panel};
use stats::Verdict;

use super::figures::{Drawn, Figure, look};
use super::grid::Grid;
use super::study::Leader;
use crate::sweep::verdict_name;
use crate::text::ratio_interval;

impl Drawn<'_> {
    /// Returns the axes of maps: the axis of `across`, and the longest of the others.
    fn plane(&self) -> Option<(usize, Option<usize>)> {
        let x = self.across()?;
        let others =
            self.study.axes.iter().enumerate().filter(|(at, axis)| *at != x && axis.values.len() > 1);
        let y =
            others.max_by_key(|(at, axis)| (axis.values.len(), core::cmp::Reverse(*at))).map(|(at, _)| at);
        Some((x, y))
    }

    /// Returns the maps of all planes. `cell` makes the cell of a point.
    fn maps(&self, what: &str, cell: &dyn Fn(&[String]) -> Option<Cell>) -> Vec<Panel> {
        let Some((x, y)) = self.plane() else { return Vec::new() };
        let blank = [String::new()];
        let axes: Vec<usize> = [x].into_iter().chain(y).collect();
        let (label_x, label_y) = (
            self.study.axes[x].label(self.study.catalogue),
            y.map_or_else(String::new, |y| self.study.axes[y].label(self.study.catalogue)),
        );
        let of_y: &[String] = y.map_or(&blank, |y| &self.study.axes[y].values);
        let panel = |head: &Vec<String>| {
            let mut cells = Vec::new();
            for (at_x, value_x) in self.study.axes[x].values.iter().enumerate() {
                for (at_y, value_y) in of_y.iter().enumerate() {
                    let mut point = head.clone();
                    point[x].clone_from(value_x);
                    if let Some(y) = y {
                        point[y].clone_from(value_y);
                    }
                    let key = self.point_key(&point, &[]);
                    cells.extend(cell(&point).map(|cell| Cell {
                        x: at_x,
                        y: at_y,
                        key: join(&key, &cell.key),
                        ..cell
                    }));
                }
            }
            let words = self.study.point_in_words(head, &axes);
            let title =
                [what, &words].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ");
            let name = format!("Map of {what} over {label_x} and {label_y}: {words}");
            let (x, key) =
                ((label_x.as_str(), self.study.axes[x].values.as_slice()), self.point_key(head, &axes));
            Map { title: &title, name: &name, x, y: (&label_y, of_y), cells, key: &key }.panel()
        };
        self.panels_without(&axes).iter().map(panel).collect()
    }
}

fn join(a: &str, b: &str) -> String {
    [a, b].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Returns the maps of the leading scheme at each point.
pub(super) fn leaders(drawn: Drawn<'_>) -> Option<Figure> {
    let study = drawn.study;
    if study.schemes.len() < 2 || study.leaders.is_empty() {
        return None;
    }
    let cell = |point: &[String]| {
        let leader = study.leaders.iter().find(|leader| leader.point == point)?;
        let is_decided = leader.verdict == Verdict::Faster;
        Some(Cell {
            x: 0,
            y: 0,
            paint: Paint::Of(look(study, &leader.scheme)),
            text: leader.scheme.clone(),
            below: leader
                .comparison
                .map_or_else(String::new, |of| format!("{:.2} of {}", of.ratio, leader.second)),
            is_decided,
            says: sentence(leader),
            key: String::new(),
        })
    };
    Some(Figure {
        id: drawn.id("leaders"),
        title: "Who is ahead where".to_owned(),
        caption: "The scheme that is faster than most others in pairs of the same repetition, and its ratio to the \
                  next. Strong colour and bold: its \
                  interval lies beyond 5% of difference with 90% confidence. Pale: ahead in these runs, and not \
                  decided."
            .to_owned(),
        legend: drawn.legend(),
        legend_keys: Vec::new(),
        panels: drawn.maps("", &cell),
        columns: 2,
        grid: leaders_grid(drawn),
    })
}

/// Returns the table of the leading schemes.
pub(super) fn leaders_grid(drawn: Drawn<'_>) -> Grid {
    let study = drawn.study;
    let mut grid =
        Grid { caption: "Who is ahead".to_owned(), words: study.axes.len() + 2, ..Grid::default() };
    grid.head = drawn.names();
    grid.head.extend(["ahead", "of", "ratio", "(interval)", "confidence", "verdict"].map(str::to_owned));
    for leader in &study.leaders {
        let mut cells = leader.point.clone();
        cells.extend([leader.scheme.clone(), leader.second.clone()]);
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let of = leader.comparison.as_ref();
        cells.push(or_dash(of.map(|of| format!("{:.2}", of.ratio))));
        cells.push(or_dash(of.map(|of| ratio_interval(of.interval.low, of.interval.high))));
        cells.push(or_dash(of.map(|of| crate::text::percent(of.interval.confidence))));
        cells.push(verdict_name(leader.verdict).to_owned());
        grid.row(drawn.point_key(&leader.point, &[]), cells);
    }
    grid
}

/// Returns a sentence on the leading scheme at a point.
pub(super) fn sentence(leader: &Leader) -> String {
    match &leader.comparison {
        Some(of) => format!(
            "{} has {:.2} times the throughput of {} {}, confidence {}: {}",
            leader.scheme,
            of.ratio,
            leader.second,
            ratio_interval(of.interval.low, of.interval.high),
            crate::text::percent(of.interval.confidence),
            if leader.verdict == Verdict::Faster { "decided" } else { "not decided" }
        ),
        None => {
            format!("{} is ahead; there are no pairs with {}", leader.scheme, leader.second)
        }
    }
}

/// Returns the maps of the ratio of each scheme to the first, which show where the ranking flips.
pub(super) fn crossovers(drawn: Drawn<'_>) -> Option<Figure> {
    let study = drawn.study;
    drawn.plane()?.1?;
    let first = &study.first;
    let mut panels = Vec::new();
    for scheme in study.schemes.iter().filter(|scheme| *scheme != first) {
        let cell = |point: &[String]| {
            let line = study.line(point, scheme)?;
            let of = line.line.against_first?;
            Some(Cell {
                x: 0,
                y: 0,
                paint: Paint::Ratio(of.ratio),
                text: format!("{:.2}", of.ratio),
                below: ratio_interval(of.interval.low, of.interval.high),
                is_decided: !of.interval.contains(1.0)
                    && of.interval.confidence >= crate::sweep::CONFIDENCE - 1e-12,
                says: format!("{scheme} against {first}: {:.2}", of.ratio),
                key: String::new(),
            })
        };
        let key = drawn.scheme_key(scheme);
        let maps = drawn.maps(&format!("{scheme} / {first}"), &cell);
        panels.extend(maps.into_iter().map(|panel| Panel { key: join(&key, &panel.key), ..panel }));
    }
    let shown = panels.len().min(super::figures::PANELS_MAX);
    panels.truncate(shown);
    let mut grid =
        Grid { caption: format!("Ratios to {first}"), words: study.axes.len() + 1, ..Grid::default() };
    grid.head = drawn.names();
    grid.head.extend(["scheme", "ratio", "(interval)", "excludes 1"].map(str::to_owned));
    for line in &study.lines {
        let Some(of) = line.line.against_first else { continue };
        let mut cells = line.line.point.clone();
        cells.extend([line.line.scheme.clone(), format!("{:.2}", of.ratio)]);
        cells.push(ratio_interval(of.interval.low, of.interval.high));
        cells.push(if of.interval.contains(1.0) { "no" } else { "yes" }.to_owned());
        grid.row(drawn.line_key(line), cells);
    }
    Some(Figure {
        id: drawn.id("crossover"),
        title: "Where the ranking flips".to_owned(),
        caption: format!(
            "The ratio of a scheme to {first}, with its interval below. Blue: faster than {first}; orange: slower; a \
             dot and \
             bold: the interval excludes 1 with 90% confidence. Another pair: `--against SCHEME`."
        ),
        legend: Vec::new(),
        legend_keys: Vec::new(),
        panels,
        columns: 2,
        grid,
    })
}
