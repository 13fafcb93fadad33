//! Markup: elements with escaped attributes and texts, and numbers with few digits.

use core::fmt::{Display, Write};

/// Escapes a text for markup, between tags or in an attribute. Characters that XML does not admit at all, control
/// characters, become the replacement character.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Formats a coordinate with two digits after the point at most: more are not visible.
pub(crate) fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Estimates the width of a text with a font that is wider than most, since the font of the reader is unknown.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' => 0.31,
        't' | 'f' | 'r' | '.' | ',' | ':' | ';' | '|' | '\'' | ' ' | '(' | ')' | '/' | '-' => 0.42,
        '<' | '>' | '=' | '+' | '~' | 'w' | '#' => 0.86,
        'm' | 'M' | 'W' | '%' | '@' => 1.0,
        c if c.is_ascii_uppercase() => 0.74,
        c if c.is_ascii() => 0.64,
        _ => 1.0,
    };
    text.chars().map(em).sum::<f64>() * size
}

/// The factor by which bold text is wider.
pub(crate) const BOLD: f64 = 1.1;

/// Cuts a text to a width, and ends it with an ellipsis if it was cut.
pub(crate) fn fit(text: &str, size: f64, max: f64) -> String {
    if width(text, size) <= max {
        return text.to_owned();
    }
    let mut fitting = String::new();
    for c in text.chars() {
        fitting.push(c);
        if width(&fitting, size) + size > max {
            fitting.pop();
            break;
        }
    }
    fitting + "\u{2026}"
}

/// Font size of panel titles.
const HEAD: f64 = 12.0 * BOLD;
/// Distance between the lines of a title, in pixels.
const HEAD_LINE: f64 = 15.0;

/// Draws a title, broken at its commas into lines at most `max` wide. Returns the markup and its height.
pub(crate) fn head(title: &str, max: f64) -> (String, f64) {
    let mut lines: Vec<String> = Vec::new();
    for part in title.split(", ").filter(|part| !part.is_empty()) {
        match lines.last_mut() {
            Some(line) if width(&format!("{line}, {part}"), HEAD) <= max => line.extend([", ", part]),
            Some(line) => {
                line.push(',');
                lines.push(part.to_owned());
            }
            None => lines.push(part.to_owned()),
        }
    }
    let text = |(at, line): (usize, &String)| {
        let text =
            Element::new("text").set("class", "head").at("x", 2.0).at("y", 13.0 + HEAD_LINE * at as f64);
        text.saying(&fit(line, HEAD, max))
    };
    let markup = lines.iter().enumerate().map(text).collect();
    (markup, if lines.is_empty() { 0.0 } else { HEAD_LINE * lines.len() as f64 + 3.0 })
}

/// An element of SVG under construction.
#[derive(Debug)]
pub(crate) struct Element {
    name: &'static str,
    text: String,
}

impl Element {
    /// Makes an element without attributes.
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, text: format!("<{name}") }
    }

    /// Adds an attribute.
    #[must_use]
    pub(crate) fn set(mut self, name: &str, value: impl Display) -> Self {
        write!(self.text, " {name}=\"{}\"", escape(&value.to_string())).expect("a string takes any text");
        self
    }

    /// Adds a coordinate as an attribute.
    #[must_use]
    pub(crate) fn at(self, name: &str, value: f64) -> Self {
        self.set(name, short(value))
    }

    /// Adds a key, unless it is empty.
    #[must_use]
    pub(crate) fn key(self, key: &str) -> Self {
        if key.is_empty() { self } else { self.set("data-k", key) }
    }

    /// Returns the markup of the element without content.
    pub(crate) fn empty(self) -> String {
        self.text + "/>"
    }

    /// Returns the markup of the element with markup in it, which is not escaped.
    pub(crate) fn holding(self, markup: &str) -> String {
        format!("{}>{markup}</{}>", self.text, self.name)
    }

    /// Returns the markup of the element with a text in it.
    pub(crate) fn saying(self, text: &str) -> String {
        self.holding(&escape(text))
    }
}

/// Returns the tooltip of a mark as markup; empty if there is no text.
pub(crate) fn title(says: &str) -> String {
    if says.is_empty() { String::new() } else { Element::new("title").saying(says) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_can_leave_its_place() {
        let hostile = "</text><script>alert('1')</script>\" onload=\"x\u{0}";
        let text = Element::new("text").set("aria-label", hostile).saying(hostile);
        assert_eq!(text.matches('<').count(), 2, "{text}");
        assert_eq!(text.matches('"').count(), 2, "{text}");
        assert!(!text.contains('\u{0}'));
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([short(1.0), short(0.126), short(-0.001), short(20.10)], ["1", "0.13", "0", "20.1"]);
    }

    #[test]
    fn what_does_not_fit_is_shortened_or_broken() {
        let long = "a".repeat(300);
        let fitting = fit(&long, 10.0, 100.0);
        assert!(fitting.ends_with('\u{2026}') && width(&fitting, 10.0) <= 104.0, "{fitting}");
        assert_eq!(fit("short", 10.0, 100.0), "short");
        let (one, two) = (head("a = 1, b = 2", 300.0), head("a = 1, b = 2", 50.0));
        assert_eq!((one.0.matches("<text").count(), two.0.matches("<text").count()), (1, 2));
        assert!(two.1 > one.1 && head("", 100.0) == (String::new(), 0.0));
    }

    #[test]
    fn a_longer_text_is_wider() {
        assert!(width("mmm", 10.0) > width("iii", 10.0) && width("abcd", 12.0) > width("abc", 12.0));
    }
}
