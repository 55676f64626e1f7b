//! First octets of the real iperf 2.1.8 and 2.2.1 over connections: they are read as they were meant, and written octet
//! by octet as they write them.

use measure::unit::Nanos;
use protocol::iperf::ack::{self, Ack, Times};
use protocol::iperf::ask::Ask;
use protocol::iperf::bounce::{self, Bounce, BounceFlags};
use protocol::iperf::first::{self, Beginning, First, Reading};
use protocol::iperf::settings::Amount;
use protocol::iperf::time::Stamp;
use protocol::iperf::wire::{BounceWire, WallClock};
use protocol::iperf::wish::{Acknowledged, Back, Pace, Quantity, Way, Wish};
use protocol::native::header::Flags as Asked;
use protocol::wire::{Reading as Read, Wire};
use test_case::test_case;

use crate::iperf::transcript::{self, Capture};

const OF_TIME: Quantity = Quantity::Time(Nanos::secs(1));
const RATE: Option<Pace> = Some(Pace::Bits(2 << 20));

fn header(capture: &Capture) -> First {
    match first::read(&capture.to) {
        Ok(Reading::Is(Beginning::Test(header), length)) => {
            assert_eq!(length, capture.to.len(), "{}", capture.name);
            header
        }
        other => panic!("{}: {other:?}", capture.name),
    }
}

/// The 2.1.8 client's wishes by the name of the capture.
fn asked(name: &str) -> Ask {
    let plain = Ask { amount: Amount::bytes(307_200), buffer: Some(32 << 10), ..Ask::default() };
    let timed = Ask { amount: Amount::time(Nanos::secs(1)), pace: RATE, ..plain };
    match name {
        "i2-tcp-2.1.8" => plain,
        "i2-tcp-X-2.1.8" => Ask { detects: true, ..plain },
        "i2-tcp-trip-2.1.8" => Ask { trip_times: true, ..plain },
        "i2-tcp-R-2.1.8" => Ask { way: Way::Reverse, ..plain },
        "i2-tcp-tripR-2.1.8" => Ask { way: Way::Reverse, trip_times: true, ..plain },
        "i2-tcp-fd-2.1.8" => Ask { way: Way::Duplex, ..plain },
        "i2-tcp-rL-2.1.8" => Ask { back: Some(Back { port: 6_001, now: false }), ..timed },
        "i2-tcp-dL-2.1.8" => Ask { back: Some(Back { port: 6_001, now: true }), ..timed },
        "i2-tcp-P2-2.1.8" => Ask { streams: 2, ..plain },
        "i2-tcp-b-2.1.8" => timed,
        other => panic!("{other}"),
    }
}

fn is_header(capture: &Capture) -> bool {
    capture.tcp && capture.is_of_client() && !capture.name.contains("-C-") && !capture.name.contains("-bb")
}

#[test]
fn our_client_writes_what_theirs_wrote() {
    let mut count = 0;
    for capture in transcript::all().iter().filter(|capture| is_header(capture) && capture.is_old()) {
        let start = header(capture).start().unwrap_or_default();
        let ours = asked(capture.name).first(start);
        assert_eq!(ours.encode(), capture.to, "{}: {}", capture.name, capture.command);
        count += 1;
    }
    assert_eq!(count, 11);
}

#[test]
fn every_header_is_written_again_as_it_was_read_and_needs_all_of_itself() {
    for capture in transcript::all().iter().filter(|capture| is_header(capture)) {
        let header = header(capture);
        assert_eq!(header.encode(), capture.to, "{}", capture.name);
        for length in 4..capture.to.len() {
            assert_eq!(first::read(&capture.to[..length]), Ok(Reading::Needs(capture.to.len())), "{}", capture.name);
        }
    }
}

#[test_case("i2-tcp", Way::Upload, None, Quantity::Bytes(307_200), None)]
#[test_case("i2-tcp-X", Way::Upload, None, Quantity::Bytes(307_200), None)]
#[test_case("i2-tcp-trip", Way::Upload, None, Quantity::Bytes(307_200), None)]
#[test_case("i2-tcp-R", Way::Reverse, None, Quantity::Bytes(307_200), None)]
#[test_case("i2-tcp-tripR", Way::Reverse, None, Quantity::Bytes(307_200), None)]
#[test_case("i2-tcp-fd", Way::Duplex, None, Quantity::Bytes(307_200), None)]
#[test_case("i2-tcp-b", Way::Upload, None, OF_TIME, RATE)]
#[test_case("i2-tcp-rL", Way::Upload, Some(Back { port: 6_001, now: false }), OF_TIME, RATE)]
#[test_case("i2-tcp-dL", Way::Upload, Some(Back { port: 6_001, now: true }), OF_TIME, RATE)]
fn a_server_reads_what_is_wanted(name: &str, way: Way, back: Option<Back>, quantity: Quantity, pace: Option<Pace>) {
    for version in ["2.1.8", "2.2.1"] {
        let capture = transcript::one(&format!("{name}-{version}"), true);
        let wish = Wish::of_first(&header(&capture));
        assert_eq!((wish.way, wish.back, wish.quantity, wish.pace), (way, back, quantity, pace), "{version}");
        assert_eq!((wish.buffer, wish.streams, wish.reported), (Some(32 << 10), 1, false));
        let [major, minor, patch] = wish.version.expect("a version").numbers();
        assert_eq!(format!("{major}.{minor}.{patch}"), version);
    }
}

#[test]
fn every_header_is_acknowledged_as_their_server_does() {
    for capture in transcript::all().iter().filter(|capture| is_header(capture)) {
        let header = header(capture);
        let wish = Wish::of_first(&header);
        let theirs = Ack::read(&capture.from);
        let expected = match capture.from.len() {
            ack::SHORT => Acknowledged::Plainly,
            ack::LONG => Acknowledged::WithTimes,
            _ => Acknowledged::Not,
        };
        assert_eq!(wish.acknowledged, expected, "{}", capture.name);
        if expected == Acknowledged::Not {
            assert!(!matches!(theirs, Ok(Some(_))), "{}", capture.name);
            continue;
        }
        let (theirs, length) = theirs.expect("an acknowledgement").expect("all of it");
        assert_eq!((theirs.encode(), length), (capture.from.clone(), capture.from.len()), "{}", capture.name);
        assert_eq!(theirs.times.map(|times| times.start), wish.trip_times, "{}", capture.name);
        let ours = Ack::new(theirs.times.map(|times| Times { ..times }));
        assert_eq!(ours.encode() == capture.from, capture.is_old(), "{}: ours is a 2.1.8's", capture.name);
        for cut in 0..length {
            assert_eq!(Ack::read(&capture.from[..cut]), Ok(None), "{}", capture.name);
        }
    }
}

#[test]
fn the_server_of_a_reverse_test_with_trip_times_begins_with_a_header_of_its_own() {
    for version in ["2.1.8", "2.2.1"] {
        let capture = transcript::one(&format!("i2-tcp-tripR-{version}"), true);
        let Ok(Reading::Is(Beginning::Test(theirs), length)) = first::read(&capture.from) else { panic!("{version}") };
        assert_eq!((length, theirs.encode()), (first::STAMPED, capture.from));
        if version == "2.1.8" {
            let start = theirs.start().expect("a start");
            let ours = Ask { way: Way::Upload, ..asked("i2-tcp-tripR-2.1.8") }.first(start);
            assert_eq!(ours, theirs, "an upload's of the same settings");
        }
    }
}

#[test]
fn traffic_without_a_header_is_traffic() {
    for capture in transcript::all().iter().filter(|capture| capture.tcp && capture.to.starts_with(b"0123")) {
        assert_eq!(first::read(&capture.to), Ok(Reading::Is(Beginning::Plain, 0)), "{}", capture.name);
        assert_eq!(first::read(&capture.to[..3]), Ok(Reading::Needs(4)));
    }
    assert_eq!(first::read(&[0; 60]), Ok(Reading::Is(Beginning::Plain, 0)), "zeros");
}

#[test]
fn an_old_clients_header_has_24_octets() {
    let old = [&0x8000_0001_u32.to_be_bytes()[..], &[0, 0, 0, 1, 0, 0, 0x17, 0x71], &[0; 8], &[0xFF, 0xFF, 0xFC, 0x18]];
    let old = [old.concat(), b"0123".to_vec()].concat();
    let Ok(Reading::Is(Beginning::Test(header), 24)) = first::read(&old) else { panic!("no header") };
    let wish = Wish::of_first(&header);
    assert_eq!((wish.back, wish.quantity), (Some(Back { port: 6_001, now: true }), Quantity::Time(Nanos::secs(10))));
    assert_eq!((wish.acknowledged, wish.version), (Acknowledged::Not, None));
    assert_eq!(first::read(&old[..23]), Ok(Reading::Needs(24)));
}

#[test]
fn what_only_the_newer_version_has_is_read() {
    let congestion = header(&transcript::one("i2-tcp-Z-2.2.1", true));
    assert_eq!((congestion.length(), congestion.congestion()), (119, Some("cubic")));
    let shared = header(&transcript::one("i2-tcp-sync-transfer-id-2.2.1", true));
    assert!(shared.base.transfer_id().is_some());
    assert_eq!((Wish::of_first(&shared).back, shared.base.streams()), (None, 1), "no connection back");
}

/// A clock that stands where a capture's did.
struct At(Stamp);

impl WallClock for At {
    fn wall(&self) -> Nanos {
        self.0.nanos()
    }
}

#[test]
fn requests_and_replies_are_theirs_to_the_octet() {
    let bounces = transcript::all().into_iter().filter(|capture| capture.name.contains("-bb"));
    let mut count = 0;
    for capture in bounces {
        let reading = first::read(&capture.to);
        assert_eq!(reading, Ok(Reading::Is(Beginning::Bounce { size: 100 }, 0)), "{}", capture.name);
        let (request, reply) = (Bounce::read(&capture.to).unwrap(), Bounce::read(&capture.from).unwrap());
        let mut again = capture.to.clone();
        request.write(&mut again);
        assert_eq!(again, capture.to, "{}", capture.name);
        bounce::answer(&mut again, reply.received, reply.returned);
        assert_eq!(&again[..bounce::HEADER], &capture.from[..bounce::HEADER], "{}: what a server does", capture.name);
        count += 1;
        if !capture.is_old() {
            continue;
        }
        let flags = if capture.name.contains("trip") {
            BounceFlags::QUICK.with(BounceFlags::CLOCKS)
        } else {
            BounceFlags::QUICK
        };
        let mut wire = BounceWire::new(At(request.sent), Bounce { flags, ..Bounce::default() });
        let mut ours = vec![0; 100];
        wire.open(&mut ours);
        wire.prepare(&mut ours, 0, Asked::NONE);
        assert_eq!(ours, capture.to, "{}: what a client does", capture.name);
        assert_eq!(wire.identify(&capture.from, 0), Read::Reply(0), "{}", capture.name);
    }
    assert_eq!(count, 7);
}

#[test]
fn the_newer_version_asks_for_a_reply_of_another_size() {
    let capture = transcript::one("i2-bb-reply300-client2.2.1-server2.1.8", true);
    let request = Bounce::read(&capture.to).unwrap();
    assert_eq!((request.reply_size, request.reply_octets()), (Some(300), Some(300)));
}
