//! The ends of a session before its time, in the words and forms of the original.

use std::io;
use std::net::SocketAddr;

use serde::{Serialize, Serializer};

use crate::persona::process;

/// An end before the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// A signal asked for it.
    Cancelled,
    /// The server closed the session.
    Closed,
    /// A call of the socket failed.
    Call(Call),
}

/// A call of a socket that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its name, which is that of the step too: `read` or `write`.
    pub name: &'static str,
    /// The address here.
    pub local: SocketAddr,
    /// The address of the server.
    pub server: SocketAddr,
    /// Its error number.
    pub errno: i32,
}

/// The system's words of an error, which Go's library has too.
pub fn said(errno: i32) -> String {
    process::said(&io::Error::from_raw_os_error(errno)).to_lowercase()
}

/// The network of an address, as Go's library names it.
pub fn network(server: SocketAddr) -> &'static str {
    if server.is_ipv6() { "udp6" } else { "udp4" }
}

/// The code of a closed session.
const CLOSED: i32 = -2_070;

impl Call {
    /// `read udp4 127.0.0.1:40000->127.0.0.1:2112: read: connection refused`
    pub fn text(&self) -> String {
        let Self { name, local, server, errno } = *self;
        format!("{name} {} {local}->{server}: {name}: {}", network(server), said(errno))
    }
}

impl Ending {
    /// Beginning of the summary; a signal needs no words.
    pub fn text(&self) -> String {
        match self {
            Self::Cancelled => String::new(),
            Self::Closed => "\nTerminated due to receive error: [ServerClosed] server closed connection\n".to_owned(),
            Self::Call(call) => {
                let kind = if call.name == "write" { "send" } else { "receive" };
                format!("\nTerminated due to {kind} error: {}\n", call.text())
            }
        }
    }

    /// True where it is an error of the packets that leave.
    pub fn is_of_sending(&self) -> bool {
        match self {
            Self::Cancelled => true,
            Self::Closed => false,
            Self::Call(call) => call.name == "write",
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Address {
    #[serde(rename = "IP")]
    ip: String,
    port: u16,
    zone: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Step {
    op: &'static str,
    net: &'static str,
    source: Address,
    addr: Address,
    err: SystemCall,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct SystemCall {
    syscall: &'static str,
    err: i32,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    code: i32,
    local_addr: (),
    remote_addr: (),
    detail: (),
}

#[derive(Serialize)]
struct Nothing {}

/// The members of the original's errors, which differ by their kind.
impl Serialize for Ending {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let address = |address: SocketAddr| Address { ip: address.ip().to_string(), port: address.port(), zone: "" };
        match *self {
            Self::Cancelled => Nothing {}.serialize(serializer),
            Self::Closed => Event { code: CLOSED, local_addr: (), remote_addr: (), detail: () }.serialize(serializer),
            Self::Call(Call { name, local, server, errno }) => Step {
                op: name,
                net: network(server),
                source: address(local),
                addr: address(server),
                err: SystemCall { syscall: name, err: errno },
            }
            .serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &'static str, errno: i32) -> Ending {
        let address = |port| SocketAddr::from(([127, 0, 0, 1], port));
        Ending::Call(Call { name, local: address(40_000), server: address(2_112), errno })
    }

    #[test]
    fn ends_have_the_words_of_the_original() {
        let refused =
            "\nTerminated due to receive error: read udp4 127.0.0.1:40000->127.0.0.1:2112: read: connection refused\n";
        assert_eq!((call("read", 111).text().as_str(), call("read", 111).is_of_sending()), (refused, false));
        let long =
            "\nTerminated due to send error: write udp4 127.0.0.1:40000->127.0.0.1:2112: write: message too long\n";
        assert_eq!((call("write", 90).text().as_str(), call("write", 90).is_of_sending()), (long, true));
        assert_eq!((Ending::Cancelled.text().as_str(), Ending::Cancelled.is_of_sending()), ("", true));
    }

    #[test]
    fn ends_have_the_members_of_the_original() {
        let json = |ending: Ending| serde_json::to_string(&ending).unwrap();
        assert_eq!(json(Ending::Cancelled), "{}");
        assert_eq!(json(Ending::Closed), r#"{"Code":-2070,"LocalAddr":null,"RemoteAddr":null,"Detail":null}"#);
        let ends =
            r#""Source":{"IP":"127.0.0.1","Port":40000,"Zone":""},"Addr":{"IP":"127.0.0.1","Port":2112,"Zone":""}"#;
        let refused = format!(r#"{{"Op":"read","Net":"udp4",{ends},"Err":{{"Syscall":"read","Err":111}}}}"#);
        assert_eq!(json(call("read", 111)), refused);
    }
}
