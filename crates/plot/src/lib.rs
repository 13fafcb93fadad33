//! Plots as SVG, of the kinds that the laboratory draws.
//!
//! A plot is a [`Panel`]: a drawing with a size, and a description for screen readers. A page shows panels beside each
//! other ([`Panel::inline`]); a paper uses them as one file with title and legend ([`Sheet`]). Colours are classes, so
//! that one style sheet ([`style`]) serves light pages, dark pages and paper.
//!
//! *Invariants:* the same plot gives the same bytes; no text reaches the markup unescaped; no series differs from
//! another by its colour alone: each [`Look`] has a marker and a dash of its own, and lines are named at their ends.
//!
//! A mark may have a *key*: words that the plot does not interpret, and writes to the attribute `data-k`. With these a
//! page hides marks that its reader does not want to see.
#![forbid(unsafe_code)]

mod arcs;
mod axis;
mod bars;
mod frame;
mod labels;
mod lines;
mod look;
mod map;
mod panel;
mod rows;
mod scale;
mod scatter;
mod svg;

pub use arcs::{ArcEdge, ArcNode, Arcs};
pub use axis::Axis;
pub use bars::{Bar, Bars};
pub use labels::{micros, percent, plain, si};
pub use lines::{Lines, Point, Series};
pub use look::{Look, Theme, style, swatch};
pub use map::{Cell, Map, Paint};
pub use panel::{Panel, Sheet};
pub use rows::{Row, Rows};
pub use scale::Scale;
pub use scatter::{Dot, Region, Scatter};
