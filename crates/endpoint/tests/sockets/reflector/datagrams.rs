//! UDP: a sender without a token is not answered, and no answer is longer than its request.

use std::net::{SocketAddr, UdpSocket};

use endpoint::reflector::permit::{Permit, Permits};
use endpoint::reflector::{Settings, sessions::Together};
use measure::method::{Batch, BatchBy, Carrier};
use protocol::native::header::{Flags, Header, LENGTH, Token};
use protocol::native::key::Key;
use protocol::native::limits::Limits;
use protocol::native::message::{Open, capability};
use test_case::test_case;

use crate::reflector::{settings, with_reflector, with_settings};
use testbed::client::open;
use testbed::client::{PATIENCE, Session, asked, is_silent, udp};
use testbed::port;

/// Sends `message` and shows that it is not answered: the reflector takes first datagrams one after the other, and
/// what came after it has been answered, twice over.
fn assert_unanswered(session: &Session, socket: &UdpSocket, message: &[u8]) {
    let known = udp(session.address);
    socket.send(message).unwrap();
    let (first, second) = (session.request(1, Flags::NONE, 64, 64), session.request(2, Flags::NONE, 64, 64));
    assert_eq!(asked(&known, &first).len(), 64);
    assert_eq!(asked(&known, &second).len(), 64);
    assert!(is_silent(socket), "{} octets were answered", message.len());
}

#[test_case(|_| vec![]; "nothing at all")]
#[test_case(|_| vec![0x5A]; "one octet")]
#[test_case(|session| session.request(0, Flags::NONE, 64, LENGTH)[..LENGTH - 1].to_vec(); "a header cut short")]
#[test_case(|_| vec![0x5A; 65_507]; "a long one of no meaning")]
#[test_case(|session| with_token(session, Token([0; 16])); "no token")]
#[test_case(|session| with_token(session, guessed(session.token())); "a token that is wrong by one bit")]
#[test_case(|session| { let mut message = session.request(0, Flags::NONE, 64, 64); message[24] = 2; message }; "a later layout")]
#[test_case(|session| { let mut message = session.request(0, Flags::NONE, 64, 64); message[27] = 1; message }; "a flow beyond those agreed on")]
#[test_case(|session| { let mut message = session.request(0, Flags::NONE, 64, 64); message[26] = 0xFF; message }; "a flow far beyond")]
fn a_stranger_is_met_with_silence(message: impl Fn(&Session) -> Vec<u8>) {
    with_reflector(|address| {
        let session = Session::open(address, open(Carrier::Udp)).unwrap();
        assert_unanswered(&session, &udp(address), &message(&session));
    });
}

#[test]
fn a_datagram_with_the_token_from_another_address_is_met_with_silence() {
    with_reflector(|address| {
        let session = Session::open(address, open(Carrier::Udp)).unwrap();
        // As if an attacker who learned the token claimed to be a third host.
        let elsewhere = UdpSocket::bind("127.0.0.99:0").unwrap();
        elsewhere.connect(address).unwrap();
        elsewhere.set_read_timeout(Some(PATIENCE)).unwrap();
        assert_unanswered(&session, &elsewhere, &session.request(0, Flags::NONE, 64, 64));
        let report = session.close();
        assert_eq!((report.received, report.malformed, report.elsewhere), (vec![2], 0, Some(1)));
    });
}

/// A NAT that forgot a flow gives it another port: what it brings is there, and is not lost on the way.
#[test]
fn datagrams_of_a_flow_that_come_from_another_port_are_counted_and_not_answered() {
    with_reflector(|address| {
        let session = Session::open(address, open(Carrier::Udp)).unwrap();
        let (first, other) = (udp(address), udp(address));
        assert_eq!(asked(&first, &session.request(0, Flags::NONE, 64, 64)).len(), 64);
        for seq in 1..4 {
            other.send(&session.request(seq, Flags::NONE, 64, 64)).unwrap();
        }
        // First datagrams are taken one after the other: when another session's is answered, the three were looked at.
        let beside = Session::open(address, open(Carrier::Udp)).unwrap();
        assert_eq!(asked(&udp(address), &beside.request(0, Flags::NONE, 64, 64)).len(), 64);
        assert_eq!(asked(&first, &session.request(4, Flags::NONE, 64, 64)).len(), 64);
        assert!(is_silent(&other), "nothing goes to a port that is only claimed");
        let report = session.close();
        assert_eq!((report.received, report.malformed, report.elsewhere), (vec![2], 0, Some(3)));
    });
}

fn with_token(session: &Session, token: Token) -> Vec<u8> {
    let mut message = session.request(0, Flags::NONE, 64, 64);
    Header { token, seq: 0, flags: Flags::NONE, flow: 0, word: 64 }.write(&mut message);
    message
}

fn guessed(token: Token) -> Token {
    let mut octets = token.0;
    octets[15] ^= 1;
    Token(octets)
}

#[test]
fn on_a_known_flow_what_is_not_of_it_is_not_answered_and_counted() {
    with_reflector(|address| {
        let session = Session::open(address, open(Carrier::Udp)).unwrap();
        let socket = udp(address);
        assert_eq!(asked(&socket, &session.request(0, Flags::NONE, 64, 64)).len(), 64);
        let mut other_flow = session.request(1, Flags::NONE, 64, 64);
        other_flow[27] = 9;
        let mut other_version = session.request(1, Flags::NONE, 64, 64);
        other_version[24] = 9;
        let too_long = session.request(1, Flags::NONE, 64, 65);
        let short = session.request(1, Flags::NONE, 64, 31);
        let strange = with_token(&session, guessed(session.token()));
        for nonsense in [&other_flow, &other_version, &too_long, &short, &strange] {
            socket.send(nonsense).unwrap();
        }
        // One flow is answered by one thread, in order: the next reply shows that none of the five was.
        let reply = asked(&socket, &session.request(2, Flags::NONE, 64, 64));
        let header = Header::read(&reply).unwrap();
        assert_eq!((header.seq, header.word), (2, 2), "two requests were received, not seven");
        let report = session.close();
        assert_eq!((report.received, report.replied, report.malformed), (vec![2], vec![2], 5));
    });
}

#[test]
fn a_flow_belongs_to_the_address_its_first_datagram_came_from() {
    with_reflector(|address| {
        let session = Session::open(address, open(Carrier::Udp)).unwrap();
        let ours = udp(address);
        assert_eq!(asked(&ours, &session.request(0, Flags::NONE, 64, 64)).len(), 64);
        let theirs = udp(address);
        theirs.send(&session.request(1, Flags::NONE, 64, 64)).unwrap();
        assert_eq!(asked(&ours, &session.request(2, Flags::NONE, 64, 64)).len(), 64);
        // Another session's flow comes through the shared socket, behind what is not to be answered.
        let another = Session::open(address, open(Carrier::Udp)).unwrap();
        assert_eq!(asked(&udp(address), &another.request(0, Flags::NONE, 64, 64)).len(), 64);
        assert!(is_silent(&theirs));
    });
}

/// A client's port that another session has used, and whose flow the reflector still has: that session is open, its client gone.
#[test_case(|open| open; "as any")]
#[test_case(|open| Open { batch: Some(Batch { messages: 8, by: BatchBy::Segments }), ..open }; "of segments")]
#[test_case(|open| Open { capabilities: [capability::DATAGRAM_AUTH.to_owned()].into(), ..open }; "authenticated")]
fn a_port_that_was_used_before_is_the_next_session_s(ask: fn(Open) -> Open) {
    let permits = Permits::keyed(vec![(Key([7; 32]), Permit::within(Limits::default()))]);
    with_settings(Settings { permits, together: Together::default(), ..settings() }, |address, _| {
        let opened = || Session::by_key(address, ask(open(Carrier::Udp)), Some(Key([7; 32]))).unwrap();
        let from = port::free();
        let connected = || {
            let socket = UdpSocket::bind((address.ip(), from)).unwrap();
            socket.connect(address).unwrap();
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            socket
        };
        let before = opened();
        let socket = connected();
        assert_eq!(asked(&socket, &before.request(0, Flags::NONE, 64, 64)).len(), 64);
        drop(socket);
        let next = opened();
        let socket = connected();
        // A datagram that names the next session and is none of it changes nothing.
        let mut forged = next.request(0, Flags::NONE, 64, 64);
        forged[8..16].fill(0);
        socket.send(&forged).unwrap();
        for seq in 0..3 {
            let header = Header::read(&asked(&socket, &next.request(seq, Flags::NONE, 64, 64))).unwrap();
            assert_eq!((header.seq, header.word), (seq, seq as u32 + 1));
        }
        assert_eq!(next.close().received, [3]);
        let report = before.close();
        assert_eq!((report.received, report.malformed), (vec![1], 1));
    });
}

#[test]
fn a_datagram_that_claims_to_come_from_the_reflector_is_not_answered() {
    // The kernel chooses one of the two sockets on the port by a hash that differs from port to port: half of the lies
    // come back to the liar.
    let told = (0..64).any(|_| {
        let mut told = false;
        with_reflector(|address| told = is_told_a_lie(address));
        told
    });
    assert!(told, "no lie in 64 came to the reflector");
}

/// Sends a lie, after which the reflector must answer others; `false` where the liar got it himself.
fn is_told_a_lie(address: SocketAddr) -> bool {
    let session = Session::open(address, open(Carrier::Udp)).unwrap();
    let Ok(liar) = same_port(address) else { panic!("the flow sockets share the port, and so can this test") };
    liar.send_to(&session.request(0, Flags::NONE, 64, 64), address).unwrap();
    let told = is_silent(&liar);
    // Had it been taken for a client, the only flow would be taken, and no other client answered.
    drop(liar);
    assert_eq!(asked(&udp(address), &session.request(1, Flags::NONE, 64, 64)).len(), 64);
    assert_eq!(session.close().received, [1]);
    told
}

/// A socket on the reflector's own port, as only a forger or the reflector itself could send from.
fn same_port(address: SocketAddr) -> std::io::Result<UdpSocket> {
    use socket2::{Domain, Socket, Type};
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.bind(&address.into())?;
    Ok(socket.into())
}

#[test_case(64, 64, 64, 64; "as agreed on")]
#[test_case(64, 64, 32, 32; "no longer than its request, however much is asked for")]
#[test_case(64, u32::MAX, 64, 64; "no longer than agreed on")]
#[test_case(64, u32::MAX, 40, 40; "nor than its request, when all is asked for")]
#[test_case(64, 0, 64, 32; "a header at least")]
#[test_case(64, 48, 64, 48; "what was asked for")]
#[test_case(1_000, 1_000, 999, 999; "one octet less")]
fn a_reply_is_never_longer_than_its_request(agreed: u64, asks: u32, length: usize, reply: usize) {
    with_reflector(|address| {
        let size = measure::unit::Bytes(agreed);
        let wanted = Open { request_bytes: size, response_bytes: size, ..open(Carrier::Udp) };
        let session = Session::open(address, wanted).unwrap();
        let socket = udp(address);
        for seq in 0..3 {
            assert_eq!(asked(&socket, &session.request(seq, Flags::NONE, asks, length)).len(), reply);
        }
    });
}
