//! Refusals, and no others: by number, in bounds of memory and of clients.

use std::io::{ErrorKind, Read};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};

use endpoint::peer::netperf::server::{self, Limits, Settings};
use protocol::netperf::ask::{Ask, Carrier, Family, Length};
use protocol::netperf::client::Client;
use test_case::test_case;

use super::Ours;
use super::session::{Session, at, good, tcp_rr};
use crate::strangers::{connect_from, strangers};

#[test_case(&Ask { family: Family::Rds, ..tcp_rr(Length::Count(1)) }, libc::EAFNOSUPPORT; "a family we have not")]
#[test_case(&Ask::omni(Carrier::Other { protocol: 132, socket_type: 1 }, false, true, Length::Seconds(1)), libc::EPROTONOSUPPORT; "sctp")]
#[test_case(&Ask::omni(Carrier::Other { protocol: 33, socket_type: 3 }, false, true, Length::Seconds(1)), libc::EPROTONOSUPPORT; "dccp")]
#[test_case(&Ask::omni(Carrier::Tcp, false, false, Length::Seconds(1)), libc::EINVAL; "nothing to do")]
#[test_case(&Ask { per_connection: true, ..Ask::omni(Carrier::Tcp, true, false, Length::Seconds(1)) }, libc::EINVAL; "a connection for each piece of a stream")]
#[test_case(&Ask { per_connection: true, carrier: Carrier::Udp, ..tcp_rr(Length::Seconds(1)) }, libc::EOPNOTSUPP; "connections over udp")]
#[test_case(&Ask { request_bytes: Some(0), ..tcp_rr(Length::Count(1)) }, libc::EINVAL; "requests of nothing")]
#[test_case(&Ask { receive_bytes: Some(i32::MAX as u32), ..Ask::omni(Carrier::Tcp, false, true, Length::Seconds(1)) }, libc::ENOMEM; "calls of two gibibytes")]
#[test_case(&Ask { send_bytes: Some(65_508), ..Ask::omni(Carrier::Udp, true, false, Length::Seconds(1)) }, libc::EMSGSIZE; "datagrams beyond any")]
#[test_case(&Ask { tos: Some(256), ..tcp_rr(Length::Count(1)) }, libc::EINVAL; "a type of service beyond an octet")]
#[test_case(&Ask { server_address: Some(IpAddr::from([192, 0, 2, 1])), ..tcp_rr(Length::Count(1)) }, libc::EADDRNOTAVAIL; "an address that is not ours")]
fn what_cannot_be_done_is_answered_by_its_number_and_the_client_may_ask_again(ask: &Ask, code: i32) {
    let server = Ours::start();
    let mut session = Session::open(&server);
    assert_eq!(session.refused(ask), code);
    good(&mut session);
}

/// The original asks the system and continues, whatever it answered.
#[test_case(&Ask { congestion: Some("no-such-one".into()), ..tcp_rr(Length::Count(1)) }; "a congestion control that is not there")]
#[test_case(&Ask { server_cpu: Some(4_000), ..tcp_rr(Length::Count(1)) }; "a cpu that is not there")]
#[test_case(&Ask { send_bytes: Some(65_508), request_bytes: Some(65_508), ..Ask::omni(Carrier::Udp, false, true, Length::Seconds(1)) }; "a size that the test has no use for")]
fn what_changes_no_test_is_passed_over(ask: &Ask) {
    let server = Ours::start();
    let ready = Session::open(&server).ask(ask);
    assert!(ready.is_ok(), "{ready:?}");
}

#[test]
fn memory_has_a_bound_for_one_test_and_for_all_together() {
    let limits = Limits { test_bytes: 1 << 20, all_bytes: 3 << 19, ..Limits::default() };
    let server = Ours::with(|settings| settings.limits = limits);
    let sink = |bytes| Ask { receive_bytes: Some(bytes), ..Ask::omni(Carrier::Tcp, false, true, Length::Count(1)) };
    let (mut one, mut other) = (Session::open(&server), Session::open(&server));
    assert_eq!(one.refused(&sink(1 << 20)), libc::ENOMEM, "its buffers' alignment comes on top");
    let ready = one.ask(&sink(1_000_000)).unwrap();
    assert_eq!(other.refused(&sink(600_000)), libc::ENOMEM);
    drop(TcpStream::connect(at(&ready)).unwrap());
    one.results();
    let ready = other.ask(&sink(600_000)).unwrap();
    drop(TcpStream::connect(at(&ready)).unwrap());
    other.results();
}

#[test]
fn as_many_buffers_as_memory_allows_are_used_and_told() {
    let server = Ours::with(|settings| settings.limits.test_bytes = 1 << 20);
    let mut session = Session::open(&server);
    let mut ask = Ask::omni(Carrier::Tcp, false, true, Length::Count(1));
    ask.receive_bytes = Some(1_000);
    ask.receive_ring.buffers = Some(i32::MAX as u32);
    let ready = session.ask(&ask).unwrap();
    let buffers = ready.receive_buffers.unwrap();
    assert!((100..600).contains(&buffers), "{buffers}");
}

fn is_closed(session: &mut Session) -> bool {
    let end = session.socket.read(&mut [0; 1]);
    matches!(end, Ok(0)) || end.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset)
}

#[test]
fn clients_beyond_the_bound_are_turned_away_and_the_others_served_on() {
    let server = Ours::with(|settings| settings.limits.clients = 2);
    let (mut one, mut two) = (Session::open(&server), Session::open(&server));
    good(&mut one);
    good(&mut two);
    let mut third = Session::open(&server);
    assert!(is_closed(&mut third));
    good(&mut one);
}

#[test]
fn a_thousand_clients_that_say_nothing_disturb_nobody() {
    let server = Ours::start();
    let idle: Vec<TcpStream> =
        (0..1_000).map(|_| TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).unwrap()).collect();
    good(&mut Session::open(&server));
    drop(idle);
    good(&mut Session::open(&server));
}

#[test]
fn strangers_give_way_to_who_asks_for_a_test() {
    let server = Ours::with(|settings| settings.limits.clients = 8);
    let mut known = Session::open(&server);
    good(&mut known);
    // Each has said a part of a request.
    let strangers = strangers(server.port(), 40, &[0; 10]);
    good(&mut Session::open(&server));
    good(&mut known);
    drop(strangers);
}

#[test]
fn one_source_leaves_half_of_all_places_to_others() {
    let server = Ours::with(|settings| settings.limits.clients = 4);
    let mut all: Vec<Session> = (0..4).map(|_| Session::open(&server)).collect();
    all.iter_mut().for_each(good);
    let mut other =
        Session { socket: connect_from(Ipv4Addr::new(127, 1, 0, 1), server.port()), client: Client::new(None) };
    good(&mut other);
    let mut newest = all.pop().expect("four");
    assert!(is_closed(&mut newest), "its source had more than half");
    all.iter_mut().for_each(good);
    assert!(is_closed(&mut Session::open(&server)), "nobody gives way for who has most");
}

#[test]
fn one_address_alone_can_be_served() {
    let server = Ours::with(|settings| settings.listen = vec!["127.0.0.1:0".parse().unwrap()]);
    good(&mut Session::open(&server));
    assert!(TcpStream::connect(("::1", server.port())).is_err());
}

#[test]
fn a_port_that_is_taken_is_told() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let settings = Settings::at(taken.local_addr().unwrap());
    let error = server::bind(settings).unwrap_err();
    assert!(error.to_string().contains("cannot listen there"), "{error}");
}
