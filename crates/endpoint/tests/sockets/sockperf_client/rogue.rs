//! Servers that follow a test's script, over datagrams and over connections.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use protocol::sockperf::message::{self, Header};

/// So often a server looks whether it is to end.
const LOOK: Duration = Duration::from_millis(20);

/// A message as it came: its header, and all of its bytes.
#[derive(Clone, Debug)]
pub struct Came {
    pub header: Header,
    pub bytes: Vec<u8>,
}

impl Came {
    fn of(bytes: &[u8]) -> Self {
        Self { header: Header::read(bytes).expect("a message of ours has a header"), bytes: bytes.to_vec() }
    }

    /// Its sound answer.
    pub fn answer(&self) -> Vec<u8> {
        let mut reply = self.bytes.clone();
        message::answer(&mut reply);
        reply
    }

    /// Returns true where it asks for a reply.
    pub fn asks(&self) -> bool {
        self.header.flags.has(message::Flags::PONG_REQUEST)
    }
}

/// A server that runs until this is asked what came.
pub struct Rogue {
    pub address: SocketAddr,
    ends: Arc<AtomicBool>,
    running: JoinHandle<Vec<Came>>,
}

impl Rogue {
    /// Sends all that `answers` gives for a datagram back to its sender, in order.
    pub fn datagrams(mut answers: impl FnMut(&Came) -> Vec<Vec<u8>> + Send + 'static) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        Self::with_socket(socket, move |socket, came, from| {
            for reply in answers(came) {
                // A client that has ended hears nothing any more.
                let _sent = socket.send_to(&reply, from);
            }
        })
    }

    /// Hands each datagram over with the socket it came by, and whom it is from.
    pub fn with_socket(
        socket: UdpSocket,
        mut hear: impl FnMut(&UdpSocket, &Came, SocketAddr) + Send + 'static,
    ) -> Self {
        let address = socket.local_addr().expect("bound");
        socket.set_read_timeout(Some(LOOK)).expect("a timeout");
        let ends = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&ends);
        let running = thread::spawn(move || {
            let (mut all, mut buffer) = (Vec::new(), vec![0; 65_536]);
            loop {
                match socket.recv_from(&mut buffer) {
                    Ok((length, from)) => {
                        let came = Came::of(&buffer[..length]);
                        hear(&socket, &came, from);
                        all.push(came);
                    }
                    // Messages before the end are read to the last.
                    Err(_) if end.load(Ordering::Relaxed) => return all,
                    Err(_) => {}
                }
            }
        });
        Self { address, ends, running }
    }

    /// Takes one connection and hands it over.
    pub fn connection(serve: impl FnOnce(TcpStream) -> Vec<Came> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let running = thread::spawn(move || serve(listener.accept().expect("a client").0));
        Self { address, ends: Arc::default(), running }
    }

    /// All that came, in order.
    pub fn came(self) -> Vec<Came> {
        self.ends.store(true, Ordering::Relaxed);
        self.running.join().expect("a server of this test")
    }
}

/// Reads messages of a connection until it ends; what `answer` gives for each is written at once.
pub fn messages(mut stream: TcpStream, mut answer: impl FnMut(&Came, &mut TcpStream)) -> Vec<Came> {
    let (mut all, mut pending, mut buffer) = (Vec::new(), Vec::new(), vec![0; 1 << 16]);
    loop {
        while let Some(length) = Header::read(&pending).map(|header| header.length as usize)
            && length <= pending.len()
        {
            let came = Came::of(&pending[..length]);
            pending.drain(..length);
            answer(&came, &mut stream);
            all.push(came);
        }
        match stream.read(&mut buffer) {
            Ok(0) => return all,
            Ok(count) => pending.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // The client has closed its end over what it did not read.
            Err(_) => return all,
        }
    }
}

/// Writes to a client that may be gone.
pub fn write(stream: &mut TcpStream, bytes: &[u8]) {
    let _written = stream.write_all(bytes);
}
