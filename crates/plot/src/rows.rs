//! Rows: one value in each row, with its interval, on a common scale.

use crate::frame::{NAME, NAME_MAX, line};
use crate::svg::{Element, fit, head, title, width};
use crate::{Axis, Look, Panel};

/// A plot of rows.
#[derive(Clone, Debug)]
pub struct Rows<'a> {
    /// The title above the plot.
    pub title: &'a str,
    /// A description of the plot for screen readers.
    pub name: &'a str,
    /// The scale of all rows.
    pub x: &'a Axis,
    /// A value to mark, for example 1 for ratios.
    pub reference: Option<f64>,
    /// The rows, from above.
    pub rows: Vec<Row>,
    /// Width in pixels.
    pub width: f64,
    /// The key by which a page finds the element.
    pub key: &'a str,
}

/// A row of a plot.
#[derive(Clone, Debug)]
pub struct Row {
    /// The name of the row.
    pub label: String,
    /// The look of the row.
    pub look: Look,
    /// The value.
    pub value: f64,
    /// The interval of the value.
    pub interval: Option<(f64, f64)>,
    /// The text at the right of the row, which is also its tooltip.
    pub says: String,
    /// The key by which a page finds the element.
    pub key: String,
}

/// Distance between rows, in pixels.
const STEP: f64 = 24.0;

impl Rows<'_> {
    /// Draws the plot.
    pub fn panel(&self) -> Panel {
        let widest =
            |of: fn(&Row) -> &str| self.rows.iter().map(|row| width(of(row), NAME)).fold(0.0, f64::max);
        let (left, right) =
            (widest(|row| &row.label).min(NAME_MAX) + 16.0, self.width - widest(|row| &row.says) - 14.0);
        let (mut body, high) = head(self.title, self.width - 8.0);
        let top = high + 7.0;
        let bottom = top + STEP * self.rows.len() as f64;
        let x = |value: f64| left + self.x.scale.place(value) * (right - left).max(40.0);
        let text =
            |class: &str, x: f64, y: f64| Element::new("text").set("class", class).at("x", x).at("y", y);
        for (value, label) in &self.x.ticks {
            body += &line("grid", (x(*value), top), (x(*value), bottom));
            body += &text("soft num", x(*value), bottom + 15.0).set("text-anchor", "middle").saying(label);
        }
        if let Some(value) = self.reference {
            body += &line("ref", (x(value), top), (x(value), bottom));
        }
        let middle = f64::midpoint(left, right);
        body += &text("soft", middle, bottom + 33.0).set("text-anchor", "middle").saying(&self.x.label);
        for (at, row) in self.rows.iter().enumerate() {
            let y = top + STEP * (at as f64 + 0.5);
            let mut marks = text(&format!("end {}", row.look.class()), left - 10.0, y + 3.8)
                .set("text-anchor", "end")
                .saying(&fit(&row.label, NAME, NAME_MAX));
            if let Some((low, high)) = row.interval {
                let class = format!("iv {}", row.look.class());
                marks += &line(&class, (x(low), y), (x(high), y));
                marks += &[low, high].map(|end| line(&class, (x(end), y - 4.0), (x(end), y + 4.0))).concat();
            }
            marks += &row.look.marker(x(row.value), y, 4.6).holding(&title(&row.says));
            marks += &text("num", self.width - widest(|row| &row.says) - 2.0, y + 3.8).saying(&row.says);
            body += &Element::new("g").key(&row.key).holding(&marks);
        }
        let (name, key) = (self.name.to_owned(), self.key.to_owned());
        Panel { name, width: self.width, height: bottom + 40.0, key, body }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scale, si};

    #[test]
    fn a_row_has_its_name_its_mark_its_interval_and_its_words() {
        let x = Axis::numbers("txn/s", Scale::from_zero([100.0]), si);
        let row = |label: &str, interval| Row {
            label: label.to_owned(),
            look: Look(0),
            value: 50.0,
            interval,
            says: "50".to_owned(),
            key: "k".to_owned(),
        };
        let rows = vec![row("a&b", Some((40.0, 60.0))), row("c", None)];
        let panel =
            Rows { title: "t", name: "n", x: &x, reference: Some(1.0), rows, width: 500.0, key: "" }.panel();
        assert_eq!(panel.body.matches("class=\"iv").count(), 3, "only one has an interval");
        assert_eq!(panel.body.matches("<path class=\"mk").count(), 2);
        assert!(panel.body.contains("a&amp;b") && panel.height > 80.0);
    }
}
