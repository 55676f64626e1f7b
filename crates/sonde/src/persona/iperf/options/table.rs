//! Every option of iperf 2.1.8 and 2.2.1, and ours: its letter, its names, its value, where it is taken, what the help says.

/// An option whatever its spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Help,
    Version,
    Server,
    Client,
    Udp,
    Port,
    Time,
    Number,
    Interval,
    Bandwidth,
    Length,
    Parallel,
    Window,
    Enhanced,
    Format,
    HideIps,
    SumOnly,
    PrintMss,
    OutputFile,
    ReportStyle,
    ReportExclude,
    Bind,
    Compatibility,
    Mss,
    Nodelay,
    Tos,
    Congestion,
    Ipv6,
    Realtime,
    SingleClient,
    SingleUdp,
    Daemon,
    Histograms,
    Reverse,
    FullDuplex,
    Dual,
    Tradeoff,
    ListenPort,
    Bounceback,
    BouncebackPeriod,
    BouncebackHold,
    BouncebackNoQuickack,
    BouncebackRequest,
    BouncebackReply,
    ConnectOnly,
    ConnectRetries,
    TripTimes,
    StartTime,
    DelayTime,
    FqRate,
    NoConnectSync,
    NoUdpFin,
    PeerDetect,
    Permit,
    PermitTimeout,
    RxWindowClamp,
    TapDevice,
    SumDestination,
    SsmHost,
    Congest,
    WorkingLoad,
    Isochronous,
    Ipg,
    BurstPeriod,
    BurstSize,
    WritePrefetch,
    WriteTimes,
    Quickack,
    NearCongestion,
    IncrDestination,
    IncrDestinationPort,
    IncrSource,
    IncrSourcePort,
    LocalOnly,
    FileInput,
    Stdin,
    Ttl,
    SuggestWindow,
    SyncTransferId,
    UdpL4s,
    Json,
    Record,
    Decimals,
}

/// Whether an option takes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// None.
    Nothing,
    /// One.
    Value,
    /// One if it stands behind a `=` in the same word.
    Perhaps,
}

/// Where an option has an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// At either end.
    Both,
    /// At the server.
    Server,
    /// At the client.
    Client,
}

/// One option.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Which it is.
    pub key: Key,
    /// Its letter.
    pub letter: Option<char>,
    /// Its long names; the first is the help's.
    pub names: &'static [&'static str],
    /// Whether it takes a value.
    pub takes: Takes,
    /// Where it has an effect.
    pub side: Side,
    /// What the help says; begins with the value where it takes one.
    pub help: &'static str,
}

impl Entry {
    /// As the help and complaints call it: its long name, or its letter where it has none.
    pub fn name(&self) -> String {
        match (self.names.first(), self.letter) {
            (Some(name), _) => format!("--{name}"),
            (None, Some(letter)) => format!("-{letter}"),
            (None, None) => String::new(),
        }
    }
}

/// The entry of a key.
pub fn entry(key: Key) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.key == key)
}

use Side::{Both, Client, Server};
use Takes::{Nothing, Perhaps, Value};

const fn short(
    key: Key,
    letter: char,
    names: &'static [&'static str],
    takes: Takes,
    side: Side,
    help: &'static str,
) -> Entry {
    Entry { key, letter: Some(letter), names, takes, side, help }
}

const fn long(key: Key, names: &'static [&'static str], takes: Takes, side: Side, help: &'static str) -> Entry {
    Entry { key, letter: None, names, takes, side, help }
}

/// All of them, as the help lists them.
pub const ENTRIES: &[Entry] = &[
    short(Key::Help, 'h', &["help"], Nothing, Both, "this text"),
    short(Key::Version, 'v', &["version"], Nothing, Both, "whose behaviour this is"),
    short(Key::Udp, 'u', &["udp"], Nothing, Both, "over UDP in place of TCP"),
    short(
        Key::Port,
        'p',
        &["port"],
        Value,
        Both,
        "port  the server's port; a server takes several, as 5001-5004 (5001)",
    ),
    short(
        Key::Bandwidth,
        'b',
        &["bandwidth"],
        Value,
        Both,
        "rate  bits a second, or datagrams as 1000pps (UDP: 1M; TCP: any; client)",
    ),
    short(
        Key::Length,
        'l',
        &["len", "length"],
        Value,
        Both,
        "bytes  of a write, read or datagram (TCP 128K, UDP 1470, over IPv6 1450)",
    ),
    short(Key::Interval, 'i', &["interval"], Value, Both, "seconds  a line for each such time"),
    short(Key::Enhanced, 'e', &["enhanced", "enhancedreports"], Nothing, Both, "lines that say more"),
    short(
        Key::Format,
        'f',
        &["format"],
        Value,
        Both,
        "unit  of bytes and rates: a, b, k, m, g (bits), B, K, M, G (bytes)",
    ),
    short(Key::PrintMss, 'm', &["print_mss"], Nothing, Both, "say TCP's largest segment"),
    long(Key::SumOnly, &["sum-only"], Nothing, Both, "of several streams only the sum"),
    long(Key::HideIps, &["hide-ips"], Nothing, Both, "no addresses in the output"),
    short(Key::OutputFile, 'o', &["output"], Value, Both, "file  where everything is said"),
    short(Key::ReportStyle, 'y', &["reportstyle"], Value, Both, "C  lines of comma-separated values"),
    short(
        Key::ReportExclude,
        'x',
        &["reportexclude"],
        Value,
        Both,
        "CDMSV  leave out: connections, data, multicast, settings, server reports",
    ),
    short(Key::Window, 'w', &["window"], Value, Both, "bytes  of the socket's buffer"),
    short(Key::Bind, 'B', &["bind"], Value, Both, "host[:port][%device]  our own address"),
    short(Key::Mss, 'M', &["mss"], Value, Both, "bytes  largest segment of TCP (client)"),
    short(Key::Nodelay, 'N', &["nodelay"], Nothing, Both, "TCP does not wait to fill a segment (client)"),
    short(Key::Tos, 'S', &["tos"], Value, Both, "value  type of service: a number or a name, as ef or cs1 (client)"),
    short(
        Key::Congestion,
        'Z',
        &["tcp-congestion", "linux-congestion"],
        Value,
        Both,
        "name  TCP's congestion control (client)",
    ),
    short(Key::Ipv6, 'V', &["ipv6_domain", "ipv6"], Nothing, Both, "over IPv6"),
    short(Key::Compatibility, 'C', &["compatibility"], Nothing, Both, "no header in front, for very old servers"),
    short(Key::Realtime, 'z', &["realtime"], Nothing, Both, "refused: see docs"),
    long(Key::Permit, &["permit-key"], Perhaps, Both, "key  refused: it travels in the clear"),
    short(Key::Server, 's', &["server"], Nothing, Server, "be the server"),
    short(Key::SingleClient, '1', &["singleclient"], Nothing, Server, "refused: see docs"),
    short(Key::SingleUdp, 'U', &["single_udp"], Nothing, Server, "no effect: flows do not hold each other up"),
    short(Key::Daemon, 'D', &["daemon"], Nothing, Server, "in the background"),
    long(
        Key::Histograms,
        &["histograms", "udp-histogram", "udp-histograms"],
        Perhaps,
        Server,
        "bin,bins  refused: see docs",
    ),
    long(Key::PermitTimeout, &["permit-key-timeout"], Value, Server, "seconds  refused, as --permit-key"),
    long(Key::RxWindowClamp, &["tcp-rx-window-clamp"], Value, Server, "bytes  refused: see docs"),
    long(Key::TapDevice, &["tap-dev"], Perhaps, Server, "device  refused: sockets are measured here"),
    long(Key::SumDestination, &["sum-dstip"], Nothing, Server, "refused: see docs"),
    short(Key::Client, 'c', &["client"], Value, Client, "host  be a client of that server"),
    short(Key::Time, 't', &["time"], Value, Both, "seconds  how long (10); of a server: how long it listens"),
    short(Key::Number, 'n', &["num"], Value, Client, "bytes  how much, in place of how long"),
    short(Key::Parallel, 'P', &["parallel"], Value, Both, "n  streams side by side; a server ends after so many"),
    short(Key::Reverse, 'R', &["reverse"], Nothing, Client, "the server sends"),
    long(Key::FullDuplex, &["full-duplex"], Nothing, Client, "both send over one socket"),
    short(Key::Dual, 'd', &["dualtest"], Nothing, Client, "both send, the server over a connection of its own"),
    short(Key::Tradeoff, 'r', &["tradeoff"], Nothing, Client, "the same, one after the other"),
    short(Key::ListenPort, 'L', &["listenport"], Value, Client, "port  where the server connects back to"),
    long(
        Key::Bounceback,
        &["bounceback"],
        Perhaps,
        Client,
        "n  requests and replies, n at the start of each period (10)",
    ),
    long(Key::BouncebackPeriod, &["bounceback-period"], Value, Client, "seconds  of a period (1); 0: without pause"),
    long(Key::BouncebackHold, &["bounceback-hold"], Value, Client, "ms  the server waits before it replies"),
    long(
        Key::BouncebackNoQuickack,
        &["bounceback-no-quickack"],
        Nothing,
        Client,
        "the server's TCP may delay acknowledgements",
    ),
    long(Key::BouncebackRequest, &["bounceback-request"], Value, Client, "bytes  of a request (100)"),
    long(Key::BouncebackReply, &["bounceback-reply"], Value, Client, "bytes  refused where it is not the request's"),
    long(Key::ConnectOnly, &["connect-only"], Perhaps, Client, "n  connect, and no more"),
    long(Key::ConnectRetries, &["connect-retries"], Value, Client, "n  try again so often"),
    long(Key::TripTimes, &["trip-times"], Nothing, Client, "latency one way: both ends' clocks must agree"),
    long(Key::StartTime, &["txstart-time"], Value, Client, "epoch  start then"),
    long(Key::DelayTime, &["txdelay-time"], Value, Client, "seconds  start so much later"),
    long(Key::FqRate, &["fq-rate"], Value, Client, "rate  the kernel paces: bits a second"),
    long(Key::NoConnectSync, &["no-connect-sync"], Nothing, Client, "no effect: streams begin together here"),
    long(Key::NoUdpFin, &["no-udp-fin"], Nothing, Client, "no report of the server at the end of UDP"),
    short(Key::PeerDetect, 'X', &["peer-detect"], Nothing, Client, "wait for what the server says of itself"),
    long(Key::Congest, &["bounceback-congest"], Perhaps, Client, "load  refused: see docs"),
    long(Key::WorkingLoad, &["working-load"], Perhaps, Client, "load  refused: see docs"),
    long(Key::Isochronous, &["isochronous"], Perhaps, Client, "frames  refused: see docs"),
    long(Key::Ipg, &["ipg"], Value, Client, "ms  refused, as --isochronous"),
    long(Key::BurstPeriod, &["burst-period"], Value, Client, "seconds  refused, as --isochronous"),
    long(Key::BurstSize, &["burst-size"], Value, Client, "bytes  refused, as --isochronous"),
    long(Key::WritePrefetch, &["tcp-write-prefetch"], Value, Client, "bytes  refused: see docs"),
    long(Key::WriteTimes, &["tcp-write-times"], Nothing, Client, "refused: see docs"),
    long(Key::Quickack, &["tcp-quickack"], Nothing, Client, "refused: see docs"),
    long(Key::NearCongestion, &["near-congestion"], Perhaps, Client, "weight  refused: see docs"),
    long(Key::IncrDestination, &["incr-dstip"], Nothing, Client, "refused: see docs"),
    long(Key::IncrDestinationPort, &["incr-dstport"], Nothing, Client, "refused: see docs"),
    long(Key::IncrSource, &["incr-srcip"], Nothing, Client, "refused: see docs"),
    long(Key::IncrSourcePort, &["incr-srcport"], Nothing, Client, "refused: see docs"),
    long(Key::LocalOnly, &["local-only"], Perhaps, Client, "refused: see docs"),
    short(Key::FileInput, 'F', &["fileinput"], Value, Client, "file  refused: see docs"),
    short(Key::Stdin, 'I', &["stdin"], Nothing, Client, "refused: see docs"),
    short(Key::Ttl, 'T', &["ttl"], Value, Client, "hops  refused: of groups, which are not spoken to"),
    short(Key::SsmHost, 'H', &["ssm-host"], Value, Both, "host  refused: of groups, which are not spoken to"),
    short(Key::SuggestWindow, 'W', &["suggest_win_size"], Nothing, Client, "refused: it does nothing in the original"),
    long(Key::SyncTransferId, &["sync-transfer-id"], Nothing, Client, "no effect: ids are each end's own"),
    long(Key::UdpL4s, &["udp-l4s"], Nothing, Client, "refused: see docs"),
    long(Key::Json, &["json"], Nothing, Client, "ours: the record on standard output in place of the text"),
    long(Key::Record, &["record"], Value, Client, "file  ours: the record in a file, beside the text"),
    long(
        Key::Decimals,
        &["decimals"],
        Value,
        Both,
        "2|4  ours: decimals of times, as builds of the original differ (4)",
    ),
];
