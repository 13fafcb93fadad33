//! Scatter plots: points of several kinds in a plane, over regions.

use crate::frame::Frame;
use crate::svg::{Element, title};
use crate::{Axis, Look, Panel};

/// A scatter plot.
#[derive(Clone, Debug)]
pub struct Scatter<'a> {
    /// The title above the plot.
    pub title: &'a str,
    /// A description of the plot for screen readers.
    pub name: &'a str,
    /// The horizontal axis.
    pub x: &'a Axis,
    /// The vertical axis.
    pub y: &'a Axis,
    /// The regions, which are drawn below the points.
    pub regions: Vec<Region>,
    /// The points.
    pub dots: Vec<Dot>,
    /// Width and height in pixels.
    pub size: (f64, f64),
}

/// A box of the plane. Where an end is missing, the box reaches the edge of the plot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Region {
    /// The horizontal ends.
    pub x: (Option<f64>, Option<f64>),
    /// The vertical ends.
    pub y: (Option<f64>, Option<f64>),
}

/// A point of a plot.
#[derive(Clone, Debug)]
pub struct Dot {
    /// The horizontal value.
    pub x: f64,
    /// The vertical value.
    pub y: f64,
    /// The look of the point.
    pub look: Look,
    /// Whether the point is drawn as an outline.
    pub is_hollow: bool,
    /// The size in pixels.
    pub size: f64,
    /// The tooltip of the point.
    pub says: String,
}

impl Scatter<'_> {
    /// Draws the plot.
    pub fn panel(&self) -> Panel {
        let mut frame = Frame::new(self.title, (self.x, self.y), self.size, 18.0);
        let mut body = String::new();
        let ((x_low, x_high), (y_low, y_high)) = (self.x.scale.ends(), self.y.scale.ends());
        for region in &self.regions {
            let (left, right) = (frame.x(region.x.0.unwrap_or(x_low)), frame.x(region.x.1.unwrap_or(x_high)));
            let (bottom, top) = (frame.y(region.y.0.unwrap_or(y_low)), frame.y(region.y.1.unwrap_or(y_high)));
            let rect = Element::new("rect").set("class", "region").at("x", left).at("y", top);
            body += &rect.at("width", (right - left).max(0.0)).at("height", (bottom - top).max(0.0)).empty();
        }
        for dot in &self.dots {
            let mark = dot.look.mark((frame.x(dot.x), frame.y(dot.y)), dot.size, dot.is_hollow);
            body += &mark.holding(&title(&dot.says));
        }
        frame.body += &body;
        frame.panel(self.name.to_owned(), "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scale, plain};

    #[test]
    fn regions_reach_the_edge_where_they_have_no_end() {
        let (x, y) = (
            Axis::numbers("x", Scale::linear(0.0, 10.0), plain),
            Axis::numbers("y", Scale::linear(0.0, 1.0), plain),
        );
        let dot =
            |is_hollow| Dot { x: 5.0, y: 0.5, look: Look(1), is_hollow, size: 5.0, says: "s".to_owned() };
        let region = Region { x: (Some(5.0), None), y: (None, Some(0.5)) };
        let plot = Scatter {
            title: "",
            name: "n",
            x: &x,
            y: &y,
            regions: vec![region],
            dots: vec![dot(true), dot(false)],
            size: (400.0, 300.0),
        };
        let panel = plot.panel();
        assert_eq!(panel.body.matches("mk hollow").count(), 1);
        let rect = panel.body.split("class=\"region\"").nth(1).expect("a region");
        let number = |name: &str| -> f64 {
            let value = rect.split(&format!(" {name}=\"")).nth(1).and_then(|rest| rest.split('"').next());
            value.expect("there").parse().expect("a number")
        };
        assert!((number("x") + number("width") - 382.0).abs() < 0.1, "to the right edge");
        assert!((number("y") + number("height") - 260.0).abs() < 0.1, "to the lower one");
    }
}
