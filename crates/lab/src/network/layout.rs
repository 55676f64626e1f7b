//! Namespaces, cables, addresses and routes of a lab. No I/O: lines for `ip -batch` and `tc -batch` come out.
//!
//! Where no way is worse than another all hosts lie on one bridge. Otherwise each zone, or the one host that is meant, has a bridge
//! and a network of its own, and the switch routes between them: what goes between the two ends goes through a link of our forwarder,
//! by rules that look where packets come from, so that everything else, and control, passes beside it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use logbook::failure::Failure;
use logbook::host::{Host, Reach};

use crate::network::ours;
use crate::network::plan::{Ends, MOST, Wanted, is_name};

/// First part of the name of every namespace of a lab; its name and a host's follow.
pub const PREFIX: &str = "sondelab-";
/// The last octet of a switch's address in each network.
const GATEWAY: u8 = 254;
/// The segment of a host that is alone.
const ALONE: u8 = 200;
/// Longest time of a packet in the queue of a cable with a rate.
const WAIT: &str = "50ms";

/// A lab, drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Its name.
    pub id: String,
    /// Its hosts, in order.
    pub seats: Vec<Seat>,
    /// Numbers of its networks, in order.
    segments: Vec<u8>,
    /// The ends of the worse way, as networks.
    worse: Option<(u8, Option<u8>)>,
    rate: Option<u64>,
}

/// The place of one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Its name, as `h3`.
    pub name: String,
    /// Its zone, as `z2`.
    pub zone: Option<String>,
    segment: u8,
    number: u8,
}

impl Seat {
    /// Its IPv4 address.
    pub fn v4(&self) -> Ipv4Addr {
        v4(self.segment, self.number)
    }

    /// Its IPv6 address.
    pub fn v6(&self) -> Ipv6Addr {
        v6(self.segment, self.number)
    }
}

fn v4(segment: u8, number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 182, segment, number)
}

fn v6(segment: u8, number: u8) -> Ipv6Addr {
    Ipv6Addr::new(0xfd00, 0x50de, 0xb6, segment.into(), 0, 0, 0, number.into())
}

impl Layout {
    /// The layout of `wanted`.
    ///
    /// # Errors
    /// Wishes that make no sense: hosts or zones beyond the bounds, ends that are not there.
    pub fn of(wanted: &Wanted) -> Result<Self, Failure> {
        let fault = |what: String, hint: &str| Err(ours(&wanted.id, what, hint));
        if !is_name(&wanted.id) {
            return fault("is no name of a lab".to_owned(), "1 to 16 lowercase letters and digits");
        }
        if !(1..=MOST).contains(&wanted.hosts) {
            return fault(format!("cannot have {} hosts", wanted.hosts), "1 to 100 are possible");
        }
        if wanted.zones.is_some_and(|zones| !(1..=wanted.hosts).contains(&zones)) {
            return fault("cannot have so many zones".to_owned(), "1 to as many as there are hosts");
        }
        let mut seats: Vec<Seat> = (1..=wanted.hosts).map(|number| seat(number, wanted.zones)).collect();
        let worse = match wanted.worse.as_ref().map(|worse| &worse.ends) {
            None => None,
            Some(Ends::Host(name)) => {
                let Some(seat) = seats.iter_mut().find(|seat| seat.name == *name) else {
                    return fault(format!("has no host {name}"), "hosts are called h1, h2, and so on");
                };
                seat.segment = ALONE;
                Some((ALONE, None))
            }
            Some(Ends::Zones(one, other)) => {
                let zones: BTreeMap<String, u8> =
                    (1..=wanted.zones.unwrap_or(0)).map(|zone| (format!("z{zone}"), zone as u8)).collect();
                let (Some(first), Some(second)) = (zones.get(one), zones.get(other)) else {
                    return fault(
                        format!("has no zones {one} and {other}"),
                        "zones are called z1, z2, …: give --zones",
                    );
                };
                if first == second {
                    return fault(format!("cannot have a way from {one} to itself"), "name two zones");
                }
                for seat in &mut seats {
                    seat.segment = seat.zone.as_ref().and_then(|zone| zones.get(zone)).copied().unwrap_or_default();
                }
                Some((*first, Some(*second)))
            }
        };
        let mut segments: Vec<u8> = seats.iter().map(|seat| seat.segment).collect();
        segments.sort_unstable();
        segments.dedup();
        Ok(Self { id: wanted.id.clone(), seats, segments, worse, rate: wanted.rate })
    }

    /// Returns true where there is a worse way.
    pub fn is_worse(&self) -> bool {
        self.worse.is_some()
    }

    /// The namespace that the bridge lies in.
    pub fn switch(&self) -> String {
        self.namespace("switch")
    }

    /// The namespace of a host.
    pub fn namespace(&self, host: &str) -> String {
        format!("{}{host}", prefix(&self.id))
    }

    /// All of its namespaces, the switch first.
    pub fn namespaces(&self) -> Vec<String> {
        let hosts = self.seats.iter().map(|seat| self.namespace(&seat.name));
        std::iter::once(self.switch()).chain(hosts).collect()
    }

    /// Lines that make the bridges, in the switch.
    pub fn bridges(&self) -> String {
        let mut lines = "link set dev lo up\n".to_owned();
        for &segment in &self.segments {
            // No snooping: nobody here asks who listens to a group, and neighbours of IPv6 are found by groups.
            let _ = write!(
                lines,
                "link add name br{segment} type bridge mcast_snooping 0\n\
                 link set dev br{segment} addrgenmode none\n\
                 link set dev br{segment} up\n\
                 address add {}/24 dev br{segment}\n\
                 address add {}/64 dev br{segment} nodad\n\
                 address add fe80::fe/64 dev br{segment} nodad\n",
                v4(segment, GATEWAY),
                v6(segment, GATEWAY),
            );
        }
        lines
    }

    /// Lines that lead a cable from the switch to a host.
    pub fn cable(&self, seat: &Seat) -> String {
        let (name, segment) = (&seat.name, seat.segment);
        format!(
            "link add name {name} type veth peer name eth0 netns {}\n\
             link set dev {name} addrgenmode none\n\
             link set dev {name} master br{segment}\n\
             link set dev {name} up\n",
            self.namespace(name)
        )
    }

    /// Lines that make a host's end of it usable.
    pub fn interface(&self, seat: &Seat) -> String {
        let mut lines = "link set dev lo up\nlink set dev eth0 addrgenmode none\nlink set dev eth0 up\n".to_owned();
        // Without detection of duplicates an IPv6 address is usable at once.
        let _ = write!(lines, "address add {}/24 dev eth0\naddress add {}/64 dev eth0 nodad\n", seat.v4(), seat.v6());
        if self.segments.len() > 1 {
            let (v4, v6) = (v4(seat.segment, GATEWAY), v6(seat.segment, GATEWAY));
            let _ = write!(lines, "route add default via {v4} dev eth0\nroute add default via {v6} dev eth0\n");
        }
        lines
    }

    /// The line of `tc` that bounds what leaves by `interface`; `None`: there is no rate.
    pub fn bound(&self, interface: &str) -> Option<String> {
        let rate = self.rate?;
        // As much as the cable takes in 5 ms, and never less than one large segment: a timer that is late loses nothing.
        let burst = (rate / 8 / 200).max(65_536);
        Some(format!("qdisc add dev {interface} root tbf rate {rate}bit burst {burst} latency {WAIT}\n"))
    }

    /// Lines that lead packets between the two ends through the link, of IPv4 and of IPv6; none where no way is worse.
    pub fn rules(&self) -> Option<[String; 2]> {
        let (one, other) = self.worse?;
        let v4 = |segment: Option<u8>| segment.map_or("10.182.0.0/16".to_owned(), |it| format!("{}/24", v4(it, 0)));
        let v6 = |segment: Option<u8>| segment.map_or("fd00:50de:b6::/48".to_owned(), |it| format!("{}/64", v6(it, 0)));
        Some([rules(&v4(Some(one)), &v4(other)), rules(&v6(Some(one)), &v6(other))])
    }

    /// Lines that give these rules their way, when the link is there.
    pub fn link_routes() -> [String; 2] {
        ["10.182.0.0/16", "fd00:50de:b6::/48"]
            .map(|all| format!("route add {all} dev {LINK}0 table {THERE}\nroute add {all} dev {LINK}1 table {BACK}\n"))
    }

    /// The hosts as they are listed; `reach` tells how one is reached.
    pub fn hosts(&self, machine: &str, reach: impl Fn(&Seat) -> Reach) -> Vec<Host> {
        let labels = |seat: &Seat| {
            let zone = seat.zone.iter().map(|zone| ("zone".to_owned(), zone.clone()));
            zone.chain([("lab".to_owned(), self.id.clone())]).collect()
        };
        let host = |seat: &Seat| Host {
            name: seat.name.clone(),
            reach: reach(seat),
            internal: Some(IpAddr::V4(seat.v4()).into()),
            external: None,
            labels: labels(seat),
            machine: Some(machine.to_owned()),
        };
        self.seats.iter().map(host).collect()
    }
}

/// Common beginning of the names of all namespaces of a lab. A lab's name has no hyphen, so that of no lab begins another's.
pub fn prefix(id: &str) -> String {
    format!("{PREFIX}{id}-")
}

/// Name of the link's interfaces, with a 0 behind it at the first end and a 1 at the other.
pub const LINK: &str = "link";
/// Tables of routes: what goes into the link at the first end, and at the other.
const THERE: u32 = 101;
const BACK: u32 = 102;

/// Rules of the switch's routing: packets that came out of the link, and those of the switch itself, go on as they would
/// without.
fn rules(one: &str, other: &str) -> String {
    let mut lines = String::new();
    for (order, from) in ["lo", "link0", "link1"].into_iter().enumerate() {
        let _ = writeln!(lines, "rule add iif {from} lookup main pref {}", 90 + order);
    }
    for (order, (from, to, table)) in [(one, other, THERE), (other, one, BACK)].into_iter().enumerate() {
        // Where the link is gone packets are refused: a way that is silently better would be a lie.
        let _ = write!(
            lines,
            "rule add from {from} to {to} lookup {table} pref {}\n\
             route add unreachable default table {table} metric 4000\n",
            110 + order
        );
    }
    lines
}

fn seat(number: u16, zones: Option<u16>) -> Seat {
    let zone = zones.map(|zones| format!("z{}", (number - 1) % zones + 1));
    Seat { name: format!("h{number}"), zone, segment: 0, number: number as u8 }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use test_case::test_case;

    use super::*;
    use crate::network::plan::Worse;

    fn wanted(hosts: u16, zones: Option<u16>, ends: Option<Ends>) -> Wanted {
        let worse = ends.map(|ends| Worse { ends, words: Vec::new() });
        Wanted { id: "a1".into(), hosts, zones, rate: None, ssh: false, worse, program: "/bin/true".into() }
    }

    #[test]
    fn a_hundred_hosts_have_names_and_addresses_of_their_own() {
        let layout = Layout::of(&wanted(100, Some(7), None)).unwrap();
        let distinct = |of: &dyn Fn(&Seat) -> String| layout.seats.iter().map(of).collect::<BTreeSet<_>>().len();
        assert_eq!(distinct(&|seat| seat.v4().to_string()), 100);
        assert_eq!(distinct(&|seat| seat.v6().to_string()), 100);
        assert_eq!(layout.namespaces().len(), 101);
        assert_eq!(layout.segments, [0]);
        let zones: Vec<_> = layout.seats.iter().take(8).map(|seat| seat.zone.clone().unwrap()).collect();
        assert_eq!(zones, ["z1", "z2", "z3", "z4", "z5", "z6", "z7", "z1"]);
    }

    #[test]
    fn zones_with_a_worse_way_between_them_have_networks_of_their_own() {
        let layout = Layout::of(&wanted(4, Some(2), Some(Ends::Zones("z1".into(), "z2".into())))).unwrap();
        let addresses: Vec<_> = layout.seats.iter().map(|seat| seat.v4().to_string()).collect();
        assert_eq!(addresses, ["10.182.1.1", "10.182.2.2", "10.182.1.3", "10.182.2.4"]);
        assert!(layout.interface(&layout.seats[1]).contains("route add default via 10.182.2.254"));
        let [v4, v6] = layout.rules().unwrap();
        assert!(v4.contains("rule add from 10.182.1.0/24 to 10.182.2.0/24 lookup 101"), "{v4}");
        assert!(v6.contains("rule add from fd00:50de:b6:2::/64 to fd00:50de:b6:1::/64 lookup 102"), "{v6}");
    }

    #[test]
    fn one_host_with_a_worse_way_is_alone() {
        let layout = Layout::of(&wanted(3, None, Some(Ends::Host("h2".into())))).unwrap();
        let addresses: Vec<_> = layout.seats.iter().map(|seat| seat.v4().to_string()).collect();
        assert_eq!(addresses, ["10.182.0.1", "10.182.200.2", "10.182.0.3"]);
        assert!(layout.rules().unwrap()[0].contains("rule add from 10.182.0.0/16 to 10.182.200.0/24 lookup 102"));
    }

    #[test]
    fn a_rate_has_room_for_a_late_timer() {
        let bound = |rate| {
            let wanted = Wanted { rate: Some(rate), ..wanted(2, None, None) };
            Layout::of(&wanted).unwrap().bound("eth0").unwrap()
        };
        assert_eq!(bound(1_000_000_000), "qdisc add dev eth0 root tbf rate 1000000000bit burst 625000 latency 50ms\n");
        assert!(bound(1_000).contains("burst 65536 "));
    }

    #[test_case(0, None, None; "no host")]
    #[test_case(101, None, None; "too many hosts")]
    #[test_case(3, Some(0), None; "no zone")]
    #[test_case(3, Some(4), None; "more zones than hosts")]
    #[test_case(3, None, Some(Ends::Host("h4".into())); "a host that is not there")]
    #[test_case(3, Some(2), Some(Ends::Zones("z1".into(), "z3".into())); "a zone that is not there")]
    #[test_case(3, Some(2), Some(Ends::Zones("z1".into(), "z1".into())); "one zone twice")]
    #[test_case(3, None, Some(Ends::Zones("z1".into(), "z2".into())); "zones without zones")]
    fn what_makes_no_sense_is_refused(hosts: u16, zones: Option<u16>, ends: Option<Ends>) {
        let failure = Layout::of(&wanted(hosts, zones, ends)).unwrap_err();
        assert!(failure.hint.is_some() && failure.what.starts_with("lab a1: "), "{failure:?}");
    }

    #[test_case("a", true; "short")]
    #[test_case("0123456789abcdef", true; "as long as may be")]
    #[test_case("0123456789abcdefg", false; "too long")]
    #[test_case("", false; "empty")]
    #[test_case("a-b", false; "a hyphen")]
    #[test_case("../a", false; "a path")]
    #[test_case("A", false; "uppercase")]
    fn names_are_plain(name: &str, sound: bool) {
        assert_eq!(is_name(name), sound);
    }
}
