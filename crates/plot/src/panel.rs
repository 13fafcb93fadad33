//! Panels, and sheets of panels for papers.

use crate::look::{Look, Theme, style, swatch};
use crate::svg::{Element, escape, fit, short, width};

/// A finished drawing.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// A description of the drawing for screen readers.
    pub name: String,
    /// The width in pixels.
    pub width: f64,
    /// The height in pixels.
    pub height: f64,
    /// The key by which a page finds the drawing.
    pub key: String,
    /// The markup inside the `svg` element.
    pub body: String,
}

impl Panel {
    /// Returns the drawing as an element of a page, which has the style.
    pub fn inline(&self) -> String {
        self.element().set("role", "img").set("aria-label", &self.name).holding(&self.body)
    }

    fn element(&self) -> Element {
        let view = format!("0 0 {} {}", short(self.width), short(self.height));
        Element::new("svg")
            .set("class", "plot")
            .set("viewBox", view)
            .at("width", self.width)
            .at("height", self.height)
    }
}

/// Panels beside and below each other with a title and a legend: a file for a paper.
#[derive(Clone, Debug)]
pub struct Sheet<'a> {
    /// The title.
    pub title: &'a str,
    /// The names of the series; empty if the lines are named otherwise.
    pub legend: &'a [(String, Look)],
    /// The panels.
    pub panels: &'a [Panel],
    /// Most panels beside each other.
    pub columns: usize,
}

/// Margin around the sheet, in pixels.
const MARGIN: f64 = 12.0;
/// Height of a line of text, in pixels.
const LINE: f64 = 20.0;

impl Sheet<'_> {
    /// Returns the sheet as a file. It is self-contained, and renderers without style variables can show it.
    pub fn file(&self) -> String {
        let columns = self.columns.clamp(1, self.panels.len().max(1));
        let most =
            |panels: &[Panel], of: fn(&Panel) -> f64| panels.iter().map(of).fold(0.0, f64::max) + MARGIN;
        let cell_width = most(self.panels, |panel| panel.width);
        let inner = (cell_width * columns as f64).max(360.0);
        let legend = self.legend_lines(inner);
        let top = MARGIN + LINE + legend.len() as f64 * LINE + 8.0;
        let mut body = Element::new("text")
            .at("x", MARGIN)
            .at("y", MARGIN + 14.0)
            .set("class", "sheet")
            .saying(&fit(self.title, 15.0, inner));
        for (line, entries) in legend.iter().enumerate() {
            body += &legend_line(entries, MARGIN + LINE * (line as f64 + 1.0));
        }
        let mut y = top;
        for row in self.panels.chunks(columns) {
            for (at, panel) in row.iter().enumerate() {
                let x = MARGIN + at as f64 * cell_width;
                body += &panel.element().at("x", x).at("y", y).holding(&panel.body);
            }
            y += most(row, |panel| panel.height);
        }
        let (full_width, full_height) = (inner + 2.0 * MARGIN, y + MARGIN);
        let css = style(Theme::Light);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" \
             font-family=\"Helvetica, Arial, 'Liberation Sans', sans-serif\" role=\"img\">\n<title>{2}</title>\n\
             <style>{css}.sheet{{font-size:15px;font-weight:600;fill:#1c2024}}\
             .name{{font-size:12px;fill:#1c2024}}</style>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{body}\n</svg>\n",
            short(full_width),
            short(full_height),
            escape(self.title),
        )
    }

    /// Breaks the legend into lines that are at most `max` wide.
    fn legend_lines(&self, max: f64) -> Vec<Vec<(&str, Look, f64)>> {
        let mut lines: Vec<Vec<(&str, Look, f64)>> = Vec::new();
        let mut x = f64::INFINITY;
        for (name, look) in self.legend {
            let wide = 34.0 + width(&fit(name, 12.0, 200.0), 12.0) + 18.0;
            if x + wide > max {
                lines.push(Vec::new());
                x = MARGIN;
            }
            lines.last_mut().expect("the first entry begins a line").push((name, *look, x));
            x += wide;
        }
        lines
    }
}

fn legend_line(entries: &[(&str, Look, f64)], y: f64) -> String {
    let entry = |(name, look, x): &(&str, Look, f64)| {
        let place =
            Element::new("g").set("transform", format!("translate({} {})", short(*x), short(y + 4.0)));
        let text = Element::new("text")
            .set("class", "name")
            .at("x", x + 34.0)
            .at("y", y + 14.0)
            .saying(&fit(name, 12.0, 200.0));
        place.holding(&swatch(*look)) + &text
    };
    entries.iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(name: &str) -> Panel {
        Panel {
            name: name.to_owned(),
            width: 300.0,
            height: 200.0,
            key: String::new(),
            body: "<g/>".to_owned(),
        }
    }

    #[test]
    fn a_sheet_holds_its_panels_side_by_side_and_brings_its_style() {
        let panels = [panel("a"), panel("b"), panel("c")];
        let legend = [("silo".to_owned(), Look(1)), ("a & b".to_owned(), Look(2))];
        let file = Sheet { title: "T <1>", legend: &legend, panels: &panels, columns: 2 }.file();
        assert_eq!(file.matches("class=\"plot\"").count(), 3);
        assert!(
            file.starts_with("<svg xmlns=") && file.contains("<style>") && file.contains("a &amp; b"),
            "{file}"
        );
        assert!(file.contains("T &lt;1&gt;") && !file.contains("var("), "{file}");
        let place = |at: usize| file.split("class=\"plot\"").nth(at + 1).expect("a panel").to_owned();
        assert!(place(1).contains("x=\"324\"") && place(2).contains("x=\"12\""), "{}", place(1));
    }

    #[test]
    fn a_row_is_as_high_as_its_highest_panel() {
        let panels = [Panel { height: 50.0, ..panel("a") }, panel("b"), Panel { height: 70.0, ..panel("c") }];
        let height = |columns| {
            let file = Sheet { title: "t", legend: &[], panels: &panels, columns }.file();
            let told = file.split(" height=\"").nth(1).and_then(|rest| rest.split('"').next());
            told.and_then(|told| told.parse::<f64>().ok()).expect("a height")
        };
        assert!((height(1) - height(3) - (50.0 + 70.0 + 2.0 * MARGIN)).abs() < 1e-9);
        assert!((height(2) - height(3) - (70.0 + MARGIN)).abs() < 1e-9);
    }

    #[test]
    fn a_long_legend_has_several_lines() {
        let legend: Vec<(String, Look)> =
            (0..9).map(|number| (format!("scheme_number_{number}"), Look(number))).collect();
        let panels = [panel("a")];
        let sheet = Sheet { title: "t", legend: &legend, panels: &panels, columns: 1 };
        assert!(sheet.legend_lines(400.0).len() > 3);
    }
}
