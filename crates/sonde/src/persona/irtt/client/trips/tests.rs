//! Round trips by times that are known.

use test_case::test_case;

use super::*;

/// A time by both clocks, which are a second apart here and ten there.
fn time(nanos: i64) -> Time {
    Time { wall: Some(1_000_000_000_000 + nanos), monotonic: Some(1_000_000_000 + nanos) }
}

fn there(nanos: i64) -> Time {
    Time { wall: Some(1_000_000_000_000 + nanos), monotonic: Some(10_000_000_000 + nanos) }
}

/// Packets that left at these times, each by a call of 10 ns, of 60 octets.
fn sent(at: &[i64]) -> Trips {
    let mut trips = Trips::default();
    for at in at {
        trips.sent(time(*at), 1_000_000_010 + at, 60);
    }
    trips
}

fn reply(number: u32, received: i64, sent: i64) -> Reply {
    let (received, sent) = (there(received), there(sent));
    Reply { number, count: Some(number + 1), window: Some(1), received, sent, is_last: false }
}

/// 300 ns there, 50 ns held, 200 ns back; then 100 ns longer on the way there.
fn two() -> Trips {
    let mut trips = sent(&[0, 1_000]);
    assert_eq!(trips.came(time(550), 60, &reply(0, 300, 350)), Met::New { is_late: false });
    assert_eq!(trips.came(time(1_650), 60, &reply(1, 1_400, 1_450)), Met::New { is_late: false });
    trips
}

#[test]
fn a_round_trip_is_without_the_time_at_the_server() {
    let trips = two();
    let [first, second] = trips.all.as_slice() else { panic!() };
    assert_eq!(
        (first.time(), first.held(), first.send_delay(), first.receive_delay()),
        (Some(500), Some(50), Some(300), Some(200))
    );
    assert_eq!((second.time(), second.variation(first)), (Some(600), Some(100)));
    assert_eq!((second.send_variation(first), second.receive_variation(first)), (Some(100), Some(0)));
    assert_eq!((trips.times.n, trips.times.max, trips.send_delays.max, trips.receive_delays.max), (2, 600, 400, 200));
    assert_eq!(
        (trips.calls.mean(), trips.octets_sent, trips.octets_received, trips.server_count),
        (10, 120, 120, Some(2))
    );
    assert_eq!(trips.sent, Some((1_000_000_000, 1_000_001_010)));
    assert_eq!(trips.received, Some((1_000_000_550, 1_000_001_650)));
}

/// The time of a reply whose server tells these times.
fn told(received: Time, sent: Time) -> RoundTrip {
    RoundTrip {
        sent: time(0),
        came: Some(time(550)),
        server_received: received,
        server_sent: sent,
        ..RoundTrip::default()
    }
}

const NONE: Time = Time { wall: None, monotonic: None };

#[test]
fn times_that_a_server_does_not_tell_are_absent() {
    let (wall, monotonic) = (Time { monotonic: None, ..there(300) }, Time { wall: None, ..there(300) });
    let later = |time: Time| Time { wall: time.wall.map(|at| at + 50), monotonic: time.monotonic.map(|at| at + 50) };
    let of = |trip: RoundTrip| (trip.time().unwrap(), trip.held(), trip.send_delay(), trip.receive_delay());
    assert_eq!(of(told(NONE, NONE)), (550, None, None, None));
    assert_eq!(of(told(there(300), there(300))), (550, None, Some(300), Some(250)), "the midpoint");
    assert_eq!(of(told(there(300), NONE)), (550, None, Some(300), Some(250)), "arrivals alone");
    assert_eq!(of(told(NONE, there(300))), (550, None, Some(300), Some(250)), "departures alone");
    assert_eq!(of(told(wall, later(wall))), (500, Some(50), Some(300), Some(200)), "one clock");
    assert_eq!(of(told(monotonic, later(monotonic))), (500, Some(50), None, None), "the other");
    let lost = RoundTrip { sent: time(0), ..RoundTrip::default() };
    assert_eq!((lost.time(), lost.send_delay(), lost.variation(&told(NONE, NONE))), (None, None, None));
}

#[test]
fn ways_vary_by_the_clocks_that_there_are() {
    let by = |of: fn(Time) -> Time| [told(of(there(300)), of(there(350))), told(of(there(330)), of(there(360)))];
    let clocks: [fn(Time) -> Time; 3] =
        [|time| time, |time| Time { monotonic: None, ..time }, |time| Time { wall: None, ..time }];
    for of in clocks {
        let [first, second] = by(of);
        assert_eq!((second.send_variation(&first), second.receive_variation(&first)), (Some(30), Some(-10)));
    }
    let [first, second] = by(|_| NONE);
    assert_eq!(
        (second.send_variation(&first), second.receive_variation(&first), second.variation(&first)),
        (None, None, Some(0))
    );
}

#[test]
fn second_replies_late_ones_and_strays_are_told_apart() {
    let mut trips = sent(&[0, 1_000, 2_000]);
    let mut came = |number: u32| trips.came(time(3_000), 60, &reply(number, 2_500, 2_600));
    let new = |is_late| Met::New { is_late };
    assert_eq!(
        [came(1), came(0), came(1), came(0), came(2), came(3)],
        [new(false), new(true), Met::Again, Met::Again, new(false), Met::Stray]
    );
    assert_eq!((trips.duplicates, trips.late, trips.times.n, trips.octets_received), (2, 1, 3, 180));
}

/// The ends of packets 0 to 4, of which those in `answered` were, with these bits of the server's window.
fn ends(answered: &[(u32, u64)]) -> Vec<Lost> {
    let mut trips = sent(&[0, 1, 2, 3, 4]);
    for (number, window) in answered {
        trips.came(time(100), 60, &Reply { window: Some(*window), ..reply(*number, 50, 60) });
    }
    trips.find_ways();
    trips.all.iter().map(|trip| trip.lost).collect()
}

use Lost::{Down, EitherWay, No, Up};

#[test_case(&[(4, 0b10101)], [Down, Up, Down, Up, No]; "by one reply")]
#[test_case(&[(2, 0b100), (4, 0)], [EitherWay, EitherWay, No, EitherWay, No]; "without a word")]
#[test_case(&[(2, 0b101), (4, 0b10111)], [Down, Up, No, Down, No]; "by two")]
#[test_case(&[(0, 1), (4, 0b00001)], [No, Up, Up, Up, No]; "an answered one stays so")]
#[test_case(&[(2, 0b111), (4, 0b00101)], [Down, Down, No, Up, No]; "one that arrived was not lost on its way there")]
fn the_way_of_a_loss_is_by_the_bits_of_the_server(answered: &[(u32, u64)], expected: [Lost; 5]) {
    assert_eq!(ends(answered), expected);
}
