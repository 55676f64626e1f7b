//! Refusals of methods, with the options by which something else is asked for.

use measure::method::{Carrier, NotOf, Part, Pattern, Refusal};

/// The fault of a request, and what to ask for instead.
pub fn refusal(refusal: &Refusal) -> String {
    match refusal {
        Refusal::NotOf(not) => not_of(*not),
        Refusal::NothingToMeasureWith => "measuring needs at least one connection and one thread".to_owned(),
        Refusal::IdleThreads { threads, connections } => format!(
            "{threads} threads cannot share {connections} connection(s) → raise --connections: each thread needs at least one"
        ),
        Refusal::TurnsOfThreads { threads } => {
            format!(
                "connections that take turns have one thread, not {threads} → remove --threads, or use --connections"
            )
        }
        Refusal::FewPorts { ports, connections } => {
            format!(
                "--source-port has {ports} port(s) for {connections} connections → give a range with at least one port each"
            )
        }
        Refusal::TooMany { connections, threads } => {
            format!("{connections} connections on {threads} threads: at most 65536 and 1024")
        }
        Refusal::NothingToMeasure => "the run has no time or no requests → give -t or -c above 0".to_owned(),
        Refusal::NoQuantile { quantile } => format!("`{quantile}` is not a percentile → --until p99 or --until p99±5%"),
        Refusal::NoTolerance => "the tolerance of --until is a share between 0 and 100 %, as in p99±5%".to_owned(),
        Refusal::PacedReceiver => {
            "the peer decides when it sends → remove the schedule, or let the peer pace".to_owned()
        }
        Refusal::ForeignWaiting => "this peer's protocol has no wait mode → remove --peer-wait".to_owned(),
        Refusal::WindowTwice => "a volley already limits the requests in flight → remove the window".to_owned(),
        Refusal::UnboundedBackToBack => {
            "`--window 0` needs a schedule → add --every, --rate or --poisson, or use --window 1".to_owned()
        }
        Refusal::WindowTooLarge { window } => {
            format!("`--window {window}` is too large → at most 1048576 requests in flight")
        }
        Refusal::NothingToPace => "`--pace` needs a schedule → add --every, --rate, --poisson or --burst".to_owned(),
        Refusal::NoTimeout { timeout } => format!("timeout {timeout} is out of range → above 0 and up to 1h"),
        Refusal::TooLong => "the run is too long → at most 7 days (168h)".to_owned(),
        Refusal::IntervalBeyondEnd { interval, length } => {
            format!("one request every {interval} does not fit a run of {length} → raise -t, or shorten --every")
        }
        Refusal::Size { carrier, bytes, smallest, largest } => {
            format!("{bytes} does not fit {carrier}: from {smallest} to {largest} bytes{}", size_reason(*carrier))
        }
        Refusal::EchoIsSymmetric => {
            "an ICMP echo reply has the size of its request → remove --response-size".to_owned()
        }
        Refusal::Amplifies { request, response } => format!(
            "a UDP reply of {response} is longer than its request of {request} → use --tcp, or a request as long: the reflector never amplifies"
        ),
        Refusal::ZeroInterval => "an interval of 0 is no pause → remove --every, or use a longer one".to_owned(),
        Refusal::EmptyBurst => "--burst needs at least one request".to_owned(),
        Refusal::BurstBeyondWindow { burst, window } => format!(
            "`--burst {burst}` does not fit `--window {window}` → raise --window, or remove it for an open loop"
        ),
        Refusal::ReplyEveryNothing => {
            "`--reply-every 0` asks for no reply, so nothing is timed → use 1 or more".to_owned()
        }
        Refusal::SizesTwice => "the message size is given twice → give a size, a range, a mix or a trace".to_owned(),
        Refusal::SizesOnStreams => "messages of different sizes need UDP → add --udp".to_owned(),
        Refusal::SizesBackwards { smallest, largest } => {
            format!("the range of sizes {smallest} to {largest} is empty → put the smaller first")
        }
        Refusal::EmptyShare => {
            "a mix needs at least one size, each with a share above 0 → as in 64:7,576:4,1500:1".to_owned()
        }
        Refusal::NoRoomToAsk { bytes, smallest } => format!(
            "a TCP message of {bytes} is too short for --reply-every → use {smallest} bytes or more, or --reply-every 1"
        ),
        Refusal::NothingToBatch => "with --reply-every 1 no messages can be batched → raise --reply-every".to_owned(),
        Refusal::Batch { messages, most, bytes } => {
            format!("{messages} messages of {bytes} do not fit one call → from 2 to {most}")
        }
    }
}

/// The refusal of a part that the method does not have.
fn not_of(NotOf { what, carrier, pattern }: NotOf) -> String {
    let told = match (what, pattern) {
        (Part::Pattern, Pattern::Stream) => return format!("{carrier} has no stream → use --tcp or --udp"),
        (Part::Pattern, Pattern::Load) => {
            return format!("the peer's kernel answers {carrier}: it has no load → use --udp or --tcp");
        }
        (Part::Pattern, _) => return format!("{carrier} makes no connections → use --tcp for {pattern}"),
        (Part::FarProgram, _) => {
            return format!("the peer's kernel answers {carrier}, not a program → remove --peer-wait and --peer-cpu");
        }
        (Part::Ports, _) => return format!("{carrier} has no ports → remove --source-port"),
        (Part::TcpOptions, _) => {
            return format!("--nagle and --congestion are for TCP, the protocol is {carrier} → add --tcp");
        }
        (Part::Batch, Pattern::Stream | Pattern::Load) => {
            return format!("batches work only with UDP, not with {carrier} → remove the batch, or add --udp");
        }
        (Part::RequestBytes | Part::ResponseBytes, Pattern::ConnectClose) => {
            "connect + close sends no request → remove the sizes, or use --crr"
        }
        (Part::ResponseBytes, _) if carrier == Carrier::TcpSyn => {
            "the reply to a SYN probe has no payload → remove --response-size"
        }
        (Part::RequestBytes | Part::ResponseBytes, _) => "--connect sends no request → remove the sizes, or use --crr",
        (Part::Direction, _) => "only a stream has a direction → remove it, or use sonde throughput",
        (Part::Window, Pattern::Stream) => "a stream has no requests in flight → remove --window",
        (Part::Window, Pattern::Load) => "a load is an open loop → remove --window",
        (Part::Window, _) => "each connection makes one handshake at a time → use --connections instead of --window",
        (Part::ReplyEvery, _) => "--reply-every is only for sonde load → remove it",
        (Part::Sending, Pattern::Stream) => {
            "zero copy, sendfile and discarding work only with TCP → use segmentation offload (--segments) with UDP"
        }
        (Part::Sending, _) => "zero copy, sendfile and discarding are only for streams → use sonde throughput",
        (Part::Sizes, _) => "messages of different sizes are only for sonde load → give one size",
        (Part::Stamps, Pattern::Stream) => "a stream has no time breakdown → remove --stamps",
        (Part::Stamps, Pattern::Load) => "only sonde rtt has a time breakdown → remove --stamps",
        (Part::Stamps, _) => "a handshake has no time breakdown → remove --stamps",
        (Part::Batch | Part::Calls, _) => "batches are only for sonde load → remove them",
        (Part::Trace, _) => "a trace is only for sonde replay → remove it",
        (Part::Requests, _) => "a stream has no requests to count → end it by time (-t) or by bytes",
        (Part::End, _) => "only a stream ends by bytes → use -t or -c",
        (Part::Application, _) => "a program is asked in its own protocol by exchanges alone → use sonde rtt URL",
    };
    told.to_owned()
}

fn size_reason(carrier: Carrier) -> &'static str {
    match carrier {
        Carrier::Udp => " (the header takes 32; one datagram holds at most 65507)",
        Carrier::Icmp => " (8 identify sonde's replies)",
        Carrier::TcpSyn => " (one segment is one packet)",
        Carrier::Tcp | Carrier::TcpConnect => "",
    }
}
