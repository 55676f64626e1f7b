//! The same datagrams by hand to both servers: each answer is the same octet by octet, but for the session's name.

use std::net::UdpSocket;
use std::time::Duration;

use protocol::irtt::parameters::Parameters;
use test_case::test_case;

use super::{lines, servers};

const OPEN: u8 = 1;
const REPLY: u8 = 2;
const CLOSE: u8 = 4;

/// Something that is sent.
#[derive(Clone, Copy, Debug)]
enum Sent {
    /// These octets.
    Octets(&'static [u8]),
    /// An opening with these flags besides, for these parameters.
    Opening(u8, fn() -> Parameters),
    /// An opening with parameters as octets.
    Raw(&'static [u8]),
    /// A packet of the latest session of this number and length.
    Packet(u32, usize),
    /// The same with this octet of flags.
    Flagged(u8, usize),
}

/// Parameters of replies without times, so that they are the same each time.
fn plain() -> Parameters {
    Parameters {
        version: 1,
        duration: 1_000_000_000,
        interval: 20_000_000,
        length: 70,
        stats: 3,
        clock: 3,
        ..Parameters::default()
    }
}

fn datagram(flags: u8, fields: &[&[u8]]) -> Vec<u8> {
    let mut datagram = vec![0x14, 0xa7, 0x5b, flags];
    for field in fields {
        datagram.extend_from_slice(field);
    }
    datagram
}

/// A length that nothing else has.
const END: i64 = -77;

/// All replies to these datagrams, the session's name left out. Behind each an opening is sent that closes itself, whose reply
/// comes last: a server answers one datagram after the other.
fn replies(port: u16, all: &[Sent]) -> Vec<Vec<u8>> {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let end = datagram(OPEN | CLOSE, &[&Parameters { length: END, ..Parameters::default() }.encode()]);
    let is_end = |reply: &[u8]| {
        reply[3] & OPEN != 0 && Parameters::decode(&reply[12..]).is_ok_and(|parameters| parameters.length == END)
    };
    let mut token = [0; 8];
    let mut seen = Vec::new();
    for sent in all {
        let mut packet = datagram(0, &[&token, &[0; 4], &[7; 1_500]]);
        let octets = match *sent {
            Octets(octets) => octets.to_vec(),
            Opening(flags, parameters) => datagram(OPEN | flags, &[&parameters().encode()]),
            Raw(parameters) => datagram(OPEN, &[parameters]),
            Packet(number, length) => {
                packet[12..16].copy_from_slice(&number.to_le_bytes());
                packet[..length].to_vec()
            }
            Flagged(flags, length) => {
                packet[3] = flags;
                packet[..length].to_vec()
            }
        };
        socket.send(&octets).unwrap();
        socket.send(&end).unwrap();
        let mut buffer = [0; 4_096];
        loop {
            let length = socket.recv(&mut buffer).expect("a reply");
            let reply = &mut buffer[..length];
            if is_end(reply) {
                break;
            }
            if reply[3] & OPEN == 0 {
                assert_eq!(reply[4..12], token, "a reply of the session");
            } else {
                token.copy_from_slice(&reply[4..12]);
            }
            reply[4..12].fill(0);
            seen.push(reply.to_vec());
        }
    }
    seen
}

use Sent::{Flagged, Octets, Opening, Packet, Raw};

const USUAL: Sent = Opening(0, plain);

#[test_case(&["-i", "0"], &[USUAL, Packet(0, 70), Packet(1, 70), Packet(5, 70), Packet(5, 70), Packet(3, 70), Packet(4, 70), Packet(90, 70), Flagged(CLOSE, 12), Packet(7, 70)]; "a whole session")]
#[test_case(&[], &[USUAL, Packet(0, 70), Packet(1, 70), Packet(2, 70), Packet(3, 70), Packet(4, 70)]; "as many as may come at once")]
#[test_case(&["-i", "1h", "--timeout=0", "--pburst=2"], &[USUAL, Packet(0, 70), Packet(1, 70), Packet(2, 70), Packet(3, 70)]; "more than may come at once")]
#[test_case(&["-i", "0", "-l", "60"], &[USUAL, Packet(0, 61), Packet(1, 60)]; "long packets")]
#[test_case(&["-i", "0"], &[USUAL, Packet(0, 1_000), Packet(1, 71), Packet(2, 200)]; "packets longer than granted")]
#[test_case(&["-i", "0", "--fill=none"], &[USUAL, Packet(0, 70), Packet(1, 100)]; "the payload of the packet")]
#[test_case(&["-i", "0", "--fill=pattern:010203"], &[USUAL, Packet(0, 70), Packet(1, 70), Packet(2, 70)]; "a pattern of three octets")]
#[test_case(&["-i", "0", "--allow-fills=*"], &[Opening(0, || Parameters { fill: "pattern:0102030405".to_owned(), ..plain() }), Packet(0, 70), Packet(1, 70), Packet(2, 70)]; "a pattern that is asked for")]
#[test_case(&["-i", "0", "--allow-fills=*"], &[Opening(0, || Parameters { fill: "none".to_owned(), ..plain() }), Packet(0, 70)]; "no fill that is asked for")]
#[test_case(&["--allow-fills=*"], &[Opening(0, || Parameters { fill: "pattern:0g".to_owned(), ..plain() }), Opening(CLOSE, || Parameters { fill: "x".to_owned(), ..plain() })]; "fills that there are not")]
#[test_case(&["-i", "0", "-d", "1ms"], &[USUAL, Packet(0, 70)]; "a short test")]
#[test_case(&["-i", "0", "-d", "1h", "--timeout=10s"], &[Opening(0, || Parameters { interval: 9_000_000_000, duration: i64::MAX, length: -5, stats: 1, ..plain() }), Packet(0, 70)]; "a long interval")]
#[test_case(&[], &[Opening(0, || Parameters { version: 7, ..plain() }), Opening(CLOSE, Parameters::default), Opening(0, Parameters::default)]; "other versions, and nothing")]
#[test_case(&[], &[Raw(&[1]), Raw(&[0x80, 0x80]), Raw(&[0xff; 11]), Raw(&[9, 33]), Raw(&[9, 2, b'a']), Raw(&[2, 1]), Raw(&[3, 0]), Raw(&[5, 8]), Raw(&[6, 10]), Raw(&[7, 0]), Raw(&[0x0a, 4, 4, 0x68])]; "parameters that are none")]
#[test_case(&[], &[Octets(&[]), Octets(&[0x14, 0xa7, 0x5b]), Octets(&[0x14, 0xa7, 0x5c, 0]), Octets(&[0x14, 0xa7, 0x5b, 0x10]), Octets(&[0x14, 0xa7, 0x5b, 8]), Octets(&[0x14, 0xa7, 0x5b, 2])]; "no datagrams of irtt")]
#[test_case(&[], &[Packet(0, 70), Flagged(CLOSE, 12), USUAL, Packet(0, 11), Packet(0, 15), Flagged(CLOSE, 11), Flagged(REPLY, 70), Flagged(8, 70)]; "no packets of a session")]
#[test_case(&["--hmac=secret"], &[Octets(&[0x14, 0xa7, 0x5b, 1]), Octets(&[0x14, 0xa7, 0x5b, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])]; "not sealed")]
fn both_answer_the_same(words: &[&str], sent: &[Sent]) {
    // A sealed server answers nothing that would show the end.
    let is_sealed = words.iter().any(|word| word.starts_with("--hmac"));
    let Some(servers) = servers("127.0.0.1", words) else { return };
    let [ours, theirs] = servers.map(|(server, port)| {
        if is_sealed {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            for (count, sent) in sent.iter().enumerate() {
                let Octets(octets) = sent else { panic!("{sent:?}") };
                socket.send_to(octets, ("127.0.0.1", port)).unwrap();
                server.until("its line", |said| said.matches("[Drop]").count() == count + 1);
            }
            return (Vec::new(), lines(server));
        }
        (replies(port, sent), lines(server))
    });
    assert_eq!(ours, theirs);
}
