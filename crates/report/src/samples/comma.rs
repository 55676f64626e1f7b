//! Rows as CSV (RFC 4180, line feeds).

use std::io::{self, Write};

use super::Row;

/// The head line.
const HEAD: [&str; 9] =
    ["flow", "seq", "intended_ns", "sent_ns", "received_ns", "response_ns", "service_ns", "slip_ns", "fate"];

pub(super) struct Writer<W: Write> {
    out: csv::Writer<W>,
    field: Vec<u8>,
}

impl<W: Write> Writer<W> {
    pub(super) fn new(out: W) -> io::Result<Self> {
        let mut out = csv::WriterBuilder::new().buffer_capacity(1 << 16).from_writer(out);
        out.write_record(HEAD).map_err(cause)?;
        // Now, so that a file that takes nothing is known before the measurement.
        out.flush()?;
        Ok(Self { out, field: Vec::with_capacity(20) })
    }

    pub(super) fn write(&mut self, row: &Row) -> io::Result<()> {
        self.number(Some(i128::from(row.flow)))?;
        self.number(Some(i128::from(row.seq)))?;
        for value in [row.intended, row.sent, row.received, row.response, row.service, row.slip] {
            self.number(value.map(i128::from))?;
        }
        self.out.write_field(row.fate).map_err(cause)?;
        self.out.write_record(None::<&[u8]>).map_err(cause)
    }

    fn number(&mut self, value: Option<i128>) -> io::Result<()> {
        self.field.clear();
        if let Some(value) = value {
            write!(self.field, "{value}")?;
        }
        self.out.write_field(&self.field).map_err(cause)
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// What the system said: `csv`'s own conversion would hide which kind of failure it was.
fn cause(fault: csv::Error) -> io::Error {
    match fault.into_kind() {
        csv::ErrorKind::Io(cause) => cause,
        other => io::Error::other(format!("{other:?}")),
    }
}
