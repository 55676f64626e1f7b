//! The table as Parquet: the columns of the CSV, each with its type.

use std::fmt::Write;
use std::io;
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;

use super::columns::{COLUMNS, Kind};
use super::{Entry, Value};

/// The bytes of the file.
pub(super) fn table(entries: &[Entry<'_>]) -> io::Result<Vec<u8>> {
    written(entries).map_err(|fault| io::Error::other(fault.to_string()))
}

fn written(entries: &[Entry<'_>]) -> Result<Vec<u8>, ParquetError> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by(concat!("sonde ", env!("CARGO_PKG_VERSION")).to_owned())
        .build();
    let schema = Arc::new(parse_message_type(&schema())?);
    let mut out = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let mut group = out.next_row_group()?;
    let mut columns = COLUMNS.iter();
    while let Some(writer) = group.next_column()? {
        let column =
            columns.next().ok_or_else(|| ParquetError::General("more columns than the schema has".to_owned()))?;
        let values: Vec<Option<Value>> = entries.iter().map(|entry| column.value(entry)).collect();
        write_column(writer, &values)?;
    }
    group.close()?;
    out.into_inner()
}

fn schema() -> String {
    let fields = COLUMNS.iter().fold(String::new(), |mut fields, column| {
        let kind = match column.kind {
            Kind::Text => "binary",
            Kind::Whole => "int64",
            Kind::Real => "double",
        };
        let as_text = if column.kind == Kind::Text { " (string)" } else { "" };
        // Writing to a string does not fail.
        let _ = write!(fields, "optional {kind} {}{as_text}; ", column.name);
        fields
    });
    format!("message records {{ {fields} }}")
}

fn write_column(mut column: SerializedColumnWriter<'_>, values: &[Option<Value>]) -> Result<(), ParquetError> {
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let there = || values.iter().flatten();
    match column.untyped() {
        ColumnWriter::Int64ColumnWriter(writer) => {
            let whole = |value: &Value| if let Value::Whole(number) = value { Some(*number) } else { None };
            writer.write_batch(&there().filter_map(whole).collect::<Vec<_>>(), Some(&levels), None)?;
        }
        ColumnWriter::DoubleColumnWriter(writer) => {
            let real = |value: &Value| if let Value::Real(number) = value { Some(*number) } else { None };
            writer.write_batch(&there().filter_map(real).collect::<Vec<_>>(), Some(&levels), None)?;
        }
        ColumnWriter::ByteArrayColumnWriter(writer) => {
            let text =
                |value: &Value| if let Value::Text(text) = value { Some(ByteArray::from(text.as_str())) } else { None };
            writer.write_batch(&there().filter_map(text).collect::<Vec<_>>(), Some(&levels), None)?;
        }
        _ => return Err(ParquetError::General("a column of a type that the schema has not".to_owned())),
    }
    column.close()
}
