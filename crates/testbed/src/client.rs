//! A client of the native protocol by hand: its machine on a blocking socket, and messages written octet by octet. It
//! panics where the far side does not do what the test takes for granted.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use measure::method::{Carrier, Pattern, Waiting};
use measure::unit::{Bytes, Instant, Nanos};
use protocol::native::client::{Client, ClientEvent};
use protocol::native::error::SessionError;
use protocol::native::header::{Flags, Header, Token};
use protocol::native::key::{Key, Proof, Secret};
use protocol::native::mac::{Direction, Mac};
use protocol::native::message::{Open, Opened, Report};
use protocol::native::preamble::{Data, DataAnswer};

/// Far longer than anything here takes: a test that waits so long has failed.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Time stands still for the machine: sockets have timeouts of their own.
const NOW: Instant = Instant(0);

/// Request for a session of 64-byte messages on one flow.
pub fn open(carrier: Carrier) -> Open {
    Open {
        program: "sonde test".into(),
        capabilities: [].into(),
        carrier,
        pattern: Pattern::Exchange,
        request_bytes: Bytes(64),
        response_bytes: Bytes(64),
        reply_every: 1,
        waiting: Some(Waiting::Block),
        cpus: Vec::new(),
        flows: 1,
        stamps: false,
        batch: None,
        receive_buffer_bytes: None,
        stream: None,
        rate_per_flow: None,
        duration_ns: None,
        idle_ns: Nanos::secs(30),
    }
}

/// A control connection whose session is open.
#[derive(Debug)]
pub struct Session {
    /// Address of the reflector.
    pub address: SocketAddr,
    /// Agreed settings of the session.
    pub opened: Opened,
    stream: TcpStream,
    machine: Client,
}

impl Session {
    /// Opens a session as `open` asks.
    pub fn open(address: SocketAddr, open: Open) -> Result<Self, SessionError> {
        Self::by_key(address, open, None)
    }

    /// The same by a key, where there is one.
    pub fn by_key(address: SocketAddr, open: Open, key: Option<Key>) -> Result<Self, SessionError> {
        Self::proved(address, open, key.map(Proof::from))
    }

    /// The same by a key or an identity, where there is one.
    pub fn proved(address: SocketAddr, open: Open, proof: Option<Proof>) -> Result<Self, SessionError> {
        Self::over(connect(address), address, open, proof)
    }

    /// The same over this connection.
    pub fn over(
        mut stream: TcpStream,
        address: SocketAddr,
        open: Open,
        proof: Option<Proof>,
    ) -> Result<Self, SessionError> {
        // Nobody guesses anything of a test's session.
        let mut machine = Client::new(open, proof.map(|proof| Secret { proof, ephemeral: [0x11; 32] }), NOW);
        match next(&mut stream, &mut machine)? {
            ClientEvent::Opened(opened) => Ok(Self { address, opened, stream, machine }),
            other => panic!("opened was expected: {other:?}"),
        }
    }

    /// Its name.
    pub fn token(&self) -> Token {
        self.opened.token
    }

    /// Closes it; the report.
    pub fn close(mut self) -> Report {
        self.machine.close(NOW).expect("open until now");
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

    /// Key that authenticates its datagrams; `None`: they are not authenticated.
    pub fn mac(&self) -> Option<Mac> {
        self.opened.got.datagram_key.as_ref().map(Mac::new)
    }

    /// A request of `length` octets on flow 0, with its code where datagrams are authenticated.
    pub fn request(&self, seq: u64, flags: Flags, asked: u32, length: usize) -> Vec<u8> {
        let mut message = vec![0x5A; length];
        Header { token: self.token(), seq, flags, flow: 0, word: asked }.write(&mut message);
        if let Some(mac) = self.mac() {
            mac.seal(&mut message, Direction::There);
        }
        message
    }
}

/// A data connection with this preamble, or the octet it was refused by.
pub fn data(address: SocketAddr, preamble: Data) -> Result<TcpStream, DataAnswer> {
    let mut stream = connect(address);
    stream.write_all(&preamble.encode()).expect("a socket that does what it is asked for");
    let mut answer = [0];
    stream.read_exact(&mut answer).expect("a socket that does what it is asked for");
    match DataAnswer::from_code(answer[0]) {
        DataAnswer::Accepted => Ok(stream),
        refused @ DataAnswer::Refused(_) => {
            assert_eq!(
                stream.read(&mut answer).expect("a socket that does what it is asked for"),
                0,
                "a refused connection is closed"
            );
            Err(refused)
        }
    }
}

/// A TCP connection.
pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("connected");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket that does what it is asked for");
    stream.set_nodelay(true).expect("a socket that does what it is asked for");
    stream
}

/// A UDP socket connected to `address`.
pub fn udp(address: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind((address.ip(), 0)).expect("a socket that does what it is asked for");
    socket.connect(address).expect("a socket that does what it is asked for");
    socket.set_read_timeout(Some(PATIENCE)).expect("a socket that does what it is asked for");
    socket
}

/// Sends `request` and gives back its reply.
pub fn asked(socket: &UdpSocket, request: &[u8]) -> Vec<u8> {
    socket.send(request).expect("a socket that does what it is asked for");
    let mut reply = vec![0; 65_536];
    let length = socket.recv(&mut reply).expect("a reply");
    reply.truncate(length);
    reply
}

/// Returns true where nothing is there to be read now.
pub fn is_silent(socket: &UdpSocket) -> bool {
    socket.set_nonblocking(true).expect("a socket that does what it is asked for");
    let silent = matches!(socket.recv(&mut [0; 2]), Err(error) if error.kind() == io::ErrorKind::WouldBlock);
    socket.set_nonblocking(false).expect("a socket that does what it is asked for");
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
            count => machine.feed(&buffer[..count], NOW)?,
        }
    }
}
