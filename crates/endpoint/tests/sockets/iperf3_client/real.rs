//! Our client against the real iperf3's server: what it prints of its end is what our end counted.

use std::net::SocketAddr;
use std::process::{Command, Stdio};

use endpoint::peer::iperf3::client::{Credentials, Test};
use endpoint::stop::Stop;
use measure::method::Carrier;
use protocol::iperf3::code::Code;
use protocol::iperf3::login::{Padding, PublicKey, password_hash};
use protocol::iperf3::parameters::{Direction, Parameters, Protocol};
use protocol::iperf3::results::Output;
use test_case::test_case;
use testbed::port;
use testbed::process::{self, LIMIT, Running};

use super::relay::Relay;
use super::{bytes, complete, run_test};

/// The real server, for one test.
struct Real {
    running: Running,
    port: u16,
}

impl Real {
    /// `None`, said aloud, where it is not installed.
    fn start(words: &[&str]) -> Option<Self> {
        if Command::new("iperf3").arg("--version").stdin(Stdio::null()).output().is_err() {
            testbed::skip::aloud("our iperf3 client at the real iperf3: it is not installed");
            return None;
        }
        let port = port::free();
        let mut command = Command::new("iperf3");
        command.args(["-s", "-1", "--forceflush", "-p", &port.to_string()]).args(words);
        let running = process::started(&mut command);
        running.until_listening(Carrier::Tcp, port);
        Some(Self { running, port })
    }

    fn at(&self, host: &str) -> SocketAddr {
        SocketAddr::new(host.parse().unwrap(), self.port)
    }

    /// Returns its output, once its test is over.
    fn printed(self) -> String {
        let ended = self.running.end(LIMIT);
        assert!(!ended.overdue, "{}", ended.told());
        ended.stdout
    }
}

fn paced(direction: Direction, parallel: u32) -> Parameters {
    Parameters { time: 1, direction, parallel, rate: Some(100_000_000), ..Parameters::default() }
}

#[test_case("127.0.0.1", paced(Direction::Upload, 1); "to the server")]
#[test_case("::1", paced(Direction::Upload, 4); "four to the server over v6")]
#[test_case("127.0.0.1", paced(Direction::Reverse, 1); "from the server")]
#[test_case("::1", paced(Direction::Reverse, 3); "three from the server over v6")]
#[test_case("127.0.0.1", paced(Direction::Both, 1); "both ways")]
#[test_case("::1", paced(Direction::Both, 2); "two each way over v6")]
#[test_case("127.0.0.1", Parameters { rate: None, ..paced(Direction::Reverse, 1) }; "from the server without a rate")]
#[test_case("127.0.0.1", Parameters { bytes: 10_000_000, time: 0, ..paced(Direction::Upload, 2) }; "so many bytes")]
#[test_case("127.0.0.1", Parameters { blocks: 50, time: 0, ..paced(Direction::Upload, 1) }; "so many calls")]
#[test_case("127.0.0.1", Parameters { window: Some(200_000), mss: Some(1_400), nodelay: true, tos: 8, zerocopy: true, congestion: Some("reno".to_owned()), ..paced(Direction::Both, 1) }; "with options")]
fn bytes_are_the_same_at_both_ends(host: &str, parameters: Parameters) {
    let Some(server) = Real::start(&[]) else { return };
    let (measured, intervals) = complete(server.at(host), &Test::new(parameters));
    for ((ours, theirs), counted) in bytes(&measured).into_iter().zip(intervals) {
        assert_eq!((ours, counted), (theirs, ours));
        assert!(ours > 0);
    }
}

#[test_case("127.0.0.1", Protocol::Tcp; "tcp")]
#[test_case("::1", Protocol::Udp; "udp over v6")]
fn a_second_left_out_is_left_out_at_both_ends(host: &str, protocol: Protocol) {
    let Some(server) = Real::start(&[]) else { return };
    let parameters = Parameters {
        protocol,
        omit: 1,
        nodelay: true,
        block: Some(100),
        rate: Some(100_000),
        ..paced(Direction::Upload, 1)
    };
    let (measured, _) = complete(server.at(host), &Test::new(parameters));
    let (ours, theirs) = bytes(&measured)[0];
    // A second of two, by each end's own clock.
    assert!((6_000..20_000).contains(&ours) && (1..26_000).contains(&theirs), "{ours} {theirs}");
}

#[test_case("127.0.0.1", Direction::Upload, 1, false; "to the server")]
#[test_case("::1", Direction::Upload, 3, true; "three to the server over v6, numbered in 64 bits")]
#[test_case("127.0.0.1", Direction::Reverse, 2, false; "two from the server")]
#[test_case("::1", Direction::Both, 2, false; "two each way over v6")]
fn no_datagram_is_lost_on_the_way(host: &str, direction: Direction, parallel: u32, counters_64bit: bool) {
    let Some(server) = Real::start(&[]) else { return };
    let parameters = Parameters {
        protocol: Protocol::Udp,
        // As much as a socket's buffer holds: a busy host loses nothing.
        block: Some(100),
        rate: Some(200_000),
        counters_64bit,
        ..paced(direction, parallel)
    };
    let (measured, _) = complete(server.at(host), &Test::new(parameters));
    let theirs = measured.theirs.as_ref().unwrap();
    for (index, (ours, theirs)) in measured.ours.streams.iter().zip(&theirs.streams).enumerate() {
        assert_eq!((ours.errors, theirs.errors), (0, 0), "stream {index}");
        assert!(ours.packets > 0, "{ours:?}");
        assert_eq!((ours.packets, ours.bytes), (theirs.packets, theirs.bytes), "stream {index}");
    }
}

#[test]
fn what_the_path_loses_is_what_the_real_server_tells() {
    let Some(server) = Real::start(&[]) else { return };
    let relay = Relay::start(server.at("127.0.0.1"));
    let parameters =
        Parameters { protocol: Protocol::Udp, block: Some(100), rate: Some(200_000), ..paced(Direction::Upload, 1) };
    let (measured, _) = complete(relay.address, &Test::new(parameters));
    let theirs = measured.theirs.as_ref().unwrap().streams[0];
    assert_eq!(theirs.errors, relay.done().0);
    assert!(server.printed().contains(&format!("{}/{}", theirs.errors, theirs.packets)));
}

#[test]
fn what_the_server_printed_comes_with_its_results() {
    let Some(server) = Real::start(&[]) else { return };
    let parameters = Parameters { get_server_output: true, blocks: 10, time: 0, ..paced(Direction::Upload, 1) };
    let (measured, _) = complete(server.at("127.0.0.1"), &Test::new(parameters));
    let output = measured.theirs.unwrap().output;
    assert!(matches!(output, Some(Output::Text(text)) if text.starts_with("Accepted connection from 127.0.0.1")));
}

#[test_case("rossi", Ok(()))]
#[test_case("verdi", Err(Code::AUTHORISATION))]
fn a_login_at_the_real_server(password: &str, expected: Result<(), Code>) {
    let folder = tempfile::tempdir().unwrap();
    let (key, users) = (folder.path().join("private.pem"), folder.path().join("users.csv"));
    std::fs::write(&key, include_str!("../../../../protocol/tests/fixtures/iperf3/login/private.pem")).unwrap();
    std::fs::write(&users, format!("mario,{}\n", password_hash("mario", "rossi"))).unwrap();
    let words = ["--rsa-private-key-path", key.to_str().unwrap(), "--authorized-users-path", users.to_str().unwrap()];
    let Some(server) = Real::start(&words) else { return };
    let mut test = Test::new(Parameters { blocks: 3, time: 0, ..paced(Direction::Upload, 1) });
    let public = include_str!("../../../../protocol/tests/fixtures/iperf3/login/public.pem");
    test.credentials = Some(Credentials {
        user: "mario".to_owned(),
        password: password.to_owned(),
        key: PublicKey::from_pem(public).unwrap(),
        padding: Padding::Pkcs1,
    });
    let seen = run_test(server.at("127.0.0.1"), &test, &Stop::default());
    assert_eq!(seen.map(drop).map_err(|failure| failure.code), expected);
}
