//! The shape of logged data: the tables, and the widths of their keys and column groups. It depends neither on schemes
//! nor on indexes, so that a database opens again under another scheme, and with other secondary indexes.

use core::fmt;

use engine::Scheme;
use storage::{Lookup, TableStore, Tables, Which};

/// The shape of a table's rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableLayout {
    /// The name of the table.
    pub name: String,
    /// Whether the table is a heap: its rows are found by no key, and it takes only inserts.
    pub is_heap: bool,
    /// The width of its keys in 8-byte words.
    pub key_words: u32,
    /// The width of each column group in words.
    pub groups: Vec<u32>,
}

/// The shapes of all tables, by table number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layouts(pub Vec<TableLayout>);

impl TableLayout {
    fn of<S: Scheme>(store: &TableStore<S>) -> Self {
        Self {
            name: store.name().to_owned(),
            is_heap: store.lookup() == Lookup::Heap,
            key_words: store.key_words(Which::Primary) as u32,
            groups: (0..store.groups()).map(|group| store.row_width(group) as u32).collect(),
        }
    }

    /// The number of words of a whole row.
    pub fn row_words(&self) -> usize {
        self.groups.iter().map(|words| *words as usize).sum()
    }
}

impl Layouts {
    /// The shapes of a database's tables.
    pub fn of<S: Scheme>(tables: &Tables<S>) -> Self {
        Self(tables.iter().map(TableLayout::of).collect())
    }

    /// The number of words of a row's column group, or of all groups if `group` is [`ALL`](crate::entry::ALL).
    pub(crate) fn width(&self, table: usize, group: u16) -> Option<usize> {
        let table = self.0.get(table)?;
        if group == crate::entry::ALL {
            return Some(table.row_words());
        }
        table.groups.get(usize::from(group)).map(|words| *words as usize)
    }

    /// Appends the shapes as bytes.
    pub(crate) fn encode(&self, to: &mut Vec<u8>) {
        to.extend((self.0.len() as u32).to_le_bytes());
        for table in &self.0 {
            to.extend((table.name.len() as u32).to_le_bytes());
            to.extend(table.name.as_bytes());
            to.push(u8::from(table.is_heap));
            to.push(table.key_words as u8);
            to.extend((table.groups.len() as u32).to_le_bytes());
            table.groups.iter().for_each(|words| to.extend(words.to_le_bytes()));
        }
    }

    /// Reads the shapes from bytes.
    pub(crate) fn decode(from: &mut crate::format::Bytes<'_>) -> Option<Self> {
        let mut tables = Vec::new();
        for _ in 0..from.u32()? {
            let name = from.u32()? as usize;
            let name = String::from_utf8(from.take(name)?.to_vec()).ok()?;
            let is_heap = from.u8()? != 0;
            let key_words = u32::from(from.u8()?);
            let mut groups = Vec::new();
            for _ in 0..from.u32()? {
                groups.push(from.u32()?);
            }
            tables.push(TableLayout { name, is_heap, key_words, groups });
        }
        Some(Self(tables))
    }

    /// The first difference between the tables that were logged and the tables that are asked for.
    pub(crate) fn compare(&self, asked: &Self) -> Option<Mismatch> {
        for (number, logged) in self.0.iter().enumerate() {
            let Some(asked) = asked.0.get(number) else {
                return Some(Mismatch::Missing { table: logged.name.clone() });
            };
            let table = logged.name.clone();
            if logged.name != asked.name {
                return Some(Mismatch::Name { number, logged: table, asked: asked.name.clone() });
            }
            if logged.is_heap != asked.is_heap {
                return Some(Mismatch::Heap { table, logged: logged.is_heap });
            }
            if logged.key_words != asked.key_words {
                return Some(Mismatch::Key { table, logged: logged.key_words, asked: asked.key_words });
            }
            if logged.groups != asked.groups {
                let (logged, asked) = (logged.groups.clone(), asked.groups.clone());
                return Some(Mismatch::Groups { table, logged, asked });
            }
        }
        // Tables behind those that were logged are new, and empty.
        None
    }
}

/// A difference between the tables that are asked for and the tables that were logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// A table does not exist any more.
    Missing {
        /// The table that was logged.
        table: String,
    },
    /// A table has another name.
    Name {
        /// The number of the table.
        number: usize,
        /// The name that was logged.
        logged: String,
        /// The name that it has now.
        asked: String,
    },
    /// A table has become a heap, or ceased to be one.
    Heap {
        /// The table.
        table: String,
        /// Whether it was a heap when it was logged.
        logged: bool,
    },
    /// Keys have another width, in words.
    Key {
        /// The table.
        table: String,
        /// The width that was logged.
        logged: u32,
        /// The width that it has now.
        asked: u32,
    },
    /// Column groups have other widths, in words, or their number differs.
    Groups {
        /// The table.
        table: String,
        /// The widths that were logged.
        logged: Vec<u32>,
        /// The widths that they have now.
        asked: Vec<u32>,
    },
}

impl Mismatch {
    /// The table that was logged.
    pub fn table(&self) -> &str {
        match self {
            Self::Missing { table }
            | Self::Heap { table, .. }
            | Self::Key { table, .. }
            | Self::Groups { table, .. } => table,
            Self::Name { logged, .. } => logged,
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { table } => write!(f, "table `{table}` was logged and is not declared any more"),
            Self::Name { number, logged, asked } => {
                write!(f, "table {number} was logged as `{logged}` and is declared as `{asked}`")
            }
            Self::Heap { table, logged } => {
                let [was, is] = if *logged { ["a heap", "none"] } else { ["no heap", "one"] };
                write!(f, "table `{table}` was logged as {was} and is declared as {is}")
            }
            Self::Key { table, logged, asked } => {
                write!(
                    f,
                    "table `{table}`: keys were logged with {logged} words of 8 bytes and have {asked} now"
                )
            }
            Self::Groups { table, logged, asked } => write!(
                f,
                "table `{table}`: column groups were logged with {logged:?} words of 8 bytes and have {asked:?} now"
            ),
        }
    }
}

impl core::error::Error for Mismatch {}
