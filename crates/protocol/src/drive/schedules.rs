//! Recorded schedules: as text, and in captures of packets.

use measure::trace::{Trace, text};

use crate::capture::flow::FlowPattern;
use crate::capture::{CaptureError, Taken, is_capture, schedule};

/// Lines of `time,size`.
pub fn trace_text(data: &[u8]) {
    match text::read(data) {
        Ok(trace) => {
            check(&trace);
            let seconds = |ns: u64| format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
            let line = |at: u64, bytes: u32| format!("{},{bytes}\n", seconds(at));
            let again: String = trace.departures().iter().map(|message| line(message.at.0, message.bytes)).collect();
            assert_eq!(text::read(again.as_bytes()).as_ref(), Ok(&trace), "written again");
        }
        Err(error) => assert!(error.to_string().len() < 400 && !error.hint().is_empty(), "{error}"),
    }
}

/// A capture of packets, and every flow in it.
pub fn capture(data: &[u8]) {
    let found = schedule(data, None);
    if matches!(found, Err(CaptureError::NotACapture)) {
        assert!(!is_capture(data));
    }
    match found {
        Ok(taken) => check_taken(&taken),
        Err(CaptureError::WhichFlow { flows }) => {
            assert!(flows.len() > 1);
            for seen in flows.iter().take(20) {
                let pattern: FlowPattern = seen.flow.to_string().parse().expect("a flow reads as it is printed");
                match schedule(data, Some(&pattern)) {
                    Ok(taken) => {
                        check_taken(&taken);
                        let length = taken.trace.departures().len() as u64;
                        assert_eq!((taken.flow, length, taken.trace.bytes()), (seen.flow, seen.messages, seen.bytes));
                    }
                    Err(error) => assert!(matches!(error, CaptureError::Backwards { .. }), "{error}"),
                }
            }
        }
        Err(error) => assert!(!error.to_string().is_empty() && !error.hint().is_empty()),
    }
}

fn check_taken(taken: &Taken) {
    check(&taken.trace);
    assert_eq!(taken.trace.departures()[0].at.0, 0, "the first leaves at once");
}

fn check(trace: &Trace) {
    let messages = trace.departures();
    assert!(!messages.is_empty() && messages.is_sorted_by_key(|message| message.at));
    assert!(trace.smallest() <= trace.largest() && trace.largest() <= trace.bytes());
}
