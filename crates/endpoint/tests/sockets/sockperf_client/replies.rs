//! Datagrams that come back, or do not: those of the captures' probes, and worse. A real client ends at some of them.

use std::net::UdpSocket;

use endpoint::engine::Ended;
use endpoint::peer::sockperf::client::Test;
use measure::event::Fate;
use measure::unit::Nanos;
use protocol::sockperf::wire::Tallied;
use test_case::test_case;
use testbed::port;

use crate::sockperf_client::rogue::{Came, Rogue};
use crate::sockperf_client::{Seen, load, ping_pong, run, test};

/// The course of `count` exchanges with a server that answers so.
fn exchanged(count: u64, answers: impl FnMut(&Came) -> Vec<Vec<u8>> + Send + 'static) -> Seen {
    let server = Rogue::datagrams(answers);
    let seen = run(&test(&ping_pong(count), server.address));
    let numbers: Vec<u64> = server.came().iter().map(|came| came.header.sequence).collect();
    assert_eq!(numbers, (1..=count).collect::<Vec<_>>(), "each left once, in order");
    assert_eq!(seen.ended(), Ended::Complete);
    seen
}

#[test]
fn a_lost_reply_is_one_loss_and_the_test_goes_on() {
    let seen = exchanged(40, |came| if came.header.sequence == 10 { vec![] } else { vec![came.answer()] });
    assert_eq!((seen.with(Fate::Lost), seen.counts().answered), (vec![9], 39));
}

#[test]
fn a_doubled_reply_is_a_duplicate_and_shifts_nothing() {
    let seen = exchanged(40, |came| vec![came.answer(), came.answer()]);
    assert_eq!((seen.counts().answered, seen.counts().strays), (40, 0));
    // The second copy of the last may come when the client no longer listens.
    assert!((39..=40).contains(&seen.counts().duplicated), "{:?}", seen.counts());
}

#[test]
fn a_late_reply_belongs_to_its_own_request() {
    let mut held = None;
    let seen = exchanged(6, move |came| match came.header.sequence {
        2 => {
            held = Some(came.answer());
            vec![]
        }
        3 => held.take().into_iter().chain([came.answer()]).collect(),
        _ => vec![came.answer()],
    });
    assert_eq!((seen.counts().answered, seen.counts().late, seen.counts().lost), (5, 1, 0));
}

fn with(came: &Came, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut reply = came.answer();
    change(&mut reply);
    reply
}

/// Messages before the true reply that change nothing.
#[test_case(|came| with(came, |reply| reply[7] += 1), Tallied { unknown: 20, ..Tallied::default() }; "a number that was not sent")]
#[test_case(|came| with(came, |reply| reply[0] = 0x80), Tallied { unknown: 20, ..Tallied::default() }; "a number far beyond")]
#[test_case(|came| with(came, |reply| reply[..8].fill(0)), Tallied::default(); "number 0")]
#[test_case(|came| came.bytes.clone(), Tallied::default(); "a client's message")]
#[test_case(|came| with(came, |reply| reply[9] |= 4), Tallied::default(); "a warm-up")]
#[test_case(|_| vec![], Tallied::default(); "nothing at all")]
#[test_case(|came| came.answer()[..13].to_vec(), Tallied::default(); "less than a header")]
#[test_case(|_| vec![0; 14], Tallied::default(); "zeros")]
#[test_case(|_| vec![0xFF; 20], Tallied::default(); "ones")]
fn what_is_no_reply_is_passed_over(stray: fn(&Came) -> Vec<u8>, tallied: Tallied) {
    let seen = exchanged(20, move |came| vec![stray(came), came.answer()]);
    assert_eq!((seen.counts().answered, seen.counts().strays), (20, 20));
    assert_eq!(seen.measured.tallied, tallied);
}

/// Messages in place of a reply that are none.
#[test_case(|came| with(came, |reply| reply.resize(21, 0)), Tallied { too_long: 5, ..Tallied::default() }; "one byte more")]
#[test_case(|came| with(came, |reply| reply.resize(65_507, 0)), Tallied { too_long: 5, ..Tallied::default() }; "the largest datagram")]
#[test_case(|came| with(came, |reply| reply[13] = 100), Tallied { too_long: 5, ..Tallied::default() }; "a length beyond the longest")]
#[test_case(|came| with(came, |reply| reply[13] = 19), Tallied { malformed: 5, ..Tallied::default() }; "a length below its own")]
#[test_case(|came| with(came, |reply| reply.truncate(17)), Tallied { malformed: 5, ..Tallied::default() }; "a part of it")]
fn what_is_no_sound_reply_is_corrupt(reply: fn(&Came) -> Vec<u8>, tallied: Tallied) {
    let seen = exchanged(5, move |came| vec![reply(came)]);
    assert_eq!((seen.counts().corrupt, seen.counts().answered), (5, 0));
    assert_eq!(seen.measured.tallied, tallied);
}

/// Messages that a real client takes for a reply too.
#[test_case(|came| with(came, |reply| reply[9] = 0); "without flags")]
#[test_case(|came| with(came, |reply| { reply.truncate(14); reply[13] = 14; }); "a header alone")]
#[test_case(|came| with(came, |reply| reply[19] ^= 1); "of another payload, which nobody looks at")]
fn what_is_a_reply_nevertheless(reply: fn(&Came) -> Vec<u8>) {
    let seen = exchanged(20, move |came| vec![reply(came)]);
    assert_eq!((seen.counts().answered, seen.measured.tallied), (20, Tallied::default()));
}

#[test_case(|came| with(came, |reply| reply[19] ^= 1); "another payload")]
#[test_case(|came| with(came, |reply| reply[9] = 0); "without the wish")]
#[test_case(|came| with(came, |reply| { reply.truncate(14); reply[13] = 14; }); "a header alone")]
fn with_integrity_a_reply_is_its_request(reply: fn(&Came) -> Vec<u8>) {
    let server =
        Rogue::datagrams(move |came| vec![if came.header.sequence == 3 { reply(came) } else { came.answer() }]);
    let seen = run(&Test { integrity: true, ..test(&ping_pong(10), server.address) });
    assert_eq!((seen.with(Fate::Corrupt), seen.counts().answered), (vec![2], 9));
    assert_eq!(seen.measured.tallied, Tallied { different: 1, ..Tallied::default() });
}

#[test]
fn replies_that_nobody_asked_for_are_counted() {
    let server = Rogue::datagrams(|came| vec![came.answer()]);
    let seen = run(&test(&load(100, 10), server.address));
    let counts = seen.counts();
    assert_eq!((counts.scheduled, counts.answered, counts.one_way), (10, 10, 90), "{counts:?}");
    let tallied = seen.measured.tallied;
    assert_eq!(tallied, Tallied { unasked: tallied.unasked, ..Tallied::default() });
    // The last of them may come when the client no longer listens: after the hundredth was answered, which asked.
    assert_eq!(tallied.unasked, 90);
}

#[test]
fn a_stranger_is_not_heard() {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let stranger = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let server = Rogue::with_socket(socket, move |socket, came, from| {
        // The answer from another port first: it would be taken for one, were it heard.
        stranger.send_to(&came.answer(), from).expect("sent");
        if came.header.sequence > 2 {
            socket.send_to(&came.answer(), from).expect("sent");
        }
    });
    let seen = run(&test(&ping_pong(20), server.address));
    assert_eq!((seen.with(Fate::Lost), seen.counts().answered), (vec![0, 1], 18));
    assert_eq!((seen.counts().strays, seen.counts().duplicated), (0, 0));
    drop(server.came());
}

#[test]
fn a_port_that_nobody_listens_at_refuses() {
    let free = ([127, 0, 0, 1], port::free()).into();
    let seen = run(&test(&ping_pong(10), free));
    assert_eq!((seen.counts().refused, seen.counts().answered), (10, 0), "{:?}", seen.counts());
    let seen = run(&test(&load(10, 0), free));
    assert_eq!((seen.counts().one_way, seen.counts().one_way_refused), (10, 10), "{:?}", seen.counts());
}

#[test]
fn a_server_that_never_answers_is_waited_for_as_long_as_was_asked_for() {
    let server = Rogue::datagrams(|_| vec![]);
    let mut asked = load(50, 10);
    asked.timeout_ns = Some(Nanos::secs(60));
    asked.stop.linger_ns = Some(Nanos::millis(50));
    let seen = run(&test(&asked, server.address));
    assert_eq!((seen.counts().lost, seen.counts().one_way, seen.ended()), (5, 45, Ended::Complete));
    assert_eq!(server.came().len(), 50);
}
