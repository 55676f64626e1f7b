//! Number of a client's messages that arrived, as its server reports it.

use std::net::{Ipv4Addr, SocketAddr};
use std::thread;

use endpoint::peer::sockperf::client::Test;
use endpoint::peer::sockperf::server;
use endpoint::peer::sockperf::server::settings::{self, Carriers, Settings};
use endpoint::stop::Stop;
use measure::method::{Asked, Carrier};
use protocol::sockperf::count;
use protocol::sockperf::message::Flags;
use protocol::sockperf::wire::Tallied;
use test_case::test_case;

use crate::sockperf_client::rogue::{Came, Rogue};
use crate::sockperf_client::{Seen, load, place, run, test, test_with};

/// With a server of ours on two free ports: what it has counted when `with` is over.
fn with_ours(with: impl FnOnce([SocketAddr; 2])) -> u64 {
    let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let place = settings::Place { address: anywhere, carriers: Carriers::Udp, source: None };
    let server = server::bind(Settings::at(vec![place; 2])).expect("bound");
    let addresses = server.addresses().try_into().expect("two");
    let stop = Stop::default();
    thread::scope(|scope| {
        let running = scope.spawn(|| server.run(&stop).expect("served"));
        with(addresses);
        stop.request();
        running.thread().unpark();
        running.join().expect("a server of this test").messages
    })
}

fn asking(asked: &Asked, address: SocketAddr) -> Seen {
    run(&Test { counts: true, ..test(asked, address) })
}

#[test]
fn a_server_of_ours_tells_each_client_how_many_of_its_own_arrived() {
    let counting = |address, count| asking(&load(count, 0), address).measured.arrived;
    let all = with_ours(|[one, other]| {
        assert_eq!(counting(one, 100), Some(100));
        // Two at once, and one that does not ask.
        thread::scope(|scope| {
            let clients = [scope.spawn(move || counting(one, 50)), scope.spawn(move || counting(other, 70))];
            run(&test(&load(30, 0), one));
            assert_eq!(clients.map(|client| client.join().expect("a client")), [Some(50), Some(70)]);
        });
        let both = [one, other].map(|address| place(Carrier::Udp, address)).to_vec();
        let seen = run(&Test { counts: true, ..test_with(&load(40, 0), both) });
        assert_eq!(seen.measured.arrived, Some(40), "of both sockets together");
        // Those that are answered count too.
        assert_eq!(asking(&load(20, 4), one).measured.arrived, Some(20));
    });
    assert_eq!(all, 310, "questions are not counted");
}

/// A server that reports its count: it loses every `loses`-th message, and answers question `n`, from 1, as `tells`
/// says.
fn telling(loses: u64, mut tells: impl FnMut(u32, count::Told) -> Option<count::Told> + Send + 'static) -> Rogue {
    let (mut questions, mut since, mut arrived) = (0, 0, 0);
    Rogue::datagrams(move |came: &Came| {
        let Some(number) = count::question_in(&came.bytes) else {
            arrived += u64::from(!came.header.sequence.is_multiple_of(loses));
            return vec![];
        };
        questions += 1;
        if questions == 1 {
            since = number;
        }
        let told = tells(questions, count::Told { number, since, arrived });
        let answered = told.map(|told| {
            let mut answer = count::question(told.number);
            count::answer(&mut answer, told.since, told.arrived);
            answer.to_vec()
        });
        answered.into_iter().collect()
    })
}

#[test]
fn what_was_lost_is_told() {
    let server = telling(4, |_, told| Some(told));
    assert_eq!(asking(&load(40, 0), server.address).measured.arrived, Some(30));
    assert_eq!(server.came().len(), 42, "one question before, one behind");
}

#[test]
fn a_question_that_is_lost_is_asked_again() {
    let server = telling(4, |question, told| [2, 5].contains(&question).then_some(told));
    assert_eq!(asking(&load(40, 0), server.address).measured.arrived, Some(30));
    assert_eq!(server.came().len(), 45);
}

#[test]
fn an_answer_to_a_question_before_the_latest_will_do() {
    // As on a path that is longer than a question's time: the answer to one comes behind the next question.
    let mut waiting = None;
    let server = telling(4, move |_, told| waiting.replace(told));
    let seen = asking(&load(40, 0), server.address);
    assert_eq!((seen.measured.arrived, seen.measured.tallied), (Some(30), Tallied::default()));
}

#[test_case(|question, told| Some(count::Told { since: told.since + u64::from(question > 1), ..told }); "one that has begun anew")]
#[test_case(|question, told| (question == 1).then_some(told); "one that is gone in the end")]
#[test_case(|question, told| Some(count::Told { arrived: if question == 1 { 9 } else { 8 }, ..told }); "one that counts backwards")]
#[test_case(|question, told| Some(count::Told { number: told.number ^ (u64::from(question > 1) << 40), ..told }); "one that answers what was not asked")]
fn who_cannot_know_is_not_believed(tells: fn(u32, count::Told) -> Option<count::Told>) {
    let server = telling(1_000, tells);
    assert_eq!(asking(&load(40, 0), server.address).measured.arrived, None);
}

#[test]
fn a_server_that_does_not_tell_is_no_loss() {
    let server = Rogue::datagrams(|_| vec![]);
    let seen = asking(&load(40, 0), server.address);
    assert_eq!((seen.measured.arrived, seen.measured.tallied), (None, Tallied::default()));
    let came = server.came();
    let (asked, sent): (Vec<_>, Vec<_>) = came.iter().partition(|came| came.header.flags == count::ASKED);
    assert_eq!(sent.len(), 40);
    assert!(asked.len() == 2 && asked.iter().all(|came| !came.header.flags.has(Flags::CLIENT)), "{asked:?}");
    assert!(came[..2].iter().all(|came| came.header.flags == count::ASKED), "nothing is asked behind a test in vain");
}

#[test]
fn nobody_is_asked_who_is_not_to_be() {
    let server = Rogue::datagrams(|_| vec![]);
    assert_eq!(run(&test(&load(40, 0), server.address)).measured.arrived, None);
    assert_eq!(server.came().len(), 40);
}
