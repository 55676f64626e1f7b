//! Our irtt client beside the original: the same words to the same server, and the same text and JSON where numbers are left out.

use std::io::Read;
use std::net::UdpSocket;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use flate2::read::GzDecoder;
use measure::method::Carrier;
use rustix::process::Signal;
use serde_json::Value;
use test_case::test_case;
use testbed::process::{self, Ended, LIMIT, Running, ended};
use testbed::servers::{Place, Server};
use testbed::{port, skip};

/// The original's server with more words; `None`, said aloud, where there is none.
fn server(host: &str, more: &[&str]) -> Option<Server> {
    Place::here().started("irtt", Carrier::Udp, |_, port| {
        let at = format!("{host}:{port}");
        // On a busy machine ours sends what was due together, and beyond five such packets a server drops them.
        Place::here().program("irtt", &[&["server", "-b", &at, "--pburst=1000"], more].concat())
    })
}

/// A client, ours or the original: `sonde irtt client` or `irtt client`, with these words.
fn client(is_ours: bool, words: &[String]) -> Command {
    let mut command =
        if is_ours { Command::new(env!("CARGO_BIN_EXE_sonde")) } else { Place::here().program("irtt", &[]) };
    command.args(is_ours.then_some("irtt")).arg("client").args(words);
    command
}

/// The words of a line, with the address of a server in the place of `AT`.
fn words(line: &str, host: &str, port: u16) -> Vec<String> {
    line.split_whitespace().map(|word| word.replace("AT", &format!("{host}:{port}"))).collect()
}

/// Ours and the original, one after the other.
fn both(line: &str, host: &str, port: u16) -> [Ended; 2] {
    [true, false].map(|is_ours| ended(&mut client(is_ours, &words(line, host, port)), LIMIT))
}

/// A text whose numbers, with their points, signs and units of time, are `#`, and whose blanks are single ones.
fn form(text: &str) -> Vec<String> {
    let line = |line: &str| {
        let words = line.split_whitespace().map(number_free).collect::<Vec<_>>();
        words.join(" ")
    };
    // Who waits for the last reply depends on how soon it comes, and the original leaves packets out where this machine is busy.
    let mut all: Vec<String> = text.lines().map(line).filter(|line| !line.contains("[WaitForPackets]")).collect();
    all.dedup_by(|line, before| line.starts_with("seq=") && line == before);
    all
}

fn number_free(word: &str) -> String {
    let mut free = String::new();
    let mut is_number = false;
    for letter in word.chars() {
        match letter {
            '0'..='9' | '.' | 'n' | 'µ' | 'm' | 's' | 'h' if is_number => {}
            '0'..='9' => {
                if free.ends_with("=-") || free == "-" {
                    free.pop();
                }
                free.push('#');
                is_number = true;
            }
            other => {
                free.push(other);
                is_number = false;
            }
        }
    }
    free
}

fn told([ours, theirs]: &[Ended; 2]) -> String {
    format!("ours: {}\ntheirs: {}", ours.told(), theirs.told())
}

/// Both print the same, and end alike.
fn alike(line: &str, host: &str, port: u16) -> [Ended; 2] {
    let all = both(line, host, port);
    let [ours, theirs] = &all;
    assert_eq!(
        (form(&ours.stdout), form(&ours.stderr)),
        (form(&theirs.stdout), form(&theirs.stderr)),
        "{}",
        told(&all)
    );
    assert_eq!(ours.code, theirs.code, "{}", told(&all));
    all
}

// They wait for the last reply: on a busy machine it may take longer than three times what the others took.
#[test_case("127.0.0.1", &[], "-d 200ms -i 20ms --wait=1s AT"; "as usual")]
#[test_case("[::1]", &[], "-q -d 200ms -i 20ms --wait=1s AT"; "quiet, over v6")]
#[test_case("127.0.0.1", &[], "-Q -d 200ms -i 20ms --wait=1s AT"; "really quiet")]
#[test_case("127.0.0.1", &[], "-n -4 AT"; "without a test")]
#[test_case("127.0.0.1", &[], "-d 200ms -i 20ms --wait=1s --stats=none --tstamp=none AT"; "without counts and times")]
#[test_case("127.0.0.1", &[], "-d 200ms -i 20ms --wait=1s --stats=count --tstamp=midpoint --clock=wall AT"; "the midpoint by one clock")]
#[test_case("127.0.0.1", &[], "-d 200ms -i 20ms --wait=1s --stats=window --tstamp=receive --clock=monotonic AT"; "arrivals by the other")]
#[test_case("127.0.0.1", &[], "-d 200ms -i 20ms --wait=1s -l 172 --fill=rand --dscp=0xb8 --ttl=9 --df=true AT"; "padded and marked")]
#[test_case("127.0.0.1", &[], "-d 200ms -i 20ms --wait=1s --fill=pattern:0102 --fill-one --sfill=rand -l 100 --local=127.0.0.2 AT"; "filled both ways")]
#[test_case("127.0.0.1", &["--hmac=0x736563726574"], "-d 200ms -i 20ms --wait=1s --hmac=secret AT"; "sealed")]
#[test_case("127.0.0.1", &["-l", "60", "-d", "100ms", "--no-dscp", "--tstamp=single"], "--loose -d 200ms -i 5ms --wait=1s -l 100 --dscp=8 --sfill=pattern:00 AT"; "restricted")]
#[test_case("127.0.0.1", &["-d", "1s"], "-d 2s AT"; "too long")]
#[test_case("127.0.0.1", &[], "-i 1ms AT"; "too often")]
#[test_case("127.0.0.1", &["--timeout=4s"], "-i 2s -d 10s AT"; "too rarely")]
#[test_case("127.0.0.1", &["--timeout=2s"], "-i 2s -d 10s --loose AT"; "far too rarely")]
#[test_case("127.0.0.1", &["--tstamp=none"], "-d 1s AT"; "no times")]
#[test_case("127.0.0.1", &["--hmac=secret"], "--timeouts=200ms,300ms AT"; "without its key")]
#[test_case("127.0.0.1", &[], "--timeouts=200ms,100ms AT"; "a short timeout")]
#[test_case("127.0.0.1", &[], "-i 0s AT"; "no interval")]
fn text_is_that_of_the_original(host: &str, theirs: &[&str], line: &str) {
    let Some(server) = server(host, theirs) else { return };
    alike(line, host, server.port);
}

#[test]
fn texts_of_the_language_s_library_are_ours() {
    let Some(server) = server("127.0.0.1", &[]) else { return };
    let all = both("-v", "127.0.0.1", server.port);
    let [ours, theirs] = all.each_ref().map(|ended| ended.stdout.lines().take(3).collect::<Vec<_>>());
    assert!(ours == theirs && all.iter().all(|ended| ended.code == Some(0)), "{}", told(&all));
    let all = both("--ttl=300 AT", "127.0.0.1", server.port);
    let [ours, theirs] = all.each_ref().map(|ended| (ended.stderr.split(" (").next(), ended.code));
    assert_eq!((ours, ours.1), (theirs, Some(1)), "{}", told(&all));
}

#[test_case("-d 1s 127.0.0.1:PORT"; "nobody there")]
#[test_case("-d 1s [::1]:PORT"; "nobody there over v6")]
#[test_case("-6 127.0.0.1"; "another version")]
#[test_case("--local=192.0.2.1 127.0.0.1:PORT"; "not our address")]
#[test_case("::1"; "no brackets")]
#[test_case("127.0.0.1:bogusx"; "no port")]
#[test_case("--sfill=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa h"; "a long fill")]
fn failures_are_those_of_the_original(line: &str) {
    if server("127.0.0.1", &[]).is_none() {
        return;
    }
    let port = port::free();
    alike(&line.replace("PORT", &port.to_string()), "", port);
}

/// The lines of a document that say the same in each: all but what differs by program, and of the round trips the second.
fn lines(json: &str) -> Vec<String> {
    let (figures, trips) = json.split_once("\"round_trips\"").unwrap_or_else(|| panic!("{json}"));
    let second = trips.split("\"seqno\"").nth(2).unwrap_or_else(|| panic!("{json}"));
    let mut all = form(figures);
    all.retain(|line| !line.starts_with("\"go_version\""));
    all.extend(form(second));
    // One more may follow or not.
    while all.last().is_some_and(|line| matches!(line.as_str(), "{" | "}" | "}," | "]")) {
        all.pop();
    }
    all
}

/// Values that do not depend on time.
const FIXED: [&str; 13] = [
    "/version",
    "/system_info/os",
    "/system_info/cpus",
    "/system_info/hostname",
    "/config/params",
    "/config/supplied",
    "/stats/bytes_sent",
    "/stats/bytes_received",
    "/stats/packets_sent",
    "/stats/packets_received",
    "/stats/server_packets_received",
    "/stats/packet_loss_percent",
    "/stats/upstream_loss_percent",
];

#[test_case("-d 200ms -i 20ms --wait=1s -o - AT"; "as usual")]
#[test_case("-d 200ms -i 20ms --wait=1s -Q -4 --fill=rand --dscp=0xb8 -l 172 -o - AT"; "as flent asks")]
#[test_case("-d 200ms -i 20ms --timer=hybrid --wait=3r1500ms --timeouts=1s,1.5s --clock=wall --tstamp=midpoint -o - AT"; "with other words")]
fn json_is_that_of_the_original(line: &str) {
    let Some(server) = server("127.0.0.1", &[]) else { return };
    let all = both(line, "127.0.0.1", server.port);
    let [ours, theirs] = &all;
    assert_eq!((ours.code, theirs.code), (Some(0), Some(0)), "{}", told(&all));
    assert_eq!(form(&ours.stderr), form(&theirs.stderr), "{}", told(&all));
    let documents = [ours, theirs].map(|ended| serde_json::from_str::<Value>(&ended.stdout).unwrap());
    assert_eq!(lines(&ours.stdout), lines(&theirs.stdout), "{}", told(&all));
    if documents.iter().any(|document| document["stats"]["packets_received"] != 10) {
        return skip::aloud("the figures of irtt: this machine was too busy for ten packets, each in its time");
    }
    for place in FIXED {
        let [ours, theirs] = documents.each_ref().map(|document| document.pointer(place));
        assert_eq!((ours, ours.is_some()), (theirs, true), "{place}");
    }
}

#[test_case("run", "run.json.gz"; "a name")]
#[test_case("run.gz", "run.json.gz"; "the name of a packed file")]
#[test_case("run.json", "run.json"; "a name of JSON")]
fn files_are_named_and_packed_as_the_original_does(named: &str, name: &str) {
    let Some(server) = server("127.0.0.1", &[]) else { return };
    let folders = [true, false].map(|is_ours| {
        let folder = tempfile::tempdir().unwrap();
        let words = words(&format!("-Q -d 200ms -i 20ms --wait=1s -o {named} AT"), "127.0.0.1", server.port);
        let ended = ended(client(is_ours, &words).current_dir(folder.path()), LIMIT);
        assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(0), "", ""), "{}", ended.told());
        folder
    });
    let documents = folders.each_ref().map(|folder| {
        let octets = std::fs::read(folder.path().join(name)).unwrap();
        let mut text = String::new();
        if name == "run.json.gz" {
            GzDecoder::new(&octets[..]).read_to_string(&mut text).unwrap();
        } else {
            text = String::from_utf8(octets).unwrap();
        }
        lines(&text)
    });
    let [ours, theirs] = documents;
    assert_eq!(ours, theirs);
}

/// Both, ended by a signal once they have printed three replies.
fn cut_short(line: &str, signal: Signal) -> Option<[Ended; 2]> {
    let server = server("127.0.0.1", &[])?;
    Some([true, false].map(|is_ours| {
        let client = process::started(&mut client(is_ours, &words(line, "127.0.0.1", server.port)));
        client.until("three replies", |told| told.contains("seq=2 "));
        client.signal(signal);
        client.end(LIMIT)
    }))
}

/// The lines behind those of replies, whose number is left to chance.
fn behind_replies(text: &str) -> Vec<String> {
    form(text).into_iter().filter(|line| !line.starts_with("seq=")).collect()
}

#[test_case("-d 10s -i 20ms AT", Signal::INT; "by Ctrl-C")]
#[test_case("-d 10s -i 20ms AT", Signal::TERM; "by SIGTERM")]
#[test_case("-d 10s -i 20ms AT", Signal::HUP; "by SIGHUP")]
#[test_case("-d 10s -i 20ms AT", Signal::QUIT; "by SIGQUIT")]
fn a_signal_ends_it_with_the_summary(line: &str, signal: Signal) {
    let Some(all) = cut_short(line, signal) else { return };
    let [ours, theirs] = &all;
    assert_eq!(behind_replies(&ours.stdout), behind_replies(&theirs.stdout), "{}", told(&all));
    assert_eq!(behind_replies(&ours.stderr), behind_replies(&theirs.stderr), "{}", told(&all));
    assert_eq!((ours.code, theirs.code), (Some(0), Some(0)), "{}", told(&all));
}

/// A server of one session that grants all, tells of each packet, and answers none.
fn silent() -> (u16, Receiver<()>) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    let (told, packets) = channel();
    thread::spawn(move || {
        let mut datagram = [0; 1_500];
        loop {
            let (length, from) = socket.recv_from(&mut datagram).unwrap();
            match datagram[3] {
                1 => {
                    let name = 7_u64.to_le_bytes();
                    let reply = [&datagram[..3], &[3], &name, &datagram[4..length]].concat();
                    socket.send_to(&reply, from).unwrap();
                }
                0 => told.send(()).unwrap_or_default(),
                _ => break,
            }
        }
    });
    (port, packets)
}

/// Both clients of such a server, interrupted once they have come as far as `wait` waits for.
fn interrupted(line: &str, wait: impl Fn(&Running, &Receiver<()>)) -> Option<[Ended; 2]> {
    server("127.0.0.1", &[])?;
    Some([true, false].map(|is_ours| {
        let (port, packets) = silent();
        let client = process::started(&mut client(is_ours, &words(line, "127.0.0.1", port)));
        wait(&client, &packets);
        client.signal(Signal::INT);
        client.end(LIMIT)
    }))
}

#[test]
fn a_signal_leaves_no_json_on_standard_output() {
    let Some(all) = interrupted("-d 1m -i 20ms -o - AT", |client, packets| {
        assert_eq!(packets.iter().take(3).count(), 3, "{}", client.told());
    }) else {
        return;
    };
    let [ours, theirs] = &all;
    assert_eq!((ours.stdout.as_str(), theirs.stdout.as_str()), ("", ""), "{}", told(&all));
    assert_eq!((ours.code, theirs.code), (Some(0), Some(0)), "{}", told(&all));
    assert!(ours.stderr.contains("\ninterrupt\n"), "{}", told(&all));
    assert_eq!(form(&ours.stderr), form(&theirs.stderr), "{}", told(&all));
}

#[test]
fn a_signal_in_the_wait_leaves_no_summary() {
    // However many packets have left by then: a late client skips those that it has missed.
    let Some(all) = interrupted("-d 40ms -i 20ms --wait=5m AT", |client, _| {
        client.until("the wait for packets", |told| told.contains("[WaitForPackets]"));
    }) else {
        return;
    };
    let [ours, theirs] = &all;
    assert_eq!(
        (form(&ours.stdout), &ours.stderr, ours.code),
        (form(&theirs.stdout), &theirs.stderr, theirs.code),
        "{}",
        told(&all)
    );
    assert_eq!((ours.stderr.as_str(), ours.code), ("Error: context canceled\n", Some(1)), "{}", told(&all));
}

#[test]
fn a_server_that_goes_away_ends_it_with_its_reason() {
    let all = [true, false].map(|is_ours| {
        let server = server("127.0.0.1", &[])?;
        let folder = tempfile::tempdir().unwrap();
        let words = words("-d 10s -i 300ms -o run.json AT", "127.0.0.1", server.port);
        let client = process::started(client(is_ours, &words).current_dir(folder.path()));
        client.until("three replies", |told| told.contains("seq=2 "));
        drop(server);
        let ended = client.end(LIMIT);
        let json =
            std::fs::read_to_string(folder.path().join("run.json")).unwrap_or_else(|_| panic!("{}", ended.told()));
        Some((ended, serde_json::from_str::<Value>(&json).unwrap()["receive_err"].clone()))
    });
    let [Some((ours, mut our_error)), Some((theirs, mut their_error))] = all else { return };
    let all = [ours, theirs];
    let [ours, theirs] = &all;
    assert_eq!(behind_replies(&ours.stdout), behind_replies(&theirs.stdout), "{}", told(&all));
    for error in [&mut our_error, &mut their_error] {
        (error["Source"]["Port"], error["Addr"]["Port"]) = (0.into(), 0.into());
    }
    assert_eq!(our_error, their_error, "{}", told(&all));
}

#[test]
fn our_own_server_answers_it() {
    let port = port::free();
    let mut command = Command::new(env!("CARGO_BIN_EXE_sonde"));
    let server = process::started(command.args(["irtt", "server", "-b", &format!("127.0.0.1:{port}")]));
    server.until_it_listens(Carrier::Udp, port);
    let ended = ended(&mut client(true, &words("-d 200ms -i 20ms --wait=1s -Q -o - AT", "127.0.0.1", port)), LIMIT);
    let document: Value =
        serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.told()));
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{}", ended.told());
    let stats = &document["stats"];
    if stats["packets_received"] != 10 {
        return skip::aloud("a server with a shortest interval: this machine sent several packets at once");
    }
    let counted = (&stats["packets_sent"], &stats["server_packets_received"], &stats["packet_loss_percent"]);
    assert_eq!(counted, (&10.into(), &10.into(), &0.into()));
    let held = &stats["server_processing_time"];
    assert!(held["n"] == 10 && held["min"].as_i64() > Some(0), "{held}");
    for trip in document["round_trips"].as_array().unwrap() {
        let delay = |name: &str| trip["delay"][name].as_i64().unwrap();
        // One host has one clock: both ways make the round trip, but for what the clocks are read apart.
        assert!((delay("send") + delay("receive") - delay("rtt")).abs() < 1_000_000, "{trip}");
    }
}
