//! Actions where a measurement or a server could not go on.

use std::io;

use endpoint::error::hint::Hint;
use endpoint::error::{Cause, EndpointError, Step};
use endpoint::syn::Kind;
use protocol::irtt::opening::Refusal as IrttRefusal;
use protocol::link::Fault;
use protocol::native::stranger::Speaker;
use protocol::stamp::PORT as STAMP;
use protocol::tls::Alerted;
use protocol::twamp::Refusal;
use rustix::io::Errno;

use super::iperf3::iperf3;
use super::netperf::netperf;
use super::session::session;

/// The action against `error`; `None` where nothing is known to help.
pub fn hint(error: &EndpointError) -> Option<String> {
    let text = match error.hint.as_deref() {
        Some(hint) => return known(hint),
        None if let Step::OpenFurther { number, .. } = error.step => {
            return limit(&error.step, &error.cause)
                .map(str::to_owned)
                .or_else(|| Some(further(number.saturating_sub(1), &error.cause)));
        }
        None => limit(&error.step, &error.cause).or_else(|| {
            let rest = if own(&error.step) { here } else { there };
            rest(&error.step, &error.cause)
        }),
    };
    text.map(str::to_owned)
}

/// Advice where this process or host has come to a limit of its own.
fn limit(step: &Step, cause: &Cause) -> Option<&'static str> {
    let Cause::System(error) = cause else { return None };
    Some(match (Errno::from_io_error(error)?, step) {
        (Errno::MFILE, _) => {
            "use fewer connections, or raise the hard limit of open files (`ulimit -Hn`): this process may open no more"
        }
        (Errno::NFILE, _) => "use fewer connections, or raise fs.file-max: this host may open no more files",
        (Errno::AGAIN, Step::StartThread) => {
            "use fewer threads or connections, or raise `ulimit -u` or the control group's pids.max: this process may start no more threads"
        }
        (Errno::NOBUFS | Errno::NOMEM, _) => {
            "use fewer connections or smaller buffers: this host's kernel has no memory left for more"
        }
        _ => return None,
    })
}

fn known(hint: &Hint) -> Option<String> {
    let text = match hint {
        Hint::Session(error) => return session(error),
        Hint::Netperf(error) => return netperf(error).map(str::to_owned),
        Hint::Iperf3(error) => return iperf3(error).map(str::to_owned),
        Hint::NoNetserver => "start `sonde netserver` or `netserver` there (port 12865 unless -p says otherwise)",
        Hint::NoIperf3Server => "start `iperf3 -s` there (port 5201 unless -p says otherwise)",
        Hint::NoIperfServer => "start an iperf 2 server there, or name its port",
        Hint::NetserverSilent => {
            "check there that netserver still runs, and the path with ping; the server or the path stopped answering. Results until then are valid"
        }
        Hint::DataPortClosed => {
            "choose a data port that the firewall or NAT lets through (netperf: -P ,PORT after the --); only the control port is reachable"
        }
        Hint::PauseTooLong { pause, patience } => {
            return Some(format!(
                "choose a pause shorter than {patience} (it was {pause}): the server waits no longer for the data of a timed test"
            ));
        }
        Hint::LocalAddress { local } => {
            return Some(format!(
                "choose a free address and port of this host, of the peer's IP version, instead of {local}"
            ));
        }
        Hint::NotOfThisHost { local } => {
            return Some(format!("choose an address of this host instead of {local}: `ip address` lists them"));
        }
        Hint::PortsTaken { ports } => {
            return Some(format!("choose other ports than {ports}, or a larger range: `ss -an` lists those in use"));
        }
        Hint::LocalVersion => "choose a --bind address of the peer's version, or -4 / -6",
        Hint::NoAddressOfVersion => "remove -4 or -6, or give another name",
        Hint::PortBack => "choose another port to listen at (-L): the server connects to that one",
        Hint::GroupsAreDatagrams => "use UDP: multicast groups need it",
        Hint::NoWayToGroup => "name the interface to join at, by name or address: no route leads to the group",
        Hint::Broadcast => "name one host: this is a broadcast address",
        Hint::NoRowOfPorts { count } => {
            return Some(format!("probe at a lower rate: this needs {count} free ports in a row"));
        }
        Hint::NoSuchSending => "choose plain copies: this kernel does not support that way of sending",
        Hint::SegmentsTooLong => "choose smaller datagrams, or one per call",
        Hint::AnotherReflector => {
            "name the address of one server: another one answered this connection than the first, as behind a load balancer, or it was started anew"
        }
        Hint::UdpBlocked => {
            "allow UDP to this port in the firewall, or reduce --size below the path MTU: TCP to this port works. `sonde paths HOST --udp` shows whether some connections alone get no answer. Behind a proxy for TCP the peer does not know this host's datagrams: use --tcp"
        }
        Hint::FlowsLimited { through } => {
            return Some(format!(
                "use --connections {through}: so many got an answer, and a firewall or NAT may limit how many one host has. `sonde paths HOST --udp` shows whether the path drops some of them"
            ));
        }
        Hint::StampIsUdp
        | Hint::StampIsOneHost
        | Hint::StampSize { .. }
        | Hint::StampSeal
        | Hint::NoStampReflector
        | Hint::StampSilent { .. }
        | Hint::StampPort
        | Hint::TwampRefusal(_)
        | Hint::NoTwampServer => return Some(stamp(hint)),
        Hint::IrttRefusal(refusal) => return Some(irtt(*refusal)),
        Hint::NoIrttServer => "start `irtt server` there, or correct the port (UDP 2112 unless named)",
        Hint::IrttSilent { keyed: true } => {
            "check that `irtt server` runs there with this key (--hmac), and that the firewall allows UDP: with another key it does not answer"
        }
        Hint::IrttSilent { keyed: false } => {
            "check that `irtt server` runs there and that the firewall allows UDP; if it has a key (--hmac), name the file of it: --irtt-key"
        }
        Hint::RawForbidden(kind) => return Some(raw(*kind)),
        Hint::PingForbidden { unprivileged } => {
            return Some(format!(
                "allow ping sockets (now {unprivileged}) or raw sockets by one of\n  \
                 sysctl -w net.ipv4.ping_group_range='0 2147483647'\n  setcap cap_net_raw+ep /path/to/sonde\nor measure without ICMP: --tcp, --udp, --connect"
            ));
        }
        Hint::Untrusted => {
            "name the certificate that signed it (--ca FILE). With --insecure it is not verified: anybody may answer then"
        }
        Hint::Misnamed => "name the host as its certificate does, or say that name by --tls-name",
        Hint::Unbelievable => {
            "let the server show a certificate that was made for it. With --insecure it is not verified: anybody may answer then"
        }
        Hint::Untimely { early: false } => {
            "renew its certificate, or correct this host's clock. With --insecure it is not verified: anybody may answer then"
        }
        Hint::Untimely { early: true } => {
            "correct this host's clock (`date`), or let the server show a certificate that is valid already. With --insecure it is not verified: anybody may answer then"
        }
        Hint::Alert(alerted) => return Some(alert(*alerted).to_owned()),
        Hint::NoTlsOffered => {
            "turn TLS on there, or ask in clear (postgres://, mysql://): then anybody on the path can read the login"
        }
        Hint::AnotherProgram(speaker) => return Some(another(*speaker).to_owned()),
        Hint::NoTls => {
            "check the port: what listens there does not speak TLS. Without TLS: http://, redis://, dns+tcp://, mqtt://"
        }
        Hint::WatchForbidden => {
            "run as root, or `setcap cap_net_raw+ep /path/to/sonde`, or remove --verify: capturing packets needs CAP_NET_RAW. \
             Without --verify the measurement is the same; only the packets are not checked"
        }
        Hint::NoProtocol(name) => {
            return Some(format!("choose TCP or UDP, or load the kernel module: this kernel has no {name}"));
        }
        Hint::NoBusyPoll => {
            "choose --wait block or spin: busy polling above net.core.busy_read needs CAP_NET_ADMIN on older kernels"
        }
    };
    Some(text.to_owned())
}

fn alert(alerted: Alerted) -> &'static str {
    match alerted {
        Alerted::Version => "let the server speak TLS 1.2 or 1.3: older versions are not spoken here",
        Alerted::Inside => {
            "ask in the protocol that it speaks within TLS: https:// is HTTP/1.1, h2:// HTTP/2; by UDP h3:// is HTTP/3"
        }
        Alerted::ClientCertificate => {
            "measure at a port that wants no certificate of its clients: this program has none to show"
        }
        Alerted::Name => "name the host as the server knows it: --tls-name NAME",
        Alerted::Unclear => {
            "read the server's log: it ended the handshake. It may want another name (--tls-name), another protocol within TLS or a certificate of its clients"
        }
    }
}

/// Advice where another program answers, which `speaker` says of itself.
fn another(speaker: Speaker) -> &'static str {
    match speaker {
        Speaker::Http => "ask it as what it is, a web server: http://HOST:PORT/, or correct the port",
        Speaker::Ssh => "ask it as what it is, an SSH server: ssh://HOST:PORT, or correct the port",
        Speaker::Tls => "ask it within TLS (https://, rediss://, postgres+tls:// …), or correct the port",
        _ => {
            "correct the port, or the protocol. `sonde HOST --port PORT` asks in several, and names the one that it recognises"
        }
    }
}

/// Advice where a further session does not open, and the first did.
fn further(before: u32, cause: &Cause) -> String {
    let fewer = format!("use --connections {before}");
    match cause {
        Cause::Ungreeted(_) => format!("{fewer}, or wait longer (--timeout 30s). {LOOKS_UP}"),
        Cause::Silence(_) | Cause::Unfinished(_) => {
            format!("{fewer}, or wait longer (--timeout 30s): it may serve only so many at a time, or be busy")
        }
        // Nobody refused it: a limit would be one reason among others.
        Cause::System(error) if error.kind() == io::ErrorKind::TimedOut => format!(
            "{fewer}, or look for a rule that drops some source ports, a path that some connections take, or a limit of connections: `sonde paths HOST` tries each"
        ),
        _ => format!("use fewer --connections: it let {before} in, and no more at this moment"),
    }
}

/// The usual reason for a late greeting.
const LOOKS_UP: &str = "It may look up this host's name first, and its resolver may not answer: MySQL and MariaDB have skip_name_resolve against it, sshd has UseDNS";

fn irtt(refusal: IrttRefusal) -> String {
    let text = match refusal {
        IrttRefusal::TooOften { floor } | IrttRefusal::Uneven { floor } => {
            return format!("use --every {}, or start it with -i 0", typed(floor.div_ceil(1_000)));
        }
        IrttRefusal::TooRare => "use a shorter --every",
        IrttRefusal::TooLong { longest } => {
            return format!("use -t {}, or start it with a longer -d", typed(longest / 1_000));
        }
        IrttRefusal::TooLarge { longest } => return format!("use --size {longest}, or start it with a longer -l"),
        IrttRefusal::Unmarked => "remove --tos and --dscp, or start it without --no-dscp",
        IrttRefusal::Version(_) | IrttRefusal::Closed | IrttRefusal::Garbled => {
            "check which program listens there (`irtt version`: protocol version 1 is known here), and what it logs"
        }
    };
    text.to_owned()
}

/// A time in microseconds, as an option takes it.
fn typed(micros: u64) -> String {
    match micros {
        0 => "1us".to_owned(),
        whole if whole.is_multiple_of(1_000_000) => format!("{}s", whole / 1_000_000),
        whole if whole.is_multiple_of(1_000) => format!("{}ms", whole / 1_000),
        micros => format!("{micros}us"),
    }
}

fn stamp(hint: &Hint) -> String {
    let text = match hint {
        Hint::StampIsUdp => "remove --tcp, --icmp, --connect and --crr",
        Hint::StampIsOneHost => "name one host",
        Hint::StampSize { shortest } => return format!("choose a --size of {shortest} or more, or remove it"),
        Hint::StampSeal => "use the same --stamp-key at both ends: replies with the seal of another key came",
        Hint::NoStampReflector => "start `sonde serve --stamp` there, or correct the port (862 unless named)",
        Hint::NoTwampServer => {
            "start a TWAMP server there, or correct the port (TCP 862 unless named); a reflector without one is asked by --peer stamp"
        }
        Hint::TwampRefusal(Refusal::NotOpen(_)) => {
            "allow this host the unauthenticated mode there, or use --peer stamp"
        }
        Hint::TwampRefusal(Refusal::NoMode) => "allow this host there, or use --peer stamp",
        Hint::TwampRefusal(Refusal::Code(4 | 5)) => "try again later, or with fewer connections (--connections)",
        Hint::TwampRefusal(_) => {
            "read what the server logs; a reflector without a control connection is asked by --peer stamp"
        }
        Hint::StampSilent { keyed: true } => {
            "check that a session-reflector with this key runs there, and that the firewall allows UDP: with another key it does not answer"
        }
        Hint::StampSilent { keyed: false } => {
            "check that a session-reflector runs there and that the firewall allows UDP; if it accepts only authenticated packets, name its --stamp-key"
        }
        _ => {
            return format!(
                "choose another port by --stamp-port, and name it at the sender: ports below 1024, as STAMP's {STAMP}, need \
                 CAP_NET_BIND_SERVICE"
            );
        }
    };
    text.to_owned()
}

fn raw(kind: Kind) -> String {
    let (unseen, instead) = match kind {
        Kind::Segments => (
            "neither the flags nor the TTL of an answer can be seen",
            "`sonde rtt HOST:PORT --connect` times TCP handshakes without it",
        ),
        Kind::Datagrams => ("the TTL of an answer cannot be seen", "`sonde check HOST:PORT` asks a port without it"),
        Kind::Echoes => (
            "the header of an answer cannot be seen",
            "`sonde ping` works with a ping socket too (net.ipv4.ping_group_range)",
        ),
    };
    format!(
        "run as root, or `setcap cap_net_raw+ep /path/to/sonde`: raw sockets need CAP_NET_RAW. Without it {unseen}; {instead}"
    )
}

/// True where it is done on this host alone.
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
        (Step::Listen, io::ErrorKind::AddrInUse) => "choose another --port, or end the program that listens there",
        (Step::Listen, io::ErrorKind::PermissionDenied) => {
            "choose another --port: ports below 1024 need CAP_NET_BIND_SERVICE"
        }
        (Step::Listen, io::ErrorKind::AddrNotAvailable) => "correct --listen: that address is not on this host",
        (Step::Set("socket buffers"), _) => {
            "ask for less, or raise `sysctl net.core.wmem_max` and `net.core.rmem_max`: twice as much is granted"
        }
        (Step::Set("congestion control"), io::ErrorKind::PermissionDenied) => {
            "choose one of net.ipv4.tcp_allowed_congestion_control, or run with CAP_NET_ADMIN"
        }
        (Step::Set("congestion control"), _) => {
            "choose one of `sysctl net.ipv4.tcp_available_congestion_control`, or load its kernel module"
        }
        (Step::Set("interface"), io::ErrorKind::PermissionDenied) => {
            "run as root: binding to an interface needs CAP_NET_RAW here"
        }
        (Step::Set("interface"), _) => "name an interface of this host: `ip link` lists them",
        (Step::EnterNamespace, io::ErrorKind::NotFound) => "name a namespace of this host: `ip netns list` lists them",
        (Step::EnterNamespace | Step::MakeInterface, io::ErrorKind::PermissionDenied) => {
            "run as root, or in your own user namespace (`unshare --user --map-root-user --net`): this needs CAP_NET_ADMIN"
        }
        (Step::MakeInterface, io::ErrorKind::NotFound) => "load the kernel module `tun`: /dev/net/tun is missing",
        (Step::MakeInterface, io::ErrorKind::ResourceBusy) => "choose another --interface: that name is in use",
        (Step::Forward, _) => "start it again: an interface of the link, or its namespace, is gone",
        (Step::Pin(_), _) => "choose an allowed CPU: `taskset -cp $$` lists them",
        _ => return None,
    })
}

/// Advice where a connection was made, and a request on it has no answer.
const SILENT: &str = "read the program's log: it may be busy, or wait for something else. `sonde HOST --port PORT` asks in other protocols. The path may lose large packets: `sonde check HOST:PORT` tests that";

/// Advice where a connection was made, and the server has not said the first word.
const UNGREETED: &str = "check the port: in this protocol the server speaks first. Or wait longer (--timeout 30s): it may look up this host's name first, and its resolver may not answer (MySQL, MariaDB: skip_name_resolve; sshd: UseDNS)";

fn there(step: &Step, cause: &Cause) -> Option<&'static str> {
    match (step, cause) {
        (_, Cause::Stopped) => None,
        (Step::LookUp, _) => Some("check the name, or give an address"),
        (Step::Reach | Step::Ask, Cause::System(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
            Some("start the program there, or correct the port")
        }
        (Step::Ask, Cause::Link(Fault::Closed)) => Some("read the program's log: it closed the connection"),
        (Step::ReachByQuic, Cause::System(error)) if error.kind() == io::ErrorKind::ConnectionRefused => Some(
            "enable HTTP/3 there, or use https:// or h2://: nothing listens at this port over UDP, which QUIC needs",
        ),
        (Step::ReachByQuic, Cause::Silence(_)) => {
            Some("enable HTTP/3 there, let UDP through the firewall, or use https:// or h2://: QUIC needs UDP")
        }
        (Step::Ask, Cause::Silence(_)) => Some(SILENT),
        (Step::Ask, Cause::Ungreeted(_)) => Some(UNGREETED),
        (Step::Ask, Cause::Peer(_)) => {
            Some("read the program's log, or ask those who run it: it does not let this client in")
        }
        (Step::Ask, Cause::Unfinished(_)) => Some(
            "ask for something shorter, or wait longer (--timeout): the program or the path is slow. The path may lose large packets, too: `sonde check HOST:PORT` tests that",
        ),
        (Step::Secure, Cause::Unfinished(_)) => Some(
            "try again: the program there or the path is slow, or stops in the middle of a TLS handshake. The path may lose large packets, too: `sonde check HOST:PORT` tests that",
        ),
        (Step::Secure, Cause::Silence(_)) => Some(
            "check that TLS is spoken at that port: it accepts connections, and no answer to a TLS hello came. The path may lose large packets, too: `sonde check HOST:PORT` tests that",
        ),
        // The session was agreed on at this very port.
        (Step::ConnectData, Cause::System(error)) if is_unanswered(error) => Some(
            "run `sonde paths HOST`: it shows whether some connections get no answer, as behind a load balancer with a member that is down. Or use --connections 1: a firewall or the server may limit how many one host makes",
        ),
        (_, Cause::System(error)) => network(error),
        (_, Cause::Elsewhere(_)) => Some(
            "measure at that address, or let the server listen at the one that is asked: programs take no answers from another",
        ),
        (_, Cause::Silence(_)) => {
            Some("run `sonde check HOST`: a firewall may drop the packets, or no program listens there")
        }
        (_, Cause::Link(Fault::Refused(_))) => Some("start `sonde serve` there, with --key FILE or --open"),
        (_, Cause::Link(Fault::TooLong)) => {
            Some("choose a smaller --size: this one does not fit the path or the socket")
        }
        _ => None,
    }
}

/// True where a connection was turned away, or nothing came back.
fn is_unanswered(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset | io::ErrorKind::TimedOut)
}

fn network(error: &io::Error) -> Option<&'static str> {
    use io::ErrorKind as Kind;
    Some(match error.kind() {
        // Without either it answers loopback alone, and refuses as if nobody were there.
        Kind::ConnectionRefused => "start `sonde serve` there, with --key FILE or --open, or correct the port",
        // A reset bears the peer's name, whoever sends it.
        Kind::ConnectionReset | Kind::ConnectionAborted => {
            "read the messages of the program there: if it closed nothing, look for a firewall or proxy that resets connections"
        }
        Kind::BrokenPipe | Kind::UnexpectedEof => "read the peer's messages: it closed the connection",
        Kind::TimedOut | Kind::WouldBlock => {
            "run `sonde check HOST`: a firewall may drop the packets, or the host is down"
        }
        Kind::HostUnreachable | Kind::NetworkUnreachable => {
            "run `sonde check HOST`: it names who says so: this host's routing table (`ip route get ADDRESS`), or a router or firewall on the path"
        }
        // The kernel says so of a link-local address without its interface, and where --bind cannot reach the peer.
        Kind::InvalidInput => "add the interface to a link-local address, as in fe80::1%eth0, or correct --bind",
        // An address that is not on this host fails before, when the socket is bound.
        Kind::AddrNotAvailable => {
            "wait a minute, or use fewer connections: all local ports towards it are in use (`ss -tan`, net.ipv4.ip_local_port_range). To an IPv6 address it also means that this host has none"
        }
        Kind::PermissionDenied => "check this host's firewall, or run as root",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use measure::unit::Nanos;
    use test_case::test_case;

    use super::*;

    #[test_case(Step::Connect, 111, "sonde serve"; "a closed port")]
    #[test_case(Step::Connect, 113, "a router or firewall on the path"; "a host that cannot be reached")]
    #[test_case(Step::Connect, 104, "firewall or proxy"; "a connection that was reset")]
    #[test_case(Step::ConnectData, 111, "--connections 1"; "a limit of connections")]
    #[test_case(Step::Connect, 22, "%eth0"; "an address that does not fit")]
    #[test_case(Step::ConnectData, 99, "ip_local_port_range"; "no local port is free")]
    #[test_case(Step::OpenSocket("TCP"), 24, "ulimit -Hn"; "no file may be opened any more")]
    #[test_case(Step::StartThread, 11, "pids.max"; "no thread may be started any more")]
    #[test_case(Step::Set("interface"), 19, "ip link"; "no such interface")]
    #[test_case(Step::Listen, 98, "--port"; "a port that is taken")]
    fn what_to_try_follows_from_step_and_cause(step: Step, errno: i32, part: &str) {
        let error = EndpointError::new(step, "10.0.0.2:7663", io::Error::from_raw_os_error(errno));
        let told = hint(&error).unwrap();
        assert!(told.contains(part), "{told}");
    }

    #[test_case(Step::ReachByQuic, io::Error::from_raw_os_error(111).into(), "over UDP"; "nothing listens for QUIC")]
    #[test_case(Step::Ask, Cause::Ungreeted(Nanos::secs(5)), "skip_name_resolve"; "a greeting that is late")]
    #[test_case(Step::Ask, Cause::Silence(Nanos::secs(5)), "`sonde check HOST:PORT` tests that"; "a reply that does not come")]
    fn programs_at_work_are_advised_by_what_came(step: Step, cause: Cause, part: &str) {
        let told = hint(&EndpointError::new(step, "db1", cause)).unwrap();
        assert!(told.contains(part), "{told}");
    }

    #[test_case(Cause::Ungreeted(Nanos::secs(5)), "use --connections 2, or wait longer"; "a late greeting")]
    #[test_case(Cause::Peer("sorry, too many clients already".into()), "it let 2 in"; "a limit")]
    #[test_case(io::Error::from_raw_os_error(24).into(), "ulimit -Hn"; "a limit of our own")]
    fn a_further_session_is_advised_as_that(cause: Cause, part: &str) {
        let told = hint(&EndpointError::new(Step::OpenFurther { number: 3, of: 9 }, "db1", cause)).unwrap();
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
