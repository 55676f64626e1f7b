//! A reflector that opens sessions properly and misbehaves afterwards, each as its test wants.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread;

use endpoint::clock::Monotonic;
use measure::environment::Environment;
use protocol::native::header::{Header, Token};
use protocol::native::limits::Limits;
use protocol::native::message::{Open, Report};
use protocol::native::preamble::{DataAnswer, Versions};
use protocol::native::server::{Server, ServerEvent, Terms};
use testbed::port;

/// Deed for one request.
pub enum Deed {
    /// Sends this.
    Reply(Vec<u8>),
    /// Sends each of these: datagrams, or one after the other.
    Replies(Vec<Vec<u8>>),
    /// Says nothing.
    Silence,
    /// Sends this again and again, until nobody takes it any more.
    Flood(Vec<u8>),
    /// Ends the data connection.
    Close,
}

/// Event at the reflector, as it saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// So many requests.
    Requests(u64),
    /// The client wants its report.
    Closing,
}

/// Deed for request number `n`, from 1.
pub type Manner = fn(n: u64, request: &[u8]) -> Deed;

/// Answers as a reflector should.
pub fn well(n: u64, request: &[u8]) -> Deed {
    Deed::Reply(answered(n, request))
}

/// The proper reply.
pub fn answered(n: u64, request: &[u8]) -> Vec<u8> {
    let mut reply = request.to_vec();
    let header = Header::read(request).expect("a request has a header");
    Header { word: n as u32, ..header }.write(&mut reply);
    reply
}

#[derive(Clone)]
pub struct Rogue {
    /// Treatment of requests.
    pub manner: Manner,
    /// True where it reports at the end.
    pub reports: bool,
    /// Its report in place of the true one.
    pub lie: Option<Report>,
    /// Said on the control connection once so many requests came, in place of all else.
    pub outburst: Option<(u64, Vec<u8>)>,
    /// The versions it speaks.
    pub versions: Versions,
}

impl Default for Rogue {
    fn default() -> Self {
        Self { manner: well, reports: true, lie: None, outburst: None, versions: Versions::OURS }
    }
}

struct Shared {
    rogue: Rogue,
    open: Mutex<Option<Open>>,
    requests: Mutex<u64>,
    seen: Mutex<Sender<Seen>>,
    control: Mutex<Option<TcpStream>>,
}

impl Rogue {
    /// Starts it; it lives as long as the tests do.
    pub fn start(self) -> (String, Receiver<Seen>) {
        // Both transports at one port: the system by itself gives one that may be taken for the other.
        let address = SocketAddr::from(([127, 0, 0, 1], port::free()));
        let (tcp, udp) = (TcpListener::bind(address).unwrap(), UdpSocket::bind(address).unwrap());
        let (seen, told) = mpsc::channel();
        let shared = Arc::new(Shared {
            rogue: self,
            open: Mutex::default(),
            requests: Mutex::default(),
            seen: Mutex::new(seen),
            control: Mutex::default(),
        });
        let for_datagrams = Arc::clone(&shared);
        thread::spawn(move || datagrams(&udp, &for_datagrams));
        thread::spawn(move || {
            for connection in tcp.incoming() {
                let shared = Arc::clone(&shared);
                thread::spawn(move || connected(connection.unwrap(), &shared));
            }
        });
        (address.to_string(), told)
    }
}

impl Shared {
    fn tell(&self, seen: Seen) {
        // The test may have seen enough.
        let _heard = self.seen.lock().unwrap().send(seen);
    }

    /// Takes note of a request and says what to do.
    fn deed(&self, request: &[u8]) -> Deed {
        let n = {
            let mut requests = self.requests.lock().unwrap();
            *requests += 1;
            *requests
        };
        self.tell(Seen::Requests(n));
        if let Some((at, words)) = &self.rogue.outburst
            && n == *at
            && let Some(mut control) = self.control.lock().unwrap().as_ref()
        {
            let _said = control.write_all(words);
        }
        (self.rogue.manner)(n, request)
    }
}

fn connected(mut stream: TcpStream, shared: &Shared) {
    let terms = Terms {
        program: "rogue 1".into(),
        versions: shared.rogue.versions,
        capabilities: [].into(),
        limits: Limits::default(),
        udp: true,
        keyring: None,
        decline: None,
    };
    let mut server = Server::new(terms, Monotonic::now());
    let mut buffer = [0; 16 << 10];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        let _fed = server.feed(&buffer[..count], Monotonic::now());
        while let Some(event) = server.event() {
            match event {
                ServerEvent::Data(_) => return data(&mut stream, server.unread(), shared),
                ServerEvent::Open(open) => {
                    let got = Limits::default().grant(&open);
                    *shared.open.lock().unwrap() = Some(open);
                    *shared.control.lock().unwrap() = stream.try_clone().ok();
                    server.accept(Token([7; 16]), got, Monotonic::now()).unwrap();
                }
                ServerEvent::Progress => server.received(vec![*shared.requests.lock().unwrap()]).unwrap(),
                ServerEvent::Close => {
                    shared.tell(Seen::Closing);
                    let received = vec![*shared.requests.lock().unwrap()];
                    let environment = Environment::default();
                    if shared.rogue.reports {
                        let report = Report { replied: received.clone(), received, environment, ..Report::default() };
                        server.report(shared.rogue.lie.clone().unwrap_or(report)).unwrap();
                    }
                }
            }
        }
        if stream.write_all(&server.outgoing()).is_err() {
            return;
        }
    }
}

fn data(stream: &mut TcpStream, mut held: Vec<u8>, shared: &Shared) {
    let length = shared.open.lock().unwrap().as_ref().map_or(0, |open| open.request_bytes.0 as usize);
    if stream.write_all(&[DataAnswer::Accepted.code()]).is_err() {
        return;
    }
    let mut buffer = [0; 16 << 10];
    loop {
        while held.len() >= length {
            let request: Vec<u8> = held.drain(..length).collect();
            let sent = match shared.deed(&request) {
                Deed::Reply(reply) => stream.write_all(&reply).is_ok(),
                Deed::Replies(replies) => stream.write_all(&replies.concat()).is_ok(),
                Deed::Silence => true,
                Deed::Flood(octets) => {
                    while stream.write_all(&octets).is_ok() {}
                    false
                }
                Deed::Close => false,
            };
            if !sent {
                return;
            }
        }
        match stream.read(&mut buffer) {
            Ok(count @ 1..) => held.extend_from_slice(&buffer[..count]),
            _ => return,
        }
    }
}

fn datagrams(socket: &UdpSocket, shared: &Arc<Shared>) {
    let mut buffer = vec![0; 65_536];
    loop {
        let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
        match shared.deed(&buffer[..length]) {
            Deed::Reply(reply) => send(socket, from, &reply),
            Deed::Replies(replies) => replies.iter().for_each(|reply| send(socket, from, reply)),
            Deed::Silence | Deed::Close => {}
            Deed::Flood(octets) => (0..2_000).for_each(|_| send(socket, from, &octets)),
        }
    }
}

fn send(socket: &UdpSocket, to: SocketAddr, octets: &[u8]) {
    // A refusal by a client that has gone is nobody's business here.
    let _sent = socket.send_to(octets, to);
}
