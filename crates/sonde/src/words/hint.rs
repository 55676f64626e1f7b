//! What to try where a measurement or a server could not go on.

use std::io;

use endpoint::error::hint::Hint;
use endpoint::error::{Cause, EndpointError, Step};
use endpoint::syn::Kind;
use protocol::link::Fault;
use protocol::stamp::PORT as STAMP;

use super::iperf3::iperf3;
use super::netperf::netperf;
use super::session::session;

/// What to try against `error`; `None` where nothing is known to help.
pub fn hint(error: &EndpointError) -> Option<String> {
    let text = match error.hint.as_deref() {
        Some(hint) => return known(hint),
        None if own(&error.step) => here(&error.step, &error.cause),
        None => there(&error.step, &error.cause),
    };
    text.map(str::to_owned)
}

fn known(hint: &Hint) -> Option<String> {
    let text = match hint {
        Hint::Session(error) => return session(error),
        Hint::Netperf(error) => return netperf(error).map(str::to_owned),
        Hint::Iperf3(error) => return iperf3(error).map(str::to_owned),
        Hint::NoNetserver => {
            "no netserver listens there: `sonde netserver` or `netserver` starts one; its port is 12865 unless -p says otherwise"
        }
        Hint::NoIperf3Server => {
            "no iperf3 server listens there: `iperf3 -s` starts one; its port is 5201 unless -p says otherwise"
        }
        Hint::NoIperfServer => "nothing listens there: start an iperf 2 server, or name its port",
        Hint::NetserverSilent => {
            "the server or the path to it fell silent, which of them cannot be told from here: see whether netserver still runs there and what it says, and whether ping gets through; what was measured before stands"
        }
        Hint::DataPortClosed => {
            "the control port gets through and the data port does not: a firewall or NAT lies between. Choose a data port that it lets through (netperf: -P ,PORT after the --)"
        }
        Hint::PauseTooLong { pause, patience } => {
            return Some(format!(
                "a server waits {patience} for the data of a timed test, and the pause before them was {pause}: choose a shorter one"
            ));
        }
        Hint::LocalAddress { local } => {
            return Some(format!("{local} must be free, and an address of this host of the peer's IP version"));
        }
        Hint::NotOfThisHost { local } => return Some(format!("{local} must be an address of this host")),
        Hint::LocalVersion => "choose a --bind address of the peer's version, or -4 / -6",
        Hint::NoAddressOfVersion => "leave -4 or -6 away, or give another name",
        Hint::PortBack => "the server is to connect to that port: choose another one to listen at (-L)",
        Hint::GroupsAreDatagrams => "groups go with UDP alone",
        Hint::NoWayToGroup => "name the interface to join at, by its name or its address: no route leads to the group",
        Hint::Broadcast => "this is a broadcast address: probe one host",
        Hint::NoRowOfPorts { count } => {
            return Some(format!("no row of {count} free ports was found: probe at a lower rate"));
        }
        Hint::NoSuchSending => "this kernel may not send so: choose plain copies",
        Hint::SegmentsTooLong => "choose smaller datagrams, or one a call",
        Hint::UdpBlocked => {
            "TCP gets through to this port, UDP does not: a firewall may drop it, or the size exceeds what the path lets through"
        }
        Hint::StampIsUdp
        | Hint::StampIsOneHost
        | Hint::StampSize { .. }
        | Hint::StampSeal
        | Hint::NoStampReflector
        | Hint::StampSilent { .. }
        | Hint::StampPort => return Some(stamp(hint)),
        Hint::RawForbidden(kind) => return Some(raw(*kind)),
        Hint::PingForbidden { unprivileged } => {
            return Some(format!(
                "ping sockets are closed to this group ({unprivileged}); raw ones need a capability. Either\n  \
                 sysctl -w net.ipv4.ping_group_range='0 2147483647'\nor\n  setcap cap_net_raw+ep /path/to/sonde\nor measure without ICMP: --tcp, --udp, --connect"
            ));
        }
        Hint::WatchForbidden => {
            "watching the wire needs CAP_NET_RAW: run as root, or `setcap cap_net_raw+ep /path/to/sonde`; without --verify \
             the same is measured, and only what crossed the interface is not checked"
        }
        Hint::NoProtocol(name) => {
            return Some(format!("this kernel has no {name}, or its module is not loaded: choose TCP or UDP"));
        }
        Hint::NoBusyPoll => {
            "raising it above net.core.busy_read needs CAP_NET_ADMIN on older kernels: choose --wait block or spin"
        }
    };
    Some(text.to_owned())
}

fn stamp(hint: &Hint) -> String {
    let text = match hint {
        Hint::StampIsUdp => "leave --tcp, --icmp, --connect and --crr away",
        Hint::StampIsOneHost => "name one host",
        Hint::StampSize { shortest } => return format!("choose a --size of {shortest} or more, or leave it away"),
        Hint::StampSeal => "answers came whose seal is not of this key: both ends need the same --stamp-key",
        Hint::NoStampReflector => {
            "nothing listens there: `sonde serve --stamp` starts a session-reflector; check the port, which is 862 unless named"
        }
        Hint::StampSilent { keyed: true } => {
            "no session-reflector is there, a firewall drops UDP, or it has another key: one that has none, or another, does not answer"
        }
        Hint::StampSilent { keyed: false } => {
            "no session-reflector is there, a firewall drops UDP, or it answers authenticated packets alone: then name its --stamp-key"
        }
        _ => {
            return format!(
                "ports below 1024, as STAMP's {STAMP}, need CAP_NET_BIND_SERVICE: choose another by --stamp-port, which senders then have \
                 to name; nothing else of a reflector needs it"
            );
        }
    };
    text.to_owned()
}

fn raw(kind: Kind) -> String {
    let (unseen, instead) = match kind {
        Kind::Segments => (
            "neither the flags nor the TTL of an answer can be seen",
            "`sonde rtt HOST:PORT --connect` times whole handshakes and needs nothing",
        ),
        Kind::Datagrams => (
            "the TTL of an answer cannot be seen",
            "`sonde check HOST:PORT` asks a port by an ordinary datagram and needs nothing",
        ),
        Kind::Echoes => (
            "the header of an answer cannot be seen",
            "`sonde ping` works with a ping socket too (net.ipv4.ping_group_range)",
        ),
    };
    format!(
        "raw sockets need CAP_NET_RAW (setcap cap_net_raw+ep /path/to/sonde, or run as root). Without it {unseen}; {instead}"
    )
}

/// Whether it is done on this host alone.
fn own(step: &Step) -> bool {
    matches!(
        step,
        Step::Listen
            | Step::OpenSocket(_)
            | Step::Set(_)
            | Step::StartThread
            | Step::Pin(_)
            | Step::EnterNamespace
            | Step::MakeInterface
            | Step::Forward
    )
}

fn here(step: &Step, cause: &Cause) -> Option<&'static str> {
    let Cause::System(error) = cause else { return None };
    Some(match (step, error.kind()) {
        (Step::Listen, io::ErrorKind::AddrInUse) => "another program listens there: choose another --port, or end it",
        (Step::Listen, io::ErrorKind::PermissionDenied) => {
            "ports below 1024 need CAP_NET_BIND_SERVICE: choose another --port"
        }
        (Step::Listen, io::ErrorKind::AddrNotAvailable) => "that address is not on this host: check --listen",
        (Step::Set("congestion control"), io::ErrorKind::PermissionDenied) => {
            "not in net.ipv4.tcp_allowed_congestion_control: choose one that is, or run with CAP_NET_ADMIN"
        }
        (Step::Set("congestion control"), _) => {
            "this kernel has no such congestion control: see net.ipv4.tcp_available_congestion_control"
        }
        (Step::Set("interface"), io::ErrorKind::PermissionDenied) => "binding to an interface needs CAP_NET_RAW here",
        (Step::Set("interface"), _) => "no such interface here: `ip link` lists them",
        (Step::EnterNamespace, io::ErrorKind::NotFound) => "`ip netns list` names the namespaces of this host",
        (Step::EnterNamespace | Step::MakeInterface, io::ErrorKind::PermissionDenied) => {
            "needs CAP_NET_ADMIN over the namespaces: be root, or in a user namespace of your own (`unshare --user --map-root-user --net`)"
        }
        (Step::MakeInterface, io::ErrorKind::NotFound) => "there is no /dev/net/tun: load the kernel module `tun`",
        (Step::MakeInterface, io::ErrorKind::ResourceBusy) => {
            "an interface of that name is there already: choose another --interface"
        }
        (Step::Forward, _) => "an interface of the link is gone, or its namespace",
        (Step::Pin(_), _) => "this process may not run there: see the CPUs allowed in `taskset -p $$`",
        _ => return None,
    })
}

fn there(step: &Step, cause: &Cause) -> Option<&'static str> {
    match (step, cause) {
        (_, Cause::Stopped) => None,
        (Step::LookUp, _) => Some("check the name, or give an address"),
        (_, Cause::System(error)) => network(error),
        (_, Cause::Silence(_)) => Some(
            "a firewall may drop the packets, or nothing runs there: check with ping, and that the port is open for TCP and UDP",
        ),
        (_, Cause::Link(Fault::Refused(_))) => Some("nothing listens there: `sonde serve` starts a reflector"),
        (_, Cause::Link(Fault::TooLong)) => {
            Some("choose a smaller --size: this one does not fit the path or the socket")
        }
        _ => None,
    }
}

fn network(error: &io::Error) -> Option<&'static str> {
    use io::ErrorKind as Kind;
    Some(match error.kind() {
        Kind::ConnectionRefused => "nothing listens there: `sonde serve` starts a reflector; check the port",
        Kind::ConnectionReset | Kind::ConnectionAborted | Kind::BrokenPipe | Kind::UnexpectedEof => {
            "the peer ended the connection: look at its messages"
        }
        Kind::TimedOut | Kind::WouldBlock => "no answer came: a firewall may drop the packets, or the host is down",
        Kind::HostUnreachable | Kind::NetworkUnreachable => {
            "there is no route: check the address and the routing table"
        }
        // The kernel says so of a link-local address without its interface, and where --bind cannot reach the peer.
        Kind::InvalidInput => {
            "a link-local address needs its interface, as in fe80::1%eth0, and --bind an address the peer is reached from"
        }
        Kind::AddrNotAvailable => "that local address is not on this host: check --bind",
        Kind::PermissionDenied => "a local firewall or a missing capability forbids it",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case(Step::Connect, 111, "sonde serve"; "a closed port")]
    #[test_case(Step::Connect, 22, "%eth0"; "an address that does not fit")]
    #[test_case(Step::Set("interface"), 19, "ip link"; "no such interface")]
    #[test_case(Step::Listen, 98, "--port"; "a port that is taken")]
    fn what_to_try_follows_from_step_and_cause(step: Step, errno: i32, part: &str) {
        let error = EndpointError::new(step, "10.0.0.2:7663", io::Error::from_raw_os_error(errno));
        let told = hint(&error).unwrap();
        assert!(told.contains(part), "{told}");
    }

    #[test]
    fn what_is_known_beside_goes_first() {
        let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
        let error = EndpointError::new(Step::Connect, "db1", refused()).with_hint(Hint::NoNetserver);
        assert!(hint(&error).unwrap().contains("`sonde netserver`"));
        let privileged = EndpointError::new(Step::Listen, "db1", refused()).with_hint(Hint::StampPort);
        assert!(hint(&privileged).unwrap().contains("--stamp-port"));
        let stopped = EndpointError::new(Step::LookUp, "db1", Cause::Stopped);
        assert_eq!(hint(&stopped), None, "the name is not to blame");
    }
}
