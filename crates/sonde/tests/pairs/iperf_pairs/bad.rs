//! A wish that cannot be had ends with a sentence and a status that says so.

use rustix::process::Signal;
use test_case::test_case;
use testbed::port;
use testbed::process::LIMIT;
use testbed::wait;

use crate::iperf_pairs::ends::{End, Server};

#[test]
fn a_connection_refused_is_a_failure() {
    let ended = End::Ours.client(&format!("-c 127.0.0.1 -p {} -t 0.2", port::free()));
    assert_eq!(ended.code, Some(1), "{}", ended.told());
    assert!(ended.stderr.starts_with("tcp connect failed: Connection refused\n"), "{}", ended.told());
}

#[test]
fn datagrams_that_nobody_reports_are_worth_nothing() {
    let ended = End::Ours.client(&format!("-u -c 127.0.0.1 -p {} -t 0.2 -b 1m", port::free()));
    assert_eq!(ended.code, Some(1), "{}", ended.told());
    assert!(ended.said("WARNING: did not receive ack of last datagram after 10 tries."), "{}", ended.told());
}

#[test]
fn a_name_that_nobody_knows_is_told_in_the_originals_words() {
    let ended = End::Ours.client("-c nosuch.invalid -t 0.2");
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(1), "nosuch.invalid: Host name lookup failure\n"));
}

#[test]
fn a_port_that_is_taken_is_told_in_the_originals_words() {
    let server = Server::start(End::Ours, "");
    let second = End::Ours.client(&format!("-s -p {} -t 1", server.port));
    assert_eq!(second.code, Some(1), "{}", second.told());
    assert!(second.stderr.starts_with("listener bind failed: Address already in use\n"), "{}", second.told());
    server.end();
}

#[test_case("-c 127.0.0.1 --isochronous=60:1m,0 -R"; "frames of a server")]
#[test_case("-c 127.0.0.1 -F /dev/zero"; "a file without an end")]
#[test_case("-c 127.0.0.1 -F /dev/null/none"; "no file")]
#[test_case("-c 127.0.0.1 --bounceback --working-load=sideways"; "a load of no way")]
#[test_case("-c 127.0.0.1 --bounceback --working-load=up,0"; "a load of no stream")]
#[test_case("-c 127.0.0.1 --bounceback --working-load --json"; "a record beside a load")]
#[test_case("-c 127.0.0.1 --near-congestion=-1"; "a pause before it")]
#[test_case("-s -N"; "sockets of a server")]
#[test_case("-c 127.0.0.1 --bogus"; "no option")]
#[test_case("-c 127.0.0.1 -R -d"; "two ways")]
fn what_is_not_honoured_is_refused(words: &str) {
    let ended = End::Ours.client(words);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{}", ended.told());
    assert!(!ended.stderr.is_empty());
}

#[test]
fn an_interrupted_run_by_time_is_a_shorter_run() {
    let server = Server::start(End::Ours, "");
    let running = End::Ours.started(&format!("-c 127.0.0.1 -p {} -t 600 -b 10m -o /dev/stdout", server.port));
    // Its connection shows at the server that it runs.
    wait::until("it connects", || connections(server.port) >= 2);
    running.signal(Signal::INT);
    let ended = running.end(LIMIT);
    assert_eq!(ended.code, Some(0), "{}", ended.told());
    assert!(ended.stdout.contains("[  1] 0.0000-"), "{}", ended.told());
    server.end();
}

/// Ends of established connections to `port` on this host.
fn connections(port: u16) -> usize {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let port = format!(":{port:04X} ");
    table.lines().filter(|line| line.contains(&port) && line.contains(" 01 ")).count()
}

#[test]
fn a_server_ends_after_as_many_connections_as_it_is_told() {
    let server = Server::start(End::Ours, "-P 2 -y C");
    for _ in 0..2 {
        let ended = End::Ours.client(&format!("-c 127.0.0.1 -p {} -n 64K", server.port));
        assert_eq!(ended.code, Some(0), "{}", ended.told());
    }
    let ended = server.wait();
    assert_eq!(ended.code, Some(0), "{}", ended.told());
    assert_eq!(ended.stdout.lines().count(), 2, "{}", ended.told());
}

#[test]
fn a_server_ends_by_itself_after_its_time() {
    let ended = End::Ours.client(&format!("-s -p {} -t 0.2", port::free()));
    assert_eq!(ended.code, Some(0), "{}", ended.told());
}

#[test]
fn what_is_said_goes_to_a_file_where_one_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("said");
    let ended = End::Ours.client(&format!("-s -p {} -t 0.2 -o {}", port::free(), file.display()));
    let first = format!("Output from stdout and stderr will be redirected to file {}\n", file.display());
    assert_eq!((ended.code, ended.stdout), (Some(0), first));
    assert!(std::fs::read_to_string(file).unwrap().contains("Server listening on TCP port"));
}
