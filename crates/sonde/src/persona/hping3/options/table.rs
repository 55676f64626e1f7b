//! The options of hping3, one line each: what is taken, what is refused and why, what has no effect.

use crate::persona::getopt::{self, flag, valued};

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
    /// TCP's sequence numbers alone.
    SequenceNumbers,
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
    /// Ports that are each probed.
    Scan,
    /// Exit status by flags.
    ExitCode,
    /// Record; ours.
    Record,
    /// None that is acted upon.
    Unheeded,
}

/// Effect of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is acted upon.
    Taken,
    /// It is read, and has no effect.
    Idle,
    /// No run is started with it.
    Refused,
}

/// One option; the help is the reason where it is not acted upon.
pub type Entry = getopt::Entry<Key, Fate>;
/// Options that were given.
pub type Given = getopt::Given<Key, Fate>;

const SPOOF: &str = "answers would go to somebody who asked for nothing: probes leave with an address of this host";
const WHOLE: &str = "packets leave whole here";
const MODE: &str = "TCP segments, datagrams (-2) and echo requests (-1) are sent here: leave it away";
const HEADER: &str = "the kernel writes the IP header here";
const CONTENT: &str = "the payload is zeros here: give its size with -d";

use Fate::{Idle, Refused, Taken};

/// All of them.
pub const ENTRIES: &[Entry] = &[
    flag(Key::Help, "h", &["help"], Taken, "this text"),
    flag(Key::Version, "v", &["version"], Taken, "the version"),
    flag(Key::Icmp, "1", &["icmp"], Taken, "ICMP echo requests, in place of TCP segments"),
    flag(Key::Udp, "2", &["udp"], Taken, "datagrams of UDP, in place of TCP segments"),
    valued(Key::Count, "c", &["count"], Taken, "packets to send"),
    valued(Key::Interval, "i", &["interval"], Taken, "seconds from one to the next, or uN: microseconds"),
    flag(Key::Fast, "", &["fast"], Taken, "ten a second, as the original does it"),
    flag(Key::Faster, "", &["faster"], Taken, "as -i u1"),
    flag(Key::Flood, "", &["flood"], Taken, "with --force and -c: 100,000 a second, replies not shown"),
    flag(Key::Numeric, "n", &["numeric"], Taken, "addresses as numbers (names are not looked up here)"),
    flag(Key::Quiet, "q", &["quiet"], Taken, "the summary alone"),
    valued(Key::Interface, "I", &["interface"], Taken, "the interface to leave by"),
    flag(Key::Verbose, "V", &["verbose"], Taken, "more of each reply"),
    flag(Key::Beep, "", &["beep"], Taken, "a bell for each reply"),
    valued(Key::Ttl, "t", &["ttl"], Taken, "hops a packet may go"),
    flag(Key::Traceroute, "T", &["traceroute"], Taken, "a hop farther with each packet"),
    flag(Key::Relative, "r", &["rel"], Taken, "IP ids as steps"),
    flag(
        Key::SequenceNumbers,
        "Q",
        &["seqnum"],
        Taken,
        "of each TCP reply its sequence number and the step from the one before, alone",
    ),
    valued(Key::Tos, "o", &["tos"], Taken, "type of service, hexadecimal"),
    flag(Key::DontFragment, "y", &["dontfrag"], Taken, "no hop may cut it"),
    valued(Key::SourcePort, "s", &["baseport"], Taken, "first source port"),
    flag(Key::Keep, "k", &["keep"], Taken, "the same source port for all"),
    valued(Key::Port, "p", &["destport"], Taken, "destination port; +PORT and ++PORT count up with each packet"),
    valued(Key::Window, "w", &["win"], Taken, "window"),
    valued(Key::SetSeq, "M", &["setseq"], Taken, "sequence number of all"),
    valued(Key::SetAck, "L", &["setack"], Taken, "acknowledgement of all"),
    flag(Key::BadChecksum, "b", &["badcksum"], Taken, "a wrong checksum: what answers is no host"),
    flag(Key::Fin, "F", &["fin"], Taken, "flag FIN"),
    flag(Key::Syn, "S", &["syn"], Taken, "flag SYN"),
    flag(Key::Rst, "R", &["rst"], Taken, "flag RST"),
    flag(Key::Push, "P", &["push"], Taken, "flag PSH"),
    flag(Key::Ack, "A", &["ack"], Taken, "flag ACK"),
    flag(Key::Urg, "U", &["urg"], Taken, "flag URG"),
    flag(Key::Xmas, "X", &["xmas"], Taken, "flag ECE (0x40)"),
    flag(Key::Ymas, "Y", &["ymas"], Taken, "flag CWR (0x80)"),
    valued(Key::Mss, "", &["tcp-mss"], Taken, "largest segment, as an option"),
    flag(Key::Timestamps, "", &["tcp-timestamp"], Taken, "timestamps, as an option"),
    valued(Key::Data, "d", &["data"], Taken, "octets of payload"),
    valued(Key::Scan, "8", &["scan"], Taken, "probe each of these ports: 22,80-90,known,!53 (1,000 a second, see -i)"),
    flag(Key::ExitCode, "", &["tcpexitcode"], Taken, "exit status: the flags of the last reply"),
    flag(Key::Force, "", &["force"], Taken, "let --flood go (ours)"),
    valued(Key::Record, "", &["record"], Taken, "write the record of the measurement into this file (ours)"),
    flag(Key::Unheeded, "z", &["bind"], Idle, "has no effect: no key is bound to anything"),
    flag(Key::Unheeded, "Z", &["unbind"], Idle, "has no effect: no key is bound to anything"),
    flag(Key::Unheeded, "D", &["debug"], Idle, "has no effect: there is no debugging output"),
    flag(Key::Unheeded, "", &["tr-keep-ttl"], Idle, "has no effect: give one -t without -T"),
    flag(Key::Unheeded, "", &["tr-no-rtt"], Idle, "has no effect: the round trip is shown"),
    flag(Key::Unheeded, "0", &["rawip"], Refused, MODE),
    valued(Key::Unheeded, "9", &["listen"], Refused, MODE),
    valued(Key::Unheeded, "a", &["spoof"], Refused, SPOOF),
    flag(Key::Unheeded, "", &["rand-dest"], Refused, "hosts that nobody named are not probed here"),
    flag(Key::Unheeded, "", &["rand-source"], Refused, SPOOF),
    valued(Key::Unheeded, "N", &["id"], Refused, HEADER),
    flag(Key::Unheeded, "W", &["winid"], Refused, HEADER),
    flag(Key::Unheeded, "f", &["frag"], Refused, WHOLE),
    flag(Key::Unheeded, "x", &["morefrag"], Refused, WHOLE),
    valued(Key::Unheeded, "g", &["fragoff"], Refused, WHOLE),
    valued(Key::Unheeded, "m", &["mtu"], Refused, WHOLE),
    flag(Key::Unheeded, "G", &["rroute"], Refused, HEADER),
    valued(Key::Unheeded, "", &["lsrr"], Refused, HEADER),
    valued(Key::Unheeded, "", &["ssrr"], Refused, HEADER),
    valued(Key::Unheeded, "H", &["ipproto"], Refused, MODE),
    valued(Key::Unheeded, "C", &["icmptype"], Refused, MODE),
    valued(Key::Unheeded, "K", &["icmpcode"], Refused, MODE),
    valued(Key::Unheeded, "O", &["tcpoff"], Refused, "headers that lie about their length are not sent here"),
    valued(Key::Unheeded, "E", &["file"], Refused, CONTENT),
    valued(Key::Unheeded, "e", &["sign"], Refused, CONTENT),
    flag(Key::Unheeded, "B", &["safe"], Refused, CONTENT),
    flag(Key::Unheeded, "u", &["end"], Refused, CONTENT),
    flag(Key::Unheeded, "j", &["dump"], Refused, "packets are not dumped here: capture them with tcpdump"),
    flag(Key::Unheeded, "J", &["print"], Refused, "packets are not dumped here: capture them with tcpdump"),
    flag(Key::Unheeded, "", &["tr-stop"], Refused, "a trace ends with its count here: give -c"),
];
