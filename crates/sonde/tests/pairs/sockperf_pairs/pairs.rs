//! Every subcommand of the original in the four pairings of ours and the original: it ends well, prints the original's
//! form, and its values agree with each other and with the server's count.

use std::thread;

use test_case::test_case;
use testbed::port;
use testbed::process::Ended;

use crate::sockperf_pairs::agreement;
use crate::sockperf_pairs::ends::{End, PAIRINGS, Server};
use crate::sockperf_pairs::forms::{compared, model, told};

/// Demands on a result.
#[derive(Clone, Copy)]
enum Kind {
    /// Latency; each so many-th message asks.
    Latency(u64),
    /// Messages of so many bytes, one way.
    Throughput(f64),
}

use Kind::{Latency, Throughput};

/// Both ends of a pair, and the address.
#[derive(Clone, Copy)]
struct Place {
    client: End,
    server: End,
    address: &'static str,
}

/// 3.7 knows IPv4 alone.
fn places(what: &str) -> Vec<Place> {
    let known = |(client, server): &(End, End)| {
        let what = format!("`{what}`, {client} against {server}");
        client.is_here(&what) && server.is_here(&what)
    };
    let v4 = PAIRINGS.into_iter().filter(known);
    let mut places: Vec<Place> = v4.map(|(client, server)| Place { client, server, address: "127.0.0.1" }).collect();
    places.push(Place { client: End::Ours, server: End::Ours, address: "::1" });
    places
}

/// Runs `words` in each pairing, all at the same time, and tells what is wrong in which. `{port}` stands for the port.
fn in_all_pairings(words: &str, check: impl Fn(Place, &Ended, Option<u64>) -> Result<(), String> + Sync) {
    let run = |place: Place| {
        let port = port::free().to_string();
        let tcp: &[&str] = if words.contains("--tcp") { &["--tcp"] } else { &[] };
        let large: &[&str] = if words.contains("-m 100000") { &["-m", "100000"] } else { &[] };
        let server = Server::start(place.server, &[&["-i", place.address, "-p", &port], tcp, large].concat());
        let words: Vec<&str> = words.split_whitespace().chain(["-i", place.address, "-p", &port]).collect();
        let ended = place.client.client(&words);
        let wrong = check(place, &ended, server.end()).err()?;
        Some(format!("{} against {} at {}: {wrong}\n{}", place.client, place.server, place.address, ended.told()))
    };
    let complaints: Vec<String> = thread::scope(|scope| {
        let running: Vec<_> = places(words).into_iter().map(|place| scope.spawn(move || run(place))).collect();
        running.into_iter().filter_map(|thread| thread.join().expect("a thread of this test")).collect()
    });
    assert!(complaints.is_empty(), "`{words}`:\n{}", complaints.join("\n\n"));
}

fn went_well(ended: &Ended) -> Result<(), String> {
    if ended.overdue || ended.code != Some(0) { Err("it did not end well".to_owned()) } else { Ok(()) }
}

/// Its form, and its values.
fn is_sound(place: Place, ended: &Ended, model: &str, kind: Kind) -> Result<(), String> {
    went_well(ended)?;
    if place.client == End::Real && ended.said("No valid observations found") {
        // A real client stands still when a datagram is lost, and on a busy host all of its half second may be lost.
        return Ok(());
    }
    let wrong = compared(model, &ended.stdout, place.client == End::Real, place.address.contains(':'));
    if !wrong.is_empty() {
        return Err(wrong.join("\n"));
    }
    let text = told(&ended.stdout);
    match kind {
        Latency(asks) if place.client == End::Real => agreement::latency_of_the_original(&text, asks),
        Latency(asks) => agreement::latency(&text, asks),
        Throughput(bytes) => agreement::throughput(&text, bytes),
    }
}

#[test_case("ping-pong -t 1", "02-pingpong-udp", Latency(1); "ping-pong")]
#[test_case("pp --tcp", "02-pingpong-udp", Latency(1); "ping-pong over TCP")]
#[test_case("ping-pong -t 1 -b 4 --mps 2000", "10-pingpong-burst", Latency(1); "ping-pong of bursts")]
#[test_case("ping-pong --tcp -b 3 -m 1473", "10-pingpong-burst", Latency(1); "ping-pong of bursts over TCP")]
#[test_case("ping-pong --mps 500 -m 1000 -r 900", "02-pingpong-udp", Latency(1); "ping-pong of a range of sizes")]
#[test_case("ping-pong --full-rtt --nonblocked", "08-pingpong-full-rtt-1", Latency(1); "ping-pong that spins")]
#[test_case("ping-pong --tcp --data-integrity -m 1472", "13-pingpong-tcp-data-integrity", Latency(1); "ping-pong that checks")]
#[test_case("ping-pong --tcp -m 100000 --mps 200", "02-pingpong-udp", Latency(1); "ping-pong of large messages")]
#[test_case("ping-pong -m 65507 --mps 200 --data-integrity", "02-pingpong-udp", Latency(1); "ping-pong of the largest datagrams")]
#[test_case("under-load --mps 2000 --reply-every 10 -m 64", "03-underload-udp-10k", Latency(10); "under-load")]
#[test_case("ul --tcp --mps 2000 --reply-every 10 -m 64", "05-underload-tcp-10k", Latency(10); "under-load over TCP")]
#[test_case("under-load --mps 1000 --reply-every 1 -b 5", "10-pingpong-burst", Latency(1); "under-load of bursts")]
#[test_case("under-load --tcp --mps max -m 1000", "03-underload-udp-10k", Latency(100); "under-load as fast as it goes")]
#[test_case("under-load --mps 3000 --reply-every 7 -m 900 -r 300", "03-underload-udp-10k", Latency(7); "under-load of a range of sizes")]
#[test_case("throughput --mps 1000", "20-server-down-udp-3", Throughput(14.0); "throughput at a rate")]
#[test_case("tp -m 1472", "14-throughput-udp-max-2", Throughput(1_472.0); "throughput")]
#[test_case("throughput --tcp -m 65000 --tcp-avoid-nodelay", "15-throughput-tcp-1", Throughput(65_000.0); "throughput over TCP")]
#[test_case("throughput --mps 1000 -m 1000 -r 200", "16-throughput-range-1", Throughput(1_000.0); "throughput of a range of sizes")]
fn every_subcommand_agrees(words: &str, name: &str, kind: Kind) {
    // The giga bytes of that model are asked for by an option of their own.
    let model = match name {
        "15-throughput-tcp-1" => model(name).replace("GBps", "MBps").replace("Gbps", "Mbps"),
        _ => model(name),
    };
    let model = if words.contains("--tcp") { model.replace("# UDP", "# TCP") } else { model };
    in_all_pairings(words, |place, ended, counted| {
        is_sound(place, ended, &model, kind)?;
        let text = told(&ended.stdout);
        let sent = agreement::number(&text, "SentMessages=").or_else(|| agreement::number(&text, "Total of"));
        match (words.contains("--tcp"), sent, counted) {
            // TCP loses nothing; but what the original had sent when it closed may be cut off by what it left unread.
            (true, Some(sent), Some(counted)) if place.client == End::Ours && sent != counted as f64 => {
                Err(format!("the server took {counted} messages"))
            }
            (_, Some(sent), Some(counted)) if counted as f64 > sent => {
                Err(format!("the server took {counted} messages, more than were sent"))
            }
            (_, None, _) => Err("it tells of no messages sent".to_owned()),
            _ => Ok(()),
        }
    });
}

#[test]
fn a_played_file_agrees() {
    let original = model("17-playback");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/sockperf/17-playback.pb.csv");
    for (tcp, model) in [("", original.clone()), (" --tcp", original.replace("# UDP", "# TCP"))] {
        in_all_pairings(&format!("playback --data-file {file} --reply-every 2{tcp}"), |place, ended, counted| {
            is_sound(place, ended, &model, Latency(2))?;
            if counted == Some(6) { Ok(()) } else { Err(format!("the server took {counted:?} messages")) }
        });
    }
}

/// The original's own is of 3.10, which is not installed.
#[test]
fn a_count_is_reached_to_the_message() {
    let model = model("09-pingpong-number");
    for server in [End::Ours, End::Real] {
        if !server.is_here("ping-pong by count") {
            continue;
        }
        let port = port::free().to_string();
        let running = Server::start(server, &["-i", "127.0.0.1", "-p", &port]);
        let ended = End::Ours.client(&["ping-pong", "-n", "500", "-i", "127.0.0.1", "-p", &port]);
        let place = Place { client: End::Ours, server, address: "127.0.0.1" };
        is_sound(place, &ended, &model, Latency(1)).unwrap_or_else(|wrong| panic!("{wrong}\n{}", ended.told()));
        assert!(ended.said("SentMessages=9500") && ended.said("Total 500 observations"), "{}", ended.told());
        assert_eq!(running.end(), Some(9_500));
    }
}

#[test_case("ping-pong -t 1", "18-feedfile-1", Latency(1); "ping-pong")]
#[test_case("under-load -F poll --mps 1000 --reply-every 10", "18-feedfile-2", Latency(10); "under-load")]
#[test_case("throughput -F s --mps 4000", "18-feedfile-3", Throughput(14.0); "throughput")]
fn sockets_of_a_feed_file_agree(words: &str, name: &str, kind: Kind) {
    let model = model(name);
    thread::scope(|scope| {
        for (client, server) in PAIRINGS {
            let model = &model;
            let what = format!("a feed file, {client} against {server}");
            if !(client.is_here(&what) && server.is_here(&what)) {
                continue;
            }
            scope.spawn(move || {
                let folder = tempfile::tempdir().expect("a folder");
                let feed = folder.path().join("feed.txt");
                let lines = ["U", "U", "T", "T"].map(|letter| format!("{letter}:127.0.0.1:{}\n", port::free()));
                std::fs::write(&feed, lines.concat()).expect("written");
                let feed = feed.to_str().expect("text");
                let running = Server::start(server, &["-f", feed]);
                let words: Vec<&str> = words.split_whitespace().chain(["-f", feed]).collect();
                let ended = client.client(&words);
                let place = Place { client, server, address: "127.0.0.1" };
                is_sound(place, &ended, model, kind)
                    .unwrap_or_else(|wrong| panic!("{client} against {server}: {wrong}\n{}", ended.told()));
                drop(running);
            });
        }
    });
}
