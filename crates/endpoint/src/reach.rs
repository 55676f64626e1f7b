//! Reachability of a host's addresses and its kind, also where no program of ours runs there.
//!
//! Plain TCP and UDP sockets and a ping socket, none of which needs a privilege; ICMP errors come from the sockets' error
//! queues, with the address of who sent them. At most [`AT_ONCE`] probes are under way at a time, each bounded by its tries, so
//! that the whole is. Addresses are checked one after the other: several of them are mostly one host, and a server that serves
//! one client at a time must not meet us twice.
//!
//! Not here: what follows from what was seen (`measure::reach`), and who sent a reset (`sonde syn`).

pub(crate) mod datagram;
pub(crate) mod echo;
pub(crate) mod mtu;
mod secure;
pub(crate) mod seen;
mod service;
mod tcp;
mod udp;
pub(crate) mod wait;

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::thread;

use measure::reach::{AddressReach, LookedUp, Lookup, PortFinding, Reach, Seen, Service, Transport, Verdict};
use measure::unit::Nanos;
use protocol::inquiry::{ALSO_USUAL, usual_port};
use protocol::tls::Terms;

use crate::clock::Monotonic;
use crate::environment::way::Way;
use crate::error::{EndpointError, plain};
use crate::name::{Family, look_up_all};
use crate::stop::Stop;

/// Probes under way at a time.
pub const AT_ONCE: usize = 32;
/// Addresses of one name that are checked.
pub const MOST_ADDRESSES: usize = 8;

/// Settings of a reachability check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// IP versions of the name's addresses that are checked.
    pub family: Family,
    /// The ports, TCP first.
    pub ports: Vec<Port>,
    /// Timeout of each try.
    pub timeout: Nanos,
    /// Tries of an echo request or a datagram before silence counts as no answer. A handshake is given the same time in
    /// all, and the kernel repeats its SYN by its own rule: after 1 s, 3 s, 7 s.
    pub tries: u32,
    /// True where open ports are asked for their service.
    pub services: bool,
    /// Host as the user named it, for programs that expect the name.
    pub host: String,
    /// The terms of TLS with a server of HTTP; absent: what is behind TLS is not asked for.
    pub tls: Option<Terms>,
}

/// A port to ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Transport of the port.
    pub transport: Transport,
    /// Its number, from 1.
    pub number: u16,
    /// The programs to ask for over TCP, one after the other until one is known. Over UDP at most one; where none is named one question
    /// asks for those that are there for measurements.
    pub services: Vec<Service>,
    /// Set where the program on the port is not known: one that speaks first is asked nothing, and an answer to our own
    /// question may lead to one more, on another connection.
    pub unknown: bool,
}

impl Port {
    /// A port with the programs that are usually there.
    pub fn usual(transport: Transport, number: u16) -> Self {
        // A datagram asks for all that are there for measurements.
        let apart = |service: Service| transport == Transport::Tcp || service.is_at_work();
        let usual = usual().into_iter().filter(|(over, usual, _)| (*over, *usual) == (transport, number));
        let also = ALSO_USUAL.into_iter().filter(|(also, _)| (transport, number) == (Transport::Tcp, *also));
        let services = usual.map(|(_, _, service)| service).chain(also.map(|(_, service)| service));
        Self { transport, number, services: services.filter(|service| apart(*service)).collect(), unknown: false }
    }

    /// The same port, of which nothing is asked but a handshake.
    #[must_use]
    pub fn unasked(self) -> Self {
        Self { services: Vec::new(), ..self }
    }

    /// Ports of the known programs that are there for measurements; others are asked where the user names them.
    pub fn of_known_services() -> Vec<Self> {
        let there = usual().into_iter().filter(|(.., service)| !service.is_at_work());
        there.map(|(transport, number, _)| Self::usual(transport, number)).collect()
    }
}

/// Default ports of programs, by number.
fn usual() -> Vec<(Transport, u16, Service)> {
    let over = |transport| {
        let of = move |service| Some((transport, usual_port(service, transport)?, service));
        let mut found: Vec<_> = Service::ALL.into_iter().filter_map(of).collect();
        found.sort_by_key(|(_, number, _)| *number);
        found
    };
    [over(Transport::Tcp), over(Transport::Udp)].concat()
}

/// Error of a check that sends nothing.
#[derive(Debug, thiserror::Error)]
pub enum ReachError {
    /// The name has no address.
    #[error(transparent)]
    LookUp(#[from] EndpointError),
    /// The address is not one host's.
    #[error("{address} is {what}: check one host")]
    NotOneHost {
        /// The address.
        address: IpAddr,
        /// Kind of the address, with its article.
        what: &'static str,
    },
}

/// Checks `host` as `plan` says; `tell` hears what is asked next. Ends soon after `stop` is requested, with what was seen.
///
/// # Errors
/// A name without an address, and an address that is not one host's: nothing is sent there.
pub fn check(host: &str, plan: &Plan, stop: &Stop, tell: impl Fn(&str)) -> Result<Reach, ReachError> {
    let start = Monotonic::now();
    let given = host.split('%').next().is_some_and(|bare| bare.trim_matches(['[', ']']).parse::<IpAddr>().is_ok());
    let found = look_up_all(host, 0, plan.family, stop)?;
    let looked_up = Monotonic::now().since(start);
    for address in &found {
        refuse_many(*address)?;
    }
    let by = if given {
        LookedUp::Given
    } else if all_in_hosts_file(host, &found) {
        LookedUp::HostsFile
    } else {
        LookedUp::Resolver
    };
    let lookup = Lookup {
        by,
        took_ns: looked_up.filter(|_| !given),
        addresses: found.iter().map(|address| shown(*address)).collect(),
    };
    let mut addresses = Vec::new();
    for address in found.iter().take(MOST_ADDRESSES) {
        tell(&shown(*address));
        addresses.push(check_address(*address, plan, stop));
    }
    let took_ns = Monotonic::now().since(start).unwrap_or_default();
    Ok(Reach { host: host.to_owned(), lookup, addresses, took_ns, cut_short: stop.requested() })
}

/// Refuses what is sent to more than one host, or to none.
///
/// # Errors
/// A group, a broadcast address, the address of no host.
pub fn refuse_many(address: SocketAddr) -> Result<(), ReachError> {
    let refuse = |what| Err(ReachError::NotOneHost { address: address.ip(), what });
    match address.ip().to_canonical() {
        ip if ip.is_multicast() => refuse("a multicast group"),
        ip if ip.is_unspecified() => refuse("not a host address"),
        IpAddr::V4(ip) if ip.is_broadcast() => refuse("the broadcast address"),
        IpAddr::V4(_) if Way::to(address).is_ok_and(|way| way.many) => refuse("the broadcast address of a network"),
        _ => Ok(()),
    }
}

/// An address as it is written; a scope stands behind a `%`.
pub fn shown(address: SocketAddr) -> String {
    let scope = if let SocketAddr::V6(six) = address { six.scope_id() } else { 0 };
    if scope == 0 { address.ip().to_string() } else { format!("{}%{scope}", address.ip()) }
}

/// Returns true where the system's hosts file has all of these addresses under that name, so that no name server was
/// asked.
fn all_in_hosts_file(host: &str, found: &[SocketAddr]) -> bool {
    let Ok(text) = std::fs::read_to_string("/etc/hosts") else { return false };
    in_hosts_file(&text, host, found)
}

fn in_hosts_file(text: &str, host: &str, found: &[SocketAddr]) -> bool {
    let line = |line: &str| {
        let mut words = line.split('#').next()?.split_whitespace();
        let address: IpAddr = words.next()?.parse().ok()?;
        words.any(|name| name.eq_ignore_ascii_case(host)).then_some(address)
    };
    let listed: Vec<IpAddr> = text.lines().filter_map(line).collect();
    !found.is_empty() && found.iter().all(|address| listed.contains(&address.ip()))
}

fn check_address(address: SocketAddr, plan: &Plan, stop: &Stop) -> AddressReach {
    ask(address, plan, Path::Searched, stop, &|_| {})
}

/// Asks one address for an echo and at the ports of `plan`, all at once. `heard` receives each probe's outcome as soon
/// as it is there, on the thread that asked. The path's MTU is not searched, and reported so.
pub fn survey(address: SocketAddr, plan: &Plan, stop: &Stop, heard: &(dyn Fn(Heard<'_>) + Sync)) -> AddressReach {
    ask(address, plan, Path::Left, stop, heard)
}

/// Outcome of one probe of a [`survey`].
#[derive(Clone, Copy, Debug)]
pub enum Heard<'a> {
    /// The echo request.
    Echo(&'a Seen),
    /// A port.
    Port(&'a Port, &'a Seen),
}

/// Selects the search for the path MTU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Path {
    Searched,
    Left,
}

fn ask(address: SocketAddr, plan: &Plan, path: Path, stop: &Stop, heard: &(dyn Fn(Heard<'_>) + Sync)) -> AddressReach {
    let way = Way::to(address);
    let (mut route, no_route) = match &way {
        Ok(way) => (Some(way.route.clone()), None),
        Err(error) => (None, Some(plain(error))),
    };
    let mtu = route.as_ref().and_then(|route| route.mtu_bytes);
    let mut seen = match &no_route {
        Some(why) => AllSeen::nothing(plan.ports.len(), &format!("there is no route: {why}")),
        None => run(&Asking { address, plan, path, mtu, stop, heard }),
    };
    if let (Some(route), Ok(way)) = (&mut route, &way) {
        route.neighbour = way.neighbour();
    }
    let nobody = route.as_ref().is_some_and(measure::reach::Route::nobody_on_the_link);
    let finding = |(port, (seen, service)): (&Port, (Seen, _))| {
        let verdict = Verdict::of(port.transport, &seen, nobody);
        PortFinding { transport: port.transport, port: port.number, verdict, seen, service }
    };
    let ports = plan.ports.iter().zip(std::mem::take(&mut seen.ports)).map(finding).collect();
    let AllSeen { echo, sizes: mtu::Sizes { there, by, back }, .. } = seen;
    AddressReach { address: shown(address), route, no_route, echo, mtu: there, mtu_by: by, mtu_back_bytes: back, ports }
}

/// Outcomes of all probes of one address; ports in the plan's order.
struct AllSeen {
    echo: Seen,
    sizes: mtu::Sizes,
    ports: Vec<(Seen, Option<measure::reach::ServiceFinding>)>,
}

impl AllSeen {
    fn nothing(ports: usize, why: &str) -> Self {
        let unasked = || Seen::NotAsked { why: why.to_owned() };
        let ports = (0..ports).map(|_| (unasked(), None)).collect();
        Self { echo: unasked(), sizes: mtu::Sizes::not_found(why), ports }
    }
}

/// Arguments that every probe of one address needs.
struct Asking<'a> {
    address: SocketAddr,
    plan: &'a Plan,
    path: Path,
    /// MTU of the interface; absent: not known.
    mtu: Option<u32>,
    stop: &'a Stop,
    heard: &'a (dyn Fn(Heard<'_>) + Sync),
}

fn run(asking: &Asking<'_>) -> AllSeen {
    let Asking { plan, stop, .. } = *asking;
    let all = Mutex::new(AllSeen::nothing(plan.ports.len(), "a signal ended the check"));
    // The path first: it takes longest. `None` is the path, a number that of a port in the plan.
    let jobs: Mutex<VecDeque<Option<usize>>> =
        Mutex::new([None].into_iter().chain((0..plan.ports.len()).map(Some)).collect());
    let work = || {
        while !stop.requested() {
            let Some(job) = lock(&jobs).pop_front() else { break };
            asking.carry_out(job, &all);
        }
    };
    thread::scope(|scope| {
        let workers = AT_ONCE.min(plan.ports.len() + 1);
        for number in 1..workers {
            // Without further threads, those that are there do the work.
            let _ = thread::Builder::new().name(format!("sonde-check-{number}")).spawn_scoped(scope, work);
        }
        work();
    });
    all.into_inner().unwrap_or_else(PoisonError::into_inner)
}

impl Asking<'_> {
    fn carry_out(&self, job: Option<usize>, all: &Mutex<AllSeen>) {
        let Self { address, plan, stop, heard, .. } = *self;
        let Some((number, port)) = job.map(|number| (number, &plan.ports[number])) else {
            let (echo, sizes) = match self.path {
                Path::Searched => mtu::path(address, self.mtu, plan, stop),
                Path::Left => (mtu::echo(address, plan, stop), mtu::Sizes::not_found("nobody asked for it")),
            };
            heard(Heard::Echo(&echo));
            let mut all = lock(all);
            (all.echo, all.sizes) = (echo, sizes);
            return;
        };
        let to = scoped(SocketAddr::new(address.ip(), port.number), address);
        let tell = |seen: &Seen| heard(Heard::Port(port, seen));
        let found = match port.transport {
            Transport::Tcp => tcp::probe(to, port, plan, stop, &tell),
            Transport::Udp => {
                let found = udp::probe(to, port, plan, stop);
                tell(&found.0);
                found
            }
        };
        lock(all).ports[number] = found;
    }
}

fn scoped(to: SocketAddr, like: SocketAddr) -> SocketAddr {
    match (to, like) {
        (SocketAddr::V6(mut to), SocketAddr::V6(like)) => {
            to.set_scope_id(like.scope_id());
            to.into()
        }
        _ => to,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, UdpSocket};

    use measure::reach::ServiceFinding;
    use measure::reach::mtu::MtuFinding;
    use test_case::test_case;

    use super::*;

    fn plan(ports: Vec<Port>) -> Plan {
        Plan {
            family: Family::Any,
            ports,
            timeout: Nanos::secs(20),
            tries: 1,
            services: true,
            host: "db1".into(),
            tls: None,
        }
    }

    fn port(transport: Transport, number: u16, services: &[Service]) -> Port {
        Port { transport, number, services: services.to_vec(), unknown: false }
    }

    #[test_case("224.0.0.1", "multicast"; "v4 multicast")]
    #[test_case("ff02::1%1", "multicast"; "v6 multicast")]
    #[test_case("255.255.255.255", "broadcast"; "all")]
    #[test_case("127.255.255.255", "broadcast"; "a network")]
    #[test_case("0.0.0.0", "not a host address"; "none")]
    fn what_is_not_one_host_is_refused(host: &str, word: &str) {
        let error = check(host, &plan(Vec::new()), &Stop::default(), |_| {}).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
    }

    #[test]
    fn a_hosts_file_is_believed_for_what_it_has() {
        let text = "127.0.0.1 localhost\n10.0.0.2\tdb1 DB one # db2\nnonsense\n";
        let found = |text: &str| vec![text.parse().unwrap()];
        assert!(in_hosts_file(text, "db", &found("10.0.0.2:0")));
        assert!(!in_hosts_file(text, "db2", &found("10.0.0.2:0")), "a comment");
        assert!(!in_hosts_file(text, "db1", &found("10.0.0.3:0")), "another address");
        assert!(!in_hosts_file(text, "db1", &[]));
    }

    #[test]
    fn ports_of_this_host_are_told_apart() {
        let echo = TcpListener::bind("127.0.0.1:0").unwrap();
        let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
        // Assigned to no socket over TCP or UDP, and by no listener that a process being started might still have.
        let closed = testbed::port::free();
        let [open, answering] = [echo.local_addr().unwrap().port(), datagrams.local_addr().unwrap().port()];
        let server = thread::spawn(move || {
            let (mut stream, _) = echo.accept().unwrap();
            let mut buffer = [0; 64];
            let length = stream.read(&mut buffer).unwrap();
            stream.write_all(&buffer[..length]).unwrap();
            let (length, from) = datagrams.recv_from(&mut buffer).unwrap();
            datagrams.send_to(&buffer[..length], from).unwrap();
        });
        let ports = vec![
            port(Transport::Tcp, open, &[Service::Echo]),
            port(Transport::Tcp, closed, &[Service::Echo]),
            port(Transport::Udp, answering, &[]),
            port(Transport::Udp, closed, &[]),
        ];
        let found = check("127.0.0.1", &plan(ports), &Stop::default(), |_| {}).unwrap();
        server.join().unwrap();
        let address = &found.addresses[0];
        let verdicts: Vec<_> = address.ports.iter().map(|port| port.verdict).collect();
        assert_eq!(verdicts, [Verdict::Open, Verdict::Refused, Verdict::Open, Verdict::Refused], "{address:?}");
        let known = Some(ServiceFinding::Known { service: Service::Echo, state: None });
        assert_eq!((&address.ports[0].service, &address.ports[2].service), (&known, &known));
        assert!(matches!(address.ports[1].seen, Seen::Reset { .. }));
        assert!(matches!(address.ports[3].seen, Seen::Error { by: measure::reach::Reporter::Host, .. }));
        assert_eq!((found.lookup.by, found.lookup.took_ns), (LookedUp::Given, None));
    }

    #[test]
    fn a_program_that_resets_what_it_accepted_is_told_as_that() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let open = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 64]).unwrap();
            // Without waiting for what is still to be sent: a reset in place of an end.
            socket2::SockRef::from(&stream).set_linger(Some(std::time::Duration::ZERO)).unwrap();
        });
        let ports = vec![port(Transport::Tcp, open.port(), &[Service::Echo])];
        let found = check("127.0.0.1", &plan(ports), &Stop::default(), |_| {}).unwrap();
        server.join().unwrap();
        let port = &found.addresses[0].ports[0];
        assert_eq!(port.verdict, Verdict::Open);
        assert_eq!(port.service, Some(ServiceFinding::Reset { asked: vec![Service::Echo] }));
    }

    /// The next question may meet silence.
    #[test]
    fn a_program_that_has_answered_once_is_not_silent() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let open = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut first, _) = listener.accept().unwrap();
            let _asked = first.read(&mut [0; 64]).unwrap();
            first.write_all(b"zzz\r\n").unwrap();
            let (mut next, _) = listener.accept().unwrap();
            // It says nothing, and hears it to its end.
            while next.read(&mut [0; 64]).is_ok_and(|length| length > 0) {}
        });
        let asked = [Service::Redis, Service::Echo];
        let found =
            check("127.0.0.1", &plan(vec![port(Transport::Tcp, open.port(), &asked)]), &Stop::default(), |_| {});
        server.join().unwrap();
        assert_eq!(found.unwrap().addresses[0].ports[0].service, Some(ServiceFinding::Other { asked: asked.to_vec() }));
    }

    #[test]
    fn a_survey_tells_each_answer_as_it_comes_and_leaves_the_path_alone() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let open = listener.local_addr().unwrap();
        let ports = vec![port(Transport::Tcp, open.port(), &[]), port(Transport::Tcp, testbed::port::free(), &[])];
        let told = Mutex::new(Vec::new());
        let found = survey(open, &plan(ports), &Stop::default(), &|heard| {
            let what = match heard {
                Heard::Echo(_) => None,
                Heard::Port(port, seen) => Some((port.number, matches!(seen, Seen::Answer { .. }))),
            };
            lock(&told).push(what);
        });
        let told = told.into_inner().unwrap();
        assert!(told.len() == 3 && told.contains(&None) && told.contains(&Some((open.port(), true))), "{told:?}");
        assert_eq!(found.ports.iter().map(|port| port.verdict).collect::<Vec<_>>(), [Verdict::Open, Verdict::Refused]);
        assert!(matches!(&found.mtu, MtuFinding::NotFound { why } if why.contains("nobody asked")));
    }

    #[test]
    fn a_stop_ends_it_and_what_was_not_asked_says_so() {
        let stop = Stop::default();
        stop.request();
        let found = check("127.0.0.1", &plan(vec![port(Transport::Udp, 9, &[])]), &stop, |_| {}).unwrap();
        assert!(found.cut_short && !found.holds(&[]));
        assert_eq!(found.addresses[0].ports[0].verdict, Verdict::NotAsked);
    }
}
