//! Sessions of irtt, granted by a server that is played from its source: what it loses, grants and ends is what is found.

use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::Duration;

use endpoint::error::hint::Hint;
use endpoint::error::{EndpointError, Step};
use endpoint::rtt::{self, Ending, Finding, Protocol, Task};
use endpoint::stop::Stop;
use measure::method::{Asked, Schedule};
use measure::unit::{Bytes, Nanos};
use protocol::irtt::opening::Refusal;
use test_case::test_case;

use crate::stamp::{asked, task};

const TOKEN: [u8; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
/// Opening, reply, end of a session: bits of the flags.
const OPEN: u8 = 1;
const REPLY: u8 = 2;
const CLOSE: u8 = 4;

/// The behaviour of a server.
#[derive(Clone, Copy, Debug, Default)]
struct Play {
    /// Numbers of packets that do not arrive, and of those whose reply does not.
    lost: (&'static [u32], &'static [u32]),
    /// The interval that it grants, as its octets; absent: as it was asked for.
    interval: Option<&'static [u8]>,
    /// Openings that it does not hear.
    deaf: u32,
    /// The number of the packet with whose reply it ends the session.
    last: Option<u32>,
}

/// Serves one session to its end, in which packets arrive one microsecond before their replies leave; returns the number of packets.
fn serve(socket: &UdpSocket, play: Play) -> u32 {
    let (mut count, mut openings) = (0_u32, 0);
    let mut packet = [0; 2_048];
    loop {
        let (length, from) = socket.recv_from(&mut packet).expect("packets until the end");
        let packet = &mut packet[..length];
        assert_eq!(packet[..3], [0x14, 0xa7, 0x5b]);
        match packet[3] {
            OPEN => {
                openings += 1;
                if openings <= play.deaf {
                    continue;
                }
                let mut parameters = packet[4..].to_vec();
                // The interval stands third, as one octet for a nanosecond.
                let at = parameters.windows(2).position(|pair| pair == [3, 2]).expect("the interval that is asked for");
                if let Some(interval) = play.interval {
                    parameters.splice(at + 1..at + 2, interval.iter().copied());
                }
                let reply = [&[0x14, 0xa7, 0x5b, OPEN | REPLY][..], &TOKEN, &parameters].concat();
                socket.send_to(&reply, from).unwrap();
            }
            CLOSE => return count,
            flags => {
                assert_eq!((flags, &packet[4..12]), (0, &TOKEN[..]));
                let number = u32::from_le_bytes(packet[12..16].try_into().unwrap());
                if play.lost.0.contains(&number) {
                    continue;
                }
                count += 1;
                packet[3] = if play.last == Some(number) { REPLY | CLOSE } else { REPLY };
                packet[16..20].copy_from_slice(&count.to_le_bytes());
                let wall = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as i64;
                for (place, time) in [wall - 1_000, 5, wall, 1_005].into_iter().enumerate() {
                    packet[20 + 8 * place..28 + 8 * place].copy_from_slice(&time.to_le_bytes());
                }
                if !play.lost.1.contains(&number) {
                    socket.send_to(packet, from).unwrap();
                }
            }
        }
    }
}

/// Measures with a server; also the number of packets that came to it, where it was told of the end.
fn run(asked: &Asked, play: Play) -> (Result<Finding, EndpointError>, u32) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let address: SocketAddr = socket.local_addr().unwrap();
    thread::scope(|scope| {
        let server = scope.spawn(|| serve(&socket, play));
        let asked = Asked { request_bytes: Some(Bytes(52)), response_bytes: Some(Bytes(52)), ..asked.clone() };
        let task = Task { protocol: Protocol::Irtt { key: None, clocks_agree: None }, ..task(&asked, address, None) };
        let finding = rtt::run(&task, &Stop::default(), &mut |_| {});
        if finding.is_err() {
            // Nobody has a session to end.
            UdpSocket::bind("127.0.0.1:0").unwrap().send_to(&[0x14, 0xa7, 0x5b, CLOSE], address).unwrap();
        }
        (finding, server.join().unwrap())
    })
}

#[test_case(&[], &[]; "none")]
#[test_case(&[13, 23, 33], &[18, 28]; "both ways")]
#[test_case(&[101, 102], &[]; "the last ones there")]
#[test_case(&[], &[102]; "the last one back")]
fn losses_have_their_way(there: &'static [u32], back: &'static [u32]) {
    // Before the first of 100 two were exchanged, and a number between them left out.
    let (finding, came) = run(&asked(100), Play { lost: (there, back), ..Play::default() });
    let finding = finding.expect("measured");
    let lost = (there.len() + back.len()) as u64;
    let arrived = 100 - there.len() as u64;
    assert_eq!((finding.recording.counts.lost, finding.peer_counts.received), (lost, Some(arrived)));
    let is_asked_once_more = there.contains(&102) || back.contains(&102);
    assert_eq!(u64::from(came), arrived + 2 + u64::from(is_asked_once_more), "and the session was ended");
    let both = finding.one_way.expect("both directions");
    assert_eq!((both.counts_answers, both.lost_either_way), (Some(true), Some(0)));
    let held = both.held.expect("the server's own time");
    assert_eq!((held.min_ns, held.max_ns), (1_000, 1_000), "by its monotonic clock");
    let clock = both.clock.expect("clocks compared");
    assert!(
        clock.windows.iter().all(|window| window.offset_ns.unsigned_abs() <= window.bound_ns.0),
        "one clock: {clock:?}"
    );
    assert_eq!((both.theirs.synchronised, both.time_to_live), (None, None), "nothing is said of either");
}

#[test]
fn an_opening_that_is_lost_is_said_again() {
    let (finding, _) = run(&asked(20), Play { deaf: 1, ..Play::default() });
    assert_eq!(finding.expect("measured").recording.counts.answered, 20);
}

#[test]
fn a_server_that_ends_the_session_is_told_of() {
    let every = Schedule::Every { interval_ns: Nanos::millis(5) };
    let long = Asked { schedule: Some(every), ..asked(100_000) };
    let (finding, _) = run(&long, Play { last: Some(30), ..Play::default() });
    let finding = finding.expect("measured until then");
    let Ending::PeerLost { reason } = finding.ended else { panic!("{:?}", finding.ended) };
    assert!(reason.contains("ended the session"), "{reason}");
    assert!(finding.recording.counts.answered >= 28, "what was measured is kept");
}

#[test]
fn a_server_that_answers_less_often_is_named() {
    // 10 ms as a signed number of seven bits an octet.
    let slower = Play { interval: Some(&[0x80, 0xda, 0xc4, 0x09]), ..Play::default() };
    let error = run(&asked(20), slower).0.expect_err("one each millisecond");
    assert_eq!(error.step, Step::Agree);
    assert!(error.to_string().contains("one packet every 10 ms"), "{error}");
    let refusal = Refusal::TooOften { floor: 10_000_000 };
    assert!(matches!(error.hint.as_deref(), Some(Hint::IrttRefusal(told)) if *told == refusal), "{error:?}");
    let every = Schedule::Every { interval_ns: Nanos::millis(10) };
    let (finding, came) = run(&Asked { schedule: Some(every), ..asked(20) }, slower);
    assert_eq!((finding.expect("measured").recording.counts.answered, came), (20, 22));
}

#[test]
fn a_server_that_is_slower_than_a_warm_up_has_none() {
    // 20 ms.
    let slower = Play { interval: Some(&[0x80, 0xb4, 0x89, 0x13]), ..Play::default() };
    let every = Schedule::Every { interval_ns: Nanos::millis(20) };
    let asked = Asked { schedule: Some(every), warm_up_ns: Some(Nanos::millis(200)), ..asked(10) };
    let (finding, came) = run(&asked, slower);
    assert_eq!((finding.expect("measured").warmed.tried, came), (0, 12));
}
