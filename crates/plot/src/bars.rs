//! Bars of parts: each bar shows the parts of a whole.

use crate::frame::{LABEL, NAME, NAME_MAX, line};
use crate::svg::{Element, fit, head, title, width};
use crate::{Axis, Look, Panel};

/// A plot of bars.
#[derive(Clone, Debug)]
pub struct Bars<'a> {
    /// The title above the plot.
    pub title: &'a str,
    /// A description of the plot for screen readers.
    pub name: &'a str,
    /// The scale of all bars, from zero.
    pub x: &'a Axis,
    /// The names of the parts with their looks.
    pub parts: &'a [(String, Look)],
    /// The bars, from above.
    pub bars: Vec<Bar>,
    /// Width in pixels.
    pub width: f64,
    /// The key by which a page finds the element.
    pub key: &'a str,
}

/// A bar of a plot.
#[derive(Clone, Debug)]
pub struct Bar {
    /// The name of the bar.
    pub label: String,
    /// A value for each part.
    pub values: Vec<f64>,
    /// The tooltip of each part.
    pub says: Vec<String>,
    /// The key by which a page finds the element.
    pub key: String,
}

const STEP: f64 = 23.0;
const THICK: f64 = 17.0;

impl Bars<'_> {
    /// Draws the plot. A part that has room for its name is labelled.
    pub fn panel(&self) -> Panel {
        let left =
            self.bars.iter().map(|bar| width(&fit(&bar.label, NAME, NAME_MAX), NAME)).fold(0.0, f64::max)
                + 12.0;
        let right = self.width - 16.0;
        let (mut body, high) = head(self.title, self.width - 8.0);
        let top = high + 7.0;
        let bottom = top + STEP * self.bars.len() as f64;
        let x = |value: f64| left + self.x.scale.place(value) * (right - left).max(40.0);
        let text =
            |class: &str, x: f64, y: f64| Element::new("text").set("class", class).at("x", x).at("y", y);
        for (value, label) in &self.x.ticks {
            body += &line("grid", (x(*value), top), (x(*value), bottom));
            body += &text("soft num", x(*value), bottom + 14.0).set("text-anchor", "middle").saying(label);
        }
        let middle = f64::midpoint(left, right);
        body += &text("soft", middle, bottom + 31.0).set("text-anchor", "middle").saying(&self.x.label);
        for (at, bar) in self.bars.iter().enumerate() {
            let y = top + STEP * at as f64 + (STEP - THICK) / 2.0;
            let label = text("end", left - 8.0, y + THICK / 2.0 + 3.8)
                .set("text-anchor", "end")
                .saying(&fit(&bar.label, NAME, NAME_MAX));
            body += &Element::new("g").key(&bar.key).holding(&(label + &self.parts_of(bar, y, &x)));
        }
        let (name, key) = (self.name.to_owned(), self.key.to_owned());
        Panel { name, width: self.width, height: bottom + 37.0, key, body }
    }

    fn parts_of(&self, bar: &Bar, y: f64, x: &impl Fn(f64) -> f64) -> String {
        let mut from = 0.0;
        let mut marks = String::new();
        for ((part, value), says) in self.parts.iter().zip(&bar.values).zip(&bar.says) {
            let (start, end) = (x(from), x(from + value));
            from += value;
            if end - start < 0.05 {
                continue;
            }
            let rect = Element::new("rect")
                .set("class", format!("bar {}", part.1.class()))
                .at("x", start)
                .at("y", y);
            // A thin gap between parts separates neighbours even without their colours.
            marks +=
                &rect.at("width", (end - start - 1.0).max(0.5)).at("height", THICK).holding(&title(says));
            if width(&part.0, LABEL) + 6.0 < end - start {
                let text = Element::new("text").set("class", "in inbar").at("x", f64::midpoint(start, end));
                marks += &text.at("y", y + THICK / 2.0 + 3.8).set("text-anchor", "middle").saying(&part.0);
            }
        }
        marks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scale, percent};

    #[test]
    fn parts_follow_each_other_and_wide_ones_are_named() {
        let x = Axis::numbers("share", Scale::linear(0.0, 1.0), percent);
        let parts =
            [("useful".to_owned(), Look(0)), ("wait".to_owned(), Look(1)), ("abort".to_owned(), Look(2))];
        let bars = vec![Bar {
            label: "silo".to_owned(),
            values: vec![0.7, 0.0, 0.3],
            says: ["a", "b", "c"].map(str::to_owned).to_vec(),
            key: String::new(),
        }];
        let panel = Bars { title: "", name: "n", x: &x, parts: &parts, bars, width: 400.0, key: "" }.panel();
        assert_eq!(panel.body.matches("<rect").count(), 2, "nothing is drawn for nothing");
        assert!(
            panel.body.contains(">useful<")
                && panel.body.contains(">abort<")
                && !panel.body.contains(">wait<")
        );
        let edge = |at: usize, name: &str| -> f64 {
            let rect = panel.body.split("<rect").nth(at).expect("a part");
            let value = rect.split(&format!(" {name}=\"")).nth(1).and_then(|rest| rest.split('"').next());
            value.expect("there").parse().expect("a number")
        };
        assert!((edge(1, "x") + edge(1, "width") + 1.0 - edge(2, "x")).abs() < 0.02);
    }
}
