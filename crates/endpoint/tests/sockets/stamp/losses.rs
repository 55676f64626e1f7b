//! Losses have the direction in which a relay made them, to the packet.

use endpoint::peer::stamp::reflector::Settings;
use endpoint::rtt::Finding;
use test_case::test_case;

use crate::stamp::relay::{Losses, with_relay};
use crate::stamp::{asked, measured, with_reflector};

/// The number of the first recorded packet where there is no warm-up: two go before it, and one number is left out.
const FIRST: u32 = 3;
/// Recorded packets.
const COUNT: u64 = 60;

/// A measurement by a relay that loses these of the recorded packets, counted from 0.
fn with_losses(counts: bool, forward: &[u32], reverse: &[u32]) -> Finding {
    let numbers = |list: &[u32]| list.iter().map(|number| FIRST + number).collect();
    let losses = Losses { forward: numbers(forward), reverse: numbers(reverse), ..Losses::default() };
    with_reflector(
        "127.0.0.1",
        |settings| Settings { counts, ..settings },
        |address| with_relay(address, &losses, |relay| measured(&asked(COUNT), relay, None)),
    )
}

#[test_case(&[], &[]; "none")]
#[test_case(&[], &[0, 30, 31]; "back, the first among them")]
#[test_case(&[0, 7, 40], &[8, 41]; "both ways, the first among them")]
#[test_case(&[58], &[59]; "the last, each another way")]
#[test_case(&[50, 51, 52, 53, 54, 55, 56, 57, 58, 59], &[]; "the path there breaks")]
#[test_case(&[], &[55, 56, 57, 58, 59]; "the path back breaks")]
fn each_loss_has_its_direction(forward: &[u32], reverse: &[u32]) {
    let finding = with_losses(true, forward, reverse);
    let counts = finding.recording.counts;
    assert_eq!((counts.scheduled, counts.lost), (COUNT, (forward.len() + reverse.len()) as u64), "{counts:?}");
    let arrived = COUNT - forward.len() as u64;
    assert_eq!((finding.peer_counts.received, finding.peer_counts.replied), (Some(arrived), Some(arrived)));
    let both = finding.one_way.expect("both directions");
    assert_eq!((both.counts_answers, both.lost_either_way), (Some(true), Some(0)));
    assert_eq!(both.exchanges, counts.answered);
}

#[test]
fn a_reflector_that_repeats_numbers_tells_no_direction() {
    let finding = with_losses(false, &[5, 6], &[7]);
    assert_eq!((finding.recording.counts.lost, finding.peer_counts.received), (3, None));
    let both = finding.one_way.expect("both directions");
    assert_eq!((both.counts_answers, both.lost_either_way), (Some(false), None));
}

#[test]
fn a_packet_that_arrives_twice_is_answered_twice_and_counted_once() {
    let losses = Losses { forward_twice: [FIRST + 9].into(), ..Losses::default() };
    let finding = with_reflector(
        "127.0.0.1",
        |settings| settings,
        |address| with_relay(address, &losses, |relay| measured(&asked(COUNT), relay, None)),
    );
    let counts = finding.recording.counts;
    assert_eq!((counts.answered, counts.duplicated, counts.lost), (COUNT, 1, 0), "{counts:?}");
    // A copy made on the way there makes the peer count more than was sent: that says nothing of losses.
    assert_eq!(finding.peer_counts.received, Some(COUNT + 1));
    let loss = measure::statistics::loss::loss(&counts, &finding.recording.loss_periods, finding.peer_counts);
    assert_eq!((loss.peer_received, loss.forward, loss.reverse), (None, None, None));
}
