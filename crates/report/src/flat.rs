//! Records as a table: one row each, for spreadsheets and data frames.
//!
//! Every column names its unit, and what a record does not have is empty, never 0. A quantile that too few values lie beyond
//! is empty as well: it would be printed nowhere else. A search has a row for each of its probes, a study for each of its trials;
//! a run's document holds no record, so that its rows are those of its records, each with its place. Not here: the exchanges of a
//! measurement (`samples`).

#[cfg(feature = "parquet")]
mod columnar;
mod columns;
mod lines;
pub(crate) mod markdown;

use std::io::{self, Write};
use std::sync::Arc;

use logbook::read::Document;
use logbook::record::Record;
use logbook::run::{Cell, RunDocument};
use logbook::search::{Probe, SearchDocument};
use logbook::study::{StudyDocument, Trial};

use crate::markup;
use columns::COLUMNS;

/// Format of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Text, a row a line, with a head line.
    Csv,
    /// Columns, compressed, in groups of rows.
    Parquet,
    /// The records themselves, one JSON object a line.
    Lines,
    /// A short table for an issue tracker, in units for people.
    Markdown,
}

/// A document, where it came from, and which place of a run it is the record of.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The file's name, or what stands for it.
    pub name: String,
    /// The document.
    pub document: Document,
    /// Its place in a run; absent where it stands alone.
    pub place: Option<InRun>,
}

/// A record's place in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct InRun {
    /// The run, without its cells.
    pub run: Arc<RunDocument>,
    /// The cell that names the record.
    pub cell: Cell,
}

/// A row: a record, and where it came from.
#[derive(Clone, Copy, Debug)]
struct Entry<'a> {
    file: &'a str,
    record: &'a Record,
    search: Option<(&'a SearchDocument, &'a Probe)>,
    study: Option<(&'a StudyDocument, &'a Trial)>,
    place: Option<&'a InRun>,
}

/// The value of a cell; absent cells are `None`.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Text(String),
    Whole(i64),
    Real(f64),
}

/// The rows of a document.
fn entries(item: &Item) -> Vec<Entry<'_>> {
    let Item { name: file, document, place } = item;
    let place = place.as_ref();
    match document {
        Document::Record(record) => vec![Entry { file, record, search: None, study: None, place }],
        Document::Search(search) => {
            let probes = search.probes.iter();
            probes
                .map(|probe| Entry { file, record: &probe.record, search: Some((search, probe)), study: None, place })
                .collect()
        }
        Document::Study(study) => {
            let with_record = study.trials.iter().filter_map(|trial| Some((trial, trial.record.as_deref()?)));
            with_record
                .map(|(trial, record)| Entry { file, record, search: None, study: Some((study, trial)), place })
                .collect()
        }
        // Exchanges of a look took turns with each other's: it holds no record. A run's are in the store.
        Document::Look(_) | Document::Run(_) => Vec::new(),
    }
}

/// A table that is written as its rows come: what it holds of them is bounded, however many there are.
pub struct Table<W: Write + Send> {
    sink: Sink<W>,
    rows: u64,
    /// True where names stand in CSV as they are.
    raw: bool,
}

enum Sink<W: Write + Send> {
    Csv(Box<csv::Writer<W>>),
    #[cfg(feature = "parquet")]
    Parquet(Box<columnar::Writer<W>>),
    Lines(W),
    Markdown(W),
}

impl<W: Write + Send> Table<W> {
    /// A table in `form` that goes to `out`.
    ///
    /// # Errors
    /// The error of `out` at the head; Parquet in a build without it.
    pub fn new(form: Form, out: W) -> io::Result<Self> {
        let sink = match form {
            Form::Csv => {
                let mut writer = csv::Writer::from_writer(out);
                writer.write_record(COLUMNS.iter().map(|column| column.name)).map_err(cause)?;
                Sink::Csv(Box::new(writer))
            }
            #[cfg(feature = "parquet")]
            Form::Parquet => Sink::Parquet(Box::new(columnar::Writer::new(out)?)),
            #[cfg(not(feature = "parquet"))]
            Form::Parquet => return Err(io::ErrorKind::Unsupported.into()),
            Form::Lines => Sink::Lines(out),
            Form::Markdown => {
                let mut out = out;
                markdown::begin(&mut out)?;
                Sink::Markdown(out)
            }
        };
        Ok(Self { sink, rows: 0, raw: false })
    }

    /// Writes names into CSV as they are. Otherwise one that a spreadsheet would take for a formula has an apostrophe
    /// before it, and what cannot be seen is shown.
    pub fn raw(self, raw: bool) -> Self {
        Self { raw, ..self }
    }

    /// Adds the rows of a document.
    ///
    /// # Errors
    /// The error of the writer; a record that is no JSON.
    pub fn add(&mut self, item: &Item) -> io::Result<()> {
        for entry in entries(item) {
            match &mut self.sink {
                Sink::Csv(writer) => {
                    let cell = |value| match value {
                        Value::Text(words) if !self.raw => harmless(&words),
                        value => text(value),
                    };
                    let fields = COLUMNS.iter().map(|column| column.value(&entry).map_or_else(String::new, cell));
                    writer.write_record(fields).map_err(cause)?;
                }
                #[cfg(feature = "parquet")]
                Sink::Parquet(writer) => writer.add(&entry)?,
                Sink::Lines(out) => lines::write(out, &entry)?,
                Sink::Markdown(out) => markdown::write(out, &entry)?,
            }
            self.rows += 1;
        }
        Ok(())
    }

    /// Writes what is held back and the end; gives back what was written to, and how many rows it has.
    ///
    /// # Errors
    /// The error of the writer.
    pub fn finish(self) -> io::Result<(W, u64)> {
        let out = match self.sink {
            Sink::Csv(writer) => {
                writer.into_inner().map_err(|fault| io::Error::new(fault.error().kind(), fault.to_string()))?
            }
            #[cfg(feature = "parquet")]
            Sink::Parquet(writer) => writer.finish()?,
            Sink::Lines(mut out) | Sink::Markdown(mut out) => {
                out.flush()?;
                out
            }
        };
        Ok((out, self.rows))
    }
}

/// Words that no spreadsheet carries out.
fn harmless(words: &str) -> String {
    let shown = markup::visible(words);
    if shown.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{shown}") } else { shown }
}

/// The system's own error, where there is one in it.
fn cause(fault: csv::Error) -> io::Error {
    match fault.into_kind() {
        csv::ErrorKind::Io(cause) => cause,
        other => io::Error::other(format!("{other:?}")),
    }
}

fn text(value: Value) -> String {
    match value {
        Value::Text(text) => text,
        Value::Whole(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use measure::outcome::Standing;

    /// The table of `documents`.
    fn table(documents: &[Item], form: Form) -> Vec<u8> {
        let mut table = Table::new(form, Vec::new()).unwrap();
        for item in documents {
            table.add(item).unwrap();
        }
        let (written, rows) = table.finish().unwrap();
        assert_eq!(rows as usize, documents.iter().map(|item| entries(item).len()).sum::<usize>());
        written
    }

    fn item(name: &str, document: Document) -> Item {
        Item { name: name.to_owned(), document, place: None }
    }

    fn documents() -> Vec<Item> {
        let mut all: Vec<Item> =
            fixture::all().into_iter().map(|record| item("a.json", Document::Record(Box::new(record)))).collect();
        let run = fixture::run();
        for (item, cell) in all.iter_mut().zip(&run.cells).skip(1) {
            let failure = run.cells.last().and_then(|cell| cell.failure.clone());
            item.place = Some(InRun { run: Arc::new(run.clone()), cell: Cell { failure, ..cell.clone() } });
        }
        all.push(item("found.json", Document::Search(Box::new(fixture::search()))));
        all.push(item("study.json", Document::Study(Box::new(fixture::comparison()))));
        all.push(item("run.json", Document::Run(Box::new(fixture::run()))));
        all
    }

    /// Rows of the CSV by the names of their columns.
    fn read(bytes: &[u8]) -> Vec<std::collections::BTreeMap<String, String>> {
        let mut reader = csv::Reader::from_reader(bytes);
        let head = reader.headers().unwrap().clone();
        let row = |row: csv::StringRecord| head.iter().map(str::to_owned).zip(row.iter().map(str::to_owned)).collect();
        reader.records().map(|found| row(found.unwrap())).collect()
    }

    #[test]
    fn a_name_from_elsewhere_is_no_formula_unless_that_is_wanted() {
        let name = "=HYPERLINK(\"http://a.test\")\u{1b}[2J";
        let Document::Record(record) = documents().swap_remove(0).document else { panic!("a record comes first") };
        let documents = [item(name, Document::Record(record))];
        let file = |raw: bool| {
            let mut table = Table::new(Form::Csv, Vec::new()).unwrap().raw(raw);
            table.add(&documents[0]).unwrap();
            read(&table.finish().unwrap().0)[0]["file"].clone()
        };
        assert_eq!(file(false), "'=HYPERLINK(\"http://a.test\")␛[2J");
        assert_eq!(file(true), name);
    }

    #[test]
    fn a_table_for_an_issue_has_a_row_for_each_record_and_as_many_cells_as_its_head() {
        let documents = documents();
        let text = String::from_utf8(table(&documents, Form::Markdown)).unwrap();
        let rows: usize = documents.iter().map(|item| entries(item).len()).sum();
        assert_eq!(text.lines().count(), rows + 2, "{text}");
        assert!(text.lines().all(|line| line.replace("\\\\|", "").matches('|').count() == 10), "{text}");
        let first = text.lines().nth(2).unwrap();
        assert!(
            first.contains("TCP: 1 request in flight") && first.contains("(sonde ") && first.contains(" µs | "),
            "{first}"
        );
    }

    #[test]
    fn each_record_is_a_row_and_each_probe_of_a_search() {
        let documents = documents();
        let rows = read(&table(&documents, Form::Csv));
        let trials = fixture::comparison().trials.len();
        assert_eq!(rows.len(), fixture::all().len() + fixture::search().probes.len() + trials);
        assert_eq!(rows.iter().filter(|row| row["study_setting"] == "B").count(), trials / 2);
        let probes = rows.iter().filter(|row| !row["search_id"].is_empty());
        assert_eq!(probes.count(), fixture::search().probes.len());
    }

    #[test]
    fn a_record_of_a_run_tells_its_place() {
        let rows = read(&table(&documents(), Form::Csv));
        let told = |row: &std::collections::BTreeMap<String, String>, names: &[&str]| -> Vec<String> {
            names.iter().map(|name| row[*name].clone()).collect()
        };
        let names = ["run_from", "run_to", "run_over", "run_method", "run_repeat"];
        assert_eq!(told(&rows[1], &names), ["b", "a", "internal", "tcp_rr", "0"]);
        assert_eq!(rows[1]["run_id"], fixture::run().head.id.to_string());
        assert_eq!(rows[1]["run_from_labels"], r#"{"machine_type":"large-8","zone":"z1"}"#);
        assert_eq!(rows[1]["run_to_labels"], r#"{"zone":"z1"}"#);
        assert!(rows[1]["run_failure"].starts_with("c: the agent is gone"));
        assert_eq!(told(&rows[0], &names), [""; 5], "one that stands alone has no place");
    }

    #[test]
    fn a_line_holds_a_record_that_is_read_again() {
        let documents = documents();
        let text = String::from_utf8(table(&documents, Form::Lines)).unwrap();
        let line: serde_json::Value = serde_json::from_str(text.lines().nth(1).unwrap()).unwrap();
        let [from, repeat, zone] = [&line["from"], &line["repeat"], &line["to_labels"]["zone"]];
        assert_eq!((from, repeat, zone), (&"b".into(), &0.into(), &"z1".into()));
        assert_eq!(Record::read(&line["record"].to_string()).unwrap(), fixture::all()[1]);
    }

    #[test]
    fn what_stands_there_is_what_the_record_says() {
        let documents = documents();
        let rows = read(&table(&documents, Form::Csv));
        for (row, record) in rows.iter().zip(fixture::all()) {
            assert_eq!(row["id"], record.head.id.to_string());
            assert_eq!(row["method"], record.method.to_string());
            let Some(outcome) = &record.outcome else {
                let stream = record.stream.as_ref().unwrap();
                assert_eq!(row["received_bytes_per_s"], stream.received_bytes_per_s.unwrap().to_string());
                assert_eq!((row["answered"].as_str(), row["p50_ns"].as_str()), ("", ""));
                continue;
            };
            assert_eq!(row["answered"], outcome.counts.answered.to_string());
            assert_eq!(row["max_ns"], outcome.response.max_ns.map_or_else(String::new, |max| max.0.to_string()));
            for (q, name) in [(0.5, "p50_ns"), (0.99, "p99_ns"), (0.9999, "p99_99_ns")] {
                let found = outcome.response.quantiles.iter().find(|quantile| quantile.q == q).unwrap();
                let told = found.value_ns.filter(|_| found.standing != Standing::TooFew);
                assert_eq!(row[name], told.map_or_else(String::new, |value| value.0.to_string()), "{name}");
            }
        }
    }

    #[test]
    fn every_column_has_a_name_of_its_own_and_somewhere_a_value() {
        let documents = documents();
        let entries: Vec<Entry<'_>> = documents.iter().flat_map(entries).collect();
        let names: std::collections::BTreeSet<&str> = COLUMNS.iter().map(|column| column.name).collect();
        assert_eq!(names.len(), COLUMNS.len());
        // Columns that no record of the tests fills.
        let unseen =
            ["limited_by", "retransmitted_segments", "back_received_bytes_per_s", "our_speed_mbps", "their_speed_mbps"];
        for column in COLUMNS {
            let filled = entries.iter().any(|entry| column.value(entry).is_some());
            assert!(
                filled
                    || unseen.contains(&column.name)
                    || ["their_", "p99_99_"].iter().any(|start| column.name.starts_with(start)),
                "{}",
                column.name
            );
        }
    }

    #[cfg(feature = "parquet")]
    #[test]
    fn parquet_holds_the_same_as_csv() {
        use parquet::file::reader::{FileReader, SerializedFileReader};
        use parquet::record::Field;
        use std::io::Write;
        let documents = documents();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&table(&documents, Form::Parquet)).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let word = |field: &Field| match field {
            Field::Null => String::new(),
            Field::Str(text) => text.clone(),
            Field::Double(number) => number.to_string(),
            other => other.to_string(),
        };
        let found: Vec<Vec<String>> = reader
            .get_row_iter(None)
            .unwrap()
            .map(|row| row.unwrap().get_column_iter().map(|(_, field)| word(field)).collect())
            .collect();
        let csv = table(&documents, Form::Csv);
        let mut csv = csv::Reader::from_reader(csv.as_slice());
        let expected: Vec<Vec<String>> =
            csv.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect();
        assert_eq!(found, expected);
    }
}
