//! A relay of datagrams that loses some of one flow, and knows which.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Every datagram towards the server with a multiple of this number is lost; the one that ends a flow never is.
pub const EVERY: u64 = 20;

/// A relay of one flow that ends with this.
pub struct Relay {
    pub address: SocketAddr,
    lost: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Relay {
    /// A relay towards `server`.
    pub fn to(server: SocketAddr) -> Self {
        let (front, back) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        back.connect(server).unwrap();
        for socket in [&front, &back] {
            socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        }
        let address = front.local_addr().unwrap();
        let (lost, over): (Arc<AtomicU64>, Arc<AtomicBool>) = Default::default();
        let ends = (front.try_clone().unwrap(), back.try_clone().unwrap());
        let client: Arc<std::sync::OnceLock<SocketAddr>> = Arc::default();
        let (known, counts, ended) = (Arc::clone(&client), Arc::clone(&lost), Arc::clone(&over));
        let forth = thread::spawn(move || {
            let (mut seen, mut octets) = (0, [0; 2_000]);
            while !ended.load(Ordering::Relaxed) {
                let Ok((length, from)) = front.recv_from(&mut octets) else { continue };
                known.get_or_init(|| from);
                seen += 1;
                if seen % EVERY == 0 && octets[0] & 0x80 == 0 {
                    counts.fetch_add(1, Ordering::Relaxed);
                } else {
                    back.send(&octets[..length]).unwrap();
                }
            }
        });
        let ended = Arc::clone(&over);
        let (front, back) = ends;
        let return_way = thread::spawn(move || {
            let mut octets = [0; 2_000];
            while !ended.load(Ordering::Relaxed) {
                if let (Ok(length), Some(to)) = (back.recv(&mut octets), client.get()) {
                    front.send_to(&octets[..length], to).unwrap();
                }
            }
        });
        Self { address, lost, over, threads: vec![forth, return_way] }
    }

    /// Number of datagrams that it has lost.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let well = thread.join().is_ok();
            assert!(well || thread::panicking());
        }
    }
}
