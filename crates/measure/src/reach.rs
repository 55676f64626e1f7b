//! Results of probes at a host's addresses.
//!
//! Probes are made by `endpoint`, services known by their octets in `protocol`, the screen made by `report`. A verdict follows
//! from the answers and from nothing else: silence over UDP is never "open", and a reset is reported as one without a name for
//! who sent it. [`mtu`] decides which packet sizes are tried.

pub mod mtu;
pub mod remark;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::reach::mtu::MtuFinding;
use crate::unit::Nanos;

/// Result of a check of a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reach {
    /// The host as it was asked for.
    pub host: String,
    /// The lookup of its addresses.
    pub lookup: Lookup,
    /// Each address that was checked, as the lookup orders them.
    pub addresses: Vec<AddressReach>,
    /// Time that it took, lookup included, nanoseconds.
    pub took_ns: Nanos,
    /// True where a signal ended it: probes that had not run by then are marked so.
    pub cut_short: bool,
}

/// From the name to addresses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lookup {
    /// Source of the addresses.
    pub by: LookedUp,
    /// Time that it took, nanoseconds; absent where an address was given.
    pub took_ns: Option<Nanos>,
    /// All addresses found in the requested family, also those beyond the ones that are checked.
    pub addresses: Vec<String>,
}

/// Where addresses come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LookedUp {
    /// An address was given.
    Given,
    /// All of them stand in the system's hosts file.
    HostsFile,
    /// The system's resolver: DNS, or whatever else it asks.
    Resolver,
}

/// One address.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AddressReach {
    /// The address; a link-local one with its interface behind a `%`.
    pub address: String,
    /// Route of packets to it; absent where there is none.
    pub route: Option<Route>,
    /// The reason why there is no route, where there is none.
    pub no_route: Option<String>,
    /// Result of an ICMP echo request of 56 B.
    pub echo: Seen,
    /// The largest packet that gets there.
    pub mtu: MtuFinding,
    /// Packets by which it was found; absent where it was not.
    pub mtu_by: Option<MtuBy>,
    /// Bytes of the largest piece of echo replies that were cut on the way back: no larger packets pass there. Absent where none was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu_back_bytes: Option<u32>,
    /// The ports that were asked, TCP first, each in the order asked for.
    pub ports: Vec<PortFinding>,
}

/// Packets by which the path's MTU is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MtuBy {
    /// Echo requests: their replies are as long, so the path back counts too.
    Echo,
    /// Datagrams to a port that the host refuses: its refusal shows that they got there.
    RefusedDatagram,
}

/// Route of packets that leave this host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Route {
    /// The interface.
    pub interface: String,
    /// The address they are sent from.
    pub source: Option<String>,
    /// The next hop; absent where the address is on the link.
    pub next_hop: Option<String>,
    /// MTU of the interface, bytes.
    pub mtu_bytes: Option<u32>,
    /// MTU that the route has, set or learnt, bytes; absent where it has none of its own.
    pub route_mtu_bytes: Option<u32>,
    /// State of the next hop's entry in the neighbour table when all was asked, as the kernel calls it; absent where there is
    /// no entry.
    pub neighbour: Option<String>,
}

impl Route {
    /// True where no host on the link has the address of the next hop.
    pub fn nobody_on_the_link(&self) -> bool {
        matches!(self.neighbour.as_deref(), Some("failed" | "incomplete"))
    }
}

/// Result of a probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "seen", rename_all = "kebab-case")]
pub enum Seen {
    /// An answer: an echo reply, a completed handshake, a datagram.
    Answer {
        /// From the first try, nanoseconds; of an echo from the one that was answered.
        after_ns: Nanos,
    },
    /// A TCP reset in the host's name. It does not show its sender.
    Reset {
        /// From the first try, nanoseconds.
        after_ns: Nanos,
    },
    /// A SYN was accepted in the host's name, and the connection reset before either side had sent anything. The sender
    /// does not show here: a box on the way may let handshakes pass and nothing else.
    AcceptedThenReset {
        /// From the first try, nanoseconds.
        after_ns: Nanos,
    },
    /// An ICMP error in place of an answer.
    Error {
        /// Its meaning.
        says: Says,
        /// Address of its sender; absent where this host's kernel names none.
        from: Option<String>,
        /// Relation of the sender to the address asked.
        by: Reporter,
        /// From the first try, nanoseconds.
        after_ns: Nanos,
    },
    /// Nothing.
    Silence {
        /// Time waited, all tries together, nanoseconds.
        waited_ns: Nanos,
    },
    /// It was not asked.
    NotAsked {
        /// The reason.
        why: String,
    },
}

impl Seen {
    /// True where somebody answered in the host's name: a refusal, too, says that it is there.
    pub fn is_sign_of_life(&self) -> bool {
        self.answered_after().is_some()
    }

    /// Time to an answer in the host's name; `None` where there was none.
    pub fn answered_after(&self) -> Option<Nanos> {
        match self {
            Self::Answer { after_ns }
            | Self::Reset { after_ns }
            | Self::AcceptedThenReset { after_ns }
            | Self::Error { by: Reporter::Host, after_ns, .. } => Some(*after_ns),
            Self::Error { .. } | Self::Silence { .. } | Self::NotAsked { .. } => None,
        }
    }
}

impl Seen {
    /// Sender and meaning of an ICMP error that a hop sent in the host's place; `None` of all else.
    pub fn by_another(&self) -> Option<(&str, Says)> {
        match self {
            Self::Error { says, from: Some(from), by: Reporter::Hop, .. } => Some((from, *says)),
            _ => None,
        }
    }

    /// True where this machine itself gave up: nobody on the link told it where to send what is for the host, or for the gateway to it.
    pub fn is_without_neighbour(&self) -> bool {
        matches!(self, Self::Error { says: Says::HostUnreachable, from: Some(_), by: Reporter::Ourselves, .. })
    }
}

impl AddressReach {
    /// All that was seen at the address.
    pub fn seen(&self) -> impl Iterator<Item = &Seen> {
        std::iter::once(&self.echo).chain(self.ports.iter().map(|port| &port.seen))
    }
}

/// Meaning of an ICMP error for the one who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Says {
    /// Nobody listens on the port.
    PortUnreachable,
    /// The host has no such protocol.
    ProtocolUnreachable,
    /// Nobody answers for the address on its network.
    HostUnreachable,
    /// There is no way to the network.
    NetworkUnreachable,
    /// A filter forbids it.
    Prohibited,
    /// The packet is too big for a link on the way.
    TooBig,
    /// The hop limit ran out: most likely packets go in a circle.
    HopLimit,
    /// Anything else.
    Other,
}

/// Sender of an ICMP error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Reporter {
    /// The address that was asked, or who says to be it.
    Host,
    /// Another address.
    Hop,
    /// This machine.
    Ourselves,
}

/// Transport of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// A TCP handshake.
    Tcp,
    /// A UDP datagram.
    Udp,
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        })
    }
}

/// One port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PortFinding {
    /// Transport of the probe.
    pub transport: Transport,
    /// Its number, from 1.
    pub port: u16,
    /// Verdict on it.
    pub verdict: Verdict,
    /// Result of the probe.
    pub seen: Seen,
    /// Program that answers; absent where it was not asked for.
    pub service: Option<ServiceFinding>,
}

/// Verdict on a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It answers.
    Open,
    /// Somebody says that nobody listens there.
    Refused,
    /// It accepts connections, and resets them at once.
    Reset,
    /// Packets vanish, or somebody says that a filter forbids them.
    Filtered,
    /// The host is not reached.
    Unreachable,
    /// A UDP port that says nothing: nobody need answer a datagram that means nothing to them.
    OpenOrFiltered,
    /// It was not asked.
    NotAsked,
}

impl Verdict {
    /// The verdict on `seen` over `transport`, where the next hop has a neighbour or not.
    ///
    /// ```
    /// use measure::reach::{Seen, Transport, Verdict};
    /// use measure::unit::Nanos;
    /// let silence = Seen::Silence { waited_ns: Nanos::secs(3) };
    /// assert_eq!(Verdict::of(Transport::Tcp, &silence, false), Verdict::Filtered);
    /// assert_eq!(Verdict::of(Transport::Udp, &silence, false), Verdict::OpenOrFiltered);
    /// assert_eq!(Verdict::of(Transport::Udp, &silence, true), Verdict::Unreachable);
    /// ```
    pub fn of(transport: Transport, seen: &Seen, nobody_on_the_link: bool) -> Self {
        match (seen, transport) {
            (Seen::Answer { .. }, _) => Self::Open,
            (Seen::Reset { .. }, _) => Self::Refused,
            (Seen::AcceptedThenReset { .. }, _) => Self::Reset,
            (Seen::Error { says, .. }, _) => match says {
                Says::PortUnreachable | Says::ProtocolUnreachable => Self::Refused,
                Says::Prohibited => Self::Filtered,
                _ => Self::Unreachable,
            },
            (Seen::Silence { .. }, _) if nobody_on_the_link => Self::Unreachable,
            (Seen::Silence { .. }, Transport::Tcp) => Self::Filtered,
            (Seen::Silence { .. }, Transport::Udp) => Self::OpenOrFiltered,
            (Seen::NotAsked { .. }, _) => Self::NotAsked,
        }
    }
}

/// A program that is known by its answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Service {
    /// A reflector of ours.
    Sonde,
    /// netserver, ours or the original.
    Netserver,
    /// A sockperf server.
    Sockperf,
    /// An iperf3 server.
    Iperf3,
    /// An iperf 2 server.
    Iperf,
    /// A STAMP or TWAMP Light reflector (RFC 8762).
    Stamp,
    /// The echo service (RFC 862).
    Echo,
    /// Redis, or a compatible program.
    Redis,
    /// memcached.
    Memcached,
    /// A NATS server.
    Nats,
    /// An MQTT broker.
    Mqtt,
    /// PostgreSQL.
    Postgres,
    /// A server of HTTP/1, or a proxy before one.
    Http,
    /// A server of HTTP/1 within TLS, whose certificate was verified.
    Https,
    /// TLS, and behind it any program.
    Tls,
    /// MySQL or MariaDB.
    Mysql,
    /// A server of names (DNS).
    Dns,
    /// A server of time (NTP).
    Ntp,
    /// An SSH server.
    Ssh,
    /// A Kafka broker.
    Kafka,
    /// A SIP server or a telephone.
    Sip,
}

impl Service {
    /// All of them, in the order in which their answers represent an application: ours first, for it reports how
    /// long it held a request.
    pub const ALL: [Self; 21] = [
        Self::Sonde,
        Self::Netserver,
        Self::Sockperf,
        Self::Stamp,
        Self::Iperf,
        Self::Echo,
        Self::Redis,
        Self::Memcached,
        Self::Nats,
        Self::Mqtt,
        Self::Postgres,
        Self::Dns,
        Self::Http,
        Self::Https,
        Self::Kafka,
        Self::Mysql,
        Self::Tls,
        Self::Ntp,
        Self::Sip,
        Self::Ssh,
        Self::Iperf3,
    ];

    /// True where it works for others, who wait while it is measured; the rest are there for measurements.
    pub fn is_at_work(self) -> bool {
        !matches!(
            self,
            Self::Sonde | Self::Netserver | Self::Sockperf | Self::Iperf3 | Self::Iperf | Self::Stamp | Self::Echo
        )
    }

    /// True where it counts connections that end before a login, and shuts out the host that they come from: MySQL after 100 of them, OpenSSH
    /// since 9.8 after some 15 in short order.
    pub fn counts_strangers(self) -> bool {
        matches!(self, Self::Mysql | Self::Ssh)
    }

    /// Its name, as it is written on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sonde => "sonde",
            Self::Netserver => "netserver",
            Self::Sockperf => "sockperf",
            Self::Iperf3 => "iperf3",
            Self::Iperf => "iperf",
            Self::Stamp => "stamp",
            Self::Echo => "echo",
            Self::Redis => "redis",
            Self::Memcached => "memcached",
            Self::Nats => "nats",
            Self::Mqtt => "mqtt",
            Self::Postgres => "postgres",
            Self::Http => "http",
            Self::Https => "https",
            Self::Tls => "tls",
            Self::Mysql => "mysql",
            Self::Dns => "dns",
            Self::Ntp => "ntp",
            Self::Ssh => "ssh",
            Self::Kafka => "kafka",
            Self::Sip => "sip",
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Iperf => "iperf 2",
            Self::Stamp => "STAMP",
            Self::Redis => "Redis",
            Self::Nats => "NATS",
            Self::Mqtt => "MQTT",
            Self::Postgres => "PostgreSQL",
            Self::Http => "HTTP",
            Self::Https => "HTTPS",
            Self::Tls => "TLS",
            Self::Mysql => "MySQL",
            Self::Dns => "DNS",
            Self::Ntp => "NTP",
            Self::Ssh => "SSH",
            Self::Kafka => "Kafka",
            Self::Sip => "SIP",
            other => other.name(),
        })
    }
}

/// Program that answers at an open port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum ServiceFinding {
    /// One that is known.
    Known {
        /// The program's protocol.
        service: Service,
        /// Its state as it reports it: that it is busy, that it wants a key, its version; absent where it reports none.
        state: Option<String>,
    },
    /// Something that is none of those asked for.
    Other {
        /// Protocols in which it was asked.
        asked: Vec<Service>,
    },
    /// It took the question and said nothing.
    Silent {
        /// Protocols in which it was asked.
        asked: Vec<Service>,
        /// Longest wait for an answer in each; absent in older records.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within_ns: Option<Nanos>,
    },
    /// It closed the connection without a word.
    Closed {
        /// Protocols in which it was asked.
        asked: Vec<Service>,
    },
    /// The connection was reset without a word, by the program or by a box on the way.
    Reset {
        /// Protocols in which it was asked.
        asked: Vec<Service>,
    },
    /// It was asked nothing: any octet may do harm there.
    LeftAlone {
        /// The reason.
        why: String,
    },
}

/// A requested port: it answers when it is open over one of the protocols in which it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its number.
    pub port: u16,
    /// Over this alone; `None`: whichever answers.
    pub over: Option<Transport>,
}

impl Reach {
    /// True where all that was asked for answers. Each port that is `wanted` has to be open at each address, and there may be no
    /// hole in the path's MTU; where none was named, a sign of life from each address is enough.
    pub fn holds(&self, wanted: &[Wanted]) -> bool {
        let answers = |address: &AddressReach| {
            let all = wanted.iter().all(|wanted| address.has(*wanted));
            all && (!wanted.is_empty() || address.lives()) && !matches!(address.mtu, MtuFinding::Hole { .. })
        };
        !self.cut_short && !self.addresses.is_empty() && self.addresses.iter().all(answers)
    }
}

impl AddressReach {
    /// True where anything was answered in the host's name.
    pub fn lives(&self) -> bool {
        self.echo.is_sign_of_life() || self.ports.iter().any(|port| port.seen.is_sign_of_life())
    }

    fn has(&self, wanted: Wanted) -> bool {
        let of_it = |found: &&PortFinding| {
            found.port == wanted.port && wanted.over.is_none_or(|transport| found.transport == transport)
        };
        self.ports.iter().filter(of_it).any(|found| found.verdict == Verdict::Open)
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn error(says: Says) -> Seen {
        Seen::Error { says, from: Some("10.0.0.1".into()), by: Reporter::Hop, after_ns: Nanos(1) }
    }

    #[test_case(&Seen::Answer { after_ns: Nanos(1) }, Verdict::Open; "an answer")]
    #[test_case(&Seen::Reset { after_ns: Nanos(1) }, Verdict::Refused; "a reset")]
    #[test_case(&Seen::AcceptedThenReset { after_ns: Nanos(1) }, Verdict::Reset; "a reset of what was open")]
    #[test_case(&error(Says::PortUnreachable), Verdict::Refused; "no port")]
    #[test_case(&error(Says::ProtocolUnreachable), Verdict::Refused; "no protocol")]
    #[test_case(&error(Says::Prohibited), Verdict::Filtered; "a filter")]
    #[test_case(&error(Says::HostUnreachable), Verdict::Unreachable; "no host")]
    #[test_case(&error(Says::HopLimit), Verdict::Unreachable; "a circle")]
    #[test_case(&Seen::NotAsked { why: String::new() }, Verdict::NotAsked; "nothing")]
    fn a_verdict_follows_from_what_was_seen(seen: &Seen, verdict: Verdict) {
        for transport in [Transport::Tcp, Transport::Udp] {
            assert_eq!(Verdict::of(transport, seen, false), verdict);
        }
    }

    fn reach(ports: Vec<PortFinding>, echo: Seen, mtu: MtuFinding) -> Reach {
        let address = AddressReach {
            address: "10.0.0.2".into(),
            route: None,
            no_route: None,
            echo,
            mtu,
            mtu_by: None,
            mtu_back_bytes: None,
            ports,
        };
        let lookup = Lookup { by: LookedUp::Given, took_ns: None, addresses: vec!["10.0.0.2".into()] };
        Reach { host: "10.0.0.2".into(), lookup, addresses: vec![address], took_ns: Nanos(1), cut_short: false }
    }

    fn port(seen: Seen) -> PortFinding {
        let verdict = Verdict::of(Transport::Tcp, &seen, false);
        PortFinding { transport: Transport::Tcp, port: 80, verdict, seen, service: None }
    }

    #[test]
    fn what_was_named_has_to_answer_and_what_was_not_to_live() {
        let (answer, reset) = (Seen::Answer { after_ns: Nanos(1) }, Seen::Reset { after_ns: Nanos(1) });
        let silence = Seen::Silence { waited_ns: Nanos(1) };
        let whole = MtuFinding::Whole { bytes: 1_500 };
        let wanted = |over| [Wanted { port: 80, over }];
        let refused = reach(vec![port(reset)], silence.clone(), whole.clone());
        assert!(!refused.holds(&wanted(None)) && refused.holds(&[]));
        let open = reach(vec![port(answer.clone())], silence.clone(), whole.clone());
        assert!(open.holds(&wanted(None)) && open.holds(&wanted(Some(Transport::Tcp))) && open.holds(&[]));
        assert!(!open.holds(&wanted(Some(Transport::Udp))), "it was asked over TCP");
        let dark = reach(vec![port(silence.clone())], silence.clone(), whole.clone());
        assert!(!dark.holds(&wanted(None)) && !dark.holds(&[]));
        let pings = reach(vec![port(silence.clone())], answer.clone(), whole);
        assert!(!pings.holds(&wanted(None)) && pings.holds(&[]));
        let hole = MtuFinding::Hole { bytes: 1_300, vanishing_bytes: 1_301 };
        assert!(!reach(vec![port(answer.clone())], answer.clone(), hole).holds(&wanted(None)));
        let cut = Reach { cut_short: true, ..open };
        assert!(!cut.holds(&wanted(None)), "what was not asked does not answer");
    }

    #[test]
    fn a_filter_on_the_way_is_no_sign_of_life() {
        assert!(!error(Says::Prohibited).is_sign_of_life());
        let own = Seen::Error { says: Says::PortUnreachable, from: None, by: Reporter::Host, after_ns: Nanos(1) };
        assert!(own.is_sign_of_life());
    }
}
