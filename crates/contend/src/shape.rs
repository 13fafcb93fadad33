//! The columns of tables as a directory stores them, and their comparison with the columns that a program declares. The
//! log itself knows only the widths of keys and rows, and would take an `i64` for a `u64`.
//!
//! ```text
//! u8   version
//! u32  tables; for each of them
//!      u32  bytes of the name, and the name
//!      u32  columns; for each of them
//!           u32  bytes of the name, and the name
//!           u8   kind, in the order of `Kind`, from 0
//!           u16  N of `[u8; N]` and `Text<N>`, else 0
//!           u8   whether it may hold nothing
//!           u32  bytes of the name of its column group, and the name; none of a column in no group
//!      u32  columns of the key; for each of them a u32: its number
//! ```
//!
//! All numbers are little-endian. Version 1 had no column groups. Secondary indexes, the kind of index (`point` or
//! ordered) and hints are not stored: indexes are made anew whenever the database is opened.

use core::fmt;
use std::collections::BTreeMap;

use crate::column::{Kind, Type};
use crate::definition::{ColumnDefinition, Definition};

const VERSION: u8 = 2;
/// The version without column groups.
const UNGROUPED: u8 = 1;

/// A difference between the tables of a directory and the tables that a program declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaMismatch {
    /// The table, as the directory has it.
    pub table: String,
    /// The column, as the directory has it, if one can be named.
    pub column: Option<String>,
    /// The difference, with advice.
    pub says: String,
}

impl fmt::Display for SchemaMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table `{}`", self.table)?;
        self.column.as_ref().map_or(Ok(()), |column| write!(f, ", column `{column}`"))?;
        write!(f, ": {}", self.says)
    }
}

impl core::error::Error for SchemaMismatch {}

/// A table as it was when the database was last opened.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stored {
    name: String,
    columns: Vec<StoredColumn>,
    key: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct StoredColumn {
    name: String,
    kind: Type,
    /// The name of its column group, empty for none.
    group: String,
}

/// The error for stored columns that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// The columns have another format version.
    Version(u8),
    /// The bytes are no valid columns.
    Nonsense,
}

/// The columns of all tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape(Vec<Stored>);

impl Shape {
    /// Makes the shape of valid table definitions.
    pub(crate) fn of<'d>(tables: impl Iterator<Item = &'d Definition>) -> Self {
        Self(tables.map(Stored::of).collect())
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut to = vec![VERSION];
        put_count(&mut to, self.0.len());
        for table in &self.0 {
            put_text(&mut to, &table.name);
            put_count(&mut to, table.columns.len());
            for StoredColumn { name, kind, group } in &table.columns {
                put_text(&mut to, name);
                let (number, bytes) = numbered(kind.kind);
                to.push(number);
                to.extend(bytes.to_le_bytes());
                to.push(u8::from(kind.is_nullable));
                put_text(&mut to, group);
            }
            put_count(&mut to, table.key.len());
            table.key.iter().for_each(|column| put_count(&mut to, *column));
        }
        to
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Unread> {
        let (version, rest) = bytes.split_first().ok_or(Unread::Nonsense)?;
        if ![UNGROUPED, VERSION].contains(version) {
            return Err(Unread::Version(*version));
        }
        let mut from = From { bytes: rest, has_groups: *version > UNGROUPED };
        let read = from.many(From::table).ok_or(Unread::Nonsense)?;
        if from.bytes.is_empty() { Ok(Self(read)) } else { Err(Unread::Nonsense) }
    }

    /// Returns the first difference of the declared tables from the stored ones, if there is one. Declared tables
    /// behind the last stored one are new.
    pub(crate) fn mismatch(&self, declared: &Self) -> Option<SchemaMismatch> {
        self.0.iter().enumerate().find_map(|(number, stored)| {
            let says = |says| SchemaMismatch { table: stored.name.clone(), column: None, says };
            match declared.0.get(number) {
                Some(declared) if declared.name == stored.name => stored.mismatch(declared),
                Some(other) => Some(says(format!(
                    "is table {number} of the directory, where `{}` is declared: declare the tables that there are \
                     in their order, and new ones behind them",
                    other.name
                ))),
                None => Some(says(format!(
                    "is table {number} of the directory and is not declared: declare it, though it may not be used"
                ))),
            }
        })
    }
}

impl Stored {
    fn of(table: &Definition) -> Self {
        let groups = table.groups().iter();
        let groups = groups.flat_map(|group| group.columns.iter().map(|column| (&**column, &*group.name)));
        let groups: BTreeMap<&str, &str> = groups.collect();
        let group_of = |name: &str| groups.get(name).copied().unwrap_or_default().to_owned();
        let column = |ColumnDefinition { name, kind }: &ColumnDefinition| StoredColumn {
            name: name.to_string(),
            kind: *kind,
            group: group_of(name),
        };
        let numbers = table.columns().iter().zip(0..).map(|(column, number)| (&*column.name, number));
        let numbers: BTreeMap<&str, usize> = numbers.collect();
        let number = |name: &str| numbers.get(name).copied();
        Self {
            name: table.name().to_owned(),
            columns: table.columns().iter().map(column).collect(),
            key: table.key_columns().filter_map(number).collect(),
        }
    }

    fn mismatch(&self, declared: &Self) -> Option<SchemaMismatch> {
        const DO: &str = "declare it as it was, or copy the rows into a table of another name";
        let says = |column: Option<&str>, says: String| {
            let (table, column) = (self.name.clone(), column.map(str::to_owned));
            Some(SchemaMismatch { table, column, says })
        };
        for (number, StoredColumn { name, kind, group }) in self.columns.iter().enumerate() {
            let Some(other) = declared.columns.get(number) else {
                return says(Some(name), format!("is not declared any more: {DO}"));
            };
            if other.name != *name {
                return says(Some(name), format!("is declared as `{}`: {DO}", other.name));
            }
            if other.kind != *kind {
                return says(Some(name), format!("is of type {kind} and declared as {}: {DO}", other.kind));
            }
            if other.group != *group {
                let (was, is) = (in_group(group), in_group(&other.group));
                return says(Some(name), format!("is in {was} and declared in {is}: {DO}"));
            }
        }
        if let Some(StoredColumn { name, .. }) = declared.columns.get(self.columns.len()) {
            return says(Some(name), format!("is declared and not in the directory: {DO}"));
        }
        if self.key == declared.key {
            return None;
        }
        let columns = self.key.len().max(declared.key.len());
        let differs = (0..columns).find(|place| self.key.get(*place) != declared.key.get(*place))?;
        let column =
            self.key.get(differs).or(declared.key.get(differs)).and_then(|column| self.columns.get(*column));
        let column = column.map(|column| column.name.as_str());
        says(column, format!("the key has other columns, from its column {differs} on: {DO}"))
    }
}

/// Returns a description of a column group, for messages.
fn in_group(name: &str) -> String {
    if name.is_empty() { "no column group".into() } else { format!("column group `{name}`") }
}

/// The number of a kind in files, and its width in bytes for `Bytes` and `Text`, else 0.
const fn numbered(kind: Kind) -> (u8, u16) {
    match kind {
        Kind::Bool => (0, 0),
        Kind::U8 => (1, 0),
        Kind::U16 => (2, 0),
        Kind::U32 => (3, 0),
        Kind::U64 => (4, 0),
        Kind::U128 => (5, 0),
        Kind::I8 => (6, 0),
        Kind::I16 => (7, 0),
        Kind::I32 => (8, 0),
        Kind::I64 => (9, 0),
        Kind::I128 => (10, 0),
        Kind::F32 => (11, 0),
        Kind::F64 => (12, 0),
        Kind::Sum => (13, 0),
        Kind::Bytes(bytes) => (14, bytes),
        Kind::Text(bytes) => (15, bytes),
    }
}

fn kind_of(number: u8, bytes: u16) -> Option<Kind> {
    const PLAIN: [Kind; 14] = [
        Kind::Bool,
        Kind::U8,
        Kind::U16,
        Kind::U32,
        Kind::U64,
        Kind::U128,
        Kind::I8,
        Kind::I16,
        Kind::I32,
        Kind::I64,
        Kind::I128,
        Kind::F32,
        Kind::F64,
        Kind::Sum,
    ];
    match number {
        14 => Some(Kind::Bytes(bytes)),
        15 => Some(Kind::Text(bytes)),
        _ => PLAIN.get(usize::from(number)).copied(),
    }
}

fn put_count(to: &mut Vec<u8>, count: usize) {
    to.extend((count as u32).to_le_bytes());
}

fn put_text(to: &mut Vec<u8>, text: &str) {
    put_count(to, text.len());
    to.extend(text.as_bytes());
}

/// A reader of bytes, which takes values off the front; `None` if there are too few bytes.
struct From<'b> {
    bytes: &'b [u8],
    has_groups: bool,
}

impl<'b> From<'b> {
    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, left) = self.bytes.split_at_checked(count)?;
        self.bytes = left;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn count(&mut self) -> Option<usize> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?) as usize)
    }

    fn text(&mut self) -> Option<String> {
        let bytes = self.count()?;
        String::from_utf8(self.take(bytes)?.to_vec()).ok()
    }

    /// Reads a count, and as many elements. Each element takes at least one byte, so a wrong count fails at the end of
    /// the bytes.
    fn many<T>(&mut self, mut one: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.count()?;
        let mut all = Vec::new();
        for _ in 0..count {
            all.push(one(self)?);
        }
        Some(all)
    }

    fn column(&mut self) -> Option<StoredColumn> {
        let (name, number) = (self.text()?, self.byte()?);
        let bytes = u16::from_le_bytes(self.take(2)?.try_into().ok()?);
        let kind = Type { kind: kind_of(number, bytes)?, is_nullable: self.byte()? != 0 };
        let group = if self.has_groups { self.text()? } else { String::new() };
        Some(StoredColumn { name, kind, group })
    }

    fn table(&mut self) -> Option<Stored> {
        let (name, columns) = (self.text()?, self.many(Self::column)?);
        Some(Stored { name, columns, key: self.many(Self::count)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Text;
    use crate::column::Sum;

    fn people() -> Definition {
        Definition::new("people")
            .column::<u64>("id")
            .column::<Text<10>>("name")
            .column::<Option<i16>>("age")
            .key(["id"])
    }

    fn shape<const N: usize>(tables: &[Definition; N]) -> Shape {
        Shape::of(tables.iter())
    }

    #[test]
    fn shapes_are_read_as_they_were_written() {
        let all = [
            Kind::Bool,
            Kind::U8,
            Kind::U16,
            Kind::U32,
            Kind::U64,
            Kind::U128,
            Kind::I8,
            Kind::I16,
            Kind::I32,
            Kind::I64,
            Kind::I128,
            Kind::F32,
            Kind::F64,
            Kind::Sum,
            Kind::Bytes(700),
            Kind::Text(9),
        ];
        let many = all.into_iter().enumerate().fold(Definition::new("all"), |table, (number, kind)| {
            let kind = Type { kind, is_nullable: number % 2 == 1 };
            table.column_of(format!("c{number}"), kind)
        });
        let shape = shape(&[people().group("work", ["age"]), many.key(["c4", "c2"])]);
        let bytes = shape.encode();
        assert_eq!(Shape::decode(&bytes), Ok(shape));
        for end in 0..bytes.len() {
            assert!(Shape::decode(&bytes[..end]).is_err(), "{end} bytes are too few");
        }
        assert_eq!(Shape::decode(&[9, 0]), Err(Unread::Version(9)));
        let too_many = [&[VERSION][..], &[0xff; 4]].concat();
        assert_eq!(Shape::decode(&too_many), Err(Unread::Nonsense));
    }

    #[test]
    fn what_was_written_before_there_were_groups_is_read() {
        let bytes = [
            &[UNGROUPED, 1, 0, 0, 0, 1, 0, 0, 0, b't', 1, 0, 0, 0, 1, 0, 0, 0, b'k', 4, 0, 0, 0],
            &[1, 0, 0, 0][..],
            &[0; 4],
        ]
        .concat();
        let only = Definition::new("t").column::<u64>("k").key(["k"]);
        assert_eq!(Shape::decode(&bytes), Ok(shape(&[only])));
    }

    #[test]
    fn what_may_change_is_no_mismatch() {
        let stored = shape(&[people()]);
        let more = Definition::new("more").column::<Sum>("sum").column::<u8>("id").key(["id"]);
        let declared = shape(&[people().index("by_name", ["name"]).point().expect_rows(9), more]);
        assert_eq!(stored.mismatch(&declared), None);
        assert!(declared.mismatch(&stored).is_some_and(|mismatch| mismatch.table == "more"));
    }

    #[track_caller]
    fn differs(declared: Definition, table: &str, column: Option<&str>, with: &str) {
        let mismatch = shape(&[people()]).mismatch(&shape(&[declared])).expect("they differ");
        assert_eq!((mismatch.table.as_str(), mismatch.column.as_deref()), (table, column), "{mismatch}");
        assert!(mismatch.says.contains(with), "{mismatch}");
    }

    #[test]
    fn a_mismatch_names_the_table_and_the_column() {
        let of = Definition::new;
        differs(of("persons"), "people", None, "`persons` is declared");
        let id = || of("people").column::<u64>("id");
        differs(id().key(["id"]), "people", Some("name"), "not declared any more");
        differs(of("people").column::<i64>("id"), "people", Some("id"), "of type u64 and declared as i64");
        let renamed = id().column::<Text<10>>("called");
        differs(renamed, "people", Some("name"), "declared as `called`");
        differs(people().column::<u8>("team"), "people", Some("team"), "not in the directory");
        differs(people().key(["id", "name"]), "people", Some("name"), "from its column 1 on");
        differs(
            people().group("work", ["age"]),
            "people",
            Some("age"),
            "in no column group and declared in column group `work`",
        );
        let missing = shape(&[people()]).mismatch(&shape(&[])).expect("they differ");
        assert!(missing.to_string().contains("table `people`: is table 0"), "{missing}");
    }
}
