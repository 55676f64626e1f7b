//! Numbers of ports for programs that must be told one, and what the kernel says of a port.
//!
//! A number is given out once: to one test, of one process, while it runs. It lies apart from those that the system gives
//! by itself, so that no connection of a test nearby comes by it between the choice and the program's `bind`.
//!
//! Invariant: a process gives numbers only of blocks that it holds. A block is held by a name in the abstract namespace
//! of Unix sockets, which is that of the network namespace, as ports are, and is let go of when the process ends, however
//! that comes. Bound ports are read in the kernel's tables and never tried: a socket bound to find out lives on, for as long
//! as a process that another thread is just starting has it too, and the program that is then given the number finds it
//! taken. Not here: sockets of our own, which bind port 0.

use std::collections::{BTreeSet, VecDeque};
use std::io::ErrorKind;
use std::ops::Range;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixDatagram};
use std::sync::{LazyLock, Mutex, PoisonError};

use measure::method::Carrier;

/// The least number given out: above those that programs of this kind have by custom (5001, 5201, 11111, 12865).
const LEAST: u16 = 15_000;
/// Numbers in a block. One for the many test programs that need a few; few enough that dozens of programs find one each.
const BLOCK: u16 = 50;
/// Range of ports that the system gives by itself where it does not report one.
const USUAL: Range<u32> = 32_768..61_000;
/// Name of a held block.
const NAME: &str = "sonde-testbed-ports";

static BLOCKS: LazyLock<Mutex<Blocks>> =
    LazyLock::new(|| Mutex::new(Blocks::new(NAME.to_owned(), &given_by_the_system(), std::process::id(), bound)));

/// A number that nobody has bound, neither for TCP nor for UDP, on no address of IPv4 or IPv6; and that nobody else is
/// given, in this process or another.
///
/// # Panics
/// Where every number is taken.
pub fn free() -> u16 {
    // A test that panicked in here has left nothing half done.
    let mut blocks = BLOCKS.lock().unwrap_or_else(PoisonError::into_inner);
    blocks.next().expect("a port that no other test was given and nothing has bound")
}

/// Fifty numbers in a row, of which the same holds.
///
/// # Panics
/// As [`free`].
pub fn row() -> Range<u16> {
    let mut blocks = BLOCKS.lock().unwrap_or_else(PoisonError::into_inner);
    blocks.whole().expect("a row of ports that no other test was given and nothing has bound")
}

/// Returns true where a socket listens for connections at `port`, or takes datagrams there.
///
/// # Panics
/// For a carrier that has no ports, and where the kernel's table cannot be read.
pub fn listens(carrier: Carrier, port: u16) -> bool {
    let (transport, state) = kind(carrier);
    tables(transport).any(|table| local(&table, state).any(|bound| bound == port))
}

/// The same in the network of another process; false where that has ended.
///
/// # Panics
/// For a carrier that has no ports.
pub fn listens_near(process: u32, carrier: Carrier, port: u16) -> bool {
    let (transport, state) = kind(carrier);
    let paths = ["", "6"].map(|version| format!("/proc/{process}/net/{transport}{version}"));
    let tables = paths.iter().filter_map(|path| std::fs::read_to_string(path).ok());
    tables.into_iter().any(|table| local(&table, state).any(|bound| bound == port))
}

/// The kernel's name of a transport, and the state in its table of a socket that waits for others.
fn kind(carrier: Carrier) -> (&'static str, Option<&'static str>) {
    match carrier {
        Carrier::Tcp | Carrier::TcpConnect | Carrier::TcpSyn => ("tcp", Some("0A")),
        Carrier::Udp => ("udp", None),
        Carrier::Icmp => panic!("an echo has no port"),
    }
}

/// Every number that a socket of TCP or UDP has, those of connections that ended a moment ago among them: a program that
/// does not ask for their reuse would not get them.
fn bound() -> BTreeSet<u16> {
    ["tcp", "udp"].into_iter().flat_map(tables).flat_map(|table| local(&table, None).collect::<Vec<_>>()).collect()
}

/// The kernel's tables of a transport's sockets, over IPv4 and over IPv6 where it has that, in this thread's namespace.
fn tables(transport: &str) -> impl Iterator<Item = String> + use<> {
    let path = |version: &str| format!("/proc/thread-self/net/{transport}{version}");
    [path(""), path("6")].into_iter().filter_map(|path| match std::fs::read_to_string(&path) {
        Ok(table) => Some(table),
        Err(error) if error.kind() == ErrorKind::NotFound && path.ends_with('6') => None,
        Err(error) => panic!("{path}: {error}"),
    })
}

/// The local ports in a table as in `proc_net(5)`, of sockets in this state where one is named.
fn local(table: &str, state: Option<&str>) -> impl Iterator<Item = u16> {
    table.lines().skip(1).filter_map(move |line| {
        let mut words = line.split_whitespace().skip(1);
        let (_, port) = words.next()?.rsplit_once(':')?;
        let of_state = state.is_none() || words.nth(1) == state;
        u16::from_str_radix(port, 16).ok().filter(|_| of_state)
    })
}

/// The blocks that a process holds, and what it has not tried yet.
#[derive(Debug)]
struct Blocks {
    name: String,
    untried: VecDeque<Range<u16>>,
    held: Vec<UnixDatagram>,
    present: Range<u16>,
    /// Tells which numbers are bound. It is asked once for each block, for it takes the kernel milliseconds: from then on
    /// nobody else is given a number of it.
    look: fn() -> BTreeSet<u16>,
    bound: BTreeSet<u16>,
}

impl Blocks {
    /// Takes all numbers from [`LEAST`] on that are not in `given`; processes begin at different ones.
    fn new(name: String, given: &Range<u32>, process: u32, look: fn() -> BTreeSet<u16>) -> Self {
        let end = u32::from(u16::MAX) + 1;
        let blocks = (u32::from(LEAST)..end - u32::from(BLOCK)).step_by(BLOCK.into());
        let apart = |first: &u32| first + u32::from(BLOCK) <= given.start || *first >= given.end;
        let block = |first: u32| first as u16..first as u16 + BLOCK;
        let mut untried: VecDeque<Range<u16>> = blocks.filter(apart).map(block).collect();
        let begin = process as usize % untried.len().max(1);
        untried.rotate_left(begin);
        Self { name, untried, held: Vec::new(), present: 0..0, look, bound: BTreeSet::new() }
    }

    /// The next number that is free; `None`: there is none left.
    fn next(&mut self) -> Option<u16> {
        loop {
            if let Some(port) = self.present.by_ref().find(|port| !self.bound.contains(port)) {
                return Some(port);
            }
            self.present = self.another()?;
        }
    }

    /// The next block in which all are free.
    fn whole(&mut self) -> Option<Range<u16>> {
        loop {
            let block = self.another()?;
            if self.bound.range(block.clone()).next().is_none() {
                return Some(block);
            }
        }
    }

    /// A block that nobody else has, held from now on.
    fn another(&mut self) -> Option<Range<u16>> {
        loop {
            let block = self.untried.pop_front()?;
            if let Some(hold) = self.hold(&block) {
                self.held.push(hold);
                self.bound = (self.look)();
                return Some(block);
            }
        }
    }

    /// Takes a block; `None` where another process has it.
    fn hold(&self, block: &Range<u16>) -> Option<UnixDatagram> {
        let name = format!("{}-{}", self.name, block.start);
        let address = UnixAddress::from_abstract_name(&name).expect("a short name");
        match UnixDatagram::bind_addr(&address) {
            Ok(socket) => Some(socket),
            Err(error) if error.kind() == ErrorKind::AddrInUse => None,
            Err(error) => panic!("{name}: cannot hold a block of ports: {error}"),
        }
    }
}

/// The numbers that a socket without a wish may get.
fn given_by_the_system() -> Range<u32> {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let mut ends = text.split_whitespace().map_while(|word| word.parse::<u32>().ok());
    ends.next().zip(ends.next()).map_or(USUAL, |(first, last)| first..last + 1)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::thread;

    use test_case::test_case;

    use super::*;

    #[test]
    fn a_number_is_free_apart_from_the_systems_and_given_once() {
        let ports: Vec<u16> = thread::scope(|scope| {
            let many = || (0..40).map(|_| free()).collect::<Vec<_>>();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(many)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(ports.iter().collect::<BTreeSet<_>>().len(), 160);
        let given = given_by_the_system();
        assert!(ports.iter().all(|port| *port >= LEAST && !given.contains(&u32::from(*port))), "{ports:?}");
        assert!(bound().is_disjoint(&ports.iter().copied().collect()));
        let row = row();
        assert!(row.len() == 50 && !ports.iter().any(|port| row.contains(port)));
    }

    #[test_case("0.0.0.0"; "any address")]
    #[test_case("127.0.0.1"; "loopback")]
    #[test_case("::"; "any address of both families")]
    #[test_case("::1"; "loopback of the other family")]
    fn what_is_bound_for_either_transport_is_not_free(host: &str) {
        let port = free();
        let tcp = TcpListener::bind((host, port)).unwrap();
        assert!(bound().contains(&port) && listens(Carrier::Tcp, port) && !listens(Carrier::Udp, port));
        drop(tcp);
        let udp = UdpSocket::bind((host, port)).unwrap();
        assert!(bound().contains(&port) && listens(Carrier::Udp, port) && !listens(Carrier::Tcp, port));
        drop(udp);
        assert!(!bound().contains(&port) && !listens(Carrier::Udp, port));
    }

    #[test]
    fn a_port_whose_connections_have_just_ended_is_not_free() {
        let port = free();
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        // The server ends it first, and so keeps its memory.
        drop(listener.accept().unwrap());
        drop((listener, client));
        assert!(!listens(Carrier::Tcp, port) && bound().contains(&port));
    }

    #[test]
    fn blocks_of_another_process_are_passed_over() {
        let name = || format!("{NAME}-tested-{}", std::process::id());
        let of = |process| Blocks::new(name(), &(15_200..65_536), process, BTreeSet::new);
        let (mut one, mut other) = (of(8), of(8));
        let all = |blocks: &mut Blocks| std::iter::from_fn(|| blocks.next()).take(100).collect::<Vec<_>>();
        assert_eq!(all(&mut one), (15_000..15_100).collect::<Vec<_>>());
        assert_eq!(all(&mut other), (15_100..15_200).collect::<Vec<_>>());
        assert_eq!((one.next(), other.next()), (None, None));
        drop(one);
        let mut next = of(9);
        next.look = || (15_000..15_200).filter(|port| port % 7 != 0).collect();
        assert_eq!(next.next(), Some(15_050), "what is bound is passed over too");
        next.look = || BTreeSet::from([15_020]);
        assert_eq!((next.whole(), next.next()), (None, Some(15_051)));
    }

    #[test_case(15_000..16_000, 16_000; "the system's begin where ours do")]
    #[test_case(32_768..61_000, 15_000; "as usual")]
    fn numbers_are_taken_from_where_the_system_gives_none(given: Range<u32>, first: u16) {
        let mut blocks = Blocks::new(format!("{NAME}-elsewhere-{}", std::process::id()), &given, 0, BTreeSet::new);
        assert_eq!(blocks.next(), Some(first));
        let left = &blocks.untried;
        assert!(left.iter().all(|block| u32::from(block.end) <= given.start || u32::from(block.start) >= given.end));
    }

    #[test]
    fn a_table_is_read() {
        let table = "  sl  local_address rem_address   st tx_queue\n   \
                     0: 0100007F:1F90 00000000:0000 0A 00000000:00000000\n   \
                     1: 0100007F:A001 0100007F:1F91 01 00000000:00000000\n";
        assert_eq!(local(table, None).collect::<Vec<_>>(), [0x1F90, 0xA001]);
        assert_eq!(local(table, Some("0A")).collect::<Vec<_>>(), [0x1F90]);
        assert_eq!(local("", None).next(), None);
    }
}
