//! Iperf 2 as its drivers call it and read it: `PerfKit` Benchmarker, which builds 2.0.13, and scripts that pin their ports.

use test_case::test_case;

use crate::iperf_pairs::ends::{End, Server};
use testbed::port;

/// The text behind the last `mark` of a line that holds it.
fn behind<'a>(text: &'a str, mark: &str) -> Vec<Vec<&'a str>> {
    let rests = text.lines().filter_map(|line| line.split_once(mark));
    rests.map(|(_, rest)| rest.split_whitespace().collect()).collect()
}

/// A number with a point, as its reader takes some.
fn is_decimal(word: &str) -> bool {
    word.contains('.') && word.parse::<f64>().is_ok()
}

/// `N/N`.
fn is_pair(word: &str) -> bool {
    word.split_once('/').is_some_and(|(one, other)| one.parse::<u64>().is_ok() && other.parse::<u64>().is_ok())
}

/// Each stream has a row that ends in writes and errors, retries, window and round trip, unit, network power; sizes have a decimal.
#[test_case(1; "one stream")]
#[test_case(2; "two")]
fn its_tcp_is_read(streams: usize) {
    let server = Server::start(End::Ours, "");
    let words =
        format!("--enhancedreports --client 127.0.0.1 --port {} --format m --time 1 --parallel {streams}", server.port);
    let ended = End::Ours.client(&words);
    server.end();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{}", ended.told());
    for size in ["TCP window size: ", "Write buffer size: "] {
        let [found] = &behind(&ended.stdout, size)[..] else { panic!("{size}: {}", ended.told()) };
        assert!(is_decimal(found[0]) && found[1] == "MByte", "{found:?}: {}", ended.told());
        assert!(ended.stdout.contains(&format!("{size}{}", found[0])), "one blank: {}", ended.told());
    }
    let rows = behind(&ended.stdout, " Mbits/sec");
    let of_streams: Vec<_> = rows.iter().filter(|row| row.len() == 5).collect();
    assert_eq!(of_streams.len(), streams, "{}", ended.told());
    for row in of_streams {
        let [writes, retries, window, unit, power] = row[..] else { panic!("{row:?}") };
        let (cwnd, rtt) = window.split_once("K/").unwrap_or_else(|| panic!("{row:?}: {}", ended.told()));
        assert!(is_pair(writes) && retries.parse::<u64>().is_ok() && unit == "us", "{row:?}");
        assert!(cwnd.parse::<i64>().is_ok() && rtt.parse::<u64>().is_ok() && is_decimal(power), "{row:?}");
    }
    let sums = ended.stdout.lines().filter(|line| line.starts_with("[SUM] ")).count();
    assert_eq!(sums, usize::from(streams > 1), "{}", ended.told());
}

#[test]
fn its_udp_is_read() {
    let server = Server::start(End::Ours, "-u");
    let words =
        format!("--enhancedreports --udp --client 127.0.0.1 --port {} --format m --time 1 --parallel 1", server.port);
    let ended = End::Ours.client(&words);
    server.end();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{}", ended.told());
    assert!(is_decimal(behind(&ended.stdout, "UDP buffer size: ")[0][0]), "{}", ended.told());
    assert!(behind(&ended.stdout, "IPG target: ")[0][..2] == ["11215.21", "us"], "{}", ended.told());
    let rows = behind(&ended.stdout, " Mbits/sec");
    let [sender, report] = &rows[..] else { panic!("{}", ended.told()) };
    assert!(is_pair(sender[0]) && sender[1].parse::<u64>().is_ok() && sender[2] == "pps", "{sender:?}");
    // Lost and all, with a blank between them below 100,000.
    assert!(is_decimal(report[0]) && report[1..3] == ["ms", "0/"] && report[4] == "(0%)", "{report:?}");
}

/// A script that names its port runs its test twice.
#[test_case(End::Ours, End::Ours; "ours at ours")]
#[test_case(End::Ours, End::Real; "ours at a real one")]
fn a_port_of_a_client_s_own_is_taken_again(client: End, server: End) {
    if !(client.is_here() && server.is_here()) {
        return;
    }
    let (listening, port) = (Server::start(server, ""), port::free());
    for _ in 0..2 {
        let ended = client.client(&format!("-c 127.0.0.1 -p {} -t 0.3 -b 10m -B 127.0.0.1:{port}", listening.port));
        assert_eq!(ended.code, Some(0), "{}", ended.told());
        assert!(ended.stdout.contains(&format!("local 127.0.0.1 port {port} ")), "{}", ended.told());
    }
    listening.end();
}

#[test]
fn options_of_2_2_1_are_taken() {
    let server = Server::start(End::Ours, "");
    let words = "-t 0.3 -b 10m -e --dscp ef --utc --ignore-shutdown --skip-rx-copy";
    let ended = End::Ours.client(&format!("-c 127.0.0.1 -p {} {words}", server.port));
    server.end();
    assert_eq!(ended.code, Some(0), "{}", ended.told());
    assert!(ended.stdout.contains("TOS set to 0xb8") && ended.stdout.contains(" (UTC)\n"), "{}", ended.told());
    assert!(ended.stderr.contains("--ignore-shutdown") && ended.stderr.contains("--skip-rx-copy"), "{}", ended.told());
}
