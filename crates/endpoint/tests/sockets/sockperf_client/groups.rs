//! Groups, over loopback, with our own server.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use endpoint::peer::sockperf::client::{Groups, Place, Test};
use endpoint::peer::sockperf::server;
use endpoint::peer::sockperf::server::settings::{self, Carriers, Settings};
use endpoint::socket::multicast::{Interface, Outgoing};
use endpoint::stop::Stop;
use measure::method::{Asked, Carrier};
use test_case::test_case;

use crate::sockperf_client::{Seen, load, ping_pong, run, test_with};

static GROUP: AtomicU8 = AtomicU8::new(1);

/// A group that no other test has.
fn group() -> IpAddr {
    let [.., a, b] = std::process::id().to_be_bytes();
    IpAddr::from([239, a, b, 128 + GROUP.fetch_add(1, Ordering::Relaxed)])
}

fn loopback() -> Outgoing {
    Outgoing { interface: Some(Interface::of("lo").expect("there is one")), ttl: 1, loopback: true }
}

/// A run with a server of `group`, and how many messages that took.
fn with_server(group: IpAddr, unicast_reply: bool, test: impl FnOnce(SocketAddr) -> Test) -> (Seen, u64) {
    let place = settings::Place { address: SocketAddr::new(group, 0), carriers: Carriers::Udp, source: None };
    let mut settings = Settings::at(vec![place]);
    (settings.multicast.receive, settings.multicast.outgoing) = (loopback().interface, loopback());
    settings.multicast.unicast_reply = unicast_reply;
    let server = server::bind(settings).expect("bound");
    let address = SocketAddr::new(group, server.addresses()[0].port());
    let stop = Stop::default();
    let (stops, totals) = (stop.clone(), Arc::new(Mutex::new(None)));
    let into = Arc::clone(&totals);
    let running = thread::spawn(move || *into.lock().expect("alone") = Some(server.run(&stops).expect("served")));
    let seen = run(&test(address));
    stop.request();
    running.thread().unpark();
    running.join().expect("a server of this test");
    let messages = totals.lock().expect("alone").take().map(|totals| totals.messages);
    (seen, messages.expect("it has ended"))
}

fn speaking(asked: &Asked, address: SocketAddr) -> Test {
    let place = Place { address, carrier: Carrier::Udp, source: None };
    let groups = Groups { receive: loopback().interface, outgoing: loopback(), warm_up: true };
    Test { groups, ..test_with(asked, vec![place]) }
}

#[test_case(false; "to the group")]
#[test_case(true; "to the sender")]
fn a_group_answers(unicast_reply: bool) {
    let asked = Asked { volley: Some(1), ..ping_pong(50) };
    let (seen, messages) = with_server(group(), unicast_reply, |address| speaking(&asked, address));
    // The warm-up is not counted, and the server's own is passed over.
    assert_eq!((seen.counts().answered, messages), (50, 50));
}

#[test]
fn a_load_goes_to_a_group() {
    let (seen, _) = with_server(group(), false, |address| speaking(&load(60, 10), address));
    assert_eq!((seen.counts().scheduled, seen.counts().one_way), (6, 54));
    assert!(seen.counts().answered > 0, "{:?}", seen.counts());
}

#[test]
fn one_engine_serves_lockstep_with_a_group_too() {
    let (seen, messages) = with_server(group(), false, |address| speaking(&ping_pong(30), address));
    assert_eq!((seen.counts().answered, messages), (30, 30));
}
