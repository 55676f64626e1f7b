//! Reads the captures of the real iperf.

const CAPTURES: &str = include_str!("../../fixtures/iperf/captures.txt");

/// First octets of a connection, or one datagram.
pub struct Capture {
    pub name: &'static str,
    pub tcp: bool,
    /// The port of the end that listened.
    pub port: u16,
    /// Octets of the whole datagram.
    pub length: Option<usize>,
    pub command: &'static str,
    /// To the port that listened, and from it.
    pub to: Vec<u8>,
    pub from: Vec<u8>,
}

impl Capture {
    /// Returns true where both ends were 2.1.8.
    pub fn is_old(&self) -> bool {
        self.name.ends_with("-2.1.8")
    }

    /// Returns true where it is the header of a client, of whatever kind.
    pub fn is_of_client(&self) -> bool {
        self.port == 5_001 && !self.to.is_empty()
    }
}

pub fn all() -> Vec<Capture> {
    let mut captures: Vec<Capture> = Vec::new();
    for line in CAPTURES.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let (mark, rest) = line.split_at(2);
        if mark == "= " {
            let (what, command) = rest.split_once(": ").expect("a command");
            let [name, transport, port, length] = what.split(' ').collect::<Vec<_>>()[..] else { panic!("{what}") };
            captures.push(Capture {
                name,
                tcp: transport == "tcp",
                port: port.parse().expect("a port"),
                length: length.parse().ok(),
                command,
                to: Vec::new(),
                from: Vec::new(),
            });
            continue;
        }
        let octet = |at| u8::from_str_radix(&rest[at..at + 2], 16).expect("an octet");
        let octets: Vec<u8> = (0..rest.len()).step_by(2).map(octet).collect();
        let capture = captures.last_mut().expect("a name before its octets");
        *(if mark == "> " { &mut capture.to } else { &mut capture.from }) = octets;
    }
    assert_eq!(captures.len(), 89, "every capture was read");
    captures
}

/// The one of a name, of a transport, from a client or from the other end.
pub fn one(name: &str, of_client: bool) -> Capture {
    let fits = |capture: &Capture| capture.name == name && capture.is_of_client() == of_client;
    all().into_iter().find(fits).unwrap_or_else(|| panic!("{name}"))
}
