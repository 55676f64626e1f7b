//! Rows as Parquet, in groups of bounded size.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, GzipLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;

use super::Row;

/// Rows held until they are written as one group: 65,536 take about 8 MB.
const GROUP: usize = 1 << 16;

const SCHEMA: &str = "message samples {
    required int32 flow (integer(32, false));
    required int64 seq (integer(64, false));
    optional int64 intended_ns;
    optional int64 sent_ns;
    optional int64 received_ns;
    optional int64 response_ns;
    optional int64 service_ns;
    optional int64 slip_ns;
    required binary fate (string);
}";

pub(super) struct Writer<W: Write + Send> {
    out: SerializedFileWriter<W>,
    rows: Vec<Row>,
}

impl<W: Write + Send> Writer<W> {
    pub(super) fn new(out: W) -> io::Result<Self> {
        let schema = Arc::new(parse_message_type(SCHEMA).map_err(cause)?);
        let properties = WriterProperties::builder()
            .set_compression(Compression::GZIP(GzipLevel::default()))
            .set_created_by(concat!("sonde ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let out = SerializedFileWriter::new(out, schema, Arc::new(properties)).map_err(cause)?;
        Ok(Self { out, rows: Vec::with_capacity(GROUP) })
    }

    pub(super) fn write(&mut self, row: &Row) -> io::Result<()> {
        self.rows.push(*row);
        if self.rows.len() < GROUP {
            return Ok(());
        }
        let written = self.group().map_err(cause);
        self.rows.clear();
        written
    }

    fn group(&mut self) -> Result<(), ParquetError> {
        let rows = &self.rows;
        let mut group = self.out.next_row_group()?;
        let mut number = 0;
        while let Some(column) = group.next_column()? {
            write_column(column, number, rows)?;
            number += 1;
        }
        group.close()?;
        Ok(())
    }

    pub(super) fn finish(&mut self) -> io::Result<()> {
        if !self.rows.is_empty() {
            self.group().map_err(cause)?;
        }
        self.out.finish().map(|_| ()).map_err(cause)
    }
}

/// Writes column `number`, in the order of [`SCHEMA`].
fn write_column(mut column: SerializedColumnWriter<'_>, number: usize, rows: &[Row]) -> Result<(), ParquetError> {
    match column.untyped() {
        ColumnWriter::Int32ColumnWriter(writer) => {
            // The format has no unsigned type: the bits are stored, and the schema says how to read them.
            let values: Vec<i32> = rows.iter().map(|row| row.flow as i32).collect();
            writer.write_batch(&values, None, None)?;
        }
        ColumnWriter::Int64ColumnWriter(writer) => {
            if let Some(field) = optional(number) {
                let values: Vec<i64> = rows.iter().filter_map(field).collect();
                let levels: Vec<i16> = rows.iter().map(|row| i16::from(field(row).is_some())).collect();
                writer.write_batch(&values, Some(&levels), None)?;
            } else {
                let values: Vec<i64> = rows.iter().map(|row| row.seq as i64).collect();
                writer.write_batch(&values, None, None)?;
            }
        }
        ColumnWriter::ByteArrayColumnWriter(writer) => {
            let values: Vec<ByteArray> = rows.iter().map(|row| ByteArray::from(row.fate)).collect();
            writer.write_batch(&values, None, None)?;
        }
        _ => return Err(ParquetError::General("a column of a type that the schema has not".to_owned())),
    }
    column.close()
}

/// The field of column `number` where it may be empty.
fn optional(number: usize) -> Option<fn(&Row) -> Option<i64>> {
    match number {
        2 => Some(|row| row.intended),
        3 => Some(|row| row.sent),
        4 => Some(|row| row.received),
        5 => Some(|row| row.response),
        6 => Some(|row| row.service),
        7 => Some(|row| row.slip),
        _ => None,
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
