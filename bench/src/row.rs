//! The rows of the bench as data: what is compared with what, in which unit, against which target.

use serde::Serialize;

use crate::asked::Program;
use crate::generator::Generator;
use crate::verdict::Target;

/// Protocol of a row's exchanges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Carrier {
    /// TCP, `TCP_NODELAY`.
    Tcp,
    /// UDP.
    Udp,
}

impl Carrier {
    /// As the C loops take it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }
}

/// Wait mode of both ends of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Waiting {
    /// In the kernel.
    Block,
    /// Polling the socket.
    Spin,
}

impl Waiting {
    /// As both sides take it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Spin => "spin",
        }
    }
}

/// An end of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// Asks.
    Client,
    /// Answers.
    Reflector,
}

/// Loop that the recorder is fed as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Feed {
    /// One time an exchange.
    Closed,
    /// Response, service and slip of each.
    Open,
}

impl Feed {
    /// As `record-loop` takes it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
        }
    }
}

/// A test of netperf's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetperfTest {
    /// `TCP_RR`.
    TcpRr,
    /// `UDP_RR`.
    UdpRr,
    /// `TCP_STREAM`.
    TcpStream,
}

impl NetperfTest {
    /// As netperf takes it.
    pub fn word(self) -> &'static str {
        match self {
            Self::TcpRr => "TCP_RR",
            Self::UdpRr => "UDP_RR",
            Self::TcpStream => "TCP_STREAM",
        }
    }
}

/// Figure that a row of netperf's reads from a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// Transactions or 10^6 bits a second, without durations being kept where that is the default.
    Rate,
    /// The least duration of a transaction.
    Least,
    /// The mean duration of a transaction.
    Mean,
}

/// Path between the ends of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Path {
    /// Loopback.
    Loopback,
    /// Two network namespaces and a pair of virtual interfaces.
    Veth,
}

/// Programs at the ends of a row of one-way messages, against the original at both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ends {
    /// Ours at both, each message in a buffer of its own.
    Both,
    /// Ours at both, by segmentation and receive offload.
    Segments,
    /// Ours sends to the original.
    Client,
}

/// Streams of a row against iperf3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Streams {
    /// One over TCP, written and read.
    Plain,
    /// The CPU time that takes.
    Cost,
    /// One over TCP, by the fastest way each program has.
    Fast,
    /// Our fastest, against iperf3's plain one.
    FastToPlain,
    /// Eight over TCP.
    Eight,
    /// Datagrams with hardly a loss.
    Datagrams {
        /// True where ours go in segments.
        segments: bool,
    },
}

/// Program that our ping is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pinger {
    /// iputils' ping.
    Iputils,
    /// fping.
    Fping,
}

impl Pinger {
    /// As rows are named.
    pub fn word(self) -> &'static str {
        match self {
            Self::Iputils => "ping",
            Self::Fping => "fping",
        }
    }
}

/// Percentile of a distribution of pacing errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Share {
    /// Its median.
    Half,
    /// Its 99.9th percentile.
    AllBut1In1000,
}

impl Share {
    /// As the C loop prints it.
    pub fn key(self) -> &'static str {
        match self {
            Self::Half => "p50=",
            Self::AllBut1In1000 => "p99.9=",
        }
    }
}

/// Measurement that a row compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "compares", rename_all = "kebab-case")]
pub enum Subject {
    /// The C loop with itself: whether the method can be believed.
    Itself {
        /// Carrier.
        carrier: Carrier,
        /// Waiting.
        waiting: Waiting,
    },
    /// Exchanges a second, ours and the C loop's.
    Exchanges {
        /// Carrier.
        carrier: Carrier,
        /// Waiting.
        waiting: Waiting,
    },
    /// Exchanges a second, ours as by default (the kernel stamps in spells) and without stamps.
    StampSampling {
        /// Carrier.
        carrier: Carrier,
    },
    /// Exchanges a second of the C loop that stamps every exchange, and without.
    StampEach {
        /// Carrier.
        carrier: Carrier,
    },
    /// p99 of how late requests left, hybrid pacing, ours and the C loop's.
    Slip {
        /// Time between requests, microseconds.
        every_us: u64,
    },
    /// Median round trip at one exchange each millisecond, ours and the C loop's.
    Idle {
        /// Carrier.
        carrier: Carrier,
    },
    /// Instructions in user space per exchange, ours and the C loop's.
    Instructions {
        /// Carrier.
        carrier: Carrier,
        /// End that is counted.
        end: End,
    },
    /// Instructions of the recorder per exchange.
    Recording {
        /// Loop that it is fed as.
        feed: Feed,
    },
    /// Nanoseconds a fed exchange, with the recorder and without.
    RecordingTime {
        /// Loop that it is fed as.
        feed: Feed,
    },
    /// Peak memory of 10^9 recorded exchanges, and of 10^6.
    Memory {
        /// Loop that it is fed as.
        feed: Feed,
    },
    /// A test of netperf's, both ends ours and both ends the original.
    Netperf {
        /// The test.
        test: NetperfTest,
        /// The figure of its result.
        figure: Figure,
        /// The path.
        path: Path,
    },
    /// The highest rate of one-way UDP messages with hardly a loss, ours and sockperf's.
    SockperfFlood {
        /// Ends that are ours.
        ends: Ends,
    },
    /// Exchanges a second of sockperf's ping-pong, both ends ours and both ends the original.
    SockperfExchanges {
        /// Carrier.
        carrier: Carrier,
        /// Waiting.
        waiting: Waiting,
    },
    /// Distance of a message's arrival from its schedule, of ours and of sockperf's sender.
    SockperfPacing {
        /// Messages a second.
        per_s: u32,
        /// Percentile of the errors.
        share: Share,
    },
    /// Streams, by `sonde throughput` and by iperf3.
    Streams {
        /// The streams, and their figure.
        streams: Streams,
        /// The path.
        path: Path,
    },
    /// SYN probes a second over a pair of virtual interfaces, by ours under hping3's name and by the original: `-i u1`.
    Probes,
    /// ICMP round trips a second back to back, of `sonde ping` and of another.
    PingFlood {
        /// The other program.
        pinger: Pinger,
    },
    /// Distance of a request's departure from its interval, of `sonde ping` and of another.
    PingSlip {
        /// The other program.
        pinger: Pinger,
        /// The interval, milliseconds.
        every_ms: u32,
    },
    /// Requests a second to a program at work over one connection, ours and the C loop's.
    Asked {
        /// The program.
        program: Program,
    },
    /// Requests a second to a program at work, ours and those of the generator that is known for its protocol.
    Generated {
        /// The generator.
        by: Generator,
        /// Over so many connections of each.
        connections: u32,
    },
    /// One-way UDP messages a second that arrive, ours and the C loop's, as fast as they go.
    Flood {
        /// True where they go in segments.
        segments: bool,
    },
}

/// Most instructions per exchange that the recorder may take in a closed loop.
pub const CLOSED_CEILING: f64 = 60.0;
/// Most instructions per exchange that the recorder may take in an open loop: three distributions.
pub const OPEN_CEILING: f64 = 140.0;
/// Most nanoseconds that the recorder may take for an exchange, of either loop.
pub const RECORD_NS: f64 = 40.0;
/// Most that memory may grow from 10^6 to 10^9 exchanges, as a ratio: the list of seconds is all that may.
pub const GROWTH: f64 = 1.1;
/// Most memory of a process that records, MiB.
pub const MEMORY_MIB: f64 = 64.0;

/// Factor by which our rate must exceed the original's where segments leave and come in one call.
pub const OFFLOAD: f64 = 5.0;

/// A row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Its name, by which it can be chosen.
    pub name: String,
    /// The measurement.
    pub subject: Subject,
    /// Target of the row.
    pub target: Target,
}

/// Rows that are read together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// Figure of its rows, with its unit.
    pub title: &'static str,
    /// Heading of the first column.
    pub ours: &'static str,
    /// Heading of the second; empty where there is nothing to compare with.
    pub theirs: &'static str,
    /// Heading of the effect.
    pub effect: &'static str,
    /// Decimals of the figures.
    pub decimals: usize,
    /// True where a plain C loop beside them shows the system's limit.
    pub limited: bool,
}

/// Factor of the usual number of pairs for the rows on stamps: they are to show 0.99 with 0.03 to spare, and 63 pairs on a
/// machine that others use left an interval of that width on either side.
pub const STAMP_PAIRS: usize = 7;
/// The same of the rows on netperf's stream and on its least duration: their figures scatter most.
pub const SCATTERED_PAIRS: usize = 3;

impl Subject {
    /// Factor of the usual number of pairs for its row.
    pub fn thoroughness(self) -> usize {
        match self {
            Self::StampSampling { .. } => STAMP_PAIRS,
            Self::Netperf { test: NetperfTest::TcpStream, .. } | Self::Netperf { figure: Figure::Least, .. } => {
                SCATTERED_PAIRS
            }
            _ => 1,
        }
    }

    /// Section of the row.
    pub fn section(self) -> Section {
        let limited = matches!(self, Self::Streams { streams, .. } if streams != Streams::Cost);
        let section =
            |title, ours, theirs, effect, decimals| Section { title, ours, theirs, effect, decimals, limited };
        match self {
            Self::Itself { .. } => section("check: exchanges/s", "C loop", "C loop", "ratio", 0),
            Self::Exchanges { .. } => section("exchanges/s", "sonde", "C loop", "ratio", 0),
            Self::StampSampling { .. } => section("exchanges/s, sonde", "default", "without", "ratio", 0),
            Self::StampEach { .. } => section("exchanges/s, C loop", "stamps", "none", "ratio", 0),
            Self::Slip { .. } => section("p99 slip, us", "sonde", "C loop", "difference", 3),
            Self::Idle { .. } => section("p50 each 1 ms, us", "sonde", "C loop", "ratio", 2),
            Self::Instructions { .. } => section("instructions/exchange", "sonde", "C loop", "ratio", 1),
            Self::Recording { .. } => section("instructions/record", "recorder", "", "figure", 1),
            Self::RecordingTime { .. } => section("ns/record", "recorded", "alone", "difference", 1),
            Self::Memory { .. } => section("peak memory, MiB", "10^9", "10^6", "ratio", 1),
            Self::Netperf { figure: Figure::Rate, test: NetperfTest::TcpStream, .. } => {
                section("netperf, 10^6 bit/s", "sonde", "netperf", "ratio", 0)
            }
            Self::Netperf { figure: Figure::Rate, .. } => {
                section("netperf, transactions/s", "sonde", "netperf", "ratio", 0)
            }
            Self::Netperf { figure: Figure::Least, .. } => section("netperf, least us", "sonde", "netperf", "ratio", 0),
            Self::Netperf { figure: Figure::Mean, .. } => section("netperf, mean us", "sonde", "netperf", "ratio", 2),
            Self::SockperfFlood { .. } => section("sockperf, messages/s", "sonde", "sockperf", "ratio", 0),
            Self::SockperfExchanges { .. } => section("sockperf, exchanges/s", "sonde", "sockperf", "ratio", 0),
            Self::SockperfPacing { share: Share::Half, .. } => {
                section("p50 pacing error, us", "sonde", "sockperf", "ratio", 3)
            }
            Self::SockperfPacing { share: Share::AllBut1In1000, .. } => {
                section("p99.9 pacing error, us", "sonde", "sockperf", "ratio", 3)
            }
            Self::Streams { streams: Streams::Datagrams { .. }, .. } => {
                section("iperf3, datagrams/s", "sonde", "iperf3", "ratio", 0)
            }
            Self::Streams { streams: Streams::Cost, .. } => section("iperf3, CPU s/GB", "sonde", "iperf3", "ratio", 3),
            Self::Streams { .. } => section("iperf3, 10^6 bit/s", "sonde", "iperf3", "ratio", 0),
            Self::Probes => section("hping3, probes/s", "sonde", "hping3", "ratio", 0),
            Self::PingFlood { .. } => section("ICMP round trips/s", "sonde", "other", "ratio", 0),
            Self::PingSlip { .. } => section("p90 gap error, us", "sonde", "other", "ratio", 1),
            Self::Asked { .. } => section("programs, requests/s", "sonde", "C loop", "ratio", 0),
            Self::Generated { .. } => section("generators, requests/s", "sonde", "other", "ratio", 0),
            Self::Flood { .. } => section("messages/s one way", "sonde", "C loop", "ratio", 0),
        }
    }
}

/// Rows that make a run of their own: what ours are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Plain C loops, and what of ours is counted alone.
    Loops,
    /// netperf.
    Netperf,
    /// sockperf.
    Sockperf,
    /// iperf3.
    Iperf3,
    /// hping3.
    Hping3,
    /// iputils' ping and fping.
    Ping,
    /// The known generators of the protocols of programs at work.
    Generators,
}

impl Family {
    /// All of them, in the order in which they are run.
    pub const ALL: [Self; 7] =
        [Self::Loops, Self::Netperf, Self::Sockperf, Self::Iperf3, Self::Ping, Self::Hping3, Self::Generators];

    /// As it is asked for, and as the files of its results end.
    pub fn word(self) -> &'static str {
        match self {
            Self::Loops => "loops",
            Self::Netperf => "netperf",
            Self::Sockperf => "sockperf",
            Self::Iperf3 => "iperf3",
            Self::Hping3 => "hping3",
            Self::Ping => "ping",
            Self::Generators => "generators",
        }
    }

    /// Its rows, behind the one that says whether the method can be believed.
    pub fn rows(self) -> Vec<Row> {
        let rows = match self {
            Self::Loops => loops(),
            Self::Netperf => netperf(),
            Self::Sockperf => sockperf(),
            Self::Iperf3 => iperf3(),
            Self::Hping3 => hping3(),
            Self::Ping => ping(),
            Self::Generators => generators(),
        };
        std::iter::once(check()).chain(rows).collect()
    }
}

/// All rows, in the order in which they are run and printed.
pub fn all() -> Vec<Row> {
    let others = Family::ALL.into_iter().flat_map(|family| family.rows().into_iter().skip(1));
    std::iter::once(check()).chain(others).collect()
}

fn check() -> Row {
    let subject = Subject::Itself { carrier: Carrier::Tcp, waiting: Waiting::Block };
    Row { name: "check".to_owned(), subject, target: Target::RatioIsOne }
}

/// The rows against plain C loops, and those of ours alone.
fn loops() -> Vec<Row> {
    use Carrier::{Tcp, Udp};
    use Waiting::{Block, Spin};
    let row = |name: String, subject, target| Row { name, subject, target };
    let mut rows = Vec::new();
    for (waiting, least) in [(Block, 0.97), (Spin, 0.95)] {
        for carrier in [Tcp, Udp] {
            let name = format!("{}-{}", carrier.word(), waiting.word());
            rows.push(row(name, Subject::Exchanges { carrier, waiting }, Target::RatioAtLeast(least)));
        }
    }
    for end in [End::Client, End::Reflector] {
        for carrier in [Tcp, Udp] {
            let side = if end == End::Client { "client" } else { "peer" };
            let name = format!("instructions-{}-{side}", carrier.word());
            rows.push(row(name, Subject::Instructions { carrier, end }, Target::CountRatioAtMost(1.5)));
        }
    }
    for carrier in [Tcp, Udp] {
        let name = format!("stamps-{}", carrier.word());
        rows.push(row(name, Subject::StampSampling { carrier }, Target::RatioAtLeast(0.99)));
    }
    for carrier in [Tcp, Udp] {
        rows.push(row(format!("stamp-each-{}", carrier.word()), Subject::StampEach { carrier }, Target::None));
    }
    for (name, every_us) in [("slip-100us", 100), ("slip-1ms", 1_000), ("slip-10ms", 10_000)] {
        rows.push(row(name.to_owned(), Subject::Slip { every_us }, Target::DifferenceAtMost(0.2)));
    }
    for program in Program::LOOPED {
        rows.push(row(format!("asked-{}", program.word()), Subject::Asked { program }, Target::RatioAtLeast(0.95)));
    }
    for carrier in [Tcp, Udp] {
        rows.push(row(format!("idle-{}", carrier.word()), Subject::Idle { carrier }, Target::None));
    }
    for (feed, ceiling) in [(Feed::Closed, CLOSED_CEILING), (Feed::Open, OPEN_CEILING)] {
        let name = format!("record-{}", feed.word());
        rows.push(row(name, Subject::Recording { feed }, Target::FigureAtMost(ceiling)));
    }
    for feed in [Feed::Closed, Feed::Open] {
        let name = format!("record-time-{}", feed.word());
        rows.push(row(name, Subject::RecordingTime { feed }, Target::DifferenceAtMost(RECORD_NS)));
    }
    for feed in [Feed::Closed, Feed::Open] {
        let target = Target::GrowthAtMost { ratio: GROWTH, most: MEMORY_MIB };
        rows.push(row(format!("memory-{}", feed.word()), Subject::Memory { feed }, target));
    }
    rows
}

/// The rows against iputils' ping and fping.
fn ping() -> Vec<Row> {
    let mut rows = Vec::new();
    for pinger in [Pinger::Iputils, Pinger::Fping] {
        let name = format!("{}-flood", pinger.word());
        rows.push(Row { name, subject: Subject::PingFlood { pinger }, target: Target::RatioAtLeast(1.0) });
        for every_ms in [10, 1] {
            let (name, subject) =
                (format!("{}-slip-{every_ms}ms", pinger.word()), Subject::PingSlip { pinger, every_ms });
            rows.push(Row { name, subject, target: Target::RatioAtMost(1.0) });
        }
    }
    rows
}

/// The rows against the known generators of programs at work: one connection, and as many as a small pool has.
fn generators() -> Vec<Row> {
    let row = |(by, connections): (Generator, u32)| {
        let name = if connections == 1 { by.word().to_owned() } else { format!("{}-{connections}", by.word()) };
        Row { name, subject: Subject::Generated { by, connections }, target: Target::RatioAtLeast(1.0) }
    };
    Generator::ALL.into_iter().flat_map(|by| [(by, 1), (by, POOL)]).map(row).collect()
}

/// Connections of the rows that have several.
const POOL: u32 = 8;

/// Factor by which our received rate must exceed iperf3's best where segments leave and come in one call.
pub const STREAM_OFFLOAD: f64 = 10.0;

/// The rows against iperf3, by what is streamed and over what.
fn iperf3() -> Vec<Row> {
    let kinds = [
        ("iperf3-tcp", Streams::Plain, Target::RatioAtLeast(1.0)),
        ("iperf3-tcp-fast", Streams::Fast, Target::RatioAtLeast(1.0)),
        ("iperf3-fast-to-plain", Streams::FastToPlain, Target::RatioAtLeast(1.3)),
        ("iperf3-tcp-8", Streams::Eight, Target::RatioAtLeast(1.0)),
        ("iperf3-tcp-cost", Streams::Cost, Target::RatioAtMost(1.0)),
        ("iperf3-udp-rate", Streams::Datagrams { segments: false }, Target::RatioAtLeast(1.0)),
        ("iperf3-udp-offload", Streams::Datagrams { segments: true }, Target::RatioAtLeast(STREAM_OFFLOAD)),
    ];
    let paths = [(Path::Loopback, ""), (Path::Veth, "-veth")];
    let row = |(name, streams, target), (path, over)| {
        let (name, subject) = (format!("{name}{over}"), Subject::Streams { streams, path });
        Row { name, subject, target }
    };
    kinds.into_iter().flat_map(|kind| paths.map(|path| row(kind, path))).collect()
}

/// The row against hping3.
fn hping3() -> Vec<Row> {
    let target = Target::RatioAtLeast(1.0);
    vec![Row { name: "hping3-syn-rate".to_owned(), subject: Subject::Probes, target }]
}

/// The rows against sockperf, and their ceilings.
fn sockperf() -> Vec<Row> {
    use Carrier::{Tcp, Udp};
    let row = |name: &str, subject, target| Row { name: name.to_owned(), subject, target };
    let flood = |name, ends, least| row(name, Subject::SockperfFlood { ends }, Target::RatioAtLeast(least));
    let mut rows = vec![
        flood("sockperf-udp-rate", Ends::Both, 1.0),
        flood("sockperf-udp-rate-offload", Ends::Segments, OFFLOAD),
        flood("sockperf-server-rate", Ends::Client, 1.0),
    ];
    for carrier in [Udp, Tcp] {
        for (waiting, ending) in [(Waiting::Block, ""), (Waiting::Spin, "-nonblocked")] {
            let name = format!("sockperf-pp-{}{ending}", carrier.word());
            rows.push(row(&name, Subject::SockperfExchanges { carrier, waiting }, Target::RatioAtLeast(1.0)));
        }
    }
    for (share, ending) in [(Share::Half, "p50"), (Share::AllBut1In1000, "p99.9")] {
        for (per_s, word) in [(10_000, "10k"), (100_000, "100k")] {
            let name = format!("sockperf-pace-{word}-{ending}");
            rows.push(row(&name, Subject::SockperfPacing { per_s, share }, Target::RatioAtMost(1.0)));
        }
    }
    for (name, segments) in [("flood", false), ("flood-offload", true)] {
        rows.push(row(name, Subject::Flood { segments }, Target::None));
    }
    rows
}

/// The rows against netperf, by figure, test and path.
fn netperf() -> Vec<Row> {
    use NetperfTest::{TcpRr, TcpStream, UdpRr};
    let groups: [(Figure, &[NetperfTest], Target, &str); 4] = [
        (Figure::Rate, &[TcpRr, UdpRr], Target::RatioAtLeast(1.0), ""),
        (Figure::Rate, &[TcpStream], Target::RatioAtLeast(1.0), ""),
        (Figure::Least, &[TcpRr, UdpRr], Target::RatioAtMost(1.0), "min"),
        (Figure::Mean, &[TcpRr, UdpRr], Target::RatioAtMost(1.0), "mean"),
    ];
    let mut rows = Vec::new();
    for (figure, tests, target, ending) in groups {
        for test in tests.iter().copied() {
            for (path, over) in [(Path::Loopback, ""), (Path::Veth, "-veth")] {
                let mut of = test.word().to_lowercase().replace('_', "-");
                if !ending.is_empty() {
                    of = of.replace("rr", ending);
                }
                let name = format!("netperf-{of}{over}");
                rows.push(Row { name, subject: Subject::Netperf { test, figure, path }, target });
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_row_has_a_name_of_its_own() {
        let rows = all();
        let names: BTreeSet<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names.len(), rows.len());
    }

    #[test]
    fn rows_that_need_it_have_more_pairs() {
        for row in all() {
            let scattered =
                row.name.starts_with("netperf-") && (row.name.contains("stream") || row.name.contains("min"));
            let expected = if row.name.starts_with("stamps-") { 147 } else { 21 + 42 * usize::from(scattered) };
            assert_eq!(row.subject.thoroughness() * crate::trial::PAIRS, expected, "{}", row.name);
        }
    }

    #[test]
    fn the_check_of_the_method_comes_first() {
        let runs = Family::ALL.map(Family::rows).into_iter().chain([all()]);
        assert!(runs.into_iter().all(|rows| matches!(rows[0].subject, Subject::Itself { .. })));
    }
}
