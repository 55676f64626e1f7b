//! A host and ports as they are written: `db1`, `db1:443,8000-8010`, `[fd00::2]:5202=iperf3`.

use std::str::FromStr;

use endpoint::reach::Port;
use measure::reach::{Service, Transport};
use protocol::inquiry::{ANYBODY, left_alone};

use crate::command::value::Far;

/// Ports of one check.
pub const MOST_PORTS: usize = 1_024;

/// The host that is checked, and its ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Name or address, without brackets.
    pub host: String,
    /// The ports written behind it.
    pub ports: PortList,
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let behind = if text.starts_with('[') {
            text.rfind("]:").map(|at| at + 1)
        } else {
            // More than one colon is an IPv6 address, which takes brackets to have ports.
            text.find(':').filter(|at| !text[at + 1..].contains(':'))
        };
        let (host, ports) = behind.map_or((text, None), |at| (&text[..at], Some(&text[at + 1..])));
        let Far { host, .. } = host.parse()?;
        let ports = ports.map_or_else(|| Ok(PortList::default()), str::parse)?;
        Ok(Self { host, ports })
    }
}

/// Ports in the order they were written, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortList(pub Vec<PortWish>);

/// A port, and what may be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortWish {
    /// Its number, from 1.
    pub number: u16,
    service: Wish,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Usual,
    One(Service),
    /// Whichever is there; a reflector of ours is asked for where nobody speaks first.
    Unknown,
    Any,
}

impl PortWish {
    /// A port of whoever named it to measure there: the programs that are usually there, or one of ours where none is.
    pub fn measured(number: u16) -> Self {
        let nobody = Port::usual(Transport::Tcp, number).services.is_empty() && left_alone(number).is_none();
        let apart = |service: &Service| matches!(service, Service::Ntp | Service::Sip);
        let elsewhere = Port::usual(Transport::Udp, number).services.iter().any(apart);
        Self { number, service: if nobody && !elsewhere { Wish::Unknown } else { Wish::Usual } }
    }

    /// True where the program that it is named for, or that is usually there, may be there over UDP too, or only.
    pub fn goes_over_udp(self) -> bool {
        match self.service {
            Wish::One(service) => matches!(service, Service::Echo | Service::Dns | Service::Ntp | Service::Sip),
            _ => !Port::usual(Transport::Udp, self.number).services.is_empty(),
        }
    }

    /// The port over `transport`.
    pub fn over(self, transport: Transport) -> Port {
        let services = match (transport, self.service) {
            (Transport::Udp, Wish::One(service)) if self.goes_over_udp() => vec![service],
            (Transport::Udp, Wish::One(_)) => Vec::new(),
            (_, Wish::Usual) | (Transport::Udp, _) => return Port::usual(transport, self.number),
            (_, Wish::One(Service::Stamp | Service::Ntp | Service::Sip)) => Vec::new(),
            (_, Wish::One(service)) => vec![service],
            (_, Wish::Unknown) => vec![Service::Sonde],
            (_, Wish::Any) => ANYBODY.to_vec(),
        };
        let unknown = transport == Transport::Tcp && matches!(self.service, Wish::Unknown | Wish::Any);
        Port { transport, number: self.number, services, unknown }
    }
}

impl FromStr for PortList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut ports: Vec<PortWish> = Vec::new();
        for part in text.split(',') {
            let (numbers, service) = match part.split_once('=') {
                Some((numbers, name)) => (numbers, service(name)?),
                None => (part, Wish::Usual),
            };
            let (first, last) = numbers.split_once('-').unwrap_or((numbers, numbers));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(format!("goes backwards in `{numbers}`: write the smaller port first"));
            }
            // One that somebody names by itself is one that they ask about; those of a range are only looked at.
            let service =
                if first == last && service == Wish::Usual { PortWish::measured(first).service } else { service };
            for number in first..=last {
                if ports.iter().any(|port| port.number == number) {
                    return Err(format!("names port {number} twice"));
                }
                if ports.len() == MOST_PORTS {
                    return Err(format!("is of more than {MOST_PORTS} ports, the most a check asks"));
                }
                ports.push(PortWish { number, service });
            }
        }
        Ok(Self(ports))
    }
}

fn number(text: &str) -> Result<u16, String> {
    let port = text.parse().ok().filter(|port| *port > 0);
    port.ok_or_else(|| format!("has `{text}` for a port: it goes from 1 to 65535, as in 22,80,8000-8010"))
}

/// Other names of programs.
const ALIASES: [(&str, &str); 3] = [("mariadb", "mysql"), ("postgresql", "postgres"), ("valkey", "redis")];

fn service(name: &str) -> Result<Wish, String> {
    let name = ALIASES.into_iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
    let known = Service::ALL.into_iter().find(|service| service.name() == name);
    let any = (name == "any").then_some(Wish::Any);
    known.map(Wish::One).or(any).ok_or_else(|| {
        let names: Vec<&str> = Service::ALL.into_iter().map(Service::name).collect();
        format!("has `{name}` for a program: one of {}, any", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn numbers(text: &str) -> Vec<u16> {
        text.parse::<PortList>().unwrap().0.iter().map(|port| port.number).collect()
    }

    #[test_case("db1", "db1", &[]; "a name")]
    #[test_case("db1:80", "db1", &[80]; "a port")]
    #[test_case("10.0.0.2:22,8000-8002", "10.0.0.2", &[22, 8_000, 8_001, 8_002]; "a list")]
    #[test_case("fd00::2", "fd00::2", &[]; "v6")]
    #[test_case("[fd00::2]", "fd00::2", &[]; "v6 in brackets")]
    #[test_case("[fd00::2]:7,9", "fd00::2", &[7, 9]; "v6 with ports")]
    #[test_case("fe80::1%eth0", "fe80::1%eth0", &[]; "a scope")]
    fn a_host_and_its_ports(text: &str, host: &str, ports: &[u16]) {
        let target: Target = text.parse().unwrap();
        let found: Vec<u16> = target.ports.0.iter().map(|port| port.number).collect();
        assert_eq!((target.host.as_str(), found.as_slice()), (host, ports));
    }

    #[test_case("db1:", "port"; "an empty list")]
    #[test_case("db1:0", "from 1"; "zero")]
    #[test_case("db1:65536", "65535"; "too many")]
    #[test_case("db1:80,", "port"; "an empty part")]
    #[test_case("db1:9-7", "backwards"; "backwards")]
    #[test_case("db1:80,70-90", "twice"; "twice")]
    #[test_case("db1:80=apache", "netserver"; "an unknown program")]
    #[test_case("db1:1-65535", "1024"; "all of them")]
    #[test_case(":80", "not a host"; "no host")]
    #[test_case("[fd00::2", "["; "half a bracket")]
    #[test_case("a b", "not a host"; "a space")]
    fn what_is_none_is_refused_with_a_reason(text: &str, word: &str) {
        let error = text.parse::<Target>().unwrap_err();
        assert!(error.contains(word), "{error}");
    }

    #[test]
    fn a_program_is_asked_for_where_it_is_usual_or_named() {
        let wishes = "5201,5202,5203=iperf3,5204=any,5205=stamp".parse::<PortList>().unwrap();
        let services: Vec<_> = wishes.0.iter().map(|wish| wish.over(Transport::Tcp).services).collect();
        let iperf3 = vec![Service::Iperf3];
        assert_eq!(services, [iperf3.clone(), vec![Service::Sonde], iperf3, ANYBODY.to_vec(), vec![]]);
        let range = "5203-5204".parse::<PortList>().unwrap();
        assert!(range.0.iter().all(|wish| wish.over(Transport::Tcp).services.is_empty()));
        assert!(wishes.0.iter().all(|wish| wish.over(Transport::Udp).services.is_empty()));
        assert_eq!(numbers("1,3-4"), [1, 3, 4]);
    }

    #[test]
    fn a_port_that_is_measured_is_asked_for_whoever_may_be_there() {
        let asked = |number| {
            let port = PortWish::measured(number).over(Transport::Tcp);
            (port.services, port.unknown)
        };
        assert_eq!(asked(6_379), (vec![Service::Redis], false));
        assert_eq!(asked(8_443), (vec![Service::Https], false));
        assert_eq!(asked(5_060), (vec![], false), "over UDP alone");
        assert_eq!(asked(9_999), (vec![Service::Sonde], true));
        // A printer prints what it gets, and time is told over UDP.
        assert_eq!((asked(9_100), asked(123)), ((vec![], false), (vec![], false)));
        let named = |text: &str| text.parse::<PortList>().unwrap().0[0];
        assert_eq!(named("9100=http").over(Transport::Tcp).services, [Service::Http]);
        assert!(named("9999=any").over(Transport::Tcp).unknown);
        for (text, service) in [
            ("53", Service::Dns),
            ("5353=dns", Service::Dns),
            ("123", Service::Ntp),
            ("9=ntp", Service::Ntp),
            ("5060", Service::Sip),
        ] {
            assert_eq!((named(text).goes_over_udp(), named(text).over(Transport::Udp).services), (true, vec![service]));
        }
        assert!(!named("6379").goes_over_udp());
        let names = ["1=https", "1=mariadb", "1=valkey"].map(|text| named(text).over(Transport::Tcp).services[0]);
        assert_eq!(names, [Service::Https, Service::Mysql, Service::Redis]);
    }
}
