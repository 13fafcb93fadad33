//! The tables of [`csv`](super::csv) as Parquet. The values of a column decide its type: numbers, booleans or text.

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType};
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};
use serde_json::Value;

use super::csv::Rows;

/// Returns the bytes of a Parquet file with these columns and rows. A field without a value is null.
///
/// # Errors
/// Errors of the Parquet writer; none is expected.
pub(super) fn bytes(table: &Rows) -> Result<Vec<u8>, ParquetError> {
    let Rows { heads, rows } = table;
    let column = |at: usize| rows.iter().map(move |row| &row[at]);
    let kinds: Vec<Physical> = (0..heads.len()).map(|at| kind(column(at))).collect();
    let fields: Vec<TypePtr> =
        heads.iter().zip(&kinds).map(|(head, kind)| field(head, *kind)).collect::<Result<_, _>>()?;
    let schema = TypePtr::new(Type::group_type_builder("contend").with_fields(fields).build()?);
    let properties = WriterPropertiesPtr::new(WriterProperties::builder().build());
    let mut file = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut file, schema, properties)?;
    let mut group = writer.next_row_group()?;
    for (at, kind) in kinds.iter().enumerate() {
        let values = column(at);
        match kind {
            Physical::DOUBLE => write::<DoubleType>(&mut group, values, Value::as_f64)?,
            Physical::BOOLEAN => write::<BoolType>(&mut group, values, Value::as_bool)?,
            _ => write::<ByteArrayType>(&mut group, values, |value| {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                (!value.is_null()).then(|| ByteArray::from(text.into_bytes()))
            })?,
        }
    }
    group.close()?;
    writer.close()?;
    Ok(file)
}

/// Returns the type of a column: that of its values if all have the same type, otherwise text. Nulls are ignored.
fn kind<'v>(values: impl Iterator<Item = &'v Value> + Clone) -> Physical {
    let mut known = values.filter(|value| !value.is_null()).peekable();
    let is_empty = known.peek().is_none();
    if !is_empty && known.clone().all(Value::is_number) {
        Physical::DOUBLE
    } else if !is_empty && known.all(Value::is_boolean) {
        Physical::BOOLEAN
    } else {
        Physical::BYTE_ARRAY
    }
}

fn field(head: &str, kind: Physical) -> Result<TypePtr, ParquetError> {
    let field = Type::primitive_type_builder(head, kind).with_repetition(Repetition::OPTIONAL);
    let field =
        if kind == Physical::BYTE_ARRAY { field.with_logical_type(Some(LogicalType::String)) } else { field };
    field.build().map(TypePtr::new)
}

fn write<'v, T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>,
    values: impl Iterator<Item = &'v Value>,
    of: impl Fn(&Value) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let values: Vec<Option<T::T>> = values.map(of).collect();
    let is_there: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let known: Vec<T::T> = values.into_iter().flatten().collect();
    let mut column = group.next_column()?.expect("the schema has as many columns");
    column.typed::<T>().write_batch(&known, Some(&is_there), None)?;
    column.close()
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_have_the_kind_of_their_values_and_come_back() {
        let heads = ["scheme", "txn/s", "starved", "odd"].map(str::to_owned).to_vec();
        let rows = vec![
            vec![json!("silo"), json!(1.5), json!(true), json!(7)],
            vec![json!("mvto"), json!(null), json!(false), json!("auto")],
        ];
        let file = bytes(&Rows { heads, rows }).expect("written");
        assert!(file.starts_with(super::super::PARQUET_MARK.as_bytes()));
        let path = std::env::temp_dir().join(format!("contend-parquet-{}", std::process::id()));
        std::fs::write(&path, file).expect("writable");
        let reader = SerializedFileReader::new(std::fs::File::open(&path).expect("there"))
            .expect("a file of its kind");
        let rows: Vec<String> =
            reader.get_row_iter(None).expect("rows").map(|row| row.expect("readable").to_string()).collect();
        std::fs::remove_file(&path).expect("its own file");
        assert_eq!(rows.len(), 2);
        assert!(
            rows[0].contains("\"silo\"") && rows[0].contains("1.5") && rows[0].contains("\"7\""),
            "{rows:?}"
        );
        assert!(rows[1].contains("null") && rows[1].contains("false"), "{rows:?}");
    }
}
