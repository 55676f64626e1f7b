//! The file of `--full-log` as it is written: rows come while the test runs, what stands above them when it is over.
//! Rows wait in a file without a name, for there may be more of them than fit memory.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Seek, Write};
use std::path::Path;

use measure::unit::Instant;
use uuid::Uuid;

use crate::persona::answer::Answer;
use crate::persona::process::said;
use crate::persona::sockperf::options::Client;
use crate::persona::sockperf::output::failure;
use crate::persona::sockperf::output::full_log::{self, RULE};
use crate::persona::sockperf::output::latency::Run;
use crate::persona::sockperf::output::paint::Paint;
use crate::persona::sockperf::statistics::Observation;

/// A full log that is being written.
#[derive(Debug)]
pub struct FullLog {
    client: Client,
    target: File,
    rows: BufWriter<File>,
    /// Instants are told since here.
    began: Instant,
    fault: Option<String>,
}

impl FullLog {
    /// Makes the file of `client`; absent where it asks for none, or is of a kind that has none.
    ///
    /// # Errors
    /// A file that cannot be made.
    pub fn create(client: &Client) -> Result<Option<Self>, Answer> {
        let path = client.display.full_log.as_ref().filter(|_| client.kind.reply_every().is_some());
        let Some(path) = path else { return Ok(None) };
        let made = File::create(path).and_then(|target| Ok((target, nameless(path)?)));
        let (target, rows) = made.map_err(|error| failure::no_log(path, &said(&error)))?;
        let rows = BufWriter::with_capacity(1 << 16, rows);
        Ok(Some(Self { client: client.clone(), target, rows, began: Instant(0), fault: None }))
    }

    /// Instants are told since `began`.
    pub fn counting_from(self, began: Instant) -> Self {
        Self { began, ..self }
    }

    /// The next observation. After a fault there is none.
    pub fn row(&mut self, observation: &Observation) {
        if self.fault.is_none()
            && let Err(error) = self.rows.write_all(full_log::row(&self.client, observation, self.began.0).as_bytes())
        {
            self.fault = Some(said(&error));
        }
    }

    /// Writes the file.
    pub fn end(mut self, client: &Client, run: &Run<'_>) -> Self {
        if self.fault.is_none()
            && let Err(error) = self.write(client, run)
        {
            self.fault = Some(said(&error));
        }
        self
    }

    fn write(&mut self, client: &Client, run: &Run<'_>) -> io::Result<()> {
        let mut target = BufWriter::with_capacity(1 << 16, &self.target);
        target.write_all((full_log::head(client) + &run.logged(Paint::Plain)).as_bytes())?;
        if let Some(valid) = run.valid() {
            target.write_all(full_log::columns(client).as_bytes())?;
            self.rows.flush()?;
            let mut rows = self.rows.get_ref();
            rows.rewind()?;
            io::copy(&mut BufReader::with_capacity(1 << 16, rows), &mut target)?;
            target.write_all((RULE.to_owned() + &full_log::histogram(&valid.latency)).as_bytes())?;
        }
        target.flush()
    }

    /// Reason for which the file is not whole; `None`: it is.
    pub fn fault(&self, path: &Path) -> Option<Answer> {
        self.fault.as_ref().map(|reason| failure::no_log(path, reason))
    }
}

/// A file without a name beside `path`, or where temporary files are.
fn nameless(path: &Path) -> io::Result<File> {
    let beside = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    in_folder(beside).or_else(|_| in_folder(&std::env::temp_dir()))
}

fn in_folder(folder: &Path) -> io::Result<File> {
    let name = folder.join(format!(".sonde-rows-{}", Uuid::now_v7()));
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&name)?;
    std::fs::remove_file(&name)?;
    Ok(file)
}
