//! The addresses that a server listens at, from the words of `-b`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use endpoint::name::{self, Family};
use endpoint::socket::own::{self, Interface};
use endpoint::stop::Stop;
use protocol::irtt::PORT;
use protocol::irtt::fill::fits;

use crate::persona::irtt::server::options::Versions;

/// All addresses, in the order in which the original listens at them.
///
/// # Errors
/// Words that lead to none, in the words of the original.
pub fn resolve(words: &[String], versions: Versions) -> Result<Vec<SocketAddr>, String> {
    let interfaces = || own::interfaces().map_err(|error| format!("Error: {error}"));
    let mut all = Vec::new();
    for word in words {
        match interface(word) {
            Some((pattern, service)) => all.extend(of_interfaces(pattern, service, versions, &interfaces()?)?),
            None => all.extend(families(versions).iter().filter_map(|family| of_host(word, *family))),
        }
    }
    all.sort_by_key(order);
    all.dedup();
    let is_any = |port: u16, any: bool| all.iter().any(|one| one.port() == port && one.ip().is_unspecified() == any);
    let is_mixed = |port: &u16| is_any(*port, true) && is_any(*port, false);
    if let Some(port) = all.iter().map(SocketAddr::port).find(is_mixed) {
        return Err(format!(
            "[UnspecifiedWithSpecifiedAddresses] invalid combination of unspecified and specified IP addresses port {port}"
        ));
    }
    if all.is_empty() {
        let versions = match versions {
            Versions::V4 => "IPv4",
            Versions::V6 => "IPv6",
            Versions::Both => "IPv4+6",
        };
        return Err(format!("[NoSuitableAddressFound] no suitable {versions} address found"));
    }
    Ok(all)
}

/// Addresses of IPv4 stand among those of IPv6 as mapped ones.
fn order(address: &SocketAddr) -> ([u8; 16], u16, u32) {
    let scope = if let SocketAddr::V6(address) = address { address.scope_id() } else { 0 };
    let octets = match address.ip() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
        IpAddr::V6(ip) => ip.octets(),
    };
    (octets, address.port(), scope)
}

fn families(versions: Versions) -> &'static [Family] {
    match versions {
        Versions::V4 => &[Family::V4],
        Versions::V6 => &[Family::V6],
        Versions::Both => &[Family::V4, Family::V6],
    }
}

/// The first address of a host in a family; `None`: it has none.
fn of_host(word: &str, family: Family) -> Option<SocketAddr> {
    let (host, port) = host_and_port(word)?;
    let any: IpAddr = if family == Family::V4 { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    if host.is_empty() {
        return Some(SocketAddr::new(any, port));
    }
    name::look_up(host, port, family, &Stop::default()).ok()
}

/// A host without its brackets, and its port or the usual one. An address of IPv6 may stand without brackets where it has no port, as
/// later versions take it.
fn host_and_port(word: &str) -> Option<(&str, u16)> {
    let is_v6 = word.parse::<Ipv6Addr>().is_ok();
    let (host, port) = match word.rsplit_once(':') {
        Some((host, port)) if !is_v6 && !word.ends_with(']') => (host, port.parse().ok()?),
        _ => (word, PORT),
    };
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let is_whole = is_v6 || bare.is_some() || !host.contains(':');
    is_whole.then_some((bare.unwrap_or(host), port))
}

/// The pattern of names of a word that asks for interfaces, and the port behind it.
fn interface(word: &str) -> Option<(&str, Option<&str>)> {
    let rest = word.strip_prefix('%')?;
    let (pattern, port) = rest.split_once(':').map_or((rest, None), |(pattern, port)| (pattern, Some(port)));
    let is_one = !pattern.is_empty() && port.is_none_or(|port| !port.is_empty() && !port.contains(':'));
    is_one.then_some((pattern, port))
}

/// The addresses of those interfaces whose names fit a pattern.
fn of_interfaces(
    pattern: &str,
    port: Option<&str>,
    versions: Versions,
    all: &[Interface],
) -> Result<Vec<SocketAddr>, String> {
    let port =
        port.map_or(Ok(PORT), |port| port.parse().map_err(|_| format!("Error: lookup udp/{port}: unknown port")))?;
    let fitting: Vec<&Interface> = all.iter().filter(|one| fits(pattern, &one.name)).collect();
    if fitting.is_empty() {
        return Err(format!("[NoMatchingInterfaces] {pattern} does not match any interfaces"));
    }
    if !fitting.iter().any(|one| one.is_up) {
        return Err(format!("[NoMatchingInterfacesUp] no interfaces matching {pattern} are up"));
    }
    let is_wanted = |address: &SocketAddr| match versions {
        Versions::V4 => address.is_ipv4(),
        Versions::V6 => address.is_ipv6(),
        Versions::Both => true,
    };
    let at_port = |mut address: SocketAddr| {
        address.set_port(port);
        address
    };
    let addresses = fitting.iter().filter(|one| one.is_up).filter_map(|one| one.address);
    Ok(addresses.filter(is_wanted).map(at_port).collect())
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case(":2112", Some(("", 2_112)); "a port")]
    #[test_case("db1", Some(("db1", 2_112)); "a name")]
    #[test_case("db1:5", Some(("db1", 5)); "a name and a port")]
    #[test_case("[::1]", Some(("::1", 2_112)); "an address of v6")]
    #[test_case("[fe80::1%eth0]:5", Some(("fe80::1%eth0", 5)); "the same with a scope and a port")]
    #[test_case("::1", Some(("::1", 2_112)); "the same without brackets")]
    #[test_case("db1:", None; "no port")]
    #[test_case("db1:70000", None; "no such port")]
    #[test_case("a:b:5", None; "several colons")]
    #[test_case("", Some(("", 2_112)); "nothing")]
    fn a_host_may_have_a_port(word: &str, expected: Option<(&str, u16)>) {
        assert_eq!(host_and_port(word), expected);
    }

    #[test_case("%lo", Some(("lo", None)); "an interface")]
    #[test_case("%e*:5", Some(("e*", Some("5"))); "several and a port")]
    #[test_case("%", None; "nothing")]
    #[test_case("%lo:", None; "no port")]
    #[test_case("%lo:5:6", None; "two ports")]
    #[test_case("lo", None; "a host")]
    fn an_interface_may_have_a_port(word: &str, expected: Option<(&str, Option<&str>)>) {
        assert_eq!(interface(word), expected);
    }

    fn resolved(words: &str, versions: Versions) -> Result<Vec<String>, String> {
        let words: Vec<String> = words.split(',').map(str::to_owned).collect();
        resolve(&words, versions).map(|all| all.iter().map(ToString::to_string).collect())
    }

    #[test_case(":5", Versions::Both, &["[::]:5", "0.0.0.0:5"]; "everywhere")]
    #[test_case(":5", Versions::V6, &["[::]:5"]; "everywhere by v6")]
    #[test_case("127.0.0.2:5,[::1]:5,127.0.0.2:5", Versions::Both, &["[::1]:5", "127.0.0.2:5"]; "two hosts, each once")]
    #[test_case("127.0.0.2,[::1]", Versions::V4, &["127.0.0.2:2112"]; "of one version")]
    #[test_case(":5,127.0.0.1:6", Versions::V4, &["0.0.0.0:5", "127.0.0.1:6"]; "at another port")]
    fn addresses_are_in_their_order(words: &str, versions: Versions, expected: &[&str]) {
        assert_eq!(resolved(words, versions).expect("addresses"), expected);
    }

    #[test_case("[::1]", Versions::V4, "[NoSuitableAddressFound] no suitable IPv4 address found"; "of the other version")]
    #[test_case("a:b:c", Versions::Both, "[NoSuitableAddressFound] no suitable IPv4+6 address found"; "no address")]
    #[test_case(":5,127.0.0.1:5", Versions::V4, "[UnspecifiedWithSpecifiedAddresses] invalid combination of unspecified and specified IP addresses port 5"; "all and one")]
    fn words_without_addresses_are_complained_of(words: &str, versions: Versions, said: &str) {
        assert_eq!(resolved(words, versions), Err(said.to_owned()));
    }

    fn of(pattern: &str, port: Option<&str>, versions: Versions) -> Result<Vec<String>, String> {
        let one = |name: &str, is_up: bool, address: Option<&str>| Interface {
            name: name.to_owned(),
            is_up,
            address: address.map(|address| SocketAddr::new(address.parse().unwrap(), 0)),
        };
        let all = [
            one("eth0", true, None),
            one("eth0", true, Some("192.0.2.1")),
            one("eth1", true, Some("2001:db8::1")),
            one("eth2", false, Some("192.0.2.2")),
        ];
        let addresses = of_interfaces(pattern, port, versions, &all)?;
        Ok(addresses.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn interfaces_have_addresses() {
        let strings = |all: &[&str]| Ok(all.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(of("eth0", None, Versions::Both), strings(&["192.0.2.1:2112"]));
        assert_eq!(of("eth*", Some("5"), Versions::Both), strings(&["192.0.2.1:5", "[2001:db8::1]:5"]));
        assert_eq!(of("eth*", Some("5"), Versions::V6), strings(&["[2001:db8::1]:5"]));
        let fails = |said: &str| Err(said.to_owned());
        assert_eq!(of("x*", None, Versions::V4), fails("[NoMatchingInterfaces] x* does not match any interfaces"));
        assert_eq!(
            of("eth2", None, Versions::V4),
            fails("[NoMatchingInterfacesUp] no interfaces matching eth2 are up")
        );
        assert_eq!(of("eth0", Some("x"), Versions::V4), fails("Error: lookup udp/x: unknown port"));
    }
}
