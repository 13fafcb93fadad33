//! Rows and keys of tables whose columns are known only at run time.

use core::fmt;

use engine::{AnyKey, TableId};
use sync::Arc;

use crate::column::{Column, Kind, Sum, Type, check_text, text_of};
use crate::definition::{Arranged, Definition, Place};
use crate::error::Misuse;

/// The value of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value, in a nullable column.
    Nothing,
    /// A value of a `bool` column.
    Bool(bool),
    /// A value of a column of unsigned integers.
    Unsigned(u128),
    /// A value of a column of signed integers, or of sums.
    Signed(i128),
    /// A value of a column of floating-point numbers. An `f32` column rounds it to `f32`.
    Float(f64),
    /// A value of a column of bytes, exactly as long as the column.
    Bytes(Vec<u8>),
    /// A value of a column of text.
    Text(String),
}

macro_rules! from {
    ($($from:ty => $value:ident),+ $(,)?) => {
        $(
            impl From<$from> for Value {
                fn from(value: $from) -> Self {
                    Self::$value(value.into())
                }
            }
        )+
    };
}

from! {
    bool => Bool,
    u8 => Unsigned, u16 => Unsigned, u32 => Unsigned, u64 => Unsigned, u128 => Unsigned,
    i8 => Signed, i16 => Signed, i32 => Signed, i64 => Signed, i128 => Signed,
    f32 => Float, f64 => Float,
    Vec<u8> => Bytes, &[u8] => Bytes,
    String => Text, &str => Text,
}

impl<V: Into<Value>> From<Option<V>> for Value {
    fn from(value: Option<V>) -> Self {
        value.map_or(Self::Nothing, Into::into)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::Bool(value) => value.fmt(f),
            Self::Unsigned(value) => value.fmt(f),
            Self::Signed(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
            Self::Bytes(value) => write!(f, "{value:?}"),
            Self::Text(value) => write!(f, "{value:?}"),
        }
    }
}

/// Writes a value to a column of this type, and returns whether the value fits the type.
fn write(value: &Value, kind: Type, to: &mut [u8]) -> bool {
    if kind.is_nullable {
        let (is_there, own) = to.split_at_mut(1);
        is_there[0] = u8::from(*value != Value::Nothing);
        if *value == Value::Nothing {
            own.fill(0);
            return true;
        }
        return write_kind(value, kind.kind, own);
    }
    write_kind(value, kind.kind, to)
}

fn write_kind(value: &Value, kind: Kind, to: &mut [u8]) -> bool {
    fn put<C: Column>(value: Option<C>, to: &mut [u8]) -> bool {
        value.is_some_and(|value| {
            value.write(to);
            true
        })
    }
    match (kind, value) {
        (Kind::Bool, Value::Bool(value)) => put(Some(*value), to),
        (Kind::U8, Value::Unsigned(value)) => put(u8::try_from(*value).ok(), to),
        (Kind::U16, Value::Unsigned(value)) => put(u16::try_from(*value).ok(), to),
        (Kind::U32, Value::Unsigned(value)) => put(u32::try_from(*value).ok(), to),
        (Kind::U64, Value::Unsigned(value)) => put(u64::try_from(*value).ok(), to),
        (Kind::U128, Value::Unsigned(value)) => put(Some(*value), to),
        (Kind::I8, Value::Signed(value)) => put(i8::try_from(*value).ok(), to),
        (Kind::I16, Value::Signed(value)) => put(i16::try_from(*value).ok(), to),
        (Kind::I32, Value::Signed(value)) => put(i32::try_from(*value).ok(), to),
        (Kind::I64, Value::Signed(value)) => put(i64::try_from(*value).ok(), to),
        (Kind::I128, Value::Signed(value)) => put(Some(*value), to),
        (Kind::Sum, Value::Signed(value)) => put(i64::try_from(*value).ok().map(Sum), to),
        (Kind::F32, Value::Float(value)) => put(Some(*value as f32), to),
        (Kind::F64, Value::Float(value)) => put(Some(*value), to),
        (Kind::Bytes(_), Value::Bytes(value)) if value.len() == to.len() => {
            to.copy_from_slice(value);
            true
        }
        (Kind::Text(_), Value::Text(value)) => check_text(value, to.len()).is_ok_and(|text| {
            let (head, rest) = to.split_at_mut(text.len());
            head.copy_from_slice(text);
            rest.fill(0);
            true
        }),
        _ => false,
    }
}

/// Reads the value from the bytes of a column of this type.
fn read(kind: Type, from: &[u8]) -> Value {
    if kind.is_nullable {
        return if from[0] == 0 { Value::Nothing } else { read(Type::of(kind.kind), &from[1..]) };
    }
    match kind.kind {
        Kind::Bool => bool::read(from).into(),
        Kind::U8 => u8::read(from).into(),
        Kind::U16 => u16::read(from).into(),
        Kind::U32 => u32::read(from).into(),
        Kind::U64 => u64::read(from).into(),
        Kind::U128 => u128::read(from).into(),
        Kind::I8 => i8::read(from).into(),
        Kind::I16 => i16::read(from).into(),
        Kind::I32 => i32::read(from).into(),
        Kind::I64 => i64::read(from).into(),
        Kind::I128 => i128::read(from).into(),
        Kind::Sum => Sum::read(from).0.into(),
        Kind::F32 => f32::read(from).into(),
        Kind::F64 => f64::read(from).into(),
        Kind::Bytes(_) => from.into(),
        Kind::Text(_) => text_of(from).into(),
    }
}

/// A handle of a table whose columns are known only at run time: see
/// [`Database::table_named`](crate::Database::table_named). A row is the values of all columns in their order; a key is
/// the values of the key's columns.
#[derive(Clone, Debug)]
pub struct NamedTable {
    pub(crate) database: usize,
    pub(crate) id: TableId,
    pub(crate) bound: Arc<Bound>,
}

/// A table of a database, with its layout.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) definition: Definition,
    pub(crate) arranged: Arranged,
}

impl NamedTable {
    /// The table's definition.
    pub fn definition(&self) -> &Definition {
        &self.bound.definition
    }
}

impl Bound {
    fn kind(&self, column: usize) -> Type {
        self.definition.columns()[column].kind
    }

    fn misuse(&self, says: impl fmt::Display) -> Misuse {
        Misuse::new(format!("table `{}`: {says}", self.definition.name()))
    }

    /// Writes the value of a column.
    fn put(&self, column: usize, value: &Value, to: &mut [u8]) -> Result<(), Misuse> {
        let definition = &self.definition.columns()[column];
        let refused =
            || self.misuse(format!("{value} is none of column `{}`, a {}", definition.name, definition.kind));
        if write(value, definition.kind, to) { Ok(()) } else { Err(refused()) }
    }

    /// Returns the bytes of the values of some columns, one after the other.
    fn bytes(&self, columns: &[usize], values: &[Value], what: &str) -> Result<Vec<u8>, Misuse> {
        if columns.len() != values.len() {
            let (given, expected) = (values.len(), columns.len());
            return Err(self.misuse(format!("{what} has {expected} columns, and {given} values were given")));
        }
        let mut bytes = vec![0; columns.iter().map(|&column| self.kind(column).bytes()).sum()];
        let mut rest = &mut bytes[..];
        for (&column, value) in columns.iter().zip(values) {
            let (own, after) = rest.split_at_mut(self.kind(column).bytes());
            self.put(column, value, own)?;
            rest = after;
        }
        Ok(bytes)
    }

    /// Makes a primary key of its columns' values.
    pub(crate) fn key(&self, values: &[Value]) -> Result<AnyKey, Misuse> {
        Ok(AnyKey::from_bytes(&self.bytes(&self.arranged.key, values, "the key")?))
    }

    /// Returns the bytes of a secondary key.
    pub(crate) fn index_key(&self, index: usize, values: &[Value]) -> Result<Vec<u8>, Misuse> {
        self.bytes(&self.arranged.indexes[index], values, "the key of the index")
    }

    /// Returns the number of the secondary index of this name.
    pub(crate) fn index(&self, name: &str) -> Result<usize, Misuse> {
        let found = self.definition.indexes().iter().position(|index| index.name == name);
        found.ok_or_else(|| self.misuse(format!("there is no index `{name}`")))
    }

    /// Returns a row's key, and writes the columns that are not in the key to `row`.
    pub(crate) fn split(&self, values: &[Value], row: &mut [u8]) -> Result<AnyKey, Misuse> {
        let columns = self.definition.columns().len();
        if values.len() != columns {
            let says = format!("a row has {columns} columns, and {} values were given", values.len());
            return Err(self.misuse(says));
        }
        let mut key = vec![0; self.arranged.key_bytes];
        for (column, (value, place)) in values.iter().zip(&self.arranged.places).enumerate() {
            let to = match place {
                Place::Key(range) => &mut key[range.clone()],
                Place::Row(range) => &mut row[range.clone()],
            };
            self.put(column, value, to)?;
        }
        Ok(AnyKey::from_bytes(&key))
    }

    /// Returns the primary key at the end of an index's key.
    pub(crate) fn primary_of(&self, key: AnyKey) -> AnyKey {
        AnyKey::from_bytes(&key.to_bytes()[AnyKey::BYTES_MAX - self.arranged.key_bytes..])
    }

    /// Puts together the values of a row from its key, primary or of an index, and its bytes.
    pub(crate) fn join(&self, key: AnyKey, row: &[u8]) -> Vec<Value> {
        let key = key.to_bytes();
        let key = &key[AnyKey::BYTES_MAX - self.arranged.key_bytes..];
        let places = self.arranged.places.iter().enumerate();
        let values = places.map(|(column, place)| match place {
            Place::Key(range) => read(self.kind(column), &key[range.clone()]),
            Place::Row(range) => read(self.kind(column), &row[range.clone()]),
        });
        values.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Text;

    fn bound() -> Bound {
        let definition = Definition::new("people")
            .column::<Text<4>>("name")
            .column::<u16>("id")
            .column::<Option<i8>>("age")
            .column::<[u8; 2]>("code")
            .column::<f32>("weight")
            .column::<bool>("here")
            .key(["id", "here"]);
        let arranged = definition.lay_out().unwrap();
        Bound { definition, arranged }
    }

    fn row() -> Vec<Value> {
        vec!["Ann".into(), 7_u16.into(), Some(-3_i8).into(), vec![1, 2].into(), 1.5_f32.into(), true.into()]
    }

    #[test]
    fn a_row_comes_back_from_its_key_and_its_bytes() {
        let bound = bound();
        for age in [Value::Nothing, Value::Signed(-3)] {
            let (mut values, mut bytes) = (row(), [9; 16]);
            values[2] = age;
            let key = bound.split(&values, &mut bytes).unwrap();
            assert_eq!(bound.join(key, &bytes), values);
            assert_eq!(bound.key(&[7_u16.into(), true.into()]), Ok(key));
        }
    }

    #[test]
    fn what_is_no_value_of_a_column_is_refused() {
        let bound = bound();
        let refusal = |column: usize, value: Value| {
            let mut values = row();
            values[column] = value;
            bound.split(&values, &mut [0; 16]).expect_err("refused").to_string()
        };
        assert!(refusal(0, "too long".into()).contains("none of column `name`, a Text<4>"));
        assert!(refusal(1, 65_536_u32.into()).contains("`id`, a u16"));
        assert!(refusal(1, Value::Nothing).contains("nothing is none of column `id`"));
        assert!(refusal(2, 200_i16.into()).contains("Option<i8>"));
        assert!(refusal(3, vec![1].into()).contains("[u8; 2]"));
        let too_few = bound.split(&row()[1..], &mut [0; 16]).expect_err("refused").to_string();
        assert!(too_few.contains("a row has 6 columns, and 5 values were given"));
        assert!(bound.key(&[7_u16.into()]).is_err());
        assert!(bound.index("by_name").is_err());
    }
}
