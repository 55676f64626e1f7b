//! A server of datagrams that does as a test tells it.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// So often it looks whether it is to end.
const LOOK: Duration = Duration::from_millis(20);

/// A server that runs until it goes out of scope.
pub struct Rogue {
    pub address: SocketAddr,
    ends: Arc<AtomicBool>,
    running: Option<JoinHandle<Vec<SocketAddr>>>,
}

impl Rogue {
    /// Sends to whoever sent it all that `answers` gives for a message and its number, in order.
    pub fn start(mut answers: impl FnMut(u64, &[u8]) -> Vec<Vec<u8>> + Send + 'static) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let address = socket.local_addr().expect("bound");
        socket.set_read_timeout(Some(LOOK)).expect("a timeout");
        let ends = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&ends);
        let running = thread::spawn(move || {
            let (mut heard, mut buffer) = (Vec::new(), vec![0; 65_536]);
            while !end.load(Ordering::Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
                if !heard.contains(&from) {
                    heard.push(from);
                }
                let message = &buffer[..length];
                let number = u64::from_be_bytes(*message.first_chunk().expect("a client's message has a number"));
                for reply in answers(number, message) {
                    // A client that has ended hears nothing any more.
                    let _sent = socket.send_to(&reply, from);
                }
            }
            heard
        });
        Self { address, ends, running: Some(running) }
    }

    /// Options that point a client at it.
    pub fn words(&self) -> String {
        format!("-i 127.0.0.1 -p {}", self.address.port())
    }

    /// Ends it; who sent it something.
    pub fn heard(mut self) -> Vec<SocketAddr> {
        self.stop().expect("it ran")
    }

    fn stop(&mut self) -> Option<Vec<SocketAddr>> {
        self.ends.store(true, Ordering::Relaxed);
        let running = self.running.take()?;
        Some(running.join().expect("a server of this test"))
    }
}

impl Drop for Rogue {
    fn drop(&mut self) {
        drop(self.stop());
    }
}

/// The sound answer to a message that asks for one.
pub fn answer(message: &[u8]) -> Vec<Vec<u8>> {
    let mut reply = message.to_vec();
    let asks = reply[9] & 2 != 0;
    reply[9] &= !1;
    if asks { vec![reply] } else { vec![] }
}
