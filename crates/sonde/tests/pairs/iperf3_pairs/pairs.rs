//! Every direction and length in the four pairings of ours and the original.

use std::thread;

use test_case::test_case;

use crate::iperf3_pairs::ends::{End, PAIRINGS, Server};
use crate::iperf3_pairs::forms::stranger;
use crate::iperf3_pairs::json;

/// Runs `words` in each pairing, all at the same time, and tells what is wrong in which.
fn in_all_pairings(words: &str, check: impl Fn(End, End, &str, &str) -> Result<(), String> + Sync) {
    let run = |(client, server): (End, End)| {
        let listening = Server::start(server, "");
        let ended = client.client(listening.port, words);
        let served = listening.end();
        let well = if ended.overdue || ended.code != Some(0) { Err("it did not end well".to_owned()) } else { Ok(()) };
        let wrong = well.and_then(|()| check(client, server, &ended.stdout, &served.stdout)).err()?;
        Some(format!("{client} against {server}: {wrong}\n{}\n{}", ended.told(), served.told()))
    };
    let here = |(client, server): &(End, End)| client.is_here(words) && server.is_here(words);
    let complaints: Vec<String> = thread::scope(|scope| {
        let running: Vec<_> = PAIRINGS.into_iter().filter(here).map(|pair| scope.spawn(move || run(pair))).collect();
        running.into_iter().filter_map(|thread| thread.join().expect("a thread of this test")).collect()
    });
    assert!(complaints.is_empty(), "`{words}`:\n{}", complaints.join("\n\n"));
}

const TCP: &[&str] = &["01-tcp-default.txt", "05-reverse.txt", "09-omit.txt"];
const BOTH: &[&str] = &["06-bidir.txt", "19-udp-loss-reorder.txt"];
const MANY: &[&str] =
    &["07-parallel4.txt", "01-tcp-default.txt", "05-reverse.txt", "03-udp.txt", "19-udp-loss-reorder.txt"];
const UDP: &[&str] = &["03-udp.txt", "05-reverse.txt", "09-omit.txt", "19-udp-loss-reorder.txt"];
const VERBOSE: &[&str] = &["10-verbose.txt", "08-bytes-blocks.txt", "01-tcp-default.txt", "05-reverse.txt"];

#[test_case("-t 1", TCP; "tcp")]
#[test_case("-t 1 -R", TCP; "tcp reverse")]
#[test_case("-t 1 --bidir", BOTH; "tcp both ways")]
#[test_case("-t 1 -P 4", MANY; "tcp of four")]
#[test_case("-t 1 -O 1", TCP; "tcp behind an omitted start")]
#[test_case("-n 20M", TCP; "tcp by bytes")]
#[test_case("-k 50 -l 64K", TCP; "tcp by blocks")]
#[test_case("-t 1 -b 20M -i 0.25", TCP; "tcp at a rate")]
#[test_case("-t 1 -V -b 50M", VERBOSE; "tcp told at length")]
#[test_case("-u -t 1 -b 5M", UDP; "udp")]
#[test_case("-u -t 1 -b 5M -R", UDP; "udp reverse")]
#[test_case("-u -t 1 -b 5M --bidir", BOTH; "udp both ways")]
#[test_case("-u -t 1 -b 2M -P 4", MANY; "udp of four")]
#[test_case("-u -t 1 -b 5M -O 1 -l 1000", UDP; "udp behind an omitted start")]
#[test_case("-u -n 500K -l 1000 -b 10M", UDP; "udp by bytes")]
fn text_has_the_original_s_form(words: &str, models: &[&str]) {
    in_all_pairings(words, |client, server, told, served| {
        let strange = if client == End::Ours { stranger(told, models) } else { None };
        let strange = strange.or_else(|| if server == End::Ours { stranger(served, models) } else { None });
        match strange {
            Some(line) => Err(format!("no line of the original: {line:?}")),
            None if client == End::Ours && !told.ends_with("\niperf Done.\n") => Err("it is not done".to_owned()),
            None => Ok(()),
        }
    });
}

#[test_case("-t 1 -J", "02-tcp.json"; "tcp")]
#[test_case("-t 1 -R -J", "05-tcp-reverse.json"; "tcp reverse")]
#[test_case("-t 1 --bidir -J", "06-tcp-bidir.json"; "tcp both ways")]
#[test_case("-t 1 -P 4 -J", "07-tcp-P4.json"; "tcp of four")]
#[test_case("-t 1 -O 1 -J", "09-tcp-omit.json"; "tcp behind an omitted start")]
#[test_case("-n 10M -J", "08-tcp-n100M.json"; "tcp by bytes")]
#[test_case("-k 50 -J", "08-tcp-n100M.json"; "tcp by blocks")]
#[test_case("-u -t 1 -b 5M -J", "04-udp.json"; "udp")]
#[test_case("-u -t 1 -b 5M -R -J", "05-udp-reverse.json"; "udp reverse")]
#[test_case("-u -t 1 -b 5M --bidir -J", "06-udp-bidir.json"; "udp both ways")]
#[test_case("-u -t 1 -b 2M -P 4 -J", "07-udp-P4.json"; "udp of four")]
fn json_has_the_original_s_keys_and_its_values_agree(words: &str, model: &str) {
    in_all_pairings(words, |client, server, told, _| {
        if client == End::Ours {
            json::same_keys(told, model)?;
        }
        // A real server passes over what it has not read when the test ends, and a real client does not wait for it.
        json::sound(told, (client, server) == (End::Ours, End::Ours))
    });
}

#[test_case(End::Ours; "ours")]
#[test_case(End::Real; "real")]
fn a_server_s_output_comes_along(server: End) {
    if !server.is_here("--get-server-output") {
        return;
    }
    let listening = Server::start(server, "");
    let ended = End::Ours.client(listening.port, "-t 1 -b 10M --get-server-output");
    assert!(ended.code == Some(0) && ended.said("\nServer output:\n"), "{}", ended.told());
    let ended = End::Ours.client(listening.port, "-t 1 -b 10M --get-server-output -J");
    let document: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert!(document["server_output_text"].as_str().unwrap().contains("receiver"), "{}", ended.told());
    drop(listening.end());
}

#[test_case("-m", true; "which takes them")]
#[test_case("", false; "which does not")]
fn several_paths_are_taken_by_a_server_that_is_asked_to(words: &str, taken: bool) {
    if std::fs::read_to_string("/proc/sys/net/mptcp/enabled").map_or(true, |enabled| enabled.trim() != "1") {
        return testbed::skip::aloud("a server of several paths: this kernel has no MPTCP");
    }
    let listening = Server::start(End::Ours, words);
    for direction in ["", "-R", "--bidir"] {
        let ended = End::Ours.client(listening.port, &format!("-t 1 -b 20M -m -P 2 {direction}"));
        assert_eq!(ended.code, Some(0), "{direction}: {}", ended.told());
        assert_eq!(!ended.stderr.contains("-m: data went over plain TCP"), taken, "{direction}: {}", ended.told());
    }
    for client in [End::Ours, End::Real].into_iter().filter(|client| client.is_here("a plain client")) {
        for line in ["-t 1 -b 20M -R", "-u -t 1 -b 20M"] {
            let ended = client.client(listening.port, line);
            assert_eq!(ended.code, Some(0), "{client} {line}: {}", ended.told());
        }
    }
    drop(listening.end());
}

/// Parameters of later versions: a server of 3.12 passes over them, and counts the same.
#[test_case("-u -n 640K -l 1000 -b 50M --gsro -J", "gso"; "datagrams that the kernel cuts")]
#[test_case("-u -t 1 -l 1000 -b 20M --gsro -R -J", "gso"; "the same the other way")]
#[test_case("-t 1 -b 50M -m -J", ""; "several paths")]
fn what_later_versions_have_goes_with_any_server(words: &str, flag: &str) {
    for server in [End::Ours, End::Real].into_iter().filter(|server| server.is_here(words)) {
        let listening = Server::start(server, "");
        let ended = End::Ours.client(listening.port, words);
        assert_eq!(ended.code, Some(0), "{server}: {}", ended.told());
        let document: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON");
        let (sent, received) = (&document["end"]["sum_sent"]["bytes"], &document["end"]["sum_received"]["bytes"]);
        assert!(sent.as_u64().is_some_and(|bytes| bytes > 0), "{server}: {}", ended.told());
        if flag.is_empty() {
            // Neither server listens for several paths: that is said, and nothing is lost.
            assert!(ended.stderr.contains("-m: data went over plain TCP"), "{server}: {}", ended.told());
        } else {
            assert_eq!(document["start"]["test_start"][flag], 1, "{server}");
        }
        assert!(received.as_u64().is_some_and(|bytes| bytes > 0), "{server}: {}", ended.told());
        drop(listening.end());
    }
}
