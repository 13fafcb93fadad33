//! Markup: elements whose attributes and texts are escaped, and numbers written short.

use core::fmt::{Display, Write};

/// Text as it may stand in markup, between tags or in an attribute. What XML does not admit at all, control characters,
/// becomes the replacement character.
pub fn escape(text: &str) -> String {
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

/// A coordinate with as many digits as one can see.
pub(crate) fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// The width of a text, guessed from above: nobody knows the font that it will be shown in.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | 't' | 'f' | 'r' | '.' | ',' | ':' | ';' | '|' | '\'' | ' ' | '(' | ')' => 0.4,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.95,
        c if c.is_ascii_uppercase() => 0.74,
        c if c.is_ascii() => 0.6,
        _ => 1.0,
    };
    text.chars().map(em).sum::<f64>() * size
}

/// An element of SVG or HTML that is being written.
#[derive(Debug)]
pub struct Element {
    name: &'static str,
    text: String,
}

impl Element {
    /// An element without attributes.
    pub fn new(name: &'static str) -> Self {
        Self { name, text: format!("<{name}") }
    }

    /// With an attribute.
    #[must_use]
    pub fn set(mut self, name: &str, value: impl Display) -> Self {
        write!(self.text, " {name}=\"{}\"", escape(&value.to_string())).expect("a string takes any text");
        self
    }

    /// With a coordinate.
    #[must_use]
    pub fn at(self, name: &str, value: f64) -> Self {
        self.set(name, short(value))
    }

    /// With a key, if it is not empty.
    #[must_use]
    pub fn key(self, key: &str) -> Self {
        if key.is_empty() { self } else { self.set("data-k", key) }
    }

    /// Without content.
    pub fn empty(self) -> String {
        self.text + "/>"
    }

    /// With markup in it, which is taken as it is.
    pub fn holding(self, markup: &str) -> String {
        format!("{}>{markup}</{}>", self.text, self.name)
    }

    /// With a text in it.
    pub fn saying(self, text: &str) -> String {
        self.holding(&escape(text))
    }
}

/// What a mark says when it is pointed at; nothing when it says nothing.
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
    fn a_longer_text_is_wider() {
        assert!(width("mmm", 10.0) > width("iii", 10.0) && width("abcd", 12.0) > width("abc", 12.0));
    }
}
