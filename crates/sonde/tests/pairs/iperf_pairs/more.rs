//! Options that 2.1 and 2.2 have beside the plain tests: files, keys, rates that vary, times of writes, histograms.

use std::io::Write;

use test_case::test_case;

use crate::iperf_pairs::ends::{End, PAIRINGS, Server};

fn each(mut test: impl FnMut(End, End)) {
    for (client, server) in PAIRINGS {
        if client.is_here() && server.is_here() {
            test(client, server);
        }
    }
}

/// Bytes of the last line of values separated by commas.
fn bytes(text: &str) -> Option<u64> {
    text.lines().last()?.split(',').nth(7)?.parse().ok()
}

/// The original leaves out what does not fill a write.
#[test]
fn a_file_is_sent_to_its_end() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&vec![b'x'; 300_001]).unwrap();
    for server in [End::Ours, End::Real] {
        if !server.is_here() {
            continue;
        }
        let running = Server::start(server, "-y C");
        let words = format!("-c 127.0.0.1 -p {} -y C -F {}", running.port, file.path().display());
        let ended = End::Ours.client(&words);
        assert_eq!(ended.code, Some(0), "{}", ended.told());
        let theirs = running.end();
        // The header goes in front.
        assert_eq!(bytes(&ended.stdout), Some(300_061), "{}", ended.told());
        assert_eq!(bytes(&theirs.stdout), Some(300_061), "against {server}: {}", theirs.told());
    }
}

#[test]
fn a_key_opens_a_server_and_stands_in_front_of_lines() {
    each(|client, server| {
        let running = Server::start(server, "--permit-key=sesame00 --permit-key-timeout=60");
        let key = "--permit-key=sesame00";
        let ended = client.client(&format!("-c 127.0.0.1 -p {} -n 1M {key}", running.port));
        assert_eq!(ended.code, Some(0), "{client} against {server}: {}", ended.told());
        assert!(ended.stdout.contains("[sesame00(1)] local "), "{client}: {}", ended.told());
        let theirs = running.end();
        let row = theirs.stdout.lines().find(|line| line.starts_with("[sesame00(1)] 0.0000-"));
        // The original does not count the key.
        let counts = |row: &str| row.contains("1.00 MBytes") || row.contains("1024 KBytes");
        assert!(row.is_some_and(counts), "{client} against {server}: {}", theirs.told());
        assert!(theirs.stdout.contains("Permit key is 'sesame00' (timeout in 60.0 seconds)\n"), "{}", theirs.told());
    });
}

#[test_case("--permit-key=sesame11 -t 1"; "another key")]
#[test_case("--permit-key=sesame11 -n 64K"; "another key, and all is sent before that is known")]
#[test_case("-t 1"; "none")]
fn without_the_key_nothing_is_counted(key: &str) {
    for client in [End::Ours, End::Real].into_iter().filter(|end| end.is_here()) {
        let running = Server::start(End::Ours, "--permit-key=sesame00");
        let ended = client.client(&format!("-c 127.0.0.1 -p {} {key}", running.port));
        if client == End::Ours {
            assert_eq!(ended.code, Some(1), "{}", ended.told());
        }
        let theirs = running.end();
        assert!(!theirs.stdout.contains("0.0000-"), "{}", theirs.told());
        assert!(theirs.stderr.contains(" permit key\n"), "{}", theirs.told());
    }
}

#[test_case("", "-b 40m,8m"; "a connection")]
#[test_case("-u", "-b 40m,8m"; "datagrams")]
fn a_rate_varies_about_its_mean(over: &str, rate: &str) {
    each(|client, server| {
        let running = Server::start(server, over);
        let ended = client.client(&format!("{over} -c 127.0.0.1 -p {} -t 1 -i 0.1 -y C {rate}", running.port));
        assert_eq!(ended.code, Some(0), "{client} against {server}: {}", ended.told());
        running.end();
        if client == End::Ours {
            let all = bytes(ended.stdout.lines().rfind(|line| line.contains(",0.0-1")).unwrap_or_default());
            // 5 MB in the mean of ten draws.
            assert!(all.is_some_and(|all| (2_000_000..10_000_000).contains(&all)), "{server}: {}", ended.told());
        }
    });
}

#[test]
fn times_of_writes_are_told() {
    for server in [End::Ours, End::Real].into_iter().filter(|end| end.is_here()) {
        let running = Server::start(server, "");
        let ended = End::Ours.client(&format!("-c 127.0.0.1 -p {} -n 3M -l 64K --tcp-write-times", running.port));
        running.end();
        assert_eq!(ended.code, Some(0), "{}", ended.told());
        assert!(ended.stdout.contains("Write buffer size: 65536 Byte (write timer enabled)\n"), "{}", ended.told());
        let row = ended.stdout.lines().find(|line| line.starts_with("[  1] 0.0000-"));
        assert!(row.is_some_and(|row| row.ends_with(" ms (48)")), "{}", ended.told());
    }
}

#[test]
fn a_server_has_a_histogram_of_datagrams() {
    for client in [End::Ours, End::Real].into_iter().filter(|end| end.is_here()) {
        let running = Server::start(End::Ours, "-u -e --histograms");
        let ended = client.client(&format!("-u -c 127.0.0.1 -p {} -t 0.4 -b 4m --trip-times", running.port));
        assert_eq!(ended.code, Some(0), "{client}: {}", ended.told());
        let theirs = running.end();
        let banner = "Enabled receive histograms bin-width=0.100 ms, bins=10000 (clients should use --trip-times)\n";
        assert!(theirs.stdout.contains(banner), "{}", theirs.told());
        let row = theirs.stdout.lines().find(|line| line.contains(" 0/")).unwrap_or_default();
        let all = row.split(" 0/").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap_or_default();
        let bins = format!("T8(f)-PDF: bin(w=100us):cnt({all})=");
        assert!(!all.is_empty() && theirs.stdout.contains(&bins), "{client}: {}", theirs.told());
    }
}
