//! Every exchange as a row: of CSV, or of Parquet.
//!
//! Columns are `flow`, `seq`, `intended_ns`, `sent_ns`, `received_ns`, `response_ns`, `service_ns`, `slip_ns` and `fate`.
//! Instants count from the start of recording, in nanoseconds of our monotonic clock; what did not happen, or was not
//! scheduled, is empty (null). Rows come in the order in which exchanges ended. Memory stays bounded however long the run.

#[cfg(feature = "parquet")]
mod columnar;
mod comma;
pub mod grid;
pub mod pkb;

use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use measure::event::{Exchange, Fate};
use measure::method::LoopKind;
use measure::unit::Instant;

/// Format of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text, a row a line, with a head line.
    Csv,
    /// Columns, compressed; for data frames.
    Parquet,
}

impl Format {
    /// The form that the ending of `path` names: `.csv`, `.parquet`.
    pub fn of(path: &Path) -> Result<Self, UnknownEnding> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        match ending.as_deref() {
            Some("csv") => Ok(Self::Csv),
            #[cfg(feature = "parquet")]
            Some("parquet") => Ok(Self::Parquet),
            _ => Err(UnknownEnding { name: path.display().to_string() }),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Csv => "CSV",
            Self::Parquet => "Parquet",
        })
    }
}

/// A file name whose ending names no form of ours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}`: samples are written as CSV or Parquet; end the name in .csv{}", if cfg!(feature = "parquet") { " or .parquet" } else { " (this build has no Parquet)" })]
pub struct UnknownEnding {
    /// The name as given.
    pub name: String,
}

/// Samples that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write samples after {rows} rows: {cause}")]
pub struct SamplesError {
    /// Rows that can be read from the file: of a CSV its whole lines, of a Parquet file, which lacks its end, none.
    pub rows: u64,
    /// The system's own error.
    #[source]
    pub cause: io::Error,
}

impl SamplesError {
    /// The action to try.
    pub fn hint(&self) -> &'static str {
        match self.cause.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "the disk is full: free some space, write elsewhere, or take Parquet, which is a fraction of CSV's size"
            }
            io::ErrorKind::BrokenPipe => "the reader of the pipe went away",
            _ => "write to another file or disk",
        }
    }
}

/// One row: instants relative to the start of recording, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    flow: u32,
    seq: u64,
    intended: Option<i64>,
    sent: Option<i64>,
    received: Option<i64>,
    response: Option<i64>,
    service: Option<i64>,
    slip: Option<i64>,
    fate: &'static str,
}

impl Row {
    fn of(exchange: &Exchange, kind: LoopKind, origin: Instant) -> Self {
        let at = |instant: Option<Instant>| instant.map(|instant| instant.signed_since(origin));
        let between = |from: Option<Instant>, to: Option<Instant>| Some(to?.signed_since(from?));
        let Exchange { flow, seq, intended, sent, received, fate, .. } = *exchange;
        Self {
            flow,
            seq,
            intended: at(intended),
            sent: at(sent),
            received: at(received),
            response: between(exchange.begins(kind), received),
            service: between(sent, received),
            slip: between(intended, sent),
            fate: name(fate),
        }
    }
}

/// A fate as records spell it.
fn name(fate: Fate) -> &'static str {
    match fate {
        Fate::Answered => "answered",
        Fate::Late => "late",
        Fate::Lost => "lost",
        Fate::Refused => "refused",
        Fate::Corrupt => "corrupt",
        Fate::SendFailed => "send-failed",
    }
}

/// Writes exchanges to `W` as they come.
pub struct Samples<W: Write + Send> {
    sink: Sink<W>,
    kind: LoopKind,
    origin: Option<Instant>,
    rows: u64,
}

enum Sink<W: Write + Send> {
    Comma(Box<comma::Writer<W>>),
    #[cfg(feature = "parquet")]
    Columnar(Box<columnar::Writer<W>>),
}

impl<W: Write + Send> Samples<W> {
    /// Writes to `out` in `format`, of a loop of `kind`; instants count from `origin`, or from the first exchange's first
    /// instant where it is not known when recording starts. Fails where the head cannot be written.
    pub fn new(format: Format, out: W, kind: LoopKind, origin: Option<Instant>) -> Result<Self, SamplesError> {
        let sink = match format {
            Format::Csv => comma::Writer::new(out).map(|writer| Sink::Comma(Box::new(writer))),
            #[cfg(feature = "parquet")]
            Format::Parquet => columnar::Writer::new(out).map(|writer| Sink::Columnar(Box::new(writer))),
            #[cfg(not(feature = "parquet"))]
            Format::Parquet => Err(io::ErrorKind::Unsupported.into()),
        };
        let sink = sink.map_err(|cause| SamplesError { rows: 0, cause })?;
        Ok(Self { sink, kind, origin, rows: 0 })
    }

    /// Instants count from `origin`, unless an earlier one was given or an exchange written already.
    pub fn begin(&mut self, origin: Instant) {
        self.origin.get_or_insert(origin);
    }

    /// Adds one exchange. After a failure the file is at its end: write no more, tell the error, go on measuring.
    pub fn write(&mut self, exchange: &Exchange) -> Result<(), SamplesError> {
        let first = exchange.intended.or(exchange.sent);
        let origin = *self.origin.get_or_insert(first.unwrap_or_default());
        let row = Row::of(exchange, self.kind, origin);
        let written = match &mut self.sink {
            Sink::Comma(writer) => writer.write(&row),
            #[cfg(feature = "parquet")]
            Sink::Columnar(writer) => writer.write(&row),
        };
        written.map_err(|cause| SamplesError { rows: self.sink.kept(), cause })?;
        self.rows += 1;
        Ok(())
    }

    /// Rows written so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Writes what is still held back and the end of the file; gives back how many rows it has.
    pub fn finish(mut self) -> Result<u64, SamplesError> {
        self.sink.finish().map_err(|cause| SamplesError { rows: self.sink.kept(), cause })?;
        Ok(self.rows)
    }
}

impl<W: Write + Send> Sink<W> {
    fn finish(&mut self) -> io::Result<()> {
        match self {
            Self::Comma(writer) => writer.finish(),
            #[cfg(feature = "parquet")]
            Self::Columnar(writer) => writer.finish(),
        }
    }

    /// Rows that can be read from a file that was not ended.
    fn kept(&self) -> u64 {
        match self {
            Self::Comma(writer) => writer.kept(),
            #[cfg(feature = "parquet")]
            Self::Columnar(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};
    use test_case::test_case;

    /// Keeps what is written up to a size, then is full.
    #[derive(Clone, Default)]
    struct Disk {
        content: Arc<Mutex<Vec<u8>>>,
        room: Option<usize>,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut content = self.content.lock().unwrap();
            let left = self.room.map_or(usize::MAX, |room| room - content.len());
            if left == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let taken = bytes.len().min(left);
            content.extend_from_slice(&bytes[..taken]);
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn answered(seq: u64) -> Exchange {
        let due = Instant(1_000_000 + seq * 1_000);
        Exchange {
            flow: 3,
            seq,
            intended: Some(due),
            sent: Some(Instant(due.0 + 7)),
            received: Some(Instant(due.0 + 25_000 + seq % 13)),
            fate: Fate::Answered,
            details: None,
        }
    }

    fn several() -> Vec<Exchange> {
        let early = Exchange { intended: None, sent: Some(Instant(999_000)), ..answered(1) };
        let lost = Exchange { received: None, fate: Fate::Lost, ..answered(2) };
        let unsent = Exchange { sent: None, received: None, fate: Fate::SendFailed, ..answered(3) };
        vec![answered(0), early, lost, unsent]
    }

    fn written(format: Format, exchanges: &[Exchange]) -> Vec<u8> {
        let disk = Disk::default();
        let mut samples = Samples::new(format, disk.clone(), LoopKind::Open, Some(Instant(1_000_000))).unwrap();
        for exchange in exchanges {
            samples.write(exchange).unwrap();
        }
        assert_eq!(samples.finish().unwrap(), exchanges.len() as u64);
        let content = disk.content.lock().unwrap();
        content.clone()
    }

    #[test]
    fn csv_tells_each_exchange_and_leaves_empty_what_was_not() {
        let text = String::from_utf8(written(Format::Csv, &several())).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "flow,seq,intended_ns,sent_ns,received_ns,response_ns,service_ns,slip_ns,fate",
                "3,0,0,7,25000,25000,24993,7,answered",
                "3,1,,-1000,26001,27001,27001,,answered",
                "3,2,2000,2007,,,,7,lost",
                "3,3,3000,,,,,,send-failed",
            ]
        );
    }

    #[test_case(LoopKind::Open, "25000,24993,7"; "an open loop from the instant it was due")]
    #[test_case(LoopKind::Closed, "24993,24993,7"; "a closed loop from the send")]
    fn a_response_counts_as_the_record_counts_it(kind: LoopKind, times: &str) {
        let disk = Disk::default();
        let mut samples = Samples::new(Format::Csv, disk.clone(), kind, Some(Instant(1_000_000))).unwrap();
        samples.write(&answered(0)).unwrap();
        samples.finish().unwrap();
        let text = String::from_utf8(disk.content.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().nth(1), Some(format!("3,0,0,7,25000,{times},answered").as_str()));
    }

    #[test]
    fn without_an_origin_time_starts_with_the_first_exchange() {
        let disk = Disk::default();
        let mut samples = Samples::new(Format::Csv, disk.clone(), LoopKind::Open, None).unwrap();
        samples.write(&answered(5)).unwrap();
        samples.finish().unwrap();
        let text = String::from_utf8(disk.content.lock().unwrap().clone()).unwrap();
        assert!(text.lines().nth(1).is_some_and(|line| line.starts_with("3,5,0,7,")), "{text}");
    }

    #[test_case(200, 0; "no room but for the head")]
    #[test_case(100_000, 1_000; "room for some")]
    fn a_full_disk_says_how_far_it_came(room: usize, at_least: u64) {
        let disk = Disk { room: Some(room), ..Disk::default() };
        let mut samples = Samples::new(Format::Csv, disk.clone(), LoopKind::Open, None).unwrap();
        let fault = (0..1_000_000).find_map(|seq| samples.write(&answered(seq)).err()).expect("no disk takes it all");
        assert_eq!(fault.cause.kind(), io::ErrorKind::StorageFull);
        let lines = String::from_utf8(disk.content.lock().unwrap().clone()).unwrap().matches('\n').count() as u64;
        assert_eq!(fault.rows, lines - 1, "the head is no row");
        assert!(fault.rows >= at_least && fault.rows <= samples.rows(), "{fault}");
        assert!(fault.hint().contains("disk is full"));
    }

    #[test]
    fn a_disk_without_room_for_the_head_is_known_at_once() {
        let disk = Disk { room: Some(10), ..Disk::default() };
        assert!(Samples::new(Format::Csv, disk, LoopKind::Open, None).is_err());
    }

    #[test_case("a.csv", Some(Format::Csv))]
    #[test_case("a.b/c.CSV", Some(Format::Csv); "any case")]
    #[test_case("a.json", None; "another")]
    #[test_case("csv", None; "no ending")]
    fn the_ending_names_the_form(path: &str, format: Option<Format>) {
        assert_eq!(Format::of(Path::new(path)).ok(), format);
    }

    #[cfg(feature = "parquet")]
    mod columns {
        use super::*;
        use parquet::file::metadata::RowGroupMetaData;
        use parquet::file::reader::{FileReader, SerializedFileReader};
        use parquet::record::Field;
        use std::fs::File;

        fn reader(exchanges: &[Exchange]) -> SerializedFileReader<File> {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&written(Format::Parquet, exchanges)).unwrap();
            SerializedFileReader::new(file).unwrap()
        }

        #[test]
        fn parquet_holds_the_same_rows_as_csv() {
            let rows: Vec<String> = reader(&several())
                .get_row_iter(None)
                .unwrap()
                .map(|row| {
                    let row = row.unwrap();
                    let fields = row.get_column_iter().map(|(_, field)| match field {
                        Field::Null => String::new(),
                        Field::Str(text) => text.clone(),
                        other => other.to_string(),
                    });
                    fields.collect::<Vec<String>>().join(",")
                })
                .collect();
            let csv = String::from_utf8(written(Format::Csv, &several())).unwrap();
            assert_eq!(rows, csv.lines().skip(1).collect::<Vec<&str>>());
        }

        #[test]
        fn a_long_run_is_written_in_groups() {
            let exchanges: Vec<Exchange> = (0..150_000).map(answered).collect();
            let reader = reader(&exchanges);
            let groups: Vec<i64> = reader.metadata().row_groups().iter().map(RowGroupMetaData::num_rows).collect();
            assert_eq!(groups, [65_536, 65_536, 18_928]);
            assert_eq!(reader.get_row_iter(None).unwrap().count(), 150_000);
        }

        #[test]
        fn a_full_disk_is_called_so_here_too() {
            let disk = Disk { room: Some(10_000), ..Disk::default() };
            let mut samples = Samples::new(Format::Parquet, disk, LoopKind::Open, None).unwrap();
            let fault = (0..70_000).find_map(|seq| samples.write(&answered(seq)).err()).expect("a group is over 10 kB");
            assert_eq!((fault.cause.kind(), fault.rows), (io::ErrorKind::StorageFull, 0), "none can be read");
        }
    }
}
