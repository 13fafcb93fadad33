//! Conditions: scatter plots of the points at which two schemes were compared, with the predicted region.

use std::collections::{BTreeMap, BTreeSet};

use plot::{Axis, Dot, Look, Region, Scale, Scatter, plain};
use serde_json::Value;

use super::claims::Claim;
use super::figures::Figure;
use super::grid::Grid;
use super::varied::{ordered, shown};
use crate::text::plural;

/// The results of `contend conditions`: the explored points of a comparison of two schemes.
#[derive(Clone, Debug)]
pub(super) struct Conditions {
    workload: String,
    a: String,
    b: String,
    margin: f64,
    /// The names of the varied settings, and (in `kinds`) the kind of each: `linear`, `log`, `choice` and the like.
    space: Vec<String>,
    kinds: Vec<String>,
    /// The places on a single axis at which the ranking flips, as sentences.
    crossings: Vec<String>,
    /// For a small space: the number of its points, and the number of points that were not measured.
    counted: Option<(u64, u64)>,
    /// The reasons why runs count as starved, as phrases.
    starved: Vec<String>,
    points: Vec<Point>,
}

#[derive(Clone, Debug)]
struct Point {
    /// The values of the varied settings, in the order of the space.
    values: Vec<String>,
    /// The features of the point's settings by name, as far as they are numbers.
    features: BTreeMap<String, f64>,
    role: String,
    pairs: u64,
    ratio: Option<f64>,
    interval: Option<(f64, f64)>,
    class: String,
    predicted: Option<String>,
}

impl Conditions {
    /// Reads the JSON of a conditions file; `None` if the JSON is of another kind.
    pub(super) fn read(value: &Value) -> Option<Self> {
        if value["kind"] != "conditions" {
            return None;
        }
        let text = |key: &str| Some(value[key].as_str()?.to_owned());
        let space = value["space"].as_array()?.iter();
        let space: Vec<String> =
            space.map(|of| Some(of["name"].as_str()?.to_owned())).collect::<Option<_>>()?;
        let kinds = value["space"].as_array()?.iter().map(|of| shown(&of["kind"])).collect();
        let points = value["points"].as_array()?.iter().map(|point| Point::read(point, &space)).collect();
        let crossings = value["crossings"].as_array().into_iter().flatten();
        let crossings = crossings.filter_map(|of| crossing(of, space.first()?)).collect();
        let starved = value["starvation"]["reasons"].as_array().into_iter().flatten().map(shown).collect();
        Some(Self {
            counted: value["space_points"].as_u64().zip(value["points_left"].as_u64()),
            starved,
            workload: text("workload")?,
            a: text("a")?,
            b: text("b")?,
            margin: value["margin"].as_f64()?,
            space,
            kinds,
            crossings,
            points,
        })
    }

    pub(super) fn title(&self) -> String {
        format!("{}: where is {} ahead of {}, and where not?", self.workload, self.a, self.b)
    }

    /// Returns the findings as sentences.
    pub(super) fn findings(&self) -> String {
        let count = |class: &str| self.points.iter().filter(|point| point.class == class).count();
        let held_out: Vec<&Point> = self.points.iter().filter(|point| point.role == "held_out").collect();
        let judged = held_out.iter().filter(|point| point.predicted.is_some()).count();
        let agree = held_out.iter().filter(|point| point.predicted.as_ref() == Some(&point.class)).count();
        let fresh = if judged > 0 {
            format!(
                " On {judged} held-out points, which no rule was made from, {agree} agree with what was predicted."
            )
        } else {
            " No held-out points were measured, so nothing is known of how well the rule holds elsewhere."
                .to_owned()
        };
        let counted = self.counted.map_or_else(String::new, |(points, left)| {
            format!(" The space has {}, of which {left} were not measured.", plural(points as usize, "point"))
        });
        let starved = if self.starved.is_empty() {
            String::new()
        } else {
            format!(" STARVED: {}.", self.starved.join("; "))
        };
        format!(
            "Of {}, {} is ahead by {:.2} or more at {}, {} at {}, and at {} neither is.{fresh}{}{counted}{starved}",
            plural(self.points.len(), "point"),
            self.a,
            self.margin,
            count("a"),
            self.b,
            count("b"),
            self.points.len() - count("a") - count("b"),
            self.crossings.concat(),
        )
    }

    /// Returns the numbers of a coordinate, and its axis: the values themselves if all are numbers, otherwise their
    /// positions among the sorted words.
    fn numbers(&self, axis: usize) -> (Vec<f64>, Axis) {
        let texts: Vec<&String> = self.points.iter().map(|point| &point.values[axis]).collect();
        let name = &self.space[axis];
        let numbers: Option<Vec<f64>> = texts.iter().map(|text| text.parse::<f64>().ok()).collect();
        if let Some(numbers) = numbers {
            let mut levels = numbers.clone();
            levels.sort_by(f64::total_cmp);
            levels.dedup();
            if levels.len() <= LEVELS_MAX {
                return (numbers, Axis::measured_at(name.clone(), &levels, plain));
            }
            let all = numbers.iter().copied();
            let is_log = self.kinds[axis].starts_with("log");
            let scale = if is_log { Scale::log_over(all) } else { Scale::over(all) };
            return (numbers, Axis::numbers(name.clone(), scale, plain));
        }
        let mut words: Vec<String> = ordered(texts.iter().map(|text| (*text).clone()).collect());
        words.dedup();
        let place = |text: &&String| words.iter().position(|word| word == *text).unwrap_or(0) as f64;
        (texts.iter().map(place).collect(), Axis::words(name.clone(), &words))
    }

    fn in_words(&self, class: &str) -> String {
        match class {
            "a" => format!("{} ahead", self.a),
            "b" => format!("{} ahead", self.b),
            _ => "level".to_owned(),
        }
    }
}

/// Returns a crossing as a sentence.
fn crossing(of: &Value, axis: &str) -> Option<String> {
    let (low, high) = (of["low"].as_f64()?, of["high"].as_f64()?);
    let ahead = of["ahead_from_high"].as_str()?;
    Some(format!(" The ranking flips between {axis} = {low} and {high}: from there on {ahead} is ahead."))
}

impl Point {
    fn read(value: &Value, space: &[String]) -> Self {
        let interval = &value["interval"];
        let features = value["features"].as_object().into_iter().flatten();
        Self {
            values: space.iter().map(|name| shown(&value["point"][name])).collect(),
            features: features.filter_map(|(name, value)| Some((name.clone(), value.as_f64()?))).collect(),
            role: shown(&value["role"]),
            pairs: value["pairs"].as_u64().unwrap_or(0),
            ratio: value["ratio"].as_f64(),
            interval: interval["low"].as_f64().zip(interval["high"].as_f64()),
            class: shown(&value["class"]),
            predicted: value["predicted"].as_str().map(str::to_owned),
        }
    }

    fn is_surprise(&self) -> bool {
        self.predicted.as_ref().is_some_and(|predicted| *predicted != self.class)
    }

    fn ratio_in_words(&self) -> (String, String) {
        let ratio = self.ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"));
        let interval =
            self.interval.map_or_else(|| "-".to_owned(), |(low, high)| format!("({low:.2} .. {high:.2})"));
        (ratio, interval)
    }
}

/// The largest number of distinct values for which each value of an axis has its own label.
const LEVELS_MAX: usize = 8;
/// The largest number of pairs of coordinates for which scatters are drawn.
const PLANES_MAX: usize = 3;

/// Returns the look of a class: blue and orange for the two schemes, as in maps, and grey for neither.
const fn look(class: &str) -> Look {
    match class.as_bytes() {
        b"a" => Look(0),
        b"b" => Look(1),
        _ => Look(5),
    }
}

/// Returns the figures of the explored points.
pub(super) fn figures(conditions: &Conditions, claims: &[Claim]) -> Vec<Figure> {
    let axes = conditions.space.len();
    let planes = (0..axes).flat_map(|x| (x + 1..axes).map(move |y| (x, y))).take(PLANES_MAX);
    let panels: Vec<_> = planes.map(|(x, y)| scatter(conditions, claims, (x, y))).collect();
    let legend = ["a", "b", "level"].map(|class| (conditions.in_words(class), look(class))).to_vec();
    if panels.is_empty() {
        return Vec::new();
    }
    let points = Figure {
        id: "conditions".to_owned(),
        title: format!("Where {} is ahead of {}", conditions.a, conditions.b),
        caption: "Each mark is a point at which both were measured side by side. Small: explored; of middle size: \
                  where the \
                  ranking flips, looked at more closely; large outlines: fresh random points, which tested the rule. A \
                  point that was not as predicted says so. The shaded boxes are the rule's."
            .to_owned(),
        legend,
        legend_keys: Vec::new(),
        panels,
        columns: 2,
        grid: grid(conditions),
    };
    crossover(conditions, claims, &points).into_iter().chain([points]).collect()
}

/// Returns plots of the throughput ratio over each quantity in which a claim is stated. The ranking flips where the
/// marks cross 1.
fn crossover(conditions: &Conditions, claims: &[Claim], points: &Figure) -> Option<Figure> {
    let stated = claims.iter().flat_map(Claim::predicate).flatten().map(|condition| condition.feature);
    let names: BTreeSet<String> = stated.collect();
    let panels: Vec<_> = names.iter().filter_map(|name| ratios_over(conditions, claims, name)).collect();
    (!panels.is_empty()).then(|| Figure {
        id: "crossover".to_owned(),
        title: "Where the ranking flips".to_owned(),
        caption: format!(
            "Throughput of {} over that of {}, by what the claims are stated in. Above 1 the first is ahead, below it \
             the second. Marks as in the next figure; the shaded parts are where a claim is made.",
            conditions.a, conditions.b
        ),
        legend: points.legend.clone(),
        legend_keys: Vec::new(),
        panels,
        columns: 2,
        grid: points.grid.clone(),
    })
}

/// Returns a plot of the ratio at each point over a quantity; `None` if fewer than two points have both as numbers.
fn ratios_over(conditions: &Conditions, claims: &[Claim], name: &str) -> Option<plot::Panel> {
    let at = |point: &Point| point.features.get(name).copied().zip(point.ratio.filter(|ratio| *ratio > 0.0));
    let places: Vec<(&Point, (f64, f64))> =
        conditions.points.iter().filter_map(|point| Some((point, at(point)?))).collect();
    if places.len() < 2 {
        return None;
    }
    let across = || places.iter().map(|(_, (x, _))| *x);
    let is_wide =
        across().all(|x| x > 0.0) && across().fold(0.0, f64::max) > 20.0 * across().fold(f64::MAX, f64::min);
    let scale = if is_wide { Scale::log_over(across()) } else { Scale::over(across()) };
    let x_axis = Axis::numbers(name, scale, plain);
    let ratios = places.iter().map(|(_, (_, ratio))| *ratio).chain([0.5, 2.0]);
    let label = format!("{} to {}", conditions.a, conditions.b);
    let y_axis = Axis::numbers(label, Scale::log_over(ratios), plain);
    let dots = places.iter().map(|(point, (x, y))| dot(conditions, point, (*x, *y))).collect();
    let regions = claims.iter().flat_map(Claim::predicate).filter_map(|of| region(&of, name, "")).collect();
    let says = format!("The ratio over {name}");
    Some(
        Scatter { title: "", name: &says, x: &x_axis, y: &y_axis, regions, dots, size: (480.0, 330.0) }
            .panel(),
    )
}

fn dot(conditions: &Conditions, point: &Point, (x, y): (f64, f64)) -> Dot {
    Dot {
        x,
        y,
        look: look(&point.class),
        is_hollow: matches!(point.role.as_str(), "held_out" | "covered"),
        size: match point.role.as_str() {
            "held_out" | "covered" => 5.0,
            "refined" => 3.8,
            _ => 2.7,
        },
        says: says(conditions, point),
    }
}

fn scatter(conditions: &Conditions, claims: &[Claim], (x, y): (usize, usize)) -> plot::Panel {
    let ((across, x_axis), (up, y_axis)) = (conditions.numbers(x), conditions.numbers(y));
    let places = conditions.points.iter().zip(across.iter().zip(&up));
    let dots = places.map(|(point, (&x, &y))| dot(conditions, point, (x, y)));
    let (name_x, name_y) = (&conditions.space[x], &conditions.space[y]);
    let name = format!("Points over {name_x} and {name_y}");
    let regions =
        claims.iter().flat_map(Claim::predicate).filter_map(|of| region(&of, name_x, name_y)).collect();
    let (dots, size) = (dots.collect(), (480.0, 330.0));
    Scatter { title: "", name: &name, x: &x_axis, y: &y_axis, regions, dots, size }.panel()
}

/// Returns the box of a predicate in a plane; `None` if the predicate bounds neither of the two coordinates.
fn region(of: &[super::claims::Condition], x: &str, y: &str) -> Option<Region> {
    let ends = |name: &str| {
        let own = of.iter().filter(|condition| condition.feature == name);
        own.fold((None, None), |(low, high), condition| (condition.above.or(low), condition.at_most.or(high)))
    };
    let is_of_plane = of.iter().any(|condition| {
        (condition.feature == x || condition.feature == y)
            && (condition.above.is_some() || condition.at_most.is_some())
    });
    is_of_plane.then(|| Region { x: ends(x), y: ends(y) })
}

fn says(conditions: &Conditions, point: &Point) -> String {
    let at: Vec<String> =
        conditions.space.iter().zip(&point.values).map(|(name, value)| format!("{name} = {value}")).collect();
    let (ratio, interval) = point.ratio_in_words();
    let surprise = if point.is_surprise() { ": NOT AS PREDICTED" } else { "" };
    format!(
        "{}: {} to {} {ratio} {interval}, {}{surprise}",
        at.join(", "),
        conditions.a,
        conditions.b,
        point.role
    )
}

fn grid(conditions: &Conditions) -> Grid {
    let mut grid = Grid::new("Every point", conditions.space.len() + 3, &[]);
    grid.head.clone_from(&conditions.space);
    grid.head.extend(["role", "class", "predicted", "pairs", "ratio", "(interval)"].map(str::to_owned));
    for point in &conditions.points {
        let mut cells = point.values.clone();
        cells.extend([point.role.replace('_', " "), conditions.in_words(&point.class)]);
        let predicted =
            point.predicted.as_ref().map_or_else(|| "-".to_owned(), |class| conditions.in_words(class));
        cells.push(if point.is_surprise() { format!("{predicted}: WRONG") } else { predicted });
        let (ratio, interval) = point.ratio_in_words();
        cells.extend([point.pairs.to_string(), ratio, interval]);
        grid.row("", cells);
    }
    grid
}
