//! Definitions of tables: columns, key, column groups, secondary indexes. They are derived from a type, or put together
//! at run time.

use core::fmt;
use core::ops::Range;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use engine::{AnyKey, Lookup};
use storage::{KeyPart, PlainGroup, PlainTable};

use crate::column::{Column, Sum, Type};
use crate::group::ColumnGroup;
use crate::limits;

/// A table: its name, columns, key, column groups and secondary indexes.
///
/// `#[derive(Table)]` makes a definition of a type. A program that knows its tables only at run time puts the
/// definition together. A table declared in this way equals a derived table with the same columns:
///
/// ```
/// use contend::{Definition, Table};
///
/// #[derive(Table)]
/// #[table(name = "accounts")]
/// struct Account {
///     #[key]
///     id: u64,
///     #[index]
///     owner: u32,
///     cents: i64,
/// }
///
/// let declared = Definition::new("accounts")
///     .column::<u64>("id")
///     .column::<u32>("owner")
///     .column::<i64>("cents")
///     .key(["id"])
///     .index("by_owner", ["owner"]);
/// assert_eq!(Account::definition(), declared);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    name: Cow<'static, str>,
    columns: Vec<ColumnDefinition>,
    key: Vec<Cow<'static, str>>,
    groups: Vec<GroupDefinition>,
    indexes: Vec<IndexDefinition>,
    is_point: bool,
    prefix: Prefix,
    rows: Rows,
}

/// The number of the key's columns that are a prefix, or 0. Definitions compare equal whatever their prefix, since it
/// only changes the places of entries in the index.
#[derive(Clone, Copy, Debug, Eq)]
struct Prefix(usize);

impl PartialEq for Prefix {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// The expected rows: a hint. Definitions compare equal whatever their hint.
#[derive(Clone, Copy, Debug, Eq)]
struct Rows(usize);

impl PartialEq for Rows {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A column of a [`Definition`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnDefinition {
    /// Its name.
    pub name: Cow<'static, str>,
    /// Its type.
    pub kind: Type,
}

/// A column group of a [`Definition`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupDefinition {
    /// Its name.
    pub name: Cow<'static, str>,
    /// Its columns, in their order.
    pub columns: Vec<Cow<'static, str>>,
}

/// A secondary index of a [`Definition`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexDefinition {
    /// Its name.
    pub name: Cow<'static, str>,
    /// The columns of its keys, in their order.
    pub columns: Vec<Cow<'static, str>>,
}

/// The error for an invalid [`Definition`]. The text says what to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinitionError {
    /// The table's name.
    pub table: String,
    /// The problem, and what to change.
    pub says: String,
}

impl fmt::Display for DefinitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table `{}`: {}", self.table, self.says)
    }
}

impl core::error::Error for DefinitionError {}

impl Definition {
    /// Makes the definition of a table without columns. Once a database has the table, a name that is not static stays
    /// in memory until the process ends.
    pub fn new(name: impl Into<Cow<'static, str>>) -> Self {
        let (columns, key, groups, indexes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (prefix, rows) = (Prefix(0), Rows(0));
        Self { name: name.into(), columns, key, groups, indexes, is_point: false, prefix, rows }
    }

    /// Adds a column with the type of a field of type `C`.
    #[must_use]
    pub fn column<C: Column>(self, name: impl Into<Cow<'static, str>>) -> Self {
        self.column_of(name, C::TYPE)
    }

    /// Adds a column of a type that is known at run time.
    #[must_use]
    pub fn column_of(mut self, name: impl Into<Cow<'static, str>>, kind: Type) -> Self {
        self.columns.push(ColumnDefinition { name: name.into(), kind });
        self
    }

    /// Sets the columns of the primary key, in their order.
    #[must_use]
    pub fn key<N: Into<Cow<'static, str>>>(mut self, columns: impl IntoIterator<Item = N>) -> Self {
        self.key = columns.into_iter().map(Into::into).collect();
        self
    }

    /// Keeps some columns separately from the others of their row, as a column group: see [`ColumnGroup`].
    #[must_use]
    pub fn group<N: Into<Cow<'static, str>>>(
        mut self,
        name: impl Into<Cow<'static, str>>,
        columns: impl IntoIterator<Item = N>,
    ) -> Self {
        let columns = columns.into_iter().map(Into::into).collect();
        self.groups.push(GroupDefinition { name: name.into(), columns });
        self
    }

    /// Adds the columns of `G` as a column group of this name. The names of the columns begin with the group's name and
    /// a dot.
    #[must_use]
    pub fn column_group<G: ColumnGroup>(self, name: impl Into<Cow<'static, str>>) -> Self {
        self.column_group_of(name, G::columns())
    }

    /// Like [`column_group`](Self::column_group), with the columns as an argument. The derive calls it.
    #[doc(hidden)]
    #[must_use]
    pub fn column_group_of(
        mut self,
        name: impl Into<Cow<'static, str>>,
        columns: Vec<(Cow<'static, str>, Type)>,
    ) -> Self {
        let name = name.into();
        let own = columns.into_iter().map(|(column, kind)| {
            let name = Cow::Owned(format!("{name}.{column}"));
            ColumnDefinition { name, kind }
        });
        let before = self.columns.len();
        self.columns.extend(own);
        let columns: Vec<_> = self.columns[before..].iter().map(|column| column.name.clone()).collect();
        self.group(name, columns)
    }

    /// Adds a secondary index over columns, in this order. Each column must be in the key or in no column group. Rows
    /// may have the same secondary key. A table has two secondary indexes at most.
    #[must_use]
    pub fn index<N: Into<Cow<'static, str>>>(
        mut self,
        name: impl Into<Cow<'static, str>>,
        columns: impl IntoIterator<Item = N>,
    ) -> Self {
        let columns = columns.into_iter().map(Into::into).collect();
        self.indexes.push(IndexDefinition { name: name.into(), columns });
        self
    }

    /// Uses a hash index, which finds rows by equality of their key only, and is faster. Without this call keys are in
    /// order and ranges of them can be scanned.
    #[must_use]
    pub fn point(mut self) -> Self {
        self.is_point = true;
        self
    }

    /// Separates keys that differ in the first `columns` columns of the key: they then share no leaf of the index. So a
    /// read of the first rows of one prefix does not conflict with an insert behind the last row of the prefix before.
    /// This is a hint, useful where rows come and go in order within each prefix, like orders of a district or messages
    /// of a queue. Each prefix takes a leaf at least, so each should have many rows.
    #[must_use]
    pub fn prefix(mut self, columns: usize) -> Self {
        self.prefix = Prefix(columns);
        self
    }

    /// Sets the expected number of rows: a hint that sizes hash indexes.
    #[must_use]
    pub fn expect_rows(mut self, rows: usize) -> Self {
        self.rows = Rows(rows);
        self
    }

    /// The table's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The columns, in their order.
    pub fn columns(&self) -> &[ColumnDefinition] {
        &self.columns
    }

    /// The names of the key's columns, in their order.
    pub fn key_columns(&self) -> impl Iterator<Item = &str> {
        self.key.iter().map(AsRef::as_ref)
    }

    /// The column groups.
    pub fn groups(&self) -> &[GroupDefinition] {
        &self.groups
    }

    /// The secondary indexes.
    pub fn indexes(&self) -> &[IndexDefinition] {
        &self.indexes
    }

    /// Whether rows are found by equality of their key only.
    pub fn is_point(&self) -> bool {
        self.is_point
    }

    pub(crate) fn lookup(&self) -> Lookup {
        if self.is_point { Lookup::Point } else { Lookup::Ordered }
    }

    /// The least number of expected rows, which replaces smaller ones.
    pub(crate) const ROWS_MIN: usize = 1_024;

    pub(crate) fn expected_rows(&self) -> usize {
        self.rows.0.max(Self::ROWS_MIN)
    }

    pub(crate) fn error(&self, says: impl Into<String>) -> DefinitionError {
        DefinitionError { table: self.name.to_string(), says: says.into() }
    }

    /// Returns the numbers of the columns by their names. All look-ups use this map, since there may be many columns.
    fn numbers(&self) -> Result<Numbers<'_>, DefinitionError> {
        let mut numbers = BTreeMap::new();
        for (number, column) in self.columns.iter().enumerate() {
            if numbers.insert(&*column.name, number).is_some() {
                return Err(self.error(format!("there are two columns `{}`; rename one", column.name)));
            }
        }
        Ok(numbers)
    }

    /// The number of a column.
    fn find(&self, numbers: &Numbers<'_>, name: &str) -> Result<usize, DefinitionError> {
        let found = numbers.get(name).copied();
        found.ok_or_else(|| self.error(format!("there is no column `{name}`; add it, or name another")))
    }

    /// Returns the numbers of a key's columns, after a check that each may be part of a key.
    fn key_of(
        &self,
        numbers: &Numbers<'_>,
        columns: &[Cow<'static, str>],
    ) -> Result<Vec<usize>, DefinitionError> {
        if columns.is_empty() {
            return Err(self.error("a key has a column: name one with `#[key]`, or by `key` and `index`"));
        }
        let columns: Vec<usize> =
            columns.iter().map(|name| self.find(numbers, name)).collect::<Result<_, _>>()?;
        let mut seen = BTreeSet::new();
        for &number in &columns {
            let ColumnDefinition { name, kind } = &self.columns[number];
            if !kind.is_key() {
                return Err(self.error(format!("column `{name}` of type {kind} cannot be part of a key")));
            }
            if !seen.insert(number) {
                return Err(self.error(format!("column `{name}` is twice in a key; name it once")));
            }
        }
        Ok(columns)
    }

    /// Returns the numbers of the columns of each declared column group, and the role of each column.
    fn declared_groups(
        &self,
        numbers: &Numbers<'_>,
        key: &[usize],
    ) -> Result<(Vec<Vec<usize>>, Vec<Within>), DefinitionError> {
        let (given, most) = (self.groups.len(), limits::GROUPS_MAX);
        if given > most {
            return Err(self.error(format!("{given} column groups, and {most} are the most; join some")));
        }
        let mut within = vec![Within::None; self.columns.len()];
        for &number in key {
            within[number] = Within::Key;
        }
        let (mut declared, mut names) = (Vec::new(), BTreeSet::new());
        for GroupDefinition { name, columns } in &self.groups {
            let mut own = Vec::new();
            for column in columns {
                let number = self.find(numbers, column)?;
                let says = match within[number] {
                    Within::Key => format!("column `{column}` is of the key: leave it out of `{name}`"),
                    Within::Group => format!("column `{column}` is in column groups twice; name it once"),
                    Within::None => {
                        within[number] = Within::Group;
                        own.push(number);
                        continue;
                    }
                };
                return Err(self.error(says));
            }
            if own.is_empty() {
                return Err(
                    self.error(format!("column group `{name}` has no columns; name one, or leave it out"))
                );
            }
            if !names.insert(name) {
                return Err(self.error(format!("there are two column groups `{name}`; rename one")));
            }
            declared.push(own);
        }
        Ok((declared, within))
    }

    /// Returns the layout of the table, if the definition is valid.
    pub(crate) fn lay_out(&self) -> Result<Arranged, DefinitionError> {
        if self.indexes.len() > PlainTable::INDEXES_MAX {
            return Err(
                self.error("a table has two secondary indexes at most; keep others as tables of their own")
            );
        }
        let numbers = self.numbers()?;
        let key = self.key_of(&numbers, &self.key)?;
        let mut places = vec![Place::Row(0..0); self.columns.len()];
        let key_bytes = key.iter().fold(0, |at, &number| {
            let end = at + self.columns[number].kind.bytes();
            places[number] = Place::Key(at..end);
            end
        });
        let (mut kept, within) = self.declared_groups(&numbers, &key)?;
        let is_in_none = |number: &usize| within[*number] == Within::None;
        let others: Vec<usize> = (0..self.columns.len()).filter(is_in_none).collect();
        if !others.is_empty() || kept.is_empty() {
            kept.insert(0, others);
        }
        let (mut groups, mut first) = (Vec::new(), 0);
        for columns in kept {
            let end = columns.iter().fold(first * 8, |at, &number| {
                let end = at + self.columns[number].kind.bytes();
                places[number] = Place::Row(at..end);
                end
            });
            let next = end.div_ceil(8).max(first + 1);
            groups.push(first..next);
            first = next;
        }
        let (row_bytes, most) = (first * 8, limits::ROW_BYTES_MAX);
        if row_bytes > most {
            return Err(self.error(format!(
                "a row has {row_bytes} bytes beside its key, and {most} is the most; keep what is long in several rows"
            )));
        }
        self.check_key("the primary key has", key_bytes)?;
        let prefix = self.prefix.0;
        if prefix > 0 && (self.is_point || prefix >= key.len()) {
            return Err(self.error(format!(
                "a prefix of {prefix} columns: it is of fewer columns than the key, which has {}, and of a table \
                 whose keys are in order",
                key.len()
            )));
        }
        let indexes = self.indexes.iter().map(|index| self.key_of(&numbers, &index.columns));
        let indexes: Vec<Vec<usize>> = indexes.collect::<Result<_, _>>()?;
        for (index, columns) in self.indexes.iter().zip(&indexes) {
            let bytes: usize = columns.iter().map(|&number| self.columns[number].kind.bytes()).sum();
            let says = format!("the key of `{}` with the primary key has", index.name);
            self.check_key(&says, bytes + key_bytes)?;
            if let Some(&column) = columns.iter().find(|number| within[**number] == Within::Group) {
                return Err(self.error(format!(
                    "column `{}` of index `{}` is in a column group; leave it out of the group",
                    self.columns[column].name, index.name
                )));
            }
        }
        Ok(Arranged { places, key, indexes, key_bytes, groups })
    }

    fn check_key(&self, says: &str, bytes: usize) -> Result<(), DefinitionError> {
        let bytes_max = AnyKey::BYTES_MAX;
        let too_long =
            || self.error(format!("{says} {bytes} bytes, and {bytes_max} is the most; shorten a column"));
        if bytes <= bytes_max { Ok(()) } else { Err(too_long()) }
    }

    /// Converts the definition to the engine's form.
    pub(crate) fn plain(&self, arranged: &Arranged) -> PlainTable {
        let part = |&number: &usize| match arranged.places[number].clone() {
            Place::Key(range) => KeyPart::OfKey(range),
            Place::Row(range) => KeyPart::OfRow(range),
        };
        let suffix = &arranged.key[self.prefix.0..];
        let suffix_bytes = suffix.iter().map(|&number| self.columns[number].kind.bytes()).sum();
        let groups = arranged
            .groups
            .iter()
            .zip(self.are_additive(arranged))
            .map(|(words, is_additive)| PlainGroup { words: words.len(), is_additive, indexes: Vec::new() });
        let mut groups: Vec<PlainGroup> = groups.collect();
        // Indexed columns are in the key or in no column group, and the columns in no group come first.
        let indexes = self.indexes.iter().zip(&arranged.indexes);
        groups[0].indexes =
            indexes.map(|(index, columns)| (kept(&index.name), columns.iter().map(part).collect())).collect();
        PlainTable {
            key_bytes: arranged.key_bytes,
            suffix_bytes: (self.prefix.0 > 0).then_some(suffix_bytes),
            groups,
        }
    }

    /// Returns for each column group whether it has only sums, each of which is then a word of its own.
    fn are_additive(&self, arranged: &Arranged) -> Vec<bool> {
        // By group: the number of columns, and the number of those that are sums.
        let mut counts = vec![(0, 0); arranged.groups.len()];
        for (column, place) in self.columns.iter().zip(&arranged.places) {
            let Place::Row(range) = place else { continue };
            let group = arranged.groups.partition_point(|words| words.end * 8 <= range.start);
            if let Some((columns, sums)) = counts.get_mut(group) {
                *columns += 1;
                *sums += usize::from(column.kind == Sum::TYPE);
            }
        }
        let is_free = |words: &Range<usize>| self.indexes.is_empty() || words.start > 0;
        let groups = arranged.groups.iter().zip(counts);
        groups.map(|(words, (columns, sums))| is_free(words) && columns > 0 && columns == sums).collect()
    }

    /// Returns the table's name with a static lifetime.
    pub(crate) fn kept_name(&self) -> &'static str {
        kept(&self.name)
    }

    /// Describes the first difference from another definition of the same name; `None` if they are equal.
    pub(crate) fn difference(&self, other: &Self) -> Option<String> {
        if self == other {
            return None;
        }
        let columns = self.columns.iter().zip(&other.columns).find(|(one, two)| one != two);
        Some(match columns {
            Some((one, two)) => {
                format!(
                    "column `{}` of type {} is `{}` of type {} there",
                    one.name, one.kind, two.name, two.kind
                )
            }
            None if self.columns.len() != other.columns.len() => {
                format!("{} columns are {} there", self.columns.len(), other.columns.len())
            }
            None if self.key != other.key => "the key has other columns there".into(),
            None if self.groups != other.groups => "the column groups are others there".into(),
            None if self.indexes != other.indexes => "the secondary indexes are others there".into(),
            None => "one is found by equality only, and the other in order, too".into(),
        })
    }
}

/// Makes a name static, by leaking it if necessary.
#[expect(clippy::ptr_arg, reason = "a name that is static already is not copied")]
fn kept(name: &Cow<'static, str>) -> &'static str {
    match name {
        Cow::Borrowed(name) => name,
        Cow::Owned(name) => Box::leak(name.clone().into_boxed_str()),
    }
}

/// The numbers of columns by their names.
type Numbers<'d> = BTreeMap<&'d str, usize>;

/// The roles of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Key,
    /// A declared column group.
    Group,
    None,
}

/// The place of a column: a range of bytes of the primary key, or of the row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Key(Range<usize>),
    Row(Range<usize>),
}

/// The layout of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arranged {
    /// The place of each column.
    pub(crate) places: Vec<Place>,
    /// The columns of the key.
    pub(crate) key: Vec<usize>,
    /// The columns of each secondary index.
    pub(crate) indexes: Vec<Vec<usize>>,
    pub(crate) key_bytes: usize,
    /// The words of each column group within a row. Groups follow each other, and each has one word at least.
    pub(crate) groups: Vec<Range<usize>>,
}

impl Arranged {
    /// The width of a row in words.
    pub(crate) fn row_words(&self) -> usize {
        self.groups.last().map_or(0, |last| last.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Text;
    use crate::column::Kind;

    fn people() -> Definition {
        Definition::new("people")
            .column::<Text<10>>("name")
            .column::<u64>("id")
            .column::<Option<i16>>("age")
            .column::<u8>("team")
            .key(["team", "id"])
    }

    #[test]
    fn columns_of_the_key_are_in_the_key_and_the_others_in_the_row() {
        let arranged = people().index("by_name", ["name", "team"]).lay_out().unwrap();
        let places = [Place::Row(0..10), Place::Key(1..9), Place::Row(10..13), Place::Key(0..1)];
        assert_eq!(arranged.places, places);
        assert_eq!((arranged.key_bytes, arranged.groups.len(), arranged.row_words()), (9, 1, 2));
        let plain = people().index("by_name", ["name", "team"]).plain(&arranged);
        let by_name = ("by_name", vec![KeyPart::OfRow(0..10), KeyPart::OfKey(0..1)]);
        let group = PlainGroup { words: 2, is_additive: false, indexes: vec![by_name] };
        assert_eq!(plain, PlainTable { key_bytes: 9, suffix_bytes: None, groups: vec![group.clone()] });
        let by_team = people().index("by_name", ["name", "team"]).prefix(1).plain(&arranged);
        assert_eq!(by_team, PlainTable { key_bytes: 9, suffix_bytes: Some(8), groups: vec![group] });
    }

    #[test]
    fn columns_of_a_group_begin_at_a_word_of_their_own_behind_those_of_none() {
        let grouped = people().column::<Sum>("worked").group("work", ["worked"]).index("by_name", ["name"]);
        let arranged = grouped.lay_out().unwrap();
        assert_eq!((&arranged.places[2], &arranged.places[4]), (&Place::Row(10..13), &Place::Row(16..24)));
        assert_eq!(arranged.groups, [0..2, 2..3]);
        let is_additive: Vec<bool> =
            grouped.plain(&arranged).groups.iter().map(|group| group.is_additive).collect();
        assert_eq!(is_additive, [false, true], "an index over the others leaves sums what they are");
        let all = people().column::<u8>("work").group("all", ["name", "age"]).lay_out().unwrap();
        assert_eq!((all.groups.len(), all.row_words(), &all.places[2]), (2, 3, &Place::Row(18..21)));
    }

    #[track_caller]
    fn refused(definition: &Definition, with: &str) {
        let says = definition.lay_out().expect_err("refused").to_string();
        assert!(says.contains("table `people`") && says.contains(with), "{says}");
    }

    #[test]
    fn what_is_no_table_is_refused_with_the_way_out() {
        refused(&Definition::new("people").column::<u8>("a"), "a key has a column");
        refused(&people().key(["nobody"]), "no column `nobody`");
        refused(&people().key(["id", "id"]), "twice");
        refused(&people().key(["age"]), "Option<i16> cannot be part of a key");
        refused(&people().column::<u8>("team"), "two columns `team`");
        refused(&people().column::<[u8; 49]>("long").key(["long"]), "49 bytes");
        refused(&people().column::<[u8; 40]>("long").index("by_long", ["long"]), "49 bytes");
        refused(&people().group("work", ["nobody"]), "no column `nobody`; add it");
        refused(&people().group("work", ["id"]), "`id` is of the key: leave it out of `work`");
        refused(&people().group("work", ["age", "age"]), "in column groups twice");
        refused(&people().group("work", ["age"]).group("play", ["age"]), "in column groups twice");
        refused(&people().group("work", ["age"]).group("work", ["name"]), "two column groups `work`");
        refused(&people().group("work", [""; 0]), "`work` has no columns");
        refused(
            &people().group("work", ["name"]).index("by_name", ["name"]),
            "index `by_name` is in a column group",
        );
        refused(&people().prefix(2), "fewer columns than the key, which has 2");
        refused(&people().prefix(1).point(), "keys are in order");
        let three = people().index("a", ["name"]).index("b", ["name"]).index("c", ["name"]);
        refused(&three, "two secondary indexes at most");
        let wide = (0..16).fold(people(), |table, number| {
            table.column_of(format!("wide{number}"), Type::of(Kind::Bytes(u16::MAX)))
        });
        assert!(wide.lay_out().is_ok(), "a row of a mebibyte");
        refused(&wide.column::<[u8; 1]>("more").column::<[u8; 8]>("still"), "1048576 is the most");
        let many = (0..1_025).fold(people(), |table, number| {
            let name = format!("c{number}");
            table.column_of(name.clone(), u8::TYPE).group(format!("g{number}"), [name])
        });
        refused(&many, "1025 column groups, and 1024 are the most");
    }

    #[test]
    fn a_difference_is_told_and_an_expectation_is_none() {
        assert_eq!(people().difference(&people().expect_rows(9).prefix(1)), None);
        let wider = Definition::new("people").column::<Text<11>>("name");
        assert!(people().difference(&wider).is_some_and(|it| it.contains("`name` of type Text<10>")));
        let grouped = people().group("work", ["age"]);
        assert!(people().difference(&grouped).is_some_and(|it| it.contains("column groups")));
        assert!(people().difference(&people().point()).is_some_and(|it| it.contains("equality")));
    }
}
