//! Maps: a grid over the values of two settings, with a result in each cell.

use crate::frame::{LABEL, NAME_MAX};
use crate::look::tone;
use crate::svg::{BOLD, Element, fit, head, title, width};
use crate::{Look, Panel};

/// A map of cells.
#[derive(Clone, Debug)]
pub struct Map<'a> {
    /// The title above the map.
    pub title: &'a str,
    /// A description of the map for screen readers.
    pub name: &'a str,
    /// The name of the horizontal setting, and its values from the left.
    pub x: (&'a str, &'a [String]),
    /// The name of the vertical setting, and its values from below.
    pub y: (&'a str, &'a [String]),
    /// The cells.
    pub cells: Vec<Cell>,
    /// The key by which a page finds the element.
    pub key: &'a str,
}

/// A cell of a map.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The number of its horizontal value.
    pub x: usize,
    /// The number of its vertical value.
    pub y: usize,
    /// The colour of the cell.
    pub paint: Paint,
    /// The text in the cell.
    pub text: String,
    /// A smaller text below.
    pub below: String,
    /// Whether the cell's result is decided. A dot marks a decided result, unless the colour is of a series.
    pub is_decided: bool,
    /// The tooltip of the cell.
    pub says: String,
    /// The key by which a page finds the element.
    pub key: String,
}

/// The colour of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Paint {
    /// The colour of a ratio: one colour above 1, another below 1, the stronger the further from 1, up to a factor of
    /// two.
    Ratio(f64),
    /// The colour of a series.
    Of(Look),
    /// No colour.
    Blank,
}

const HIGH: f64 = 46.0;
/// Greatest width of a cell, in pixels.
const WIDE_MAX: f64 = 170.0;
/// Font sizes of the text in a cell, and of the smaller text below it.
const TEXT: f64 = 12.0 * BOLD;
const SMALL: f64 = 10.5;

impl Map<'_> {
    /// Draws the map.
    pub fn panel(&self) -> Panel {
        let widest = |texts: &mut dyn Iterator<Item = f64>| texts.fold(0.0, f64::max);
        let label = widest(&mut self.y.1.iter().map(|text| width(text, LABEL))).min(NAME_MAX);
        let above = widest(&mut self.x.1.iter().map(|text| width(text, LABEL))) + 10.0;
        let within =
            widest(&mut self.cells.iter().map(|cell| width(&cell.text, TEXT).max(width(&cell.below, SMALL))));
        let wide = above.max(within + 22.0).clamp(76.0, WIDE_MAX);
        let left = label + 14.0;
        let columns = wide * self.x.1.len() as f64;
        let total = (left + columns + 10.0).max(width(self.y.0, LABEL).min(300.0) + 6.0).max(150.0);
        let (mut body, high) = head(self.title, total - 4.0);
        let top = high + 22.0;
        let bottom = top + HIGH * self.y.1.len() as f64;
        let text =
            |class: &str, x: f64, y: f64| Element::new("text").set("class", class).at("x", x).at("y", y);
        body += &text("soft", 2.0, top - 9.0).saying(&fit(self.y.0, LABEL, total - 4.0));
        for (row, value) in self.y.1.iter().enumerate() {
            let y = bottom - HIGH * (row as f64 + 0.5) + 4.0;
            body += &text("soft num", left - 8.0, y)
                .set("text-anchor", "end")
                .saying(&fit(value, LABEL, NAME_MAX));
        }
        for (column, value) in self.x.1.iter().enumerate() {
            let x = left + wide * (column as f64 + 0.5);
            let value = fit(value, LABEL, wide - 6.0);
            body += &text("soft num", x, bottom + 16.0).set("text-anchor", "middle").saying(&value);
        }
        let label = text("soft", left + columns / 2.0, bottom + 34.0).set("text-anchor", "middle");
        body += &label.saying(&fit(self.x.0, LABEL, columns));
        for cell in &self.cells {
            let place = (left + wide * cell.x as f64, bottom - HIGH * (cell.y as f64 + 1.0));
            body += &cell.draw(place, wide);
        }
        let (name, key) = (self.name.to_owned(), self.key.to_owned());
        Panel { name, width: total, height: bottom + 42.0, key, body }
    }
}

impl Cell {
    fn draw(&self, (x, y): (f64, f64), wide: f64) -> String {
        let (fill, ink) = match self.paint {
            Paint::Ratio(ratio) => (format!("box t{0}", tone(ratio)), format!("on{}", tone(ratio))),
            Paint::Of(look) if self.is_decided => (format!("box full {}", look.class()), String::new()),
            Paint::Of(look) => (format!("box tint {}", look.class()), String::new()),
            Paint::Blank => ("box t4".to_owned(), "soft".to_owned()),
        };
        let rect = Element::new("rect")
            .set("class", fill)
            .at("x", x)
            .at("y", y)
            .at("width", wide)
            .at("height", HIGH);
        let weight = if self.is_decided { "head" } else { "in" };
        let centre = x + wide / 2.0;
        let text = |class: String, y: f64| {
            Element::new("text").set("class", class).at("x", centre).at("y", y).set("text-anchor", "middle")
        };
        let mut marks = rect.holding(&title(&self.says));
        let first = if self.below.is_empty() { y + HIGH / 2.0 + 4.0 } else { y + HIGH / 2.0 - 2.0 };
        marks += &text(format!("{weight} num {ink}"), first).saying(&fit(&self.text, TEXT, wide - 8.0));
        if !self.below.is_empty() {
            marks += &text(format!("in num {ink}"), y + HIGH / 2.0 + 12.0).saying(&fit(
                &self.below,
                SMALL,
                wide - 8.0,
            ));
        }
        if let Paint::Of(look) = self.paint {
            marks += &look.marker(x + 9.0, y + 10.0, 3.6).empty();
        } else if self.is_decided {
            let dot =
                Element::new("text").set("class", format!("in {ink}")).at("x", x + 5.0).at("y", y + 13.0);
            marks += &dot.saying("\u{25cf}");
        }
        Element::new("g").key(&self.key).holding(&marks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_lie_by_their_numbers_and_decided_ones_are_marked() {
        let words = |words: [&str; 2]| words.map(str::to_owned).to_vec();
        let (x, y) = (words(["0", "0.9"]), words(["50", "95"]));
        let cell = |x, y, ratio, is_decided| Cell {
            x,
            y,
            paint: Paint::Ratio(ratio),
            text: format!("{ratio}"),
            below: String::new(),
            is_decided,
            says: "says".to_owned(),
            key: "k".to_owned(),
        };
        let cells = vec![cell(0, 0, 1.0, false), cell(1, 0, 2.5, true), cell(0, 1, 0.4, true)];
        let panel = Map { title: "t", name: "n", x: ("theta", &x), y: ("read", &y), cells, key: "" }.panel();
        assert_eq!(panel.body.matches("\u{25cf}").count(), 2);
        for class in ["box t4", "box t8", "box t0"] {
            assert!(panel.body.contains(class), "{class}: {}", panel.body);
        }
        let top = |at: usize| {
            let rect = panel.body.split("<rect").nth(at + 1).expect("a cell");
            let y = rect.split(" y=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("there");
            y.parse::<f64>().expect("a number")
        };
        assert!(top(0) > top(2), "values go up");
    }
}
