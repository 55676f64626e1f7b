//! Connections from many addresses of the loopback network, whose clients get no further than a part of a first word.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use socket2::{Domain, SockAddr, Socket, Type};

/// A connection to port `port` of this host that comes from `source`.
pub fn connect_from(source: Ipv4Addr, port: u16) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SockAddr::from(SocketAddr::from((source, 0)))).unwrap();
    socket.connect(&SockAddr::from(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}

/// `count` of them from three addresses, each of which has said `word`.
pub fn strangers(port: u16, count: u8, word: &[u8]) -> Vec<TcpStream> {
    let connect = |number: u8| {
        let mut stream = connect_from(Ipv4Addr::new(127, 1, 0, 1 + number % 3), port);
        stream.write_all(word).unwrap();
        stream
    };
    (0..count).map(connect).collect()
}
