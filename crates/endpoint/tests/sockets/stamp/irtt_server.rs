//! Our server of irtt over real sockets on loopback, asked by our client and by hand.

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use endpoint::peer::irtt::server::{self, Settings, Tell};
use endpoint::rtt::{self, Protocol, Task};
use endpoint::socket::{option, queue};
use endpoint::stop::Stop;
use measure::method::Asked;
use measure::unit::Bytes;
use protocol::irtt::key::Key;
use protocol::irtt::opening::Opening;
use protocol::irtt::server::Rules;
use protocol::irtt::session::Session;
use test_case::test_case;
use testbed::wait;

use crate::served::Ends;
use crate::stamp::{asked, task};

/// Lines of a server.
type Lines = Arc<Mutex<Vec<String>>>;

/// Runs `body` beside a server without a shortest interval, whose replies live for nine hops.
fn with_server(listen: &str, key: Option<Key>, body: impl FnOnce(SocketAddr, &Lines)) {
    let lines = Lines::default();
    let sink = Arc::clone(&lines);
    let tell = Tell(Arc::new(move |_, event| sink.lock().unwrap().push(event.to_string())));
    let rules = Rules { key, interval: None, ..Rules::default() };
    let usual = Settings::at(vec![SocketAddr::new(listen.parse().unwrap(), 0)]);
    let bound = server::bind(Settings { rules, time_to_live: Some(9), tell: Some(tell), ..usual }).expect("bound");
    let address = bound.addresses()[0];
    let stop = Stop::default();
    thread::scope(|scope| {
        let stop = &stop;
        scope.spawn(move || bound.run(stop).expect("served"));
        let _ends = Ends(stop);
        body(address, &lines);
    });
}

fn count(lines: &Lines, name: &str) -> usize {
    lines.lock().unwrap().iter().filter(|line| line.starts_with(name)).count()
}

#[test_case("127.0.0.1", None; "plain")]
#[test_case("::1", None; "over v6")]
#[test_case("127.0.0.1", Some(b"secret"); "sealed")]
fn our_client_measures_with_our_server(listen: &str, key: Option<&[u8]>) {
    let key = key.map(Key::new);
    with_server(listen, key.clone(), |address, lines| {
        let length = Some(Bytes(Session::shortest(key.as_ref()) as u64));
        let asked = Asked { request_bytes: length, response_bytes: length, ..asked(100) };
        let task = Task {
            protocol: Protocol::Irtt { key: key.map(Box::new), clocks_agree: None },
            ..task(&asked, address, None)
        };
        let finding = rtt::run(&task, &Stop::default(), &mut |_| {}).expect("measured");
        assert_eq!((finding.recording.counts.answered, finding.peer_counts.received), (100, Some(100)));
        let both = finding.one_way.expect("both directions");
        assert!(both.held.expect("the server's own time").min_ns > 0);
        let clock = both.clock.expect("clocks compared");
        assert!(
            clock.windows.iter().all(|window| window.offset_ns.unsigned_abs() <= window.bound_ns.0),
            "one clock: {clock:?}"
        );
        wait::until("the end of the session", || count(lines, "[CloseConn]") == 1);
        assert_eq!((count(lines, "[NewConn]"), lines.lock().unwrap().len()), (1, 2), "{lines:?}");
    });
}

/// A socket towards a server that is told how replies are marked and how long they live.
fn client(to: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind(if to.is_ipv4() { "127.0.0.1:0" } else { "[::1]:0" }).unwrap();
    option::tell_service(socket.as_fd(), to.is_ipv6()).unwrap();
    option::tell_time_to_live(socket.as_fd(), to.is_ipv6()).unwrap();
    socket.connect(to).unwrap();
    socket.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    socket
}

#[test_case("127.0.0.1"; "v4")]
#[test_case("::1"; "v6")]
fn replies_are_marked_as_it_is_granted(listen: &str) {
    with_server(listen, None, |address, _| {
        let socket = client(address);
        let exchange = |octets: &[u8]| {
            socket.send(octets).unwrap();
            let mut buffer = vec![0; 2_048];
            let came = queue::receive_from(socket.as_fd(), &mut buffer).expect("a reply");
            buffer.truncate(came.length);
            assert_eq!((came.from.map(|from| from.port()), came.time_to_live), (Some(address.port()), Some(9)));
            (buffer, came.service)
        };
        let opening = Opening { key: None, length: 52, class: 184, duration: None, gap: None, is_even: true };
        let (reply, service) = exchange(&opening.request());
        assert_eq!(service, Some(0), "not yet");
        let token = opening.read(&reply).expect("a reply to it").expect("granted").token;
        let session = Session { key: None, token, length: 52, has_times: true };
        let mut packet = vec![0; 52];
        session.open(&mut packet);
        session.write(&mut packet, 0);
        let (reply, service) = exchange(&packet);
        assert_eq!((session.read(&reply).expect("its reply").count, service), (1, Some(184)));
    });
}

#[test]
fn what_is_none_of_a_session_is_not_answered_and_the_next_is() {
    with_server("127.0.0.1", None, |address, lines| {
        let socket = client(address);
        let opening = Opening { key: None, length: 52, class: 0, duration: None, gap: None, is_even: true };
        let request = opening.request();
        let sealed = Opening { key: Some(Key::new(b"secret")), ..opening.clone() }.request();
        let other = Session { key: None, token: 7, length: 52, has_times: true };
        let mut packet = vec![0; 65_507];
        other.open(&mut packet);
        for bad in [&[][..], &request[..3], &request[..5], &sealed, &packet[..52], &packet, &other.close()] {
            socket.send(bad).unwrap();
        }
        socket.send(&request).unwrap();
        let mut reply = vec![0; 2_048];
        // Datagrams of one socket to another over loopback stay in order: a reply to a bad one would come first.
        let length = socket.recv(&mut reply).unwrap();
        assert!(matches!(opening.read(&reply[..length]), Some(Ok(_))));
        wait::until("its line", || count(lines, "[NewConn]") == 1);
        assert_eq!(count(lines, "[Drop]"), 7, "{lines:?}");
    });
}
