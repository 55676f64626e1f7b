//! A path between a client and a server that loses and swaps certain datagrams, and counts them.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use testbed::port;

/// One numbered datagram of this many is lost …
const EVERY: u32 = 20;
/// … and these come after the one that follows them.
const SWAPPED: [u32; 3] = [31, 95, 153];

#[derive(Default)]
struct Told {
    dropped: AtomicI64,
    swapped: AtomicI64,
    over: AtomicBool,
}

/// The path.
pub(super) struct Relay {
    pub address: SocketAddr,
    told: Arc<Told>,
}

impl Relay {
    /// A path to `server`, TCP as it comes, datagrams with losses either way.
    pub fn start(server: SocketAddr) -> Self {
        // Both transports at one port: the system by itself gives one that may be taken for the other.
        let address = SocketAddr::from(([127, 0, 0, 1], port::free()));
        let (listener, datagrams) = (TcpListener::bind(address).unwrap(), UdpSocket::bind(address).unwrap());
        let told = Arc::new(Told::default());
        listener.set_nonblocking(true).unwrap();
        let (for_tcp, for_udp) = (Arc::clone(&told), Arc::clone(&told));
        thread::spawn(move || accept(&listener, server, &for_tcp));
        thread::spawn(move || forward(&datagrams, server, &for_udp));
        Self { address, told }
    }

    /// Number of datagrams lost, and number of those delayed behind the next.
    pub fn done(&self) -> (i64, i64) {
        (self.told.dropped.load(Ordering::SeqCst), self.told.swapped.load(Ordering::SeqCst))
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.told.over.store(true, Ordering::SeqCst);
    }
}

fn accept(listener: &TcpListener, server: SocketAddr, told: &Told) {
    while !told.over.load(Ordering::SeqCst) {
        let Ok((client, _)) = listener.accept() else {
            thread::park_timeout(Duration::from_millis(5));
            continue;
        };
        client.set_nonblocking(false).unwrap();
        let server = TcpStream::connect(server).unwrap();
        let ends = (client.try_clone().unwrap(), server.try_clone().unwrap());
        thread::spawn(move || pour(client, server));
        thread::spawn(move || pour(ends.1, ends.0));
    }
}

fn pour(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _closed = to.shutdown(Shutdown::Write);
}

fn forward(socket: &UdpSocket, server: SocketAddr, told: &Arc<Told>) {
    let flows: Mutex<HashMap<SocketAddr, Arc<UdpSocket>>> = Mutex::default();
    let mut held = None;
    socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let mut buffer = vec![0; 1 << 16];
    while !told.over.load(Ordering::SeqCst) {
        let Ok((count, from)) = socket.recv_from(&mut buffer) else { continue };
        let flow = Arc::clone(flows.lock().unwrap().entry(from).or_insert_with(|| {
            let flow = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
            flow.connect(server).unwrap();
            let (back, near, told) = (Arc::clone(&flow), socket.try_clone().unwrap(), Arc::clone(told));
            thread::spawn(move || answer(&back, &near, from, &told));
            flow
        }));
        for datagram in passed(&buffer[..count], &mut held, told) {
            flow.send(&datagram).unwrap();
        }
    }
}

fn answer(flow: &UdpSocket, near: &UdpSocket, client: SocketAddr, told: &Told) {
    flow.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let (mut held, mut buffer) = (None, vec![0; 1 << 16]);
    while !told.over.load(Ordering::SeqCst) {
        let Ok(count) = flow.recv(&mut buffer) else { continue };
        for datagram in passed(&buffer[..count], &mut held, told) {
            near.send_to(&datagram, client).unwrap();
        }
    }
}

/// Returns the datagrams that leave when this one arrives.
fn passed(datagram: &[u8], held: &mut Option<Vec<u8>>, told: &Told) -> Vec<Vec<u8>> {
    let number = datagram.get(8..12).map(|octets| u32::from_be_bytes(octets.try_into().unwrap()));
    match number {
        // Not towards the end: losses behind the last arrival are not noticed.
        Some(number) if number % EVERY == 7 && number < 180 => {
            told.dropped.fetch_add(1, Ordering::SeqCst);
            Vec::new()
        }
        Some(number) if SWAPPED.contains(&number) => {
            told.swapped.fetch_add(1, Ordering::SeqCst);
            *held = Some(datagram.to_vec());
            Vec::new()
        }
        _ => [Some(datagram.to_vec()), held.take()].into_iter().flatten().collect(),
    }
}
