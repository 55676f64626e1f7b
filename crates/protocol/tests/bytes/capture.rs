//! Captures that tcpdump wrote of a program whose schedule is known: sockperf 3.7 with a playback file, kept up to 300
//! bytes of each packet.

use protocol::capture::flow::FlowPattern;
use protocol::capture::{CaptureError, Taken, schedule};

/// The playback file, milliseconds and bytes.
const PLAYED: [(u64, u32); 6] = [(1_000, 14), (1_100, 100), (1_100, 40), (1_200, 64), (1_250, 14), (1_400, 500)];

fn capture(transport: &str) -> Vec<u8> {
    let path = format!("{}/tests/fixtures/capture/sockperf-3.7-playback-{transport}.pcap", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(path).expect("the fixture")
}

fn taken(transport: &str, flow: &str) -> Taken {
    let flow: FlowPattern = flow.parse().expect("a flow");
    schedule(&capture(transport), Some(&flow)).expect("a schedule")
}

#[test]
fn what_was_played_is_what_is_taken_out_of_the_capture() {
    let flows = [("udp", "127.0.0.1:36646>127.0.0.1:11111"), ("tcp", "127.0.0.1:54640>127.0.0.1:11111")];
    for (transport, flow) in flows {
        let taken = taken(transport, flow);
        let found: Vec<(u64, u32)> = taken.trace.departures().iter().map(|d| (d.at.0, d.bytes)).collect();
        let sizes: Vec<u32> = found.iter().map(|(_, bytes)| *bytes).collect();
        assert_eq!(sizes, PLAYED.map(|(_, bytes)| bytes), "{transport}");
        assert_eq!((taken.others, taken.repeated, taken.broken_off), (1, 0, None), "{transport}");
        assert_eq!(found[0].0, 0, "{transport}: the capture starts with the first message");
        for (&(at, _), (played, _)) in found.iter().zip(PLAYED) {
            // That program leaves up to 5 ms early or late, having polled its clock; the file says milliseconds.
            let (at, played) = (at / 1_000, (played - PLAYED[0].0) * 1_000);
            assert!(at.abs_diff(played) < 5_000, "{transport}: {at} {played}");
        }
    }
}

#[test]
fn answers_are_a_flow_of_their_own() {
    let error = schedule(&capture("udp"), None).unwrap_err();
    let CaptureError::WhichFlow { flows } = &error else { panic!("{error}") };
    let listed: Vec<_> = flows.iter().map(|seen| (seen.flow.to_string(), seen.messages, seen.bytes.0)).collect();
    let flow = str::to_owned;
    let expected =
        [(flow("udp 127.0.0.1:36646>127.0.0.1:11111"), 6, 732), (flow("udp 127.0.0.1:11111>127.0.0.1:36646"), 3, 664)];
    assert_eq!(listed, expected);
    assert_eq!(taken("udp", "127.0.0.1:11111>127.0.0.1:36646").trace.bytes().0, 664);
}
