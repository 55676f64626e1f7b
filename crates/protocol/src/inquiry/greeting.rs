//! Programs that speak first, by their first octets. Nothing was sent by then.

use measure::reach::Service;

use super::{Reading, bounded, plain, speech};
use crate::application::nats::Nats;
use crate::application::redis::Redis;

/// The programs that are known by a greeting.
pub const GREETERS: [Service; 3] = [Service::Nats, Service::Ssh, Service::Mysql];

/// Longest line of an SSH server's version, its end included (RFC 4253 section 4.2).
const LONGEST_LINE: usize = 255;
/// Octets of the head of a packet of MySQL.
const HEAD: usize = 4;
/// The version of the protocol in a greeting, and the first octet of an error.
const MYSQL_10: u8 = 10;
const MYSQL_ERROR: u8 = 0xFF;
/// MariaDB puts it before its version, for clients of old that would take 10 for less than 5.
const OLD_CLIENTS: &str = "5.5.5-";

/// The program that greets so.
pub fn read(octets: &[u8]) -> Reading {
    let [nats, ssh, mysql] = GREETERS.map(|service| one(service, octets));
    let readings = [nats, ssh, mysql, denied(octets)];
    let is_known = |reading: &&Reading| matches!(reading, Reading::Known { .. });
    let known =
        readings.iter().find(is_known).or_else(|| readings.iter().find(|reading| **reading == Reading::Unfinished));
    known.cloned().unwrap_or(Reading::Other)
}

/// The same where one of [`GREETERS`] is looked for.
pub fn one(service: Service, octets: &[u8]) -> Reading {
    match service {
        Service::Nats => bounded(octets, b"INFO ", |_| speech(service, &mut Nats::default(), octets)),
        Service::Ssh => bounded(octets, b"SSH-", ssh),
        Service::Mysql => mysql(octets),
        _ => Reading::Other,
    }
}

/// Redis in protected mode refuses a stranger before it is asked, and ends the connection. Else it waits for a request.
fn denied(octets: &[u8]) -> Reading {
    bounded(octets, b"-DENIED Redis", |_| speech(Service::Redis, &mut Redis, octets))
}

/// `2.0-OpenSSH_9.2p1 Debian-2` and the end of the line.
fn ssh(rest: &[u8]) -> Reading {
    let Some(end) = rest.iter().position(|octet| *octet == b'\n') else {
        return if rest.len() < LONGEST_LINE { Reading::Unfinished } else { Reading::Other };
    };
    let version = rest[..end].splitn(2, |octet| *octet == b'-').nth(1);
    version.map_or(Reading::Other, |version| Reading::known(Service::Ssh, Some(plain(version))))
}

/// A packet with the number 0: `Protocol::HandshakeV10`, or an error in its place.
fn mysql(octets: &[u8]) -> Reading {
    let Some([a, b, c, number]) = octets.first_chunk::<HEAD>() else {
        // Its length fits into two octets.
        return if octets.get(2).is_none_or(|octet| *octet == 0) { Reading::Unfinished } else { Reading::Other };
    };
    let length = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
    if *number != 0 || !(3..=super::LONGEST_ANSWER - HEAD).contains(&length) {
        return Reading::Other;
    }
    let rest = &octets[HEAD..];
    if rest.first().is_some_and(|first| ![MYSQL_10, MYSQL_ERROR].contains(first)) {
        return Reading::Other;
    }
    match rest.get(..length) {
        None => Reading::Unfinished,
        Some([MYSQL_ERROR, low, high, words @ ..]) => {
            let code = u16::from_le_bytes([*low, *high]);
            Reading::known(Service::Mysql, Some(format!("error {code}: {}", plain(words))))
        }
        Some([_, rest @ ..]) => match rest.iter().position(|octet| *octet == 0) {
            Some(end) if end > 0 => {
                let version = plain(&rest[..end]);
                let version = version.strip_prefix(OLD_CLIENTS).unwrap_or(&version).to_owned();
                Reading::known(Service::Mysql, Some(version))
            }
            _ => Reading::Other,
        },
        Some([]) => Reading::Other,
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    /// As MariaDB 10.11 greets, as far as it is looked at.
    fn mariadb() -> Vec<u8> {
        let body = b"\x0a5.5.5-10.11.19-MariaDB-0+deb12u1\0\x05\0\0\0saltsalt\0";
        [&[body.len() as u8, 0, 0, 0][..], body].concat()
    }

    #[test_case(b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", Service::Ssh, Some("OpenSSH_9.2p1 Debian-2"); "ssh")]
    #[test_case(b"SSH-1.99-Cisco\x1b-1.25\n", Service::Ssh, Some("Cisco.-1.25"); "an older one, and what a terminal would obey")]
    #[test_case(&mariadb(), Service::Mysql, Some("10.11.19-MariaDB-0+deb12u1"); "MariaDB")]
    #[test_case(b"\x0b\0\0\0\x0a8.0.36\0\x01\0\0", Service::Mysql, Some("8.0.36"); "MySQL")]
    #[test_case(b"\x0a\0\0\0\xff\x69\x04blocked", Service::Mysql, Some("error 1129: blocked"); "it is blocked")]
    #[test_case(b"INFO {\"version\":\"2.9.10\"}\r\n", Service::Nats, None; "nats")]
    #[test_case(b"-DENIED Redis is running in protected mode\r\n", Service::Redis, Some("says DENIED"); "redis that lets no stranger in")]
    fn who_speaks_first_is_known_by_it(greeting: &[u8], service: Service, state: Option<&str>) {
        for cut in 0..greeting.len() {
            assert_eq!(read(&greeting[..cut]), Reading::Unfinished, "{cut}");
        }
        assert_eq!(read(greeting), Reading::known(service, state.map(str::to_owned)));
    }

    #[test_case(b"220 mail ESMTP\r\n"; "mail")]
    #[test_case(b"* OK IMAP4\r\n"; "imap")]
    #[test_case(b"HTTP/1.1 400 Bad Request\r\n"; "http")]
    #[test_case(b"\x0b\0\0\x01\x0a8.0.36\0\x01\0\0"; "another number")]
    #[test_case(b"\x02\0\0\0\x0a8"; "too short")]
    #[test_case(b"\xff\xff\0\0\x0a8"; "too long")]
    #[test_case(b"\x04\0\0\0\x0a\0ab"; "no version")]
    #[test_case(b"\x04\0\0\0\x0aabc"; "a version without an end")]
    #[test_case(b"SSH-2.0\r\n"; "no program")]
    fn all_else_is_not(greeting: &[u8]) {
        assert_eq!(read(greeting), Reading::Other);
    }
}
