//! Events as JSON lines while they happen: on standard output, and into the files that end in `.jsonl`.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use logbook::event::Line;

use crate::command::result_options::ResultOptions;
use crate::command::value::Format;
use crate::failure::Failure;
use crate::output::Output;

/// Destination of lines.
#[derive(Debug)]
pub struct Stream<'a> {
    stdout: Option<&'a Output>,
    files: Vec<LineFile>,
}

/// A file of lines. After the first fault nothing more is written to it, and the fault is told at the end: a full disk
/// ends no measurement.
#[derive(Debug)]
struct LineFile {
    path: PathBuf,
    file: File,
    fault: Option<io::Error>,
}

impl<'a> Stream<'a> {
    /// Opens the files asked for, so that one that cannot be written to is refused before anything is measured.
    ///
    /// # Errors
    /// A file that cannot be made.
    pub fn open(options: &ResultOptions, output: &'a Output) -> Result<Self, Failure> {
        let wanted = options.output.iter().filter(|destination| destination.format == Format::JsonLines);
        let files = wanted.map(|destination| LineFile::create(&destination.path)).collect::<Result<_, _>>()?;
        Ok(Self { stdout: options.json_lines.then_some(output), files })
    }

    /// True where anybody wants lines.
    pub fn is_wanted(&self) -> bool {
        self.stdout.is_some() || !self.files.is_empty()
    }

    /// Writes a line. `false`: whoever read standard output has gone, and nobody else wants more.
    pub fn write(&mut self, line: &Line) -> bool {
        if !self.is_wanted() {
            return true;
        }
        self.write_to_files(line);
        let Some(output) = self.stdout else { return true };
        let read = output.result(&line.to_json());
        if matches!(line, Line::End(_) | Line::Found(_) | Line::Looked(_) | Line::Ran(_)) {
            output.end_result();
        }
        if !read {
            self.stdout = None;
        }
        read || !self.files.is_empty()
    }

    /// Writes a line into the files alone: for what is told on standard output elsewhere.
    pub fn write_to_files(&mut self, line: &Line) {
        let text = line.to_json();
        for file in &mut self.files {
            file.write(&text);
        }
    }

    /// The faults of files.
    pub fn faults(&self) -> Vec<Failure> {
        self.files.iter().filter_map(LineFile::failure).collect()
    }
}

impl LineFile {
    fn create(path: &PathBuf) -> Result<Self, Failure> {
        match File::create(path) {
            Ok(file) => Ok(Self { path: path.clone(), file, fault: None }),
            Err(error) => Err(cannot_write(path, &error)),
        }
    }

    fn write(&mut self, text: &str) {
        if self.fault.is_none() {
            self.fault = self.file.write_all(text.as_bytes()).err();
        }
    }

    fn failure(&self) -> Option<Failure> {
        self.fault.as_ref().map(|error| cannot_write(&self.path, error))
    }
}

fn cannot_write(path: &std::path::Path, error: &io::Error) -> Failure {
    Failure::usage(format!("{}: cannot write events: {error}", path.display())).about(path.display().to_string())
}
