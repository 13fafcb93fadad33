//! Plots of lines with intervals. Each line is named at its right end.

use crate::frame::{Frame, LABEL, NAME, NAME_MAX, apart, line};
use crate::svg::{Element, fit, short, title, width};
use crate::{Axis, Look, Panel};

/// A plot of lines.
#[derive(Clone, Debug)]
pub struct Lines<'a> {
    /// The title above the plot.
    pub title: &'a str,
    /// A description of the plot for screen readers.
    pub name: &'a str,
    /// The horizontal axis.
    pub x: &'a Axis,
    /// The vertical axis.
    pub y: &'a Axis,
    /// A value of `y` to mark, for example 1 for ratios.
    pub reference: Option<f64>,
    /// The lines.
    pub series: Vec<Series>,
    /// Width and height in pixels.
    pub size: (f64, f64),
    /// The key by which a page finds the plot.
    pub key: &'a str,
}

/// A line of a plot.
#[derive(Clone, Debug)]
pub struct Series {
    /// The name of the line.
    pub name: String,
    /// The look of the line.
    pub look: Look,
    /// The key by which a page finds the whole line.
    pub key: String,
    /// The points, from left to right.
    pub points: Vec<Point>,
}

/// A point of a line.
#[derive(Clone, Debug)]
pub struct Point {
    /// The horizontal value.
    pub x: f64,
    /// The vertical value.
    pub y: f64,
    /// The interval of `y`.
    pub interval: Option<(f64, f64)>,
    /// A further key of the point, in addition to the key of the line.
    pub key: String,
    /// The tooltip of the point; if it is empty, the point has no marker.
    pub says: String,
    /// Whether the marker is larger and hollow, to stand out.
    pub is_hollow: bool,
}

/// Distance in pixels between points of different series at the same place, so that their intervals do not overlap.
const BESIDE: f64 = 4.0;
/// The greatest distance in pixels between such points of the first and of the last series: of many series, the
/// intervals overlap, as the points would otherwise be far from their place.
const BESIDE_ALL: f64 = 28.0;

impl Lines<'_> {
    /// Draws the plot.
    pub fn panel(&self) -> Panel {
        let names = self.series.iter().map(|series| width(&fit(&series.name, NAME, NAME_MAX), NAME));
        let mut frame = Frame::new(self.title, (self.x, self.y), self.size, names.fold(0.0, f64::max) + 14.0);
        if let Some(value) = self.reference {
            frame.reference(value);
        }
        let has_intervals =
            self.series.iter().flat_map(|series| &series.points).any(|point| point.interval.is_some());
        let middle = (self.series.len() as f64 - 1.0) / 2.0;
        let step = BESIDE.min(BESIDE_ALL / (2.0 * middle).max(1.0));
        for (at, series) in self.series.iter().enumerate() {
            let beside = if has_intervals { (at as f64 - middle) * step } else { 0.0 };
            let body = series.draw(&frame, beside);
            frame.body += &body;
        }
        let names = self.names(&frame);
        frame.body += &names;
        frame.panel(self.name.to_owned(), self.key)
    }

    /// The names of the lines at their right ends.
    fn names(&self, frame: &Frame<'_>) -> String {
        let ends = self.series.iter().filter_map(|series| Some((series, series.points.last()?)));
        let ends: Vec<(&Series, &Point)> = ends.collect();
        let wanted: Vec<f64> = ends.iter().map(|(_, point)| frame.y(point.y)).collect();
        let placed = apart(&wanted, LABEL + 1.5, frame.heights());
        let text = |((series, _), y): (&(&Series, &Point), f64)| {
            let class = format!("end {}", series.look.class());
            let text = Element::new("text").set("class", class).key(&series.key).at("x", frame.right() + 9.0);
            text.at("y", y + 3.8).saying(&fit(&series.name, NAME, NAME_MAX))
        };
        ends.iter().zip(placed).map(text).collect()
    }
}

impl Series {
    fn draw(&self, frame: &Frame<'_>, beside: f64) -> String {
        let place = |point: &Point| (frame.x(point.x) + beside, frame.y(point.y));
        let mut body = String::new();
        // Drawn segment by segment, so that a page can hide a point.
        for pair in self.points.windows(2) {
            let ((x1, y1), (x2, y2)) = (place(&pair[0]), place(&pair[1]));
            let path = format!("M{} {}L{} {}", short(x1), short(y1), short(x2), short(y2));
            let segment =
                Element::new("path").set("class", format!("ln {}", self.look.class())).set("d", path);
            let key = [self.key.as_str(), &pair[0].key, &pair[1].key].join(" ");
            body += &segment.set("stroke-dasharray", self.look.dash()).key(key.trim()).empty();
        }
        let marked = self.points.iter().filter(|point| !point.says.is_empty());
        for point in marked {
            let (x, y) = place(point);
            let size = if point.is_hollow { 5.5 } else { 3.9 };
            let mark = self.look.mark((x, y), size, point.is_hollow).holding(&title(&point.says));
            let interval =
                point.interval.map(|(low, high)| whisker(x, frame.y(low), frame.y(high), self.look));
            let key = [self.key.as_str(), &point.key].join(" ");
            body += &Element::new("g").key(key.trim()).holding(&(interval.unwrap_or_default() + &mark));
        }
        body
    }
}

/// Draws a vertical interval.
fn whisker(x: f64, low: f64, high: f64, look: Look) -> String {
    let class = format!("iv {}", look.class());
    let cap = |y: f64| line(&class, (x - 2.6, y), (x + 2.6, y));
    line(&class, (x, low), (x, high)) + &cap(low) + &cap(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scale, plain};

    fn point(x: f64, y: f64) -> Point {
        Point {
            x,
            y,
            interval: Some((y * 0.9, y * 1.1)),
            key: format!("x{x}"),
            says: format!("{y} at {x}"),
            is_hollow: false,
        }
    }

    fn plot(names: &[&str]) -> Panel {
        let x = Axis::measured_at("theta", &[0.0, 1.0, 2.0], plain);
        let y = Axis::numbers("txn/s", Scale::from_zero([10.0]), plain);
        let series = |(at, name): (usize, &&str)| Series {
            name: (*name).to_owned(),
            look: Look(at),
            key: format!("s{at}"),
            points: vec![point(0.0, 4.0), point(1.0, 5.0), point(2.0, 6.0)],
        };
        let series = names.iter().enumerate().map(series).collect();
        Lines { title: "t", name: "n", x: &x, y: &y, reference: None, series, size: (360.0, 240.0), key: "" }
            .panel()
    }

    #[test]
    fn each_point_has_its_interval_its_words_and_its_keys() {
        let panel = plot(&["silo", "a<b"]);
        assert_eq!(panel.body.matches("<path class=\"mk").count(), 6);
        assert_eq!(panel.body.matches("class=\"iv").count(), 18, "a line and two caps each");
        assert!(
            panel.body.contains("data-k=\"s0 x0 x1\"") && panel.body.contains("data-k=\"s1 x2\""),
            "{}",
            panel.body
        );
        assert!(panel.body.contains("a&lt;b</text>") && panel.body.contains("<title>5 at 1</title>"));
    }

    #[test]
    fn points_of_many_lines_stay_near_their_place() {
        let left_ends = |count: usize| -> Vec<f64> {
            let panel = plot(&vec!["one"; count]);
            let segments = panel.body.split("class=\"ln").skip(1);
            let left = segments.step_by(2).map(|rest| {
                let start = rest.split(" d=\"M").nth(1).and_then(|rest| rest.split(' ').next());
                start.expect("a start").parse().expect("a number")
            });
            left.collect()
        };
        let span = |count| {
            let ends = left_ends(count);
            assert_eq!(ends.len(), count);
            ends[count - 1] - ends[0]
        };
        assert!((span(3) - 2.0 * BESIDE).abs() < 0.1, "{}", span(3));
        assert!((span(30) - BESIDE_ALL).abs() < 0.5, "{}", span(30));
    }

    #[test]
    fn names_at_the_same_end_do_not_overlap_and_stay_within() {
        let panel = plot(&["one", "two", "three", "four", "five"]);
        let heights: Vec<f64> = panel
            .body
            .split("class=\"end")
            .skip(1)
            .map(|rest| {
                let y = rest.split("y=\"").nth(1).and_then(|rest| rest.split('"').next());
                y.expect("a height").parse().expect("a number")
            })
            .collect();
        assert!(heights.windows(2).all(|pair| (pair[1] - pair[0]).abs() >= 11.0), "{heights:?}");
        assert!(heights.iter().all(|y| (0.0..240.0).contains(y)));
    }
}
