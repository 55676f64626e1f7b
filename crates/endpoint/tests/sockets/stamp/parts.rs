//! A reflector answers optional parts of packets (RFC 8972) by the truth.

use endpoint::peer::stamp::reflector::Settings;
use endpoint::rtt::{self, Protocol, Task};
use endpoint::stop::Stop;
use measure::method::{Asked, SocketOptions};
use measure::outcome::one_way::extension::{ClassSeen, Extensions, PeerCounters};
use measure::unit::Bytes;
use protocol::stamp::part::Part;
use protocol::stamp::{layout, tlv};
use test_case::test_case;

use crate::stamp::{asked, task, with_reflector};

/// Recorded packets; two go before.
const COUNT: u64 = 20;

fn extensions(listen: &str, counts: bool, tos: Option<u8>) -> Extensions {
    let size = Bytes((layout::BARE + tlv::length(&Part::ALL) + 9) as u64);
    let socket = SocketOptions { tos, ..SocketOptions::default() };
    let asked = Asked { request_bytes: Some(size), response_bytes: Some(size), socket, ..asked(COUNT) };
    let finding = with_reflector(
        listen,
        |settings| Settings { counts, ..settings },
        |address| {
            let protocol = Protocol::Stamp { key: None, clocks_agree: None, parts: Part::ALL.to_vec() };
            let task = Task { protocol, ..task(&asked, address, None) };
            rtt::run(&task, &Stop::default(), &mut |_| {}).expect("measured")
        },
    );
    assert_eq!(finding.recording.counts.answered, COUNT);
    finding.one_way.and_then(|both| both.extensions).expect("parts")
}

#[test_case("127.0.0.1", 0xb8, false; "expedited, over IPv4")]
#[test_case("::1", 0x22, false; "with a congestion mark, over IPv6")]
#[test_case("127.0.0.1", 0xc0, true; "as network control, which no reflector answers with")]
fn what_was_is_what_comes_back(listen: &str, tos: u8, refused: bool) {
    let found = extensions(listen, true, Some(tos));
    assert_eq!(found.class, Some(ClassSeen { code_point: tos >> 2, marks: tos & 3, refused }));
    let location = found.location.expect("a location");
    assert_eq!((location.from_address.as_deref(), location.to_address.as_deref()), (Some(listen), Some(listen)));
    assert!(location.from_port > 0 && location.to_port > 0 && location.from_port != location.to_port, "{location:?}");
    let all = COUNT as u32 + 2;
    assert_eq!(found.counters, Some(PeerCounters { sent: all, received: all, answered: all }));
    // It leaves when it says, as far as its reflector knows.
    let follow_up = found.follow_up.expect("follow-ups");
    assert!((COUNT - 1..=COUNT).contains(&follow_up.count), "{follow_up:?}");
    assert_eq!((follow_up.mean_later_ns, follow_up.max_later_ns), (0.0, 0));
    assert_eq!((found.unknown.len(), found.malformed.len(), found.asked.len()), (0, 0, 4));
}

#[test]
fn who_keeps_no_sessions_says_so() {
    let found = extensions("127.0.0.1", false, None);
    assert_eq!((found.unknown, found.counters, found.follow_up), (vec!["direct_measurement".to_owned()], None, None));
    assert_eq!(found.class, Some(ClassSeen { code_point: 0, marks: 0, refused: false }));
}
