//! Strangers who connect and go no further keep no client out.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use endpoint::reflector::lobby::STRANGERS;
use measure::method::Carrier;
use protocol::native::header::Flags;
use protocol::native::preamble::{Control, Versions};
use rustix::process::{Resource, getrlimit};
use testbed::client::{Session, connect, open};

use crate::reflector::with_reflector;

/// A connection that opens as ours do, and says no more.
fn half_open(address: SocketAddr) -> TcpStream {
    let mut stream = connect(address);
    stream.write_all(&Control { versions: Versions::OURS, keyed: None }.encode()).unwrap();
    stream
}

fn exchange(stream: &mut TcpStream, request: &[u8]) {
    stream.write_all(request).unwrap();
    stream.read_exact(&mut [0; 64]).unwrap();
}

#[test]
fn more_strangers_than_there_is_room_for_keep_nobody_out() {
    let most = STRANGERS + 400;
    // Both ends of each connection are here.
    if getrlimit(Resource::Nofile).maximum.is_some_and(|maximum| maximum < 2 * most as u64 + 512) {
        return testbed::skip::aloud("more strangers than there is room for: too few descriptors are allowed here");
    }
    with_reflector(|address| {
        let session = Session::open(address, open(Carrier::Tcp)).unwrap();
        let request = session.request(0, Flags::NONE, 64, 64);
        let mut data = session.data(0).unwrap();
        let mut strangers = Vec::with_capacity(most);
        for number in 0..most {
            strangers.push(half_open(address));
            if number.is_multiple_of(100) {
                exchange(&mut data, &request);
            }
        }
        // Some of the earliest gave way; a late client is let in.
        let late = Session::open(address, open(Carrier::Udp)).expect("let in beside all of them");
        assert_eq!(late.close().received, [0]);
        let newest = strangers.last_mut().expect("some");
        newest.read_exact(&mut [0; 16]).expect("the newest is still waited for");
        let mut oldest = strangers.swap_remove(0);
        assert_eq!(oldest.read_to_end(&mut Vec::new()).unwrap(), 16, "the oldest was answered, and gave way");
        exchange(&mut data, &request);
        let asked = most.div_ceil(100) as u64 + 1;
        assert_eq!(session.close().received, [asked], "no exchange of a session that runs is lost");
    });
}
