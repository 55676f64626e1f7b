//! MQTT 3.1.1: a client without a name and without a session connects, and its `PINGREQ` is answered by `PINGRESP` (OASIS MQTT 3.1.1, sections
//! 3.1, 3.2, 3.12 and 3.13).

use std::borrow::Cow;

use measure::reach::Transport;

use super::speech::{Came, Kind, Protocol, Reply, Speech, Taken};

/// Its row.
pub const PROTOCOL: Protocol =
    Protocol { schemes: &["mqtt"], over: Transport::Tcp, port: 1883, tls: None, asks: "PINGREQ" };
/// The same through TLS.
pub const SECURE: Protocol = Protocol { schemes: &["mqtts"], port: 8883, tls: Some(""), ..PROTOCOL };

/// Clean session, no name, and eighteen hours without a word before the broker ends it: the most that can be said (section 3.1.2.10).
const CONNECT: &[u8] = &[0x10, 12, 0, 4, b'M', b'Q', b'T', b'T', 4, 2, 0xFF, 0xFF, 0, 0];
const CONNACK: u8 = 0x20;
const PINGREQ: [u8; 2] = [0xC0, 0];
const DISCONNECT: [u8; 2] = [0xE0, 0];
const PINGRESP: u8 = 0xD0;

/// A client that pings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mqtt {
    is_open: bool,
}

/// Reasons of a broker that lets nobody in (section 3.2.2.3).
fn refusal(code: u8) -> &'static [u8] {
    match code {
        1 => b"unacceptable protocol version",
        2 => b"identifier rejected",
        3 => b"server unavailable",
        4 => b"bad user name or password",
        5 => b"not authorized",
        _ => b"connection refused",
    }
}

impl Speech for Mqtt {
    fn opening(&self) -> Cow<'static, [u8]> {
        Cow::Borrowed(CONNECT)
    }

    fn begin(&mut self) {
        self.is_open = false;
    }

    fn is_open(&self) -> bool {
        self.is_open
    }

    fn request(&self) -> Vec<u8> {
        PINGREQ.to_vec()
    }

    fn farewell(&self) -> Cow<'static, [u8]> {
        // A broker publishes the will of a client that goes without it.
        Cow::Borrowed(if self.is_open { &DISCONNECT } else { &[] })
    }

    fn take(&mut self, octets: &[u8]) -> Taken {
        match (self.is_open, octets) {
            (false, [CONNACK, 2, _, 0, ..]) => {
                self.is_open = true;
                Taken { octets: 4, came: Came::Opened }
            }
            (false, [CONNACK, 2, _, code, ..]) => Taken::declined(4, refusal(*code)),
            (true, [PINGRESP, 0, ..]) => Taken::reply(2, Reply::answered(Kind(0))),
            (false, [CONNACK] | [CONNACK, 2] | [CONNACK, 2, _]) | (true, [PINGRESP]) => Taken::MORE,
            _ => Taken::unsound("the reply is none of MQTT"),
        }
    }

    fn kind(&self, _kind: Kind) -> Cow<'static, str> {
        Cow::Borrowed("PINGRESP")
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;
    use crate::application::speech::tests::alike;

    // As mosquitto 2.0.11 answers.
    #[test_case(&[0x20, 2, 0, 0, 0xD0, 0, 0xD0, 0], &[Came::Opened, Came::Reply(Reply::answered(Kind(0))), Came::Reply(Reply::answered(Kind(0)))]; "pings")]
    #[test_case(&[0x20, 2, 0, 5], &[Taken::declined(0, b"not authorized").came]; "no login")]
    #[test_case(b"HTTP/1.1", &[Came::Unsound("the reply is none of MQTT")]; "another program")]
    #[test_case(&[0x20, 2, 0, 0, 0x30], &[Came::Opened, Came::Unsound("the reply is none of MQTT")]; "a message nobody asked for")]
    fn a_broker_is_read(octets: &[u8], expected: &[Came]) {
        assert_eq!(alike(&Mqtt::default(), octets), expected);
    }
}
