//! Every option of iperf3 3.12 to 3.21, and ours: its names, its value, where it is taken, what the help says.

use crate::persona::getopt::{self, flag, perhaps, valued};

/// An option whatever its spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Port,
    Format,
    Interval,
    Pidfile,
    File,
    Affinity,
    Bind,
    BindDevice,
    Verbose,
    Json,
    JsonStream,
    JsonStreamFull,
    Logfile,
    ForceFlush,
    Timestamps,
    ReceiveTimeout,
    SendTimeout,
    Keepalive,
    Mptcp,
    Debug,
    Version,
    Help,
    OnlyV4,
    OnlyV6,
    Pkcs1,
    Server,
    Daemon,
    OneOff,
    BitrateLimit,
    IdleTimeout,
    MaxDuration,
    ServerPem,
    Users,
    Skew,
    Client,
    Udp,
    Sctp,
    Xbind,
    SctpStreams,
    ConnectTimeout,
    Bitrate,
    PacingTimer,
    FqRate,
    NoFqPacing,
    Time,
    Bytes,
    Blocks,
    Length,
    ClientPort,
    Parallel,
    Reverse,
    Bidirectional,
    Window,
    Congestion,
    SegmentSize,
    NoDelay,
    Tos,
    Dscp,
    FlowLabel,
    ZeroCopy,
    SkipCopy,
    Omit,
    Title,
    ExtraData,
    ServerOutput,
    Counters64,
    Gsro,
    Repeating,
    DontFragment,
    User,
    ClientPem,
    Record,
}

/// End that takes an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Each.
    Either,
    /// The server alone.
    Server,
    /// The client alone.
    Client,
}

/// One option.
pub type Entry = getopt::Entry<Key, End>;
/// Options that were given.
pub type Given = getopt::Given<Key, End>;

use End::{Client, Either, Server};

/// All of them, as the help lists them.
pub const ENTRIES: &[Entry] = &[
    valued(Key::Port, "p", &["port"], Either, "port  where the server listens, TCP and UDP (5201)"),
    valued(Key::Format, "f", &["format"], Either, "letter  unit of rates: k m g t bits, K M G T bytes (by size)"),
    valued(Key::Interval, "i", &["interval"], Either, "seconds  between two reports, 0.1 to 60; 0: none (1)"),
    valued(Key::Pidfile, "I", &["pidfile"], Either, "file  gets the number of the process"),
    valued(Key::File, "F", &["file"], Either, "file  what is sent, or where what comes is written"),
    valued(Key::Affinity, "A", &["affinity"], Either, "n[,m]  CPU to run on, and of a client that of its server"),
    valued(Key::Bind, "B", &["bind"], Either, "host[%device]  local address"),
    valued(Key::BindDevice, "", &["bind-dev"], Either, "device  send and receive through it alone"),
    flag(Key::Verbose, "V", &["verbose"], Either, "tell more"),
    flag(Key::Json, "J", &["json"], Either, "JSON in place of text, at the end"),
    flag(Key::JsonStream, "", &["json-stream"], Either, "JSON, a line for each event"),
    flag(Key::JsonStreamFull, "", &["json-stream-full-output"], Either, "and all of it at the end again"),
    valued(Key::Logfile, "", &["logfile"], Either, "file  where output goes, behind what is there"),
    flag(Key::ForceFlush, "", &["forceflush"], Either, "write each line at once, which is done anyway"),
    perhaps(Key::Timestamps, "", &["timestamps"], Either, "format  the time in front of each line, as strftime has it"),
    valued(Key::ReceiveTimeout, "", &["rcv-timeout"], Either, "ms  give up where nothing comes for so long (120000)"),
    valued(Key::SendTimeout, "", &["snd-timeout"], Either, "ms  give up where TCP is not acknowledged for so long"),
    perhaps(Key::Keepalive, "", &["cntl-ka"], Either, "idle/interval/count  keepalive of the control connection"),
    flag(Key::Mptcp, "m", &["mptcp"], Either, "several paths of TCP"),
    perhaps(Key::Debug, "d", &["debug"], Either, "level  1 to 4; there is no debugging output here"),
    flag(Key::Version, "v", &["version"], Either, "version and what can be asked for"),
    flag(Key::Help, "h", &["help"], Either, "this text"),
    flag(Key::OnlyV4, "4", &["version4"], Either, "IPv4 alone"),
    flag(Key::OnlyV6, "6", &["version6"], Either, "IPv6 alone"),
    flag(Key::Pkcs1, "", &["use-pkcs1-padding"], Either, "logins as before 3.17"),
    flag(Key::Server, "s", &["server"], Server, "be the server"),
    flag(Key::Daemon, "D", &["daemon"], Server, "go into the background"),
    flag(Key::OneOff, "1", &["one-off"], Server, "end after one test"),
    valued(
        Key::BitrateLimit,
        "",
        &["server-bitrate-limit"],
        Server,
        "rate[/seconds]  of all streams together, mean of so long (5)",
    ),
    valued(Key::IdleTimeout, "", &["idle-timeout"], Server, "seconds  listen anew after so long without a client"),
    valued(Key::MaxDuration, "", &["server-max-duration"], Server, "seconds  the longest test allowed"),
    valued(Key::ServerPem, "", &["rsa-private-key-path"], Server, "file  PEM; logins are encrypted for it"),
    valued(Key::Users, "", &["authorized-users-path"], Server, "file  a line `name,hash` for each user"),
    valued(Key::Skew, "", &["time-skew-threshold"], Server, "seconds  how far the clocks may differ (10)"),
    valued(Key::Client, "c", &["client"], Client, "host[%device]  be the client of this server"),
    flag(Key::Udp, "u", &["udp"], Client, "UDP in place of TCP"),
    flag(Key::Sctp, "", &["sctp"], Client, "refused: SCTP is not spoken here"),
    valued(Key::Xbind, "X", &["xbind"], Client, "name  of SCTP"),
    valued(Key::SctpStreams, "", &["nstreams"], Client, "count  of SCTP"),
    valued(Key::ConnectTimeout, "", &["connect-timeout"], Client, "ms  for the control connection to be made"),
    valued(
        Key::Bitrate,
        "b",
        &["bitrate", "bandwidth"],
        Client,
        "rate[/burst]  bits/s of each stream; 0: all it can (UDP 1048576)",
    ),
    valued(
        Key::PacingTimer,
        "",
        &["pacing-timer"],
        Client,
        "us  told to the server; a rate is kept exactly here (1000)",
    ),
    valued(Key::FqRate, "", &["fq-rate"], Client, "rate  bits/s at which the kernel paces each socket"),
    flag(Key::NoFqPacing, "", &["no-fq-socket-pacing"], Client, "no --fq-rate"),
    valued(Key::Time, "t", &["time"], Client, "seconds  how long; 0: until a signal comes (10)"),
    valued(Key::Bytes, "n", &["bytes"], Client, "bytes  how much, of all streams together"),
    valued(Key::Blocks, "k", &["blockcount"], Client, "count  how many blocks or datagrams"),
    valued(Key::Length, "l", &["length"], Client, "bytes  of a block or datagram (128K; UDP: what fits a packet)"),
    valued(Key::ClientPort, "", &["cport"], Client, "port  local port of the first stream, the next ones following"),
    valued(Key::Parallel, "P", &["parallel"], Client, "count  streams side by side, up to 128"),
    flag(Key::Reverse, "R", &["reverse"], Client, "the server sends"),
    flag(Key::Bidirectional, "", &["bidir"], Client, "both send"),
    valued(Key::Window, "w", &["window"], Client, "bytes  of socket buffers"),
    valued(Key::Congestion, "C", &["congestion", "linux-congestion"], Client, "name  congestion control of TCP"),
    valued(Key::SegmentSize, "M", &["set-mss"], Client, "bytes  of a segment of TCP at most"),
    flag(Key::NoDelay, "N", &["no-delay"], Client, "TCP sends at once what it has"),
    valued(Key::Tos, "S", &["tos"], Client, "octet  type of service: 52, 064 or 0x34"),
    valued(Key::Dscp, "", &["dscp"], Client, "code  0 to 63, or a name such as ef"),
    valued(Key::FlowLabel, "L", &["flowlabel"], Client, "number  of IPv6"),
    flag(Key::ZeroCopy, "Z", &["zerocopy"], Client, "send without copies in memory"),
    flag(Key::SkipCopy, "", &["skip-rx-copy"], Client, "leave what comes where it is"),
    valued(Key::Omit, "O", &["omit"], Client, "seconds  at the start that do not count"),
    valued(Key::Title, "T", &["title"], Client, "text  in front of each line"),
    valued(Key::ExtraData, "", &["extra-data"], Client, "text  for the JSON of both ends"),
    flag(Key::ServerOutput, "", &["get-server-output"], Client, "what the server printed, too"),
    flag(Key::Counters64, "", &["udp-counters-64bit"], Client, "datagrams are numbered in 64 bits"),
    flag(Key::Gsro, "", &["gsro"], Client, "the kernel cuts and joins datagrams"),
    flag(Key::Repeating, "", &["repeating-payload"], Client, "digits in place of random octets"),
    flag(Key::DontFragment, "", &["dont-fragment"], Client, "datagrams of IPv4 may not be fragmented"),
    valued(Key::User, "", &["username"], Client, "name  who logs in; the password is asked for, or IPERF3_PASSWORD"),
    valued(Key::ClientPem, "", &["rsa-public-key-path"], Client, "file  PEM; the login is encrypted with it"),
    valued(Key::Record, "", &["record"], Client, "file  ours: the run as a record of sonde, beside the output"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_letter_and_no_name_is_two_options() {
        let mut letters: Vec<char> = ENTRIES.iter().flat_map(|entry| entry.letters.chars()).collect();
        let mut names: Vec<&str> = ENTRIES.iter().flat_map(|entry| entry.names).copied().collect();
        let count = (letters.len(), names.len());
        letters.sort_unstable();
        letters.dedup();
        names.sort_unstable();
        names.dedup();
        assert_eq!((letters.len(), names.len()), count);
    }
}
