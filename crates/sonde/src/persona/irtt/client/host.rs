//! Addresses as Go's library reads them: a host and a port, one in brackets where it has colons of its own.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use endpoint::error::{Cause, EndpointError};
use endpoint::name::{self, Family};
use endpoint::stop::Stop;

use crate::persona::process;

/// Host and port of a text without a port have `usual`.
pub fn with_port(text: &str, usual: u16) -> String {
    if split(text).is_ok() { text.to_owned() } else { format!("{text}:{usual}") }
}

/// Host and port.
fn split(text: &str) -> Result<(&str, &str), &'static str> {
    let (before, port) = text.rsplit_once(':').ok_or("missing port in address")?;
    let host = match before.strip_prefix('[') {
        Some(_) if !text.contains(']') => return Err("missing ']' in address"),
        Some(open) => open.strip_suffix(']').ok_or("missing port in address")?,
        None if before.contains(':') => return Err("too many colons in address"),
        None => before,
    };
    if host.contains(['[', ']']) || port.contains(['[', ']']) {
        return Err("unexpected bracket in address");
    }
    Ok((host, port))
}

/// The address of a host and port. Of several that fit, an IPv4 address is taken, and an IPv6 address where the host stands in
/// brackets. Without a host it is that of any, as which an end of its own stands.
///
/// # Errors
/// The words of the original, but for the name server; absent where `stop` was asked for.
pub fn resolve(text: &str, family: Family, stop: &Stop) -> Result<SocketAddr, Option<String>> {
    let (host, port) = split(text).map_err(|why| Some(format!("address {text}: {why}")))?;
    let port = self::port(port).map_err(Some)?;
    if host.is_empty() {
        let any = if family == Family::V6 { IpAddr::from(Ipv6Addr::UNSPECIFIED) } else { Ipv4Addr::UNSPECIFIED.into() };
        return Ok(SocketAddr::new(any, port));
    }
    let found = name::look_up_all(host, port, family, stop).map_err(|error| unknown(host, &error))?;
    let is_wanted = |address: &&SocketAddr| address.is_ipv6() == text.starts_with('[');
    let best = found.iter().find(is_wanted).or_else(|| found.first());
    best.copied().ok_or_else(|| Some(format!("address {host}: no suitable address found")))
}

fn port(text: &str) -> Result<u16, String> {
    let are_digits = !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_digit());
    match text.parse() {
        Ok(port) if are_digits => Ok(port),
        _ if text.is_empty() => Ok(0),
        _ if are_digits => Err(format!("address {text}: invalid port")),
        _ => Err(format!("address udp/{text}: unknown port")),
    }
}

fn unknown(host: &str, error: &EndpointError) -> Option<String> {
    let said = match &error.cause {
        Cause::Stopped => return None,
        Cause::System(cause) if cause.kind() == io::ErrorKind::NotFound => {
            return Some(format!("address {host}: no suitable address found"));
        }
        Cause::System(cause) => process::said(cause),
        other => other.to_string(),
    };
    let said = said.strip_prefix("failed to lookup address information: ").unwrap_or(&said).to_lowercase();
    let said = if said == "name or service not known" { "no such host" } else { &said };
    Some(format!("lookup {host}: {said}"))
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case("db1", "db1:2112"; "a name")]
    #[test_case("db1:9", "db1:9"; "a name and a port")]
    #[test_case("[::1]", "[::1]:2112"; "an address in brackets")]
    #[test_case("[::1]:9", "[::1]:9"; "the same and a port")]
    #[test_case("::1", "::1:2112"; "an address without them")]
    fn a_host_without_a_port_has_the_usual_one(text: &str, whole: &str) {
        assert_eq!(with_port(text, 2_112), whole);
    }

    fn of(text: &str, family: Family) -> Result<String, String> {
        resolve(text, family, &Stop::default()).map(|found| found.to_string()).map_err(Option::unwrap)
    }

    #[test]
    fn addresses_are_their_own_names() {
        assert_eq!(of("127.0.0.1:9", Family::Any), Ok("127.0.0.1:9".to_owned()));
        assert_eq!(of("[::1]:9", Family::V6), Ok("[::1]:9".to_owned()));
        assert_eq!(of(":9", Family::Any), Ok("0.0.0.0:9".to_owned()));
        assert_eq!(of(":0", Family::V6), Ok("[::]:0".to_owned()));
    }

    #[test_case("::1:2112", Family::Any, "address ::1:2112: too many colons in address"; "no brackets")]
    #[test_case("127.0.0.1:http", Family::Any, "address udp/http: unknown port"; "a service")]
    #[test_case("127.0.0.1:99999", Family::Any, "address 99999: invalid port"; "too large a port")]
    #[test_case("127.0.0.1:9", Family::V6, "address 127.0.0.1: no suitable address found"; "another version")]
    #[test_case("[::1]:9", Family::V4, "address ::1: no suitable address found"; "the other")]
    #[test_case("[::1", Family::V4, "address [::1: missing ']' in address"; "an open bracket")]
    fn others_are_told_in_the_words_of_the_original(text: &str, family: Family, said: &str) {
        assert_eq!(of(text, family), Err(said.to_owned()));
    }
}
