//! Every option of sockperf 3.7 and 3.10, and ours: its names, its value, where it is taken, what the help says.

use crate::persona::getopt::{self, Takes, flag, valued};

/// Kind of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subcommand {
    /// `under-load`, `ul`.
    UnderLoad,
    /// `ping-pong`, `pp`.
    PingPong,
    /// `playback`, `pb`.
    Playback,
    /// `throughput`, `tp`.
    Throughput,
    /// `server`, `sr`.
    Server,
}

use Subcommand::{PingPong, Playback, Server, Throughput, UnderLoad};

impl Subcommand {
    /// All of them, as the help lists them.
    pub const ALL: [Self; 5] = [UnderLoad, PingPong, Playback, Throughput, Server];

    /// The subcommand of a word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| [it.name(), it.alias()].contains(&word))
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            UnderLoad => "under-load",
            PingPong => "ping-pong",
            Playback => "playback",
            Throughput => "throughput",
            Server => "server",
        }
    }

    /// Its short name.
    pub fn alias(self) -> &'static str {
        match self {
            UnderLoad => "ul",
            PingPong => "pp",
            Playback => "pb",
            Throughput => "tp",
            Server => "sr",
        }
    }
}

/// An option whatever its spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Help,
    Tcp,
    Address,
    Port,
    File,
    Multiplex,
    Timeout,
    Dots,
    Activity,
    AvoidNodelay,
    SkipBlockingSend,
    Tos,
    McReceive,
    McSend,
    McLoopback,
    McTtl,
    McSource,
    ReuseAddress,
    BusyPoll,
    BufferSize,
    Nonblocked,
    ReceiveLoops,
    SkipWarmUp,
    PreWarmUpWait,
    ZeroCopy,
    Daemonize,
    NoRdtsc,
    LoadVma,
    LoadXlio,
    RateLimit,
    SocketAcceleration,
    Tls,
    Debug,
    Servers,
    SenderAffinity,
    ReceiverAffinity,
    FullLog,
    FullRtt,
    GigaSize,
    Precision,
    ConnectTimeout,
    DummySend,
    Time,
    Number,
    ClientPort,
    ClientAddress,
    Burst,
    ReplyEvery,
    Mps,
    Size,
    Range,
    DataIntegrity,
    CiLevel,
    Histogram,
    DataFile,
    Threads,
    CpuAffinity,
    ReceiveFilter,
    ForceUnicastReply,
    DontReply,
    LargestMessage,
    GapDetection,
    Json,
    Record,
    Samples,
    Pacing,
}

/// One option, and the subcommands that take it.
pub type Entry = getopt::Entry<Key, &'static [Subcommand]>;
/// Options that were given.
pub type Given = getopt::Given<Key, &'static [Subcommand]>;

/// The options of a subcommand, as the help lists them.
pub fn entries(subcommand: Subcommand) -> Vec<&'static Entry> {
    ENTRIES.iter().filter(|entry| entry.place.contains(&subcommand)).collect()
}

const ALL: &[Subcommand] = &Subcommand::ALL;
const CLIENTS: &[Subcommand] = &[UnderLoad, PingPong, Playback, Throughput];
const LOADS: &[Subcommand] = &[UnderLoad, PingPong, Throughput];
const LATENCY: &[Subcommand] = &[UnderLoad, PingPong, Playback];

const fn optional(key: Key, names: &'static [&'static str], place: &'static [Subcommand], help: &'static str) -> Entry {
    Entry { key, letters: "", names, takes: Takes::NextWord, place, help }
}

/// All of them.
const ENTRIES: &[Entry] = &[
    flag(Key::Help, "h?", &["help", "usage"], ALL, "this text"),
    valued(Key::Address, "i", &["ip", "addr"], ALL, "address  listen there, or ask whoever is there"),
    valued(Key::Port, "p", &["port"], ALL, "port  the port (11111)"),
    flag(Key::Tcp, "", &["tcp", "stream"], ALL, "over TCP in place of UDP"),
    valued(Key::File, "f", &["file"], ALL, "file  several sockets, a line each: [T:|U:]address:port"),
    valued(
        Key::Multiplex,
        "F",
        &["iomux-type"],
        ALL,
        "how  select, poll, epoll or recvfrom: only a word of the output",
    ),
    valued(Key::Timeout, "", &["timeout"], ALL, "ms  no effect: nobody waits by ticks here"),
    valued(Key::Time, "t", &["time"], LOADS, "seconds  how long valid data is measured (1)"),
    valued(Key::Number, "n", &["number-of-packets"], &[PingPong], "count  so many messages in place of a time"),
    valued(Key::Mps, "", &["mps", "pps"], LOADS, "rate  messages a second over all sockets, or max"),
    valued(Key::Burst, "b", &["burst"], LOADS, "count  messages that leave together (1)"),
    valued(
        Key::ReplyEvery,
        "",
        &["reply-every"],
        &[UnderLoad, Playback],
        "n  every n-th message asks for an answer (100)",
    ),
    valued(Key::Size, "m", &["msg-size"], LOADS, "bytes  length of a message, 14 or more (14)"),
    valued(Key::Range, "r", &["range"], LOADS, "bytes  lengths vary: down to so many bytes less"),
    valued(Key::DataFile, "", &["data-file"], &[Playback], "file  what to send when: lines of seconds, bytes"),
    flag(Key::DataIntegrity, "", &["data-integrity"], &[PingPong], "an answer that is not its request is a failure"),
    valued(Key::ClientAddress, "", &["client_ip", "client_addr"], LOADS, "address  send from there"),
    valued(Key::ClientPort, "", &["client_port"], LOADS, "port  send from there"),
    valued(Key::SenderAffinity, "", &["sender-affinity"], CLIENTS, "cpus  CPUs of the sending thread, as in 0,2-3"),
    valued(Key::ReceiverAffinity, "", &["receiver-affinity"], CLIENTS, "cpus  CPUs of the receiving thread"),
    valued(
        Key::ConnectTimeout,
        "",
        &["tcp_nb_connect_timeout_ms"],
        CLIENTS,
        "ms  a connection not made by then is given up (5000)",
    ),
    flag(Key::FullRtt, "", &["full-rtt"], CLIENTS, "whole round trips in place of half of them"),
    optional(Key::CiLevel, &["ci_sig_level"], LATENCY, "percent  level of the confidence interval, 1 to 99 (99)"),
    valued(Key::Histogram, "", &["histogram"], LATENCY, "bin:low:high  a histogram, in microseconds"),
    valued(Key::FullLog, "", &["full-log"], CLIENTS, "file  the figures and every observation"),
    flag(Key::GigaSize, "", &["giga-size"], CLIENTS, "bandwidth in thousands of MiB"),
    flag(Key::Precision, "", &["increase_output_precision"], CLIENTS, "bandwidth with nine decimals"),
    valued(Key::Threads, "", &["threads-num"], &[Server], "count  threads over which the sockets of -f are spread"),
    valued(Key::CpuAffinity, "", &["cpu-affinity"], &[Server], "cpus  CPUs of these threads, in turn"),
    flag(Key::DontReply, "", &["dont-reply"], &[Server], "count, and answer nothing (UDP)"),
    valued(Key::LargestMessage, "m", &["msg-size"], &[Server], "bytes  longest message taken (65507)"),
    flag(Key::GapDetection, "g", &["gap-detection"], &[Server], "tell of gaps in the numbers of each sender"),
    flag(
        Key::ForceUnicastReply,
        "",
        &["force-unicast-reply"],
        &[Server],
        "what came by a group is answered to its sender alone",
    ),
    valued(Key::Dots, "a", &["activity"], ALL, "n  a dot after each n messages"),
    valued(Key::Activity, "A", &["Activity"], ALL, "n  a line of figures after each n messages"),
    flag(Key::AvoidNodelay, "", &["tcp-avoid-nodelay"], ALL, "TCP_NODELAY off; in throughput on"),
    flag(Key::SkipBlockingSend, "", &["tcp-skip-blocking-send"], ALL, "leave out, and count, sends that would wait"),
    flag(Key::Nonblocked, "", &["nonblocked"], ALL, "spin for what comes in place of waiting"),
    valued(Key::ReceiveLoops, "", &["recv_looping_num"], ALL, "n  no effect"),
    valued(Key::BufferSize, "", &["buffer-size"], ALL, "bytes  socket buffers of either direction"),
    valued(Key::Tos, "", &["tos"], ALL, "value  type of service or traffic class, 0 to 255"),
    valued(Key::BusyPoll, "", &["lls"], ALL, "us  the kernel polls the device so long (SO_BUSY_POLL)"),
    valued(
        Key::RateLimit,
        "",
        &["rate-limit"],
        ALL,
        "rate  the kernel paces at so many bytes a second (SO_MAX_PACING_RATE)",
    ),
    flag(Key::ReuseAddress, "", &["uc-reuseaddr"], ALL, "SO_REUSEADDR"),
    flag(Key::SkipWarmUp, "", &["dontwarmup"], ALL, "without the line about a warm-up"),
    valued(Key::PreWarmUpWait, "", &["pre-warmup-wait"], ALL, "seconds  wait before it"),
    flag(Key::Daemonize, "", &["daemonize"], ALL, "in the background"),
    flag(Key::NoRdtsc, "", &["no-rdtsc"], ALL, "the system's monotonic clock: there is no other here"),
    flag(Key::Debug, "d", &["debug"], ALL, "no effect"),
    valued(Key::McReceive, "", &["mc-rx-if", "mc-rx-ip"], ALL, "interface  where groups are joined"),
    valued(Key::McSend, "", &["mc-tx-if", "mc-tx-ip"], ALL, "interface  where messages to groups leave"),
    flag(Key::McLoopback, "", &["mc-loopback-enable"], ALL, "members on this host hear them too"),
    valued(Key::McTtl, "", &["mc-ttl"], ALL, "hops  how far they go (2)"),
    valued(Key::McSource, "", &["mc-source-filter"], ALL, "address  the only sender to hear"),
    flag(Key::Json, "", &["json"], CLIENTS, "the record as JSON in place of the text"),
    valued(Key::Record, "", &["record"], CLIENTS, "file  the record as JSON beside the text"),
    valued(Key::Samples, "", &["samples"], CLIENTS, "file  every exchange: .csv or .parquet"),
    valued(Key::Pacing, "", &["pacing"], CLIENTS, "how  sleep, spin or hybrid: how a message's time is waited for"),
    flag(Key::ZeroCopy, "", &["zcopyread", "vmazcopyread"], ALL, "refused, as all that follow"),
    optional(Key::LoadVma, &["load-vma"], ALL, "path"),
    optional(Key::LoadXlio, &["load-xlio"], ALL, "path"),
    flag(Key::SocketAcceleration, "", &["set-sock-accl"], ALL, ""),
    flag(Key::ReceiveFilter, "", &["rxfiltercb", "vmarxfiltercb"], &[Server], ""),
    optional(Key::Tls, &["tls"], ALL, "cipher"),
    optional(Key::DummySend, &["dummy-send"], CLIENTS, "rate"),
    valued(Key::Servers, "", &["srv-num"], CLIENTS, "count  other than 1"),
];
