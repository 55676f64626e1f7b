//! The tests by name, and what each name fixes: direction, transport, title, dialect.

/// A test that `-t` asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Test {
    /// We send over TCP.
    #[default]
    TcpStream,
    /// The server sends over TCP.
    TcpMaerts,
    /// Request and response over one TCP connection.
    TcpRr,
    /// A TCP connection for each request and response.
    TcpCrr,
    /// TCP connections opened and closed, nothing sent.
    TcpCc,
    /// We send datagrams.
    UdpStream,
    /// Request and response by datagrams.
    UdpRr,
    /// We send a file over TCP.
    TcpSendfile,
    /// The maximum segment size of a TCP connection to the server.
    TcpMss,
    /// Whatever the test-specific options say.
    Omni,
    /// A UUID is printed, nothing measured.
    Uuid,
    /// The local CPU rate is printed.
    LocCpu,
    /// The server's CPU rate is printed.
    RemCpu,
}

/// Names, in the order in which an error lists them.
const NAMES: [(&str, Test); 13] = [
    ("TCP_STREAM", Test::TcpStream),
    ("TCP_MAERTS", Test::TcpMaerts),
    ("TCP_RR", Test::TcpRr),
    ("TCP_CRR", Test::TcpCrr),
    ("TCP_CC", Test::TcpCc),
    ("UDP_STREAM", Test::UdpStream),
    ("UDP_RR", Test::UdpRr),
    ("TCP_SENDFILE", Test::TcpSendfile),
    ("TCP_MSS", Test::TcpMss),
    ("OMNI", Test::Omni),
    ("UUID", Test::Uuid),
    ("LOC_CPU", Test::LocCpu),
    ("REM_CPU", Test::RemCpu),
];

impl Test {
    /// The test of a name, whatever its case.
    pub fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, test)| *test)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, test)| *test == self).map_or("", |(name, _)| *name)
    }

    /// All names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name)
    }

    /// Returns true where netperf 2.7 still asks for it by its own request rather than by omni's: such a test has no output
    /// selectors, and fewer options.
    pub fn is_classic(self) -> bool {
        matches!(self, Self::TcpCc | Self::TcpSendfile | Self::TcpMss)
    }

    /// Returns true where it has a data connection at all.
    pub fn has_data(self) -> bool {
        !matches!(self, Self::Uuid | Self::LocCpu | Self::RemCpu)
    }

    /// Direction that the name fixes.
    pub fn direction(self) -> Direction {
        let (sends, receives, per_connection) = match self {
            Self::TcpStream | Self::UdpStream | Self::TcpSendfile | Self::TcpMss | Self::Omni => (true, false, false),
            Self::TcpMaerts => (false, true, false),
            Self::TcpRr | Self::UdpRr => (true, true, false),
            Self::TcpCrr => (true, true, true),
            Self::TcpCc => (false, false, true),
            Self::Uuid | Self::LocCpu | Self::RemCpu => (false, false, false),
        };
        Direction { sends, receives, per_connection }
    }

    /// Transport that the name fixes.
    pub fn transport(self) -> Transport {
        match self {
            Self::UdpStream | Self::UdpRr => Transport::Udp,
            _ => Transport::Tcp,
        }
    }
}

/// Senders of a test, as the client sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Direction {
    /// The client sends.
    pub sends: bool,
    /// The client receives.
    pub receives: bool,
    /// Each transaction has a connection of its own.
    pub per_connection: bool,
}

impl Direction {
    /// Returns true where transactions are counted: both ends send, or neither does (connect and close).
    pub fn is_transactions(self) -> bool {
        self.sends == self.receives
    }

    /// Returns true where the client sends and the server does not.
    pub fn is_send(self) -> bool {
        self.sends && !self.receives
    }

    /// Returns true where the server sends and the client does not.
    pub fn is_receive(self) -> bool {
        self.receives && !self.sends
    }

    /// The words of the DIRECTION selector, which are in an omni test's banner too.
    pub fn words(self) -> &'static str {
        match (self.sends, self.receives, self.per_connection) {
            (true, true, true) => "Connect|Send|Recv",
            (true, true, false) => "Send|Recv",
            (true, false, _) => "Send",
            (false, true, _) => "Receive",
            (false, false, _) => "Connection",
        }
    }
}

/// Transport of a test's data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// TCP.
    #[default]
    Tcp,
    /// UDP.
    Udp,
    /// SCTP.
    Sctp,
    /// DCCP.
    Dccp,
    /// UDP-Lite.
    UdpLite,
}

impl Transport {
    /// By the name that `-T` takes, whatever its case.
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::Tcp, Self::Udp, Self::Sctp, Self::Dccp, Self::UdpLite];
        all.into_iter().find(|transport| transport.name().eq_ignore_ascii_case(name))
    }

    /// The word of the PROTOCOL selector.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Sctp => "SCTP",
            Self::Dccp => "DCCP",
            Self::UdpLite => "UDPLite",
        }
    }

    /// The IP protocol number (IANA, Assigned Internet Protocol Numbers).
    pub fn number(self) -> u8 {
        match self {
            Self::Tcp => 6,
            Self::Udp => 17,
            Self::Sctp => 132,
            Self::Dccp => 33,
            Self::UdpLite => 136,
        }
    }

    /// Returns true where messages may be lost without either end being told.
    pub fn is_lossy(self) -> bool {
        matches!(self, Self::Udp | Self::UdpLite | Self::Dccp)
    }
}

/// The kind of the data socket, as `-t` of omni names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketType {
    /// A stream of bytes.
    Stream,
    /// Datagrams.
    Datagram,
    /// DCCP's.
    Dccp,
    /// Sequenced messages.
    Seqpacket,
}

impl SocketType {
    /// The kind that goes with a transport.
    pub fn of(transport: Transport) -> Self {
        match transport {
            Transport::Tcp | Transport::Sctp => Self::Stream,
            Transport::Udp | Transport::UdpLite => Self::Datagram,
            Transport::Dccp => Self::Dccp,
        }
    }

    /// The word of the `SOCKET_TYPE` selector.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stream => "Stream",
            Self::Datagram => "Datagram",
            Self::Dccp => "DCCP",
            Self::Seqpacket => "Seqpacket",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test]
    fn every_test_has_the_name_it_is_found_by() {
        for name in Test::names() {
            assert_eq!(Test::named(&name.to_lowercase()).map(Test::name), Some(name));
        }
    }

    #[test_case("tcp", 6)]
    #[test_case("UDP", 17)]
    #[test_case("sctp", 132)]
    #[test_case("dccp", 33)]
    #[test_case("udplite", 136)]
    fn a_transport_has_a_number(name: &str, number: u8) {
        assert_eq!(Transport::named(name).map(Transport::number), Some(number));
    }

    #[test_case(Test::Omni, "Send")]
    #[test_case(Test::TcpMaerts, "Receive")]
    #[test_case(Test::UdpRr, "Send|Recv")]
    #[test_case(Test::TcpCrr, "Connect|Send|Recv")]
    #[test_case(Test::TcpCc, "Connection")]
    fn a_name_fixes_the_direction(test: Test, words: &str) {
        assert_eq!(test.direction().words(), words);
    }
}
