//! Conditions: scatter plots of the points at which two schemes were compared, with the predicted region.

use std::collections::BTreeSet;

use plot::{Axis, Dot, Look, Region, Scale, Scatter, plain};
use results::{Claim, Class, Conditions, Crossing, Feature, Sample, Term};

use super::figures::Figure;
use super::grid::Grid;
use super::varied::ordered;
use crate::text::plural;

/// Returns the title of the results of `contend conditions`: the explored points of a comparison of two schemes.
pub(super) fn title(Conditions { workload, a, b, .. }: &Conditions) -> String {
    format!("{workload}: where is {a} ahead of {b}, and where not?")
}

/// Returns the findings as sentences.
pub(super) fn findings(of: &Conditions) -> String {
    let count = |class: Class| of.points.iter().filter(|point| point.class == class).count();
    let held_out: Vec<&Sample> = of.points.iter().filter(|point| point.role == "held_out").collect();
    let judged = held_out.iter().filter(|point| point.predicted.is_some()).count();
    let agree = held_out.iter().filter(|point| point.predicted == Some(point.class)).count();
    let fresh = if judged > 0 {
        format!(
            " Of {judged} held-out points, which were not used to find the rule, {agree} agree with the prediction."
        )
    } else {
        " No held-out points were measured, so nothing is known of how well the rule holds elsewhere."
            .to_owned()
    };
    let counted = of.space_points.zip(of.points_left).map_or_else(String::new, |(points, left)| {
        format!(" The space has {}, of which {left} were not measured.", plural(points, "point"))
    });
    let reasons = &of.starvation.reasons;
    let starved =
        if reasons.is_empty() { String::new() } else { format!(" STARVED: {}.", reasons.join("; ")) };
    let crossings = of.crossings.iter().flatten().zip(of.space.iter().cycle());
    let crossings: String = crossings.map(|(crossing, axis)| flip(crossing, &axis.name)).collect();
    format!(
        "Of {}, {} is ahead by {:.2} or more at {}, {} at {}, and at {} neither \
         is.{fresh}{crossings}{counted}{starved}",
        plural(of.points.len(), "point"),
        of.a,
        of.margin,
        count(Class::A),
        of.b,
        count(Class::B),
        count(Class::Level),
    )
}

/// Returns the numbers of a coordinate, and its axis: the values themselves if all are numbers, otherwise their
/// positions among the sorted words.
fn numbers(of: &Conditions, axis: usize) -> (Vec<f64>, Axis) {
    let results::Axis { name, kind, .. } = &of.space[axis];
    let texts: Vec<String> = of.points.iter().map(|point| value(point, name)).collect();
    let numbers: Option<Vec<f64>> = texts.iter().map(|text| text.parse::<f64>().ok()).collect();
    if let Some(numbers) = numbers {
        let mut levels = numbers.clone();
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        if levels.len() <= LEVELS_MAX {
            return (numbers, Axis::measured_at(name.clone(), &levels, plain));
        }
        let all = numbers.iter().copied();
        let is_log = kind.starts_with("log");
        let scale = if is_log { Scale::log_over(all) } else { Scale::over(all) };
        return (numbers, Axis::numbers(name.clone(), scale, plain));
    }
    let mut words: Vec<String> = ordered(texts.clone());
    words.dedup();
    let place = |text: &String| words.iter().position(|word| word == text).unwrap_or(0) as f64;
    (texts.iter().map(place).collect(), Axis::words(name.clone(), &words))
}

/// Returns the value of a point on an axis as text.
fn value(point: &Sample, axis: &str) -> String {
    point.point.get(axis).map_or_else(|| "null".to_owned(), ToString::to_string)
}

fn in_words(of: &Conditions, class: Class) -> String {
    match class {
        Class::A => format!("{} ahead", of.a),
        Class::B => format!("{} ahead", of.b),
        Class::Level => "level".to_owned(),
    }
}

/// Returns a crossing as a sentence.
fn flip(Crossing { low, high, ahead_from_high, .. }: &Crossing, axis: &str) -> String {
    format!(" The ranking flips between {axis} = {low} and {high}: from there on {ahead_from_high} is ahead.")
}

fn is_surprise(point: &Sample) -> bool {
    point.predicted.is_some_and(|predicted| predicted != point.class)
}

fn ratio_in_words(point: &Sample) -> (String, String) {
    let interval = point.interval.map(|of| format!("({:.2} .. {:.2})", of.low, of.high));
    (format!("{:.2}", point.ratio), interval.unwrap_or_else(|| "-".to_owned()))
}

/// The largest number of distinct values for which each value of an axis has its own label.
const LEVELS_MAX: usize = 8;
/// The largest number of pairs of coordinates for which scatters are drawn.
const PLANES_MAX: usize = 3;

/// Returns the look of a class: blue and orange for the two schemes, as in maps, and grey for neither.
const fn look(class: Class) -> Look {
    match class {
        Class::A => Look(0),
        Class::B => Look(1),
        Class::Level => Look(5),
    }
}

/// Returns the figures of the explored points.
pub(super) fn figures(conditions: &Conditions, claims: &[Claim]) -> Vec<Figure> {
    let axes = conditions.space.len();
    let planes = (0..axes).flat_map(|x| (x + 1..axes).map(move |y| (x, y))).take(PLANES_MAX);
    let panels: Vec<_> = planes.map(|(x, y)| scatter(conditions, claims, (x, y))).collect();
    let legend = [Class::A, Class::B, Class::Level];
    let legend = legend.map(|class| (in_words(conditions, class), look(class))).to_vec();
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
    let names: BTreeSet<&String> =
        claims.iter().flat_map(|claim| &claim.predicate.0).flatten().map(|term| &term.feature).collect();
    let panels: Vec<_> = names.iter().filter_map(|name| ratios_over(conditions, claims, name)).collect();
    (!panels.is_empty()).then(|| Figure {
        id: "crossover".to_owned(),
        title: "Where the ranking flips".to_owned(),
        caption: format!(
            "Throughput of {} over that of {}, over each quantity in which a claim is stated. Above 1 the first is \
             ahead, below it the second. Marks as in the next figure; claims are about the shaded parts.",
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
    let at = |point: &Sample| match point.features.get(name) {
        Some(Feature::Number(number)) if point.ratio > 0.0 => Some((*number, point.ratio)),
        _ => None,
    };
    let places: Vec<(&Sample, (f64, f64))> =
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
    let boxes = claims.iter().flat_map(|claim| &claim.predicate.0);
    let regions = boxes.filter_map(|of| region(of, name, "")).collect();
    let says = format!("The ratio over {name}");
    Some(
        Scatter { title: "", name: &says, x: &x_axis, y: &y_axis, regions, dots, size: (480.0, 330.0) }
            .panel(),
    )
}

fn dot(conditions: &Conditions, point: &Sample, (x, y): (f64, f64)) -> Dot {
    Dot {
        x,
        y,
        look: look(point.class),
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
    let ((across, x_axis), (up, y_axis)) = (numbers(conditions, x), numbers(conditions, y));
    let places = conditions.points.iter().zip(across.iter().zip(&up));
    let dots = places.map(|(point, (&x, &y))| dot(conditions, point, (x, y)));
    let (name_x, name_y) = (&conditions.space[x].name, &conditions.space[y].name);
    let name = format!("Points over {name_x} and {name_y}");
    let boxes = claims.iter().flat_map(|claim| &claim.predicate.0);
    let regions = boxes.filter_map(|of| region(of, name_x, name_y)).collect();
    let (dots, size) = (dots.collect(), (480.0, 330.0));
    Scatter { title: "", name: &name, x: &x_axis, y: &y_axis, regions, dots, size }.panel()
}

/// Returns the box of a predicate in a plane; `None` if the predicate bounds neither of the two coordinates.
fn region(of: &[Term], x: &str, y: &str) -> Option<Region> {
    let ends = |name: &str| {
        let own = of.iter().filter(|term| term.feature == name);
        own.fold((None, None), |(low, high), term| (term.above.or(low), term.at_most.or(high)))
    };
    let is_of_plane = of.iter().any(|term| {
        (term.feature == x || term.feature == y) && (term.above.is_some() || term.at_most.is_some())
    });
    is_of_plane.then(|| Region { x: ends(x), y: ends(y) })
}

fn says(conditions: &Conditions, point: &Sample) -> String {
    let axes = conditions.space.iter();
    let at: Vec<String> = axes.map(|axis| format!("{} = {}", axis.name, value(point, &axis.name))).collect();
    let (ratio, interval) = ratio_in_words(point);
    let surprise = if is_surprise(point) { ": NOT AS PREDICTED" } else { "" };
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
    grid.head.extend(conditions.space.iter().map(|axis| axis.name.clone()));
    grid.head.extend(["role", "class", "predicted", "pairs", "ratio", "(interval)"].map(str::to_owned));
    for point in &conditions.points {
        let mut cells: Vec<String> = conditions.space.iter().map(|axis| value(point, &axis.name)).collect();
        cells.extend([point.role.replace('_', " "), in_words(conditions, point.class)]);
        let predicted = point.predicted.map_or_else(|| "-".to_owned(), |class| in_words(conditions, class));
        cells.push(if is_surprise(point) { format!("{predicted}: WRONG") } else { predicted });
        let (ratio, interval) = ratio_in_words(point);
        cells.extend([point.pairs.to_string(), ratio, interval]);
        grid.row("", cells);
    }
    grid
}
