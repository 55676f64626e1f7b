//! Recorded schedules: as text, and in captures of packets.

use measure::trace::{Trace, text};
use measure::wire::Seen;

use protocol::capture::file::File;
use protocol::capture::flow::FlowPattern;
use protocol::capture::packet::{Part, inner};
use protocol::capture::watch::{Carrier, Marks, Passage, Target, look};
use protocol::capture::writer::{self, Packet};
use protocol::capture::{CaptureError, Taken, is_capture, schedule};

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
        Err(error) => assert!(error.to_string().len() < 400, "{error}"),
    }
}

/// A capture of packets, every flow in it, and each packet as a measurement would look at it.
pub fn capture(data: &[u8]) {
    watched(data);
    if let Ok(file) = File::open(data) {
        file.records().map_while(Result::ok).for_each(|record| watched(record.kept));
    }
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
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Octets as a packet of IP, seen by the measurement that it would belong to; kept, they are read again.
fn watched(packet: &[u8]) {
    let length = packet.len() as u32;
    if let Some(inner) = inner(packet, packet.len()) {
        for (outgoing, peer) in [(true, inner.ends.1), (false, inner.ends.0)] {
            for carrier in [Carrier::Tcp, Carrier::Udp, Carrier::Icmp] {
                // Where UDP and TCP have the port of that end.
                let at = if outgoing { 2 } else { 0 };
                let port = inner.body.get(at..at + 2).map_or(0, |port| u16::from_be_bytes([port[0], port[1]]));
                let target = Target { peer: (peer, port).into(), carrier, marks: Marks::Header };
                let seen = look(packet, Passage { at_ns: 1, outgoing, interface: 2, length }, &target);
                // The first fragment tells of all of its datagram.
                let whole = inner.part == Part::Whole;
                let most = |seen: &Seen| if whole { seen.packet_bytes } else { u32::from(u16::MAX) };
                assert!(seen.is_none_or(|seen| seen.payload_bytes <= most(&seen)), "{seen:?}");
            }
        }
    }
    let mut file = writer::file_header(length).to_vec();
    writer::push(&mut file, &Packet { at_ns: 1, outgoing: true, hardware: 1, kept: packet, length });
    let read = File::open(&file).expect("a capture").records().next().expect("a packet").expect("sound");
    assert!(read.kept.ends_with(packet) && read.at.0 == 1);
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
