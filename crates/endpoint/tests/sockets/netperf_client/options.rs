//! Options requested for the sockets of either end are in effect.

use endpoint::peer::netperf::client::{Session, Setup};
use endpoint::stop::Stop;
use measure::method::{Carrier, Pattern};
use measure::unit::Bytes;
use protocol::netperf::ask::Flags;
use testbed::port;

use crate::netperf_client::server::{Netserver, V4, V6, by_count, measured, passphrase, setup};

#[test]
fn buffers_nodelay_tos_and_congestion_control_are_set_at_both_ends() {
    let Some(server) = Netserver::start(&[]) else { return };
    let mut test = by_count(Carrier::Tcp, Pattern::Exchange, 10);
    test.ask.send_buffer = Some(20_000);
    test.ask.receive_buffer = Some(30_000);
    test.ask.flags = test.ask.flags.with(Flags::NODELAY).with(Flags::MEASURE_CPU).with(Flags::KEEPALIVE);
    test.ask.tos = Some(0x10);
    test.ask.congestion = Some("reno".into());
    test.method.socket.send_buffer_bytes = Some(Bytes(40_000));
    test.method.socket.receive_buffer_bytes = Some(Bytes(50_000));
    test.method.socket.nodelay = true;
    test.method.socket.tos = Some(0x10);
    test.method.socket.congestion = Some("reno".into());
    test.data.tuning.segment_bytes = Some(1_000);
    test.data.tuning.priority = Some(3);
    let measured = measured(&mut server.session(V4), &test);
    let (ready, results) = (&measured.course.ready, measured.course.results.as_ref().expect("results"));
    // Linux doubles what is asked (socket(7), SO_SNDBUF), and so the server reports.
    assert_eq!((ready.send_buffer, ready.receive_buffer), (Some(40_000), Some(60_000)));
    assert!(ready.flags.has(Flags::NODELAY));
    assert_eq!(ready.tos, Some(0x10));
    assert_eq!(results.congestion.as_deref(), Some("reno"));
    assert!(results.cpu.is_some_and(|cpu| cpu.count >= 1), "{results:?}");
    for ours in [&measured.course.at_start, &measured.course.at_end] {
        assert_eq!(ours.send_buffer_bytes, Some(Bytes(80_000)));
        assert_eq!(ours.receive_buffer_bytes, Some(Bytes(100_000)));
        assert_eq!((ours.nodelay, ours.tos, ours.congestion.as_deref()), (Some(true), Some(0x10), Some("reno")));
        assert!(ours.mss_bytes.is_some_and(|mss| mss.0 <= 1_000), "{ours:?}");
    }
}

#[test]
fn ports_and_addresses_are_those_that_were_asked_for() {
    let Some(server) = Netserver::start(&[]) else { return };
    let mut session = server.session(V4);
    for carrier in [Carrier::Tcp, Carrier::Udp] {
        let (ours, theirs) = (port::free(), port::free());
        let mut test = by_count(carrier, Pattern::Exchange, 10);
        test.data.local_port = ours;
        test.method.socket.bind = Some("127.0.0.3".parse().expect("an address"));
        test.ask.data_port = theirs;
        let measured = measured(&mut session, &test);
        assert_eq!(measured.course.local.to_string(), format!("127.0.0.3:{ours}"));
        assert_eq!(measured.course.remote.to_string(), format!("127.0.0.1:{theirs}"));
    }
}

#[test]
fn connections_for_each_transaction_come_from_the_ports_given() {
    let Some(server) = Netserver::start(&[]) else { return };
    let row = port::row();
    let mut test = by_count(Carrier::Tcp, Pattern::ConnectExchange, 60);
    test.data.ports = row.start..=row.start + 40;
    let measured = measured(&mut server.session(V6), &test);
    assert!(test.data.ports.contains(&measured.course.local.port()));
    assert_eq!(measured.course.results.expect("results").transactions, Some(60), "more than there are ports");
}

#[test]
fn the_control_connection_comes_from_where_it_was_asked_to() {
    let Some(server) = Netserver::start(&[]) else { return };
    let local = format!("127.0.0.4:{}", port::free()).parse().expect("an address");
    // The first address has no server: the next is tried.
    let servers = vec![([127, 0, 0, 1], port::free()).into(), server.at(V4)];
    let mut session = Session::open(Setup { servers, local: Some(local), ..setup(server.at(V4)) }, &Stop::default())
        .expect("the second");
    assert_eq!(session.peer(), server.at(V4));
    measured(&mut session, &by_count(Carrier::Tcp, Pattern::Exchange, 1));
}

#[test]
fn the_server_binds_itself_to_a_cpu() {
    let Some(server) = Netserver::start(&[]) else { return };
    let pinned = Setup { server_cpu: Some(0), ..setup(server.at(V4)) };
    let mut session = Session::open(pinned, &Stop::default()).expect("open");
    let measured = measured(&mut session, &by_count(Carrier::Tcp, Pattern::Exchange, 10));
    assert_eq!(measured.course.results.expect("results").transactions, Some(10));
}

#[test]
fn the_right_passphrase_opens_a_server_that_wants_one() {
    let Some(server) = Netserver::start(&["-Z", "open sesame"]) else { return };
    let said = Setup { passphrase: Some(passphrase("open sesame")), ..setup(server.at(V4)) };
    let mut session = Session::open(said, &Stop::default()).expect("open");
    for _ in 0..2 {
        let measured = measured(&mut session, &by_count(Carrier::Tcp, Pattern::Exchange, 10));
        assert_eq!(measured.course.results.expect("results").transactions, Some(10));
    }
}
