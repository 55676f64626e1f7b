//! A client by hand: the protocol's machine on a blocking socket, and messages written octet by octet.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use endpoint::clock::Monotonic;
use protocol::native::client::{Client, ClientEvent};
use protocol::native::error::SessionError;
use protocol::native::header::{Flags, Header, Token};
use protocol::native::message::{Open, Opened, Report};
use protocol::native::preamble::{Data, DataAnswer};

/// Far longer than anything here takes: a test that waits so long has failed.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// A control connection whose session is open.
pub struct Session {
    pub address: SocketAddr,
    pub opened: Opened,
    stream: TcpStream,
    machine: Client,
}

impl Session {
    /// Opens a session as `open` asks.
    pub fn open(address: SocketAddr, open: Open) -> Result<Self, SessionError> {
        let mut stream = connect(address);
        let mut machine = Client::new(open, None, Monotonic::now());
        match next(&mut stream, &mut machine)? {
            ClientEvent::Opened(opened) => Ok(Self { address, opened, stream, machine }),
            other => panic!("opened was expected: {other:?}"),
        }
    }

    pub fn token(&self) -> Token {
        self.opened.token
    }

    /// Closes it; the report.
    pub fn close(mut self) -> Report {
        self.machine.close(Monotonic::now()).expect("open until now");
        match next(&mut self.stream, &mut self.machine).expect("a report") {
            ClientEvent::Report(report) => *report,
            other => panic!("a report was expected: {other:?}"),
        }
    }

    /// Says nothing until the reflector does; how it ends the session.
    pub fn until_ended(mut self) -> SessionError {
        next(&mut self.stream, &mut self.machine).expect_err("the reflector ends it")
    }

    /// A data connection of flow `flow`, or the octet it was refused by.
    pub fn data(&self, flow: u16) -> Result<TcpStream, DataAnswer> {
        data(self.address, Data { version: 1, token: self.token(), flow })
    }

    /// A request of `length` octets on flow 0.
    pub fn request(&self, seq: u64, flags: Flags, asked: u32, length: usize) -> Vec<u8> {
        let mut message = vec![0x5A; length];
        Header { token: self.token(), seq, flags, flow: 0, word: asked }.write(&mut message);
        message
    }
}

pub fn data(address: SocketAddr, preamble: Data) -> Result<TcpStream, DataAnswer> {
    let mut stream = connect(address);
    stream.write_all(&preamble.encode()).unwrap();
    let mut answer = [0];
    stream.read_exact(&mut answer).unwrap();
    match DataAnswer::from_code(answer[0]) {
        DataAnswer::Accepted => Ok(stream),
        refused @ DataAnswer::Refused(_) => {
            assert_eq!(stream.read(&mut answer).unwrap(), 0, "a refused connection is closed");
            Err(refused)
        }
    }
}

pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("connected");
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// A UDP socket connected to `address`.
pub fn udp(address: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind((address.ip(), 0)).unwrap();
    socket.connect(address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

/// Sends `request` and gives back its reply.
pub fn asked(socket: &UdpSocket, request: &[u8]) -> Vec<u8> {
    socket.send(request).unwrap();
    let mut reply = vec![0; 65_536];
    let length = socket.recv(&mut reply).expect("a reply");
    reply.truncate(length);
    reply
}

/// Whether nothing is there to be read now.
pub fn is_silent(socket: &UdpSocket) -> bool {
    socket.set_nonblocking(true).unwrap();
    let silent = matches!(socket.recv(&mut [0; 2]), Err(error) if error.kind() == io::ErrorKind::WouldBlock);
    socket.set_nonblocking(false).unwrap();
    silent
}

fn next(stream: &mut TcpStream, machine: &mut Client) -> Result<ClientEvent, SessionError> {
    let mut buffer = [0; 16 << 10];
    loop {
        if let Some(event) = machine.event() {
            return Ok(event);
        }
        let out = machine.outgoing();
        stream.write_all(&out).expect("written");
        match stream.read(&mut buffer).expect("the reflector says something, or ends") {
            0 => machine.ended()?,
            count => machine.feed(&buffer[..count], Monotonic::now())?,
        }
    }
}
