//! A recorded schedule out of a file: a text of `time,size`, or a capture of packets. Its content says which of the two it
//! is.

use logbook::whole;
use std::path::Path;

use measure::method::SMALLEST_NATIVE_DATAGRAM;
use measure::trace::{Trace, text};
use measure::unit::{Nanos, grouped};
use protocol::capture::flow::FlowPattern;
use protocol::capture::{self, Taken, is_capture};

use crate::failure::Failure;
use crate::words;

/// A first message later than this is due by another clock than ours: nobody waits so long for a start.
const LATEST_START: Nanos = Nanos::secs(3_600);

/// The reading of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The flow of a capture that is meant.
    pub flow: Option<FlowPattern>,
    /// True where the first message leaves at once, whatever its time.
    pub from_first: bool,
    /// True where messages shorter than a header of ours are lengthened to it.
    pub pad: bool,
}

/// A schedule, and what has to be said of how it was come by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The schedule.
    pub trace: Trace,
    /// Notes on the unexpected, a line each.
    pub notes: Vec<String>,
}

/// Reads the file at `path`; `-` is standard input.
///
/// # Errors
/// A file that cannot be read, or that holds no schedule: which line or packet, and what to try.
pub fn read(path: &Path, reading: &Reading) -> Result<Recording, Failure> {
    let name = if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() };
    let read = if path == Path::new("-") {
        whole::octets(std::io::stdin(), whole::LONGEST)
    } else {
        whole::file(path, whole::LONGEST)
    };
    let content = read.map_err(|error| {
        Failure::usage(format!("{name}: cannot read it: {error}")).hint("check the name").about(name.clone())
    })?;
    recording(&content, reading).map_err(|failure| {
        let told = logbook::failure::Failure { what: format!("{name}: {}", failure.told.what), ..failure.told };
        Failure { told, ..failure }.about(name)
    })
}

fn recording(content: &[u8], reading: &Reading) -> Result<Recording, Failure> {
    let mut recording = if is_capture(content) {
        let taken = capture::schedule(content, reading.flow.as_ref());
        of_capture(taken.map_err(|error| Failure::usage(error.to_string()).hint(words::capture(&error)))?)
    } else if reading.flow.is_some() {
        return Err(Failure::usage("is not a capture of packets, so there is no --flow to choose in it")
            .hint("leave --flow away, or give a file that `tcpdump -w` wrote"));
    } else {
        let trace =
            text::read(content).map_err(|error| Failure::usage(error.to_string()).hint(words::trace(&error)))?;
        Recording { trace, notes: Vec::new() }
    };
    if reading.from_first {
        recording.trace = recording.trace.from_first();
    }
    let first = recording.trace.departures().first().map_or(Nanos::ZERO, |first| first.at);
    if first > LATEST_START {
        return Err(Failure::usage(format!(
            "its first message is due after {first}: its times count from another start"
        ))
        .hint("--from-first lets the first message leave at once, and the others as long after it as they were"));
    }
    Ok(if reading.pad { padded(recording) } else { recording })
}

fn of_capture(taken: Taken) -> Recording {
    let Taken { flow, trace, repeated, others, broken_off } = taken;
    let mut notes = vec![format!("replays {flow}")];
    if others > 0 {
        notes.push(format!(
            "{} other {} in the capture",
            grouped(others as u64),
            if others == 1 { "flow" } else { "flows" }
        ));
    }
    if repeated > 0 {
        notes.push(format!("{} segments that TCP sent again were left out", grouped(repeated)));
    }
    if let Some(packet) = broken_off {
        notes.push(format!("the capture breaks off in packet {packet}: what came before it is replayed"));
    }
    Recording { trace, notes }
}

fn padded(recording: Recording) -> Recording {
    let Recording { trace, mut notes } = recording;
    let (trace, lengthened) = trace.at_least(SMALLEST_NATIVE_DATAGRAM as u32);
    if lengthened > 0 {
        let (count, length) = (grouped(lengthened), SMALLEST_NATIVE_DATAGRAM);
        notes.push(format!("{count} messages shorter than our header of {length} bytes leave as long as that"));
    }
    Recording { trace, notes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    const CAPTURE: &[u8] = include_bytes!("../../../../protocol/tests/fixtures/capture/sockperf-3.7-playback-udp.pcap");

    fn flow() -> FlowPattern {
        "127.0.0.1:36646>127.0.0.1:11111".parse().unwrap()
    }

    fn read(content: &[u8], reading: Reading) -> Result<Recording, (String, String)> {
        recording(content, &reading)
            .map_err(|failure| (failure.told.what.clone(), failure.told.hint.unwrap_or_default()))
    }

    #[test]
    fn text_and_capture_are_told_apart_by_their_content() {
        let text = read(b"1.0,14\n1.1,100\n", Reading::default()).unwrap();
        assert_eq!((text.trace.length(), text.notes.len()), (Nanos::millis(1_100), 0));
        let capture = read(CAPTURE, Reading { flow: Some(flow()), ..Reading::default() }).unwrap();
        assert_eq!(capture.trace.departures().len(), 6);
        let notes = ["replays udp 127.0.0.1:36646>127.0.0.1:11111", "1 other flow in the capture"];
        assert_eq!(capture.notes, notes);
    }

    #[test]
    fn times_of_another_clock_are_moved_when_asked() {
        let epoch = b"1760000000.5,64\n1760000001.0,64\n";
        let (what, hint) = read(epoch, Reading::default()).unwrap_err();
        assert!(what.contains("count from another start") && hint.contains("--from-first"), "{what} {hint}");
        let moved = read(epoch, Reading { from_first: true, ..Reading::default() }).unwrap();
        assert_eq!(moved.trace.length(), Nanos::millis(500));
    }

    #[test]
    fn short_messages_are_lengthened_when_asked() {
        let padded = read(CAPTURE, Reading { flow: Some(flow()), pad: true, from_first: false }).unwrap();
        assert_eq!(padded.trace.smallest().0, 32);
        let note = "2 messages shorter than our header of 32 bytes leave as long as that";
        assert_eq!(padded.notes.last().map(String::as_str), Some(note));
    }

    #[test_case(b"0.2,64\n0.1,64\n", "line 2: time runs backwards by 100 ms", "order"; "backwards")]
    #[test_case(b"\x0a\x0d\x0d\x0a", "is a pcapng", "tcpdump -r FILE"; "another form")]
    #[test_case(CAPTURE, "it has 2 flows", "--flow"; "two flows")]
    #[test_case(b"", "it has no time,size line", "0.00125,200"; "nothing")]
    fn what_is_no_schedule_says_what_to_try(content: &[u8], what: &str, hint: &str) {
        let told = read(content, Reading::default()).unwrap_err();
        assert!(told.0.starts_with(what) && told.1.contains(hint), "{told:?}");
    }

    #[test]
    fn a_flow_is_for_captures_alone() {
        let told = read(b"0.1,64\n", Reading { flow: Some(flow()), ..Reading::default() }).unwrap_err();
        assert!(told.0.contains("no --flow to choose"), "{told:?}");
    }

    #[test]
    fn a_file_is_named() {
        let failure = super::read(Path::new("nowhere/at.all"), &Reading::default()).unwrap_err();
        assert!(failure.told.what.starts_with("nowhere/at.all: cannot read it"), "{failure:?}");
        assert_eq!(failure.told.to_whom.as_deref(), Some("nowhere/at.all"));
    }
}
