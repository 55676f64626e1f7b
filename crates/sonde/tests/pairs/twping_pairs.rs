//! Our twping over a reflector of ours, with and without the control connection of a server that is played from RFC 5357; and beside
//! perfSONAR's, where that is installed.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::process::Command;
use std::thread::{self, JoinHandle};

use predicates::Predicate;
use predicates::str::is_match;
use test_case::test_case;
use testbed::process::{Ended, LIMIT, ended};
use testbed::{port, skip};

use crate::stamp_pairs::python::Serve;

const SID: &str = "30313233343536373839616263646566";

/// The padding that a server was asked for, and the number of sessions that it was told to stop.
type Heard = (u32, u32);

/// A server for one connection, whose sessions are reflected at `port` of its address.
fn server(port: u16) -> (SocketAddr, JoinHandle<Heard>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = move || {
        let mut stream = listener.accept().unwrap().0;
        let mut greeting = [0; 64];
        greeting[15] = 1;
        stream.write_all(&greeting).unwrap();
        stream.read_exact(&mut [0; 164]).unwrap();
        stream.write_all(&[0; 48]).unwrap();
        let mut padding = 0;
        loop {
            let mut command = [0; 32];
            stream.read_exact(&mut command).unwrap();
            match command[0] {
                5 => {
                    let mut rest = [0; 80];
                    stream.read_exact(&mut rest).unwrap();
                    padding = u32::from_be_bytes(rest[32..36].try_into().unwrap());
                    let mut accept = [0; 48];
                    accept[2..4].copy_from_slice(&port.to_be_bytes());
                    accept[4..20].copy_from_slice(b"0123456789abcdef");
                    stream.write_all(&accept).unwrap();
                }
                2 => stream.write_all(&[0; 32]).unwrap(),
                3 => return (padding, u32::from_be_bytes(command[4..8].try_into().unwrap())),
                other => panic!("command {other}"),
            }
        }
    };
    (address, thread::spawn(serve))
}

/// `sonde twping` of 20 packets, 5 ms apart.
fn twping(address: &str, words: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sonde"));
    let usual = ["twping", "-c", "20", "-i", "0.005f", "-L", "20", address];
    ended(command.args(usual).args(words), LIMIT)
}

/// The same without a control connection.
fn light(server: &Serve, words: &[&str]) -> Ended {
    twping(&format!("127.0.0.1:{}", server.port), &[&["--stamp"], words].concat())
}

/// A path to the reflector at `port` that loses recorded packet 3, doubles packet 5 on the way there and the answer to packet 7 on the
/// way back. Returns its own port.
fn path(port: u16) -> u16 {
    let bound = || UdpSocket::bind("127.0.0.1:0").unwrap();
    let (near, far) = (bound(), bound());
    far.connect(("127.0.0.1", port)).unwrap();
    let own = near.local_addr().unwrap().port();
    thread::spawn(move || {
        let mut buffer = [0; 2_048];
        // Two packets are exchanged before the first that is recorded.
        for packet in -2.. {
            let (length, client) = near.recv_from(&mut buffer).unwrap();
            let sent = buffer[..length].to_vec();
            let (there, back) = match packet {
                3 => (0, 0),
                5 => (2, 1),
                7 => (1, 2),
                _ => (1, 1),
            };
            for _ in 0..there {
                far.send(&sent).unwrap();
                let length = far.recv(&mut buffer).unwrap();
                (0..back).for_each(|_| _ = near.send_to(&buffer[..length], client).unwrap());
            }
        }
    });
    own
}

#[test_case(&[]; "that numbers its answers")]
#[test_case(&["--stamp-stateless"]; "that repeats numbers")]
fn what_the_path_did_is_what_is_told(theirs: &[&str]) {
    let server = Serve::start("127.0.0.1", theirs);
    let address = format!("127.0.0.1:{}", path(server.port));
    let ended = twping(&address, &["--stamp", "-L", "3", "-v"]);
    // Who repeats numbers cannot tell the copy of a packet from that of an answer.
    let copies = if theirs.is_empty() { "1 send duplicates, 1" } else { "0 send duplicates, 2" };
    let told = format!("20 sent, 1 lost (5.000%), {copies} reflect duplicates\n");
    assert!(ended.code == Some(0) && ended.stdout.contains(&told), "{}", ended.told());
    assert!(ended.stdout.contains("seq_no=3          *LOST*\n"), "{}", ended.told());
    assert_eq!(ended.stdout.matches("seq_no=").count(), 22, "{}", ended.told());
}

/// The form of a summary of 20 answered packets. `id` is its line of the identifier.
fn summary(port: u16, id: &str) -> String {
    let time = "(nan|-?[0-9][0-9.e+-]*)";
    let off = format!(r"\((unsync|err={time} ms)\)");
    let delay = |name: &str| format!("{name} min/median/max = {time}/{time}/{time} ms, {off}\n");
    let jitter = |name: &str| format!("{name} jitter = {time} ms \\(P95-P50\\)\n");
    let moment = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}";
    [
        r"Approximately 20\.1 seconds until results available\n".to_owned(),
        "(\nDirectional delays may be inaccurate due to out of sync clocks!\n)?".to_owned(),
        format!("\n--- twping statistics from \\[127.0.0.1\\]:[0-9]+ to \\[127.0.0.1\\]:{port} ---\n{id}"),
        format!("first:\t{moment}\nlast:\t{moment}\n"),
        "20 sent, 0 lost \\(0.000%\\), 0 send duplicates, 0 reflect duplicates\n".to_owned(),
        ["round-trip time", "send time", "reflect time"].map(delay).concat(),
        format!("reflector processing time min/max = {time}/{time} ms\n"),
        ["two-way", "send", "reflect"].map(jitter).concat(),
        format!("Percentiles:\n\t50.0: {time} ms\n"),
        "send hops = 0 \\(consistently\\)\nreflect hops = 0 \\(consistently\\)\n\n".to_owned(),
    ]
    .concat()
}

fn has_form(ended: &Ended, form: &str) {
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{}", ended.told());
    assert!(is_match(format!("^{form}$")).unwrap().eval(&ended.stdout), "{form}\n{}", ended.told());
}

#[test_case(&[], &[]; "of stamp")]
#[test_case(&["--twamp-light"], &["-s", "0"]; "of twamp light, the shortest packets")]
#[test_case(&["--stamp-stateless"], &["-s", "1000", "-D", "EF"]; "that repeats numbers, padded")]
fn a_reflector_is_asked_without_a_server(theirs: &[&str], ours: &[&str]) {
    let server = Serve::start("127.0.0.1", theirs);
    let ended = light(&server, &[ours, &["-a", "50"]].concat());
    has_form(&ended, &summary(server.port, ""));
}

#[test]
fn a_reflector_that_cuts_its_answers_is_told_of() {
    let server = Serve::start("127.0.0.1", &[]);
    let ended = light(&server, &["-s", "0"]);
    assert_eq!((ended.code, &*ended.stdout), (Some(1), ""), "{}", ended.told());
    assert!(ended.stderr.contains("no answer within") && ended.stderr.contains("-s 24"), "{}", ended.told());
}

#[test]
fn a_server_grants_the_session_and_is_told_of_its_end() {
    let reflector = Serve::start("127.0.0.1", &[]);
    let (address, heard) = server(reflector.port);
    let ended = twping(&address.to_string(), &["-a", "50"]);
    has_form(&ended, &summary(reflector.port, &format!("SID:\t{SID}\n")));
    assert_eq!(heard.join().unwrap(), (27, 1));
}

#[test]
fn lines_of_numbers_have_each_packet_once() {
    let reflector = Serve::start("127.0.0.1", &[]);
    let ended = light(&reflector, &["-R"]);
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{}", ended.told());
    let mut lines: Vec<Vec<u64>> = Vec::new();
    for line in ended.stdout.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(words.len(), 16, "{line}");
        // Its numbers, its times, and the times to live; both ends have one clock.
        let whole = [0, 1, 4, 7, 8, 9, 12, 15].map(|place| words[place].parse().unwrap());
        assert!([1, 4, 9, 12].iter().all(|place| words[*place].len() == 20), "{line}");
        lines.push(whole.to_vec());
    }
    lines.sort_unstable();
    for (number, line) in (0..).zip(&lines) {
        let [seq, sent, received, there, own, left, came, here] = line[..] else { panic!("{line:?}") };
        assert_eq!((seq, there, here), (number, 255, 255));
        assert!(own < 20 && sent <= received && received <= left && left <= came, "{line:?}");
    }
    assert_eq!(lines.len(), 20);
}

#[test]
fn programs_get_what_people_get() {
    let reflector = Serve::start("127.0.0.1", &[]);
    let ended = light(&reflector, &["-M", "-N", "15"]);
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{}", ended.told());
    let (_, text) = ended.stdout.split_once('\n').expect("an announcement");
    let values = |name: &str| -> Vec<&str> {
        let begins = format!("{name}\t");
        text.lines().filter_map(|line| line.strip_prefix(&*begins)).collect()
    };
    assert_eq!((values("SUMMARY"), values("SAMPLE_PACKET_COUNT")), (vec!["3.00"; 2], vec!["15", "5"]));
    assert_eq!(
        (values("SENT"), values("LOST"), values("SESSION_FINISHED")),
        (vec!["15", "5"], vec!["0"; 2], vec!["1"; 2])
    );
    assert_eq!((values("LOSS_TIMEOUT"), values("PACKET_PADDING")), (vec!["85899345920"; 2], vec!["27"; 2]));
    assert_eq!((values("MINTTL_FWD"), values("MAXTTL_BCK")), (vec!["255"; 2], vec!["255"; 2]));
    for (least, most) in values("MIN").iter().zip(values("MAX")) {
        let [least, most]: [f64; 2] = [least, most].map(|value| value.parse().unwrap());
        assert!(0.0 < least && least <= most, "{text}");
    }
}

#[test]
fn packets_have_lines_where_they_are_asked_for() {
    let reflector = Serve::start("127.0.0.1", &[]);
    let ended = light(&reflector, &["-v3", "-a", "50"]);
    assert_eq!(ended.code, Some(0), "{}", ended.told());
    let delays = "fwd_delay=[^ ]+ ms bck_delay=[^ ]+ ms delay=[^ ]+ ms proc_delay=[^ ]+ ms\t";
    let line = format!("(seq_no=[0-9]+ +{delays}\\((unsync|err=[^ ]+ ms)\\)\n){{3}}");
    assert!(is_match(line).unwrap().eval(&ended.stdout), "{}", ended.told());
    assert_eq!((ended.stdout.matches("seq_no=").count(), ended.stdout.matches("--- twping").count()), (3, 2));
}

#[test]
fn nobody_there_is_told_in_the_originals_words() {
    let address = format!("127.0.0.1:{}", port::free());
    let ended = twping(&address, &[]);
    assert_eq!((ended.code, &*ended.stdout), (Some(1), ""), "{}", ended.told());
    let words = format!("twping: Unable to open control connection to {address}.\n");
    assert!(ended.stderr.contains("refused") && ended.stderr.contains(&words), "{}", ended.told());
    assert!(ended.stderr.contains("--stamp"), "{}", ended.told());
}

#[test]
fn a_record_has_the_same_session() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.json");
    let reflector = Serve::start("127.0.0.1", &[]);
    let ended = light(&reflector, &["-Q", "--record", path.to_str().unwrap()]);
    assert_eq!((ended.code, &*ended.stdout), (Some(0), ""), "{}", ended.told());
    let document: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    jsonschema::validate(&logbook::schema::json_schema(), &document).unwrap();
    assert_eq!(document["outcome"]["counts"]["answered"], 20);
    assert_eq!(document["outcome"]["one_way"]["time_to_live"], 255);
}

/// The first word of each line that begins with one: rows of numbers are as many as there are values.
fn names(text: &str) -> Vec<&str> {
    let words = text.lines().filter_map(|line| line.split([' ', '\t', '=']).next());
    words.filter(|word| !word.is_empty()).collect()
}

#[test_case(&["-a", "50"]; "for people")]
#[test_case(&["-v"]; "with lines of packets")]
#[test_case(&["-M"]; "for programs")]
fn lines_are_those_of_the_original(words: &[&str]) {
    if Command::new("twping").arg("-h").output().is_err() {
        return skip::aloud("our twping beside the original: no `twping`; build perfSONAR's owamp");
    }
    // The original has random padding in the place of the session.
    let reflector = Serve::start("127.0.0.1", &["--twamp-light"]);
    let (address, heard) = server(reflector.port);
    let ours = twping(&address.to_string(), words);
    heard.join().unwrap();
    let (address, heard) = server(reflector.port);
    let usual = ["-c", "20", "-i", "0.005f", "-L", "2", &address.to_string()].map(str::to_owned);
    let original = ended(Command::new("twping").args(usual).args(words), LIMIT);
    heard.join().unwrap();
    // Where clocks are not kept ours has no delay of one direction: the original has the difference of the clocks.
    let told = |text: &str| {
        let one_way = |name: &&str| ["MIN_", "MAX_", "MEDIAN_", "MAXERR"].iter().any(|kind| name.starts_with(kind));
        let names: Vec<String> = names(text).into_iter().filter(|name| !one_way(name)).map(str::to_owned).collect();
        names
    };
    assert_eq!(told(&ours.stdout), told(&original.stdout), "{}\n{}", ours.told(), original.told());
}
