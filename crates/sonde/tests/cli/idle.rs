//! A server that nobody uses is not woken, and neither for those who are connected and say nothing.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use endpoint::clock::Monotonic;
use endpoint::pace;
use measure::method::Carrier;
use measure::unit::Nanos;
use protocol::native::header::Flags;
use protocol::native::message::Open;
use test_case::test_case;
use testbed::client::{self, Session, open};
use testbed::port;
use testbed::process::{self, Running};

use crate::serve::Reflector;
use crate::sonde;

/// Time for which nothing is to happen: a thread that looks up every now and then does it many times by then.
const INTERVAL: Nanos = Nanos::secs(2);
/// Silent for so long, a server has come to rest.
const REST: Nanos = Nanos::millis(2_500);

/// State of the threads of a process, by the kernel.
#[derive(PartialEq, Eq)]
struct Threads {
    /// Times that they were given a CPU and lost it: a wake-up is one at least.
    switches: u64,
    /// True where all of them wait for something.
    wait: bool,
}

impl Threads {
    fn of(process: u32) -> Self {
        let threads = std::fs::read_dir(Path::new("/proc").join(process.to_string()).join("task")).unwrap();
        let mut all = Self { switches: 0, wait: true };
        // One may end while it is read.
        for status in threads.filter_map(|thread| std::fs::read_to_string(thread.unwrap().path().join("status")).ok()) {
            for (name, value) in status.lines().filter_map(|line| line.split_once(":\t")) {
                match name {
                    "State" => all.wait &= value.starts_with('S'),
                    "voluntary_ctxt_switches" | "nonvoluntary_ctxt_switches" => {
                        all.switches += value.parse::<u64>().unwrap();
                    }
                    _ => {}
                }
            }
        }
        all
    }
}

fn switches(process: u32) -> u64 {
    Threads::of(process).switches
}

/// Waits until all threads wait and none was woken for a while: at its start a server has work, and its threads of clients
/// that have gone end after a while. It need not come to rest: what follows fails then.
pub fn await_rest(process: u32) {
    let give_up = Monotonic::now().after(Nanos::secs(20));
    let mut before = Threads::of(process);
    while Monotonic::now() < give_up {
        pace::sleep_until(Monotonic::now().after(REST));
        let now = Threads::of(process);
        if now.wait && now == before {
            return;
        }
        before = now;
    }
}

/// Wake-ups within the interval, once it has come to rest.
fn woken_at_rest(process: u32) -> u64 {
    await_rest(process);
    let before = switches(process);
    pace::sleep_until(Monotonic::now().after(INTERVAL));
    switches(process).abs_diff(before)
}

/// A command of ours that serves at `port`, which stands behind the last word or a colon at its end.
fn serving(words: &[&str], carrier: Carrier, port: u16) -> Running {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("sonde"));
    let words = format!("{} {port}", words.join(" ")).replace(": ", ":");
    let running = process::started(command.args(words.split(' ')).stdin(Stdio::null()));
    running.until_listening(carrier, port);
    running
}

/// All at the same time: there is nothing to be done but to wait.
#[test]
fn a_server_that_nobody_uses_is_not_woken() {
    let servers: [(&[&str], Carrier); 7] = [
        (&["netserver", "-D", "-p"], Carrier::Tcp),
        (&["iperf3", "-s", "-p"], Carrier::Tcp),
        (&["iperf", "-s", "-i", "1", "-p"], Carrier::Tcp),
        (&["iperf", "-s", "-u", "-p"], Carrier::Udp),
        (&["sockperf", "server", "-p"], Carrier::Udp),
        (&["sockperf", "server", "--tcp", "-p"], Carrier::Tcp),
        (&["irtt", "server", "-b", "127.0.0.1:"], Carrier::Udp),
    ];
    thread::scope(|scope| {
        for (words, carrier) in servers {
            scope.spawn(move || {
                let running = serving(words, carrier, port::free());
                assert_eq!(woken_at_rest(running.id()), 0, "{words:?}");
            });
        }
    });
}

#[test]
fn every_server_at_once_is_not_woken_but_by_those_who_come() {
    let folder = tempfile::tempdir().unwrap();
    let stamp = port::free().to_string();
    let beside = "--netperf 0 --sockperf 0 --iperf 0 --iperf3 0 --irtt 0 --stamp --stamp-port";
    let beside: Vec<&str> = beside.split(' ').chain([stamp.as_str()]).collect();
    let reflector = Reflector::start(folder.path(), &beside);
    assert_eq!(woken_at_rest(reflector.id()), 0);
    let before = switches(reflector.id());
    let mut client = TcpStream::connect(reflector.address()).unwrap();
    // It says nothing of the protocol, and hears its end.
    client.shutdown(std::net::Shutdown::Write).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let _said = client.read_to_end(&mut Vec::new());
    assert_ne!(switches(reflector.id()), before, "what comes is counted");
}

#[test]
fn connections_without_a_word_wake_nobody() {
    let port = port::free();
    let running = serving(&["netserver", "-D", "-p"], Carrier::Tcp, port);
    let _silent: Vec<TcpStream> = (0..50).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
    assert_eq!(woken_at_rest(running.id()), 0);
}

/// A server of iperf closes those whose first octets are not all there for 4 seconds, one of netperf those whose first message is
/// half here for 5, one of iperf3 after 10: that too is an event for each.
#[test_case(&["netserver", "-D", "-p"], 2_000, &[]; "netserver")]
#[test_case(&["iperf3", "-s", "-p"], 2_000, &[]; "iperf3")]
#[test_case(&["iperf", "-s", "-p"], 500, &[]; "iperf")]
#[test_case(&["sockperf", "server", "--tcp", "-p"], 2_000, &[]; "sockperf over tcp")]
#[test_case(&["netserver", "-D", "-p"], 500, &[0; 655]; "netserver and all but an octet")]
#[test_case(&["iperf3", "-s", "-p"], 500, &[b'a'; 36]; "iperf3 and all but an octet")]
#[test_case(&["iperf", "-s", "-p"], 500, &[0x40, 1, 0]; "iperf and three octets")]
#[test_case(&["iperf", "-s", "-p"], 500, &[0x40, 0, 0, 0, 0, 0, 0, 1]; "iperf and the begin of a header")]
#[test_case(&["sockperf", "server", "--tcp", "-p"], 500, &[0; 13]; "sockperf over tcp and all but an octet")]
fn thousands_who_have_not_said_a_whole_message_have_no_thread_and_little_memory(
    words: &[&str],
    count: usize,
    part: &[u8],
) {
    let port = port::free();
    let running = serving(words, Carrier::Tcp, port);
    await_rest(running.id());
    let (switches_empty, threads_empty, empty) =
        (switches(running.id()), threads(running.id()), resident(running.id()));
    let connect = |_| {
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        client.write_all(part).unwrap();
        client
    };
    let clients: Vec<TcpStream> = (0..count).map(connect).collect();
    let give_up = Monotonic::now().after(Nanos::secs(20));
    let mut most = 0;
    while most < count && Monotonic::now() < give_up {
        most = most.max(descriptors(running.id()));
        assert!(threads(running.id()) <= threads_empty, "none for those who wait");
        pace::sleep_until(Monotonic::now().after(Nanos::millis(5)));
    }
    assert!(most >= count, "{most} descriptors: not all were accepted");
    let full = resident(running.id());
    assert!(full < empty + SILENT, "{full} kB, {empty} kB of an empty server");
    drop(clients);
    await_rest(running.id());
    let woken = switches(running.id()) - switches_empty;
    assert!(woken <= 4 * count as u64, "{woken} for {count} that came and went");
    assert!(threads(running.id()) <= threads_empty);
}

#[test]
fn strangers_and_sessions_in_a_pause_have_no_thread() {
    let folder = tempfile::tempdir().unwrap();
    let reflector = Reflector::start(folder.path(), &[]);
    let address = reflector.address().parse().unwrap();
    let _silent: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(address).unwrap()).collect();
    let sessions: Vec<Session> = (0..100).map(|_| Session::open(address, open(Carrier::Udp)).unwrap()).collect();
    let threads = threads(reflector.id());
    // Those that listen and wait, and the few that opened the sessions one after the other.
    assert!(threads < 50, "{threads} threads for 200 that say nothing");
    // They are attended to all the same.
    for session in sessions {
        assert_eq!(session.close().received, [0]);
    }
}

#[test]
fn short_of_descriptors_it_waits_for_some_and_serves_again() {
    let port = port::free();
    let mut command = Command::new("sh");
    let sonde = assert_cmd::cargo::cargo_bin!("sonde");
    command.args(["-c", "ulimit -n 40 && exec \"$@\"", "sh"]).arg(sonde);
    let running = process::started(command.args(["netserver", "-D", "-p", &port.to_string()]));
    running.until_listening(Carrier::Tcp, port);
    let connect = |_| TcpStream::connect(("127.0.0.1", port)).unwrap();
    let clients: Vec<TcpStream> = (0..60).map(connect).collect();
    let give_up = Monotonic::now().after(Nanos::secs(20));
    while descriptors(running.id()) < 40 && Monotonic::now() < give_up {
        pace::sleep_until(Monotonic::now().after(Nanos::millis(5)));
    }
    // Some wait to be accepted. A thread that asked again and again for a descriptor would never be seen to wait itself.
    assert!((0..1_000).any(|_| Threads::of(running.id()).wait));
    drop(clients);
    sonde_rtt(port);
}

/// Some exchanges with a netserver.
fn sonde_rtt(port: u16) {
    let words = ["rtt", "127.0.0.1", "--port", &port.to_string(), "--peer", "netperf", "-c", "5", "-q"];
    sonde(&words).assert().success();
}

#[test_case(Carrier::Tcp)]
#[test_case(Carrier::Udp)]
fn the_flows_of_a_session_in_a_pause_wake_nobody(carrier: Carrier) {
    let folder = tempfile::tempdir().unwrap();
    let reflector = Reflector::start(folder.path(), &[]);
    let session = Session::open(reflector.address().parse().unwrap(), Open { flows: 16, ..open(carrier) }).unwrap();
    let _flows: Vec<OwnedFd> = (0..16).map(|flow| exchange(&session, carrier, flow)).collect();
    // The session itself is looked at, less and less often: is its client still there?
    let woken = woken_at_rest(reflector.id());
    assert!(woken < 16, "{woken}: fewer than one for each flow");
    // And its end wakes all of them.
    assert_eq!(session.close().received, [1; 16]);
}

#[test]
fn a_flow_that_rests_takes_a_request_in_pieces_and_is_served_by_a_thread_again() {
    let folder = tempfile::tempdir().unwrap();
    let reflector = Reflector::start(folder.path(), &[]);
    let address = reflector.address().parse().unwrap();
    let session = Session::open(address, Open { stamps: true, ..open(Carrier::Tcp) }).unwrap();
    let mut stream = session.data(0).unwrap();
    let mut ask = |seq, flags: Flags, lengths: &[usize]| {
        let mut request = &session.request(seq, flags, 64, 64)[..];
        for length in lengths {
            let (piece, rest) = request.split_at(*length);
            await_rest(reflector.id());
            stream.write_all(piece).unwrap();
            request = rest;
        }
        stream.read_exact(&mut [0; 64]).unwrap();
    };
    // One that is to be stamped, and one that is not.
    ask(0, Flags::ANNOUNCE, &[64]);
    ask(1, Flags::STAMPED, &[7, 57]);
    ask(2, Flags::NONE, &[40, 24]);
    for seq in 3..50 {
        let request = session.request(seq, Flags::NONE, 64, 64);
        stream.write_all(&request).unwrap();
        stream.read_exact(&mut [0; 64]).unwrap();
    }
    assert_eq!(session.close().received, [50]);
}

/// The resident memory of a process, kB.
pub fn resident(process: u32) -> u64 {
    let status = std::fs::read_to_string(Path::new("/proc").join(process.to_string()).join("status")).unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
    resident.expect("told").parse().unwrap()
}

fn threads(process: u32) -> usize {
    entries(process, "task")
}

fn descriptors(process: u32) -> usize {
    entries(process, "fd")
}

fn entries(process: u32, folder: &str) -> usize {
    std::fs::read_dir(Path::new("/proc").join(process.to_string()).join(folder)).unwrap().count()
}

/// Memory that thousands of connections without a word may add to an empty server, kB.
const SILENT: u64 = 5_000;

/// Memory that thousands of clients that have a session and a flow of their own may add to an empty server, kB.
const ROOM: u64 = 30_000;

#[test_case(2_000, Carrier::Tcp)]
#[test_case(500, Carrier::Udp)]
fn many_clients_in_a_pause_have_no_thread_and_little_memory(count: usize, carrier: Carrier) {
    let folder = tempfile::tempdir().unwrap();
    let reflector = Reflector::start(folder.path(), &["--max-sessions", "3000", "--idle-timeout", "600s"]);
    let address = reflector.address().parse().unwrap();
    await_rest(reflector.id());
    let (threads_empty, empty) = (threads(reflector.id()), resident(reflector.id()));
    let clients: Vec<(Session, OwnedFd)> = (0..count)
        .map(|_| {
            let session = Session::open(address, Open { idle_ns: Nanos::secs(600), ..open(carrier) }).unwrap();
            let flow = exchange(&session, carrier, 0);
            (session, flow)
        })
        .collect();
    let woken = woken_at_rest(reflector.id());
    assert!(woken * 20 < count as u64, "{woken} wake-ups while {count} clients say nothing");
    let (threads, full) = (threads(reflector.id()), resident(reflector.id()));
    assert!(threads < threads_empty + 20, "{threads} threads, {threads_empty} of an empty server");
    assert!(full < empty + ROOM, "{full} kB, {empty} kB of an empty server");
    // They are still there, and told of.
    for (session, flow) in clients.into_iter().step_by(20) {
        drop(flow);
        assert_eq!(session.close().received, [1]);
    }
}

/// One request over a flow, and its reply.
fn exchange(session: &Session, carrier: Carrier, flow: u16) -> OwnedFd {
    let mut request = session.request(0, Flags::NONE, 64, 64);
    request[26..28].copy_from_slice(&flow.to_be_bytes());
    if carrier == Carrier::Udp {
        let socket = client::udp(session.address);
        assert_eq!(client::asked(&socket, &request).len(), 64);
        return socket.into();
    }
    let mut stream = session.data(flow).unwrap();
    stream.write_all(&request).unwrap();
    stream.read_exact(&mut [0; 64]).unwrap();
    stream.into()
}
