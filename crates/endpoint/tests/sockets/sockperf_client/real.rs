//! The original as the server, where it is installed.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};

use endpoint::peer::sockperf::client::Test;
use measure::method::{Asked, Carrier};
use measure::unit::Bytes;
use protocol::sockperf::wire::Tallied;
use test_case::test_case;
use testbed::port;
use testbed::process::{self, Running};

use crate::sockperf_client::{load, over_tcp, ping_pong, run, test};

/// A sockperf server that ends with the test.
struct Sockperf {
    address: SocketAddr,
    _running: Running,
}

impl Sockperf {
    /// One on a free port; `None`, said aloud, where there is none on this machine.
    fn start(arguments: &[&str]) -> Option<Self> {
        if Command::new("sockperf").arg("--version").stdin(Stdio::null()).output().is_err() {
            testbed::skip::aloud("our sockperf client with a real server: no sockperf on this machine");
            return None;
        }
        let port = port::free();
        let mut command = Command::new("sockperf");
        command.args(["server", "-i", "127.0.0.1", "-p", &port.to_string()]).args(arguments);
        let running = process::started(&mut command);
        running.until("it waits", |said| said.contains("to block on socket(s)"));
        Some(Self { address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)), _running: running })
    }
}

fn carried(carrier: Carrier, asked: Asked) -> (Asked, &'static [&'static str]) {
    if carrier == Carrier::Tcp { (over_tcp(asked), &["--tcp"]) } else { (asked, &[]) }
}

#[test_case(Carrier::Udp, 14)]
#[test_case(Carrier::Udp, 65_507)]
#[test_case(Carrier::Tcp, 14)]
#[test_case(Carrier::Tcp, 65_507)]
fn it_answers_a_ping_pong(carrier: Carrier, bytes: u64) {
    let size = Some(Bytes(bytes));
    let (asked, arguments) = carried(carrier, Asked { request_bytes: size, response_bytes: size, ..ping_pong(200) });
    let Some(server) = Sockperf::start(arguments) else { return };
    let seen = run(&Test { integrity: true, ..test(&asked, server.address) });
    assert_eq!((seen.counts().answered, seen.measured.tallied), (200, Tallied::default()), "{:?}", seen.counts());
}

#[test_case(Carrier::Udp)]
#[test_case(Carrier::Tcp)]
fn it_answers_volleys(carrier: Carrier) {
    let (asked, arguments) = carried(carrier, Asked { volley: Some(5), ..ping_pong(200) });
    let Some(server) = Sockperf::start(arguments) else { return };
    assert_eq!(run(&test(&asked, server.address)).counts().answered, 200);
}

#[test]
fn it_answers_every_tenth_of_a_load() {
    let (asked, arguments) = carried(Carrier::Tcp, load(5_000, 10));
    let Some(server) = Sockperf::start(arguments) else { return };
    let counts = run(&test(&asked, server.address)).counts();
    assert_eq!((counts.answered, counts.scheduled, counts.one_way), (500, 500, 4_500));
}

#[test]
fn it_passes_over_the_question_how_many_arrived() {
    let Some(server) = Sockperf::start(&[]) else { return };
    let seen = run(&Test { counts: true, ..test(&load(50, 0), server.address) });
    assert_eq!((seen.measured.arrived, seen.counts().one_way), (None, 50));
    assert_eq!(run(&test(&ping_pong(50), server.address)).counts().answered, 50, "and answers what follows");
}
