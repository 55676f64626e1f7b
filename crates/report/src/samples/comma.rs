//! Rows as CSV (RFC 4180, line feeds).

use std::fmt::Display;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Row;

/// The head line.
const HEAD: [&str; 9] =
    ["flow", "seq", "intended_ns", "sent_ns", "received_ns", "response_ns", "service_ns", "slip_ns", "fate"];

pub(super) struct Writer<W: Write> {
    out: csv::Writer<Counted<W>>,
    lines: Arc<AtomicU64>,
    field: Vec<u8>,
}

/// Counts the lines that get through to what is written to: a full disk takes the first part of a buffer.
struct Counted<W> {
    out: W,
    lines: Arc<AtomicU64>,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = self.out.write(bytes)?;
        let ends = bytes[..taken].split(|byte| *byte == b'\n').count() - 1;
        self.lines.fetch_add(ends as u64, Ordering::Relaxed);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W: Write> Writer<W> {
    pub(super) fn new(out: W) -> io::Result<Self> {
        let lines = Arc::default();
        let out = Counted { out, lines: Arc::clone(&lines) };
        let mut out = csv::WriterBuilder::new().buffer_capacity(1 << 16).from_writer(out);
        out.write_record(HEAD).map_err(cause)?;
        // Now, so that a file that takes nothing is known before the measurement.
        out.flush()?;
        Ok(Self { out, lines, field: Vec::with_capacity(20) })
    }

    pub(super) fn write(&mut self, row: &Row) -> io::Result<()> {
        self.field(Some(row.flow))?;
        self.field(Some(row.seq))?;
        for value in [row.intended, row.sent, row.received, row.response, row.service, row.slip] {
            self.field(value)?;
        }
        self.field(Some(row.fate))?;
        self.out.write_record(None::<&[u8]>).map_err(cause)
    }

    fn field(&mut self, value: Option<impl Display>) -> io::Result<()> {
        self.field.clear();
        if let Some(value) = value {
            write!(self.field, "{value}")?;
        }
        self.out.write_field(&self.field).map_err(cause)
    }

    /// Rows that were taken whole: all lines but the head.
    pub(super) fn kept(&self) -> u64 {
        self.lines.load(Ordering::Relaxed).saturating_sub(1)
    }

    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The system's own error: `csv`'s own conversion would hide which kind of failure it was.
fn cause(fault: csv::Error) -> io::Error {
    match fault.into_kind() {
        csv::ErrorKind::Io(cause) => cause,
        other => io::Error::other(format!("{other:?}")),
    }
}
