//! Rules for a recording that is to be replayed; that it goes over the wire as it was recorded is in `network`.

use predicates::prelude::*;
use predicates::str::contains;
use test_case::test_case;

use crate::sonde_in;

/// Nobody listens there: what is refused before has cost no connection.
const NOBODY: &str = "127.0.0.1:1";
const CAPTURE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../protocol/tests/fixtures/capture/sockperf-3.7-playback-udp.pcap");

#[test_case("0.2,64\n0.1,64\n", &[], "trace: line 2: time runs backwards by 100 ms"; "backwards")]
#[test_case("", &[], "it has no time,size line"; "nothing")]
#[test_case("0.1,64\n0.2;64\n", &[], "line 2 is not time,size: `0.2;64`"; "another separator")]
#[test_case("0,0\n", &[], "from 32 to 65507 bytes"; "an empty message")]
#[test_case("0,65508\n", &[], "from 32 to 65507 bytes"; "beyond a datagram")]
#[test_case("0,14\n", &[], "from 32 to 65507 bytes"; "shorter than our header")]
#[test_case("1760000000,64\n", &[], "--from-first"; "times of another clock")]
#[test_case("0,64\n", &["--flow", "10.0.0.1:1>10.0.0.2:2"], "is not a capture of packets"; "a flow of a text")]
#[test_case("0,64\n", &["--flow", "10.0.0.1"], "is not a flow"; "no flow")]
#[test_case("\x0a\x0d\x0d\x0a", &[], "tcpdump -r FILE -w OTHER.pcap"; "pcapng")]
fn what_cannot_be_replayed_is_refused_with_its_reason(content: &str, words: &[&str], said: &str) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("trace"), content).unwrap();
    let error = contains("error: ").and(contains(said));
    let words = [&["replay", NOBODY, "trace"], words].concat();
    sonde_in(folder.path(), &words).assert().code(2).stdout("").stderr(error);
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = contains("error: absent.csv: cannot read it");
    sonde_in(folder.path(), &["replay", NOBODY, "absent.csv"]).assert().code(2).stdout("").stderr(error);
}

#[test]
fn of_several_flows_one_has_to_be_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let replay = |words: &[&str]| sonde_in(folder.path(), &[&["replay", NOBODY, CAPTURE], words].concat()).assert();
    let list = contains("it has 2 flows").and(contains("'udp 127.0.0.1:36646>127.0.0.1:11111'  6 messages, 732 B"));
    replay(&[]).code(2).stdout("").stderr(list);
    // Some of sockperf's messages are shorter than our header.
    let flow = ["--flow", "127.0.0.1:36646>127.0.0.1:11111"];
    replay(&flow).code(2).stderr(contains("from 32 to 65507 bytes"));
    let said = contains("note:  replays udp 127.0.0.1:36646>127.0.0.1:11111")
        .and(contains("note:  2 messages shorter than our header"))
        .and(contains("cannot open the control connection"));
    replay(&[&flow[..], &["--pad"]].concat()).code(1).stdout("").stderr(said);
}
