//! A feed file: the sockets that a client or a server is to open, one a line.
//!
//! `[T:|U:]address:port[:source]`: over TCP or UDP (unless said), an address or a name, an IPv6 address in brackets, and
//! the only sender to listen to of a multicast group. A line that is empty or begins with `#` or with a space is skipped.
//! Seen with sockperf 3.7 and 3.10; only the latter knows IPv6. Here, unlike there, a line may end with a carriage
//! return, and the last one without a newline. Unix sockets, which 3.10 knows besides as `U:/path` and `T:/path`, are
//! refused: this program has none.

use std::net::Ipv6Addr;

/// Bytes of the longest line, a comment aside: a name of 253 fits twice. 3.7 cuts at 41.
pub const LONGEST_LINE: usize = 600;

/// A socket to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Socket {
    /// Transport of its messages.
    pub transport: Transport,
    /// An address or a name, an IPv6 address without its brackets. Not resolved: that it is one is for others to see.
    pub address: String,
    /// The port; 0 is none in particular, as a server may ask for.
    pub port: u16,
    /// The only sender of a multicast group to listen to, written as an address is. Without meaning for an address that
    /// is no group's.
    pub source: Option<String>,
}

/// Transport of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Transport {
    /// UDP.
    #[default]
    Datagram,
    /// TCP.
    Stream,
}

/// Reads a feed file. A socket that is named twice is opened once, as sockperf does.
pub fn parse(text: &str) -> Result<Vec<Socket>, Error> {
    let mut sockets: Vec<Socket> = Vec::new();
    let mut known = std::collections::BTreeSet::new();
    for (line, text) in (1..).zip(text.lines()) {
        if text.is_empty() || text.starts_with(['#', ' ']) {
            continue;
        }
        let socket = socket(text).map_err(|fault| Error::Line { line, text: excerpt(text), fault })?;
        if known.insert((socket.transport == Transport::Stream, socket.address.clone(), socket.port)) {
            sockets.push(socket);
        }
    }
    if sockets.is_empty() { Err(Error::Empty) } else { Ok(sockets) }
}

fn socket(line: &str) -> Result<Socket, Fault> {
    if line.len() > LONGEST_LINE {
        return Err(Fault::TooLong { length: line.len() });
    }
    if let Some(character) = line.chars().find(|character| character.is_whitespace() || character.is_control()) {
        return Err(Fault::Character { character });
    }
    let (transport, rest) = match line.split_at_checked(2) {
        Some(("U:" | "u:", rest)) => (Transport::Datagram, rest),
        Some(("T:" | "t:", rest)) => (Transport::Stream, rest),
        _ => (Transport::default(), line),
    };
    if rest.starts_with('/') {
        return Err(Fault::Unix);
    }
    let (address, rest) = address(rest)?;
    let rest = rest.strip_prefix(':').ok_or(Fault::NoPort)?;
    let (port, source) = rest.split_once(':').map_or((rest, None), |(port, source)| (port, Some(source)));
    let port = port_number(port)?;
    let source = source.map(source_alone).transpose()?;
    Ok(Socket { transport, address: address.to_owned(), port, source })
}

/// Splits the address in front of `text` from the rest.
fn address(text: &str) -> Result<(&str, &str), Fault> {
    let Some(bracketed) = text.strip_prefix('[') else {
        let end = text.find(':').unwrap_or(text.len());
        let (address, rest) = text.split_at(end);
        return match address {
            "" => Err(Fault::NoAddress),
            _ if address.contains(['[', ']', '/']) => Err(Fault::Address { text: address.to_owned() }),
            _ => Ok((address, rest)),
        };
    };
    let unknown = || Fault::Address { text: text.to_owned() };
    let (address, rest) = bracketed.split_once(']').ok_or_else(unknown)?;
    let (number, zone) = address.split_once('%').map_or((address, None), |(number, zone)| (number, Some(zone)));
    let sound = number.parse::<Ipv6Addr>().is_ok() && zone != Some("");
    if sound { Ok((address, rest)) } else { Err(unknown()) }
}

/// Digits and nothing else, 0 to 65535.
fn port_number(text: &str) -> Result<u16, Fault> {
    let digits = !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_digit());
    let port = if digits { text.parse().ok() } else { None };
    port.ok_or_else(|| Fault::Port { text: text.to_owned() })
}

fn source_alone(text: &str) -> Result<String, Fault> {
    match address(text)? {
        (source, "") => Ok(source.to_owned()),
        _ => Err(Fault::Address { text: text.to_owned() }),
    }
}

/// Returns the part of a line that an error shows.
fn excerpt(line: &str) -> String {
    line.chars().take(80).collect()
}

/// Reason why a feed file can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It names no socket.
    #[error("no line names a socket")]
    Empty,
    /// One of its lines can't be read.
    #[error("line {line}, {text:?}: {fault}")]
    Line {
        /// Number of the line, from 1, skipped ones counted.
        line: usize,
        /// The line, or the first 80 characters of it.
        text: String,
        /// Fault of the line.
        fault: Fault,
    },
}

/// Fault of a line: it should read `[T:|U:]address:port[:source]`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Longer than any line that makes sense.
    #[error("{length} bytes, but a line has at most {LONGEST_LINE}")]
    TooLong {
        /// Bytes of the line.
        length: usize,
    },
    /// Something that has no place in a line.
    #[error("{character:?} is not allowed in it")]
    Character {
        /// The first.
        character: char,
    },
    /// A path where an address should be.
    #[error("Unix sockets are not supported: name an address and a port")]
    Unix,
    /// Nothing where an address should be.
    #[error("no address")]
    NoAddress,
    /// Something else where an address should be.
    #[error("{text:?} is not an address (write an IPv6 address in brackets)")]
    Address {
        /// Text in place of the address.
        text: String,
    },
    /// An address alone.
    #[error("no port after the address")]
    NoPort,
    /// Something else where a port should be.
    #[error("{text:?} is not a port from 0 to 65535")]
    Port {
        /// Text in place of the port.
        text: String,
    },
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn udp(address: &str, port: u16) -> Socket {
        Socket { transport: Transport::Datagram, address: address.to_owned(), port, source: None }
    }

    fn tcp(address: &str, port: u16) -> Socket {
        Socket { transport: Transport::Stream, ..udp(address, port) }
    }

    fn of(source: &str, socket: Socket) -> Socket {
        Socket { source: Some(source.to_owned()), ..socket }
    }

    // All of these as sockperf 3.10 takes them, and 3.7 all but those in brackets.
    #[test_case("127.0.0.1:5001", udp("127.0.0.1", 5001); "udp unless said")]
    #[test_case("U:127.0.0.1:5001", udp("127.0.0.1", 5001); "udp")]
    #[test_case("u:127.0.0.1:5001", udp("127.0.0.1", 5001); "small udp")]
    #[test_case("T:127.0.0.1:6001", tcp("127.0.0.1", 6001); "tcp")]
    #[test_case("t:localhost:6001", tcp("localhost", 6001); "small tcp and a name")]
    #[test_case("127.0.0.1:05001", udp("127.0.0.1", 5001); "no octal")]
    #[test_case("127.0.0.1:0", udp("127.0.0.1", 0); "any port")]
    #[test_case("127.0.0.1:65535", udp("127.0.0.1", 65_535); "the last port")]
    #[test_case("[::1]:5001", udp("::1", 5001); "ipv6")]
    #[test_case("T:[fe80::1%lo]:5001", tcp("fe80::1%lo", 5001); "ipv6 with a zone")]
    #[test_case("224.4.4.4:5001:10.0.0.1", of("10.0.0.1", udp("224.4.4.4", 5001)); "source")]
    #[test_case("U:[ff15::1]:5001:[::1]", of("::1", udp("ff15::1", 5001)); "ipv6 source")]
    fn a_line_is_a_socket(line: &str, expected: Socket) {
        assert_eq!(parse(&format!("{line}\n")), Ok(vec![expected.clone()]));
        assert_eq!(parse(line), Ok(vec![expected.clone()]), "without a newline");
        assert_eq!(parse(&format!("{line}\r\n")), Ok(vec![expected]), "as Windows writes it");
    }

    #[test_case("127.0.0.1", Fault::NoPort; "address alone")]
    #[test_case("[::1]", Fault::NoPort; "ipv6 alone")]
    #[test_case("[::1]5001", Fault::NoPort; "no colon")]
    #[test_case(":5001", Fault::NoAddress; "port alone")]
    #[test_case("U::5001", Fault::NoAddress; "port and transport")]
    #[test_case("T:", Fault::NoAddress; "transport alone")]
    #[test_case("127.0.0.1:", Fault::Port { text: String::new() }; "no port")]
    #[test_case("127.0.0.1:65536", Fault::Port { text: "65536".to_owned() }; "beyond")]
    #[test_case("127.0.0.1:-1", Fault::Port { text: "-1".to_owned() }; "below")]
    #[test_case("127.0.0.1:+1", Fault::Port { text: "+1".to_owned() }; "a sign")]
    #[test_case("127.0.0.1:0x1389", Fault::Port { text: "0x1389".to_owned() }; "hexadecimal")]
    #[test_case("X:127.0.0.1:5001", Fault::Port { text: "127.0.0.1".to_owned() }; "another transport")]
    #[test_case("::1:5001", Fault::NoAddress; "ipv6 bare")]
    #[test_case("[::1:5001", Fault::Address { text: "[::1:5001".to_owned() }; "open bracket")]
    #[test_case("[x]:5001", Fault::Address { text: "[x]:5001".to_owned() }; "no ipv6")]
    #[test_case("[fe80::1%]:5001", Fault::Address { text: "[fe80::1%]:5001".to_owned() }; "no zone")]
    #[test_case("a/b:5001", Fault::Address { text: "a/b".to_owned() }; "a slash")]
    #[test_case("224.4.4.4:1:", Fault::NoAddress; "no source")]
    #[test_case("224.4.4.4:1:10.0.0.1:9", Fault::Address { text: "10.0.0.1:9".to_owned() }; "too much")]
    #[test_case("127.0.0.1: 5001", Fault::Character { character: ' ' }; "a space")]
    #[test_case("\t127.0.0.1:5001", Fault::Character { character: '\t' }; "a tab")]
    #[test_case("127.0.0.1:5001\0", Fault::Character { character: '\0' }; "no text")]
    #[test_case("U:/tmp/socket", Fault::Unix; "unix datagrams")]
    #[test_case("T:/tmp/socket", Fault::Unix; "unix stream")]
    #[test_case("/tmp/socket", Fault::Unix; "unix")]
    fn a_line_is_refused(line: &str, fault: Fault) {
        let text = format!("# sockets\n\n 127.0.0.1:1\n127.0.0.1:2\n{line}\n127.0.0.1:3\n");
        assert_eq!(parse(&text), Err(Error::Line { line: 5, text: line.to_owned(), fault }));
    }

    #[test]
    fn a_line_has_its_length_and_a_comment_any() {
        let (line, comment) = ("x".repeat(LONGEST_LINE - 2), "y".repeat(5000));
        let text = format!("#{comment}\n{line}:1\n");
        assert_eq!(parse(&text).map(|sockets| sockets.len()), Ok(1));
        let Err(Error::Line { line: 1, text, fault }) = parse(&format!("{line}:12\n")) else { panic!("too long") };
        assert_eq!((text, fault), ("x".repeat(80), Fault::TooLong { length: LONGEST_LINE + 1 }));
    }

    #[test]
    fn a_socket_named_twice_is_one() {
        let text = "127.0.0.1:1\nU:127.0.0.1:1\nT:127.0.0.1:1\n127.0.0.1:2\nu:127.0.0.1:1\n";
        assert_eq!(parse(text), Ok(vec![udp("127.0.0.1", 1), tcp("127.0.0.1", 1), udp("127.0.0.1", 2)]));
    }

    #[test]
    fn a_file_without_a_socket_is_refused() {
        for text in ["", "\n", "# nothing\n", " 127.0.0.1:1\n"] {
            assert_eq!(parse(text), Err(Error::Empty), "{text:?}");
        }
    }

    #[test]
    fn an_error_says_where_and_what() {
        let error = parse("127.0.0.1:1\nU:/tmp/socket\n").expect_err("a path");
        let said = "line 2, \"U:/tmp/socket\": Unix sockets are not supported: name an address and a port";
        assert_eq!(error.to_string(), said);
    }
}
