//! Messages and sockets as a hand-made client has them.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::time::Duration;

use protocol::sockperf::message::{Flags, HEADER, Header};

use crate::sockperf_server::Ours;

/// Time without an answer after which a client fails its test.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// Flags of a client that asks for a reply.
pub const ASKING: u16 = 0x0003;

/// A message of `length` bytes whose header says so.
pub fn message(sequence: u64, flags: u16, length: usize) -> Vec<u8> {
    claiming(sequence, flags, length as u32, length)
}

/// A message of `length` bytes whose header says `said`.
pub fn claiming(sequence: u64, flags: u16, said: u32, length: usize) -> Vec<u8> {
    let mut message: Vec<u8> = (0..length.max(HEADER)).map(|at| (at * 7 + 3) as u8).collect();
    Header { sequence, flags: Flags(flags), length: said }.write(&mut message);
    message.truncate(length);
    message
}

/// Answer to `message`: the client's bit is gone, and nothing else is changed.
pub fn answered(message: &[u8]) -> Vec<u8> {
    let mut answer = message.to_vec();
    answer[9] &= 0xFE;
    answer
}

/// A UDP socket connected to the server over loopback.
pub fn udp(server: &Ours) -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.connect((Ipv4Addr::LOCALHOST, server.port())).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

/// A connection to the server over loopback.
pub fn tcp(server: &Ours) -> TcpStream {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// The next datagram.
pub fn receive(socket: &UdpSocket) -> Vec<u8> {
    let mut buffer = vec![0; 1 << 16];
    let length = socket.recv(&mut buffer).expect("an answer");
    buffer.truncate(length);
    buffer
}

/// As many bytes as `like` has.
pub fn read(stream: &mut TcpStream, like: &[u8]) -> Vec<u8> {
    let mut answer = vec![0; like.len()];
    stream.read_exact(&mut answer).expect("an answer");
    answer
}

/// Returns true where the server has ended the connection, and has sent nothing more.
pub fn is_over(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0; 64]) {
        Ok(length) => length == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

/// Asserts that the server still works: a datagram and a new connection are answered.
pub fn good(server: &Ours) {
    let asked = message(1, ASKING, 100);
    let socket = udp(server);
    socket.send(&asked).unwrap();
    assert_eq!(receive(&socket), answered(&asked));
    good_tcp(server);
}

/// Asserts that the server still works: a new connection is answered.
pub fn good_tcp(server: &Ours) {
    let asked = message(1, ASKING, 100);
    let mut stream = tcp(server);
    stream.write_all(&asked).unwrap();
    assert_eq!(read(&mut stream, &asked), answered(&asked));
}
