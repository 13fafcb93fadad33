//! Reading a machine from a file in TOML. The reader goes through the table of constants and asks the file for each of
//! them. Everything that the file lacks, or has and should not have, is an error with its line.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::fields::{self, FIELDS, Field, HOP_FIELDS, KIB, Least, PS_PER_NS, Slot};
use super::{Basis, Constant, Hop, Machine, MachineError, judge};

/// The maximum of a number of parts: enough for every machine that shares one memory.
const PARTS_MAX: u64 = 1_024;
/// The maximum of a time, in nanoseconds: a second.
const NS_MAX: f64 = 1e9;
/// The minimum of a rate that is not 0, in bytes or cycles per nanosecond: slower parts are misspelt.
const RATE_MIN: f64 = 0.001;
/// The maximum of a rate, in bytes per nanosecond.
const RATE_MAX: f64 = 1e6;
/// The maximum of a cache, in KiB: 16 GiB.
const KIB_MAX: f64 = 16.0 * 1_024.0 * 1_024.0;

impl Machine {
    /// Reads a machine from the text of a file. The origin names the file in errors.
    ///
    /// # Errors
    /// A text that is not TOML, a constant that is missing, unknown or impossible, a constant without a basis or a
    /// source, and constants that contradict each other. The error names the line and says what is wrong.
    pub fn read(text: &str, origin: &str) -> Result<Self, MachineError> {
        let file = File { text, origin };
        let (machine, lines) = file.read()?;
        judge::judge(&machine).map_err(|(path, says)| {
            let line = lines.get(&path).copied().unwrap_or(0);
            MachineError::new(origin, line, format!("`{path}`: {says}"))
        })?;
        Ok(machine)
    }
}

/// The lines of the constants in a file, by path.
type Lines = BTreeMap<String, usize>;

struct File<'t> {
    text: &'t str,
    origin: &'t str,
}

/// A table of the file from which keys are taken one by one.
struct Section<'t> {
    /// The path; empty for the top of the file.
    path: String,
    line: usize,
    /// The keys that have not been taken, each with its line and value.
    left: BTreeMap<String, (usize, DeValue<'t>)>,
    /// The names that were asked for.
    asked: Vec<&'static str>,
}

/// A constant as the file has it.
struct Entry<'t> {
    path: String,
    line: usize,
    /// The name of the key that has the value, and the value.
    value: (&'static str, DeValue<'t>),
}

impl<'t> File<'t> {
    fn read(&self) -> Result<(Machine, Lines), MachineError> {
        let table = DeTable::parse(self.text).map_err(|error| {
            let line = error.span().map_or(0, |span| self.line_of(span.start));
            self.error(line, format!("this is not TOML: {}", error.message()))
        })?;
        let mut machine = fields::blank();
        let mut lines = Lines::new();
        let mut top = self.section("", 0, table.into_inner());
        machine.name = self.sentence(&mut top, "name", "the name in results, such as `altra`")?;
        if let Some(odd) = machine.name.chars().find(|c| !(c.is_ascii_alphanumeric() || "-_.+".contains(*c)))
        {
            let says = format!("`name`: it has {odd:?}, and may have letters, digits, `-`, `_`, `.` and `+`");
            return Err(self.error(0, says));
        }
        machine.title = self.sentence(&mut top, "title", "one sentence that says which machine it is")?;
        machine.compared = self.sentence_if_any(
            &mut top,
            "compared",
            "how well simulated figures agreed with measured ones, in a half sentence",
        )?;
        let hops = top.take("hops");
        let mut sections: Vec<(&'static str, Section<'t>)> = vec![("", top)];
        for field in &FIELDS {
            let section = self.section_of(&mut sections, field)?;
            let names: &[&'static str] =
                if field.name == "distance" { &["blocks", "matrix"] } else { &["value"] };
            let entry = self.constant(section, field.name, field.meaning, names, &mut machine.constants)?;
            lines.insert(entry.path.clone(), entry.line);
            let sockets = machine.topology.sockets;
            self.fill((field.slot)(&mut machine), field.least, &entry, sockets)?;
        }
        for (_, section) in sections {
            self.nothing_left(&section)?;
        }
        self.hops(hops, &mut machine, &mut lines)?;
        Ok((machine, lines))
    }

    /// Returns the section that has a constant, and takes it out of the top of the file if it is the first one.
    fn section_of<'s>(
        &self,
        sections: &'s mut Vec<(&'static str, Section<'t>)>,
        field: &Field,
    ) -> Result<&'s mut Section<'t>, MachineError> {
        let name = field.section;
        if let Some(at) = sections.iter().position(|(known, _)| *known == name) {
            return Ok(&mut sections[at].1);
        }
        let (line, value) = sections[0].1.take(name).ok_or_else(|| {
            self.error(0, format!("the section `[{name}]` is missing: it has {}", field.meaning))
        })?;
        let DeValue::Table(table) = value else {
            return Err(self.error(line, format!("`{name}` is a section: write `[{name}]`")));
        };
        sections.push((name, self.section(name, line, table)));
        Ok(&mut sections.last_mut().expect("the section was just pushed").1)
    }

    /// Reads the hops: an array of tables, one for each distance.
    fn hops(
        &self,
        hops: Option<(usize, DeValue<'t>)>,
        machine: &mut Machine,
        lines: &mut Lines,
    ) -> Result<(), MachineError> {
        let Some((line, value)) = hops else {
            return Err(self.error(0, "`[[hops]]` is missing: one for each distance, from 0 upwards"));
        };
        let DeValue::Array(array) = value else {
            return Err(self.error(line, "`hops` is a list: write `[[hops]]` for each distance"));
        };
        for (distance, hop) in array.into_iter().enumerate() {
            let line = self.line_of(hop.span().start);
            let DeValue::Table(table) = hop.into_inner() else {
                return Err(self.error(line, "a hop is a section: write `[[hops]]` for each distance"));
            };
            let mut section = self.section(&format!("hops.{distance}"), line, table);
            let mut hop = Hop { round_trip_ps: 0, bytes_per_ns: 0.0 };
            for field in &HOP_FIELDS {
                let constants = &mut machine.constants;
                let entry = self.constant(&mut section, field.name, field.meaning, &["value"], constants)?;
                lines.insert(entry.path.clone(), entry.line);
                // Within a socket there may be no way at all, and no limit; between sockets there is always one.
                let least = if distance == 0 { Least::Zero } else { Least::AboveZero };
                self.fill((field.slot)(&mut hop), least, &entry, 0)?;
            }
            self.nothing_left(&section)?;
            machine.hops.push(hop);
        }
        lines.insert("hops".to_owned(), line);
        Ok(())
    }

    /// Reads a constant: its value under one of the names, its basis and its source.
    fn constant(
        &self,
        section: &mut Section<'t>,
        name: &'static str,
        meaning: &str,
        names: &[&'static str],
        constants: &mut Vec<Constant>,
    ) -> Result<Entry<'t>, MachineError> {
        let path = section.path_of(name);
        let example = format!("`{name} = {{ {} = .., basis = \"..\", source = \"..\" }}`", names[0]);
        let Some((line, value)) = section.take(name) else {
            let misspelt = section.left.iter().find(|(key, _)| !fields::is_known(&section.path, key));
            let misspelt =
                misspelt.map(|(key, (line, _))| format!("; `{key}` in line {line} is not known here"));
            let misspelt = misspelt.unwrap_or_default();
            let says = format!("`{path}` is missing ({meaning}){misspelt}: write {example}");
            return Err(self.error(section.line, says));
        };
        let DeValue::Table(table) = value else {
            return Err(self.error(line, format!("`{path}` has no basis and no source: write {example}")));
        };
        let mut parts = self.section(&path, line, table);
        let given: Vec<_> =
            names.iter().filter_map(|name| parts.take(name).map(|at| (*name, at.1))).collect();
        let basis = self.sentence(&mut parts, "basis", "measured, published, fitted or assumed")?;
        let Some(basis) = Basis::ALL.into_iter().find(|known| known.name() == basis) else {
            let known = Basis::ALL.map(Basis::name).join(", ");
            return Err(self.error(line, format!("`{path}`: the basis `{basis}` is none of {known}")));
        };
        let why = "where the value comes from, or the reason for an assumption";
        let source = self.sentence(&mut parts, "source", why)?;
        self.nothing_left(&parts)?;
        let mut given = given.into_iter();
        let (Some(value), None) = (given.next(), given.next()) else {
            let names = names.join("` or `");
            return Err(self.error(line, format!("`{path}` needs one value: `{names}`")));
        };
        constants.push(Constant { path: path.clone(), basis, source });
        Ok(Entry { path, line, value })
    }

    /// Puts a value in its place.
    fn fill(
        &self,
        slot: Slot<'_>,
        least: Least,
        entry: &Entry<'t>,
        sockets: u32,
    ) -> Result<(), MachineError> {
        match slot {
            Slot::Shape(count) | Slot::Count(count) => *count = self.whole(entry, PARTS_MAX)? as u32,
            Slot::Line(bytes) => *bytes = self.integer(entry, &entry.value.1, 32, 256)?,
            Slot::Size(bytes, _) => {
                let kib = self.number(entry, &entry.value.1, least, KIB_MAX)?;
                *bytes = (kib * KIB).round() as u64;
            }
            Slot::Time(ps) => {
                let ns = self.number(entry, &entry.value.1, least, NS_MAX)?;
                *ps = (ns * PS_PER_NS).round() as u64;
                if *ps == 0 && ns > 0.0 {
                    return Err(self.at(entry, format!("{ns} is less than a picosecond, 0.001")));
                }
            }
            Slot::Rate(rate) => {
                *rate = self.number(entry, &entry.value.1, least, RATE_MAX)?;
                if *rate > 0.0 && *rate < RATE_MIN {
                    return Err(self.at(entry, format!("the value is {rate}, less than {RATE_MIN}")));
                }
            }
            Slot::Gains(gains) => {
                let list = self.list(entry, &entry.value.1, "a list of speed-ups, `[1.0, 1.3]`")?;
                let gain = |gain: &Spanned<DeValue<'t>>| {
                    self.number(entry, gain.get_ref(), Least::AboveZero, PARTS_MAX as f64)
                };
                *gains = list.iter().map(gain).collect::<Result<_, _>>()?;
            }
            Slot::Distance(distance) => *distance = self.distance(entry, sockets as usize)?,
        }
        Ok(())
    }

    /// Reads the distances, from blocks of sockets or from a matrix.
    fn distance(&self, entry: &Entry<'t>, sockets: usize) -> Result<Vec<Vec<u8>>, MachineError> {
        let (name, value) = &entry.value;
        if *name == "blocks" {
            let list = self.list(entry, value, "a list of numbers of sockets, `[2, 4]`")?;
            let block = |block: &Spanned<DeValue<'t>>| self.integer(entry, block.get_ref(), 2, PARTS_MAX);
            let blocks: Vec<u64> = list.iter().map(block).collect::<Result<_, _>>()?;
            let is_odd = |pair: &&[u64]| pair[1] <= pair[0] || !pair[1].is_multiple_of(pair[0]);
            if let Some([small, large]) = blocks.windows(2).find(is_odd) {
                let says = format!("a block of {large} sockets consists of no blocks of {small}");
                return Err(self.at(entry, says));
            }
            return Ok(of_blocks(&blocks, sockets));
        }
        let rows = self.list(entry, value, "a list of rows, `[[0, 1], [1, 0]]`")?;
        let mut matrix = Vec::new();
        for row in rows {
            let row = self.list(entry, row.get_ref(), "a list of rows, `[[0, 1], [1, 0]]`")?;
            let distance =
                |at: &Spanned<DeValue<'t>>| self.integer(entry, at.get_ref(), 0, 255).map(|at| at as u8);
            matrix.push(row.iter().map(distance).collect::<Result<Vec<u8>, _>>()?);
        }
        Ok(matrix)
    }

    fn whole(&self, entry: &Entry<'t>, max: u64) -> Result<u64, MachineError> {
        self.integer(entry, &entry.value.1, 1, max)
    }

    fn integer(
        &self,
        entry: &Entry<'t>,
        value: &DeValue<'t>,
        min: u64,
        max: u64,
    ) -> Result<u64, MachineError> {
        let number = match value {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        number
            .filter(|number| (min..=max).contains(number))
            .ok_or_else(|| self.at(entry, format!("{} is no whole number from {min} to {max}", shown(value))))
    }

    fn number(
        &self,
        entry: &Entry<'t>,
        value: &DeValue<'t>,
        least: Least,
        max: f64,
    ) -> Result<f64, MachineError> {
        let number = match value {
            DeValue::Integer(number) => number.as_str().parse::<f64>().ok().filter(|_| number.radix() == 10),
            DeValue::Float(number) => number.as_str().parse().ok(),
            _ => None,
        };
        let Some(number) = number.filter(|number| number.is_finite()) else {
            return Err(self.at(entry, format!("{} is no number", shown(value))));
        };
        let (is_enough, says) = match least {
            Least::Zero => (number >= 0.0, "cannot be below zero"),
            Least::AboveZero => (number > 0.0, "must be above zero"),
        };
        match is_enough {
            false => Err(self.at(entry, format!("the value is {number}, and {says}"))),
            true if number > max => Err(self.at(entry, format!("the value is {number}, more than {max}"))),
            true => Ok(number),
        }
    }

    fn list<'v>(
        &self,
        entry: &Entry<'t>,
        value: &'v DeValue<'t>,
        example: &str,
    ) -> Result<&'v DeArray<'t>, MachineError> {
        match value {
            DeValue::Array(list) => Ok(list),
            _ => Err(self.at(entry, format!("{} is not {example}", shown(value)))),
        }
    }

    /// Takes a text that says something.
    fn sentence(
        &self,
        section: &mut Section<'t>,
        name: &'static str,
        meaning: &str,
    ) -> Result<String, MachineError> {
        let (line, path) = (section.line, section.path_of(name));
        let sentence = self.sentence_if_any(section, name, meaning)?;
        sentence.ok_or_else(|| self.error(line, format!("`{path}` is missing: {meaning}")))
    }

    fn sentence_if_any(
        &self,
        section: &mut Section<'t>,
        name: &'static str,
        meaning: &str,
    ) -> Result<Option<String>, MachineError> {
        let path = section.path_of(name);
        match section.take(name) {
            None => Ok(None),
            Some((_, DeValue::String(text))) if !text.trim().is_empty() => Ok(Some(text.into_owned())),
            Some((line, _)) => Err(self.error(line, format!("`{path}` is no text, or empty: {meaning}"))),
        }
    }

    /// Refuses a section with keys that nobody asked for: a misspelt name must not pass for a comment.
    fn nothing_left(&self, section: &Section<'t>) -> Result<(), MachineError> {
        let Some((name, (line, _))) = section.left.iter().min_by_key(|(_, (line, _))| *line) else {
            return Ok(());
        };
        let path = section.path_of(name);
        let known = section.asked.join(", ");
        Err(self.error(*line, format!("`{path}` is not known here; the names are {known}")))
    }

    fn section(&self, path: &str, line: usize, table: DeTable<'t>) -> Section<'t> {
        let left = table.into_iter().map(|(key, value)| {
            let line = self.line_of(key.span().start);
            (key.into_inner().into_owned(), (line, value.into_inner()))
        });
        Section { path: path.to_owned(), line, left: left.collect(), asked: Vec::new() }
    }

    /// Returns the line of a byte, from 1.
    fn line_of(&self, at: usize) -> usize {
        self.text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
    }

    fn at(&self, entry: &Entry<'t>, says: impl AsRef<str>) -> MachineError {
        self.error(entry.line, format!("`{}`: {}", entry.path, says.as_ref()))
    }

    fn error(&self, line: usize, says: impl Into<String>) -> MachineError {
        MachineError::new(self.origin, line, says)
    }
}

impl<'t> Section<'t> {
    fn take(&mut self, name: &'static str) -> Option<(usize, DeValue<'t>)> {
        self.asked.push(name);
        self.left.remove(name)
    }

    fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }
}

/// Returns the distances of sockets that are in blocks of blocks: sockets of the same smallest block are at distance 1,
/// of the same next block at distance 2, and so on; sockets that share no block are the farthest.
fn of_blocks(blocks: &[u64], sockets: usize) -> Vec<Vec<u8>> {
    let distance = |from: usize, to: usize| {
        let together = |block: &u64| from as u64 / block == to as u64 / block;
        let shared = blocks.iter().position(together).unwrap_or(blocks.len());
        if from == to { 0 } else { shared as u8 + 1 }
    };
    (0..sockets).map(|from| (0..sockets).map(|to| distance(from, to)).collect()).collect()
}

/// Returns a value as an error shows it.
fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("\"{text}\""),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        other => format!("a value of the type {}", other.type_str()),
    }
}
