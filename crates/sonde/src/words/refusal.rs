//! Why a method was refused, with the options by which something else is asked for.

use measure::method::{Carrier, NotOf, Part, Pattern, Refusal};

/// What is wrong with what was asked for, and what to ask for instead.
pub fn refusal(refusal: &Refusal) -> String {
    match refusal {
        Refusal::NotOf(not) => not_of(*not),
        Refusal::NothingToMeasureWith => "at least one connection and one thread are needed".to_owned(),
        Refusal::IdleThreads { threads, connections } => format!("{threads} threads cannot share {connections} connection(s): each thread owns at least one. Raise --connections"),
        Refusal::TooMany { connections, threads } => format!("{connections} connections on {threads} threads: at most 65536 and 1024"),
        Refusal::NothingToMeasure => "a run of no time or no requests measures nothing: give -t or -c above 0".to_owned(),
        Refusal::NoQuantile { quantile } => format!("{quantile} is no quantile: --until takes one between 0 and 100 %, as in p99 or p99±5%"),
        Refusal::NoTolerance => "the tolerance of --until is a share between 0 and 100 %, as in p99±5%".to_owned(),
        Refusal::PacedReceiver => "what we receive comes when the peer sends it: ask the peer to pace it, or drop the schedule".to_owned(),
        Refusal::ForeignWaiting => "the peer speaks another program's protocol, which cannot say how it waits. Drop --peer-wait".to_owned(),
        Refusal::WindowTwice => "a volley is a window of its own: ask for one of the two".to_owned(),
        Refusal::UnboundedBackToBack => "an unbounded window back to back would only fill buffers: give --every, --rate or --poisson, or a window above 0".to_owned(),
        Refusal::WindowTooLarge { window } => format!("a window of {window} is beyond 1048576 outstanding requests"),
        Refusal::NothingToPace => "back to back there is no instant to wait for: --pace needs --every, --rate, --poisson or --burst".to_owned(),
        Refusal::NoTimeout { timeout } => format!("a timeout of {timeout} cannot be waited for: give one above 0 and up to 1h"),
        Refusal::TooLong => "a single run lasts at most 7 days (168h)".to_owned(),
        Refusal::IntervalBeyondEnd { interval, length } => format!("one request every {interval} does not fit a run of {length}: raise -t, or shorten --every"),
        Refusal::Size { carrier, bytes, smallest, largest } => format!("{bytes} does not fit {carrier}: from {smallest} to {largest} bytes{}", size_reason(*carrier)),
        Refusal::EchoIsSymmetric => "an ICMP echo comes back as it was sent: request and response have one size".to_owned(),
        Refusal::Amplifies { request, response } => format!("a UDP reply of {response} to a request of {request} would amplify: the reflector never answers with more than came in. Use tcp, or a request as long"),
        Refusal::ZeroInterval => "an interval of 0 is back to back: leave --every away".to_owned(),
        Refusal::EmptyBurst => "a burst has at least one request".to_owned(),
        Refusal::BurstBeyondWindow { burst, window } => format!("a burst of {burst} does not fit a window of {window}: it would never leave at once. Raise --window, or leave it away for an open loop"),
        Refusal::ReplyEveryNothing => "--reply-every 0 asks for no reply at all, so nothing would be timed: take 1 or more".to_owned(),
        Refusal::SizesTwice => "the size of messages is said twice: by a size, by a range or mix of sizes, or by a trace, only once".to_owned(),
        Refusal::SizesOnStreams => "over tcp the reflector tells messages apart by their one size: take udp for messages of different sizes".to_owned(),
        Refusal::SizesBackwards { smallest, largest } => format!("a range of sizes from {smallest} to {largest} is empty: the smaller comes first"),
        Refusal::EmptyShare => "a mix of sizes has at least one, each with a share above 0, as in 64:7,576:4,1500:1".to_owned(),
        Refusal::NoRoomToAsk { bytes, smallest } => format!("over tcp a message of {bytes} has no room to say that it wants no reply: take {smallest} bytes or more, or --reply-every 1"),
        Refusal::NothingToBatch => "messages that ask for a reply leave alone, and with --reply-every 1 all do: raise --reply-every for batches".to_owned(),
        Refusal::Batch { messages, most, bytes } => format!("{messages} messages of {bytes} are no batch: from 2 to {most} fit one call"),
    }
}

/// What is said of what has no such thing.
fn not_of(NotOf { what, carrier, pattern }: NotOf) -> String {
    let told = match (what, pattern) {
        (Part::Pattern, Pattern::Stream) => return format!("{carrier} carries no stream: take tcp or udp"),
        (Part::Pattern, Pattern::Load) => {
            return format!("{carrier} answers each message by the peer's kernel: a load takes udp or tcp");
        }
        (Part::Pattern, _) => return format!("{carrier} has no connection to make: {pattern} is for tcp"),
        (Part::FarProgram, _) => {
            return format!(
                "{carrier} is answered by the peer's kernel: there is no program whose waiting or CPU could be set. Drop --peer-wait and --peer-cpu"
            );
        }
        (Part::TcpOptions, _) => return format!("--nagle and --congestion are TCP's; the carrier is {carrier}"),
        (Part::Batch, Pattern::Stream | Pattern::Load) => {
            return format!("{carrier} joins messages by itself: batches are for udp");
        }
        (Part::RequestBytes | Part::ResponseBytes, Pattern::ConnectClose) => {
            "connect + close carries no request: drop the sizes, or ask for connect + exchange"
        }
        (Part::ResponseBytes, _) if carrier == Carrier::TcpSyn => {
            "a probe's answer is a bare segment: leave --response-size away"
        }
        (Part::RequestBytes | Part::ResponseBytes, _) => {
            "tcp-connect measures the handshake alone: it carries no request. Drop the sizes, or use --crr for connect + exchange"
        }
        (Part::Direction, _) => "requests and replies go both ways: only a stream has a direction",
        (Part::Window, Pattern::Stream) => {
            "a stream awaits no replies, so there is no window: what is on its way is for TCP to say"
        }
        (Part::Window, Pattern::Load) => {
            "a load is an open loop: its messages leave when they are due, whatever is outstanding. Drop --window"
        }
        (Part::Window, _) => "handshakes are made one at a time a connection: raise --connections instead of --window",
        (Part::ReplyEvery, _) => "an exchange always asks for its reply: --reply-every is for a load",
        (Part::Sending, Pattern::Stream) => {
            "zero copy, sendfile and throwing away unread are for tcp. For udp there is segmentation offload"
        }
        (Part::Sending, _) => {
            "zero copy, sendfile and throwing away unread are for streams: an exchange reads and writes its messages"
        }
        (Part::Sizes, _) => "messages of different sizes are for a load: give exchanges one size",
        (Part::Stamps, Pattern::Stream) => "kernel timestamps split an exchange, and a stream has none. Drop --stamps",
        (Part::Stamps, Pattern::Load) => {
            "kernel timestamps split the exchanges of `sonde rtt`, not those of a load. Drop --stamps"
        }
        (Part::Stamps, _) => {
            "kernel timestamps split an exchange on an open socket; a handshake is timed by the connect call alone. Drop --stamps"
        }
        (Part::Batch | Part::Calls, _) => "an exchange leaves alone: batches are for a load",
        (Part::Trace, _) => {
            "a recorded trace is replayed as a load: it cannot be the schedule of exchanges or of a stream"
        }
        (Part::Requests, _) => {
            "a stream has no requests to count and no quantile to settle: end it by time or by bytes"
        }
        (Part::End, _) => "only a stream ends by bytes: end exchanges by time or by their count",
    };
    told.to_owned()
}

fn size_reason(carrier: Carrier) -> &'static str {
    match carrier {
        Carrier::Udp => " (the header with token and sequence takes 32; one datagram carries 65507 at most)",
        Carrier::Icmp => " (8 tell our replies from others')",
        Carrier::TcpSyn => " (one segment is one packet)",
        Carrier::Tcp | Carrier::TcpConnect => "",
    }
}
