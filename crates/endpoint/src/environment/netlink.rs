//! Three questions to the kernel that only netlink answers: the route to a peer, the state of its neighbour entry, the
//! qdisc of an interface. No privileges, nothing is changed; hardware addresses are passed over.
//!
//! Message and attribute layout: netlink(7), rtnetlink(7), all numbers in the machine's byte order. The socket belongs
//! to the calling thread's network namespace, so the answers do too.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;
use std::time::Duration;

use measure::environment::Shaper;
use socket2::{Domain, Protocol, Socket, Type};

use crate::socket::option;

/// Route of a packet to a destination.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Route {
    /// Index of the interface.
    pub(crate) interface: u32,
    /// Address it is sent from.
    pub(super) source: Option<IpAddr>,
    /// Next hop, where the destination is not on the link.
    pub(crate) next_hop: Option<IpAddr>,
    /// MTU set on the route, or learnt for it.
    pub(super) mtu: Option<u32>,
    /// Kind of the destination: `RTN_UNICAST`, `RTN_LOCAL`, `RTN_BROADCAST` …
    pub(super) kind: u8,
}

/// The route to `peer`, policy rules included, without mark or bound interface.
pub(super) fn route(peer: IpAddr) -> io::Result<Route> {
    route_by(peer, 0)
}

/// The same by the interface of this index, unless it is 0.
pub(super) fn route_by(peer: IpAddr, interface: u32) -> io::Result<Route> {
    let mut request = route_to(peer);
    if interface != 0 {
        push_attribute(&mut request, libc::RTA_OIF, &interface.to_ne_bytes());
    }
    ask_route(&request)
}

/// That of the packets of one flow: where routes have several next hops, its ports may decide. `protocol` is the number of its IP protocol.
pub(crate) fn route_of_flow(
    local: SocketAddr,
    peer: SocketAddr,
    protocol: u8,
    label: Option<u32>,
) -> io::Result<Route> {
    let mut request = route_to(peer.ip());
    let (_, source) = family_and_bytes(local.ip());
    request[2] = (source.len() * 8) as u8;
    push_attribute(&mut request, libc::RTA_SRC, &source);
    push_attribute(&mut request, RTA_IP_PROTO, &[protocol]);
    push_attribute(&mut request, RTA_SPORT, &local.port().to_be_bytes());
    push_attribute(&mut request, RTA_DPORT, &peer.port().to_be_bytes());
    if let Some(label) = label {
        let labelled = |label: u32| {
            let mut request = request.clone();
            push_attribute(&mut request, RTA_FLOWLABEL, &label.to_be_bytes());
            ask_route(&request)
        };
        // A kernel that passes over what it does not know takes one of more than 20 bits too.
        return match labelled(u32::MAX) {
            Ok(_) => Err(io::ErrorKind::Unsupported.into()),
            Err(_) => labelled(label),
        };
    }
    ask_route(&request)
}

/// A question for the route to `peer`.
fn route_to(peer: IpAddr) -> Vec<u8> {
    let (family, address) = family_and_bytes(peer);
    let mut request = vec![family, (address.len() * 8) as u8, 0, 0, 0, 0, 0, 0];
    request.extend(0_u32.to_ne_bytes());
    push_attribute(&mut request, libc::RTA_DST, &address);
    request
}

fn ask_route(request: &[u8]) -> io::Result<Route> {
    let mut found = None;
    ask(libc::RTM_GETROUTE, 0, request, |kind, body| {
        if kind == libc::RTM_NEWROUTE {
            let kind = body.get(7).copied().unwrap_or_default();
            found = body.get(12..).and_then(parse_route).map(|route| Route { kind, ..route });
        }
    })?;
    found.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
}

fn parse_route(attributes: &[u8]) -> Option<Route> {
    let mut route = Route::default();
    for (kind, value) in Attributes(attributes) {
        match kind {
            libc::RTA_OIF => route.interface = number(value)?,
            libc::RTA_PREFSRC => route.source = address(value),
            libc::RTA_GATEWAY => route.next_hop = address(value),
            libc::RTA_METRICS => {
                route.mtu = Attributes(value).find(|(metric, _)| *metric == RTAX_MTU).and_then(|(_, mtu)| number(mtu));
            }
            _ => {}
        }
    }
    (route.interface != 0).then_some(route)
}

/// State of the neighbour entry of `next_hop` on an interface, as `reachable` or `stale`; `None` where there is no entry.
pub(super) fn neighbour(interface: u32, next_hop: IpAddr) -> io::Result<Option<&'static str>> {
    let (family, wanted) = family_and_bytes(next_hop);
    let mut request = vec![family, 0, 0, 0];
    request.extend(interface.to_ne_bytes());
    request.extend([0; 4]);
    let mut found = None;
    ask(libc::RTM_GETNEIGH, libc::NLM_F_DUMP, &request, |kind, body| {
        let (Some(index), Some(state)) = (body.get(4..8).and_then(number), body.get(8..10)) else { return };
        let about_it =
            || Attributes(body.get(12..).unwrap_or_default()).any(|(k, v)| k == libc::NDA_DST && v == wanted);
        if kind == libc::RTM_NEWNEIGH && index == interface && about_it() {
            found = Some(neighbour_state(u16::from_ne_bytes([state[0], state[1]])));
        }
    })?;
    Ok(found)
}

fn neighbour_state(state: u16) -> &'static str {
    match state {
        libc::NUD_INCOMPLETE => "incomplete",
        libc::NUD_REACHABLE => "reachable",
        libc::NUD_STALE => "stale",
        libc::NUD_DELAY => "delay",
        libc::NUD_PROBE => "probe",
        libc::NUD_FAILED => "failed",
        libc::NUD_NOARP => "noarp",
        libc::NUD_PERMANENT => "permanent",
        _ => "none",
    }
}

/// Queueing disciplines in which packets wait before they leave an interface.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// The qdisc at its root, and behind a colon those below it, each kind once; absent where it has none.
    pub name: Option<String>,
    /// The rates that it lets through.
    pub shapers: Vec<Shaper>,
}

/// The queueing disciplines of an interface, and the classes of `htb`.
pub(super) fn queue(interface: u32) -> io::Result<Queue> {
    let mut request = vec![0; 4];
    request.extend(interface.to_ne_bytes());
    request.extend([0; 12]);
    let (mut root, mut below, mut shapers) = (None, Vec::new(), Vec::new());
    ask(libc::RTM_GETQDISC, libc::NLM_F_DUMP, &request, |kind, body| {
        let Some(found) = Found::of(body).filter(|found| kind == libc::RTM_NEWQDISC && found.interface == interface)
        else {
            return;
        };
        let name = found.name.clone();
        match found.parent {
            // Ingress and clsact stand beside the sending side, not in it.
            TC_H_INGRESS => return,
            TC_H_ROOT => root = Some(name),
            _ if below.contains(&name) => {}
            _ => below.push(name),
        }
        shapers.extend(found.shaper());
    })?;
    if below.iter().chain(&root).any(|name| name == "htb") {
        ask(libc::RTM_GETTCLASS, libc::NLM_F_DUMP, &request, |kind, body| {
            let class = Found::of(body).filter(|found| kind == libc::RTM_NEWTCLASS && found.interface == interface);
            shapers.extend(class.and_then(|class| class.shaper()));
        })?;
    }
    let name = root.map(|root| if below.is_empty() { root } else { format!("{root}: {}", below.join(", ")) });
    Ok(Queue { name, shapers })
}

/// A qdisc or a class, as the kernel tells of it.
struct Found<'a> {
    interface: u32,
    parent: u32,
    name: String,
    options: &'a [u8],
}

impl<'a> Found<'a> {
    fn of(body: &'a [u8]) -> Option<Self> {
        let attributes = || Attributes(body.get(20..).unwrap_or_default());
        let value = |wanted: u16| attributes().find(|(attribute, _)| *attribute == wanted).map(|(_, value)| value);
        Some(Self {
            interface: body.get(4..8).and_then(number)?,
            parent: body.get(12..16).and_then(number)?,
            name: String::from_utf8_lossy(value(libc::TCA_KIND)?).trim_end_matches('\0').to_owned(),
            options: value(libc::TCA_OPTIONS).unwrap_or_default(),
        })
    }

    /// The rate that it lets through: of a class of `htb` its ceiling, up to which it borrows, and its own rate where it has no parent to borrow
    /// from. A rate of 32 bits that is full stands beside one of 64.
    fn shaper(&self) -> Option<Shaper> {
        let value =
            |wanted: u16| Attributes(self.options).find(|(option, _)| *option == wanted).map(|(_, value)| value);
        let (offset, long) = match self.name.as_str() {
            "tbf" => (TC_RATESPEC_RATE, TCA_TBF_RATE64),
            "htb" if self.parent == TC_H_ROOT => (TC_RATESPEC_RATE, TCA_HTB_RATE64),
            "htb" => (TC_RATESPEC + TC_RATESPEC_RATE, TCA_HTB_CEIL64),
            "cake" => (usize::MAX, TCA_CAKE_BASE_RATE64),
            _ => return None,
        };
        let long = value(long).and_then(|value| Some(u64::from_ne_bytes(value.get(..8)?.try_into().ok()?)));
        let short = || number(value(TCA_PARMS)?.get(offset..offset.checked_add(4)?)?).map(u64::from);
        let bytes_per_s = long.or_else(short).filter(|rate| *rate > 0)?;
        Some(Shaper { qdisc: self.name.clone(), bytes_per_s })
    }
}

/// Values of the kernel's user interface that libc does not name: `rtnetlink.h` and `pkt_sched.h`.
const RTAX_MTU: u16 = 2;
/// Attributes of a route that is asked for a flow (`linux/rtnetlink.h`, since 4.19).
const RTA_IP_PROTO: u16 = 27;
const RTA_SPORT: u16 = 28;
const RTA_DPORT: u16 = 29;
/// The same for a flow label, since 6.14.
const RTA_FLOWLABEL: u16 = 31;
/// The parameters of `tbf` and of a class of `htb` begin with a `tc_ratespec`, in which the rate is last; `htb` has its ceiling next.
const TCA_PARMS: u16 = 1;
const TC_RATESPEC: usize = 12;
const TC_RATESPEC_RATE: usize = 8;
const TCA_TBF_RATE64: u16 = 4;
const TCA_HTB_RATE64: u16 = 6;
const TCA_HTB_CEIL64: u16 = 7;
const TCA_CAKE_BASE_RATE64: u16 = 2;
const TC_H_ROOT: u32 = 0xffff_ffff;
const TC_H_INGRESS: u32 = 0xffff_fff1;
const HEADER: usize = 16;

/// Sends one request and hands each message of the answer, type and body, to `each`.
fn ask(kind: u16, flags: i32, body: &[u8], mut each: impl FnMut(u16, &[u8])) -> io::Result<()> {
    let socket = Socket::new(Domain::from(libc::AF_NETLINK), Type::RAW, Some(Protocol::from(libc::NETLINK_ROUTE)))?;
    // The kernel answers at once; a sandbox that takes the request and never answers must not hang us.
    socket.set_read_timeout(Some(Duration::from_secs(1)))?;
    if flags == 0 {
        // Attributes that the kernel does not know are refused, since 4.20 where it can.
        drop(option::set_int(socket.as_fd(), libc::SOL_NETLINK, libc::NETLINK_GET_STRICT_CHK, 1));
    }
    let mut request = Vec::with_capacity(HEADER + body.len());
    request.extend(((HEADER + body.len()) as u32).to_ne_bytes());
    request.extend(kind.to_ne_bytes());
    request.extend(((libc::NLM_F_REQUEST | flags) as u16).to_ne_bytes());
    request.extend([0; 8]);
    request.extend(body);
    (&socket).write_all(&request)?;

    let dump = flags & libc::NLM_F_DUMP != 0;
    // The kernel fills no message beyond 32 KiB into one datagram.
    let mut buffer = vec![0; 65_536];
    loop {
        let length = (&socket).read(&mut buffer)?;
        let mut rest = &buffer[..length];
        while let Some((kind, message, tail)) = next_message(rest) {
            match i32::from(kind) {
                libc::NLMSG_DONE => return Ok(()),
                libc::NLMSG_ERROR => return acknowledged(message),
                _ => each(kind, message),
            }
            rest = tail;
        }
        if !dump {
            return Ok(());
        }
    }
}

fn next_message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = number(bytes.get(..4)?)? as usize;
    let kind = u16::from_ne_bytes([*bytes.get(4)?, *bytes.get(5)?]);
    let body = bytes.get(HEADER..length)?;
    Some((kind, body, bytes.get(length.next_multiple_of(4)..).unwrap_or_default()))
}

/// An error message with code 0 is an acknowledgement.
fn acknowledged(body: &[u8]) -> io::Result<()> {
    match body.get(..4).and_then(number).map(|code| code as i32) {
        Some(0) => Ok(()),
        Some(code) => Err(io::Error::from_raw_os_error(-code)),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// The attributes of a message: type and value.
struct Attributes<'a>(&'a [u8]);

impl<'a> Iterator for Attributes<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let length = usize::from(u16::from_ne_bytes([*self.0.first()?, *self.0.get(1)?]));
        // The two upper bits are flags.
        let kind = u16::from_ne_bytes([*self.0.get(2)?, *self.0.get(3)?]) & 0x3fff;
        let value = self.0.get(4..length)?;
        self.0 = self.0.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    }
}

fn push_attribute(to: &mut Vec<u8>, kind: u16, value: &[u8]) {
    to.extend(((value.len() + 4) as u16).to_ne_bytes());
    to.extend(kind.to_ne_bytes());
    to.extend(value);
    to.resize(to.len().next_multiple_of(4), 0);
}

fn number(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?))
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let four = || Some(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?).into());
    let six = || Some(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).into());
    four().or_else(six)
}

fn family_and_bytes(address: IpAddr) -> (u8, Vec<u8>) {
    match address.to_canonical() {
        IpAddr::V4(four) => (libc::AF_INET as u8, four.octets().to_vec()),
        IpAddr::V6(six) => (libc::AF_INET6 as u8, six.octets().to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_is_read_from_its_attributes() {
        let mut metrics = Vec::new();
        push_attribute(&mut metrics, RTAX_MTU, &1_400_u32.to_ne_bytes());
        let mut attributes = Vec::new();
        push_attribute(&mut attributes, libc::RTA_OIF, &4_u32.to_ne_bytes());
        push_attribute(&mut attributes, libc::RTA_PREFSRC, &[10, 0, 0, 1]);
        push_attribute(&mut attributes, libc::RTA_GATEWAY, &[10, 0, 0, 254]);
        push_attribute(&mut attributes, libc::RTA_METRICS, &metrics);
        let route = parse_route(&attributes).unwrap();
        assert_eq!(route.interface, 4);
        assert_eq!(route.source, Some([10, 0, 0, 1].into()));
        assert_eq!(route.next_hop, Some([10, 0, 0, 254].into()));
        assert_eq!(route.mtu, Some(1_400));
        assert_eq!(parse_route(&attributes[8..]), None, "no interface, no route");
    }

    #[test]
    fn a_shaper_is_read_from_its_options() {
        let number_at = |offset: usize, rate: u32| [&vec![0; offset][..], &rate.to_ne_bytes()].concat();
        let of = |parent: u32, name: &str, options: &[(u16, Vec<u8>)]| {
            let mut inner = Vec::new();
            for (kind, value) in options {
                push_attribute(&mut inner, *kind, value);
            }
            let mut body = [[0; 4], 7_u32.to_ne_bytes(), [0; 4], parent.to_ne_bytes(), [0; 4]].concat();
            push_attribute(&mut body, libc::TCA_KIND, format!("{name}\0").as_bytes());
            push_attribute(&mut body, libc::TCA_OPTIONS, &inner);
            let found = Found::of(&body).unwrap();
            assert_eq!((found.interface, found.parent, found.name.as_str()), (7, parent, name));
            // Whatever is cut off, nothing is read beyond it.
            (0..body.len()).for_each(|cut| drop(Found::of(&body[..cut]).and_then(|found| found.shaper())));
            found.shaper().map(|shaper| shaper.bytes_per_s)
        };
        let shaper = |name: &str, options: &[(u16, Vec<u8>)]| of(TC_H_ROOT, name, options);
        let long = 5_000_000_000_u64.to_ne_bytes().to_vec();
        assert_eq!(shaper("tbf", &[(TCA_PARMS, number_at(8, 6_250_000))]), Some(6_250_000));
        assert_eq!(
            shaper("tbf", &[(TCA_PARMS, number_at(8, u32::MAX)), (TCA_TBF_RATE64, long.clone())]),
            Some(5_000_000_000)
        );
        let class = [(TCA_PARMS, [number_at(8, 1_250_000), number_at(8, 2_500_000)].concat())];
        assert_eq!(of(0x1_0001, "htb", &class), Some(2_500_000));
        assert_eq!(shaper("htb", &class), Some(1_250_000), "nobody to borrow from");
        assert_eq!(shaper("cake", &[(TCA_CAKE_BASE_RATE64, long)]), Some(5_000_000_000));
        // Unlimited, of another kind, or without a word of it.
        assert_eq!(shaper("cake", &[(TCA_CAKE_BASE_RATE64, vec![0; 8])]), None);
        assert_eq!(shaper("fq_codel", &[(TCA_PARMS, number_at(8, 9))]), None);
        assert_eq!(shaper("htb", &[]), None);
    }

    #[test]
    fn bytes_that_are_cut_short_end_the_walk() {
        let mut bytes = Vec::new();
        push_attribute(&mut bytes, 7, b"whole");
        push_attribute(&mut bytes, 8, b"to be cut");
        for cut in 0..bytes.len() {
            let seen: Vec<u16> = Attributes(&bytes[..cut]).map(|(kind, _)| kind).collect();
            assert!(seen.len() <= 2, "{seen:?}");
            assert_eq!(seen.first().copied(), (cut >= 9).then_some(7), "cut at {cut}");
        }
        assert!(next_message(&bytes[..15]).is_none());
        // A length of 0 would never end.
        assert_eq!(Attributes(&[0; 8]).count(), 0);
        assert!(next_message(&[0; 32]).is_none());
    }

    #[test]
    fn an_address_of_this_host_is_reached_over_loopback() {
        let lo: u32 = std::fs::read_to_string("/sys/class/net/lo/ifindex").unwrap().trim().parse().unwrap();
        let route = route([127, 0, 0, 1].into()).unwrap();
        assert_eq!((route.interface, route.next_hop), (lo, None));
        assert_eq!(super::route("::1".parse().unwrap()).unwrap().interface, lo);
        let queue = queue(lo).unwrap();
        assert_eq!((queue.name.as_deref(), &queue.shapers[..]), (Some("noqueue"), &[][..]));
        assert_eq!(neighbour(lo, [127, 0, 0, 77].into()).unwrap(), None);
    }

    #[test]
    fn the_kernels_refusal_is_an_error() {
        // An interface index in the kernel's own message type: no request at all.
        let error = ask(libc::RTM_GETROUTE, 0, &[0; 2], |_, _| {}).unwrap_err();
        assert!(error.raw_os_error().is_some(), "{error}");
    }
}
