//! A client made by hand: the client's half of the protocol, and plain sockets.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use protocol::netperf::MESSAGE;
use protocol::netperf::answer::{Ready, Results};
use protocol::netperf::ask::{Ask, Carrier, Length};
use protocol::netperf::client::{Answer, Client};
use protocol::netperf::error::Error;

use super::Ours;

/// A wait for what has to come ends after this; nothing here takes as long.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A control connection with our netserver.
pub struct Session {
    pub socket: TcpStream,
    pub client: Client,
}

impl Session {
    pub fn open(server: &Ours) -> Self {
        let socket = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { socket, client: Client::new(None) }
    }

    pub fn ask(&mut self, ask: &Ask) -> Result<Ready, Error> {
        let said = self.client.ask(ask)?;
        self.socket.write_all(&said).unwrap();
        match self.answer()? {
            Answer::Ready(ready) => Ok(ready),
            other => panic!("asked for a test: {other:?}"),
        }
    }

    pub fn results(&mut self) -> Results {
        match self.answer().unwrap() {
            Answer::Results(results) => results,
            other => panic!("waited for results: {other:?}"),
        }
    }

    pub fn answer(&mut self) -> Result<Answer, Error> {
        let mut message = [0; MESSAGE];
        self.socket.read_exact(&mut message).unwrap();
        Ok(self.client.feed(&message)?.remove(0))
    }

    /// The error number that `ask` is answered with.
    pub fn refused(&mut self, ask: &Ask) -> i32 {
        let answer = self.ask(ask);
        // Our client gives up on an error; the connection is as good as before.
        self.client = Client::new(None);
        match answer {
            Err(Error::Refused { code, .. }) => code,
            other => panic!("{other:?}"),
        }
    }
}

pub fn at(ready: &Ready) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, ready.data_port).into()
}

pub fn tcp_rr(length: Length) -> Ask {
    Ask { request_bytes: Some(1), response_bytes: Some(1), ..Ask::omni(Carrier::Tcp, true, true, length) }
}

/// A transaction of one octet each way.
pub fn exchange(data: &mut TcpStream) {
    data.write_all(b"?").unwrap();
    data.read_exact(&mut [0]).unwrap();
}

/// A whole test, after which all must be well.
pub fn good(session: &mut Session) {
    let ready = session.ask(&tcp_rr(Length::Count(3))).unwrap();
    let mut data = TcpStream::connect(at(&ready)).unwrap();
    (0..3).for_each(|_| exchange(&mut data));
    drop(data);
    assert_eq!(session.results().transactions, Some(3));
}

/// UDP sockets as a client has them: the port is known before the server is asked.
pub fn udp() -> (UdpSocket, u16) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let port = socket.local_addr().unwrap().port();
    (socket, port)
}
