//! A client that writes somebody else's address as its own has no server of ours send anything there.

use std::io::Write;
use std::process::Stdio;

use lab::chain::Chain;
use measure::unit::Nanos;
use protocol::bulk::Numbering;
use protocol::iperf::ask::Ask;
use protocol::iperf::datagram::IperfNumbering;
use protocol::iperf::time::Stamp;
use protocol::iperf::wish::{Back, Way};
use test_case::test_case;

use crate::reach::scene::{Server, address, chain, run, set, sonde};
use crate::reach::servers::{installed, program};

const FORGER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/forger/udp.py");

/// An address beside that of the near host, which the far one reaches by the same way.
fn victim(chain: &Chain) -> String {
    let [a, b, c, _] = chain.near().v4().octets();
    format!("{a}.{b}.{c}.77")
}

/// Has the far host's kernel count what leaves for the victim.
fn watch(chain: &Chain) {
    let rules = format!(
        "table inet watch {{ chain out {{ type filter hook output priority 0; ip daddr {} counter; }}; }}",
        victim(chain)
    );
    run(chain.far(), &["nft", &rules]);
}

/// Packets that left for the victim, and their octets.
fn left(chain: &Chain) -> (u64, u64) {
    let output = chain.far().command("nft").args(["list", "table", "inet", "watch"]).output().expect("started");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let words: Vec<&str> = text.split_whitespace().collect();
    let after =
        |word: &str| words.iter().position(|found| *found == word).and_then(|at| words.get(at + 1)?.parse().ok());
    (after("packets").expect("a counter"), after("bytes").expect("a counter"))
}

/// Sends what the forger makes of `mode`, with these lines; what it says.
fn forge(chain: &Chain, port: &str, mode: &str, lines: &[Vec<u8>]) -> String {
    let mut command = chain.near().command("python3");
    command.args([FORGER, &address(chain.far(), false), port, &victim(chain), mode]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("started");
    let mut input = child.stdin.take().expect("piped");
    for line in lines {
        for octet in line {
            write!(input, "{octet:02x}").expect("read");
        }
        writeln!(input).expect("read");
    }
    drop(input);
    let output = child.wait_with_output().expect("ended");
    assert!(output.status.success(), "{mode}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn scene(what: &str) -> Option<Chain> {
    if !installed("python3", "python3") {
        return None;
    }
    let chain = chain(what)?;
    watch(&chain);
    // The host between lets foreign sources through, as networks do that do not look.
    for interface in ["all", "default"] {
        set(chain.middle(), &format!("ipv4/conf/{interface}/rp_filter"), "0");
    }
    Some(chain)
}

#[test]
fn a_session_s_owner_has_nobody_else_sent_anything() {
    let Some(chain) = scene("datagrams with forged sources") else { return };
    let mut command = sonde(chain.far());
    command.args(["serve", "--open", "--listen", &address(chain.far(), false)]);
    let _server = Server::start(chain.far(), command, &["tcp 7663"]);
    assert_eq!(forge(&chain, "7663", "stranger", &[]), "sent\n");
    assert_eq!(forge(&chain, "7663", "token", &[]), "answered\nsent\n");
    assert_eq!(left(&chain), (0, 0), "packets for the victim");
}

/// The first datagram of a flow of iperf 2 that asks so, and its last.
fn flow(ask: &Ask, length: usize) -> [Vec<u8>; 2] {
    let mut first = vec![0; length];
    ask.opening(Stamp::default()).write(&mut first);
    IperfNumbering::CURRENT.write(&mut first, 1, Nanos::micros(1));
    let mut last = first.clone();
    IperfNumbering::CURRENT.write_last(&mut last, 1, 0, Nanos::micros(2));
    [first, last]
}

#[test_case(&[], false; "as it is")]
#[test_case(&["--iperf-udp-reverse"], true; "told to")]
fn a_stranger_has_an_iperf_server_send_no_stream_to_somebody_else(words: &[&str], streams: bool) {
    let Some(chain) = scene("iperf's datagrams with forged sources") else { return };
    let mut command = sonde(chain.far());
    command.args(["serve", "--open", "--iperf", "--listen", &address(chain.far(), false)]).args(words);
    let _server = Server::start(chain.far(), command, &["tcp 7663", "tcp 5001"]);
    let asks = [
        Ask { way: Way::Reverse, ..Ask::default() },
        Ask { way: Way::Duplex, ..Ask::default() },
        Ask { back: Some(Back { now: true, port: 9_999 }), ..Ask::default() },
    ];
    let lines: Vec<Vec<u8>> = asks.iter().map(|ask| flow(ask, 500)[0].clone()).collect();
    assert_eq!(forge(&chain, "5001", "lines", &lines[..1]), "sent\n");
    if streams {
        // The attack without the bound: the victim gets packets that it never asked for.
        testbed::wait::until("a stream for the victim", || left(&chain).0 > 10);
        return;
    }
    forge(&chain, "5001", "lines", &lines);
    // Ends of a flow, in the shortest form: the reports are no longer than what came.
    let [first, last] = flow(&Ask::default(), 500);
    let small: Vec<Vec<u8>> =
        std::iter::once(first).chain(std::iter::repeat_n(last, 200)).map(|whole| whole[..64].to_vec()).collect();
    let came: u64 = small.iter().chain(&lines).chain(&lines[..1]).map(|line| line.len() as u64 + 28).sum();
    forge(&chain, "5001", "lines", &small);
    // An honest flow comes behind all of it, and is answered.
    run(chain.near(), &[&program(), "iperf", "-c", &address(chain.far(), false), "-u", "-n", "20K"]);
    let (packets, octets) = left(&chain);
    assert!(octets <= came, "{packets} packets, {octets} octets for {came}");
}
