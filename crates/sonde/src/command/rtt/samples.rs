//! The file of every exchange. A disk that fills up ends no measurement: what is missing is told in the record.

use std::fs::File;
use std::io::Write;

use measure::event::Exchange;
use measure::method::LoopKind;
use measure::unit::Instant;
use report::samples;

use crate::command::rtt::conclude::SamplesMissing;
use crate::command::value::SampleFile;
use crate::failure::Failure;

/// A file of samples that is being written.
pub struct Samples<W: Write + Send = File> {
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
        // Not buffered here: both forms hold back what is worth a write.
        let writer = samples::Samples::new(wanted.format, file, kind, None);
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
            // This one, and those before it that the file did not take.
            self.missing += 1 + writer.rows() - error.rows;
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
            Some(Err(error)) => Some((missing + rows - error.rows, Some(error.to_string()))),
            _ => (missing > 0).then_some((missing, fault)),
        }
    }
}

/// The failure of a file of samples that was not taken whole, as that of any other file of the result.
pub fn fault(wanted: Option<&SampleFile>, missing: &SamplesMissing) -> Option<Failure> {
    let (wanted, (exchanges, Some(why))) = (wanted?, missing.as_ref()?) else { return None };
    let name = wanted.path.display().to_string();
    let lacking = report::number::count(*exchanges, "exchange is", "exchanges are");
    let what = format!("{name}: {why}; {lacking} missing there");
    Some(Failure::usage(what).hint("make room, or write elsewhere; the result itself is whole").about(&name))
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::Path;
    use std::sync::atomic::{AtomicU64, Ordering};

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
            details: None,
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

    /// Takes so many bytes and no more; counts the lines of them.
    struct Disk<'a>(usize, &'a AtomicU64);

    impl Write for Disk<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let taken = bytes.len().min(self.0);
            if taken == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.0 -= taken;
            let text = str::from_utf8(&bytes[..taken]).expect("CSV is ASCII");
            self.1.fetch_add(text.matches('\n').count() as u64, Ordering::Relaxed);
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_disk_that_fills_up_is_told_with_what_is_missing() {
        let lines = AtomicU64::new(0);
        let writer = samples::Samples::new(Format::Csv, Disk(1_000_000, &lines), LoopKind::Closed, None).unwrap();
        let mut file = Samples::of(writer);
        (0..100_000).for_each(|seq| file.write(&exchange(seq)));
        let (missing, reason) = file.end().unwrap();
        assert_eq!(missing + lines.load(Ordering::Relaxed) - 1, 100_000, "each is in the file or missing");
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
