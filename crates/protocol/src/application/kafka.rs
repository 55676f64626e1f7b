//! Kafka: `ApiVersions` in its version 0, which a broker answers from memory, before any login, with the requests it knows (Kafka protocol
//! guide, "Protocol Request Header" and "`ApiVersions` API"). The correlation id comes back.
//!
//! A broker answers the requests of one connection in order, one at a time. A listener with SASL answers one `ApiVersions` on a connection and
//! then waits for a login: it closes the connection at the second, which is refused by that. A listener with TLS closes, too, or says nothing.
//!
//! No broker was at hand: the replies of the tests are written after the protocol guide, and kfake (franz-go 1.21), which stands in for
//! a broker in tests of others, was asked. The word about SASL is read in the source of Kafka (`SaslServerAuthenticator`), not seen.

use std::borrow::Cow;

use measure::reach::Transport;

use super::speech::{Kind, Protocol, Reply, Speech, Taken};

/// Its row.
pub const PROTOCOL: Protocol = Protocol {
    schemes: &["kafka"],
    over: Transport::Tcp,
    port: 9092,
    tls: None,
    asks: "ApiVersions, its correlation id given back",
};

/// Length, key 18 (`ApiVersions`), version 0, correlation id, and the client's name behind its length.
const REQUEST: [u8; 19] = *b"\0\0\0\x0f\0\x12\0\0\0\0\0\0\0\x05sonde";
/// The place of the correlation id in it.
const MARK: usize = 8;
/// Longest reply that is believed: a broker knows some eighty requests, six octets each.
const LONGEST: usize = 64 << 10;
/// Octets of a correlation id and an error, without which there is no reply.
const SHORTEST: usize = 6;
/// Octets of one request that the broker knows: key, lowest and highest version.
const ENTRY: usize = 6;
const FOREIGN: &str = "the reply is none of Kafka";

/// The kind of a reply is its error code; this one is none.
const ANSWERED: Kind = Kind(0);
/// `UNSUPPORTED_VERSION`: the broker has read the request and says which versions of it there are.
const UNSUPPORTED: Kind = Kind(35);

/// A client that asks for versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kafka;

impl Speech for Kafka {
    fn request(&self) -> Vec<u8> {
        REQUEST.to_vec()
    }

    #[inline]
    fn mark(&self, request: &mut [u8], number: u64) {
        if let Some(place) = request.get_mut(MARK..MARK + 4) {
            place.copy_from_slice(&(number as u32).to_be_bytes());
        }
    }

    #[inline]
    fn take(&mut self, octets: &[u8]) -> Taken {
        let Some((length, rest)) = octets.split_first_chunk() else { return Taken::MORE };
        let length = u32::from_be_bytes(*length) as usize;
        if !(SHORTEST..=LONGEST).contains(&length) {
            return Taken::unsound(FOREIGN);
        }
        let Some([a, b, c, d, high, low, list @ ..]) = rest.get(..length) else { return Taken::MORE };
        let kind = Kind(u16::from_be_bytes([*high, *low]));
        if kind == ANSWERED && !is_list(list) {
            return Taken::unsound("the list of what Kafka knows has another length than it says");
        }
        let sound = matches!(kind, ANSWERED | UNSUPPORTED);
        let number = Some(u32::from_be_bytes([*a, *b, *c, *d]));
        Taken::reply(4 + length, Reply { kind, sound, number, closes: false })
    }

    fn kind(&self, kind: Kind) -> Cow<'static, str> {
        // "Error Codes" of the protocol guide; they are signed.
        Cow::Borrowed(match kind.0.cast_signed() {
            0 => "ApiVersions",
            -1 => "UNKNOWN_SERVER_ERROR",
            7 => "REQUEST_TIMED_OUT",
            34 => "ILLEGAL_SASL_STATE",
            35 => "UNSUPPORTED_VERSION",
            42 => "INVALID_REQUEST",
            58 => "SASL_AUTHENTICATION_FAILED",
            code => return Cow::Owned(format!("error {code}")),
        })
    }
}

/// True where `list` is as long as the number of its entries says.
#[inline]
fn is_list(list: &[u8]) -> bool {
    let Some((count, entries)) = list.split_first_chunk() else { return false };
    (u32::from_be_bytes(*count) as usize).checked_mul(ENTRY) == Some(entries.len())
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;
    use crate::application::speech::Came;
    use crate::application::speech::tests::alike;

    /// A reply after the protocol guide, with as many entries as there are `keys`.
    fn reply(number: u32, error: i16, keys: &[u16]) -> Vec<u8> {
        let length = (SHORTEST + 4 + ENTRY * keys.len()) as u32;
        let mut octets = [length.to_be_bytes(), number.to_be_bytes()].concat();
        octets.extend(error.to_be_bytes());
        octets.extend((keys.len() as u32).to_be_bytes());
        octets.extend(keys.iter().flat_map(|key| [*key, 0, 9]).flat_map(u16::to_be_bytes));
        octets
    }

    fn came(number: u32, error: i16, sound: bool) -> Came {
        Came::Reply(Reply { kind: Kind(error.cast_unsigned()), sound, number: Some(number), closes: false })
    }

    #[test]
    fn a_request_has_its_number_in_it() {
        let mut request = Kafka.request();
        Kafka.mark(&mut request, 0x1_2345_6789);
        assert_eq!(request, b"\0\0\0\x0f\0\x12\0\0\x23\x45\x67\x89\0\x05sonde");
        assert_eq!(request.len(), 4 + usize::from(request[3]));
    }

    #[test]
    fn replies_have_a_number_and_an_error() {
        let octets = [
            reply(1, 0, &[0, 1, 2, 3, 18]),
            reply(u32::MAX, 0, &[]),
            reply(2, 35, &[18]),
            reply(3, 42, &[]),
            reply(4, -1, &[]),
        ];
        let expected =
            [came(1, 0, true), came(u32::MAX, 0, true), came(2, 35, true), came(3, 42, false), came(4, -1, false)];
        assert_eq!(alike(&Kafka, &octets.concat()), expected);
        // Before Kafka 2.4 an error may come without a list.
        assert_eq!(alike(&Kafka, b"\0\0\0\x06\0\0\0\x07\0\x23"), [came(7, 35, true)]);
    }

    #[test_case(b"HTTP/1.1 400 Bad Request\r\n", FOREIGN; "another program")]
    #[test_case(&[0x15, 3, 3, 0, 2, 2, 80], FOREIGN; "an alert of TLS")]
    #[test_case(&[0, 0, 0, 5, 0, 0, 0, 1, 0], FOREIGN; "too short for an error")]
    #[test_case(&[0, 1, 0, 1, 0], FOREIGN; "longer than is believed")]
    #[test_case(&[0xFF; 9], FOREIGN; "a negative length")]
    #[test_case(b"\0\0\0\x0a\0\0\0\x01\0\0\0\0\0\x01", "the list of what Kafka knows has another length than it says"; "a list cut short")]
    #[test_case(b"\0\0\0\x0a\0\0\0\x01\0\0\xff\xff\xff\xff", "the list of what Kafka knows has another length than it says"; "no list")]
    #[test_case(b"\0\0\0\x06\0\0\0\x01\0\0", "the list of what Kafka knows has another length than it says"; "nothing behind no error")]
    fn what_is_no_reply_is_not_taken(octets: &[u8], why: &'static str) {
        assert_eq!(alike(&Kafka, octets), [Came::Unsound(why)]);
    }

    #[test]
    fn kinds_have_the_names_of_kafka() {
        let names = [0_i16, 35, -1, 99].map(|code| Kafka.kind(Kind(code.cast_unsigned())));
        assert_eq!(names, ["ApiVersions", "UNSUPPORTED_VERSION", "UNKNOWN_SERVER_ERROR", "error 99"]);
    }
}
