//! Looks: colour, marker and dash of a series, and the style sheet of all plots.
//!
//! The colours are those of Okabe and Ito (Color Universal Design, 2008), darkened or lightened until each has the
//! contrast with its background that text needs. Markers and dashes distinguish series where colours do not.

use core::fmt::Write;

use crate::svg::{Element, short};

/// The look of a series. Looks with numbers below nine all differ; from nine on, colours repeat with other dashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Look(pub usize);

/// The background of a plot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Paper, or a light page.
    Light,
    /// A dark page.
    Dark,
}

/// Colours on a light and on a dark background.
const COLOURS: [(&str, &str); 9] = [
    ("#0067b0", "#5fb4f2"),
    ("#c8430a", "#ff8d5c"),
    ("#00805b", "#3fcf9f"),
    ("#9c3d86", "#e592d0"),
    ("#8d6400", "#e3b545"),
    ("#4a5360", "#b4bdc9"),
    ("#a50f45", "#ff7f9f"),
    ("#00707c", "#52d3e0"),
    ("#5b45b8", "#ab9dff"),
];
const DASHES: [&str; 9] = ["", "7 3", "2 2.5", "8 3 2 3", "4 2", "1 3", "10 4", "6 2 1 2 1 2", "3 3"];
/// Colours of ratios, from slower by a factor of two or more to faster by that factor.
const TONES: [(&str, &str); 9] = [
    ("#b23a05", "#e8713a"),
    ("#dc7a4d", "#b0562f"),
    ("#eeb195", "#7c4029"),
    ("#f8ddd0", "#4d3128"),
    ("#ecedef", "#34383f"),
    ("#cfe2f1", "#26394a"),
    ("#95c0e2", "#27527a"),
    ("#4b90c7", "#2e72ad"),
    ("#0b5c9c", "#4fa3e3"),
];
/// Tones on which text has the colour of the page: white on light pages, dark on dark pages.
const STRONG: [usize; 4] = [0, 1, 7, 8];

impl Look {
    pub(crate) fn class(self) -> String {
        format!("s{}", self.0 % COLOURS.len())
    }

    /// The dash pattern of the look's lines; empty for a line without gaps.
    pub(crate) fn dash(self) -> &'static str {
        DASHES[(self.0 + self.0 / COLOURS.len()) % DASHES.len()]
    }

    /// Draws the look's marker around a point.
    pub(crate) fn marker(self, x: f64, y: f64, size: f64) -> Element {
        self.mark((x, y), size, false)
    }

    /// Draws the look's marker around a point, filled or hollow.
    pub(crate) fn mark(self, (x, y): (f64, f64), size: f64, is_hollow: bool) -> Element {
        let class = if is_hollow { "mk hollow" } else { "mk" };
        let path = outline(self.0 % COLOURS.len()).iter().enumerate().fold(
            String::new(),
            |mut path, (at, point)| {
                let (x, y) = (short(x + point.0 * size), short(y + point.1 * size));
                write!(path, "{}{x} {y}", if at == 0 { "M" } else { "L" }).expect("a string takes any text");
                path
            },
        );
        Element::new("path").set("class", format!("{class} {}", self.class())).set("d", path + "Z")
    }
}

/// The corners of a marker of size 1. All markers have about the same area.
fn outline(number: usize) -> Vec<(f64, f64)> {
    let polygon = |corners: u32, size: f64, turn: f64| {
        let corner = |at: u32| {
            let angle = core::f64::consts::TAU * (f64::from(at) / f64::from(corners) + turn);
            (size * angle.sin(), -size * angle.cos())
        };
        (0..corners).map(corner).collect::<Vec<_>>()
    };
    match number {
        0 => polygon(16, 1.0, 0.0),
        1 => polygon(4, 1.25, 0.125),
        2 => polygon(3, 1.45, 0.0),
        3 => polygon(4, 1.4, 0.0),
        4 => polygon(3, 1.45, 0.5),
        5 => [
            (-0.4, -1.2),
            (0.4, -1.2),
            (0.4, -0.4),
            (1.2, -0.4),
            (1.2, 0.4),
            (0.4, 0.4),
            (0.4, 1.2),
            (-0.4, 1.2),
        ]
        .into_iter()
        .chain([(-0.4, 0.4), (-1.2, 0.4), (-1.2, -0.4), (-0.4, -0.4)])
        .collect(),
        6 => polygon(5, 1.25, 0.0),
        7 => polygon(6, 1.2, 0.25),
        _ => {
            let (tips, dents) = (polygon(5, 1.6, 0.0), polygon(5, 0.7, 0.1));
            tips.into_iter().zip(dents).flat_map(|(tip, dent)| [tip, dent]).collect()
        }
    }
}

/// Draws a line with its marker, for a legend.
pub fn swatch(look: Look) -> String {
    let line = Element::new("path").set("class", format!("ln {}", look.class())).set("d", "M1 6L27 6");
    let line = line.set("stroke-dasharray", look.dash()).empty();
    let marker = look.marker(14.0, 6.0, 3.6).empty();
    let svg = Element::new("svg")
        .set("class", "swatch")
        .set("viewBox", "0 0 28 12")
        .set("width", 28)
        .set("height", 12);
    svg.set("aria-hidden", "true").holding(&format!("{line}{marker}"))
}

/// Returns the style sheet of all plots on this background.
pub fn style(theme: Theme) -> String {
    let of = |pair: (&'static str, &'static str)| if theme == Theme::Light { pair.0 } else { pair.1 };
    let (ink, soft, faint, paper) = match theme {
        Theme::Light => ("#1c2024", "#59636e", "#dfe3e8", "#ffffff"),
        Theme::Dark => ("#e6e9ed", "#9aa5b1", "#353b43", "#16191d"),
    };
    let mut css = format!(
        ".plot text{{fill:{ink};font-size:11px}}.plot .soft{{fill:{soft}}}.plot .head{{font-weight:600;font-size:12px}}\
         .plot .num{{font-variant-numeric:tabular-nums}}.plot .grid{{stroke:{faint};stroke-width:1}}\
         .plot .axis{{stroke:{soft};stroke-width:1}}.plot .ref{{stroke:{soft};stroke-width:1.2;stroke-dasharray:4 3}}\
         .ln{{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}}.iv{{fill:none;stroke-width:1.3}}\
         .mk{{stroke:{paper};stroke-width:1}}.plot .end{{font-weight:600}}.plot .box{{stroke:{paper};stroke-width:2}}\
         .plot .region{{fill:{};fill-opacity:.13;stroke:{};stroke-dasharray:5 3}}\
         .arc{{fill:none;stroke-width:1.1;stroke-opacity:.55}}.plot .tiny{{font-size:8.5px}}\
         .plot .in{{font-size:10.5px}}.mk.hollow{{fill:{paper};stroke-width:1.8}}",
        of(COLOURS[0]),
        of(COLOURS[0]),
    );
    for (number, pair) in COLOURS.into_iter().enumerate() {
        let colour = of(pair);
        write!(
            css,
            ".ln.s{number},.iv.s{number},.arc.s{number}{{stroke:{colour}}}.mk.s{number},.bar.s{number}{{fill:{colour}}}\
             .mk.hollow.s{number}{{fill:{paper};stroke:{colour}}}.plot text.s{number}{{fill:{colour}}}\
             .tint.s{number}{{fill:{colour};fill-opacity:.14}}.full.s{number}{{fill:{colour};fill-opacity:.5}}"
        )
        .expect("a string takes any text");
    }
    for (number, pair) in TONES.into_iter().enumerate() {
        write!(css, ".plot .t{number}{{fill:{}}}", of(pair)).expect("a string takes any text");
        if STRONG.contains(&number) {
            write!(css, ".plot text.on{number}{{fill:{paper}}}").expect("a string takes any text");
        }
    }
    css + &format!(".plot text.inbar{{fill:{paper}}}")
}

/// Returns the number of the tone for a ratio: 4 for a ratio near 1, 0 or 8 from a factor of two on.
pub(crate) fn tone(ratio: f64) -> usize {
    let steps = (ratio.max(f64::MIN_POSITIVE).log2() * 4.0).round().clamp(-4.0, 4.0);
    (steps + 4.0) as usize
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn nine_series_differ_in_more_than_their_colour() {
        let markers: BTreeSet<String> = (0..9).map(|number| format!("{:?}", outline(number))).collect();
        let dashes: BTreeSet<&str> = (0..9).map(|number| Look(number).dash()).collect();
        assert_eq!((markers.len(), dashes.len()), (9, 9));
        assert_ne!(Look(0).dash(), Look(9).dash(), "a colour that comes again has another dash");
    }

    /// Relative luminance (WCAG 2.1).
    fn luminance(colour: &str) -> f64 {
        let part = |at: usize| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).expect("hexadecimal")) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    #[test]
    fn every_colour_stands_out_from_its_background() {
        let contrast = |a: &str, b: &str| {
            let (a, b) = (luminance(a), luminance(b));
            (a.max(b) + 0.05) / (a.min(b) + 0.05)
        };
        for (light, dark) in COLOURS {
            // WCAG asks 4.5 of text, which the names of series are.
            assert!(contrast(light, "#ffffff") >= 4.5, "{light}: {}", contrast(light, "#ffffff"));
            assert!(contrast(dark, "#16191d") >= 4.5, "{dark}: {}", contrast(dark, "#16191d"));
        }
    }

    #[test]
    fn tones_go_by_the_logarithm_of_the_ratio() {
        assert_eq!([0.1, 0.5, 0.97, 1.0, 1.19, 2.0, 9.0].map(tone), [0, 0, 4, 4, 5, 8, 8]);
        assert_eq!(tone(0.0), 0);
    }
}
