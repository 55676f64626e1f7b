//! Facts read back out of a text of the original.

use std::net::SocketAddr;

use protocol::iperf3::parameters::{Direction, Protocol};

use crate::persona::iperf3::facts::{Cpu, Outcome, Role, Slice, Stream, Summary, Test};
use crate::persona::iperf3::output::row::{SEPARATOR, Style};
use crate::persona::iperf3::output::tests::rows::{Row, solve};

/// A text, and what stands in it.
pub struct Read {
    /// It, without title and times in front of its lines.
    pub text: String,
    /// Lines in front of the test with `-V`.
    pub before: String,
    pub test: Test,
    pub groups: Vec<Vec<Slice>>,
    pub summary: Option<Summary>,
    pub style: Style,
    pub server_output: Option<String>,
    /// True where it came to its end.
    pub done: bool,
}

impl Read {
    /// Reads the text of a test of either end.
    pub fn of(text: &str, words: &[String]) -> Self {
        let text = without_prefix(text);
        let verbose = words.iter().any(|word| word == "-V");
        // The version and the system are our own.
        let text: String =
            if verbose && text.starts_with("iperf ") { text.split_inclusive('\n').skip(2).collect() } else { text };
        let (head, server_output) = match text.split_once("\nServer output:\n") {
            Some((head, rest)) => (head, Some(rest.split_once("\n\niperf Done.").unwrap().0.to_owned())),
            None => (text.as_str(), None),
        };
        let test = test(head);
        let (flow, end) = head.split_once(SEPARATOR.trim_end()).map_or((head, ""), |_| halves(head));
        let rows: Vec<Row> = flow.lines().filter_map(Row::of).filter(|row| row.label.is_some()).collect();
        let streams = test.streams.len();
        let groups = rows.chunks(streams).map(|rows| rows.iter().map(Row::slice).collect()).collect();
        let position = |word: &str| words.iter().position(|it| it == word);
        let format = position("-f").and_then(|place| words[place + 1].chars().next());
        let before: String = head.split_inclusive('\n').take_while(|line| !is_begin(line)).collect();
        let summary = (!end.is_empty()).then(|| summary(&test, end));
        let done = text.contains("iperf Done.");
        Self { before, test, groups, summary, style: Style { format, verbose }, server_output, done, text }
    }
}

fn is_begin(line: &str) -> bool {
    ["Time: ", "Connecting to", "Accepted connection"].iter().any(|begin| line.starts_with(begin))
}

/// The title or the time in front of the first line is as long as in front of all.
fn without_prefix(text: &str) -> String {
    let length = text.find("Connecting to host").filter(|_| !text.starts_with("iperf ")).unwrap_or(0);
    let length = if text.lines().take(4).any(|line| line.starts_with("Connecting")) { 0 } else { length };
    text.split_inclusive('\n').map(|line| &line[length.min(line.len() - 1)..]).collect()
}

/// Text in front of the last separator, and text behind it.
fn halves(text: &str) -> (&str, &str) {
    text.rsplit_once(SEPARATOR.trim_end()).unwrap()
}

fn field<'a>(text: &'a str, begin: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.trim_start().strip_prefix(begin))
}

fn address(host: &str, port: &str) -> SocketAddr {
    format!("{host}:{port}").parse().unwrap()
}

fn test(text: &str) -> Test {
    let client = text.contains("Connecting to host");
    let both = text.contains("[ ID][Role]");
    let udp = text.contains("Datagrams");
    let first = text.lines().find(|line| line.starts_with("[ ID]")).unwrap();
    let sends = first.contains("Retr") || first.contains("Total Datagrams") && !first.contains("Lost/");
    let mut streams: Vec<Stream> = text.lines().filter_map(stream).collect();
    let half = if both { streams.len() / 2 } else { streams.len() };
    let count = streams.len();
    for (place, stream) in streams.iter_mut().enumerate() {
        stream.sends = if both { (place < half) == client } else { sends };
    }
    let place = field(text, if client { "Connecting to host " } else { "Accepted connection from " }).unwrap();
    let (host, port) = place.split_once(", port ").unwrap();
    let role = if client {
        Role::Client { host: host.to_owned(), port: port.parse().unwrap() }
    } else {
        Role::Server { client: address(host, port) }
    };
    let began = field(text, "Time: ").map(|time| jiff::fmt::rfc2822::parse(&time.replace("GMT", "+0000")).unwrap());
    let starting = field(text, "Starting Test: ");
    let number = |behind: &str| {
        let (before, _) = starting?.split_once(behind)?;
        before.rsplit(' ').next()?.parse::<u32>().ok()
    };
    Test {
        role,
        cookie: field(text, "Cookie: ").unwrap_or_default().to_owned(),
        began_ms: began.map_or(0, |began| began.timestamp().as_millisecond()),
        protocol: if udp { Protocol::Udp } else { Protocol::Tcp },
        direction: match (both, sends == client) {
            (true, _) => Direction::Both,
            (_, true) => Direction::Upload,
            (_, false) => Direction::Reverse,
        },
        parallel: half.min(count) as u32,
        block_bytes: number(" byte blocks").unwrap_or(0),
        omit_s: 0,
        time_s: number(" second test").unwrap_or(0),
        bytes: 0,
        blocks: 0,
        tos: 0,
        rate: field(text, "Target Bitrate: ").map_or(0, |rate| rate.parse().unwrap()),
        fq_rate: 0,
        segmented: false,
        segment_bytes: None,
        control_segment_bytes: field(text, "TCP MSS: ")
            .map_or(0, |mss| mss.split_once(' ').unwrap().0.parse().unwrap()),
        window: 0,
        send_buffer: None,
        receive_buffer: None,
        interval_s: 1.0,
        title: None,
        extra_data: None,
        streams,
    }
}

fn stream(line: &str) -> Option<Stream> {
    let (label, rest) = line.strip_prefix('[')?.split_once("] local ")?;
    let words: Vec<&str> = rest.split(' ').collect();
    let (local, remote) = (address(words[0], words[2]), address(words[5], words[7]));
    Some(Stream { label: label.trim().parse().unwrap(), local, remote, sends: false })
}

fn summary(test: &Test, text: &str) -> Summary {
    let rows: Vec<Row> = text.lines().filter_map(Row::of).collect();
    let of = |role: &str| rows.iter().filter(|row| row.role == role).cloned().collect::<Vec<Row>>();
    let (senders, receivers) = (of("sender"), of("receiver"));
    let (sender_ns, sent) = solve(&senders);
    let (receiver_ns, received) = solve(&receivers);
    let late = |label: u32| {
        let mut lines = text.lines();
        let own = lines
            .position(|line| Row::of(line).is_some_and(|row| row.label == Some(label) && row.role == "receiver"))?;
        let before = text.lines().nth(own.checked_sub(1)?)?;
        let (count, _) = before.split_once(" datagrams received")?;
        count.rsplit(' ').next()?.parse().ok()
    };
    let outcome = |stream: &Stream| {
        let of = |rows: &[Row], bytes: &[u64]| {
            let place = rows.iter().position(|row| row.label == Some(stream.label))?;
            Some((rows[place].clone(), bytes[place]))
        };
        let (sender, receiver) = (of(&senders, &sent), of(&receivers, &received));
        let mut outcome = Outcome::default();
        if let Some((row, bytes)) = sender {
            (outcome.sent_bytes, outcome.retransmits) = (bytes, row.retransmits);
            outcome.sent_packets = row.datagrams.packets;
        }
        if let Some((row, bytes)) = receiver {
            (outcome.received_bytes, outcome.received) = (bytes, row.datagrams);
            outcome.received.out_of_order = late(stream.label).unwrap_or(0);
        }
        outcome
    };
    let name = |begin| field(text, begin).map(str::to_owned);
    let cpu = field(text, "CPU Utilization: ").map(|line| line.split_once(", ").unwrap());
    Summary {
        sender_ns,
        receiver_ns,
        own_ns: receiver_ns,
        outcomes: test.streams.iter().map(outcome).collect(),
        cpu: cpu.map(|(ours, _)| share(ours)).unwrap_or_default(),
        peer_cpu: cpu.map(|(_, theirs)| share(theirs)).unwrap_or_default(),
        sender_congestion: name("snd_tcp_congestion "),
        receiver_congestion: name("rcv_tcp_congestion "),
        file: None,
    }
}

/// `local/sender 23.4% (1.3%u/22.1%s)`
fn share(text: &str) -> Cpu {
    let numbers: Vec<f64> =
        text.split(|c: char| !(c.is_ascii_digit() || c == '.')).filter_map(|number| number.parse().ok()).collect();
    Cpu { total: numbers[0], user: numbers[1], system: numbers[2] }
}
