//! Strangers from many addresses of one namespace, a thousand a second by their schedule and as many as they are told to be.

use std::fs::File;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};

use endpoint::clock::Monotonic;
use endpoint::pace;
use lab::namespace::Namespace;
use measure::unit::{Instant, Nanos};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use socket2::{Domain, SockAddr, Socket, Type};

use crate::scene::{run, tell};

/// From one stranger to the next.
pub const EVERY: Nanos = Nanos::millis(1);
/// So much lateness is caught up with, and no more: where a machine stood still for long, hundreds at once would fill any socket.
const CAUGHT_UP: Nanos = Nanos::millis(50);
/// Threads that take turns: one that has to wait for a connection holds the others up no more.
const THREADS: u64 = 4;

/// Addresses of the strangers.
#[derive(Clone, Copy, Debug)]
pub enum Sources {
    /// 200 addresses of IPv4, which are as many sources.
    V4,
    /// Addresses of one network of 64 bits, a new one for each stranger.
    OneNet,
    /// Addresses of 50 networks of 64 bits, as many in each as there are.
    Nets,
}

impl Sources {
    const V4S: u64 = 200;
    const NETS: u64 = 50;

    fn of(self, number: u64) -> IpAddr {
        let six = |net: u64, host: u64| Ipv6Addr::new(0xfd00, 0x181, 7, net as u16, 0, 0, 1, 1 + host as u16).into();
        match self {
            Self::V4 => Ipv4Addr::new(10, 181, 7, 20 + (number % Self::V4S) as u8).into(),
            Self::OneNet => six(0, number),
            Self::Nets => six(1 + number % Self::NETS, number / Self::NETS),
        }
    }

    /// Gives `near` all these addresses, and `far` the way back to them.
    pub fn add(self, near: &Namespace, far: &Namespace) {
        if matches!(self, Self::V4) {
            let add = |number| format!("address add {}/24 dev {}", self.of(number), near.interface());
            let lines = (0..Self::V4S).map(add).collect::<Vec<_>>().join("\n");
            run(near, &["sh", "-c", &format!("echo '{lines}' | ip -batch -")]);
            return;
        }
        // More addresses than an interface would be given one by one: all of these networks are this host.
        run(
            near,
            &["sh", "-c", "ip -6 route add local fd00:181:7::/48 dev lo && sysctl -qw net.ipv6.ip_nonlocal_bind=1"],
        );
        run(far, &["ip", "-6", "route", "add", "fd00:181:7::/48", "via", &near.v6().to_string()]);
    }
}

/// Does `body` on a thread within `namespace`, as all threads and programs that it starts are.
pub fn inside<T: Send>(namespace: &Namespace, body: impl FnOnce() -> T + Send) -> T {
    let path = Path::new("/run/netns").join(namespace.name());
    thread::scope(|scope| {
        let within = || {
            let file = File::open(path).expect("a namespace with a name");
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).expect("root");
            body()
        };
        scope.spawn(within).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Beginning of a stranger.
#[derive(Clone, Copy, Debug)]
pub enum Beginning<'a> {
    /// By a connection; every other one says this as well, and all stay.
    Connections(&'a [u8]),
    /// By a connection, and each says this.
    Words(&'a [u8]),
    /// By a datagram from a port of its own.
    Datagrams(&'a [u8]),
}

/// Strangers who are on their way.
pub struct Attack {
    began: Instant,
    most: u64,
    come: Arc<(Mutex<u64>, Condvar)>,
    threads: Vec<JoinHandle<Vec<TcpStream>>>,
}

impl Attack {
    /// `most` of them from `sources` to `to`, from here on.
    pub fn start(sources: Sources, to: SocketAddr, most: u64, beginning: Beginning<'_>) -> Self {
        endpoint::socket::raise_descriptor_limit();
        let (began, come) = (Monotonic::now(), Arc::<(Mutex<u64>, Condvar)>::default());
        // One of so many connections speaks.
        let (word, speaks) = match beginning {
            Beginning::Connections(word) => (word.to_vec(), Some(2)),
            Beginning::Words(word) => (word.to_vec(), Some(1)),
            Beginning::Datagrams(word) => (word.to_vec(), None),
        };
        let attack = |thread: u64| {
            let (come, word) = (Arc::clone(&come), word.clone());
            thread::spawn(move || {
                let mut here = Vec::new();
                let mut due = began.after(Nanos(thread * EVERY.0));
                for number in (thread..most).step_by(THREADS as usize) {
                    pace::sleep_until(due);
                    let now = Monotonic::now();
                    let stood_still = now.since(due).is_some_and(|late| late > CAUGHT_UP);
                    due = if stood_still { now } else { due }.after(Nanos(THREADS * EVERY.0));
                    let from = SocketAddr::new(sources.of(number), 0);
                    if let Some(every) = speaks {
                        let word = if number.is_multiple_of(every) { &word[..] } else { &[] };
                        here.push(connect(from, to, word));
                    } else {
                        UdpSocket::bind(from).expect("a port").send_to(&word, to).expect("sent");
                    }
                    *come.0.lock().expect("whole") += 1;
                    come.1.notify_all();
                }
                here
            })
        };
        Self { began, most, threads: (0..THREADS).map(attack).collect(), come }
    }

    /// Strangers that have come.
    pub fn count(&self) -> u64 {
        *self.come.0.lock().expect("whole")
    }

    /// Waits until so many have come.
    pub fn await_count(&self, count: u64) {
        let _come = self.come.1.wait_while(self.come.0.lock().expect("whole"), |come| *come < count).expect("whole");
    }

    /// Waits for the last of them; then all go.
    pub fn end(self, what: &str) {
        let here: Vec<_> = self.threads.into_iter().map(|thread| thread.join().expect("each has come")).collect();
        let took = Monotonic::now().since(self.began).unwrap_or_default();
        tell(&format!("{what}: {} strangers within {took}", self.most));
        drop(here);
    }
}

fn connect(from: SocketAddr, to: SocketAddr, word: &[u8]) -> TcpStream {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, None).expect("a descriptor");
    socket.bind(&SockAddr::from(from)).expect("an address of this host");
    socket.connect(&SockAddr::from(to)).expect("accepted");
    let mut stream = TcpStream::from(socket);
    // The server may have had it give way by now.
    let _told = stream.write_all(word);
    stream
}
