//! Packets of a session as both a login and a statement read them: an answer, an error, and others.

use crate::application::speech::{Kind, Reply, Taken};

/// Longest packet that is believed: greetings, proofs, and errors of 512 octets come here.
pub(super) const LONGEST: usize = 4_096;
/// First octets of packets.
pub(super) const OK: u8 = 0;
pub(super) const ERROR: u8 = 0xFF;
/// Shortest `OK`: rows, identifier, status and warnings behind its first octet.
pub(super) const SHORTEST_OK: usize = 7;

/// Words for octets that are no reply.
pub(super) const FOREIGN: &str = "the reply is none of MySQL";
pub(super) const DISORDER: &str = "a packet of MySQL is out of order";

/// The kind of an answer; others are the numbers of errors, which begin at 1,000.
pub(super) const ANSWERED: Kind = Kind(0);
pub(super) const RESULT: Kind = Kind(1);
/// Errors that are told apart by their names; all are by their numbers.
pub(super) const ERRORS: [(u16, &str); 15] = [
    (1040, "1040 ER_CON_COUNT_ERROR"),
    (1045, "1045 ER_ACCESS_DENIED_ERROR"),
    (1047, "1047 ER_UNKNOWN_COM_ERROR"),
    (1053, "1053 ER_SERVER_SHUTDOWN"),
    (1129, "1129 ER_HOST_IS_BLOCKED"),
    (1152, "1152 ER_ABORTING_CONNECTION"),
    (1156, "1156 ER_NET_PACKETS_OUT_OF_ORDER"),
    (1158, "1158 ER_NET_READ_ERROR"),
    (1159, "1159 ER_NET_READ_INTERRUPTED"),
    (1160, "1160 ER_NET_ERROR_ON_WRITE"),
    (1161, "1161 ER_NET_WRITE_INTERRUPTED"),
    (1184, "1184 ER_NEW_ABORTING_CONNECTION"),
    (1317, "1317 ER_QUERY_INTERRUPTED"),
    (1927, "1927 ER_CONNECTION_KILLED"),
    (4031, "4031 ER_CLIENT_INTERACTION_TIMEOUT"),
];
/// Errors after which a session continues.
const PASSING: [u16; 2] = [1047, 1317];

/// A reply within a session.
#[inline]
pub(super) fn reply(body: &[u8], octets: usize) -> Taken {
    match body {
        [OK, ..] if body.len() >= SHORTEST_OK => Taken::reply(octets, Reply::answered(ANSWERED)),
        [ERROR, low, high, ..] if [*low, *high] != [0; 2] => {
            let number = u16::from_le_bytes([*low, *high]);
            let ends = !PASSING.contains(&number) && ERRORS.iter().any(|(known, _)| *known == number);
            Taken::reply(octets, Reply { closes: ends, ..Reply::refused(Kind(number)) })
        }
        _ => Taken::unsound(FOREIGN),
    }
}
