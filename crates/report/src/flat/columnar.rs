//! The table as Parquet: the columns of the CSV, each with its type, in groups of rows.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, GzipLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;

use super::columns::{COLUMNS, Kind};
use super::{Entry, Value};

/// Rows held until they are written as one group: 2,048 take about 10 MB.
const GROUP: usize = 1 << 11;

/// Writes rows to `W` as they come.
pub(super) struct Writer<W: Write + Send> {
    out: SerializedFileWriter<W>,
    rows: Vec<Vec<Option<Value>>>,
}

impl<W: Write + Send> Writer<W> {
    pub(super) fn new(out: W) -> io::Result<Self> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::GZIP(GzipLevel::default()))
            .set_created_by(concat!("sonde ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let schema = Arc::new(parse_message_type(&schema()).map_err(cause)?);
        let out = SerializedFileWriter::new(out, schema, Arc::new(properties)).map_err(cause)?;
        Ok(Self { out, rows: Vec::new() })
    }

    pub(super) fn add(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        self.rows.push(COLUMNS.iter().map(|column| column.value(entry)).collect());
        if self.rows.len() < GROUP {
            return Ok(());
        }
        self.group().map_err(cause)
    }

    fn group(&mut self) -> Result<(), ParquetError> {
        let mut rows = std::mem::take(&mut self.rows);
        let mut group = self.out.next_row_group()?;
        let mut number = 0;
        while let Some(writer) = group.next_column()? {
            let values = rows.iter_mut().map(|row| row.get_mut(number).and_then(Option::take));
            write_column(writer, &values.collect::<Vec<Option<Value>>>())?;
            number += 1;
        }
        group.close().map(|_| ())
    }

    pub(super) fn finish(mut self) -> io::Result<W> {
        if !self.rows.is_empty() {
            self.group().map_err(cause)?;
        }
        self.out.into_inner().map_err(cause)
    }
}

/// The system's own error, where there is one in it.
fn cause(fault: ParquetError) -> io::Error {
    match fault {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(cause) => *cause,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
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
