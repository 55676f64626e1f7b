//! Packets that are malformed, come too fast, or have another key.

use std::net::{SocketAddr, UdpSocket};
use std::num::NonZeroU32;
use std::thread;
use std::time::Duration;

use endpoint::error::hint::Hint;
use endpoint::error::{Cause, EndpointError, Step};
use endpoint::peer::stamp::reflector::Settings;
use endpoint::rtt;
use endpoint::stop::Stop;
use measure::method::{Asked, Carrier};
use measure::unit::Bytes;
use protocol::stamp::key::Key;
use protocol::stamp::layout;
use test_case::test_case;

use crate::served::Ends;
use crate::stamp::{asked, key, measured, sealed, task, with_reflector};

fn client(to: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind(if to.is_ipv4() { "127.0.0.1:0" } else { "[::1]:0" }).unwrap();
    socket.connect(to).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket
}

fn failed(asked: &Asked, address: SocketAddr, key: Option<Key>) -> EndpointError {
    rtt::run(&task(asked, address, key), &Stop::default(), &mut |_| {}).expect_err("not measured")
}

#[test]
fn what_is_no_packet_is_not_answered_and_the_next_is() {
    let with_key = |settings| Settings { key: Some(key()), ..settings };
    with_reflector("127.0.0.1", with_key, |address| {
        let socket = client(address);
        let mut sound = vec![0; 112];
        layout::seal(&mut sound, &key());
        let mut forged = sound.clone();
        forged[40] ^= 1;
        let mut other = vec![0; 112];
        layout::seal(&mut other, &Key::new(b"another key, for tests"));
        for bad in [&[][..], &sound[..44], &sound[..111], &forged, &other, &vec![0xff; 65_507]] {
            socket.send(bad).unwrap();
        }
        sound[3] = 77;
        layout::seal(&mut sound, &key());
        socket.send(&sound).unwrap();
        let mut answer = vec![0; 65_536];
        // Datagrams of one socket to another over loopback stay in order: an answer to a bad one would come first.
        assert_eq!(socket.recv(&mut answer).unwrap(), 112);
        assert_eq!(answer[48..52], [0, 0, 0, 77]);
    });
}

#[test_case(14; "the shortest")]
#[test_case(41; "of twamp light")]
#[test_case(65_507; "the longest")]
fn an_answer_is_as_long_as_its_packet(length: usize) {
    with_reflector(
        "127.0.0.1",
        |settings| settings,
        |address| {
            let socket = client(address);
            let mut packet = vec![0; length];
            // Times that are none: they are not ours to judge.
            packet[4..14].fill(0xff);
            socket.send(&packet).unwrap();
            assert_eq!(socket.recv(&mut vec![0; 65_536]).unwrap(), length);
        },
    );
}

#[test]
fn a_flood_is_answered_in_part_and_does_no_harm_to_others() {
    let slow = |settings| Settings { per_second: NonZeroU32::new(20).unwrap(), ..settings };
    with_reflector("::", slow, |address| {
        let flooding = client(SocketAddr::new("127.0.0.1".parse().unwrap(), address.port()));
        // Not more than the queue of a socket holds: what is left out there says nothing of the reflector.
        for _ in 0..100 {
            flooding.send(&[0; 44]).unwrap();
        }
        // Another address has its own share.
        let other = client(SocketAddr::new("::1".parse().unwrap(), address.port()));
        other.send(&[0; 44]).unwrap();
        assert_eq!(other.recv(&mut [0; 64]).unwrap(), 44);
        // One thread answers in the order in which packets came: those to the flood have been answered by now.
        flooding.set_nonblocking(true).unwrap();
        let answered = (0..100).take_while(|_| flooding.recv(&mut [0; 64]).is_ok()).count();
        assert!((1..100).contains(&answered), "{answered} of 100 at once, of 20 a second");
    });
}

#[test]
fn another_key_is_told_as_what_it_may_be() {
    let with_key = |settings| Settings { key: Some(key()), ..settings };
    with_reflector("127.0.0.1", with_key, |address| {
        let error = failed(&sealed(5), address, Some(Key::new(b"another key, for tests")));
        assert!(matches!(error.cause, Cause::Silence(_)) && error.step == Step::FirstExchange, "{error:?}");
        assert_eq!(error.hint.as_deref(), Some(&Hint::StampSilent { keyed: true }));
        let error = failed(&asked(5), address, None);
        assert_eq!(error.hint.as_deref(), Some(&Hint::StampSilent { keyed: false }));
    });
}

#[test]
fn nobody_there_is_told() {
    let free = SocketAddr::from(([127, 0, 0, 1], testbed::port::free()));
    let error = failed(&asked(5), free, None);
    assert_eq!(error.step, Step::FirstExchange);
    assert_eq!(error.hint.as_deref(), Some(&Hint::NoStampReflector));
}

#[test_case("224.0.0.1:862", &asked(5), "many"; "a group")]
#[test_case("[ff02::1]:862", &asked(5), "many"; "a group of v6")]
#[test_case("255.255.255.255:862", &asked(5), "many"; "all of a link")]
#[test_case("127.0.0.1:862", &Asked { carrier: Some(Carrier::Tcp), ..asked(5) }, "UDP"; "over tcp")]
#[test_case("127.0.0.1:862", &Asked { request_bytes: Some(Bytes(43)), response_bytes: Some(Bytes(43)), ..asked(5) }, "44"; "too short")]
#[test_case("127.0.0.1:862", &Asked { response_bytes: Some(Bytes(50)), ..asked(5) }, "44"; "of two lengths")]
fn what_cannot_be_asked_is_refused_before_anything_is_sent(to: &str, asked: &Asked, why: &str) {
    let error = failed(asked, to.parse().unwrap(), None);
    assert_eq!(error.step, Step::Agree);
    assert!(error.to_string().contains(why) && error.hint.is_some(), "{error}");
}

/// A peer that answers as `answer` makes of the packet, from the third packet on; the first two are answered as by a
/// stateless reflector. Answers are sent one after the other.
fn with_rogue<T>(answer: fn(&mut Vec<u8>) -> Vec<Vec<u8>>, body: impl FnOnce(SocketAddr) -> T) -> T {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let (address, stop) = (socket.local_addr().unwrap(), Stop::default());
    thread::scope(|scope| {
        let stop = &stop;
        scope.spawn(move || {
            let (mut buffer, mut seen) = (vec![0; 2_048], 0);
            while !stop.requested() {
                let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
                seen += 1;
                let mut sound = buffer[..length].to_vec();
                // Received and left when it was sent, and the packet's number, time and error estimate.
                sound.copy_within(4..12, 16);
                sound.copy_within(0..4, 24);
                let answers = if seen <= 2 { vec![sound] } else { answer(&mut sound) };
                for answer in answers {
                    socket.send_to(&answer, from).unwrap();
                }
            }
        });
        let _ends = Ends(stop);
        body(address)
    })
}

#[test]
fn a_wrong_format_of_times_is_a_corrupt_answer() {
    let wrong = |sound: &mut Vec<u8>| {
        sound[12] |= 0x40;
        sound[20..24].fill(0xff);
        vec![sound.clone()]
    };
    let counts = with_rogue(wrong, |address| measured(&asked(20), address, None)).recording.counts;
    assert_eq!((counts.corrupt, counts.answered), (20, 0), "{counts:?}");
}

#[test]
fn answers_that_are_cut_off_or_of_others_are_strays() {
    let noise = |sound: &mut Vec<u8>| {
        let mut other = sound.clone();
        other[15] ^= 1;
        let mut never_asked = sound.clone();
        never_asked[24] = 0x70;
        vec![Vec::new(), sound[..37].to_vec(), other, never_asked, sound.clone()]
    };
    let counts = with_rogue(noise, |address| measured(&asked(20), address, None)).recording.counts;
    assert_eq!((counts.answered, counts.strays), (20, 80), "{counts:?}");
}

#[test]
fn clocks_that_nobody_can_have_are_no_harm() {
    let wild = |sound: &mut Vec<u8>| {
        let number = sound[27];
        sound[4..12].fill(number.wrapping_mul(37));
        sound[16..24].fill(number.wrapping_mul(91));
        vec![sound.clone()]
    };
    let finding = with_rogue(wild, |address| measured(&asked(40), address, None));
    assert_eq!(finding.recording.counts.scheduled, 40);
    let both = finding.one_way.expect("what it says is kept, such as it is");
    assert_eq!(both.counts_answers, Some(false));
}
