//! Writing a machine as a file, for machines that were measured. What is written reads back to the same machine.

use core::fmt::Write;

use super::fields::{FIELDS, HOP_FIELDS, hop_path};
use super::{Constant, Machine};

impl Machine {
    /// Returns the text of a file that [`Machine::read`] reads back to this machine.
    pub fn text(&self) -> String {
        let mut text = format!("name = {}\ntitle = {}\n", quoted(&self.name), quoted(&self.title));
        let compared = self.compared.iter().map(|compared| format!("compared = {}\n", quoted(compared)));
        text.extend(compared);
        let values = self.values();
        let write = |path: &str, name: &str| {
            let value =
                values.iter().find(|(known, _)| known == path).map_or("", |(_, value)| value.as_str());
            let constant = self.constants.iter().find(|constant| constant.path == path);
            line(name, value, constant)
        };
        let mut section = "";
        for field in &FIELDS {
            if field.section != section {
                section = field.section;
                let _ = write!(text, "\n[{section}]\n");
            }
            text.push_str(&write(&field.path(), field.name));
        }
        for distance in 0..self.hops.len() {
            text.push_str("\n[[hops]]\n");
            for field in &HOP_FIELDS {
                text.push_str(&write(&hop_path(distance, field), field.name));
            }
        }
        text
    }
}

/// Returns the line of a constant. A constant of a machine that was made by hand may lack its origin; the reader will
/// ask for it.
fn line(name: &str, value: &str, constant: Option<&Constant>) -> String {
    let key = if name == "distance" { "matrix" } else { "value" };
    let (basis, source) =
        constant.map_or(("", ""), |constant| (constant.basis.name(), constant.source.as_str()));
    format!("{name} = {{ {key} = {value}, basis = \"{basis}\", source = {} }}\n", quoted(source))
}

/// Returns a text as a string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
