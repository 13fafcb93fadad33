//! The frame of a plot with two axes: title, grid, ticks and labels, and the places of values in it.

use crate::svg::{BOLD, Element, fit, head, width};
use crate::{Axis, Panel};

/// Font size of the labels at ticks, in pixels.
pub(crate) const LABEL: f64 = 11.0;
/// Font size of the names of series, which are bold.
pub(crate) const NAME: f64 = LABEL * BOLD;
/// Greatest width of the name of a series beside its plot, in pixels.
pub(crate) const NAME_MAX: f64 = 110.0;

/// A frame, and the marks that were drawn into it.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    x: &'a Axis,
    y: &'a Axis,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    size: (f64, f64),
    pub(crate) body: String,
}

impl<'a> Frame<'a> {
    /// Makes a frame of a size, with room at its right for texts.
    pub(crate) fn new(title: &str, (x, y): (&'a Axis, &'a Axis), size: (f64, f64), room: f64) -> Self {
        let widest = |axis: &Axis| axis.ticks.iter().map(|(_, text)| width(text, LABEL)).fold(0.0, f64::max);
        let left = widest(y) + 12.0;
        let (head, high) = head(title, size.0 - 8.0);
        let top = high + 24.0;
        let (right, bottom) = (size.0 - room.max(12.0), size.1 - 40.0);
        let mut frame = Self { x, y, left, right, top, bottom, size, body: head };
        let text = |class: &str| Element::new("text").set("class", class);
        frame.body +=
            &text("soft").at("x", 2.0).at("y", top - 11.0).saying(&fit(&y.label, LABEL, size.0 - 8.0));
        let middle = f64::midpoint(left, right);
        frame.body += &text("soft")
            .at("x", middle)
            .at("y", size.1 - 6.0)
            .set("text-anchor", "middle")
            .saying(&fit(&x.label, LABEL, (right - left) * 1.2));
        frame.grid();
        frame
    }

    pub(crate) fn x(&self, value: f64) -> f64 {
        self.left + self.x.scale.place(value) * (self.right - self.left)
    }

    pub(crate) fn y(&self, value: f64) -> f64 {
        self.bottom - self.y.scale.place(value) * (self.bottom - self.top)
    }

    /// The place at which texts at the right of the plot begin.
    pub(crate) const fn right(&self) -> f64 {
        self.right
    }

    /// The least and the greatest height of values.
    pub(crate) const fn heights(&self) -> (f64, f64) {
        (self.top, self.bottom)
    }

    pub(crate) fn panel(self, name: String, key: &str) -> Panel {
        Panel { name, width: self.size.0, height: self.size.1, key: key.to_owned(), body: self.body }
    }

    /// Draws a horizontal line at a reference value.
    pub(crate) fn reference(&mut self, value: f64) {
        let y = self.y(value);
        self.body += &line("ref", (self.left, y), (self.right, y));
    }

    fn grid(&mut self) {
        for (value, label) in &self.y.ticks {
            let y = self.y(*value);
            self.body += &line("grid", (self.left, y), (self.right, y));
            let text =
                Element::new("text").set("class", "soft num").at("x", self.left - 6.0).at("y", y + 3.8);
            self.body += &text.set("text-anchor", "end").saying(label);
        }
        self.body += &line("axis", (self.left, self.bottom), (self.right, self.bottom));
        // A label that would touch another is left out, and its tick stays. The labels at the ends have priority.
        let mut ticks: Vec<&(f64, String)> = self.x.ticks.iter().collect();
        if let Some(last) = ticks.pop() {
            ticks.insert(0, last);
        }
        let mut taken: Vec<(f64, f64)> = Vec::new();
        for (value, label) in ticks {
            let (x, half) = (self.x(*value), width(label, LABEL) / 2.0 + 2.5);
            self.body += &line("axis", (x, self.bottom), (x, self.bottom + 4.0));
            if taken.iter().all(|(left, right)| x + half <= *left || *right <= x - half) {
                let text =
                    Element::new("text").set("class", "soft num").at("x", x).at("y", self.bottom + 17.0);
                self.body += &text.set("text-anchor", "middle").saying(label);
                taken.push((x - half, x + half));
            }
        }
    }
}

pub(crate) fn line(class: &str, from: (f64, f64), to: (f64, f64)) -> String {
    let line = Element::new("line").set("class", class).at("x1", from.0).at("y1", from.1);
    line.at("x2", to.0).at("y2", to.1).empty()
}

/// Returns heights for texts near the wanted heights, in the same order: no two are closer than `gap`, and none is
/// beyond the ends as long as there is room.
pub(crate) fn apart(wanted: &[f64], gap: f64, (top, bottom): (f64, f64)) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&a, &b| wanted[a].total_cmp(&wanted[b]));
    let mut placed = wanted.to_vec();
    let mut least = top;
    for &at in &order {
        placed[at] = placed[at].max(least);
        least = placed[at] + gap;
    }
    let mut most = bottom;
    for &at in order.iter().rev() {
        placed[at] = placed[at].min(most);
        most = placed[at] - gap;
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scale, plain};

    #[test]
    fn texts_are_kept_apart_and_within() {
        let placed = apart(&[50.0, 50.0, 51.0, 98.0], 12.0, (0.0, 100.0));
        let mut sorted = placed.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] >= 12.0 - 1e-9), "{placed:?}");
        assert!(sorted[0] >= 0.0 && sorted[3] <= 100.0);
        assert!(placed[0] < placed[2], "the order is kept");
    }

    #[test]
    fn values_lie_between_the_axes_and_labels_do_not_touch() {
        let (x, y) = (
            Axis::measured_at("x", &[0.0, 0.9, 0.91, 0.99], plain),
            Axis::numbers("y", Scale::from_zero([90.0]), plain),
        );
        let frame = Frame::new("title", (&x, &y), (300.0, 200.0), 60.0);
        assert!(frame.x(0.0) > 20.0 && frame.x(0.99) < 240.0 && frame.y(0.0) > frame.y(90.0));
        assert!(frame.body.contains(">0.99<") && !frame.body.contains(">0.91<"), "{}", frame.body);
        assert_eq!(frame.body.matches("class=\"axis\"").count(), 5, "but its tick is there");
    }
}
