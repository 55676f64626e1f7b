//! The file of every exchange. A disk that fills up ends no measurement: what is missing is told in the record.

use std::fs::File;
use std::io::{BufWriter, Write};

use measure::event::Exchange;
use measure::method::LoopKind;
use measure::unit::Instant;
use report::samples;

use crate::command::rtt::conclude::SamplesMissing;
use crate::command::value::SampleFile;
use crate::failure::Failure;

/// A file of samples that is being written.
pub struct Samples<W: Write + Send = BufWriter<File>> {
    writer: Option<samples::Samples<W>>,
    missing: u64,
    fault: Option<String>,
}

impl Samples {
    /// Makes the file, of a loop of `kind`.
    ///
    /// # Errors
    /// One that cannot be made, or not even begun.
    pub fn create(wanted: &SampleFile, kind: LoopKind) -> Result<Self, Failure> {
        let name = wanted.path.display().to_string();
        let cannot = |what: String| Failure::usage(format!("{name}: {what}")).about(&name);
        let file = File::create(&wanted.path).map_err(|error| cannot(format!("cannot write samples: {error}")))?;
        let writer = samples::Samples::new(wanted.format, BufWriter::new(file), kind, None);
        let writer = writer.map_err(|error| cannot(error.to_string()).hint(error.hint()))?;
        Ok(Self::of(writer))
    }
}

impl<W: Write + Send> Samples<W> {
    fn of(writer: samples::Samples<W>) -> Self {
        Self { writer: Some(writer), missing: 0, fault: None }
    }

    /// Recording began at `at`: instants count from there.
    pub fn begin(&mut self, at: Instant) {
        if let Some(writer) = &mut self.writer {
            writer.begin(at);
        }
    }

    /// Adds an exchange; after a fault it is counted as missing.
    pub fn write(&mut self, exchange: &Exchange) {
        let Some(writer) = &mut self.writer else {
            self.missing += 1;
            return;
        };
        if let Err(error) = writer.write(exchange) {
            self.missing += 1;
            self.fault = Some(error.to_string());
            self.writer = None;
        }
    }

    /// Counts exchanges that never came here.
    pub fn dropped(&mut self, count: u64) {
        self.missing += count;
    }

    /// Ends the file; says how much it lacks.
    pub fn end(self) -> SamplesMissing {
        let Self { writer, missing, fault } = self;
        let rows = writer.as_ref().map_or(0, samples::Samples::rows);
        match writer.map(samples::Samples::finish) {
            // What was held back and not written cannot be counted: at worst all of it is missing.
            Some(Err(error)) => Some((missing + rows, Some(error.to_string()))),
            _ => (missing > 0).then_some((missing, fault)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::Path;

    use measure::event::Fate;
    use report::samples::Format;

    use super::*;

    fn exchange(seq: u64) -> Exchange {
        let sent = Some(Instant(1_000 * seq));
        Exchange {
            flow: 0,
            seq,
            intended: None,
            sent,
            received: Some(Instant(1_000 * seq + 500)),
            fate: Fate::Answered,
        }
    }

    fn samples(path: &Path) -> Samples {
        Samples::create(&SampleFile { path: path.to_owned(), format: Format::Csv }, LoopKind::Closed).unwrap()
    }

    #[test]
    fn nothing_is_missing_of_a_file_that_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.csv");
        let mut file = samples(&path);
        (0..10).for_each(|seq| file.write(&exchange(seq)));
        assert_eq!(file.end(), None);
        assert_eq!(std::fs::read_to_string(path).unwrap().lines().count(), 11);
    }

    #[test]
    fn what_fell_out_on_the_way_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = samples(&folder.path().join("s.csv"));
        file.dropped(3);
        assert_eq!(file.end(), Some((3, None)));
    }

    /// Takes so many bytes and no more.
    struct Disk(usize);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_disk_that_fills_up_is_told_with_what_is_missing() {
        let writer = samples::Samples::new(Format::Csv, Disk(1_000_000), LoopKind::Closed, None).unwrap();
        let mut file = Samples::of(writer);
        (0..100_000).for_each(|seq| file.write(&exchange(seq)));
        let (missing, reason) = file.end().unwrap();
        assert!(missing > 10_000 && missing < 90_000, "{missing}");
        assert!(reason.unwrap().contains("no storage space"));
    }

    #[test]
    fn a_disk_that_is_full_from_the_start_is_refused_at_once() {
        let wanted = SampleFile { path: "/dev/full".into(), format: Format::Csv };
        let failure = Samples::create(&wanted, LoopKind::Closed).err().unwrap();
        assert!(failure.told.what.contains("No space left"), "{failure:?}");
    }

    #[test]
    fn a_folder_that_is_not_there_is_refused_at_once() {
        let wanted = SampleFile { path: "/nowhere/s.csv".into(), format: Format::Csv };
        assert!(Samples::create(&wanted, LoopKind::Closed).is_err());
    }
}
