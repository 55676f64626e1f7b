//! Datagrams of the real iperf 2.1.8 and 2.2.1.

use measure::unit::Nanos;
use protocol::bulk::{Mark, Numbering};
use protocol::iperf::ask::{Ask, Framing};
use protocol::iperf::datagram::{self, HEAD, IperfNumbering, Opening, Settings, Width};
use protocol::iperf::fin::{self, AckFin};
use protocol::iperf::flag::Flags;
use protocol::iperf::frame::Layout;
use protocol::iperf::settings::Amount;
use protocol::iperf::time::{Span, Stamp};
use protocol::iperf::wish::{Back, Frames, Pace, Quantity, Way, Wish};
use test_case::test_case;

use crate::iperf::transcript::{self, Capture};

fn openings() -> Vec<(Capture, Opening)> {
    let of = |capture: Capture| match datagram::settings(&capture.to) {
        Settings::Test(opening) => Some((capture, opening)),
        Settings::Short { .. } | Settings::Plain => None,
    };
    let headers: Vec<_> = transcript::all().into_iter().filter(|capture| !capture.tcp).filter_map(of).collect();
    assert_eq!(headers.len(), 20);
    headers
}

/// The 2.1.8 client's wishes by the name of the capture.
fn asked(name: &str) -> Option<Ask> {
    let bits = |rate| Some(Pace::Bits(rate));
    let plain = Ask { amount: Amount::time(Nanos::secs(1)), pace: bits(500 << 10), ..Ask::default() };
    Some(match name {
        "i2-udp-2.1.8" | "i2-udp-e-2.1.8" => plain,
        "i2-udp-trip-2.1.8" => Ask { trip_times: true, ..plain },
        "i2-udp-R-2.1.8" => Ask { way: Way::Reverse, ..plain },
        "i2-udp-fd-2.1.8" => Ask { way: Way::Duplex, ..plain },
        "i2-udp-rL-2.1.8" => Ask { back: Some(Back { port: 6_001, now: false }), ..plain },
        "i2-udp-dL-2.1.8" => Ask { back: Some(Back { port: 6_001, now: true }), ..plain },
        "i2-udp-l64-2.1.8" => Ask { pace: bits(100 << 10), buffer: Some(64), ..plain },
        "i2-udp-pps-2.1.8" => Ask { pace: Some(Pace::Packets(50)), ..plain },
        _ => return None,
    })
}

#[test]
fn our_client_writes_what_theirs_wrote() {
    let mut count = 0;
    for (capture, theirs) in openings() {
        let Some(ask) = asked(capture.name) else { continue };
        let start = theirs.start().unwrap_or_default();
        let mut ours = vec![0; capture.to.len()];
        ask.opening(start).write(&mut ours);
        let mark = IperfNumbering::CURRENT.read(&capture.to);
        let Some(Mark::Data { number: 1, sent }) = mark else { panic!("{}: {mark:?}", capture.name) };
        IperfNumbering::CURRENT.write(&mut ours, 1, sent);
        assert_eq!(ours, capture.to, "{}: {}", capture.name, capture.command);
        count += 1;
    }
    assert_eq!(count, 9);
}

#[test]
fn every_header_is_written_again_as_it_was_read() {
    for (capture, opening) in openings() {
        let mut again = capture.to.clone();
        again[HEAD..].fill(0);
        opening.write(&mut again);
        assert_eq!(again, capture.to, "{}", capture.name);
        let numbering = IperfNumbering::of_first(&capture.to).expect("a number");
        assert_eq!(numbering, IperfNumbering::CURRENT, "{}", capture.name);
        // Where datagrams are shorter, the first one is as long as the header.
        let usual = if capture.name.ends_with("-2.1.8") { datagram::USUAL } else { datagram::USUAL + 4 };
        let expected = if capture.name.contains("-l64-") { usual } else { 1_470 };
        assert_eq!(capture.length, Some(expected), "{}", capture.name);
    }
}

#[test_case("i2-udp", Way::Upload, None, Pace::Bits(512_000), true)]
#[test_case("i2-udp-trip", Way::Upload, None, Pace::Bits(512_000), true)]
#[test_case("i2-udp-R", Way::Reverse, None, Pace::Bits(512_000), false)]
#[test_case("i2-udp-fd", Way::Duplex, None, Pace::Bits(512_000), false)]
#[test_case("i2-udp-rL", Way::Upload, Some(Back { port: 6_001, now: false }), Pace::Bits(512_000), true)]
#[test_case("i2-udp-dL", Way::Upload, Some(Back { port: 6_001, now: true }), Pace::Bits(512_000), true)]
#[test_case("i2-udp-l64", Way::Upload, None, Pace::Bits(102_400), true)]
fn a_server_reads_what_is_wanted(name: &str, way: Way, back: Option<Back>, pace: Pace, reported: bool) {
    for version in ["2.1.8", "2.2.1"] {
        let capture = transcript::one(&format!("{name}-{version}"), true);
        let Settings::Test(opening) = datagram::settings(&capture.to) else { panic!("{name}") };
        let wish = Wish::of_opening(&opening);
        let expected = (way, back, Some(pace), Quantity::Time(Nanos::secs(1)), reported);
        assert_eq!((wish.way, wish.back, wish.pace, wish.quantity, wish.reported), expected, "{version}");
        let start = name.contains("trip").then(|| opening.start().expect("a start"));
        assert_eq!(wish.trip_times, start);
    }
}

#[test]
fn isochronous_settings_stand_where_their_version_has_them() {
    for version in ["2.1.8", "2.2.1"] {
        let capture = transcript::one(&format!("i2-udp-isoch-{version}"), true);
        let Settings::Test(opening) = datagram::settings(&capture.to) else { panic!("{version}") };
        let block = opening.isochronous().expect("isochronous settings");
        let at = if version == "2.1.8" { 76 } else { 80 };
        assert_eq!(block[0].to_be_bytes(), capture.to[at..at + 4], "{version}");
    }
}

/// As each version begins such a flow: its own header, in its own layout, and nothing in the block yet.
#[test_case("2.1.8", Layout::Plain, 108)]
#[test_case("2.2.1", Layout::Barred, 112)]
fn a_request_for_frames_is_what_the_original_sends(version: &str, layout: Layout, end: usize) {
    let capture = transcript::one(&format!("i2-udp-isoch-{version}"), true);
    let ask = Ask {
        amount: Amount::time(Nanos::secs(1)),
        pace: Some(Pace::Bits(1 << 20)),
        frames: Some(Framing::Isochronous(layout)),
        ..Ask::default()
    };
    let mut ours = vec![0; end];
    ask.opening(Stamp::default()).write(&mut ours);
    assert_eq!(ours[HEAD..], capture.to[HEAD..end], "{version}");
    let Settings::Test(opening) = datagram::settings(&ours) else { panic!("{version}") };
    assert_eq!((opening.layout(), opening.is_isochronous()), (Some(layout), true));
    assert_eq!(Wish::of_opening(&opening).frames, Some(Frames::Isochronous));
}

#[test]
fn a_request_for_bursts_says_how_many_a_second() {
    for trip_times in [false, true] {
        let frames = Some(Framing::Periodic { micro_hertz: 12_500_000, octets: 204_800 });
        let first = Ask { trip_times, frames, ..Ask::default() }.first(Stamp::default());
        let octets = first.encode();
        assert_eq!(octets.len(), if trip_times { 112 } else { 96 });
        assert_eq!(octets[80..96], [12_u32, 500_000, 204_800, 0].map(u32::to_be_bytes).concat());
        assert_eq!(Wish::of_first(&first).frames, Some(Frames::Periodic(12.5)));
    }
    for settings in [[0, 0], [1, 1_000_000]] {
        let frames = Some(Framing::Periodic { micro_hertz: 1, octets: 1 });
        let mut first = Ask { frames, ..Ask::default() }.first(Stamp::default());
        first.tail[20..28].copy_from_slice(&settings.map(u32::to_be_bytes).concat());
        assert_eq!(Wish::of_first(&first).frames, None, "no number of bursts");
    }
}

#[test]
fn traffic_without_a_header_is_traffic() {
    let mut count = 0;
    for capture in transcript::all().iter().filter(|capture| !capture.tcp) {
        let traffic = if capture.to.is_empty() { &capture.from } else { &capture.to };
        if traffic[HEAD..].starts_with(b"6789") {
            assert_eq!(datagram::settings(traffic), Settings::Plain, "{}", capture.name);
            assert_eq!(IperfNumbering::of_first(traffic).expect("a number").width(), Width::Narrow);
            count += 1;
        }
    }
    assert_eq!(count, 10, "-C, -R, --full-duplex, -r and -d of both versions");
}

#[test]
fn a_servers_own_datagrams_have_number_stamp_and_the_pattern() {
    for name in ["i2-udp-R-2.1.8", "i2-udp-fd-2.1.8", "i2-udp-R-2.2.1", "i2-udp-fd-2.2.1"] {
        let theirs = transcript::one(name, false).from;
        let Some(Mark::Data { number: 1, sent }) = IperfNumbering::CURRENT.read(&theirs) else { panic!("{name}") };
        let mut ours = vec![0; theirs.len()];
        protocol::iperf::fill(&mut ours, 0);
        IperfNumbering::CURRENT.write(&mut ours, 1, sent);
        assert_eq!(ours, theirs, "{name}");
    }
}

fn reports() -> Vec<(Capture, AckFin)> {
    let of = |capture: Capture| AckFin::read(&capture.from).map(|report| (capture, report));
    let reports: Vec<_> = transcript::all().into_iter().filter(|capture| !capture.tcp).filter_map(of).collect();
    assert_eq!(reports.len(), 22);
    reports
}

#[test]
fn every_report_is_written_again_as_it_was_read() {
    for (capture, report) in reports() {
        assert_eq!(report.encode(), capture.from, "{}", capture.name);
        let enhanced = ["-e-", "-trip-", "-C-"].iter().any(|kind| capture.name.contains(kind));
        assert_eq!(report.has_rest(), enhanced, "{}", capture.name);
        let short = &capture.from[..fin::SHORT];
        let cut = AckFin::read(short).expect("the short form");
        assert_eq!((cut.encode(), cut.rest), (short.to_vec(), None), "{}", capture.name);
        let same = |report: &AckFin| (report.bytes, report.lost, report.out_of_order, report.datagrams, report.jitter);
        assert_eq!(same(&cut), same(&report));
    }
}

#[test]
fn a_report_says_what_the_reference_says_that_it_does() {
    let report = AckFin::read(&transcript::one("i2-udp-2.1.8", false).from).expect("a report");
    assert_eq!(report.flags, Flags::DUAL.with(Flags::WIDE));
    assert_eq!((report.bytes, report.lost, report.out_of_order, report.datagrams), (69_090, 0, 0, 47));
    assert_eq!((report.duration, report.jitter), (Span { seconds: 1, micros: 33_760 }, Span { seconds: 0, micros: 2 }));
    let rest = report.rest.expect("the long form");
    assert_eq!((rest.min.micros, rest.max.micros, rest.sum.micros, rest.mean.micros), (22, 109, 1_620, 34));
    assert_eq!((rest.m2, rest.variation.micros), (Span { seconds: 6_373, micros: 702_127 }, -8));
    assert_eq!((rest.count, rest.rate, rest.divisor), (47, 45, 1));
}

#[test]
fn a_report_is_nothing_else() {
    for capture in transcript::all() {
        assert_eq!(AckFin::read(&capture.to), None, "{}", capture.name);
    }
    assert_eq!(AckFin::read(&[0; fin::LONG]), None);
    assert_eq!(datagram::settings(&[0xFF; HEAD]), Settings::Plain);
}
