//! Actions where a capture gives no schedule to replay.

use measure::unit::grouped;
use protocol::capture::error::CaptureError;
use protocol::capture::flow::Seen;

/// The number of flows of a capture that are listed.
const LISTED: usize = 8;

/// The action against `error`.
pub fn capture(error: &CaptureError) -> String {
    let text = match error {
        CaptureError::NotACapture => "give a file that `tcpdump -w` wrote, or a text of `time,size` lines",
        CaptureError::Pcapng => "convert it: `tcpdump -r FILE -w OTHER.pcap` or `editcap -F pcap`",
        CaptureError::Modified => "convert it: `editcap -F pcap`",
        CaptureError::Compressed { by } => return format!("unpack it with {by} first"),
        CaptureError::Link { .. } => {
            "capture on an interface of Ethernet or on `any`, or turn it into a text of `time,size`"
        }
        CaptureError::NoHeader | CaptureError::Damaged { .. } | CaptureError::BrokenOff { .. } => {
            "capture again, or save the sound part with `tcpdump -r FILE -w OTHER.pcap`"
        }
        CaptureError::NoFlow { .. } => "look at it with `tcpdump -n -r FILE`",
        CaptureError::NotThere { flows, .. } | CaptureError::WhichFlow { flows } => return list(flows),
        CaptureError::TooMany { .. } => "cut it: `tcpdump -r FILE -w OTHER.pcap` with a filter, or `editcap`",
        CaptureError::Backwards { .. } => "sort its packets by time: `reordercap`",
    };
    text.to_owned()
}

/// The flows to choose from, each as it has to be typed.
fn list(flows: &[Seen]) -> String {
    let line = |seen: &Seen| {
        let messages = if seen.messages == 1 { "message" } else { "messages" };
        format!("  '{}'  {} {messages}, {}", seen.flow, grouped(seen.messages), seen.bytes)
    };
    let mut lines = vec!["choose one with --flow:".to_owned()];
    lines.extend(flows.iter().take(LISTED).map(line));
    let more = flows.len().saturating_sub(LISTED);
    lines.extend((more > 0).then(|| format!("  and {} smaller ones", grouped(more as u64))));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use measure::unit::Bytes;
    use protocol::capture::flow::{Flow, Transport};

    use super::*;

    fn seen(port: u16) -> Seen {
        let place = |port| std::net::SocketAddr::from(([10, 0, 0, 1], port));
        Seen {
            flow: Flow { transport: Transport::Udp, from: place(port), to: place(7) },
            messages: u64::from(port),
            bytes: Bytes(300),
        }
    }

    #[test]
    fn flows_are_listed_as_they_are_typed() {
        let listed = capture(&CaptureError::WhichFlow { flows: vec![seen(2), seen(1)] });
        let expected = "choose one with --flow:\n  'udp 10.0.0.1:2>10.0.0.1:7'  2 messages, 300 B\n  \
                        'udp 10.0.0.1:1>10.0.0.1:7'  1 message, 300 B";
        assert_eq!(listed, expected);
    }

    #[test]
    fn many_flows_are_not_all_listed() {
        let listed = capture(&CaptureError::WhichFlow { flows: (0..20).map(seen).collect() });
        assert_eq!(listed.lines().count(), 10, "{listed}");
        assert!(listed.ends_with("and 12 smaller ones"), "{listed}");
    }
}
