//! The ways by which a host is asked: those named, or those that answer.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use measure::reach::{AddressReach, PortFinding, Reach, Seen, Service, ServiceFinding, Transport, Verdict};
use serde::Deserialize;

use crate::options::Protocol;

/// The port of `sonde serve` where none is named.
const PORT: u16 = 7663;

/// One way of asking one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// The host as it was typed, or a URL that says what is spoken there.
    pub host: String,
    /// Protocol of its requests.
    pub protocol: Protocol,
}

impl Way {
    /// The way of a program at work, where `host` is a URL.
    pub fn of_url(host: &str) -> Option<Self> {
        host.contains("://").then(|| Self { host: host.to_owned(), protocol: Protocol::Application })
    }

    /// The protocol in a word: of a URL its scheme.
    pub fn word(&self) -> &str {
        let scheme = self.host.split_once("://").map(|(scheme, _)| scheme);
        scheme.unwrap_or_else(|| self.protocol.word())
    }

    /// The name for people: `db1 tcp`, `redis://db1`. Nothing in it reaches a terminal as it is.
    pub fn named(&self) -> String {
        let host = report::markup::visible(&self.host);
        match self.protocol {
            Protocol::Application => host,
            protocol => format!("{host} {}", protocol.word()),
        }
    }

    /// The host alone.
    pub fn peer(&self) -> &str {
        let Some((_, rest)) = self.host.split_once("://") else { return parted(&self.host).0 };
        let place = rest.split(['/', '?', '#']).next().unwrap_or(rest);
        parted(place.rsplit_once('@').map_or(place, |(_, place)| place)).0
    }

    /// True where the kernel's timestamps of a reply are this reply's: not of handshakes, nor of what has no one segment.
    pub fn is_stamped(&self) -> bool {
        match self.protocol {
            Protocol::TcpConnect => false,
            Protocol::Application => matches!(self.word(), "dns" | "ntp" | "quic" | "sip"),
            Protocol::Tcp | Protocol::Udp | Protocol::Icmp => true,
        }
    }
}

/// Output of `sonde check --json`, as far as it is read here.
#[derive(Debug, Deserialize)]
struct Checked {
    check: Reach,
}

/// The ways by which `host` answers, in the order they are shown. Asks with `sonde check`.
///
/// # Errors
/// The program cannot be run, or says that the host cannot be asked; nothing answers.
pub fn of(host: &str, sonde: &Path) -> Result<Vec<Way>> {
    let (name, port) = parted(host);
    let ports = format!("{port}=sonde");
    let output = Command::new(sonde)
        .args(["check", name, "--tcp", &ports, "--json", "--quiet", "--timeout", "500ms"])
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run {}", sonde.display()))?;
    let Ok(Checked { check }) = serde_json::from_slice::<Checked>(&output.stdout) else {
        bail!("cannot ask {host}: {}", String::from_utf8_lossy(&output.stderr).trim());
    };
    let ways: Vec<Way> = check.addresses.first().map_or_else(Vec::new, |address| {
        answering(address).into_iter().map(|protocol| Way { host: host.to_owned(), protocol }).collect()
    });
    if ways.is_empty() {
        bail!("{host} answers neither ICMP echo nor at TCP port {port}; name a way by --protocol to watch for it");
    }
    Ok(ways)
}

/// Protocols by which an address answers. Where `sonde` serves there is no need of a handshake.
fn answering(address: &AddressReach) -> Vec<Protocol> {
    let served =
        |port: &PortFinding| matches!(port.service, Some(ServiceFinding::Known { service: Service::Sonde, .. }));
    let tcp = || address.ports.iter().filter(|port| port.transport == Transport::Tcp);
    let mut found = Vec::new();
    if tcp().any(served) {
        found.extend([Protocol::Tcp, Protocol::Udp]);
    } else if tcp().any(|port| port.verdict == Verdict::Open) {
        found.push(Protocol::TcpConnect);
    }
    if matches!(address.echo, Seen::Answer { .. }) {
        found.push(Protocol::Icmp);
    }
    found
}

/// A host and its port, as `db1:7800`, `[::1]:7800` or without.
pub fn parted(host: &str) -> (&str, u16) {
    let of = |name, port: &str| port.parse().ok().map(|port| (name, port));
    let bracketed =
        host.strip_prefix('[').and_then(|rest| rest.split_once("]:")).and_then(|(name, port)| of(name, port));
    let plain =
        || host.rsplit_once(':').filter(|(name, _)| !name.contains(':')).and_then(|(name, port)| of(name, port));
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    bracketed.or_else(plain).unwrap_or((bare, PORT))
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case("redis://db1", Some(("redis", "db1")))]
    #[test_case("https://api:8443/health?deep=1", Some(("https", "api")))]
    #[test_case("postgres://me@[::1]:5433/shop", Some(("postgres", "::1")))]
    #[test_case("dns://10.0.0.53/a@b", Some(("dns", "10.0.0.53")); "a name that is none of a user")]
    #[test_case("db1:7800", None; "a host")]
    fn a_url_is_a_way_of_its_own(host: &str, expected: Option<(&str, &str)>) {
        let way = Way::of_url(host);
        assert_eq!(way.as_ref().map(|way| (way.word(), way.peer())), expected);
        assert!(way.is_none_or(|way| way.named() == host));
    }

    #[test_case("db1", "db1", 7_663)]
    #[test_case("db1:7800", "db1", 7_800)]
    #[test_case("[fe80::1%eth0]:7800", "fe80::1%eth0", 7_800)]
    #[test_case("[::1]", "::1", 7_663)]
    #[test_case("2001:db8::1", "2001:db8::1", 7_663; "an address alone")]
    fn a_host_and_its_port(host: &str, name: &str, port: u16) {
        assert_eq!(parted(host), (name, port));
    }
}
