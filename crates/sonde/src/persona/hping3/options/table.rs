//! The options of hping3, one line each: what is taken, what is refused and why, what has no effect.

/// An option that is acted upon, or told apart by its refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// Help.
    Help,
    /// Version.
    Version,
    /// ICMP echo requests.
    Icmp,
    /// Datagrams of UDP.
    Udp,
    /// Packets.
    Count,
    /// Interval.
    Interval,
    /// Ten a second.
    Fast,
    /// As `-i u1`.
    Faster,
    /// As many as go.
    Flood,
    /// Let a flood go; ours.
    Force,
    /// Numbers only.
    Numeric,
    /// Summary only.
    Quiet,
    /// Interface.
    Interface,
    /// More of each reply.
    Verbose,
    /// A bell.
    Beep,
    /// Hops.
    Ttl,
    /// One hop more each time.
    Traceroute,
    /// Relative identification.
    Relative,
    /// Type of service.
    Tos,
    /// DF.
    DontFragment,
    /// Source port.
    SourcePort,
    /// The same for all.
    Keep,
    /// Destination port.
    Port,
    /// Window.
    Window,
    /// Sequence number.
    SetSeq,
    /// Acknowledgement.
    SetAck,
    /// Wrong checksum.
    BadChecksum,
    /// FIN.
    Fin,
    /// SYN.
    Syn,
    /// RST.
    Rst,
    /// PSH.
    Push,
    /// ACK.
    Ack,
    /// URG.
    Urg,
    /// ECE.
    Xmas,
    /// CWR.
    Ymas,
    /// Largest segment.
    Mss,
    /// Timestamps.
    Timestamps,
    /// Payload.
    Data,
    /// Exit status by flags.
    ExitCode,
    /// Record; ours.
    Record,
    /// Read, and without effect.
    Idle,
    /// Not started with.
    Refused,
}

/// One option.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Which.
    pub key: Key,
    /// Its letter.
    pub letter: Option<char>,
    /// Its long name, with its dashes.
    pub name: &'static str,
    /// Whether a value follows.
    pub value: bool,
    /// What the help says, or why it is refused or has no effect.
    pub says: &'static str,
}

impl Entry {
    /// How it is named to a person.
    pub fn written(&self) -> &'static str {
        self.name
    }

    /// Why it is refused.
    pub fn why(&self) -> Option<&'static str> {
        (self.key == Key::Refused).then_some(self.says)
    }
}

const SPOOF: &str = "answers would go to somebody who asked for nothing: probes leave with an address of this host";
const WHOLE: &str = "packets leave whole here";
const MODE: &str = "TCP segments, datagrams (-2) and echo requests (-1) are sent here: leave it away";
const HEADER: &str = "the kernel writes the IP header here";
const CONTENT: &str = "the payload is zeros here: give its size with -d";

const fn taken(key: Key, letter: Option<char>, name: &'static str, value: bool, says: &'static str) -> Entry {
    Entry { key, letter, name, value, says }
}

const fn refused(letter: Option<char>, name: &'static str, value: bool, says: &'static str) -> Entry {
    Entry { key: Key::Refused, letter, name, value, says }
}

const fn idle(letter: Option<char>, name: &'static str, value: bool, says: &'static str) -> Entry {
    Entry { key: Key::Idle, letter, name, value, says }
}

/// The entry of a key.
pub fn entry(key: Key) -> &'static Entry {
    ENTRIES.iter().find(|entry| entry.key == key).unwrap_or(&ENTRIES[0])
}

/// All of them.
pub const ENTRIES: &[Entry] = &[
    taken(Key::Help, Some('h'), "--help", false, "this text"),
    taken(Key::Version, Some('v'), "--version", false, "the version"),
    taken(Key::Icmp, Some('1'), "--icmp", false, "ICMP echo requests, in place of TCP segments"),
    taken(Key::Udp, Some('2'), "--udp", false, "datagrams of UDP, in place of TCP segments"),
    taken(Key::Count, Some('c'), "--count", true, "packets to send"),
    taken(Key::Interval, Some('i'), "--interval", true, "seconds from one to the next, or uN: microseconds"),
    taken(Key::Fast, None, "--fast", false, "ten a second, as the original does it"),
    taken(Key::Faster, None, "--faster", false, "as -i u1"),
    taken(Key::Flood, None, "--flood", false, "with --force and -c: 100,000 a second, replies not shown"),
    taken(Key::Numeric, Some('n'), "--numeric", false, "addresses as numbers (names are not looked up here)"),
    taken(Key::Quiet, Some('q'), "--quiet", false, "the summary alone"),
    taken(Key::Interface, Some('I'), "--interface", true, "the interface to leave by"),
    taken(Key::Verbose, Some('V'), "--verbose", false, "more of each reply"),
    taken(Key::Beep, None, "--beep", false, "a bell for each reply"),
    taken(Key::Ttl, Some('t'), "--ttl", true, "hops a packet may go"),
    taken(Key::Traceroute, Some('T'), "--traceroute", false, "a hop farther with each packet"),
    taken(Key::Relative, Some('r'), "--rel", false, "IP ids as steps"),
    taken(Key::Tos, Some('o'), "--tos", true, "type of service, hexadecimal"),
    taken(Key::DontFragment, Some('y'), "--dontfrag", false, "no hop may cut it"),
    taken(Key::SourcePort, Some('s'), "--baseport", true, "first source port"),
    taken(Key::Keep, Some('k'), "--keep", false, "the same source port for all"),
    taken(Key::Port, Some('p'), "--destport", true, "destination port; +PORT and ++PORT count up with each packet"),
    taken(Key::Window, Some('w'), "--win", true, "window"),
    taken(Key::SetSeq, Some('M'), "--setseq", true, "sequence number of all"),
    taken(Key::SetAck, Some('L'), "--setack", true, "acknowledgement of all"),
    taken(Key::BadChecksum, Some('b'), "--badcksum", false, "a wrong checksum: what answers is no host"),
    taken(Key::Fin, Some('F'), "--fin", false, "flag FIN"),
    taken(Key::Syn, Some('S'), "--syn", false, "flag SYN"),
    taken(Key::Rst, Some('R'), "--rst", false, "flag RST"),
    taken(Key::Push, Some('P'), "--push", false, "flag PSH"),
    taken(Key::Ack, Some('A'), "--ack", false, "flag ACK"),
    taken(Key::Urg, Some('U'), "--urg", false, "flag URG"),
    taken(Key::Xmas, Some('X'), "--xmas", false, "flag ECE (0x40)"),
    taken(Key::Ymas, Some('Y'), "--ymas", false, "flag CWR (0x80)"),
    taken(Key::Mss, None, "--tcp-mss", true, "largest segment, as an option"),
    taken(Key::Timestamps, None, "--tcp-timestamp", false, "timestamps, as an option"),
    taken(Key::Data, Some('d'), "--data", true, "octets of payload"),
    taken(Key::ExitCode, None, "--tcpexitcode", false, "exit status: the flags of the last reply"),
    taken(Key::Force, None, "--force", false, "let --flood go (ours)"),
    taken(Key::Record, None, "--record", true, "write the record of the measurement into this file (ours)"),
    idle(Some('z'), "--bind", false, "has no effect: no key is bound to anything"),
    idle(Some('Z'), "--unbind", false, "has no effect: no key is bound to anything"),
    idle(Some('D'), "--debug", false, "has no effect: there is no debugging output"),
    idle(None, "--tr-keep-ttl", false, "has no effect: give one -t without -T"),
    idle(None, "--tr-no-rtt", false, "has no effect: the round trip is shown"),
    refused(Some('0'), "--rawip", false, MODE),
    refused(Some('8'), "--scan", true, "ports are not scanned here: name one with -p"),
    refused(Some('9'), "--listen", true, MODE),
    refused(Some('a'), "--spoof", true, SPOOF),
    refused(None, "--rand-dest", false, "hosts that nobody named are not probed here"),
    refused(None, "--rand-source", false, SPOOF),
    refused(Some('N'), "--id", true, HEADER),
    refused(Some('W'), "--winid", false, HEADER),
    refused(Some('f'), "--frag", false, WHOLE),
    refused(Some('x'), "--morefrag", false, WHOLE),
    refused(Some('g'), "--fragoff", true, WHOLE),
    refused(Some('m'), "--mtu", true, WHOLE),
    refused(Some('G'), "--rroute", false, HEADER),
    refused(None, "--lsrr", true, HEADER),
    refused(None, "--ssrr", true, HEADER),
    refused(Some('H'), "--ipproto", true, MODE),
    refused(Some('C'), "--icmptype", true, MODE),
    refused(Some('K'), "--icmpcode", true, MODE),
    refused(Some('O'), "--tcpoff", true, "headers that lie about their length are not sent here"),
    refused(Some('Q'), "--seqnum", false, "numbers are told with -V, and in the record"),
    refused(Some('E'), "--file", true, CONTENT),
    refused(Some('e'), "--sign", true, CONTENT),
    refused(Some('B'), "--safe", false, CONTENT),
    refused(Some('u'), "--end", false, CONTENT),
    refused(Some('j'), "--dump", false, "packets are not dumped here: capture them with tcpdump"),
    refused(Some('J'), "--print", false, "packets are not dumped here: capture them with tcpdump"),
    refused(None, "--tr-stop", false, "a trace ends with its count here: give -c"),
];
